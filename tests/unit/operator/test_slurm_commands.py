"""Operators' commands at their times: the file, what they do, what is wrong with them."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from emulator.accounting.runfolder import read_run
from emulator.api import simulate
from emulator.cli import slurm_sim
from emulator.config.slurm import parse_slurm_conf
from emulator.config.slurm.controller import Timing
from emulator.engine.controller import Controller
from emulator.metrics.preemption import wasted_run
from emulator.operator.commands import read_commands
from emulator.operator.scancel import scancel
from emulator.operator.scontrol import scontrol
from emulator.state.run import State
from emulator.workload.request import JobRequest
from emulator.workload.sbatch import parse_sbatch
from slurm_sim_plugins import InputError

CONF = """
ClusterName=small
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=10
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
Licenses=solver:2
NodeName=n[1-2] CPUs=2 Feature=old
NodeName=n[3-4] CPUs=2 Feature=new
PartitionName=lo Nodes=ALL Default=YES MaxTime=2:00:00
PartitionName=hi Nodes=ALL PriorityTier=5
"""


def run(words: list[str], commands: list[tuple[float, str]], until: float = 5_000.0) -> Controller:
    """Jobs 1, 2, ... that work for 100 s, submitted one second after the other."""
    requests = [
        JobRequest(number, float(number), 100.0, parse_sbatch(line.split()), "ada" if number % 2 else "bob")
        for number, line in enumerate(words, 1)
    ]
    conf = parse_slurm_conf(CONF, "slurm.conf")
    controller = Controller(
        conf, requests, [(at, lambda controller, text=text: scontrol(text, controller)) for at, text in commands]
    )
    controller.run(until)
    return controller


def test_a_job_that_nothing_to_come_can_start_does_not_keep_the_clock_going() -> None:
    endless = "scontrol create reservation ReservationName=ever Nodes=n2 StartTime=now Users=root"
    for command in ("scontrol update NodeName=n1 State=DOWN", endless):
        found = run(["-N 4 -t 2"], [(0.0, command)], until=float("inf"))
        assert found.cluster.jobs[1].state is State.PENDING
    hourly = "scontrol create reservation ReservationName=again Nodes=n2 StartTime=now+60 Duration=5 Users=root"
    down = "scontrol update NodeName=n1 State=DOWN"
    for words in ("-N 4 -t 2", "-N 4 -t 2 --reservation=again", "-N 3 -t 60"):
        found = run([words], [(0.0, down), (0.5, f"{hourly} Flags=HOURLY")], until=float("inf"))
        assert not found.refused
        assert words.startswith("-N 4") == (found.cluster.now < 2_000)
        if "reservation" not in words:
            assert found.cluster.jobs[1].state is State.PENDING
    found = run(["-t 2", "-N 4 -t 2"], [(0.5, f"{hourly} Flags=HOURLY")], until=float("inf"))
    assert all(job.over for job in found.cluster.jobs.values())
    assert found.cluster.now < 4_000


def test_a_job_starts_that_waits_for_a_reservation_that_comes_again() -> None:
    hourly = "scontrol create reservation ReservationName=r Nodes=n2 StartTime=now+60 Duration=5 Users=ada Flags=HOURLY"
    late = "--reservation=r -t 4 --begin=now+600"
    found = run(["-t 2", "-t 2", late], [(0.5, hourly)], until=float("inf"))
    assert found.cluster.jobs[3].state is State.COMPLETED
    assert found.cluster.jobs[3].runs[0].start == pytest.approx(3661, abs=65)


def starts(controller: Controller) -> dict[int, float | None]:
    return {job.id: round(job.runs[0].start) if job.runs else None for job in controller.cluster.jobs.values()}


def test_a_maintenance_reservation_keeps_its_nodes_while_it_holds_and_no_longer() -> None:
    create = "scontrol create reservation ReservationName=rack Nodes=ALL StartTime=now+150 Duration=10:00 Users=root"
    jobs = ["-N 4 -t 2 --exclusive", "-N 4 -t 5 --exclusive"]

    def second(*commands: tuple[float, str]) -> float | None:
        return starts(run(jobs, [*commands]))[2]

    assert second() == pytest.approx(102, abs=2)
    # The end of a reservation brings about no pass.
    assert second((0.0, create)) == pytest.approx(758, abs=1)
    shorter = "scontrol update reservation ReservationName=rack EndTime=now+100"
    assert second((0.0, create), (300.0, shorter)) == pytest.approx(408, abs=3)
    assert second((0.0, create), (200.0, "scontrol delete reservation rack")) == pytest.approx(201, abs=1)


def test_a_job_whose_reservation_is_over_is_held_and_one_of_an_unknown_one_is_rejected() -> None:
    create = "scontrol create reservation ReservationName=rack Nodes=n1 StartTime=now+100 Duration=1 Users=ada"
    commands = [(0.0, create), (50.0, "scontrol delete ReservationName=rack")]
    found = run(["--reservation=rack -n2 -t 1", "--reservation=shelf -t 1", "--reservation=rack -n2 -t 1"], commands)
    assert [words for _, words in found.refused] == ["Requested reservation is in use"]
    late = found.cluster.jobs[3]
    assert (late.state, late.reason, late.priority) == (State.PENDING, "Reservation_rack_was_deleted", 0)
    assert [(request.id, words) for request, words in found.rejected] == [(2, "Requested reservation is invalid")]
    assert starts(run(["--reservation=rack -t 1"], [])) == {1: 2}


@pytest.mark.parametrize(("partition", "starts"), [("Default=YES", True), ("Default=YES ReqResv=YES", False)])
def test_a_job_goes_on_without_its_reservation_where_its_partition_lets_it(partition: str, starts: bool) -> None:
    """NO_HOLD_JOBS_AFTER: once the reservation is over, a partition that is for reservations alone keeps the job."""
    conf = parse_slurm_conf(f"NodeName=n[1-2] CPUs=2\nPartitionName=p Nodes=ALL {partition}\n")
    words = "create reservation ReservationName=rack Nodes=n1 Users=user StartTime=now+1 Duration=2 "
    made = 0.0, lambda controller: scontrol(words + "Flags=NO_HOLD_JOBS_AFTER", controller)
    asked = "--reservation=rack", "-n1", "-t5", "--begin=now+300"
    controller = Controller(conf, [JobRequest(1, 1.0, 10.0, parse_sbatch(list(asked)), "user")], [made])
    controller.run(until=600)
    job = controller.cluster.jobs[1]
    assert (job.options.reservation, bool(job.runs)) == ("", starts)
    assert starts or (job.state, job.reason) == (State.PENDING, "PartitionConfig")


def test_a_job_for_a_reservation_that_is_over_is_refused_until_that_is_gone() -> None:
    """As daemons of 24.11 did; a FLEX reservation binds no job to its time."""
    create = "scontrol create reservation ReservationName=rack Nodes=n1 StartTime=now Duration=1 Users=ada,bob"
    words = ["-t 1"] * 60 + ["--reservation=rack -t 1"] * 40

    def refused(more: str) -> set[tuple[int, str]]:
        found = run(words, [(0.0, f"{create} {more}")])
        return {(request.id, words) for request, words in found.rejected}

    gone = {(number, "Requested reservation is invalid") for number in range(90, 101)}
    problem = "Problem using reservation\nRequested node configuration is not available"
    assert refused("") == gone | {(number, problem) for number in range(61, 90)}
    assert refused("Flags=FLEX") == gone


@pytest.mark.parametrize(("version", "at_once"), [("22.05", False), ("24.11", True)])
def test_more_nodes_than_a_flex_reservation_has_come_by_backfill(version: str, at_once: bool) -> None:
    """In 22.05, also where one node outside would do: a real one waited so, for those of the reservation go first."""
    conf = parse_slurm_conf(CONF.replace("n[1-2] CPUs=2", "n[1-2] CPUs=8"))
    create = "scontrol create reservation ReservationName=rack Nodes=n4 StartTime=now Duration=5 Users=ada Flags=FLEX"
    request = JobRequest(1, 11.0, 100.0, parse_sbatch(["-n3", "-t3", "--reservation=rack"]), "ada")
    found = Controller(conf, [request], [(1.0, lambda controller: scontrol(create, controller))], slurm_version=version)
    found.run(60.0)
    run = found.cluster.jobs[1].runs[0]
    assert (run.start < 15) is at_once
    assert 3 in run.allocation.nodes and len(run.allocation.nodes) == 2


def test_whether_there_are_nodes_is_asked_once_a_reservation_has_begun() -> None:
    """Slurm 22.05.8 takes a job before that it finds no nodes for; those of FLEX reservations are bound to no time."""
    create = "scontrol create reservation ReservationName=rack Nodes=n1 StartTime=now+30 Duration=5 Users=ada,bob"
    words = ["-t 1", "-t 1", "-N 1 -n 5 --reservation=rack -t 1"]
    found = run(words, [(0.0, create)], until=120.0)
    assert not found.rejected
    assert not found.cluster.jobs[3].runs
    flexible = run(words, [(0.0, create + " Flags=FLEX")], until=120.0)
    assert [request.id for request, _ in flexible.rejected] == [3]


@pytest.mark.parametrize(("start", "begins"), [("now+61", True), ("now+60", False)])
@pytest.mark.parametrize("compiled", [None, False])
def test_a_run_ends_in_the_second_in_which_a_reservation_begins(
    start: str, begins: bool, compiled: bool | None
) -> None:
    """Slurm counts in whole seconds: what starts at 1.5 s for a minute is over at 61 s."""
    create = f"scontrol create reservation ReservationName=rack Nodes=n[1-4] StartTime={start} Duration=5 Users=bob"
    conf, request = parse_slurm_conf(CONF), JobRequest(1, 1.0, 10.0, parse_sbatch(["-n1", "-t1"]), "ada")
    found = Controller(conf, [request], [(0.2, lambda controller: scontrol(create, controller))], compiled=compiled)
    found.run(60.0)
    assert bool(found.cluster.jobs[1].runs) is begins


def test_a_job_of_a_reservation_starts_until_its_last_second_is_over() -> None:
    conf = CONF.replace("bf_interval=10", "bf_interval=1")
    create = "scontrol create reservation ReservationName=rack Nodes=n1 StartTime=now Duration=1 Users=ada"
    for begin, starts_at_all in ((10, True), (11, False)):
        words = ["--reservation=rack", "-t1", f"--begin=now+{begin}"]
        other = JobRequest(2, 50.2 + begin, 10.0, parse_sbatch(["-wn2", "-t1"]), "ada")  # For which the loops go round.
        requests = [JobRequest(1, 50.0, 10.0, parse_sbatch(words), "ada"), other]
        # With FLEX it may start until a sweep has taken the reservation away (recorded).
        for more in ("", " Flags=FLEX") if starts_at_all else ("",):
            command = (0.0, lambda controller, text=create + more: scontrol(text, controller))
            found = Controller(parse_slurm_conf(conf), requests, [command])
            found.run(200.0)
            assert bool(found.cluster.jobs[1].runs) is starts_at_all


@pytest.mark.parametrize(("text", "seconds"), [("now+60", 60), ("now+1hour", 3600), ("now+2minutes", 120)])
def test_times_of_reservations_are_written_as_for_sbatch(text: str, seconds: float) -> None:
    create = f"scontrol create reservation ReservationName=rack Nodes=n1 StartTime={text} Duration=10:00 Users=ada"
    found = run(["-t 1"], [(7.0, create)], until=10)
    assert not found.refused
    assert found.reservations.by_name["rack"].start == 7.0 + seconds


@pytest.mark.parametrize(
    ("words", "nodes"),
    [
        ("PartitionName=new", [2, 3]),
        ("PartitionName=new Flags=PART_NODES", [2, 3]),
        ("", [0, 1, 2, 3]),
    ],
)
def test_all_nodes_are_those_of_the_partition_that_is_named(words: str, nodes: list[int]) -> None:
    controller = Controller(parse_slurm_conf(CONF + "PartitionName=new Nodes=n[3-4]\n"), [])
    create = "scontrol create reservation Nodes=ALL StartTime=now Duration=1 Users=root ReservationName="
    scontrol(f"{create}r {words}", controller)
    assert controller.reservations.by_name["r"].nodes.nonzero()[0].tolist() == nodes
    with pytest.raises(InputError, match="does not take it"):
        scontrol(f"{create}s Flags=SPEC_NODES", controller)


def test_a_reservation_of_a_partition_alone_is_of_its_nodes() -> None:
    controller = Controller(parse_slurm_conf(CONF + "PartitionName=new Nodes=n[3-4]\n"), [])
    scontrol("scontrol create reservation Res=r Part=new StartTime=now Duration=1 Users=root", controller)
    one = controller.reservations.by_name["r"]
    assert (one.nodes.tolist(), one.flags) == ([False, False, True, True], {"PART_NODES"})


def test_a_job_that_was_cancelled_while_it_waited_can_be_requeued() -> None:
    found = run(["-N4 -t 5 --exclusive", "-N4 -t 5 --exclusive"], [(6.0, "scancel 2"), (10.0, "scontrol requeue 2")])
    job = found.cluster.jobs[2]
    assert not found.refused
    assert (job.state, len(job.runs)) == (State.COMPLETED, 1)
    assert job.runs[0].start >= 10 + 120


@pytest.mark.parametrize(("command", "start"), [("scancel 2", None), ("scontrol hold 2", 8)])
def test_a_pass_is_queued_for_a_hold_and_not_for_a_cancellation(command: str, start: int | None) -> None:
    # Job 2 waits for all nodes, and job 3 behind it; backfill goes round at 8.5.
    jobs = ["-N2 -n4 -t 5", "-N4 -t 5 --exclusive", "-N2 -n4 -t 9"]
    assert starts(run(jobs, [(6.0, command)], until=8.4))[3] == start


def test_the_waste_of_preempted_jobs_leaves_cancelled_ones_out() -> None:
    conf = parse_slurm_conf(CONF, "slurm.conf")
    requests = [JobRequest(number, 1.0, 1_000.0, parse_sbatch(["-t60"]), "ada") for number in (1, 2)]
    texts = [(500.0, "scontrol requeue 1,2"), (800.0, "scancel 2")]
    actions = [(at, lambda controller, text=text: scontrol(text, controller)) for at, text in texts]
    records = simulate(requests, conf, actions=actions).records
    waste = wasted_run(records)
    assert waste[0] == pytest.approx(0.5, abs=0.01)
    assert np.isnan(waste[1])
    last = records.runs["job_id"] == 2
    did = records.runs["end"][last][-1] - records.runs["start"][last][-1]
    assert records.jobs["run"].tolist() == [1_000.0, pytest.approx(did)]


def test_a_reservation_in_use_is_not_deleted() -> None:
    create = "scontrol create reservation ReservationName=rack Nodes=n1 StartTime=now Duration=10:00 Users=ada"
    found = run(["--reservation=rack -t 5"], [(0.0, create), (50.0, "scontrol delete reservation rack")])
    assert [words for _, words in found.refused] == ["Requested reservation is in use"]


@pytest.mark.parametrize(
    ("change", "start", "nodes"),
    [
        ("Features=new", 102, (2,)),
        ("NumNodes=2", 102, (0, 1)),
        ("ExcNodeList=n[1-2]", 102, (2,)),
        ("ReqNodeList=n4", 102, (3,)),
        ("StartTime=now+200", 231, (0,)),
        ("Dependency=afterany:1", 102, (0,)),
        ("Licenses=solver:2", 102, (0,)),
        ("Partition=hi", 102, (0,)),
        ("TimeMin=1", 102, (0,)),
    ],
)
def test_a_waiting_job_can_ask_for_something_else(change: str, start: float, nodes: tuple[int, ...]) -> None:
    found = run(["-N 4 -t 2 --exclusive", "-n 1 -t 5"], [(10.0, f"scontrol update JobId=2 {change}")])
    job = found.cluster.jobs[2]
    assert not found.refused
    assert (job.runs[0].start, job.runs[0].allocation.nodes) == (pytest.approx(start, abs=2), nodes)


def test_what_a_job_asks_for_now_is_what_it_would_have_got_at_its_submission() -> None:
    jobs = ["-N 4 -t 2 --exclusive", "-n 2 -t 5", "-n 2 -t 5 -C new -N 2"]
    found = run(jobs, [(10.0, "scontrol update JobId=2 NumNodes=2 Features=new")])
    assert found.cluster.jobs[2].wants["lo"] == found.cluster.jobs[3].wants["lo"]
    assert found.cluster.jobs[2].runs[0].allocation == found.cluster.jobs[3].runs[0].allocation


def test_a_job_keeps_the_cpus_of_nodes_that_it_does_without() -> None:
    found = run(["-N 4 -t 2 --exclusive", "-N 3 -t 5"], [(10.0, "scontrol update JobId=2 NumNodes=2")])
    assert found.cluster.jobs[2].runs[0].allocation.units == (2, 1)


def test_a_priority_that_is_given_holds_in_all_partitions() -> None:
    conf = CONF + "PriorityType=priority/multifactor\nPriorityWeightPartition=1000\n"
    conf += "PartitionName=top Nodes=ALL PriorityJobFactor=9\n"
    texts = [(10.0, "scontrol update JobId=2 Priority=5"), (10.0, "scontrol update JobId=3 Partition=hi,lo")]
    actions = [(at, lambda controller, text=text: scontrol(text, controller)) for at, text in texts]
    words = ["-N4 --exclusive", "-p top,lo", "-p lo --priority=7"]
    requests = [JobRequest(number, number, 100.0, parse_sbatch(each.split())) for number, each in enumerate(words, 1)]
    controller = Controller(parse_slurm_conf(conf, "slurm.conf"), requests, actions)
    controller.run(30.0)
    second, third = controller.cluster.jobs[2], controller.cluster.jobs[3]
    assert [second.number_in(name) for name in ("top", "lo")] == [5, 5]
    assert [third.number_in(name) for name in ("hi", "lo")] == [7, 7]


def test_a_job_without_a_limit_gets_that_of_the_partition_in_which_it_starts() -> None:
    conf = parse_slurm_conf(CONF.replace("PriorityTier=5", "MaxTime=30 DefaultTime=7"), "slurm.conf")
    for words, limit in (("-p lo,hi -w n1", 420), ("-p hi,lo -w n1", 420), ("-p lo -w n1", 7200)):
        controller = Controller(conf, [JobRequest(1, 1, 10.0, parse_sbatch(words.split()))])
        if words.startswith("-p lo,hi"):
            controller.cluster.partitions["lo"].state = "DOWN"
        controller.run(30.0)
        assert controller.cluster.jobs[1].runs[0].limit == limit


def test_a_site_factor_is_added_to_the_priority_and_stays() -> None:
    conf = CONF + "PriorityType=priority/multifactor\nPriorityWeightJobSize=1000\n"
    texts = [(10.0, "scontrol update JobId=2 SiteFactor=500"), (20.0, "scontrol update JobId=2 Nice=100")]
    actions = [(at, lambda controller, text=text: scontrol(text, controller)) for at, text in texts]
    requests = [JobRequest(number, number, 100.0, parse_sbatch(["-N4", "--exclusive"])) for number in (1, 2, 3)]
    controller = Controller(parse_slurm_conf(conf, "slurm.conf"), requests, actions)
    controller.run(30.0)
    second, third = controller.cluster.jobs[2], controller.cluster.jobs[3]
    # Its number was worked out again with the 16 CPUs that backfill had planned for it, which is 250 more.
    assert second.priority - third.priority == 400 + 250
    before = second.priority
    controller.policies.changed(second)
    controller.policies.set_priorities([second])
    assert second.priority == before


@pytest.mark.parametrize(("plugin", "ends"), [("basic", True), ("multifactor", False)])
def test_a_nice_value_ends_a_hold_with_basic_and_leaves_given_priorities(plugin: str, ends: bool) -> None:
    """Slurm's sources; the end of a hold was recorded on 26.05."""
    words = ["-N4 -t2", "-n1 -t2 --hold", "-n1 -t2 --priority=50"]
    texts = [(10.0, f"scontrol update JobId={number} Nice=7") for number in (2, 3)]
    actions = [(at, lambda controller, text=text: scontrol(text, controller)) for at, text in texts]
    requests = [JobRequest(number, number, 100.0, parse_sbatch(line.split())) for number, line in enumerate(words, 1)]
    controller = Controller(parse_slurm_conf(f"{CONF}PriorityType=priority/{plugin}\n"), requests, actions)
    controller.run(11.0)
    held, given = controller.cluster.jobs[2], controller.cluster.jobs[3]
    assert (held.priority, held.on_hold, given.priority) == (2 * ends, not ends, 50)
    controller.run(500.0)
    assert bool(held.runs) == ends


def test_jobs_are_cancelled_by_id_user_name_and_partition() -> None:
    jobs = ["-t 5 -J a", "-t 5 -J b", "-t 5 -J b -p hi", "-t 5 -p hi"]

    def cancelled(command: str) -> set[int]:
        found = run(jobs, [(20.0, command)])
        return {job.id for job in found.cluster.jobs.values() if job.state is State.CANCELLED}

    assert cancelled("scancel 1,3") == {1, 3}
    assert cancelled("scancel -u ada") == {1, 3}
    assert cancelled("scancel -n b -p hi") == {3}
    assert cancelled("scancel --partition=hi") == {3, 4}
    assert cancelled("scancel -v --ctld -n b -p hi") == {3}


def test_a_job_that_waits_in_several_partitions_is_not_cancelled_as_in_one_of_them() -> None:
    """Recorded on 22.05; scancel of 24.11 compares in the same way."""
    jobs = ["-N4 -t5 --exclusive", "-N4 -t5 --exclusive -p hi,lo", "-N4 -t5 --exclusive -p hi"]
    for partition, left in (("hi", {2}), ("lo", {2, 3}), ("lo,hi", {3})):
        found = run(jobs, [(20.0, f"scancel --state=PENDING --partition={partition}")]).cluster.jobs
        assert {number for number in (2, 3) if found[number].state is not State.CANCELLED} == left


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("scontrol update JobId=9 Nice=1", "there is no job '9'"),
        ("scontrol update JobId=2 Features=green", "Invalid feature specification"),
        ("scontrol update JobId=2 ReqNodeList=n9", "Invalid node name specified"),
        ("scontrol update JobId=1 NumCPUs=2", "does not wait"),
        ("scontrol update JobId=2 Nice=high", "high"),
        ("scontrol update JobId=2 Colour=red", "colour"),
        ("scontrol update JobId=2 Requeue=maybe", "0 or 1"),
        ("scontrol update JobId=2 ArrayTaskThrottle=2", "only an array"),
        ("scontrol update NodeName=n9 State=DOWN", "there is no node 'n9'"),
        ("scontrol create reservation ReservationName=r Nodes=n9", "there is no node 'n9'"),
        ("scontrol create reservation ReservationName=r NodeCnt=two", "two"),
        ("scontrol create reservation ReservationName=r Nodes=n1 StartTime=tomorrow", "StartTime=tomorrow"),
        ("scontrol update reservation ReservationName=r Duration=1", "there is no reservation 'r'"),
        ("scancel --colour=red", "of scancel the emulator takes"),
        ("sacctmgr modify user ada set fairshare=2", "no accounts"),
    ],
)
def test_a_command_that_cannot_be_carried_out_is_refused_with_its_second_and_changes_nothing(
    command: str, words: str
) -> None:
    jobs = ["-N 4 -t 2 --exclusive", "-n 1 -t 5"]
    found = run(jobs, [(10.0, command)])
    assert [at for at, _ in found.refused] == [10.0]
    assert words in found.refused[0][1]
    assert starts(found) == starts(run(jobs, []))


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("soon scontrol hold 1", "'soon' is no number of seconds"),
        ("nan scontrol hold 1", "no number of seconds"),
        ("10", "name what to do"),
        ("10 rm -rf /", "the emulator knows"),
        ("10 scontrol explode 1", "the emulator knows"),
        ("10 scontrol hold 'x", "quotation"),
    ],
)
def test_a_line_that_is_no_command_is_an_error_with_file_and_line(tmp_path: Path, line: str, words: str) -> None:
    file = tmp_path / "commands"
    file.write_text(f"# first\n5 scontrol hold 1\n\n{line}\n")
    with pytest.raises(InputError, match=f"commands:4.*{words}"):
        read_commands(file)


def test_a_scenario_is_run_with_its_own_configuration_and_commands_or_with_another(tmp_path: Path) -> None:
    file = tmp_path / "two.yaml"
    file.write_text(
        "scenario: two\nnote: ''\nslurm_conf: |\n"
        + "".join(f"  {line}\n" for line in CONF.strip().splitlines())
        + "jobs:\n- {name: a, id: 1, submit: 5, nodes: 4, time_limit: '2', run: 50}\n"
        "- {name: b, id: 2, submit: 6, nodes: 1, time_limit: '2', run: 50}\n"
        "actions:\n- [0, 'scontrol update NodeName=n[1-4] State=DRAIN']\n"
        "- [300, 'scontrol update NodeName=n[1-4] State=RESUME']\n"
    )
    done = CliRunner().invoke(slurm_sim, ["run", str(file), "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    assert read_run(tmp_path / "out").records.jobs["start"][1] >= 300
    other = tmp_path / "slurm.conf"
    other.write_text(CONF.replace("lo Nodes", "other Nodes"))
    words = ["run", str(file), "--slurm-conf", str(other), "--out", str(tmp_path / "other")]
    assert CliRunner().invoke(slurm_sim, words).exit_code == 0
    assert read_run(tmp_path / "other").records.jobs["partition"].tolist() == ["other", "other"]


def test_the_command_line_takes_them_and_tells_what_was_refused(tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_text(CONF)
    (tmp_path / "a.events").write_text("-dt 1 -e submit_batch_job | -sim-walltime 100 --uid=ada -N 4 -t 5 x\n")
    commands = ("0 scontrol update NodeName=n1 State=DOWN", "50 scontrol hold 7", "200 resume 1")
    (tmp_path / "todo").write_text("\n".join([*commands, "300 update NodeName=n1 State=RESUME"]))
    words = ["run", str(tmp_path / "a.events"), "--slurm-conf", str(tmp_path / "slurm.conf"), "--commands"]
    done = CliRunner().invoke(slurm_sim, [*words, str(tmp_path / "todo"), "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    told = " ".join(done.output.split())
    assert "todo:2: there is no job '7'" in told
    assert "todo:3: job 1 is not suspended" in told
    assert set(read_run(tmp_path / "out").about["refused"]) == {"50", "200"}
    assert 300 <= read_run(tmp_path / "out").records.jobs["start"][0] < 310
    missing = CliRunner().invoke(slurm_sim, [*words, str(tmp_path / "nowhere")])
    assert isinstance(missing.exception, InputError)
    alone = CliRunner().invoke(slurm_sim, ["run", "x.swf", "--commands", str(tmp_path / "todo")])
    assert alone.exit_code == 2
    assert "--slurm-conf" in alone.output


def test_a_command_goes_on_where_one_of_several_jobs_refuses() -> None:
    found = run(["-t 2", "-N 4 -t 9 --exclusive"], [(10.0, "scontrol update JobId=1,2 NumNodes=2")])
    assert len(found.refused) == 1
    assert len(found.cluster.jobs[2].runs[0].allocation.nodes) == 2


def test_a_job_that_has_run_is_requeued_and_one_that_waits_is_not() -> None:
    commands = [(200.0, "scontrol requeue 1"), (210.0, "scontrol requeue 1")]
    first = run(["-t 2"], commands)
    assert [round(run_.start) for run_ in first.cluster.jobs[1].runs] == [2, 351]
    assert len(first.refused) == 1


def test_a_task_that_waits_keeps_its_record_where_a_command_refuses_it() -> None:
    for verb in ("requeue", "suspend", "resume"):
        found = run(["-N4 -t9 --exclusive", "-n1 -t2 --array=0-3"], [(10.0, f"scontrol {verb} 2_2")], until=20)
        tasks = [job for job in found.cluster.jobs.values() if job.request.array == 2]
        assert len(found.refused) == 1 and all(job.waits_with_others for job in tasks)


def test_a_job_that_is_over_is_not_updated_even_if_it_comes_back() -> None:
    changes = ["Nice=50", "TimeLimit=1", "NumNodes=2", "Priority=7"]
    commands = [(200.0 + at, f"scontrol update JobId=1 {change}") for at, change in enumerate(changes)]
    found = run(["-N 1 -t 5"], [*commands, (250.0, "scontrol requeue 1")])
    assert [words.endswith("Job has already finished") for _, words in found.refused] == [True] * 4
    job = found.cluster.jobs[1]
    assert (job.nice, job.limit, len(job.runs[1].allocation.nodes)) == (0, 300.0, 1)


def test_a_hold_of_a_running_job_is_its_reason_and_tasks_get_one_priority_when_released() -> None:
    held = [(10.0, "scontrol hold 1"), (10.0, "scontrol hold 2")]
    words = ["-N 4 -t 2 --exclusive", "-t 2 --array=0-2"]
    found = run(words, held, until=20)
    assert {job.reason for job in found.cluster.jobs.values()} == {"JobHeldAdmin"}
    released = run(words, [*held, (15.0, "scontrol release 1,2")], until=16)
    first, *tasks = released.cluster.jobs.values()
    assert first.reason == "None"
    assert len({job.priority for job in tasks}) == 1


def test_of_tasks_that_started_together_the_last_gets_its_priority_first() -> None:
    conf = parse_slurm_conf(CONF + "PriorityType=priority/basic\n", "slurm.conf")
    texts = [(10.0, "scontrol hold 1"), (15.0, "scontrol release 1")]
    actions = [(at, lambda controller, text=text: scontrol(text, controller)) for at, text in texts]
    controller = Controller(
        conf, [JobRequest(1, 0.0, 60.0, parse_sbatch(["-n1", "-t2", "--array=0-2"]), "ada")], actions
    )
    controller.run(16)
    priorities = [job.priority for job in controller.cluster.jobs.values()]
    assert priorities == sorted(priorities)
    assert len(set(priorities)) == len(priorities)


@pytest.mark.parametrize(("before", "refused"), [([], 0), ([(5.0, "scontrol hold 2")], 1)])
def test_a_priority_releases_no_job_that_is_on_hold(before: list[tuple[float, str]], refused: int) -> None:
    words = ["-N 4 -t 1 --exclusive", "-N 4 -t 1 --exclusive"]
    found = run(words, [*before, (10.0, "scontrol update JobId=2 Priority=5000")], until=20)
    assert len(found.refused) == refused
    assert found.cluster.jobs[2].priority == (0 if refused else 5000)
    assert (found.cluster.jobs[2].reason == "JobHeldAdmin") == bool(refused)


def test_scancel_chooses_by_state_and_ends_no_job_by_other_signals() -> None:
    jobs = ["-N 4 -t 9 --exclusive", "-N 4 -t 9 --exclusive", "-N 4 -t 9 --exclusive"]
    commands = [(10.0, "scancel -s USR1 1"), (20.0, "scancel --state=PENDING 2"), (30.0, "scancel -t R 3")]
    ended = run(jobs, commands).cluster.jobs
    assert [ended[number].state.name for number in (1, 2, 3)] == ["COMPLETED", "CANCELLED", "COMPLETED"]


def test_a_signal_that_reaches_the_script_ends_it_unless_it_ignores_that() -> None:
    """Recordings of three versions show which signals end jobs; here what they cannot show."""
    jobs = [JobRequest(number, 0.0, 600.0, parse_sbatch(["-n1", "-t20"]), ignores_term=True) for number in (1, 2)]
    shared = "SelectType=select/cons_tres\nSelectTypeParameters=CR_Core\n"
    conf = parse_slurm_conf(f"{shared}NodeName=n1 CPUs=4\nPartitionName=p Nodes=n1 Default=YES\n")
    controller = Controller(conf, jobs)
    controller.run(100.0)
    for command in ("-b -s TERM 1", "--full --signal=SIGHUP 2", "-s CONT 1"):
        scancel(command.split(), controller)
    controller.run()
    first, second = controller.cluster.jobs[1], controller.cluster.jobs[2]
    assert (first.state, second.state, second.reason) == (State.COMPLETED, State.FAILED, "RaisedSignal:1(Hangup)")
    assert [job.runs[0].end > 600 for job in (first, second)] == [True, False]


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("-b -s STOP 1", "scontrol suspend stops jobs"),
        ("-s NOSUCH 1", "Unknown job signal: NOSUCH"),
        ("-s 99 1", "Unknown job signal: 99"),
        ("-b -s TERM 2", "can not be altered now"),
        ("-b", "name the jobs"),
    ],
)
def test_signals_that_are_not_taken_are_refused(command: str, says: str) -> None:
    jobs = [JobRequest(number, 0.0, 600.0, parse_sbatch(["-n4", "-t20"])) for number in (1, 2)]
    controller = Controller(parse_slurm_conf("NodeName=n1 CPUs=4\nPartitionName=p Nodes=n1 Default=YES\n"), jobs)
    controller.run(100.0)
    with pytest.raises(InputError, match=says):
        scancel(command.split(), controller)


def test_a_reservation_is_of_its_users_and_others_can_be_added() -> None:
    made = "scontrol create reservation ReservationName=r StartTime=now Duration=60 Nodes=n1 Users=bob"
    words = ["-t 9 --reservation=r", "-t 9 --reservation=r", "-t 9 --reservation=r"]
    found = run(words, [(0.5, made), (2.5, "scontrol update ReservationName=r Users+=ada")])
    assert [(request.id, why) for request, why in found.rejected] == [(1, "Access denied to requested reservation")]


@pytest.mark.parametrize(
    ("words", "before", "says"),
    [("-t1 -pp,q", "", "is in several partitions"), ("-t1", "hold 2", "waits without being on hold")],
)
def test_top_refuses_jobs_that_cannot_go_there(words: str, before: str, says: str) -> None:
    conf = parse_slurm_conf("NodeName=n1\nPartitionName=p Nodes=n1 Default=YES\nPartitionName=q Nodes=n1\n")
    jobs = [JobRequest(1, 0.0, 500.0, parse_sbatch(["-t10"])), JobRequest(2, 1.0, 5.0, parse_sbatch(words.split()))]
    controller = Controller(conf, jobs)
    controller.run(10.0)
    if before:
        scontrol(before, controller)
    with pytest.raises(InputError, match=says):
        scontrol("top 2", controller)


def test_a_limit_below_the_least_one_is_refused() -> None:
    words = ["-N 4 -t 2 --exclusive", "-n 1 -t 9 --time-min=3"]
    found = run(words, [(10.0, "scontrol update JobId=2 TimeLimit=2"), (11.0, "scontrol update JobId=2 TimeLimit=4")])
    assert found.refused[0][1].startswith("Invalid time-min specification")
    assert found.cluster.jobs[2].runs[0].limit == 240


def test_any_update_of_a_job_works_out_its_priority_again() -> None:
    conf = CONF + "PriorityType=priority/multifactor\nPriorityWeightJobSize=1000\n"
    action = (10.0, lambda controller: scontrol("scontrol update JobId=2 TimeLimit=5", controller))
    requests = [JobRequest(number, number, 100.0, parse_sbatch(["-N4", "--exclusive"])) for number in (1, 2, 3)]
    controller = Controller(parse_slurm_conf(conf, "slurm.conf"), requests, [action])
    controller.run(12.0)
    # It counts with the CPUs that backfill had planned for it.
    assert controller.cluster.jobs[2].priority - controller.cluster.jobs[3].priority == 250


@pytest.mark.parametrize("form", [False, True])
@pytest.mark.parametrize(("partition", "start"), [("lo", 145), ("hi", 275)])
def test_a_job_that_goes_on_over_others_keeps_its_cores_if_they_are_of_another_partition(
    partition: str, start: float, form: bool
) -> None:
    """Job 2 runs where job 1 was suspended, and job 3 waits for both of them, or for job 2 alone (recorded)."""
    words = ((1, 250.0, f"-N4 -n8 -t9 -p{partition}"), (2, 100.0, "-N4 -n8 -t9"), (3, 50.0, "-N1 -n1 -t9"))
    requests = [JobRequest(number, number, run, parse_sbatch(line.split()), "ada") for number, run, line in words]
    texts = [(20.0, "scontrol suspend 1"), (60.0, "scontrol resume 1")]
    actions = [(at, lambda controller, text=text: scontrol(text, controller)) for at, text in texts]
    controller = Controller(parse_slurm_conf(CONF, "slurm.conf"), requests, actions, compiled=form)
    controller.run(2000)
    assert controller.cluster.jobs[3].runs[0].start == pytest.approx(start, abs=30)
    assert (controller.cluster.free.units == controller.cluster.machine.units).all()


MADE = "scontrol create reservation ReservationName=r Nodes=n1 StartTime=now+60 Duration=5 Users=ada Flags=MAINT"


def test_flags_of_a_reservation_without_effect_are_named(caplog: pytest.LogCaptureFixture) -> None:
    words = f"{MADE},USER_DELETE".replace("Nodes=n1", "NodeCnt=1")
    found = run([], [(1.0, words)], until=2)
    assert not found.refused
    assert caplog.messages == [
        "reservation r: USER_DELETE: no effect here; known are ANY_NODES, DAILY, FLEX, HOURLY, IGNORE_JOBS, MAGNETIC, "
        "MAINT, NO_HOLD_JOBS_AFTER, OVERLAP, PART_NODES, PURGE_COMP, REPLACE, REPLACE_DOWN, STATIC_ALLOC, TIME_FLOAT, "
        "WEEKDAY, WEEKEND, WEEKLY"
    ]


@pytest.mark.parametrize("change", ["Flags=REPLACE", "Flags+=replace_down", "Flags-=REPLACE"])
def test_a_reservation_of_named_nodes_is_not_given_others(change: str) -> None:
    made = MADE.replace(" Flags=MAINT", "")
    found = run([], [(1.0, made), (2.0, f"scontrol update ReservationName=r {change}")], until=3)
    assert len(found.refused) == 1
    assert not found.reservations.by_name["r"].flags


def test_with_license_only_a_reservation_is_of_any_nodes() -> None:
    made = MADE.replace("Nodes=n1", "Licenses=solver:1").replace("Flags=MAINT", "Flags=LICENSE_ONLY")
    found = run([], [(1.0, made)], until=2)
    assert found.reservations.by_name["r"].flags == {"ANY_NODES"}


@pytest.mark.parametrize("flag", ["REPLACE", "replace_down"])
@pytest.mark.parametrize(
    ("nodes", "error"),
    [
        ("Nodes=n1", "Invalid node name specified"),
        ("Nodes=ALL", "Invalid node name specified"),
        ("CoreCnt=1", "CPU count specification invalid"),
    ],
)
def test_a_reservation_that_replaces_nodes_names_none(flag: str, nodes: str, error: str) -> None:
    found = run([], [(1.0, f"{MADE},{flag}".replace("Nodes=n1", nodes))], until=2)
    assert [error in words for _, words in found.refused] == [True]
    assert not found.reservations.by_name


def test_an_update_of_a_job_works_out_its_priority_once(monkeypatch: pytest.MonkeyPatch) -> None:
    controller = run(["-N 4 -t 2 --exclusive", "-n 1 -t 9"], [], until=5)
    worked_out: list[list[int]] = []
    monkeypatch.setattr(
        controller.policies, "set_priorities", lambda jobs, new=False: worked_out.append([job.id for job in jobs])
    )
    scontrol("update JobId=2 NumNodes=2 Partition=hi Features=old", controller)
    assert worked_out == [[2]]
    assert controller.cluster.jobs[2].options.partitions == ("hi",)


def test_jobs_that_a_reservation_draws_stay_in_it_once_they_have_started() -> None:
    words = "ReservationName=m Nodes=n[1-2] StartTime=now Duration=60 Users=ada,bob Flags=MAGNETIC"
    # The pass goes on to the entries outside, for the third job does not fit.
    lines = ["-n 1 -t 9 --begin=now+30", "-n 1 -t 9 --begin=now+29", "-N 4 --exclusive -t 9 --begin=now+28"]
    found = run(lines, [(1.0, f"scontrol create reservation {words}")], until=60)
    jobs = [found.cluster.jobs[number] for number in (1, 2)]
    assert [(job.state, job.reservation) for job in jobs] == [(State.RUNNING, "m")] * 2
    assert all(set(job.run.allocation.nodes) <= {0, 1} for job in jobs)
    with pytest.raises(InputError, match="in use"):
        scontrol("delete ReservationName=m", found)


def test_a_quality_of_service_without_accounts_is_said_to_have_no_effect(caplog: pytest.LogCaptureFixture) -> None:
    found = run([], [(1.0, "scontrol update PartitionName=hi QOS=part")], until=2)
    assert not found.refused
    assert caplog.messages == ["partition hi: QOS=part: no effect, for there are no accounts"]


def test_flags_of_a_reservation_are_added_and_taken_away(caplog: pytest.LogCaptureFixture) -> None:
    words = [(2.0, "Flags=FLEX"), (3.0, "Flags+=USER_DELETE,IGNORE_JOBS"), (4.0, "Flags-=MAINT,USER_DELETE")]
    found = run([], [(1.0, MADE), *((at, f"scontrol update ReservationName=r {each}") for at, each in words)], until=5)
    assert not found.refused
    assert found.reservations.by_name["r"].flags == {"FLEX", "IGNORE_JOBS"}
    assert len(caplog.messages) == 2
    assert "r: USER_DELETE: no effect here" in caplog.messages[0]


@pytest.mark.parametrize(
    ("change", "start", "length"),
    [
        ("Start=now+100", 102, 300),
        ("StartTime=now+100 EndTime=now+200", 102, 100),
        ("Duration+=9", 61, 840),
        ("Dur-=3", 61, 120),
        ("Duration=9 StartTime=now+100", 102, 540),
    ],
)
def test_a_reservation_of_a_stated_duration_keeps_it(change: str, start: float, length: float) -> None:
    found = run([], [(1.0, MADE), (2.0, f"scontrol update Reservation=r {change}")], until=5)
    one = found.reservations.by_name["r"]
    assert not found.refused
    assert (one.start, one.end - one.start) == (start, length)


def test_a_reservation_that_has_begun_does_not_begin_later() -> None:
    found = run([], [(1.0, MADE), (70.0, "scontrol update Res=r StartTime=now+100")], until=75)
    assert "already started" in found.refused[0][1]


@pytest.mark.parametrize(("flag", "days"), [("HOURLY", 1 / 24), ("DAILY", 1), ("WEEKLY", 7)])
def test_a_reservation_comes_again(flag: str, days: float) -> None:
    found = run([], [(1.0, f"{MADE},{flag}")], until=500)
    one = found.reservations.by_name["r"]
    assert (one.start, one.end - one.start) == (61 + days * 86_400, 300)


@pytest.mark.parametrize("cores", ["CoreCnt=3", "CoreCo=3", "CPUCnt=3"])
def test_a_reservation_of_cores_comes_again_with_them(cores: str) -> None:
    create = f"scontrol create reservation Res=r {cores} Start=now+60 Dur=5 Part=lo Users=ada Flags=DAILY"
    found = run([], [(1.0, create), (2.0, "scontrol update Res=r StartTime=now+100")], until=500)
    one = found.reservations.by_name["r"]
    assert not found.refused
    assert one.cores is not None
    assert (one.start, one.end - one.start, one.cores.tolist()) == (102 + 86_400, 300, [2, 1, 0, 0])


def test_nodes_of_a_number_that_are_lost_are_replaced() -> None:
    create = "scontrol create reservation Res=r TRES=node=2 StartTime=now+60 Duration=5 Users=ada"
    found = run([], [(1.0, create), (2.0, "scontrol update NodeName=n1 State=DRAIN")], until=5)
    assert found.reservations.by_name["r"].nodes.tolist() == [False, True, True, False]


@pytest.mark.parametrize("phase", [0.1234567, 1 / 3, 0.7654321, 2 / 3, 0.9999999])
def test_a_reservation_comes_again_by_any_clock(phase: float) -> None:
    """Its end need not be a whole number of microseconds."""
    actions = [(1.0, lambda controller: scontrol(f"{MADE},HOURLY", controller))]
    found = Controller(parse_slurm_conf(CONF), [], actions, Timing(second_phase=phase))
    found.run(8_000.0)
    one = found.reservations.by_name["r"]
    assert one.start == pytest.approx(61 + 3 * 3600, abs=1)
    assert one.end - one.start == pytest.approx(300)


def test_a_reservation_that_was_over_long_ago_comes_again_in_the_future() -> None:
    found = run([], [(1.0, f"{MADE},HOURLY")], until=5)
    found.cluster.now = 10_000.0
    one = found.reservations.by_name["r"]
    assert found.reservations.advance(0) == [one]
    assert one.start == 61 + 3 * 3600


@pytest.mark.parametrize(
    ("flag", "from_thursday", "from_monday"),
    [("WEEKDAY", {1, 4, 5, 6, 7, 8, 11}, {1, 2, 3, 4, 7, 8, 9, 10, 11}), ("WEEKEND", {2, 3, 9, 10, 16}, {5, 6, 12})],
)
def test_a_reservation_comes_again_on_days_of_the_week(
    flag: str, from_thursday: set[int], from_monday: set[int]
) -> None:
    """Days are those of UTC; where it is not known when second 0 was, it was the begin of a Thursday."""
    monday = 1_700_438_400

    def begins(epoch: int) -> set[int]:
        actions = [(1.0, lambda controller: scontrol(f"{MADE},{flag}", controller))]
        found, days = Controller(parse_slurm_conf(CONF), [], actions, epoch=epoch), set[int]()
        for day in range(11):
            found.run(day * 86_400.0 + 500)
            days.add(int(found.reservations.by_name["r"].start // 86_400))
        return days

    assert begins(0) == from_thursday
    assert begins(monday) == from_monday


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("CoreCnt=2", "of a reservation the emulator takes ReservationName, StartTime"),
        ("Licenses=solver:9", "Invalid license specification"),
        ("NodeCnt=99", "Requested nodes are busy"),
        ("Duration=9 Colour=red", "not 'colour'"),
        ("StartTime+=9", "not 'starttime+'"),
        ("Duration=9 Flags=SPEC_NODES", "does not take it"),
        ("StartTime=now EndTime=soon", "EndTime=soon"),
        ("EndTime=now", "Invalid time specified"),
        ("Duration-=9", "Invalid time specified"),
        ("rack Duration=9", "not 'rack'"),
    ],
)
def test_a_refused_update_of_a_reservation_leaves_it_as_it_was(change: str, words: str) -> None:
    found = run([], [(1.0, MADE), (2.0, f"scontrol update ReservationName=r {change}")], until=5)
    one = found.reservations.by_name["r"]
    assert words in found.refused[0][1]
    assert (one.start, one.end - one.start, one.flags) == (61, 300, {"MAINT"})
    found = run([], [(1.0, f"{MADE} Colour=red")], until=5)
    assert "not 'colour'" in found.refused[0][1]


@pytest.mark.parametrize(
    ("flags", "other", "refused"),
    [
        ("IGNORE_JOBS", "IGNORE_JOBS", "Requested reservation overlaps with another reservation"),
        ("OVERLAP,IGNORE_JOBS", "IGNORE_JOBS", ""),
        ("IGNORE_JOBS", "MAINT,IGNORE_JOBS", ""),
        ("OVERLAP", "IGNORE_JOBS", "Requested nodes are busy"),
    ],
)
def test_reservations_overlap_if_one_of_them_says_so(flags: str, other: str, refused: str) -> None:
    """IGNORE_JOBS says nothing of other reservations (recorded on 22.05; Slurm's source)."""
    create = "scontrol create reservation StartTime=now+60 Duration=5 Nodes=n1 Users=ada ReservationName="
    commands = [(5.0, f"{create}a Flags={other}"), (6.0, f"{create}b Flags={flags}")]
    found = run(["-N4 -n8 -t20"], commands, until=20)
    assert [text for _, text in found.refused] == ([refused] if refused else [])


def test_a_reservation_is_not_moved_over_another() -> None:
    create = "scontrol create reservation StartTime=now+60 Duration=5 Users=ada ReservationName="
    commands = [
        *((1.0, f"{create}a Nodes=n1"), (2.0, f"{create}b Nodes=n2")),
        (3.0, "scontrol update ReservationName=b Nodes=n1"),
    ]
    found = run([], commands, until=5)
    assert [text for _, text in found.refused] == ["Requested reservation overlaps with another reservation"]
    assert found.reservations.by_name["b"].nodes.tolist() == [False, True, False, False]


@pytest.mark.parametrize(
    ("hold", "release", "first"),
    [("2_[2-3]", "2_2,2_3", [2, 3, 1, 4]), ("2_3", "2_3", [3, 1, 2, 4]), ("2", "2", [1, 2, 3, 4])],
)
def test_tasks_with_a_record_of_their_own_go_before_the_others_of_their_array(
    hold: str, release: str, first: list[int]
) -> None:
    """Each task that a command names gets one while others wait (recorded on 22.05; Slurm's source)."""
    conf = parse_slurm_conf(CONF + "PriorityType=priority/multifactor\nPriorityWeightPartition=10\n", "slurm.conf")
    jobs = [JobRequest(1, 0.0, 60.0, parse_sbatch(["-N4", "-n8", "-t1"]), "ada")]
    jobs.append(JobRequest(2, 1.0, 60.0, parse_sbatch(["-N4", "-n8", "-t1", "--array=1-4"]), "ada"))
    texts = [(10.0, f"scontrol hold {hold}"), (20.0, f"scontrol release {release}")]
    actions = [(at, lambda controller, text=text: scontrol(text, controller)) for at, text in texts]
    controller = Controller(conf, jobs, actions)
    controller.run(2000)
    assert not controller.refused
    tasks = [job for job in controller.cluster.jobs.values() if job.request.array is not None]
    assert [job.request.task for job in sorted(tasks, key=lambda job: job.runs[0].start)] == first


def test_the_nodes_of_a_reservation_change_with_their_number() -> None:
    """Idle nodes go first; more are chosen as for a new one, and IGNORE_JOBS takes those of jobs."""

    def nodes(*changes: str, flags: str = "") -> list[int]:
        made = f"scontrol create reservation ReservationName=r StartTime=now+60 Duration=5 NodeCnt=2 Users=ada {flags}"
        done = [(3.0 + at, f"scontrol update ReservationName=r {change}") for at, change in enumerate(changes)]
        found = run(["-N1 -t10"], [(2.0, made), *done], until=20)
        assert not found.refused, found.refused
        return np.flatnonzero(found.reservations.by_name["r"].nodes).tolist()

    assert nodes() == [1, 2]
    assert nodes("NodeCnt=3") == [1, 2, 3]
    assert nodes("NodeCnt=3", "NodeCnt=1") == [3]
    assert nodes("NodeCnt=4", flags="Flags=IGNORE_JOBS") == [0, 1, 2, 3]
    assert nodes("NodeCnt=4", "NodeCnt=1", flags="Flags=IGNORE_JOBS") == [0]
    assert nodes("Nodes+=n4") == [1, 2, 3]
    assert nodes("Nodes-=n2") == [2]


@pytest.mark.parametrize(
    ("version", "nodes"),
    [("22.05", [{1}, {1, 2}, {1, 2, 3}, {1, 2, 3, 4}]), ("24.11", [{6}, {6, 8}, {1, 2, 6}, {1, 2, 6, 8}])],
)
def test_idle_nodes_go_to_a_reservation_before_those_that_jobs_leave_in_time(version, nodes) -> None:
    """Recorded on three versions: from 24.11 on it gets what a job would that starts now, or as the first jobs end."""
    text = CONF.replace("n[1-2] CPUs=2 Feature=old", "n[1-8] CPUs=4").replace(
        "NodeName=n[3-4] CPUs=2 Feature=new\n", ""
    )
    jobs = ["-wn1 -n4 -t1", "-wn2 -n2 -t1", "-wn3 -n4 -t3", "-wn4 -n1 -t4", "-wn5 -n4 -t2", "-wn7 -n4 -t20"]
    requests = [
        JobRequest(number, 0.5 * number, 30.0, parse_sbatch(line.split()), "ada") for number, line in enumerate(jobs, 1)
    ]
    made = "scontrol create reservation ReservationName=r{0} StartTime=now+{1} Duration=2 NodeCnt={0} Users=ada"
    actions = [(5.0 + count, partial(scontrol, made.format(count, 170 + 130 * count))) for count in (1, 2, 3, 4)]
    found = Controller(parse_slurm_conf(text, "slurm.conf"), requests, actions, slurm_version=version)
    found.run(20.0)
    assert not found.refused
    assert [set(np.flatnonzero(one.nodes) + 1) for one in found.reservations.by_name.values()] == nodes


@pytest.mark.parametrize(("version", "nodes"), [("22.05", (0, 1)), ("24.11", (0,))])
def test_an_update_may_name_more_nodes_than_a_job_has_tasks(version, nodes) -> None:
    """Recorded: 22.05 gives it all of them, later versions as many as it has tasks."""
    requests = [
        JobRequest(number, 0.0, 20.0, parse_sbatch(words), "ada")
        for number, words in ((1, ["-N4", "-n8"]), (2, ["-n1"]))
    ]
    actions = [(5.0, partial(scontrol, "scontrol update JobId=2 ReqNodeList=n[1-2]"))]
    found = Controller(parse_slurm_conf(CONF, "slurm.conf"), requests, actions, slurm_version=version)
    found.run(60.0)
    assert found.cluster.jobs[2].runs[0].allocation.nodes == nodes


def test_scancel_takes_jobs_on_nodes_and_of_accounts() -> None:
    jobs = ["-N1 -w n1 -t5", "-N2 -w n[2-3] -t5 -A phys", "-N4 --exclusive -t5 -A phys"]

    def cancelled(command: str) -> set[int]:
        return {job.id for job in run(jobs, [(20.0, command)]).cluster.jobs.values() if job.state is State.CANCELLED}

    assert cancelled("scancel -w n[3-4]") == {2}
    assert cancelled("scancel --nodelist=n1") == {1}
    assert cancelled("scancel -A phys") == {2, 3}
    assert cancelled("scancel -A phys -w n3") == {2}


def test_fields_that_change_no_schedule_are_taken_and_others_are_named() -> None:
    update = "scontrol update JobId=2"
    found = run(
        ["-N4 --exclusive -t5", "-N4 --exclusive -t5"],
        [
            (10.0, f"{update} Comment=hello MailUser=ada WCKey=x"),
            (11.0, f"{update} Nice"),
            (12.0, "scontrol update job 2 timelimit 7"),
            (13.0, f"{update} OverSubscribe=no"),
            (14.0, f"{update} CPUsPerTask=2"),
            (15.0, f"{update} JobName=later"),
            (16.0, "scontrol update JobName=later Contiguous=perhaps"),
            (17.0, f"{update} EndTime=now+60"),
        ],
        until=90.0,
    )
    job = found.cluster.jobs[2]
    assert (job.nice, job.limit, job.name) == (100, 420.0, "later")
    told = [words for _, words in found.refused]
    assert len(told) == 4
    assert "OverSubscribe=no is not emulated" in told[0]
    assert "of a job the emulator can update" in told[1]
    assert "neither yes, no, nor a number" in told[2]
    assert told[3].endswith("Job is not running for job 2")


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("scontrol update JobId=1 Contiguous", "Invalid input: Contiguous"),
        ("scontrol update JobId=1 timelimit 5 6", "Invalid input: 6"),
        ("scontrol update 1 2 TimeLimit=5", "Invalid input: 2"),
        ("scontrol update JobId=1", "No changes specified"),
        ("scontrol update JobId= Nice=5", "there is no job ''"),
        ("scontrol update JobName= Nice=5", "No jobs with name ''"),
        ("scontrol update JobName=other Nice=5", "No jobs with name 'other'"),
        ("scontrol update JobId=1 EndTime=2030-01-01", "'2030-01-01' is not written as now"),
        ("scontrol update JobId=1 EndTime=never", "'never' is not written as now"),
        ("scancel -w /tmp/nodes", "a file of nodes is not read"),
        ("scancel -w n[9", "'n[9' is no host list"),
    ],
)
def test_what_is_wrong_in_a_command_is_named_and_no_job_changes(command, words) -> None:
    found = run(["-t5"], [(20.0, command)])
    assert [words in told for _, told in found.refused] == [True]
    job = found.cluster.jobs[1]
    assert (job.nice, job.limit, job.state) == (0, 300.0, State.COMPLETED)


@pytest.mark.parametrize(
    ("first", "second", "command", "start"),
    [
        ("-J a", "-H -J y", "scontrol update JobId=3 JobName=a", None),
        ("-J x", "-H -J a", "scontrol update JobId=3 JobName=b", 20.0),
        ("-J a", "-H -J y", "scontrol update JobId=1 JobName=b", 20.0),
    ],
)
def test_jobs_that_wait_for_all_of_a_name_go_by_its_new_name(first, second, command, start) -> None:
    """The last job waits for others of its name and user; the first one runs for 100 s, the second one is on hold."""
    of_bob = "-n1 -t1"
    words = [f"{first} -n1 -t5", of_bob, second, of_bob, "-J a -n1 -t5 -d singleton"]
    found = run(words, [(20.0, command)], until=400.0)
    runs = found.cluster.jobs[5].runs
    assert not found.refused
    assert (runs == []) if start is None else (start <= runs[0].start < 90)


@pytest.mark.parametrize("named", ["lo,hi", "hi,lo"])
def test_the_default_time_of_the_partition_that_is_named_first_counts_as_stated(named) -> None:
    """The job starts in hi either way, which is of a higher tier and has no DefaultTime."""
    conf = parse_slurm_conf(CONF.replace("MaxTime=2:00:00", "MaxTime=2:00:00 DefaultTime=1"), "slurm.conf")
    found = Controller(conf, [JobRequest(1, 0.0, 30.0, parse_sbatch(["-n1", "-p", named]), "ada")])
    found.run(20.0)
    job = found.cluster.jobs[1]
    assert (job.named_first.name, job.has_limit) == (named[:2], named.startswith("lo"))
    assert job.limit == 60.0 if job.has_limit else job.limit > 60.0


def test_a_new_name_counts_before_that_of_the_log() -> None:
    request = JobRequest(1, 0.0, 30.0, parse_sbatch(["-n1"]), "ada", called="old")
    rename = partial(scontrol, "scontrol update JobId=1 JobName=new")
    found = Controller(parse_slurm_conf(CONF, "slurm.conf"), [request], [(5.0, rename)])
    found.run(10.0)
    assert found.cluster.jobs[1].name == "new"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ("JobId=2 StartTime=2030-01-01", "'2030-01-01' is not written as now"),
        ("JobId=2 Deadline=12:00", "'12:00' is not written as now"),
        ("JobId=2 Nice=x", "'x' is no whole number"),
        ("JobId=2 Priority=high", "'high' is no whole number"),
        ("JobId=2 SiteFactor=", "'' is no whole number"),
        ("JobId=2 NumCPUs=1.5", "'1.5' is no whole number"),
        ("JobId=2 NumNodes=x", "--nodes: 'x' is neither a number of nodes"),
        ("NodeName=n1 State=DOWN foo", "Invalid input: foo (a field is written as NAME=VALUE)"),
    ],
)
def test_values_that_an_update_cannot_take_are_named(fields: str, words: str) -> None:
    found = run(["-N4 --exclusive -t5", "-N4 --exclusive -t5"], [(10.0, f"scontrol update {fields}")], until=20.0)
    assert len(found.refused) == 1
    assert words in found.refused[0][1]
    assert all(found.cluster.machine.up)


def test_a_job_that_is_being_preempted_gets_no_other_end() -> None:
    conf = CONF.replace("PartitionName=lo", "PreemptType=preempt/partition_prio\nPreemptMode=REQUEUE\nPartitionName=lo")
    conf = conf.replace("PartitionName=lo Nodes=ALL", "PartitionName=lo Nodes=ALL GraceTime=60 PreemptMode=REQUEUE")
    requests = [
        JobRequest(number, float(number), 500.0, parse_sbatch(words.split()), "ada", ignores_term=True)
        for number, words in ((1, "-N4 --exclusive -t20"), (2, "-N4 --exclusive -t20 -p hi"))
    ]
    actions = [(30.0, partial(scontrol, "scontrol update JobId=1 EndTime=now+300"))]
    found = Controller(parse_slurm_conf(conf, "slurm.conf"), requests, actions)
    found.run(40.0)
    assert found.cluster.jobs[1].vacating
    assert [words for _, words in found.refused] == ["Job is not running for job 1"]


def test_a_running_job_ends_at_the_end_that_it_is_given() -> None:
    """Recorded on three versions: its end is exact; its limit changes by whole minutes, here of -91 s by one."""
    found = run(["-N1 -t3"], [(40.0, "scontrol update JobId=1 EndTime=now+20")])
    job = found.cluster.jobs[1]
    assert (job.state, job.limit) == (State.TIMEOUT, 120.0)
    assert 59 <= job.runs[0].end <= 60 + 31  # a sweep that counts in whole seconds


def test_a_reservation_without_jobs_is_over_early_with_purge_comp() -> None:
    """A sweep finds it without jobs; if it has none until as long afterwards as is stated, a sweep removes it."""

    def start(flags: str, *more: str) -> float:
        made = f"scontrol create reservation ReservationName=r Nodes=ALL StartTime=now Duration=300 Users=ada {flags}"
        requests = ["-N4 -t1", *more]
        found = run(requests, [(0.5, made)], until=30_000)
        assert not found.refused
        job = found.cluster.jobs[1]
        return job.runs[0].start if job.runs else -1.0

    assert start("") > 18_000
    assert 300 <= start("Flags=PURGE_COMP") <= 300 + 62
    assert 60 <= start("Flags=PURGE_COMP=1") <= 60 + 62
    # A job of the reservation works for 100 s.
    assert 160 <= start("Flags=PURGE_COMP=1", "-N1 -t2 --reservation=r", "-N1 -t2 --reservation=r") <= 160 + 92


@pytest.mark.parametrize("more", [[], [JobRequest(2, 160.0, 10.0, parse_sbatch(["-n1", "-H"]), "ada")]])
def test_a_job_of_a_reservation_puts_off_its_purge_whatever_else_comes(more: list[JobRequest]) -> None:
    made = "scontrol create reservation ReservationName=r Nodes=ALL StartTime=now Duration=300 Flags=PURGE_COMP=5"
    jobs = [JobRequest(1, 100.0, 10.0, parse_sbatch(["-n1", "-t100", "--reservation=r"]), "ada"), *more]
    conf = parse_slurm_conf(CONF, "slurm.conf")
    found = Controller(conf, jobs, [(0.5, lambda controller: scontrol(f"{made} Users=ada", controller))])
    # A sweep at 150 s at the latest finds it without jobs, and one 300 s later ends it.
    for second, there in ((405.0, True), (485.0, False)):
        found.run(second)
        assert ("r" in found.reservations.by_name) == there
    assert not found.refused


def test_a_reservation_that_comes_again_does_so_when_it_would_have_with_purge_comp() -> None:
    made = "scontrol create reservation ReservationName=r Nodes=ALL StartTime=now Duration=30 Users=ada"
    found = run(["-N4 -t1"], [(0.5, f"{made} Flags=PURGE_COMP=1,HOURLY")], until=3_000)
    assert not found.refused
    assert 60 <= found.cluster.jobs[1].runs[0].start <= 60 + 62
    one = found.reservations.by_name["r"]
    assert (one.start // 60, one.end // 60, one.idle_since) == (60, 90, None)
    found.run(3_650)
    assert one.idle_since is not None
    assert one.idle_since >= 3_600


def test_a_reservation_of_all_nodes_is_one_until_others_are_stated() -> None:
    def flags(made: str, *changes: str) -> set[str]:
        made = f"scontrol create reservation ReservationName=r StartTime=now Duration=5 Users=ada {made}"
        done = [(2.0 + at, f"scontrol update ReservationName=r {change}") for at, change in enumerate(changes)]
        found = run(["-N1 -t1 -H"], [(0.5, made), *done], until=20)
        assert not found.refused, found.refused
        return set(found.reservations.by_name["r"].flags)

    name = parse_slurm_conf(CONF, "slurm.conf").partitions[0].name
    assert flags("Nodes=ALL") == flags("Nodes=n1", "Nodes=ALL") == {"ALL_NODES"}
    assert flags(f"Nodes=ALL PartitionName={name}") == {"PART_NODES"}
    for change in ("NodeCnt=1", "Nodes=n2", "Nodes-=n1"):
        assert flags("Nodes=ALL", change) == set()
    # A flag that only Slurm gives is named as without effect, and has none.
    assert flags("Nodes=n1 Flags=ALL_NODES") == set()


def test_resources_of_each_node_are_stated_once_and_count_for_all_that_are_named() -> None:
    made = "scontrol create reservation ReservationName=r StartTime=now Duration=5 Users=ada"
    found = run(["-n1 -t1 -H"], [(0.5, f"{made} TRES=node=2 TRESPerNode=cpu=1")], until=20)
    assert "specified more than once" in found.refused[0][1]
    found = run(["-n1 -t1 -H"], [(0.5, f"{made} Nodes=n[2-3] TRESPerNode=cpu=1")], until=20)
    cores = found.reservations.by_name["r"].cores
    assert cores is not None
    assert cores.sum() == 2
    for nodes, many in (("Nodes=ALL", 4), ("PartitionName=hi Nodes=ALL", 4), ("NodeCnt=3", 3)):
        found = run(["-n1 -t1 -H"], [(0.5, f"{made} {nodes} TRESPerNode=cpu=1")], until=20)
        cores = found.reservations.by_name["r"].cores
        assert cores is not None
        assert cores.sum() == many
    commands = [(0.5, f"{made} Nodes=n[2-3] TRESPerNode=cpu=1"), (2.0, "scontrol update Res=r Nodes=n2")]
    found = run(["-n1 -t1 -H"], commands, until=20)
    assert found.reservations.by_name["r"].cores is None


def test_a_job_that_was_requeued_counts_for_those_after_it_from_its_next_start() -> None:
    found = run(["-n1 -t5", "-n1 -t5 -d after:1+1"], [(25.0, "scontrol requeue 1")])
    first, second = (found.cluster.jobs[number] for number in (1, 2))
    assert len(first.runs) == 2
    assert first.runs[1].start + 60 <= second.runs[0].start < first.runs[1].start + 70


def test_other_numbers_of_tasks_of_several_cpus_have_a_job_wait_for_ever() -> None:
    """As real Slurms 24.11 and 26.05 had it, also where there are fewer."""
    words = ["-N4 --exclusive", "-n3 -c2", "-n1 -c2", "-n2 -c2", "-n3 -c1"]
    updates = [(20.0 + number, f"update JobId={number} NumTasks=2") for number in range(2, 6)]
    found = run(words, updates, until=1_000.0)
    states = [found.cluster.jobs[number].state for number in range(2, 6)]
    assert states == [State.PENDING, State.PENDING, State.COMPLETED, State.COMPLETED]
