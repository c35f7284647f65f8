"""Compiled kernels beside plain Python: the same command lines, the same bytes.

``python -m contrib.differential.forms`` draws machines, workloads and policies, runs each in both forms, and compares
every file that is left: starts, nodes, reasons, events, explanations, and what the command says.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import click
import pandas as pd

from contrib.differential import clusters, extras
from slurm_sim_plugins.errors import SlurmSimError
from slurm_sim_plugins.kernels import why_plain

MACHINES = ("slurm", "ideal", "counted")
"""A cluster under Slurm's clock and under the ideal one; processors that are counted, under the ideal one."""
SCHEDULERS = ("fcfs", "easy", "easy", "conservative", "venture", "backfill")
ALONE = tuple(name for name in SCHEDULERS if name != "venture")
BACKFILLS = ("queue_order", "sjf")
PRIORITIES = ("basic", "sjf", "wfp", "multifactor")
WALLTIMES = ("none", "none", "last_model", "last_two")
DEPLOYMENTS = ("migrate", "kill", "reserve")
LONGEST = 120
"""Seconds after which a run counts as one that does not end."""
ENDLESS = "endless 0"
IMPOSSIBLE = "impossible 0"


def words_of(machine: str, seed: int, folder: Path) -> list[str]:
    """Write the inputs of a seed into a folder; the words of the command.

    Args:
        machine: one of ``MACHINES``.
        seed: of all that is drawn.
        folder: for the inputs.
    """
    draws = random.Random(f"{machine} {seed}")
    # By default so few jobs run without kernels, whatever is compiled.
    words = ["run", "--no-progress", "--no-compiled" if why_plain() else "--compiled"]
    if machine == "counted" and draws.random() < 0.5:
        # The loop of stock plugins makes only runs that are not watched.
        words += ["--records", str(folder / "records.parquet")]
    else:
        words += ["--out", str(folder / "run"), "--events", str(folder / "events")]
        words += ["--explain"] if draws.random() < 0.3 else []
    if machine == "counted":
        return words + (_two_tiers(draws, folder) if draws.random() < 0.2 else _counted(draws, folder))
    files = clusters.files_of(seed)
    own = machine == "slurm" and draws.random() < 0.7
    words += extras.add_to(files, clusters.Draws(f"extras {machine} {seed}"), own)
    if "PriorityMaxAge" not in files["slurm.conf"]:
        # Failures of nodes go on until no job grows older: by default a week.
        files["slurm.conf"] += "PriorityMaxAge=1:00:00\n"
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    words += [str(folder / "jobs.events"), "--slurm-conf", str(folder / "slurm.conf"), "--clock", machine]
    for name in ("accounts", "accounts.dump"):
        words += ["--accounts", str(folder / name)] if name in files else []
    words += ["--commands", str(folder / "commands")] if "commands" in files else []
    if machine == "slurm":
        words += ["--slurm-version", draws.choice(["22.05", "24.11", "26.05"])]
    preempts = re.search(r"PreemptMode=(OFF|GANG)\n", files["slurm.conf"]) is None
    if own:
        return words
    if draws.random() < 0.15 and preempts:
        urgent = "jobs=user=eve"
        words += ["--scheduler", "sched/realtime", "--preempt", "preempt/realtime", "--select", "select/cons_tres"]
        words += ["--set", f"sched/realtime.{urgent}", "--set", f"preempt/realtime.{urgent}"]
    else:
        words += _policies(draws, preempts)
    return words


def _policies(draws: random.Random, preempts: bool = True) -> list[str]:
    scheduler = draws.choice(SCHEDULERS if preempts else ALONE)
    words = ["--scheduler", f"sched/{scheduler}", "--priority", f"priority/{draws.choice(PRIORITIES)}"]
    words += ["--backfill", f"backfill/{draws.choice(BACKFILLS)}"] if scheduler == "easy" else []
    words += ["--preempt", "preempt/shadow_load"] if scheduler == "venture" else []
    return [*words, "--walltime", f"walltime/{draws.choice(WALLTIMES)}"]


def _counted(draws: random.Random, folder: Path) -> list[str]:
    """A table of jobs that come together, ask for much and outlive their limits; a policy for it."""
    processors, rows = draws.choice([1, 4, 16, 64]), ["; a random workload"]
    grain, latest = draws.choice([1, 60, 3600]), draws.choice([5, 100, 400])
    for number, submit in enumerate(sorted(draws.randrange(latest) for _ in range(draws.choice([3, 20, 120]))), 1):
        run, size = draws.randrange(60) * grain, min(processors, draws.choice([1, 1, 2, 3, 8, processors]))
        limit, used = max(1, draws.choice([run, run, 60 * grain, run // 2])), run * draws.random()
        user, group, queue = draws.randrange(4), draws.randrange(2), draws.randrange(3)
        asked, who = f"{size} {limit} -1", f"{user} {group} -1 {queue}"
        rows.append(f"{number} {submit * grain} -1 {run} {size} {used:.2f} -1 {asked} 1 {who} -1 -1 -1")
    (folder / "jobs.swf").write_text("\n".join(rows) + "\n", encoding="utf-8")
    words = [str(folder / "jobs.swf"), "--processors", str(processors), "--passes", draws.choice(["batch", "event"])]
    words += ["--expired", draws.choice(["limit", "now", "tsafrir", "again"])]
    words += _policies(draws)
    if "sched/venture" in words:
        words += ["--preempt-mode", draws.choice(["requeue", "suspend", "checkpoint"])]
    return words


def _two_tiers(draws: random.Random, folder: Path) -> list[str]:
    """KEASY, REASY or MEASY on a workload that says what its processes use of their processors."""
    processors, jobs = draws.choice([8, 32, 128]), draws.choice([5, 40, 150])
    generate = f"trace generate {folder}/jobs.swf --model feitelson96 --jobs {jobs} --processors {processors}"
    load, seed = draws.choice([0.5, 0.7, 0.95]), draws.randrange(2**31)
    _run([*generate.split(), "--load", str(load), "--cpu-use", "--seed", str(seed)])
    words = [f"{folder}/jobs.swf", "--scheduler", "sched/two_tier", "--execution", "execution/two_tier"]
    words += ["--passes", draws.choice(["batch", "event"])]
    return [*words, "--set", f"sched/two_tier.deploy={draws.choice(DEPLOYMENTS)}"]


def _run(words: list[str]) -> None:
    """A command line; what is wrong is said."""
    from emulator.cli import slurm_sim

    try:
        slurm_sim.main(words, prog_name="slurm-sim", standalone_mode=False)
    except (SlurmSimError, click.ClickException) as error:
        click.echo(f"{type(error).__name__}: {error}")


def digest_of(machine: str, seed: int) -> str:
    """What a run leaves and says, as a number; an error is said, too."""
    with tempfile.TemporaryDirectory() as name:
        folder, said = Path(name), io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            _run(words_of(machine, seed, folder))
        found = hashlib.sha256(re.sub(r"\d+:\d\d:\d\d", "", said.getvalue().replace(name, "")).encode())
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        for path in files:
            found.update(path.relative_to(folder).as_posix().encode() + path.read_bytes().replace(name.encode(), b""))
            if path.name in ("records.parquet", "runs.parquet") and not may_be(pd.read_parquet(path)):
                return IMPOSSIBLE
        return f"{found.hexdigest()[:24]} {sum(path.name == 'records.parquet' for path in files)}"


def may_be(table: pd.DataFrame) -> bool:
    """Whether jobs, or their runs, end after they have started, started after they came, and have no negative limit."""
    times = [table[name] for name in ("submit", "start", "end") if name in table]
    ordered = all((later.isna() | (earlier <= later)).all() for earlier, later in pairwise(times))
    return ordered and not any((table[name] < 0).any() for name in ("time_limit", "limit", "occupied") if name in table)


class TakesTooLongError(BaseException):
    """A run that does not end; no hook's error."""


def ended_digest_of(machine: str, seed: int) -> str:
    """The same of a run that ends, or ``ENDLESS``."""

    def give_up(*_: object) -> None:
        raise TakesTooLongError

    signal.signal(signal.SIGALRM, give_up)
    signal.alarm(LONGEST)
    try:
        return digest_of(machine, seed)
    except TakesTooLongError:
        return ENDLESS
    finally:
        signal.alarm(0)


def _digests(python: str, form: str, machine: str, first: int, last: int) -> Iterator[str]:
    """Digests of another process, in one form."""
    words = [python, "-m", "contrib.differential.forms", "--digests", machine, "--seeds", f"{first}:{last}"]
    environment = {**os.environ, "SLURM_SIM_KERNELS": form, "PYTHONHASHSEED": "0"}
    with subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield from process.stdout


def verdict_of(compiled: str, plain: str) -> str:
    """What is wrong with a pair of digests: ``endless``, ``impossible`` or ``differ``; empty for nothing."""
    if ENDLESS in compiled + plain:
        return "endless"
    if IMPOSSIBLE in compiled + plain:
        return "impossible"
    return "" if compiled == plain else "differ"


@click.command()
@click.option("--seeds", default="0:100", show_default=True, help="FIRST:LAST; the last is left out.")
@click.option("--machine", "machines", multiple=True, type=click.Choice(MACHINES), help="Only these.  [repeatable]")
@click.option("--python", default=sys.executable, help="Another Python, with the product installed in it.")
@click.option("--digests", type=click.Choice(MACHINES), hidden=True)
def forms(seeds: str, machines: Sequence[str], python: str, digests: str | None) -> None:
    """Run random machines, workloads and policies compiled and as plain Python; say which seeds differ."""
    first, last = map(int, seeds.split(":"))
    if digests is not None:
        for seed in range(first, last):
            sys.stdout.write(f"{seed} {ended_digest_of(digests, seed)}\n")
            sys.stdout.flush()
        return
    wrong = 0
    for machine in machines or MACHINES:
        pairs = [_digests(python, form, machine, first, last) for form in ("", "plain")]
        ran, found = 0, defaultdict[str, list[int]](list)
        for seed, (compiled, plain) in enumerate(zip(*pairs, strict=True), first):
            ran += not compiled.rstrip().endswith(" 0")
            found[verdict_of(compiled, plain)].append(seed)
        wrong += last - first - len(found[""])
        differ = found["differ"]
        click.echo(f"{machine}: {last - first} seeds, {ran} left a run, {len(differ)} differ {differ or ''}")
        if found["endless"]:
            click.echo(f"{machine}: not over after {LONGEST} seconds: {found['endless']}")
        if found["impossible"]:
            click.echo(f"{machine}: with times that cannot be: {found['impossible']}")
    if wrong:
        raise click.ClickException(f"{wrong} differ, do not end, or leave times that cannot be")


if __name__ == "__main__":
    command: Any = forms
    command()
