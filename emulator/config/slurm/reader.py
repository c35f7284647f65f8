"""Reading a Slurm configuration: ``slurm.conf``, and ``gres.conf``, ``topology.conf``, ``topology.yaml`` beside it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from emulator.config.slurm.changes import Change, changed, without
from emulator.config.slurm.defaults import Record
from emulator.config.slurm.gres import check_gres_types, check_near_cores, check_shares, read_gres, without_enough
from emulator.config.slurm.lines import LARGEST_FILE, TOO_LARGE, Lines, Pairs
from emulator.config.slurm.location import Findings, Location
from emulator.config.slurm.model import SlurmConf, with_defaults
from emulator.config.slurm.nodes import read_down_nodes, read_node_sets, read_nodes, with_states
from emulator.config.slurm.options import MOVED
from emulator.config.slurm.parameters import PARAMETERS
from emulator.config.slurm.partitions import check_counted, check_topologies, check_whole_nodes, read_partitions
from emulator.config.slurm.power import read_power
from emulator.config.slurm.records import GRES, LINES, TOPOLOGY
from emulator.config.slurm.releases import NEWEST, OLDEST
from emulator.config.slurm.roster import Roster
from emulator.config.slurm.settings import Setting, Settings, latest, read_pairs
from emulator.config.slurm.topology import BLOCK, OTHERS, PLUGINS, TOPOLOGY_YAML, TREE, read_topology
from emulator.config.slurm.versions import GONE, KEY_CHANGES, PASSED_OVER, defaults_of
from emulator.config.slurm.vocabulary import Vocabulary
from emulator.files import read_input
from emulator.kinds import SLURM_CONF, reads
from slurm_sim_plugins.errors import meant

if TYPE_CHECKING:
    from emulator.config.slurm.topology_yaml import Section

MAIN = "slurm.conf"
BESIDE = {"gres.conf": GRES, "topology.conf": TOPOLOGY}
"""Files that are read too if they lie beside the main one."""
UNREAD = ("resources.yaml",)
"""Files that Slurm would read and this reader does not."""

NO_NODES = "there is no NodeName line, so no job can run"

_RECORD_KEYS = {key.lower(): key for key in LINES}


@reads(SLURM_CONF)
def read_slurm_conf(path: str | os.PathLike[str], changes: Mapping[str, Change] | None = None) -> SlurmConf:
    """Read a configuration.

    Args:
        path: the file, under whatever name, or the folder that holds ``slurm.conf``.
        changes: parameters that are to have other values than the files say, see
            :func:`emulator.config.slurm.changes.changed`.

    Raises:
        InputError: it cannot be read; or all that is wrong in it, one line a problem, with
            file and line.
    """
    path = Path(path)
    main = path / MAIN if path.is_dir() else path
    findings = Findings()
    beside = {name: Lines(main.parent / name, findings) for name in BESIDE if (main.parent / name).exists()}
    for name in UNREAD:
        if (main.parent / name).exists():
            findings.notice(Location(str(main.parent / name), 1), "is not read")
    in_yaml = main.parent / TOPOLOGY_YAML
    content = read_input(in_yaml, LARGEST_FILE, TOO_LARGE) if in_yaml.exists() else None
    return _Reader(str(main), findings).read(Lines(main, findings), beside, changes or {}, content, str(in_yaml))


def parse_slurm_conf(
    text: str,
    source: str = MAIN,
    *,
    gres: str | None = None,
    topology: str | None = None,
    topology_yaml: str | None = None,
) -> SlurmConf:
    """Read a configuration that is not in files; it can include none.

    Args:
        text: the content of ``slurm.conf``.
        source: how messages name it.
        gres: the content of ``gres.conf``, if there is one.
        topology: the content of ``topology.conf``, if there is one.
        topology_yaml: the content of ``topology.yaml``, if there is one.

    Raises:
        InputError: all that is wrong, one line a problem, with file and line.
    """
    findings = Findings()
    texts = {"gres.conf": gres, "topology.conf": topology}
    beside = {
        name: Lines(Path(name), findings, content.encode("utf-8", "replace"))
        for name, content in texts.items()
        if content is not None
    }
    lines = Lines(Path(source), findings, text.encode("utf-8", "replace"))
    in_yaml = None if topology_yaml is None else topology_yaml.encode("utf-8", "replace")
    return _Reader(source, findings).read(lines, beside, {}, in_yaml)


class _Reader:
    """One reading."""

    def __init__(self, source: str, findings: Findings) -> None:
        self._source = source
        self._findings = findings
        self._entries: list[tuple[str, Setting]] = []
        self._parameters: list[Setting] = []
        self._records: dict[str, list[Record]] = {key: [] for key in LINES}

    def read(
        self,
        main: Iterable[Pairs],
        beside: Mapping[str, Iterable[Pairs]],
        changes: Mapping[str, Change],
        topology_yaml: bytes | None,
        in_yaml: str = TOPOLOGY_YAML,
    ) -> SlurmConf:
        """Read the lines of all files.

        Raises:
            InputError: all that is wrong.
        """
        for pairs in main:
            self._line(pairs)
        if changes:
            self._change(changes)
        further = {
            name: self._lines_beside(name, vocabulary, beside.get(name, ())) for name, vocabulary in BESIDE.items()
        }
        conf = self._conf(further, self._sections(topology_yaml, in_yaml))
        self._findings.check()
        return conf

    def _sections(self, topology_yaml: bytes | None, file: str) -> list[Section]:
        """The topologies of ``topology.yaml``."""
        if topology_yaml is None:
            return []
        from emulator.config.slurm.topology_yaml import read_topology_yaml  # Most do without a reader of YAML.

        return read_topology_yaml(topology_yaml, self._findings, file)

    def _line(self, pairs: Pairs) -> None:
        """A line is parameters, up to the key of a line of its own kind, to which the rest belongs."""
        keys = (_RECORD_KEYS.get(pair.key.lower()) for pair in pairs)
        begin, key = next(((position, key) for position, key in enumerate(keys) if key is not None), (len(pairs), ""))
        parameters = read_pairs(pairs[:begin], PARAMETERS, self._findings)
        self._parameters += parameters
        self._entries += [("", setting) for setting in parameters]
        if key:
            self._records[key].append(self._record(key, LINES[key], pairs[begin:]))

    def _change(self, changes: Mapping[str, Change]) -> None:
        """What is changed replaces what the files say."""
        settings = [("", setting) for setting in changed(self._parameters, changes, self._findings)]
        self._entries = without(self._entries, [setting for _, setting in settings]) + settings
        self._parameters = [setting for kind, setting in self._entries if not kind]

    def _record(self, kind: str, vocabulary: Vocabulary, pairs: Pairs) -> Record:
        record = read_pairs(pairs, vocabulary, self._findings)
        self._entries += [(kind, setting) for setting in record]
        return record

    def _lines_beside(self, name: str, vocabulary: Vocabulary, lines: Iterable[Pairs]) -> list[Record]:
        records = (self._record(name, vocabulary, pairs) for pairs in lines)
        return [record for record in records if record]

    def _conf(self, beside: Mapping[str, list[Record]], sections: Iterable[Section]) -> SlurmConf:
        findings = self._findings
        parameters = with_defaults(Settings(PARAMETERS, latest(self._parameters, findings)), NEWEST)
        nodes = read_nodes(self._records["NodeName"], findings)
        roster = Roster(nodes, findings)
        node_sets = read_node_sets(self._records["NodeSet"], roster, findings)
        partitions = read_partitions(self._records["PartitionName"], roster, findings)
        down = read_down_nodes(self._records["DownNodes"], roster, findings)
        gres = read_gres(beside["gres.conf"], roster, findings)
        check_gres_types(parameters.words("GresTypes"), nodes, gres, findings)
        check_shares(nodes, findings)
        check_near_cores(gres, nodes, partitions, parameters, findings)
        plugin = parameters.text("TopologyPlugin")
        in_conf = read_topology(beside["topology.conf"], roster, plugin, findings)
        topologies = tuple(
            read_topology(
                self._lines_beside(TOPOLOGY_YAML, TOPOLOGY, one.lines), roster, one.plugin, findings, one.name
            )
            for one in sections
        )
        check_topologies(partitions, topologies, findings)
        check_counted(partitions, parameters, findings)
        check_whole_nodes(partitions, parameters, findings)
        if not (in_conf.switches or sections):
            self._notice_no_topology(parameters)
        if not sections:
            self._notice_other_topology(parameters)
        if not nodes and "Include" in parameters:
            text = f"{NO_NODES}: are all files that it includes in its folder?"
            findings.notice(Location(self._source, 1), text)
        self._notice_gone(parameters)
        self._notice_defaults(parameters)
        self._notice_moved(parameters)
        self._notice_bounds(parameters)
        return SlurmConf(
            source=self._source,
            parameters=parameters,
            nodes=with_states(without_enough(nodes, gres, findings), down),
            partitions=tuple(partitions),
            node_sets=tuple(node_sets),
            down_nodes=tuple(down),
            gres=tuple(gres),
            topology_conf=in_conf,
            topologies=topologies,
            power=read_power(parameters, nodes, partitions, roster, findings),
            entries=tuple(self._entries),
            notices=findings.gathered(),
        )

    def _notice_no_topology(self, parameters: Settings) -> None:
        plugin = parameters.text("TopologyPlugin")
        if plugin.lower() in (TREE, BLOCK):
            text = (
                f"{plugin} has no switch or block in a topology.conf beside this file: nodes are taken as if all were "
                "on one switch (slurmctld does not start without that file)"
            )
            self._findings.notice(parameters["TopologyPlugin"].location, text)

    def _notice_other_topology(self, parameters: Settings) -> None:
        """Other plugins of Slurm sort nodes in other ways; a name may be misspelt as well."""
        plugin = parameters.text("TopologyPlugin")
        if plugin.lower() not in PLUGINS:
            likely = "" if plugin.lower() in OTHERS else meant(plugin, PLUGINS)
            text = f"TopologyPlugin={plugin} is not emulated{likely}: nodes are taken as if all were on one switch"
            self._findings.notice(parameters["TopologyPlugin"].location, text)

    def _notice_gone(self, parameters: Settings) -> None:
        stated = [parameters[name] for name in GONE if name in parameters]
        gone = [one for one in stated if one.text != PASSED_OVER.get(one.name)]
        if gone:
            first = min(one.location for one in gone)
            which = ", ".join(one.name for one in gone)
            text = f"slurmctld of {OLDEST} and later does not start with {which}: gone from Slurm, ignored here"
            self._findings.notice(first, text)

    def _notice_defaults(self, parameters: Settings) -> None:
        for name in defaults_of(OLDEST):
            if name not in parameters:
                default, change = parameters.text(name), next(one for one in KEY_CHANGES if one.key == name)
                which = f"{default} from {change.since} on, {change.was} before"
                self._findings.notice(Location(self._source, 1), f"{name} is not stated, and its default is {which}")

    def _notice_moved(self, parameters: Settings) -> None:
        for name in MOVED:
            setting = parameters.get(f"SchedulerParameters.{name}")
            if setting is not None:
                text = f"{setting.name} has no effect: Slurm looks for {name} in DependencyParameters"
                self._findings.notice(setting.location, text)

    def _notice_bounds(self, parameters: Settings) -> None:
        """Which bounds of backfill another one, or the want of accounting, makes vain, or worse."""
        alone = "slurmdbd" not in parameters.text("AccountingStorageType").lower()
        stops = parameters.get("SchedulerParameters.assoc_limit_stop")
        if stops is not None and stops.value and alone and parameters.text("SchedulerType") != "sched/builtin":
            text = f"{stops.name} without accounting_storage/slurmdbd: slurmctld crashes as backfill looks at a job"
            self._findings.notice(stops.location, f"{text} (seen in 22.05, 24.11 and 26.05)")
        of_assocs, of_users = (parameters.get(f"SchedulerParameters.bf_max_job_{of}") for of in ("assoc", "user"))
        if of_assocs is None or not of_assocs.value:
            return
        if of_users is not None and of_users.value:
            text = f"{of_users.name} has no effect: bf_max_job_assoc takes its place"
            self._findings.notice(of_users.location, text)
        if alone:
            text = f"{of_assocs.name} bounds nothing: there are no associations without accounting_storage/slurmdbd"
            self._findings.notice(of_assocs.location, text)
