"""Stands between the emulator and the hooks, so that each decision is recorded, with plugin, hook and reason.

It is there only with ``explain``: without, nothing is called that was not called before.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator
from contextlib import suppress
from typing import Any

from emulator.accounting.decision_log import DecisionLog, Noted
from emulator.accounting.eventlog import EventLog
from slurm_sim_plugins.answers import Refused
from slurm_sim_plugins.decisions import MakeRoom
from slurm_sim_plugins.hookspecs import LOOPS, SLOTS, SPECS
from slurm_sim_plugins.manager import Selection
from slurm_sim_plugins.views import ClusterState

ANSWERS = ("priority_set", "walltime_submit", "walltime_pending", "backfill_candidates", "preempt_candidates")
"""Hooks whose answers are recorded, if a plugin implements them."""
HEARD = ("job_submitted", "pass_done")
"""What has happened, and is recorded with what follows from it."""


class Explainer:
    """Hands on what the hooks answer, to the emulator and to a log.

    Args:
        log: where decisions are written.
        hooks: those that plugins implement.
    """

    def __init__(self, log: DecisionLog, hooks: Collection[str]) -> None:
        self._log, self._hooks = log, frozenset(hooks)

    def watch(self, cluster_state: ClusterState) -> None:
        """Say where positions in the queue are to be looked up."""
        self._log.watch(cluster_state)

    def between(self, hook: str, function: Callable[..., Any] | None) -> Callable[..., Any] | None:
        """What is called in place of a hook, so that its answer is noted; the hook itself if that says nothing."""
        if hook in HEARD:
            return self._after(getattr(self._log, hook), function)
        if function is None or hook not in self._hooks:
            return function
        if hook in LOOPS:
            return self._explained_loop(hook, function)
        return self._explained(getattr(self._log, hook), function)

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
        log = self._log

        def loop(view: Any) -> Any:
            decisions = function(view)
            if not hasattr(decisions, "send"):
                return decisions
            return Noted(log, hook, view, decisions) if view.counted else self._decisions(hook, view, decisions)

        return loop

    def _decisions(self, hook: str, view: Any, decisions: Any) -> Generator[Any, Any, Any]:
        """The scheduler's decisions; each is noted before it is carried out."""
        answer = None
        send, decided = decisions.send, self._log.decided
        while True:
            try:
                decision = send(answer)
            except StopIteration as over:
                return over.value
            decided(hook, view, decision)
            answer = yield decision
            if isinstance(decision, MakeRoom):
                self._log.room(hook, view, decision.job, bool(answer))


def explain(selection: Selection, log: EventLog) -> Explainer:
    """Let every decision of a simulation be recorded.

    Args:
        selection: its plugins; the explainer stands between them and the emulator from now on.
        log: where to write.
    """
    implemented = [hook for hook in (*ANSWERS, *LOOPS) if selection.implementations(hook)]
    explainer = Explainer(DecisionLog(log, {hook: _plugin_for(selection, hook) for hook in implemented}), implemented)
    selection.between = explainer.between
    return explainer


def _plugin_for(selection: Selection, hook: str) -> str:
    kind = next(kind for kind, spec in SPECS.items() if hook in vars(spec))
    return next(selection.slots[slot] for slot, of in SLOTS.items() if of == kind)
