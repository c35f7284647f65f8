"""What is kept of a run of a campaign: all metrics, so that another question needs no other run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from emulator.campaign.work import Numbers
from emulator.metrics.averages import largest, mean
from emulator.metrics.jobs import wait
from emulator.metrics.summary import summarise

if TYPE_CHECKING:
    from emulator.accounting.records import Records

GROUPS = ("partition", "qos", "account", "user")
"""What jobs of Slurm's timing can be told apart by."""
OF = " of "
"""Between a metric and the group that it is of, as in ``mean_wait of partition gpu``."""


@dataclass(frozen=True)
class Metrics:
    """All metrics of a run, as :func:`emulator.metrics.summary.summarise` gives them.

    Attributes:
        threshold: of the bounded slowdown, in seconds.
        warm_up: the first share of the jobs, which waits, responses and slowdowns leave out.
        by: columns of the job records; of each of their values jobs are counted and waits measured.
    """

    threshold: float = 10.0
    warm_up: float = 0.0
    by: tuple[str, ...] = ()

    def __call__(self, records: Records) -> Numbers:
        """Measure a run."""
        summary = summarise(records, threshold=self.threshold, warm_up=self.warm_up)
        return {key: float(value) for key, value in summary.items()} | self._of_groups(records)

    def _of_groups(self, records: Records) -> Numbers:
        first = int(self.warm_up * len(records) + 1e-9)
        waits = wait(records)[first:]
        numbers: Numbers = {}
        for name in self.by:
            values = np.asarray(records.jobs.get(name, ()), dtype=object)
            for value in sorted({str(each) for each in values if each}):
                group, suffix = waits[values[first:] == value], f"{OF}{name} {value}"
                numbers[f"jobs{suffix}"] = float(np.sum(values == value))
                numbers[f"mean_wait{suffix}"] = mean(group)
                numbers[f"max_wait{suffix}"] = largest(group)
        return numbers
