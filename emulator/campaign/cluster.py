"""Work done by a cluster of Dask: one that runs already, or one that Dask starts through Slurm.

Dask (the extra ``dask``) knows how to hand out tasks, and how to do again what a lost
worker was at; nothing of that is done here. Workers need the same version of the emulator,
and see traces and plugin files under the same paths: each checks that before a run.

Anyone who can connect to a Dask scheduler can run code in its workers. Name one that you trust, on a
network that you trust.
"""

from __future__ import annotations

import signal
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from emulator.campaign.processes import AHEAD, ENDED, Results, Task
from emulator.campaign.work import Made, make
from slurm_sim_plugins.errors import ConfigurationError, InputError

if TYPE_CHECKING:
    from distributed import Client, Future

LEAST_AHEAD = 64
"""Tasks that are handed out however few workers there are yet."""
CONNECT_SECONDS = 20
LISTS = ("job_extra_directives", "job_directives_skip", "job_script_prologue", "worker_extra_args")
"""Options of dask-jobqueue that are lists; each ``--slurm-set`` adds to them."""
TEXTS = ("account", "queue", "walltime", "memory", "interface", "log_directory", "local_directory", "python")
DEFAULTS: dict[str, Any] = {"memory": "2GiB"}
"""Dask asks for a worker's memory; a run of a log with some 100,000 jobs takes less than half of this."""


class DaskWorkers:
    """Does tasks on a cluster of Dask.

    Args:
        client: connected with its scheduler.
    """

    def __init__(self, client: Client) -> None:
        self._client = client

    def carry_out(self, tasks: Sequence[Task]) -> Results:
        """Do all tasks; what was made comes as it is done.

        A task whose worker is lost is done by another one; after some such losses it is to
        blame itself (Dask's ``distributed.scheduler.allowed-failures``).

        Raises:
            InputError: the cluster is gone.
        """
        from distributed import as_completed

        todo = deque(tasks)
        pending: dict[Future, str] = {}
        done = as_completed()
        try:
            while todo or pending:
                while todo and len(pending) < max(LEAST_AHEAD, AHEAD * self._threads()):
                    key, work = todo.popleft()
                    future = self._client.submit(make, work, key=f"run-{key}", pure=False)
                    pending[future] = key
                    done.add(future)
                future = next(done)
                yield pending.pop(future), self._made(future)
        finally:
            if pending:
                self._client.cancel(list(pending))

    def _threads(self) -> int:
        """Of all workers together, as far as they are there yet."""
        try:
            return sum(self._client.nthreads().values())
        except (OSError, ValueError) as error:
            raise InputError(_gone(error)) from error

    def _made(self, future: Future) -> Made:
        from concurrent.futures import CancelledError

        from distributed import KilledWorker

        try:
            made = future.result()
        except KilledWorker:
            return Made(error=ENDED)
        except CancelledError as error:
            raise InputError(_gone(error)) from error
        except Exception as failure:  # What a worker could not even begin, as one without the emulator.
            return Made(error=f"{type(failure).__name__}: {failure}")
        assert isinstance(made, Made), "this is what was asked for"
        return made


@contextmanager
def dask_workers(address: str) -> Iterator[DaskWorkers]:
    """The workers of a scheduler that runs already.

    Args:
        address: such as ``tcp://node1:8786``.

    Raises:
        ConfigurationError: Dask is not installed, or nothing answers there.
    """
    try:
        from distributed import Client
    except ImportError as error:
        raise ConfigurationError(
            f"--dask needs the extra dask ({error}): pip install 'slurm-sim-plugins[dask]'"
        ) from error
    try:
        client = Client(address, timeout=CONNECT_SECONDS)
    except (OSError, ValueError, TypeError) as error:
        raise ConfigurationError(f"--dask {address}: no scheduler of Dask answers there ({error})") from error
    with client:
        yield DaskWorkers(client)


@contextmanager
def slurm_workers(jobs: int, settings: Mapping[str, Any]) -> Iterator[DaskWorkers]:
    """Workers that Dask starts as jobs of the user's Slurm, one process each.

    Args:
        jobs: how many.
        settings: options of ``dask_jobqueue.SLURMCluster``.

    Raises:
        ConfigurationError: dask-jobqueue is not installed, or an option is wrong.
    """
    with _slurm_cluster(settings) as cluster:
        from distributed import Client

        cluster.scale(jobs=jobs)
        with Client(cluster) as client:
            yield DaskWorkers(client)


def job_script(settings: Mapping[str, Any]) -> str:
    """The batch script of one worker, as it would be submitted.

    Raises:
        ConfigurationError: as :func:`slurm_workers`.
    """
    with _slurm_cluster(settings) as cluster:
        return str(cluster.job_script())


def slurm_settings(given: Sequence[str]) -> dict[str, Any]:
    """``["queue=long", "walltime=02:00:00"]`` to options of ``dask_jobqueue.SLURMCluster``.

    Raises:
        ConfigurationError: an option that there is not.
    """
    settings: dict[str, Any] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or name not in (*TEXTS, *LISTS):
            raise ConfigurationError(
                f"--slurm-set {text}: write it as OPTION=VALUE; options are {', '.join((*TEXTS, *LISTS))}"
            )
        if name in LISTS:
            settings.setdefault(name, []).append(value)
        else:
            settings[name] = value
    return settings


@contextmanager
def _slurm_cluster(settings: Mapping[str, Any]) -> Iterator[Any]:
    # Its import takes Ctrl-C for itself, and would end a campaign without its message.
    interrupted = signal.getsignal(signal.SIGINT)
    try:
        from dask_jobqueue import SLURMCluster
    except ImportError as error:
        raise ConfigurationError(
            f"--slurm needs the extra dask ({error}): pip install 'slurm-sim-plugins[dask]'"
        ) from error
    finally:
        signal.signal(signal.SIGINT, interrupted)
    try:
        cluster = SLURMCluster(cores=1, processes=1, scheduler_options={"dashboard": False}, **{**DEFAULTS, **settings})
    except (ValueError, TypeError, RuntimeError, OSError) as error:
        raise ConfigurationError(f"--slurm: {error}") from error
    with cluster:
        yield cluster


def _gone(error: BaseException) -> str:
    detail = f" ({error})" if str(error) else ""
    return f"the cluster of Dask is gone{detail}; what was made is kept, resume makes the rest"
