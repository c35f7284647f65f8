"""Recordings of newer versions of Slurm: the emulator does the same under their rules, and not under those of 22.05."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from emulator.config.slurm.releases import OLDEST, VERSIONS
from emulator.config.slurm.versions import all_rules
from emulator.truth import judge, read_known
from emulator.truth.verdict import Verdict
from emulator.workload.scenario import Scenario
from emulator.workload.scenario_reader import read_scenario

pytest.importorskip("yaml")

RECORDED = Path(__file__).resolve().parents[2].parent / "shared" / "slurm-truth"
KNOWN = {version: read_known(Path(__file__).with_name(f"known-{version}.toml")) for version in VERSIONS[1:]}
PATHS = [path for version in KNOWN for path in sorted((RECORDED / version).glob("*.yaml"))]
SHOWN = [(rule.name, one) for rule in all_rules() for one in rule.recordings if (RECORDED / f"{one}.yaml").is_file()]

each_recording = pytest.mark.parametrize("path", PATHS, ids=lambda path: f"{path.parent.name}-{path.stem}")


@cache
def scenario_in(path: Path) -> Scenario:
    return read_scenario(path)


@cache
def verdict_on(path: Path) -> Verdict:
    return judge(scenario_in(path), KNOWN[path.parent.name], search=True)


@each_recording
def test_the_emulator_does_what_that_version_did(path: Path) -> None:
    assert scenario_in(path).configuration().version == path.parent.name
    verdict = verdict_on(path)
    assert verdict.agrees, "\n".join(
        f"{one.job} {one.what}: {one.recorded} | {one.emulated}" for one in verdict.differences
    )


@each_recording
def test_nothing_is_excused_that_need_not_be(path: Path) -> None:
    scenario, known = scenario_in(path).name, KNOWN[path.parent.name]
    excused = [noise for _, noise in verdict_on(path).excused]
    assert [noise for noise in known.noise if noise.scenario == scenario and noise not in excused] == []


@pytest.mark.parametrize(("rule", "name"), SHOWN)
def test_a_recording_shows_the_rule(rule: str, name: str) -> None:
    scenario = scenario_in(RECORDED / f"{name}.yaml")
    under = judge(scenario).differences
    before = judge(replace(scenario, slurm_version=OLDEST)).differences
    assert len(under) < len(before)
