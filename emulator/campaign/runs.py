"""A list of runs to their results, side by side in processes or on a cluster.

A trace is parsed once a worker, not once a run. Results come in the order of the runs and
do not depend on where or how many at a time they are made. What a run gives can be kept in
a folder: then it is not made again as long as trace, options, plugins and code are the
same, and an interrupted one goes on where it stopped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from emulator.campaign.hashes import canonical, code, sha256
from emulator.campaign.processes import Processes, Results, Task
from emulator.campaign.spec import Promised, RunSpec, forget, stated
from emulator.campaign.store import DamagedError, Store
from emulator.campaign.work import Made, Numbers
from slurm_sim_plugins.errors import InputError


class Workers(Protocol):
    """What does the work: :class:`~emulator.campaign.processes.Processes`, or a cluster of Dask."""

    def carry_out(self, tasks: Sequence[Task]) -> Results:
        """Do all tasks; what was made comes as it is done, whatever became of it."""


@dataclass(frozen=True)
class Outcome:
    """What became of a run.

    Attributes:
        name: of its specification.
        numbers: what was measured; empty if it failed.
        error: why it failed; empty if it did not.
        kept: whether it was made before and read from the folder of results.
        note: what is to be known besides: a kept result was damaged, and was made again.
        coordinates: where the run stands in its campaign.
        cpu_seconds: processor time that it took now.
    """

    name: str
    numbers: Numbers
    error: str = ""
    kept: bool = False
    note: str = ""
    coordinates: Mapping[str, Any] = field(default_factory=dict)
    cpu_seconds: float = field(default=0.0, compare=False)


def run_all(
    specs: Sequence[RunSpec],
    *,
    processes: int = 1,
    keep: Path | None = None,
    report: Callable[[Outcome], None] | None = None,
    workers: Workers | None = None,
    about: Mapping[str, Any] | None = None,
) -> list[Outcome]:
    """Make all runs.

    A run that fails does not keep the others from being made. Runs that are alike but for
    their names are made once. An interrupt from the keyboard ends the workers; what was
    finished by then is kept. A run that failed before is tried again.

    Args:
        specs: the runs.
        processes: how many run side by side; 1 makes them in this process.
        keep: folder in which results are kept and looked for, as
            :class:`emulator.campaign.store.Store` does.
        report: is called with each outcome as it comes.
        workers: what makes them, if not ``processes``.
        about: what to keep of the campaign beside the list of its runs. Without it the runs
            are added to those that the folder lists already.

    Raises:
        InputError: a trace is not there.
        OutputError: ``keep`` cannot be written, or holds something else.
    """
    forget()
    found: dict[str, Outcome] = {}
    determined = [stated(spec) for spec in specs]
    keys = [sha256(canonical(each)) for each in determined]
    first: dict[str, Promised] = {}
    for key, spec, each in zip(keys, specs, determined, strict=True):
        first.setdefault(key, Promised(spec, each))
    store = Store.make(keep) if keep is not None else None

    def tell(key: str, outcome: Outcome) -> None:
        found[key] = outcome
        if report is not None:
            report(outcome)

    with store.held() if store is not None else nullcontext():
        if store is not None:
            store.keep_plan(_plan(store, keys, specs, about))
        missing: dict[str, str] = {}
        for key, promised in first.items():
            kept, note = _kept(store, key)
            if kept is None:
                missing[key] = note
            else:
                tell(key, Outcome(promised.name, kept, kept=True, coordinates=promised.spec.coordinates))
        workers = workers if workers is not None else Processes(processes)
        with closing(workers.carry_out([(key, first[key]) for key in missing])) as results:
            for key, made in results:
                if store is not None:
                    store.keep(key, made, _manifest(first[key], made))
                tell(key, _outcome(first[key].spec, made, missing[key]))
    return [replace(found[key], name=spec.name) for key, spec in zip(keys, specs, strict=True)]


def _plan(
    store: Store, keys: Sequence[str], specs: Sequence[RunSpec], about: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Which runs the campaign has; a program that makes several lists adds to what it listed before."""
    runs = [
        {"run": key, "name": spec.name, "coordinates": dict(spec.coordinates)}
        for key, spec in zip(keys, specs, strict=True)
    ]
    if about is None:
        listed = {run["run"] for run in runs}
        runs = [run for run in _listed_before(store) if run["run"] not in listed] + runs
    return {"code": code(), **(about or {}), "runs": runs}


def _listed_before(store: Store) -> list[dict[str, Any]]:
    """Runs of an earlier list of the same program; those of other code are no part of it any more."""
    try:
        plan = store.plan()
    except InputError:
        return []
    return list(plan["runs"]) if plan.get("code") == code() and "file" not in plan else []


def _manifest(promised: Promised, made: Made) -> dict[str, Any]:
    spec = promised.spec
    return {
        "name": spec.name,
        "coordinates": dict(spec.coordinates),
        "source": spec.source.name if isinstance(spec.source, Path) else spec.source.model,
        "determined_by": promised.stated,
        "versions": dict(made.versions),
    }


def _outcome(spec: RunSpec, made: Made, note: str) -> Outcome:
    return Outcome(
        spec.name, made.numbers, made.error, note=note, coordinates=spec.coordinates, cpu_seconds=made.cpu_seconds
    )


def _kept(store: Store | None, key: str) -> tuple[Numbers | None, str]:
    """The numbers of an earlier run, if there are any, and what is wrong with them."""
    if store is None:
        return None, ""
    try:
        kept = store.look(key)
    except DamagedError as damage:
        return None, f"{damage}, and was made again"
    return (None if kept is None or kept.error else kept.numbers), ""
