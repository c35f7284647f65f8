"""The offline optimum against brute force, against another solver, and against the policies."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from slurm_sim_studies.optimum.check import faults
from slurm_sim_studies.optimum.files import Case, workload_of
from slurm_sim_studies.optimum.optimise import Ideas, Optimum, optimise
from slurm_sim_studies.optimum.policies import order_of_starts, standing
from slurm_sim_studies.optimum.problem import Job, Problem
from slurm_sim_studies.optimum.realtime import least_mean

from emulator import simulate
from slurm_sim_plugins.blocks import Blocks, aligned
from slurm_sim_plugins.manager import Catalogue
from tests.reference.optimum import best
from tests.reference.optimum_by_second import better

pytest.importorskip("ortools")

ANY = Fraction(1000)
"""A bound that every schedule keeps."""
PLAIN = Ideas(incumbent=False, subsets=0, more_subsets=False, symmetry=False, preemption=False, cliques=False)
MACHINES: dict[str, tuple[int | Blocks, tuple[int, ...]]] = {
    "one": (1, (1,)),
    "processors": (3, (1, 2, 3)),
    "halves": (aligned(2, (1, 2), nodes=1), (1, 2)),
    "quarters": (aligned(4, (1, 2, 4), nodes=1), (1, 2, 4)),
    "overlapping": (Blocks(3, [("a", [0, 1]), ("b", [1, 2]), ("c", [2]), ("d", [0, 1, 2])], nodes=1), (1, 2, 3)),
}


@st.composite
def problems(draw: st.DrawFn, jobs: int, longest: int, machine: str | None = None) -> Problem:
    chosen, sizes = MACHINES[machine or draw(st.sampled_from(list(MACHINES)))]
    rows = [
        Job(
            number,
            draw(st.integers(0, longest)),
            draw(st.integers(1, longest)),
            draw(st.sampled_from(sizes)),
            draw(st.booleans()) if number < jobs - 2 else False,
            draw(st.sampled_from([None, 0, 0, 1])),
        )
        for number in range(jobs)
    ]
    bound = Fraction(draw(st.integers(10, 20)), 10)
    return Problem(tuple(rows), chosen, bound, Fraction(draw(st.integers(0, 3)), 10))


def proven(problem: Problem, **options: Any) -> Optimum:
    found = optimise(problem, tries=100, **options)
    assert found.status == "optimal"
    assert not faults(found.problem, found.schedule, objective=found.objective)
    assert found.lower <= found.objective <= found.lower + Fraction(1, 10**6)
    return found


@settings(max_examples=20)
@given(problems(3, 6))
def test_brute_force_finds_nothing_better_for_three_jobs(problem: Problem) -> None:
    assert proven(problem, loosest=ANY).objective == best(reachable(problem))


@settings(max_examples=12)
@given(problems(4, 4))
def test_brute_force_finds_nothing_better_for_four_jobs(problem: Problem) -> None:
    assert proven(problem, loosest=ANY).objective == best(reachable(problem))


@settings(max_examples=12)
@given(problems(3, 5))
def test_both_references_agree(problem: Problem) -> None:
    assert better(reachable(problem)) == best(reachable(problem))


@settings(max_examples=12)
@given(problems(5, 5))
def test_nothing_is_better_second_by_second_for_five_jobs(problem: Problem) -> None:
    found = proven(problem, loosest=ANY)
    assert better(found.problem, found.objective) is None


@settings(max_examples=6)
@given(problems(7, 3))
def test_nothing_is_better_second_by_second_for_seven_jobs(problem: Problem) -> None:
    found = proven(problem, loosest=ANY)
    assert better(found.problem, found.objective) is None


def reachable(problem: Problem) -> Problem:
    """With the bound that the search takes where its own cannot be kept."""
    hundredths = -(-least_mean(problem) * 100 // 1)
    return problem.with_bound(max(problem.bound, Fraction(hundredths, 100)))


@settings(max_examples=25)
@given(problems(4, 4))
def test_brute_force_keeps_the_least_bound_and_none_below(problem: Problem) -> None:
    assume(problem.realtime)
    least = least_mean(problem)
    alone = Problem((*problem.realtime, Job(99, 0, 1, 1)), problem.machine, bound=least, least_part=problem.least_part)
    assert best(alone) is not None
    if least > 1:
        below = least - Fraction(1, 10**9)
        assert best(alone.with_bound(max(Fraction(1), below))) is None


@settings(max_examples=12)
@given(problems(5, 12))
def test_no_idea_costs_the_optimum(problem: Problem) -> None:
    assert proven(problem, loosest=ANY).objective == proven(problem, loosest=ANY, ideas=PLAIN).objective


@settings(max_examples=8)
@given(problems(3, 12))
def test_both_solvers_agree(problem: Problem) -> None:
    from slurm_sim_studies.optimum.milp import optimise_milp

    other = optimise_milp(problem, loosest=ANY)
    assert other.status == "optimal"
    assert not faults(other.problem, other.schedule, objective=other.objective)
    assert float(other.lower) == pytest.approx(float(other.objective))
    assert other.objective == proven(problem, loosest=ANY).objective


POLICIES = {
    "FCFS": {"scheduler": "sched/fcfs"},
    "SJF": {"scheduler": "sched/fcfs", "priority": "priority/sjf"},
    "EASY": {"scheduler": "sched/easy"},
    "SJF-EASY": {"scheduler": "sched/easy", "backfill": "backfill/sjf"},
    "conservative": {"scheduler": "sched/conservative"},
}


@settings(max_examples=6)
@given(problems(5, 20, "processors"))
def test_no_policy_beats_a_proven_optimum(problem: Problem) -> None:
    # Under the loosest of all bounds nothing is excused by the real-time jobs.
    free = proven(problem.with_bound(ANY))
    case = Case(problem, {job.id: float(job.run) for job in problem.jobs})
    for name, slots in POLICIES.items():
        records = simulate(workload_of(case), processors=3, catalogue=Catalogue(), **slots).records
        policy = standing(name, free.problem, records)
        assert policy.above(free) >= -1e-9
        if problem.realtime:
            mean = Fraction(policy.realtime_mean).limit_denominator(10**6) + Fraction(1, 10**6)
            bounded = proven(problem.with_bound(mean), orders=[order_of_starts(records)])
            assert replace(policy, keeps_bound=True).above(bounded) >= -1e-9
