"""Kernels: modules that are compiled when the product is installed, where that can be done, or run as plain Python.

A kernel is one file of plain Python, with a ``.pxd`` beside it that says which C types Cython is to give its names.
The compiled module lies beside that file under the same name, so that Python's own import takes it. Here is said
when it must not: because it is switched off, or because its source has changed since.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Sequence
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES, ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType

SWITCH = "SLURM_SIM_KERNELS"
"""The environment variable: ``plain`` for plain Python although compiled kernels are there."""
HELP = "python -m pip install -v . in the sources compiles them, or says what is missing"
ROOT = Path(__file__).resolve().parents[1]
"""The folder of the packages."""
_log = logging.getLogger(__name__)


def built_list(root: Path) -> Path:
    """The file that says which kernels were compiled for this Python, and from what.

    Args:
        root: the folder of the packages.
    """
    return root / "slurm_sim_plugins" / f"kernels{EXTENSION_SUFFIXES[0]}.json"


def digest(module: str, root: Path) -> str:
    """Of the source of a kernel and of its C types.

    Args:
        module: its name, with dots.
        root: the folder of the packages.
    """
    import hashlib  # not before it is wanted: nothing is compiled for `slurm-sim --help`

    source = root.joinpath(*module.split("."))
    files = (source.with_suffix(suffix) for suffix in (".py", ".pxd"))
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()


@cache
def why_plain() -> str:
    """Why kernels run as plain Python, in words; empty if they are compiled."""
    wanted = os.environ.get(SWITCH, "")
    if wanted not in ("", "plain"):
        _log.warning("%s=%s is not known; it is plain or empty", SWITCH, wanted)
    if wanted == "plain":
        return f"as {SWITCH}=plain says"
    built = _built()
    if not built:
        return f"the kernels are not compiled; {HELP}"
    if not all(_stands(module, known) for module, known in built.items()):
        return f"the sources of the kernels have changed since they were compiled; {HELP}"
    return ""


def _stands(module: str, known: str) -> bool:
    """Whether a kernel's source is what it was compiled from; it is not if another version of the sources has none."""
    try:
        return digest(module, ROOT) == known
    except FileNotFoundError:
        return False


def are_compiled(purpose: str) -> bool:
    """Whether kernels are compiled; if not, it is logged, once, what is slow without and which command helps.

    Nothing is logged where plain Python was asked for.

    Args:
        purpose: what runs in plain Python otherwise.
    """
    reason = why_plain()
    if reason and SWITCH not in reason:
        _warn(purpose, reason)
    return not reason


@cache
def _warn(purpose: str, reason: str) -> None:
    _log.warning("%s runs in plain Python, many times slower: %s", purpose, reason)


@cache
def _built() -> dict[str, str]:
    file = built_list(ROOT)
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}


class _PlainFinder:
    """Finds the source of a kernel where the compiled module must not be taken."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in _built() or not why_plain():
            return None
        return spec_from_file_location(fullname, ROOT.joinpath(*fullname.split(".")).with_suffix(".py"))


sys.meta_path.insert(0, _PlainFinder())
