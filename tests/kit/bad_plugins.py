"""Plugins with one fault each, which the checks must find."""

from __future__ import annotations

import itertools
import sys
from typing import Any, ClassVar

from slurm_sim_plugins import MakeRoom, Start, hookimpl

SEEN: list[int] = []  # a global that changes


class Priority:
    """A priority plugin without fault, from which others are made."""

    @hookimpl
    def priority_set(self, view: Any) -> Any:
        return [job.processors for job in view.to_set]


class Nameless(Priority):  # no name
    """Has no name."""


class Demanding(Priority):  # a parameter without default
    """Cannot be made without an option."""

    name = "priority/demanding"

    def __init__(self, factor: float) -> None:
        self.factor = factor


class Exploding(Priority):  # fails when it is made
    """Fails when it is made."""

    name = "priority/exploding"

    def __init__(self) -> None:
        raise RuntimeError("no such file")


class Misspelt:
    """Its hook has another name."""

    name = "priority/misspelt"

    @hookimpl  # misspelt
    def priority_sett(self, view: Any) -> Any:
        return None


class WrongArgument:
    """Its hook wants what it is not given."""

    name = "priority/wrong_argument"

    @hookimpl  # wrong argument
    def priority_set(self, queue: Any) -> Any:
        return None


class Unmarked:
    """Its hook is not marked."""

    name = "priority/unmarked"

    def priority_set(self, view: Any) -> Any:  # not marked
        return [0.0] * len(view.to_set)


class OtherType:
    """Its hook belongs to another type."""

    name = "priority/other_type"

    @hookimpl  # of another type
    def preempt_candidates(self, view: Any) -> Any:
        return None


class NotANumber:  # was made of this
    """Divides nothing by nothing."""

    name = "priority/not_a_number"

    @hookimpl  # answers nan
    def priority_set(self, view: Any) -> Any:
        return [float("nan") for _ in view.to_set]


class Twice:
    """Names a job twice."""

    name = "backfill/twice"

    @hookimpl  # names a job twice
    def backfill_candidates(self, view: Any) -> Any:
        return [*view.to_try, view.to_try[0]]


class Dividing:
    """Fails on a cluster of one processor."""

    name = "priority/dividing"

    @hookimpl
    def priority_set(self, view: Any) -> Any:
        return [job.processors / (view.total - 1) for job in view.to_set]  # divides by nothing


class Slow:
    """Looks at every pair of jobs, again and again."""

    name = "priority/slow"

    @hookimpl
    def priority_set(self, view: Any) -> Any:
        ranks = []
        for job in view.to_set:
            rank = 0
            for other in view.to_set:
                rank += other.planned < job.planned  # of every pair
            ranks.append(rank)
        return ranks


class Pairs:
    """Fails when two jobs of two processors or more come at once."""

    name = "priority/pairs"

    @hookimpl
    def priority_set(self, view: Any) -> Any:
        wide = [job for job in view.to_set if job.processors > 1]
        assert len(wide) < 2, "two wide jobs at once"  # two at once
        return [job.processors for job in view.to_set]


class Impatient:
    """Says that it only starts, but looks at the clock."""

    name = "sched/impatient"
    only_starts: ClassVar[bool] = True  # not true

    @hookimpl
    def schedule(self, view: Any) -> Any:
        while (head := view.head) is not None and head.processors <= view.free:
            yield Start(head)
        for job in list(view.queue):
            if job.processors <= view.free and view.now >= job.submit + 3:
                yield Start(job)


class Counting:
    """Counts over all instances."""

    name = "priority/counting"
    numbers = itertools.count()

    @hookimpl  # counts on
    def priority_set(self, view: Any) -> Any:
        return [next(self.numbers) for _ in view.to_set]


class ClassState:
    """Remembers on the class."""

    name = "priority/class_state"
    users: ClassVar[dict[Any, int]] = {}  # on the class

    @hookimpl
    def priority_set(self, view: Any) -> Any:
        for job in view.to_set:
            self.users[job.user] = self.users.get(job.user, 0) + 1
        return [-self.users[job.user] for job in view.to_set]


class DefaultState:
    """Remembers in a default."""

    name = "priority/default_state"

    def __init__(self, users: list[Any] = []) -> None:  # noqa: B006 # in a default
        self.users = users

    @hookimpl
    def priority_set(self, view: Any) -> Any:
        self.users += [job.user for job in view.to_set]
        return [-self.users.count(job.user) for job in view.to_set]


class ModuleState:
    """Remembers in the module."""

    name = "priority/module_state"

    @hookimpl
    def priority_set(self, view: Any) -> Any:
        SEEN.extend(job.id for job in view.to_set)
        return [float(len(SEEN))] * len(view.to_set)


class Hidden:
    """Remembers where only the schedule shows it."""

    name = "priority/hidden"

    @hookimpl
    def priority_set(self, view: Any) -> Any:
        sys.__dict__.setdefault("_seen_by_hidden", []).extend(view.to_set)
        return [len(sys.__dict__["_seen_by_hidden"]) % 7 * job.processors for job in view.to_set]


class Resetting:
    """Makes its state when a simulation starts, but on the class."""

    name = "priority/resetting"
    users: ClassVar[dict[Any, int]] = {}

    def __init__(self) -> None:
        type(self).users = {}

    @hookimpl
    def priority_set(self, view: Any) -> Any:
        for job in view.to_set:
            self.users[job.user] = self.users.get(job.user, 0) + 1
        return [-self.users[job.user] for job in view.to_set]


class Keeping:
    """Keeps its view."""

    name = "priority/keeping"

    def __init__(self) -> None:
        self.last: Any = None

    @hookimpl
    def priority_set(self, view: Any) -> Any:
        self.last = {"first": view.queue}  # keeps it
        return None


class Writing:
    """Writes to a job behind its back."""

    name = "backfill/writing"

    @hookimpl  # writes to a job
    def backfill_candidates(self, view: Any) -> Any:
        for job in view.to_try:
            object.__setattr__(job, "planned", 1.0)
        return None


class Turning:
    """Turns the queue over."""

    name = "sched/turning"

    @hookimpl  # turns the queue over
    def schedule(self, view: Any) -> Any:
        view.queue._items.sort(key=lambda job: job.processors)
        for job in list(view.queue):
            if job.processors <= view.free:
                yield Start(job)


class Acting:
    """Has its effect before it answers."""

    name = "priority/acting"  # acts

    @hookimpl
    def priority_set(self, view: Any) -> Any:
        for job in view.to_set:
            object.__setattr__(job, "planned", 1.0)
        return [0.0 for _ in view.to_set]


class Everybody:
    """Everybody makes room for everybody."""

    name = "preempt/everybody"

    @hookimpl  # everybody
    def preempt_candidates(self, view: Any) -> Any:
        return [run for run in view.running if run.job.may_requeue]


class Insisting:
    """Sends a job back whenever another waits, and comes back for more."""

    name = "sched/insisting"

    @hookimpl  # insists
    def schedule(self, view: Any) -> Any:
        for job in list(view.queue):
            if job.processors <= view.free or (yield MakeRoom(job)):
                yield Start(job)


class Cheating:
    """Finds the true run times in the frames of who calls it."""

    name = "priority/cheating"

    @hookimpl  # cheats
    def priority_set(self, view: Any) -> Any:
        frame = sys._getframe()
        while "_apply" not in vars(type(frame.f_locals.get("self"))) and not hasattr(
            frame.f_locals.get("self"), "_apply"
        ):
            frame = frame.f_back
        useful = frame.f_locals["self"]._apply.useful
        return [-useful[job.index] for job in view.to_set]


class CountsOnly:
    name = "sched/counts_only"

    @hookimpl
    def schedule(self, view: Any) -> Any:
        while view.queue and view.queue[0].job.processors <= view.free:  # processors that are free
            yield Start(view.queue[0].job)
