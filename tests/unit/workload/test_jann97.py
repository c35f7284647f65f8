"""The model of Jann et al.: fits, samples against theory, calibration, parameters as a file."""

from __future__ import annotations

import heapq
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from emulator.workload.models import common, jann97
from emulator.workload.models.hyper_erlang import HyperErlang, exponential
from emulator.workload.models.jann97 import calibrate, ctc, expect, fit, generate, jw, moments_by_range
from emulator.workload.models.jann97_parameters import (
    Jann97Parameters,
    SizeRange,
    parse_parameters,
    read_parameters,
    write_parameters,
)
from emulator.workload.workload import Workload
from slurm_sim_plugins import ConfigurationError, InputError, OutputError
from tests.builders.jobs import workload

FAR = 4.5
"""Standard deviations from its expectation that a mean exceeds once in 150,000 times."""
JOBS = 60_000


def log_of(seed: int = 1, jobs: int = 600) -> Workload:
    """A log whose sizes are 1 to 40."""
    rng = np.random.default_rng(seed)
    submit = np.cumsum(np.floor(rng.exponential(200.0, jobs)))
    sizes = rng.integers(1, 41, jobs)
    runs = np.floor(rng.lognormal(5, 1.5, jobs)) + 1
    rows = zip(range(1, jobs + 1), submit.tolist(), sizes.tolist(), runs.tolist(), (2 * runs).tolist(), strict=True)
    return workload(rows, name="log", machine=40)


# Fitting.


def test_a_fit_has_the_first_three_moments_of_each_range() -> None:
    log = log_of()
    ranges = fit(log).ranges
    assert [(each.sizes[0], each.sizes[-1]) for each in ranges] == [
        (1, 1),
        (2, 2),
        (3, 4),
        (5, 8),
        (9, 16),
        (17, 32),
        (33, 40),
    ]
    for each in ranges:
        mine = log.where(np.isin(log.processors, each.sizes))
        for fitted, values in ((each.gaps, np.diff(mine.submit)), (each.runs, mine.run)):
            if fitted.matched == 3:
                sample = [float((values**number).mean()) for number in (1, 2, 3)]
                assert [fitted.moment(number) for number in (1, 2, 3)] == pytest.approx(sample)
        assert dict(zip(each.sizes, each.jobs, strict=True)) == {
            size: int((log.processors == size).sum()) for size in each.sizes
        }


def test_a_range_of_few_jobs_gets_exponentials() -> None:
    rows = [(number, 10.0 * number, 1, 5, 60) for number in range(1, 40)]
    rows += [(100, 50, 2, 7, 60), (101, 90, 2, 9, 60), (102, 0, 4, 3, 60), (103, 20, 6, 3, 60), (104, 20, 6, 5, 60)]
    one, two, four, eight = fit(workload(rows)).ranges
    assert (two.gaps, two.runs) == (exponential(40.0), exponential(8.0))
    assert four.gaps == exponential(390.0), "a single job comes once in the log"
    assert eight.gaps == exponential(195.0), "jobs submitted at once come as often as they do in the log"
    assert one.gaps.order == 1000


def test_runs_of_no_time_count_as_one_second() -> None:
    rows = [(number, 10.0 * number, 1, 0, 60) for number in range(1, 6)]
    assert fit(workload(rows)).ranges[0].runs == exponential(1.0)


@pytest.mark.parametrize("rows", [[], [(1, 5, 1, 10, 60)], [(1, 5, 1, 10, 60), (2, 5, 1, 10, 60)]])
def test_a_log_without_gaps_is_refused(rows: list[Any]) -> None:
    with pytest.raises(InputError, match="no times between submissions"):
        fit(workload(rows))


# Samples.


def test_a_sample_has_the_moments_of_the_distributions() -> None:
    parameters = ctc()
    made = generate(JOBS, 400, 3, parameters=parameters)
    span = made.submit[-1]
    for each in parameters.ranges:
        mine = made.where(np.isin(made.processors, each.sizes))
        runs, gaps = ([one.moment(number) for number in (1, 2)] for one in (each.runs, each.gaps))
        error = math.sqrt((runs[1] - runs[0] ** 2) / len(mine))
        # Runs are rounded to whole seconds, 1 s at least, which moves a mean by less than that.
        assert abs(mine.run.mean() - runs[0]) < FAR * error + 1
        # The number of renewals in a time: its variance is that of the gaps over the cube of their mean.
        expected = span / gaps[0]
        assert abs(len(mine) - expected) < FAR * math.sqrt(expected * (gaps[1] / gaps[0] ** 2 - 1)) + 1
        variance = sum(size**2 * count for size, count in zip(each.sizes, each.jobs, strict=True)) / each.total
        variance -= each.mean_size**2
        assert abs(mine.processors.mean() - each.mean_size) <= FAR * math.sqrt(variance / len(mine))


def share_error(parameters: Jann97Parameters, values: list[float], jobs: int) -> float:
    """Standard deviation of the mean, over the jobs, of a value that each range has, for renewals."""
    rates = np.array([1 / each.gaps.moment(1) for each in parameters.ranges])
    variation = np.array([each.gaps.moment(2) / each.gaps.moment(1) ** 2 - 1 for each in parameters.ranges])
    shares = rates / rates.sum()
    distance = np.array(values) - shares @ values
    return math.sqrt(float(distance**2 @ (shares * variation)) / jobs)


def test_a_calibrated_sample_has_the_published_moments() -> None:
    made = jann97.describe(generate(100_000, 320, 5), 320)
    squares = [sum(size**2 * count for size, count in zip(each.sizes, each.jobs, strict=True)) for each in jw().ranges]
    rates = [1 / each.gaps.moment(1) / each.total for each in jw().ranges]
    spread = math.sqrt(float(np.dot(squares, rates)) / sum(1 / each.gaps.moment(1) for each in jw().ranges) / 100_000)
    error = share_error(jw(), [each.mean_size for each in jw().ranges], 100_000) + spread
    assert abs(made["mean_parallelism"] - made["published_mean_parallelism"]) < FAR * error
    error = share_error(jw(), [float(each.sizes == (1,)) for each in jw().ranges], 100_000)
    assert abs(made["serial_share"] - made["published_serial_share"]) < FAR * error
    spread = max(math.sqrt(each.runs.moment(2)) for each in jw().ranges) / math.sqrt(100_000)
    error = share_error(jw(), [each.runs.moment(1) for each in jw().ranges], 100_000) + spread
    assert abs(made["mean_run"] - made["published_mean_run"]) < FAR * error


def test_the_first_submissions_of_all_ranges_are_kept() -> None:
    request = common.Request(500, 400, 9)
    ranges = list(ctc().ranges)
    times, which = jann97._arrivals(ranges, request)
    streams = []
    for number, each in enumerate(ranges):
        one = jann97._arrival_times(each.gaps, request, each.sizes[0])
        streams.append([(time, number) for time in one.tolist()])
    merged = list(heapq.merge(*streams))[:500]
    assert times.tolist() == [time - merged[0][0] for time, _ in merged]
    assert which.tolist() == [number for _, number in merged]


# Machines.


def test_what_is_larger_than_the_machine_is_not_generated_and_the_rest_stays() -> None:
    request = common.Request(10, 100, 1)
    kept = jann97._that_fit(ctc(), request.processors)
    whole = [each for each in ctc().ranges if each.sizes[-1] <= 100]
    assert kept[: len(whole)] == whole
    cut, partly = kept[-1], ctc().ranges[len(whole)]
    assert len(kept) == len(whole) + 1
    assert (cut.sizes[0], cut.sizes[-1] <= 100, cut.runs) == (65, True, partly.runs)
    assert cut.gaps.moment(1) * cut.total == pytest.approx(partly.gaps.moment(1) * partly.total)
    assert generate(5000, 100, 1).processors.max() <= 100
    assert set(generate(100, 1, 1).processors) == {1}


def test_a_machine_for_which_all_jobs_are_too_large_is_refused() -> None:
    large = Jann97Parameters(tuple(each for each in ctc().ranges if each.sizes[0] > 64), "large")
    with pytest.raises(ConfigurationError, match="the smallest job of large takes 65 processors; the machine has 64"):
        generate(10, 64, 1, parameters=large)


# Calibration.


def test_calibration_gives_the_moments_and_keeps_rate_and_shapes() -> None:
    before, after = jann97._that_fit(ctc(), 320), jw().ranges
    assert expect(jw(), 320) == pytest.approx({"mean_parallelism": 10.5, "mean_run": 11267.0, "serial_share": 0.408})
    assert sum(1 / each.gaps.moment(1) for each in after) == pytest.approx(
        sum(1 / each.gaps.moment(1) for each in before)
    )
    factors = [one.gaps.first / other.gaps.first for one, other in zip(after, before, strict=True)]
    assert factors[1:] == sorted(factors[1:]), "the larger the rarer"
    for one, other in zip(after, before, strict=True):
        assert one.runs.first / other.runs.first == pytest.approx(1.0107, abs=1e-4)
        assert replace(one.gaps, first=1.0, second=1.0) == replace(other.gaps, first=1.0, second=1.0)


@pytest.mark.parametrize(
    ("moments", "words"),
    [
        ({"serial_share": 0.0}, "a serial share is between 0 and 1"),
        ({"mean_run": -1.0}, "a mean run time above 0 s"),
        ({"mean_parallelism": 300.0}, "a mean parallelism of 300 cannot be had"),
        ({"mean_parallelism": 1.1}, "a mean parallelism of 1.1 cannot be had"),
        ({"processors": 2}, "a serial range and two others"),
    ],
)
def test_moments_that_cannot_be_had_are_refused(moments: dict[str, Any], words: str) -> None:
    wanted = {"processors": 320, "serial_share": 0.4, "mean_parallelism": 10.0, "mean_run": 9000.0} | moments
    with pytest.raises(ConfigurationError, match=words):
        calibrate(ctc(), **wanted)


# Parameters as a file.


def test_parameters_are_the_same_after_writing_and_reading(tmp_path: Path) -> None:
    for parameters in (ctc(), jw(), fit(log_of())):
        write_parameters(parameters, tmp_path / "fit.toml")
        assert read_parameters(tmp_path / "fit.toml") == parameters
        assert read_parameters(tmp_path / "fit.toml").digest() == parameters.digest()


def test_an_imitation_needs_no_log(tmp_path: Path) -> None:
    parameters = fit(log_of())
    write_parameters(parameters, tmp_path / "fit.toml")
    one = generate(300, 40, 1, parameters=parameters)
    other = generate(300, 40, 1, parameters=read_parameters(tmp_path / "fit.toml"))
    assert (one.source_hash, one.header) == (other.source_hash, other.header)
    assert all(np.array_equal(values, other.columns()[name]) for name, values in one.columns().items())


GOOD = """\
source = "a log"
[[range]]
sizes = [1]
jobs = [5]
gaps = {order = 1, share = 0.5, first = 100, second = 20.5, matched = 3}
runs = {order = 2, share = 0.5, first = 100.0, second = 20.5, matched = 3}
"""


def test_a_file_written_by_hand_is_read() -> None:
    gaps, runs = HyperErlang(1, 0.5, 100.0, 20.5), HyperErlang(2, 0.5, 100.0, 20.5)
    assert parse_parameters(GOOD, "x") == Jann97Parameters((SizeRange((1,), (5,), gaps, runs),), "a log")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("source = ", "sauce = ", "x.toml: has the unknown key 'sauce'; the keys are range, source"),
        ('source = "a log"\n', "", "x.toml: has no source"),
        ("[[range]]", "[range]", "x.toml: range is"),
        ("sizes = [1]", "sizes = [1.5]", "x.toml: range 1: sizes holds 1.5; it takes whole numbers"),
        ("sizes = [1]", "sizes = [0]", "x.toml: range 1: jann97: a size is 0; it must be 1 or more"),
        ("sizes = [1]", "sizes = [1, 2]", "x.toml: range 1: jann97: a range needs as many"),
        ("jobs = [5]", "jobs = [true]", "x.toml: range 1: jobs holds True"),
        ("jobs = [5]", "jobs = [-5]", "a number of jobs is -5"),
        ("order = 1", 'order = "1"', "x.toml: range 1: gaps: order is '1'; it takes a whole number"),
        ("order = 2", "order = 0", "x.toml: range 1: runs: order is 0; it must be 1 or more"),
        ("first = 100,", "first = nan,", "x.toml: range 1: gaps: hyper-Erlang: first is nan"),
        ("share = 0.5, first = 100,", "share = 2, first = 100,", "share is 2.0"),
        (", matched = 3}\nruns", "}\nruns", "x.toml: range 1: gaps: has no matched"),
        ("source = ", "source : ", "x.toml: is not TOML"),
        ('source = "a log"', 'source = "a log"\nrange = [3]\n[more]', "unknown key 'more'"),
    ],
)
def test_a_file_that_holds_something_else_is_refused_with_its_place(old: str, new: str, words: str) -> None:
    text = GOOD.replace(old, new, 1)
    text = text.partition("[[range]]")[0] if "[more]" in new else text
    with pytest.raises(InputError) as error:
        parse_parameters(text, "x.toml")
    assert words in str(error.value)


def test_ranges_must_be_apart_and_ascend() -> None:
    doubled = GOOD + GOOD.partition("\n")[2]
    with pytest.raises(InputError, match="no size can be in two"):
        parse_parameters(doubled, "x.toml")
    with pytest.raises(InputError, match="there is no range"):
        parse_parameters('source = "x"\nrange = []', "x.toml")
    with pytest.raises(InputError, match=r"sizes \[2, 1\] \.\.\. must ascend"):
        parse_parameters(GOOD.replace("[1]", "[2, 1]").replace("[5]", "[5, 5]"), "x.toml")


def test_files_that_cannot_be_read_or_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.toml: cannot be read"):
        read_parameters(tmp_path / "none.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="is not TOML"):
        read_parameters(tmp_path / "bytes.toml")
    with pytest.raises(OutputError):
        write_parameters(ctc(), tmp_path / "missing" / "fit.toml")


# What is said of ranges.


def test_moments_by_range() -> None:
    rows = [(1, 0, 1, 10, 60), (2, 4, 3, 10, 60), (3, 6, 4, 40, 60), (4, 12, 3, 10, 60)]
    serial, parallel = moments_by_range(workload(rows))
    assert (serial.least, serial.most, serial.jobs, serial.mean_size, serial.runs[:2]) == (1, 1, 1, 1.0, (10.0, 0.0))
    assert math.isnan(serial.gaps[0]) and math.isnan(serial.runs[2])
    assert (parallel.least, parallel.most, parallel.jobs) == (3, 4, 3)
    assert parallel.gaps == pytest.approx((4.0, 0.5, 0.0))
    assert parallel.runs == pytest.approx((20.0, math.sqrt(200) / 20, 1 / math.sqrt(2)))
