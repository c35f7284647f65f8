"""Which jobs ``PreemptExemptTime`` protects from preemption."""

from __future__ import annotations

from emulator.state.cluster import Cluster
from emulator.state.job import Job


def is_exempt(job: Job, cluster: Cluster) -> bool:
    """Whether a job has not run for so long yet that it may be preempted, by its QOS, else the cluster."""
    assert job.run is not None
    quality = job.account.quality if job.account is not None else None
    of_quality = quality.exempt_time if quality is not None else None
    exempt = cluster.parameters.preempt_exempt_time if of_quality is None else of_quality
    return bool(cluster.now - job.run.start < exempt)
