"""All that made a run what it is: the content of ``run.toml``."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from emulator.config.operation import Operation
from emulator.version import version
from emulator.workload.workload import Changed, Dropped, Workload
from slurm_sim_plugins.hookspecs import DEFAULTS
from slurm_sim_plugins.manager import BUNDLED, PluginInfo, Selection, names_in

if TYPE_CHECKING:
    from emulator.accounting.records import Records
    from emulator.config.options import Config
    from emulator.config.slurm.model import SlurmConf
    from emulator.engine.controller import Controller
    from emulator.workload.submissions import Submissions

SLOTS = ("SchedulerType", "PriorityType", "PreemptType", "SelectType")
"""What a ``slurm.conf`` selects."""
OPTIONAL = ("PrioritySiteFactorPlugin", "JobSubmitPlugins")
"""What it may select besides."""


def describe(
    workload: Workload,
    processors: int,
    config: Config,
    selection: Selection,
    status: str = "finished",
    error: str = "",
) -> dict[str, Any]:
    """All that made a run what it is: the content of ``run.toml``."""
    oracle = any(getattr(plugin, "needs_oracle", False) for plugin in selection.plugins.values())
    return {
        "run": {"label": label(selection.slots), "status": status, "version": version(), "oracle": oracle}
        | ({"error": error} if error else {}),
        "machine": {"processors": processors} | ({"epoch": workload.epoch} if workload.epoch is not None else {}),
        "simulation": {
            "timing": "ideal",
            "passes": config.passes,
            "kill_at_limit": config.kill_at_limit,
            "expired": config.expired,
            "seed": config.seed,
            "dispatch": config.dispatch,
        },
        "preemption": asdict(config.preemption),
        "slots": {slot: value for slot, value in selection.slots.items() if value},
        "plugins": {name: _about_plugin(info, config) for name, info in selection.infos.items()},
        "workload": {
            "name": workload.name,
            "source_sha256": workload.source_hash,
            "read": workload.read,
            "jobs": len(workload),
            "dropped": [_notice(dropped) for dropped in workload.dropped],
            "changed": [_notice(changed) for changed in workload.changed],
        },
    }


def _notice(notice: Dropped | Changed) -> dict[str, Any]:
    """As data; a file without its folder, so that it does not matter where the trace lies."""
    return {"reason": notice.reason, "count": notice.count, "first": Path(notice.first).name}


def label(slots: Mapping[str, str]) -> str:
    """The policy in a few words: the scheduler, and what is not the default."""
    others = [name for slot, name in slots.items() if name != DEFAULTS[slot] and slot != "SchedulerType"]
    return " + ".join([slots["SchedulerType"], *others])


def _about_plugin(info: PluginInfo, config: Config) -> dict[str, Any]:
    options = dict(config.plugin_options.get(info.name, {}))
    return {"origin": info.origin, "sha256": source_hash(info), "options": options}


def source_hash(info: PluginInfo) -> str:
    """SHA-256 of the file that defines a plugin, in hex; empty where there is none."""
    return _bundled_hash(info) if info.origin == BUNDLED else _source_hash(info)


def _source_hash(info: PluginInfo) -> str:
    try:
        source = inspect.getsourcefile(info.factory)
        return hashlib.sha256(Path(source).read_bytes()).hexdigest() if source else ""
    except (OSError, TypeError):
        return ""


_bundled_hash = cache(_source_hash)
"""The files of the product stay as they are while it runs."""


def describe_cluster(
    controller: Controller,
    conf: SlurmConf,
    submissions: Submissions,
    records: Records,
    config: Config,
    selection: Selection,
    plugged: Mapping[str, str],
    status: str = "finished",
    error: str = "",
) -> dict[str, Any]:
    """As :func:`describe`, of a run on the cluster of a ``slurm.conf``."""
    from emulator.engine.standstill import unfinished

    slots = {slot: conf.parameters.text(slot) for slot in SLOTS} | dict(plugged)
    plugged = dict(plugged) | {slot: value for slot in OPTIONAL if (value := selection.slots[slot])}
    slots |= plugged
    return {
        "run": {
            "label": " + ".join(plugin for plugin in slots.values() if not plugin.endswith("/none")),
            "status": status,
            "version": version(),
            "oracle": False,
        }
        | ({"error": error} if error else {}),
        "machine": {
            "processors": records.processors,
            "nodes": len(controller.cluster.machine),
            "cluster": conf.parameters.text("ClusterName"),
        }
        | ({"epoch": records.epoch} if records.epoch is not None else {}),
        "simulation": {"timing": config.clock, "slurm_version": conf.version}
        | ({"passes": config.passes} if config.clock == "ideal" else {})
        | {"kill_at_limit": True, "seed": config.seed},
        **_saved(controller),
        **({"power": controller.power.figures} if controller.power is not None else {}),
        **({"operation": asdict(config.operation)} if config.operation != Operation() else {}),
        "slots": slots,
        "plugins": {
            name: _about_plugin(info, config)
            for name, info in selection.infos.items()
            if name in names_in(plugged) or name in config.plugin_options
        },
        "slurm_conf": {"name": Path(conf.source).name, "sha256": hash_of_conf(conf)},
        "workload": {"name": submissions.name, "jobs": len(records), **submissions.about},
        "rejected": dict(Counter(words for _, words in controller.rejected)),
        "refused": {f"{second:.15g}": words for second, words in controller.refused},
        "unfinished": unfinished(controller.cluster),
        **({"endless": controller.endless} if controller.endless else {}),
    } | _accounts(controller)


def hash_of_conf(conf: SlurmConf) -> str:
    """SHA-256, in hex, of all that files state, in the order of reading; where they lie is no part of it."""
    number: dict[str, int] = {}
    lines = [
        (number.setdefault(setting.location.file, len(number)), setting.location.line, kind, setting.name, setting.text)
        for kind, setting in conf.entries
    ]
    return hashlib.sha256(json.dumps(lines, separators=(",", ":")).encode()).hexdigest()


def _saved(controller: Controller) -> dict[str, Any]:
    """How checkpoints were written, if any were."""
    preemption = controller.checkpoints.preemption
    return {} if preemption is None else {"preemption": asdict(preemption)}


def _accounts(controller: Controller) -> dict[str, Any]:
    """What is to be told of the accounts, if there are any."""
    accounting = controller.cluster.accounting
    if accounting is None:
        return {}
    users = sum(1 for _ in accounting.manager.accounts.users())
    return {
        "accounts": {
            "accounts": len(accounting.manager.accounts.associations) - users,
            "users": users,
            "qos": len(accounting.manager.qualities),
            "enforced": sorted(word.lower() for word in accounting.enforces),
            "used": {name: float(accounting.usage.total[index]) for index, name in enumerate(accounting.tres.names)},
        }
    }
