"""Names from traces, configurations, plugins, campaigns and run folders do not steer the terminal."""

from __future__ import annotations

import json
import re
import shutil
import tomllib
from pathlib import Path

import click
import pytest
import tomli_w

from emulator import Config, cli, simulate
from emulator.cli import shared, slurm_sim
from emulator.report.numbers import printable
from emulator.workload.models import lublin99
from emulator.workload.swf import read_swf, write_swf
from tests.builders.jobs import two_tiers
from tests.builders.slurm_tree import slurm_tree

MODIFY = "function slurm_job_modify() return 0 end"
EVIL = "\x1b]0;owned\x07\x9b31m\u202e\x7f\x08[red][/]"
"""The title of the terminal, colours, the direction of writing, and what rich takes for markup."""
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")

PLUGIN = """
from slurm_sim_plugins import hookimpl


class Evil:
    EVIL

    name = "priority/evil"

    def __init__(self, option=EVIL):
        self._option = option

    @hookimpl
    def priority_set(self, view):
        raise RuntimeError(self._option)
"""
SCENARIO = f"""
name: {json.dumps(EVIL)}
conf: |
  ClusterName=x
submit: []
events: []
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which everything has a hostile name, and finished runs of it."""
    folder = tmp_path_factory.mktemp("hostile")
    trace = folder / f"{printable('jobs')}.swf"
    write_swf(lublin99.generate(40, 64, 3, load=0.9), trace)
    shutil.copy(trace, folder / f"a{EVIL[:-6]}.swf")
    (folder / "bad.swf").write_text(f"1 2 {EVIL} 3\n")
    (folder / "evil.py").write_text(PLUGIN.replace("EVIL", repr(EVIL)))
    conf = two_tiers("REQUEUE").replace("n[1-2]", "n[1-2]")
    (folder / "slurm.conf").write_text(f"{conf}\nClusterName=x{EVIL}\n{EVIL}=1\nSchedulerParameters={EVIL}\n")
    (folder / "good.conf").write_text(f"{conf}\n")
    (folder / "scenario.yaml").write_text(SCENARIO)
    (folder / "study.toml").write_text(
        tomli_w.dumps(
            {
                "workloads": {f"w{EVIL}": {"model": "lublin99", "jobs": 20, "processors": 64, "load": [0.5, 0.6]}},
                "policies": {f"p{EVIL}": ["sched/easy"], f"q{EVIL}": ["sched/fcfs"]},
            }
        )
    )
    shutil.copy(folder / "study.toml", folder / "broken.toml")
    with (folder / "broken.toml").open("a") as stream:
        stream.write(f'["{json.dumps(EVIL)[1:-1]}"]\n'.replace("\\u007f", "\\u007F"))
    (folder / "jobs.events").write_text(
        "".join(
            f"-dt {n} -e submit_batch_job | -sim-walltime 300 --uid=u{EVIL[:3]} -J 'a{EVIL}' -n 2 -t 10 -p lo a.job\n"
            for n in range(12)
        )
    )
    (folder / "bad.events").write_text(f"-dt 1 -e {EVIL} | -sim-walltime 6 a.job\n")
    (folder / "dump.sacct").write_text(
        "JobID|JobName|User|Partition|Submit|Start|End|State|NCPUS|Timelimit|NNodes\n"
        f"1|a{EVIL}|u{EVIL}|lo{EVIL}|2024-01-01T00:00:00|2024-01-01T00:00:10|2024-01-01T00:01:00|COMPLETED|2|00:10:00|1\n"
        f"2|a{EVIL}|u{EVIL}|lo|2024-01-01T00:00:00|2024-01-01T00:00:10|2024-01-01T00:01:00|COMPLETED|2|00:10:00|1\n"
    )
    words = "".join(f"\\{ord(one):03d}" if ord(one) < 256 else one for one in EVIL)
    (folder / "evil.lua").write_text(f'function slurm_job_submit(d) slurm.log_user("{words}") return 1 end {MODIFY}')
    (folder / "good.lua").write_text(f"function slurm_job_submit(d) return 0 end {MODIFY}")
    (folder / "cases.yaml").write_text(json.dumps([{"name": EVIL}, {"sbatch": "-n1", "refuse": EVIL}, {"user": EVIL}]))
    (folder / "commands").write_text(f"5 scontrol {EVIL}\n")
    (folder / "accounts").write_text(f"sacctmgr add account {EVIL} {EVIL}=3\n")
    for name, scheduler in (("run", "sched/easy"), ("other", "sched/fcfs")):
        simulate(read_swf(trace), config=Config(slots={"SchedulerType": scheduler}), out=folder / name)
        about = tomllib.loads((folder / name / "run.toml").read_text())
        about["run"]["label"] += EVIL
        about["workload"]["name"] += EVIL
        (folder / name / "run.toml").write_text(tomli_w.dumps(about))
        log = folder / name / "events.jsonl"
        log.write_text(log.read_text().replace('"event":"start"', f'"reason":{json.dumps(EVIL)},"event":"start"'))
    shutil.copytree(folder / "run", folder / "damaged")
    slurm_tree(folder / "tree")
    (folder / "damaged" / "run.toml").write_text(f"{EVIL}")
    return folder


def told(words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    monkeypatch.setattr("sys.argv", ["slurm-sim", *words])
    capsys.readouterr()
    code = cli._exit_code()
    assert code in (0, 1, 2, 3, 4, 5)
    return "".join(capsys.readouterr())


SLURM = ["run", "jobs.events", "--slurm-conf", "good.conf"]
COMMANDS: list[list[str]] = [
    ["trace", "info", f"a{EVIL[:-6]}.swf"],
    ["trace", "info", "bad.swf"],
    ["run", f"a{EVIL[:-6]}.swf", "--progress"],
    ["run", f"a{EVIL[:-6]}.swf", "--json"],
    ["run", f"missing{EVIL}"],
    ["run", "jobs.swf", f"--{EVIL}"],
    ["run", "jobs.swf", EVIL],
    ["run", "jobs.swf", "--scheduler", EVIL],
    ["run", "jobs.swf", "--set", EVIL],
    ["run", "jobs.swf", "--experiment", "broken.toml"],
    ["run", "jobs.swf", "--plugin", "evil.py", "--priority", "priority/evil"],
    ["compare", f"a{EVIL[:-6]}.swf", "--policy", f"x{EVIL}=sched/easy", "--progress"],
    ["plugins", "--plugin", "evil.py"],
    ["plugins", "--plugin", "evil.py", "--json"],
    ["check", "evil.py", "--examples", "1"],
    ["explain", "run", "3"],
    ["explain", "damaged", "3"],
    ["diff", "run", "other"],
    ["report", "run"],
    ["fairness", "run", "--sample", "3", "--progress"],
    ["campaign", "run", "study.toml", "--dry-run"],
    ["campaign", "run", "study.toml", "--out", "results", "--processes", "1", "--progress"],
    ["campaign", "status", "results"],
    ["campaign", "status", "results", "--json"],
    ["campaign", "results", "results"],
    ["campaign", "run", "broken.toml"],
    ["conf", "check", "slurm.conf"],
    ["conf", "check", "slurm.conf", "--json"],
    [*SLURM, "--out", "site"],
    [*SLURM, "--commands", "commands"],
    [*SLURM, "--accounts", "accounts"],
    ["run", "bad.events", "--slurm-conf", "good.conf"],
    ["run", "jobs.events", "--slurm-conf", "slurm.conf"],
    *([view, "site", "--at", "5"] for view in ("squeue", "sinfo", "sacct", "sprio", "sshare")),
    *([view, "site", "--at", "5", "--json"] for view in ("squeue", "sinfo", "sacct", "sprio", "sshare")),
    ["sacct", "site", "-P", "--format", "ALL"],
    ["sacct", "site", "-p", "--format", "WORKLOAD"],
    ["sshare", "site", "-P"],
    ["squeue", "site", "-o", "%i %j %u %all"],
    ["squeue", "site", "-u", EVIL, "-t", EVIL],
    ["replay", "dump.sacct", "--slurm-conf", "good.conf"],
    ["upgrade-check", "good.conf", "--from", "22.05", "--log", "dump.sacct"],
    ["upgrade-check", "slurm.conf", "--from", "22.05"],
    ["truth", "scenario.yaml"],
    ["record", "scenario.yaml"],
    ["sbatch", "scenario.yaml", "--slurm-conf", "slurm.conf"],
    ["job-submit", "test", "evil.lua", "cases.yaml", "--slurm-conf", "good.conf"],
    ["job-submit", "diff", "good.lua", "evil.lua", "jobs.events", "--slurm-conf", "good.conf"],
    ["resume", "run"],
    ["walltime", "evaluate", f"a{EVIL[:-6]}.swf"],
    ["optimum", "solve", "bad.swf"],
    ["new-plugin", EVIL],
    ["port", "priority", "--slurm-source", "tree", "--plugin", "evil.py", "--policy", "priority/evil"],
    ["port", "priority", "--slurm-source", ".", "--name", EVIL],
    ["reproduce", "pv-easy", "--traces", EVIL],
    ["live", "--plugin", EVIL, "--slurm-conf", EVIL],
]


@pytest.mark.slow
@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: " ".join(map(printable, words))[:60])
def test_no_command_lets_a_name_steer_the_terminal(
    place: Path, words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(place)
    monkeypatch.setenv("COLUMNS", "200")
    out = told(words, monkeypatch, capsys)
    assert not CONTROL.search(out), out


def test_every_command_is_tried() -> None:
    assert {words[0] for words in COMMANDS} | {"demo"} == set(slurm_sim.list_commands(click.Context(slurm_sim)))


def test_what_a_terminal_shows_of_progress_is_printable(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    with shared.progress(f"run {EVIL}", 10, True) as report:
        assert report is not None
        report(3)
    shown = capsys.readouterr().err
    assert "owned" in shown and "\x1b[" in shown
    assert "\x1b]" not in shown and not re.search("[\x07\x9b\u202e\x7f]", shown)
