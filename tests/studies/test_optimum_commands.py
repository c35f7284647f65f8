"""``slurm-sim optimum`` and ``slurm-sim reproduce optimum``: what they print, and what they refuse."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from slurm_sim_studies.optimum.files import case_of, marked, part_of, read_case, workload_of
from slurm_sim_studies.optimum.instances import contended
from slurm_sim_studies.optimum.optimise import optimise
from slurm_sim_studies.optimum.policies import preemption_of
from slurm_sim_studies.optimum.problem import MIRA, mira_checkpoint
from slurm_sim_studies.papers import optimum as paper
from slurm_sim_studies.report.optimum import gantt
from slurm_sim_studies.report.optimumpaper import markdown, timing_rows

from emulator.cli import slurm_sim
from emulator.config.preemption import Preemption
from emulator.workload.workload import Workload
from slurm_sim_plugins import ConfigurationError, InputError

M1 = """\
[machine]
midplanes = 1

[[job]]
id = 1
submit = 0
run = 1000
size = 512
checkpoint = "mira"

[[job]]
id = 2
submit = 500
run = 1000
size = 512
realtime = true
"""

FEW = """\
bound = 1.1

[machine]
processors = 4

[[job]]
id = 1
submit = 0
run = 1000
size = 4
checkpoint = 60

[[job]]
id = 2
submit = 300
run = 100
size = 2
realtime = true

[[job]]
id = 3
submit = 310
run = 200
size = 2
limit = 400
"""
"""Job 1 stops when job 3 comes; the other waits 10 s for that."""

TRACE = """\
; MaxProcs: 4
1 0 -1 10 2 -1 -1 -1 10 -1 1 1 1 -1 1 -1 -1 -1
2 0 -1 10 2 -1 -1 -1 10 -1 1 2 1 -1 1 -1 -1 -1
3 5 -1 10 4 -1 -1 -1 20 -1 1 1 1 -1 1 -1 -1 -1
4 6 -1 5 1 -1 -1 -1 5 -1 1 2 1 -1 1 -1 -1 -1
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    Path("m1.toml").write_text(M1)
    Path("few.toml").write_text(FEW)
    Path("trace.swf").write_text(TRACE)


def run(*words: object) -> Result:
    return CliRunner().invoke(slurm_sim, list(map(str, words)))


def shown(*words: object) -> Any:
    pytest.importorskip("ortools")
    done = run("optimum", *words, "--json")
    assert done.exit_code == 0, done.exception
    return json.loads(done.stdout)


def refused(kind: type[Exception], *words: object) -> str:
    done = run("optimum", *words)
    assert isinstance(done.exception, kind), done.output
    return str(done.exception)


# What is printed


def test_m1_on_its_midplane() -> None:
    found = shown("m1.toml")
    assert (found["status"], found["gap"]) == ("optimal", 0)
    assert (found["batch_mean_slowdown"], found["realtime_mean_slowdown"]) == (2.5, 1)
    assert found["jobs"][0]["parts"] == [[1500, 2500]]
    assert not found["policies"]
    assert Path("slurm-sim-optimum.png").read_bytes().startswith(b"\x89PNG")


def test_policies_stand_beside_the_best_schedule_of_processors() -> None:
    found = shown("few.toml", "--policy", "sched/fcfs", "--policy", "other=sched/easy")
    assert found["jobs"][0]["parts"] == [[0, 310], [510, 1320]]
    assert found["batch_mean_slowdown"] == pytest.approx((1.32 + 1) / 2)
    assert [(each["name"], each["keeps_bound"]) for each in found["policies"]] == [
        ("sched/fcfs", False),
        ("other", False),
    ]
    assert found["policies"][0]["above"] == pytest.approx((1 + 890 / 200) / (1.32 + 1) - 1)


def test_the_same_problem_gives_the_same_bytes() -> None:
    pytest.importorskip("ortools")
    assert run("optimum", "few.toml", "--json").stdout == run("optimum", "few.toml", "--json").stdout


def test_the_table_says_what_is_proven_and_what_is_excused() -> None:
    pytest.importorskip("ortools")
    text = run("optimum", "few.toml", "--picture", "few.svg").stdout
    assert "Proven: no schedule is better." in text
    assert "is at most 1.1." in text
    assert "A policy that does not keep the bound may be below" in text
    assert Path("few.svg").read_text().startswith("<?xml")


def test_what_is_not_proven_is_told_with_its_gap() -> None:
    pytest.importorskip("ortools")
    lines = "".join(f"{number} 0 -1 {100 + 7 * number} {1 + number % 4}{' -1' * 13}\n" for number in range(1, 21))
    Path("many.swf").write_text("; MaxProcs: 4\n" + lines)
    text = run("optimum", "many.swf", "--seconds", 1, "--policy", "sched/easy").stdout
    assert "Not proven: the time was not enough. No schedule is below" in text
    assert "best found" in text


def test_a_part_of_a_trace() -> None:
    found = shown("trace.swf", "--skip", 1, "--jobs", 3, "--realtime", 4, "--checkpoint", 1, "--bound", 1)
    assert [(job["id"], job["realtime"]) for job in found["jobs"]] == [(2, False), (3, False), (4, True)]
    assert found["status"] == "optimal"
    blocks = shown("trace.swf", "--midplanes", 2, "--checkpoint", "mira")
    assert blocks["problem"]["machine"] == {"nodes": 1024}


def test_what_a_trace_lost_is_told() -> None:
    found = shown("trace.swf", "--processors", 3)
    assert [job["id"] for job in found["jobs"]] == [1, 2, 4]
    assert [notice["count"] for notice in found["dropped"]] == [1]
    assert "1 of 4 records dropped" in run("optimum", "trace.swf", "--processors", 3).stdout


def test_highs_beside_cp_sat() -> None:
    found = shown("few.toml", "--solver", "highs")
    assert (found["solver"], found["status"]) == ("highs", "optimal")
    assert found["batch_mean_slowdown"] == pytest.approx(1.16)


def test_parts_and_checkpoints_are_drawn() -> None:
    pytest.importorskip("ortools")
    found = optimise(read_case(Path("few.toml")).problem)
    axes = gantt(found).axes[0]
    # Work and checkpoint of both parts of job 1, and two jobs in one part.
    assert len(axes.collections) == 6
    assert [text.get_text() for text in axes.texts] == ["1", "2", "3", "1"]
    assert len(gantt(optimise(contended(1))).axes[0].collections) >= 7


WCJS = "sched/realtime,preempt/realtime,select/blocks"


def test_a_policy_that_knows_blocks_stands_beside_their_best_schedule() -> None:
    found = shown("m1.toml", "--policy", f"WCJS={WCJS}")
    (policy,) = found["policies"]
    # Job 2 is late at 600 and runs from 1112, when job 1 is written; job 1 reads for 512 s and works for 400.
    assert policy["realtime_mean_slowdown"] == 1.612
    assert policy["batch_mean_slowdown"] == 3.024
    assert (policy["name"], policy["keeps_bound"], policy["above"]) == ("WCJS", False, pytest.approx(0.2096))


def test_policies_are_told_of_the_real_time_jobs_of_a_trace() -> None:
    # Job 3 is late at 7, job 4 at 6.5; who is in the way is killed.
    for number, mean in ((3, 1.2), (4, 1.1)):
        found = shown("trace.swf", "--midplanes", 1, "--policy", WCJS, "--realtime", number)
        assert found["policies"][0]["realtime_mean_slowdown"] == pytest.approx(mean)
    case = read_case(Path("few.toml"))
    assert marked(workload_of(case), case.problem).facts["realtime"].tolist() == [0, 1, 0]


def test_what_preempting_costs_a_policy_is_what_it_costs_the_schedule() -> None:
    assert preemption_of(read_case(Path("m1.toml")).problem) == MIRA
    few = read_case(Path("few.toml")).problem
    assert preemption_of(few) == Preemption()
    alike = replace(few, jobs=tuple(replace(job, checkpoint=60) for job in few.jobs))
    costs = preemption_of(alike)
    assert (costs.mode, costs.checkpoint, costs.cost, costs.restart_cost) == ("CHECKPOINT", "jit", 60, 60)
    unlike = replace(few, jobs=tuple(replace(job, checkpoint=job.id) for job in few.jobs))
    assert preemption_of(unlike) == Preemption()


# What is refused before a solver starts


@pytest.fixture
def no_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a solver was asked")

    monkeypatch.setattr("slurm_sim_studies.optimum.optimise.solve", refuse)
    monkeypatch.setattr("slurm_sim_studies.optimum.milp._Program", refuse)


CHANGES = {
    "bound = 1.1": [
        ("bound = 0.9", ConfigurationError, r"bound of the real-time jobs' mean slowdown is 0.9, which no schedule"),
        ("bound = nan", ConfigurationError, r"few.toml: bound takes a finite number, not nan"),
        ("bound = true", ConfigurationError, r"few.toml: bound takes a number, not True"),
        ("bond = 1.1", ConfigurationError, r"there is no key bond \(did you mean 'bound'\?\)"),
        ("least_part = 0.7", ConfigurationError, r"least part of a preempted job is 0.7"),
        ("bound = ", InputError, r"few.toml: is not TOML"),
    ],
    "processors = 4": [
        ("processors = 3", InputError, r"few: job 1 takes 4, the machine has 3; leave it out or take a larger"),
        ("processors = 0", ConfigurationError, r"a machine of 0 processors"),
        ("midplanes = 1\nprocessors = 4", ConfigurationError, r"either processors or midplanes"),
        ("processors = 4\nnodes_per_midplane = 2", ConfigurationError, r"nodes_per_midplane"),
        ("", ConfigurationError, r"either processors or midplanes"),
    ],
    "run = 1000": [
        ("run = 0", InputError, r"few: job 1 runs 0 s, and has no slowdown then; leave it out"),
        ("run = 10.5", InputError, r"job 1: run takes a whole number, not 10.5"),
        ("", InputError, r"job 1: run is missing; a job needs id, submit, run, size"),
    ],
    "checkpoint = 60": [
        ("checkpoint = -1", InputError, r"job 1 has a checkpoint of -1 s"),
        ('checkpoint = "mire"', InputError, r"checkpoint takes a whole number, not 'mire'"),
        ("limit = 999", InputError, r"limit of 999 s is below its run time of 1000 s"),
        ("realtime = 1", InputError, r"realtime takes true or false"),
        ("realtime = true\n[[job]]\nid = 2\nsubmit = 0\nrun = 1\nsize = 1", InputError, r"two jobs have the id 2"),
    ],
}


@pytest.mark.parametrize(
    ("line", "instead", "kind", "message"),
    [(line, *change) for line, changes in CHANGES.items() for change in changes],
)
@pytest.mark.usefixtures("no_solver")
def test_a_problem_that_cannot_be_is_refused(line: str, instead: str, kind: type[Exception], message: str) -> None:
    assert FEW.count(line + "\n")
    Path("few.toml").write_text(FEW.replace(line + "\n", instead + "\n", 1))
    with pytest.raises(kind, match=message):
        read_case(Path("few.toml"))
    refused(kind, "few.toml")


@pytest.mark.parametrize(
    ("words", "kind", "message"),
    [
        (["few.toml", "--bound", "0.5"], ConfigurationError, "0.5, which no schedule can keep"),
        (["few.toml", "--bound", "nan"], ConfigurationError, "--bound takes a finite number, not nan"),
        (["few.toml", "--loosest", "0.5"], ConfigurationError, "relaxed up to 0.5, which no schedule can keep"),
        (["few.toml", "--picture", "few.pdf"], ConfigurationError, "ends in .png or .svg"),
        (["few.toml", "--skip", "1"], ConfigurationError, "--skip is for traces"),
        (["few.toml", "--processors", "8"], ConfigurationError, "--processors is for traces"),
        (["m1.toml", "--policy", "sched/easy"], ConfigurationError, "--policy sched/easy counts processors"),
        (["trace.swf", "--midplanes", "96", "--policy", WCJS], ConfigurationError, "select/blocks has other blocks"),
        (["missing.toml"], InputError, "missing.toml: cannot be read"),
        (["trace.swf", "--skip", "9"], ConfigurationError, "has 4 jobs; leaving out 9"),
        (["trace.swf", "--realtime", "9"], ConfigurationError, "real-time job 9 is not among the jobs"),
        (["trace.swf", "--realtime", "1,2,3,4"], InputError, "no batch job"),
        (["trace.swf", "--checkpoint", "soon"], ConfigurationError, "give whole seconds, mira or never"),
        (["trace.swf", "--midplanes", "2", "--processors", "4"], ConfigurationError, "both say what the machine is"),
    ],
)
@pytest.mark.usefixtures("no_solver")
def test_options_that_do_not_fit_are_refused(words: list[str], kind: type[Exception], message: str) -> None:
    pytest.importorskip("ortools")
    assert message in refused(kind, *words)


def test_real_time_jobs_are_a_list_of_numbers() -> None:
    done = CliRunner().invoke(slurm_sim, ["optimum", "trace.swf", "--realtime", "1;2"])
    assert done.exit_code == 2
    assert "--realtime 1;2: write it as 3,5" in done.output


@pytest.mark.usefixtures("no_solver")
def test_a_bound_beyond_reach_is_refused_with_the_one_that_can_be_kept() -> None:
    pytest.importorskip("ortools")
    jobs = "".join(
        f"[[job]]\nid = {number}\nsubmit = 0\nrun = 100\nsize = 1\nrealtime = {str(number > 1).lower()}\n"
        for number in range(1, 5)
    )
    Path("tight.toml").write_text("[machine]\nprocessors = 1\n" + jobs)
    message = refused(ConfigurationError, "tight.toml", "--loosest", "1.5")
    assert "below 1.2, nor 1.5, to which it may be relaxed" in message
    assert "the least is 2.0000; give a bound of 2" in message


@pytest.mark.usefixtures("no_solver")
def test_too_many_jobs_are_refused_before_policies_are_simulated(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ortools")
    monkeypatch.setattr("slurm_sim_studies.commands.optimum.simulate_each", None)
    lines = "".join(f"{number} 0 -1 10 1{' -1' * 13}\n" for number in range(1, 42))
    Path("many.swf").write_text("; MaxProcs: 4\n" + lines)
    assert "41 jobs are too many to look for an optimum: the limit is 40" in refused(InputError, "many.swf")
    assert "the limit is 8" in refused(InputError, "many.swf", "--solver", "highs")


def test_a_workload_of_fractions_of_seconds_is_refused() -> None:
    columns = {"id": [1], "submit": [0.5], "run": [10.0], "time_limit": [10.0], "processors": [1]}
    with pytest.raises(InputError, match=r"job 1 is submitted at 0\.5 s.*round it"):
        case_of(Workload.from_columns(columns, name="fine"), 4)


def test_a_workload_keeps_what_the_problem_says() -> None:
    case = read_case(Path("few.toml"))
    again = case_of(workload_of(case), 4, bound=case.problem.bound, checkpoint=60)
    assert [(job.id, job.submit, job.run, job.size, job.realtime) for job in again.problem.jobs] == [
        (job.id, job.submit, job.run, job.size, job.realtime) for job in case.problem.jobs
    ]
    assert dict(again.limits) == {1: 1000, 2: 100, 3: 400}
    assert part_of(workload_of(case), 1, None).id.tolist() == [2, 3]
    assert read_case(Path("m1.toml")).problem.jobs[0].checkpoint == mira_checkpoint(512) == 512


# Without the extra

INSTALL = "pip install 'slurm-sim-plugins[optimum]'"
BLOCKED = """
import sys

class Refusing:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "ortools":
            raise ImportError(f"no {name} here")

sys.meta_path.insert(0, Refusing())
from click.testing import CliRunner
from emulator.cli import slurm_sim
from emulator.config.preemption import Preemption
for words in sys.stdin:
    done = CliRunner().invoke(slurm_sim, words.split())
    print(done.exit_code, type(done.exception).__name__, done.exception)
"""


def test_without_the_extra_the_commands_say_what_to_install_and_others_work() -> None:
    refused = ("optimum few.toml", "reproduce optimum")
    working = ("optimum few.toml --solver highs", "optimum --help", "run trace.swf --json", "compare trace.swf")
    done = subprocess.run(
        [sys.executable, "-c", BLOCKED],
        input="\n".join((*refused, *working)),
        capture_output=True,
        text=True,
        check=True,
    )
    lines = done.stdout.splitlines()
    assert all("ConfigurationError" in line and INSTALL in line for line in lines[:2])
    assert lines[2:] == ["0 NoneType None"] * 4


# The paper's tables


def test_table_2_tells_what_is_not_proven() -> None:
    timing = paper.Timing(4, 3, 16, 42720.0, (1.0, float("inf"), 3.0), (0.9, 30.0, 2.5), 1)
    assert (timing.logs, timing.proven, timing.middle) == (3, 2, 3.0)
    assert timing_rows([timing]) == [
        ("4 + 3", "16", "11:52:00", "3.0 s", "not proven", "2.5 s", "30.0 s", "2 of 3", "1 of 3")
    ]


def test_both_tables_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ortools")
    monkeypatch.setattr(paper, "DRAWS", 1)
    printed = {**paper.values(), "table2": {"rows": [[2, 2, 4, 3]]}}
    monkeypatch.setattr(paper, "values", lambda: printed)
    done = run("reproduce", "optimum", "--logs", 1, "--out", "tables", "--json")
    assert done.exit_code == 0, done.exception
    found = json.loads(done.stdout)
    assert [row["name"] for row in found["table3"]][:2] == ["optimum on blocks", "WCJS on blocks"]
    blocks, heuristic, processors, *policies = found["table3"]
    assert heuristic["printed"] == [2.54, 1.5]
    assert heuristic["batch"] >= blocks["batch"] - 1e-9
    assert (blocks["proven"], processors["proven"], found["table2"][0]["printed"]) == (1, 1, 3)
    # A schedule on blocks is one on processors; and a policy may be better only by breaking the bound.
    assert processors["batch"] <= blocks["batch"] + 1e-9
    assert all(policy["batch"] >= processors["batch"] - 1e-9 for policy in policies if policy["kept"] == 1)
    assert json.loads(Path("tables/tables.json").read_text()) == found
    assert "## Table 3: 1 random logs" in Path("tables/tables.md").read_text()
    assert markdown([], [], 0).count("##") == 0


def test_only_tables_2_and_3_can_be_asked_for() -> None:
    done = run("reproduce", "optimum", "--tables", "4")
    assert "of the optimum there are tables 2 and 3" in str(done.exception)
