"""The queue in order: jobs are found where they stand, also if their numbers have changed since they were put there."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.state.order import Order
from emulator.state.run import State

PARTITIONS = [SimpleNamespace(name=name, tier=tier) for name, tier in (("a", 1), ("b", 1), ("c", 2))]


def job_of(number: int, priority: int, partitions: list[int]) -> Any:
    """A job that waits."""
    options = SimpleNamespace(reservation="")
    job = SimpleNamespace(id=number, priority=priority, priorities={}, state=State.PENDING, eligible=0.0, on_hold=False)
    job.request, job.options, job.request_class = SimpleNamespace(options=options), options, 0
    job.tie_break, job.partitions = (0.0, number, 0), [PARTITIONS[index] for index in partitions]
    job.number_in = lambda name: job.priorities.get(name, job.priority) if len(job.partitions) > 1 else job.priority
    return job


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_whatever_happens_to_jobs_the_queue_is_that_of_a_fresh_sort(data: Any) -> None:
    waiting: dict[int, Any] = {}
    order, some = Order(waiting), st.lists(st.integers(0, 2), min_size=1, max_size=3, unique=True)
    for step in range(data.draw(st.integers(1, 25))):
        what = data.draw(st.sampled_from(["comes", "changes", "leaves", "changes and leaves", "all change"]))
        if what == "comes" or not waiting:
            job = waiting[step] = job_of(step, data.draw(st.integers(1, 4)), data.draw(some))
            order.settle(job)
            continue
        job = waiting[data.draw(st.sampled_from(sorted(waiting)))]
        if what == "all change":
            by = data.draw(st.sampled_from([1, -1]))
            for other in waiting.values():
                other.priority = 5 + by * other.priority
            order.renumbered()
            continue
        if what.startswith("changes"):
            job.priority = data.draw(st.integers(1, 4))
        if what.endswith("leaves"):
            del waiting[job.id]
            order.discard(job)
        else:
            order.settle(job)
        fresh = Order(waiting)
        fresh.changed()
        assert order.pairs() == fresh.pairs()
        assert order.kinds() == fresh.kinds()
        assert order.classes() == fresh.classes()
        assert all(list(order.ranks(each)) == list(fresh.ranks(each)) for each in waiting.values())
