"""Options of ``sbatch``: what a job asks for, as typed values.

The options are those that decide when and where a job runs, with the meaning that Slurm's
documentation gives them (sbatch). Times become float seconds, memory mebibytes. Arguments
are data: nothing is looked up and nothing is run.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from emulator.config.slurm import duration
from emulator.config.slurm.hostlist import expand
from emulator.config.slurm.model import GresCount
from emulator.config.slurm.nodes import gres_count
from emulator.workload.clock_time import seconds_after
from emulator.workload.het_job import components
from emulator.workload.sbatch_unused import NOT_EMULATED, SHARING_FLAGS, WITHOUT_EFFECT
from slurm_sim_plugins.errors import meant

MOST_TASKS = 4_000_001
"""Slurm's own bound on the tasks of an array (slurm.conf, ``MaxArraySize``)."""

GPU = "gpu"
ONE_THREAD = frozenset({"nomultithread", "compute_bound", "memory_bound"})
"""Values of ``--hint`` with which a job uses one thread of each core."""
MOST_NODE_COUNTS = 100_000
"""Between the ends of a range in a list of numbers of nodes."""
_NODES = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9})(?::([0-9]{1,9}))?)?")
_RANGE = re.compile(r"([0-9]{1,7})(?:-([0-9]{1,7})(?::([0-9]{1,7}))?)?")
_OTHER_JOB = re.compile(r"([0-9]{1,10})(?:_([0-9]{1,9}))?(?:\+([0-9]{1,9}))?")
_CONDITIONS = ("after", "afterany", "afterburstbuffer", "aftercorr", "afternotok", "afterok")


@dataclass(frozen=True, slots=True)
class Dependency:
    """One condition on another job.

    Attributes:
        kind: such as ``afterok``, or ``singleton``.
        job: the other job's id; 0 for ``singleton``.
        delay: for ``after``: seconds from the other job's start.
        task: of an array, by its index; None for the whole job.
    """

    kind: str
    job: int = 0
    delay: float = 0.0
    task: int | None = None


@dataclass(frozen=True, slots=True)
class TaskArray:
    """A job array.

    Attributes:
        indices: of its tasks, in order.
        limit: most tasks that may run at a time; 0 for no bound.
    """

    indices: tuple[int, ...]
    limit: int = 0


@dataclass(frozen=True, slots=True)
class BatchOptions:
    """What a job asks for. None, an empty value or false is what was not asked for.

    Attributes:
        name: of the job.
        account: to charge.
        qos: quality of service.
        partitions: where it may run, in the order stated.
        min_nodes: fewest nodes.
        use_min_nodes: whether of a range of nodes the fewest are wanted, and not the most.
        max_nodes: most nodes.
        stated_most: most nodes as it states them, where its GPUs leave it fewer, or its tasks, if it names some.
        node_counts: how many nodes it may have, ascending, where that is not any number between these.
        tasks: how many tasks.
        cpus_per_task: CPUs of each task.
        tasks_per_node: most tasks on a node.
        tasks_per_core: most tasks on a core.
        hint: how CPUs are to be used, such as ``nomultithread``.
        exclusive: whether it wants whole nodes.
        exclusive_to: with whom it shares them nonetheless: ``user``, ``mcs`` or ``topo``; empty: with none.
        share: whether it would share resources.
        both_ways: whether it says both, of which the last counts, or which are refused.
        memory_per_node: mebibytes; 0 is all of a node's.
        memory_per_cpu: mebibytes.
        memory_per_gpu: mebibytes.
        gres: generic resources on each node.
        tmp_disk: mebibytes of temporary storage that each node must have; jobs share it.
        gpus: GPUs in all.
        gpus_per_task: GPUs of each task.
        gpus_on_sockets: whether those of each node were said by socket.
        gres_per_task: other generic resources of each task.
        tasks_per_gpu: tasks for each GPU.
        enforces_binding: whether it has no cores but those near its devices.
        cpus_per_gpu: CPUs for each GPU.
        tasks_per_socket: most tasks on a socket.
        fills_sockets: whether its tasks fill a socket before they go to another; None if it does not say.
        plane: tasks that go onto a node in turn, as ``--distribution=plane=N`` says; 0 if it does not.
        min_cpus: CPUs on each node, at least.
        sockets, cores_per_socket, threads_per_core: what a node must have at least.
        overcommit: whether one task on each node is counted, however many there are.
        stated_tasks: tasks that it states, where an update says other CPUs than they have, or other tasks; else 0.
        placed_tasks: tasks that are dealt to its nodes, where an update says other CPUs than they have; else 0.
        contiguous: whether its nodes must be neighbours.
        spread: whether it wants as many nodes as it has tasks.
        prefer: features that it would rather have, as ``constraint``.
        constraint: an expression of features.
        node_list: nodes that it must have.
        exclude: nodes that it must not have.
        time_limit: seconds, rounded up to whole minutes as Slurm does; infinite for UNLIMITED or 0.
        time_min: the least limit it will do with, in the same way.
        begin: not before this many seconds after its submission.
        deadline: over by this many seconds after its submission.
        held: whether it is submitted on hold.
        nice: is subtracted from its priority.
        priority: as an operator sets it.
        requeue: whether it may be requeued; None for the cluster's rule.
        no_kill: whether it goes on without nodes that fail, as long as it has any.
        dependencies: conditions on other jobs.
        any_dependency: whether one of them is enough.
        kill_on_invalid_dependency: whether it is cancelled when they cannot be met any more; None for the
            cluster's rule.
        reservation: the reservation to run in.
        licenses: (name, count).
        licenses_of: those of which it wants one alone (``foo|bar``); ``licenses`` has the one that it is given.
        segment: nodes of each of its segments, each of which is in one block; None: it has none.
        switches: leaf switches on which its nodes may be at most; 0 for any number.
        switches_wait: for so many seconds it waits for that.
        array: its tasks, if it is an array.
        components: what the further components ask for, if it is a heterogeneous job; these are of the first.
        not_emulated: names of other options that would decide something (:mod:`emulator.workload.sbatch_unused`).
        newer: the first option that came after 22.05, with its value; empty for none.
    """

    name: str = ""
    account: str = ""
    qos: str = ""
    partitions: tuple[str, ...] = ()
    min_nodes: int | None = None
    max_nodes: int | None = None
    stated_most: int | None = None
    node_counts: tuple[int, ...] = ()
    use_min_nodes: bool = False
    tasks: int | None = None
    cpus_per_task: int | None = None
    tasks_per_node: int | None = None
    tasks_per_core: int | None = None
    hint: str = ""
    exclusive: bool = False
    exclusive_to: str = ""
    share: bool = False
    both_ways: bool = False
    memory_per_node: int | None = None
    memory_per_cpu: int | None = None
    memory_per_gpu: int | None = None
    gres: tuple[GresCount, ...] = ()
    tmp_disk: int | None = None
    gpus: tuple[GresCount, ...] = ()
    gpus_per_task: tuple[GresCount, ...] = ()
    gpus_on_sockets: bool = False
    gres_per_task: tuple[GresCount, ...] = ()
    tasks_per_gpu: int | None = None
    enforces_binding: bool = False
    cpus_per_gpu: int | None = None
    tasks_per_socket: int | None = None
    fills_sockets: bool | None = None
    plane: int = 0
    min_cpus: int | None = None
    sockets: int | None = None
    cores_per_socket: int | None = None
    threads_per_core: int | None = None
    overcommit: bool = False
    stated_tasks: int = 0
    placed_tasks: int = 0
    contiguous: bool = False
    spread: bool = False
    prefer: str = ""
    constraint: str = ""
    node_list: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    time_limit: float | None = None
    time_min: float | None = None
    begin: float | None = None
    deadline: float | None = None
    held: bool = False
    nice: int = 0
    priority: int | None = None
    requeue: bool | None = None
    no_kill: bool = False
    dependencies: tuple[Dependency, ...] = ()
    any_dependency: bool = False
    kill_on_invalid_dependency: bool | None = None
    reservation: str = ""
    licenses: tuple[tuple[str, int], ...] = ()
    licenses_of: tuple[tuple[str, int], ...] = ()
    segment: int | None = None
    switches: int = 0
    switches_wait: float = math.inf
    array: TaskArray | None = None
    components: tuple[BatchOptions, ...] = ()
    not_emulated: tuple[str, ...] = ()
    newer: str = ""

    def __hash__(self) -> int:
        # Of what most jobs differ in: all of it would take longer than to compare the few that are left.
        return hash((self.name, self.partitions, self.tasks, self.min_nodes, self.cpus_per_task, self.time_limit))

    def tasks_on(self, nodes: int) -> int:
        """Tasks in all on so many nodes: as asked for, or as its GPUs need, else ``tasks_per_node`` or one on each."""
        if self.overcommit:
            return nodes
        if self.tasks is not None:
            return self.tasks
        if self.tasks_per_gpu is not None:
            return max(self._stated_gpus(nodes) * self.tasks_per_gpu, 1)
        if self.gpus_per_task and self.gpus:
            return max(_sum(self.gpus) // _sum(self.gpus_per_task), 1)
        return nodes * (self.tasks_per_node or 1)

    def gpus_on(self, nodes: int) -> int:
        """GPUs in all on so many nodes."""
        return self._stated_gpus(nodes) or self.tasks_on(nodes) * _sum(self.gpus_per_task)

    def _stated_gpus(self, nodes: int) -> int:
        return _sum(self.gpus) or nodes * _sum(self.gres, GPU)

    @property
    def most_stated(self) -> int | None:
        """Most nodes as it states them, whatever its tasks and GPUs leave it; None for no bound."""
        return self.stated_most or self.max_nodes

    @property
    def fewest_cpus(self) -> int:
        """CPUs that a node needs at least: for the tasks that each node is to have, and for ``--mincpus``."""
        return max((self.cpus_per_task or 1) * (self.tasks_per_node or 1), self.min_cpus or 0)

    @property
    def of_tasks(self) -> tuple[GresCount, ...]:
        """Generic resources of each task."""
        return (*self.gpus_per_task, *self.gres_per_task)

    @property
    def names_several(self) -> bool:
        """Whether it asks for several reservations."""
        return "," in self.reservation

    @property
    def asks_by_socket(self) -> bool:
        """Whether it asks for tasks of a socket, or for sockets or free cores of them."""
        return self.tasks_per_socket is not None or self.sockets is not None or self.cores_per_socket is not None

    @property
    def cpus(self) -> int:
        """CPUs that it asks for in all, at least one on each of the fewest nodes."""
        nodes = self.min_nodes or 1
        return max(self.tasks_on(nodes), nodes) * (self.cpus_per_task or 1)


def _sum(gres: Sequence[GresCount], kind: str = "") -> int:
    return sum(one.count for one in gres if kind in ("", one.name))


Values = Mapping[str, Any]
"""What becomes of fields of :class:`BatchOptions`, by name."""
Change = Callable[[Any, str], Values]
"""From what was asked for before, and the value of an option, to what is asked for besides."""
NOTHING_ASKED = BatchOptions()
_OF_SHARES = ("multiple-tasks-per-sharing", "one-task-per-sharing")
"""Words of ``--gres-flags`` about shares of GPUs."""


class _Asked:
    """What was asked for so far; to change it costs less than to make :class:`BatchOptions` for each option."""

    def __getattr__(self, name: str) -> Any:
        return getattr(NOTHING_ASKED, name)


@dataclass(frozen=True)
class _Option:
    """An option of the command line.

    Attributes:
        change: puts its value into the options.
        letter: its short form, or empty.
        value: ``"needed"``, ``"none"`` or ``"optional"`` (then only after ``=``).
    """

    change: Change
    letter: str = ""
    value: str = "needed"


def parse_sbatch(
    arguments: Sequence[str], submitted: float = 0.0, script: Sequence[Sequence[str]] = ()
) -> BatchOptions:
    """Understand arguments of ``sbatch``; of an option that comes twice the last counts.

    Args:
        arguments: as a shell would give them, without a script; ``:`` parts the components of a heterogeneous job.
        submitted: when, in seconds since 1970, for times of day (``--begin``, ``--deadline``).
        script: arguments of each component of the script, in which words that are no options are passed over.

    Raises:
        ValueError: an unknown option, or a value that cannot be understood; the message names it.
    """

    def parse(asked_before: Values, of_script: Sequence[str], of_line: Sequence[str]) -> BatchOptions:
        asked = _Asked()
        vars(asked).update(asked_before)
        pairs = [*_pairs(of_script, True), *_pairs(of_line, False)]
        # GPUs of each node come beside --gres, those of a socket once its sockets are known.
        last = ("gpus-per-node", "gpus-per-socket")
        for name, value in sorted(pairs, key=lambda pair: pair[0] in last and 1 + last.index(pair[0])):
            vars(asked).update(_values(asked, name, value, submitted))
        geometry = any(name == "extra-node-info" for name, _ in pairs)
        vars(asked)["newer"] = next((f"--{name}={value}" for name, value in pairs if name in NEWER), "")
        options = with_tasks_of_shape(_without_vain_hint(BatchOptions(**vars(asked)), geometry), geometry)
        return _with_tasks_of_gpus(_no_node_without_gpu(_no_node_without_task(options)))

    asked_for: BatchOptions = components(arguments, script, parse)
    return asked_for


def _without_vain_hint(options: BatchOptions, geometry: bool) -> BatchOptions:
    """``sbatch`` passes over a hint beside what says the same with numbers (asked of three versions)."""
    stated = geometry or options.threads_per_core is not None or options.tasks_per_core is not None
    return replace(options, hint="") if options.hint and stated else options


def with_tasks_of_shape(options: BatchOptions, geometry: bool = False) -> BatchOptions:
    """With sockets, cores or threads and a number of nodes, but no tasks: ``sbatch`` asks for a task for each of them.

    ``--extra-node-info`` does without a number of nodes, and named nodes are one. (Asked of three versions.)

    Args:
        options: what is asked for.
        geometry: whether that is stated.
    """
    shape = [each for each in (options.sockets, options.cores_per_socket, options.threads_per_core) if each is not None]
    if options.hint:
        # Which of the two counts goes by the version.
        shape = [] if shape else [1] * (options.hint.rpartition(",")[2] in ONE_THREAD)
    others = options.tasks, options.tasks_per_node, options.tasks_per_socket
    if not shape or any(each is not None for each in others) or options.max_nodes not in (None, options.min_nodes):
        return options
    nodes = options.min_nodes or len(options.node_list)
    return replace(options, tasks=(nodes or 1) * math.prod(shape)) if nodes or geometry else options


def _no_node_without_task(options: BatchOptions) -> BatchOptions:
    """Fewer tasks than nodes: ``sbatch`` warns, and asks for as many nodes as tasks (recorded: fewer_tasks).

    Nodes that are named count as nodes that it wants at least.
    """
    tasks, fewest, most = options.tasks, options.min_nodes, options.max_nodes
    if not tasks or fewest is None or tasks >= max(fewest, len(options.node_list)):
        return options
    stated = options.most_stated if options.node_list else None
    return replace(options, min_nodes=tasks, max_nodes=None if most is None else tasks, stated_most=stated)


def _with_tasks_of_gpus(options: BatchOptions) -> BatchOptions:
    """Fewer tasks than its GPUs have (``--ntasks-per-gpu``): it has as many as these (asked of three versions)."""
    if options.tasks_per_gpu is None or options.tasks is None or options.overcommit or (options.min_nodes or 1) > 1:
        return options
    gpus = _sum(options.gpus) or _sum(options.gres, GPU)
    return replace(options, tasks=max(options.tasks, gpus * options.tasks_per_gpu))


def _no_node_without_gpu(options: BatchOptions) -> BatchOptions:
    """Fewer GPUs in all than the most nodes: there may be no more nodes than GPUs (asked of three versions)."""
    gpus, most = sum(one.count for one in options.gpus), options.max_nodes
    if not gpus or most is None or not (options.min_nodes or 1) <= gpus < most:
        return options
    # How many tasks it has goes by the range that it states.
    return replace(options, max_nodes=gpus, stated_most=options.most_stated)


def with_option(options: BatchOptions, name: str, value: str, submitted: float = 0.0) -> BatchOptions:
    """Options with one more.

    Args:
        options: those that there are.
        name: of another, without the hyphens.
        value: of it.
        submitted: as for :func:`parse_sbatch`.

    Raises:
        ValueError: an unknown option, or a value that cannot be understood; the message names it.
    """
    return replace(options, **_values(options, name, value, submitted))


def _values(asked: BatchOptions | _Asked, name: str, value: str, submitted: float) -> Values:
    """What an option asks for."""
    option = _known(name)
    try:
        if name in ("begin", "deadline"):
            return {name: seconds_after(value, submitted)}
        return option.change(asked, value)
    except ValueError as error:
        raise ValueError(f"--{name}: {error}") from None


def _pairs(arguments: Sequence[str], script: bool) -> Iterator[tuple[str, str]]:
    """Option names and values, however they are written."""
    rest = list(reversed(arguments))
    while rest:
        argument = rest.pop()
        if argument.startswith("--"):
            name, equals, value = argument[2:].partition("=")
            option = _known(name := _whole_name(name))
        elif argument.startswith("-") and len(argument) > 1:
            name, value = _LETTERS.get(argument[1], ""), argument[2:].removeprefix("=")
            option, equals = _known(name or argument[:2]), value
        elif script:
            continue
        else:
            raise ValueError(f"{argument!r} is no option of sbatch")
        if option.value == "none" and equals:
            raise ValueError(f"--{name} takes no value, not {value!r}")
        if option.value == "needed" and not equals:
            if not rest:
                raise ValueError(f"--{name} needs a value")
            value = rest.pop()
        yield name, value


def _known(name: str) -> _Option:
    if name not in OPTIONS:
        raise ValueError(f"{name!r} is no option of sbatch that is known here{meant(name, OPTIONS)}")
    return OPTIONS[name]


def _whole_name(name: str) -> str:
    """The only option that begins so, as for ``sbatch``; else the name itself."""
    if name in OPTIONS or len(name) < 2:
        return name
    begun = [each for each in OPTIONS if each.startswith(name)]
    return begun[0] if len(begun) == 1 else name


def _put(name: str, read: Callable[[str], object]) -> Change:
    """Read the value and keep it under that name."""
    return lambda _, value: {name: read(value)}


def _keep(**values: object) -> Change:
    """Keep these values: the option has none of its own."""
    return lambda _, __: values


def _count(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or len(text) > 18:
        raise ValueError(f"{text!r} is no whole number from 0 on")
    return int(text)


def _positive(text: str) -> int:
    number = _count(text)
    if number < 1:
        raise ValueError(f"{text!r} is less than 1")
    return number


def _whole(text: str) -> int:
    return -_count(text[1:]) if text.startswith("-") else _count(text)


def _some(text: str) -> str:
    if not text:
        raise ValueError("the value is empty")
    return text


def _names(text: str) -> tuple[str, ...]:
    names = tuple(text.split(","))
    if "" in names:
        raise ValueError(f"{text!r} has an empty name in it")
    return names


def _hosts(text: str) -> tuple[str, ...]:
    return tuple(expand(_some(text)))


def _nodes(asked: Any, text: str) -> Values:
    counts: set[int] = set()
    for part in text.split(","):
        found = _NODES.fullmatch(part)
        fewest = int(found.group(1)) if found is not None else 0
        most = int(found.group(2) or fewest) if found is not None else 0
        if found is None or not 1 <= fewest <= most:
            raise ValueError(f"{text!r} is neither a number of nodes nor a range such as 2-4, nor a list of these")
        if part == text and not found.group(3):
            return {"min_nodes": fewest, "max_nodes": most, "stated_most": None, "node_counts": ()}
        # The end of a range with a step is not in it.
        step = int(found.group(3) or 0)
        if most - fewest > MOST_NODE_COUNTS or (found.group(3) and not step):
            raise ValueError(f"{text!r} is too long a range, or has a step of 0")
        counts.update(range(fewest, max(most, fewest + 1), step) if step else range(fewest, most + 1))
    return {
        "min_nodes": min(counts),
        "max_nodes": max(counts),
        "stated_most": None,
        "node_counts": tuple(sorted(counts)),
    }


def _gres(text: str) -> tuple[GresCount, ...]:
    if text.lower() == "none":
        return ()
    return _last_ones(gres_count(word.removeprefix("gres/").removeprefix("gres:")) for word in _names(text))


def _gpus(text: str) -> tuple[GresCount, ...]:
    return _last_ones(gres_count(f"gpu:{word}") for word in _names(text))


def _last_ones(gres: Iterable[GresCount]) -> tuple[GresCount, ...]:
    """Of counts of one kind and type the last one stands."""
    return tuple({(one.name, one.type): one for one in gres}.values())


def _licenses(asked: Any, text: str) -> Values:
    if "|" not in text or "," in text:
        return {"licenses": tuple(filter(_counts, map(_license, _names(text)))), "licenses_of": ()}
    some = tuple(map(_license, text.split("|")))
    return {"licenses": some[:1], "licenses_of": some}


def _license(word: str) -> tuple[str, int]:
    name, colon, count = word.partition(":")
    return _some(name), _count(count) if colon else 1


def _counts(wanted: tuple[str, int]) -> bool:
    return wanted[1] > 0


def array_of(text: str) -> TaskArray:
    """The tasks of an array, as ``--array`` states them.

    Raises:
        ValueError: what cannot be read.
    """
    ranges, percent, limit = text.partition("%")
    indices: set[int] = set()
    for part in ranges.split(","):
        found = _RANGE.fullmatch(part)
        if found is None:
            raise ValueError(f"{part!r} is neither an index nor a range such as 0-15 or 0-15:4")
        first, last, step = int(found.group(1)), int(found.group(2) or found.group(1)), int(found.group(3) or 1)
        if last < first or last >= MOST_TASKS or not step:
            raise ValueError(f"{part!r} is no range of indices below {MOST_TASKS:,}")
        indices.update(range(first, last + 1, step))
    return TaskArray(tuple(sorted(indices)), _positive(limit) if percent else 0)


def _dependency(asked: Any, text: str) -> Values:
    separators = {mark for mark in text if mark in ",?"}
    if len(separators) > 1:
        raise ValueError(f"{text!r} has both , (all of them) and ? (one of them)")
    dependencies = [each for part in re.split("[,?]", text) for each in _conditions(part)]
    return {"dependencies": tuple(dependencies), "any_dependency": "?" in separators}


def _conditions(text: str) -> Iterator[Dependency]:
    kind, *jobs = text.split(":")
    if _OTHER_JOB.fullmatch(kind):
        # The oldest form is job ids alone.
        kind, jobs = "afterany", [kind, *jobs]
    if kind == "singleton" and not jobs:
        yield Dependency(kind)
        return
    if kind not in _CONDITIONS or not jobs:
        raise ValueError(f"{text!r} is neither singleton nor a condition such as afterok:JOB[:JOB...]")
    for job in jobs:
        found = _OTHER_JOB.fullmatch(job)
        if found is None:
            raise ValueError(f"{job!r} in {text!r} is no job id, such as 7, 7_2 or 7+MINUTES")
        # Only after goes by minutes; to the other conditions they are taken in silence (asked).
        delay = int(found.group(3) or 0) * 60.0 if kind == "after" else 0.0
        task = None if found.group(2) is None else int(found.group(2))
        yield Dependency(kind, int(found.group(1)), delay, task)


def _time_limit(text: str) -> float:
    """A limit of 0 asks for none (sbatch, ``--time``)."""
    return duration.limit_seconds(text) or math.inf


def _exclusive(asked: Any, text: str) -> Values:
    if text not in ("", "user", "mcs", "topo"):
        raise ValueError(f"{text!r} is none of user, mcs, topo")
    # Of --exclusive and --oversubscribe the last counts (recorded).
    both = asked.both_ways or asked.share
    return {"exclusive": not text, "exclusive_to": text, "share": False, "both_ways": both}


def _gres_flags(asked: Any, text: str) -> Values:
    """Whether cores must be near devices; none of the other words changes where a job is."""
    words = _names(text)
    for word in words:
        if word not in ("enforce-binding", "disable-binding", "allow-task-sharing", *_OF_SHARES):
            raise ValueError(
                f"{word!r} is none of enforce-binding, disable-binding, allow-task-sharing, {', '.join(_OF_SHARES)}"
            )
    in_vain = _in_vain(SHARING_FLAGS)(asked, text) if set(words) & set(_OF_SHARES) else {}
    return {"enforces_binding": "enforce-binding" in words, **in_vain}


def _oversubscribe(asked: Any, text: str) -> Values:
    both = asked.both_ways or asked.exclusive or bool(asked.exclusive_to)
    return {"share": True, "exclusive": False, "exclusive_to": "", "both_ways": both}


def _switches(asked: Any, text: str) -> Values:
    count, at, wait = text.partition("@")
    return {"switches": _count(count), "switches_wait": duration.seconds(wait) if at else math.inf}


def _gpus_on_node(asked: Any, text: str) -> Values:
    """GPUs of each node are generic resources of it, as those of ``--gres``."""
    others = tuple(one for one in asked.gres if one.name != GPU)
    return {"gres": (*others, *_gpus(text))}


def _gpus_on_socket(asked: Any, text: str) -> Values:
    counts = [f"{one.type}:{one.count * (asked.sockets or 1)}".lstrip(":") for one in _gpus(text)]
    return {**_gpus_on_node(asked, ",".join(counts)), "gpus_on_sockets": True}


def _geometry(asked: Any, text: str) -> Values:
    """``--extra-node-info``: sockets[:cores[:threads]], each a number or ``*``."""
    names = ("sockets", "cores_per_socket", "threads_per_core")
    words = text.split(":")
    if len(words) > len(names):
        raise ValueError(f"{text!r} is not written as sockets[:cores[:threads]]")
    read = [None if word == "*" else _positive(word) for word in words]
    shape: dict[str, Any] = dict(zip(names, read, strict=False))
    return shape


def _tres_per_task(asked: Any, text: str) -> Values:
    """``cpu=4,gres/gpu:a100=1``: CPUs and generic resources of each task; others are named as not emulated."""
    values: dict[str, Any] = {}
    for word in _names(text):
        name, _, value = word.rpartition("=") if "=" in word else word.rpartition(":")
        if name == "cpu":
            values["cpus_per_task"] = _positive(value)
        elif name.startswith(("gres/", "gres:")):
            one = gres_count(f"{name[len('gres/') :]}:{value}")
            field = "gpus_per_task" if one.name == GPU else "gres_per_task"
            values[field] = (*values.get(field, ()), one)
        else:
            values |= _in_vain("tres-per-task")(asked, value)
    return values


def _in_vain(name: str) -> Change:
    def note(asked: Any, _: str) -> Values:
        return {"not_emulated": tuple(dict.fromkeys((*asked.not_emulated, name)))}

    return note


def _distribution(_: Any, text: str) -> Values:
    plane = re.fullmatch(r"plane=([1-9]\d*)", text.lower())
    return {"fills_sockets": _fills_sockets(text), "plane": int(plane[1]) if plane else 0}


def _fills_sockets(text: str) -> bool | None:
    """``--distribution``: whether tasks fill a socket before they go to another; None if it does not say.

    How tasks are spread over nodes and over the CPUs of a socket decides nothing here.
    """
    words = [word for word in text.lower().split(",") if word not in ("pack", "nopack")] or ["*"]
    first, *others = words[0].split(":")
    if re.fullmatch(r"plane=[1-9]\d*", words[0]) and len(words) == 1:
        return True
    wrong = len(words) > 1 or len(others) > 2 or first not in ("*", "arbitrary", "block", "cyclic")
    if wrong or not {*others} <= {"*", "block", "cyclic", "fcyclic"}:
        raise ValueError(
            f"{text!r} is not written as nodes[:sockets[:cores]], each block, cyclic or fcyclic, or plane=N"
        )
    return None if not others or others[0] == "*" else others[0] == "block"


def _yes_or_no(text: str) -> bool:
    if text not in ("yes", "no"):
        raise ValueError(f"{text!r} is neither yes nor no")
    return text == "yes"


OPTIONS: Mapping[str, _Option] = {
    "account": _Option(_put("account", _some), "A"),
    "array": _Option(_put("array", array_of), "a"),
    "begin": _Option(_keep(), "b"),
    "constraint": _Option(_put("constraint", _some), "C"),
    "contiguous": _Option(_keep(contiguous=True), value="none"),
    "cores-per-socket": _Option(_put("cores_per_socket", _positive)),
    "cpus-per-gpu": _Option(_put("cpus_per_gpu", _positive)),
    "cpus-per-task": _Option(_put("cpus_per_task", _positive), "c"),
    "deadline": _Option(_keep()),
    "dependency": _Option(_dependency, "d"),
    "distribution": _Option(_distribution, "m"),
    "exclude": _Option(_put("exclude", lambda text: _hosts(text) if text else ()), "x"),
    "exclusive": _Option(_exclusive, value="optional"),
    "extra-node-info": _Option(_geometry, "B"),
    "gpus": _Option(_put("gpus", _gpus), "G"),
    "gpus-per-node": _Option(_gpus_on_node),
    "gpus-per-socket": _Option(_gpus_on_socket),
    "gpus-per-task": _Option(_put("gpus_per_task", _gpus)),
    "gres": _Option(_put("gres", _gres)),
    "gres-flags": _Option(_gres_flags),
    "hint": _Option(_put("hint", _some)),
    "hold": _Option(_keep(held=True), "H", value="none"),
    "job-name": _Option(_put("name", _some), "J"),
    "kill-on-invalid-dep": _Option(_put("kill_on_invalid_dependency", _yes_or_no)),
    "licenses": _Option(_licenses, "L"),
    "mem": _Option(_put("memory_per_node", duration.megabytes)),
    "mem-per-cpu": _Option(_put("memory_per_cpu", duration.megabytes)),
    "mem-per-gpu": _Option(_put("memory_per_gpu", duration.megabytes)),
    "mincpus": _Option(_put("min_cpus", _positive)),
    "nice": _Option(lambda _, value: {"nice": _whole(value) if value else 100}, value="optional"),
    "no-kill": _Option(lambda _, value: {"no_kill": value != "off"}, "k", value="optional"),
    "no-requeue": _Option(_keep(requeue=False), value="none"),
    "nodelist": _Option(_put("node_list", _hosts), "w"),
    "nodes": _Option(_nodes, "N"),
    "ntasks": _Option(_put("tasks", _positive), "n"),
    "ntasks-per-core": _Option(_put("tasks_per_core", _positive)),
    "ntasks-per-gpu": _Option(_put("tasks_per_gpu", _positive)),
    "ntasks-per-node": _Option(_put("tasks_per_node", _positive)),
    "ntasks-per-socket": _Option(_put("tasks_per_socket", _positive)),
    "overcommit": _Option(_keep(overcommit=True), "O", value="none"),
    "oversubscribe": _Option(_oversubscribe, "s", value="none"),
    "partition": _Option(_put("partitions", _names), "p"),
    "prefer": _Option(_put("prefer", _some)),
    "priority": _Option(_put("priority", _count)),
    "use-min-nodes": _Option(_keep(use_min_nodes=True), value="none"),
    "qos": _Option(_put("qos", _some), "q"),
    "requeue": _Option(_keep(requeue=True), value="none"),
    "reservation": _Option(_put("reservation", _some)),
    "segment": _Option(_put("segment", _positive)),
    "time": _Option(_put("time_limit", _time_limit), "t"),
    "tmp": _Option(_put("tmp_disk", duration.megabytes)),
    "sockets-per-node": _Option(_put("sockets", _positive)),
    "spread-job": _Option(_keep(spread=True), value="none"),
    "switches": _Option(_switches),
    "threads-per-core": _Option(_put("threads_per_core", _positive)),
    "time-min": _Option(_put("time_min", duration.limit_seconds)),
    "tasks-per-node": _Option(_put("tasks_per_node", _positive)),
    "tres-per-task": _Option(_tres_per_task),
    **{name: _Option(_keep(), letter, value) for name, (letter, value) in WITHOUT_EFFECT.items()},
    **{name: _Option(_in_vain(name), letter, value) for name, (letter, value, _) in NOT_EMULATED.items()},
}
"""The options that are taken, by their long names."""
NEWER = ("tres-per-task", "segment")
"""Those that came after 22.05."""

_LETTERS = {option.letter: name for name, option in OPTIONS.items() if option.letter}
