# cython: boundscheck=True, wraparound=True, nonecheck=True
"""What hooks answer, as lines of the event log."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

from emulator.accounting.eventlog import EventLog, as_text, reason_text, seconds
from emulator.state.instants import instant
from slurm_sim_plugins import answers
from slurm_sim_plugins.decisions import MakeRoom, Move, Plan, Preempt, Reserve, Start, Wake
from slurm_sim_plugins.entry import Entry
from slurm_sim_plugins.jobs import Job
from slurm_sim_plugins.views import ClusterState, SchedulingView

OVER = object()
"""Stands for the next decision of a scheduler that makes no more."""
MOST_NAMED = 50
"""Of candidates so many are named, the first ones."""


class DecisionLog:
    """Writes to the event log what a hook of each name has answered, or has heard.

    Every line has ``plugin`` and ``hook``, but for the first and the last of these:

    ==========  ================================================================
    queued      a job was queued: its ``position`` among so many ``waiting``, what
                is ``free``, and the ``head``
    priority    the ``priority`` that a job was given first
    plan        the seconds that a job is ``planned`` with
    candidates  what is tried behind the head: the first of ``jobs``, of ``of``
    decide      a ``decision`` of the scheduler, with its ``reason`` if it gave one
    victims     the ``runs`` that may be preempted for a job, by their jobs; on a
                cluster with nodes, where one of them is
    room        whether room was ``granted``
    pass        a pass is over: the ``head`` that is left, what is ``free``, how many
                are ``waiting``; left out while these stay what they are
    ==========  ================================================================

    Args:
        log: where to write.
        plugins: name of the plugin that answers a hook.
    """

    __slots__ = (
        *("_by", "_cluster_state", "_counts", "_free_left", "_instant", "_instant_text", "_known", "_left", "_log"),
        *("_planned", "_waiting_left"),
    )

    def __init__(self, log: EventLog, plugins: dict[str, str]) -> None:
        self._by = {hook: as_text({"plugin": plugin, "hook": hook}) for hook, plugin in plugins.items()}
        self._cluster_state: ClusterState | None = None
        self._counts: ClusterState | None = None
        self._planned: dict[int, Plan] = {}
        self._known: set[int] = set()
        self._left: object = None
        self._free_left = self._waiting_left = -1
        self._log = log
        self._instant, self._instant_text = math.nan, ""

    def watch(self, cluster_state: ClusterState) -> None:
        """Say where positions in the queue are to be looked up."""
        self._cluster_state = cluster_state
        # Where processors are counted, compiled code reads its fields; on nodes others stand for them.
        counted = isinstance(cluster_state, SchedulingView) and cluster_state.counted
        self._counts = cluster_state if counted else None

    def job_submitted(self, job: Any, now: float) -> None:
        """A job was queued: where it stands."""
        cluster_state, counts = self._cluster_state, self._counts
        if cluster_state is None:
            return
        if counts is not None:
            waiting, free = counts._waiting, counts.free
            many, head = len(waiting), waiting[0].id
            # Most stand at the end.
            position = many if waiting[-1] is job else cluster_state._position(job)
        else:
            many, free = cluster_state._length, cluster_state.free
            head = cluster_state.head.id  # type: ignore[union-attr]
            position = cluster_state._position(job)
        facts = f'"job":{job.id},"position":{position},"waiting":{many},"free":{free}'
        self._log.line(f'{self._begun(now)}"queued",{facts},"head":{head}}}\n')

    def priority_set(self, view: Any, answer: Any) -> None:
        """Jobs were given numbers; the first one of each is noted."""
        if answer is None:
            return
        numbers = answers.numbers(answers.priorities(answer, view.to_set))
        for job, number in zip(view.to_set, numbers, strict=True):
            if job.id not in self._known:
                self._known.add(job.id)
                self._note(view, "priority", job, "priority_set", priority=_number(number))

    def walltime_submit(self, view: Any, answer: Any) -> None:
        """A job that was submitted is planned with so many seconds."""
        if answer is not None:
            self._plan(view, view.job, answers.plan(answer, view.job), "walltime_submit")

    def walltime_pending(self, view: Any, answer: Any) -> None:
        """Waiting jobs are planned with so many seconds; what has changed is noted."""
        if answer is None:
            return
        for job, plan in zip(view.waiting, answers.plans(answer, view.waiting), strict=True):
            self._plan(view, job, plan, "walltime_pending")

    def _plan(self, view: Any, job: Any, plan: Plan, hook: str) -> None:
        if self._planned.get(job.id) == plan:
            return
        self._planned[job.id] = plan
        parts = {"queue": _number(plan.queue), "running": _number(plan.running)} if len({*plan}) > 1 else {}
        self._note(view, "plan", job, hook, planned=_number(plan.waiting), **parts)

    def backfill_candidates(self, view: Any, answer: Any) -> None:
        """What is tried behind the head."""
        if answer is None:
            return
        named = [job.id for job in answers.order(answer, view.to_try)[:MOST_NAMED]]
        self._note(view, "candidates", view.head, "backfill_candidates", jobs=named, of=len(view.to_try))

    def preempt_candidates(self, view: Any, answer: Any) -> None:
        """The runs that may be preempted for a job."""
        runs = answers.victims(answer, view.preemptor, view.running) if answer is not None else []
        line = self._noted(view, "victims", view.preemptor, "preempt_candidates", runs=[run.job.id for run in runs])
        if view.counted:
            self._log.line(line)
        else:
            self._log.named = (instant(view.now), view.preemptor.id, line)

    def pass_done(self, view: Any) -> None:
        """A pass is over: what is left, where that has changed."""
        counts = self._counts
        if counts is not None and counts is view:
            head, free, waiting = counts.head, counts.free, len(counts._waiting)
        else:
            head, free = view.head, view.free
            waiting = len(view.queue) if self._cluster_state is None else self._cluster_state._length
        first = "null" if head is None else head.id
        if free == self._free_left and waiting == self._waiting_left and first == self._left:
            return
        self._left, self._free_left, self._waiting_left = first, free, waiting
        self._log.line(
            f'{self._begun_at(view)}"pass","job":{first},"head":{first},"free":{free},"waiting":{waiting}}}\n'
        )

    def room(self, hook: str, view: Any, job: Any, granted: bool) -> None:
        """A scheduler has asked for room, and was answered."""
        self._note(view, "room", job, hook, granted=granted)

    def _begun(self, now: float) -> str:
        """The beginning of a line; most are of the same instant as the line before."""
        if now != self._instant:
            whole = int(now)
            text = str(whole) if whole == now else seconds(instant(now))
            self._instant, self._instant_text = now, f'{{"time":{text},"event":'
        return self._instant_text

    def _begun_at(self, view: Any) -> str:
        """The beginning of a line of now."""
        counts = self._counts
        return self._begun(counts.now if counts is not None and counts is view else view.now)

    def decided(self, hook: str, view: Any, decision: Any) -> None:
        """A scheduler has decided; where it plans many jobs at once, there is a line for each."""
        if type(decision) is Start:
            self._started(hook, view, decision)
            return
        if isinstance(decision, Reserve):
            self._reserved(hook, view, decision)
            return
        job = getattr(decision, "job", None)
        number = job.id if type(job) is Job else _id_of(job)
        kind = WORDS.get(type(decision)) or _word_of(decision)
        at = f',"at":{_time_text(decision.time)}' if kind == WORDS[Wake] else ""
        reason = getattr(decision, "reason", "")
        why = reason_text(str(reason)) if reason else ""
        self._log.line(
            f'{self._begun_at(view)}"decide","job":{number},"decision":"{kind}"{at}{why},{self._by[hook]}}}\n'
        )

    def _started(self, hook: str, view: Any, decision: Start) -> None:
        """A scheduler starts a job, which most decisions do."""
        job, reason = decision.job, decision.reason
        number = job.id if type(job) is Job else _id_of(job)
        why = reason_text(str(reason)) if reason else ""
        self._log.line(f'{self._begun_at(view)}"decide","job":{number},"decision":"start"{why},{self._by[hook]}}}\n')

    def _reserved(self, hook: str, view: Any, decision: Reserve) -> None:
        """A scheduler plans jobs, which is most of what it decides where there is a long queue."""
        jobs, times, reason = decision.job, decision.time, decision.reason
        if isinstance(jobs, Job) or not isinstance(jobs, Sequence):
            jobs, times = (jobs,), (times,)
        begun = f'{self._begun_at(view)}"decide","job":'
        over = f"{reason_text(str(reason)) if reason else ''},{self._by[hook]}}}\n"
        for job, time in zip(jobs, times, strict=True):
            number = str(job.id) if isinstance(job, Entry) else _id_of(job)
            self._log.line(f'{begun}{number},"decision":"reserve","at":{_time_text(time)}{over}')

    def _note(self, view: Any, event: str, job: Any, hook: str, **facts: Any) -> None:
        self._log.line(self._noted(view, event, job, hook, **facts))

    def _noted(self, view: Any, event: str, job: Any, hook: str, **facts: Any) -> str:
        of_event = f",{as_text(facts)}" if facts else ""
        return f'{self._begun(view.now)}"{event}","job":{_id_of(job)}{of_event},{self._by[hook]}}}\n'


class Noted:
    """The decisions of a scheduler where processors are only counted; each is noted before it is carried out.

    Args:
        log: where.
        hook: which of the scheduler's hooks makes them.
        view: what it sees.
        decisions: the generator.
    """

    __slots__ = ("_asked", "_hook", "_log", "_view", "decisions")

    def __init__(self, log: DecisionLog, hook: str, view: Any, decisions: Any) -> None:
        self.decisions = decisions
        self._log, self._hook, self._view = log, hook, view
        self._asked: Any = None

    def __iter__(self) -> Noted:
        return self

    def __next__(self) -> Any:
        if self._asked is not None:
            self._answered(None)
        # Compiled code ends a loop at no cost in this way, but not by the error of another generator.
        decision = next(self.decisions, OVER)
        if decision is OVER:
            raise StopIteration
        self._note(decision)
        return decision

    def send(self, answer: Any) -> Any:
        """Answer the last decision; the next one."""
        if self._asked is not None:
            self._answered(answer)
        decision = self.decisions.send(answer)
        self._note(decision)
        return decision

    def _answered(self, answer: Any) -> None:
        self._log.room(self._hook, self._view, self._asked, bool(answer))
        self._asked = None

    def _note(self, decision: Any) -> None:
        log, hook, view = self._log, self._hook, self._view
        log.decided(hook, view, decision)
        if isinstance(decision, MakeRoom):
            self._asked = decision.job


WORDS: dict[type, str] = {
    Start: "start",
    Move: "move",
    Preempt: "preempt",
    MakeRoom: "make room",
    Wake: "wake",
}
"""What a decision is called."""


def _number(value: Any) -> float | None:
    """A number as JSON knows them; None for infinity, and for what is no number."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    if number - number != 0:
        return None
    return int(number) if number == int(number) else number


def _time_text(time: Any) -> str:
    """A number of seconds as JSON; null for infinity."""
    if time.__class__ is not float:
        return json.dumps(_number(time))
    if time - time != 0:
        return "null"
    whole = int(time)
    return str(whole) if whole == time else repr(time)


def _id_of(job: Any) -> str:
    """The id of a job as JSON; on a cluster a scheduler decides about entries of the queue."""
    number = getattr(getattr(job, "job", job), "id", None)
    return str(number) if type(number) is int else json.dumps(number)


def _word_of(decision: Any) -> str:
    return next((word for kind, word in WORDS.items() if isinstance(decision, kind)), "unknown")
