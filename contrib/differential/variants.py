"""Recordings with a few things changed: scenarios near to those that are known, and none of them.

What is changed is a word of the configuration, a job or an operator's command; what is put there is from Slurm's own
vocabulary. A recording of another version is played on the one that is installed.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from .clusters import Draws

Document = dict[str, Any]
PLAYED = ("slurm_conf", "gres_conf", "topology_conf", "topology_yaml", "operation", "sacctmgr", "jobs", "actions")
"""What of a recording is the scenario; the rest is what was seen."""
LONGEST, MOST = 1200.0, 20
"""Seconds of a scenario and submissions in it, so that a recording takes minutes."""
LOOPS = (
    *("bf_continue", "bf_busy_nodes", "bf_one_resv_per_job", "bf_ignore_newly_avail_nodes", "bf_running_job_reserve"),
    *(
        "bf_interval=5",
        "bf_interval=20",
        "bf_resolution=1",
        "bf_resolution=60",
        "bf_window=10",
        "bf_min_age_reserve=60",
    ),
    *("bf_max_job_test=2", "bf_max_job_user=1", "bf_max_job_part=2", "bf_max_job_start=1", "bf_licenses", "defer"),
    *("bf_job_part_count_reserve=1", "default_queue_depth=2", "partition_job_depth=1", "sched_interval=20"),
    *("preempt_youngest_first", "preempt_strict_order", "preempt_reorder_count=3", "pack_serial_at_end"),
    *("assoc_limit_stop", "sched_min_interval=0", "batch_sched_delay=10", "reduce_completing_frag", "enable_user_top"),
)
SELECTION = ("CR_CPU", "CR_Core", "CR_CPU_Memory", "CR_Core_Memory", "CR_Socket", "CR_Socket_Memory", "CR_Core,CR_LLN")
PARTITION = {
    "OverSubscribe": ("NO", "YES:2", "FORCE:1", "FORCE:2", "EXCLUSIVE"),
    "MaxNodes": (1, 2),
    "MinNodes": (2,),
    "MaxTime": (2, 5, 30),
    "DefaultTime": (1, 3),
    "LLN": ("YES",),
    "ExclusiveUser": ("YES",),
    "GraceTime": (10, 40),
    "PreemptMode": ("OFF", "REQUEUE", "CANCEL"),
    "PriorityTier": (1, 5, 10),
    "PriorityJobFactor": (1, 100),
    "MaxCPUsPerNode": (1, 2),
    "DefMemPerCPU": (100, 500),
    "OverTimeLimit": (1,),
    "DisableRootJobs": ("NO",),
}
CLUSTER = {
    "SchedulerType": ("sched/backfill", "sched/builtin"),
    "PriorityType": ("priority/basic", "priority/multifactor"),
    "PriorityFavorSmall": ("YES", "NO"),
    "PriorityWeightJobSize": (1000,),
    "PriorityWeightAge": (100000,),
    "PriorityWeightPartition": (1000,),
    "PreemptMode": ("REQUEUE", "CANCEL", "SUSPEND,GANG"),
    "PreemptExemptTime": ("0:30",),
    "KillWait": (1, 30),
    "CompleteWait": (5,),
    "OverTimeLimit": (1, 3),
    "EnforcePartLimits": ("NO", "ANY", "ALL"),
    "JobRequeue": (0, 1),
    "DefMemPerCPU": (100, 400),
    "SelectType": ("select/cons_tres", "select/linear"),
}
OPTIONS = (
    *("-n1", "-n2", "-n3", "-N1", "-N2", "-N1-2", "-c2", "--ntasks-per-node=1", "--ntasks-per-node=2", "--mem=100"),
    *("--mem=600", "--mem-per-cpu=200", "--exclusive", "--oversubscribe", "--no-requeue", "--requeue", "--hold"),
    *("--nice=100", "--nice=5", "--begin=now+30", "--begin=now+90", "-t1", "-t2", "-t5", "--time-min=1", "--array=0-2"),
    *("--array=1-4%1", "--array=0-3%2", "--contiguous", "--spread-job", "--use-min-nodes", "--mincpus=2"),
    *("--deadline=now+300", "--signal=B:10@30", "--priority=500", "--kill-on-invalid-dep=yes", "--no-kill"),
)


def recordings(folders: tuple[Path, ...]) -> list[Path]:
    """The recordings of some folders that can be varied, by name."""
    paths = sorted((path for folder in folders for path in folder.glob("*.yaml")), key=lambda path: (path.name, path))
    return [path for path in paths if _fits(path)]


def variant_of(seed: int, paths: list[Path]) -> Document:
    """The variant of a seed: the same seed and recordings give the same.

    Args:
        seed: of the variant.
        paths: the recordings that there are.
    """
    draws = Draws(f"variant {seed}")
    path = draws.one(*paths)
    return Variant(_scenario(path), draws).made(f"variant_{seed}", path.stem)


def _scenario(path: Path) -> Document:
    return dict(yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader))


def _fits(path: Path) -> bool:
    whole = _scenario(path)
    jobs = whole["jobs"]
    if "cluster_events" in whole or "queries" in whole or not 3 <= len(jobs) <= MOST:
        return False
    last = max(job["submit"] + (job.get("run") or 0) for job in jobs)
    return bool(last <= LONGEST) and all(job.get("run") is not None for job in jobs)


class Variant:
    """Changes one recording.

    Args:
        whole: the recording.
        draws: for what is changed.
    """

    def __init__(self, whole: Document, draws: Draws) -> None:
        self.draws = draws
        self.document = copy.deepcopy({key: whole[key] for key in PLAYED if key in whole})
        self.changed: list[str] = []

    def made(self, name: str, of: str) -> Document:
        """The scenario with two or three things changed."""
        changes: list[Callable[[], str]] = [self._loops, self._selection, self._partition, self._cluster, self._weight]
        changes += [self._option, self._option, self._swap, self._another, self._moved, self._length]
        changes += [self._command, self._command, self._command]
        for change in self.draws.sample(changes, self.draws.one(2, 2, 3)):
            self.changed.append(change())
        note = f"{of}, with " + "; ".join(self.changed)
        return {"scenario": name, "note": note} | self.document

    def _loops(self) -> str:
        word = self.draws.one(*LOOPS)
        found = re.search(r"(?mi)^SchedulerParameters=(.*)$", self.document["slurm_conf"])
        key = word.partition("=")[0]
        words = [each for each in (found[1].split(",") if found else []) if each.partition("=")[0] != key]
        self._state("SchedulerParameters", ",".join([*words, word]))
        return word

    def _selection(self) -> str:
        value = self.draws.one(*SELECTION)
        if "select/linear" in self.document["slurm_conf"]:
            value = self.draws.one("CR_Memory", "CR_LLN")
        self._state("SelectTypeParameters", value)
        return f"SelectTypeParameters={value}"

    def _cluster(self) -> str:
        key = self.draws.one(*CLUSTER)
        value = self.draws.one(*CLUSTER[key])
        if value == "select/linear":
            self._state("SelectTypeParameters", self.draws.one("CR_Memory", "CR_LLN"))
        elif value == "select/cons_tres":
            self._state("SelectTypeParameters", self.draws.one(*SELECTION))
        self._state(key, value)
        return f"{key}={value}"

    def _state(self, key: str, value: object) -> None:
        """State a key of the cluster, instead of what is there."""
        lines = self.document["slurm_conf"].splitlines()
        lines = [line for line in lines if not line.lower().startswith(f"{key.lower()}=")]
        self.document["slurm_conf"] = "\n".join([f"{key}={value}", *lines]) + "\n"

    def _partition(self) -> str:
        key = self.draws.one(*PARTITION)
        return self._word_of("PartitionName=", key, self.draws.one(*PARTITION[key]))

    def _weight(self) -> str:
        return self._word_of("NodeName=", "Weight", self.draws.one(1, 5, 20))

    def _word_of(self, start: str, key: str, value: object) -> str:
        lines = self.document["slurm_conf"].splitlines()
        which = self.draws.one(*(place for place, line in enumerate(lines) if line.startswith(start)))
        words = [word for word in lines[which].split() if word.partition("=")[0].lower() != key.lower()]
        lines[which] = " ".join([*words, f"{key}={value}"])
        self.document["slurm_conf"] = "\n".join(lines) + "\n"
        return f"{key}={value} of {words[0]}"

    def _option(self) -> str:
        job, word = self.draws.one(*self.document["jobs"]), self.draws.one(*OPTIONS)
        job["sbatch"] = [*job.get("sbatch", []), word]
        return f"{word} of {job['name']}"

    def _swap(self) -> str:
        one, other = self.draws.sample(self.document["jobs"], 2)
        for key in ("sbatch", "run", "time_limit", "nodes", "partition", "user"):
            values = [each.pop(key, None) for each in (one, other)]
            for each, value in zip((other, one), values, strict=True):
                each.update({key: value} if value is not None else {})
        return f"{one['name']} and {other['name']} exchanged"

    def _another(self) -> str:
        jobs = self.document["jobs"]
        again = copy.deepcopy(self.draws.one(*jobs))
        like = again["name"]
        last = max(job["submit"] for job in jobs)
        again |= {"name": "another", "id": max(job["id"] for job in jobs) + 40}
        again["submit"] = round(self.draws.uniform(0, last + 20)) + 0.2
        jobs.append(again)
        jobs.sort(key=lambda job: job["submit"])
        return f"another {like} at {again['submit']}"

    def _moved(self) -> str:
        job, by = self.draws.one(*self.document["jobs"]), self.draws.one(-10, 4, 15, 40)
        job["submit"] = max(0.2, job["submit"] + by)
        self.document["jobs"].sort(key=lambda each: each["submit"])
        return f"{job['name']} {by} s later"

    def _length(self) -> str:
        job, times = self.draws.one(*self.document["jobs"]), self.draws.one(0.25, 0.5, 2, 3)
        job["run"] = max(1, round(job["run"] * times))
        return f"{job['name']} works {job['run']} s"

    def _command(self) -> str:
        draws, job = self.draws, self.draws.one(*self.document["jobs"])
        at = round(job["submit"] + draws.uniform(3, 60), 1)
        later, which = round(at + draws.uniform(10, 40), 1), job["id"]
        node = re.sub(r"\[(\d+).*", r"\1", draws.one(*re.findall(r"(?m)^NodeName=(\S+)", self.document["slurm_conf"])))
        part = draws.one(*re.findall(r"(?m)^PartitionName=(\S+)", self.document["slurm_conf"]))
        change = draws.one(
            *("TimeLimit=1", "TimeLimit=+2", "Nice=50", "Priority=100000", "StartTime=now+20", f"Partition={part}"),
            *("NumNodes=1", "NumTasks=2", f"ReqNodeList={node}", f"ExcNodeList={node}", "Dependency=", "Requeue=0"),
        )
        held = f"StartTime=now+{draws.one(5, 30)} Duration={draws.one(1, 2)} Users=root"
        up = f"scontrol update PartitionName={part} State=UP"
        state = f"scontrol update NodeName={node} State="
        first, undo = draws.one(
            (f"scancel {which}", ""),
            (f"scontrol hold {which}", f"scontrol release {which}"),
            (f"scontrol requeue {which}", ""),
            (f"scontrol requeuehold {which}", f"scontrol release {which}"),
            (f"scontrol suspend {which}", f"scontrol resume {which}"),
            (f"scontrol update JobId={which} {change}", ""),
            (f"scontrol update JobId={which} {change}", ""),
            (f"{state}{draws.one('DRAIN', 'DOWN')} Reason=x", f"{state}RESUME"),
            (f"{state}{draws.one('DRAIN', 'DOWN')} Reason=x", f"{state}RESUME"),
            *((f"scontrol update PartitionName={part} State={each}", up) for each in ("DOWN", "DRAIN", "INACTIVE")),
            (f"scontrol create reservation ReservationName=rv {held} {draws.one(f'Nodes={node}', 'NodeCnt=1')}", ""),
        )
        commands = [[at, first], [later, undo]] if undo else [[at, first]]
        self.document["actions"] = sorted([*self.document.get("actions", []), *commands], key=lambda each: each[0])
        return f"{first} at {at}"
