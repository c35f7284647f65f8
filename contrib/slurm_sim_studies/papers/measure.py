"""What is taken from a run for the papers on PV-EASY, in each way of counting; in the papers' units."""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING, get_args

import numpy as np

from emulator.campaign import Numbers
from emulator.metrics import fairness, machine, preemption
from emulator.metrics.averages import largest, mean, weighted
from emulator.metrics.blocked import BIG, by_size
from emulator.metrics.heads import HeadSpans, head_spans
from emulator.metrics.jobs import Floats, bounded_slowdown, column
from slurm_sim_studies.papers.weeks import by_week

if TYPE_CHECKING:
    from emulator.accounting.records import Records

EDGES = (0.0, 1 / 32, 1 / 16, 1 / 8, BIG, 1 / 2, 1.0)
"""Groups of blocked jobs by parallelism, as shares of the machine."""


def measure(records: Records) -> Numbers:
    """All that the papers' tables and figures show of a run.

    A number that can be counted in several ways stands under ``NAME:RULE``, see
    :data:`slurm_sim_studies.papers.readings.RULED`.
    """
    slowdown, processors = bounded_slowdown(records), column(records, "processors")
    hit = preemption.preempted(records)
    spans = head_spans(records)
    numbers = {
        "jobs": float(len(records)),
        "mbs": mean(slowdown),
        "mwbs": weighted(slowdown, processors),
        "backfilled_jobs": float(np.sum(records.jobs["backfilled"])),
        "blocked_jobs:any": float(np.sum(records.jobs["blocked"])),
        "blocked_jobs:after_end": float(np.sum(fairness.blocked_after_end(records, spans))),
        "preempted_jobs": float(np.sum(hit)),
        "preempted_pct": 100 * float(np.mean(hit)),
        "mkt": preemption.mean_requeues(records),
        "mean_rtw_pct": 100 * mean(preemption.wasted_run(records)),
    }
    for rule, since in (("jobs", None), ("log", 0.0)):
        numbers[f"total_load_pct:{rule}"] = 100 * machine.total_load(records, since)
        numbers[f"wasted_load_pct:{rule}"] = 100 * machine.wasted_load(records, since)
    numbers |= _delays(records, spans) | _violations(records, spans) | _by_size(records) | by_week(records)
    return {key: value for key, value in numbers.items() if math.isfinite(value)}


def _delays(records: Records, spans: HeadSpans) -> dict[str, float]:
    numbers = {}
    delays = {"could_start": fairness.unfair_delay(records), "overtaken": fairness.overtaken_delay(records, spans)}
    for rule, delay in delays.items():
        numbers[f"delayed_jobs:{rule}"] = float(np.sum(~np.isnan(delay)))
        numbers[f"mean_delay_min:{rule}"] = mean(delay) / 60
        numbers[f"max_delay_h:{rule}"] = largest(delay) / 3600
    return numbers


def _violations(records: Records, spans: HeadSpans) -> dict[str, float]:
    numbers: dict[str, float] = {}
    able: dict[str, Floats | None] = {"": None, "_overtaken": fairness.unhindered_start(records, spans)}
    for reference, sense in product(get_args(fairness.Reference), able):
        violated = fairness.reservation_violated(records, reference, able[sense])
        late = fairness.reservation_delay(records, reference, able[sense])
        increase = fairness.slowdown_increase(records, reference=reference, able=able[sense])
        rule = f"{reference}{sense}"
        numbers |= {
            f"violated_jobs:{rule}": float(np.sum(violated)),
            f"mean_violated_processors:{rule}": mean(np.where(violated, column(records, "processors"), np.nan)),
            f"mean_dtr_min:{rule}": mean(late) / 60,
            f"max_dtr_h:{rule}": largest(late) / 3600,
            f"mean_si:{rule}": mean(increase),
            f"max_si:{rule}": largest(increase),
        }
    return numbers


def _by_size(records: Records) -> dict[str, float]:
    numbers = {}
    for name, edges in (("", EDGES), ("small", (0.0, BIG)), ("big", (BIG, 1.0))):
        for group in by_size(records, edges):
            suffix = name or f"{group.up_to:.4f}"
            numbers[f"blocked_mbs_{suffix}"] = group.mbs
            numbers[f"blocked_mwbs_{suffix}"] = group.mwbs
            numbers[f"blocked_count_{suffix}"] = float(group.jobs)
    return numbers
