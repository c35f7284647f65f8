"""The parameters of ``slurm.conf`` that the controller goes by, as typed values."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace

from emulator.config.slurm.model import SlurmConf
from emulator.config.slurm.settings import Settings
from emulator.config.slurm.versions import Rules
from slurm_sim_plugins.errors import ConfigurationError

DEFAULT_EXPIRE = 120.0
"""Seconds for which a credential is valid where ``AuthInfo`` does not say (observation P7)."""
AS_GOOD_AS_THERE = 1e-6
"""Of a second or a round: what is as near to the next one counts as that."""
_CODES = re.compile(r"([0-9]{1,3})(?:-([0-9]{1,3}))?")


@dataclass(frozen=True)
class Timing:
    """What real daemons take their time for; in seconds.

    Attributes:
        submit_lag: from a submission to the pass of the main loop that it brings about.
        end_lag: from the end of a job to that pass.
        job_overhead: what a run takes longer than its work: launch and epilog; a run that is killed takes half of it.
        sweep_phase: when the sweep for exceeded limits falls, modulo 30 s.
        backfill_phase: how long before the first submission backfill went to sleep first.
        uptime: how long before it the controller was started, from which ``PriorityCalcPeriod`` and ``sched_interval``
            count.
        second_phase: what is added to a time before usage and ages are counted in whole seconds.
        slice_phase: how long before multiples of their length time slices of gang scheduling end.
        round: from one round of the controller's loop, which makes the passes, to the next; 0 where rounds are not
            known, and lags are means.
        round_phase: when it goes round first.
        glance: seconds that pass while backfill's thread sleeps for one.
        glance_phase: when it wakes up first, modulo that; None where that is not known.
        ping: from one ping of the nodes to the next; 0: a third of ``SlurmdTimeout``.

    Source: means over the recorded runs.
    """

    submit_lag: float = 0.55
    end_lag: float = 0.75
    job_overhead: float = 0.35
    sweep_phase: float = 29.0
    backfill_phase: float = 1.5
    uptime: float = 9.0
    second_phase: float = 0.0
    slice_phase: float = 1.0
    round: float = 0.0
    round_phase: float = 0.0
    glance: float = 1.0
    glance_phase: float | None = None
    ping: float = 0.0

    def round_at(self, at: float) -> float:
        """The first round at a time or later, in seconds; that time itself where rounds are not known."""
        if not self.round:
            return at
        return self.round_phase + math.ceil((at - self.round_phase) / self.round - AS_GOOD_AS_THERE) * self.round

    def round_after(self, at: float, seconds: float) -> float:
        """The first round at which the clock shows so many whole seconds more than at another time."""
        shown = math.floor(at + self.second_phase + AS_GOOD_AS_THERE) + seconds
        return self.round_at(shown - self.second_phase)


NO_DELAYS = Timing(submit_lag=0.0, end_lag=0.0, job_overhead=0.0, uptime=0.0)
"""Of the ideal clock, under which daemons take no time."""


@dataclass(frozen=True)
class Parameters:
    """Parameters by what they govern; seconds, counts, flags. Names as in ``slurm.conf``; and the version's rules."""

    bf_min_prio_reserve: int
    bf_min_age_reserve: float
    bf_licenses: bool
    default_queue_depth: int
    partition_job_depth: int
    sched_interval: float
    sched_min_interval: float
    sched_max_job_start: int
    max_sched_time: float
    batch_sched_delay: float
    defer: bool
    least_loaded: bool
    memory: bool
    fill_sockets: bool
    one_task_per_core: bool
    whole_cores: bool
    allow_zero_lic: bool
    whole_hetjob: bool
    ignore_constraint_validation: bool
    ignore_prefer_validation: bool
    time_min_as_soft_limit: bool
    max_array_size: int
    max_array_tasks: int
    max_job_count: float
    max_switch_wait: float
    pack_serial_at_end: bool
    preempt_mode: tuple[str, ...]
    preempt_exempt_time: float
    preempt_reorder_count: int
    preempt_strict_order: bool
    preempt_reclaim_licenses: bool
    preempt_min_exempt_priority: float
    preempt_pause: float
    kill_wait: float
    slurmd_timeout: float
    return_to_service: int
    complete_wait: float
    reduce_completing_frag: bool
    over_time_limit: float
    resv_over_run: float
    requeue_hold: float
    job_requeue: bool
    requeue_exit: frozenset[int]
    requeue_exit_hold: frozenset[int]
    kill_invalid_depend: bool
    max_depend_depth: int
    enforce_part_limits: str
    time_slice: float
    def_mem_per_cpu: float | None
    def_mem_per_node: float | None
    def_mem_per_gpu: float | None
    def_cpu_per_gpu: int
    max_mem_per_cpu: float | None
    max_mem_per_node: float | None
    rules: Rules

    @property
    def has_thresholds(self) -> bool:
        """Whether a priority is compared with a number or with that of a run, and not only with those in the queue."""
        exempts = self.preempt_min_exempt_priority < float("inf") or "PRIORITY" in self.preempt_mode
        return bool(self.bf_min_prio_reserve) or exempts


def parameters_of(conf: SlurmConf) -> Parameters:
    """The parameters of a configuration, with Slurm's defaults."""
    stated = conf.parameters

    def option(name: str) -> str:
        return f"SchedulerParameters.{name}"

    def seconds(name: str, default: float) -> float:
        value = stated.amount(name)
        return default if value is None else value

    def bound(name: str, default: int = 0) -> int:
        name = name if "." in name else option(name)
        return stated.count(name) if name in stated else default

    select = {word.upper() for word in stated.words("SelectTypeParameters")}
    return Parameters(
        bf_min_prio_reserve=bound("bf_min_prio_reserve"),
        bf_min_age_reserve=seconds(option("bf_min_age_reserve"), 0.0),
        bf_licenses=stated.flag(option("bf_licenses")),
        default_queue_depth=bound("default_queue_depth", 100),
        partition_job_depth=bound("partition_job_depth"),
        # 0: at each turn of the controller, which takes one a second.
        sched_interval=_interval(stated, "sched_interval", 60.0) or 1.0,
        sched_min_interval=seconds(option("sched_min_interval"), 0.0),
        sched_max_job_start=bound("sched_max_job_start"),
        max_sched_time=seconds(option("max_sched_time"), 2.0),
        batch_sched_delay=seconds(option("batch_sched_delay"), 3.0),
        defer=stated.flag(option("defer")),
        least_loaded="CR_LLN" in select,
        memory=any("MEMORY" in word for word in select),
        fill_sockets="CR_CORE_DEFAULT_DIST_BLOCK" in select,
        one_task_per_core="CR_ONE_TASK_PER_CORE" in select,
        whole_cores=not any("CR_CPU" in word for word in select),
        allow_zero_lic=stated.flag(option("allow_zero_lic")),
        whole_hetjob=stated.flag(option("whole_hetjob")),
        ignore_prefer_validation=stated.flag(option("ignore_prefer_validation")),
        ignore_constraint_validation=stated.flag(option("ignore_constraint_validation")),
        time_min_as_soft_limit=stated.flag(option("time_min_as_soft_limit")),
        max_array_size=stated.count("MaxArraySize"),
        max_array_tasks=bound("max_array_tasks", stated.count("MaxArraySize")),
        # Slurm's default would refuse much of a log that another system's users have written.
        max_job_count=float(stated.count("MaxJobCount")) if "MaxJobCount" in stated else float("inf"),
        max_switch_wait=seconds(option("max_switch_wait"), 300.0),
        pack_serial_at_end=stated.flag(option("pack_serial_at_end")),
        preempt_mode=tuple(word.upper() for word in stated.words("PreemptMode")),
        preempt_exempt_time=seconds("PreemptExemptTime", 0.0),
        preempt_reorder_count=bound("PreemptParameters.reorder_count", 1),
        preempt_strict_order=stated.flag("PreemptParameters.strict_order"),
        preempt_reclaim_licenses=stated.flag("PreemptParameters.reclaim_licenses"),
        preempt_min_exempt_priority=seconds("PreemptParameters.min_exempt_priority", float("inf")),
        preempt_pause=seconds("KillWait", 30.0) + seconds("MessageTimeout", 10.0),
        kill_wait=seconds("KillWait", 30.0),
        slurmd_timeout=seconds("SlurmdTimeout", 300.0),
        return_to_service=stated.count("ReturnToService") if "ReturnToService" in stated else 0,
        complete_wait=seconds("CompleteWait", 0.0),
        reduce_completing_frag=stated.flag(option("reduce_completing_frag")),
        over_time_limit=seconds("OverTimeLimit", 0.0),
        resv_over_run=seconds("ResvOverRun", 0.0),
        requeue_hold=seconds(option("requeue_delay"), _credential_expires(stated.words("AuthInfo"))) + 1,
        job_requeue=bool(stated.count("JobRequeue")) if "JobRequeue" in stated else True,
        requeue_exit=_exit_codes(stated, "RequeueExit"),
        requeue_exit_hold=_exit_codes(stated, "RequeueExitHold"),
        kill_invalid_depend=stated.flag("DependencyParameters.kill_invalid_depend"),
        max_depend_depth=bound("DependencyParameters.max_depend_depth", 10),
        enforce_part_limits=stated.text("EnforcePartLimits").upper(),
        time_slice=seconds("SchedulerTimeSlice", 30.0),
        def_mem_per_cpu=stated.amount("DefMemPerCPU"),
        def_mem_per_node=stated.amount("DefMemPerNode"),
        def_mem_per_gpu=stated.amount("DefMemPerGPU"),
        def_cpu_per_gpu=stated.count("DefCpuPerGPU"),
        max_mem_per_cpu=stated.amount("MaxMemPerCPU"),
        max_mem_per_node=stated.amount("MaxMemPerNode"),
        rules=conf.rules,
    )


def _interval(stated: Settings, name: str, default: float) -> float:
    """Seconds between two turns of a loop; infinite for -1, which switches it off."""
    seconds = stated.amount(f"SchedulerParameters.{name}")
    return math.inf if seconds == -1 else default if seconds is None else seconds


def without_delays(parameters: Parameters) -> Parameters:
    """The parameters under the ideal clock: no pass waits for another."""
    return replace(parameters, batch_sched_delay=0.0, sched_min_interval=0.0, kill_wait=0.0, preempt_pause=0.0)


def _exit_codes(stated: Settings, name: str) -> frozenset[int]:
    """``"1-9,18"`` as numbers.

    Raises:
        ConfigurationError: it is written otherwise.
    """
    codes: set[int] = set()
    for part in filter(None, stated.text(name).split(",")):
        found = _CODES.fullmatch(part)
        if found is None:
            raise ConfigurationError(
                f"{stated.location(name)}: {name}: {part!r} is neither an exit code nor a range of them such as 1-9"
            )
        codes.update(range(int(found[1]), int(found[2] or found[1]) + 1))
    return frozenset(codes)


def _credential_expires(auth_info: tuple[str, ...]) -> float:
    for word in auth_info:
        name, _, value = word.partition("=")
        if name.strip().lower() == "cred_expire" and value.isdigit():
            return float(value)
    return DEFAULT_EXPIRE
