"""``sprio``: what the priorities of the waiting jobs were worked out from."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from emulator.views.columns import Column, Field, Fields, constant, ordered, table
from emulator.views.recorded import NOT_ELIGIBLE, JobAt, Priority, RecordedCluster
from emulator.views.squeue import Wanted
from slurm_sim_plugins.errors import InputError

LONG = "%.15i %9r %.8u %.10Y %.10S %.10A %.10B %.10F %.10J %.10P %.10Q %.11N %.20T"
LONG_NORMALISED = "%.15i %9r %.8u %10y %10a %10b %10f %10j %10p %10q %20t"
SORT = "i"
HIGHEST = 2.0**32
"""``-n`` shows priorities as shares of it."""
FACTORS = {"A": "Age", "B": "Assoc", "F": "Fairshare", "J": "JobSize", "P": "Partition", "Q": "QOS"}
"""Factors by the letters of their columns."""
TRES_WIDTH = 20


@dataclass(frozen=True)
class Shown:
    """A line: a job in one of its partitions.

    Attributes:
        job: which.
        priority: what its priority was worked out from.
        weights: by name; of resources as ``TRES=name``.
    """

    job: JobAt
    priority: Priority
    weights: Mapping[str, float]

    def factor(self, name: str) -> float:
        """A factor; 0 where it has no weight."""
        return self.priority.factors[name] if self.weights.get(name) else 0.0


def _weighted(name: str) -> Callable[[Shown], str]:
    return lambda row: f"{row.weights.get(name, 0.0) * row.factor(name):.0f}"


def _plain(name: str) -> Callable[[Shown], str]:
    return lambda row: f"{row.factor(name):.7f}"


def _tres(row: Shown) -> str:
    parts = (
        f"{name.lower()}={int(row.weights.get(f'TRES={name}', 0.0) * share)}"
        for name, share in row.priority.tres.items()
    )
    return ",".join(parts)[:TRES_WIDTH]


def _plain_tres(row: Shown) -> str:
    return ",".join(f"{name.lower()}={share:.2f}" for name, share in row.priority.tres.items())[:TRES_WIDTH]


def _share(row: Shown) -> str:
    return f"{math.floor(row.priority.total / HIGHEST * 1e8) / 1e8:.8f}"


FIELDS: Fields[Shown] = Fields(
    "sprio",
    (
        Field("JOBID", lambda row: str(row.job.id), "i", ("JobID",), sort=lambda row: row.job.id),
        Field("PARTITION", lambda row: row.priority.partition, "r", ("Partition",)),
        Field("USER", lambda row: row.job.text("user"), "u", ("User",)),
        Field("PRIORITY", lambda row: str(row.priority.total), "Y", ("Priority",), sort=lambda row: row.priority.total),
        Field("PRIORITY", _share, "y", ("NormPriority",), sort=lambda row: row.priority.total),
        Field("SITE", lambda row: str(row.priority.site), "S", ("Site",)),
        *(Field(name.upper(), _weighted(name), letter, (name,)) for letter, name in FACTORS.items()),
        *(Field(name.upper(), _plain(name), letter.lower(), (f"Norm{name}",)) for letter, name in FACTORS.items()),
        Field("NICE", lambda row: str(row.job.options.nice), "N", ("Nice",)),
        Field("TRES", _tres, "T", ("TRES",)),
        Field("TRES", _plain_tres, "t", ("NormTRES",)),
        Field("CLUSTER", lambda _: "", "c", ("Cluster",)),
    ),
)
"""The columns, by letter."""


def weights(recorded: RecordedCluster) -> dict[str, float]:
    """Weights of the factors, and of resources.

    Raises:
        InputError: the run was not one with priority/multifactor.
    """
    stated = recorded.cluster.parameters
    if stated.get("PriorityType", "").lower() != "priority/multifactor":
        raise InputError("sprio shows the factors of priority/multifactor, which this run did not have")
    found = {name: float(stated.get(f"PriorityWeight{name}") or 0) for name in FACTORS.values()}
    for word in filter(None, stated.get("PriorityWeightTRES", "").split(",")):
        name, _, weight = word.partition("=")
        found[f"TRES={name.upper()}"] = float(weight)
    return found


def default(weights: Mapping[str, float], long: bool, normalised: bool) -> str:
    """The format where none is stated: without ``--long`` only factors with a weight."""
    if long:
        return LONG_NORMALISED if normalised else LONG
    letters = [letter for letter, name in FACTORS.items() if weights.get(name)]
    tres = any(name.startswith("TRES=") for name in weights)
    if normalised:
        return " ".join(
            ["%.15i %9r %10y", *(f"%10{letter.lower()}" for letter in letters), *(["%20t"] if tres else [])]
        )
    return " ".join(
        ["%.15i %9r %.10Y %.10S", *(f"%.10{letter}" for letter in letters), "%.11N", *(["%20T"] if tres else [])]
    )


def shown(recorded: RecordedCluster, time: float, wanted: Wanted) -> list[Shown]:
    """The lines, in the order of ids; those of one job as its partitions are tried.

    Raises:
        InputError: the run was not one with priority/multifactor.
    """
    weight = weights(recorded)
    always = "ACCRUE_ALWAYS" in recorded.cluster.parameters.get("PriorityFlags", "").upper()
    priorities = recorded.priorities_at(time)
    found = []
    for job in recorded.at(time):
        eligible = always or job.reason not in NOT_ELIGIBLE
        if not (job.waits and job.priority and eligible and wanted.takes(job)) or job.options.priority is not None:
            continue
        found += [Shown(job, priority, weight) for priority in priorities.get(job.id, ())]
    return sorted(found, key=lambda row: row.job.id)


def sprio(rows: Sequence[Shown], columns: Sequence[Column[Shown]], sort: str = SORT, header: bool = True) -> str:
    """The table."""
    return table(columns, ordered(FIELDS, rows, sort, {}), header)


def sprio_weights(weights: Mapping[str, float], columns: Sequence[Column[Shown]], header: bool = True) -> str:
    """The table with the weights alone."""
    cells = {"JOBID": "Weights", **{name.upper(): f"{weights.get(name, 0):.0f}" for name in FACTORS.values()}}
    cells["TRES"] = ",".join(f"{name[5:].lower()}={weight:.0f}" for name, weight in weights.items() if "=" in name)
    known = {"i", "T", "t", *FACTORS, *(letter.lower() for letter in FACTORS)}
    shown: list[Column[None]] = [
        Column(
            Field(
                column.field.heading,
                constant(cells.get(column.field.heading, "") if column.field.letter in known else ""),
            ),
            column.width,
            column.right,
            column.suffix,
        )
        for column in columns
    ]
    return table(shown, [None], header)


def as_json(rows: Sequence[Shown]) -> list[dict[str, Any]]:
    """The factors, weighted."""
    return [
        {
            "job_id": row.job.id,
            "partition": row.priority.partition,
            "user_name": row.job.text("user"),
            "priority": row.priority.total,
            "nice": row.job.options.nice,
            "factors": {name: row.factor(name) for name in FACTORS.values()},
            "weighted": {name: row.weights.get(name, 0.0) * row.factor(name) for name in FACTORS.values()},
            "tres": dict(row.priority.tres),
        }
        for row in rows
    ]
