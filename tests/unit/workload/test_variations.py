"""Real-time jobs among the jobs of a log, categories, and other machines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from emulator import Workload, read_swf, simulate, write_swf
from emulator.config.preemption import Preemption
from emulator.workload.read import read_trace
from emulator.workload.variations import (
    CATEGORIES,
    aps,
    categories,
    counted,
    default,
    ninety_minutes,
    realtime,
    scale,
    vary,
)
from slurm_sim_plugins import ConfigurationError
from slurm_sim_plugins.blocks import MIRA_SIZES


def log(count: int = 200, **columns: Any) -> Workload:
    """Jobs of every length from 0 to twice 90 minutes, submitted a minute apart."""
    given = {
        "id": np.arange(1, count + 1),
        "submit": np.arange(count) * 60.0,
        "processors": np.full(count, 512),
        "run": np.linspace(0, 10800, count),
        "time_limit": np.full(count, 14400.0),
    }
    return Workload.from_columns({**given, **columns}, machine=49152, name="log")


LOG = log()


@pytest.mark.parametrize("nodes", [512, 1024, 2048, 4096, 6912])
def test_up_to_where_the_bandwidth_is_all_used_a_checkpoint_takes_the_same_time(nodes: int) -> None:
    assert Preemption(mode="CHECKPOINT", checkpoint="jit", gb_per_processor=16).write_cost(nodes) == 512


@pytest.mark.parametrize(("nodes", "seconds"), [(8192, 606.8), (49152, 3640.9)])
def test_larger_jobs_share_the_bandwidth(nodes: int, seconds: float) -> None:
    costs = Preemption(gb_per_processor=16)
    assert costs.write_cost(nodes) == costs.read_cost(nodes) == pytest.approx(seconds, abs=0.05)


@pytest.mark.parametrize(
    ("nodes", "seconds", "category"),
    [
        (512, 1, "narrow-short"),
        (4096, 7200, "narrow-short"),
        (4096, 7200.5, "narrow-long"),
        (4097, 7200, "wide-short"),
        (4608, 7200, "wide-short"),
        (4608, 7201, "wide-long"),
        (49152, 86400, "wide-long"),
    ],
)
def test_the_borders_of_the_categories_belong_to_narrow_and_short(nodes: int, seconds: float, category: str) -> None:
    assert CATEGORIES[categories(np.array([nodes]), np.array([seconds]))[0]] == category


def test_a_job_is_short_by_its_request_or_by_its_run_time_and_nothing_else() -> None:
    with pytest.raises(ConfigurationError, match="by is 'wall'; it must be one of time_limit, run"):
        ninety_minutes(LOG, 10, 0, by="wall")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("percent", "jobs"), [(0, 0), (5, 10), (10, 20), (15, 30), (20, 40), (0.25, 1), (0.2, 0), (100, 200)]
)
def test_a_percentage_is_that_of_the_jobs(percent: float, jobs: int) -> None:
    assert realtime(default(LOG, percent, 0)).sum() == jobs


def test_the_same_seed_gives_the_same_jobs_and_another_seed_others() -> None:
    first, again, other = default(LOG, 10, 3), default(LOG, 10, 3), default(LOG, 10, 4)
    assert realtime(first).tolist() == realtime(again).tolist() != realtime(other).tolist()
    assert first.source_hash == again.source_hash != other.source_hash
    assert first.source_hash != default(LOG, 20, 3).source_hash != LOG.source_hash
    assert "; Note: realtime seed=3" in first.header


def test_with_the_same_seed_more_percent_take_more_jobs_and_lose_none() -> None:
    few, many = realtime(default(LOG, 5, 1)), realtime(default(LOG, 20, 1))
    assert (few <= many).all()


def test_every_job_is_as_likely_as_any_other() -> None:
    times = sum(realtime(default(LOG, 20, seed)).astype(int) for seed in range(300))
    assert times.sum() == 300 * 40
    assert times.min() > 30 and times.max() < 95  # 60 on average, standard deviation 7


def test_only_the_fact_changes() -> None:
    varied = default(LOG, 10, 0)
    assert all((varied.columns()[name] == values).all() for name, values in LOG.columns().items())
    assert set(varied.facts) == {"realtime"}
    assert realtime(default(varied, 0, 0)).sum() == 0


def test_in_the_second_variation_real_time_jobs_are_shorter_than_90_minutes() -> None:
    varied = ninety_minutes(LOG, 40, 0)
    assert realtime(varied).sum() == 80
    assert LOG.run[realtime(varied)].max() < 5400
    border = log(2, run=np.array([5400.0, 5399.0]))
    assert realtime(ninety_minutes(border, 50, 0)).tolist() == [False, True]
    with pytest.raises(
        ConfigurationError, match="60 % of 200 jobs are 120 real-time jobs, but only 100 jobs with a run"
    ):
        ninety_minutes(LOG, 60, 0)
    with pytest.raises(ConfigurationError, match="only 0 jobs with a time_limit below 5400 s are there"):
        ninety_minutes(LOG, 10, 0, by="time_limit")


def test_in_the_third_variation_real_time_jobs_are_added() -> None:
    facts = {"user": np.arange(200), "share": np.ones(200), "queue": np.array(["prod"] * 200)}
    given = default(log(**facts), 10, 0)
    varied = aps(given, 20, 7)
    added = realtime(varied)
    assert (len(varied), varied.read, int(added.sum())) == (240, 240, 40)
    old, new = varied.where(~added), varied.where(added)
    assert all((old.columns()[name] == values).all() for name, values in LOG.columns().items())
    assert sorted(new.id.tolist()) == list(range(201, 241))
    assert new.submit.min() >= LOG.submit[0] and new.submit.max() <= LOG.submit[-1]
    assert new.run.min() >= 60 and new.run.max() <= 700
    assert (new.time_limit >= new.run).all() and (new.time_limit <= np.ceil(2 * new.run)).all()
    assert set(new.processors.tolist()) <= set(MIRA_SIZES)
    assert set(new.facts["user"].tolist()) == {-1} and set(new.facts["queue"].tolist()) == {None}
    assert np.isnan(new.facts["share"]).all()


def test_added_jobs_are_like_those_of_the_beamline() -> None:
    new = aps(log(20_000), 100, 0)
    new = new.where(realtime(new))
    assert new.run.mean() == pytest.approx(380, rel=0.02)
    assert (new.time_limit / new.run).mean() == pytest.approx(1.5, rel=0.02)
    assert new.submit.mean() == pytest.approx(LOG.submit[1] * 20_000 / 2, rel=0.02)
    # Of an exponential with mean 2048 nodes, 1 - exp(-1/4) is up to 512.
    assert (new.processors == 512).mean() == pytest.approx(1 - np.exp(-0.25), rel=0.03)
    assert (new.processors <= 2048).mean() == pytest.approx(1 - np.exp(-1), rel=0.03)


def test_added_jobs_are_seeded_and_do_not_depend_on_how_many_there_are() -> None:
    few, again, many, other = (aps(LOG, percent, seed) for percent, seed in ((5, 1), (5, 1), (20, 1), (5, 2)))
    rows = [
        {job: (submit, run) for job, submit, run in zip(each.id, each.submit, each.run, strict=True) if job > 200}
        for each in (few, again, many, other)
    ]
    assert rows[0] == rows[1] != rows[3]
    assert rows[0].items() <= rows[2].items()
    assert few.source_hash == again.source_hash != other.source_hash


def test_run_times_and_sizes_can_be_given() -> None:
    varied = aps(LOG, 20, 0, runs=[61.5, 90], sizes=[1000, 10], mean_nodes=20, limit_factor=1)
    new = varied.where(realtime(varied))
    assert set(new.run.tolist()) == {61.5, 90}
    assert set(new.processors.tolist()) == {10, 1000}
    assert set(new.time_limit.tolist()) == {62, 90}
    late = aps(LOG, 20, 0, between=(5000.5, 5003))
    assert set(late.submit[realtime(late)].tolist()) == {5000.5, 5001, 5002}


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"percent": -1}, "percent is -1; it must be between 0 and 100"),
        ({"percent": float("nan")}, "percent is nan"),
        ({"percent": 101}, "percent is 101"),
        ({"seed": -1}, "seed is -1; it must be 0 or more"),
        ({"seed": 0.5}, "seed is 0.5; it must be a whole number"),
        ({"runs": []}, "runs must be seconds"),
        ({"runs": [0]}, "runs must be seconds, more than 0"),
        ({"mean_nodes": 0}, "mean_nodes is 0; it must be more than 0"),
        ({"between": (5, 4)}, "between is 5 to 4 s; give two times from 0 on, in this order"),
        ({"between": (-1, 4)}, "between is -1 to 4 s"),
        ({"between": (0, float("nan"))}, "between is 0 to nan s"),
        ({"limit_factor": 0.9}, "limit_factor is 0.9; it must be 1 or more"),
        ({"sizes": []}, "there is no size of a block"),
        ({"sizes": [0]}, "a size is 0; it must be 1 or more"),
        ({"variation": "noon"}, "variation is 'noon'; it must be one of default, 90min, aps"),
    ],
)
def test_arguments_out_of_their_range_are_refused(options: dict[str, Any], told: str) -> None:
    given = {"variation": "aps", "percent": 10, "seed": 0, **options}
    with pytest.raises(ConfigurationError, match=told):
        vary(LOG, **given)


def test_a_variation_has_a_name() -> None:
    assert vary(LOG, "default", 10, 1).source_hash == default(LOG, 10, 1).source_hash
    assert vary(LOG, "90min", 10, 1, below=3000).source_hash == ninety_minutes(LOG, 10, 1, below=3000).source_hash
    assert vary(LOG, "aps", 10, 1).source_hash == aps(LOG, 10, 1).source_hash
    with pytest.raises(ConfigurationError, match="log has no fact realtime"):
        realtime(LOG)
    with pytest.raises(ConfigurationError, match="log has no job"):
        aps(LOG.where(np.zeros(200, dtype=bool)), 10, 0)


def test_jobs_are_rounded_up_to_a_block_of_the_other_machine() -> None:
    curie = Workload.from_columns(
        {"id": [1, 2, 3], "submit": [0, 0, 0], "processors": [1, 973, 93312], "run": [1] * 3, "time_limit": [1] * 3},
        machine=93312,
    )
    assert scale(curie, 49152).processors.tolist() == [1, 513, 49152]
    mira = scale(curie, 49152, sizes=MIRA_SIZES)
    assert (mira.processors.tolist(), mira.machine) == ([512, 1024, 49152], 49152)
    assert [(each.reason, each.count, each.first) for each in mira.changed] == [
        ("processors scaled from 93312 to 49152, up to a block", 3, "job 1")
    ]
    with pytest.raises(ConfigurationError, match="job 2 would take 513 processors, and the largest block has 512"):
        scale(curie, 49152, sizes=[512])
    with pytest.raises(ConfigurationError, match="job 3 would take 98304 processors"):
        scale(curie, 49152, whole=46656)
    with pytest.raises(ConfigurationError, match="does not state its machine"):
        scale(Workload.from_columns(curie.columns()), 4)


def test_a_study_counts_what_the_log_had_within_it() -> None:
    columns = {"id": [1, 2, 3, 4], "submit": [0, 0, 5, 8], "processors": [1] * 4, "run": [5] * 4, "time_limit": [5] * 4}
    workload = Workload.from_columns(columns, logged={"wait": [0, 10, 20, np.nan], "run": [5, 7, 5, np.nan]})
    assert counted(workload, 5, 17).tolist() == [False, True, False, True]
    assert counted(workload, 0, 16).tolist() == [True, False, False, True]


def test_a_variation_is_simulated_and_its_records_say_which_jobs_are_which(tmp_path: Path) -> None:
    varied = default(LOG, 10, 0)
    records = simulate(varied).records
    assert records.jobs["realtime"].tolist() == varied.facts["realtime"].tolist()
    write_swf(varied, tmp_path / "log.swf")
    assert "column left out, for which the format has no field: realtime" in (tmp_path / "log.swf").read_text()
    assert len(read_swf(tmp_path / "log.swf", filter="none")) == 200


def test_the_week_of_mira_in_all_variations(traces: Path) -> None:
    week = read_trace(traces / "alcf" / "mira_2018-01-21_week.cobalt.log.gz")
    assert len(week) == 2147
    for percent, jobs in ((5, 107), (10, 215), (15, 322), (20, 429)):
        for variation in ("default", "90min", "aps"):
            assert realtime(vary(week, variation, percent, 0)).sum() == jobs
