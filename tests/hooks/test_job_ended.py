"""job_ended: told when a job left the machine for good."""

from __future__ import annotations

from slurm_sim_plugins import hookimpl
from tests.helpers import run


def test_state_run_and_time_are_told():
    class Observer:
        name = "observer/ends"

        def __init__(self):
            self.told = []

        @hookimpl
        def job_ended(self, job, run, state, now):
            self.told.append((job.id, run.start, state, now))

    jobs = [(1, 0, 1, 5, 6), (2, 0, 1, 9, 6), (3, 0, 1, 6, 6)]
    told = run(jobs, 4, plugins=[Observer]).plugins["observer/ends"].told
    # Of those that leave at 6, who has finished goes before who is killed.
    assert told == [(1, 0, "COMPLETED", 5), (3, 0, "COMPLETED", 6), (2, 0, "TIMEOUT", 6)]
