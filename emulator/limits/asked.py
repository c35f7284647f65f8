"""What limits ask of a job and of the cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from emulator.config.slurm.controller import Parameters
from emulator.limits.acct_policy import Account
from emulator.state.partition import Partition
from emulator.state.run import Run, State
from emulator.workload.request import JobRequest
from emulator.workload.sbatch import BatchOptions
from slurm_sim_plugins.nodes import Machine, Mask, Want


class LimitedJob(Protocol):
    """A job; see :class:`emulator.state.job.Job`."""

    request: JobRequest
    partitions: Sequence[Partition]
    wants: Mapping[str, Want]
    limit: float
    time_min: float | None
    account: Account | None
    reason: str
    state: State
    run: Run | None
    eligible: float | None
    accrue: float | None
    fixed_priority: bool
    limit_of_operator: bool
    runs: list[Run]
    barred: Mapping[str, str]

    @property
    def id(self) -> int:
        """Its id."""

    @property
    def named_first(self) -> Partition:
        """The partition that it names first."""

    @property
    def options(self) -> BatchOptions:
        """What it asks for."""

    @property
    def on_hold(self) -> bool:
        """Whether it is on hold."""


class LimitedCluster(Protocol):
    """The cluster; see :class:`emulator.state.cluster.Cluster`."""

    now: float
    machine: Machine
    parameters: Parameters
    partitions: dict[str, Partition]

    @property
    def running(self) -> Mapping[int, LimitedJob]:
        """Running jobs by id."""

    @property
    def suspended(self) -> Mapping[int, LimitedJob]:
        """Suspended jobs by id."""

    @property
    def waiting(self) -> Mapping[int, LimitedJob]:
        """Waiting jobs by id."""

    def whole(self, time: float) -> float:
        """A time in whole seconds of the cluster's clock."""

    def no_nodes(self) -> Mask:
        """A mask of no nodes."""
