"""Options of ``sbatch`` that a job script may have and that decide nothing here.

Some change no schedule: where output goes, how tasks are bound, what mail is sent. They are
taken in silence, for a job script is to be read as it stands. Others do change a schedule and
are not emulated: what asks for them is named once, with the reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from emulator.workload.request import JobRequest

NEEDED, NONE, OPTIONAL = "needed", "none", "optional"

WITHOUT_EFFECT: Mapping[str, tuple[str, str]] = {
    **dict.fromkeys(
        (
            *("acctg-freq", "bcast", "comment", "container", "container-id", "cpu-freq", "cpu-bind", "delay-boot"),
            *("environment", "export-file", "gid", "gpu-bind", "gpu-freq", "mail-type", "mail-user"),
            *("mem-bind", "network", "oom-kill-step", "open-mode", "power"),
            *("profile", "resv-ports", "signal", "tres-bind", "uid", "umask", "wait-all-nodes", "wckey", "wrap"),
        ),
        ("", NEEDED),
    ),
    **dict.fromkeys(("ignore-pbs", "parsable", "reboot", "stepmgr", "test-only", "usage"), ("", NONE)),
    **dict.fromkeys(("export", "get-user-env", "propagate", "x11"), ("", OPTIONAL)),
    "chdir": ("D", NEEDED),
    "error": ("e", NEEDED),
    "input": ("i", NEEDED),
    "output": ("o", NEEDED),
    "quiet": ("Q", NONE),
    "verbose": ("v", NONE),
    "wait": ("W", NONE),
}
"""Short form, and whether a value comes."""

SEGMENTS = "segments are placed one after the other, each where it fits best"
NO_KILL = "no-kill"
"""What stands for that option of a component: of other jobs it is emulated."""
SHARING_FLAGS = "gres-flags"
"""What stands for values of that option that say how tasks share GPUs."""
SPREAD = "spread-job"
"""What stands for that option where the SelectType gives whole nodes: elsewhere it is emulated."""
ONE_CLUSTER = "there is one cluster"
SPECIALIZED = "no cores are specialized for a job, as with AllowSpecResourcesUsage=NO, the default"
NOT_EMULATED: Mapping[str, tuple[str, str, str]] = {
    "bb": ("", NEEDED, "burst buffers are not emulated"),
    "bbf": ("", NEEDED, "burst buffers are not emulated"),
    "batch": ("", NEEDED, "the batch script runs on the first node"),
    "cluster-constraint": ("", NEEDED, ONE_CLUSTER),
    "cluster": ("", NEEDED, ONE_CLUSTER),
    "clusters": ("M", NEEDED, ONE_CLUSTER),
    "consolidate-segments": ("", NONE, SEGMENTS),
    "core-spec": ("S", NEEDED, SPECIALIZED),
    "extra": ("", NEEDED, "nodes have no Extra text"),
    "mcs-label": ("", NEEDED, "MCS labels are not emulated"),
    "nodefile": ("F", NEEDED, "no other file is read: name the nodes with --nodelist"),
    "ntasks-per-board": ("", NEEDED, "boards are not emulated"),
    "spread-segments": ("", NONE, SEGMENTS),
    "thread-spec": ("", NEEDED, SPECIALIZED),
}
"""Short form, whether a value comes, and why it is not emulated."""


def not_emulated(requests: Iterable[JobRequest], whole_nodes: bool = False) -> list[str]:
    """What jobs ask for in vain, a sentence an option, in the order of the options' names.

    Args:
        requests: the jobs.
        whole_nodes: whether the SelectType gives whole nodes to all jobs.
    """
    found: dict[str, list[int]] = {}
    for request in requests:
        # Most jobs have no components, and a log has many jobs.
        for one in request.components() if request.options.components else (request,):
            vain: tuple[str, ...] = (NO_KILL,) if one.options.no_kill and one.het_job_id is not None else ()
            if whole_nodes and one.options.spread:
                vain = (*vain, SPREAD)
            for name in (*one.options.not_emulated, *vain):
                found.setdefault(name, []).append(one.id)
    return [
        f"--{name} of {len(jobs)} jobs (first: job {jobs[0]}) has no effect: {_reason(name)}"
        for name, jobs in sorted(found.items())
    ]


def _reason(name: str) -> str:
    if name == NO_KILL:
        return "a heterogeneous job ends with the first of its nodes that fails"
    if name == SPREAD:
        return "select/linear does not ask for it"
    if name == SHARING_FLAGS:
        return "whether tasks share GPUs goes by SelectTypeParameters alone"
    return NOT_EMULATED[name][2] if name in NOT_EMULATED else "it is no resource of a task that is emulated"
