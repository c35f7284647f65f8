"""Which plugins a configuration selects, and the options that it states for them."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

from emulator.config.slurm.model import SlurmConf
from emulator.config.slurm.values import Kind
from slurm_sim_plugins.errors import PluginError
from slurm_sim_plugins.manager import Catalogue, PluginInfo, named, takes_several

SELECTED = ("SchedulerType", "PriorityType", "PreemptType", "SelectType")
"""Slots whose plugin the file selects."""
OF_THE_SITE = ("PrioritySiteFactorPlugin", "JobSubmitPlugins")
"""Slots for plugins of a site, whose code is often not here."""
LUA = "job_submit/lua"
UNITS = {Kind.MINUTES: 60.0, Kind.MICROSECONDS: 1e-6}
"""Seconds of a unit in which options are written."""
SAME = {"select/cons_res": "select/cons_tres"}
"""Former names of Slurm's plugins."""


def slots_of(conf: SlurmConf) -> dict[str, str]:
    """The plugins that the file selects, by slot; by their present names."""
    names = {slot: conf.parameters.text(slot).lower() for slot in SELECTED}
    return {slot: SAME.get(name, name) for slot, name in names.items()}


def site_slots_of(conf: SlurmConf, catalogue: Catalogue, given: Collection[str]) -> dict[str, str]:
    """The plugins of the site that the file selects, by slot; a warning names those that are not here.

    Slots that are ``given`` are left out.
    """
    found = {}
    for slot in (slot for slot in OF_THE_SITE if slot not in given):
        names = [name for name in named(slot, conf.parameters.text(slot)) if not name.endswith("/none")]
        wants = {name: _wants(catalogue.get(name), conf) for name in names}
        here = [name for name in names if not wants[name] and catalogue.get(name) is not None]
        for name in names:
            if wants[name]:
                logging.getLogger(__name__).warning(
                    "%s: %s=%s: nothing is asked instead: %s",
                    conf.parameters.location(slot) or conf.source,
                    slot,
                    name,
                    wants[name],
                )
            elif name not in here:
                logging.getLogger(__name__).warning(
                    "%s: %s=%s: there is no such plugin here, so nothing is asked instead; load one of that "
                    "name from its file (--plugin FILE)",
                    conf.parameters.location(slot) or conf.source,
                    slot,
                    name,
                )
        found[slot] = ",".join(here)
    return found


def _wants(info: PluginInfo | None, conf: SlurmConf) -> str:
    """What a plugin of the site lacks here: a file beside the configuration, or a library."""
    beside = [] if info is None else _beside(info, conf).values()
    missing = next((file for file in beside if not Path(file).is_file()), None)
    if missing is not None:
        return f"{missing} is not there"
    if info is not None and info.name == LUA and find_spec("lupa") is None:
        return "lupa is not installed: python -m pip install 'slurm-sim-plugins[lua]'"
    return ""


def _beside(info: PluginInfo, conf: SlurmConf) -> dict[str, str]:
    """Options of a plugin that are files beside the configuration (``beside_slurm_conf``)."""
    files: Mapping[str, str] = getattr(info.factory, "beside_slurm_conf", {})
    return {option: str(Path(conf.source).with_name(name)) for option, name in files.items()}


def stated_slots_of(conf: SlurmConf) -> dict[str, str]:
    """The plugins that a configuration selects, by slot, whether there are such plugins here or not."""
    return {**slots_of(conf), **{slot: conf.parameters.text(slot) for slot in OF_THE_SITE}}


def options_of(info: PluginInfo, conf: SlurmConf) -> dict[str, Any]:
    """Options of a plugin as the file states them: the class says which parameter each of them is (``slurm_conf``)."""
    said: object = getattr(info.factory, "slurm_conf", {})
    # What is no mapping of text is refused as the plugin is made.
    of_text = isinstance(said, Mapping) and all(isinstance(word, str) for word in (*said, *said.values()))
    parameters: Mapping[str, str] = cast(Mapping[str, str], said) if of_text else {}
    try:
        stated = {option: conf.parameters.value(name) for option, name in parameters.items()}
    except KeyError as error:
        raise PluginError(
            f"its slurm_conf names {error.args[0]}, which is no parameter of slurm.conf"
            f"{conf.parameters.vocabulary.meant(str(error.args[0]))}",
            plugin=info.name,
        ) from None
    found = {
        option: value if takes_several(info, option) else _plain(value)
        for option, value in stated.items()
        if value is not None
    } | _beside(info, conf)
    return found if info.slot != "SchedulerType" else {**_of_loops(info, conf), **found}


def _of_loops(info: PluginInfo, conf: SlurmConf) -> dict[str, Any]:
    """Options of a scheduler that ``SchedulerParameters`` states under their names, in Slurm's units."""
    found, options = dict[str, Any](), info.options()
    for option in options:
        setting = conf.parameters.stated.get(f"SchedulerParameters.{option}")
        if setting is not None:
            unit = UNITS.get(setting.word.kind)
            number = unit is not None and isinstance(setting.value, int | float)
            found[option] = setting.value / unit if number else setting.value  # type: ignore[operator]
    if found.get("bf_max_job_assoc"):
        # As in Slurm's sources: it takes the place of the bound for users, and without accounting there are none.
        found["bf_max_job_user"] = 0
        if "slurmdbd" not in conf.parameters.text("AccountingStorageType").lower():
            found["bf_max_job_assoc"] = 0
    return {option: value for option, value in found.items() if option in options}


def _plain(value: Any) -> Any:
    """Words, and numbers by name, as they are written."""
    if isinstance(value, Mapping):
        return ",".join(f"{name}={number!r}" for name, number in value.items())
    return ",".join(value) if isinstance(value, tuple) else value
