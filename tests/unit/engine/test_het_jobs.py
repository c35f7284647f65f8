"""Heterogeneous jobs on a cluster: all components start together, by backfill, and end with the first."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from emulator import simulate
from emulator.config.sacctmgr import parse_accounts
from emulator.config.slurm import parse_slurm_conf
from emulator.engine.controller import Controller
from emulator.operator.scontrol import scontrol
from emulator.scheduling.policies import plugins_of
from emulator.state.job import Job
from emulator.state.run import State
from emulator.workload.request import JobRequest
from emulator.workload.sbatch import parse_sbatch
from slurm_sim_plugins.decisions import Decision, Start
from slurm_sim_plugins.errors import ConfigurationError, InputError, PluginError
from slurm_sim_plugins.hookspecs import hookimpl
from slurm_sim_plugins.plan import Entry
from slurm_sim_plugins.views import SchedulingView

CONF = """
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=bf_interval=5{options}
SchedulerType={scheduler}
NodeName=n[1-4] CPUs=4
PartitionName=p Nodes=ALL Default=YES MaxTime=INFINITE
"""


def cluster(
    *jobs: tuple[float, float, str],
    commands: tuple[tuple[float, str], ...] = (),
    until: float = float("inf"),
    options: str = "",
    scheduler: str = "sched/backfill",
    clock: str = "slurm",
    version: str = "26.05",
    compiled: bool | None = None,
    **more: object,
) -> Controller:
    requests, number = [], 1
    for submit, run, words in jobs:
        requests.append(JobRequest(number, submit, run, parse_sbatch(words.split()), "ann", **more))  # type: ignore[arg-type]
        number += len(requests[-1].components())
    conf = parse_slurm_conf(CONF.format(options=options and f",{options}", scheduler=scheduler))
    actions = [(at, lambda controller, text=text: scontrol(text, controller)) for at, text in commands]
    controller = Controller(
        conf,
        requests,
        actions,  # type: ignore[arg-type]
        clock=clock,  # type: ignore[arg-type]
        slurm_version=version,
        compiled=compiled,
    )
    controller.run(until)
    return controller


def starts(controller: Controller) -> list[float | None]:
    return [job.runs[0].start if job.runs else None for job in controller.cluster.jobs.values()]


def of(controller: Controller, number: int) -> Job:
    return controller.cluster.jobs[number]


@pytest.mark.parametrize("compiled", [False, None])
@pytest.mark.parametrize("clock", ["slurm", "ideal"])
def test_components_start_together_on_nodes_of_their_own(clock: str, compiled: bool | None) -> None:
    found = cluster(
        (0, 100, "-N3 -n12 -t3"),
        (1, 50, "-N1 -n1 -t5 : -N2 -n2 -t4"),
        (2, 50, "-n1 -t1"),
        clock=clock,
        compiled=compiled,
    )
    busy, first, second, beside = (of(found, number).runs[0] for number in (1, 2, 3, 4))
    assert first.start == second.start == beside.start >= busy.end
    assert set(first.allocation.nodes).isdisjoint(second.allocation.nodes)
    assert (first.end, of(found, 3).state) == (second.end, State.COMPLETED)


def test_the_main_loop_leaves_its_partition_at_them() -> None:
    """As in Slurm, those behind wait for backfill as well, though there is room for them."""
    found = cluster((0, 100, "-N3 -n12 -t3"), (1, 50, "-n1 -t5 : -N2 -t4"), (6, 20, "-n1 -t1"))
    assert of(found, 4).runs[0].start > 20


def test_without_backfill_they_are_refused() -> None:
    found = cluster((0, 50, "-n1 -t5 : -n1"), (0, 50, "-n1"), scheduler="sched/builtin")
    assert [words for _, words in found.rejected] == ["Requested operation not supported on this system"] * 2
    assert of(found, 3).state is State.COMPLETED


@pytest.mark.parametrize("scheduler", ["sched/fcfs", "sched/easy", "sched/conservative"])
@pytest.mark.parametrize("clock", ["slurm", "ideal"])
def test_a_scheduler_that_knows_of_no_components_is_refused(scheduler: str, clock: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"1 heterogeneous jobs \(2\): {scheduler} does not start"):
        cluster((0, 9, "-n1"), (0, 50, "-n1 -t5 : -n1"), scheduler=scheduler, clock=clock)


def test_a_component_that_can_never_start_keeps_all_waiting() -> None:
    """As in Slurm, also those behind it: its nodes are kept in each cycle."""
    found = cluster((0, 50, "-N4 -t5 : -N1"), (1, 20, "-n1 -t1"), until=10_000)
    assert starts(found) == [None] * 3
    assert [job.reason for job in found.cluster.jobs.values()] == ["Resources", "Resources", "Priority"]


@pytest.mark.parametrize("number", [2, 3, 4])
def test_a_component_waits_for_its_place_among_others(number: int) -> None:
    """More components than nodes never start, for each has nodes of its own."""
    found = cluster((0, 30, " : ".join(["-n1 -t5"] * number)))
    assert len({one.runs[0].start for one in found.cluster.jobs.values()}) == 1
    assert starts(cluster((0, 30, " : ".join(["-n1 -t5"] * 5)))) == [None] * 5


def test_one_refused_component_refuses_all() -> None:
    found = cluster((0, 50, "-n1 -t5 : -n1 -pnone"), (1, 20, "-n1"))
    assert [(request.id, words) for request, words in found.rejected] == [
        (number, "invalid partition specified: none\nInvalid partition name specified") for number in (1, 2)
    ]
    assert list(found.cluster.jobs) == [3]


def test_arrays_have_no_components() -> None:
    assert cluster((0, 50, "-n1 -a1-3 : -n2")).rejected[0][1] == "Invalid job array specification"


def test_a_number_of_a_component_is_no_other_jobs() -> None:
    requests = [JobRequest(1, 0, 9, parse_sbatch(["-n1", ":", "-n1"])), JobRequest(2, 5, 9, parse_sbatch(["-n1"]))]
    with pytest.raises(InputError, match=r"job 2 has the number of component 1\+1"):
        Controller(parse_slurm_conf(CONF.format(options="", scheduler="sched/backfill")), requests)


# Ends


def states(controller: Controller) -> list[tuple[str, str]]:
    return [(job.state.value, job.reason) for job in controller.cluster.jobs.values()]


@pytest.mark.parametrize(
    ("version", "reason"), [("22.05", "JobLaunchFailure"), ("24.11", "NonZeroExitCode"), ("26.05", "NonZeroExitCode")]
)
def test_at_the_limit_of_the_first_all_end(version: str, reason: str) -> None:
    assert states(cluster((0, 500, "-n1 -t1 : -n1 -t5"), version=version)) == [
        ("TIMEOUT", "TimeLimit"),
        ("FAILED", reason),
    ]


def test_at_limits_alike_all_components_are_killed() -> None:
    """Recorded on 22.05: the sweep that kills the first one finds the others at their limits, too."""
    assert states(cluster((0, 500, "-n1 -t1 : -n1 -t1 : -n1 -t5"), version="24.11")) == [
        ("TIMEOUT", "TimeLimit"),
        ("TIMEOUT", "TimeLimit"),
        ("FAILED", "NonZeroExitCode"),
    ]


def test_at_its_own_limit_a_component_ends_by_itself() -> None:
    found = cluster((0, 200, "-n1 -t5 : -n1 -t1"))
    assert states(found) == [("COMPLETED", "None"), ("TIMEOUT", "TimeLimit")]
    assert of(found, 1).runs[0].end > of(found, 2).runs[0].end


def test_what_the_script_ends_with_is_that_of_all() -> None:
    assert states(cluster((0, 20, "-n1 -t5 : -n1 : -n1"), exit_code=3)) == [("FAILED", "NonZeroExitCode")] * 3


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("scancel 1", ["CANCELLED", "CANCELLED"]),
        ("scancel 1+1", ["COMPLETED", "CANCELLED"]),
        ("scancel 2", ["COMPLETED", "CANCELLED"]),
        ("scancel -u ann", ["CANCELLED", "CANCELLED"]),
        ("scontrol suspend 1+1", ["COMPLETED", "COMPLETED"]),
    ],
)
def test_a_running_component_can_be_cancelled_alone(command: str, expected: list[str]) -> None:
    found = cluster((0, 100, "-n1 -t5 : -n1"), commands=((30, command),))
    assert [state for state, _ in states(found)] == expected


@pytest.mark.parametrize("word", ["2", "1+1"])
def test_a_waiting_component_cannot_be_cancelled_alone(word: str) -> None:
    found = cluster((0, 100, "-n1 -t5 -H : -n1"), commands=((30, f"scancel {word}"),))
    assert found.refused[0][1].endswith("Operation not permitted on individual component of heterogeneous job")
    assert [state for state, _ in states(found)] == ["PENDING", "PENDING"]
    whole = cluster((0, 100, "-n1 -t5 -H : -n1"), commands=((30, f"scancel {word}"),), options="whole_hetjob")
    assert [state for state, _ in states(whole)] == ["CANCELLED", "CANCELLED"]


def test_the_first_is_held_and_released_with_all_of_them() -> None:
    held = ((0, 100.0, "-n1 -t5 -H : -n1"),)
    assert starts(cluster(*held, commands=((30, "scontrol release 1"),)))[0] > 30  # type: ignore[operator]
    one = cluster(*held, commands=((30, "scontrol release 1+1"),))
    assert states(one) == [("PENDING", "JobHeldUser"), ("PENDING", "Resources")]
    both = cluster(*held, commands=((30, "scontrol release 1+1"), (60, "scontrol release 1+0")))
    assert starts(both)[0] == starts(both)[1] > 60  # type: ignore[operator]


def test_suspension_is_of_all() -> None:
    found = cluster((0, 100, "-n1 -t5 : -n1"), commands=((30, "scontrol suspend 1"), (50, "scontrol resume 1")))
    ends = [job.runs[0].end for job in found.cluster.jobs.values()]
    assert ends[0] == ends[1]
    assert ends[0] - starts(found)[0] > 119  # type: ignore[operator]


def test_a_requeue_brings_back_all_also_those_that_were_cancelled() -> None:
    found = cluster((0, 100, "-n1 -t5 : -n1 : -n1"), commands=((20, "scancel 1+1"), (40, "scontrol requeue 1")))
    assert [(len(job.runs), job.state) for job in found.cluster.jobs.values()] == [(2, State.COMPLETED)] * 3
    assert len({job.runs[1].start for job in found.cluster.jobs.values()}) == 1
    assert (
        "Job not heterogeneous job leader"
        in cluster((0, 100, "-n1 -t5 : -n1"), commands=((40, "scontrol requeue 2"),)).refused[0][1]
    )


@pytest.mark.parametrize(("word", "numbers"), [("-N9", 2), ("-Cnone", 0)])
def test_components_before_a_refused_one_had_numbers(word: str, numbers: int) -> None:
    """But for what is asked of all components before one has a record (recorded)."""
    first = "PriorityType=priority/basic\n" + TIERS
    requests = [
        JobRequest(1, 10.0, 50.0, parse_sbatch(["-n1", "-t5", ":", "-n1", ":", "-n1", word])),
        JobRequest(9, 20.0, 50.0, parse_sbatch(["-n1", "-t5"])),
    ]
    alone = Controller(parse_slurm_conf(first), requests[1:])
    both = Controller(parse_slurm_conf(first), requests)
    for controller in (alone, both):
        controller.run()
    own = 1 if word == "-N9" else 0
    assert of(alone, 9).priority - of(both, 9).priority == numbers + own


# In which order


@pytest.mark.parametrize("prio", ["min", "avg", "max"])
@pytest.mark.parametrize("more", ["", ",bf_hetjob_immediate"])
def test_components_are_tried_together_where_that_is_asked_for(prio: str, more: str) -> None:
    jobs = ((0.0, 100.0, "-N4 -t3"), (1.0, 50.0, "-N1 -t5 : -N1"), (2.0, 50.0, "-N1 -t5"))
    found = cluster(*jobs, options=f"bf_hetjob_prio={prio}{more}")
    assert starts(found)[1] == starts(found)[2] is not None


# What happens to one happens to all


TIERS = """
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
SchedulerParameters=bf_interval=5
NodeName=n[1-4] CPUs=4
PartitionName=p Nodes=ALL Default=YES PriorityTier=1
PartitionName=hi Nodes=n[1-2] PriorityTier=2
"""


@pytest.mark.parametrize("words", ["-wn1 -N1 -t5 : -wn3 -N1", "-wn3 -N1 -t5 : -wn1 -N1"])
def test_who_preempts_one_preempts_all(words: str) -> None:
    requests = [
        JobRequest(1, 0.0, 100.0, parse_sbatch(words.split())),
        JobRequest(3, 30.0, 20.0, parse_sbatch(["-phi", "-wn1", "-N1", "-n4", "-t5"])),
    ]
    controller = Controller(parse_slurm_conf(TIERS), requests)
    controller.run()
    for number in (1, 2):
        first, again = of(controller, number).runs
        assert (first.outcome, again.outcome) == (State.PREEMPTED, State.COMPLETED)
    assert of(controller, 1).runs[1].start == of(controller, 2).runs[1].start


@pytest.mark.parametrize("mode", ["REQUEUE", "CANCEL"])
@pytest.mark.parametrize("words", ["-phi -wn1 -N1 -t5 : -wn3 -N1", "-wn3 -N1 -t5 : -phi -wn1 -N1"])
def test_a_component_preempts_others_as_it_is_to_start(words: str, mode: str) -> None:
    """All wait for the next cycle then, and so does one whose victims had nodes for several."""
    requests = [
        JobRequest(1, 0.0, 100.0, parse_sbatch(["-wn[1-2]", "-N2", "-n8", "-t5"])),
        JobRequest(2, 30.0, 20.0, parse_sbatch(words.split())),
    ]
    controller = Controller(parse_slurm_conf(TIERS.replace("REQUEUE", mode)), requests)
    controller.run()
    first = of(controller, 1).runs[0]
    assert first.outcome is State.PREEMPTED
    begins = {of(controller, number).runs[0].start for number in (2, 3)}
    assert len(begins) == 1
    assert first.end is not None
    assert first.end < begins.pop() < first.end + 20


def test_no_component_preempts_others_while_another_cannot_start() -> None:
    requests = [
        JobRequest(1, 0.0, 100.0, parse_sbatch(["-wn[1-2]", "-N2", "-n8", "-t5"])),
        JobRequest(2, 0.0, 100.0, parse_sbatch(["-wn3", "-N1", "-n4", "-t5"])),
        JobRequest(3, 30.0, 20.0, parse_sbatch(["-phi", "-wn1", "-N1", "-t5", ":", "-wn3", "-N1"])),
    ]
    controller = Controller(parse_slurm_conf(TIERS), requests)
    controller.run()
    assert of(controller, 1).runs[0].outcome is State.COMPLETED


def test_a_first_component_that_ends_in_its_grace_time_takes_the_others_along() -> None:
    requests = [
        JobRequest(1, 0.0, 60.0, parse_sbatch(["-wn1", "-N1", "-t5", ":", "-wn3", "-N1"])),
        JobRequest(3, 30.0, 20.0, parse_sbatch(["-phi", "-wn1", "-N1", "-n4", "-t5"])),
    ]
    text = TIERS.replace("REQUEUE", "CANCEL").replace("PriorityTier=1", "PriorityTier=1 GraceTime=100")
    controller = Controller(parse_slurm_conf(text), requests)
    controller.run()
    first, other = (of(controller, number).runs[0] for number in (1, 2))
    assert first.outcome is other.outcome is State.PREEMPTED
    assert first.end == pytest.approx(other.end, abs=1.0)
    assert first.end < 100, "it has done its work within its grace time"


@pytest.mark.parametrize(
    ("node", "version", "expected"),
    [
        ("n1", "24.11", [(1, State.PENDING), (1, State.FAILED)]),
        ("n1", "26.05", [(1, State.PENDING), (1, State.TIMEOUT)]),
        ("n2", "24.11", [(2, State.COMPLETED), (2, State.COMPLETED)]),
        ("n2", "26.05", [(2, State.COMPLETED), (2, State.COMPLETED)]),
    ],
)
def test_where_a_node_fails_those_up_to_it_are_requeued(
    node: str, version: str, expected: list[tuple[int, State]]
) -> None:
    """The others fail, or go on to their limits, and those that come back wait for them in vain (recorded)."""
    down = f"scontrol update NodeName={node} State=DOWN"
    found = cluster((0, 100, "-n1 -t5 : -n1"), commands=((30, down),), version=version)
    assert [(len(job.runs), job.state) for job in found.cluster.jobs.values()] == expected


def test_an_update_of_the_first_is_one_of_all_and_of_one_of_that_one() -> None:
    commands = ((20, "scontrol update JobId=1 TimeLimit=7"), (21, "scontrol update JobId=1+0 TimeLimit=9"))
    found = cluster((0, 100, "-n1 -t5 -H : -n1"), commands=commands)
    assert [job.limit for job in found.cluster.jobs.values()] == [540, 420]


def test_the_first_alone_is_cancelled_with_all_of_them() -> None:
    found = cluster((0, 100, "-n1 -t5 -H : -n1"), commands=((20, "scancel 1+0"),))
    assert [state for state, _ in states(found)] == ["CANCELLED", "CANCELLED"]


@pytest.mark.parametrize(
    ("bound", "starts_at_all"), [("GrpJobs=1", False), ("GrpJobs=2", True), ("GrpTRES=cpu=2", False)]
)
def test_limits_count_all_components(bound: str, starts_at_all: bool) -> None:
    conf = CONF.format(options="", scheduler="sched/backfill") + "AccountingStorageEnforce=limits\n"
    accounts = parse_accounts(f"add account a {bound}\nadd user ann account=a\n")
    request = JobRequest(1, 0.0, 30.0, parse_sbatch(["-n1", "-t5", ":", "-n2"]), "ann")
    controller = Controller(parse_slurm_conf(conf), [request], accounts=accounts)
    controller.run(600.0)
    assert [bool(job.runs) for job in controller.cluster.jobs.values()] == [starts_at_all] * 2
    amounts = [job.account.amounts for job in controller.cluster.jobs.values() if job.account is not None]
    assert amounts == [None, None]


@pytest.mark.parametrize(("licenses", "starts_at_all"), [(1, False), (2, True)])
def test_licences_are_those_of_all_components(licenses: int, starts_at_all: bool) -> None:
    conf = CONF.format(options="", scheduler="sched/backfill") + f"Licenses=l:{licenses}\n"
    request = JobRequest(1, 0.0, 30.0, parse_sbatch(["-n1", "-t5", "-Ll", ":", "-n2", "-Ll"]), "ann")
    controller = Controller(parse_slurm_conf(conf), [request])
    controller.run(600.0)
    assert [bool(job.runs) for job in controller.cluster.jobs.values()] == [starts_at_all] * 2


# Plugins of others


class Alone:
    """Starts what fits, each component by itself."""

    name = "sched/alone"
    het_jobs = True

    @hookimpl
    def schedule(self, view: SchedulingView) -> Iterator[Decision]:
        plan = view.plan()
        for entry in list(view.queue):
            answer = plan.now(entry)
            if answer.place is not None:
                yield Start(entry, where=answer.place)


class Together:
    """Starts a job with all its components, or leaves it."""

    name = "sched/together"
    het_jobs = True

    @hookimpl
    def backfill(self, view: SchedulingView) -> Iterator[Decision]:
        plan, jobs = view.window_plan(), dict[int, list[Entry]]()
        for entry in view.queue:
            assert entry.job.het_job_id == entry.het_job_id
            jobs.setdefault(entry.id if entry.het_job_id is None else entry.het_job_id, []).append(entry)
        for entries in jobs.values():
            assert [entry.id for entry in entries] in ([entries[0].id], list(entries[0].het_job_id_set))
            for entry, place in zip(entries, plan.together(entries) or (), strict=False):
                yield Start(entry, where=place)


@pytest.mark.parametrize("clock", ["slurm", "ideal"])
def test_a_plugin_that_plans_components_starts_all_or_is_refused(clock: str) -> None:
    conf = parse_slurm_conf(CONF.format(options="", scheduler="sched/together"))
    jobs = [
        JobRequest(1, 0.0, 60.0, parse_sbatch(["-n1", "-t5", ":", "-N3"])),
        JobRequest(3, 5.0, 9.0, parse_sbatch(["-N4"])),
    ]
    found = simulate(jobs, conf, plugins=[Together], clock=clock).records.jobs
    assert found["first_start"][0] == found["first_start"][1]
    assert found["state"].tolist() == ["COMPLETED"] * 3
    blocked = parse_slurm_conf(CONF.format(options="", scheduler="sched/alone"))
    with pytest.raises(PluginError, match="of heterogeneous job 1 it started components without 2"):
        simulate(
            [JobRequest(1, 0.0, 60.0, parse_sbatch(["-N3", "-n12", "-t5", ":", "-N2"]))],
            blocked,
            plugins=[Alone],
            clock=clock,
        )


def test_whole_hetjob_widens_releases_and_no_updates() -> None:
    """As 22.05 and 26.05 answered."""
    held, release = ((0, 100.0, "-n1 -t5 -H : -n1"),), (30, "scontrol release 2")
    whole = cluster(*held, commands=((20, "scontrol update JobId=1+1 TimeLimit=9"), release), options="whole_hetjob")
    assert [(job.limit, job.state) for job in whole.cluster.jobs.values()] == [
        (300, State.COMPLETED),
        (540, State.COMPLETED),
    ]
    assert starts(cluster(*held, commands=(release,))) == [None, None]
    refused = cluster(
        (0, 100, "-n1 -t5 : -n1"), commands=((30, "scontrol suspend 1+1"),), options="whole_hetjob"
    ).refused
    assert "Operation not permitted on individual component" in refused[0][1]


def test_what_a_script_ends_with_can_requeue_all() -> None:
    conf = parse_slurm_conf(CONF.format(options="", scheduler="sched/backfill") + "RequeueExit=3\nMaxBatchRequeue=1\n")
    request = JobRequest(1, 0.0, 30.0, parse_sbatch(["-n1", "-t5", ":", "-n2"]), "ann", exit_code=3)
    controller = Controller(conf, [request])
    controller.run(290.0)
    assert [len(job.runs) for job in controller.cluster.jobs.values()] == [2, 2]
    assert len({job.runs[1].start for job in controller.cluster.jobs.values()}) == 1


def test_another_word_for_the_order_of_components_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="bf_hetjob_prio is one of NONE, MIN, AVG, MAX, not 'foo'"):
        plugins_of(parse_slurm_conf(TIERS), {}, options={"sched/backfill": {"bf_hetjob_prio": "foo"}})


@pytest.mark.parametrize(("options", "begins"), [("", False), ("bf_job_part_count_reserve=1", True)])
def test_components_keep_no_more_nodes_than_other_jobs_may(options: str, begins: bool) -> None:
    """Slurm 22.05.8 started a short job where a component could have, once another job had the partition's one slot."""
    found = cluster(
        *[(0, 500, "-n12 -t10"), (5, 60, "-n16 -t1"), (10, 60, "-n4 -t5 : -n8"), (15, 60, "-n4 -t5")], options=options
    )
    assert (starts(found)[-1] < 60) is begins
