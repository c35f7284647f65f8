"""When nothing can happen any more in Slurm's timing, although periods go on.

Only what is periodic is left then: the loops, the sweep, the decay of usage, time slices. They change something as long
as

* a run has finite work, or a finite limit;
* a limit on past usage that fades keeps a waiting job, or one on minutes that running jobs still use up;
* a victim is exempt for a while;
* a job would start if it were the first, and priorities may change: jobs age up to ``PriorityMaxAge``, and usage is
  cleared at the end of a ``PriorityUsageResetPeriod``.

Reservations that come again do so for ever: that is news for two of their periods, where a waiting job would start if
none of them kept it.

Minutes of work without end are those of a year, which is the limit that Slurm gives an unlimited job. What such work
uses is in balance with what decays after some half-lives.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from emulator.engine.agenda import Event
from emulator.engine.part import Part
from emulator.engine.passes import Passes
from emulator.limits.limit_reasons import FADING, REASONS
from emulator.scheduling.controls import Controls
from emulator.scheduling.job_mgr import REFUSALS, partition_reason
from emulator.scheduling.preempt import victims
from emulator.state.cluster import Cluster
from emulator.state.job import Job
from emulator.state.reservation import DAY, RECURRING
from emulator.state.run import YEAR, State
from emulator.state.wants import BAD_CONSTRAINTS
from slurm_sim_plugins.nodes import Mask

NEVER = (*REFUSALS, "PartitionDown", BAD_CONSTRAINTS)
"""Reasons of jobs that no end of another helps."""
FAILURE = "node failure"
OF_RESERVATIONS = ("reservation begins", "reservation nears", "reservation bound", "reservation over")
LOOKS = ("pinged", "pass")
WEEK = 7 * DAY
"""Seconds after which those that come on some days of the week do so as before."""
SETTLED = 3
"""Periods until priorities that are settled are known everywhere: a classic share knows its parent's usage late."""


@dataclass(eq=False)
class Standstill(Part):
    """Knows when nothing can happen any more.

    Attributes:
        passes: the loops.
        period: seconds from one time at which priorities are worked out to the next; 0 for never.
        rest: a number of the cluster state, and from when on nothing can happen in it, in seconds.
    """

    passes: Passes
    period: float
    rest: tuple[int, float] = (-1, math.inf)
    _news_at: float | None = None
    _draws: tuple[int, bool] = (-1, False)

    @property
    def known_rest(self) -> float:
        """From when on nothing can happen, if that is known; else infinite."""
        return self.rest[1] if self.rest[0] == self.passes.version else math.inf

    def reached(self, controls: Controls) -> bool:
        """Whether nothing can happen any more."""
        cluster, passes = self.cluster, self.passes
        if self._news_at is None:
            self._news_at = cluster.now
        if self.agenda.to_come or passes.main_at is not None or not passes.all_looked():
            return False
        empty = not cluster.running and not cluster.suspended and not cluster.completing
        if empty and not any(may_start(job, cluster) for job in cluster.pending()):
            return True
        if self._something_comes(controls):
            return False
        if self.rest[0] != passes.version or self.rest[1] == math.inf:
            # Usage that has faded keeps jobs waiting no longer, or never has.
            since = passes.since if self.agenda.first is None else self._news_at
            self.rest = passes.version, rest_from(cluster, controls, self.period, since, passes.looks)
        return cluster.now >= self.rest[1]

    def _something_comes(self, controls: Controls) -> bool:
        """Whether there is an event; ends of work that was interrupted, and deadlines that were met, are none.

        Nor are those without end: failures of nodes, and reservations that come again, unless a waiting job may start.
        """
        while (event := self.agenda.first) is not None:
            if self._is_endless(event):
                others = [other for other in self.agenda if not (self._is_endless(other) or self._is_late(other))]
                self._note(*others)
                return bool(others) or self._reservations_matter(controls)
            if not self._is_late(event):
                self._note(event)
                return True
            self.agenda.take()
        return False

    def _note(self, *events: Event) -> None:
        """Note when the last news comes; looks at the queue are none, for reservations that come again bring them."""
        times = (event[0] for event in events if event[3] not in LOOKS)
        self._news_at = max(times, default=self._news_at)

    def _is_endless(self, event: Event) -> bool:
        """Whether an event is one of those that go on for ever."""
        if event[3] in OF_RESERVATIONS:
            one = self.reservations.by_name.get(event[4])
            return one is not None and not one.flags.isdisjoint(RECURRING)
        return bool(event[3] == FAILURE)

    def _reservations_matter(self, controls: Controls) -> bool:
        """Whether reservations that come again may let a waiting job start: one that would if none kept it."""
        cluster, version = self.cluster, self.passes.version
        flags = [flag for one in cluster.reservations.values() for flag in one.flags & RECURRING.keys()]
        period = max((WEEK if flag in ("WEEKDAY", "WEEKEND") else RECURRING[flag] for flag in flags), default=0.0)
        if self._news_at is None or cluster.now > self._news_at + 2 * period:
            return False
        if self._draws[0] != version:
            anywhere = ~cluster.no_nodes()
            self._draws = version, any(_fits(job, cluster, controls, anywhere) for job in cluster.pending())
        return self._draws[1]

    def _is_late(self, event: Event) -> bool:
        """Whether an event changes nothing, for what it is about is over."""
        kind, jobs = event[3], self.cluster.jobs
        if kind in ("deadline", "purge", "may preempt"):
            return jobs[event[4]].state is not State.PENDING
        return kind in ("work done", "limit", "written") and jobs[event[4]].sequence != event[5]


def may_start(job: Job, cluster: Cluster) -> bool:
    """Whether a waiting job may start when nothing runs and nothing is to come."""
    if job.held_by or "Never" in job.reason or all(partition.name in job.barred for partition in job.partitions):
        return False
    if cluster.accounting is not None and cluster.accounting.never_starts(job):
        return False
    if job.reason == "Dependency":
        # Nothing runs: only a delay after a start can still pass.
        others = [cluster.jobs.get(one.job) for one in job.options.dependencies if one.kind == "after"]
        return any(other is not None and other.runs for other in others)
    if any(count > cluster.licenses[name][0] for name, count in job.options.licenses):
        return False
    if job.request.het_job_id is not None and any(
        other.reason in NEVER for other in cluster.pending() if other.request.het_job_id == job.request.het_job_id
    ):
        return False  # Its components start together.
    return job.reason not in NEVER


def rest_from(cluster: Cluster, controls: Controls, period: float, since: float, looks: float) -> float:
    """From when on (seconds) nothing can happen, if nothing happens until then; infinite if something will.

    No event is left, and both loops have looked at the queue.

    Args:
        cluster: the cluster state.
        controls: what is reserved, and which jobs share nodes.
        period: seconds from one time at which priorities are worked out to the next; 0 for never.
        since: when anything but the end of a period happened last, in seconds.
        looks: seconds between two looks at the queue, at most.
    """
    if any(ends(job, cluster) for job in cluster.running.values()):
        return math.inf
    waiting = [job for job in cluster.pending() if not job.held_by and "Never" not in job.reason]
    accounting, parameters = cluster.accounting, cluster.parameters
    rest = since
    if cluster.running and waiting:
        exempt = max(parameters.preempt_exempt_time, accounting.exempts if accounting is not None else 0.0)
        rest += exempt and exempt + looks
    limited = [job for job in waiting if job.reason in REASONS]
    if accounting is not None:
        fading = any(job.reason in FADING and not accounting.never_starts(job) for job in limited)
        if fading and not cluster.running:
            return math.inf
        if cluster.running and (fading or accounting.watches):
            rest = max(rest, accounting.cleared(since) + accounting.steady_after)
        if cluster.running and any("RunMinutes" in job.reason for job in limited):
            rest += YEAR
    if period and any(_fits(job, cluster, controls) for job in waiting):
        rest = max(rest, _settled(waiting, cluster, since) + SETTLED * period)
    return rest


def ends(job: Job, cluster: Cluster) -> bool:
    """Whether a run ends some time, by itself or by its limit."""
    if job.run is None:
        return False
    killed = job.run.limit + cluster.partitions[job.run.partition].over_time_limit
    return min(job.left, killed, job.end_limit) < math.inf


def _settled(waiting: list[Job], cluster: Cluster, since: float) -> float:
    """From when on each period works out the same order: jobs have their full age, and usage has been cleared."""
    longest = getattr(cluster.policies.priority, "max_age", 0.0)
    aged = max((job.accrue + longest for job in waiting if job.accrue is not None), default=since)
    cleared = cluster.accounting.cleared(since) if cluster.accounting is not None else since
    return max(since, aged, cleared)


def _fits(job: Job, cluster: Cluster, controls: Controls, allowed: Mask | None = None) -> bool:
    """Whether a waiting job would start if it were the first, on nodes that are not reserved, or on those allowed."""
    if allowed is None:
        if job.eligible is None or job.reason in REASONS or not cluster.licenses_free(job):
            return False
        allowed = controls.not_reserved(job)
    elif job.held_by or "Never" in job.reason or job.reason in NEVER or job.reason in REASONS:
        return False
    for partition in job.partitions:
        usable = cluster.usable(job, partition) & allowed
        if partition_reason(job, partition) is None and (
            cluster.select(job, partition, usable) is not None
            or controls.rows.select(job, partition, usable) is not None
            or victims(job, partition, usable, controls, cluster)[0]
        ):
            return True
    return False


def unfinished(cluster: Cluster) -> dict[str, str]:
    """Jobs that have not ended, by state and reason: how many, and the first."""
    found: dict[str, list[int]] = {}
    for job in cluster.jobs.values():
        if not job.over:
            why = f"{job.state.value}, {job.reason}" if job.state is State.PENDING else job.state.value
            found.setdefault(why, []).append(job.id)
    return {why: f"{len(ids):,} jobs (first: job {min(ids)})" for why, ids in sorted(found.items())}
