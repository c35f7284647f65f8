"""A bound of processor time for what is tried, from which the compilation of kernels is left out."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PurePath
from types import FrameType

AGAIN = 1.0
"""Seconds of processor time after which a compilation is looked at again."""


@contextmanager
def patience(seconds: float, error: BaseException) -> Iterator[None]:
    """Raise an error where more processor time is taken.

    Where the caches of numba are empty, a first call compiles for longer than a small file may take. An exception
    within an import of numba leaves it half imported, and each later use of it in the same process fails.
    """

    def stop(signum: int, frame: FrameType | None) -> None:
        if _compiles(frame):
            signal.setitimer(signal.ITIMER_PROF, AGAIN)
        else:
            raise error

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _compiles(frame: FrameType | None) -> bool:
    """Whether numba or an import is at work."""
    while frame is not None:
        parts = PurePath(frame.f_code.co_filename).parts
        if "numba" in parts or "llvmlite" in parts or frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False
