"""slurm-sim reproduce realtime: runs, numbers, cells and claims."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from slurm_sim_studies.papers import realtime as paper
from slurm_sim_studies.papers.realtime import (
    BASIC,
    COUNTED,
    SCHEMES,
    Group,
    Measured,
    Study,
    find_studies,
    groups,
    specs,
)
from slurm_sim_studies.papers.realtime_claims import cells, claims
from slurm_sim_studies.papers.realtime_readings import QUESTIONS, Reading, others
from slurm_sim_studies.report import realtime as report

from emulator import Workload, simulate
from emulator.campaign import Outcome, identity
from emulator.cli import slurm_sim
from emulator.metrics.realtime import fates
from slurm_sim_plugins import ConfigurationError, InputError
from slurm_sim_plugins.manager import Catalogue, select

DATE = "01/21/2018 00:00:00"
FIRST = 1516492800
STUDY = Study("Mira", Path("mira.cobalt.log"), None, FIRST, (1.1, 1.1, 2.0, 1.59), (1.5, 1.5, 17.31, 4.77))


def log(path: Path, first: int, jobs: int = 40) -> Path:
    """A small log: a job a quarter of an hour, of sizes and lengths in turn, begun when it was submitted."""
    lines = []
    for job in range(jobs):
        submit, run = first + 900 * job, (600, 5400, 9000)[job % 3]
        keys = f"qtime={submit}.0 Resource_List.nodect={(512, 8192, 16384, 49152)[job % 4]} start={submit}.0"
        end = f"Resource_List.walltime={run // 3600 + 1:02}:00:00 end={submit + run}.0"
        lines.append(f"{DATE};E;{job + 1};{keys} {end}")
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for file, first, *_ in paper.FILES.values():
        log(tmp_path / Path(file).name.removesuffix(".gz"), first)
    return tmp_path


# Runs


def test_a_run_for_each_share_trial_and_scheme() -> None:
    made = specs([STUDY])
    assert len(made) == 4 * 5 * 4
    assert made[0].name == "Mira/default/5/baseline/1"
    assert made[-1].name == "Mira/default/20/jit/5"
    assert len({spec.name for spec in made}) == len(made)


@pytest.mark.parametrize("scheme", [*SCHEMES, *BASIC])
def test_every_scheme_can_be_configured(scheme: str) -> None:
    config = paper.config_of(STUDY, scheme, Reading())
    selection = select(Catalogue(), config.slots, config.plugin_options)
    assert selection.slots["SelectType"] == "select/blocks"
    assert (config.preemption.mode == "CHECKPOINT") == (scheme not in ("baseline", "high", "no"))


def test_schemes_are_those_of_the_paper() -> None:
    assert paper.preemption_of("jit").write_cost(49152) == pytest.approx(3640.89, abs=0.01)
    assert [paper.preemption_of(scheme).share for scheme in ("app5", "app10")] == [0.05, 0.1]
    assert paper.preemption_of("sys").interval == 3600
    assert paper.config_of(STUDY, "jit", Reading()).plugin_options["preempt/realtime"]["wide_short"] == 17.31
    with pytest.raises(ConfigurationError, match="there is no scheme 'lazy'; schemes are baseline, app10"):
        paper.config_of(STUDY, "lazy", Reading())


@pytest.mark.parametrize("name", others())
def test_every_other_reading_changes_the_run_or_how_it_is_counted(name: str) -> None:
    reading = others()[name]
    study = Study(**{**vars(STUDY), "blocks": Path("blocks.xml")})
    runs = [
        specs([study], percents=(10,), trials=1, schemes=("jit",), reading=each)[0] for each in (Reading(), reading)
    ]
    assert (runs[0].config, runs[0].measure) != (runs[1].config, runs[1].measure)
    select(Catalogue(), runs[1].config.slots, runs[1].config.plugin_options)
    assert name.partition("=")[0] in QUESTIONS


def test_a_trial_and_a_share_are_part_of_what_a_run_is(folder: Path) -> None:
    study = find_studies(folder_of(folder), ["Mira"])[0]
    made = specs([study], percents=(5, 10), trials=2, schemes=("jit",))
    assert len({identity(spec) for spec in made}) == 4
    jobs = made[0].source.workload()
    assert jobs.facts["realtime"].sum() == 2
    assert jobs.facts[COUNTED].all()


def folder_of(folder: Path) -> Path:
    """The folder, with files under the names that are looked for."""
    import gzip

    for file, *_ in paper.FILES.values():
        plain = folder / Path(file).name.removesuffix(".gz")
        (folder / Path(file).name).write_bytes(gzip.compress(plain.read_bytes(), mtime=0))
    return folder


def test_logs_are_looked_for(folder: Path) -> None:
    with pytest.raises(InputError, match=r"mira_2018-01-21_week.cobalt.log.gz is not there"):
        find_studies(folder)
    (folder / "alcf").mkdir()
    found = find_studies(folder_of(folder))
    assert [(study.name, study.blocks) for study in found] == [("Mira", None), ("Curie", None)]
    with pytest.raises(ConfigurationError, match="there is no workload 'Theta'; choose from Mira, Curie"):
        find_studies(folder, ["Theta"])


# Numbers


def test_what_is_measured_is_what_the_metrics_say() -> None:
    rng = np.random.default_rng(1)
    columns: dict[str, Any] = {
        "id": np.arange(1, 61),
        "submit": np.sort(rng.integers(0, 5000, 60)),
        "processors": rng.choice([512, 4096, 8192, 49152], 60),
        "run": rng.integers(1, 9000, 60),
        "time_limit": np.full(60, 9000),
        "realtime": rng.integers(0, 2, 60),
        COUNTED: rng.integers(0, 2, 60),
    }
    records = simulate(Workload.from_columns(columns), processors=49152, catalogue=Catalogue()).records
    for counted in ("week", "all"):
        numbers = Measured(counted=counted)(records)
        taken = records.jobs[COUNTED] == 1 if counted == "week" else None
        for fate in fates(records, counted=taken, by="run"):
            name = f"{fate.kind}:{fate.category}"
            assert numbers[f"{name}:jobs"] == fate.jobs
            for measure, value in (("slowdown", fate.slowdown), ("slowdown_median", fate.median_slowdown)):
                assert numbers.get(f"{name}:{measure}", math.nan) == pytest.approx(value, nan_ok=True)
            assert numbers.get(f"{name}:turnaround_p95", math.nan) == pytest.approx(fate.tail_turnaround, nan_ok=True)


def test_trials_count_with_their_jobs() -> None:
    trials = [
        {"batch:all:jobs": 3.0, "batch:all:slowdown": 2.0, "preemptions": 4.0},
        {"batch:all:jobs": 1.0, "batch:all:slowdown": 6.0, "preemptions": 0.0},
        {"batch:all:jobs": 0.0, "preemptions": 2.0},
    ]
    found = paper.together(trials)
    assert found == {"batch:all:jobs": 4 / 3, "batch:all:slowdown": 3.0, "preemptions": 2.0}


def test_runs_that_failed_are_left_out() -> None:
    outcomes = [Outcome(f"Mira/default/10/jit/{trial}", {"preemptions": float(trial)}) for trial in (1, 2)]
    outcomes.append(Outcome("Mira/default/10/jit/3", {}, error="it failed"))
    assert groups(outcomes) == [Group("Mira", "default", 10, "jit", 2, {"preemptions": 1.5})]


# The paper


def printed_groups() -> list[Group]:
    """Groups that have just what the paper prints at 10 %, and the rest of a kind."""
    found = []
    for scheme in SCHEMES:
        numbers: dict[str, float] = {}
        for kind, base in (("real-time", 1.9), ("batch", 2.3)):
            for category in ("all", "narrow-short", "narrow-long", "wide-short", "wide-long"):
                slow = {"baseline": base, "jit": base - 0.7 if kind == "real-time" else base + 0.2}.get(
                    scheme, base + 0.5
                )
                numbers |= {f"{kind}:{category}:jobs": 9.0, f"{kind}:{category}:slowdown": slow}
        numbers |= paper.values().get(scheme, {})
        found.append(Group("Mira", "default", 10, scheme, 5, numbers))
    return found


def test_the_papers_own_numbers_are_no_cell_apart() -> None:
    found = cells(printed_groups())
    assert len(found) == 18
    exact = [cell for cell in found if "less by" not in cell.row]
    assert all(cell.difference == 0 for cell in exact)
    # What it says in percent is what it prints, rounded.
    known = {cell.title: cell for cell in found if "less by" in cell.row and cell.title in ("all jobs", "wide-short")}
    assert all(abs(cell.ours - cell.printed[0]) < 2 for cell in known.values())
    assert cells(printed_groups()[:1]) == []


def test_the_headline_holds_for_the_papers_own_numbers() -> None:
    held = {claim.text: claim.holds for claim in claims(printed_groups(), "Mira")}
    assert held["at 10 %, JIT lowers the mean slowdown of real-time jobs by a third or more"]
    assert held["at a cost to batch jobs near 10 %"]
    worse = [Group(*(g.study, g.variation, g.percent, g.scheme, g.trials), dict(g.numbers)) for g in printed_groups()]
    worse[-1].numbers["real-time:all:slowdown"] = 1.5  # type: ignore[index]
    worse[-1].numbers["batch:all:slowdown"] = 3.0  # type: ignore[index]
    fails = {claim.text: claim.holds for claim in claims(worse, "Mira")}
    assert not fails["at 10 %, JIT lowers the mean slowdown of real-time jobs by a third or more"]
    assert not fails["at a cost to batch jobs near 10 %"]
    assert claims([], "Mira") == []


# The command


def reproduce(*words: object) -> Result:
    return CliRunner().invoke(slurm_sim, ["reproduce", "realtime", *map(str, words)])


def test_the_whole_reproduction(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Pictures take longer than all the rest; two are enough.
    monkeypatch.setattr(report, "CATEGORIES", ("wide-long",))
    out = tmp_path / "out"
    words = ("--traces", folder_of(folder), "--percents", "10", "--trials", 1, "--processes", 1, "--workload", "Mira")
    words = (*words, "--keep", tmp_path / "kept", "--readings", "--basic")
    done = reproduce(*words, "--out", out)
    assert done.exit_code == 0, done.output
    for text in ("JIT-CKPT", "high-priority queue", "Paper and ours", "figure 3, Mira", "blocks=aligned"):
        assert text in done.output
    assert {file.name for file in out.iterdir()} == {
        "report.html",
        "tables.md",
        "tables.json",
        *(f"figure-{number}-mira-default.png" for number in (3, 7)),
    }
    about = json.loads((out / "tables.json").read_text())
    assert {group["scheme"] for group in about["groups"]} == {*SCHEMES, *BASIC}
    assert "## Figure 7 on Mira, default: wide-long" in (out / "tables.md").read_text()
    assert reproduce(*words).output == done.output


def test_every_variation_can_be_run(folder: Path) -> None:
    words = ("--percents", "10", "--trials", 1, "--processes", 1, "--json", "--workload", "Curie")
    done = reproduce("--traces", folder_of(folder), *words, "--variation", "aps", "--variation", "90min")
    assert done.exit_code == 0, done.output
    about = json.loads(done.stdout)
    assert done.stderr == ""
    assert {group["variation"] for group in about["groups"]} == {"aps", "90min"}
    assert about["cells"] == []


@pytest.mark.parametrize("percents", ["", "ten", "0", "101", "5;10"])
def test_shares_that_are_none(percents: str, tmp_path: Path) -> None:
    done = reproduce("--traces", tmp_path, "--percents", percents)
    assert done.exit_code == 2
    assert "write it as 5,10" in done.output


def test_box_plots_of_nothing_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "CATEGORIES", ())
    drawn = report.figures([Group("Mira", "default", 10, "jit", 1, {"preemptions": 0.0})])
    assert len(drawn) == 1
    assert any("no such job" in text.get_text() for axes in drawn["figure-3-mira-default"].axes for text in axes.texts)
