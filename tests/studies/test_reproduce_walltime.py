"""slurm-sim reproduce walltime: runs, months, gains and claims."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from slurm_sim_studies.papers import walltime as paper
from slurm_sim_studies.papers.walltime import Gain, Study, accuracies, config_of, find_studies, gains, measure, months
from slurm_sim_studies.papers.walltime_trends import gain_claims, trends

from emulator import Workload, simulate
from emulator.campaign import Outcome
from emulator.cli import slurm_sim
from emulator.walltime.evaluate import Evaluation
from emulator.walltime.evaluate import Outcome as Judged
from emulator.walltime.schemes import Grid
from slurm_sim_plugins import ConfigurationError, InputError
from slurm_sim_plugins.manager import Catalogue, select

DAY = 86400
STUDY = Study("Curie", Path("curie.swf"), "triple", "group")


# Runs


def test_fourteen_runs_a_log_and_four_more_with_other_predictors() -> None:
    assert len(paper.run_names()) == 14
    assert set(paper.run_names(others=True)) - set(paper.run_names()) == {
        f"{policy}/{other}" for policy in ("WFP", "FCFS") for other in ("last two", "recent average")
    }


@pytest.mark.parametrize("run", paper.run_names(others=True))
def test_every_run_can_be_configured(run: str) -> None:
    config = config_of(STUDY, run)
    selection = select(Catalogue(), config.slots, config.plugin_options)
    assert selection.slots["PriorityType"] == ("priority/wfp" if run.startswith("WFP") else "priority/basic")
    assert selection.slots["SchedulerType"] == "sched/easy"


def test_schemes_differ_in_percentile_and_use_alone() -> None:
    config = config_of(STUDY, "FCFS/regular/p70")
    assert config.plugin_options["walltime/history"] == {
        "key": "triple",
        "window": "1m",
        "percentile": 70.0,
        "definition": "cobalt",
        "threshold": 0.5,
        "min_jobs": 10,
        "adjust": "regular",
        "project": "group",
    }
    assert config_of(STUDY, "FCFS/requested").slots["WalltimeType"] == "walltime/none"
    assert config_of(STUDY, "WFP/last two").expired == "tsafrir"
    assert config_of(STUDY, "WFP/recent average").expired == "limit"


def test_logs_are_looked_for_in_the_folder_and_its_subfolders(tmp_path: Path) -> None:
    (tmp_path / "swf").mkdir()
    log = tmp_path / "swf" / "CTC-SP2-1996-3.1-cln.swf.gz"
    log.touch()
    assert find_studies(tmp_path, ["CTC"]) == [Study("CTC", log, "user")]
    assert find_studies(tmp_path / "swf", ["CTC"])[0].trace == log
    with pytest.raises(InputError, match=r"mira_2018-08_2018-12.csv.gz is not there"):
        find_studies(tmp_path)
    with pytest.raises(ConfigurationError, match="there is no workload 'Intrepid'; choose from Mira, CTC"):
        find_studies(tmp_path, ["Intrepid"])


# Months


def seconds(*date: int) -> float:
    return datetime(*date, tzinfo=UTC).timestamp()  # type: ignore[arg-type]


def test_months_are_those_of_the_calendar_and_short_ones_are_left_out() -> None:
    epoch = int(seconds(2018, 11, 8))
    dates = [(2018, 11, 8), (2018, 11, 30, 23, 59, 59), (2018, 12, 1), (2018, 12, 31), (2019, 1, 31), (2019, 2, 25)]
    submit = np.array([seconds(*date) - epoch for date in dates])
    found = months(submit, epoch)
    assert [(name, chosen.tolist()) for name, chosen in found] == [
        ("2018-12", [False, False, True, True, False, False]),
        ("2019-01", [False, False, False, False, True, False]),
    ]
    assert [name for name, _ in months(np.array([0.0, 51 * DAY]), int(seconds(2018, 11, 7)))] == ["2018-12"]


def test_months_without_dates_have_thirty_days() -> None:
    found = months(np.array([5.0, 5 + 29.9 * DAY, 5 + 30 * DAY, 5 + 56 * DAY]), None)
    assert [(name, chosen.tolist()) for name, chosen in found] == [
        ("month 1", [True, True, False, False]),
        ("month 2", [False, False, True, True]),
    ]
    assert months(np.array([]), None) == []
    assert months(np.array([0.0, 24 * DAY]), None) == []


def test_what_is_measured_of_a_month() -> None:
    columns = {
        "id": [1, 2, 3, 4],
        "submit": [0.0, 0.0, 10.0, 26 * DAY],
        "processors": [4, 2, 1, 1],
        "run": [100.0, 50.0, 0.0, 10.0],
        "time_limit": [200.0, 50.0, 40.0, 20.0],
    }
    records = simulate(Workload.from_columns(columns, machine=4), catalogue=Catalogue()).records
    numbers = measure(records)
    assert {name.partition(":")[2]: value for name, value in numbers.items()} == pytest.approx(
        {
            "jobs": 4,
            "wait": (100 + 90) / 4,
            "slowdown": (1 + 3 + 1) / 3,
            "bounded_slowdown": (1 + 3 + 10 + 1) / 4,
            "accuracy": (0.5 + 1 + 0 + 0.5) / 4,
            "weighted_wait:WFP": (100 * 2**3 * 2 + 90 * 2.25**3) / (2**3 * 2 + 2.25**3),
            "weighted_wait:FCFS": (100**2 + 90**2) / 190,
        }
    )


# Gains


def made(run: str, *waits: float, study: str = "CTC", **others: float) -> Outcome:
    numbers = {f"m{place}:wait": wait for place, wait in enumerate(waits)}
    return Outcome(f"{study}/{run}", numbers | {f"m0:{name.replace('__', ':')}": each for name, each in others.items()})


def test_a_gain_is_the_mean_over_the_months_of_what_is_saved() -> None:
    found = gains([made("WFP/requested", 100, 50, 0), made("WFP/regular/p85", 80, 60, 0)])
    wait = next(gain for gain in found if gain.metric == "wait")
    assert wait.by_month[:2] == pytest.approx((20, -20))
    assert math.isnan(wait.by_month[2])
    assert wait.mean == pytest.approx(0)
    assert (wait.study, wait.policy, wait.use, wait.scheme, wait.printed) == ("CTC", "WFP", "regular", "p85", 15)


def test_weighted_waits_are_compared_with_their_own_weights() -> None:
    runs = [
        made("FCFS/requested", 1, weighted_wait__WFP=9, weighted_wait__FCFS=10),
        made("FCFS/selective/p85", 1, weighted_wait__WFP=1, weighted_wait__FCFS=8),
        made("FCFS/last two", 3),
    ]
    found = {(gain.scheme, gain.metric): gain for gain in gains(runs)}
    assert found["p85", "weighted_wait"].mean == pytest.approx(20)
    assert found["p85", "weighted_wait"].printed == 15
    assert (found["last two", "wait"].use, found["last two", "wait"].mean) == ("", pytest.approx(-200))
    assert math.isnan(found["last two", "weighted_wait"].mean)


def test_a_run_that_failed_has_no_gain() -> None:
    runs = [made("WFP/requested", 1), Outcome("CTC/WFP/regular/p85", {}, "it failed"), made("FCFS/regular/p85", 1)]
    assert gains(runs) == []


def test_accuracies_are_of_the_runs_under_wfp() -> None:
    runs = [
        made("WFP/requested", accuracy=0.5),
        made("WFP/regular/p85", accuracy=0.6),
        made("WFP/selective/p85", accuracy=0.7),
        made("FCFS/requested", accuracy=0.8),
    ]
    assert accuracies(runs) == {"CTC": {"requested": {"m0": 0.5}, "p85": {"m0": 0.6}}}


# Claims


def judged(average: Any, under: Any) -> Evaluation:
    """An evaluation of the paper's grid with some function of the scheme as its outcomes."""
    outcomes = [Judged(scheme, average(scheme), 0.5, 0.1, 0.5, under(scheme), 0.0) for scheme in Grid()]
    return Evaluation("log", 10, 0.4, 0.4, tuple(outcomes), ())


ORDER = {"triple": 0.03, "double": 0.02, "user": 0.01, "project": 0.0}


def as_the_paper_says(scheme: Any) -> float:
    percentile = scheme.percentile if scheme.percentile >= 70 else 75
    return 0.7 - percentile / 1000 + ORDER[scheme.key] - (0.001 if scheme.window == "all" else 0)


def fewer(scheme: Any) -> float:
    return (100.5 - scheme.percentile) / 100 * (0.75 if scheme.threshold else 1.0)


def test_claims_hold_of_what_is_as_the_paper_says() -> None:
    found = trends("log", judged(as_the_paper_says, fewer))
    assert len(found) == 7
    assert [claim.text for claim in found if not claim.holds] == []


@pytest.mark.parametrize(
    ("average", "under", "failing"),
    [
        (lambda scheme: 0.5, fewer, 3),
        (lambda scheme: as_the_paper_says(scheme) + 0.1 * (scheme.percentile == 50), fewer, 1),
        (lambda scheme: as_the_paper_says(scheme) - 0.01 * (scheme.window == "1m"), fewer, 1),
        (as_the_paper_says, lambda scheme: fewer(scheme) * (0.5 if scheme.threshold else 1), 1),
        (as_the_paper_says, lambda scheme: (101 - scheme.percentile) / 100, 2),
    ],
)
def test_claims_fail_of_what_is_not(average: Any, under: Any, failing: int) -> None:
    found = trends("log", judged(average, under))
    assert sum(not claim.holds for claim in found) == failing


def gain(policy: str, use: str, value: float, scheme: str = "p85") -> list[Gain]:
    return [
        Gain("CTC", policy, use, scheme, metric, ("m0",), (100.0,), (100 - value,), None)
        for metric in ("wait", "slowdown", "weighted_wait")
    ]


def test_claims_of_the_simulations() -> None:
    helpful = [*gain("WFP", "regular", 5), *gain("WFP", "selective", 9), *gain("FCFS", "selective", 2)]
    assert [claim.holds for claim in gain_claims([*helpful, *gain("FCFS", "regular", -3)])] == [True] * 10
    harmful = [*gain("WFP", "regular", -1), *gain("FCFS", "regular", 20, "p70"), *gain("FCFS", "selective", 0)]
    found = gain_claims(harmful)
    assert [claim.source for claim in found] == ["figure 14"] * 3 + ["figure 16"] + ["figure 17"] * 3
    assert not any(claim.holds for claim in found)
    assert "p70 +20.0 %, better in 1 of 1 months" in found[3].figures


# The command


def run(*words: str) -> Result:
    return CliRunner().invoke(slurm_sim, ["reproduce", "walltime", *words])


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    rows = []
    for job in range(1, 301):
        limit = int(rng.choice([30_000, 60_000]))
        rows.append(
            f"{job} {job * 20_000} {rng.integers(0, 9)} {round(limit * rng.uniform(0.3, 0.9))} {rng.integers(1, 4)} "
            f"-1 -1 -1 {limit} -1 1 {rng.integers(1, 3)} 5 -1 -1 -1 -1 -1"
        )
    Path("intrepid.swf").write_text("; MaxProcs: 4\n" + "\n".join(rows) + "\n")
    return Path("intrepid.swf")


def test_any_log_will_do(log: Path) -> None:
    done = run("--trace", str(log), "--out", "out", "--processes", "1")
    assert done.exit_code == 0, done.output
    assert "WFP      regular p95" in done.output
    assert "selective adjustment with p85 helps the slowdown under FCFS" in done.output
    written = json.loads(Path("out/tables.json").read_text())
    assert len(written["gains"]) == 12 * 4
    assert {gain["study"] for gain in written["gains"]} == {"intrepid"}
    assert written["gains"][0]["months"] == ["month 1", "month 2"]
    text = Path("out/tables.md").read_text()
    assert "| intrepid | WFP | regular p85 | " in text
    assert "## Mean accuracy by month on intrepid (figure 13)" in text
    assert sorted(path.name for path in Path("out").glob("*.png")) == [
        "fig13-intrepid.png",
        "fig14-intrepid-wfp-regular.png",
        "fig15-intrepid-wfp-selective.png",
        "fig16-intrepid-fcfs-regular.png",
        "fig17-intrepid-fcfs-selective.png",
    ]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "Name the folder of the logs with --traces"),
        (["--trace", "intrepid.swf", "--workload", "CTC"], "with --trace leave it out"),
        (["--trace", "intrepid.swf", "--trace", "intrepid.swf"], "Two logs are called intrepid"),
    ],
)
def test_what_cannot_be_asked(log: Path, words: list[str], told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SLURM_SIM_TRACES", raising=False)
    done = run(*words)
    assert done.exit_code == 2
    assert told in done.output
