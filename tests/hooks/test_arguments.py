"""A hook takes as many of its arguments as it wants, in any order."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ClassVar

import pytest

from slurm_sim_plugins import Start, hookimpl
from slurm_sim_plugins.hookspecs import SPECS
from tests.builders.jobs import run, starts, times

JOBS = [(1, 0, 4, 10, 10), (2, 1, 4, 9, 9), (3, 1, 2, 8, 8)]
BOTH_WAYS = pytest.mark.parametrize("dispatch", ["resolved", "pluggy"])


def plugin(name: str, **hooks: Callable[..., Any]) -> type:
    return type("Mine", (), {"name": name, **{hook: hookimpl(function) for hook, function in hooks.items()}})


ENDED: dict[str, Callable[[list[Any]], Callable[..., None]]] = {
    "as specified": lambda told: lambda self, job, run, state, now: told.append((job.id, run.start, state, now)),
    "reordered": lambda told: lambda self, now, state, run, job: told.append((job.id, run.start, state, now)),
    "a subset": lambda told: lambda self, now, job: told.append((job.id, now)),
    "one": lambda told: lambda self, state: told.append((state,)),
    "none": lambda told: lambda self: told.append(()),
}


@BOTH_WAYS
@pytest.mark.parametrize("kind", ENDED)
def test_any_of_several(kind: str, dispatch: str) -> None:
    told: list[Any] = []
    run(JOBS[:2], 4, dispatch=dispatch, plugins=[plugin("observer/mine", job_ended=ENDED[kind](told))])
    everything = [(1, 0.0, "COMPLETED", 10.0), (2, 10.0, "COMPLETED", 19.0)]
    kept = {"a subset": [(1, 10.0), (2, 19.0)], "one": [("COMPLETED",)] * 2, "none": [()] * 2}
    assert told == kept.get(kind, everything)


@BOTH_WAYS
def test_static_methods_and_functions_with_defaults(dispatch: str) -> None:
    told: list[Any] = []

    class Mine:
        name: ClassVar[str] = "observer/mine"

        @staticmethod
        @hookimpl
        def job_started(now: float, run: Any) -> None:
            told.append((now, run.job.id))

    run(JOBS[:2], 4, dispatch=dispatch, plugins=[Mine])
    assert told == [(0, 1), (10, 2)]


@BOTH_WAYS
def test_a_hook_of_a_slot_without_its_argument(dispatch: str) -> None:
    result = run(
        JOBS,
        4,
        dispatch=dispatch,
        plugins=[plugin("walltime/mine", walltime_submit=lambda self: 3), plugin("sched/mine", schedule=fcfs)],
        walltime="walltime/mine",
        scheduler="sched/mine",
    )
    assert result.records.jobs["planned"].tolist() == [3, 3, 3]
    assert times(result) == times(run(JOBS, 4, scheduler="sched/fcfs"))


def fcfs(self: Any, view: Any) -> Any:
    while view.head is not None and view.head.processors <= view.free:
        yield Start(view.head)


@BOTH_WAYS
def test_a_decorated_hook(dispatch: str) -> None:
    calls: list[str] = []

    def noted(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def around(*arguments: Any, **named: Any) -> Any:
            calls.append(function.__name__)
            return function(*arguments, **named)

        return around

    mine = plugin("sched/mine", schedule=noted(fcfs), job_started=noted(lambda self, run: None))
    assert starts(run(JOBS, 4, dispatch=dispatch, plugins=[mine], scheduler="sched/mine")) == {1: 0, 2: 10, 3: 19}
    assert calls.count("fcfs") == 4
    assert len(calls) == 7


@BOTH_WAYS
def test_inherited_hooks(dispatch: str) -> None:
    base = plugin("sched/base", schedule=fcfs)
    derived = type("Derived", (base,), {"name": "sched/derived"})
    result = run(JOBS, 4, dispatch=dispatch, plugins=[derived], scheduler="sched/derived")
    assert times(result) == times(run(JOBS, 4, scheduler="sched/fcfs"))


def test_every_hook_names_its_arguments() -> None:
    import inspect

    for spec in SPECS.values():
        for name, hook in vars(spec).items():
            if not name.startswith("_"):
                parameters = list(inspect.signature(hook).parameters)
                assert parameters[0] == "self"
                assert len(parameters) > 1
