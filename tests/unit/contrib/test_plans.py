"""Plans of each backfill cycle, of a controller's log and emulated, held against each other."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from contrib.differential.plans import Cycle, Plan, divergences, main
from emulator.record.record import dump

pytest.importorskip("yaml")

CONF = """\
PriorityType=priority/basic
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=bf_interval=10
NodeName=n[1-2] CPUs=2 Boards=1 SocketsPerBoard=1 CoresPerSocket=2 ThreadsPerCore=1
PartitionName=p Nodes=ALL Default=YES MaxTime=60
"""
JOBS = [
    {"name": "A", "id": 4, "submit": 0.5, "run": 100, "sbatch": ["-N1", "-n2", "-t2"]},
    {"name": "B", "id": 5, "submit": 0.75, "run": 30, "sbatch": ["-N2", "-n4", "-t5"]},
    {"name": "S", "id": 6, "submit": 1.0, "run": 10, "sbatch": ["-n1", "-t1", "--array=1-2"]},
]
LOG = """\
[2026-11-23T13:59:50.000] sched/backfill: _attempt_backfill: beginning
[2026-11-23T13:59:50.000] sched/backfill: _attempt_backfill: no jobs to backfill
[2026-11-23T14:00:00.500] _slurm_rpc_submit_batch_job: JobId=4 InitPrio=10 usec=300
[2026-11-23T14:00:00.750] _slurm_rpc_submit_batch_job: JobId=5 InitPrio=9 usec=300
[2026-11-23T14:00:01.000] _slurm_rpc_submit_batch_job: JobId=6 InitPrio=8 usec=300
[2026-11-23T14:00:01.000] sched/backfill: _attempt_backfill: beginning
[2026-11-23T14:00:01.001] debug:  sched/backfill: _attempt_backfill: 3 jobs to backfill
[2026-11-23T14:00:01.002] sched/backfill: _start_job: Started JobId=4 in p on n1
[2026-11-23T14:00:01.002] sched/backfill: _dump_job_sched: BACKFILL: JobId=5 to start at {start}, end at \
2026-11-23T14:08:00 on nodes n[1-2] in partition p
[2026-11-23T14:00:01.003] sched/backfill: _start_job: Started JobId=6_1(7) in p on n2
[2026-11-23T14:00:01.004] sched/backfill: _start_job: Started JobId=6_2(6) in p on n2
"""


def files(folder: Path, start: str, submit: float = 0.5) -> list[str]:
    """A recording and a log, in which the second job is to start at a time."""
    seen = {str(job["id"]): [[0.5, {"JobState": "PENDING", "Reason": "None"}]] for job in JOBS[:2]}
    seen["5"].append([5.0, {"Reason": "Resources"}])
    document = {"scenario": "s", "note": "", "slurm_conf": CONF, "slurm_version": "24.11.5", "uptime": 28.0}
    document |= {"backfill": 29.0, "second": 0.0, "jobs": [JOBS[0] | {"submit": submit}, *JOBS[1:]], "timeline": seen}
    recording, log = folder / "s.yaml", folder / "s.log"
    recording.write_text(dump(document))
    log.write_text(LOG.format(start=start))
    return [str(recording), str(log)]


def test_plans_that_agree_within_seconds_do_not_differ(tmp_path):
    recording, log = files(tmp_path, "2026-11-23T14:02:01")
    for words in ([recording, log], [recording]):  # The log lies beside the recording.
        done = CliRunner().invoke(main, words)
        assert done.output == f"{recording}: 0 of 1 cycles differ\n"
        assert done.exit_code == 0


def test_the_first_cycle_that_differs_is_named_with_its_plan(tmp_path):
    done = CliRunner().invoke(main, files(tmp_path, "2026-11-23T14:03:01"))
    assert done.exit_code == 1
    said = done.output.splitlines()
    assert said[0] == "  Slurm: cycle at 1.0 s, 1 plans, started A, S, S; plan 1: B at 181.0 s on n1,n2 in p"
    assert said[1] == "  emulated: cycle at 1.0 s, 1 plans, started A, S, S; plan 1: B at 121.0 s on n1,n2 in p"
    assert said[2].endswith("1 of 1 cycles differ")


def test_a_log_of_another_recording_is_refused(tmp_path):
    done = CliRunner().invoke(main, files(tmp_path, "2026-11-23T14:02:01", submit=3.0))
    assert (done.exit_code, "the log is that of another recording" in done.output) == (1, True)


def test_files_that_are_missing_are_named(tmp_path):
    recording, log = files(tmp_path, "2026-11-23T14:02:01")
    Path(log).unlink()
    assert "slurm-sim record --keep-log" in CliRunner().invoke(main, [recording]).output
    assert "does not exist" in CliRunner().invoke(main, [str(tmp_path / "no.yaml")]).output


def plan(job: str, start: float) -> Plan:
    return Plan(job, start, ("n1",), "p")


def test_cycles_without_news_need_no_counterpart():
    first, later = Cycle(10.0, [plan("A", 50.0)]), Cycle(20.0, [plan("A", 51.0)])
    assert not list(divergences([first, later, Cycle(30.0)], [Cycle(10.2, [plan("A", 50.5)]), Cycle(25.0)]))


def test_cycles_that_one_side_alone_has_are_named():
    real = [Cycle(10.0, [plan("A", 50.0)]), Cycle(20.0, [plan("A", 50.0), plan("B", 60.0)])]
    made = [Cycle(10.0, [plan("A", 50.0)]), Cycle(15.0, [plan("A", 50.0)])]
    found = list(divergences(real, made))
    assert [(one.real, one.emulated, one.first) for one in found] == [(None, made[1], 0), (real[1], None, 0)]
    assert str(found[1]).endswith("plan 1: A at 50.0 s on n1 in p\n  emulated: no cycle")


def test_a_plan_too_few_is_named():
    real, made = Cycle(10.0, [plan("A", 50.0), plan("B", 60.0)]), Cycle(10.0, [plan("A", 50.0)])
    found = list(divergences([real], [made]))
    assert str(found[0]).endswith("emulated: cycle at 10.0 s, 1 plans; no plan 2")
