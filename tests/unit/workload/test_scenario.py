"""Scenario files: what is in them, and what is refused where."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from emulator.workload.sbatch import BatchOptions, TaskArray
from emulator.workload.scenario import Scenario
from emulator.workload.scenario_reader import read_scenario, read_scenarios
from slurm_sim_plugins.errors import ConfigurationError, InputError

pytest.importorskip("yaml")

CONF = """\
scenario: s
note: 'a note'
slurm_conf: |
  PriorityType=priority/basic
  SelectType=select/cons_tres
  GresTypes=gpu
  NodeName=n[1-4] CPUs=1 Gres=gpu:2
  PartitionName=p Nodes=ALL
"""
JOBS = """\
jobs:
- {name: A, id: 1, submit: 0.5, nodes: 3, time_limit: '0:30', run: 60, partition: 'p,q', exit_code: 2}
- {name: B, id: 2, submit: 1, run: 0, user: bin, sbatch: [-n1, -t5, --array=0-1], ignores_term: true}
- {name: B_0, id: 3, submit: 1.5, run: null, sbatch: [(array task or het component)]}
- {name: C, id: 4, submit: 2, run: 5, time_limit: null, priority_requested: 7, sbatch: [--priority=7]}
"""
REST = """\
gres_conf: |
  NodeName=n[1-4] Name=gpu File=/dev/x[0-1]
sacctmgr: [sacctmgr -i add account a parent=b]
sweep_phase: 12.5
actions:
- [5, scontrol hold 1]
- [6.5, "scontrol create reservation 'Nodes=n[1-2]' Users=root", made]
timeline:
  '1':
  - [0.4, {JobState: RUNNING, NodeList: 'n[1-3]'}]
  - [0.5, INFO something]
expected:
  B_1:
    name: B_1
    state: COMPLETED
    runs:
    - {start: 1, end: 6.5, end_state: COMPLETED, nodes: n1, alloc: 'n1:cpu0', partition: p, timelimit: '00:05:00'}
    - {start: 7, nodes: n2}
    reasons:
    - [1.3, Resources]
  B_0: {name: B_0, state: PENDING, runs: []}
rejected:
- {name: D, at: 3.5, sbatch: [-n9], user: bin, error: 'no'}
- {name: E, at: 3.6, sbatch: [-n0], error: 'no'}
queries:
- {at: 2.5, query: sprio, out: table}
cluster_events:
- [60.2, text]
"""

Write = Callable[[str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def put(text: str) -> Path:
        path = tmp_path / "s.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    return put


@pytest.fixture
def scenario(write: Write) -> Scenario:
    return read_scenario(write(CONF + JOBS + REST))


def test_what_was_done_is_typed(scenario):
    assert (scenario.name, scenario.note, scenario.sweep_phase) == ("s", "a note", 12.5)
    a, b, task, c = scenario.submissions
    assert (a.name, a.id, a.submit, a.run, a.exit_code, a.made) == ("A", 1, 0.5, 60, 2, False)
    assert a.options == BatchOptions(min_nodes=3, max_nodes=3, time_limit=60.0, partitions=("p", "q"))
    assert (b.user, b.ignores_term, b.options.tasks) == ("bin", True, 1)
    assert b.options.array == TaskArray((0, 1))
    assert (task.made, task.run, task.options) == (True, None, BatchOptions())
    assert (c.options, c.time_limit, c.limit_stated) == (BatchOptions(priority=7), None, True)
    assert str(a.location).endswith("s.yaml:10")


def test_commands_are_taken_apart_and_not_run(scenario):
    (account,) = scenario.accounting
    assert (account.program, account.verb, account.words, dict(account.fields), account.flags) == (
        "sacctmgr",
        "add",
        ("account", "a"),
        {"parent": "b"},
        ("-i",),
    )
    hold, create = scenario.actions
    assert (hold.at, hold.command.verb, hold.command.words, hold.output) == (5.0, "hold", ("1",), None)
    assert (create.command.words, dict(create.command.fields), create.output) == (
        ("reservation",),
        {"Nodes": "n[1-2]", "Users": "root"},
        "made",
    )


def test_the_configuration_is_read_on_demand(scenario):
    conf = scenario.configuration()
    assert [node.name for node in conf.nodes] == ["n1", "n2", "n3", "n4"]
    assert conf.gres[0].count == 2
    assert not conf.notices


def test_the_topology_is_part_of_the_configuration(write):
    scenario = read_scenario(write(CONF + JOBS + "topology_conf: |\n  SwitchName=s Nodes=n[1-4]\n"))
    assert [switch.nodes for switch in scenario.configuration().topology.switches] == [("n1", "n2", "n3", "n4")]


def test_what_came_of_it_is_kept_apart(scenario):
    recorded = scenario.recorded
    seen, note = recorded.timeline["1"]
    assert (seen.at, dict(seen.fields), seen.note) == (0.4, {"JobState": "RUNNING", "NodeList": "n[1-3]"}, "")
    assert (note.at, dict(note.fields), note.note) == (0.5, {}, "INFO something")
    first, second = recorded.expected["B_1"].runs
    assert (first.start, first.end, first.nodes, first.time_limit) == (1, 6.5, "n1", "00:05:00")
    assert (second.start, second.end, second.end_state) == (7, None, "")
    assert recorded.expected["B_1"].reasons == ((1.3, "Resources"),)
    assert recorded.expected["B_0"].reasons is None
    assert [(each.name, each.at, each.options and each.options.tasks) for each in recorded.rejected] == [
        ("D", 3.5, 9),
        ("E", 3.6, None),
    ]
    assert recorded.queries[0].output == "table"
    assert recorded.cluster_events == ((60.2, "text"),)


def test_what_a_file_does_not_have_is_none(write):
    scenario = read_scenario(write(CONF + JOBS))
    assert scenario.gres_conf is scenario.accounting is scenario.actions is scenario.sweep_phase is None
    recorded = scenario.recorded
    assert recorded.timeline is recorded.expected is recorded.rejected is None
    assert recorded.queries is recorded.cluster_events is None


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("note:", "not:", "2: a scenario has no key 'not' (did you mean 'note'?); known are scenario, note"),
        ("note: 'a note'\n", "", "1: a scenario needs 'note'"),
        ("note:", "outlasted: {'1': [0.5], '7': [0.5]}\nnote:", "2: '7' is not a job, a task or a component"),
        ("note:", "cleared: {A: [0.5]}\nnote:", "2: 'A' is not a job, a task or a component"),
        ("note:", "cleared: {'1': [0.5]}\nsaid_clear: {'2': [true]}\nnote:", "3: '2' is not in cleared"),
        ("note:", "glances_seen: [1.0]\nnote:", "2: rounds that were seen have no effect without rounds or glances"),
        (
            "note:",
            "rounds: [0.5, 1.01]\nrounds_seen: [2.5, 1.5]\nnote:",
            "3: rounds that were seen come one after the other",
        ),
        ("note:", "decay: -3\nnote:", "2: the thread ran before the recording started: it is 0 or more"),
        ("scenario: s", "scenario: [s]", "1: is seq, not text"),
        ("scenario: s", "scenario: 5", "1: '5' is int, not text: put it in quotes"),
        ("note:", "scenario: t\nnote:", "2: 'scenario' comes twice"),
        ("name: A,", "nam: A,", "10: a job has no key 'nam' (did you mean 'name'?)"),
        ("name: A, id: 1,", "name: A,", "10: a job needs 'id'"),
        ("id: 1,", "id: one,", "10: 'one' is str, not a whole number"),
        ("id: 1,", "id: 1.0,", "10: '1.0' is float, not a whole number"),
        ("id: 2,", "id: 1,", "11: job 1 is defined already at FILE:10"),
        ("submit: 0.5", "submit: -1", "10: submit and run are 0 or more"),
        ("submit: 0.5", "submit: .nan", "10: '.nan' is not a number"),
        ("submit: 0.5", "submit: 1e999", "10: '1e999' is str, not a number"),
        ("submit: 0.5", "submit: 1.0e+999", "10: '1.0e+999' is no second of a recording"),
        ("'0:30'", "soon", "10: time_limit: 'soon' is no time"),
        ("-n1, -t5", "-n1, -tx", "11: --time: 'x' is no time"),
        ("--priority=7", "--priority=8", "13: priority is 7 and, in the arguments, 8"),
        ("ignores_term: true", "ignores_term: 1", "11: '1' is int, not true or false"),
        ("[5, scontrol hold 1]", "[5]", "19: an action has 2 or 3 values, not 1"),
        ("[5, scontrol hold 1]", "[5, rm -rf x]", "19: 'rm' is neither scontrol nor sacctmgr"),
        ("[5, scontrol hold 1]", "[5, scontrol]", "19: 'scontrol' does not say what to do"),
        ("scontrol hold 1]", "'scontrol \"hold']", "19: 'scontrol \"hold' is no command: No closing quotation"),
        ("[0.5, INFO something]", "[0.5]", "24: an observation has 2 values, not 1"),
        ("[0.5, INFO something]", "5", "24: is no list"),
        ("runs: []", "runs: {}", "34: is no list"),
        ("B_0: {name: B_0, state: PENDING, runs: []}", "B_0: 5", "34: is no mapping"),
        ("{start: 7, nodes: n2}", "{start: 7, node: n2}", "31: a run has no key 'node' (did you mean 'nodes'?)"),
        ("at: 2.5, query", "at: 2.5, q: 1, query", "39: a query has no key 'q'"),
        ("[60.2, text]", "[60.2, text, more]", "41: a note has 2 values, not 3"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(write, old, new, why):
    text = CONF + JOBS + REST
    assert old in text
    path = write(text.replace(old, new, 1))
    with pytest.raises(InputError) as caught:
        read_scenario(path)
    assert str(caught.value).replace(str(path), "FILE").startswith(f"FILE:{why}")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "is empty; a scenario is a mapping"),
        ("a: [", ":1: is not YAML"),
        ("a: b: c", ":1: is not YAML: mapping values are not allowed here"),
        ("- 1", ":1: is no mapping"),
        ("a\x00b", "is not YAML"),
        ("--- 1\n--- 2\n", "is not YAML"),
        ("[" * 400, "is not YAML"),
    ],
)
def test_what_is_no_scenario_is_refused(write, text, why):
    with pytest.raises(InputError) as caught:
        read_scenario(write(text))
    assert why in str(caught.value)


def test_tags_of_python_objects_are_only_words(write):
    with pytest.raises(InputError, match=r":1: is .*, not text"):
        read_scenario(write("scenario: !!python/object/apply:os.system [true]\n"))


def test_a_missing_file_and_an_empty_folder_are_errors(tmp_path):
    with pytest.raises(InputError, match="cannot be read: No such file"):
        read_scenario(tmp_path / "none.yaml")
    with pytest.raises(InputError, match="holds no scenario"):
        read_scenarios(tmp_path)


def test_without_pyyaml_it_says_what_to_install(write, monkeypatch):
    path = write(CONF + JOBS)
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(ConfigurationError, match="pip install pyyaml"):
        read_scenario(path)


def test_a_limit_may_be_none(write):
    scenario = read_scenario(write(CONF + JOBS.replace("'0:30'", "UNLIMITED")))
    assert scenario.submissions[0].options.time_limit == math.inf


def test_a_topology_in_yaml_is_part_of_the_configuration(write):
    text = "topology_yaml: |\n  - topology: t\n    tree: {switches: [{switch: s, nodes: 'n[1-4]'}]}\n"
    topology = read_scenario(write(CONF + JOBS + text)).configuration().topology
    assert (topology.plugin, topology.switches[0].nodes) == ("topology/tree", ("n1", "n2", "n3", "n4"))
