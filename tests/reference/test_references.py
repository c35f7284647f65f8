"""The references against worked schedules, and against published starts of a real log."""

from __future__ import annotations

import gzip
import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from .cluster import JobRow, Passes, Schedule
from .conservative import conservative
from .easy import easy
from .fcfs import fcfs

SHARED = Path(os.environ.get("SLURM_SIM_SHARED") or Path(__file__).resolve().parents[2].parent / "shared")
GOLDEN = SHARED / "spec" / "golden.yaml"
KTH = "KTH-SP2-1996-2.1-cln.swf.gz"

Policy = Callable[[list[JobRow], int], Schedule]
BOTH_PASSES = pytest.mark.parametrize("passes", ["batch", "event"])


def policies(predicted: dict[int, float]) -> dict[str, list[Policy]]:
    """The references that answer for each policy of the worked cases."""
    return {
        "fcfs": [fcfs],
        "sjf": [lambda jobs, processors: fcfs(jobs, processors, order="sjf")],
        "easy": [easy],
        "sjf_easy": [lambda jobs, processors: easy(jobs, processors, order="sjf")],
        "easy_last": [lambda jobs, processors: easy(jobs, processors, predictions=predicted)],
        "conservative": [conservative, lambda jobs, processors: conservative(jobs, processors, compress="never_later")],
    }


def covered(case: dict[str, Any]) -> bool:
    """Whether a reference answers for it; none adjusts the times of waiting jobs alone."""
    return "finish_easy" in case or (case.get("policy") in policies({}) and case.get("adjust") != "selective")


def golden_cases(block: str, covered: Callable[[dict[str, Any]], Any] = covered) -> list[Any]:
    """The worked cases of one block of the file, or one that says why it is skipped."""
    if not GOLDEN.is_file():
        reason = f"no worked cases at {GOLDEN}; set SLURM_SIM_SHARED to the folder that holds spec/golden.yaml"
        return [pytest.param({}, marks=pytest.mark.skip(reason=reason))]
    yaml = pytest.importorskip("yaml")
    return [pytest.param(case, id=case["id"]) for case in yaml.safe_load(GOLDEN.read_text())[block] if covered(case)]


@pytest.mark.parametrize("case", golden_cases("golden"))
def test_worked_case(case: dict[str, Any]) -> None:
    jobs = [(id, *row[:4]) for id, row in case["jobs"].items()]
    policy = "easy_last" if "adjust" in case else case["policy"]
    predicted = case.get("t_sched") or {id: row[4] for id, row in case["jobs"].items()}
    expected = {id: tuple(runs[-1]) for id, runs in case["runs"].items()}
    for reference in policies(predicted)[policy]:
        assert reference(jobs, case["procs"]) == expected


@pytest.mark.parametrize("case", golden_cases("golden_two_tier"))
def test_worked_case_of_easy_on_one_tier(case: dict[str, Any]) -> None:
    runs = case.get("run", {})
    jobs = [(id, 0, wanted, runs.get(id, limit), limit) for id, (wanted, limit) in case["jobs"].items()]
    ends = {id: end for id, (_, end) in easy(jobs, case["procs"]).items()}
    assert ends == case.get("finish_easy", case.get("finish"))


@pytest.mark.parametrize(("passes", "digest"), [("event", "9ec768965d782264"), ("batch", "efbf84f0e8910c16")])
def test_starts_of_a_real_log(traces: Path, passes: Passes, digest: str) -> None:
    file = next(traces.rglob(KTH), None)
    if file is None:
        pytest.skip(f"no {KTH} in {traces}")
    schedule = easy(cleaned(file, processors=100), 100, passes=passes)
    lines = "".join(f"{id} {start}\n" for id, (start, _) in sorted(schedule.items()))
    assert hashlib.sha256(lines.encode()).hexdigest()[:16] == digest


def cleaned(file: Path, processors: int) -> list[JobRow]:
    """Jobs of a log that ran and fit; without a request, or beyond it, request and run time are made equal."""
    jobs = []
    with gzip.open(file, "rt") as lines:
        rows = [[int(float(value)) for value in line.split()] for line in lines if not line.startswith(";")]
    for id, submit, _, run, wanted, _, _, _, request, *_ in filter(None, rows):
        if run > 0 and 0 < wanted <= processors:
            limit = request if request > 0 else run
            jobs.append((id, submit, wanted, min(run, limit), limit))
    return jobs


@BOTH_PASSES
def test_a_run_of_no_length_makes_room_at_once(passes: Passes) -> None:
    jobs = [(1, 0, 2, 0, 10), (2, 0, 2, 5, 10), (3, 0, 2, 0, 10)]
    expected = {1: (0, 0), 2: (0, 5), 3: (5, 5)}
    assert fcfs(jobs, 2, passes=passes) == expected
    assert easy(jobs, 2, passes=passes) == expected
    assert conservative(jobs, 2, passes=passes) == expected
    assert conservative(jobs, 2, passes=passes, compress="never_later") == expected


def test_submissions_come_before_an_early_end_when_each_event_has_its_pass() -> None:
    jobs = [(1, 0, 1, 10, 20), (2, 10, 2, 5, 5), (3, 10, 1, 10, 10)]
    assert easy(jobs, 2, passes="batch") == {1: (0, 10), 2: (10, 15), 3: (15, 25)}
    assert easy(jobs, 2, passes="event") == {1: (0, 10), 2: (20, 25), 3: (10, 20)}


@BOTH_PASSES
def test_an_expiring_limit_gives_way_to_submissions(passes: Passes) -> None:
    jobs = [(1, 0, 1, 10, 10), (2, 10, 2, 5, 5), (3, 10, 1, 10, 10)]
    assert easy(jobs, 2, passes=passes) == {1: (0, 10), 2: (10, 15), 3: (15, 25)}


@BOTH_PASSES
def test_a_run_beyond_its_limit_is_planned_to_end_now(passes: Passes) -> None:
    jobs = [(1, 0, 1, 30, 10), (2, 1, 2, 5, 5), (3, 15, 1, 5, 5)]
    assert easy(jobs, 2, passes=passes) == {1: (0, 10), 2: (10, 15), 3: (15, 20)}
    assert easy(jobs, 2, passes=passes, kill_at_limit=False) == {1: (0, 30), 2: (30, 35), 3: (35, 40)}


@BOTH_PASSES
def test_an_expired_prediction_gives_way_to_the_limit(passes: Passes) -> None:
    jobs = [(1, 0, 1, 10, 20), (2, 1, 2, 5, 5), (3, 5, 1, 3, 3)]
    assert easy(jobs, 2, passes=passes, predictions={1: 5}) == {1: (0, 10), 2: (10, 15), 3: (5, 8)}
    assert easy(jobs, 2, passes=passes, predictions={1: 6}) == {1: (0, 10), 2: (10, 15), 3: (15, 18)}


@BOTH_PASSES
def test_a_slot_once_given_is_not_lost_to_a_job_of_higher_priority(passes: Passes) -> None:
    jobs = [(1, 0, 1, 3, 5), (2, 0, 2, 1, 1), (3, 0, 1, 3, 3), (4, 0, 1, 1, 1)]
    assert conservative(jobs, 2, passes=passes) == {1: (0, 3), 3: (0, 3), 2: (3, 4), 4: (4, 5)}
    assert conservative(jobs, 2, passes=passes, compress="never_later") == {1: (0, 3), 3: (0, 3), 2: (4, 5), 4: (3, 4)}


def test_broken_promises_leave_nobody_behind() -> None:
    """Job 3 outlives its prediction, and the slots that were given cannot be kept."""
    rows = [(1, 1, 4, 1), (0, 1, 5, 3), (0, 2, 6, 6), (0, 1, 5, 3), (2, 1, 2, 8), (2, 2, 4, 5), (1, 2, 6, 2)]
    jobs = [(id, *row) for id, row in enumerate(rows, start=1)]
    schedule = conservative(jobs, 2, "never_later", "event", predictions={1: 1, 3: 1, 6: 4})
    assert len(schedule) == len(jobs)


PROCESSORS = 4
TIMES = st.integers(0, 8)
JOBS = st.lists(st.tuples(TIMES, st.integers(1, PROCESSORS), TIMES, st.integers(1, 8)), max_size=8).map(
    lambda rows: [(id, *row) for id, row in enumerate(rows, start=1)]
)
PASSES = st.sampled_from(["batch", "event"])


@given(JOBS, PASSES, st.booleans(), st.dictionaries(st.integers(1, 8), st.integers(1, 8)))
def test_the_machine_is_never_overfull(
    jobs: list[JobRow], passes: Passes, kill_at_limit: bool, predictions: dict[int, float]
) -> None:
    for schedule in (
        fcfs(jobs, PROCESSORS, passes=passes, kill_at_limit=kill_at_limit),
        easy(jobs, PROCESSORS, passes, "queue", kill_at_limit, predictions),
        easy(jobs, PROCESSORS, passes, "sjf", kill_at_limit, predictions),
        conservative(jobs, PROCESSORS, "rebuild", passes, kill_at_limit, predictions),
        conservative(jobs, PROCESSORS, "never_later", passes, kill_at_limit, predictions),
    ):
        assert schedule.keys() == {id for id, *_ in jobs}
        for id, submit, _, run, limit in jobs:
            start, end = schedule[id]
            assert start >= submit
            assert end - start == (min(run, limit) if kill_at_limit else run)
        for moment, _ in schedule.values():
            assert sum(row[2] for row in jobs if schedule[row[0]][0] <= moment < schedule[row[0]][1]) <= PROCESSORS


@given(JOBS, PASSES)
def test_with_exact_limits_no_slot_ever_moves(jobs: list[JobRow], passes: Passes) -> None:
    exact = [(id, submit, wanted, limit, limit) for id, submit, wanted, _, limit in jobs]
    rebuilt = conservative(exact, PROCESSORS, "rebuild", passes)
    assert conservative(exact, PROCESSORS, "never_later", passes) == rebuilt
    for id, (start, _) in rebuilt.items():
        earlier = [row for row in exact if (row[1], row[0]) <= (exact[id - 1][1], id)]
        assert conservative(earlier, PROCESSORS, "rebuild", passes)[id][0] == start
