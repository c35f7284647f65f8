"""Of which components of a heterogeneous job a command is (recorded): by the first one's number of all of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from emulator.scheduling.het_jobs import NO_LEADER, NOT_ONE, components_of, is_led, led_by
from slurm_sim_plugins.errors import InputError

if TYPE_CHECKING:
    from emulator.state.cluster import Cluster
    from emulator.state.job import Job

_COMPONENT = re.compile(r"([0-9]{1,18})(?:\+([0-9]{1,9}))?")


def named(text: str, cluster: Cluster) -> Sequence[Job]:
    """All components by the number of the first, one of them as ``NUMBER+OFFSET``; empty for all else."""
    found = _COMPONENT.fullmatch(text)
    components = cluster.het_jobs.get(int(found[1]), []) if found is not None else []
    if found is None or found[2] is None:
        return components
    return [job for job in components if job.request.het_job_offset == int(found[2])]


def widened(found: list[Job], cluster: Cluster) -> list[Job]:
    """Jobs, and with ``whole_hetjob`` all components of each."""
    if not cluster.parameters.whole_hetjob:
        return found
    return list({one.id: one for job in found for one in components_of(job, cluster)}.values())


def with_led(found: list[Job], cluster: Cluster) -> list[Job]:
    """Jobs, and all components of those that are the first one."""
    return list({one.id: one for job in found for one in (job, *led_by(job, cluster))}.values())


def not_whole(job: Job, found: Sequence[Job], cluster: Cluster) -> bool:
    """Whether a job is a further component of a heterogeneous job of which the first is not among those found."""
    return is_led(job, cluster) and components_of(job, cluster)[0] not in found


def alone(found: list[Job], cluster: Cluster) -> list[Job]:
    """Jobs, none of which is a further component without the first.

    Raises:
        InputError: one is.
    """
    for job in found:
        if not_whole(job, found, cluster):
            raise InputError(f"{NOT_ONE} for job {job.id}")
    return found


def leaders(found: list[Job], cluster: Cluster) -> list[Job]:
    """Jobs without further components, which do as the first one does.

    Raises:
        InputError: a further component is named without the first.
    """
    for job in found:
        if not_whole(job, found, cluster):
            raise InputError(f"{NO_LEADER} for job {job.id}")
    return [job for job in found if not is_led(job, cluster)]
