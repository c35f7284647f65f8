"""Who stood at the head of the queue, who overtook, and what that cost."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.accounting.records import Records
from emulator.metrics import blocked, fairness, machine, preemption
from emulator.metrics.heads import head_spans
from emulator.metrics.summary import summarise
from slurm_sim_plugins.manager import Catalogue
from tests.builders.jobs import JobRow, run, workload
from tests.builders.records import A10, EMPTY, NAN, records_of

PV = {"scheduler": "sched/venture", "preempt": "preempt/shadow_load"}

OVERTAKEN = records_of(
    {1: (0, 3, 10), 2: (1, 4, 5), 3: (2, 1, 20), 4: (3, 2, 4)},
    {1: [(0, 10)], 2: [(22, 27)], 3: [(2, 22)], 4: [(27, 31)]},
    4,
    blocked=[2, 4],
    reserved={2: 10.0},
    first_reserved={2: 5.0},
    could_start={2: 10.0},
)
"""Job 2 would have had the machine at 10, but job 3 was let past it at 2."""

BEFORE = records_of(
    {1: (0, 2, 10), 2: (0, 2, 20), 3: (1, 3, 5)},
    {1: [(0, 10)], 2: [(0, 20)], 3: [(20, 25)]},
    4,
    blocked=[3],
)
"""Job 3 was overtaken by no job: jobs 1 and 2 were there before it."""


def spans_of(records: Records) -> list[tuple[int, float, float]]:
    spans = head_spans(records)
    ids = np.asarray(records.jobs["job_id"])[spans.job]
    return list(zip(ids.tolist(), spans.begin.tolist(), spans.end.tolist(), strict=True))


def test_spans_follow_one_another() -> None:
    assert spans_of(OVERTAKEN) == [(2, 1, 22), (4, 22, 27)]
    assert spans_of(BEFORE) == [(3, 1, 20)]
    assert spans_of(EMPTY) == []


def test_a_job_that_is_sent_back_may_come_to_the_head() -> None:
    assert spans_of(A10) == [(1, 1, 10), (2, 10, 15)]


def test_a_job_of_higher_priority_displaces_the_head() -> None:
    records = records_of(
        {1: (0, 2, 10), 2: (1, 2, 5), 3: (4, 2, 5)},
        {1: [(0, 10)], 2: [(15, 20)], 3: [(10, 15)]},
        2,
        priority_at_start={1: 1.0, 2: 1.0, 3: 2.0},
    )
    assert spans_of(records) == [(2, 1, 4), (3, 4, 10), (2, 10, 15)]


def test_who_waits_when_a_run_breaks_off_waits_for_ever() -> None:
    records = records_of(
        {1: (0, 2, 10), 2: (1, 2, 5), 3: (9, 2, 5)},
        {1: [(0, NAN)]},
        2,
        states={1: "RUNNING", 2: "PENDING", 3: "FUTURE"},
    )
    assert spans_of(records) == [(2, 1, math.inf)]
    assert np.isnan(fairness.overtaken_delay(records)).all()


def test_the_delay_of_the_overtaken_counts_from_when_those_before_it_had_gone() -> None:
    assert fairness.unhindered_start(OVERTAKEN).tolist() == pytest.approx([NAN, 10, NAN, 27], nan_ok=True)
    assert fairness.overtaken_delay(OVERTAKEN).tolist() == pytest.approx([NAN, 12, NAN, NAN], nan_ok=True)


def test_whoever_was_there_before_overtakes_nobody() -> None:
    assert np.isnan(fairness.overtaken_delay(BEFORE)).all()
    assert fairness.unhindered_start(BEFORE)[2] == 20


def test_jobs_of_lower_priority_from_before_delay_only_in_the_other_sense() -> None:
    records = records_of(
        {1: (0, 3, 5), 2: (1, 2, 7), 3: (2, 1, 30), 4: (3, 4, 5)},
        {1: [(0, 5)], 2: [(5, 12)], 3: [(2, 32)], 4: [(32, 37)]},
        4,
        blocked=[2, 4],
        could_start={4: 12.0},
    )
    assert fairness.unfair_delay(records)[3] == 20
    assert np.isnan(fairness.overtaken_delay(records)[3])


def test_violations_refer_to_the_latest_or_the_first_reservation() -> None:
    latest, first = (np.flatnonzero(fairness.reservation_violated(OVERTAKEN, each)) for each in ("latest", "first"))
    assert (latest.tolist(), first.tolist()) == ([1], [])
    able = fairness.unhindered_start(OVERTAKEN)
    assert fairness.reservation_delay(OVERTAKEN, able=able)[1] == 12
    assert fairness.slowdown_increase(OVERTAKEN, able=able)[1] == 1.2
    assert not fairness.reservation_violated(OVERTAKEN, "first", np.full(4, 6.0)).any()
    assert fairness.reservation_delay(OVERTAKEN, "first", np.full(4, 5.0))[1] == 17


def test_blocked_after_an_end_leaves_out_whom_only_submissions_left_there() -> None:
    assert fairness.blocked_after_end(OVERTAKEN).tolist() == [False, True, False, True]
    records = records_of({1: (0, 2, 10), 2: (1, 2, 5)}, {1: [(0, 10)], 2: [(10, 15)]}, 2, blocked=[2])
    assert not fairness.blocked_after_end(records).any()


def test_blocked_jobs_by_size() -> None:
    groups = blocked.by_size(OVERTAKEN, (0, 0.25, 0.5, 1))
    assert [group.jobs for group in groups] == [0, 1, 1]
    assert math.isnan(groups[0].mbs)
    assert [(group.mbs, group.mwbs) for group in groups[1:]] == [(1 + 24 / 10, 1 + 24 / 10), (1 + 21 / 10, 1 + 21 / 10)]
    everybody = blocked.by_size(OVERTAKEN, (0, 1), blocked=np.ones(4, dtype=bool))[0]
    assert everybody.jobs == 4
    assert everybody.mwbs == pytest.approx((3 * 1 + 4 * 3.1 + 1 * 1 + 2 * 3.4) / 10)


def test_loads_may_count_from_the_beginning_of_the_log() -> None:
    records = records_of({1: (10, 2, 10)}, {1: [(10, 20)]}, 4)
    assert machine.total_load(records) == 0.5
    assert machine.total_load(records, since=0) == 0.25
    assert machine.wasted_load(A10, since=-27) == pytest.approx(machine.wasted_load(A10) / 2)


def test_a_summary_says_what_fairness_and_preemption_cost() -> None:
    summary = summarise(OVERTAKEN)
    assert (summary["delayed"], summary["mean_delay"], summary["max_delay"], summary["violated"]) == (1, 12, 12, 1)
    summary = summarise(A10)
    names = ("requeues", "preempted", "preemption_rate", "mkt", "mean_rtw")
    assert [summary[name] for name in names] == pytest.approx([1, 1, 1 / 3, 1, 8 / 12])
    assert math.isnan(preemption.preemption_rate(EMPTY))


# Against slow references, on random workloads.


@st.composite
def jobs(draw: st.DrawFn) -> list[JobRow]:
    return [
        (
            number,
            draw(st.integers(0, 12)),
            draw(st.integers(1, 5)),
            draw(st.integers(0, 9)),
            draw(st.integers(1, 9)),
        )
        for number in range(1, draw(st.integers(1, 12)) + 1)
    ]


def slow_spans(records: Records) -> list[tuple[int, float, float]]:
    ids = records.jobs["job_id"].tolist()
    came = {id: [submit] for id, submit in zip(ids, records.jobs["submit"].tolist(), strict=True)}
    left: dict[int, list[float]] = {id: [] for id in ids}
    columns = (records.runs[name].tolist() for name in ("job_id", "start", "end", "outcome"))
    for id, start, end, outcome in zip(*columns, strict=True):
        left[id].append(start)
        if outcome == "PREEMPTED":
            came[id].append(end)
    instants = sorted({time for times in [*came.values(), *left.values()] for time in times})
    spans: list[tuple[int, float, float]] = []
    for now, following in zip(instants, [*instants[1:], math.inf], strict=True):
        waiting = [id for id in ids if sum(t <= now for t in came[id]) > sum(t <= now for t in left[id])]
        if waiting and spans and spans[-1][0] == waiting[0] and spans[-1][2] == now:
            spans[-1] = (waiting[0], spans[-1][1], following)
        elif waiting:
            spans.append((waiting[0], now, following))
    return spans


def test_a_later_job_that_starts_as_the_head_begins_to_wait_hinders_it() -> None:
    table = {0: (0, 3, 10), 1: (1, 4, 5), 2: (1, 1, 20)}
    records = records_of(table, {0: [(0, 10)], 1: [(21, 26)], 2: [(1, 21)]}, 4, blocked=[1])
    assert fairness.unhindered_start(records)[1] == 10


def slow_unhindered(records: Records) -> dict[int, float]:
    found: dict[int, float] = {}
    processors = dict(zip(records.jobs["job_id"].tolist(), records.jobs["processors"].tolist(), strict=True))
    place = {id: number for number, id in enumerate(processors)}
    columns = (records.runs[name].tolist() for name in ("job_id", "start", "end"))
    runs = list(zip(*columns, strict=True))
    for id, begin, _ in slow_spans(records):
        if id in found:
            continue
        before = [
            (other, end)
            for other, start, end in runs
            if end > begin and (start < begin or (start == begin and place[other] < place[id]))
        ]
        found[id] = next(
            now
            for now in sorted({begin, *(end for _, end in before)})
            if processors[id] + sum(processors[other] for other, end in before if end > now) <= records.processors
        )
    return found


@pytest.mark.slow
@settings(max_examples=60)
@given(rows=jobs(), policy=st.sampled_from([{"scheduler": "sched/easy"}, {"scheduler": "sched/fcfs"}, PV]))
def test_spans_and_unhindered_starts_are_those_of_slow_loops(rows: list[JobRow], policy: dict[str, Any]) -> None:
    records = run(rows, 5, **policy).records
    assert spans_of(records) == slow_spans(records)
    expected = slow_unhindered(records)
    found = fairness.unhindered_start(records)
    ids = records.jobs["job_id"].tolist()
    assert {id: time for id, time in zip(ids, found.tolist(), strict=True) if time == time} == expected


@pytest.mark.slow
@settings(max_examples=60)
@given(rows=jobs())
def test_at_the_head_is_whoever_is_blocked(rows: list[JobRow]) -> None:
    rows = [(*row[:3], row[3] + 1, row[4]) for row in rows]
    records = run(rows, 5, scheduler="sched/easy").records
    at_head = np.zeros(len(records), dtype=bool)
    at_head[head_spans(records).job] = True
    assert (at_head == records.jobs["blocked"]).all()
    assert not (fairness.blocked_after_end(records) & ~records.jobs["blocked"]).any()


@pytest.mark.slow
@settings(max_examples=40)
@given(rows=jobs())
def test_without_backfilling_nobody_is_overtaken(rows: list[JobRow]) -> None:
    records = run(rows, 5, scheduler="sched/fcfs").records
    assert np.isnan(fairness.overtaken_delay(records)).all()


# A run that outlives its limit.

LATE = [(1, 0, 2, 25, 10), (2, 0, 2, 4, 4), (3, 1, 4, 5, 5), (4, 12, 2, 7, 7), (5, 12, 2, 9, 9)]


@pytest.mark.parametrize(("expired", "starts"), [("limit", [25, 30, 30]), ("again", [25, 12, 30])])
def test_again_plans_a_late_run_with_its_limit_once_more(expired: str, starts: list[float]) -> None:
    """At 12 job 1 is late: it may end at once, or is planned to end at 20, by when job 4 is over."""
    result = run(LATE, 4, scheduler="sched/easy", expired=expired, kill_at_limit=False)
    assert result.records.jobs["start"].tolist()[2:] == starts


def test_again_changes_nothing_where_limits_kill() -> None:
    given = workload(LATE)
    runs = [run(LATE, 4, scheduler="sched/easy", expired=expired) for expired in ("limit", "again")]
    assert runs[0].records.jobs["start"].tolist() == runs[1].records.jobs["start"].tolist()
    assert len(given) == len(runs[0].records)


# Who made room.

ROOM = [(0, 0, 2, 10, 10), (1, 1, 5, 5, 5), (2, 2, 3, 30, 30), (3, 3, 1, 30, 30)]


@pytest.mark.parametrize(("restart", "again"), [(True, 10.0), (False, 15.0)])
def test_who_made_room_may_have_to_wait_for_the_next_pass(restart: bool, again: float) -> None:
    """At 10 jobs 3 and 2 make room for job 1, which leaves a processor over: enough for job 3."""
    options = {"sched/venture": {"restart": restart}}
    runs = run(ROOM, 6, **PV, catalogue=Catalogue(), plugin_options=options).records.runs
    starts = [start for job, start in zip(runs["job_id"].tolist(), runs["start"].tolist(), strict=True) if job == 3]
    assert starts == [3.0, again]


@pytest.mark.parametrize(("reservation", "fifth"), [("recompute", 25.0), ("sticky", 25.0), ("ratchet", 16.0)])
def test_a_reservation_that_was_put_off_stays_put_off_under_ratchet(reservation: str, fifth: float) -> None:
    """Job 4 was to start at 20; at 12, job 1 being late, at 30; from 15 on at 20 again. Job 5 asks at 16 for 10."""
    jobs = [(1, 0, 1, 15, 30), (2, 0, 1, 20, 20), (3, 0, 1, 12, 12), (4, 1, 4, 5, 5), (5, 16, 1, 10, 10)]
    options = {"sched/easy": {"reservation": reservation}}
    result = run(jobs, 4, predicted={1: 10}, walltime="walltime/given", plugin_options=options)
    assert result.records.jobs["start"].tolist()[-1] == fifth
