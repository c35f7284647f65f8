"""What several views show of a job, as Slurm words it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from emulator.views.clock import size
from emulator.views.recorded import JobAt
from emulator.workload.sbatch_line import indices, words

COMPACT = {
    "PENDING": "PD",
    "CONFIGURING": "CF",
    "RUNNING": "R",
    "SUSPENDED": "S",
    "COMPLETING": "CG",
    "COMPLETED": "CD",
    "CANCELLED": "CA",
    "FAILED": "F",
    "TIMEOUT": "TO",
    "PREEMPTED": "PR",
    "NODE_FAIL": "NF",
    "DEADLINE": "DL",
    "REQUEUED": "RQ",
}
"""States in two letters."""
NUMBERS = {name: index for index, name in enumerate(("PENDING", "RUNNING", "SUSPENDED", "COMPLETED", "CANCELLED"))}
"""States in Slurm's order; others follow."""


def state_of(text: str) -> str:
    """A state by its name or its letters, in any case; empty if there is none."""
    short = {letters: name for name, letters in COMPACT.items()}
    return short.get(text.upper(), text.upper() if text.upper() in COMPACT else "")


def node_count(job: JobAt, largest: int) -> int:
    """Nodes that a job has; of a waiting one, that it will need at least on nodes of so many CPUs."""
    if job.stay is not None:
        return len(job.stay.cpus)
    options = job.options
    fewest = max(options.min_nodes or 1, math.ceil(job.asked_cpus / max(largest, 1)))
    return max(fewest, min(options.max_nodes or fewest, options.tasks_on(fewest)))


def batch_host(job: JobAt) -> str:
    """The first of its nodes."""
    return next(iter(job.hosts), "")


def memory_asked(job: JobAt) -> str:
    """The least memory of a node, or of a CPU (then with a ``c``, as older versions have it)."""
    per_cpu, per_node = job.memory
    if per_cpu:
        return f"{size(per_cpu)}c"
    return size(per_node) if per_node else "0"


def total_memory(job: JobAt, nodes: int) -> int:
    """Mebibytes that it asked for in all, or has by default; 0 where that is all of its nodes."""
    per_cpu, per_node = job.memory
    return per_cpu * job.asked_cpus if per_cpu else (per_node or 0) * nodes


def asked_tres(job: JobAt, nodes: int) -> str:
    """Resources that it asked for, by name."""
    options = job.options
    found = {"billing": str(job.asked_cpus), "cpu": str(job.asked_cpus), "node": str(nodes)}
    if memory := total_memory(job, nodes):
        found["mem"] = size(memory)
    counts: dict[str, int] = {}
    for gres, factor in ((options.gres, nodes), (options.gpus, 1), (options.of_tasks, options.tasks_on(nodes))):
        for one in gres:
            for name in {f"gres/{one.name}", f"gres/{one.name}:{one.type}" if one.type else f"gres/{one.name}"}:
                counts[name] = counts.get(name, 0) + one.count * factor
    found |= {name: str(count) for name, count in counts.items()}
    found |= {f"license/{name}": str(count) for name, count in options.licenses}
    return ",".join(f"{name}={found[name]}" for name in sorted(found))


def given_tres(job: JobAt) -> str:
    """Resources that it has."""
    if job.stay is None:
        return ""
    stay = job.stay
    found = {"billing": str(sum(stay.cpus)), "cpu": str(sum(stay.cpus)), "node": str(len(stay.cpus))}
    if memory := sum(stay.memory):
        found["mem"] = size(memory)
    for kind, counts in stay.gres.items():
        for name in {f"gres/{kind.partition(':')[0]}", f"gres/{kind}"}:
            found[name] = str(int(found.get(name, 0)) + sum(counts))
    return ",".join(f"{name}={found[name]}" for name in sorted(found))


def dependency(job: JobAt) -> str:
    """On which jobs it depends, as it was asked."""
    asked = [word for word in words(job.options) if word.startswith("--dependency=")]
    return asked[0].partition("=")[2] if asked else "(null)"


def array_label(jobs: Sequence[JobAt], together: bool = True) -> str:
    """The id of tasks that are shown together, such as ``12_[3-5,8%2]``; of one job its own."""
    first = jobs[0]
    if first.job.fields["array"] < 0 or not first.waits or not together:
        return first.job.label
    array = first.options.array
    limit = f"%{array.limit}" if array is not None and array.limit else ""
    tasks = indices(int(job.job.fields["task"]) for job in jobs)
    return f"{first.job.fields['array']}_[{tasks}{limit}]"
