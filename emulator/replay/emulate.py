"""Runs the submissions of a log through the cluster of a ``slurm.conf``.

What became of the jobs on the real cluster is not used, but for one thing that was done to
them: a job that was cancelled while it waited is cancelled at the same second here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from emulator.api import simulate
from emulator.operator.jobs import cancel
from emulator.result import Result
from emulator.workload.request import JobRequest
from emulator.workload.sitelog import LoggedJob, SiteLog
from emulator.workload.submissions import Submissions
from slurm_sim_plugins.errors import ConfigurationError

if TYPE_CHECKING:
    from emulator.config.slurm.model import SlurmConf
    from emulator.engine.controller import Controller

Action = tuple[float, Callable[["Controller"], None]]
ELSEWHERE = ("reject", "default")


@dataclass(frozen=True)
class Options:
    """How a log is run again.

    Attributes:
        cancelled: ``cancel``: one that was cancelled while waiting is so at the same second; ``drop``: is left out.
        elsewhere: what is done with a job in a partition that the cluster has not: ``reject``, as Slurm
            does, or send it to the ``default`` partition.
    """

    cancelled: str = "cancel"
    elsewhere: str = "reject"

    def __post_init__(self) -> None:
        for name, value, known in (
            ("cancelled", self.cancelled, ("cancel", "drop")),
            ("elsewhere", self.elsewhere, ELSEWHERE),
        ):
            if value not in known:
                raise ConfigurationError(f"{name} is {value!r}; choose {' or '.join(known)}")


def emulate(
    log: SiteLog,
    conf: SlurmConf,
    options: Options | None = None,
    out: Path | None = None,
    actions: Sequence[Action] = (),
    **further: Any,
) -> Result:
    """Run a log again.

    Args:
        log: what to run.
        conf: the configuration.
        options: how; by default as :class:`Options` says.
        out: folder for the run, to be looked at with views.
        actions: what is done beside, (second, function of the controller).
        further: arguments of :func:`emulator.simulate`.

    Raises:
        ConfigurationError: the configuration cannot be emulated.
        OutputError: ``out`` cannot be written.
    """
    options = options or Options()
    about = {"source_sha256": log.source_hash, "read": log.read}
    submissions = Submissions(requests(log, conf, options), log.name, log.epoch, about)
    cancelled = cancellations(log.jobs) if options.cancelled == "cancel" else []
    return simulate(submissions, conf, actions=[*cancelled, *actions], out=out, **further)


def requests(log: SiteLog, conf: SlurmConf, options: Options) -> list[JobRequest]:
    """The submissions that are run."""
    taken = [job.request for job in log.jobs if options.cancelled == "cancel" or job.cancel_at is None]
    return taken if options.elsewhere == "reject" else [_at_home(request, conf) for request in taken]


def _at_home(request: JobRequest, conf: SlurmConf) -> JobRequest:
    known = tuple(name for name in request.options.partitions if name in conf.partition)
    return replace(request, options=replace(request.options, partitions=known))


def cancellations(jobs: Sequence[LoggedJob]) -> list[Action]:
    """Cancellations of jobs that were taken back while they waited, as timed commands."""
    return [(job.cancel_at, partial(_cancel, job.request.id)) for job in jobs if job.cancel_at is not None]


def _cancel(number: int, controller: Controller) -> None:
    job = controller.cluster.jobs.get(number)
    if job is not None:
        cancel(job, controller)
