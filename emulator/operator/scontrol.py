"""Operators' commands, as ``scontrol`` takes them: data, parsed and checked, never run by a shell."""

from __future__ import annotations

import logging
import math
import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, TypeVar

from emulator.config.sacctmgr.commands import sacctmgr
from emulator.config.slurm.duration import limit_seconds
from emulator.config.slurm.hostlist import expand
from emulator.operator import jobs
from emulator.operator.fields import JOB_FIELDS, NODE_FIELDS, PARTITION_FIELDS, RESERVATION_FIELDS, in_full
from emulator.operator.het_jobs import alone, leaders, named, not_whole, widened, with_led
from emulator.operator.reconfigure import update_nodes, update_partition
from emulator.operator.update import (
    OF_A_JOB,
    RELEASE,
    THROTTLE,
    Fields,
    check_fields,
    cpus_of_tasks,
    fields_of,
    refused_words,
    update_of,
    with_tasks,
)
from emulator.scheduling.het_jobs import NOT_ONE
from emulator.scheduling.job_mgr import TIME_MIN_INVALID
from emulator.scheduling.records import sharing
from emulator.state.job import EMPTY, Job
from emulator.state.partition import Partition
from emulator.state.reservation import PURGE_AFTER, RECURRING, Reservation
from emulator.state.run import State
from emulator.workload.clock_time import after_now
from emulator.workload.request import PartlyRefusedError, RejectedError
from emulator.workload.sbatch import array_of, parse_sbatch
from slurm_sim_plugins.errors import InputError
from slurm_sim_plugins.nodes import Mask

if TYPE_CHECKING:
    from emulator.engine.controller import Controller
    from emulator.state.cluster import Cluster

log = logging.getLogger(__name__)
LIST = re.compile(r",(?![^\[]*\])")
"""What separates jobs: no comma within brackets."""
OF_AN_ARRAY = re.compile(r"(\d+)_(\d+|\[[-:,\d]+\])")
"""Tasks of an array, as ``ID_INDEX`` or ``ID_[INDICES]``."""
Some = TypeVar("Some")
FLAGS = frozenset(
    {
        "ANY_NODES",
        "FLEX",
        "IGNORE_JOBS",
        "MAGNETIC",
        "MAINT",
        "OVERLAP",
        "PART_NODES",
        "PURGE_COMP",
        "REPLACE",
        *RECURRING,
    }
)
"""Flags of reservations that have an effect."""
ALL = frozenset({"ALL_NODES", "PART_NODES"})
"""Those that say that a reservation is of all nodes, or of all of a partition: Slurm gives it the first itself."""
LISTS = ("Users", "Accounts", "Flags", "Nodes")
"""Of a reservation: an update may add to them (``+=``), or take from them (``-=``)."""
OF_A_RESERVATION = (
    *("ReservationName", "StartTime", "EndTime", "Duration", "NodeCnt", "Licenses", "PartitionName"),
    *LISTS,
)
"""What can be updated of a reservation."""
OF_A_NEW_RESERVATION = (*OF_A_RESERVATION, "CoreCnt", "Features")
"""What can be stated of one that is made."""
WHICH = ("jobid=", "jobname=", "job=")
"""Words of an update that say which jobs it is about."""
Action = Callable[[list[str], "Controller"], None]


def scontrol(command: str, controller: Controller) -> None:
    """Carry out one command now.

    Args:
        command: such as ``scontrol update NodeName=n1 State=DRAIN``, or one of ``sacctmgr``.
        controller: whose cluster it is.

    Raises:
        InputError: a command that is not known, or that cannot be carried out.
    """
    action, words = _parsed(command)
    try:
        action(words, controller)
    except ValueError as error:
        raise InputError(f"{command!r}: {error}") from error


def check(command: str) -> None:
    """Whether a command is one that is known, whatever it is about.

    Raises:
        InputError: it is not.
    """
    _parsed(command)


def _parsed(command: str) -> tuple[Action, list[str]]:
    """What carries a command out, and the words for it."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise InputError(f"{command!r}: {error}") from error
    program = words.pop(0) if words and words[0] in ("scontrol", "scancel", "sacctmgr") else "scontrol"
    if not words:
        raise InputError(f"{command!r}: name what to do")
    if program != "scontrol":
        return _quietly(_scancel if program == "scancel" else _change_accounts), words
    verb, rest = words[0].lower(), words[1:]
    about = rest[0].lower().partition("=")[0] if rest else ""
    if about.startswith("res") and "reservationname".startswith(about) and verb in ("create", "update", "delete"):
        verb, rest = f"{verb} reservation", rest[1:] if "=" not in rest[0] else rest
    if verb not in VERBS:
        raise InputError(f"{command!r}: the emulator knows scancel, sacctmgr, and of scontrol {', '.join(VERBS)}")
    return VERBS[verb], rest


def _change_accounts(words: list[str], controller: Controller) -> None:
    accounting = controller.cluster.accounting
    if accounting is None:
        raise InputError("there are no accounts that could be changed")
    controller.of_records = False
    sacctmgr(["sacctmgr", *words], accounting.manager.accounts)
    accounting.changed()


def _fields(words: list[str]) -> dict[str, str]:
    fields = {}
    for word in words:
        key, equals, value = word.partition("=")
        fields[key.lower() if equals else ""] = value if equals else word
    return fields


def _jobs(words: list[str], controller: Controller) -> list[Job]:
    """Jobs by id, list of ids, or name."""
    found: list[Job] = []
    for word in words:
        key, equals, value = word.partition("=")
        if equals and key.lower() in ("jobname", "name"):
            found += [job for job in controller.cluster.jobs.values() if job.name == value]
            continue
        for text in LIST.split(value if equals else word):
            found += _named(text, controller)
    return found


def _named(text: str, controller: Controller) -> list[Job]:
    """A job, array or heterogeneous job by its id, parts as ``ID_INDEX``, ``ID_[INDICES]`` or ``ID+OFFSET``.

    Or else all jobs of a name.
    """
    known = controller.cluster.jobs.values()
    tasks = OF_AN_ARRAY.fullmatch(text)
    if of_het_job := named(text, controller.cluster):
        found = list(of_het_job)
    elif text.isdigit():
        found = [job for job in known if int(text) in (job.id, job.request.array)]
    elif tasks is not None:
        found = _tasks(int(tasks[1]), array_of(tasks[2].strip("[]")).indices, controller.cluster)
    else:
        found = []
    found = found or [job for job in known if job.name == text]
    if not found:
        raise InputError(f"there is no job {text!r}")
    return found


def _tasks(array: int, indices: Sequence[int], cluster: Cluster) -> list[Job]:
    """Tasks of an array by their indices: each that waits with others gets a record of its own, which goes first."""
    of_array, named = [job for job in cluster.jobs.values() if job.request.array == array], set(indices)
    found = [job for job in of_array if job.request.task in named]
    for job in found if any(job.waits_with_others and job.request.task not in named for job in of_array) else ():
        job.split_off()
        cluster.order.changed()
    return found


def _each(do: Callable[[Job, Controller], None], chosen: Callable[[list[Job], Cluster], list[Job]]) -> Action:
    """Do something to each of the jobs that are named; that one refuses does not keep it from the others.

    Args:
        do: what is done.
        chosen: of which of them it is asked, where they are components of heterogeneous jobs.
    """

    def action(words: list[str], controller: Controller) -> None:
        found = chosen(_jobs(words, controller), controller.cluster)
        _to_all(found, lambda job: do(job, controller))

    return action


def _quietly(do: Action) -> Action:
    """Do what Slurm queues no pass for."""

    def action(words: list[str], controller: Controller) -> None:
        controller.asks = False
        do(words, controller)

    return action


def _requeue(held: bool) -> Action:
    """Requeue the jobs that are named; of a whole array the last task first, which has the number of the array."""

    def action(words: list[str], controller: Controller) -> None:
        named_jobs = leaders(_jobs(words, controller), controller.cluster)
        jobs_of = groupby(named_jobs, lambda job: job.request.array)
        last_first = -1 if not any("_" in word for word in words) else 1
        found = [job for array, tasks in jobs_of for job in list(tasks)[:: last_first if array is not None else 1]]
        _to_all(found, lambda job: jobs.requeue(job, controller, held))

    return action


def _to_all(found: Sequence[Some], do: Callable[[Some], None]) -> None:
    refusals: list[Exception] = []
    for one in found:
        try:
            do(one)
        except (InputError, ValueError) as refusal:
            refusals.append(refusal)
    if len(refusals) < len(found) and refusals:
        raise PartlyRefusedError(str(refusals[0])) from refusals[0]
    if refusals:
        raise refusals[0]


def _hold(words: list[str], controller: Controller) -> None:
    """Put jobs on hold, which is an update of their priority."""
    _modify(widened(_jobs(words, controller), controller.cluster), {"priority": "0"}, controller)


def _uhold(words: list[str], controller: Controller) -> None:
    """Put jobs on hold as their users would."""
    hold = partial(jobs.hold, controller=controller, by="JobHeldUser")
    _modify(widened(_jobs(words, controller), controller.cluster), {"priority": "0"}, controller, hold)


def _release(words: list[str], controller: Controller) -> None:
    """Release jobs; the tasks of an array that have not run share one record, and hence one priority."""
    arrays: dict[int, Job] = {}

    def release(job: Job) -> None:
        jobs.release(job, controller, arrays.get(job.request.array or 0) if job.waits_with_others else None)
        if job.request.array is not None and job.waits_with_others:
            arrays.setdefault(job.request.array, job)

    found = _by_records(widened(_jobs(words, controller), controller.cluster))
    _modify(found, {"priority": RELEASE}, controller, release)


def _by_records(jobs: list[Job]) -> list[Job]:
    """Jobs as Slurm goes through them: of an array what has not run goes first, then the tasks, the last first."""
    first: dict[int, int] = {}
    for place, job in enumerate(jobs):
        first.setdefault(job.request.array or job.id, place)

    def order(job: Job) -> tuple[int, bool, float]:
        start = job.runs[0].start if job.runs else 0.0
        return first[job.request.array or job.id], not job.waits_with_others, -start

    return sorted(jobs, key=order)


def _top(words: list[str], controller: Controller) -> None:
    """Jobs get the highest priorities of their user's jobs alike, in their order; the others lose as much.

    What would fall below 0 of those comes to stand just below the last of the jobs, for priorities are unsigned.
    (Observation K3; recorded on 26.05.)
    """
    named = list(dict.fromkeys(_jobs(words, controller)))
    several = next((job for job in named if len(job.partitions) > 1), None)
    if several is not None:
        raise InputError(f"job {several.id} is in several partitions: only one in a single partition goes to the top")
    jobs = [job for job in named if job.state is State.PENDING and not job.on_hold]
    if not jobs:
        raise InputError("none of these jobs waits without being on hold: no other has a priority to change")
    others = [other for other in controller.cluster.pending() if _moves_with(jobs[0], other) and other not in jobs]
    tops, rest = _records(jobs), sorted(_records(others), key=lambda record: _listed(record[0], controller.cluster))
    priorities = sorted((int(one[0].priority) for one in (*tops, *rest)), reverse=True)
    last, lost = math.inf, 0
    for record, highest in zip(tops, priorities, strict=False):
        last = highest - 1 if highest == last > 2 else highest
        lost += _set_by_nice(record, last)
    for number, record in enumerate(rest):
        priority = int(record[0].priority) - int(lost / (len(rest) - number))
        lost += _set_by_nice(record, priority if 0 <= priority < last else last - 1)


def _records(jobs: list[Job]) -> list[list[Job]]:
    """Jobs by the controller's records: the tasks of an array that have not run share one."""
    records: dict[tuple[int, bool], list[Job]] = {}
    for job in jobs:
        shared = job.request.array is not None and job.waits_with_others
        records.setdefault((job.request.array or 0, True) if shared else (job.id, False), []).append(job)
    return list(records.values())


def _listed(job: Job, cluster: Cluster) -> tuple[float, int]:
    """Where the record of a job stands in the controller's list: by when it was made, then by number.

    A task that starts keeps the record of its array, and what is left of that gets another one.
    """
    array = job.request.array
    if array is None:
        return job.request.submit, job.id
    own = math.inf if job.waits_with_others or not job.runs else job.runs[0].start
    starts = (task.runs[0].start for task in cluster.tasks[array] if task.runs and task is not job)
    return max((start for start in starts if start < own), default=job.request.submit), array


def _moves_with(job: Job, other: Job) -> bool:
    """Whether another job loses priority where a job gains some."""
    same = other.partitions == job.partitions and len(other.partitions) == 1 and other.request.user == job.request.user
    same = same and (other.options.account, other.options.qos) == (job.options.account, job.options.qos)
    return same and not other.on_hold and other.priority > 1


def _set_by_nice(record: list[Job], priority: float) -> int:
    """Change the priority of the jobs of a record by their nice value; by how much it grows."""
    gain = int(priority) - int(record[0].priority)
    for job in record:
        _lift(job, gain)
    return gain


def _lift(job: Job, amount: float) -> None:
    job.lift += amount
    job.shift(amount)


def _update(words: list[str], controller: Controller) -> None:
    """Change jobs, nodes or a partition: what a command names is looked for in this order, as ``scontrol`` does."""
    fields = _fields(words)
    nodes, partition = in_full(fields, NODE_FIELDS), in_full(fields, PARTITION_FIELDS)
    of_jobs = in_full(fields, JOB_FIELDS)
    if any(f"{key}=" in WHICH for key in of_jobs) or "" in of_jobs:
        _update_jobs(words, of_jobs, controller)
    elif "nodename" in nodes:
        update_nodes(nodes, controller)
    elif "partitionname" in partition:
        update_partition(partition, controller)
    else:
        raise InputError("No valid entity in update command")


def _update_jobs(words: list[str], fields: Fields, controller: Controller) -> None:
    named = [f"{key}={value}" for key, value in fields.items() if f"{key}=" in WHICH]
    named += [word for word in words if "=" not in word]
    stated = {key: value for key, value in fields.items() if key and f"{key}=" not in WHICH}
    found = _jobs(named, controller)
    if stated.get("timelimit", "").startswith(("+", "-")):
        # scontrol asks for the limit of each, and hands on the new one.
        change = stated["timelimit"]
        more = limit_seconds(change[1:]) * (1 if change[0] == "+" else -1)
        _to_all(found, lambda job: _modify([job], stated | {"timelimit": f"{(job.limit + more) / 60:.0f}"}, controller))
        return
    _modify(found, stated, controller)


def _modify(found: list[Job], fields: Fields, controller: Controller, do: Callable[[Job], None] | None = None) -> None:
    """Change jobs as the plugins of JobSubmitPlugins leave it; that one is refused does not keep it from the others.

    Args:
        found: the jobs.
        fields: what the command states of them.
        controller: whose jobs they are.
        do: does what the fields state, to one; None for :func:`_update_job`.
    """

    def update(shared: list[Job]) -> None:
        left = _left(shared, fields, controller)
        for job in shared:
            if do is not None and left == fields:
                do(job)
                continue
            try:
                for key, value in with_tasks(job.options, left).items():
                    _update_job(job, key, value, controller)
            finally:
                _work_out_again(job, controller)

    if controller.arrivals.chain.judges_changes:
        _to_all(list(sharing(found)), update)
    else:
        _to_all([[job] for job in found], update)


def _left(shared: list[Job], fields: Fields, controller: Controller) -> Fields:
    """What of fields is changed in the end; jobs that are over are not asked about.

    Raises:
        RejectedError: a plugin refuses it, in the words of ``scontrol``.
    """
    chain = controller.arrivals.chain
    if shared[0].over or not chain.judges_changes:
        return fields
    record, stated = controller.arrivals.records.of(shared), update_of(fields)
    try:
        left = chain.modified(stated, record)
    except RejectedError as refused:
        raise RejectedError(refused_words(str(refused), record, [job.request.task for job in shared])) from None
    return fields if left == stated else fields_of(left)


def _work_out_again(job: Job, controller: Controller) -> None:
    """A job that waits gets a new priority after any update, also one that was refused; not by ``priority/basic``.

    It counts with the CPUs with which it was planned.
    """
    if job.state is State.PENDING and not (job.on_hold or job.fixed_priority):
        controller.policies.set_priorities([job])


def _update_job(job: Job, key: str, value: str, controller: Controller) -> None:
    if key == "priority":
        if value == "0":
            jobs.hold(job, controller)
        elif value.upper() == RELEASE:
            jobs.release(job, controller)
        else:
            # It holds in all of its partitions.
            job.priority, job.priorities, job.held_by, job.fixed_priority = int(value), EMPTY, "", True
            job.nice = 0
    elif key == "nice":
        _lift(job, -job.lift)
        job.shift(job.nice - int(value))
        job.nice = int(value)
    elif key == "sitefactor":
        job.shift(int(value) - job.site)
        job.site = int(value)
    elif key == "timelimit":
        limit = limit_seconds(value)
        if job.time_min is not None and limit < job.time_min and job.state is State.PENDING:
            raise InputError(f"{TIME_MIN_INVALID} for job {job.id}")
        job.limit, job.limit_of_operator = limit, True
        controller.passes.look_as_reservations_near([job])
        if job.run is not None:
            job.run.limit = job.limit
    else:
        check_fields({key: value})
        _update_request(job, key, value, controller)


def _update_request(job: Job, key: str, value: str, controller: Controller) -> None:
    """A job asks for something else."""
    rules = controller.parameters.rules
    if key == "numnodes" and rules.NUM_NODES_IS_BOTH and "-" not in value:
        value = f"{value}-{value}"
    of_cpus = key == "numcpus"
    of_tasks = of_cpus and rules.UPDATED_CPUS_ARE_OF_TASKS
    if key == "numtasks" and rules.NUM_TASKS_ARE_CPUS:
        # Only of one CPU a task: a job of larger ones would wait for ever.
        key = "numcpus" if job.options.cpus_per_task in (None, 1) else key
    if key == "numnodes":
        job.least_nodes = 0
    options = (cpus_of_tasks if of_tasks else OF_A_JOB[key])(job.options, value)
    if key == "licenses" and job.state is State.RUNNING and not options.licenses_of:
        jobs.change_licenses(job, options, controller)
        return
    # A throttle is said of all tasks of an array, and bounds those that wait.
    if key != THROTTLE or job.state is State.PENDING:
        jobs.change(job, options, controller)
    if of_cpus and job.eligible is not None and not job.held_by:
        job.reason = "None"  # until it is looked at again


def _create_reservation(words: list[str], controller: Controller) -> None:
    fields = _whole_partition(_known(_of_reservation(words, controller), OF_A_NEW_RESERVATION))
    flags = _flags(fields)
    lists = [name for name in ("CoreCnt", "NodeCnt") if "," in fields.get(name.lower(), "")]
    if lists and controller.parameters.rules.CORE_COUNTS_ARE_NO_LISTS:
        raise InputError(f"Using a comma separated array for {lists[0]} is no longer valid")
    flags |= _of_all(fields)
    chosen = any(int(each) for name in ("nodecnt", "corecnt") for each in _words(fields.get(name, "")))
    if not (chosen or "nodes" in fields or "ANY_NODES" in flags):
        raise InputError("Error creating the reservation: Invalid node name specified")
    start = _time("StartTime", fields.get("starttime", "now"), controller)
    end = _end(fields, start, controller, float("inf"))
    made = controller.reservations.create(
        fields.get("reservationname", ""),
        start,
        end,
        nodes=_nodes(fields, controller),
        count=int(fields["nodecnt"]) if "nodecnt" in fields else None,
        partition=_partition_of(fields, controller),
        users=_words(fields.get("users", "")),
        accounts=_words(fields.get("accounts", "")),
        flags=flags,
        cores=[int(each) for each in _words(fields.get("corecnt", ""))],
        licenses=_licenses(fields),
        features=fields.get("features", ""),
    )
    made.purge_after = _purge_after(fields, made.purge_after)
    made.duration = limit_seconds(fields["duration"]) if "duration" in fields else None
    controller.passes.reserved(made)


def _of_all(fields: Fields) -> frozenset[str]:
    """The flag of a reservation of all nodes, or of all of a partition; none for others."""
    if fields.get("nodes", "").upper() != "ALL":
        return frozenset()
    return frozenset({"PART_NODES" if "partitionname" in fields else "ALL_NODES"})


def _whole_partition(fields: Fields) -> Fields:
    """What is stated of a new reservation; one of a partition alone is of all its nodes."""
    if any(name in fields for name in ("nodes", "nodecnt", "corecnt", "licenses")) or "partitionname" not in fields:
        return fields
    flags = ",".join(filter(None, (fields.get("flags", ""), "PART_NODES")))
    return {**fields, "nodes": "ALL", "flags": flags}


def _partition_of(fields: Fields, controller: Controller) -> Partition | None:
    """The partition of whose nodes a reservation gets so many: the one that is named, or the default."""
    name, partitions = fields.get("partitionname", ""), controller.cluster.partitions
    if name and name not in partitions:
        raise InputError("Invalid partition name specified")
    return partitions[name] if name else controller.cluster.default


def _update_reservation(words: list[str], controller: Controller) -> None:
    """Change what a command states of a reservation, once all of it is read; flags are added with ``=``, too."""
    fields = _known(_of_reservation(words, controller), OF_A_RESERVATION, LISTS)
    one = _reservation(fields, controller)
    start, end, duration = _times(fields, one, controller)
    named = any(key in fields for key in ("nodes", "nodes+", "nodes-"))
    flags = one.flags - ALL if named or "nodecnt" in fields else one.flags
    flags = flags | _flags(fields) | _flags(fields, "flags+") | _of_all(fields)
    flags = flags - _flags(fields, "flags-")
    # One of cores whose nodes are named has all of these.
    cores = None if named else one.cores
    nodes = _changed_nodes(fields, one, controller)
    changed = replace(one, flags=flags, start=start, end=end, nodes=nodes, cores=cores)
    nodes = changed.nodes = _resized(fields, changed, controller)
    licenses = _licenses(fields) if "licenses" in fields else one.licenses
    controller.reservations.check(replace(changed, licenses=licenses))
    one.flags, one.start, one.end, one.nodes, one.duration = flags, start, end, nodes, duration
    one.cores, one.licenses, one.purge_after = cores, licenses, _purge_after(fields, one.purge_after)
    if "PURGE_COMP" not in flags:
        one.idle_since, one.purge_after = None, PURGE_AFTER
    one.counted = one.counted and not named
    if "partitionname" in fields:
        one.partition = _partition_of(fields, controller)
    one.users = _changed(fields, "users", one.users)
    one.accounts = _changed(fields, "accounts", one.accounts)
    controller.cluster.redraw()
    controller.passes.reserved(one)


def _licenses(fields: Fields) -> tuple[tuple[str, int], ...]:
    """The licences that are stated of a reservation."""
    return parse_sbatch(["--licenses=" + fields["licenses"]]).licenses if fields.get("licenses") else ()


def _changed_nodes(fields: Fields, one: Reservation, controller: Controller) -> Mask:
    """The nodes of a reservation after an update, which may add some (``Nodes+=``) or take some away (``Nodes-=``)."""
    named = {key: _nodes({"nodes": fields[key]}, controller) for key in ("nodes+", "nodes-") if key in fields}
    nodes = _nodes(fields, controller)
    nodes = one.nodes if nodes is None else nodes
    for key, mask in named.items():
        if mask is not None:
            nodes = nodes | mask if key == "nodes+" else nodes & ~mask
    return nodes


def _resized(fields: Fields, one: Reservation, controller: Controller) -> Mask:
    """The nodes of a reservation that is changed, once it has as many as is stated."""
    if "nodecnt" not in fields:
        return one.nodes
    if one.cores is not None:
        raise InputError("Updating core/node TRES not supported for core-based reservations")
    return controller.reservations.resized(one, int(fields["nodecnt"]))


def _how_many(fields: Fields, controller: Controller) -> int:
    """How many nodes are stated of a reservation; one if none are."""
    if "nodecnt" in fields:
        return int(fields["nodecnt"])
    nodes = _nodes(fields, controller)
    return 1 if nodes is None else int(nodes.sum())


def _of_reservation(words: list[str], controller: Controller) -> dict[str, str]:
    """The fields of a reservation; TRES= says how many nodes, cores and licences it has."""
    fields = in_full(_fields(words), RESERVATION_FIELDS)
    per_node = "trespernode" in fields
    if per_node and "tres" in fields:
        raise InputError("Parameter TRESPerNode specified more than once")
    stated = _words(fields.get("tres", fields.get("trespernode", "")))
    licenses, cores = [], 0
    for name, _, count in (word.partition("=") for word in stated):
        if name.lower() == "node":
            fields["nodecnt"] = count
        elif name.lower() == "cpu":
            cores = int(count)
        elif name.lower().startswith("license/"):
            licenses.append(f"{name.partition('/')[2]}:{count}")
        else:
            return fields
    if cores:
        fields["corecnt"] = str(cores * (_how_many(fields, controller) if per_node else 1))
    if licenses:
        fields["licenses"] = ",".join(licenses)
    fields.pop("tres", None)
    fields.pop("trespernode", None)
    return fields


def _known(fields: Fields, names: Sequence[str], lists: Sequence[str] = ()) -> Fields:
    """The fields of a reservation, if they are of these names, or add to one of these lists or take from it."""
    known = [name.lower() for name in names] + [f"{name.lower()}{sign}" for name in lists for sign in "+-"]
    known += ["duration+", "duration-"] if lists else []
    if unknown := [key or value for key, value in fields.items() if key not in known]:
        raise InputError(f"of a reservation the emulator takes {', '.join(names)} here, not {unknown[0]!r}")
    return fields


def _flags(fields: Fields, key: str = "flags") -> frozenset[str]:
    """Flags of a reservation; those without effect are named."""
    flags = frozenset(word.upper().partition("=")[0] for word in _words(fields.get(key, "")))
    if "SPEC_NODES" in flags:
        raise InputError("Error parsing flags: Slurm shows SPEC_NODES, and does not take it")
    if unknown := sorted(flags - FLAGS):
        called = fields.get("reservationname", "without a name")
        log.warning(f"reservation {called}: {', '.join(unknown)}: no effect here; known are {', '.join(sorted(FLAGS))}")
    return flags & FLAGS


def _purge_after(fields: Fields, otherwise: float) -> float:
    """Seconds that PURGE_COMP names, as a limit: minutes, where nothing else is said."""
    words = [word for key in ("flags", "flags+") for word in _words(fields.get(key, ""))]
    stated = [word.partition("=")[2] for word in words if word.upper().startswith("PURGE_COMP=")]
    return limit_seconds(stated[-1]) if stated else otherwise


def _changed(fields: Fields, key: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """A list as an update leaves it, which may say more (``Users+=``) or less (``Users-=``) of it."""
    if key in fields:
        return _words(fields[key])
    less = _words(fields.get(f"{key}-", ""))
    return tuple(name for name in (*names, *_words(fields.get(f"{key}+", ""))) if name not in less)


def _delete_reservation(words: list[str], controller: Controller) -> None:
    words = [f"reservationname={word}" if "=" not in word else word for word in words]
    one = _reservation(_of_reservation(words, controller), controller)
    if any(job.reservation == one.name for job in controller.cluster.jobs.values() if not job.over):
        raise InputError("Requested reservation is in use")
    del controller.reservations.by_name[one.name]
    controller.cluster.redraw()


def _reservation(fields: Fields, controller: Controller) -> Reservation:
    name = fields.get("reservationname", "")
    if name not in controller.reservations.by_name:
        raise InputError(f"there is no reservation {name!r}")
    return controller.reservations.by_name[name]


def _nodes(fields: Fields, controller: Controller) -> Mask | None:
    names, machine = fields.get("nodes", ""), controller.cluster.machine
    if names.upper() == "ALL" and "partitionname" in fields:
        partition = _partition_of(fields, controller)
        return None if partition is None else partition.nodes.copy()
    if names.upper() == "ALL":
        return machine.mask_of(machine.names)
    listed = expand(names) if names else []
    unknown = [name for name in listed if name not in machine.index]
    if unknown:
        raise InputError(f"there is no node {unknown[0]!r}")
    return machine.mask_of(listed) if listed else None


def _times(fields: Fields, one: Reservation, controller: Controller) -> tuple[float, float, float | None]:
    """(start, end, duration) of a reservation that is changed: one of a stated duration keeps it."""
    start, end, duration, now = one.start, one.end, one.duration, controller.cluster.now
    if "starttime" in fields:
        if controller.cluster.whole(start) <= controller.cluster.whole(now):
            raise InputError("Reservation already started")
        start = _time("StartTime", fields["starttime"], controller)
        end = end if duration is None else start + duration
    if "endtime" in fields:
        end, duration = _time("EndTime", fields["endtime"], controller), None
    for key in ("duration", "duration+", "duration-"):
        if key in fields:
            stated = limit_seconds(fields[key])
            before = duration or 0.0
            duration = stated if key == "duration" else before + stated if key[-1] == "+" else max(before - stated, 0.0)
            if math.isnan(duration):
                raise InputError("Invalid time specified")
            end = max(start + duration, now)
    if start >= end:
        raise InputError("Invalid time specified")
    return start, end, duration


def _end(fields: Fields, start: float, controller: Controller, otherwise: float) -> float:
    if "duration" in fields:
        return start + limit_seconds(fields["duration"])
    return _time("EndTime", fields["endtime"], controller) if "endtime" in fields else otherwise


def _time(name: str, text: str, controller: Controller) -> float:
    """A moment, in whole seconds of the cluster's clock, but none that is over (recorded)."""
    now = controller.cluster.now
    try:
        return max(now, controller.cluster.second_of(now) + after_now(text))
    except ValueError as error:
        raise InputError(f"{name}={text}: {error}") from error


def _scancel(words: list[str], controller: Controller) -> None:
    """Jobs by id or list of ids, and :data:`CHOICES`; another signal than SIGKILL ends none of them."""
    ids, chosen = _chosen(words)
    signals = [chosen.pop(name) for name in SIGNALS if name in chosen]
    if signals and signals[-1].upper().removeprefix("SIG") not in ("9", "KILL"):
        return
    found = _jobs(ids, controller) if ids else list(controller.cluster.jobs.values())
    found = [job for job in found if not job.over and all(CHOICES[name](job, value) for name, value in chosen.items())]
    found = with_led(widened(found, controller.cluster), controller.cluster)

    def cancel(job: Job) -> None:
        if job.state is State.PENDING and not_whole(job, found, controller.cluster):
            raise InputError(f"job {job.id}: {NOT_ONE}")
        jobs.cancel(job, controller)

    _to_all(found, cancel)


def _chosen(words: list[str]) -> tuple[list[str], dict[str, str]]:
    """Words that name jobs, and what else they must be."""
    ids, chosen, rest = [], {}, list(reversed(words))
    while rest:
        word = rest.pop()
        if not word.startswith("-"):
            ids.append(word)
            continue
        name, equals, value = word.partition("=")
        if name not in (*CHOICES, *SIGNALS) or not (equals or rest):
            known = ", ".join((*CHOICES, *SIGNALS))
            raise InputError(f"{word!r}: of scancel the emulator takes job ids and {known}, with a value")
        chosen[name] = value if equals else rest.pop()
    if not ids and not chosen:
        raise InputError("name the jobs to cancel")
    return ids, chosen


CHOICES: dict[str, Callable[[Job, str], bool]] = {
    **dict.fromkeys(("-u", "--user"), lambda job, value: job.request.user == value),
    **dict.fromkeys(("-n", "--name"), lambda job, value: job.name == value),
    **dict.fromkeys(("-p", "--partition"), lambda job, value: value in [one.name for one in job.partitions]),
    **dict.fromkeys(("-q", "--qos"), lambda job, value: job.options.qos == value),
    **dict.fromkeys(("-R", "--reservation"), lambda job, value: job.reservation == value),
    **dict.fromkeys(("-t", "--state"), lambda job, value: job.state is _state(value)),
}
"""What ``scancel`` takes besides ids of jobs."""
SIGNALS = ("-s", "--signal")


def _state(text: str) -> State:
    """The state of jobs to cancel, by its name or letters."""
    known = {"PENDING": State.PENDING, "RUNNING": State.RUNNING, "SUSPENDED": State.SUSPENDED}
    letters = {"PD": "PENDING", "R": "RUNNING", "S": "SUSPENDED"}
    word = letters.get(text.upper(), text.upper())
    if word not in known:
        raise InputError(f"{text!r}: scancel takes jobs that are {', '.join(known)}")
    return known[word]


def _words(text: str) -> tuple[str, ...]:
    return tuple(word for word in text.split(",") if word)


VERBS: dict[str, Action] = {
    "hold": _hold,
    "uhold": _uhold,
    "holdu": _uhold,
    "release": _release,
    "requeue": _quietly(_requeue(held=False)),
    "requeuehold": _quietly(_requeue(held=True)),
    "suspend": _each(jobs.suspend, alone),
    "resume": _quietly(_each(jobs.resume, alone)),
    "top": _quietly(_top),
    "update": _update,
    "create reservation": _create_reservation,
    "update reservation": _update_reservation,
    "delete reservation": _delete_reservation,
}
"""What the emulator carries out, by verb."""
