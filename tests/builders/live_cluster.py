"""A cluster of a few lines of JSON, which answers as Slurm's commands do; also as executables on PATH."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from pathlib import Path
from typing import Any

from emulator.config.slurm.hostlist import expand

CONF = """
ClusterName=fake
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
PriorityType=priority/basic
PreemptType=preempt/none
NodeName=n[1-4] CPUs=4 RealMemory=1000 State=UNKNOWN
PartitionName=batch Nodes=ALL Default=YES MaxTime=60 PriorityTier=1
"""
COMMANDS = ("squeue", "sinfo", "scontrol")
PROGRAM = "#!{python}\nimport sys\nsys.path[:0] = {paths}\nfrom builders.live_cluster import main\nmain()\n"


class FakeSlurm:
    """The state of a cluster in a file, and what was written to it.

    Args:
        path: of the file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        if not path.exists():
            self.save({"jobs": {}, "written": [], "away": "", "skew": 0, "version": "22.05.8", "nodes": {}})

    def load(self) -> dict[str, Any]:
        state: dict[str, Any] = json.loads(self.path.read_text())
        return state

    def save(self, state: dict[str, Any]) -> None:
        part = self.path.with_suffix(".part")
        part.write_text(json.dumps(state))
        part.replace(self.path)

    def set(self, **values: Any) -> None:
        self.save({**self.load(), **values})

    def job(self, label: str, **values: Any) -> dict[str, Any]:
        """Add or change a job; without values, what it is."""
        state = self.load()
        array, _, task = label.partition("_")
        usual = {
            "id": int(array),
            "array": int(array),
            "task": int(task) if task else None,
            "state": "PENDING",
            "partition": "batch",
            "user": "ann",
            "account": "(null)",
            "qos": "(null)",
            "submit": int(time.time()) - 100,
            "start": None,
            "end": None,
            "limit": 600,
            "time_min": None,
            "priority": 1000,
            "site": 0,
            "nodes": [],
            "required": "",
            "size": 1,
            "most": None,
            "cpus": 4,
            "restarts": 0,
            "reason": "None",
            "dependency": "",
            "comment": "(null)",
            "name": "wrap",
        }
        found = {**usual, **state["jobs"].get(label, {}), **values}
        if values or label not in state["jobs"]:
            state["jobs"][label] = found
            self.save(state)
        return found

    def start(self, label: str, *nodes: str) -> None:
        self.job(label, state="RUNNING", nodes=list(nodes), start=int(time.time()), reason="None")

    def finish(self, label: str, state: str = "COMPLETED") -> None:
        self.job(label, state=state, end=int(time.time()))

    @property
    def written(self) -> list[str]:
        """The commands that changed something."""
        written: list[str] = self.load()["written"]
        return written

    def executables(self, folder: Path) -> None:
        """Slurm's commands, as programs."""
        root = Path(__file__).resolve().parents[2]
        text = PROGRAM.format(python=sys.executable, paths=[str(root / "tests"), str(root)])
        for name in COMMANDS:
            (folder / name).write_text(text)
            (folder / name).chmod(0o755)

    # Answers

    def answer(self, words: list[str], given: str | None = None) -> tuple[int, str, str]:
        """(exit code, output, errors) of a command."""
        state = self.load()
        if state["away"] and not (given or "").startswith("show hostnames"):
            return (1, "", state["away"]) if given is None else (0, f"{state['away']}\n", "")
        if words[0] == "squeue":
            return 0, "".join(self._line(words[-1], job) + "\n" for job in self._active(state)), ""
        if words[0] == "sinfo":
            names = [f"n{number}" for number in range(1, 5)]
            return 0, "".join(f"{name} {state['nodes'].get(name, 'idle')}\n" for name in names), ""
        if words[1:3] == ["show", "config"]:
            now = int(time.time() + state["skew"])
            text = f"Configuration data as of {now}\nClusterName = fake\nSLURM_VERSION = {state['version']}\n"
            return 0, f"{text}PriorityType = priority/basic\n", ""
        return 0, "".join(self._do(line) for line in (given or "").splitlines()), ""

    @staticmethod
    def _active(state: dict[str, Any]) -> list[dict[str, Any]]:
        live = ("PENDING", "RUNNING", "COMPLETING", "SUSPENDED")
        return [job for job in state["jobs"].values() if job["state"] in live]

    def _line(self, wanted: str, job: dict[str, Any]) -> str:
        shown = {
            "%A": job["id"],
            "%F": job["array"],
            "%K": "N/A" if job["task"] is None else job["task"],
            "%T": job["state"],
            "%P": job["partition"],
            "%u": job["user"],
            "%a": job["account"],
            "%q": job["qos"],
            "%V": job["submit"],
            "%S": job["start"] or "N/A",
            "%l": f"{job['limit'] // 60}:00",
            "%Q": job["priority"],
            "%N": ",".join(job["nodes"]),
            "%n": job["required"],
            "%y": 0,
            "%v": "(null)",
            "%D": max(job["size"], len(expand(job["required"])) if job["required"] else 0),
            "%C": job["cpus"] * job["size"],
            "%m": "0",
            "%c": "1",
            "%E": job["dependency"] or "(null)",
            "%r": job["reason"],
            "%k": job["comment"],
            "%j": job["name"],
        }
        return re.sub("%[A-Za-z]", lambda found: str(shown[found.group()]), wanted)

    def _do(self, line: str) -> str:
        """What scontrol prints for one line of its standard input."""
        echo, words = f"scontrol: {line}\n", line.split()
        if words[:2] == ["show", "hostnames"]:
            return f"{echo}{words[2]}\n"
        state = self.load()
        if words[:2] == ["show", "job"]:
            job = state["jobs"].get(words[2])
            return echo + (self._shown(job) if job else "slurm_load_jobs error: Invalid job id specified\n")
        state["written"].append(line)
        self.save(state)
        if state.get("forbidden"):
            return f"{echo}Access/permission denied for job\n"
        error = ""
        for label in re.sub("JobId=", "", words[1]).split(","):
            job = state["jobs"].get(label)
            if job is None or job["state"] not in ("PENDING", "RUNNING", "SUSPENDED"):
                error += f"Invalid job id specified for job {label}\n"
                continue
            error += self._change(words, job)
        self.save(state)
        return echo + error

    @staticmethod
    def _change(words: list[str], job: dict[str, Any]) -> str:
        given = dict(word.split("=", 1) for word in words if "=" in word)
        if "Priority" in given and job["priority"] == 0:
            return "Job is in held state, pending scheduler release for job\n"
        keys = {"Priority": "priority", "SiteFactor": "site", "ReqNodeList": "required"}
        for key, value in given.items():
            if key in keys:
                job[keys[key]] = value if key == "ReqNodeList" else int(value)
            elif key == "NumNodes":
                job["size"], job["most"] = map(int, value.split("-"))
            elif key in ("TimeLimit", "TimeMin"):
                job["limit" if key == "TimeLimit" else "time_min"] = int(value) * 60
        if words[0] == "hold":
            job.update(priority=0, reason="JobHeldAdmin")
        elif words[0] == "release":
            job.update(priority=job["priority"] or 900, reason="None")
        elif words[0] in ("requeue", "requeuehold"):
            held = words[0] == "requeuehold"
            reason = "job_requeued_in_held_state" if held else "BeginTime"
            job.update(state="PENDING", nodes=[], start=None, restarts=job["restarts"] + 1, reason=reason)
            job.update(priority=0 if held else job["priority"], submit=int(time.time()))
        elif words[0] in ("suspend", "resume"):
            job["state"] = "SUSPENDED" if words[0] == "suspend" else "RUNNING"
        return ""

    @staticmethod
    def _shown(job: dict[str, Any]) -> str:
        array = "" if job["task"] is None else f"ArrayJobId={job['array']} ArrayTaskId={job['task']} "
        waits = job["state"] == "PENDING"
        least = "N/A" if job["time_min"] is None else f"{job['time_min'] // 60}:00"
        has = "".join(f"   Nodes={name} CPU_IDs=0-{job['cpus'] - 1} Mem=0 GRES=" for name in job["nodes"])
        size, most, cpus = job["size"], job["most"] or job["size"], job["cpus"] * job["size"]
        return (
            f"JobId={job['id']} {array}JobName={job['name']} UserId={job['user']}(0) Priority={job['priority']} "
            f"JobState={job['state']} Reason={job['reason']} Requeue=1 Restarts={job['restarts']} TimeMin={least} "
            f"EligibleTime={job['submit']} StartTime={job['start'] or 'Unknown'} EndTime={job['end'] or 'Unknown'} "
            f"NodeList={','.join(job['nodes'])} NumNodes={size}{f'-{most}' if waits else ''} NumCPUs={cpus} "
            f"NumTasks={cpus} CPUs/Task=1 NtasksPerN:B:S:C=0:0:*:* JOB_GRES=(null){'' if waits else has} "
            f"MinCPUsNode=1 MinMemoryNode=0 Features=(null) OverSubscribe=OK Contiguous=0 Licenses=(null) "
            f"Command=(null) WorkDir=/tmp Comment={job['comment']}\n"
        )


def main() -> None:
    """Be one of the executables."""
    words = [Path(sys.argv[0]).name, *sys.argv[1:]]
    stdin = sys.stdin.read() if words[0] == "scontrol" and "show" not in words else None
    code, output, errors = FakeSlurm(Path(os.environ["FAKE_SLURM"])).answer(words, stdin)
    sys.stdout.write(output)
    sys.stderr.write(errors)
    sys.exit(code)
