"""Keeps of a run in Slurm's timing what its records do not have, for those who look at it later.

Which job waited for what, with which priority, and when it was planned to start; what
priorities were worked out from; the shares of associations. A row for each change.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from emulator.accounting.factor_notes import FactorNotes
from emulator.accounting.journal_kernel import by_column, changed_waits
from emulator.accounting.node_notes import NodeNotes
from emulator.accounting.records import Columns
from emulator.accounting.row_buffer import RowBuffer
from emulator.engine.controller import Controller
from emulator.limits.shares import ChangedShares
from emulator.state.job import Job
from emulator.state.run import State
from slurm_sim_plugins.priority.multifactor import Multifactor
from slurm_sim_plugins.priority.multifactor_columns import Parts

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
Seen = tuple[str, int, float | None]
_TEXTS = ("state", "reason", "partition", "tres", "account", "user", "grp_tres_mins", "tres_run_mins")
_NUMBERS = ("job_id", "priority", "depth", "place", "site")


def _kinds(columns: Mapping[str, str]) -> dict[str, str]:
    return {name: "text" if name in _TEXTS else "number" if name in _NUMBERS else "value" for name in columns}


class Journal:
    """Notes changes; call it after every event."""

    def __init__(self, controller: Controller) -> None:
        self._controller = controller
        self._waits = RowBuffer(_kinds(WAIT_COLUMNS))
        self._shares = RowBuffer(_kinds(SHARE_COLUMNS))
        self._last: dict[int, Seen] = {}
        accounting = controller.cluster.accounting
        self._changed_shares = ChangedShares(accounting) if accounting is not None else None
        self._note_nodes = NodeNotes(controller)
        self._period: float | None = None
        self._factors: FactorNotes | None = None
        if hasattr(controller.policies.priority, "factors"):
            self._factors = FactorNotes(RowBuffer(_kinds(FACTOR_COLUMNS)))

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
            self._look_at(list(cluster.waiting.values()) if changes.waits else jobs)
            self._price_all(list(cluster.waiting.values()) if changes.prices else jobs)
            changes.seen()
        if len(self._last) > len(cluster.waiting):
            self._forget(cluster.jobs, cluster.now)

    def _look_at(self, jobs: list[Job]) -> None:
        """Note those that show something else than before."""
        waits, size = self._waits, len(jobs)
        numbers, reasons, priorities = np.empty((3, size), dtype=np.int64)
        plans = np.empty(size)
        many = changed_waits(jobs, self._last, waits.texts("reason"), numbers, reasons, priorities, plans)
        if many:
            states, now = waits.texts("state"), self._controller.cluster.now
            state = states.setdefault(State.PENDING.value, len(states))
            waits.extend(many, numbers[:many], now, state, reasons[:many], priorities[:many], plans[:many])

    def _price_all(self, jobs: list[Job]) -> None:
        """Note what the priorities of jobs were worked out from, where it was worked out again."""
        factors, now = self._factors, self._controller.cluster.now
        if factors is None:
            return
        answered = self._controller.policies.answered
        together, alone = by_column(jobs, answered)
        parts = answered.column.one if together else None
        if isinstance(parts, Parts):
            factors.many(together, answered.column, parts, now)
        else:
            alone += together
        for job in alone:
            if job.seen is not None and job.seen.answered:
                factors.one(job, job.seen.answered, now)

    def _forget(self, jobs: dict[int, Job], now: float) -> None:
        """Jobs that wait no longer: a run tells what became of most of them."""
        waiting = self._controller.cluster.waiting
        for number in [number for number in self._last if number not in waiting]:
            reason, priority, _ = self._last.pop(number)
            job = jobs[number]
            if self._factors is not None:
                self._factors.forget(number)
            if job.over and not job.runs:
                self._waits.add(number, now, job.state.value, reason, priority, None)

    def _note_shares(self) -> None:
        cluster = self._controller.cluster
        assert cluster.accounting is not None
        assert self._changed_shares is not None
        self._period = cluster.accounting.usage.last
        for row in self._changed_shares.rows():
            self._shares.add(cluster.now, *row)

    def take_tables(self) -> dict[str, Columns]:
        """What was noted, by name of the file, is handed over; tables that a run of this kind has not are left out."""
        found = {"waits.parquet": self._waits.take_columns(), "nodes.parquet": self._note_nodes.take_columns()}
        if self._factors is not None:
            found["factors.parquet"] = self._factors.rows.take_columns()
        if self._controller.cluster.accounting is not None:
            found["shares.parquet"] = self._shares.take_columns()
        return found
