"""Work that runs have done at changing rates, exactly, in whole numbers of 64 bits.

A :mod:`kernel <slurm_sim_plugins.kernels>`, beside :mod:`emulator.execution.tiers` and
:mod:`slurm_sim_plugins.tiers`, which reckon in Python's own whole numbers.

Work is whole microseconds and a fraction of four digits of 29 bits each, so that a product of two digits, and a sum of
some of them, is a number of 64 bits. A rate, which is at most 1, has the same form; of it
:data:`~slurm_sim_plugins.tiers.PARTS` bits count.
"""

from __future__ import annotations

from typing import Any

BITS = 29
BASE = 1 << 29
MASK = BASE - 1
SHARE = 1.0 / BASE
"""What the first digit of a fraction counts."""
KEPT = -4
"""The last digit of a rate without the two bits that are beyond the parts in which work is counted."""
FURTHEST = 2.0**61
"""Microseconds; a run that has more before it does not end at its rate."""
ENDLESS = -1
ROUNDED = 1 << 57
"""A whole number from here on has more bits than a float."""


class TierWork:
    """The work of each job's run, and what it had done before its stay.

    Args:
        done: five columns: whole microseconds, and the digits of the fraction from the first on.
        before: five columns.
    """

    def __init__(self, done: list[Any], before: list[Any]) -> None:
        self.whole, self.first, self.second, self.third, self.fourth = done
        self.whole0, self.first0, self.second0, self.third0, self.fourth0 = before
        self.r0 = self.r1 = self.r2 = self.r3 = self.r4 = 0
        self.p0 = self.p1 = self.p2 = self.p3 = self.p4 = 0
        self.rate = -1.0

    def clear(self, job: int) -> None:
        """A run begins, which has done nothing."""
        self.whole[job] = self.first[job] = self.second[job] = self.third[job] = self.fourth[job] = 0
        self.mark(job)

    def mark(self, job: int) -> None:
        """A stay begins."""
        self.whole0[job], self.first0[job] = self.whole[job], self.first[job]
        self.second0[job], self.third0[job] = self.second[job], self.third[job]
        self.fourth0[job] = self.fourth[job]

    def take(self, rate: float) -> None:
        """The digits of a rate."""
        if rate == self.rate:
            return
        self.rate = rate
        self.r0 = int(rate)
        rest = (rate - self.r0) * BASE
        self.r1 = int(rest)
        rest = (rest - self.r1) * BASE
        self.r2 = int(rest)
        rest = (rest - self.r2) * BASE
        self.r3 = int(rest)
        self.r4 = int((rest - self.r3) * BASE) & KEPT

    def multiply(self, time: int) -> None:
        """What is done at the rate that was taken in so many microseconds; digits may be larger than the base."""
        low, middle, high = time & MASK, (time >> BITS) & MASK, time >> (2 * BITS)
        self.p4 = self.r4 * low
        self.p3 = self.r3 * low + self.r4 * middle
        self.p2 = self.r2 * low + self.r3 * middle + self.r4 * high
        self.p1 = self.r1 * low + self.r2 * middle + self.r3 * high
        self.p0 = self.r0 * time + self.r1 * middle + self.r2 * high + ((self.r1 * high) << BITS)

    def carry(self) -> None:
        """Bring the digits of the fraction between 0 and the base."""
        self.p3 += self.p4 >> BITS
        self.p4 &= MASK
        self.p2 += self.p3 >> BITS
        self.p3 &= MASK
        self.p1 += self.p2 >> BITS
        self.p2 &= MASK
        self.p0 += self.p1 >> BITS
        self.p1 &= MASK

    def add_up(self, job: int, rate: float, time: int) -> None:
        """What a run has done if it goes on at a rate for so many microseconds."""
        self.take(rate)
        self.multiply(time)
        self.p0 += self.whole[job]
        self.p1 += self.first[job]
        self.p2 += self.second[job]
        self.p3 += self.third[job]
        self.p4 += self.fourth[job]
        self.carry()

    def add(self, job: int, rate: float, time: int) -> None:
        """A run has gone on at a rate for so many microseconds."""
        self.add_up(job, rate, time)
        self.whole[job], self.first[job], self.second[job] = self.p0, self.p1, self.p2
        self.third[job], self.fourth[job] = self.p3, self.p4

    def done(self, job: int, rate: float, time: int) -> int:
        """Whole microseconds of work, half of one rounded up, if a run goes on for so many at a rate."""
        self.add_up(job, rate, time)
        return int(self.p0 + (self.p1 >> (BITS - 1)))

    def time_left(self, job: int, rate: float, work: int) -> int:
        """How long a run needs at a rate until it has done its work, to the nearest microsecond, or ``ENDLESS``."""
        if work <= self.whole[job]:
            return 0
        self.take(rate)
        speed = self.r0 + SHARE * (self.r1 + SHARE * (self.r2 + SHARE * (self.r3 + SHARE * self.r4)))
        fraction = SHARE * (self.first[job] + SHARE * self.second[job])
        if speed == 0.0 or (work - self.whole[job] - fraction) / speed > FURTHEST:
            return ENDLESS
        time: int = max(0, int((work - self.whole[job] - fraction) / speed))
        while True:
            self.multiply(time)
            self.p0 = work - self.whole[job] - self.p0
            self.p1 = -self.first[job] - self.p1
            self.p2 = -self.second[job] - self.p2
            self.p3 = -self.third[job] - self.p3
            self.p4 = -self.fourth[job] - self.p4
            self.carry()
            # What is left then is less than half of what is done in a microsecond, or no more than that too much.
            if self.twice_and(-1) >= 0:
                time += max(1, int(self.size() / speed))
            elif self.twice_and(1) < 0:
                self.p0, self.p1, self.p2, self.p3, self.p4 = -self.p0, -self.p1, -self.p2, -self.p3, -self.p4
                self.carry()
                time -= max(1, int(self.size() / speed))
            else:
                return time

    def size(self) -> float:
        """What the digits are as a float, nearly."""
        return self.p0 + SHARE * (self.p1 + SHARE * (self.p2 + SHARE * (self.p3 + SHARE * self.p4)))

    def twice_and(self, sign: int) -> int:
        """The whole part, rounded down, of twice the digits and the rate, added or taken away."""
        rest = (2 * self.p4 + sign * self.r4) >> BITS
        rest = (2 * self.p3 + sign * self.r3 + rest) >> BITS
        rest = (2 * self.p2 + sign * self.r2 + rest) >> BITS
        rest = (2 * self.p1 + sign * self.r1 + rest) >> BITS
        return int(2 * self.p0 + sign * self.r0 + rest)

    def since_mark(self, job: int) -> float:
        """Microseconds of work since the stay began, rounded to a float once."""
        self.p0, self.p1 = self.whole[job] - self.whole0[job], self.first[job] - self.first0[job]
        self.p2, self.p3 = self.second[job] - self.second0[job], self.third[job] - self.third0[job]
        self.p4 = self.fourth[job] - self.fourth0[job]
        self.carry()
        # As many bits as a float holds, and more; the last one says whether anything comes behind them.
        bits, scale = self.p0, 1.0
        while bits < ROUNDED and self.p1 + self.p2 + self.p3 + self.p4:
            self.p4 *= 2
            self.p3 *= 2
            self.p2 *= 2
            self.p1 *= 2
            self.p0 = 0
            self.carry()
            bits = 2 * bits + self.p0
            scale *= 0.5
        if self.p1 + self.p2 + self.p3 + self.p4:
            bits |= 1
        return float(bits) * scale
