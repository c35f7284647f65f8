"""``slurm-sim trace generate`` and ``trace fit``."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest
from click.testing import CliRunner

from emulator import read_swf, write_swf
from emulator.cli import slurm_sim
from emulator.cli.trace import trace
from emulator.workload.models import cpu_use, feitelson96, jann97, lublin99, tsafrir05
from emulator.workload.models.jann97_parameters import read_parameters
from slurm_sim_plugins import SlurmSimError

OPTIONS = (Path(__file__).parents[3] / "docs" / "options.md").read_text(encoding="utf-8")
Run = Callable[..., str]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The command in a folder of its own; errors come out as they are."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")

    def call(*words: object) -> str:
        return (
            CliRunner()
            .invoke(slurm_sim, ["trace", *map(str, words)], catch_exceptions=False, standalone_mode=False)
            .output
        )

    return call


@pytest.fixture
def log(tmp_path: Path) -> Path:
    write_swf(lublin99.generate(800, 64, 5, kind="both"), tmp_path / "log.swf")
    return tmp_path / "log.swf"


def columns(path: str) -> dict[str, list[Any]]:
    return {name: values.tolist() for name, values in read_swf(path).columns().items()}


@pytest.mark.parametrize("model", [lublin99, feitelson96, jann97])
def test_each_model_with_estimates_and_cpu_use(run: Run, model: Any) -> None:
    name = model.__name__.rpartition(".")[2]
    words = ("--model", name, "--jobs", 700, "--processors", 320, "--load", 0.8, "--seed", 4)
    out = run("generate", "jobs.swf.gz", *words, "--estimates", "tsafrir05", "--cpu-use")
    assert f"Written: jobs.swf.gz ({name})" in out
    assert ("(published:" in out) == (model is not lublin99)
    exact = model.generate(700, 320, 4, load=0.8, estimates="exact")
    expected = cpu_use.assign(tsafrir05.assign(exact, 4), 4)
    assert columns("jobs.swf.gz") == {name: values.tolist() for name, values in expected.columns().items()}


def test_estimates(run: Run) -> None:
    run("generate", "factor.swf", "--jobs", 300)
    run("generate", "tight.swf", "--jobs", 300, "--estimate-factor", 1)
    run("generate", "exact.swf", "--jobs", 300, "--estimates", "exact")
    run("generate", "popular.swf", "--jobs", 300, "--estimates", "tsafrir05", "--largest-estimate", 200000)
    factor, tight, exact, popular = (columns(f"{name}.swf") for name in ("factor", "tight", "exact", "popular"))
    assert factor["run"] == tight["run"] == exact["run"] == exact["time_limit"] == popular["run"]
    assert tight["time_limit"] == [-(-seconds // 60) * 60 for seconds in exact["run"]]
    assert max(popular["time_limit"]) == 200000
    assert factor == {name: values.tolist() for name, values in lublin99.generate(300, 128, 0).columns().items()}


def test_a_fit_is_printed_written_and_imitated(run: Run, log: Path) -> None:
    out = run("fit", "log.swf", "like.swf", "--jobs", 500, "--seed", 3, "--load", 0.5, "--parameters", "fit.toml")
    fitted = jann97.fit(read_swf(log))
    assert read_parameters(Path("fit.toml")) == fitted
    expected = jann97.generate(500, 64, 3, load=0.5, parameters=fitted)
    assert columns("like.swf") == {name: values.tolist() for name, values in expected.columns().items()}
    for words in ("Load on 64 processors: log", "imitation 0.5", "33-64", "Written: fit.toml", "Written: like.swf"):
        assert words in out
    again = run("generate", "again.swf", "--model", "jann97", "--jobs", 500, "--seed", 3, "--load", 0.5,
                "--processors", 64, "--parameters", "fit.toml")  # fmt: skip
    assert "Written: again.swf (jann97)" in again
    assert Path("again.swf").read_bytes() == Path("like.swf").read_bytes()


def test_a_fit_as_json_without_a_file(run: Run, log: Path, tmp_path: Path) -> None:
    about = json.loads(run("fit", log, "--json"))
    assert about["log"]["jobs"] == about["imitation"]["jobs"] == 800
    assert about["log"]["load"] == read_swf(log).load(64)
    ranges = about["log"]["ranges"]
    assert sum(each["jobs"] for each in ranges) == 800
    serial = read_swf(log).processors == 1
    assert ranges[0]["runs"][0] == pytest.approx(read_swf(log).run[serial].mean())
    assert [path.name for path in tmp_path.iterdir()] == ["log.swf"]


def test_a_smaller_machine_leaves_out_what_it_cannot_hold(run: Run, log: Path) -> None:
    out = run("fit", "log.swf", "like.swf", "--processors", 20)
    assert "more processors than the machine's 20" in out
    assert max(columns("like.swf")["processors"]) <= 20


def test_the_same_command_writes_the_same_bytes(run: Run, log: Path) -> None:
    for name in ("one", "other"):
        run("fit", log, f"{name}.swf", "--parameters", f"{name}.toml", "--estimates", "tsafrir05", "--cpu-use")
    for ending in ("swf", "toml"):
        assert Path(f"one.{ending}").read_bytes() == Path(f"other.{ending}").read_bytes()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("generate x.swf --model jann97 --kind both", "--kind chooses parameters of lublin99; jann97 has none"),
        ("generate x.swf --parameters fit.toml", "--parameters are of jann97; lublin99 takes none"),
        ("generate x.swf --model jann97 --parameters none.toml", "none.toml: cannot be read"),
        ("generate x.swf --estimates exact --estimate-factor 3", "--estimate-factor goes with --estimates factor"),
        ("generate x.swf --largest-estimate 3600", "--largest-estimate goes with --estimates tsafrir05"),
        ("generate x.swf --estimates tsafrir05 --largest-estimate 60", "longer than the largest estimate of 60 s"),
        ("generate x.swf --load 0", "load is 0.0; it must be a finite number above 0"),
        ("generate x.swf --load -1", "load is -1.0"),
        ("generate x.swf --load 70", "load is 70; above 1 the queue grows"),
        ("generate missing/x.swf", "there is no folder"),
        ("fit none.swf", "none.swf: cannot be read"),
        ("fit log.swf missing/x.swf", "there is no folder"),
        ("fit log.swf --parameters missing/x.toml", "there is no folder"),
        ("fit one.swf", "there are no times between submissions to fit a model to"),
        ("fit nowhere.swf", "does not state the size of its machine; give it with --processors"),
    ],
)
def test_errors(run: Run, log: Path, words: str, message: str) -> None:
    record = "1 0 -1 10 2 -1 -1 -1 10 -1 1 1 1 -1 1 -1 -1 -1\n"
    Path("one.swf").write_text("; MaxProcs: 4\n" + record)
    Path("nowhere.swf").write_text(record)
    with pytest.raises(SlurmSimError, match=re.escape(message)):
        run(*words.split())
    assert not Path("x.swf").exists()


@pytest.mark.parametrize(
    "words", ["--jobs 0", "--jobs -5", "--processors 0", "--seed -1", "--model none", "--estimates none"]
)
def test_usage(run: Run, words: str) -> None:
    with pytest.raises(click.UsageError) as error:
        run("generate", "x.swf", *words.split())
    assert words.split()[0] in error.value.format_message()


@pytest.mark.parametrize("command", ["generate", "fit"])
def test_every_option_has_a_place_in_the_documentation(command: str) -> None:
    options = [each.name for each in trace.commands[command].params if isinstance(each, click.Option)]
    section = OPTIONS.partition("## Generating")[2].partition("\n## ")[0]
    reading = ("processors", "filter", "processors_field", "first_submit", "malformed", "as_json")
    for name in options:
        if name not in reading or (command, name) == ("generate", "processors"):
            assert f"| `--{str(name).replace('_', '-')}` |" in section


def test_a_generated_workload_runs(run: Run) -> None:
    run("generate", "jobs.swf", "--model", "jann97", "--jobs", 200, "--processors", 64, "--cpu-use")
    done = CliRunner().invoke(slurm_sim, ["run", "jobs.swf", "--json"], catch_exceptions=False)
    assert np.isfinite(json.loads(done.output)["metrics"]["mean_wait"])
