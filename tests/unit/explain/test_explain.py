"""explain: who decided what and why, and a job's story from it."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from emulator import simulate
from emulator.accounting import explainer
from emulator.accounting.decision_log import DecisionLog
from emulator.accounting.explainer import Explainer
from emulator.accounting.runfolder import read_run
from emulator.cli import slurm_sim
from emulator.config.preemption import Preemption
from emulator.explain.story import Story, tell
from emulator.explain.window import Log
from emulator.workload.models import lublin99
from emulator.workload.workload import Workload
from slurm_sim_plugins import ConfigurationError, InputError, Start, hookimpl
from slurm_sim_plugins.manager import Catalogue
from tests.builders.jobs import JobRow, workload

BASIC = {"submit", "reject", "reserve", "start", "move", "rate", "requeue", "return", "end"}
PV: dict[str, Any] = {
    "scheduler": "sched/venture",
    "preempt": "preempt/shadow_load",
    "walltime": "walltime/last_model",
    "backfill": "backfill/sjf",
}
JOBS: list[JobRow] = [
    (1, 0, 3, 10, 20),
    (2, 1, 4, 5, 10),
    (3, 2, 1, 5, 5),
    (4, 2, 1, 30, 30),
    (5, 3, 9, 5, 5),
]


def made(folder: Path, jobs: list[JobRow], processors: int, **options: Any) -> Path:
    options = {"explain": True, "catalogue": Catalogue(), **options}
    simulate(workload(jobs), processors=processors, out=folder, **options)
    return folder


def log_of(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]


def texts(folder: Path, job: int) -> list[str]:
    return [f"{step.time:g} {step.text}" for step in tell(read_run(folder), job).steps]


def test_the_story_of_a_job_that_waits_in_the_middle(tmp_path: Path) -> None:
    folder = made(tmp_path, JOBS, 4, scheduler="sched/easy")
    assert texts(folder, 4) == [
        "2 submitted: 1 processor, limit 0:00:30",
        "2 it is number 3 of 3 in the queue, behind job 2, which is to start at 20; 1 of 4 processors are free",
        "2 waits behind job 2, which is to start at 20: it needs 1, 0 are free; job 1 3, job 3 1 hold processors",
        "7 waits behind job 2, which is to start at 20, though it would fit: 1 are free; started now it is planned to "
        "run until 37, beyond that; job 1 3 holds processors",
        "10 waits, first in the queue: it needs 1, 0 are free; job 2 4 holds processors",
        "15 started on 1 processor, 0:00:13 after its submission, by sched/easy in schedule",
        "45 ended: it did all its work",
    ] or texts(folder, 4)


def test_the_story_of_the_head(tmp_path: Path) -> None:
    folder = made(tmp_path, JOBS, 4, scheduler="sched/easy")
    assert texts(folder, 2) == [
        "1 submitted: 4 processors, limit 0:00:10",
        "1 it is first in the queue; 1 of 4 processors are free",
        "1 reserved: planned to start at 20, by sched/easy in schedule",
        "1 waits, first in the queue: it needs 4, 1 is free; job 1 3 holds processors",
        "2 waits, first in the queue: it needs 4, 0 are free; job 1 3, job 3 1 hold processors",
        "7 waits, first in the queue: it needs 4, 1 is free; job 1 3 holds processors",
        "10 started on 4 processors, 0:00:09 after its submission, by sched/easy in schedule",
        "15 ended: it did all its work",
    ] or texts(folder, 2)


def test_who_was_backfilled_and_who_was_rejected(tmp_path: Path) -> None:
    folder = made(tmp_path, JOBS, 4)
    assert texts(folder, 3)[2:] == [
        "2 started on 1 processor, ahead of job 2, 0:00:00 after its submission, by sched/easy in schedule",
        "7 ended: it did all its work",
    ]
    assert texts(folder, 5) == ["3 rejected: needs 9 processors, the machine has 4"]


def test_who_was_preempted_for_whom(tmp_path: Path) -> None:
    jobs: list[JobRow] = [(1, 0, 2, 100, 200), (2, 0, 2, 50, 60), (3, 1, 4, 5, 10), (4, 1, 2, 90, 100), (5, 2, 2, 5, 5)]
    folder = made(tmp_path, jobs, 4, priority="priority/sjf", **{**PV, "walltime": "walltime/none"})
    room = "to make room for"
    by = "by preempt/shadow_load in preempt_candidates"
    assert f"1 job 1 is sent back {room} it, {by}" in texts(folder, 3)
    assert f"1 sent back to the queue {room} job 3, {by}" in texts(folder, 2)
    assert "0 its priority is -200, by priority/sjf in priority_set" in texts(folder, 1)


def test_a_plan_and_a_reason(tmp_path: Path) -> None:
    class Saying:
        name = "sched/saying"

        @hookimpl
        def schedule(self, view: Any) -> Any:
            while view.head is not None and view.head.processors <= view.free:
                yield Start(view.head, "it was \x07 its turn")

    jobs: list[JobRow] = [(1, 0, 2, 10, 100), (2, 50, 2, 200, 100)]
    folder = made(tmp_path, jobs, 4, plugins=[Saying], scheduler="sched/saying", walltime="walltime/last_model")
    assert texts(folder, 2)[:4] == [
        "50 planned with 0:00:10 of its limit of 0:01:40, by walltime/last_model in walltime_submit",
        "50 submitted: 2 processors, limit 0:01:40",
        "50 it is first in the queue; 4 of 4 processors are free",
        "50 started on 2 processors, 0:00:00 after its submission, by sched/saying in schedule "
        "(it was \N{REPLACEMENT CHARACTER} its turn)",
    ]
    assert texts(folder, 2)[-1] == "150 ended: killed at its limit"


POLICIES: dict[str, dict[str, Any]] = {
    "easy": {},
    "pv": PV,
    "conservative": {"scheduler": "sched/conservative", "priority": "priority/sjf"},
    "tiers": {"scheduler": "sched/two_tier", "execution": "execution/two_tier"},
    "checkpoint": {**PV, "passes": "event", "preemption": Preemption(mode="CHECKPOINT", interval=600)},
}


def drawn_jobs() -> Workload:
    jobs = lublin99.generate(250, 32, seed=3, load=0.9)
    return replace(jobs, facts={**jobs.facts, "cpu_use": np.full(len(jobs), 0.5)})


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Runs of one workload under several policies, with and without ``explain``."""
    jobs = drawn_jobs()
    folder = tmp_path_factory.mktemp("runs")
    for name, options in POLICIES.items():
        for explain in (True, False):
            out = folder / f"{name}{'' if explain else '-plain'}"
            simulate(jobs, processors=32, out=out, explain=explain, catalogue=Catalogue(), **options)
    return {path.name: path for path in folder.iterdir()}


NAMES = ["easy", "pv", "conservative", "checkpoint", "tiers"]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_schedule_is_the_same_and_the_log_only_says_more(name: str, runs: dict[str, Path]) -> None:
    explained, plain = runs[name], runs[f"{name}-plain"]
    assert sorted(path.name for path in explained.iterdir()) == sorted(path.name for path in plain.iterdir())
    for file in {path.name for path in plain.iterdir()} - {"events.jsonl"}:
        assert (explained / file).read_bytes() == (plain / file).read_bytes()
    lines = (explained / "events.jsonl").read_text().splitlines(keepends=True)
    basic = [line for line in lines if json.loads(line)["event"] in BASIC]
    assert "".join(basic) == (plain / "events.jsonl").read_text()
    assert len(lines) > len(basic)


def by_generator(log: DecisionLog, hook: str, view: Any, decisions: Any) -> Any:
    """The form in which decisions are noted on clusters."""
    explained = Explainer.__new__(Explainer)
    explained._log = log
    return explained._decisions(hook, view, decisions)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_decisions_are_noted_alike_in_both_forms(
    name: str, runs: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(explainer, "Noted", by_generator)
    out = tmp_path / name
    simulate(drawn_jobs(), processors=32, out=out, explain=True, catalogue=Catalogue(), **POLICIES[name])
    assert (out / "events.jsonl").read_bytes() == (runs[name] / "events.jsonl").read_bytes()


@pytest.mark.parametrize("name", NAMES)
def test_every_decision_has_its_plugin_and_hook(name: str, runs: dict[str, Path]) -> None:
    log = log_of(runs[name])
    decided = [line for line in log if line["event"] == "decide"]
    for event, decision in (("start", "start"), ("reserve", "reserve"), ("move", "move")):
        happened = [(line["time"], line["job"]) for line in log if line["event"] == event]
        assert [(line["time"], line["job"]) for line in decided if line["decision"] == decision] == happened
    slots = read_run(runs[name]).about["slots"]
    for line in log:
        if line["event"] in ("decide", "victims", "room", "candidates", "plan", "priority"):
            assert line["plugin"] in slots.values()
            assert line["hook"]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_story_agrees_with_the_log(name: str, runs: dict[str, Path]) -> None:
    run = read_run(runs[name])
    log = log_of(runs[name])
    for job in run.records.jobs["job_id"].tolist():
        story = tell(run, job)
        of_the_job = [line for line in log if line["event"] in BASIC and line["job"] == job]
        assert [step.event for step in story.steps if step.event is not None] == of_the_job
        assert [step.time for step in story.steps] == sorted(step.time for step in story.steps)
        gained = [line["job"] for line in log if line["event"] == "requeue" and line["preemptor"] == job]
        assert [step.text.split()[1] for step in story.steps if step.what == "preempts"] == list(map(str, gained))
        assert story.explained


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES[:-1])
def test_why_a_job_waits_agrees_with_who_ran_and_waited_then(name: str, runs: dict[str, Path]) -> None:
    run = read_run(runs[name])
    jobs = run.records.jobs
    rank = dict(
        zip(
            jobs["job_id"].tolist(),
            zip((-jobs["priority_at_start"]).tolist(), jobs["submit"].tolist(), jobs["job_id"].tolist(), strict=True),
            strict=True,
        )
    )
    after = states_after_each_pass(log_of(runs[name]))
    waited = 0
    for job in jobs["job_id"].tolist():
        for step in tell(run, job).steps:
            if step.what != "waits":
                continue
            waited += 1
            candidates = [state for state in after if state[0] == step.time]
            assert any(says(step.text, job, *state[1:], rank=rank) for state in candidates), step
    assert waited > 100


def states_after_each_pass(log: list[dict[str, Any]]) -> list[tuple[float, set[int], dict[int, int]]]:
    """Which jobs wait and run after each pass, worked out from the basic events alone."""
    waiting: set[int] = set()
    running: dict[int, int] = {}
    states = []
    for line in log:
        kind, job = line["event"], line["job"]
        if kind in ("submit", "requeue"):
            waiting.add(job)
        if kind in ("end", "requeue"):
            running.pop(job, None)
        if kind == "start":
            waiting.remove(job)
            running[job] = line["processors"]
        if kind == "pass":
            states.append((line["time"], set(waiting), dict(running)))
    return states


def says(text: str, job: int, waiting: set[int], running: dict[int, int], rank: dict[int, Any]) -> bool:
    """Whether a reason names the head of the queue, what was free and who held the most."""
    head = min(waiting, key=rank.__getitem__)
    free = 32 - sum(running.values())
    named = re.search(r"behind job (\d+)", text)
    said_head = int(named.group(1)) if named else job
    said_free = int(re.search(r"(\d+) (?:is|are) free", text).group(1))  # type: ignore[union-attr]
    held = [int(size) for size in re.findall(r"job \d+ (\d+)[, ]", text.rpartition("; ")[2])]
    return said_head == head and said_free == free and held == sorted(running.values(), reverse=True)[:4]


def test_without_explain_it_tells_what_happened(runs: dict[str, Path]) -> None:
    run = read_run(runs["easy-plain"])
    story = tell(run, 10)
    assert not story.explained
    assert {step.what for step in story.steps} <= {"submitted", "reserved", "started", "ended"}
    done = cli(runs["easy-plain"], 10)
    assert "Why it waited and who decided is not known: the run was made without --explain." in done.output


def cli(folder: Path, job: int, *options: str) -> Result:
    return CliRunner().invoke(slurm_sim, ["explain", str(folder), str(job), *options])


def longest(folder: Path) -> Story:
    run = read_run(folder)
    return max((tell(run, job) for job in run.records.jobs["job_id"].tolist()), key=lambda story: len(story.steps))


@pytest.mark.slow
def test_the_command(runs: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    story = longest(runs["pv"])
    job = story.job["job_id"]
    lines = cli(runs["pv"], job, "--all").output.splitlines()
    assert lines[0] == f"job {job}"
    assert len(lines) == 1 + len(story.steps)
    assert lines[1].split(maxsplit=2)[1:] == ["+0:00:00", story.steps[0].text]
    monkeypatch.setattr("emulator.cli.explain.SHOWN", 5)
    short = cli(runs["pv"], job).output.splitlines()
    assert len(short) == 7
    assert short[3].split()[:4] == ["...", str(len(story.steps) - 5), "more", "steps;"]
    assert short[-1] == lines[-1]
    told = json.loads(cli(runs["pv"], job, "--json").output)
    assert [step["text"] for step in told["steps"]] == [step.text for step in story.steps]


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda folder: None, "there is no job 99 in this run; ids are from 1 to 5"),
        (lambda folder: (folder / "events.jsonl").unlink(), "cannot be read: No such file"),
    ],
)
def test_what_cannot_be_told(spoil: Any, told: str, tmp_path: Path) -> None:
    folder = made(tmp_path, JOBS, 4)
    job = 99 if "99" in told else 1
    spoil(folder)
    with pytest.raises(InputError, match=re.escape(told)):
        tell(read_run(folder), job)


def test_a_damaged_log_is_told_with_its_line(tmp_path: Path) -> None:
    folder = made(tmp_path, JOBS, 4)
    lines = (folder / "events.jsonl").read_text().splitlines()
    lines[4] = "nonsense"
    (folder / "events.jsonl").write_text("\n".join(lines))
    with pytest.raises(InputError, match=r"events\.jsonl:5: this is no line of an event log"):
        tell(read_run(folder), 1)


@pytest.mark.parametrize(
    "line",
    [
        '{"time":1,"event":["start"],"job":1}',
        '{"time":1,"event":"start","job":1}',
        '{"time":1,"event":"pass","job":77,"head":77,"free":1,"waiting":1}',
    ],
)
def test_events_of_another_make_are_told(line: str, tmp_path: Path) -> None:
    folder = made(tmp_path, [(1, 0, 1, 9, 9), (2, 0, 9, 9, 9), (3, 0, 4, 9, 9)], 4)
    lines = (folder / "events.jsonl").read_text().splitlines()
    place = 1 + max(number for number, text in enumerate(lines) if json.loads(text)["time"] == 0)
    (folder / "events.jsonl").write_text("\n".join([*lines[:place], line, *lines[place:]]) + "\n")
    with pytest.raises(InputError, match=r"is not as this version writes it|is no line of an event log") as caught:
        tell(read_run(folder), 3)
    assert "make the run again" in str(caught.value)


def test_explain_needs_somewhere_to_write() -> None:
    with pytest.raises(ConfigurationError, match="explain records decisions in the event log: give out or events"):
        simulate(workload(JOBS), processors=4, explain=True, catalogue=Catalogue())


def test_an_answer_that_cannot_be_used_is_refused_as_ever(tmp_path: Path) -> None:
    from slurm_sim_plugins import PluginError

    class Bad:
        name = "priority/bad"

        @hookimpl
        def priority_set(self, view: Any) -> Any:
            return ["first"]

    with pytest.raises(PluginError, match="answered 'first'; a priority is a finite number") as caught:
        made(tmp_path, JOBS, 4, plugins=[Bad], priority="priority/bad")
    assert caught.value.plugin == "priority/bad"


@given(st.lists(st.integers(0, 30), max_size=40), st.integers(-1, 31))
def test_the_beginning_of_a_time_is_found(times: list[int], wanted: int) -> None:
    import tempfile

    lines = [f'{{"time":{time / 2:g},"event":"submit","job":{place}}}\n' for place, time in enumerate(sorted(times))]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "events.jsonl"
        path.write_text("".join(lines))
        log = Log(path)
        beginning = log.beginning(wanted / 2)
        rest = [line["job"] for line in log.lines(beginning)]
        before = "".join(line for line, time in zip(lines, sorted(times), strict=True) if time < wanted)
        assert beginning == len(before)
        assert rest == [place for place, time in enumerate(sorted(times)) if time >= wanted]
        found = log.last(b'"event":"submit"', 0, beginning)
        assert (found["job"] if found else None) == (len(times) - len(rest) - 1 if len(rest) < len(times) else None)
