"""The ideal clock and the stock schedulers in one flat loop over columns: no object a job, no call of a hook.

A :mod:`kernel <slurm_sim_plugins.kernels>`. What it decides is, to the last bit, what the general loop decides
(:mod:`emulator.engine.loop`, :mod:`emulator.scheduling.scheduling_pass`) with ``sched/fcfs``, ``sched/easy``,
``sched/conservative``, and ``sched/venture`` with ``preempt/shadow_load``; and with ``walltime/last_model`` or
``walltime/history``.

A job is a number: its rank in the order of the queue, which never changes. A column is anything that is indexed: lists
where this is plain Python, arrays where it is compiled. Instants are whole microseconds, planned ends are seconds in
floats, as plugins see them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from emulator.engine.stock_history import ShareHistory

MICROSECONDS = 1_000_000
HALF_A_MICROSECOND = 5e-7
NO_MORE = 2**63 - 1
NEVER = -(2**63)
EXACT = 2**53
"""Whole numbers up to here are floats, too."""
FUTURE, PENDING, RUNNING, TIMEOUT, REJECTED = 0, 1, 2, 4, 5
FCFS, EASY, CONSERVATIVE, VENTURE = 0, 1, 2, 3
AT_LIMIT, AT_ONCE, TSAFRIR, AGAIN = 0, 1, 2, 3
RECOMPUTE, STICKY, RATCHET = 0, 1, 2
LAST_MODEL, HISTORY = 1, 2
NOBODY = -1
KILLED_LAST = 1 << 60
"""Added to the number of a start: of runs that end at one instant those that reach their limits are the last."""
FLOOR = 1.0
"""Seconds; ``walltime/last_model`` predicts no less, unless the limit is."""
OFTEN = 1000
"""A job that was sent back so often may be one that gets nowhere, for which the general loop looks."""
NOT_YET = float("nan")


class StockLoop:
    """Takes event after event until there are none.

    Args:
        policy: what decides: numbers by name, see :meth:`__init__`.
        given: columns of the jobs by rank, but for the first two, which are in the order of (submit, id).
        made: columns that are filled in.
        room: columns to work in.
        history: what plans for ``walltime/history``; None without it.

    Attributes:
        arrived: how many jobs have been submitted.
        ended: how many runs have ended.
        passes: how often the scheduler has looked at the queue.
    """

    def __init__(
        self,
        policy: dict[str, int],
        given: dict[str, Any],
        made: dict[str, Any],
        room: dict[str, Any],
        history: ShareHistory | None = None,
    ) -> None:
        self.scheduler, self.kept = policy["scheduler"], policy["reservation"]
        self.shortest_first, self.event = policy["shortest_first"], policy["event"]
        self.overruns, self.expired = policy["overruns"], policy["expired"]
        self.learns, self.gives_up = policy["learns"], policy["gives_up"]
        self.plans_waiting, self.plans_running = policy["plans_waiting"], policy["plans_running"]
        self.history: Any = history  # as its own type where it is compiled; asked only under HISTORY
        self.restart, self.single_head = policy["restart"], policy["single_head"]
        self.always = self.learns or self.scheduler == CONSERVATIVE
        self.total = self.free = policy["processors"]
        self.count = policy["jobs"]
        self.submit, self.arrivals = given["submit"], given["arrivals"]
        self.processors, self.duration = given["processors"], given["duration"]
        self.ends_as, self.at_limit = given["ends_as"], given["at_limit"]
        self.planned, self.planned_instants = made["planned"], made["planned_instants"]
        self.limit, self.limit_instants = given["limit"], given["limit_instants"]
        self.user, self.corrections = given["user"], given["corrections"]
        self.shortness, self.by_shortness = given["shortness"], given["by_shortness"]
        self.state, self.start, self.end = made["state"], made["start"], made["end"]
        self.could_start, self.blocked = made["could_start"], made["blocked"]
        self.backfilled, self.requeues = made["backfilled"], made["requeues"]
        self.reserved, self.first_reserved = made["reserved"], made["first_reserved"]
        self.queue, self.short_queue = room["queue"], room["short_queue"]
        self.fresh, self.fresh_jobs = room["fresh"], room["fresh_jobs"]
        self.planned_end = room["planned_end"]
        self.run_end, self.run_job = room["run_end"], room["run_job"]
        self.heap_time, self.heap_number, self.heap_job = room["heap_time"], room["heap_number"], room["heap_job"]
        self.due, self.due_number, self.late = room["due"], room["due_number"], room["late"]
        self.accuracy, self.expected_end = room["accuracy"], room["expected_end"]
        self.outlived, self.run_number = room["outlived"], room["run_number"]
        self.differs = room["differs"]
        self.spared, self.spared_jobs = room["spared"], room["spared_jobs"]
        self.tried, self.in_time = room["tried"], room["in_time"]
        self.spared_count, self.learnt, self.often = 0, False, False
        self.past_runs: list[tuple[int, int, int, bool, int]] = []
        self.slot, self.step_time, self.step_free = room["slot"], room["step_time"], room["step_free"]
        self.known_in, self.known_length = room["known_in"], room["known_length"]
        self.known_start = room["known_start"]
        self.steps = 0
        self.now, self.clock = 0, 0.0
        self.arrived = self.ended = self.passes = self.started = 0
        self.first = self.last = self.short_last = self.fresh_count = 0
        self.runs = self.events = 0
        self.changed = self.hopeful = self.fresh_view = False
        self.watched, self.missing = NOBODY, 1
        self.reserved_job, self.reserved_time = NOBODY, 0.0
        self.promised_job, self.promised_time = NOBODY, 0.0
        self.shadow_job, self.shadow, self.extra = NOBODY, 0.0, 0

    # Time

    def advance(self, until: int) -> None:
        """Handle all instants before ``until`` (microseconds); one instant is never parted."""
        while True:
            now = self.next_instant()
            if now >= until or self.often:
                return
            self.now, self.clock = now, self.seconds(now)
            if self.event:
                self.one_by_one()
            else:
                self.batch()

    def next_instant(self) -> int:
        """When something happens next, in microseconds; ``NO_MORE`` at the end."""
        now = NO_MORE
        if self.arrived < self.count:
            now = self.submit[self.arrived]
        if self.events and self.heap_time[0] < now:
            now = self.heap_time[0]
        return now

    def seconds(self, instant: int) -> float:
        """An instant in seconds, rounded once."""
        if -EXACT < instant < EXACT:
            return instant / 1000000.0
        return self.far(instant)

    def far(self, instant: Any) -> float:
        """The same of an instant that no float holds."""
        found: float = instant / MICROSECONDS
        return found

    def batch(self) -> None:
        """All that ends at this instant, ends; then all submissions; then one pass."""
        happened = False
        while self.events and self.heap_time[0] == self.now:
            number = self.heap_number[0]
            job = self.pop()
            if self.goes_on(job, number):
                self.finish(job)
                happened = True
        while self.arrived < self.count and self.submit[self.arrived] == self.now:
            self.arrive()
            happened = True
        if happened and (self.changed or self.hopeful or self.overruns or self.always):
            self.make_pass()

    def one_by_one(self) -> None:
        """What reaches its limit, ends; then each submission, then each other end, with a pass after each."""
        many = 0
        while self.events and self.heap_time[0] == self.now:
            self.due_number[many] = self.heap_number[0]
            self.due[many] = self.pop()
            if self.goes_on(self.due[many], self.due_number[many]):
                many += 1
        for index in range(many):
            job = self.due[index]
            if self.at_limit[job]:
                self.finish(job)
        while self.arrived < self.count and self.submit[self.arrived] == self.now:
            self.arrive()
            self.make_pass()
        for index in range(many):
            job = self.due[index]
            if not self.at_limit[job]:
                if not self.goes_on(job, self.due_number[index]):
                    continue
                self.finish(job)
            self.make_pass()

    def goes_on(self, job: int, number: int) -> bool:
        """Whether the run of a job with this number was not preempted."""
        return self.scheduler != VENTURE or bool(self.run_number[job] == number)

    # Events

    def arrive(self) -> None:
        """The next job is submitted."""
        job = self.arrivals[self.arrived]
        self.arrived += 1
        if self.processors[job] > self.total:
            self.state[job] = REJECTED
            return
        self.state[job] = PENDING
        if self.learns:
            self.predict(job)
        if self.enqueue(job):
            self.changed = True
        self.fresh[job] = 1
        self.fresh_jobs[self.fresh_count] = job
        self.fresh_count += 1
        if self.processors[job] <= self.free:
            self.hopeful = True

    def plan(self, job: int, waiting: float, running: float) -> None:
        """A job is planned with so many seconds while it waits, and when it runs."""
        self.planned[job] = waiting
        self.planned_instants[job] = int(np.rint(running * 1000000.0))
        self.differs[job] = waiting != running

    def predict(self, job: int) -> None:
        """A job is planned as the walltime plugin says."""
        limit: float = self.limit[job]
        if self.learns == HISTORY:
            seconds: float = self.history.planned(job, limit, self.clock)
            self.plan(job, seconds if self.plans_waiting else limit, seconds if self.plans_running else limit)
            return
        # The limit, times how accurate the last job of the user was that has ended.
        seconds = min(max(limit * self.accuracy[self.user[job]], FLOOR), limit)
        self.plan(job, seconds, seconds)

    def begin(self, job: int, ahead: bool) -> None:
        """A waiting job starts, which has left the queue; ``ahead`` of the head or not."""
        self.state[job] = RUNNING
        self.free -= self.processors[job]
        self.shadow_job = NOBODY
        self.started += 1
        number = self.started
        if self.ends_as[job] == TIMEOUT and not self.event:
            number += KILLED_LAST
        self.push(self.now + self.duration[job], number, job)
        self.plan_run(job, self.seconds(self.now + self.planned_instants[job]))
        if self.scheduler == VENTURE:
            self.run_number[job], self.expected_end[job] = number, self.planned_end[job]
        if self.watched != NOBODY:
            if job == self.watched:
                self.watched, self.missing = NOBODY, 1
            elif job < self.watched:
                self.missing += self.processors[job]
        self.start[job] = self.now
        if self.learns and self.differs[job]:
            self.changed = True
        if ahead:
            self.backfilled[job] = 1
        elif self.blocked[job] and self.could_start[job] == NEVER:
            self.could_start[job] = self.now

    def finish(self, job: int) -> None:
        """A run ends by itself or at its limit."""
        self.leave(job)
        if self.learns == LAST_MODEL:
            self.accuracy[self.user[job]] = min(self.seconds(self.duration[job]) / self.limit[job], 1.0)
        elif self.learns == HISTORY:
            self.history.learn(job, self.clock)
        self.state[job] = self.ends_as[job]
        self.end[job] = self.now
        self.ended += 1

    def leave(self, job: int) -> None:
        """A run leaves its processors."""
        self.drop_run(job)
        if self.scheduler == VENTURE:
            self.run_number[job] = 0
        self.free += self.processors[job]
        self.shadow_job = NOBODY
        self.changed = True
        if self.watched != NOBODY and job < self.watched:
            self.missing -= self.processors[job]

    def preempt(self, job: int) -> None:
        """A run is lost, and its job waits again at its old rank."""
        self.leave(job)
        self.requeues[job] += 1
        if self.requeues[job] == OFTEN:
            self.often = True
        if not self.backfilled[job] and self.could_start[job] == NEVER:
            self.could_start[job] = self.start[job]
        self.past_runs.append((job, self.start[job], self.now, bool(self.backfilled[job]), 0))
        self.backfilled[job] = 0
        self.state[job] = PENDING
        self.enqueue(job)
        if self.gives_up and self.expected_end[job] <= self.clock and not self.outlived[job]:
            self.outlived[job] = 1
            self.learnt = True

    # The pass

    def make_pass(self) -> None:
        """The scheduler looks at the queue, if there is anything new for it."""
        if self.first == self.last:
            return
        if self.overruns and self.runs and self.run_end[0] <= self.clock:
            self.replan()
        if not (self.changed or self.hopeful or self.always):
            return
        if self.learnt:
            self.plan_again()
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
            job = self.by_shortness[self.short_queue[read]]
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

    def find_shadow(self, head: int) -> None:
        """When the head fits if nothing else starts, and how many processors it leaves over then."""
        if self.shadow_job == head and self.shadow > self.clock:
            return
        free, wanted = self.free, self.processors[head]
        index = 0
        while free < wanted:
            free += self.processors[self.run_job[index]]
            index += 1
        time = self.run_end[index - 1]
        if time < self.clock:
            time = self.clock
        while index < self.runs and self.run_end[index] <= time:
            free += self.processors[self.run_job[index]]
            index += 1
        self.shadow_job, self.shadow, self.extra = head, time, free - wanted

    def free_at(self, time: float) -> int:
        """Processors that are free at a time if nothing else starts, as planned."""
        free = self.free
        index = 0
        while index < self.runs and self.run_end[index] <= time:
            free += self.processors[self.run_job[index]]
            index += 1
        return free

    def reserve(self, job: int, time: float) -> None:
        """A waiting job is planned to start at ``time``; kept unless the last one has run out."""
        last = self.reserved[job]
        if last != last:
            self.first_reserved[job] = time
        if last != last or self.clock <= last:
            self.reserved[job] = time

    # Venture backfilling, with shadow load preemption

    def plan_again(self) -> None:
        """Jobs that were preempted after the end that was predicted are planned with their limits."""
        self.learnt = False
        self.changed = True
        for index in range(self.first, self.last):
            job = self.queue[index]
            if self.outlived[job]:
                self.plan(job, self.limit[job], self.limit[job])

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

    def comes_before(self, job: int, other: int) -> bool:
        """Whether a job is planned for less than another, or for as much and has the better rank."""
        if self.planned[job] != self.planned[other]:
            return bool(self.planned[job] < self.planned[other])
        return job < other

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
        low, high = 0, self.steps
        while low < high:
            middle = (low + high) // 2
            if self.step_time[middle] < time:
                low = middle + 1
            else:
                high = middle
        return low

    # The head of the queue, as emulator.accounting.headwatch

    def watch(self, head: int) -> None:
        """A pass is over, and ``head`` still waits."""
        if head != self.watched:
            self.watched = head
            self.blocked[head] = 1
            self.missing = self.processors[head] - self.free
            for index in range(self.runs):
                if self.run_job[index] > head:
                    self.missing -= self.processors[self.run_job[index]]
        if self.missing <= 0:
            self.note()

    def note(self) -> None:
        """The watched head could start now, if all that it outranks made room."""
        if self.could_start[self.watched] == NEVER:
            self.could_start[self.watched] = self.now

    # The queue

    def enqueue(self, job: int) -> bool:
        """Insert a job in order; says whether it is the head now."""
        if self.shortest_first:
            self.insert_short(self.shortness[job])
        if self.last == len(self.queue):
            self.move_queue()
        place = self.last
        if place > self.first and self.queue[place - 1] > job:
            place = self.place_in_queue(job)
            for index in range(self.last, place, -1):
                self.queue[index] = self.queue[index - 1]
        self.queue[place] = job
        self.last += 1
        return place == self.first

    def move_queue(self) -> None:
        """Jobs came back, and there is room only where others have left."""
        for index in range(self.first, self.last):
            self.queue[index - self.first] = self.queue[index]
        self.first, self.last = 0, self.last - self.first

    def place_in_queue(self, job: int) -> int:
        """Where a job is in the queue, or would be."""
        low, high = self.first, self.last
        while low < high:
            middle = (low + high) // 2
            if self.queue[middle] < job:
                low = middle + 1
            else:
                high = middle
        return low

    def leave_queue(self, job: int) -> None:
        """Take a job out that is not the head."""
        for index in range(self.place_in_queue(job), self.last - 1):
            self.queue[index] = self.queue[index + 1]
        self.last -= 1

    def place_in_short_queue(self, shortness: int) -> int:
        """Where a job is in the queue that has the shortest first, or would be."""
        low, high = 0, self.short_last
        while low < high:
            middle = (low + high) // 2
            if self.short_queue[middle] < shortness:
                low = middle + 1
            else:
                high = middle
        return low

    def insert_short(self, shortness: int) -> None:
        """Insert a job where the shortest is first."""
        place = self.place_in_short_queue(shortness)
        for index in range(self.short_last, place, -1):
            self.short_queue[index] = self.short_queue[index - 1]
        self.short_queue[place] = shortness
        self.short_last += 1

    def leave_short_queue(self, job: int) -> None:
        """Take a job out there."""
        for index in range(self.place_in_short_queue(self.shortness[job]), self.short_last - 1):
            self.short_queue[index] = self.short_queue[index + 1]
        self.short_last -= 1

    # Runs by planned end

    def place_of_end(self, time: float) -> int:
        """How many runs are planned to end before a time."""
        low, high = 0, self.runs
        while low < high:
            middle = (low + high) // 2
            if self.run_end[middle] < time:
                low = middle + 1
            else:
                high = middle
        return low

    def plan_run(self, job: int, end: float) -> None:
        """A run is planned to end at a time."""
        self.planned_end[job] = end
        place = self.place_of_end(end)
        for index in range(self.runs, place, -1):
            self.run_end[index] = self.run_end[index - 1]
            self.run_job[index] = self.run_job[index - 1]
        self.run_end[place], self.run_job[place] = end, job
        self.runs += 1

    def drop_run(self, job: int) -> None:
        """A run is no longer planned."""
        place = self.place_of_end(self.planned_end[job])
        while self.run_job[place] != job:
            place += 1
        self.runs -= 1
        for index in range(place, self.runs):
            self.run_end[index] = self.run_end[index + 1]
            self.run_job[index] = self.run_job[index + 1]

    def replan(self) -> None:
        """Runs that go on at their planned ends are planned again, as :mod:`emulator.execution.overdue` says."""
        self.changed = True
        late = 0
        while late < self.runs and self.run_end[late] <= self.clock:
            self.late[late] = self.run_job[late]
            late += 1
        for index in range(late):
            job = self.late[index]
            later = self.seconds(self.overdue(job))
            if later > self.planned_end[job]:
                self.drop_run(job)
                self.plan_run(job, later)
                self.shadow_job = NOBODY

    def overdue(self, job: int) -> int:
        """When a run is planned to end that goes on at its planned end."""
        start, longest = self.start[job], self.limit_instants[job]
        planned = start + self.planned_instants[job]
        if self.expired == AT_ONCE:
            return int(planned)
        if self.expired == TSAFRIR:
            for index in range(len(self.corrections)):
                if planned + self.corrections[index] > self.now:
                    return int(min(planned + self.corrections[index], start + longest))
        if self.expired == AGAIN:
            longest = max(longest, 1)
            times = (self.now - start) // longest + 1
            return int(start + longest * max(times, 1))
        return int(start + longest)

    # Ends of runs by instant, then by number of the start

    def push(self, time: int, number: int, job: int) -> None:
        """Note when a run ends."""
        if self.events == len(self.heap_time):
            self.forget_preempted()
        place = self.events
        self.events += 1
        while place:
            above = (place - 1) // 2
            if self.heap_time[above] < time or (self.heap_time[above] == time and self.heap_number[above] < number):
                break
            self.heap_time[place] = self.heap_time[above]
            self.heap_number[place] = self.heap_number[above]
            self.heap_job[place] = self.heap_job[above]
            place = above
        self.heap_time[place], self.heap_number[place], self.heap_job[place] = time, number, job

    def forget_preempted(self) -> None:
        """Leave out the ends that runs would have had which were preempted."""
        count, self.events = self.events, 0
        for index in range(count):
            job = self.heap_job[index]
            if self.run_number[job] == self.heap_number[index]:
                self.push(self.heap_time[index], self.heap_number[index], job)

    def pop(self) -> int:
        """Whose run ends first."""
        found: int = self.heap_job[0]
        self.events -= 1
        count = self.events
        time, number, job = self.heap_time[count], self.heap_number[count], self.heap_job[count]
        place = 0
        below = 1
        while below < count:
            other = below + 1
            if other < count and (
                self.heap_time[other] < self.heap_time[below]
                or (
                    self.heap_time[other] == self.heap_time[below] and self.heap_number[other] < self.heap_number[below]
                )
            ):
                below = other
            if time < self.heap_time[below] or (time == self.heap_time[below] and number < self.heap_number[below]):
                break
            self.heap_time[place] = self.heap_time[below]
            self.heap_number[place] = self.heap_number[below]
            self.heap_job[place] = self.heap_job[below]
            place = below
            below = 2 * place + 1
        if count:
            self.heap_time[place], self.heap_number[place], self.heap_job[place] = time, number, job
        return found
