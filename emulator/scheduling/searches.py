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
from emulator.scheduling.windows_kernel import Columns, Request, Work, may_start, place
from emulator.state.job import Job
from emulator.state.partition import Partition
from slurm_sim_plugins.nodes import Ints

if TYPE_CHECKING:
    from emulator.scheduling.windows import Sought

MOST_TOGETHER = 1024
"""Jobs alike that are given slots in one call of a kernel, at most."""
MOST_SEARCHES = 128
"""Of so many searches it is kept how far they have come, at most; each takes some 24 bytes a node."""


class Search:
    """What is sought for jobs alike, and how far that has come.

    Args:
        sought: what.
        parted: whether it depends on their user on which nodes they may start, and so on what runs.

    Attributes:
        request: what each of them wants; None if that is to be asked again.
        work: where the search is; None if it has no room.
        cpus: with how many CPUs one counts once it is planned; 0 for as many as before, negative if that is not known.
        hopeless: whether none could start now.
        turn: the number of the state of all runs for which it has begun.
    """

    __slots__ = ("cpus", "hopeless", "parted", "request", "sought", "turn", "work")

    def __init__(self, sought: Sought, parted: bool) -> None:
        self.sought, self.parted = sought, parted
        self.request: Request | None = None
        self.work: Work | None = None
        self.cpus, self.hopeless, self.turn = -1.0, False, -1


class Searches:
    """What the searches of a cycle have come to.

    Args:
        nodes: how many there are.

    Attributes:
        begun: how many have begun, in all cycles.
        cycles: how many plans have begun.
        preempted: how often more may start than before.
        taken: the nodes that the last one took, and the units of each.
        starts: when those start to which the last one gave slots.
    """

    __slots__ = (
        *("_capacity", "_known", "_next", "_nodes", "_owners", "_sets", "_turn", "_works"),
        *("begun", "cycles", "preempted", "starts", "taken"),
    )

    def __init__(self, nodes: int) -> None:
        self._nodes = nodes
        self._works: list[Work] = []
        self._owners: list[Search] = []
        self._known: dict[Any, Search] = {}
        self._capacity: Ints = np.empty(nodes, dtype=np.int64)
        self._sets: Ints = np.empty((SETS, nodes), dtype=np.int64)
        self.taken: Ints = np.empty((2, nodes), dtype=np.int64)
        self.starts: Reals = np.empty(MOST_TOGETHER)
        self.begun = self.cycles = self.preempted = self._turn = self._next = 0

    def begin(self) -> int:
        """A plan begins, and all others are over; returns its number."""
        self._known.clear()
        self._owners.clear()
        self._next = 0
        self._turn += 1
        self.cycles += 1
        return self.cycles

    def start_over(self, parted: bool) -> None:
        """Other runs are there: all searches start over.

        Args:
            parted: whether any job may find nodes that it does not get because of its user.
        """
        self._turn += 1
        for search in self._known.values():
            if parted or search.parted:
                search.request = None

    def more_may_start(self) -> None:
        """Runs end at other times: those may start that could not."""
        self.preempted += 1
        for search in self._known.values():
            search.hopeless = False

    def of(self, job: Job, partition: Partition, length: float, plan: Any) -> Search:
        """The search for a job.

        Args:
            job: it.
            partition: where.
            length: for how long, in seconds.
            plan: says what is wanted.
        """
        parted: bool = plan.parts_users(job)
        sought = job.request_class, partition.name, length, job.request.user if parted else ""
        search = self._known.get(sought)
        if search is None:
            search = self._known[sought] = Search(sought, parted)
        if search.request is None:
            search.request = plan.request_of(job, partition, length)
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
        begin = tried.get(search.sought, request.now)
        if begin == inf:
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
        if search.hopeless:
            return False
        request = search.request
        assert request is not None
        if may_start(request, slots, self._capacity, self._sets, self.taken):
            return True
        search.hopeless = True
        return False

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

    def _new_work(self) -> Work:
        kept, room, capacity = (np.empty(self._nodes, dtype=np.int64) for _ in range(3))
        return Work(kept, room, capacity, Counts(), self._sets, self.taken, self.starts)
