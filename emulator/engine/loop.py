"""The event loop in ideal timing: decisions take no time, a pass follows each event.

Two conventions are usual, and differ in which job starts when much happens at once:

``batch``
    At one instant all that ends, ends; then all submissions; then one pass.
``event``
    When the clock reaches an instant, the processors of every run whose *limit* expires
    just then are released first (it ends now). Then each submission in the order of
    (submit, id), with a pass after each; then each end in the order in which the jobs
    started, with a pass after each (also for those released early).
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop

from emulator.engine.apply import Apply
from emulator.engine.events import TIMEOUT, WAKE, Event
from emulator.scheduling.admission import Admission
from emulator.scheduling.scheduling_pass import SchedulingPass
from emulator.state.jobs import JobTable

Progress = Callable[[int], None]
REPORT_EVERY = 4096
"""Instants between two reports of progress."""
NO_MORE = 2**63


class Loop:
    """Takes event after event until there are none.

    Args:
        table: the job table; submissions come in its order.
        heap: ends and wake-ups.
        apply: changes the state.
        admission: takes submissions in.
        scheduling_pass: makes a pass.
    """

    def __init__(
        self,
        table: JobTable,
        heap: list[Event],
        apply: Apply,
        admission: Admission,
        scheduling_pass: SchedulingPass,
    ) -> None:
        self._table = table
        self._heap = heap
        self._apply = apply
        self._admission = admission
        self._pass = scheduling_pass

    def run(self, passes: str, report: Progress | None = None) -> None:
        """Run to the end.

        Args:
            passes: ``batch`` or ``event``.
            report: is told now and then how many jobs are over.
        """
        at_instant = self._batch if passes == "batch" else self._one_by_one
        heap, submits, apply = self._heap, self._table.submit_at, self._apply
        count = len(submits)
        first = instants = 0
        while heap or first < count:
            now = heap[0][0] if heap else NO_MORE
            beyond = first
            if first < count and submits[first] <= now:
                now = submits[first]
                beyond += 1
                while beyond < count and submits[beyond] == now:
                    beyond += 1
            apply.move_clock(now)
            at_instant(now, range(first, beyond))
            first = beyond
            instants += 1
            if report is not None and not instants % REPORT_EVERY:
                report(apply.finished)
        if report is not None:
            report(apply.finished)

    def _batch(self, now: int, arrivals: range) -> None:
        heap, apply = self._heap, self._apply
        needed = bool(arrivals)
        while heap and heap[0][0] == now:
            event = heappop(heap)
            if event[1] == WAKE:
                needed = True
            elif apply.is_current(event):
                apply.end(event)
                needed = True
        if arrivals:
            self._admission.submit(arrivals)
        if needed:
            self._pass.run()

    def _one_by_one(self, now: int, arrivals: range) -> None:
        due = self._due(now)
        released = {event[2] for event in due if self._ends_at_limit(event, now)}
        for event in due:
            if event[2] in released:
                self._apply.end(event)
        for index in arrivals:
            self._admission.submit(range(index, index + 1))
            self._pass.run()
        for event in due:
            if event[1] != WAKE and event[2] not in released:
                if not self._apply.is_current(event):
                    continue
                self._apply.end(event)
            self._pass.run()

    def _due(self, now: int) -> list[Event]:
        """Events of this instant in the order of starting; wake-ups last."""
        heap, apply = self._heap, self._apply
        due = []
        while heap and heap[0][0] == now:
            event = heappop(heap)
            if event[1] == WAKE or apply.is_current(event):
                due.append(event)
        if len(due) > 1:
            due.sort(key=lambda event: (event[1] == WAKE, event[2]))
        return due

    def _ends_at_limit(self, event: Event, now: int) -> bool:
        _, kind, _, index = event
        if kind == WAKE:
            return False
        return kind == TIMEOUT or now - self._table.start[index] == self._table.limit[index]
