"""Plugins on a cluster: what they are asked, and what becomes of their answers.

A priority is asked for when a job is submitted or released, at the end of each period of the
plugin, and before each pass if that is 0. Candidates for preemption are asked for whenever a job
does not fit; of those that are named, those go that Slurm's selection needs. Planned times are
what backfill plans with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from emulator.config.slurm.emulated import options_of, site_slots_of, slots_of
from emulator.config.slurm.model import SlurmConf
from emulator.hooks import FAILURES, Hooks
from emulator.scheduling.job_mgr import is_queued
from emulator.scheduling.numbers import Answered, counted_otherwise, put, renewable, seen_of, share_cpus
from emulator.scheduling.requests import request_of, tres_of, tres_totals, unasked_memory
from emulator.scheduling.seen import (
    ClusterPreemptView,
    ClusterPriorityView,
    SeenAssociation,
    SeenJob,
    SeenJobs,
    SeenState,
)
from emulator.state.job import Job as ControlledJob
from emulator.state.partition import Partition
from slurm_sim_plugins import answers
from slurm_sim_plugins.cluster import Association, Qos, Request
from slurm_sim_plugins.cluster import Partition as SeenPartition
from slurm_sim_plugins.decisions import Plan, Priorities
from slurm_sim_plugins.jobs import FIRST_PRIORITY, Job, Jobs, Runs
from slurm_sim_plugins.manager import Catalogue, Selection, names_in, select
from slurm_sim_plugins.nodes import Allocation
from slurm_sim_plugins.plan import Entry, Hole
from slurm_sim_plugins.select.capacity import capacity_of
from slurm_sim_plugins.views import BackfillView, PendingView, TopoptView, VictimView, WalltimeView

if TYPE_CHECKING:
    from emulator.limits.assoc_mgr import Quality, Share
    from emulator.state.cluster import Cluster

_set = object.__setattr__


class Policies:
    """Asks plugins, and shows them the cluster.

    Args:
        selection: the plugins.
        cluster: the controller's.

    Attributes:
        priority, preempt: the plugins of these slots.
        counts_cpus: whether numbers depend on how many CPUs jobs have.
        names_victims, plans: whether the plugins of these slots answer.
        by_partition: whether jobs that are tried in one partition may preempt the same runs.
        period: after how many seconds the priority plugin gives new numbers; None for never, 0 before each pass.
        renewal_matters: whether the last of these may change what a pass finds.
    """

    def __init__(self, selection: Selection, cluster: Cluster) -> None:
        self._hooks = Hooks(selection)
        self._cluster = cluster
        self._cluster_state = cluster_state = SeenState(cluster, self.seen_as)
        self._jobs = SeenJobs()
        self._next = FIRST_PRIORITY
        self._requests: dict[tuple[int, str, int, float], Request] = {}
        self._had: dict[int, Mapping[str, float]] = {}
        self._associations: dict[Share, Association] = {}
        self._qualities: dict[Quality, Qos] = {}
        self._priority_view = ClusterPriorityView(cluster_state)
        self._preempt_view = ClusterPreemptView(cluster_state)
        self._victim_view = VictimView(cluster_state)
        self._pending_view = PendingView(cluster_state)
        self._walltime_view = WalltimeView(cluster_state)
        self._backfill_view = BackfillView(cluster_state)
        self._topopt_view = TopoptView(cluster_state)
        _set(self._walltime_view, "oracle", None)
        _set(self._priority_view, "whole", cluster.whole)
        self._renewed = float("-inf")
        self._ranking: list[ControlledJob] = []
        self._answered = Answered()
        self._cpus: dict[tuple[int, str], float] = {}
        self._differ: dict[tuple[int, str], bool] = {}
        self.priority = selection.plugins[selection.slots["PriorityType"]]
        self.counts_cpus = bool(getattr(self.priority, "weights", {}).get("JobSize"))
        self.preempt = selection.plugins[selection.slots["PreemptType"]]
        self.names_victims = self._hooks.preempt_candidates is not None
        self.plans = self._hooks.walltime_submit is not None
        self.period = self._hooks.priority_period
        if self.period is None and self.counts_cpus and cluster.parameters.rules.SIZES_ARE_RENEWED:
            self.period = getattr(self.priority, "calc_period", None)
        asked = self.preempt, selection.plugins[selection.slots["SchedulerType"]]
        self.renewal_matters = True
        self.by_partition = self.names_victims and _by_partition(selection, self.preempt)
        if cluster.parameters.preempt_mode != ("OFF",):
            cluster.order.tiers_first = self.by_partition
            cluster.order.preempts = _preempts if getattr(self.preempt, "by_qos", False) else None
            cluster.order.takes = is_queued
        cluster.order.by_list = _in_order_of_arrival(selection, cluster)
        self._by_order = all(getattr(plugin, "by_order", False) for plugin in asked)
        for partition in cluster.partitions.values():
            partition.seen, partition.tres = SeenPartition(partition), tres_totals(partition, cluster)
            partition.unasked_memory = unasked_memory(partition, cluster)

    @property
    def hooks(self) -> Hooks:
        """The plugins' hooks."""
        return self._hooks

    @property
    def cluster_state(self) -> SeenState:
        """What views show."""
        return self._cluster_state

    @property
    def running(self) -> Runs:
        """Runs of now, by planned end."""
        return self._cluster_state.running

    @property
    def waiting(self) -> Jobs:
        """Waiting jobs by priority."""
        return self._cluster_state.queue

    # Jobs as plugins see them

    def seen_as(self, job: ControlledJob) -> Job:
        """A job as plugins see it: CPUs as processors, and user, account, QOS and partition as facts."""
        seen = job.seen
        if seen is None:
            seen = job.seen = SeenJob(job, self._jobs, self._cluster)
            self.changed(job)
        return seen

    def reconfigure(self) -> None:
        """Nodes and partitions are others: what was worked out for requests counts no more."""
        self._requests.clear()
        self._cpus.clear()
        self._differ.clear()

    def changed(self, job: ControlledJob) -> None:
        """A job asks for something else, or is on another account: what was worked out for it counts no more."""
        seen = job.seen
        if seen is not None:
            _set(seen, "requests", tuple(self._request(job, partition) for partition in job.partitions))
            account = job.account
            _set(seen, "association", None if account is None else self._association(account.share))
            _set(seen, "qos", None if account is None or account.quality is None else self._qos(account.quality))
            job.answer, job.row = (), -1
            self._cluster_state.moved()

    def planned(self, job: ControlledJob, partition: Partition) -> None:
        """A job was planned: its next number counts the CPUs that it would have, such as all of its nodes."""
        job.planned_cpus = self.cpus_planned(job, partition) or job.planned_cpus

    def tried(self, job: ControlledJob) -> None:
        """A job has a number, and is tried: with select/linear its next one counts all CPUs of its nodes.

        There each try notes the nodes that it finds, that of a submission, too; elsewhere a plan does (recorded).
        """
        if self.counts_cpus and self._cluster.nodes_for.whole_nodes and not job.held_by:
            self.planned(job, job.partitions[0])

    def counts_otherwise(self, job: ControlledJob, partition: Partition) -> bool:
        """Whether a job will count with other CPUs once it is planned."""
        cpus = self.cpus_planned(job, partition) if self.counts_cpus else 0.0
        return bool(cpus) and cpus != (job.planned_cpus or self._request(job, partition).cpus)

    def cpus_planned(self, job: ControlledJob, partition: Partition) -> float:
        """The CPUs that a job would have on an empty machine; 0 where it does not fit, or each plan says it."""
        if self.counts_by_plan(job, partition):
            return 0.0
        key = job.request_class, partition.name
        if key not in self._cpus:
            cluster = self._cluster
            choose = cluster.choose if cluster.compiled is None else cluster.compiled.choose
            found = choose(job.wants[partition.name], cluster.machine.free(), partition.nodes)
            self._cpus[key] = 0.0 if found is None else float(cluster.machine.cpus_of(found))
        return self._cpus[key]

    def counts_by_plan(self, job: ControlledJob, partition: Partition) -> bool:
        """Whether with how many CPUs a job is planned goes by the nodes that it gets.

        So it is with one that would take more nodes than it needs, and with one of whole nodes where these differ.
        """
        want = job.wants[partition.name]
        return want.target_nodes > want.min_nodes or (want.whole and self._nodes_differ(job, partition))

    def _nodes_differ(self, job: ControlledJob, partition: Partition) -> bool:
        """Whether the nodes on which a job finds room have different numbers of CPUs, or more for it on some."""
        key = job.request_class, partition.name
        known = self._differ.get(key)
        if known is None:
            want, machine, usable = job.wants[partition.name], self._cluster.machine, self._cluster.no_nodes()
            for choice in want.choices:
                usable |= partition.nodes & choice.mask
            room = capacity_of(want, machine, machine.free(), usable)
            found = np.array([machine.cpus[room > 0], room[room > 0]])
            known = self._differ[key] = bool(found.size) and bool((found != found[:, :1]).any())
        return known

    def given(self, job: ControlledJob, allocation: Allocation) -> None:
        """A job has started, or was planned there: its next number counts the CPUs that it has."""
        job.planned_cpus = float(self._cluster.machine.cpus_of(allocation))

    def shared(self, job: ControlledJob) -> None:
        """A task has started: what is left of its array counts with as many CPUs, as its record is a copy."""
        if job.request.array is not None:
            share_cpus(self._cluster.tasks[job.request.array], job.planned_cpus)

    def lost(self, job: ControlledJob, allocation: Allocation, partition: Partition) -> None:
        """A job has lost all of its nodes: until it starts again it counts with what it had there (recorded)."""
        self._had[job.id] = tres_of(job, allocation, partition, self._cluster.machine)
        self.changed(job)

    def sent_back(self, job: ControlledJob) -> None:
        """A job is requeued: until it is planned again it counts with the CPUs that it asks for (recorded)."""
        job.planned_cpus = 0.0
        if job.counted_cpus:
            job.counted_cpus = 0.0
            self.changed(job)

    def started(self, job: ControlledJob) -> None:
        """A job has started: it counts with what it asks for, should it wait again."""
        if self._had.pop(job.id, None) is not None:
            self.changed(job)

    def _count_cpus(self, jobs: list[ControlledJob]) -> None:
        """Jobs are about to get new numbers, in which they count with the CPUs that they were planned with.

        So do tasks of an array beyond those that were planned, for all share a record.
        """
        planned = {job.request.array: job for job in counted_otherwise(jobs) if job.waits_with_others}
        for job in planned.values():
            self.shared(job)
        for job in counted_otherwise(jobs):
            job.counted_cpus = job.planned_cpus
            self.changed(job)

    def controlled(self, seen: Job) -> ControlledJob | None:
        """The controller's job for one that plugins see; None for a job of another simulation."""
        job = self._cluster.jobs.get(seen.id)
        return job if job is not None and job.seen is seen else None

    def _request(self, job: ControlledJob, partition: Partition) -> Request:
        key = (job.request_class, partition.name, job.wants[partition.name].min_nodes, job.counted_cpus)
        known = self._requests.get(key)
        if known is None:
            asked = request_of(job, partition)
            known = self._requests[key] = replace(asked, cpus=job.counted_cpus or asked.cpus)
        had = self._had.get(job.id)
        return known if had is None else replace(known, tres=had)

    def _association(self, share: Share) -> Association:
        if share not in self._associations:
            assert self._cluster.accounting is not None
            self._associations[share] = SeenAssociation(share, self._cluster.accounting)
        return self._associations[share]

    def _qos(self, quality: Quality) -> Qos:
        if quality not in self._qualities:
            self._qualities[quality] = Qos(quality)
        return self._qualities[quality]

    # What happens

    def save(self, unsaved: Callable[[ControlledJob], float]) -> None:
        """Let views say how many seconds of a run would be lost."""
        self._cluster_state._unsaved = lambda run: unsaved(_of(run.job))

    def arriving(self, job: ControlledJob) -> None:
        """A job is about to wait for the first time: it is planned, if a plugin says so."""
        if self.plans:
            job.plan = self._plan(self.seen_as(job))

    def over(self, job: ControlledJob) -> None:
        """A job has left for good."""
        self._cluster_state.moved()
        if job.seen is not None:
            self._jobs.jobs.pop(job.seen.index, None)
            job.seen = None
        job.answer = ()

    def reordered(self) -> None:
        """What orders the jobs may have changed: priorities, tiers, limits."""
        self._cluster_state.moved()

    def before_pass(self) -> bool:
        """Let plugins plan the jobs that wait and give them numbers, before a pass; whether it may find more then."""
        if not self._cluster.waiting:
            return False
        planned = self.plan_pending()
        return (self.period == 0 and self._renew()) or planned

    def plan_pending(self) -> bool:
        """Let the walltime plugin plan the waiting jobs again; whether any plan changed."""
        hook = self._hooks.walltime_pending
        if hook is None:
            return False
        waiting = self._cluster_state.queue
        if not waiting:
            return False
        _set(self._pending_view, "waiting", waiting)
        answer = self._asked("walltime_pending", hook, self._pending_view, waiting[0])
        if answer is None:
            return False
        changed = False
        plans = self._checked("walltime_pending", waiting[0], answers.plans, answer, waiting)
        for job, plan in zip(map(_of, waiting), plans, strict=True):
            changed |= plan != job.plan
            job.plan = plan
        return changed

    # Priorities

    def pass_number_over(self) -> None:
        """A job that no nodes could ever hold was refused when it had its number (recorded)."""
        self._next -= 1

    def set_priorities(self, jobs: list[ControlledJob], new: bool = False) -> bool:
        """Give jobs the numbers that the priority plugin answers; whether any has another than before.

        If it answers none, those that have no number yet (``new``) get the next lower one, less their nice value:
        first come, first served (observation Q8; recorded: the next job does not go by the nice value of the last).
        """
        if self.counts_cpus:
            self._count_cpus(jobs)
        answer = None if self._hooks.priority_set is None else self._numbered(jobs)
        if answer is None:
            for job in jobs if new else ():
                job.priority = max(self._next - job.nice, 1)
                self._next -= 1
            return new
        self._cluster_state.moved()
        return self._answered.renew(jobs, answer) if isinstance(answer, Priorities) else put(jobs, answer)

    def _numbered(self, jobs: list[ControlledJob]) -> Sequence[Any] | None:
        seen = seen_of(jobs) or [self.seen_as(job) for job in jobs]
        _set(self._priority_view, "to_set", seen)
        _set(self._priority_view, "_jobs", jobs)
        self._ask_site(jobs, seen)
        answer = self._asked("priority_set", self._hooks.priority_set, self._priority_view, seen[0])
        return None if answer is None else self._checked("priority_set", seen[0], answers.priorities, answer, seen)

    def _ask_site(self, jobs: Sequence[ControlledJob], seen: Sequence[Job]) -> None:
        """Let the site's plugin give numbers for the priority."""
        hook = self._hooks.site_factor
        answer = None if hook is None else self._asked("site_factor", hook, self._priority_view, seen[0])
        if answer is None:
            return
        for job, number in zip(
            jobs, self._checked("site_factor", seen[0], answers.site_factors, answer, seen), strict=True
        ):
            job.site = number

    @property
    def answered(self) -> Answered:
        """The jobs for which the priority plugin answered last in a column, and that column."""
        return self._answered

    def priced(self, job: ControlledJob) -> Sequence[Any]:
        """What the priority of a job was worked out from, in each of its partitions; asked for if it was not."""
        seen = self.seen_as(job)
        if not seen.answered and self._hooks.priority_set is not None:
            answer = self._numbered([job])
            return () if answer is None else answer[0] if isinstance(answer[0], list) else answer
        return seen.answered

    def _renew(self) -> bool:
        """Ask for the numbers of all waiting jobs before a pass; whether their order changed.

        It is looked at by number alone: what is tried within a partition goes by that.
        """
        now = self._cluster.now
        if now == self._renewed:
            return False
        self._renewed = now
        waiting = sorted(self._cluster.waiting.values(), key=lambda job: (job.request.submit, job.id))
        free = [job for job in waiting if not (job.on_hold or job.fixed_priority)]
        if free:
            self.set_priorities(free)
        self._cluster.order.changed()
        self._cluster_state.moved()
        before = self._ranking
        self._ranking = sorted(waiting, key=lambda job: (-job.number_in(job.partitions[0].name), *job.tie_break))
        return before != self._ranking

    def renew(self) -> bool:
        """A period of the priority plugin has ended: jobs get new numbers; whether that of any has changed.

        Jobs on hold, and those that were given a priority, keep theirs. As long as the order stays, numbers matter to
        a pass only where there are thresholds, and to plugins that do not say ``by_order``.
        """
        cluster = self._cluster
        jobs = renewable(cluster.waiting)
        if getattr(self.priority, "of_running", False):
            jobs += renewable(cluster.running)
        if not (jobs and self.set_priorities(jobs)):
            return False
        accounting = cluster.accounting
        compared = cluster.parameters.has_thresholds or (accounting is not None and accounting.has_thresholds)
        numbers = self._answered.column.numbers if self._answered.jobs is jobs else None
        numbers = None if numbers is None or numbers.dtype != np.int64 else numbers
        self.renewal_matters = cluster.order.renumbered(self._answered, numbers) or compared or not self._by_order
        return True

    # Preemption

    def candidates(self, preemptor: ControlledJob, partition: Partition, halted: bool = False) -> list[ControlledJob]:
        """Running jobs, or also those that stand still, that the plugin would preempt for a job, first to go first."""
        seen, view = preemptor.seen or self.seen_as(preemptor), self._preempt_view
        _set(view, "halted", halted)
        _set(view, "preemptor", seen)
        _set(view, "partition", partition.seen)
        answer = self._asked("preempt_candidates", self._hooks.preempt_candidates, view, seen)
        if not answer:
            return []
        runs = self._checked("preempt_candidates", seen, answers.victims, answer, seen, view.running, False)
        return [_of(run.job) for run in runs]

    def mode(self, victim: ControlledJob) -> str | None:
        """What becomes of a victim, as the plugin says; None if it does not."""
        mode: str | None = self._of_victim("preempt_mode", self._hooks.preempt_mode, answers.preempt_mode, victim)
        return mode

    def grace(self, victim: ControlledJob) -> float | None:
        """Seconds between the choice of a victim and its end, as the plugin says; None if it does not."""
        grace: float | None = self._of_victim("preempt_grace", self._hooks.preempt_grace, answers.preempt_grace, victim)
        return grace

    def _of_victim(self, name: str, hook: Any, check: Any, victim: ControlledJob) -> Any:
        if hook is None:
            return None
        seen = self.seen_as(victim)
        _set(self._victim_view, "victim", seen)
        answer = self._asked(name, hook, self._victim_view, seen)
        return None if answer is None else self._checked(name, seen, check, answer, seen)

    # Asking

    def in_backfill_order(self, entries: list[Entry]) -> list[Entry]:
        """Entries in the order in which the plugin in the BackfillType slot would try their jobs."""
        if self._hooks.backfill_candidates is None:
            return entries
        jobs = list(dict.fromkeys(entry.job for entry in entries))
        _set(self._backfill_view, "to_try", tuple(jobs))
        answer = self._asked("backfill_candidates", self._hooks.backfill_candidates, self._backfill_view, jobs[0])
        if answer is None:
            return entries
        of_job: dict[Job, list[Entry]] = {}
        for entry in entries:
            of_job.setdefault(entry.job, []).append(entry)
        chosen = self._checked("backfill_candidates", jobs[0], answers.order, answer, jobs)
        return [entry for job in chosen for entry in of_job[job]]

    @property
    def chooses_holes(self) -> bool:
        """Whether a plugin in the BackfillType slot chooses the hole that a job is to have."""
        return self._hooks.bf_topopt is not None

    def chosen(self, job: ControlledJob, holes: Iterator[Hole], first: Hole) -> Hole:
        """The hole that a job is to have, as the plugin in the BackfillType slot says."""
        if self._hooks.bf_topopt is None:
            return first
        seen, offered = self.seen_as(job), [first]
        _set(self._topopt_view, "job", seen)
        _set(self._topopt_view, "holes", _noted(holes, offered))
        answer = self._asked("bf_topopt", self._hooks.bf_topopt, self._topopt_view, seen)
        if answer is None:
            return first
        chosen: Hole = self._checked("bf_topopt", seen, answers.hole, answer, offered)
        return chosen

    def _plan(self, seen: Job) -> Plan | None:
        _set(self._walltime_view, "job", seen)
        answer = self._asked("walltime_submit", self._hooks.walltime_submit, self._walltime_view, seen)
        if answer is None:
            return None
        planned: Plan = self._checked("walltime_submit", seen, answers.plan, answer, seen)
        return planned

    def _asked(self, name: str, hook: Any, view: object, job: Job) -> Any:
        try:
            return hook(view)
        except FAILURES as error:
            self._hooks.fail(name, error, time=self._cluster.now, job=job.id)

    def _checked(self, hook: str, job: Job, check: Any, *values: Any) -> Any:
        try:
            return check(*values)
        except answers.Refused as refused:
            self._hooks.refuse(hook, refused.message, time=self._cluster.now, job=refused.job or job.id)


def _by_partition(selection: Selection, plugin: Any) -> bool:
    """Whether the class that names victims promises that; one that inherits the promise but names others has not."""
    if len(selection.implementations("preempt_candidates")) > 1:
        return False
    named = [vars(each) for each in type(plugin).__mro__ if "preempt_candidates" in vars(each)]
    return bool(named and named[0].get("by_partition", False))


def _in_order_of_arrival(selection: Selection, cluster: Cluster) -> bool:
    """Whether the main loop takes jobs as they lie in the controller's list."""
    simple = selection.slots["SchedulerType"] == "sched/builtin" and selection.slots["PriorityType"] == "priority/basic"
    one_tier = len({partition.tier for partition in cluster.partitions.values()}) == 1
    return simple and one_tier and not cluster.parameters.rules.BUILTIN_BY_NUMBERS


def _preempts(one: ControlledJob, other: ControlledJob) -> bool:
    """Whether the QOS of a job names that of another one in Preempt."""
    own = one.account.quality if one.account is not None else None
    its = other.account.quality if other.account is not None else None
    return own is not None and its is not None and its.name in own.preempts


def _noted(holes: Iterator[Hole], offered: list[Hole]) -> Iterator[Hole]:
    """Holes as a plugin looks at them."""
    for hole in holes:
        offered.append(hole)
        yield hole


def plugins_of(
    conf: SlurmConf,
    slots: Mapping[str, str] | None = None,
    *,
    catalogue: Catalogue | None = None,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    seed: int = 0,
) -> Selection:
    """The plugins of a simulation: those given, else those of the file, with the options that it states for them.

    Args:
        conf: the configuration.
        slots: plugins instead of those of the file.
        catalogue: what was found; by default the bundled plugins.
        options: options by name of the plugin, which go before those of the file.
        seed: of the random numbers that plugins draw.

    Raises:
        ConfigurationError: a plugin or option that there is not.
        PluginError: a plugin that cannot be made.
    """
    catalogue = catalogue or Catalogue()
    given = slots or {}
    chosen = {**slots_of(conf), **site_slots_of(conf, catalogue, given), **given}
    stated = {name: options_of(info, conf) for name in names_in(chosen) if (info := catalogue.get(name)) is not None}
    own = {name: {**stated.get(name, {}), **values} for name, values in (options or {}).items()}
    return select(catalogue, chosen, {**stated, **own}, seed)


def calculation_period(conf: SlurmConf, priority: Any = None) -> float:
    """Seconds between two calculations of past usage; 0 where there is no accounting, and so none (observation M2).

    Args:
        conf: the configuration.
        priority: the priority plugin; by default that of the file.
    """
    plugin = priority or plugins_of(conf).plugins[conf.parameters.text("PriorityType").lower()]
    tracked = getattr(plugin, "tracks_usage", True)
    if not tracked or "slurmdbd" not in conf.parameters.text("AccountingStorageType").lower():
        return 0.0
    return conf.parameters.amount("PriorityCalcPeriod") or 300.0


def _of(seen: Job) -> ControlledJob:
    """The controller's job for one that plugins see."""
    job: ControlledJob = seen._of  # type: ignore[attr-defined]
    return job
