"""The queue of waiting jobs beside a list that is sorted again, and jobs that fit beside a look at each."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from hypothesis import given
from hypothesis import strategies as st

from emulator.scheduling.queue import JobQueue
from slurm_sim_plugins.jobs import Job, new_job
from slurm_sim_plugins.views import SchedulingView

NUMBERS = st.floats(-2, 2) | st.sampled_from([-0.0, 0.0, 1e300, -1e300])
MOVES = st.lists(st.integers(0, 19), max_size=60)


def jobs_of(numbers: list[float] | None, count: int = 20) -> list[Job]:
    """Jobs in the order of (submit, id), with priorities if they are given."""
    jobs = [new_job({}, index, index + 1, float(index), 1, 60.0) for index in range(count)]
    for job, number in zip(jobs, numbers or (), strict=False):
        object.__setattr__(job, "_order", (-number, job.index))
    return jobs


def key(job: Job) -> tuple[float, int]:
    """What a queue is sorted by, worked out from what a plugin sees."""
    return -job.priority, job.index


@given(numbers=st.none() | st.lists(NUMBERS, min_size=20, max_size=20), moves=MOVES, again=st.integers(0, 60))
def test_jobs_stand_where_they_would_be_sorted_to(numbers: list[float] | None, moves: list[int], again: int) -> None:
    view = SchedulingView(8)
    queue, jobs, waiting = JobQueue(view), jobs_of(numbers), set[Job]()
    for number, move in enumerate(moves):
        job = jobs[move]
        if job in waiting:
            assert queue.remove(job) == (job is min(waiting, key=key))
            waiting.remove(job)
        else:
            waiting.add(job)
            assert queue.add(job) == (job is min(waiting, key=key))
        if number == again and numbers is not None:
            before = [*view.queue]
            for other in waiting:
                object.__setattr__(other, "_order", (-numbers[19 - other.index], other.index))
            assert queue.sort() == (before != sorted(waiting, key=key))
        assert [*view.queue] == sorted(waiting, key=key)
        assert view.head is (min(waiting, key=key) if waiting else None)


@given(
    wanted=st.lists(st.tuples(st.integers(1, 9), st.sampled_from([0.5, 1.0, 2.0])), max_size=12),
    free=st.integers(0, 9),
    in_time=st.sampled_from([0.0, 1.0, 1.5, float("inf")]),
    extra=st.integers(-3, 9),
    taken=st.lists(st.booleans(), min_size=12, max_size=12),
)
def test_those_that_fit_are_looked_at_when_their_turn_comes(
    wanted: list[tuple[int, float]], free: int, in_time: float, extra: int, taken: list[bool]
) -> None:
    view = SchedulingView(9)
    view.free = free
    jobs = [new_job({}, index, index + 1, 0.0, *each) for index, each in enumerate(wanted)]
    expected, left = [], free
    for job in jobs:
        if job.processors <= left and (job.planned <= in_time or job.processors <= extra):
            expected.append(job)
            left -= job.processors if taken[job.index] else 0
    found = []
    for job in view.fitting(jobs, in_time, extra):
        found.append(job)
        view.free -= job.processors if taken[job.index] else 0
    assert found == expected


def _in_reverse(jobs: list[Job]) -> list[Job]:
    """An order of its own, in which what is short and wide does not come: a plugin is asked about all that fit."""
    return [job for job in reversed(jobs) if len(jobs) < 4 or job.planned > 0.5]


@given(
    wanted=st.lists(st.tuples(st.integers(1, 9), st.sampled_from([0.5, 1.0, 2.0])), max_size=12),
    arrived=st.integers(0, 12),
    retry=st.booleans(),
    free=st.integers(0, 9),
    in_time=st.sampled_from([0.0, 1.0, 1.5, float("inf")]),
    extra=st.integers(-3, 9),
    taken=st.lists(st.booleans(), min_size=12, max_size=12),
    order=st.sampled_from([None, _in_reverse]),
)
def test_those_that_overtake_are_candidates_that_delay_no_reservation(
    wanted: list[tuple[int, float]],
    arrived: int,
    retry: bool,
    free: int,
    in_time: float,
    extra: int,
    taken: list[bool],
    order: Callable[[list[Job]], list[Job]] | None,
) -> None:
    view, jobs = SchedulingView(9), [new_job({}, index, index + 1, 0.0, *each) for index, each in enumerate(wanted)]
    view._waiting[:], view._arrived[:], view.head = jobs, jobs[arrived:], next(iter(jobs), None)
    view._backfill_order = order

    def take(found: Iterator[Job]) -> list[int]:
        """Which jobs come, if of them those that are to be taken are."""
        view.free, came = free, []
        for job in found:
            came.append(job.id)
            view.free -= job.processors if taken[job.index] else 0
        return came

    view.free = free
    expected = take(view.fitting(view.candidates(retry), in_time, extra))
    view.free = free
    assert take(view.overtaking(in_time, extra, retry)) == expected
