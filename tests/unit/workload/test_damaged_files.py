"""Damaged files, case by case: what is wrong is said with file and place."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from click.testing import CliRunner, Result

from emulator import simulate
from emulator.cli import slurm_sim
from emulator.config.slurm import parse_slurm_conf
from emulator.workload.request import JobRequest
from emulator.workload.sbatch import parse_sbatch
from slurm_sim_plugins import InputError
from slurm_sim_plugins.processors import from_words
from tests.builders.jobs import workload

CONF = "SelectType=select/cons_tres\nNodeName=n[1-2] CPUs=2\nPartitionName=p Nodes=ALL Default=YES\n"
SCENARIO = """\
scenario: {name}
note: n
slurm_conf: |
  PriorityType=priority/basic
  SelectType=select/linear
  NodeName=n1 CPUs=1
  PartitionName=p Nodes=ALL Default=YES
jobs:
- {{name: A, id: 1, submit: 0.5, run: 5, sbatch: [-n1, -t5]}}
timeline:
  '1':
  - [0.6, {{JobState: RUNNING, NodeList: n1}}]
"""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run in ideal timing, and one in Slurm's."""
    folder = tmp_path_factory.mktemp("runs")
    simulate(workload([(1, 0, 2, 10, 10), (2, 1, 2, 5, 10)]), processors=2, out=folder / "ideal")
    jobs = [JobRequest(1, 0, 9, parse_sbatch(["-n4", "-t5"])), JobRequest(2, 1, 9, parse_sbatch(["-n1", "-t5"]))]
    simulate(jobs, parse_slurm_conf(CONF), out=folder / "slurm")
    return folder


@pytest.fixture
def folder(runs: Path, tmp_path: Path) -> Path:
    shutil.copytree(runs, tmp_path / "runs")
    return tmp_path / "runs"


def ask(*words: object) -> Result:
    return CliRunner().invoke(slurm_sim, [str(word) for word in words])


def refused(*words: object) -> str:
    with pytest.raises(InputError) as caught:
        CliRunner().invoke(slurm_sim, [str(word) for word in words], catch_exceptions=False, standalone_mode=False)
    return str(caught.value)


def changed(file: Path, column: str, values: Sequence[Any] | Callable[[Any], pa.ChunkedArray]) -> None:
    """Put other values into a column of a file."""
    table = pyarrow.parquet.read_table(file)
    place = table.column_names.index(column)
    new = values(table[column]) if callable(values) else pa.array(values)
    pyarrow.parquet.write_table(table.set_column(place, column, new), file)


@pytest.mark.parametrize(
    ("column", "values", "words"),
    [
        ("submit", ["a", "b"], "the column submit does not hold numbers"),
        ("submit", [0.0, float("inf")], "the column submit does not hold numbers"),
        ("submit", [5, 1], "the rows are not in the order of submit"),
        ("processors", [1.5, 2.0], "the column processors does not hold whole numbers"),
        ("processors", [-1, 2], "the column processors holds a number below 0"),
        ("job_id", [1, 2**60], "the column job_id does not hold whole numbers"),
        ("job_id", [1, 1], "a job_id comes twice"),
        ("state", [1, 2], "the column state does not hold texts"),
        ("backfilled", [0, 1], "the column backfilled does not hold true or false"),
        ("planned", [[1], [2]], "the column planned does not hold numbers or nulls"),
    ],
)
def test_a_table_that_does_not_hold_what_it_should_is_refused(
    folder: Path, column: str, values: Sequence[Any], words: str
) -> None:
    changed(folder / "ideal" / "records.parquet", column, values)
    for command in (("report", folder / "ideal"), ("diff", folder / "ideal", folder / "ideal")):
        assert refused(*command).startswith(f"{folder}/ideal/records.parquet: {words}")


def test_a_column_that_is_not_there_or_there_twice_is_named(folder: Path) -> None:
    file = folder / "ideal" / "runs.parquet"
    table = pyarrow.parquet.read_table(file)
    pyarrow.parquet.write_table(table.drop_columns(["outcome"]), file)
    assert f"{file}: there is no column outcome" in refused("report", folder / "ideal")
    pyarrow.parquet.write_table(table.append_column("start", table["start"]), file)
    assert f"{file}: cannot be read as records" in refused("report", folder / "ideal")


def test_runs_of_jobs_that_are_not_recorded_are_refused(folder: Path) -> None:
    changed(folder / "ideal" / "runs.parquet", "job_id", [1, 9])
    assert f"{folder}/ideal/runs.parquet: has runs of jobs that" in refused("diff", folder / "ideal", folder / "ideal")


@pytest.mark.parametrize(
    ("file", "column", "values", "words"),
    [
        ("waits.parquet", "reason", lambda old: pa.array([1.0] * len(old)), "waits.parquet: the column reason"),
        ("waits.parquet", "job_id", lambda old: pa.array([7] * len(old)), "waits.parquet: there is no job 7"),
        ("runs.parquet", "nodes", ["n[1-", "n1"], "runs.parquet: a run of job 1: 'n[1-' is no host list"),
        ("runs.parquet", "cpus", ["x", "1"], "runs.parquet: row 1 cannot be read: invalid literal"),
        ("runs.parquet", "cpus", ["2", "1"], "runs.parquet: a run of job 1 is on 2 nodes"),
        ("records.parquet", "submit_line", ["sbatch -n", "sbatch"], "records.parquet: job 1: its submit_line"),
    ],
)
def test_views_name_what_they_cannot_read(folder: Path, file: str, column: str, values: Any, words: str) -> None:
    changed(folder / "slurm" / file, column, values)
    commands = ("squeue", "sinfo") if column in ("nodes", "cpus") else ("squeue",)
    told = [ask(command, folder / "slurm", "--at", "5", "--json") for command in commands]
    messages = [str(each.exception) for each in told if each.exception is not None]
    assert all(isinstance(each.exception, InputError | None) for each in told)
    assert any(words in message and str(folder) in message for message in messages), messages


def test_parameters_of_a_kept_cluster_are_numbers(folder: Path) -> None:
    file = folder / "slurm" / "cluster.json"
    file.write_text(re.sub('"MinJobAge": "[^"]*"', '"MinJobAge": "soon"', file.read_text()))
    assert f"{file}: this is no cluster as a run leaves it" in refused("squeue", folder / "slurm")


@pytest.mark.parametrize(
    ("old", "new"), [("processors = 2", 'processors = "2"'), ("processors = 2", "processors = 0"), ("label = ", "x = ")]
)
def test_values_of_another_kind_in_run_toml_are_refused(folder: Path, old: str, new: str) -> None:
    file = folder / "ideal" / "run.toml"
    file.write_text(file.read_text().replace(old, new, 1))
    assert refused("report", folder / "ideal").startswith(f"{file}: ")


def test_an_empty_event_log_tells_no_story(folder: Path) -> None:
    file = folder / "ideal" / "events.jsonl"
    file.write_text("")
    assert refused("explain", folder / "ideal", 1) == f"{file}: says nothing of job 1; make the run again"


def test_a_folder_of_scenarios_is_compared_although_one_cannot_be_read(tmp_path: Path) -> None:
    pytest.importorskip("yaml")
    (tmp_path / "b.yaml").write_text(SCENARIO.format(name="good"))
    (tmp_path / "a.yaml").write_text("scenario: [")
    told = ask("truth", tmp_path, "--json")
    assert told.exit_code == 1
    assert '"scenario": "good"' in told.stdout
    assert "a.yaml:1: is not YAML" in told.stdout
    assert refused("truth", tmp_path / "a.yaml").startswith(f"{tmp_path}/a.yaml:1: is not YAML")


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("NodeList: n1", "NodeList: 'n[1-'", 12),
        ("NodeList: n1", "TimeLimit: soon", 12),
        ("NodeList: n1", "Priority: '²'", 12),
        ("{JobState: RUNNING, NodeList: n1}", "'INFO {\"JobState\": '", 12),
        ("0.6", "1000000000", 12),
        ("id: 1", "id: 99999999999999999999", 9),
    ],
)
def test_what_was_recorded_is_read_at_once(tmp_path: Path, old: str, new: str, line: int) -> None:
    pytest.importorskip("yaml")
    file = tmp_path / "a.yaml"
    file.write_text(SCENARIO.format(name="a").replace(old, new, 1))
    assert refused("truth", file).startswith(f"{file}:{line}: ")


@pytest.mark.parametrize("text", ["noise = 5", "work = 1.5", "[[noise]]\nscenario = 5\nwhat = 'x'\nreason = 'r'"])
def test_a_list_of_what_is_known_holds_tables_of_texts(tmp_path: Path, text: str) -> None:
    pytest.importorskip("yaml")
    (tmp_path / "a.yaml").write_text(SCENARIO.format(name="a"))
    (tmp_path / "known.toml").write_text(text)
    assert refused("truth", tmp_path / "a.yaml", "--known", tmp_path / "known.toml").startswith(
        f"{tmp_path}/known.toml"
    )


def test_tasks_without_a_known_length_are_refused(tmp_path: Path) -> None:
    pytest.importorskip("yaml")
    (tmp_path / "a.yaml").write_text(
        SCENARIO.format(name="a").replace("-t5", "-t5, --array=0-2").replace("run: 5, ", "")
    )
    (tmp_path / "known.toml").write_text("[[work]]\nscenario = 'a'\njob = 'A'\nreason = 'r'\nruns = [1, 2]\n")
    told = ask("truth", tmp_path / "a.yaml", "--known", tmp_path / "known.toml", "--json")
    assert told.exit_code == 1
    assert "a.yaml:9: job 'A' has 3 tasks" in told.stdout


def test_a_span_of_processors_has_a_bound() -> None:
    with pytest.raises(ValueError, match="is no span of processors, which are below"):
        from_words("0-999999999999")
