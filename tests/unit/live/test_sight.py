"""What Slurm 22.05 prints, as it was printed, and names that try to pass for more than names."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from emulator.live.marks import Marks
from emulator.live.sight import FIELDS, parse_job, parse_nodes, parse_queue, queue_format, takes_jobs
from emulator.live.slurm import Hand, Slurm
from emulator.workload.sbatch import TaskArray
from slurm_sim_plugins.errors import ConfigurationError, InputError

ROW = {
    "id": "5",
    "array": "2",
    "task": "1",
    "state": "RUNNING",
    "partition": "batch",
    "user": "root",
    "account": "(null)",
    "qos": "(null)",
    "submit": "1795440540",
    "start": "1795440541",
    "limit": "3:00",
    "priority": "1",
    "nodes": "n[2-3]",
    "required": "",
    "nice": "0",
    "reservation": "(null)",
    "size": "2 6 100M 2",
    "dependency": "(null)",
    "reason": "None",
    "comment": "(null)",
    "name": "wrap",
}
RUNNING = (
    "JobId=5 ArrayJobId=2 ArrayTaskId=1 ArrayTaskThrottle=2 JobName=wrap UserId=root(0) GroupId=root(0) MCS_label=N/A "
    "Priority=1 Nice=0 Account=(null) QOS=(null) JobState=RUNNING Reason=None Dependency=(null) Requeue=1 Restarts=0 "
    "BatchFlag=1 Reboot=0 ExitCode=0:0 DerivedExitCode=0:0 RunTime=00:00:01 TimeLimit=00:03:00 TimeMin=00:03:00 "
    "SubmitTime=1795440540 EligibleTime=1795440540 AccrueTime=1795440540 StartTime=1795440541 EndTime=1795440721 "
    "Deadline=N/A SuspendTime=None SecsPreSuspend=0 LastSchedEval=1795440541 Scheduler=Backfill Partition=batch "
    "AllocNode:Sid=vm:14326 ReqNodeList=(null) ExcNodeList=(null) NodeList=n[2-3] BatchHost=n2 NumNodes=2 NumCPUs=6 "
    "NumTasks=3 CPUs/Task=2 ReqB:S:C:T=0:0:*:* TRES=cpu=6,node=2,billing=6 Socks/Node=* NtasksPerN:B:S:C=0:0:*:* "
    "CoreSpec=* JOB_GRES=(null)   Nodes=n2 CPU_IDs=0-3 Mem=0 GRES=   Nodes=n3 CPU_IDs=0-1 Mem=0 "
    "GRES=gpu:a:2(IDX:0-1,3) MinCPUsNode=2 MinMemoryNode=100M MinTmpDiskNode=2G Features=(null) DelayBoot=00:00:00 "
    "OverSubscribe=OK Contiguous=0 Licenses=lic:2 Network=(null) Command=(null) WorkDir=/tmp Comment=QOS=high \n"
)
WAITING = (
    "JobId=3 JobName={name} UserId=root(0) JobState=PENDING Reason=Resources, and more Requeue=0 Restarts=0 "
    "TimeMin=N/A EligibleTime=Unknown StartTime=1795440841 EndTime=1795441021 ExcNodeList=n[7-8] NodeList= "
    "SchedNodeList=n[1-8] NumNodes={nodes} NumCPUs=8 NumTasks=8 CPUs/Task=1 NtasksPerN:B:S:C=2:0:*:* MinCPUsNode=1 "
    "MinMemoryCPU=2G Features=a&b OverSubscribe=NO Contiguous=1 Licenses=(null) "
    "TresPerNode=gres:gpu:a:2,gres:tape:1 Command=(null)\n"
)


def printed(*rows: dict[str, str], separator: str = "|x|") -> str:
    return "".join(separator + separator.join(row.values()) + separator + "\n" for row in rows)


def one(**values: str):
    return parse_queue(printed({**ROW, **values}), "|x|")[0]


def test_the_format_asks_for_each_field_once():
    assert queue_format("|x|").split("|x|") == ["", *FIELDS.values(), ""]
    assert list(ROW) == list(FIELDS)


def test_a_task_of_an_array_keeps_its_name_and_number_when_it_gets_an_id_of_its_own():
    apart, together = one(), one(id="2", state="PENDING", nodes="")
    assert apart.label == together.label == "2_1"
    assert apart.number == together.number
    assert (apart.start, apart.limit, apart.account) == (1795440541.0, 180.0, "")
    assert one(array="5", task="N/A").label == "5"


def test_a_name_with_lines_and_fields_is_a_name():
    evil = "x\n|0|7|7|RUNNING|\nJobId=9 QOS=high"
    first, second = parse_queue(printed({**ROW, "name": evil}, ROW), "|x|")
    assert (first.name, second.name) == (evil, "wrap")


@pytest.mark.parametrize("values", [{"submit": "yesterday"}, {"id": ""}, {"priority": "high"}])
def test_what_cannot_be_read_is_told(values):
    with pytest.raises(InputError, match="cannot be read"):
        one(**values)
    with pytest.raises(InputError, match="multiple"):
        parse_queue("|x|1|x|2|x|\n", "|x|")


def test_limits_without_bound():
    assert one(limit="UNLIMITED").limit == one(limit="INVALID").limit == math.inf
    assert one(limit="1-00:00:00").limit == 86400


def test_what_a_running_task_has():
    asked = parse_job(RUNNING, one())
    assert asked is not None
    assert [(group[0], group[1], group[2]) for group in asked.has] == [(("n2",), 4, 0), (("n3",), 2, 0)]
    assert [(kind.name, kind.type, kind.count) for kind in asked.has[1][3]] == [("gpu", "a", 2)]
    options = asked.options
    assert (options.tasks, options.cpus_per_task, options.memory_per_node, options.min_cpus) == (3, 2, 100, 2)
    assert options.tmp_disk == 2048
    assert options.array == TaskArray((1,), 2)
    assert options.licenses == (("lic", 2),)
    assert options.time_min == 180.0
    assert (asked.nodes, asked.end) == ("n[2-3]", 1795440721.0)


@pytest.mark.parametrize(("shown", "bounds"), [("8-8", (8, 8)), ("1-3", (1, 3)), ("1", (None, None)), ("2", (2, None))])
def test_what_a_waiting_job_asks_for(shown, bounds):
    sight = one(id="3", array="3", task="N/A", state="PENDING", nodes="", required="n1")
    asked = parse_job(WAITING.format(name="wrap", nodes=shown), sight)
    assert asked is not None
    options = asked.options
    assert (options.min_nodes, options.max_nodes) == bounds
    assert (options.exclusive, options.contiguous, options.requeue) == (True, True, False)
    assert (options.memory_per_cpu, options.tasks_per_node, options.constraint) == (2048, 2, "a&b")
    assert (options.node_list, options.exclude) == (("n1",), ("n7", "n8"))
    assert [(kind.name, kind.type, kind.count) for kind in options.gres] == [("gpu", "a", 2), ("tape", "", 1)]


@pytest.mark.parametrize(("shown", "exclusive"), [("NO", False), ("NODE", True), ("USER", True)])
def test_what_a_job_of_26_05_asks_for(shown, exclusive):
    sight = one(id="3", array="3", task="N/A", state="PENDING", nodes="", required="")
    text = WAITING.format(name="wrap SLUID=s3CXM84W13YR00", nodes="1")
    asked = parse_job(text.replace("OverSubscribe=NO", f"OverSubscribe=NO Exclusive={shown}"), sight)
    assert asked is not None
    assert asked.options.exclusive is exclusive
    assert asked.options.tasks == 8


@pytest.mark.parametrize("number", ["7", "70"])
def test_a_component_of_a_heterogeneous_job_is_one(number):
    """Slurm shows the others between its name and its user."""
    plain = WAITING.format(name="wrap", nodes="1")
    text = plain.replace(
        " JobName=wrap", f" HetJobId={number} HetJobOffset=1 JobName=wrap HetJobIdSet={number}-{number}1"
    )
    sight = one(id="3", array="3", task="N/A", state="PENDING", nodes="", required="")
    found = [parse_job(each, sight) for each in (plain, text)]
    assert [None if asked is None else asked.component for asked in found] == [False, True]


def test_a_hostile_name_states_no_fields():
    evil = "x UserId=ann(1) NumTasks=99\nJobId=4 Command="
    sight = one(id="3", array="3", task="N/A", state="PENDING", name=evil)
    asked = parse_job(WAITING.format(name=evil, nodes="1"), sight)
    assert asked is not None
    assert asked.options.tasks == 8
    # The job has another name by now, or it is another job: nothing is believed.
    assert parse_job(WAITING.format(name="wrap", nodes="1"), sight) is None
    assert parse_job("slurm_load_jobs error: Invalid job id specified\n", sight) is None


def test_a_job_that_cannot_be_read_is_named():
    with pytest.raises(InputError, match="job 2_1"):
        parse_job(RUNNING.replace("NumNodes=2", "NumNodes=some"), one())


@pytest.mark.parametrize(
    ("state", "takes"),
    [("idle", True), ("mixed", True), ("allocated", True), ("planned", True), ("completing", True), ("idle*", False)]
    + [(state, False) for state in ("down", "drained", "draining", "down*", "maint", "reserved", "mixed-drain")],
)
def test_which_nodes_take_jobs(state, takes):
    assert takes_jobs(state) is takes


def test_nodes_in_several_partitions_are_one():
    assert parse_nodes("n1 idle\nn1 idle\nn2 mixed-\n\n") == {"n1": "idle", "n2": "mixed-"}


def test_marks():
    marks = Marks.of("user=ann,user=bob,partition=batch")
    job = one(user="bob")
    assert marks.fit(job)
    assert not marks.fit(replace(job, partition="batch,fast"))
    assert not marks.fit(replace(job, user="eve"))
    assert Marks.of(None).fit(job)
    for wrong in ("", "user", "user=", "name=x", "user=ann;qos=b,x"):
        with pytest.raises(ConfigurationError, match="KEY=VALUE"):
            Marks.of(wrong)


def test_answers_are_told_apart_whatever_a_terminal_shows_of_the_commands(monkeypatch):
    def scontrol(self, words, given=None):
        fence = given.splitlines()[1].split()[-1]
        return (
            f"scontrol: hold 1,2\nscontrol: show hostnames {fence}\n{fence}\n"
            f"scontrol: \r<4,145,98,150\nInvalid job id specified for job 150\nscontrol: \r<ames {fence}\n{fence}\n"
            f"Invalid job id specified\n{fence}\nscontrol: \n"
        )

    monkeypatch.setattr(Slurm, "_run", scontrol)
    answers = Hand().write(["hold 1,2", "hold 144,145,98,150", "release 7"])
    assert answers == ["", "Invalid job id specified for job 150", "Invalid job id specified"]
