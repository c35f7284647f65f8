"""What is kept of a run of a campaign: all metrics, so that another question needs no other run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from emulator.campaign.work import Numbers
from emulator.metrics.summary import summarise

if TYPE_CHECKING:
    from emulator.accounting.records import Records


@dataclass(frozen=True)
class Metrics:
    """All metrics of a run, as :func:`emulator.metrics.summary.summarise` gives them.

    Attributes:
        threshold: of the bounded slowdown, in seconds.
        warm_up: the first share of the jobs, which waits, responses and slowdowns leave out.
    """

    threshold: float = 10.0
    warm_up: float = 0.0

    def __call__(self, records: Records) -> Numbers:
        """Measure a run."""
        summary = summarise(records, threshold=self.threshold, warm_up=self.warm_up)
        return {key: float(value) for key, value in summary.items()}
