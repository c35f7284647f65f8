"""Times of a dump are worked out together; each of them means what it means by itself."""

from __future__ import annotations

from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from emulator.workload.sacct.times import Clock, NoTimeError, instants

PARIS = ZoneInfo("Europe/Paris")
as_slurm = st.datetimes().map(lambda moment: f"{moment:%Y-%m-%dT%H:%M:%S}".rjust(19, "0"))
others = st.sampled_from(["", "Unknown", "1704067200", "2024-01-01T00:00:00+0100", "2024-01-01 00:00:00"])
broken = st.sampled_from(
    [
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
