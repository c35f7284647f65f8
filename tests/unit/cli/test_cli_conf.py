"""``slurm-sim conf check``: what it prints, and how it ends."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

import emulator.cli
from emulator.config.slurm.parameters import PARAMETERS
from emulator.config.slurm.records import NODE
from emulator.config.slurm.settings import find

CONF = """\
PriorityType=priority/basic
SelectType=select/linear
JobSubmitPlugins=lua
GresTypes=gpu
KillWait=5
SchedulerParameters=bf_window=10,bf_ignore_newly_avail_nodes,max_prc_cnt=1
Include more.conf
NodeName=n[1-3] CPUs=2 RealMemory=100 Gres=gpu:a:2
NodeName=n4 CPUs=8 State=DRAIN
PartitionName=p Nodes=ALL Default=YES MaxTime=1-0
PartitionName=q Nodes=n1,n4 DefaultTime=5
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "slurm.conf").write_text(CONF)
    (tmp_path / "more.conf").write_text("ClusterName=x\x1b[31m\n")
    return tmp_path


def check(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    monkeypatch.setattr("sys.argv", ["slurm-sim", "conf", "check", *arguments])
    monkeypatch.setenv("COLUMNS", "160")
    code = emulator.cli._exit_code()
    told = capsys.readouterr()
    return code, told.out, told.err


def status(name: str) -> str:
    return find(PARAMETERS, name).status.value


def test_each_key_has_its_line_status_and_reason(folder, monkeypatch, capsys):
    code, out, _ = check(monkeypatch, capsys, str(folder))
    assert code == 0
    rows = {line.split()[0]: " ".join(line.split()) for line in out.splitlines() if line.strip()}
    short = {"KillWait": status("KillWait").removesuffix(" honoured")}
    assert rows["KillWait"] == f"KillWait 5 5 {short['KillWait']} from SIGTERM to SIGKILL at the limit"
    assert (
        rows["JobSubmitPlugins"] == "JobSubmitPlugins lua 3 honoured which job_submit plugins run: those that are found"
    )
    ignored = rows["bf_ignore_newly_avail_nodes"]
    assert ignored.startswith("bf_ignore_newly_avail_nodes YES 6 ignored")
    assert "more.conf:1" in rows["ClusterName"]
    assert "\x1b" not in out
    cpus = next(word for word in NODE if word.name == "CPUs").status.value.removesuffix(" honoured")
    assert f"CPUs 2 | 8 8 (+1) {cpus} CPUs of a node" in " ".join(out.split())
    counts = re.search(r"honoured: (\d+), not yet honoured: (\d+), ignored: (\d+)", out)
    assert counts
    assert (sum(map(int, counts.groups())), counts.group(3)) == (20, "1")
    assert rows["p*"] == "p* 4 14 1-00:00:00 - 1 UP"
    assert rows["q"] == "q 2 10 none 00:05:00 1 UP"
    assert rows["nodes"] == "nodes 4"
    assert "gpu:a 6" in out
    assert "UNKNOWN 3, DRAIN 1" in out
    assert f"notice: {folder}/slurm.conf:6: 'max_prc_cnt' is no option of SchedulerParameters" in out


def test_json_has_all_of_it(folder, monkeypatch, capsys):
    code, out, _ = check(monkeypatch, capsys, str(folder / "slurm.conf"), "--json")
    assert code == 0
    told = json.loads(out)
    keys = {key["key"]: key for key in told["keys"]}
    assert keys["SchedulerParameters.bf_window"] == {
        "key": "SchedulerParameters.bf_window",
        "values": ["10"],
        "lines": [f"{folder}/slurm.conf:6"],
        "status": status("SchedulerParameters.bf_window"),
        "reason": "how far ahead is planned",
    }
    assert keys["NodeName: CPUs"]["values"] == ["2", "8"]
    assert told["machine"] == {
        "nodes": 4,
        "cpus": 14,
        "memory": 301,
        "gres": {"gpu:a": 6},
        "states": {"UNKNOWN": 3, "DRAIN": 1},
    }
    assert [(each["name"], each["host_list"], each["max_time"]) for each in told["partitions"]] == [
        ("p", "n[1-4]", 86400.0),
        ("q", "n[1,4]", None),
    ]
    assert len(told["notices"]) == 1


def test_problems_end_with_code_3_and_one_line_each(folder, monkeypatch, capsys):
    (folder / "slurm.conf").write_text("KilWait=3\nNodeName=n1 CPUs=x\n")
    code, out, err = check(monkeypatch, capsys, str(folder))
    assert (code, out) == (3, "")
    assert err.splitlines() == [
        f"slurm-sim: {folder}/slurm.conf:1: KilWait is no key of slurm.conf (did you mean 'KillWait'?)",
        f"{folder}/slurm.conf:2: CPUs: 'x' is no whole number (of 18 digits at most)",
    ]


def test_a_missing_file_ends_with_code_3(tmp_path, monkeypatch, capsys):
    code, _, err = check(monkeypatch, capsys, str(tmp_path / "none.conf"))
    assert code == 3
    assert "none.conf: cannot be read: No such file or directory" in err


def test_help_names_the_command():
    assert "check" in CliRunner().invoke(emulator.cli.slurm_sim, ["conf", "--help"]).output


def test_a_plugin_that_is_not_here_is_not_called_honoured(tmp_path, monkeypatch, capsys):
    file = tmp_path / "slurm.conf"
    for name, told in (
        ("select/cons_trex", ("not yet honoured", "there is no such plugin here (did you mean 'select/cons_tres'?); ")),
        ("select/cons_res", ("honoured", "what is allocated: cores and more, or whole nodes")),
    ):
        file.write_text(f"ClusterName=c\nSelectType={name}\nNodeName=n1\nPartitionName=p Nodes=ALL\n")
        code, out, _ = check(monkeypatch, capsys, str(file), "--json")
        key = next(key for key in json.loads(out)["keys"] if key["key"] == "SelectType")
        assert code == 0 and key["status"] == told[0] and key["reason"].startswith(told[1])


def test_a_file_without_nodes_is_told(tmp_path, monkeypatch, capsys):
    (tmp_path / "slurm.conf").write_text("ClusterName=c\n")
    code, out, err = check(monkeypatch, capsys, str(tmp_path / "slurm.conf"))
    assert (code, "slurm.conf: there is no NodeName line, so no job can run" in out + err) == (0, True)
