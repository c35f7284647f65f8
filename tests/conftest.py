"""What all tests share."""

from __future__ import annotations

import gc
import os
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import settings

pytest_plugins = ["pytester"]

TRACES = Path(__file__).resolve().parents[1].parent / "shared" / "traces"

settings.register_profile("dev", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "dev"))

MARKED = {"tests/traces": "traces", "tests/truth": "truth", "compiled.py": "compiled"}
"""Parts of a test's path, and the marker that they give it."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        for part, marker in MARKED.items():
            if part in item.path.as_posix():
                item.add_marker(marker)


def pytest_collection() -> None:
    gc.disable()


def pytest_collection_finish() -> None:
    """What was collected stays till the end: it is looked through neither while it comes nor in each later turn."""
    gc.collect()
    gc.freeze()
    gc.enable()


def pytest_sessionstart() -> None:
    """Import what cannot be imported twice.

    ``pytester`` forgets after a test, and after an inner run, what was imported in it first. Extension modules refuse
    a second import; what belongs to a cluster is imported late, and would be there twice.
    """
    for name in ("numpy.fft", "pandas", "pyarrow.parquet", "emulator.site", "emulator.report.slurmconf"):
        import_module(name)


@pytest.fixture(autouse=True)
def without_lines_of_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a command prints must not depend on how long it takes here."""
    monkeypatch.setattr("emulator.cli.lines.FIRST", 3600.0)


@pytest.fixture(scope="session")
def traces() -> Path:
    """The folder of real logs; tests that need it are skipped where it is absent."""
    folder = Path(os.environ.get("SLURM_SIM_TRACES") or TRACES)
    if not folder.is_dir():
        pytest.skip(f"no real logs at {folder}; set SLURM_SIM_TRACES to the folder that holds them")
    return folder
