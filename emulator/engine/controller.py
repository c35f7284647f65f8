"""The controller: puts the parts of a cluster together, and goes from event to event.

Everything happens at an event: a submission, the end of a run, a pass of the main loop or
of backfill, the sweep for exceeded limits, an operator's command. Events of one instant go
in the order in which they were scheduled. They are data (:mod:`emulator.engine.agenda`): what
each kind of them does is in one table.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from typing import Any, Literal

from emulator.accounting.eventlog import EventLog
from emulator.config.operation import Operation
from emulator.config.options import Clock
from emulator.config.preemption import Preemption
from emulator.config.sacctmgr.database import Accounts
from emulator.config.slurm.controller import NO_DELAYS, Timing, parameters_of, without_delays
from emulator.config.slurm.model import SlurmConf
from emulator.engine.agenda import Agenda, Kind, Rank
from emulator.engine.arrivals import Arrivals
from emulator.engine.endings import Endings
from emulator.engine.node_states import NodeStates
from emulator.engine.part import Part
from emulator.engine.passes import Passes
from emulator.engine.power import PowerSaving
from emulator.engine.standstill import Standstill
from emulator.engine.starts import Starts
from emulator.engine.stints import Stints
from emulator.engine.telling import telling
from emulator.engine.ticks import Ticks
from emulator.execution.checkpoints import Checkpoints
from emulator.scheduling.future import free_in_turn
from emulator.scheduling.gang import Rows
from emulator.scheduling.het_jobs import takes_het_jobs
from emulator.scheduling.plugin_scheduler import PluginScheduler
from emulator.scheduling.policies import Policies, calculation_period, plugins_of
from emulator.state.changes import Changes
from emulator.state.cluster import Cluster
from emulator.state.job import Job
from emulator.state.reservations import Reservations
from emulator.state.run import State
from emulator.workload.request import JobRequest, PartlyRefusedError
from slurm_sim_plugins.errors import InputError
from slurm_sim_plugins.kernels import are_compiled
from slurm_sim_plugins.manager import Selection

Action = Callable[["Controller"], None]


class Controller(Part):
    """Runs submissions through a cluster in Slurm's timing.

    Args:
        conf: the configuration.
        requests: the submissions.
        actions: operators' commands: (second, function of the controller, whose ``text`` is the command).
        timing: what real daemons take their time for.
        selection: the plugins; by default those that the configuration names.
        accounts: associations and qualities of service, if there is accounting.
        epoch: Unix time of second 0.
        compiled: whether compiled code chooses nodes, which changes nothing in what comes of
            it; by default if kernels are compiled.
        preemption: how checkpoints are written with ``PreemptMode=CHECKPOINT``; None for the defaults.
        clock: ``slurm``: the daemons' ticks and delays; ``ideal``: decisions take no time, a pass follows all
            that happens at one instant, and a run is killed at its limit.
        passes: under the ideal clock: ``batch``, as said; ``event``: a pass follows each submission and each end.
        log: the event log, or None.
        report: is called from time to time with how many jobs are over; or None.
        slurm_version: whose rules hold, such as ``24.11``; None for that of the configuration.
        operation: what happens to nodes; None for nothing.
        seed: of failures that are drawn.
        plans_are_seen: whether anything looks at when backfill means to start jobs. Where nothing does, not even an
            event log, a plugin or an operator, a cycle ends behind the last job that could start.

    Attributes:
        passes, arrivals, stints, endings, starts, node_states: the other parts.
        power: what powers nodes down and up; None where they are always on.
        rejected: (submission, Slurm's words) of what was refused.
        refused: (second, words) of operators' commands that could not be carried out.
        asks: whether Slurm queues a pass for the operator's command that is being carried out.
        of_records: whether it changes records of jobs, nodes, partitions or reservations.
    """

    def __init__(
        self,
        conf: SlurmConf,
        requests: Sequence[JobRequest],
        actions: Sequence[tuple[float, Action]] = (),
        timing: Timing | None = None,
        selection: Selection | None = None,
        accounts: Accounts | None = None,
        epoch: int = 0,
        compiled: bool | None = None,
        preemption: Preemption | None = None,
        clock: Clock = "slurm",
        passes: Literal["batch", "event"] = "batch",
        log: EventLog | None = None,
        report: Callable[[int], None] | None = None,
        slurm_version: str | None = None,
        operation: Operation | None = None,
        seed: int = 0,
        plans_are_seen: bool = True,
    ) -> None:
        conf = conf if slurm_version is None else conf.under(slurm_version)
        ideal, alone = clock == "ideal", passes == "event"
        timing = timing or (NO_DELAYS if ideal else Timing())
        selection = selection if selection is not None else plugins_of(conf)
        priority = selection.plugins[selection.slots["PriorityType"]]
        period = calculation_period(conf, priority)
        operation = operation or Operation()
        bounded = set().union(*(_bounded_by(getattr(action, "text", "")) for _, action in actions))
        cluster = _cluster(conf, requests, timing, selection, operation, ideal, bounded)
        if accounts is not None:
            from emulator.limits.accounting import Accounting

            fair_share, tracks = getattr(priority, "fair_share", None), getattr(priority, "tracks_usage", True)
            cluster.accounting = Accounting(
                conf, accounts, cluster, timing.decays_since, epoch, period, fair_share, tracks
            )
        policies = cluster.policies = Policies(selection, cluster)
        submits = policies.hooks.job_submit or policies.hooks.job_modify
        cluster.plans_are_seen = plans_are_seen or log is not None or bool(submits or actions)
        shared = Part(
            cluster=cluster,
            parameters=cluster.parameters,
            policies=policies,
            timing=timing,
            ideal=ideal,
            agenda=Agenda(alone),
            changes=Changes(),
            telling=telling(cluster, policies, log, report),
            rows=Rows(cluster),
            reservations=Reservations(cluster, bool(actions), free_in_turn),
            checkpoints=Checkpoints(cluster, conf, accounts, preemption),
            operation=operation,
        )
        super().__init__(**vars(shared))
        policies.save(self.checkpoints.unsaved)
        self.asks = self.of_records = True
        self.refused: list[tuple[float, str]] = []
        self._actions = [action for _, action in actions]
        # Under the ideal clock, events of these ranks are followed by a pass of their own.
        self._alone = (Rank.SUBMISSION, Rank.OTHER, Rank.WAKE) if alone else ()
        scheduler = selection.slots["SchedulerType"]
        het_jobs = takes_het_jobs(requests, selection.plugins[scheduler], scheduler)
        self._join_parts(shared, period, requests, het_jobs, alone, seed, epoch)
        # Under the ideal clock each run has an event at its limit.
        sweeps = not ideal or bool(actions) or accounts is not None
        self._ticks = Ticks(shared, self.passes, self.stints, self._standstill, sweeps, period)
        self._use_kernels(compiled)
        self._does = self._doers()
        submissions = (max(request.submit, request.noticed) for request in requests)
        self.agenda.each_at(submissions, "submission", rank=Rank.SUBMISSION)
        for index, (second, _) in enumerate(actions):
            self.agenda.at(second, "command", index)

    def _join_parts(
        self,
        shared: Part,
        period: float,
        requests: Sequence[JobRequest],
        het_jobs: bool,
        alone: bool,
        seed: int,
        epoch: int,
    ) -> None:
        """Make the parts, of which each knows those that it asks."""
        self.passes = Passes(shared, period)
        self.arrivals = Arrivals(shared, self.passes, requests, het_jobs)
        self.rejected = self.arrivals.rejected
        self.stints = Stints(**vars(shared), passes=self.passes, alone=alone)
        parts: dict[str, Any] = {"passes": self.passes, "arrivals": self.arrivals, "stints": self.stints}
        self.endings = Endings(**vars(shared), epoch=epoch, **parts)
        self.stints.give_way = self.endings.give_way
        parts["endings"] = self.endings
        self.starts = Starts(**vars(shared), **parts)
        del parts["arrivals"]
        self.node_states = NodeStates(**vars(shared), **parts, seed=seed, epoch=epoch)
        self.endings.heard = self.node_states.heard
        self.power = self._saving_power(shared, parts, seed)
        self.scheduler = self.passes.scheduler = PluginScheduler(
            self.cluster,
            self.starts,
            self.policies.hooks,
            self.policies,
            self.passes.wake_at,
            self._expects,
            0.0 if self.ideal else self.operation.job_test_time,
        )
        self._standstill = Standstill(**vars(shared), passes=self.passes, period=period)

    def _use_kernels(self, compiled: bool | None) -> None:
        """Have compiled code search for nodes, where it may: it counts units, not memory alone."""
        cluster = self.cluster
        if not cluster.nodes_for.compiled or cluster.machine.shared:
            return
        if are_compiled("Slurm's timing") if compiled is None else compiled:
            from emulator.scheduling.compiled import Compiled

            cluster.compiled = Compiled(cluster)

    def _doers(self) -> dict[Kind, Callable[..., None]]:
        """What is to be called for each kind of event."""
        does: dict[Kind, Callable[..., None]] = {
            "submission": self.arrivals.come,
            "deadline": self.arrivals.too_late,
            "any switch": self.arrivals.take_any_switch,
            "command": self._act,
            "work done": self.endings.work_done,
            "limit": self.endings.limit_reached,
            "ended at limit": self.endings.ended_at_limit,
            "graces": self.endings.sweep_limits,
            "sweep": self.endings.sweep if self.power is None else self.power.sweep,
            "written": self.endings.written,
            "over": self.endings.over,
            "epilog over": self.endings.epilog_over,
            "others clear": self.endings.others_clear,
            "prolog over": self.passes.prolog_over,
            "completed": self.endings.completed,
            "node event": self.node_states.listed,
            "node failure": self.node_states.fail,
            "node repair": self.node_states.repair,
            "node answers": self.node_states.answers,
            "nodes replaced": self.endings.replace_reserved,
            "slice": self.stints.slice,
            "wake": self.passes.wake,
            "due": self.passes.due,
            "pinged": self.passes.pinged,
            "purge": self.passes.purge,
            "may preempt": self.passes.may_preempt,
            "reservation begins": self.passes.reservation_begins,
            "reservation bound": self.passes.reservation_bound,
            "reservation over": self.endings.reservation_over,
            "reservation nears": self.passes.reservation_nears,
            "pass": self.passes.main,
            "main": self.passes.interval,
            "backfill": self.passes.backfill,
            "period": self.passes.calculate,
            "renewal": self.passes.renew,
        }
        if self.power is not None:
            does |= {"power": self.power.look, "node resumed": self.power.resumed}
        return does

    def _saving_power(self, shared: Part, parts: dict[str, Any], seed: int) -> PowerSaving | None:
        """What powers nodes down and up; None where they are always on."""
        if self.cluster.conf.power is None:
            return None
        power = PowerSaving(
            **vars(shared), **parts, node_states=self.node_states, power=self.cluster.conf.power, seed=seed
        )
        self.starts.power = self.endings.power = power
        return power

    def run(self, until: float = math.inf, observe: Callable[[], None] | None = None) -> None:
        """Run until nothing more can happen, or to a second; can go on from there later.

        Args:
            until: the last second.
            observe: is called after every event.
        """
        self._ticks.begin()
        self.changes.observed = observe is not None
        cluster, agenda, ticks, passes, does = self.cluster, self.agenda, self._ticks, self.passes, self._does
        while min(agenda.next, ticks.next) <= until if until < math.inf else not self._idle():
            if ticks.is_next():
                ticks.take(does, until, observe is not None)
            else:
                cluster.now, rank, _, kind, *about = agenda.take()
                void = bool(self._alone) and self._is_void(kind, about)
                does[kind](*about)
                if rank in self._alone and not void and passes.main_at is not None and passes.main_at <= cluster.now:
                    passes.main(passes.main_at)
            if observe is not None:
                observe()

    def _is_void(self, kind: Kind, about: Sequence[Any]) -> bool:
        """Whether an event is about a run that has ended otherwise: no pass follows it."""
        if kind == "ended at limit":
            run = self.cluster.jobs[about[0]].runs[about[1]]
            return bool(run.end != self.cluster.now or run.outcome is State.PREEMPTED)
        return kind in ("work done", "limit") and bool(self.cluster.jobs[about[0]].sequence != about[1])

    @property
    def endless(self) -> str:
        """Why the run gets nowhere, though it goes on; empty if it does not."""
        return self.endings.endless

    def _idle(self) -> bool:
        """Whether nothing can happen any more (:mod:`emulator.engine.standstill`)."""
        return bool(self.endings.endless) or (not self.agenda.to_come and self._standstill.reached(self.starts))

    def _expects(self) -> bool:
        """Whether submissions or commands are to come."""
        return self.agenda.to_come > 0

    def _act(self, index: int) -> None:
        """An operator's command comes now."""
        self.changes.all()
        self.passes.other_rules()
        self.stints.sweep_due = 0.0
        self.cluster.look_again()
        self.asks = self.of_records = done = True
        try:
            self._actions[index](self)
        except InputError as error:
            done = isinstance(error, PartlyRefusedError)
            self.refused.append((self.cluster.now, str(error)))
        if done and self.of_records:
            self.passes.record_changed()
        self.policies.reordered()
        if done and (self.asks or self.ideal):
            self.passes.request_in_turn(self.timing.submit_lag)

    # What a test of a plugin asks for

    def pass_now(self) -> None:
        """Let both loops look at the queue, as if each were due now."""
        self.passes.moved()
        self.passes.main_at = self.cluster.now
        self.passes.main(self.cluster.now)
        if not self.ideal and 0 < self.passes.bf_interval < math.inf:
            self.passes.backfill()

    def finish(self, job: Job) -> None:
        """The work of a running job is done now."""
        job.requeue_after = False
        self.endings.over(job.id, State.COMPLETED, job.sequence)


def _bounded_by(command: str) -> set[str]:
    """The partition of which a command bounds the CPUs of each node; none for others."""
    words = {name.lower(): value for name, _, value in (word.partition("=") for word in command.split())}
    bounds = any("maxcpuspernode".startswith(name) for name in words if len(name) >= len("maxc"))
    return {value for name, value in words.items() if bounds and "partitionname".startswith(name) and value}


def _cluster(
    conf: SlurmConf,
    requests: Sequence[JobRequest],
    timing: Timing,
    selection: Selection,
    operation: Operation,
    ideal: bool,
    bounded: Collection[str],
) -> Cluster:
    """The cluster of a configuration, for some submissions."""
    parameters = without_delays(parameters_of(conf)) if ideal else parameters_of(conf)
    by_socket = any(request.options.asks_by_socket for request in requests)
    return Cluster(conf, parameters, selection, operation.groups, timing.second_phase, by_socket, bounded)
