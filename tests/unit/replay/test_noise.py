"""The band of noise of replays and of what-if runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from emulator.cli import slurm_sim
from emulator.config.slurm import parse_slurm_conf
from emulator.replay.compare import Comparison, Pair, compare
from emulator.replay.emulate import emulate
from emulator.replay.noise import Noise, moved, noise
from emulator.workload.jitter import Band, Jitter
from emulator.workload.request import JobRequest
from emulator.workload.sbatch import parse_sbatch
from emulator.workload.sitelog import UNTIL_ITS_LIMIT, Happened, LoggedJob, LoggedRun, SiteLog

CONF = """
SchedulerType=sched/backfill
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
NodeName=n[1-2] CPUs=2
PartitionName=p Nodes=ALL Default=YES
"""
EVENTS = "".join(
    f"-dt {number // 4 * 3} -e submit_batch_job | -sim-walltime {17 * number % 50 + 1} --uid=u{number % 4} "
    f"-n {number * 7 % 4 + 1} -t 1 x.sh\n"
    for number in range(16)
)


def job(number: int, submit: float, run: float, start: float | None, cancel: float | None = None) -> LoggedJob:
    runs = () if start is None else (LoggedRun(start, start + run, run, "COMPLETED", "n1", 1, "p"),)
    request = JobRequest(number, submit, run, parse_sbatch(["-t10", "-n4"]), f"u{number}")
    return LoggedJob(str(number), request, cancel, Happened("COMPLETED", submit, runs), number)


def log(*jobs: LoggedJob) -> SiteLog:
    return SiteLog("log", "log.sacct", jobs, 0, len(jobs), 0, (), (), "")


def pairs(*starts: float) -> Comparison:
    real = ("p", "", "u", 1, 0.0, 100.0, 101.0, "COMPLETED")
    both = (Pair(str(number), *real, start, start + 1, "COMPLETED", "") for number, start in enumerate(starts))
    return Comparison(tuple(both), 0, 60)


def test_a_cancellation_moves_with_its_job() -> None:
    again, later = moved(log(job(1, 0, 10, 1), job(2, 5, UNTIL_ITS_LIMIT, None, cancel=50)), Jitter(2), 1)
    second = again.jobs[1]
    assert second.request.submit == 5 + later[2]
    assert second.cancel_at == 50 + later[2]


def test_waits_of_a_repeat_are_the_jobs_own() -> None:
    given = log(job(1, 0, 100, 1), job(2, 50, 10, 400))
    first = compare(given, emulate(given, parse_slurm_conf(CONF), clock="ideal").records)
    found = noise(
        given, first, Jitter(20, 3), lambda jobs: emulate(jobs, parse_slurm_conf(CONF), clock="ideal").records
    )
    for run in found.repeats:
        one, two = run.pairs
        # The first starts when it is submitted; the second waits for it, so less the later it comes itself.
        assert (one.wait, one.start) == (pytest.approx(0, abs=1e-6), pytest.approx(0, abs=1e-6))
        assert 30 <= two.wait <= 70
    assert len({run.pairs[1].wait for run in found.repeats}) == 3


def test_what_lies_in_the_band_is_called_none() -> None:
    found = Noise(Jitter(1, 2), pairs(130, 130), (pairs(90, 90), pairs(140, 140)))
    mean = found.differences()[0]
    assert (mean.measure, mean.value, mean.band, mean.none) == ("mean", 30, Band(-10, 40), True)
    apart = Noise(Jitter(1, 1), pairs(130, 130), (pairs(120, 120),)).differences()[0]
    assert (apart.band, apart.none) == (Band(20, 30), False)
    rounded = Noise(Jitter(1, 1), pairs(100.5), (pairs(100.7),)).differences()[0]
    assert rounded.none


def test_shares_near_the_real_starts_and_near_the_first_run() -> None:
    found = Noise(Jitter(1, 1), pairs(100, 130), (pairs(101, 300),))
    assert found.near()[2.0] == Band(0.5, 0.5)
    assert found.near()[60.0] == Band(0.5, 1.0)
    assert found.itself()[2.0] == Band(0.5, 0.5)


def command(*words: str) -> Result:
    return CliRunner().invoke(slurm_sim, list(words), catch_exceptions=False)


@pytest.mark.slow
def test_the_commands_print_bands(tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_text(CONF)
    (tmp_path / "jobs.events").write_text(EVENTS)
    events, site = str(tmp_path / "jobs.events"), ("--slurm-conf", str(tmp_path / "slurm.conf"))
    noisy = ("--jitter", "1", "--repeats", "2")
    command("run", events, *site, "--out", str(tmp_path / "run"))
    (tmp_path / "dump.sacct").write_text(command("sacct", str(tmp_path / "run"), "-P", "-D", "-o", "WORKLOAD").stdout)
    replay = ("replay", str(tmp_path / "dump.sacct"), *site, *noisy)
    told = json.loads(command(*replay, "--json").stdout)["noise"]
    assert (told["repeats"], {each["none"] for each in told["differences"]}) == (2, {True})
    shown = command(*replay).stdout
    assert "the band of 2 repeats with submissions up to 1 s later" in shown
    assert "repeats and the first run: " in shown

    run = json.loads(command("run", events, *site, *noisy, "--json").stdout)
    low, high = run["noise"]["metrics"]["mean_wait"]
    assert low <= run["metrics"]["mean_wait"] <= high
    assert low < high
    policies = ("--policy", "sched/backfill", "--policy", "sched/fcfs", "--clock", "ideal")
    both = json.loads(command("compare", events, *site, *noisy, *policies, "--json").stdout)
    apart = both["sched/fcfs"]["differences"]["mean_wait"]
    waits = [both[name]["metrics"]["mean_wait"] for name in ("sched/backfill", "sched/fcfs")]
    assert apart["difference"] == pytest.approx(waits[1] - waits[0])
    assert apart["none"] == (apart["band"][0] <= 0 <= apart["band"][1])
    table = command("compare", events, *site, *noisy, *policies).stdout
    assert "Differences from sched/backfill, and the band of 2 repeats" in table
    assert "band: 2 repeats" in command("run", events, *site, *noisy).stdout


def test_repeats_without_a_jitter_are_refused(tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_text(CONF)
    (tmp_path / "jobs.events").write_text(EVENTS)
    words = ["run", str(tmp_path / "jobs.events"), "--slurm-conf", str(tmp_path / "slurm.conf"), "--repeats", "3"]
    refused = CliRunner().invoke(slurm_sim, words)
    assert refused.exit_code == 2
    assert "--repeats goes with --jitter" in refused.output
