"""Stand between the emulator and every hook, whichever hooks there are."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import Any, TypeVar

from slurm_sim_plugins.hookspecs import LOOPS, SPECS, hookimpl
from slurm_sim_plugins.jobs import Job

Factory = TypeVar("Factory", bound=type)
Around = Generator[None, Any, Any]

_IN_QUESTION = ("to_set", "to_try", "preemptor", "job", "waiting")
"""What a view calls the jobs that a call is about."""


def hooks() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Every hook and its specification."""
    for spec in SPECS.values():
        for name, hook in vars(spec).items():
            if not name.startswith("_"):
                yield name, hook


def around_every_hook(factory: Factory) -> Factory:
    """Give an observer a wrapper for each hook, which hands over to its method ``around``.

    ``around(hook, values)`` is a generator that yields once, gets the answer and returns
    it; ``values`` are the hook's arguments by name.
    """
    for name, hook in hooks():
        setattr(factory, name, hookimpl(wrapper=True)(_wrapper(name, hook)))
    return factory


def _wrapper(name: str, hook: Callable[..., Any]) -> Callable[..., Around]:
    arguments = list(inspect.signature(hook).parameters)[1:]

    def wrapper(self: Any, *values: Any) -> Around:
        return (yield from self.around(name, dict(zip(arguments, values, strict=True))))

    # So that pluggy hands over what the specification names.
    wrapper.__wrapped__ = hook  # type: ignore[attr-defined]
    wrapper.__name__ = name
    return wrapper


def time_of(values: dict[str, Any], before: float) -> float:
    """The simulated time of a call, in seconds; ``before``, that of the call before, if its view shows none."""
    return float(values["now"] if "now" in values else getattr(values["view"], "now", before))


def jobs_of(hook: str, values: dict[str, Any]) -> tuple[Job, ...]:
    """The jobs that a call is about; of a scheduler's all that wait."""
    if "job" in values:
        return (values["job"],)
    if "run" in values:
        return (values["run"].job,)
    view = values["view"]
    if hook in LOOPS:
        return tuple(entry.job for entry in view.queue)
    asked = (getattr(view, name) for name in _IN_QUESTION if hasattr(type(view), name))
    return next((_jobs(jobs) for jobs in asked), ())


def steps(decisions: Any, before: Callable[[], None], after: Callable[[Any], None]) -> Generator[Any, Any, Any]:
    """The same decisions; ``before`` is called ahead of each step, ``after`` with what it yielded, or None."""
    answer = None
    while True:
        before()
        decision = None
        try:
            decision = decisions.send(answer)
        except StopIteration as over:
            return over.value
        finally:
            after(decision)
        answer = yield decision


def _jobs(asked: Any) -> tuple[Job, ...]:
    if isinstance(asked, Iterable):
        return tuple(asked)
    # What a command changes is shown as a record of a job.
    return (asked,) if isinstance(asked, Job) else ()
