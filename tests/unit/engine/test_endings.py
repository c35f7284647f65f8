"""Runs that end: by a signal before their limit, or while their processes are still dying."""

from __future__ import annotations

from typing import Any

import pytest

from emulator.config.slurm import parse_slurm_conf
from emulator.config.slurm.controller import Timing
from emulator.engine.controller import Controller
from emulator.operator.scontrol import scontrol
from emulator.state.run import State
from emulator.workload.request import JobRequest
from emulator.workload.sbatch import parse_sbatch

CONF = """
ClusterName=small
SchedulerType=sched/backfill
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
NodeName=n[1-2] CPUs=2
PartitionName=lo Nodes=ALL Default=YES MaxTime=INFINITE
"""
SENT = 179.0
"""When a sweep sends the signal, in seconds: the processes are gone 10 s later."""


def made(words: str, *commands: tuple[float, str], conf: str = CONF, **options: Any) -> Controller:
    """A cluster with one job, that works for 1,000 s."""
    request = JobRequest(1, 0.0, 1000.0, parse_sbatch(words.split()), "ada", **options)
    actions = [(at, lambda controller, text=text: scontrol(text, controller)) for at, text in commands]
    return Controller(parse_slurm_conf(conf), [request], actions, Timing(job_overhead=20.0))


def states(controller: Controller) -> tuple[str, str]:
    job = controller.cluster.jobs[1]
    return job.state.value, job.reason


@pytest.mark.parametrize(
    ("command", "ended"),
    [
        ("scontrol suspend 1", ("SUSPENDED", "None")),
        ("scancel 1", ("CANCELLED", "None")),
        ("scontrol update NodeName=n1 State=DOWN", ("NODE_FAIL", "NodeDown")),
        ("scontrol update NodeName=n[1-2] State=DOWN", ("NODE_FAIL", "NodeDown")),
    ],
)
def test_what_happens_to_a_run_after_its_signal_goes_before_its_end_by_that(
    command: str, ended: tuple[str, str]
) -> None:
    words = "-N2 -t4 --no-requeue"
    at = SENT + 5.0
    controller = made(words, (at, command), signal_time=60.0)
    controller.run(at + 40.0)
    assert states(controller) == ended
    assert controller.cluster.jobs[1].runs[0].end == (None if ended[0] == "SUSPENDED" else at)


def test_a_run_that_was_suspended_after_its_signal_ends_once_it_goes_on() -> None:
    at = SENT + 5.0
    commands = (at, "scontrol suspend 1"), (at + 100.0, "scontrol resume 1")
    controller = made("-N2 -t4", *commands, signal_time=60.0)
    controller.run()
    assert states(controller)[0] == "FAILED"
    assert controller.cluster.jobs[1].runs[0].end == pytest.approx(at + 105.0, abs=0.01)
    assert not controller.stints.signalled


def test_no_sweep_is_due_for_a_signal_that_was_sent_or_is_not_sent() -> None:
    controller = made("-N2 -t4", signal_time=60.0)
    controller.run(SENT)
    assert controller.stints.signalled
    assert controller.stints.sweep_due > controller.cluster.now
    ideal = Controller(
        parse_slurm_conf(CONF), [JobRequest(1, 0.0, 1000.0, parse_sbatch(["-t4"]), signal_time=60.0)], clock="ideal"
    )
    ideal.run(1.0)
    assert ideal.stints.sweep_due == 240.0


def test_the_pass_after_lost_nodes_counts_from_sigterm() -> None:
    """A run that ignores SIGTERM for 30 s loses its nodes 20 s later."""
    commands = (100.0, "scancel 1"), (120.0, "scontrol update NodeName=n[1-2] State=DOWN")
    controller = made("-N2 -t10", *commands, dies_in=30.0)
    controller.run(119.0)
    asked: list[float] = []
    controller.passes.request = asked.append  # type: ignore[method-assign]
    controller.run(120.0)
    assert 130.0 in asked, asked
    assert states(controller)[0] == "CANCELLED"


def test_what_a_run_has_lost_is_forgotten_once_it_is_over() -> None:
    controller = made("-N2 -t10 --no-requeue", (100.0, "scontrol update NodeName=n1 State=DOWN"))
    controller.run(105.0)
    assert list(controller.endings.lost) == [1]
    controller.run()
    assert states(controller)[0] == "NODE_FAIL"
    assert not controller.endings.lost


def test_nodes_take_no_other_job_while_a_run_is_killed_there() -> None:
    """The next task of an array does not wait for that: it begins elsewhere at once (recorded on 26.05)."""
    words = ("-n1 -t1 -a1-2%1", "-n1 -t1 --begin=now+80 -w n1")
    requests = [
        JobRequest(number, 0.0, 300.0, parse_sbatch(word.split()), "ada", ignores_term=True)
        for number, word in enumerate(words, 1)
    ]
    controller = Controller(parse_slurm_conf(f"{CONF}KillWait=40\n"), requests)
    controller.run()
    runs = [job.runs[0] for job in controller.cluster.jobs.values()]
    first, second, named = sorted(runs, key=lambda run: run.start)
    assert first.end is not None
    assert first.end < second.start < first.end + 2.0
    assert [run.allocation.nodes for run in (first, second, named)] == [(0,), (1,), (0,)]
    assert named.start >= first.end + 40.0
    assert controller.cluster.epilogs is None


def test_nodes_of_a_run_that_is_killed_are_closed_in_this_instant() -> None:
    """Its limit has come, a pass may follow at once, and it is known only when its nodes were clear."""
    controller = made("-n1 -wn1 -t10", clears=((0.3,),))
    controller.run(50.0)
    controller.endings.terminate(controller.cluster.jobs[1], State.TIMEOUT)
    assert controller.cluster.epilogs is not None
    assert list(controller.cluster.epilogs) == [1, 0]
    controller.run()
    assert controller.cluster.epilogs is None


@pytest.mark.parametrize("clock", ["ideal", "slurm"])
@pytest.mark.parametrize(("flags", "lasts"), [("", False), (" Flags=FLEX", True)])
def test_a_flex_reservation_ends_no_run(clock: str, flags: str, lasts: bool) -> None:
    conf = parse_slurm_conf(CONF)
    create = f"scontrol create reservation ReservationName=r Nodes=ALL StartTime=now Duration=2 Users=ada{flags}"
    request = JobRequest(1, 11.0, 300.0, parse_sbatch(["-t10", "--reservation=r"]), "ada")
    found = Controller(conf, [request], [(1.0, lambda controller: scontrol(create, controller))], clock=clock)
    found.run(900.0)
    run = found.cluster.jobs[1].runs[0]
    assert (run.end - run.start >= 300, run.start < run.end) == (lasts, True)
