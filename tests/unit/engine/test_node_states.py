"""Nodes that fail, go down and come back: what becomes of their jobs, and where it is shown."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner

from emulator.accounting.runfolder import read_run
from emulator.api import simulate
from emulator.cli import slurm_sim
from emulator.config.node_events import read_node_events
from emulator.config.operation import NodeEvent, Operation
from emulator.config.slurm import parse_slurm_conf
from emulator.config.slurm.controller import Timing
from emulator.engine.controller import Controller
from emulator.explain.story import tell
from emulator.operator.scontrol import scontrol
from emulator.result import Result
from emulator.views.recorded import RecordedCluster
from emulator.workload.request import JobRequest
from emulator.workload.sbatch import parse_sbatch
from emulator.workload.submissions import Submissions
from slurm_sim_plugins import ConfigurationError, InputError

CONF = """
ClusterName=small
SchedulerType=sched/backfill
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
NodeName=n[1-4] CPUs=2
PartitionName=lo Nodes=ALL Default=YES MaxTime=INFINITE
"""
MANY = [f"-n{1 + number % 6} -t 100" + " --no-requeue" * (number % 3 == 0) for number in range(60)]


def run(words: list[str], operation: Operation, work: float = 1000.0, conf: str = CONF, **options: object) -> Result:
    """Jobs 1, 2, ... that are submitted ten seconds after each other."""
    requests = [
        JobRequest(number, 10.0 * number, work, parse_sbatch(line.split())) for number, line in enumerate(words, 1)
    ]
    return simulate(
        Submissions(requests, "jobs", 1_000_000_000), parse_slurm_conf(conf), operation=operation, **options
    )


def event(at: float, nodes: str, state: str) -> NodeEvent:
    return NodeEvent(at, tuple(nodes.split(",")), state, "power supply", "events:1")


def test_a_job_on_a_node_that_goes_down_is_requeued_or_fails_as_it_says(tmp_path: Path) -> None:
    operation = Operation(node_events=(event(500, "n1,n2", "DOWN"), event(3000, "n1,n2", "UP")))
    result = run(["-n2", "-n2 --no-requeue", "-n2", "-N4 --exclusive"], operation, out=tmp_path / "out")
    jobs = result.records.jobs
    assert jobs["state"].tolist() == ["COMPLETED", "NODE_FAIL", "COMPLETED", "COMPLETED"]
    runs = result.records.runs
    assert runs["outcome"][runs["job_id"] == 1].tolist() == ["NODE_FAIL", "COMPLETED"]
    assert jobs["start"][3] >= 3000, "it needs all nodes"
    story = [step.text for step in tell(read_run(tmp_path / "out"), 1).steps]
    assert "its node n1 is DOWN from now on (power supply)" in story
    assert "sent back to the queue (NodeDown)" in story
    seen = {node.name: node.state for node in RecordedCluster.read(tmp_path / "out").nodes(600)}
    assert seen["n1"] == seen["n2"] == "down"
    assert seen["n3"] != "down"
    assert result.about["operation"]["node_events"][0]["state"] == "DOWN"


def test_nothing_is_requeued_where_the_cluster_says_so() -> None:
    operation = Operation(node_events=(event(500, "n1", "DOWN"),))
    found = run(["-n2", "-n2 --requeue"], operation, conf=CONF.replace("SelectType=", "JobRequeue=0\nSelectType=", 1))
    assert found.records.jobs["state"].tolist()[0] == "NODE_FAIL"
    both = Operation(node_events=(event(500, "n1,n2", "DOWN"),))
    found = run(["-n2", "-n2 --requeue"], both, conf=CONF.replace("SelectType=", "JobRequeue=0\nSelectType=", 1))
    assert found.records.jobs["state"].tolist() == ["NODE_FAIL", "COMPLETED"]


def test_drained_nodes_let_their_jobs_end() -> None:
    found = run(["-n2", "-n8"], Operation(node_events=(event(500, "n1", "DRAIN"), event(4000, "n1", "UP"))))
    assert found.records.jobs["state"].tolist() == ["COMPLETED", "COMPLETED"]
    assert found.records.jobs["end"][0] == pytest.approx(1010, abs=3)
    assert found.records.jobs["start"][1] >= 4000


def test_suspended_and_ending_jobs_end_with_their_node() -> None:
    conf = CONF.replace("ClusterName", "PreemptType=preempt/partition_prio\nPreemptMode=SUSPEND,GANG\nClusterName")
    conf += "PartitionName=hi Nodes=ALL PriorityTier=5\n"
    operation = Operation(node_events=(event(500, "n1", "DOWN"), event(500.1, "n1", "DOWN"), event(600, "n1", "UP")))
    found = run(["-wn1 -n2 --no-requeue", "-phi -wn1 -n2"], operation, conf=conf)
    assert found.records.jobs["state"].tolist() == ["NODE_FAIL", "COMPLETED"]


@pytest.mark.parametrize(("resumed", "start"), [(33.0, 33.5), (33.3, 36.5)])
def test_a_node_that_says_that_its_job_is_over_is_back(resumed: float, start: float) -> None:
    conf = parse_slurm_conf("SchedulerParameters=bf_interval=300\nNodeName=n1\nPartitionName=p Nodes=n1 Default=YES")
    commands = [(10.0, "update NodeName=n1 State=DRAIN Reason=x"), (resumed, "update NodeName=n1 State=RESUME")]
    jobs = [JobRequest(number, at, 29.35, parse_sbatch(["-n1"])) for number, at in ((1, 1.0), (2, 12.0))]
    timing = Timing(submit_lag=0.0, end_lag=0.0, round=1.0, round_phase=0.5, uptime=0.0)
    actions = [(at, partial(scontrol, command)) for at, command in commands]
    controller = Controller(conf, jobs, actions, timing, slurm_version="22.05")
    controller.run(100.0)
    first, second = (job.runs[0] for job in controller.cluster.jobs.values())
    assert first.end == pytest.approx(33.2)
    assert second.start == pytest.approx(start, abs=0.6)


@pytest.mark.parametrize(
    ("state", "back", "starts"),
    [("DRAIN", "UNDRAIN", True), ("DOWN", "UNDRAIN", False), ("DOWN", "RESUME", True), ("FAIL", "RESUME", True)],
)
def test_undrain_leaves_nodes_down_that_are(state: str, back: str, starts: bool) -> None:
    """As Slurm's documentation of ``scontrol`` has it; ``DRAIN`` and ``DOWN`` need a reason there."""
    conf = parse_slurm_conf("NodeName=n1\nPartitionName=p Nodes=n1 Default=YES")
    commands = [(10.0, f"update NodeName=n1 State={state} Reason=x"), (50.0, f"update NodeName=n1 State={back}")]
    actions = [(at, partial(scontrol, command)) for at, command in commands]
    controller = Controller(conf, [JobRequest(1, 20.0, 30.0, parse_sbatch(["-n1"]))], actions, slurm_version="26.05")
    controller.run(300.0)
    assert bool(controller.cluster.jobs[1].runs) == starts


def failures(seed: int, tmp_path: Path, **options: object) -> tuple[list[str], Result]:
    out = tmp_path / f"{seed}-{len(list(tmp_path.iterdir()))}"
    result = run(MANY, Operation(mtbf=4000.0, mttr=300.0), seed=seed, out=out, **{"compiled": True, **options})
    return [line for line in (out / "events.jsonl").read_text().splitlines() if '"event":"nodes"' in line], result


@pytest.mark.slow
def test_failures_are_those_of_the_seed_and_of_no_policy(tmp_path: Path) -> None:
    first, result = failures(1, tmp_path)
    again, same = failures(1, tmp_path)
    assert first == again
    assert result.records.jobs["end"].tolist() == same.records.jobs["end"].tolist()
    assert {"NODE_FAIL", "COMPLETED"} <= set(result.records.jobs["state"].tolist())
    assert failures(2, tmp_path)[0][:5] != first[:5]
    other, in_order = failures(1, tmp_path, scheduler="sched/builtin")
    assert in_order.records.jobs["start"].tolist() != result.records.jobs["start"].tolist()
    both = min(len(first), len(other))
    assert both > 20
    assert first[:both] == other[:both]


@pytest.mark.slow
def test_their_times_have_the_means_that_were_asked_for() -> None:
    found = run(["-n1 -t UNLIMITED"] * 100, Operation(mtbf=50_000.0, mttr=5_000.0), work=100_000.0, compiled=True)
    runs = found.records.runs
    failed = sum(outcome == "NODE_FAIL" for outcome in runs["outcome"].tolist())
    # Two runs a node end with it: each node is busy, so that they are twice as many as failures.
    expected = 2 * 4 * float(runs["end"].max()) / 55_000.0
    assert failed == pytest.approx(expected, rel=0.25)


@pytest.mark.slow
@pytest.mark.compiled
def test_compiled_code_meets_them_as_plain_python_does(tmp_path: Path) -> None:
    compiled, plain = (failures(5, tmp_path, compiled=each)[1].records.runs for each in (True, False))
    assert compiled["start"].tolist() == plain["start"].tolist()
    assert compiled["outcome"].tolist() == plain["outcome"].tolist()


def test_jobs_that_wait_for_ever_do_not_keep_failures_coming() -> None:
    down = Operation(mtbf=4000.0, node_events=(event(0, "n1", "DOWN"),))
    assert "PENDING" in next(iter(run(["-n8"], down).about["unfinished"]))


def test_nor_does_work_without_end_that_was_ended() -> None:
    """The end of such work lies far in the future, of a run that is over."""
    down = Operation(mtbf=4000.0, node_events=(event(0, "n1", "DOWN"),))
    jobs = run(["-n1 -t 5", "-n8"], down, work=1e9).records.jobs
    assert jobs["state"].tolist() == ["TIMEOUT", "PENDING"]
    assert jobs["end"][0] < 1000


def test_the_ideal_clock_knows_them() -> None:
    operation = Operation(node_events=(event(500, "n1", "DOWN"), event(3000, "n1", "UP")))
    found = run(["-n2 --no-requeue", "-n8"], operation, clock="ideal")
    assert found.records.jobs["end"][0] == 500
    assert found.records.jobs["start"][1] == 3000


def test_files_of_events(tmp_path: Path) -> None:
    file = tmp_path / "events"
    file.write_text("# s nodes state\n7200 n1 up\n3600.5 n[1-2] down kernel panic\n7200 n1 Drain x\n")
    found = [(one.at, one.nodes, one.state, one.reason, one.location) for one in read_node_events(file)]
    assert found == [
        (3600.5, ("n1", "n2"), "DOWN", "kernel panic", "events:3"),
        (7200, ("n1",), "UP", "", "events:2"),
        (7200, ("n1",), "DRAIN", "x", "events:4"),
    ]
    file.write_text(
        "Cluster|NodeName|TimeStart|TimeEnd|State|Reason|User\n"
        "small||2001-09-09T01:46:40|Unknown||Cluster Registered TRES|\n"
        "small|n1|2001-09-09T01:55:00|2001-09-09T02:55:00|DOWN*|Not responding|slurm(1)\n"
        "small|n2|2001-09-09T01:56:40+00:00|Unknown|DRAIN|disk|root(0)\n"
    )
    assert [(one.at - 1_000_000_000, *one.nodes, one.state, one.reason) for one in read_node_events(file)] == [
        (500, "n1", "DOWN", "Not responding"),
        (600, "n2", "DRAIN", "disk"),
        (4100, "n1", "UP", "Not responding"),
    ]
    result = run(["-wn1 -n2 --no-requeue"], Operation(node_events=tuple(read_node_events(file))))
    assert result.records.jobs["end"][0] == pytest.approx(500, abs=2)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("10 n1\n", ":1: is no event of a node: the state is ''"),
        ("10 n1 broken\n", "the state is 'broken'; it is one of DOWN, DRAIN, UP"),
        ("soon n1 DOWN\n", "'soon' is no second"),
        ("1 n1 UP\n10 n[1- DOWN\n", ":2: is no event of a node"),
        ("NodeName|State\nn1|DOWN\n", "has no column timestart"),
        ("NodeName|Start|End|State\nn1|2001-01-01|Unknown|PURPLE\n", "the state is 'PURPLE'"),
        ("NodeName|Start|End|State\nn1|Unknown|Unknown|DOWN\n", "it does not say when it began"),
        ("NodeName|Start|End|State\nn1|yesterday|Unknown|DOWN\n", "is no time such as"),
        ("NodeName|Start|End|State\nn1|2001-01-01\n", ":2: is no event of a node"),
    ],
)
def test_what_is_wrong_in_them_is_told_with_its_line(text: str, words: str, tmp_path: Path) -> None:
    file = tmp_path / "events"
    file.write_text(text)
    with pytest.raises(InputError) as error:
        read_node_events(file)
    assert words in str(error.value)
    assert str(file) in str(error.value)


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="events:1: there is no node 'n9'"):
        run(["-n1"], Operation(node_events=(event(1, "n9", "DOWN"),)))
    dated = NodeEvent(1e9, ("n1",), "DOWN", "", "events:4", dated=True)
    requests = [JobRequest(1, 0.0, 1.0, parse_sbatch(["-n1"]))]
    with pytest.raises(ConfigurationError, match="events:4: has a date"):
        simulate(requests, parse_slurm_conf(CONF), operation=Operation(node_events=(dated,)))
    for wrong in ({"mtbf": -1.0}, {"mttr": float("nan")}, {"mtbf": True}):
        with pytest.raises(ConfigurationError, match=r"operation\.mt"):
            Operation(**wrong)


@pytest.mark.slow
def test_the_command_line_and_experiments_take_them(tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_text(CONF)
    line = "-dt {} -e submit_batch_job | -sim-walltime 1000 --uid=ada -n 2 -t 50 x\n"
    (tmp_path / "a.events").write_text("".join(line.format(at) for at in range(1, 41)))
    (tmp_path / "down").write_text("500 n1 DOWN\n")
    (tmp_path / "study.toml").write_text('[operation]\nmtbf = 9000\nmttr = 60\nnode_events = "down"\n')

    def command(*words: str) -> str:
        done = CliRunner().invoke(slurm_sim, words)
        assert done.exit_code == 0, done.output + repr(done.exception)
        return done.output

    site = [str(tmp_path / "a.events"), "--slurm-conf", str(tmp_path / "slurm.conf")]
    given = ["--operation", "mtbf=9000", "--operation", "mttr=60", "--operation", f"node_events={tmp_path / 'down'}"]
    command("run", *site, *given, "--out", str(tmp_path / "one"))
    command("run", *site, "--experiment", str(tmp_path / "study.toml"), "--out", str(tmp_path / "two"))
    one, two = ((tmp_path / name / "events.jsonl").read_bytes() for name in ("one", "two"))
    assert one == two
    assert b'"reason":"failure"' in one
    assert b"NODE_FAIL" in one or b"NodeDown" in one
    assert "FCFS" in command("compare", *site, *given)
    trace = tmp_path / "x.swf"
    trace.write_text("; MaxProcs: 8\n1 0 -1 10 2 -1 -1 2 20 -1 1 1 1 1 1 1 -1 -1\n")
    refused = CliRunner().invoke(slurm_sim, ["run", str(trace), *given])
    assert isinstance(refused.exception, ConfigurationError)
    assert "goes with a slurm.conf" in str(refused.exception)
    for wrong in ("mtbf=soon", "mtbs=3", "mtbf"):
        assert isinstance(
            CliRunner().invoke(slurm_sim, ["run", *site, "--operation", wrong]).exception, ConfigurationError
        )


def test_a_site_replays_its_log_with_its_own_events(tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_text(CONF)
    (tmp_path / "march.sacct").write_text(
        "JobID|Submit|State|ElapsedRaw|TimelimitRaw|ReqCPUS|ReqNodes|Start|End|Partition|User\n"
        "1|2021-03-01T00:00:00|NODE_FAIL|600|20|2|1|2021-03-01T00:00:00|2021-03-01T00:10:00|lo|ann\n"
        "2|2021-03-01T00:01:00|COMPLETED|600|20|8|4|2021-03-01T01:00:00|2021-03-01T01:10:00|lo|bob\n"
    )
    (tmp_path / "events").write_text(
        "NodeName|TimeStart|TimeEnd|State|Reason\nn[1-4]|2021-03-01T00:05:00|2021-03-01T01:00:00|DOWN|power\n"
    )
    words = ["replay", str(tmp_path / "march.sacct"), "--slurm-conf", str(tmp_path / "slurm.conf"), "--out"]
    done = CliRunner().invoke(
        slurm_sim, [*words, str(tmp_path / "out"), "--operation", f"node_events={tmp_path / 'events'}"]
    )
    assert done.exit_code == 0, done.output + repr(done.exception)
    runs = read_run(tmp_path / "out").records.runs
    assert runs["outcome"].tolist()[0] == "NODE_FAIL"
    assert runs["end"][0] == pytest.approx(300, abs=2)
    assert runs["start"][runs["job_id"] == 2][0] >= 3600
