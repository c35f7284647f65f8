"""What all tests share."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import settings

pytest_plugins = ["pytester"]

TRACES = Path(__file__).resolve().parents[1].parent / "shared" / "traces"

settings.register_profile("dev", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "dev"))

MARKED = {"tests/traces": "traces", "tests/truth": "truth", "compiled.py": "compiled"}
"""Parts of a test's path, and the marker that they give it."""

OURS = ("emulator", "slurm_sim_plugins", "slurm_sim_studies", "tests")
"""Packages that an inner run imports for itself."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        for part, marker in MARKED.items():
            if part in item.path.as_posix():
                item.add_marker(marker)


class Imported:
    """A plugin of an inner run, which keeps the libraries that were imported in it.

    ``pytester`` forgets what an inner run is the first to import. numpy and numba cannot be imported a second time.
    """

    def __init__(self) -> None:
        self._modules: dict[str, ModuleType] = {}

    def pytest_unconfigure(self) -> None:
        self._modules = dict(sys.modules)

    def put_back(self) -> None:
        for name, module in self._modules.items():
            parts = Path(getattr(module, "__file__", None) or "").parts
            if "site-packages" in parts and name.partition(".")[0] not in OURS:
                sys.modules.setdefault(name, module)


@pytest.fixture
def pytester(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """The inner runs of pytest, after which libraries remain imported."""
    inline_run = pytester.inline_run

    def run(*args: Any, plugins: Sequence[Any] = (), **options: Any) -> pytest.HookRecorder:
        imported = Imported()
        done = inline_run(*args, plugins=(*plugins, imported), **options)
        imported.put_back()
        return done

    monkeypatch.setattr(pytester, "inline_run", run)
    return pytester


@pytest.fixture(scope="session")
def traces() -> Path:
    """The folder of real logs; tests that need it are skipped where it is absent."""
    folder = Path(os.environ.get("SLURM_SIM_TRACES") or TRACES)
    if not folder.is_dir():
        pytest.skip(f"no real logs at {folder}; set SLURM_SIM_TRACES to the folder that holds them")
    return folder
