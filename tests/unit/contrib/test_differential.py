"""The differential test beside the emulator: its clusters stand still, and it finds what is put before it."""

from __future__ import annotations

import gzip
import json
import math
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from contrib.differential import __main__ as differential
from contrib.differential import clusters
from contrib.differential.cases import Case, all_cases
from contrib.differential.outcome import Difference, compare
from emulator.cli.lines import Count, line

OK = [{"code": 0, "cpu": 0.1, "mb": 1}]
RECORDS = {"job_id": [1, 2, 3], "submit": [0.0, 5.0, 9.0], "start": [0.0, 60.0, None], "end": [60.0, 90.0, None]}
RUNS = {"job_id": [1, 2], "run": [1, 1], "start": [0, 60], "nodes": ["n1", "n[1-2]"], "checkpoints": [None, None]}
LOG = [{"time": 0, "event": "submit", "job": 1}, {"time": 60, "event": "start", "job": 2}]
PRINTED = {"run": {"version": "1"}, "metrics": {"jobs": 3, "mean_wait": 27.5, "delayed": None}}


def folder(path: Path, records=RECORDS, runs=RUNS, log=LOG, printed=PRINTED, said="") -> Path:
    """What a run leaves."""
    (path / "run").mkdir(parents=True)
    pd.DataFrame(records).to_parquet(path / "run" / "records.parquet")
    pd.DataFrame(runs).to_parquet(path / "run" / "runs.parquet")
    lines = "".join(json.dumps(line) + "\n" for line in log)
    (path / "run" / "events.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    (path / "0.out").write_text(json.dumps(printed), encoding="utf-8")
    (path / "0.err").write_text(said, encoding="utf-8")
    return path


def held(base: Path, new: Path, codes: tuple[int, int] = (0, 0)) -> list[Difference]:
    steps = tuple([{**OK[0], "code": code}] for code in codes)
    return compare("case", base, new, steps, {})


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return folder(tmp_path / "base")


def only(found: list[Difference]) -> tuple[str, int, float, int, str, str, bool]:
    (one,) = found
    return one.column, one.count, one.instant, one.job, one.base, one.new, one.filled


def test_equal_runs_have_no_difference(base, tmp_path):
    whole = {**RECORDS, "start": pd.array([0, 60, None], dtype="Int64"), "further": [1, 2, 3]}
    printed = {**PRINTED, "run": {"version": "2"}, "more": 1}
    assert held(base, folder(tmp_path / "same")) == []
    assert held(base, folder(tmp_path / "new", records=whole, printed=printed)) == []
    slow = folder(
        tmp_path / "slow", said=line(Count("jobs", 42, 24), 2.0) + "\n" + line(Count("log", None), 4.0) + "\n"
    )
    assert held(base, slow) == held(slow, base) == []


def test_a_value_is_named_by_job_column_and_first_instant(base, tmp_path):
    new = folder(tmp_path / "new", records={**RECORDS, "start": [0.0, 62.0, 61.0]})
    assert only(held(base, new)) == ("records.start", 2, 60.0, 2, "60.0", "62.0", False)


def test_a_text_is_dated_by_its_row(base, tmp_path):
    new = folder(tmp_path / "new", runs={**RUNS, "nodes": ["n1", "n[2-3]"]})
    assert only(held(base, new)) == ("runs.nodes", 1, 60.0, 2, "n[1-2]", "n[2-3]", False)


def test_rows_and_columns_that_are_gone_are_found(base, tmp_path):
    fewer = {name: values[:2] for name, values in RECORDS.items() if name != "end"}
    found = held(base, folder(tmp_path / "new", records=fewer))
    assert {(one.column, one.job) for one in found} == {("records.(rows)", 3), ("records.end", 1)}


def test_event_logs_are_held_byte_by_byte(base, tmp_path):
    new = folder(tmp_path / "new", log=[LOG[0], {**LOG[1], "time": 59}])
    assert only(held(base, new))[:4] == ("events", 1, 59.0, 2)


def test_printed_values_and_messages_are_held(base, tmp_path):
    metrics = {**PRINTED["metrics"], "mean_wait": 28, "delayed": 0}
    found = held(base, folder(tmp_path / "new", printed={**PRINTED, "metrics": metrics}, said="a warning\n"))
    assert [(one.column, one.base, one.new) for one in found] == [
        ("messages", "None", "a warning"),
        ("printed.metrics.mean_wait", "27.5", "28"),
    ]


def test_an_exit_code_stands_alone(base, tmp_path):
    new = folder(tmp_path / "new", records={**RECORDS, "end": [1.0, 2.0, 3.0]}, said="slurm-sim: no such plugin\n")
    column, *_, was, now, _ = only(held(base, new, (0, 2)))
    assert (column, was, now) == ("exit.0", "0", "2 (slurm-sim: no such plugin)")


def test_what_a_run_left_is_held_though_it_left_jobs_over(base, tmp_path):
    told = "nothing can happen any more"
    new = folder(tmp_path / "new", records={**RECORDS, "end": [1.0, 2.0, 3.0]}, said=f"{told}\n")
    found = held(base, new, (0, 6))
    assert [one.column for one in found] == ["exit.0", "records.end"]
    assert differential.Known("*", ["exit.*"], "f", new=f"6 ({told}*").covers(found[0])
    assert not differential.Known("*", ["exit.*"], "f", new="3*").covers(found[0])


def one_case(name: str, base: Path, differences: list[Difference]) -> differential.Held:
    return differential.Held(Case(name, "ideal", lambda _: []), base, differences, (OK, OK))


def test_a_column_may_fill_if_the_base_never_has_it(base, tmp_path):
    found = held(base, folder(tmp_path / "new", runs={**RUNS, "checkpoints": [0, 2]}))
    assert only(found)[-1] is True
    assert differential.judge([one_case("a", base, found)], [])[:2] == ([], {"ideal runs.checkpoints": 1})
    other = folder(tmp_path / "other", runs={**RUNS, "checkpoints": [1, 0]})
    assert differential.judge([one_case("a", base, found), one_case("b", other, [])], [])[0] == found


def test_known_differences_are_set_apart_and_missed_where_they_do_not_occur(base, tmp_path):
    file = tmp_path / "known.toml"
    file.write_text(
        '[[known]]\ncase = "a*"\ncolumns = ["runs.*"]\nfault = "f"\n'
        '[[known]]\ncase = "b*"\ncolumns = ["*"]\nfault = "g"\n'
        '[[known]]\ncase = "not-run"\ncolumns = ["*"]\nfault = "h"\n',
        encoding="utf-8",
    )
    known = differential.read_known(file)
    ones = [Difference("a1", column, 1, math.inf, 0, "", "") for column in ("runs.start", "records.start")]
    found, _, stale = differential.judge([one_case("a1", base, ones), one_case("b1", base, [])], known)
    assert found == [ones[1]]
    assert [entry.fault for entry in stale] == ["g"]
    assert known[0].seen == [ones[0]]


def test_a_seed_gives_the_same_cluster_and_another_seed_another_one():
    texts = [clusters.files_of(seed) for seed in (*range(40), *range(40))]
    assert texts[:40] == texts[40:]
    assert len({files["slurm.conf"] for files in texts}) == 40
    assert {name for files in texts for name in files} == {
        *("slurm.conf", "jobs.events", "gres.conf", "accounts", "accounts.dump", "commands"),
    }


def test_names_of_cases_are_unique():
    names = [case.name for case in all_cases(20)]
    assert len(names) == len(set(names)) > 20


@pytest.mark.slow
def test_the_command_line_is_run_case_after_case(tmp_path):
    (tmp_path / "inputs").mkdir()
    case = next(each for each in all_cases(4) if each.name == "cluster-0003")
    steps = [[str(word) for word in step] for step in case.make(tmp_path / "inputs")]
    again = [*steps[0], "--priority", "priority/sjf"]
    tasks = [("base", steps), ("same", steps), ("other", [again]), ("refused", [["run", "nothing.swf"], *steps])]
    lines = "".join(
        json.dumps({"folder": str(tmp_path / name), "steps": these, "seconds": 60}) + "\n" for name, these in tasks
    )
    serve = Path(clusters.__file__).with_name("serve.py")
    done = subprocess.run([sys.executable, "-I", serve], input=lines, capture_output=True, text=True, check=True)
    answers = [json.loads(line) for line in done.stdout.splitlines()][1:]
    assert [[step["code"] for step in answer] for answer in answers] == [[6], [6], [6], [3]]
    assert held(tmp_path / "base", tmp_path / "same") == []
    found = held(tmp_path / "base", tmp_path / "other")
    assert any(one.column == "runs.start" and one.job and math.isfinite(one.instant) for one in found)
