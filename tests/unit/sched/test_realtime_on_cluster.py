"""Real-time jobs on the nodes and partitions of a cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from emulator import Result, Workload, simulate
from emulator.cli import slurm_sim
from emulator.config.preemption import Preemption
from emulator.config.sacctmgr import parse_accounts
from emulator.config.slurm import parse_slurm_conf
from emulator.workload.request import JobRequest
from emulator.workload.sbatch import parse_sbatch
from slurm_sim_plugins import ConfigurationError
from slurm_sim_plugins.manager import Catalogue
from tests.builders.jobs import run_rows, workload

CONF = """
ClusterName=beamline
SchedulerType=sched/realtime
PreemptType=preempt/realtime
PreemptMode={mode}
PriorityType=priority/basic
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
NodeName=n[1-4] CPUs=2
PartitionName=batch Nodes=n[1-4] Default=YES MaxTime=2:00:00
PartitionName=beam Nodes=n[1-4] PreemptMode=OFF PriorityTier={tier}
"""
JIT = Preemption(mode="CHECKPOINT", checkpoint="jit", cost=30, restart_cost=20)
BATCH = [(1, 0, 600, "-n4 -t20"), (2, 5, 900, "-n4 -t20")]
BY_PARTITION = {"jobs": "partition=beam"}
PREEMPTIVE = {"policy": "preemptive", **BY_PARTITION}


def simulated(
    rows: list[tuple[int, float, float, str]],
    scheduler: dict[str, Any],
    clock: str = "ideal",
    mode: str = "REQUEUE",
    tier: int = 5,
    conf: str = CONF,
    **how: Any,
) -> Result:
    requests = [JobRequest(id, submit, run, parse_sbatch(words.split()), "me") for id, submit, run, words in rows]
    options = {"sched/realtime": scheduler, "preempt/realtime": {"jobs": scheduler.get("jobs", "realtime=1")}}
    file = parse_slurm_conf(conf.format(mode=mode, tier=tier))
    return simulate(requests, file, clock=clock, plugin_options=options, catalogue=Catalogue(), **how)


@pytest.mark.parametrize(
    ("mode", "lasts"),
    [("REQUEUE", [245, 900]), ("CANCEL", [245]), ("CHECKPOINT", [275, 675]), ("SUSPEND,GANG", [1000])],
)
@pytest.mark.parametrize("clock", ["ideal", "slurm"])
def test_batch_jobs_make_room_as_their_partition_says(clock: str, mode: str, lasts: list[float]) -> None:
    """Job 1 is nearly done, so job 2 goes: its run ends, or is drawn out by 100 s."""
    how = {"preemption": JIT} if mode == "CHECKPOINT" else {}
    rows = [(1, 0, 280, "-n4 -t5"), BATCH[1], (3, 250, 100, "-n4 -t5 -pbeam")]
    runs = run_rows(simulated(rows, PREEMPTIVE, clock, mode, **how))
    assert [job for job, *_ in runs].count(1) == 1
    begin = next(start for job, _, start, _, _ in runs if job == 3)
    assert begin == pytest.approx(280 if mode == "CHECKPOINT" else 250, abs=0 if clock == "ideal" else 3)
    found = [end - start for job, _, start, end, _ in runs if job == 2]
    assert found == [pytest.approx(seconds, abs=3) for seconds in lasts]


def test_a_suspended_job_would_keep_its_nodes_from_its_own_tier() -> None:
    with pytest.raises(ConfigurationError, match="give a higher one to the partition whose jobs preempt"):
        simulated(BATCH, PREEMPTIVE, mode="SUSPEND,GANG", tier=1, conf=CONF.replace("PreemptMode=OFF ", ""))
    # Elsewhere some are requeued: who would be suspended for nothing runs on.
    conf = CONF + "PartitionName=more Nodes=n1 PreemptMode=REQUEUE\n"
    result = simulated([*BATCH, (3, 250, 100, "-n4 -t5 -pbeam")], PREEMPTIVE, mode="SUSPEND,GANG", tier=1, conf=conf)
    assert [end - start for _, _, start, end, _ in run_rows(result)] == [600, 900, 100]


@pytest.mark.parametrize(("meanwhile", "fourth"), [("none", 450.0), ("batch", 260.0)])
def test_while_a_late_job_waits_its_partition_and_its_nodes_wait_with_it(meanwhile: str, fourth: float) -> None:
    conf = CONF + "PartitionName=other Nodes=n[1-4] PreemptMode=OFF\nNodeName=m1\nPartitionName=far Nodes=m1\n"
    rows = [(1, 0, 350, "-n4 -t20 -pother"), (2, 5, 100, "-n2 -t2 -pother"), (3, 250, 100, "-n8 -t5 -pbeam")]
    rows += [(4, 260, 10, "-n1 -t1 -pother"), (5, 261, 5, "-n1 -t1 -pfar")]
    result = simulated(rows, {**PREEMPTIVE, "meanwhile": meanwhile}, conf=conf)
    starts = {job: start for job, _, start, _, _ in run_rows(result)}
    assert (starts[3], starts[4], starts[5]) == (350, fourth, 261)


def test_a_job_becomes_late_after_a_while() -> None:
    """A limit of 100 s and a threshold of 1.5: late 50 s after its submission."""
    rows = [*BATCH, (3, 250, 60, "-n4 -t2 -pbeam")]
    result = simulated(rows, {"jobs": "partition=beam", "narrow_short": 1.5})
    assert {job: start for job, _, start, _, _ in run_rows(result)}[3] == 250 + 60


def test_a_qos_says_which_jobs_are_meant() -> None:
    conf = CONF + "AccountingStorageEnforce=qos\nAccountingStorageType=accounting_storage/slurmdbd\n"
    books = "add account a\nadd qos urgent PreemptMode=OFF\nadd user me account=a qos=normal,urgent"
    rows = [*BATCH, (3, 250, 100, "-n8 -t5 --qos=urgent"), (4, 251, 100, "-n8 -t5 --qos=urgent")]
    how = {"conf": conf, "accounts": parse_accounts(books)}
    result = simulated(rows, {"policy": "preemptive", "jobs": "qos=urgent"}, **how)
    assert {job: start for job, _, start, _, _ in run_rows(result)} == {1: 450, 2: 450, 3: 250, 4: 350}
    with pytest.raises(ConfigurationError, match=r"looks for jobs with qos=hasty; .* have normal, urgent"):
        simulated(rows, {"jobs": "qos=hasty"}, **how)


def test_what_no_job_can_have_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"partition=beem; .* have batch, beam"):
        simulated(BATCH, {"jobs": "partition=beem"})
    with pytest.raises(ConfigurationError, match="what is known of jobs on a cluster is user, account"):
        simulated(BATCH, {"jobs": "colour=red"})
    with pytest.raises(ConfigurationError, match="write FACT=VALUE, such as realtime=1 or qos=urgent"):
        simulated(BATCH, {"jobs": "beam"})


def test_that_there_are_no_real_time_jobs_is_said(caplog: pytest.LogCaptureFixture) -> None:
    simulated(BATCH, {})
    assert "realtime=1, and there are none: name a QOS or a partition, such as --set sched/realtime.jobs" in caplog.text


def test_a_log_says_which_jobs_are_meant(caplog: pytest.LogCaptureFixture) -> None:
    """They write no checkpoints at intervals, for they are not preempted."""
    given = workload([(1, 0, 4, 600, 1200), (2, 5, 4, 900, 1200), (3, 250, 4, 200, 300)])
    given = Workload.from_columns({**given.columns(), "realtime": [0, 0, 1]})
    result = simulate(
        given,
        parse_slurm_conf(CONF.format(mode="CHECKPOINT", tier=1)),
        clock="ideal",
        preemption=Preemption(mode="CHECKPOINT", interval=100, cost=10, restart_cost=20),
        plugin_options={"sched/realtime": {"policy": "preemptive"}},
        catalogue=Catalogue(),
    )
    assert {(job, start, end) for job, _, start, end, _ in run_rows(result)} >= {(3, 250.0, 450.0)}
    assert "there are none" not in caplog.text


def test_the_papers_preset_wants_other_nodes(tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_text(CONF.format(mode="CHECKPOINT", tier=1))
    (tmp_path / "jobs.events").write_text(
        "-dt 0 -e submit_batch_job | -jid 1 -sim-walltime 60 --uid=u -t 2 -n 8 pseudo.job\n"
        "-dt 5 -e submit_batch_job | -jid 2 -sim-walltime 60 --uid=u -t 2 -n 8 -p beam pseudo.job\n"
    )
    words = ["run", str(tmp_path / "jobs.events"), "--slurm-conf", str(tmp_path / "slurm.conf")]
    words += ["--config", "papers/realtime", "--clock", "ideal"]
    refused = CliRunner().invoke(slurm_sim, words)
    assert "select/blocks is for machines of processors" in str(refused.exception)
    names = [f"--set={name}/realtime.jobs=partition=beam" for name in ("sched", "preempt")]
    ran = CliRunner().invoke(slurm_sim, [*words, "--select", "select/cons_tres", *names])
    assert ran.exit_code == 0, ran.output


@pytest.mark.parametrize("passes", ["batch", "event"])
def test_what_ends_as_a_job_becomes_late_makes_room_for_it(passes: str) -> None:
    """Job 3 with its limit of 60 s is late 30 s after its submission, when job 4 ends, which began since."""
    rows = [(1, 0, 80, "-n4 -t5"), (2, 0, 300, "-n4 -t10"), (4, 60, 20, "-n4 -t1"), (3, 70, 60, "-n4 -t1 -pbeam")]
    result = simulated(rows, {**BY_PARTITION, "narrow_short": 1.5}, passes=passes, tier=1)
    found = {job: (start, end) for job, _, start, end, _ in run_rows(result)}
    assert found == {1: (0, 80), 2: (0, 300), 3: (100, 160), 4: (80, 100)}
