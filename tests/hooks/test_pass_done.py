"""pass_done: told when a scheduling pass is over."""

from __future__ import annotations

from slurm_sim_plugins import hookimpl
from tests.helpers import failing, run

JOBS = [(1, 0, 3, 5, 5), (2, 1, 3, 4, 4)]


def test_the_situation_after_each_pass_is_shown():
    class Observer:
        name = "observer/passes"

        def __init__(self):
            self.told = []

        @hookimpl
        def pass_done(self, view):
            self.told.append((view.now, view.free, len(view.queue), len(view.running)))

    told = run(JOBS, 4, plugins=[Observer]).plugins["observer/passes"].told
    assert told == [(0, 1, 0, 1), (1, 1, 1, 1), (5, 1, 0, 1)]


def test_an_observer_that_fails_is_named():
    class Observer:
        name = "observer/failing"

        @hookimpl
        def pass_done(self, view):
            raise RuntimeError("no")

    error = failing(JOBS, 4, plugins=[Observer])
    assert (error.plugin, error.hook, error.time) == ("observer/failing", "pass_done", 0)
