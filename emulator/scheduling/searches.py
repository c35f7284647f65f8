# cython: boundscheck=True, wraparound=True, nonecheck=True
"""The searches of a cycle of backfill, by what is sought; a :mod:`kernel <slurm_sim_plugins.kernels>`."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from emulator.scheduling.run_rows import Reals
from emulator.scheduling.select_kernel import Counts
from emulator.scheduling.select_rows import SETS
from emulator.scheduling.window_rows import NEVER
from emulator.scheduling.windows_kernel import Columns, Request, Terms, Work, are_left, fits_alone, may_start, place
from emulator.state.job import Job
from emulator.state.partition import Partition
from slurm_sim_plugins.nodes import Ints

if TYPE_CHECKING:
    from emulator.scheduling.windows import Sought

MOST_TOGETHER = 1024
"""Jobs alike that are given slots in one call of a kernel, at most."""
MOST_SEARCHES = 128
"""Of so many searches it is kept how far they have come, at most; each takes some 24 bytes a node."""
MOST_KNOWN = 4096
"""From one cycle to the next it is known what so many searches are for, at most."""
MOST_WITNESSES = 64
"""It is kept where a job could start if that is on so many nodes at most."""
NONE: Ints = np.empty(0, dtype=np.int64)


class Search:
    """What is sought for jobs alike, and how far that has come.

    Args:
        sought: what.

    Attributes:
        request: what each of them wants; None if that is to be asked again.
        work: where the search is; None if it has no room.
        cpus: with how many CPUs one counts once it is planned; 0 for as many as before, infinite if each plan says it,
            negative if that is not known.
        otherwise: whether one that was not planned before counts with other CPUs then; negative if that is not known.
        turn: the number of the state of all runs for which it has begun.
        cycle: the number of the plan for which it was asked last.
        reserved: whether reservations stood in that plan.
        refused: the number of the hopes with which none could start.
        witness: nodes on which alone one could start.
        witnesses: how many they are.
        seen: the number of the state of all runs in which that was so.
    """

    __slots__ = (
        *("cpus", "cycle", "otherwise", "refused", "request", "reserved", "seen", "sought", "turn", "witness"),
        *("witnesses", "work"),
    )

    def __init__(self, sought: Sought) -> None:
        self.sought = sought
        self.request: Request | None = None
        self.work: Work | None = None
        self.cpus, self.otherwise, self.turn, self.cycle, self.refused, self.seen = -1.0, -1, -1, -1, -1, -1
        self.witness: Ints = NONE
        self.witnesses = 0
        self.reserved = False


class Searches:
    """What the searches of a cycle have come to; what is sought is known from one cycle to the next.

    Args:
        nodes: how many there are.

    Attributes:
        begun: how many have begun, in all cycles.
        cycles: how many plans have begun.
        hopes: how often more may start than before.
        taken: the nodes that the last one took, and the units of each.
        starts: when those start to which the last one gave slots.
        cpus: with how many CPUs these were planned, if they have whole nodes.
    """

    __slots__ = (
        *("_alone", "_capacity", "_known", "_marked", "_next", "_nodes", "_owners", "_parted", "_reserved", "_sets"),
        *("_terms", "_turn", "_works", "begun", "cpus", "cycles", "hopes", "starts", "taken"),
    )

    def __init__(self, nodes: int) -> None:
        self._nodes = nodes
        self._works: list[Work] = []
        self._owners: list[Search] = []
        self._known: dict[Any, Search] = {}
        self._alone: list[Search] = []
        self._terms: Terms | None = None
        self._parted = self._reserved = False
        self._capacity: Ints = np.empty(nodes, dtype=np.int64)
        self._sets: Ints = np.empty((SETS, nodes), dtype=np.int64)
        self._marked: Ints = np.zeros(nodes, dtype=np.int64)
        self.taken: Ints = np.empty((2, nodes), dtype=np.int64)
        self.starts: Reals = np.empty(MOST_TOGETHER)
        self.cpus: Reals = np.empty(MOST_TOGETHER)
        self.begun = self.cycles = self.hopes = self._turn = self._next = 0

    def begin(self, terms: Terms, reserved: bool) -> int:
        """A plan begins, and all others are over; returns its number.

        Args:
            terms: of the plan.
            reserved: whether any reservation stands in it.
        """
        if len(self._known) > MOST_KNOWN:
            self._known.clear()
        for owner in self._owners:
            owner.work = None
        self._owners.clear()
        self._terms, self._reserved = terms, reserved
        self._next = 0
        self._turn += 1
        self.hopes += 1
        self.cycles += 1
        return self.cycles

    def start_over(self, again: bool, parted: bool) -> None:
        """Other runs are there: all searches start over.

        Args:
            again: whether it is to be asked again what all jobs find; else only what those do whose user matters.
            parted: whether any job may find nodes that it does not get because of its user.
        """
        self._turn += 1
        if again or parted != self._parted:
            self._known.clear()
        for search in self._alone:
            search.request = None
        self._alone.clear()
        self._parted = parted

    def begin_again(self) -> None:
        """What is known of nodes is noted otherwise: all searches begin again where they are."""
        self._turn += 1

    def more_may_start(self) -> None:
        """Runs end at other times: those may start that could not."""
        self.hopes += 1

    def of(self, job: Job, partition: Partition, length: float, plan: Any) -> Search:
        """The search for a job.

        Args:
            job: it.
            partition: where.
            length: for how long, in seconds.
            plan: says what is wanted.
        """
        parted = self._parted or job.options.exclusive_to == "user"
        sought = job.request_class, partition.name, length, job.request.user if parted else ""
        search = self._known.get(sought)
        if search is None:
            search = self._known[sought] = Search(sought)
        if search.request is None:
            search.request = plan.request_of(job, partition, length)
            if parted:
                self._alone.append(search)
        if search.cycle != self.cycles:
            search.request.terms, search.cycle = self._terms, self.cycles
            if self._reserved or search.reserved:
                # Else none is near in this plan, and none was in the last one.
                search.request.near, search.reserved = plan.near(partition), self._reserved
        return search

    def place(self, search: Search, slots: Columns, most: int, tried: dict[Sought, float]) -> tuple[int, int, int]:
        """As :func:`emulator.scheduling.windows_kernel.place`, from where the search is.

        Args:
            search: for so many jobs.
            slots: what is kept.
            most: how many jobs.
            tried: the time in seconds before which there is no place, by what is sought.
        """
        request = search.request
        assert request is not None
        begin = tried.get(search.sought, request.terms.now)
        if begin == inf:
            if search.work is not None:
                search.work.planned = 0.0
            return 0, NEVER, 0
        goes_on = search.work is not None and search.turn == self._turn
        if not goes_on:
            self._give_room(search, begin)
        work = search.work
        assert work is not None
        placed, outcome, taken = place(request, slots, work, goes_on, most)
        tried[search.sought] = work.tried
        return placed, outcome, taken

    def could_start(self, search: Search, slots: Columns) -> bool:
        """Whether one of the jobs could start now; if that is not sure, it could."""
        if search.refused == self.hopes:
            return False
        request = search.request
        assert request is not None
        if self.could_start_there(search, slots):
            return True
        found = may_start(request, slots, self._capacity, self._sets, self.taken)
        if not found:
            search.refused = self.hopes
            return False
        search.seen = -1
        if 0 < found <= MOST_WITNESSES:
            if not len(search.witness):
                search.witness = np.empty(MOST_WITNESSES, dtype=np.int64)
            if fits_alone(request, found, self._capacity, self._sets, self.taken, search.witness):
                search.witnesses, search.seen = found, self._turn
        return True

    def could_start_there(self, search: Search, slots: Columns) -> bool:
        """Whether one of the jobs could start now on the nodes on which alone one could when that was asked last."""
        request = search.request
        if request is None or search.seen != self._turn:
            return False
        return are_left(request, slots, search.witness, search.witnesses)

    def _give_room(self, search: Search, begin: float) -> None:
        """A search begins at a time, or begins again."""
        self.begun += 1
        search.turn = self._turn
        if search.work is None:
            place, self._next = self._next, (self._next + 1) % MOST_SEARCHES
            if place == len(self._works):
                self._works.append(self._new_work())
            if place == len(self._owners):
                self._owners.append(search)
            else:
                owner = self._owners[place]
                owner.work, self._owners[place] = None, search
            search.work = self._works[place]
        search.work.tried = search.work.time = begin
        search.work.fitted = 0

    def _new_work(self) -> Work:
        kept, room, capacity = (np.empty(self._nodes, dtype=np.int64) for _ in range(3))
        return Work(kept, room, capacity, Counts(), self._sets, self.taken, self._marked, self.starts, self.cpus)
