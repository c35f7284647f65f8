"""What preemption does to runs: lengths, what is kept, which job waits for which, what is planned; worked by hand."""

from __future__ import annotations

import json
import math
from collections.abc import Generator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from emulator import Result
from emulator.accounting.runfolder import read_run
from emulator.config.preemption import Preemption
from emulator.execution.checkpoint import NEVER_WRITTEN, IntervalCheckpoint, JustInTimeCheckpoint, spread_over_limit
from emulator.execution.handover import Handover
from emulator.execution.overdue import Overdue, at_limit, at_once, corrected, renewed
from emulator.execution.progress import Progress
from emulator.execution.requeue import Requeue
from emulator.execution.suspend import Suspend
from emulator.state.instants import MICROSECONDS, instant
from emulator.state.jobs import JobTable
from slurm_sim_plugins import (
    Decision,
    Plan,
    Preempt,
    PreemptView,
    PriorityView,
    Run,
    SchedulingView,
    Start,
    View,
    WalltimeView,
    hookimpl,
)
from tests.builders.jobs import JobRow, column, events, failing, happenings, run, run_rows, starts, times, workload

BOTH_PASSES = pytest.mark.parametrize("passes", ["batch", "event"])
JOBS: list[JobRow] = [(1, 0, 3, 10, 12), (2, 1, 4, 5, 9), (3, 2, 1, 20, 30)]
"""On four processors, 3 ventures ahead of 2, and has to make room for it when 1 has ended."""
VENTURE: dict[str, Any] = {"scheduler": "sched/venture", "preempt": "preempt/shadow_load"}
INTERVAL = Preemption(mode="CHECKPOINT", interval=4, cost=1)
READING = Preemption(mode="CHECKPOINT", interval=4, cost=1, restart_cost=3)
JUST_IN_TIME = Preemption(mode="CHECKPOINT", checkpoint="jit", cost=3, restart_cost=2)
SUSPEND = Preemption(mode="SUSPEND", slowdown=0.05, cost=2)


def venture(jobs: list[JobRow] = JOBS, processors: int = 4, mode: Preemption | None = None, **options: Any) -> Result:
    return run(jobs, processors, preemption=mode or Preemption(), **{**VENTURE, **options})


def spans(result: Result) -> dict[int, list[tuple[float, float]]]:
    """Start and end of each run, by job."""
    found: dict[int, list[tuple[float, float]]] = {}
    for job, _, start, end, _ in run_rows(result):
        found.setdefault(job, []).append((start, end))
    return found


def works(result: Result) -> dict[int, list[float]]:
    """Work of each run, by job."""
    found: dict[int, list[float]] = {}
    runs = result.records.runs
    for job, work in zip(runs["job_id"].tolist(), runs["work"].tolist(), strict=True):
        found.setdefault(job, []).append(work)
    return found


def progress(jobs: list[JobRow], mode: Preemption, kill_at_limit: bool = True) -> Progress:
    return Progress(JobTable(workload(jobs)), mode, kill_at_limit=kill_at_limit)


# REQUEUE


def test_a_requeued_job_begins_anew() -> None:
    result = venture()
    assert spans(result) == {1: [(0, 10)], 2: [(10, 15)], 3: [(2, 10), (15, 35)]}
    assert works(result) == {1: [10], 2: [5], 3: [0, 20]}
    assert column(result, "occupied") == {1: 10, 2: 5, 3: 28}


def test_nothing_survives_and_nothing_costs() -> None:
    mode = Requeue()
    assert (mode.span(0, 7.5, True), mode.kept(0, 9, 5, True), mode.away(0)) == (7.5, 0, 0)


# CHECKPOINT, at intervals


@pytest.mark.parametrize(
    ("left", "lasts"),
    [(0, 0), (1, 1), (9, 9), (10, 10), (11, 14), (20, 23), (21, 27), (30, 36), (31, 40), (10.5, 13.5)],
)
def test_no_checkpoint_is_written_when_no_work_remains(left: float, lasts: float) -> None:
    mode = IntervalCheckpoint([10], [3], [5])
    assert mode.span(0, left, False) == lasts
    assert mode.span(0, left, True) == lasts + 5


@pytest.mark.parametrize(
    ("elapsed", "kept"),
    [(0, 0), (9, 0), (10, 0), (12, 0), (13, 10), (14, 10), (25, 10), (26, 20), (39, 30), (10**6, 90)],
)
def test_a_checkpoint_counts_from_the_instant_on_at_which_it_is_complete(elapsed: int, kept: float) -> None:
    mode = IntervalCheckpoint([10], [3], [5])
    assert mode.kept(0, 100, elapsed, False) == kept
    assert mode.kept(0, 100, elapsed + 5, True) == kept
    assert mode.away(0) == 0


def test_who_is_preempted_while_it_reads_loses_nothing_more() -> None:
    mode = IntervalCheckpoint([10], [3], [5])
    assert [mode.kept(0, 100, elapsed, True) for elapsed in (0, 4, 5, 17, 18)] == [0, 0, 0, 0, 10]


def test_the_end_is_no_checkpoint_even_if_one_costs_nothing() -> None:
    mode = IntervalCheckpoint([10], [0], [0])
    assert mode.span(0, 20, False) == 20
    assert mode.kept(0, 20, 19, False) == 10
    assert mode.kept(0, 20, 20, False) == 10
    assert mode.kept(0, 21, 20, False) == 20


def test_checkpoints_of_each_job_have_their_own_price() -> None:
    mode = IntervalCheckpoint([10, 20], [3, 4], [5, 6])
    assert [mode.span(index, 40, True) for index in (0, 1)] == [54, 50]
    assert [mode.kept(index, 40, 31, True) for index in (0, 1)] == [20, 20]


def test_a_checkpointed_job_goes_on_from_its_last_checkpoint() -> None:
    result = venture(mode=INTERVAL)
    # 10 s, with checkpoints at 4 and 8, take 12. 3 has written two from 2 to 12, and 12 s are left, with two more.
    assert spans(result) == {1: [(0, 12)], 2: [(12, 18)], 3: [(2, 12), (18, 32)]}
    assert works(result) == {1: [10], 2: [5], 3: [8, 12]}
    assert spans(venture(mode=READING))[3] == [(2, 12), (18, 35)]


def test_a_microsecond_less_and_the_checkpoint_is_lost() -> None:
    result = venture([*JOBS[:2], (3, 2.000001, 1, 20, 30)], mode=READING)
    assert works(result)[3] == [4, 16]
    assert spans(result)[3] == [(2.000001, 12), (18, 40)]


def test_who_has_no_checkpoint_begins_anew_and_reads_none() -> None:
    result = venture([*JOBS[:2], (3, 8, 1, 20, 30)], mode=READING)
    assert works(result)[3] == [0, 20]
    assert spans(result)[3] == [(8, 12), (18, 42)]


class ById:
    """As many points as the id says; with ids that count up, the last job is the most urgent one."""

    name: ClassVar[str] = "priority/by_id"

    @hookimpl
    def priority_set(self, view: PriorityView) -> list[float]:
        return [job.id if job.id > 90 else -job.id for job in view.to_set]


URGENT: dict[str, Any] = {"plugins": [ById], "priority": "priority/by_id"}
"""Jobs in the order of their ids, but those above 90, which go before all others."""


def test_a_job_is_preempted_again_and_again() -> None:
    # 1, alone on its machine, works 0-7, 8-19 and from 20 on; each time the machine is needed for a second.
    jobs = [(1, 0, 2, 21, 40), (91, 7, 1, 1, 2), (92, 19, 1, 1, 2)]
    result = venture(jobs, 2, Preemption(mode="CHECKPOINT", interval=5, cost=1, restart_cost=1), **URGENT)
    # 5 s are saved at 6; from 9 on it works again, and 10 are saved at 15. At 21, 11 are left, and two checkpoints.
    assert works(result) == {91: [1], 92: [1], 1: [5, 5, 11]}
    assert spans(result)[1] == [(0, 7), (8, 19), (20, 34)]


# CHECKPOINT, a share of the limit


HOUR, MINUTE = 3600, 60


def test_as_many_checkpoints_as_fit_into_a_share_of_the_limit() -> None:
    # Of 120 min, 10 % hold two checkpoints of 5 min: one after each 40 min.
    limit, cost = 120 * MINUTE * MICROSECONDS, 5 * MINUTE * MICROSECONDS
    assert spread_over_limit([limit], [cost], 0.1) == [40 * MINUTE * MICROSECONDS]


@pytest.mark.parametrize(
    ("limit", "cost", "share", "intervals"),
    [
        (100, 10, 0.1, 2),
        (99, 10, 0.1, None),
        (100, 11, 0.1, None),
        (100, 10, 1, 11),
        (100, 100, 1, 2),
        (100, 101, 1, None),
        (100, 1, 0.29, 30),
        (100, 1, 0.57, 58),
        (100, 1, 0.07, 8),
        (1000, 1, 0.003, 4),
    ],
)
def test_the_share_is_a_bound_that_may_be_reached(limit: int, cost: int, share: float, intervals: int | None) -> None:
    limit, cost = limit * MICROSECONDS, cost * MICROSECONDS
    (interval,) = spread_over_limit([limit], [cost], share)
    assert interval == (math.ceil(limit / intervals) if intervals else NEVER_WRITTEN)


def test_a_job_of_its_whole_limit_writes_all_of_them_and_no_more() -> None:
    draw = np.random.default_rng(3)
    for _ in range(300):
        limit, cost = int(draw.integers(10**6, 10**9)), int(draw.integers(10**4, 10**8))
        (interval,) = spread_over_limit([limit], [cost], 0.2)
        written = (IntervalCheckpoint([interval], [cost], [0]).span(0, limit, False) - limit) / cost
        assert written == limit // (5 * cost)


def test_the_interval_follows_from_the_limit_not_from_the_run_time() -> None:
    mode = Preemption(mode="CHECKPOINT", checkpoint="share", share=0.1, cost=300)
    jobs = [(1, 0, 1, 119 * 60, 120 * 60), (2, 0, 1, 81 * 60, 120 * 60), (3, 0, 1, 80 * 60, 120 * 60)]
    jobs += [(4, 0, 1, 60 * 60, 99 * 60), (5, 0, 1, 49 * 60, 49 * 60)]
    lasts = {job: end - start for job, ((start, end),) in spans(venture(jobs, 5, mode)).items()}
    assert lasts == {1: 129 * 60, 2: 91 * 60, 3: 85 * 60, 4: 65 * 60, 5: 49 * 60}


def test_a_preempted_job_keeps_the_checkpoints_of_its_share() -> None:
    # Two checkpoints of 2 s in a limit of 30 s: after 10 and 20.
    mode = Preemption(mode="CHECKPOINT", checkpoint="share", share=0.15, cost=2)
    # 1, of 12 s, has room for none; when it ends, at 13, 3 has had 12 s: one checkpoint.
    result = venture([(1, 0, 3, 13, 13), (2, 0, 4, 5, 9), (3, 1, 1, 29, 30)], mode=mode)
    assert spans(result) == {1: [(0, 13)], 2: [(13, 18)], 3: [(1, 13), (18, 39)]}
    assert works(result)[3] == [10, 19]


# What a checkpoint costs


@pytest.mark.parametrize(
    ("nodes", "seconds"), [(512, 512), (1024, 512), (4096, 512), (6912, 512), (8192, 606.8), (49152, 3640.9)]
)
def test_the_cost_of_a_checkpoint_follows_from_memory_and_bandwidth(nodes: int, seconds: float) -> None:
    mode = Preemption(gb_per_processor=16)
    assert mode.write_cost(nodes) == mode.read_cost(nodes) == pytest.approx(seconds, abs=0.05)
    assert mode.write_cost(nodes) == 16 * nodes / min(4 * nodes / 128, 216)


def test_without_memory_it_is_the_option() -> None:
    mode = Preemption(cost=60, restart_cost=10)
    assert [(mode.write_cost(size), mode.read_cost(size)) for size in (1, 49152)] == [(60, 10)] * 2


def test_each_job_pays_for_its_size() -> None:
    mode = Preemption(
        mode="CHECKPOINT", interval=10, gb_per_processor=1, gb_per_second_per_processor=1, gb_per_second=2
    )
    result = venture([(1, 0, 1, 15, 20), (2, 0, 2, 15, 20), (3, 0, 4, 15, 20)], 7, mode)
    assert times(result) == {1: (0, 16), 2: (0, 16), 3: (0, 17)}


# CHECKPOINT, just in time


def test_a_checkpoint_is_written_when_the_run_is_preempted() -> None:
    mode = JustInTimeCheckpoint([3, 4], [2, 5])
    assert [mode.span(1, 20, resumed) for resumed in (False, True)] == [20, 25]
    assert [mode.kept(1, 20, elapsed, False) for elapsed in (0, 1, 20)] == [0, 1, 20]
    assert [mode.kept(1, 20, elapsed, True) for elapsed in (0, 5, 6, 25)] == [0, 0, 1, 20]
    assert [mode.away(index) for index in (0, 1)] == [3, 4]


@BOTH_PASSES
def test_who_takes_the_processors_waits_on_them_and_who_left_is_away(passes: str) -> None:
    result = venture(mode=JUST_IN_TIME, passes=passes)
    # At 10, 8 s of 3 are written until 13; then 2 works. 3 reads for 2 s, and 12 are left.
    assert spans(result) == {1: [(0, 10)], 2: [(10, 18)], 3: [(2, 10), (18, 32)]}
    assert works(result) == {1: [10], 2: [5], 3: [8, 12]}


def test_a_job_that_is_away_does_not_wait() -> None:
    # From 13 on 4 is not the first any more.
    jobs = [*JOBS[:2], (3, 2, 1, 20, 30), (4, 3, 4, 9, 9)]
    seen = waiting_at(venture(jobs, mode=JUST_IN_TIME, plugins=[Looking]))
    assert seen[10] == [4]
    assert seen[13] == [3, 4]


class Looking:
    """Notes what is shown after each pass."""

    name: ClassVar[str] = "observer/looking"

    def __init__(self) -> None:
        self.queues: dict[float, list[int]] = {}
        self.backfilled: dict[float, list[int]] = {}
        self.ends: dict[float, dict[int, float]] = {}
        self.planned: dict[float, dict[int, tuple[float, ...]]] = {}

    @hookimpl
    def pass_done(self, view: View) -> None:
        self.queues[view.now] = [job.id for job in view.queue]
        self.backfilled[view.now] = [run.job.id for run in view.running if run.job.backfilled]
        self.ends[view.now] = {run.job.id: run.planned_end for run in view.running}
        self.planned[view.now] = {
            job.id: (job.planned_queue, job.planned, job.planned_running, job.longest) for job in view.queue
        }


def waiting_at(result: Result) -> dict[float, list[int]]:
    queues: dict[float, list[int]] = result.plugins["observer/looking"].queues
    return queues


def planned_ends(result: Result) -> dict[float, dict[int, float]]:
    ends: dict[float, dict[int, float]] = result.plugins["observer/looking"].ends
    return ends


def test_what_waits_on_its_processors_is_planned_to_end_later() -> None:
    ends = planned_ends(venture([*JOBS, (4, 11, 4, 1, 1)], mode=JUST_IN_TIME, plugins=[Looking]))
    assert ends[10] == ends[11] == {2: 10 + 3 + 9}


@pytest.mark.parametrize(("expired", "end"), [("limit", 22), ("now", 17), ("tsafrir", 22)])
def test_and_so_it_is_when_it_outlives_that(expired: str, end: float) -> None:
    # 2, planned for 4 s, has worked for 4.5 s at 17.5.
    options: dict[str, Any] = {"plugins": [Looking], "predicted": {2: 4}, "walltime": "walltime/given"}
    result = venture([*JOBS, (4, 17.5, 4, 1, 1)], mode=JUST_IN_TIME, expired=expired, **options)
    assert planned_ends(result)[10] == {2: 17}
    assert planned_ends(result)[17.5] == {2: end}


def test_idle_processors_are_taken_first() -> None:
    # At 10, 2 takes the three that 1 had, and one of the two on which 3 is being written.
    jobs = [(1, 0, 3, 10, 12), (2, 1, 4, 5, 9), (3, 2, 2, 20, 30), (4, 10, 1, 6, 6)]
    result = venture(jobs, 5, JUST_IN_TIME)
    # The other one is for 4, which waits as well.
    assert spans(result) == {1: [(0, 10)], 2: [(10, 18)], 3: [(2, 10), (18, 32)], 4: [(10, 19)]}


def test_nobody_waits_who_needs_none_of_them() -> None:
    # 4 is being written until 13, on a processor of 3 and on an idle one. At 11, 2 leaves one that 92 takes.
    jobs = [(1, 0, 3, 10, 12), (2, 0, 1, 11, 12), (3, 1, 4, 5, 9), (4, 2, 2, 20, 30)]
    result = venture([*jobs, (91, 11, 1, 6, 6), (92, 11, 1, 6, 6)], 6, JUST_IN_TIME, **URGENT)
    assert spans(result)[3] == [(10, 18)]
    assert spans(result)[92] == [(11, 17)]
    assert spans(result)[91] == [(11, 19)]


def test_several_checkpoints_are_waited_for_as_far_as_they_are_needed() -> None:
    mode = Preemption(
        mode="CHECKPOINT", checkpoint="jit", gb_per_processor=1, gb_per_second_per_processor=1, gb_per_second=1
    )
    assert [mode.write_cost(size) for size in (1, 2, 3)] == [1, 2, 3]
    # 91 takes both: that of 2 is written until 11, those of 1 until 12; one is left for 92, which comes at 11.
    jobs = [(1, 0, 2, 20, 30), (2, 0, 1, 20, 30), (91, 10, 2, 5, 5), (92, 11, 1, 5, 5)]
    result = venture(jobs, 3, mode, **URGENT)
    assert spans(result)[91] == [(10, 17)]
    assert spans(result)[92] == [(11, 17)]


def test_who_waits_on_its_processors_and_has_to_go_leaves_nothing_behind() -> None:
    # 91 takes from 10 on what is written until 13. At 11 it makes room for 92, and has done nothing.
    jobs = [(1, 0, 4, 20, 30), (91, 10, 4, 5, 9), (92, 11, 4, 2, 9)]

    result = venture(jobs, 4, JUST_IN_TIME, **URGENT)
    assert spans(result) == {1: [(0, 10), (20, 32)], 91: [(10, 11), (15, 20)], 92: [(11, 15)]}
    assert works(result) == {1: [10, 10], 91: [0, 5], 92: [2]}
    log = happenings(jobs, 4, preemption=JUST_IN_TIME, **VENTURE, **URGENT)
    assert [entry for entry in log if entry[1] == "return"] == [(13, "return", 1)]


def test_a_run_of_no_work_is_not_written() -> None:
    made = progress([(1, 0, 1, 20, 30)], JUST_IN_TIME)
    assert made.preempt(0, 0) == (0, 0)
    assert made.duration[0] == 20 * MICROSECONDS
    assert made.preempt(0, 5 * MICROSECONDS) == (5 * MICROSECONDS, 3 * MICROSECONDS)
    # Preempted while it reads.
    assert made.preempt(0, 2 * MICROSECONDS) == (0, 0)
    assert made.duration[0] == (2 + 15) * MICROSECONDS


def handover(*pieces: tuple[int, int]) -> Handover:
    made = Handover()
    for until, processors in pieces:
        made.begin(until, processors)
    return made


def test_handover_takes_what_is_free_of_writing_then_what_is_written_first() -> None:
    made = handover((20, 2), (15, 3), (30, 1))
    # Ten are idle, six of them are being written on.
    assert made.take(1, 4, left_idle=6, now=10) == 0
    assert made.take(2, 2, left_idle=4, now=10) == 5
    assert made.pending == [(15, 1), (20, 2), (30, 1)]
    assert made.take(3, 2, left_idle=2, now=10) == 10
    assert made.pending == [(20, 1), (30, 1)]
    assert [made.delay(index) for index in (1, 2, 3, 4)] == [0, 5, 10, 0]


def test_handover_forgets_what_is_written() -> None:
    made = handover((20, 2), (15, 3))
    assert made.take(1, 4, left_idle=1, now=15) == 5
    assert made.take(2, 1, left_idle=0, now=20) == 0
    assert made.pending == []
    assert handover((15, 3), (30, 1)).take(1, 1, left_idle=3, now=20) == 0


def test_handover_gives_back_what_is_still_being_written() -> None:
    made = handover((15, 1), (20, 2), (30, 1))
    assert made.take(1, 4, left_idle=0, now=10) == 20
    assert made.pending == []
    assert made.give_back(1, now=15) == 20
    assert made.pending == [(20, 2), (30, 1)]
    assert made.delay(1) == 0
    assert made.give_back(1, now=16) == 0
    assert made.take(2, 3, left_idle=1, now=18) == 2


def test_a_job_that_went_on_after_waiting_is_written_on_all_its_processors() -> None:
    # 91 waits from 10 to 13 and works until 14; so do its own two processors until 17.
    jobs = [(1, 0, 2, 20, 30), (91, 10, 2, 5, 9), (92, 14, 2, 1, 1)]
    mode = Preemption(mode="CHECKPOINT", checkpoint="jit", cost=3, restart_cost=2)
    result = venture(jobs, 2, mode, priority="priority/sjf")
    assert spans(result) == {1: [(0, 10), (24, 36)], 91: [(10, 14), (18, 24)], 92: [(14, 18)]}
    assert works(result) == {1: [10, 10], 91: [1, 4], 92: [1]}


RETURNING: list[JobRow] = [(1, 0, 4, 10, 10), (2, 0, 1, 13, 13), (3, 1, 5, 5, 5), (4, 2, 2, 9, 20), (5, 13, 1, 4, 9)]
"""On seven processors, 3 takes those of 1 and one of those of 4, of which 8 s are written until 13."""


@pytest.mark.parametrize(
    ("passes", "limit", "fourth", "fifth"),
    [
        ("batch", 13, [(2, 10), (13, 16)], [(16, 20)]),
        ("event", 13, [(2, 10), (13, 16)], [(16, 20)]),
        ("batch", 40, [(2, 10), (13, 16)], [(16, 20)]),
        # 5 comes when 4 waits again and 2 has not yet given its processor back; it is sent back when it does.
        ("event", 40, [(2, 10), (13, 16)], [(13, 13), (16, 20)]),
    ],
)
def test_a_job_returns_before_who_is_submitted_at_that_instant(
    passes: str, limit: float, fourth: list[Any], fifth: list[Any]
) -> None:
    jobs = [RETURNING[0], (2, 0, 1, 13, limit), *RETURNING[2:]]
    result = venture(jobs, 7, JUST_IN_TIME, passes=passes)
    assert spans(result) == {1: [(0, 10)], 2: [(0, 13)], 3: [(10, 18)], 4: fourth, 5: fifth}
    assert works(result)[5] == [0, 4][-len(fifth) :]


def test_venturing_backfill_plans_the_start_of_the_head() -> None:
    assert column(venture(), "reserved")[2] == 12


def test_a_preempt_plugin_sees_what_a_run_has_done_since_its_last_checkpoint() -> None:
    """Job 3 begins at 3 and has written its first checkpoint at 8; at 12 it is asked to make room."""
    unsaved: dict[float, float] = {}

    class Noting:
        name: ClassVar[str] = "preempt/noting"

        @hookimpl
        def preempt_candidates(self, view: PreemptView) -> list[Run]:
            runs = [run for run in view.running if run.job.id == 3]
            for held in runs:
                unsaved[view.now] = view.unsaved(held)
            return runs

    venture([*JOBS[:2], (3, 3, 1, 20, 30)], mode=INTERVAL, preempt="preempt/noting", plugins=[Noting])
    assert unsaved == {12: 4}


@BOTH_PASSES
def test_a_return_alone_is_followed_by_a_pass(passes: str) -> None:
    jobs = [*RETURNING[:1], (2, 0, 1, 12, 40), *RETURNING[2:4]]
    result = venture(jobs, 7, JUST_IN_TIME, passes=passes, plugins=[Looking])
    assert spans(result)[4] == [(2, 10), (13, 16)]
    assert 13 in waiting_at(result)


def test_a_preempted_job_that_starts_in_its_turn_is_no_longer_backfilled() -> None:
    """Job 3 is backfilled at 2, sent back at 10, and at 15 the head."""
    result = venture(plugins=[Looking])
    assert result.records.runs["backfilled"].tolist() == [False, True, False, False]
    assert not result.records.jobs["backfilled"].any()
    backfilled = result.plugins["observer/looking"].backfilled
    assert [backfilled[time] for time in (2, 10, 15)] == [[3], [], []]


@BOTH_PASSES
def test_a_returned_job_starts_where_nothing_else_has_changed(passes: str) -> None:
    """The pass of 12 saw all changes until then; at 13 there is nothing but the return."""
    jobs = [*RETURNING[:1], (2, 0, 1, 12, 40), *RETURNING[2:4], (6, 11, 7, 1, 1)]
    assert spans(venture(jobs, 7, JUST_IN_TIME, passes=passes))[4] == [(2, 10), (13, 16)]


@BOTH_PASSES
def test_a_start_that_waits_for_a_checkpoint_is_a_change(passes: str) -> None:
    """Jobs 2 and 3 start at 5 on processors on which a checkpoint is written until 8, and end later than planned."""
    seen: dict[float, bool] = {}

    class Delaying:
        name: ClassVar[str] = "sched/delaying"

        @hookimpl
        def schedule(self, view: SchedulingView) -> Generator[Decision, bool, None]:
            seen.setdefault(view.now, view.changed)
            for held in view.running:
                if view.now == 4:
                    yield Preempt(held.job)
            for job in list(view.queue):
                if job.processors <= view.free and not 4 <= view.now < 5:
                    yield Start(job)

    jobs = [(1, 0, 2, 10, 10), (2, 5, 1, 1, 1), (3, 4, 1, 1, 1), (4, 4.5, 2, 1, 1), (5, 5.5, 2, 1, 1), (6, 6, 2, 1, 1)]
    mode = Preemption(mode="CHECKPOINT", checkpoint="jit", cost=4, restart_cost=0)
    run(jobs, 2, scheduler="sched/delaying", plugins=[Delaying], preemption=mode, passes=passes)
    assert [seen[time] for time in (4.5, 5, 5.5, 6)] == [True, False, True, False]


def test_a_checkpoint_that_takes_no_time_is_written_at_once() -> None:
    mode = Preemption(mode="CHECKPOINT", checkpoint="jit", cost=0)
    assert spans(venture(mode=mode)) == {1: [(0, 10)], 2: [(10, 15)], 3: [(2, 10), (15, 27)]}
    assert "return" not in [event for _, event, _ in happenings(JOBS, 4, preemption=mode, **VENTURE)]


# SUSPEND


def test_a_suspended_job_goes_on_where_it_stopped() -> None:
    # 3 has had 8.5 s of its 21; the cost is paid when it goes on.
    result = venture(mode=SUSPEND)
    assert spans(result) == {1: [(0, 10.5)], 2: [(10.5, 15.75)], 3: [(2, 10.5), (15.75, 30.25)]}
    assert works(result) == {1: [10], 2: [5], 3: [8.095238, 11.904762]}


def test_all_runs_are_slower_and_those_that_resume_pay() -> None:
    mode = Suspend(0.5, 6)
    # Three microseconds on the machine are two of work, so work is counted in thirds.
    assert mode.parts == 3
    assert [mode.span(0, 3 * left, False) for left in (0, 10)] == [0, 15]
    assert [mode.span(0, 3 * left, True) for left in (0, 10)] == [6, 21]
    assert [mode.kept(0, 300, elapsed, False) for elapsed in (0, 15, 30)] == [0, 30, 60]
    assert [mode.kept(0, 300, elapsed, True) for elapsed in (0, 5, 6, 21)] == [0, 0, 0, 30]
    assert mode.away(0) == 0


def test_half_a_microsecond_is_rounded_up_however_often_a_job_is_suspended() -> None:
    for cuts in ([], [1], [1, 2, 3]):
        made = progress([(1, 0, 1, 0.00001, 30)], Preemption(mode="SUSPEND", slowdown=0.05, cost=0))
        for elapsed in cuts:
            made.preempt(0, elapsed)
        assert made.duration[0] == 11 - sum(cuts)  # 10.5


def test_who_is_suspended_at_once_pays_all_the_same() -> None:
    made = progress([(1, 0, 1, 10, 30)], SUSPEND)
    assert made.preempt(0, 0) == (0, 0)
    assert made.duration[0] == 12_500_000


@pytest.mark.parametrize("slowdown", [0, 0.05, 1 / 3, 0.1234567, 2])
def test_work_is_conserved_over_many_suspensions(slowdown: float) -> None:
    mode = Preemption(mode="SUSPEND", slowdown=slowdown, cost=0.5)
    made = progress([(1, 0, 1, 1000.000001, 2000)], mode)
    draw = np.random.default_rng(1)
    lasted, kept, runs = 0, 0, 0
    while made.duration[0] > 700_000:
        elapsed = int(draw.integers(0, 1_200_000))
        elapsed = min(elapsed, made.duration[0])
        added, _ = made.preempt(0, elapsed)
        assert added >= 0
        lasted, kept, runs = lasted + elapsed, kept + added, runs + 1
        # What is left, is what was not done: exactly in work, to half a microsecond in time.
        assert abs(made.duration[0] - 500_000 - (1_000_000_001 - kept) * (1 + slowdown)) <= 1 + slowdown
    assert runs > 1000
    assert kept <= 1_000_000_001
    paid = 500_000 * runs
    assert lasted + made.duration[0] <= 1_000_000_001 * (1 + slowdown) + paid + runs


def test_the_runs_of_a_job_add_up_to_its_work() -> None:
    jobs: list[JobRow] = [(1, 0, 2, 100 / 3, 40)]
    jobs += [(91 + place, 0.7 * place + 0.1234567, 1, 0.01, 1) for place in range(40)]
    for mode in (SUSPEND, Preemption(mode="SUSPEND", slowdown=1 / 7, cost=0.1)):
        result = venture(jobs, 2, mode, **URGENT)
        assert column(result, "requeues")[1] == 40
        assert sum(works(result)[1]) == pytest.approx(100 / 3, abs=1e-6)
        assert min(works(result)[1]) >= 0


def test_a_run_that_is_suspended_as_it_ends_has_nothing_left() -> None:
    made = progress([(1, 0, 1, 1e-6, 1), (2, 0, 1, 7e-6, 1)], Preemption(mode="SUSPEND", slowdown=0.6, cost=0))
    assert made.duration == [2, 11]
    # 2 / 1.6 is more than there was to do.
    assert made.preempt(0, 2) == (1, 0)
    assert made.preempt(1, 11) == (7, 0)
    assert made.duration == [0, 0]


# Limits


@pytest.mark.parametrize("mode", [INTERVAL, SUSPEND, JUST_IN_TIME], ids=["interval", "suspend", "jit"])
def test_the_limit_is_for_a_jobs_own_work(mode: Preemption) -> None:
    lasts = {INTERVAL: 12, SUSPEND: 10.5, JUST_IN_TIME: 10}[mode]
    within, beyond = [(1, 0, 1, 10, 10)], [(1, 0, 1, 10.000001, 10)]
    assert (times(venture(within, 1, mode)), times(venture(beyond, 1, mode))) == ({1: (0, lasts)}, {1: (0, lasts)})
    assert column(venture(within, 1, mode), "state") == {1: "COMPLETED"}
    assert column(venture(beyond, 1, mode), "state") == {1: "TIMEOUT"}
    assert works(venture(beyond, 1, mode)) == {1: [10]}


@BOTH_PASSES
def test_a_job_that_was_preempted_is_killed_when_all_its_runs_have_used_its_limit(passes: str) -> None:
    jobs = [*JOBS[:2], (3, 2, 1, 99, 20)]
    for mode, end in {INTERVAL: 32, READING: 35, JUST_IN_TIME: 32, SUSPEND: 30.25}.items():
        result = venture(jobs, mode=mode, passes=passes)
        assert (times(result)[3][1], column(result, "state")[3]) == (end, "TIMEOUT")
    spared = venture(jobs, mode=READING, passes=passes, kill_at_limit=False)
    # 91 s are left, with 22 checkpoints.
    assert (times(spared)[3], column(spared, "state")[3]) == ((18, 18 + 3 + 91 + 22), "COMPLETED")


# What is planned


def planned(mode: Preemption, answer: Plan | None = None) -> dict[float, tuple[float, ...]]:
    """What is planned for job 3 while it waits: for the queue, waiting, running, and at most."""

    class Planning:
        name: ClassVar[str] = "walltime/planning"

        @hookimpl
        def walltime_submit(self, view: WalltimeView) -> Plan | None:
            return answer if view.job.id == 3 else None

    plugins = [Planning, Looking]
    result = venture([*JOBS, (4, 3, 4, 1, 9)], mode=mode, plugins=plugins, walltime="walltime/planning")
    return {now: jobs[3] for now, jobs in result.plugins["observer/looking"].planned.items() if 3 in jobs}


@pytest.mark.parametrize(
    ("mode", "seen"),
    [
        # 8 of 30 s are saved by 12; with a checkpoint after each 4 s, none at the end.
        (INTERVAL, {12: 22 + 5}),
        (READING, {12: 3 + 22 + 5}),
        # By 10, and written by 13.
        (JUST_IN_TIME, {13: 2 + 22}),
        # 8.5 of 31.5 s by 10.5.
        (SUSPEND, {10.5: 2 + 23}),
        (Preemption(), {10: 30}),
    ],
    ids=["interval", "reading", "jit", "suspend", "requeue"],
)
def test_a_job_that_goes_on_is_planned_with_what_is_left_and_its_overhead(
    mode: Preemption, seen: dict[float, float]
) -> None:
    assert planned(mode) == {now: pytest.approx((seconds,) * 4, abs=1e-6) for now, seconds in seen.items()}


def test_each_plan_for_itself_and_a_second_at_least() -> None:
    plan = Plan(20, 8.5, 15)
    assert planned(READING, plan) == {12: (3 + 12 + 2, 3 + 1, 3 + 7 + 1, 3 + 22 + 5)}
    assert planned(JUST_IN_TIME, plan) == {13: (2 + 12, 2 + 1, 2 + 7, 2 + 22)}
    assert planned(SUSPEND, Plan(20, 8.1, 8.5 / 1.05 + 1)) == {
        10.5: pytest.approx((2 + 12.5, 2 + 1.05, 2 + 1.05, 2 + 23), abs=1e-6)
    }
    assert planned(Preemption(), plan) == {10: (20, 8.5, 15, 30)}


def test_who_saved_nothing_may_be_planned_for_less_than_a_second() -> None:
    jobs = [*JOBS[:2], (3, 8, 1, 20, 30), (4, 9, 4, 1, 9)]
    options: dict[str, Any] = {"plugins": [Looking], "predicted": {3: 0.25}, "walltime": "walltime/given"}
    result = venture(jobs, mode=READING, **options)
    assert result.plugins["observer/looking"].planned[12][3] == (0.25, 0.25, 0.25, 30 + 7)


def test_a_job_that_never_ran_is_planned_with_its_overhead() -> None:
    for mode, seconds in {INTERVAL: 9 + 2, SUSPEND: 9.45, JUST_IN_TIME: 9, Preemption(): 9}.items():
        result = venture(mode=mode, plugins=[Looking])
        assert result.plugins["observer/looking"].planned[1][2] == (seconds,) * 4
        assert column(result, "planned") == {1: 12, 2: 9, 3: 30}


@pytest.mark.parametrize("walltime", ["walltime/none", "walltime/given"])
def test_priorities_are_set_with_the_overhead(walltime: str) -> None:
    # With a checkpoint of 10 s after each 10 s, 10 s take 10, 11 take 21, and 21 take 41.
    mode = Preemption(mode="CHECKPOINT", interval=10, cost=10)
    asked: dict[int, float] = {}

    class Asking:
        name: ClassVar[str] = "priority/asking"

        @hookimpl
        def priority_set(self, view: PriorityView) -> list[float]:
            asked.update((job.id, job.planned_queue) for job in view.to_set)
            return [-job.planned_queue for job in view.to_set]

    jobs = [(1, 0, 1, 10, 10), (2, 0, 1, 21, 21), (3, 0, 1, 11, 11)]
    options: dict[str, Any] = {"walltime": walltime, "predicted": {3: 10}, "plugins": [Asking]}
    result = venture(jobs, 1, mode, priority="priority/asking", **options)
    assert asked == {1: 10, 2: 41, 3: 21 if walltime == "walltime/none" else 10}
    assert starts(result) == {1: 0, 3: 10, 2: 31}


def test_schedulers_plan_runs_with_their_overhead() -> None:
    # 1 of 10 s is to end at 12: then there is time for 3, of 9 and 2 s, from 1 on, and not for 10 and 2.
    jobs = [(1, 0, 3, 10, 10), (2, 1, 4, 5, 5)]
    fits, too_long = ([*jobs, (3, 1, 1, 4, limit)] for limit in (9, 10))
    assert starts(run(fits, 4, preemption=INTERVAL))[3] == 1
    assert starts(run(too_long, 4, preemption=INTERVAL))[3] == 18
    assert [line["start"] for line in events(jobs, 4, preemption=INTERVAL) if line["event"] == "reserve"] == [12]


def test_what_costs_nothing_is_planned_to_the_last_bit() -> None:
    made = progress([(1, 0, 1, 10, 50)], Preemption(mode="CHECKPOINT", interval=100, cost=1))
    numbers = [0.1 + 0.2, 1 / 3, 1.1, 2.3, 49.9999999, *np.random.default_rng(0).uniform(0, 50, 1000).tolist()]
    assert [made.wall(0, seconds) for seconds in numbers] == numbers


# Planned ends that have passed


def later(expired: Overdue, planned: float, longest: float, now: float, began: float = 1000) -> float:
    """When a run is planned to end that was planned for so long and is not over; in seconds."""
    start = instant(began)
    return expired(start, start + instant(planned), instant(longest), instant(now)) / MICROSECONDS


def test_corrections_grow() -> None:
    ends = [1100.0]
    while len(ends) < 13:
        ends.append(later(corrected, 100, 10**9, ends[-1]))
    steps = np.diff(ends)
    # One minute, 5, 15, 30; 1 h, 2, 5, 10, 20, 50, 100; then whatever it may take.
    assert steps[:4].tolist() == [60, 300, 900, 1800]
    assert (steps[4:11] / 3600).tolist() == [1, 2, 5, 10, 20, 50, 100]
    assert ends[12] == 1000 + 10**9
    assert later(corrected, 100, 10**9, 1100.5) == 1160
    assert later(corrected, 100, 10**9, 1159.999) == 1160
    assert later(corrected, 100, 10**9, 1160) == 1460


def test_corrections_end_at_the_limit() -> None:
    assert [later(corrected, 100, 200, now) for now in (1100, 1160, 1500)] == [1160, 1200, 1200]


def test_the_limit_and_now() -> None:
    assert [later(at_limit, 100, 200, now) for now in (1100, 1300)] == [1200, 1200]
    assert [later(at_once, 100, 200, now) for now in (1100, 1300)] == [1100, 1100]


def test_the_limit_once_more() -> None:
    ends = {1100: 1200, 1199: 1200, 1200: 1400, 1300: 1400, 1400: 1600, 1999: 2000}
    assert {now: later(renewed, 100, 200, now) for now in ends} == ends


def test_a_plan_that_ends_just_now_has_passed() -> None:
    # As floats, 0.1 goes only twice into 1000.3 - 1000, and 1000.1 + 0.2 + 60 is more than 1060.3.
    assert later(renewed, 0.1, 0.1, 1000.3) == 1000.4
    assert later(corrected, 0.2, 10**6, 1060.3, began=1000.1) == 1360.3


@pytest.mark.parametrize(
    ("expired", "submit", "longest"),
    [
        # 1 is planned until 40. What can be backfilled is what ends by what replaces that.
        ("limit", 39, 1),
        ("limit", 50, 950),
        ("limit", 101, 899),
        ("again", 50, 950),
        ("now", 39, 1),
        ("now", 50, 0),
        ("now", 101, 0),
        ("tsafrir", 39, 1),
        # 40 + 60, + 300, + 900; at 400 that of 400 has passed, and 1300 is beyond the limit.
        ("tsafrir", 50, 50),
        ("tsafrir", 100, 300),
        ("tsafrir", 101, 299),
        ("tsafrir", 400, 600),
    ],
)
@BOTH_PASSES
def test_what_a_run_that_outlives_its_plan_leaves_to_others(
    expired: str, submit: float, longest: float, passes: str
) -> None:
    options: dict[str, Any] = {"expired": expired, "passes": passes, "walltime": "walltime/given", "predicted": {1: 40}}
    jobs = [(1, 0, 3, 990, 1000), (2, 1, 4, 5, 5)]
    for limit, starts_at in {longest: submit, longest + 1: 995}.items():
        if limit:
            assert starts(run([*jobs, (3, submit, 1, 1, limit)], 4, **options))[3] == starts_at


@BOTH_PASSES
@pytest.mark.parametrize(("submit", "longest"), [(30, 30), (40, 20), (59, 1), (60, 30), (70, 20)])
def test_a_run_beyond_its_limit_may_be_planned_with_another_one(submit: float, longest: float, passes: str) -> None:
    options: dict[str, Any] = {"expired": "again", "kill_at_limit": False, "passes": passes}
    jobs = [(1, 0, 3, 95, 30), (2, 1, 4, 5, 5)]
    for limit, starts_at in {longest: submit, longest + 1: 100}.items():
        assert starts(run([*jobs, (3, submit, 1, 1, limit)], 4, **options))[3] == starts_at


@pytest.mark.parametrize("expired", ["limit", "now", "tsafrir"])
def test_a_run_beyond_its_limit_may_end_at_any_time(expired: str) -> None:
    jobs = [(1, 0, 3, 90, 30), (2, 1, 4, 5, 5), (3, 40, 1, 1, 1)]
    options: dict[str, Any] = {"expired": expired, "kill_at_limit": False}
    assert starts(run(jobs, 4, **options)) == {1: 0, 2: 90, 3: 95}


# The event log, and what is left of a run that broke off


def test_the_event_log_says_when_a_job_left_and_when_it_waits_again() -> None:
    assert happenings(JOBS, 4, preemption=JUST_IN_TIME, **VENTURE) == [
        (0, "submit", 1),
        (0, "start", 1),
        (1, "submit", 2),
        (2, "submit", 3),
        (2, "start", 3),
        (10, "end", 1),
        (10, "requeue", 3),
        (10, "start", 2),
        (13, "return", 3),
        (18, "end", 2),
        (18, "start", 3),
        (32, "end", 3),
    ]
    requeue = next(line for line in events(JOBS, 4, preemption=JUST_IN_TIME, **VENTURE) if line["event"] == "requeue")
    assert requeue == {"time": 10, "event": "requeue", "job": 3, "preemptor": 2}


class Failing:
    """Fails when a certain job is submitted."""

    name: ClassVar[str] = "observer/failing"

    @hookimpl
    def job_submitted(self, now: float) -> None:
        if now > 10:
            raise RuntimeError("no more")


def broken_off(folder: Path, mode: Preemption, now: float) -> tuple[dict[str, Any], dict[str, Any], list[Any]]:
    jobs = [*JOBS, (4, now, 1, 1, 1), (5, 50, 1, 1, 1)]
    failing(jobs, 4, preemption=mode, plugins=[Failing], out=folder, **VENTURE)
    records = read_run(folder).records
    log = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
    return dict(records.jobs), dict(records.runs), [(line["time"], line["event"], line["job"]) for line in log]


def plain(columns: dict[str, Any], *names: str) -> list[tuple[Any, ...]]:
    return [
        tuple(None if value != value else value for value in row)
        for row in zip(*(columns[name].tolist() for name in names), strict=True)
    ]


def test_a_run_that_broke_off_while_a_checkpoint_was_being_written_is_whole(tmp_path: Path) -> None:
    jobs, runs, log = broken_off(tmp_path, JUST_IN_TIME, 12)
    assert plain(jobs, "job_id", "state", "first_start", "start", "end", "requeues", "occupied") == [
        (1, "COMPLETED", 0, 0, 10, 0, 10),
        (2, "RUNNING", 10, 10, None, 0, 0),
        (3, "REQUEUED", 2, 2, None, 1, 8),
        (4, "PENDING", None, None, None, 0, 0),
        (5, "FUTURE", None, None, None, 0, 0),
    ]
    assert plain(runs, "job_id", "run", "start", "end", "outcome", "work") == [
        (1, 1, 0, 10, "COMPLETED", 10),
        (3, 1, 2, 10, "PREEMPTED", 8),
        (2, 1, 10, None, "RUNNING", None),
    ]
    assert log[-3:] == [(10, "requeue", 3), (10, "start", 2), (12, "submit", 4)]


def test_a_run_that_broke_off_when_the_job_had_returned_is_whole(tmp_path: Path) -> None:
    jobs, runs, log = broken_off(tmp_path, JUST_IN_TIME, 14)
    assert plain(jobs, "job_id", "state")[2] == (3, "PENDING")
    assert plain(runs, "job_id", "outcome", "work") == [(1, "COMPLETED", 10), (3, "PREEMPTED", 8), (2, "RUNNING", None)]
    assert [entry for entry in log if entry[1] != "reserve"][-2:] == [(13, "return", 3), (14, "submit", 4)]


def test_a_run_that_broke_off_when_the_job_went_on_is_whole(tmp_path: Path) -> None:
    jobs, runs, _ = broken_off(tmp_path, JUST_IN_TIME, 19)
    assert plain(jobs, "job_id", "state", "start", "end", "occupied")[2] == (3, "RUNNING", 18, None, 8)
    assert plain(runs, "job_id", "run", "start", "end", "outcome", "work")[2:] == [
        (2, 1, 10, 18, "COMPLETED", 5),
        (3, 2, 18, None, "RUNNING", None),
    ]


@pytest.mark.parametrize(
    "mode", [Preemption(), READING, JUST_IN_TIME, SUSPEND], ids=["requeue", "interval", "jit", "vm"]
)
def test_what_made_a_run_is_in_its_folder(tmp_path: Path, mode: Preemption) -> None:
    venture(mode=mode, expired="tsafrir", seed=7, out=tmp_path)
    about = read_run(tmp_path).about
    assert Preemption(**about["preemption"]) == mode
    assert (about["simulation"]["expired"], about["simulation"]["seed"]) == ("tsafrir", 7)


# Who is told


def test_observers_see_a_job_that_is_away_as_requeued_once() -> None:
    told: list[tuple[str, float, int]] = []

    class Listening:
        name: ClassVar[str] = "observer/listening"

        @hookimpl
        def job_requeued(self, run: Run, now: float) -> None:
            told.append(("requeued", now, run.job.id))

        @hookimpl
        def job_submitted(self, now: float, job: Any) -> None:
            told.append(("submitted", now, job.id))

    venture(mode=JUST_IN_TIME, plugins=[Listening])
    assert told == [("submitted", 0, 1), ("submitted", 1, 2), ("submitted", 2, 3), ("requeued", 10, 3)]
