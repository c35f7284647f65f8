"""What happens to nodes while a run goes on, and what takes time besides jobs: the options of ``[operation]``."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from slurm_sim_plugins.errors import ConfigurationError

FILES = ("node_events", "groups")
"""Options that name files."""

SCRIPTS = {
    "Prolog": "prolog",
    "Epilog": "epilog",
    "PrologSlurmctld": "prolog_slurmctld",
    "EpilogSlurmctld": "epilog_slurmctld",
}
"""Keys of ``slurm.conf``, and the options that say how long what they name takes."""


@dataclass(frozen=True)
class NodeEvent:
    """A change of the state of nodes.

    Attributes:
        at: in seconds; of Unix time if it is ``dated``.
        nodes: their names.
        state: ``DOWN``, ``DRAIN`` or ``UP``.
        reason: in the operator's words.
        location: name of the file, and line.
        dated: whether its time is one of the calendar.
    """

    at: float
    nodes: tuple[str, ...]
    state: str
    reason: str
    location: str
    dated: bool = False


@dataclass(frozen=True)
class Operation:
    """What happens to the nodes of a ``slurm.conf``. Every option is a key of ``[operation]`` in an experiment file.

    Attributes:
        mtbf: mean seconds from the repair of a node to its next failure, drawn for each node from the run's seed (an
            exponential distribution); 0 for none.
        mttr: mean seconds until such a node is repaired, drawn in the same way.
        node_events: what happens to nodes at stated times; in a file, of which this is the name
            (:mod:`emulator.config.node_events`).
        groups: by user, for ``AllowGroups``; in a file, of which this is the name (:mod:`emulator.config.groups`).
        prolog: seconds that ``Prolog`` takes, before a run works; its limit counts them.
        epilog: seconds that ``Epilog`` takes, in which no job starts on the nodes of the run.
        prolog_slurmctld: seconds that ``PrologSlurmctld`` takes, before ``Prolog``; the limit does not count them.
        epilog_slurmctld: seconds that ``EpilogSlurmctld`` takes, beside ``Epilog``; then the job is over.
        resume_time: seconds that a node takes to come up that is powered down; 0 for half of its ``ResumeTimeout``,
            which sites set such that it is not reached.
        resume_failures: the share of resumes that fail, drawn from the run's seed, from 0 to 1.
        job_test_time: seconds that a look at one job takes in the main loop and in backfill, under Slurm's clock.

    Raises:
        ConfigurationError: a value that makes no sense.
    """

    mtbf: float = 0.0
    mttr: float = 4 * 3600.0
    node_events: tuple[NodeEvent, ...] = ()
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    prolog: float = 0.0
    epilog: float = 0.0
    prolog_slurmctld: float = 0.0
    epilog_slurmctld: float = 0.0
    resume_time: float = 0.0
    resume_failures: float = 0.0
    job_test_time: float = 0.0

    def __post_init__(self) -> None:
        for option in (item.name for item in fields(self) if item.name not in FILES):
            value = getattr(self, option)
            if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < math.inf:
                raise ConfigurationError(f"operation.{option} is {value!r}; give a finite number of seconds, 0 or more")
        if self.resume_failures > 1:
            raise ConfigurationError(f"operation.resume_failures is {self.resume_failures!r}; give a share from 0 to 1")

    @classmethod
    def of(cls, stated: Mapping[str, Any]) -> Operation:
        """What :func:`dataclasses.asdict` made of one, with lists for tuples, as a file has it.

        Raises:
            TypeError: it did not.
        """
        events = tuple(NodeEvent(**{**event, "nodes": tuple(event["nodes"])}) for event in stated["node_events"])
        groups = {user: tuple(groups) for user, groups in stated["groups"].items()}
        return cls(**{**stated, "node_events": events, "groups": groups})


KINDS: dict[str, type] = {item.name: str if item.name in FILES else float for item in fields(Operation)}
"""Keys of ``[operation]``."""


def with_files(options: Mapping[str, Any], folder: Path | None = None) -> dict[str, Any]:
    """Fields of :class:`Operation`: the options that are stated, with what is in the files that they name.

    Args:
        options: by key, each known and of its kind.
        folder: in which these files lie if their names say nothing else.

    Raises:
        InputError: a file cannot be read.
    """
    read = dict(options)
    if "node_events" in read:
        from emulator.config.node_events import read_node_events

        read["node_events"] = tuple(read_node_events((folder or Path()) / read["node_events"]))
    if "groups" in read:
        from emulator.config.groups import read_groups

        read["groups"] = read_groups((folder or Path()) / read["groups"])
    return read
