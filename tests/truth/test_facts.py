"""Small scenarios with what a real Slurm is known to do, judged as recordings are, plain and compiled."""

from __future__ import annotations

from pathlib import Path

import pytest

from emulator.engine import controller
from emulator.truth import judge
from emulator.workload.scenario_reader import read_scenario

pytest.importorskip("yaml")

OWN = sorted(Path(__file__).with_name("facts").glob("*.yaml"))
RECORDED = Path(__file__).resolve().parents[2].parent / "shared" / "slurm-truth" / "minimal"
AGREE = tuple(f"m_900{number}" for number in range(1, 10))
FACTS = [*OWN, *(path for name in AGREE if (path := RECORDED / f"{name}.yaml").is_file())]


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("path", FACTS, ids=lambda path: path.stem)
def test_the_emulator_does_what_slurm_does(path: Path, compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(controller, "are_compiled", lambda purpose: compiled)
    # Of those that were handed over nothing says when the controller was started.
    differences = judge(read_scenario(path), search=path.parent == RECORDED).differences
    assert not [f"{one.job} {one.what}: {one.recorded} | {one.emulated}" for one in differences]
