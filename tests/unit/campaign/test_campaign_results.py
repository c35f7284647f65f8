"""What repetitions say: against plain recomputation, and on the command line."""

from __future__ import annotations

import io
import itertools
import json
import math
import statistics
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.dataset
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from emulator import Config
from emulator.campaign import Outcome, RunSpec, run_all
from emulator.campaign.analysis import front, means, paired, pareto
from emulator.campaign.measure import Metrics
from emulator.campaign.results import frame, records
from emulator.cli import slurm_sim
from emulator.cli.board import Board
from emulator.metrics.summary import summarise
from emulator.report.campaign import curves_picture, means_picture, pareto_picture, with_interval
from emulator.report.numbers import UNKNOWN
from emulator.report.page.sources import read_sources
from emulator.report.page.write import write_page
from emulator.workload.models import lublin99
from slurm_sim_plugins import ConfigurationError, InputError

T_975 = {2: 12.7062, 3: 4.3027, 4: 3.1824, 5: 2.7764}
"""Student's quantiles by the number of repetitions, from printed tables."""


def runs(values: dict[tuple[str, str], list[float]], other: float = 1.0) -> pd.DataFrame:
    rows = [
        {"run": f"{place}", "workload": w, "policy": p, "seed": seed, "mean_wait": value, "max_wait": other * seed}
        for place, ((w, p), each) in enumerate(values.items())
        for seed, value in enumerate(each)
    ]
    return pd.DataFrame(rows)


@settings(max_examples=40)
@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=5))
def test_means_have_students_intervals(values: list[float]) -> None:
    (row,) = means(runs({("w", "p"): values}), ["mean_wait"]).to_dict("records")
    count = len(values)
    half = T_975[count] * statistics.stdev(values) / math.sqrt(count)
    assert row["repetitions"] == count
    assert row["mean"] == pytest.approx(statistics.fmean(values), rel=1e-9, abs=1e-6)
    assert row["half"] == pytest.approx(half, rel=1e-4, abs=1e-6)
    assert row["alike"] == (len(set(values)) == 1)


def test_of_one_repetition_there_is_no_interval_and_numbers_that_are_none_do_not_count() -> None:
    table = means(runs({("w", "p"): [3.0], ("w", "q"): [1.0, math.nan, 3.0]}), ["mean_wait"])
    one, other = table.to_dict("records")
    assert one["mean"] == 3 and math.isnan(one["half"]) and not one["alike"]
    assert other["repetitions"] == 2 and other["mean"] == 2


def test_pairs_are_of_one_seed_whatever_the_order_and_whoever_is_missing() -> None:
    table = runs({("w", "base"): [10.0, 100.0, 1000.0, 5.0], ("w", "x"): [9.0, 98.0, 997.0]})
    (row,) = paired(table.sample(frac=1, random_state=3), ["mean_wait"], "base").to_dict("records")
    differences = [-1.0, -2.0, -3.0]
    assert (row["policy"], row["repetitions"], row["better"]) == ("x", 3, 3)
    assert row["mean"] == pytest.approx(-2)
    assert row["half"] == pytest.approx(T_975[3] * statistics.stdev(differences) / math.sqrt(3), rel=1e-4)
    assert row["relative"] == pytest.approx(-2 / 370) and not row["differs"]
    both = means(table, ["mean_wait"]).set_index("policy")["half"]
    assert row["half"] < both["x"], "pairs tell more than means"


def test_a_workload_on_which_the_baseline_has_no_result_yet_has_no_pairs() -> None:
    table = runs({("w", "base"): [1.0, 2.0], ("w", "x"): [2.0, 2.0], ("v", "x"): [3.0, 4.0]})
    assert list(paired(table, ["mean_wait"], "base")["workload"]) == ["w"]


def test_a_baseline_is_found_by_the_name_of_its_policy() -> None:
    table = runs({("w", "h p=70"): [1.0, 2.0], ("w", "h p=90"): [2.0, 3.0], ("w", "e"): [3.0, 3.0]})
    assert set(paired(table, ["mean_wait"], "h")["policy"]) == {"h p=90", "e"}
    with pytest.raises(ConfigurationError, match="no policy 'f'; policies are h p=70"):
        paired(table, ["mean_wait"], "f")


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=9))
def test_nobody_beats_who_is_on_the_front_and_somebody_who_is_not(points: list[tuple[int, int, int]]) -> None:
    def beats(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
        return one != other and all(a <= b for a, b in zip(one, other, strict=True))

    expected = [not any(beats(other, point) for other in points) for point in points]
    assert front(np.array(points, float)) == expected


def test_the_front_is_of_means_and_a_policy_without_a_number_is_not_on_it() -> None:
    table = runs({("w", "a"): [1.0, 3.0], ("w", "b"): [math.nan, math.nan], ("v", "a"): [9.0, 9.0]})
    found = pareto(table, ["mean_wait", "max_wait"]).set_index(["workload", "policy"])
    assert found["front"].to_dict() == {("w", "a"): True, ("w", "b"): False, ("v", "a"): True}
    assert found.loc[("w", "a"), "mean_wait"] == 2 and found.loc[("w", "a"), "max_wait"] == 0.5


@pytest.mark.parametrize(
    ("metrics", "words"),
    [(["mean_wait"], "two or more"), (["mean_wait", "seed"], "neither more nor less"), (["no", "max_wait"], "'no'")],
)
def test_a_front_that_cannot_be_is_told(metrics: list[str], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        pareto(runs({("w", "a"): [1.0, 3.0]}), metrics)


def test_numbers_and_intervals_have_as_many_digits_as_they_need() -> None:
    assert with_interval("mean_wait", 1234.5678, 12.3) == "1,234.57 ± 12.30"
    assert with_interval("mean_wait", 12.0, math.nan) == "12"
    assert with_interval("utilisation", 0.5, 0.01) == "50.00 % ± 1.00 %"
    assert with_interval("jobs", 100, 0.0) == "100 ± 0"


STUDY = """
[campaign]
repetitions = 3
metrics = ["mean_wait", "utilisation"]
records = true
[workloads.model]
model = "lublin99"
jobs = 80
processors = 64
load = [0.6, 0.9]
[policies]
EASY = ["sched/easy"]
"[red]FCFS" = ["sched/fcfs"]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("campaign")
    (place / "study.toml").write_text(STUDY)
    assert command("run", str(place / "study.toml"), "--processes", "1").startswith("12 runs: 12 done; 12 made now")
    return place / "study"


def command(*words: str) -> str:
    done = CliRunner().invoke(slurm_sim, ["campaign", *words], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.mark.slow
def test_the_frame_has_each_run_as_it_was_measured(folder: Path) -> None:
    table = frame(folder)
    assert len(table) == 12 and list(table["workload.load"].unique()) == [0.6, 0.9]
    for row in table.to_dict("records"):
        scheduler = "sched/easy" if row["policy"] == "EASY" else "sched/fcfs"
        workload = lublin99.generate(80, 64, row["seed"], load=row["workload.load"])
        from emulator import simulate

        measured = Metrics()(simulate(workload, scheduler=scheduler).records)
        assert {key: row[key] for key in ("mean_wait", "utilisation", "makespan")} == {
            key: measured[key] for key in ("mean_wait", "utilisation", "makespan")
        }
    assert (table["cpu_seconds"] > 0).all() and (table["peak_memory_mb"] > 10).all()


def test_the_data_set_is_one_that_others_read_too(folder: Path) -> None:
    data = pyarrow.dataset.dataset(folder / "runs", partitioning="hive", format="parquet").to_table().to_pandas()
    ours = frame(folder)
    assert dict(zip(data["run"], data["mean_wait"], strict=True)) == dict(
        zip(ours["run"], ours["mean_wait"], strict=True)
    )


def test_a_page_of_a_campaign_draws_its_runs(folder: Path, tmp_path: Path) -> None:
    found = read_sources([folder])
    assert [len(each.run.records) for each in found.runs if each.run] == [80] * 12
    assert {each.run.records.processors for each in found.runs if each.run} == {64}
    again = summarise(found.runs[0].run.records) if found.runs[0].run else {}
    assert again["utilisation"] == pytest.approx(found.runs[0].metrics["utilisation"])
    write_page(found, tmp_path / "page.html")
    assert "2 policies on 2 workloads" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_job_records_are_kept_where_they_are_wanted(folder: Path, tmp_path: Path) -> None:
    run = frame(folder).iloc[0]
    jobs = records(folder, run["run"])
    assert len(jobs) == 80 and (jobs["end"] - jobs["submit"] - jobs["run"]).mean() == pytest.approx(run["mean_wait"])
    with pytest.raises(InputError, match="records = true"):
        records(folder, "0" * 64)


def test_a_manifest_says_all_that_made_a_result(folder: Path) -> None:
    manifest = json.loads(next(folder.rglob("_manifest.json")).read_text())
    assert manifest["determined_by"].keys() >= {"trace", "config", "plugins", "measure", "code", "version"}
    assert manifest["determined_by"]["config"]["seed"] == manifest["coordinates"]["seed"]
    assert manifest["versions"].keys() >= {"python", "numpy", "slurm-sim-plugins"}
    assert manifest["spent"]["cpu_seconds"] > 0 and manifest["spent"]["peak_memory_mb"] > 10
    assert set(manifest["files"]) == {"numbers.parquet", "records.parquet", "runs.parquet"}


def test_results_are_printed_and_what_a_file_says_is_text(folder: Path) -> None:
    text = command("results", str(folder))
    assert "[red]FCFS" in text and "mean wait" in text and "less EASY" in text and "±" in text
    assert "12 runs: 12 done" in command("status", str(folder))
    data: dict[str, Any] = json.loads(command("results", str(folder), "--json", "--pareto", "mean_wait,max_wait"))
    assert data.keys() == {"means", "paired", "pareto"}
    easy = [row for row in data["means"] if row["policy"] == "EASY" and row["metric"] == "mean_wait"]
    table = frame(folder)
    for row in easy:
        values = table[(table["policy"] == "EASY") & (table["workload"] == row["workload"])]["mean_wait"]
        assert row["mean"] == pytest.approx(values.mean())
    assert json.loads(command("status", str(folder), "--json"))["done"] == 12


@pytest.mark.slow
def test_results_go_into_files(folder: Path, tmp_path: Path) -> None:
    csv, plots = tmp_path / "runs.csv", tmp_path / "plots"
    command("results", str(folder), "--csv", str(csv), "--plots", str(plots), "--pareto", "mean_wait,max_wait")
    pd.testing.assert_frame_equal(pd.read_csv(csv), frame(folder), check_dtype=False)
    names = {"mean_wait.png", "utilisation.png", "mean_wait-by-load.png", "utilisation-by-load.png", "pareto.png"}
    assert {file.name for file in plots.iterdir()} == names


@pytest.mark.slow
def test_pictures_show_means_and_intervals() -> None:
    table = runs({(f"m load={load}", p): [load, 2 * load, 6 * load] for load in (1.0, 2.0) for p in ("a", "b x=1")})
    table["workload.load"] = [float(name.partition("=")[2]) for name in table["workload"]]
    found = means(table, ["mean_wait"])
    axes = [each for each in means_picture(found, "mean_wait", 0.95).axes if each.get_visible()]
    assert [each.get_title(loc="left") for each in axes] == ["m load=1.0", "m load=2.0"]
    assert [patch.get_width() for patch in axes[1].patches] == [6.0, 6.0]
    picture = curves_picture(table, found, "mean_wait", "workload.load")
    assert picture is not None
    (axis,) = picture.axes
    assert axis.get_legend_handles_labels()[1] == ["m / a", "m / b x=1"]
    (bars, _) = axis.collections
    low, high = bars.get_segments()[0][:, 1]
    assert (high - low) / 2 == pytest.approx(found["half"].iloc[0])
    assert curves_picture(table, found, "mean_wait", "seed") is None
    front = pareto(table, ["mean_wait", "max_wait"])
    assert len([each for each in pareto_picture(front, ["mean_wait", "max_wait"]).axes if each.get_visible()]) == 2


def test_nothing_finished_is_told(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(STUDY.replace("jobs = 80", "jobs = 20"))
    CliRunner().invoke(slurm_sim, ["campaign", "run", str(tmp_path / "study.toml"), "--processes", "1"])
    for file in (tmp_path / "study").rglob("_manifest.json"):
        file.unlink()
    with pytest.raises(InputError, match="no run is finished"):
        command("results", str(tmp_path / "study"))
    assert frame(tmp_path / "study").empty


def test_a_dry_run_lists_the_runs(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(STUDY)
    text = command("run", str(tmp_path / "study.toml"), "--dry-run")
    assert text.endswith("12 runs\n") and "model load=0.6 / EASY / seed 0\n" in text
    assert not (tmp_path / "study").exists()


def test_the_board_counts_what_is_made_and_leaves_what_was_kept_out_of_the_rate() -> None:
    cases = list(itertools.product(("w", "v"), ("EASY", "[bold]x"), range(2)))
    specs = [
        RunSpec(f"{n}", Path("x"), Config(), Metrics(), coordinates={"workload": w, "policy": p, "seed": n})
        for w, p, n in cases
    ]
    board = Board(specs, "mean_wait")
    for place, spec in enumerate(specs[:6]):
        error = "broken" if place == 5 else ""
        numbers = {} if error else {"mean_wait": 100.0 * (1 + place)}
        board.report(Outcome(spec.name, numbers, error, kept=place < 2, coordinates=spec.coordinates))
    (task,) = board.bar.tasks
    assert (task.completed, task.total) == (4, 6)
    console = Console(file=io.StringIO(), width=100)
    console.print(board.table(), board.bar)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    (row,) = [line.split() for line in text.splitlines() if line.startswith("  w") and "EASY" in line]
    assert row == ["w", "EASY", "2", "2", UNKNOWN, "150.00"]
    (row,) = [line.split() for line in text.splitlines() if line.startswith("  v") and "EASY" in line]
    assert row == ["v", "EASY", "1", "2", "1", "500.00"]
    assert "[bold]x" in text and "4/6" in text


def test_a_program_may_list_runs_and_measure_what_it_likes(tmp_path: Path) -> None:
    from emulator.workload.swf import write_swf

    write_swf(lublin99.generate(30, 64, 1), tmp_path / "jobs.swf")
    specs = [RunSpec(f"seed {n}", tmp_path / "jobs.swf", Config(seed=n), Metrics(float(n))) for n in (1, 2)]
    run_all(specs[:1], keep=tmp_path / "kept")
    run_all(specs[1:], keep=tmp_path / "kept")
    assert list(frame(tmp_path / "kept")["policy"]) == ["seed 1", "seed 2"]
    assert "2 runs: 2 done" in command("status", str(tmp_path / "kept"))


@pytest.mark.slow
def test_the_example_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (Path(__file__).parents[3] / "docs" / "campaigns.md").read_text(encoding="utf-8")

    def block(label: str) -> str:
        return page.partition(f"<!-- {label} -->\n```")[2].partition("\n")[2].partition("```")[0]

    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(block("file: study.toml"))
    lines = [line.partition("#")[0].split() for line in block("command: campaign").splitlines()]
    assert [line[:3] for line in lines] == [
        ["slurm-sim", "campaign", w] for w in ("run", "status", "results", "resume")
    ]
    printed = [command(*line[2:], *(["--processes", "1"] if "study.toml" in line else [])) for line in lines]
    assert "40 runs: 40 done; 40 made now" in printed[0] and "40 runs: 40 done; 0 made now" in printed[3]
    assert "less EASY" in printed[2] and Path("study-plots/pareto.png").exists()
    exec(compile(block("python: campaign"), "campaigns.md", "exec"), {})
