"""Power saving: which nodes are powered down when they are idle, after how long, and how many in a minute."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from emulator.config.slurm.hostlist import split
from emulator.config.slurm.location import Findings
from emulator.config.slurm.model import Node, Partition, Power, PowerTimes
from emulator.config.slurm.roster import Roster, listed
from emulator.config.slurm.settings import Settings

PROGRAMS = ("SuspendProgram", "ResumeProgram")
"""Without them nodes stay on; they are not run."""
OWN = ("SuspendTime", "PowerDownOnIdle")
"""Keys of nodes and partitions by which there is power saving at all."""


@dataclass(frozen=True)
class _Stated:
    """What one kind of line says of a time.

    Attributes:
        of_cluster: of all nodes.
        of_partitions: of the nodes of a partition; of several the longest.
        of_nodes: of nodes themselves, which goes before the other two.
    """

    of_cluster: float
    of_partitions: Mapping[str, float]
    of_nodes: Mapping[str, float]

    def of(self, name: str) -> float:
        """In seconds; infinite for never."""
        return self.of_nodes.get(name, self.of_partitions.get(name, self.of_cluster))


def read_power(
    parameters: Settings, nodes: Sequence[Node], partitions: Sequence[Partition], roster: Roster, findings: Findings
) -> Power | None:
    """What the configuration says of power saving; None if nodes are always on.

    Args:
        parameters: those of ``slurm.conf``.
        nodes: all nodes.
        partitions: all partitions.
        roster: the nodes by their names.
        findings: where problems go, and what the author of the file should know.
    """
    suspend = _times("SuspendTime", math.inf, parameters, nodes, partitions)
    kept = tuple(_kept_nodes(parameters, roster, findings))
    kept += tuple((partition.nodes, None) for partition in _kept_partitions(parameters, partitions, findings))
    on_idle = tuple(partition for partition in partitions if partition.settings.flag("PowerDownOnIdle"))
    cloud = frozenset(node.name for node in nodes if node.state == "CLOUD")
    if not on_idle and all(math.isinf(suspend.of(node.name)) for node in nodes):
        if nodes:
            _say_always_on(parameters, findings)
        return None
    missing = [program for program in PROGRAMS if not parameters.text(program)]
    if missing:
        own = [each.settings for each in partitions] + [each.settings for each in nodes]
        stated = [settings[name].location for settings in own for name in OWN if name in settings]
        first = parameters.location("SuspendTime") or stated[0]
        findings.notice(first, f"power saving is off, as in Slurm, for there is no {' and no '.join(missing)}")
        return None
    down = _times("SuspendTimeout", _cluster(parameters, "SuspendTimeout"), parameters, nodes, partitions)
    resume = _times("ResumeTimeout", _cluster(parameters, "ResumeTimeout"), parameters, nodes, partitions)
    return Power(
        times={node.name: PowerTimes(*(each.of(node.name) for each in (suspend, down, resume))) for node in nodes},
        suspend_rate=parameters.count("SuspendRate"),
        resume_rate=parameters.count("ResumeRate"),
        kept=kept,
        kept_states=frozenset(word.upper() for word in parameters.words("SuspendExcStates")),
        on_idle=frozenset(partition.name for partition in on_idle),
        cloud=cloud,
        idle_on_suspend=parameters.flag("SlurmctldParameters.idle_on_node_suspend"),
        interval=parameters.amount("SlurmctldParameters.power_save_interval") or 0.0,
    )


def _cluster(parameters: Settings, name: str) -> float:
    value = parameters.amount(name)
    return math.inf if value is None or value < 0 else value


def _times(
    name: str, default: float, parameters: Settings, nodes: Iterable[Node], partitions: Iterable[Partition]
) -> _Stated:
    """What all lines say of one time."""
    of_cluster = _cluster(parameters, name) if name in parameters else default
    of_partitions: dict[str, float] = {}
    for partition in partitions:
        if name in partition.settings:
            seconds = _cluster(partition.settings, name)
            for node in partition.nodes:
                of_partitions[node] = max(seconds, of_partitions.get(node, 0.0))
    of_nodes = {node.name: _cluster(node.settings, name) for node in nodes if name in node.settings}
    return _Stated(of_cluster, of_partitions, of_nodes)


def _kept_nodes(
    parameters: Settings, roster: Roster, findings: Findings
) -> Iterator[tuple[tuple[str, ...], int | None]]:
    """The nodes of ``SuspendExcNodes``: all of an expression, or so many of it."""
    stated = parameters.get("SuspendExcNodes")
    for item in split(stated.text) if stated is not None else ():
        assert stated is not None
        expression, colon, count = item.partition(":")
        if colon and not (count.isascii() and count.isdecimal()):
            findings.problem(stated.location, f"SuspendExcNodes: {item!r} is not written as NODES or NODES:COUNT")
            continue
        yield roster.find(expression, stated.location), int(count) if colon else None


def _kept_partitions(parameters: Settings, partitions: Sequence[Partition], findings: Findings) -> Iterator[Partition]:
    """The partitions of ``SuspendExcParts``."""
    known = {partition.name: partition for partition in partitions}
    for name in parameters.words("SuspendExcParts"):
        if name in known:
            yield known[name]
        else:
            there = f"; there are {listed(list(known))}" if known else ""
            findings.problem(parameters["SuspendExcParts"].location, f"there is no partition {name!r}{there}")


def _say_always_on(parameters: Settings, findings: Findings) -> None:
    """Say what has no effect where no node is ever powered down."""
    for name in (program for program in PROGRAMS if program in parameters):
        text = f"{name} has no effect: no SuspendTime says after how long idle nodes are powered down"
        findings.notice(parameters[name].location, text)
