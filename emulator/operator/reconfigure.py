"""``scontrol update`` of nodes and partitions."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from emulator.config.slurm.hostlist import expand
from emulator.config.slurm.model import SlurmConf
from emulator.config.slurm.nodes import updated as updated_nodes
from emulator.config.slurm.partitions import updated
from emulator.operator.fields import Fields
from emulator.scheduling.job_mgr import ask_for, bound_nodes, fits_empty, least_nodes
from emulator.scheduling.requests import tres_totals, unasked_memory
from emulator.state.machine import share_cores
from emulator.state.wants import BAD_CONSTRAINTS
from emulator.workload.request import RejectedError
from slurm_sim_plugins.errors import InputError

if TYPE_CHECKING:
    from emulator.engine.controller import Controller
    from emulator.state.cluster import Cluster
    from emulator.state.job import Job

log = logging.getLogger(__name__)
STATES = {"DRAIN": "DRAIN", "FAIL": "DRAIN", "IDLE": "UP"}
"""States of nodes that hold at once, and what they are here."""
BACK = ("RESUME", "UNDRAIN")
"""What has the controller ask nodes whether they are there."""
POWER_STATES = ("POWER_UP", "POWER_DOWN", "POWER_DOWN_ASAP", "POWER_DOWN_FORCE")
"""States to which nodes can be updated."""
FEATURES = ("features", "availablefeatures", "activefeatures")
"""Names of one thing: without a plugin for features of nodes all that are available are active."""
FACTS = {"weight": "Weight", **dict.fromkeys(FEATURES, "Features")}
"""Keys of a node's line in slurm.conf that can be updated, by field."""
OF_A_NODE = ("state", *FACTS)
"""What can be updated of a node, by field."""
WORDS = ("reason", "comment", "extra")
"""Fields of a node that are words for people."""
MEMORY_OF_JOBS = ("DefMemPerCPU", "DefMemPerNode")
"""What a partition gives to jobs that ask for no memory, as they are submitted."""
OF_A_PARTITION = {
    name.lower(): name
    for name in (
        *("AllowAccounts", "AllowQos", "Alternate", "Default", "DefaultTime", "DenyAccounts", "DenyQos"),
        *("ExclusiveUser", "GraceTime", "LLN", "MaxNodes", "MaxTime", "MinNodes", "Nodes", "OverTimeLimit"),
        *("OverSubscribe", "PreemptMode", "PriorityJobFactor", "PriorityTier", "QOS", "ReqResv", "State"),
        *MEMORY_OF_JOBS,
        *("MaxMemPerCPU", "MaxMemPerNode", "MaxCPUsPerNode"),
    )
}
"""What can be updated of a partition: keys of its line in slurm.conf, by field."""
ENDING = {"OFF", "CANCEL", "REQUEUE"}
"""Ways to preempt jobs of a partition, or not to, between which it can be updated."""


def update_nodes(fields: Fields, controller: Controller) -> None:
    """Change the state, the weight or the features of nodes.

    Raises:
        InputError: a node, field or value that is not known.
    """
    unknown = [key for key in fields if key not in ("nodename", *OF_A_NODE, *WORDS)]
    if unknown or not fields.keys() & set(OF_A_NODE):
        known = "State, Weight and AvailableFeatures"
        raise InputError(f"of a node the emulator can update {known}, not {unknown[0] if unknown else 'nothing'!r}")
    index = controller.cluster.machine.index
    names = list(index) if fields["nodename"].upper() == "ALL" else expand(fields["nodename"])
    missing = [name for name in names if name not in index]
    if missing:
        raise InputError(f"there is no node {missing[0]!r}")
    nodes = [index[name] for name in names]
    state = fields["state"].upper() if "state" in fields else ""
    if "state" in fields:
        _check_state(state, controller)
    conf = _with_facts(fields, nodes, controller)
    if "state" in fields:
        _set_state(state, nodes, fields.get("reason", "operator"), controller)
    if fields.keys() & FACTS.keys():
        _reconfigure(conf, controller)


def _check_state(state: str, controller: Controller) -> None:
    """Refuse a state that is not known, or that a cluster without power saving has not."""
    known = ("DOWN", *STATES, *BACK, *POWER_STATES)
    if state not in known:
        raise InputError(f"State={state}: the emulator knows {', '.join(known)}")
    if state in POWER_STATES and controller.power is None:
        raise InputError(f"State={state}: the slurm.conf has no power saving")


def _set_state(state: str, nodes: Sequence[int], reason: str, controller: Controller) -> None:
    """DOWN ends the jobs of nodes, DRAIN and FAIL let them end, RESUME and UNDRAIN bring nodes back.

    UNDRAIN leaves those down that are. POWER_* power them down or up.
    """
    if controller.power is not None and state in POWER_STATES:
        controller.power.ask(nodes, state)
    elif state in BACK:
        # What is down stays so where only draining is to end.
        states = controller.cluster.admin_states
        back = [node for node in nodes if state == "RESUME" or states.get(node) == "DRAIN"]
        controller.node_states.resume(back, reason)
    elif state == "DOWN":
        controller.node_states.take_down(nodes, reason)
    else:
        controller.node_states.set(nodes, STATES[state], reason)


def _with_facts(fields: Fields, nodes: Sequence[int], controller: Controller) -> SlurmConf:
    """The configuration in which nodes have another weight, or other features, as far as they are stated."""
    if controller.power is not None and "weight" in fields:
        raise InputError("Weight: with power saving the emulator weighs nodes by whether they are powered up")
    conf = controller.cluster.conf
    features = {key: fields[key] for key in FEATURES if key in fields}
    stated = {FACTS[key]: value for key, value in fields.items() if key in FACTS}
    changed = dict(zip(nodes, updated_nodes([conf.nodes[node] for node in nodes], stated), strict=True))
    others = any(one.features != conf.nodes[node].features for node, one in changed.items())
    lost = any(set(conf.nodes[node].features) - set(one.features) for node, one in changed.items())
    if features and "activefeatures" not in features and lost:
        raise InputError("Active features not subset of available features")
    if len(set(features.values())) > 1 or (features.keys() == {"activefeatures"} and others):
        raise InputError("ActiveFeatures: in the emulator all features that are available are active")
    return replace(conf, nodes=tuple(changed.get(node, one) for node, one in enumerate(conf.nodes)))


def update_partition(fields: Fields, controller: Controller) -> None:
    """Change what a partition says of its jobs, or its nodes.

    Raises:
        InputError: a partition, field or value that is not known.
    """
    conf, name = controller.cluster.conf, fields["partitionname"]
    if name not in controller.cluster.partitions:
        raise InputError(f"there is no partition {name!r}")
    stated = {OF_A_PARTITION.get(key, ""): value for key, value in fields.items() if key != "partitionname"}
    if "" in stated:
        other = next(key for key in fields if key not in (*OF_A_PARTITION, "partitionname"))
        raise InputError(f"of a partition the emulator can update {', '.join(OF_A_PARTITION.values())}, not {other!r}")
    accounting = controller.cluster.accounting
    if stated.get("QOS") and accounting is not None and not accounting.has_qos(stated["QOS"]):
        raise InputError(f"QOS={stated['QOS']}: Invalid qos specification")
    if stated.get("QOS") and accounting is None:
        log.warning("partition %s: QOS=%s: no effect, for there are no accounts", name, stated["QOS"])
    _check_bounds(stated, name, controller)
    changed = _with_partition(conf, name, stated)
    _check_modes(conf, changed, name)
    shares = share_cores(changed.partitions) and not share_cores(conf.partitions)
    if shares and not controller.cluster.nodes_for.whole_nodes:
        raise InputError(
            f"Nodes: jobs of partition {name} would share cores with those of another one with FORCE from now on"
        )
    for job in controller.cluster.pending() if "MinNodes" in stated else ():
        job.least_nodes = least_nodes(job)
    if stated.keys() & set(MEMORY_OF_JOBS):
        _keep_memory(
            [job for job in controller.cluster.jobs.values() if not job.over and job.partitions[0].name == name]
        )
    if controller.cluster.partitions[name].oversubscribe == "EXCLUSIVE" and not _gives_whole_nodes(changed, name):
        _keep_alone(name, controller.cluster)
    _reconfigure(changed, controller)
    controller.stints.partition_changed()


def _check_bounds(stated: Mapping[str, str], name: str, controller: Controller) -> None:
    """Refuse other nodes where jobs of a partition are counted by node, and bounds on these where they are not."""
    counted = name in controller.cluster.machine.pools
    if "Nodes" in stated and counted:
        raise InputError(f"Nodes: partition {name} has a MaxCPUsPerNode or MaxCPUsPerSocket, which is of its nodes")
    if "MaxCPUsPerNode" in stated and not counted:
        raise InputError("MaxCPUsPerNode: the emulator takes this of commands that it knows before it begins")


def _keep_memory(jobs: Iterable[Job]) -> None:
    """Jobs that ask for no memory have what was the default as they were submitted, however that is changed."""
    for job in jobs:
        options, first = job.options, job.partitions[0]
        stated = options.memory_per_node is not None or options.memory_per_cpu or options.memory_per_gpu
        if stated or (first.default_memory_per_gpu and options.gres):
            continue
        per_cpu, per_node = first.default_memory_per_cpu, first.default_memory_per_node
        of_cpu, of_node = (int(per_cpu), None) if per_cpu else (None, int(per_node or 0))
        kept = replace(options, memory_per_cpu=of_cpu, memory_per_node=of_node)
        job.request = replace(job.request, options=kept)


def _keep_alone(name: str, cluster: Cluster) -> None:
    """Jobs that were tried where whole nodes are given get whole nodes also once these are not, before 24.11."""
    for job in cluster.pending() if not cluster.parameters.rules.PARTITIONS_ARE_TRIED_APART else ():
        if any(partition.name == name for partition in job.partitions):
            job.request = replace(job.request, options=replace(job.options, exclusive=True))


def _gives_whole_nodes(conf: SlurmConf, name: str) -> bool:
    return any(one.name == name and one.oversubscribe == "EXCLUSIVE" for one in conf.partitions)


def _check_modes(before: SlurmConf, after: SlurmConf, name: str) -> None:
    """Refuse what would have jobs of a partition share resources from now on, or no more, or stand still."""
    old, new = (next(one for one in conf.partitions if one.name == name) for conf in (before, after))
    if old.oversubscribe != new.oversubscribe and not {old.oversubscribe, new.oversubscribe} <= {"NO", "EXCLUSIVE"}:
        raise InputError(f"OverSubscribe: of partition {name} the emulator can update NO and EXCLUSIVE")
    if old.preempt_mode != new.preempt_mode and not {*old.preempt_mode, *new.preempt_mode} <= ENDING:
        raise InputError(f"PreemptMode: of partition {name} the emulator can update {', '.join(sorted(ENDING))}")


def _with_partition(conf: SlurmConf, name: str, stated: Mapping[str, str]) -> SlurmConf:
    """The configuration in which a partition states something else; one that becomes the default is the only one."""
    before = next(one for one in conf.partitions if one.name == name)
    changed, notices = updated(before, stated, conf)
    for notice in notices:
        log.warning("%s", notice)
    alone = "Default" in stated and changed.default
    others = (replace(one, default=False) if alone else one for one in conf.partitions)
    return replace(conf, partitions=tuple(changed if one.name == name else one for one in others))


def _reconfigure(conf: SlurmConf, controller: Controller) -> None:
    """Nodes and partitions are as a configuration says from now on, and jobs are looked at again."""
    cluster = controller.cluster
    accounting, waiting = cluster.accounting, list(cluster.pending())
    if accounting is not None:
        for job in waiting:
            # What is left are those that groups bar.
            job.barred = {name: why for name, why in job.barred.items() if name not in accounting.access.barred(job)}
    cluster.reconfigure(conf)
    for partition in cluster.partitions.values():
        partition.tres, partition.unasked_memory = tres_totals(partition, cluster), unasked_memory(partition, cluster)
    controller.policies.reconfigure()
    controller.scheduler.reconfigure()
    if accounting is not None:
        accounting.reconfigure(conf, waiting)
        for job in waiting:
            job.barred = {**job.barred, **accounting.access.barred(job)}
    for job in cluster.jobs.values():
        if not job.over:
            _ask_again(job, cluster)  # One that runs may be requeued.
    for job in waiting:
        controller.policies.changed(job)
    cluster.look_again()


def _ask_again(job: Job, cluster: Cluster) -> None:
    """A job asks for nodes as they are now, within its limits; one that was taken in without any waits on for them."""
    unfit = {name for name, want in job.wants.items() if want.never == BAD_CONSTRAINTS}
    try:
        ask_for(job, job.options, cluster)
    except RejectedError:
        # No node has its features any more; one that runs goes on.
        job.wants = {name: replace(want, never=BAD_CONSTRAINTS) for name, want in job.wants.items()}
        cluster.wants.update({(job.request_class, name): want for name, want in job.wants.items()})
        return
    for partition in job.partitions:
        want = job.wants[partition.name]
        if partition.name in unfit and not (want.never or fits_empty(job.request_class, want, partition, cluster)):
            never = replace(want, never=BAD_CONSTRAINTS)
            cluster.wants[job.request_class, partition.name] = never
            job.wants = {**job.wants, partition.name: never}
    if job.unfit and any(fits_empty(job.request_class, job.wants[one.name], one, cluster) for one in job.partitions):
        job.unfit = ""
    most = math.inf if cluster.accounting is None else cluster.accounting.most_nodes(job)
    if most < math.inf:
        bound_nodes(job, int(most), cluster)
