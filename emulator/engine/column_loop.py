"""The ideal clock over columns: what happens next, what waits, and what runs until when.

What :mod:`emulator.engine.stock_loop` and :mod:`emulator.engine.tier_loop` share; a
:mod:`kernel <slurm_sim_plugins.kernels>`. It does, to the last bit, what :mod:`emulator.engine.loop`,
:mod:`emulator.engine.apply` and :mod:`emulator.accounting.headwatch` do; and predicts as ``walltime/last_model`` and
``walltime/history`` do.

A job is a number: its rank in the order of the queue, which never changes. A column is anything that is indexed: lists
where this is plain Python, arrays where it is compiled. Instants are whole microseconds, planned ends are seconds in
floats, as plugins see them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from emulator.engine.stock_history import ShareHistory
from emulator.state.instants import EXACT, seconds

NO_MORE = 2**63 - 1
NEVER = -(2**63)
FUTURE, PENDING, RUNNING, TIMEOUT, REJECTED = 0, 1, 2, 4, 5
AT_LIMIT, AT_ONCE, TSAFRIR, AGAIN = 0, 1, 2, 3
LAST_MODEL, HISTORY = 1, 2
NO_JOB = -1
KILLED_LAST = 1 << 60
"""Added to the number of an end: of runs that end at one instant those that reach their limits are the last."""
FLOOR = 1.0
"""Seconds; ``walltime/last_model`` predicts no less, unless the limit is."""
OFTEN = 1000
"""A job that was sent back so often may be one that gets nowhere, for which the general loop looks."""


def lower_bound(column: Any, count: int, least: float) -> int:
    """The first place of ``count`` ascending numbers that holds ``least`` or more; ``count`` if none does."""
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        if column[middle] < least:
            low = middle + 1
        else:
            high = middle
    return low


class ColumnLoop:
    """Takes event after event until there are none; what a pass does is the affair of those that are made of it.

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
        often: whether a job was preempted so often that this loop cannot tell whether it gets anywhere.
    """

    def __init__(
        self,
        policy: dict[str, Any],
        given: dict[str, Any],
        made: dict[str, Any],
        room: dict[str, Any],
        history: ShareHistory | None = None,
    ) -> None:
        self.shortest_first, self.event = policy["shortest_first"], policy["event"]
        self.overruns, self.expired = policy["overruns"], policy["expired"]
        self.learns, self.gives_up = policy["learns"], policy["gives_up"]
        self.plans_waiting, self.plans_running = policy["plans_waiting"], policy["plans_running"]
        self.history: Any = history  # as its own type where it is compiled; asked only under HISTORY
        self.always, self.voids = policy["always"], policy["voids"]
        self.total = self.free = policy["processors"]
        self.count = policy["jobs"]
        self.submit, self.arrivals = given["submit"], given["arrivals"]
        self.processors, self.duration = given["processors"], given["duration"]
        self.ends_as, self.at_limit = given["ends_as"], given["at_limit"]
        self.planned, self.planned_instants = made["planned"], made["planned_instants"]
        self.limit, self.limit_instants = given["limit"], given["limit_instants"]
        self.user, self.corrections = given["user"], given["corrections"]
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
        self.often = False
        self.past_runs: list[tuple[int, int, int, bool, int]] = []
        self.now, self.clock = 0, 0.0
        self.arrived = self.ended = self.passes = self.started = 0
        self.first = self.last = self.short_last = self.fresh_count = 0
        self.runs = self.events = 0
        self.changed = self.hopeful = False
        self.watched, self.missing = NO_JOB, 1
        self.reserved_job, self.reserved_time = NO_JOB, 0.0
        self.shadow_job, self.shadow, self.extra = NO_JOB, 0.0, 0

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
        return seconds(instant)

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
        if self.wakes():
            happened = True
        if happened and (self.changed or self.hopeful or self.overruns or self.always):
            self.make_pass()

    def one_by_one(self) -> None:
        """What reaches its limit, ends; then each submission, then each other end, with a pass after each."""
        many = 0
        woken = self.wakes()
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
        if woken:
            self.make_pass()

    def wakes(self) -> bool:
        """Whether a pass is to be made at this instant though nothing ends and nothing is submitted."""
        return False

    def goes_on(self, job: int, number: int) -> bool:
        """Whether the end of a job's run that has this number is still to come."""
        return not self.voids or bool(self.run_number[job] == number)

    def make_pass(self) -> None:
        """The scheduler looks at the queue, if there is anything new for it."""

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

    def note_start(self, job: int, ahead: bool) -> None:
        """A waiting job starts, ahead of the head or not."""
        self.state[job] = RUNNING
        self.start[job] = self.now
        if ahead:
            self.backfilled[job] = 1
        elif self.blocked[job] and self.could_start[job] == NEVER:
            self.could_start[job] = self.now

    def next_number(self, job: int) -> int:
        """The number of an end of a job's run: those of one instant come in the order of their numbers."""
        self.started += 1
        if self.ends_as[job] == TIMEOUT and not self.event:
            return self.started + KILLED_LAST
        return self.started

    def occupy(self, job: int, planned_end: float) -> None:
        """A run takes processors, and is planned to end at a time."""
        self.free -= self.processors[job]
        self.shadow_job = NO_JOB
        self.plan_run(job, planned_end)
        self.watch_start(job)

    def watch_start(self, job: int) -> None:
        """A job starts; what the watched head lacks may change."""
        if self.watched != NO_JOB:
            if job == self.watched:
                self.watched, self.missing = NO_JOB, 1
            elif job < self.watched:
                self.missing += self.processors[job]

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
        self.vacate(job)
        if self.voids:
            self.run_number[job] = 0

    def vacate(self, job: int) -> None:
        """The processors of a run are idle again."""
        self.drop_run(job)
        self.free += self.processors[job]
        self.shadow_job = NO_JOB
        self.changed = True
        if self.watched != NO_JOB and job < self.watched:
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
            self.plan(job, self.limit[job], self.limit[job])

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
            self.insert_short(job)
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

    def place_in_short_queue(self, job: int) -> int:
        """Where a job is in the queue that has the shortest first, or would be."""
        low, high = 0, self.short_last
        while low < high:
            middle = (low + high) // 2
            if self.comes_before(self.short_queue[middle], job):
                low = middle + 1
            else:
                high = middle
        return low

    def insert_short(self, job: int) -> None:
        """Insert a job where the shortest is first."""
        place = self.place_in_short_queue(job)
        for index in range(self.short_last, place, -1):
            self.short_queue[index] = self.short_queue[index - 1]
        self.short_queue[place] = job
        self.short_last += 1

    def leave_short_queue(self, job: int) -> None:
        """Take a job out there."""
        for index in range(self.place_in_short_queue(job), self.short_last - 1):
            self.short_queue[index] = self.short_queue[index + 1]
        self.short_last -= 1

    def comes_before(self, job: int, other: int) -> bool:
        """Whether a job is planned for less than another, or for as much and has the better rank."""
        if self.planned[job] != self.planned[other]:
            return bool(self.planned[job] < self.planned[other])
        return job < other

    # Runs by planned end

    def place_of_end(self, time: float) -> int:
        """How many runs are planned to end before a time."""
        return lower_bound(self.run_end, self.runs, time)

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

    def reserve(self, job: int, time: float) -> None:
        """A waiting job is planned to start at ``time``; kept unless the last one has run out."""
        last = self.reserved[job]
        if last != last:
            self.first_reserved[job] = time
        if last != last or self.clock <= last:
            self.reserved[job] = time

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
                self.shadow_job = NO_JOB

    def began(self, job: int) -> int:
        """Since when a job is on its processors."""
        found: int = self.start[job]
        return found

    def overdue(self, job: int) -> int:
        """When a run is planned to end that goes on at its planned end."""
        start, longest = self.began(job), self.limit_instants[job]
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
            self.forget_void()
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

    def forget_void(self) -> None:
        """Leave out the ends that no run comes to any more."""
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
