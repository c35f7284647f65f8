"""Limits of associations and qualities of service beyond those of the recordings: what Slurm's documentation says."""

from __future__ import annotations

from functools import partial

import pytest

from emulator.config.operation import Operation
from emulator.config.sacctmgr import parse_accounts
from emulator.config.slurm import parse_slurm_conf
from emulator.engine.controller import Controller
from emulator.operator.scontrol import scontrol
from tests.builders.accounts import BOOKS, CONF, controller, job, reason_of, starts

AGE = CONF.replace("PriorityWeightFairshare=1000", "PriorityWeightAge=1000000\nPriorityMaxAge=1-0\nPriorityType=")
AGE = AGE.replace("PriorityType=", "PriorityType=priority/multifactor")


def with_qos(stated: str) -> str:
    return BOOKS + f"add qos q {stated}\nmodify user ann,bob set qos+=q\n"


def ageing(made: Controller) -> list[int]:
    return sorted(number for number, one in made.cluster.waiting.items() if one.accrue is not None)


@pytest.mark.parametrize(
    ("books", "expected"),
    [
        (BOOKS, [2, 3, 4, 5]),
        (BOOKS + "modify account a set GrpJobsAccrue=2", [2, 3]),
        (BOOKS + "modify account a set MaxJobsAccrue=1", [2, 4]),
        (BOOKS + "modify account a set MaxJobsAccrue=1\nmodify user bob set MaxJobsAccrue=2", [2, 4, 5]),
        (with_qos("MaxJobsAccruePU=1"), [2, 4]),
        (with_qos("MaxJobsAccruePA=1"), [2]),
        (with_qos("GrpJobsAccrue=3"), [2, 3, 4]),
        (with_qos("GrpJobsAccrue=3") + "modify account a set GrpJobsAccrue=1", [2, 3, 4]),
    ],
)
def test_only_so_many_waiting_jobs_grow_older(books, expected):
    qos = "--qos=q" if "qos q" in books else ""
    users = ["ann", "ann", "ann", "bob", "bob"]
    requests = [job(number, number, 500, f"-n16 -t20 {qos}", user) for number, user in enumerate(users, 1)]
    made = Controller(parse_slurm_conf(AGE), requests, accounts=parse_accounts(books))
    made.run(100.0)
    assert ageing(made) == expected


def test_a_job_grows_older_once_another_one_waits_no_longer():
    requests = [job(number, number, 100, "-n16 -t5") for number in (1, 2, 3)]
    made = Controller(
        parse_slurm_conf(AGE), requests, accounts=parse_accounts(BOOKS + "modify account a set GrpJobsAccrue=1")
    )
    made.run(95.0)
    assert ageing(made) == [2]
    made.run(170.0)
    assert ageing(made) == [3]
    assert made.cluster.jobs[3].accrue > 100


def test_below_the_least_priority_of_its_account_a_job_keeps_nothing():
    conf = CONF + "PriorityType=priority/multifactor\nPriorityWeightQOS=1000\n"
    requests = [job(1, 0, 100, "-n14 -t2"), job(2, 5, 50, "-N4 --exclusive -t3"), job(3, 10, 600, "-n2 -t10")]
    kept = starts(controller(requests, BOOKS + "modify account a set MinPrioThreshold=0", conf))
    free = starts(controller(requests, BOOKS + "modify account a set MinPrioThreshold=5000", conf))
    assert kept[3] > kept[2] > 99
    assert free[2] > 600 > free[3]


@pytest.mark.parametrize(
    ("stated", "reason"),
    [
        ("MaxTRESRunMinsPU=cpu=50", "MaxCpuRunMinsPerUser"),
        ("MaxTRESRunMinsPA=cpu=50", "MaxCpuRunMinsPerAccount"),
    ],
)
def test_running_jobs_of_a_user_or_an_account_may_use_only_so_many_minutes_still(stated, reason):
    conf = CONF + "PriorityType=priority/multifactor\n"
    requests = [
        job(1, 0, 290, "-n4 -t10 --qos=q"),
        job(2, 1, 100, "-n4 -t5 --qos=q"),
        job(3, 2, 100, "-n4 -t5 --qos=q", "bob"),
    ]
    made = controller(requests, with_qos(stated), conf)
    begins = starts(made)
    # The first job may use 40 minutes, another one 20 of the 50: that is when the first one has run for 150 s.
    assert 150 <= min(begins[2], begins[3] if "PA" in stated else 1e9) < 245
    assert (begins[3] < 10) == ("PU" in stated)
    waiting = Controller(parse_slurm_conf(conf), requests, accounts=parse_accounts(with_qos(stated)))
    waiting.run(60.0)
    assert reason_of(waiting, 2) == reason


@pytest.mark.parametrize(
    ("options", "default", "runs"),
    [("-n1", "", False), ("-n1", " DefaultTime=2", True), ("-n1 -t5", "", True)],
)
def test_without_a_limit_a_job_is_beyond_any_limit_of_minutes_until_an_operator_gives_it_one(options, default, runs):
    conf = CONF.replace("Default=YES", f"Default=YES{default}")
    books = BOOKS + "modify account a set GrpTRESRunMins=cpu=1000\n"
    actions = [(40.0, partial(scontrol, "update JobId=1 TimeLimit=5"))]
    begins = starts(controller([job(1, 0, 30, options)], books, conf, actions))
    assert (begins[1] < 5) == runs
    assert begins[1] < 45


def test_a_version_in_which_a_limit_has_no_effect_says_so(caplog):
    for version, told in (("22.05", True), ("24.11", False)):
        caplog.clear()
        conf = parse_slurm_conf(CONF).under(version)
        Controller(conf, [job(1, 0, 10, "-n1 -t1")], accounts=parse_accounts(with_qos("MaxTRESRunMinsPU=cpu=50")))
        assert ("MaxTRESRunMinsPerUser has no effect" in caplog.text) == told


def test_below_the_usage_threshold_jobs_wait_if_it_is_enforced():
    conf = CONF + "PriorityType=priority/multifactor\n"
    requests = [job(1, 0, 130, "-n4 -t9"), job(2, 65, 10, "-n4 -t9 --qos=q"), job(3, 65, 10, "-n4 -t9 --qos=q", "bob")]
    assert starts(controller(requests, with_qos("UsageThreshold=600"), conf))[2] < 70
    made = controller(requests, with_qos("UsageThreshold=600 Flags=EnforceUsageThreshold"), conf)
    assert (sorted(starts(made)), reason_of(made, 2)) == ([1, 3], "QOSUsageThreshold")


def test_the_usage_threshold_is_compared_to_the_factor_with_its_weight():
    weighted = CONF + "PriorityType=priority/multifactor\n"
    plain = weighted.replace("PriorityWeightFairshare=1000", "PriorityWeightFairshare=0")
    requests = [job(1, 0, 130, "-n4 -t9"), job(2, 65, 10, "-n4 -t9 --qos=q"), job(3, 65, 10, "-n4 -t9 --qos=q", "bob")]
    for conf, least, started in (
        (weighted, "0.6", [1, 2, 3]),
        (weighted, "600", [1, 3]),
        (plain, "0.6", [1, 3]),
    ):
        made = controller(requests, with_qos(f"UsageThreshold={least} Flags=EnforceUsageThreshold"), conf)
        assert sorted(starts(made)) == started


def test_a_run_ends_though_a_job_is_below_its_threshold_for_ever():
    conf = CONF.replace("HalfLife=0", "HalfLife=1") + "PriorityType=priority/multifactor\n"
    books = with_qos("UsageThreshold=2000 Flags=EnforceUsageThreshold") + "modify user bob set GrpTRESMins=cpu=0\n"
    made = Controller(
        parse_slurm_conf(conf),
        [job(1, 0, 70, "-n4"), job(2, 1, 10, "-n4 --qos=q"), job(3, 2, 10, "-n1", "bob")],
        accounts=parse_accounts(books),
    )
    made.run()
    assert (reason_of(made, 2), reason_of(made, 3)) == ("QOSUsageThreshold", "AssocGrpCPUMinutesLimit")


def test_a_limit_factor_multiplies_limits_of_resources_of_associations():
    books = "modify account a set GrpTRES=cpu=4\nmodify user ann set MaxTRES=cpu=3"
    requests = [job(1, 0, 100, "-n6 -t9 --qos=q"), job(2, 1, 100, "-n4 -t9 --qos=q", "bob"), job(3, 2, 50, "-n4")]
    made = controller(requests, with_qos("LimitFactor=2") + books)
    assert starts(made)[1] < 5
    assert starts(made)[2] > 100
    assert reason_of(made, 3) == "AssocMaxCpuPerJobLimit"


def test_what_a_quality_of_service_limits_an_association_does_not():
    books = with_qos("MaxJobsPU=2 MaxWall=20 GrpTRES=cpu=12") + (
        "modify user ann set MaxJobs=1 MaxWall=5 MaxSubmitJobs=3 GrpTRES=cpu=4,node=2\n"
    )
    requests = [job(number, number, 100, "-n4 -t10 --qos=q") for number in (1, 2, 3, 4)]
    made = controller(requests, books)
    begins = starts(made)
    assert [begins[number] < 90 for number in (1, 2, 3)] == [True, True, False]
    assert [request.id for request, _ in made.rejected] == [4]
    assert controller([job(1, 0, 9, "-n1 --qos=q")], books).cluster.jobs[1].runs[0].limit == 1200


def test_safe_limits_count_the_usage_factor_only_if_the_quality_of_service_says_so():
    conf = CONF.replace("=limits", "=safe")
    books = "modify account a set GrpTRESMins=cpu=10\n"
    requests = [job(1, 0, 10, "-n4 -t2 --qos=q")]
    assert starts(controller(requests, with_qos("UsageFactor=2") + books, conf))
    assert not starts(controller(requests, with_qos("UsageFactor=2 Flags=UsageFactorSafe") + books, conf))


@pytest.mark.parametrize(
    ("flag", "bound", "arguments"),
    [
        ("PartitionTimeLimit", "MaxTime=5", "-n1 -t9"),
        ("PartitionMaxNodes", "MaxNodes=1", "-N2"),
        ("PartitionMinNodes", "MinNodes=2", "-N1-1"),
    ],
)
def test_a_quality_of_service_may_lift_the_bounds_of_a_partition(flag, bound, arguments):
    conf = CONF.replace("Default=YES", f"Default=YES {bound}") + "EnforcePartLimits=ALL\n"
    requests = [job(1, 0, 10, arguments), job(2, 30, 10, f"{arguments} --qos=q")]
    assert list(starts(controller(requests, with_qos(f"Flags={flag}"), conf))) == [2]
    assert not starts(controller(requests, with_qos("Priority=1"), conf))


def test_a_quality_of_service_may_be_for_jobs_of_reservations_alone():
    made = controller([job(1, 0, 10, "-n1"), job(2, 0, 10, "-n1 --qos=q")], with_qos("Flags=RequiresReservation"))
    assert [request.id for request, _ in made.rejected] == [2]


def test_relative_limits_are_percentages_of_the_cluster_or_of_a_partition():
    books = with_qos("Flags=Relative GrpTRES=cpu=50 MaxTRES=node=30")
    requests = [job(1, 0, 50, "-n4 --qos=q"), job(2, 1, 50, "-n4 --qos=q"), job(3, 2, 50, "-n4 --qos=q")]
    begins = starts(controller(requests, books))
    assert begins[2] < 10 < 50 <= begins[3]
    assert not starts(controller([job(1, 0, 50, "-N2 --qos=q")], books))
    books = with_qos("Flags=Relative GrpTRES=cpu=50")
    conf = CONF.replace("Default=YES", "Default=YES QOS=q").replace("Nodes=ALL", "Nodes=n[1-2]")
    made = controller([job(1, 0, 50, "-n4"), job(2, 1, 50, "-n4"), job(3, 2, 9, "-n1 --qos=q")], books, conf)
    assert starts(made)[2] >= 50
    assert [request.id for request, _ in made.rejected] == [3]


@pytest.mark.parametrize(
    ("limit", "least"),
    [("modify account a set GrpTRES=node=1", ""), ("", "GrpTRES=node=1"), ("", "MaxTRESPU=node=1")],
)
def test_a_node_counts_once_however_many_jobs_are_on_it(limit, least):
    books = (with_qos(least) if least else BOOKS) + limit + "\n"
    words = "-t9 --qos=q" if least else "-t9"
    requests = [job(number, number, 100, f"-N1 -n{tasks} {words}") for number, tasks in enumerate((1, 1, 4), 1)]
    begun = starts(controller(requests, books))
    assert begun[2] < 10 and begun[3] > 100


@pytest.mark.parametrize(
    ("version", "named", "waits"),
    [("22.05", "", False), ("22.05", "-wn[1-2]", True), ("24.11", "", True), ("26.05", "", True)],
)
def test_all_nodes_of_a_later_start_count_but_those_that_a_job_names(version, named, waits):
    """A real Slurm 22.05.8 kept no nodes for a job of two, which its account had already; later versions do."""
    conf = CONF.replace("n[1-4]", "n[1-2]") + "PriorityType=priority/basic\n"
    requests = [
        job(1, 0, 500, "-n4 -wn1 -t10"),
        job(2, 1, 80, "-n4 -wn2 -t2"),
        job(3, 60, 50, f"-n8 {named} -t1"),
        job(4, 62, 500, "-n4 -wn2 -t10", "cy"),
        job(5, 61, 50, "-n4 -xn2 -t1", "cy"),  # The main loop stops at it.
    ]
    begun = starts(controller(requests, BOOKS + "modify account a set GrpTRES=node=2\n", conf, version=version))
    assert (begun[4] > 500) == waits


def test_what_a_job_shares_with_others_counts_against_limits_by_whole_cores():
    """A real Slurm 22.05.8 kept a job of one CPU waiting, which would have had a core of two threads beside others."""
    conf = CONF.replace("CR_CPU", "CR_Core").replace("Default=YES", "Default=YES OverSubscribe=FORCE:2")
    conf = conf.replace("n[1-4] CPUs=4", "n1 CPUs=2 Sockets=1 CoresPerSocket=1 ThreadsPerCore=2")
    requests = [job(1, 0, 60, "-n1 -t2"), job(2, 5, 60, "-n1 -t2")]
    assert starts(controller(requests, BOOKS + "modify account a set GrpTRES=cpu=4\n", conf))[2] < 10
    assert starts(controller(requests, BOOKS + "modify account a set GrpTRES=cpu=3\n", conf))[2] >= 60


@pytest.mark.parametrize("stops", ["", ",assoc_limit_stop"])
def test_backfill_starts_no_job_at_a_limit_on_what_it_would_share(stops: str):
    """A real Slurm 24.11.5 kept a job waiting that was longer than the MaxWall of its account."""
    conf = CONF.replace("Default=YES", "Default=YES OverSubscribe=FORCE:2")
    conf = conf.replace("batch_sched_delay=0", f"batch_sched_delay=0{stops}")
    requests = [job(1, 0, 60, "-n1 -t2"), job(2, 5, 60, "-n1 -t3")]
    made = controller(requests, BOOKS + "modify account a set MaxWall=2\n", conf)
    assert (list(starts(made)), reason_of(made, 2)) == ([1], "AssocMaxWallDurationPerJobLimit")


def test_waiting_jobs_count_for_the_new_qos_of_their_partition_as_they_did_before():
    """They age on, and keep a quality of service that they could not have any more."""
    books = with_qos("GrpJobsAccrue=2") + "add qos part\n"
    requests = [job(number, number, 500, "-n16 -t20 --qos=q") for number in (1, 2, 3, 4)]
    commands = [(20.0, "sacctmgr -i modify user ann set qos-=q"), (30.0, "scontrol update PartitionName=p QOS=part")]
    actions = [(at, partial(scontrol, command)) for at, command in commands]
    made = Controller(parse_slurm_conf(AGE), requests, actions, accounts=parse_accounts(books))
    made.run(25.0)
    accounting, before = made.cluster.accounting, made.cluster.jobs[2].account
    assert ageing(made) == [2, 3]
    made.run(100.0)
    assert not made.refused
    qualities, account = accounting.manager.qualities, made.cluster.jobs[2].account
    assert account is not before
    assert account.qualities == (qualities["part"], qualities["q"])
    assert ageing(made) == [2, 3]
    # The running one counts as it did.
    assert [(one.submitted, one.accruing) for one in (qualities["part"], qualities["q"])] == [(3, 2), (4, 2)]
    assert (account.share.submitted, account.share.accruing) == (4, 2)


def test_a_job_that_is_requeued_gets_no_more_nodes_than_before_nodes_were_updated():
    texts = [(20.0, "scontrol update NodeName=n1 Weight=9"), (30.0, "scontrol requeue 1")]
    actions = [(at, partial(scontrol, text)) for at, text in texts]
    books = BOOKS + "modify account a set MaxTRES=node=2"
    one = controller([job(1, 0, 100, "-N1-4 -n4 --exclusive -t5")], books, actions=actions).cluster.jobs[1]
    assert [len(run.allocation.nodes) for run in one.runs] == [2, 2]
    assert list(one.runs[1].allocation.nodes) == [1, 2]


def test_in_several_partitions_a_job_counts_for_the_qos_of_each_while_it_waits():
    conf = CONF.replace(
        "PartitionName=p Nodes=ALL", "PartitionName=q Nodes=ALL QOS=q2\nPartitionName=p Nodes=ALL QOS=q1"
    )
    books = BOOKS + "add qos q1 GrpTRES=cpu=8\nadd qos q2 GrpSubmitJobs=2\n"
    requests = [
        job(1, 0, 100, "-p p -n8 -t5"),
        job(2, 1, 100, "-p p,q -n6 -t5"),
        job(3, 2, 100, "-p p,q -n6 -t5"),
        job(4, 3, 100, "-p p,q -n1 -t5"),
        job(5, 4, 100, "-p p -n1 -t5"),
    ]
    commands = [(20.0, "scontrol requeue 2"), (60.0, "scancel 3")]
    made = controller(requests, books, conf, [(at, partial(scontrol, text)) for at, text in commands])
    assert made.cluster.refused == {4}
    first, second = (made.cluster.jobs[number] for number in (1, 2))
    # The second partition's limits let it start, and once more.
    assert {run.partition for run in second.runs} == {"q"} and second.runs[0].start < 10 < 20 < second.runs[1].start
    assert made.cluster.jobs[5].runs[0].start >= first.runs[0].end
    qualities = made.cluster.accounting.manager.qualities
    assert [(one.submitted, one.jobs) for one in (qualities["q1"], qualities["q2"])] == [(0, 0), (0, 0)]


def test_a_limit_is_asked_of_the_nodes_before_a_run_is_preempted_for_them() -> None:
    """A job of whole nodes is beyond it by all of their CPUs, and preempts in vain otherwise (recorded on 24.11)."""
    nodes = "NodeName=n1 CPUs=4\nPartitionName=lo Nodes=ALL Default=YES\nPartitionName=hi Nodes=ALL PriorityTier=9"
    conf = f"AccountingStorageEnforce=limits\nSelectType=select/cons_tres\nSelectTypeParameters=CR_CPU\n{nodes}\n"
    conf += "PreemptType=preempt/partition_prio\nPreemptMode=REQUEUE\n"
    # As it comes in, the node is down: so nothing is known of how many CPUs it would have.
    first, second = job(1, 10, 200, "-n2 -t9"), job(2, 5, 50, "-n1 --exclusive -phi -t5 --begin=now+40", "bob")
    states = ((1.0, "DOWN Reason=x"), (8.0, "RESUME"))
    actions = [(at, partial(scontrol, f"scontrol update NodeName=n1 State={state}")) for at, state in states]
    for most, runs in ((3, 1), (10, 2)):
        books = parse_accounts(f"{BOOKS}modify user bob set GrpTRES=cpu={most}")
        made = Controller(parse_slurm_conf(conf), [first, second], actions, accounts=books)
        made.run(100.0)
        assert len(made.cluster.jobs[2].runs) == runs - 1
        assert (made.cluster.jobs[1].runs[0].end is None) is (runs == 1)


@pytest.mark.parametrize(("mode", "starts_at_once"), [("REQUEUE", True), ("OFF", False)])
def test_backfill_asks_for_a_minute_of_a_job_that_keeps_nothing(mode: str, starts_at_once: bool) -> None:
    """With NoReserve, where jobs can be preempted; it may run for its limit (recorded on 24.11)."""
    conf = f"{CONF}PreemptType=preempt/partition_prio\nPreemptMode={mode}\n"
    requests = [
        job(1, 0, 110, "-N4 -n12 -t2"),
        job(2, 5, 50, "-N4 --exclusive -t3"),
        job(3, 10, 200, "-n2 -t10 --qos=q"),
    ]
    made = controller(requests, with_qos("Flags=NoReserve"), conf)
    assert (starts(made)[3] < 20) is starts_at_once
    assert made.cluster.jobs[3].runs[0].limit == 600


def test_the_default_time_of_its_first_partition_is_a_limit_that_a_job_states():
    """A real Slurm (22.05.8, 24.11.5) kept such a job from a partition whose MaxTime is less, though it had nodes."""
    end = CONF.index("NodeName")
    conf = CONF[:end] + "NodeName=n[1-2] CPUs=4\nPartitionName=long Nodes=n1 Default=YES MaxTime=60 DefaultTime=10\n"
    conf += "PartitionName=short Nodes=n2 MaxTime=2\nPartitionName=open Nodes=n1 MaxTime=60\n"
    requests = [job(1, 0, 40, "-n4 -t1"), job(2, 5, 10, "-n4 -plong,short"), job(3, 6, 10, "-n4 -popen,short")]
    begun = starts(controller(requests, BOOKS, conf))
    assert begun[2] > 39 and begun[3] < 20


@pytest.mark.parametrize("bound", ["MaxTRESPU=node=2", "GrpTRES=node=2"])
def test_nodes_of_a_run_that_is_over_count_for_no_limit_while_they_are_cleared(bound: str):
    """A real Slurm 24.11.5 started the next job of a user on another node in the epilog of the one before."""
    requests = [job(1, 0, 10, "-n4 -t1"), job(2, 1, 90, "-n4 -t2"), job(3, 2, 20, "-n4 -t1")]
    books, conf = parse_accounts(with_qos(bound) + "modify user ann set defaultqos=q\n"), parse_slurm_conf(CONF)
    made = Controller(conf, requests, accounts=books, operation=Operation(epilog=30))
    made.run(3600.0)
    assert made.cluster.jobs[1].runs[0].end < starts(made)[3] < 20


def test_a_job_at_a_limit_is_planned_on_nodes_that_are_cleared_for_the_next_second():
    """With ``assoc_limit_stop`` a real Slurm 24.11.5 looked at no limit then, and kept the node from that second on."""
    conf = CONF.replace("batch_sched_delay=0", "batch_sched_delay=0,assoc_limit_stop")
    requests = [job(1, 0, 10, "-wn1 -n4 -t1", "bob"), job(2, 1, 90, "-n4 -t2"), job(3, 2, 20, "-wn1 -n4 -t1")]
    books = parse_accounts(with_qos("MaxTRESPU=node=1") + "modify user ann set defaultqos=q\n")
    made = Controller(parse_slurm_conf(conf), requests, accounts=books, operation=Operation(epilog=30))
    made.run(25.0)
    assert made.cluster.jobs[3].planned_start <= 26
