"""``job_rec`` of ``slurm_job_modify``, and the entries of ``slurm.jobs`` and ``slurm.reservations``.

What stands in them: asked of job_submit/lua of Slurm 22.05.8.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from slurm_sim_plugins.job_submit.job_desc import INFINITE, MINUTE, NICE_OFFSET, NO_VAL, described
from slurm_sim_plugins.records import JobRecord, ReservationRecord

STATES: Mapping[str, int] = {
    "PENDING": 0,
    "RUNNING": 1,
    "SUSPENDED": 2,
    "COMPLETED": 3,
    "COMPLETING": 3 + 0x8000,
    "CANCELLED": 4,
    "FAILED": 5,
    "TIMEOUT": 6,
    "NODE_FAIL": 7,
    "PREEMPTED": 8,
    "DEADLINE": 10,
}
"""Slurm's numbers of states."""
_0 = "delay_boot derived_ec end_time exit_code het_job_offset max_nodes pack_job_id pack_job_offset het_job_id"
_0 += " pn_min_memory reboot req_switch resizing spank_job_env_size start_time time_min wait4switch wait4switch_start"
NUMBERS: Mapping[str, float] = {
    **dict.fromkeys(_0.split(), 0),
    "best_switch": 1,
    "max_cpus": NO_VAL,
    "min_nodes": 1,
    "nice": NICE_OFFSET,
    "pn_min_cpus": 1,
    "time_limit": NO_VAL,
}
"""Numbers of a job of which nothing is stated."""
_OF_REQUEST = "account features licenses max_nodes min_cpus min_mem_per_cpu min_mem_per_node min_nodes name partition"
_OF_REQUEST += " pn_min_cpus pn_min_memory prefer qos script std_in time_limit time_min tres_per_job tres_per_node"
_OF_REQUEST += " tres_per_task work_dir group_id user_id"
_KEPT = tuple(_OF_REQUEST.split())
"""Fields that are those of ``job_desc``."""
_UNSTATED = "admin_comment batch_features burst_buffer comment cpus_per_tres extra mem_per_tres origin_cluster"
_UNSTATED += " selinux_context spank_job_env std_err std_out wckey tres_bind tres_freq tres_per_socket pack_job_id_set"
_UNSTATED += " het_job_id_set container power_flags gres"
_FURTHER = "array_job_id array_task_cnt array_task_id batch_host direct_set_prio job_id job_state nodes priority"
_FURTHER += " resv_name restart_cnt site_factor submit_time total_cpus total_nodes"
JOB_FIELDS = frozenset([*NUMBERS, *_KEPT, *_UNSTATED.split(), *_FURTHER.split()])
"""Fields of a job; what is not stated, and is no number, is nil."""
_TRES = "gres_req gres_used tres_alloc_str tres_fmt_alloc_str tres_fmt_req_str tres_req_str"
NOT_EMULATED = frozenset(_TRES.split())
"""Fields of a job that Slurm has and that are nil here."""
FLAGS: Mapping[str, int] = {
    "MAINT": 0x1,
    "DAILY": 0x4,
    "WEEKLY": 0x10,
    "IGNORE_JOBS": 0x40,
    "ANY_NODES": 0x100,
    "LICENSE_ONLY": 0x100,
    "STATIC_ALLOC": 0x400,
    "PART_NODES": 0x1000,
    "OVERLAP": 0x4000,
    "FIRST_CORES": 0x10000,
    "TIME_FLOAT": 0x20000,
    "REPLACE": 0x40000,
    "PURGE_COMP": 0x100000,
    "WEEKDAY": 0x200000,
    "WEEKEND": 0x800000,
    "FLEX": 0x2000000,
    "NO_HOLD_JOBS_AFTER": 0x20000000,
    "REPLACE_DOWN": 0x40000000,
    "MAGNETIC": 0x100000000,
    "HOURLY": 0x800000000,
}
"""Bits of the flags of reservations."""
_OF_RESERVATION = "accounts burst_buffer duration end_time features flags flags_set_node full_nodes licenses node_cnt"
RESERVATION_FIELDS = frozenset(f"{_OF_RESERVATION} node_list partition start_time users".split())
"""Fields of a reservation. Its name is the key."""


def _ranges(numbers: Sequence[int]) -> str:
    """Numbers that follow each other, as Slurm writes a set of them."""
    return str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]}-{numbers[-1]}"


def recorded(job: JobRecord, user_id: int) -> dict[str, Any]:
    """The fields of a job that are known."""
    asked = job.submission
    stated = described(asked, user_id)
    shown = {**NUMBERS, **{name: stated[name] for name in _KEPT if name in stated}}
    if asked.memory_per_cpu is None and asked.memory_per_node is None:
        shown["min_mem_per_node"] = 0
    shown.update(
        nice=NICE_OFFSET + asked.nice,
        job_id=asked.id,
        job_state=STATES[job.state],
        priority=int(job.priority),
        direct_set_prio=int(job.fixed_priority),
        site_factor=job.site_factor,
        restart_cnt=job.restarts,
        submit_time=math.floor(asked.submit),
        total_cpus=job.cpus or (0 if job.eligible is None else shown["min_cpus"]),
        total_nodes=len(job.nodes),
        array_job_id=job.array or 0,
        array_task_id=NO_VAL if job.task is None else job.task,
    )
    if job.het_job_id is not None:
        of_it = {"job_id": job.het_job_id, "job_offset": job.het_job_offset, "job_id_set": _ranges(job.het_job_id_set)}
        # Versions before 20 called them packs.
        shown.update({f"{kind}_{name}": value for kind in ("het", "pack") for name, value in of_it.items()})
    if job.tasks:
        shown["array_task_cnt"] = job.tasks
    if asked.reservation:
        shown["resv_name"] = asked.reservation
    if job.nodes:
        shown.update(nodes=",".join(job.nodes), batch_host=job.nodes[0])
    for name, time in (("start_time", job.start), ("end_time", job.end)):
        if time is not None and time < math.inf:
            shown[name] = math.floor(time)
    return shown


def reserved(one: ReservationRecord) -> dict[str, Any]:
    """The fields of a reservation that are known; whether its nodes were named is not among its flags."""
    shown: dict[str, Any] = {
        "start_time": math.floor(one.start),
        "end_time": math.floor(one.end) if one.end < math.inf else INFINITE,
        "duration": math.floor((one.end - one.start) / MINUTE) if one.end < math.inf else INFINITE,
        "flags": sum({FLAGS[name] for name in one.flags if name in FLAGS}),
        "flags_set_node": False,
        "full_nodes": True,
        "node_cnt": len(one.nodes),
        "node_list": ",".join(one.nodes),
    }
    shown.update({name: ",".join(names) for name in ("users", "accounts") if (names := getattr(one, name))})
    return shown
