"""``preempt/qos``: jobs of some qualities of service give way to those of others.

Victims are of a quality of service that the preemptor's names, or, with ``WITHIN``, of its
own and of lower priority. What becomes of a victim is said by its quality of service.
(Observations P14, J3 to J5.)
"""

from __future__ import annotations

from emulator.slurmctld.assoc_mgr import Quality
from emulator.slurmctld.cluster import Cluster
from emulator.slurmctld.job import Job, State

_MODES = ("OFF", "CANCEL", "REQUEUE", "CHECKPOINT", "SUSPEND")


def quality_of(job: Job) -> Quality | None:
    """The quality of service of a job, or None."""
    return job.account.quality if job.account is not None else None


def preempts_some(job: Job) -> bool:
    """Whether there are qualities of service whose jobs a job preempts."""
    quality = quality_of(job)
    return quality is not None and bool(quality.preempts)


def mode_of_quality(job: Job) -> str:
    """What a victim's quality of service makes of it; empty where it says nothing but what the cluster says.

    One that says ``CLUSTER`` and ``WITHIN`` is not preempted at all, as recorded.
    """
    quality = quality_of(job)
    stated = set(quality.qos.words("PreemptMode") or ()) if quality is not None else set()
    stated = {word.upper() for word in stated}
    if not stated or stated == {"CLUSTER"}:
        return ""
    return next((mode for mode in _MODES if mode in stated), "OFF")


def grace_of_quality(job: Job) -> float:
    """Seconds between the choice of a victim and its end."""
    quality = quality_of(job)
    return (quality.qos.number("GraceTime") or 0.0) if quality is not None else 0.0


def exempt_time(job: Job, cluster: Cluster) -> float:
    """Seconds that a job runs before it can be preempted."""
    quality = quality_of(job)
    stated = quality.qos.number("PreemptExemptTime") if quality is not None else None
    return cluster.parameters.preempt_exempt_time if stated is None else stated


def candidates(job: Job, cluster: Cluster) -> list[Job]:
    """Running jobs that may be preempted for a job; the order is to be made by :func:`rank`."""
    own = quality_of(job)
    if own is None:
        return []
    within = "WITHIN" in cluster.parameters.preempt_mode or "WITHIN" in _stated(own)
    if not own.preempts and not within:
        return []
    return [
        other
        for other in cluster.running.values()
        if other.state is State.RUNNING and other.run is not None and not other.vacating
        if _gives_way(other, job, own, within)
        if cluster.now - other.run.start >= exempt_time(other, cluster)
    ]


def may_be_victim(job: Job, cluster: Cluster) -> bool:
    """Whether there is a quality of service whose jobs a job would have to make room for."""
    own = quality_of(job)
    if own is None or cluster.accounting is None:
        return False
    if "WITHIN" in cluster.parameters.preempt_mode or "WITHIN" in _stated(own):
        return True
    return any(own.qos.name in other.preempts for other in cluster.accounting.manager.qualities.values())


def _stated(quality: Quality) -> set[str]:
    return {word.upper() for word in quality.qos.words("PreemptMode") or ()}


def _gives_way(other: Job, job: Job, own: Quality, within: bool) -> bool:
    its = quality_of(other)
    if its is None:
        return False
    return its.qos.name in own.preempts or (within and its is own and other.priority < job.priority)


def rank(job: Job) -> tuple[float, int, int]:
    """Lowest quality of service first, then fewest nodes, then the oldest."""
    assert job.run is not None
    quality = quality_of(job)
    return quality.priority if quality is not None else 0.0, len(job.run.allocation.nodes), job.id
