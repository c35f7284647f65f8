"""A list of runs to their results, side by side in processes.

A trace is parsed once a worker, not once a run. Results come in the order of the runs and
do not depend on how many processes there are. What a run gives can be kept in a folder:
then it is not made again as long as trace, options and code are the same, and whoever was
interrupted goes on where he stopped.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from emulator.config.options import Config
from emulator.files import make_folder, write_atomically
from emulator.version import version
from slurm_sim_plugins.errors import InputError, SlurmSimError

if TYPE_CHECKING:
    from emulator.accounting.records import Records
    from emulator.workload.workload import Workload

Numbers = dict[str, float]
Measure = Callable[["Records"], Numbers]
"""From the records of a run to what is kept of it; a function of a module, so that workers find it."""
PACKAGES = ("emulator", "slurm_sim_plugins")


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


@dataclass(frozen=True)
class Outcome:
    """What became of a run.

    Attributes:
        name: of its specification.
        numbers: what was measured; empty if it failed.
        error: why it failed; empty if it did not.
        kept: whether it was made before and read from the folder of results.
    """

    name: str
    numbers: Numbers
    error: str = ""
    kept: bool = False


def run_all(
    specs: Sequence[RunSpec],
    *,
    processes: int = 1,
    keep: Path | None = None,
    report: Callable[[Outcome], None] | None = None,
) -> list[Outcome]:
    """Make all runs.

    A run that fails does not keep the others from being made. Runs that are alike but for
    their names are made once.

    Args:
        specs: the runs.
        processes: how many run side by side; 1 makes them in this process.
        keep: folder in which results are kept and looked for.
        report: is told of each outcome as it comes.

    Raises:
        InputError: a trace is not there.
        OutputError: ``keep`` cannot be written.
    """
    if keep is not None:
        make_folder(keep)
    found: dict[int, Outcome] = {}
    missing: list[tuple[int, RunSpec, Path | None]] = []
    alike: dict[int, int] = {}
    first: dict[str, int] = {}
    for place, spec in enumerate(specs):
        same = first.setdefault(identity(spec), place)
        if same != place:
            alike[place] = same
            continue
        file = keep / f"{identity(spec)}.json" if keep is not None else None
        outcome = _kept(spec, file)
        if outcome is None:
            missing.append((place, spec, file))
        else:
            found[place] = outcome
            if report is not None:
                report(outcome)
    for place, outcome in _made(missing, processes):
        found[place] = outcome
        if report is not None:
            report(outcome)
    for place, same in alike.items():
        found[place] = replace(found[same], name=specs[place].name)
    return [found[place] for place in range(len(specs))]


def identity(spec: RunSpec) -> str:
    """SHA-256, in hex, of all that decides what a run gives: trace, options, measure and code.

    Raises:
        InputError: the trace is not there.
    """
    stated = {
        "trace": _hash_of(spec.trace),
        "reading": dict(spec.reading),
        "config": asdict(spec.config),
        "measure": f"{spec.measure.__module__}.{spec.measure.__qualname__}",
        "version": version(),
        "code": _code(),
    }
    return hashlib.sha256(json.dumps(stated, sort_keys=True, default=str).encode()).hexdigest()


def _made(missing: Sequence[tuple[int, RunSpec, Path | None]], processes: int) -> Iterator[tuple[int, Outcome]]:
    if processes <= 1 or len(missing) <= 1:
        for place, spec, file in missing:
            yield place, _make(spec, file)
        return
    with _workers(processes) as pool:
        pending: dict[Future[Outcome], int] = {pool.submit(_make, spec, file): place for place, spec, file in missing}
        for done in as_completed(pending):
            yield pending[done], done.result()


@contextmanager
def _workers(processes: int) -> Iterator[ProcessPoolExecutor]:
    """Workers that drop what has not begun when somebody interrupts."""
    pool = ProcessPoolExecutor(processes)
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()


def _make(spec: RunSpec, file: Path | None) -> Outcome:
    """Make one run, in whatever process this is."""
    from emulator.api import simulate

    try:
        workload = _workload(spec.trace, spec.config.processors, tuple(sorted(spec.reading.items())))
        numbers = spec.measure(simulate(workload, spec.config).records)
    except SlurmSimError as error:
        return Outcome(spec.name, {}, str(error))
    if file is not None:
        text = json.dumps({"name": spec.name, "numbers": numbers}, sort_keys=True)
        write_atomically(file, lambda stream: stream.write(text.encode()))
    return Outcome(spec.name, numbers)


def _kept(spec: RunSpec, file: Path | None) -> Outcome | None:
    """The outcome of an earlier run; a file that cannot be read counts as none."""
    if file is None:
        return None
    try:
        numbers = json.loads(file.read_text(encoding="utf-8"))["numbers"]
        return Outcome(spec.name, {str(key): float(value) for key, value in numbers.items()}, kept=True)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


@cache
def _workload(trace: Path, processors: int | None, reading: tuple[tuple[str, Any], ...]) -> Workload:
    from emulator.workload.read import read_trace

    return read_trace(trace, machine=processors, **dict(reading))


@cache
def _hash_of(trace: Path) -> str:
    try:
        return hashlib.sha256(trace.read_bytes()).hexdigest()
    except OSError as error:
        raise InputError(f"{trace}: cannot be read: {error.strerror}") from error


@cache
def _code() -> str:
    """SHA-256 of the source of both packages."""
    digest = hashlib.sha256()
    root = Path(__file__).parent.parent
    for package in PACKAGES:
        for file in sorted((root / package).rglob("*.py")):
            digest.update(f"{file.relative_to(root).as_posix()}\n".encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()
