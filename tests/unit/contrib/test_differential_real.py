"""Random scenarios for a real Slurm: they can be played, and shrink to what differs."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from contrib.differential.real import Found, main, shrunk, smaller, suited
from contrib.differential.scenarios import scenario_of
from contrib.differential.variants import recordings, variant_of
from contrib.differential.wider import wider_of
from emulator.record.checks import checked
from emulator.record.record import dump
from emulator.truth import judge
from emulator.workload.scenario_reader import read_scenario

yaml = pytest.importorskip("yaml")
RECORDED = Path(__file__).parents[2] / "truth" / "recorded"


@pytest.mark.parametrize("seed", range(1, 13))
@pytest.mark.parametrize("drawn", [scenario_of, wider_of])
def test_what_is_drawn_can_be_played_and_emulated(tmp_path, drawn, seed):
    path = tmp_path / "s.yaml"
    path.write_text(dump(drawn(seed)))
    scenario = read_scenario(path)
    checked(scenario)
    assert judge(scenario).pairs == ()  # Nothing was recorded.
    assert drawn(seed) == drawn(seed)
    assert drawn(seed) != drawn(seed + 1)


@pytest.fixture(scope="module")
def recorded():
    return recordings((RECORDED,))


@pytest.mark.parametrize("seed", range(1, 25))
def test_a_varied_recording_is_a_scenario_of_its_own(tmp_path, recorded, seed):
    varied = variant_of(seed, recorded)
    path = tmp_path / "s.yaml"
    path.write_text(dump(varied))
    scenario = read_scenario(path)
    checked(scenario)
    assert judge(scenario).pairs == ()
    assert variant_of(seed, recorded) == varied
    name, _, changes = varied["note"].partition(", with ")
    assert len(changes.split("; ")) in (2, 3)
    source = yaml.load((RECORDED / f"{name}.yaml").read_text(), yaml.CSafeLoader)
    assert any(varied.get(key) != source.get(key) for key in ("slurm_conf", "jobs", "actions"))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--vary", ".", "--wide"], "each say what is recorded"),
        (["--vary", ".", "--scenario", "s.yaml"], "each say what is recorded"),
        (["--vary", "."], "there is no recording that can be varied in ."),
    ],
)
def test_what_is_recorded_is_said_once_and_is_there(tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 2
    assert message in " ".join(done.output.split())
    assert not list(tmp_path.iterdir())


def test_devices_that_are_said_have_files_and_leave_out_none():
    said = [each for each in map(wider_of, range(1, 100)) if "gres_conf" in each]
    assert said
    for each in said:
        gpus = [line for line in each["gres_conf"].splitlines() if "Name=gpu" in line]
        assert all(" File=" in line for line in gpus)
        have = [line for line in each["slurm_conf"].splitlines() if "Gres=gpu" in line]
        assert len({line.split()[0] for line in gpus}) == len(have)


def test_words_that_a_version_does_not_take_are_left_out():
    all_ = [wider_of(seed) for seed in range(1, 100)]
    assert [suited(each, (24, 11)) for each in all_] == all_
    for word in ("MaxCPUsPerSocket", "PreemptParameters"):
        assert any(word in each["slurm_conf"] for each in all_)
        assert not any(word in suited(each, (22, 5))["slurm_conf"] for each in all_)


@pytest.mark.parametrize("seed", range(1, 5))
def test_components_change_nothing_but_numbers(tmp_path, seed):
    without, some = scenario_of(seed, 0.0), scenario_of(seed, 0.7)
    assert [job["id"] for job in without["jobs"]] == list(range(1, len(without["jobs"]) + 1))
    assert [job["submit"] for job in some["jobs"]] == [job["submit"] for job in without["jobs"]]
    assert any(":" in job["sbatch"] for job in some["jobs"])
    path = tmp_path / "s.yaml"
    path.write_text(dump(some))
    scenario = read_scenario(path)
    checked(scenario)
    assert judge(scenario).pairs == ()


def test_a_scenario_shrinks_to_the_jobs_and_words_that_matter():
    document = {"scenario": "s", "slurm_conf": "A=1\nB=2\nNodeName=n1\n"}
    words = {3: ["-n1", "--exclusive"], 4: ["-n1", "-dafterok:2"]}
    document["jobs"] = [
        {"id": number, "submit": number, "sbatch": words.get(number, ["-n2"])} for number in range(1, 9)
    ]
    document["actions"] = [[1, "scontrol hold 5"], [2, "scontrol hold 3"]]
    tried = []

    def differs(less):
        tried.append(less)
        numbers = {job["id"] for job in less["jobs"]}
        assert all(int(word[-1]) in numbers for job in less["jobs"] for word in job["sbatch"] if word.startswith("-d"))
        assert all(int(text[-1]) in numbers for _, text in less.get("actions", ()))
        return any("--exclusive" in job["sbatch"] for job in less["jobs"]) and "B=2" in less["slurm_conf"]

    small = shrunk(document, differs, 100)
    assert small["jobs"] == [{"id": 3, "submit": 3, "sbatch": ["--exclusive"]}]
    assert small["slurm_conf"] == "B=2\nNodeName=n1\n"
    assert "actions" not in small
    assert len(tried) < 100


def test_nothing_smaller_lacks_nodes():
    document = {"slurm_conf": "A=1\nNodeName=n1\n", "jobs": [{"id": 1, "submit": 0, "sbatch": []}]}
    assert all("NodeName=n1" in less["slurm_conf"] for less in smaller(document))


def test_the_first_divergence_is_named(tmp_path):
    path = tmp_path / "s.yaml"
    conf = "NodeName=n[1-2] CPUs=1\nPartitionName=p Nodes=ALL Default=YES\n"
    document = {"scenario": "s", "note": "", "slurm_conf": conf, "uptime": 25.0}
    jobs = [{"name": f"J{n}", "id": n, "submit": 10.0 * n, "run": 5, "sbatch": ["-t1"]} for n in (1, 2)]
    document |= {"jobs": jobs, "timeline": {}}
    for number, start in ((1, 10.5), (2, 26.0)):
        rows = [[10.0 * number, {"JobState": "PENDING"}], [start, {"JobState": "RUNNING", "NodeList": "n2"}]]
        document["timeline"][str(number)] = [*rows, [start + 5.4, {"JobState": "COMPLETED"}]]
    path.write_text(dump(document))
    found = Found.of(judge(read_scenario(path)))
    assert found.first == "J1 nodes: n2 | n1"
    assert found.schedule == ["J1", "J2"]
    assert found.causes["nodes"] == 2
