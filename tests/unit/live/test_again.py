"""A recorded session in the emulator."""

from __future__ import annotations

import json
from typing import ClassVar

import pytest

from emulator.config.options import Config
from emulator.config.slurm import read_slurm_conf
from emulator.live.again import again
from slurm_sim_plugins import hookimpl
from slurm_sim_plugins.errors import InputError
from slurm_sim_plugins.manager import Catalogue, PluginInfo, discover

EASY = Config(slots={"SchedulerType": "sched/easy"}, clock="ideal")
WHOLE = "sbatch --nodes=4 --ntasks=4 --exclusive --time=00:10:00"
SHORT = "sbatch --nodes=1 --ntasks=1 --exclusive --time=00:01:00"


def submitted(job, seen, sbatch, at=None):
    line = {"event": "submitted", "at": seen - 0.5 if at is None else at, "seen": seen, "job": job, "id": int(job)}
    return [{**line, "user": "ann", "sbatch": sbatch}]


def run(job, released, nodes, completing, gone, state="COMPLETED", cpus=""):
    return [
        {"event": "released", "at": released, "words": "", "job": job, "nodes": nodes},
        {"event": "started", "at": released + 1, "seen": released + 1.5, "job": job, "nodes": nodes, "cpus": cpus},
        {"event": "completing", "at": completing, "seen": completing, "job": job},
        {"event": "ended", "at": completing - 0.5, "seen": gone, "job": job, "state": state},
    ]


def session(tmp_path, *lines):
    """Two large jobs, of which the second waits for the nodes of the first to be clear, and a short one behind."""
    begin = {"event": "begin", "format": "slurm-sim live 1", "epoch": 1_700_000_000}
    every = sorted((line for part in lines for line in part), key=lambda line: line.get("seen", line["at"]))
    path = tmp_path / "session.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in [begin, *every]))
    return path


def first(end=100.0, gone=104.0):
    return [*submitted("1", 1.0, WHOLE), *run("1", 1.0, "n[1-4]", end, gone)]


def test_the_same_decisions_are_the_same(tmp_path, conf):
    second = [*submitted("2", 10.0, WHOLE), *run("2", 104.0, "n[1-4]", 150.0, 150.0)]
    third = [*submitted("3", 20.0, SHORT), *run("3", 150.0, "n1", 900.0, 901.0, "TIMEOUT")]
    found = again(session(tmp_path, first(), second, third), conf, EASY, discover(()))
    assert [pair.same for pair in found.pairs] == [True, True, True]
    assert [pair.apart for pair in found.pairs] == [0.0, 0.0, 0.0]
    assert found.delays == (1.0, 1.0, 1.0)
    assert found.turned == (0, 3)


def test_a_job_has_its_nodes_until_it_was_seen_to_leave_them(tmp_path, conf):
    # The next one was started as soon as the first was over: the emulated one waits till its nodes are clear.
    second = [*submitted("2", 10.0, WHOLE), *run("2", 100.0, "n[1-4]", 150.0, 150.0)]
    found = again(session(tmp_path, first(), second), conf, EASY, discover(()))
    assert [pair.apart for pair in found.pairs] == [0.0, 4.0]
    assert "2: live at 100.0 s on n[1-4], emulated at 104.0 s on n[1-4]" in "\n".join(found.lines())


def test_other_nodes_and_another_order_are_told(tmp_path, conf):
    second = [*submitted("2", 10.0, SHORT), *run("2", 200.0, "n4", 220.0, 221.0)]
    third = [*submitted("3", 20.0, SHORT), *run("3", 104.0, "n1", 900.0, 901.0)]
    found = again(session(tmp_path, first(), second, third), conf, EASY, discover(()))
    assert found.data()["same"] == 1
    # Both start at once in the emulator: neither is first.
    assert found.turned == (0, 3)
    assert "2: live at 200.0 s on n4, emulated at 104.0 s on n1" in "\n".join(found.lines())


def test_what_slurm_started_by_itself_is_started_so_again(tmp_path, conf):
    # It came and began between two looks; the next one has the nodes that this leaves.
    second = [*submitted("2", 105.5, SHORT, at=104.0), *run("2", 104.0, "n3", 180.0, 180.0)[1:]]
    third = [*submitted("3", 110.0, "sbatch -N3 --exclusive -t10"), *run("3", 110.0, "n[1-2,4]", 150.0, 150.0)]
    found = again(session(tmp_path, first(), second, third), conf, EASY, discover(()))
    assert [(pair.job, pair.same) for pair in found.pairs] == [("1", True), ("3", True)]
    assert (found.slurms, found.not_given) == (("2",), ())
    assert "started by Slurm before they could be held, also in the emulation: 2" in "\n".join(found.lines())


def test_what_slurm_started_where_others_are_is_told(tmp_path, conf):
    # The session did not start the second one, for which the emulation has taken n1.
    second = [*submitted("2", 110.0, SHORT), *run("2", 200.0, "n1", 250.0, 250.0)]
    third = [*submitted("3", 115.5, SHORT, at=114.0), *run("3", 114.0, "n1", 180.0, 180.0)[1:]]
    found = again(session(tmp_path, first(), second, third), conf, EASY, discover(()))
    assert found.not_given == ("3",)
    assert "of these not in the emulation, which has others on their nodes: 3" in "\n".join(found.lines())
    # In the state that the session had there is room for it.
    assert found.asked.lost == ()


def test_what_differs_by_itself_is_told_from_what_follows(tmp_path, conf):
    late = [*submitted("2", 110.0, SHORT), *run("2", 200.0, "n4", 220.0, 221.0)]
    waits = [*submitted("3", 150.0, WHOLE), *run("3", 221.0, "n[1-4]", 300.0, 300.0)]
    after = [*submitted("4", 230.0, WHOLE), *run("4", 300.0, "n[1-4]", 400.0, 400.0)]
    found = again(session(tmp_path, first(), late, waits, after), conf, EASY, discover(()))
    assert [(pair.job, pair.same) for pair in found.pairs] == [("1", True), ("2", False), ("3", False), ("4", False)]
    assert [found.causes[place].partition(":")[0] for place in (1, 2, 3)] == [
        "by itself",
        "follows from 2",
        "follows from 3",
    ]
    # At each look until it was released, the second one is started where it waits.
    assert {(one.job, one.live) for one in found.asked.otherwise} == {("2", ""), ("2", "starts on n4")}


def test_what_slurm_did_not_start_is_a_cause(tmp_path, conf):
    vain = [
        {"event": "released", "at": 110.0, "words": "", "job": "2", "nodes": "n1"},
        {"event": "held again", "at": 125.0, "words": "", "job": "2"},
    ]
    second = [*submitted("2", 110.0, SHORT), *vain, *run("2", 140.0, "n1", 200.0, 200.0)]
    # While it was waited for, its node was taken.
    third = [*submitted("3", 112.0, SHORT), *run("3", 112.0, "n2", 170.0, 170.0)]
    found = again(session(tmp_path, first(), second, third), conf, EASY, discover(()))
    assert found.in_vain == ("2",)
    assert [(pair.job, pair.same) for pair in found.pairs] == [("1", True), ("3", True), ("2", False)]
    assert found.causes == {2: "Slurm did not start it when it was released: it waited on, and was held again"}
    assert found.asked.otherwise == ()
    assert found.asked.same == 4


def test_a_job_that_is_cancelled_when_it_is_released(tmp_path, conf):
    vain = [
        {"event": "released", "at": 110.0, "words": "", "job": "2", "nodes": "n1"},
        {"event": "left", "at": 110.0, "seen": 111.0, "job": "2", "state": "CANCELLED"},
    ]
    found = again(session(tmp_path, first(), submitted("2", 110.0, SHORT), vain), conf, EASY, discover(()))
    assert found.causes == {1: "Slurm did not start it when it was released: it was CANCELLED"}


class Counts:
    """Notes of how many runs it has heard when a job comes."""

    name = "walltime/counts"
    planned: ClassVar = []

    def __init__(self):
        self._heard = 0

    @hookimpl
    def walltime_learn(self, job, ran, now):
        self._heard += 1

    @hookimpl
    def walltime_submit(self, view):
        self.planned.append((view.job.id, self._heard))
        return 60.0


def test_what_one_look_shows_is_followed_in_slurms_order(tmp_path, conf, monkeypatch):
    monkeypatch.setattr(Counts, "planned", [])
    sooner, later = submitted("2", 104.0, SHORT, at=99.0), submitted("3", 104.0, SHORT, at=100.0)
    config = Config(slots={**EASY.slots, "WalltimeType": "walltime/counts"}, clock="ideal")
    # The first job ended at 99.5.
    record = session(tmp_path, first(), sooner, run("2", 104.0, "n1", 120.0, 120.0), later)
    found = again(record, conf, config, Catalogue([*discover(()), PluginInfo.of(Counts)]))
    assert sorted(set(Counts.planned)) == [(1, 0), (2, 0), (3, 1)]
    assert [pair.live.at for pair in found.pairs if pair.live] == [1.0, 104.0]


@pytest.mark.parametrize("further", [{}, {"PriorityType": "priority/wfp"}])
def test_jobs_of_one_look_wait_since_slurm_got_them(tmp_path, conf, further):
    later = [*submitted("2", 10.0, WHOLE, at=9.0), *run("2", 150.0, "n[1-4]", 200.0, 200.0)]
    sooner = [*submitted("3", 10.0, WHOLE, at=2.0), *run("3", 104.0, "n[1-4]", 150.0, 150.0)]
    config = Config(slots={**EASY.slots, **further}, clock="ideal")
    found = again(session(tmp_path, first(), later, sooner), conf, config, discover(()))
    assert [(pair.live.job, pair.same) for pair in found.pairs] == [("1", True), ("3", True), ("2", True)]


def test_what_is_learnt_of_a_run_is_how_long_slurm_says_it_was(tmp_path, conf):
    heard = []

    class Hears:
        name = "walltime/hears"

        @hookimpl
        def walltime_learn(self, job, ran, now):
            heard.append(ran)

    config = Config(slots={**EASY.slots, "WalltimeType": "walltime/hears"}, clock="ideal")
    again(session(tmp_path, first()), conf, config, Catalogue([*discover(()), PluginInfo.of(Hears)]))
    # Once in the emulation, once for each pass by itself.
    assert heard == [97.5, 97.5]


def test_the_cpus_are_those_that_slurm_dealt(tmp_path, conf):
    # With 4 and 2 of them the next one has its two on n2.
    uneven = [*submitted("1", 1.0, "sbatch -N2 -n6 -t10"), *run("1", 1.0, "n[1-2]", 100.0, 100.0, cpus="2,4")]
    fits = [*submitted("2", 10.0, "sbatch -N1 -n2 -t10"), *run("2", 10.0, "n1", 90.0, 90.0, cpus="2")]
    found = again(session(tmp_path, uneven, fits), conf, EASY, discover(()))
    assert [(pair.live.job, pair.same) for pair in found.pairs] == [("1", True), ("2", True)]
    assert [(dealt.job, dealt.decided, dealt.given) for dealt in found.dealt] == [("1", "4,2", "2,4")]
    assert "the first, 1 at 1.0 s, 2,4 of n[1-2] instead of 4,2" in "\n".join(found.lines())


def test_what_slurm_started_on_other_nodes_is_there(tmp_path, conf):
    one = [*submitted("1", 1.0, "sbatch -N1-2 -n2 --exclusive -t10"), *run("1", 1.0, "n[1-2]", 100.0, 100.0, cpus="4")]
    one[2] |= {"nodes": "n2"}
    fits = [*submitted("2", 10.0, "sbatch -N3 -n3 --exclusive -t10"), *run("2", 10.0, "n[1,3-4]", 90.0, 90.0)]
    found = again(session(tmp_path, one, fits), conf, EASY, discover(()))
    assert [(pair.job, pair.same) for pair in found.pairs] == [("1", True), ("2", True)]
    assert [(moved.job, moved.decided, moved.given) for moved in found.moved] == [("1", "n[1-2]", "n2")]
    assert "the first, 1 at 1.0 s, on n2 instead of n[1-2]" in "\n".join(found.lines())
    assert found.asked.same == 2


def test_what_slurm_dealt_may_be_promised_to_a_job_that_has_not_begun(tmp_path, conf):
    # The second one was to have the two of n2 that the first one got; the third has what that leaves on n1.
    uneven = [*submitted("1", 1.0, "sbatch -N2 -n6 -t10"), *run("1", 1.0, "n[1-2]", 100.0, 100.0, cpus="2,4")]
    late = [*submitted("2", 2.0, "sbatch -N1 -n2 -t10"), *run("2", 2.0, "n2", 150.0, 150.0, cpus="2")]
    late[2] |= {"at": 100.0, "seen": 100.5}
    fits = [*submitted("3", 10.0, "sbatch -N1 -n2 -t10"), *run("3", 10.0, "n1", 90.0, 90.0, cpus="2")]
    found = again(session(tmp_path, uneven, late, fits), conf, EASY, discover(()))
    assert [(pair.live.job, pair.same) for pair in found.pairs] == [("1", True), ("2", True), ("3", True)]
    assert [(dealt.job, dealt.decided, dealt.given) for dealt in found.dealt] == [("1", "4,2", "2,4")]


def test_what_was_running_at_the_end_runs_no_further(tmp_path, conf):
    going = run("1", 1.0, "n[1-4]", 0.0, 0.0)[:2]
    waiting = submitted("2", 50.0, WHOLE)
    found = again(session(tmp_path, submitted("1", 1.0, WHOLE), going, waiting), conf, EASY, discover(()))
    assert [(pair.live.job, pair.same) for pair in found.pairs] == [("1", True)]


@pytest.fixture
def tiers(tmp_path, conf):
    """The cluster with an urgent partition, for which the jobs of the other one are requeued."""
    text = (tmp_path / "slurm.conf").read_text().replace("preempt/none", "preempt/partition_prio\nPreemptMode=REQUEUE")
    (tmp_path / "slurm.conf").write_text(text + "PartitionName=urgent Nodes=ALL MaxTime=60 PriorityTier=2\n")
    return read_slurm_conf(tmp_path / "slurm.conf")


PREEMPTING = Config(slots={"SchedulerType": "sched/backfill", "PreemptType": "preempt/partition_prio"}, clock="ideal")


def preempted(at, requeued):
    return [
        {"event": "preempted", "at": at, "words": "", "job": "1", "for": "2", "mode": "REQUEUE"},
        {"event": "requeued", "at": at + 0.5, "seen": requeued, "job": "1"},
    ]


def told(found):
    return [(pair.live.job, pair.same, pair.live.preempted) for pair in found.pairs]


def test_a_victim_leaves_its_nodes_when_they_were_seen_clear(tmp_path, tiers):
    victim = [*run("1", 1.0, "n[1-4]", 0.0, 0.0)[:2], *preempted(50.0, 53.0), *run("1", 80.0, "n[1-4]", 180.0, 181.0)]
    urgent = [*submitted("2", 50.0, f"{WHOLE} --partition=urgent"), *run("2", 53.0, "n[1-4]", 79.0, 80.0)]
    lines = submitted("1", 1.0, WHOLE), victim, urgent
    found = again(session(tmp_path, *lines), tiers, PREEMPTING, discover(()))
    assert told(found) == [("1", True, True), ("2", True, False), ("1", True, False)]
    assert "1 of 1 victims are the same" in "\n".join(found.lines())


@pytest.mark.parametrize(
    "ends",
    [
        # After a shorter run than the one before, and while it waits.
        run("1", 80.0, "n[1-4]", 90.0, 91.0, "CANCELLED"),
        run("1", 80.0, "n[1-4]", 90.0, 91.0, "FAILED"),
        [{"event": "ended", "at": 60.0, "seen": 60.5, "job": "1", "state": "CANCELLED"}],
    ],
)
def test_a_victim_that_is_cancelled_would_have_run_on(tmp_path, tiers, ends):
    victim = [*run("1", 1.0, "n[1-4]", 0.0, 0.0)[:2], *preempted(50.0, 53.0), *ends]
    urgent = [*submitted("2", 50.0, f"{WHOLE} --partition=urgent"), *run("2", 53.0, "n[1-4]", 79.0, 80.0)]
    lines = submitted("1", 1.0, WHOLE), victim, urgent
    found = again(session(tmp_path, *lines), tiers, PREEMPTING, discover(()))
    assert told(found)[:2] == [("1", True, True), ("2", True, False)]
    assert all(pair.same for pair in found.pairs)
    assert len(found.pairs) == (3 if len(ends) > 1 else 2)


def test_a_job_that_was_held_back_before_it_ran_made_room_too(tmp_path, tiers):
    held = [
        {"event": "released", "at": 1.0, "words": "", "job": "1", "nodes": "n[1-4]"},
        {"event": "held again", "at": 1.5, "words": "", "job": "1", "for": "2", "mode": "REQUEUE"},
    ]
    urgent = [*submitted("2", 1.5, f"{WHOLE} --partition=urgent"), *run("2", 4.0, "n[1-4]", 79.0, 80.0)]
    lines = submitted("1", 1.0, WHOLE), held, urgent, run("1", 80.0, "n[1-4]", 180.0, 181.0)
    found = again(session(tmp_path, *lines), tiers, PREEMPTING, discover(()))
    assert told(found) == [("1", True, True), ("2", True, False), ("1", True, False)]
    assert found.held_back == ("1",)
    assert "held back before Slurm had started them: 1" in "\n".join(found.lines())


def test_a_record_without_decisions_cannot_be_run_again(tmp_path, conf):
    with pytest.raises(InputError, match="no start in it was decided by a plugin; record a session with --apply"):
        again(session(tmp_path, submitted("1", 1.0, WHOLE)), conf, EASY, discover(()))
