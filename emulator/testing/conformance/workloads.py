"""The workloads on which plugins are tried: small, and with everything that a trace may hold."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from emulator.workload.workload import Workload

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

PROCESSORS = 16
LIMITS = (1, 5, 20, 60, 200, 1000)


@dataclass(frozen=True)
class Case:
    """A machine and the jobs for it."""

    processors: int
    workload: Workload

    def without(self, index: int) -> Case:
        """The same without one job."""
        keep = np.arange(len(self.workload)) != index
        return replace(self, workload=self.workload.where(keep))

    def __repr__(self) -> str:
        jobs = ", ".join(_job_in_words(self.workload, index) for index in range(len(self.workload)))
        return f"[{jobs}], {self.processors}"


def mixed(seed: int = 1, jobs: int = 60) -> Case:
    """Jobs of all sizes and lengths, bursts, killed and empty runs, one that never fits; columns as of a real trace."""
    rng = np.random.default_rng(seed)
    gaps = rng.choice([0, 0, 1, 3, 15, 60], jobs)
    sizes = np.minimum(rng.choice([1, 1, 1, 2, 3, 4, 8, 11, 16], jobs), PROCESSORS)
    sizes[jobs // 2] = PROCESSORS + 1
    limits = rng.choice(LIMITS, jobs).astype(float)
    shares = rng.choice([0.0, 0.1, 0.5, 0.9, 1.0, 1.5], jobs)
    return Case(PROCESSORS, _workload(np.cumsum(gaps), sizes, np.rint(limits * shares), limits, rng))


def sizes() -> dict[str, Case]:
    """Clusters at the ends of what there is, by what is said of them."""
    rng = np.random.default_rng(2)
    count = 12
    submit = np.arange(count) * 2.0
    limits = rng.choice(LIMITS, count).astype(float)
    run = np.rint(limits * 0.7)
    ones = np.ones(count, dtype=int)
    large = 2_000_000
    return {
        "no jobs": Case(PROCESSORS, mixed().workload.where(np.zeros(60, dtype=bool))),
        "a cluster of one processor": Case(1, _workload(submit, ones, run, limits, rng)),
        "jobs that each take the whole cluster": Case(
            PROCESSORS, _workload(submit, ones * PROCESSORS, run, limits, rng)
        ),
        "one job": Case(PROCESSORS, _workload(submit[:1], ones[:1], run[:1], limits[:1], rng)),
        "a cluster of two million processors": Case(large, _workload(submit, ones * (large // 3), run, limits, rng)),
        "a queue that is never empty": Case(4, _workload(np.zeros(count), ones * 3, run, limits, rng)),
    }


def long_queue(jobs: int) -> Case:
    """A job that takes the whole machine for a while, and ``jobs`` that are submitted together while it runs."""
    rng = np.random.default_rng(3)
    submit = np.concatenate([[0.0], np.ones(jobs)])
    sizes = np.concatenate([[64], rng.choice([1, 2, 4, 8, 16, 32], jobs)])
    limits = np.concatenate([[100.0], rng.choice(LIMITS, jobs).astype(float)])
    return Case(64, _workload(submit, sizes, limits, limits, rng))


def ended_otherwise(case: Case, ends: dict[int, float], now: float, starts: dict[int, float]) -> Case:
    """The same until ``now``: of what had not ended, all true run times are others.

    Args:
        case: as it was.
        ends: when each job ended for good, by id.
        now: in seconds.
        starts: when each job first started, by id.
    """
    workload = case.workload
    run = workload.run.copy()
    for index, job in enumerate(workload.id.tolist()):
        if ends.get(job, np.inf) <= now:
            continue
        started = starts.get(job, np.inf) <= now
        # What has run without ending must go on for longer than it has; what only waited may take any time.
        run[index] = run[index] * 3 + 7 if started or index % 2 else np.floor(run[index] / 3)
    return replace(case, workload=replace(workload, run=run))


def cases() -> SearchStrategy[Case]:
    """Small machines and few jobs, on which much happens at one instant."""
    from hypothesis import strategies as st

    whole = st.integers

    @st.composite
    def made(draw: st.DrawFn) -> Case:
        processors = draw(whole(1, 6))
        rows = draw(
            st.lists(
                st.tuples(whole(0, 20), whole(1, processors), whole(0, 12), whole(1, 12), whole(1, 3), st.booleans()),
                max_size=12,
            )
        )
        submit, size, run, limit, user, requeue = (
            (list(column) for column in zip(*rows, strict=True)) if rows else [[]] * 6
        )
        columns = _columns(submit, size, run, limit, user, [int(each) for each in requeue])
        return Case(processors, Workload.from_columns(columns, name="jobs"))

    return made()


def _workload(submit: Any, sizes: Any, run: Any, limits: Any, rng: np.random.Generator) -> Workload:
    count = len(submit)
    user = rng.integers(-1, 5, count)
    requeue = rng.choice([1, 1, 1, 1, 0], count)
    return Workload.from_columns(_columns(submit, sizes, run, limits, user, requeue), name="jobs")


def _columns(submit: Any, sizes: Any, run: Any, limits: Any, user: Any, requeue: Any) -> dict[str, Any]:
    """All columns; what is not given follows from the user."""
    user, limits = np.asarray(user, dtype=np.int64), np.asarray(limits, dtype=float)
    return {
        "id": np.arange(1, len(user) + 1),
        "submit": np.asarray(submit, dtype=float),
        "processors": np.asarray(sizes, dtype=np.int64),
        "run": np.asarray(run, dtype=float),
        "time_limit": limits,
        "user": user,
        "group": user // 2,
        "project": user % 3,
        "queue": user % 2,
        "partition": np.ones(len(user), dtype=np.int64),
        "predicted": np.where(user > 1, np.maximum(np.rint(limits / 2), 1.0), np.nan),
        "realtime": (user == 1).astype(np.int64),
        "requeue": np.asarray(requeue, dtype=np.int64),
        "cpu_use": np.where(np.asarray(sizes) > 1, 0.4 + 0.2 * (user % 4), 1.0),
    }


def _job_in_words(workload: Workload, index: int) -> str:
    """A job as a test would write it; of the facts the user, from which the others follow."""
    said = {
        "submit": workload.submit[index],
        "run": workload.run[index],
        "limit": workload.time_limit[index],
        "user": workload.facts["user"][index],
    }
    if not workload.facts["requeue"][index]:
        said["requeue"] = 0
    return f"job({workload.processors[index]}, {', '.join(f'{name}={value:g}' for name, value in said.items())})"
