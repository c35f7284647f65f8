"""A run in Slurm's timing ends when nothing can happen any more, and says which jobs wait and why."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from emulator import Result, simulate
from emulator.accounting.runfolder import read_run
from emulator.cli import main
from emulator.config.preemption import Preemption
from emulator.config.sacctmgr import parse_accounts
from emulator.config.slurm import parse_slurm_conf
from emulator.engine.controller import Controller
from emulator.engine.standstill import unfinished
from emulator.livelock import TIMES, Livelock
from emulator.operator.scontrol import scontrol
from emulator.workload.request import JobRequest
from emulator.workload.sbatch import parse_sbatch
from slurm_sim_plugins import MakeRoom, Start, Wake, hookimpl
from slurm_sim_plugins.errors import InputError, PluginError, StandstillError
from slurm_sim_plugins.jobs import Run
from slurm_sim_plugins.views import PreemptView, SchedulingView
from tests.builders.jobs import JobRow, two_tiers, workload

CONF = """\
SchedulerType=sched/{scheduler}
SchedulerParameters={options}
PriorityType=priority/{priority}
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
{more}
NodeName=n[1-2] CPUs=2
PartitionName=p Nodes=ALL Default=YES
"""
BOOKS = "add account a\nadd user me,you account=a\n"
WITH_BOOKS = (
    "AccountingStorageType=accounting_storage/slurmdbd\nAccountingStorageEnforce=associations,limits,qos\n"
    "PriorityWeightAge=1000\nPriorityWeightFairshare=1000"
)
BIG, SMALL = "-N2 --exclusive -t5", "-n1 -t1"


def played(
    *jobs: tuple[float, float, str],
    options: str = "bf_interval=30",
    scheduler: str = "backfill",
    more: str = "",
    priority: str = "basic",
    commands: tuple[tuple[float, str], ...] = (),
    books: str = "",
) -> Controller:
    """Jobs (submission, work, words for sbatch) up to the end of the run."""
    text = CONF.format(scheduler=scheduler, options=options, more=more, priority=priority)
    requests = [
        JobRequest(number, submit, work, parse_sbatch(words.split()), "me")
        for number, (submit, work, words) in enumerate(jobs, 1)
    ]
    actions = [(at, lambda made, command=command: scontrol(command, made)) for at, command in commands]
    accounts = parse_accounts(books) if books else None
    made = Controller(parse_slurm_conf(text), requests, actions, accounts=accounts)
    made.run()
    return made


def starts(made: Controller) -> list[float | None]:
    return [job.runs[0].start if job.runs else None for job in made.cluster.jobs.values()]


def test_without_the_main_loop_backfill_alone_starts_jobs() -> None:
    made = played((0, 100, BIG), (1, 50, SMALL), options="bf_interval=10,sched_interval=-1")
    first, second = starts(made)
    assert first is not None
    assert second is not None
    assert first % 10 == pytest.approx(second % 10)
    assert not unfinished(made.cluster)


def test_a_main_loop_without_a_pause_looks_each_second() -> None:
    made = played((0, 100, BIG), (1, 50, SMALL), options="bf_interval=-1,sched_interval=0")
    assert all(start is not None for start in starts(made))


@pytest.mark.parametrize(
    ("scheduler", "options"), [("backfill", "bf_interval=-1,sched_interval=-1"), ("builtin", "sched_interval=-1")]
)
def test_without_loops_nothing_starts(scheduler: str, options: str) -> None:
    made = played((0, 100, BIG), (1, 50, SMALL), options=options, scheduler=scheduler)
    assert starts(made) == [None, None]
    assert sum(int(words.split()[0]) for words in unfinished(made.cluster).values()) == 2


@pytest.mark.parametrize("priority", ["basic", "multifactor"])
@pytest.mark.parametrize("books", ["", BOOKS])
def test_a_suspended_job_without_a_resume_stays(priority: str, books: str) -> None:
    made = played(
        (0, 100, BIG),
        (5, 50, SMALL),
        commands=((10, "scontrol suspend 1"),),
        priority=priority,
        books=books,
        more=WITH_BOOKS if books else "",
    )
    assert unfinished(made.cluster) == {"SUSPENDED": "1 jobs (first: job 1)"}
    assert made.cluster.now < 3600


@pytest.mark.parametrize("more", ["", "PreemptExemptTime=60", WITH_BOOKS])
def test_work_without_end_and_limit_lets_others_through_and_ends_nothing(more: str) -> None:
    made = played(
        *((0, math.inf, "-N1 --exclusive"), (1, 100, BIG), (2, 50, SMALL)),
        more=more,
        books=BOOKS if more == WITH_BOOKS else "",
        priority="multifactor",
    )
    assert unfinished(made.cluster) == {
        "PENDING, Resources": "1 jobs (first: job 2)",
        "RUNNING": "1 jobs (first: job 1)",
    }
    assert [job.state for job in made.cluster.jobs.values()] == ["RUNNING", "PENDING", "COMPLETED"]


def test_a_limit_that_may_be_overrun_for_ever_is_none() -> None:
    made = played((0, math.inf, "-N1 -t5"), (1, 100, BIG), more="OverTimeLimit=UNLIMITED")
    assert [job.state for job in made.cluster.jobs.values()] == ["RUNNING", "PENDING"]


def test_work_without_end_is_killed_at_its_limit() -> None:
    made = played((0, math.inf, "-N1 -t5"), (1, 100, BIG))
    assert [job.state for job in made.cluster.jobs.values()] == ["TIMEOUT", "COMPLETED"]


@pytest.mark.parametrize("books", ["", BOOKS])
@pytest.mark.parametrize("scheduler", ["backfill", "builtin"])
def test_jobs_that_wait_for_a_node_that_is_down_for_ever(books: str, scheduler: str) -> None:
    # The first is killed at its limit long before its work would have been done.
    made = played(
        *((0, 1e9, "-N1 -t1"), (1, 100, BIG), (2, 100, BIG), (3, 50, SMALL)),
        commands=((0.5, "scontrol update NodeName=n2 State=DOWN"),),
        books=books,
        more=WITH_BOOKS + "\nPriorityMaxAge=1-0" if books else "",
        priority="multifactor",
        scheduler=scheduler,
    )
    assert sum(int(words.split()[0]) for words in unfinished(made.cluster).values()) >= 2
    assert made.cluster.now < 2 * 86_400


def test_a_limit_on_past_usage_lets_go_when_it_has_faded() -> None:
    books = f"{BOOKS}modify user me set GrpTRESMins=cpu=4\n"
    more = WITH_BOOKS + "\nPriorityDecayHalfLife=0-1"
    made = played((0, 180, "-N1 --exclusive -t1"), (400, 50, SMALL), books=books, more=more, priority="multifactor")
    assert not unfinished(made.cluster) or made.cluster.now > 3600
    never = played((0, 30, "-n1 -t1"), (400, 50, "-n2 -t9"), books=books, more=more, priority="multifactor")
    assert never.cluster.now < 86_400


def test_the_command_says_what_waits_and_has_its_own_code(tmp_path, monkeypatch, capsys) -> None:
    conf = CONF.format(scheduler="backfill", options="bf_interval=30", more="", priority="basic")
    (tmp_path / "slurm.conf").write_text(conf)
    (tmp_path / "jobs.events").write_text("-dt 0 -e submit_batch_job | -jid 1 -sim-walltime 50 -n 1 -t 1 pseudo.job\n")
    (tmp_path / "commands").write_text("10 scontrol suspend 1\n")
    words = ["slurm-sim", "run", str(tmp_path / "jobs.events"), "--slurm-conf", str(tmp_path / "slurm.conf")]

    def code(*more: str) -> object:
        monkeypatch.setattr("sys.argv", [*words, *more])
        with pytest.raises(SystemExit) as left:
            main()
        return left.value.code

    assert code() == 0
    assert code("--commands", str(tmp_path / "commands")) == 6
    assert "nothing can happen any more; unfinished: SUSPENDED: 1 jobs (first: job 1)" in capsys.readouterr().err


def test_what_is_progress() -> None:
    watch = Livelock()

    def rounds(times: int = TIMES, left: float = 9.0) -> list[bool]:
        return [watch.sent_back(1, left) for _ in range(times)]

    assert rounds() == [False] * (TIMES - 1) + [True]
    assert not watch.stuck(1, 100, 0, [])
    rounds()
    assert not watch.stuck(1, 200, 1, [])  # a job has ended
    rounds()
    assert not watch.stuck(1, 300, 1, [250, 200])  # a run has lasted all the time
    rounds(left=8.0)
    assert not watch.stuck(1, 400, 1, [])  # less is left of it than ever
    rounds(left=8.0)
    assert watch.stuck(1, 500, 1, [450])
    assert not any(Livelock().sent_back(2, math.inf) for _ in range(3))


def test_submissions_to_come_are_progress_unless_time_stands_still() -> None:
    watch = Livelock()
    assert not watch.stuck(1, 100, 0, [], to_come=True)
    assert not watch.stuck(1, 200, 0, [], to_come=True)
    assert not watch.stuck(1, 300, 0, [])  # the last was submitted since
    assert watch.stuck(1, 400, 0, [])
    assert not watch.stuck(2, 400, 0, [], to_come=True)
    assert watch.stuck(2, 400, 0, [], to_come=True)


class Everybody:
    """All runs give way to any job, but for one that no job disturbs."""

    name = "preempt/everybody"

    @hookimpl
    def preempt_candidates(self, view: PreemptView) -> list[Run]:
        return [run for run in view.running if run.job.id != UNDISTURBED]


UNDISTURBED = 99


@pytest.mark.slow
def test_in_slurms_timing_a_run_ends_in_which_jobs_only_preempt_each_other() -> None:
    conf = CONF.format(scheduler="backfill", options="bf_interval=30", more="PreemptMode=REQUEUE", priority="basic")
    requests = [JobRequest(number, number, 600, parse_sbatch([*BIG.split()]), "me") for number in (1, 2)]
    slots = {"PreemptType": "preempt/everybody"}
    result = simulate(requests, parse_slurm_conf(conf), slots=slots, plugins=[Everybody], compiled=True)
    assert "was preempted or requeued 1000 times while no job ended or got further" in result.about["endless"]
    assert sorted(result.records.jobs["state"].tolist()) != ["COMPLETED", "COMPLETED"]
    assert result.records.jobs["requeues"].max() <= 3 * TIMES


def test_in_ideal_timing_too(tmp_path) -> None:
    with pytest.raises(StandstillError, match="was preempted 1000 times while no job ended"):
        each_second([(1, 0, 4, 600, 700), (2, 1, 4, 600, 700)], "REQUEUE", out=tmp_path)
    assert read_run(tmp_path).about["run"]["status"] == "failed"


@pytest.mark.slow
def test_a_run_goes_on_in_which_jobs_get_further() -> None:
    result = each_second([(1, 0, 4, 3000, 3100), (2, 1, 4, 3000, 3100)], "SUSPEND")
    assert result.records.jobs["state"].tolist() == ["COMPLETED"] * 2
    assert result.records.jobs["requeues"].min() > 2 * TIMES


def test_a_run_goes_on_while_a_job_is_not_disturbed() -> None:
    result = each_second([(UNDISTURBED, 0, 1, 9000, 9100), (1, 0, 3, 600, 700), (2, 1, 3, 600, 700)], "REQUEUE")
    assert result.records.jobs["state"].tolist() == ["COMPLETED"] * 3
    assert result.records.jobs["requeues"].max() > 3 * TIMES


def each_second(jobs: list[JobRow], mode: str, **options: object) -> Result:
    class EachSecond:
        """Each second the head replaces what runs; with a third job, as long as that runs."""

        name = "sched/each_second"

        @hookimpl
        def schedule(self, view: SchedulingView):
            while (head := view.head) is not None and head.processors <= view.free:
                yield Start(head)
            disturbs = len(jobs) < 3 or any(run.job.id == UNDISTURBED for run in view.running)
            if head is not None and disturbs:
                if (yield MakeRoom(head)):
                    yield Start(head)
                yield Wake(view.now + 1)

    return simulate(
        workload(jobs),
        processors=4,
        scheduler="sched/each_second",
        preempt="preempt/everybody",
        preemption=Preemption(mode=mode, cost=0.5),
        plugins=[EachSecond, Everybody],
        **options,
    )


@pytest.mark.parametrize(("work", "limit"), [(math.inf, math.inf), (math.inf, 50), (1e18, math.inf)])
def test_ideal_timing_takes_no_work_without_end(work: float, limit: float) -> None:
    with pytest.raises(InputError, match=r"job 1: run is .*, it must be at least 0 s, and at most"):
        workload([(1, 0, 2, work, limit), (2, 1, 4, 5, 9)])


def test_a_requeued_job_that_waits_has_not_ended() -> None:
    conf = parse_slurm_conf("SelectType=select/linear\nNodeName=n1 CPUs=1\nPartitionName=p Nodes=ALL Default=YES\n")
    down = [(500.0, lambda controller: scontrol("scontrol update NodeName=n1 State=DOWN", controller))]
    result = simulate([JobRequest(1, 100.0, 1000.0, parse_sbatch(["-n1", "-t60"]))], conf, actions=down)
    (job,) = result.jobs.to_dict("records")
    assert job["state"] == "PENDING"
    assert math.isnan(job["start"]) and math.isnan(job["end"]) and job["first_start"] > 100
    found = result.metrics()
    assert (found["unfinished"], found["requeues"]) == (1, 1)
    assert math.isnan(found["mean_wait"])


def test_a_job_that_is_preempted_for_good_has_a_line() -> None:
    conf = parse_slurm_conf(two_tiers("REQUEUE") + "JobRequeue=0\n")
    jobs = [
        JobRequest(1, 0.0, 600.0, parse_sbatch(["-N4", "--exclusive", "-plo"])),
        JobRequest(2, 20.0, 30.0, parse_sbatch(["-N1", "--exclusive", "-phi"])),
    ]
    found = simulate(jobs, conf).metrics()
    assert (found["completed"], found["ended_otherwise"], found["unfinished"]) == (1, 1, 0)


class Wakes:
    """Starts nothing, and asks to be woken again."""

    name = "sched/wakes"

    @hookimpl
    def schedule(self, view: SchedulingView):
        yield Wake(view.now + 1)


def test_a_scheduler_that_is_woken_for_ever_is_named_in_ideal_timing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("emulator.livelock.MOST_IDLE_WAKES", 1000)
    with pytest.raises(PluginError, match="Wake: asked for 1001 times while 2 jobs wait, nothing runs"):
        simulate(workload([(1, 0, 2, 5, 9), (2, 1, 4, 5, 9)]), processors=4, scheduler="sched/wakes", plugins=[Wakes])


@pytest.mark.parametrize("clock", ["slurm", "ideal"])
def test_a_scheduler_that_is_woken_for_ever_is_named_on_a_cluster(clock: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("emulator.livelock.MOST_IDLE_WAKES", 1000)
    conf = parse_slurm_conf("SelectType=select/linear\nNodeName=n1 CPUs=1\nPartitionName=p Nodes=ALL Default=YES\n")
    with pytest.raises(PluginError, match="Wake: asked for 1001 times while 1 jobs wait, nothing runs"):
        simulate(
            [JobRequest(1, 100.0, 10.0, parse_sbatch(["-n1"]))],
            conf,
            clock=clock,
            slots={"SchedulerType": "sched/wakes"},
            plugins=[Wakes],
        )


@pytest.mark.parametrize("command", ["scontrol resume 1", "scontrol suspend 1", "scontrol release 2"])
@pytest.mark.parametrize("scheduler", ["fcfs", "easy", "backfill"])
def test_a_command_after_all_work_leaves_nothing_to_look_at(command: str, scheduler: str) -> None:
    conf = parse_slurm_conf(CONF.format(scheduler="backfill", options="bf_interval=30", more="", priority="basic"))
    requests = [JobRequest(1, 0, 10, parse_sbatch(SMALL.split()), "me")]
    requests += [JobRequest(2, 5, 10, parse_sbatch(["-H", *SMALL.split()]), "me")] if "resume" in command else []
    late = [(500.0, lambda made: scontrol(command, made))]
    slots = {"SchedulerType": f"sched/{scheduler}"}
    result = simulate(requests, conf, clock="ideal", actions=late, slots=slots)
    assert result.jobs["state"].tolist() == ["COMPLETED", "PENDING"][: len(requests)]
    assert len(result.about["refused"]) == 1


@pytest.mark.parametrize("priority", ["wfp", "multifactor", "sjf"])
def test_periods_under_the_ideal_clock_come_to_an_end(priority: str) -> None:
    conf = parse_slurm_conf(CONF.format(scheduler="backfill", options="bf_interval=30", more="", priority="basic"))
    requests = [
        JobRequest(n, n, 10, parse_sbatch([*words, *SMALL.split()]), "me") for n, words in ((1, []), (2, ["-H"]))
    ]
    result = simulate(
        requests, conf, clock="ideal", slots={"SchedulerType": "sched/fcfs", "PriorityType": f"priority/{priority}"}
    )
    assert result.jobs["state"].tolist() == ["COMPLETED", "PENDING"]


GRACES = """\
SchedulerType=sched/backfill
SelectType=select/linear
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
NodeName=n[1-2] CPUs=1
PartitionName=lo Nodes=ALL Default=YES PriorityTier=3
PartitionName=slow Nodes=ALL PriorityTier=1 GraceTime=120
PartitionName=hi Nodes=ALL PriorityTier=5
"""


def test_a_job_is_not_sent_back_at_one_instant_again_and_again() -> None:
    """Job 3 waits for the grace of job 2; meanwhile job 1 finds its node free, which job 3 wants."""
    words = ["-N1 -t1 -plo", "-N1 -t60 -pslow", "-N2 -t60 -phi"]
    requests = [
        JobRequest(number, 5.0 * number - 5, 50.0, parse_sbatch(each.split()), "me")
        for number, each in enumerate(words, 1)
    ]
    requests[1] = replace(requests[1], run=500.0)
    jobs = simulate(requests, parse_slurm_conf(GRACES), clock="ideal").jobs.set_index("job_id")
    assert jobs["state"].tolist() == ["COMPLETED"] * 3
    assert jobs["start"].tolist() == [180, 180, 130]
    assert jobs["requeues"].tolist() == [1, 1, 0]
