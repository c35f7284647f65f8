"""What plugins see of a cluster's partitions, QOS and associations, and of what a job asks for in a partition.

All of it is read-only and live. A machine without partitions, and a log without accounts, has none of these.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, NoReturn


class ReadOnly:
    """Refuses assignment, with words that name the attribute."""

    __slots__ = ()

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(
            f"{type(self).__name__}.{name} is read-only: a plugin asks for a change by what the hook answers"
        )

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{type(self).__name__}.{name} is read-only")


PREEMPT_MODES = ("OFF", "CANCEL", "REQUEUE", "CHECKPOINT", "SUSPEND")
"""What can become of a victim, in the words of PreemptMode; OFF: it is none."""


def mode_of(words: Collection[str]) -> str | None:
    """What words of PreemptMode make of a victim; None if nothing is stated, OFF if the words say nothing of it."""
    return next((mode for mode in PREEMPT_MODES if mode in words), "OFF") if words else None


def shown(name: str, doc: str) -> Any:
    """A read-only attribute: that of the object that is shown."""
    return property(attrgetter(f"_of.{name}"), doc=doc)


class Shown(ReadOnly):
    """Shows attributes of an object of the simulation.

    Args:
        of: the object; in a test anything that has the attributes.
    """

    __slots__ = ("_of",)

    _of: Any

    def __init__(self, of: Any) -> None:
        object.__setattr__(self, "_of", of)


class Partition(Shown):
    """A partition of the cluster."""

    __slots__ = ()

    name = shown("name", "Its name.")
    tier = shown("tier", "PriorityTier: jobs of a higher tier go first, and may preempt those of a lower one.")
    job_factor = shown("job_factor", "PriorityJobFactor.")
    norm_priority = shown("norm_priority", "PriorityJobFactor as a share of the highest of all partitions; 0 to 1.")
    preempt_mode = shown("preempt_mode", "Words of its own PreemptMode, in upper case; empty if it states none.")
    grace_time = shown("grace_time", "GraceTime, in seconds.")
    tres = shown(
        "tres", "What its nodes have of each resource, by upper-case name, such as CPU or GRES/GPU; MEM in MiB."
    )
    default = shown("default", "Whether jobs come here that name no partition.")
    state = shown("state", "UP, DOWN, DRAIN or INACTIVE.")
    max_time = shown("max_time", "MaxTime, in seconds; infinite for none.")
    default_time = shown("default_time", "DefaultTime, in seconds; None for MaxTime.")
    min_nodes = shown("min_nodes", "MinNodes: fewest nodes of a job.")
    max_nodes = shown("max_nodes", "MaxNodes: most nodes of a job; None for no bound.")
    lower_runs = shown("lower_runs", "Whether jobs run in partitions of lower tiers that share nodes with it.")
    below_another = shown("below_another", "Whether a partition of a higher tier shares nodes with it.")

    def __repr__(self) -> str:
        return f"<Partition {self.name}>"


class Qos(Shown):
    """A quality of service."""

    __slots__ = ()

    name = shown("name", "Its name.")
    priority = shown("priority", "Its Priority.")
    norm_priority = shown("norm_priority", "Its Priority as a share of the highest of all QOS; 0 to 1.")
    preempts = shown("preempts", "Names of the QOS whose jobs its jobs may preempt, as a set.")
    preempted = shown("preempted", "Whether another QOS names it in Preempt.")
    preempt_mode = shown(
        "preempt_mode", "Words of its own PreemptMode, in upper case, as a set; empty if it states none."
    )
    grace_time = shown("grace_time", "GraceTime, in seconds.")
    exempt_time = shown("exempt_time", "PreemptExemptTime, in seconds; None if it states none.")
    flags = shown("flags", "Its Flags, in upper case, as a set.")

    def __repr__(self) -> str:
        return f"<Qos {self.name}>"


class Association(Shown):
    """An association of an account and a user, with its shares and what it has used."""

    __slots__ = ()

    account = shown("association.account", "The name of the account.")
    user = shown("association.user", "The name of the user.")
    priority = shown("priority", "Its Priority, its own or inherited.")
    norm_priority = shown("norm_priority", "Its Priority as a share of the highest of all associations; 0 to 1.")
    shares = shown("shares", "Its Fairshare; None for those of its parent.")
    norm_shares = shown("norm_shares", "Its part of the shares.")
    norm_usage = shown("norm_usage", "Its part of all usage, which decays, as of the last PriorityCalcPeriod.")
    fair_share = shown("fair_share", "Its fair-share factor, 0 to 1, as ``sshare`` shows it.")

    def __repr__(self) -> str:
        return f"<Association of {self.user or 'all'} in {self.account}>"


@dataclass(frozen=True, slots=True, eq=False)
class Request:
    """What a job asks for in one of its partitions; jobs that ask for the same share one object.

    Attributes:
        partition: None where the machine has no partitions.
        nodes: the least number of nodes.
        cpus: CPUs on so many nodes.
        tres: amounts of each resource, by upper-case name, such as CPU, MEM (in MiB), NODE, BILLING or GRES/GPU;
            of a log what it says.
    """

    partition: Partition | None
    nodes: int
    cpus: float
    tres: Mapping[str, float]
