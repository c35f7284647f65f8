"""Two virtual machines on every processor: the one in the background lives on what the other leaves over."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from statistics import NormalDist
from typing import TYPE_CHECKING, ClassVar, Literal

from slurm_sim_plugins.errors import ConfigurationError
from slurm_sim_plugins.hookspecs import hookimpl
from slurm_sim_plugins.jobs import Job
from slurm_sim_plugins.processors import Processors, numbers
from slurm_sim_plugins.tiers import Stay, Tiers
from slurm_sim_plugins.views import RateView

if TYPE_CHECKING:
    import numpy as np
    from numpy.random import Generator
    from numpy.typing import NDArray

MOST_KEPT = 4096
"""Stays of which the drawn numbers are kept at hand; they can be found again."""
BLOCK = 1024


class TwoTier:
    """Rates of jobs in the foreground (fg) and in the background (bg) of the same processors.

    A job in the foreground loses a little while there is another one behind it. A process
    in the background of a busy processor progresses at ``phi * min(1, idle / use)``, idle
    being what the process in front leaves over and use what it wants itself; at 1 where
    no process is in front, at 0 where the one in front uses nearly all. A job is as fast as its
    slowest process.

    What processes use is the column ``cpu_use`` of the workload; where it is unknown, all
    of a processor.

    Args:
        rng: random numbers.
        loss_low, loss_high: the loss in the foreground, drawn once a job between these.
        loss_when: ``bg_busy``: while one of its processors has a job in the background;
            ``always``.
        serial_low, serial_high: phi of a job of one process, drawn between these.
        phi_mean, phi_sigma: phi of other jobs, drawn from this normal distribution,
        phi_low, phi_high: as far as it lies between these.
        phi_cap: what is at most 1: ``inside``, idle / use; ``outside``, the whole rate.
        drawn: phi is drawn for each ``placement`` in the background, or for each of its
            processes (``process``).
        threshold: use from which on nothing progresses behind a process.
        bg_rate: instead of a drawn one, the rate behind a process that uses less than
            that: a number, or steps in time such as ``0:0.4, 5:0.333333``.

    Source: the paper on KEASY, REASY and MEASY, sections 2.1 and 3.2. Mean and deviation of
    phi are lost in the text that was at hand and reconstructed from its range.
    """

    name: ClassVar[str] = "execution/two_tier"
    tiers: ClassVar[tuple[str, ...]] = ("fg", "bg")
    needs: ClassVar[tuple[str, ...]] = ("cpu_use",)

    def __init__(
        self,
        rng: Generator,
        loss_low: float = 0.005,
        loss_high: float = 0.04,
        loss_when: Literal["bg_busy", "always"] = "bg_busy",
        serial_low: float = 0.80,
        serial_high: float = 0.92,
        phi_mean: float = 0.482,
        phi_sigma: float = 0.142,
        phi_low: float = 0.198,
        phi_high: float = 0.766,
        phi_cap: Literal["inside", "outside"] = "inside",
        drawn: Literal["placement", "process"] = "placement",
        threshold: float = 0.96,
        bg_rate: str = "",
    ) -> None:
        _between("loss", loss_low, loss_high, below_1=True)
        _between("serial", serial_low, serial_high)
        _between("phi", phi_low, phi_high)
        if not 0 < threshold <= 1:
            raise ConfigurationError(
                f"execution/two_tier: threshold is {threshold}; give a share above 0, such as 0.96"
            )
        self._loss = loss_low, loss_high - loss_low
        self._always = loss_when == "always"
        self._serial = serial_low, serial_high - serial_low
        self._phi_of = Truncated(phi_mean, phi_sigma, phi_low, phi_high)
        self._cap_inside = phi_cap == "inside"
        self._by_process = drawn == "process"
        self._threshold = threshold
        self._steps = steps(bg_rate)
        self.changes: Sequence[float] = [time for time, _ in self._steps if time != -inf]
        losses, placements, processes = rng.spawn(3)
        self._losses, self._placements = Draws(losses), Draws(placements)
        self._key = int(processes.integers(2**63))
        self._kept: dict[int, dict[int, float] | float] = {}

    @hookimpl
    def progress_rate(self, view: RateView) -> list[float]:
        tiers = view.tiers
        assert tiers is not None, "there are tiers where rates are asked for"
        fixed = self._fixed(view.now)
        return [
            self._in_front(stay, tiers) if stay.tier == "fg" else self._behind(stay, tiers, fixed)
            for stay in view.changed
        ]

    def _in_front(self, stay: Stay, tiers: Tiers) -> float:
        """The rate of a job in the foreground."""
        if not self._always and tiers.idle("bg") & stay.where == stay.where:
            return 1.0
        low, width = self._loss
        return 1.0 - low - width * self._losses[stay.job.index]

    def _behind(self, stay: Stay, tiers: Tiers, fixed: float | None) -> float:
        """The rate of a job in the background: that of its slowest process."""
        slowest = 1.0
        for front in tiers.on(stay.where, "fg"):
            front_use = use(front.job)
            if front_use >= self._threshold:
                return 0.0
            rate = self._drawn(stay, front, front_use) if fixed is None else fixed
            slowest = min(slowest, rate)
        return slowest

    def _drawn(self, stay: Stay, front: Stay, front_use: float) -> float:
        """The rate of the slowest process behind one job."""
        share, phi = (1.0 - front_use) / use(stay.job), self._phi(stay, front.where)
        return phi * min(1.0, share) if self._cap_inside else min(1.0, phi * share)

    def _phi(self, stay: Stay, where: Processors) -> float:
        """The lowest phi of the processes of a stay on some processors."""
        kept = self._kept.get(stay.number)
        if kept is None:
            if len(self._kept) >= MOST_KEPT:
                self._kept.clear()
            phis = self.phis(stay.number, stay.job.processors)
            kept = dict(zip(numbers(stay.where), phis, strict=True)) if self._by_process else phis[0]
            self._kept[stay.number] = kept
        return kept if isinstance(kept, float) else min([kept[number] for number in numbers(stay.where & where)])

    def phis(self, stay: int, processes: int) -> list[float]:
        """Phi of the processes of a stay, ascending by processor; one number where it is drawn for the placement.

        Args:
            stay: its number.
            processes: of its job.
        """
        if not self._by_process:
            return [self._of(processes, self._placements[stay])]
        from numpy.random import Generator, Philox

        # The numbers of a stay are found again without those of the others.
        drawn = Generator(Philox(key=self._key, counter=[0, 0, 0, stay])).random(processes)
        return [self._of(processes, number) for number in drawn.tolist()]

    def _of(self, processes: int, number: float) -> float:
        """Phi of one of so many processes, from an even number between 0 and 1."""
        if processes > 1:
            return self._phi_of(number)
        low, width = self._serial
        return low + width * number

    def _fixed(self, now: float) -> float | None:
        """The fixed rate of now, if there is one."""
        rate = None
        for time, value in self._steps:
            if time <= now:
                rate = value
        return rate


class Draws:
    """Even numbers between 0 and 1, of which the n-th is always the same."""

    def __init__(self, rng: Generator) -> None:
        self._rng = rng
        self._numbers: list[float] = []

    def first(self, count: int) -> NDArray[np.float64]:
        """So many of them from the first on, as a column."""
        import numpy as np

        return np.array([self[index] for index in range(count)], dtype=np.float64)

    def __getitem__(self, index: int) -> float:
        while index >= len(self._numbers):
            self._numbers += self._rng.random(BLOCK).tolist()
        return self._numbers[index]


class Truncated:
    """Turns even numbers into those of a normal distribution between two bounds.

    Args:
        mean, sigma: of the distribution.
        low, high: the bounds.
    """

    def __init__(self, mean: float, sigma: float, low: float, high: float) -> None:
        if not (0 <= sigma < inf and low <= mean <= high):
            raise ConfigurationError(
                f"execution/two_tier: phi_mean is {mean} and phi_sigma is {sigma}; give a mean from phi_low to "
                f"phi_high ({low} to {high}), and a deviation of 0 or more"
            )
        self._mean, self._low, self._high = mean, low, high
        self._normal = NormalDist(mean, sigma) if sigma > 0 and low < high else None
        if self._normal is not None:
            self._first, last = self._normal.cdf(low), self._normal.cdf(high)
            self._width = last - self._first

    def __call__(self, number: float) -> float:
        """The value below which this share of them lies."""
        if self._normal is None:
            return self._mean
        return min(max(self._normal.inv_cdf(self._first + self._width * max(number, 1e-16)), self._low), self._high)


def use(job: Job) -> float:
    """The share of a processor that a process of a job uses; all of it where that is unknown."""
    known = job.fact("cpu_use")
    return 1.0 if known is None else float(known)


def steps(text: str) -> list[tuple[float, float]]:
    """``0:0.4, 5:0.333`` to pairs of a time and the rate from then on, ascending; a number alone holds always.

    Raises:
        ConfigurationError: it is not that, or a rate is not between 0 and 1.
    """
    found: dict[float, float] = {}
    for part in str(text).split(",") if text else []:
        word, colon, rate = part.rpartition(":")
        try:
            time, value = float(word) if colon else 0.0, float(rate)
        except ValueError:
            time = value = inf
        # To the microsecond, as instants are: else the rate would not be due yet when it changes.
        found[round(time, 6) if colon else -inf] = value
        if not (abs(time) < inf and 0 <= value <= 1):
            raise ConfigurationError(
                f"execution/two_tier: bg_rate is {text!r}; give a rate from 0 to 1, or steps such as 0:0.4, 5:0.333"
            )
    return sorted(found.items())


def _between(name: str, low: float, high: float, *, below_1: bool = False) -> None:
    if not 0 <= low <= high <= 1 or (below_1 and high == 1):
        raise ConfigurationError(
            f"execution/two_tier: {name}_low is {low} and {name}_high is {high}; give shares of 1, the lower one first"
        )
