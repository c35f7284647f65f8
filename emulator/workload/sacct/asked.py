"""What a job asked for: from the columns, and what no column has from the line of its submission.

A line of submission lacks the directives of the job's script, so columns go first. From the
line come the options that no column has, and, if it names nodes or tasks that agree with the
CPUs asked for, the shape: nodes, tasks, CPUs a task.

A dump that ``slurm-sim sacct`` wrote may have in ``Extra`` what Slurm does not know (how long
the job's work is) or rounds (the second of its submission). Then the line is all that was asked.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache

from emulator.workload.het_job import SEPARATOR
from emulator.workload.sacct.dump import Dump
from emulator.workload.sacct.resources import count_of, gpus_of, gres_of, memory_of, other_gres_of, resources_of
from emulator.workload.sbatch import OPTIONS, BatchOptions, parse_sbatch

MARK = "slurm-sim"
"""Begins what a dump of an emulated run has in ``Extra``."""
LONGEST_OFFSET = 10
"""Digits; no place of a component has as many."""
SHAPE = ("min_nodes", "max_nodes", "tasks", "cpus_per_task", "tasks_per_node", "tasks_per_core", "hint")
FURTHER = (
    "exclusive",
    "exclusive_to",
    "share",
    "node_list",
    "exclude",
    "deadline",
    "nice",
    "requeue",
    "reservation",
    "licenses",
    "array",
    "time_min",
    "tasks_per_socket",
    "min_cpus",
    "use_min_nodes",
    "sockets",
    "cores_per_socket",
    "threads_per_core",
    "contiguous",
    "spread",
    "prefer",
    "not_emulated",
)
"""What is taken from a line of submission because no column has it."""
BY_COLUMN = {
    "name": "jobname",
    "account": "account",
    "qos": "qos",
    "partitions": "partition",
    "constraint": "constraints",
}
"""What is taken from the line where a dump lacks the column for it."""
OF_GPUS = (
    *("gres", "gpus", "gpus_per_task", "gpus_on_sockets", "gres_per_task", "tasks_per_gpu", "enforces_binding"),
    "cpus_per_gpu",
)
"""What is taken from the line where columns say nothing of generic resources, of which a site may keep no account."""
OF_MEMORY = ("memory_per_node", "memory_per_cpu", "memory_per_gpu")
"""What is taken from the line where the columns say nothing of memory, or that it was 0."""
READ = (
    "submitline",
    "extra",
    "reqtres",
    "alloctres",
    "reqgres",
    "allocgres",
    "reqnodes",
    "allocnodes",
    "nnodes",
    "reqmem",
    "jobname",
    "account",
    "qos",
    "partition",
    "reqcpus",
    "alloccpus",
    "ncpus",
    "constraints",
    "timelimitraw",
    "timelimit",
)
"""The columns that say what a job asked for; beside them it matters whether it ran on nodes."""
NO_NODES = (None, "", "None assigned")
"""What is in NodeList of a job that ran on none."""
MOST_ALIKE = 4096
"""So many different submissions are remembered."""
NOTHING = BatchOptions()
FOR_EVER = 10**9
"""No limit is so many days, or minutes."""
_LETTERS = {option.letter: name for name, option in OPTIONS.items() if option.letter}
TAKES_NOTHING = ("--parsable", "--wait", "-W", "--quiet", "-Q", "--verbose", "-v", "--spread-job", "--contiguous", "-k")
"""Options of ``sbatch`` that do not matter here and have no value; others have one."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a job asked for.

    Attributes:
        options: as for ``sbatch``.
        stated: of a dump of an emulated run: what ``Extra`` says, by name, such as ``run``; else empty.
    """

    options: BatchOptions
    stated: Mapping[str, float] = field(default_factory=dict)

    @property
    def emulated(self) -> bool:
        """Whether it comes from a run of the emulator."""
        return bool(self.stated)


def asked_of(dump: Dump) -> Iterator[Asked | str]:
    """What each job of a dump asked for; where a value cannot be understood, what to say of it.

    Many ask for what others asked for: that is understood once.
    """
    # Without the column it is not known.
    on_nodes = (nodes is None or nodes not in NO_NODES for nodes in dump.column("nodelist"))
    # What a job had is worth a look only where there is nothing of what it asked for: it makes jobs alike fewer.
    columns = (dump.column(name if name != "alloctres" or "reqtres" not in dump.columns else "") for name in READ)
    return map(cache(_asked), on_nodes, map(_offset, dump.column("jobid")), *columns)


def _offset(label: str | None) -> int:
    """The place of a component in its heterogeneous job; 0 for all else."""
    place = label.rpartition("+")[2].partition(".")[0] if label and "+" in label else ""
    return int(place) if place.isdecimal() and len(place) < LONGEST_OFFSET else 0


def _of_component(line: BatchOptions, offset: int) -> BatchOptions:
    """What a line asks for as one component; it has that of all, unless the script parts them."""
    if not line.components:
        return line
    parts = (replace(line, components=()), *line.components)
    return parts[min(offset, len(parts) - 1)]


def _asked(on_nodes: bool, offset: int, *values: str | None) -> Asked | str:
    """What a record says, of whose columns of :data:`READ` these are the values; None for one that is not there."""
    fields = {name: value for name, value in zip(READ, values, strict=True) if value is not None}
    try:
        line, whole = submitted(fields.get("submitline", ""))
        line = _of_component(line, offset)
        stated = _stated(fields.get("extra", ""))
        if stated and whole:
            return Asked(line, stated)
        return Asked(_joined(_from_columns(fields, on_nodes), line, fields))
    except (ValueError, OverflowError) as error:
        return str(error)


def _stated(text: str) -> dict[str, float]:
    mark, *words = text.split() or [""]
    if mark != MARK:
        return {}
    try:
        return {name: float(value) for name, _, value in (word.partition("=") for word in words)}
    except ValueError:
        raise ValueError(f"Extra is {text[:60]!r}, in which {MARK} is not followed by name=number") from None


def _joined(columns: BatchOptions, line: BatchOptions, fields: Mapping[str, str]) -> BatchOptions:
    names = [*FURTHER, *(name for name, column in BY_COLUMN.items() if column not in fields)]
    if not (columns.gres or columns.gpus):
        names.extend(OF_GPUS)
    if not says_memory(columns):
        names.extend(OF_MEMORY)
    kept = {name: getattr(line, name) for name in names if getattr(line, name) != getattr(NOTHING, name)}
    if line.time_min is not None and line.time_limit is not None:
        # Backfill gave the job less than it asked for.
        kept["time_limit"] = line.time_limit
    if len(line.partitions) > 1 and set(columns.partitions) <= set(line.partitions):
        kept["partitions"] = line.partitions
    by_tasks = "gpus_per_task" in kept or "tasks_per_gpu" in kept
    if (line.min_nodes or line.tasks or line.tasks_per_node or by_tasks) and line.cpus <= cpus(fields):
        kept |= {name: getattr(line, name) for name in SHAPE}
    return replace(columns, **kept) if kept else columns


def says_memory(options: BatchOptions) -> bool:
    """Whether a job asked for some memory, not all of it."""
    return bool(options.memory_per_node or options.memory_per_cpu or options.memory_per_gpu)


# Columns ------------------------------------------------------------------------------


def _from_columns(fields: Mapping[str, str], on_nodes: bool) -> BatchOptions:
    asked, had = resources_of(fields.get("reqtres", "")), resources_of(fields.get("alloctres", ""))
    some = count_of("NNodes", fields.get("nnodes"))
    got = (count_of("AllocNodes", fields.get("allocnodes") or had.get("node")) or some) if on_nodes else 0
    # Of a job that ran on none NNodes is how many it asked for.
    nodes = count_of("ReqNodes", fields.get("reqnodes") or asked.get("node")) or got or some
    per_node, per_cpu = memory_of(fields.get("reqmem") or asked.get("mem") or had.get("mem", ""), nodes, cpus(fields))
    per_job, each_node = gres_of(fields, asked, had)
    # A job that got more nodes than it asked for at least left their number open.
    settled = nodes if nodes >= got and nodes else None
    return BatchOptions(
        name=fields.get("jobname", ""),
        account=fields.get("account", ""),
        qos=fields.get("qos", ""),
        partitions=tuple(filter(None, fields.get("partition", "").split(","))),
        min_nodes=settled,
        max_nodes=settled,
        tasks=max(cpus(fields), nodes),
        memory_per_node=per_node,
        memory_per_cpu=per_cpu,
        gpus=gpus_of(per_job),
        gres=each_node or other_gres_of(per_job, nodes or got or 1),
        constraint=fields.get("constraints", ""),
        time_limit=_limit(fields),
        licenses=tuple(
            (name[8:], count_of(name, count)) for name, count in asked.items() if name.startswith("license/")
        ),
    )


def cpus(fields: Mapping[str, str]) -> int:
    """How many CPUs were asked for; of a job of which that is not known, how many it got."""
    stated = fields.get("reqcpus") or resources_of(fields.get("reqtres", "")).get("cpu")
    count = count_of("ReqCPUS", stated or fields.get("alloccpus") or fields.get("ncpus"))
    if count < 1:
        raise ValueError("it is not said how many CPUs the job asked for, or that it asked for none")
    return count


def _limit(fields: Mapping[str, str]) -> float | None:
    raw = fields.get("timelimitraw", "")
    if raw.isdecimal():
        return min(int(raw), FOR_EVER) * 60.0
    text = fields.get("timelimit", raw)
    if text in ("", "Partition_Limit"):
        return None
    if text == "UNLIMITED":
        return math.inf
    days, _, clock = text.rpartition("-")
    words = [int(word) for word in clock.split(":") if word.isdecimal()]
    if len(words) != 3:
        raise ValueError(f"Timelimit is {text[:40]!r}, which is not written DD-HH:MM:SS")
    return min(int(days or 0), FOR_EVER) * 86_400.0 + words[0] * 3600 + words[1] * 60 + words[2]


# Lines of submission ------------------------------------------------------------------


@lru_cache(maxsize=MOST_ALIKE)
def submitted(line: str) -> tuple[BatchOptions, bool]:
    """What a line of submission asks for, as far as it is understood, and whether all of it was.

    Nothing is run. Options that do not matter here are passed over; at the first word that is
    no option (the script) the line is at its end.
    """
    if not line:
        return NOTHING, False
    try:
        words = shlex.split(line, comments=False)
    except ValueError:
        return BatchOptions(), False
    if not words or words[0].rpartition("/")[2] not in ("sbatch", "srun", "salloc"):
        return BatchOptions(), False
    taken, whole = _options_of(words[1:])
    try:
        return parse_sbatch(taken), whole
    except ValueError:
        return BatchOptions(), False


def _options_of(words: Sequence[str]) -> tuple[list[str], bool]:
    """The words that are understood, and whether all are."""
    taken: list[str] = []
    whole = True
    rest = list(reversed(words))
    while rest:
        word = rest.pop()
        if word == SEPARATOR:
            taken.append(word)
            continue
        if not word.startswith("-") or word == "-":
            break
        name = word[2:].partition("=")[0] if word.startswith("--") else _LETTERS.get(word[1], "")
        option = OPTIONS.get(name)
        if option is None:
            whole = False
            if "=" not in word and word not in TAKES_NOTHING and (word.startswith("--") or len(word) == 2) and rest:
                rest.pop()
            continue
        apart = "=" not in word if word.startswith("--") else len(word) == 2
        words_of = [word, rest.pop()] if option.value == "needed" and apart and rest else [word]
        if name in ("begin", "deadline") and "now" not in words_of[-1].lower():
            whole = False  # A time of day says nothing without the zone of the site.
            continue
        taken += words_of
    return taken, whole
