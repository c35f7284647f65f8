"""``slurm-sim compare`` of several ``slurm.conf``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from emulator.accounting.runfolder import read_run
from emulator.cli import slurm_sim
from emulator.metrics.summary import summarise
from slurm_sim_plugins.errors import ConfigurationError

CONF = """ClusterName=c
PriorityType=priority/basic
NodeName=n[1-{nodes}] CPUs=4
PartitionName=all Nodes=ALL Default=YES
"""


@pytest.fixture
def files(tmp_path: Path) -> Path:
    lines = (f"{job} {20 * job} -1 {60 + 7 * job} 4 -1 -1 4 600 -1 1 1 1 -1 1 1 -1 -1" for job in range(1, 21))
    (tmp_path / "jobs.swf").write_text("; MaxProcs: 8\n" + "\n".join(lines))
    (tmp_path / "two.conf").write_text(CONF.format(nodes=2))
    (tmp_path / "four.conf").write_text(CONF.format(nodes=4))
    return tmp_path


def compare(files: Path, *words: str) -> Result:
    confs = [word for name in ("two", "four") for word in ("--slurm-conf", str(files / f"{name}.conf"))]
    return CliRunner().invoke(slurm_sim, ["compare", str(files / "jobs.swf"), *confs, *words])


@pytest.mark.slow
def test_what_each_file_says_is_run(files: Path) -> None:
    out, page = files / "runs", files / "change.html"
    done = compare(files, "--out", str(out), "--report", str(page), "--json")
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert list(told) == [str(files / "two.conf"), str(files / "four.conf")]
    two, four = (told[str(files / f"{name}.conf")]["metrics"]["mean_wait"] for name in ("two", "four"))
    assert two > four
    kept = {round(summarise(read_run(folder).records)["mean_wait"], 6) for folder in out.iterdir()}
    assert kept == {round(two, 6), round(four, 6)}
    assert "2 policies on jobs" in page.read_text()


def test_policies_are_run_on_each(files: Path) -> None:
    done = compare(files, "--policy", "EASY=sched/easy", "--policy", "FCFS=sched/fcfs", "--json")
    names = [f"{policy}, {files / f'{conf}.conf'}" for conf in ("two", "four") for policy in ("EASY", "FCFS")]
    assert list(json.loads(done.stdout)) == names


def test_a_file_is_named_once(files: Path) -> None:
    done = compare(files, "--slurm-conf", str(files / "two.conf"))
    assert (done.exit_code, "names one file twice" in done.output) == (2, True)


def test_a_configuration_without_nodes_is_told_with_what_was_not_read(tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_text("Include /etc/slurm/nodes.conf\n")
    (tmp_path / "jobs.swf").write_text("; MaxProcs: 4\n1 0 -1 10 1 -1 -1 1 20 -1 1 1 1 1 1 1 -1 -1\n")
    done = CliRunner().invoke(slurm_sim, ["run", f"{tmp_path}/jobs.swf", "--slurm-conf", f"{tmp_path}/slurm.conf"])
    assert isinstance(done.exception, ConfigurationError)
    assert "slurm.conf: there is no NodeName line, so no job can run" in str(done.exception)
    assert "'/etc/slurm/nodes.conf' is not read" in str(done.exception)
