"""Compiled kernels beside plain Python: random machines, workloads and policies leave the same files.

Ten thousand of each machine take hours; ``python -m contrib.differential.forms --seeds 0:10000`` runs them.
"""

from __future__ import annotations

import re

import pandas as pd
import pytest
from click.testing import CliRunner

from contrib.differential.forms import ENDLESS, IMPOSSIBLE, MACHINES, forms, may_be, verdict_of
from slurm_sim_plugins.kernels import why_plain


@pytest.mark.skipif(bool(why_plain()), reason="the kernels are not compiled")
@pytest.mark.parametrize("machine", MACHINES)
def test_both_forms_leave_the_same_files(machine: str) -> None:
    said = CliRunner().invoke(forms, ["--seeds", "0:6", "--machine", machine])
    assert said.exit_code == 0, said.output
    assert "6 seeds" in said.output
    assert " 0 differ" in said.output
    ran = re.search(r"(\d+) left a run", said.output)
    assert ran is not None
    assert int(ran[1]) >= 3, "hardly any of them ran: the comparison says nothing"


@pytest.mark.skipif(bool(why_plain()), reason="the kernels are not compiled")
@pytest.mark.parametrize(
    ("machine", "seed"),
    [
        # Compiled plans knew nothing of resources that a job may share with others later on (OverSubscribe).
        ("ideal", 400),
        # Compiled selection counted all cores of a socket, of which one is kept for the system.
        ("ideal", 830400),
        # A cycle that had paused planned components for the time at which it began.
        ("slurm", 830260),
        ("slurm", 831190),
        # Beside others a job started without its licences.
        ("slurm", 830894),
        # What was planned in spite of limits counted as sought for others alike.
        ("slurm", 830957),
        # Jobs that a start of the same cycle had suspended stood in the way of a higher tier.
        ("slurm", 840531),
        # Nodes that slots leave may fit among those that are being cleared, though all together do not.
        ("slurm", 841226),
        # Compiled plans ask more often whether limits bind, and each question rounded past usage.
        ("slurm", 842957),
        # As a cycle went on, reservations still began at the part of a second in which it had begun.
        ("slurm", 845653),
        # A job of a FLEX reservation that was over began after its end: at once, under the ideal clock.
        ("ideal", 849141),
    ],
)
def test_forms_that_differed(machine: str, seed: int) -> None:
    said = CliRunner().invoke(forms, ["--seeds", f"{seed}:{seed + 1}", "--machine", machine])
    assert "1 seeds, 1 left a run, 0 differ" in said.output


@pytest.mark.parametrize(
    ("compiled", "plain", "verdict"),
    [
        ("7 ab 1", "7 ab 1", ""),
        ("7 ab 1", "7 cd 1", "differ"),
        (f"7 {ENDLESS}", "7 ab 1", "endless"),
        (f"7 {IMPOSSIBLE}", f"7 {IMPOSSIBLE}", "impossible"),
    ],
)
def test_what_is_said_of_a_pair(compiled: str, plain: str, verdict: str) -> None:
    assert verdict_of(compiled, plain) == verdict


@pytest.mark.parametrize(
    ("changed", "right"),
    [({}, True), ({"end": None}, True), ({"end": 4.0}, False), ({"start": 0.5}, False), ({"time_limit": -60}, False)],
)
def test_times_that_cannot_be_are_found(changed: dict[str, float | None], right: bool) -> None:
    job = {"submit": 1.0, "start": 5.0, "end": 9.0, "time_limit": 60, "occupied": 4.0}
    assert may_be(pd.DataFrame([job, job | changed])) == right
