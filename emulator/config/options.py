"""The options of one simulation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import Any, Literal, get_args

from emulator.config.operation import Operation
from emulator.config.preemption import Preemption
from emulator.config.slurm.versions import emulated_version
from slurm_sim_plugins.errors import ConfigurationError

Passes = Literal["batch", "event"]
Clock = Literal["slurm", "ideal"]
Expired = Literal["limit", "now", "tsafrir", "again"]
MANY = 100
"""Jobs. Fewer are simulated in less time than kernels take to load: 0.4 s of CPU against 1, and 10 the first time."""
DECIDED = ("processors", "kill_at_limit", "expired", "dispatch")
"""Options that are those of a ``slurm.conf`` on its cluster."""

SLOT_OPTIONS = {
    "scheduler": "SchedulerType",
    "priority": "PriorityType",
    "backfill": "BackfillType",
    "preempt": "PreemptType",
    "select": "SelectType",
    "walltime": "WalltimeType",
    "execution": "ExecutionType",
    "job_submit": "JobSubmitPlugins",
    "site_factor": "PrioritySiteFactorPlugin",
}
"""The short option for each slot, on the command line and in Python."""


@dataclass(frozen=True)
class Config:
    """How to simulate. Every option is a key of ``[simulation]`` in an experiment file.

    Attributes:
        processors: size of the machine; None takes what the trace states.
        slots: plugin name by configuration key, such as ``SchedulerType``.
        plugin_options: options by plugin name.
        clock: ``ideal``: decisions take no time, as the papers assume; ``slurm``, on the cluster of a ``slurm.conf``:
            the ticks and delays of Slurm's daemons. None takes that of the machine: Slurm's where there is a
            ``slurm.conf``, else ideal.
        slurm_version: on the cluster of a ``slurm.conf``: ``22.05``, ``24.11`` or ``26.05``, whose rules hold. None
            takes that of the recording, where the workload is one, else the newest.
        passes: ``batch`` or ``event``: what happens at one instant, see
            :mod:`emulator.engine.loop`. The default is what most papers imply.
        kill_at_limit: whether a job that reaches its limit is killed, as Slurm does.
        expired: what a run that outlives its planned end is planned with. ``limit``: its
            limit, which is safe; ``now``: it may end at any time; ``tsafrir``: corrections
            that grow from 1 minute to 100 hours. One that outlives its limit counts as now.
            ``again``: its limit, and another such limit whenever one has passed.
        preemption: what becomes of a run that is preempted; the table ``[preemption]``.
        operation: what happens to the nodes of a ``slurm.conf``; the table ``[operation]``.
        seed: of the random numbers that plugins draw; each plugin has a stream of its own.
        dispatch: ``resolved`` calls a hook's one implementation directly, ``pluggy``
            always goes through pluggy. The schedule is the same; for debugging.
        compiled: use compiled kernels where there are some. The schedule is the
            same. The default: if kernels are compiled and there are at least :data:`MANY`
            jobs; fewer are done before kernels are loaded. False also keeps runs of stock
            plugins from the compiled loop (:mod:`emulator.engine.stock`).
        explain: whether to record, in the event log, who decided what and why, for
            ``slurm-sim explain``. The schedule is the same; the run takes longer.
    """

    processors: int | None = None
    slots: Mapping[str, str] = field(default_factory=dict)
    plugin_options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    clock: Clock | None = None
    slurm_version: str | None = None
    passes: Passes = "batch"
    kill_at_limit: bool = True
    expired: Expired = "limit"
    preemption: Preemption = field(default_factory=Preemption)
    operation: Operation = field(default_factory=Operation)
    seed: int = 0
    dispatch: Literal["resolved", "pluggy"] = "resolved"
    compiled: bool | None = None
    explain: bool = False

    def __post_init__(self) -> None:
        if self.clock is not None:
            self._one_of("clock", get_args(Clock))
        if self.slurm_version is not None:
            emulated_version(self.slurm_version)
        self._one_of("passes", get_args(Passes))
        self._one_of("expired", get_args(Expired))
        if not isinstance(self.seed, Integral) or isinstance(self.seed, bool) or self.seed < 0:
            raise ConfigurationError(f"seed is {self.seed!r}; give a whole number, 0 or more")
        if not isinstance(self.preemption, Preemption):
            raise ConfigurationError(
                f"preemption is {self.preemption!r}; give a Preemption, from emulator.config.preemption"
            )
        if not isinstance(self.operation, Operation):
            raise ConfigurationError(
                f"operation is {self.operation!r}; give an Operation, from emulator.config.operation"
            )
        self._one_of("dispatch", ("resolved", "pluggy"))

    def on_cluster(self) -> Config:
        """The options on the cluster of a ``slurm.conf``, with its default clock.

        Raises:
            ConfigurationError: one that the file decides.
        """
        usual = Config()
        stated = [name for name in DECIDED if getattr(self, name) != getattr(usual, name)]
        if stated:
            raise ConfigurationError(
                "with a slurm.conf or a scenario machine and policy come from that file; "
                f"leave out {', '.join(sorted(stated))}, or change the file"
            )
        clock = self.clock or "slurm"
        if clock == "slurm" and self.passes != "batch":
            raise ConfigurationError("passes is for the ideal clock; leave passes out, or give clock=ideal")
        return replace(self, clock=clock)

    def kernels(self, jobs: int) -> bool | None:
        """Whether to use compiled kernels for so many jobs; None if that depends on whether kernels are compiled."""
        return False if self.compiled is None and jobs < MANY else self.compiled

    def _one_of(self, option: str, choices: tuple[str, ...]) -> None:
        value = getattr(self, option)
        if value not in choices:
            raise ConfigurationError(f"{option} is one of {', '.join(choices)}, not {value!r}")


def resolve_slots(options: Mapping[str, Any]) -> tuple[dict[str, str], dict[str, Any]]:
    """Part options into slots, by their short names, and the rest."""
    given = {SLOT_OPTIONS[name]: value for name, value in options.items() if name in SLOT_OPTIONS and value is not None}
    slots = {slot: ",".join(value) if isinstance(value, list | tuple) else value for slot, value in given.items()}
    return slots, {name: value for name, value in options.items() if name not in SLOT_OPTIONS}
