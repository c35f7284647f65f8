"""A tiny scenario recorded on the Slurm that is installed here, and compared."""

import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest
from click.testing import CliRunner

from emulator.cli import slurm_sim
from emulator.workload.scenario_reader import read_scenario

pytest.importorskip("yaml")
needs_slurm = pytest.mark.skipif(
    not all(shutil.which(name) for name in ("slurmctld", "slurmd", "sbatch", "faketime")) or os.geteuid() != 0,
    reason="needs slurmctld, slurmd, slurm-client and faketime, and root",
)
SCENARIO = """\
scenario: tiny
note: two jobs for one node
slurm_conf: |
  PriorityType=priority/basic
  SelectType=select/cons_tres
  SelectTypeParameters=CR_Core
  NodeName=n1 CPUs=2 Boards=1 SocketsPerBoard=1 CoresPerSocket=2 ThreadsPerCore=1 RealMemory=1000
  PartitionName=p Nodes=ALL Default=YES MaxTime=INFINITE State=UP
jobs:
- {name: A, id: 1, submit: 0, run: 8, sbatch: [-n2, -t1]}
- {name: B, id: 2, submit: 5, run: 4, sbatch: [-n1, -t1]}
"""


def left_over(folder):
    """Processes whose environment names a folder."""
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdecimal():
            with suppress(OSError):
                words = (process / "environ").read_bytes().decode(errors="replace").split("\0")
                found += [word for word in words if word.startswith(f"SLURM_SIM_RECORDING={folder}")]
    return found


GPU_LIMITS = """\
scenario: gpu_limits
note: a user may have one GPU, which only the controller makes known to the database
slurm_conf: |
  PriorityType=priority/basic
  SelectType=select/cons_tres
  SelectTypeParameters=CR_Core
  GresTypes=gpu
  AccountingStorageType=accounting_storage/slurmdbd
  AccountingStorageEnforce=limits,qos
  AccountingStorageTRES=gres/gpu
  NodeName=n1 CPUs=2 Boards=1 SocketsPerBoard=1 CoresPerSocket=2 ThreadsPerCore=1 RealMemory=1000 Gres=gpu:2
  PartitionName=p Nodes=ALL Default=YES MaxTime=INFINITE State=UP
sacctmgr:
- sacctmgr -i add cluster truth
- sacctmgr -i add account red
- sacctmgr -i add user root account=red
- sacctmgr -i modify qos normal set MaxTRESPU=gres/gpu=1
jobs:
- {name: A, id: 1, submit: 0, run: 4, sbatch: [-n1, --gres=gpu, -t1]}
- {name: B, id: 2, submit: 1, run: 4, sbatch: [-n1, --gres=gpu, -t1]}
"""


@needs_slurm
@pytest.mark.truth
def test_a_scenario_is_recorded_and_compared(tmp_path, monkeypatch):
    path, out = tmp_path / "tiny.yaml", tmp_path / "out.yaml"
    path.write_text(SCENARIO)
    short = tempfile.mkdtemp(prefix="t", dir="/tmp")  # Sockets have short paths.
    monkeypatch.setattr(tempfile, "tempdir", short)
    words = ["record", str(path), "-o", str(out), "--repeat", "1", "--speed", "10", "--any-load", "--keep-log"]
    done = CliRunner().invoke(slurm_sim, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    Path(short).rmdir()  # Nothing is left in it.
    assert not left_over(short)
    assert "sched/backfill: _attempt_backfill: beginning" in out.with_suffix(".log").read_text()
    scenario = read_scenario(out)
    assert scenario.slurm_version
    seen = scenario.recorded.timeline["2"]
    assert [one.fields["JobState"] for one in seen if "JobState" in one.fields][-1] == "COMPLETED"
    assert any(one.fields.get("Alloc") == "n1:cpu0" for one in seen)
    start = {
        job: next(one.at for one in rows if one.fields.get("JobState") == "RUNNING")
        for job, rows in scenario.recorded.timeline.items()
    }
    assert start["2"] - start["1"] >= 8


@needs_slurm
@pytest.mark.truth
@pytest.mark.skipif(
    not all(shutil.which(name) for name in ("slurmdbd", "mariadbd")), reason="needs slurmdbd and mariadb-server"
)
def test_a_limit_on_gpus_is_made_once_a_controller_has_told_of_them(tmp_path, monkeypatch):
    path, out = tmp_path / "gpus.yaml", tmp_path / "out.yaml"
    path.write_text(GPU_LIMITS)
    short = tempfile.mkdtemp(prefix="t", dir="/tmp")
    monkeypatch.setattr(tempfile, "tempdir", short)
    words = ["record", str(path), "-o", str(out), "--repeat", "1", "--any-load"]
    done = CliRunner().invoke(slurm_sim, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    seen = read_scenario(out).recorded.timeline["2"]
    assert "QOSMaxGRESPerUser" in [one.fields.get("Reason") for one in seen]
