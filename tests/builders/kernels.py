"""Both forms of a kernel in one process: the compiled module, and the same source as plain Python."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from types import ModuleType

import pytest

from slurm_sim_plugins.kernels import ROOT, why_plain

NEEDS_KERNELS = pytest.mark.skipif(bool(why_plain()), reason=f"kernels run as plain Python: {why_plain()}")


def forms(name: str, **instead: ModuleType) -> tuple[ModuleType, ModuleType]:
    """A kernel as it is compiled, and as plain Python.

    Args:
        name: of the module.
        instead: plain forms of kernels that it imports, by their names with ``_`` for dots.
    """
    spec = importlib.util.spec_from_file_location(f"{name}_plain", ROOT.joinpath(*name.split(".")).with_suffix(".py"))
    assert spec is not None
    assert spec.loader is not None
    plain = importlib.util.module_from_spec(spec)
    kept = {other: sys.modules[other] for other in (key.replace("__", ".") for key in instead)}
    sys.modules.update({key.replace("__", "."): module for key, module in instead.items()})
    try:
        sys.modules[spec.name] = plain  # dataclasses look there
        spec.loader.exec_module(plain)
    finally:
        sys.modules.update(kept)
    compiled = importlib.import_module(name)
    assert not str(compiled.__file__).endswith(".py"), "this is the plain form"
    return compiled, plain
