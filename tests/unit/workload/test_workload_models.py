"""What all workload models have in common."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator import Workload, write_swf
from emulator.workload.models import common, feitelson96, jann97, lublin99
from slurm_sim_plugins import ConfigurationError
from tests.builders.jobs import workload

MODELS = {"lublin99": lublin99, "feitelson96": feitelson96, "jann97": jann97}
EACH = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
COMMON = ("load", "overload", "estimates", "estimate_factor", "users")


def generate(model: Any, *args: Any, **options: Any) -> Workload:
    made: Workload = model.generate(*args, **options)
    return made


@EACH
def test_all_are_called_alike(model: Any) -> None:
    names = list(inspect.signature(model.generate).parameters)
    assert names[:3] == ["jobs", "processors", "seed"]
    assert set(COMMON) < set(names[3:])
    assert list(inspect.signature(model.describe).parameters) == ["workload", "processors"]


@EACH
def test_the_same_seed_gives_the_same_bytes(model: Any, tmp_path: Path) -> None:
    for name in ("one.swf", "other.swf"):
        write_swf(generate(model, 2000, 64, 5, load=0.6), tmp_path / name)
    assert (tmp_path / "one.swf").read_bytes() == (tmp_path / "other.swf").read_bytes()
    one, other = generate(model, 500, 64, 5), generate(model, 500, 64, 6)
    assert one.source_hash != other.source_hash
    for name in ("submit", "processors", "run", "time_limit"):
        assert not np.array_equal(getattr(one, name), getattr(other, name))


@EACH
def test_streams_are_independent(model: Any) -> None:
    base = generate(model, 800, 64, 5)
    changes: list[tuple[dict[str, Any], set[str]]] = [
        ({"users": 3}, {"user"}),
        ({"estimates": "exact"}, {"time_limit"}),
        ({"load": 0.3}, {"submit"}),
    ]
    for options, expected in changes:
        other = generate(model, 800, 64, 5, **options)
        assert other.source_hash != base.source_hash
        columns = other.columns()
        assert {
            name for name, values in base.columns().items() if not np.array_equal(values, columns[name])
        } == expected


@EACH
@pytest.mark.parametrize("load", [0.05, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("processors", [16, 320])
def test_a_load_is_reached_within_one_percent(model: Any, load: float, processors: int) -> None:
    made = generate(model, 3000, processors, 3, load=load)
    assert made.load(processors) == pytest.approx(load, rel=0.01)
    assert model.describe(made, processors)["load"] == made.load(processors)


@EACH
def test_a_load_scales_the_gaps_and_nothing_else(model: Any) -> None:
    base, scaled = generate(model, 3000, 128, 20), generate(model, 3000, 128, 20, load=0.3)
    factor = base.load(128) / 0.3
    assert np.abs(scaled.submit - base.submit * factor).max() <= 1 + factor


@EACH
@settings(max_examples=40)
@given(
    jobs=st.integers(1, 200),
    processors=st.integers(1, 3000),
    seed=st.integers(0, 2**70),
    estimates=st.sampled_from(["factor", "exact"]),
    users=st.none() | st.integers(0, 5),
)
def test_what_holds_of_every_workload(model: Any, jobs: int, processors: int, **others: Any) -> None:
    made = generate(model, jobs, processors, **others)
    assert made.id.tolist() == list(range(1, jobs + 1))
    assert made.submit[0] == 0 and (np.diff(made.submit) >= 0).all()
    assert made.processors.min() >= 1 and made.processors.max() <= processors
    assert made.run.min() >= 1
    assert (made.time_limit >= made.run).all()
    for times in (made.submit, made.run, made.time_limit):
        assert np.array_equal(times, np.rint(times))
    assert ("user" in made.facts) == (others["users"] != 0)
    assert (made.machine, made.read, len(made.source_hash)) == (processors, jobs, 64)
    assert all(line.startswith("; ") and "\n" not in line for line in made.header)


@EACH
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"jobs": 0}, "jobs is 0; it must be 1 or more"),
        ({"jobs": -3}, "jobs is -3"),
        ({"jobs": 2.5}, "jobs is 2.5; it must be a whole number"),
        ({"processors": 0}, "processors is 0"),
        ({"processors": -320}, "processors is -320"),
        ({"processors": 2**31}, "2147483647 or less"),
        ({"seed": -1}, "seed is -1"),
        ({"load": 0.0}, "load is 0.0; it must be a finite number above 0"),
        ({"load": -0.5}, "load is -0.5"),
        ({"load": math.nan}, "load is nan"),
        ({"load": 1.5}, "above 1 the queue grows"),
        ({"load": 90, "overload": True, "jobs": 1}, "2 jobs or more"),
        ({"load": 101, "overload": True}, "100 or less"),
        ({"users": -1}, "users is -1"),
        ({"estimates": "modal"}, "estimates is 'modal'; it must be one of factor, exact"),
        ({"estimate_factor": 0.5}, "estimate_factor is 0.5"),
        ({"estimate_factor": math.nan}, "estimate_factor is nan"),
        ({"estimate_factor": "5"}, "estimate_factor is '5'; it must be a number"),
        ({"load": True}, "load is True; it must be a number"),
    ],
)
def test_bad_arguments_are_refused(model: Any, arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigurationError) as error:
        model.generate(**{"jobs": 10, "processors": 128, "seed": 1} | arguments)
    assert words in str(error.value)


@EACH
def test_an_overload_is_possible_where_it_is_wanted(model: Any) -> None:
    assert generate(model, 2000, 64, 1, load=1.5, overload=True).load(64) == pytest.approx(1.5, rel=0.01)


PUBLISHED = {
    feitelson96: {"mean_parallelism": 23.4, "mean_run": 2606.6, "serial_share": 0.18},
    jann97: {"mean_parallelism": 10.5, "mean_run": 11267.0, "serial_share": 0.408},
}
FOUR = [(1, 0, 1, 10, 60), (2, 5, 2, 10, 60), (3, 10, 3, 10, 60), (4, 20, 8, 10, 60)]


@EACH
def test_moments_stand_beside_the_published_ones_of_that_machine(model: Any) -> None:
    own = {"mean_parallelism": 3.5, "mean_run": 10.0, "serial_share": 0.25, "power_of_two_share": 0.5}
    published = {f"published_{name}": value for name, value in PUBLISHED.get(model, {}).items()}
    assert model.describe(workload(FOUR), 10) == own | {"load": 0.7}
    assert model.describe(workload(FOUR), 320) == own | {"load": pytest.approx(7 / 320)} | published


@EACH
def test_moments_of_nothing_or_of_too_large_a_job_are_refused(model: Any) -> None:
    with pytest.raises(ConfigurationError, match="no moments"):
        model.describe(workload(FOUR).where(np.zeros(4, dtype=np.bool_)), 10)
    with pytest.raises(ConfigurationError, match="job 4 needs 8 processors, more than the machine's 7"):
        model.describe(workload(FOUR), 7)
    with pytest.raises(ConfigurationError, match="processors is 0"):
        model.describe(workload(FOUR), 0)


def test_a_load_that_whole_seconds_cannot_give_is_refused() -> None:
    request = common.Request(jobs=3, processors=2, seed=0, load=0.9)
    make: Callable[..., Workload] = common.assemble
    columns = {"submit": np.arange(3.0), "processors": np.ones(3, np.int64), "run": np.array([30.0, 30.0, 31.0])}
    # 50.6 s would be needed; cut to 50 s, they give 0.91.
    with pytest.raises(ConfigurationError, match="whole seconds"):
        make(request, name="m", title="M", columns=columns, settings={}, rng=common.stream(0, "m"))
