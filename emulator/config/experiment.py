"""Experiment files: a workload, a policy and its options in TOML.

.. code-block:: toml

    [workload]
    trace = "KTH-SP2-1996-2.1-cln.swf.gz"   # beside this file, or a path
    filter = "standard"

    [slots]
    SchedulerType = "sched/easy"
    BackfillType = "backfill/sjf"

    [plugins."sched/conservative"]
    compress = "never_later"

    [simulation]
    processors = 100
    passes = "event"

    [preemption]
    mode = "CHECKPOINT"
    interval = 3600

    [operation]                              # with run --slurm-conf
    mtbf = 2592000
    node_events = "events.txt"               # beside this file

    [accounts]                               # with run --slurm-conf
    files = ["sacctmgr.dump"]                # beside this file
    commands = ["add account physics fairshare=60", "add user ann account=physics"]

An experiment file is data. It names plugins but never loads code: a plugin file is named
on the command line, or the plugin is installed.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, get_type_hints

from emulator.config.operation import KINDS as OPERATION
from emulator.config.operation import with_files
from emulator.config.options import DECIDED
from emulator.config.preemption import Preemption
from emulator.config.presets import PREFIX, preset
from emulator.config.tables import check_keys, check_kind, check_table, check_values, read_toml
from emulator.kinds import TOML, reads
from slurm_sim_plugins.errors import ConfigurationError

READING = {
    "filter": str,
    "processors_field": str,
    "first_submit": float,
    "malformed": str,
    "realtime": float,
    "variation": str,
    "realtime_seed": int,
}
"""Keys of ``[workload]`` besides ``trace``: how to read it."""
SIMULATION = {
    "processors": int,
    "clock": str,
    "slurm_version": str,
    "passes": str,
    "kill_at_limit": bool,
    "expired": str,
    "seed": int,
    "dispatch": str,
    "compiled": bool,
    "explain": bool,
}
"""Keys of ``[simulation]``: fields of :class:`emulator.config.options.Config`."""
PREEMPTION: dict[str, type] = get_type_hints(Preemption) | {"mode": str, "checkpoint": str}
"""Keys of ``[preemption]``: fields of :class:`emulator.config.preemption.Preemption`."""
ACCOUNTS = ("files", "commands")
"""Keys of ``[accounts]``: lists of files of ``sacctmgr``, and of commands for it."""
TABLES = ("workload", "slots", "plugins", "simulation", "preemption", "operation", "accounts")


@dataclass(frozen=True)
class Experiment:
    """What an experiment file says.

    Attributes:
        trace: the trace, or None if the file names none.
        reading: how to read it.
        slots: plugin name by configuration key.
        plugins: options by plugin name.
        simulation: options of the simulation.
        preemption: what becomes of a run that is preempted.
        operation: what happens to nodes.
        account_files: files of ``sacctmgr``.
        account_commands: commands of ``sacctmgr``, carried out after those.
        preset: the name of a bundled one, such as ``papers/pv_easy``; empty for a file of the user's.
    """

    trace: Path | None
    reading: Mapping[str, Any]
    slots: Mapping[str, str]
    plugins: Mapping[str, Mapping[str, Any]]
    simulation: Mapping[str, Any]
    preemption: Mapping[str, Any]
    operation: Mapping[str, Any] = field(default_factory=dict)
    account_files: tuple[Path, ...] = ()
    account_commands: tuple[str, ...] = ()
    preset: str = ""

    def on_cluster(self, log: bool) -> Experiment:
        """A bundled one on the cluster of a ``slurm.conf``: what is decided there is left out, and a warning names it.

        Args:
            log: whether the workload is a log, which can be read in several ways.
        """
        if not self.preset:
            return self
        simulation = {name: value for name, value in self.simulation.items() if name not in DECIDED}
        left_out = [f"{name}={value}" for name, value in self.simulation.items() if name not in simulation]
        left_out += [] if log else [f"{name}={value}" for name, value in self.reading.items()]
        if left_out:
            logging.getLogger(__name__).warning(
                "%s: without effect on the cluster of a slurm.conf, where limits kill and submissions are as they are: "
                "%s",
                self.preset,
                ", ".join(left_out).lower(),
            )
        return replace(self, simulation=simulation, reading=self.reading if log else {})


@reads(TOML)
def read_experiment(path: Path) -> Experiment:
    """Read an experiment file, or the preset of a name such as ``papers/pv_easy``.

    Raises:
        InputError: it cannot be read, or is not TOML (with the line).
        ConfigurationError: an unknown table or key, or a value of another kind.
    """
    bundled = path.as_posix() if path.as_posix().startswith(PREFIX) and not path.exists() else ""
    if bundled:
        path = preset(bundled)
    data = read_toml(path)
    check_keys(path, "", data, TABLES)
    tables = {name: check_table(path, name, data.get(name, {})) for name in TABLES}
    workload = dict(tables["workload"])
    trace = workload.pop("trace", None)
    if trace is not None and not isinstance(trace, str):
        raise ConfigurationError(f"{path}: workload.trace is a file name, not {trace!r}")
    plugins = {name: check_table(path, f"plugins.{name}", values) for name, values in tables["plugins"].items()}
    slots = {slot: check_kind(path, "slots", slot, name, str) for slot, name in tables["slots"].items()}
    return Experiment(
        trace=path.parent / trace if trace is not None else None,
        reading=check_values(path, "workload", workload, READING, ("trace",)),
        slots=slots,
        plugins=plugins,
        simulation=check_values(path, "simulation", tables["simulation"], SIMULATION),
        preemption=check_values(path, "preemption", tables["preemption"], PREEMPTION),
        operation=with_files(check_values(path, "operation", tables["operation"], OPERATION), path.parent),
        account_files=tuple(path.parent / name for name in _texts(path, tables["accounts"], "files")),
        account_commands=_texts(path, tables["accounts"], "commands"),
        preset=bundled,
    )


def _texts(path: Path, accounts: Mapping[str, Any], key: str) -> tuple[str, ...]:
    """A list of texts in ``[accounts]``."""
    check_keys(path, "accounts.", accounts, ACCOUNTS)
    values = accounts.get(key, [])
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise ConfigurationError(f"{path}: accounts.{key} takes a list of texts, not {values!r}")
    return tuple(values)
