"""draw(): who runs when, on what, as text."""

from __future__ import annotations

import re

from emulator.testing import play, simulate_jobs
from slurm_sim_plugins.sched.easy import Easy
from slurm_sim_plugins.testing import cluster, draw, job
from tests.builders.jobs import run

HERE = cluster(10).running(job(6, planned=40), since=-20).waiting(job(8, submit=-10), job(4, limit=15))


def lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.splitlines()]


def test_a_situation_after_a_pass() -> None:
    assert lines(draw(play(Easy, HERE))) == [
        "10 processors; a column is 1 s; now is 0",
        "job  size   on  -20       -10       0         10        20",
        "  1     6  0-5  ====================--------------------   -20 to 20 planned",
        "  3     4  6-9                      ---------------        0 to 15 planned",
        "  2     8                 ..........                    >  waits, reserved at 20",
    ]


def test_a_description_and_a_scene_are_drawn_alike() -> None:
    assert draw(HERE) == draw(HERE.scene()) == repr(HERE.scene())


def test_who_was_preempted() -> None:
    scene = HERE.scene()
    scene.later(4)
    scene.preempt(scene.run_of(1))
    assert lines(draw(scene, width=25))[2:4] == [
        "  1     6  0-5  =======================x   -20 to 4, preempted; waits",
        "  2     8                 ..............   waits",
    ]


def test_the_result_of_a_simulation() -> None:
    result = run([(1, 0, 3, 10, 20), (2, 1, 4, 5, 10), (3, 2, 1, 5, 5)], 4)
    assert lines(draw(result, width=16)) == [
        "4 processors; a column is 1 s",
        "job  size   on  0         10",
        "  1     3  0-2  ==========        0 to 10",
        "  3     1    3    =====           2 to 7",
        "  2     4  0-3   .........=====   10 to 15",
    ]


def test_a_job_that_never_ran() -> None:
    result = run([(1, 0, 3, 10, 20), (2, 1, 9, 5, 10)], 4)
    assert lines(draw(result))[-1].endswith("never ran")


def test_many_jobs_are_left_out_and_counted() -> None:
    result = run([(number, 0, 1, 10, 20) for number in range(1, 51)], 4)
    drawn = lines(draw(result, most=3))
    assert len(drawn) == 6
    assert drawn[-1] == "and 47 more jobs"


def test_no_jobs() -> None:
    assert draw(run([], 4)) == "4 processors, no jobs"
    assert lines(draw(cluster(4)))[0] == "4 processors; a column is 0.001 s; now is 0"


def test_scattered_processors_and_runs_of_no_length() -> None:
    result = run([(1, 0, 1, 4, 9), (2, 0, 1, 5, 9), (3, 0, 2, 9, 9), (4, 5, 2, 0, 9), (5, 5, 3, 1, 9)], 5)
    assert [line.split()[2] for line in lines(draw(result))[2:]] == ["0", "1", "2-3", "0-1", "0-1,4"]
    assert lines(draw(result))[-2].endswith("5 to 5")


def test_large_times_are_whole() -> None:
    assert "846720000" in draw(run([(1, 846720000, 1, 4, 9)], 3))


def test_a_situation_with_tiers() -> None:
    here = cluster(4, tiers=("fg", "bg")).running(job(3, planned=8), since=-4, where=[0, 1, 3])
    drawn = lines(draw(here.running(job(2), since=-2, tier="bg", where=[0, 2]), width=13))
    assert drawn == [
        "4 processors; a column is 1 s; now is 0",
        "job  size      on  -4",
        "  1     3   0-1,3  ====----   -4 to 4 planned",
        "  2     2  bg:0,2    ~~       -2 to 0 on bg:0,2",
    ]


def test_a_simulation_with_tiers() -> None:
    jobs = [job(4, run=20, cpu_use=0.3), job(2, submit=1, run=5, limit=10, cpu_use=0.3)]
    drawn = lines(draw(simulate_jobs(jobs, 4, scheduler="sched/two_tier", execution="execution/two_tier"), width=25))
    assert drawn[2].split()[:3] == ["1", "4", "0-3"]
    assert "~" in drawn[3]
    assert re.search(r"1 to [\d.]+ on bg:", drawn[3])
