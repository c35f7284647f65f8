"""Read-only views: what a hook is shown of the simulated cluster.

Times and durations are float seconds on the workload's clock. A view is one object,
reused for every call: read it during the call, keep nothing but the jobs. A plugin asks
for a change by its answer; to write to a job or a view is an error. The true run time
of a job is not reachable from here.

:class:`ClusterState` is the state that the views show. It belongs to the code that runs the
hooks: the emulator, or a test.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar

from slurm_sim_plugins.block_state import BlockState
from slurm_sim_plugins.cluster import Partition, ReadOnly
from slurm_sim_plugins.count_plan import CountPlan
from slurm_sim_plugins.count_windows import CountWindows
from slurm_sim_plugins.counts import Counts
from slurm_sim_plugins.jobs import Job, Jobs, Run, Runs
from slurm_sim_plugins.kernels import are_compiled
from slurm_sim_plugins.plan import Hole, SchedulePlan, WindowPlan
from slurm_sim_plugins.profile import Profile, RunEntry, earliest_start
from slurm_sim_plugins.renamed import OldName
from slurm_sim_plugins.tiers import Stay, Tiers

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_ORDER = attrgetter("_order")


class ClusterState(Counts):
    """The cluster at one instant, and what a scheduler sees of it.

    Attributes:
        tiers: which run is where, if the ExecutionType has tiers; then ``free`` and ``running``
            are those of the first tier. Else None.
        block_state: which run is on which block, if the SelectType gives out blocks; then ``free`` counts
            the processors of no block that is in use. Else None.

    What begins with an underscore is for the owner of the cluster_state: whether to use the
    compiled profile; what makes a plan; seconds of a run that would be lost, or None if that
    is all of it.
    """

    __slots__ = ("_compiled", "_new_plan", "_unsaved", "block_state", "tiers")

    def __init__(self, total: int, *, now: float = 0.0, compiled: bool = False) -> None:
        super().__init__(total, now)
        self.tiers: Tiers | None = None
        self.block_state: BlockState | None = None
        self._unsaved: Callable[[Run], float] | None = None
        self._compiled = compiled
        self._new_plan: Callable[[Any], SchedulePlan] = CountPlan

    places = OldName("block_state")

    def reason(self, job: Job) -> str:
        """Why a job waits, in the words of ``squeue``; on a cluster with nodes as the last pass left it."""
        return "Resources" if job is self.head else "Priority"

    def _position(self, job: Job) -> int:
        """The position of a waiting job in the queue, from 1."""
        return 1 + bisect_left(self._waiting, job._order, key=_ORDER)

    @property
    def _length(self) -> int:
        """How many jobs wait."""
        return len(self._waiting)


class SchedulingView(ClusterState):
    """What ``schedule`` sees; always current, also between two decisions of a pass."""

    __slots__ = ()

    counted: ClassVar[bool] = True
    """Whether processors are only counted; False on a cluster with nodes, where :meth:`plan` knows what is free."""

    def plan(self) -> SchedulePlan:
        """The plan of this pass; see :class:`~slurm_sim_plugins.plan.SchedulePlan`."""
        self._plan = None
        return self._new_plan(self)

    def window_plan(
        self,
        resolution: float = 60.0,
        window: float = 86_400.0,
        size: int = 500,
        linear: float = 0.0,
        licenses: bool = False,
        busy_nodes: bool = False,
    ) -> WindowPlan:
        """A plan in which each entry keeps the first hole that it fits into, as Slurm's backfill does.

        Args:
            resolution: holes are kept in whole steps of so many seconds.
            window: holes later than so many seconds from now are not kept.
            size: times at which a kept hole begins or ends, at most.
            linear: on a cluster with nodes, the growth in seconds of the windows in which ends of
                runs are taken together; 0: they double. Counted processors know no such windows.
            licenses: on a cluster with nodes, whether licences are planned.
            busy_nodes: on a cluster with nodes, whether nodes in use are planned with before idle ones.
        """
        return CountWindows(self, resolution, window, size)

    def fair_start(self, job: Job, pinned: bool = False) -> tuple[float, int]:
        """As :meth:`earliest_start`, if all runs that ``job`` outranks, and that may be requeued, made room for it.

        Args:
            job: a waiting job.
            pinned: whether runs that were not backfilled stay, whatever their priority.
        """
        order, some_stay = job._order, job._facts["requeue"] is not None
        keeping = [
            entry
            for entry in self._runs
            if entry[4]._order < order
            or (pinned and not entry[4].backfilled)
            or (some_stay and not entry[4].may_requeue)
        ]
        free = self._total - sum([entry[2] for entry in keeping])
        return earliest_start(job.processors, free, keeping, self.now)

    def profile(self) -> Profile:
        """Free processors over time as planned: what runs, until its planned ends."""
        if self._compiled:
            from slurm_sim_plugins.profile_compiled import CompiledProfile

            return CompiledProfile(self.now, self.free, self._runs)
        are_compiled("view.profile(), as sched/conservative uses it,")
        return Profile(self.now, self.free, self._runs)


class View(ReadOnly):
    """What every other hook may see.

    Args:
        cluster_state: the state to show; the view follows it.
    """

    __slots__ = ("_cluster_state",)

    _cluster_state: ClusterState

    def __init__(self, cluster_state: ClusterState) -> None:
        object.__setattr__(self, "_cluster_state", cluster_state)

    @property
    def now(self) -> float:
        """Simulated time in seconds."""
        return self._cluster_state.now

    @property
    def total(self) -> int:
        """Processors of the machine."""
        return self._cluster_state.total

    @property
    def free(self) -> int:
        """Processors that are idle now."""
        return self._cluster_state.free

    @property
    def head(self) -> Job | None:
        """The waiting job of the highest priority, or None."""
        return self._cluster_state.head

    @property
    def queue(self) -> Jobs:
        """Waiting jobs, highest priority first."""
        return self._cluster_state.queue

    def reason(self, job: Job) -> str:
        """Why a job waits, in the words of ``squeue``; on a cluster with nodes as the last pass left it."""
        return self._cluster_state.reason(job)

    @property
    def running(self) -> Runs:
        """Runs of now, by planned end, then by start; where there are tiers, those of the first."""
        return self._cluster_state.running

    @property
    def tiers(self) -> Tiers | None:
        """Which run is where, if the ExecutionType has tiers; else None."""
        return self._cluster_state.tiers

    @property
    def block_state(self) -> BlockState | None:
        """Which run is on which block, if the SelectType gives out blocks; else None."""
        return self._cluster_state.block_state

    places = OldName("block_state")

    @property
    def nodes(self) -> int:
        """Nodes of the machine; its processors where they are only counted."""
        return self._cluster_state.nodes


class PriorityView(View):
    """What ``priority_set`` sees."""

    __slots__ = ("to_set",)

    to_set: Sequence[Job]
    """The jobs that want a number, in the order of (submit, id)."""

    @property
    def rows(self) -> NDArray[np.int64]:
        """The ``row`` of each job of ``to_set``, as a column."""
        import numpy as np  # Few views of a test need it.

        return np.array([job.row for job in self.to_set], dtype=np.int64)

    def whole(self, time: float) -> float:
        """A time in whole seconds of the cluster's clock, as ages are counted."""
        return self._cluster_state.whole(time)

    def whole_seconds(self, times: NDArray[np.float64]) -> NDArray[np.float64]:
        """The same of many times."""
        return self._cluster_state.whole_seconds(times)

    def tres(self, partition: Partition | None) -> Mapping[str, float]:
        """What a partition has of each resource, or the machine, by upper-case name."""
        total = float(self.total)
        return {"CPU": total, "NODE": total} if partition is None else partition.tres


class BackfillView(View):
    """What ``backfill_candidates`` sees."""

    __slots__ = ("to_try",)

    to_try: Sequence[Job]
    """The jobs to put in order: they wait behind the head and fit into what is free."""


class TopoptView(View):
    """What ``bf_topopt`` sees."""

    __slots__ = ("holes", "job")

    job: Job
    """The job that is planned."""
    holes: Iterator[Hole]
    """Holes that it fits into, the first one first; each begins after the one before, and is sought when asked for."""


class PreemptView(View):
    """What ``preempt_candidates`` sees."""

    __slots__ = ("preemptor",)

    counted: ClassVar[bool] = True
    """Whether processors are only counted; False on a cluster with nodes, where it matters which they are."""
    preemptor: Job
    """The waiting job for which room is to be made."""

    @property
    def partition(self) -> Partition | None:
        """The partition in which the preemptor is to start; None where there are none."""
        return self.preemptor.requests[0].partition

    def shares_nodes(self, run: Run) -> bool:
        """Whether a run has nodes of that partition; true where processors are only counted."""
        return True

    def outranked(self, pinned: bool = False) -> list[Run]:
        """The runs of jobs that the preemptor outranks, lowest priority first.

        Args:
            pinned: whether to leave out runs that were not backfilled.
        """
        entries = self._outranked(pinned)
        entries.sort(key=lambda entry: entry[4]._order, reverse=True)
        return [Run._make(entry) for entry in entries]

    def unsaved(self, run: Run) -> float:
        """Seconds since the last complete checkpoint of a run, or since its beginning if it has none.

        0 where nothing is lost: with checkpoints just in time, and with suspension.
        """
        unsaved = self._cluster_state._unsaved
        return self.now - run.start if unsaved is None else unsaved(run)

    def outranked_processors(self, pinned: bool = False) -> int:
        """How many processors those runs hold; cheaper than to name them."""
        return sum([entry[2] for entry in self._outranked(pinned)])

    def _outranked(self, pinned: bool) -> list[RunEntry]:
        order = self.preemptor._order
        entries = self._cluster_state._runs
        if pinned:
            return [entry for entry in entries if entry[4]._order > order and entry[4].backfilled]
        return [entry for entry in entries if entry[4]._order > order]


class VictimView(View):
    """What ``preempt_mode`` and ``preempt_grace`` see."""

    __slots__ = ("victim",)

    victim: Job
    """A job that runs: ``victim.runs_in`` is its partition, ``victim.qos`` its quality of service."""


class SelectView(View):
    """What ``select_nodes`` sees."""

    __slots__ = ("beside", "candidates", "job")

    job: Job
    """The waiting job for which a block is wanted."""
    candidates: Sequence[Run]
    """The runs that may be preempted for it, first to go first; empty if it is to start on what is free."""
    beside: int | None
    """The number of a block of which nothing may be taken; None if there is none."""


class Oracle(ReadOnly):
    """The true run times, for plugins that say ``needs_oracle``.

    Args:
        run_times: seconds of work, by index of the job.
    """

    __slots__ = ("_run_times",)

    _run_times: Sequence[float]

    def __init__(self, run_times: Sequence[float]) -> None:
        object.__setattr__(self, "_run_times", run_times)

    def run_time(self, job: Job) -> float:
        """Seconds that the job would run if it were not killed."""
        return self._run_times[job.index]


class WalltimeView(View):
    """What ``walltime_submit`` sees."""

    __slots__ = ("job", "oracle")

    job: Job
    """The job that is being submitted; it is not yet in the queue."""
    oracle: Oracle | None
    """True run times, if the plugin's class says ``needs_oracle = True``; else None."""


class PendingView(View):
    """What ``walltime_pending`` sees."""

    __slots__ = ("waiting",)

    waiting: Sequence[Job]
    """The waiting jobs, highest priority first."""


class RateView(View):
    """What ``progress_rate`` sees."""

    __slots__ = ("changed",)

    changed: Sequence[Stay]
    """The runs that want a rate: they began a stay, or their neighbours have changed."""
