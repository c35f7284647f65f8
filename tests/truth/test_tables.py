"""Tables of sprio and sshare that a real Slurm printed: the views print the same, to the letter."""

from __future__ import annotations

import os
import shlex
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner

from emulator.api import simulate
from emulator.cli import slurm_sim
from emulator.operator.scontrol import scontrol
from emulator.truth import read_known
from emulator.truth.emulated import timing_of
from emulator.truth.inputs import inputs_of
from emulator.truth.queries import asked
from emulator.workload.scenario_reader import read_scenario

pytest.importorskip("yaml")

BESIDE_THE_LOGS = Path(__file__).resolve().parents[2].parent / "shared" / "slurm-truth" / "scenarios"
FOLDER = Path(os.environ.get("SLURM_SIM_TRUTH") or BESIDE_THE_LOGS)
KNOWN = read_known(Path(__file__).with_name("known.toml"))
NAMES = (
    "c1_prio",
    "c1_prio_small",
    "g_f1_fairtree",
    "g_f6_age",
    "g_f7_usagefactor",
    "g_g1_jobsize_base",
    "g_g2_tres_multipart",
)


@pytest.mark.parametrize("name", NAMES)
def test_the_views_print_what_slurm_printed(name: str, tmp_path: Path) -> None:
    path = FOLDER / f"{name}.yaml"
    if not path.is_file():
        pytest.skip(f"there is no {path}")
    scenario = read_scenario(path)
    inputs = inputs_of(scenario, KNOWN)
    actions = [(at, partial(scontrol, command)) for at, command in inputs.actions]
    simulate(
        list(inputs.requests),
        inputs.conf,
        timing=timing_of(inputs),
        actions=actions,
        accounts=inputs.accounts(),
        out=tmp_path,
    )
    compared = 0
    for question in asked(scenario):
        command, *words = shlex.split(question.command)
        if command in ("sprio", "sshare"):
            shown = CliRunner().invoke(slurm_sim, [command, str(tmp_path), "--at", f"{question.at}", *words])
            recorded = [line.rstrip() for line in question.output.splitlines()]
            assert [line.rstrip() for line in shown.output.splitlines()] == recorded, f"{command} at {question.at}"
            compared += 1
    assert compared
