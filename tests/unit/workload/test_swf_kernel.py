"""The kernel that reads traces beside the reader that can tell what is wrong, and beside itself as plain Python."""

from __future__ import annotations

import importlib.util
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.workload import swf, swf_kernel
from slurm_sim_plugins.kernels import ROOT, why_plain

PIECES = st.sampled_from(
    ["0", "1", "-1", "17", "430", "007", "1.5", "-0", "-2.25", "3.", ".5", "1e3", "+4", "nan", "x"]
)
LONG = st.sampled_from(["123456789012345678", "1234567890123456789", "0.1234567890123", "12345678901234.56", "9" * 16])
USUAL = st.sampled_from(["0", "1", "-1", "17", "86400", "3.5"])


def plain() -> ModuleType:
    spec = importlib.util.spec_from_file_location("plain_swf_kernel", ROOT / "emulator/workload/swf_kernel.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


FORMS = [plain()] if why_plain() else [plain(), swf_kernel]


@st.composite
def files(draw: st.DrawFn) -> bytes:
    """Mostly records of 18 numbers; sometimes something else."""
    lines = []
    for _ in range(draw(st.integers(1, 6))):
        kind = draw(st.integers(0, 9))
        count = draw(st.integers(16, 20)) if kind == 0 else 18
        words = [draw(PIECES | LONG if kind == 1 else USUAL) for _ in range(count)]
        begin = draw(st.sampled_from(["", " ", "\t ", "; comment "])) if kind < 4 else ""
        lines.append(begin + draw(st.sampled_from([" ", "  ", "\t"])).join(words) + ("  " if kind == 5 else ""))
        if kind in (2, 3):
            lines.append(draw(st.sampled_from(["", " ", ";", "; Note: \xe9"])))
    return ("\n".join(lines) + draw(st.sampled_from(["", "\n", "\n\n"]))).encode("latin-1")


@settings(max_examples=150)
@given(files())
def test_it_reads_what_the_slow_reader_reads(data: bytes) -> None:
    lines = data.decode("latin-1").removesuffix("\n").split("\n")
    slow = swf._read_slowly(lines, 1)
    fast = None
    for form in FORMS:
        found = swf._read_compiled(data, form.parse)
        assert (found is None) == (fast is None) or form is FORMS[0]
        fast = found
        if found is None:
            continue
        assert not slow.bad
        assert found.header == slow.header and found.lines.tolist() == slow.lines.tolist()
        assert found.columns.keys() == slow.columns.keys()
        for name, column in found.columns.items():
            assert column.dtype == slow.columns[name].dtype
            assert column.tobytes() == slow.columns[name].tobytes(), name


def test_what_is_usual_is_not_left_to_others() -> None:
    record = " ".join(["5", "100", "-1", "60.5", "4", "-1", "-1", "4", "3600"] + ["-1"] * 9)
    data = f"; MaxProcs: 8\n\n{record}\n  {record}".encode()
    for form in FORMS:
        found = swf._read_compiled(data, form.parse)
        assert found is not None
        assert found.header == ["; MaxProcs: 8"] and found.lines.tolist() == [3, 4]
        assert found.columns["run"].tolist() == [60.5, 60.5] and found.columns["allocated"].tolist() == [4, 4]


@pytest.mark.parametrize("count", [1, 3])
def test_more_comments_than_there_is_room_for(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(swf, "MOST_COMMENTS", 2)
    data = b"; one\n" * count + b"1 " * 18
    for form in FORMS:
        assert (swf._read_compiled(data, form.parse) is None) == (count > 2)
    assert np.array_equal(swf._parse("file", data, "error").columns["id"], [1])
