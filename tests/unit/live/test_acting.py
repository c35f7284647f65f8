"""Decisions carried out on a cluster that answers as Slurm's commands do."""

from __future__ import annotations

import time

import pytest
from builders.live_session import Any, Largest, Live, Urgent, with_preemption

from emulator.live import handback
from emulator.live.acting import RAISED, Hands, Ways, whole_numbers
from emulator.live.handback import applied, give_back, hand_back, usual_state
from emulator.live.ledger import Entry, Ledger
from emulator.live.marks import Marks
from emulator.live.slurm import About, Hand
from slurm_sim_plugins import hookimpl
from slurm_sim_plugins.errors import ConfigurationError, InputError

MARKS = Marks.of("user=ann,user=urgent")


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr(handback, "PAUSE", 0.01)
    monkeypatch.setattr(handback, "AT_ONCE", 0.05)


@pytest.fixture
def state(tmp_path):
    return tmp_path / "state.json"


@pytest.fixture
def hands(state):
    """Makes what carries decisions out."""
    made = []

    def make(**ways):
        made.append(Hands(Hand(), Ledger(state), MARKS, Ways(**{"numbers": "Priority", **ways})))
        return made[-1]

    yield make
    for each in made:
        each.ledger.close()


def test_a_scheduler_holds_and_releases_with_nodes(fake, conf, state, hands):
    fake.job("1", size=3)
    fake.job("2", size=2)
    fake.job("3", user="eve")
    live = Live(conf, only="user=ann", acting=hands())
    assert live.step() == ["1 jobs are held: 2", "1 is released for n[1-3]"]
    assert fake.written == ["hold 2", "update JobId=1 ReqNodeList=n[1-3]"]
    assert fake.job("3")["priority"] == 1000
    # Until Slurm has started it, its nodes count as taken, and nothing is said again.
    assert live.step() == []
    fake.start("1", "n1", "n2", "n3")
    assert live.step()[0].startswith("1 runs on n[1-3]")
    fake.finish("1")
    assert live.step() == ["2 is released for n[1-2]"]
    assert state.exists()


def test_what_does_not_run_is_held_again_and_tried_later(fake, conf, state, hands):
    fake.job("1", size=3, required="n1")
    acting = hands(patience=0.05)
    live = Live(conf, acting=acting)
    live.step()
    assert fake.job("1")["required"] == "n[1-3]"
    time.sleep(0.06)
    assert live.step() == ["1 was released and does not run (None): it is held again"]
    assert (fake.job("1")["priority"], fake.job("1")["required"]) == (0, "n1")
    time.sleep(0.12)
    assert live.step() == ["1 is released for n[1-3]"]


def test_a_job_that_asks_for_some_nodes_gets_those_of_its_list(fake, conf, hands):
    # From 24.11 on Slurm takes of a longer list as many nodes as it needs.
    fake.job("1", size=2, most=3)
    acting = hands(patience=0.05)
    live = Live(conf, acting=acting)
    assert live.step() == ["1 is released for n[1-3]"]
    assert fake.written == ["update JobId=1 ReqNodeList=n[1-3] NumNodes=3-3"]
    time.sleep(0.06)
    live.step()
    assert [fake.job("1")[key] for key in ("priority", "required", "size", "most")] == [0, "", 2, 3]
    time.sleep(0.12)
    assert live.step() == ["1 is released for n[1-3]"]
    hand_back(acting.hand, acting.ledger, False, live.lines.append)
    assert fake.written[-1] == "update JobId=1 ReqNodeList= NumNodes=2-3"


def test_holds_of_users_and_releases_of_others_are_respected(fake, conf, state, hands):
    fake.job("1", priority=0, reason="JobHeldUser")
    fake.job("2", size=4)
    fake.start("2", "n1", "n2", "n3", "n4")
    fake.job("3")
    live = Live(conf, acting=hands())
    assert live.step() == ["1 jobs are held: 3"]
    live.step()
    fake.job("3", priority=7, reason="None")
    assert live.step() == ["3 was released by someone else: it is left to Slurm"]
    assert live.step() == []
    assert fake.written == ["hold 3"]


def test_jobs_that_a_site_submits_on_hold(fake, conf, state, hands):
    fake.job("1", priority=0, reason="JobHeldUser")
    live = Live(conf, acting=hands(take_held=True))
    assert live.step() == ["1 is released for n1"]
    assert fake.written == ["update JobId=1 ReqNodeList=n1", "release 1"]


def test_a_job_that_vanishes_between_reading_and_acting(fake, conf, state, monkeypatch, hands):
    fake.job("1")
    live = Live(conf, acting=hands())
    look = live.session._look()
    fake.finish("1", "CANCELLED")
    monkeypatch.setattr(live.session, "_look", lambda: look)
    said = live.step()
    assert any("Invalid job id" in line for line in said)
    monkeypatch.undo()


def test_without_the_right_to_write_it_ends(fake, conf, state, hands):
    fake.job("1")
    fake.set(forbidden=True)
    live = Live(conf, acting=hands())
    with pytest.raises(ConfigurationError, match="needs root, SlurmUser or an operator"):
        live.step()


def test_victims_are_requeued_and_started_again(fake, conf, tmp_path, state, hands):
    fake.job("1", size=3)
    fake.start("1", "n1", "n2", "n3")
    fake.job("2", size=4, user="urgent")
    slots = {"SchedulerType": "sched/urgent", "PreemptType": "preempt/any"}
    live = Live(with_preemption(tmp_path, conf), slots, [Urgent, Any], acting=hands())
    assert live.step() == ["1 is requeued for 2", "1 jobs are held: 2"]
    assert "requeuehold 1" in fake.written
    assert live.step() == ["2 is released for n[1-4]"]
    fake.start("2", "n1", "n2", "n3", "n4")
    live.step()
    fake.finish("2")
    assert live.step() == ["1 is released for n[1-3]"]
    assert fake.written[-1] == "update JobId=1 StartTime=now"


def test_a_victim_that_slurm_has_not_started_yet_is_held_again(fake, conf, tmp_path, hands):
    fake.job("1", size=3)
    slots = {"SchedulerType": "sched/urgent", "PreemptType": "preempt/any"}
    live = Live(with_preemption(tmp_path, conf), slots, [Urgent, Any], acting=hands())
    assert live.step() == ["1 is released for n[1-3]"]
    fake.job("2", size=4, user="urgent")
    assert live.step() == ["1 is held again, for 2", "1 jobs are held: 2"]
    assert fake.written[1:] == ["hold 1", "update JobId=1 ReqNodeList=", "hold 2"]
    assert (fake.job("1")["priority"], fake.job("1")["required"]) == (0, "")


class Sleepy(Any):
    """Any run may stand still."""

    name = "preempt/sleepy"

    @hookimpl
    def preempt_mode(self, view):
        return "SUSPEND"


def test_victims_are_suspended_and_go_on(fake, conf, tmp_path, state, hands):
    fake.job("1", size=3)
    fake.start("1", "n1", "n2", "n3")
    fake.job("2", size=4, user="urgent")
    path = tmp_path / "slurm.conf"
    path.write_text(
        path.read_text().replace("PriorityTier=1", "PriorityTier=1\nPartitionName=high Nodes=ALL PriorityTier=2")
    )
    fake.job("2", partition="high")
    slots = {"SchedulerType": "sched/urgent", "PreemptType": "preempt/sleepy"}
    live = Live(with_preemption(tmp_path, conf), slots, [Urgent, Sleepy], acting=hands())
    assert "1 is suspended for 2" in live.step()
    assert live.step() == ["2 is released for n[1-4]"]
    fake.start("2", "n1", "n2", "n3", "n4")
    live.step()
    fake.finish("2")
    assert live.step() == ["1 goes on"]


def test_unmarked_runs_are_not_preempted(fake, conf, tmp_path, state, hands):
    fake.job("1", size=3, user="eve")
    fake.start("1", "n1", "n2", "n3")
    fake.job("2", size=4, user="urgent")
    slots = {"SchedulerType": "sched/urgent", "PreemptType": "preempt/any"}
    live = Live(with_preemption(tmp_path, conf), slots, [Urgent, Any], only="user=urgent", acting=hands())
    assert "1 is not preempted: it has none of the marks" in live.step()
    assert not any("requeue" in command for command in fake.written)


def test_numbers_are_written_where_they_differ(fake, conf, state, hands):
    fake.job("1", size=1, priority=4)
    fake.job("2", size=3)
    fake.job("3", size=3)
    live = Live(conf, {"PriorityType": "priority/largest"}, [Largest], acting=hands())
    live.step()
    assert fake.written == ["update JobId=2,3 Priority=12"]
    live.step()
    assert len(fake.written) == 1


def test_numbers_by_site_factor(fake, conf, state, hands):
    fake.job("1", size=3, priority=5)
    acting = hands(numbers="SiteFactor")
    live = Live(conf, {"PriorityType": "priority/largest"}, [Largest], acting=acting)
    live.step()
    assert fake.written == ["update JobId=1 SiteFactor=7"]
    hand_back(acting.hand, acting.ledger, True, live.lines.append)
    assert fake.job("1")["site"] == 0


@pytest.mark.parametrize(
    ("numbers", "whole"),
    [
        ({1: 3.0, 2: 7.0}, {1: 3, 2: 7}),
        ({1: -60.0, 2: 0.0}, {1: RAISED - 60, 2: RAISED}),
        ({1: 0.25, 2: 0.5, 3: 0.25}, {1: RAISED, 2: RAISED + 1, 3: RAISED}),
        ({}, {}),
    ],
)
def test_whole_numbers_keep_the_order(numbers, whole):
    assert whole_numbers(numbers) == whole


class Half:
    """Jobs run for half of their limit."""

    name = "walltime/half"

    @hookimpl
    def walltime_submit(self, view):
        return view.job.time_limit / 2


@pytest.mark.parametrize("way", ["TimeMin", "TimeLimit"])
def test_planned_times_are_written_and_runs_get_their_limit_back(fake, conf, state, way, hands):
    fake.job("1", limit=1200)
    live = Live(conf, {"WalltimeType": "walltime/half"}, [Half], acting=hands(walltime=way))
    live.step()
    assert fake.written == [f"update JobId=1 {way}=10"]
    live.step()
    assert len(fake.written) == 1
    began = int(time.time()) - (0 if way == "TimeMin" else 500)
    fake.job("1", state="RUNNING", nodes=["n1"], start=began, limit=600)
    assert live.step() == ["1 has its own limit again"]
    assert fake.job("1")["limit"] == 1200


def test_at_its_end_the_queue_goes_back(fake, conf, state):
    fake.job("1", size=4, required="n1,n2,n3,n4")
    fake.start("1", "n1", "n2", "n3", "n4")
    fake.job("2", size=2, priority=5)
    fake.job("3", size=2, priority=9)
    told = []
    with applied(state, MARKS, Ways(), told.append) as acting:
        live = Live(conf, acting=acting)
        live.step()
        assert fake.job("2")["priority"] == fake.job("3")["priority"] == 0
    assert fake.written[-2:] == ["release 3", "release 2"]
    assert told == ["2 held jobs are released"]
    assert not state.exists()


def test_what_a_killed_process_left_is_undone_by_the_next_or_by_hand(fake, conf, state):
    fake.job("1", priority=0, reason="JobHeldAdmin", required="n3")
    fake.job("2", state="SUSPENDED", nodes=["n1"], start=int(time.time()))
    fake.job("3", limit=60)
    fake.job("4", priority=12)
    fake.job("5", state="RUNNING", nodes=["n2"], start=int(time.time()))
    for _ in range(2):
        ledger = Ledger(state)
        ledger.jobs = {
            "1": Entry(held=True, released="n3", required="n1", priority=3),
            "2": Entry(suspended=True),
            "3": Entry(limit=600.0, time_min=0.0),
            "4": Entry(numbered=True, priority=77),
            "5": Entry(held=True, leaving=True),
            "6": Entry(held=True),
        }
        ledger.save()
        ledger.close()
        told = []
        give_back(state, told.append)
        assert fake.job("1")["priority"]
        assert fake.job("1")["required"] == "n1"
        assert fake.job("2")["state"] == "RUNNING"
        assert fake.job("3")["limit"] == 600
        assert fake.job("4")["priority"] == 77
        assert not state.exists()
    told.clear()
    give_back(state, told.append)
    assert told == ["nothing is held"]


def test_a_second_start_refuses(fake, state):
    first = Ledger(state)
    with pytest.raises(ConfigurationError, match="runs already, as process"):
        Ledger(state)
    first.close()
    Ledger(state).close()


def test_a_damaged_ledger_is_told(state):
    state.write_text("[1]")
    with pytest.raises(InputError, match=r"state\.json"):
        Ledger(state)


def test_a_controller_that_is_away_at_the_end(fake, conf, state):
    fake.job("1", size=4)
    fake.start("1", "n1", "n2", "n3", "n4")
    fake.job("2")
    told = []
    with applied(state, MARKS, Ways(), told.append) as acting:
        Live(conf, acting=acting).step()
        fake.set(away="slurm_load_jobs error: Unable to contact slurm controller (connect failure)")
    assert "1 jobs are as they were left: slurm-sim live --hand-back" in told[-1]
    assert state.exists()
    fake.set(away="")
    give_back(state, told.append)
    assert fake.job("2")["priority"]


def test_the_usual_state_is_of_the_cluster(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    about = About("22.05.8", "../x y", 0.0, {})
    assert usual_state(about) == tmp_path / "slurm-sim" / "live-xy.json"
