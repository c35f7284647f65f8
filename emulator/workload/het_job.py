"""Heterogeneous jobs: components with options of their own, which start together (``sbatch``, "heterogeneous job").

``sbatch`` parts the words of its line with ``:``, and those of a script with ``#SBATCH hetjob``. What holds for the
whole job is handed on from one component to the next; the first begins with what any component says of it on the
line. How much, on which nodes, and in which partition is asked for by each component itself. All of it as recorded
from Slurm 22.05, 24.11 and 26.05.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

Options = Any
""":class:`~emulator.workload.sbatch.BatchOptions`, which reads components by this module."""
SEPARATOR = ":"
"""Parts components on the line of ``sbatch``."""
HANDED_ON = (
    *("name", "account", "qos", "exclude", "memory_per_node", "time_limit", "time_min", "begin", "deadline", "held"),
    *("nice", "priority", "requeue", "dependencies", "any_dependency", "kill_on_invalid_dependency", "reservation"),
)
"""Fields of :class:`~emulator.workload.sbatch.BatchOptions` that hold for the next component, unless it says other."""
OTHER_MEMORY = ("memory_per_cpu", "memory_per_gpu")
Parse = Callable[[Mapping[str, Any], Sequence[str], Sequence[str]], Options]
"""From what is asked for already, words of a script, and words of the line to options."""


def parted(words: Sequence[str]) -> list[list[str]]:
    """The words of each component on a line."""
    found: list[list[str]] = [[]]
    for separates, some in groupby(words, SEPARATOR.__eq__):
        if separates:
            found += ([] for _ in some)
        else:
            found[-1] += some
    return found


def components(line: Sequence[str], script: Sequence[Sequence[str]], parse: Parse) -> Options:
    """What a job asks for; the options of its further components are among those of the first.

    Args:
        line: words of ``sbatch``; those of a line without ``:`` go to every component of the script.
        script: words of each component of the script; empty without one.
        parse: makes options of words.

    Raises:
        ValueError: words that cannot be understood.
    """
    parts = parted(line)
    if len(parts) == 1 and len(script) < 2:
        return parse({}, script[0] if script else (), parts[0])
    everywhere = len(parts) == 1
    asked = {} if everywhere else handed_on(parse({}, (), [word for part in parts for word in part]))
    found: list[Options] = []
    for index in range(max(len(parts), len(script))):
        own = parts[0] if everywhere else parts[index] if index < len(parts) else ()
        options = parse(asked, script[index] if index < len(script) else (), own)
        if any(getattr(options, name) is not None for name in OTHER_MEMORY):
            options = replace(options, memory_per_node=None)
        found.append(options)
        asked = handed_on(options)
    first, *rest = without_each_others_nodes(found)
    return replace(first, components=tuple(rest))


def handed_on(options: Options) -> Mapping[str, Any]:
    """What the next component has as well."""
    return {name: getattr(options, name) for name in HANDED_ON}


def without_each_others_nodes(found: Sequence[Options]) -> Iterator[Options]:
    """None may have nodes that another one names: components share none."""
    for one in found:
        others = (node for other in found if other is not one for node in other.node_list)
        yield replace(one, exclude=tuple(dict.fromkeys((*one.exclude, *others))))
