"""slurm-sim reproduce migration: what is run, batch means, claims, and the command."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from slurm_sim_studies.papers.migration import (
    BATCHES,
    FIGURES,
    SETTINGS,
    WIDEST,
    Plan,
    Points,
    config_of,
    gain,
    gains,
    interval,
    measure,
    points,
    source_of,
    specs,
)
from slurm_sim_studies.papers.migration_claims import break_even, claims
from slurm_sim_studies.report import migration as report

from emulator import Workload, simulate
from emulator.campaign import Outcome, identity
from emulator.cli import slurm_sim
from emulator.workload.models import feitelson96
from slurm_sim_plugins import ConfigurationError
from slurm_sim_plugins.manager import Catalogue, select

# Runs


@pytest.mark.parametrize(
    ("figures", "settings"),
    [
        ((6,), (["paper", "phi"], [])),
        ((8,), (["paper"], ["paper"])),
        ((10, 12), ([], ["paper", "unknown", "assumed", "full"])),
        ((13,), (["paper", "cost120", "cost480", "cost900", "cost1500"], [])),
        (FIGURES, (list(SETTINGS), list(SETTINGS))),
    ],
)
def test_figures_need_settings_and_the_main_one_to_compare_with(
    figures: tuple[int, ...], settings: tuple[list[str], list[str]]
) -> None:
    plan = Plan(figures)
    assert (plan.settings("FWload"), plan.settings("JWload")) == settings


def test_the_papers_counts_are_the_default() -> None:
    assert (Plan().count("FWload"), Plan().count("JWload")) == (200_000, 100_000)
    assert len(specs(Plan())) == 2 * 5 * 17
    assert len(specs(Plan((6,), loads=(0.5,), trials=3))) == 3 * 7


def test_runs_that_differ_have_other_identities() -> None:
    found = specs(Plan(jobs=1000, loads=(0.5, 0.9)))
    assert len({spec.name for spec in found}) == len({identity(spec) for spec in found}) == len(found)


@pytest.mark.parametrize("setting", SETTINGS)
def test_every_run_can_be_configured(setting: str) -> None:
    for policy in SETTINGS[setting].policies:
        config = config_of(setting, policy, 3)
        select(Catalogue(), config.slots, config.plugin_options)
        assert config.seed == 3
        assert (policy == "EASY") == (config.slots["SchedulerType"] == "sched/easy")


def test_settings_change_what_they_say_and_nothing_else() -> None:
    def options(setting: str, policy: str = "MEASY") -> dict[str, dict[str, object]]:
        return {name: dict(each) for name, each in config_of(setting, policy, 1).plugin_options.items()}

    main = {"sched/two_tier": {"deploy": "migrate"}, "execution/two_tier": {}}
    assert options("paper") == options("full") == main
    assert options("paper", "KEASY")["sched/two_tier"] == {"deploy": "kill"}
    assert options("paper", "REASY")["sched/two_tier"] == {"deploy": "reserve"}
    assert options("phi")["execution/two_tier"] == {"phi_mean": 0.43, "phi_sigma": 0.14}
    assert options("unknown")["sched/two_tier"] == {"deploy": "migrate", "cpu_info": False}
    assert options("cost480")["sched/two_tier"] == {"deploy": "migrate", "migration_cost": 480.0}


def test_workloads_are_the_same_jobs_at_other_times_or_with_other_use() -> None:
    low, high, busy = (
        source_of("FWload", 500, load, 1, full=full).workload()
        for load, full in ((0.5, False), (0.9, False), (0.9, True))
    )
    for name in ("processors", "run", "time_limit"):
        assert getattr(low, name).tolist() == getattr(high, name).tolist() == getattr(busy, name).tolist()
    assert low.load(320) == pytest.approx(0.5, rel=0.01)
    assert high.load(320) == pytest.approx(0.9, rel=0.01)
    assert set(busy.facts["cpu_use"].tolist()) == {1.0}
    assert high.facts["cpu_use"].min() < 0.45
    assert (low.time_limit >= low.run).all()


@pytest.mark.parametrize("widest", WIDEST)
def test_narrower_jobs_keep_the_moments_that_the_paper_prints(widest: int) -> None:
    moments = feitelson96.expect(feitelson96.Feitelson96Parameters(**WIDEST[widest]), widest)
    assert moments["mean_parallelism"] == pytest.approx(23.4, rel=0.001)
    assert moments["mean_run"] == pytest.approx(2606.6, rel=0.001)
    assert moments["serial_share"] < 0.18
    jobs = source_of("FWload", 2000, 0.7, 1, widest=widest).workload()
    assert jobs.processors.max() == widest
    assert jobs.load(320) == pytest.approx(0.7, rel=0.01)
    assert source_of("JWload", 500, 0.7, 1, widest=widest) == source_of("JWload", 500, 0.7, 1)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"widest": 64}, "the widest job has 64 processors; choose from 128 and 320"),
        ({"figures": (5,)}, "there is no figure 5 of results; choose from 6 to 14"),
        ({"figures": ()}, "name one figure or more"),
        ({"loads": (0.0,)}, "a load is 0; give shares of the machine, above 0 and at most 1"),
        ({"loads": (0.5, 1.2)}, "a load is 1.2"),
        ({"loads": (float("nan"),)}, "a load is nan"),
        ({"loads": (0.9, 0.5)}, "loads in ascending order"),
        ({"loads": ()}, "name one figure or more, and loads"),
        ({"jobs": 399}, "399 jobs make no 10 batches; give 400 or more"),
    ],
)
def test_plans_that_cannot_be(given: dict[str, tuple[float, ...]], told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        Plan(**given)  # type: ignore[arg-type]


# Batch means


def test_the_first_tenth_is_left_out_and_the_rest_is_cut_into_batches() -> None:
    jobs = 100
    columns = {
        "id": range(1, jobs + 1),
        "submit": [100.0 * place for place in range(jobs)],
        "processors": [1] * jobs,
        "run": [float(place) for place in range(jobs)],
        "time_limit": [200.0] * jobs,
    }
    numbers = measure(simulate(Workload.from_columns(columns, machine=4), catalogue=Catalogue()).records)
    assert [numbers[f"response:{batch}"] for batch in range(BATCHES)] == [14 + 9 * batch for batch in range(BATCHES)]
    assert numbers["slowdown:9"] == 1
    assert numbers["overhang"] == pytest.approx(99 / 9900)
    assert numbers["migrations:0"] == numbers["kills:0"] == 0


@pytest.mark.parametrize(("policy", "counted"), [("MEASY", "migrations"), ("KEASY", "kills"), ("REASY", "")])
def test_migrations_and_kills_are_counted_for_each_job(policy: str, counted: str) -> None:
    workload = source_of("JWload", 400, 0.9, 2).workload()
    records = simulate(workload, config=config_of("paper", policy, 2)).records
    numbers = measure(records)
    sums = {name: sum(numbers[f"{name}:{batch}"] for batch in range(BATCHES)) for name in ("migrations", "kills")}
    assert {name for name, total in sums.items() if total > 0} == ({counted} if counted else set())
    if policy == "MEASY":
        assert records.stays is not None
        ids = records.stays["job_id"][records.stays["came"] == "migration"]
        assert sums["migrations"] * 36 == pytest.approx(np.count_nonzero(ids > 40))


def test_an_interval_is_students() -> None:
    # Mean 3, deviation 1.5811, 4 degrees of freedom: 2.7764 * 1.5811 / sqrt(5).
    found = interval(np.array([1.0, 2, 3, 4, 5]))
    assert (found.value, found.half) == (3, pytest.approx(1.9632, abs=1e-4))
    assert math.isnan(interval(np.array([1.0])).half)


def made(key: str, *response: float, slowdown: float = 1.0, moves: float = 0.0, overhang: float = 0.0) -> Outcome:
    """An outcome whose batch means begin with these and go on with the last."""
    values = [*response, *[response[-1]] * BATCHES][:BATCHES]
    numbers = {f"response:{place}": value for place, value in enumerate(values)}
    for place, value in enumerate(values):
        numbers |= {f"slowdown:{place}": value * slowdown, f"migrations:{place}": moves, f"kills:{place}": 0.0}
    return Outcome(key, numbers | {"overhang": overhang})


def test_a_gain_compares_batch_with_batch() -> None:
    found = points([made("FWload/0.5/1/paper/EASY", 100, 400), made("FWload/0.5/1/paper/MEASY", 80, 320)])
    ours, easy = found["FWload", 0.5, "paper", "MEASY"], found["FWload", 0.5, "paper", "EASY"]
    saved = gain(ours, easy, "response")
    assert (saved.value, saved.half) == (pytest.approx(20), pytest.approx(0))
    apart = points([made("FWload/0.5/1/paper/MEASY", 320, 80)])["FWload", 0.5, "paper", "MEASY"]
    assert gain(apart, easy, "response").half > 15
    assert math.isnan(gain(ours, easy, "migrations").value)


def test_trials_are_put_together_and_a_failed_one_is_not_passed_over() -> None:
    runs = [made("FWload/0.5/1/paper/EASY", 100, overhang=0.02), made("FWload/0.5/2/paper/EASY", 200, overhang=0.1)]
    (point,) = points(runs).values()
    assert len(point.batches["response"]) == 2 * BATCHES
    assert point.mean("response").value == 150
    assert point.grows
    assert point.correlation("response") > 0.8
    assert points([*runs, Outcome("FWload/0.5/3/paper/EASY", {}, "it failed")]) == {}


# Claims


def as_the_paper_says(loads: tuple[float, ...] = (0.5, 0.9)) -> list[Outcome]:
    """Outcomes of which every claim holds."""
    runs = []
    for load in loads:
        for workload, reasy in (("FWload", 95.0), ("JWload", 105.0)):
            moves = (1 if workload == "FWload" else 4 * (load - 0.4)) * load
            for setting, kind in SETTINGS.items():
                cost = float(setting[4:]) if setting.startswith("cost") else 20.0
                better = 700 if workload == "JWload" else 1200
                measy = 58 + 20 * cost / better
                response = {"EASY": 100.0, "KEASY": 78.0, "REASY": reasy, "MEASY": measy}
                for policy in kind.policies:
                    key = f"{workload}/{load:g}/1/{setting}/{policy}"
                    slowdown = {"EASY": 1.0, "KEASY": 0.4, "REASY": 1.0}.get(
                        policy, 0.4 * (0.25 + 0.75 * cost / better)
                    )
                    runs.append(made(key, response[policy], slowdown=slowdown, moves=moves))
    return runs


def test_claims_hold_of_what_is_as_the_paper_says() -> None:
    found = claims(points(as_the_paper_says()))
    assert [(claim.source, claim.text, claim.figures) for claim in found if not claim.holds] == []
    # Of each workload: 6 pairs with two readings, 3 pairs with three others, two limits, all by two metrics.
    assert len(found) == 4 + 2 * 2 * (6 * 2 + 3 * 3 + 2) + 2 * 2
    assert {claim.source for claim in found} == {"abstract", *(f"figure {number}" for number in FIGURES)}


@pytest.mark.parametrize(
    ("run", "change", "failing"),
    [
        ("FWload/0.9/1/paper/REASY", 77.0, {"figure 6"}),
        ("JWload/0.5/1/paper/REASY", 99.0, {"figure 7"}),
        ("JWload/0.5/1/unknown/KEASY", 101.0, {"figure 10"}),
        ("FWload/0.5/1/full/MEASY", 80.0, {"figure 11"}),
        ("FWload/0.5/1/cost480/MEASY", 90.0, {"figure 13"}),
        ("JWload/0.5/1/cost1500/MEASY", 60.0, {"figure 14"}),
    ],
)
def test_claims_fail_of_what_is_not(run: str, change: float, failing: set[str]) -> None:
    runs = [made(run, change, slowdown=0.2) if each.name == run else each for each in as_the_paper_says()]
    found = {claim.source for claim in claims(points(runs)) if not claim.holds}
    assert found - {"abstract"} == failing


def test_runs_that_are_missing_leave_out_what_they_would_decide() -> None:
    runs = as_the_paper_says()
    for lost in [each.name for each in runs if "/0.5/" in each.name][::3]:
        found = points([Outcome(each.name, {}, "it failed") if each.name == lost else each for each in runs])
        assert all(claim.holds for claim in claims(found) if claim.source != "abstract")
        assert report.grids(found, FIGURES)


def test_a_difference_within_chance_is_said_to_be_one() -> None:
    runs = [made("FWload/0.5/1/paper/EASY", 100, 100, 101), made("FWload/0.5/1/paper/MEASY", 140, 90, 99)]
    (claim, _) = [each for each in claims(points(runs)) if each.source == "figure 6"]
    assert not claim.holds
    assert claim.figures.endswith("; nowhere worse by more than chance")


def test_averages_are_over_workloads_and_loads_and_also_where_easy_keeps_up() -> None:
    runs = [
        made("FWload/0.5/1/paper/EASY", 100),
        made("FWload/0.5/1/paper/MEASY", 80),
        made("FWload/0.9/1/paper/EASY", 1000, overhang=0.06),
        made("FWload/0.9/1/paper/MEASY", 400),
        made("JWload/0.5/1/paper/EASY", 100),
        made("JWload/0.5/1/paper/MEASY", 90),
    ]
    found = {row.of: row for row in gains(points(runs)) if row.metric == "response"}
    assert (found["both workloads"].average, found["both workloads"].most) == (pytest.approx(30), pytest.approx(60))
    assert found["where EASY's queue does not grow"].average == pytest.approx(15)
    assert found["JWload"].average == pytest.approx(10)
    assert len(found) == 4


def test_what_a_migration_may_cost_is_found_between_the_costs_tried() -> None:
    def at(*gained: float) -> Points:
        names = ("paper", "cost120", "cost480", "cost900", "cost1500")
        runs = [made("FWload/0.5/1/paper/KEASY", 100)]
        runs += [made(f"FWload/0.5/1/{name}/MEASY", 100 - each) for name, each in zip(names, gained, strict=False)]
        return points(runs)

    assert break_even(at(10, 5, 2, -1, -3), "FWload", "response", 0.5) == pytest.approx(480 + 420 * 2 / 3)
    assert break_even(at(-1, 5, 2), "FWload", "response", 0.5) == 20
    assert math.isinf(break_even(at(10, 5, 4, 3, 1), "FWload", "response", 0.5))


# Tables and pictures


def test_each_figure_is_of_its_workload() -> None:
    of = {figure: report.workload_of(figure) for figure in FIGURES if figure != 8}
    assert of == {
        6: "FWload",
        7: "JWload",
        9: "FWload",
        10: "JWload",
        11: "FWload",
        12: "JWload",
        13: "FWload",
        14: "JWload",
    }


def test_a_growing_queue_is_marked() -> None:
    runs = [made("FWload/0.5/1/paper/EASY", 4000), made("FWload/0.5/1/paper/MEASY", 40, 50, overhang=0.06)]
    grid = next(grid for grid in report.grids(points(runs), [6]) if grid.title.startswith("Figure 6"))
    assert grid.rows[0] == ("0.5", "4,000 ± 0", "49.0 ± 2.3*")
    assert "the queue grew to the end" in grid.note


# The command


def run(*words: str) -> Result:
    return CliRunner().invoke(slurm_sim, ["reproduce", "migration", *words])


def test_a_small_one_from_end_to_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    words = ("--jobs", "400", "--loads", "0.9", "--figures", "6,8,10,13", "--widest", "320")
    words += ("--processes", "1", "--keep", "kept")
    done = run(*words, "--out", "out")
    assert done.exit_code == 0, done.output
    assert "Figure 13: mean response time (s), FWload" in done.output
    assert "abstract, both workloads: MEASY's mean response time is 23.1 % or more below EASY's" in done.output
    written = json.loads(Path("out/tables.json").read_text())
    assert len(written["points"]) == (4 + 3 + 4) + (4 + 4)
    assert written["options"] == {"figures": [6, 8, 10, 13], "jobs": 400, "loads": [0.9], "trials": 1, "widest": 320}
    point = next(each for each in written["points"] if (each["workload"], each["policy"]) == ("FWload", "MEASY"))
    assert point["means"]["response"]["value"] == pytest.approx(np.mean(point["batches"]["response"]))
    assert "Options: figures 6 8 10 13, jobs 400, loads 0.9, trials 1, widest 320." in Path("out/tables.md").read_text()
    assert {path.stem for path in Path("out").glob("*.png")} == {f"figure-{number}" for number in (6, 8, 10, 13)}
    again = run(*words, "--json")
    assert json.loads(again.output)["points"] == written["points"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--loads", "high"], "--loads high: write it as 0.5,0.9"),
        (["--figures", "six"], "--figures six: write it as 6,7"),
        (["--loads", "0"], "a load is 0; give shares"),
        (["--loads", "1.5"], "a load is 1.5; give shares"),
        (["--figures", "3"], "there is no figure 3"),
        (["--jobs", "10"], "10 jobs make no 10 batches"),
        (["--trials", "0"], "0 is not in the range"),
    ],
)
def test_what_cannot_be_asked(words: list[str], told: str) -> None:
    done = run(*words)
    assert done.exit_code != 0
    assert told in done.output + str(done.exception)
