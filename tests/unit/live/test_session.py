"""Shadow mode beside a cluster that answers as Slurm's commands do."""

from __future__ import annotations

import json
import threading
import time

import pytest
from builders.live_session import Any, Largest, Live, Urgent, with_preemption

from emulator.live.hooks import APPLIED, REFUSED, TOLD, WARNED
from emulator.live.marks import Marks
from emulator.live.record import Record
from emulator.live.session import Options
from emulator.live.slurm import NoAnswerError, Slurm
from emulator.replay.emulate import emulate
from emulator.state.run import State
from emulator.workload.read import read_trace
from emulator.workload.sites import is_site_log, read_site_log
from slurm_sim_plugins import hookimpl
from slurm_sim_plugins.decisions import Start
from slurm_sim_plugins.errors import ConfigurationError, InputError, OutputError, PluginError
from slurm_sim_plugins.hookspecs import SPECS


def test_what_it_would_do_is_said_once_and_nothing_is_written(fake, conf):
    fake.job("1", size=3)
    fake.job("2", size=2)
    fake.job("3", size=1, limit=60)
    live = Live(conf)
    assert live.step() == ["would start 1 on n[1-3]", "would start 3 on n4"]
    assert live.step() == []
    assert len(live.cluster.waiting) == 3
    assert not live.cluster.running
    assert fake.written == []


def test_what_slurm_does_stands_beside_it(fake, conf):
    fake.job("1", size=3)
    fake.job("2", size=2)
    live = Live(conf)
    live.step()
    fake.start("1", "n1", "n2", "n3")
    fake.start("2", "n4")
    said = live.step()
    assert said[0].startswith("Slurm started 1 there, ")
    assert said[1] == "Slurm started 2 on n4; the plugin would not have yet"
    assert len(live.session.wishes.same) == live.session.wishes.unwished == 1
    fake.finish("1")
    fake.job("4", size=3)
    assert live.step() == ["would start 4 on n[1-3]"]
    fake.job("4", priority=0, reason="JobHeldUser")
    assert live.step() == ["would no longer start 4 on n[1-3]"]
    fake.job("4", priority=5, reason="None")
    assert live.step() == ["would start 4 on n[1-3]"]
    assert any("1 starts on the nodes" in line for line in live.session.wishes.summary())


def test_jobs_of_others_are_in_the_way_and_not_in_the_queue(fake, conf):
    fake.job("1", user="eve")
    fake.job("2", user="ann")
    fake.job("3", user="eve", size=2)
    fake.start("3", "n1", "n2")
    live = Live(conf, only="user=ann")
    assert live.step() == ["would start 2 on n3"]
    assert list(live.session._mirror.followed) == ["2", "3"]


def test_a_job_is_one_object_for_its_whole_life(fake, conf):
    fake.job("7_1")
    fake.job("7_2")
    live = Live(conf)
    live.step()
    first, second = live.jobs("7_1", "7_2")
    assert (first.request.array, first.request.task, second.request.task) == (7, 1, 2)
    fake.job("7_1", id=8)
    fake.start("7_1", "n2")
    live.step()
    assert live.jobs("7_1") == [first]
    assert first.run.allocation.nodes == (1,)
    assert live.session._controller.policies.seen_as(first).array == 7


def test_runs_stand_still_go_on_come_back_and_end(fake, conf):
    fake.job("1", size=2)
    live = Live(conf)
    live.step()
    (job,) = live.jobs("1")
    fake.start("1", "n1", "n2")
    live.step()
    assert job.state is State.RUNNING
    fake.job("1", state="SUSPENDED")
    live.step()
    assert job.state is State.SUSPENDED
    assert live.cluster.free.units.sum() == 16
    fake.job("1", state="RUNNING")
    live.step()
    assert live.cluster.free.units.sum() == 8
    fake.job("1", state="COMPLETING")
    live.step()
    assert (job.state, job.vacating, live.cluster.free.units.sum()) == (State.COMPLETING, True, 8)
    fake.job("1", state="PENDING", nodes=[], start=None, restarts=1, submit=int(time.time()))
    assert live.step() == ["would start 1 on n[1-2]"]
    assert job.state is State.PENDING
    assert job.restarts == 1
    fake.finish("1", "CANCELLED")
    live.step()
    assert not live.session._mirror.followed
    assert not live.cluster.jobs
    assert live.cluster.free.units.sum() == 16


def test_a_job_that_comes_back_asks_for_as_many_nodes_as_before(fake, conf):
    fake.job("1", size=1, cpus=2)
    live = Live(conf)
    live.step()
    fake.start("1", "n1")
    live.step()
    # Slurm shows how many it had.
    fake.job("1", state="PENDING", nodes=[], start=None, restarts=1, submit=int(time.time()), size=2, cpus=1)
    live.step()
    fake.job("1", account="other")
    live.step()
    (job,) = live.jobs("1")
    assert (job.options.account, job.options.min_nodes, job.options.max_nodes) == ("other", 1, 1)


def test_no_job_goes_where_another_is_completing(fake, conf):
    fake.job("1", cpus=1)
    fake.start("1", "n1")
    live = Live(conf)
    live.step()
    fake.job("1", state="COMPLETING")
    fake.job("2", cpus=1)
    assert live.step() == ["would start 2 on n2"]
    fake.finish("1")
    assert live.step() == ["would start 2 on n1"]
    assert live.cluster.epilogs is None


def test_a_limit_or_a_request_that_changes(fake, conf):
    fake.job("1", size=2)
    live = Live(conf)
    live.step()
    (job,) = live.jobs("1")
    fake.job("1", size=3, limit=1200)
    assert live.step() == ["would start 1 on n[1-3]"]
    assert live.jobs("1") == [job]
    assert job.limit == 1200.0
    fake.start("1", "n1", "n2", "n3")
    live.step()
    fake.job("1", limit=600)
    live.step()
    assert job.run.limit == 600.0


def test_nodes_that_take_no_jobs(fake, conf):
    fake.job("1", size=4)
    fake.set(nodes={"n2": "down*"})
    live = Live(conf)
    assert live.step() == []
    fake.set(nodes={})
    assert live.step() == ["would start 1 on n[1-4]"]


def test_waiting_for_something_else(fake, conf):
    fake.job("1", reason="Dependency", dependency="afterok:99(unfulfilled)")
    live = Live(conf)
    assert live.step() == []
    fake.job("1", reason="None", dependency="")
    assert live.step() == ["would start 1 on n1"]


def test_a_job_that_the_emulator_would_not_take_is_left_to_slurm(fake, conf):
    fake.job("1", size=9)
    fake.job("2", partition="secret")
    fake.job("3")
    live = Live(conf)
    assert live.step()[-1] == "would start 3 on n1"
    left = [line for line in live.lines if "left to Slurm" in line]
    assert ["job 2" in line for line in left] == [True]
    live.step()
    assert len([line for line in live.lines if "left to Slurm" in line]) == 1


class Wrong:
    """Starts a job twice."""

    name = "sched/wrong"

    @hookimpl
    def schedule(self, view):
        plan = view.plan()
        entry = view.queue[0]
        place = plan.now(entry).place
        yield Start(entry, where=place)
        yield Start(entry, where=place)


def test_priorities(fake, conf):
    fake.job("1", size=1)
    fake.job("2", size=3)
    live = Live(conf, {"PriorityType": "priority/largest"}, [Largest])
    assert live.step() == ["would give 1 the priority 4", "would give 2 the priority 12"]
    assert live.step() == []


def test_without_a_priority_plugin_jobs_have_the_numbers_that_slurm_gave_them(fake, conf):
    fake.job("1", size=4, priority=10)
    fake.job("2", size=4, priority=20)
    live = Live(conf)
    assert live.step() == ["would start 2 on n[1-4]"]
    fake.job("1", priority=30)
    assert live.step() == ["would no longer start 2 on n[1-4]", "would start 1 on n[1-4]"]


def test_victims_are_told_and_go_on(fake, conf, tmp_path):
    fake.job("1", size=3)
    fake.start("1", "n1", "n2", "n3")
    fake.job("2", size=4, user="urgent")
    slots = {"SchedulerType": "sched/urgent", "PreemptType": "preempt/any"}
    live = Live(with_preemption(tmp_path, conf), slots, [Urgent, Any])
    assert live.step() == ["would preempt 1 (REQUEUE): for 2"]
    (job,) = live.jobs("1")
    assert (job.state, job.vacating) == (State.RUNNING, False)
    assert live.step() == []
    fake.finish("1")
    assert live.step() == ["would start 2 on n[1-4]"]


def test_a_failing_plugin_is_named_and_nothing_is_left_of_its_pass(fake, conf):
    fake.job("1")
    live = Live(conf, {"SchedulerType": "sched/wrong"}, [Wrong])
    with pytest.raises(PluginError, match=r"sched/wrong.*schedule") as failure:
        live.step()
    assert "test_session.py" in str(failure.value)
    assert len(live.cluster.waiting) == 1
    assert fake.written == []


class Submits:
    """Changes submissions."""

    name = "job_submit/mine"

    @hookimpl
    def job_submit(self, view):
        return None


class Graceful(Any):
    """Gives victims time."""

    name = "preempt/graceful"

    @hookimpl
    def preempt_grace(self, view):
        return 60.0


def test_hooks_that_cannot_be_applied_are_named(fake, conf, tmp_path, caplog):
    with pytest.raises(ConfigurationError, match=r"job_submit/mine has the hook job_submit.*job_submit\.lua"):
        Live(conf, {"JobSubmitPlugins": "job_submit/mine"}, [Submits])
    Live(with_preemption(tmp_path, conf), {"PreemptType": "preempt/graceful"}, [Graceful])
    assert "preempt_grace" in caplog.text


def test_a_controller_that_goes_away_and_comes_back(fake, conf):
    fake.job("1")
    live = Live(conf)
    live.step()
    fake.set(away="slurm_load_jobs error: Unable to contact slurm controller (connect failure)")
    threading.Timer(0.3, lambda: fake.set(away="")).start()
    live.step()
    told = [line for line in live.lines if "controller" in line]
    assert "Unable to contact" in told[0]
    assert "answers again" in told[1]


def test_clocks_and_versions_that_differ_are_told(fake, conf):
    fake.set(skew=3600, version="21.08.1")
    fake.job("1", submit=int(time.time()) + 3500)
    live = Live(conf)
    assert any("clock is 36" in line and "ahead" in line for line in live.lines)
    assert any("21.08.1" in line for line in live.lines)
    live.step()
    assert 50 < live.cluster.now < 200


def test_a_record_is_a_log(fake, conf, tmp_path):
    path = tmp_path / "live.jsonl"
    with Record(path) as record:
        fake.job("1", size=2, submit=int(time.time()) - 20)
        fake.job("7_2", size=3, name="x\ny")
        live = Live(conf, record=record)
        live.step()
        fake.job("1", state="RUNNING", nodes=["n1", "n2"], start=int(time.time()) - 10)
        live.step()
        fake.finish("1")
        fake.finish("7_2", "CANCELLED")
        live.step()
    assert "x\\ny" not in path.read_text()
    log = read_site_log(path)
    assert is_site_log(path)
    assert {job.label: (job.happened.state, len(job.happened.runs)) for job in log.jobs} == {
        "1": ("COMPLETED", 1),
        "7_2": ("CANCELLED", 0),
    }
    assert {job.label: job.cancel_at is None for job in log.jobs} == {"1": True, "7_2": False}
    result = emulate(log, conf, clock="ideal")
    assert sorted(result.records.jobs["state"]) == ["CANCELLED", "COMPLETED"]
    assert len(read_trace(path)) == 1
    with pytest.raises(OutputError, match="there already"):
        Record(path)


def test_tasks_of_a_recorded_array_keep_their_place_in_the_queue(conf, tmp_path):
    path = tmp_path / "live.jsonl"
    task = {
        "event": "submitted",
        "at": 1,
        "user": "ann",
        "sbatch": "sbatch -N4 --exclusive -t1",
        "array": 2,
        "at_once": 1,
    }
    tasks = [{**task, "job": f"2_{n}", "id": 1002000000 + n, "task": n, "sbatch": "sbatch -N1 -t1"} for n in (1, 2)]
    other = {"event": "submitted", "at": 1, "job": "3", "id": 3, "user": "ann", "sbatch": "sbatch -N4 --exclusive -t1"}
    runs = [{"event": kind, "at": at, "job": job, "state": "COMPLETED"} for job in ("2_1", "2_2", "3")
            for kind, at in (("started", 2), ("ended", 12))]  # fmt: skip
    lines = [{"event": "begin", "format": "slurm-sim live 1", "epoch": 5}, other, *tasks, *runs]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    log = read_site_log(path)
    made = [task for job in log.jobs for task in job.request.tasks(iter(()))]
    assert [(request.id, request.array, request.task) for request in made] == [
        (3, None, 0),
        (1002000001, 2, 1),
        (1002000002, 2, 2),
    ]
    starts = emulate(log, conf, clock="ideal").records.jobs
    assert dict(zip(starts["job_id"].tolist(), starts["start"].tolist(), strict=True)) == {
        3: 1.0,
        1002000001: 11.0,
        1002000002: 21.0,
    }


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "[]",
        '{"at": 1}',
        '{"event": "submitted", "at": 1e99, "job": "3", "id": 3, "user": "a", "sbatch": "sbatch"}',
        '{"event": "submitted", "at": 1, "job": "3", "user": "a", "sbatch": "sbatch"}',
    ],
)
def test_a_damaged_record_is_told_with_its_line(tmp_path, line):
    path = tmp_path / "live.jsonl"
    begin = {"event": "begin", "format": "slurm-sim live 1", "epoch": 5}
    path.write_text(json.dumps(begin) + "\n" + line + "\n")
    with pytest.raises(InputError, match=r"live\.jsonl:2"):
        read_site_log(path)
    assert [each.first for each in read_site_log(path, malformed="drop").unusable] == [2]


def test_an_event_ends_the_wait(fake, conf, tmp_path):
    events = tmp_path / "events"
    live = Live(conf)
    look = live.session._look()
    live.session._options = Options(Marks.of(None), poll=20.0, events=events)
    threading.Timer(0.2, lambda: events.write_text("job 7\n")).start()
    before = time.monotonic()
    live.session._wait(float("inf"), look)
    assert time.monotonic() - before < 5.0


def test_a_controller_that_goes_away_between_two_questions(fake, conf, monkeypatch):
    fake.job("1")
    live = Live(conf)
    live.session._options = Options(Marks.of(None), poll=0.05, duration=0.3)
    monkeypatch.setattr(live.session, "_begin", lambda look: None)
    asked = []

    def ask(jobs):
        asked.append(jobs)
        if len(asked) == 1:
            raise NoAnswerError("scontrol: Unable to contact slurm controller")
        return Slurm.ask(live.slurm, jobs)

    monkeypatch.setattr(live.slurm, "ask", ask)
    live.session.run()
    said = [line for line in live.lines if "controller" in line or "would" in line]
    assert "Unable to contact" in said[0]
    assert "answers again" in said[1]
    assert "would start 1" in said[2]


def test_a_look_that_takes_long_is_told(fake, conf, monkeypatch):
    fake.job("1")
    live = Live(conf)
    live.session._options = Options(Marks.of(None), poll=0.05, duration=0.4)
    monkeypatch.setattr("emulator.live.session.SLOW", 0.1)
    looks, look = [], live.slurm.look

    def slow_once():
        looks.append(look())
        if len(looks) == 2:
            time.sleep(0.2)
        return looks[-1]

    monkeypatch.setattr(live.slurm, "look", slow_once)
    live.session.run()
    assert len(looks) > 2
    assert ["away, or answers slowly" in line for line in live.lines].count(True) == 1


def test_every_hook_has_its_place():
    places = [APPLIED, dict.fromkeys(TOLD), WARNED, REFUSED]
    hooks = {name for spec in SPECS.values() for name in vars(spec) if not name.startswith("_")}
    assert set().union(*places) == hooks
    assert sum(map(len, places)) == len(hooks)


@pytest.mark.parametrize(
    ("slots", "decides"),
    [
        ({"SchedulerType": "sched/easy", "PriorityType": "priority/basic"}, {"start", "preempt"}),
        ({"BackfillType": "backfill/queue_order"}, {"start"}),
        ({"PriorityType": "priority/basic", "WalltimeType": "walltime/none"}, {"priority", "walltime"}),
    ],
)
def test_what_is_decided_goes_by_the_slots(fake, conf, slots, decides):
    assert Live(conf, slots).session.decides == decides
