"""The options of one simulation."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(frozen=True)
class Config:
    """How to simulate. Every option is a key of ``[simulation]`` in an experiment file.

    Attributes:
        processors: size of the machine; None takes what the trace states.
        slots: plugin name by configuration key, such as ``SchedulerType``.
        plugin_options: options by plugin name.
        timing: ``ideal``: decisions take no time, as the papers assume.
        passes: ``batch`` or ``event``: what happens at one instant, see
            :mod:`emulator.engine.loop`. The default is what most papers imply.
        kill_at_limit: whether a job that reaches its limit is killed, as Slurm does.
        dispatch: ``resolved`` calls a hook's one implementation directly, ``pluggy``
            always goes through pluggy. The schedule is the same; for debugging.
        compiled: use compiled kernels (the extra ``compiled``) where there are some. The
            schedule is the same. The default: if numba is installed.
        seed: of all random streams.
    """

    processors: int | None = None
    slots: Mapping[str, str] = field(default_factory=dict)
    plugin_options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    timing: Literal["ideal"] = "ideal"
    passes: Literal["batch", "event"] = "batch"
    kill_at_limit: bool = True
    dispatch: Literal["resolved", "pluggy"] = "resolved"
    compiled: bool = field(default_factory=lambda: importlib.util.find_spec("numba") is not None)
    seed: int = 0
