"""What a job asks for when it is submitted, as ``job_submit`` sees it and may change it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from slurm_sim_plugins.cluster import Partition
from slurm_sim_plugins.jobs import Job
from slurm_sim_plugins.views import View


class Submission(NamedTuple):
    """What a job asks for. None, an empty value or False is what was not asked for.

    Of a log on counted processors known are ``id``, ``submit``, ``user``, ``account``, ``partitions``, ``tasks``
    (its processors) and ``time_limit``.
    """

    id: int
    """Its id. With the next three it stays as it is."""
    submit: float
    """When it is submitted, in seconds."""
    user: str = ""
    """For whom."""
    gpus: int = 0
    """GPUs in all, at least."""
    name: str = ""
    """Of the job."""
    account: str = ""
    """To charge."""
    qos: str = ""
    """Quality of service."""
    partitions: tuple[str, ...] = ()
    """Names of the partitions where it may run; none for the default one."""
    min_nodes: int | None = None
    """Fewest nodes."""
    max_nodes: int | None = None
    """Most nodes."""
    tasks: int | None = None
    """How many tasks."""
    cpus_per_task: int | None = None
    """CPUs of each task."""
    memory_per_node: int | None = None
    """Mebibytes; 0 is all of a node's."""
    memory_per_cpu: int | None = None
    """Mebibytes."""
    constraint: str = ""
    """An expression of features."""
    reservation: str = ""
    """The reservation to run in."""
    time_limit: float | None = None
    """Seconds; infinite for none."""
    time_min: float | None = None
    """The least limit that it will do with, in seconds."""
    nice: int = 0
    """Is subtracted from its priority."""
    held: bool = False
    """Whether it is submitted on hold."""
    requeue: bool | None = None
    """Whether it may be requeued; None for the cluster's rule."""


STAY = ("id", "submit", "user", "gpus")
"""What a plugin cannot change."""
CHANGE = tuple(name for name in Submission._fields if name not in STAY)
"""What it can."""


def submission_of_job(job: Job) -> Submission:
    """A job of a log, as plugins see it when it is submitted."""
    where = job.partition if job.partition is not None else job.queue
    return Submission(
        job.id,
        job.submit,
        _text(job.user),
        account=_text(job.account),
        partitions=() if where is None else (_text(where),),
        tasks=job.processors,
        time_limit=job.time_limit,
    )


def _text(fact: object) -> str:
    """A fact as a word; a unit test may give partitions themselves."""
    return "" if fact is None else str(getattr(fact, "name", fact))


class Reject(NamedTuple):
    """What ``job_submit`` answers to refuse a submission."""

    reason: str
    """The message to the user."""


class SubmitView(View):
    """What ``job_submit`` sees."""

    __slots__ = ("partitions", "submission")

    submission: Submission
    """What is submitted, as the plugins before have left it."""
    partitions: Sequence[Partition]
    """The partitions of the cluster, in their order; empty where there are none."""
