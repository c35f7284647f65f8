"""Frozen objects of which a log has one for each job, made in half of the time."""

from __future__ import annotations

from dataclasses import fields, make_dataclass
from typing import Any, TypeVar

T = TypeVar("T")
_TWINS: dict[type, Any] = {}


def quickly(frozen: type[T]) -> type[T]:
    """What makes objects of a frozen dataclass from the same arguments.

    What is frozen has each of its fields set by a call. Here an object of a twin, which has the same slots, has them
    set as any object has, and is frozen as it becomes one of the class that was asked for.

    Args:
        frozen: the dataclass, with slots and without a ``__post_init__``.
    """
    if frozen not in _TWINS:
        _TWINS[frozen] = _twin(frozen)
    twin: type[T] = _TWINS[frozen]
    return twin


def _twin(frozen: Any) -> type:
    def freeze(self: object) -> None:
        self.__class__ = frozen

    listed = [(each.name, each.type, each) for each in fields(frozen)]
    return make_dataclass(frozen.__name__, listed, namespace={"__post_init__": freeze}, slots=True)
