"""The offline optimum: instances worked out by hand, the checker, and what is refused."""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from fractions import Fraction

import pytest
from slurm_sim_studies.optimum.check import faults
from slurm_sim_studies.optimum.climb import climb
from slurm_sim_studies.optimum.instances import as_processors, contended, of_the_paper
from slurm_sim_studies.optimum.listing import ListScheduler
from slurm_sim_studies.optimum.milp import optimise_milp
from slurm_sim_studies.optimum.model import Ideas, Model, solve
from slurm_sim_studies.optimum.optimise import Optimum, check_size, optimise, within_reach
from slurm_sim_studies.optimum.problem import Job, Problem, mira_checkpoint
from slurm_sim_studies.optimum.realtime import least_mean
from slurm_sim_studies.optimum.schedule import Part, Schedule, Stay, batch_slowdowns, realtime_slowdown
from slurm_sim_studies.optimum.symmetry import cliques, exchanges, pieces
from slurm_sim_studies.optimum.weights import weights

from slurm_sim_plugins import ConfigurationError, InputError
from slurm_sim_plugins.blocks import aligned, doubling_sizes

ONE = aligned(1, (512,))
SIXTEEN = aligned(16, doubling_sizes(16))


def realtime(number: int, submit: int, run: int, size: int = 1) -> Job:
    return Job(number, submit, run, size, realtime=True)


def best(*jobs: Job, machine: object = 1, bound: str = "1.2", **options: object) -> Optimum:
    pytest.importorskip("ortools")
    found = optimise(Problem(jobs, machine, Fraction(bound)), **options)  # type: ignore[arg-type]
    assert found.status == "optimal"
    assert not faults(found.problem, found.schedule, objective=found.objective)
    return found


# Instances by hand


def test_m1_delaying_the_batch_job_beats_two_checkpoints() -> None:
    found = best(Job(1, 0, 1000, 512, checkpoint=mira_checkpoint(512)), realtime(2, 500, 1000, 512), machine=ONE)
    assert (found.batch_mean, found.realtime_mean) == (2.5, 1.0)
    assert found.schedule[1].parts == (Part(1500, 2500),)


def test_m1_the_best_plan_with_a_preemption_has_3_024() -> None:
    jobs = (Job(1, 0, 1000, 512, checkpoint=512), realtime(2, 500, 1000, 512))
    problem = Problem(jobs, ONE, Fraction("1.2"))
    # 512 s of checkpoint and 100 s of work leave the machine at 612; the other part takes 900 + 512.
    plan: Schedule = {1: Stay((Part(0, 612), Part(1612, 3024)), 0), 2: Stay((Part(612, 1612),), 0)}
    assert not faults(problem, plan)
    assert batch_slowdowns(problem, plan) == Fraction("3.024")


def test_a_long_job_is_preempted_for_a_short_one() -> None:
    found = best(Job(1, 0, 10000, 1, checkpoint=100), realtime(2, 5000, 1000), bound="1")
    assert found.schedule[1].parts == (Part(0, 5000), Part(6000, 11200))
    assert found.objective == Fraction("1.12")


def test_a_batch_job_preempts_another() -> None:
    found = best(Job(1, 0, 10000, 1, checkpoint=100), Job(2, 5000, 1000, 1))
    assert found.objective == Fraction("1.12") + 1


def test_a_part_does_a_tenth_of_the_work_at_least() -> None:
    # At 150 the job has not done its tenth, and written it, before 160: then it waits for the other instead.
    found = best(Job(1, 0, 1000, 1, checkpoint=60), realtime(2, 150, 100), bound="1")
    assert found.schedule[1].parts == (Part(250, 1250),)
    later = best(Job(1, 0, 1000, 1, checkpoint=60), realtime(2, 160, 100), bound="1")
    assert later.schedule[1].parts == (Part(0, 160), Part(260, 1220))


def test_a_job_without_a_checkpoint_is_never_preempted() -> None:
    found = best(Job(1, 0, 10000, 1), realtime(2, 5000, 1000), bound="1")
    assert found.objective == Fraction("1.6")


def test_both_parts_are_on_one_block_but_on_any_processors() -> None:
    jobs = (Job(1, 0, 100, 1, checkpoint=0), Job(2, 0, 100, 1, checkpoint=0), realtime(3, 50, 1000, 1))
    blocks = best(*jobs, machine=aligned(2, (1, 2), nodes=1), bound="1")
    counted = best(*jobs, machine=2, bound="1")
    # The job that makes room has to wait for its own block, or goes on as soon as any processor is free.
    assert (blocks.objective, counted.objective) == (3, Fraction("2.5"))
    assert all(len(stay.parts) == 1 for stay in blocks.schedule.values())
    assert sorted(len(stay.parts) for stay in counted.schedule.values()) == [1, 1, 2]


@pytest.mark.parametrize("tries", [1, 1000])
def test_on_processors_a_preempted_job_goes_on_beside_the_one_of_its_size_that_stopped_it(tries: int) -> None:
    # Exchanged, job 3 would be done at 20, and job 2 at 9 instead of 7; 2 s are worth more to job 2.
    jobs = (realtime(1, 0, 3), Job(2, 0, 6, 1, checkpoint=0), Job(3, 0, 20, 1), realtime(4, 22, 10, 2))
    found = best(*jobs, machine=2, bound="1", tries=tries)
    assert found.objective == Fraction(7, 6) + Fraction(22, 20)
    assert found.schedule[2].parts == (Part(0, 2), Part(3, 7))


def test_what_is_not_done_soon_is_begun_anew_with_subsets_of_more_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ortools")
    whole = []

    def counted(model: Model, *limits: float) -> object:
        whole.append(len(model.problem.batch))
        return solve(model, *limits)

    monkeypatch.setattr("slurm_sim_studies.optimum.optimise.solve", counted)
    monkeypatch.setattr("slurm_sim_studies.optimum.optimise.SOON", 1e-9)
    problem = contended(2, batch=4, realtime=3)
    found = optimise(problem, tries=10, seconds=600)
    assert [whole.count(size) for size in range(1, 5)] == [4, 6, 4, 2]
    assert (found.status, found.objective) == ("optimal", optimise(problem, ideas=Ideas(more_subsets=False)).objective)
    assert whole.count(4) == 3


def test_two_wide_jobs_go_one_after_the_other_the_shorter_first() -> None:
    found = best(Job(1, 0, 300, 8192), Job(2, 0, 100, 8192), machine=SIXTEEN)
    assert found.objective == 1 + Fraction(400, 300)


def test_two_narrow_jobs_share_the_machine() -> None:
    found = best(Job(1, 0, 300, 4096), Job(2, 0, 100, 4000), machine=SIXTEEN)
    assert found.objective == 2
    assert {found.schedule[1].block, found.schedule[2].block} == set(SIXTEEN.blocks_for(4096))


def test_the_bound_costs_the_batch_job_its_turn() -> None:
    jobs = (Job(1, 0, 100, 1), realtime(2, 0, 100))
    assert best(*jobs, bound="2").objective == 1
    assert best(*jobs, bound="1.99").objective == 2


def test_without_real_time_jobs_there_is_no_bound() -> None:
    found = best(Job(1, 0, 100, 1), Job(2, 0, 300, 1))
    assert found.objective == 1 + Fraction(400, 300)
    assert math.isnan(found.realtime_mean)
    assert realtime_slowdown(found.problem, found.schedule) is None


def test_the_same_problem_gives_the_same_schedule() -> None:
    pytest.importorskip("ortools")
    problem = contended(3)
    assert optimise(problem, tries=500).schedule == optimise(problem, tries=500).schedule


def test_highs_finds_m1_too() -> None:
    jobs = (Job(1, 0, 1000, 512, checkpoint=512), realtime(2, 500, 1000, 512))
    found = optimise_milp(Problem(jobs, ONE))
    assert (found.status, found.batch_mean, found.realtime_mean) == ("optimal", 2.5, 1.0)


# Bounds


def test_a_bound_that_cannot_be_kept_is_relaxed_to_the_next_hundredth() -> None:
    kept = best(Job(1, 0, 10, 1), realtime(2, 0, 300), realtime(3, 0, 100))
    assert least_mean(kept.problem) == (1 + Fraction(4, 3)) / 2
    assert (kept.asked, kept.problem.bound) == (Fraction("1.2"), Fraction("1.2"))
    tight = best(Job(1, 0, 10, 1), realtime(2, 0, 300), realtime(3, 0, 100), bound="1.1")
    assert (tight.asked, tight.problem.bound) == (Fraction("1.1"), Fraction("1.17"))


def test_a_bound_beyond_the_loosest_is_refused_with_the_one_that_can_be_kept() -> None:
    problem = Problem((Job(1, 0, 10, 1), realtime(2, 0, 100), realtime(3, 0, 100), realtime(4, 0, 100)), 1)
    with pytest.raises(ConfigurationError, match=r"below 1\.2, nor 1\.5.*least is 2\.0000; give a bound of 2"):
        within_reach(problem, Fraction("1.5"))
    with pytest.raises(ConfigurationError, match=r"below 1\.2 even if"):
        within_reach(problem, None)


def test_many_real_time_jobs_are_left_to_the_solver() -> None:
    pytest.importorskip("ortools")
    jobs = tuple(realtime(number, 0, 10) for number in range(2, 12))
    problem = Problem((Job(1, 0, 10, 1), *jobs), 5)
    assert within_reach(problem, Fraction(2))[0].bound == Fraction("1.5")


def test_what_the_time_is_not_enough_for_is_not_called_optimal() -> None:
    pytest.importorskip("ortools")
    problem = of_the_paper(1, batch=12, realtime=3)
    found = optimise(problem, seconds=0.1, tries=50, ideas=Ideas(subsets=0))
    assert found.status == "feasible"
    assert not faults(found.problem, found.schedule, objective=found.objective)
    assert 12 <= found.lower < found.objective
    assert found.gap == pytest.approx(1 - float(found.lower / found.objective))
    assert found.batch_mean_lower < found.batch_mean


def test_without_an_incumbent_a_timeout_still_gives_a_schedule() -> None:
    pytest.importorskip("ortools")
    ideas = Ideas(subsets=0, incumbent=False)
    found = optimise(of_the_paper(1, batch=15, realtime=3), seconds=0.1, tries=50, ideas=ideas)
    assert found.status == "feasible"
    assert not faults(found.problem, found.schedule, objective=found.objective)


# What is refused before any solver starts


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"run": 0}, r"job 1 runs 0 s, and has no slowdown"),
        ({"run": -5}, r"job 1 runs -5 s"),
        ({"size": 9}, r"job 1 takes 9, the machine has 8"),
        ({"size": 0}, r"job 1 takes 0 processors"),
        ({"checkpoint": -1}, r"job 1 has a checkpoint of -1 s"),
        ({"id": 2}, r"two jobs have the id 2"),
        ({"realtime": True}, r"no batch job"),
    ],
)
def test_a_job_that_fits_in_no_schedule_is_refused(change: dict[str, object], message: str) -> None:
    job = replace(Job(1, 0, 10, 1), **change)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=message):
        Problem((job, realtime(2, 0, 10)), 8, name="few")


def test_a_job_larger_than_every_block_is_refused() -> None:
    with pytest.raises(InputError, match="takes 8193, the largest block has 8192"):
        Problem((Job(1, 0, 10, 8193),), SIXTEEN)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bound": Fraction("0.9")}, "which no schedule can keep"),
        ({"least_part": Fraction("0.6")}, "two parts make up a job"),
        ({"machine": 0}, "a machine of 0 processors"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        Problem(**{"jobs": (Job(1, 0, 10, 1),), "machine": 8, **options})  # type: ignore[arg-type]


def test_too_many_jobs_are_refused_with_the_limit() -> None:
    jobs = tuple(Job(number, 0, 10, 1) for number in range(41))
    with pytest.raises(InputError, match=r"41 jobs are too many.*the limit is 40"):
        check_size(Problem(jobs, 8))
    with pytest.raises(InputError, match="the limit is 8"):
        optimise_milp(Problem(jobs, 8))


def test_too_many_places_are_refused_with_the_limit() -> None:
    machine = aligned(1024, (1,), nodes=1)
    problem = Problem(tuple(Job(number, 0, 10, 1, checkpoint=0) for number in range(20)), machine)
    with pytest.raises(InputError, match=r"40,960 positions on this machine.*the limit is 20,000"):
        check_size(problem)


def test_without_the_extra_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ortools.sat.python.cp_model", None)
    with pytest.raises(ConfigurationError, match=r"pip install 'slurm-sim-plugins\[optimum\]'"):
        optimise(contended(1))


# The checker

PROBLEM = Problem(
    (Job(1, 10, 100, 2048, checkpoint=5), Job(2, 0, 50, 4096, checkpoint=5), realtime(3, 20, 40, 8192)), SIXTEEN
)
QUARTER, HALF, WHOLE = (SIXTEEN.blocks_for(size) for size in (2048, 4096, 8192))
RIGHT: Schedule = {
    1: Stay((Part(10, 20), Part(60, 160)), QUARTER[0]),
    2: Stay((Part(60, 110),), HALF[1]),
    3: Stay((Part(20, 60),), WHOLE[0]),
}


def wrong(**stays: Stay) -> list[str]:
    return faults(PROBLEM, {**RIGHT, **{int(name[1:]): stay for name, stay in stays.items()}})


def test_a_right_schedule_has_no_faults() -> None:
    problem = Problem((replace(PROBLEM.jobs[0], run=100), *PROBLEM.jobs[1:]), SIXTEEN, least_part=Fraction("0.05"))
    assert not faults(problem, RIGHT, objective=Fraction(150, 100) + Fraction(110, 50))


@pytest.mark.parametrize(
    ("number", "stay", "message"),
    [
        (2, Stay((Part(-1, 49),), HALF[1]), "job 2 starts at -1, before its submission"),
        (2, Stay((Part(60, 109),), HALF[1]), "job 2 runs 49 s instead of 50 s"),
        (2, Stay((Part(60, 60),), HALF[1]), "job 2 has a part without length"),
        (2, Stay((Part(60, 110),), HALF[0]), "jobs 1 and 2 use the same midplanes"),
        (2, Stay((Part(60, 110),), QUARTER[3]), "not of its size"),
        (2, Stay((Part(60, 110),)), "not of its size"),
        (2, Stay((Part(60, 90), Part(80, 110)), HALF[1]), "job 2 goes on before it was preempted"),
        (2, Stay((Part(60, 90), Part(90, 119)), HALF[1]), "job 2 works 49 s in two parts"),
        (2, Stay((Part(60, 66), Part(70, 124)), HALF[1]), "has a part that works 1 s of 50 s only"),
        (2, Stay((Part(60, 80), Part(80, 90), Part(90, 120)), HALF[1]), "job 2 has 3 parts"),
        (3, Stay((Part(20, 40), Part(60, 80)), WHOLE[0]), "job 3 is preempted, which it may not be"),
        (3, Stay((Part(160, 200),), WHOLE[0]), "mean slowdown is 4.5, above 1.2"),
    ],
)
def test_the_checker_finds_what_is_wrong(number: int, stay: Stay, message: str) -> None:
    assert any(message in fault for fault in wrong(**{f"_{number}": stay}))


def test_the_checker_misses_no_job_and_no_wrong_objective() -> None:
    assert faults(PROBLEM, {1: RIGHT[1], 2: RIGHT[2]}) == ["job 3 is nowhere in the schedule"]
    assert any("add up to 3.7, not to 3.6" in fault for fault in faults(PROBLEM, RIGHT, objective=Fraction("3.6")))


def test_the_checker_counts_processors() -> None:
    problem = Problem((Job(1, 0, 10, 2), Job(2, 0, 10, 2)), 3)
    both = {1: Stay((Part(0, 10),)), 2: Stay((Part(9, 19),))}
    assert faults(problem, both) == ["at 9 jobs use 4 of 3 processors"]
    assert not faults(problem, {**both, 2: Stay((Part(10, 20),))})


# What the solver is given


def test_weights_are_exact_where_the_run_times_allow_it() -> None:
    exact = weights((Job(1, 0, 4, 1), Job(2, 0, 6, 1)), 100)
    assert (exact.scale, dict(exact.of), exact.error) == (12, {1: 3, 2: 2}, 0)


def test_the_error_of_rounded_weights_is_a_bound() -> None:
    jobs = tuple(Job(number, 0, run, 1) for number, run in enumerate((9973, 9967, 9949, 9941, 9931)))
    rounded = weights(jobs, 100_000)
    assert 0 < rounded.error < Fraction(1, 10**6)
    for end in (10_000, 31_415, 100_000):
        true = sum(Fraction(end, job.run) for job in jobs)
        weighed = Fraction(sum(end * rounded.of[job.id] for job in jobs), rounded.scale)
        assert abs(true - weighed) <= rounded.error


def test_siblings_of_an_aligned_machine_can_be_exchanged() -> None:
    problem = Problem((Job(1, 0, 10, 2048), Job(2, 0, 10, 4096)), SIXTEEN)
    assert len(pieces(problem)) == 4
    quarters, halves = SIXTEEN.blocks_for(2048), SIXTEEN.blocks_for(4096)
    assert exchanges(problem) == [
        {quarters[0]: quarters[1], quarters[1]: quarters[0]},
        {quarters[2]: quarters[3], quarters[3]: quarters[2]},
        {
            **{quarters[number]: quarters[(number + 2) % 4] for number in range(4)},
            halves[0]: halves[1],
            halves[1]: halves[0],
        },
    ]


def test_jobs_that_exclude_one_another_are_in_one_clique() -> None:
    problem = Problem((Job(1, 0, 10, 8192), Job(2, 0, 10, 2048), Job(3, 0, 10, 4096), Job(4, 0, 10, 8192)), SIXTEEN)
    found = [{job.id for job in clique} for clique in cliques(problem)]
    assert found == [{1, 2, 4}, {1, 3, 4}]
    counted = as_processors(problem)
    assert [{job.id for job in clique} for clique in cliques(counted)] == found


# Schedules without a solver


def test_a_list_is_laid_in_its_order() -> None:
    problem = Problem((Job(1, 0, 100, 2, checkpoint=5), Job(2, 10, 20, 1), Job(3, 20, 30, 2)), 2)
    lists = ListScheduler(problem)
    in_turn = lists.lay(lists.entries([0, 1, 2])).schedule()
    assert [in_turn[number].parts for number in (1, 2, 3)] == [(Part(0, 100),), (Part(100, 120),), (Part(120, 150),)]
    # The first job's second part comes last: the part that needs the room stops the first.
    stopped = lists.lay([0, 2, 4, 1]).schedule()
    assert [stopped[number].parts for number in (1, 2, 3)] == [
        (Part(0, 15), Part(65, 160)),
        (Part(15, 35),),
        (Part(35, 65),),
    ]


@pytest.mark.parametrize("seed", range(1, 7))
@pytest.mark.parametrize("kind", [contended, of_the_paper])
def test_what_the_climb_finds_is_right(kind: object, seed: int) -> None:
    problem = within_reach(kind(seed), Fraction(2))[0]  # type: ignore[operator]
    for each in (problem, as_processors(problem)):
        found = climb(each, tries=200)
        complaints = faults(each, found.schedule)
        assert not complaints or (not found.within_bound and all("mean slowdown" in fault for fault in complaints))


def test_a_climb_ends_where_there_is_little_to_climb() -> None:
    assert climb(Problem((Job(1, 0, 10, 1),), 1)).schedule[1].parts == (Part(0, 10),)


def test_instances_are_seeded() -> None:
    assert contended(5).jobs == contended(5).jobs != contended(6).jobs
    assert {job.size for seed in range(9) for job in contended(seed).jobs} == {2048, 4096, 8192}
    assert max(job.submit for seed in range(9) for job in contended(seed).jobs) <= 1800
