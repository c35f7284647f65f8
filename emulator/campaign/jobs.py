"""The jobs of runs, read once for those runs of a process that follow each other."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from emulator.campaign.generated import Generated
from emulator.campaign.hashes import fresh_hash_of, hash_of
from slurm_sim_plugins.errors import InputError

if TYPE_CHECKING:
    from emulator.workload.request import JobRequest
    from emulator.workload.sitelog import SiteLog
    from emulator.workload.workload import Workload

KEPT = 4
"""Workloads that a process keeps for its next runs; runs of one workload follow each other."""
Kind = Literal["events", "dump", "log"]
Options = tuple[tuple[str, Any], ...]


def workload(source: Path | Generated, processors: int | None, reading: Mapping[str, Any]) -> Workload:
    """The jobs of a trace or a model.

    Raises:
        InputError: the trace cannot be read, or changed.
        ConfigurationError: an option that cannot be used.
    """
    hashed = hash_of(source) if isinstance(source, Path) else ""
    return _workload(source, hashed, processors, tuple(sorted(reading.items())))


def events(source: Path) -> list[JobRequest]:
    """The submissions of a file of events.

    Raises:
        InputError: it cannot be read, or changed.
    """
    return _events(source, hash_of(source))


def dump(source: Path, reading: Mapping[str, Any]) -> SiteLog:
    """The jobs of a dump of ``sacct``, or of Eagle's CSV.

    Raises:
        InputError: it cannot be read, or changed.
    """
    return _dump(source, hash_of(source), tuple(sorted(reading.items())))


@lru_cache(KEPT)
def kind_of(source: Path) -> Kind:
    """What a trace is: submission events, a dump of a real Slurm, or another log.

    Raises:
        InputError: it cannot be read.
    """
    from emulator.workload.events import ENDINGS
    from emulator.workload.sites import is_site_log

    if source.name.endswith(ENDINGS):
        return "events"
    return "dump" if is_site_log(source) else "log"


@lru_cache(KEPT)
def _workload(source: Path | Generated, hashed: str, processors: int | None, reading: Options) -> Workload:
    if isinstance(source, Generated):
        return source.workload()
    from emulator.workload.read import read_trace

    read = read_trace(source, machine=processors, **dict(reading))
    _check(source, hashed)
    return read


@lru_cache(KEPT)
def _events(source: Path, hashed: str) -> list[JobRequest]:
    from emulator.workload.events import read_events

    read = read_events(source)
    _check(source, hashed)
    return read


@lru_cache(KEPT)
def _dump(source: Path, hashed: str, reading: Options) -> SiteLog:
    from emulator.workload.sites import read_site_log

    read = read_site_log(source, **dict(reading))
    _check(source, hashed)
    return read


def _check(source: Path, hashed: str) -> None:
    """What was read is what was hashed."""
    if fresh_hash_of(source) != hashed:
        raise InputError(f"{source}: changed while it was read; resume the campaign")
