"""The same submissions a little later, and what that alone makes of a result: the band of noise.

Which job starts first in a second decides which waits for hours. A schedule depends on details beyond control,
such as the fraction of a second that a log rounds off. Repeats with other fractions show how much of a difference is of
that kind.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from emulator.workload.workload import Workload
from slurm_sim_plugins.errors import ConfigurationError

if TYPE_CHECKING:
    from emulator.workload.request import JobRequest


@dataclass(frozen=True, slots=True)
class Band:
    """The least and the greatest value of some runs; NaN where one of them has none."""

    low: float
    high: float

    @classmethod
    def of(cls, values: Iterable[float]) -> Band:
        """The band of at least one value."""
        seen = list(values)
        if any(math.isnan(value) for value in seen):
            return cls(math.nan, math.nan)
        return cls(min(seen), max(seen))

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high


@dataclass(frozen=True, slots=True)
class Jitter:
    """How submissions are moved.

    Attributes:
        seconds: each is later by less than that, drawn evenly.
        repeats: so many runs with other draws.
        seed: of the draws; a job is moved alike in the same repeat of all policies.

    Raises:
        ConfigurationError: a number of seconds or repeats that says nothing.
    """

    seconds: float
    repeats: int = 10
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.seconds < math.inf or self.repeats < 1:
            raise ConfigurationError(
                f"a jitter of {self.seconds} s in {self.repeats} repeats; give more than 0 s, and 1 repeat or more"
            )

    def times(self, submits: Sequence[float], users: Sequence[object], repeat: int) -> NDArray[np.float64]:
        """When the same jobs are submitted in a repeat.

        The submissions of one user stay in their order, as one may depend on another: the moved times are sorted, and
        the n-th of them is still later than the n-th before by less than those seconds.

        Args:
            submits: seconds, in order.
            users: of each job.
            repeat: from 1.
        """
        drawn = np.random.default_rng([self.seed, repeat]).uniform(0, self.seconds, len(submits))
        moved = np.asarray(submits, dtype=float) + drawn
        mine: dict[object, list[int]] = {}
        for index, user in enumerate(users):
            mine.setdefault(user, []).append(index)
        for indices in mine.values():
            moved[indices] = np.sort(moved[indices])
        return moved

    def requests(self, requests: Sequence[JobRequest], repeat: int) -> list[JobRequest]:
        """Submissions to a cluster, as they are in a repeat; in the order of their times."""
        ordered = sorted(requests, key=lambda request: request.submit)
        times = self.times([request.submit for request in ordered], [request.user for request in ordered], repeat)
        moved = [replace(request, submit=time) for request, time in zip(ordered, times.tolist(), strict=True)]
        return sorted(moved, key=lambda request: request.submit)

    def workload(self, workload: Workload, repeat: int) -> Workload:
        """The jobs of counted processors, as they are in a repeat."""
        users = workload.facts.get("user", np.zeros(len(workload)))
        times = self.times(workload.submit.tolist(), users.tolist(), repeat)
        return Workload.from_columns(
            {**workload.columns(), "submit": times},
            logged=workload.logged,
            name=workload.name,
            machine=workload.machine,
            epoch=workload.epoch,
            header=workload.header,
            read=workload.read,
            dropped=workload.dropped,
            changed=workload.changed,
            source_hash=workload.source_hash,
        )
