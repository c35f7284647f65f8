"""pass_done: told when a scheduling pass is over."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from emulator import simulate
from emulator.config.slurm import parse_slurm_conf
from slurm_sim_plugins import View, hookimpl
from tests.builders.jobs import failing, line_with, run, times, workload

JOBS = [(1, 0, 3, 10, 10), (2, 1, 4, 5, 5), (3, 2, 1, 5, 5), (4, 3, 1, 9, 9)]


class Listening:
    name: ClassVar[str] = "observer/listening"

    def __init__(self) -> None:
        self.told: list[tuple[Any, ...]] = []

    @hookimpl
    def pass_done(self, view: View) -> str:
        head = view.head.id if view.head is not None else None
        queue, running = [job.id for job in view.queue], [run.job.id for run in view.running]
        self.told.append((view.now, view.free, view.total, head, queue, running))
        return "what it answers is ignored"


def test_told_after_each_pass_what_it_left() -> None:
    result = run(JOBS, 4, plugins=[Listening])
    assert result.plugins["observer/listening"].told == [
        (0, 1, 4, None, [], [1]),
        (1, 1, 4, 2, [2], [1]),
        (2, 0, 4, 2, [2], [3, 1]),
        (7, 1, 4, 2, [2, 4], [1]),
        (10, 0, 4, 4, [4], [2]),
        (15, 3, 4, None, [], [4]),
    ]
    assert times(result) == times(run(JOBS, 4))


def test_with_a_pass_after_each_event() -> None:
    jobs = [(1, 0, 2, 5, 5), (2, 0, 2, 5, 5), (3, 0, 4, 5, 5)]
    told = run(jobs, 4, plugins=[Listening], passes="event", scheduler="sched/fcfs").plugins["observer/listening"].told
    assert [(entry[0], entry[5]) for entry in told] == [(0, [1]), (0, [1, 2]), (0, [1, 2]), (5, [3])]


def test_an_exception_names_the_time() -> None:
    class Failing:
        name: ClassVar[str] = "observer/failing"

        @hookimpl
        def pass_done(self, view: View) -> None:
            view.queue[1]  # fails when fewer wait

    error = failing(JOBS, 4, plugins=[Failing])
    assert error.message == "IndexError: list index out of range"
    assert (error.plugin, error.hook, error.job, error.time) == ("observer/failing", "pass_done", None, 0.0)
    assert error.where == line_with("fails when fewer wait", test_an_exception_names_the_time)
    assert str(error).startswith("plugin observer/failing, hook pass_done, time 0 s, ")


class Asking:
    name: ClassVar[str] = "observer/asking"

    def __init__(self) -> None:
        self.told: set[tuple[float, int, str]] = set()

    @hookimpl
    def pass_done(self, view: View) -> None:
        self.told |= {(view.now, job.id, view.reason(job)) for job in view.queue}


@pytest.mark.parametrize("clock", ["flat", "ideal", "slurm"])
def test_each_waiting_job_has_a_reason_on_any_machine(clock: str) -> None:
    given = workload([(1, 0, 4, 100, 120), (2, 1, 4, 5, 60), (3, 1, 4, 5, 60)])
    conf = "ClusterName=t\nSelectType=select/cons_tres\nSelectTypeParameters=CR_CPU\nNodeName=n CPUs=4\n"
    conf += "PartitionName=p Nodes=ALL Default=YES MaxTime=INFINITE\n"
    machine: Any = 4 if clock == "flat" else parse_slurm_conf(conf)
    done = simulate(given, machine, plugins=[Asking], clock=None if clock == "flat" else clock)
    told = done.plugins["observer/asking"].told
    assert {(number, reason) for time, number, reason in told if 1 <= time < 100 and number > 1} >= {
        (2, "Resources"),
        (3, "Priority"),
    }
