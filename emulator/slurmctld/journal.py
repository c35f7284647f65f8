"""Keeps of a run in Slurm's timing what its records do not have, for those who look at it later.

Which job waited for what, with which priority, and when it was planned to start; what
priorities were worked out from; the shares of associations. A row for each change.
"""

from __future__ import annotations

from collections.abc import Mapping

from emulator.accounting.records import Columns
from emulator.slurmctld.controller import Controller
from emulator.slurmctld.job import Job, State
from emulator.slurmctld.notes import Notes
from emulator.slurmctld.priority import NAMES, MultifactorPriority, Priced
from emulator.slurmctld.shares import ShareRow, share_rows, tres_text

WAIT_COLUMNS: dict[str, str] = {
    "job_id": "the job's id",
    "time": "seconds, from when on this holds",
    "state": "PENDING while it waits; the last state of one that left the queue without a run",
    "reason": "why it waits, in Slurm's words",
    "priority": "its priority",
    "planned_start": "when it is planned to start, to the minute; null if that is not known",
}
"""What the columns of ``waits.parquet`` mean; rows are in the order of time."""
FACTOR_COLUMNS: dict[str, str] = {
    "job_id": "the job's id",
    "time": "seconds, when the priority was worked out",
    "partition": "for which of its partitions",
    "priority": "its priority there",
    **{f"{name.lower()}_factor": "without its weight" for name in NAMES},
    "tres": "factors of resources, without weights, such as CPU=0.25,MEM=0.5",
}
"""What the columns of ``factors.parquet`` mean, which there is with priority/multifactor."""
SHARE_COLUMNS: dict[str, str] = {
    "time": "seconds, from when on this holds: the end of a PriorityCalcPeriod, or the beginning",
    "account": "name of the account",
    "user": "of the user; empty for the account itself",
    "partition": "of the only partition that it is for; empty for all",
    "place": "its place in the tree, from 0, accounts before what is below them",
    "depth": "how far it is below root",
    "raw_shares": "shares as stated; null for those of its parent",
    "norm_shares": "its part of the shares",
    "raw_usage": "billed seconds",
    "norm_usage": "its part of what everybody used",
    "effective_usage": "the usage that counts for it",
    "fair_share": "its factor; null of an account, with Fair Tree",
    "level_fs": "shares over usage among its siblings; null without Fair Tree",
    "grp_tres_mins": "limits, as cpu=100",
    "tres_run_mins": "whole minutes that its running jobs may still use, in the same way",
}
"""What the columns of ``shares.parquet`` mean, which there is where there are accounts."""
MINUTE = 60.0
"""Seconds by which a planned start must move to be noted: plans change with every pass."""

Seen = tuple[str, int, float | None]
_TEXTS = ("state", "reason", "partition", "tres", "account", "user", "grp_tres_mins", "tres_run_mins")
_NUMBERS = ("job_id", "priority", "depth", "place")


def _kinds(columns: Mapping[str, str]) -> dict[str, str]:
    return {name: "text" if name in _TEXTS else "number" if name in _NUMBERS else "value" for name in columns}


class Journal:
    """Notes changes; call it after every event.

    Args:
        controller: whose cluster it is.
    """

    def __init__(self, controller: Controller) -> None:
        self._controller = controller
        self._waits = Notes(_kinds(WAIT_COLUMNS))
        self._factors = Notes(_kinds(FACTOR_COLUMNS))
        self._shares = Notes(_kinds(SHARE_COLUMNS))
        self._last: dict[int, Seen] = {}
        self._priced: dict[tuple[int, str], Priced] = {}
        self._shared: dict[tuple[str, str, str], tuple[int, ShareRow]] = {}
        self._period: float | None = None
        priority = controller.priority
        self._prices = priority if isinstance(priority, MultifactorPriority) else None

    def __call__(self) -> None:
        """Note what has changed."""
        cluster, last = self._controller.cluster, self._last
        if cluster.accounting is not None and cluster.accounting.usage.last != self._period:
            self._note_shares()
        for number, job in cluster.waiting.items():
            seen = last.get(number)
            reason, priority, planned = job.reason, shown_priority(job), job.planned_start
            if self._prices is not None and job.priced:
                self._price(job)
            if seen is not None and seen[0] == reason and seen[1] == priority and not _moved(seen[2], planned):
                continue
            last[number] = (reason, priority, planned)
            self._waits.add(number, cluster.now, State.PENDING.value, reason, priority, planned)
        if len(last) > len(cluster.waiting):
            self._forget(cluster.jobs, cluster.now)

    def _forget(self, jobs: dict[int, Job], now: float) -> None:
        """Jobs that wait no longer: a run tells what became of most of them."""
        waiting = self._controller.cluster.waiting
        for number in [number for number in self._last if number not in waiting]:
            reason, priority, _ = self._last.pop(number)
            job = jobs[number]
            if job.over and not job.runs:
                self._waits.add(number, now, job.state.value, reason, priority, None)

    def _price(self, job: Job) -> None:
        """Note what a priority was worked out from, if it was worked out anew."""
        for name, priced in job.priced.items():
            key = (job.id, name)
            before = self._priced.get(key)
            if before is priced:
                continue
            self._priced[key] = priced
            if before is None or (before.factors, before.resources) != (priced.factors, priced.resources):
                factors = [priced.factors.get(each, 0.0) for each in NAMES]
                resources = ",".join(f"{each}={share!r}" for each, share in priced.resources.items())
                total = max(1, priced.total - job.nice)
                self._factors.add(job.id, self._controller.cluster.now, name, total, *factors, resources)

    def _note_shares(self) -> None:
        cluster = self._controller.cluster
        assert cluster.accounting is not None
        self._period = cluster.accounting.usage.last
        for place, row in enumerate(share_rows(cluster.accounting)):
            key = (row.account, row.user, row.partition)
            if self._shared.get(key) == (place, row):
                continue
            self._shared[key] = (place, row)
            limits = ",".join(f"{name}={amount:.0f}" for name, amount in row.limit_minutes.items())
            amounts = (
                row.norm_shares,
                row.raw_usage,
                row.norm_usage,
                row.effective_usage,
                row.fair_share,
                row.level_fs,
            )
            known = (*key, place, row.depth, row.raw_shares)
            self._shares.add(cluster.now, *known, *amounts, limits, tres_text(row.run_minutes))

    def tables(self) -> dict[str, Columns]:
        """What was noted, by name of the file; tables that a run of this kind has not are left out."""
        found = {"waits.parquet": self._waits.columns()}
        if self._prices is not None:
            found["factors.parquet"] = self._factors.columns()
        if self._controller.cluster.accounting is not None:
            found["shares.parquet"] = self._shares.columns()
        return found


def shown_priority(job: Job) -> int:
    """The priority that ``squeue`` shows: of a job in several partitions that of the one that is tried last."""
    return min(job.priorities.values()) if len(job.priorities) > 1 and job.priority else job.priority


def _moved(before: float | None, planned: float | None) -> bool:
    """Whether a planned start has changed enough to be noted."""
    if before is planned:
        return False
    return before is None or planned is None or abs(before - planned) >= MINUTE
