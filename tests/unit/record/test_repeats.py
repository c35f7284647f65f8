"""Repeats of a recording become one, and what differs is noise."""

import pytest

from emulator.record.record import dump, launch_time
from emulator.record.repeats import merge
from emulator.truth import judge
from emulator.workload.scenario_reader import read_scenario

pytest.importorskip("yaml")


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


def test_by_how_much_runs_outlast_their_work_is_measured(tmp_path):
    def rows(start, end, *more):
        states = [(0.0, "PENDING"), (start, "RUNNING"), (end, "COMPLETED"), *more]
        return [(at, {"JobState": state}) for at, state in states]

    jobs = [{"name": "A", "id": 1, "run": 10}, {"name": "R", "id": 2, "run": 5}, {"name": "B", "id": 4, "run": 7}]
    timeline = {"1": rows(1.0, 11.5), "R_0": rows(2.0, 7.7), "R_1": rows(8.0, 13.9)}
    timeline["4"] = [(0.0, {"JobState": "PENDING"}), (3.0, {"JobState": "RUNNING"}), (4.0, {"JobState": "CANCELLED"})]
    assert launch_time(jobs, timeline) == 0.7
    assert launch_time(jobs, timeline, prolog=0.5) == 0.2
    assert launch_time(jobs, {"4": timeline["4"]}) is None
