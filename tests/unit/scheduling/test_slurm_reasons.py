"""Why jobs wait in Slurm's timing, in Slurm's words; and what sprio, squeue and scontrol would print."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from emulator.config.sacctmgr import parse_accounts
from emulator.config.slurm import parse_slurm_conf
from emulator.engine.controller import Controller
from emulator.operator.scontrol import scontrol
from emulator.scheduling.job_mgr import NOT_ENOUGH_CPUS
from emulator.scheduling.licenses import LicensePlan
from emulator.scheduling.reasons import MAY_BE_RESERVED, RESERVED_FOR_HIGHER
from emulator.state.run import State
from emulator.truth.commands import answer
from emulator.workload.request import JobRequest
from emulator.workload.sbatch import parse_sbatch

LOOPS = "SchedulerParameters=bf_interval=1,sched_interval=1,batch_sched_delay=0"
CONF = """\
SchedulerType=sched/backfill
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
PriorityType=priority/multifactor
PriorityWeightJobSize=1000
PriorityWeightPartition=400
PriorityWeightTRES=CPU=100
Licenses=foo:1
NodeName=n[1-4] CPUs=1 RealMemory=100
PartitionName=p Nodes=ALL Default=YES MaxTime=60 MaxNodes=3 PriorityJobFactor=1 State=UP
PartitionName=q Nodes=ALL PriorityJobFactor=2
PartitionName=hi Nodes=ALL PriorityTier=5
"""


def job(number: int, *arguments: str, at: float = 0.0, run: float = 100.0, user: str = "u") -> JobRequest:
    return JobRequest(number, at, run, parse_sbatch(["-t10", *arguments]), user)


def cluster(*jobs: JobRequest, actions: tuple[tuple[float, str], ...] = (), until: float = 20.0) -> Controller:
    conf = parse_slurm_conf(f"{LOOPS}\n{CONF}")
    controller = Controller(conf, jobs, [(at, partial(scontrol, text)) for at, text in actions])
    controller.run(until)
    return controller


def reasons(*jobs: JobRequest, actions: tuple[tuple[float, str], ...] = (), until: float = 20.0) -> dict[int, str]:
    jobs_now = cluster(*jobs, actions=actions, until=until).cluster.jobs
    return {number: job.reason for number, job in jobs_now.items()}


ALL = job(1, "-N4", "-pq")


def test_the_first_of_a_partition_waits_for_resources_and_those_behind_for_their_turn():
    told = reasons(ALL, job(2, "-N2", at=2), job(3, "-N1", at=3))
    assert told == {1: "None", 2: "Resources", 3: "Priority"}


def test_nodes_are_kept_from_lower_partitions():
    told = reasons(ALL, job(2, "-N2", "-phi", at=2), job(3, "-N1", at=3))
    assert told == {1: "None", 2: "Resources", 3: RESERVED_FOR_HIGHER}


def test_a_job_that_names_its_nodes_blocks_only_these():
    told = reasons(job(1, "-N1", "-wn2"), job(2, "-N1", "-wn2", at=2), job(3, "-N1", "-xn1,n3,n4", at=3), job(4, at=4))
    assert told == {1: "None", 2: "Resources", 3: MAY_BE_RESERVED, 4: "None"}


@pytest.mark.parametrize(
    ("state", "reason"), [("DOWN", "ReqNodeNotAvail,_UnavailableNodes:n3"), ("DRAIN", MAY_BE_RESERVED)]
)
def test_nodes_that_are_down_are_named_where_the_job_names_nodes(state: str, reason: str):
    away = (1.0, f"scontrol update NodeName=n3 State={state}")
    assert reasons(job(1, "-wn3", at=2), job(2, "-N4", "-pq", at=3), actions=(away,)) == {
        1: reason,
        2: RESERVED_FOR_HIGHER,
    }


def test_a_reservation_is_named_as_what_it_is():
    reserve = "scontrol create reservation ReservationName=r StartTime=now+60 Duration=10 Nodes=n[1-4] Users=root"
    told = reasons(job(1, at=2), job(2, "--reservation=r", at=3, user="root"), actions=((1.0, reserve),))
    assert told == {1: MAY_BE_RESERVED, 2: "Reservation"}


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["-t90"], "PartitionTimeLimit"),
        (["-N4"], "PartitionNodeLimit"),
        (["-N1-4"], "PartitionNodeLimit"),
        (["-N5", "-pq"], "PartitionConfig"),
        (["-n17", "-pq"], "PartitionConfig"),
        (["-H"], "JobHeldUser"),
        (["-bnow+60"], "BeginTime"),
        (["-dafterok:1"], "Dependency"),
        (["-Lfoo"], "Licenses"),
    ],
)
def test_other_obstacles(arguments, reason):
    running = job(1, "-N1", "-Lfoo")
    assert reasons(running, job(2, *arguments, at=2))[2] == reason


def test_what_an_operator_takes_away_and_gives_back():
    down, up = "scontrol update PartitionName=p State=DOWN", "scontrol update PartitionName=p State=UP"
    jobs = (ALL, job(2, "-N2", at=2))
    assert reasons(*jobs, actions=((5.0, down),))[2] == "PartitionDown"
    assert reasons(*jobs, actions=((5.0, down), (8.0, up)))[2] == "Resources"
    assert reasons(*jobs, actions=((5.0, "scontrol hold 2"),))[2] == "JobHeldAdmin"


@pytest.mark.parametrize(
    ("arguments", "run", "exit_code", "reason"),
    [(["-t1"], 200.0, 0, "TimeLimit"), ([], 5.0, 3, "NonZeroExitCode"), ([], 5.0, 0, "None")],
)
def test_the_reason_of_an_end(arguments, run, exit_code, reason):
    ended = JobRequest(1, 0.0, run, parse_sbatch(["-t10", *arguments]), "u", exit_code)
    assert reasons(ended, until=200.0) == {1: reason}


def test_young_jobs_keep_no_nodes_from_those_behind(monkeypatch):
    jobs = (ALL, job(2, "-N2", at=2), job(3, "-N1", at=3))
    monkeypatch.setattr(f"{__name__}.LOOPS", f"{LOOPS},bf_min_age_reserve=30")
    assert reasons(*jobs, until=20.0)[3] == "Resources"
    assert reasons(*jobs, until=40.0)[3] == "Priority"


def test_top_takes_from_the_others_of_the_user_in_equal_parts():
    jobs = (ALL, *(job(number, f"-N{number - 1}", at=2) for number in (2, 3, 4)), job(5, "-N1", at=2, user="v"))
    before = cluster(*jobs).cluster.jobs
    after = cluster(*jobs, actions=((5.0, "scontrol top 2"),)).cluster.jobs
    change = {number: after[number].priority - before[number].priority for number in range(2, 6)}
    assert after[2].priority == before[4].priority
    assert sum(change.values()) == 0
    assert change[5] == 0
    assert abs(change[3] - change[4]) <= 1


def test_sprio_and_squeue():
    controller = cluster(ALL, job(2, "-N2", "--nice=50", at=2), job(3, "-N1", "-H", at=3))
    assert answer("sprio -l", controller) == (
        "JOBID PARTITION USER PRIORITY SITE AGE ASSOC FAIRSHARE JOBSIZE PARTITION QOS NICE TRES\n"
        "2 p u 700 0 0 0 0 500 200 0 50 cpu=50"
    )
    assert answer("sprio -n -l", controller) == (
        "JOBID PARTITION USER PRIORITY AGE ASSOC FAIRSHARE JOBSIZE PARTITION QOS TRES\n"
        "2 p u 0.00000016 0.0000000 0.0000000 0.0000000 0.5000000 0.5000000 0.0000000 cpu=0.50"
    )
    assert answer("squeue -t PD -o '%i %P %Q %t %r %C %D'", controller) == (
        "JOBID PARTITION PRIORITY ST REASON CPUS NODES\n2 p 700 PD Resources 2 2\n3 p 0 PD JobHeldUser 1 1"
    )
    assert answer("squeue --json", controller) is None
    assert answer("sinfo", controller) is None


def test_reservations_are_shown_with_their_nodes_and_state():
    reserve = "scontrol create reservation ReservationName=r StartTime=now+8 Duration=1 NodeCnt=2 Users=root"
    for until, state in ((5.0, "INACTIVE"), (20.0, "ACTIVE")):
        controller = cluster(job(1, "-wn1"), actions=((1.0, reserve),), until=until)
        told = answer("scontrol -o show reservation", controller)
        assert told == f"ReservationName=r Nodes=n[2-3] State={state}"


@pytest.mark.parametrize(
    ("mode", "busy", "reason"),
    [("OFF", False, MAY_BE_RESERVED), ("OFF", True, "Resources"), ("REQUEUE", True, MAY_BE_RESERVED)],
)
def test_who_finds_all_suitable_nodes_kept_waits_for_no_resources_and_holds_up_none(mode: str, busy: bool, reason: str):
    """As three versions were recorded: only where a suitable node is another job's it waits for resources."""
    kind = "none" if mode == "OFF" else "partition_prio"
    conf = parse_slurm_conf(
        f"{LOOPS}\nSchedulerType=sched/builtin\nSelectType=select/cons_tres\nPreemptType=preempt/{kind}\nPreemptMode={mode}\n"
        "NodeName=n[1-2] CPUs=1 Feature=x\nNodeName=n[3-4] CPUs=1\n"
        "PartitionName=all Nodes=n[1-4] Default=YES\nPartitionName=one Nodes=n1\n"
    )
    jobs = [job(1, "-pone"), job(2, "-pone", at=1), job(3, "-N2", "-Cx", at=2), job(4, "-wn3", at=5)]
    jobs += [job(5, "-wn2", "--exclusive", at=1)] if busy else []
    controller = Controller(conf, jobs)
    controller.run(20.0)
    assert controller.cluster.jobs[3].reason == reason
    assert (controller.cluster.jobs[4].state is State.RUNNING) == (reason != "Resources")


def test_a_partition_in_which_a_job_can_never_run_is_passed_over():
    """As 24.11 was recorded: it holds up neither the job's other partitions nor other jobs."""
    conf = parse_slurm_conf(
        "SelectType=select/cons_tres\nSchedulerType=sched/builtin\nNodeName=n[1-2] CPUs=4\n"
        "PartitionName=whole Nodes=ALL OverSubscribe=EXCLUSIVE MaxCPUsPerNode=2\nPartitionName=part Nodes=ALL\n"
    )
    controller = Controller(conf, [job(1, "-ppart", "-n4"), job(2, "-pwhole,part", "-n2", at=2)])
    controller.run(20.0)
    assert [one.run and one.run.partition for one in controller.cluster.jobs.values()] == ["part", "part"]


def test_tasks_of_an_array_have_the_priority_of_each_partition():
    """The first task goes first, though its priority in the partition of the higher tier is the lower one."""
    conf = parse_slurm_conf(
        "SelectType=select/cons_tres\nPriorityType=priority/multifactor\nPriorityWeightPartition=1000\n"
        "NodeName=n CPUs=1\nPartitionName=low Nodes=n PriorityJobFactor=10\n"
        "PartitionName=high Nodes=n PriorityJobFactor=1 PriorityTier=10\n"
    )
    controller = Controller(conf, [job(1, "-plow,high", "--array=0-2%1")])
    controller.run(20.0)
    tasks = controller.cluster.jobs.values()
    assert [one.request.task for one in tasks if one.run] == [0]
    assert [dict(one.priorities) for one in tasks] == [{"high": 100, "low": 1000}] * 3


def test_a_job_is_refused_for_what_the_nodes_of_its_reservation_lack():
    """As a real Slurm 24.11.5 said it, though another node of the partition has as many CPUs."""
    conf = parse_slurm_conf(
        "SelectType=select/cons_tres\nNodeName=n1 CPUs=1\nNodeName=n2 CPUs=4\nPartitionName=p Nodes=ALL Default=YES\n"
    )
    create = "create reservation ReservationName=r StartTime=now Duration=60 Nodes=n1 Users=u"
    requests = [job(1, "--ntasks-per-node=4", "--reservation=r", at=5), job(2, "-n2", "--reservation=r", at=6)]
    controller = Controller(conf, requests, actions=[(1.0, partial(scontrol, create))], slurm_version="24.11")
    controller.run(20.0)
    lacks = [words.splitlines()[:-1] for _, words in controller.rejected]
    assert lacks == [["CPU count per node can not be satisfied"], []]


def test_a_job_that_its_partition_bars_waits_though_its_reservation_is_too_small():
    conf = parse_slurm_conf(
        "SelectType=select/cons_tres\nNodeName=n[1-2] CPUs=1\nPartitionName=p Nodes=n[1-2] MaxNodes=1 Default=YES\n"
    )
    create = "create reservation ReservationName=r StartTime=now Duration=60 Nodes=n1 Users=u"
    requests = [job(1, "-N2", "--reservation=r", at=5), job(2, "-n2", "--reservation=r", at=6)]
    controller = Controller(conf, requests, actions=[(1.0, partial(scontrol, create))], slurm_version="24.11")
    controller.run(20.0)
    assert controller.cluster.jobs[1].reason == "PartitionNodeLimit"
    assert [request.id for request, _ in controller.rejected] == [2]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("-N1", "--exclusive", "-pq"), "Priority"),
        (("-N2", "--exclusive", "-pq"), "Resources"),
        (("-n2", "--exclusive", "-pq"), "Resources"),
        (("-N2", "--exclusive", "-pq", "-dafterok:1"), "Resources"),
        (("-N2", "--exclusive", "-pq", "--begin=now+60"), "Resources"),
        (("-N2", "-pq", "-dafterok:1"), "Dependency"),
        (("-N2", "-pq", "--begin=now+60"), "BeginTime"),
        (("-N2", "-pq"), "Priority"),
    ],
)
def test_a_job_for_whole_nodes_waits_for_resources_as_soon_as_too_few_are_idle(words: tuple[str, ...], reason: str):
    """Recorded on 22.05 and 24.11: nodes are looked at before what it depends on, and what stands before it."""
    jobs = [job(1, "-N3", "-pq"), job(2, "-N2", "-pq", at=2), job(3, *words, at=4)]
    controller = Controller(parse_slurm_conf(CONF), jobs)
    controller.run(4.1)
    assert controller.cluster.jobs[3].reason == reason


def test_a_job_that_waits_for_few_switches_blocks_those_behind_it() -> None:
    """No leaf has so many nodes, so that it waits for the time that it gives (recorded on 22.05)."""
    tree = "SwitchName=a Nodes=n[1-2]\nSwitchName=b Nodes=n[3-4]\nSwitchName=top Switches=a,b\n"
    conf = parse_slurm_conf(f"TopologyPlugin=topology/tree\n{CONF}", topology=tree)
    controller = Controller(conf, [job(1, "-N3", "--switches=1@1:00"), job(2, "-N1", at=1.0)], slurm_version="22.05")
    controller.run(20.0)
    assert (controller.cluster.jobs[1].reason, controller.cluster.jobs[2].runs) == ("Resources", [])
    controller.run(200.0)
    assert controller.cluster.jobs[1].runs[0].start == pytest.approx(65, abs=30)


@pytest.mark.parametrize(("stops", "start"), [("", 3), (",assoc_limit_stop", 105)])
def test_a_job_at_a_limit_keeps_the_nodes_of_its_partition_where_limits_stop(stops: str, start: float) -> None:
    """Job 3 is of another partition, of whose nodes job 2 may have any (recorded on 22.05)."""
    text = f"{LOOPS}{stops},bf_max_job_test=1\n{CONF}AccountingStorageType=accounting_storage/slurmdbd\n"
    conf = parse_slurm_conf(f"{text}AccountingStorageEnforce=limits\n")
    accounts = parse_accounts(
        "add cluster c\nadd account a\nadd account b\nadd user u account=a\nadd user v account=b\n"
        "modify account a set GrpTRES=cpu=1\n"
    )
    jobs = job(1, "-n1"), job(2, "-n1", "-phi", at=1.0), job(3, "-n1", "-pq", at=2.0, user="v")
    controller = Controller(conf, jobs, accounts=accounts, slurm_version="22.05")
    controller.run(300.0)
    assert controller.cluster.jobs[2].runs[0].start == pytest.approx(102, abs=4)
    assert controller.cluster.jobs[3].runs[0].start == pytest.approx(start, abs=4)


@pytest.mark.parametrize(("length", "first"), [(59.0, 0.0), (60.0, 180.0)])
def test_licences_are_not_planned_up_to_when_others_have_them(length: float, first: float) -> None:
    """Slurm looks at what is planned from the very end on, too (recorded on 22.05)."""
    controller = cluster(job(1, "-n1", "-Lfoo", "-H"))
    plan, waits = LicensePlan(controller.cluster), controller.cluster.jobs[1]
    plan.keep(waits, 60.0 + controller.cluster.now, 180.0 + controller.cluster.now)
    found = plan.first(waits, controller.cluster.now, length)
    assert found is not None
    assert found - controller.cluster.now == first


@pytest.mark.parametrize(("node", "begins"), [("n3", False), ("n4", True)])
def test_a_job_is_planned_on_nodes_that_are_free_first(node: str, begins: bool) -> None:
    """Job 3 waits for the licence of job 2, and for a node that it could have now (recorded on 22.05)."""
    conf = parse_slurm_conf(f"{LOOPS},bf_licenses\n{CONF}")
    jobs = [job(1, "-n1", run=250.0), job(2, "-n1", "-Lfoo", run=500.0, at=0.5), job(3, "-n1", "-Lfoo", at=1.0)]
    jobs[0] = replace(jobs[0], options=parse_sbatch(["-n1", "-t5"]))
    jobs.append(job(4, f"-w{node}", "-t20", at=2.0))
    controller = Controller(conf, jobs, slurm_version="22.05")
    controller.run(100.0)
    assert bool(controller.cluster.jobs[4].runs) == begins


def test_an_updated_job_shows_no_reason_until_the_next_pass() -> None:
    """Recorded on 26.05; the sources of 22.05 and 24.11 say the same."""
    jobs = [job(1, "-N4", "--exclusive", "-pq"), job(2, "-n1", "-pq", at=4)]
    actions = [(10.0, partial(scontrol, "update JobId=2 Nice=10"))]
    controller = Controller(parse_slurm_conf(CONF), jobs, actions=actions)
    controller.run(9.9)
    before = controller.cluster.jobs[2].reason
    controller.run(10.05)
    assert (before, controller.cluster.jobs[2].reason) == ("Resources", "None")


def test_an_array_waits_for_resources_as_soon_as_others_have_the_nodes_for_themselves() -> None:
    """Recorded on 26.05: that is asked of an array, too, unlike what stands before it."""
    jobs = [job(1, "-N4", "--exclusive", "-pq"), job(2, "-n1", "-pq", "--array=1-2", at=4)]
    controller = Controller(parse_slurm_conf(CONF), jobs)
    controller.run(4.1)
    assert controller.cluster.jobs[2].reason == "Resources"


@pytest.mark.parametrize(("words", "later"), [("-dafterany:1", "Dependency"), ("--begin=now+100", "BeginTime")])
def test_a_new_job_that_its_partition_does_not_take_shows_that_first(words: str, later: str) -> None:
    told = [reasons(ALL, job(2, "-N4", words, at=2.3), until=until)[2] for until in (2.4, 5)]
    assert told == ["PartitionConfig", later]


@pytest.mark.parametrize(("words", "reason"), [("--exclusive", "Resources"), ("-n1", MAY_BE_RESERVED)])
def test_a_job_waits_for_a_node_that_it_names_and_another_has_for_itself(words: str, reason: str) -> None:
    """As for one that names none: another suitable node is drained, but Slurm looks at what is closed first."""
    conf = parse_slurm_conf(
        f"{LOOPS}\nSchedulerType=sched/builtin\nSelectType=select/cons_tres\nSelectTypeParameters=CR_CPU\n"
        "NodeName=n[1-2] CPUs=4\nNodeName=n3 CPUs=1\nPartitionName=all Nodes=ALL Default=YES\n"
    )
    lines = [f"-n1 -wn2 {words}", "-N2 -wn2 --ntasks-per-node=2", "-n1"]
    jobs = [JobRequest(number, 2.0 * number, 100.0, parse_sbatch(line.split())) for number, line in enumerate(lines, 1)]
    drain = (1.0, partial(scontrol, "scontrol update NodeName=n1 State=DRAIN"))
    controller = Controller(conf, jobs, [drain])
    controller.run(20.0)
    told = {number: one.reason for number, one in controller.cluster.jobs.items()}
    assert told == {1: "None", 2: reason, 3: "None" if reason == MAY_BE_RESERVED else "Priority"}


def test_a_job_held_for_its_reservation_says_so_for_a_second_beyond_its_end():
    """As a real Slurm 22.05 was recorded: cycles in that second still say BadConstraints."""
    conf = parse_slurm_conf(
        f"{LOOPS}\nSelectType=select/cons_tres\nNodeName=n[1-2] CPUs=1\nPartitionName=p Nodes=ALL Default=YES\n"
    )
    create = "create reservation ReservationName=r StartTime=now+8 Duration=1 Nodes=n1 Users=u"
    requests = [job(1, "-N2", "-t1", "--reservation=r", at=3)]
    controller = Controller(conf, requests, actions=[(1.0, partial(scontrol, create))], slurm_version="22.05")
    told = {}
    for tenth in range(680, 712):
        controller.run(tenth / 10)
        told[controller.cluster.jobs[1].reason] = tenth / 10
    assert list(told) == ["BadConstraints", "JobHeldAdmin"]
    assert told["BadConstraints"] >= 69.5


def test_a_refused_job_lacks_the_cpus_that_its_memory_raises():
    """As real Slurms 22.05, 24.11 and 26.05 said it: where tasks are stated, those CPUs are not looked at for this."""
    conf = parse_slurm_conf(
        "SelectType=select/cons_tres\nSelectTypeParameters=CR_Core_Memory\nNodeName=b[1-2] CPUs=2 RealMemory=4000\n"
        "PartitionName=p Nodes=ALL Default=YES MaxMemPerCPU=800\n"
    )
    asked = ["--exclusive"], ["-N1"], ["-n1"], ["--ntasks-per-node=1"]
    requests = [job(at, "--mem-per-cpu=2000", *words, at=at) for at, words in enumerate(asked, 1)]
    controller = Controller(conf, requests)
    controller.run(20.0)
    assert [words.splitlines()[:-1] for _, words in controller.rejected] == 2 * [[NOT_ENOUGH_CPUS]] + 2 * [[]]
