"""Records each decision, with plugin, hook and reason, in the event log.

It stands between the emulator and the hooks, and is there only with ``explain``: without,
nothing is called that was not called before.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Callable, Generator
from contextlib import suppress
from operator import attrgetter
from typing import Any

from emulator.accounting.eventlog import EventLog, as_text, reason_text, seconds
from emulator.state.instants import instant
from slurm_sim_plugins import answers
from slurm_sim_plugins.answers import Refused
from slurm_sim_plugins.decisions import MakeRoom, Move, Plan, Preempt, Reserve, Start, Wake
from slurm_sim_plugins.hookspecs import LOOPS, SLOTS, SPECS
from slurm_sim_plugins.jobs import Job
from slurm_sim_plugins.manager import Selection
from slurm_sim_plugins.views import ClusterState

_ORDER = attrgetter("_order")
ANSWERS = ("priority_set", "walltime_submit", "walltime_pending", "backfill_candidates", "preempt_candidates")
"""Hooks whose answers are recorded, if a plugin implements them."""
HEARD = ("job_submitted", "pass_done")
"""What has happened, and is recorded with what follows from it."""
MOST_NAMED = 50
"""Of candidates so many are named, the first ones."""


class Explainer:
    """Writes to the log what the hooks answer.

    Every line has ``plugin`` and ``hook``, but for the first and the last of these:

    ==========  ================================================================
    queued      a job was queued: its ``position`` among so many ``waiting``, what
                is ``free``, and the ``head``
    priority    the ``priority`` that a job was given first
    plan        the seconds that a job is ``planned`` with
    candidates  what is tried behind the head: the first of ``jobs``, of ``of``
    decide      a ``decision`` of the scheduler, with its ``reason`` if it gave one
    victims     the ``runs`` that may be preempted for a job, by their jobs
    room        whether room was ``granted``
    pass        a pass is over: the ``head`` that is left, what is ``free``, how many
                are ``waiting``; left out while these stay what they are
    ==========  ================================================================

    Args:
        log: where to write.
        plugins: name of the plugin that answers a hook.
    """

    def __init__(self, log: EventLog, plugins: dict[str, str]) -> None:
        self._by = {hook: as_text({"plugin": plugin, "hook": hook}) for hook, plugin in plugins.items()}
        self._cluster_state: ClusterState | None = None
        self._planned: dict[int, Plan] = {}
        self._known: set[int] = set()
        self._left: object = None
        self._line = log.line
        self._last: tuple[float | None, str] = (None, "")

    def watch(self, cluster_state: ClusterState) -> None:
        """Say where positions in the queue are to be looked up."""
        self._cluster_state = cluster_state

    def between(self, hook: str, function: Callable[..., Any] | None) -> Callable[..., Any] | None:
        """What is called in place of a hook, so that its answer is noted; the hook itself if that says nothing."""
        if hook in HEARD:
            return self._after(getattr(self, f"_{hook}"), function)
        if function is None or hook not in self._by:
            return function
        if hook in LOOPS:
            return self._explained_loop(hook, function)
        return self._explained(getattr(self, f"_{hook}"), function)

    @staticmethod
    def _after(note: Callable[..., None], function: Callable[..., Any] | None) -> Callable[..., Any]:
        """What has happened is noted after observers have heard of it."""
        if function is None:
            return note

        def heard(*values: Any) -> None:
            function(*values)
            note(*values)

        return heard

    @staticmethod
    def _explained(note: Callable[..., None], function: Callable[..., Any]) -> Callable[..., Any]:
        def answered(view: Any) -> Any:
            answer = function(view)
            with suppress(Refused):
                # What cannot be used, the emulator says in a moment, and better.
                note(view, answer)
            return answer

        return answered

    def _explained_loop(self, hook: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def loop(view: Any) -> Any:
            decisions = function(view)
            return self._decisions(hook, view, decisions) if hasattr(decisions, "send") else decisions

        return loop

    def _job_submitted(self, job: Any, now: float) -> None:
        cluster_state = self._cluster_state
        if cluster_state is None:
            return
        waiting = cluster_state._waiting
        # Most stand at the end.
        position = len(waiting) if waiting[-1] is job else 1 + bisect_left(waiting, job._order, key=_ORDER)
        facts = f'"job":{job.id},"position":{position},"waiting":{len(waiting)},"free":{cluster_state.free}'
        self._line(f'{self._begun(now)}"queued",{facts},"head":{waiting[0].id}}}\n')

    def _priority_set(self, view: Any, answer: Any) -> None:
        if answer is None:
            return
        numbers = answers.numbers(answers.priorities(answer, view.to_set))
        for job, number in zip(view.to_set, numbers, strict=True):
            if job.id not in self._known:
                self._known.add(job.id)
                self._note(view, "priority", job, "priority_set", priority=_number(number))

    def _walltime_submit(self, view: Any, answer: Any) -> None:
        if answer is not None:
            self._plan(view, view.job, answers.plan(answer, view.job), "walltime_submit")

    def _walltime_pending(self, view: Any, answer: Any) -> None:
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

    def _backfill_candidates(self, view: Any, answer: Any) -> None:
        if answer is None:
            return
        named = [job.id for job in answers.order(answer, view.to_try)[:MOST_NAMED]]
        self._note(view, "candidates", view.head, "backfill_candidates", jobs=named, of=len(view.to_try))

    def _preempt_candidates(self, view: Any, answer: Any) -> None:
        runs = answers.victims(answer, view.preemptor, view.running) if answer is not None else []
        self._note(view, "victims", view.preemptor, "preempt_candidates", runs=[run.job.id for run in runs])

    def _pass_done(self, view: Any) -> None:
        head, free = view.head, view.free
        waiting = len(view.queue if self._cluster_state is None else self._cluster_state._waiting)
        first = "null" if head is None else head.id
        left = (first, free, waiting)
        if left != self._left:
            self._left = left
            self._line(
                f'{self._begun(view.now)}"pass","job":{first},"head":{first},"free":{free},"waiting":{waiting}}}\n'
            )

    def _decisions(self, hook: str, view: Any, decisions: Any) -> Generator[Any, Any, Any]:
        """The scheduler's decisions; each is noted before it is carried out."""
        answer = None
        by, send = self._by[hook], decisions.send
        while True:
            try:
                decision = send(answer)
            except StopIteration as over:
                return over.value
            if isinstance(decision, Reserve):
                for one in decision.parts():
                    self._decided(by, view, one)
            else:
                self._decided(by, view, decision)
            answer = yield decision
            if isinstance(decision, MakeRoom):
                self._note(view, "room", decision.job, hook, granted=bool(answer))

    def _begun(self, now: float) -> str:
        """The beginning of a line; most are of the same instant as the line before."""
        last, text = self._last
        if now != last:
            text = f'{{"time":{seconds(instant(now))},"event":'
            self._last = now, text
        return text

    def _decided(self, by: str, view: Any, decision: Any) -> None:
        job = getattr(decision, "job", None)
        number = job.id if type(job) is Job else _id_of(job)
        kind = WORDS.get(type(decision)) or _word_of(decision)
        at = f',"at":{json.dumps(_number(decision.time))}' if kind in TIMED else ""
        reason = getattr(decision, "reason", "")
        why = reason_text(str(reason)) if reason else ""
        self._line(f'{self._begun(view.now)}"decide","job":{number},"decision":"{kind}"{at}{why},{by}}}\n')

    def _note(self, view: Any, event: str, job: Any, hook: str, **facts: Any) -> None:
        of_event = f",{as_text(facts)}" if facts else ""
        self._line(f'{self._begun(view.now)}"{event}","job":{_id_of(job)}{of_event},{self._by[hook]}}}\n')


WORDS: dict[type, str] = {
    Start: "start",
    Move: "move",
    Preempt: "preempt",
    Reserve: "reserve",
    MakeRoom: "make room",
    Wake: "wake",
}
"""What a decision is called."""
TIMED = (WORDS[Reserve], WORDS[Wake])
"""Decisions about a time."""


def explain(selection: Selection, log: EventLog) -> Explainer:
    """Let every decision of a simulation be recorded.

    Args:
        selection: its plugins; the explainer stands between them and the emulator from now on.
        log: where to write.
    """
    implemented = [hook for hook in (*ANSWERS, *LOOPS) if selection.implementations(hook)]
    explainer = Explainer(log, {hook: _plugin_for(selection, hook) for hook in implemented})
    selection.between = explainer.between
    return explainer


def _plugin_for(selection: Selection, hook: str) -> str:
    kind = next(kind for kind, spec in SPECS.items() if hook in vars(spec))
    return next(selection.slots[slot] for slot, of in SLOTS.items() if of == kind)


def _number(value: Any) -> float | None:
    """A number as JSON knows them; None for infinity, and for what is no number."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    if number - number != 0:
        return None
    return int(number) if number == int(number) else number


def _id_of(job: Any) -> str:
    """The id of a job as JSON; on a cluster a scheduler decides about entries of the queue."""
    number = getattr(getattr(job, "job", job), "id", None)
    return str(number) if type(number) is int else json.dumps(number)


def _word_of(decision: Any) -> str:
    return next((word for kind, word in WORDS.items() if isinstance(decision, kind)), "unknown")
