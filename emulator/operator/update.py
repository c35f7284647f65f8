"""``scontrol update`` of jobs: what its fields state, and what plugins of JobSubmitPlugins make of that."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from emulator.config.slurm.duration import limit_seconds, written
from emulator.operator import devices
from emulator.operator.fields import Fields, whole
from emulator.scheduling.submission_of import ranges, submission_of
from emulator.workload.clock_time import after_now
from emulator.workload.request import JobRequest
from emulator.workload.sbatch import BatchOptions, with_option
from slurm_sim_plugins.errors import InputError
from slurm_sim_plugins.job_update import JobUpdate
from slurm_sim_plugins.nodes import FAR
from slurm_sim_plugins.records import JobRecord

Change = Callable[[BatchOptions, str], BatchOptions]
THROTTLE = "arraytaskthrottle"
RELEASE = "INFINITE"
"""The priority that releases a job."""


def _as(option: str) -> Change:
    """A field that says what an option of ``sbatch`` says."""
    return lambda options, value: with_option(options, option, value)


def _named(options: BatchOptions, value: str) -> BatchOptions:
    """Other nodes that it must have; any where the value is empty."""
    return with_option(options, "nodelist", value) if value else replace(options, node_list=())


def _reserved(options: BatchOptions, value: str) -> BatchOptions:
    """Another reservation, or several; none where the value is empty."""
    return with_option(options, "reservation", value) if value else replace(options, reservation="")


def _switches(options: BatchOptions, value: str) -> BatchOptions:
    """Another number of switches, and how long it waits for that: scontrol rounds up to whole minutes (recorded)."""
    options = with_option(options, "switches", value)
    if options.switches_wait == math.inf:
        return options
    return replace(options, switches_wait=60.0 * math.ceil(options.switches_wait / 60))


def _licensed(options: BatchOptions, value: str) -> BatchOptions:
    """Other licences; none where the value is empty (asked of three versions)."""
    return with_option(options, "licenses", value) if value else replace(options, licenses=(), licenses_of=())


def with_all_named(options: BatchOptions) -> BatchOptions:
    """All the nodes that a job names, also more than it has tasks, where ``sbatch`` counts but the first (22.05)."""
    count = len(options.node_list)
    unbound = options.min_nodes is None and options.max_nodes is None
    return (
        replace(options, min_nodes=count, max_nodes=count) if unbound and count > (options.tasks or count) else options
    )


def with_tasks(options: BatchOptions, fields: Fields) -> Fields:
    """The fields of a command that states nodes: CPUs that it states are as many as the job's tasks want, at least.

    Source: what 22.05 made of NumNodes=1 NumCPUs=8 of a job of 16 tasks.
    """
    if not {"numnodes", "numcpus"} <= fields.keys():
        return fields
    fewest = with_option(options, "nodes", fields["numnodes"]).min_nodes or 1
    stated = whole(fields["numtasks"]) if "numtasks" in fields else options.stated_tasks or options.tasks or 0
    cpus = max(stated, fewest) * (options.cpus_per_task or 1)
    return {**fields, "numcpus": str(max(whole(fields["numcpus"]), cpus))}


def _nodes(options: BatchOptions, value: str) -> BatchOptions:
    """Other bounds on nodes, of which the fewest are wanted (recorded); one number is the least, and the most stays.

    CPUs stay as they were counted: -N3 on two nodes has three.
    """
    stated = with_option(options, "nodes", value)
    if options.tasks is None and options.tasks_per_node is None and (options.min_nodes or 1) > (stated.min_nodes or 1):
        stated = replace(stated, tasks=options.min_nodes)
    most = stated.max_nodes if "-" in value else options.max_nodes
    if most is None:
        # Without a bound on nodes it has as many as its tasks need, but no fewer.
        fewest = stated.min_nodes or 1
        if fewest == 1:
            return replace(stated, min_nodes=None, max_nodes=None)
        return stated if (options.tasks or 1) <= fewest else replace(stated, max_nodes=FAR, use_min_nodes=True)
    if most < (stated.min_nodes or 1):
        raise ValueError("Node count specification invalid")
    return replace(stated, max_nodes=most, use_min_nodes=most != stated.min_nodes)


def nodes_with_tasks(options: BatchOptions, value: str) -> BatchOptions:
    """Other bounds on nodes: a job has CPUs for all tasks that it states, whatever an update said of its CPUs."""
    tasks = max(options.stated_tasks, options.placed_tasks if options.placed_tasks < FAR else 0)
    if options.tasks is not None and tasks > options.tasks:
        options = replace(options, tasks=tasks, placed_tasks=0)
    return _nodes(options, value)


def most_nodes_with_tasks(options: BatchOptions, value: str) -> BatchOptions:
    """The same before 26.05, where a job that had no bound wants the most nodes, if one is the fewest (asked).

    With ``--use-min-nodes`` it wants the fewest all the same (recorded).
    """
    stated = nodes_with_tasks(options, value)
    unbound = options.min_nodes is None and options.max_nodes is None
    return replace(stated, use_min_nodes=options.use_min_nodes) if unbound and stated.min_nodes == 1 else stated


def _cpus(options: BatchOptions, value: str) -> BatchOptions:
    """Other CPUs in all, whatever its tasks are."""
    return replace(options, tasks=-(-whole(value) // (options.cpus_per_task or 1)), placed_tasks=0)


def cpus_beside_tasks(options: BatchOptions, value: str) -> BatchOptions:
    """Other CPUs in all in 22.05; its tasks stay as stated, and all have to fit on a node if it may have but one."""
    return replace(_cpus(options, value), stated_tasks=options.stated_tasks or options.tasks or 0)


def cpus_of_nodes(options: BatchOptions, value: str) -> BatchOptions:
    """Other CPUs on each node in 22.05: it has so many in all on each of the fewest nodes (asked for by ``ask``)."""
    stated = with_option(options, "mincpus", value)
    if options.tasks is None:
        return stated
    tasks = max(whole(value) // (options.cpus_per_task or 1), 1) * (options.min_nodes or 1)
    return replace(stated, tasks=tasks, stated_tasks=options.stated_tasks or options.tasks)


def fewer_cpus_of_nodes(options: BatchOptions, value: str) -> BatchOptions:
    """Other CPUs on each node from 24.11 on: with fewer in all than its tasks want it waits for ever, too."""
    stated = with_option(options, "mincpus", value)
    cpus = whole(value) * (options.min_nodes or 1)
    fewer = options.tasks is not None and cpus < options.tasks * (options.cpus_per_task or 1)
    made = cpus_of_tasks(stated, str(cpus)) if fewer else stated
    return replace(made, placed_tasks=FAR) if fewer and not made.placed_tasks else made


def cpus_of_tasks(options: BatchOptions, value: str) -> BatchOptions:
    """Other CPUs of a job that states its tasks, from 24.11 on: nodes with so many, of which its tasks get theirs.

    With fewer than these want it waits for ever.
    """
    stated = options.placed_tasks or options.tasks
    if stated is None:
        return _cpus(options, value)
    tasks = -(-whole(value) // (options.cpus_per_task or 1))
    return replace(options, tasks=tasks, placed_tasks=stated if tasks != stated else 0)


def _tasks(options: BatchOptions, value: str) -> BatchOptions:
    """Other tasks for steps: the CPUs stay as they were asked for (recorded); in 22.05 alone.

    A node that is to have all of them needs CPUs for them.
    """
    return replace(options, stated_tasks=with_option(options, "ntasks", value).tasks or 0)


def larger_tasks(options: BatchOptions, value: str) -> BatchOptions:
    """Another number of tasks of several CPUs, from 24.11 on: it keeps the CPUs that it had, and waits.

    That is until an update of its nodes has it want CPUs for all tasks.
    """
    tasks = whole(value)
    return replace(options, stated_tasks=tasks, placed_tasks=0 if tasks == (options.tasks or 1) else FAR)


def _requeues(options: BatchOptions, value: str) -> BatchOptions:
    if value not in ("0", "1"):
        raise ValueError(f"Requeue is 0 or 1, not {value!r}")
    return replace(options, requeue=value == "1")


def _throttle(options: BatchOptions, value: str) -> BatchOptions:
    if options.array is None:
        raise ValueError("only an array has an ArrayTaskThrottle")
    return replace(options, array=replace(options.array, limit=whole(value)))


def _condition(options: BatchOptions, value: str) -> BatchOptions:
    """Other conditions on other jobs; none where the value is empty."""
    options = replace(options, dependencies=(), any_dependency=False)
    return with_option(options, "dependency", value) if value else options


def _is_set(text: str) -> bool:
    """Whether a field says yes: that word, its beginning, or a number.

    Raises:
        ValueError: it is none of these, nor no.
    """
    word = text.lower()
    if word and ("yes".startswith(word) or "no".startswith(word)):
        return word.startswith("y")
    if not text.isdecimal():
        raise ValueError(f"{text!r} is neither yes, no, nor a number")
    return int(text) != 0


def _contiguous(options: BatchOptions, value: str) -> BatchOptions:
    return replace(options, contiguous=_is_set(value))


def _shares(options: BatchOptions, value: str) -> BatchOptions:
    """It would share resources, and wants no whole nodes then."""
    if not _is_set(value):
        raise ValueError("OverSubscribe=no is not emulated: with it a job is alone on nodes of which it has a part")
    return replace(options, share=True, exclusive=False, exclusive_to="")


OF_A_JOB: dict[str, Change] = {
    "partition": _as("partition"),
    "account": _as("account"),
    "qos": _as("qos"),
    "numnodes": nodes_with_tasks,
    "numcpus": _cpus,
    "numtasks": _tasks,
    "features": lambda options, value: replace(options, constraint=value),
    "reqnodelist": _named,
    "excnodelist": _as("exclude"),
    "minmemorynode": _as("mem"),
    "minmemorycpu": _as("mem-per-cpu"),
    "licenses": _licensed,
    "timemin": _as("time-min"),
    "starttime": lambda options, value: replace(options, begin=after_now(value)),
    "deadline": lambda options, value: replace(options, deadline=after_now(value)),
    "dependency": _condition,
    "reservationname": _reserved,
    "requeue": _requeues,
    THROTTLE: _throttle,
    "mincpusnode": fewer_cpus_of_nodes,
    "mintmpdisknode": _as("tmp"),
    "gres": devices.gres,
    "trespernode": devices.of_node,
    "tresperjob": devices.of_job,
    "trespertask": devices.of_task,
    "contiguous": _contiguous,
    "oversubscribe": _shares,
    "prefer": lambda options, value: replace(options, prefer=value),
    "switches": _switches,
}
"""Fields of a waiting job that can be updated besides its priority, nice value and limit."""
STATED: Mapping[str, tuple[str, ...]] = {
    "priority": ("priority",),
    "nice": ("nice",),
    "sitefactor": ("site_factor",),
    "timelimit": ("time_limit",),
    "partition": ("partitions",),
    "account": ("account",),
    "qos": ("qos",),
    "numnodes": ("min_nodes", "max_nodes"),
    "numcpus": ("tasks",),
    "numtasks": ("tasks",),
    "features": ("constraint",),
    "reqnodelist": ("node_list",),
    "excnodelist": ("exclude",),
    "minmemorynode": ("memory_per_node",),
    "minmemorycpu": ("memory_per_cpu",),
    "licenses": ("licenses",),
    "timemin": ("time_min",),
    "starttime": ("begin",),
    "deadline": ("deadline",),
    "dependency": ("dependency",),
    "reservationname": ("reservation",),
    "requeue": ("requeue",),
    THROTTLE: ("array_limit",),
}
"""What each field of the command states of a job, where plugins of JobSubmitPlugins are told of it."""
CPUS_BEFORE: dict[str, Change] = {
    "numcpus": cpus_beside_tasks,
    "mincpusnode": cpus_of_nodes,
}
"""What these fields say before ``UPDATED_CPUS_ARE_OF_TASKS``."""
GRES_BEFORE: dict[str, Change] = {
    "gres": devices.gres_of_types,
    "trespernode": devices.of_node_typed,
    "tresperjob": devices.of_job_typed,
    "trespertask": devices.of_task_typed,
}
"""What these fields say before ``UPDATED_GRES_REPLACE_ALL``."""
GRES_OF_ALL: dict[str, Change] = {
    "gres": devices.all_of_node,
    "trespernode": devices.all_of_node_marked,
    "tresperjob": devices.all_of_job,
    "trespertask": devices.all_of_task,
}
"""What these fields say from ``UPDATED_GRES_MAY_BE_NONE`` on."""
UNTOLD = (
    *("mincpusnode", "contiguous", "oversubscribe", "prefer", "switches", "jobname", "endtime", "mintmpdisknode"),
    *("gres", "trespernode", "tresperjob", "trespertask"),
)
"""Fields of which they are not."""
NO_CHANGE = (
    *("comment", "admincomment", "extra", "wckey", "stderr", "stdin", "stdout", "workdir", "mailtype", "mailuser"),
)
"""Fields that change no schedule; the job is updated all the same, and a pass comes."""
ALONE = {"nice": "100"}
"""Fields that need no value, and what they state then."""


def check_fields(fields: Fields) -> None:
    """Whether all fields are known.

    Raises:
        InputError: one is not.
    """
    for key in fields:
        if key not in (*STATED, *UNTOLD, *NO_CHANGE):
            known = ", ".join((*STATED, *UNTOLD))
            raise InputError(f"of a job the emulator can update {known}, not {key!r}")


def update_of(fields: Fields) -> JobUpdate:
    """What the fields of a command state.

    Raises:
        InputError: a field that is not known.
        ValueError: a value that cannot be understood.
    """
    check_fields(fields)
    stated: dict[str, Any] = {}
    for key, text in fields.items():
        if key not in STATED:
            continue
        if key in _READ:
            stated[STATED[key][0]] = _READ[key](text)
            continue
        options = OF_A_JOB[key](BatchOptions(), text)
        asked = submission_of(JobRequest(0, 0.0, 0.0, options))
        stated |= {name: getattr(options if name == "deadline" else asked, name) for name in STATED[key]}
    if "numnodes" in fields and "-" not in fields["numnodes"]:
        stated["max_nodes"] = None
    return JobUpdate(**stated)


def fields_of(update: JobUpdate) -> dict[str, str]:
    """The fields of a command that states an update."""
    found: dict[str, str] = {}
    for key, names in STATED.items():
        if key not in ("numnodes", "numtasks") and (value := getattr(update, names[0])) is not None:
            found[key] = _WRITE.get(key, str)(value)
    if update.min_nodes is not None or update.max_nodes is not None:
        bounds = dict.fromkeys(filter(None, (update.min_nodes or 1, update.max_nodes)))
        found["numnodes"] = "-".join(map(str, bounds))
    return found


def refused_words(reason: str, record: JobRecord, tasks: Sequence[int]) -> str:
    """A refusal as ``scontrol`` prints it.

    Args:
        reason: what is said of it.
        record: of the job.
        tasks: indices in its array.
    """
    if record.array is None:
        return f"{reason} for job {record.submission.id}"
    return f"{record.array}_{ranges(tasks)}: {reason}"


def _priority(text: str) -> float:
    return math.inf if text.upper() == RELEASE else whole(text)


_READ: Mapping[str, Callable[[str], Any]] = {
    "priority": _priority,
    "nice": whole,
    "sitefactor": whole,
    "timelimit": limit_seconds,
    **dict.fromkeys(("numcpus", "numtasks", THROTTLE), whole),
}


def _listed(names: tuple[str, ...]) -> str:
    return ",".join(names)


def _after(seconds: float) -> str:
    return f"now+{math.ceil(seconds)}"


_WRITE: Mapping[str, Callable[[Any], str]] = {
    "priority": lambda number: RELEASE if number == math.inf else str(int(number)),
    **dict.fromkeys(("timelimit", "timemin"), lambda time: written(time if time == math.inf else math.ceil(time))),
    **dict.fromkeys(("partition", "reqnodelist", "excnodelist", "licenses"), _listed),
    **dict.fromkeys(("starttime", "deadline"), _after),
    "requeue": lambda wanted: str(int(wanted)),
}
