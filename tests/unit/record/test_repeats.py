"""Repeats of a recording become one, and what differs is noise."""

import sys

import pytest

from emulator.record import Options, record
from emulator.record.record import document, dump, outlasted, typical
from emulator.record.repeats import merge
from emulator.record.told import Held
from emulator.truth import Known, judge
from emulator.truth.emulated import emulate
from emulator.truth.inputs import inputs_of
from emulator.workload.scenario_reader import read_scenario

yaml = pytest.importorskip("yaml")


def recorded(tmp_path, start, number, key="1"):
    path = tmp_path / "r.yaml"
    seen = [[0.0, {"JobState": "PENDING", "Reason": "None", "Partition": "p"}]]
    seen += [[start, {"JobState": "RUNNING", "NodeList": "n1", "Alloc": "n1:cpu0", "TimeLimit": "00:01:00"}]]
    seen += [[start + 5.4, {"JobState": "COMPLETED"}]]
    document = {
        "scenario": "r",
        "note": "",
        "slurm_conf": "NodeName=n1 CPUs=1\nPartitionName=p Nodes=ALL Default=YES\n",
    }
    document |= {"slurm_version": "22.05.8", "uptime": 10.0, "second": 0.5, "repeats": 3, "speed": 6.0}
    document["jobs"] = [{"name": "J", "id": number, "submit": 0.1, "run": 5, "sbatch": ["-n1", "-t1"]}]
    path.write_text(dump(document | {"timeline": {str(number): seen}}))
    return read_scenario(path), path


def test_the_recording_most_like_the_others_is_kept(tmp_path):
    repeats = [recorded(tmp_path, start, number)[0] for number, start in enumerate((30.0, 1.0, 1.4), 1)]
    best, noise = merge(repeats)
    assert best in (1, 2)
    assert {row["what"] for row in noise} == {"start", "end", "gone", "state"}
    assert "in another repeat 30" in next(row["reason"] for row in noise if row["what"] == "start")


def test_repeats_that_agree_have_no_noise(tmp_path):
    repeats = [recorded(tmp_path, start, number)[0] for number, start in enumerate((1.0, 1.2, 1.9), 1)]
    assert merge(repeats)[1] == []


def test_noise_of_a_recording_is_excused_and_all_else_compared(tmp_path):
    _, path = recorded(tmp_path, 30.0, 1)
    assert {one.what for one in judge(read_scenario(path)).differences} >= {"start", "end"}
    noise = [{"job": "J", "what": what, "reason": "seen"} for what in ("start", "gone", "reason")]
    path.write_text(path.read_text() + dump({"noise": noise}))
    verdict = judge(read_scenario(path))
    assert {one.what for one in verdict.differences} == {"end"}
    assert {one.what for one, _ in verdict.excused} >= {"start", "gone"}


def test_the_log_that_is_kept_is_that_of_the_repeat_that_is_kept(tmp_path, monkeypatch):
    def repeats(path, options, told):
        for number, start in enumerate((30.0, 1.0, 1.4), 1):
            (options.logs / f"{number}.log").write_text(f"log {start}")
            yield yaml.safe_load(recorded(tmp_path, start, number)[1].read_text())

    monkeypatch.setattr(sys.modules["emulator.record.record"], "repeats", repeats)
    kept = record(tmp_path / "s.yaml", Options(), print, tmp_path / "kept.log")
    start = kept["timeline"][str(kept["jobs"][0]["id"])][1][0]
    assert (tmp_path / "kept.log").read_text() == f"log {start}"
    assert start < 30


def test_by_how_much_each_run_outlasts_its_work_is_measured():
    jobs = [{"name": "A", "id": 1, "run": 10}, {"name": "R", "id": 2, "run": 5}, {"name": "B", "id": 4, "run": 7}]
    stood = {"4": [(0.0, {"JobState": "RUNNING"}), (3.0, {"JobState": "SUSPENDED"})]}
    held = {"1": [None, Held(10.512, 0.2, False)], "R_0": [Held(5.7, 0.4, True)], "R_1": [Held(4.8, 0.1, False)]}
    held |= {"4": [Held(11.0, 0.1, False)], "R_2": [None], "R_3": [Held(None, 0.9, False)]}
    longer = outlasted(jobs, stood, held, 0.0)
    assert longer == {"1": [None, 0.512], "R_0": [0.7], "R_1": [0.0]}
    assert typical(longer) == 0.51
    assert outlasted(jobs, {}, {"1": [Held(10.5, 0.25, False)], "4": [Held(7.5, 1, True)]}, 0.25) == {
        "1": [0.25],
        "4": [0.25],
    }


LENGTHS = """\
scenario: lengths
note: runs that outlast their work, each by its own
slurm_conf: |
  NodeName=n[1-4] CPUs=1
  PartitionName=p Nodes=ALL Default=YES MaxTime=10
uptime: 30.0
overhead: 0.5
outlasted: {'1': [0.1], A_1: [2.0, null], A_3: [null]}
cleared: {A_1: [0.5]}
jobs:
- {name: J, id: 1, submit: 0.0, run: 10}
- {name: A, id: 2, submit: 0.0, run: 10, sbatch: ['--array=1,3']}
- {name: O, id: 4, submit: 0.0, run: 10}
"""


def test_runs_are_as_long_as_they_were_recorded(tmp_path):
    path = tmp_path / "lengths.yaml"
    path.write_text(LENGTHS)
    scenario = read_scenario(path)
    emulated = emulate(inputs_of(scenario, Known().beside(scenario)), 60.0)
    lengths = {one.job: round(one.runs[0].end - one.runs[0].start, 3) for one in emulated.ids.values()}
    # Where nothing is known of a run, it outlasts its work as most do.
    assert lengths == {"J": 10.1, "A_1": 12.0, "A_3": 10.5, "O": 10.5}
    left = {one.job: round(one.runs[0].gone - one.runs[0].end, 3) for one in emulated.ids.values()}
    assert left == {"J": 0.0, "A_1": 0.5, "A_3": 0.0, "O": 0.0}


def test_runs_of_components_that_were_refused_are_left_out():
    seen = [(1.0, {"JobState": "RUNNING"}), (6.2, {"JobState": "COMPLETED"})]
    played = dict.fromkeys(("uptime", "second"), 24.0) | dict.fromkeys(("backfill", "decay", "rounds", "glances"))
    played |= {"version": "26.05.5", "rounds_seen": [], "glances_seen": [], "actions": [], "rejected": []}
    played |= {"jobs": [{"name": "a", "id": 1, "submit": 0.5, "run": 5}], "timeline": {"1": seen}}
    runs = {key: [(5.2, 0.25, False)] for key in ("1", "3")}
    made = document({"scenario": "a", "slurm_conf": "NodeName=n"}, played | {"held": runs}, 6.0)
    assert made["cleared"] == {"1": [0.25]}
