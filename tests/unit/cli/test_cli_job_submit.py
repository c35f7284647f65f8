"""slurm-sim job-submit: cases of a job_submit.lua, and two scripts on a log."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from emulator.cli import slurm_sim
from slurm_sim_plugins import SlurmSimError

pytest.importorskip("lupa", reason="the extra lua is not installed")

CONF = """ClusterName=t
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
NodeName=n[1-4] CPUs=4
PartitionName=short Nodes=n[1-2] Default=YES MaxTime=60
PartitionName=long Nodes=n[3-4] MaxTime=INFINITE
"""
OLD = """function slurm_job_submit(job_desc, parts, uid)
  if job_desc.time_limit == slurm.NO_VAL then return slurm.ESLURM_MISSING_TIME_LIMIT end
  if job_desc.time_limit > 60 then job_desc.partition = "long" end
  return slurm.SUCCESS
end
function slurm_job_modify(job_desc, job_rec, parts, uid)
  if uid == 0 and job_desc.time_limit ~= slurm.NO_VAL and job_desc.time_limit > job_rec.time_limit then
    return slurm.ESLURM_INVALID_TIME_LIMIT
  end
  if job_desc.partition == "long" then job_desc.qos = "patient" end
  return slurm.SUCCESS
end
"""
NEW = OLD.replace("> 60", "> 30").replace("if job_desc.time_limit == slurm.NO_VAL", "if job_desc.name == 'x'")
PAGE = (Path(__file__).parents[3] / "docs" / "job-submit.md").read_text(encoding="utf-8")
CASES = PAGE.partition("```yaml\n")[2].partition("```")[0] + "- sbatch: -n 1 -t 40\n"
EVENTS = """-dt 0 -e submit_batch_job | -J 1 -sim-walltime 5 --uid=ann -t 00:40:00 -n 1 a.job
-dt 1 -e submit_batch_job | -J 2 -sim-walltime 5 --uid=ann -n 1 a.job
-dt 2 -e submit_batch_job | -J 3 -sim-walltime 5 --uid=ann -t 02:00:00 -n 1 a.job
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in {"slurm.conf": CONF, "job_submit.lua": OLD, "new.lua": NEW, "cases.yaml": CASES}.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "jobs.events").write_text(EVENTS)
    return tmp_path


def asked(folder: Path, *words: str) -> Result:
    names = [str(folder / word) if (folder / word).is_file() else word for word in words]
    return CliRunner().invoke(slurm_sim, ["job-submit", *names, "--slurm-conf", str(folder / "slurm.conf")])


def test_cases_that_hold(folder: Path) -> None:
    found = asked(folder, "test", "job_submit.lua", "cases.yaml")
    assert found.exit_code == 0
    assert found.output.splitlines()[-1] == "4 of 4 cases as expected"


def test_cases_under_another_version(folder: Path) -> None:
    (folder / "job_submit.lua").write_text(OLD.replace("return slurm.SUCCESS\nend\n", "error('boom')\nend\n", 1))
    (folder / "cases.yaml").write_text("- {name: short, sbatch: -n 1 -t 10}\n")
    assert asked(folder, "test", "job_submit.lua", "cases.yaml", "--slurm-version", "22.05").exit_code == 0
    newest = asked(folder, "test", "job_submit.lua", "cases.yaml")
    assert newest.exit_code == 1
    assert "short: is refused: job_submit.lua:4: boom" in newest.output


def test_cases_that_fail_say_what_is_otherwise(folder: Path) -> None:
    (folder / "job_submit.lua").write_text(NEW.replace('"long"', '"short"'))
    found = asked(folder, "test", "job_submit.lua", "cases.yaml")
    assert found.exit_code == 1
    assert found.output.splitlines() == [
        "FAILED  long jobs go to long: partition is 'short', expected 'long'",
        "FAILED  a limit is needed: is taken",
        "ok      a limit is not raised",
        "ok      -n 1 -t 40",
        "2 of 4 cases as expected",
    ]


@pytest.mark.parametrize(
    ("cases", "told"),
    [
        ("a: 1", "is no list of cases"),
        ("- [1]", "case 1: is no table"),
        ("- sbatch: ''\n  expect: x", "case 1: is no table with the keys name, sbatch"),
        ("- sbatch: ''\n- sbatch: --nosuch", "case 2: sbatch: "),
        ("- set: {partiton: x}", "case 1: set: job_desc has no field 'partiton'"),
        ("- update: 7", "case 1: update: 7 is not written as Field=value"),
        ("- update: Nosuch=3", "case 1: update: of a job the emulator can update priority, nice"),
        ("- update: TimeLimit=x", "case 1: update: "),
        ("- set: x", "case 1: set: job_desc is a table"),
        ("- sbatch: '-J \"x'", "case 1: sbatch: No closing quotation"),
        (":\n- :", "is not YAML"),
    ],
)
def test_a_file_of_cases_that_is_none_is_refused_with_the_case(folder: Path, cases: str, told: str) -> None:
    (folder / "cases.yaml").write_text(cases)
    found = asked(folder, "test", "job_submit.lua", "cases.yaml")
    assert isinstance(found.exception, SlurmSimError)
    assert told in str(found.exception)
    assert "cases.yaml" in str(found.exception)


@pytest.mark.parametrize(
    ("case", "said"),
    [
        ("sbatch: -n 1 -t 10, update: TimeLimit=5, set: {time_limit: 5, user_name: ann}, user: ann", "ok      one"),
        ("sbatch: -n 1 -t 10, update: TimeLimit=5 Partition=long, set: {partition: long, qos: patient}", "ok      one"),
        (
            "sbatch: -n 1 -t 10, update: Partition=long, set: {qos: other}",
            "FAILED  one: qos is 'patient', expected 'other'",
        ),
        ("sbatch: -n 1 -t 10, update: TimeLimit=20", "FAILED  one: is refused: Requested time limit is invalid"),
        ("sbatch: -n 1 -t 10, update: TimeLimit=5, refuse: no", "FAILED  one: is taken"),
        ("sbatch: -n 1, update: TimeLimit=5", "FAILED  one: is refused: Time limit specification required, but"),
    ],
)
def test_cases_that_change_a_job(folder: Path, case: str, said: str) -> None:
    (folder / "cases.yaml").write_text(f"- {{name: one, {case}}}")
    found = asked(folder, "test", "job_submit.lua", "cases.yaml")
    assert found.output.startswith(said)
    assert found.exit_code == said.startswith("FAILED")


def test_what_two_scripts_judge_otherwise(folder: Path) -> None:
    found = asked(folder, "diff", "job_submit.lua", "new.lua", "jobs.events")
    assert found.exit_code == 0
    first, second, last = found.output.splitlines()
    assert first.startswith("job 1")
    assert first.endswith("partition=None -> partition=long")
    assert second.endswith("refused: Time limit specification required, but not provided -> taken")
    assert last == "2 of 3 submissions are judged otherwise"
    data = json.loads(asked(folder, "diff", "job_submit.lua", "new.lua", "jobs.events", "--json").output)
    assert (data["submissions"], len(data["judged_otherwise"])) == (3, 2)
    cut = asked(folder, "diff", "job_submit.lua", "new.lua", "jobs.events", "--limit", "1").output
    assert "... 1 more; --limit 2 prints them" in cut
