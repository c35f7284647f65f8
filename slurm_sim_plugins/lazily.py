"""Public names of a package that are imported when they are first used, so that ``slurm-sim --help`` need not wait."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from slurm_sim_plugins.errors import meant
from slurm_sim_plugins.renamed import warn


def homes(package: str, public: Mapping[str, str], **old: str) -> Callable[[str], Any]:
    """A ``__getattr__`` for a package whose public names are imported when they are first used.

    Args:
        package: its ``__name__``.
        public: its modules, each with the names that it defines, with spaces between.
        old: public names by names that they had before, which are said to be old.
    """
    modules = {name: module for module, names in public.items() for name in names.split()}

    def find(name: str) -> Any:
        if name in modules:
            found = getattr(import_module(f"{package}.{modules[name]}"), name)
            setattr(sys.modules[package], name, found)
            return found
        if name in old:
            warn(f"{package}.{name}", f"{package}.{old[name]}")
            return getattr(sys.modules[package], old[name])
        raise AttributeError(f"module {package!r} has no attribute {name!r}{meant(name, modules)}")

    return find
