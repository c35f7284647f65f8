"""What happens first when much happens at once, and times of every kind."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, ClassVar

import pytest

from slurm_sim_plugins import Decision, SchedulingView, Start, Wake, hookimpl
from tests.builders.jobs import JobRow, column, events, happenings, logged, run, starts, times

BOTH_PASSES = pytest.mark.parametrize("passes", ["batch", "event"])
LONGEST = 2**31 - 1
"""Seconds; what logs say for "no limit"."""


class Waking:
    """Starts jobs in order, from 10 on; and notes what is shown of each pass."""

    name: ClassVar[str] = "sched/waking"

    def __init__(self) -> None:
        self.passes: list[tuple[float, list[int], list[int]]] = []

    @hookimpl
    def schedule(self, view: SchedulingView) -> Generator[Decision, bool, None]:
        self.passes.append((view.now, [job.id for job in view.queue], [run.job.id for run in view.running]))
        if view.now < 10:
            yield Wake(10)
        while view.head is not None and view.head.processors <= view.free and (view.now >= 10 or view.head.id < 4):
            yield Start(view.head)


AT_TEN: list[JobRow] = [(3, 0, 1, 10, 20), (2, 0, 1, 15, 10), (1, 0, 1, 10, 10), (4, 5, 3, 5, 5), (5, 10, 1, 5, 5)]
"""At 10: 1 and 3 finish, 2 is killed, a wake-up that was asked for at 0 and 5 is due, and 5 is submitted."""


def at_ten(**options: Any) -> list[tuple[str, int]]:
    return [(event, job) for time, event, job in happenings(AT_TEN, 3, **options) if time == 10]


def test_finish_then_timeout_then_submission_then_one_pass() -> None:
    options: dict[str, Any] = {"scheduler": "sched/waking", "plugins": [Waking]}
    assert at_ten(**options) == [("end", 1), ("end", 3), ("end", 2), ("submit", 5), ("start", 4)]
    result = run(AT_TEN, 3, **options)
    assert column(result, "state") == {1: "COMPLETED", 2: "TIMEOUT", 3: "COMPLETED", 4: "COMPLETED", 5: "COMPLETED"}
    assert result.plugins["sched/waking"].passes == [
        (0, [1, 2, 3], []),
        (5, [4], [1, 2, 3]),
        (10, [4, 5], []),
        (15, [5], []),
    ]


def test_limits_then_submissions_then_other_ends_each_with_a_pass() -> None:
    options: dict[str, Any] = {"scheduler": "sched/waking", "plugins": [Waking], "passes": "event"}
    # 1 and 2 end at their limits: their processors are free before 5 comes, that of 3 is not.
    assert at_ten(**options) == [("end", 1), ("end", 2), ("submit", 5), ("end", 3), ("start", 4)]
    passes = run(AT_TEN, 3, **options).plugins["sched/waking"].passes
    after_submission, after_ends = [([4, 5], [3])], [([4, 5], [3]), ([4, 5], [3]), ([4, 5], [])]
    # The wake-up was asked for four times, and comes once.
    for_wake_up = [([5], [4])]
    assert [entry[1:] for entry in passes if entry[0] == 10] == after_submission + after_ends + for_wake_up


@BOTH_PASSES
def test_a_job_whose_work_and_limit_are_over_at_once_has_finished(passes: str) -> None:
    assert column(run([(1, 0, 1, 10, 10)], 1, passes=passes), "state") == {1: "COMPLETED"}
    assert column(run([(1, 0, 1, 10.000001, 10)], 1, passes=passes), "state") == {1: "TIMEOUT"}


def test_ends_of_one_instant_in_the_order_of_starting() -> None:
    jobs = [(1, 0, 2, 9, 9), (2, 0, 3, 1, 1), (3, 1, 1, 8, 8), (4, 1, 1, 8, 20), (5, 2, 1, 7, 7)]
    ended = [job for time, event, job in happenings(jobs, 5) if (time, event) == (9, "end")]
    assert ended == [1, 3, 4, 5]


@BOTH_PASSES
def test_submissions_of_one_instant_in_the_order_of_ids(passes: str) -> None:
    jobs = [(job, 7, 1, 1, 1) for job in (30, 4, 100, 12)]
    submitted = [job for _, event, job in happenings(jobs, 1, passes=passes) if event == "submit"]
    assert submitted == [4, 12, 30, 100]
    assert starts(run(jobs, 1, passes=passes)) == {4: 7, 12: 8, 30: 9, 100: 10}


@BOTH_PASSES
def test_runs_of_no_length_follow_one_another_within_an_instant(passes: str) -> None:
    jobs = [(job, 3, 2, 0, 5) for job in range(1, 6)]
    assert times(run(jobs, 2, passes=passes)) == dict.fromkeys(range(1, 6), (3, 3))
    log = [event for _, event, _ in happenings(jobs, 2)]
    assert log == ["submit"] * 5 + ["start", "end"] * 5


@BOTH_PASSES
@pytest.mark.parametrize("policy", ["sched/fcfs", "sched/easy"])
def test_thousands_at_one_instant(policy: str, passes: str) -> None:
    result = run([(job, 5, 4, 0, 1) for job in range(5000)], 4, scheduler=policy, passes=passes)
    assert set(starts(result).values()) == {5}


def test_thousands_at_one_instant_after_others() -> None:
    jobs = [(job, 0, 1, 1, 1) for job in range(3000)] + [(3000 + job, 9, 1, 1, 1) for job in range(9000)]
    told: list[int] = []
    result = run(jobs, 12000, report=told.append)
    assert set(starts(result).values()) == {0, 9}
    assert told == sorted(told)
    assert told[-1] == 12000


# Priorities ------------------------------------------------------------------------------


@BOTH_PASSES
def test_equal_priorities_go_by_submission_then_id(passes: str) -> None:
    jobs = [(1, 0, 1, 10, 10), (9, 1, 1, 5, 5), (8, 2, 1, 5, 5), (7, 2, 1, 5, 5), (6, 3, 1, 4, 4)]
    result = run(jobs, 1, scheduler="sched/fcfs", priority="priority/sjf", passes=passes)
    assert starts(result) == {1: 0, 6: 10, 9: 14, 7: 19, 8: 24}


def test_huge_priorities_are_told_apart() -> None:
    class Huge:
        name: ClassVar[str] = "priority/huge"

        @hookimpl
        def priority_set(self, view: Any) -> list[float]:
            return [2.0**53 + 2 * job.id for job in view.to_set]

    jobs = [(job, 0, 1, 1, 1) for job in (1, 2, 3)]
    assert starts(run(jobs, 1, priority="priority/huge", plugins=[Huge])) == {3: 0, 2: 1, 1: 2}


# Times -----------------------------------------------------------------------------------


@BOTH_PASSES
@pytest.mark.parametrize("policy", ["sched/fcfs", "sched/easy", "sched/conservative"])
def test_the_longest_limits(policy: str, passes: str) -> None:
    jobs = [(1, 0, 3, 10, LONGEST), (2, 1, 4, LONGEST, LONGEST), (3, 2, 1, 5, LONGEST), (4, 3, 1, 5, 60)]
    result = run(jobs, 4, scheduler=policy, passes=passes, compiled=False)
    backfilled = {"sched/fcfs": LONGEST + 10, "sched/easy": 3, "sched/conservative": 3}[policy]
    assert times(result)[2] == (10, LONGEST + 10)
    assert starts(result)[4] == backfilled


def test_the_longest_reservation_is_written_out() -> None:
    log = events([(1, 0, 4, 10, LONGEST), (2, 0, 4, 1, LONGEST)], 4)
    assert [line["start"] for line in log if line["event"] == "reserve"] == [LONGEST]


@BOTH_PASSES
def test_fractions_of_seconds(passes: str) -> None:
    jobs = [(1, 0.1, 1, 0.2, 0.25), (2, 0.15, 1, 0.000001, 1), (3, 0.3, 1, 1 / 3, 1)]
    result, log = logged(jobs, 1, passes=passes)
    assert times(result) == {1: (0.1, 0.3), 2: (0.3, 0.300001), 3: (0.300001, 0.633334)}
    assert b'{"time":0.300001,"event":"start","job":3' in log
    assert b'{"time":0.633334,"event":"end","job":3' in log


@BOTH_PASSES
@pytest.mark.parametrize("policy", ["sched/fcfs", "sched/easy", "sched/conservative"])
def test_no_job_is_lost_to_rounding(policy: str, passes: str) -> None:
    jobs = [(job, 0.1 * job, 1 + job % 3, 0.07 * (job % 7), 0.1 * (1 + job % 6)) for job in range(1, 200)]
    run(jobs, 3, scheduler=policy, passes=passes, compiled=False)
    run(jobs, 3, scheduler=policy, passes=passes, kill_at_limit=False, compiled=False)


def test_less_than_a_microsecond_is_no_time() -> None:
    jobs = [(1, 0, 1, 4e-7, 1), (2, 0, 1, 6e-7, 1), (3, 0, 1, 1, 1)]
    assert times(run(jobs, 1)) == {1: (0, 0), 2: (0, 0.000001), 3: (0.000001, 1.000001)}


@BOTH_PASSES
@pytest.mark.parametrize("policy", ["sched/fcfs", "sched/easy", "sched/conservative"])
@pytest.mark.parametrize("shift", [-1000, -7.5, 1e9, -(2.0**32)])
def test_the_clock_may_begin_anywhere(policy: str, passes: str, shift: float) -> None:
    jobs = [(1, 0, 3, 10, 20), (2, 1, 4, 5, 10), (3, 2, 1, 5, 5), (4, 2.5, 2, 5, 5), (5, 7, 1, 9, 4)]
    options: dict[str, Any] = {"scheduler": policy, "passes": passes, "compiled": False}
    there = times(run([(job, submit + shift, *rest) for job, submit, *rest in jobs], 4, **options))
    here = times(run(jobs, 4, **options))
    assert there == {job: (start + shift, end + shift) for job, (start, end) in here.items()}


def test_times_before_zero_in_the_event_log() -> None:
    _, log = logged([(1, -1.5, 1, 1, 1), (2, -1.25, 1, 1.25, 2), (3, -1, 1, 0, 1)], 1)
    shown = [line["time"] for line in events([(1, -1.5, 1, 1, 1), (2, -1.25, 1, 1.25, 2), (3, -1, 1, 0, 1)], 1)]
    assert shown == sorted(shown)
    assert log.splitlines()[0] == b'{"time":-1.5,"event":"submit","job":1}'
    assert b'{"time":-0.5,"event":"end","job":1,"state":"COMPLETED"}' in log
    assert b'{"time":0.75,"event":"start","job":3' in log
