"""``slurm-sim plugins``: what was found, from where, for which slot."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from emulator.cli import shared

if TYPE_CHECKING:
    from slurm_sim_plugins.manager import PluginInfo


@click.command()
@shared.plugin_files
@shared.json_option
def plugins(files: tuple[Path, ...], folders: tuple[Path, ...], as_json: bool) -> None:
    """List the plugins that are found: bundled, installed, and those named here."""
    catalogue = shared.find_plugins(files, folders)
    if as_json:
        shared.print_json({info.name: _described(info) for info in catalogue})
        return
    from emulator.report.grid import table

    rows = []
    for info in catalogue:
        options = ", ".join(f"{name}={default}" for name, default in _described(info)["options"].items())
        rows.append((info.slot or "(observer)", info.name, info.summary, options, info.origin))
    shared.print_table(table("", ("slot", "plugin", "what it does", "options", "from"), rows))


def _described(info: PluginInfo) -> dict[str, Any]:
    options = {
        name: "required" if parameter.default is inspect.Parameter.empty else parameter.default
        for name, parameter in info.options().items()
    }
    return {
        "slot": info.slot,
        "origin": info.origin,
        "summary": info.summary,
        "hooks": info.hooks,
        "options": {name: str(default) for name, default in options.items()},
    }
