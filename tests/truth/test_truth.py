"""Recorded runs of a real Slurm: the emulator does the same.

They are looked for in ``SLURM_SIM_TRUTH``, or beside the folder of logs.
"""

from __future__ import annotations

import os
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from emulator.report.truth import markdown, notes
from emulator.truth import judge, read_known
from emulator.truth.verdict import Verdict, why_not_compared
from emulator.workload.scenario import Scenario
from emulator.workload.scenario_reader import read_scenario

pytest.importorskip("yaml")

BESIDE_THE_LOGS = Path(__file__).resolve().parents[2].parent / "shared" / "slurm-truth" / "scenarios"
FOLDER = Path(os.environ.get("SLURM_SIM_TRUTH") or BESIDE_THE_LOGS)
KNOWN = read_known(Path(__file__).with_name("known.toml"))

each_scenario = pytest.mark.parametrize("path", sorted(FOLDER.glob("*.yaml")), ids=lambda path: path.stem)


@cache
def scenario_in(path: Path) -> Scenario:
    return read_scenario(path)


@cache
def verdict_on(path: Path) -> Verdict:
    return judge(scenario_in(path), KNOWN, search=True)


@each_scenario
def test_the_emulator_does_what_slurm_did(path, request, record_property):
    scenario = scenario_in(path)
    why = why_not_compared(scenario, KNOWN)
    if why:
        pytest.skip(why)
    known = KNOWN.open_in(scenario.name)
    if known:
        request.applymarker(pytest.mark.xfail(reason=known.reason, strict=True))
    verdict = verdict_on(path)
    for note in notes(verdict, KNOWN):
        record_property("truth", f"{scenario.name}: {note}")
    assert verdict.agrees, "\n".join(
        f"{one.job} {one.what}: {one.recorded} | {one.emulated}" for one in verdict.differences
    )


@each_scenario
def test_nothing_is_excused_that_need_not_be(path):
    scenario = scenario_in(path)
    if why_not_compared(scenario, KNOWN):
        pytest.skip("not compared")
    excused = [noise for _, noise in verdict_on(path).excused]
    for noise in KNOWN.noise:
        assert noise.scenario != scenario.name or noise in excused, f"{noise} excuses nothing"


@pytest.mark.parametrize("entry", [*KNOWN.work, *KNOWN.actions, *KNOWN.clocks], ids=lambda entry: entry.scenario)
def test_nothing_is_supplied_that_need_not_be(entry):
    path = FOLDER / f"{entry.scenario}.yaml"
    if not path.is_file():
        pytest.skip(f"there is no {path}")
    without = replace(
        KNOWN,
        work=tuple(one for one in KNOWN.work if one != entry),
        actions=tuple(one for one in KNOWN.actions if one != entry),
        clocks=tuple(one for one in KNOWN.clocks if one != entry),
    )
    scenario = scenario_in(path)
    assert why_not_compared(scenario, without) or not judge(scenario, without).agrees


@pytest.mark.skipif(FOLDER != BESIDE_THE_LOGS or not FOLDER.is_dir(), reason="not the recordings of the documentation")
def test_the_list_in_the_documentation_is_so():
    paths = sorted(FOLDER.glob("*.yaml"))
    skipped = [(scenario_in(path).name, why) for path in paths if (why := why_not_compared(scenario_in(path), KNOWN))]
    verdicts = [verdict_on(path) for path in paths if not why_not_compared(scenario_in(path), KNOWN)]
    page = Path(__file__).parents[2] / "docs" / "truth.md"
    assert markdown(verdicts, KNOWN, skipped) in page.read_text(encoding="utf-8"), "run python docs/generate_truth.py"


def test_there_are_recordings():
    if not FOLDER.is_dir():
        pytest.skip(f"no recorded scenarios at {FOLDER}; set SLURM_SIM_TRUTH to the folder that holds them")
    assert list(FOLDER.glob("*.yaml"))
