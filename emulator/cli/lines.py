"""Progress where there is no terminal, such as in the log of a CI: plain lines, from time to time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Task

FIRST = 2.0
"""Seconds without a line; most commands are over before."""
EVERY = 10.0
"""Seconds from line to line; after a while they become rarer."""
SHARE = 0.25
"""Of the time so far: the next line comes after that, if it is longer than :data:`EVERY`."""


class Count:
    """A task that is only counted: rich, which draws bars, is not imported for it.

    Args:
        description: what is done.
        total: how much there is to do; None if that is not known.
    """

    def __init__(self, description: str, total: float | None) -> None:
        self.description = description
        self.total = total
        self.completed = 0.0
        self._began = time.monotonic()

    @property
    def elapsed(self) -> float:
        """Seconds so far."""
        return time.monotonic() - self._began

    @property
    def time_remaining(self) -> float | None:
        """Seconds that are left if it goes on as it did; None where that cannot be told."""
        if not self.total or not self.completed:
            return None
        return self.elapsed * max(self.total - self.completed, 0.0) / self.completed


@contextmanager
def lines(task: Task | Count, say: Callable[[str], None]) -> Iterator[None]:
    """Say from time to time how far a task is.

    Args:
        task: is brought forward meanwhile.
        say: prints a line.
    """
    over = threading.Event()

    def tell() -> None:
        pause = FIRST
        while not over.wait(pause):
            say(line(task))
            pause = max(EVERY, SHARE * (task.elapsed or 0.0))

    thread = threading.Thread(target=tell, name="progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def line(task: Task | Count) -> str:
    """How far a task is, how long it took so far, and how long it will yet take where that can be told."""
    of = f" of {task.total:,.0f}" if task.total else ""
    count = f"{task.completed:,.0f}{of} " if of or task.completed else ""
    so_far = f"{task.description}: {count}after {_clock(task.elapsed)}"
    return so_far if task.time_remaining is None or not of else f"{so_far}, {_clock(task.time_remaining)} to go"


def _clock(seconds: float | None) -> str:
    return str(timedelta(seconds=round(seconds or 0.0)))
