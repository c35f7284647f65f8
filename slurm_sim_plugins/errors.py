"""Errors, each with the exit code of its kind.

A message says what was wrong, where, and what to do about it.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class SlurmSimError(Exception):
    """Base of every error that this project raises on purpose."""

    exit_code = 1


class ConfigurationError(SlurmSimError):
    """An option, a slot or a plugin name that cannot be used (exit code 2)."""

    exit_code = 2


class InputError(SlurmSimError):
    """A trace or a file that cannot be read as what it claims to be (exit code 3)."""

    exit_code = 3


class PluginError(SlurmSimError):
    """A plugin that failed or asked for something impossible (exit code 4).

    Attributes:
        plugin: name of the plugin, such as ``sched/easy``.
        hook: name of the hook that was called, or None while loading.
        job: id of the job concerned, or None.
        time: simulated time in seconds on the workload's clock, or None.
        where: ``file:line`` in the plugin's own source, or None.
    """

    exit_code = 4

    def __init__(
        self,
        message: str,
        *,
        plugin: str,
        hook: str | None = None,
        job: object | None = None,
        time: float | None = None,
        where: str | None = None,
    ) -> None:
        self.message = message
        self.plugin = plugin
        self.hook = hook
        self.job = job
        self.time = time
        self.where = where
        super().__init__(message)

    def __str__(self) -> str:
        parts = [f"plugin {self.plugin}"]
        if self.hook is not None:
            parts.append(f"hook {self.hook}")
        if self.job is not None:
            parts.append(f"job {self.job}")
        if self.time is not None:
            parts.append(f"time {self.time:.6f}".rstrip("0").rstrip(".") + " s")
        if self.where is not None:
            parts.append(self.where)
        return f"{', '.join(parts)}: {self.message}"


class OutputError(SlurmSimError):
    """A result that could not be written (exit code 5)."""

    exit_code = 5


class StandstillError(SlurmSimError):
    """A run in which nothing can happen any more, although jobs have not ended (exit code 6)."""

    exit_code = 6


def meant(word: str, known: Iterable[str]) -> str:
    """Such as ``" (did you mean 'sched/easy'?)"`` where a known word is close, in whatever case; else nothing."""
    by_case = {name.lower(): name for name in known}
    close = difflib.get_close_matches(word.lower(), by_case, n=1)
    return f" (did you mean {by_case[close[0]]!r}?)" if close else ""
