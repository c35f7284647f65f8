"""job_started: told when a job was started."""

from __future__ import annotations

from slurm_sim_plugins import Run, hookimpl
from slurm_sim_plugins.sched.easy import Easy
from tests.helpers import run

JOBS = [(1, 0, 3, 5, 6), (2, 1, 2, 4, 4)]


def test_the_run_and_the_time_are_told():
    class Observer:
        name = "observer/starts"

        def __init__(self):
            self.told = []

        @hookimpl
        def job_started(self, run, now):
            assert isinstance(run, Run)
            self.told.append((run.job.id, run.start, run.planned_end, run.processors, now))

    told = run(JOBS, 4, plugins=[Observer]).plugins["observer/starts"].told
    assert told == [(1, 0, 6, 3, 0), (2, 5, 9, 2, 5)]


def test_arguments_may_be_left_out_or_stand_in_another_order():
    class Swapped:
        name = "observer/swapped"

        def __init__(self):
            self.told = []

        @hookimpl
        def job_started(self, now, run):
            self.told.append((now, run.job.id))

        @hookimpl
        def job_ended(self, state):
            self.told.append(state)

    told = run(JOBS, 4, plugins=[Swapped]).plugins["observer/swapped"].told
    assert told == [(0, 1), "COMPLETED", (5, 2), "COMPLETED"]


def test_a_selected_plugin_may_observe_too():
    class Counting(Easy):
        name = "sched/counting"

        def __init__(self):
            super().__init__()
            self.starts = 0

        @hookimpl
        def job_started(self):
            self.starts += 1

    assert run(JOBS, 4, plugins=[Counting], scheduler="sched/counting").plugins["sched/counting"].starts == 2
