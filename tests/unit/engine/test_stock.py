"""Which runs the loop of stock plugins makes, and which it leaves to the general one."""

from __future__ import annotations

import io
import logging
from typing import Any

import pytest

from emulator import Config, Workload, simulate
from emulator.accounting.eventlog import EventLog
from emulator.accounting.records import collect
from emulator.config.preemption import Preemption
from emulator.engine.simulation import Simulation
from emulator.engine.stock import StockPolicy, StockRun, stock_policy
from slurm_sim_plugins import hookimpl
from slurm_sim_plugins.manager import Catalogue, PluginInfo, select
from slurm_sim_plugins.sched.easy import Easy
from slurm_sim_plugins.walltime.history import History
from tests.builders.kernels import NEEDS_KERNELS
from tests.builders.stock_loops import loops


class OwnEasy(Easy):
    name = "sched/own_easy"


class Observer:
    name = "observer/of_ends"

    @hookimpl
    def job_ended(self, job: Any) -> None:
        """Look at it."""


PV_EASY = {
    "SchedulerType": "sched/venture",
    "PreemptType": "preempt/shadow_load",
    "WalltimeType": "walltime/last_model",
}


def jobs(unit: float = 1.0) -> Workload:
    columns = {"id": [1, 2, 3], "submit": [0.0, 0.0, 1.0], "processors": [3, 4, 1]}
    return Workload.from_columns(columns | {"run": [4 * unit, unit, 2 * unit], "time_limit": [5 * unit, unit, unit]})


def jobs_with(fact: str, values: list[Any]) -> Workload:
    plain = jobs()
    return Workload.from_columns({**plain.columns(), fact: values})


TWO_TIERS = {"SchedulerType": "sched/two_tier", "ExecutionType": "execution/two_tier"}


def jobs_that_use() -> Workload:
    return jobs_with("cpu_use", [0.5, 1.0, 0.9])


def jobs_of_users() -> Workload:
    return jobs_with("user", [1, 2, 1])


def policy(workload: Workload | None = None, log: EventLog | None = None, plugin: type | None = None, **options: Any):
    catalogue = Catalogue([PluginInfo.of(plugin)] if plugin is not None else ())
    config = Config(**options)
    selection = select(catalogue, config.slots, config.plugin_options)
    return stock_policy(selection, config, workload if workload is not None else jobs(), log)


@pytest.mark.parametrize(
    ("slots", "expected"),
    [
        ({}, StockPolicy(1)),
        ({"SchedulerType": "sched/fcfs"}, StockPolicy(0)),
        ({"SchedulerType": "sched/conservative"}, StockPolicy(2)),
        (PV_EASY, StockPolicy(3, learns=True, restart=True)),
        ({"WalltimeType": "walltime/last_model"}, StockPolicy(1, learns=True)),
        ({"PriorityType": "priority/sjf"}, StockPolicy(1, by_length=True)),
        ({"BackfillType": "backfill/sjf"}, StockPolicy(1, shortest_first=True)),
    ],
)
def test_stock_plugins(slots: dict[str, str], expected: StockPolicy) -> None:
    assert policy(slots=slots) == expected
    assert policy(slots=slots, passes="event", kill_at_limit=False, expired="again", seed=3) == expected


def test_history_where_its_columns_are() -> None:
    options = {"walltime/history": {"key": "user"}}
    found = policy(jobs_of_users(), slots={"WalltimeType": "walltime/history"}, plugin_options=options)
    assert found is not None and found.learns == 2 and type(found.history) is History


@pytest.mark.parametrize("deploy", ["kill", "reserve", "migrate"])
def test_two_tiers(deploy: str) -> None:
    options = {"sched/two_tier": {"deploy": deploy}, "execution/two_tier": {"drawn": "process", "loss_high": 0.5}}
    found = policy(jobs_that_use(), slots=TWO_TIERS, plugin_options=options)
    assert found is not None and found.tiers is not None
    assert found.tiers.numbers()["deploy"] == ["kill", "reserve", "migrate"].index(deploy)


def test_options_of_easy() -> None:
    for number, kept in enumerate(("recompute", "sticky", "ratchet")):
        assert policy(plugin_options={"sched/easy": {"reservation": kept}}) == StockPolicy(1, number)


@pytest.mark.parametrize(
    "options",
    [
        {"compiled": False},
        {"dispatch": "pluggy"},
        {"explain": True},
        {"preemption": Preemption(mode="SUSPEND")},
        {"slots": {"SchedulerType": "sched/backfill"}},
        {
            "slots": {"SchedulerType": "sched/conservative"},
            "plugin_options": {"sched/conservative": {"compress": "never_later"}},
        },
        {"slots": {"PriorityType": "priority/wfp"}},
        {"slots": {**PV_EASY, "PreemptType": "preempt/none"}},
        {"slots": {**PV_EASY, "PriorityType": "priority/sjf"}},
        {"slots": PV_EASY, "plugin_options": {"sched/venture": {"extra": True}}},
        {"slots": PV_EASY, "plugin_options": {"preempt/shadow_load": {"trim": True}}},
        {"slots": PV_EASY, "plugin_options": {"walltime/last_model": {"refresh": "pass"}}},
        {"slots": PV_EASY, "preemption": Preemption(mode="CHECKPOINT")},
        {"slots": PV_EASY, "workload": jobs_with("requeue", [1, 0, 1])},
        {"slots": PV_EASY, "workload": jobs_with("user", ["ann", "bob", "ann"])},
        {"slots": {"PreemptType": "preempt/shadow_load"}},
        {"slots": {"WalltimeType": "walltime/last_two"}},
        {"slots": {"WalltimeType": "walltime/history"}},
        {"slots": {"WalltimeType": "walltime/history", "PriorityType": "priority/sjf"}, "workload": jobs_of_users()},
        {"slots": {"ExecutionType": "execution/two_tier"}},
        {"slots": TWO_TIERS},
        {"slots": {"SchedulerType": "sched/two_tier"}, "workload": jobs_that_use()},
        {"slots": {"ExecutionType": "execution/two_tier"}, "workload": jobs_that_use()},
        {"slots": {**TWO_TIERS, "PriorityType": "priority/wfp"}, "workload": jobs_that_use()},
        {"slots": {**TWO_TIERS, "PreemptType": "preempt/shadow_load"}, "workload": jobs_that_use()},
        {"slots": TWO_TIERS, "workload": jobs_that_use(), "preemption": Preemption(mode="SUSPEND", slowdown=0.0)},
        {
            "slots": TWO_TIERS,
            "workload": jobs_that_use(),
            "plugin_options": {"sched/two_tier": {"migration_cost": 2.0**41}},
        },
        {"slots": TWO_TIERS, "workload": jobs_that_use(), "explain": True},
        {"slots": {"JobSubmitPlugins": "require_timelimit"}},
        {"slots": {"SchedulerType": "sched/own_easy"}, "plugin": OwnEasy},
        {"plugin": Observer},
        {"log": EventLog(io.StringIO())},
        {"workload": jobs(2.0**40)},
        {"workload": jobs().where(jobs().id == 0)},
    ],
    ids=lambda options: " ".join(options),
)
def test_what_the_general_loop_makes(options: dict[str, Any]) -> None:
    assert policy(**options) is None


def test_a_plugin_that_was_registered_besides() -> None:
    selection = select(Catalogue())
    selection.manager.register(Observer(), name="observer/of_ends")
    assert stock_policy(selection, Config(), jobs(), None) is None


def test_it_makes_the_run(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path) -> None:
    made, reports = [], list[int]()

    def watched(*given: Any) -> StockRun:
        made.append(StockRun(*given, loops()[-1]))
        return made[-1]

    monkeypatch.setattr("emulator.runs.why_plain", str)
    monkeypatch.setattr("emulator.runs.StockRun", watched)
    caplog.set_level(logging.INFO)
    result = simulate(jobs(), 4, report=reports.append)
    assert len(made) == 1 and "compiled loop" in caplog.text and reports == [3]
    assert result.records.jobs["start"].tolist() == [0.0, 4.0, 1.0]
    assert result.records.jobs["end"].tolist() == [4.0, 5.0, 2.0]
    assert result.records.jobs["state"].tolist() == ["COMPLETED", "COMPLETED", "TIMEOUT"]
    general = simulate(jobs(), 4, compiled=False)
    assert result.about == general.about and len(made) == 1
    simulate(jobs(), 4, out=tmp_path / "run")
    assert len(made) == 1


def test_a_job_that_is_preempted_often_is_left_to_the_general_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[StockRun] = []
    # The third job fills what is idle, and makes room for the second when the first has ended.
    columns = {"id": [1, 2, 3], "submit": [0.0, 1.0, 2.0], "processors": [1, 2, 1]}
    workload = Workload.from_columns(columns | {"run": [50.0] * 3, "time_limit": [60.0] * 3})

    def watched(*given: Any) -> StockRun:
        made.append(StockRun(*given, loops()[0]))
        return made[-1]

    monkeypatch.setattr("emulator.runs.why_plain", str)
    monkeypatch.setattr("emulator.runs.StockRun", watched)
    monkeypatch.setattr(loops("column_loop")[0], "OFTEN", 1)
    config = Config(slots=PV_EASY)
    result = simulate(workload, 2, config=config)
    assert [run.loop.often for run in made] == [True]
    assert result.records.jobs["requeues"].tolist() == [0, 0, 1]
    assert result.records.jobs["end"].tolist() == [50.0, 100.0, 150.0]
    monkeypatch.setattr(loops("column_loop")[0], "OFTEN", 2)
    again = simulate(workload, 2, config=config)
    assert made[-1].passes and again.records.jobs["end"].tolist() == [50.0, 100.0, 150.0]


@NEEDS_KERNELS
def test_the_compiled_loop_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    monkeypatch.setattr("emulator.runs.StockRun", lambda *given: made.append(StockRun(*given)) or made[-1])
    simulate(jobs(), 4)
    assert [run.passes for run in made] == [4]


def test_instants_that_no_float_holds_are_rounded_once() -> None:
    """Microseconds beyond 2**53: as floats they would be rounded, and their quotient once more."""
    columns = {"id": [1, 2], "submit": [2.0**35] * 2, "processors": [1, 1]}
    workload = Workload.from_columns(columns | {"run": [1.0] * 2, "time_limit": [715827882.666667, 1.0]})
    config = Config(slots={"SchedulerType": "sched/easy"}, kill_at_limit=False)
    plugins = select(Catalogue(), config.slots, {})
    policy = stock_policy(plugins, config, workload, None)
    assert policy is not None
    simulation = Simulation(workload, 1, config, select(Catalogue(), config.slots, {}))
    simulation.run()
    tables: list[Any] = [simulation.table]
    for loop in loops():
        run = StockRun(workload, 1, config, policy, loop)
        run.run()
        tables.append(run.table)
    planned = 35075566250666667 / 10**6
    assert planned != float(35075566250666667) / 1e6
    assert [collect(table, workload, 1).jobs["first_reserved"][1] for table in tables] == [planned] * len(tables)
