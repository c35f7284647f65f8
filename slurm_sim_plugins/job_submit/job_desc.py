"""``job_desc`` of a job_submit.lua: its fields, and what of a submission stands in them.

Names, values of what is not stated, and what a script may write: asked of job_submit/lua of Slurm 22.05.8.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from slurm_sim_plugins.job_update import JobUpdate
from slurm_sim_plugins.submission import Submission

MINUTE = 60.0
NO_VAL, NO_VAL16, NO_VAL64, INFINITE = 4294967294, 65534, float(2**64 - 2), 4294967295
"""What stands in a numeric field that is not stated, by its width; and no bound."""
MEM_PER_CPU, NICE_OFFSET = float(2**63), 2147483648
SHARED_NO, SHARED_OK = 0, 1
SHARED_WITH = {"user": 2, "mcs": 3}

_16 = "cores_per_socket cpus_per_task ntasks_per_core ntasks_per_node ntasks_per_socket ntasks_per_tres pn_min_cpus"
_16 += " reboot requeue shared sockets_per_node threads_per_core"
_32 = "delay_boot max_cpus max_nodes min_nodes nice num_tasks pn_min_tmp_disk priority req_switch site_factor"
_32 += " time_limit time_min wait4switch"
_0 = "begin_time bitflags boards_per_node contiguous end_time group_id immediate mail_type ntasks_per_board"
_0 += " sockets_per_board user_id wait_all_nodes warn_flags warn_signal warn_time x11"
NUMBERS: Mapping[str, float] = {
    **dict.fromkeys(_16.split(), NO_VAL16),
    **dict.fromkeys(_32.split(), NO_VAL),
    **dict.fromkeys(_0.split(), 0),
    "argc": 1,
    "min_cpus": 1,
    "pn_min_memory": NO_VAL64,
    "min_mem_per_cpu": math.nan,
    "min_mem_per_node": math.nan,
}
"""Numeric fields, and what they are where nothing is stated; NaN: nil."""
MODIFIED: Mapping[str, float] = {
    **NUMBERS,
    **dict.fromkeys(("contiguous", "mail_type"), NO_VAL16),
    **dict.fromkeys(("group_id", "min_cpus"), NO_VAL),
    "argc": 0,
}
"""The same where ``scontrol update`` states nothing."""
WIDER = "24.11"
"""From this version on CPUs of a task are a TRES of it, and a number of nodes is the least and the most."""
NOBODY = 99
"""The group of a change, from that version on."""
_LEFT_AS_IS = {"account": 0x2000000, "partition": 0x4000000, "qos": 0x8000000, "wckey": 0x10000000}
"""Bits of ``bitflags`` for what an update does not state."""
_OF_TEXT = "account acctg_freq admin_comment alloc_node array_inx batch_features burst_buffer clusters comment"
_OF_TEXT += " container cpus_per_tres default_account default_qos dependency exc_nodes extra features gres licenses"
_OF_TEXT += (
    " mail_user mem_per_tres name origin_cluster partition prefer qos req_nodes reservation script std_err std_in"
)
_OF_TEXT += " selinux_context std_out submit_line tres_bind tres_freq tres_per_job tres_per_node tres_per_socket"
_OF_TEXT += " tres_per_task user_name wckey work_dir"
TEXTS = frozenset(_OF_TEXT.split())
"""Fields of text, nil where nothing is stated."""
TABLES = ("environment", "spank_job_env", "argv")
"""Fields that are tables; here they are empty."""
_UNHEARD = "acctg_freq admin_comment alloc_node argc bitflags comment container default_account default_qos end_time"
_UNHEARD += " extra immediate mail_type mail_user script std_err std_in std_out submit_line wckey work_dir"
UNHEARD = frozenset(_UNHEARD.split())
"""Fields that change no schedule."""

_WHOLE = {
    "min_nodes": "min_nodes",
    "max_nodes": "max_nodes",
    "cpus_per_task": "cpus_per_task",
    "ntasks_per_node": "tasks_per_node",
    "ntasks_per_core": "tasks_per_core",
    "ntasks_per_socket": "tasks_per_socket",
    "sockets_per_node": "sockets",
    "cores_per_socket": "cores_per_socket",
    "threads_per_core": "threads_per_core",
}
"""Whole numbers by the field of a submission that they stand for."""
_SECONDS = {"time_limit": "time_limit", "time_min": "time_min"}
_TEXT = {
    "account": "account",
    "qos": "qos",
    "name": "name",
    "features": "constraint",
    "prefer": "prefer",
    "reservation": "reservation",
}
_SAME = {name: name for name in ("tres_per_job", "tres_per_task", "dependency")}
_LISTS = {"partition": "partitions", "req_nodes": "node_list", "exc_nodes": "exclude", "licenses": "licenses"}


def described(job: Submission, user_id: int, version: str = "") -> dict[str, Any]:
    """The fields of a submission that are stated, or worked out from what is stated, in a version of Slurm."""
    shown = {**_copied(job), **_sized(job), **_flagged(job), **_of_user(job, user_id)}
    if version >= WIDER and job.cpus_per_task and not job.tres_per_task:
        shown["tres_per_task"] = f"cpu={job.cpus_per_task}"
    return shown


def _copied(job: Submission) -> dict[str, Any]:
    """Fields that stand as they are stated."""
    shown: dict[str, Any] = {name: value for name, of in _WHOLE.items() if (value := getattr(job, of)) is not None}
    shown.update({name: value for name, of in _TEXT.items() if (value := getattr(job, of))})
    shown.update({name: ",".join(value) for name, of in _LISTS.items() if (value := getattr(job, of))})
    shown.update({name: value for name in _SAME if (value := getattr(job, name))})
    for name, of in _SECONDS.items():
        if (seconds := getattr(job, of)) is not None:
            shown[name] = _minutes(seconds)
    if job.array:
        shown["array_inx"] = job.array
    if job.node_list:
        shown["min_nodes"] = _fewest_nodes(job)
    if job.max_nodes is not None:
        shown["max_nodes"] = _most_nodes(job)
    if job.begin is not None:
        shown["begin_time"] = job.submit + job.begin
    return shown


def _fewest_nodes(job: Submission) -> int | None:
    """How many nodes it has at least, as ``sbatch`` says it: those that it names count."""
    named = len(job.node_list)
    return job.min_nodes if not named else max(job.min_nodes or 0, named)


def _most_nodes(job: Submission) -> int:
    """How many nodes it has at most, as ``sbatch`` says it: no more than tasks, nor than GPUs in all."""
    assert job.max_nodes is not None, "else nothing is said"
    gpus = sum(int(one.rpartition(":")[2]) for one in job.tres_per_job.split(",") if one)
    return min(filter(None, (job.max_nodes, job.tasks, gpus)))


def _nodes_if_fixed(job: Submission) -> int:
    """How many nodes tasks are counted on where their number is not stated; 0 for a range."""
    fewest = _fewest_nodes(job)
    return 1 if fewest is None else fewest if job.max_nodes in (None, fewest) else 0


def _sized(job: Submission) -> dict[str, Any]:
    """Tasks, CPUs, memory and generic resources."""
    shown: dict[str, Any] = {}
    nodes = _nodes_if_fixed(job)
    tasks = job.tasks if job.tasks is not None else nodes * (job.tasks_per_node or 0) or None
    if tasks is not None:
        shown["num_tasks"] = tasks
    shown["min_cpus"] = max(nodes if tasks is None else tasks, 1) * (job.cpus_per_task or 1)
    if job.min_cpus or job.cpus_per_task:
        shown["pn_min_cpus"] = max(job.min_cpus or 0, job.cpus_per_task or 0)
    if job.memory_per_cpu is not None:
        shown.update(min_mem_per_cpu=job.memory_per_cpu, pn_min_memory=MEM_PER_CPU + job.memory_per_cpu)
    elif job.memory_per_node is not None:
        shown.update(min_mem_per_node=job.memory_per_node, pn_min_memory=job.memory_per_node)
    if job.gres:
        shown["gres"] = shown["tres_per_node"] = ",".join(f"gres:{one}" for one in job.gres)
    return shown


def _flagged(job: Submission) -> dict[str, Any]:
    """What is said by a number that stands for yes, no or not stated."""
    shown: dict[str, Any] = {"contiguous": int(job.contiguous)}
    if job.exclusive or job.share:
        shown["shared"] = SHARED_WITH.get(job.exclusive_to, SHARED_NO) if job.exclusive else SHARED_OK
    if job.requeue is not None:
        shown["requeue"] = int(job.requeue)
    if job.nice:
        shown["nice"] = NICE_OFFSET + job.nice
    if job.held:
        shown["priority"] = 0
    return shown


def _of_user(job: Submission, user_id: int) -> dict[str, Any]:
    """Of the user and the script, of which no log knows more than the name."""
    known = {"user_name": job.user or "root", "user_id": user_id, "group_id": user_id}
    return {**known, "script": "#!/bin/sh\n", "work_dir": "/", "alloc_node": "login", "std_in": "/dev/null"}


def changed(job: Submission, written: Mapping[str, Any]) -> Submission:
    """A submission as a script leaves it.

    Args:
        job: the submission.
        written: what the script wrote, by field, the last value of each.
    """
    changes = _changes(written)
    if "min_cpus" in written and "num_tasks" not in written:
        changes["tasks"] = -(-int(written["min_cpus"]) // (changes.get("cpus_per_task") or job.cpus_per_task or 1))
    return job._replace(**changes)


def _changes(written: Mapping[str, Any]) -> dict[str, Any]:
    """What a script wrote, by field of a submission."""
    changes: dict[str, Any] = {}
    for name, value in written.items():
        if name in _WHOLE:
            changes[_WHOLE[name]] = None if value == NUMBERS[name] else int(value)
        elif name in _SECONDS:
            changes[_SECONDS[name]] = _seconds(int(value))
        elif name in _TEXT:
            changes[_TEXT[name]] = value
        elif name in _LISTS:
            changes[_LISTS[name]] = tuple(filter(None, str(value).split(",")))
        elif name in _OTHERS:
            changes.update(_OTHERS[name](value))
    return changes


def described_update(update: JobUpdate, job: Submission, now: float, user_id: int, version: str = "") -> dict[str, Any]:
    """The fields of ``job_desc`` in ``slurm_job_modify``: what a command states, and whose job it is.

    ``site_factor``, a deadline and what is not stated are not in it, as in Slurm.

    Args:
        update: what the command states.
        job: what the job asks for.
        now: in seconds.
        user_id: of the job's user.
        version: of Slurm.
    """
    facts = {name: value for name, value in update._asdict().items() if value is not None}
    shown: dict[str, Any] = {}
    for names in (_WHOLE, _TEXT, _SAME):
        shown.update({name: facts[of] for name, of in names.items() if of in facts})
    shown.update({name: ",".join(facts[of]) for name, of in _LISTS.items() if of in facts})
    shown.update({name: _minutes(facts[of]) for name, of in _SECONDS.items() if of in facts})
    shown.update({name: show(facts[of]) for name, (of, show) in _OF_UPDATE.items() if of in facts})
    if "memory_per_cpu" in facts:
        shown["pn_min_memory"] = MEM_PER_CPU + facts["memory_per_cpu"]
    if "begin" in facts:
        shown["begin_time"] = math.floor(now + facts["begin"])
    if version >= WIDER:
        shown["group_id"] = NOBODY
        if "min_nodes" in shown:
            shown.setdefault("max_nodes", shown["min_nodes"])
    shown["bitflags"] = sum(bit for name, bit in _LEFT_AS_IS.items() if name not in shown)
    return {**shown, "user_id": user_id, "user_name": job.user or "root", "alloc_node": "login"}


_OF_UPDATE: Mapping[str, tuple[str, Callable[[Any], Any]]] = {
    "num_tasks": ("tasks", int),
    "min_mem_per_node": ("memory_per_node", int),
    "min_mem_per_cpu": ("memory_per_cpu", int),
    "pn_min_memory": ("memory_per_node", int),
    "nice": ("nice", lambda nice: NICE_OFFSET + nice),
    "priority": ("priority", lambda priority: INFINITE if math.isinf(priority) else int(priority)),
    "requeue": ("requeue", int),
    "array_inx": ("array_limit", str),
}
"""What an update states in another form: fields of it, and how they are shown."""


def updated(update: JobUpdate, written: Mapping[str, Any], now: float) -> JobUpdate:
    """An update as a script leaves it.

    Args:
        update: what the command states.
        written: what the script wrote, by field, the last value of each.
        now: in seconds.
    """
    changes = {name: value for name, value in _changes(written).items() if name in JobUpdate._fields}
    if "priority" in written:
        changes["priority"] = _priority(written["priority"])
    if "nice" in written:
        changes["nice"] = None if written["nice"] == NO_VAL else changes["nice"]
    if "dependency" in written:
        changes["dependency"] = written["dependency"]
    if "begin_time" in written:
        changes["begin"] = max(float(written["begin_time"]) - now, 0.0)
    if str(limit := written.get("array_inx", "")).isdigit():
        changes["array_limit"] = int(limit)
    return update._replace(**changes)


def update_followed(name: str) -> bool:
    """Whether what a script writes into a field of an update is followed, or changes no schedule."""
    if name in UNHEARD or name in ("priority", "dependency", "begin_time", "array_inx"):
        return True
    value = "" if name in TEXTS else NUMBERS.get(name, 0.0)
    return any(changed in JobUpdate._fields for changed in _changes({name: 0.0 if value != value else value}))


def followed(name: str) -> bool:
    """Whether what a script writes into a field is followed, or changes no schedule."""
    return any(name in known for known in (UNHEARD, _WHOLE, _SECONDS, _TEXT, _LISTS, _OTHERS, ("min_cpus",)))


def _minutes(seconds: float) -> int:
    return INFINITE if math.isinf(seconds) else math.ceil(seconds / MINUTE)


def _seconds(minutes: int) -> float | None:
    if minutes == NO_VAL:
        return None
    return math.inf if minutes == INFINITE else minutes * MINUTE


def _priority(value: float) -> float | None:
    if value == NO_VAL:
        return None
    return math.inf if value == INFINITE else int(value)


def _of_node(value: Any) -> dict[str, Any]:
    return {"memory_per_node": int(value), "memory_per_cpu": None}


def _of_cpu(value: Any) -> dict[str, Any]:
    return {"memory_per_cpu": int(value), "memory_per_node": None}


def _memory(value: Any) -> dict[str, Any]:
    if value >= NO_VAL64:
        return {"memory_per_cpu": None, "memory_per_node": None}
    return _of_cpu(value - MEM_PER_CPU) if value >= MEM_PER_CPU else _of_node(value)


def _gres(value: Any) -> dict[str, Any]:
    return {"gres": tuple(one.removeprefix("gres:") for one in filter(None, str(value).split(",")))}


def _shared(value: Any) -> dict[str, Any]:
    to = next((to for to, number in SHARED_WITH.items() if value == number), "")
    return {"exclusive": bool(to) or value == SHARED_NO, "exclusive_to": to, "share": value == SHARED_OK}


_OTHERS: Mapping[str, Callable[[Any], dict[str, Any]]] = {
    "num_tasks": lambda value: {"tasks": None if value == NO_VAL else int(value)},
    "pn_min_cpus": lambda value: {"min_cpus": None if value == NO_VAL16 else int(value)},
    "pn_min_memory": _memory,
    "min_mem_per_node": _of_node,
    "min_mem_per_cpu": _of_cpu,
    "gres": _gres,
    "tres_per_node": _gres,
    "shared": _shared,
    "contiguous": lambda value: {"contiguous": bool(value)},
    "requeue": lambda value: {"requeue": None if value == NO_VAL16 else bool(value)},
    "nice": lambda value: {"nice": 0 if value == NO_VAL else int(value) - NICE_OFFSET},
    "priority": lambda value: {"held": value == 0},
}
"""What becomes of a submission where a field is written that stands for it in another form."""
