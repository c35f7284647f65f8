"""What ``sprio``, ``squeue`` and ``scontrol show reservation`` would print of the emulated cluster."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from emulator.config.slurm.hostlist import compress
from emulator.engine.controller import Controller
from emulator.limits.shares import ShareRow, share_rows, tres_text
from emulator.state.job import Job
from emulator.state.run import State
from emulator.truth.observer import shown_priority
from slurm_sim_plugins.decisions import Priority

HIGHEST = 2.0**32
"""``sprio -n`` shows priorities as shares of it."""
FACTORS = ("Age", "Assoc", "Fairshare", "JobSize", "Partition", "QOS")
WIDTH_OF_TRES = 20
"""Characters of that column, as recorded."""
_SHORT_STATES = {
    State.PENDING: "PD",
    State.RUNNING: "R",
    State.SUSPENDED: "S",
    State.COMPLETING: "CG",
}


def answer(command: str, controller: Controller) -> str | None:
    """What a command prints now; None for one that is not known here."""
    words = shlex.split(command)
    if words[:1] == ["sprio"] and set(words[1:]) <= {"-l", "-n"}:
        return _sprio(controller, "-n" in words)
    if words[:1] == ["sshare"] and set(words[1:]) <= {"-a", "-l", "-P"}:
        return _sshare(controller)
    if words[:1] == ["squeue"]:
        return _squeue(controller, words[1:])
    if [word for word in words if not word.startswith("-")] == ["scontrol", "show", "reservation"]:
        return _reservations(controller)
    return None


def _sprio(controller: Controller, normalised: bool) -> str | None:
    policies = controller.policies
    plugin = policies.priority
    if not hasattr(plugin, "factors"):
        return None
    lines = [f"JOBID PARTITION USER {' '.join(_columns(normalised))}"]
    for job in controller.cluster.pending():
        if job.on_hold or job.fixed_priority or (job.eligible is None and not plugin.accrues_always):
            continue
        for partition, priced in zip(job.partitions, policies.priced(job), strict=True):
            cells = _cells(plugin, job, priced, normalised)
            lines.append(f"{job.id} {partition.name} {job.request.user} {' '.join(cells)}".rstrip())
    return "\n".join(lines)


def _sshare(controller: Controller) -> str | None:
    accounting = controller.cluster.accounting
    if accounting is None:
        return None
    names = ["Account", "User", "RawShares", "NormShares", "RawUsage", "NormUsage", "EffectvUsage", "FairShare"]
    names += ["LevelFS"] if accounting.by_level else []
    lines = ["|".join([*names, "GrpTRESMins", "TRESRunMins"])]
    lines += ["|".join(_share_cells(row, accounting.by_level)) for row in share_rows(accounting)]
    return "\n".join(lines)


def _share_cells(row: ShareRow, by_level: bool) -> list[str]:
    shares = "" if row.is_root else "parent" if row.raw_shares is None else str(row.raw_shares)
    cells = [
        " " * row.depth + row.account,
        row.user,
        shares,
        f"{row.norm_shares:.6f}",
        str(int(row.raw_usage)),
        "" if row.is_root else f"{row.norm_usage:.6f}",
        f"{row.effective_usage:.6f}",
        "" if row.fair_share is None else f"{row.fair_share:.6f}",
    ]
    if by_level:
        cells.append("" if row.level_fs is None else f"{row.level_fs:.6f}")
    limits = ",".join(f"{name}={amount:.0f}" for name, amount in row.limit_minutes.items())
    return [*cells, limits, tres_text(row.run_minutes)]


def _columns(normalised: bool) -> tuple[str, ...]:
    if normalised:
        return "PRIORITY", "AGE", "ASSOC", "FAIRSHARE", "JOBSIZE", "PARTITION", "QOS", "TRES"
    return "PRIORITY", "SITE", "AGE", "ASSOC", "FAIRSHARE", "JOBSIZE", "PARTITION", "QOS", "NICE", "TRES"


def _cells(priority: Any, job: Job, priced: Priority, normalised: bool) -> list[str]:
    factors, shares = priced.factors, priced.resources
    total = max(1, int(priced.total) + job.site - job.nice)
    if normalised:
        return [
            f"{math.floor(total / HIGHEST * 1e8) / 1e8:.8f}",
            *(f"{factors[name] if priority.weights.get(name) else 0.0:.7f}" for name in FACTORS),
            ",".join(f"{name.lower()}={share:.2f}" for name, share in shares.items())[:WIDTH_OF_TRES],
        ]
    weighted = {name: weight * factors.get(name, 0.0) for name, weight in priority.weights.items()}
    tres = {name: priority.tres_weights[name] * share for name, share in shares.items()}
    return [
        str(total),
        *(f"{weighted.get(name, 0.0):.0f}" for name in ("Site", *FACTORS)),
        str(job.nice),
        ",".join(f"{name.lower()}={int(value)}" for name, value in tres.items())[:WIDTH_OF_TRES],
    ]


Field = Callable[[Job, Controller], str]

FIELDS: Mapping[str, tuple[str, Field]] = {
    "%i": ("JOBID", lambda job, _: str(job.id)),
    "%j": ("NAME", lambda job, _: job.name),
    "%P": (
        "PARTITION",
        lambda job, _: _partition(job),
    ),
    "%Q": ("PRIORITY", lambda job, _: str(shown_priority(job))),
    "%t": ("ST", lambda job, _: _SHORT_STATES[job.state]),
    "%r": ("REASON", lambda job, _: job.reason.replace("_", " ")),
    "%C": ("CPUS", lambda job, _: str(_cpus(job))),
    "%u": ("USER", lambda job, _: job.request.user),
    "%a": ("ACCOUNT", lambda job, _: job.options.account),
    "%D": ("NODES", lambda job, controller: str(_nodes(job, controller))),
}
"""Fields of ``squeue --format`` that are known here."""


def _partition(job: Job) -> str:
    return job.run.partition if job.run else ",".join(job.options.partitions) or job.partitions[0].name


def _cpus(job: Job) -> int:
    return job.options.tasks_on(job.wants[job.partitions[0].name].min_nodes) * job.request.cpus_per_task


def _nodes(job: Job, controller: Controller) -> int:
    """The most nodes that it would take, or as many as its CPUs fill."""
    if job.run is not None:
        return len(job.run.allocation.nodes)
    want, cpus = job.wants[job.partitions[0].name], controller.cluster.machine.cpus[job.partitions[0].nodes]
    return max(want.target_nodes, -(-_cpus(job) // int(cpus.max(initial=1))))


def _squeue(controller: Controller, words: list[str]) -> str | None:
    text = next((word for before, word in pairwise(words) if before == "-o"), "")
    # Times by the cluster's clock are not known here; that column is left out.
    names = [name for name in text.split() if name != "%S"]
    if not names or any(name not in FIELDS for name in names):
        return None
    lines = [" ".join(FIELDS[name][0] for name in names)]
    for job in controller.cluster.jobs.values():
        shown = job.state in _SHORT_STATES and ("PD" not in words or job.state is State.PENDING)
        if shown:
            lines.append(" ".join(FIELDS[name][1](job, controller) for name in names))
    return "\n".join(lines)


def _reservations(controller: Controller) -> str:
    cluster, lines = controller.cluster, []
    for reservation in controller.reservations.by_name.values():
        if reservation.end <= cluster.now:
            continue
        names = compress([cluster.machine.names[node] for node in np.flatnonzero(reservation.nodes)])
        state = "ACTIVE" if reservation.active(cluster.now) else "INACTIVE"
        lines.append(f"ReservationName={reservation.name} Nodes={names} State={state}")
    return "\n".join(lines) or "No reservations in the system"
