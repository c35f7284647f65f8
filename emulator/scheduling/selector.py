"""Asks the plugin in the SelectType slot for blocks."""

from __future__ import annotations

from collections.abc import Sequence

from emulator.hooks import FAILURES, Hooks
from emulator.validate import Validator
from slurm_sim_plugins.block_state import BlockState
from slurm_sim_plugins.jobs import Job, Run
from slurm_sim_plugins.views import SelectView, Situation

_set = object.__setattr__
"""Writes to a view, which refuses plain assignment."""


class Selector:
    """The answers to ``select_nodes``.

    Args:
        situation: the current state, with its blocks.
        hooks: the hook among them.
        validate: checks the answers.
    """

    def __init__(self, situation: Situation, hooks: Hooks, validate: Validator) -> None:
        assert situation.block_state is not None, "there are no blocks"
        self._situation = situation
        self._block_state: BlockState = situation.block_state
        self._hooks = hooks
        self._validate = validate
        self._view = SelectView(situation)

    def find(self, job: Job, beside: int | None = None, candidates: Sequence[Run] = ()) -> int | None:
        """A block for a job that is free but for candidates, or None."""
        view = self._view
        _set(view, "job", job)
        _set(view, "beside", beside)
        _set(view, "candidates", candidates)
        try:
            answer = self._hooks.select_nodes(view)  # type: ignore[misc]
        except FAILURES as error:
            self._hooks.fail("select_nodes", error, time=self._situation.now, job=job.id)
        return None if answer is None else self._validate.block(answer, job, self._block_state, candidates, beside)

    def choose(self, job: Job) -> int:
        """A free block for a job that is being started; the start is refused if there is none."""
        block = self.find(job)
        if block is None:
            self._validate.no_block(job)
        return block
