"""``topology.conf``, and what is like it in ``topology.yaml``: switches and what is below them, or blocks."""

from __future__ import annotations

from collections.abc import Iterable

from emulator.config.slurm.defaults import Record
from emulator.config.slurm.hostlist import expand
from emulator.config.slurm.location import Findings, Location
from emulator.config.slurm.model import Switch, Topology
from emulator.config.slurm.records import TOPOLOGY
from emulator.config.slurm.roster import Roster, listed
from emulator.config.slurm.settings import Setting, Settings, latest
from slurm_sim_plugins.errors import meant

TOPOLOGY_YAML = "topology.yaml"
LARGEST = 1_000_000
"""No cluster has more nodes."""

TREE, BLOCK, FLAT = "topology/tree", "topology/block", "topology/flat"
PLUGINS = (TREE, BLOCK, FLAT, "topology/default", "topology/none")
"""Those that are emulated: the last three, of different versions, know neither switches nor blocks."""
OTHERS = ("topology/3d_torus", "topology/hypercube", "topology/ring")
"""Those of Slurm that are not."""
USED_BY = {"SwitchName": TREE, "BlockName": BLOCK}
"""The plugin that reads lines of each kind."""


def read_topology(
    records: Iterable[Record], roster: Roster, plugin: str, findings: Findings, name: str = ""
) -> Topology:
    """The switches and blocks, in the order of their lines.

    Args:
        records: the lines.
        roster: the nodes.
        plugin: ``TopologyPlugin``.
        findings: where problems and notices go.
        name: of the topology, if it has one.
    """
    switches: list[Switch] = []
    sizes: list[Setting] = []
    defined: dict[str, Location] = {}
    for record in records:
        settings = Settings(TOPOLOGY, latest(record, findings))
        sizes += [settings["BlockSizes"]] if "BlockSizes" in settings else []
        key = next((name for name in ("SwitchName", "BlockName") if name in settings), None)
        if key is None:
            if "BlockSizes" not in settings:
                findings.problem(record[0].location, "a line of topology.conf begins with SwitchName= or BlockName=")
            continue
        switch = _switch(key, settings, roster, findings)
        if switch.name in defined:
            findings.problem(settings[key].location, f"{switch.name!r} is defined already at {defined[switch.name]}")
            continue
        defined[switch.name] = settings[key].location
        switches.append(switch)
    _check_tree(switches, findings)
    if switches:
        _check_use(switches, roster, plugin, findings)
    plugin = plugin.lower() or FLAT
    if plugin == BLOCK and switches and len(roster.weights) > 1:
        text = "Weight of nodes has no effect with topology/block here; what Slurm makes of it is not known"
        findings.notice(next(iter(switches[0].settings.values())).location, text)
    return Topology(name, plugin, tuple(switches), _block_sizes(switches, sizes, findings) if plugin == BLOCK else ())


def _block_sizes(blocks: list[Switch], stated: list[Setting], findings: Findings) -> tuple[int, ...]:
    """Nodes of blocks; where nothing is stated, of the smallest one, and of two, four and more of them."""
    least = min((len(expand(block.settings.text("Nodes"))) for block in blocks), default=0)
    of: dict[str, str] = {}
    for block, name in ((one, name) for one in blocks for name in one.nodes):
        if of.setdefault(name, block.name) != block.name:
            findings.problem(block.settings["Nodes"].location, f"{name} is in block {of[name]!r} already")
    if not stated or not least:
        return tuple(least << level for level in range(len(blocks).bit_length())) if least else ()
    location, words = stated[-1].location, stated[-1].text.split(",")
    if not all(word.isascii() and word.isdecimal() and 0 < int(word) <= LARGEST for word in words):
        findings.problem(location, f"BlockSizes are numbers of nodes with commas between them, not {stated[-1].text!r}")
        return ()
    sizes = sorted({int(word) for word in words})
    if least < sizes[0]:
        findings.problem(location, f"the smallest block has {least} nodes, fewer than the smallest of BlockSizes")
    for size in sizes:
        times, rest = divmod(size, sizes[0])
        if rest or times & (times - 1):
            findings.problem(location, f"each of BlockSizes is {sizes[0]} times a power of two; {size} is not")
    return tuple(sizes)


def _switch(key: str, settings: Settings, roster: Roster, findings: Findings) -> Switch:
    below = {name: _expanded(settings, name, findings) for name in ("Nodes", "Switches")}
    if not any(below.values()):
        findings.problem(settings[key].location, f"{settings.text(key)!r} has neither Nodes nor Switches")
    # A site keeps switches of nodes that are out of slurm.conf for a while; Slurm passes over these.
    unknown = [name for name in below["Nodes"] if name not in roster]
    if unknown:
        findings.notice(settings["Nodes"].location, f"{listed(unknown)} not in slurm.conf: passed over")
    nodes = tuple(name for name in below["Nodes"] if name in roster)
    return Switch(settings.text(key), nodes, tuple(below["Switches"]), key == "BlockName", settings)


def _expanded(settings: Settings, name: str, findings: Findings) -> list[str]:
    try:
        return expand(settings.text(name))
    except ValueError as error:
        findings.problem(settings[name].location, f"{name}: {error}")
        return []


def _check_tree(switches: list[Switch], findings: Findings) -> None:
    """Every switch below another one is defined, and none is below itself."""
    below = {switch.name: switch.switches for switch in switches}
    for switch in switches:
        for child in switch.switches:
            if child not in below:
                location = switch.settings["Switches"].location
                findings.problem(location, f"there is no switch {child!r}{meant(child, below)}")
    done: set[str] = set()
    for switch in switches:
        if _reaches_itself(switch.name, below, done):
            findings.problem(switch.settings["SwitchName"].location, f"switch {switch.name!r} is below itself")


def _reaches_itself(name: str, below: dict[str, tuple[str, ...]], done: set[str]) -> bool:
    """Whether a walk down from a switch comes back to it; ``done`` are those whose walks are over."""
    seen: set[str] = set()
    rest = list(below[name])
    while rest:
        child = rest.pop()
        if child == name:
            return True
        if child not in seen and child not in done:
            seen.add(child)
            rest += below.get(child, ())
    done.add(name)
    return False


def _check_use(switches: list[Switch], roster: Roster, plugin: str, findings: Findings) -> None:
    first = switches[0].settings
    key = next(iter(first))
    location = first[key].location
    if plugin.lower() != USED_BY[first[key].name]:
        findings.notice(location, f"topology.conf is not used with TopologyPlugin={plugin or 'topology/flat'}")
        return
    connected = {name for switch in switches for name in switch.nodes}
    if not connected:
        findings.notice(location, "topology.conf is not used, for no node of slurm.conf is in it")
    elif len(connected) < len(roster):
        where = (
            "in no block, which only jobs of one node get" if switches[0].block else "on no switch, which no job gets"
        )
        findings.notice(location, f"nodes {where}: {len(roster) - len(connected):,}")
