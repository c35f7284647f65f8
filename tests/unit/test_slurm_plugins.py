"""Plugins in Slurm's timing: what is asked of them, what counts in their place, what is refused."""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from emulator.accounting.records import Records
from emulator.api import simulate
from emulator.cli import slurm_sim
from emulator.config.options import MANY
from emulator.config.sacctmgr import Accounts, read_accounts
from emulator.config.slurm import SlurmConf, parse_slurm_conf
from emulator.config.slurm.controller import Parameters
from emulator.operator.commands import TimedCommand
from emulator.workload.request import JobRequest
from emulator.workload.sbatch import parse_sbatch
from slurm_sim_plugins import (
    ConfigurationError,
    Job,
    PendingView,
    PreemptView,
    PriorityView,
    Run,
    WalltimeView,
    hookimpl,
    kernels,
)
from tests.builders.jobs import two_tiers, workload

EVENTS = "-dt 0 -e submit_batch_job | -jid 1 -sim-walltime 3 --uid=me -t 5 -n 1 a.job\n"


def request(number: int, submit: float, run: float, *words: str, user: str = "me") -> JobRequest:
    return JobRequest(number, submit, run, parse_sbatch(words), user)


def one_partition(*lines: str) -> SlurmConf:
    """Four nodes of two CPUs in one partition."""
    usual = ("SelectType=select/cons_tres", "SelectTypeParameters=CR_CPU", "NodeName=n[1-4] CPUs=2")
    return parse_slurm_conf("\n".join((*lines, *usual, "PartitionName=p Nodes=ALL Default=YES MaxTime=INFINITE")))


def starts(records: Records) -> dict[int, float]:
    return dict(zip(records.jobs["job_id"].tolist(), records.jobs["start"].tolist(), strict=True))


def whole_machine(count: int, seed: int) -> list[JobRequest]:
    """Jobs of which each takes all nodes; run times and limits differ."""
    draws = np.random.default_rng(seed)
    return [
        request(n, 7 * n, int(draws.integers(20, 900)), "-n8", f"-t{draws.integers(2, 60)}")
        for n in range(1, count + 1)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("period", [0.0, 400.0])
def test_a_priority_plugin_with_a_period_is_asked_again(period: float) -> None:
    asked: list[tuple[float, dict[int, float]]] = []

    class Ageing:
        name = "priority/ageing"

        def __init__(self) -> None:
            self.period = period

        @hookimpl
        def priority_set(self, view: PriorityView) -> list[float]:
            numbers = [(view.now - job.submit) / job.time_limit for job in view.to_set]
            asked.append((view.now, dict(zip((job.id for job in view.to_set), numbers, strict=True))))
            return numbers

    submissions = whole_machine(30, 5)
    found = simulate(submissions, one_partition(), slots={"PriorityType": "priority/ageing"}, plugins=[Ageing])
    start, limit = starts(found.records), {each.id: each.options.time_limit or 0.0 for each in submissions}
    recorded = dict(zip(start, found.records.jobs["priority_at_start"].tolist(), strict=True))
    for job, at in start.items():
        known: dict[int, float] = {}
        for time, numbers in asked:
            known |= numbers if time <= at else {}
        waiting = [each.id for each in submissions if each.id in known and start[each.id] >= at]
        assert max(waiting, key=lambda each: (known[each], -each)) == job
        assert recorded[job] == known[job]
        if not period:
            assert known[job] == (at - 7 * job) / limit[job]
    # A job that arrives is numbered alone, with 0.
    again = [time for time, numbers in asked if any(numbers.values())]
    assert len(again) > 10
    assert min(np.diff(again)) >= period - 1e-6
    assert sorted(start, key=start.__getitem__) != sorted(start)


@pytest.mark.slow
def test_wfp_orders_the_queue_by_its_score() -> None:
    submissions = whole_machine(25, 8)
    found = simulate(submissions, one_partition(), slots={"PriorityType": "priority/wfp"})
    start, limit = starts(found.records), {each.id: each.options.time_limit or 0.0 for each in submissions}
    for job, at in start.items():
        waiting = [each.id for each in submissions if each.submit <= at and start[each.id] >= at]
        assert max(waiting, key=lambda each: ((at - 7 * each) / limit[each]) ** 3) == job
    assert sorted(start, key=start.__getitem__) != sorted(start)


@pytest.mark.slow
def test_wfp_gives_each_job_the_score_of_its_start() -> None:
    draws = np.random.default_rng(4)
    submissions = [
        request(n, 9 * n, int(draws.integers(20, 600)), f"-n{draws.integers(1, 9)}", f"-t{draws.integers(2, 12)}")
        for n in range(1, 61)
    ]
    jobs = simulate(submissions, one_partition(), slots={"PriorityType": "priority/wfp"}).records.jobs
    waited = jobs["start"] - jobs["submit"]
    np.testing.assert_allclose(
        jobs["priority_at_start"], (waited / jobs["time_limit"]) ** 3 * jobs["processors"], rtol=1e-12
    )
    assert (waited > 600).sum() > 10


def test_a_priority_that_was_given_goes_before_that_of_a_plugin() -> None:
    submissions = [
        request(1, 0, 100, "-n8", "-t2"),
        request(2, 1, 50, "-n8", "-t10"),
        request(3, 2, 50, "-n8", "-t20", "--priority=99"),
        request(4, 3, 50, "-n8", "-t30"),
    ]
    actions = [(20.0, TimedCommand(20.0, "scontrol update JobId=4 Priority=100", "it"))]
    slots = {"PriorityType": "priority/sjf"}
    start = starts(simulate(submissions, one_partition(), slots=slots, actions=actions).records)
    assert sorted(start, key=start.__getitem__) == [1, 4, 3, 2]


def test_planned_times_reach_the_other_plugins_and_the_records() -> None:
    class Half:
        name = "walltime/half"

        @hookimpl
        def walltime_submit(self, view: WalltimeView) -> float:
            return view.job.time_limit / (2 if view.job.id % 2 else 1)

    submissions = [
        request(1, 0, 100, "-n8", "-t2"),
        request(2, 1, 50, "-n8", "-t20"),
        request(3, 2, 50, "-n8", "-t30"),
    ]
    slots = {"WalltimeType": "walltime/half", "PriorityType": "priority/sjf"}
    found = simulate(submissions, one_partition(), slots=slots, plugins=[Half]).records
    assert sorted(starts(found), key=starts(found).__getitem__) == [1, 3, 2]
    assert found.jobs["planned"].tolist() == [60, 1200, 900]
    assert found.jobs["time_limit"].tolist() == [120, 1200, 1800]
    assert found.jobs["priority_at_start"].tolist() == [-60, -1200, -900]


def test_a_walltime_plugin_plans_anew_for_those_that_wait() -> None:
    class Later:
        """Knows from second 100 on that job 4 is short."""

        name = "walltime/later"

        def __init__(self, again: bool = True) -> None:
            self._again = again

        @hookimpl
        def walltime_pending(self, view: PendingView) -> Sequence[float] | None:
            if not self._again or view.now < 100:
                return None
            return [60.0 if job.id == 4 else job.time_limit for job in view.waiting]

    submissions = [
        request(1, 0, 1200, "-n2", "-t20", "-N1"),
        request(2, 10, 1200, "-n8", "-t30"),
        request(3, 20, 130, "-n2", "-N1", "-t3"),
        request(4, 30, 50, "-n2", "-N1", "-t60"),
    ]

    def start_of_4(again: bool) -> float:
        options = {"walltime/later": {"again": again}}
        slots = {"WalltimeType": "walltime/later"}
        run = simulate(submissions, one_partition(), slots=slots, plugins=[Later], plugin_options=options)
        return starts(run.records)[4]

    assert start_of_4(again=False) > 1200
    assert 100 <= start_of_4(again=True) < 200


MULTIFACTOR = (
    "PriorityType=priority/multifactor",
    "PriorityWeightJobSize=1000",
    "PriorityFavorSmall=YES",
)


def test_slurms_own_plugins_count_in_place_of_those_of_the_file() -> None:
    submissions = [
        request(1, 0, 100, "-n8", "-t2"),
        request(2, 1, 50, "-n8", "-t20"),
        request(3, 2, 50, "-n5", "-t20"),
    ]
    basic, multifactor = one_partition("PriorityType=priority/basic"), one_partition(*MULTIFACTOR)
    plain = simulate(submissions, basic)
    assert sorted(starts(plain.records), key=starts(plain.records).__getitem__) == [1, 2, 3]
    asked = simulate(submissions, multifactor, slots={"PriorityType": "priority/basic"})
    assert starts(asked.records) == starts(plain.records)
    assert asked.about["slots"]["PriorityType"] == "priority/basic"
    weighed = one_partition("PriorityType=priority/basic", *MULTIFACTOR[1:])
    asked = simulate(submissions, weighed, slots={"PriorityType": "priority/multifactor"})
    assert starts(asked.records) == starts(simulate(submissions, multifactor).records) != starts(plain.records)

    submissions = [request(1, 0, 600, "-n8", "-t60"), request(2, 60, 30, "-n2", "-t5", "-phi")]
    conf = parse_slurm_conf(two_tiers("REQUEUE"))
    spared = simulate(submissions, conf, slots={"PreemptType": "preempt/none"})
    assert spared.records.jobs["requeues"].tolist() == [0, 0]
    assert "PreemptType=preempt/none" not in spared.about["run"]["label"]
    assert simulate(submissions, conf).records.jobs["requeues"].tolist() == [1, 0]


class Outranked:
    """Who is outranked makes room."""

    name = "preempt/outranked"

    @hookimpl
    def preempt_candidates(self, view: PreemptView) -> list[Run]:
        assert view.outranked_processors() == sum(run.processors for run in view.outranked())
        return view.outranked()


@pytest.mark.parametrize("preempt", ["preempt/outranked", "preempt/shadow_load"])
def test_a_lower_tier_does_not_outrank_a_higher_one(preempt: str) -> None:
    conf, slots = parse_slurm_conf(two_tiers("REQUEUE")), {"PreemptType": preempt}
    # Of basic priorities the first is highest: only the tier speaks for the later job.
    for first, second, requeues in (("hi", "lo", [0, 0]), ("lo", "hi", [1, 0]), ("lo", "lo", [0, 0])):
        submissions = [
            request(1, 0, 600, "-n8", "-t60", f"-p{first}"),
            request(2, 60, 30, "-n2", "-t5", f"-p{second}", "--priority=4294901760"),
        ]
        jobs = simulate(submissions, conf, slots=slots, plugins=[Outranked]).records.jobs
        expected = [1, 0] if first == second else requeues
        assert jobs["requeues"].tolist() == expected, (first, second)


def accounts(tmp_path: Path) -> Accounts:
    (tmp_path / "sacctmgr.sh").write_text(
        "add qos low priority=10\nadd qos high priority=90\n"
        "add account all\nadd user me account=all qos=low,high,normal\n"
    )
    return read_accounts(tmp_path / "sacctmgr.sh")


def test_a_lower_quality_of_service_does_not_outrank_a_higher_one(tmp_path: Path) -> None:
    conf = one_partition("PreemptType=preempt/qos", "PreemptMode=REQUEUE", "PriorityType=priority/basic")
    for first, second, requeues in (("high", "low", [0, 0]), ("low", "high", [1, 0])):
        submissions = [
            request(1, 0, 600, "-n8", "-t60", f"-q{first}"),
            request(2, 60, 30, "-n2", "-t5", f"-q{second}", "--priority=4294901760"),
        ]
        jobs = simulate(
            submissions,
            conf,
            slots={"PreemptType": "preempt/outranked"},
            plugins=[Outranked],
            accounts=accounts(tmp_path),
        ).records.jobs
        assert jobs["requeues"].tolist() == requeues, (first, second)


def test_under_partition_prio_a_qos_does_not_say_what_becomes_of_a_victim(tmp_path: Path) -> None:
    (tmp_path / "books").write_text(
        "add qos short PreemptMode=REQUEUE\nadd account all\nadd user me account=all qos=short,normal\n"
    )
    submissions = [request(1, 0, 900, "-n8", "-t60", "-plo", "-qshort"), request(2, 60, 30, "-n2", "-t5", "-phi")]
    jobs = simulate(
        submissions, parse_slurm_conf(two_tiers("CANCEL")), accounts=read_accounts(tmp_path / "books")
    ).records.jobs
    assert jobs["requeues"].tolist() == [0, 0]
    assert jobs["state"].tolist() == ["PREEMPTED", "COMPLETED"]


def test_what_the_file_exempts_from_preemption_is_exempt_from_that_of_a_plugin() -> None:
    submissions = [request(1, 0, 900, "-n8", "-t60", "-plo"), request(2, 60, 30, "-n2", "-t5", "-phi")]
    conf = parse_slurm_conf(two_tiers("REQUEUE") + "\nPreemptExemptTime=00:05:00\n")
    jobs = simulate(submissions, conf, slots={"PreemptType": "preempt/outranked"}, plugins=[Outranked]).records
    assert jobs.jobs["requeues"].tolist() == [1, 0]
    assert starts(jobs)[2] >= 300


def test_shadow_load_spares_regular_runs_but_not_those_that_were_backfilled() -> None:
    submissions = [
        request(1, 0, 600, "-n4", "-N2", "-t11"),
        request(2, 40, 500, "-n8", "-t10"),
        request(3, 50, 300, "-n4", "-N2", "-t5"),
        request(4, 130, 60, "-n4", "-N2", "-t5", "--priority=4294901760"),
    ]
    conf = one_partition("PreemptType=preempt/partition_prio", "PreemptMode=REQUEUE")
    options = {"preempt/shadow_load": {"pin_regular": True}}
    slots = {"PreemptType": "preempt/shadow_load"}
    jobs = simulate(submissions, conf, slots=slots, plugin_options=options).records
    assert jobs.runs["backfilled"].tolist()[:2] == [False, True]
    assert jobs.jobs["requeues"].tolist() == [0, 0, 1, 0]


class Hears:
    """Notes what it hears."""

    name = "observer/hears"

    def __init__(self) -> None:
        self.heard: list[tuple[str, int, float]] = []

    @hookimpl
    def job_submitted(self, job: Job, now: float) -> None:
        self.heard.append(("submitted", job.id, now))

    @hookimpl
    def job_started(self, run: Run, now: float) -> None:
        self.heard.append(("started", run.job.id, now))

    @hookimpl
    def job_requeued(self, job: Job, run: Run, now: float) -> None:
        self.heard.append(("requeued", job.id, run.start))

    @hookimpl
    def job_ended(self, job: Job, run: Run, state: str, now: float) -> None:
        self.heard.append((state, job.id, now))


def test_observers_hear_of_starts_requeues_and_ends() -> None:
    conf = parse_slurm_conf(two_tiers("REQUEUE"))
    submissions = [
        JobRequest(1, 0.0, 300.0, parse_sbatch(["-N4", "--exclusive", "-plo"])),
        JobRequest(2, 20.0, 30.0, parse_sbatch(["-N1", "--exclusive", "-phi"]), exit_code=1),
    ]
    result = simulate(submissions, conf, plugins=[Hears])
    heard = result.plugins["observer/hears"].heard
    runs, jobs = result.runs, result.jobs.set_index("job_id")
    assert [(what, job) for what, job, _ in heard] == [
        *(("submitted", 1), ("started", 1), ("submitted", 2), ("requeued", 1)),
        *(("started", 2), ("FAILED", 2), ("started", 1), ("COMPLETED", 1)),
    ]
    assert [time for what, _, time in heard if what == "started"] == sorted(runs.start)
    assert {job: time for what, job, time in heard if what.isupper()} == dict(jobs.end)


@pytest.mark.parametrize(
    ("plugin", "slots", "words"),
    [
        (Outranked, {"PreemptType": "preempt/outranked"}, "PreemptMode is OFF in all partitions of .*PreemptMode=REQ"),
    ],
)
def test_plugins_that_would_do_nothing_are_refused(plugin: type, slots: dict[str, str], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        simulate([request(1, 0, 3, "-n1")], one_partition(), slots=slots, plugins=[plugin])


def run(tmp_path: Path, *words: str, conf: str = "") -> Any:
    (tmp_path / "jobs.events").write_text(EVENTS)
    (tmp_path / "slurm.conf").write_text(conf or two_tiers("REQUEUE"))
    return CliRunner().invoke(
        slurm_sim, ["run", str(tmp_path / "jobs.events"), "--slurm-conf", str(tmp_path / "slurm.conf"), *words]
    )


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--explain"], "explain records decisions in the event log: give out or events (--out, --events)"),
        (["--filter", "raised"], "jobs.events: all jobs of submission events are run as they are; leave out filter"),
    ],
)
def test_options_that_are_not_honoured_are_refused_by_name(tmp_path: Path, words: list[str], told: str) -> None:
    assert told in str(run(tmp_path, *words).exception)
    assert not list(tmp_path.glob("*.jsonl"))


def test_an_experiment_says_the_same_as_options(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"

    def told(text: str, *words: str) -> Any:
        file.write_text(text)
        return run(tmp_path, "--config", str(file), *words, "--json")

    assert '"PriorityType": "priority/wfp"' in told('[slots]\nPriorityType = "priority/wfp"\n').stdout
    assert (
        '"PriorityType": "priority/sjf"'
        in told('[slots]\nPriorityType = "priority/wfp"\n', "--priority", "priority/sjf").stdout
    )
    assert '"SchedulerType": "sched/easy"' in told('[slots]\nSchedulerType = "sched/easy"\n').stdout
    refused = told('[slots]\nSelectType = "select/blocks"\n')
    assert "select/blocks is for machines of processors, and this one is of nodes" in str(refused.exception)
    refused = told('[slots]\nPriorityType = "priority/wfp"\n[plugins."priority/wfp"]\nscore = "none"\n')
    assert "priority/wfp.score is one of" in str(refused.exception)
    assert "passes is for the ideal clock; leave passes out" in str(told('[simulation]\npasses = "event"\n').exception)
    assert "leave out filter" in str(told('[workload]\nfilter = "none"\n').exception)


def test_records_say_what_decided() -> None:
    submissions = [request(1, 0, 100, "-n8", "-t2"), request(2, 1, 50, "-n8", "-t20"), request(3, 2, 50, "-n8", "-t9")]
    conf = one_partition(*MULTIFACTOR)
    jobs = simulate(submissions, conf, slots={"PriorityType": "priority/sjf"}).records.jobs
    assert jobs["priority_at_start"].tolist() == [-120, -1200, -540]
    metrics = simulate(submissions, conf).metrics()
    for name in ("delayed", "mean_delay", "max_delay", "violated"):
        assert math.isnan(metrics[name]), name


def test_what_was_not_looked_at_is_no_zero(tmp_path: Path) -> None:
    told = " ".join(run(tmp_path).output.split())
    assert "delayed at the head not looked at" in told
    assert "reservations violated not looked at" in told
    assert '"delayed": null' in run(tmp_path, "--json").stdout


def test_an_audit_says_what_else_it_wants_for_a_run_on_a_cluster(tmp_path: Path) -> None:
    run(tmp_path, "--out", str(tmp_path / "run"))
    refused = CliRunner().invoke(slurm_sim, ["fairness", str(tmp_path / "run")])
    assert "was made on the cluster of a slurm.conf" in str(refused.exception)
    assert "name what it was made of with --trace and --slurm-conf" in str(refused.exception)


def test_views_show_the_priority_that_orders_the_queue(tmp_path: Path) -> None:
    conf = two_tiers("REQUEUE") + "\n".join(MULTIFACTOR)
    run(tmp_path, "--priority", "priority/sjf", "--out", str(tmp_path / "run"), conf=conf)
    shown = CliRunner().invoke(slurm_sim, ["squeue", str(tmp_path / "run"), "--at", "0", "-t", "all", "-o", "%i %Q"])
    assert shown.output.split()[-2:] == ["1", "-300"]
    refused = CliRunner().invoke(slurm_sim, ["sprio", str(tmp_path / "run"), "--at", "0"])
    assert "priority/multifactor" in str(refused.exception)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (
            "SelectType=select/blocks",
            "SelectType: select/blocks is for machines of processors, and this one is of nodes",
        ),
        ("SelectType=select/none", "SelectType: .*select/none"),
    ],
)
def test_a_bundled_plugin_in_a_slurm_conf_is_refused_with_what_to_do(tmp_path: Path, line: str, words: str) -> None:
    refused = run(tmp_path, conf=line + "\nNodeName=n1 CPUs=2\nPartitionName=p Nodes=ALL Default=YES\n")
    assert re.search(f"slurm.conf:1: {words}", str(refused.exception))


def test_every_parameter_of_the_controller_is_read() -> None:
    source = "\n".join(file.read_text() for file in (Path(__file__).parents[2] / "emulator").rglob("*.py"))
    unread = [each.name for each in fields(Parameters) if not re.search(rf"\.{each.name}\b", source)]
    assert not unread


def test_conf_check_says_that_defer_is_honoured(tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_text(
        "SchedulerParameters=defer,defer_batch\nNodeName=n1 CPUs=2\nPartitionName=p Nodes=ALL\n"
    )
    done = CliRunner().invoke(slurm_sim, ["conf", "check", str(tmp_path / "slurm.conf"), "--json"])
    status = {key["key"]: key["status"] for key in json.loads(done.stdout)["keys"]}
    assert status["SchedulerParameters.defer"] == status["SchedulerParameters.defer_batch"] == "honoured"


@pytest.mark.parametrize(("first", "second", "requeues"), [(9, 5, [0, 0]), (5, 9, [1, 0]), (5, 5, [1, 0])])
def test_preempt_mode_priority_spares_jobs_of_a_higher_priority(first: int, second: int, requeues: list[int]) -> None:
    submissions = [
        request(1, 0, 600, "-n8", "-t60", "-plo", f"--priority={first}"),
        request(2, 60, 30, "-n2", "-t5", "-phi", f"--priority={second}"),
    ]
    for mode, expected in (("REQUEUE", [1, 0]), ("REQUEUE,PRIORITY", requeues)):
        conf = parse_slurm_conf(two_tiers(mode))
        assert simulate(submissions, conf).records.jobs["requeues"].tolist() == expected


@pytest.fixture
def no_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "why_plain", lambda: "the kernels are not compiled")
    kernels._warn.cache_clear()


def test_what_is_slow_without_kernels_says_so_once(no_kernels: None, caplog: pytest.LogCaptureFixture) -> None:
    told = "runs in plain Python, many times slower: the kernels are not compiled"
    for _ in range(2):
        simulate([request(number, 0, 3, "-n1") for number in range(1, MANY + 1)], one_partition())
        simulate(workload([(1, 0, 1, 3, 3)]), processors=1, scheduler="sched/conservative", compiled=False)
        simulate(workload([(1, 0, 1, 3, 3)]), processors=1, scheduler="sched/easy", compiled=False)
    assert [record.getMessage() for record in caplog.records] == [
        f"Slurm's timing {told}",
        f"view.profile(), as sched/conservative uses it, {told}",
    ]


def test_what_is_needed_is_installed_by_default() -> None:
    stated = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    names = {re.split(r"[<>=]", each)[0] for each in stated["dependencies"]}
    assert {"numpy", "pyyaml"} <= names
    assert stated["optional-dependencies"]["compiled"] == []
