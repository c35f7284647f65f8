"""What a Slurm configuration says, and what of it counts here: as tables and as plain data."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from emulator.config.slurm.duration import written
from emulator.config.slurm.emulated import slots_of
from emulator.config.slurm.hostlist import compress
from emulator.config.slurm.location import Location
from emulator.config.slurm.model import Partition, SlurmConf
from emulator.config.slurm.reader import NO_NODES
from emulator.config.slurm.settings import Setting
from emulator.config.slurm.vocabulary import Status
from emulator.report.grid import table
from emulator.report.numbers import printable
from slurm_sim_plugins.errors import meant
from slurm_sim_plugins.manager import discover

if TYPE_CHECKING:
    from rich.table import Table

LONGEST_VALUE = 40
"""Characters of a value in the table; JSON has all of it."""
WIDEST_VALUE, WIDEST_LINE = 22, 12
"""Characters of these columns of the table, so that the reason has room."""
_STYLES = {Status.HONOURED: "green", Status.NOT_YET: "yellow", Status.IGNORED: "dim"}


@dataclass(frozen=True)
class Key:
    """A key that was stated, in one line or in many.

    Attributes:
        name: such as ``KillWait``, ``SchedulerParameters.bf_window`` or ``NodeName: Weight``.
        values: its different values, as they are written, in their order.
        locations: where it stands.
        status: what the emulator does about it.
        reason: what it governs or, if it is ignored, why.
        is_option: whether it stands in the value of the parameter before it.
    """

    name: str
    values: tuple[str, ...]
    locations: tuple[Location, ...]
    status: Status
    reason: str
    is_option: bool


def keys(conf: SlurmConf) -> list[Key]:
    """The keys of a configuration in the order in which they come first; options follow their parameter."""
    by_name: dict[str, list[Setting]] = {}
    for kind, setting in conf.entries:
        by_name.setdefault(_name(kind, setting), []).append(setting)
    return [
        Key(
            name,
            tuple(dict.fromkeys(setting.text for setting in settings)),
            tuple(setting.location for setting in settings),
            settings[0].word.status,
            settings[0].word.note,
            bool(settings[0].part_of),
        )
        for name, settings in by_name.items()
    ]


def _keys_here(conf: SlurmConf) -> list[Key]:
    """The keys; one that selects a plugin which is neither bundled nor installed is not yet honoured."""
    catalogue, missing = discover(), dict[str, str]()
    for slot, name in slots_of(conf).items():
        if catalogue.get(name) is None:
            known = [info.name for info in catalogue if info.slot == slot]
            missing[slot] = (
                f"there is no such plugin here{meant(name, known)}; run wants it from its file (--plugin FILE)"
            )
    return [
        replace(key, status=Status.NOT_YET, reason=missing[key.name]) if key.name in missing else key
        for key in keys(conf)
    ]


def _name(kind: str, setting: Setting) -> str:
    if setting.part_of:
        return f"{setting.part_of}.{setting.word.name}"
    return f"{kind}: {setting.word.name}" if kind and kind != setting.word.name else setting.word.name


def describe_conf(conf: SlurmConf) -> dict[str, Any]:
    """As plain data.

    Returns:
        ``source``; ``keys``: a list of ``key``, ``values``, ``lines`` (``file:line``),
        ``status`` and ``reason``; ``machine``: counts of nodes, CPUs, mebibytes of memory,
        generic resources and states; ``partitions``, with their nodes as host lists, CPUs
        and limits in seconds (null for none); ``node_sets``; ``switches``; ``notices``.
    """
    return {
        "source": conf.source,
        "keys": [
            {
                "key": key.name,
                "values": list(key.values),
                "lines": [str(location) for location in key.locations],
                "status": key.status.value,
                "reason": key.reason,
            }
            for key in _keys_here(conf)
        ],
        "machine": {
            "nodes": len(conf.nodes),
            "cpus": sum(node.cpus for node in conf.nodes),
            "memory": sum(node.real_memory for node in conf.nodes),
            "gres": _gres(conf),
            "states": dict(Counter(node.state for node in conf.nodes)),
        },
        "partitions": [_partition(conf, partition) for partition in conf.partitions],
        "node_sets": {node_set.name: compress(node_set.nodes) for node_set in conf.node_sets},
        "switches": len(conf.topology.switches),
        "notices": [{"line": str(notice.location), "text": notice.text} for notice in conf.notices],
    }


def _gres(conf: SlurmConf) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for node in conf.nodes:
        for gres in node.gres:
            counts[f"{gres.name}:{gres.type}" if gres.type else gres.name] += gres.count
    return dict(counts)


def _partition(conf: SlurmConf, partition: Partition) -> dict[str, Any]:
    return {
        "name": partition.name,
        "default": partition.default,
        "state": partition.state,
        "nodes": len(partition.nodes),
        "cpus": sum(conf.node[name].cpus for name in partition.nodes),
        "max_time": partition.max_time,
        "default_time": partition.default_time,
        "priority_tier": partition.priority_tier,
        "host_list": compress(partition.nodes),
    }


def key_table(conf: SlurmConf) -> Table:
    """Each key with its value, line, status and reason; options are indented below their parameter."""
    from rich.text import Text

    rows = []
    stated = _keys_here(conf)
    for key in stated:
        name = f"  {key.name.partition('.')[2]}" if key.is_option else key.name
        status = Text(key.status.value.removesuffix(" honoured"), style=_STYLES[key.status])
        rows.append((name, _values(key.values), _lines(conf, key.locations), status, key.reason))
    counts = Counter(key.status for key in stated)
    note = ", ".join(f"{status.value}: {counts[status]}" for status in Status)
    grid = table(printable(conf.source), ("key", "value", "line", "status", "reason"), rows, note)
    grid.columns[0].no_wrap = True
    grid.columns[1].max_width = WIDEST_VALUE
    grid.columns[2].max_width = WIDEST_LINE
    return grid


def machine_table(conf: SlurmConf) -> Table:
    """What the machine is."""
    machine = describe_conf(conf)["machine"]
    rows = [
        ("nodes", f"{machine['nodes']:,}"),
        ("CPUs", f"{machine['cpus']:,}"),
        ("memory", f"{machine['memory']:,} MiB"),
        ("generic resources", _counted(machine["gres"])),
        ("states of nodes", _counted(machine["states"])),
        ("node sets", ", ".join(f"{each.name} {len(each.nodes):,}" for each in conf.node_sets) or "-"),
        ("switches", f"{len(conf.topology.switches):,}"),
    ]
    return table("machine", ("", ""), rows, show_header=False)


def partition_table(conf: SlurmConf) -> Table:
    """The partitions with their sizes and limits."""
    rows = []
    for partition in conf.partitions:
        about = _partition(conf, partition)
        name = f"{partition.name}*" if partition.default else partition.name
        times = (_time(partition.max_time), _time(partition.default_time))
        sizes = (f"{about['nodes']:,}", f"{about['cpus']:,}")
        rows.append((name, *sizes, *times, partition.priority_tier, partition.state))
    headings = ("name", "nodes", "CPUs", "longest limit", "default limit", "tier", "state")
    return table("partitions (* default)", headings, rows)


def notice_lines(conf: SlurmConf) -> list[str]:
    """The notices, one line each."""
    lines = [printable(str(notice)) for notice in conf.notices]
    said = conf.nodes or any(notice.text.startswith(NO_NODES) for notice in conf.notices)
    return lines if said else [*lines, printable(f"{conf.source}: {NO_NODES}")]


def _values(values: Sequence[str]) -> str:
    text = printable(" | ".join(values))
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 3]}..."


def _lines(conf: SlurmConf, locations: Sequence[Location]) -> str:
    first = locations[0]
    line = str(first.line) if first.file == conf.source else f"{Path(first.file).name}:{first.line}"
    return line if len(locations) == 1 else f"{line} (+{len(locations) - 1})"


def _counted(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counts.items()) or "-"


def _time(seconds: float | None) -> str:
    return "-" if seconds is None else "none" if math.isinf(seconds) else written(seconds)
