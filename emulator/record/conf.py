"""The configuration files of daemons that run beside each other on the loopback interface.

What a scenario says is kept; what would leave the machine or the folder of the recording (paths,
ports, addresses, authentication) is replaced.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from emulator.config.operation import SCRIPTS
from emulator.config.slurm.hostlist import expand
from emulator.record.told import TRACED
from emulator.workload.scenario import RECORDED_SLURMD_TIMEOUT, RECORDER, RETURN_TO_SERVICE
from slurm_sim_plugins.errors import InputError

CLUSTER = "truth"
"""The cluster's name, unless the scenario has one."""
DISABLED_CGROUPS = (23, 11)
"""From this version on daemons read ``cgroup.conf`` even where nothing uses cgroups."""
DATABASE = "slurm_acct_db"
DATABASE_USER = "slurm"
LOOPBACK = "127.0.0.1"
OF_NODES = ("nodename", "partitionname", "nodeset", "downnodes", "switchname")
"""Lines of these keys are kept whole; any other line is one parameter."""
REPLACED = {"nodehostname", "nodeaddr", "port", "bcastaddr"}
"""Attributes of nodes that the recording sets."""
UNSAFE = re.compile(r"(^|[=,:])(/|\.\./|~)")
"""A value that names a file."""
PROGRAMS = {"include", "plugindir", "plugstackconfig", "jobsubmitplugins", "clifilterplugins", "preplugins"}
"""Keys that make daemons load or run what is not Slurm's own."""
SCRIPTS_BESIDE = "scripts"
"""The folder with prologs and epilogs."""
_WORDS = re.compile(r"\S+")


@dataclass(frozen=True, slots=True)
class Site:
    """Where the daemons of one recording live.

    Attributes:
        folder: of their state, as they see it.
        port: the controller's; nodes have the following ones, and the database the last.
        user: who the daemons are.
        host: this machine's name.
        version: of Slurm, such as ``(22, 5)``.
    """

    folder: PurePosixPath
    port: int
    user: str
    host: str
    version: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Written:
    """Files of a recording.

    Attributes:
        files: text by name.
        nodes: their names, in the order of their ports.
        accounts: whether there is accounting.
    """

    files: Mapping[str, str]
    nodes: tuple[str, ...]
    accounts: bool


def write_conf(
    slurm_conf: str,
    gres_conf: str | None,
    site: Site,
    topology: Mapping[str, str | None] | None = None,
    scripts: Mapping[str, float] | None = None,
) -> Written:
    """The files that daemons need to play a scenario.

    Args:
        slurm_conf: the scenario's.
        gres_conf: the scenario's, or None.
        site: where the daemons live.
        topology: the scenario's files of that, by name; None for one that it has not.
        scripts: seconds of the machine's clock that scripts take, by option of the scenario's ``operation``.

    Raises:
        InputError: a line that names a file or a program, or a node that has no name.
    """
    given: dict[str, tuple[str, str]] = {}
    nodes: list[tuple[str, str]] = []
    rest: list[str] = []
    for key, line, value in _safe_lines("slurm_conf", slurm_conf):
        if key.lower() == "nodename":
            nodes += _nodes(line, value)
        elif key.lower() in OF_NODES:
            rest.append(line)
        else:
            given[key.lower()] = (key, value)
    accounts = "slurmdbd" in given.get("accountingstoragetype", ("", ""))[1]
    names = tuple(name for name, _ in nodes if name.upper() != "DEFAULT")
    ports = {name: site.port + 1 + index for index, name in enumerate(names)}
    own = _own(site, _database_port(site, len(names)) if accounts else None)
    for name, value in _defaults(site).items():
        given.setdefault(name.lower(), (name, value))
    own |= {key: site.folder / SCRIPTS_BESIDE / name for key, name in SCRIPTS.items() if name in (scripts or {})}
    given |= {name.lower(): (name, str(value)) for name, value in own.items()}
    lines = [f"{key}={value}" for key, value in given.values()]
    for name, attributes in nodes:
        where = f"NodeHostname={site.host} NodeAddr={LOOPBACK} Port={ports[name]} " if name in ports else ""
        lines.append(f"NodeName={name} {where}{attributes}")
    files = {"slurm.conf": "\n".join([*lines, *rest]) + "\n"}
    if site.version >= DISABLED_CGROUPS:
        files["cgroup.conf"] = "CgroupPlugin=disabled\n"
    devices = _devices(gres_conf, nodes, f"{site.folder}/devices/")
    if devices:
        files["gres.conf"] = "\n".join(devices) + "\n"
        files |= {f"devices/{name}": "" for line in devices for name in _device_names(line)}
    for name, text in (topology or {}).items():
        if text is not None:
            # What is in YAML includes no other files.
            lines = [line for _, line, _ in _safe_lines(name, text)] if name.endswith(".conf") else text.splitlines()
            files[name] = "\n".join(lines) + "\n"
    files |= _scripts(scripts or {})
    return Written(files, names, accounts)


def _scripts(seconds: Mapping[str, float]) -> dict[str, str]:
    """Prologs and epilogs; daemons give them another environment, with which their clock may come or not."""
    script = "#!/bin/sh\nunset LD_PRELOAD\nexec sleep {:.3f}\n"
    return {f"{SCRIPTS_BESIDE}/{name}": script.format(each) for name, each in seconds.items()}


def write_slurmdbd_conf(site: Site, nodes: int, database: int) -> str:
    """A ``slurmdbd.conf``.

    Args:
        site: where the daemons live.
        nodes: how many nodes there are.
        database: the port of the database server.
    """
    values = {
        "AuthType": "auth/none",
        "DbdHost": "localhost",
        "DbdAddr": LOOPBACK,
        "DbdPort": _database_port(site, nodes),
        "SlurmUser": site.user,
        "DebugLevel": "info",
        "LogFile": site.folder / "log" / "slurmdbd.log",
        "PidFile": site.folder / "slurmdbd.pid",
        "StorageType": "accounting_storage/mysql",
        "StorageHost": LOOPBACK,
        "StoragePort": database,
        "StorageUser": DATABASE_USER,
        "StorageLoc": DATABASE,
    }
    return "".join(f"{key}={value}\n" for key, value in values.items())


def _lines(text: str) -> Iterator[tuple[str, str, str]]:
    """Key, whole line and value of each line; remarks are left out, continued lines joined."""
    for line in re.sub(r"\\\s*\n", " ", text).splitlines():
        words = line.partition("#")[0].strip()
        key, equals, value = words.partition("=")
        if words and not equals:
            key, _, value = words.partition(" ")
        if words:
            yield key.strip(), words, value.strip()


def _safe_lines(name: str, text: str) -> Iterator[tuple[str, str, str]]:
    """The same; none of them names a file or a program."""
    for key, line, value in _lines(text):
        if key.lower() in PROGRAMS or UNSAFE.search(value):
            raise InputError(f"{name}: {line!r} names a file or a program; a recording takes neither: remove it")
        yield key, line, value


def _nodes(line: str, value: str) -> Iterator[tuple[str, str]]:
    """Names and attributes of a line of nodes; ``DEFAULT`` is one that is none."""
    names, *words = _WORDS.findall(value) or [""]
    kept = " ".join(word for word in words if word.partition("=")[0].lower() not in REPLACED)
    try:
        yield from ((name, kept) for name in expand(names))
    except ValueError as error:
        raise InputError(f"slurm_conf: {line!r}: {error}") from None


def _defaults(site: Site) -> dict[str, str]:
    """What a scenario may say otherwise."""
    old = {"SwitchType": "switch/none", "JobAcctGatherType": "jobacct_gather/none"}
    return {
        "ClusterName": CLUSTER,
        "DebugFlags": TRACED,
        "InactiveLimit": "0",
        "MessageTimeout": str(RECORDER),
        "MpiDefault": "none",
        "PropagateResourceLimits": "NONE",
        "ReturnToService": str(RETURN_TO_SERVICE),
        **(old if site.version < DISABLED_CGROUPS else {}),
    }


def _own(site: Site, database: int | None) -> dict[str, object]:
    """What is the recording's."""
    accounts = {"AccountingStorageHost": LOOPBACK, "AccountingStoragePort": database}
    return {
        "SlurmctldHost": f"{site.host}({LOOPBACK})",
        "SlurmctldPort": site.port,
        "SlurmUser": site.user,
        "SlurmdUser": site.user,
        "AuthType": "auth/none",
        "CredType": "cred/none",
        "CommunicationParameters": "NoInAddrAny,NoCtldInAddrAny",
        "ProctrackType": "proctrack/linuxproc",
        "TaskPlugin": "task/none",
        "SlurmdParameters": "config_overrides",
        "MinJobAge": 86400,
        "SlurmctldTimeout": 600,
        "SlurmdTimeout": RECORDED_SLURMD_TIMEOUT,
        "SlurmctldDebug": "debug",
        "SlurmdDebug": "error",
        "LogTimeFormat": "iso8601_ms",
        "StateSaveLocation": site.folder / "state",
        "SlurmctldPidFile": site.folder / "slurmctld.pid",
        "SlurmctldLogFile": site.folder / "log" / "slurmctld.log",
        "SlurmdSpoolDir": site.folder / "spool" / "%n",
        "SlurmdPidFile": site.folder / "slurmd.%n.pid",
        "SlurmdLogFile": site.folder / "log" / "slurmd.%n.log",
        **(accounts if database is not None else {}),
    }


def _devices(gres_conf: str | None, nodes: Sequence[tuple[str, str]], folder: str) -> list[str]:
    """Lines of a ``gres.conf``: a GPU needs a file, and any file does."""
    if gres_conf:
        return [re.sub(r"(?i)(\sFile=)(\S*/)?", rf"\g<1>{folder}", line) for _, line, _ in _lines(gres_conf)]
    return [line for node in nodes for line in _configured(*node, folder)]


def _configured(name: str, attributes: str, folder: str) -> Iterator[str]:
    """Lines of a ``gres.conf`` for what ``slurm.conf`` says that a node has."""
    used = 0
    for word in attributes.split():
        key, _, value = word.partition("=")
        for kind in value.split(",") if key.lower() == "gres" else ():
            gres, *types, count = (kind.split("(")[0] + ("" if ":" in kind else ":1")).split(":")
            typed = f" Type={types[0]}" if types and types[0] != "no_consume" else ""
            line = f"NodeName={name} Name={gres}{typed} Count={count}"
            if gres == "gpu" and int(count):
                line += f" File={folder}gpu[{used}-{used + int(count) - 1}]"
                used += int(count)
            yield line


def _device_names(line: str) -> list[str]:
    found = re.search(r"\sFile=\S*/(\S+)", line)
    return expand(found[1]) if found else []


def _database_port(site: Site, nodes: int) -> int:
    return site.port + nodes + 1
