"""When the controller's loop goes round, and backfill's thread wakes up, as the log tells of passes and cycles.

A round takes a second and a little, and so does a second that a thread sleeps; how little depends on the machine, its
load and the version.
"""

from __future__ import annotations

import cmath
import math
import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from statistics import median

PASS = re.compile(r"\[([0-9T:.-]+)\] (?:debug:  )?sched: Running job scheduler")
FULL = re.compile(PASS.pattern + r" for full queue")
_IN_CHARGE = re.compile(r"\[[0-9T:.-]+\] Running as primary controller")
_PRIORITIES = re.compile(r"\[[0-9T:.-]+\] (?:debug:  )?priority/multifactor: init: ")
_AT = re.compile(r"\[([0-9T:.-]+)\] ")
CYCLE = re.compile(r"\[([0-9T:.-]+)\] (?:debug:  )?sched/backfill: _attempt_backfill: [0-9]+ jobs to backfill")
BEGUN = re.compile(r"\[([0-9T:.-]+)\] (?:debug:  )?sched/backfill: _attempt_backfill: beginning")
CLEAR = re.compile(r"\[([0-9T:.-]+)\] .*cleanup_completing: ")
USUAL = 1.0006
"""Seconds that pass while a thread sleeps for one: the median of 211 recordings."""
FEWEST = 4
"""Passes, or cycles, from which rounds are told."""
STEP = 0.0001
"""Seconds between two periods that are tried."""
NEAR = 0.2
"""Seconds by which a round may lie beside those before it."""
A_LITTLE = 0.05
"""Of a second, by which the loop is taken to have begun after or before a full one."""
MOST = 2.5
"""Seconds between the log's last line before the loop begins and its beginning, at most."""
SHORTEST = 10.0
"""Of intervals of the loop, in seconds, those of which the first pass tells when they began."""
RIGHT_BEHIND = 0.01
"""Seconds from the time that the nodes of a job are clear to the pass that comes at once, at most."""
LONGEST_GAP = 12.0
"""Seconds between two passes, at most, that say together where rounds go on."""
SURE = 0.6
"""How well passes must agree with rounds, of 1."""


def told_in(log: Iterable[str], line: re.Pattern[str], zero: float) -> list[float]:
    """Seconds from ``zero`` (of the epoch) at which a log, in UTC, has such a line."""
    found = map(line.match, log)
    return [datetime.fromisoformat(one[1]).replace(tzinfo=UTC).timestamp() - zero for one in found if one]


def rounds_of(passes: Sequence[float], longest: float) -> tuple[float, float] | None:
    """The first round after 0 and the seconds from one to the next, or None if the passes do not say.

    Args:
        passes: seconds at which there were passes.
        longest: the most seconds that a round can take.
    """
    if len(passes) < FEWEST:
        return None
    periods = [1 + STEP * number for number in range(round((longest - 1) / STEP) + 1)]
    period = max(periods, key=lambda one: abs(_mean(passes, one)))
    mean = _mean(passes, period)
    if abs(mean) < SURE:
        return _one_by_one(passes)
    return round(cmath.phase(mean) / math.tau * period % period, 3), round(period, 4)


def usual_rounds(seen: Sequence[float]) -> tuple[float, float] | None:
    """The same of rounds that are as long as most, where too few were seen to tell; None if none was.

    Args:
        seen: seconds at which they were, ascending.
    """
    first = next((at for at in seen if at > 0), None)
    return None if first is None else (round(first % USUAL, 3), USUAL)


def decay_begun(log: Iterable[str]) -> float | None:
    """When the thread began that lets usage decay and works out priorities, in seconds since 1970; None without one.

    In 22.05 it begins as its plugin is loaded, in later versions before the controller says that it is in charge.

    Args:
        log: the controller's, in UTC.
    """
    last = begun = None
    loaded = False
    for line in log:
        if (at := _AT.match(line)) is None:
            continue
        loads, in_charge = _PRIORITIES.match(line) is not None, _IN_CHARGE.match(line) is not None
        loaded = loaded or loads
        if in_charge or (loads and begun is not None):
            begun = last if in_charge and last is not None else at[1]
        last = at[1]
    return datetime.fromisoformat(begun).replace(tzinfo=UTC).timestamp() if loaded and begun is not None else None


def loop_begun(measured: float, full: Sequence[float], interval: float) -> float:
    """When the controller's loop began: it makes a pass over the whole queue once its clock shows an interval more.

    Args:
        measured: when the log last has a line before that, in seconds since 1970.
        full: when there were passes over the whole queue, ascending, in the same way.
        interval: ``sched_interval``, in seconds.
    """
    if not full or interval < SHORTEST:
        return measured
    whole = [math.floor(at) for at in full]
    # A round at the very beginning of a second may come a second late; what is late stays so only where rounds drift.
    second = min(at - max(round((at - measured) / interval), 1) * interval for at in whole)
    if abs(second - measured) > MOST or math.floor(measured) == second:
        return measured
    return second + (A_LITTLE if measured < second else 1 - A_LITTLE)


def _one_by_one(passes: Sequence[float]) -> tuple[float, float] | None:
    """The same where a busy machine draws out rounds at times: most passes come a round after the one before."""
    steps = [later - earlier for earlier, later in pairwise(passes)]
    each = [step for step in steps if 1 <= step < 1 + NEAR]
    if len(each) < SURE * len(steps):
        return None
    period = median(each)
    return round(next((at for at in passes if at > 0), passes[-1]) % period, 3), round(period, 4)


def _mean(passes: Sequence[float], period: float) -> complex:
    """The mean of the passes on a circle that the loop goes once round."""
    return sum(cmath.rect(1, math.tau * at / period) for at in passes) / len(passes)


def in_turn(passes: Sequence[float], period: float, clear: Sequence[float] = ()) -> list[float]:
    """Those of the passes that rounds of the controller's loop made, as they were; others come at once.

    Where a busy machine holds up the loop for longer than rounds drift, two passes some rounds apart with none in
    between say where it goes on, unless one comes as nodes are clear.

    Args:
        passes: seconds at which there were passes, ascending; the first is one of them, for no job has run then.
        period: seconds from one round to the next, on the whole.
        clear: seconds at which the nodes of jobs were clear, ascending.
    """

    def near(seconds: float) -> bool:
        return min(seconds % period, -seconds % period) < NEAR

    def at_once(at: float) -> bool:
        behind = bisect_right(clear, at)
        return behind > 0 and at - clear[behind - 1] < RIGHT_BEHIND

    found, last, beside = list[float](), passes[0], -math.inf
    for at in passes:
        if near(at - last):
            found.append(round(at, 3))
        elif at_once(at):
            continue
        elif at - beside < LONGEST_GAP and near(at - beside) and at - beside > NEAR:
            found += [round(beside, 3), round(at, 3)]
        else:
            beside = at
            continue
        last, beside = at, -math.inf
    return found
