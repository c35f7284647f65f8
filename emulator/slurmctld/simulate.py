"""A workload through a cluster in Slurm's timing: from submissions to the records of a run."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

from emulator.accounting.cluster import write_cluster
from emulator.accounting.records import JOB_COLUMNS, RUN_COLUMNS, Columns, Records
from emulator.accounting.runfolder import write_notes, write_run
from emulator.api import Result, collector_at_rest, source_hash
from emulator.config.preemption import Preemption
from emulator.config.sacctmgr.database import Accounts
from emulator.config.slurm.hostlist import compress
from emulator.config.slurm.model import SlurmConf
from emulator.files import make_folder
from emulator.slurmctld.controller import Controller
from emulator.slurmctld.job import Job, Run, State
from emulator.slurmctld.journal import Journal
from emulator.slurmctld.notes import Notes
from emulator.slurmctld.parameters import Timing
from emulator.slurmctld.priority import calculation_period
from emulator.slurmctld.request import JobRequest
from emulator.version import version
from emulator.workload.sbatch import BatchOptions
from emulator.workload.sbatch_line import submit_line
from emulator.workload.workload import Workload
from slurm_sim_plugins.errors import ConfigurationError
from slurm_sim_plugins.manager import Catalogue, PluginInfo, Selection, discover, select

Row = dict[str, int | float | str]
SLOTS = ("SchedulerType", "PriorityType", "PreemptType", "SelectType")
"""What a ``slurm.conf`` selects."""
PLUGGED = ("PriorityType", "PreemptType", "WalltimeType")
"""What plugins can take in Slurm's timing."""
CUT_SHORT = (State.TIMEOUT, State.CANCELLED, State.NODE_FAIL, State.DEADLINE, State.PREEMPTED)
"""States of jobs that did not end by themselves."""
RECORDED = {
    State.SUSPENDED: "RUNNING",
    State.COMPLETING: "RUNNING",
}
"""States that a record shows by another word."""
_NUMBERS = ("job_id", "processors", "requeues", "array", "task", "exit_code", "checkpoints")
_FLAGS = ("backfilled", "blocked", "ignores_term")
_ALWAYS = ("partition", "qos", "account", "user", "reason", "nodes")
"""Those of :data:`SLURM_JOB_COLUMNS` that are not only for views."""
_TEXTS = (*_ALWAYS, "state", "name", "submit_line", "outcome", "cpus", "memory", "gres", "suspended")


SLURM_JOB_COLUMNS: dict[str, str] = {
    "partition": "where its last run was, or would have been",
    "qos": "its quality of service",
    "account": "its account",
    "user": "its user",
    "reason": "why it did not run, or ended as it did, in Slurm's words",
    "nodes": "nodes of its last run",
    "name": "its name",
    "array": "the array that it is a task of; -1 for none",
    "task": "its index there; -1 for none",
    "requeued": "when it was requeued last; null if it was not",
    "work": "seconds of work as it was submitted, whatever its limit",
    "exit_code": "with which its work ends",
    "ignores_term": "whether only SIGKILL ends it",
    "dies_in": "seconds from SIGTERM to its end; null for the usual",
    "submit_line": "all that it asked for, as a command",
}
"""What a job record has besides, in Slurm's timing."""
SLURM_RUN_COLUMNS: dict[str, str] = {
    "partition": "where it was",
    "nodes": "a host list",
    "cpus": "CPUs on each of the nodes, such as 8,4",
    "memory": "mebibytes on each of the nodes",
    "gres": "generic resources on each of the nodes, such as gpu:a100=2,2; several with blanks between",
    "limit": "its limit in seconds; null for none",
    "checkpoints": "only with `PreemptMode=CHECKPOINT`: how many it completed",
    "suspended": "when it was suspended, such as 100-160,200-; the last has no end if the run has none",
}
"""What a run record has besides, in Slurm's timing."""


def simulate_slurm(
    requests: Sequence[JobRequest],
    conf: SlurmConf,
    *,
    name: str = "submissions",
    epoch: int | None = None,
    timing: Timing | None = None,
    actions: Sequence[tuple[float, Callable[[Controller], None]]] = (),
    accounts: Accounts | None = None,
    out: str | Path | None = None,
    about: Mapping[str, Any] | None = None,
    slots: Mapping[str, str] | None = None,
    plugin_options: Mapping[str, Mapping[str, Any]] | None = None,
    plugins: Iterable[type] = (),
    catalogue: Catalogue | None = None,
    seed: int = 0,
    compiled: bool | None = None,
    preemption: Preemption | None = None,
) -> Result:
    """Run submissions through the cluster of a ``slurm.conf``.

    Args:
        requests: the submissions.
        conf: the configuration.
        name: what to call the workload.
        epoch: Unix time of second 0, or None.
        timing: what real daemons take their time for.
        actions: operators' commands: (second, function of the controller).
        accounts: associations and qualities of service; None for a cluster without accounts.
        out: folder for records and ``run.toml``.
        about: what else is to stand under ``workload`` in ``run.toml``.
        slots: plugins in the place of those of the file, by ``PriorityType``, ``PreemptType``
            or ``WalltimeType``; the loops stay Slurm's.
        plugin_options: options by plugin name.
        plugins: plugin classes of your own, to be named in ``slots``.
        catalogue: plugins that were found; by default the bundled and the installed ones.
        seed: of the random numbers that plugins draw.
        compiled: whether compiled code chooses nodes, which changes nothing in what comes of
            it; by default if numba is installed.
        preemption: how checkpoints are written with ``PreemptMode=CHECKPOINT``; None for the defaults.

    Raises:
        ConfigurationError: a cluster without nodes; a slot that stays Slurm's, or a plugin or option that there is not;
            options of preemption without ``PreemptMode=CHECKPOINT``.
        PluginError: a plugin failed.
        OutputError: ``out`` cannot be written.
    """
    if not conf.nodes:
        raise ConfigurationError(f"{conf.source}: there is no NodeName line, so there is no machine; add one")
    selection = _select(dict(slots or {}), plugin_options or {}, plugins, catalogue, seed)
    if out is not None:
        make_folder(Path(out))
    controller = Controller(conf, requests, actions, timing, selection, accounts, epoch or 0, compiled, preemption)
    journal = Journal(controller) if out is not None else None
    with collector_at_rest():
        controller.run(observe=journal)
        if journal is not None and accounts is not None:
            # What the last jobs used is charged at the end of the period.
            controller.run(controller.cluster.now + calculation_period(conf), journal)
    records = collect(controller, epoch, whole=out is not None)
    described = describe(controller, conf, name, records, dict(about or {}), selection, slots or {})
    if out is not None and journal is not None:
        write_run(Path(out), records, described)
        write_notes(Path(out), journal.tables())
        write_cluster(Path(out), conf)
    return Result(records, described, selection.plugins if selection is not None else {})


def _select(
    slots: dict[str, str],
    options: Mapping[str, Mapping[str, Any]],
    plugins: Iterable[type],
    catalogue: Catalogue | None,
    seed: int,
) -> Selection | None:
    """The plugins that take the places of Slurm's; None if there are none."""
    for slot in slots:
        if slot not in PLUGGED:
            raise ConfigurationError(
                f"{slot}={slots[slot]}: in Slurm's timing plugins can take {', '.join(PLUGGED)}; the rest is Slurm's"
            )
    if not slots and not options:
        return None
    catalogue = catalogue.copy() if catalogue is not None else discover()
    for factory in plugins:
        catalogue.add(PluginInfo.of(factory))
    selection = select(catalogue, slots, options, seed)
    walltime = selection.plugins[selection.slots["WalltimeType"]]
    if getattr(walltime, "needs_oracle", False):
        raise ConfigurationError(f"{selection.slots['WalltimeType']} needs an oracle; that is for ideal timing")
    return selection


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
    users = workload.facts.get("user")
    options: dict[tuple[int, float, str], BatchOptions] = {}
    user_names: dict[str, str] = {}
    found = []
    for place in range(len(workload)):
        number = -1 if numbers is None else int(numbers[place])
        stated = next((name for name in ((names or {}).get(number, ""), str(number)) if name in known), "")
        # Jobs that ask for the same share what they ask for: a log has hundreds of thousands.
        asked = int(workload.processors[place]), float(workload.time_limit[place]), stated
        if asked not in options:
            partitions = (stated,) if stated else ()
            options[asked] = BatchOptions(tasks=asked[0], time_limit=asked[1], partitions=partitions)
        user = "" if users is None else str(users[place])
        found.append(
            JobRequest(
                int(workload.id[place]),
                float(workload.submit[place]),
                float(workload.run[place]),
                options[asked],
                user_names.setdefault(user, user),
            )
        )
    return found


def collect(controller: Controller, epoch: int | None = None, whole: bool = True) -> Records:
    """The records of a run: one row a job in the order of (submit, id), one row a run.

    Besides the usual columns a job has those of :data:`SLURM_JOB_COLUMNS`, a run those of
    :data:`SLURM_RUN_COLUMNS`.

    Args:
        controller: after its run.
        epoch: Unix time of second 0, or None.
        whole: with what only views need: names, what was asked for, where runs were.
    """
    saves = controller.checkpoints.preemption is not None
    of_jobs = [*JOB_COLUMNS, *(SLURM_JOB_COLUMNS if whole else _ALWAYS)]
    of_runs = [*RUN_COLUMNS, *(SLURM_RUN_COLUMNS if whole else ("checkpoints",))]
    of_runs = [name for name in of_runs if name != "block" and (saves or name != "checkpoints")]
    jobs = _columns(_rows(controller, whole), of_jobs, _NUMBERS)
    runs = _columns(_run_rows(controller, whole), of_runs, (*_NUMBERS, "run"))
    return Records(jobs, runs, int(controller.cluster.machine.cpus.sum()), epoch)


def describe(
    controller: Controller,
    conf: SlurmConf,
    name: str,
    records: Records,
    about: dict[str, Any],
    selection: Selection | None,
    plugged: Mapping[str, str],
) -> dict[str, Any]:
    """All that made the run what it is: the content of ``run.toml``."""
    slots = {slot: conf.parameters.text(slot) for slot in SLOTS} | dict(plugged)
    stated = "\n".join(f"{kind} {setting}" for kind, setting in conf.entries)
    return {
        "run": {
            "label": " + ".join(plugin for plugin in slots.values() if not plugin.endswith("/none")),
            "status": "finished",
            "version": version(),
            "oracle": False,
        },
        "machine": {
            "processors": records.processors,
            "nodes": len(controller.cluster.machine),
            "cluster": conf.parameters.text("ClusterName"),
        }
        | ({"epoch": records.epoch} if records.epoch is not None else {}),
        "simulation": {"timing": "slurm", "kill_at_limit": True},
        **_saved(controller),
        "slots": slots,
        "plugins": {
            name: {"origin": info.origin, "sha256": source_hash(info)}
            for name, info in (selection.infos.items() if selection is not None else ())
            if name in plugged.values()
        },
        "slurm_conf": {"name": Path(conf.source).name, "sha256": hashlib.sha256(stated.encode()).hexdigest()},
        "workload": {"name": name, "jobs": len(records), **about},
        "rejected": dict(Counter(words for _, words in controller.rejected)),
        "refused": {f"{second:.15g}": words for second, words in controller.refused},
    } | _books(controller)


def _saved(controller: Controller) -> dict[str, Any]:
    """How checkpoints were written, if any were."""
    preemption = controller.checkpoints.preemption
    return {} if preemption is None else {"preemption": asdict(preemption)}


def _books(controller: Controller) -> dict[str, Any]:
    """What is to be told of the accounts, if there are any."""
    accounting = controller.cluster.accounting
    if accounting is None:
        return {}
    users = sum(1 for _ in accounting.manager.accounts.users())
    return {
        "accounts": {
            "accounts": len(accounting.manager.accounts.associations) - users,
            "users": users,
            "qos": len(accounting.manager.qualities),
            "enforced": sorted(word.lower() for word in accounting.enforces),
            "used": {name: float(accounting.usage.total[place]) for place, name in enumerate(accounting.tres.names)},
        }
    }


def _rows(controller: Controller, whole: bool) -> Iterator[Row]:
    jobs: list[tuple[float, int, Job | JobRequest, str]]
    jobs = [(job.request.submit, job.id, job, "") for job in controller.cluster.jobs.values()]
    jobs += [(request.submit, request.id, request, words) for request, words in controller.rejected]
    jobs.sort(key=itemgetter(0, 1))
    for _, _, job, words in jobs:
        yield _row(job, controller, whole) if isinstance(job, Job) else _refused(job, words, whole)


def _run_rows(controller: Controller, whole: bool) -> Iterator[Row]:
    jobs = controller.cluster.jobs.values()
    runs = [(run.start, job.id, number, run) for job in jobs for number, run in enumerate(job.runs, 1)]
    runs.sort(key=itemgetter(0, 1, 2))
    for _, job_id, number, run in runs:
        yield _run_row(job_id, number, run, controller, whole)


def _row(job: Job, controller: Controller, whole: bool) -> Row:
    last = job.runs[-1] if job.runs else None
    cpus = _cpus(last.allocation, controller) if last is not None else (job.options.tasks or job.options.min_nodes or 1)
    occupied = sum((run.end if run.end is not None else controller.cluster.now) - run.start for run in job.runs)
    limit = job.limit if job.limit != float("inf") else np.nan
    return {
        "job_id": job.id,
        "submit": job.request.submit,
        "start": last.start if last is not None else np.nan,
        "end": last.end if last is not None and last.end is not None else np.nan,
        "processors": cpus,
        "state": RECORDED.get(job.state, job.state.value),
        "run": _work(job, limit),
        "time_limit": limit,
        "planned": limit,
        "first_start": job.runs[0].start if job.runs else np.nan,
        "requeues": job.restarts,
        "occupied": occupied,
        "backfilled": last is not None and last.backfilled,
        "blocked": job.blocked,
        "reserved": np.nan,
        "first_reserved": np.nan,
        "could_start": np.nan,
        "priority_at_start": float(job.priority),
        "partition": last.partition if last is not None else job.partitions[0].name,
        "qos": job.options.qos,
        "account": job.options.account,
        "user": job.request.user,
        "reason": job.reason,
        "nodes": ",".join(controller.cluster.machine.names[node] for node in last.allocation.nodes) if last else "",
        **_further(job.request, job.submitted if job.restarts else np.nan, whole),
    }


def _work(job: Job, limit: float) -> float:
    """What a job had to do; if it was ended before that, what it did of it in the end."""
    if job.state not in CUT_SHORT or not job.runs:
        return job.request.run
    last = job.runs[-1]
    if last.work is not None:
        return job.worked
    did = limit if job.state is State.TIMEOUT else _worked(last)
    return min(job.request.run, did)


def _refused(request: JobRequest, words: str, whole: bool) -> Row:
    options = request.options
    return {
        "job_id": request.id,
        "submit": request.submit,
        "start": np.nan,
        "end": np.nan,
        "processors": options.tasks or options.min_nodes or 1,
        "state": "REJECTED",
        "run": request.run,
        "time_limit": options.time_limit if options.time_limit is not None else np.nan,
        "planned": np.nan,
        "first_start": np.nan,
        "requeues": 0,
        "occupied": 0.0,
        "backfilled": False,
        "blocked": False,
        "reserved": np.nan,
        "first_reserved": np.nan,
        "could_start": np.nan,
        "priority_at_start": np.nan,
        "partition": ",".join(options.partitions),
        "qos": options.qos,
        "account": options.account,
        "user": request.user,
        "reason": "; ".join(words.splitlines()),
        "nodes": "",
        **_further(request, np.nan, whole),
    }


def _further(request: JobRequest, requeued: float, whole: bool) -> Row:
    if not whole:
        return {}
    return {
        "name": request.name,
        "array": -1 if request.array is None else request.array,
        "task": -1 if request.array is None else request.task,
        "requeued": requeued,
        "work": request.run,
        "exit_code": request.exit_code,
        "ignores_term": request.ignores_term,
        "dies_in": np.nan if request.dies_in is None else request.dies_in,
        "submit_line": submit_line(request.options),
    }


def _run_row(job_id: int, number: int, run: Run, controller: Controller, whole: bool) -> Row:
    return {
        "job_id": job_id,
        "run": number,
        "start": run.start,
        "end": run.end if run.end is not None else np.nan,
        "processors": _cpus(run.allocation, controller),
        "work": _worked(run),
        "backfilled": run.backfilled,
        "outcome": run.outcome.value if run.outcome is not None else "RUNNING",
        **({"checkpoints": run.checkpoints} if controller.checkpoints.preemption is not None else {}),
        **(_place(run, controller) if whole else {}),
    }


def _worked(run: Run) -> float:
    if run.work is not None:
        return run.work
    return np.nan if run.end is None else run.end - run.start - run.suspended(run.end)


def _place(run: Run, controller: Controller) -> Row:
    """Where a run was, and with what."""
    allocation, machine = run.allocation, controller.cluster.machine
    cpus = (machine.threads[list(allocation.nodes)] * allocation.units).tolist()
    kinds = sorted((kind, counts) for kind, counts in allocation.gres.items() if kind[0])
    gres = (f"{':'.join(filter(None, kind))}={_listed(counts)}" for kind, counts in kinds)
    ends = [(begin, run.end if to is None and run.end is not None else to) for begin, to in run.suspensions]
    return {
        "partition": run.partition,
        "nodes": compress([machine.names[node] for node in allocation.nodes]),
        "cpus": _listed(cpus),
        "memory": _listed(allocation.memory),
        "gres": " ".join(gres),
        "limit": run.limit if run.limit != float("inf") else np.nan,
        "suspended": ",".join(f"{begin:.15g}-{'' if to is None else f'{to:.15g}'}" for begin, to in ends),
    }


def _listed(numbers: Iterable[int]) -> str:
    return ",".join(map(str, numbers))


def _cpus(allocation: Any, controller: Controller) -> int:
    threads = controller.cluster.machine.threads
    return int((threads[list(allocation.nodes)] * allocation.units).sum())


def _columns(rows: Iterator[Row], names: Sequence[str], numbers: Sequence[str]) -> Columns:
    """Columns of rows, which are made one after the other: all at once would need gigabytes for a log of years."""
    kinds = {name: "flag" if name in _FLAGS else "text" if name in _TEXTS else "value" for name in names}
    notes = Notes(kinds | {name: "number" for name in numbers if name in kinds})
    for row in rows:
        notes.add(*[row[name] for name in names])
    return notes.columns()
