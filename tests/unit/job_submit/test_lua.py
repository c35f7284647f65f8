"""job_submit/lua: a site's own script, what it sees, what it may do, and the warnings about it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator import Result, simulate
from emulator.config.slurm import parse_slurm_conf, read_slurm_conf
from emulator.operator.job_submit import Script, fields_of
from emulator.workload.request import JobRequest
from emulator.workload.sbatch import parse_sbatch
from slurm_sim_plugins import ConfigurationError, PluginError, Submission

pytest.importorskip("lupa", reason="the extra lua is not installed")
from slurm_sim_plugins.job_submit.job_desc import NUMBERS, TEXTS, changed
from slurm_sim_plugins.job_submit.lua import Lua

CONF = """ClusterName=t
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
GresTypes=gpu
Licenses=matlab:4
JobSubmitPlugins=lua
NodeName=n[1-4] CPUs=4 RealMemory=4000 Gres=gpu:2
PartitionName=short Nodes=n[1-2] Default=YES MaxTime=60 PriorityTier=3
PartitionName=long Nodes=n[3-4] MaxTime=INFINITE
"""
MODIFY = "function slurm_job_modify() return slurm.SUCCESS end\n"
RECORDED = yaml.safe_load(Path(__file__).with_name("recorded_fields.yaml").read_text())
NOT_KNOWN = {"comment", "wckey", "cpus_per_tres", "mem_per_tres"}
"""Of a submission these are not known here; a script finds nil."""


def script(folder: Path, body: str, more: str = "", modify: bool = True) -> Path:
    (folder / "slurm.conf").write_text(CONF)
    file = folder / "job_submit.lua"
    file.write_text(f"{more}\nfunction slurm_job_submit(job_desc, parts, uid)\n{body}\nend\n{MODIFY if modify else ''}")
    return file


def request(words: str = "", user: str = "ann", number: int = 1) -> JobRequest:
    return JobRequest(number, 0.0, 10.0, parse_sbatch(words.split()), user)


def judged(
    folder: Path, body: str, words: str = "", more: str = "", user: str = "ann", version: str = "22.05"
) -> Submission | str:
    file = script(folder, body, more)
    return Script(file, read_slurm_conf(folder / "slurm.conf").under(version)).judged(request(words, user))


def taken(*given: Any, **more: Any) -> Submission:
    found = judged(*given, **more)
    assert isinstance(found, Submission), found
    return found


def run(folder: Path, words: list[str], **more: Any) -> Result:
    requests = [request(each, number=number) for number, each in enumerate(words, 1)]
    return simulate(requests, read_slurm_conf(folder / "slurm.conf"), **more)


# Versions --------------------------------------------------------------------------------


@pytest.mark.parametrize("version", ["22.05", "24.11"])
def test_an_error_takes_the_job_before_26_05(tmp_path: Path, version: str) -> None:
    assert taken(tmp_path, "job_desc.qos = 'kept' error('boom')", version=version).qos == "kept"


def test_an_error_refuses_the_job_from_26_05_on(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    body = "job_desc.qos = 'kept' slurm.log_user('said') error('boom')"
    refused = judged(tmp_path, body, version="26.05")
    assert refused == "job_submit.lua:3: boom\nLua function execution failed due to runtime error"
    assert "Slurm takes the job" not in caplog.text
    assert taken(tmp_path, "job_desc.qos = 'kept' return 'x'", version="26.05").qos == "kept"


@pytest.mark.parametrize(("version", "held"), [("22.05", "nil"), ("24.11", "cpu=2"), ("26.05", "cpu=2")])
def test_cpus_of_a_task_are_a_tres_of_it_from_24_11_on(tmp_path: Path, version: str, held: str) -> None:
    body = "job_desc.qos = tostring(job_desc.tres_per_task)"
    assert taken(tmp_path, body, "-n2 -c2", version=version).qos == held
    assert taken(tmp_path, body, "-n2", version=version).qos == "nil"


# What it sees ----------------------------------------------------------------------------


def test_each_field_holds_what_it_held_in_slurm(tmp_path: Path) -> None:
    names = sorted({*NUMBERS, *TEXTS} - NOT_KNOWN - {"script"})
    listed = ", ".join(f'"{name}"' for name in names)
    body = """local held = {}
    for _, name in ipairs(names) do
      if job_desc[name] ~= nil then held[#held + 1] = name .. "=" .. tostring(job_desc[name]) end
    end
    slurm.log_user(table.concat(held, "\\n"))
    return slurm.ERROR"""
    asked = Script(script(tmp_path, body, f"names = {{{listed}}}"), parse_slurm_conf(CONF))
    all_fields = RECORDED[0]["fields"]
    for case in RECORDED:
        found = asked.judged(request(case["sbatch"]))
        assert isinstance(found, str)
        held = dict(line.split("=", 1) for line in found.splitlines()[:-1])
        for name, value in {**all_fields, **case["fields"]}.items():
            if name not in NOT_KNOWN:
                assert held.get(name, "") == value, (case["sbatch"], name)


@pytest.mark.parametrize(
    ("words", "written", "held"),
    [
        ("--mem=2G", "min_mem_per_cpu = 500", "nil 500 9.2233720368548e+18"),
        ("--mem-per-cpu=500", "min_mem_per_node = 4096", "4096 nil 4096"),
        ("--mem-per-cpu=500", "pn_min_memory = 1024", "1024 nil 1024"),
        ("--mem=2G", "pn_min_memory = slurm.NO_VAL64", "nil nil 1.844674407371e+19"),
        ("--mem=2G", "name = 'x'", "2048 nil 2048"),
    ],
)
def test_what_is_written_of_memory_is_in_all_its_fields(tmp_path: Path, words: str, written: str, held: str) -> None:
    body = f"""job_desc.{written}
    slurm.log_user(tostring(job_desc.min_mem_per_node) .. " " .. tostring(job_desc.min_mem_per_cpu) .. " "
        .. tostring(job_desc.pn_min_memory))
    return slurm.ERROR"""
    found = judged(tmp_path, body, words)
    assert isinstance(found, str)
    assert found.splitlines()[0] == held


def test_it_sees_the_partitions_and_the_user(tmp_path: Path) -> None:
    body = """for name, part in pairs(parts) do
      if part.flag_default == 0 and part.max_time == slurm.INFINITE and part.priority_tier == 1 then
        job_desc.partition = name .. "," .. part.name
      end
    end
    job_desc.account = job_desc.user_name .. uid
    return slurm.SUCCESS"""
    found = taken(tmp_path, body)
    assert (found.partitions, found.account) == (("long", "long"), "ann1000")
    assert taken(tmp_path, body, user="root").account == "root0"


def test_it_sees_what_it_wrote_itself(tmp_path: Path) -> None:
    body = "job_desc.qos = 'a'; job_desc.qos = job_desc.qos .. 'b'; return 0"
    assert taken(tmp_path, body).qos == "ab"


# What it changes and refuses -------------------------------------------------------------

WRITES = [
    ("time_limit = 7", {"time_limit": 420.0}),
    ("time_limit = '7'", {"time_limit": 420.0}),
    ("time_limit = 7.6", {"time_limit": 420.0}),
    ("time_limit = slurm.INFINITE", {"time_limit": float("inf")}),
    ("time_limit = slurm.NO_VAL", {"time_limit": None}),
    ("partition = 'long,short'", {"partitions": ("long", "short")}),
    ("nice = slurm.NICE_OFFSET + 33", {"nice": 33}),
    ("min_mem_per_cpu = 300", {"memory_per_cpu": 300, "memory_per_node": None}),
    ("pn_min_memory = 700", {"memory_per_node": 700, "memory_per_cpu": None}),
    ("shared = 0", {"exclusive": True}),
    ("shared = slurm.JOB_SHARED_USER", {"exclusive": True, "exclusive_to": "user"}),
    ("priority = 0", {"held": True}),
    ("requeue = 0", {"requeue": False}),
    ("licenses = 'matlab:2'", {"licenses": ("matlab:2",)}),
    ("tres_per_node = 'gres:gpu:1'", {"gres": ("gpu:1",)}),
    ("features = 'fast'", {"constraint": "fast"}),
    ("min_cpus = 6", {"tasks": 6}),
    ("num_tasks = 6", {"tasks": 6}),
    ("comment = 'any'", {}),
]


@pytest.mark.parametrize(("write", "changes"), WRITES)
def test_what_it_writes_is_what_the_job_asks_for(tmp_path: Path, write: str, changes: dict[str, Any]) -> None:
    before = taken(tmp_path, "return 0", "-n 2 -t 30 --mem=100")
    after = taken(tmp_path, f"job_desc.{write} return slurm.SUCCESS", "-n 2 -t 30 --mem=100")
    assert after == before._replace(**changes)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("return 2051", "Requested time limit is invalid (missing or exceeds some limit)"),
        ("return slurm.ESLURM_INVALID_LICENSES", "Invalid license specification"),
        ("return 99999", "Unknown error 99999"),
        ("slurm.log_user('first %d', 3) slurm.user_msg('two') return slurm.ERROR", "first 3\ntwo\nUnspecified error"),
    ],
)
def test_a_code_refuses_with_slurms_words(tmp_path: Path, body: str, words: str) -> None:
    assert judged(tmp_path, body) == words


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("return nil", "returned no number"),
        ("return 'yes'", "returned no number"),
        ("job_desc.qos = 'kept' error('boom')", "job_submit.lua:3: boom; Slurm takes the job"),
        ("job_desc.qos = 'kept' job_desc.account = nil return 2051", "account: string expected, got nil"),
        ("job_desc.qos = 'kept' job_desc.time_limit = {} return 2051", "time_limit: number expected, got table"),
        ("job_desc.qos = 'kept' job_desc.contiguous = true return 2051", "contiguous: number expected, got boolean"),
        ("job_desc.nosuch = 5 return 0", "job_submit.lua:3: job_desc has no field 'nosuch'"),
        ("return job_desc.nosuch == nil and 0 or 1", "job_submit.lua:3: job_desc has no field 'nosuch'"),
        ("job_desc.delay_boot = 5 return 0", "job_desc.delay_boot, which is not emulated"),
    ],
)
def test_what_slurm_passes_over_is_told_and_the_job_taken(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, body: str, told: str
) -> None:
    found = taken(tmp_path, body)
    assert found.qos == ("kept" if "kept" in body else "")
    assert told in caplog.text


def test_durations_are_read_as_slurm_reads_them(tmp_path: Path) -> None:
    texts = ["5", "5:30", "1:00:00", "1-0", "1-2:30", "2-1:0:30", "x", "UNLIMITED", "0", ""]
    plugin = Lua(str(script(tmp_path, "return 0")))
    assert [plugin.minutes(text) for text in texts] == [5, 6, 60, 1440, 1590, 2941, -2, -1, 0, -2]


# Where it runs ---------------------------------------------------------------------------

CAPTURE = """if job_desc.time_limit == slurm.NO_VAL then
  slurm.log_user("say how long")
  return slurm.ESLURM_MISSING_TIME_LIMIT
end
if job_desc.time_limit > 60 then job_desc.partition = "long" end
return slurm.SUCCESS"""


def test_the_script_beside_the_file_is_run_on_both_clocks(tmp_path: Path) -> None:
    script(tmp_path, CAPTURE)
    for clock in ("slurm", "ideal"):
        done = run(tmp_path, ["-n1 -t5", "-n1 -t90", "-n1"], clock=clock)
        assert done.jobs["state"].tolist() == ["COMPLETED", "COMPLETED", "REJECTED"]
        assert done.jobs["partition"].tolist()[:2] == ["short", "long"]
        assert done.about["rejected"] == {"say how long\nTime limit specification required, but not provided": 1}


def test_a_file_without_a_script_goes_without_and_says_so(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "slurm.conf").write_text(CONF)
    done = run(tmp_path, ["-n1"])
    assert done.jobs["state"].tolist() == ["COMPLETED"]
    assert f"nothing is asked instead: {tmp_path / 'job_submit.lua'} is not there" in caplog.text


def test_a_module_beside_the_script_is_the_sites_too(tmp_path: Path) -> None:
    (tmp_path / "site.lua").write_text("local m = {}\nfunction m.long(t) return t > 60 end\nreturn m\n")
    body = "if site.long(job_desc.time_limit) then job_desc.partition = 'long' end return 0"
    more = "package.path = package.path .. ';/etc/slurm/?.lua'\nlocal site = require('site')"
    assert taken(tmp_path, body, "-t 90", more).partitions == ("long",)
    for name in ("../secret", "os", "posix"):
        with pytest.raises(ConfigurationError, match="require: there is no"):
            judged(tmp_path, "return 0", more=f"require('{name}')")


# What it cannot do -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "reach",
    [
        "io.open('/etc/passwd')",
        "io.popen('id')",
        "os.execute('id')",
        "os.remove('x')",
        "os.exit(1)",
        "loadstring('return 1')()",
        "load(function() return nil end)()",
        "dofile('/etc/passwd')",
        "string.dump(print)",
        "debug.getinfo(1)",
        "python.eval('1')",
        "getfenv(1).io.open('x')",
        "getmetatable('').__index.dump(print)",
        "newproxy(true)",
        "collectgarbage('stop')",
        "package.loadlib('x', 'y')",
        "slurm.jobs[1].x",
        "getmetatable(slurm).__index",
        "setmetatable(slurm, {})",
        "print.__globals__.x",
        "slurm.log_user.__globals__.x",
        "parts.short.__class__.x",
        "job_desc.__class__.x",
    ],
)
def test_there_is_no_way_out(tmp_path: Path, caplog: pytest.LogCaptureFixture, reach: str) -> None:
    found = taken(tmp_path, f"local got = {reach}; job_desc.qos = 'reached' return 0")
    assert found.qos == ""
    assert "Slurm takes the job" in caplog.text


@pytest.mark.parametrize("use", ["wrong.__class__", "wrong.args", "wrong.__traceback__", "wrong.x"])
@pytest.mark.parametrize(
    "caught",
    [
        "_, wrong = pcall(require, 'nope')",
        "_, wrong = pcall(slurm.log_user, '\\255')",
        "_, wrong = coroutine.resume(coroutine.create(require), 'nope')",
        "_, wrong = pcall(coroutine.wrap(require), 'nope')",
        "_, wrong = xpcall(function() require('nope') end, function(it) return it end)",
        "xpcall(function() require('nope') end, function(it) wrong = it end)",
    ],
)
def test_what_python_raises_leads_nowhere(tmp_path: Path, caught: str, use: str) -> None:
    body = f"local _, wrong; {caught} if type(wrong) ~= 'string' or {use} then job_desc.qos = 'reached' end return 0"
    assert taken(tmp_path, body).qos == ""


def test_what_python_has_shows_no_attribute(tmp_path: Path) -> None:
    plugin = Lua(str(script(tmp_path, "return 0")))
    look = plugin._runtime.eval("function(thing) return thing.__class__ end")
    for thing in (plugin, ValueError("x"), plugin.minutes):
        with pytest.raises(AttributeError, match="a script has no access to Python"):
            look(thing)


def test_a_module_behind_a_link_is_not_beside_the_script(tmp_path: Path) -> None:
    site, away = tmp_path / "site", tmp_path / "away"
    site.mkdir()
    away.mkdir()
    (away / "other.lua").write_text("return 1")
    (site / "other.lua").symlink_to(away / "other.lua")
    with pytest.raises(ConfigurationError, match="require: there is no other"):
        judged(site, "return 0", more="require('other')")


@pytest.mark.parametrize(
    "loop",
    [
        "while true do end",
        "while true do pcall(function() while true do end end) end",
        "while true do pcall(error) end",
        "local co = coroutine.wrap(function() while true do end end) co()",
        "local co = coroutine.create(function() while true do end end) coroutine.resume(co)",
        "local function f() return f() end f()",
    ],
)
def test_a_script_that_does_not_end_is_ended(tmp_path: Path, loop: str) -> None:
    script(tmp_path, f"do {loop} end return 0")
    with pytest.raises(PluginError, match="more than 5000000 instructions") as caught:
        run(tmp_path, ["-n1"])
    assert (caught.value.plugin, caught.value.hook, caught.value.job) == ("job_submit/lua", "job_submit", 1)


@pytest.mark.parametrize("grow", ["local s = 'x' while true do s = s .. s end", "local s = ('x'):rep(2^30)"])
def test_a_script_has_so_much_memory(tmp_path: Path, grow: str) -> None:
    script(tmp_path, f"{grow} return 0")
    with pytest.raises(PluginError, match="not enough memory: the script may have 64 MiB"):
        run(tmp_path, ["-n1"])


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("function slurm_job_submit(", "job_submit.lua:1: "),
        ("x = 1", "it has no function slurm_job_submit"),
        (
            "function slurm_job_submit() end",
            "it has no function slurm_job_modify, without which slurmctld does not start",
        ),
        ("local n = #slurm.jobs", "job_submit.lua:1: attempt to get length of field 'jobs'"),
        ("error('not today')", "job_submit.lua:1: not today"),
        ("\x1bLua", "this is bytecode of Lua"),
        ("while true do end", "more than 5000000 instructions"),
    ],
)
def test_a_script_that_cannot_be_loaded_is_refused_with_its_line(tmp_path: Path, text: str, told: str) -> None:
    file = script(tmp_path, "return 0")
    file.write_text(text)
    with pytest.raises(ConfigurationError, match=told):
        Script(file, read_slurm_conf(tmp_path / "slurm.conf"))


def test_random_numbers_and_the_time_are_those_of_the_simulation(tmp_path: Path) -> None:
    body = "job_desc.account = math.random(1000) .. '-' .. os.time() return 0"
    first, again = (taken(tmp_path, body).account for _ in range(2))
    assert first == again
    assert first.endswith("-0")


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=40).filter(lambda text: "\0" not in text), st.integers(1, 10**6), st.integers(-(10**6), 10**6))
def test_what_a_script_copies_comes_back_as_it_went(text: str, nodes: int, nice: int) -> None:
    before = Submission(1, 0.0, name=text, min_nodes=nodes, nice=nice)
    shown = fields_of(before)
    written = {name: shown[name] for name in ("name", "min_nodes", "nice") if name in shown}
    assert changed(Submission(1, 0.0), written) == before


def test_that_there_are_no_dates_is_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert taken(tmp_path, "job_desc.qos = os.date('*t') return 0").qos == ""
    assert "os.date is not to be had here: the clock is simulated, and os.time() counts its seconds" in caplog.text
