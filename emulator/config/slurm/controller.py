"""The parameters of ``slurm.conf`` that the controller goes by, as typed values."""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import Any

from emulator.config.slurm.model import SlurmConf
from emulator.config.slurm.settings import Settings
from emulator.config.slurm.versions import Rules
from slurm_sim_plugins.errors import ConfigurationError

DEFAULT_EXPIRE = 120.0
"""Seconds for which a credential is valid where ``AuthInfo`` does not say (observation P7)."""
AS_GOOD_AS_THERE = 1e-6
"""Of a second or a round: what is as near to the next one counts as that."""
TOO_CLOSE = 0.02
"""Seconds within which it is chance whether a round that was not seen comes before or after something."""
NEARBY = 1.5
"""Seconds by which a pass that was seen may lie beside when it was to be."""
SURE = 8.0
"""Seconds between two rounds that were seen, at most, within which those between are known."""
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
        uptime: how long before it the controller was started, from which ``sched_interval`` counts.
        decay_phase: the same of the thread from which ``PriorityCalcPeriod`` counts; None for as long.
        second_phase: what is added to a time before usage and ages are counted in whole seconds.
        slice_phase: how long before multiples of their length time slices of gang scheduling end.
        round: from one round of the controller's loop, which makes the passes, to the next; 0 where rounds are not
            known, and lags are means.
        round_phase: when it goes round first.
        rounds_seen: some rounds as they were, ascending: how long one takes differs with load, and no sum of them is.
        glance: seconds that pass while backfill's thread sleeps for one.
        glance_phase: when it wakes up first, modulo that; None where that is not known.
        glances_seen: when it woke up and went round, ascending: another thread may hold it up.
        ping: from one ping of the nodes to the next; 0: a third of ``SlurmdTimeout``.
        settled: whether no pass was made for longer than ``batch_sched_delay`` before the first submission.

    Source: means over the recorded runs.
    """

    submit_lag: float = 0.55
    end_lag: float = 0.75
    job_overhead: float = 0.35
    sweep_phase: float = 29.0
    backfill_phase: float = 1.5
    uptime: float = 9.0
    decay_phase: float | None = None
    second_phase: float = 0.0
    slice_phase: float = 1.0
    round: float = 0.0
    round_phase: float = 0.0
    rounds_seen: tuple[float, ...] = ()
    glance: float = 1.0
    glance_phase: float | None = None
    glances_seen: tuple[float, ...] = ()
    ping: float = 0.0
    settled: bool = False

    @property
    def decays_since(self) -> float:
        """When the thread began that lets usage decay and works out priorities."""
        return -(self.uptime if self.decay_phase is None else self.decay_phase)

    def round_at(self, at: float) -> float:
        """The first round at a time or later, in seconds; that time itself where rounds are not known.

        Between two that were seen they are as far apart as these allow, before the first and behind the last as usual.
        """
        if not self.round:
            return at
        seen, step = self.rounds_seen, self.round
        behind = bisect_right(seen, at)
        base = seen[max(behind - 1, 0)] if seen else self.round_phase
        if 0 < behind < len(seen):
            between = seen[behind] - base
            step = between / max(round(between / step), 1)
        return base + math.ceil((at - base) / step - AS_GOOD_AS_THERE) * step

    def pass_at(self, at: float) -> float:
        """The round that makes a pass which is asked for at a time.

        Rounds between two passes that were seen made none: one that comes right behind the time had gone by already.
        """
        found, seen = self.round_at(at), self.rounds_seen
        behind = bisect_right(seen, found + AS_GOOD_AS_THERE)
        # Where none was seen for long it is not known well when the loop went round.
        known = 0 < behind < len(seen) and seen[behind] - seen[behind - 1] < SURE
        made_none = known and found - seen[behind - 1] > AS_GOOD_AS_THERE
        return self.round_at(found + TOO_CLOSE) if made_none and found - at < TOO_CLOSE else found

    def may_pass_at(self, at: float) -> bool:
        """Whether a pass was seen at a time or a little before or behind it, or it is not known."""
        seen = self.rounds_seen
        behind = bisect_left(seen, at - NEARBY)
        return not 0 < behind < len(seen) or seen[behind] < at + NEARBY

    def seen_within(self, at: float, seconds: float) -> float | None:
        """The first pass that was seen behind a time, within so many seconds; None for none."""
        behind = bisect_right(self.rounds_seen, at)
        found = self.rounds_seen[behind] if behind < len(self.rounds_seen) else math.inf
        return found if found < at + seconds else None

    def glance_at(self, at: float) -> float:
        """When backfill's thread wakes up that is to wake up at a time: when it was seen to if that is near."""
        place = bisect_left(self.glances_seen, at)
        near = min(self.glances_seen[max(place - 1, 0) : place + 1], key=lambda seen: abs(seen - at), default=at)
        return near if abs(near - at) < self.glance / 2 else at

    def round_after(self, at: float, seconds: float) -> float:
        """The first round at which the clock shows so many whole seconds more than at another time."""
        shown = math.floor(at + self.second_phase + AS_GOOD_AS_THERE) + seconds
        return self.round_at(shown - self.second_phase)

    def second_round_at(self, at: float) -> float:
        """The first of the rounds at a time or later that look at what comes up every two seconds.

        That is counted in whole seconds of the clock, from the one in which the controller began.
        """
        begun = math.floor(self.second_phase - self.uptime)
        if not self.round:
            return begun - self.second_phase + math.ceil((at + self.second_phase - begun) / 2) * 2
        found = self.round_at(at)
        shown = math.floor(found + self.second_phase + TOO_CLOSE)
        return self.round_at(found + self.round / 2) if (shown - begun) % 2 else found


NO_DELAYS = Timing(submit_lag=0.0, end_lag=0.0, job_overhead=0.0, uptime=0.0)
"""Of the ideal clock, under which daemons take no time."""


def _read(how: Callable[[Settings], Any]) -> Any:
    """A parameter, and how it is read from what a configuration states."""
    return field(metadata={"read": how})


def _key(name: str) -> str:
    """Where a parameter stands: one in small letters among ``SchedulerParameters``."""
    return f"SchedulerParameters.{name}" if name.islower() else name


def _count(name: str, default: int = 0) -> Any:
    key = _key(name)
    return _read(lambda stated: stated.count(key) if key in stated else default)


def _seconds(name: str, default: float = 0.0) -> Any:
    return _read(lambda stated: _amount_of(stated, _key(name), default))


def _amount(name: str) -> Any:
    return _read(lambda stated: stated.amount(name))


def _flag(name: str) -> Any:
    return _read(lambda stated: stated.flag(_key(name)))


def _selects(word: str) -> Any:
    """Whether a word is among ``SelectTypeParameters``."""
    return _read(lambda stated: word in _of_select(stated))


def _amount_of(stated: Settings, key: str, default: float) -> float:
    value = stated.amount(key)
    return default if value is None else value


def _hetjob_prio(stated: Settings) -> str:
    """By which of their priorities components stand together in the queue, that of the main loop, too."""
    said = stated.text(_key("bf_hetjob_prio")).upper()
    return said or ("MIN" if stated.flag(_key("bf_hetjob_immediate")) else "NONE")


def _of_select(stated: Settings) -> list[str]:
    return [word.upper() for word in stated.words("SelectTypeParameters")]


@dataclass(frozen=True)
class Parameters:
    """Parameters by what they govern: seconds, counts, flags; with each, where it stands, and Slurm's default.

    Names are as in ``slurm.conf``. With them go the version's rules.
    """

    rules: Rules
    bf_min_prio_reserve: int = _count("bf_min_prio_reserve")
    bf_min_age_reserve: float = _seconds("bf_min_age_reserve")
    bf_licenses: bool = _flag("bf_licenses")
    bf_running_job_reserve: bool = _read(
        lambda stated: stated.flag(_key("bf_running_job_reserve")) or stated.flag(_key("bf_licenses"))
    )
    bf_hetjob_prio: str = _read(lambda stated: _hetjob_prio(stated))
    default_queue_depth: int = _count("default_queue_depth", 100)
    partition_job_depth: int = _count("partition_job_depth")
    # 0: at each turn of the controller, which takes one a second.
    sched_interval: float = _read(lambda stated: _interval(stated, "sched_interval", 60.0) or 1.0)
    sched_min_interval: float = _seconds("sched_min_interval")
    sched_max_job_start: int = _count("sched_max_job_start")
    max_sched_time: float = _seconds("max_sched_time", 2.0)
    batch_sched_delay: float = _seconds("batch_sched_delay", 3.0)
    defer: bool = _flag("defer")
    least_loaded: bool = _selects("CR_LLN")
    memory: bool = _read(lambda stated: any("MEMORY" in word for word in _of_select(stated)))
    fill_sockets: bool = _selects("CR_CORE_DEFAULT_DIST_BLOCK")
    one_task_per_core: bool = _selects("CR_ONE_TASK_PER_CORE")
    whole_cores: bool = _read(lambda stated: not any("CR_CPU" in word for word in _of_select(stated)))
    allow_zero_lic: bool = _flag("allow_zero_lic")
    whole_hetjob: bool = _flag("whole_hetjob")
    ignore_constraint_validation: bool = _flag("ignore_constraint_validation")
    ignore_prefer_validation: bool = _flag("ignore_prefer_validation")
    time_min_as_soft_limit: bool = _flag("time_min_as_soft_limit")
    max_array_size: int = _read(lambda stated: stated.count("MaxArraySize"))
    max_array_tasks: int = _read(
        lambda stated: stated.count(_key("max_array_tasks" if _key("max_array_tasks") in stated else "MaxArraySize"))
    )
    # Slurm's default would refuse much of a log that another system's users have written.
    max_job_count: float = _read(
        lambda stated: float(stated.count("MaxJobCount")) if "MaxJobCount" in stated else math.inf
    )
    max_switch_wait: float = _seconds("max_switch_wait", 300.0)
    pack_serial_at_end: bool = _flag("pack_serial_at_end")
    preempt_mode: tuple[str, ...] = _read(lambda stated: tuple(word.upper() for word in stated.words("PreemptMode")))
    preempt_exempt_time: float = _seconds("PreemptExemptTime")
    preempt_reorder_count: int = _count("PreemptParameters.reorder_count", 1)
    preempt_strict_order: bool = _flag("PreemptParameters.strict_order")
    preempt_reclaim_licenses: bool = _flag("PreemptParameters.reclaim_licenses")
    preempt_send_user_signal: bool = _flag("PreemptParameters.send_user_signal")
    preempt_min_exempt_priority: float = _seconds("PreemptParameters.min_exempt_priority", math.inf)
    preempt_pause: float = _read(
        lambda stated: _amount_of(stated, "KillWait", 30.0) + _amount_of(stated, "MessageTimeout", 10.0)
    )
    kill_wait: float = _seconds("KillWait", 30.0)
    slurmd_timeout: float = _seconds("SlurmdTimeout", 300.0)
    return_to_service: int = _count("ReturnToService")
    complete_wait: float = _seconds("CompleteWait")
    reduce_completing_frag: bool = _flag("reduce_completing_frag")
    over_time_limit: float = _seconds("OverTimeLimit")
    resv_over_run: float = _seconds("ResvOverRun")
    requeue_hold: float = _read(lambda stated: _requeue_hold(stated))
    job_requeue: bool = _read(lambda stated: bool(stated.count("JobRequeue")) if "JobRequeue" in stated else True)
    requeue_exit: frozenset[int] = _read(lambda stated: _exit_codes(stated, "RequeueExit"))
    requeue_exit_hold: frozenset[int] = _read(lambda stated: _exit_codes(stated, "RequeueExitHold"))
    kill_invalid_depend: bool = _flag("DependencyParameters.kill_invalid_depend")
    max_depend_depth: int = _count("DependencyParameters.max_depend_depth", 10)
    enforce_part_limits: str = _read(lambda stated: stated.text("EnforcePartLimits").upper())
    time_slice: float = _seconds("SchedulerTimeSlice", 30.0)
    def_mem_per_cpu: float | None = _amount("DefMemPerCPU")
    def_mem_per_node: float | None = _amount("DefMemPerNode")
    def_mem_per_gpu: float | None = _amount("DefMemPerGPU")
    def_cpu_per_gpu: int = _read(lambda stated: stated.count("DefCpuPerGPU"))
    max_mem_per_cpu: float | None = _amount("MaxMemPerCPU")
    max_mem_per_node: float | None = _amount("MaxMemPerNode")

    @property
    def has_thresholds(self) -> bool:
        """Whether a priority is compared with a number or with that of a run, and not only with those in the queue."""
        exempts = self.preempt_min_exempt_priority < float("inf") or "PRIORITY" in self.preempt_mode
        return bool(self.bf_min_prio_reserve) or exempts


def parameters_of(conf: SlurmConf) -> Parameters:
    """The parameters of a configuration, with Slurm's defaults."""
    read = {each.name: each.metadata["read"] for each in fields(Parameters) if "read" in each.metadata}
    return Parameters(conf.rules, **{name: how(conf.parameters) for name, how in read.items()})


def _requeue_hold(stated: Settings) -> float:
    """Seconds before a requeued job may start again: its credential is to have expired."""
    return _amount_of(stated, _key("requeue_delay"), _credential_expires(stated.words("AuthInfo"))) + 1


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
