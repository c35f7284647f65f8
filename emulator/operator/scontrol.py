"""Operators' commands, as ``scontrol`` takes them: data, parsed and checked, never run by a shell."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING

from emulator.config.sacctmgr.commands import sacctmgr
from emulator.config.slurm.duration import limit_seconds
from emulator.config.slurm.versions import Rules
from emulator.operator import jobs
from emulator.operator.fields import JOB_FIELDS, NODE_FIELDS, PARTITION_FIELDS, Fields, in_full, is_field, whole
from emulator.operator.het_jobs import alone, leaders, widened
from emulator.operator.reconfigure import update_nodes, update_partition
from emulator.operator.reservations import create_reservation, delete_reservation, update_reservation
from emulator.operator.scancel import scancel
from emulator.operator.top import top
from emulator.operator.update import (
    ALONE,
    CPUS_BEFORE,
    GRES_BEFORE,
    GRES_OF_ALL,
    NO_CHANGE,
    OF_A_JOB,
    RELEASE,
    STATED,
    THROTTLE,
    Change,
    check_fields,
    cpus_of_tasks,
    fields_of,
    larger_tasks,
    most_nodes_with_tasks,
    refused_words,
    update_of,
    with_all_named,
    with_tasks,
)
from emulator.operator.which import fields_in, jobs_named, no_field, to_all
from emulator.scheduling.job_mgr import SEVERAL_RESERVATIONS, TIME_MIN_INVALID
from emulator.scheduling.records import sharing
from emulator.state.job import EMPTY, Job
from emulator.state.run import State
from emulator.workload.clock_time import after_now
from emulator.workload.request import RejectedError
from slurm_sim_plugins.errors import InputError

if TYPE_CHECKING:
    from emulator.engine.controller import Controller
    from emulator.workload.sbatch import BatchOptions

WHICH = ("jobid", "", "jobname")
"""Fields of an update that say which jobs it is about, or a word alone; after the first two the last is a new name."""
ON_HOLD = "Job is in held state, pending scheduler release"
"""That a job on hold gets no priority but by its release."""
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
        return _quietly(scancel if program == "scancel" else _change_accounts), words
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


def _quietly(do: Action) -> Action:
    """Do what Slurm queues no pass for."""

    def action(words: list[str], controller: Controller) -> None:
        controller.asks = False
        do(words, controller)

    return action


def _requeue(held: bool) -> Action:
    """Requeue the jobs that are named; of a whole array the last task first, which has the number of the array.

    Behind ``Incomplete`` of these only those that run.
    """

    def action(words: list[str], controller: Controller) -> None:
        if held and (named := [word for word in words if "=" in word]):
            # Only requeue takes what other commands take (recorded).
            raise InputError(f"Invalid job id specified for job {named[0]}")
        incomplete = len(words) > 1 and words[0].lower() == "incomplete"
        named_jobs = leaders(jobs_named(words[incomplete:], controller, apart=False), controller.cluster)
        if incomplete:
            named_jobs = [job for job in named_jobs if job.run is not None]
        to_all(_last_first(named_jobs, words), lambda job: jobs.requeue(job, controller, held))

    return action


def _last_first(found: list[Job], words: list[str]) -> list[Job]:
    """Jobs that are named, of whole arrays the last task first."""
    if any("_" in word for word in words):
        return found
    jobs_of = groupby(found, lambda job: job.request.array)
    return [job for array, tasks in jobs_of for job in list(tasks)[:: -1 if array is not None else 1]]


def _suspend(words: list[str], controller: Controller) -> None:
    """Suspend the jobs that are named; that one refuses does not keep it from the others."""
    found = alone(jobs_named(words, controller, apart=False), controller.cluster)
    to_all(found, lambda job: jobs.suspend(job, controller))


def _resume(words: list[str], controller: Controller) -> None:
    """Resume the jobs that are named; of a whole array the last task first, which so gets the highest number."""
    found = alone(jobs_named(words, controller, apart=False), controller.cluster)
    to_all(_last_first(found, words), lambda job: jobs.resume(job, controller))


def _hold(words: list[str], controller: Controller) -> None:
    """Put jobs on hold, which is an update of their priority."""
    _modify(widened(jobs_named(words, controller), controller.cluster), {"priority": "0"}, controller)


def _uhold(words: list[str], controller: Controller) -> None:
    """Put jobs on hold as their users would."""
    hold = partial(jobs.hold, controller=controller, by="JobHeldUser")
    _modify(widened(jobs_named(words, controller), controller.cluster), {"priority": "0"}, controller, hold)


def _release(words: list[str], controller: Controller) -> None:
    """Release jobs; the tasks of an array that have not run share one record, and hence one priority."""
    arrays: dict[int, Job] = {}

    def release(job: Job) -> None:
        jobs.release(job, controller, arrays.get(job.request.array or 0) if job.waits_with_others else None)
        if job.request.array is not None and job.waits_with_others:
            arrays.setdefault(job.request.array, job)

    found = _by_records(widened(jobs_named(words, controller), controller.cluster))
    _modify(found, {"priority": RELEASE}, controller, release)


def _by_records(jobs: list[Job]) -> list[Job]:
    """Jobs as Slurm goes through them: of an array what has not run goes first, then the tasks, the last first."""
    first: dict[int, int] = {}
    for place, job in enumerate(jobs):
        first.setdefault(job.request.array or job.id, place)

    def order(job: Job) -> tuple[int, bool, float, int]:
        start = job.runs[0].start if job.runs else 0.0
        task = (job.request.task or 0) if job.runs else 0
        return first[job.request.array or job.id], not job.waits_with_others, -start, -task

    return sorted(jobs, key=order)


def _update(words: list[str], controller: Controller) -> None:
    """Change jobs, nodes or a partition: what a command names is looked for in this order, as ``scontrol`` does."""
    fields = fields_in(words, ALONE, partial(is_field, names=JOB_FIELDS))
    nodes, partition = in_full(fields, NODE_FIELDS), in_full(fields, PARTITION_FIELDS)
    of_jobs = in_full(fields, JOB_FIELDS)
    if "" in fields and "nodename" in nodes:
        raise no_field(fields[""])
    if any(key in of_jobs for key in WHICH):
        _update_jobs(of_jobs, controller)
    elif "nodename" in nodes:
        update_nodes(nodes, controller)
    elif "partitionname" in partition:
        update_partition(partition, controller)
    else:
        raise InputError("No valid entity in update command")


def _update_jobs(fields: Fields, controller: Controller) -> None:
    by = next(key for key in WHICH if key in fields)
    stated = {key: value for key, value in fields.items() if key != by}
    if "" in stated:
        raise no_field(stated[""])
    if not stated and by != "jobname":
        raise InputError("No changes specified")
    found = jobs_named([f"{by}={fields[by]}" if by else fields[by]], controller)
    if stated.get("timelimit", "").startswith(("+", "-")):
        # scontrol asks for the limit of each, and hands on the new one.
        change = stated["timelimit"]
        more = limit_seconds(change[1:]) * (1 if change[0] == "+" else -1)
        to_all(found, lambda job: _modify([job], stated | {"timelimit": f"{(job.limit + more) / 60:.0f}"}, controller))
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
            if job.over:
                raise InputError(f"job {job.id} is over: Job has already finished")
            try:
                for key, value in with_tasks(job.options, left).items():
                    if key not in NO_CHANGE:
                        _update_job(job, key, value, controller)
                _ask_again(job)
            finally:
                _work_out_again(job, controller)

    if controller.arrivals.chain.judges_changes:
        to_all(list(sharing(found)), update)
    else:
        to_all([[job] for job in found], update)


def _ask_again(job: Job) -> None:
    """A job that was updated shows no reason until the next pass, unless it is on hold or its partition bars it."""
    if job.state is State.PENDING and not job.on_hold and not job.reason.startswith(("Partition", "Reservation")):
        job.reason = "None"


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
    if left == stated:
        return fields
    return {**{key: value for key, value in fields.items() if key not in STATED}, **fields_of(left)}


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
        elif job.on_hold:
            raise InputError(f"{ON_HOLD} for job {job.id}")
        else:
            # It holds in all of its partitions.
            job.priority, job.priorities, job.held_by, job.fixed_priority = whole(value), EMPTY, "", True
            job.nice = 0
    elif key == "nice":
        jobs.renice(job, whole(value), controller)
    elif key == "timelimit":
        limit = limit_seconds(value)
        if job.time_min is not None and limit < job.time_min and job.state is State.PENDING:
            raise InputError(f"{TIME_MIN_INVALID} for job {job.id}")
        job.limit, job.limit_of_operator = limit, True
        controller.passes.look_as_reservations_near([job])
        if job.run is not None:
            jobs.relimit(job, job.limit, controller)
    elif key in AT_ONCE:
        AT_ONCE[key](job, value, controller)
    else:
        check_fields({key: value})
        _update_request(job, key, value, controller)


def _end_at(job: Job, value: str, controller: Controller) -> None:
    """A running job has another end; dates are refused, as for reservations: the day of second 0 is not known here."""
    jobs.end_at(job, after_now(value), controller)


def _set_site(job: Job, value: str, controller: Controller) -> None:
    job.shift(whole(value) - job.site)
    job.site = whole(value)


AT_ONCE: dict[str, Callable[[Job, str, Controller], None]] = {
    "endtime": _end_at,
    "jobname": jobs.rename,
    "sitefactor": _set_site,
}
"""Fields that change a job, and not what it asks for."""


SHRINKING: dict[str, Callable[[Job, str, Controller], None]] = {"numnodes": jobs.shrink, "reqnodelist": jobs.keep}
"""Fields that leave a job fewer of the nodes that it has."""


def _update_request(job: Job, key: str, value: str, controller: Controller) -> None:
    """A job asks for something else."""
    rules = controller.parameters.rules
    if key in SHRINKING and job.run is not None and job.state in (State.RUNNING, State.SUSPENDED):
        SHRINKING[key](job, value, controller)
        return
    if key == "numnodes" and rules.NUM_NODES_IS_BOTH and value.isdecimal():
        value = f"{value}-{value}"
    if key == "numnodes":
        job.least_nodes = 0
    options = _change_of(key, job, rules)(job.options, value)
    if key == "requeue" and job.run is not None and not job.over:
        job.request = replace(job.request, options=options)  # Of a job that runs it counts as well.
        return
    _check_reservations(options, job, controller)
    if key == "reqnodelist" and not rules.SOME_OF_NAMED:
        options = with_all_named(options)
    if key == "licenses" and job.state is State.RUNNING and not options.licenses_of:
        jobs.change_licenses(job, options, controller)
        return
    # A throttle is said of all tasks of an array, and bounds those that wait.
    if key != THROTTLE or job.state is State.PENDING:
        jobs.change(job, options, controller)
    if key == "switches":
        controller.arrivals.watch_switches(job)
    if key == "numcpus" and job.eligible is not None and not job.held_by:
        job.reason = "None"  # until it is looked at again


def _change_of(key: str, job: Job, rules: Rules) -> Change:
    """What an update of a field makes of what a job asks for."""
    if key == "numnodes" and not rules.UPDATED_NODES_ARE_BOUNDS:
        return most_nodes_with_tasks
    if key == "numcpus" and rules.UPDATED_CPUS_ARE_OF_TASKS:
        return cpus_of_tasks
    if key == "numtasks" and rules.NUM_TASKS_ARE_CPUS:
        return OF_A_JOB["numcpus"] if job.options.cpus_per_task in (None, 1) else larger_tasks
    if key in CPUS_BEFORE and not rules.UPDATED_CPUS_ARE_OF_TASKS:
        return CPUS_BEFORE[key]
    if key in GRES_BEFORE and not rules.UPDATED_GRES_REPLACE_ALL:
        return GRES_BEFORE[key]
    if key in GRES_OF_ALL and rules.UPDATED_GRES_MAY_BE_NONE:
        return GRES_OF_ALL[key]
    return OF_A_JOB[key]


def _check_reservations(options: BatchOptions, job: Job, controller: Controller) -> None:
    """Refuse several reservations where no loop tries a job in each of them."""
    if options.names_several and controller.scheduler.has_main_loop:
        raise InputError(f"{SEVERAL_RESERVATIONS}: ReservationName={options.reservation} for job {job.id}")


VERBS: dict[str, Action] = {
    "hold": _hold,
    "uhold": _uhold,
    "holdu": _uhold,
    "release": _release,
    "requeue": _quietly(_requeue(held=False)),
    "requeuehold": _quietly(_requeue(held=True)),
    "suspend": _suspend,
    "resume": _quietly(_resume),
    "top": _quietly(top),
    "update": _update,
    "create reservation": create_reservation,
    "update reservation": update_reservation,
    "delete reservation": delete_reservation,
}
"""What the emulator carries out, by verb."""
