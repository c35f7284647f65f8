"""Commands that make, change and delete reservations."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from emulator.config.slurm.duration import limit_seconds, seconds
from emulator.config.slurm.hostlist import expand
from emulator.operator.fields import RESERVATION_FIELDS, Fields, in_full
from emulator.operator.which import fields_in, words_in
from emulator.state.partition import Partition
from emulator.state.reservation import PURGE_AFTER, RECURRING, Reservation, next_after
from emulator.workload.clock_time import after_now
from emulator.workload.sbatch import parse_sbatch
from slurm_sim_plugins.errors import InputError
from slurm_sim_plugins.nodes import Mask

if TYPE_CHECKING:
    from emulator.engine.controller import Controller

log = logging.getLogger(__name__)
FLAGS = frozenset(
    {
        "ANY_NODES",
        "FLEX",
        "IGNORE_JOBS",
        "MAGNETIC",
        "MAINT",
        "NO_HOLD_JOBS_AFTER",
        "OVERLAP",
        "PART_NODES",
        "PURGE_COMP",
        "REPLACE",
        "REPLACE_DOWN",
        "STATIC_ALLOC",
        "TIME_FLOAT",
        *RECURRING,
    }
)
"""Flags of reservations that have an effect."""
ALL = frozenset({"ALL_NODES", "PART_NODES"})
"""Those that say that a reservation is of all nodes, or of all of a partition: Slurm gives it the first itself."""
REPLACING = frozenset({"REPLACE", "REPLACE_DOWN"})
"""Flags of reservations of so many nodes, which Slurm chooses."""
LISTS = ("Users", "Accounts", "Groups", "Flags", "Nodes")
"""Of a reservation: an update may add to them (``+=``), or take from them (``-=``)."""
OF_A_RESERVATION = (
    *("ReservationName", "StartTime", "EndTime", "Duration", "NodeCnt", "Licenses", "PartitionName"),
    *LISTS,
)
"""What can be updated of a reservation."""
WITHOUT_EFFECT = ("maxstartdelay", "comment")
"""Of a reservation what changes no schedule: a job may delay one only if it says so (``--signal=R:``)."""
OF_A_NEW_RESERVATION = (*OF_A_RESERVATION, "CoreCnt", "Features")
"""What can be stated of one that is made."""


def create_reservation(words: list[str], controller: Controller) -> None:
    """Make a reservation as a command states it."""
    fields = _whole_partition(_known(_of_reservation(words, controller), OF_A_NEW_RESERVATION))
    flags = _flags(fields)
    lists = [name for name in ("CoreCnt", "NodeCnt") if "," in fields.get(name.lower(), "")]
    if lists and controller.parameters.rules.CORE_COUNTS_ARE_NO_LISTS:
        raise InputError(f"Using a comma separated array for {lists[0]} is no longer valid")
    _check_replaced(fields)
    if "PART_NODES" in flags and fields.get("nodes", "").upper() != "ALL":
        raise InputError("PART_NODES flag requires specifying a Partition and ALL nodes.  No reservation created.")
    flags |= _of_all(fields)
    chosen = any(int(each) for name in ("nodecnt", "corecnt") for each in words_in(fields.get(name, "")))
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
        users=words_in(fields.get("users", "")),
        accounts=words_in(fields.get("accounts", "")),
        flags=flags,
        cores=[int(each) for each in words_in(fields.get("corecnt", ""))],
        licenses=_licenses(fields),
        features=fields.get("features", ""),
    )
    made.groups, made.members = words_in(fields.get("groups", "")), controller.cluster.groups
    made.purge_after = _purge_after(fields, made.purge_after)
    made.duration = limit_seconds(fields["duration"]) if "duration" in fields else None
    controller.passes.reserved(made)


def _check_replaced(fields: Fields) -> None:
    """Refuse one that takes other nodes for those in use, if it names its nodes, or is of all of them, or of cores."""
    if not REPLACING & {word.upper() for word in words_in(fields.get("flags", ""))}:
        return
    if "nodes" in fields:
        raise InputError("Error creating the reservation: Invalid node name specified")
    if "corecnt" in fields:
        raise InputError("Error creating the reservation: CPU count specification invalid")


def _check_replaced_later(fields: Fields, one: Reservation, flags: frozenset[str]) -> None:
    """Refuse to take REPLACE away, to give it to one of named nodes or cores, or to name nodes of such a one."""
    if REPLACING & {word.upper() for word in words_in(fields.get("flags-", ""))}:
        raise InputError("Error parsing flags: REPLACE cannot be taken away.  No reservation update.")
    named = any(key in fields for key in ("nodes", "nodes+", "nodes-"))
    if REPLACING & flags and (named or not one.counted):
        raise InputError("Requested operation not supported on this system")


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


def update_reservation(words: list[str], controller: Controller) -> None:
    """Change what a command states of a reservation, once all of it is read; flags are added with ``=``, too."""
    others = [word for word in words if word.lower() != "skip"]
    fields = _known(_of_reservation(others, controller), OF_A_RESERVATION, LISTS)
    one = _reservation(fields, controller)
    if len(others) < len(words):
        _skip(one, controller)
    if fields.keys() & {"nodes+", "nodes-"} and not controller.parameters.rules.RESERVED_NODES_BY_SIGN:
        raise InputError("The +=/-= notation is not supported when updating Nodes.  No reservation update.")
    start, end, duration = _times(fields, one, controller)
    named = any(key in fields for key in ("nodes", "nodes+", "nodes-"))
    flags = one.flags - ALL if named or "nodecnt" in fields else one.flags
    flags = flags | _flags(fields) | _flags(fields, "flags+") | _of_all(fields)
    flags = flags - _flags(fields, "flags-")
    _check_replaced_later(fields, one, flags)
    # One of cores whose nodes are named has all of these.
    cores = None if named else one.cores
    nodes = _changed_nodes(fields, one, controller)
    changed = replace(one, flags=flags, start=start, end=end, nodes=nodes, cores=cores)
    nodes = changed.nodes = _resized(fields, changed, controller)
    licenses = _licenses(fields) if "licenses" in fields else one.licenses
    users, accounts, groups = (_changed(fields, name, getattr(one, name)) for name in ("users", "accounts", "groups"))
    _check_access(one, replace(one, users=users, accounts=accounts, groups=groups), controller)
    controller.reservations.check(replace(changed, licenses=licenses))
    one.flags, one.start, one.end, one.nodes, one.duration = flags, start, end, nodes, duration
    one.cores, one.licenses, one.purge_after = cores, licenses, _purge_after(fields, one.purge_after)
    if "PURGE_COMP" not in flags:
        one.idle_since, one.purge_after = None, PURGE_AFTER
    one.counted = one.counted and not named
    if "partitionname" in fields:
        one.partition = _partition_of(fields, controller)
    one.users, one.accounts, one.groups = users, accounts, groups
    controller.cluster.redraw()
    controller.passes.reserved(one)


def _skip(one: Reservation, controller: Controller) -> None:
    """Have a reservation come again the next time but one, or end it if it holds now (asked of three versions)."""
    if next_after(one, controller.endings.epoch + one.end) == 0:
        raise InputError("Reservation given is not skipable, try deleting instead")
    if controller.reservations.has_jobs(one):
        raise InputError("Requested reservation is in use")
    controller.reservations.come_again(one, controller.endings.epoch)
    controller.cluster.look_again()


def _check_access(before: Reservation, changed: Reservation, controller: Controller) -> None:
    """Refuse to change whose jobs a reservation is if it has jobs that could not use it any more (24.11)."""
    if not controller.parameters.rules.RESERVED_JOBS_KEEP_ACCESS:
        return
    own = [
        job
        for job in controller.cluster.jobs.values()
        if not job.over and before.name in (job.reservation, *job.reservations)
    ]
    if any(before.admits(job) and not changed.admits(job) for job in own):
        raise InputError("Requested reservation is in use")


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
    fields = in_full(fields_in(words), RESERVATION_FIELDS)
    per_node = "trespernode" in fields
    if per_node and "tres" in fields:
        raise InputError("Parameter TRESPerNode specified more than once")
    stated = words_in(fields.get("tres", fields.get("trespernode", "")))
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
    """The fields of a reservation, if they are of these names, or add to one of these lists or take from it.

    Those without effect are left out.
    """
    fields = {key: value for key, value in fields.items() if key not in WITHOUT_EFFECT}
    known = [name.lower() for name in names] + [f"{name.lower()}{sign}" for name in lists for sign in "+-"]
    known += ["duration+", "duration-"] if lists else []
    if unknown := [key or value for key, value in fields.items() if key not in known]:
        raise InputError(f"of a reservation the emulator takes {', '.join(names)} here, not {unknown[0]!r}")
    return fields


def _flags(fields: Fields, key: str = "flags") -> frozenset[str]:
    """Flags of a reservation; those without effect are named."""
    stated = (word.upper().partition("=")[0] for word in words_in(fields.get(key, "")))
    flags = frozenset("ANY_NODES" if word == "LICENSE_ONLY" else word for word in stated)
    if "SPEC_NODES" in flags:
        raise InputError("Error parsing flags: Slurm shows SPEC_NODES, and does not take it")
    if unknown := sorted(flags - FLAGS):
        called = fields.get("reservationname", "without a name")
        log.warning(f"reservation {called}: {', '.join(unknown)}: no effect here; known are {', '.join(sorted(FLAGS))}")
    return flags & FLAGS


def _purge_after(fields: Fields, otherwise: float) -> float:
    """Seconds that PURGE_COMP names: minutes, where nothing else is said; they are not rounded up (recorded)."""
    words = [word for key in ("flags", "flags+") for word in words_in(fields.get(key, ""))]
    stated = [word.partition("=")[2] for word in words if word.upper().startswith("PURGE_COMP=")]
    return seconds(stated[-1]) if stated else otherwise


def _changed(fields: Fields, key: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """A list as an update leaves it, which may say more (``Users+=``) or less (``Users-=``) of it."""
    if key in fields:
        return words_in(fields[key])
    less = words_in(fields.get(f"{key}-", ""))
    return tuple(name for name in (*names, *words_in(fields.get(f"{key}+", ""))) if name not in less)


def delete_reservation(words: list[str], controller: Controller) -> None:
    """Delete a reservation that no job names any more."""
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
