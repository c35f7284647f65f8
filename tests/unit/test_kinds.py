"""A file of one kind, given where another is expected: the message says what it is and where it goes."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from emulator.cli import slurm_sim
from emulator.kinds import ACCOUNTS, COMMANDS, DUMP, EVENTS, SCENARIO, SLURM_CONF, TOML, TRACE, kinds_of

FILES = {
    EVENTS: "# two\n\n-dt 0 -e submit_batch_job | -sim-walltime 15 --uid=u -n 1 job\n",
    DUMP: "JobID|Submit|Start|End|State\n1|2024-01-01T00:00:00|x|x|x\n",
    COMMANDS: "# later\n100 scontrol update NodeName=n1 State=DOWN\n",
    TRACE: "; MaxProcs: 4\n1 0 -1 10 2 -1 -1 -1 10 -1 1 1 1 -1 1 -1 -1 -1\n",
    SCENARIO: "scenario: one\nslurm_conf: |\n  NodeName=n1\njobs: []\n",
    TOML: '# a study\n[workload]\ntrace = "jobs.swf"\n\n[slots]\nSchedulerType = "sched/fcfs"\n',
    ACCOUNTS: "add cluster Name=micro\nadd QOS Name=normal\n",
    SLURM_CONF: "# site\nClusterName=c\nNodeName=n[1-2] CPUs=2\nPartitionName=p Nodes=ALL Default=YES\n",
}
NAMES = dict(
    zip(FILES, ("a.events", "a.sacct", "a.txt", "a.swf", "a.yaml", "a.toml", "a.script", "slurm.conf"), strict=True)
)
EXPECTED = {
    "run FILE": TRACE,
    "compare FILE": TRACE,
    "trace info FILE": TRACE,
    "walltime evaluate FILE": TRACE,
    "run FILE --slurm-conf slurm.conf": TRACE,
    "run a.swf --slurm-conf FILE": SLURM_CONF,
    "conf check FILE": SLURM_CONF,
    "run a.swf --config FILE": TOML,
    "campaign run FILE": TOML,
    "run a.events --slurm-conf slurm.conf --accounts FILE": ACCOUNTS,
    "run a.events --slurm-conf slurm.conf --commands FILE": COMMANDS,
    "replay FILE --slurm-conf slurm.conf": DUMP,
    "truth FILE": SCENARIO,
}
MIXED_UP = [
    (command, kind)
    for command, expected in EXPECTED.items()
    for kind in FILES
    if kind != expected and (kind, expected) != (DUMP, TRACE)
]
"""A dump is read as a trace, too."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for kind, text in FILES.items():
        Path(NAMES[kind]).write_text(text)
    return tmp_path


def told(command: str, file: str) -> Result:
    return CliRunner().invoke(slurm_sim, command.replace("FILE", file).split())


@pytest.mark.parametrize("kind", FILES, ids=NAMES.get)
def test_each_kind_is_recognised(kind: str, folder: Path) -> None:
    assert kinds_of(NAMES[kind])[0] == kind
    Path("packed").write_bytes(gzip.compress(FILES[kind].encode()))
    assert kinds_of("packed")[0] == kind


@pytest.mark.parametrize(("command", "kind"), MIXED_UP, ids=[f"{command}: {NAMES[kind]}" for command, kind in MIXED_UP])
def test_a_mixed_up_file_is_named_for_what_it_is(command: str, kind: str, folder: Path) -> None:
    expected = EXPECTED[command]
    given = "mixed-up" if expected == TRACE else NAMES[kind]
    Path("mixed-up").write_text(FILES[kind])
    assert str(told(command, given).exception).startswith(f"{given}: this is {kind}, not {expected}; ")


@pytest.mark.parametrize("text", ["", "1 2 3\n", "\x00\x01", "\x1f\x8b broken", "hello, world\n", "x = 1\n"])
def test_what_is_of_no_kind_is_left_to_the_reader(text: str, folder: Path) -> None:
    Path("other").write_bytes(text.encode("latin-1"))
    assert kinds_of("other") == []
    assert "this is" not in str(told("run FILE", "other").exception)


def test_a_broken_file_of_the_right_kind_is_told_with_its_line(folder: Path) -> None:
    Path("slurm.conf").write_text(FILES[SLURM_CONF] + "[workload]\n")
    assert "slurm.conf:5: '[workload]' is not written as KEY=VALUE" in str(
        told("conf check FILE", "slurm.conf").exception
    )
    Path("a.swf").write_text(FILES[TRACE] + "100 scontrol x\n")
    assert "a.swf:3: the line has 3 fields instead of 18" in str(told("run FILE", "a.swf").exception)


def test_the_folder_of_a_run_is_no_trace(folder: Path) -> None:
    Path("done").mkdir()
    Path("done/run.toml").write_text("")
    assert str(told("run FILE", "done").exception).startswith("done: this is the folder of a finished run, not a trace")


def test_folders_and_missing_files_are_of_no_kind(folder: Path) -> None:
    assert kinds_of(folder) == kinds_of("missing") == []
