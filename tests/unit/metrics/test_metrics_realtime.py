"""The measures of the paper on real-time jobs."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from emulator.config.preemption import Preemption
from emulator.metrics.blocked import by_size
from emulator.metrics.checkpoints import overheads
from emulator.metrics.realtime import bounded_slowdown, fates, job_categories, realtime_jobs, turnaround
from slurm_sim_plugins import ConfigurationError
from tests.builders.records import A10, records_of

RECORDS = records_of(
    {
        1: (3240, 1024, 1800, 3600),
        2: (0, 512, 300, 600),
        3: (0, 8192, 1200, 8000),
        4: (0, 8192, 6000, 7200),
        5: (0, 512, 5, 10),
    },
    {1: [(3600, 5912)], 2: [(60, 360)], 3: [(0, 100), (1000, 2200)], 4: [(3000, math.nan)], 5: [(0, 5)]},
    49152,
    realtime={1: 1, 2: 0, 3: 0, 4: 1, 5: 0},
)
PLACES = {job: place for place, job in enumerate(RECORDS.jobs["job_id"].tolist())}


def of(values: np.ndarray, job: int) -> float:
    return float(values[PLACES[job]])


def test_the_bound_stands_in_both_places() -> None:
    slow = bounded_slowdown(RECORDS)
    assert of(slow, 1) == pytest.approx(1.4844, abs=5e-5)
    assert of(slow, 2) == pytest.approx((60 + 600) / 600)
    assert of(slow, 3) == pytest.approx((1000 + 1200) / 1200)
    assert of(slow, 5) == 1
    assert math.isnan(of(slow, 4))


def test_as_it_is_printed_the_numerator_has_ten_seconds() -> None:
    slow = bounded_slowdown(RECORDS, numerator="10")
    assert of(slow, 1) == of(bounded_slowdown(RECORDS), 1)
    assert of(slow, 2) == pytest.approx((60 + 300) / 600)
    assert of(slow, 5) == pytest.approx(10 / 600)
    assert of(bounded_slowdown(RECORDS, bound=100), 2) == pytest.approx(360 / 300)


def test_turnaround_is_the_time_to_the_end() -> None:
    times = turnaround(RECORDS)
    assert [of(times, job) for job in (1, 2, 3, 5)] == [2672, 360, 2200, 5]
    assert math.isnan(of(times, 4))


def test_categories_are_by_request_or_by_run_time() -> None:
    rows = job_categories(RECORDS)
    assert [[job for job in sorted(PLACES) if row[PLACES[job]]] for row in rows] == [[1, 2, 5], [], [4], [3]]
    rows = job_categories(RECORDS, "run")
    assert [[job for job in sorted(PLACES) if row[PLACES[job]]] for row in rows] == [[1, 2, 5], [], [3, 4], []]


def test_each_kind_and_category_has_its_means() -> None:
    table = {(fate.kind, fate.category): fate for fate in fates(RECORDS)}
    assert len(table) == 10
    assert sum(fate.jobs for (_, category), fate in table.items() if category != "all") == 4
    everybody, narrow = table["batch", "all"], table["batch", "narrow-short"]
    assert (everybody.jobs, narrow.jobs, table["real-time", "wide-short"].jobs) == (3, 2, 0)
    assert everybody.slowdown == pytest.approx((1.1 + 2200 / 1200 + 1) / 3)
    assert everybody.median_slowdown == pytest.approx(1.1)
    assert everybody.tail_slowdown == pytest.approx(1.1 + 0.9 * (2200 / 1200 - 1.1))
    assert (narrow.turnaround, narrow.median_turnaround) == (182.5, 182.5)
    assert narrow.tail_turnaround == pytest.approx(5 + 0.95 * 355)
    assert math.isnan(table["real-time", "wide-short"].slowdown)
    assert table["real-time", "all"] == table["real-time", "narrow-short"].__class__(
        **{**vars(table["real-time", "narrow-short"]), "category": "all"}
    )


def test_only_what_a_study_counts_is_counted() -> None:
    chosen = RECORDS.jobs["job_id"] == 5
    table = {(fate.kind, fate.category): fate.jobs for fate in fates(RECORDS, counted=chosen)}
    assert (table["batch", "all"], table["real-time", "all"]) == (1, 0)


def test_what_cannot_be_told_is_refused() -> None:
    plain = records_of({1: (0, 1, 5)}, {1: [(0, 5)]}, 4)
    with pytest.raises(ConfigurationError, match="the records have no column realtime"):
        realtime_jobs(plain)
    with pytest.raises(ConfigurationError, match="numerator is '600'; choose one of bound, 10"):
        bounded_slowdown(plain, numerator="600")  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="bound is 0; it must be more than 0 s"):
        bounded_slowdown(plain, bound=0)
    with pytest.raises(ConfigurationError, match="by is 'user'"):
        fates(RECORDS, by="user")  # type: ignore[arg-type]


def test_checkpoints_that_are_recorded_are_counted_as_recorded() -> None:
    runs = {**A10.runs, "work": np.array([10.0, 4.0, 5.0, 8.0]), "checkpoints": np.array([0, 3, 0, 1])}
    found = overheads(replace(A10, runs=runs), Preemption("CHECKPOINT", interval=4, cost=1))
    assert found.checkpoint.tolist() == [0, 0, 4]


def test_sizes_of_blocked_jobs_are_parted_at_powers_of_two() -> None:
    sizes = [1, 4, 5, 8, 16, 17, 32, 64, 65, 128]
    records = records_of(
        {number: (0, size, 10, 10) for number, size in enumerate(sizes)},
        {number: [(10, 20)] for number in range(len(sizes))},
        128,
        blocked=range(len(sizes)),
    )
    groups = by_size(records)
    assert [group.jobs for group in groups] == [2, 2, 1, 2, 1, 2]
    assert [(group.above, group.up_to) for group in groups] == [
        *((0, 1 / 32), (1 / 32, 1 / 16), (1 / 16, 1 / 8), (1 / 8, 1 / 4), (1 / 4, 1 / 2), (1 / 2, 1)),
    ]
    assert {group.mbs for group in groups} == {2.0}
