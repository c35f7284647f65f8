"""Frozen objects that are made quickly are those that their class makes."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError, dataclass, field, fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.workload.quickly import quickly
from emulator.workload.request import JobRequest
from emulator.workload.sitelog import Happened, LoggedJob, LoggedRun


@dataclass(frozen=True, slots=True)
class Some:
    """Fields of all kinds: without a default, with one, with one that is made, and one that does not count."""

    first: int
    second: float = 2.0
    third: list[int] = field(default_factory=list)
    fourth: str = field(default="", compare=False)


@given(st.integers(), st.fixed_dictionaries({}, optional={"second": st.floats(allow_nan=False), "fourth": st.text()}))
def test_the_same_arguments_make_the_same_object(first: int, more: dict[str, Any]) -> None:
    made, plain = quickly(Some)(first, **more), Some(first, **more)
    assert type(made) is Some
    assert made == plain
    assert repr(made) == repr(plain)
    assert made.fourth == plain.fourth


@pytest.mark.parametrize(
    ("kind", "arguments"),
    [
        (JobRequest, (1, 2.0, 3.0)),
        (LoggedRun, (1.0, None, 3.0, "COMPLETED", "n1", 4, "p")),
        (Happened, ("COMPLETED", None, ())),
        (LoggedJob, ("1_2", JobRequest(1, 2.0, 3.0), None, Happened("PENDING", None, ()), 7)),
    ],
)
def test_what_is_made_is_frozen_and_may_be_kept(kind: type[Any], arguments: tuple[object, ...]) -> None:
    made, plain = quickly(kind)(*arguments), kind(*arguments)
    assert hash(made) == hash(plain)
    assert pickle.loads(pickle.dumps(made)) == copy.copy(made) == replace(made) == plain
    with pytest.raises(FrozenInstanceError):
        setattr(made, fields(kind)[0].name, 0)


def test_each_has_what_is_made_for_it_for_itself() -> None:
    one, other = quickly(Some)(1), quickly(Some)(1)
    one.third.append(3)
    assert other.third == []


@pytest.mark.parametrize("wrong", [(), (1, 2.0, [], "", 5)])
def test_what_is_missing_or_too_much_is_said_as_by_the_class(wrong: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError, match="argument"):
        quickly(Some)(*wrong)
