"""CPU use: its distribution, and that a trace holds it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from emulator import read_swf, write_swf
from emulator.workload.models import cpu_use, lublin99, tsafrir05
from slurm_sim_plugins import ConfigurationError
from tests.builders.jobs import workload


def test_serial_jobs_use_all_and_others_a_uniform_share() -> None:
    made = cpu_use.assign(lublin99.generate(20_000, 64, 1), 3)
    use, serial = made.facts["cpu_use"], made.processors == 1
    assert set(use[serial]) == {1.0}
    assert stats.kstest(use[~serial], stats.uniform(0.4, 0.6).cdf).pvalue > 1e-4
    assert np.array_equal(use, np.round(use, 6))


def test_a_seed_gives_the_same_use_and_the_hash_tells() -> None:
    log = lublin99.generate(300, 64, 1)
    one, again, other = cpu_use.assign(log, 1), cpu_use.assign(log, 1), cpu_use.assign(log, 2)
    assert np.array_equal(one.facts["cpu_use"], again.facts["cpu_use"])
    assert not np.array_equal(one.facts["cpu_use"], other.facts["cpu_use"])
    assert len({each.source_hash for each in (log, one, other)}) == 3 and one.source_hash == again.source_hash
    assert set(cpu_use.assign(log, 1, low=1.0).facts["cpu_use"]) == {1.0}


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (0.6, 0.5), (0.4, 1.1), (math.nan, 1.0), (-0.4, 1.0)])
def test_bad_shares_are_refused(low: float, high: float) -> None:
    with pytest.raises(ConfigurationError, match="they must be shares"):
        cpu_use.assign(lublin99.generate(3, 4, 1), 1, low=low, high=high)


@pytest.mark.parametrize("name", ["jobs.swf", "jobs.swf.gz"])
def test_a_generated_workload_is_the_same_after_writing_and_reading(tmp_path: Path, name: str) -> None:
    made = cpu_use.assign(tsafrir05.assign(lublin99.generate(3000, 64, 1, kind="both"), 2), 3)
    write_swf(made, tmp_path / name)
    again = read_swf(tmp_path / name)
    assert list(again.columns()) == [*list(made.columns())[:5], "user", "queue", "cpu_use"]
    for column, values in made.columns().items():
        assert np.array_equal(values, again.columns()[column])
        assert values.dtype == again.columns()[column].dtype
    write_swf(again, tmp_path / "again.swf")
    assert read_swf(tmp_path / "again.swf").facts["cpu_use"].tolist() == made.facts["cpu_use"].tolist()


@pytest.mark.slow
@given(
    st.lists(
        st.tuples(st.integers(1, 10**9), st.sampled_from([1, 10**6]), st.integers(1, 10**6)), min_size=1, max_size=30
    )
)
def test_any_use_of_six_decimals_is_kept(tmp_path_factory: Any, rows: list[tuple[int, int, int]]) -> None:
    """Runs of whole seconds and of microseconds."""
    runs = [run / divisor for run, divisor, _ in rows]
    made = workload([(number, 0, 2, run, run + 1) for number, run in enumerate(runs, 1)])
    use = np.array([share / 10**6 for _, _, share in rows])
    path = tmp_path_factory.mktemp("use") / "jobs.swf"
    write_swf(type(made).from_columns({**made.columns(), "cpu_use": use}), path)
    assert read_swf(path).facts["cpu_use"].tolist() == use.tolist()


def test_unknown_use_stays_unknown(tmp_path: Path) -> None:
    made = workload([(1, 0, 1, 10, 20), (2, 0, 1, 0, 20), (3, 0, 1, 10, 20)])
    made = type(made).from_columns({**made.columns(), "cpu_use": [0.5, 0.5, math.nan]})
    write_swf(made, tmp_path / "jobs.swf")
    again = read_swf(tmp_path / "jobs.swf", filter="none").facts["cpu_use"]
    assert again[0] == 0.5 and np.isnan(again[1:]).all(), "a run of 0 s has no CPU time to tell its use"


def test_the_cpu_time_of_a_log_is_not_taken_for_it(tmp_path: Path) -> None:
    (tmp_path / "log.swf").write_text("1 0 -1 10 2 5 -1 -1 10 -1 1 1 1 -1 1 -1 -1 -1\n")
    assert "cpu_use" not in read_swf(tmp_path / "log.swf").facts


def test_a_column_that_a_trace_cannot_hold_is_named_in_it(tmp_path: Path) -> None:
    made = workload([(1, 0, 1, 10, 20)], predicted={1: 5.0})
    write_swf(made, tmp_path / "jobs.swf")
    assert (
        "; Note: column left out, for which the format has no field: predicted" in (tmp_path / "jobs.swf").read_text()
    )
