"""The sketches of the porting guide are built and loaded into a real slurmctld, and jobs run under them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from emulator.port import write_port
from tests.builders.real_slurm import HOMES, tried
from tests.docs.pages import Block, blocks

PLUGINS = [block for block in blocks("porting.md") if block.name.endswith(".c")]
KINDS = {"priority": "PriorityType", "preempt": "PreemptType", "sched": "SchedulerType"}


@pytest.mark.slow
@pytest.mark.skipif(not HOMES, reason="SLURM_SIM_SLURM_SOURCES names no tree of a Slurm that is installed")
@pytest.mark.parametrize(("source", "root"), HOMES)
@pytest.mark.parametrize("plugin", PLUGINS, ids=lambda plugin: plugin.name)
def test_jobs_run_under_a_sketch(plugin: Block, source: Path, root: Path, tmp_path: Path) -> None:
    made = write_port("job_submit", source, tmp_path, lua=True)
    kind = plugin.name.partition("_")[0]
    (tmp_path / plugin.name).write_text(plugin.text, encoding="utf-8")
    (made.folder / "built").mkdir()
    library = made.folder / "built" / plugin.name.replace(".c", ".so")
    words = ["cc", "-Wall", "-Werror", "-fPIC", "-shared", "-I", source, tmp_path / plugin.name, "-o", library]
    subprocess.run(words, check=True)
    conf = made.folder / "slurm.conf"
    kept = [line for line in conf.read_text().splitlines() if not line.startswith((KINDS[kind], "JobSubmitPlugins"))]
    preempts = ["PreemptMode=REQUEUE"] if kind == "preempt" else []
    conf.write_text("\n".join([*kept[:10], f"{KINDS[kind]}={kind}/mine", *preempts, *kept[10:]]) + "\n")
    jobs = "for size in 3 4 1 2; do sbatch -Q -N $size -t 1 --wrap 'sleep 1'; done"
    wait = 'for i in $(seq 60); do [ -z "$(squeue -h)" ] && break; sleep 1; done'
    show = f"scontrol show config | grep {KINDS[kind]}; for id in 1 2 3 4; do scontrol show job $id; done"
    shown = tried(made, root, f"{jobs}\n{wait}\n{show}\n")
    assert f"{kind}/mine" in shown
    assert shown.count("JobState=COMPLETED") == 4


def test_cc_is_there_where_trees_are() -> None:
    assert not HOMES or shutil.which("cc")
