"""Which hook is applied to a real Slurm, and how; the others are refused, or warned of, by name."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping

from slurm_sim_plugins.errors import ConfigurationError
from slurm_sim_plugins.manager import Selection

APPLIED: Mapping[str, str] = {
    "priority_set": "Priority, or SiteFactor",
    "site_factor": "SiteFactor",
    "schedule": "hold, then ReqNodeList and release",
    "backfill": "as schedule",
    "backfill_candidates": "through the scheduler",
    "bf_topopt": "through the scheduler",
    "select_nodes": "the nodes, not the CPUs on them",
    "preempt_candidates": "requeue, or suspend",
    "preempt_mode": "requeue, or suspend",
    "walltime_submit": "TimeMin, or TimeLimit",
    "walltime_pending": "TimeMin, or TimeLimit",
}
"""What becomes of the answers of a hook."""
TOLD = (
    *("walltime_learn", "run_begun", "job_submitted", "job_started", "job_requeued", "job_suspended", "job_resumed"),
    *("job_ended", "pass_done", "run_ended"),
)
"""Hooks that are told what happens."""
WARNED = {"preempt_grace": "victims go at once: Slurm's GraceTime holds for its own preemption only"}
"""Hooks whose answers come to nothing."""
REFUSED = {
    "job_submit": "a job is in the queue when it is seen; a job_submit.lua does it in both",
    "job_modify": "a job is changed when that is seen; a job_submit.lua judges changes in both",
    "progress_rate": "a real run goes as fast as it goes",
}
"""Hooks that cannot be asked here."""


def check_live(selection: Selection, names: Collection[str]) -> None:
    """Refuse plugins with hooks that cannot be applied to a real Slurm, and warn of those in vain.

    Raises:
        ConfigurationError: there is one.
    """
    for hook, why in REFUSED.items():
        for name, _ in selection.implementations(hook):
            if name in names:
                raise ConfigurationError(
                    f"{name} has the hook {hook}, which cannot be applied beside a real Slurm: {why}"
                )
    for hook, why in WARNED.items():
        for name, _ in selection.implementations(hook):
            if name in names:
                logging.getLogger(__name__).warning("%s has the hook %s, which has no effect here: %s", name, hook, why)
