"""``python -m contrib.differential.plans``: plans of each backfill cycle, Slurm's and the emulator's. See README.md."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import NamedTuple
from unittest.mock import patch

import click

from emulator.config.slurm.hostlist import expand
from emulator.record.told import told_of_jobs
from emulator.scheduling.plugin_scheduler import PluginScheduler
from emulator.scheduling.windows import Habits, Windows
from emulator.state.job import Job
from emulator.truth.emulated import controller_of
from emulator.truth.inputs import Inputs, inputs_of
from emulator.truth.known import Known
from emulator.workload.scenario import Scenario
from emulator.workload.scenario_reader import read_scenario
from slurm_sim_plugins.errors import InputError, SlurmSimError
from slurm_sim_plugins.plan import Hole

APART = 2.5
"""Seconds between a cycle and the emulated one that is held against it, at most."""
TOLERANCE = 3.0
"""Seconds between two planned starts that count as one; the log has whole seconds."""
LINE = re.compile(r"\[(?P<at>[0-9T:.-]+)\] (?:debug:  )?sched/backfill: (?P<what>.*)")
BEGUN = "_attempt_backfill: beginning"
PLAN = re.compile(
    r"_dump_job_sched: (?:BACKFILL: )?JobId=(?P<job>[0-9]+)\S* to start at (?P<start>\S+), end at \S+"
    r" on nodes (?P<nodes>\S+) in partition (?P<partition>\S+)"
)
STARTED = re.compile(r"_start_job: Started JobId=([0-9]+)\S* in ")


class Plan(NamedTuple):
    """What a cycle keeps for a job.

    Attributes:
        job: the name of the submission.
        start: in seconds from the start of the recording.
        nodes: their names, sorted.
        partition: the partition.
    """

    job: str
    start: float
    nodes: tuple[str, ...]
    partition: str

    def agrees(self, other: Plan) -> bool:
        """Whether it is the same, but for a few seconds."""
        return self._replace(start=other.start) == other and abs(self.start - other.start) <= TOLERANCE

    def __str__(self) -> str:
        return f"{self.job} at {self.start:.1f} s on {','.join(self.nodes)} in {self.partition}"


@dataclass
class Cycle:
    """One cycle of backfill.

    Attributes:
        at: when it began, in seconds from the start of the recording.
        plans: what it kept, in its order.
        started: names of the submissions that it started.
    """

    at: float
    plans: list[Plan] = field(default_factory=list)
    started: list[str] = field(default_factory=list)


class Divergence(NamedTuple):
    """A cycle that differs.

    Attributes:
        real: as it was; None for one that the emulator alone made.
        emulated: as it was emulated; None for one that it did not make.
        first: the place of the first plan that differs.
    """

    real: Cycle | None
    emulated: Cycle | None
    first: int

    def __str__(self) -> str:
        return f"{_told('Slurm', self.real, self.first)}\n{_told('emulated', self.emulated, self.first)}"


def _told(side: str, cycle: Cycle | None, first: int) -> str:
    if cycle is None:
        return f"  {side}: no cycle"
    plan = f"plan {first + 1}: {cycle.plans[first]}" if first < len(cycle.plans) else f"no plan {first + 1}"
    started = f", started {', '.join(cycle.started)}" if cycle.started else ""
    return f"  {side}: cycle at {cycle.at:.1f} s, {len(cycle.plans)} plans{started}; {plan}"


def cycles_of(log: Iterable[str], zero: float, names: Mapping[int, str]) -> Iterator[Cycle]:
    """The cycles that a controller's log, in UTC, tells of.

    Args:
        log: its lines.
        zero: when the recording started, in seconds since 1970.
        names: of the submissions, by job id.
    """
    cycle: Cycle | None = None
    for line in filter(None, map(LINE.match, log)):
        if line["what"] == BEGUN:
            if cycle is not None:
                yield cycle
            cycle = Cycle(_seconds(line["at"]) - zero)
        elif cycle is not None and (plan := PLAN.match(line["what"])):
            name = names.get(int(plan["job"]), plan["job"])
            nodes = tuple(sorted(expand(plan["nodes"])))
            cycle.plans.append(Plan(name, _seconds(plan["start"]) - zero, nodes, plan["partition"]))
        elif cycle is not None and (started := STARTED.match(line["what"])):
            cycle.started.append(names.get(int(started[1]), started[1]))
    if cycle is not None:
        yield cycle


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


def zero_of(log: Iterable[str], scenario: Scenario) -> float:
    """When a recording started, in seconds since 1970: a recording has from its log when submissions were taken.

    Raises:
        InputError: the log is that of another recording.
    """
    taken = told_of_jobs(log, {}, 0.0).taken
    found = [taken[job.id] - job.submit for job in scenario.submissions if job.id in taken]
    if not found or max(found) - min(found) > 1:
        raise InputError(f"{scenario.source}: the log is that of another recording, or tells of no submission")
    return median(found)


def emulated(scenario: Scenario, inputs: Inputs) -> list[Cycle]:
    """The cycles of the emulator."""
    controller = controller_of(inputs, compiled=False)
    cluster, found = controller.cluster, list[Cycle]()
    windows, keep, started = PluginScheduler.windows, Windows.keep, Windows.started

    def begun(scheduler: PluginScheduler, habits: Habits) -> Windows:
        found.append(Cycle(cluster.now))
        return windows(scheduler, habits)

    def kept(plan: Windows, hole: Hole) -> None:
        entry, allocation = hole.place._entry, hole.place._allocation
        nodes = tuple(sorted(cluster.machine.names[node] for node in allocation.nodes))
        found[-1].plans.append(Plan(_name(entry._pair[0], inputs), hole.start, nodes, entry.partition))
        keep(plan, hole)

    def ran(plan: Windows, job: Job) -> None:
        found[-1].started.append(_name(job, inputs))
        started(plan, job)

    with (
        patch.object(PluginScheduler, "windows", begun),
        patch.object(Windows, "keep", kept),
        patch.object(Windows, "started", ran),
    ):
        controller.run(max((seen[-1].at for seen in (scenario.recorded.timeline or {}).values() if seen), default=0.0))
    return found


def _name(job: Job, inputs: Inputs) -> str:
    """Of the submission: the log has numbers of arrays and of heterogeneous jobs as wholes."""
    request = job.request
    whole = request.array if request.het_job_id is None else request.het_job_id
    return inputs.names.get(request.id if whole is None else whole, job.name)


def divergences(real: Iterable[Cycle], emulated: Iterable[Cycle]) -> Iterator[Divergence]:
    """Cycles that differ, in their order; those without plans, or with those of the last one, need no counterpart.

    The emulator leaves out cycles that cannot have others than the one before.
    """
    left = sorted(emulated, key=lambda one: one.at)
    for before, cycle in pairwise([Cycle(0.0), *real]):
        while left and left[0].at < cycle.at - APART:
            yield from _alone(left.pop(0))
        beside = [one for one in left if one.at <= cycle.at + APART]
        other = min(beside, key=lambda one: abs(one.at - cycle.at), default=None)
        if other is None:
            if cycle.plans and _first(before, cycle) is not None:
                yield Divergence(cycle, None, 0)
            continue
        while left[0] is not other:
            yield from _alone(left.pop(0))
        left.pop(0)
        first = _first(cycle, other)
        if first is not None:
            yield Divergence(cycle, other, first)


def _alone(cycle: Cycle) -> Iterator[Divergence]:
    if cycle.plans:
        yield Divergence(None, cycle, 0)


def _first(cycle: Cycle, other: Cycle) -> int | None:
    """The place of the first plan that differs."""
    for place, (mine, theirs) in enumerate(zip(cycle.plans, other.plans, strict=False)):
        if not mine.agrees(theirs):
            return place
    both = len(cycle.plans), len(other.plans)
    return None if both[0] == both[1] else min(both)


def compared(recording: Path, log: Path) -> tuple[int, list[Divergence]]:
    """How many cycles a log tells of from the start of the recording on, and those that differ.

    Raises:
        InputError: the log is that of another recording, or the recording cannot be emulated.
    """
    scenario = read_scenario(recording)
    inputs = inputs_of(scenario, Known().beside(scenario))
    with log.open(encoding="utf-8", errors="replace") as lines:
        zero = zero_of(lines, scenario)
    with log.open(encoding="utf-8", errors="replace") as lines:
        real = [one for one in cycles_of(lines, zero, inputs.names) if one.at >= 0]
    end = real[-1].at if real else 0.0
    return len(real), list(divergences(real, (one for one in emulated(scenario, inputs) if one.at <= end + APART)))


@click.command()
@click.argument("recording", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("log", required=False, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--all", "every", is_flag=True, help="Name each cycle that differs, not the first alone.")
def main(recording: Path, log: Path | None, every: bool) -> None:
    """Compare the plans in a controller's LOG (by default beside the RECORDING) with the emulator's."""
    beside = log or recording.with_suffix(".log")
    if not beside.is_file():
        raise click.ClickException(f"{beside} does not exist; slurm-sim record --keep-log keeps it beside a recording")
    try:
        cycles, found = compared(recording, beside)
    except SlurmSimError as error:
        raise click.ClickException(str(error)) from error
    for one in found if every else found[:1]:
        click.echo(one)
    click.echo(f"{recording}: {len(found)} of {cycles} cycles differ")
    raise SystemExit(bool(found))


if __name__ == "__main__":
    main()
