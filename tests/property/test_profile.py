"""The profile against one that keeps a level for every second, and the compiled against the plain one."""

from __future__ import annotations

import pickle
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurm_sim_plugins.jobs import new_jobs
from slurm_sim_plugins.profile import Profile, RunEntry, earliest_start
from slurm_sim_plugins.profile_compiled import CompiledProfile
from tests.builders.kernels import NEEDS_KERNELS, forms

JOB = new_jobs({}, [1], [0.0], [1], [1.0])[0]


class BySecond:
    """How many processors are free in each second: obviously right, and slow."""

    def __init__(self, now: int, free: int, running: list[RunEntry], horizon: int) -> None:
        self.now = now
        self.levels = {
            second: free + sum(freed for end, _, freed, *_ in running if end <= second)
            for second in range(now, horizon)
        }

    def place(self, processors: list[int], durations: list[int], not_before: int) -> list[int]:
        starts = []
        for wanted, duration in zip(processors, durations, strict=True):
            start = self.earliest(wanted, duration, not_before)
            self.add(start, duration, -wanted)
            starts.append(start)
        return starts

    def compress(self, processors: list[int], durations: list[int], starts: list[int], not_before: int) -> list[int]:
        held = [max(start, not_before, self.now) for start in starts]
        for wanted, duration, start in zip(processors, durations, held, strict=True):
            self.add(start, duration, -wanted)
        moved = []
        for wanted, duration, start in zip(processors, durations, held, strict=True):
            self.add(start, duration, wanted)
            moved += self.place([wanted], [duration], not_before)
        return moved

    def earliest(self, wanted: int, duration: int, not_before: int) -> int:
        start = max(not_before, self.now)
        while any(self.levels[second] < wanted for second in range(start, start + duration)):
            start += 1
        return start

    def add(self, start: int, duration: int, change: int) -> None:
        for second in range(start, start + duration):
            self.levels[second] += change


class Case(NamedTuple):
    """A machine with what runs on it, and requests."""

    now: int
    free: int
    running: list[RunEntry]
    processors: list[int]
    durations: list[int]
    not_before: int

    @property
    def horizon(self) -> int:
        """Nothing is taken from then on."""
        last = max([self.now, self.not_before] + [int(end) for end, *_ in self.running])
        return last + 1 + 3 * sum(self.durations)


def runs(ends: list[tuple[float, int]]) -> list[RunEntry]:
    """What runs, from pairs of planned end and processors."""
    return [(float(end), number, wanted, 0.0, JOB) for number, (end, wanted) in enumerate(sorted(ends))]


def processors_of(running: list[RunEntry]) -> int:
    return sum(processors for _, _, processors, *_ in running)


@st.composite
def cases(draw: st.DrawFn, most: int = 12) -> Case:
    now = draw(st.integers(0, 10))
    running = runs(draw(st.lists(st.tuples(st.integers(8, 12) | st.integers(0, 40), st.integers(1, 4)), max_size=6)))
    free = draw(st.integers(0 if running else 1, 4))
    total = free + processors_of(running)
    requests = draw(st.lists(st.tuples(st.integers(1, total), st.integers(1, 15)), max_size=most))
    not_before = draw(st.integers(0, 30))
    return Case(now, free, running, [wanted for wanted, _ in requests], [long for _, long in requests], not_before)


def by_second(profile: Profile, horizon: int) -> dict[int, int]:
    """Levels of a profile, second by second."""
    steps = profile.steps()
    assert [time for time, _ in steps] == sorted({time for time, _ in steps})
    return {
        second: [level for time, level in steps if time <= second][-1] for second in range(int(steps[0][0]), horizon)
    }


@given(cases(most=0), st.integers(1, 12))
def test_earliest_start(case: Case, wanted: int) -> None:
    slow = BySecond(case.now, case.free, case.running, case.horizon)
    enough = [second for second, level in slow.levels.items() if level >= wanted]
    expected = (enough[0], slow.levels[enough[0]] - wanted) if enough else (float("inf"), 0)
    assert earliest_start(wanted, case.free, case.running, case.now) == expected


@given(cases())
def test_place_finds_the_earliest_holes(case: Case) -> None:
    now, free, running, processors, durations, not_before = case
    profile, slow = Profile(now, free, running), BySecond(now, free, running, case.horizon)
    assert by_second(profile, case.horizon) == slow.levels

    assert profile.place(processors, durations, not_before) == slow.place(processors, durations, not_before)
    assert by_second(profile, case.horizon) == slow.levels
    assert min(slow.levels.values()) >= 0


@given(cases(), st.data())
def test_place_goes_on_where_it_stopped(case: Case, data: st.DataObject) -> None:
    now, free, running, processors, durations, not_before = case
    profile, slow = Profile(now, free, running), BySecond(now, free, running, case.horizon + 99)
    for wanted, duration in zip(processors, durations, strict=True):
        not_before = data.draw(st.integers(0, 60))
        assert profile.place([wanted], [duration], not_before) == slow.place([wanted], [duration], not_before)
    assert by_second(profile, case.horizon + 99) == slow.levels


@given(cases(), st.data())
def test_compress_moves_what_it_is_given(case: Case, data: st.DataObject) -> None:
    """Whatever the requests hold, possible or not."""
    now, free, running, processors, durations, not_before = case
    starts = data.draw(st.lists(st.integers(0, 60), min_size=len(processors), max_size=len(processors)))
    profile, slow = Profile(now, free, running), BySecond(now, free, running, case.horizon + 99)
    assert profile.compress(processors, durations, starts, not_before) == slow.compress(
        processors, durations, starts, not_before
    )
    assert by_second(profile, case.horizon + 99) == slow.levels


@given(cases(), st.data())
def test_compress_never_moves_later(case: Case, data: st.DataObject) -> None:
    """When some of what runs ends early, and time goes on."""
    now, free, running, processors, durations, not_before = case
    starts = Profile(now, free, running).place(processors, durations, not_before)
    stay = data.draw(st.lists(st.booleans(), min_size=len(running), max_size=len(running)))
    still = [run for run, stays in zip(running, stay, strict=True) if stays]
    total = free + processors_of(running)
    nearest = min([*starts, 99, *(end for end, *_ in still if end > now)])
    later = data.draw(st.integers(now, max(now, int(nearest))))

    profile = Profile(later, total - processors_of(still), still)
    moved = profile.compress(processors, durations, starts, later)
    assert all(new <= old for new, old in zip(moved, starts, strict=True))
    assert min(level for _, level in profile.steps()) >= 0


@pytest.mark.parametrize("kind", [Profile, CompiledProfile])
def test_bad_requests_are_refused(kind: type[Profile]) -> None:
    profile = kind(0.0, 1, runs([(5.0, 2)]))
    with pytest.raises(ValueError, match="wants 4 processors, the whole machine has 3"):
        profile.place([1, 4], [1.0, 1.0], 0.0)
    with pytest.raises(ValueError, match="wants 4 processors, the whole machine has 3"):
        profile.compress([4], [1.0], [7.0], 0.0)
    with pytest.raises(ValueError, match=r"argument 2 is shorter|differ in number"):
        profile.place([1, 1], [1.0], 0.0)
    with pytest.raises(ValueError, match=r"argument 2 is longer|differ in number"):
        profile.compress([1], [1.0, 1.0], [7.0], 0.0)


SECONDS = st.floats(0.0, 1e6) | st.integers(0, 50).map(float)
LASTING = st.floats(1e-3, 1e6) | st.integers(1, 20).map(float)


@given(st.data())
def test_compiled_answers_as_plain(data: st.DataObject) -> None:
    """Through several calls on one profile, to the bit."""
    running = runs(data.draw(st.lists(st.tuples(SECONDS, st.integers(1, 40)), max_size=20)))
    now, free = data.draw(SECONDS), data.draw(st.integers(1, 40))
    total = free + processors_of(running)
    plain, compiled = Profile(now, free, running), CompiledProfile(now, free, running)
    assert compiled.steps() == plain.steps()
    for _ in range(3):
        requests = data.draw(st.lists(st.tuples(st.integers(1, total), LASTING, SECONDS), max_size=30))
        wanted, durations, starts = ([row[column] for row in requests] for column in range(3))
        not_before = data.draw(SECONDS)
        if data.draw(st.booleans()):
            answers = [kind.place(wanted, durations, not_before) for kind in (plain, compiled)]
        else:
            answers = [kind.compress(wanted, durations, starts, not_before) for kind in (plain, compiled)]
        assert answers[0] == answers[1]
        assert compiled.steps() == plain.steps()


def test_compiled_answers_in_plain_numbers_and_can_be_kept() -> None:
    profile = CompiledProfile(0, 4, runs([(5, 3)]))
    assert [type(start) for start in profile.place([4, 7], [2, 2], 1)] == [float, float]
    assert {type(value) for step in profile.steps() for value in step} == {float, int}
    assert pickle.loads(pickle.dumps(profile)).steps() == profile.steps()


WIDE = st.integers(1, 40) | st.integers(2**60, 2**62 - 1)


@NEEDS_KERNELS
@given(st.data())
def test_both_forms_of_the_kernel_do_the_same(data: st.DataObject) -> None:
    """Also with what wraps around in one of them if it is wrong: numbers near the largest, no requests, one step."""
    times = np.unique(np.array(data.draw(st.lists(SECONDS, min_size=1, max_size=12))))
    levels = sorted(data.draw(st.lists(WIDE, min_size=len(times), max_size=len(times))))
    requests = data.draw(st.lists(st.tuples(st.integers(1, levels[-1]), LASTING, SECONDS), max_size=12))
    not_before, how = data.draw(SECONDS | st.just(-1.0)), data.draw(st.sampled_from(["place", "compress"]))
    answers = []
    for form in forms("slurm_sim_plugins.profile_kernel"):
        more = 1 + 4 * len(requests)
        marks, free = np.append(times, np.zeros(more)), np.append(levels, np.zeros(more, dtype=np.int64))
        wanted = np.array([wide for wide, _, _ in requests], dtype=np.int64)
        durations, starts = (np.array([row[column] for row in requests], dtype=float) for column in (1, 2))
        count = getattr(form, how)(marks, free, len(times), wanted, durations, starts, not_before)
        answers.append((count, marks[:count].tolist(), free[:count].tolist(), starts.tolist()))
    assert answers[0] == answers[1]
