"""The clock of a recording, where nothing says how it stood: the one with which the emulation fits best.

Usage and ages are counted in whole seconds, and worked out once in each ``PriorityCalcPeriod``
from the controller's start on. Neither is recorded, and figures of ``sshare`` and ``sprio``
depend on both. So clocks are tried: first coarsely, then more finely about the best. When the sweep over time
limits falls is tried likewise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol, TypeVar

from emulator.config.slurm.controller import parameters_of
from emulator.engine.ticks import SWEEP
from emulator.scheduling.policies import calculation_period
from emulator.truth.known import Clock
from emulator.workload.scenario import Scenario

REASON = "not recorded: of those that were tried the one that fits best"
COARSE = (0.0, 0.5)
"""Parts of a second that are tried at first."""
FINE = tuple(step / 10 for step in range(10))
MINUTE = 60


class Compared(Protocol):
    """What came of a comparison."""

    @property
    def differences(self) -> Sequence[object]:
        """What counts."""


V = TypeVar("V", bound=Compared)


def clock_matters(scenario: Scenario) -> bool:
    """Whether priorities are worked out again and again in a scenario."""
    return calculation_period(scenario.configuration()) > 0


def best_clock(name: str, first: V, judge: Callable[[Clock], V]) -> V:
    """The verdict with the fewest differences.

    Args:
        name: of the scenario.
        first: the verdict with the usual clock.
        judge: gives the verdict with another one.
    """
    coarse = [(float(uptime), part) for uptime in range(MINUTE) for part in COARSE]
    best, uptime = _best(name, first, judge, coarse)
    if best.differences and uptime is not None:
        near = [(max(uptime + step / 4, 0.0), part) for step in range(-3, 4) for part in FINE]
        best, _ = _best(name, best, judge, near)
    return best


def best_sweep(name: str, first: V, judge: Callable[[Clock], V]) -> V:
    """The verdict with the fewest differences, of those with a sweep over time limits at each second."""
    verdicts = [first]
    for second in range(int(SWEEP)):
        if not verdicts[-1].differences:
            break
        verdicts.append(judge(Clock(name, REASON, sweep=second + 0.5)))
    return min(verdicts, key=lambda verdict: len(verdict.differences))


def best_phase(scenario: Scenario, first: V, judge: Callable[[Clock], V]) -> V:
    """The verdict with the fewest differences, of those with a pass over the whole queue at each second.

    These passes count from the controller's start on, ``sched_interval`` seconds apart. Where its seconds begin is not
    recorded either, from which a requeued job is held back.
    """
    seconds = min(parameters_of(scenario.configuration()).sched_interval, MINUTE)
    whole = [(float(uptime), part) for part in COARSE for uptime in range(int(seconds))]
    return _best(scenario.name, first, judge, whole)[0] if first.differences else first


def _best(
    name: str, best: V, judge: Callable[[Clock], V], clocks: Iterable[tuple[float, float]]
) -> tuple[V, float | None]:
    """The best verdict, and the uptime that gave it, if it is not that of before."""
    found = None
    for uptime, second in clocks:
        verdict = judge(Clock(name, REASON, uptime, second))
        if len(verdict.differences) < len(best.differences):
            best, found = verdict, uptime
        if not best.differences:
            break
    return best, found
