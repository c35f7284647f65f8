"""The controller's records of jobs and reservations, as plugins of JobSubmitPlugins see them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from emulator.scheduling.job_mgr import limit_of
from emulator.scheduling.submission_of import submission_of
from emulator.state.cluster import Cluster
from emulator.state.job import Job
from emulator.state.reservations import Reservations
from emulator.state.run import State
from slurm_sim_plugins.records import JobRecord, ReservationRecord


class Records:
    """Those of a cluster with nodes. They are made when they are asked for.

    Args:
        cluster: the cluster state.
        reservations: all of them.
    """

    def __init__(self, cluster: Cluster, reservations: Reservations) -> None:
        self._cluster = cluster
        self._reservations = reservations

    def jobs(self) -> Mapping[int, JobRecord]:
        """Of the jobs that are not over, by id."""
        cluster = self._cluster
        alive = {**cluster.waiting, **cluster.running, **cluster.suspended, **cluster.completing}
        return _Jobs(self, sharing(alive[number] for number in sorted(alive)))

    def of(self, shared: Sequence[Job]) -> JobRecord:
        """Of a job, or of tasks that share one."""
        job, machine = shared[0], self._cluster.machine
        run = job.run if job.run is not None else job.runs[-1] if job.over and job.runs else None
        several = len(shared) > 1
        asked = submission_of(job.request)._replace(
            id=_id(shared),
            time_limit=self._limit(job),
            nice=job.nice,
            partitions=job.options.partitions or tuple(partition.name for partition in job.partitions),
            account=job.options.account if job.account is None else job.account.account,
            qos=job.options.qos if job.account is None or job.account.quality is None else job.account.quality.name,
        )
        return JobRecord(
            asked,
            state=job.state.value,
            priority=job.priority,
            fixed_priority=job.fixed_priority or job.on_hold,
            site_factor=job.site,
            eligible=job.eligible,
            start=job.planned_start if run is None else run.start,
            end=None if run is None else run.expires if run.end is None else run.end,
            nodes=() if run is None else tuple(machine.names[node] for node in run.allocation.nodes),
            cpus=0 if run is None else machine.cpus_of(run.allocation),
            restarts=job.restarts,
            array=job.request.array,
            task=None if several or job.request.array is None else job.request.task,
            tasks=len(shared) if several else 0,
            het_job_id=job.request.het_job_id,
            het_job_offset=job.request.het_job_offset,
            het_job_id_set=tuple(self._cluster.het_job_ids(job)),
        )

    def _limit(self, job: Job) -> float | None:
        """Its limit, if it or an operator stated one, or it has run: the partition's is taken at the start."""
        stated = job.options.time_limit is not None or job.runs or job.limit != limit_of(job.request, job.named_first)
        return job.limit if stated else None

    def reservations(self) -> list[ReservationRecord]:
        """Those that hold now or will hold."""
        names = self._cluster.machine.names
        return [
            ReservationRecord(
                one.name,
                one.start,
                one.end,
                tuple(names[node] for node in one.nodes.nonzero()[0]),
                one.users,
                one.accounts,
                one.flags,
            )
            for one in self._reservations.standing(self._cluster.now)
        ]


class _Jobs(Mapping[int, JobRecord]):
    """Records by id, each made when it is asked for."""

    def __init__(self, records: Records, shared: Iterable[Sequence[Job]]) -> None:
        self._records = records
        self._shared = {_id(jobs): jobs for jobs in shared}

    def __getitem__(self, number: int) -> JobRecord:
        return self._records.of(self._shared[number])

    def __iter__(self) -> Iterator[int]:
        return iter(self._shared)

    def __len__(self) -> int:
        return len(self._shared)


def _id(shared: Sequence[Job]) -> int:
    """The id of a record: where tasks share it, that of the array."""
    array = shared[0].request.array
    return shared[0].id if len(shared) == 1 or array is None else array


def sharing(jobs: Iterable[Job]) -> Iterator[list[Job]]:
    """Jobs by record: the tasks of an array that have not run have one together, as in Slurm."""
    together: dict[int, list[Job]] = {}
    for job in jobs:
        array = job.request.array
        if array is None or job.runs or job.state is not State.PENDING:
            yield [job]
        else:
            together.setdefault(array, []).append(job)
    yield from together.values()
