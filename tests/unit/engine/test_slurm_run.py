"""A workload through the cluster of a slurm.conf: submissions, records, the command."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.accounting.runfolder import read_run
from emulator.api import simulate
from emulator.cli import slurm_sim
from emulator.config.slurm import parse_slurm_conf
from emulator.config.slurm.controller import Timing
from emulator.engine.controller import Controller
from emulator.workload.events import FOREVER, read_events
from emulator.workload.request import JobRequest
from emulator.workload.sbatch import parse_sbatch
from emulator.workload.submissions import requests_of
from slurm_sim_plugins import InputError, PluginError, PreemptView, PriorityView, Run, hookimpl
from tests.builders.jobs import two_tiers, workload

CONF = two_tiers("REQUEUE")


def request(number: int, submit: float, run: float, *words: str) -> JobRequest:
    return JobRequest(number, submit, run, parse_sbatch(words), "me")


def test_records_of_a_run_with_preemption_limits_and_refusals() -> None:
    result = simulate(
        [
            request(1, 0, 600, "-n8", "-t60"),
            request(2, 10, 100, "-n4", "-t5", "-phi"),
            request(3, 20, 600, "-n1", "-t1", "-phi"),
            request(4, 30, 10, "-n8", "-N1", "-t5"),
        ],
        parse_slurm_conf(CONF),
    )
    jobs = result.records.jobs
    assert jobs["job_id"].tolist() == [1, 2, 3, 4]
    assert jobs["state"].tolist() == ["COMPLETED", "COMPLETED", "TIMEOUT", "REJECTED"]
    assert jobs["partition"].tolist() == ["lo", "hi", "hi", ""]
    assert jobs["processors"].tolist() == [8, 4, 1, 8]
    assert jobs["requeues"].tolist() == [1, 0, 0, 0]
    assert jobs["nodes"].tolist()[1] == "n1,n2"
    assert jobs["first_start"][0] < 2
    assert jobs["start"][0] > 130
    runs = result.records.runs
    assert list(zip(runs["job_id"].tolist(), runs["run"].tolist(), runs["outcome"].tolist(), strict=True)) == [
        (1, 1, "PREEMPTED"),
        (2, 1, "COMPLETED"),
        (3, 1, "TIMEOUT"),
        (1, 2, "COMPLETED"),
    ]
    assert result.about["rejected"] == {"Requested node configuration is not available": 1}
    assert result.about["simulation"]["timing"] == "slurm"
    summary = result.metrics()
    assert (summary["completed"], summary["timeout"], summary["rejected"]) == (2, 1, 1)


def test_each_of_the_first_jobs_that_are_over_is_reported() -> None:
    told: list[int] = []
    submissions = [request(number, number, 10, "-n1", "-t5") for number in range(1, 101)]
    simulate([*submissions, request(101, 0, 10, "-n8", "-N1", "-t5")], parse_slurm_conf(CONF), report=told.append)
    assert told == list(range(1, 65))


@pytest.mark.slow
def test_the_same_submissions_give_the_same_records() -> None:
    submissions = [request(number, number * 3, 50 + number, f"-n{number % 5 + 1}", "-t5") for number in range(1, 30)]
    first, second = (simulate(submissions, parse_slurm_conf(CONF)).records for _ in range(2))
    for name, column in first.jobs.items():
        assert column.tolist() == second.jobs[name].tolist() or np.isnan(column.astype(float)).all()


def test_a_log_names_partitions_by_number() -> None:
    given = workload([(1, 0, 2, 10, 60), (2, 1, 3, 10, 60), (3, 2, 1, 10, 60)])
    given.facts["partition"] = np.array([1, 2, 7])  # type: ignore[index]
    found = requests_of(given, parse_slurm_conf(CONF), {1: "hi", 2: "elsewhere"})
    assert [one.options.partitions for one in found] == [("hi",), (), ()]
    assert [one.options.tasks for one in found] == [2, 3, 1]


def test_submission_events(tmp_path: Path) -> None:
    file = tmp_path / "jobs.events.gz"
    file.write_bytes(
        gzip.compress(
            b"# a comment\n"
            b"-dt 1.5 -e submit_batch_job | -sim-walltime 60.0 --uid=ann -J a -n 3 -t 5 -q fast pseudo.job\n"
            b"-dt 2 -e submit_batch_job | -sim-walltime -1 --uid=bob -N 2 pseudo.job\n",
            mtime=0,
        )
    )
    first, second = read_events(file)
    assert (first.id, first.submit, first.run, first.user, first.name) == (1, 1.5, 60, "ann", "a")
    assert (first.options.tasks, first.options.time_limit, first.options.qos) == (3, 300, "fast")
    assert (second.run, second.options.min_nodes) == (FOREVER, 2)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("-dt 1 -e submit_batch_job -sim-walltime 6 a.job", "there is no | between"),
        ("-dt 1 -e cancel_job | 5 x", "'cancel_job', not submit_batch_job"),
        ("-dt soon -e submit_batch_job | -sim-walltime 6 a.job", "soon"),
        ("-dt 1 -e submit_batch_job | -sim-walltime 6 --nodez=3 a.job", "nodez"),
    ],
)
def test_a_line_that_is_no_submission_is_told(tmp_path: Path, line: str, words: str) -> None:
    file = tmp_path / "jobs.events"
    file.write_text(f"-dt 1 -e submit_batch_job | -sim-walltime 6 a.job\n{line}\n")
    with pytest.raises(InputError, match=rf"jobs\.events:2: is no submission: .*{words}"):
        read_events(file)


@pytest.mark.slow
def test_the_command_runs_a_site(tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_text(CONF)
    (tmp_path / "jobs.events").write_text(
        "".join(
            f"-dt {number} -e submit_batch_job | -sim-walltime 30 --uid=u -n 2 -t 1 -p {part} a.job\n"
            for number, part in enumerate(["lo", "hi"] * 5)
        )
    )
    words = ["run", str(tmp_path / "jobs.events"), "--slurm-conf", str(tmp_path / "slurm.conf")]
    done = CliRunner().invoke(slurm_sim, [*words, "--out", str(tmp_path / "run")], catch_exceptions=False)
    assert done.exit_code == 0
    assert "slurm timing" in done.output
    assert "partition hi" in done.output
    assert read_run(tmp_path / "run").records.jobs["job_id"].tolist() == list(range(1, 11))
    report = CliRunner().invoke(slurm_sim, ["report", str(tmp_path / "run")], catch_exceptions=False)
    assert report.exit_code == 0
    told = CliRunner().invoke(slurm_sim, [*words, "--json"], catch_exceptions=False)
    assert json.loads(told.stdout)["slots"]["SchedulerType"] == "sched/backfill"


def test_options_of_ideal_timing_are_refused(tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_text(CONF)
    (tmp_path / "jobs.events").write_text("-dt 0 -e submit_batch_job | -sim-walltime 3 -n 1 a.job\n")
    words = ["run", str(tmp_path / "jobs.events"), "--slurm-conf", str(tmp_path / "slurm.conf")]
    done = CliRunner().invoke(slurm_sim, [*words, "--passes", "event"])
    assert "passes is for the ideal clock; leave passes out" in str(done.exception)
    done = CliRunner().invoke(slurm_sim, [*words, "--select", "select/blocks"])
    assert "select/blocks is for machines of processors, and this one is of nodes" in str(done.exception)
    done = CliRunner().invoke(slurm_sim, [*words, "--execution", "execution/two_tier"])
    assert "plugins can take SchedulerType, BackfillType, PriorityType, PreemptType, S" in str(done.exception)


class Shortest:
    name = "priority/shortest"

    @hookimpl
    def priority_set(self, view: PriorityView) -> list[float]:
        return [-job.time_limit for job in view.to_set]


class Widest:
    """Who is wider makes room for who is narrower, whatever the partitions."""

    name = "preempt/widest"

    @hookimpl
    def preempt_candidates(self, view: PreemptView) -> list[Run]:
        return [run for run in view.running if run.processors > view.preemptor.processors]


def test_a_priority_plugin_orders_the_queue() -> None:
    submissions = [
        request(1, 0, 100, "-n8", "-t2"),
        request(2, 1, 50, "-n8", "-t30"),
        request(3, 2, 50, "-n8", "-t20"),
        request(4, 3, 50, "-n8", "-t10"),
    ]
    plain = simulate(submissions, parse_slurm_conf(CONF)).records.jobs["start"]
    shortest = simulate(
        submissions, parse_slurm_conf(CONF), slots={"PriorityType": "priority/shortest"}, plugins=[Shortest]
    )
    starts = shortest.records.jobs["start"]
    assert np.argsort(plain).tolist() == [0, 1, 2, 3]
    assert np.argsort(starts).tolist() == [0, 3, 2, 1]
    assert shortest.about["slots"]["PriorityType"] == "priority/shortest"


def test_a_preempt_plugin_names_the_victims() -> None:
    submissions = [request(1, 0, 600, "-n8", "-t60"), request(2, 60, 30, "-n2", "-t5")]
    slots = {"PreemptType": "preempt/widest"}
    jobs = simulate(submissions, parse_slurm_conf(CONF), slots=slots, plugins=[Widest]).records.jobs
    assert jobs["requeues"].tolist() == [1, 0]
    assert jobs["start"][1] < 65


def test_planned_times_let_backfill_do_more() -> None:
    submissions = [
        request(1, 0, 40, "-n2", "-t1", "-N1"),
        request(2, 50, 600, "-n6", "-N3", "-t10"),
        request(3, 55, 600, "-n8", "-t10"),
        request(4, 60, 40, "-n2", "-N1", "-t60"),
    ]
    plain = simulate(submissions, parse_slurm_conf(CONF)).records.jobs["start"]
    planned = simulate(submissions, parse_slurm_conf(CONF), slots={"WalltimeType": "walltime/last_model"})
    assert plain[3] > 600
    assert planned.records.jobs["start"][3] > 600  # two thirds of an hour are still too long for the hole
    same_user = [request(1, 0, 4, "-n2", "-t1", "-N1"), *submissions[1:]]
    helped = simulate(same_user, parse_slurm_conf(CONF), slots={"WalltimeType": "walltime/last_model"})
    assert helped.records.jobs["start"][3] < 110
    same_user[3] = request(4, 60, 900, "-n2", "-N1", "-t60")
    longer = simulate(same_user, parse_slurm_conf(CONF), slots={"WalltimeType": "walltime/last_model"})
    assert longer.records.jobs["start"][3] < 110
    assert longer.records.jobs["end"][3] > 960  # it is the limit that kills, not what was planned


def test_a_plugin_that_fails_is_named() -> None:
    class Broken(Shortest):
        name = "priority/broken"

        @hookimpl
        def priority_set(self, view: PriorityView) -> list[float]:
            return [float("nan") for _ in view.to_set]

    with pytest.raises(PluginError, match=r"priority/broken.*priority_set.*nan"):
        simulate(
            [request(1, 0, 3, "-n1", "-t1")],
            parse_slurm_conf(CONF),
            slots={"PriorityType": "priority/broken"},
            plugins=[Broken],
        )


def test_plugins_and_keys_that_are_not_emulated_are_told(tmp_path: Path) -> None:
    (tmp_path / "jobs.events").write_text("-dt 0 -e submit_batch_job | -sim-walltime 3 -n 1 a.job\n")
    file = tmp_path / "slurm.conf"
    words = ["run", str(tmp_path / "jobs.events"), "--slurm-conf", str(file)]
    file.write_text(f"TopologyParam=Dragonfly\n{CONF}")
    done = CliRunner().invoke(slurm_sim, words, catch_exceptions=False)
    assert "stated without effect yet: TopologyParam.Dragonfly" in " ".join(done.output.split())
    file.write_text(CONF.replace("preempt/partition_prio", "preempt/site"))
    refused = CliRunner().invoke(slurm_sim, words)
    assert "slurm.conf:6: PreemptType: PreemptType=preempt/site: there is no such plugin" in str(refused.exception)


@pytest.mark.slow
@settings(max_examples=6)
@given(seed=st.integers(0, 10_000))
def test_what_jobs_alike_have_in_common_is_tried_once_with_the_same_result(seed: int) -> None:
    draws = np.random.default_rng(seed)
    submissions = [
        request(
            number,
            float(draws.integers(0, 200)),
            float(draws.integers(5, 400)),
            f"-n{draws.choice([1, 2, 4, 6])}",
            f"-t{draws.choice([2, 5, 8])}",
        )
        for number in range(1, 40)
    ]
    conf = parse_slurm_conf(CONF.replace("bf_interval=10", "bf_interval=10,bf_resolution=1"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("emulator.scheduling.future.FIRST_WINDOW", 0.001)  # each end of a run is looked at
        shared = simulate(submissions, conf, compiled=False).records.jobs
        patch.setattr("emulator.scheduling.windows.Windows._note", lambda *_: None)
        alone = simulate(submissions, conf, compiled=False).records.jobs
    assert shared["start"].tolist() == alone["start"].tolist()
    assert shared["nodes"].tolist() == alone["nodes"].tolist()


@pytest.mark.parametrize(("phase", "start"), [(0.0, 11.0), (0.5, 10.5), (0.9, 11.1)])
def test_begin_is_a_second_of_the_cluster_s_clock(phase: float, start: float):
    conf = parse_slurm_conf("SchedulerParameters=sched_interval=1\nNodeName=n1 CPUs=1\nPartitionName=p Nodes=n1")
    late = JobRequest(1, 1.2, 5.0, parse_sbatch(["-pp", "--begin=now+10", "-t1"]), "u")
    controller = Controller(conf, [late], timing=Timing(second_phase=phase))
    controller.run(5.0)
    assert controller.cluster.jobs[1].begin == pytest.approx(start)


def test_backfill_wakes_up_in_the_rounds_of_its_thread() -> None:
    conf = parse_slurm_conf(
        "SchedulerParameters=bf_interval=5,sched_interval=-1\nSelectTypeParameters=CR_Core\nNodeName=n1 CPUs=4\n"
        "PartitionName=p Nodes=n1"
    )
    jobs = [request(number, at, 90.0, "-pp", "-n1", "-t5") for number, at in enumerate((1.1, 1.9, 40.0), 1)]
    controller = Controller(conf, jobs, timing=Timing(backfill_phase=20.0, glance=1.01, glance_phase=0.3))
    controller.run(60.0)
    starts = [job.runs[0].start for job in controller.cluster.jobs.values()]
    assert starts == pytest.approx([0.3 + rounds * 1.01 for rounds in (1, 6, 40)])


def test_backfill_wakes_up_when_a_recording_says_so() -> None:
    """Another thread may hold it up: a job that was submitted meanwhile starts in that cycle."""
    conf = parse_slurm_conf("SchedulerParameters=sched_interval=-1,bf_interval=5\nNodeName=a\nPartitionName=p Nodes=a")
    timing = Timing(backfill_phase=20.0, glance_phase=0.25, glances_seen=(2.25, 3.275))
    controller = Controller(conf, [request(1, 3.26, 90.0, "-pp", "-n1", "-t5")], timing=timing)
    controller.run(60.0)
    assert controller.cluster.jobs[1].runs[0].start == 3.275
