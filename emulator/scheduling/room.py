"""Making room for a job by preemption: all that it needs, or none."""

from __future__ import annotations

from emulator.engine.apply import Apply
from emulator.hooks import FAILURES, Hooks
from emulator.validate import Validator
from slurm_sim_plugins.jobs import Job, Run
from slurm_sim_plugins.views import ClusterState, PreemptView


class RoomMaker:
    """Asks the preempt plugin for candidates and preempts the victims.

    Args:
        cluster_state: the current state.
        hooks: the preempt plugin's hook among them.
        apply: carries the preemptions out.
        validate: checks the plugin's answer.
    """

    def __init__(self, cluster_state: ClusterState, hooks: Hooks, apply: Apply, validate: Validator) -> None:
        self._cluster_state = cluster_state
        self._hooks = hooks
        self._apply = apply
        self._validate = validate
        self._view = PreemptView(cluster_state)

    def make(self, job: Job, reason: str = "") -> bool:
        """Preempt until ``job`` fits. False, and no run is touched, if it cannot be made to fit."""
        if job.processors <= self._cluster_state.free:
            return True
        victims = self._victims(job)
        for run in victims:
            self._apply.preempt(run, job, reason)
        return bool(victims)

    def _victims(self, job: Job) -> list[Run]:
        """The shortest beginning of the candidates that suffices; empty if none does."""
        free = self._cluster_state.free
        victims = []
        for run in self._candidates(job):
            victims.append(run)
            free += run.processors
            if free >= job.processors:
                return victims
        return []

    def _candidates(self, job: Job) -> list[Run]:
        hook = self._hooks.preempt_candidates
        if hook is None:
            return []
        object.__setattr__(self._view, "preemptor", job)
        try:
            answer = hook(self._view)
        except FAILURES as error:
            self._hooks.fail("preempt_candidates", error, time=self._cluster_state.now, job=job.id)
        return self._validate.victims(answer, job) if answer is not None else []
