"""The emulator's EASY against the reference where predictions, reservations or runs are not plain."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders.jobs import run, times

from .drawing import Case, cases, in_floats, modes, with_limits_of_powers
from .easy import backfilling, easy
from .last_model import last_model
from .preemptible import given as given_predictions
from .preemptible import simulate

STICKY = {"sched/easy": {"reservation": "sticky"}}
PASSES = st.sampled_from(["batch", "event"])


@settings(max_examples=60)
@given(case=cases(), passes=PASSES, kill_at_limit=st.booleans())
def test_a_sticky_reservation(case: Case, passes: Any, kill_at_limit: bool) -> None:
    expected = easy(case.jobs, case.processors, passes, "queue", kill_at_limit, case.predicted, "sticky")
    result = case.emulated(passes=passes, kill_at_limit=kill_at_limit, plugin_options=STICKY)
    assert times(result) == expected


def test_a_sticky_reservation_is_never_earlier_than_the_first_one() -> None:
    """Job 4 was to start at 20; at 12, job 1 being late, at 30; from 15 on at 20 again, so that job 5 has to wait."""
    jobs = [(1, 0, 1, 15, 30), (2, 0, 1, 20, 20), (3, 0, 1, 12, 12), (4, 1, 4, 5, 5), (5, 16, 1, 10, 10)]
    expected = {1: (0, 15), 2: (0, 20), 3: (0, 12), 4: (20, 25), 5: (25, 35)}
    late: dict[int, float] = {1: 10}
    assert easy(jobs, 4, predictions=late, reserve="sticky") == expected
    assert times(run(jobs, 4, predicted=late, walltime="walltime/given", plugin_options=STICKY)) == expected


def test_a_sticky_reservation_does_not_become_earlier() -> None:
    """Job 2 was to start at 20. Job 1 ends early, but job 4 may still use the time until 20."""
    jobs = [(1, 0, 2, 5, 20), (2, 1, 4, 5, 5), (3, 0, 1, 9, 9), (4, 6, 1, 12, 12)]
    early = {1: (0, 5), 3: (0, 9), 2: (9, 14), 4: (14, 26)}
    assert easy(jobs, 4) == early
    assert times(run(jobs, 4)) == early
    late = {1: (0, 5), 3: (0, 9), 4: (6, 18), 2: (18, 23)}
    assert easy(jobs, 4, reserve="sticky") == late
    assert times(run(jobs, 4, plugin_options=STICKY)) == late


@pytest.mark.parametrize("reservation", ["sticky", "ratchet"])
def test_the_promise_of_a_former_head_does_not_hold_for_the_next(reservation: str) -> None:
    """Job 2 was to start at 20 and starts at 9. Job 4 is to start at 14, so that job 5 has to wait."""
    jobs = [(1, 0, 2, 5, 20), (2, 1, 3, 5, 5), (3, 0, 2, 9, 9), (4, 6, 4, 5, 5), (5, 9, 1, 8, 8)]
    expected = {1: (0, 5), 3: (0, 9), 2: (9, 14), 4: (14, 19), 5: (19, 27)}
    assert easy(jobs, 4, reserve="sticky") == expected
    assert times(run(jobs, 4, plugin_options={"sched/easy": {"reservation": reservation}})) == expected


@pytest.mark.parametrize("last", ["finished", "submitted"])
@settings(max_examples=40)
@given(case=cases().map(with_limits_of_powers), passes=PASSES, kill_at_limit=st.booleans(), refresh=st.booleans())
def test_predictions_of_last_model(case: Case, last: Any, passes: Any, kill_at_limit: bool, refresh: bool) -> None:
    refresh = refresh and last == "finished"
    options = {"passes": passes, "kill_at_limit": kill_at_limit}
    predict = last_model(case.users, last)
    expected = simulate(case.exact, case.processors, backfilling(), predict=predict, refresh=refresh, **options)
    words = {"walltime/last_model": {"last": last, "refresh": "pass" if refresh else "submit"}}
    result = case.emulated(walltime="walltime/last_model", plugin_options=words, **options)
    assert times(result) == {id: of_job[-1][:2] for id, of_job in in_floats(expected).items()}


@settings(max_examples=60)
@given(
    case=cases(),
    passes=PASSES,
    kill_at_limit=st.booleans(),
    expired=st.sampled_from(["limit", "now", "tsafrir"]),
    data=st.data(),
)
def test_overhead_and_expired_plans(
    case: Case, passes: Any, kill_at_limit: bool, expired: Any, data: st.DataObject
) -> None:
    mode, preemption = data.draw(modes(case.unit))
    options = {"passes": passes, "kill_at_limit": kill_at_limit, "expired": expired}
    predict = given_predictions(case.predicted)
    expected = simulate(case.exact, case.processors, backfilling(), predict=predict, mode=mode, **options)
    result = case.emulated(preemption=preemption, **options)
    assert times(result) == {id: of_job[-1][:2] for id, of_job in in_floats(expected).items()}
