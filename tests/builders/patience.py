"""A bound of processor time for what is tried, from which imports are left out."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

AGAIN = 1.0
"""Seconds of processor time after which an import is looked at again."""


@contextmanager
def patience(seconds: float, error: BaseException) -> Iterator[None]:
    """Raise an error where more processor time is taken.

    A first call may import for longer than a small file may take. An exception within an import can leave it half done.
    """

    def stop(signum: int, frame: FrameType | None) -> None:
        if _imports(frame):
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


def _imports(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False
