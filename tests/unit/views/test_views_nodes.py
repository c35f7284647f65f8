"""States of nodes that jobs alone do not tell: planned, reserved, out of use, as ``sinfo`` shows them."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from emulator.accounting.node_notes import _indices
from emulator.api import simulate
from emulator.cli import slurm_sim
from emulator.config.slurm import parse_slurm_conf
from emulator.operator.scontrol import scontrol
from emulator.workload.request import JobRequest
from emulator.workload.sbatch import parse_sbatch
from slurm_sim_plugins.errors import ConfigurationError

CONF = """
SchedulerParameters=bf_interval=10,bf_resolution=1
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
NodeName=n[1-6] CPUs=4
PartitionName=p Nodes=n[1-4] Default=YES
PartitionName=q Nodes=n[5-6]
"""
JOBS = [(1, 0.0, 300.0, "-N2 -n8 -t6"), (2, 1.0, 900.0, "-n1 -t20"), (3, 2.0, 50.0, "-N4 -n16 -t5")]
COMMANDS = [
    (100.0, "create reservation reservationname=r nodes=n5 starttime=now+20 duration=2 users=ann"),
    (
        100.0,
        "create reservation reservationname=m nodes=n6,n1 starttime=now+20 duration=2 flags=maint,ignore_jobs",
    ),
    (400.0, "update nodename=n5 state=drain reason=x"),
    (450.0, "update nodename=n5 state=resume"),
    (450.0, "update nodename=n6 state=down reason=x"),
]


@pytest.fixture(scope="module", params=[False, True], ids=["plain", "compiled"])
def run(request, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("nodes") / "run"
    requests = [JobRequest(number, at, work, parse_sbatch(words.split())) for number, at, work, words in JOBS]
    actions = [(at, partial(scontrol, words)) for at, words in COMMANDS]
    simulate(requests, parse_slurm_conf(CONF), actions=actions, out=folder, compiled=request.param)
    return folder


def ask(folder: Path, *arguments: str) -> Result:
    return CliRunner().invoke(slurm_sim, ["sinfo", str(folder), *arguments])


def states(folder: Path, at: int, form: str = "%N %t") -> dict[str, str]:
    done = ask(folder, "--at", str(at), "-N", "-h", "-o", form)
    assert done.exit_code == 0, done.output
    return dict(line.split() for line in done.stdout.splitlines())


def test_idle_nodes_are_planned_and_reserved(run):
    before = states(run, 80)
    assert before == {"n1": "alloc", "n2": "alloc", "n3": "mix-", "n4": "plnd", "n5": "idle", "n6": "idle"}
    during = states(run, 150)
    assert (during["n1"], during["n5"], during["n6"]) == ("alloc$", "resv", "maint")
    assert states(run, 150, "%N %T")["n5"] == "reserved"
    assert (states(run, 260)["n1"], states(run, 260)["n5"], states(run, 260)["n6"]) == ("alloc", "idle", "idle")


def test_operators_take_nodes_out_of_use_and_bring_them_back(run):
    assert (states(run, 420)["n5"], states(run, 420)["n6"]) == ("drain", "idle")
    assert (states(run, 460)["n5"], states(run, 460)["n6"]) == ("idle", "down")


def test_states_are_asked_for_by_name_and_counted_as_what_they_are(run):
    assert ask(run, "--at", "150", "-h", "-t", "resv", "-o", "%N").stdout == "n5\n"
    assert ask(run, "--at", "150", "-h", "-t", "idle", "-o", "%N", "-p", "q").stdout == "n[5-6]\n"
    assert ask(run, "--at", "150", "-h", "-s", "-p", "q", "-o", "%F").stdout == "0/2/0/2\n"
    nodes = json.loads(ask(run, "--at", "150", "--json", "-t", "maint").stdout)["nodes"]
    assert [(node["name"], node["state"]) for node in nodes] == [("n6", "maint")]
    assert [node["name"] for node in json.loads(ask(run, "--json", "-p", "q").stdout)["nodes"]] == ["n5", "n6"]


def test_a_state_that_there_is_not_is_told(run):
    told = ask(run, "-t", "frobbed").exception
    assert isinstance(told, ConfigurationError)
    assert "there is no state 'frobbed' of nodes" in str(told)


@given(st.sets(st.integers(0, 40)))
def test_places_are_written_as_they_are_read(places):
    found: set[int] = set()
    for word in filter(None, _indices(np.array(sorted(places), dtype=np.int64)).split(",")):
        first, _, last = word.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    assert found == places


@pytest.mark.parametrize("command", ["squeue", "sacct", "sprio"])
def test_what_is_no_id_of_a_job_is_told(run, command):
    told = CliRunner().invoke(slurm_sim, [command, str(run), "-j", "1,2_3,x"]).exception
    assert isinstance(told, ConfigurationError)
    assert "'x' is no id of a job" in str(told)
