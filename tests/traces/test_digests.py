"""EASY on real logs: every start, as published, under both conventions for the passes.

The cleaning is that of the published values, which the filter ``standard`` makes.
"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from emulator import Workload, read_swf, simulate
from emulator.accounting.records import Records
from emulator.testing.invariants import check_invariants
from slurm_sim_plugins.manager import Catalogue

KTH = "KTH-SP2-1996-2.1-cln.swf.gz"
CTC = "CTC-SP2-1996-3.1-cln.swf.gz"
SDSC = "SDSC-SP2-1998-4.2-cln.swf.gz"
BLUE = "SDSC-BLUE-2000-4.2-cln.swf.gz"


class Published(NamedTuple):
    """One row of the table of published values."""

    log: str
    processors: int
    jobs: int
    passes: str
    mean_wait: str
    mean_bounded_slowdown: str
    max_wait: int
    digest: str


PUBLISHED = [
    Published(KTH, 100, 28467, "event", "6892.86", "92.719", 262194, "9ec768965d782264"),
    Published(KTH, 100, 28467, "batch", "6890.58", "92.831", 262194, "efbf84f0e8910c16"),
    Published(CTC, 338, 77205, "event", "14271.53", "49.568", 303954, "648f3a59bb690bee"),
    Published(CTC, 338, 77205, "batch", "13941.97", "48.834", 303954, "308c59b54cf4b1da"),
    Published(CTC, 430, 77205, "event", "3138.26", "10.435", 155525, "ce0453069d9e80fb"),
    Published(CTC, 430, 77205, "batch", "3161.46", "10.554", 155525, "5261bb049009b90a"),
    Published(SDSC, 128, 54034, "event", "20503.19", "88.607", 459740, "c345eb929c5cb657"),
    Published(SDSC, 128, 54034, "batch", "20576.24", "88.541", 459740, "154209c2141e8610"),
    Published(BLUE, 1152, 223637, "event", "7774.92", "36.749", 391221, "b4422ebb06e7ce20"),
    Published(BLUE, 1152, 223637, "batch", "7849.36", "37.328", 391221, "9b1fd4277a838e68"),
]


@cache
def cleaned(file: Path, processors: int) -> Workload:
    return read_swf(file, machine=processors)


@pytest.mark.parametrize(
    "row", PUBLISHED, ids=lambda row: f"{row.log.partition('-cln')[0]}-{row.processors}-{row.passes}"
)
def test_easy(traces: Path, row: Published) -> None:
    file = next(traces.rglob(row.log), None)
    if file is None:
        pytest.skip(f"no {row.log} in {traces}")
    workload = cleaned(file, min(each.processors for each in PUBLISHED if each.log == row.log))
    assert len(workload) == row.jobs

    result = simulate(workload, processors=row.processors, passes=row.passes, catalogue=Catalogue())

    assert digest(result.records) == row.digest
    jobs = result.records.jobs
    wait, response = jobs["start"] - jobs["submit"], jobs["end"] - jobs["submit"]
    slowdown = np.maximum(1.0, response / np.maximum(jobs["run"], 10.0))
    assert f"{wait.mean():.2f}" == row.mean_wait
    assert f"{slowdown.mean():.3f}" == row.mean_bounded_slowdown
    assert wait.max() == row.max_wait
    check_invariants(result, workload)


def digest(records: Records) -> str:
    """First 16 hex digits of the SHA-256 of ``<job id> <start>`` lines, ascending by id."""
    order = np.argsort(records.jobs["job_id"])
    ids, starts = records.jobs["job_id"][order].tolist(), records.jobs["start"][order].astype(np.int64).tolist()
    lines = "".join(f"{job} {start}\n" for job, start in zip(ids, starts, strict=True))
    return hashlib.sha256(lines.encode()).hexdigest()[:16]
