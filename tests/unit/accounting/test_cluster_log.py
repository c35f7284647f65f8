"""Event log, observers and explain of a run on a cluster with nodes."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any, ClassVar

import pytest
from click.testing import CliRunner

from emulator.accounting.runfolder import read_run
from emulator.api import simulate
from emulator.cli import slurm_sim
from emulator.config.slurm import parse_slurm_conf
from emulator.explain.story import tell
from emulator.operator.commands import TimedCommand
from emulator.workload.request import JobRequest
from emulator.workload.sbatch import parse_sbatch
from slurm_sim_plugins import Job, Run, View, hookimpl
from slurm_sim_plugins.errors import PluginError

CONF = """ClusterName=t
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/backfill
PreemptType=preempt/partition_prio
PreemptMode={mode}
NodeName=n[1-4] CPUs=4
PartitionName=lo Nodes=ALL PriorityTier=1 Default=YES MaxTime=INFINITE
PartitionName=hi Nodes=ALL PriorityTier=2 MaxTime=INFINITE
"""
CLOCKS = ("slurm", "ideal")
FULL = "-N4 --exclusive -t60"


def request(number: int, submit: float, run: float, words: str) -> JobRequest:
    return JobRequest(number, submit, run, parse_sbatch(words.split()))


class Listens:
    """Notes all that it hears."""

    name: ClassVar[str] = "observer/listens"

    def __init__(self) -> None:
        self.heard: list[tuple[Any, ...]] = []
        self.passes: list[tuple[float, int, int, int]] = []
        self.planned_ends: dict[int, float] = {}

    @hookimpl
    def job_submitted(self, job: Job, now: float) -> None:
        self.heard.append(("submit", job.id, now))

    @hookimpl
    def job_started(self, run: Run, now: float) -> None:
        self.heard.append(("start", run.job.id, now))

    @hookimpl
    def job_requeued(self, job: Job, run: Run, now: float) -> None:
        self.heard.append(("requeue", job.id, now))

    @hookimpl
    def job_suspended(self, job: Job, run: Run, cause: str, now: float) -> None:
        self.heard.append(("suspend", job.id, now, cause))

    @hookimpl
    def job_resumed(self, job: Job, run: Run, cause: str, now: float) -> None:
        self.planned_ends[job.id] = run.planned_end
        self.heard.append(("resume", job.id, now, cause))

    @hookimpl
    def job_ended(self, job: Job, run: Run | None, state: str, now: float) -> None:
        self.heard.append(("end", job.id, now, state, run is not None))

    @hookimpl
    def pass_done(self, view: View) -> None:
        self.passes.append((view.now, len(view.queue), len(view.running), view.free))


def run(
    requests: list[JobRequest],
    out: Path,
    mode: str = "REQUEUE",
    commands: tuple[tuple[float, str], ...] = (),
    **more: Any,
) -> tuple[list[dict[str, Any]], Any]:
    """The event log of a run, and its result."""
    actions = [(at, TimedCommand(at, text, "test")) for at, text in commands]
    conf = parse_slurm_conf(CONF.format(mode=mode))
    result = simulate(requests, conf, out=out, actions=actions, plugins=[Listens], **more)
    return [json.loads(line) for line in (out / "events.jsonl").read_text().splitlines()], result


def told(events: list[dict[str, Any]]) -> list[tuple[str, int]]:
    return [(event["event"], event["job"]) for event in events if event["event"] != "reserve"]


@pytest.mark.parametrize("clock", CLOCKS)
def test_the_log_tells_what_became_of_jobs(tmp_path: Path, clock: str) -> None:
    requests = [
        request(1, 0, 300, f"{FULL} -plo"),
        request(2, 20, 30, f"{FULL} -phi"),
        request(3, 30, 30, "-n1 -t1 -pnone"),
        request(4, 40, 30, "-n1 -t1 --begin=now+1hour"),
    ]
    events, result = run(requests, tmp_path, commands=((60.0, "scancel 4"),), clock=clock)
    assert Counter(told(events)) == Counter(
        [
            *(("submit", 1), ("start", 1), ("submit", 2), ("preempt", 1), ("requeue", 1), ("start", 2), ("end", 2)),
            *(("reject", 3), ("submit", 4), ("end", 4), ("start", 1), ("end", 1)),
        ]
    )
    of = {(event["event"], event["job"]): event for event in events}
    assert (of["preempt", 1]["preemptor"], of["preempt", 1]["mode"]) == (2, "REQUEUE")
    assert of["requeue", 1]["preemptor"] == 2
    assert (of["end", 4]["state"], of["end", 2]["state"], of["end", 1]["state"]) == (
        *("CANCELLED", "COMPLETED", "COMPLETED"),
    )
    assert (of["start", 2]["partition"], of["start", 2]["nodes"], of["start", 2]["processors"]) == ("hi", "n[1-4]", 16)
    assert "artition" in of["reject", 3]["reason"]
    times = [event["time"] for event in events]
    assert times == sorted(times)
    starts = [(event["job"], event["time"]) for event in events if event["event"] == "start"]
    assert starts == list(zip(result.runs.job_id, result.runs.start, strict=True))


@pytest.mark.parametrize("clock", CLOCKS)
@pytest.mark.parametrize("mode", ["REQUEUE", "SUSPEND,GANG", "CANCEL"])
def test_observers_hear_what_the_log_says(tmp_path: Path, mode: str, clock: str) -> None:
    requests = [
        request(1, 0, 300, f"{FULL} -plo"),
        request(2, 20, 30, f"{FULL} -phi"),
        request(5, 90, 30, "-n1 -t1 -H"),
    ]
    commands = ((25.0, "scontrol suspend 2"), (60.0, "scontrol resume 2"), (95.0, "scancel 5"))
    events, result = run(requests, tmp_path, mode, commands, clock=clock)
    heard = result.plugins["observer/listens"].heard
    common = ("submit", "start", "requeue", "suspend", "resume", "end")
    logged = [(event["event"], event["job"], event["time"]) for event in events if event["event"] in common]
    assert [each[:3] for each in heard if each[3:] != ("time slice",)] == logged
    assert ("end", 5, 95.0, "CANCELLED", False) in heard
    pauses = {(event["event"], event["job"]): event["cause"] for event in events if "cause" in event}
    assert pauses["suspend", 2] == pauses["resume", 2] == "operator"
    if mode == "SUSPEND,GANG":
        assert pauses["suspend", 1] == pauses["resume", 1] == "preemption"


@pytest.mark.parametrize("clock", CLOCKS)
def test_passes_are_told_after_they_changed_something(tmp_path: Path, clock: str) -> None:
    requests = [request(1, 0, 100, f"{FULL} -plo"), request(2, 5, 100, f"{FULL} -plo")]
    _, result = run(requests, tmp_path, clock=clock)
    passes = result.plugins["observer/listens"].passes
    assert (0, 1, 0) in [each[1:] for each in passes]
    assert (1, 1, 0) in [each[1:] for each in passes]
    for start in result.runs.start:
        assert any(time == start and running == 1 for time, _, running, _ in passes)


@pytest.mark.parametrize("clock", CLOCKS)
def test_a_suspended_run_is_not_running_and_its_cpus_are_free(tmp_path: Path, clock: str) -> None:
    requests = [
        request(1, 0, 300, f"{FULL} -plo"),
        request(2, 20, 100, "-N2 --exclusive -t60 -phi"),
        request(3, 60, 20, "-n1 -t1 -phi"),
        request(4, 500, 500, "-n3 -t60 -phi"),
        request(5, 800, 20, "-n1 -t1 -phi"),
    ]
    commands = ((700.0, "scontrol suspend 4"), (900.0, "scontrol resume 4"))
    _, result = run(requests, tmp_path, "SUSPEND,GANG", commands, clock=clock)
    listens = result.plugins["observer/listens"]
    assert ("suspend", 1, "preemption") in [(*each[:2], each[3]) for each in listens.heard if len(each) == 4]
    seen = {time: (running, free) for time, _, running, free in listens.passes}
    starts = dict(zip(result.runs.job_id, result.runs.start, strict=True))
    assert [seen[starts[job]] for job in (1, 2, 3, 5)] == [(1, 0), (1, 8), (2, 7), (1, 15)]
    paused = {
        job: [now for what, one, now, *_ in listens.heard if one == job and what in ("suspend", "resume")]
        for job in (1, 4)
    }
    for job, (since, until) in paused.items():
        assert listens.planned_ends[job] == pytest.approx(starts[job] + 3600 + until - since)


@pytest.mark.parametrize("clock", CLOCKS)
def test_a_jobs_wait_is_explained_in_the_words_of_squeue(tmp_path: Path, clock: str) -> None:
    requests = [
        request(1, 0, 300, f"{FULL} -plo"),
        request(2, 20, 30, f"{FULL} -plo"),
        request(3, 30, 30, "-n1 -t2 -plo"),
    ]
    run(requests, tmp_path, clock=clock)
    story = tell(read_run(tmp_path), 2)
    texts = [step.text for step in story.steps]
    assert texts[0] == "submitted: 16 CPUs in partition lo, limit 1:00:00"
    assert "waits: Resources (what it needs is in use)" in texts
    assert any(text.startswith("reserved: planned to start at 3,60") for text in texts)
    assert len([text for text in texts if text.startswith("waits:")]) == 1
    assert texts[-2].startswith("started on 16 CPUs of n[1-4], partition lo")
    assert (story.explained, story.reasons) == (False, True)
    shown = CliRunner().invoke(slurm_sim, ["explain", str(tmp_path), "2"])
    assert "Who decided is not known: the run was made without --explain." in shown.output
    assert "waits: Priority" in CliRunner().invoke(slurm_sim, ["explain", str(tmp_path), "3"]).output


@pytest.mark.parametrize("clock", CLOCKS)
def test_explain_records_who_decided(tmp_path: Path, clock: str) -> None:
    slots = {"SchedulerType": "sched/easy", "PriorityType": "priority/sjf"}
    requests = [request(1, 0, 300, f"{FULL} -plo"), request(2, 20, 30, f"{FULL} -plo")]
    plain, _ = run(requests, tmp_path / "plain", slots=slots, clock=clock)
    events, _ = run(requests, tmp_path / "run", slots=slots, clock=clock, explain=True)
    further = ("queued", "priority", "decide", "pass")
    assert {event["event"] for event in events} - {event["event"] for event in plain} == set(further)
    assert [event for event in events if event["event"] not in further] == plain
    story = tell(read_run(tmp_path / "run"), 2)
    assert story.explained
    assert any(step.text.endswith(", by sched/easy in schedule") for step in story.steps if step.what == "started")
    assert any(step.text.endswith(", by priority/sjf in priority_set") for step in story.steps)
    assert any(step.text.startswith("it is first in the queue; 0 of 16 CPUs") for step in story.steps)


@pytest.mark.parametrize("clock", CLOCKS)
@pytest.mark.parametrize("compiled", [True, False])
def test_runs_are_named_where_one_is_preempted(tmp_path: Path, clock: str, compiled: bool) -> None:
    """However often the plugin is asked, which depends on the kernels: job 4 cannot preempt anything."""
    requests = [
        request(1, 0, 300, "-N2 -n8 -t60 -plo"),
        request(2, 1, 300, "-N2 -n8 -t60 -plo"),
        request(3, 20, 300, "-N3 -n12 -t60 -phi"),
        request(4, 21, 30, f"{FULL} -phi"),
    ]
    events, _ = run(requests, tmp_path, mode="CANCEL", clock=clock, compiled=compiled, explain=True)
    named = [at for at, event in enumerate(events) if event["event"] == "victims"]
    assert named
    for at in named:
        assert (events[at]["job"], set(events[at]["runs"])) == (3, {1, 2})
        assert (events[at]["plugin"], events[at + 1]["event"]) == ("preempt/partition_prio", "preempt")
        assert events[at]["time"] == events[at + 1]["time"]
    assert len([event for event in events if event["event"] == "preempt"]) == 2


def test_the_options_go_with_a_cluster(tmp_path: Path) -> None:
    (tmp_path / "jobs.events").write_text(
        "-dt 0 -e submit_batch_job | -jid 1 -sim-walltime 3 --uid=me -t 5 -n 1 a.job\n"
    )
    (tmp_path / "slurm.conf").write_text(CONF.format(mode="OFF"))
    command = ["run", str(tmp_path / "jobs.events"), "--slurm-conf", str(tmp_path / "slurm.conf"), "--explain"]
    shown = CliRunner().invoke(slurm_sim, [*command, "--events", str(tmp_path / "e.jsonl"), "--progress"])
    assert shown.exit_code == 0, shown.output
    kinds = [json.loads(line)["event"] for line in (tmp_path / "e.jsonl").read_text().splitlines()]
    assert [kind for kind in kinds if kind in ("submit", "start", "end")] == ["submit", "start", "end"]
    refused = CliRunner().invoke(slurm_sim, command)
    assert "explain records decisions in the event log: give out or events (--out, --events)" in str(refused.exception)


def test_nothing_listens_where_nothing_is_asked_for() -> None:
    from emulator.engine.controller import Controller

    conf = parse_slurm_conf(CONF.format(mode="OFF"))
    assert Controller(conf, []).telling._notifier is None
    simulated = simulate([request(1, 0, 5, "-n1 -t1")], conf)
    assert simulated.records.jobs["state"].tolist() == ["COMPLETED"]


@pytest.mark.parametrize("hook", ["job_suspended", "job_resumed", "pass_done", "job_ended", "job_submitted"])
def test_an_observer_that_fails_is_named(tmp_path: Path, hook: str) -> None:
    def fails(self: object) -> None:
        raise ValueError("no more")

    failing = type("Failing", (), {"name": "observer/failing", hook: hookimpl(fails)})
    requests = [request(1, 0, 300, f"{FULL} -plo"), request(2, 20, 30, f"{FULL} -phi")]
    conf = parse_slurm_conf(CONF.format(mode="SUSPEND,GANG"))
    with pytest.raises(PluginError, match="ValueError: no more") as raised:
        simulate(requests, conf, out=tmp_path, plugins=[failing])
    assert (raised.value.plugin, raised.value.hook) == ("observer/failing", hook)
    assert raised.value.job == (None if hook == "pass_done" else 2 if hook == "job_ended" else 1)
    assert read_run(tmp_path).about["run"]["status"] == "failed"
    assert (tmp_path / "events.jsonl").read_text().startswith('{"time":0,"event":"submit","job":1}')
