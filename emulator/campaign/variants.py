"""Options with several values, and all that can be made of them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from slurm_sim_plugins.errors import ConfigurationError

RANGE = ("from", "to", "step")
MOST = 1_000_000
"""Values of one option, and runs of one campaign: more is a mistake."""


@dataclass(frozen=True)
class Variant:
    """One choice of values.

    Attributes:
        values: all options by path.
        varied: those that have several values in the campaign.
    """

    values: Mapping[str, Any] = field(default_factory=dict)
    varied: Mapping[str, Any] = field(default_factory=dict)

    def label(self, name: str) -> str:
        """A name and the varied options, such as ``history percentile=85``."""
        return " ".join([name, *(f"{option_name(path)}={value}" for path, value in self.varied.items())])


def option_name(path: str) -> str:
    """The last word of a path: ``percentile`` of ``walltime/history.percentile``."""
    return path.rpartition(".")[2]


def variants(options: Mapping[str, Any], stated: str) -> list[Variant]:
    """All combinations of the values of options.

    Args:
        options: by path; a list or a range (``{ from = 1, to = 9, step = 2 }``) is several values.
        stated: where they are stated, for messages.

    Raises:
        ConfigurationError: a list or range that cannot be, or too many combinations.
    """
    axes = {path: values_of(value, f"{stated}.{path}") for path, value in options.items()}
    varied = [path for path, value in options.items() if isinstance(value, list | dict)]
    check_count(math.prod(map(len, axes.values())), stated)
    return [
        Variant(dict(zip(axes, chosen, strict=True)), {path: chosen[list(axes).index(path)] for path in varied})
        for chosen in itertools.product(*axes.values())
    ]


def values_of(value: Any, stated: str) -> list[Any]:
    """The values that an option is to have, one after the other.

    Raises:
        ConfigurationError: an empty list, a value that is there twice, a range that cannot be.
    """
    if isinstance(value, dict):
        return _range(value, stated)
    if not isinstance(value, list):
        return [_plain(value, stated)]
    if not value:
        raise ConfigurationError(f"{stated}: the list is empty; give at least one value")
    for index, each in enumerate(value):
        _plain(each, stated)
        if any(each == other and type(each) is type(other) for other in value[:index]):
            raise ConfigurationError(f"{stated}: {each!r} is in the list twice")
    return list(value)


def check_count(runs: int, stated: str) -> None:
    """Refuse more runs than anybody can mean.

    Raises:
        ConfigurationError: so many.
    """
    if runs > MOST:
        raise ConfigurationError(f"{stated}: these are {runs:,} runs; at most {MOST:,} are possible")


def _plain(value: Any, stated: str) -> Any:
    if not isinstance(value, bool | int | float | str) or (isinstance(value, float) and not math.isfinite(value)):
        raise ConfigurationError(f"{stated}: a value is a number, text, or true or false, not {value!r}")
    return value


def _range(given: Mapping[str, Any], stated: str) -> list[Any]:
    """From the first to the last value, both included; whole numbers if all three are."""
    unknown = [key for key in given if key not in RANGE]
    numbers: Iterable[Any] = given.values()
    if unknown or not {"from", "to"} <= set(given) or any(isinstance(n, bool | str | list | dict) for n in numbers):
        raise ConfigurationError(f"{stated}: write a range as {{ from = 1, to = 9, step = 2 }}, with numbers")
    first, last, step = given["from"], given["to"], given.get("step", 1)
    if not all(math.isfinite(number) for number in (first, last, step)) or step <= 0 or last < first:
        raise ConfigurationError(f"{stated}: a range goes up from its first to its last value in steps above 0")
    # In decimals, as it is written: of doubles, 0.1 + 2 * 0.1 is not 0.3.
    start, by = Decimal(repr(first)), Decimal(repr(step))
    count = int((Decimal(repr(last)) - start) / by) + 1
    check_count(count, stated)
    whole = isinstance(first, int) and isinstance(step, int)
    return [int(value) if whole else float(value) for value in (start + index * by for index in range(count))]
