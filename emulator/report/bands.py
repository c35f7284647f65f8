"""Metrics beside those of repeats with moved submissions: bands, and differences that are more than noise."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from emulator.metrics.catalogue import METRICS, Metric
from emulator.report.grid import table
from emulator.report.numbers import value_text
from emulator.workload.jitter import Band, Jitter

if TYPE_CHECKING:
    from rich.table import Table

Summary = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Difference:
    """How much more a metric is under one policy than under another.

    Attributes:
        value: with the submissions as they were.
        band: of the same difference in that run and all repeats; both policies get the same submissions in each.
    """

    value: float
    band: Band

    @property
    def none(self) -> bool:
        """Whether noise alone may have made it."""
        return 0 in self.band


def bands(first: Summary, repeats: Sequence[Summary]) -> dict[str, Band]:
    """The band of each metric over a run and its repeats."""
    return {key: Band.of([first[key], *(repeat[key] for repeat in repeats)]) for key in first}


def differences(
    first: Mapping[str, Summary], repeats: Sequence[Mapping[str, Summary]]
) -> dict[str, dict[str, Difference]]:
    """How the metrics of each further policy differ from those of the first one.

    Args:
        first: summaries by policy, with the submissions as they were.
        repeats: the same of each repeat.
    """
    usual, *others = first
    return {
        other: {
            key: Difference(
                first[other][key] - first[usual][key],
                Band.of(run[other][key] - run[usual][key] for run in (first, *repeats)),
            )
            for key in first[other]
        }
        for other in others
    }


def differences_table(found: Mapping[str, Mapping[str, Difference]], usual: str, jitter: Jitter) -> Table:
    """The differences from the first policy, and the band of each."""
    headings = ["metric", *(heading for name in found for heading in (name, "band"))]
    shown = [metric for key, metric in METRICS.items() if any(_speaks(each[key]) for each in found.values())]
    rows = ([_title(metric), *_cells(metric, found)] for metric in shown)
    return table(f"Differences from {usual}, and the band of {told(jitter)}", headings, rows, left=1)


def told(jitter: Jitter) -> str:
    """What was repeated, in words."""
    return f"{jitter.repeats} repeats with submissions up to {jitter.seconds:g} s later"


def band_text(metric: Metric, band: Band) -> str:
    """A band, with the unit of its metric."""
    return f"{value_text(metric, band.low)} to {value_text(metric, band.high)}"


def bands_data(found: Mapping[str, Band], jitter: Jitter) -> dict[str, Any]:
    """Bands as plain data."""
    about = {"seconds": jitter.seconds, "repeats": jitter.repeats, "seed": jitter.seed}
    return {**about, "metrics": {key: [band.low, band.high] for key, band in found.items()}}


def differences_data(found: Mapping[str, Difference]) -> dict[str, Any]:
    """Differences as plain data."""
    return {
        key: {"difference": each.value, "band": [each.band.low, each.band.high], "none": each.none}
        for key, each in found.items()
    }


def _speaks(difference: Difference) -> bool:
    return not math.isnan(difference.value) and difference.band != Band(0, 0)


def _cells(metric: Metric, found: Mapping[str, Mapping[str, Difference]]) -> list[str]:
    cells = []
    for each in found.values():
        difference = each[metric.key]
        cells += [
            "none" if difference.none else value_text(metric, difference.value),
            band_text(metric, difference.band),
        ]
    return cells


def _title(metric: Metric) -> str:
    return f"{metric.title} (s)" if metric.unit == "s" else metric.title
