"""``PreemptMode=CHECKPOINT``: a victim is requeued, and goes on from its last checkpoint.

Today's Slurm has no such mode: it is the emulator's extension. What a checkpoint holds, and
how long a run lasts that writes some, is said by :mod:`emulator.execution.checkpoint`, as
in ideal timing. A run that is requeued otherwise, by an operator or because of a node,
writes none for that, but goes on from the last one that is complete.
"""

from __future__ import annotations

from dataclasses import dataclass

from emulator.config.preemption import Preemption
from emulator.config.sacctmgr.database import Accounts
from emulator.config.slurm.model import SlurmConf
from emulator.execution.checkpoint import NEVER_WRITTEN, IntervalCheckpoint, JustInTimeCheckpoint
from emulator.execution.progress import intervals
from emulator.scheduling.preempt import may_be_outranked, preempt_mode
from emulator.state.cluster import Cluster
from emulator.state.instants import MICROSECONDS, instant
from emulator.state.job import Job
from emulator.state.run import YEAR, Run, State
from slurm_sim_plugins.errors import ConfigurationError

CHECKPOINT = "CHECKPOINT"
LONGEST = 100 * YEAR
"""Seconds; jobs that work until they are killed count as such."""


@dataclass(frozen=True, slots=True)
class Saving:
    """How one run saves its work; times in microseconds.

    Attributes:
        mode: its checkpoints; of this run alone, so that its index there is 0.
        left: work that there was to do when it began.
        resumed: whether it reads a checkpoint first.
    """

    mode: IntervalCheckpoint | JustInTimeCheckpoint
    left: int
    resumed: bool

    @property
    def span(self) -> float:
        """How long it lasts undisturbed, in seconds."""
        return round(self.mode.span(0, self.left, self.resumed)) / MICROSECONDS

    def kept(self, elapsed: int) -> int:
        """What survives of the work if it is preempted after ``elapsed``."""
        return min(self.left, round(self.mode.kept(0, self.left, elapsed, self.resumed)))

    def done(self, elapsed: int) -> int:
        """What it has done after ``elapsed``."""
        return round(self.mode.done(0, self.left, elapsed, self.resumed))

    def written(self, elapsed: int) -> int:
        """How many checkpoints are complete after ``elapsed``."""
        return round(self.mode.written(0, self.left, elapsed, self.resumed))


class Checkpoints:
    """What runs save, and what their jobs go on from.

    Args:
        cluster: the cluster state.
        conf: the configuration.
        accounts: qualities of service, if there are accounts.
        preemption: how checkpoints are written, and what they cost; None for the defaults.

    Attributes:
        preemption: that, or None if no run writes any.

    Raises:
        ConfigurationError: it is for another mode, or for checkpoints that no run writes.
    """

    def __init__(
        self, cluster: Cluster, conf: SlurmConf, accounts: Accounts | None = None, preemption: Preemption | None = None
    ) -> None:
        stated = _stated(conf, accounts)
        if preemption is not None:
            _check(preemption, stated, conf.source)
        self.preemption = (preemption or Preemption(mode="CHECKPOINT")) if stated else None
        self._cluster = cluster
        self._savings: dict[int, Saving] = {}

    def begin(self, job: Job, may_requeue: bool) -> float:
        """A run begins.

        Returns:
            How long it lasts undisturbed, in seconds.
        """
        assert job.run is not None
        self._savings.pop(job.id, None)
        if self.preemption is None:
            return job.request.run
        # What need not fear to be preempted saves nothing.
        feared = may_requeue and may_be_outranked(job, self._cluster) and not job.request.realtime
        saves = feared and preempt_mode(job, self._cluster) == CHECKPOINT
        if not saves and not job.saved:
            return job.request.run
        processors = self._cluster.machine.cpus_of(job.run.allocation)
        write = instant(self.preemption.write_cost(processors))
        read = instant(self.preemption.read_cost(processors))
        left = instant(min(job.request.run, LONGEST)) - job.saved
        mode = _mode(self.preemption, job.run, write, read) if saves else _reading_only(write, read)
        saving = self._savings[job.id] = Saving(mode, left, bool(job.saved))
        return saving.span

    def stop(self, job: Job) -> float:
        """A run stops to work, for it was preempted and is requeued.

        Returns:
            For how long it writes, in seconds.
        """
        run, saving = job.run, self._savings.get(job.id)
        assert run is not None
        if saving is None:
            return 0.0
        run.stopped = self._cluster.now
        kept = saving.kept(_elapsed(run, run.stopped))
        return saving.mode.away(0) / MICROSECONDS if kept else 0.0

    def unsaved(self, job: Job) -> float:
        """How much of a run would be lost if it had to go now, in seconds."""
        run, now, saving = job.run, self._cluster.now, self._savings.get(job.id)
        if run is None or saving is None:
            return 0.0 if run is None else now - run.start
        elapsed = _elapsed(run, now if run.stopped is None else run.stopped)
        return saving.mode.unsaved(0, elapsed, saving.resumed) / MICROSECONDS

    def settle(self, job: Job, run: Run, outcome: State) -> None:
        """A run is over: what it did, and what of that its job has not to do again."""
        saving = self._savings.pop(job.id, None)
        if saving is None:
            return
        assert run.end is not None
        elapsed = _elapsed(run, run.end if run.stopped is None else run.stopped)
        run.checkpoints = saving.written(elapsed)
        if not job.requeue_after:
            work = saving.left if outcome in (State.COMPLETED, State.FAILED) else saving.done(elapsed)
        elif isinstance(saving.mode, IntervalCheckpoint):
            work = saving.kept(elapsed)
        else:
            # Just in time: only runs that stopped to write one, and had the time to.
            work = saving.kept(elapsed) if run.stopped is not None and outcome is State.PREEMPTED else 0
            run.checkpoints = int(work > 0)
        run.work = work / MICROSECONDS
        job.worked = (job.saved + work) / MICROSECONDS
        if job.requeue_after:
            job.saved += work


def _mode(preemption: Preemption, run: Run, write: int, read: int) -> IntervalCheckpoint | JustInTimeCheckpoint:
    if preemption.checkpoint == "jit":
        return JustInTimeCheckpoint([write], [read])
    limit = instant(min(run.limit, YEAR))
    return IntervalCheckpoint(intervals(preemption, [limit], [write]), [write], [read])


def _reading_only(write: int, read: int) -> IntervalCheckpoint:
    """Of a run that goes on from a checkpoint, and writes none."""
    return IntervalCheckpoint([NEVER_WRITTEN], [write], [read])


def _elapsed(run: Run, until: float) -> int:
    """Microseconds that a run was at work, its checkpoints at intervals included."""
    return max(0, instant(until - run.start - run.suspended(until)))


def _check(preemption: Preemption, stated: bool, source: str) -> None:
    if preemption.mode != CHECKPOINT:
        raise ConfigurationError(
            f"preemption.mode is {preemption.mode!r}: in Slurm's timing PreemptMode says what becomes of a victim; "
            "the options are for CHECKPOINT"
        )
    if not stated:
        raise ConfigurationError(
            f"{source}: options of preemption are for PreemptMode=CHECKPOINT, which neither the cluster nor a "
            "partition or QOS has; state it, or leave the options out"
        )


def _stated(conf: SlurmConf, accounts: Accounts | None) -> bool:
    modes = [conf.parameters.words("PreemptMode"), *(each.preempt_mode for each in conf.partitions)]
    modes += [qos.words("PreemptMode") or () for qos in accounts.qos.values()] if accounts is not None else []
    return any(word.upper() == CHECKPOINT for words in modes for word in words)
