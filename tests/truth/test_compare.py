"""The comparison itself: a recording that agrees, and one difference at a time."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

import emulator.cli
from emulator.truth import Known, judge, read_known
from emulator.truth.inputs import inputs_of
from emulator.truth.recorded import recording_of
from emulator.workload.scenario import Recorded, Scenario
from emulator.workload.scenario_reader import read_scenario
from slurm_sim_plugins.errors import InputError

pytest.importorskip("yaml")

CONF = """\
scenario: small
note: two nodes, five jobs
slurm_conf: |
  AuthInfo=cred_expire=30
  KillWait=5
  PreemptMode=SUSPEND,GANG
  PreemptType=preempt/partition_prio
  PriorityType=priority/basic
  SchedulerParameters=bf_interval=1,bf_resolution=1,sched_interval=1,batch_sched_delay=0
  SchedulerType=sched/backfill
  SelectType=select/cons_tres
  SelectTypeParameters=CR_CPU
  NodeName=n[1-2] CPUs=1 RealMemory=1000
  PartitionName=hi Nodes=ALL PriorityTier=10 OverSubscribe=FORCE:1
  PartitionName=lo Nodes=ALL Default=YES OverSubscribe=FORCE:1
"""
TIMELINE = (
    CONF
    + """\
jobs:
- {name: A, id: 1, submit: 0.1, run: 40, nodes: 2, time_limit: '2'}
- {name: H, id: 2, submit: 10.0, run: 10, nodes: 1, time_limit: '1', sbatch: [-phi]}
- {name: B, id: 3, submit: 12.0, run: 5, nodes: 2, time_limit: '1'}
- {name: C, id: 4, submit: 13.0, run: 5, nodes: 1, time_limit: '1', sbatch: [-H]}
timeline:
  '1':
  - [0.2, {JobState: PENDING, TimeLimit: '00:02:00', Priority: '4294901759'}]
  - [0.6, {JobState: RUNNING, NodeList: 'n[1-2]'}]
  - [10.6, {JobState: SUSPENDED}]
  - [21.0, {JobState: RUNNING}]
  - [51.5, {JobState: COMPLETED}]
  '2':
  - [10.6, {JobState: RUNNING, NodeList: n1, TimeLimit: '00:01:00', Priority: '4294901758'}]
  - [21.0, {JobState: COMPLETED}]
  '3':
  - [12.0, {JobState: PENDING, TimeLimit: '00:01:00', Priority: '4294901757'}]
  - [12.8, {Reason: Resources}]
  - [51.9, {JobState: RUNNING, NodeList: 'n[1-2]'}]
  - [57.0, {JobState: COMPLETED}]
  '4':
  - [13.0, {JobState: PENDING, Reason: JobHeldUser, TimeLimit: '00:01:00', Priority: '0'}]
  - [57.0, 'INFO {"JobState": "PENDING", "StartTime": "Unknown"}']
"""
)
EXPECTED = (
    CONF
    + """\
jobs:
- {name: A, id: 1, submit: 0.1, run: 20, sbatch: [-N2, -t1]}
- {name: S, id: 2, submit: 1.0, run: 60, sbatch: [-N1, -t1]}
- {name: T_0, id: 4, submit: 2.0, run: null, sbatch: [(array task or het component)]}
- {name: T, id: 3, submit: 2.0, run: 5, sbatch: [-N1, '--array=0-1', '-dafterok:1', -t1]}
rejected:
- name: X
  at: 3.0
  sbatch: [-N1, -n2]
  error: 'sbatch: error: Batch job submission failed: Requested node configuration is not available'
queries:
- at: 10.0
  query: squeue -o '%i %t %r'
  out: "JOBID ST REASON\\n1 R None\\n2 PD Resources\\n3 PD Dependency\\n4 PD Dependency"
expected:
  '1':
    name: A
    state: COMPLETED
    runs:
    - {start: 0, end: 20, nodes: 'n[1-2]', alloc: 'n[1-2]:cpu0', partition: lo, timelimit: '00:01:00'}
  '2':
    name: S
    state: TIMEOUT
    runs: [{start: 21, end: 81, end_state: TIMEOUT, nodes: n1, partition: lo}]
    reasons: [[1.5, Resources]]
  '4':
    name: T_0
    state: COMPLETED
    runs: [{start: 21, end: 26, end_state: COMPLETED, nodes: n2}]
    reasons: [[2.0, Dependency]]
  T_1:
    name: T_1
    state: COMPLETED
    runs: [{start: 26, end: 32, end_state: COMPLETED, nodes: n2}]
    reasons: [[2.0, Dependency], [21.5, Resources]]
"""
)


def scenario(folder: Path, text: str) -> Scenario:
    path = folder / "small.yaml"
    path.write_text(text, encoding="utf-8")
    return read_scenario(path)


def differences(folder: Path, text: str, known: Known | None = None) -> set[tuple[str, str]]:
    return {(one.job, one.what) for one in judge(scenario(folder, text), known).differences}


@pytest.mark.parametrize("text", [TIMELINE, EXPECTED], ids=["timeline", "expected"])
def test_what_agrees_is_said_to_agree(tmp_path, text):
    assert not differences(tmp_path, text)


@pytest.mark.parametrize(
    ("told", "otherwise", "expected"),
    [
        ("[0.6, {JobState: RUNNING", "[4.6, {JobState: RUNNING", ("A", "start")),
        ("[51.5, {JobState: COMPLETED", "[54.5, {JobState: COMPLETED", ("A", "end")),
        ("[51.5, {JobState: COMPLETED", "[51.5, {JobState: FAILED", ("A", "outcome")),
        ("NodeList: n1,", "NodeList: n2,", ("H", "nodes")),
        ("[21.0, {JobState: RUNNING}]", "[25.0, {JobState: RUNNING}]", ("A", "suspension")),
        ("  - [10.6, {JobState: SUSPENDED}]\n  - [21.0, {JobState: RUNNING}]\n", "", ("A", "suspension")),
        ("{Reason: Resources}", "{Reason: Priority}", ("B", "reason")),
        ("[12.8, {Reason: Resources}]", "[16.8, {Reason: Resources}]", ("B", "reason")),
        ("Priority: '4294901757'", "Priority: '4294901756'", ("B", "priority")),
        (
            "JobState: RUNNING, NodeList: n1, TimeLimit: '00:01:00'",
            "JobState: RUNNING, TimeLimit: '00:02:00'",
            ("H", "limit"),
        ),
        ("  - [51.9, {JobState: RUNNING, NodeList: 'n[1-2]'}]\n  - [57.0, {JobState: COMPLETED}]\n", "", ("B", "runs")),
        ("JobHeldUser", "JobHeldAdmin", ("C", "reason")),
        ('"StartTime": "Unknown"', '"StartTime": 60', ("C", "planned")),
    ],
)
def test_each_difference_in_a_timeline_is_told(tmp_path, told, otherwise, expected):
    assert TIMELINE.count(told) == 1
    assert expected in differences(tmp_path, TIMELINE.replace(told, otherwise))


@pytest.mark.parametrize(
    ("told", "otherwise", "expected"),
    [
        ("start: 0, end: 20", "start: 0, end: 23", ("A", "end")),
        ("name: A\n    state: COMPLETED", "name: A\n    state: FAILED", ("A", "state")),
        ("n[1-2]:cpu0", "n[1-2]:cpu0-1", ("A", "allocation")),
        ("nodes: n1, partition: lo", "nodes: n1, partition: hi", ("S", "partition")),
        ("start: 26, end: 32", "start: 29, end: 32", ("T_1", "start")),
        ("[21.5, Resources]", "[21.5, Priority]", ("T_1", "reason")),
        ("configuration is not available", "configuration is available", ("X", "rejection")),
        ("2 PD Resources", "2 PD Priority", ("", "squeue -o '%i %t %r' at 10")),
        ("4 PD Dependency", "5 PD Dependency", ("", "squeue -o '%i %t %r' at 10")),
        ("error: 'sbatch: error: B", "error: 'sbatch: B", ("X", "rejection")),
    ],
)
def test_each_difference_in_what_was_expected_is_told(tmp_path, told, otherwise, expected):
    assert EXPECTED.count(told) == 1
    assert expected in differences(tmp_path, EXPECTED.replace(told, otherwise))


@pytest.mark.parametrize(("word", "differ"), [("warning", set()), ("Warning", set()), ("error", {("X", "rejection")})])
def test_warnings_of_sbatch_refuse_nothing(tmp_path, word, differ):
    said = f"error: |-\n    sbatch: {word}: can't run 1 processes on 2 nodes\n    sbatch: error: B"
    text = re.sub(r"error: 'sbatch: error: B([^']*)'", lambda found: said + found[1], EXPECTED)
    assert text != EXPECTED
    assert differences(tmp_path, text) == differ


def test_a_job_that_was_refused_here_and_not_there_is_told(tmp_path):
    text = TIMELINE.replace(
        "{name: H, id: 2, submit: 10.0, run: 10, nodes: 1, time_limit: '1', sbatch: [-phi]}",
        "{name: H, id: 2, submit: 10.0, run: 10, nodes: 1, time_limit: '1', sbatch: [-phi, -n2]}",
    )
    assert {("H", "rejection"), ("H", "job")} <= differences(tmp_path, text)


def test_two_starts_in_the_other_order_are_told(tmp_path):
    text = EXPECTED.replace("start: 21, end: 81", "start: 20, end: 81").replace(
        "start: 21, end: 26", "start: 18, end: 26"
    )
    assert ("T_0", "order") not in differences(tmp_path, text)  # both start in one pass
    text = text.replace("start: 26, end: 32", "start: 16, end: 32")
    assert ("T_1", "order") in differences(tmp_path, text)


def test_work_as_long_as_the_limit_ends_either_way_and_no_other_does(tmp_path):
    either = EXPECTED.replace("state: TIMEOUT", "state: COMPLETED")
    assert not differences(tmp_path, either)
    assert ("S", "state") in differences(tmp_path, either.replace("run: 60", "run: 70"))


def test_what_comes_after_the_end_of_a_recording_does_not_count(tmp_path):
    early = TIMELINE[: TIMELINE.index("  '3':")].replace("  - [51.5, {JobState: COMPLETED}]\n", "")
    assert not differences(tmp_path, early)


def test_nothing_of_what_was_recorded_is_done(tmp_path):
    for text in (TIMELINE, EXPECTED):
        whole = scenario(tmp_path, text)
        bare = replace(whole, recorded=Recorded(None, None, whole.recorded.rejected, None, None))
        one, other = inputs_of(whole, Known()), inputs_of(bare, Known())
        assert (one.requests, one.actions, one.sweep_phase) == (other.requests, other.actions, other.sweep_phase)


def test_nodes_of_a_run_of_which_nothing_is_known_say_that_they_are_clear(tmp_path):
    """A real Slurm 24.11.5 made a pass as soon as the nodes of a requeued job were clear."""
    job = "{name: A, id: 1, submit: 1.0, run: 20, sbatch: [-N1, -t1]}"
    text = f"cleared: {{'1': [null, 0.02]}}\n{CONF}jobs:\n- {job}\n"
    (request,) = inputs_of(scenario(tmp_path, text), Known()).requests
    assert [request.says_clear(run) for run in (0, 1, 2)] == [True, False, True]


def test_refused_submissions_have_the_numbers_of_records_that_slurm_made(tmp_path):
    refusals = {
        "X": ("-N1 -n99", "More processors requested than permitted"),
        "V": ("-N1 --prefer=none", "Invalid preferred feature specification"),
        "W": ("-N1 -Cnone", "Invalid feature specification"),
        "Y": ("-N1 -dafter:3", "Job dependency problem"),
    }
    rows = "".join(
        f"- {{name: {name}, at: 1.0, sbatch: [{', '.join(line.split())}], error: 'sbatch: error: {words}'}}\n"
        for name, (line, words) in refusals.items()
    )
    text = f"{CONF}jobs:\n- {{name: A, id: 4, submit: 2.0, run: 20, sbatch: [-N1, -t1]}}\nrejected:\n{rows}"
    names = inputs_of(scenario(tmp_path, text), Known()).names
    assert [names[number] for number in (1, 2, 3, 4)] == ["V", "W", "Y", "A"]


def test_components_have_numbers_that_no_refused_submission_has(tmp_path):
    first = "{name: A, id: 1, submit: 1.0, run: 20, sbatch: [-N1, -t1, ':', -N1]}"
    row = "- {name: X, at: 2.0, sbatch: [-N1, -n99], error: 'sbatch: error: More processors requested than permitted'}"
    later = "{name: B, id: 3, submit: 3.0, run: 20, sbatch: [-N1, -t1]}"
    text = f"{CONF}jobs:\n- {first}\n- {later}\nrejected:\n{row}\n"
    assert 2 not in inputs_of(scenario(tmp_path, text), Known()).names


KNOWN = """\
[[noise]]
scenario = "small"
job = "H"
what = "nodes"
reason = "either node was free"
[[work]]
scenario = "small"
job = "A"
runs = [44]
reason = "it took so long"
[[action]]
scenario = "small"
at = 20.0
command = "scontrol release 4"
reason = "it was released"
"""


@pytest.mark.parametrize(
    ("command", "answer"),
    [
        ("scontrol update NodeName=n1 State=DOWN", "You must specify a reason when DOWNING or DRAINING a node. ..."),
        ("scontrol requeue A", "Invalid job id specified for job A"),
        ("scancel A", "scancel: error: Invalid job id A"),
        ("scontrol update A TimeLimit=1", "No valid entity in update command"),
        ("scontrol update JobId=1 Partition=hi", "Resource temporarily unavailable for job 1"),
    ],
)
def test_what_scontrol_did_not_hand_on_is_refused_here_too(tmp_path, command, answer):
    given = scenario(tmp_path, TIMELINE + f"actions:\n- [5.0, {command}, {answer!r}]\n")
    inputs = inputs_of(given, Known())
    assert (inputs.actions, inputs.refused) == ((), ((5.0, answer),))
    verdict = judge(given)
    assert verdict.agrees
    assert not verdict.not_compared


def test_a_job_of_a_reservation_is_refused_where_scontrol_took_no_reservation(tmp_path):
    told = "Invalid time specification (pos=5): now+65s"
    action = f"actions:\n- [0, scontrol create reservation ReservationName=r StartTime=now+65s Nodes=n1, '{told}']\n"
    words = "'sbatch: error: Batch job submission failed: Requested reservation is invalid'"
    refused = f"rejected:\n- {{name: R, at: 3.0, sbatch: [-N1, --reservation=r], error: {words}}}\n"
    assert judge(scenario(tmp_path, TIMELINE + action + refused)).agrees


@pytest.mark.parametrize(
    "told",
    [
        "Ignoring -S since it's not allowed by configuration (AllowSpecResourcesUsage = No)",
        "MaxMemPerCPU ignored, since it's mutually exclusive with MaxMemPerNode",
    ],
)
def test_some_errors_that_sbatch_tells_of_refuse_nothing(tmp_path, told):
    said = f"sbatch: error: {told}"
    words = "sbatch: error: Batch job submission failed: Invalid feature specification"
    refused = f"rejected:\n- name: R\n  at: 3.0\n  sbatch: [-Cz, --core-spec=1]\n  error: |-\n    {said}\n    {words}\n"
    assert judge(scenario(tmp_path, TIMELINE + refused)).agrees


def known_in(folder: Path, text: str) -> Known:
    path = folder / "known.toml"
    path.write_text(text, encoding="utf-8")
    return read_known(path)


def test_noise_is_excused_where_it_is_listed_and_nowhere_else(tmp_path):
    known = known_in(tmp_path, KNOWN[: KNOWN.index("[[work]]")])
    verdict = judge(scenario(tmp_path, TIMELINE.replace("NodeList: n1,", "NodeList: n2,")), known)
    assert verdict.agrees
    assert [noise.reason for _, noise in verdict.excused] == ["either node was free"]
    other = TIMELINE.replace("scenario: small", "scenario: other").replace("NodeList: n1,", "NodeList: n2,")
    assert ("H", "nodes") in differences(tmp_path, other, known)


def test_supplied_work_and_commands_are_done(tmp_path):
    verdict = judge(scenario(tmp_path, TIMELINE), known_in(tmp_path, KNOWN))
    assert {("A", "end"), ("B", "start"), ("C", "reason")} <= {(one.job, one.what) for one in verdict.differences}
    assert verdict.supplied == ("A works 44 s: it took so long", "scontrol release 4 at 20: it was released")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[noise]]\nscenario = 'a'\nwhat = 'nodes'\n", "needs 'reason'"),
        ("[[noise]]\nscenario = 'a'\nwhat = 'nodes'\nreason = 'r'\nwhen = 1\n", "has no key 'when'"),
        ("[[sound]]\nscenario = 'a'\n", "cannot hold 'sound'"),
        ("[[work]]\nscenario = 'a'\njob = 'b'\nreason = 'r'\nruns = 5\n", "runs: 5 cannot be taken"),
        ("[[action]]\nscenario = 'a'\nat = 'soon'\ncommand = 'c'\nreason = 'r'\n", "at: 'soon' cannot be taken"),
        ("noise = [1]\n", "is no table"),
        ("[[noise]\n", "is not TOML"),
    ],
)
def test_a_list_that_is_not_as_it_should_be_is_an_error_that_says_where(tmp_path, text, message):
    with pytest.raises(InputError, match=r"known\.toml") as caught:
        known_in(tmp_path, text)
    assert message in str(caught.value)


def test_a_job_of_which_nobody_says_how_long_it_works_is_an_error(tmp_path):
    with pytest.raises(InputError, match=r"small\.yaml:17: job 'A' has no run"):
        judge(scenario(tmp_path, TIMELINE.replace("submit: 0.1, run: 40", "submit: 0.1, run: null")))


def run_truth(monkeypatch, capsys, *arguments: str) -> tuple[int, str]:
    monkeypatch.setattr("sys.argv", ["slurm-sim", "truth", *arguments])
    monkeypatch.setenv("COLUMNS", "160")
    return emulator.cli._exit_code(), capsys.readouterr().out


def test_the_command_shows_both_timelines_and_leaves_with_1_if_they_differ(tmp_path, monkeypatch, capsys):
    scenario(tmp_path, TIMELINE)
    code, out = run_truth(monkeypatch, capsys, str(tmp_path))
    assert (code, "1 of 1 agree" in out) == (0, True)
    scenario(tmp_path, TIMELINE.replace("NodeList: n1,", "NodeList: n2,"))
    code, out = run_truth(monkeypatch, capsys, str(tmp_path / "small.yaml"))
    assert (code, "0 of 1 agree" in out) == (1, True)
    rows = [" ".join(line.split()) for line in out.splitlines()]
    assert any(re.fullmatch(r"H start 10\.6 n2 1\d\.\d n1 differs", row) for row in rows)
    assert any(re.fullmatch(r"suspended 10\.6 1\d\.\d", row) for row in rows)


def test_the_command_prints_json(tmp_path, monkeypatch, capsys):
    scenario(tmp_path, TIMELINE.replace("NodeList: n1,", "NodeList: n2,"))
    (tmp_path / "known.toml").write_text(KNOWN[: KNOWN.index("[[work]]")], encoding="utf-8")
    code, out = run_truth(monkeypatch, capsys, str(tmp_path), "--known", str(tmp_path / "known.toml"), "--json")
    told = json.loads(out)
    assert (code, told["agree"]) == (0, True)
    assert told["scenarios"][0]["noise"] == [
        {"job": "H", "what": "nodes", "recorded": "n2", "emulated": "n1", "reason": "either node was free"}
    ]
    marked = [row for row in told["scenarios"][0]["timeline"] if row["mark"]]
    assert [(row["job"], row["event"], row["recorded"], row["mark"]) for row in marked] == [
        ("H", "start", "10.6 n2", "noise")
    ]


def test_one_that_cannot_be_run_does_not_hide_the_others(tmp_path, monkeypatch, capsys):
    (tmp_path / "broken.yaml").write_text(TIMELINE.replace("n[1-2] CPUs=1", "n[1-2] CPUs=x"), encoding="utf-8")
    scenario(tmp_path, TIMELINE)
    code, out = run_truth(monkeypatch, capsys, str(tmp_path))
    assert code == 1
    assert "1 of 1 agree" in out
    assert "cannot be run" in out


def test_a_run_that_began_and_ended_between_two_looks_is_one(tmp_path):
    text = (
        CONF
        + """\
jobs: [{name: A, id: 1, submit: 0.1, run: 0, nodes: 1, time_limit: '1'}]
timeline:
  '1':
  - [0.2, {JobState: PENDING, TimeLimit: '00:01:00'}]
  - [1.2, {JobState: COMPLETED}]
"""
    )
    (run,) = recording_of(scenario(tmp_path, text)).jobs["1"].runs
    assert (run.start, run.end, run.outcome) == (1.2, 1.2, "COMPLETED")
    assert not differences(tmp_path, text)
    assert ("A", "start") in differences(tmp_path, text.replace("[1.2,", "[9.2,"))


def test_a_command_that_the_emulator_refuses_is_told(tmp_path):
    text = TIMELINE.replace("timeline:", "actions:\n- [5.0, scontrol ping]\ntimeline:")
    (note,) = judge(scenario(tmp_path, text)).not_compared
    assert "at 5" in note
    assert "ping" in note


ACCOUNTS = """\
scenario: small
note: two jobs of an account that may have one CPU
slurm_conf: |
  AccountingStorageEnforce=limits
  PriorityType=priority/multifactor
  AccountingStorageType=accounting_storage/slurmdbd
  PriorityDecayHalfLife=0
  PriorityCalcPeriod=1
  PriorityWeightFairshare=100
  SchedulerParameters=bf_interval=1,bf_resolution=1,sched_interval=1,batch_sched_delay=0
  NodeName=n[1-2] CPUs=1
  PartitionName=p Nodes=ALL Default=YES
sacctmgr: [sacctmgr -i add account a GrpTRES=cpu=1, sacctmgr -i add user ann account=a]
jobs:
- {name: A, id: 1, submit: 0.1, run: 40, user: ann, sbatch: [-N1, -t2]}
- {name: B, id: 2, submit: 1.0, run: 10, user: ann, sbatch: [-N1, -t2]}
actions:
- [20.0, sacctmgr -i modify account a set GrpTRES=cpu=2]
expected:
  '1':
    {name: A, state: COMPLETED, runs: [{start: 0, end: 40, end_state: COMPLETED, nodes: n1}]}
  '2':
    name: B
    state: COMPLETED
    runs: [{start: 20, end: 31, end_state: COMPLETED, nodes: n2}]
    reasons: [[1.5, AssocGrpCpuLimit]]
queries:
- at: 55.0
  query: sshare -a -l -P
  out: |
    Account|User|RawShares|NormShares|RawUsage|FairShare
    root|||0.000000|50|
     root|root|1|0.500000|0|1.000000
     a||1|0.500000|50|
      a|ann|1|1.000000|50|0.500000
"""


def test_accounts_limits_and_shares_are_compared(tmp_path):
    assert not differences(tmp_path, ACCOUNTS)
    assert {("B", "reason"), ("B", "start")} <= differences(tmp_path, ACCOUNTS.replace("GrpTRES=cpu=1,", "MaxJobs=9,"))
    assert {("B", "start")} <= differences(tmp_path, ACCOUNTS.replace("[20.0, sacctmgr", "[28.0, sacctmgr"))
    query = ("", "sshare -a -l -P at 55")
    assert differences(tmp_path, ACCOUNTS.replace("a|ann|1|1.000000|50|", "a|ann|1|1.000000|51|")) == {query}


def test_the_clock_of_a_recording_is_supplied(tmp_path):
    clock = "[[clock]]\nscenario = 'small'\nuptime = 39.5\nsecond = 0.5\nreason = 'seen'\n"
    text = ACCOUNTS.replace("50|", "51|").replace("|1|0.500000|51|", "|1|0.500000|51|")
    verdict = judge(scenario(tmp_path, ACCOUNTS), known_in(tmp_path, clock))
    assert verdict.supplied == ("the controller started 39.5 s before, its seconds 0.5 s before: seen",)
    assert not judge(scenario(tmp_path, text), known_in(tmp_path, clock)).agrees


def test_a_clock_that_nobody_knows_is_looked_for(tmp_path):
    text = ACCOUNTS.replace("at: 55.0", "at: 47.0")
    assert not judge(scenario(tmp_path, text)).agrees
    found = judge(scenario(tmp_path, text), search=True)
    assert found.agrees
    assert "not recorded" in found.supplied[0]
