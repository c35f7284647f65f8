"""Power saving on random clusters: what holds at each instant, and a slow reference beside it."""

from __future__ import annotations

import os
from functools import partial

import numpy as np
import pytest

from emulator.config.operation import Operation
from emulator.config.slurm import parse_slurm_conf
from emulator.engine.controller import Controller
from emulator.engine.power import Powered
from emulator.operator.scontrol import scontrol
from emulator.state.run import State
from slurm_sim_plugins.kernels import are_compiled
from tests.builders import random_clusters
from tests.reference.power import Times, history, starts

MANY = int(os.environ.get("POWER_SAVING", "4"))
COMMANDS = (
    *random_clusters.COMMANDS,
    *(f"scontrol update NodeName=b{1 + number % 4} State=POWER_{word}" for number, word in enumerate(("UP", "DOWN"))),
    *("scontrol update NodeName=a2 State=POWER_DOWN_ASAP", "scontrol update NodeName=b3 State=POWER_DOWN_FORCE"),
    *("scancel 3", "scancel 6", "scontrol update NodeName=a1 State=DOWN", "scontrol update NodeName=a1 State=RESUME"),
)
LINES = (
    *("SuspendExcNodes=a[1-3]:1", "SuspendExcNodes=b2", "SuspendExcParts=some", "SuspendExcStates=DRAIN,RESERVED"),
    *("SlurmctldParameters=idle_on_node_suspend", "SuspendRate=4", "ResumeRate=3", "SuspendTimeout=5", ""),
)


def configuration(draws: np.random.Generator, rates: str) -> tuple[str, Times]:
    times = Times(float(draws.integers(20, 200)) + 0.37, float(draws.integers(1, 60)), float(draws.integers(1, 90)))
    conf = random_clusters.configuration(draws) + (
        f"SuspendTime={times.suspend - 0.37:.0f}\nSuspendTimeout={times.down:.0f}\nResumeTimeout=100\n{rates}"
        "SuspendProgram=/sbin/suspend\nResumeProgram=/sbin/resume\n"
    )
    return conf.replace(
        "PartitionName=some", f"PartitionName=some PowerDownOnIdle={draws.choice(['YES', 'NO'])}"
    ), times


def controller(seed: int, *, compiled: bool, clock: str) -> Controller:
    draws = np.random.default_rng(seed)
    conf, times = configuration(draws, "")
    conf += "\n".join(dict.fromkeys(str(draws.choice(LINES)) for _ in range(3)))
    requests = [random_clusters.submission(number, draws) for number in range(1, 40)]
    actions = [(float(draws.integers(0, 1500)), str(draws.choice(COMMANDS))) for _ in range(8)]
    failures = float(draws.choice([0.0, 0.2]))
    return Controller(
        parse_slurm_conf(conf),
        requests,
        [(at, partial(scontrol, command)) for at, command in sorted(actions)],
        compiled=compiled,
        clock=clock,  # type: ignore[arg-type]
        operation=Operation(resume_time=times.up, resume_failures=failures),
        seed=seed,
    )


def check(made: Controller, looks: list[float]) -> None:
    """What holds at each instant."""
    cluster, power = made.cluster, made.power
    assert power is not None
    state = dict.fromkeys(range(len(cluster.machine)), Powered.ON)
    state |= {int(node): each for each in Powered for node in power.nodes_of(each)}
    for job in [*cluster.running.values(), *cluster.suspended.values()]:
        assert job.run is not None
        states = {state[node] for node in job.run.allocation.nodes}
        assert Powered.POWERING_DOWN not in states, job.id
        if job.run.configuring == float("inf"):
            assert job.left == float("inf") and job.run.allocated is None
        elif job.state is State.RUNNING:
            assert states == {Powered.ON}, job.id
    for node in power.nodes_of(Powered.POWERING_DOWN):
        assert not cluster.machine.up[node]
    figures = power.figures
    assert 0 <= figures["node_hours_powered_up"] <= figures["node_hours"]
    looks.append(cluster.now)


@pytest.mark.parametrize("clock", ["slurm", "ideal"])
@pytest.mark.parametrize("seed", range(MANY))
def test_what_holds_at_each_instant(seed: int, clock: str) -> None:
    made = controller(seed, compiled=are_compiled("a test"), clock=clock)
    looks: list[float] = []
    made.run(observe=partial(check, made, looks))
    assert looks == sorted(looks) and looks


@pytest.mark.compiled
@pytest.mark.parametrize("seed", range(MANY))
def test_compiled_code_gives_the_same(seed: int) -> None:
    found = []
    for compiled in (True, False):
        made = controller(seed, compiled=compiled, clock="slurm")
        made.run()
        assert made.power is not None
        runs = [
            (job.id, run.given, run.start, run.end, run.outcome, run.allocation.nodes)
            for job in made.cluster.jobs.values()
            for run in job.runs
        ]
        found.append((runs, made.power.figures))
    assert found[0] == found[1]


@pytest.mark.parametrize("seed", range(2 * MANY))
def test_nodes_are_resumed_when_the_reference_says(seed: int) -> None:
    draws = np.random.default_rng(seed)
    conf, times = configuration(draws, "SuspendRate=0\nResumeRate=0\n")
    conf = conf.replace("PowerDownOnIdle=YES", "PowerDownOnIdle=NO").replace("partition_prio", "none")
    conf = conf.replace("NodeName=c[1-2]", "NodeName=c[1-2] State=CLOUD")
    requests = [random_clusters.submission(number, draws) for number in range(1, 60)]
    made = Controller(parse_slurm_conf(conf), requests, clock="ideal", operation=Operation(resume_time=times.up))
    made.run()
    assert made.power is not None
    times = Times(times.suspend - 0.37, times.down, times.up)
    runs = [run for job in made.cluster.jobs.values() for run in job.runs]
    ends = [run.end if run.end is not None else made.cluster.now for run in runs]
    stays = [(run.given, end) for run, end in zip(runs, ends, strict=True)]
    where = [list(run.allocation.nodes) for run in runs]
    names = made.cluster.machine.names
    histories = [
        history(
            [stay for stay, nodes in zip(stays, where, strict=True) if node in nodes],
            times,
            made.cluster.now,
            cloud=name.startswith("c"),
        )
        for node, name in enumerate(names)
    ]
    assert [run.start for run in runs] == pytest.approx(starts(where, stays, histories), abs=1e-5)
    figures = made.power.figures
    assert figures["resumes"] == sum(each.resumes for each in histories)
    off = sum(each.off for each in histories) / 3600
    assert figures["node_hours"] - figures["node_hours_powered_up"] == pytest.approx(off, abs=2e-3)
