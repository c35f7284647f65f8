"""Papers' tables beside ours: cells, presets, claims, the search, and the command."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from slurm_sim_studies.papers import pv_easy
from slurm_sim_studies.papers.cells import Cell, beyond, mean_distance, within
from slurm_sim_studies.papers.claims import claims, virtual_claims, virtual_means
from slurm_sim_studies.papers.readings import COUNTING, QUESTIONS, RULED, Reading, key_of, possible
from slurm_sim_studies.papers.search import effects, leave_one_out, neighbours, search, search_rules
from slurm_sim_studies.papers.weeks import without_heaviest
from slurm_sim_studies.report.paperfigures import figures
from slurm_sim_studies.report.papers import markdown, rules_lines, search_lines, summary

from emulator.campaign import Outcome, run_all
from emulator.cli import slurm_sim
from emulator.config.experiment import read_experiment
from emulator.config.presets import preset, presets
from emulator.report.style import picture_bytes
from emulator.workload.models import lublin99
from emulator.workload.swf import write_swf
from slurm_sim_plugins import ConfigurationError, InputError


def cell(ours: float, *printed: float, column: str = "CTC", row: str = "row") -> Cell:
    return Cell("journal", 4, "title", row, column, printed, ours)


def test_a_cell_is_set_against_the_nearest_value_that_the_paper_prints() -> None:
    assert cell(104, 100).difference == pytest.approx(0.04)
    assert cell(104, 90, 105).nearest == 105
    assert cell(50, 100).distance == cell(200, 100).distance == pytest.approx(math.log(2))
    assert cell(0, 100).distance == cell(math.nan, 100).distance == math.log(10)


def test_cells_are_counted_by_how_near_they_are() -> None:
    cells = [cell(100, 100, row="a"), cell(104, 100, row="b"), cell(113, 100, row="c"), cell(math.nan, 100, row="d")]
    assert within(cells, 0.05) == 0.5
    assert beyond(cells) == [cells[3], cells[2]]
    assert mean_distance(cells[:1]) == 0
    told = "numbers that are neither trivial nor printed twice: "
    assert summary(cells).startswith(f"Tables 4 to 11: 4 cells, 4 {told}50.0 % within 5 %, 2 beyond 12 %")
    # What any policy has right, and what is printed twice, does not raise the share.
    trivial = [cell(5, 5, row=f"pv {metric}") for metric in ("jobs", "total_load_pct", "preempted_pct")]
    assert summary([*cells, cells[0], *trivial]).startswith(f"Tables 4 to 11: 8 cells, 4 {told}50.0 % within 5 %")
    assert summary(trivial) == "Tables 4 to 11: 3 cells, all of them trivial."
    apart = Cell("journal", 1, "title", "row", "CTC", (10,), 20)
    assert summary([*cells, apart]).splitlines()[1].startswith(f"Tables 1 and 2: 1 cells, 1 {told}0.0 % within 5 %")
    assert summary([]) == "No cells."


def test_all_tables_are_there_with_their_conflicts() -> None:
    rows = pv_easy.rows()
    assert {(row.paper, row.table) for row in rows} == {("conference", 4)} | {
        ("journal", table) for table in (1, 2, 4, 5, 6, 7, 8, 9, 10, 11)
    }
    conflict = next(row for row in rows if row.table == 6 and row.run == "pv")
    assert conflict.values["SDSC-DS"] == (10433, 10294)
    assert conflict.values["CTC"] == (10172,)
    assert pv_easy.runs_of([7]) == ["pv", "cp60", "cp120", "cp180"]
    assert len(pv_easy.runs_of()) == 9


@pytest.mark.parametrize("name", presets())
def test_every_preset_is_an_experiment(name: str) -> None:
    assert read_experiment(Path(name)) == replace(read_experiment(preset(name)), preset=name)
    if name not in ("papers/walltime_adjustment", "papers/realtime"):
        assert read_experiment(Path(name)).reading == {"filter": "papers"}


def test_a_preset_that_there_is_not_is_named() -> None:
    with pytest.raises(ConfigurationError, match="papers/pv_easy"):
        read_experiment(Path("papers/pv_easier"))


@pytest.mark.parametrize("run", pv_easy.runs_of())
def test_the_default_reading_is_that_of_the_presets(run: str) -> None:
    plain, read = pv_easy.config_of(run, 10), pv_easy.config_of(run, 10, Reading())
    assert (plain.kill_at_limit, plain.expired, plain.passes) == (read.kill_at_limit, read.expired, read.passes)
    assert plain.preemption == read.preemption
    for name, options in plain.plugin_options.items():
        assert dict(options).items() <= dict(read.plugin_options[name]).items()


def test_costs_and_draws_of_a_run() -> None:
    assert pv_easy.config_of("cp120", 10).preemption.cost == 120
    assert pv_easy.config_of("vm180", 10).preemption.mode == "SUSPEND"
    assert pv_easy.config_of("cp60", 10, Reading(restart_cost=True)).preemption.restart_cost == 60
    virtual = pv_easy.config_of("virtual:sjf:0.2:3", 10)
    assert virtual.slots["BackfillType"] == "backfill/sjf"
    assert virtual.plugin_options["walltime/virtual"] == {"error": 0.2}
    assert virtual.seed == 3


def outcome(run: str, **numbers: float) -> Outcome:
    return Outcome(f"CTC/{run}", numbers)


def test_claims_hold_or_do_not() -> None:
    found = claims(
        [
            outcome("easy", mbs=10, mwbs=10, blocked_mbs_big=9, blocked_mbs_small=3),
            outcome("easy_last", mbs=12, mwbs=9),
            outcome("pv", mbs=10.4, mwbs=11, blocked_mbs_big=8, blocked_mbs_small=2, **{"violated_jobs:latest": 1}),
            outcome("cp60", mbs=9),
        ],
        ["CTC"],
    )
    holding = {(claim.source, claim.text.partition(" under")[0]): claim.holds for claim in found}
    assert holding["figure 2", "big blocked jobs are better off"]
    assert not holding["figure 2", "small blocked jobs are not better off"]
    assert [claim.holds for claim in found if "level" in claim.text] == [True, False]
    assert [(claim.source, claim.holds) for claim in found if "EASY-Last" in claim.text] == [
        ("figure 6", False),
        ("section 6", True),
    ]
    assert not any("worst in MBS" in claim.text for claim in found)
    assert [claim.holds for claim in found if "violated" in claim.text] == [False]
    assert [(claim.holds, claim.figures) for claim in found if claim.source == "figure 7"] == [
        (True, "-13.5 %, printed -9.00 %")
    ]


def test_the_heaviest_week_is_that_of_all_runs_and_is_left_out_of_each() -> None:
    first = {"week_slowdowns:1": 10.0, "week_jobs:1": 5.0, "week_slowdowns:37": 90.0, "week_jobs:37": 5.0}
    second = {**first, "week_slowdowns:1": 40.0, "week_slowdowns:37": 30.0}
    made = [outcome("easy", **second), outcome("pv", **first), outcome("virtual:pv:0.1:0", **first), outcome("cp60")]
    rows = without_heaviest(made, ["CTC", "SDSC-DS"])
    assert [(one.run, one.week, one.jobs, one.mbs, one.without) for one in rows] == [
        ("easy", 37, 5, 7.0, 8.0),
        ("pv", 37, 5, 10.0, 2.0),
    ]
    text = markdown([cell(1, 1)], [], {}, (), rows)
    assert "| CTC | 37 | 5 | pv | 10 | 2 |" in text
    assert without_heaviest(made, ["SDSC-DS"]) == []


def test_weeks_add_up_to_the_mean_over_all_jobs(traces: Path) -> None:
    (made,) = run_all(pv_easy.specs(pv_easy.find_traces(traces, ["CTC"]), ["easy"]))
    (one,) = without_heaviest([made], ["CTC"])
    assert one.mbs == pytest.approx(made.numbers["mbs"])
    weeks = [key for key in made.numbers if key.startswith("week_jobs:")]
    assert sum(made.numbers[key] for key in weeks) == 120
    heaviest = max(weeks, key=lambda key: made.numbers[key.replace("jobs", "slowdowns")])
    assert heaviest == f"week_jobs:{one.week}"


def test_the_virtual_predictor_is_judged_on_means() -> None:
    made = [
        outcome(f"virtual:{scheduler}:{error}:{repetition}", mbs=base + error + repetition)
        for scheduler, base in (("easy", 9), ("sjf", 7), ("pv", 6))
        for error in (0.0, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0)
        for repetition in range(2)
    ]
    assert virtual_means(made, "CTC", "mbs")["sjf"][0.2] == pytest.approx(7.7)
    assert [claim.holds for claim in virtual_claims(made, ["CTC"])] == [True, True]


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("traces")
    for seed, study in enumerate(pv_easy.STUDIES):
        write_swf(lublin99.generate(120, 100, seed, load=0.9), folder / study.file)
    return folder


def test_every_question_is_a_field_and_every_way_of_counting_is_measured(traces: Path) -> None:
    assert list(Reading.__dataclass_fields__) == list(QUESTIONS)
    assert set(RULED.values()) == set(COUNTING)
    assert all(getattr(Reading(), question) in answers for question, answers in QUESTIONS.items())
    files = pv_easy.find_traces(traces, ["CTC"])
    (made,) = run_all(pv_easy.specs(files, ["easy_last"], Reading()))
    for metric in ("total_load_pct", "blocked_jobs", "delayed_jobs", "violated_jobs"):
        for reading in [Reading(), *neighbours(Reading(), QUESTIONS)]:
            assert key_of(metric, reading) in made.numbers


def test_readings_whose_answers_exclude_each_other_are_not_tried() -> None:
    assert not possible(Reading(last="submitted", refresh="pass"))
    assert possible(Reading())


def test_a_search_ranks_readings_and_judges_them_on_the_trace_left_out(traces: Path) -> None:
    files = pv_easy.find_traces(traces)
    questions = {"kill_at_limit": (True, False), "trim": (False, True), "restart_cost": (False, True)}
    found = search(files, ["pv", "easy"], questions=questions)
    assert found.presets.reading == Reading()
    assert found.start.reading == Reading(kill_at_limit=True)
    assert sorted(one.distance() for one in found.tried) == [one.distance() for one in found.tried]
    assert found.best == found.tried[0]
    assert {found.presets, found.start} <= set(found.tried)
    told = {name: matters for name, _, _, matters in effects(found.tried, found.start)}
    assert set(told) == set(questions)
    assert not told["restart_cost"]
    left = leave_one_out(found, list(files))
    assert [one.column for one in left] == ["CTC", "SDSC-BLUE", "SDSC-DS"]
    for one in left:
        others = [name for name in files if name != one.column]
        assert one.chosen.distance(others) == min(other.distance(others) for other in found.tried)
        assert one.presets_distance == found.presets.distance([one.column])
    text = "\n".join(search_lines(found, list(files)))
    assert "| restart_cost | True | +0.0000 | blind to it |" in text
    assert "Cells beyond 12 % in the presets" in text
    assert "The choice is not nested" in text


def test_no_single_answer_is_nearer_than_the_nearest(traces: Path) -> None:
    files = pv_easy.find_traces(traces)
    questions = {"kill_at_limit": (True, False), "restart": (True, False), "blocked": ("any", "after_end")}
    found = search(files, ["pv", "easy"], questions=questions)
    changes = list(effects(found.tried, found.best))
    assert {name for name, *_ in changes} == set(questions)
    assert all(change >= 0 for _, _, change, _ in changes)


def test_rules_of_counting_are_searched_on_one_table(traces: Path) -> None:
    files = pv_easy.find_traces(traces, ["CTC"])
    questions = {"delay": ("could_start", "overtaken"), "reservation": ("recompute", "ratchet")}
    found = search_rules(files, 1, ["easy"], questions)
    assert len(found.tried) == 4
    assert {(cell.paper, cell.table) for one in found.tried for cell in one.cells} == {("journal", 1)}
    text = "\n".join(rules_lines(found, 1, list(questions)))
    assert "### The rule of table 1" in text
    assert "| delay | could_start |" in text and "| reservation | ratchet |" in text


def test_the_command_prints_and_writes_the_tables(traces: Path, tmp_path: Path) -> None:
    words = [
        "reproduce",
        "pv-easy",
        "--traces",
        str(traces),
        "--workload",
        "CTC",
        "--tables",
        "4,5",
        "--processes",
        "1",
    ]
    done = CliRunner().invoke(slurm_sim, [*words, "--out", str(tmp_path / "out")], catch_exceptions=False)
    assert done.exit_code == 0
    assert "journal 5" in done.output
    data = json.loads((tmp_path / "out" / "tables.json").read_text())
    assert data["options"]["filter"] == "papers"
    assert {(one["paper"], one["table"]) for one in data["cells"]} == {
        ("journal", 4),
        ("journal", 5),
        ("conference", 4),
    }
    assert sorted(path.name for path in (tmp_path / "out").glob("*.png")) == ["figure-2.png", "figure-3.png"]
    text = (tmp_path / "out" / "tables.md").read_text()
    assert "## journal, table 5: Preempted jobs under PV-EASY" in text
    assert "## Claims of the figures" in text
    assert "## MBS with and without the heaviest week" in text
    assert {one["run"] for one in data["weeks"]} == {"pv", "easy"}


def test_figures_are_drawn_where_the_runs_suffice(traces: Path, tmp_path: Path) -> None:
    files = pv_easy.find_traces(traces)
    outcomes = run_all(pv_easy.specs(files, pv_easy.runs_of(), Reading()))
    drawn = figures(outcomes, list(files))
    assert list(drawn) == [f"figure-{number}" for number in (2, 3, 5, 6, 7, 8)]
    bars = [patch.get_height() for patch in drawn["figure-5"].axes[0].patches]
    expected = [
        made.numbers["mbs"] for run in ("easy", "easy_last", "pv") for made in outcomes if made.name.endswith(f"/{run}")
    ]
    assert bars == expected
    assert picture_bytes(drawn["figure-7"], "png").startswith(b"\x89PNG")
    assert not figures([made for made in outcomes if made.name != "CTC/pv"], list(files))
    virtual = [
        outcome(f"virtual:{run}:{error}:{repetition}", mbs=5 + repetition, mwbs=9)
        for run in ("easy", "sjf", "pv")
        for error in (0.0, 0.4)
        for repetition in range(2)
    ]
    (lines, *_rest) = figures(virtual, ["CTC"])["figure-4"].axes
    assert [line.get_ydata().tolist() for line in lines.lines] == [[5.5, 5.5]] * 3


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--traces or SLURM_SIM_TRACES"):
        pv_easy.find_traces(tmp_path)
    with pytest.raises(ConfigurationError, match="no workload 'KTH'"):
        pv_easy.find_traces(tmp_path, ["KTH"])
    done = CliRunner().invoke(slurm_sim, ["reproduce", "pv-easy", "--traces", str(tmp_path), "--tables", "x"])
    assert done.exit_code == 2
    assert "write it as 4,5" in done.output


def test_a_report_without_claims_has_no_heading_for_them() -> None:
    assert "Claims" not in markdown([cell(1, 1)], [], {"filter": "papers"})


@pytest.mark.parametrize("option", ["--config", "--experiment"])
def test_a_preset_runs_by_its_name(option: str, traces: Path) -> None:
    words = ["run", str(traces / pv_easy.STUDIES[0].file), option, "papers/pv_easy", "--json", "--processors", "100"]
    done = CliRunner().invoke(slurm_sim, words, catch_exceptions=False)
    assert done.exit_code == 0
    about = json.loads(done.output)
    assert about["slots"]["PreemptType"] == "preempt/shadow_load"
    assert about["plugins"]["sched/venture"]["options"] == {"restart": False}
    assert about["simulation"]["expired"] == "again"


def test_help_and_documentation_name_every_preset() -> None:
    options = (Path(__file__).parents[2] / "docs" / "options.md").read_text()
    words = CliRunner().invoke(slurm_sim, ["run", "--help"]).output
    for name in presets():
        assert f"| `{name}` |" in options
        assert name.removeprefix("papers/") in words
