"""Records of a dump that are found at once: the same as line by line, whatever the lines hold."""

from __future__ import annotations

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.workload.sacct import plain
from emulator.workload.sacct.columns import COLUMNS, column_of
from emulator.workload.sacct.dump import Dump, records
from emulator.workload.sacct.times import Clock, instants, zone_of

VALUES = (
    *("", "1", "a", "a b", "2024-01-01T00:00:00", "Unknown", "1-00:00:00", "UNLIMITED", "0:0", "COMPLETED", "NULL"),
    *("CANCELLED by 7", "4000M", "cpu=4,mem=1G", "n[1-2]", "None assigned", "a&b", "x\x1fy", "n\u00fc", "None"),
)


def both_ways(text: str, separator: str) -> tuple[Dump, Dump]:
    """Read at once and line by line."""
    found = []
    for size in (0, 1 << 40):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(plain, "WORTH", size)
            found.append(records("x", text.encode(), separator))
    return found[0], found[1]


IDS = ("1", "12_3", "12_3.batch", "7.extern", "7.0", "9_[1-5]", "9_[1.5]", "4+1", "4+1.0", "1" * 19, "1" * 19 + ".0")
HOSTILE = (
    *("a|b", "a;b", "a:b", '"', "'a", "\\", "\r", "\x00", "\x0b", "\x1c", "\xa0", "\u2028", "\xfc", "\u0661", "p\nq"),
    " ",
)
LINE_ENDS = st.sampled_from(["\n", "\n", "\n", "\r\n", "\r\r\n", "\n\n", "\n \n", "\nrest\n", ""])


@st.composite
def rough_dumps(draw: st.DrawFn, separator: str) -> str:
    """Some columns in any order, among them a job's id, and lines of values that mostly are theirs."""
    further = draw(st.lists(st.sampled_from([*COLUMNS, "further"]), max_size=6))
    names = draw(st.permutations(["JobID", *further]))
    values = {name: [value for value in VALUES if column_of(name).takes(value)] for name in names}
    values["JobID"] = list(IDS)

    def line() -> str:
        rough = draw(st.integers(0, 3)) == 0
        kept = [draw(st.sampled_from([*values[name], *HOSTILE] if rough else values[name] or [""])) for name in names]
        return separator.join(kept) + draw(LINE_ENDS)

    return separator.join(names) + "\n" + "".join(line() for _ in range(draw(st.integers(0, 6))))


@pytest.mark.slow
@pytest.mark.parametrize("separator", ["|", ";", ":", "^", "a", "\t", "\u00a6"])
@given(data=st.data())
def test_records_are_the_same_whether_found_at_once_or_line_by_line(separator: str, data: st.DataObject) -> None:
    text = data.draw(rough_dumps(separator))
    at_once, by_line = both_ways(text, separator)
    assert (at_once.lines, at_once.columns) == (by_line.lines, by_line.columns)
    assert (at_once.steps, at_once.unusable) == (by_line.steps, by_line.unusable)


def test_lines_of_which_each_is_a_record_are_found_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["jobid", "jobname", "ncpus"]
    rows = ["1|größer|4", "1.batch|batch|4", "2|a|4", "3_1.0|a|4", "4|a|b|4", "5|a|4"]
    data = "".join(f"{row}\n" for row in ("|".join(names), *rows)).encode()
    monkeypatch.setattr(plain, "WORTH", 0)
    found = plain.Lines(data, names, [column_of(name) for name in names], "|")
    # The fourth may go on in the fifth, of which a value has a separator in it.
    assert list(found.others()) == [(5, rows[3:5])]
    assert (found.steps, found.jobs(["jobid", "other"])) == (1, ([2, 4, 7], {"jobid": ["1", "2", "5"]}))


def test_more_columns_than_a_pattern_can_have_are_read_line_by_line() -> None:
    names, values = ["JobID", *("User" for _ in range(9000))], ["1", *("a" for _ in range(9000))]
    at_once, by_line = both_ways("".join("|".join(line) + "\n" for line in (names, values)), "|")
    assert at_once.columns == by_line.columns == {"jobid": ["1"], "user": ["a"]}


@given(st.sampled_from(["UTC", "Europe/Paris", "Australia/Lord_Howe", "America/St_Johns"]), st.data())
def test_times_that_are_worked_out_together_are_those_of_each(name: str, data: st.DataObject) -> None:
    zone = zone_of(name)
    moments = st.datetimes(datetime(1970, 1, 1), datetime(2100, 1, 1)) | st.datetimes(
        datetime(2021, 4, 4, 1), datetime(2021, 4, 4, 4)
    )
    texts = [moment.isoformat(timespec="seconds") for moment in data.draw(st.lists(moments, max_size=5))]
    texts += data.draw(st.lists(st.sampled_from(["Unknown", "", "1614592800", "2021-03-28T02:30:00"])))
    for clock in (Clock(zone, texts), Clock(zone, [*texts, "2021-02-30T00:00:00"])):
        assert [clock[text] for text in texts] == [instants(text, zone) for text in texts]
