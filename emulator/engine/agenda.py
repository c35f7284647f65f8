"""What is to happen on a cluster, and when. Events are data: a kind, and what it is about, by ids and numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from enum import IntEnum
from heapq import heappop, heappush
from itertools import chain
from typing import Any, Literal

Kind = Literal[
    "submission", "command", "wake", "due", "pass", "work done", "limit", "ended at limit", "graces", "written", "over",
    "epilog over", "completed", "deadline", "node event", "node failure", "node repair", "node answers",
    "sweep", "main", "backfill", "period", "renewal", "slice", "any switch", "power", "node resumed",
    "reservation begins", "reservation nears", "reservation bound", "reservation over", "nodes replaced", "pinged",
    "purge", "may preempt", "others clear", "prolog over",
]  # fmt: skip
"""Of an event, or of a tick; :class:`~emulator.engine.controller.Controller` says what each does."""
Event = tuple[Any, ...]
"""(second, rank, number, kind, what it is about ...)."""
FROM_OUTSIDE = ("submission", "command")


class Rank(IntEnum):
    """In which order things happen at one time, under the ideal clock; see :mod:`emulator.engine.loop`."""

    LIMIT = 0
    SUBMISSION = 1
    OTHER = 2
    WAKE = 3
    PASS = 4


IN_THEIR_ORDER = (2, 2, 2, 2, 4)
"""By rank: where a pass follows all that happens at one time, it happens in the order in which it was scheduled."""
EACH_BY_ITSELF = (0, 1, 2, 3, 4)


class Agenda:
    """Events in their order.

    Args:
        alone: whether those of one time go by their rank; else as they were scheduled, and passes last.

    Attributes:
        to_come: how many submissions and commands are to come.
    """

    def __init__(self, alone: bool = False) -> None:
        self._ranks = EACH_BY_ITSELF if alone else IN_THEIR_ORDER
        self._events: list[Event] = []
        # Submissions are many, and known beforehand: the last one first, so that the heap stays small.
        self._listed: list[Event] = []
        self._number = 0
        self.to_come = 0

    def at(self, second: float, kind: Kind, *about: object, rank: Rank = Rank.OTHER) -> None:
        """Have something happen at a time, which never comes if it is infinite."""
        if second == math.inf:
            return
        if second % 1:
            second = round(second, 6)
        self._number += 1
        self.to_come += kind in FROM_OUTSIDE
        heappush(self._events, (second, self._ranks[rank], self._number, kind, *about))

    def each_at(self, seconds: Iterable[float], kind: Kind, rank: Rank = Rank.OTHER) -> None:
        """Have something happen once at each of these times, which are all known now; it is about their indices."""
        first, ranked = self._number + 1, self._ranks[rank]
        events: list[Event] = [
            (round(second, 6) if second % 1 else second, ranked, first + index, kind, index)
            for index, second in enumerate(seconds)
            if second < math.inf
        ]
        self._number += len(events)
        self.to_come += len(events) if kind in FROM_OUTSIDE else 0
        self._listed = sorted(self._listed + events, reverse=True)

    def number(self) -> int:
        """The next number, for a tick: events and ticks of one time go by their numbers."""
        self._number += 1
        return self._number

    @property
    def first(self) -> Event | None:
        """The next event, or None."""
        listed, events = self._listed, self._events
        if listed and (not events or listed[-1] < events[0]):
            return listed[-1]
        return events[0] if events else None

    def __iter__(self) -> Iterator[Event]:
        """All events that are to come, in any order."""
        return chain(self._events, self._listed)

    @property
    def next(self) -> float:
        """When it comes; infinite if there is none."""
        first = self.first
        return math.inf if first is None else first[0]

    def take(self) -> Event:
        """The next event, which is to come no more."""
        listed, events = self._listed, self._events
        event = listed.pop() if listed and (not events or listed[-1] < events[0]) else heappop(events)
        self.to_come -= event[3] in FROM_OUTSIDE
        return event
