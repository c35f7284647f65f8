"""Parameters of the model of Jann et al.: a hyper-Erlang of gaps and one of run times a range of sizes.

They are kept as TOML, so that an imitation of a log can be made without the log:

.. code-block:: toml

    source = "CTC-SP2-1996-3.1-cln"

    [[range]]
    sizes = [3, 4]             # processors
    jobs = [990, 8305]         # how many of each size the log holds
    [range.gaps]               # seconds between two submissions of this range
    order = 2
    share = 0.93
    first = 420.5              # mean length of a stage, in seconds
    second = 4321.0
    matched = 3                # moments of the log that it has
    [range.runs]
    ...

The file is data; a value that cannot be used is an error that says where it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

from emulator.config.tables import parse_toml, text_of_toml
from emulator.files import write_data
from emulator.workload.models import common
from emulator.workload.models.hyper_erlang import HyperErlang
from slurm_sim_plugins.errors import ConfigurationError, InputError

Made = TypeVar("Made")


@dataclass(frozen=True)
class SizeRange:
    """The jobs of a range of sizes.

    Attributes:
        sizes: processors, ascending.
        jobs: for each size, how many jobs the log holds; their ratios are the model's.
        gaps: seconds between two submissions.
        runs: run times in seconds.

    Raises:
        ConfigurationError: no sizes, sizes that are not ascending from 1 on, or not one
            number of jobs for each, 1 or more.
    """

    sizes: tuple[int, ...]
    jobs: tuple[int, ...]
    gaps: HyperErlang
    runs: HyperErlang

    def __post_init__(self) -> None:
        if not self.sizes or len(self.sizes) != len(self.jobs):
            raise ConfigurationError("jann97: a range needs as many numbers of jobs as it has sizes, and one at least")
        for size in self.sizes:
            common.whole("jann97: a size", size, 1)
        for count in self.jobs:
            common.whole("jann97: a number of jobs", count, 1)
        if list(self.sizes) != sorted(set(self.sizes)):
            raise ConfigurationError(f"jann97: sizes {list(self.sizes)[:5]} ... must ascend")

    @property
    def total(self) -> int:
        """How many jobs the log holds."""
        return sum(self.jobs)

    @property
    def mean_size(self) -> float:
        """Mean number of processors."""
        return sum(size * count for size, count in zip(self.sizes, self.jobs, strict=True)) / self.total


@dataclass(frozen=True)
class Jann97Parameters:
    """All ranges of a log.

    Attributes:
        ranges: by size; no size is in two of them.
        source: the log's name.

    Raises:
        ConfigurationError: no range, or ranges that are not ascending.
    """

    ranges: tuple[SizeRange, ...]
    source: str

    def __post_init__(self) -> None:
        if not self.ranges:
            raise ConfigurationError("jann97: there is no range of sizes; one is needed")
        sizes = [size for each in self.ranges for size in each.sizes]
        if sizes != sorted(set(sizes)):
            raise ConfigurationError("jann97: the ranges must ascend, and no size can be in two of them")

    def digest(self) -> str:
        """SHA-256 of all numbers, in hex."""
        return common.digest(*(repr(_plain(each)) for each in self.ranges))


def read_parameters(path: Path) -> Jann97Parameters:
    """Read parameters.

    Raises:
        InputError: the file cannot be read, is not TOML, or holds something else; the
            message names file and table.
    """
    return parse_parameters(text_of_toml(path), str(path))


def parse_parameters(text: str, location: str) -> Jann97Parameters:
    """As :func:`read_parameters`, of a text; ``location`` says where it is from."""
    tables = _take(parse_toml(text, location), {"range": list, "source": str}, location)
    ranges = []
    for number, table in enumerate(tables["range"], 1):
        where = f"{location}: range {number}"
        if not isinstance(table, dict):
            raise InputError(f"{where} must be a table, [[range]]")
        ranges.append(_range(table, where))
    return _checked(location, lambda: Jann97Parameters(tuple(ranges), tables["source"]))


def write_parameters(parameters: Jann97Parameters, path: Path) -> None:
    """Write parameters; read again they are the same.

    Raises:
        OutputError: the file cannot be written; what was there before is still there.
    """
    import tomli_w

    data = {"source": parameters.source, "range": [_plain(each) for each in parameters.ranges]}
    write_data(path, tomli_w.dumps(data))


def _plain(each: SizeRange) -> dict[str, Any]:
    return {
        "sizes": list(each.sizes),
        "jobs": list(each.jobs),
        "gaps": asdict(each.gaps),
        "runs": asdict(each.runs),
    }


def _range(table: Mapping[str, Any], where: str) -> SizeRange:
    keys = _take(table, {"sizes": list, "jobs": list, "gaps": dict, "runs": dict}, where)
    sizes, jobs = (_whole_numbers(keys[name], f"{where}: {name}") for name in ("sizes", "jobs"))
    gaps, runs = (_distribution(keys[name], f"{where}: {name}") for name in ("gaps", "runs"))
    return _checked(where, lambda: SizeRange(sizes, jobs, gaps, runs))


def _distribution(table: Mapping[str, Any], where: str) -> HyperErlang:
    kinds = {item.name: int if item.name in ("order", "matched") else float for item in fields(HyperErlang)}
    return _checked(where, lambda: HyperErlang(**_take(table, kinds, where)))


def _whole_numbers(values: list[Any], where: str) -> tuple[int, ...]:
    for value in values:
        if type(value) is not int:
            raise InputError(f"{where} holds {value!r}; it takes whole numbers")
    return tuple(values)


def _take(table: Mapping[str, Any], kinds: Mapping[str, type], where: str) -> dict[str, Any]:
    """The values of a table that has exactly those keys."""
    unknown = [key for key in table if key not in kinds]
    missing = [key for key in kinds if key not in table]
    if unknown or missing:
        problem = f"has the unknown key {unknown[0]!r}" if unknown else f"has no {missing[0]}"
        raise InputError(f"{where}: {problem}; the keys are {', '.join(kinds)}")
    values = {}
    for key, kind in kinds.items():
        value = float(table[key]) if kind is float and type(table[key]) is int else table[key]
        if type(value) is not kind:
            raise InputError(f"{where}: {key} is {value!r}; it takes {_WORDS[kind]}")
        values[key] = value
    return values


_WORDS = {int: "a whole number", float: "a number", str: "a text", list: "a list", dict: "a table"}


def _checked(where: str, make: Callable[[], Made]) -> Made:
    """What ``make`` makes; what it refuses is an error of the file."""
    try:
        return make()
    except ConfigurationError as error:
        raise InputError(f"{where}: {error}") from error
