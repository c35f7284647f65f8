"""A finished run as squeue, sinfo and sacct show it, and a dump that is read again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.api import simulate
from emulator.cli import slurm_sim
from emulator.config.slurm import parse_slurm_conf
from emulator.config.slurm.controller import Timing
from emulator.views.clock import Clock, full, short, size
from emulator.views.columns import Column, Field, Fields, Style, accounting_table, table
from emulator.views.recorded import RecordedCluster
from emulator.views.sacct import FIELDS, WORKLOAD, shown
from emulator.views.squeue import Wanted
from emulator.workload.request import JobRequest
from emulator.workload.sacct import read_sacct
from emulator.workload.sbatch import BatchOptions, parse_sbatch
from emulator.workload.sbatch_line import words
from emulator.workload.submissions import Submissions
from slurm_sim_plugins.errors import ConfigurationError, InputError

CONF = """
EnforcePartLimits=ALL
ClusterName=small
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=10
PriorityType=priority/multifactor
PriorityWeightJobSize=1000
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
GresTypes=gpu
NodeName=n[1-4] CPUs=2 RealMemory=2048 Gres=gpu:2
NodeName=big State=DRAIN CPUs=8 RealMemory=8192 Feature=fat
PartitionName=lo Nodes=n[1-4] Default=YES PriorityTier=1 MaxTime=2:00:00
PartitionName=hi Nodes=ALL PriorityTier=5
"""


def request(number: int, submit: float, run: float, user: str, *arguments: str) -> JobRequest:
    return JobRequest(number, submit, run, parse_sbatch(arguments), user)


JOBS = [
    request(1, 0.5, 600, "ann", "-Jfirst", "-n8", "-t20", "-Aacct"),
    request(2, 10, 100, "bob", "-n4", "-t5", "-phi", "--gpus=2"),
    request(3, 20, 60, "bob", "--array=1-5%2", "-n2", "-t5", "-Jmany"),
    request(4, 30, 600, "bob", "-n1", "-t1", "-dafterok:2"),
    request(5, 31, 10, "eve", "-n99", "-t1"),
]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("views") / "run"
    simulate(Submissions(JOBS, epoch=1614592800), parse_slurm_conf(CONF), out=folder)
    return folder


def ask(command: str, folder: Path, *arguments: str) -> str:
    done: Result = CliRunner().invoke(slurm_sim, [command, str(folder), *arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_the_queue_in_slurms_default_columns(run: Path) -> None:
    assert ask("squeue", run, "--at", "100").splitlines() == [
        "             JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(REASON)",
        "                 2        hi               bob  R       1:29      2 n[1-2]",
        "                 1        lo    first      ann PD       0:00      4 (BeginTime)",
        "           3_[5%2]        lo     many      bob PD       0:00      1 (JobArrayTaskLimit)",
        "                 4        lo               bob PD       0:00      1 (Dependency)",
        "               3_3        lo     many      bob  R       0:18      1 n3",
        "               3_4        lo     many      bob  R       0:18      1 n4",
    ]


def test_formats_sorting_and_choices_of_squeue(run: Path) -> None:
    at = ("--at", "2021-03-01T10:01:40")
    assert ask("squeue", run, *at, "-h", "-o", "%i|%u|%C", "-S", "-i", "-t", "R") == "3_4|bob|2\n3_3|bob|2\n2|bob|4\n"
    assert ask("squeue", run, *at, "-h", "-O", "JobID:.5,UserName:4", "-u", "ann") == "    1ann \n"
    assert ask("squeue", run, *at, "-h", "-o", "%.3j|%-6j|", "-j", "1").startswith("fir|")
    assert ask("squeue", run, *at, "-h", "-o", "%A %K %L %e", "-r", "-j", "3", "-t", "PD") == "3 5 5:00 N/A\n"
    assert ask("squeue", run, *at, "-h", "-o", "%V %S", "-j", "2") == "2021-03-01T10:00:10 2021-03-01T10:00:10\n"
    zoned = ask(
        "squeue", run, *at[:1], "100", "-h", "-o", "%V", "-j2", "--zone", "Asia/Tokyo", "--time-format", "%H:%M%z"
    )
    assert zoned == "19:00+0900\n"
    assert ask("squeue", run, "--at", "790", "-h", "-o", "%i %T %r", "-t", "all", "-u", "ann") == "1 COMPLETED None\n"
    assert ask("squeue", run, "--at", "2000", "-h", "-t", "all") == ""


def test_nodes_in_slurms_default_columns(run: Path) -> None:
    assert ask("sinfo", run, "--at", "25").splitlines() == [
        "PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST",
        "lo*          up    2:00:00      4  alloc n[1-4]",
        "hi           up   infinite      1  drain big",
        "hi           up   infinite      4  alloc n[1-4]",
    ]
    assert ask("sinfo", run, "-s").splitlines()[2] == "hi           up   infinite          0/4/1/5 n[1-4],big"


def test_formats_of_sinfo(run: Path) -> None:
    assert ask("sinfo", run, "--at", "5", "-h", "-o", "%R %C %c %m", "-p", "hi") == "hi 8/0/8/16 2+ 2048+\n"
    exact = ask("sinfo", run, "-e", "-h", "-o", "%c %f %N", "-p", "hi").splitlines()
    assert sorted(exact) == ["2 (null) n[1-4]", "8 fat big"]
    assert ask("sinfo", run, "-N", "-h", "-t", "idle", "-p", "lo", "-O", "NodeList:3,StateLong:.6").split() == (
        ["n1", "idle", "n2", "idle", "n3", "idle", "n4", "idle"]
    )
    assert ask("sinfo", run, "--at", "20", "-h", "-n", "n1", "-p", "hi", "-O", "Gres:9,GresUsed:9").split() == [
        "gpu:2",
        "gpu:1",
    ]


def test_accounting_in_slurms_columns(run: Path) -> None:
    lines = ask("sacct", run, "-u", "ann").splitlines()
    assert lines == [
        "JobID           JobName  Partition    Account  AllocCPUS      State ExitCode ",
        "------------ ---------- ---------- ---------- ---------- ---------- -------- ",
        "1                 first         lo       acct          8  COMPLETED      0:0 ",
    ]
    # The hold ends at 10:02:11; the next pass makes the job eligible.
    assert ask("sacct", run, "-n", "-P", "-D", "-j1", "-o", "State,Submit,Eligible,Elapsed") == (
        "PREEMPTED|2021-03-01T10:00:00|2021-03-01T10:00:00|00:00:09\n"
        "COMPLETED|2021-03-01T10:00:10|2021-03-01T10:02:22|00:10:00\n"
    )
    assert ask("sacct", run, "-n", "-o", "JobID%2,Timelimit%5", "-j", "3").splitlines()[0] == "3+ 00:0+ "
    assert ask("sacct", run, "-n", "-P", "-s", "TO", "-o", "JobID,ReqTRES") == "4|billing=1,cpu=1,node=1\n"
    assert ask("sacct", run, "-n", "-p", "-b", "-j", "2") == "2|COMPLETED|0:0|\n"


def test_accounting_of_some_time(run: Path) -> None:
    window = ("-S", "2021-03-01T10:01:55", "-E", "125")
    assert ask("sacct", run, "-n", "-P", "-o", "JobID", *window).split() == ["1", "3_3", "3_4", "3_5", "4"]
    assert ask("sacct", run, "-n", "-P", "-o", "JobID", "-D", "-E", "5").split() == ["1"]


def test_json(run: Path) -> None:
    (job,) = json.loads(ask("squeue", run, "--at", "100", "-j", "2", "--json"))["jobs"]
    assert (job["job_state"], job["nodes"], job["cpus"], job["start_time"]) == ("RUNNING", "n[1-2]", 4, 1614592810)
    nodes = json.loads(ask("sinfo", run, "--at", "100", "--json"))["nodes"]
    assert [node["alloc_cpus"] for node in nodes] == [2, 2, 2, 2, 0]
    jobs = json.loads(ask("sacct", run, "--json"))["jobs"]
    assert [job["job_id"] for job in jobs] == [1, 2, 6, 7, 8, 9, 3, 4]


@pytest.mark.parametrize(
    ("command", "arguments", "said"),
    [
        ("squeue", ["-o", "%!"], "has no column"),
        ("squeue", ["-o", "%b"], "no column %b"),
        ("squeue", ["-O", "Colour"], "no column 'Colour'"),
        ("squeue", ["-t", "XX"], "no state 'XX'"),
        ("squeue", ["--at", "noon"], "'noon' is no time"),
        ("squeue", ["--zone", "Nowhere"], "zone is 'Nowhere'"),
        ("sinfo", ["-n", "n["], "no host list"),
        ("sacct", ["-o", "JobID%x"], "is not written NAME"),
        ("sacct", ["--time-format", "long"], "give standard"),
    ],
)
def test_what_is_not_there_is_told(run: Path, command: str, arguments: list[str], said: str) -> None:
    done = CliRunner().invoke(slurm_sim, [command, str(run), *arguments])
    assert isinstance(done.exception, ConfigurationError)
    assert said in str(done.exception)


def test_folders_that_are_of_no_such_run(run: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="run --slurm-conf"):
        RecordedCluster.read(tmp_path)
    (tmp_path / "cluster.json").write_text('{"nodes": [{"names": 3}]}')
    with pytest.raises(InputError, match="no cluster as a run leaves it"):
        RecordedCluster.read(tmp_path)


def test_the_same_run_leaves_the_same_bytes(run: Path, tmp_path: Path) -> None:
    simulate(Submissions(JOBS, epoch=1614592800), parse_slurm_conf(CONF), out=tmp_path)
    for file in ("waits.parquet", "cluster.json", "records.parquet", "runs.parquet"):
        assert (tmp_path / file).read_bytes() == (run / file).read_bytes()


def test_durations_and_sizes() -> None:
    assert [short(seconds) for seconds in (5, 65, 3600, 90061)] == ["0:05", "1:05", "1:00:00", "1-01:01:01"]
    assert [full(seconds) for seconds in (5, 90061)] == ["00:00:05", "1-01:01:01"]
    assert [size(amount) for amount in (0, 2048, 2047, 1048576)] == ["0M", "2G", "2047M", "1T"]


def test_tables_justify_and_cut() -> None:
    fields: Fields[str] = Fields("x", (Field("HEAD", str, "a", ("Head",), 4),))
    columns = fields.lettered("%.2a|%6a|%#a")
    assert table(columns, ["abc"]) == "HE|HEAD  |HEAD\nab|abc   |abc \n"
    cut = [Column(fields.all[0], 4, True), Column(fields.all[0], 6)]
    assert accounting_table(cut, ["abcde"], Style(header=False)) == "abc+ abcde  \n"
    assert accounting_table(cut, ["a|b"], Style(parsable=1)) == "Head|Head|\na|b|a|b|\n"


def test_names_cannot_steer_a_terminal() -> None:
    fields: Fields[str] = Fields("x", (Field("A", str, "a", ("A",), 4),))
    assert "\x1b" not in table(fields.lettered("%a"), ["\x1b[31m"])


# A dump that is read again ------------------------------------------------------------


def dumped(requests: list[JobRequest], folder: Path, form: str = WORKLOAD, **options: Timing) -> list[JobRequest]:
    simulate(requests, parse_slurm_conf(CONF), out=folder / "run", **options)
    recorded = RecordedCluster.read(folder / "run")
    lines = shown(recorded, recorded.end, Wanted(), Clock(), duplicates=True)
    file = folder / "dump.sacct"
    file.write_text(accounting_table(FIELDS.percented(form), lines, Style(parsable=2)))
    return read_sacct(file).requests


def _free(after: int, taken: set[int]) -> Iterator[int]:
    for number in count(after + 1):
        if number not in taken:
            taken.add(number)
            yield number


def expanded(requests: list[JobRequest]) -> list[JobRequest]:
    taken = {one.id for one in JOBS} | {one.id for one in requests}
    found = []
    for one in requests:
        tasks = one.tasks(_free(one.id, taken))
        found += [replace(task, task_runs=(), task_exits=(), options=of_one(task)) for task in tasks]
    return found


def of_one(task: JobRequest) -> BatchOptions:
    """In a dump each task asks for itself alone; otherwise it would be the whole array again."""
    array = task.options.array
    return task.options if array is None else replace(task.options, array=replace(array, indices=(task.task,)))


def test_a_dump_gives_the_same_submissions(tmp_path: Path) -> None:
    known = [one for one in JOBS if one.user != "eve"]
    assert dumped(JOBS, tmp_path) == expanded(known)


SHAPES = ["-n3", "-N2", "-c2", "-wn2", "-xn1", "--exclusive", "--mem=100", "--mem-per-cpu=10", "--gpus=1"]
TIMES = ["-t3", "-t90", "--time-min=1", "-bnow+30", "--array=1-3%1", "--array=5,7", "-dsingleton", "-H", "--no-requeue"]
NAMES = ["-phi", "-phi,lo", "-Aacct", "-qhigh", "--nice=5", "-Ja|b c\n'd"]
arguments = st.lists(st.sampled_from(SHAPES + TIMES + NAMES), max_size=5, unique=True)
job = st.tuples(arguments, st.floats(0, 100), st.floats(0, 500), st.integers(0, 2))


@pytest.mark.slow
@settings(max_examples=25)
@given(st.lists(job, min_size=1, max_size=6))
def test_any_dump_gives_the_same_submissions(
    tmp_path_factory: pytest.TempPathFactory, jobs: list[tuple[list[str], float, float, int]]
) -> None:
    folder = tmp_path_factory.mktemp("dump")
    jobs.sort(key=lambda job: job[1])
    requests = [
        JobRequest(10 * number, submit, run, parse_sbatch(words(parse_sbatch(asked))), "u", exit_code)
        for number, (asked, submit, run, exit_code) in enumerate(jobs, 1)
    ]
    records = simulate(requests, parse_slurm_conf(CONF)).records.jobs
    refused = {number for number, state in zip(records["job_id"], records["state"], strict=True) if state == "REJECTED"}
    known = [one for one in requests if one.id not in refused]
    if known:
        assert dumped(requests, folder) == expanded(known)


def test_columns_alone_give_what_they_can(tmp_path: Path) -> None:
    requests = [
        JobRequest(
            1, 0.0, 60.0, parse_sbatch(["-Ja", "-Ac", "-plo", "-N2", "-n4", "-t5", "--mem=100", "--gpus=2"]), "u"
        ),
        JobRequest(2, 3.0, 30.0, parse_sbatch(["-Jb", "-phi", "-N1", "-n1", "-t1"]), "v"),
    ]
    form = ",".join(name for name in WORKLOAD.split(",") if name not in ("Extra", "SubmitLine"))
    exact = Timing(job_overhead=0.0, submit_lag=0.0)
    found = dumped(requests, tmp_path, form, timing=exact)
    assert found == [
        replace(one, options=replace(one.options)) for one in requests if one.id in {job.id for job in found}
    ]


@pytest.mark.parametrize(
    ("stated", "shown_memory"),
    [
        ("DefMemPerCPU=100", ["100Mc 200M 200M", "50Mc 100M 100M", "300M 300M 300M", "0 0 "]),
        ("DefMemPerNode=100", ["100M 100M 100M", "50Mc 100M 100M", "300M 300M 300M", "0 0 "]),
        # More than a node has: the first job is refused.
        ("DefMemPerNode=UNLIMITED", ["50Mc 100M 100M", "300M 300M 300M", "0 0 "]),
    ],
)
def test_memory_by_default_is_shown_as_what_a_job_asked_for(
    tmp_path: Path, stated: str, shown_memory: list[str]
) -> None:
    lines = ["-n2 -t5", "-n2 -t5 -phi", "-n2 -t5 --mem=300", "-n2 -t5 --mem=0"]
    jobs = [request(number, number, 10, "ann", *line.split()) for number, line in enumerate(lines, 1)]
    conf = CONF.replace("CR_CPU", "CR_CPU_Memory").replace("PartitionName=hi", "PartitionName=hi DefMemPerCPU=50")
    simulate(Submissions(jobs), parse_slurm_conf(f"{stated}\n{conf}"), out=tmp_path / "run")
    queue = ask("squeue", tmp_path / "run", "--at", "5", "-h", "-o", "%m", "-S", "i", "-t", "all").splitlines()
    dump = ask("sacct", tmp_path / "run", "-nP", "-X", "--format", "ReqMem,ReqTRES").splitlines()
    found = [line.split("|") for line in dump]
    asked = [(memory, dict(one.split("=") for one in tres.split(",")).get("mem", "")) for memory, tres in found]
    assert [
        f"{least.strip()} {memory} {mem}" for least, (memory, mem) in zip(queue, asked, strict=True)
    ] == shown_memory
