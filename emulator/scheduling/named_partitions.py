"""Which partitions a submission names, and which of them it may use: State, Alternate, ReqResv, AllowGroups."""

from __future__ import annotations

from collections.abc import Mapping

from emulator.config.slurm.versions import Rules
from emulator.state.cluster import Cluster
from emulator.state.job import EMPTY
from emulator.state.partition import PARTITION_CONFIG, PARTITION_NODES, Partition
from emulator.workload.request import JobRequest, RejectedError

NO_GROUP = "User's group not permitted to use this partition"


def partitions_of(request: JobRequest, cluster: Cluster, updated: bool = False) -> list[Partition]:
    """The partitions in which a submission may wait, as it names them; else the default one.

    Args:
        request: what is asked for.
        cluster: the cluster state.
        updated: that is an update of a job, of which Slurm says less.

    Raises:
        RejectedError: there is none, or it may not be used.
    """
    if not request.options.partitions:
        reserved = cluster.reservations.get(request.options.reservation)
        default = cluster.default if reserved is None or reserved.partition is None else reserved.partition
        if default is None:
            raise RejectedError("No partition specified or system default partition")
        return _reserved(_taking([_open(default, cluster)]), request, cluster.parameters.rules)
    unknown = [name for name in request.options.partitions if name not in cluster.partitions]
    if unknown:
        which = "" if updated else f"invalid partition specified: {unknown[0]}\n"
        raise RejectedError(f"{which}Invalid partition name specified")
    named = dict.fromkeys(_open(cluster.partitions[name], cluster).name for name in request.options.partitions)
    return _reserved(_taking([cluster.partitions[name] for name in named]), request, cluster.parameters.rules)


def _taking(partitions: list[Partition]) -> list[Partition]:
    """Those that take jobs: a job is not of the others, also once they are up again."""
    taken = [partition for partition in partitions if partition.takes_jobs]
    if not taken:
        raise RejectedError("Required partition not available (inactive or drain)")
    return taken


def _open(partition: Partition, cluster: Cluster) -> Partition:
    """The partition, or the alternate of one that takes no jobs."""
    seen = [partition.name]
    while not partition.takes_jobs and partition.alternate and partition.alternate not in seen:
        partition = cluster.partitions[partition.alternate]
        seen.append(partition.name)
    return partition


def _reserved(partitions: list[Partition], request: JobRequest, rules: Rules) -> list[Partition]:
    """Those that may be used without a reservation, if a job names none.

    All, if it says no number of nodes, and the first of several may not be.

    Raises:
        RejectedError: it names one, which may not be used without.
    """
    found = [one for one in partitions if not wants_reservation(one, request)]
    if not found and len(partitions) == 1:
        raise RejectedError("Access/permission denied")
    first = max(partitions, key=lambda one: one.tier) if rules.FIRST_RESERVED_BY_TIER else partitions[0]
    kept = request.options.min_nodes is None and wants_reservation(first, request)
    return partitions if kept or not found else found


def wants_reservation(partition: Partition, request: JobRequest) -> bool:
    """Whether a partition is for jobs of reservations alone (``ReqResv``), and a submission names none."""
    return partition.needs_reservation and not request.options.reservation


def barred(request: JobRequest, partitions: list[Partition], cluster: Cluster) -> Mapping[str, str]:
    """With which reason a submission waits in those of its partitions that it may not use.

    Raises:
        RejectedError: it is refused for them.
    """
    return _barred_by_groups(request, partitions, cluster) if cluster.groups else _not_reserved(partitions, request)


def _not_reserved(partitions: list[Partition], request: JobRequest) -> Mapping[str, str]:
    """Why a job that names no reservation waits for ever, by partition, as the first one is for reservations alone."""
    wanting = {one.name: wants_reservation(one, request) for one in partitions}
    if not any(wanting.values()):
        return EMPTY
    return {name: PARTITION_CONFIG if wants else PARTITION_NODES for name, wants in wanting.items()}


def _barred_by_groups(request: JobRequest, partitions: list[Partition], cluster: Cluster) -> Mapping[str, str]:
    """Why a user's groups keep a job from partitions, by their names; empty where the user is not known."""
    mine, parameters = cluster.groups.get(request.user, ()), cluster.parameters
    closed = [one for one in partitions if one.allow_groups is not None and set(one.allow_groups).isdisjoint(mine)]
    if not closed or request.user in ("", "root"):
        return EMPTY
    waits, enforced = parameters.rules.GROUPS_ARE_WAITED_FOR, parameters.enforce_part_limits
    all_closed, any_counts = len(closed) == len(partitions), enforced == "ANY" and not waits
    if enforced in ("ALL", "YES") or any_counts or (all_closed and (enforced == "ANY" or not waits)):
        raise RejectedError(NO_GROUP)
    if waits:
        words = "_not_in_group_permitted_to_use_this_partition_({})._groups_allowed:_{}"
        return {
            one.name: f"uid_{request.user}{words.format(one.name, ','.join(one.allow_groups or ()))}" for one in closed
        }
    return dict.fromkeys((one.name for one in (partitions if partitions[0] in closed else closed)), PARTITION_NODES)
