"""Worked schedules of PV-EASY and its options; and the reference against itself."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.config.preemption import Preemption

from .cluster import JobRow, Passes
from .drawing import RESTART, Case, Modes, Variant, in_floats, runs_of
from .easy import backfilling, easy
from .last_model import last_model
from .preemptible import Checkpoint, Expired, Mode, Order, Restart, Stays, Suspend, simulate
from .preemptible import given as given_predictions
from .pv_easy import pv_easy
from .test_references import golden_cases

BOTH_PASSES = pytest.mark.parametrize("passes", ["batch", "event"])


def mode_of(case: dict[str, Any]) -> Mode | None:
    """What preemption does in a worked case; None for one of another policy."""
    if case["policy"] == "cp_pv_easy":
        return Checkpoint(case["interval"], case["cost"])
    if case["policy"] == "vm_pv_easy":
        return Suspend(Fraction(str(case["slowdown"])), case["cost"])
    return Restart() if case["policy"] == "pv_easy" else None


def spans(stays: Stays) -> dict[int, list[list[float]]]:
    """Start and end of every run of each job, by id."""
    return {id: [[float(stay.start), float(stay.end)] for stay in runs] for id, runs in stays.items()}


@pytest.mark.parametrize("case", golden_cases("golden", covered=mode_of))
def test_worked_case(case: dict[str, Any]) -> None:
    jobs = [(id, *row[:4]) for id, row in case["jobs"].items()]
    predictions = {id: row[4] for id, row in case["jobs"].items()}
    stays = pv_easy(jobs, case["procs"], predictions=predictions, mode=mode_of(case))
    assert spans(stays) == case["runs"]
    assert {id: len(runs) - 1 for id, runs in stays.items() if len(runs) > 1} == case["kills"]


def worked(
    jobs: list[JobRow],
    processors: int,
    variant: Variant | None = None,
    of_both: Modes = RESTART,
    predicted: dict[int, float] | None = None,
) -> dict[int, list[list[float]]]:
    """Start and end of every run, as the reference and the emulator both say."""
    variant, predicted = variant or Variant(), predicted or {}
    stays = pv_easy(jobs, processors, predictions=predicted, mode=of_both[0], **variant.of_reference())
    case = Case(processors, 1, jobs, predicted, {id: 1 for id, *_ in jobs})
    assert runs_of(case.emulated(preemption=of_both[1], **variant.of_emulator())) == in_floats(stays)
    return spans(stays)


def test_trimmed_preemption_spares_whom_it_does_not_need() -> None:
    jobs = [(0, 0, 2, 10, 10), (1, 1, 5, 5, 5), (2, 2, 3, 30, 30), (3, 3, 1, 30, 30)]
    literal = {0: [[0, 10]], 1: [[10, 15]], 2: [[2, 10], [15, 45]], 3: [[3, 10], [10, 40]]}
    assert worked(jobs, 6) == literal
    trimmed = literal | {3: [[3, 33]]}
    assert worked(jobs, 6, Variant(trim=True)) == trimmed


def test_one_head_a_pass_may_be_let_in_by_preemption() -> None:
    jobs = [(0, 0, 4, 10, 10), (1, 1, 5, 5, 5), (2, 1, 3, 5, 5), (3, 1, 2, 30, 30), (4, 1, 2, 30, 30)]
    too_short: dict[int, float] = {3: 3, 4: 3}
    both = {0: [[0, 10]], 1: [[10, 15]], 2: [[10, 15]], 3: [[1, 10], [15, 45]], 4: [[1, 10], [15, 45]]}
    assert worked(jobs, 8, predicted=too_short) == both
    one = {0: [[0, 10]], 1: [[10, 15]], 2: [[15, 20]], 3: [[1, 31]], 4: [[1, 10], [15, 45]]}
    assert worked(jobs, 8, Variant(single_head=True), predicted=too_short) == one


def test_what_the_head_leaves_over_goes_to_the_shortest() -> None:
    jobs = [(0, 0, 3, 10, 10), (1, 1, 4, 5, 5), (2, 2, 2, 20, 20), (3, 2, 2, 15, 15)]
    assert worked(jobs, 6) == {0: [[0, 10]], 1: [[10, 15]], 2: [[2, 22]], 3: [[15, 30]]}
    by_length = {0: [[0, 10]], 1: [[10, 15]], 2: [[10, 30]], 3: [[2, 10], [15, 30]]}
    assert worked(jobs, 6, Variant(extra=True)) == by_length


def test_who_started_as_the_head_may_be_pinned() -> None:
    jobs = [(1, 0, 2, 9, 9), (2, 1, 2, 3, 3)]
    assert worked(jobs, 2, Variant(order="sjf")) == {1: [[0, 1], [4, 13]], 2: [[1, 4]]}
    assert worked(jobs, 2, Variant(order="sjf", pin_regular=True)) == {1: [[0, 9]], 2: [[9, 12]]}


@pytest.mark.parametrize(
    ("expired", "shorter", "first"),
    [("limit", 50, 4), ("limit", 51, 4), ("tsafrir", 50, 4), ("tsafrir", 51, 3), ("now", 50, 3)],
)
def test_what_takes_the_place_of_an_expired_plan(expired: Expired, shorter: int, first: int) -> None:
    """Job 1 was planned until 40. At 50 the head is thought to start at 400, at 40 + 60, or at once."""
    jobs = [(1, 0, 3, 300, 400), (2, 1, 4, 5, 5), (3, 50, 1, 60, 60), (4, 50, 1, shorter, shorter)]
    assert worked(jobs, 4, Variant(expired=expired), predicted={1: 40})[first][0][0] == 50


def test_checkpoints_are_kept_and_read_again() -> None:
    """8 s of 20 are saved at 14, when two checkpoints have been taken; 12 s are left, with two more."""
    jobs = [(0, 0, 3, 12, 12), (1, 1, 4, 5, 5), (2, 2, 1, 20, 20)]
    words = {"interval": 4, "cost": 1, "restart_cost": 3}
    modes = Checkpoint(**words), Preemption(mode="CHECKPOINT", **words)
    assert worked(jobs, 4, of_both=modes) == {0: [[0, 14]], 1: [[14, 20]], 2: [[2, 14], [20, 37]]}


def test_a_checkpoint_finished_just_then_counts() -> None:
    """Job 2 writes its second one from 8 to 9."""
    jobs = [(0, 0, 3, 7, 7), (1, 0, 4, 4, 4), (2, 1, 1, 8, 8)]
    modes = Checkpoint(3, 1), Preemption(mode="CHECKPOINT", interval=3, cost=1)
    assert worked(jobs, 4, of_both=modes) == {0: [[0, 9]], 1: [[9, 14]], 2: [[1, 9], [14, 16]]}


def test_who_resumes_pays_and_goes_on_slower() -> None:
    jobs = [(0, 0, 3, 5, 5), (1, 0, 4, 5, 5), (2, 0, 1, 10, 10)]
    modes = Suspend(slowdown=1, cost=3), Preemption(mode="SUSPEND", slowdown=1, cost=3)
    assert worked(jobs, 4, of_both=modes) == {0: [[0, 10]], 1: [[10, 20]], 2: [[0, 10], [20, 33]]}


PROCESSORS = 5
TIMES = st.integers(0, 12)
JOBS = st.lists(st.tuples(TIMES, st.integers(1, PROCESSORS), TIMES, st.integers(1, 12)), max_size=9).map(
    lambda rows: [(id, *row) for id, row in enumerate(rows, start=1)]
)
PASSES = st.sampled_from(["batch", "event"])
PREDICTIONS = st.dictionaries(st.integers(1, 9), st.integers(1, 12))
PRICES = st.integers(0, 3)
MODES = st.one_of(
    st.just(Restart()),
    st.builds(Checkpoint, interval=st.integers(1, 6), cost=PRICES, restart_cost=PRICES),
    st.builds(Suspend, slowdown=st.sampled_from([Fraction(0), Fraction(1, 20), Fraction(1)]), cost=PRICES),
)
EXPIRED = st.sampled_from(["limit", "now", "tsafrir"])
ORDERS = st.sampled_from(["fcfs", "sjf"])


@given(
    JOBS, PASSES, st.booleans(), PREDICTIONS, MODES, EXPIRED, ORDERS, st.lists(st.booleans(), min_size=4, max_size=4)
)
def test_the_machine_is_never_overfull_and_work_is_neither_lost_nor_invented(
    jobs: list[JobRow],
    passes: Passes,
    kill: bool,
    predictions: dict[int, float],
    mode: Mode,
    expired: Expired,
    order: Order,
    switches: list[bool],
) -> None:
    trim, single_head, extra, pin_regular = switches
    stays = pv_easy(
        jobs,
        PROCESSORS,
        passes=passes,
        kill_at_limit=kill,
        predictions=predictions,
        mode=mode,
        expired=expired,
        order=order,
        trim=trim,
        single_head=single_head,
        extra=extra,
        pin_regular=pin_regular,
    )
    assert stays.keys() == {id for id, *_ in jobs}
    for id, submit, _, run, limit in jobs:
        assert stays[id][0].start >= submit
        assert all(before.end <= after.start for before, after in pairwise(stays[id]))
        assert [stay.outcome for stay in stays[id]][:-1] == ["PREEMPTED"] * (len(stays[id]) - 1)
        assert stays[id][-1].outcome == ("TIMEOUT" if kill and run > limit else "COMPLETED")
        if isinstance(mode, Restart):
            assert stays[id][-1].end - stays[id][-1].start == (min(run, limit) if kill else run)
    for moment in {stay.start for runs in stays.values() for stay in runs}:
        taken = [row[2] for row in jobs if any(stay.start <= moment < stay.end for stay in stays[row[0]])]
        assert sum(taken) <= PROCESSORS


@BOTH_PASSES
@given(JOBS, st.booleans(), PREDICTIONS, st.sampled_from(["recompute", "sticky"]))
def test_without_preemption_both_clusters_agree(
    passes: Passes, jobs: list[JobRow], kill: bool, predictions: dict[int, float], reserve: Any
) -> None:
    stays = simulate(
        jobs,
        PROCESSORS,
        backfilling(reserve=reserve),
        passes=passes,
        kill_at_limit=kill,
        predict=given_predictions(predictions),
    )
    expected = easy(jobs, PROCESSORS, passes, "queue", kill, predictions, reserve)
    assert {id: (runs[-1].start, runs[-1].end) for id, runs in stays.items()} == expected


def test_the_next_job_is_as_far_from_its_limit_as_the_last_one() -> None:
    """Job 2 is planned for 4 s and job 3, of another user, for its limit."""
    jobs = [(1, 0, 2, 5, 10), (4, 1, 1, 20, 20), (5, 1, 2, 5, 5), (2, 6, 1, 8, 8), (3, 6, 1, 8, 8)]
    predict = last_model({1: "a", 2: "a", 3: "b", 4: "c", 5: "c"})
    seen = {}

    def asking(job: Any, cluster: Any) -> float:
        seen[job.id] = predict(job, cluster)
        return seen[job.id]

    simulate(jobs, 4, backfilling(), predict=asking)
    assert seen == {1: 10, 4: 20, 5: 5, 2: 4, 3: 8}
