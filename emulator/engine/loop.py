# cython: boundscheck=True, wraparound=True, nonecheck=True
"""The event loop in ideal timing: decisions take no time, a pass follows each event.

Two conventions are usual, and differ in which job starts when much happens at once:

``batch``
    At one instant all that ends, ends; then all submissions; then one pass.
``event``
    When the clock reaches an instant, the processors of every run whose *limit* expires
    just then are released first (it ends now), and jobs whose checkpoints are written
    wait again. Then each submission in the order of
    (submit, id), with a pass after each; then each end in the order in which the jobs
    started, with a pass after each (also for those released early).

A :mod:`kernel <slurm_sim_plugins.kernels>`.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter

from emulator.engine.apply import Apply
from emulator.engine.event_heap import Due, EventHeap
from emulator.scheduling.admission import Admission
from emulator.scheduling.scheduling_pass import SchedulingPass
from emulator.state.events import RETURN, TIMEOUT, WAKE
from emulator.state.instants import EXACT, seconds
from emulator.state.jobs import JobTable
from slurm_sim_plugins.views import ClusterState

Progress = Callable[[int], None]
NO_MORE = 2**63 - 1
REPORT_EVERY = 256
"""Submissions between two reports of progress."""


class Loop:
    """Takes event after event until there are none.

    Args:
        cluster_state: the current state.
        table: the job table; submissions come in its order.
        heap: ends and wake-ups.
        apply: changes the state.
        admission: takes submissions in.
        scheduling_pass: makes a pass.
        passes: ``batch`` or ``event``.
    """

    __slots__ = (
        *("_admission", "_apply", "_cluster_state", "_first", "_heap", "_in_batches", "_pass", "_runs", "_submits"),
        "_table",
    )

    def __init__(
        self,
        cluster_state: ClusterState,
        table: JobTable,
        heap: EventHeap,
        apply: Apply,
        admission: Admission,
        scheduling_pass: SchedulingPass,
        passes: str,
    ) -> None:
        self._table = table
        self._heap = heap
        self._runs = apply.runs
        self._apply = apply
        self._cluster_state = cluster_state
        self._admission = admission
        self._pass = scheduling_pass
        self._in_batches = passes == "batch"
        self._submits = [*table.submit_at, NO_MORE]
        self._first = 0
        heap.push(NO_MORE, WAKE, 0, -1)

    @property
    def next_instant(self) -> int:
        """When something happens next, in microseconds; ``NO_MORE`` at the end."""
        return min(self._submits[self._first], self._heap.next_instant())

    def advance(self, until: int) -> None:
        """Handle all instants before ``until`` (microseconds); one instant is never parted."""
        handle = self._batches if self._in_batches else self._one_by_one
        self._first = handle(self._first, self._submits, until)

    def run(self, report: Progress | None = None) -> None:
        """Run to the end; ``report`` is called from time to time with how many jobs were submitted."""
        submits, count = self._submits, len(self._table)
        while self.next_instant < NO_MORE:
            # In portions, so that progress can be told.
            until = max(submits[min(self._first + REPORT_EVERY, count)], submits[self._first] + 1)
            self.advance(min(until, NO_MORE))
            if report is not None:
                report(self._first)

    def _batches(self, first: int, submits: list[int], until: int) -> int:  # noqa: C901 - every call would cost
        """Handle all instants before ``until``; returns the first job that is not yet submitted."""
        heap, apply, cluster_state = self._heap, self._apply, self._cluster_state
        admission, scheduling_pass = self._admission, self._pass
        always = scheduling_pass.always
        while True:
            now = submitted = submits[first]
            ends = heap.next_instant()
            if ends < now:
                now = ends
            if now >= until:
                return first
            apply.now = now
            cluster_state.now = now / 1e6 if now < EXACT else seconds(now)
            happened = False
            while ends == now:
                due = heap.pop()
                kind, index = due.kind, due.index
                if kind == WAKE:
                    happened = True
                elif self._is_current(due):
                    apply.end(index, kind)
                    happened = True
                elif kind == RETURN:
                    apply.returned(index)
                    happened = True
                ends = heap.next_instant()
            if submitted == now:
                beyond = first
                while submitted == now:
                    beyond += 1
                    submitted = submits[beyond]
                admission.submit(first, beyond)
                first = beyond
                happened = True
            if happened and (always or apply.changed or apply.hopeful):
                scheduling_pass.run()

    def _one_by_one(self, first: int, submits: list[int], until: int) -> int:
        """As :meth:`_batches`, event by event."""
        apply = self._apply
        while True:
            now = min(submits[first], self._heap.next_instant())
            if now >= until:
                return first
            apply.now = now
            self._cluster_state.now = now / 1e6 if now < EXACT else seconds(now)
            due = self._due(now)
            released = {event.sequence for event in due if self._ends_at_limit(event)}
            for event in due:
                if event.kind == RETURN:
                    apply.returned(event.index)
                elif event.sequence in released:
                    apply.end(event.index, event.kind)
            while submits[first] == now:
                self._admission.submit(first, first + 1)
                self._pass.run()
                first += 1
            for event in due:
                if event.kind not in (WAKE, RETURN) and event.sequence not in released:
                    entry = apply.runs[event.index]
                    if entry is None or entry[1] != event.sequence:
                        continue
                    apply.end(event.index, event.kind)
                self._pass.run()

    def _due(self, now: int) -> list[Due]:
        """Events of this instant in the order of starting; a wake-up, one for all that were asked for, is last."""
        heap = self._heap
        due: list[Due] = []
        woken: Due | None = None
        while heap.next_instant() == now:
            event = heap.pop()
            if event.kind == WAKE:
                woken = event
            elif event.kind == RETURN or self._is_current(event):
                due.append(event)
        if len(due) > 1:
            due.sort(key=attrgetter("sequence"))
        if woken is not None:
            due.append(woken)
        return due

    def _is_current(self, due: Due) -> bool:
        """Whether an end is that of the current run of its job."""
        entry = self._runs[due.index]
        if entry is None:
            return False
        sequence = entry[1]
        return sequence == due.sequence

    def _ends_at_limit(self, event: Due) -> bool:
        if event.kind in (WAKE, RETURN):
            return False
        return event.kind == TIMEOUT or bool(self._apply.useful[event.index] == self._table.limit[event.index])
