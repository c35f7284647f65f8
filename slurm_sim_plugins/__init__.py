"""All that a plugin author imports: hooks, views, decisions, errors."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import slurm_sim_plugins.kernels  # noqa: F401 - says which form of a kernel is imported, also of those in here
from slurm_sim_plugins.lazily import homes
from slurm_sim_plugins.neighbour import foreign_emulator

if TYPE_CHECKING:
    from slurm_sim_plugins.block_state import BlockState
    from slurm_sim_plugins.blocks import Blocks
    from slurm_sim_plugins.cluster import Association, Partition, Qos, Request
    from slurm_sim_plugins.decisions import (
        Decision,
        MakeRoom,
        Move,
        Pause,
        Plan,
        Preempt,
        Priorities,
        Priority,
        Reserve,
        Start,
        Wake,
    )
    from slurm_sim_plugins.errors import ConfigurationError, InputError, OutputError, PluginError, SlurmSimError
    from slurm_sim_plugins.hookspecs import API, hookimpl
    from slurm_sim_plugins.job_update import JobUpdate, ModifyView
    from slurm_sim_plugins.jobs import Job, Run
    from slurm_sim_plugins.plan import Answer, Entry, Hole, Place, SchedulePlan, WindowPlan
    from slurm_sim_plugins.profile import Profile, earliest_start
    from slurm_sim_plugins.records import JobRecord, ReservationRecord
    from slurm_sim_plugins.submission import Reject, Submission, SubmitView
    from slurm_sim_plugins.tiers import Stay, Tiers
    from slurm_sim_plugins.views import (
        BackfillView,
        ClusterState,
        Oracle,
        PendingView,
        PreemptView,
        PriorityView,
        RateView,
        SchedulingView,
        SelectView,
        VictimView,
        View,
        WalltimeView,
    )

_wrong = foreign_emulator()
if _wrong is not None:
    warnings.warn(_wrong, RuntimeWarning, stacklevel=2)

__getattr__ = homes(
    __name__,
    {
        "block_state": "BlockState",
        "blocks": "Blocks",
        "cluster": "Association Partition Qos Request",
        "decisions": "Decision MakeRoom Move Pause Plan Preempt Priorities Priority Reserve Start Wake",
        "errors": "ConfigurationError InputError OutputError PluginError SlurmSimError",
        "hookspecs": "API hookimpl",
        "job_update": "JobUpdate ModifyView",
        "jobs": "Job Run",
        "plan": "Answer Entry Hole Place SchedulePlan WindowPlan",
        "profile": "Profile earliest_start",
        "records": "JobRecord ReservationRecord",
        "submission": "Reject Submission SubmitView",
        "tiers": "Stay Tiers",
        "views": "BackfillView ClusterState Oracle PendingView PreemptView PriorityView RateView SchedulingView "
        "SelectView VictimView View WalltimeView",
    },
    Places="BlockState",
    Situation="ClusterState",
)

__all__ = [
    "API",
    "Answer",
    "Association",
    "BackfillView",
    "BlockState",
    "Blocks",
    "ClusterState",
    "ConfigurationError",
    "Decision",
    "Entry",
    "Hole",
    "InputError",
    "Job",
    "JobRecord",
    "JobUpdate",
    "MakeRoom",
    "ModifyView",
    "Move",
    "Oracle",
    "OutputError",
    "Partition",
    "Pause",
    "PendingView",
    "Place",
    "Plan",
    "PluginError",
    "Preempt",
    "PreemptView",
    "Priorities",
    "Priority",
    "PriorityView",
    "Profile",
    "Qos",
    "RateView",
    "Reject",
    "Request",
    "ReservationRecord",
    "Reserve",
    "Run",
    "SchedulePlan",
    "SchedulingView",
    "SelectView",
    "SlurmSimError",
    "Start",
    "Stay",
    "Submission",
    "SubmitView",
    "Tiers",
    "VictimView",
    "View",
    "Wake",
    "WalltimeView",
    "WindowPlan",
    "earliest_start",
    "hookimpl",
]
