"""Looks at jobs take time: cycles of backfill pause, and others go on meanwhile."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from emulator import Config
from emulator.api import simulate
from emulator.config.operation import Operation
from emulator.config.slurm import parse_slurm_conf
from emulator.engine.controller import Controller
from emulator.operator.scontrol import scontrol
from emulator.workload.request import JobRequest
from emulator.workload.sbatch import parse_sbatch
from emulator.workload.submissions import Submissions
from slurm_sim_plugins import ConfigurationError, Pause, PluginError, hookimpl
from tests.builders import random_clusters
from tests.builders.outcomes import outcome_of

CONF = """
ClusterName=small
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=-1,bf_interval=30,{more}
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
NodeName=n1 CPUs=20
PartitionName=lo Nodes=ALL Default=YES MaxTime=INFINITE
"""
EVERY_SECOND = "bf_yield_interval=2000000,bf_yield_sleep=500000"
Jobs = list[tuple[float, str]]


def starts(jobs: Jobs, more: str = EVERY_SECOND, test_time: float = 1.0, **options: Any) -> list[float]:
    """When jobs of 1,000 seconds start, after the first does."""
    requests = [JobRequest(number, at, 1000.0, parse_sbatch(line.split())) for number, (at, line) in enumerate(jobs, 1)]
    commands = [(at, partial(scontrol, command)) for at, command in options.pop("commands", ())]
    conf = parse_slurm_conf(CONF.format(more=more))
    result = simulate(
        Submissions(requests, "jobs"),
        conf,
        clock="slurm",
        operation=Operation(job_test_time=test_time),
        actions=commands,
        **options,
    )
    begun = [float(each) for each in result.records.jobs["start"]]
    return [round(each - begun[0], 3) for each in begun]


@pytest.mark.parametrize("compiled", [True, False])
def test_a_cycle_pauses_when_it_has_worked_for_long_enough(compiled: bool) -> None:
    # One look, and then after each two a pause of half a second.
    assert starts([(0, "-n1")] * 6, compiled=compiled) == [0, 2.5, 2.5, 5, 5, 7.5]
    assert starts([(0, "-n1")] * 6, test_time=0.0) == [0] * 6
    assert starts([(0, "-n1")] * 6, more="bf_yield_interval=10000000") == [0] * 6


def test_a_cycle_ends_when_anything_has_happened_unless_it_is_to_continue() -> None:
    # The cycle begins at 28.5, and pauses from 30.5 to 31 and from 33 on.
    jobs = [(0.0, "-n1")] * 6 + [(29.0, "-n1")]
    assert starts(jobs, EVERY_SECOND + ",bf_continue")[:6] == [0, 2.5, 2.5, 5, 5, 7.5]
    late = starts(jobs)
    assert late[:1] == [0] and all(each > 30 for each in late[1:])
    # Nor does it look at the new one in the cycle.
    assert starts(jobs, EVERY_SECOND + ",bf_continue")[6] > 30


@pytest.mark.parametrize("compiled", [True, False])
def test_a_cycle_ends_when_partitions_are_updated_while_it_pauses(compiled: bool) -> None:
    more, jobs = EVERY_SECOND + ",bf_continue", [(0.0, "-n1")] * 6
    assert starts(jobs, more, compiled=compiled) == [0, 2.5, 2.5, 5, 5, 7.5]
    # It begins at 28.5; the first pause is from 30.5 to 31.
    update = (30.8, "scontrol update PartitionName=lo MaxTime=5:00:00")
    found = starts(jobs, more, compiled=compiled, commands=[update])
    assert found[0] == 0 and all(each > 20 for each in found[1:])


@pytest.mark.parametrize("goes", [False, True])
def test_a_cycle_that_goes_on_knows_reservations_that_came_or_went(goes: bool) -> None:
    """It begins at 28.5, and pauses from 30.5 to 31: jobs of ten minutes may not run into one that came meanwhile."""
    comes = "scontrol create reservation ReservationName=r Nodes=n2 Users=eve StartTime=now+400 Duration=20"
    comes += " Flags=IGNORE_JOBS"
    commands = [(1.0, comes), (30.8, "scontrol delete ReservationName=r")] if goes else [(30.8, comes)]
    conf = CONF.replace("NodeName=n1", "NodeName=n[1-3]").format(more=EVERY_SECOND + ",bf_continue,bf_resolution=1")
    lines = ["-N1 -n20 -t10", "-N3 -n60 -t60", *["-N1 -n10 -t5", "-N1 -n20 -t10", "-N1 -n20 -t30"] * 4]
    requests = [JobRequest(number, 0.0, 200.0, parse_sbatch(line.split())) for number, line in enumerate(lines, 1)]

    def became(compiled: bool, commands: list[tuple[float, str]]) -> list[tuple[object, ...]]:
        actions = [(at, partial(scontrol, command)) for at, command in commands]
        operation = Operation(job_test_time=0.7)
        made = Controller(parse_slurm_conf(conf), requests, actions, compiled=compiled, operation=operation)
        return outcome_of(made, 5_000)

    assert became(True, commands) == became(False, commands)
    assert became(False, commands) != became(False, commands[:-1]), (
        "it makes no difference: the comparison says nothing"
    )


def test_jobs_that_are_gone_or_held_are_passed_over() -> None:
    more = EVERY_SECOND + ",bf_continue"
    commands = [(29.0, "scancel 3"), (29.0, "scontrol hold 5")]
    found = starts([(0, "-n1")] * 6, more, commands=commands)
    assert [each == each for each in found] == [True, True, False, True, False, True]
    assert found[1] == 2.5 and found[5] < 30


def test_a_cycle_takes_no_longer_than_bf_max_time() -> None:
    found = starts([(0, "-n1")] * 12, EVERY_SECOND + ",bf_max_time=5")
    assert found[:4] == [0, 2.5, 2.5, 5] or found[:4] == [0, 2.5, 2.5, found[3]]
    assert sum(each <= 5 for each in found) < 12
    assert all(each > 30 for each in found[5:])


def test_the_main_loop_starts_jobs_while_a_cycle_pauses() -> None:
    conf = CONF.replace("sched_interval=-1", "sched_interval=60,batch_sched_delay=1") + "NodeName=n2 CPUs=1\n"
    conf = conf.replace("Nodes=ALL", "Nodes=n1") + "PartitionName=hi Nodes=n2\n"
    lines = ["-n10 -t60", "-n20 -t60", *["-n1 -t5"] * 6]
    requests = [JobRequest(number, 0.0, 200.0, parse_sbatch(line.split())) for number, line in enumerate(lines, 1)]
    requests.append(JobRequest(9, 31.0, 5.0, parse_sbatch(["-n1", "-t1", "-phi"])))
    # Looks of the main loop take a second as well, and it is to come as far as the job of the other partition.
    more = f"{EVERY_SECOND},bf_continue,max_sched_time=60"
    made = Controller(parse_slurm_conf(conf.format(more=more)), requests, operation=Operation(job_test_time=1.0))
    pauses: dict[float, bool] = {}

    def look() -> None:
        pauses[made.cluster.now] = made.scheduler.pause is not None

    made.run(observe=look)
    runs = {job.id: job.runs[0] for job in made.cluster.jobs.values()}
    assert pauses[runs[9].start] and not runs[9].backfilled
    assert all(runs[number].backfilled for number in range(3, 9))
    assert runs[3].start < runs[9].start < runs[8].start


def test_a_pass_of_the_main_loop_takes_no_longer_than_max_sched_time() -> None:
    conf = CONF.replace("sched_interval=-1,bf_interval=30", "bf_interval=-1,sched_interval=60,batch_sched_delay=3")
    requests = [JobRequest(number, 0.0, 1000.0, parse_sbatch(["-n1"])) for number in range(1, 13)]

    def begun(more: str, test_time: float) -> int:
        made = Controller(
            parse_slurm_conf(conf.format(more=more)), requests, operation=Operation(job_test_time=test_time)
        )
        made.run(until=20)
        return len(made.cluster.running)

    assert begun("defer", 0.0) == 12
    assert begun("defer", 0.5) == 4
    assert begun("max_sched_time=3", 0.5) == 6


def test_a_run_ends_of_which_each_pass_leaves_out_the_same_jobs() -> None:
    # A pass has time for two looks; the other two jobs, for which there is room, are never come to.
    conf = CONF.replace("sched_interval=-1,bf_interval=30", "bf_interval=-1,sched_interval=60")
    conf += "NodeName=n[2-3] CPUs=1 State=DOWN\n"
    conf += "PartitionName=h2 Nodes=n2 PriorityTier=2\nPartitionName=h3 Nodes=n3 PriorityTier=2\n"
    lines = ["-ph2", "-ph3", "-plo", "-plo"]
    requests = [JobRequest(number, 0.0, 10.0, parse_sbatch([line])) for number, line in enumerate(lines, 1)]
    made = Controller(
        parse_slurm_conf(conf.format(more="max_sched_time=1")), requests, operation=Operation(job_test_time=0.5)
    )

    def look() -> None:
        assert made.cluster.now < 3600, "nothing can happen any more, and the run goes on"

    made.run(observe=look)
    assert not any(job.runs for job in made.cluster.jobs.values())


def test_no_time_passes_under_the_ideal_clock() -> None:
    requests = [JobRequest(number, 0.0, 1000.0, parse_sbatch(["-n1"])) for number in range(1, 9)]
    conf = parse_slurm_conf(CONF.replace("sched_interval=-1", "sched_interval=60").format(more=EVERY_SECOND))
    with pytest.raises(ConfigurationError, match=r"operation\.job_test_time: goes with clock=slurm"):
        simulate(requests, conf, clock="ideal", operation=Operation(job_test_time=1.0))
    assert simulate(requests, conf, clock="ideal").records.jobs["start"].tolist() == [0] * 8


def test_a_scheduler_whose_passes_take_no_time_is_refused_with_it() -> None:
    conf, slots = parse_slurm_conf(CONF.format(more="")), {"SchedulerType": "sched/easy"}
    requests = [JobRequest(1, 0.0, 10.0, parse_sbatch(["-n1"]))]
    with pytest.raises(ConfigurationError, match=r"operation\.job_test_time: .* this scheduler take no time"):
        simulate(requests, conf, clock="slurm", slots=slots, operation=Operation(job_test_time=1.0))


def outcome(seed: int, compiled: bool, test_time: float) -> list[tuple[object, ...]]:
    draws = np.random.default_rng(seed)
    conf = random_clusters.configuration(draws)
    pace = f"bf_yield_interval={draws.choice([100_000, 1_000_000])},bf_yield_sleep={draws.choice([1, 500_000])}"
    conf = conf.replace("bf_interval=20", f"bf_interval=20,{pace}{draws.choice(['', ',bf_continue'])}")
    requests = [random_clusters.submission(number, draws) for number in range(1, 40)]
    actions = [
        (float(draws.integers(50, 900)), partial(scontrol, str(command)))
        for command in draws.choice(random_clusters.COMMANDS, size=4)
    ]
    made = Controller(
        parse_slurm_conf(conf), requests, actions, compiled=compiled, operation=Operation(job_test_time=test_time)
    )

    def look() -> None:
        assert (made.cluster.free.units >= 0).all()

    made.run(observe=look)
    assert made.scheduler.pause is None
    return [
        (job.id, run.start, run.end, run.allocation.nodes, run.backfilled)
        for job in made.cluster.jobs.values()
        for run in job.runs
    ]


@pytest.mark.compiled
@pytest.mark.parametrize("seed", range(6))
def test_compiled_code_gives_the_same(seed: int) -> None:
    assert outcome(seed, True, 0.05) == outcome(seed, False, 0.05)


def test_random_cycles_with_time_differ_from_those_without() -> None:
    assert any(outcome(seed, True, 0.3) != outcome(seed, True, 0.0) for seed in range(4))


class Pausing:
    name = "sched/pausing"

    def __init__(self, seconds: object = 1.0) -> None:
        self.seconds = seconds

    @hookimpl
    def backfill(self, view: Any) -> Any:
        yield Pause(self.seconds)  # type: ignore[arg-type]


class Passing(Pausing):
    @hookimpl
    def schedule(self, view: Any) -> Any:
        yield Pause(1.0)


@pytest.mark.parametrize(
    ("plugin", "wrong"),
    [
        (lambda: Pausing(0), "Pause: 0 is no number of seconds above 0"),
        (lambda: Pausing("a"), "Pause: 'a' is no number of seconds above 0"),
        (Passing, "Pause: only a cycle of backfill takes time, the hook backfill"),
    ],
)
def test_a_pause_that_makes_no_sense_is_refused(plugin: Any, wrong: str) -> None:
    text = CONF.replace("sched/backfill", "sched/builtin")
    if plugin is Passing:
        text = text.replace("sched_interval=-1", "sched_interval=60")
    conf = parse_slurm_conf(text.format(more="bf_window=30"))
    made = type("Made", (type(plugin()),), {"__init__": lambda self: self.__dict__.update(vars(plugin()))})
    with pytest.raises(PluginError, match=wrong):
        simulate(
            [JobRequest(1, 0.0, 10.0, parse_sbatch(["-n1"]))],
            conf,
            plugins=[made],
            config=Config(slots={"SchedulerType": "sched/pausing"}, clock="slurm"),
        )


@pytest.mark.parametrize(
    ("version", "asked", "planned"),
    [
        ("22.05", "--exclusive", 193.5),
        ("24.11", "--exclusive", 240.0),
        ("24.11", "-n2", 193.5),
        ("26.05", "--exclusive", 240.0),
    ],
)
def test_a_whole_node_is_kept_for_a_job_that_backfill_starts_up_to_the_step_of_its_end(version, asked, planned) -> None:
    """As with ``bf_running_job_reserve``, for the rest of the cycle (Slurm's sources, and the controller's log)."""
    conf = """
SchedulerParameters=bf_interval=5
SelectTypeParameters=CR_CPU
PriorityType=priority/basic
NodeName=n[1-2] CPUs=2
PartitionName=p Nodes=ALL Default=YES
"""
    lines = [(0.0, "-n2 -wn2 -t10"), (5.0, "-N2 -n4 -t2"), (71.0, f"-N1 {asked} -t2"), (71.2, "-n2 -t1")]
    requests = [JobRequest(number, at, 500.0, parse_sbatch(line.split())) for number, (at, line) in enumerate(lines, 1)]
    made = Controller(parse_slurm_conf(conf).under(version), requests)
    made.run(75.0)
    assert made.cluster.jobs[3].runs[0].start == 73.5
    assert made.cluster.jobs[4].planned_start == planned


@pytest.mark.parametrize(("preempt", "planned"), [("OFF", 240.0), ("REQUEUE", 193.5)])
def test_no_whole_node_is_kept_for_a_run_of_which_the_mode_lets_jobs_preempt_it(preempt, planned) -> None:
    """Its mode tells, though no partition of a higher tier has its nodes (recorded)."""
    conf = f"""
SchedulerParameters=bf_interval=5
SelectTypeParameters=CR_CPU
PriorityType=priority/basic
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
NodeName=n[1-2] CPUs=2
PartitionName=p Nodes=ALL Default=YES PreemptMode={preempt}
"""
    lines = [(0.0, "-n2 -wn2 -t10"), (5.0, "-N2 -n4 -t2"), (71.0, "-N1 --exclusive -t2"), (71.2, "-n2 -t1")]
    requests = [JobRequest(number, at, 500.0, parse_sbatch(line.split())) for number, (at, line) in enumerate(lines, 1)]
    made = Controller(parse_slurm_conf(conf).under("24.11"), requests)
    made.run(75.0)
    assert made.cluster.jobs[3].runs[0].start == 73.5
    assert made.cluster.jobs[4].planned_start == planned


def test_a_run_that_completes_keeps_no_whole_node() -> None:
    """As with ``bf_running_job_reserve``: its node is planned for the next second (Slurm 26.05's log)."""
    conf = """
SchedulerParameters=bf_interval=5,bf_running_job_reserve
SelectTypeParameters=CR_CPU
PriorityType=priority/basic
NodeName=n1 CPUs=2
PartitionName=p Nodes=ALL Default=YES
"""
    requests = [JobRequest(number, 0.0, 10.0, parse_sbatch(["--exclusive", "-t9"])) for number in (1, 2)]
    made = Controller(parse_slurm_conf(conf), requests, operation=Operation(epilog=30))
    made.run(25.0)
    assert 10.0 < made.cluster.jobs[1].runs[0].end < 15.0
    assert made.cluster.jobs[2].planned_start < 26.0
