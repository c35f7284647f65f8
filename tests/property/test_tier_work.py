"""Work at changing rates in whole numbers of 64 bits, beside Python's own whole numbers."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.engine import tier_work
from emulator.state.instants import nearest
from slurm_sim_plugins.kernels import why_plain
from slurm_sim_plugins.tiers import PARTS, whole, work_at
from tests.builders.kernels import plain

PLAIN = plain("emulator.engine.tier_work")
FORMS = [PLAIN] if why_plain() else [PLAIN, tier_work]
RATES = st.sampled_from([0.0, 5e-324, 1 / 3, 0.5, 1 - 2**-53, 1.0]) | st.floats(0, 1) | st.floats(0, 2.0**-60)
TIMES = st.integers(0, 10) | st.integers(0, 10**12) | st.integers(0, 2**57)
STEPS = st.lists(st.tuples(RATES, TIMES, st.booleans(), st.booleans()), min_size=1, max_size=6)


def columns(count: int) -> list[Any]:
    return [[0] * count for _ in range(5)]


@pytest.mark.parametrize("form", FORMS, ids=["plain", "compiled"][: len(FORMS)])
@given(steps=STEPS, rate=RATES, further=st.integers(-2, 1000) | st.integers(0, 2**58))
def test_work(form: Any, steps: list[tuple[float, int, bool, bool]], rate: float, further: int) -> None:
    import numpy as np

    laid_out = [[column if form is PLAIN else np.array(column) for column in columns(2)] for _ in range(2)]
    work = form.TierWork(*laid_out)
    work.clear(1)
    done = before = 0
    for each, time, added, marked in steps:
        assert work.done(1, each, time) == whole(done + work_at(each, time))
        if added:
            work.add(1, each, time)
            done += work_at(each, time)
        if marked:
            work.mark(1)
            before = done
        # A quotient of whole numbers is rounded once.
        assert work.since_mark(1) == (done - before) / (1 << PARTS)
    wanted = max(0, whole(done) + further)
    left, speed = (wanted << PARTS) - done, work_at(rate, 1)
    found = work.time_left(1, rate, wanted)
    if left <= 0:
        assert found == 0
    elif found == PLAIN.ENDLESS:
        assert left > 2**60 * speed
    else:
        assert found == nearest(left, speed)
