"""When the controller's loop goes round, by its log."""

from __future__ import annotations

import re
from itertools import accumulate

import pytest

from emulator.config.slurm.controller import Timing
from emulator.record.rounds import (
    BEGUN,
    CYCLE,
    FULL,
    PASS,
    decay_begun,
    in_turn,
    loop_begun,
    rounds_of,
    told_in,
    usual_rounds,
)

LOG = """\
[2026-11-23T14:00:01.222] debug:  sched: Running job scheduler for default depth.
[2026-11-23T14:00:01.223] sched: Allocate JobId=1 NodeList=a1 #CPUs=2 Partition=batch
[2026-11-23T14:00:01.392] debug:  sched/backfill: _attempt_backfill: beginning
[2026-11-23T14:00:01.393] debug:  sched/backfill: _attempt_backfill: 3 jobs to backfill
"""


@pytest.mark.parametrize(("line", "at"), [(PASS, 1.222), (BEGUN, 1.392), (CYCLE, 1.393)])
def test_passes_and_cycles_are_seconds_from_zero(line: re.Pattern[str], at: float) -> None:
    zero = 1_795_442_400.0  # 14:00:00 UTC
    assert [round(one, 3) for one in told_in(LOG.splitlines(), line, zero)] == [at]


def test_the_first_round_and_the_period_are_told() -> None:
    passes = [0.4 + 1.0072 * number for number in (-20, 0, 3, 17, 60, 61, 150, 240)]
    first, period = rounds_of(passes, 1.018) or (0.0, 0.0)
    assert abs(first - 0.4) < 0.02
    assert abs(period - 1.0072) < 0.0002


def test_a_pass_beside_the_rounds_does_not_matter() -> None:
    passes = [float(number) for number in range(0, 100, 7)]
    found = rounds_of([*passes, 35.4], 1.018)
    assert found is not None
    assert abs(found[0] - round(found[0])) < 0.03
    assert found[1] == 1.0


def test_few_passes_or_passes_anywhere_tell_nothing() -> None:
    assert rounds_of([1.0, 2.0, 3.0], 1.018) is None
    assert rounds_of([at * at * 0.37 % 100 for at in range(200)], 1.001) is None


def test_rounds_are_told_where_a_busy_machine_draws_some_out():
    passes = list(accumulate((1.008 + (0.024 if number // 40 % 2 else 0) for number in range(300)), initial=-3.0))
    first, period = rounds_of(passes, 1.018) or (0.0, 0.0)
    assert (first, period) == (0.024, 1.008)
    assert in_turn(passes, period) == [round(at, 3) for at in passes]


def test_passes_that_come_at_once_are_no_rounds_and_the_others_drift():
    assert in_turn([1.0, 4.05, 6.5, 7.2, 9.3], 1.015) == [1.0, 4.05, 7.2, 9.3]


def test_rounds_go_on_from_those_that_were_seen():
    timing = Timing(round=1.0, round_phase=0.25, rounds_seen=(3.5, 6.75))
    assert [timing.round_at(at) for at in (0.6, 2.6, 3.5, 3.6, 6.4, 6.8)] == pytest.approx(
        [1.5, 3.5, 3.5, 3.5 + 13 / 12, 6.75, 7.75]
    )


def test_a_round_that_made_no_pass_had_gone_by_as_one_was_asked_for():
    timing = Timing(round=1.0, round_phase=0.25, rounds_seen=(3.5, 6.5, 16.5))
    asked = (3.49, 3.51, 4.49, 4.44, 5.49, 6.49, 7.49)
    assert [timing.pass_at(at) for at in asked] == [3.5, 4.5, 5.5, 4.5, 6.5, 6.5, 7.5]


def test_rounds_before_the_first_that_was_seen_are_as_far_apart_as_usual():
    timing = Timing(round=1.0, round_phase=0.625, rounds_seen=(0.5, 1.5))
    assert [timing.round_at(at) for at in (-24.0, -23.4, 0.1, 0.5)] == [-23.5, -22.5, 0.5, 0.5]


def test_backfill_wakes_up_when_it_was_seen_to():
    timing = Timing(glance=1.0, glances_seen=(3.5, 6.75))
    assert [timing.glance_at(at) for at in (1.0, 3.1, 3.9, 4.2, 6.3, 7.5)] == [1.0, 3.5, 3.5, 4.2, 6.75, 7.5]
    assert Timing().glance_at(2.0) == 2.0


ZERO = 1_795_442_400.0
START = """\
[2026-11-23T14:00:01.100] debug:  priority/multifactor: init: Priority MULTIFACTOR plugin loaded
[2026-11-23T14:00:01.400] debug:  Consolidated duplicate config records into c[1-6]
[2026-11-23T14:00:01.500] Running as primary controller
[2026-11-23T14:00:02.000] error: No fed_mgr state file (/state/fed_mgr_state) to recover
"""
"""Of 24.11."""


def test_priorities_are_worked_out_from_before_the_controller_is_in_charge():
    assert decay_begun(START.splitlines()) == ZERO + 1.4


def test_in_the_oldest_version_they_are_from_when_their_plugin_is_loaded():
    first, *others = START.splitlines()
    assert decay_begun([*others, first.replace("01.100", "02.600")]) == ZERO + 2.6


def test_without_the_plugin_no_priorities_are_worked_out():
    assert decay_begun(START.splitlines()[1:]) is None


@pytest.mark.parametrize(
    ("measured", "full", "begun"),
    [
        (10.6, [71.0, 131.0], 11.05),  # The loop began later than the log says.
        (10.6, [71.0, 130.0], 10.6),  # Only the first of the passes was late.
        (11.1, [70.0, 130.0], 10.95),  # It began earlier than the log says.
        (10.6, [], 10.6),
        (10.6, [30.0], 10.6),  # That says nothing of when it began.
    ],
)
def test_the_loop_began_when_passes_over_the_whole_queue_say(measured, full, begun):
    assert loop_begun(measured, full, 60.0) == begun


def test_short_intervals_do_not_tell_when_the_loop_began():
    assert loop_begun(10.6, [15.0], 2.0) == 10.6


def test_passes_over_the_whole_queue_are_known_from_others():
    lines = [LOG.splitlines()[0], LOG.splitlines()[0].replace("default depth", "full queue")]
    assert len(told_in(lines, FULL, 0.0)) == 1


def test_rounds_are_found_again_after_the_loop_was_held_up():
    assert in_turn([1.0, 2.0, 3.4, 4.4, 5.4, 5.8, 6.4], 1.0) == [1.0, 2.0, 3.4, 4.4, 5.4, 6.4]
    assert in_turn([1.0, 1.5, 2.0, 2.5, 3.0], 1.0) == [1.0, 2.0, 3.0]
    assert in_turn([1.0, 2.0, 7.4, 12.4, 15.9, 18.4], 1.0, [15.895]) == [1.0, 2.0, 7.4, 12.4, 18.4]
    assert in_turn([1.0, 2.0, 7.4, 12.4, 14.0], 1.0, [12.395]) == [1.0, 2.0, 14.0]


def test_few_rounds_are_as_long_as_usual():
    assert usual_rounds([-3.2, 7.503, 37.5]) == (round(7.503 % 1.0006, 3), 1.0006)
    assert usual_rounds([-3.2]) is None
