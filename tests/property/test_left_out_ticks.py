"""Ticks that are left out would have found nothing: random clusters with accounts, with all ticks and without.

``LEFT_OUT_TICKS=1000 pytest tests/property/test_left_out_ticks.py`` plays so many instead of a few.
"""

from __future__ import annotations

import os

import numpy as np
import pytest

from emulator.accounting.journal import Journal
from emulator.config.slurm import parse_slurm_conf
from emulator.engine.controller import Controller
from emulator.engine.passes import Passes
from emulator.engine.ticks import Ticks
from emulator.limits.usage import Usage
from emulator.workload.request import JobRequest
from emulator.workload.sbatch import parse_sbatch
from tests.builders.rough_clusters import prepared

MANY = int(os.environ.get("LEFT_OUT_TICKS", "16"))
LOOKED_AT = (200.0, 905.0, 4000.0, 15_000.0, 25_000.0, 35_000.0)
"""Seconds at which two runs are compared: most runs end by the third, and before the fifth usage is reset once."""

AFTER = 100_000.0
"""Seconds for which a run that has ended is played on."""


class LooksAlways(Passes):
    """Makes a pass or cycle at each tick at which Slurm does, whether it would find anything or not."""

    def _news(self, loop: str, idle_renewals: bool = True) -> bool:
        return loop == "main" or self._changed()


class RenewalsAreNews(Passes):
    """Looks at the queue after each renewal of the priorities, whether its order has changed or not."""

    def renew(self) -> None:
        super().renew()
        self._idle_renewals = 0


class EveryTick(Ticks):
    """Leaves none out."""

    def _quiet_until(self, calculates: bool, until: float) -> float:
        return 0.0


def with_every_tick(seed: int, passes: type[Passes] = Passes) -> Controller:
    """A random cluster in which no tick is left out, and whose loops are of this class."""
    made = prepared(seed)
    made._ticks.__class__, made.passes.__class__ = EveryTick, passes
    return made


def state_of(made: Controller, *, reasons: bool = True) -> dict[str, object]:
    """What a user sees of jobs, and the usage to the last bit; reasons are those of the loop that looked last."""
    cluster, books = made.cluster, made.cluster.accounting
    found: dict[str, object] = {
        str(job.id): (
            *(job.state, job.priority, job.eligible, job.accrue, job.reason if reasons else None),
            [(run.start, run.end, run.outcome, run.limit, tuple(run.allocation.nodes)) for run in job.runs],
        )
        for job in cluster.jobs.values()
    }
    if books is not None:
        usage = books.usage
        found["usage"] = [part.tolist() for part in (usage.tres, usage.wall, usage.remaining, usage.total)]
        found["shares"] = [(key, share.factor) for key, share in books.manager.shares.items()]
    return found


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(MANY))
def test_what_is_left_out_changes_nothing(seed: int) -> None:
    """Neither ticks, nor passes without news, nor looks after a renewal that leaves the order."""
    leaping, ticking, renewing = prepared(seed), with_every_tick(seed), prepared(seed)
    looking = with_every_tick(seed, LooksAlways)
    renewing.passes.__class__ = RenewalsAreNews
    for second in LOOKED_AT:
        leaping.run(until=second)
        ticking.run(until=second)
        assert state_of(leaping) == state_of(ticking), f"at {second:g} s"
        if second == LOOKED_AT[-1]:
            break
        looking.run(until=second)
        renewing.run(until=second)
        expected = state_of(leaping, reasons=False)
        assert state_of(looking, reasons=False) == expected, f"with all passes at {second:g} s"
        assert state_of(renewing, reasons=False) == expected, f"with looks after renewals at {second:g} s"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(MANY))
def test_what_is_left_out_leaves_nothing_to_note(seed: int) -> None:
    """Nor does one that looks after every event see less: each wait, factor, share and state of a node is noted."""
    leaping, ticking = prepared(seed), with_every_tick(seed)
    journals = [Journal(made) for made in (leaping, ticking)]
    for made, journal in zip((leaping, ticking), journals, strict=True):
        made.run(until=LOOKED_AT[-1], observe=journal)
    tables = [journal.take_tables() for journal in journals]
    assert tables[0].keys() == tables[1].keys()
    for name, columns in tables[0].items():
        for column, values in columns.items():
            np.testing.assert_array_equal(values, tables[1][name][column], err_msg=f"{name}: {column}")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(MANY))
def test_nothing_happens_after_the_end(seed: int) -> None:
    ended, going_on = prepared(seed), prepared(seed)
    ended.run()
    # Nodes that fail end work without end again and again; a run does not go on for that, nor for exit codes that do.
    forever = ended.operation.mtbf and any(job.run is not None for job in ended.cluster.jobs.values())
    if not (forever or ended.endless) and ended.cluster.now < 20 * AFTER:
        going_on.run(until=ended.cluster.now + AFTER)
        assert runs_of(going_on) == runs_of(ended)


def runs_of(made: Controller) -> list[list[tuple[float, float | None]]]:
    return [[(run.start, run.end) for run in job.runs] for job in made.cluster.jobs.values()]


@pytest.mark.parametrize("half_life", [0.0, 3600.0, 7 * 86_400.0])
def test_periods_at_once_come_to_the_same_as_one_after_the_other(half_life: float) -> None:
    def usage() -> Usage:
        made = Usage(2, 4, half_life, tracked=True, last=0.0, period=300.0)
        made.keep(1, kept=True)
        made.start(np.array([0, 1]), [4.0, 0.0, 1.0, 4.0], 0.3, 130.0, 1e9)
        made.period(300.0)
        return made

    at_once, by_turns = usage(), usage()
    at_once.period(300.0 * 5000)
    for number in range(2, 5001):
        by_turns.period(300.0 * number)
    assert [*at_once.tres.flat, *at_once.remaining.flat] == [*by_turns.tres.flat, *by_turns.remaining.flat]
    left, expected = (1 - 0.693 / half_life) ** 300 if half_life else 1.0, 170 * 1.2
    expected *= (1 - 0.693 / half_life) ** 170 if half_life else 1.0
    for _ in range(4999):
        expected = expected * left + 300 * left * 1.2
    assert at_once.tres[0, 0] == pytest.approx(expected)
    assert at_once.tres[1, 0] == pytest.approx((300 * 5000 - 130) * 1.2)


def test_more_rows_change_no_usage() -> None:
    """To ask whether a limit binds may bring rows; the others go on from where they were, to the last digit."""
    used = [Usage(2, 4, 1800.0, tracked=True, last=0.0, period=60.0) for _ in range(2)]
    for made in used:
        made.start(np.array([0, 1]), [4.0, 0.0, 1.0, 4.0], 0.3, 13.0, 1e9)
    for number in range(1, 200):
        for made in used:
            made.period(60.0 * number)
        if number % 7 == 0:
            used[1].grow(2 + number // 7)
    assert used[1].tres.shape == (30, 4)
    assert [*used[1].tres[:2].flat, *used[1].remaining[:2].flat] == [*used[0].tres.flat, *used[0].remaining.flat]
    assert not used[1].tres[2:].any()


def test_periods_are_left_out_where_no_job_may_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work without end keeps a job waiting that depends on it."""
    periods: list[float] = []
    calculate = Passes.calculate

    def counted(passes: Passes) -> None:
        periods.append(passes.cluster.now)
        calculate(passes)

    monkeypatch.setattr(Passes, "calculate", counted)
    conf = parse_slurm_conf(
        "PriorityType=priority/multifactor\nPriorityWeightAge=100\nSelectType=select/linear\nNodeName=n1 CPUs=1\n"
        "PartitionName=p Nodes=ALL Default=YES MaxTime=INFINITE\n"
    )
    requests = [
        JobRequest(1, 0.0, 1e9, parse_sbatch([])),
        JobRequest(2, 10.0, 10.0, parse_sbatch(["-d", "afterok:1"])),
    ]
    made = Controller(conf, requests)
    made.run()
    assert [job.state.value for job in made.cluster.jobs.values()] == ["COMPLETED", "COMPLETED"]
    assert len(periods) < 50
