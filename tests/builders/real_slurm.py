"""Ports that are loaded into a real Slurm.

``SLURM_SIM_SLURM_SOURCES`` names configured source trees, and ``SLURM_SIM_SLURM_ROOTS`` further systems with a Slurm
(chroots), each with ``:`` between; a tree is tried where the slurmctld of its version is installed. ``SLURM_SIM_PORT``
is the first of the ports that are used.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from emulator.port import Ported
from emulator.port.source import read_source

SOURCES = [Path(name) for name in os.environ.get("SLURM_SIM_SLURM_SOURCES", "").split(os.pathsep) if name]
ROOTS = [Path("/"), *(Path(name) for name in os.environ.get("SLURM_SIM_SLURM_ROOTS", "").split(os.pathsep) if name)]
PORT = os.environ.get("SLURM_SIM_PORT", "17100")


def homes() -> Iterator[Any]:
    """Each source tree with the root where its slurmctld is."""
    for source in SOURCES:
        version = read_source(source).version
        for root in ROOTS:
            if os.path.lexists(root / "usr/sbin/slurmctld") and shutil.which("cc"):
                asked = subprocess.run([*inside(root), "slurmctld", "-V"], capture_output=True, text=True, check=False)
                if asked.stdout.split()[-1:] == [version]:
                    yield pytest.param(source, root, id=version)


def inside(root: Path) -> list[str]:
    """What a command is begun with that is to run in a system."""
    return [] if root == Path("/") else ["chroot", str(root)]


HOMES = list(homes())


def tried(made: Ported, root: Path, commands: str) -> str:
    """What commands print with the plugin in a real slurmctld; built without a warning, ended without a daemon left."""
    if list(made.folder.glob("*.c")):
        subprocess.run(["make", "-C", made.folder], check=True, capture_output=True)
    (made.folder / "jobs.sh").write_text(f"#!/bin/sh\n{commands}")
    (made.folder / "jobs.sh").chmod(0o755)
    with tempfile.TemporaryDirectory(prefix="port-", dir=root / "tmp") as private:
        folder = Path(private) / "it"
        shutil.copytree(made.folder, folder)
        words = [*inside(root), "env", f"PORT={PORT}", "/" / folder.relative_to(root) / "try.sh"]
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=180)
        log = folder / "tried" / "slurmctld.log"
        said = done.stderr + (log.read_text()[-2000:] if log.exists() else "")
    assert done.returncode == 0, said
    return done.stdout
