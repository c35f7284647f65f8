"""What preemption does to a run: the options of the three modes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Literal, get_args

from slurm_sim_plugins.errors import ConfigurationError

Mode = Literal["REQUEUE", "CHECKPOINT", "SUSPEND"]
Checkpoint = Literal["interval", "share", "jit"]
LEAST_INTERVAL = 1e-6
"""Seconds; the clock knows nothing shorter."""


@dataclass(frozen=True)
class Preemption:
    """What becomes of a run that is preempted. Every option is a key of ``[preemption]`` in an experiment file.

    Attributes:
        mode: ``REQUEUE``: the run is killed, its job starts over. ``CHECKPOINT``: its job
            goes on from the last checkpoint. ``SUSPEND``: its job goes on where it
            stopped, on any processors, as a virtual machine can.
        checkpoint: when checkpoints are written. ``interval``: after each ``interval``
            seconds of progress. ``share``: so often that they take at most ``share`` of
            the limit, evenly spaced. ``jit``: just in time, when the run is preempted. Jobs with
            the fact ``realtime`` of 1 write none at intervals: they are not preempted.
        interval: seconds of progress between two checkpoints.
        share: the part of the limit that checkpoints may take.
        cost: seconds that one checkpoint takes, during which its run makes no progress;
            with ``SUSPEND``, seconds that suspending and resuming take together, at the
            beginning of the next run.
        restart_cost: seconds to read a checkpoint, at the beginning of the next run.
        gb_per_processor: memory that a checkpoint holds. Where it is more than 0, ``cost``
            and ``restart_cost`` of a job follow from its size and the bandwidth.
        gb_per_second_per_processor: bandwidth that comes with each processor of the job.
        gb_per_second: bandwidth that there is in all; no job has more.
        slowdown: with ``SUSPEND``, by how much virtual machines slow every run down: 0.05
            makes it last 1.05 times as long.

    Source: the papers on PV-EASY, 2014, section 5.3; for ``share``, ``jit`` and the size
    of checkpoints the paper on real-time jobs on Mira, section 4.2.

    Raises:
        ConfigurationError: a value that makes no sense.
    """

    mode: Mode = "REQUEUE"
    checkpoint: Checkpoint = "interval"
    interval: float = 3600.0
    share: float = 0.1
    cost: float = 60.0
    restart_cost: float = 0.0
    gb_per_processor: float = 0.0
    gb_per_second_per_processor: float = 0.03125
    gb_per_second: float = 216.0
    slowdown: float = 0.05

    def __post_init__(self) -> None:
        self._one_of("mode", get_args(Mode))
        self._one_of("checkpoint", get_args(Checkpoint))
        for option in ("cost", "restart_cost", "gb_per_processor", "slowdown"):
            self._require(option, lambda value: value >= 0, "0 or more")
        self._require("interval", lambda value: value >= LEAST_INTERVAL, f"at least {LEAST_INTERVAL:.6f}")
        for option in ("gb_per_second_per_processor", "gb_per_second"):
            self._require(option, lambda value: value > 0, "more than 0")
        self._require("share", lambda value: 0 < value <= 1, "more than 0 and at most 1")
        if (self.mode, self.checkpoint) == ("CHECKPOINT", "interval") and self._costs_too_much():
            raise ConfigurationError(
                f"preemption.cost of {self.cost:g} s is more than the interval of {self.interval:g} s: runs would "
                "spend most of their time on checkpoints; give a longer interval"
            )

    def _costs_too_much(self) -> bool:
        """Whether a checkpoint takes longer than what it saves; the cost that follows from a size is what it is."""
        return self.cost > self.interval and not self.gb_per_processor

    @property
    def overhead(self) -> bool:
        """Whether runs may last longer than their work."""
        return self.mode != "REQUEUE"

    def write_cost(self, processors: int) -> float:
        """Seconds that one checkpoint of a job takes."""
        return self._transfer(processors) if self.gb_per_processor else self.cost

    def read_cost(self, processors: int) -> float:
        """Seconds that a job takes to go on from a checkpoint."""
        return self._transfer(processors) if self.gb_per_processor else self.restart_cost

    def _transfer(self, processors: int) -> float:
        bandwidth = min(processors * self.gb_per_second_per_processor, self.gb_per_second)
        return self.gb_per_processor * processors / bandwidth

    def _one_of(self, option: str, choices: tuple[str, ...]) -> None:
        value = getattr(self, option)
        if value not in choices:
            raise ConfigurationError(f"preemption.{option} is one of {', '.join(choices)}, not {value!r}")

    def _require(self, option: str, rule: Callable[[float], bool], accepted: str) -> None:
        value = getattr(self, option)
        if not isinstance(value, Real) or isinstance(value, bool) or not math.isfinite(value) or not rule(float(value)):
            raise ConfigurationError(f"preemption.{option} is {value!r}; give a finite number, {accepted}")
