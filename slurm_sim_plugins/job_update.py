"""What an operator's command changes of a job, as ``job_modify`` sees it and may change it."""

from __future__ import annotations

from typing import NamedTuple

from slurm_sim_plugins.records import JobRecord
from slurm_sim_plugins.submission import RecordsView


class JobUpdate(NamedTuple):
    """What ``scontrol`` states of a job. None is what it does not state, and stays as it is.

    Plugins are not told of other fields, such as ``MinCPUsNode``, and cannot change these.
    """

    priority: float | None = None
    """0 puts it on hold; infinite releases it."""
    nice: int | None = None
    """Is subtracted from its priority."""
    site_factor: int | None = None
    """Is added to its priority."""
    time_limit: float | None = None
    """Seconds; infinite for none."""
    time_min: float | None = None
    """The least limit that it will do with, in seconds."""
    partitions: tuple[str, ...] | None = None
    """Names of the partitions where it may run."""
    account: str | None = None
    """To charge."""
    qos: str | None = None
    """Quality of service."""
    min_nodes: int | None = None
    """Fewest nodes."""
    max_nodes: int | None = None
    """Most nodes."""
    tasks: int | None = None
    """How many tasks."""
    constraint: str | None = None
    """An expression of features."""
    node_list: tuple[str, ...] | None = None
    """Nodes that it must have."""
    exclude: tuple[str, ...] | None = None
    """Nodes that it must not have."""
    memory_per_node: int | None = None
    """Mebibytes; 0 is all of a node's."""
    memory_per_cpu: int | None = None
    """Mebibytes."""
    licenses: tuple[str, ...] | None = None
    """Such as ``matlab:2``."""
    begin: float | None = None
    """It may not start before so many seconds from now."""
    deadline: float | None = None
    """It is to be over in so many seconds from now."""
    dependency: str | None = None
    """On which jobs it depends, such as ``afterok:17``; empty for none."""
    reservation: str | None = None
    """The reservation to run in."""
    requeue: bool | None = None
    """Whether it may be requeued."""
    array_limit: int | None = None
    """How many tasks of its array may run at a time."""


class ModifyView(RecordsView):
    """What ``job_modify`` sees."""

    __slots__ = ("job", "update", "user")

    job: JobRecord
    """The job as it is."""
    update: JobUpdate
    """What the command changes of it, as the plugins before have left it."""
    user: str
    """Whose command it is: ``root``, as all commands are an operator's."""
