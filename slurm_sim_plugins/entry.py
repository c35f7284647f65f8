# cython: boundscheck=True, wraparound=True, nonecheck=True
"""An entry of the queue of a machine with partitions; a :mod:`kernel <slurm_sim_plugins.kernels>`.

Each cycle of backfill goes over thousands of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from slurm_sim_plugins.jobs import Job


class Entry:
    """What the queue of a machine with partitions consists of: a job in one of its partitions.

    A job that names several partitions has an entry for each of them. When one is started the
    others are gone.

    Attributes:
        partition: the name of the partition.
        id: the id of the job.
        user, account: on whose behalf; empty if that is not known.
        array: the id of the array that the job is a task of; None for none.
        het_job_id: the id of the first component of the heterogeneous job that it is a component of; None for none.
        submit: when it was submitted, or requeued last, in seconds.
        drawn_by: the name of the reservation that draws the job (``MAGNETIC``), in which the entry stands for it;
            empty for none. Only the hook ``backfill`` sees such entries.
    """

    __slots__ = ("_kind", "_pair", "account", "array", "drawn_by", "het_job_id", "id", "partition", "submit", "user")

    id: int
    partition: str
    user: str
    account: str
    array: int | None
    het_job_id: int | None
    submit: float
    drawn_by: str
    _pair: tuple[Any, Any]
    _kind: Any

    @property
    def job(self) -> Job:
        """The job."""
        raise NotImplementedError

    @property
    def priority(self) -> float:
        """The number that orders the queue of the partition; higher goes first."""
        raise NotImplementedError

    @property
    def planned(self) -> float:
        """Seconds for which its run is planned."""
        raise NotImplementedError

    @property
    def shortest(self) -> float:
        """Seconds that its run has at least: ``--time-min``, or for as long as it is planned."""
        raise NotImplementedError

    @property
    def het_job_id_set(self) -> Sequence[int]:
        """Ids of all components of its heterogeneous job, itself among them; empty if it is none."""
        return self.job.het_job_id_set

    @property
    def reserves(self) -> bool:
        """Whether resources may be kept for it; not with the flag ``NoReserve`` of its QOS, or too low a priority."""
        raise NotImplementedError

    def __getattr__(self, name: str) -> NoReturn:
        where = f"; its job has, as entry.job.{name}" if hasattr(Job, name) else ""
        raise AttributeError(f"an entry of the queue has no {name!r}{where}")

    def __repr__(self) -> str:
        return f"<Entry of {self.job!r} in partition {self.partition}>"
