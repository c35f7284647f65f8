"""The cluster of a run in Slurm's timing, as its folder keeps it: ``cluster.json``."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from emulator.accounting.runfolder import CLUSTER, check_whole
from emulator.config.slurm.hostlist import compress, expand
from emulator.files import read_kept, write_data
from slurm_sim_plugins.errors import InputError

if TYPE_CHECKING:
    from emulator.config.slurm.model import Node, Partition, SlurmConf

PARAMETERS = (
    "ClusterName",
    "MinJobAge",
    "PreemptMode",
    "PriorityType",
    "PriorityFlags",
    "PriorityMaxAge",
    "PriorityCalcPeriod",
    "PriorityWeightAge",
    "PriorityWeightAssoc",
    "PriorityWeightFairshare",
    "PriorityWeightJobSize",
    "PriorityWeightPartition",
    "PriorityWeightQOS",
    "PriorityWeightTRES",
    "SelectType",
)
"""Parameters of ``slurm.conf`` that views need, kept as text."""
NUMBERS = ("MinJobAge", *(name for name in PARAMETERS if name.startswith("PriorityWeight") and "TRES" not in name))
"""Those of them that are numbers."""


@dataclass(frozen=True, slots=True)
class KeptNodes:
    """Nodes that are alike, in the order of the machine.

    Attributes:
        names: a host list.
        cpus, sockets, cores, threads: of each node; cores of a socket, threads of a core.
        memory: mebibytes.
        weight: nodes of low weight are taken first.
        features: what jobs may ask for.
        gres: such as ``gpu:a100:4``.
        state: as configured.
    """

    names: str
    cpus: int
    sockets: int
    cores: int
    threads: int
    memory: int
    weight: int
    features: str
    gres: str
    state: str


@dataclass(frozen=True, slots=True)
class KeptPartition:
    """A partition.

    Attributes:
        name: its name.
        nodes: a host list.
        default: whether jobs come here that name none.
        state: ``UP``, ``DOWN``, ``DRAIN`` or ``INACTIVE``.
        max_time, default_time: seconds; None for no limit, or none stated.
        min_nodes, max_nodes: bounds of a job's nodes; None for none.
        max_cpus_per_node: most CPUs of a node; None for no bound.
        tier, job_factor: for its jobs' priority.
        oversubscribe: such as ``NO`` or ``FORCE:2``.
        preempt_mode: as stated; empty for the cluster's.
        root_only: whether only root may use it.
        groups: groups that may use it; empty for all.
        memory_per_cpu, memory_per_node: mebibytes of jobs that ask for none; None for none.
        memory_per_gpu: those of jobs with GPUs, instead of these.
    """

    name: str
    nodes: str
    default: bool
    state: str
    max_time: float | None
    default_time: float | None
    min_nodes: int
    max_nodes: int | None
    max_cpus_per_node: int | None
    tier: int
    job_factor: int
    oversubscribe: str
    preempt_mode: str
    root_only: bool
    groups: str
    # Folders of earlier versions have none.
    memory_per_cpu: float | None = None
    memory_per_node: float | None = None
    memory_per_gpu: float | None = None


@dataclass(frozen=True)
class KeptCluster:
    """A cluster.

    Attributes:
        nodes: in the order of the machine.
        partitions: in the order of the configuration.
        parameters: some of ``slurm.conf``, as text by name.
    """

    nodes: tuple[KeptNodes, ...]
    partitions: tuple[KeptPartition, ...]
    parameters: Mapping[str, str]

    def each_node(self) -> Iterator[tuple[str, KeptNodes]]:
        """Every node by name, in the order of the machine."""
        for group in self.nodes:
            for name in expand(group.names):
                yield name, group

    @property
    def name(self) -> str:
        """Of the cluster."""
        return self.parameters.get("ClusterName", "")


def kept(conf: SlurmConf) -> KeptCluster:
    """What is kept of a configuration."""
    groups: list[tuple[list[str], dict[str, Any]]] = []
    for node in conf.nodes:
        about = _about(node)
        if not groups or groups[-1][1] != about:
            groups.append(([], about))
        groups[-1][0].append(node.name)
    return KeptCluster(
        tuple(KeptNodes(names=compress(names), **about) for names, about in groups),
        tuple(_partition(each, conf) for each in conf.partitions),
        {name: _stated(conf, name) for name in PARAMETERS},
    )


def _stated(conf: SlurmConf, name: str) -> str:
    from emulator.config.slurm.settings import find

    setting = conf.parameters.stated.get(name)
    return find(conf.parameters.vocabulary, name).default if setting is None else setting.text


def write_cluster(folder: Path, conf: SlurmConf) -> None:
    """Write what is kept of a configuration into the folder of a run.

    Raises:
        OutputError: it cannot be written.
    """
    text = json.dumps(asdict(kept(conf)), indent=1) + "\n"
    write_data(folder / CLUSTER, text)


def read_cluster(folder: Path) -> KeptCluster:
    """Read it back.

    Raises:
        InputError: there is none, or it is damaged.
    """
    path = folder / CLUSTER
    try:
        data = json.loads(read_kept(path))
        for name in NUMBERS:
            if not math.isfinite(float(data["parameters"].get(name) or 0)):
                raise ValueError(f"{name} is {data['parameters'][name]!r}")
        cluster = KeptCluster(
            tuple(_typed(KeptNodes, each) for each in data["nodes"]),
            tuple(_typed(KeptPartition, each) for each in data["partitions"]),
            {str(name): str(value) for name, value in data["parameters"].items()},
        )
        names = {name for name, _ in cluster.each_node()}
        for partition in cluster.partitions:
            if not names.issuperset(expand(partition.nodes)):
                raise ValueError(f"partition {partition.name} has nodes {partition.nodes}, which are not all there")
        return cluster
    except OSError as error:
        check_whole(folder)
        raise InputError(
            f"{path}: cannot be read ({error.strerror}); views show runs in Slurm's timing: "
            "make one with run --slurm-conf FILE --out DIR"
        ) from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError) as error:
        raise InputError(f"{path}: this is no cluster as a run leaves it ({error}); run it again") from error


def _typed(kind: Any, data: Mapping[str, Any]) -> Any:
    """A record of that kind, if every value is of the kind that its field takes."""
    made = kind(**data)
    for each in fields(kind):
        value = getattr(made, each.name)
        allowed = {"str": str, "bool": bool, "int": int}.get(str(each.type), (int, float, type(None)))
        if not isinstance(value, allowed):
            raise TypeError(f"{each.name} is {value!r}")
    return made


def _about(node: Node) -> dict[str, Any]:
    gres = ",".join(":".join(filter(None, (one.name, one.type, str(one.count)))) for one in node.gres)
    return {
        "cpus": node.cpus,
        "sockets": node.sockets,
        "cores": node.cores_per_socket,
        "threads": node.threads_per_core,
        "memory": node.real_memory,
        "weight": node.weight,
        "features": ",".join(node.features),
        "gres": gres,
        "state": node.state,
    }


def _partition(partition: Partition, conf: SlurmConf) -> KeptPartition:
    jobs = f":{partition.oversubscribe_jobs}" if partition.oversubscribe in ("YES", "FORCE") else ""
    by_memory = [partition.def_mem_per_cpu, partition.def_mem_per_node]
    if not partition.states_memory:
        by_memory = [conf.parameters.amount(name) for name in ("DefMemPerCPU", "DefMemPerNode")]
    return KeptPartition(
        name=partition.name,
        nodes=compress(partition.nodes),
        default=partition.default,
        state=partition.state,
        max_time=_finite(partition.max_time),
        default_time=_finite(partition.default_time),
        min_nodes=partition.min_nodes,
        max_nodes=partition.max_nodes,
        max_cpus_per_node=partition.max_cpus_per_node,
        tier=partition.priority_tier,
        job_factor=partition.priority_job_factor,
        oversubscribe=f"{partition.oversubscribe}{jobs}",
        preempt_mode=",".join(partition.preempt_mode),
        root_only=partition.root_only,
        groups=",".join(partition.allow_groups or ()),
        memory_per_cpu=_finite(by_memory[0]),
        memory_per_node=_finite(by_memory[1]),
        memory_per_gpu=_finite(partition.def_mem_per_gpu or conf.parameters.amount("DefMemPerGPU")),
    )


def _finite(amount: float | None) -> float | None:
    return None if amount is None or math.isinf(amount) else amount
