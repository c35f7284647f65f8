"""Any three moments of positive numbers are met; what cannot be met is given up as stated."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from emulator.workload.models.hyper_erlang import (
    LEAST_SAMPLE,
    MOST_STAGES,
    HyperErlang,
    exponential,
    fit_moments,
    fit_sample,
)
from slurm_sim_plugins.errors import ConfigurationError

EXACT = 1e-9
POSITIVE = st.floats(1e-3, 1e7)
SHARES = st.floats(0.01, 0.99)


def moments_of(found: HyperErlang) -> list[float]:
    """By scipy: each branch is a gamma distribution."""
    branches = [(found.share, found.first), (1 - found.share, found.second)]
    return [
        sum(share * float(stats.gamma(found.order, scale=stage).moment(number)) for share, stage in branches)
        for number in (1, 2, 3)
    ]


def possible_with(order: int, first: float, second: float, third: float) -> bool:
    """Whether two stage means exist for that order: both Hankel determinants are positive."""
    stage = [
        moment / math.prod(range(order, order + number)) for number, moment in enumerate((first, second, third), 1)
    ]
    return stage[1] > stage[0] ** 2 * (1 + 1e-6) and stage[0] * stage[2] > stage[1] ** 2 * (1 + 1e-6)


@given(st.lists(st.tuples(POSITIVE, SHARES), min_size=2, max_size=6))
def test_three_moments_of_any_positive_numbers_are_met(points: list[tuple[float, float]]) -> None:
    values, weights = np.array(points).T
    moments = [float(values**number @ weights / weights.sum()) for number in (1, 2, 3)]
    found = fit_moments(*moments)
    if found.matched == 3:
        assert moments_of(found) == pytest.approx(moments, rel=EXACT)
        assert found.order == 1 or not possible_with(found.order - 1, *moments)
    elif found.matched == 2:
        assert moments_of(found)[:2] == pytest.approx(moments[:2], rel=EXACT)
        assert not possible_with(MOST_STAGES, *moments)
    else:
        assert moments[1] / moments[0] ** 2 - 1 < 1.1 / MOST_STAGES
        assert moments_of(found)[:1] == pytest.approx(moments[:1], rel=EXACT)


@given(order=st.integers(1, 50), share=SHARES, first=POSITIVE, ratio=st.floats(1e-3, 0.9))
def test_moments_of_such_a_distribution_are_met_with_no_more_stages(
    order: int, share: float, first: float, ratio: float
) -> None:
    given_moments = [HyperErlang(order, share, first, first * ratio).moment(number) for number in (1, 2, 3)]
    found = fit_moments(*given_moments)
    assert found.matched == 3
    assert found.order <= order or not possible_with(order, *given_moments)
    assert moments_of(found) == pytest.approx(given_moments, rel=EXACT)


@given(mean=POSITIVE, variation=st.floats(0.05, 20), lack=st.floats(0.01, 1))
def test_a_third_moment_that_is_too_small_becomes_that_of_a_gamma_distribution(
    mean: float, variation: float, lack: float
) -> None:
    square = mean**2 * (1 + variation**2)
    found = fit_moments(mean, square, square**2 / mean * lack)
    assert found.matched == 2
    shape = 1 / variation**2
    gamma = [float(stats.gamma(shape, scale=mean / shape).moment(number)) for number in (1, 2, 3)]
    assert moments_of(found) == pytest.approx(gamma, rel=EXACT)


@given(mean=POSITIVE, variance=st.floats(-0.5, 0.9 / MOST_STAGES))
def test_a_variance_that_is_too_small_leaves_an_erlang_of_the_most_stages(mean: float, variance: float) -> None:
    found = fit_moments(mean, mean**2 * (1 + variance), mean**3)
    assert (found.matched, found.order, found.share) == (1, MOST_STAGES, 1.0)
    assert found.moment(1) == pytest.approx(mean)


@given(st.floats(1e-3, 1e3), st.integers(1, 30), SHARES, POSITIVE)
def test_scaling_scales_the_values(factor: float, order: int, share: float, first: float) -> None:
    one = HyperErlang(order, share, first, first / 3)
    for number in (1, 2, 3):
        assert one.scaled(factor).moment(number) == pytest.approx(one.moment(number) * factor**number)


@pytest.mark.parametrize("one", [exponential(50.0), HyperErlang(4, 0.3, 100.0, 3.0), HyperErlang(1, 0.05, 900.0, 40.0)])
def test_draws_follow_the_distribution(one: HyperErlang) -> None:
    drawn = one.draw(20_000, np.random.default_rng(1))

    def cumulative(values: np.ndarray) -> np.ndarray:
        branches = [(one.share, one.first), (1 - one.share, one.second)]
        return np.asarray(sum(share * stats.gamma(one.order, scale=stage).cdf(values) for share, stage in branches))

    assert stats.kstest(drawn, cumulative).pvalue > 1e-4


def test_a_small_sample_gets_an_exponential() -> None:
    small = np.arange(1.0, LEAST_SAMPLE)
    assert fit_sample(small) == exponential(5.0)
    assert fit_sample(np.append(small, 10.0)).matched == 3


def test_a_sample_keeps_its_moments_with_zeros_in_it() -> None:
    values = np.array([0.0] * 30 + [1.0, 2.0, 5.0, 70.0, 900.0] * 4)
    assert moments_of(fit_sample(values)) == pytest.approx([float((values**number).mean()) for number in (1, 2, 3)])


def test_an_unvarying_sample_gets_an_erlang() -> None:
    assert fit_sample(np.full(50, 7.0)).order == MOST_STAGES


@pytest.mark.parametrize("values", [np.array([]), np.zeros(20)])
def test_a_sample_without_a_value_above_zero_is_refused(values: np.ndarray) -> None:
    with pytest.raises(ConfigurationError, match="above 0 s"):
        fit_sample(values)


@pytest.mark.parametrize("moments", [(0.0, 1.0, 1.0), (1.0, -1.0, 1.0), (1.0, math.nan, 1.0), (1.0, 1.0, math.inf)])
def test_moments_that_no_times_have_are_refused(moments: tuple[float, float, float]) -> None:
    with pytest.raises(ConfigurationError, match="moment"):
        fit_moments(*moments)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ((0, 0.5, 1.0, 1.0), "order is 0"),
        ((1001, 0.5, 1.0, 1.0), "1000 or less"),
        ((1, 1.5, 1.0, 1.0), "share is 1.5"),
        ((1, 0.5, 0.0, 1.0), "first is 0.0"),
        ((1, 0.5, 1.0, -1.0), "second is -1.0"),
        ((1, 0.5, math.nan, 1.0), "first is nan"),
        ((1, 0.5, 1.0, 1.0, 4), "matched is 4"),
    ],
)
def test_bad_parameters_are_refused(values: tuple[float, ...], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        HyperErlang(*values)  # type: ignore[arg-type]
