"""Workloads and options for Hypothesis to draw, in the words of the references and of the emulator."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from emulator import Result, Workload, simulate
from emulator.config.preemption import Preemption
from emulator.testing.invariants import check_invariants
from slurm_sim_plugins.manager import Catalogue
from tests.builders.jobs import column

from .cluster import JobRow
from .preemptible import Checkpoint, Mode, Restart, Stays, Suspend

Runs = dict[int, list[tuple[float, float, str, bool]]]
"""All runs of each job, by id: start, end, how it ended, whether it went ahead of the head."""


@dataclass(frozen=True)
class Case:
    """A machine, its jobs, what schedulers think of them, and whose they are."""

    processors: int
    unit: float
    jobs: list[JobRow]
    predicted: dict[int, float]
    users: dict[int, int]

    @property
    def workload(self) -> Workload:
        names = ("id", "submit", "processors", "run", "time_limit")
        columns: dict[str, Any] = {name: [row[place] for row in self.jobs] for place, name in enumerate(names)}
        columns["predicted"] = [float(self.predicted.get(id, "nan")) for id in columns["id"]]
        columns["user"] = [self.users[id] for id in columns["id"]]
        return Workload.from_columns(columns)

    @property
    def exact(self) -> list[JobRow]:
        """Its jobs in fractions, for modes that divide."""
        return [
            (id, Fraction(submit), wanted, Fraction(run), Fraction(limit))
            for id, submit, wanted, run, limit in self.jobs
        ]

    def emulated(self, **options: Any) -> Result:
        workload = self.workload
        options = {"compiled": False, "walltime": "walltime/given", **options}
        result = simulate(workload, processors=self.processors, catalogue=Catalogue(), **options)
        check_invariants(result, workload)
        return result


@st.composite
def small(draw: st.DrawFn) -> Case:
    """Few jobs and few distinct numbers, so that much happens at one instant."""
    processors = draw(st.integers(1, 8))
    unit = draw(st.sampled_from([1, 1, 1.5, 40, 3600]))
    latest = draw(st.sampled_from([0, 3, 12, 30]))
    longest = draw(st.sampled_from([2, 6, 20]))
    sizes = st.integers(1, processors) | st.sampled_from([1, processors])
    kinds = st.sampled_from(["any", "zero", "exact", "early", "over"])

    def job() -> tuple[float, int, float, float]:
        limit = draw(st.integers(1, longest))
        of_kind = {"any": longest, "zero": 0, "exact": limit, "early": limit - 1, "over": limit + 1}
        kind = draw(kinds)
        lasts = draw(st.integers(0, longest)) if kind == "any" else of_kind[kind]
        return draw(st.integers(0, latest)) * unit, draw(sizes), lasts * unit, limit * unit

    rows = [job() for _ in range(draw(st.integers(0, 14)))]
    ids = draw(st.permutations(range(1, len(rows) + 1)))
    jobs = [(id, *row) for id, row in zip(ids, rows, strict=True)]
    predicted = {id: draw(st.integers(1, longest)) * unit for id in ids if draw(st.booleans())}
    users = {id: draw(st.integers(1, 3)) for id in ids}
    return Case(processors, unit, jobs, predicted, users)


def crowd(seed: int) -> Case:
    """Forty jobs of all widths that come soon after each other, half of them taken for short ones.

    Here every option of PV-EASY changes something in one case out of ten or more.
    """
    import numpy as np

    rng = np.random.default_rng(seed)
    processors, unit = 20, int(rng.choice([1, 40, 3600]))
    jobs: list[JobRow] = []
    predicted: dict[int, float] = {}
    users: dict[int, int] = {}
    for id in map(int, 1 + rng.permutation(40)):
        limit, any_run = (int(seconds) for seconds in rng.integers(1, 21, size=2))
        lasts = (limit, limit - 1, limit + 1, any_run)[rng.choice(4, p=[0.3, 0.05, 0.05, 0.6])]
        width = int(rng.integers(1, processors + 1 if rng.random() < 0.6 else 4))
        jobs.append((id, int(rng.integers(0, 21)) * unit, width, lasts * unit, limit * unit))
        predicted[id] = (int(rng.integers(1, limit + 1)) if rng.random() < 0.5 else 1) * unit
        users[id] = int(rng.integers(1, 6))
    return Case(processors, unit, jobs, predicted, users)


def cases() -> st.SearchStrategy[Case]:
    return small() | st.integers(0, 2**32 - 1).map(crowd)


def with_limits_of_powers(case: Case) -> Case:
    """Limits that are powers of two, so that an accuracy is the same number in every arithmetic."""
    jobs = []
    for id, submit, wanted, run, limit in case.jobs:
        power = 2 ** (int(limit / case.unit) % 5)
        jobs.append((id, submit, wanted, min(run, (power + 1) * case.unit), power * case.unit))
    return replace(case, jobs=jobs)


@dataclass(frozen=True)
class Variant:
    """One choice of PV-EASY's options, in the words of both sides."""

    trim: bool = False
    single_head: bool = False
    extra: bool = False
    pin_regular: bool = False
    expired: Any = "limit"
    order: Any = "fcfs"

    def of_reference(self) -> dict[str, Any]:
        return vars(self)

    def of_emulator(self) -> dict[str, Any]:
        venture = {"single_head": self.single_head, "extra": self.extra, "pin_regular": self.pin_regular}
        return {
            "scheduler": "sched/venture",
            "preempt": "preempt/shadow_load",
            "priority": {"fcfs": "priority/basic", "sjf": "priority/sjf"}[self.order],
            "expired": self.expired,
            "plugin_options": {
                "sched/venture": venture,
                "preempt/shadow_load": {"trim": self.trim, "pin_regular": self.pin_regular},
            },
        }


VARIANTS = st.builds(
    Variant,
    trim=st.booleans(),
    single_head=st.booleans(),
    extra=st.booleans(),
    pin_regular=st.booleans(),
    expired=st.sampled_from(["limit", "now", "tsafrir"]),
    order=st.sampled_from(["fcfs", "fcfs", "sjf"]),
)

Modes = tuple[Mode, Preemption]
"""What preemption does to a job's work, in the words of both sides."""

RESTART: Modes = Restart(), Preemption()


@st.composite
def checkpoints(draw: st.DrawFn, unit: float) -> Modes:
    interval = draw(st.integers(1, 6)) * unit
    cost = draw(st.sampled_from([0, 1, interval / 2, interval]).filter(lambda cost: cost <= interval))
    restart_cost = draw(st.sampled_from([0, 1, unit]))
    words = {"interval": interval, "cost": cost, "restart_cost": restart_cost}
    return Checkpoint(**words), Preemption(mode="CHECKPOINT", **words)


@st.composite
def suspensions(draw: st.DrawFn, unit: float) -> Modes:
    """Slowdowns as they are written, such as 0.05; few of them leave whole numbers whole."""
    slowdown = draw(st.sampled_from([0, 1, 3, 0.05, 0.1, 1 / 3, 1e-6]) | st.floats(0, 2))
    cost = draw(st.sampled_from([0, 1, unit]))
    words = {"slowdown": slowdown, "cost": cost}
    return Suspend(Fraction(str(slowdown)), Fraction(cost)), Preemption(mode="SUSPEND", **words)


def modes(unit: float) -> st.SearchStrategy[Modes]:
    return st.just(RESTART) | checkpoints(unit) | suspensions(unit)


def runs_of(result: Result) -> Runs:
    """The run records."""
    runs: Runs = {}
    names = ("job_id", "start", "end", "outcome", "backfilled")
    for id, *about in zip(*(result.records.runs[name].tolist() for name in names), strict=True):
        runs.setdefault(id, []).append((about[0], about[1], about[2], about[3]))
    assert column(result, "requeues") == {id: len(of_job) - 1 for id, of_job in runs.items()}
    return runs


def in_floats(stays: Stays) -> Runs:
    """What a reference says, to be compared with run records."""
    return {
        id: [(float(stay.start), float(stay.end), stay.outcome, stay.backfilled) for stay in of_job]
        for id, of_job in stays.items()
    }
