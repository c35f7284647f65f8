"""The Lublin and Feitelson model against its own distributions and a slow second sampler."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from emulator.workload.models.lublin99 import (
    BATCH,
    COMBINED,
    INTERACTIVE,
    Lublin99Parameters,
    day_weights,
    describe,
    generate,
)
from emulator.workload.workload import Floats, Ints, Workload
from slurm_sim_plugins.errors import ConfigurationError

JOBS = 40_000
PRESETS = {"combined": COMBINED, "batch": BATCH, "interactive": INTERACTIVE}
KINDS = pytest.mark.parametrize("kind", list(PRESETS))


def largest_distance(jobs: int) -> float:
    """A Kolmogorov-Smirnov distance that one true sample in 10,000 exceeds."""
    return math.sqrt(math.log(2 / 1e-4) / 2 / jobs)


# A second sampler, job by job in plain Python.


def slow_size(p: Lublin99Parameters, machine: int, rng: random.Random) -> int:
    sort = rng.random()
    if sort < p.serial:
        return 1
    u = rng.uniform(p.ulow, p.umed) if rng.random() < p.uprob else rng.uniform(p.umed, p.uhi)
    if sort < p.serial + p.pow2:
        u = math.floor(u + 0.5)
    return min(machine, round(2**u))


def slow_run(p: Lublin99Parameters, size: int, rng: random.Random) -> int:
    while True:
        short = rng.random() < p.pa * size + p.pb
        log = rng.gammavariate(p.a1, p.b1) if short else rng.gammavariate(p.a2, p.b2)
        if log <= 12:
            return int(math.exp(log))


def cycle(p: Lublin99Parameters) -> list[float]:
    """Weights of the half hours from midnight, of mean 1, from the integral of the density."""
    gamma = stats.gamma(p.anum, scale=p.bnum)
    weights = [0.0] * 48
    for number in range(11, 59):
        weights[(number - 1) % 48] = float(gamma.cdf(number + 0.5) - gamma.cdf(number - 0.5))
    return [weight / sum(weights) * 48 for weight in weights]


def slow_submits(p: Lublin99Parameters, jobs: int, rng: random.Random) -> list[int]:
    """Bucket by bucket; the time within a bucket is in proportion to what it was paid."""
    weights, bucket, paid, submits = cycle(p), 0, 0.0, [0]
    while len(submits) < jobs:
        log = rng.gammavariate(p.aarr * p.arar, p.barr)
        if log > 13:
            continue
        points = math.exp(log) / 1800
        while points >= weights[bucket % 48] - paid:
            points -= weights[bucket % 48] - paid
            bucket, paid = bucket + 1, 0.0
        paid += points
        submits.append(int(1800 * (bucket + paid / weights[bucket % 48])))
    return submits


def alike(one: Any, other: Any) -> bool:
    return float(stats.ks_2samp(one, other).pvalue) > 1e-3


@KINDS
def test_sizes_agree_with_the_slow_sampler(kind: Any) -> None:
    rng = random.Random(5)
    sizes = generate(JOBS, 128, 1, kind=kind).processors
    slow = np.array([slow_size(PRESETS[kind], 128, rng) for _ in range(JOBS)])
    assert alike(sizes, slow)
    values = np.union1d(sizes, slow)
    table = np.array([[(sample == value).sum() for value in values] for sample in (sizes, slow)])
    assert stats.chi2_contingency(table[:, table.sum(axis=0) >= 20]).pvalue > 1e-3


@KINDS
def test_runs_agree_with_the_slow_sampler(kind: Any) -> None:
    rng = random.Random(6)
    workload = generate(JOBS, 128, 2, kind=kind)
    assert alike(workload.run, [slow_run(PRESETS[kind], int(size), rng) for size in workload.processors])


@KINDS
def test_gaps_agree_with_the_slow_sampler(kind: Any) -> None:
    fast, slow = generate(JOBS, 128, 3, kind=kind).submit, slow_submits(PRESETS[kind], JOBS, random.Random(7))
    assert alike(np.diff(fast), np.diff(slow))
    # Times of the day depend on each other, which widens the distance of two true samples.
    assert stats.ks_2samp(fast % 86400, np.array(slow) % 86400).statistic < 0.04


# Analytic distributions.


def size_probabilities(p: Lublin99Parameters, machine: int) -> Floats:
    """Of the sizes 0 (none), 1, 2, ... machine."""
    edges = [p.ulow, p.umed, p.uhi]
    half = np.log2(np.arange(machine + 1) + 0.5)
    unrounded = np.diff(np.interp(half, edges, [0, p.uprob, 1]), prepend=0)
    powers = np.diff(np.interp(np.arange(math.log2(machine) + 1) + 0.5, edges, [0, p.uprob, 1]), prepend=0)
    shares: Floats = (1 - p.serial - p.pow2) * unrounded
    shares[2 ** np.arange(len(powers))] += p.pow2 * powers
    shares[1] += p.serial
    return shares


@pytest.mark.parametrize("kind", ["combined", "batch"])
def test_sizes_follow_the_two_stage_uniform(kind: Any) -> None:
    shares = size_probabilities(PRESETS[kind], 128)
    assert shares.sum() == pytest.approx(1)
    seen = np.bincount(generate(JOBS, 128, 4, kind=kind).processors, minlength=129)
    often = shares * JOBS >= 10
    seen_groups = [*seen[often], seen[~often].sum()]
    expected = [*shares[often] * JOBS, shares[~often].sum() * JOBS]
    assert stats.chisquare(seen_groups, expected).pvalue > 1e-3


@KINDS
def test_shares_are_those_of_the_table(kind: Any) -> None:
    p, moments = PRESETS[kind], describe(generate(JOBS, 128, 8, kind=kind), 128)
    assert moments["serial_share"] == pytest.approx(p.serial, abs=4 * math.sqrt(p.serial / JOBS))
    # Sizes that are not rounded add some powers of two by chance.
    assert p.pow2 - 0.01 < moments["power_of_two_share"] < p.pow2 + 0.1


def run_distribution(p: Lublin99Parameters, sizes: Ints, seconds: Floats) -> Floats:
    """P(run <= seconds) of the hyper-gamma cut at 12, for whole seconds, averaged over the jobs."""
    logs = np.minimum(np.log(seconds + 1), 12)
    first, second = stats.gamma(p.a1, scale=p.b1), stats.gamma(p.a2, scale=p.b2)
    total = np.zeros(len(seconds))
    for size, count in zip(*np.unique(sizes, return_counts=True), strict=True):
        short = min(1, max(0, p.pa * size + p.pb))
        whole = short * first.cdf(12) + (1 - short) * second.cdf(12)
        total += count * (short * first.cdf(logs) + (1 - short) * second.cdf(logs)) / whole
    return np.asarray(total / len(sizes), dtype=np.float64)


@pytest.mark.slow
@KINDS
@pytest.mark.parametrize("machine", [128, 1024])
def test_runs_follow_the_hyper_gamma(kind: Any, machine: int) -> None:
    workload = generate(JOBS, machine, 9, kind=kind)
    for sizes in ((1, 1), (2, 16), (17, machine)):
        part = workload.where((workload.processors >= sizes[0]) & (workload.processors <= sizes[1]))
        seconds = np.unique(part.run)
        seen = np.searchsorted(np.sort(part.run), seconds, side="right") / len(part)
        expected = run_distribution(PRESETS[kind], part.processors, seconds)
        assert np.abs(seen - expected).max() < largest_distance(len(part)), sizes


def test_the_mean_run_is_that_of_the_hyper_gamma() -> None:
    runs = generate(200_000, 1, 10, umed_below=2.5).run
    p, logs = COMBINED, np.linspace(0, 12, 20_001)
    short = p.pa + p.pb
    density = short * stats.gamma.pdf(logs, p.a1, scale=p.b1) + (1 - short) * stats.gamma.pdf(logs, p.a2, scale=p.b2)
    density /= integrate.trapezoid(density, logs)
    mean = float(integrate.trapezoid(density * np.exp(logs), logs))
    assert runs.mean() == pytest.approx(mean - 0.5, abs=4 * runs.std() / math.sqrt(len(runs)))


@KINDS
def test_gaps_without_the_cycle_follow_the_gamma(kind: Any) -> None:
    p, submit = PRESETS[kind], generate(JOBS, 128, 11, kind=kind).submit
    through_day = np.concatenate(([0.0], np.cumsum(cycle(p)))) * 1800
    day, rest = np.divmod(submit, 86400)
    even = day * 86400 + np.interp(rest, np.arange(49) * 1800, through_day)
    gamma = stats.gamma(p.aarr * p.arar, scale=p.barr)
    gaps = np.sort(np.diff(even))
    # Gaps of a few seconds carry the error of whole seconds.
    levels = np.exp(np.linspace(4, 13, 200))
    seen = np.searchsorted(gaps, levels, side="right") / len(gaps)
    assert np.abs(seen - gamma.cdf(np.log(levels)) / gamma.cdf(13)).max() < largest_distance(len(gaps)) + 0.003


@KINDS
def test_weights_are_the_gamma_over_the_turned_day(kind: Any) -> None:
    weights = day_weights(PRESETS[kind])
    assert weights.mean() == pytest.approx(1)
    assert weights == pytest.approx(cycle(PRESETS[kind]), rel=0.05, abs=0.01)
    assert 25 <= weights.argmax() <= 28
    assert weights.argmin() in (9, 10)


@pytest.mark.parametrize("kind", list(PRESETS))
def test_arrivals_follow_the_daily_cycle(kind: Any) -> None:
    submit = generate(200_000, 128, 12, kind=kind).submit
    whole_days = submit[submit < submit[-1] // 86400 * 86400]
    counts = np.bincount((whole_days % 86400 // 1800).astype(np.int64), minlength=48)
    assert np.corrcoef(counts, cycle(PRESETS[kind]))[0, 1] > 0.99
    assert counts / counts.mean() == pytest.approx(cycle(PRESETS[kind]), abs=0.25)


def test_caps_are_respected_and_reached_by_redrawing() -> None:
    long = replace(COMBINED, a1=30.0, b1=0.4, a2=30.0, b2=0.4, aarr=30.0, barr=0.45, arar=1.0)
    workload = generate(20_000, 128, 13, parameters=long)
    assert workload.run.max() <= math.floor(math.exp(12))
    # Cutting instead of redrawing would pile up half of the runs at the cap.
    assert (workload.run == workload.run.max()).sum() < 20
    through_day = np.concatenate(([0.0], np.cumsum(day_weights(long)))) * 1800
    day, rest = np.divmod(workload.submit, 86400)
    gaps = np.diff(day * 86400 + np.interp(rest, np.arange(49) * 1800, through_day))
    assert math.exp(12.9) < gaps.max() <= math.exp(13) + 2
    assert (gaps > gaps.max() - 10).sum() < 20


def test_parameters_that_leave_no_time_below_the_cap_are_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"exp\(12\)"):
        generate(10, 128, 1, parameters=replace(COMBINED, a1=1e4, a2=1e6))


# Machines.


def test_one_processor_makes_all_jobs_serial() -> None:
    for kind in ("combined", "batch", "interactive", "both"):
        assert set(generate(200, 1, 1, kind=kind).processors) == {1}


@pytest.mark.parametrize("machine", [2, 3, 5, 8, 100, 128, 1000, 4096])
def test_the_machine_is_used_to_its_full_size(machine: int) -> None:
    workload = generate(20_000, machine, 14)
    assert 0.99 * machine <= workload.processors.max() <= machine
    parallel = workload.processors > 1
    assert parallel.mean() == pytest.approx(1 - COMBINED.serial, abs=0.02)
    assert describe(workload, machine)["power_of_two_share"] > COMBINED.pow2 - 0.02


@KINDS
@pytest.mark.parametrize("machine", [2, 3])
def test_parallel_jobs_stay_parallel_on_small_machines(kind: Any, machine: int) -> None:
    serial = describe(generate(JOBS, machine, 27, kind=kind), machine)["serial_share"]
    assert serial == pytest.approx(PRESETS[kind].serial, abs=0.02)


def test_rounding_stays_within_a_machine_that_is_no_power_of_two() -> None:
    everything_large = replace(COMBINED, serial=0.0, pow2=1.0, uprob=0.0)
    assert set(generate(2000, 100, 28, parameters=everything_large).processors) == {16, 32, 64}


@pytest.mark.parametrize(("machine", "umed"), [(1024, 7.5), (64, 3.5), (16, 1.5), (8, 1.5)])
def test_umed_stays_below_uhi_by_the_same_distance(machine: int, umed: float) -> None:
    expected = size_probabilities(replace(COMBINED, umed=umed, uhi=math.log2(machine)), machine)
    seen = np.bincount(generate(JOBS, machine, 15).processors, minlength=machine + 1) / JOBS
    assert np.abs(np.cumsum(seen) - np.cumsum(expected)).max() < largest_distance(JOBS)


def test_options_for_sizes() -> None:
    table = generate(2000, 1024, 16, sizes="table")
    assert table.processors.max() == 128
    assert np.array_equal(table.processors, generate(2000, 128, 16).processors)
    assert generate(2000, 32, 16, sizes="table").processors.max() == 32
    means = [generate(20_000, 1024, 16, umed_below=below).processors.mean() for below in (1.5, 2.5, 3.5)]
    assert means[0] > means[1] * 1.2 > means[2] * 1.44
    assert np.array_equal(generate(500, 1024, 16, umed_below=2.5).processors, generate(500, 1024, 16).processors)


# Both types.


def test_both_merges_two_streams() -> None:
    both = generate(JOBS, 128, 17, kind="both")
    queue = both.facts["queue"]
    assert set(queue) == {0, 1}
    assert np.all(np.diff(both.submit) >= 0)
    for number, kind in ((0, "interactive"), (1, "batch")):
        part = both.where(queue == number)
        alone = generate(JOBS, 128, 17, kind=kind)  # type: ignore[arg-type]
        assert np.array_equal(part.submit, alone.submit[: len(part)])
        assert abs(describe(part, 128)["serial_share"] - PRESETS[kind].serial) < 0.02
        assert alike(part.run, alone.run)
    assert "queue" not in generate(5, 128, 17, kind="batch").facts


def test_the_streams_of_both_are_independent() -> None:
    gaps = [np.diff(generate(JOBS, 128, 29, kind=kind).submit) for kind in ("batch", "interactive")]
    assert abs(stats.spearmanr(*gaps).statistic) < 0.025


def test_the_first_of_both_streams_are_kept() -> None:
    last = generate(1000, 128, 18, kind="both").submit[-1]
    counts = [(generate(1000, 128, 18, kind=kind).submit <= last).sum() for kind in ("batch", "interactive")]
    assert sum(counts) == 1000


# Load, estimates, users.


@pytest.mark.parametrize("load", [0.05, 0.5, 0.8, 1.2])
@pytest.mark.parametrize("kind", ["combined", "both"])
def test_load_comes_out_as_asked(load: float, kind: Any) -> None:
    workload = generate(3000, 320, 19, load=load, overload=True, kind=kind)
    assert workload.load(320) == pytest.approx(load, rel=0.01)
    assert describe(workload, 320)["load"] == workload.load(320)


def test_load_scales_the_gaps_and_nothing_else() -> None:
    base = generate(3000, 128, 20)
    scaled = generate(3000, 128, 20, load=0.3)
    factor = base.load(128) / 0.3
    assert np.abs(scaled.submit - base.submit * factor).max() <= 1 + factor
    for column in ("processors", "run", "time_limit"):
        assert np.array_equal(getattr(scaled, column), getattr(base, column))


def test_a_load_out_of_reach_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="whole seconds"):
        generate(3, 2**30, 1, load=1.0, parameters=replace(COMBINED, serial=1.0, pow2=0.0))
    with pytest.raises(ConfigurationError, match="all at once"):
        generate(2, 128, 1, load=0.5, kind="both")
    with pytest.raises(ConfigurationError, match="too long"):
        generate(10, 128, 1, load=1e-300)


def test_limits_over_estimate_by_a_uniform_factor() -> None:
    workload = generate(JOBS, 128, 21, estimate_factor=3.0)
    assert np.all(workload.time_limit % 60 == 0)
    long = workload.run > 5000
    factor = workload.time_limit[long] / workload.run[long]
    assert stats.kstest(factor, stats.uniform(1, 2).cdf).statistic < largest_distance(int(long.sum())) + 0.006
    default = generate(JOBS, 128, 21)
    assert (default.time_limit[long] / default.run[long]).mean() == pytest.approx(3, abs=0.05)
    assert np.array_equal(generate(50, 128, 21, estimates="exact").time_limit, generate(50, 128, 21).run)
    tight = generate(50, 128, 21, estimate_factor=1)
    assert np.array_equal(tight.time_limit, np.ceil(tight.run / 60) * 60)


def test_users_follow_zipf() -> None:
    user = generate(10_000, 128, 22).facts["user"]
    counts = np.bincount(user)[1:]
    assert len(counts) == 100
    expected = 1 / np.arange(1, 101)
    assert stats.chisquare(counts, expected / expected.sum() * counts.sum()).pvalue > 1e-3
    assert set(generate(500, 128, 22, users=3).facts["user"]) == {1, 2, 3}
    assert "user" not in generate(500, 128, 22, users=0).facts


# Seeds.


def same(one: Workload, other: Workload) -> set[str]:
    """The columns that are equal to the byte."""
    columns = other.columns()
    return {name for name, values in one.columns().items() if values.tobytes() == columns[name].tobytes()}


def test_same_arguments_same_jobs() -> None:
    one, other = generate(2000, 128, 23, kind="both", load=0.7), generate(2000, 128, 23, kind="both", load=0.7)
    assert same(one, other) == {"id", "submit", "processors", "run", "time_limit", "queue", "user"}
    assert (one.source_hash, one.header, one.name) == (other.source_hash, other.header, other.name)


def test_another_seed_other_jobs() -> None:
    assert same(generate(2000, 128, 23), generate(2000, 128, 24)) == {"id"}


def test_streams_are_independent() -> None:
    base = generate(2000, 128, 25)
    every = set(base.columns())
    assert same(base, generate(2000, 128, 25, estimate_factor=2)) == every - {"time_limit"}
    assert same(base, generate(2000, 128, 25, users=7)) == every - {"user"}
    gaps = replace(COMBINED, aarr=9.0)
    assert same(base, generate(2000, 128, 25, parameters=gaps)) == every - {"submit"}
    runs = replace(COMBINED, a1=3.0)
    assert same(base, generate(2000, 128, 25, parameters=runs)) == every - {"run", "time_limit"}
    sizes = replace(COMBINED, uprob=0.5)
    assert same(base, generate(2000, 128, 25, parameters=sizes)) >= {"id", "submit", "user"}
    # A job of another size keeps its run time unless its branch changes.
    other = generate(2000, 128, 25, parameters=sizes)
    assert (other.processors != base.processors).mean() > 0.2
    assert (other.run == base.run).mean() > 0.9


def test_streams_are_not_correlated() -> None:
    workload = generate(JOBS, 128, 26, parameters=replace(COMBINED, pa=0.0))
    series = [
        workload.processors[1:],
        np.log(workload.run[1:]),
        np.log(np.diff(workload.submit) + 1),
        (workload.time_limit / workload.run)[1:] * (workload.run[1:] > 3600),
        workload.facts["user"][1:],
    ]
    for index, one in enumerate(series):
        for other in series[:index]:
            if one is not series[3]:
                assert abs(stats.spearmanr(one, other).statistic) < 0.025


# What the workload says about itself.


def test_the_workload_says_where_it_comes_from() -> None:
    workload = generate(1000, 128, 1)
    assert workload.name == "lublin99-combined-1000-s1"
    assert (workload.machine, workload.epoch, workload.read) == (128, None, 1000)
    assert all(line.startswith("; ") and "\n" not in line for line in workload.header)
    text = "\n".join(workload.header)
    for setting in (
        "Lublin",
        "jobs=1000",
        "machine=128",
        "seed=1",
        "kind='combined'",
        "combined.arar=1.0225",
        "users=32",
    ):
        assert setting in text
    assert len([line for line in workload.header if "combined." in line]) == 17


def test_the_hash_is_of_the_parameters() -> None:
    base = generate(100, 128, 1)
    others: list[dict[str, Any]] = [
        {"seed": 2},
        {"load": 0.5},
        {"kind": "batch"},
        {"users": 3},
        {"estimates": "exact"},
        {"estimate_factor": 2},
        {"umed_below": 3},
        {"sizes": "table"},
        {"parameters": replace(COMBINED, pb=0.7)},
    ]
    hashes = {generate(**{"jobs": 100, "processors": 128, "seed": 1} | other).source_hash for other in others}
    assert len(hashes | {base.source_hash}) == len(others) + 1
    assert all(len(value) == 64 for value in hashes)
    assert generate(100, 128, 1, estimate_factor=np.float64(5), parameters=COMBINED).source_hash == base.source_hash
    assert generate(100, 128, 1, users=10).source_hash == base.source_hash


def test_describe() -> None:
    workload = Workload.from_columns(
        {
            "id": [1, 2, 3, 4],
            "submit": [0, 5, 10, 20],
            "processors": [1, 2, 3, 8],
            "run": [10.0] * 4,
            "time_limit": [60] * 4,
        }
    )
    assert describe(workload, 10) == {
        "mean_parallelism": 3.5,
        "mean_run": 10.0,
        "load": 0.7,
        "serial_share": 0.25,
        "power_of_two_share": 0.5,
    }
    with pytest.raises(ConfigurationError, match="no moments"):
        describe(workload.where(np.zeros(4, dtype=np.bool_)), 10)


# Bad input.


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"jobs": 0}, "jobs is 0; it must be 1 or more"),
        ({"jobs": 2.5}, "jobs is 2.5; it must be a whole number"),
        ({"processors": 0}, "processors is 0"),
        ({"processors": 2**31}, "processors is"),
        ({"seed": -1}, "seed is -1"),
        ({"load": 0.0}, "load is 0.0"),
        ({"load": -0.5}, "load is -0.5"),
        ({"load": 1.01}, "load is 1.01; above 1 the queue grows"),
        ({"load": 101, "overload": True}, "even an overload must be 100 or less"),
        ({"load": math.nan}, "load is nan"),
        ({"load": math.inf}, "load is inf"),
        ({"jobs": 1, "load": 0.5}, "2 jobs or more"),
        ({"estimate_factor": 0.99}, "estimate_factor is 0.99"),
        ({"estimate_factor": math.nan}, "estimate_factor is nan"),
        ({"estimate_factor": math.inf}, "estimate_factor is inf"),
        ({"users": -1}, "users is -1"),
        ({"umed_below": 1.4}, "umed_below is 1.4"),
        ({"umed_below": math.nan}, "umed_below is nan"),
        ({"kind": "night"}, "kind is 'night'; it must be one of combined, batch, interactive, both"),
        ({"sizes": "any"}, "sizes is 'any'"),
        ({"estimates": "modal"}, "estimates is 'modal'"),
        ({"kind": "both", "parameters": COMBINED}, "parameters describe one type"),
    ],
)
def test_bad_arguments_are_refused(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigurationError) as error:
        generate(**{"jobs": 10, "processors": 128, "seed": 1} | arguments)
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"serial": 1.1}, "serial is 1.1"),
        ({"uprob": -0.1}, "uprob is -0.1"),
        ({"serial": 0.5}, "must not exceed 1"),
        ({"a1": 0.0}, "a1 is 0.0"),
        ({"barr": math.nan}, "barr is nan"),
        ({"umed": 8.0}, "in this order"),
        ({"ulow": -1.0}, "in this order"),
    ],
)
def test_bad_parameters_are_refused(changes: dict[str, float], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        replace(COMBINED, **changes)


# Invariants over arguments.


@pytest.mark.slow
@settings(deadline=None, max_examples=150)
@given(
    jobs=st.integers(1, 300),
    machine=st.one_of(st.integers(1, 40), st.integers(1, 2**31 - 1)),
    seed=st.integers(0, 2**70),
    kind=st.sampled_from(["combined", "batch", "interactive", "both"]),
    sizes=st.sampled_from(["machine", "table"]),
    umed_below=st.none() | st.floats(1.5, 3.5),
    estimates=st.sampled_from(["factor", "exact"]),
    estimate_factor=st.floats(1, 1000),
    users=st.none() | st.integers(0, 20),
)
def test_invariants(jobs: int, machine: int, kind: Any, users: int | None, estimates: Any, **others: Any) -> None:
    workload = generate(jobs, machine, kind=kind, users=users, estimates=estimates, **others)
    assert len(workload) == jobs
    assert list(workload.id) == list(range(1, jobs + 1))
    assert workload.submit[0] == 0
    assert np.all(np.diff(workload.submit) >= 0)
    assert workload.processors.min() >= 1
    assert workload.processors.max() <= machine
    assert 1 <= workload.run.min() <= workload.run.max() <= math.floor(math.exp(12))
    for column in (workload.submit, workload.run, workload.time_limit):
        assert column.dtype == np.float64
        assert np.array_equal(column, np.floor(column))
    assert np.all(workload.time_limit >= workload.run)
    most = 1.0 if estimates == "exact" else others["estimate_factor"]
    assert np.all(workload.time_limit <= workload.run * most + 60)
    assert ("user" in workload.facts) == (users != 0)
    if users != 0:
        assert workload.facts["user"].min() >= 1
        assert workload.facts["user"].max() <= (users or max(1, round(math.sqrt(jobs))))
    assert set(workload.facts.get("queue", [0])) <= {0, 1}


@pytest.mark.slow
@settings(deadline=None, max_examples=100)
@given(
    jobs=st.integers(2, 300),
    machine=st.integers(1, 10_000),
    seed=st.integers(0, 1000),
    load=st.floats(1e-3, 20),
    kind=st.sampled_from(["combined", "batch", "interactive", "both"]),
)
def test_a_load_is_reached_or_refused(jobs: int, machine: int, seed: int, load: float, kind: Any) -> None:
    base = generate(jobs, machine, seed, kind=kind)
    span = float(np.dot(base.run, base.processors)) / machine / load
    if base.submit[-1] > 0 and span > 101:  # beyond this, a part of a second is less than 1 %
        assert generate(jobs, machine, seed, load=load, overload=True, kind=kind).load(machine) == pytest.approx(
            load, rel=0.01
        )
    elif span < 1:
        with pytest.raises(ConfigurationError):
            generate(jobs, machine, seed, load=load, overload=True, kind=kind)
