"""progress_rate: how fast runs progress; and the tiers, starts, moves and preemptions that go with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import pytest

from emulator.config.preemption import Preemption
from slurm_sim_plugins import (
    ConfigurationError,
    Decision,
    InputError,
    Move,
    PluginError,
    Preempt,
    RateView,
    SchedulingView,
    Start,
    Stay,
    View,
    Wake,
    hookimpl,
)
from slurm_sim_plugins.processors import highest, in_words, numbers, processors
from tests.builders.jobs import JobRow, column, events, failing, line_with, logged, run, times

BOTH_PASSES = pytest.mark.parametrize("passes", ["batch", "event"])
Step = tuple[float, Callable[[SchedulingView], list[Decision]]]


class Halves:
    """Who shares a processor with n others has 1 / (n + 1) of it; notes for whom it was asked."""

    name: ClassVar[str] = "execution/halves"
    tiers: ClassVar[Any] = ("fg", "second", "third")

    def __init__(self) -> None:
        self.asked: list[tuple[float, list[int]]] = []

    @hookimpl
    def progress_rate(self, view: RateView) -> list[float]:
        self.asked.append((view.now, sorted(stay.job.id for stay in view.changed)))
        assert view.tiers is not None
        return [1 / (1 + len(view.tiers.beside(stay))) for stay in view.changed]


class Dragging(Halves):
    """A job in the second tier progresses at the rate of the fact ``pace``; it does not change."""

    name: ClassVar[str] = "execution/dragging"
    tiers: ClassVar[Any] = ("fg", "bg")

    @hookimpl
    def progress_rate(self, view: RateView) -> list[float]:
        return [0.25 if stay.tier == "bg" else 1 for stay in view.changed]


def script(*steps: Step, otherwise: bool = False) -> type:
    """A scheduler that does at certain times what it is told."""

    class Scripted:
        name: ClassVar[str] = "sched/scripted"

        def __init__(self) -> None:
            self.to_come = sorted(steps, key=lambda step: step[0])
            self.woken = False

        @hookimpl
        def schedule(self, view: SchedulingView) -> Iterator[Decision]:
            if not self.woken:
                self.woken = True
                for time, _ in self.to_come:
                    if time > view.now:
                        yield Wake(time)
            while self.to_come and self.to_come[0][0] <= view.now:
                yield from self.to_come.pop(0)[1](view)
            while otherwise and not self.to_come and view.head is not None and view.head.processors <= view.free:
                yield Start(view.head)

    return Scripted


def tiered(scheduler: type, execution: type = Halves, **options: Any) -> dict[str, Any]:
    names = {"scheduler": "sched/scripted", "execution": execution.name}  # type: ignore[attr-defined]
    return {"plugins": [scheduler, execution], **names, **options}


def waiting(view: View, id: int) -> Any:
    return next(job for job in view.queue if job.id == id)


def running(view: View, id: int) -> Any:
    assert view.tiers is not None
    return next(stay.job for tier in view.tiers.names for stay in view.tiers.stays(tier) if stay.job.id == id)


def start(id: int, where: list[int] | None = None, **options: Any) -> Callable[[SchedulingView], list[Decision]]:
    place = None if where is None else processors(where)
    return lambda view: [Start(waiting(view, id), where=place, **options)]


def move(id: int, where: list[int] | None = None, **options: Any) -> Callable[[SchedulingView], list[Decision]]:
    place = None if where is None else processors(where)
    return lambda view: [Move(running(view, id), place, **options)]


TWO: list[JobRow] = [(1, 0, 2, 10, 99), (2, 0, 2, 10, 99)]
WIDE: JobRow = (9, 0, 4, 1, 99)
"""Waits for all four processors; where no job waits and none is in another tier, there is no pass."""


# When it is called


def test_asked_at_the_end_of_an_instant_for_those_whose_neighbours_changed() -> None:
    jobs: list[JobRow] = [*TWO, (3, 0, 1, 4, 99)]
    plan = script((0, start(1, [0, 1])), (0, start(3, [3])), (2, start(2, [1, 2], tier="second")))
    result = run(jobs, 4, **tiered(plan))
    # 1 has done 2 of 10 when 2 comes; both go on at half the speed until 1 has done the other 8.
    assert times(result) == {1: (0, 18), 2: (2, 20), 3: (0, 4)}
    assert result.plugins["execution/halves"].asked == [(0, [1, 3]), (2, [1, 2]), (18, [2])]


def test_a_plugin_without_the_hook_has_no_tiers() -> None:
    class Nothing:
        name: ClassVar[str] = "execution/nothing"

    seen = []

    class Looking:
        name: ClassVar[str] = "sched/looking"

        @hookimpl
        def schedule(self, view: SchedulingView) -> Iterator[Decision]:
            seen.append(view.tiers)
            yield from [Start(job) for job in list(view.queue)]

    slots = {"scheduler": "sched/looking", "execution": "execution/nothing"}
    assert times(run(TWO, 4, plugins=[Nothing, Looking], **slots)) == {1: (0, 10), 2: (0, 10)}
    assert seen == [None]


@BOTH_PASSES
@pytest.mark.parametrize("scheduler", ["sched/fcfs", "sched/easy", "sched/conservative", "sched/venture"])
def test_without_neighbours_every_schedule_is_the_plain_one(scheduler: str, passes: str) -> None:
    jobs: list[JobRow] = [(n, n % 5, 1 + n % 4, n % 7, 1 + n % 9) for n in range(1, 30)]
    options = {"scheduler": scheduler, "preempt": "preempt/shadow_load", "passes": passes}
    plain = run(jobs, 4, **options)
    tiers = run(jobs, 4, plugins=[Halves], execution="execution/halves", **options)
    for name in ("start", "end", "backfilled", "blocked", "could_start", "reserved", "requeues"):
        assert repr(column(tiers, name)) == repr(column(plain, name)), name


@pytest.mark.parametrize("dispatch", ["resolved", "pluggy"])
def test_none_is_full_speed_for_all(dispatch: str) -> None:
    class Silent:
        name: ClassVar[str] = "execution/silent"

        @hookimpl
        def progress_rate(self, view: RateView) -> None:
            return None

    plan = script((0, start(1)), (0, start(2, tier="bg")))
    assert times(run(TWO, 2, **tiered(plan, Silent, dispatch=dispatch))) == {1: (0, 10), 2: (0, 10)}


def test_rates_that_change_by_themselves() -> None:
    class Tide:
        name: ClassVar[str] = "execution/tide"
        changes = (2, 6.5)

        @hookimpl
        def progress_rate(self, view: RateView) -> list[float]:
            return [0.5 if 2 <= view.now < 6.5 else 1] * len(view.changed)

    # 2 s, 4.5 s at half the speed, and 5.75 s.
    result = run([TWO[0]], 2, plugins=[Tide], execution="execution/tide")
    assert times(result) == {1: (0, 12.25)}


# What the view shows


def test_who_is_where_and_how_far() -> None:
    seen: dict[float, Any] = {}

    def look(view: SchedulingView) -> list[Decision]:
        tiers = view.tiers
        assert tiers is not None
        stays = [stay for tier in tiers.names for stay in tiers.stays(tier)]
        seen[view.now] = {
            stay.job.id: (stay.tier, numbers(stay.where), stay.start, stay.since, stay.rate, tiers.progress(stay))
            for stay in stays
        }
        seen[-view.now] = [numbers(tiers.idle(tier)) for tier in tiers.names], view.free, len(view.running)
        assert all(tiers.stay(stay.job) is stay for stay in stays)
        assert tiers.stay(waiting(view, 3)) is None
        return []

    jobs: list[JobRow] = [*TWO, (3, 0, 4, 1, 99)]
    plan = script((0, start(1, [2, 3])), (1, start(2, [1, 2], tier="third")), (4, look), (4, start(3)), otherwise=True)
    run_until_refused = failing(jobs, 4, **tiered(plan))
    assert run_until_refused.job == 3  # 4 processors are not idle in the first tier
    assert seen[4] == {1: ("fg", [2, 3], 0, 0, 0.5, 2.5), 2: ("third", [1, 2], 1, 1, 0.5, 1.5)}
    assert seen[-4] == (([[0, 1], [0, 1, 2, 3], [0, 3]], 2, 1))


def test_views_are_read_only() -> None:
    class Writing:
        name: ClassVar[str] = "execution/writing"

        @hookimpl
        def progress_rate(self, view: RateView) -> list[float]:
            view.changed[0].rate = 2  # type: ignore[misc]  # writes to a stay
            return [1]

    error = failing(TWO[:1], 2, plugins=[Writing], execution="execution/writing")
    assert (
        error.message == "AttributeError: Stay.rate is read-only: a plugin asks for a change by what the hook answers"
    )
    assert (error.plugin, error.hook, error.job, error.time) == ("execution/writing", "progress_rate", 1, 0)
    assert error.where == line_with("writes to a stay", test_views_are_read_only)


def test_which_tiers_were_left_since_the_last_pass() -> None:
    seen = []

    class Looking:
        name: ClassVar[str] = "sched/looking"

        @hookimpl
        def schedule(self, view: SchedulingView) -> Iterator[Decision]:
            assert view.tiers is not None
            seen.append((view.now, sorted(view.tiers.left), [job.id for job in view.new_jobs]))
            for job in list(view.queue):
                if job.id < 4:
                    yield Start(job, tier="fg" if job.id == 1 else "bg")

    jobs: list[JobRow] = [(1, 0, 1, 6, 99), (2, 0, 1, 1, 99), (3, 0, 1, 1.5, 99), (4, 0, 1, 1, 99)]
    slots = {"scheduler": "sched/looking", "execution": "execution/dragging"}
    with pytest.raises(PluginError, match="1 jobs still wait"):
        run(jobs, 3, plugins=[Looking, Dragging], **slots)
    assert seen == [(0, [], [1, 2, 3, 4]), (4, ["bg"], []), (6, ["bg", "fg"], [])]


# Starts, moves, preemption


def test_a_start_without_a_place_takes_the_highest_idle_processors() -> None:
    jobs: list[JobRow] = [(1, 0, 1, 9, 9), (2, 0, 2, 9, 9), (3, 0, 1, 9, 9)]
    plan = script((0, start(1, [3])), (0, start(2)), (0, start(3, tier="third")))
    log = [line for line in events(jobs, 4, **tiered(plan)) if line["event"] == "start"]
    assert [(line["job"], line["tier"], line["where"]) for line in log] == [
        (1, "fg", "3"),
        (2, "fg", "1-2"),
        (3, "third", "3"),
    ]


@BOTH_PASSES
def test_setup_and_cost_are_time_without_progress(passes: str) -> None:
    plan = script((0, start(1, [0, 1], setup=3)), (5, move(1, [2, 3], cost=1.5)), (5, start(2, [0, 1])))
    result = run(TWO, 4, **tiered(plan, passes=passes))
    assert times(result) == {1: (0, 14.5), 2: (5, 15)}


def test_a_swap_keeps_processors_and_progress() -> None:
    plan = script((0, start(1)), (0, start(2, tier="bg")), (10, move(2)))
    result = run(TWO, 2, **tiered(plan, Dragging))
    # 2.5 of its 10 are done after 10 s.
    assert times(result) == {1: (0, 10), 2: (0, 17.5)}
    stays = result.records.stays
    assert stays is not None
    assert stays["came"].tolist() == ["start", "start", "swap"]
    assert stays["work"].tolist() == [10, 2.5, 7.5]
    assert [in_words(where) for where in stays["where"]] == ["0-1"] * 3


def test_a_move_before_a_cost_is_over_adds_to_it() -> None:
    plan = script((0, start(1, [0, 1])), (2, move(1, [2, 3], cost=5)), (3, move(1, [0, 1], cost=1)), otherwise=True)
    assert times(run([TWO[0], WIDE], 4, **tiered(plan))) == {1: (0, 16), 9: (16, 17)}


def test_planned_ends_of_moves_and_setups() -> None:
    seen = []

    def look(view: SchedulingView) -> list[Decision]:
        seen.append([(run.job.id, run.start, run.planned_end) for run in view.running])
        return []

    jobs: list[JobRow] = [(n, 0, 1, 50, 99) for n in range(1, 5)] + [(5, 0, 5, 1, 1)]
    steps: list[Step] = [(0, start(1, [3], setup=4))]
    steps += [(0, start(n, [n - 1], tier="bg")) for n in (2, 3, 4)]
    steps += [(10, move(2)), (10, move(3, [0], cost=2)), (10, move(4, [4], cost=2, planned=7)), (10, look)]
    run(jobs, 5, **tiered(script(*steps, otherwise=True), Dragging))
    assert seen == [[(4, 10, 17), (1, 0, 103), (2, 10, 109), (3, 10, 111)]]


def test_preempt_and_start_is_to_kill_and_begin_anew() -> None:
    class Killing:
        name: ClassVar[str] = "sched/scripted"

        @hookimpl
        def schedule(self, view: SchedulingView) -> Iterator[Decision]:
            if view.now == 0:
                yield Start(waiting(view, 1), where=0b0011)
                yield Start(waiting(view, 2), where=0b0011, tier="bg")
                yield Wake(4)
            elif view.now == 4:
                job = running(view, 2)
                yield Preempt(job)
                yield Start(job, where=0b1100)

    result = run(TWO, 4, **tiered(Killing, Dragging))
    assert times(result) == {1: (0, 10), 2: (4, 14)}
    assert column(result, "requeues") == {1: 0, 2: 1}
    log = events(TWO, 4, **tiered(Killing, Dragging))
    (line,) = [line for line in log if line["event"] == "requeue"]
    assert (line["job"], line["preemptor"]) == (2, 2)


def test_preempt_without_tiers() -> None:
    class Killing:
        name: ClassVar[str] = "sched/killing"

        @hookimpl
        def schedule(self, view: SchedulingView) -> Iterator[Decision]:
            if view.now == 3:
                yield Preempt(view.running[0].job, by=view.head, reason="it is in the way")
            if view.head is not None and view.head.processors <= view.free:
                yield Start(view.head if view.now != 3 else waiting(view, 2))

    jobs: list[JobRow] = [(1, 0, 2, 10, 99), (2, 3, 2, 10, 99)]
    options = {"plugins": [Killing], "scheduler": "sched/killing"}
    assert times(run(jobs, 2, **options)) == {1: (13, 23), 2: (3, 13)}
    (line,) = [line for line in events(jobs, 2, **options) if line["event"] == "requeue"]
    assert line == {"time": 3, "event": "requeue", "job": 1, "preemptor": 2, "reason": "it is in the way"}


@pytest.mark.parametrize(
    ("mode", "end"),
    [
        (Preemption(), 14),
        (Preemption(mode="SUSPEND", slowdown=0.5, cost=2), 4 + 2 + 15 - 1),
        (Preemption(mode="CHECKPOINT", interval=0.4, cost=0.1), 4 + 10 + 2.4 - 0.8 - 0.2),
    ],
)
def test_what_preemption_keeps_is_a_matter_of_work_done(mode: Preemption, end: float) -> None:
    # In the background, 4 s are 1 s of its run: with checkpoints, of 0.4 s of work and 0.1 s of writing each.
    class Killing:
        name: ClassVar[str] = "sched/scripted"

        @hookimpl
        def schedule(self, view: SchedulingView) -> Iterator[Decision]:
            if view.now == 0:
                yield Start(waiting(view, 1), tier="bg")
                yield Wake(4)
            elif view.now == 4:
                job = running(view, 1)
                yield Preempt(job)
                yield Start(job)

    result = run(TWO[:1], 2, **tiered(Killing, Dragging, preemption=mode))
    assert times(result)[1] == (4, pytest.approx(end))


# What is refused


REFUSED: dict[str, tuple[list[Step], str]] = {
    "no such tier": ([(0, start(1, tier="cellar"))], "Start: there is no tier 'cellar'; tiers are fg, second, third"),
    "a tier that is no word": ([(0, start(1, tier=2))], "Start: there is no tier 2; tiers are fg, second, third"),
    "no set": ([(0, lambda view: [Start(waiting(view, 1), where=[0, 1])])], "Start: where is [0, 1]; it is a set of"),  # type: ignore[arg-type]
    "negative": ([(0, lambda view: [Start(waiting(view, 1), where=-4)])], "Start: where is -4; it is a set of"),
    "a truth value": (
        [(0, lambda view: [Start(waiting(view, 1), where=True)])],
        "Start: where is True; it is a set of",
    ),
    "beyond the machine": ([(0, start(1, [3, 4]))], "Start: where is 24; it is a set of processors from 0 to 3"),
    "too few": ([(0, start(1, [3]))], "Start: it needs 2 processors, where has 1"),
    "too many": ([(0, start(1, [1, 2, 3]))], "Start: it needs 2 processors, where has 3"),
    "taken": ([(0, start(1, [0, 1])), (0, start(2, [1, 2]))], "Start: processors 1 are not idle in fg"),
    "no room in the tier": (
        [(0, start(1, [0, 1], tier="third")), (0, start(3, tier="third"))],
        "Start: it needs 3 processors and 2 are idle in third",
    ),
    "negative setup": ([(0, start(1, setup=-1))], "Start: setup is -1; give finite seconds, 0 or more"),
    "endless setup": ([(0, start(1, setup=float("inf")))], "Start: setup is inf; give finite seconds, 0 or more"),
    "negative cost": ([(0, start(1)), (1, move(1, [0, 1], cost=-20))], "Move: cost is -20; give finite seconds"),
    "no cost": ([(0, start(1)), (1, move(1, [0, 1], cost=None))], "Move: cost is None; give finite seconds"),
    "negative plan": ([(0, start(1)), (1, move(1, [0, 1], planned=-1))], "Move: planned is -1; give finite seconds"),
    "a move of one that waits": (
        [(0, lambda view: [Move(view.queue[0])])],
        "Move: the job does not run, it is PENDING",
    ),
    "a move to where it is": ([(0, start(1)), (1, move(1))], "Move: it is in fg on these processors already"),
    "a swap with one in front": (
        [(0, start(1, [0, 1])), (0, start(2, [0, 1], tier="third")), (1, move(2))],
        "Move: processors 0-1 are not idle in fg",
    ),
    "preemption of one that waits": (
        [(0, lambda view: [Preempt(view.queue[0])])],
        "Preempt: the job does not run, it is PENDING",
    ),
    "preemption without a preemptor": (
        [(0, start(1)), (1, lambda view: [Preempt(running(view, 1), by=2)])],  # type: ignore[arg-type]
        "Preempt: by is 2, which is no job of this simulation",
    ),
    "no job": ([(0, lambda view: [Move(1)])], "Move: 1 is not a job of the queue"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize(("steps", "message"), REFUSED.values(), ids=REFUSED)
def test_refused(steps: list[Step], message: str) -> None:
    error = failing([*TWO, (3, 0, 3, 1, 9)], 4, **tiered(script(*steps)))
    assert error.message.startswith(message)
    assert (error.plugin, error.hook, error.time) == ("sched/scripted", "schedule", steps[-1][0])
    assert error.where is not None


@pytest.mark.parametrize("given", [{"where": 0b11}, {"tier": "bg"}, {"setup": 2}, {"setup": -1}])
def test_places_are_refused_where_there_are_no_tiers(given: dict[str, Any]) -> None:
    plan = script((0, lambda view: [Start(view.queue[0], **given)]))
    error = failing(TWO, 4, plugins=[plan], scheduler="sched/scripted")
    assert error.message.startswith("Start: where, tier and setup are for an ExecutionType with tiers")
    plan = script((0, lambda view: [Start(view.queue[0])]), (1, lambda view: [Move(view.running[0].job, **given)]))
    error = failing(TWO, 2, plugins=[plan], scheduler="sched/scripted") if "setup" not in given else None
    assert error is None or error.message.startswith("Move: there are no tiers; it is for an ExecutionType such as")


ANSWERS: dict[str, tuple[Any, str]] = {
    "too few": ([1.0], "answered [1.0] for 2 runs; answer one rate for each"),
    "a number": (1.0, "answered 1.0 for 2 runs; answer one rate for each"),
    "no order": ({1: 1.0, 2: 1.0}, "answered {1: 1.0, 2: 1.0} for 2 runs; answer one rate for each"),
    "negative": ([1, -0.5], "answered -0.5; a rate is a finite number, 0 or more"),
    "no number": ([1, float("nan")], "answered nan; a rate is a finite number, 0 or more"),
    "infinite": ([1, float("inf")], "answered inf; a rate is a finite number, 0 or more"),
    "a word": ([1, "fast"], "answered 'fast'; a rate is a finite number, 0 or more"),
}


@pytest.mark.parametrize(("answer", "message"), ANSWERS.values(), ids=ANSWERS)
def test_answers_that_are_refused(answer: Any, message: str) -> None:
    class Wrong:
        name: ClassVar[str] = "execution/wrong"

        @hookimpl
        def progress_rate(self, view: RateView) -> Any:
            return answer

    error = failing(TWO, 4, plugins=[Wrong], execution="execution/wrong")
    assert error.message == message
    assert (error.plugin, error.hook, error.time) == ("execution/wrong", "progress_rate", 0)


def test_a_run_that_is_left_at_rate_0_is_told() -> None:
    class Frozen:
        name: ClassVar[str] = "execution/frozen"

        @hookimpl
        def progress_rate(self, view: RateView) -> list[float]:
            return [0.0 if stay.job.id == 2 else 1.0 for stay in view.changed]

    error = failing(TWO, 4, plugins=[Frozen], execution="execution/frozen")
    assert error.message == "the run of this job in fg is left at rate 0, and nothing more will happen"
    assert (error.hook, error.job, error.time) == ("progress_rate", 2, 10)


def test_a_rate_so_low_that_a_run_would_never_end() -> None:
    class Crawling:
        name: ClassVar[str] = "execution/crawling"

        @hookimpl
        def progress_rate(self, view: RateView) -> list[float]:
            return [1e-300] * len(view.changed)

    assert failing(TWO, 4, plugins=[Crawling], execution="execution/crawling").message.startswith("the run of this job")


@pytest.mark.parametrize("names", [("bg", "fg"), (), ("fg", "fg"), "fg", ("fg", 1)])
def test_tiers_that_make_no_sense(names: Any) -> None:
    class Odd(Halves):
        name: ClassVar[str] = "execution/odd"
        tiers: ClassVar[Any] = names

    assert "its tiers are" in failing(TWO, 4, plugins=[Odd], execution="execution/odd").message


def test_a_scheduler_says_which_tiers_it_needs() -> None:
    with pytest.raises(ConfigurationError, match="sched/two_tier needs the tier fg, which execution/plain does not"):
        run(TWO, 4, scheduler="sched/two_tier")
    with pytest.raises(ConfigurationError, match="sched/two_tier needs the tier bg, which execution/halves does not"):
        run(TWO, 4, scheduler="sched/two_tier", execution="execution/halves", plugins=[Halves])


def test_a_plugin_says_which_columns_it_needs() -> None:
    with pytest.raises(InputError, match="workload: execution/two_tier needs the column cpu_use"):
        run(TWO, 4, execution="execution/two_tier")


def test_checkpoints_just_in_time_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="checkpoint=jit hands processors over"):
        run(
            TWO,
            4,
            plugins=[Halves],
            execution="execution/halves",
            preemption=Preemption(mode="CHECKPOINT", checkpoint="jit"),
        )


# The log


def test_the_event_log_tells_places_moves_and_rates() -> None:
    plan = script((0, start(1, [0, 1])), (0, start(2, [1, 2], tier="second")), (4, move(2, [2, 3], cost=1)))
    log = events(TWO, 4, **tiered(plan))
    assert [line for line in log if line["event"] not in ("submit", "end")] == [
        {"time": 0, "event": "start", "job": 1, "processors": 2, "tier": "fg", "where": "0-1"},
        {"time": 0, "event": "start", "job": 2, "processors": 2, "tier": "second", "where": "1-2"},
        {"time": 0, "event": "rate", "job": 1, "rate": 0.5},
        {"time": 0, "event": "rate", "job": 2, "rate": 0.5},
        {"time": 4, "event": "move", "job": 2, "tier": "fg", "where": "2-3"},
        {"time": 4, "event": "rate", "job": 1, "rate": 1.0},
        {"time": 4, "event": "rate", "job": 2, "rate": 1.0},
    ]


def test_the_same_bytes_twice_and_through_pluggy() -> None:
    plan = script((0, start(1, [0, 1])), (0, start(2, [1, 2], tier="second")), (4, move(2, [2, 3], cost=1)))
    first = logged(TWO, 4, **tiered(plan))[1]
    assert logged(TWO, 4, **tiered(plan))[1] == first == logged(TWO, 4, **tiered(plan, dispatch="pluggy"))[1]


# Sets of processors


def test_sets_of_processors() -> None:
    some = processors([7, 0, 2, 1])
    assert numbers(some) == [0, 1, 2, 7]
    assert in_words(some) == "0-2,7"
    assert numbers(highest(some, 2)) == [2, 7]
    assert highest(some, 9) == some


def test_a_stay_in_words() -> None:
    seen: list[Stay] = []
    plan = script((0, start(1)), (1, lambda view: seen.extend(view.tiers.stays("fg")) or []), otherwise=True)  # type: ignore[union-attr, func-returns-value]
    run([TWO[0], WIDE], 4, **tiered(plan))
    assert repr(seen[0]) == "<Stay of job 1 in fg since 0>"
