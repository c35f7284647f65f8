"""Lists of runs: order, processes, failures, and results that are kept."""

from __future__ import annotations

import importlib
import json
import os
import signal
import struct
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from emulator import Config
from emulator.accounting.records import Records
from emulator.campaign import Outcome, RunSpec, identity, run_all
from emulator.campaign.hashes import source_of
from emulator.metrics.summary import summarise
from emulator.workload.models import lublin99
from emulator.workload.swf import write_swf
from slurm_sim_plugins import InputError


def measure(records: Records) -> dict[str, float]:
    return {key: float(value) for key, value in summarise(records).items()}


def starts(records: Records) -> dict[str, float]:
    return {str(job): float(start) for job, start in zip(records.jobs["job_id"], records.jobs["start"], strict=True)}


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("traces") / "jobs.swf"
    write_swf(lublin99.generate(150, 64, 1, load=0.8), file)
    return file


def specs(trace: Path, **options: Any) -> list[RunSpec]:
    schedulers = ["sched/easy", "sched/fcfs", "sched/conservative", "sched/venture"]
    return [
        RunSpec(name, trace, Config(processors=64, slots={"SchedulerType": name}), options.get("measure", measure))
        for name in schedulers
    ]


@pytest.mark.slow
def test_outcomes_come_in_the_order_of_the_runs_whatever_the_number_of_processes(trace: Path) -> None:
    alone = run_all(specs(trace, measure=starts))
    assert [outcome.name for outcome in alone] == [spec.name for spec in specs(trace)]
    assert len({json.dumps(outcome.numbers) for outcome in alone[:3]}) == 3
    assert run_all(specs(trace, measure=starts), processes=2) == alone


def test_a_run_that_fails_does_not_keep_the_others(trace: Path) -> None:
    wrong = replace(specs(trace)[0], name="wrong", config=Config(processors=64, slots={"SchedulerType": "sched/no"}))
    outcomes = run_all([specs(trace)[1], wrong, specs(trace)[0]])
    assert [bool(outcome.error) for outcome in outcomes] == [False, True, False]
    assert "sched/no" in outcomes[1].error
    assert not outcomes[1].numbers


def test_what_was_made_is_kept_and_not_made_again(trace: Path, tmp_path: Path) -> None:
    told: list[Outcome] = []
    first = run_all(specs(trace, measure=starts)[:2], keep=tmp_path / "kept", report=told.append)
    assert [outcome.kept for outcome in told] == [False, False]
    again = run_all(specs(trace, measure=starts)[:3], keep=tmp_path / "kept")
    assert [outcome.kept for outcome in again] == [True, True, False]
    assert [outcome.numbers for outcome in again[:2]] == [outcome.numbers for outcome in first]


def test_a_damaged_result_is_made_again(trace: Path, tmp_path: Path) -> None:
    spec = specs(trace)[0]
    run_all([spec], keep=tmp_path)
    (file,) = tmp_path.rglob("_manifest.json")
    file.write_text('{"run": "')
    (outcome,) = run_all([spec], keep=tmp_path)
    assert not outcome.kept
    assert outcome.numbers["jobs"] == 150
    assert run_all([spec], keep=tmp_path)[0].kept


def test_any_option_is_another_run(trace: Path, tmp_path: Path) -> None:
    spec = specs(trace)[0]
    other_trace = tmp_path / "jobs.swf"
    other_trace.write_text(trace.read_text() + ";\n")
    others = [
        replace(spec, config=replace(spec.config, kill_at_limit=False)),
        replace(spec, config=replace(spec.config, seed=1)),
        replace(spec, reading={"filter": "papers"}),
        replace(spec, measure=starts),
        replace(spec, source=other_trace),
    ]
    assert len({identity(one) for one in [spec, *others]}) == len(others) + 1
    assert identity(replace(spec, name="other")) == identity(spec)


def test_a_measure_of_another_package_goes_by_all_of_its_source(
    trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "measuring_package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "numbers.py").write_text("FACTOR = 1\n")
    (package / "measures.py").write_text("def measure(records):\n    return {}\n")
    monkeypatch.syspath_prepend(tmp_path)
    spec = replace(specs(trace)[0], measure=importlib.import_module("measuring_package.measures").measure)
    before = identity(spec)
    assert identity(spec) == before
    (package / "numbers.py").write_text("FACTOR = 2\n")
    source_of.cache_clear()
    assert identity(spec) != before


def test_a_trace_that_is_not_there_is_named(tmp_path: Path) -> None:
    spec = RunSpec("run", tmp_path / "no.swf", Config(processors=8), measure)
    with pytest.raises(InputError, match=r"no\.swf: cannot be read"):
        run_all([spec])


def test_runs_that_are_alike_are_made_once(trace: Path) -> None:
    told: list[Outcome] = []
    one, other = specs(trace)[:2]
    outcomes = run_all([one, replace(one, name="twin"), other], report=told.append)
    assert [outcome.name for outcome in outcomes] == [one.name, "twin", other.name]
    assert outcomes[1].numbers == outcomes[0].numbers
    assert [outcome.name for outcome in told] == [one.name, other.name]


def failing(records: Records) -> dict[str, float]:
    raise ZeroDivisionError("nothing to divide by")


def dying(records: Records) -> dict[str, float]:
    os._exit(1)


@pytest.mark.slow
@pytest.mark.parametrize("processes", [1, 2])
def test_a_defect_in_one_run_is_not_the_others_affair(trace: Path, processes: int) -> None:
    one, other = specs(trace)[:2]
    outcomes = run_all([one, replace(other, measure=failing)], processes=processes)
    assert outcomes[0].numbers["jobs"] == 150
    assert outcomes[1].error == "ZeroDivisionError: nothing to divide by"


@pytest.mark.slow
def test_a_worker_that_dies_costs_only_its_own_run(trace: Path) -> None:
    given = specs(trace)[:3]
    given[1] = replace(given[1], measure=dying)
    outcomes = run_all(given, processes=2)
    assert [outcome.name for outcome in outcomes] == [spec.name for spec in given]
    assert "its process was ended from outside" in outcomes[1].error
    assert [outcome.numbers.get("jobs") for outcome in outcomes] == [150, None, 150]


def test_a_kept_result_that_was_altered_is_made_again_and_said(trace: Path, tmp_path: Path) -> None:
    spec = specs(trace, measure=starts)[0]
    (before,) = run_all([spec], keep=tmp_path)
    (file,) = tmp_path.rglob("numbers.parquet")
    data = file.read_bytes()
    file.write_bytes(data.replace(struct.pack("<d", before.numbers["2"]), struct.pack("<d", 9.0)))
    assert file.read_bytes() != data
    (outcome,) = run_all([spec], keep=tmp_path)
    assert not outcome.kept
    assert str(file) in outcome.note and "damaged" in outcome.note and "made again" in outcome.note
    assert file.read_bytes() == data
    assert not run_all([spec], keep=tmp_path)[0].note


SCRIPT = """
import sys
from pathlib import Path
from emulator import Config
from emulator.campaign import RunSpec, run_all

def mine(records):
    return {"jobs": float(len(records))}

if __name__ == "__main__":
    specs = [RunSpec(str(n), Path(sys.argv[1]), Config(processors=64, seed=n), mine) for n in range(2)]
    print([(outcome.error, outcome.numbers) for outcome in run_all(specs, processes=2)])
"""


@pytest.mark.slow
def test_a_script_may_measure_with_a_function_of_its_own(trace: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(SCRIPT)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    done = subprocess.run(
        [sys.executable, str(tmp_path / "mine.py"), str(trace)],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "[('', {'jobs': 150.0}), ('', {'jobs': 150.0})]\n"


LONG = """
import sys
from pathlib import Path
from emulator import Config
from emulator.campaign import RunSpec, run_all
from tests.unit.campaign.test_campaign import waiting

if __name__ == "__main__":
    specs = [RunSpec(str(n), Path(sys.argv[1]), Config(processors=64, seed=n), waiting) for n in range(8)]
    run_all(specs, processes=2)
"""


def waiting(records: Records) -> dict[str, float]:
    Path(os.environ["CAMPAIGN_SIGNS"], str(os.getpid())).touch()
    time.sleep(120)
    return {}


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_whoever_stops_a_campaign_stops_its_workers(trace: Path, tmp_path: Path, how: signal.Signals) -> None:
    signs, script = tmp_path / "signs", tmp_path / "long.py"
    signs.mkdir()
    script.write_text(LONG)
    environment = {**os.environ, "CAMPAIGN_SIGNS": str(signs), "PYTHONPATH": str(Path(__file__).parents[3])}
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        process = subprocess.Popen([sys.executable, str(script), str(trace)], env=environment, stderr=subprocess.PIPE)
    finally:
        signal.signal(signal.SIGINT, previous)
    try:
        until = time.monotonic() + 60
        while len(list(signs.iterdir())) < 2 and time.monotonic() < until:
            time.sleep(0.05)
        workers = [int(sign.name) for sign in signs.iterdir()]
        assert len(workers) == 2
        process.send_signal(how)
        process.communicate(timeout=60)
    finally:
        process.kill()
    until = time.monotonic() + 30
    while any(_runs(worker) for worker in workers) and time.monotonic() < until:
        time.sleep(0.05)
    assert not any(_runs(worker) for worker in workers)


def _runs(process: int) -> bool:
    stat = Path("/proc") / str(process) / "stat"
    return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z"


SLOW = """
import os
import time
from pathlib import Path

from slurm_sim_plugins import hookimpl


class Slow:
    "Takes its time."

    name = "priority/slow"

    @hookimpl
    def priority_set(self, view):
        Path(os.environ["CAMPAIGN_SIGNS"], str(os.getpid())).touch()
        time.sleep(120)
"""
SLOW_STUDY = """
[campaign]
repetitions = 4
[workloads.model]
model = "lublin99"
jobs = 20
processors = 64
[policies]
slow = ["sched/easy", "priority/slow"]
"""


@pytest.mark.slow
@pytest.mark.parametrize("processes", [1, 2])
def test_a_batch_system_that_ends_the_command_ends_its_workers(tmp_path: Path, processes: int) -> None:
    signs = tmp_path / "signs"
    signs.mkdir()
    (tmp_path / "slow.py").write_text(SLOW)
    (tmp_path / "study.toml").write_text(SLOW_STUDY)
    command = [str(Path(sys.executable).parent / "slurm-sim"), "campaign", "run", "study.toml", "--plugin", "slow.py"]
    environment = {**os.environ, "CAMPAIGN_SIGNS": str(signs)}
    process = subprocess.Popen(
        [*command, "--processes", str(processes)], cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True
    )
    try:
        until = time.monotonic() + 120
        while len(list(signs.iterdir())) < processes and time.monotonic() < until:
            time.sleep(0.05)
        workers = [int(sign.name) for sign in signs.iterdir()]
        assert len(workers) == processes
        process.send_signal(signal.SIGTERM)
        error = process.communicate(timeout=60)[1]
    finally:
        process.kill()
    assert process.returncode == 130 and "slurm-sim: interrupted" in error and "Traceback" not in error
    assert "the runs that are over are kept in study: slurm-sim campaign resume study makes the others" in error
    until = time.monotonic() + 30
    while any(_runs(worker) for worker in workers) and time.monotonic() < until:
        time.sleep(0.05)
    assert not any(_runs(worker) for worker in workers)
