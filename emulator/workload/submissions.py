"""Submissions to the cluster of a ``slurm.conf``, from whatever file tells of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import repeat
from pathlib import Path
from typing import Any

from emulator.config.slurm.model import SlurmConf
from emulator.workload.request import JobRequest
from emulator.workload.sbatch import BatchOptions
from emulator.workload.workload import Workload
from slurm_sim_plugins.errors import ConfigurationError


@dataclass(frozen=True)
class Submissions:
    """What is submitted to a cluster.

    Attributes:
        requests: the submissions.
        name: what to call them.
        epoch: Unix time of second 0, or None.
        about: what else is to stand under ``workload`` in ``run.toml``.
        note: what reading left out or changed; empty for nothing.
    """

    requests: Sequence[JobRequest]
    name: str = "submissions"
    epoch: int | None = None
    about: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""


def submissions_of(workload: Workload, conf: SlurmConf) -> Submissions:
    """The submissions of a log, as :func:`requests_of` takes them."""
    from emulator.workload.swf import header_facts

    requests = requests_of(workload, conf, header_facts(workload.header).partitions)
    about = {"source_sha256": workload.source_hash, "read": workload.read}
    return Submissions(requests, workload.name, workload.epoch, about, workload.note)


def read_submissions(trace: Path, conf: SlurmConf, reading: Mapping[str, Any]) -> Submissions:
    """The submissions of a file: submission events, a dump of ``sacct``, or any log.

    Args:
        trace: the file.
        conf: the configuration of the cluster to which they go.
        reading: options of :func:`emulator.workload.read.read_trace`.

    Raises:
        ConfigurationError: an option that cannot be said of such a file, or the cluster has no nodes.
        InputError: it cannot be read.
    """
    if not conf.nodes:
        told = "".join(f"\n{notice}" for notice in conf.notices if "is not read" in notice.text)
        raise ConfigurationError(f"{conf.source}: there is no NodeName line, so no job can run{told}")
    from emulator.workload.events import ENDINGS, read_events
    from emulator.workload.read import read_trace
    from emulator.workload.sites import is_site_log, read_site_log

    name = trace.name.partition(".")[0]
    if trace.name.endswith(ENDINGS):
        refuse_reading(trace, reading, "submission events")
        return Submissions(read_events(trace), name)
    if is_site_log(trace):
        refuse_reading(trace, {name: value for name, value in reading.items() if name != "malformed"}, "a dump")
        log = read_site_log(trace, malformed=reading.get("malformed") or "error")
        about = {"source_sha256": log.source_hash, "read": log.read}
        return Submissions(log.requests, name, log.epoch, about, "\n".join(log.notices()))
    workload = read_trace(trace, machine=sum(node.cpus for node in conf.nodes), **reading)
    return replace(submissions_of(workload, conf), name=name)


def refuse_reading(trace: Path, reading: Mapping[str, Any], what: str) -> None:
    """Refuse to leave out or change jobs where each is run as it stands there.

    Raises:
        ConfigurationError: an option of reading is given.
    """
    stated = [name for name, value in reading.items() if value is not None]
    if stated:
        raise ConfigurationError(f"{trace}: all jobs of {what} are run as they are; leave out {', '.join(stated)}")


def requests_of(workload: Workload, conf: SlurmConf, names: Mapping[int, str] | None = None) -> list[JobRequest]:
    """The submissions of a log that says how many processors each job took.

    A job asks for so many tasks of one CPU. Its partition is the one that the log names: by
    number, for which the header of the log may have a name; the cluster may know it by the
    one or the other. A job whose partition the cluster has not goes to the default partition.

    Args:
        workload: the log.
        conf: the configuration.
        names: names of the log's partitions by number.
    """
    known = set(conf.partition)
    numbers = workload.facts.get("partition", workload.facts.get("queue"))
    users, realtime = workload.facts.get("user"), workload.facts.get("realtime")
    options: dict[tuple[int, float, str], BatchOptions] = {}
    user_names: dict[str, str] = {}
    found = []
    partition_of: dict[int, str] = {}
    columns = workload.id, workload.submit, workload.run, workload.processors, workload.time_limit
    further = (
        repeat(-1) if numbers is None else map(int, numbers.tolist()),
        repeat("") if users is None else map(str, users.tolist()),
        repeat(0) if realtime is None else realtime.tolist(),
    )
    rows = zip(*(column.tolist() for column in columns), *further, strict=False)
    for job, submit, run, processors, limit, number, user, urgent in rows:
        if number not in partition_of:
            either = (names or {}).get(number, ""), str(number)
            partition_of[number] = next((name for name in either if name in known), "")
        stated = partition_of[number]
        # Jobs that ask for the same share what they ask for: a log has hundreds of thousands.
        asked = int(processors), float(limit), stated
        if asked not in options:
            partitions = (stated,) if stated else ()
            options[asked] = BatchOptions(tasks=asked[0], time_limit=asked[1], partitions=partitions)
        found.append(
            JobRequest(
                int(job),
                float(submit),
                float(run),
                options[asked],
                user_names.setdefault(user, user),
                realtime=urgent == 1,
            )
        )
    return found
