"""Records each decision, with plugin, hook and reason, in the event log.

It stands between the emulator and the hooks, and is there only with ``explain``: without,
nothing is called that was not called before.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Generator
from contextlib import suppress
from operator import attrgetter
from typing import Any, ClassVar

from emulator.accounting.eventlog import EventLog
from emulator.state.instants import instant
from slurm_sim_plugins import answers
from slurm_sim_plugins.answers import Refused
from slurm_sim_plugins.decisions import MakeRoom, Move, Plan, Preempt, Reserve, Start, Wake
from slurm_sim_plugins.hookspecs import LOOPS, SLOTS, SPECS
from slurm_sim_plugins.interposing import Around, around_hooks
from slurm_sim_plugins.manager import Selection
from slurm_sim_plugins.views import ClusterState

_ORDER = attrgetter("_order")
NAME = "explain"
"""Under this name it is registered beside the plugins."""
ANSWERS = ("priority_set", "walltime_submit", "walltime_pending", "backfill_candidates", "preempt_candidates")
"""Hooks whose answers are recorded, if a plugin implements them."""
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

    name: ClassVar[str] = f"observer/{NAME}"

    def __init__(self, log: EventLog, plugins: dict[str, str]) -> None:
        self._log = log
        self._by = {hook: {"plugin": plugin, "hook": hook} for hook, plugin in plugins.items()}
        self._cluster_state: ClusterState | None = None
        self._planned: dict[int, Plan] = {}
        self._known: set[int] = set()
        self._left: object = None

    def watch(self, cluster_state: ClusterState) -> None:
        """Say where positions in the queue are to be looked up."""
        self._cluster_state = cluster_state

    def around(self, hook: str, values: dict[str, Any]) -> Around:
        """One call of a hook."""
        answer = yield
        if hook in LOOPS:
            return self._decisions(hook, values["view"], answer) if hasattr(answer, "send") else answer
        with suppress(Refused):
            # What cannot be used, the emulator says in a moment, and better.
            getattr(self, f"_{hook}")(answer=answer, **values)
        return answer

    def _job_submitted(self, job: Any, now: float, answer: Any) -> None:
        cluster_state = self._cluster_state
        if cluster_state is None:
            return
        waiting = cluster_state._waiting
        facts = {
            "position": 1 + bisect_left(waiting, job._order, key=_ORDER),
            "waiting": len(waiting),
            "free": cluster_state.free,
            "head": waiting[0].id,
        }
        self._log.note(instant(now), "queued", {"job": job.id, **facts})

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

    def _pass_done(self, view: Any, answer: Any) -> None:
        head = view.head.id if view.head is not None else None
        left = (head, view.free, len(view.queue))
        if left != self._left:
            self._left = left
            facts = {"job": head, "head": head, "free": view.free, "waiting": len(view.queue)}
            self._log.note(instant(view.now), "pass", facts)

    def _decisions(self, hook: str, view: Any, decisions: Any) -> Generator[Any, Any, Any]:
        """The scheduler's decisions; each is noted before it is carried out."""
        answer = None
        while True:
            try:
                decision = decisions.send(answer)
            except StopIteration as over:
                return over.value
            for one in decision.parts() if isinstance(decision, Reserve) else (decision,):
                self._decided(hook, view, one)
            answer = yield decision
            if isinstance(decision, MakeRoom):
                self._note(view, "room", decision.job, hook, granted=bool(answer))

    def _decided(self, hook: str, view: Any, decision: Any) -> None:
        job = getattr(decision, "job", None)
        kind = next((word for kind, word in WORDS.items() if isinstance(decision, kind)), "unknown")
        facts: dict[str, Any] = {"decision": kind}
        if isinstance(decision, Reserve | Wake):
            facts["at"] = _number(decision.time)
        if getattr(decision, "reason", ""):
            facts["reason"] = str(decision.reason)
        self._note(view, "decide", job, hook, **facts)

    def _note(self, view: Any, event: str, job: Any, hook: str, **facts: Any) -> None:
        # On a cluster a scheduler decides about entries of the queue.
        job_id = getattr(getattr(job, "job", job), "id", None)
        self._log.note(instant(view.now), event, {"job": job_id, **facts, **self._by[hook]})


WORDS: dict[type, str] = {
    Start: "start",
    Move: "move",
    Preempt: "preempt",
    Reserve: "reserve",
    MakeRoom: "make room",
    Wake: "wake",
}
"""What a decision is called."""


def explain(selection: Selection, log: EventLog) -> Explainer:
    """Let every decision of a simulation be recorded.

    Args:
        selection: its plugins; the explainer is registered beside them.
        log: where to write.
    """
    implemented = [hook for hook in (*ANSWERS, *LOOPS) if selection.implementations(hook)]
    plugins = {hook: _plugin_for(selection, hook) for hook in implemented}
    factory = type("Explainer", (Explainer,), {})
    explainer: Explainer = around_hooks(factory, {*plugins, "job_submitted", "pass_done"})(log, plugins)
    selection.manager.register(explainer, name=NAME)
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
