"""A list of runs to their results, side by side in processes.

A trace is parsed once a worker, not once a run. Results come in the order of the runs and
do not depend on how many processes there are. What a run gives can be kept in a folder:
then it is not made again as long as trace, options and code are the same, and whoever was
interrupted goes on where he stopped.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from multiprocessing.connection import wait
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
        keep: folder in which results are kept and looked for.
        report: is told of each outcome as it comes.

    Raises:
        InputError: a trace is not there.
        OutputError: ``keep`` cannot be written.
    """
    damaged: dict[int, str] = {}
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
        outcome, note = _kept(spec, file)
        if note:
            damaged[place] = note
        if outcome is None:
            missing.append((place, spec, file))
        else:
            found[place] = outcome
            if report is not None:
                report(outcome)
    for place, outcome in _made(missing, processes):
        found[place] = replace(outcome, note=damaged.get(place, ""))
        if report is not None:
            report(found[place])
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
    left = {place: (spec, file) for place, spec, file in missing}
    for place, outcome in _side_by_side(left, processes):
        del left[place]
        yield place, outcome
    # A worker died, and took with it what the others were at. One by one it shows which run it was.
    for place, (spec, file) in left.items():
        died = Outcome(spec.name, {}, "its process was ended from outside; is there enough memory?")
        yield place, next((outcome for _, outcome in _side_by_side({place: (spec, file)}, 1)), died)


def _side_by_side(missing: Mapping[int, tuple[RunSpec, Path | None]], processes: int) -> Iterator[tuple[int, Outcome]]:
    """Make runs in processes of their own, until all are made or a process dies."""
    with _workers(processes) as pool:
        pending: dict[Future[Outcome], int] = {pool.submit(_make, *given): place for place, given in missing.items()}
        try:
            for done in as_completed(pending):
                yield pending[done], done.result()
        except BrokenProcessPool:
            return


@contextmanager
def _workers(processes: int) -> Iterator[ProcessPoolExecutor]:
    """Workers that are ended, with what they are at, when somebody interrupts."""
    others = set(multiprocessing.active_children())
    # A new interpreter each: to copy one that has threads is not safe.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(processes, mp_context=context, initializer=_follow_the_parent)
    try:
        yield pool
    except BaseException:
        for worker in set(multiprocessing.active_children()) - others:
            worker.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _follow_the_parent() -> None:
    """Leave interrupts from the keyboard to the parent, and end when it is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None, "this is for workers"

    def watch() -> None:
        wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _make(spec: RunSpec, file: Path | None) -> Outcome:
    """Make one run, in whatever process this is."""
    from emulator.api import simulate

    try:
        workload = _workload(spec.trace, spec.config.processors, tuple(sorted(spec.reading.items())))
        numbers = {key: float(value) for key, value in spec.measure(simulate(workload, spec.config).records).items()}
    except SlurmSimError as error:
        return Outcome(spec.name, {}, str(error))
    except Exception as error:  # A defect in one run is not the others' affair.
        return Outcome(spec.name, {}, f"{type(error).__name__}: {error}")
    if file is not None:
        text = json.dumps({"name": spec.name, "numbers": numbers, "sha256": _digest(numbers)}, sort_keys=True)
        write_atomically(file, lambda stream: stream.write(text.encode()))
    return Outcome(spec.name, numbers)


def _kept(spec: RunSpec, file: Path | None) -> tuple[Outcome | None, str]:
    """The outcome of an earlier run, if there is one, and what is wrong with its file."""
    if file is None or not file.exists():
        return None, ""
    try:
        entry = json.loads(file.read_text(encoding="utf-8"))
        numbers = {str(key): float(value) for key, value in entry["numbers"].items()}
        if entry["sha256"] != _digest(numbers):
            raise ValueError("it is not what was written")
        return Outcome(spec.name, numbers, kept=True), ""
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        return None, f"{file}: the kept result is damaged ({error}), and was made again"


def _digest(numbers: Numbers) -> str:
    return hashlib.sha256(json.dumps(numbers, sort_keys=True).encode()).hexdigest()


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
    root = Path(__file__).parents[2]
    for package in PACKAGES:
        for file in sorted((root / package).rglob("*.py")):
            digest.update(f"{file.relative_to(root).as_posix()}\n".encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()
