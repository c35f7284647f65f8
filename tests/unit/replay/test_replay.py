"""A log of a real Slurm run again, and what came of it beside what really happened."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from emulator.cli import slurm_sim
from emulator.config.slurm import SlurmConf, parse_slurm_conf
from emulator.replay.compare import Comparison, Pair, compare
from emulator.replay.emulate import Options, emulate
from emulator.report.replay import partings_table
from emulator.workload.request import JobRequest
from emulator.workload.sacct import read_sacct
from emulator.workload.sbatch import parse_sbatch
from emulator.workload.sitelog import UNTIL_ITS_LIMIT, Happened, LoggedJob, LoggedRun, SiteLog
from slurm_sim_plugins.errors import ConfigurationError

CONF = """
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=10
PriorityType=priority/basic
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
NodeName=n[1-2] CPUs=2
PartitionName=p Nodes=ALL Default=YES
PartitionName=q Nodes=n1
"""


def conf() -> SlurmConf:
    return parse_slurm_conf(CONF)


def job(
    number: int, submit: float, run: float, start: float | None, *words: str, cancel: float | None = None
) -> LoggedJob:
    options = parse_sbatch(["-t10", *words])
    runs = () if start is None else (LoggedRun(start, start + run, run, "COMPLETED", "n1", 1, "p"),)
    state = "CANCELLED" if cancel is not None else "COMPLETED"
    return LoggedJob(
        str(number), JobRequest(number, submit, run, options, "u"), cancel, Happened(state, submit, runs), number
    )


def log(*jobs: LoggedJob) -> SiteLog:
    return SiteLog("log", "log.sacct", jobs, 0, len(jobs), 0, (), (), "")


def compared(*jobs: LoggedJob, options: Options | None = None, **further: float) -> Comparison:
    given = log(*jobs)
    return compare(given, emulate(given, conf(), options).records, **further)


def pair(start: float, real: float, cpus: int = 1, partition: str = "p", eligible: float = 0.0) -> Pair:
    return Pair("1", partition, "", "u", cpus, eligible, real, real + 1, "COMPLETED", start, start + 1, "COMPLETED", "")


def test_waits_by_partition_and_size() -> None:
    pairs = (pair(10, 20), pair(30, 40, 8), pair(50, 60, 600, "q"), pair(math.nan, 5))
    groups = {(group.kind, group.name): group for group in Comparison(pairs, 0, 60).groups()}
    assert list(groups) == [
        ("all", "jobs"),
        ("partition", "p"),
        ("partition", "q"),
        ("size", "1 CPU"),
        ("size", "2 to 8 CPUs"),
        ("size", "more"),
    ]
    everything = groups["all", "jobs"]
    assert (everything.jobs, everything.real, everything.emulated, everything.apart) == (
        3,
        (40, 40, 60),
        (30, 30, 50),
        10,
    )
    assert groups["partition", "p"].real == (30, 30, 40)


def test_partings_come_in_the_order_of_time() -> None:
    found = Comparison((pair(500, 10), pair(9, 300), pair(50, 60)), 0, 60)
    assert [(one.start, one.real_start) for one in found.partings()] == [(9, 300), (500, 10)]
    assert found.near() == {2: 0, 60: 1 / 3, 600: 1, 3600: 1}


def test_a_start_before_being_eligible_is_not_compared() -> None:
    found = Comparison((pair(10, 5, eligible=7),), 0, 60)
    assert (found.both, found.groups(), found.near()) == ([], [], {})
    assert list(found.one_sided()) == ["with a real start before being eligible: a clock change?"]


def test_a_log_runs_again() -> None:
    found = compared(job(1, 0, 100, 1, "-n4"), job(2, 5, 50, 400, "-n4"))
    assert [one.start for one in found.pairs] == pytest.approx([1, 102], abs=1.5)
    assert [one.state for one in found.pairs] == ["COMPLETED", "COMPLETED"]
    assert [one.label for one in found.partings()] == ["2"]


def test_a_job_that_was_cancelled_while_it_waited_is_cancelled_again() -> None:
    jobs = (job(1, 0, 100, 1, "-n4"), job(2, 5, UNTIL_ITS_LIMIT, None, "-n4", cancel=50), job(3, 6, 10, 101, "-n4"))
    found = compared(*jobs)
    assert [one.state for one in found.pairs] == ["COMPLETED", "CANCELLED", "COMPLETED"]
    assert [found.pairs[0].start, found.pairs[2].start] == pytest.approx([1, 102], abs=1.5)
    assert list(found.one_sided()) == ["started on neither"]
    dropped = compared(*jobs, options=Options(cancelled="drop"))
    assert (len(dropped.pairs), dropped.left_out) == (2, 1)


def test_what_starts_before_it_is_cancelled_runs_until_then() -> None:
    found = compared(job(1, 0, UNTIL_ITS_LIMIT, None, "-n4", cancel=50), job(2, 5, 10, 51, "-n4"))
    first, second = found.pairs
    assert (first.state, round(first.end)) == ("CANCELLED", 50)
    assert second.start == pytest.approx(51, abs=1)


def test_partitions_that_the_cluster_has_not() -> None:
    elsewhere = job(1, 0, 10, 1, "-pgone")
    found = compared(elsewhere)
    assert list(found.one_sided()) == ["refused by the emulated cluster"]
    assert compared(elsewhere, options=Options(elsewhere="default")).pairs[0].state == "COMPLETED"
    with pytest.raises(ConfigurationError, match="choose cancel or drop"):
        Options(cancelled="keep")


def test_the_first_jobs_can_be_left_out() -> None:
    assert [one.label for one in compared(job(1, 0, 1, 1), job(2, 1, 1, 2), warm_up=0.5).pairs] == ["2"]


def command(*words: str) -> Result:
    return CliRunner().invoke(slurm_sim, list(words), catch_exceptions=False)


EVENTS = "".join(
    f"-dt {3 * number}.5 -e submit_batch_job | -sim-walltime {7 * number % 50 + 1}.25 --uid=u -J'a|b {number}' "
    f"-n {number % 4 + 1} -t 1 {'-p q' if number % 4 < 2 else ''} x.sh\n"
    for number in range(20)
)


@pytest.mark.slow
def test_the_dump_of_an_emulated_run_replays_to_the_same_starts(tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_text(CONF)
    (tmp_path / "jobs.events").write_text(EVENTS)
    site = ("--slurm-conf", str(tmp_path / "slurm.conf"))
    command("run", str(tmp_path / "jobs.events"), *site, "--out", str(tmp_path / "run"))
    dump = tmp_path / "dump.sacct"
    dump.write_text(command("sacct", str(tmp_path / "run"), "-P", "-D", "-o", "WORKLOAD").stdout)
    told = json.loads(
        command("replay", str(dump), *site, "--tolerance", "1", "--json", "--out", str(tmp_path / "again")).stdout
    )
    assert (told["jobs"], told["compared"], told["parted"]) == (20, 20, 0)
    again = command("sacct", str(tmp_path / "again"), "-P", "-D", "-o", "WORKLOAD").stdout
    assert again == dump.read_text()
    command("replay", str(dump), *site, "--clock", "ideal", "--out", str(tmp_path / "ideal"))
    assert 'timing = "ideal"' in (tmp_path / "ideal" / "run.toml").read_text()
    shown = command("replay", str(dump), *site)
    assert "partition q" in shown.output
    assert "starts apart: 100.0% within 0:00:02" in shown.output
    rerun = command("run", str(dump), *site, "--json")
    assert json.loads(rerun.stdout)["workload"]["jobs"] == 20


def test_the_command_names_what_it_could_not_use(tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_text(CONF)
    names = "JobID|Submit|Eligible|Start|End|ElapsedRaw|State|Timelimit|ReqCPUS|Partition|NodeList"
    good = (
        "1|2021-03-01T10:00:00|2021-03-01T10:00:00|2021-03-01T10:00:05|2021-03-01T10:00:15|10|COMPLETED|00:10:00|1|p|n1"
    )
    (tmp_path / "dump").write_text(f"{names}\n{good}\n2|2021-03-01T10:0\n")
    words = ("replay", str(tmp_path / "dump"), "--slurm-conf", str(tmp_path / "slurm.conf"))
    failed = CliRunner().invoke(slurm_sim, list(words))
    assert "dump:3: the line is cut off or broken: it has 2 of 11 columns" in str(failed.exception)
    done = command(*words, "--malformed", "drop")
    assert "dump:3: the line is cut off" in done.stderr
    assert "later by" not in done.stdout
    refused = CliRunner().invoke(slurm_sim, ["run", *words[1:], "--filter", "none"])
    assert "leave out filter" in str(refused.exception)


def test_a_real_dump(traces: Path) -> None:
    real = read_sacct(traces / "slurm" / "sacct" / "sacct_simple.log")
    text = "SelectType=select/cons_tres\nSelectTypeParameters=CR_CPU\nPriorityType=priority/basic\n"
    text += "NodeName=n[1-9] CPUs=32 RealMemory=512000\nPartitionName=general-compute Nodes=ALL\n"
    found = compare(real, emulate(real, parse_slurm_conf(text)).records)
    assert [one.apart < 3 for one in found.pairs] == [True] * 4
    assert [one.state for one in found.pairs] == ["COMPLETED"] * 4


@pytest.mark.parametrize(("epoch", "clock"), [(None, "seconds of the log"), (0, "times in UTC")])
def test_the_table_of_starts_says_by_which_clock(epoch: int | None, clock: str) -> None:
    table = partings_table(compared(job(1, 0, 60, 300), job(2, 1, 60, 2)), 5, epoch)
    assert str(table.title).endswith(f"({clock})")
