"""How long runs last in each mode of preemption, and what it leaves of them.

Worked out from the options and the run records alone, as all in
:mod:`emulator.testing.invariants`; times in microseconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from emulator.testing.capacity import Uses, check_capacity
from emulator.testing.tables import NOWHEN, Instants, Mask, RunRows, instants, require, seconds

Options = Mapping[str, Any]
"""The table ``preemption`` of a run's description."""
ENDLESS = 2**62
"""An interval that no run is long enough for."""


class _Expected(NamedTuple):
    """What is to be true of each run.

    Attributes:
        whole: how long it lasts if it is not preempted.
        kept: work that survives if it is preempted after its length.
    """

    whole: NDArray[Any]
    kept: NDArray[Any]


def check_progress(
    options: Options, runs: RunRows, useful: Instants, limit: Instants, total: int, never: Mask | None = None
) -> None:
    """Check lengths and work of all runs.

    A run that is not preempted lasts as long as the work that was left, and the overhead of
    its mode; one that is preempted keeps what its mode keeps, and the runs of a job add up
    to its work. No processor works while a checkpoint is being written on it.

    Args:
        options: what preemption does.
        runs: all runs, each of which ended.
        useful: work that each job does before it ends, by job.
        limit: by job.
        total: processors of the machine.
        never: which jobs write no checkpoint at intervals; none.

    Raises:
        AssertionError: naming the job and the time in seconds.
    """
    left = useful[runs.job] - work_before(runs)
    if options["mode"] == "CHECKPOINT" and options["checkpoint"] == "jit":
        _check_just_in_time(options, runs, left, total)
    else:
        _check_expected(
            runs, left, _expected(options, runs, left, limit[runs.job], None if never is None else never[runs.job])
        )
    require(
        (runs.work >= 0) & np.where(runs.last, runs.work == left, runs.work <= left),
        runs.id,
        runs.end,
        lambda run: f"run {runs.number[run]} does {seconds(runs.work[run])} s of {seconds(left[run])} s work",
    )


def work_before(runs: RunRows) -> Instants:
    """Work that the earlier runs of the same job did."""
    require(runs.work != NOWHEN, runs.id, runs.end, lambda run: f"run {runs.number[run]} has no work")
    return _before(runs.work, runs)


def _before(amounts: NDArray[Any], runs: RunRows) -> NDArray[Any]:
    """What the earlier runs of the same job add up to."""
    earlier = np.cumsum(amounts) - amounts
    begin = np.maximum.accumulate(np.where(runs.first, np.arange(len(runs.id)), 0))
    before: NDArray[Any] = earlier - earlier[begin]
    return before


def _expected(options: Options, runs: RunRows, left: Instants, limit: Instants, never: Mask | None) -> _Expected:
    if options["mode"] == "SUSPEND":
        return _suspended(options, runs, left + work_before(runs))
    if options["mode"] == "CHECKPOINT":
        write, reading = _write(options, runs), _reading(options, runs)
        interval = _interval(options, limit, write)
        if never is not None:
            interval = np.where(never, ENDLESS, interval)
        most = np.maximum(0, -(-left // interval) - 1)
        complete = np.minimum(most, np.maximum(0, runs.length - reading) // (interval + write))
        return _Expected(reading + left + most * write, complete * interval)
    return _Expected(left, np.zeros_like(left))


def _suspended(options: Options, runs: RunRows, useful: Instants) -> _Expected:
    """Work is kept exactly, in fractions of a microsecond; what is recorded of it is rounded, half of one up."""
    slower = 1 + Fraction(str(options["slowdown"]))
    resuming = np.where(runs.first, 0, instants(np.array([options["cost"]], dtype=float)))
    worked = np.maximum(0, runs.length - resuming).astype(object)
    before, work = _before(worked, runs) * slower.denominator, useful.astype(object) * slower.numerator
    after = np.minimum(before + worked * slower.denominator, work)
    kept = _rounded(after, slower.numerator) - _rounded(before, slower.numerator)
    return _Expected(resuming + _rounded(work - before, slower.denominator), kept)


def _rounded(number: NDArray[Any], parts: int) -> NDArray[Any]:
    rounded: NDArray[Any] = (2 * number + parts) // (2 * parts)
    return rounded


def _check_expected(runs: RunRows, left: Instants, expected: _Expected) -> None:
    length, (whole, kept) = runs.length, expected
    require(
        np.where(runs.last, length == whole, length <= whole),
        runs.id,
        runs.start,
        lambda run: (
            f"run {runs.number[run]} lasts {seconds(length[run])} s; alone it would last {seconds(whole[run])} s, "
            f"with {seconds(left[run])} s of work left"
        ),
    )
    require(
        runs.last | (runs.work == kept),
        runs.id,
        runs.end,
        lambda run: (
            f"run {runs.number[run]} lasts {seconds(length[run])} s and keeps {seconds(runs.work[run])} s of work, "
            f"not {seconds(kept[run])} s"
        ),
    )


def _check_just_in_time(options: Options, runs: RunRows, left: Instants, total: int) -> None:
    reading, written = _reading(options, runs), ~runs.last & (runs.work > 0)
    writes = Uses(runs.id, runs.end, runs.end + _write(options, runs), runs.processors)
    at_work = runs.last | written
    wait = runs.length - reading - np.where(runs.last, left, runs.work)
    # Of a run that did nothing it is not known when it began to read.
    wait = np.where(at_work, wait, np.maximum(wait, 0))
    _check_waits(runs, wait, at_work, Uses(*(column[written] for column in writes)))
    again = np.concatenate([runs.start[1:], np.zeros(min(len(runs.id), 1), dtype=np.int64)])
    require(
        ~written | (again >= writes.end),
        runs.id,
        runs.end,
        lambda run: f"it starts again at {seconds(again[run])}, before its checkpoint, at {seconds(writes.end[run])}",
    )
    working = Uses(runs.id, runs.start + wait, runs.end, runs.processors)
    taken = [
        np.concatenate([worked[at_work], wrote[written & (writes.end > writes.start)]])
        for worked, wrote in zip(working, writes, strict=True)
    ]
    check_capacity(Uses(*taken), total)


def _check_waits(runs: RunRows, wait: Instants, at_work: Mask, writes: Uses) -> None:
    """A run waits on its processors until a checkpoint is written that was being written when it started."""
    until = runs.start + wait

    def is_written(run: int) -> bool:
        ends = writes.end[writes.start <= runs.start[run]]
        return bool((ends == until[run] if at_work[run] else ends >= until[run]).any())

    right = [waits == 0 or (waits > 0 and is_written(run)) for run, waits in enumerate(wait.tolist())]
    require(
        np.array(right, dtype=bool),
        runs.id,
        runs.start,
        lambda run: f"run {runs.number[run]} waits {seconds(wait[run])} s, and no checkpoint is complete then",
    )


def _interval(options: Options, limit: Instants, write: Instants) -> Instants:
    """Progress between two checkpoints."""
    if options["checkpoint"] == "interval":
        return np.broadcast_to(instants(np.array([options["interval"]], dtype=float)), limit.shape)
    share = Fraction(str(options["share"]))
    found = {pair: _even(*pair, share) for pair in set(zip(limit.tolist(), write.tolist(), strict=True))}
    return np.array([found[pair] for pair in zip(limit.tolist(), write.tolist(), strict=True)], dtype=np.int64)


def _even(limit: int, cost: int, share: Fraction) -> int:
    """The interval with which as many checkpoints as fit into a share of the limit part it evenly."""
    count = int(limit * share / max(cost, 1))
    return -(-limit // (count + 1)) if count else ENDLESS


def _reading(options: Options, runs: RunRows) -> Instants:
    """What reading the last checkpoint takes, if there is one."""
    return np.where(work_before(runs) > 0, _cost(options, "restart_cost", runs), 0)


def _write(options: Options, runs: RunRows) -> Instants:
    return _cost(options, "cost", runs)


def _cost(options: Options, name: str, runs: RunRows) -> Instants:
    memory, size = float(options["gb_per_processor"]), runs.processors.astype(float)
    if not memory:
        return instants(np.full(len(size), float(options[name])))
    return instants(size * memory / np.minimum(options["gb_per_second_per_processor"] * size, options["gb_per_second"]))
