"""Plugins of runs: found once a process, and known by their sources."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from emulator.campaign.hashes import fresh_hash_of, hash_of, sha256
from emulator.config.options import Config
from slurm_sim_plugins.errors import InputError
from slurm_sim_plugins.hookspecs import DEFAULTS
from slurm_sim_plugins.manager import BUNDLED, Catalogue, PluginInfo, discover, names_in


@cache
def found(files: tuple[Path, ...]) -> tuple[Catalogue, Mapping[str, str]]:
    """All plugins of this process, and the SHA-256 of each of the files as it was loaded.

    Args:
        files: plugin files that the user named, with their whole paths.

    Raises:
        InputError: a file cannot be read, or changed while it was loaded.
        ConfigurationError: two plugins claim one name.
        PluginError: a plugin cannot be loaded.
    """
    hashes = {str(file): fresh_hash_of(file) for file in files}
    catalogue = discover(files)
    for file in files:
        if fresh_hash_of(file) != hashes[str(file)]:
            raise InputError(f"{file}: changed while it was loaded; try again")
    return catalogue, hashes


def is_file(option: str, value: object) -> bool:
    """Whether an option of a plugin names a file: it is called ``file``, or its name ends so, as ``blocks_file``."""
    return (option == "file" or option.endswith("_file")) and isinstance(value, str) and value != ""


def files_read(config: Config) -> dict[str, str]:
    """SHA-256 of the files that options of plugins name, by ``PLUGIN.OPTION``.

    Raises:
        InputError: a file cannot be read.
    """
    return {
        f"{plugin}.{option}": hash_of(Path(value))
        for plugin, values in sorted(config.plugin_options.items())
        for option, value in sorted(values.items())
        if is_file(option, value)
    }


def sources(config: Config, files: tuple[Path, ...], stated: Mapping[str, str] | None = None) -> dict[str, str]:
    """SHA-256 of the sources of the plugins that take part, by name; bundled ones are part of the code.

    Of a plugin file it is that of the file; of an installed plugin that of all Python files
    of its package. What they import from elsewhere is not looked at.
    ``stated`` are the slots of a ``slurm.conf``.
    """
    catalogue, hashes = found(files)
    selected = [catalogue.get(name) for name in names_in({**DEFAULTS, **(stated or {}), **config.slots})]
    taking_part = [info for info in selected if info is not None] + catalogue.observers()
    return {
        info.name: hashes.get(info.origin) or _of_package(info)
        for info in sorted(taking_part, key=lambda info: info.name)
        if info.origin != BUNDLED
    }


@cache
def _of_package(info: PluginInfo) -> str:
    """SHA-256 of all Python files of the package of an installed plugin, or of its one file."""
    module = sys.modules[info.factory.__module__]
    file = Path(module.__file__ or "")
    top = sys.modules[module.__name__.partition(".")[0]]
    folders = list(map(Path, getattr(top, "__path__", ())))
    files = sorted(each for folder in folders for each in folder.rglob("*.py")) or [file]
    return sha256("\n".join(fresh_hash_of(each) for each in files).encode())
