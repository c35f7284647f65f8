"""priority/recent_use, as its author tests it."""

import pytest
from recent_use import RecentUse

from emulator.testing import check_plugin
from slurm_sim_plugins import ConfigurationError
from slurm_sim_plugins.testing import cluster, job

HERE = cluster(10).running(job(4, user="ann"), since=-100).waiting(job(user="ann"), job(user="bob"), job())


def test_who_has_used_nothing_goes_before_who_has(call_hook):
    plugin = RecentUse()
    assert call_hook(plugin, "priority_set", HERE) == [0, 0, 0]
    call_hook(plugin, "job_ended", HERE, job=1)
    assert call_hook(plugin, "priority_set", HERE) == [-400, 0, 0]


def test_half_is_forgotten_in_a_half_life(call_hook):
    plugin, scene = RecentUse(half_life=50.0), HERE.scene()
    call_hook(plugin, "job_ended", scene, job=1)
    scene.later(50)
    assert call_hook(plugin, "priority_set", scene)[0] == -200
    scene.later(100)
    assert call_hook(plugin, "priority_set", scene)[0] == -50


def test_a_run_that_was_sent_back_counts_too(call_hook):
    plugin = RecentUse()
    call_hook(plugin, "job_requeued", HERE, job=1)
    assert plugin.use_of("ann", 0) == 400


def test_what_it_makes_of_a_few_jobs(simulate_jobs, timeline):
    jobs = [
        job(10, user=1, run=100),
        job(10, user=1, run=10, submit=1),
        job(10, user=1, run=10, submit=2),
        job(10, user=2, run=10, submit=3),
    ]
    first_come = simulate_jobs(jobs, 10)
    done = simulate_jobs(jobs, 10, plugins=[RecentUse], priority="priority/recent_use")
    assert sorted(first_come.starts, key=first_come.starts.get) == [1, 2, 3, 4]
    # The queue is renewed at 100, when the first job has ended: user 2 has used nothing.
    assert sorted(done.starts, key=done.starts.get) == [1, 4, 2, 3], timeline(done)


@pytest.mark.parametrize("options", [{"half_life": 0.0}, {"period": -1.0}, {"half_life": float("nan")}])
def test_options_that_make_no_sense_are_refused(options):
    with pytest.raises(ConfigurationError, match="give more than 0 s and 0 s or more"):
        RecentUse(**options)


def test_it_does_what_every_plugin_must():
    check_plugin(RecentUse)
