"""Filters: which records of a trace become jobs, and what is put right on the way.

A filter is a set of rules with a name. The rules differ between studies, and results with
them, so every rule that touched a job says how many and where the first of them is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emulator.workload.workload import LARGEST_SECONDS, Changed, Dropped, Workload
from slurm_sim_plugins.errors import ConfigurationError

Columns = Mapping[str, NDArray[Any]]
Mask = NDArray[np.bool_]
Where = Callable[[int], str]


@dataclass(frozen=True)
class Filter:
    """The rules of one filter.

    Records with a negative (unknown) submit time, a negative (unknown) run time or no
    processors cannot be simulated: every filter drops them.

    Attributes:
        name: what a user calls it.
        about: one sentence for lists and reports.
        drop_zero_run: whether jobs of 0 s are dropped too.
        drop_larger: whether jobs with more processors than the machine has are dropped.
        truncate: whether a run time beyond the request is cut to the request.
        raise_request: whether a request below the run time is raised to it.
        least_missing: a missing request becomes the run time, but at least this many seconds.
        least_request: a request below this many seconds becomes this.
    """

    name: str
    about: str
    drop_zero_run: bool
    drop_larger: bool
    truncate: bool
    raise_request: bool
    least_missing: float
    least_request: float


@dataclass(frozen=True)
class Cleaned:
    """What a filter made of some columns.

    Attributes:
        columns: those of the jobs that stay, in the order in which they came; without ``wait``.
        logged: of the jobs that stay, what happened in the log, see
            :attr:`emulator.workload.workload.Workload.logged`.
        kept: for every record that came, whether it stays.
        dropped: the rules that dropped records, in the order in which they were applied.
        changed: the rules that changed jobs that stay.
    """

    columns: dict[str, NDArray[Any]]
    logged: dict[str, NDArray[np.float64]]
    kept: Mask
    dropped: tuple[Dropped, ...]
    changed: tuple[Changed, ...]


STANDARD = Filter(
    name="standard",
    about="jobs that ran, took processors and fit the machine; run times end at the request",
    drop_zero_run=True,
    drop_larger=True,
    truncate=True,
    raise_request=False,
    least_missing=0.0,
    least_request=0.0,
)
"""The usual cleaning for comparing schedulers, and the default."""

PAPERS = Filter(
    name="papers",
    about="as in the papers on estimates: jobs of 0 s stay, run times may exceed the request, requests are 1 s or more",
    drop_zero_run=False,
    drop_larger=True,
    truncate=False,
    raise_request=False,
    least_missing=1.0,
    least_request=1.0,
)
"""The cleaning that gives the job counts of the papers on EASY with better estimates."""

RAISED = replace(
    PAPERS,
    name="raised",
    about="as papers, but a request below the run time is raised to it: no job runs longer than it asked for",
    raise_request=True,
)
"""For codes in which no run may outlive its estimate, though none is killed."""

NONE = Filter(
    name="none",
    about="everything that can be simulated, as the trace has it",
    drop_zero_run=False,
    drop_larger=False,
    truncate=False,
    raise_request=False,
    least_missing=1.0,
    least_request=0.0,
)
"""No cleaning: a job larger than the machine stays, and the emulator rejects it with a reason."""

FILTERS: dict[str, Filter] = {rules.name: rules for rules in (STANDARD, PAPERS, RAISED, NONE)}
"""All filters by name."""


def find_filter(name: str) -> Filter:
    """The filter of that name.

    Raises:
        ConfigurationError: there is none; the message lists those that exist.
    """
    if name not in FILTERS:
        raise ConfigurationError(f"no filter is called {name!r}; choose one of {', '.join(FILTERS)}")
    return FILTERS[name]


def clean(columns: Columns, rules: Filter, *, machine: int | None = None, where: Where | None = None) -> Cleaned:
    """Apply a filter.

    Args:
        columns: ``id``, ``submit``, ``processors``, ``run`` and ``time_limit`` (times in
            seconds), and any facts, all of one length. Negative or NaN is unknown; a
            ``time_limit`` of 0 is unknown as well. ``wait``, where it is known, is the time
            from submission to start in the log.
        rules: the filter.
        machine: processors of the machine; None where unknown: then no job is too large.
        where: says where the record of an index is, such as ``file:line``; by default
            its job id.

    Returns:
        The jobs that stay and what happened to the others.
    """
    describe: Where = where if where is not None else lambda index: f"job {columns['id'][index]}"
    kept = np.ones(len(columns["id"]), dtype=np.bool_)
    dropped = []
    for reason, bad in _reasons_to_drop(columns, rules, machine):
        hit = kept & bad
        if hit.any():
            dropped.append(Dropped(reason, *_count_and_first(hit, describe)))
            kept &= ~bad
    run, limit, changes = _put_right(columns, rules)
    changed = [
        Changed(reason, *_count_and_first(hit & kept, describe)) for reason, hit in changes if (hit & kept).any()
    ]
    chosen = slice(None) if kept.all() else kept
    cleaned = {name: values[chosen] for name, values in {**columns, "run": run, "time_limit": limit}.items()}
    cleaned.pop("wait", None)
    return Cleaned(cleaned, _logged(columns, cleaned, chosen), kept, tuple(dropped), tuple(changed))


def start_at(workload: Workload, second: float) -> Workload:
    """Shift all submissions so that the first job is submitted at the given second.

    The epoch shifts the other way (to the nearest second), so that a job keeps its date.

    Args:
        workload: what to shift; one without a job stays as it is.
        second: on the workload's clock, 0 or later.

    Raises:
        ConfigurationError: a second before 0, or so late that the last job has no usable time.
    """
    if not len(workload):
        return workload
    shift = second - float(workload.submit[0])
    submit = workload.submit - workload.submit[0] + second
    if not (second >= 0 and submit[-1] <= LARGEST_SECONDS):
        raise ConfigurationError(f"the first job cannot be submitted at {second:g} s; give a second from 0 on")
    epoch = None if workload.epoch is None else workload.epoch - round(shift)
    return replace(workload, submit=submit, epoch=epoch)


def _reasons_to_drop(columns: Columns, rules: Filter, machine: int | None) -> Iterator[tuple[str, Mask]]:
    # The comparisons are written so that NaN, too, counts as unknown.
    run = columns["run"]
    yield "submit time unknown or negative", ~(columns["submit"] >= 0)
    if rules.drop_zero_run:
        yield "run time unknown or 0 s", ~(run > 0)
    else:
        yield "run time unknown", ~(run >= 0)
    yield "number of processors unknown or 0", columns["processors"] <= 0
    if rules.drop_larger and machine is not None:
        yield f"more processors than the machine's {machine}", columns["processors"] > machine


def _put_right(columns: Columns, rules: Filter) -> tuple[NDArray[Any], NDArray[Any], list[tuple[str, Mask]]]:
    """New run times and requests, and which records each rule changed."""
    run, limit = columns["run"], columns["time_limit"]
    missing = ~(limit > 0)
    limit = np.where(missing, np.maximum(run, rules.least_missing), limit)
    short = limit < rules.least_request
    limit = np.where(short, rules.least_request, limit)
    low = (run > limit) & rules.raise_request
    limit = np.where(low, run, limit)
    beyond = (run > limit) & rules.truncate
    run = np.where(beyond, limit, run)
    return (
        run,
        limit,
        [
            (_missing_request(rules), missing),
            (f"request below {rules.least_request:g} s: raised to it", short),
            ("run time beyond the request: request raised to it", low),
            ("run time beyond the request: cut to the request", beyond),
        ],
    )


def _logged(columns: Columns, cleaned: Columns, kept: Mask | slice) -> dict[str, NDArray[np.float64]]:
    """What the log says of the jobs that stay, where a filter changed it or a simulation has no use for it."""
    logged = {}
    for name, least in (("wait", 0.0), ("run", 0.0), ("time_limit", np.nextafter(0.0, 1.0))):
        if name in columns and (name not in cleaned or (columns[name][kept] != cleaned[name]).any()):
            values = columns[name][kept].astype(np.float64)
            logged[name] = np.where(values >= least, values, np.nan)
    return logged


def _missing_request(rules: Filter) -> str:
    least = f", at least {rules.least_missing:g} s" if rules.least_missing > 0 else ""
    return f"no requested time: the run time taken for it{least}"


def _count_and_first(hit: Mask, describe: Where) -> tuple[int, str]:
    return int(np.count_nonzero(hit)), describe(int(np.argmax(hit)))
