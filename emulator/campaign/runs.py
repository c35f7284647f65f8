"""A list of runs to their results, side by side in processes.

A trace is parsed once a worker, not once a run. Results come in the order of the runs and
do not depend on how many processes there are. What a run gives can be kept in a folder:
then it is not made again as long as trace, options and code are the same, and whoever was
interrupted goes on where he stopped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from emulator.campaign.hashes import digest, hash_of
from emulator.campaign.processes import Processes
from emulator.campaign.store import DamagedError, Store
from emulator.campaign.work import Made, Numbers
from emulator.config.options import Config

if TYPE_CHECKING:
    from emulator.accounting.records import Records
    from emulator.workload.workload import Workload

Measure = Callable[["Records"], Numbers]
"""From the records of a run to what is kept of it; a function of a module, so that workers find it."""


@dataclass(frozen=True)
class RunSpec:
    """One run to make.

    Attributes:
        name: what to call it; no two of a list are alike.
        trace: the trace.
        config: how to simulate it.
        measure: what to keep of it.
        reading: how to read the trace: options of :func:`emulator.workload.read.read_trace`.
    """

    name: str
    trace: Path
    config: Config
    measure: Measure
    reading: Mapping[str, Any] = field(default_factory=dict)

    def result(self) -> tuple[Numbers, Mapping[str, bytes]]:
        """Make the run, in whatever process this is.

        Raises:
            SlurmSimError: it cannot be made.
        """
        from emulator.api import simulate

        workload = _workload(self.trace, self.config.processors, tuple(sorted(self.reading.items())))
        return self.measure(simulate(workload, self.config).records), {}


@dataclass(frozen=True)
class Outcome:
    """What became of a run.

    Attributes:
        name: of its specification.
        numbers: what was measured; empty if it failed.
        error: why it failed; empty if it did not.
        kept: whether it was made before and read from the folder of results.
        note: what is to be known besides: a kept result was damaged, and was made again.
    """

    name: str
    numbers: Numbers
    error: str = ""
    kept: bool = False
    note: str = ""


def run_all(
    specs: Sequence[RunSpec],
    *,
    processes: int = 1,
    keep: Path | None = None,
    report: Callable[[Outcome], None] | None = None,
) -> list[Outcome]:
    """Make all runs.

    A run that fails does not keep the others from being made. Runs that are alike but for
    their names are made once. An interrupt from the keyboard ends the workers; what was
    finished by then is kept.

    Args:
        specs: the runs.
        processes: how many run side by side; 1 makes them in this process.
        keep: folder in which results are kept and looked for, as
            :class:`emulator.campaign.store.Store` does.
        report: is told of each outcome as it comes.

    Raises:
        InputError: a trace is not there.
        OutputError: ``keep`` cannot be written, or holds something else.
    """
    found: dict[str, Outcome] = {}
    first: dict[str, RunSpec] = {}
    for spec in specs:
        first.setdefault(identity(spec), spec)
    store = Store.make(keep) if keep is not None else None

    def tell(key: str, outcome: Outcome) -> None:
        found[key] = outcome
        if report is not None:
            report(outcome)

    with store.held() if store is not None else nullcontext():
        missing: dict[str, str] = {}
        for key, spec in first.items():
            kept, note = _kept(store, key)
            if kept is None:
                missing[key] = note
            else:
                tell(key, Outcome(spec.name, kept, kept=True))
        with closing(Processes(processes).carry_out([(key, first[key]) for key in missing])) as results:
            for key, made in results:
                if store is not None and not made.error:
                    store.keep(key, made, {"name": first[key].name, "determined_by": _stated(first[key])})
                tell(key, _outcome(first[key], made, missing[key]))
    return [replace(found[identity(spec)], name=spec.name) for spec in specs]


def identity(spec: RunSpec) -> str:
    """SHA-256, in hex, of all that decides what a run gives: trace, options, measure and code.

    Raises:
        InputError: the trace is not there.
    """
    return digest(_stated(spec))


def _stated(spec: RunSpec) -> dict[str, Any]:
    return {
        "trace": hash_of(spec.trace),
        "reading": dict(spec.reading),
        "config": asdict(spec.config),
        "measure": f"{spec.measure.__module__}.{spec.measure.__qualname__}",
    }


def _outcome(spec: RunSpec, made: Made, note: str) -> Outcome:
    return Outcome(spec.name, made.numbers, made.error, note=note)


def _kept(store: Store | None, key: str) -> tuple[Numbers | None, str]:
    """The numbers of an earlier run, if there are any, and what is wrong with them."""
    if store is None:
        return None, ""
    try:
        kept = store.look(key)
    except DamagedError as damage:
        return None, f"{damage}, and was made again"
    return (None if kept is None or kept.error else kept.numbers), ""


@cache
def _workload(trace: Path, processors: int | None, reading: tuple[tuple[str, Any], ...]) -> Workload:
    from emulator.workload.read import read_trace

    return read_trace(trace, machine=processors, **dict(reading))
