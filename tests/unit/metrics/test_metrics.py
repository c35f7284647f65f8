"""Metrics: the worked examples, naive loops over random schedules, and what has no value."""

from __future__ import annotations

import math
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.accounting.records import Records
from emulator.metrics import averages, fairness, jobs, machine, preemption, steps
from emulator.metrics.summary import METRICS, summarise
from slurm_sim_plugins.errors import ConfigurationError
from tests.builders.records import A10, EMPTY, NAN, records_of

X = {1: (0, 5, 30, 30), 2: (0, 8, 10, 20), 3: (0, 6, 30, 30), 4: (5, 4, 30, 70), 5: (10, 2, 30, 50), 6: (10, 2, 20, 30)}

WORKED = {
    "A1": (
        5,
        {1: (0, 2, 2, 2), 2: (0, 5, 1, 1), 3: (0, 1, 2, 2)},
        {1: [(0, 2)], 2: [(2, 3)], 3: [(0, 2)]},
        (1.066667, 1.125),
    ),
    "A5": (
        5,
        {1: (0, 3, 5, 5), 2: (0, 4, 3, 3), 5: (0, 2, 6, 8)},
        {1: [(0, 5)], 2: [(6, 9)], 5: [(0, 6)]},
        (1.2, 1.266667),
    ),
    "A6": (
        5,
        {1: (0, 3, 5, 5), 2: (0, 4, 3, 3), 5: (0, 2, 6, 8)},
        {1: [(0, 5)], 2: [(5, 8)], 5: [(0, 5), (8, 14)]},
        (1.433333, 1.4),
    ),
    "A11": (
        4,
        {0: (0, 3, 10, 10), 1: (1, 4, 5, 5), 2: (3, 1, 12, 20)},
        {0: [(0, 12)], 1: [(12, 18)], 2: [(3, 12), (18, 27)]},
        (1.8, 1.8),
    ),
    "A12": (
        4,
        {0: (0, 3, 10, 10), 1: (1, 4, 5, 5), 2: (2, 1, 12, 20)},
        {0: [(0, 10.5)], 1: [(10.5, 15.75)], 2: [(2, 10.5), (15.75, 20.85)]},
        (1.531944, 1.577604),
    ),
    "A15": (4, {1: (0, 4, 50, 30), 2: (0, 4, 10, 10)}, {1: [(0, 30)], 2: [(30, 40)]}, (2.5, 2.5)),
    "X_easy": (
        10,
        X,
        {1: [(0, 30)], 2: [(30, 40)], 3: [(40, 70)], 4: [(40, 70)], 5: [(10, 40)], 6: [(70, 90)]},
        (2.416667, 2.580247),
    ),
    "X_pv_easy": (
        10,
        X,
        {
            1: [(0, 30)],
            2: [(30, 40)],
            3: [(40, 70)],
            4: [(5, 30), (40, 70)],
            5: [(70, 100)],
            6: [(30, 40), (70, 90)],
        },
        (2.75, 2.728395),
    ),
}


@pytest.mark.parametrize("case", WORKED)
def test_worked_examples_have_their_bounded_slowdowns(case: str) -> None:
    processors, table, runs, expected = WORKED[case]
    summary = summarise(records_of(table, runs, processors))
    assert (summary["mbs"], summary["mwbs"]) == pytest.approx(expected, abs=1e-6)


def test_wait_90_run_5_is_a_bounded_slowdown_of_10() -> None:
    records = records_of({1: (0, 1, 5)}, {1: [(90, 95)]}, 1)
    assert jobs.bounded_slowdown(records).tolist() == [10.0]
    assert jobs.bounded_slowdown_feitelson(records).tolist() == [9.5]
    assert jobs.slowdown(records).tolist() == [19.0]


def test_feitelsons_bounded_slowdown_of_a_short_job_is_not_below_1() -> None:
    records = records_of({1: (0, 1, 2)}, {1: [(5, 7)]}, 1)
    assert jobs.bounded_slowdown(records).tolist() == [1.5]
    assert jobs.bounded_slowdown_feitelson(records).tolist() == [1.0]


def test_an_unknown_bound_of_600_seconds_hides_short_jobs() -> None:
    records = records_of({1: (0, 1, 100)}, {1: [(600, 700)]}, 1)
    assert jobs.bounded_slowdown(records, threshold=600).tolist() == [2.0]


def test_the_weighted_mean_counts_a_job_by_its_processors() -> None:
    slowdowns, processors = np.array([2.0, 4.0]), np.array([1, 3])
    assert averages.mean(slowdowns) == 3.0
    assert averages.weighted(slowdowns, processors) == 3.5
    assert averages.weighted(np.array([10.0, 20.0]), np.array([1.0, 3.0])) == 17.5


def test_a_job_without_value_or_without_weight_is_left_out_of_the_weighted_mean() -> None:
    assert averages.weighted(np.array([10.0, 20.0, 99.0, NAN]), np.array([1.0, 3.0, NAN, 5.0])) == 17.5


def test_preemption_wastes_what_a10_says() -> None:
    summary = summarise(A10)
    assert summary["total_load"] == pytest.approx(70 / 108)
    assert summary["wasted_load"] == pytest.approx(8 / 108)
    assert summary["utilisation"] == pytest.approx(70 / 108)
    assert summary["load"] == pytest.approx((30 + 20 + 12) / (4 * 2))
    assert preemption.mean_requeues(A10) == 1.0
    assert averages.mean(preemption.wasted_run(A10)) == pytest.approx(8 / 12)
    assert jobs.wait(A10).tolist() == [0.0, 9.0, 13.0]
    assert (summary["requeues"], summary["blocked"]) == (1, 1)


def test_a_broken_reservation_costs_what_a5_says() -> None:
    processors, table, runs, _ = WORKED["A5"]
    records = records_of(table, runs, processors, blocked=[2], reserved={2: 5.0}, could_start={2: 5.0})
    assert fairness.reservation_violated(records).tolist() == [False, True, False]
    assert averages.known(fairness.reservation_delay(records)).tolist() == [1.0]
    assert averages.known(fairness.slowdown_increase(records)).tolist() == pytest.approx([0.1])
    assert averages.known(fairness.unfair_delay(records)).tolist() == [1.0]


def test_a_late_start_that_could_not_be_earlier_breaks_no_reservation() -> None:
    processors, table, runs, _ = WORKED["A5"]
    records = records_of(table, runs, processors, blocked=[2], reserved={2: 5.0}, could_start={2: 6.0})
    assert not fairness.reservation_violated(records).any()
    assert not len(averages.known(fairness.unfair_delay(records)))


def test_the_queue_holds_who_was_sent_back() -> None:
    times, waiting = machine.jobs_waiting(A10)
    assert dict(zip(times.tolist(), waiting.tolist(), strict=True)) == {0: 0, 1: 1, 2: 1, 10: 1, 15: 0}
    assert machine.mean_queue_length(A10) == pytest.approx(14 / 27)
    assert machine.max_queue_length(A10) == 1


def test_a_job_that_starts_at_once_never_waits() -> None:
    records = records_of({1: (0, 1, 5), 2: (0, 1, 5)}, {1: [(0, 5)], 2: [(0, 5)]}, 2)
    assert machine.max_queue_length(records) == 0
    assert machine.mean_queue_length(records) == 0.0


def test_a_summary_has_all_metrics_in_their_order() -> None:
    summary = summarise(A10)
    assert list(summary) == list(METRICS)
    assert all(key == metric.key for key, metric in METRICS.items())
    assert all(metric.definition.endswith(".") and metric.source for metric in METRICS.values())
    for key, value in summary.items():
        assert type(value) is (int if METRICS[key].unit in ("jobs", "times") else float), key


def test_no_metric_is_better_the_larger_it_is() -> None:
    assert {metric.lower_is_better for metric in METRICS.values()} == {True, None}
    assert {metric.lower_is_better for metric in METRICS.values() if metric.group == "Slowdown"} == {True}


def test_of_no_jobs_nothing_has_a_mean() -> None:
    summary = summarise(EMPTY)
    for key, value in summary.items():
        assert value == 0 if METRICS[key].unit in ("jobs", "times") else math.isnan(value), key
    assert averages.weighted(np.empty(0), np.empty(0)) != averages.weighted(np.empty(0), np.empty(0))
    assert not len(machine.processors_in_use(EMPTY)[0])


def test_rejected_and_unfinished_jobs_are_counted_and_left_out() -> None:
    records = records_of(
        {1: (0, 2, 10), 2: (1, 2, 10), 3: (2, 99, 10), 4: (3, 4, 10), 5: (40, 1, 10), 6: (4, 1, 10)},
        {1: [(0, 10)], 2: [(10, NAN)], 6: [(5, 6)]},
        4,
        states={2: "RUNNING", 3: "REJECTED", 4: "PENDING", 5: "FUTURE", 6: "PENDING"},
        end={6: NAN},
    )
    summary = summarise(records)
    assert (summary["jobs"], summary["completed"], summary["rejected"], summary["unfinished"]) == (6, 1, 1, 4)
    assert (summary["mean_wait"], summary["mbs"]) == (0.0, 1.0)
    assert summary["makespan"] == 10.0
    # Job 6 was sent back at 6; jobs 2, 4 and 6 wait then, of which 2 starts at 10.
    times, waiting = machine.jobs_waiting(records)
    assert waiting[np.searchsorted(times, 6)] == 3
    assert summary["load"] == pytest.approx((20 + 20 + 40 + 10 + 10) / (4 * 40))


def test_what_still_runs_holds_its_processors_to_the_end() -> None:
    records = records_of({1: (0, 2, 10), 2: (0, 1, 10)}, {1: [(0, NAN)], 2: [(0, 8)]}, 4, states={1: "RUNNING"})
    assert summarise(records)["utilisation"] == pytest.approx((2 * 8 + 8) / (4 * 8))
    assert machine.processors_in_use(records)[1].tolist() == [3, 2]


def test_jobs_of_no_length_have_a_bounded_slowdown_only() -> None:
    records = records_of({1: (0, 1, 0, 10), 2: (0, 1, 10)}, {1: [(10, 10)], 2: [(0, 10)]}, 1)
    summary = summarise(records)
    assert (summary["mbs"], summary["mean_slowdown"]) == (1.5, 1.0)
    assert summarise(records, threshold=0)["mbs"] == 1.0
    assert machine.processors_in_use(records)[1].tolist() == [1, 0]


def test_all_jobs_at_one_instant_have_no_load() -> None:
    summary = summarise(records_of({1: (5, 1, 0, 1)}, {1: [(5, 5)]}, 1))
    assert math.isnan(summary["load"])
    assert math.isnan(summary["utilisation"])
    assert math.isnan(summary["mean_queue_length"])
    assert summary["makespan"] == 0.0


def test_rejected_jobs_alone_have_no_makespan() -> None:
    summary = summarise(records_of({1: (5, 9, 10)}, {}, 1, states={1: "REJECTED"}))
    assert math.isnan(summary["makespan"])
    assert (summary["rejected"], summary["unfinished"]) == (1, 0)


@pytest.mark.parametrize(("share", "left_out"), [(0.0, 0), (0.05, 0), (0.1, 1), (0.29, 2), (0.3, 3), (0.999, 9)])
def test_warm_up_leaves_the_first_share_out_of_means_only(share: float, left_out: int) -> None:
    table = {job: (job, 1, 10) for job in range(10)}
    records = records_of(table, {job: [(11.0 * job, 11.0 * job + 10)] for job in table}, 1)
    summary = summarise(records, warm_up=share)
    assert summary["mean_wait"] == pytest.approx(np.mean([10 * job for job in range(left_out, 10)]))
    assert summary["mean_slowdown"] == pytest.approx(np.mean([1 + job for job in range(left_out, 10)]))
    assert summary["mean_response"] == summary["mean_slowdown"] * 10
    assert summary["jobs"] == 10
    assert summary["utilisation"] == summarise(records)["utilisation"]


def test_a_warm_up_of_29_of_100_jobs_is_29_jobs() -> None:
    records = records_of({job: (job, 1, 10) for job in range(100)}, {job: [(2.0 * job, 999)] for job in range(100)}, 99)
    waits = jobs.wait(records)
    assert summarise(records, warm_up=0.29)["mean_wait"] == pytest.approx(float(waits[29:].mean()))


@pytest.mark.parametrize("options", [{"warm_up": 1.0}, {"warm_up": -0.1}, {"warm_up": NAN}])
def test_a_senseless_warm_up_is_refused(options: dict[str, float]) -> None:
    with pytest.raises(ConfigurationError, match="share of the jobs"):
        summarise(A10, **options)


@pytest.mark.parametrize("threshold", [-1.0, NAN, float("inf")])
def test_a_senseless_threshold_is_refused(threshold: float) -> None:
    with pytest.raises(ConfigurationError, match="threshold"):
        summarise(A10, threshold=threshold)


def test_fractions_of_seconds_leave_no_noise_in_waits() -> None:
    records = records_of({1: (0.1, 1, 0.7)}, {1: [(0.1, 0.8)]}, 1)
    assert jobs.wait(records).tolist() == [0.0]
    assert math.copysign(1, jobs.wait(records)[0]) == 1


def test_whole_numbers_from_a_file_are_as_good() -> None:
    whole = {
        name: column.astype(np.int64) if column.dtype == float else column
        for name, column in A10.jobs.items()
        if not (column.dtype == float and np.isnan(column).any())
    }
    again = replace(A10, jobs={**A10.jobs, **whole})
    assert summarise(again) == pytest.approx(summarise(A10), rel=0, abs=0, nan_ok=True)


def test_metrics_need_numpy_alone() -> None:
    heavy = ("pandas", "pyarrow", "matplotlib", "rich", "jinja2")
    code = f"import emulator.metrics.summary, sys; print([name for name in {heavy} if name in sys.modules])"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"


# Random schedules: nothing here needs them to be good ones.


@st.composite
def schedules(draw: st.DrawFn) -> Records:
    table, runs, states = {}, {}, {}
    for job in range(draw(st.integers(0, 8))):
        submit, run = draw(st.integers(0, 40)), draw(st.integers(0, 30))
        table[job] = (submit, draw(st.integers(1, 9)), run, max(run, 1))
        fate = draw(st.sampled_from(["COMPLETED", "COMPLETED", "COMPLETED", "REJECTED", "PENDING", "RUNNING"]))
        if fate != "COMPLETED":
            states[job] = fate
        if fate in ("REJECTED", "PENDING"):
            continue
        now, mine = submit, []
        for _ in range(draw(st.integers(0, 2))):
            start = now + draw(st.integers(0, 9))
            now = start + draw(st.integers(0, 9))
            mine.append((start, now))
        start = now + draw(st.integers(0, 20))
        runs[job] = [*mine, (start, NAN if fate == "RUNNING" else start + run)]
    return records_of(table, runs, draw(st.integers(1, 20)), states=states)


def rows(records: Records) -> list[dict[str, float]]:
    return [dict(zip(records.jobs, values, strict=True)) for values in zip(*records.jobs.values(), strict=True)]


def run_rows(records: Records) -> list[dict[str, float]]:
    return [dict(zip(records.runs, values, strict=True)) for values in zip(*records.runs.values(), strict=True)]


def same(value: float, expected: Fraction | None) -> None:
    if expected is None:
        assert math.isnan(value)
    else:
        assert value == pytest.approx(float(expected), rel=1e-9, abs=1e-12)


def quotient(part: float, whole: float) -> Fraction | None:
    return Fraction(part) / Fraction(whole) if whole else None


@pytest.mark.slow
@settings(deadline=None, max_examples=150)
@given(schedules(), st.sampled_from([0.0, 1.0, 10.0]))
def test_job_metrics_agree_with_a_loop(records: Records, threshold: float) -> None:
    done = [row for row in rows(records) if row["state"] == "COMPLETED"]
    waits = [row["end"] - row["submit"] - row["run"] for row in done]
    bounded, weights, slowdowns = [], [], []
    for row, waited in zip(done, waits, strict=True):
        length = max(row["run"], threshold)
        if length:
            bounded.append(Fraction(waited + length) / Fraction(length))
            weights.append(int(row["processors"]))
        if row["run"]:
            slowdowns.append(Fraction(row["end"] - row["submit"]) / Fraction(row["run"]))
    summary = summarise(records, threshold=threshold)
    same(summary["mean_wait"], quotient(sum(waits), len(waits)))
    same(summary["max_wait"], max(map(Fraction, waits), default=None))
    same(summary["mbs"], quotient(sum(bounded), len(bounded)))
    same(summary["mwbs"], quotient(sum(b * w for b, w in zip(bounded, weights, strict=True)), sum(weights)))
    same(summary["mean_slowdown"], quotient(sum(slowdowns), len(slowdowns)))


@pytest.mark.slow
@settings(deadline=None, max_examples=150)
@given(schedules())
def test_machine_metrics_agree_with_a_loop(records: Records) -> None:
    came = [row for row in rows(records) if row["state"] != "REJECTED"]
    summary = summarise(records)
    if not came:
        assert math.isnan(summary["makespan"])
        return
    known = [row[name] for row in came for name in ("submit", "start", "end") if not math.isnan(row[name])]
    known += [row[name] for row in run_rows(records) for name in ("start", "end") if not math.isnan(row[name])]
    first, last = min(known), max(known)
    capacity = records.processors * (last - first)
    done = [row for row in came if row["state"] == "COMPLETED"]
    submits = [row["submit"] for row in came]
    offered = sum(row["processors"] * row["run"] for row in came)
    used = sum((min(row["end"], last) - row["start"]) * row["processors"] for row in run_rows(records))
    same(summary["makespan"], Fraction(last - first))
    same(summary["load"], quotient(offered, records.processors * (max(submits) - min(submits))))
    same(summary["total_load"], quotient(sum(row["processors"] * row["occupied"] for row in done), capacity))
    lost = sum(row["processors"] * (row["occupied"] - row["run"]) for row in done)
    same(summary["wasted_load"], quotient(lost, capacity))
    if not any(math.isnan(row["end"]) for row in run_rows(records)):
        same(summary["utilisation"], quotient(used, capacity))


@pytest.mark.slow
@settings(deadline=None, max_examples=150)
@given(schedules())
def test_step_series_agree_with_looking_at_each_second(records: Records) -> None:
    waiting, used = machine.jobs_waiting(records), machine.processors_in_use(records)
    first, last = machine.span(records)
    if math.isnan(first):
        return
    lengths = []
    for second in range(int(first), int(last)):
        held = sum(
            int(row["processors"]) for row in run_rows(records) if row["start"] <= second and not row["end"] <= second
        )
        queue = sum(waits_at(row, run_rows(records), second) for row in rows(records))
        assert value_at(used, second) == held
        assert value_at(waiting, second) == queue
        lengths.append(queue)
    same(machine.mean_queue_length(records), quotient(sum(lengths), len(lengths)))


def waits_at(job: dict[str, float], runs: list[dict[str, float]], second: int) -> bool:
    """Whether a job is in the queue throughout the second that begins then."""
    mine = [run for run in runs if run["job_id"] == job["job_id"]]
    if job["state"] == "REJECTED" or job["submit"] > second:
        return False
    begun = [run for run in mine if run["start"] <= second]
    if not begun:
        return True
    last = begun[-1]
    return last["outcome"] == "PREEMPTED" and last["end"] <= second


def value_at(series: steps.Steps, second: float) -> int:
    times, values = series
    place = int(np.searchsorted(times, second, side="right")) - 1
    return int(values[place]) if place >= 0 else 0


@settings(deadline=None, max_examples=150)
@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(-3, 3)), max_size=12),
    st.lists(st.integers(-5, 40), min_size=2, max_size=6, unique=True),
)
def test_means_and_peaks_agree_with_looking_at_each_second(changes: list[tuple[int, int]], cuts: list[int]) -> None:
    instants = np.array([float(time) for time, _ in changes])
    series = steps.accumulate(instants, np.array([change for _, change in changes]))
    edges = np.array(sorted(cuts), dtype=float)
    means, peaks = steps.means_between(series, edges), steps.peaks_between(series, edges)
    for low, high, mean, peak in zip(edges[:-1], edges[1:], means, peaks, strict=True):
        seen = [value_at(series, second) for second in range(int(low), int(high))]
        assert mean == pytest.approx(sum(seen) / len(seen))
        assert peak == max(seen)


def test_a_mean_over_no_time_is_nan() -> None:
    series = steps.accumulate(np.array([0.0]), np.array([1]))
    assert np.isnan(steps.means_between(series, np.array([1.0, 1.0]))).all()
    assert np.isnan(steps.means_between((np.empty(0), np.empty(0, int)), np.array([1.0, 1.0]))).all()
    assert not len(steps.means_between(series, np.array([1.0])))
