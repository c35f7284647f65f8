"""Times of a dump are worked out together; each of them means what it means by itself."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from emulator.workload.sacct.times import Clock, NoTimeError, instants, span, spans

PARIS = ZoneInfo("Europe/Paris")
as_slurm = st.datetimes(datetime(1970, 1, 1)).map(lambda moment: f"{moment:%Y-%m-%dT%H:%M:%S}".rjust(19, "0"))
others = st.sampled_from(["", "Unknown", "1704067200", "2024-01-01T00:00:00+0100", "2024-01-01 00:00:00"])
broken = st.sampled_from(
    [
        "0001-01-01T00:00:00",
        "1969-12-30T00:00:00",
        "2024-02-30T00:00:00",
        "2024-13-01T00:00:00",
        "2024-01-01T24:00:00",
        "2024-01-01T00:00:0x",
        "\uff12024-01-01T00:00:00",
    ]
)
near = st.sampled_from(["2024-03-31T02:30:00", "2024-10-27T02:30:00", "2024-10-27T03:30:00", "2024-10-27T01:59:59"])


@given(st.lists(st.one_of(as_slurm, others, near), max_size=30), st.lists(broken, max_size=1))
@example(["2024-01-01T00:00:00"], ["\uff12024-01-01T00:00:00"])
@example([], [])
def test_together_they_mean_what_each_means(texts: list[str], wrong: list[str]) -> None:
    clock = Clock(PARIS, [*texts, *wrong])
    for text in texts:
        assert clock[text] == instants(text, PARIS)
    for text in wrong:
        try:
            meant = instants(text, PARIS)
        except NoTimeError:
            with pytest.raises(NoTimeError):
                clock[text]
        else:
            assert clock[text] == meant


seconds = st.integers(0, 5).map(lambda second: f"2024-01-01T00:00:{second:02}")
some_time = st.one_of(seconds, near, st.sampled_from(["", "Unknown", "None", "n/a", "1704067203"]))
runs = st.tuples(some_time, some_time, some_time, some_time, st.none() | st.integers(0, 5), st.sampled_from([0.0, 3.0]))


@given(st.lists(runs, max_size=20))
def test_spans_that_are_worked_out_together_are_those_of_each(rows: list[tuple]) -> None:
    columns = [[row[place] for row in rows] for place in range(4)]
    clock = Clock(PARIS, {text for column in columns for text in column})
    elapsed = np.array([np.nan if row[4] is None else row[4] for row in rows], dtype=np.float64)
    whole = np.array([row[5] == 0.0 for row in rows], dtype=bool)
    found = spans([clock.plainly(column) for column in columns], elapsed, whole)
    assert len(found) == len(rows)
    for times, (*texts, ran, suspended) in zip(found, rows, strict=True):
        submits = clock[texts[0]]
        if times is not None:
            assert times == span([clock[text] for text in texts], ran, suspended)
        elif (
            len(submits) == 1
            and np.isfinite([clock.plainly([text])[0] for text in texts]).all()
            and ran is not None
            and not suspended
        ):
            one = span([clock[text] for text in texts], ran, suspended)
            assert one.backwards or one.off
