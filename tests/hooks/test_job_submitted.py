"""job_submitted: told when a job was queued."""

from __future__ import annotations

from slurm_sim_plugins import hookimpl
from tests.helpers import failing, run


def test_each_queued_job_is_told_once_in_order():
    class Observer:
        name = "observer/submissions"

        def __init__(self):
            self.told = []

        @hookimpl
        def job_submitted(self, job, now):
            self.told.append((job.id, now))

    jobs = [(1, 0, 1, 5, 5), (2, 3, 9, 5, 5), (3, 3, 1, 5, 5)]
    assert run(jobs, 4, plugins=[Observer]).plugins["observer/submissions"].told == [(1, 0), (3, 3)]


def test_an_observer_that_fails_is_named():
    class Observer:
        name = "observer/failing"

        @hookimpl
        def job_submitted(self, job, now):
            raise KeyError(job.id)

    error = failing([(7, 2, 1, 5, 5)], 4, plugins=[Observer])
    assert (error.plugin, error.hook, error.job, error.time) == ("observer/failing", "job_submitted", 7, 2)


def test_of_several_observers_the_one_that_fails_is_named():
    class Quiet:
        name = "observer/quiet"

        @hookimpl
        def job_submitted(self, job, now):
            return job

    class Failing:
        name = "observer/failing"

        @hookimpl
        def job_submitted(self, job):
            raise ValueError(job.id)

    error = failing([(7, 2, 1, 5, 5)], 4, plugins=[Quiet, Failing])
    assert (error.plugin, error.hook, error.job) == ("observer/failing", "job_submitted", 7)
