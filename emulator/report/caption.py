"""What must stand under every result: timing, passes, kill rule, and whether an oracle helped."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from emulator.report.numbers import printable

About = Mapping[str, Any]


def caption(about: About) -> str:
    """Such as ``100 processors, ideal timing, passes=batch, killed at the limit``.

    What is not known is left out.

    Args:
        about: the content of ``run.toml``.
    """
    options = table(about, "simulation")
    parts = []
    if "processors" in table(about, "machine"):
        unit = "CPUs" if "slurm_conf" in about else "processors"
        parts.append(f"{table(about, 'machine')['processors']:,} {unit}")
    if "timing" in options:
        parts.append(f"{options['timing']} timing")
    if "passes" in options:
        parts.append(f"passes={options['passes']}")
    if "kill_at_limit" in options:
        parts.append("killed at the limit" if options["kill_at_limit"] else "not killed at the limit")
    if is_oracle(about):
        parts.append("oracle: a plugin knew true run times")
    if not is_finished(about):
        parts.append(f"{table(about, 'run')['status']}: the run broke off")
    return printable(", ".join(parts))


def joint_caption(abouts: Mapping[str, About]) -> str:
    """One caption for several runs: what differs is said of each."""
    captions = {label: caption(about) for label, about in abouts.items()}
    different = dict.fromkeys(captions.values())
    if len(different) < 2:
        return next(iter(different), "")
    return "\n".join(f"{printable(label)}: {text}" for label, text in captions.items())


def is_oracle(about: About) -> bool:
    """Whether the run, or one of its plugins, says that it knew true run times."""
    plugins = table(about, "plugins").values()
    flagged = any(bool(plugin.get("oracle")) for plugin in plugins if isinstance(plugin, Mapping))
    return flagged or bool(table(about, "run").get("oracle"))


def is_finished(about: About) -> bool:
    """Whether the run came to its end, as far as it says."""
    return bool(table(about, "run").get("status", "finished") == "finished")


def table(about: About, name: str) -> About:
    """A table of ``run.toml``; empty if it is not there."""
    value = about.get(name)
    return value if isinstance(value, Mapping) else {}
