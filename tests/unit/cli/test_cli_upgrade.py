"""``slurm-sim upgrade-check``: what a newer Slurm makes of a slurm.conf, and of a log."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from emulator.cli import slurm_sim
from emulator.config.slurm import parse_slurm_conf
from emulator.config.slurm.upgrade import CONCERNS, changes
from emulator.config.slurm.versions import all_rules
from slurm_sim_plugins.errors import ConfigurationError

CONF = """\
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=bf_interval=10,partition_job_depth=5
NodeName=n1 CPUs=4
NodeName=n2 CPUs=4
PartitionName=p Nodes=ALL Default=YES AllowAccounts=a
PartitionName=q Nodes=n1 LLN=YES PreemptMode=GANG,SUSPEND
PartitionName=r Nodes=n2 AllowGroups=g
"""
COLUMNS = "JobID|User|Partition|State|Submit|Eligible|Start|End|Elapsed|Timelimit|NCPUS|NNodes|ReqCPUS|ReqNodes"


def dump(*cpus: int) -> str:
    """Jobs of a node that were submitted every 10 s, started at once, and ran for 10 minutes."""
    rows = [COLUMNS]
    for number, count in enumerate(cpus, 1):
        submit, start, end = (
            f"2021-03-01T00:{minute:02}:{10 * number + late:02}" for minute, late in ((0, 0), (0, 1), (10, 1))
        )
        rows.append(f"{number}|u|p|COMPLETED|{submit}|{submit}|{start}|{end}|00:10:00|00:20:00|{count}|1|{count}|1")
    return "\n".join(rows) + "\n"


def keys(text: str, old: str, new: str) -> list[tuple[str, list[int]]]:
    found = changes(parse_slurm_conf(text), old, new)
    return [(one.change.key, [location.line for location in one.locations]) for one in found.keys]


def test_keys_that_are_stated_and_defaults_that_are_not() -> None:
    assert keys(CONF, "22.05", "26.05") == [
        ("AllowAccounts", [6]),
        ("PriorityType", []),
        ("SchedulerParameters.partition_job_depth", [3]),
        ("PreemptMode", [7]),
    ]
    assert keys(CONF, "23.02", "23.11") == [("PriorityType", [])]
    assert keys(CONF + "PriorityType=priority/basic\n", "23.02", "23.11") == []
    assert keys(CONF + "PreemptMode=GANG,SUSPEND\nPreemptType=preempt/partition_prio\n", "24.05", "24.11") == keys(
        CONF, "24.05", "24.11"
    )


def test_keys_that_only_some_of_the_emulated_versions_take() -> None:
    text = CONF + "PriorityType=priority/basic\nSlurmctldPlugstack=a\nMetricsType=b\nHashPlugin=hash/k12\n"
    assert keys(text, "22.05", "24.11")[-2:] == [("HashPlugin", [12]), ("SlurmctldPlugstack", [10])]
    assert ("MetricsType", [11]) in keys(text, "24.11", "26.05")


def test_rules_say_what_of_the_file_they_concern() -> None:
    found = changes(parse_slurm_conf(CONF), "22.05", "26.05")
    assert {one.rule.name: one.concerns for one in found.rules} == {
        "FIRST_NODE_FOR_ONE": "partitions p, r",
        "SIZES_ARE_RENEWED": "",
        "REQUEUED_GO_LAST": "",
        "BUILTIN_BY_NUMBERS": "",
        "NEWER_OPTIONS_ARE_TAKEN": "submissions with --tres-per-task and --segment",
        "EXCLUSIVE_IS_NOT_SHARED": "submissions with --exclusive and --oversubscribe",
        "CPUS_OF_TASKS_OR_GPUS": "",
        "FEATURES_ARE_ASKED_FIRST": "words of refusal of jobs with features that no node has",
        "ROUNDS_ON_SECONDS": "starts, by less than a second",
        "SHARED_BY_JOBS": "",
        "OWN_ROWS_ARE_SHARED": "",
        "PARTITIONS_ARE_TRIED_APART": "",
        "RANKED_BY_TASKS": "partitions p, r: jobs with --ntasks-per-node",
        "WHOLE_TASKS_COUNT": "jobs of several tasks with --cpus-per-task, where that does not divide a node's CPUs",
        "FIRST_CORES_FOR_TASKS": "which cores of several sockets jobs have, where others may have the same",
        "SOME_OF_NAMED": "jobs that name more nodes than they can have",
        "MIN_CPUS_CHOOSE_NODES": "jobs with --mincpus",
        "TASKS_GET_THEIR_CPUS": "jobs with both -n and --ntasks-per-node",
        "NODES_GIVE_ALL_TASKS": "jobs with both -n and --ntasks-per-node",
        "ONE_TASK_WAITS_FOR_MORE": "jobs with both -n and --ntasks-per-node",
        "GRES_WANT_ALL_TASKS": "",
        "TASKS_ASK_FOR_NODES": "jobs with both -n and --ntasks-per-node",
        "TASKS_SHARE_CPUS_OF_MEMORY": "",
        "CPUS_COME_WITH_GRES": "",
        "GPUS_GIVE_CPUS": "",
        "TASKS_FOLLOW_GPUS": "",
        "GPUS_OF_TASKS_BOUND_LATE": "",
        "TASKS_OF_GPUS_LACK_CPUS": "",
        "TASKS_OF_GPUS_HAVE_CPUS": "",
        "DEVICES_GO_BY_CPUS": "",
        "DEVICES_GO_BY_TASKS": "",
        "LATE_JOBS_MUST_FIT": "jobs that name several partitions, for reservations that are over",
        "SOCKETS_NEED_THEIR_GPUS": "",
        "GPUS_GO_BEYOND_TASKS": "",
        "GPUS_GO_BY_SOCKETS": "",
        "GPUS_STAY_WITH_TASKS": "",
        "GPUS_COUNT_CPUS": "",
        "DEFAULT_GPU_MEMORY_COUNTS": "",
        "GPUS_SHARE_TASKS": "",
        "TASKS_BIND_NODES_OF_GRES": "",
        "WHOLE_NODES_BY_SIZE": "",
        "SHARED_NODES_BY_KINDS": "",
        "SHARES_KEEP_GPUS": "",
        "RANGE_IS_FILLED": "jobs of a range of nodes with --ntasks-per-node or --nodelist",
        "TASKS_FILL_SOCKETS": "",
        "SHAPES_OUTDO_HINTS": "jobs with --hint beside --sockets-per-node or --cores-per-socket",
        "LICENSES_OF_SEVERAL": "",
        "UNKNOWN_JOBS_ARE_REFUSED": "jobs with afterok or afternotok of jobs that are forgotten (MinJobAge)",
        "DEADLINES_LEAVE_TIME": "jobs with --deadline",
        "DEADLINES_ARE_SWEPT": "jobs with --deadline",
        "TASKS_BOUND_MIN_NODES": "",
        "TASKS_REACH_MIN_NODES": "",
        "UNSTATED_NODES_ARE_ONE": "",
        "NODE_COUNTS_ARE_LISTED": "jobs with a list of numbers of nodes, or a step (-N 2,4)",
        "COUNTED_NODES_HAVE_TASKS": "",
        "COUNTS_STAND_IN_BRACKETS": "",
        "TASKS_BOUND_COUNTED_NODES": "",
        "OVERCOMMITTED_ARE_PLACED": "jobs with --overcommit",
        "SPREAD_BY_WEIGHTS": "jobs with --spread-job",
        "SPREAD_BEYOND_NAMED": "jobs with --spread-job",
        "SOCKETS_HAVE_TASKS": "jobs with --ntasks-per-socket",
        "MAX_CPUS_OF_OTHERS": "",
        "MAX_CPUS_OF_OWN": "",
        "USERS_HAVE_PARTS": "",
        "QOS_SUSPENDS_IN_TURN": "",
        "TURNS_BY_CORES": "",
        "EXEMPT_ARE_NOT_SUSPENDED": "",
        "RUN_MINUTES_BIND_USERS": "",
        "MINUTES_END_WITH_FACTOR": "",
        "PLANNED_NODES_ARE_KNOWN": "",
        "COUNTED_NODES_GO_FIRST": "",
        "GPUS_PER_TASK_NEED_TASKS": "",
        "CLEAR_NODES_GO_FIRST": "jobs that a limit kept waiting, while nodes are cleared after others",
        "NO_SWITCH_IS_SAID": "",
        "NO_SWITCH_IS_NOT_SAID": "",
        "GRACE_IS_REMEMBERED": "",
        "GRACE_IS_FORGOTTEN": "",
        "LEAST_LOADED_BY_LOOKS": "partition q",
        "SMALL_NODES_LEFT_OUT_SINGLY": "jobs that may have only so many nodes (-N, MaxNodes)",
        "TIME_MIN_GROWS": "jobs with --time-min that backfill starts",
        "HEALTHY_NODES_ARE_AVAILABLE": "reasons of waiting jobs as squeue shows them, no start",
        "SWITCHES_BY_CPUS": "",
        "SLOTS_END_ON_NEXT_STEP": "jobs that wait for nodes",
        "ENDS_OF_OWN_NODES": "jobs that wait for nodes",
        "WINDOWS_BEHIND_TRIES": "jobs that wait for nodes",
        "TRIES_GO_ON": "jobs that wait for nodes",
        "USERS_PART_BY_PLANS": "",
        "PLANS_FORGET_SHARING": "",
        "WHOLE_PLANS_FORGET_SHARING": "",
        "WHOLE_PLANS_KNOW_SHARING": "",
        "PLANS_FORGET_GPUS": "",
        "PLANS_KNOW_GPUS": "",
        "PLANS_ARE_NEWS": "when backfill goes round while all nodes are in use",
        "RESERVED_NODES_BY_SIGN": "scontrol update ReservationName= Nodes+=N and Nodes-=N",
        "FIRST_RESERVED_BY_TIER": "",
        "NUM_NODES_IS_BOTH": "scontrol update NumNodes=N of jobs that wait",
        "UPDATED_NODES_ARE_BOUNDS": "scontrol update NumNodes=N of jobs that wait",
        "OTHERS_THAN_PREFERRED": "jobs with --prefer",
        "ARRAYS_ARE_TRIED_AGAIN": "arrays with --prefer",
        "UPDATED_CPUS_ARE_OF_TASKS": "scontrol update NumCPUs=N of jobs that wait",
        "UPDATED_GRES_REPLACE_ALL": "",
        "UPDATED_GRES_MAY_BE_NONE": "",
        "NUM_TASKS_ARE_CPUS": "scontrol update NumTasks=N of jobs that wait",
        "LOST_SCRIPTS_ARE_MISSED": "jobs of several nodes with --no-kill, if nodes fail",
        "EXITS_ARE_REQUEUED_IF_ALLOWED": "",
        "STARTED_TASKS_ARE_TESTS": "arrays in long queues (bf_max_job_test)",
        "UNFIT_NODES_ARE_LACKED": "jobs behind those that wait for nodes which are down (bf_max_job_test)",
        "SWITCHES_GO_BY_FREE_CORES": "",
        "OVERDUE_RUNS_ARE_GONE": "jobs behind runs that have passed their limits",
        "DUE_RUNS_ARE_GONE": "jobs behind runs that have passed their limits",
        "TASKS_ARE_PLANNED_IN_TURN": "jobs behind arrays of which only so many tasks may run at once (%)",
        "NODES_BEFORE_LICENSES": "",
        "LACKING_LICENSES_ARE_RANKED": "",
        "PLANS_SHOW_LICENSES": "",
        "PRIORITY_WHERE_NODES_OVERLAP": "partitions q, r: reasons of new jobs, no start",
        "FLEX_IS_WAITED_FOR": "jobs behind those of FLEX reservations, if any are made",
        "NOT_OF_RESERVATION_WAITS": "jobs that name nodes beside a reservation that does not have them",
        "CORE_COUNTS_ARE_NO_LISTS": "reservations of so many cores of each node, if any are made",
        "CORES_FILL_NODES": "reservations of so many cores of a number of nodes, if any are made",
        "RESERVED_JOBS_KEEP_ACCESS": "updates of whose jobs a reservation is, while it has jobs",
        "RESERVATIONS_TAKE_WHOLE_NODES": "",
        "OTHER_RESERVATIONS_ARE_SAID": "reservations with OVERLAP, if any are made",
        "MAGNETS_OUTLAST_JOBS": "reservations with MAGNETIC, if any are made",
        "FIRST_IDLE_ARE_RESERVED": "reservations of a number of nodes, if any are made",
        "MAINT_NODES_ARE_TAKEN": "reservations of a number of nodes, if any are made",
        "REASONS_OF_GRES_GO": "",
        "ACCOUNTS_SHOW_THE_CODE": "partition p",
        "ACCOUNTS_MEAN_THOSE_BELOW": "",
        "NUMBERS_OF_TASKS_CANCEL": "scancel by the numbers of single tasks of arrays",
        "ANSWERS_ARE_NOTED_IN_ROUNDS": (
            "when jobs start on nodes that were taken down with jobs, if ReturnToService is 2"
        ),
        "POWER_RATES_BY_LOOK": "",
        "POWERED_DOWN_BY_WEIGHT": "",
        "LONG_JOBS_MUST_FIT": "",
        "LARGE_JOBS_MUST_FIT": "partitions p, q, r: jobs that are too large",
        "LARGE_JOBS_WAIT": "partitions p, q, r: jobs that are too large",
        "GROUPS_ARE_WAITED_FOR": "partition r",
        "SEGMENTS_OF_BLOCKS": "",
        "SECOND_COMPONENT_STOPS": "jobs behind heterogeneous ones",
        "COMPONENTS_STOP_NOTHING": "jobs behind heterogeneous ones",
        "LIMITS_DENY_COMPONENTS": "",
        "COMPONENTS_COUNT_AS_ONE": "",
        "COMPONENTS_SHOW_THE_CODE": "reasons of heterogeneous jobs at their limits, and of jobs that signals end",
    }
    assert [one.rule.name for one in changes(parse_slurm_conf(CONF), "22.05", "24.11").rules] == [
        "SIZES_ARE_RENEWED",
        "REQUEUED_GO_LAST",
        "BUILTIN_BY_NUMBERS",
        "NEWER_OPTIONS_ARE_TAKEN",
        "EXCLUSIVE_IS_NOT_SHARED",
        "CPUS_OF_TASKS_OR_GPUS",
        "FEATURES_ARE_ASKED_FIRST",
        "ROUNDS_ON_SECONDS",
        "SHARED_BY_JOBS",
        "OWN_ROWS_ARE_SHARED",
        "PARTITIONS_ARE_TRIED_APART",
        "RANKED_BY_TASKS",
        "WHOLE_TASKS_COUNT",
        "FIRST_CORES_FOR_TASKS",
        "SOME_OF_NAMED",
        "MIN_CPUS_CHOOSE_NODES",
        "TASKS_GET_THEIR_CPUS",
        "TASKS_ASK_FOR_NODES",
        "TASKS_SHARE_CPUS_OF_MEMORY",
        "CPUS_COME_WITH_GRES",
        "GPUS_GIVE_CPUS",
        "TASKS_FOLLOW_GPUS",
        "GPUS_OF_TASKS_BOUND_LATE",
        "TASKS_OF_GPUS_LACK_CPUS",
        "DEVICES_GO_BY_CPUS",
        "GPUS_GO_BEYOND_TASKS",
        "GPUS_GO_BY_SOCKETS",
        "GPUS_COUNT_CPUS",
        "GPUS_SHARE_TASKS",
        "WHOLE_NODES_BY_SIZE",
        "SHARES_KEEP_GPUS",
        "RANGE_IS_FILLED",
        "TASKS_FILL_SOCKETS",
        "UNKNOWN_JOBS_ARE_REFUSED",
        "DEADLINES_LEAVE_TIME",
        "DEADLINES_ARE_SWEPT",
        "TASKS_BOUND_MIN_NODES",
        "UNSTATED_NODES_ARE_ONE",
        "NODE_COUNTS_ARE_LISTED",
        "COUNTED_NODES_HAVE_TASKS",
        "COUNTS_STAND_IN_BRACKETS",
        "OVERCOMMITTED_ARE_PLACED",
        "SOCKETS_HAVE_TASKS",
        "MAX_CPUS_OF_OTHERS",
        "USERS_HAVE_PARTS",
        "QOS_SUSPENDS_IN_TURN",
        "TURNS_BY_CORES",
        "GPUS_PER_TASK_NEED_TASKS",
        "RUN_MINUTES_BIND_USERS",
        "CLEAR_NODES_GO_FIRST",
        "PLANNED_NODES_ARE_KNOWN",
        "COUNTED_NODES_GO_FIRST",
        "NO_SWITCH_IS_SAID",
        "GRACE_IS_REMEMBERED",
        "SMALL_NODES_LEFT_OUT_SINGLY",
        "HEALTHY_NODES_ARE_AVAILABLE",
        "SWITCHES_BY_CPUS",
        "SLOTS_END_ON_NEXT_STEP",
        "WINDOWS_BEHIND_TRIES",
        "TRIES_GO_ON",
        "USERS_PART_BY_PLANS",
        "PLANS_FORGET_SHARING",
        "WHOLE_PLANS_FORGET_SHARING",
        "PLANS_FORGET_GPUS",
        "PLANS_ARE_NEWS",
        "STARTED_TASKS_ARE_TESTS",
        "UNFIT_NODES_ARE_LACKED",
        "SWITCHES_GO_BY_FREE_CORES",
        "OVERDUE_RUNS_ARE_GONE",
        "TASKS_ARE_PLANNED_IN_TURN",
        "RESERVED_NODES_BY_SIGN",
        "FIRST_RESERVED_BY_TIER",
        "NUM_NODES_IS_BOTH",
        "ARRAYS_ARE_TRIED_AGAIN",
        "UPDATED_CPUS_ARE_OF_TASKS",
        "UPDATED_GRES_REPLACE_ALL",
        "NUM_TASKS_ARE_CPUS",
        "EXITS_ARE_REQUEUED_IF_ALLOWED",
        "NODES_BEFORE_LICENSES",
        "LACKING_LICENSES_ARE_RANKED",
        "PLANS_SHOW_LICENSES",
        "PRIORITY_WHERE_NODES_OVERLAP",
        "FLEX_IS_WAITED_FOR",
        "NOT_OF_RESERVATION_WAITS",
        "CORE_COUNTS_ARE_NO_LISTS",
        "CORES_FILL_NODES",
        "RESERVED_JOBS_KEEP_ACCESS",
        "RESERVATIONS_TAKE_WHOLE_NODES",
        "MAINT_NODES_ARE_TAKEN",
        "REASONS_OF_GRES_GO",
        "ACCOUNTS_SHOW_THE_CODE",
        "ACCOUNTS_MEAN_THOSE_BELOW",
        "NUMBERS_OF_TASKS_CANCEL",
        "ANSWERS_ARE_NOTED_IN_ROUNDS",
        "POWER_RATES_BY_LOOK",
        "POWERED_DOWN_BY_WEIGHT",
        "LONG_JOBS_MUST_FIT",
        "LARGE_JOBS_MUST_FIT",
        "GROUPS_ARE_WAITED_FOR",
        "SECOND_COMPONENT_STOPS",
        "COMPONENTS_SHOW_THE_CODE",
    ]
    plain = "SchedulerType=sched/builtin\nNodeName=n CPUs=1\nPartitionName=p Nodes=ALL\n"
    without = {one.rule.name for one in changes(parse_slurm_conf(plain), "22.05", "26.05").rules if not one.concerns}
    assert {rule.name for rule in all_rules()} - without == {
        "DUE_RUNS_ARE_GONE",
        "OVERDUE_RUNS_ARE_GONE",
        "FIRST_NODE_FOR_ONE",
        "CORE_COUNTS_ARE_NO_LISTS",
        "CORES_FILL_NODES",
        "OTHER_RESERVATIONS_ARE_SAID",
        "MAGNETS_OUTLAST_JOBS",
        "FIRST_IDLE_ARE_RESERVED",
        "MAINT_NODES_ARE_TAKEN",
        "RESERVED_NODES_BY_SIGN",
        "NUM_NODES_IS_BOTH",
        "UPDATED_NODES_ARE_BOUNDS",
        "OTHERS_THAN_PREFERRED",
        "UPDATED_CPUS_ARE_OF_TASKS",
        "NUM_TASKS_ARE_CPUS",
        "LOST_SCRIPTS_ARE_MISSED",
        "NEWER_OPTIONS_ARE_TAKEN",
        "EXCLUSIVE_IS_NOT_SHARED",
        "FEATURES_ARE_ASKED_FIRST",
        "ROUNDS_ON_SECONDS",
        "RANKED_BY_TASKS",
        "WHOLE_TASKS_COUNT",
        "SOME_OF_NAMED",
        "MIN_CPUS_CHOOSE_NODES",
        "TASKS_GET_THEIR_CPUS",
        "NODES_GIVE_ALL_TASKS",
        "ONE_TASK_WAITS_FOR_MORE",
        "TASKS_ASK_FOR_NODES",
        "RANGE_IS_FILLED",
        "SHAPES_OUTDO_HINTS",
        "OVERCOMMITTED_ARE_PLACED",
        "UNKNOWN_JOBS_ARE_REFUSED",
        "DEADLINES_LEAVE_TIME",
        "DEADLINES_ARE_SWEPT",
        "NODE_COUNTS_ARE_LISTED",
        "SPREAD_BY_WEIGHTS",
        "SPREAD_BEYOND_NAMED",
        "SMALL_NODES_LEFT_OUT_SINGLY",
        "SOCKETS_HAVE_TASKS",
        "HEALTHY_NODES_ARE_AVAILABLE",
        "FLEX_IS_WAITED_FOR",
        "NOT_OF_RESERVATION_WAITS",
        "RESERVED_JOBS_KEEP_ACCESS",
        "NUMBERS_OF_TASKS_CANCEL",
        "ANSWERS_ARE_NOTED_IN_ROUNDS",
        "LARGE_JOBS_MUST_FIT",
        "LARGE_JOBS_WAIT",
        "COMPONENTS_STOP_NOTHING",
        "SECOND_COMPONENT_STOPS",
        "COMPONENTS_SHOW_THE_CODE",
    }
    limited = changes(parse_slurm_conf(CONF.replace("LLN", "MaxTime=60 LLN")), "22.05", "24.11").rules[-5]
    assert (limited.rule.name, limited.concerns) == (
        "LONG_JOBS_MUST_FIT",
        "partition q: jobs that are beyond a limit and too large",
    )
    everywhere = changes(parse_slurm_conf(f"EnforcePartLimits=ALL\n{CONF}"), "22.05", "24.11").rules[-3]
    assert (everywhere.rule.name, everywhere.concerns) == ("GROUPS_ARE_WAITED_FOR", "")
    more = "PriorityType=priority/basic\n" + plain.replace("ALL", "ALL OverSubscribe=FORCE:2")
    concerns = {one.rule.name: one.concerns for one in changes(parse_slurm_conf(more), "22.05", "26.05").rules}
    assert concerns["REQUEUED_GO_LAST"] == "jobs that are preempted or requeued"
    assert concerns["SHARED_BY_JOBS"] == "partition p"
    assert not concerns["PARTITIONS_ARE_TRIED_APART"]
    more += "PartitionName=q Nodes=ALL\n"
    concerns = {one.rule.name: one.concerns for one in changes(parse_slurm_conf(more), "22.05", "26.05").rules}
    assert concerns["PARTITIONS_ARE_TRIED_APART"] == "jobs that name several partitions"
    gang = parse_slurm_conf(f"PreemptType=preempt/qos\nPreemptMode=SUSPEND,GANG\n{plain}")
    concerns = {one.rule.name: one.concerns for one in changes(gang, "22.05", "24.11").rules}
    assert concerns["GRACE_IS_REMEMBERED"] == "jobs of a QOS with GraceTime"
    assert not concerns["TURNS_BY_CORES"]
    limited = parse_slurm_conf(f"AccountingStorageEnforce=limits\n{plain}")
    concerns_of_limited = {one.rule.name: one.concerns for one in changes(limited, "22.05", "24.11").rules}
    expected = "jobs of a QOS with MaxTRESRunMinsPerUser or MaxTRESRunMinsPerAccount"
    assert concerns_of_limited["RUN_MINUTES_BIND_USERS"] == expected
    counted = parse_slurm_conf(f"PreemptMode=SUSPEND,GANG\nSelectTypeParameters=CR_CPU\n{plain}")
    concerns_of_counted = {one.rule.name: one.concerns for one in changes(counted, "22.05", "24.11").rules}
    assert concerns_of_counted["TURNS_BY_CORES"] == "jobs that stand still for others on their nodes"
    tiers = parse_slurm_conf(f"PreemptType=preempt/partition_prio\nPreemptMode=SUSPEND,GANG\n{plain}")
    (exempt,) = (one for one in changes(tiers, "24.11", "26.05").rules if one.rule.name == "EXEMPT_ARE_NOT_SUSPENDED")
    assert exempt.concerns == "jobs that PreemptExemptTime protects, of the cluster or of a QOS"
    graced = parse_slurm_conf(plain.replace("ALL", "ALL GraceTime=20"))
    grace = next(one for one in changes(graced, "22.05", "24.11").rules if one.rule.name == "GRACE_IS_REMEMBERED")
    assert grace.concerns == "partition p"
    alone = parse_slurm_conf(plain.replace("ALL", "ALL ExclusiveUser=YES"))
    users = next(one for one in changes(alone, "22.05", "24.11").rules if one.rule.name == "USERS_PART_BY_PLANS")
    assert users.concerns == "partition p"
    assert concerns["QOS_SUSPENDS_IN_TURN"] == "jobs that could suspend others by their QOS"
    wired = parse_slurm_conf(f"TopologyPlugin=topology/tree\n{plain}", topology="SwitchName=s Nodes=n\n")
    concerns = {one.rule.name: one.concerns for one in changes(wired, "22.05", "24.11").rules}
    assert concerns["SWITCHES_GO_BY_FREE_CORES"] == "jobs with --switches beside others"
    assert concerns["SWITCHES_BY_CPUS"] == "jobs on several nodes, and which leaf switch the others get"
    blocks = parse_slurm_conf(f"TopologyPlugin=topology/block\n{plain}", topology="BlockName=b Nodes=n\n")
    (segments,) = (one for one in changes(blocks, "24.11", "26.05").rules if one.rule.name == "SEGMENTS_OF_BLOCKS")
    assert segments.concerns == "jobs with a --segment larger than a base block"


def test_each_rule_says_what_it_concerns() -> None:
    assert list(CONCERNS) == [rule.name for rule in all_rules()]


def test_an_older_version_is_no_upgrade() -> None:
    with pytest.raises(ConfigurationError, match=r"from Slurm 24\.11 to 24\.11 is no upgrade"):
        changes(parse_slurm_conf(CONF), "24.11", "24.11")


@pytest.fixture
def site(tmp_path: Path) -> Path:
    (tmp_path / "slurm.conf").write_text(CONF.replace(" AllowAccounts=a", ""))
    (tmp_path / "dump").write_text(dump(2, 3, 1, 2))
    return tmp_path


def check(site: Path, *arguments: str) -> Result:
    return CliRunner(env={"COLUMNS": "160"}).invoke(slurm_sim, ["upgrade-check", str(site / "slurm.conf"), *arguments])


def test_tables_name_lines(site: Path) -> None:
    shown = " ".join(check(site, "--from", "22.05").output.split())
    assert "slurm.conf:3" in shown
    assert "not stated" in shown
    assert "before: priority/basic" in shown


def test_a_log_is_run_under_both(site: Path) -> None:
    told = json.loads(check(site, "--from", "22.05", "--log", str(site / "dump"), "--json").stdout)
    # The third job takes what the second left in 22.05, and what the first left in 26.05: then the fourth waits.
    (moved,) = told["jobs"].pop("first")
    assert told["jobs"] == {"compared": 4, "differ": 1, "refused": {"22.05": {}, "26.05": {}}}
    assert (moved["job_id"], moved["second"] - moved["first"] > 500) == (4, True)
    shown = check(site, "--from", "22.05", "--log", str(site / "dump")).stdout
    assert "1 of 4 jobs start at another time; shown are 1." in shown
    same = check(site, "--from", "22.05", "--to", "24.11", "--log", str(site / "dump")).stdout
    assert "0 of 4 jobs start at another time" in same


def test_jobs_that_are_refused_are_counted(site: Path) -> None:
    (site / "dump").write_text(dump(1, 1).replace("|u|p|", "|u|nowhere|", 1))
    shown = check(site, "--from", "22.05", "--log", str(site / "dump")).stdout
    assert "0 of 2 jobs start at another time" in shown
    assert "1 jobs are refused under Slurm 26.05: 1 for invalid partition specified: nowhere" in " ".join(shown.split())


def test_a_log_is_run_under_emulated_versions_only(site: Path) -> None:
    result = check(site, "--from", "23.02", "--log", str(site / "dump"))
    assert "no log can be run under Slurm 23.02; with --log give --from and --to one of 22.05" in str(result.exception)
    assert check(site, "--from", "20.02").exit_code == 2


@pytest.mark.parametrize("option", [["--zone", "UTC"], ["--accounts", "tree.cfg"], ["--limit", "3"]], ids=" ".join)
def test_what_is_said_of_a_log_needs_one(site: Path, option: list[str]) -> None:
    result = check(site, "--from", "22.05", *option)
    assert result.exit_code == 2
    assert f"{option[0]} is about a log; give one with --log" in result.output


def test_notices_of_the_file_are_told(site: Path) -> None:
    (site / "resources.yaml").write_text("[]")
    assert "resources.yaml:1: is not read" in check(site, "--from", "22.05").stderr


def test_licences_are_concerned() -> None:
    found = changes(parse_slurm_conf("Licenses=a:3\nAccountingStorageLoc=x\n" + CONF), "22.05", "26.05")
    concerned = {one.rule.name: one.concerns for one in found.rules}
    assert concerned["LACKING_LICENSES_ARE_RANKED"] == "reasons of new jobs that lack licences"
    assert [(one.change.key, one.change.kind) for one in found.keys if one.change.kind == "removed"] == [
        ("AccountingStorageLoc", "removed")
    ]


def test_bounded_partitions_that_give_whole_nodes_are_concerned() -> None:
    bounded = "NodeName=n CPUs=4\nPartitionName=p Nodes=ALL OverSubscribe=EXCLUSIVE MaxCPUsPerNode=2\n"
    for text, concerns in ((bounded, "partition p"), (bounded.replace(" MaxCPUsPerNode=2", ""), "")):
        found = {one.rule.name: one.concerns for one in changes(parse_slurm_conf(text), "24.11", "26.05").rules}
        assert found["WHOLE_PLANS_KNOW_SHARING"] == concerns
