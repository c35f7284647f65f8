"""Single parameters of ``slurm.conf`` in Slurm's timing: each changes what becomes of some jobs, and by how much."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

from emulator.config.slurm import parse_slurm_conf
from emulator.engine.controller import Controller
from emulator.engine.passes import Passes
from emulator.operator.scontrol import scontrol
from emulator.scheduling.preempt import candidates
from emulator.scheduling.windows import Habits, is_news
from emulator.scheduling.windows_compiled import CompiledSlots
from emulator.state.job import Job
from emulator.state.kept import Slots
from emulator.state.reservation import Reservation
from emulator.workload.request import JobRequest
from emulator.workload.sbatch import parse_sbatch
from slurm_sim_plugins.errors import ConfigurationError

CONF = """\
SchedulerType=sched/{scheduler}
SchedulerParameters={options}bf_interval=10,bf_resolution=1
PriorityType=priority/basic
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
{lines}
NodeName={nodes}
PartitionName=p Nodes=ALL Default=YES {partition}
PartitionName=q Nodes=ALL PriorityTier=5
"""
Submission = tuple[float, float, str] | tuple[float, float, str, dict[str, object]]


def simulated(
    *submissions: Submission,
    options: str = "",
    lines: str = "",
    partition: str = "",
    scheduler: str = "backfill",
    nodes: str = "n[1-2] CPUs=2",
    actions: tuple[tuple[float, str], ...] = (),
    until: float = 5000,
    version: str | None = None,
    compiled: bool | None = None,
) -> Controller:
    """Second of submission, seconds of work, words for sbatch, and perhaps more of the request."""
    requests = [
        JobRequest(number, one[0], one[1], parse_sbatch(one[2].split()), "me", **(one[3] if len(one) > 3 else {}))  # type: ignore[arg-type]
        for number, one in enumerate(submissions, 1)
    ]
    # Of two of one name the first counts.
    first = f"{options.removeprefix(',')}," if options else ""
    stated = {"options": first, "lines": lines, "partition": partition, "scheduler": scheduler, "nodes": nodes}
    conf = parse_slurm_conf(CONF.format(**stated))
    orders = [(at, partial(scontrol, text)) for at, text in actions]
    controller = Controller(conf, requests, orders, slurm_version=version, compiled=compiled)
    controller.run(until)
    return controller


def after(*submissions: Submission, **more: object) -> list[Job]:
    return list(simulated(*submissions, **more).cluster.jobs.values())  # type: ignore[arg-type]


FAILS: dict[str, object] = {"exit_code": 3}


def test_jobs_that_can_never_run_are_cancelled_unless_they_say_otherwise():
    jobs = ((0, 5, "-t1", FAILS), (0, 5, "-t1 -dafterok:1"), (0, 5, "-t1 -dafterok:1 --kill-on-invalid-dep=no"))
    _, killed, kept = after(*jobs, lines="DependencyParameters=kill_invalid_depend")
    assert killed.state == "CANCELLED"
    assert (kept.state, kept.reason) == ("PENDING", "DependencyNeverSatisfied")
    for elsewhere in ("", ",kill_invalid_depend"):  # Slurm does not look for it in SchedulerParameters (recorded)
        _, stays, _ = after(*jobs, options=elsewhere)
        assert stays.state == "PENDING"


def test_a_job_that_would_wait_for_itself_is_refused():
    jobs = ((0, 5, "-t1 -H -dafterany:3"), (1, 5, "-t1 -H -dafterany:1"), (2, 5, "-t1 -dafterok:2"))
    (refused,) = simulated(*jobs).rejected
    assert (refused[0].id, refused[1]) == (3, "Circular job dependency")
    ((_, why),) = simulated((0, 5, "-t1 -dafterok:1")).rejected
    assert why == "Job dependency problem"
    ((_, why),) = simulated((0, 5, "-t1 --array=0-1 -dafter:1")).rejected
    assert why == "Job dependency problem"
    assert not simulated((0, 5, "-t1 --array=0-1 -dafter:2")).rejected  # Its tasks have no numbers yet.
    assert not simulated(*jobs, lines="DependencyParameters=max_depend_depth=1").rejected
    assert simulated(*jobs, options=",max_depend_depth=1").rejected  # Slurm looks for it in DependencyParameters


def test_tasks_that_wait_have_no_numbers_that_a_job_may_ask_about():
    for asked in (3, 4, 7):
        jobs = (0, 5, "-t1 -H --array=0-3"), (1, 5, f"-t1 -dafternotok:{asked}")
        ((_, why),) = simulated(*jobs, version="24.11").rejected
        assert why == "Job dependency problem"
    assert not simulated((0, 5, "-t1 --array=0-3"), (3, 5, "-t1 -dafternotok:4"), version="24.11").rejected


@pytest.mark.parametrize(("limit", "waits"), [("", True), ("%1", False)])
def test_a_task_is_known_by_its_number_once_it_has_started(limit, waits):
    array, after_one = (0, 50, f"-n1 -t1 --array=0-2{limit}"), (5, 5, "-n1 -t1 -dafterany:4")
    jobs = simulated(array, after_one).cluster.jobs
    assert jobs[4].request.task == 1
    assert (jobs[2].runs[0].start > 50) == waits


def test_a_job_may_ask_how_one_ended_that_was_refused():
    refused, waits = (0, 5, "-n1 -c3 -t1"), (1, 5, "-t1 -dafterok:1")
    controller = simulated(refused, waits)
    ((first, _),) = controller.rejected
    assert first.id == 1
    assert controller.cluster.jobs[2].reason == "DependencyNeverSatisfied"


@pytest.mark.parametrize(("array", "state"), [("", "COMPLETED"), ("--array=0-1", "PENDING")])
def test_tasks_of_an_array_that_was_refused_have_not_begun(array: str, state: str) -> None:
    """Recorded on 22.05: to a job behind ``after`` they wait for ever."""
    controller = simulated((0, 5, f"-n1 -c3 -t1 {array}"), (1, 5, "-t1 -dafter:1"))
    assert controller.rejected[0][0].id == 1
    (job,) = controller.cluster.jobs.values()
    assert job.state == state


@pytest.mark.parametrize("feature", ["-Cx", "--prefer=x"])
def test_of_one_that_was_refused_for_its_features_nothing_is_left(feature: str) -> None:
    """Recorded on 22.05."""
    controller = simulated((0, 5, f"-t1 {feature}"), (1, 5, "-t1"), (2, 5, "-t1 -dafterok:1"))
    assert [job.state for job in controller.cluster.jobs.values()] == ["COMPLETED", "COMPLETED"]


@pytest.mark.parametrize("words", ["-n1", "-n2 -wn1 -xn1", "-n1 -Lnone:1"])
def test_bounds_of_partitions_are_enforced_before_the_rest_is_looked_at(words):
    ((_, why),) = simulated((0, 5, words), lines="EnforcePartLimits=ALL", partition="MinNodes=2").rejected
    assert why == "Node count specification invalid"


def test_a_job_that_names_nodes_which_it_excludes_is_refused():
    ((_, why),) = simulated((0, 5, "-n2 -wn1 -xn1")).rejected
    assert why == "Invalid node name specified"


@pytest.mark.parametrize(("gpus", "starts_soon"), [("", True), ("Gres=gpu:2", False)])
def test_a_job_that_stands_still_keeps_its_gpus_from_one_that_wants_the_whole_node(
    gpus: str, starts_soon: bool
) -> None:
    """Recorded on 22.05: its cores are free, but the other cannot have all that the node has."""
    jobs = ((0, 60, "-t5"), (14, 10, "-t2"))
    orders = ((8, "scontrol suspend 1"), (60, "scontrol resume 1"))
    conf = {"lines": "GresTypes=gpu", "nodes": f"n1 CPUs=4 {gpus}", "partition": "OverSubscribe=EXCLUSIVE"}
    first, second = after(*jobs, actions=orders, **conf)
    assert (second.runs[0].start < 20) is starts_soon
    assert starts_soon or second.runs[0].start >= first.runs[0].end > 100


def test_what_a_job_would_rather_have_is_known_unless_that_is_not_asked():
    nodes = "n[1-2] CPUs=2 Feature=a"
    ((_, why),) = simulated((0, 5, "-t1 -n9 --prefer=b"), nodes=nodes).rejected
    assert why == "Invalid preferred feature specification"
    (job,) = after((0, 5, "-t1 --prefer=b"), nodes=nodes, options=",ignore_prefer_validation")
    assert job.state == "COMPLETED"


@pytest.mark.parametrize(("bound", "nodes"), [("MaxCPUsPerSocket=2", (0, 1)), ("MaxCPUsPerNode=8", (0,))])
def test_whole_nodes_count_with_what_a_socket_gives_the_partition(bound, nodes):
    there = "n[1-2] CPUs=8 Sockets=2 CoresPerSocket=4"
    (job,) = after((0, 5, "-n6 -t1"), nodes=there, partition=f"OverSubscribe=EXCLUSIVE {bound}")
    assert job.runs[0].allocation.nodes == nodes
    assert set(job.runs[0].allocation.units) == {8}


def test_select_linear_gives_a_partition_more_of_a_node_than_its_jobs_may_have():
    lines = (
        "SelectType=select/linear",
        "NodeName=n[1-2] CPUs=4",
        "PartitionName=p Nodes=ALL Default=YES MaxCPUsPerNode=2",
    )
    requests = [JobRequest(number, 0, 5, parse_sbatch([words]), "me") for number, words in ((1, "-n4"), (2, "-n5"))]
    controller = Controller(parse_slurm_conf("\n".join(lines)), requests)
    controller.run(100)
    runs, waits = controller.cluster.jobs.values()
    assert (runs.state, runs.runs[0].allocation.units) == ("COMPLETED", (4,))
    assert waits.reason == "PartitionConfig"


def test_no_more_jobs_start_in_a_pass_than_may():
    jobs = [(0.0, 300.0, "-N1 -n1 -t10")] * 4
    assert len({job.runs[0].start for job in after(*jobs, scheduler="builtin")}) == 1
    begun = [job.runs[0].start for job in after(*jobs, options=",sched_max_job_start=2", scheduler="builtin")]
    assert begun[0] == begun[1] < begun[2] == begun[3] == 51


def test_backfill_tries_so_many_jobs_of_a_user_in_each_partition():
    jobs = ((0, 200, "-N1 -n2 -t5"), (1, 60, "-N2 -n4 -t5"), (2, 20, "-n1 -t1"), (3, 20, "-n1 -t1 -pp,q"))
    all_, bounded = after(*jobs), after(*jobs, options=",bf_max_job_user_part=1")
    assert all_[2].runs[0].start < 20 < 200 < bounded[2].runs[0].start
    assert bounded[3].runs[0].partition == "q"
    assert bounded[3].runs[0].start < 20


def test_so_many_tasks_of_an_array_have_a_reservation():
    jobs = ((0, 100, "-N2 -n4 -t2"), (1, 100, "-N2 -n4 -t2 --array=0-3"))
    few = [job.planned_start for job in after(*jobs, options=",bf_max_job_array_resv=2", until=50)[1:]]
    assert sorted(start is None for start in few) == [False, False, True, True]
    assert None not in [job.planned_start for job in after(*jobs, until=50)[1:]]


def test_a_partition_has_its_own_over_time_limit():
    (at_limit,) = after((0, 900, "-t1"), lines="OverTimeLimit=5", partition="OverTimeLimit=0")
    (over,) = after((0, 900, "-t1"), lines="OverTimeLimit=5")
    (longer,) = after((0, 900, "-t1"), partition="OverTimeLimit=3")
    assert [round(job.runs[0].end) for job in (at_limit, longer, over)] == [89, 269, 389]


def test_a_job_may_outlast_its_reservation_as_long_as_it_may():
    made = "scontrol create reservation ReservationName=r StartTime=now Duration=2 Nodes=n1 Users=me"
    jobs = ((5, 1000, "-t9 --reservation=r"),)
    ends = [
        after(*jobs, lines=line, actions=((1, made),))[0].runs[0].end
        for line in ("", "ResvOverRun=2", "ResvOverRun=UNLIMITED")
    ]
    assert [round(end) for end in ends] == [149, 269, 569]


def test_a_requeued_job_is_held_back_for_the_requeue_delay():
    asked = {"actions": ((20, "scontrol requeue 1"),)}
    usual, short = (
        after((0, 100, "-t5"), options=f",sched_interval=1{text}", **asked)[0] for text in ("", ",requeue_delay=10")
    )
    assert 11 <= short.runs[1].start - short.runs[0].end < 14
    assert 121 <= usual.runs[1].start - usual.runs[0].end < 124


def test_exit_codes_requeue_a_job_again_and_again():
    """MaxBatchRequeue is for launches that fail (recorded on 24.11)."""
    (job,) = after((0, 5, "-t1", FAILS), lines="RequeueExit=1-4\nMaxBatchRequeue=2")
    assert len(job.runs) > 4
    assert {run.outcome for run in job.runs[:-1]} == {"FAILED"}


def test_jobs_of_other_exit_codes_fail_for_good():
    (job,) = after((0, 5, "-t1", FAILS), lines="RequeueExit=1,2,4-9\nRequeueExitHold=1,2,4-9")
    assert (len(job.runs), job.state) == (1, "FAILED")


@pytest.mark.parametrize(
    ("options", "version", "state"),
    [("-t1 --no-requeue", "22.05", "PENDING"), ("-t1 --no-requeue", "24.11", "FAILED"), ("-t1", "24.11", "FAILED")],
)
def test_an_exit_code_requeues_what_may_not_be_requeued_otherwise_in_22_05_alone(options, version, state):
    (job,) = after((0, 5, options, FAILS), lines="RequeueExitHold=3\nJobRequeue=0", version=version)
    assert (len(job.runs), job.state) == (1, state)


def test_exit_codes_that_hold_a_job_hold_it_until_it_is_released():
    lines = "RequeueExitHold=3\nAuthInfo=cred_expire=1"
    (job,) = after((0, 5, "-t1", FAILS), lines=lines, actions=((1000, "scontrol release 1"),))
    assert [run.start > 1000 for run in job.runs] == [False, True]
    assert job.reason == "JobHeldUser"


@pytest.mark.parametrize("codes", ["a", "1-", "1;2", "-1", "1000"])
def test_exit_codes_that_are_none_are_refused_with_their_line(codes):
    with pytest.raises(
        ConfigurationError, match=r"slurm.conf:6: RequeueExit: '.*' is neither an exit code nor a range"
    ):
        simulated(lines=f"RequeueExit={codes}")


def test_jobs_above_some_priority_are_not_preempted():
    preempts = "PreemptType=preempt/partition_prio\nPreemptMode=CANCEL\n"
    jobs = ((0, 400, "-N1 -n2 -t10 --priority=101"), (0, 400, "-N1 -n2 -t10 --priority=100"), (9, 9, "-N1 -n2 -t1 -pq"))
    first, second, _ = after(*jobs, lines=preempts)
    assert (first.state, second.state) == ("PREEMPTED", "COMPLETED")
    first, second, _ = after(*jobs, lines=preempts + "PreemptParameters=min_exempt_priority=100")
    assert (first.state, second.state) == ("COMPLETED", "PREEMPTED")


@pytest.mark.parametrize("by_plugin", [False, True])
def test_a_run_may_be_preempted_once_it_has_run_for_the_exempt_time(by_plugin):
    lines = "PreemptType=preempt/partition_prio\nPreemptMode=CANCEL\nPreemptExemptTime=5:00"
    jobs = ((0, 900, "-n4 -t60"), (9, 9, "-n4 -t1 -pq"))
    cluster = simulated(*jobs, lines=lines, until=60).cluster
    if by_plugin:
        running = cluster.running.values()
        all_that_run = SimpleNamespace(names_victims=True, candidates=lambda *_: [*running], mode=lambda _: None)
        cluster.policies = all_that_run
    start = cluster.jobs[1].run.start
    for seconds, expected in ((299, []), (300, [1])):
        cluster.now = start + seconds
        assert [victim.id for victim in candidates(cluster.jobs[2], cluster.partitions["q"], cluster)] == expected


STRICT = (
    "PreemptParameters=strict_order,reorder_count=0",
    "SchedulerParameters=preempt_strict_order,preempt_reorder_count=0",
)


@pytest.mark.parametrize("order", [*STRICT, ""])
def test_a_second_attempt_keeps_the_order_of_victims_only_if_it_is_to(order):
    lines = f"PreemptType=preempt/partition_prio\nPreemptMode=CANCEL\n{order}"
    running = ((0, 300, "-N1 -n1 -t10"), (1, 300, "-N2 -n2 -t10"), (2, 300, "-N2 -n2 -t10"))
    jobs = after(*running, (30, 9, "-N4 -n4 -t1 -pq"), lines=lines, nodes="n[1-5] CPUs=1", until=60)
    gone = [job.state == "PREEMPTED" for job in jobs[:3]]
    assert gone == ([True, True, True] if order else [False, True, True])


@pytest.mark.parametrize(("count", "gone"), [(0, [True, True, True, False]), (1, [False, True, True, False])])
def test_a_third_attempt_spares_a_run_that_the_second_did_not(count: int, gone: list[bool]) -> None:
    """Reordered once more than ``reorder_count`` says, the two suffice that are large enough (recorded)."""
    lines = f"PreemptType=preempt/partition_prio\nPreemptMode=CANCEL\nPreemptParameters=reorder_count={count}"
    running = [
        (4 * number, 300, words) for number, words in enumerate(["-n2 -wn1", "-n4 -wn1", "-n4 -wn1", "-n16 -wn2"])
    ]
    jobs = after(*running, (30, 9, "-n13 -N1 -t1 -pq"), lines=lines, nodes="n[1-2] CPUs=16", until=60)
    assert [job.state == "PREEMPTED" for job in jobs[:4]] == gone


@pytest.mark.parametrize("compiled", [None, False])
@pytest.mark.parametrize(("version", "start"), [("22.05", 61.65), ("26.05", 240.0)])
def test_a_hole_clashes_by_the_whole_steps_that_would_be_kept(version, start, compiled):
    """As the controller's log says: up to 121.65 s 22.05 keeps nodes to 120 s, newer ones to 180 s."""
    conf = "SelectTypeParameters=CR_CPU\nPriorityType=priority/basic\nSchedulerParameters=bf_interval=10\n"
    conf += "SelectType=select/cons_tres\nNodeName=n[1-3] CPUs=1\nPartitionName=p Nodes=ALL Default=YES\n"
    words = ("-wn1 -t1", "-wn2 -t2", "-wn3 -t9", "-wn1,n2 -t1", "-n1 -xn2,n3 -t1")
    requests = [
        JobRequest(at, 1 + at / 10, 300.0, parse_sbatch(word.split()), "me") for at, word in enumerate(words, 1)
    ]
    made = Controller(parse_slurm_conf(conf), requests, slurm_version=version, compiled=compiled)
    made.run(15.0)
    assert [made.cluster.jobs[number].planned_start for number in (4, 5)] == [121.65, start]


def test_jobs_that_no_longer_wait_behind_others_wake_no_backfill(monkeypatch):
    """In 22.05 a pass over the whole queue wakes it for those behind others, not for one that was tried itself."""
    cycles = []
    note = Passes._note_cycle
    monkeypatch.setattr(Passes, "_note_cycle", lambda self: (cycles.append(self.cluster.now), note(self)))
    jobs = [(at / 10, 900.0, words) for at, words in enumerate(("-n4 -t30", "-n4 -t5", "-n4 -t2"), 11)]
    behind = after(*jobs, until=100, version="22.05")[2]
    assert behind.reason == "Priority" and len(cycles) > 5
    cycles.clear()
    tried = after(*jobs, actions=((5.0, "scancel 2"),), until=100, version="22.05")[2]
    assert tried.reason == "Resources" and len(cycles) == 1


def test_windows_of_ends_grow_as_they_are_to():
    """They begin at a multiple of 30 s after the first end, at 61.5: the third one goes from 210 to 330."""
    jobs = (*((0.0, 900.0, f"-n1 -t{minutes}") for minutes in (1, 4, 5, 9)), (2.0, 9.0, "-n2 -t1"))
    doubled = after(*jobs, until=25, version="24.11")[4]
    linear = after(*jobs, options=",bf_window_linear=1", until=25, version="24.11")[4]
    assert (doubled.planned_start, linear.planned_start) == (301.5, 241.5)
    # 26.05 goes by the ends on the job's own nodes (ENDS_OF_OWN_NODES).
    assert after(*jobs, until=25, version="26.05")[4].planned_start == 241.5


LICENSED = (
    (0.0, 60.0, "-n1 -t2 -Lfoo:1"),
    (1.0, 60.0, "-n1 -t2 -Lfoo:1,bar:1"),
    (2.0, 400.0, "-n1 -t9 -Lbar:1"),
    (3.0, 20.0, "-n1 -t9 -Lfoo:1"),
    (4.0, 20.0, "-n1 -t1"),
)


def test_licences_are_planned_if_they_are_to():
    lines = "Licenses=foo:1,bar:1"
    passed = [job.runs[0].start for job in after(*LICENSED, lines=lines)]
    assert passed[2] < 5 < 60 < passed[1] and passed[3] > 60
    kept = [job.runs[0].start for job in after(*LICENSED, lines=lines, options=",bf_licenses")]
    assert kept[1] < 70 < 120 < min(kept[2], kept[3])
    # The main loop stops at the job that lacks a licence: what starts nonetheless, backfill does.
    assert (passed[4], kept[4]) == (4.5, 8.5)
    waits = after(*LICENSED, lines=lines, options=",bf_licenses", until=30)
    assert [waits[1].planned_start, waits[2].planned_start] == [pytest.approx(121, abs=3), pytest.approx(241, abs=3)]
    assert [job.reason for job in waits[1:4]] == ["Licenses", "Licenses", "Licenses"]
    older = after(*LICENSED, lines=lines, options=",bf_licenses", until=30, version="22.05")
    assert [job.reason for job in older[1:4]] == ["Licenses", "Priority", "None"]


def test_a_short_job_has_its_licences_before_they_are_wanted_by_others():
    jobs = ((0.0, 300.0, "-N1 -n2 -t5"), (1.0, 100.0, "-N2 -n4 -t5 -Lfoo:1"), (2.0, 50.0, "-n1 -t2 -Lfoo:1"))
    jobs = (*jobs, (3.0, 50.0, "-n1 -t6 -Lfoo:1"))
    begun = [job.runs[0].start for job in after(*jobs, lines="Licenses=foo:1", options=",bf_licenses")]
    assert begun[2] < 30
    assert begun[3] > begun[1] >= 300


def test_jobs_may_be_preempted_for_their_licences():
    lines = "PreemptType=preempt/partition_prio\nPreemptMode=CANCEL\nLicenses=foo:2,bar:1\n"
    words = ("-n1 -t9", "-n1 -t9 -Lfoo:1", "-n1 -t9 -Lfoo:1,bar:1")
    jobs = (*((0.0, 400.0, each) for each in words), (9.0, 9.0, "-n1 -t1 -pq -Lbar:1"))
    waits = after(*jobs, lines=lines)
    assert [job.state for job in waits[:3]] == ["COMPLETED"] * 3
    assert waits[3].runs[0].start > 400
    taken = after(*jobs, lines=f"{lines}PreemptParameters=reclaim_licenses")
    assert [job.state for job in taken[:3]] == ["COMPLETED", "COMPLETED", "PREEMPTED"]
    assert taken[3].runs[0].start < 15


def test_nobody_is_preempted_for_licences_in_vain():
    lines = "PreemptType=preempt/partition_prio\nPreemptMode=CANCEL\nLicenses=foo:1\n"
    lines += "PreemptParameters=reclaim_licenses"
    jobs = ((0.0, 400.0, "-N2 -n3 -t9 -pq"), (1.0, 400.0, "-n1 -t9 -Lfoo:1"), (9.0, 9.0, "-N1 -n2 -t1 -pq -Lfoo:1"))
    assert [job.state for job in after(*jobs, lines=lines, until=300)] == ["RUNNING", "RUNNING", "PENDING"]
    fits = (jobs[0], jobs[1], (9.0, 9.0, "-n1 -t1 -pq -Lfoo:1"))
    assert [job.state for job in after(*fits, lines=lines, until=300)] == ["RUNNING", "PREEMPTED", "COMPLETED"]


def test_others_make_room_for_the_nodes_of_a_job_for_which_licences_are_reclaimed():
    lines = "PreemptType=preempt/partition_prio\nPreemptMode=CANCEL\nLicenses=foo:1\n"
    lines += "PreemptParameters=reclaim_licenses"
    words = ("-n1 -t9 -Lfoo:1", "-n1 -t9", "-n1 -t9")
    jobs = (*((0.0, 400.0, each) for each in words), (9.0, 9.0, "-N1 -n2 -t1 -pq -Lfoo:1"))
    assert [job.state for job in after(*jobs, lines=lines)] == ["PREEMPTED", "PREEMPTED", "COMPLETED", "COMPLETED"]


def test_a_node_is_reserved_for_one_bf_resolution_at_least():
    """Job 2 is to run at 300 for a minute; with a resolution of 10 minutes its node is kept from 0 to 600."""
    jobs = ((0, 300, "-n1 -t5"), (1, 30, "-n2 -t1"), (2, 500, "-n1 -t3"))
    fine, coarse = (after(*jobs, options=f",bf_resolution={grain}", nodes="n1 CPUs=2") for grain in (60, 600))
    assert fine[2].runs[0].start < 20
    assert coarse[2].runs[0].start > coarse[1].runs[0].end > 300


def test_slots_keep_nodes_from_runs_between_their_bounds_only():
    slots = Slots(2)
    slots.add(100, 200, [1])
    kept = [slots.kept(*times).tolist() for times in ((0, 100), (0, 101), (199, 300), (200, 300))]
    assert kept == [[False, False], [False, True], [False, True], [False, False]]
    assert [slots.first_end(*times, [0, 1]) for times in ((0, 100), (199, 300))] == [None, 200]


@pytest.mark.parametrize("reserved", [[], [0, 2]])
def test_nodes_of_reservations_are_none_that_a_cycle_keeps(reserved):
    nodes = np.isin(np.arange(4), reserved)
    standing = [Reservation("r", 0.0, 50.0, nodes)] if reserved else []
    plain, compiled = Slots(4), CompiledSlots(4, standing, [one.start for one in standing])
    assert plain.nodes().tolist() == compiled.nodes().tolist() == []
    for slots in (plain, compiled):
        slots.add(100, 200, [2, 3])
        slots.add(150, 300, [3])
    assert plain.nodes().tolist() == compiled.nodes().tolist() == [2, 3]


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize(
    ("before", "last", "options", "start", "delayed"),
    [
        pytest.param(["-Cx -t5", "-N3 -t1"], "-Cx -t9", "", 362, True, id="its-node-is-free-before"),
        pytest.param(["-Cx -t5", "-N3 -t1"], "-Cx -t9", ",bf_window=5", None, False, id="later-than-it-is-tried"),
        pytest.param(["-Cx -t5", "-Cy -t5", "-Cx -t4"], "-Cy -t9", "", 302, False, id="a-slot-begins"),
        pytest.param(["-Cx -t5", "-Cy -t9", "-Cx -t4"], "-N2 -Cz -t9", "", 542, False, id="a-run-ends-as-well"),
    ],
)
def test_a_plan_delays_a_job_that_would_start_earlier_if_only_runs_were_there(
    monkeypatch, compiled, before, last, options, start, delayed
):
    """Of the first cycle; runs end at 302 and, with nine minutes, at 542. Read in Slurm's source, and recorded."""
    cycles = []

    def noted(kept, cluster):
        cycles.append((kept.delay, [job.planned_start for job in cluster.waiting.values()][-1]))
        return is_news(kept, cluster)

    monkeypatch.setattr("emulator.engine.passes.is_news", noted)
    nodes = "n1 CPUs=1 Feature=x,z\nNodeName=n2 CPUs=1 Feature=y,z\nNodeName=n3 CPUs=1"
    jobs = [(1.45, 290, words) for words in [*before, last]]
    simulated(*jobs, nodes=nodes, options=options, version="22.05", compiled=compiled, until=20)
    assert cycles[0] == (delayed, start)


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize(("version", "looked_at"), [("22.05", True), ("24.11", False)])
def test_where_any_plan_is_news_it_is_not_looked_at_what_it_delays(monkeypatch, compiled, version, looked_at):
    cycles = []

    def noted(kept, cluster):
        cycles.append((kept.delay, is_news(kept, cluster)))
        return cycles[-1][1]

    monkeypatch.setattr("emulator.engine.passes.is_news", noted)
    nodes = "n1 CPUs=1 Feature=x,z\nNodeName=n2 CPUs=1 Feature=y,z\nNodeName=n3 CPUs=1"
    jobs = [(1.45, 290, words) for words in ["-Cx -t5", "-N3 -t1", "-Cx -t9"]]
    simulated(*jobs, nodes=nodes, options="", version=version, compiled=compiled, until=20)
    assert cycles[0] == (looked_at, True)


@pytest.mark.parametrize("compiled", [True, False])
def test_tasks_are_tried_though_the_job_before_them_was_refused(compiled):
    """One task starts in r, the other in p, in one cycle; in p both stand behind a job that waits."""
    blocked = (1, 900, "-N1 -n2 -wn1 -t60"), (1, 900, "-N1 -n2 -wn2 -t60"), (3, 30, "-N2 -n4 -pr -t1")
    jobs = (*blocked, (4, 30, "-N4 -n8 -t1"), (6, 30, "-N1 -n2 -t1 -pr,p --array=0-1"))
    lines = "PartitionName=r Nodes=n[1,4] PriorityTier=9"
    *_, first, second = after(*jobs, nodes="n[1-4] CPUs=2", lines=lines, compiled=compiled)
    assert {first.runs[0].partition, second.runs[0].partition} == {"r", "p"}
    assert first.runs[0].start == second.runs[0].start == 8.5


@pytest.mark.parametrize("submitted", [5, 0])
def test_a_job_starts_at_the_next_pass_after_a_delay_since_the_start_of_another(submitted):
    """Whether the other job runs when the dependent one comes, or not yet."""
    for interval, start in ((1, 121), (60, 171)):
        words, options = "-n1 -t1 -dafter:1+2", f",sched_interval={interval}"
        _, second = after((0, 600, "-n1 -t20"), (submitted, 9, words), scheduler="builtin", options=options)
        assert second.runs[0].start == pytest.approx(start, abs=1)


def test_a_job_with_a_begin_time_starts_at_the_next_pass():
    """And not at that time; by the clock of whole seconds that sbatch looks at."""
    ends = (0.3, 9.3, "-n1 -t1")
    late, with_an_end = after(ends, (0.9, 9, "-n1 -t1 --begin=now+15"), (0.9, 9, "-n1 -t1 --begin=now+10"))[1:]
    assert late.runs[0].start == 18.5
    assert with_an_end.runs[0].start == after(ends)[0].runs[0].end + 0.75


def test_a_suspended_job_gives_its_nodes_away_and_works_on_when_it_is_resumed():
    actions = ((30, "scontrol suspend 1"), (100, "scontrol resume 1"))
    jobs = ((0, 200, "-N2 -n4 -t20"), (5, 20, "-N2 -n4 -t1"))
    undisturbed, _ = after(*jobs)
    first, second = after(*jobs, actions=actions)
    ((begin, end),) = first.runs[0].suspensions
    assert (begin, end) == (30, 100)
    assert first.runs[0].end == pytest.approx(undisturbed.runs[0].end + 70, abs=1)
    assert 30 < second.runs[0].start < second.runs[0].end < 100


def test_a_waiting_job_is_given_up_at_a_deadline_that_it_was_given_while_it_waited():
    actions = ((10, "scontrol update JobId=2 Deadline=now+300"),)
    _, late = after((0, 900, "-N2 -n4 -t20"), (1, 10, "-n1 -t2"), actions=actions, until=240)
    assert late.state == "DEADLINE"


def test_a_waiting_job_starts_after_a_delay_that_it_was_given_while_it_waited():
    actions = ((10, "scontrol update JobId=2 Dependency=after:1+2"),)
    jobs = ((0, 600, "-n1 -t20"), (1, 9, "-n1 -t1 --begin=now+60"))
    first, second = after(*jobs, actions=actions, scheduler="builtin", options=",sched_interval=1")
    assert 120 <= second.runs[0].start - first.runs[0].start < 122


@pytest.mark.parametrize("bound", ["partition_job_depth=1", "default_queue_depth=1"])
def test_a_pass_of_the_main_loop_tries_so_many_jobs(bound):
    jobs = ((0, 100, "-N2 -n4 -t2"), (1, 90, "-n1 -t2"), (2, 90, "-n1 -t2"), (3, 90, "-n1 -t2 -pq"))
    without, bounded = (after(*jobs, options=f",bf_interval=600{more}") for more in ("", f",{bound}"))
    assert without[1].runs[0].start == without[2].runs[0].start
    assert bounded[2].runs[0].start - bounded[1].runs[0].start > 5


def test_the_pass_at_each_interval_goes_over_the_whole_queue():
    options = ",bf_interval=600,default_queue_depth=1,sched_interval=20"
    tasks = after((0, 300, "-n1 -t9 --array=0-3"), options=options)
    assert [job.runs[0].start for job in tasks] == [1.5, 1.5, 11, 11]


def test_an_array_of_which_a_task_waits_counts_once():
    jobs = ((0, 300, "-n1 -t9 -Lfoo --array=0-3"), (0, 300, "-n1 -t9"))
    for depth, start in ((1, 11), (2, 1.5)):
        options = f",bf_interval=600,default_queue_depth={depth},sched_interval=20"
        found = after(*jobs, options=options, lines="Licenses=foo:1", until=100)
        assert [job.runs[0].start for job in found if job.runs] == [1.5, start]


def test_builtin_predicts_so_many_starts_after_each_interval():
    jobs = ((0, 200, "-N2 -n4 -t9"), (3, 10, "-n1 -t1"), (4, 10, "-n1 -t1"))

    def predicted(until, options=""):
        return [job.planned_start for job in after(*jobs, scheduler="builtin", until=until, options=options)[1:]]

    assert predicted(8) == [None, None]
    assert predicted(9) == [541.5, 601.5]
    assert predicted(9, ",bf_max_job_test=1") == [541.5, None]


def test_a_cycle_of_backfill_tests_so_many_jobs():
    jobs = ((0, 200, "-N1 -n2 -t5"), (1, 60, "-N2 -n4 -t5"), (2, 20, "-n1 -t1"), (2, 20, "-n1 -t1"))
    all_, bounded = after(*jobs), after(*jobs, options=",bf_max_job_test=2")
    assert all_[2].runs[0].start == all_[3].runs[0].start == bounded[2].runs[0].start
    assert bounded[3].runs[0].start - bounded[2].runs[0].start == 10


def test_a_run_does_not_end_before_backfill_has_looked_at_a_job_behind_one_that_never_starts():
    down = ((0, "scontrol update NodeName=n1 State=DOWN"),)
    jobs = ((1, 60, "-N2 -n4 -t5"), (2, 20, "-n1 -t1"))
    never, late = after(*jobs, options=",bf_interval=600", actions=down, until=float("inf"))
    assert not never.runs
    assert late.runs[0].start > 60


def test_basic_priorities_are_lower_by_the_nice_value():
    """Recorded from Slurm 22.05: the next job does not go by the nice value of the last."""
    controller = simulated((0, 9, "-n4"), (1, 9, "-n4"), (1, 9, "-n4 --nice=100"), (2, 9, "-n4 --nice=-2"))
    first, *others = (controller.cluster.jobs[number] for number in range(1, 5))
    assert [job.priority - first.priority for job in others] == [-1, -102, -1]
    assert [job.id for job in sorted(others, key=lambda job: job.runs[0].start)] == [2, 4, 3]


@pytest.mark.parametrize(("version", "expected"), [("22.05", [0]), ("24.11", [1]), ("26.05", [1])])
@pytest.mark.parametrize("way", [{"options": ",pack_serial_at_end"}, {"nodes": "a CPUs=2 Weight=9\nNodeName=b CPUs=2"}])
def test_a_reservation_of_so_many_nodes_gets_those_of_a_job(way, version, expected):
    create = "scontrol create reservation ReservationName=r StartTime=now Duration=10 NodeCnt=1 Users=me"
    made = simulated((0, 60, "-n1 -t1"), actions=((90, create),), until=99, version=version, **way)
    assert made.reservations.by_name["r"].nodes.nonzero()[0].tolist() == expected


@pytest.mark.parametrize(("version", "start"), [("22.05", 602), ("24.11", 20), ("26.05", 20)])
def test_nodes_are_kept_for_no_more_tasks_of_an_array_than_may_run(version, start):
    jobs = ((0, 600, "-N3 -t10"), (1, 50, "-N2 -t10 --array=0-1%1"), (9, 60, "-N1 -t30"))
    *_, last = after(*jobs, nodes="n[1-4] CPUs=1", version=version)
    assert last.runs[0].start == pytest.approx(start, abs=15)


@pytest.mark.parametrize("mode", ["SUSPEND,GANG", "OFF"])
def test_backfill_starts_a_job_over_those_of_lower_tiers_that_it_suspends(mode):
    """As daemons of 26.05 did: the main loop leaves alone what is too long, of which --time-min would do."""
    lines = f"PreemptType=preempt/{'none' if mode == 'OFF' else 'partition_prio'}\nPreemptMode={mode}"
    lines += "\nPartitionName=hi Nodes=ALL PriorityTier=9 MaxTime=5"
    low, high = after((0, 200, "-n3 -t9"), (50, 30, "-n4 -phi -t9 --time-min=2"), lines=lines)
    assert high.runs[0].start == pytest.approx(240 if mode == "OFF" else 65, abs=45)
    assert bool(low.runs[0].suspensions) == (mode != "OFF")


@pytest.mark.parametrize("rows", [1, 2])
def test_a_job_that_goes_on_where_others_have_its_cores_keeps_them_from_none(rows):
    """As daemons of 22.05, 24.11 and 26.05 did, whose controllers note no row for it ("job overflow")."""
    partition = f"Nodes=n1 OverSubscribe={'FORCE:2' if rows == 2 else 'NO'}"
    others = ((8, 30, "-n2 -t5"),) * rows
    actions = ((5, "scontrol suspend 1"), (20, "scontrol resume 1"))
    first, *_, last = after(
        (0, 90, "-n2 -t5"), *others, (25, 10, "-n2 -t5 -pq -wn1"), partition=partition, actions=actions
    )
    assert first.runs[0].end > 95
    assert last.runs[0].start == pytest.approx(40, abs=3)


GANG = "PreemptType=preempt/partition_prio\nPreemptMode=SUSPEND,GANG"


@pytest.mark.parametrize("by", ["operator", "tier"])
def test_a_suspended_job_is_cancelled_or_requeued(by):
    """As daemons of 24.11 did: it ended when it was suspended, or is on hold if an operator did that."""
    suspends = ((30, "scontrol suspend 1"),) if by == "operator" else ()
    others = () if suspends else ((29, 60, "-n2 -t5 -pq -wn1"),)
    jobs = ((0, 200, "-n2 -t9 -wn1"), *others)
    gone, *_ = after(*jobs, actions=(*suspends, (50, "scancel 1")), lines=GANG)
    assert gone.state == "CANCELLED"
    assert gone.runs[0].end == gone.runs[0].suspensions[0][0] == pytest.approx(30, abs=2)
    made = simulated(*jobs, actions=(*suspends, (50, "scontrol requeue 1")), lines=GANG)
    again, *_ = made.cluster.jobs.values()
    assert (again.restarts, again.reason) == ((1, "JobHeldAdmin") if suspends else (1, "None"))
    assert len(again.runs) == 1 + (not suspends)
    assert made.cluster.free.units.tolist() == [2, 2]


def test_a_suspended_job_that_is_released_keeps_its_priority_as_it_goes_on():
    """As daemons of 24.11 did; resumed without that it gets a new one."""
    actions = ((30, "scontrol suspend 1"), (60, "scontrol resume 1"))
    jobs = ((0, 200, "-n2 -t9 -wn1"), (5, 200, "-n2 -t9 -wn2"))
    plain, other = after(*jobs, actions=actions)
    released, _ = after(*jobs, actions=(*actions, (40, "scontrol release 1")))
    assert plain.priority == other.priority - 1 == released.priority


@pytest.mark.parametrize("fails", [{}, FAILS])
def test_a_burst_buffer_is_done_with_when_its_job_is_over(fails):
    """As daemons of 26.05 did, without burst buffers."""
    first, second = after((0, 50, "-t2", fails), (1, 5, "-t1 -dafterburstbuffer:1"))
    assert first.runs[0].end < second.runs[0].start < 60


@pytest.mark.parametrize(
    ("words", "actions", "numbers"),
    [
        ("-n2 -t5", ((20, "scontrol requeuehold 1"),), 1),
        ("-n2 -t5", ((20, "scontrol requeue 1"),), 2),
        ("-n2 -t1 --array=0-3%1", ((20, "scontrol hold 1"), (24, "scontrol release 1")), 2),
    ],
)
def test_commands_give_no_more_numbers_than_there_are_records_to_have_them(words, actions, numbers):
    """As daemons of 24.11 and 26.05 did: what comes back on hold gets none, nor do tasks that are over."""
    *_, last = after((0, 10, words), (40, 10, "-n1 -t1"), actions=actions, until=60)
    assert last.priority == 4294901759 - numbers


@pytest.mark.parametrize("options", ["", ",bf_licenses"])
def test_a_reservation_of_licences_alone_keeps_them_from_longer_jobs(options: str) -> None:
    create = "scontrol create reservation ReservationName=r StartTime=now+100 Duration=2 Users=root"
    create += " Licenses=foo:2 Flags=ANY_NODES"
    jobs = ((5, 20, "-n1 -t5 -Lfoo:1"), (6, 20, "-n1 -t1 -Lfoo:1"))
    long, short = after(*jobs, options=options, lines="Licenses=foo:2", actions=((1, create),))
    assert 220 <= long.runs[0].start < 300
    assert short.runs[0].start < 40


@pytest.mark.parametrize(
    ("words", "nodes", "flags", "start"),
    [
        ("-N1 -wn1 --exclusive -t3", "n1", "IGNORE_JOBS", 151),
        ("-N1 -wn1 -t3", "n1", "IGNORE_JOBS", 181),
        ("-N1 -t3", "n[1-2]", "MAINT", 151),
        ("-N1 -t3", "n[1-2]", "IGNORE_JOBS", 181),
    ],
)
@pytest.mark.parametrize("compiled", [False, True])
def test_a_job_that_waits_for_the_end_of_a_reservation_is_planned_then(words, nodes, flags, start, compiled) -> None:
    """As daemons of three versions did: of others Slurm looks again at the step behind the end."""
    create = f"scontrol create reservation ReservationName=r StartTime=now+90 Duration=1 Users=root Nodes={nodes}"
    actions = ((1, f"{create} Flags={flags}"),)
    more = {"options": ",bf_resolution=60", "nodes": "n[1-2] CPUs=1", "until": 60, "compiled": compiled}
    (job,) = after((5, 20, words), actions=actions, **more)
    assert job.planned_start == pytest.approx(start, abs=1)


@pytest.mark.parametrize(("known", "states"), [({"clears": ((3.5,),)}, [False, True]), ({}, [True, True])])
def test_nodes_of_a_killed_run_are_clear_when_a_recording_says_so(known, states) -> None:
    """As those of a run that ends by itself; where nothing is known they are half a launch later."""
    asked = {"actions": ((50, "scancel 1"),)}
    found = [after((0, 100, "-N1 -t5", known), until=until, **asked)[0].over for until in (53.4, 53.6)]
    assert found == states


@pytest.mark.parametrize("compiled", [None, False])
@pytest.mark.parametrize("users", ["", "ExclusiveUser=YES"])
def test_where_users_have_nodes_alone_jobs_are_planned_for_the_end_of_maintenance(users, compiled):
    """And not for a second behind it, from where they would keep nodes for another step (24.11's log)."""
    reserve = "scontrol create reservation ReservationName=m StartTime=now+60 Duration=2 Nodes=ALL Users=root"
    conf = "SchedulerParameters=bf_interval=10,bf_resolution=60\nPriorityType=priority/basic\n"
    conf += "SelectType=select/cons_tres\nNodeName=n1 CPUs=2\n"
    conf += f"PartitionName=p Nodes=ALL Default=YES\nPartitionName=q Nodes=ALL {users}\n"
    requests = [JobRequest(number, 1.0 + number, 300.0, parse_sbatch(["-n2", "-t1"]), "me") for number in (1, 2)]
    orders = [(0.0, partial(scontrol, f"{reserve} Flags=MAINT"))]
    made = Controller(parse_slurm_conf(conf), requests, orders, slurm_version="24.11", compiled=compiled)
    made.run(40.0)
    assert [made.cluster.jobs[number].planned_start for number in (1, 2)] == [180.0, 240.0]


def test_a_plan_keeps_the_wish_of_a_job_unless_it_was_tried_with_it() -> None:
    """A scheduler that knows nothing of ``preferred`` plans it where it would rather have."""
    nodes = "a CPUs=1\nNodeName=b CPUs=1 Feature=x"
    scheduler = simulated((0, 100, "-N2 -t5"), (1, 9, "-t1 --prefer=x"), nodes=nodes, until=20).scheduler
    planned = []
    for tried in (False, True):
        plan, entries = scheduler.windows(Habits()), list(scheduler.entries())
        assert not tried or plan.preferred(entries[0]) is None  # not now
        hole = plan.place(entries, keep=False)[1]
        assert hole is not None
        planned.append((list(hole.place.nodes), hole.start > 300))
    assert planned == [(["b"], True), (["a"], True)]


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize(("limit", "starts"), [("2-0", True), ("20", False)])
def test_a_bound_behind_the_window_takes_no_room_in_a_plan(limit: str, starts: bool, compiled: bool) -> None:
    """Two jobs are planned, of which the first takes one bound of three or both; the last could start at once."""
    jobs = after(
        *((1, 60, "-n2 -wn1 -t2"), (3, 60, "-n2 -wn3 -t2"), (6, 20, f"-N2 -n4 -wn1,n2 -t{limit}")),
        *((9, 20, "-n2 -wn3 -t3"), (12, 20, "-n2 -t1")),
        nodes="n[1-3] CPUs=2",
        options=",bf_max_job_test=3",
        compiled=compiled,
        until=40,
    )
    assert [bool(job.runs) for job in jobs] == [True, True, False, False, starts]


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("version", ["22.05", "24.11"])
@pytest.mark.parametrize("bound", ["bf_max_job_test", "bf_max_job_user", "bf_max_job_part"])
@pytest.mark.parametrize(("array", "tries"), [("", 1), ("", 2), (" --array=0-0", 2)])
def test_each_try_of_a_job_with_a_wish_counts(bound: str, array: str, tries: int, version: str, compiled: bool) -> None:
    """Its second try, without the wish, starts it; an array has none in 22.05."""
    jobs = after(
        *((1, 60, "-n4 -wb1 -t2"), (4, 20, f"-n8 --prefer=x -t2{array}")),
        nodes="a CPUs=4\nNodeName=b[1-2] CPUs=4 Feature=x",
        options=f",{bound}={tries},bf_node_space_size=100",
        version=version,
        compiled=compiled,
        until=30,
    )
    assert bool(jobs[1].runs) is (tries == 2 and not (array and version == "22.05"))


@pytest.mark.parametrize("compiled", [True, False])
def test_a_job_with_a_wish_is_planned_without_it_where_whole_nodes_are_chosen(compiled: bool) -> None:
    """What it was tried with first is not what it is known by afterwards, in compiled code."""
    jobs = after(
        *((1, 400, "-N2 -wb1,b2 -t5"), (1, 400, "-wa -t2"), (4, 20, "-N1 --prefer=x -t1")),
        nodes="a CPUs=4\nNodeName=b[1-2] CPUs=4 Feature=x",
        lines="SelectType=select/linear",
        compiled=compiled,
        until=30,
    )
    assert jobs[2].planned_start is not None and 120 <= jobs[2].planned_start < 180


def test_tasks_that_may_not_run_together_are_planned_in_each_partition() -> None:
    """As daemons of 24.11 did: those that one partition has for later start in the next one."""
    jobs = after(
        *((2, 100, "-pr -n2 -wn1 -t5"), (5, 70, "-pr -n1 -wn2 -t2")),
        *((9, 20, "-pr -N2 --ntasks-per-node=1 -t1"), (13, 20, "-pp,r -n1 --array=0-1%2 -t1")),
        lines="PartitionName=r Nodes=ALL",
        partition="OverSubscribe=FORCE:2",
        version="24.11",
        until=60,
    )
    first = min(job.runs[0].start for job in jobs if job.request.array and job.runs)
    assert first < 45


def test_a_job_with_whole_nodes_closes_none_where_all_share() -> None:
    """So a job for which the others are kept does not hold up those behind it, as daemons of 24.11 did."""
    jobs = after(
        *((0, 500, "-pr -n4 -t30"), (1, 500, "-pr -n4 -t30"), (2, 500, "-n1 -wb --exclusive -t30")),
        *((5, 50, "-n3 -t5"), (6, 50, "-n1 -t5")),
        nodes="a CPUs=4\nNodeName=b CPUs=2",
        lines="PartitionName=r Nodes=a",
        partition="OverSubscribe=FORCE:2",
        scheduler="builtin",
        version="24.11",
        until=40,
    )
    assert jobs[2].runs and jobs[3].reason.startswith("ReqNodeNotAvail") and jobs[4].runs


@pytest.mark.parametrize("compiled", [None, False])
@pytest.mark.parametrize(
    "words", ["--gpus=2 --cpus-per-gpu=1", "--gpus-per-node=1 --mem-per-gpu=10", "--gpus-per-task=1"]
)
def test_a_job_with_gpus_is_planned_beside_a_node_that_is_down(words: str, compiled: bool | None) -> None:
    """Nodes that are up are counted from 24.11 on without what comes along with GPUs."""
    jobs = after(
        *((1, 400, "-N2 -n8 --gres=gpu:2 -t5"), (2, 20, f"{words} -n1 -t2")),
        nodes="b[1-2] CPUs=4 RealMemory=1000 Gres=gpu:2\nNodeName=a CPUs=4 RealMemory=1000",
        lines="GresTypes=gpu",
        actions=((0.5, "scontrol update NodeName=a State=DRAIN Reason=x"),),
        version="24.11",
        until=40,
        compiled=compiled,
    )
    assert jobs[1].planned_start is not None and 300 < jobs[1].planned_start < 310


def test_what_a_suspended_job_leaves_is_no_cpu() -> None:
    """What is free without it: its CPUs are so already, its memory is not."""
    controller = simulated(
        (1, 60, "-n2 --mem=700 -wn1 -t5"),
        nodes="n[1-2] CPUs=2 RealMemory=1000",
        lines="SelectTypeParameters=CR_CPU_Memory",
        actions=((10, "scontrol suspend 1"),),
        until=20,
    )
    cluster = controller.cluster
    (job,) = cluster.suspended.values()
    assert cluster.free.memory.tolist() == [300, 1000]
    free = cluster.free_without([job])
    assert free.units.tolist() == [2, 2] and free.memory.tolist() == [1000, 1000]


@pytest.mark.parametrize("compiled", [None, False])
@pytest.mark.parametrize(
    ("memory", "words", "node"),
    [("DefMemPerCPU=300", "-c4", "b"), ("DefMemPerNode=300", "-c4", "a"), ("", "-c4 --mem-per-cpu=300", "b")],
)
def test_backfill_asks_for_the_memory_of_all_cpus_of_a_task(
    memory: str, words: str, node: str, compiled: bool | None
) -> None:
    """Where memory is not given out, for that of each CPU; the main loop asks for that of one (asked of daemons)."""
    submissions = (1, 5, words + " -t1"), (200, 5, words + " -t1")
    run = partial(
        after, nodes="a CPUs=4 RealMemory=1000\nNodeName=b CPUs=4 RealMemory=2000", lines=memory, compiled=compiled
    )
    assert run(*submissions)[0].runs[0].allocation.nodes == (0,)
    late = run(*submissions, options="batch_sched_delay=60,sched_interval=600,")
    assert late[1].runs[0].allocation.nodes == ({"a": 0, "b": 1}[node],)
