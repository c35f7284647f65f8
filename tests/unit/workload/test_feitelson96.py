"""The model of Feitelson against its own distributions and a slow second way to its submissions."""

from __future__ import annotations

import heapq
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.special import zeta

from emulator.workload.models import feitelson96
from emulator.workload.models.feitelson96 import FW, Feitelson96Parameters, expect, generate, size_shares
from emulator.workload.workload import Floats, Ints, Workload
from slurm_sim_plugins import ConfigurationError

FAR = 4.5
"""Standard deviations from its expectation that a mean exceeds once in 150,000 times."""


def slow_shares(machine: int, p: Feitelson96Parameters = FW) -> list[float]:
    weights = []
    for size in range(1, machine + 1):
        power = size > 1 and bin(size).count("1") == 1
        weights.append(size**-1.5 * (p.power_weight * size if power else 1))
    shares = [(1 - p.full_share) * weight / sum(weights) for weight in weights]
    shares[-1] += p.full_share
    return shares


@pytest.mark.parametrize("machine", [1, 2, 3, 100, 320, 512])
def test_shares_of_the_sizes(machine: int) -> None:
    assert size_shares(FW, machine).tolist() == pytest.approx(slow_shares(machine))


def test_expectations_come_as_near_to_the_published_moments_as_is_said() -> None:
    expected = expect(FW, 320)
    assert expected["mean_parallelism"] == pytest.approx(23.4, abs=0.05)
    assert expected["mean_run"] == pytest.approx(2606.6, abs=0.1)
    assert 0.17 < expected["serial_share"] < 0.18
    assert expected["mean_runs"] == pytest.approx(zeta(1.5) / zeta(2.5))


def distance(made: Workload, values: Floats, mean: float, variance: float) -> float:
    """Of a sample mean, in standard deviations; runs of one job are not independent."""
    runs = np.unique(made.facts["executable"], return_counts=True)[1]
    return abs(float(values.mean()) - mean) / math.sqrt(variance * float((runs**2).sum())) * len(made)


def test_sample_moments_are_those_of_theory() -> None:
    made = generate(200_000, 320, 4, repeats="next")
    shares, sizes = size_shares(FW, 320), np.arange(1, 321)
    expected = expect(FW, 320)
    mean, run = expected["mean_parallelism"], expected["mean_run"]
    assert distance(made, made.processors, mean, float(shares @ sizes**2) - mean**2) < FAR
    short = 0.95 - 0.20 * sizes / 320
    squares = 2 * FW.short_mean**2 * (short + 49 * (1 - short))
    assert distance(made, made.run, run, float(shares @ squares) - run**2) < FAR
    serial = expected["serial_share"]
    assert distance(made, made.processors == 1, serial, serial * (1 - serial)) < FAR


def test_runs_of_a_job_are_as_often_as_their_power_says() -> None:
    made = generate(200_000, 320, 6, repeats="next")
    runs = np.unique(made.facts["executable"], return_counts=True)[1][:-1]
    seen = [*np.bincount(runs, minlength=31)[1:31], (runs > 30).sum()]
    shares = np.arange(1, 31) ** -2.5 / zeta(2.5)
    expected = np.array([*shares, 1 - shares.sum()]) * len(runs)
    assert stats.chisquare(seen, expected).pvalue > 1e-4


def test_runs_of_a_job_are_the_same_job() -> None:
    made = generate(20_000, 320, 7)
    for column in (made.processors, made.run, made.facts["user"]):
        pairs = np.unique(np.stack([made.facts["executable"], column]), axis=1)
        assert len(pairs[0]) == len(set(pairs[0]))


@pytest.mark.parametrize("size", [1, 160, 320])
def test_run_times_of_a_size(size: int) -> None:
    count, short = 100_000, 0.95 - 0.20 * size / 320
    runs = feitelson96._draw_runs(FW, np.full(count, size), 320, np.random.default_rng(size))
    mean = FW.short_mean * (short + 7 * (1 - short))
    variance = 2 * FW.short_mean**2 * (short + 49 * (1 - short)) - mean**2
    assert abs(runs.mean() - mean) < FAR * math.sqrt(variance / count)
    longer = short * math.exp(-3) + (1 - short) * math.exp(-3 / 7)
    assert abs((runs > 3 * FW.short_mean).mean() - longer) < FAR * math.sqrt(longer * (1 - longer) / count) + 1e-4


def slow_submissions(jobs: int, begin: list[float], run: list[float], runs: list[int]) -> list[tuple[float, int]]:
    """Job by job with a heap: of each series the next submission."""
    waiting = [(time, number, 1) for number, time in enumerate(begin)]
    heapq.heapify(waiting)
    done = []
    while len(done) < jobs:
        time, number, count = heapq.heappop(waiting)
        done.append((time, number))
        if count < runs[number]:
            heapq.heappush(waiting, (begin[number] + count * run[number], number, count + 1))
    return done


@pytest.mark.parametrize("seed", range(5))
def test_a_job_comes_again_when_its_last_run_would_have_ended(seed: int) -> None:
    rng = np.random.default_rng(seed)
    jobs = 400
    gaps, run = rng.exponential(50.0, jobs), np.ceil(rng.exponential(100.0, jobs))
    runs: Ints = np.minimum(rng.zipf(2.5, jobs), jobs)
    times, series = feitelson96._after(FW, gaps, run, runs)
    begin = np.concatenate(([0.0], np.cumsum(gaps[:-1]))) * zeta(1.5) / zeta(2.5)
    expected = slow_submissions(jobs, begin.tolist(), run.tolist(), runs.tolist())
    assert times.tolist() == pytest.approx([time for time, _ in expected])
    assert series.tolist() == [number for _, number in expected]


def test_submissions_one_after_the_other_are_a_poisson_stream() -> None:
    made = generate(20_000, 320, 9, repeats="next")
    assert (np.diff(made.facts["executable"]) >= 0).all()
    gaps = np.diff(made.submit)
    mean = expect(FW, 320)["mean_area"] / 320 / 0.7
    # Whole seconds move the distribution by at most the probability of one second.
    assert stats.kstest(gaps, stats.expon(scale=mean).cdf).statistic < 1.63 / math.sqrt(len(gaps)) + 1 / mean


def test_parameters_change_what_they_name() -> None:
    base = generate(5000, 64, 1, repeats="next")
    wide = generate(5000, 64, 1, repeats="next", parameters=replace(FW, full_share=0.5))
    assert (wide.processors == 64).mean() > 0.4 > (base.processors == 64).mean()
    once = generate(5000, 64, 1, parameters=replace(FW, repeat_order=40.0))
    assert len(np.unique(once.facts["executable"])) == 5000
    slow = generate(5000, 64, 1, repeats="next", parameters=replace(FW, short_mean=2 * FW.short_mean))
    assert slow.run.mean() == pytest.approx(2 * base.run.mean(), rel=1e-3)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"order": -1.0}, "order is -1.0"),
        ({"power_weight": math.nan}, "power_weight is nan"),
        ({"full_share": 1.1}, "full_share is 1.1"),
        ({"short_share": 0.1}, "size_slope must not exceed"),
        ({"short_mean": 0.0}, "short_mean is 0.0"),
        ({"repeat_order": 2.0}, "repeat_order is 2.0; it must be more than 2"),
    ],
)
def test_bad_parameters_are_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        replace(FW, **changes)


def test_bad_choices_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="repeats is 'never'"):
        generate(10, 10, 1, repeats="never")  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="takes 16777216 or less"):
        generate(10, 2**25, 1)
