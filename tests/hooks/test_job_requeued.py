"""job_requeued: told when a run was ended by preemption."""

from __future__ import annotations

from slurm_sim_plugins import MakeRoom, Start, hookimpl
from tests.helpers import run


class LastInFirstOut:
    """The newest job takes the machine."""

    name = "sched/last_in"

    @hookimpl
    def schedule(self, view):
        newest = max(view.queue, key=lambda job: (job.requeues == 0, job.id))
        if newest.processors <= view.free or (newest.requeues == 0 and (yield MakeRoom(newest))):
            yield Start(newest)


class Everybody:
    """Whoever runs may be preempted."""

    name = "preempt/everybody"

    @hookimpl
    def preempt_candidates(self, view):
        return list(view.running)


def test_the_job_and_the_run_that_was_lost_are_told():
    class Observer:
        name = "observer/requeues"

        def __init__(self):
            self.told = []

        @hookimpl
        def job_requeued(self, job, run, now):
            self.told.append((job.id, job.requeues, run.start, now))

    jobs = [(1, 0, 4, 10, 10), (2, 3, 4, 10, 10)]
    plugins = [LastInFirstOut, Everybody, Observer]
    result = run(jobs, 4, plugins=plugins, scheduler="sched/last_in", preempt="preempt/everybody")
    assert result.plugins["observer/requeues"].told == [(1, 1, 0, 3)]
