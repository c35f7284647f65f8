"""Operators' commands, as ``scontrol`` takes them: data, parsed and checked, never run by a shell."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from emulator.config.sacctmgr.commands import sacctmgr
from emulator.config.slurm.duration import limit_seconds
from emulator.config.slurm.hostlist import expand
from emulator.slurmctld.job import Job
from slurm_sim_plugins.errors import InputError

if TYPE_CHECKING:
    from emulator.slurmctld.controller import Controller

Fields = Mapping[str, str]


def scontrol(command: str, controller: Controller) -> None:
    """Carry out one command now.

    Args:
        command: such as ``scontrol update NodeName=n1 State=DRAIN``, or one of ``sacctmgr``.
        controller: whose cluster it is.

    Raises:
        InputError: a command that is not known, or that cannot be carried out.
    """
    words = shlex.split(command)
    if words and words[0] == "sacctmgr":
        _change_accounts(words, controller)
        return
    if words and words[0] == "scontrol":
        words = words[1:]
    if not words:
        raise InputError(f"{command!r}: name what to do")
    verb, rest = words[0].lower(), words[1:]
    if verb in ("create", "update") and rest and rest[0].lower() == "reservation":
        verb, rest = f"{verb} reservation", rest[1:]
    action = VERBS.get(verb)
    if action is None:
        raise InputError(f"{command!r}: the emulator knows {', '.join(VERBS)}")
    action(rest, controller)


def _change_accounts(words: list[str], controller: Controller) -> None:
    accounting = controller.cluster.accounting
    if accounting is None:
        raise InputError("there are no accounts that could be changed")
    sacctmgr(words, accounting.manager.accounts)
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
        for text in (value if equals else word).split(","):
            found += _named(text, controller)
    return found


def _named(text: str, controller: Controller) -> list[Job]:
    """A job by its id, all tasks of an array by its id, one of them as ``ID_INDEX``, or all jobs of a name."""
    jobs = controller.cluster.jobs.values()
    array, underscore, index = text.partition("_")
    if text.isdigit():
        found = [job for job in jobs if int(text) in (job.id, job.request.array)]
    elif underscore and array.isdigit() and index.isdigit():
        found = [job for job in jobs if (job.request.array, job.request.task) == (int(array), int(index))]
    else:
        found = []
    found = found or [job for job in jobs if job.name == text]
    if not found:
        raise InputError(f"there is no job {text!r}")
    return found


def _hold(words: list[str], controller: Controller) -> None:
    for job in _jobs(words, controller):
        controller.hold(job, "JobHeldAdmin")


def _release(words: list[str], controller: Controller) -> None:
    for job in _jobs(words, controller):
        controller.release(job)


def _requeue(words: list[str], controller: Controller) -> None:
    for job in _jobs(words, controller):
        controller.requeue(job)


def _requeue_hold(words: list[str], controller: Controller) -> None:
    for job in _jobs(words, controller):
        controller.requeue(job, hold=True)


def _suspend(words: list[str], controller: Controller) -> None:
    for job in _jobs(words, controller):
        controller.suspend(job)


def _resume(words: list[str], controller: Controller) -> None:
    for job in _jobs(words, controller):
        controller.resume(job)


def _top(words: list[str], controller: Controller) -> None:
    """Each gets the highest priority of its user's jobs in its partition; these lose as much (observation K3)."""
    for job in _jobs(words, controller):
        others = [
            other
            for other in controller.cluster.pending()
            if other.request.user == job.request.user and other.partitions[0] is job.partitions[0]
            if other is not job and other.priority > 0
        ]
        gain = max(0, *(other.priority - job.priority for other in others)) if others else 0
        _lift(job, gain)
        for place, other in enumerate(others):
            share = gain // (len(others) - place)
            _lift(other, -share)
            gain -= share


def _lift(job: Job, amount: int) -> None:
    job.lift += amount
    job.shift(amount)


def _update(words: list[str], controller: Controller) -> None:
    fields = _fields(words)
    if "nodename" in fields:
        _update_nodes(fields, controller)
    elif "partitionname" in fields:
        _update_partition(fields, controller)
    else:
        _update_jobs(words, fields, controller)


def _update_nodes(fields: Fields, controller: Controller) -> None:
    state = fields.get("state", "").upper()
    for name in expand(fields["nodename"]):
        if name not in controller.cluster.machine.index:
            raise InputError(f"there is no node {name!r}")
        controller.set_node(controller.cluster.machine.index[name], state)


def _update_partition(fields: Fields, controller: Controller) -> None:
    partition = controller.cluster.partitions.get(fields["partitionname"])
    if partition is None:
        raise InputError(f"there is no partition {fields['partitionname']!r}")
    for key, value in fields.items():
        if key == "state":
            partition.state = value.upper()
        elif key == "maxtime":
            partition.max_time = limit_seconds(value)
        elif key == "prioritytier":
            partition.tier = int(value)
        elif key != "partitionname":
            raise InputError(f"of a partition the emulator can update State, MaxTime and PriorityTier, not {key!r}")


def _update_jobs(words: list[str], fields: Fields, controller: Controller) -> None:
    who = [word for word in words if "=" not in word or word.lower().startswith(("jobid=", "jobname=", "job="))]
    for job in _jobs(who, controller):
        for key, value in fields.items():
            if key in ("", "jobid", "jobname", "job"):
                continue
            _update_job(job, key, value, controller)


def _update_job(job: Job, key: str, value: str, controller: Controller) -> None:
    if key == "priority":
        if value == "0":
            controller.hold(job, "JobHeldAdmin")
        else:
            job.priority, job.held_by, job.fixed_priority = int(value), "", True
    elif key == "nice":
        job.shift(job.nice - int(value))
        job.nice = int(value)
    elif key == "timelimit":
        job.limit = limit_seconds(value)
        if job.run is not None:
            job.run.limit = job.limit
    elif key == "partition":
        controller.move(job, tuple(value.split(",")))
    else:
        raise InputError(f"of a job the emulator can update Priority, Nice, TimeLimit and Partition, not {key!r}")


def _create_reservation(words: list[str], controller: Controller) -> None:
    fields, now = _fields(words), controller.cluster.now
    start = _start_time(fields.get("starttime", "now"), now)
    end = start + limit_seconds(fields["duration"]) if "duration" in fields else float("inf")
    names = fields.get("nodes", "")
    machine = controller.cluster.machine
    if names.upper() == "ALL":
        names = ",".join(machine.names)
    nodes = machine.mask_of(expand(names)) if names else None
    controller.reserve(
        fields.get("reservationname", ""),
        start,
        end,
        nodes=nodes,
        count=int(fields["nodecnt"]) if "nodecnt" in fields else None,
        users=_words(fields.get("users", "")),
        accounts=_words(fields.get("accounts", "")),
        flags=frozenset(word.upper() for word in _words(fields.get("flags", ""))),
    )


def _start_time(text: str, now: float) -> float:
    found = re.fullmatch(r"now(?:\+(\d+)([a-z]*))?", text.lower())
    if found is None:
        raise InputError(f"StartTime={text}: the emulator takes now and now+SECONDS")
    units = {"": 1, "s": 1, "seconds": 1, "m": 60, "minutes": 60, "h": 3600, "hours": 3600, "days": 86_400}
    return now + int(found[1] or 0) * units[found[2] or ""]


def _words(text: str) -> tuple[str, ...]:
    return tuple(word for word in text.split(",") if word)


VERBS: dict[str, Callable[[list[str], Controller], None]] = {
    "hold": _hold,
    "release": _release,
    "requeue": _requeue,
    "requeuehold": _requeue_hold,
    "suspend": _suspend,
    "resume": _resume,
    "top": _top,
    "update": _update,
    "create reservation": _create_reservation,
}
"""What the emulator carries out, by verb."""
