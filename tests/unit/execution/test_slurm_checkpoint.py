"""PreemptMode=CHECKPOINT in Slurm's timing."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import ClassVar

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.accounting.cluster_records import collect_cluster
from emulator.accounting.runfolder import read_run
from emulator.api import simulate
from emulator.cli import slurm_sim
from emulator.config.preemption import Preemption
from emulator.config.sacctmgr import parse_accounts
from emulator.config.slurm import parse_slurm_conf
from emulator.config.slurm.controller import Timing
from emulator.engine.controller import Controller
from emulator.metrics.checkpoints import overheads
from emulator.operator.jobs import cancel
from emulator.operator.scontrol import scontrol
from emulator.state.job import Job
from emulator.state.run import State
from emulator.workload.request import JobRequest
from emulator.workload.sbatch import parse_sbatch
from slurm_sim_plugins import ConfigurationError, PreemptView, Run, hookimpl
from tests.builders.jobs import two_tiers

CONF = two_tiers("CHECKPOINT")
BY_QOS = (
    CONF.replace("partition_prio", "qos").replace("PreemptMode=CHECKPOINT", "PreemptMode=REQUEUE")
    + "AccountingStorageEnforce=qos\n"
)
BOOKS = "add account a\nadd qos low PreemptMode=CHECKPOINT\nadd qos hi Preempt=low\nadd user me account=a qos=low,hi"
JIT = Preemption(mode="CHECKPOINT", checkpoint="jit", cost=30, restart_cost=20)
EVERY_100 = Preemption(mode="CHECKPOINT", interval=100, cost=10, restart_cost=20)
EPILOG = Timing().job_overhead
"""Seconds that a run lasts longer than its work; half of them pass after a kill, until nodes are free."""
NEVER = float("inf")


def request(number: int, submit: float, run: float, words: str) -> JobRequest:
    return JobRequest(number, submit, run, parse_sbatch(words.split()), "me")


VICTIM, URGENT = request(1, 0, 600, "-n8 -t60"), request(2, 250, 100, "-n8 -t5 -phi")


def play(preemption: Preemption | None, conf: str = CONF, jobs=(VICTIM, URGENT), actions=()) -> Controller:
    made = Controller(parse_slurm_conf(conf), jobs, actions, preemption=preemption)
    made.run()
    return made


def job(made: Controller, number: int = 1) -> Job:
    return made.cluster.jobs[number]


def lengths(one: Job) -> list[float]:
    return [pytest.approx(run.end - run.start) for run in one.runs if run.end is not None]


def works(one: Job) -> list[float]:
    return [run.work for run in one.runs if run.work is not None]


def test_just_in_time_a_victim_writes_before_its_nodes_are_free() -> None:
    made = play(JIT)
    first, second = job(made).runs
    began = first.start
    stopped = first.stopped
    assert stopped is not None
    assert 250 < stopped < 255
    assert first.end == pytest.approx(stopped + 30)
    assert works(job(made)) == [pytest.approx(stopped - began), pytest.approx(600 - (stopped - began))]
    assert job(made, 2).runs[0].start == pytest.approx(stopped + 30 + EPILOG / 2)
    assert second.end - second.start == pytest.approx(20 + second.work + EPILOG)
    assert [run.checkpoints for run in job(made).runs] == [1, 0]
    assert job(made).state is State.COMPLETED


def test_at_intervals_a_victim_keeps_what_is_complete() -> None:
    made = play(EVERY_100)
    first, second = job(made).runs
    # 250 s hold two checkpoints, after 100 s of work each; 400 s are left, with three between.
    assert works(job(made)) == [200, 400]
    assert [run.checkpoints for run in job(made).runs] == [2, 3]
    assert first.end == first.stopped
    assert 250 < first.end < 255
    assert second.end - second.start == pytest.approx(20 + 400 + 3 * 10 + EPILOG)


def test_undisturbed_a_run_writes_all_but_the_last() -> None:
    (run,) = job(play(EVERY_100, jobs=[VICTIM])).runs
    assert (run.checkpoints, run.work) == (5, 600)
    assert run.end - run.start == pytest.approx(650 + EPILOG)


def test_a_share_of_the_limit_sets_the_interval() -> None:
    # 10 % of 600 s hold 6 of 10 s, evenly spaced.
    share = Preemption(mode="CHECKPOINT", checkpoint="share", share=0.1, cost=10)
    (run,) = job(play(share, jobs=[request(1, 0, 400, "-n8 -t10")])).runs
    assert run.checkpoints == 4
    unlimited = CONF.replace("MaxTime=2:00:00", "MaxTime=UNLIMITED")
    (run,) = job(play(share, unlimited, jobs=[request(1, 0, 390, "-n8")])).runs
    assert run.checkpoints == 3


def test_the_defaults_are_those_of_ideal_timing() -> None:
    made = play(None, jobs=[request(1, 0, 7000, "-n8 -t120"), request(2, 3700, 10, "-n8 -t5 -phi")])
    assert works(job(made)) == [3600, 3400]


def test_the_order_and_the_hold_are_those_of_requeue() -> None:
    free = Preemption(mode="CHECKPOINT", checkpoint="jit", cost=0)
    jobs = [*(request(n, n, 500, "-n2 -t60") for n in range(1, 5)), request(9, 100, 50, "-n4 -t2 -phi")]
    saved, lost = play(free, jobs=jobs), play(None, CONF.replace("=CHECKPOINT", "=REQUEUE"), jobs)
    for number in (1, 2, 3, 4, 9):
        one, other = job(saved, number), job(lost, number)
        assert (one.begin, one.restarts, one.runs[-1].start) == (other.begin, other.restarts, other.runs[-1].start)
    assert sum(job(saved, number).restarts for number in (1, 2, 3, 4)) == 2


def test_a_victim_works_on_in_its_grace_time() -> None:
    made = play(JIT, CONF.replace("MaxTime=2:00:00", "GraceTime=60"))
    first = job(made).runs[0]
    assert first.stopped is not None
    assert 310 < first.stopped < 345
    assert works(job(made))[0] == pytest.approx(first.stopped - first.start)
    assert sum(works(job(made))) == pytest.approx(600)
    ends = request(1, 0, 280, "-n8 -t60")
    assert len(job(play(JIT, CONF.replace("MaxTime=2:00:00", "GraceTime=60"), [ends, URGENT])).runs) == 1


def test_partitions_may_say_so_for_themselves() -> None:
    conf = CONF.replace("=CHECKPOINT", "=REQUEUE").replace("MaxTime=2:00:00", "PreemptMode=CHECKPOINT")
    assert works(job(play(EVERY_100, conf))) == [200, 400]
    conf = CONF.replace("MaxTime=2:00:00", "PreemptMode=CANCEL")
    assert job(play(EVERY_100, conf)).state is State.PREEMPTED


def test_qualities_of_service_may_say_so_for_themselves() -> None:
    jobs = [request(1, 0, 600, "-n8 -t60 --qos=low"), request(2, 250, 250, "-n8 -t5 --qos=hi")]
    made = Controller(parse_slurm_conf(BY_QOS), jobs, accounts=parse_accounts(BOOKS), preemption=EVERY_100)
    made.run(3600.0)
    assert works(job(made)) == [200, 400]
    assert works(job(made, 2)) == []


def test_who_nobody_preempts_writes_none() -> None:
    made = play(EVERY_100)
    (run,) = job(made, 2).runs
    assert (run.work, run.checkpoints) == (None, 0)
    assert lengths(job(made, 2)) == [100 + EPILOG]


def test_who_may_not_be_requeued_is_killed_and_writes_none() -> None:
    made = play(JIT, jobs=[request(1, 0, 600, "-n8 -t60 --no-requeue"), URGENT])
    assert job(made).state is State.PREEMPTED
    assert works(job(made)) == []


def test_the_limit_is_of_each_run_by_the_clock() -> None:
    made = play(EVERY_100, jobs=[request(1, 0, 1e9, "-n8 -t10"), URGENT])
    first, second = job(made).runs
    assert job(made).state is State.TIMEOUT
    lasted = second.end - second.start
    assert 600 <= lasted < 630 + EPILOG
    # 20 s of reading and five checkpoints of 10 s.
    assert (first.work, second.checkpoints) == (200, 5)
    assert second.work == pytest.approx(lasted - 70)
    assert collect_cluster(made).jobs["run"][0] == pytest.approx(200 + second.work)


def test_a_run_that_is_requeued_otherwise_writes_none_for_that() -> None:
    jobs = [request(1, 0, 600, "-n8 -t60")]
    actions = [(250.0, lambda made: scontrol("scontrol requeue 1", made))]
    assert works(job(play(EVERY_100, jobs=jobs, actions=actions))) == [200, 400]
    assert works(job(play(JIT, jobs=jobs, actions=actions))) == [0, 600]


def test_a_checkpoint_is_lost_with_the_node_that_writes_it() -> None:
    actions = [
        (265.0, lambda made: scontrol("scontrol update NodeName=n1 State=DOWN", made)),
        (300.0, lambda made: scontrol("scontrol update NodeName=n1 State=RESUME", made)),
    ]
    made = play(JIT, actions=actions)
    assert works(job(made)) == [0, 600]
    assert [run.outcome for run in job(made).runs] == [State.NODE_FAIL, State.COMPLETED]


def test_who_writes_can_be_cancelled() -> None:
    made = play(JIT, actions=[(265.0, lambda made: cancel(job(made), made))])
    assert job(made).state is State.CANCELLED
    assert len(job(made).runs) == 1
    assert 265 <= job(made).runs[0].end < 266


def test_who_goes_on_where_nobody_saves_reads_and_loses_no_more() -> None:
    conf = CONF.replace("=CHECKPOINT", "=REQUEUE").replace("MaxTime=2:00:00", "PreemptMode=CHECKPOINT")
    conf += "PartitionName=mid Nodes=ALL PriorityTier=3\n"
    actions = [(300.0, lambda made: scontrol("scontrol update JobId=1 Partition=mid", made))]
    last = request(3, 600, 100, "-n8 -t5 -phi")
    made = play(EVERY_100, conf, [VICTIM, URGENT, last], actions)
    assert works(job(made)) == [200, 0, 400]
    assert job(made).runs[2].end - job(made).runs[2].start == pytest.approx(20 + 400 + EPILOG)


@pytest.mark.slow
@pytest.mark.parametrize("mode", [JIT, EVERY_100, Preemption(mode="CHECKPOINT", checkpoint="share", cost=2)])
@given(
    drawn=st.lists(
        st.tuples(st.floats(0, 900), st.floats(1, 900), st.integers(1, 8), st.booleans()), min_size=2, max_size=12
    )
)
@settings(max_examples=25, deadline=None)
def test_what_runs_do_adds_up_to_the_work_of_the_job(mode: Preemption, drawn) -> None:
    jobs = [
        request(number, at, run, f"-n{size} -t{'30 -phi' if urgent else '120'}")
        for number, (at, run, size, urgent) in enumerate(drawn, 1)
    ]
    made = play(mode, jobs=jobs)
    records = collect_cluster(made)
    assert set(records.jobs["state"]) == {"COMPLETED"}
    for one in made.cluster.jobs.values():
        if one.partitions[0].name == "lo":
            assert sum(works(one)) == pytest.approx(one.request.run, abs=2e-6)
            length = sum(run.end - run.start for run in one.runs)
            costs = EPILOG * len(one.runs) + length
            assert costs >= one.request.run
    told = overheads(records, mode)
    spent = defaultdict(float)
    for index, one in enumerate(records.jobs["job_id"]):
        spent[int(one)] = told.checkpoint[index] + told.preemption[index]
    for one in made.cluster.jobs.values():
        if one.partitions[0].name == "lo":
            length = sum(run.end - run.start for run in one.runs)
            assert length == pytest.approx(one.request.run + spent[one.id], abs=EPILOG * len(one.runs) + 1e-3)


class Widest:
    """Notes how much each run has to lose."""

    name = "preempt/widest"
    seen: ClassVar[list[float]] = []

    @hookimpl
    def preempt_candidates(self, view: PreemptView) -> list[Run]:
        self.seen.extend(view.unsaved(run) for run in view.running)
        return list(view.running)


@pytest.mark.parametrize(("mode", "least", "most"), [(JIT, 0, 0), (EVERY_100, 28, 35), (None, 248, 255)])
def test_plugins_see_what_would_be_lost(mode: Preemption | None, least: float, most: float) -> None:
    Widest.seen.clear()
    slots = {"PreemptType": "preempt/widest"}
    simulate(
        [VICTIM, URGENT],
        parse_slurm_conf(CONF),
        slots=slots,
        plugins=[Widest],
        preemption=mode or Preemption(),
        compiled=False,
    )
    assert least <= Widest.seen[0] <= most


def test_options_that_nobody_goes_by_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="PreemptMode=CHECKPOINT, which neither the cluster"):
        play(JIT, CONF.replace("=CHECKPOINT", "=REQUEUE"))
    with pytest.raises(ConfigurationError, match="PreemptMode says what becomes of a victim"):
        play(Preemption(mode="SUSPEND"))


def site(tmp_path: Path, conf: str = CONF) -> list[str]:
    (tmp_path / "slurm.conf").write_text(conf)
    (tmp_path / "jobs.events").write_text(
        "-dt 0 -e submit_batch_job | -sim-walltime 600 -n 8 -t 60 a.job\n"
        "-dt 250 -e submit_batch_job | -sim-walltime 100 -n 8 -t 5 -p hi a.job\n"
    )
    return ["run", str(tmp_path / "jobs.events"), "--slurm-conf", str(tmp_path / "slurm.conf"), "--json"]


def test_the_command_takes_the_options_and_an_experiment_has_them(tmp_path: Path) -> None:
    words = site(tmp_path)
    (tmp_path / "some.toml").write_text("[preemption]\nmode = 'CHECKPOINT'\ninterval = 100\ncost = 50\n")
    given = [*words, "--experiment", str(tmp_path / "some.toml"), "--preemption", "cost=10"]
    done = CliRunner().invoke(slurm_sim, [*given, "--out", str(tmp_path / "run")], catch_exceptions=False)
    told = json.loads(done.stdout)["preemption"]
    assert (told["mode"], told["interval"], told["cost"]) == ("CHECKPOINT", 100, 10)
    records = read_run(tmp_path / "run").records
    assert records.runs["checkpoints"].tolist() == [2, 0, 3]
    assert records.runs["work"].tolist()[::2] == [200, 400]


@pytest.mark.parametrize(
    ("options", "conf", "words"),
    [
        (["--preemption", "mode=SUSPEND"], CONF, "PreemptMode says what becomes"),
        (["--preemption", "cost=9000"], CONF, "more than the interval"),
        (["--preemption", "interval=0"], CONF, "preemption.interval is 0"),
        (["--preemption", "every=3"], CONF, "options are mode"),
        (["--preemption", "cost=1"], CONF.replace("=CHECKPOINT", "=CANCEL"), "slurm.conf: options of preemption"),
        (["--preempt-mode", "CHECKPOINT"], CONF, "leave out preempt_mode"),
    ],
)
def test_bad_options_are_refused(tmp_path: Path, options: list[str], conf: str, words: str) -> None:
    done = CliRunner().invoke(slurm_sim, [*site(tmp_path, conf), *options])
    assert done.exit_code != 0
    assert words in str(done.exception)


def test_conf_check_tells_that_it_is_an_extension(tmp_path: Path) -> None:
    site(tmp_path)
    done = CliRunner().invoke(
        slurm_sim, ["conf", "check", str(tmp_path / "slurm.conf")], catch_exceptions=False, env={"COLUMNS": "200"}
    )
    (line,) = [each for each in done.output.splitlines() if "PreemptMode" in each]
    assert "honoured" in line
    assert "emulator's extension" in line
