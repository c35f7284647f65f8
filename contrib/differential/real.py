"""``python -m contrib.differential.real``: random scenarios on a real Slurm and in the emulator. See README.md."""

from __future__ import annotations

import copy
import json
import re
import signal
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
import yaml

from emulator.record import Options
from emulator.record.daemons import Root, short
from emulator.record.record import dump, merged
from emulator.record.record import repeats as repeats_of
from emulator.truth import Verdict, judge
from emulator.truth.compare import Difference
from emulator.workload.scenario_reader import read_scenario
from slurm_sim_plugins.errors import SlurmSimError

from .scenarios import HET_JOBS, scenario_of
from .variants import recordings, variant_of
from .wider import wider_of

Document = dict[str, Any]
SCHEDULE = {"start", "nodes", "outcome", "state", "runs", "order", "rejection", "suspension", "job"}
"""What a job's schedule is; the rest are figures and words about it."""
KEPT = re.compile(r"(?i)^(NodeName|PartitionName|SelectType|Accounting)")
"""Lines of a configuration that are not tried without."""
LATER = (((22, 5), re.compile(r"(?m) MaxCPUsPerSocket=\S+|^PreemptParameters=.*\n")),)
"""Versions, and what is drawn that they and those before them do not take."""


@dataclass
class Found:
    """What came of one scenario.

    Attributes:
        name: of the scenario.
        jobs: how many were recorded.
        schedule: names of those whose schedule differs.
        words: names of others of which something differs.
        noisy: names of those of which something did not repeat.
        first: the first divergence; None if nothing differs.
        causes: how often what differs.
    """

    name: str
    jobs: int
    schedule: list[str]
    words: list[str]
    noisy: list[str]
    first: str | None
    causes: dict[str, int]

    @classmethod
    def of(cls, verdict: Verdict) -> Found:
        """What a verdict says."""
        ones = sorted(verdict.differences, key=lambda one: instant(one, verdict))
        schedule = {one.job for one in ones if one.what in SCHEDULE}
        causes: dict[str, int] = {}
        for one in ones:
            causes[one.what] = causes.get(one.what, 0) + 1
        first = f"{ones[0].job} {ones[0].what}: {ones[0].recorded} | {ones[0].emulated}" if ones else None
        return cls(
            name=verdict.scenario.name,
            jobs=len(verdict.pairs),
            schedule=sorted(schedule),
            words=sorted({one.job for one in ones} - schedule),
            noisy=sorted({one.job for one, _ in verdict.excused}),
            first=first,
            causes=causes,
        )


def instant(one: Difference, verdict: Verdict) -> tuple[float, bool, float]:
    """When a difference begins: of its job's runs, or the first number in its words; schedules go before words."""
    pair = next((pair for pair in verdict.pairs if pair.name == one.job), None)
    if one.what in ("nodes", "allocation", "partition", "limit") and pair is not None and pair.recorded.runs:
        return pair.recorded.runs[0].start, False, 0.0
    numbers = [float(text) for text in re.findall(r"(?<![\w.])[0-9]+(?:\.[0-9]+)?", f"{one.recorded} {one.emulated}")]
    submitted = min(
        (job.submit for job in verdict.scenario.submissions if job.name == one.job.split("_")[0]), default=0.0
    )
    at = min(numbers, default=submitted) if one.what != "priority" else numbers[1] if len(numbers) > 1 else submitted
    return max(at, submitted) if one.what in ("state", "outcome") else at, one.what not in SCHEDULE, submitted


class Recorder:
    """Records documents and judges them.

    Args:
        folder: where recordings are kept.
        options: how they are made.
    """

    def __init__(self, folder: Path, options: Options) -> None:
        self._folder = folder
        self._options = options

    def judged(self, document: Document, repeats: int) -> Verdict:
        """Record a scenario, where something differs so often that noise is known, and compare.

        Raises:
            SlurmSimError: it cannot be played or emulated.
        """
        target = self._folder / f"{document['scenario']}.yaml"
        with tempfile.TemporaryDirectory() as private:
            path = Path(private) / f"{document['scenario']}.yaml"
            path.write_text(dump(document), encoding="utf-8")
            made: list[Document] = []
            for each in repeats_of(path, replace(self._options, repeats=repeats), lambda _: None):
                made.append(each)
                target.write_text(dump(merged(made)), encoding="utf-8")
                verdict = judge(read_scenario(target))
                if verdict.agrees:
                    break
        return verdict


def smaller(document: Document) -> Iterator[Document]:
    """Scenarios with less in them: first without much, then without little."""
    jobs, actions = document["jobs"], document.get("actions", [])
    step = len(jobs) // 2
    while step:
        for begin in range(0, len(jobs), step):
            yield _without(document, "jobs", range(begin, begin + step))
        step //= 2
    for place in range(len(actions)):
        yield _without(document, "actions", [place])
    lines = document["slurm_conf"].splitlines()
    for place, line in enumerate(lines):
        if not KEPT.match(line):
            yield document | {"slurm_conf": "\n".join([*lines[:place], *lines[place + 1 :]]) + "\n"}
    for number, job in enumerate(jobs):
        for place in range(len(job.get("sbatch", []))):
            less = copy.deepcopy(document)
            del less["jobs"][number]["sbatch"][place]
            yield less


def _without(document: Document, key: str, places: Any) -> Document:
    left = [each for place, each in enumerate(document[key]) if place not in set(places)]
    kept = {job["id"] for job in (left if key == "jobs" else document["jobs"])}
    less = document | {key: left}
    if key == "jobs":
        names = [action for action in document.get("actions", []) if _about(action[1], kept)]
        less["actions"] = names
        less["jobs"] = [
            job for job in left if all(_about(word, kept) for word in job["sbatch"] if word.startswith("-d"))
        ]
    return {name: value for name, value in less.items() if value != []} | {"jobs": less["jobs"]}


def _about(text: str, kept: set[int]) -> bool:
    """Whether a command, or a dependency, is about jobs that are there."""
    found = re.search(r"(?:JobId=|scancel |hold |release |requeue |suspend |resume |:)([0-9]+)", text)
    return found is None or "reservation" in text or int(found[1]) in kept


def suited(document: Document, version: tuple[int, int]) -> Document:
    """The scenario without what a version of Slurm does not take in its configuration."""
    conf = document["slurm_conf"]
    for last, words in LATER:
        conf = words.sub("", conf) if version <= last else conf
    return document | {"slurm_conf": conf}


def shrunk(document: Document, differs: Callable[[Document], bool], budget: int) -> Document:
    """The smallest scenario that was found to differ with so many recordings."""
    again = True
    while again:
        again = False
        for less in smaller(document):
            if not less["jobs"]:
                continue
            if budget <= 0:
                return document
            budget -= 1
            if differs(less):
                document, again = less, True
                break
    return document


def cut(document: Document, found: Verdict) -> Document:
    """The scenario without what comes after the first divergence."""
    first = min((instant(one, found)[0] for one in found.differences), default=0.0)
    late = [place for place, job in enumerate(document["jobs"]) if job["submit"] > first + 2]
    return _without(document, "jobs", late) if late else document


@click.command()
@click.option("--seeds", default="1-20", show_default=True, help="FIRST-LAST.")
@click.option("--out", type=click.Path(path_type=Path), default=Path("fuzz"), show_default=True)
@click.option("--repeat", default=3, show_default=True, help="How often what differs is recorded.")
@click.option("--workers", default=1, show_default=True, help="Recordings at a time.")
@click.option("--speed", type=float, help="As of slurm-sim record.")
@click.option("--slurm-root", type=click.Path(path_type=Path), help="As of slurm-sim record.")
@click.option("--any-load", is_flag=True, help="As of slurm-sim record.")
@click.option("--het-jobs", default=HET_JOBS, show_default=True, help="The share of jobs that have components.")
@click.option("--wide", is_flag=True, help="Scenarios with more jobs and with options that are seldom.")
@click.option(
    "--vary",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    multiple=True,
    help="Recordings with a few things changed, of these folders.",
)
@click.option("--shrink", default=0, show_default=True, help="Recordings for the smallest scenario that differs.")
@click.option(
    "--scenario", "given", type=click.Path(path_type=Path), multiple=True, help="Of a file instead of a seed."
)
def main(
    seeds: str,
    out: Path,
    repeat: int,
    workers: int,
    speed: float | None,
    slurm_root: Path | None,
    any_load: bool,
    het_jobs: float,
    wide: bool,
    vary: tuple[Path, ...],
    shrink: int,
    given: tuple[Path, ...],
) -> None:
    """Record random scenarios on a real Slurm, emulate them, and say where the two part first."""
    if sum(map(bool, (given, vary, wide))) > 1:
        raise click.UsageError("--scenario, --vary and --wide each say what is recorded: take one of them")
    known = recordings(vary)
    if vary and not known:
        raise click.UsageError(f"--vary: there is no recording that can be varied in {', '.join(map(str, vary))}")
    out.mkdir(parents=True, exist_ok=True)
    recorder = Recorder(out, Options(1, speed, slurm_root, 900.0, any_load))
    first, _, last = seeds.partition("-")
    version = short(Root(slurm_root).version())

    def scenario(seed: int) -> Document:
        return variant_of(seed, known) if known else (wider_of if wide else scenario_of)(seed, het_jobs)

    documents = [yaml.safe_load(path.read_text()) for path in given] or [
        suited(scenario(seed), version) for seed in range(int(first), int(last or first) + 1)
    ]
    total: list[Found] = []

    def one(document: Document) -> None:
        try:
            found = Found.of(recorder.judged(document, repeat))
        except SlurmSimError as error:
            click.echo(f"{document['scenario']}: {error}")
            return
        total.append(found)
        with (out / "found.jsonl").open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(vars(found)) + "\n")
        differing = f"{len(found.schedule)} of {found.jobs} jobs differ, {len(found.words)} in words: {found.first}"
        click.echo(f"{found.name}: {differing if found.first else f'{found.jobs} jobs agree'}")
        if found.first and shrink:
            click.echo(_shrink(recorder, document, repeat, shrink))

    signal.signal(signal.SIGTERM, signal.default_int_handler)
    pool = ThreadPoolExecutor(workers)
    try:
        list(pool.map(one, documents))
    finally:  # After an interruption what is being recorded is still finished.
        pool.shutdown(cancel_futures=True)
    jobs = sum(found.jobs for found in total)
    agree = jobs - sum(len(set(found.schedule) | set(found.noisy)) for found in total)
    repeated = jobs - sum(len(set(found.noisy) - set(found.schedule)) for found in total)
    click.echo(f"{sum(not found.first for found in total)} of {len(total)} scenarios agree whole")
    click.echo(f"{agree} of {repeated} jobs that repeat have the same start, nodes and outcome")


def _shrink(recorder: Recorder, document: Document, repeat: int, budget: int) -> str:
    name = f"{document['scenario']}_small"

    def differs(less: Document) -> bool:
        try:
            return not recorder.judged(less | {"scenario": name}, 1).agrees
        except SlurmSimError:
            return False

    verdict = recorder.judged(document | {"scenario": name}, 1)
    small = cut(document, verdict)
    small = shrunk(small if differs(small) else document, differs, budget)
    verdict = recorder.judged(small | {"scenario": name}, repeat)
    return f"{name}: {len(small['jobs'])} jobs, {Found.of(verdict).first or 'does not repeat'}"


if __name__ == "__main__":
    main()
