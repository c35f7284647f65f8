"""A partition as the controller knows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields

from slurm_sim_plugins.cluster import Partition as SeenPartition
from slurm_sim_plugins.nodes import Mask

PARTITION_CONFIG, PARTITION_NODES = "PartitionConfig", "PartitionNodeLimit"
"""Reasons for which a job waits that its partition does not take."""


@dataclass(slots=True, eq=False)
class Partition:
    """A partition, with its nodes as a mask. See :class:`emulator.config.slurm.model.Partition` for the rest.

    Attributes:
        name, tier, job_factor: as configured.
        default: whether jobs come here that name no partition.
        nodes: its nodes.
        max_time, default_time: seconds.
        min_nodes, max_nodes: bounds of a job's nodes.
        allow_groups: groups that may use it; None for all.
        topology: name of the topology that its jobs go by; empty for the cluster's.
        gives_memory: whether its jobs are given memory.
        state: UP, DOWN, DRAIN or INACTIVE.
        over_time_limit: seconds by which a run may pass its limit.
        index: position in the configuration.
        running: how many jobs are on the machine from it.
        lower: partitions of lower tiers that share nodes with it.
        below_another: whether it is such a one for another.
        norm_priority: its job factor as a share of the highest.
        tres: what its nodes have of each resource.
        had_jobs: whether a job has ever started in it: before, jobs of others count for its MaxCPUsPerNode (recorded).
        counted_memory_per_gpu: mebibytes of DefMemPerGPU, where they count for priority.
        unasked_memory: mebibytes of its first node, which count for priority where a job asks for none.
        seen: itself as plugins see it.
    """

    name: str
    index: int
    default: bool
    tier: int
    job_factor: int
    nodes: Mask
    max_time: float
    default_time: float | None
    min_nodes: int
    max_nodes: int | None
    state: str
    oversubscribe: str
    oversubscribe_jobs: int
    exclusive_user: bool
    preempt_mode: tuple[str, ...]
    grace_time: float
    over_time_limit: float
    least_loaded: bool
    default_memory_per_cpu: float | None
    default_memory_per_node: float | None
    default_memory_per_gpu: float | None
    counted_memory_per_gpu: float
    default_cpus_per_gpu: int
    max_memory_per_cpu: float | None
    max_memory_per_node: float | None
    needs_reservation: bool
    allow_groups: Sequence[str] | None
    alternate: str
    billing: Mapping[str, float]
    topology: str
    gives_memory: bool
    running: int = 0
    lower: Sequence[Partition] = ()
    below_another: bool = False
    norm_priority: float = 0.0
    tres: Mapping[str, float] = field(default_factory=dict)
    unasked_memory: float = 0.0
    had_jobs: bool = False
    seen: SeenPartition = None  # type: ignore[assignment]

    def configure(self, other: Partition) -> None:
        """Take over what another one is configured to be; what has happened in it stays."""
        for each in fields(self):
            if each.default is MISSING and each.default_factory is MISSING:
                setattr(self, each.name, getattr(other, each.name))

    @property
    def lower_runs(self) -> bool:
        """Whether jobs are on the machine from partitions of lower tiers that share nodes with it."""
        return any(other.running for other in self.lower)

    @property
    def takes_jobs(self) -> bool:
        """Whether jobs may be submitted here."""
        return self.state in ("UP", "DOWN")
