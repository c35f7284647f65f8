"""Checks of where a plugin keeps its state: on the instance, and nowhere else."""

from __future__ import annotations

import gc
import inspect
import sys
from collections import deque
from collections.abc import Iterator
from functools import partial
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

from emulator.state.instants import MICROSECONDS
from emulator.testing.conformance import workloads
from emulator.testing.conformance.report import Nonconformity
from emulator.testing.conformance.source import (
    line_of_attribute,
    line_of_class,
    line_of_function,
    line_of_global,
    line_of_keeping,
)
from emulator.testing.conformance.subject import Subject, Trial
from slurm_sim_plugins.jobs import Job, Jobs, Runs
from slurm_sim_plugins.testing import HookRecorder
from slurm_sim_plugins.views import ClusterState, Oracle, View

SLICES = 40
"""Two simulations side by side take turns so often."""
WATCHED = 40
"""Jobs of a simulation of which every hook call is recorded."""
DEEPEST = 6
"""Containers within containers are looked into so far."""
CODE = (type, ModuleType, FunctionType, BuiltinFunctionType, property, classmethod, staticmethod)


def same_answers(subject: Subject) -> None:
    """Two fresh instances that are asked the same answer alike."""
    for policy in subject.policies():
        first, second = (
            subject.trial(workloads.mixed(jobs=WATCHED), policy, observers=[HookRecorder]).finish() for _ in range(2)
        )
        for one, other in zip(_calls(first), _calls(second), strict=False):
            if repr(one) != repr(other):
                raise Nonconformity(
                    f"{_line_of_hook(subject, one.hook)}: asked the same at {one.time:g} s, one fresh instance "
                    f"answered {_short(one.answer)}, the next {_short(other.answer)}; take random numbers from a "
                    "parameter called rng, and keep what is remembered on self"
                )


def own_state(subject: Subject) -> None:
    """What it remembers, it keeps on the instance: nothing of a class or module changes in a simulation."""
    alone = subject.trial(workloads.mixed()).finish().log
    before = dict(_shared(subject.info.factory))
    subject.trial(workloads.mixed(seed=7)).finish()
    for where, value in _shared(subject.info.factory):
        if before.get(where, value) != value:
            raise Nonconformity(where())
    if subject.trial(workloads.mixed()).finish().log != alone:
        raise Nonconformity(
            f"{line_of_class(subject.info.factory)}: after a simulation of other jobs it schedules otherwise than "
            "before it; keep all state on self, and make it in __init__"
        )


def keeps_no_view(subject: Subject) -> None:
    """It keeps no view: each is one object that shows whatever is so now."""
    for policy in subject.policies():
        trial = subject.trial(workloads.mixed(), policy).finish()
        found = _path_to_view(trial.selection.plugins[subject.info.name])
        if found is not None:
            attribute, kind = found
            raise Nonconformity(
                f"{line_of_keeping(subject.info.factory, attribute)}: self.{attribute} keeps a {kind} after the hook "
                "has returned, and it shows whatever is so later; keep jobs, or what you read of them"
            )


def side_by_side(subject: Subject) -> None:
    """Two simulations that take turns do not interfere."""
    cases = (workloads.mixed(), workloads.mixed(seed=7))
    for policy in subject.policies():
        alone = [subject.trial(case, policy).finish().log for case in cases]
        together = [subject.trial(case, policy) for case in cases]
        for now in _turns(*cases):
            for trial in together:
                trial.simulation.advance(now)
        if [trial.finish().log for trial in together] != alone:
            raise Nonconformity(
                f"{line_of_class(subject.info.factory)}: two simulations that take turns disturb one another "
                f"({policy}); keep all state on self, not on the class or in the module"
            )


def _turns(*cases: workloads.Case) -> Iterator[int]:
    last = max(float(case.workload.submit[-1]) for case in cases) + 100
    yield from (round(last * turn / SLICES) * MICROSECONDS for turn in range(1, SLICES))


def _calls(trial: Trial) -> Any:
    return trial.selection.plugins[HookRecorder.name].calls


def _line_of_hook(subject: Subject, hook: str) -> str:
    return line_of_function(getattr(subject.info.factory, hook, subject.info.factory))


class _Where:
    """Where something shared stands; what is to be said of it is worked out when it is wanted."""

    def __init__(self, key: tuple[Any, ...], words: Any) -> None:
        self._key = key
        self._words = words

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Where) and self._key == other._key

    def __call__(self) -> str:
        return str(self._words())


def _shared(factory: type) -> Iterator[tuple[_Where, Any]]:
    """What instances of a class share: attributes of the class, defaults of its methods, globals of its module."""
    for each in inspect.getmro(factory):
        if each is object or each.__module__ == "builtins":
            continue
        for name, value in vars(each).items():
            if isinstance(value, FunctionType):
                yield from _defaults(each, name, value)
            elif not name.startswith("__") and not isinstance(value, CODE):
                yield _Where((each, name), partial(_class_words, each, name)), _frozen(value)
        module = sys.modules.get(each.__module__)
        if module is None:
            continue
        for name, value in vars(module).items():
            if not name.startswith("__") and not isinstance(value, CODE):
                yield _Where((module, name), partial(_module_words, module, name)), _frozen(value)


def _defaults(owner: type, name: str, function: FunctionType) -> Iterator[tuple[_Where, Any]]:
    given = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    if given:
        yield _Where((owner, name, "defaults"), partial(_default_words, function)), _frozen(given)


def _class_words(owner: type, name: str) -> str:
    return (
        f"{line_of_attribute(owner, name)}: the class attribute {name} changed in a simulation, and all simulations "
        f"share it; make it in __init__: self.{name} = ..."
    )


def _module_words(module: ModuleType, name: str) -> str:
    return (
        f"{line_of_global(module, name)}: the global {name} changed in a simulation, and all simulations share it; "
        "keep it on self, and make it in __init__"
    )


def _default_words(function: FunctionType) -> str:
    return (
        f"{line_of_function(function)}: a default of {function.__name__} changed in a simulation, and all simulations "
        "share it; let the default be None, and make a new one in __init__"
    )


def _frozen(value: Any, depth: int = 0) -> Any:
    """A value that can be compared later, whatever happens to the original."""
    if depth > DEEPEST:
        return "..."
    if isinstance(value, dict):
        return tuple((_frozen(key, depth + 1), _frozen(item, depth + 1)) for key, item in value.items())
    if isinstance(value, list | tuple | deque):
        return tuple(_frozen(item, depth + 1) for item in value)
    if isinstance(value, set | frozenset):
        return tuple(sorted(map(repr, value)))
    if isinstance(value, int | float | str | bytes | bool | None):
        return value
    if hasattr(value, "__dict__") and not callable(value):
        return (id(value), _frozen(vars(value), depth + 1))
    return id(value)


def _path_to_view(instance: Any) -> tuple[str, str] | None:
    """The attribute of an instance from which a view can be reached, and what kind of view it is."""
    for name, value in _attributes(instance):
        kind = _view_within(value)
        if kind is not None:
            return name, kind
    return None


def _attributes(instance: Any) -> Iterator[tuple[str, Any]]:
    yield from getattr(instance, "__dict__", {}).items()
    for each in type(instance).__mro__:
        slots = vars(each).get("__slots__", ())
        for name in [slots] if isinstance(slots, str) else slots:
            if hasattr(instance, name):
                yield name, getattr(instance, name)


def _view_within(value: Any) -> str | None:
    """What kind of view a value holds, however deep; jobs may be kept, and are not looked into."""
    seen: set[int] = set()
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if id(item) in seen or isinstance(item, (*CODE, Job)):
            continue
        seen.add(id(item))
        if isinstance(item, View | ClusterState | Jobs | Runs | Oracle):
            return type(item).__name__
        waiting += gc.get_referents(item)
    return None


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 100 else text[:97] + "..."
