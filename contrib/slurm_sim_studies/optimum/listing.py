"""Schedules from lists: parts of jobs are started one after the other, each as soon as there is room.

A list holds every job's first part and, of a job that may be preempted, its second. Until
that stands in the list, any part that needs the room stops the first; where nothing does,
the job runs through and its second part falls away.
"""

from __future__ import annotations

from collections.abc import Sequence

from slurm_sim_studies.optimum.problem import Problem
from slurm_sim_studies.optimum.schedule import Part, Schedule, Stay

Entries = list[int]
"""Twice a job's index in the problem for its first part, one more for its second."""
ALL = -1


class ListScheduler:
    """Turns lists into schedules."""

    def __init__(self, problem: Problem) -> None:
        jobs = problem.jobs
        self.problem = problem
        self.submit = [job.submit for job in jobs]
        self.run = [job.run for job in jobs]
        self.size = [job.size for job in jobs]
        self.preemptible = [problem.preemptible(job) for job in jobs]
        self.cost = [job.checkpoint or 0 for job in jobs]
        self.least = [problem.least(job) for job in jobs]
        self.processors = problem.machine if isinstance(problem.machine, int) else 0
        self.blocks = [problem.blocks_for(job) or (ALL,) for job in jobs]
        self.takes = [[problem.takes(block) if block != ALL else ALL for block in own] for own in self.blocks]

    def entries(self, order: Sequence[int]) -> Entries:
        """The list in which jobs, by their indices in the problem, follow one another and none is preempted."""
        return [2 * job + part for job in order for part in range(1 + self.preemptible[job])]

    def lay(self, entries: Sequence[int]) -> _Laid:
        """Start all entries in their order, none before one that stands earlier."""
        laid = _Laid(self, entries)
        for position, entry in enumerate(entries):
            if entry & 1:
                laid.resume(entry >> 1, position)
            else:
                laid.begin(entry >> 1, position)
        return laid


class _Laid:
    """What has been started so far; afterwards the whole schedule, by the jobs' indices in the problem."""

    __slots__ = ("block_index", "end", "now", "running", "second", "shop", "start", "stopped")

    def __init__(self, shop: ListScheduler, entries: Sequence[int]) -> None:
        count = len(shop.run)
        self.shop = shop
        self.now = min(shop.submit)
        self.start = [0] * count
        self.end = [0] * count
        self.stopped: list[int | None] = [None] * count
        self.block_index = [0] * count
        self.running: list[int] = []
        self.second = [-1] * count
        for position, entry in enumerate(entries):
            if entry & 1:
                self.second[entry >> 1] = position

    def begin(self, job: int, position: int) -> None:
        """Start a job's first part, on the block that is free first and takes the fewest preemptions."""
        shop = self.shop
        ready = max(self.now, shop.submit[job])
        options = []
        for block_index, takes in enumerate(shop.takes[job]):
            instant, victims = self._room(job, takes, ready, position)
            options.append((instant, len(victims), block_index, victims))
        instant, _, block_index, victims = min(options)
        self.block_index[job] = block_index
        self.start[job] = instant
        self._put(job, instant, shop.run[job], victims)

    def resume(self, job: int, position: int) -> None:
        """Start a job's second part, where the first was; nothing if it was not stopped."""
        stopped, shop = self.stopped[job], self.shop
        if stopped is None:
            return
        takes = shop.takes[job][self.block_index[job]]
        instant, victims = self._room(job, takes, max(self.now, stopped), position)
        left = shop.run[job] + 2 * shop.cost[job] - (stopped - self.start[job])
        self._put(job, instant, left, victims)

    def _put(self, job: int, instant: int, length: int, victims: Sequence[int]) -> None:
        for victim in victims:
            self.stopped[victim] = self.end[victim] = instant
        self.running = [other for other in self.running if self.end[other] > instant]
        self.end[job] = instant + length
        self.now = instant
        self.running.append(job)

    def _room(self, job: int, takes: int, ready: int, position: int) -> tuple[int, list[int]]:
        """From when on there is room, and who has to be stopped for it."""
        instant = ready
        while True:
            in_the_way = self._in_the_way(job, takes, instant)
            victims = [other for other in in_the_way if self._may_stop(other, instant, position)]
            if takes == ALL:
                chosen = self._enough(job, victims, instant)
                waited_for = in_the_way
            else:
                chosen = victims if len(victims) == len(in_the_way) else None
                waited_for = [other for other in in_the_way if other not in victims]
            if chosen is not None:
                return instant, chosen
            instant = min(self._next(other, instant, position) for other in waited_for)

    def _in_the_way(self, job: int, takes: int, instant: int) -> list[int]:
        """What runs then on this block; on a machine of processors all that runs, if there is no room."""
        on = [other for other in self.running if self.end[other] > instant]
        if takes != ALL:
            return [other for other in on if takes & self.shop.takes[other][self.block_index[other]]]
        size = self.shop.size
        return on if sum(size[other] for other in on) + size[job] > self.shop.processors else []

    def _enough(self, job: int, victims: Sequence[int], instant: int) -> list[int] | None:
        """So many of these that there is room for the job, those first that go on last; None if all are too few."""
        size = self.shop.size
        used = sum(size[other] for other in self.running if self.end[other] > instant)
        short = used + size[job] - self.shop.processors
        chosen = []
        for other in sorted(victims, key=lambda other: -self.second[other]):
            if short <= 0:
                break
            short -= size[other]
            chosen.append(other)
        return chosen if short <= 0 else None

    def _may_stop(self, job: int, instant: int, position: int) -> bool:
        if self.second[job] <= position or self.stopped[job] is not None:
            return False
        worked = instant - self.start[job] - self.shop.cost[job]
        return self.shop.least[job] <= worked <= self.shop.run[job] - self.shop.least[job]

    def _next(self, job: int, instant: int, position: int) -> int:
        """When a job that is in the way may next be stopped, or is over."""
        if self.second[job] > position and self.stopped[job] is None:
            soonest = self.start[job] + self.shop.cost[job] + self.shop.least[job]
            if instant < soonest < self.end[job]:
                return soonest
        return self.end[job]

    def schedule(self) -> Schedule:
        """The schedule."""
        found = {}
        for job, start in enumerate(self.start):
            stopped, end = self.stopped[job], self.end[job]
            parts = (Part(start, end),) if stopped is None else (Part(start, stopped), self._second(job, end))
            block = self.shop.blocks[job][self.block_index[job]]
            found[self.shop.problem.jobs[job].id] = Stay(parts, None if block == ALL else block)
        return found

    def _second(self, job: int, end: int) -> Part:
        shop, stopped = self.shop, self.stopped[job]
        assert stopped is not None
        return Part(end - (shop.run[job] + 2 * shop.cost[job] - (stopped - self.start[job])), end)
