"""Submissions that are moved a little, and the band of what comes of them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.report.bands import Difference, bands, differences
from emulator.workload.jitter import Band, Jitter
from emulator.workload.request import JobRequest
from emulator.workload.workload import Workload
from slurm_sim_plugins.errors import ConfigurationError


@given(
    st.lists(st.tuples(st.floats(0, 1e5), st.sampled_from("ab")), min_size=1, max_size=30),
    st.floats(1e-3, 1e3),
    st.integers(1, 5),
)
def test_each_job_is_later_by_less_and_each_users_order_stays(
    jobs: list[tuple[float, str]], seconds: float, repeat: int
) -> None:
    jobs.sort()
    before, users = [at for at, _ in jobs], [user for _, user in jobs]
    after = Jitter(seconds).times(before, users, repeat)
    assert all(old <= new <= old + seconds for old, new in zip(before, after, strict=True))
    for user in "ab":
        mine = [at for at, whose in zip(after, users, strict=True) if whose == user]
        assert mine == sorted(mine)


def test_repeats_and_seeds_differ_and_are_the_same_again() -> None:
    def drawn(seed: int, repeat: int) -> list[float]:
        return Jitter(1, seed=seed).times([0, 5, 10], "abc", repeat).tolist()

    assert drawn(0, 1) == drawn(0, 1)
    assert len({tuple(drawn(seed, repeat)) for seed in (0, 1) for repeat in (1, 2)}) == 4


def test_submissions_and_logs_are_moved_alike() -> None:
    requests = [
        JobRequest(number, at, 10, user=user) for number, at, user in ((3, 9.0, "7"), (1, 0.0, "7"), (2, 8.5, "8"))
    ]
    workload = Workload.from_columns(
        {
            "id": [1, 2, 3],
            "submit": [0.0, 8.5, 9.0],
            "processors": [1] * 3,
            "run": [10.0] * 3,
            "time_limit": [60.0] * 3,
            "user": [7, 8, 7],
        },
        name="log",
    )
    moved, log = Jitter(2).requests(requests, 1), Jitter(2).workload(workload, 1)
    assert [(one.id, one.submit) for one in moved] == list(zip(log.id.tolist(), log.submit.tolist(), strict=True))
    assert (log.name, sorted(log.facts["user"].tolist())) == ("log", [7, 7, 8])
    assert not np.array_equal(log.submit, workload.submit)


@pytest.mark.parametrize(("seconds", "repeats"), [(0, 1), (math.inf, 1), (math.nan, 1), (1, 0)])
def test_a_jitter_that_says_nothing_is_refused(seconds: float, repeats: int) -> None:
    with pytest.raises(ConfigurationError, match="give more than 0 s, and 1 repeat or more"):
        Jitter(seconds, repeats)


def test_a_band_holds_what_lies_between() -> None:
    band = Band.of([3.0, -1.0, 2.0])
    assert (band, 0 in band, 4 in band) == (Band(-1, 3), True, False)
    unknown = Band.of([1.0, math.nan])
    assert 1 not in unknown
    assert bands({"a": 1.0}, [{"a": 4.0}, {"a": 2.0}]) == {"a": Band(1, 4)}


def test_a_difference_is_taken_run_by_run() -> None:
    first = {"old": {"wait": 10.0}, "new": {"wait": 8.0}}
    # Each policy's own wait varies by 90 s, and yet the new one is 2 to 3 s better in all runs.
    repeats = [{"old": {"wait": 100.0}, "new": {"wait": 97.0}}, {"old": {"wait": 50.0}, "new": {"wait": 48.0}}]
    found = differences(first, repeats)["new"]["wait"]
    assert (found, found.none) == (Difference(-2, Band(-3, -2)), False)
    repeats.append({"old": {"wait": 20.0}, "new": {"wait": 21.0}})
    assert differences(first, repeats)["new"]["wait"].none
