"""``PartitionName`` lines."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from emulator.config.slurm.defaults import Record, with_defaults
from emulator.config.slurm.lines import Pair
from emulator.config.slurm.location import Findings, Location, Notice
from emulator.config.slurm.model import Partition, SlurmConf, Topology, is_unknown
from emulator.config.slurm.records import PARTITION
from emulator.config.slurm.roster import Roster
from emulator.config.slurm.settings import Settings, latest, read_pairs

_SHARING = re.compile(r"(NO|EXCLUSIVE|YES|FORCE)(?::([0-9]{1,5}))?", re.IGNORECASE)
_EITHER = {
    "DefMemPerCPU": "DefMemPerNode",
    "DefMemPerNode": "DefMemPerCPU",
    "MaxMemPerCPU": "MaxMemPerNode",
    "MaxMemPerNode": "MaxMemPerCPU",
}
"""Of two keys an update of one has the other hold no more: they are of one thing in Slurm."""
_SHARED_BY = 4
"""So many jobs share a resource where YES or FORCE has no number (slurm.conf, ``OverSubscribe``)."""


def read_partitions(records: Iterable[Record], roster: Roster, findings: Findings) -> list[Partition]:
    """The partitions, in the order of their lines."""
    partitions: list[Partition] = []
    defined: dict[str, Location] = {}
    for name, location, settings in with_defaults(records, "PartitionName", PARTITION, findings):
        if name in defined or not name:
            findings.problem(
                location, f"partition {name!r} is defined already at {defined[name]}" if name else "no name"
            )
            continue
        defined[name] = location
        partitions.append(_partition(name, location, settings, roster, findings))
    _check_alternates(partitions, partitions, findings)
    return _one_default(partitions, findings)


def updated(partition: Partition, stated: Mapping[str, str], conf: SlurmConf) -> tuple[Partition, list[Notice]]:
    """A partition of which an operator has stated some keys again, and what is to be said of that.

    Args:
        partition: as it was.
        stated: values by key.
        conf: the configuration that it is of.

    Raises:
        InputError: a key that is not known, or a value that cannot be understood.
    """
    findings, location = Findings(), Location("scontrol", 0)
    pairs = [Pair(key, value, location) for key, value in stated.items()]
    new = latest(read_pairs(pairs, PARTITION, findings), findings)
    for setting in new.values():
        if is_unknown(setting, conf.version):
            findings.problem(location, f"Slurm {conf.version} does not know {setting.name}")
    roster = Roster(conf.nodes, findings)
    for node_set in conf.node_sets:
        roster.add_set(node_set)
    gone = {other for name, other in _EITHER.items() if name in new}
    kept = {name: setting for name, setting in partition.settings.stated.items() if name not in gone}
    settings = replace(partition.settings, stated={**kept, **new})
    changed = _partition(partition.name, location, settings, roster, findings)
    _check_alternates([changed], conf.partitions, findings)
    findings.check()
    notices = [notice for notice in findings.notices if notice.location == location]
    return replace(changed, default=changed.default if "Default" in new else partition.default), notices


def sockets_counted(parameters: Settings, partitions: Iterable[Partition]) -> bool:
    """Whether sockets are counted on a node of these partitions: as all of them say, else as the cluster does.

    Slurm asks a partition only where the cluster counts sockets or cores.
    """
    own = _counts(parameters.words("SelectTypeParameters"))
    said = {_counts(one.settings.words("SelectTypeParameters")) or own for one in partitions}
    return (said.pop() if len(said) == 1 and own else own) == "SOCKET"


def of_whole_sockets(partitions: Sequence[Partition], parameters: Settings) -> frozenset[str]:
    """Partitions that count sockets (CR_Socket), where others count cores of any of their nodes; none if all agree.

    Nor where jobs have the same cores in turn, for there it does not hold.
    """
    own, turns = _counts(parameters.words("SelectTypeParameters")), parameters.words("PreemptMode")
    shares = any(one.oversubscribe in ("FORCE", "YES") and one.oversubscribe_jobs > 1 for one in partitions)
    if not own or shares or "GANG" in map(str.upper, turns) or parameters.text("SelectType").lower() == "select/linear":
        return frozenset()
    said = {one.name: _counts(one.settings.words("SelectTypeParameters")) or own for one in partitions}
    if len(set(said.values())) < 2:
        return frozenset()
    of_cores = {name for one in partitions if said[one.name] == "CORE" for name in one.nodes}
    of_sockets = [one for one in partitions if said[one.name] == "SOCKET"]
    mixed = any(not of_cores.isdisjoint(one.nodes) for one in of_sockets)
    return frozenset(one.name for one in of_sockets) if mixed else frozenset()


def gives_memory(partition: Partition, parameters: Settings) -> bool:
    """Whether jobs of a partition are given memory: as it says itself (CR_Core_Memory), else as the cluster does."""
    own, words = parameters.words("SelectTypeParameters"), partition.settings.words("SelectTypeParameters")
    asked = _counts(own) and _counts(words) and parameters.text("SelectType").lower() != "select/linear"
    return any("MEMORY" in word.upper() for word in (words if asked else own))


def _counts(words: Iterable[str]) -> str:
    """What words of SelectTypeParameters have counted, sockets or cores; empty for neither."""
    stated = {word.upper().removesuffix("_MEMORY") for word in words}
    return "SOCKET" if "CR_SOCKET" in stated else "CORE" if "CR_CORE" in stated else ""


def check_counted(partitions: Sequence[Partition], parameters: Settings, findings: Findings) -> None:
    """Note where what a partition says of its nodes does not hold."""
    own = parameters.words("SelectTypeParameters")
    for partition in partitions:
        if "SelectTypeParameters" not in partition.settings:
            continue
        stated = partition.settings["SelectTypeParameters"]
        words, nodes = partition.settings.words("SelectTypeParameters"), set(partition.nodes)
        others = [one for one in partitions if not nodes.isdisjoint(one.nodes)]
        holds = bool(of_whole_sockets(partitions, parameters)) or sockets_counted(parameters, others) == (
            _counts(words) == "SOCKET"
        )
        if not _counts(own) or not holds:
            text = f"{stated.text!r} does not hold in {partition.name}: the cluster counts neither cores nor sockets, "
            findings.notice(stated.location, text + "or its nodes are of other partitions, too, and jobs share cores")


UNKNOWN_TO_LINEAR = ("LLN", "MaxCPUsPerNode", "MaxCPUsPerSocket")
"""What a partition may say of its nodes, and select/linear does not ask."""


def check_whole_nodes(partitions: Sequence[Partition], parameters: Settings, findings: Findings) -> None:
    """Note what has no effect where the SelectType gives whole nodes to all jobs."""
    if parameters.text("SelectType").lower() != "select/linear":
        return
    stated = [one.settings[name] for one in partitions for name in UNKNOWN_TO_LINEAR if name in one.settings]
    of_all = "SelectTypeParameters.CR_LLN", "SchedulerParameters.pack_serial_at_end"
    for setting in (*map(parameters.get, of_all), *stated):
        if setting is not None and setting.text.upper() not in ("NO", "UNLIMITED"):
            findings.notice(setting.location, f"{setting.name} has no effect: select/linear does not ask for it")


def without(partition: Partition, keys: Collection[str]) -> Partition:
    """A partition as if some keys had not been stated; on the same nodes, and default if it was."""
    stated = {name: one for name, one in partition.settings.stated.items() if name not in keys}
    made = _made(partition.name, partition.nodes, replace(partition.settings, stated=stated), Findings())
    return replace(made, default=partition.default)


def _partition(name: str, location: Location, settings: Settings, roster: Roster, findings: Findings) -> Partition:
    # Blanks in a quoted list are commas, as in Slurm.
    listed = ",".join(settings.text("Nodes").split())
    nodes = roster.find(listed, settings["Nodes"].location) if "Nodes" in settings else ()
    if not nodes:
        findings.notice(location, f"partition {name!r} has no nodes")
    made = _made(name, nodes, settings, findings)
    for of, allowed in (("Accounts", made.allow_accounts), ("Qos", made.allow_qos)):
        if allowed is not None and f"Deny{of}" in settings:
            text = f"Deny{of} has no effect: Allow{of} counts"
            findings.notice(settings[f"Deny{of}"].location, text)
    if made.default_time is None or made.default_time <= made.max_time:
        return made
    text = f"DefaultTime has no effect in partition {name}, whose MaxTime is less: jobs that state no limit have that"
    findings.notice(settings["DefaultTime"].location, text)
    return replace(made, default_time=None)


def _made(name: str, nodes: tuple[str, ...], settings: Settings, findings: Findings) -> Partition:
    sharing, jobs = _sharing(settings, findings)
    exclusive = settings.text("Exclusive")
    return Partition(
        name=name,
        nodes=nodes,
        default=settings.flag("Default"),
        state=settings.text("State"),
        max_time=_amount(settings, "MaxTime", math.inf),
        default_time=settings.amount("DefaultTime"),
        over_time_limit=settings.amount("OverTimeLimit"),
        max_nodes=_bound(settings, "MaxNodes"),
        min_nodes=settings.count("MinNodes"),
        max_cpus_per_node=_bound(settings, "MaxCPUsPerNode"),
        max_cpus_per_socket=_bound(settings, "MaxCPUsPerSocket"),
        priority_tier=_priority(settings, "PriorityTier"),
        priority_job_factor=_priority(settings, "PriorityJobFactor"),
        allow_accounts=_allowed(settings, "AllowAccounts"),
        allow_groups=_allowed(settings, "AllowGroups"),
        allow_qos=_allowed(settings, "AllowQos"),
        deny_accounts=settings.words("DenyAccounts"),
        deny_qos=settings.words("DenyQos"),
        oversubscribe="EXCLUSIVE" if exclusive == "NODE" else sharing,
        oversubscribe_jobs=jobs,
        exclusive_user=settings.flag("ExclusiveUser") or exclusive == "USER",
        preempt_mode=settings.words("PreemptMode"),
        grace_time=_amount(settings, "GraceTime", 0.0),
        qos=settings.text("QOS"),
        requires_reservation=settings.flag("ReqResv"),
        root_only=settings.flag("RootOnly"),
        alternate=settings.text("Alternate"),
        def_mem_per_cpu=settings.amount("DefMemPerCPU"),
        def_mem_per_node=settings.amount("DefMemPerNode"),
        def_mem_per_gpu=settings.amount("DefMemPerGPU"),
        def_cpu_per_gpu=settings.count("DefCpuPerGPU") if "DefCpuPerGPU" in settings else None,
        max_mem_per_cpu=settings.amount("MaxMemPerCPU"),
        max_mem_per_node=settings.amount("MaxMemPerNode"),
        lln=settings.flag("LLN"),
        tres_billing_weights=settings.numbers("TRESBillingWeights"),
        topology=settings.text("Topology"),
        settings=settings,
    )


def _amount(settings: Settings, name: str, missing: float) -> float:
    value = settings.amount(name)
    return missing if value is None else value


def _bound(settings: Settings, name: str) -> int | None:
    value = settings.amount(name)
    return None if value is None or math.isinf(value) else int(value)


def _priority(settings: Settings, name: str) -> int:
    older = name not in settings and "Priority" in settings
    return settings.count("Priority" if older else name)


def _allowed(settings: Settings, name: str) -> tuple[str, ...] | None:
    words = settings.words(name)
    return None if "ALL" in (word.upper() for word in words) else words


def _sharing(settings: Settings, findings: Findings) -> tuple[str, int]:
    found = _SHARING.fullmatch(settings.text("OverSubscribe"))
    if found is None:
        stated = settings["OverSubscribe"]
        accepted = "NO, EXCLUSIVE, YES, YES:JOBS, FORCE or FORCE:JOBS"
        findings.problem(stated.location, f"{stated.word.name} is {accepted}, not {stated.text!r}")
        return "NO", 1
    mode, jobs = found.group(1).upper(), found.group(2)
    if mode in ("NO", "EXCLUSIVE"):
        return mode, 1
    return mode, max(int(jobs), 1) if jobs else _SHARED_BY


def _check_alternates(partitions: Iterable[Partition], known: Iterable[Partition], findings: Findings) -> None:
    """Each alternate is one of the partitions that are known."""
    names = {partition.name for partition in known}
    for partition in partitions:
        if partition.alternate and partition.alternate not in names:
            findings.problem(partition.settings["Alternate"].location, f"there is no partition {partition.alternate!r}")


def check_topologies(partitions: Iterable[Partition], topologies: Sequence[Topology], findings: Findings) -> None:
    """Each topology of ``topology.yaml`` that a partition names is there."""
    names = [topology.name for topology in topologies]
    for partition in partitions:
        if partition.topology and partition.topology not in names:
            there = f"; topology.yaml has {', '.join(names)}" if names else ": there is no topology.yaml"
            text = f"there is no topology {partition.topology!r}{there}"
            findings.problem(partition.settings["Topology"].location, text)


def _one_default(partitions: list[Partition], findings: Findings) -> list[Partition]:
    """Of several default partitions the last one is it, as in Slurm."""
    defaults = [partition for partition in partitions if partition.default]
    for partition in defaults[:-1]:
        location = partition.settings["Default"].location
        findings.notice(location, f"{partition.name!r} is not the default: {defaults[-1].name!r} is, which comes later")
    last = defaults[-1].name if defaults else None
    return [replace(partition, default=partition.name == last) for partition in partitions]
