"""slurm_job_modify of a job_submit.lua, and the tables slurm.jobs and slurm.reservations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from emulator import Result, simulate
from emulator.config.slurm import read_slurm_conf
from emulator.operator.commands import TimedCommand
from emulator.operator.job_submit import Script
from emulator.operator.update import update_of
from emulator.scheduling.submission_of import submission_of
from emulator.workload.request import JobRequest
from emulator.workload.sbatch import parse_sbatch
from slurm_sim_plugins import JobUpdate, PluginError
from slurm_sim_plugins.job_submit.job_rec import recorded
from slurm_sim_plugins.records import JobRecord

pytest.importorskip("lupa", reason="the extra lua is not installed")

CONF = """ClusterName=t
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
Licenses=common:4
JobSubmitPlugins=lua
NodeName=n[1-4] CPUs=4 RealMemory=4000
PartitionName=p Nodes=ALL Default=YES MaxTime=INFINITE
PartitionName=q Nodes=ALL MaxTime=600
"""
RECORDED = yaml.safe_load(Path(__file__).with_name("recorded_modify.yaml").read_text())
HELD = """local function held(of, names)
  local lines = {}
  for name in string.gmatch(names, "%S+") do lines[#lines + 1] = name .. "=" .. tostring(of[name]) end
  return table.concat(lines, ";")
end
"""


def script(folder: Path, modify: str, submit: str = "return 0", more: str = "") -> Path:
    (folder / "slurm.conf").write_text(CONF)
    file = folder / "job_submit.lua"
    file.write_text(
        f"{more}\nfunction slurm_job_submit(job_desc, parts, uid)\n{submit}\nend\n"
        f"function slurm_job_modify(job_desc, job_rec, parts, uid)\n{modify}\nend\n"
    )
    return file


def updated(
    folder: Path, modify: str, update: str, words: str = "-n1", more: str = "", version: str = "22.05"
) -> JobUpdate | str:
    stated = dict(word.split("=", 1) for word in update.split())
    asked = Script(script(folder, modify, more=more), read_slurm_conf(folder / "slurm.conf").under(version))
    fields = {key.lower(): value for key, value in stated.items()}
    return asked.updated(JobRequest(1, 0.0, 10.0, parse_sbatch(words.split()), "ann"), update_of(fields))


def shown(folder: Path, table: str, names: list[str], update: str, words: str) -> dict[str, str]:
    """What fields of a table hold: they are told through the only texts that come back."""
    told = updated(folder, f'job_desc.qos = held({table}, "{" ".join(names)}") return 0', update, words, HELD)
    assert isinstance(told, JobUpdate), told
    assert told.qos is not None
    return dict(field.split("=", 1) for field in told.qos.split(";"))


def run(folder: Path, words: list[str], commands: list[str], **more: Any) -> Result:
    requests = [
        JobRequest(number, 0.0, 100.0, parse_sbatch(each.split()), "ann") for number, each in enumerate(words, 1)
    ]
    actions = [(at, TimedCommand(at, text, "commands")) for at, text in enumerate(commands, 10)]
    return simulate(requests, read_slurm_conf(folder / "slurm.conf"), actions=actions, **more)


def limits(done: Result) -> list[float]:
    return list(done.jobs["time_limit"])


# What it sees ----------------------------------------------------------------------------


@pytest.mark.parametrize("case", RECORDED["updates"], ids=lambda case: case["update"] or "nothing")
def test_the_update_holds_what_it_held_in_slurm(tmp_path: Path, case: dict[str, Any]) -> None:
    wanted = {**RECORDED["updates"][0]["fields"], **case["fields"]}
    found = shown(
        tmp_path, "job_desc", list(wanted), case["update"], "-n1 -a1-3" if "Array" in case["update"] else "-n1"
    )
    assert {name: "" if value == "nil" else value for name, value in found.items()} == wanted


@pytest.mark.parametrize("case", RECORDED["jobs"], ids=lambda case: case["sbatch"])
def test_the_job_holds_what_it_held_in_slurm(tmp_path: Path, case: dict[str, Any]) -> None:
    wanted = case["fields"]
    found = shown(tmp_path, "job_rec", list(wanted), "Nice=1", case["sbatch"])
    assert {name: "" if value == "nil" else value for name, value in found.items()} == wanted


def test_a_running_job_shows_where_and_since_when(tmp_path: Path) -> None:
    names = "job_state nodes batch_host start_time end_time total_cpus total_nodes time_limit"
    script(
        tmp_path,
        f'slurm.log_info("%s", held(job_rec, "{names}")) job_desc.time_limit = job_rec.total_cpus return 0',
        more=HELD,
    )
    done = run(tmp_path, ["-N2 -n8 -t5"], ["scontrol update JobId=1 TimeLimit=9"], clock="ideal")
    assert limits(done) == [480.0]


# What it changes and refuses -------------------------------------------------------------


@pytest.mark.parametrize(
    ("write", "changes"),
    [
        ("time_limit = 7", {"time_limit": 420.0}),
        ("time_limit = slurm.NO_VAL", {"time_limit": None}),
        ("priority = 0", {"priority": 0}),
        ("priority = slurm.INFINITE", {"priority": float("inf")}),
        ("nice = slurm.NICE_OFFSET + 3", {"nice": 3}),
        ("partition = 'q,p'", {"partitions": ("q", "p")}),
        ("num_tasks = 6", {"tasks": 6}),
        ("min_mem_per_cpu = 70", {"memory_per_cpu": 70, "memory_per_node": None}),
        ("licenses = 'common:2'", {"licenses": ("common:2",)}),
        ("features = 'fast'", {"constraint": "fast"}),
        ("requeue = 0", {"requeue": False}),
        ("dependency = ''", {"dependency": ""}),
        ("begin_time = 60", {"begin": 60.0}),
        ("array_inx = '2'", {"array_limit": 2}),
        ("comment = 'any'", {}),
    ],
)
def test_what_it_writes_is_what_is_changed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, write: str, changes: dict[str, Any]
) -> None:
    left = updated(tmp_path, f"job_desc.{write} return slurm.SUCCESS", "TimeLimit=20")
    assert left == JobUpdate(time_limit=1200.0)._replace(**changes)
    assert "not emulated" not in caplog.text


def test_what_it_writes_in_vain_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    left = updated(tmp_path, "job_desc.shared = 0; job_rec.comment = 'x' return 0", "TimeLimit=20")
    assert left == JobUpdate(time_limit=1200.0)
    assert "writes job_desc.shared, which is not emulated" in caplog.text
    assert "job_submit.lua:6: what is written into job_rec.comment changes nothing" in caplog.text


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("return slurm.ERROR", "Unspecified error"),
        ("return 2051", "Requested time limit is invalid (missing or exceeds some limit)"),
        ("return '2051'", "Requested time limit is invalid (missing or exceeds some limit)"),
        ("return 99999", "Unknown error 99999"),
        ("slurm.log_user('words') return slurm.ERROR", "Unspecified error"),
    ],
)
def test_a_code_refuses_in_slurms_words(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, body: str, words: str
) -> None:
    assert updated(tmp_path, body, "TimeLimit=20") == words
    assert ("says to the user is lost, as in Slurm" in caplog.text) == ("log_user" in body)


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("return nil", "slurm_job_modify returned no number; Slurm takes the change"),
        ("return 'x'", "slurm_job_modify returned no number; Slurm takes the change"),
        ("return true", "slurm_job_modify returned no number; Slurm takes the change"),
        ("error('boom')", "job_submit.lua:6: boom; Slurm takes the change"),
        ("error('boom')", "left it by then; from 26.05 on it refuses it"),
        ("job_desc.time_limit = {}", "time_limit: number expected, got table; Slurm takes the change"),
        ("return job_rec.user_name and 1 or 0", "job_submit.lua:6: job_rec has no field 'user_name'"),
        ("return job_rec.tres_req_str and 1 or 0", "job_submit.lua:6: job_rec.tres_req_str is not emulated"),
    ],
)
def test_what_slurm_passes_over_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture, body: str, told: str) -> None:
    assert updated(tmp_path, body, "TimeLimit=20") == JobUpdate(time_limit=1200.0)
    assert told in caplog.text


# Versions --------------------------------------------------------------------------------


@pytest.mark.parametrize("version", ["24.11", "26.05"])
def test_what_it_says_of_a_change_is_shown_from_24_11_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, version: str
) -> None:
    body = "slurm.log_user('words %d', 1) slurm.log_user('two') return slurm.ERROR"
    assert updated(tmp_path, body, "TimeLimit=20", version=version) == "words 1\ntwo\nUnspecified error"
    assert "lost" not in caplog.text


def test_an_error_refuses_the_change_from_26_05_on(tmp_path: Path) -> None:
    body = "slurm.log_user('said') error('boom')"
    assert updated(tmp_path, body, "TimeLimit=20", version="24.11") == JobUpdate(time_limit=1200.0)
    refused = updated(tmp_path, body, "TimeLimit=20", version="26.05")
    assert refused == "job_submit.lua:6: boom\nLua function execution failed due to runtime error"


@pytest.mark.parametrize(
    ("version", "stated", "held"),
    [
        ("22.05", "NumNodes=2", "min_nodes=2;max_nodes=4294967294;group_id=4294967294"),
        ("24.11", "NumNodes=2", "min_nodes=2;max_nodes=2;group_id=99"),
        ("26.05", "NumNodes=1-3", "min_nodes=1;max_nodes=3;group_id=99"),
        ("26.05", "TimeLimit=9", "min_nodes=4294967294;max_nodes=4294967294;group_id=99"),
    ],
)
def test_nodes_and_group_of_a_change(tmp_path: Path, version: str, stated: str, held: str) -> None:
    body = 'job_desc.qos = held(job_desc, "min_nodes max_nodes group_id") return 0'
    told = updated(tmp_path, body, stated, more=HELD, version=version)
    assert isinstance(told, JobUpdate), told
    assert told.qos == held


# Where it is called ----------------------------------------------------------------------


def test_it_is_asked_of_updates_holds_and_releases_alone(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG", "slurm_sim_plugins.job_submit.lua")
    script(tmp_path, 'slurm.log_info("ASKED %d %.14g %d", job_rec.job_id, job_desc.priority, uid) return 0')
    commands = [
        "hold 2",
        "release 2",
        "update JobId=2 Priority=77",
        "update JobId=1,2 TimeLimit=9",
        "requeue 1",
        "top 2",
    ]
    run(
        tmp_path,
        ["-n16 -t5", "-n16 -t5"],
        [f"scontrol {each}" for each in [*commands, "update NodeName=n1 State=DRAIN"]],
    )
    said = [message.partition("ASKED ")[2] for message in caplog.messages if "ASKED" in message]
    assert said == ["2 0 0", "2 4294967295 0", "2 77 0", "1 4294967294 0", "2 4294967294 0"]


def test_tasks_that_have_not_run_are_asked_about_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG", "slurm_sim_plugins.job_submit.lua")
    names = "job_id array_job_id array_task_cnt array_task_id"
    script(tmp_path, f'slurm.log_info("ASKED %s", held(job_rec, "{names}")) return 0', more=HELD)
    done = run(tmp_path, ["-n16 -t5", "-n16 -t5 -a1-3"], ["scontrol update JobId=2 TimeLimit=9", "scontrol hold 2_2"])
    said = [message.partition("ASKED ")[2] for message in caplog.messages if "ASKED" in message]
    assert said[0] == "job_id=2;array_job_id=2;array_task_cnt=3;array_task_id=4294967294"
    assert said[1].endswith("array_job_id=2;array_task_cnt=nil;array_task_id=2")
    assert len(said) == 2
    assert sorted(limits(done)) == [300.0, 540.0, 540.0, 540.0]


def test_a_refusal_is_that_of_scontrol_and_nothing_changes(tmp_path: Path) -> None:
    script(tmp_path, "return slurm.ERROR")
    commands = ["scontrol update JobId=1 TimeLimit=9", "scontrol hold 2", "scontrol update JobId=3 Nice=5"]
    done = run(tmp_path, ["-n16 -t5", "-n16 -t5", "-n16 -t5 -a1-3"], commands)
    assert set(limits(done)) == {300.0}
    assert set(done.jobs["state"]) == {"COMPLETED"}
    refused = list(done.about["refused"].values())
    assert [words.removeprefix("commands: ") for words in refused] == [
        "Unspecified error for job 1",
        "Unspecified error for job 2",
        "3_1-3: Unspecified error",
    ]


def test_a_change_of_a_hold_goes_on_as_it_is_written(tmp_path: Path) -> None:
    script(
        tmp_path, "if job_desc.priority == 0 then job_desc.priority = slurm.NO_VAL job_desc.time_limit = 3 end return 0"
    )
    done = run(tmp_path, ["-n16 -t5", "-n16 -t5"], ["scontrol hold 2"])
    assert limits(done) == [300.0, 180.0]
    assert set(done.jobs["state"]) == {"COMPLETED"}


def test_a_script_that_does_not_end_is_blamed(tmp_path: Path) -> None:
    script(tmp_path, "while true do end")
    with pytest.raises(PluginError, match="more than 5000000 instructions") as caught:
        run(tmp_path, ["-n1 -t5"], ["scontrol update JobId=1 Nice=1"])
    assert (caught.value.plugin, caught.value.hook, caught.value.job) == ("job_submit/lua", "job_modify", 1)


# slurm.jobs and slurm.reservations -------------------------------------------------------


def test_jobs_and_reservations_are_there_by_id_and_name(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG", "slurm_sim_plugins.job_submit.lua")
    body = """local ids = {}
    for id, job in pairs(slurm.jobs) do ids[#ids + 1] = id .. ":" .. job.job_state .. ":" .. tostring(job.nodes) end
    table.sort(ids)
    slurm.log_info("ASKED %s", table.concat(ids, " "))
    for name, one in pairs(slurm.reservations) do
      slurm.log_info("ASKED %s %s", name, held(one, "duration end_time flags flags_set_node full_nodes node_cnt "
        .. "node_list partition start_time users accounts"))
    end
    slurm.log_info("ASKED %s %s %s", tostring(slurm.jobs[2]), tostring(slurm.jobs["77"]), type(slurm.jobs["2"]))
    return 0"""
    script(tmp_path, body, more=HELD)
    create = "scontrol create reservation ReservationName=school Nodes=n[1-2] StartTime=now+1000 Duration=60"
    commands = [f"{create} Users=root,ann Flags=MAINT", "scontrol update JobId=2 Nice=1"]
    run(tmp_path, ["-N2 -n8 -t5", "-n16 -t5", "-n16 -t5 -a1-3"], commands, clock="ideal")
    assert [message.partition("ASKED ")[2] for message in caplog.messages if "ASKED" in message] == [
        "1:1:n1,n2 2:0:nil 3:0:nil",
        "school duration=60;end_time=4610;flags=1;flags_set_node=false;full_nodes=true;node_cnt=2;node_list=n1,n2;"
        "partition=nil;start_time=1010;users=root,ann;accounts=nil",
        "nil nil table",
    ]


def test_tables_are_of_the_moment_and_nothing_is_made_that_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = """local n = 0
    for id in pairs(slurm.jobs) do n = n + 1 end
    if n > 1 then return slurm.ERROR end
    return 0"""
    script(tmp_path, "return 0", submit=body)
    done = run(tmp_path, ["-n1 -t5"] * 4, [])
    assert list(done.jobs["state"]) == ["COMPLETED", "COMPLETED", "REJECTED", "REJECTED"]
    from emulator.scheduling.records import Records

    monkeypatch.setattr(Records, "jobs", None)
    monkeypatch.setattr(Records, "reservations", None)
    script(tmp_path, "return 0")
    assert set(run(tmp_path, ["-n1 -t5"] * 2, []).jobs["state"]) == {"COMPLETED"}


@pytest.mark.parametrize(
    "reach",
    [
        "slurm.jobs['1'].__class__",
        "job_rec.__class__",
        "getmetatable(slurm.jobs['1']).__index",
        "getmetatable(job_rec).__index",
        "setmetatable(job_rec, {})",
        "rawget(job_rec, 'name').x",
        "slurm.jobs.keys.x",
    ],
)
def test_records_lead_nowhere(tmp_path: Path, reach: str) -> None:
    left = updated(tmp_path, f"local got = {reach} if got then job_desc.qos = 'reached' end return 0", "TimeLimit=20")
    assert left == JobUpdate(time_limit=1200.0)


def test_a_component_of_a_heterogeneous_job_says_so():
    asked = submission_of(JobRequest(8, 0.0, 10.0, parse_sbatch(["-n1"]), "ann"))
    found = recorded(JobRecord(asked, het_job_id=7, het_job_offset=1, het_job_id_set=(7, 8)), 0)
    assert (found["het_job_id"], found["het_job_offset"], found["het_job_id_set"]) == (7, 1, "7-8")
    assert recorded(JobRecord(asked), 0)["het_job_id"] == 0
