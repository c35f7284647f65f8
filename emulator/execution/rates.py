"""Asks the plugin in the ExecutionType slot how fast runs progress."""

from __future__ import annotations

from collections.abc import Sequence

from emulator.hooks import FAILURES, Hooks
from emulator.state.instants import instant
from emulator.validate import Validator
from slurm_sim_plugins.tiers import Stay
from slurm_sim_plugins.views import ClusterState, RateView


class Rates:
    """The answers to ``progress_rate``.

    Args:
        cluster_state: the current state.
        hooks: the hook among them.
        validate: checks the answers.
        changes: times in seconds at which rates change by themselves.

    Attributes:
        changes: the same as instants, ascending.
    """

    def __init__(
        self, cluster_state: ClusterState, hooks: Hooks, validate: Validator, changes: Sequence[float] = ()
    ) -> None:
        self._cluster_state = cluster_state
        self._hooks = hooks
        self._validate = validate
        self._view = RateView(cluster_state)
        self.changes = sorted({instant(time) for time in changes})

    def ask(self, stays: Sequence[Stay]) -> list[float]:
        """A rate for each of some runs."""
        object.__setattr__(self._view, "changed", stays)
        try:
            answer = self._hooks.progress_rate(self._view)  # type: ignore[misc]
        except FAILURES as error:
            self._hooks.fail("progress_rate", error, time=self._cluster_state.now, job=stays[0].job.id)
        return [1.0] * len(stays) if answer is None else self._validate.rates(answer, stays)
