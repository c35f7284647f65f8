"""One piece of work, in whatever process it is done."""

from __future__ import annotations

import importlib.metadata
import platform
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Protocol

from slurm_sim_plugins.errors import SlurmSimError

Numbers = dict[str, float]
LIBRARIES = ("slurm-sim-plugins", "numpy", "pyarrow", "pluggy")
MEBIBYTE = 1024
"""Kibibytes, in which Linux counts."""


class Work(Protocol):
    """Something to be made, that can be sent to another process."""

    @property
    def name(self) -> str:
        """What to call it."""

    def result(self) -> tuple[Numbers, Mapping[str, bytes]]:
        """Make it: numbers, and files by name that are to be kept beside them."""


@dataclass(frozen=True)
class Made:
    """What became of a piece of work.

    Attributes:
        numbers: what was measured; empty if it failed.
        files: further files to keep, by name.
        error: why it failed; empty if it did not.
        cpu_seconds: processor time that it took.
        peak_memory_mb: the most memory that its process has had so far, in MiB.
        versions: of Python and of the libraries, where it was made.
    """

    numbers: Numbers = field(default_factory=dict)
    files: Mapping[str, bytes] = field(default_factory=dict)
    error: str = ""
    cpu_seconds: float = 0.0
    peak_memory_mb: float = 0.0
    versions: Mapping[str, str] = field(default_factory=dict)


def make(work: Work) -> Made:
    """Do a piece of work; what goes wrong is told, not raised: it is not the others' affair."""
    before, _ = _spent()
    numbers: Numbers = {}
    files: Mapping[str, bytes] = {}
    error = ""
    try:
        numbers, files = work.result()
        numbers = {key: float(value) for key, value in numbers.items()}
    except SlurmSimError as failure:
        numbers, error = {}, str(failure)
    except Exception as failure:  # A defect in one run.
        numbers, error = {}, f"{type(failure).__name__}: {failure}"
    after, peak = _spent()
    return Made(numbers, {} if error else files, error, round(after - before, 3), peak, versions())


@cache
def versions() -> dict[str, str]:
    """Of Python and of the libraries that may have a part in a result, where they are installed."""
    found = {"python": platform.python_version(), "platform": f"{sys.platform} {platform.machine()}"}
    for library in LIBRARIES:
        try:
            found[library] = importlib.metadata.version(library)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def _spent() -> tuple[float, float]:
    """Processor seconds of this thread (where they are not told, of this process), and its process's peak of memory."""
    import resource

    usage = resource.getrusage(getattr(resource, "RUSAGE_THREAD", resource.RUSAGE_SELF))
    # macOS counts bytes.
    peak = usage.ru_maxrss / (MEBIBYTE * MEBIBYTE if sys.platform == "darwin" else MEBIBYTE)
    return usage.ru_utime + usage.ru_stime, round(peak, 1)
