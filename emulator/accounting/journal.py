"""Keeps of a run in Slurm's timing what its records do not have, for those who look at it later.

Which job waited for what, with which priority, and when it was planned to start; what
priorities were worked out from; the shares of associations. A row for each change.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from emulator.accounting.node_notes import NodeNotes
from emulator.accounting.records import Columns
from emulator.accounting.row_buffer import RowBuffer
from emulator.engine.controller import Controller
from emulator.limits.shares import ChangedShares
from emulator.state.job import Job
from emulator.state.run import State
from slurm_sim_plugins.decisions import Priority
from slurm_sim_plugins.priority.multifactor import Multifactor

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
    **{f"{name.lower()}_factor": "without its weight" for name in Multifactor.factors},
    "tres": "factors of resources, without weights, such as CPU=0.25,MEM=0.5",
    "site": "its site factor",
}
"""What the columns of ``factors.parquet`` mean, which there is with a plugin that says its factors."""
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

Seen = tuple[str, float, float | None]
_TEXTS = ("state", "reason", "partition", "tres", "account", "user", "grp_tres_mins", "tres_run_mins")
_NUMBERS = ("job_id", "priority", "depth", "place", "site")


def _kinds(columns: Mapping[str, str]) -> dict[str, str]:
    return {name: "text" if name in _TEXTS else "number" if name in _NUMBERS else "value" for name in columns}


class Journal:
    """Notes changes; call it after every event."""

    def __init__(self, controller: Controller) -> None:
        self._controller = controller
        self._waits = RowBuffer(_kinds(WAIT_COLUMNS))
        self._factors = RowBuffer(_kinds(FACTOR_COLUMNS))
        self._shares = RowBuffer(_kinds(SHARE_COLUMNS))
        self._last: dict[int, Seen] = {}
        self._priced: dict[int, dict[str, tuple[Priority, list[float], str, int]]] = {}
        accounting = controller.cluster.accounting
        self._changed_shares = ChangedShares(accounting) if accounting is not None else None
        self._note_nodes = NodeNotes(controller)
        self._period: float | None = None
        self._prices = hasattr(controller.policies.priority, "factors")

    def __call__(self) -> None:
        """Note what has changed."""
        cluster, changes = self._controller.cluster, self._controller.changes
        if cluster.accounting is not None and cluster.accounting.usage.last != self._period:
            self._note_shares()
        if changes.waits:
            self._note_nodes()
        if changes.waits or changes.arrived:
            # What becomes of the queue at most events is nothing, or that jobs arrive.
            jobs = [job for job in changes.arrived if job.id in cluster.waiting]
            self._look_at(cluster.waiting.values() if changes.waits else jobs)
            self._price_all(cluster.waiting.values() if changes.prices else jobs)
            changes.seen()
        if len(self._last) > len(cluster.waiting):
            self._forget(cluster.jobs, cluster.now)

    def _look_at(self, jobs: Iterable[Job]) -> None:
        last, now = self._last, self._controller.cluster.now
        for job in jobs:
            number, reason, planned = job.request.id, job.reason, job.planned_start
            priority = job.priority
            if priority.__class__ is not int or len(job.priorities) > 1:
                priority = shown_priority(job)
            seen = last.get(number)
            if seen is not None and seen[0] == reason and seen[1] == priority and not _moved(seen[2], planned):
                continue
            last[number] = (reason, priority, planned)
            self._waits.add(number, now, State.PENDING.value, reason, priority, planned)

    def _price_all(self, jobs: Iterable[Job]) -> None:
        for job in jobs if self._prices else ():
            if job.seen is not None and job.seen.answered:
                self._price(job, job.seen.answered)

    def _forget(self, jobs: dict[int, Job], now: float) -> None:
        """Jobs that wait no longer: a run tells what became of most of them."""
        waiting = self._controller.cluster.waiting
        for number in [number for number in self._last if number not in waiting]:
            reason, priority, _ = self._last.pop(number)
            self._priced.pop(number, None)
            job = jobs[number]
            if job.over and not job.runs:
                self._waits.add(number, now, job.state.value, reason, priority, None)

    def _price(self, job: Job, answered: Sequence[Priority]) -> None:
        """Note what a priority was worked out from, if it was recalculated."""
        known = self._priced.setdefault(job.id, {})
        for partition, priced in zip(job.partitions, answered, strict=True):
            before, earlier, text, site = known.get(partition.name, (None, [], "", 0))
            if before is priced:
                continue
            resources = priced.resources
            if before is None or before.resources is not resources:
                text = ",".join(f"{name}={share!r}" for name, share in resources.items())
            by_name = priced.factors
            factors = [by_name.get(name, 0.0) for name in Multifactor.factors]
            known[partition.name] = (priced, factors, text, job.site)
            if before is None or earlier != factors or before.resources != resources or site != job.site:
                total = max(1, int(priced.total) + job.site - job.nice)
                now = self._controller.cluster.now
                self._factors.add(job.id, now, partition.name, total, *factors, text, job.site)

    def _note_shares(self) -> None:
        cluster = self._controller.cluster
        assert cluster.accounting is not None
        assert self._changed_shares is not None
        self._period = cluster.accounting.usage.last
        for row in self._changed_shares.rows():
            self._shares.add(cluster.now, *row)

    def tables(self) -> dict[str, Columns]:
        """What was noted, by name of the file; tables that a run of this kind has not are left out."""
        found = {"waits.parquet": self._waits.columns(), "nodes.parquet": self._note_nodes.columns()}
        if self._prices:
            found["factors.parquet"] = self._factors.columns()
        if self._controller.cluster.accounting is not None:
            found["shares.parquet"] = self._shares.columns()
        return found


LARGEST = 2**63 - 1
"""Whole numbers in a file have 64 bits."""


def shown_priority(job: Job) -> int:
    """The priority that ``squeue`` shows: of a job in several partitions that of the one that is tried last.

    It is cut to a whole number.
    """
    shown = min(job.priorities.values()) if len(job.priorities) > 1 and not job.on_hold else job.priority
    return max(-LARGEST, min(int(shown), LARGEST))


def _moved(before: float | None, planned: float | None) -> bool:
    """Whether a planned start has changed enough to be noted."""
    if before is planned:
        return False
    return before is None or planned is None or abs(before - planned) >= MINUTE
