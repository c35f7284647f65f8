"""What a log says for the evaluation: who asked for how much, ran how long, and ended when."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emulator.walltime.schemes import KEYS
from emulator.workload.workload import Floats, Ints, Workload
from slurm_sim_plugins.errors import ConfigurationError, InputError

PROJECT_COLUMNS = ("project", "group")
"""Where to look for a job's project unless a column is named."""
UNKNOWN = -1


@dataclass(frozen=True)
class Log:
    """Jobs in the order of submission.

    Attributes:
        name: of the log.
        submit: seconds.
        requested: seconds, more than 0.
        ran: seconds, at most what was requested.
        end: seconds, as logged; NaN where it is unknown: nothing is learnt from such a job.
        groups: by key, the number of each job's group, from 0; -1 where a part of it is unknown.
        project: the column that says a job's project; None if there is none.
        without: keys that cannot be used, and why.
        notes: what else a reader of the results has to know.
    """

    name: str
    submit: Floats
    requested: Floats
    ran: Floats
    end: Floats
    groups: Mapping[str, Ints]
    project: str | None
    without: Mapping[str, str]
    notes: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.submit)

    @property
    def used(self) -> Floats:
        """What share of its request each job used: R of the paper."""
        return self.ran / self.requested

    @property
    def span(self) -> float:
        """Seconds from the first submission to the last submission."""
        return float(self.submit[-1] - self.submit[0])


def read_log(workload: Workload, project: str | None = None) -> Log:
    """Take from a workload what the evaluation needs.

    Jobs without a request are left out. A run time beyond the request counts as the request.

    Args:
        workload: a log that says when jobs started.
        project: the column that says a job's project; by default ``project``, else ``group``.

    Raises:
        InputError: no job has a known request, end and user or project.
        ConfigurationError: there is no such column.
    """
    logged = workload.logged
    wait = logged.get("wait", np.full(len(workload), np.nan))
    end = workload.submit + wait + logged.get("run", workload.run)
    requested = logged.get("time_limit", workload.time_limit)
    known = ~np.isnan(requested)
    if not (known & ~np.isnan(end)).any():
        raise InputError(
            f"{workload.name}: the log does not say when jobs started or how much they requested: "
            "there is no history to learn from"
        )
    kept = workload.where(known)
    column = _project_column(kept, project)
    groups, without = _groups(kept, requested[known], column)
    if not groups:
        raise InputError(f"{workload.name}: the log knows neither users nor projects: no two jobs are similar")
    limit = requested[known]
    ran = np.minimum(logged.get("run", workload.run)[known], limit)
    notes = tuple(_notes(known, end, column))
    return Log(workload.name, kept.submit, limit, ran, end[known], groups, column, without, notes)


def _project_column(workload: Workload, project: str | None) -> str | None:
    if project is not None and project not in workload.facts:
        known = ", ".join(workload.facts) or "none"
        raise ConfigurationError(f"{workload.name} has no column {project!r} for the project; its columns: {known}")
    candidates = PROJECT_COLUMNS if project is None else (project,)
    return next((name for name in candidates if name in workload.facts), None)


def _groups(workload: Workload, requested: Floats, column: str | None) -> tuple[dict[str, Ints], dict[str, str]]:
    """The groups by key, and the keys that cannot be used."""
    users, projects = _numbers(workload.facts.get("user")), _numbers(workload.facts.get(column or ""))
    both = _pairs(users, projects)
    numbers = {"triple": _pairs(both, _numbers(requested)), "double": both, "user": users, "project": projects}
    groups = {key: found for key in KEYS if (found := numbers[key]) is not None}
    missing = [what for what, found in (("users", users), ("projects", projects)) if found is None]
    without = {key: f"the log has no {' and no '.join(missing)}" for key in KEYS if key not in groups}
    return groups, without


def _numbers(column: NDArray[Any] | None) -> Ints | None:
    """Numbers from 0 for the distinct values of a column; None if nothing of it is known."""
    if column is None:
        return None
    if column.dtype.kind in "iu":
        known = column != -1
    else:
        known = np.array([value is not None and value == value for value in column.tolist()], dtype=np.bool_)
    if not known.any():
        return None
    numbers = np.full(len(column), UNKNOWN, dtype=np.int64)
    values = column[known]
    numbers[known] = np.unique(values.astype(str) if values.dtype.kind == "O" else values, return_inverse=True)[1]
    return numbers


def _pairs(first: Ints | None, second: Ints | None) -> Ints | None:
    """Numbers for the distinct pairs."""
    if first is None or second is None:
        return None
    pairs = np.where((first < 0) | (second < 0), UNKNOWN, first * (int(second.max()) + 1) + second)
    return _numbers(pairs)


def _notes(known: NDArray[np.bool_], end: Floats, column: str | None) -> list[str]:
    notes = [f"the log's column {column!r} stands for the project"] if column not in (None, "project") else []
    without = int(np.count_nonzero(~known))
    if without:
        notes.append(f"{without:,} jobs left out: no requested time")
    endless = int(np.count_nonzero(np.isnan(end[known])))
    if endless:
        notes.append(f"{endless:,} jobs from which nothing is learnt: the log does not say when they started")
    return notes
