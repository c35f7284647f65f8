"""What Slurm's commands print, in fixed formats, as values; texts of users are cut off before anything is read.

Users name jobs, and a name may hold anything, line breaks too. So each look has a separator that no one could know
before (:func:`queue_format`), and of ``scontrol show job`` only that is read which stands behind the name and before
the next text of a user.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from emulator.config.slurm.duration import limit_seconds
from emulator.config.slurm.hostlist import expand
from emulator.config.slurm.model import GresCount
from emulator.workload.sbatch import BatchOptions, TaskArray
from slurm_sim_plugins.errors import InputError

FIELDS = {
    "id": "%A",
    "array": "%F",
    "task": "%K",
    "state": "%T",
    "partition": "%P",
    "user": "%u",
    "account": "%a",
    "qos": "%q",
    "submit": "%V",
    "start": "%S",
    "limit": "%l",
    "priority": "%Q",
    "nodes": "%N",
    "required": "%n",
    "nice": "%y",
    "reservation": "%v",
    "size": "%D %C %m %c",
    "dependency": "%E",
    "reason": "%r",
    "comment": "%k",
    "name": "%j",
}
"""What is asked of ``squeue``, by name."""
WAITING = {"PENDING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT"}
"""States in which a job has no nodes."""
AWAY = re.compile(r"down|drain|fail|unk|maint|reserved|boot|power|future|block|not_resp|inval|no_respond")
"""What a state of a node holds that takes no jobs of the queue."""
NONE = ("", "(null)", "N/A", "None", "NONE", "Unknown")
_FAR = "UNLIMITED"


def queue_format(separator: str) -> str:
    """The format for ``squeue -o``; the separator is one that no job's name holds."""
    return separator + f"{separator}".join(FIELDS.values()) + separator


@dataclass(frozen=True, slots=True)
class Sight:
    """A job as ``squeue`` shows it; times are Unix seconds.

    Attributes:
        id: JobId; tasks of an array that are still together share it.
        array, task: the array that it is a task of, and the index there; None for no array.
        state: in Slurm's words.
        partition: names, separated by commas.
        user, account, qos: of whom; empty where there is none.
        submit: of the submission, or the last requeue.
        start: of its run, or as planned; None for unknown.
        limit: seconds; infinite for none.
        priority: 0 while it is held.
        nodes: that it has, as a host list.
        required: that it asks for, as a host list.
        nice: its nice value.
        reservation: that it asks for.
        size: nodes and CPUs in all, memory and CPUs of a node, as they are printed.
        dependency: what is not met yet of what it depends on.
        reason: why it waits.
        comment, name: texts of its user.
    """

    id: int
    array: int | None
    task: int
    state: str
    partition: str
    user: str
    account: str
    qos: str
    submit: float
    start: float | None
    limit: float
    priority: int
    nodes: str
    required: str
    nice: int
    reservation: str
    size: str
    dependency: str
    reason: str
    comment: str
    name: str

    @property
    def label(self) -> str:
        """How Slurm's commands name it, for its whole life: ``7``, or ``7_2``."""
        return str(self.id) if self.array is None else f"{self.array}_{self.task}"

    @property
    def number(self) -> int:
        """An id for its whole life: a task of an array has several JobIds, one after the other."""
        return self.id if self.array is None else 10**9 + self.array * 10**6 + self.task

    @property
    def waits(self) -> bool:
        """Whether it has no nodes."""
        return self.state in WAITING

    @property
    def held(self) -> bool:
        """Whether it is on hold."""
        return self.waits and self.priority == 0


def parse_queue(text: str, separator: str) -> list[Sight]:
    """The jobs of ``squeue -h -r -a -o`` with :func:`queue_format`.

    Raises:
        InputError: a line that another version may have written.
    """
    words = text.split(separator)
    count = len(FIELDS) + 1
    if (len(words) - 1) % count:
        raise InputError(f"squeue printed {len(words)} fields, which is no multiple of {count}")
    names = tuple(FIELDS)
    return [_sight(dict(zip(names, words[at : at + count - 1], strict=True))) for at in range(1, len(words), count)]


def _sight(words: Mapping[str, str]) -> Sight:
    given = {name: "" if value in NONE else value for name, value in words.items()}
    try:
        return Sight(
            id=int(given["id"]),
            array=int(given["array"]) if given["task"] else None,
            task=int(given["task"] or 0),
            state=given["state"],
            partition=given["partition"],
            user=given["user"],
            account=given["account"],
            qos=given["qos"],
            submit=float(given["submit"]),
            start=float(given["start"]) if given["start"] else None,
            limit=_limit(given["limit"]),
            priority=int(given["priority"]),
            nodes=given["nodes"],
            required=given["required"],
            nice=int(given["nice"] or 0),
            reservation=given["reservation"],
            size=given["size"],
            dependency=given["dependency"],
            reason=words["reason"],
            comment=given["comment"],
            name=words["name"],
        )
    except ValueError as error:
        shown = {name: given[name][:40] for name in ("id", "task", "submit", "start", "limit", "priority", "nice")}
        raise InputError(f"squeue printed a job that cannot be read ({error}): {shown}") from error


def _limit(text: str) -> float:
    return limit_seconds(_FAR if text.upper() in ("", "NOT_SET", "INVALID") else text)


def parse_nodes(text: str) -> dict[str, str]:
    """The state of each node, of ``sinfo -h -N -o '%N %T'``, which has a line for each partition of a node."""
    return dict(line.split(None, 1) for line in text.splitlines() if len(line.split()) > 1)


def takes_jobs(state: str) -> bool:
    """Whether a node in a state of ``sinfo`` takes jobs: it is up, answers, and is not kept for a reservation."""
    return not state.endswith(("*", "$")) and not AWAY.search(state.lower())


@dataclass(frozen=True, slots=True)
class Asked:
    """What ``scontrol show job`` says beside that; times are Unix seconds.

    Attributes:
        options: what the job asks for, as far as that is shown.
        state: in Slurm's words.
        begin: not before this; None for at once.
        start, end: of its last run, or as planned; None for unknown.
        restarts: how often it was requeued.
        component: whether it is a component of a heterogeneous job.
        nodes: of its last run, as a host list.
        has: (node names, CPUs of each, mebibytes of each, GRES of each) of what it has, a group of nodes each.
    """

    options: BatchOptions
    state: str
    begin: float | None
    start: float | None
    end: float | None
    restarts: int
    component: bool
    nodes: str
    has: tuple[tuple[tuple[str, ...], int, int, tuple[GresCount, ...]], ...]


def parse_job(text: str, sight: Sight) -> Asked | None:
    """What ``scontrol -d -o show job`` says of a job; None if that is another, or it has another name meanwhile.

    Raises:
        InputError: it cannot be read; another version may have written it.
    """
    begin = text.find("JobId=")
    # Between the name and the user are the other components of a heterogeneous job, and in 26.05 an id of its own.
    between = r"(?: (?:SLUID|HetJobIdSet)=[\w,\[\]-]+)*"
    named = re.compile(rf" JobName={re.escape(sight.name or '(null)')}{between} UserId=")
    found = named.search(text, max(begin, 0))
    if begin < 0 or found is None:
        return None
    head, rest = text[begin : found.start()], text[found.end() :]
    if "\n" in head:
        return None
    # From the command on there are texts of users again.
    body = "UserId=" + rest.partition(" Command=")[0]
    try:
        return _asked(head, body, sight)
    except (ValueError, KeyError) as error:
        raise InputError(f"scontrol shows job {sight.label} in a way that cannot be read: {error}") from error


_PAIR = re.compile(r"(?:^|\s)([A-Z][A-Za-z/:_]*)=(\S*)")


def _asked(head: str, body: str, sight: Sight) -> Asked:
    stated = {**dict(_PAIR.findall(head)), **dict(_PAIR.findall(body))}
    given = {key: "" if value in NONE else value for key, value in stated.items()}
    fewest, _, most = given["NumNodes"].partition("-")
    waits = sight.waits
    shared = given.get("OverSubscribe", "OK")
    # 26.05 says what is exclusive in a word of its own, and OverSubscribe=NO of every other job.
    exclusive = given["Exclusive"] != "NO" if "Exclusive" in given else shared in ("NO", "EXCLUSIVE", "USER", "MCS")
    options = BatchOptions(
        name=sight.name,
        account=sight.account,
        qos=sight.qos,
        partitions=tuple(sight.partition.split(",")),
        min_nodes=int(fewest) if most or not waits or int(fewest) > 1 else None,
        max_nodes=int(most or fewest) if most or not waits else None,
        tasks=_number(given, "NumTasks"),
        cpus_per_task=_more_than_one(given, "CPUs/Task"),
        tasks_per_node=_per_node(given),
        min_cpus=_more_than_one(given, "MinCPUsNode"),
        exclusive=exclusive,
        share=shared in ("YES", "FORCE"),
        memory_per_node=_memory(given.get("MinMemoryNode", "")),
        memory_per_cpu=_memory(given.get("MinMemoryCPU", "")) or None,
        tmp_disk=_memory(given.get("MinTmpDiskNode", "")),
        gres=_gres(given.get("TresPerNode", "")),
        gpus=_gres(given.get("TresPerJob", "")),
        gpus_per_task=_gres(given.get("TresPerTask", "")),
        contiguous=given.get("Contiguous") == "1",
        constraint=given.get("Features", ""),
        node_list=tuple(expand(sight.required)) if sight.required and waits else (),
        exclude=tuple(expand(given["ExcNodeList"])) if given.get("ExcNodeList") else (),
        time_limit=sight.limit,
        time_min=limit_seconds(given["TimeMin"]) if given.get("TimeMin") else None,
        nice=sight.nice,
        requeue=given.get("Requeue") != "0",
        reservation=sight.reservation,
        licenses=_licenses(given.get("Licenses", "")),
        array=None if sight.array is None else TaskArray((sight.task,), int(given.get("ArrayTaskThrottle") or 0)),
    )
    eligible = _time(given, "EligibleTime")
    return Asked(
        options=options,
        state=given["JobState"],
        begin=eligible if eligible is not None and eligible > sight.submit else None,
        start=_time(given, "StartTime"),
        end=_time(given, "EndTime"),
        restarts=int(given.get("Restarts") or 0),
        component=bool(given.get("HetJobId")),
        nodes=given.get("NodeList", ""),
        has=tuple(_allocated(body)),
    )


def _time(given: Mapping[str, str], key: str) -> float | None:
    return float(given[key]) if given.get(key) else None


def _number(given: Mapping[str, str], key: str) -> int | None:
    return int(given[key]) if given.get(key, "").isdigit() else None


def _more_than_one(given: Mapping[str, str], key: str) -> int | None:
    number = _number(given, key)
    return number if number and number > 1 else None


def _per_node(given: Mapping[str, str]) -> int | None:
    first = given.get("NtasksPerN:B:S:C", "").partition(":")[0]
    return int(first) if first.isdigit() and int(first) else None


def _memory(text: str) -> int | None:
    """Mebibytes; 0, which stands for all that a node has, is what a job has that asks for none."""
    found = re.fullmatch(r"([\d.]+)([KMGTP]?)", text)
    if found is None or not float(found[1]):
        return None
    return max(1, round(float(found[1]) * 1024.0 ** ("KMGTP".index(found[2] or "M") - 1)))


def _gres(text: str) -> tuple[GresCount, ...]:
    """``gres:gpu:a100:2,gres:gpu:1`` or ``gres/gpu:2``."""
    found = []
    for word in filter(None, text.split(",")):
        name, *rest = re.sub(r"^gres[:/]", "", word.split("(")[0]).replace("=", ":").split(":")
        count = int(rest.pop()) if rest and rest[-1].isdigit() else 1
        if name:
            found.append(GresCount(name, rest[0] if rest else "", count))
    return tuple(found)


def _licenses(text: str) -> tuple[tuple[str, int], ...]:
    pairs = (re.split(r"[:*]", word) for word in filter(None, text.split(",")))
    return tuple((name, int(rest[0]) if rest else 1) for name, *rest in pairs)


_GROUP = re.compile(r"\sNodes=(\S+) CPU_IDs=(\S*) Mem=(\d+) GRES=(\S*)")


def _allocated(body: str) -> list[tuple[tuple[str, ...], int, int, tuple[GresCount, ...]]]:
    found = []
    for nodes, cpus, memory, gres in _GROUP.findall(body):
        count = sum(int(last or first) - int(first) + 1 for first, last in re.findall(r"(\d+)(?:-(\d+))?", cpus))
        # Commas stand between indices, too, and these are in brackets.
        kinds = _gres(re.sub(r"\([^)]*\)", "", gres))
        found.append((tuple(expand(nodes)), count, int(memory), kinds))
    return found
