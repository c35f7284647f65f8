"""A job that names several reservations: Slurm's loops try it in each of them; a plugin's loop knows of none."""

from __future__ import annotations

from functools import partial

import pytest

from emulator.config.options import Clock
from emulator.config.slurm import parse_slurm_conf
from emulator.engine.controller import Controller
from emulator.operator.scontrol import scontrol
from emulator.scheduling.policies import plugins_of
from emulator.workload.request import JobRequest
from emulator.workload.sbatch import parse_sbatch

CONF = """
PriorityType=priority/basic
SelectType=select/cons_tres
NodeName=n[1-4] CPUs=4
PartitionName=all Nodes=ALL Default=YES
"""


@pytest.mark.parametrize("clock", ["slurm", "ideal"])
@pytest.mark.parametrize(
    ("scheduler", "taken"),
    [("sched/backfill", True), ("sched/builtin", True), ("sched/easy", False), ("sched/fcfs", False)],
)
def test_it_starts_or_is_refused(scheduler: str, taken: bool, clock: Clock) -> None:
    conf = parse_slurm_conf(CONF)
    several, one = (parse_sbatch(["-N1", "-t5", f"--reservation={names}"]) for names in ("a,b", "a"))
    requests = [JobRequest(1, 20.0, 30.0, several, "u"), JobRequest(2, 21.0, 30.0, one, "u")]
    create = "create reservation ReservationName={} StartTime=now Duration=60 Nodes={} Users=u"
    actions = [(5.0, partial(scontrol, create.format(*of))) for of in (("a", "n1"), ("b", "n2"))]
    selection = plugins_of(conf, {"SchedulerType": scheduler})
    controller = Controller(conf, requests, actions=actions, selection=selection, clock=clock)
    controller.run(4000.0)
    assert [job.id for job in controller.cluster.jobs.values() if job.runs] == [1, 2][not taken :]
    assert [(request.id, "several reservations" in why) for request, why in controller.arrivals.rejected] == (
        [] if taken else [(1, True)]
    )


@pytest.mark.parametrize(("scheduler", "taken"), [("sched/backfill", True), ("sched/easy", False)])
def test_an_update_is_carried_out_or_refused(scheduler: str, taken: bool) -> None:
    conf = parse_slurm_conf(CONF)
    requests = [JobRequest(1, 20.0, 30.0, parse_sbatch(["-N1", "-t5", "--begin=now+60"]), "u")]
    create = "create reservation ReservationName={} StartTime=now Duration=60 Nodes={} Users=u"
    actions = [(5.0, partial(scontrol, create.format(*of))) for of in (("a", "n1"), ("b", "n2"))]
    actions.append((30.0, partial(scontrol, "update JobId=1 ReservationName=a,b")))
    selection = plugins_of(conf, {"SchedulerType": scheduler})
    controller = Controller(conf, requests, actions=actions, selection=selection)
    controller.run(4000.0)
    (job,) = controller.cluster.jobs.values()
    assert job.runs and job.options.reservation == ("a,b" if taken else "")
    assert [("ReservationName=a,b for job 1" in why, at) for at, why in controller.refused] == (
        [] if taken else [(True, 30.0)]
    )
