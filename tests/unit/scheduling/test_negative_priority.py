"""A priority plugin may give negative numbers: such a job keeps its nodes from those behind it all the same."""

from __future__ import annotations

from emulator.config.slurm import parse_slurm_conf
from emulator.engine.controller import Controller
from emulator.scheduling.policies import plugins_of
from emulator.workload.request import JobRequest
from emulator.workload.sbatch import parse_sbatch

CONF = """
SchedulerType=sched/builtin
SelectType=select/cons_tres
NodeName=n[1-2] CPUs=1
PartitionName=all Nodes=ALL Default=YES
"""


def test_the_first_job_of_sjf_is_not_overtaken_by_the_main_loop() -> None:
    conf = parse_slurm_conf(CONF)
    asked = [(1, 0.0, ["-N1", "-t9"]), (2, 20.0, ["-N2", "-t5"]), (3, 21.0, ["-N1", "-t8"])]
    requests = [JobRequest(number, at, 100.0, parse_sbatch(words), "u") for number, at, words in asked]
    controller = Controller(conf, requests, selection=plugins_of(conf, {"PriorityType": "priority/sjf"}))
    controller.run(4000.0)
    starts = {job.id: job.runs[0].start for job in controller.cluster.jobs.values()}
    assert starts[1] < starts[2] < starts[3]
