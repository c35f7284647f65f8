"""What a result can do in an interpreter: plots, stories, differences, pages; and runs that are loaded again."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import emulator
from emulator import compare, load, simulate
from emulator.workload.models import lublin99
from slurm_sim_plugins.errors import ConfigurationError, InputError

WORKLOAD = lublin99.generate(150, processors=32, seed=3, load=0.9)


def run(scheduler: str, out: Path | None = None, **options: object) -> emulator.Result:
    return simulate(WORKLOAD, processors=32, scheduler=scheduler, out=out, **options)


def test_public_names_are_completed_before_they_are_imported() -> None:
    code = "import emulator, sys; print(*dir(emulator)); print('numpy' in sys.modules)"
    names, imported = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert set(emulator.__all__) <= set(names.split())
    assert imported == "False"


def test_a_misspelt_name_is_answered_with_the_right_one() -> None:
    with pytest.raises(AttributeError, match=r"no attribute 'simulat' \(did you mean 'simulate'\?\)"):
        emulator.simulat  # noqa: B018
    with pytest.raises(ConfigurationError, match=r"no option 'schedular' \(did you mean 'scheduler'\?\)"):
        simulate(WORKLOAD, processors=32, schedular="sched/easy")


@pytest.mark.parametrize("name", ["utilisation", "queue", "waits", "gantt"])
def test_pictures_are_figures_that_a_notebook_shows(name: str) -> None:
    figure = getattr(run("sched/easy").plot, name)()
    assert figure.axes
    assert any(axes.has_data() for axes in figure.axes)
    assert figure._repr_png_().startswith(b"\x89PNG")


def test_a_gantt_chart_of_too_many_jobs_is_refused() -> None:
    many = lublin99.generate(2100, processors=32, seed=3, load=0.5)
    with pytest.raises(ConfigurationError, match=r"plot\.gantt: 2,100 jobs cannot be told apart; it draws 2,000"):
        simulate(many, processors=32).plot.gantt()


def test_a_run_is_loaded_as_it_was(tmp_path: Path) -> None:
    made = run("sched/easy", tmp_path / "run")
    again = load(tmp_path / "run")
    assert again.jobs.equals(made.jobs)
    assert again.runs.equals(made.runs)
    assert again.metrics() == pytest.approx(made.metrics(), nan_ok=True)
    assert again.folder == made.folder == tmp_path / "run"
    with pytest.raises(InputError, match="nowhere"):
        load(tmp_path / "nowhere")


def test_a_story_is_that_of_the_command(tmp_path: Path) -> None:
    made = run("sched/easy", tmp_path / "run", explain=True)
    job = int(made.jobs.assign(wait=made.jobs.start - made.jobs.submit).nlargest(1, "wait").job_id.iloc[0])
    story = repr(made.explain(job))
    assert story == repr(load(tmp_path / "run").explain(job))
    assert story.startswith(f"job {job}\n")
    assert "sched/easy" in story
    with pytest.raises(InputError, match="there is no job 999"):
        made.explain(999)
    with pytest.raises(ConfigurationError, match=r"simulate\(\.\.\., out=FOLDER, explain=True\)"):
        run("sched/easy").explain(job)


def test_differences_are_those_of_the_starts() -> None:
    easy, fcfs = run("sched/easy"), run("sched/fcfs")
    frame = easy.diff(fcfs)
    both = easy.jobs.merge(fcfs.jobs, on="job_id")
    later = (both.start_y - both.start_x)[both.start_y != both.start_x]
    assert len(frame) == len(later) > 10
    assert sorted(frame.later) == sorted(later)
    assert list(easy.diff(fcfs, 3).job_id) == list(frame.job_id[:3])
    assert easy.diff(easy).empty


def test_runs_are_compared_in_one_frame() -> None:
    results = {"EASY": run("sched/easy"), "FCFS": run("sched/fcfs")}
    frame = compare(results, threshold=60.0)
    assert list(frame.index) == ["EASY", "FCFS"]
    for label, result in results.items():
        assert frame.loc[label].to_dict() == pytest.approx(result.metrics(threshold=60.0), nan_ok=True)


def test_a_page_is_written(tmp_path: Path) -> None:
    page = run("sched/easy").report(tmp_path / "page.html")
    assert page.read_text().startswith("<!DOCTYPE html>")
