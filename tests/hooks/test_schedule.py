"""schedule: the whole scheduling pass, as decisions that are checked and applied one at a time."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import Any, ClassVar

import pytest

from emulator.testing import play
from slurm_sim_plugins import Job, MakeRoom, PluginError, Reserve, SchedulingView, Start, Wake, hookimpl
from slurm_sim_plugins.testing import cluster
from slurm_sim_plugins.testing import job as one
from tests.builders.jobs import JobRow, column, events, failing, line_with, run, starts

Decisions = Generator[Any, Any, None]
JOBS: list[JobRow] = [(1, 0, 3, 10, 20), (2, 1, 4, 5, 10), (3, 2, 1, 5, 5), (4, 2, 2, 5, 5)]
"""On four processors: 1 runs until 10, 2 waits for all of them, 3 fits at once, 4 does not."""


def scheduler(schedule: Callable[..., Any], **attributes: Any) -> dict[str, Any]:
    """Options that select a scheduler which is one function of the view."""
    members = {"name": "sched/mine", "schedule": hookimpl(lambda self, view: schedule(view)), **attributes}
    return {"scheduler": "sched/mine", "plugins": [type("Mine", (), members)]}


def in_order(view: SchedulingView) -> Decisions:
    while view.head is not None and view.head.processors <= view.free:
        yield Start(view.head)


# Being called ----------------------------------------------------------------------------


def passes(jobs: list[JobRow], processors: int = 4, **options: Any) -> list[float]:
    """When a scheduler is called that starts jobs in order."""
    called: list[float] = []

    def schedule(view: SchedulingView) -> Decisions:
        called.append(view.now)
        yield from in_order(view)

    run(jobs, processors, **scheduler(schedule), **options)
    return called


def test_one_pass_for_all_that_happens_at_an_instant() -> None:
    assert passes([(1, 0, 2, 5, 5), (2, 0, 2, 5, 5), (3, 0, 4, 5, 5), (4, 5, 4, 5, 5)]) == [0, 5, 10]


def test_one_pass_after_each_event() -> None:
    # At 5 both runs reach their limits; each submission has its pass, then each end, as long as a job waits.
    jobs = [(1, 0, 2, 5, 5), (2, 0, 2, 5, 5), (3, 0, 4, 5, 5), (4, 5, 4, 5, 5)]
    assert passes(jobs, passes="event") == [0, 0, 0, 5, 5, 5, 10]


def test_no_pass_when_nobody_waits() -> None:
    assert passes([(1, 0, 4, 5, 5), (2, 20, 4, 5, 5)]) == [0, 20]


def test_a_pass_where_a_run_of_no_length_ends() -> None:
    assert passes([(1, 3, 4, 0, 5), (2, 3, 4, 0, 5), (3, 3, 1, 1, 5)]) == [3, 3, 3]


def test_who_only_starts_is_not_called_for_what_does_not_fit() -> None:
    called: list[float] = []

    def schedule(view: SchedulingView) -> Decisions:
        called.append(view.now)
        yield from in_order(view)

    jobs = [(1, 0, 3, 10, 10), (2, 1, 4, 5, 5), (3, 2, 2, 5, 5), (4, 3, 1, 5, 5), (5, 4, 4, 5, 5)]
    run(jobs, 4, **scheduler(schedule, only_starts=True))
    assert called == [0, 1, 3, 10, 15, 20]
    called.clear()
    run(jobs, 4, **scheduler(schedule))
    assert called == [0, 1, 2, 3, 4, 10, 15, 20]


def test_none_starts_nothing() -> None:
    error = failing(JOBS, 4, **scheduler(lambda view: None))
    assert "4 jobs still wait and nothing more will happen" in error.message
    assert (error.plugin, error.hook, error.job, error.time) == ("sched/mine", "schedule", 1, 2.0)


def test_a_generator_without_decisions_starts_nothing() -> None:
    error = failing(JOBS, 4, **scheduler(lambda view: (decision for decision in ())))
    assert "4 of 4 processors are free and the first job needs 3" in error.message


@pytest.mark.parametrize("answer", [[], [1], 5, "text", iter(())], ids=lambda answer: type(answer).__name__)
def test_what_is_no_generator_is_refused(answer: Any) -> None:
    error = failing(JOBS, 4, **scheduler(lambda view: answer))
    assert "it must be a generator: yield each decision" in error.message
    assert (error.plugin, error.hook, error.time) == ("sched/mine", "schedule", 0.0)


# What it is shown ------------------------------------------------------------------------


def test_the_view_is_current_between_two_decisions() -> None:
    seen: list[Any] = []

    def look(view: SchedulingView) -> None:
        head = view.head.id if view.head is not None else None
        running = [(run.job.id, run.start, run.planned_end, run.processors) for run in view.running]
        seen.append((view.free, head, [job.id for job in view.queue], running))

    def schedule(view: SchedulingView) -> Decisions:
        look(view)
        for job in list(view.queue):
            if job.processors <= view.free:
                yield Start(job)
                look(view)

    run([(1, 0, 2, 5, 20), (2, 0, 3, 5, 5), (3, 0, 1, 5, 10)], 4, **scheduler(schedule))
    assert seen[:3] == [
        (4, 1, [1, 2, 3], []),
        (2, 2, [2, 3], [(1, 0, 20, 2)]),
        (1, 2, [2], [(3, 0, 10, 1), (1, 0, 20, 2)]),
    ]


def test_newcomers_and_whether_anything_changed() -> None:
    seen: list[Any] = []

    def schedule(view: SchedulingView) -> Decisions:
        seen.append((view.now, view.changed, [job.id for job in view.new_jobs]))
        yield from in_order(view)

    run([(1, 0, 4, 10, 10), (2, 0, 4, 10, 10), (3, 5, 1, 1, 1), (4, 6, 1, 1, 1)], 4, **scheduler(schedule))
    assert seen == [(0, True, [1, 2]), (5, False, [3]), (6, False, [4]), (10, True, []), (20, True, [])]


def test_who_was_started_is_no_newcomer_any_more() -> None:
    seen: list[list[int]] = []

    def schedule(view: SchedulingView) -> Decisions:
        for job in list(view.new_jobs):
            yield Start(job)
            seen.append([new_job.id for new_job in view.new_jobs])

    run([(job, 0, 1, 5, 5) for job in (1, 2, 3)], 3, **scheduler(schedule))
    assert seen == [[2, 3], [3], []]


def test_a_newcomer_that_leads_the_queue_is_a_change() -> None:
    changed: dict[float, bool] = {}

    def schedule(view: SchedulingView) -> Decisions:
        changed[view.now] = view.changed
        yield from in_order(view)

    jobs = [(1, 0, 4, 10, 10), (2, 1, 4, 9, 9), (3, 2, 4, 8, 8), (4, 3, 4, 9, 9)]
    run(jobs, 4, priority="priority/sjf", **scheduler(schedule))
    assert {time: changed[time] for time in (1, 2, 3)} == {1: True, 2: True, 3: False}


def test_candidates_are_those_behind_the_head_that_fit() -> None:
    seen: dict[float, list[list[int]]] = {}

    def schedule(view: SchedulingView) -> Decisions:
        yield from in_order(view)
        seen[view.now] = [[job.id for job in view.candidates(retry)] for retry in (True, False)]

    jobs = [(1, 0, 2, 10, 10), (2, 1, 4, 1, 1), (3, 1, 3, 1, 1), (4, 1, 2, 1, 1), (5, 2, 2, 1, 1), (6, 2, 1, 1, 1)]
    run(jobs, 4, **scheduler(schedule))
    assert seen[1] == [[4], [4]]
    assert seen[2] == [[4, 5, 6], [5, 6]]


def test_earliest_start_and_profile() -> None:
    seen: list[Any] = []

    def schedule(view: SchedulingView) -> Decisions:
        yield from in_order(view)
        if view.head is not None:
            seen.append((view.now, view.head.id, view.earliest_start(view.head), view.profile().steps()))

    jobs = [(1, 0, 2, 9, 10), (2, 0, 1, 20, 20), (3, 1, 3, 1, 5), (4, 9, 4, 1, 1)]
    run(jobs, 4, compiled=False, **scheduler(schedule))
    assert seen == [
        (1, 3, (10.0, 0), [(1, 1), (10, 3), (20, 4)]),
        (9, 4, (20.0, 0), [(9, 0), (14, 3), (20, 4)]),
        (10, 4, (20.0, 0), [(10, 3), (20, 4)]),
    ]


def test_an_earliest_start_that_has_passed_is_looked_for_anew() -> None:
    # At 25 also 2 is to end now, and leaves the head a processor more than 1 alone did.
    jobs = [(1, 0, 2, 100, 10), (2, 0, 1, 100, 20), (3, 1, 3, 5, 5), (4, 25, 1, 50, 50)]
    assert starts(run(jobs, 4, kill_at_limit=False)) == {1: 0, 2: 0, 3: 100, 4: 25}


# Decisions -------------------------------------------------------------------------------


def test_jobs_start_in_the_order_of_the_decisions() -> None:
    def schedule(view: SchedulingView) -> Decisions:
        for job in sorted(view.queue, key=lambda job: -job.id):
            if job.processors <= view.free:
                yield Start(job, reason=f'no {job.id} "is" wide enough')

    log = events([(1, 0, 3, 5, 5), (2, 0, 2, 5, 5), (3, 0, 2, 5, 5)], 4, **scheduler(schedule))
    begun = [line for line in log if line["event"] == "start"]
    assert [(line["time"], line["job"], line.get("backfilled", False)) for line in begun] == [
        (0, 3, True),
        (0, 2, True),
        (5, 1, False),
    ]
    assert [line["reason"] for line in begun] == [f'no {job} "is" wide enough' for job in (3, 2, 1)]


def test_a_reservation_is_logged_and_binds_nobody() -> None:
    def schedule(view: SchedulingView) -> Decisions:
        yield from in_order(view)
        for job in view.queue:
            yield Reserve(job, view.now + 100, "perhaps")

    jobs = [(1, 0, 4, 10, 10), (2, 1, 4, 10, 10)]
    log = [line for line in events(jobs, 4, **scheduler(schedule)) if line["event"] == "reserve"]
    assert log == [{"time": 1, "event": "reserve", "job": 2, "start": 101, "reason": "perhaps"}]
    assert starts(run(jobs, 4, **scheduler(schedule))) == {1: 0, 2: 10}


def test_the_record_keeps_the_last_reservation_made_before_the_one_before_ran_out() -> None:
    times = {0: 30, 2: 20, 20: 25, 26: 50}

    def schedule(view: SchedulingView) -> Decisions:
        yield from in_order(view)
        if view.queue and view.now in times:
            yield Reserve(view.queue[0], times[int(view.now)])

    def reserved(upto: int) -> float:
        first: list[JobRow] = [(1, 0, 3, 100, 100), (2, 0, 4, 1, 1)]
        others: list[JobRow] = [(10 + time, time, 4, 0, 1) for time in times if 0 < time <= upto]
        return column(run(first + others, 4, **scheduler(schedule)), "reserved")[2]

    assert [reserved(upto) for upto in times] == [30, 20, 25, 25]


def test_a_reservation_for_never_is_null_in_the_log() -> None:
    def schedule(view: SchedulingView) -> Decisions:
        yield Reserve(view.queue[0], float("inf"))
        yield from in_order(view)

    log = events([(1, 0, 4, 1, 1)], 4, **scheduler(schedule))
    assert [line["start"] for line in log if line["event"] == "reserve"] == [None]


def test_who_asks_to_be_woken_is_called_then() -> None:
    called: list[float] = []

    def schedule(view: SchedulingView) -> Decisions:
        called.append(view.now)
        if view.now < 7.5:
            yield Wake(7.5)
        else:
            yield from in_order(view)

    assert starts(run([(1, 1, 4, 2, 2), (2, 3, 1, 2, 2)], 4, **scheduler(schedule))) == {1: 7.5, 2: 9.5}
    assert called == [1, 3, 7.5, 9.5]
    called.clear()
    run([(1, 1, 4, 2, 2), (2, 3, 1, 2, 2)], 4, passes="event", **scheduler(schedule))
    assert called == [1, 3, 7.5, 9.5]


def test_a_wake_up_calls_nobody_when_nobody_waits() -> None:
    called: list[float] = []

    def schedule(view: SchedulingView) -> Decisions:
        called.append(view.now)
        yield from in_order(view)
        yield Wake(view.now + 1)

    run([(1, 0, 4, 5, 5), (2, 9, 4, 5, 5)], 4, **scheduler(schedule))
    assert called == [0, 9]


def test_room_for_a_job_that_fits_is_there() -> None:
    answers: list[bool] = []

    def schedule(view: SchedulingView) -> Decisions:
        for job in list(view.queue):
            answers.append((yield MakeRoom(job)))
            if answers[-1]:
                yield Start(job)

    jobs = [(1, 0, 4, 5, 5), (2, 0, 4, 5, 5)]
    assert starts(run(jobs, 4, **scheduler(schedule))) == {1: 0, 2: 5}
    assert answers == [True, False, True]


# Decisions that cannot be carried out ----------------------------------------------------


def kept_job() -> Job:
    """A job of another simulation, in its first place."""
    kept: list[Job] = []

    def schedule(view: SchedulingView) -> Decisions:
        kept.extend(view.queue)
        yield from in_order(view)

    run([(1, 0, 1, 1, 1)], 1, **scheduler(schedule))
    return kept[0]


def later_job() -> Job:
    """A job of another simulation, in a place that the next one does not have."""
    kept: list[Job] = []

    def schedule(view: SchedulingView) -> Decisions:
        kept.extend(view.queue)
        yield from in_order(view)

    run([(job, 0, 1, 1, 1) for job in range(1, 51)], 1, **scheduler(schedule))
    return kept[-1]


FOREIGN = "this job is not of this simulation"
REFUSED: dict[str, tuple[Callable[[SchedulingView], Any], str, int | None]] = {
    "too many processors": (lambda view: Start(view.queue[0]), "Start: it needs 4 processors and 1 are free", 2),
    "running": (lambda view: Start(view.running[0].job), "Start: the job does not wait, it is RUNNING", 1),
    "no job": (lambda view: Start("job 3"), "Start: 'job 3' is not a job of the queue", None),
    "a run": (lambda view: Start(view.running[0]), "is not a job of the queue", None),
    "no job at all": (lambda view: Start(None), "Start: None is not a job of the queue", None),
    "another simulation's": (lambda view: Start(kept_job()), FOREIGN, 1),
    "one beyond the table": (lambda view: Start(later_job()), FOREIGN, 50),
    "reserve running": (lambda view: Reserve(view.running[0].job, 50), "Reserve: the job does not wait", 1),
    "reserve past": (lambda view: Reserve(view.queue[0], 0.5), "Reserve: the time 0.5 is not now (1) or later", 2),
    "reserve nan": (lambda view: Reserve(view.queue[0], float("nan")), "Reserve: the time nan is not now", 2),
    "reserve none": (lambda view: Reserve(view.queue[0], None), "Reserve: the time None is not now", 2),
    "reserve text": (lambda view: Reserve(view.queue[0], "12"), "Reserve: the time '12' is not now", 2),
    "reserve no job": (lambda view: Reserve(3, 50), "Reserve: 3 is not a job of the queue", None),
    "reserve another's": (lambda view: Reserve(kept_job(), 50), FOREIGN, 1),
    "room for running": (lambda view: MakeRoom(view.running[0].job), "MakeRoom: the job does not wait", 1),
    "room for no job": (lambda view: MakeRoom(None), "MakeRoom: None is not a job of the queue", None),
    "room for another's": (lambda view: MakeRoom(later_job()), FOREIGN, 50),
    "wake in the past": (lambda view: Wake(0.5), "Wake: the time 0.5 is not later than now (1)", None),
    "wake now": (lambda view: Wake(view.now), "Wake: the time 1.0 is not later than now (1)", None),
    "wake too soon": (lambda view: Wake(view.now + 1e-7), "is not later than now (1)", None),
    "wake never": (lambda view: Wake(float("inf")), "Wake: the time inf is not later", None),
    "wake nan": (lambda view: Wake(float("nan")), "Wake: the time nan is not later", None),
    "wake none": (lambda view: Wake(None), "Wake: the time None is not later", None),
    "wake text": (lambda view: Wake("soon"), "Wake: the time 'soon' is not later", None),
    "a job": (
        lambda view: view.queue[0],
        "a scheduler yields decisions: Start, Move, Preempt, Reserve, MakeRoom, Wake",
        None,
    ),
    "nothing": (lambda view: None, "yielded None; a scheduler yields decisions", None),
    "the class": (lambda view: Start, "a scheduler yields decisions", None),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case: str) -> None:
    decide, told, job = REFUSED[case]

    class Wrong:
        name: ClassVar[str] = "sched/wrong"

        @hookimpl
        def schedule(self, view: SchedulingView) -> Decisions:
            yield from in_order(view)
            if view.now == 1:
                yield decide(view)  # the wrong decision

    error = failing(JOBS, 4, scheduler="sched/wrong", plugins=[Wrong])
    assert told in error.message
    assert (error.plugin, error.hook, error.job, error.time) == ("sched/wrong", "schedule", job, 1.0)
    assert error.where == line_with("the wrong decision", test_refused)


def test_a_job_of_another_simulation_is_refused_though_one_waits_in_its_place() -> None:
    other = kept_job()

    def schedule(view: SchedulingView) -> Decisions:
        yield Start(other)

    error = failing(JOBS, 4, **scheduler(schedule))
    assert FOREIGN in error.message
    assert (error.job, error.time) == (1, 0.0)


def test_a_job_that_has_ended_is_refused() -> None:
    kept: list[Job] = []

    def schedule(view: SchedulingView) -> Decisions:
        kept.extend(view.new_jobs)
        yield from in_order(view)
        if view.now > 9:
            yield Start(kept[0])

    error = failing(JOBS, 4, **scheduler(schedule))
    assert "the job does not wait, it is COMPLETED" in error.message
    assert (error.job, error.time) == (1, 10.0)


@pytest.mark.parametrize(("again", "state"), [(1, "RUNNING"), (2, "COMPLETED"), (3, "RUNNING")])
def test_a_job_is_started_once_though_there_is_room_for_two(again: int, state: str) -> None:
    kept: dict[int, Job] = {}

    def schedule(view: SchedulingView) -> Decisions:
        kept.update({job.id: job for job in view.queue})
        yield from in_order(view)
        if view.now == 5:
            yield Start(kept[again])

    error = failing([(1, 0, 1, 10, 10), (2, 0, 1, 3, 3), (3, 5, 1, 3, 3)], 9, **scheduler(schedule))
    assert error.message == f"Start: the job does not wait, it is {state}"
    assert (error.plugin, error.hook, error.job, error.time) == ("sched/mine", "schedule", again, 5.0)


@pytest.mark.parametrize(
    "endless",
    [
        lambda view: Reserve(view.queue[0], view.now + 5),
        lambda view: Wake(view.now + 5),
        lambda view: MakeRoom(view.queue[0]),
    ],
    ids=["reserve", "wake", "make_room"],
)
def test_a_pass_without_end_is_ended(endless: Any) -> None:
    def schedule(view: SchedulingView) -> Decisions:
        yield from in_order(view)
        while view.head is not None:
            yield endless(view)

    error = failing(JOBS, 4, **scheduler(schedule))
    assert "the pass makes no progress" in error.message
    assert (error.plugin, error.hook, error.job, error.time) == ("sched/mine", "schedule", 2, 1.0)


def test_a_reservation_for_each_of_many_jobs_is_no_endless_pass() -> None:
    def schedule(view: SchedulingView) -> Decisions:
        yield from in_order(view)
        for _ in range(2):
            for job in view.queue:
                yield Reserve(job, view.now + 1)

    jobs = [(job, 0, 1, 0.5, 1) for job in range(1, 6001)]
    run(jobs, 3000, **scheduler(schedule))


def test_jobs_that_are_never_started_end_the_simulation() -> None:
    def schedule(view: SchedulingView) -> Decisions:
        for job in list(view.queue):
            if job.id != 2 and job.processors <= view.free:
                yield Start(job)

    error = failing(JOBS, 4, **scheduler(schedule))
    assert "1 jobs still wait and nothing more will happen" in error.message
    assert (error.plugin, error.hook, error.job, error.time) == ("sched/mine", "schedule", 2, 15.0)


@pytest.mark.parametrize(("passes", "ended"), [("batch", 350), ("event", 349)])
def test_who_only_ever_asks_to_be_woken_ends_the_simulation(
    monkeypatch: pytest.MonkeyPatch, passes: str, ended: float
) -> None:
    monkeypatch.setattr("emulator.livelock.MOST_IDLE_WAKES", 50)

    def schedule(view: SchedulingView) -> Decisions:
        if view.head is not None and view.head.id < 3:
            yield from in_order(view)
        yield Wake(view.now + 1)

    jobs = [(1, 0, 4, 200, 200), (2, 1, 4, 5, 5), (4, 300, 4, 1, 1), (3, 2, 4, 5, 5)]
    error = failing(jobs, 4, passes=passes, **scheduler(schedule))
    assert "Wake: asked for 51 times while 2 jobs wait, nothing runs and nothing is to come" in error.message
    assert (error.plugin, error.hook, error.job, error.time) == ("sched/mine", "schedule", 3, ended)


def test_who_waits_for_long_may_be_woken_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("emulator.livelock.MOST_IDLE_WAKES", 50)

    def schedule(view: SchedulingView) -> Decisions:
        assert view.head is not None
        if view.now >= 49 * view.head.id:
            yield Start(view.head)
        yield Wake(view.now + 1)

    jobs = [(job, 0, 1, 0, 1) for job in range(1, 5)]
    assert starts(run(jobs, 1, **scheduler(schedule))) == {1: 49, 2: 98, 3: 147, 4: 196}


# Instances -------------------------------------------------------------------------------


def test_each_simulation_has_an_instance_of_its_own() -> None:
    class Counting:
        name: ClassVar[str] = "sched/counting"

        def __init__(self) -> None:
            self.passes = 0

        @hookimpl
        def schedule(self, view: SchedulingView) -> Decisions:
            self.passes += 1
            yield from in_order(view)

    results = [run(JOBS, 4, scheduler="sched/counting", plugins=[Counting]) for _ in range(2)]
    first, second = (result.plugins["sched/counting"] for result in results)
    assert first is not second
    assert first.passes == second.passes > 0


def test_the_rest_of_a_pass_may_come_from_elsewhere() -> None:
    def rest(jobs: list[Job]) -> Iterator[Start]:
        yield from map(Start, jobs)

    def schedule(view: SchedulingView) -> Decisions:
        if view.head is not None and view.head.processors <= view.free:
            yield from rest([view.head])

    assert starts(run([(1, 0, 4, 1, 1), (2, 0, 4, 1, 1)], 4, **scheduler(schedule))) == {1: 0, 2: 1}


def returning(value: Any, late: float = 0.0) -> dict[str, Any]:
    """A scheduler that returns its last decisions instead of making them."""

    class Mine:
        name: ClassVar[str] = "sched/mine"

        @hookimpl
        def schedule(self, view: SchedulingView) -> Any:
            yield from in_order(view)
            return value if view.now >= late else None

    return {"scheduler": "sched/mine", "plugins": [Mine]}


@pytest.mark.parametrize("dispatch", ["resolved", "pluggy"])
def test_what_a_scheduler_returns_is_refused_as_nothing_comes_of_it(dispatch: str) -> None:
    error = failing(JOBS, 4, **returning([1], late=5.0), dispatch=dispatch)
    assert error.message == "returned [1]; nothing comes of that: yield each decision, and return nothing"
    assert (error.plugin, error.hook, error.time) == ("sched/mine", "schedule", 10.0)
    assert starts(run(JOBS, 4, **returning(None), dispatch=dispatch)) == starts(run(JOBS, 4, scheduler="sched/fcfs"))


def test_a_coroutine_is_no_generator() -> None:
    made: list[Any] = []

    async def later() -> None:
        """Asynchronous, as no hook is."""

    def schedule(view: SchedulingView) -> Any:
        made.append(later())
        return made[-1]

    error = failing(JOBS, 4, **scheduler(schedule))
    made[-1].close()
    assert "it must be a generator: yield each decision" in error.message


@pytest.mark.parametrize("nodes", [False, True])
def test_a_promise_takes_a_time(nodes: bool) -> None:
    def schedule(view: Any) -> Any:
        plan = view.plan()
        for entry in plan.heads():
            if (place := plan.now(entry).place) is not None:
                yield Start(entry, where=place)
            else:
                plan.promise(entry, not_before=float("nan"))

    class Nan:
        name: ClassVar[str] = "sched/nan"
        schedule = hookimpl(lambda self, view: schedule(view))

    scene = cluster(nodes=2, cpus=2) if nodes else cluster(4)
    with pytest.raises(PluginError, match="not_before is nan, which is no time; give seconds"):
        play(Nan, scene.running(one(4)).waiting(one(4)))
