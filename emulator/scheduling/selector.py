"""Asks the plugin in the SelectType slot for blocks."""

from __future__ import annotations

from collections.abc import Sequence

from emulator.hooks import FAILURES, Hooks
from emulator.validate import Validator
from slurm_sim_plugins.block_state import BlockState
from slurm_sim_plugins.jobs import Job, Run
from slurm_sim_plugins.views import ClusterState, SelectView

_set = object.__setattr__
"""Writes to a view, which refuses plain assignment."""


class Selector:
    """The answers to ``select_nodes``.

    Args:
        cluster_state: the current state, with its blocks.
        hooks: the hook among them.
        validate: checks the answers.
    """

    def __init__(self, cluster_state: ClusterState, hooks: Hooks, validate: Validator) -> None:
        assert cluster_state.block_state is not None, "there are no blocks"
        self._cluster_state = cluster_state
        self._block_state: BlockState = cluster_state.block_state
        self._hooks = hooks
        self._validate = validate
        self._view = SelectView(cluster_state)

    def find(self, job: Job, beside: int | None = None, candidates: Sequence[Run] = ()) -> int | None:
        """A block for a job that is free but for candidates, or None."""
        view = self._view
        _set(view, "job", job)
        _set(view, "beside", beside)
        _set(view, "candidates", candidates)
        try:
            answer = self._hooks.select_nodes(view)  # type: ignore[misc]
        except FAILURES as error:
            self._hooks.fail("select_nodes", error, time=self._cluster_state.now, job=job.id)
        return None if answer is None else self._validate.block(answer, job, self._block_state, candidates, beside)

    def choose(self, job: Job) -> int:
        """A free block for a job that is being started; the start is refused if there is none."""
        block = self.find(job)
        if block is None:
            self._validate.no_block(job)
        return block
