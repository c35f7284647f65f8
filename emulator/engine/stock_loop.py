"""The stock schedulers in one flat loop over columns: no object a job, no call of a hook.

A :mod:`kernel <slurm_sim_plugins.kernels>`. What it decides is, to the last bit, what the general loop decides
(:mod:`emulator.engine.loop`, :mod:`emulator.scheduling.scheduling_pass`) with ``sched/fcfs``, ``sched/easy``,
``sched/conservative``, and ``sched/venture`` with ``preempt/shadow_load``. Events, the queue and runs are those of
:class:`~emulator.engine.column_loop.ColumnLoop`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from emulator.engine.column_loop import ColumnLoop, lower_bound
from emulator.engine.stock_history import ShareHistory

HALF_A_MICROSECOND = 5e-7
PENDING = 1
FCFS, EASY, CONSERVATIVE, VENTURE = 0, 1, 2, 3
RECOMPUTE, STICKY, RATCHET = 0, 1, 2
NO_JOB = -1
NOT_YET = float("nan")


class StockLoop(ColumnLoop):
    """Passes of the stock schedulers.

    Args:
        policy: what decides: numbers by name, see :meth:`__init__`.
        given, made, room, history: as :class:`~emulator.engine.column_loop.ColumnLoop`.
    """

    def __init__(
        self,
        policy: dict[str, Any],
        given: dict[str, Any],
        made: dict[str, Any],
        room: dict[str, Any],
        history: ShareHistory | None = None,
    ) -> None:
        super().__init__(policy, given, made, room, history)
        self.scheduler, self.kept = policy["scheduler"], policy["reservation"]
        self.restart, self.single_head = policy["restart"], policy["single_head"]
        self.spared, self.spared_jobs = room["spared"], room["spared_jobs"]
        self.tried, self.in_time = room["tried"], room["in_time"]
        self.spared_count = 0
        self.slot, self.step_time, self.step_free = room["slot"], room["step_time"], room["step_free"]
        self.known_in, self.known_length = room["known_in"], room["known_length"]
        self.known_start = room["known_start"]
        self.steps = 0
        self.fresh_view = False
        self.promised_job, self.promised_time = NO_JOB, 0.0

    def begin(self, job: int, ahead: bool) -> None:
        """A waiting job starts, which has left the queue; ``ahead`` of the head or not."""
        number = self.next_number(job)
        self.push(self.now + self.duration[job], number, job)
        self.occupy(job, self.seconds(self.now + self.planned_instants[job]))
        if self.voids:
            self.run_number[job], self.expected_end[job] = number, self.planned_end[job]
        if self.learns and self.differs[job]:
            self.changed = True
        self.note_start(job, ahead)

    # The pass

    def make_pass(self) -> None:
        """The scheduler looks at the queue, if there is anything new for it."""
        if self.first == self.last:
            return
        if self.overruns and self.runs and self.run_end[0] <= self.clock:
            self.replan()
        if not (self.changed or self.hopeful or self.always):
            return
        self.passes += 1
        self.fresh_view = self.changed
        self.changed = self.hopeful = False
        if self.missing <= 0 and self.queue[self.first] == self.watched:
            self.note()
        self.decide()
        for index in range(self.fresh_count):
            self.fresh[self.fresh_jobs[index]] = 0
        self.fresh_count = 0
        if self.first < self.last:
            self.watch(self.queue[self.first])

    def decide(self) -> None:
        """What the scheduler does with the queue."""
        if self.scheduler == CONSERVATIVE:
            self.keep_promises()
        elif self.scheduler == VENTURE:
            self.venture()
        else:
            self.start_in_order()
            if self.scheduler == EASY and self.first < self.last:
                self.backfill()

    def start_in_order(self) -> None:
        """Start the queue in order until its head does not fit."""
        while self.first < self.last:
            job = self.queue[self.first]
            if self.processors[job] > self.free:
                return
            self.first += 1
            if self.shortest_first:
                self.leave_short_queue(job)
            self.begin(job, False)

    def backfill(self) -> None:
        """Reserve for the head; start jobs that do not delay it."""
        head = self.queue[self.first]
        self.find_shadow(head)
        shadow, extra = self.shadow, self.extra
        if self.kept != RECOMPUTE:
            if self.promised_job != head:
                self.promised_job, self.promised_time = head, shadow
            if self.promised_time > shadow:
                shadow = self.promised_time
            if self.kept == RATCHET:
                self.promised_time = shadow
            extra = self.free_at(shadow) - self.processors[head]
        if self.fresh_view and (self.reserved_job != head or self.reserved_time != shadow):
            self.reserved_job, self.reserved_time = head, shadow
            self.reserve(head, shadow)
        if self.free:
            if self.shortest_first:
                self.fill_shortest_first(head, shadow - self.clock + HALF_A_MICROSECOND, extra)
            else:
                self.fill_in_order(shadow - self.clock + HALF_A_MICROSECOND, extra)

    def fill_in_order(self, in_time: float, extra: int) -> None:
        """Start jobs behind the head that are over in time, or take no more than is left over."""
        read = self.first + 1
        if not self.fresh_view:
            # Unless something has changed, a job that was refused before would be refused again.
            if not self.fresh_count:
                return
            read = max(read, self.place_in_queue(self.first_fresh()))
        write = read
        while read < self.last and self.free:
            job = self.queue[read]
            width = self.processors[job]
            if width <= self.free and (self.fresh_view or self.fresh[job]):
                if self.planned[job] <= in_time:
                    self.begin(job, True)
                    read += 1
                    continue
                if width <= extra:
                    extra -= width
                    self.begin(job, True)
                    read += 1
                    continue
            if write != read:
                self.queue[write] = job
            write += 1
            read += 1
        if write != read:
            while read < self.last:
                self.queue[write] = self.queue[read]
                write += 1
                read += 1
            self.last = write

    def fill_shortest_first(self, head: int, in_time: float, extra: int) -> None:
        """The same, the shortest job first."""
        read = write = 0
        while read < self.short_last:
            job = self.short_queue[read]
            width = self.processors[job]
            starts = False
            if width <= self.free and (self.fresh_view or self.fresh[job]) and job != head:
                if self.planned[job] <= in_time:
                    starts = True
                elif width <= extra:
                    extra -= width
                    starts = True
            if starts:
                self.leave_queue(job)
                self.begin(job, True)
            else:
                self.short_queue[write] = self.short_queue[read]
                write += 1
            read += 1
        self.short_last = write

    def first_fresh(self) -> int:
        """The rank of the first of the jobs that came since the last pass."""
        found: int = self.fresh_jobs[0]
        for index in range(1, self.fresh_count):
            if self.fresh_jobs[index] < found:
                found = self.fresh_jobs[index]
        return found

    def free_at(self, time: float) -> int:
        """Processors that are free at a time if nothing else starts, as planned."""
        free: int = self.free
        index = 0
        while index < self.runs and self.run_end[index] <= time:
            free += self.processors[self.run_job[index]]
            index += 1
        return free

    # Venture backfilling, with shadow load preemption

    def venture(self) -> None:
        """Start the queue in order, making room for its head; fill what is idle with the jobs that fit."""
        served, retry = False, self.fresh_view or self.spared_count > 0
        for index in range(self.spared_count):
            self.spared[self.spared_jobs[index]] = 0
        self.spared_count = 0
        while self.first < self.last:
            head = self.queue[self.first]
            if self.processors[head] > self.free:
                # While jobs were only submitted behind it, there is no more room than there was.
                if not self.fresh_view or (served and self.single_head) or not self.make_room(head):
                    self.fill_idle(head, retry)
                    return
                served = True
            self.first += 1
            self.begin(head, False)

    def make_room(self, head: int) -> bool:
        """Preempt runs that the head outranks, the lowest first, if so many suffice."""
        missing = self.processors[head] - self.free
        for index in range(self.runs):
            if self.run_job[index] > head:
                missing -= self.processors[self.run_job[index]]
        if missing > 0:
            return False
        while self.processors[head] > self.free:
            lowest = head
            for index in range(self.runs):
                if self.run_job[index] > lowest:
                    lowest = self.run_job[index]
            self.preempt(lowest)
            if not self.restart:
                self.spared[lowest] = 1
                self.spared_jobs[self.spared_count] = lowest
                self.spared_count += 1
        return True

    def fill_idle(self, head: int, retry: bool) -> None:
        """Start jobs that are over in time, shortest first; then any that fit."""
        many = 0
        if self.free and (retry or self.fresh_count):
            for index in range(self.first + 1, self.last):
                job = self.queue[index]
                if self.processors[job] <= self.free and (retry or self.fresh[job]) and not self.spared[job]:
                    self.tried[many] = job
                    many += 1
        if not many and not self.fresh_view:
            return
        time = self.fair_start(head)
        if self.fresh_view and (self.reserved_job != head or self.reserved_time != time):
            self.reserved_job, self.reserved_time = head, time
            self.reserve(head, time)
        until = time - self.clock + HALF_A_MICROSECOND
        short = 0
        for index in range(many):
            if self.planned[self.tried[index]] <= until:
                self.in_time[short] = self.tried[index]
                short += 1
        self.sort_by_length(short)
        for index in range(short):
            self.start_behind(self.in_time[index])
        for index in range(many):
            self.start_behind(self.tried[index])

    def start_behind(self, job: int) -> None:
        """Start a job behind the head, if it still waits and fits."""
        if self.state[job] == PENDING and self.processors[job] <= self.free:
            self.leave_queue(job)
            self.begin(job, True)

    def fair_start(self, head: int) -> float:
        """When the head fits, if all that it outranks made room."""
        free, wanted = self.total, self.processors[head]
        for index in range(self.runs):
            if self.run_job[index] < head:
                free -= self.processors[self.run_job[index]]
        time = self.clock
        index = 0
        while free < wanted:
            if self.run_job[index] < head:
                free += self.processors[self.run_job[index]]
                time = max(self.clock, self.run_end[index])
            index += 1
        return time

    def sort_by_length(self, count: int) -> None:
        """Sort the jobs that are over in time by planned seconds, then by rank; they come by rank (Shell 1959)."""
        gap = 1
        while gap < count:
            gap = 3 * gap + 1
        while gap > 1:
            gap = gap // 3
            for index in range(gap, count):
                job = self.in_time[index]
                place = index
                while place >= gap and self.comes_before(job, self.in_time[place - gap]):
                    self.in_time[place] = self.in_time[place - gap]
                    place -= gap
                self.in_time[place] = job

    # Conservative backfilling, on the steps of a profile as slurm_sim_plugins.profile

    def keep_promises(self) -> None:
        """Find each job the earliest hole in the plan; start those whose slot is now."""
        read = self.last - self.fresh_count
        if self.fresh_view or not self.steps or not self.fresh_are_last():
            self.make_profile()
            read = self.first
        # The plan stands otherwise; jobs that came behind all others find their places in it.
        begin = max(self.clock, self.step_time[0])
        self.step_at(begin)
        write = read
        while read < self.last:
            job = self.queue[read]
            slot = self.take(job, begin)
            if slot <= self.clock and self.processors[job] <= self.free:
                self.slot[job] = NOT_YET
                self.begin(job, write != self.first)
            else:
                if self.slot[job] != slot:
                    self.slot[job] = slot
                    self.reserve(job, slot)
                self.queue[write] = job
                write += 1
            read += 1
        self.last = write

    def fresh_are_last(self) -> bool:
        """Whether jobs came since the last pass, and all of them behind the others."""
        place = self.last - self.fresh_count
        for index in range(self.fresh_count):
            if self.queue[place + index] != self.fresh_jobs[index]:
                return False
        return self.fresh_count > 0

    def make_profile(self) -> None:
        """Free processors over time: what runs, until its planned ends."""
        free, count = self.free, 1
        self.step_time[0], self.step_free[0] = self.clock, free
        for index in range(self.runs):
            free += self.processors[self.run_job[index]]
            if self.run_end[index] > self.step_time[count - 1]:
                self.step_time[count] = self.run_end[index]
                count += 1
            self.step_free[count - 1] = free
        self.steps = count

    def take(self, job: int, begin: float) -> float:
        """Take the earliest hole for a job that begins with a step at or after ``begin``; when it begins."""
        wanted: int = self.processors[job]
        length: float = self.planned[job]
        # In one pass holes only shrink: a job starts no earlier than one that wanted as many for no longer.
        if self.known_in[wanted] == self.passes and self.known_length[wanted] <= length:
            begin = self.known_start[wanted]
        step = self.first_step(begin)
        while True:
            while self.step_free[step] < wanted:
                step += 1
            start: float = self.step_time[step]
            end = self.end_of(start, length)
            beyond = step + 1
            while beyond < self.steps and self.step_time[beyond] < end and self.step_free[beyond] >= wanted:
                beyond += 1
            if beyond == self.steps or self.step_time[beyond] >= end:
                break
            step = beyond + 1
        if beyond == self.steps or self.step_time[beyond] != end:
            self.insert_step(beyond, end)
        for index in range(step, beyond):
            self.step_free[index] -= wanted
        self.known_in[wanted], self.known_length[wanted], self.known_start[wanted] = self.passes, length, start
        return start

    def end_of(self, start: float, length: float) -> float:
        """When a run ends that begins at a time, in whole microseconds."""
        end: float = np.rint((start + length) * 1000000.0) / 1000000.0
        return end

    def step_at(self, time: float) -> None:
        """Make a step that begins at a time, if there is none."""
        step = self.first_step(time)
        if step == self.steps or self.step_time[step] != time:
            self.insert_step(step, time)

    def insert_step(self, place: int, time: float) -> None:
        """A further step begins at a time, with what was free before."""
        for index in range(self.steps, place, -1):
            self.step_time[index] = self.step_time[index - 1]
            self.step_free[index] = self.step_free[index - 1]
        self.step_time[place], self.step_free[place] = time, self.step_free[place - 1]
        self.steps += 1

    def first_step(self, time: float) -> int:
        """The first step that begins at a time or later."""
        return lower_bound(self.step_time, self.steps, time)
