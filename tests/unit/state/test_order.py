"""The queue in order: jobs are found where they stand, also if their numbers have changed since they were put there."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.state.job import Job
from emulator.state.order import Order, first_in_queue, many_before, rank_in_queue
from emulator.workload.sbatch import BatchOptions

PARTITIONS = [SimpleNamespace(name=name, tier=tier) for name, tier in (("a", 1), ("b", 1), ("c", 2))]


def job_of(number: int, priority: float, partitions: list[int], reservation: str = "") -> Any:
    """A job that waits."""
    there: Any = [PARTITIONS[index] for index in partitions]
    options = BatchOptions(reservation=reservation)
    request: Any = SimpleNamespace(id=number, array=None, task=0, options=options, het_job_id=None)
    job = Job(request, there, {}, 60.0, None, request_class=0)
    job.priority, job.eligible = priority, 0.0
    return job


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(st.data())
def test_whatever_happens_to_jobs_the_queue_is_that_of_a_fresh_sort(data: Any) -> None:
    waiting: dict[int, Job] = {}
    reservations, tiers_first = data.draw(st.sampled_from([(), ("r",)])), data.draw(st.booleans())

    def empty() -> Order:
        order = Order(waiting, reservations)
        order.tiers_first = tiers_first
        return order

    order, some = empty(), st.lists(st.integers(0, 2), min_size=1, max_size=3, unique=True)
    reserved = st.sampled_from(["", "r"])
    number = st.one_of(st.integers(1, 4), st.floats(1, 4), st.integers(2**53, 2**53 + 2))
    for step in range(data.draw(st.integers(1, 25))):
        what = data.draw(st.sampled_from(["comes", "changes", "leaves", "changes and leaves", "all change"]))
        if what == "comes" or not waiting:
            job = waiting[step] = job_of(step, data.draw(number), data.draw(some), data.draw(reserved))
            job.came = data.draw(st.one_of(st.integers(0, 2), st.floats(0, 2)))
            job.first, job.task = data.draw(st.integers(0, 1)), step
            order.settle(job)
            continue
        given_away = order.pairs()
        copied = given_away.copy()
        job = waiting[data.draw(st.sampled_from(sorted(waiting)))]
        if what == "all change":
            by, shuffled = data.draw(st.sampled_from([1, -1])), data.draw(st.booleans())
            for other in waiting.values():
                other.priority = data.draw(st.integers(1, 9)) if shuffled else 5 + by * other.priority
            before, column, answer = order.pairs(), None, object()
            if data.draw(st.booleans()):
                column = np.array([int(other.priority) for other in waiting.values()])
                for place, other in enumerate(waiting.values()):
                    other.priority, other.place = int(other.priority), place
                    other.answer = answer if data.draw(st.integers(0, 9)) else ()
            assert order.renumbered(answer, column) == (order.pairs() != before)
            continue
        if what.startswith("changes"):
            job.priority = data.draw(number)
        if what.endswith("leaves"):
            del waiting[job.id]
            order.discard(job)
        else:
            order.settle(job)
        assert given_away == copied
        fresh = empty()
        fresh.changed()
        assert order.pairs() == fresh.pairs()
        assert order.kinds() == fresh.kinds()
        assert order.classes() == fresh.classes()
        assert all(list(order.ranks(each)) == list(fresh.ranks(each)) for each in waiting.values())


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 4), st.integers(0, 2), st.integers(0, 2)), max_size=12))
def test_jobs_go_before_those_that_they_may_preempt(drawn: list[tuple[int, int, int]]) -> None:
    """Levels of which each may preempt those below: the order is that of the levels, then that of the numbers."""
    waiting: dict[int, Any] = {}
    for number, (priority, level, partition) in enumerate(drawn):
        job = waiting[number] = job_of(number, priority, [partition])
        job.account = SimpleNamespace(quality=f"level {level}", level=level)
    order = Order(waiting)
    order.changed()
    by_rank = order.pairs()
    order.preempts = lambda one, other: one.account.level > other.account.level
    assert order.pairs() == sorted(by_rank, key=lambda pair: -pair[1].account.level)


def test_what_preempts_some_only_stands_where_a_merge_leaves_it() -> None:
    waiting = {number: job_of(number, 9 - number, [0]) for number in range(3)}
    for job, quality in zip(waiting.values(), ("low", "normal", "high"), strict=True):
        job.account = SimpleNamespace(quality=quality)
    order = Order(waiting)
    order.changed()
    order.preempts = lambda one, other: (one.account.quality, other.account.quality) == ("high", "low")
    # Halves: low; normal before high. Low goes before normal, so it is the first of all, although high preempts it.
    assert [job.account.quality for _, job, _ in order.pairs()] == ["low", "normal", "high"]


def test_tiers_go_before_reservations_where_they_preempt() -> None:
    waiting = {1: job_of(1, 1, [0], "r"), 2: job_of(2, 1, [2])}
    for first, expected in ((False, [1, 2]), (True, [2, 1])):
        order = Order(waiting, {"r"})
        order.tiers_first = first
        order.changed()
        assert [job.id for _, job, _ in order.pairs()] == expected


def test_what_is_left_of_an_array_goes_to_the_end_of_the_list() -> None:
    waiting = {number: job_of(number, number, [0]) for number in (1, 2, 3, 4)}
    for task, number in enumerate((1, 2, 4)):
        waiting[number].request.array, waiting[number].request.task = 1, task
    waiting[3].request.array, waiting[3].request.task = None, 0
    order = Order(waiting)
    order.by_list = True
    for job in waiting.values():
        order.listed.submitted(job)
    order.changed()
    assert [job.id for _, job, _ in order.pairs()] == [1, 2, 4, 3]
    order.started(waiting.pop(1))
    assert [job.id for _, job, _ in order.pairs()] == [3, 2, 4]


def test_a_reservation_that_draws_jobs_is_tried_before_all_else() -> None:
    """Not by one that names a reservation; of several the one that begins first (Slurm's source, and recorded)."""
    first, second, other = job_of(1, 1, [0, 2]), job_of(2, 5, [0]), job_of(3, 9, [0], "r")
    waiting = {one.id: one for one in (first, second, other)}
    order = Order(waiting, {"r", "m", "n"})
    order.changed()
    order.magnets = [
        SimpleNamespace(name="m", admits=lambda job: True),
        SimpleNamespace(name="n", admits=lambda job: job.id == 1),
    ]  # type: ignore[assignment]
    found = [(job.id, partition.name, order.drawn_by((index, job, partition))) for index, job, partition in order]
    assert found == [
        *((1, "c", "m"), (1, "c", "n"), (3, "a", ""), (2, "a", "m")),
        *((1, "a", "m"), (1, "a", "n"), (1, "c", ""), (2, "a", ""), (1, "a", "")),
    ]
    assert order.kinds() == {(name, where) for _, name, where in found} | {("a", "r")}
    waiting.pop(1)
    order.discard(first)
    assert [job.id for _, job, _ in order] == [3, 2, 2]


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_the_first_and_places_are_those_of_a_sort(data: Any) -> None:
    """Of jobs of all tiers, with equal numbers, and in several partitions, where each has its own number."""
    jobs = []
    for task in range(data.draw(st.integers(0, 8))):
        there = data.draw(st.lists(st.integers(0, 2), min_size=1, max_size=3, unique=True))
        number = st.one_of(st.integers(1, 3), st.floats(1, 3), st.integers(2**53, 2**53 + 2))
        job = job_of(task, data.draw(number), there)
        job.priorities = {PARTITIONS[index].name: data.draw(number) for index in there if data.draw(st.booleans())}
        job.came, job.first, job.task = data.draw(st.integers(0, 1)), data.draw(st.integers(0, 1)), task
        jobs.append(job)
    in_order = sorted(jobs, key=rank_in_queue)
    assert first_in_queue(jobs) is (in_order[0] if in_order else None)
    assert [many_before(job, jobs) for job in in_order] == list(range(len(jobs)))
