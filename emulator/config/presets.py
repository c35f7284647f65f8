"""Presets: the experiment files that come with the emulator."""

from __future__ import annotations

from pathlib import Path

from slurm_sim_plugins.errors import ConfigurationError

PREFIX = "papers/"
FOLDER = Path(__file__).with_name("papers")


def presets() -> list[str]:
    """Their names, such as ``papers/pv_easy``."""
    return sorted(PREFIX + file.stem for file in FOLDER.glob("*.toml"))


def preset(name: str) -> Path:
    """The file of a preset.

    Raises:
        ConfigurationError: there is none of this name.
    """
    if name not in presets():
        raise ConfigurationError(f"there is no preset {name!r}; presets are {', '.join(presets())}")
    return FOLDER / f"{name.removeprefix(PREFIX)}.toml"
