"""Every hook, grouped by Slurm plugin point. A hook is defined nowhere else.

A plugin is a class with a ``name`` such as ``"sched/easy"``; the part before the slash
is its type, and the type says which of the hooks below it may implement. One plugin of
each type is selected per simulation; of ``job_submit`` a chain of any length, in its order;
observers are not selected, all of them are told.
A class is instantiated for each simulation: its ``__init__`` parameters are the
plugin's options, its attributes the state. An option that a ``slurm.conf`` states, too, is named by the
class: ``slurm_conf = {"max_age": "PriorityMaxAge"}``; what was given for the plugin itself goes before that.

An instance may say ``looks_for = {"qos": "urgent"}``: it goes by that value of a fact of jobs; on a cluster
that has none of the name it is refused before the run.

A hook takes any of its arguments, in any order; none of them may have a default, for pluggy gives no value
to one that has.

Each specification says when the hook is called, what it is given and answers, what
``None`` means and what is rejected; what it costs; the Slurm code that it mirrors; and
its port class:

* **A**: a symbol of a real Slurm plugin, in all versions from 22.05 to 24.11;
* **I**: internal Slurm code, to be patched in a scheduler or select plugin;
* **N**: no counterpart in Slurm.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from functools import cache
from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    from slurm_sim_plugins.decisions import Decision, Plan
    from slurm_sim_plugins.job_update import JobUpdate, ModifyView
    from slurm_sim_plugins.jobs import Job, Run
    from slurm_sim_plugins.nodes import Allocation, NodeView
    from slurm_sim_plugins.plan import Hole
    from slurm_sim_plugins.submission import Reject, Submission, SubmitView
    from slurm_sim_plugins.views import (
        BackfillView,
        PendingView,
        PreemptView,
        PriorityView,
        RateView,
        SchedulingView,
        SelectView,
        TopoptView,
        VictimView,
        View,
        WalltimeView,
    )

PROJECT = "slurm_sim_plugins"
API = 1
"""The version of what a plugin sees and may answer; raised when a plugin would have to change."""
hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


class PrioritySpec:
    """PriorityType: in which order jobs stand in the queue.

    On a cluster with accounts, past usage is charged and decays every PriorityCalcPeriod unless the
    class says ``tracks_usage = False``. An attribute ``fair_share`` of the plugin is how factors are
    worked out of it: an object as :class:`~slurm_sim_plugins.priority.fair_tree.FairTree`. ``max_age``
    (seconds) says from when on numbers change with usage alone.
    """

    @hookspec(firstresult=True)
    def priority_set(self, view: PriorityView) -> Sequence[float] | None:
        """Give a number to each job in ``view.to_set``; the highest goes first.

        Called: when jobs have arrived, once for all of an instant (``passes=batch``)
        or one by one (``passes=event``). A requeued job keeps its number, and so its rank.
        If the plugin says ``period = 600.0``, also before a pass, for all that
        wait, when 600 s have passed since the last time; 0: before each pass. Then also
        for each job as it is preempted.
        On a cluster with nodes: when a job is submitted (once for all tasks of an array),
        released or changed, and with a period at the end of each, by the controller's clock; 0:
        before each pass. Jobs on hold, and those that were given a priority, are left out; with
        ``of_running = True`` those that run are in it.
        Answers: one finite number for each job, in the order of ``view.to_set``, or a
        :class:`Priority`, which shows in ``sprio`` what it was worked out from; for a job in several
        partitions (``job.requests``) also a list with one for each. For many jobs :class:`Priorities` is
        quicker, which holds the numbers as a column. Jobs of equal priority stand in
        the order of (submit, id).
        None: first come, first served; the number is then 4294901759 less one for each
        earlier job, as in Slurm's priority/basic. At the end of a period: all stays as it is.
        Rejected: another length, NaN, infinities.
        Cost: one call per arrival; with a period, and a sorting of the queue, each time.
        Mirrors: ``priority_p_set``, and PriorityCalcPeriod. Port class: A.
        """


class SchedSpec:
    """SchedulerType: the whole scheduling pass."""

    @hookspec(firstresult=True)
    def schedule(self, view: SchedulingView) -> Generator[Decision, bool, None] | None:
        """Make one scheduling pass: a generator of decisions.

        Called: when jobs wait, after each instant at which a job was submitted, ended or
        was requeued, or for which a :class:`Wake` was asked; where there are tiers, also
        when jobs only run in another than the first. A plugin whose class says
        ``only_starts = True`` promises to do nothing but start what fits; it is not
        called when only jobs that do not fit were submitted behind the head. One whose class says
        ``by_order = True`` promises to look at the order of the queue, not at the numbers of
        priorities; on a cluster a renewal of the numbers that leaves the order calls for no pass then.
        Answers: decisions, one at a time. Each is validated and applied before the
        generator resumes, so the view is always current. Only ``yield MakeRoom(job)``
        returns something: True when the job now fits, False when no run was touched.
        On a cluster with nodes and partitions it is called at each pass of the main loop. The
        queue there has an entry for each partition of a job, and ``view.plan()`` says what can
        start; it does so on counted processors, too.
        Rejected: a job that does not wait (or run, for :class:`Move` and :class:`Preempt`),
        more processors than are free, processors that are taken or where there are no tiers, a
        time that has passed, a pass that goes on without changing anything; and jobs that still
        wait when nothing more will happen.
        None: nothing starts in this pass. A plugin without the hook leaves the pass to the
        main loop of the emulator: on a cluster that of slurmctld; on counted processors the queue
        in its order up to the first job that does not fit.
        Cost: one call per pass; the generator lives for that pass only.
        Mirrors: the controller's ``schedule()``. Port class: I.
        """

    @hookspec(firstresult=True)
    def backfill(self, view: SchedulingView) -> Generator[Decision, bool, None] | None:
        """Make one cycle of backfill: a generator of decisions, as :meth:`schedule` is.

        Called: when jobs wait. Under Slurm's clock each ``bf_interval`` seconds, an attribute
        of the plugin: 30 if it has none, -1 for never, 0 for after each pass of the main
        loop; not where nothing has changed since the last cycle. Under the ideal clock after
        each pass of ``schedule``. A plugin whose class says ``het_jobs = True`` promises to start all
        components of a heterogeneous job in one pass, or none (``entry.het_job_id``); a run with such
        jobs under another one is refused.
        Answers: as ``schedule``. The two share no plan: ``view.plan()`` and
        ``view.window_plan()`` begin with what runs.
        None: nothing starts in this cycle.
        Rejected: as by ``schedule``.
        Cost: one call per cycle.
        Mirrors: ``_attempt_backfill`` of sched/backfill, ``_compute_start_times`` of
        sched/builtin. Port class: I.
        """


class BackfillSpec:
    """BackfillType (the emulator's own slot): which jobs may go ahead of the head of the queue, and where they go."""

    @hookspec(firstresult=True)
    def backfill_candidates(self, view: BackfillView) -> Sequence[Job] | None:
        """Say in which order a scheduler is to try the jobs behind the head.

        Called: when the scheduler asks for ``view.candidates()`` and there are any.
        Answers: jobs out of ``view.to_try``, each at most once, first to try first; what
        is left out is not tried in this pass.
        None: the order of the queue.
        Rejected: a job that is not in ``view.to_try``, a job named twice.
        Cost: at most one call per pass.
        Mirrors: nothing; Slurm tries the queue in its order. Port class: N.
        """

    @hookspec(firstresult=True)
    def bf_topopt(self, view: TopoptView) -> Hole | None:
        """Say whether to delay a job for a better place: which hole of the plan it is to have.

        Called: on a cluster with nodes, when ``sched/backfill`` has found the first hole for a job and
        ``bf_topopt_enable`` is set, or another scheduler that says ``bf_topopt_enable = True`` asks
        ``plan.delayed(hole)``.
        Answers: one out of ``view.holes``, which are sought one after the other as they are looked at.
        None: the first.
        Rejected: a hole that was not among them.
        Cost: one call for each job that has a hole, in each cycle; a search for each further hole.
        Mirrors: the function of ``sched/backfill`` behind ``bf_topopt_enable``, from 24.11 on. Port class: I.
        """


class PreemptSpec:
    """PreemptType: which runs have to make room for a job.

    On a cluster, those of the runs that it names go that Slurm's selection needs; what the
    configuration exempts (PreemptExemptTime, min_exempt_priority, PreemptMode=OFF or PRIORITY)
    stays. Slurm's selection may try the runs in another order (``reorder_count``) only if the
    class says ``reorders = True``. With PreemptMode=GANG and a class that says ``takes_turns =
    True`` no run has to leave if the first that it names would be suspended: with Slurm's time
    slices, the job shares nodes instead. One that says ``by_order = True`` promises not to look
    at the numbers of priorities. One that says ``by_partition = True``, in the class that has
    the hook, promises to look at no more of the preemptor than ``view.partition``: of jobs that
    ask for the same, one in a partition is asked about then.
    """

    @hookspec(firstresult=True)
    def preempt_candidates(self, view: PreemptView) -> Sequence[Run] | None:
        """Name the runs that may be preempted for ``view.preemptor``, first to go first.

        Called: when a scheduler yielded :class:`MakeRoom`; by Slurm's own loops for each job
        that does not fit, in each partition where it is tried (``view.partition``).
        Answers: runs out of ``view.running``, each at most once. They are taken in this
        order until the job fits; if all of them are not enough, none is touched. On a
        cluster with nodes those are among them that an operator has suspended, for they
        keep their memory.
        None: no run may be preempted.
        Rejected: a run that is over, a run named twice; where processors are only counted, a
        job that may not be requeued.
        Cost: one call per request.
        Mirrors: ``preempt_p_preemptable`` and the PRIO of ``preempt_p_get_data``.
        Port class: A.
        """

    @hookspec(firstresult=True)
    def preempt_mode(self, view: VictimView) -> str | None:
        """Say what becomes of the run of ``view.victim`` if it is preempted.

        Called: on a cluster with nodes, for each run that ``preempt_candidates`` named, and when
        a run begins that would write checkpoints. Where processors are only counted, the
        run's ``preemption`` options say it, and a plugin with the hook is refused.
        Answers: ``OFF`` (it is not preempted), ``CANCEL``, ``REQUEUE``, ``CHECKPOINT`` or ``SUSPEND``.
        None: what the QOS of the job says, else its partition, else the cluster.
        Rejected: another word.
        Cost: one call per named run.
        Mirrors: the MODE of ``preempt_p_get_data``. Port class: A.
        """

    @hookspec(firstresult=True)
    def preempt_grace(self, view: VictimView) -> float | None:
        """Say how many seconds pass between the choice of a victim and its end.

        Called: as ``preempt_mode``, when a run is to go.
        Answers: seconds, 0 or more.
        None: the GraceTime of its QOS, else of its partition.
        Rejected: NaN, infinite, negative.
        Cost: one call per victim.
        Mirrors: the GRACE_TIME of ``preempt_p_get_data``. Port class: A.
        """


class SelectSpec:
    """SelectType: on which part of the machine a job runs.

    On a cluster with nodes the plugin chooses the nodes of each job; its class says
    ``machines = ("nodes",)``, and ``whole_nodes = True`` where a job always has its nodes for
    itself. ``select/cons_tres`` and ``select/linear`` are such plugins.

    On a machine of processors, a plugin that implements the hook gives the machine out in blocks: its instance has a
    method ``blocks(processors)``, which answers the
    :class:`~slurm_sim_plugins.blocks.Blocks` of a machine of so many processors. It is
    called once, when the simulation begins. ``view.block_state`` then says which run is where, and a
    job that is larger than the largest block is not taken in. A scheduler must say
    ``knows_blocks = True``: to count free processors is not enough there.
    """

    @hookspec(firstresult=True)
    def select_nodes(self, view: SelectView | NodeView) -> int | Allocation | None:
        """Choose the nodes for ``view.want``, or a block for ``view.job``.

        On a cluster with nodes the view is a :class:`~slurm_sim_plugins.nodes.NodeView`, on
        a machine of blocks a :class:`SelectView`.

        Called: on nodes whenever it is asked whether and where a job fits, now or at a planned
        time; compiled code, where it is there, gives the answers of the bundled plugins.
        Of blocks, when a scheduler asks ``view.block_state.find(job)``, for a :class:`Start` that
        does not say where, and, with candidates, for :class:`MakeRoom`.
        Answers: on nodes an :class:`~slurm_sim_plugins.nodes.Allocation` on nodes of
        ``view.usable``, of no more than ``view.free`` has there. Of blocks the number of one
        that holds the job, and nothing of which is in use but by ``view.candidates``, nor
        belongs to the block ``view.beside``. For MakeRoom those of the candidates are
        preempted that hold anything of it.
        None: there are none; a Start that says not where is then refused.
        Rejected: a node that is not usable, more than a node has free; a number that is no
        block's, a block that is too small, or in use.
        Cost: one call per question; on nodes a pass asks many.
        Mirrors: what ``select_p_job_test`` calls. Port class: I.
        """


class WalltimeSpec:
    """WalltimeType (the emulator's own slot): how long a job is planned to run."""

    @hookspec(firstresult=True)
    def walltime_submit(self, view: WalltimeView) -> float | Plan | None:
        """Say with how many seconds schedulers plan for ``view.job``.

        Called: once for each job, at submission, before its priority is set.
        Answers: seconds of the job's own work, more than 0 and at most its limit; not
        rounded. Or a :class:`Plan`: one number for the order of the queue, one while it
        waits, one once it runs. A planned time never kills. What a run that outlives it
        is planned with is the option ``expired``.
        None: the limit.
        Rejected: NaN, 0, negative, more than the limit.
        Cost: one call per job.
        Mirrors: a time limit set in ``job_submit``. Port class: A through job_submit.
        """

    @hookspec(firstresult=True)
    def walltime_pending(self, view: PendingView) -> Sequence[float] | None:
        """Plan again for the jobs that wait.

        Called: before each pass, and in one when a preempted job waits again, which the same pass may start.
        Answers: seconds for each job in ``view.waiting``, as ``walltime_submit`` does.
        None: all stays as it is; answer so whenever nothing was learnt, it is much cheaper.
        Rejected: another length, NaN, 0, negative, more than a job's limit.
        Cost: one call per pass and preemption.
        Mirrors: the job's end as the backfill loop computes it. Port class: I.
        """

    @hookspec
    def walltime_learn(self, job: Job, ran: float, now: float) -> None:
        """Learn how long a job ran.

        Called: when a job has ended for good, in the order of the ends, before the pass.
        ``ran`` are seconds of its own work: its true run time, at most its limit if it
        was killed there; without what preemption lost and without overhead.
        Answers: nothing.
        None: what it answers is not looked at.
        Rejected: nothing but an exception.
        Cost: one call per job.
        Mirrors: nothing. Port class: N.
        """


class ExecutionSpec:
    """ExecutionType (the emulator's own slot): how fast jobs progress that share processors.

    A plugin that implements the hook gives every processor a slot in each of its tiers:
    its class may say ``tiers = ("fg", "bg")``, which is the default; the first is called
    fg. The class may also say ``needs = ("cpu_use",)``: columns that the workload must
    have; and an instance may have ``changes``, a sequence of times in seconds at which
    rates change by themselves.
    """

    @hookspec(firstresult=True)
    def progress_rate(self, view: RateView) -> Sequence[float] | None:
        """Give a rate to each run in ``view.changed``: seconds of work done in a second.

        Called: at the end of each instant at which a run began, moved or ended, for the
        runs that began a stay and those whose neighbours, on any of their processors, have
        changed; and for all runs at the times of ``changes``.
        Answers: one number for each run, 0 or more, in the order of ``view.changed``. It
        holds until the next answer. With 1 a run lasts as long as its work.
        None: 1 for each.
        Rejected: another length, NaN, infinities, negative numbers; runs that are left at
        0 when nothing more will happen.
        Cost: at most one call per instant; a plugin without the hook costs nothing, and
        there are no tiers then.
        Mirrors: nothing. In Slurm, jobs on processors that are shared by OverSubscribe slow
        each other down in reality. Port class: N.
        """


class SiteFactorSpec:
    """PrioritySiteFactorPlugin: a number of the site's own in the priority."""

    @hookspec(firstresult=True)
    def site_factor(self, view: PriorityView) -> Sequence[int] | None:
        """Give a number to each job in ``view.to_set``; ``priority/multifactor`` adds it to the priority.

        Called: before each call of ``priority_set``, for the same jobs; so there must be a priority
        plugin that has that hook. Any such plugin reads the number as ``job.site``.
        Answers: one whole number for each job, from -2147483645 to 2147483645, in the order of
        ``view.to_set``. It replaces what an operator gave (``SiteFactor``).
        None: all stays as it is; that is 0 in the beginning.
        Rejected: another length, what is no whole number in that range.
        Cost: as ``priority_set``.
        Mirrors: ``site_factor_p_set`` and ``site_factor_p_update``. Port class: A.
        """


class JobSubmitSpec:
    """JobSubmitPlugins: what becomes of a submission, or of a change, before it is taken in; a list, in its order.

    Names may go without their type there, as in a ``slurm.conf``: ``JobSubmitPlugins=all_partitions,mine``.
    """

    @hookspec(firstresult=True)
    def job_submit(self, view: SubmitView) -> Submission | Reject | None:
        """Change what a job asks for, or refuse it.

        Called: for each submission, before it is looked at in any other way: once for all tasks of
        an array, and not again for a job that is requeued or changed by an operator.
        Answers: ``view.submission._replace(...)``, which the next plugin of the list sees; or
        ``Reject(reason)``, and the next is not asked. What it asks for then has to be what the cluster
        takes, as if the user had asked for it.
        None: it goes in as it is.
        Rejected: other values than the fields of :class:`Submission` take; another ``id``, ``submit``,
        ``user`` or ``gpus``. Where processors are only counted, another change than that of ``time_limit``.
        Cost: one call per submission; ``view.jobs`` costs as much as there are jobs, if it is looked at.
        Mirrors: ``job_submit`` of a job_submit plugin. Port class: A.
        """

    @hookspec(firstresult=True)
    def job_modify(self, view: ModifyView) -> JobUpdate | Reject | None:
        """Change what an operator's command changes of a job, or refuse it.

        Called: on a cluster with nodes, for each job that ``scontrol update``, ``hold`` or ``release`` names and that
        is not over, before the change is looked at in any other way; once for the tasks of an array that have not
        run and are named together. Not for other commands, such as ``requeue``, ``suspend``, ``top`` and ``scancel``.
        Answers: ``view.update._replace(...)``, which the next plugin of the list sees; or
        ``Reject(reason)``: the job stays as it is, and the next plugin is not asked. What is changed then has to be
        what the cluster takes, as if the operator had stated it.
        None: it is done as it is stated.
        Rejected: other values than the fields of :class:`JobUpdate` take.
        Cost: one call per job and command.
        Mirrors: ``job_modify`` of a job_submit plugin. Port class: A.
        """


class ObserverSpec:
    """Told after a change; what they answer is ignored. Any plugin may observe."""

    @hookspec
    def run_begun(self, view: View) -> None:
        """A run begins, on the empty machine. Port class: N.

        Also where it goes on from a snapshot: what the plugin keeps is that of the snapshot then.
        """

    @hookspec
    def job_submitted(self, job: Job, now: float) -> None:
        """A job was queued. Port class: N."""

    @hookspec
    def job_started(self, run: Run, now: float) -> None:
        """A job was started. Port class: N."""

    @hookspec
    def job_requeued(self, job: Job, run: Run, now: float) -> None:
        """A run was ended by preemption, and its job waits again. Port class: N.

        On a cluster with nodes also by what an operator, a failed node or an exit code did.
        """

    @hookspec
    def job_suspended(self, job: Job, run: Run, cause: str, now: float) -> None:
        """A run stands still; called on clusters with nodes. Port class: N.

        ``cause`` is ``preemption``, ``operator`` or ``time slice`` (of gang scheduling).
        """

    @hookspec
    def job_resumed(self, job: Job, run: Run, cause: str, now: float) -> None:
        """A run that stood still goes on; ``cause`` is that of the suspension. Port class: N."""

    @hookspec
    def job_ended(self, job: Job, run: Run | None, state: str, now: float) -> None:
        """A job left the machine for good; ``state`` is COMPLETED or TIMEOUT. Port class: N.

        On a cluster with nodes it is any of Slurm's final states, and ``run`` is None for a
        job that left the queue without a run: cancelled, or too late for its deadline.
        Mirrors: ``priority_p_job_end``.
        """

    @hookspec
    def pass_done(self, view: View) -> None:
        """A scheduling pass is over. Port class: N.

        On a cluster with nodes: a pass of the main loop, or a cycle of backfill.
        """

    @hookspec
    def run_ended(self, view: View) -> None:
        """A run has come to its end; not called of one that failed or was interrupted. Port class: N."""


LOOPS = ("schedule", "backfill")
"""The hooks of a scheduler, which answer generators of decisions; a plugin has one of them or both."""

SPECS: dict[str, type] = {
    "priority": PrioritySpec,
    "sched": SchedSpec,
    "backfill": BackfillSpec,
    "preempt": PreemptSpec,
    "select": SelectSpec,
    "walltime": WalltimeSpec,
    "execution": ExecutionSpec,
    "site_factor": SiteFactorSpec,
    "job_submit": JobSubmitSpec,
    "observer": ObserverSpec,
}
"""Specification by plugin type. All types but ``observer`` are slots."""

SLOTS: dict[str, str] = {
    "PriorityType": "priority",
    "SchedulerType": "sched",
    "BackfillType": "backfill",
    "PreemptType": "preempt",
    "SelectType": "select",
    "WalltimeType": "walltime",
    "ExecutionType": "execution",
    "PrioritySiteFactorPlugin": "site_factor",
    "JobSubmitPlugins": "job_submit",
}
"""Configuration key by plugin type; Slurm's own words where Slurm has the slot."""

CHAINS = ("JobSubmitPlugins",)
"""Slots for lists of plugins, which are asked in their order; the names are separated by commas."""

DEFAULTS: dict[str, str] = {
    "PriorityType": "priority/basic",
    "SchedulerType": "sched/easy",
    "BackfillType": "backfill/queue_order",
    "PreemptType": "preempt/none",
    "SelectType": "select/count",
    "WalltimeType": "walltime/none",
    "ExecutionType": "execution/plain",
    "PrioritySiteFactorPlugin": "",
    "JobSubmitPlugins": "",
}
"""What a slot holds when nothing else is named; those of which that is nothing may be empty."""


@cache
def hooks_of(plugin_type: str) -> tuple[str, ...]:
    """Names of the hooks that a plugin of this type may implement, its own first."""
    specs = [SPECS[plugin_type]]
    if plugin_type != "observer":
        specs.append(ObserverSpec)
    return tuple(name for spec in specs for name in vars(spec) if not name.startswith("_"))
