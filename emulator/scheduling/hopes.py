# cython: boundscheck=True, wraparound=True, nonecheck=True
"""Up to where of the queue jobs could start now; a :mod:`kernel <slurm_sim_plugins.kernels>`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from emulator.scheduling.alike import alike_from, length_of
from emulator.scheduling.outlook_kernel import Outlook
from emulator.scheduling.select_kernel import Code
from emulator.scheduling.windows_kernel import Columns, may_start
from emulator.state.job import Job
from slurm_sim_plugins.nodes import Ints

Alike = tuple[Any, Any, float, Any]
"""What jobs have in common of which one can start if another can: the kind, for how long, CPUs when planned, user."""


class Question:
    """What is asked of jobs alike: whether one could start now.

    Args:
        code: what one asks for.
        outlook: what it finds on the nodes.
        end: when it would end, in seconds.
    """

    __slots__ = ("code", "end", "outlook")

    def __init__(self, code: Code, outlook: Outlook, end: float) -> None:
        self.code, self.outlook, self.end = code, outlook, end


class Hopes:
    """Up to which place of a queue jobs could start now beside what is kept, until another run starts.

    Args:
        capacity: room for a number of each node.
        sets: room for sets of neighbours.
        taken: room for nodes, and the units of each.

    Attributes:
        by_user: whether some nodes are for jobs of one user alone, so that jobs alike are of one user.
    """

    __slots__ = ("_cannot", "_capacity", "_questions", "_sets", "_taken", "by_user")

    def __init__(self, capacity: Ints, sets: Ints, taken: Ints) -> None:
        self._capacity, self._sets, self._taken = capacity, sets, taken
        self._questions: dict[Alike, Question | None] = {}
        self._cannot: set[Alike] = set()
        self.by_user = False

    def other_runs(self) -> None:
        """A run has started: less is free."""
        self._questions.clear()

    def more_may_start(self) -> None:
        """Runs end at other times: those may start that could not."""
        self._questions.clear()
        self._cannot.clear()

    def last(
        self,
        entries: list[Any],
        last: int,
        slots: Columns,
        ask: Callable[[Any, float], Question | None],
        decides: Callable[[Any], bool] | None,
    ) -> int:
        """How many of the first of so many entries there are up to the last that could start.

        Args:
            entries: of the queue.
            last: how many of them.
            slots: what is kept.
            ask: from an entry and for how long it runs to what is asked of those alike; None: it is not for the kernel
                to say, and so they could.
            decides: whether nothing but nodes and time decides on an entry; None: of those alike on all or none.
        """
        while last:
            entry = entries[last - 1]
            if (decides is not None and not decides(entry)) or self._could_start(entry, slots, ask):
                break
            last = last - 1 if decides is not None else alike_from(entries, last - 1, self.by_user)
        return last

    def _could_start(self, entry: Any, slots: Columns, ask: Callable[[Any, float], Question | None]) -> bool:
        """Whether a job could start; or its reason or number may change."""
        job: Job = entry._pair[0]
        length = length_of(job)
        alike = entry._kind, length, job.planned_cpus, job.request.user if self.by_user else ""
        if alike in self._cannot:
            return False
        if alike not in self._questions:
            self._questions[alike] = ask(entry, length)
        question = self._questions[alike]
        if question is None:
            return True
        code, outlook = question.code, question.outlook
        if may_start(code, outlook, question.end, slots, self._capacity, self._sets, self._taken):
            return True
        self._cannot.add(alike)
        return False
