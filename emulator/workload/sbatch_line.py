"""Options of ``sbatch`` as words again: the inverse of :func:`emulator.workload.sbatch.parse_sbatch`.

Times are written as Slurm keeps them: limits in whole minutes, rounded up, and delays in whole
seconds.
"""

from __future__ import annotations

import itertools
import math
import shlex
from collections.abc import Iterable, Iterator, Sequence

from emulator.config.slurm.duration import written
from emulator.config.slurm.hostlist import compress
from emulator.config.slurm.model import GresCount
from emulator.workload.sbatch import BatchOptions, Dependency, TaskArray, parse_sbatch

MINUTE = 60.0
NUMBERS = {
    "ntasks": "tasks",
    "cpus-per-task": "cpus_per_task",
    "ntasks-per-node": "tasks_per_node",
    "ntasks-per-core": "tasks_per_core",
    "mem": "memory_per_node",
    "mem-per-cpu": "memory_per_cpu",
    "mem-per-gpu": "memory_per_gpu",
    "ntasks-per-gpu": "tasks_per_gpu",
    "ntasks-per-socket": "tasks_per_socket",
    "cpus-per-gpu": "cpus_per_gpu",
    "tmp": "tmp_disk",
    "mincpus": "min_cpus",
    "segment": "segment",
    "sockets-per-node": "sockets",
    "cores-per-socket": "cores_per_socket",
    "threads-per-core": "threads_per_core",
    "priority": "priority",
}
"""Options with a number, and the names that they are kept under."""
WORDS = {
    "job-name": "name",
    "account": "account",
    "qos": "qos",
    "hint": "hint",
    "constraint": "constraint",
    "prefer": "prefer",
    "reservation": "reservation",
}
"""The same for text."""


def submit_line(options: BatchOptions) -> str:
    """The command that asks for this, for a shell."""
    return shlex.join(["sbatch", *words(options)])


def options_of(line: str) -> BatchOptions:
    """What :func:`submit_line` was made of.

    Raises:
        ValueError: it is no such line.
    """
    return parse_sbatch(shlex.split(line)[1:])


def words(options: BatchOptions) -> list[str]:
    """Arguments that ask for this."""
    return [f"--{name}={value}" if value is not None else f"--{name}" for name, value in _pairs(options)]


def _pairs(options: BatchOptions) -> Iterator[tuple[str, str | None]]:
    for name, field in WORDS.items():
        if text := getattr(options, field):
            yield name, text
    if options.partitions:
        yield "partition", ",".join(options.partitions)
    if options.min_nodes is not None:
        most = "" if options.max_nodes in (None, options.min_nodes) else f"-{options.max_nodes}"
        yield "nodes", ",".join(map(str, options.node_counts)) or f"{options.min_nodes}{most}"
    for name, field in NUMBERS.items():
        if (number := getattr(options, field)) is not None:
            yield name, f"{math.ceil(number)}"
    yield from _resources(options)
    yield from _times(options)
    yield from _flags(options)
    if options.dependencies:
        yield "dependency", ("?" if options.any_dependency else ",").join(map(condition, options.dependencies))
    if options.array is not None:
        yield "array", _array(options.array)


def _resources(options: BatchOptions) -> Iterator[tuple[str, str]]:
    if options.gres:
        yield "gres", _counts(options.gres)
    if options.gpus:
        yield "gpus", _gpus(options.gpus)
    if options.gpus_per_task:
        yield "gpus-per-task", _gpus(options.gpus_per_task)
    if options.gres_per_task:
        yield "tres-per-task", ",".join(f"gres/{_counts([one])}" for one in options.gres_per_task)
    if options.licenses:
        listed = options.licenses_of or options.licenses
        yield "licenses", ("|" if options.licenses_of else ",").join(f"{name}:{count}" for name, count in listed)
    if options.node_list:
        yield "nodelist", compress(options.node_list)
    if options.exclude:
        yield "exclude", compress(options.exclude)


def _times(options: BatchOptions) -> Iterator[tuple[str, str]]:
    for name, limit in (("time", options.time_limit), ("time-min", options.time_min)):
        if limit is not None:
            yield name, written(limit if math.isinf(limit) else math.ceil(limit / MINUTE) * MINUTE)
    for name, delay in (("begin", options.begin), ("deadline", options.deadline)):
        if delay is not None:
            yield name, f"now+{math.ceil(delay)}"


def _flags(options: BatchOptions) -> Iterator[tuple[str, str | None]]:
    if options.exclusive or options.exclusive_to:
        yield "exclusive", options.exclusive_to or None
    for name in ("overcommit", "contiguous", "no_kill"):
        if getattr(options, name):
            yield name.replace("_", "-"), None
    if options.spread:
        yield "spread-job", None
    if options.share:
        yield "oversubscribe", None
    if options.held:
        yield "hold", None
    if options.nice:
        yield "nice", f"{options.nice}"
    if options.requeue is not None:
        yield ("requeue" if options.requeue else "no-requeue"), None
    if options.kill_on_invalid_dependency is not None:
        yield "kill-on-invalid-dep", "yes" if options.kill_on_invalid_dependency else "no"


def _gpus(gpus: Sequence[GresCount]) -> str:
    return ",".join(f"{one.type}:{one.count}" if one.type else f"{one.count}" for one in gpus)


def _counts(gres: Sequence[GresCount]) -> str:
    return ",".join(":".join(filter(None, (one.name, one.type, str(one.count)))) for one in gres)


def condition(dependency: Dependency) -> str:
    """One condition as ``--dependency`` has it."""
    if dependency.kind == "singleton":
        return dependency.kind
    delay = f"+{int(dependency.delay // MINUTE)}" if dependency.delay else ""
    task = "" if dependency.task is None else f"_{dependency.task}"
    return f"{dependency.kind}:{dependency.job}{task}{delay}"


def _array(array: TaskArray) -> str:
    limit = f"%{array.limit}" if array.limit else ""
    return indices(array.indices) + limit


def indices(numbers: Iterable[int]) -> str:
    """Numbers as ``1,3-5``, as Slurm writes the tasks of an array."""
    parts = []
    for _, group in itertools.groupby(enumerate(sorted(numbers)), key=lambda pair: pair[1] - pair[0]):
        run = [number for _, number in group]
        parts.append(f"{run[0]}" if len(run) == 1 else f"{run[0]}-{run[-1]}")
    return ",".join(parts)
