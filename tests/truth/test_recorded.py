"""Our own recordings of a real Slurm (``slurm-sim record``): those that agree, and those with a cause that is open."""

from __future__ import annotations

from pathlib import Path

import pytest

from emulator.truth import judge
from emulator.workload.scenario_reader import read_scenario

pytest.importorskip("yaml")

PATHS = sorted(Path(__file__).with_name("recorded").glob("*.yaml"))
OPEN: dict[str, str] = {
    "cleared_beside_suspended_22": "reasons: once the limit of a suspended job is over, another waits for resources",
    "planned_nodes_known_24": "reasons: after a plan a limit's reason goes away in 24.11, here it stays",
    "too_few_fit_22": "reasons: a new job says at once that it lacks nodes which are down, here Priority",
    "too_few_fit_24": "the same",
    "too_few_fit_26": "the same",
    "whole_gpus_of_plans_24": "reasons: backfill goes round once more in 24.11, and takes that of a limit from a job",
}
"""Recordings with which the emulator does not agree yet, and why."""


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_the_emulator_agrees_or_the_cause_is_named(path: Path) -> None:
    differences = judge(read_scenario(path), search=True).differences
    told = [f"{one.job} {one.what}: {one.recorded} | {one.emulated}" for one in differences]
    if path.stem in OPEN:
        assert told, "it agrees: take it out of OPEN"
    else:
        assert not told


def test_what_is_open_is_recorded() -> None:
    assert OPEN.keys() <= {path.stem for path in PATHS}
