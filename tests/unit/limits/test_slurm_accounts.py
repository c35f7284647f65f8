"""Accounts in Slurm's timing: what is charged, what limits do, who is admitted."""

from __future__ import annotations

import math
from collections import Counter
from functools import partial

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from emulator.config.sacctmgr import parse_accounts
from emulator.config.slurm import parse_slurm_conf
from emulator.engine.controller import Controller
from emulator.limits.resets import next_reset
from emulator.limits.shares import share_rows, tres_text
from emulator.limits.usage import decay_of
from emulator.operator.scontrol import scontrol
from emulator.scheduling.preempt import candidates
from emulator.state.run import State
from emulator.workload.request import JobRequest
from emulator.workload.sbatch import parse_sbatch
from slurm_sim_plugins.errors import InputError
from tests.builders.accounts import BOOKS, CONF, controller, job, reason_of, starts


def cpus(made: Controller, run) -> int:
    return sum(run.allocation.units)


def usage_by_user(made: Controller) -> dict[str, float]:
    return {row.user: row.raw_usage for row in share_rows(made.cluster.accounting) if row.user}


jobs_of_some = st.lists(
    st.tuples(
        st.floats(0, 200),
        st.floats(1, 150),
        st.integers(1, 16),
        st.integers(1, 4),
        st.sampled_from(["ann", "bob", "cy"]),
    ),
    min_size=1,
    max_size=12,
)


@pytest.mark.slow
@given(jobs_of_some)
@settings(max_examples=25, deadline=None)
def test_the_sum_of_usage_equals_the_cpu_seconds_of_the_runs(drawn):
    requests = [job(n, at, run, f"-n{size} -t{limit}", user) for n, (at, run, size, limit, user) in enumerate(drawn, 1)]
    made = controller(requests)
    used: Counter[str] = Counter()
    for one in made.cluster.jobs.values():
        for run in one.runs:
            used[one.request.user] += cpus(made, run) * (math.floor(run.end) - math.floor(run.start))
    books = made.cluster.accounting
    assert sum(used.values()) == books.usage.total[books.tres.index["cpu"]] == books.usage.raw[books.manager.root.row]
    assert {user: value for user, value in usage_by_user(made).items() if value} == {k: v for k, v in used.items() if v}
    assert abs(books.usage.remaining).max() < 1e-6


@pytest.mark.slow
@given(jobs_of_some)
@settings(max_examples=20, deadline=None)
def test_past_usage_decays_as_if_each_run_were_followed_alone(drawn):
    requests = [job(n, at, run, f"-n{size} -t{limit}", user) for n, (at, run, size, limit, user) in enumerate(drawn, 1)]
    made = controller(requests, conf=CONF.replace("HalfLife=0", "HalfLife=5"))
    last, left = made.cluster.accounting.usage.last, decay_of(300.0)
    expected = 0.0
    for one in made.cluster.jobs.values():
        for run in one.runs:
            begin, end = math.floor(run.start), math.floor(run.end)
            # Whether a period ends before or after a run in the same second cannot be seen in whole seconds.
            assume((begin - last) % 60 and (end - last) % 60)
            ends = [tick for tick in range(math.floor(last) % 60 - 60, int(last) + 1, 60) if begin < tick < end]
            for start, stop in zip([begin, *ends], [*ends, end], strict=True):
                later = (last - stop + 59) // 60 * 60 if stop not in ends else last - stop
                expected += cpus(made, run) * (stop - start) * left ** (stop - start) * left**later
    assert made.cluster.accounting.usage.raw[made.cluster.accounting.manager.root.row] == pytest.approx(expected)


LIMITS = ["GrpTRES=cpu=7", "GrpJobs=2", "MaxJobs=1", "MaxTRES=cpu=9", "GrpTRESRunMins=cpu=20", "MaxWall=3"]


@pytest.mark.slow
@given(jobs_of_some, st.dictionaries(st.sampled_from(["a", "b", "normal"]), st.sampled_from(LIMITS)))
@settings(max_examples=15, deadline=None)
def test_what_is_in_use_is_counted_right_at_every_event_and_no_limit_is_passed(drawn, limits):
    requests = [job(n, at, run, f"-n{size} -t{limit}", user) for n, (at, run, size, limit, user) in enumerate(drawn, 1)]
    said = [f"modify {'qos' if who == 'normal' else 'account'} {who} set {what}" for who, what in limits.items()]
    made = Controller(parse_slurm_conf(CONF), requests, accounts=parse_accounts(BOOKS + "\n".join(said)))

    def check() -> None:
        books, jobs = made.cluster.accounting, made.cluster.jobs.values()
        on = [one for one in jobs if one.account is not None and one.account.amounts is not None]
        assert all(one.state is State.RUNNING for one in on)
        for share in (*books.manager.shares.values(), *books.manager.qualities.values()):
            mine = [one for one in on if share in (*one.account.line, *one.account.qualities)]
            here = [one for one in jobs if share in (*one.account.line, *one.account.qualities) and not one.over]
            used = sum(sum(one.run.allocation.units) for one in mine)
            assert (share.jobs, share.submitted, share.tres[0]) == (len(mine), len(here), used)
            bounds = share.bounds
            assert share.jobs <= (math.inf if bounds.grp_jobs is None else bounds.grp_jobs)
            assert all(share.tres[place] <= most for place, most in bounds.grp_tres)
            assert all(sum(one.run.allocation.units) <= most for one in mine for place, most in bounds.max_tres)
            assert all(one.limit <= (bounds.max_wall or math.inf) for one in mine)

    made.run(2000.0, observe=check)


@pytest.mark.parametrize(
    ("books", "arguments", "reason"),
    [
        ("modify account a set GrpTRES=node=1", "-N2", "AssocGrpNodeLimit"),
        ("modify account a set GrpTRESMins=cpu=0", "-n1", "AssocGrpCPUMinutesLimit"),
        ("modify account a set GrpTRESRunMins=node=3", "-N2 -t2", "AssocGrpNodeRunMinutes"),
        ("modify account a set MaxTRES=node=1", "-N2", "AssocMaxNodePerJobLimit"),
        ("modify account a set MaxTRESPerNode=cpu=1", "-n4", "AssocMaxCpuPerNode"),
        ("modify account a set MaxTRESMins=billing=4", "-n5 -t1", "AssocMaxBillingMinutesPerJob"),
        ("modify account a set GrpWall=0", "-n1", "AssocGrpWallLimit"),
        ("modify account a set GrpJobs=0", "-n1", "AssocGrpJobsLimit"),
        ("modify qos normal set GrpTRES=cpu=3", "-n4", "QOSGrpCpuLimit"),
        ("modify qos normal set MaxTRESPerAccount=cpu=3", "-n4", "MaxCpuPerAccount"),
        ("modify qos normal set MaxTRESPU=node=1", "-N2", "QOSMaxNodePerUserLimit"),
        ("modify qos normal set MaxTRESPerNode=cpu=1", "-n4", "QOSMaxCpuPerNode"),
        ("modify qos normal set MaxTRESMins=cpu=3", "-n4 -t1", "QOSMaxCpuMinutesPerJobLimit"),
        ("modify qos normal set MinTRES=cpu=3", "-n2", "QOSMinCpuNotSatisfied"),
        ("modify qos normal set MaxJobsPA=0", "-n1", "MaxJobsPerAccount"),
        ("modify qos normal set GrpWall=0", "-n1", "QOSGrpWallLimit"),
    ],
)
def test_each_limit_keeps_a_job_waiting_with_its_reason(books, arguments, reason):
    made = controller([job(1, 0, 10, arguments)], BOOKS + books)
    assert (reason_of(made, 1), starts(made)) == (reason, {})


@pytest.mark.parametrize(
    ("books", "arguments", "words"),
    [
        ("modify qos normal set Flags=DenyOnLimit MaxTRESPU=cpu=3", "-n4", "QOSMaxCpuPerUserLimit"),
        ("modify qos normal set Flags=DenyOnLimit MaxWall=2", "-n1 -t3", "QOSMaxWallDurationPerJobLimit"),
        ("modify qos normal set Flags=DenyOnLimit MinTRES=cpu=3", "-n2", "QOSMinCpuNotSatisfied"),
        (
            "modify qos normal set Flags=DenyOnLimit\nmodify account a set MaxTRES=cpu=3",
            "-n4",
            "AssocMaxCpuPerJobLimit",
        ),
        ("modify qos normal set GrpSubmit=0", "-n1", "QOSGrpSubmitJobsLimit"),
        ("modify qos normal set MaxSubmitPA=1", "--array=0-1 -n1", "MaxSubmitJobsPerAccount"),
        ("modify account a set GrpSubmitJobs=2", "--array=0-2 -n1", "AssocGrpSubmitJobsLimit"),
        ("modify user ann set MaxSubmit=0", "-n1", "AssocMaxSubmitJobLimit"),
        ("add qos other", "-n1 --qos=other", "Invalid qos specification"),
        ("", "-n1 -A b", "Invalid account or account/partition combination specified"),
    ],
)
def test_what_may_not_come_is_refused_with_slurms_words(books, arguments, words):
    made = controller([job(1, 0, 10, arguments)], BOOKS + books)
    ((_, said),) = made.rejected
    assert said.splitlines()[0] == words
    assert not made.cluster.jobs


def test_partitions_admit_accounts_and_qualities_of_service():
    conf = CONF + "PartitionName=q Nodes=ALL AllowAccounts=b\nPartitionName=r Nodes=ALL DenyQos=normal\n"
    requests = [
        job(1, 0, 5, "-n1 -pq"),
        job(2, 1, 5, "-n1 -pq", "cy"),
        job(3, 2, 5, "-n1 -pr"),
        job(4, 3, 5, "-n1 -pp,q"),
    ]
    lenient = controller(requests, conf=conf)
    assert not lenient.rejected
    words = [lenient.cluster.jobs[number].barred for number in (1, 3)]
    assert words == [
        {"q": "PartitionConfig"},
        {"r": "Job's_QOS_not_permitted_to_use_this_partition_(r_denies_normal_including_normal)"},
    ]
    made = controller(requests, conf=conf + "EnforcePartLimits=ANY\n")
    assert {request.id for request, _ in made.rejected} == {1, 3}
    words = {request.id: said for request, said in made.rejected}
    assert words[3] == "Invalid qos specification (partition r does not allow QOS normal)"
    strict = controller(requests, conf=conf + "EnforcePartLimits=ALL\n")
    assert {request.id for request, _ in strict.rejected} == {1, 3, 4}


@pytest.mark.parametrize("partition", ["q", "r"])
def test_partitions_bar_all_tasks_of_an_array(partition: str):
    """Recorded on 24.11."""
    conf = CONF + "PartitionName=q Nodes=ALL AllowAccounts=b\nPartitionName=r Nodes=ALL DenyQos=normal\n"
    made = controller([job(1, 0, 5, f"-n1 -p{partition} --array=0-2")], conf=conf)
    assert len(made.cluster.jobs) == 3
    assert not starts(made)


@pytest.mark.parametrize(("allowed", "start"), [("", 94), ("AllowQos=own", 83)])
def test_backfill_goes_round_while_jobs_wait_for_another_qos(allowed: str, start: float):
    """Each cycle notes their reason, which is news for the next (Slurm's sources; recorded on 24.11)."""
    conf = CONF.replace("sched_interval=1", "sched_interval=60").replace("bf_interval=1,", "bf_interval=5,")
    conf += f"PartitionName=r Nodes=ALL {allowed}\n"
    made = controller([job(1, 0, 5, "-n1 -pr"), job(2, 1, 5, "-n1 --begin=now+80")], conf=conf)
    assert starts(made)[2] == pytest.approx(start, abs=1)


def test_backfill_plans_jobs_of_accounts_that_their_partition_does_not_take():
    """As daemons of three versions did: they keep nodes, and do not start; those of other QOS are not planned."""
    conf = CONF + "PartitionName=q Nodes=ALL AllowAccounts=b\nPartitionName=r Nodes=ALL DenyQos=normal\n"
    requests = [job(1, 0, 100, "-n16 -t2"), job(2, 1, 10, "-pq -n16 -t3"), job(3, 2, 10, "-pr -n16 -t3")]
    made = Controller(parse_slurm_conf(conf), requests, accounts=parse_accounts(BOOKS))
    made.run(80.0)
    planned = [made.cluster.jobs[number].planned_start for number in (2, 3)]
    assert planned == [pytest.approx(121, abs=2), None]
    made.run(400.0)
    assert not made.cluster.jobs[2].runs


def test_a_job_that_its_last_partition_bars_waits_though_there_are_no_nodes_for_it():
    """As daemons of three versions did: they look at that first in each partition, and go by the last."""
    conf = CONF + "PartitionName=q Nodes=ALL AllowAccounts=b\nPartitionName=r Nodes=ALL DenyQos=normal\n"
    asked = ("-pq", "-pr", "-pp,q", "-pq,p", "-pp")
    made = controller([job(number, number, 5, f"-n1 -c5 {one}") for number, one in enumerate(asked, 1)], conf=conf)
    assert {request.id for request, _ in made.rejected} == {4, 5}


def test_the_quality_of_service_of_a_partition_holds_beside_the_jobs_own():
    conf = CONF.replace("Default=YES", "Default=YES QOS=part")
    books = BOOKS + "add qos part MaxTRESPU=cpu=4\nadd qos own MaxTRESPU=cpu=8\nmodify user ann set qos=normal,own\n"
    requests = [job(1, 0, 100, "-n6 --qos=own"), job(2, 1, 100, "-n6")]
    assert starts(controller(requests, books, conf)) == {}
    over = controller(requests, books + "modify qos own set Flags=OverPartQOS", conf)
    assert (list(starts(over)), reason_of(over, 2)) == ([1], "QOSMaxCpuPerUserLimit")


def test_a_job_without_a_limit_gets_that_of_its_account():
    made = controller([job(1, 0, 10, "-n1")], BOOKS + "modify account a set MaxWall=7\nmodify user ann set MaxWall=5")
    assert made.cluster.jobs[1].runs[0].limit == 300


def test_so_has_each_task_of_an_array_whatever_the_partition_allows():
    conf = CONF.replace("Default=YES", "Default=YES MaxTime=3")
    made = controller([job(1, 0, 10, "-n1 --array=0-2")], BOOKS + "modify account a set MaxWall=7", conf)
    tasks = list(made.cluster.jobs.values())
    assert len(tasks) == 3
    assert {task.limit for task in tasks} == {420}
    assert {(task.options.time_limit, task.reason, len(task.runs)) for task in tasks} == {
        (420.0, tasks[0].reason, len(tasks[0].runs))
    }


def test_a_job_that_is_requeued_counts_with_what_it_asks_for_again():
    conf = CONF.replace("CR_CPU", "CR_Core").replace("CPUs=4", "CPUs=4 ThreadsPerCore=2 CoresPerSocket=2 Sockets=1")
    requeue = [(5.0, lambda controller: scontrol("scontrol requeue 1", controller))]
    made = controller([job(1, 0, 100, "-n1 -t5")], BOOKS + "modify account a set GrpTRES=cpu=4", conf, requeue)
    assert len(made.cluster.jobs[1].runs) == 2
    assert made.cluster.accounting._cpus_found == {}


def test_usage_factor_and_no_decay_are_those_of_the_quality_of_service():
    conf = CONF.replace("HalfLife=0", "HalfLife=1")
    books = BOOKS + "add qos half UsageFactor=0.5 Flags=NoDecay\nmodify user ann set qos=half"
    made = controller([job(1, 0, 99.9, "-n4 -t9 --qos=half")], books, conf)
    usage, manager = made.cluster.accounting.usage, made.cluster.accounting.manager
    assert usage.raw[manager.qualities["half"].row] == 200
    assert usage.raw[manager.root.row] < 1e-9


def test_safe_limits_ask_whether_the_whole_run_fits():
    books = BOOKS + "modify account a set GrpTRESMins=cpu=10"
    assert list(starts(controller([job(1, 0, 10, "-n4 -t3")], books))) == [1]
    safe = controller([job(1, 0, 10, "-n4 -t3"), job(2, 1, 10, "-n4 -t2")], books, CONF.replace("=limits", "=safe"))
    assert (list(starts(safe)), reason_of(safe, 1)) == ([2], "AssocGrpCPUMinutesLimit")


def test_a_run_ends_where_a_job_never_fits_safe_limits_though_usage_fades():
    books = BOOKS + "modify account a set GrpTRESMins=cpu=10"
    conf = CONF.replace("=limits", "=safe").replace("HalfLife=0", "HalfLife=7-0")
    safe = controller([job(1, 0, 100, "-n4 -t2"), job(2, 1, 10, "-n4 -t3")], books, conf)
    assert (list(starts(safe)), reason_of(safe, 2)) == ([1], "AssocGrpCPUMinutesLimit")
    assert safe.cluster.now < 3600


@pytest.mark.parametrize(("limit", "begun"), [("GrpTRES=cpu=0", []), ("GrpJobs=0", [2])])
def test_a_job_at_a_limit_stops_its_partition_only_if_that_is_wanted(limit: str, begun: list[int]):
    """One that shows already that there may be no more jobs is passed over (recorded on 22.05; Slurm's source)."""
    conf = CONF.replace("bf_interval=1,", "bf_interval=600,")
    books = BOOKS + f"modify account b set {limit}"
    requests = [job(1, 1, 10, "-n1", "cy"), job(2, 2, 10, "-n1")]
    assert list(starts(controller(requests, books, conf))) == [2]
    stopped = Controller(
        parse_slurm_conf(conf.replace("sched_interval=1", "sched_interval=1,assoc_limit_stop")),
        requests,
        accounts=parse_accounts(books),
    )
    stopped.run(500.0)
    assert list(starts(stopped)) == begun


def test_without_a_limit_that_fades_a_run_ends_though_a_job_waits_for_ever():
    made = Controller(
        parse_slurm_conf(CONF),
        [job(1, 0, 10, "-n4")],
        accounts=parse_accounts(BOOKS + "modify account a set GrpTRES=cpu=1"),
    )
    made.run()
    assert reason_of(made, 1) == "AssocGrpCpuLimit"


def test_limits_change_while_jobs_wait_and_a_wrong_command_is_told():
    actions = [
        (20.0, partial(scontrol, "sacctmgr -i modify account a set GrpTRES=cpu=-1")),
        (21.0, partial(scontrol, "sacctmgr modify account zz set GrpJobs=1")),
    ]
    made = controller([job(1, 0, 10, "-n4")], BOOKS + "modify account a set GrpTRES=cpu=1", actions=actions)
    assert 20 <= starts(made)[1] < 22
    assert "there is no account 'zz'" in made.refused[0][1]
    with pytest.raises(InputError, match="not counted"):
        scontrol("sacctmgr modify account a set GrpTRES=gres/fpga=1", made)


LIFTED = {"GrpTRES=cpu=7": "GrpTRES=cpu=-1", "MaxJobs=1": "MaxJobs=-1", "GrpJobs=2": "GrpJobs=-1"}


@pytest.mark.slow
@given(jobs_of_some, st.sampled_from(sorted(LIFTED)), st.integers(1, 60), st.integers(1, 200))
@settings(max_examples=25, deadline=None)
def test_limits_that_come_and_go_count_in_compiled_code_as_in_plain(drawn, limit, since, until):
    words = {since: limit, since + until: LIFTED[limit]}
    actions = [(at, partial(scontrol, f"sacctmgr -i modify account a set {word}")) for at, word in words.items()]

    def became(compiled: bool) -> tuple[bool, list[object]]:
        requests = [
            job(n, at, run, f"-n{size} -t{limit}", user) for n, (at, run, size, limit, user) in enumerate(drawn, 1)
        ]
        accounts = parse_accounts(BOOKS + "modify account a set MaxSubmitJobs=50")
        made = Controller(parse_slurm_conf(CONF), requests, actions, accounts=accounts, compiled=compiled)
        alike = not made.cluster.accounting.decides
        seen = []

        def look() -> None:
            seen.append({one.id: (one.reason, one.planned_start) for one in made.cluster.waiting.values()})

        made.run(900.0, observe=look)
        runs = [(one.id, run.start, run.end, run.allocation) for one in made.cluster.jobs.values() for run in one.runs]
        return alike, [*runs, *seen]

    assert became(compiled=True) == became(compiled=False)
    assert became(compiled=True)[0]


def test_jobs_of_a_lower_quality_of_service_give_way_as_theirs_says():
    conf = CONF + "PreemptType=preempt/qos\nPreemptMode=REQUEUE\n"
    books = BOOKS + (
        "add qos low Priority=1 PreemptMode=CANCEL\nadd qos mid Priority=5 GraceTime=0 PreemptExemptTime=5:00\n"
        "add qos hi Priority=9 Preempt=low,mid\nmodify user ann set qos=normal,low,mid,hi"
    )
    requests = [
        job(1, 0, 500, "-n8 -t20 --qos=low"),
        job(2, 1, 500, "-n8 -t20 --qos=mid"),
        job(3, 60, 50, "-n8 -t2 --qos=hi"),
    ]
    made = controller(requests, books, conf)
    assert made.cluster.jobs[1].state is State.PREEMPTED
    assert 60 < starts(made)[3] < 65
    assert len(made.cluster.jobs[2].runs) == 1
    exempt = controller([requests[1], job(4, 2, 500, "-n8 -t20"), job(3, 60, 50, "-n8 -t2 --qos=hi")], books, conf)
    assert 300 < starts(exempt)[3] < 310


def test_a_quality_of_service_exempts_from_preemption_until_its_time_is_over():
    conf = CONF + "PreemptType=preempt/qos\nPreemptMode=CANCEL\n"
    books = BOOKS + (
        "add qos mid Priority=5 PreemptExemptTime=5:00\nadd qos hi Priority=9 Preempt=mid\n"
        "modify user ann set qos=normal,mid,hi"
    )
    requests = [job(1, 0, 900, "-n16 -t20 --qos=mid"), job(2, 60, 50, "-n16 -t2 --qos=hi")]
    made = Controller(parse_slurm_conf(conf), requests, accounts=parse_accounts(books))
    made.run(100.0)
    cluster = made.cluster
    start = cluster.jobs[1].run.start
    for seconds, expected in ((299, []), (300, [1])):
        cluster.now = start + seconds
        assert [victim.id for victim in candidates(cluster.jobs[2], cluster.partitions["p"], cluster)] == expected


def test_the_youngest_run_of_a_lower_quality_of_service_may_go_first():
    conf = CONF + "PreemptType=preempt/qos\nPreemptMode=CANCEL\n"
    books = BOOKS + "add qos low\nadd qos hi Priority=9 Preempt=low\nmodify user ann set qos=normal,low,hi"
    requests = [
        job(1, 0, 500, "-n8 -t20 --qos=low"),
        job(2, 9, 500, "-n8 -t20 --qos=low"),
        job(3, 60, 50, "-n8 --qos=hi"),
    ]
    for lines, gone in (("", 1), ("PreemptParameters=youngest_first\n", 2)):
        jobs = controller(requests, books, conf + lines).cluster.jobs
        assert [number for number in (1, 2) if jobs[number].state is State.PREEMPTED] == [gone]


def test_what_is_billed_may_be_the_largest_resource():
    conf = CONF.replace("Default=YES", "Default=YES TRESBillingWeights=CPU=1,node=10") + "PriorityFlags=MAX_TRES\n"
    books = controller([job(1, 0, 9.9, "-n8 -t1")], conf=conf).cluster.accounting
    assert books.usage.total[books.tres.index["billing"]] == (8 + 10 * 2) * 10


@pytest.mark.parametrize(
    ("period", "expected"),
    [
        ("NONE", None),
        ("DAILY", "2026-11-22"),
        ("WEEKLY", "2026-11-22"),
        ("MONTHLY", "2026-12-01"),
        ("QUARTERLY", "2027-01-01"),
        ("YEARLY", "2027-01-01"),
    ],
)
def test_usage_is_cleared_at_the_next_midnight_that_begins_a_period(period, expected):
    from datetime import UTC, datetime

    epoch = int(datetime(2026, 11, 21, 17, tzinfo=UTC).timestamp())
    found = next_reset(period, 60.0, epoch)
    assert expected == (None if found is None else datetime.fromtimestamp(epoch + found, UTC).date().isoformat())


def test_a_reset_clears_what_was_used():
    made = Controller(
        parse_slurm_conf(CONF + "PriorityUsageResetPeriod=DAILY\n"),
        [job(1, 0, 100, "-n4 -t5")],
        accounts=parse_accounts(BOOKS),
        epoch=86_400 - 600,
    )
    made.run(500.0)
    assert usage_by_user(made)["ann"] == 400
    made.run(700.0)
    assert usage_by_user(made)["ann"] == 0


def test_amounts_are_written_as_slurm_does():
    text = "cpu=2,mem=0,energy=0,node=1,billing=2,fs/disk=0,vmem=0,pages=0,gres/gpu=1"
    assert tres_text({"cpu": 2, "mem": 0, "node": 1, "billing": 2, "gres/gpu": 1}) == text


def test_second_0_is_that_of_1970_where_nothing_else_is_said() -> None:
    text = "AccountingStorageType=accounting_storage/slurmdbd\nPriorityType=priority/multifactor\n"
    text += "PriorityUsageResetPeriod=DAILY\nNodeName=n1 CPUs=1\nPartitionName=p Nodes=ALL Default=YES\n"
    made = Controller(parse_slurm_conf(text), [], accounts=parse_accounts("add account a\nadd user me account=a\n"))
    assert made.cluster.accounting is not None
    assert made.cluster.accounting.cleared(-5.0) == 0.0


def test_a_job_that_waits_for_its_limits_is_not_refused_for_a_reservation_that_is_too_small():
    """As daemons of 24.11 did."""
    create = "create reservation ReservationName=r StartTime=now Duration=60 Nodes=n1 Users=ann,bob"
    requests = [
        job(1, 5, 60, "-n1 -t2"),
        *(job(number, 10, 5, "-N2 --reservation=r -t2", user) for number, user in ((2, "ann"), (3, "bob"))),
    ]
    made = controller(requests, BOOKS + "modify account a set MaxJobs=1\n", actions=[(1.0, partial(scontrol, create))])
    assert [request.id for request, _ in made.rejected] == [3]


def test_the_next_task_of_an_array_is_planned_beyond_the_limit_on_jobs_that_the_one_before_has_reached():
    """As daemons of 22.05 did: backfill looks at limits of jobs once for all tasks that it tries one after another."""
    conf = CONF.replace("sched_interval=1", "sched_interval=-1")
    tasks = JobRequest(1, 1.0, 100.0, parse_sbatch(["-n16", "-t2", "--array=1-2"]), "ann")
    made = Controller(
        parse_slurm_conf(conf), [tasks], accounts=parse_accounts(BOOKS + "modify account a set GrpJobs=1\n")
    )
    made.run(1.9)
    first, second = made.cluster.jobs.values()
    assert first.runs
    assert second.planned_start == pytest.approx(first.runs[0].start + 120, abs=2)


@pytest.mark.parametrize("bound", ["bf_max_job_user=1", "bf_max_job_part=1"])
@pytest.mark.parametrize(
    ("words", "counts"), [("-n16 -t3 --qos=one", False), ("-n16 -t3 -Lfoo:2", True), ("-N4 -n16 -t3 --qos=few", True)]
)
def test_backfill_counts_jobs_that_lack_licences_or_nodes_of_a_limit_and_none_at_a_limit_on_jobs(bound, words, counts):
    """As daemons of 22.05 did: limits that hold whatever nodes there are come before the count."""
    conf = CONF.replace("bf_resolution=1", f"bf_resolution=1,{bound}") + "Licenses=foo:2\n"
    books = BOOKS + "add qos one MaxJobsPU=1\nadd qos few MaxTRESPU=node=2\n"
    books += "modify user ann set qos=normal,one,few\n"
    requests = [job(1, 0, 100, "-n16 -t2 --qos=one -Lfoo:2"), job(2, 1, 10, words), job(3, 2, 10, "-n16 -t1")]
    made = Controller(parse_slurm_conf(conf), requests, accounts=parse_accounts(books))
    made.run(80.0)
    assert (made.cluster.jobs[3].planned_start is None) is counts
