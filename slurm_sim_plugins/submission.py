"""What a job asks for when it is submitted, as ``job_submit`` sees it and may change it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from slurm_sim_plugins.cluster import Partition
from slurm_sim_plugins.jobs import Job
from slurm_sim_plugins.views import View

if TYPE_CHECKING:
    from slurm_sim_plugins.records import JobRecord, ReservationRecord


class Submission(NamedTuple):
    """What a job asks for. None, an empty value or False is what was not asked for.

    Of a log on counted processors known are ``id``, ``submit``, ``user``, ``account``, ``partitions``, ``tasks``
    (its processors) and ``time_limit``.
    """

    id: int
    """Its id. With the next two it stays as it is."""
    submit: float
    """When it is submitted, in seconds."""
    user: str = ""
    """For whom."""
    gpus: int = 0
    """GPUs in all, at least. With the next five it stays as it is."""
    tres_per_job: str = ""
    """What ``--gpus`` asks for, such as ``gres:gpu:4``."""
    tres_per_task: str = ""
    """What ``--gpus-per-task`` asks for."""
    dependency: str = ""
    """On which jobs it depends, such as ``afterok:17``."""
    array: str = ""
    """Indices of its tasks."""
    begin: float | None = None
    """Seconds after its submission from which on it may start."""
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
    tasks_per_node: int | None = None
    """Most tasks on a node."""
    tasks_per_core: int | None = None
    """Most tasks on a core."""
    tasks_per_socket: int | None = None
    """Most tasks on a socket."""
    min_cpus: int | None = None
    """CPUs on each node, at least."""
    sockets: int | None = None
    """Sockets that a node has at least."""
    cores_per_socket: int | None = None
    """Cores that each of them has at least."""
    threads_per_core: int | None = None
    """Threads that each of these has at least."""
    exclusive: bool = False
    """Whether it wants whole nodes."""
    exclusive_to: str = ""
    """With whom it shares them nonetheless: ``user``, ``mcs``, ``topo``; empty: with no other job."""
    share: bool = False
    """Whether it would share resources."""
    contiguous: bool = False
    """Whether its nodes must be neighbours."""
    gres: tuple[str, ...] = ()
    """Generic resources on each node, such as ``gpu:a100:2``."""
    licenses: tuple[str, ...] = ()
    """Such as ``matlab:2``."""
    node_list: tuple[str, ...] = ()
    """Nodes that it must have."""
    exclude: tuple[str, ...] = ()
    """Nodes that it must not have."""
    prefer: str = ""
    """Features that it would rather have."""
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


STAY = ("id", "submit", "user", "gpus", "tres_per_job", "tres_per_task", "dependency", "array", "begin")
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
    """What ``job_submit`` and ``job_modify`` answer to refuse a submission, or a change."""

    reason: str
    """The message to the user, or the operator."""


class RecordsView(View):
    """What of a controller's records is seen by plugins that judge submissions and changes."""

    __slots__ = ("_jobs", "_reservations", "partitions", "slurm_version")

    _jobs: Callable[[], Mapping[int, JobRecord]]
    _reservations: Callable[[], Sequence[ReservationRecord]]
    partitions: Sequence[Partition]
    """The partitions of the cluster, in their order; empty where there are none."""
    slurm_version: str
    """The version of Slurm whose rules hold, such as ``24.11``; empty where processors are only counted."""

    @property
    def jobs(self) -> Mapping[int, JobRecord]:
        """The jobs that are not over, by id; worked out when it is asked for."""
        return self._jobs()

    @property
    def reservations(self) -> Sequence[ReservationRecord]:
        """Reservations that hold or will hold; worked out when they are asked for."""
        return self._reservations()


class SubmitView(RecordsView):
    """What ``job_submit`` sees."""

    __slots__ = ("submission",)

    submission: Submission
    """What is submitted, as the plugins before have left it."""
