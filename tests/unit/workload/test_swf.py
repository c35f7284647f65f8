"""Traces in the Standard Workload Format: reading, refusing and writing."""

from __future__ import annotations

import gzip
import hashlib
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from emulator.workload import swf
from emulator.workload.swf import header_facts, read_swf, write_swf
from emulator.workload.workload import Changed, Dropped, Workload
from slurm_sim_plugins.errors import ConfigurationError, InputError, OutputError

HEADER = "; Computer: none\n; MaxNodes: 8\n; MaxProcs: 16 (2 each)\n; UnixStartTime: 1000\n"


def record(job: object = 1, submit: object = 0, run: object = 10, processors: object = 2, **others: object) -> str:
    """One line; fields that are not given are -1."""
    fields: dict[str, object] = {"id": job, "submit": submit, "run": run, "allocated": processors, "time_limit": 60}
    fields |= others
    numbers = {**swf.WHOLE, **swf.TIMES, "cpu": 6, "memory": 7}
    words = ["-1"] * 18
    for name, value in fields.items():
        words[numbers[name] - 1] = str(value)
    return " ".join(words)


Write = Callable[..., Path]


@pytest.fixture
def trace(tmp_path: Path) -> Write:
    """Write a file of the given lines, or of the given bytes."""

    def write(*lines: str, data: bytes | None = None, name: str = "log.swf") -> Path:
        path = tmp_path / name
        path.write_bytes("".join(f"{line}\n" for line in lines).encode("latin-1") if data is None else data)
        return path

    return write


def same_jobs(one: Workload, two: Workload) -> bool:
    mine, other = one.columns(), two.columns()
    return list(mine) == list(other) and all(mine[name].tolist() == other[name].tolist() for name in mine)


# What is in a file ---------------------------------------------------------------------


def test_columns_header_and_facts(trace: Write) -> None:
    line = "7 100 30 12.5 4 9.75 -1 8 60 -1 1 11 12 13 14 15 -1 -1"
    path = trace(HEADER.rstrip("\n"), line, name="site.swf")
    workload = read_swf(path)
    assert {name: values.tolist() for name, values in workload.columns().items()} == {
        "id": [7],
        "submit": [100.0],
        "processors": [4],
        "run": [12.5],
        "time_limit": [60.0],
        "status": [1],
        "user": [11],
        "group": [12],
        "executable": [13],
        "queue": [14],
        "partition": [15],
    }
    assert all(values.dtype == np.int64 for values in workload.facts.values())
    assert workload.header == tuple(HEADER.splitlines())
    assert (workload.name, workload.machine, workload.epoch, workload.read) == ("site", 16, 1000, 1)
    assert not workload.dropped and not workload.changed
    assert workload.source_hash == hashlib.sha256(path.read_bytes()).hexdigest()


def test_gzip_is_known_by_its_bytes(trace: Write) -> None:
    text = (HEADER + record() + "\n").encode()
    packed = trace(data=gzip.compress(text, mtime=0), name="packed.swf")
    plain = trace(data=text, name="plain.swf.gz")
    two_parts = trace(data=gzip.compress(text[:50], mtime=0) + gzip.compress(text[50:], mtime=0), name="parts.gz")
    assert same_jobs(read_swf(packed), read_swf(plain))
    assert same_jobs(read_swf(two_parts), read_swf(plain))
    assert read_swf(packed).source_hash == hashlib.sha256(packed.read_bytes()).hexdigest()
    assert [read_swf(path).name for path in (packed, plain, two_parts)] == ["packed", "plain", "parts"]


def test_jobs_come_in_the_order_of_submission_and_id(trace: Write) -> None:
    workload = read_swf(trace(record(3, 50), record(2, 50), record(9, 1)))
    assert workload.id.tolist() == [9, 2, 3]


def test_comments_blank_lines_and_line_ends_anywhere(trace: Write) -> None:
    lines = ["; first", record(1), "", "; M\xfcnchen \x85 \x0c", record(2), "   ", "  ; third", "\t" + record(3) + "  "]
    expected = ("; first", "; M\xfcnchen \x85 \x0c", "  ; third")
    for end in ("\n", "\r\n", "\r"):
        workload = read_swf(trace(data=end.join(lines).encode("latin-1")))
        assert workload.id.tolist() == [1, 2, 3]
        assert workload.header == expected


def test_line_numbers_count_every_line(trace: Write) -> None:
    workload = read_swf(trace("; a", record(1), "; b", "", record(2, run=0), record(3, processors=0)))
    assert [each.first.rpartition(":")[2] for each in workload.dropped] == ["5", "6"]


def test_lines_of_blanks_count_too(trace: Write) -> None:
    workload = read_swf(trace(record(1), "  ", record(2, run=0), "", record(3)))
    assert workload.read == 3
    assert workload.dropped[0].first.endswith(":3")


def test_line_numbers_go_on_over_blocks(trace: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ["; a", *(record(job) for job in range(20)), record(20, run=0), "; b", *(record(job) for job in (21, 22))]
    whole = read_swf(trace(*lines))
    monkeypatch.setattr(swf, "BLOCK_BYTES", 100)
    path = trace(*lines)
    parts = read_swf(path)
    assert same_jobs(whole, parts)
    assert (parts.header, parts.dropped, parts.read) == (whole.header, whole.dropped, 23)
    assert parts.dropped[0].first == f"{path}:22"
    with pytest.raises(InputError, match=r"log\.swf:26: the line has 1 field instead of 18"):
        read_swf(trace(*lines, "x"))


def test_a_byte_order_mark_is_no_matter(trace: Write) -> None:
    workload = read_swf(trace(data=b"\xef\xbb\xbf" + (HEADER + record()).encode()))
    assert (workload.machine, len(workload)) == (16, 1)


def test_largest_estimates_and_ids_survive_exactly(trace: Write) -> None:
    lines = [record(2**63 - 1, time_limit=2**31 - 1), record(2**53 + 1, time_limit=2**31 - 1, run="1.25")]
    workload = read_swf(trace(*lines))
    assert workload.id.tolist() == [2**53 + 1, 2**63 - 1]
    assert workload.time_limit.tolist() == [2.0**31 - 1] * 2
    assert workload.run.tolist() == [1.25, 10]


def test_fractions_and_exponents(trace: Write) -> None:
    workload = read_swf(trace(record("1.0", "0.5", "12.5", "4.00", time_limit="1e2", user="3.0", cpu="0.03")))
    assert workload.id.tolist() == [1]
    assert workload.facts["user"].tolist() == [3]
    assert (workload.submit[0], workload.run[0], workload.time_limit[0]) == (0.5, 12.5, 100)


def test_unknown_facts_are_left_out(trace: Write) -> None:
    workload = read_swf(trace(record(1, user=5), record(2, user=-1), record(3, run=0, group=9)))
    assert list(workload.facts) == ["user"], "the only known group is that of a job that was dropped"
    assert workload.facts["user"].tolist() == [5, -1]


@pytest.mark.parametrize(
    ("choice", "processors"), [("allocated", [4, 5]), ("requested", [8, 5, 6]), ("either", [4, 5, 6])]
)
def test_processors_field(trace: Write, choice: Any, processors: list[int]) -> None:
    lines = [record(1, processors=4, requested=8), record(2, processors=5), record(3, processors=0, requested=6)]
    workload = read_swf(trace(*lines), processors_field=choice)
    assert workload.processors.tolist() == processors


def test_processors_from_the_other_field_are_reported(trace: Write) -> None:
    path = trace(record(1, processors=-1, requested=8, run=0), record(2), record(3, processors=-1, requested=6))
    workload = read_swf(path, processors_field="either")
    assert workload.changed == (Changed("allocated processors unknown: the requested ones taken", 1, f"{path}:3"),)
    workload = read_swf(path, processors_field="requested")
    assert workload.changed == (Changed("requested processors unknown: the allocated ones taken", 1, f"{path}:2"),)


def test_the_machine_is_that_of_the_header_unless_given(trace: Write) -> None:
    path = trace(HEADER.rstrip("\n"), record(1, processors=16), record(2, processors=17), record(3, processors=40))
    assert read_swf(path).id.tolist() == [1]
    assert read_swf(path).dropped == (Dropped("more processors than the machine's 16", 2, f"{path}:6"),)
    workload = read_swf(path, machine=20)
    assert (workload.id.tolist(), workload.machine) == ([1, 2], 20)
    assert read_swf(path, filter="none").id.tolist() == [1, 2, 3]
    unknown = read_swf(trace(record(1, processors=9999)))
    assert (len(unknown), unknown.machine) == (1, None)


def test_filters_report_lines(trace: Write) -> None:
    path = trace(record(1, run=0), record(2, run=-1), record(3, -5), record(4, time_limit=-1), record(5, run=61))
    workload = read_swf(path)
    assert workload.read == 5
    assert workload.dropped == (
        Dropped("submit time unknown or negative", 1, f"{path}:3"),
        Dropped("run time unknown or 0 s", 2, f"{path}:1"),
    )
    assert [(each.count, each.first) for each in workload.changed] == [(1, f"{path}:4"), (1, f"{path}:5")]
    assert workload.time_limit.tolist() == [10, 60]
    assert workload.run.tolist() == [10, 60]
    assert read_swf(path, filter="papers").id.tolist() == [1, 4, 5]


def test_first_submit_is_that_of_the_first_job_that_stays(trace: Write) -> None:
    path = trace(HEADER.rstrip("\n"), record(1, 5, run=0), record(2, 30), record(3, 42))
    assert read_swf(path).submit.tolist() == [30, 42]
    workload = read_swf(path, first_submit=100)
    assert workload.submit.tolist() == [100, 112]
    assert workload.epoch == 930


# What is refused -----------------------------------------------------------------------

TOO_SHORT = record()[:-3]
BAD_LINES = {
    "short": (TOO_SHORT, "the line has 17 fields instead of 18"),
    "long": (record() + " -1", "the line has 19 fields instead of 18"),
    "text": (record(run="ten"), r"field 4 \(run time\) is 'ten', which is not a number"),
    "text in a field without use": (record(memory="?"), r"field 7 \(used memory\) is '\?', which is not a number"),
    "infinite": (record(run="1e400"), r"field 4 \(run time\) is '1e400', which is not a finite number"),
    "infinite without use": (record(cpu="1e400"), r"field 6 .* is '1e400', which is not a finite number"),
    "nan": (record(submit="nan"), r"field 2 \(submit time\) is 'nan', which is not a finite number"),
    "huge time": (record(time_limit=10**30), r"field 9 \(requested time\) is '10+', which is too large for a time"),
    "huge count": (record(processors=10**30), r"field 5 \(allocated processors\) is '10+', which is too large"),
    "huge id": (record(2**63), r"field 1 \(job number\) is '9223372036854775808', which is too large"),
    "fraction of a processor": (record(processors="2.5"), r"field 5 .* is '2.5', which is not a whole number"),
    "underscore": (record("1_0"), "field 1 .* is '1_0', which is not a number"),
    "inline comment": (record() + " ; why", "the line has 20 fields"),
    "quote": (record(user='"5"'), r"field 12 \(user\) is '\"5\"', which is not a number"),
    "zero byte": (record(run="\0"), r"field 4 .* which is not a number"),
}


@pytest.mark.parametrize(("line", "problem"), BAD_LINES.values(), ids=BAD_LINES)
@pytest.mark.parametrize("rest", [[record(2)], [record(2, run="12.5")], []], ids=["whole", "fractions", "alone"])
def test_a_malformed_line_is_named(trace: Write, line: str, problem: str, rest: list[str]) -> None:
    path = trace("; header", *rest, line)
    with pytest.raises(InputError, match=rf"^{path}:{2 + len(rest)}: {problem}.*; correct the line, or leave"):
        read_swf(path)


@pytest.mark.parametrize("line", [line for line, _ in BAD_LINES.values()], ids=BAD_LINES)
def test_malformed_lines_can_be_dropped(trace: Write, line: str) -> None:
    path = trace("; header", line, record(7), line, record(8, run=0))
    workload = read_swf(path, malformed="drop")
    assert workload.id.tolist() == [7]
    assert workload.read == 4
    assert workload.dropped[0] == Dropped("malformed line", 2, f"{path}:2")


def test_the_shown_part_of_a_bad_field_is_short(trace: Write) -> None:
    with pytest.raises(InputError) as caught:
        read_swf(trace(record(run="x" * 100_000)))
    assert len(str(caught.value)) < 500


def test_a_last_line_that_breaks_off_is_said_to(trace: Write) -> None:
    broken = trace(data=(record(1) + "\n" + record(2)[:20]).encode())
    with pytest.raises(
        InputError, match=r"log\.swf:2: the line has \d+ fields instead of 18; the file breaks off there"
    ):
        read_swf(broken)
    assert read_swf(broken, malformed="drop").id.tolist() == [1]
    with pytest.raises(InputError) as caught:
        read_swf(trace(record(1), TOO_SHORT))
    assert "breaks off" not in str(caught.value)
    assert len(read_swf(trace(data=record(1).encode()))) == 1, "a record without a line end is one"


@pytest.mark.parametrize("malformed", ["error", "drop"])
@pytest.mark.parametrize("cut", [3, 12, 2000, 5])
def test_a_gzip_file_that_breaks_off(trace: Write, malformed: Any, cut: int) -> None:
    rng = np.random.default_rng(1)
    text = "".join(record(job, run=rng.integers(1, 9**9)) + "\n" for job in range(2000))
    packed = gzip.compress(text.encode(), mtime=0)
    length = cut if cut in (3, 12) else len(packed) - cut
    path = trace(data=packed[:length], name="log.swf.gz")
    with pytest.raises(InputError, match=r"gzip data is incomplete or damaged .* readable up to line \d+;") as caught:
        read_swf(path, malformed=malformed)
    assert str(caught.value).startswith(f"{path}: ")
    line = int(str(caught.value).partition("up to line ")[2].partition(";")[0])
    expected = {3: 0, 12: 0, 5: 2000}
    assert line == expected[cut] if cut in expected else 1500 < line < 2000


def test_a_damaged_gzip_file(trace: Write) -> None:
    packed = bytearray(gzip.compress(("".join(record(job) + "\n" for job in range(5000))).encode()))
    packed[-6] ^= 255
    with pytest.raises(InputError, match=r"gzip data is incomplete or damaged \(CRC check failed"):
        read_swf(trace(data=bytes(packed)))
    with pytest.raises(InputError, match="gzip data is incomplete or damaged"):
        read_swf(trace(data=gzip.compress(record().encode(), mtime=0) + b"rubbish"))
    packed[10] = 0b111  # the first block is of a kind that does not exist
    with pytest.raises(InputError, match=r"gzip data is incomplete or damaged \(Error -3"):
        read_swf(trace(data=bytes(packed)))


def test_a_gzip_file_of_parts_that_breaks_off(trace: Write) -> None:
    part = gzip.compress((record() + "\n").encode())
    with pytest.raises(InputError, match="readable up to line 2;"):
        read_swf(trace(data=part + part + part[:-12]))


@pytest.mark.parametrize("data", [b"", b"\n\n  \n", gzip.compress(b"", mtime=0), b"\xef\xbb\xbf"])
@pytest.mark.parametrize("malformed", ["error", "drop"])
def test_an_empty_file(trace: Write, data: bytes, malformed: Any) -> None:
    path = trace(data=data)
    with pytest.raises(InputError, match=rf"^{path}: the file is empty"):
        read_swf(path, malformed=malformed)


@pytest.mark.parametrize("malformed", ["error", "drop"])
def test_a_file_without_a_job(trace: Write, malformed: Any) -> None:
    path = trace("; only", "; a header")
    with pytest.raises(InputError, match=rf"^{path}: the file holds no job; is it a trace"):
        read_swf(path, malformed=malformed)


def test_a_file_of_bad_lines_only(trace: Write) -> None:
    path = trace("; header", "a b", "c")
    with pytest.raises(
        InputError, match=rf"^{path}: the file holds no job \(2 left out: malformed line, first {path}:2"
    ):
        read_swf(path, malformed="drop")


def test_a_filter_that_leaves_no_job_says_why(trace: Write) -> None:
    path = trace(record(1, run=0), record(2, processors=0))
    with pytest.raises(InputError, match=rf"^{path}: no job is left of 2 \(1 left out: run time unknown or 0 s, first"):
        read_swf(path)


@pytest.mark.parametrize("malformed", ["error", "drop"])
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=300))
@example(data=bytes(range(256)))
@example(data=b"\x1f\x8b" + bytes(range(256)))
@example(data=b"\x1f\x8b")
@example(data=b"PK\x03\x04\0\0;")
def test_binary_garbage_is_an_input_error(trace: Write, malformed: Any, data: bytes) -> None:
    path = trace(data=data)
    with pytest.raises(InputError, match=str(path)):
        read_swf(path, malformed=malformed)


def test_a_job_number_used_twice(trace: Write) -> None:
    path = trace("; header", record(1), record(5), record(3), record(5, 99), record(1, 7))
    with pytest.raises(InputError, match=rf"^{path}:5: job number 5 stands already in line 3; correct"):
        read_swf(path)
    workload = read_swf(path, malformed="drop")
    assert workload.id.tolist() == [1, 3, 5]
    assert workload.submit.tolist() == [0, 0, 0], "the first of each stays"
    assert workload.read == 5
    assert workload.dropped == (Dropped("job number used before", 2, f"{path}:5"),)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=rf"^{tmp_path}/none\.swf: cannot be read: No such file"):
        read_swf(tmp_path / "none.swf")
    with pytest.raises(InputError, match="cannot be read: Is a directory"):
        read_swf(tmp_path)
    with pytest.raises(InputError, match="cannot be read: embedded null"):
        read_swf("a\0b")


def test_arguments_that_cannot_be_used(trace: Write) -> None:
    path = trace(record())
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"filter": "x"}, "no filter is called 'x'"),
        ({"processors_field": "x"}, "processors_field is 'x'; choose one of allocated, requested, either"),
        ({"malformed": "x"}, "malformed is 'x'; choose error or drop"),
        ({"machine": 0}, "machine of 0 processors"),
        ({"first_submit": -1}, "first job cannot be submitted at -1 s"),
    ]
    for arguments, problem in wrong:
        with pytest.raises(ConfigurationError, match=problem):
            read_swf(path, **arguments)


# Fast and slow give the same -------------------------------------------------------------

words = st.one_of(
    st.integers(-2, 2**31).map(str),
    st.integers(-(2**64), 2**64).map(str),
    st.floats(allow_nan=True).map(repr),
    st.sampled_from(
        ["1.0", "2.5", "1e3", "1e400", "+5", "1_0", "0x10", "", "\xb2", "\xa0", "-", ".", ";", '"1"', "-0"]
    ),
)
clean_words = st.one_of(st.integers(-1, 2**31).map(str), st.sampled_from(["3.0", "1e2", "+7", "007"]))


@pytest.mark.slow
@settings(deadline=None, max_examples=300)
@given(st.lists(st.one_of(*(st.lists(kind, min_size=18, max_size=18) for kind in (words, clean_words))), max_size=3))
def test_what_is_read_fast_is_as_if_read_slowly(lines: list[list[str]]) -> None:
    text = [" ".join(line) for line in lines]
    fast = swf._read_fast(text, 1)
    slow = swf._read_slowly(text, 1)
    if fast is not None:
        assert slow.bad == []
        assert fast.header == slow.header
        assert fast.lines.tolist() == slow.lines.tolist()
        assert {name: values.tolist() for name, values in fast.columns.items()} == {
            name: values.tolist() for name, values in slow.columns.items()
        }
        assert {name: values.dtype for name, values in fast.columns.items()} == {
            name: values.dtype for name, values in slow.columns.items()
        }


def test_ordinary_lines_are_read_fast() -> None:
    assert swf._read_fast([record(1), "; note", record(2, cpu="0.5")], 1) is not None
    assert swf._read_fast([record(1, run="12.5"), record(2, cpu="0.5")], 1) is not None


# Headers ---------------------------------------------------------------------------------


def test_header_facts() -> None:
    facts = header_facts(
        [
            "; MaxNodes: 184  ( 6,  171,   7)",
            ";MaxProcs:1664 (72, 1368, 224)",
            "; UnixStartTime: 1078605840",
            "; Queues: these are classes",
            "; MaxQueues: 4",
            "; Queue:  1 DSI      ",
            "; Queue:  2  normal (p655 / 18hr)",
            "; Queue:  3  ",
            "; Partition:  3  batch",
            "; Note: MaxProcs: 7",
        ]
    )
    assert (facts.machine, facts.epoch) == (1664, 1078605840)
    assert facts.queues == {1: "DSI", 2: "normal (p655 / 18hr)"}
    assert facts.partitions == {3: "batch"}


@pytest.mark.parametrize(
    ("lines", "machine"),
    [
        ([], None),
        (["; MaxNodes: 100"], 100),
        (["; MaxProcs: 0", "; MaxNodes: 100"], 100),
        (["; MaxProcs: -1"], None),
        (["; MaxProcs: many"], None),
        (["; MaxProcs: 1,152"], None),
        (["; MaxProcs: " + "9" * 5000], None),
        (["; MaxProcs: 3", "; maxprocs: 4"], 4),
    ],
)
def test_the_machine_of_a_header(lines: list[str], machine: int | None) -> None:
    assert header_facts(lines).machine == machine


@pytest.mark.parametrize(("stated", "epoch"), [("0", 0), ("-1", None), ("-3600", -3600), ("", None)])
def test_the_epoch_of_a_header(stated: str, epoch: int | None) -> None:
    assert header_facts([f"; UnixStartTime: {stated}"]).epoch == epoch


# Writing ---------------------------------------------------------------------------------


def test_written_bytes(trace: Write, tmp_path: Path) -> None:
    source = trace(
        *HEADER.splitlines(),
        "; M\xfcnchen  ",
        record(2, 7.25, "12.5", 4, user=3, status=1),
        record(3, 8, 99, time_limit=2**31 - 1),
        record(4, run=0),
    )
    write_swf(read_swf(source), tmp_path / "out.swf")
    assert (tmp_path / "out.swf").read_bytes().decode("latin-1").split("\n") == [
        *HEADER.splitlines(),
        "; M\xfcnchen  ",
        swf.CONVERTED,
        "; Note: jobs left out: 1 (run time unknown or 0 s)",
        "2 7.25 -1 12.5 4 -1 -1 4 60 -1 1 3 -1 -1 -1 -1 -1 -1",
        "3 8 -1 99 2 -1 -1 2 2147483647 -1 -1 -1 -1 -1 -1 -1 -1 -1",
        "",
    ]


def test_gzip_output_has_no_time_in_it(trace: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workload = read_swf(trace(HEADER.rstrip("\n"), record()))
    write_swf(workload, tmp_path / "one.swf.gz")
    monkeypatch.setattr(time, "time", lambda: 2e9)
    write_swf(workload, tmp_path / "two.swf.gz")
    write_swf(workload, tmp_path / "plain.swf")
    packed = (tmp_path / "one.swf.gz").read_bytes()
    assert packed == (tmp_path / "two.swf.gz").read_bytes()
    assert packed[3:8] == bytes(5), "neither a name nor a time"
    assert gzip.decompress(packed) == (tmp_path / "plain.swf").read_bytes()


def test_machine_and_epoch_survive_where_they_differ_from_the_header(trace: Write, tmp_path: Path) -> None:
    workload = read_swf(trace(HEADER.rstrip("\n"), record(1, 50)), machine=20, first_submit=0)
    write_swf(workload, tmp_path / "out.swf")
    again = read_swf(tmp_path / "out.swf")
    assert (again.machine, again.epoch) == (20, 1050)
    assert again.header[: len(workload.header)] == workload.header


def test_facts_that_are_text_are_numbered_and_named(tmp_path: Path) -> None:
    columns = {
        "id": [1, 2, 3, 4],
        "submit": [0, 1, 2, 3],
        "processors": [1] * 4,
        "run": [5] * 4,
        "time_limit": [9] * 4,
        "queue": np.array(["night", None, "day\nshift", "night"], dtype=object),
        "partition": np.array(["b", np.nan, "", "a"], dtype=object),
        "user": np.array([7.0, np.nan, 8.0, np.inf]),
        "status": np.array(["COMPLETED"] * 4),
        "predicted": np.array([1.0] * 4),
    }
    write_swf(Workload.from_columns(columns, header=("# of\nanother kind",)), tmp_path / "out.swf")
    again = read_swf(tmp_path / "out.swf")
    assert {name: values.tolist() for name, values in again.facts.items()} == {
        "user": [7, -1, 8, -1],
        "queue": [2, -1, 1, 2],
        "partition": [2, -1, -1, 1],
    }
    assert header_facts(again.header).queues == {1: "day shift", 2: "night"}
    assert again.header[:2] == ("; # of", "; another kind")


def test_a_header_of_any_letters_can_be_written(trace: Write, tmp_path: Path) -> None:
    workload = replace(read_swf(trace(record())), header=("; \u017elu\u0165", "; \udc80"))
    write_swf(workload, tmp_path / "out.swf")
    lines = (tmp_path / "out.swf").read_bytes().split(b"\n")
    assert lines[:2] == ["; \u017elu\u0165".encode(), b"; ?"]


micros = st.integers(1, 10**15).map(lambda value: value / 10**6) | st.integers(1, 2**31 - 1).map(float)
known = st.integers(-1, 2**63 - 1)
header_line = st.text(st.characters(codec="latin-1", exclude_characters="\r\n"), max_size=20).map(
    lambda text: ";" + text
)


@st.composite
def workloads(draw: st.DrawFn) -> Workload:
    """Workloads as the standard filter leaves them."""
    size = draw(st.integers(1, 12))

    def column(values: st.SearchStrategy[Any], unique: bool = False) -> list[Any]:
        return draw(st.lists(values, min_size=size, max_size=size, unique=unique))

    columns: dict[str, Any] = {
        "id": column(st.integers(-(2**63), 2**63 - 1), unique=True),
        "submit": column(micros | st.just(0.0)),
        "processors": column(st.integers(1, 1000)),
        "run": column(micros),
        "time_limit": column(micros),
    }
    columns["run"] = [min(pair) for pair in zip(columns["run"], columns["time_limit"], strict=True)]
    for name in swf.FACTS:
        values = np.array(column(known), dtype=np.int64)
        if (values != -1).any():
            columns[name] = values
    return Workload.from_columns(
        columns,
        header=tuple(draw(st.lists(header_line, max_size=4))),
        machine=draw(st.none() | st.integers(1000, 2000)),
        epoch=draw(st.none() | st.integers(0, 2**33)),
    )


@pytest.mark.slow
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(workload=workloads(), ending=st.sampled_from([".swf", ".swf.gz"]))
def test_round_trip(tmp_path: Path, workload: Workload, ending: str) -> None:
    first, second = tmp_path / f"first{ending}", tmp_path / f"second{ending}"
    write_swf(workload, first)
    again = read_swf(first)
    assert same_jobs(workload, again)
    assert not again.dropped and not again.changed
    assert (again.machine, again.epoch) == (workload.machine, workload.epoch)
    assert again.header[: len(workload.header)] == workload.header
    write_swf(again, second)
    assert first.read_bytes() == second.read_bytes(), "a file written here is written again as it is"


def test_a_folder_that_is_not_there(trace: Write, tmp_path: Path) -> None:
    target = tmp_path / "none" / "out.swf"
    with pytest.raises(OutputError, match=rf"^{target}: cannot be written: No such file or directory"):
        write_swf(read_swf(trace(record())), target)


def test_a_write_that_fails_leaves_what_was_there(
    trace: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workload = read_swf(trace(record()))
    target = tmp_path / "out.swf"
    target.write_text("before")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("emulator.files.os.replace", full)
    with pytest.raises(OutputError, match=rf"^{target}: cannot be written: No space left on device"):
        write_swf(workload, target)
    assert target.read_text() == "before"
    assert sorted(os.listdir(tmp_path)) == ["log.swf", "out.swf"]


def test_a_written_file_replaces_what_was_there(trace: Write, tmp_path: Path) -> None:
    target = tmp_path / "out.swf"
    target.write_text("before")
    with target.open() as reader:
        write_swf(read_swf(trace(record())), target)
        assert reader.read() == "before", "who reads the old file goes on reading it"
    assert len(read_swf(target)) == 1
    assert sorted(os.listdir(tmp_path)) == ["log.swf", "out.swf"]


# Real logs -------------------------------------------------------------------------------

KTH, CTC = "KTH-SP2-1996-2.1-cln", "CTC-SP2-1996-3.1-cln"
SP2, BLUE, DS = "SDSC-SP2-1998-4.2-cln", "SDSC-BLUE-2000-4.2-cln", "SDSC-DS-2004-2.1-cln"


@pytest.mark.parametrize(
    ("log", "rules", "machine", "jobs", "read"),
    [
        (KTH, "standard", None, 28467, 28476),
        (KTH, "standard", 100, 28467, 28476),
        (CTC, "standard", None, 77205, 77222),
        (CTC, "standard", 430, 77205, 77222),
        (SP2, "standard", None, 54034, 59715),
        (BLUE, "standard", None, 223637, 243306),
        (CTC, "papers", 430, 77222, 77222),
        (DS, "papers", None, 85045, 96069),
        (BLUE, "papers", None, 223663, 243306),
    ],
)
def test_jobs_of_real_logs(traces: Path, log: str, rules: str, machine: int | None, jobs: int, read: int) -> None:
    workload = read_swf(traces / "swf" / f"{log}.swf.gz", filter=rules, machine=machine)
    assert (len(workload), workload.read) == (jobs, read)
    assert jobs + sum(each.count for each in workload.dropped) == read
    assert workload.machine == machine or {KTH: 100, CTC: 338, SP2: 128, BLUE: 1152, DS: 1664}[log]
    assert workload.name == log


def test_a_year_of_theta(traces: Path) -> None:
    workload = read_swf(traces / "alcf" / "theta_2022.swf.gz")
    assert (len(workload), workload.machine, workload.epoch, list(workload.facts)) == (23911, 4360, 0, ["status"])


def test_names_in_a_real_header(traces: Path) -> None:
    facts = header_facts(read_swf(traces / "swf" / f"{CTC}.swf.gz").header)
    assert facts.queues == {1: "DSI", 2: "astro", 3: "piofs", 4: "informix"}


@pytest.mark.parametrize("log", [KTH, CTC, SP2])
def test_real_logs_survive_a_round_trip(traces: Path, tmp_path: Path, log: str) -> None:
    workload = read_swf(traces / "swf" / f"{log}.swf.gz")
    write_swf(workload, tmp_path / "out.swf.gz")
    again = read_swf(tmp_path / "out.swf.gz")
    assert same_jobs(workload, again)
    assert again.header[: len(workload.header)] == workload.header


def test_a_large_log_is_read_fast_and_without_pandas(traces: Path) -> None:
    code = (
        "import sys, time\nfrom emulator.workload.swf import read_swf\nstart = time.process_time()\n"
        "read_swf(sys.argv[1])\nprint(time.process_time() - start, 'pandas' in sys.modules)"
    )
    command = [sys.executable, "-c", code, str(traces / "swf" / f"{BLUE}.swf.gz")]
    root = Path(__file__).resolve().parents[3]
    seconds, pandas = subprocess.run(command, capture_output=True, text=True, check=True, cwd=root).stdout.split()
    assert pandas == "False"
    # About 0.3 s on a machine of 2020; the slow way takes some 4 s.
    assert float(seconds) < 2
