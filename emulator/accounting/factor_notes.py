"""What priorities were worked out from, as the journal notes it: a row where the factors of a job have changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emulator.accounting.journal_kernel import facts_of
from emulator.accounting.row_buffer import RowBuffer
from emulator.state.job import Job
from slurm_sim_plugins.decisions import Priorities, Priority
from slurm_sim_plugins.priority.multifactor_columns import Parts
from slurm_sim_plugins.priority.multifactor_factors import FACTORS, RequestFactors

NO_PLACES: Mapping[int, int] = {}
SOME = 1024
"""Jobs that there is room for at first."""
PARTITION, TRES, SITE = range(3)
"""Of a job: numbers of its partition and of the text of its resources, and its site factor."""


class FactorNotes:
    """The factors of the jobs that wait, as they were noted last; a job in several partitions has some in each.

    Args:
        rows: for job, time, partition, priority, factors, resources, site factor.

    Attributes:
        rows: as given.
    """

    def __init__(self, rows: RowBuffer) -> None:
        self.rows = rows
        self._places: dict[int, dict[int, int]] = {}
        self._free: list[int] = []
        self._used = 0
        self._factors = np.empty((len(FACTORS), SOME))
        self._whole = np.empty((SITE + 1, SOME), dtype=np.int64)
        self._known: dict[int, dict[int, Priority]] = {}
        self._requests: list[RequestFactors] = []
        self._texts: list[int] = []

    def one(self, job: Job, answered: Sequence[Priority], now: float) -> None:
        """Note what the priority of a job was worked out from, in each of its partitions."""
        names = self.rows.texts("partition")
        for partition, priced in zip(job.partitions, answered, strict=True):
            key, known = (job.id, names.setdefault(partition.name, len(names))), self._known.setdefault(job.id, {})
            if known.get(key[1]) is priced:
                continue
            known[key[1]] = priced
            self._note_one(job, partition.name, key, priced, now)

    def many(self, jobs: list[Job], column: Priorities, parts: Parts, now: float) -> None:
        """Note what the priorities of jobs in one partition each were worked out from, which were answered together.

        Args:
            jobs: of which.
            column: their priorities.
            parts: from what these were worked out.
            now: when, in seconds.
        """
        if parts.of_requests is not self._requests:
            self._requests, self._texts = parts.of_requests, []
        self._texts += [self._text(text_of(each.resources)) for each in parts.of_requests[len(self._texts) :]]
        facts = np.empty((4, len(jobs)), dtype=np.int64)
        facts_of(jobs, self.rows.texts("partition"), facts)
        ids, places, partitions, sites = facts
        whole = np.array([partitions, np.array(self._texts)[parts.requests[places]], sites])
        keys = list(zip(ids.tolist(), partitions.tolist(), strict=True))
        self._note(keys, ids, now, column.numbers[places], parts.factors()[:, places], whole)

    def forget(self, number: int) -> None:
        """A job waits no longer."""
        self._known.pop(number, None)
        self._free += self._places.pop(number, {}).values()

    def _note_one(self, job: Job, partition: str, key: tuple[int, int], priced: Priority, now: float) -> None:
        """As :meth:`_note`, of one job: for so few numbers columns would take longer."""
        factors = [priced.factors.get(name, 0.0) for name in FACTORS]
        tres = text_of(priced.resources)
        whole = [key[1], self._text(tres), job.site]
        place = self._places.get(key[0], NO_PLACES).get(key[1], -1)
        if place < 0:
            place = self._new_place(key)
        elif self._factors[:, place].tolist() == factors and self._whole[:, place].tolist() == whole:
            return
        self._factors[:, place], self._whole[:, place] = factors, whole
        total = max(1, int(priced.total) + job.site - job.nice)
        self.rows.add(job.id, now, partition, total, *factors, tres, job.site)

    def _note(
        self,
        keys: list[tuple[int, int]],
        ids: NDArray[np.int64],
        now: float,
        numbers: NDArray[Any],
        factors: NDArray[np.float64],
        whole: NDArray[np.int64],
    ) -> None:
        """Note those that have other factors, resources or site factors than when they were noted last."""
        places = np.array([self._places.get(number, NO_PLACES).get(partition, -1) for number, partition in keys])
        new = places < 0
        for index in np.flatnonzero(new).tolist():
            places[index] = self._new_place(keys[index])
        changed = (
            new | (self._factors[:, places] != factors).any(axis=0) | (self._whole[:, places] != whole).any(axis=0)
        )
        self._factors[:, places], self._whole[:, places] = factors, whole
        those = np.flatnonzero(changed)
        partition, tres, site = whole[:, those]
        self.rows.extend(len(those), ids[those], now, partition, numbers[those], *factors[:, those], tres, site)

    def _new_place(self, key: tuple[int, int]) -> int:
        place = self._free.pop() if self._free else self._used
        self._used = max(self._used, place + 1)
        number, partition = key
        self._places.setdefault(number, {})[partition] = place
        if place >= self._factors.shape[1]:
            self._factors = np.concatenate([self._factors, self._factors], axis=1)
            self._whole = np.concatenate([self._whole, self._whole], axis=1)
        return place

    def _text(self, text: str) -> int:
        """The number of a text of factors of resources."""
        texts = self.rows.texts("tres")
        return texts.setdefault(text, len(texts))


def text_of(resources: Mapping[str, float]) -> str:
    """Factors of resources, such as ``CPU=0.25,MEM=0.5``."""
    return ",".join(f"{name}={share!r}" for name, share in resources.items())
