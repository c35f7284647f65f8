"""Whether the package ``emulator`` that Python finds is that of slurm-sim-plugins.

Another distribution, slurm-emulator, installs a package of that name as well. Where both are in one environment, the
one that was installed last has overwritten files of the other.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

OURS = "slurm-sim-plugins"
"""Stands in the first file of our package, and in none of others."""


def foreign_emulator() -> str | None:
    """What is wrong with the package ``emulator`` that an import would find, and what to do; None if it is ours.

    Nothing is imported. A package that is not there at all is no concern of this.
    """
    spec = find_spec("emulator")
    if spec is None:
        return None
    if spec.origin is None:
        found = next(iter(spec.submodule_search_locations or ()), "a folder without __init__.py")
    else:
        try:
            if OURS in Path(spec.origin).read_text(encoding="utf-8", errors="replace"):
                return None
        except OSError:  # in an archive
            return None
        found = spec.origin
    return (
        f"the package emulator that Python finds is not that of {OURS}: {found}. If the distribution slurm-emulator is "
        f"installed here, the two overwrite each other: install {OURS} in an environment of its own; else leave out "
        "the folder from which it comes (PYTHONPATH, or the folder in which Python was started)"
    )
