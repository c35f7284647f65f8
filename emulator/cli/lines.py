"""Progress where there is no terminal, such as in the log of a CI: plain lines, from time to time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
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


@dataclass
class Count:
    """A task that is only counted: rich, which draws bars, is not imported for it.

    Attributes:
        description: what is done.
        total: how much there is to do; None if that is not known.
        completed: how much is done.
    """

    description: str
    total: float | None
    completed: float = 0.0


@contextmanager
def lines(task: Task | Count, say: Callable[[str], None]) -> Iterator[None]:
    """Say from time to time how far a task is.

    Args:
        task: what is done; its count grows meanwhile.
        say: prints a line.
    """
    over = threading.Event()

    def tell() -> None:
        pause = so_far = FIRST
        while not over.wait(pause):
            say(line(task, so_far))
            pause = max(EVERY, SHARE * so_far)
            so_far += pause

    thread = threading.Thread(target=tell, name="progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def line(task: Task | Count, seconds: float) -> str:
    """How far a task is, how long it took so far, and how long it will yet take where that can be told.

    Args:
        task: the task.
        seconds: since it began.
    """
    of = f" of {task.total:,.0f}" if task.total else ""
    count = f"{task.completed:,.0f}{of} " if of or task.completed else ""
    so_far = f"{task.description}: {count}after {_clock(seconds)}"
    if not task.total or not task.completed:
        return so_far
    return f"{so_far}, {_clock(seconds * max(task.total - task.completed, 0.0) / task.completed)} to go"


def _clock(seconds: float) -> str:
    return str(timedelta(seconds=round(seconds)))
