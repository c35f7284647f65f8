"""KEASY, REASY and MEASY in one flat loop over columns: no object a job, no call of a hook.

A :mod:`kernel <slurm_sim_plugins.kernels>`. What it decides is, to the last bit, what the general loop decides
(:mod:`emulator.engine.apply_tiers`, :mod:`emulator.scheduling.tiered_pass`) with ``sched/two_tier`` and
``execution/two_tier``. Events, the queue and runs in the foreground are those of
:class:`~emulator.engine.column_loop.ColumnLoop`.

A job's processors are a chain from the highest down, in the columns of its tier.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from emulator.engine.column_loop import ColumnLoop
from emulator.engine.stock_history import ShareHistory
from emulator.engine.tier_work import TierWork

HALF_A_MICROSECOND = 5e-7
NEVER = -(2**63)
NO_MORE = 2**63 - 1
ENDLESS = -1
NO_JOB = -1
KILL, RESERVE, MIGRATE = 0, 1, 2
WAITS, FRONT, BACK = 0, 1, 2
NOWHERE, SWAPS, ANYWHERE, BESIDE = 0, 1, 2, 3
"""Where a job can come to in the foreground: its own processors, idle ones, idle ones that the head is not behind."""
STARTED, SWAPPED, MIGRATED = 0, 1, 2

Phis = Callable[[int, int], list[float]]
"""From the number of a stay and the job's processes to phi of each, ascending by processor, or one for all."""


class TierLoop(ColumnLoop):
    """Passes in two tiers, and the rates at which runs progress.

    Args:
        policy: what decides: numbers by name, see :meth:`__init__`.
        given, made, room, history: as :class:`~emulator.engine.column_loop.ColumnLoop`.
        phis: draws phi.
    """

    def __init__(
        self,
        policy: dict[str, Any],
        given: dict[str, Any],
        made: dict[str, Any],
        room: dict[str, Any],
        phis: Phis,
        history: ShareHistory | None = None,
    ) -> None:
        super().__init__(policy, given, made, room, history)
        self.work: Any = TierWork(room["done"], room["before"])  # as its own type where it is compiled
        self.phis = phis
        self.deploy, self.remaining = policy["deploy"], policy["remaining"]
        self.cost, self.counted = policy["cost"], policy["counted"]
        self.loss_always, self.cap_inside = policy["loss_always"], policy["cap_inside"]
        self.by_process = policy["by_process"]
        # The jobs, as the plugins know them.
        self.may_go, self.behind, self.group = given["may_go"], given["behind"], given["group"]
        self.full, self.spare, self.use = given["full"], given["spare"], given["use"]
        self.front_rate = given["front_rate"]
        # Fixed rates by time, and the instants at which they change.
        self.step_time, self.step_rate, self.changes = given["step_time"], given["step_rate"], given["changes"]
        self.changed_at = self.woken = 0
        # Stays, by their numbers.
        self.stay_job, self.stay_run, self.stay_tier = made["stay_job"], made["stay_run"], made["stay_tier"]
        self.stay_start, self.stay_end = made["stay_start"], made["stay_end"]
        self.stay_came, self.stay_work = made["stay_came"], made["stay_work"]
        self.where: list[int] = []
        self.where_of = made["where_of"]
        self.cells = bytearray((self.total + 7) // 8)
        self.stays = 0
        # Runs, by job.
        self.running, self.since = room["running"], room["since"]
        self.tier, self.chain, self.stay = room["tier"], room["chain"], room["stay"]
        self.rate, self.timed, self.ends = room["rate"], room["timed"], room["ends"]
        self.settled, self.stalled = room["settled"], room["stalled"]
        self.drawn, self.unsettled, self.unsettled_jobs = room["drawn"], room["unsettled"], room["unsettled_jobs"]
        self.unsettled_count = 0
        # Processors.
        self.front, self.front_next = room["front"], room["front_next"]
        self.back, self.back_next = room["back"], room["back_next"]
        self.phi, self.open_list = room["phi"], room["open_list"]
        self.open = self.total
        # Runs in the background by rank; those in the foreground behind which there may be others, by their use.
        self.backs, self.back_count = room["backs"], 0
        self.fronts, self.front_count = room["fronts"], 0
        self.tried, self.others = room["tried"], room["others"]
        self.left_front = self.left_back = False
        self.aside, self.left_over = NO_JOB, 0

    # Time

    def next_instant(self) -> int:
        """When something happens next, in microseconds; ``NO_MORE`` at the end."""
        now = ColumnLoop.next_instant(self)
        if self.woken < len(self.changes) and self.changes[self.woken] < now:
            now = self.changes[self.woken]
        return now

    def wakes(self) -> bool:
        """Whether rates change by themselves at this instant."""
        if self.woken == len(self.changes) or self.changes[self.woken] != self.now:
            return False
        self.woken += 1
        return True

    # Events

    def plan(self, job: int, waiting: float, running: float) -> None:
        """A job is planned with so many seconds while it waits, and when it runs."""
        ColumnLoop.plan(self, job, waiting, running)
        self.running[job] = running

    def leave(self, job: int) -> None:
        """A run leaves its processors."""
        if self.tier[job] == FRONT:
            self.left_front = True
        else:
            self.left_back = True
        self.rise(job)
        self.run_number[job] = 0

    def began(self, job: int) -> int:
        """Since when a job is in the foreground."""
        found: int = self.since[job]
        return found

    # Stays

    def sit(self, job: int, tier: int, came: int, planned: float) -> None:
        """A stay begins on the job's chain of processors; planned are seconds until its planned end."""
        number = self.stays
        self.stays += 1
        self.stay[job] = number
        self.stay_job[number], self.stay_run[number] = job, self.requeues[job] + 1
        self.stay_start[number], self.stay_tier[number], self.stay_came[number] = self.now, tier, came
        self.tier[job] = tier
        self.started += 1
        # No end that was found before holds.
        self.run_number[job] = self.started
        if tier == FRONT:
            self.since[job] = self.now
            self.occupy(job, self.seconds(self.now + int(np.rint(planned * 1000000.0))))
            if self.behind[job]:
                self.insert_front(job)
        else:
            self.insert_back(job)
        self.rate[job], self.timed[job], self.ends[job], self.drawn[job] = 1.0, 0, NEVER, 0
        self.settled[job] = self.now
        self.unsettle(job)
        self.disturb(job)

    def rise(self, job: int) -> None:
        """A stay ends."""
        self.settle(job)
        number, tier = self.stay[job], self.tier[job]
        self.stay_end[number], self.stay_work[number] = self.now, self.work.since_mark(job)
        self.where_of[number] = len(self.where)
        self.note_where(job)
        place = self.chain[job]
        if tier == FRONT:
            while place != NO_JOB:
                self.set_front(place, NO_JOB)
                place = self.front_next[place]
            self.vacate(job)
            if self.behind[job]:
                self.remove_front(job)
        else:
            while place != NO_JOB:
                self.set_back(place, NO_JOB)
                place = self.back_next[place]
            self.remove_back(job)
        self.disturb(job)
        self.tier[job] = WAITS

    def note_where(self, job: int) -> None:
        """Note the processors of a stay that ends, as a set (:mod:`slurm_sim_plugins.processors`)."""
        cells = self.cells
        place = self.chain[job]
        while place != NO_JOB:
            cells[place >> 3] |= 1 << (place & 7)
            place = self.next_of(job, place)
        self.where.append(int.from_bytes(cells, "little"))
        place = self.chain[job]
        while place != NO_JOB:
            cells[place >> 3] = 0
            place = self.next_of(job, place)

    def next_of(self, job: int, place: int) -> int:
        """The next lower processor of a job."""
        if self.tier[job] == FRONT:
            return int(self.front_next[place])
        return int(self.back_next[place])

    def set_front(self, place: int, job: int) -> None:
        """A processor's slot in the foreground is taken, or empty."""
        self.open -= self.is_open(place)
        self.front[place] = job
        self.open += self.is_open(place)

    def set_back(self, place: int, job: int) -> None:
        """A processor's slot in the background is taken, or empty."""
        self.open -= self.is_open(place)
        self.back[place] = job
        self.open += self.is_open(place)

    def is_open(self, place: int) -> bool:
        """Whether a job can come to the background of a processor."""
        front = self.front[place]
        return bool(self.back[place] == NO_JOB and (front == NO_JOB or self.behind[front]))

    def disturb(self, job: int) -> None:
        """What is beside a stay that begins or ends wants a new rate, in the order in which it came."""
        many = 0
        tier, place, last = self.tier[job], self.chain[job], NO_JOB
        while place != NO_JOB:
            other = self.back[place] if tier == FRONT else self.front[place]
            if other != last and other != NO_JOB and not self.unsettled[other]:
                last = other
                index = many
                while index and self.stay[self.others[index - 1]] > self.stay[other]:
                    index -= 1
                if not index or self.others[index - 1] != other:
                    for above in range(many, index, -1):
                        self.others[above] = self.others[above - 1]
                    self.others[index] = other
                    many += 1
            place = self.next_of(job, place)
        for index in range(many):
            self.unsettle(self.others[index])

    def unsettle(self, job: int) -> None:
        """A run wants a new rate at the end of this instant."""
        if not self.unsettled[job]:
            self.unsettled[job] = 1
            self.unsettled_jobs[self.unsettled_count] = job
            self.unsettled_count += 1

    # Rates

    def settle(self, job: int) -> None:
        """Note what a run has done until now."""
        begun = max(self.settled[job], self.stalled[job])
        if self.now > begun:
            self.work.add(job, self.rate[job], self.now - begun)
        self.settled[job] = self.now

    def settle_all(self) -> None:
        """At the end of an instant: new rates and ends of the jobs of which something changed."""
        for index in range(self.unsettled_count):
            job = self.unsettled_jobs[index]
            self.unsettled[job] = 0
            # A run that ends at this very instant is left to do so.
            if self.tier[job] != WAITS and self.ends[job] != self.now:
                rate = self.rate_of(job)
                if rate != self.rate[job] or not self.timed[job]:
                    self.time(job, rate)
        self.unsettled_count = 0

    def time(self, job: int, rate: float) -> None:
        """A run works at a rate from now on."""
        self.settle(job)
        self.rate[job], self.timed[job] = rate, 1
        left = self.work.time_left(job, rate, self.duration[job])
        number = self.next_number(job)
        self.run_number[job] = number
        if left == ENDLESS:
            self.ends[job] = NEVER
            return
        self.ends[job] = max(self.now, self.stalled[job]) + left
        self.push(self.ends[job], number, job)

    def rate_of(self, job: int) -> float:
        """How fast a run progresses as things are now."""
        place = self.chain[job]
        if self.tier[job] == BACK:
            return self.rate_behind(job)
        if not self.loss_always:
            while place != NO_JOB and self.back[place] == NO_JOB:
                place = self.front_next[place]
            if place == NO_JOB:
                return 1.0
        return float(self.front_rate[job])

    def rate_behind(self, job: int) -> float:
        """The rate of a job in the background: that of its slowest process."""
        slowest, last, place = 1.0, NO_JOB, self.chain[job]
        fixed = self.fixed_rate()
        while place != NO_JOB:
            front = self.front[place]
            if front != NO_JOB and (front != last or self.by_process):
                last = front
                if self.full[front]:
                    return 0.0
                rate = fixed
                if fixed < 0.0:
                    if not self.drawn[job]:
                        self.draw(job)
                    share = self.spare[front] / self.use[job]
                    phi = self.phi[place]
                    rate = phi * min(1.0, share) if self.cap_inside else min(1.0, phi * share)
                slowest = min(slowest, rate)
            place = self.back_next[place]
        return slowest

    def fixed_rate(self) -> float:
        """The rate behind a process that does not use nearly all, if it is not drawn; less than 0 if it is."""
        rate = -1.0
        for index in range(len(self.step_time)):
            if self.step_time[index] <= self.clock:
                rate = self.step_rate[index]
        return rate

    def draw(self, job: int) -> None:
        """Draw phi of the processes of a stay in the background."""
        self.drawn[job] = 1
        drawn = self.phis(self.stay[job] + 1, self.processors[job])
        index, place = len(drawn), self.chain[job]
        while place != NO_JOB:
            index = max(0, index - 1)
            self.phi[place] = drawn[index]
            place = self.back_next[place]

    def change_by_time(self) -> None:
        """At an instant at which rates change by themselves, all runs want new ones, in the order of their stays."""
        changes = False
        while self.changed_at < len(self.changes) and self.changes[self.changed_at] <= self.now:
            self.changed_at += 1
            changes = True
        if not changes:
            return
        many = 0
        for index in range(self.runs + self.back_count):
            job = self.run_job[index] if index < self.runs else self.backs[index - self.runs]
            place = many
            while place and self.stay[self.others[place - 1]] > self.stay[job]:
                self.others[place] = self.others[place - 1]
                place -= 1
            self.others[place] = job
            many += 1
        for index in range(many):
            self.unsettle(self.others[index])

    # The pass

    def make_pass(self) -> None:
        """The scheduler looks at the queue and the background; then the rates are found."""
        self.change_by_time()
        if self.first < self.last or self.back_count:
            if self.runs and self.run_end[0] <= self.clock:
                self.replan()
            self.passes += 1
            if self.missing <= 0 and self.first < self.last and self.queue[self.first] == self.watched:
                self.note()
            if self.fresh_count or self.left_front:
                self.foreground()
                self.background()
            elif self.left_back:
                self.background()
            self.fresh_count = 0
            if self.first < self.last:
                self.watch(self.queue[self.first])
        self.left_front = self.left_back = False
        self.settle_all()

    def foreground(self) -> None:
        """EASY, with the jobs that wait and those in the background in one queue."""
        self.aside = NO_JOB
        while True:
            head = self.head()
            if head == NO_JOB:
                return
            where = self.fit(head, NO_JOB)
            if where == NOWHERE:
                break
            self.bring(head, where)
        time = self.shadow_of(head)
        if self.tier[head] == WAITS and (self.reserved_job != head or self.reserved_time != time):
            self.reserved_job, self.reserved_time = head, time
            self.reserve(head, time)
        in_time = time - self.clock + HALF_A_MICROSECOND
        for index in range(self.candidates(head, in_time)):
            if not self.free:
                return
            job = self.tried[index]
            where = self.ahead(job, in_time)
            if where != NOWHERE:
                self.bring(job, where)

    def head(self) -> int:
        """The first of all jobs that are not in the foreground."""
        found = NO_JOB
        if self.first < self.last:
            found = self.queue[self.first]
        if self.back_count and (found == NO_JOB or self.backs[0] < found):
            found = self.backs[0]
        return found

    def shadow_of(self, head: int) -> float:
        """When the head is to come to the foreground; notes what it leaves over, or where it stays."""
        if self.tier[head] == WAITS or self.deploy != RESERVE:
            self.find_shadow(head)
            self.left_over = self.extra
            return self.shadow
        self.aside, self.left_over = head, self.free
        time, place = self.clock, self.chain[head]
        while place != NO_JOB:
            front = self.front[place]
            if front != NO_JOB and self.planned_end[front] > time:
                time = self.planned_end[front]
            place = self.back_next[place]
        return time

    def candidates(self, head: int, in_time: float) -> int:
        """Which jobs may go ahead of the head as things are now, in the order of the queue; how many these are."""
        if not self.free:
            return 0
        many, behind, index = 0, 0, self.first
        while index < self.last or behind < self.back_count:
            if behind < self.back_count and (index == self.last or self.backs[behind] < self.queue[index]):
                job = self.backs[behind]
                behind += 1
                fits = self.processors[job] <= self.free
            else:
                job = self.queue[index]
                index += 1
                fits = self.processors[job] <= self.free and (
                    self.processors[job] <= self.left_over or self.planned[job] <= in_time
                )
            if fits and job != head:
                self.tried[many] = job
                many += 1
        return many

    def ahead(self, job: int, in_time: float) -> int:
        """Where a job can come to without delaying the head; notes what it takes of the extra processors."""
        if self.length(job, self.swaps(job)) <= in_time:
            return self.fit(job, NO_JOB)
        if self.aside != NO_JOB:
            return self.fit(job, self.aside)
        if self.processors[job] > self.left_over:
            return NOWHERE
        where = self.fit(job, NO_JOB)
        if where != NOWHERE:
            self.left_over -= self.processors[job]
        return where

    def swaps(self, job: int) -> bool:
        """Whether the foreground is idle where a job is in the background."""
        if self.tier[job] != BACK:
            return False
        place = self.chain[job]
        while place != NO_JOB:
            if self.front[place] != NO_JOB:
                return False
            place = self.back_next[place]
        return True

    def fit(self, job: int, aside: int) -> int:
        """Where a job can come to, if it has to stay off the processors that another one is behind."""
        if self.tier[job] == BACK:
            if self.swaps(job):
                return SWAPS
            if self.deploy == RESERVE:
                return NOWHERE
        idle = self.free
        if aside != NO_JOB:
            place = self.chain[aside]
            while place != NO_JOB:
                if self.front[place] == NO_JOB:
                    idle -= 1
                place = self.back_next[place]
        if self.processors[job] > idle:
            return NOWHERE
        return ANYWHERE if aside == NO_JOB else BESIDE

    def length(self, job: int, swaps: bool) -> float:
        """For how long a job is planned to be in the foreground, to which it comes by a swap or otherwise."""
        if self.tier[job] == WAITS or (self.deploy == KILL and not swaps):
            return float(self.planned[job])
        length: float = self.running[job]
        if self.remaining:
            time = max(0, self.now - max(self.settled[job], self.stalled[job]))
            length = max(1.0, length - self.seconds(self.work.done(job, self.rate[job], time)))
        return length if swaps else length + self.counted

    def bring(self, job: int, where: int) -> None:
        """Bring a job to the foreground."""
        if self.tier[job] == WAITS:
            self.start_in_front(job, where)
        elif where == SWAPS:
            planned = self.length(job, True)
            self.rise(job)
            place = self.chain[job]
            while place != NO_JOB:
                self.front_next[place] = self.back_next[place]
                self.set_front(place, job)
                place = self.back_next[place]
            self.move(job, SWAPPED, planned, 0)
        elif self.deploy == MIGRATE:
            planned = self.length(job, False)
            self.rise(job)
            self.take_front(job, where)
            self.move(job, MIGRATED, planned, self.cost)
        else:
            self.preempt(job)
            self.start_in_front(job, where)

    def move(self, job: int, came: int, planned: float, cost: int) -> None:
        """A run goes on in the foreground, after so many microseconds."""
        self.stalled[job] = max(self.stalled[job], self.now) + cost
        self.work.mark(job)
        self.sit(job, FRONT, came, planned)

    def start_in_front(self, job: int, where: int) -> None:
        """A waiting job starts in the foreground."""
        ahead = self.queue[self.first] != job
        self.take_out(job)
        self.leave_short_queue(job)
        self.take_front(job, where)
        self.stalled[job] = self.now
        self.work.clear(job)
        self.sit(job, FRONT, STARTED, self.running[job])
        self.note_start(job, ahead)

    def take_out(self, job: int) -> None:
        """Take a job out of the queue."""
        if self.queue[self.first] == job:
            self.first += 1
        else:
            self.leave_queue(job)

    def take_front(self, job: int, where: int) -> None:
        """A job's chain becomes the highest idle processors of the foreground."""
        wanted, place, last = self.processors[job], self.total, NO_JOB
        while wanted:
            place -= 1
            if self.front[place] == NO_JOB and (where != BESIDE or self.back[place] != self.aside):
                if last == NO_JOB:
                    self.chain[job] = place
                else:
                    self.front_next[last] = place
                last = place
                wanted -= 1
                self.set_front(place, job)
        self.front_next[last] = NO_JOB

    # The background

    def background(self) -> None:
        """Put waiting jobs behind what runs, shortest first."""
        if not self.open or self.first == self.last:
            return
        taken = read = write = 0
        gathered = False
        while read < self.short_last:
            job = self.short_queue[read]
            read += 1
            if self.processors[job] > self.open or (self.deploy == KILL and not self.may_go[job]):
                self.short_queue[write] = job
                write += 1
                continue
            if not gathered:
                self.gather()
                gathered = True
            self.start_behind(job, taken)
            taken += self.processors[job]
        self.short_last = write

    def start_behind(self, job: int, taken: int) -> None:
        """A waiting job starts in the background, on the next of the processors that were gathered."""
        ahead = self.queue[self.first] != job
        self.take_out(job)
        count = self.processors[job]
        self.sort_down(taken, taken + count)
        self.chain[job] = self.open_list[taken]
        for index in range(taken, taken + count):
            place = self.open_list[index]
            self.back_next[place] = self.open_list[index + 1] if index + 1 < taken + count else NO_JOB
            self.set_back(place, job)
        if self.watched == job:
            self.watch_start(job)
        self.stalled[job] = self.now
        self.work.clear(job)
        self.sit(job, BACK, STARTED, 0.0)
        self.note_start(job, ahead)

    def gather(self) -> None:
        """Gather the processors whose background can take a job: by use, the least first, the highest first in each."""
        many, index = 0, 0
        for place in range(self.total - 1, -1, -1):
            if self.front[place] == NO_JOB and self.back[place] == NO_JOB:
                self.open_list[many] = place
                many += 1
        while index < self.front_count:
            first, group = many, self.group[self.fronts[index]]
            alone = index + 1 == self.front_count or self.group[self.fronts[index + 1]] != group
            while index < self.front_count and self.group[self.fronts[index]] == group:
                place = self.chain[self.fronts[index]]
                while place != NO_JOB:
                    if self.back[place] == NO_JOB:
                        self.open_list[many] = place
                        many += 1
                    place = self.front_next[place]
                index += 1
            if not alone:
                self.sort_down(first, many)

    def sort_down(self, first: int, beyond: int) -> None:
        """Sort a part of the processors that were gathered, the highest first (Shell 1959)."""
        gap = 1
        while gap < beyond - first:
            gap = 3 * gap + 1
        while gap:
            for index in range(first + gap, beyond):
                found, place = self.open_list[index], index
                while place >= first + gap and self.open_list[place - gap] < found:
                    self.open_list[place] = self.open_list[place - gap]
                    place -= gap
                self.open_list[place] = found
            gap = gap // 3

    # Who is in which tier

    def insert_back(self, job: int) -> None:
        """A job is in the background."""
        place = self.back_count
        while place and self.backs[place - 1] > job:
            self.backs[place] = self.backs[place - 1]
            place -= 1
        self.backs[place] = job
        self.back_count += 1

    def remove_back(self, job: int) -> None:
        """A job is no longer in the background."""
        self.back_count -= 1
        place = 0
        while self.backs[place] != job:
            place += 1
        for index in range(place, self.back_count):
            self.backs[index] = self.backs[index + 1]

    def insert_front(self, job: int) -> None:
        """A job is in the foreground, behind which there may be another."""
        place = self.front_count
        while place and self.group[self.fronts[place - 1]] > self.group[job]:
            self.fronts[place] = self.fronts[place - 1]
            place -= 1
        self.fronts[place] = job
        self.front_count += 1

    def remove_front(self, job: int) -> None:
        """It is no longer there."""
        self.front_count -= 1
        place = 0
        while self.fronts[place] != job:
            place += 1
        for index in range(place, self.front_count):
            self.fronts[index] = self.fronts[index + 1]
