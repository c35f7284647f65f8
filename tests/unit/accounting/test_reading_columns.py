"""Columns that are made from Arrow's bytes, beside Arrow's own conversion."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.accounting.records import read_columns

KINDS: dict[str, tuple[pyarrow.DataType, st.SearchStrategy[Any]]] = {
    "whole": (pyarrow.int64(), st.integers(-(2**50), 2**50)),
    "small": (pyarrow.int8(), st.integers(-100, 100)),
    "real": (pyarrow.float64(), st.floats(allow_nan=True)),
    "single": (pyarrow.float32(), st.floats(width=32)),
    "flag": (pyarrow.bool_(), st.booleans()),
    "word": (pyarrow.string(), st.text(max_size=3)),
    "day": (pyarrow.timestamp("s"), st.integers(0, 2**31)),
}


def as_arrow_has_it(column: pyarrow.ChunkedArray) -> Any:
    if column.null_count and pyarrow.types.is_integer(column.type):
        column = column.cast(pyarrow.float64())
    return column.to_numpy()


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(st.data(), st.integers(0, 40), st.integers(1, 20), st.booleans())
def test_columns_are_those_of_arrow(data: Any, rows: int, group: int, nulls: bool) -> None:
    given = {
        name: pyarrow.array(
            data.draw(st.lists(st.one_of(st.none(), values) if nulls else values, min_size=rows, max_size=rows)), kind
        )
        for name, (kind, values) in KINDS.items()
    }
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "columns.parquet"
        pyarrow.parquet.write_table(pyarrow.table(given), file, row_group_size=group)
        found, table = read_columns(file), pyarrow.parquet.read_table(file)
    assert list(found) == table.column_names
    for name, column in found.items():
        expected = as_arrow_has_it(table[name])
        assert column.dtype == expected.dtype
        assert np.array_equal(column, expected, equal_nan=column.dtype.kind in "fM")


def test_an_answer_about_a_run_needs_no_pandas(tmp_path: Path) -> None:
    log = tmp_path / "log.swf"
    log.write_text("".join(f"{number} {number} -1 9 4 -1 -1 4 9 -1 1 1 1 -1 1 1 -1 -1\n" for number in range(1, 9)))
    command = [sys.executable, "-m", "slurm_sim", "run", str(log), "--processors", "4", "--out", str(tmp_path / "run")]
    subprocess.run(command, check=True, capture_output=True)
    code = (
        "import sys; from emulator.accounting.runfolder import read_run; from pathlib import Path;"
        f"read_run(Path({str(tmp_path / 'run')!r})); print('pandas' in sys.modules)"
    )
    said = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert said.strip() == "False"


THREADS = """
import os, sys
from pathlib import Path
from emulator.accounting.records import read_columns
import pyarrow, pyarrow.parquet
before = len(os.listdir("/proc/self/task"))
read_columns(Path(sys.argv[1]))
print(len(os.listdir("/proc/self/task")) - before)
"""


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="counts the threads of a process under /proc")
def test_no_thread_is_left_that_the_end_of_the_process_could_catch_at_work(tmp_path: Path) -> None:
    path = tmp_path / "columns.parquet"
    pyarrow.parquet.write_table(pyarrow.table({name: list(range(50_000)) for name in "abcd"}), path)
    told = subprocess.run([sys.executable, "-c", THREADS, path], capture_output=True, text=True, check=True)
    assert told.stdout == "0\n"
