"""Estimates: modal, long enough, and paired at random."""

from __future__ import annotations

import math
from collections import Counter
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from emulator.workload.models import feitelson96, jann97, lublin99, tsafrir05
from emulator.workload.models.tsafrir05 import assign, histogram, rank_shares
from emulator.workload.workload import Workload
from slurm_sim_plugins import ConfigurationError
from tests.builders.jobs import workload

HOUR = 3600.0


def jobs_of(runs: list[float]) -> Workload:
    return workload([(number, number, 1, run, 1e9) for number, run in enumerate(runs, 1)])


# The histogram.


def test_shares_of_the_popularity_ranks() -> None:
    shares = 100 * rank_shares()
    assert shares.sum() == pytest.approx(89)
    assert shares[1] == pytest.approx(14.0491 * math.exp(-0.177531 * 2) + 0.462513)
    assert shares[19] == pytest.approx(14.0491 * math.exp(-0.177531 * 20) + 0.462513)
    assert (np.diff(shares) < 0).all()


@pytest.mark.parametrize("jobs", [20_000, 200_000])
def test_twenty_values_hold_89_percent_of_the_jobs(jobs: int) -> None:
    times, counts = histogram(jobs, 18 * HOUR)
    assert counts.sum() == jobs
    popular = np.argsort(-counts, kind="stable")[:20]
    # Each of the 20 counts is rounded to a whole number.
    assert abs(counts[popular].sum() - 0.89 * jobs) <= 20
    assert times[popular[0]] == 18 * HOUR
    assert set(times[popular]) >= {60.0 * each for each in (5, 10, 15, 20, 30, 60, 120, 180, 240, 360, 720)}


@pytest.mark.parametrize(("jobs", "values"), [(1000, 29), (20_000, 148), (200_000, 524)])
def test_the_number_of_values_follows_its_power_law(jobs: int, values: int) -> None:
    assert values == round(0.653566 * jobs**0.547761)
    times, _ = histogram(jobs, 18 * HOUR)
    assert 0.97 * values <= len(times) <= values


def test_tail_values_lie_where_the_model_has_them() -> None:
    times, counts = histogram(200_000, 18 * HOUR)
    popular = np.argsort(-counts, kind="stable")[:20]
    tail = np.delete(times, popular)
    bend, x = 1 + 12.1039 * 524**-0.6026, np.arange(1, 505) / 504
    curve = (bend - 1) * x / (bend - x) * 18 * HOUR
    # To whole minutes, and up to 30 s more where a minute is taken; values without a place are left out.
    middle = [np.interp(share, np.linspace(0, 1, len(tail)), tail) for share in (0.25, 0.5, 0.75, 0.9)]
    assert middle == pytest.approx([np.interp(share, x, curve) for share in (0.25, 0.5, 0.75, 0.9)], rel=0.05)
    rest = np.sort(np.delete(counts, popular))[::-1]
    weights = np.arange(21, 21 + len(rest)) ** -2.267
    assert np.abs(rest - 0.11 * 200_000 * weights / weights.sum()).max() <= 1


@given(st.integers(1, 3000), st.floats(60, 1e6))
def test_every_histogram_counts_all_jobs(jobs: int, largest: float) -> None:
    times, counts = histogram(jobs, largest)
    assert counts.sum() == jobs and counts.min() >= 0
    assert (np.diff(times) > 0).all()
    assert times[0] > 0 and times[-1] == largest


def test_known_values_have_their_shares_and_replace_the_least_popular() -> None:
    known = {18 * HOUR: 0.30, 7777.0: 0.10, 2 * HOUR: 0.05}
    times, counts = histogram(20_000, 18 * HOUR, popular=known)
    found = dict(zip(times.tolist(), counts.tolist(), strict=True))
    for time, share in known.items():
        assert abs(found[time] - share * 20_000) <= 1
    default, head = tsafrir05._head(18 * HOUR, {}), tsafrir05._head(18 * HOUR, known)
    assert set(default) - set(head) == {13 * HOUR} and set(head) - set(default) == {7777.0}
    assert abs(sum(found[time] for time in head) - 0.89 * 20_000) <= 20


def test_known_values_may_hold_more_than_the_model_gives_the_head() -> None:
    times, counts = histogram(20_000, HOUR, popular={600.0: 0.6, 1200.0: 0.35})
    found = dict(zip(times.tolist(), counts.tolist(), strict=True))
    assert (found[600.0], found[1200.0], found[HOUR]) == (12_000, 7_000, 0)


@pytest.mark.parametrize(
    ("popular", "words"),
    [
        ({7200.0: 0.1}, "at most the largest"),
        ({0.0: 0.1}, "a time is above 0 s"),
        ({60.0: 0.0}, "a share above 0"),
        ({math.nan: 0.1}, "a time is above 0 s"),
        ({60.0: 0.7, 120.0: 0.7}, "add up to 1.4"),
        ({float(time): 0.01 for time in range(1, 21)}, "the head has room for 19"),
        ({3600.0: 0.01} | {float(time): 0.01 for time in range(1, 21)}, "the head has room for 20"),
    ],
)
def test_known_values_that_cannot_be_had_are_refused(popular: dict[float, float], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        histogram(1000, HOUR, popular=popular)


# Pairing.


@given(st.lists(st.floats(0, 2e5), min_size=1, max_size=400), st.integers(0, 2**40))
def test_no_job_outlasts_its_estimate(runs: list[float], seed: int) -> None:
    log = jobs_of(runs)
    given_one = assign(log, seed)
    assert (given_one.time_limit >= log.run).all()
    largest = max(math.ceil(max(runs) / HOUR), 1) * HOUR
    times, counts = histogram(len(runs), largest, seed=seed)
    assert set(given_one.time_limit) <= set(times)
    raised = int(given_one.header[-1].partition("raised=")[2])
    longest_first = np.sort(log.run)[::-1]
    assert raised == int((np.sort(np.repeat(times, counts))[::-1] < longest_first).sum())
    if raised == 0:
        assert sorted(given_one.time_limit) == np.repeat(times, counts).tolist()


def test_every_pairing_that_is_possible_is_as_likely() -> None:
    runs, estimates = np.array([1.0, 5.0, 3.0, 9.0, 2.0]), np.array([2.0, 4.0, 6.0, 9.5, 10.0])
    possible = [each for each in permutations(estimates.tolist()) if (np.array(each) >= runs).all()]
    rng = np.random.default_rng(3)
    seen = Counter(tuple(tsafrir05._pair(runs, estimates, estimates, rng)[0].tolist()) for _ in range(4000))
    assert set(seen) == set(possible)
    assert stats.chisquare([seen[each] for each in possible]).pvalue > 1e-4


def test_too_many_long_runs_raise_estimates_to_the_next_value() -> None:
    times = np.array([10.0, 20.0, 30.0])
    runs = np.array([25.0, 15.0, 12.0, 1.0])
    limits, raised = tsafrir05._pair(runs, np.array([30.0, 10.0, 10.0, 10.0]), times, np.random.default_rng(1))
    assert raised == 2
    assert sorted(limits) == [10.0, 20.0, 20.0, 30.0] and (limits >= runs).all()


@pytest.mark.parametrize("model", [lublin99, feitelson96, jann97])
def test_estimates_of_a_generated_workload(model: Any) -> None:
    made = assign(model.generate(30_000, 320, 2), 7)
    counts = np.sort(np.unique(made.time_limit, return_counts=True)[1])[::-1]
    assert abs(counts[:20].sum() - 0.89 * 30_000) <= 20
    assert (made.time_limit >= made.run).all()
    assert "raised=0" in made.header[-1]


# What the workload says, and errors.


def test_a_seed_gives_the_same_estimates_and_the_hash_tells_them_apart() -> None:
    log = lublin99.generate(500, 64, 1)
    one, again, other = assign(log, 1), assign(log, 1), assign(log, 2)
    assert np.array_equal(one.time_limit, again.time_limit) and one.source_hash == again.source_hash
    assert not np.array_equal(one.time_limit, other.time_limit)
    more = [assign(log, 1, largest=1e6), assign(log, 1, popular={HOUR: 0.5}), assign(log, 1, values=50)]
    assert len({each.source_hash for each in (log, one, other, *more)}) == 6
    assert (one.name, one.header[-5]) == (f"{log.name}-tsafrir05", "; Note: tsafrir05 seed=1")
    for name in ("id", "submit", "processors", "run"):
        assert np.array_equal(getattr(one, name), getattr(log, name))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"largest": 50.0}, "an estimate is 60 s or more"),
        ({"largest": math.nan}, "largest is nan"),
        ({"largest": 100.0}, "job 2 runs for 500 s, longer than the largest estimate of 100 s"),
        ({"values": 19}, "values is 19; the head alone has 20"),
        ({"values": 10**6}, "100000 are the most"),
        ({"seed": -1}, "seed is -1"),
    ],
)
def test_bad_arguments_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        assign(jobs_of([5.0, 500.0]), **{"seed": 1} | options)


def test_nothing_needs_no_estimates() -> None:
    with pytest.raises(ConfigurationError, match="needs no estimates"):
        assign(jobs_of([]), 1)
