"""Hyper-Erlang distributions of common order, and how to fit one to three moments.

With probability ``share`` a value is the sum of ``order`` exponential stages of mean ``first``,
else of as many of mean ``second``. Exponential, hyper-exponential and Erlang distributions are
special cases. Any three moments that a sample of positive, unequal numbers can have are those
of such a distribution, if it has enough stages.

Sources: M. A. Johnson and M. R. Taaffe, "Matching moments to phase distributions: mixtures of
Erlang distributions of common order", Stochastic Models 5 (1989), 711-743, for the family and
for the least order that does; J. Jann, P. Pattnaik, H. Franke, F. Wang, J. Skovira and J.
Riordan, "Modeling of workload in MPPs", Job Scheduling Strategies for Parallel Processing, LNCS
1291 (1997), 95-116, for its use. The closed form here is our own derivation:

A value is a sum of n stages whose mean Y is one of two numbers, so the k-th raw moment of the
value is n (n + 1) ... (n + k - 1) E[Y^k], and three moments of the value are three moments of
Y. Measured from the mean and in units of it, Y has variance c and third central moment k; a
distribution on two points y1 > 0 > y2 with mean 0 has y1 y2 = -c and y1 + y2 = k / c, which is a
quadratic equation, and the probability of y1 is -y2 / (y1 - y2). Both stage means are positive
exactly if E[Y] E[Y^3] > E[Y^2]^2.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import Self

import numpy as np

from emulator.workload.models import common
from emulator.workload.workload import Floats
from slurm_sim_plugins.errors import ConfigurationError

MOST_STAGES = 1000
"""The largest order. 1000 stages vary by 3 % of their mean; nothing in a log needs more."""

MARGIN = 1e-6
"""By how much, relatively, an order must be possible. At the edge of what is possible one stage
mean is next to nothing, and the moments are lost in rounding."""

LEAST_SAMPLE = 10
"""Fewer values than this have no third moment worth the name: they get an exponential."""


@dataclass(frozen=True)
class HyperErlang:
    """Such a distribution.

    Attributes:
        order: stages of either branch, 1 or more.
        share: probability of the first branch.
        first: mean length of a stage of the first branch, in seconds.
        second: mean length of a stage of the second branch, in seconds.
        matched: how many moments of what it was fitted to it has, counted from the mean.

    Raises:
        ConfigurationError: one of them is out of its range.
    """

    order: int
    share: float
    first: float
    second: float
    matched: int = 3

    def __post_init__(self) -> None:
        common.require_finite("hyper-Erlang", asdict(self))
        if common.whole("order", self.order, 1) > MOST_STAGES:
            raise ConfigurationError(f"hyper-Erlang: order is {self.order}; it must be {MOST_STAGES} or less")
        if not 0 <= self.share <= 1:
            raise ConfigurationError(f"hyper-Erlang: share is {self.share}; it must be between 0 and 1")
        if self.matched not in (1, 2, 3):
            raise ConfigurationError(f"hyper-Erlang: matched is {self.matched}; it is a number of moments, 1 to 3")
        for name in ("first", "second"):
            if getattr(self, name) <= 0:
                raise ConfigurationError(f"hyper-Erlang: {name} is {getattr(self, name)}; it must be more than 0 s")

    def moment(self, number: int) -> float:
        """The raw moment of that number; 1 is the mean."""
        stages = math.prod(range(self.order, self.order + number))
        return stages * (self.share * self.first**number + (1 - self.share) * self.second**number)

    def scaled(self, factor: float) -> Self:
        """The distribution of values ``factor`` times as large."""
        return replace(self, first=self.first * factor, second=self.second * factor)

    def draw(self, count: int, rng: np.random.Generator) -> Floats:
        """``count`` values, in seconds."""
        branch = rng.random(count)
        return rng.standard_gamma(self.order, count) * np.where(branch < self.share, self.first, self.second)


def exponential(mean: float) -> HyperErlang:
    """The exponential distribution with that mean, in seconds."""
    return HyperErlang(order=1, share=1.0, first=mean, second=mean, matched=1)


def fit_moments(first: float, second: float, third: float) -> HyperErlang:
    """The distribution with those raw moments that has the fewest stages.

    Where there is none, it gives up the third moment, then the second, and says so in
    ``matched``:

    * The third moment is too small (first * third <= second^2, or so near to it that more
      than :data:`MOST_STAGES` stages were needed): it becomes that of a gamma distribution
      with the same mean and variance, for which there is always an order.
    * The variance is too small (less than 1 / MOST_STAGES of the squared mean): an Erlang
      distribution of :data:`MOST_STAGES` stages with the same mean.

    Args:
        first: mean, above 0, in seconds.
        second: mean square.
        third: mean cube.

    Raises:
        ConfigurationError: moments that are not finite, or not above 0.
    """
    common.require_finite("hyper-Erlang", {"first moment": first, "second moment": second, "third moment": third})
    if min(first, second, third) <= 0:
        raise ConfigurationError(f"moments are {first:g}, {second:g} and {third:g}; those of times are above 0")
    square, cube = float(second / first / first), float(third / first / first / first)
    variance = square - 1
    choices = ((3, cube), (2, (1 + variance) * (1 + 2 * variance)))
    for matched, of_mean in choices:
        order = max(_least_order(square, 0), _least_order(of_mean / square**2, 1))
        if order <= MOST_STAGES:
            return replace(_two_branches(square, of_mean, int(order)).scaled(float(first)), matched=matched)
    stage = float(first) / MOST_STAGES
    return HyperErlang(MOST_STAGES, 1.0, stage, stage, matched=1)


def fit_sample(values: Floats) -> HyperErlang:
    """The distribution with the first three moments of a sample of times.

    Args:
        values: in seconds, none negative, their mean above 0. Fewer than :data:`LEAST_SAMPLE`
            of them get the exponential distribution with their mean.

    Raises:
        ConfigurationError: no values, or none above 0.
    """
    if len(values) == 0 or not values.mean() > 0:
        raise ConfigurationError("a distribution of times needs a value above 0 s to be fitted to")
    mean = float(values.mean())
    if len(values) < LEAST_SAMPLE:
        return exponential(mean)
    unit = values / mean
    return fit_moments(1.0, float((unit**2).mean()), float((unit**3).mean())).scaled(mean)


def _least_order(ratio: float, offset: int) -> float:
    """The least n with ratio * (n + offset) / (n + offset + 1) above 1; infinite if there is none.

    With offset 0 and the ratio E[X^2] / E[X]^2 that is the order from which on the stage mean
    varies at all; with offset 1 and E[X] E[X^3] / E[X^2]^2 that from which on it is positive.
    """
    if ratio <= 1 + MARGIN:
        return math.inf
    needed = (1 + MARGIN) / ratio
    return max(1, math.ceil(needed / (1 - needed)) - offset)


def _two_branches(square: float, cube: float, stages: int) -> HyperErlang:
    """The distribution of mean 1 with that mean square and mean cube."""
    variance = square * stages / (stages + 1) - 1
    third = cube * stages**2 / ((stages + 1) * (stages + 2)) - 1 - 3 * variance
    half = third / variance / 2
    # The root away from 0 first: the other one would lose its digits in the difference.
    far = half + math.copysign(math.sqrt(half**2 + variance), half)
    above, below = max(far, -variance / far), min(far, -variance / far)
    return HyperErlang(stages, -below / (above - below), (1 + above) / stages, (1 + below) / stages)
