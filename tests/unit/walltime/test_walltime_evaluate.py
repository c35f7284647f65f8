"""slurm-sim walltime: schemes judged on a log, by hand and on the command line."""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator import Workload
from emulator.cli import slurm_sim
from emulator.report.walltimeplots import all_figures
from emulator.walltime.advise import best, best_of_keys
from emulator.walltime.evaluate import BAD, Evaluation, Outcome, accuracy, classes, distributions, evaluate, outcome
from emulator.walltime.log import Log, read_log
from emulator.walltime.schemes import Grid, Scheme
from emulator.walltime.sweep import shares
from emulator.walltime.sweep_compiled import shares as compiled
from slurm_sim_plugins import ConfigurationError, InputError
from slurm_sim_plugins.walltime.history import MONTH
from tests.builders.percentiles import PERCENTILES, TWELVE

HOUR = 3600.0


def workload(run: list[float], submit: list[float] | None = None, **columns: Any) -> Workload:
    """Jobs of one user with an hour each, which start when they are submitted; by default one a day."""
    count = len(run)
    given_columns = {
        "id": range(1, count + 1),
        "submit": submit if submit is not None else [86400 * place for place in range(count)],
        "processors": [1] * count,
        "run": run,
        "time_limit": [HOUR] * count,
        "user": [1] * count,
        **columns,
    }
    wait = given_columns.pop("wait", [0] * count)
    return Workload.from_columns(given_columns, logged={"wait": wait}, name="log")


def judged(run: float, percentile: float, threshold: float = 0.0, before: list[float] = TWELVE) -> Outcome:
    """The outcome of a scheme on a last job of an hour, when the jobs before it used what is said."""
    log = read_log(workload([HOUR * share for share in before] + [run]))
    given_share = shares(log, "user", "all", [percentile], "cobalt", 10)[-1:, 0]
    last = Log("one", log.submit[-1:], log.requested[-1:], log.ran[-1:], log.end[-1:], {}, None, {}, ())
    return outcome(last, Scheme("user", "all", percentile, "cobalt", threshold), given_share)


@pytest.mark.parametrize(
    ("run", "percentile", "kind", "expected"),
    [
        (2700, 85, "oe", 2700 / 3240),
        (2700, 70, "ue", 2520 / 2700),
        (2700, 50, "ue", 1800 / 2700),
        (3600, 50, "be", 0.5),
        (3599.999999, 50, "ue", 1800 / 3599.999999),
        (3600, 100, "oe", 1.0),
        (0, 50, "oe", 0.0),
    ],
)
def test_kinds_of_estimates_by_hand(run: float, percentile: float, kind: str, expected: float) -> None:
    found = judged(run, percentile)
    assert {name: getattr(found, name) for name in ("na", "oe", "ue", "be")} == {
        name: float(name == kind) for name in ("na", "oe", "ue", "be")
    }
    assert found.average == found.median == pytest.approx(expected, rel=1e-15)


def test_without_enough_history_nothing_is_adjusted() -> None:
    assert judged(900, 50, before=TWELVE[:9]).na == 1
    assert judged(900, 50, before=TWELVE[:9]).average == 0.25
    assert judged(900, 50, threshold=0.5, before=[0.2] * 12).average == 0.5
    assert judged(900, 50, threshold=0.5, before=[0.2] * 9).average == 0.25


def test_a_job_that_runs_exactly_as_long_as_estimated_is_no_underestimate() -> None:
    # Some of these products differ from the run time in the last bit.
    ran = np.arange(1.0, 3000)
    limit = np.full_like(ran, 3137.0)
    product = limit * (ran / limit)
    assert (product < ran).any()
    assert not np.any(list(classes(ran, product, np.zeros(len(ran), dtype=bool)))[2:])


@given(st.floats(0, 1e6), st.floats(1, 1e6), st.booleans())
def test_each_job_is_of_one_kind(ran: float, estimated: float, unadjusted: bool) -> None:
    kinds = [bool(mask[0]) for mask in classes(np.array([ran]), np.array([estimated]), np.array([unadjusted]))]
    assert sum(kinds) == 1
    assert kinds[0] == unadjusted
    assert not kinds[3] or ran - estimated >= BAD - 1e-6
    assert 0 <= accuracy(np.array([ran]), np.array([estimated]))[0] <= 1


# The log


def test_ends_are_the_logs_own() -> None:
    log = read_log(workload([60, 70], wait=[5, math.nan]))
    assert log.end.tolist()[0] == 65
    assert math.isnan(log.end[1])
    assert log.notes == ("1 jobs from which nothing is learnt: the log does not say when they started",)


def test_a_run_cut_by_a_filter_ends_when_it_ended(tmp_path: Path) -> None:
    from emulator import read_swf

    file = tmp_path / "log.swf"
    file.write_text(
        "1 0 5 200 1 -1 -1 -1 100 -1 1 7 -1 -1 -1 -1 -1 -1\n2 1 -1 50 1 -1 -1 -1 -1 -1 1 7 -1 -1 -1 -1 -1 -1\n"
    )
    log = read_log(read_swf(file))
    assert (log.end.tolist(), log.ran.tolist(), log.used.tolist()) == ([205], [100], [1])
    assert log.notes == ("1 jobs left out: no requested time",)


def test_keys_of_which_the_log_knows_nothing_are_left_out() -> None:
    log = read_log(workload([60] * 3))
    assert list(log.groups) == ["user"]
    assert log.without == dict.fromkeys(("triple", "double", "project"), "the log has no projects")
    only = read_log(workload([60] * 3, user=[-1] * 3, group=[1, 1, 2]))
    assert (list(only.groups), only.project) == (["project"], "group")
    assert only.without["double"] == "the log has no users"
    assert only.notes == ("the log's column 'group' stands for the project",)


def test_projects_are_taken_from_the_column_that_is_named() -> None:
    jobs = workload([60] * 3, project=["a", "a", None], group=[1, 2, 2], account=[7.0, 8.0, math.nan])
    assert (read_log(jobs).project, read_log(jobs).groups["project"].tolist()) == ("project", [0, 0, -1])
    assert read_log(jobs, "group").groups["project"].tolist() == [0, 1, 1]
    assert read_log(jobs, "account").groups["double"].tolist() == [0, 1, -1]
    with pytest.raises(
        ConfigurationError, match="log has no column 'team' for the project; its columns: user, project"
    ):
        read_log(jobs, "team")


def test_groups_are_told_apart_by_all_parts_of_a_key() -> None:
    jobs = workload([60] * 5, user=[1, 1, 2, 2, 1], group=[1, 2, 1, 2, 1], time_limit=[60, 60, 60, 60, 61])
    groups = read_log(jobs).groups
    assert len(set(groups["double"].tolist())) == 4
    assert groups["double"][0] == groups["double"][4]
    assert len(set(groups["triple"].tolist())) == 5


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ({"wait": [math.nan] * 2}, "does not say when jobs started"),
        ({"user": [-1, -1]}, "knows neither users nor projects"),
    ],
)
def test_logs_from_which_nothing_can_be_learnt(columns: dict[str, Any], told: str) -> None:
    with pytest.raises(InputError, match=told):
        read_log(workload([60, 60], **columns))


def test_windows_as_long_as_the_log_are_left_out() -> None:
    jobs = read_log(workload([60] * 3, submit=[0, MONTH, 2 * MONTH]))
    found = evaluate(jobs, Grid(keys=["user"], percentiles=[50]))
    assert {outcome.scheme.window for outcome in found.outcomes} == {"1m", "all"}
    assert found.notes == ("windows 2m, 3m, 6m, 12m left out: the log spans 2.0 months",)
    only = evaluate(jobs, Grid(keys=["user"], windows=["3m", "6m"], percentiles=[50]))
    assert {outcome.scheme.window for outcome in only.outcomes} == {"3m"}


# The grid


def test_the_grid_of_the_paper() -> None:
    assert len(Grid()) == 336


@pytest.mark.parametrize(
    ("given_values", "told"),
    [
        ({"percentiles": [101]}, "percentile is 101; it goes from 0 to 100"),
        ({"percentiles": [math.nan]}, "percentile is nan"),
        ({"thresholds": [-0.1]}, "threshold is -0.1; it goes from 0 to 1"),
        ({"keys": ["group"]}, "no key is called 'group'; choose from triple, double, user, project"),
        ({"windows": ["5m"]}, "no window is called '5m'"),
        ({"definitions": ["mean"]}, "no definition is called 'mean'"),
        ({"keys": []}, "there is no key to evaluate"),
        ({"percentiles": [50, 50.0]}, "a percentile is named twice"),
        ({"min_jobs": 0}, "min_jobs is 0"),
    ],
)
def test_grids_that_cannot_be(given_values: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        Grid(**given_values)
    assert told in str(caught.value)


JOBS = st.lists(
    st.tuples(
        st.integers(0, 400).map(lambda day: day * 86400.0),
        st.sampled_from([0.0, 900.0, 1800.0, 3600.0]),
        st.integers(0, 2),
        st.integers(0, 1),
        st.sampled_from([0.0, 50.5, MONTH, math.nan]),
    ),
    min_size=1,
    max_size=60,
)


@settings(max_examples=60)
@given(
    JOBS,
    st.sampled_from(["1m", "2m", "all"]),
    st.sampled_from(["user", "double", "triple"]),
    st.sampled_from(["cobalt", "nearest", "linear"]),
    st.integers(1, 4),
)
def test_the_compiled_sweep_answers_as_the_plain_one(
    rows: list[Any], window: str, key: str, definition: str, min_jobs: int
) -> None:
    submit, run, user, group, wait = (list(values) for values in zip(*rows, strict=True))
    known = [value - 1 for value in user]
    jobs = workload(run, submit, user=known, group=group, wait=wait, time_limit=[HOUR + value for value in group])
    try:
        log = read_log(jobs)
    except InputError:
        return
    if key not in log.groups:
        return
    percentiles = (*PERCENTILES, 0, 99.9, 12.5)
    answers = [function(log, key, window, percentiles, definition, min_jobs) for function in (shares, compiled)]
    assert np.array_equal(*answers, equal_nan=True)


def test_an_evaluation_is_the_same_either_way() -> None:
    rng = np.random.default_rng(5)
    jobs = workload((HOUR * rng.random(300)).tolist(), user=rng.integers(0, 3, 300), group=rng.integers(0, 2, 300))
    log = read_log(jobs)
    plain, fast = (evaluate(log, compiled=compiled) for compiled in (False, True))
    assert plain == fast
    assert len(plain.outcomes) == 4 * 5 * 7 * 2


# Advice


def made(*rows: tuple[str, float, float, float]) -> Evaluation:
    """Outcomes by key, mean accuracy, and both shares of underestimates."""
    outcomes = [
        Outcome(Scheme(key, "1m", 85, "cobalt", 0.5), average, 0, 0, 1 - ue - be, ue, be)
        for key, average, ue, be in rows
    ]
    return Evaluation("log", 10, 0.4, 0.4, tuple(outcomes), ())


def test_the_best_is_the_most_accurate_that_underestimates_few_enough() -> None:
    rows = [("user", 0.7, 0.08, 0.03), ("double", 0.6, 0.05, 0.05), ("triple", 0.6, 0.05, 0.02), ("project", 0.5, 0, 0)]
    assert best(made(*rows), 0.1).scheme.key == "triple"
    assert best(made(*rows), 0.2).scheme.key == "user"
    assert [outcome.scheme.key for outcome in best_of_keys(made(*rows), 0.1)] == ["double", "triple", "project"]
    with pytest.raises(ConfigurationError, match=r"more than 1.00% of the jobs; the least is 7.00% \(key triple"):
        best(made(*rows[:3]), 0.01)


# The command line

Cli = Callable[..., Result]


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(7)
    rows = []
    for job in range(1, 401):
        user, limit = int(rng.integers(1, 4)), int(rng.choice([600, 3600]))
        run = max(1, round(limit * (0.2 * user + 0.1 * rng.random())))
        rows.append(f"{job} {job * 20_000} {rng.integers(0, 50)} {run} 1 -1 -1 -1 {limit} -1 1 {user} 5 -1 -1 -1 -1 -1")
    Path("log.swf").write_text("; MaxProcs: 8\n" + "\n".join(rows) + "\n")

    def invoke(*words: str, code: int = 0) -> Result:
        done = CliRunner().invoke(slurm_sim, ["walltime", *words], catch_exceptions=True)
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            if not code:
                raise done.exception
            return done
        assert done.exit_code == code, done.output
        return done

    return invoke


def test_evaluate_prints_the_most_accurate_schemes(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")  # even so, no number is cut short
    output = cli("evaluate", "log.swf", "--limit", "3").output
    assert "Walltime adjustment on log, 400 jobs" in output
    assert "3 of 224 schemes, by mean accuracy" in output
    assert "the log's column 'group' stands for the project" in output
    assert "windows 6m, 12m left out: the log spans 3.1 months" in output
    assert len([line for line in output.splitlines() if line.strip().startswith(("triple", "user", "double"))]) == 3


def test_evaluate_as_json_and_csv_has_all_schemes(cli: Cli) -> None:
    data = json.loads(cli("evaluate", "log.swf", "--json", "--csv", "all.csv", "--keys", "user,triple").output)
    assert data["jobs"] == 400
    assert len(data["schemes"]) == 2 * 4 * 7 * 2, "4 windows are shorter than the log, or all"
    first = data["schemes"][0]
    assert first["key"] == "user"
    assert first["na"] + first["oe"] + first["ue"] + first["be"] == pytest.approx(1)
    rows = Path("all.csv").read_text().splitlines()
    assert rows[0] == "key,window,percentile,definition,threshold,average,median,na,oe,ue,be"
    assert len(rows) == 1 + len(data["schemes"])
    assert rows[1] == ",".join(map(str, first.values()))


@pytest.mark.slow
def test_evaluate_draws_what_the_grid_has(cli: Cli) -> None:
    cli("evaluate", "log.swf", "--plots", "few", "--keys", "user", "--windows", "1m", "--thresholds", "0.5")
    pictures = sorted(Path("few").iterdir())
    assert [path.name for path in pictures] == [
        "fig04-accuracy-by-key.png",
        "fig05-classes.png",
        "fig11-distribution.png",
    ]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in pictures)


@pytest.mark.slow
def test_the_papers_figures() -> None:
    log = read_log(workload([60.0] * 50, group=[1] * 50))
    figures = all_figures(evaluate(log), distributions(log, Grid()))
    assert list(figures) == [
        "fig04-accuracy-by-key",
        "fig05-classes",
        "fig06-threshold-triple",
        "fig07-threshold-double",
        "fig08-accuracy-by-window",
        "fig09-bad-by-window",
        "fig10-under-by-window",
        "fig11-distribution",
    ]


def test_advise_writes_an_experiment_that_runs(cli: Cli) -> None:
    output = cli("advise", "log.swf", "--max-under", "20", "--write", "best.toml", "--filter", "papers").output
    assert "Best: key " in output
    assert "Cost: " in output
    written = tomllib.loads(Path("best.toml").read_text())
    assert written["workload"] == {"trace": "log.swf", "filter": "papers"}
    assert written["slots"] == {"WalltimeType": "walltime/history"}
    done = CliRunner().invoke(slurm_sim, ["run", "--experiment", "best.toml", "--json"], catch_exceptions=False)
    assert done.exit_code == 0, done.output


def test_advise_as_json(cli: Cli) -> None:
    data = json.loads(cli("advise", "log.swf", "--json", "--keys", "user", "--max-under", "100").output)
    assert data["best"]["key"] == "user"
    assert data["best"]["average"] > data["requested"]["average"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["evaluate", "log.swf", "--percentiles", "85,101"], "percentile is 101; it goes from 0 to 100"),
        (["evaluate", "log.swf", "--keys", "group"], "no key is called 'group'"),
        (["evaluate", "log.swf", "--project", "team"], "log has no column 'team'"),
        (["evaluate", "nowhere.swf"], "nowhere.swf: cannot be read"),
        (["evaluate", "log.swf", "--csv", "no/folder.csv"], "there is no folder"),
        (["advise", "log.swf", "--max-under", "0", "--percentiles", "50", "--thresholds", "0"], "the least is"),
        (["advise", "log.swf", "--keys", "user", "--percentiles", ""], "there is no percentile to evaluate"),
    ],
)
def test_what_cannot_be_done_is_said(cli: Cli, words: list[str], told: str) -> None:
    assert told in str(cli(*words, code=2).exception)


def test_a_list_of_other_words_is_refused(cli: Cli) -> None:
    done = cli("evaluate", "log.swf", "--percentiles", "many", code=2)
    assert "--percentiles many: write it as 95,85,70" in done.output


def test_several_definitions_are_not_drawn(cli: Cli) -> None:
    done = cli("evaluate", "log.swf", "--plots", "figures", "--definitions", "cobalt,linear", code=2)
    assert "name one in --definitions" in done.output
    assert not Path("figures").exists()
