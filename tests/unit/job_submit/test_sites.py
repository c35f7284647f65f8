"""Sites' own scripts, asked of generated submissions here and in a real slurmctld: the same verdicts and fields.

``SLURM_SIM_JOB_SUBMIT_SCRIPTS`` names a folder with a folder for each script; in each lies its ``job_submit.lua`` and
what that requires. Such scripts are never committed. The slurmctld that is asked is the one that is installed.
"""

from __future__ import annotations

import getpass
import os
import random
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from emulator.scheduling.submission_of import submission_of
from emulator.workload.request import JobRequest
from emulator.workload.sbatch import parse_sbatch
from slurm_sim_plugins import PluginError, Reject
from slurm_sim_plugins.errors import InputError

pytest.importorskip("lupa", reason="the extra lua is not installed")
from slurm_sim_plugins.job_submit.lua import Lua

FOLDER = os.environ.get("SLURM_SIM_JOB_SUBMIT_SCRIPTS", "")
SCRIPTS = sorted(Path(FOLDER).glob("*/job_submit.lua")) if FOLDER else []
PORT = int(os.environ.get("SLURM_SIM_PORT", "17100"))
CASES = 1000
FIELDS = "time_limit time_min min_nodes max_nodes num_tasks ntasks_per_node ntasks_per_core cpus_per_task min_cpus"
FIELDS += (
    " pn_min_cpus shared min_mem_per_node min_mem_per_cpu pn_min_memory tres_per_node tres_per_job tres_per_task gres"
)
FIELDS += " req_nodes exc_nodes partition reservation qos account features req_switch licenses nice priority requeue"
FIELDS += " contiguous dependency"
CHOICES: tuple[tuple[str, ...], ...] = (
    ("", "", "-n 1", "-n 4", "-n 64", "-n 130"),
    ("", "", "-N 1", "-N 3", "-N 2-4", "-N 3 -n 1", "-N 3 -n 2"),
    ("", "", "", "--ntasks-per-node=2", "--ntasks-per-node=8"),
    ("", "", "-c 1", "-c 4"),
    ("", "-t 10", "-t 2:00:00", "-t 1-00:00:00", "-t 3-00:00:00", "-t 90-00:00:00", "-t 30 --time-min=5"),
    ("", "-p standard", "-p highmem", "-p gpu", "-p serial", "-p maintenance", "-p interactive,gpu"),
    ("", "--qos=standard", "--qos=short", "--qos=long", "--qos=reservation", "--qos=lowpriority"),
    ("", "", "--mem=2G", "--mem=100G", "--mem=0", "--mem-per-cpu=500"),
    ("", "", "--gres=gpu:1", "--gres=gpu:4", "--gres=gpu:a100:2", "--gpus=2", "--gres=scratch:5"),
    ("", "", "-L common", "-L common:2", "-L common:1,matlab:3"),
    ("", "", "--exclusive", "--oversubscribe"),
    ("", "", "", "--reservation=shortqos", "--reservation=school"),
    ("", "", "", "-w n1", "-x n2", "-C amd"),
    ("", "", "-A z19", "-H", "--nice=100", "--requeue", "--contiguous"),
)
CONF = """ClusterName=asked
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser={user}
AuthType=auth/none
CredType=cred/none
MpiDefault=none
{old}StateSaveLocation={folder}/state
SlurmctldPidFile={folder}/slurmctld.pid
SlurmctldLogFile={folder}/slurmctld.log
GresTypes=gpu,scratch
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
JobSubmitPlugins=lua
NodeName=n[1-4] CPUs=4 NodeAddr=127.0.0.1 Port={node}
PartitionName=standard Nodes=ALL Default=YES
"""
ASKING = """
package.path = "{folder}/site/?.lua;" .. package.path
dofile("{folder}/site/job_submit.lua")
local asked = slurm_job_submit
function slurm_job_submit(job_desc, part_list, submit_uid)
    local fine, answer = pcall(asked, job_desc, part_list, submit_uid)
    local held = {{}}
    for name in string.gmatch("{fields}", "%S+") do
        local value = job_desc[name]
        if type(value) == "number" then value = string.format("%.6g", value) end
        held[#held + 1] = name .. "=" .. tostring(value)
    end
    slurm.log_info("%s", "ASKED " .. job_desc.name .. " " .. (fine and tostring(answer) or "error") .. " "
        .. table.concat(held, " "))
    return slurm.ERROR
end
function slurm_job_modify() return slurm.SUCCESS end
return slurm.SUCCESS
"""
Told = tuple[str, dict[str, str]]
"""What a script answered, and the fields behind it."""


def generated() -> list[str]:
    """Options of sbatch."""
    draw = random.Random(7)
    return [" ".join(filter(None, map(draw.choice, CHOICES))) for _ in range(CASES)]


def installed() -> str:
    """The version of the slurmctld that is asked."""
    return subprocess.run(["slurmctld", "-V"], capture_output=True, text=True, check=True).stdout.split()[-1]


@contextmanager
def controller(script: Path) -> Iterator[Path]:
    """A slurmctld that asks a script, and logs what it made of each submission."""
    with tempfile.TemporaryDirectory(prefix="asked-") as private:
        folder = Path(private)
        shutil.copytree(script.parent, folder / "site")
        (folder / "state").mkdir()
        version = installed()
        old = "SwitchType=switch/none\nJobAcctGatherType=jobacct_gather/none\n" if version < "23.11" else ""
        words = {"host": socket.gethostname().split(".")[0], "port": PORT, "node": PORT + 1, "user": getpass.getuser()}
        (folder / "slurm.conf").write_text(CONF.format(folder=folder, old=old, **words))
        (folder / "job_submit.lua").write_text(ASKING.format(folder=folder, fields=FIELDS))
        env = {**os.environ, "SLURM_CONF": str(folder / "slurm.conf")}
        daemon = subprocess.Popen(
            ["slurmctld", "-D", "-c"], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            for _ in range(100):
                if subprocess.run(["scontrol", "ping"], env=env, capture_output=True, check=False).returncode == 0:
                    break
                time.sleep(0.1)
            yield folder
        finally:
            daemon.terminate()
            daemon.wait(60)


def in_slurm(script: Path, cases: list[str]) -> dict[int, Told]:
    """What the script makes of each case in a real slurmctld; a case that sbatch refuses itself is not there."""
    with controller(script) as folder:
        (folder / "job.sh").write_text("#!/bin/sh\n")
        lines = [f"sbatch -Q -D / -J c{number} {words} {folder}/job.sh" for number, words in enumerate(cases)]
        subprocess.run(
            ["sh"],
            input="\n".join(lines),
            text=True,
            env={**os.environ, "SLURM_CONF": str(folder / "slurm.conf")},
            capture_output=True,
            check=False,
        )
        log = (folder / "slurmctld.log").read_text(errors="replace")
    return read(log)


def read(log: str) -> dict[int, Told]:
    """What was asked, in a log."""
    told = {}
    for line in log.splitlines():
        _, found, rest = line.partition("ASKED c")
        if found:
            number, answer, *words = rest.split(" ")
            fields = dict(word.split("=", 1) for word in words)
            # A submission here has a number with each licence, as it may be 1 that was stated or not.
            fields["licenses"] = fields["licenses"].replace(":1", "")
            told[int(number)] = (answer, fields)
    return told


def here(script: Path, cases: list[str], folder: Path) -> dict[int, Told]:
    """The same in the emulator."""
    shutil.copytree(script.parent, folder, dirs_exist_ok=True)
    (folder / "job_submit.lua").rename(folder / "site.lua")
    asking = ASKING.partition("local asked")[2].format(fields=FIELDS).replace("slurm.log_info", "slurm.log_user")
    (folder / "job_submit.lua").write_text(f'require("site")\nlocal asked{asking}')
    lua = Lua(str(folder / "job_submit.lua"))
    view: Any = SimpleNamespace(partitions=[], now=0.0, slurm_version=installed()[:5])
    told = {}
    for number, words in enumerate(cases):
        try:
            options = parse_sbatch([*words.split(), "-J", f"c{number}"])
        except (InputError, ValueError, PluginError):
            continue
        job = submission_of(JobRequest(number + 1, 0.0, 1.0, options, ""))
        view.submission = job
        judged = lua.job_submit(view)
        assert isinstance(judged, Reject)
        told.update(read(judged.reason))
    return told


@pytest.mark.slow
@pytest.mark.skipif(not SCRIPTS, reason="SLURM_SIM_JOB_SUBMIT_SCRIPTS names no folder of sites' scripts")
@pytest.mark.skipif(shutil.which("slurmctld") is None, reason="there is no slurmctld")
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.parent.name)
def test_verdicts_and_fields_are_those_of_the_real_plugin(script: Path, tmp_path: Path) -> None:
    cases = generated()
    real, found = in_slurm(script, cases), here(script, cases, tmp_path)
    assert len(real) > 0.9 * CASES
    wrong = [
        (number, cases[number], real[number][0], found[number][0], differing(real[number][1], found[number][1]))
        for number in sorted(real)
        if number in found and real[number] != found[number]
    ]
    assert not wrong, (len(wrong), wrong[:5])
    assert set(real) <= set(found)
    # What sbatch refuses by itself: more nodes than GPUs in all.
    assert all("-N 3" in cases[number] and "--gpus=2" in cases[number] for number in set(found) - set(real))


def differing(real: dict[str, str], found: dict[str, str]) -> dict[str, tuple[str, str]]:
    """Fields that are not the same."""
    return {name: (real[name], found[name]) for name in real if real[name] != found[name]}
