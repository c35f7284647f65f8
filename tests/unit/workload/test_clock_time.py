"""Times of day and dates, as ``sbatch --begin`` takes them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from emulator.workload.clock_time import seconds_after
from emulator.workload.sbatch import parse_sbatch

NOON = datetime(2026, 3, 10, 12, 0, tzinfo=UTC).timestamp()
HOUR = 3600.0


@pytest.mark.parametrize(
    ("text", "hours"),
    [
        ("now", 0),
        ("now+2hours", 2),
        ("16:00", 4),
        ("4:00pm", 4),
        ("12:00am", 12),
        ("11:00", 23),
        ("teatime", 4),
        ("midnight", 12),
        ("tomorrow", 12),
        ("today", 0),
        ("2026-03-11", 12),
        ("2026-03-11T14:30", 26.5),
        ("03/11", 12),
        ("03/11/26", 12),
        ("031126", 12),
        ("03/09", 364 * 24 - 12),
        ("13:00 tomorrow", 25),
        ("2025-01-01", 0),
    ],
)
def test_times_are_after_the_submission(text: str, hours: float) -> None:
    assert seconds_after(text, NOON) == hours * HOUR


@pytest.mark.parametrize("text", ["", "25:00", "soon", "2026-13-01", "12:00 13:00", "1/2/3/4", "9999999"])
def test_what_is_no_time_is_named(text: str) -> None:
    with pytest.raises(ValueError, match="is no time, such as"):
        seconds_after(text, NOON)


def test_the_second_of_submission_counts() -> None:
    assert parse_sbatch(["--begin=01:00"], submitted=1800.0).begin == 1800.0
    assert parse_sbatch(["--begin=01:00"], submitted=HOUR + 1).begin == 24 * HOUR - 1
