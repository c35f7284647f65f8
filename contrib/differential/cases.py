"""The cases: what is run on both sides, in which order of arguments, on which files."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from . import clusters

Steps = list[list[str]]
TRACES = Path(os.environ.get("SLURM_SIM_TRACES") or Path(__file__).resolve().parents[3] / "shared" / "traces")
LOGS = {
    "KTH": ("KTH-SP2-1996-2.1-cln.swf.gz", 100),
    "CTC": ("CTC-SP2-1996-3.1-cln.swf.gz", 430),
    "SDSC-SP2": ("SDSC-SP2-1998-4.2-cln.swf.gz", 128),
    "SDSC-BLUE": ("SDSC-BLUE-2000-4.2-cln.swf.gz", 1152),
    "SDSC-DS": ("SDSC-DS-2004-2.1-cln.swf.gz", 1664),
}
PASSES = ("batch", "event")
PV_EASY = "--scheduler sched/venture --preempt preempt/shadow_load --walltime walltime/last_model"
WHOLE = {
    "fcfs": "--scheduler sched/fcfs",
    "easy": "--scheduler sched/easy",
    "sjf-easy": "--scheduler sched/easy --backfill backfill/sjf",
}
"""Run on whole logs."""
CUT = {
    "easy-sticky": "--set sched/easy.reservation=sticky",
    "easy-sjf": "--priority priority/sjf",
    "easy-wfp": "--priority priority/wfp --set priority/wfp.score=wfp2",
    "easy-unkilled": "--filter papers --no-kill-at-limit --expired tsafrir",
    "easy-explained": "--explain",
    "easy-plain": "--dispatch pluggy --no-compiled",
    "easy-given": "--walltime walltime/given",
    "easy-last-model": "--walltime walltime/last_model --set walltime/last_model.refresh=pass --expired again",
    "easy-last-two": "--walltime walltime/last_two",
    "easy-recent-average": "--walltime walltime/recent_average",
    "easy-virtual": "--walltime walltime/virtual --seed 3",
    "easy-history": "--walltime walltime/history --set walltime/history.project=group",
    "conservative": "--scheduler sched/conservative",
    "conservative-plain": "--scheduler sched/conservative --no-compiled --expired now",
    "conservative-late": "--scheduler sched/conservative --set sched/conservative.compress=never_later",
    "conservative-last-two": "--scheduler sched/conservative --walltime walltime/last_two",
    "pv-easy-requeue": PV_EASY,
    "pv-easy-wfp": f"{PV_EASY} --priority priority/wfp --set preempt/shadow_load.trim=true",
    "pv-easy-suspend": f"{PV_EASY} --preempt-mode suspend",
    "pv-easy-checkpoint": f"{PV_EASY} --preempt-mode checkpoint --preemption interval=1800",
    "pv-easy-share": f"{PV_EASY} --preempt-mode checkpoint --preemption checkpoint=share",
    "pv-easy-jit": f"{PV_EASY} --preempt-mode checkpoint --preemption checkpoint=jit --preemption gb_per_processor=4",
    "realtime": "--scheduler sched/realtime --preempt preempt/realtime --preempt-mode checkpoint",
    **{f"paper-{name}": f"--config papers/{name}" for name in ("pv_easy", "vm_pv_easy", "cp_pv_easy", "easy_last")},
}
"""Run on the first jobs of each log."""
TWO_TIER = "--scheduler sched/two_tier --execution execution/two_tier"
ONE_CPU_NODES = """ClusterName=c
SchedulerType={scheduler}
PriorityType=priority/{priority}
PriorityWeightAge=1000
PriorityWeightJobSize=500
AccountingStorageType=accounting_storage/slurmdbd
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
NodeName=n[1-{processors}] CPUs=1
PartitionName=p Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


@dataclass(frozen=True)
class Case:
    """One case.

    Attributes:
        name: what it is called in reports and in the list of known differences.
        family: the cases whose columns mean the same: ``ideal`` or ``slurm``.
        make: writes the inputs into a folder; gives the steps, each the arguments of one ``slurm-sim``.
        seconds: CPU seconds after which a step is ended; a few random clusters preempt for ever.
    """

    name: str
    family: str
    make: Callable[[Path], Steps]
    seconds: int = 900


def all_cases(clusters: int) -> Iterator[Case]:
    """Every case whose inputs are there; so many random clusters."""
    yield from _random_clusters(clusters)
    yield from _generated()
    yield from _scenarios()
    yield from _logs()
    yield from _sites()


def missing() -> list[str]:
    """Names of inputs that are not there."""
    wanted = [TRACES / "swf" / file for file, _ in LOGS.values()]
    wanted += [
        TRACES / "slurm" / "ub-hpc",
        TRACES / "alcf" / "mira_2018-01-21_week.cobalt.log.gz",
        *_scenario_folders(),
    ]
    return [str(path) for path in wanted if not path.exists()]


def _random_clusters(count: int) -> Iterator[Case]:
    for seed in range(count):
        yield Case(f"cluster-{seed:04}", "slurm", partial(_random_cluster, seed), seconds=10)


def _random_cluster(seed: int, folder: Path) -> Steps:
    files = clusters.files_of(seed)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    words = ["run", f"{folder}/jobs.events", "--slurm-conf", f"{folder}/slurm.conf", "--out", "run", "--json"]
    words += [word for name in ("accounts", "accounts.dump") if name in files for word in ("--accounts", folder / name)]
    words += ["--commands", folder / "commands"] if "commands" in files else []
    if "PreemptMode=CHECKPOINT" in files["slurm.conf"]:
        words += ["--preemption", "interval=60", "--preemption", "cost=5"]
    words += ["--no-compiled"] if seed % 2 else []
    if not seed % 25:
        words += ["--priority", "priority/sjf", "--walltime", "walltime/last_two"]
    if seed % 10:
        return [words]
    views = ["squeue run --at 600", "sinfo run --at 600", "sacct run -P --format ALL"]
    views += ["sshare run --at 600 -a -l"] if "accounts" in files else []
    views += ["sprio run --at 600 -l"]  # The last: it is refused where there are no factors.
    return [words, *(view.split() for view in views)]


def _generated() -> Iterator[Case]:
    """Two tiers, which want to know what processes use of their processors."""
    for deploy in ("migrate", "kill", "reserve"):
        for passes in PASSES:
            generate = "trace generate jobs.swf --model feitelson96 --jobs 1500 --processors 320 --load 0.9 --cpu-use"
            run = f"jobs.swf --passes {passes} {TWO_TIER} --set sched/two_tier.deploy={deploy}"
            yield _fixed(f"two-tier-{deploy}-{passes}", "ideal", run, generate)


def _scenario_folders() -> list[Path]:
    named = os.environ.get("SLURM_SIM_SCENARIOS")
    truth = TRACES.parent / "slurm-truth"
    return [Path(named)] if named else [truth / "scenarios", truth / "minimal"]


def _scenarios() -> Iterator[Case]:
    for folder in _scenario_folders():
        for file in sorted(folder.rglob("*.yaml")):
            yield _fixed(f"scenario-{file.stem}", "slurm", str(file))


def _logs() -> Iterator[Case]:
    for name, (file, processors) in LOGS.items():
        log = TRACES / "swf" / file
        if not log.exists():
            continue
        for passes in PASSES:
            always = f"--processors {processors} --passes {passes}"
            for policy, words in WHOLE.items():
                yield Case(f"log-{name}-{policy}-{passes}", "ideal", partial(_log, log, 0, f"{words} {always}"))
            for policy, words in CUT.items():
                make = partial(_log, log, 3000, f"{words} {always}")
                yield Case(f"log-{name}-{policy}-{passes}", "ideal", make)
        for scheduler in ("backfill", "builtin"):
            for priority in ("basic", "multifactor"):
                conf = ONE_CPU_NODES.format(scheduler=f"sched/{scheduler}", priority=priority, processors=processors)
                make = partial(_log_on_nodes, log, 1000 if scheduler == "backfill" else 300, conf)
                yield Case(f"nodes-{name}-{scheduler}-{priority}", "slurm", make)


def _log(log: Path, jobs: int, words: str, folder: Path) -> Steps:
    run = ["run", str(_cut(log, jobs, folder) if jobs else log), *words.split(), "--out", "run", "--json"]
    audited = "priority/sjf" in words and "KTH" in log.name  # It takes long.
    return [run, ["fairness", "run", "--json"]] if audited else [run]


def _log_on_nodes(log: Path, jobs: int, conf: str, folder: Path) -> Steps:
    (folder / "slurm.conf").write_text(conf, encoding="utf-8")
    return [["run", str(_cut(log, jobs, folder)), "--slurm-conf", f"{folder}/slurm.conf", "--out", "run", "--json"]]


def _cut(log: Path, jobs: int, folder: Path) -> Path:
    """The header and the first jobs of a log."""
    file = folder / "jobs.swf"
    with gzip.open(log, "rt", encoding="utf-8", errors="replace") as lines, file.open("w", encoding="utf-8") as target:
        left = jobs
        for line in lines:
            left -= not line.startswith(";")
            if left < 0:
                break
            target.write(line)
    return file


def _sites() -> Iterator[Case]:
    """A week of a university's cluster, with and without accounts; a week of Mira, in blocks."""
    hpc = TRACES / "slurm" / "ub-hpc"
    mira = TRACES / "alcf" / "mira_2018-01-21_week.cobalt.log.gz"
    week = f"{hpc}/workload_week.events.gz --slurm-conf {hpc}/slurm_sim.conf"
    if hpc.exists():
        yield _fixed("ub-hpc", "slurm", week)
        yield _fixed("ub-hpc-accounts", "slurm", f"{week} --accounts {hpc}/sacctmgr.script")
    if mira.exists():
        yield _fixed("mira-realtime", "ideal", f"{mira} --config papers/realtime")
        baseline = "--set sched/realtime.policy=baseline"
        yield _fixed("mira-baseline", "ideal", f"{mira} --config papers/realtime {baseline}")


def _fixed(name: str, family: str, words: str, *before: str) -> Case:
    """A case that needs no inputs of its own: steps before, and the run."""
    steps = [*(step.split() for step in before), ["run", *words.split(), "--out", "run", "--json"]]
    return Case(name, family, lambda _: steps)
