"""Ports that are built, loaded into a real slurmctld, and do what the policy does in the emulator."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import pytest

from emulator import simulate
from emulator.config.slurm import parse_slurm_conf
from emulator.port import write_port
from emulator.port.source import read_source
from emulator.workload.request import JobRequest
from emulator.workload.sbatch import parse_sbatch
from slurm_sim_plugins import Reject, Submission, hookimpl
from tests.builders.real_slurm import HOMES, tried

JOBS = 36
FILL = "sbatch -Q -N 4 --exclusive -t 9 --wrap 'sleep 90'\nsleep 3\n"
SIZES = [(1 + number * 7 % 16, 1 + number * 5 % 40, f"acct{number % 3}") for number in range(JOBS)]
"""Tasks, minutes and account of each job."""
CONF = """SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
NodeName=n[1-4] CPUs=4
PartitionName=low Nodes=ALL Default=YES PriorityTier=1 MaxTime=24:00:00
PartitionName=high Nodes=ALL PriorityTier=2 MaxTime=24:00:00
"""


class Largest:
    name: ClassVar[str] = "priority/largest"

    @hookimpl
    def priority_set(self, view: Any) -> Any:
        return [1000 + 10 * job.processors + (5 if job.time_limit > 1200 else 0) for job in view.to_set]


class Projects:
    name: ClassVar[str] = "site_factor/projects"

    def __init__(self) -> None:
        self._points = {"acct1": 500, "acct2": 70}

    @hookimpl
    def site_factor(self, view: Any) -> Any:
        return [
            self._points.get(str(job.account), 0) + int(3600 * job.processors**2 / job.time_limit)
            for job in view.to_set
        ]


class LeastLost:
    name: ClassVar[str] = "preempt/least_lost"
    machines: ClassVar[tuple[str, ...]] = ("nodes",)

    @hookimpl
    def preempt_candidates(self, view: Any) -> Any:
        tier = view.partition.tier
        lower = [run for run in view.running if run.partition.tier < tier and view.shares_nodes(run)]
        return sorted(lower, key=lambda run: 1000 * run.processors - (view.now - run.start))


class Queues:
    name: ClassVar[str] = "job_submit/queues"

    @hookimpl
    def job_submit(self, view: Any) -> Any:
        job = view.submission
        if job.time_limit > 2100:
            return Reject("at most 35 minutes")
        if job.tasks % 3 == 0 and job.account != "acct1":
            return job._replace(partitions=("high",), time_limit=job.time_limit * 1.5)
        if job.account == "acct2":
            return job._replace(account="other", tasks=min(job.tasks + 2, 16))
        return None


pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not HOMES, reason="SLURM_SIM_SLURM_SOURCES names no tree of a Slurm that is installed"),
    pytest.mark.parametrize(("source", "root"), HOMES),
]


def submitted(*more: str) -> str:
    """Commands that submit all jobs; what is refused has 0 for its id."""
    lines = [
        f"sbatch --parsable -n {tasks} -t {minutes} -A {account} --wrap 'sleep 5' 2> refused || echo 0"
        for tasks, minutes, account in SIZES
    ]
    return "\n".join([*lines, *more])


def requests() -> list[JobRequest]:
    """The same jobs for the emulator, behind one that fills the cluster."""
    fill = JobRequest(1, 0.0, 90.0, parse_sbatch(["-N", "4", "--exclusive", "-t", "9"]), "u")
    found = [fill]
    for number, (tasks, minutes, account) in enumerate(SIZES, start=2):
        options = parse_sbatch(["-n", str(tasks), "-t", str(minutes), "-A", account])
        found.append(JobRequest(number, 5.0, 5.0, options, "u"))
    return found


def emulated(
    plugin: type, conf: str, jobs: list[JobRequest], tmp_path: Path, version: str, clock: str = "slurm"
) -> Path:
    """A run of the emulator with the policy."""
    config = parse_slurm_conf(f"{conf}\n{CONF}")
    short = ".".join(version.split(".")[:2])
    simulate(jobs, config, plugins=[plugin], out=tmp_path / "run", slurm_version=short, clock=clock)
    return tmp_path / "run"


def queue(folder: Path) -> dict[int, int]:
    """Priorities of the jobs that wait in the tenth second."""
    from click.testing import CliRunner

    from emulator.cli import slurm_sim

    words = ["squeue", str(folder), "--at", "10", "-h", "-t", "PD", "-o", "%i %Q"]
    shown = CliRunner().invoke(slurm_sim, words, catch_exceptions=False).stdout
    return {int(one): int(priority) for one, priority in map(str.split, shown.splitlines())}


@pytest.mark.parametrize(
    ("kind", "policy", "conf"),
    [
        ("priority", Largest, "PriorityType=priority/largest"),
        (
            "site_factor",
            Projects,
            "PriorityType=priority/multifactor\nPrioritySiteFactorPlugin=site_factor/projects\nPriorityCalcPeriod=1",
        ),
    ],
)
def test_priorities_are_equal_to_the_digit(
    kind: str, policy: type, conf: str, source: Path, root: Path, tmp_path: Path
) -> None:
    made = write_port(kind, source, tmp_path, policy.__name__.lower(), policy())
    assert made.exact
    shown = tried(made, root, FILL + submitted("sleep 3; squeue -h -a -t PD -o 'prio %i %Q'"))
    real = {
        int(one): int(priority)
        for word, one, priority in (line.split() for line in shown.splitlines() if line.startswith("prio"))
    }
    assert len(real) == JOBS
    assert real == queue(emulated(policy, conf, requests(), tmp_path, read_source(source).version))


def test_victims_are_the_same(source: Path, root: Path, tmp_path: Path) -> None:
    made = write_port("preempt", source, tmp_path, "least_lost", LeastLost())
    assert made.exact
    sizes = (4, 1, 3, 2, 2, 3, 1)
    low = [f"sbatch -Q -p low -n {size} -N 1 -t 9 --requeue --wrap 'sleep 90'; sleep 3" for size in sizes]
    starts = "SLURM_TIME_FORMAT=%s squeue -h -o 'start %i %S'; echo start 8 $(date +%s)"
    show = "sleep 6; squeue -h -a -O JobID:9,RestartCnt:9,State:9 | sed 's/^/state /'"
    shown = tried(made, root, "\n".join([*low, starts, "sbatch -Q -p high -N 2 -n 5 -t 5 --wrap 'sleep 30'", show]))
    # The emulator is given the starts that were seen: on a busy machine they are not three seconds apart.
    times = {int(one): int(at) for word, one, at in map(str.split, shown.splitlines()[:8]) if word == "start"}
    rows = [line.split()[1:] for line in shown.splitlines() if line.startswith("state")]
    assert [state for one, _, state in rows if one == "8"] == ["RUNNING"]
    real = {int(one) for one, restarts, _ in rows if int(restarts)}
    asked = [f"-p low -n {size} -N1 -t9 --requeue" for size in sizes] + ["-p high -N2 -n5 -t5"]
    first = min(times.values())
    jobs = [
        JobRequest(number, float(times[number] - first), 90.0, parse_sbatch(words.split()), "u")
        for number, words in enumerate(asked, start=1)
    ]
    conf = "PriorityType=priority/basic\nPreemptType=preempt/least_lost\nPreemptMode=REQUEUE"
    run = emulated(LeastLost, conf, jobs, tmp_path, read_source(source).version, "ideal")
    from emulator import load

    jobs_of = load(run).records.jobs
    victims = {int(one) for one, count in zip(jobs_of["job_id"], jobs_of["requeues"], strict=True) if count}
    assert len(victims) > 1
    assert real == victims


@pytest.mark.parametrize("lua", [False, True])
def test_submissions_are_judged_alike(lua: bool, source: Path, root: Path, tmp_path: Path) -> None:
    made = write_port("job_submit", source, tmp_path, "queues", Queues(), lua=lua)
    assert made.exact
    lines = submitted("squeue -h -a -o 'job %i %P %l %a %C'")
    shown = tried(made, root, FILL.replace("-t 9", "-t 9 -n 4") + lines).splitlines()
    ids = [int(line) for line in shown if line.isdigit()]
    real = {int(words[1]): words[2:] for words in map(str.split, shown) if words[:1] == ["job"]}
    assert len(ids) == JOBS
    from types import SimpleNamespace

    for one, (tasks, minutes, account) in zip(ids, SIZES, strict=True):
        job = Submission(1, 0.0, "u", tasks=tasks, time_limit=minutes * 60.0, account=account)
        wanted = Queues().job_submit(SimpleNamespace(submission=job))
        if isinstance(wanted, Reject):
            assert one == 0
            continue
        wanted = wanted or job
        hours, rest = divmod(-(-int(wanted.time_limit) // 60), 60)
        limit = f"{hours}:{rest:02}:00" if hours else f"{rest}:00"
        assert real[one] == [",".join(wanted.partitions) or "low", limit, wanted.account, str(wanted.tasks)]
