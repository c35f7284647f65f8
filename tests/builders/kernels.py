"""Both forms of a kernel in one process: the compiled module, and the same source as plain Python."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import sys
import tomllib
from functools import cache
from types import ModuleType
from unittest.mock import patch

import pytest

from slurm_sim_plugins.kernels import ROOT, why_plain

KERNELS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["slurm-sim"]["kernels"]
NEEDS_KERNELS = pytest.mark.skipif(bool(why_plain()), reason=f"kernels run as plain Python: {why_plain()}")


@cache
def forms(name: str) -> tuple[ModuleType, ModuleType]:
    """A kernel as it is compiled, and as plain Python, with the plain form of what it takes from other kernels.

    Args:
        name: of the module.
    """
    compiled = importlib.import_module(name)
    assert not str(compiled.__file__).endswith(".py"), "this is the plain form"
    return compiled, plain(name)


@cache
def plain(name: str) -> ModuleType:
    """A kernel as plain Python, beside the module of that name that others import."""
    importlib.import_module(name)
    source = ROOT.joinpath(*name.split(".")).with_suffix(".py")
    spec = importlib.util.spec_from_file_location(f"{name}_plain", source)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look there
    lines = ast.parse(source.read_text(encoding="utf-8")).body
    taken = {line.module for line in lines if isinstance(line, ast.ImportFrom)} & {*KERNELS}
    # A class of a kernel may be made of one of another.
    with patch.dict(sys.modules, {other: plain(other) for other in taken}):
        spec.loader.exec_module(module)
    for own, value in list(vars(module).items()):
        origin = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
        if origin in KERNELS and origin != name:
            other = plain(origin)
            setattr(module, own, other if isinstance(value, ModuleType) else getattr(other, own))
    return module
