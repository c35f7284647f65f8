"""The profile for long queues, whose algorithm is a :mod:`kernel <slurm_sim_plugins.profile_kernel>`.

The answers are those of the pure Python profile, to the bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from slurm_sim_plugins.profile import Profile, RunEntry, refuse_too_wide
from slurm_sim_plugins.profile_kernel import Real, Whole, compress, place


class CompiledProfile(Profile):
    """A step function of time: how many processors are free from each time on.

    Args:
        now: where the profile begins.
        free: processors free now.
        running: what runs, ascending by planned end; an end that has passed counts as now.
    """

    __slots__ = ("_levels", "_marks")

    def __init__(self, now: float, free: int, running: Iterable[RunEntry]) -> None:
        super().__init__(now, free, running)
        # Arrays replace the lists of the pure Python profile.
        self._marks = _reals(self._times)
        self._levels = _wholes(self._free)
        del self._times, self._free

    def steps(self) -> list[tuple[float, int]]:
        """As :meth:`Profile.steps`."""
        return list(zip(self._marks.tolist(), self._levels.tolist(), strict=True))

    def place(self, processors: Sequence[int], durations: Sequence[float], not_before: float) -> list[float]:
        """As :meth:`Profile.place`, in one call of a kernel."""
        self._refuse(processors, durations)
        return self._changed(place, processors, durations, np.empty(len(durations)), not_before, 1 + 2 * len(durations))

    def compress(
        self, processors: Sequence[int], durations: Sequence[float], starts: Sequence[float], not_before: float
    ) -> list[float]:
        """As :meth:`Profile.compress`, in one call of a kernel."""
        self._refuse(processors, durations, starts)
        return self._changed(compress, processors, durations, _reals(starts), not_before, 1 + 4 * len(durations))

    def _refuse(self, processors: Sequence[int], *columns: Sequence[float]) -> None:
        if any(len(column) != len(processors) for column in columns):
            raise ValueError("the processors, durations and starts of the requests differ in number")
        refuse_too_wide(processors, int(self._levels[-1]))

    def _changed(
        self,
        kernel: Callable[[Real, Whole, int, Whole, Real, Real, float], int],
        processors: Sequence[int],
        durations: Sequence[float],
        starts: Real,
        not_before: float,
        more: int,
    ) -> list[float]:
        """Let a kernel change the steps, for which there is room for so many more; the starts that it fills in."""
        count = len(self._marks)
        times, free = np.empty(count + more), np.empty(count + more, dtype=np.int64)
        times[:count], free[:count] = self._marks, self._levels
        count = kernel(times, free, count, _wholes(processors), _reals(durations), starts, float(not_before))
        self._marks, self._levels = times[:count], free[:count]
        return _listed(starts)


def _wholes(numbers: Sequence[int]) -> Whole:
    return np.array(numbers, dtype=np.int64)


def _reals(numbers: Sequence[float]) -> Real:
    return np.array(numbers, dtype=np.float64)


def _listed(numbers: Real) -> list[float]:
    listed: list[float] = numbers.tolist()
    return listed
