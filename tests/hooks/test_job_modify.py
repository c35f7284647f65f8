"""job_modify: a chain that changes or refuses what an operator's command changes of a job."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from emulator import Result, simulate
from emulator.config.slurm import parse_slurm_conf
from emulator.operator.commands import TimedCommand
from emulator.operator.update import fields_of, update_of
from emulator.testing import call as call_anywhere
from emulator.workload.request import JobRequest
from emulator.workload.sbatch import parse_sbatch
from slurm_sim_plugins import JobRecord, JobUpdate, PluginError, Reject, Submission, hookimpl
from slurm_sim_plugins.job_submit.require_timelimit import RequireTimelimit
from slurm_sim_plugins.testing import HookRecorder, call, cluster, job

CONF = """ClusterName=t
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
NodeName=n[1-4] CPUs=4
PartitionName=short Nodes=n[1-2] Default=YES MaxTime=60
PartitionName=long Nodes=n[3-4] MaxTime=INFINITE
"""
PAGE = Path(__file__).parents[2] / "docs" / "job-submit.md"
JOBS = ["-n8 -t5", "-n8 -t5", "-n8 -t5 -a1-3"]


def named(name: str, answer: Callable[[Any], Any]) -> type:
    def job_modify(self: Any, view: Any) -> Any:
        return answer(view)

    return type("Mine", (), {"name": f"job_submit/{name}", "job_modify": hookimpl(job_modify)})


def run(command: str, *plugins: Any, chain: str = "", **more: Any) -> Result:
    requests = [
        JobRequest(number, 0.0, 100.0, parse_sbatch(words.split()), "ann") for number, words in enumerate(JOBS, 1)
    ]
    names = [each.name.partition("/")[2] for each in plugins if each.name.startswith("job_submit/")]
    actions = [(10.0, TimedCommand(10.0, f"scontrol {command}", "commands:1"))]
    chain = chain or ",".join(names)
    return simulate(requests, parse_slurm_conf(CONF), actions=actions, plugins=list(plugins), job_submit=chain, **more)


@pytest.mark.parametrize("clock", ["ideal", "slurm"])
def test_what_it_answers_is_what_is_changed(clock: str) -> None:
    halves = named("halves", lambda view: view.update._replace(time_limit=view.update.time_limit / 2))
    assert list(run("update JobId=1 TimeLimit=8", halves, clock=clock).jobs["time_limit"])[:2] == [240.0, 300.0]


def test_it_sees_the_update_the_job_and_the_others() -> None:
    seen: list[Any] = []
    looks = named(
        "looks", lambda view: seen.append((view.update, view.job, view.user, sorted(view.jobs), view.partitions))
    )
    run("update JobId=1 TimeLimit=8 Partition=long", looks)
    (update, record, user, jobs, partitions) = seen[0]
    assert update == JobUpdate(time_limit=480.0, partitions=("long",))
    assert (record.state, record.nodes, record.submission.time_limit) == ("RUNNING", ("n1", "n2"), 300.0)
    assert (user, jobs, [each.name for each in partitions]) == ("root", [1, 2, 3], ["short", "long"])


def test_each_sees_what_the_one_before_left_and_none_is_asked_behind_a_refusal() -> None:
    seen: list[float | None] = []
    fills = named("fills", lambda view: view.update._replace(time_limit=120.0))
    looks = named("looks", lambda view: seen.append(view.update.time_limit))
    refuses = named("refuses", lambda view: Reject("not today"))
    for chain in ("fills,looks", "looks,fills", "refuses,looks"):
        run("update JobId=2 Nice=3", fills, looks, refuses, chain=chain)
    assert seen == [120.0, None]


def test_a_refusal_is_told_and_the_others_are_changed() -> None:
    refuses = named("refuses", lambda view: Reject("not today") if view.job.submission.id == 1 else None)
    done = run("update JobId=1,2 TimeLimit=8", refuses)
    assert list(done.jobs["time_limit"])[:2] == [300.0, 480.0]
    assert done.about["refused"] == {"10": "commands:1: not today for job 1"}


def test_a_hold_is_an_update_of_the_priority() -> None:
    seen: list[Any] = []
    looks = named("looks", lambda view: seen.append((view.update.priority, view.job.tasks)))
    for verb in ("hold", "release"):
        run(f"{verb} 3", looks)
    assert seen == [(0, 3), (float("inf"), 3)]


def test_what_the_cluster_does_not_take_is_refused_as_if_the_operator_had_said_it() -> None:
    wrong = named("wrong", lambda view: view.update._replace(partitions=("nowhere",)))
    assert run("update JobId=2 Nice=3", wrong).about["refused"] == {
        "10": "commands:1: Invalid partition name specified"
    }


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda view: "no", r"answered 'no'; answer view.update._replace\(...\), Reject\(reason\)"),
        (lambda view: Reject(""), "answered Reject"),
        (lambda view: view.update._replace(time_limit=-1.0), "time_limit=-1.0; the field takes seconds, more than"),
        (lambda view: view.update._replace(partitions="a"), "partitions='a'; the field takes a tuple of texts"),
        (lambda view: view.update._replace(priority=-1), "priority=-1; the field takes a whole number, 0 or more, inf"),
        (lambda view: view.update._replace(begin=float("inf")), "begin=inf; the field takes seconds, 0 or more"),
        (lambda view: view.update._replace(site_factor=1.5), "site_factor=1.5; the field takes a whole number"),
        (lambda view: view.update._replace(dependency=7), "dependency=7; the field takes text, or None"),
        (lambda view: view.update._replace(array_limit=-1), "array_limit=-1; the field takes a whole number, 0 or"),
        (lambda view: 1 / 0, "ZeroDivisionError"),
    ],
)
def test_answers_that_cannot_be_used_name_the_plugin(answer: Callable[[Any], Any], words: str) -> None:
    with pytest.raises(PluginError, match=words) as caught:
        run("update JobId=2 Nice=3", named("wrong", answer))
    assert (caught.value.plugin, caught.value.hook, caught.value.job) == ("job_submit/wrong", "job_modify", 2)


WRITTEN = [
    JobUpdate(),
    JobUpdate(priority=0),
    JobUpdate(priority=float("inf"), nice=-3, site_factor=4),
    JobUpdate(time_limit=float("inf"), time_min=180.0),
    JobUpdate(partitions=("short", "long"), account="a", qos=""),
    JobUpdate(min_nodes=2),
    JobUpdate(min_nodes=2, max_nodes=4, tasks=7),
    JobUpdate(constraint="a&b", node_list=("n1", "n3"), exclude=("n2",), memory_per_node=50),
    JobUpdate(memory_per_cpu=5, licenses=("x:2", "y:1"), begin=60.0, deadline=3600.0),
    JobUpdate(dependency="afterok:1,afterany:2", reservation="r", requeue=False, array_limit=3),
    JobUpdate(dependency=""),
]


@pytest.mark.parametrize("update", WRITTEN)
def test_an_update_is_written_as_fields_that_are_read_back(update: JobUpdate) -> None:
    if update.qos == "":
        update = update._replace(qos=None)
    assert update_of(fields_of(update)) == update


def test_the_plugin_of_the_page() -> None:
    code = PAGE.read_text(encoding="utf-8").partition("```python\n")[2].partition("```")[0]
    names: dict[str, Any] = {}
    exec(code, names)
    done = run("update JobId=1,2 TimeLimit=8", names["Patient"])
    assert list(done.jobs["time_limit"])[:2] == [300.0, 480.0]
    assert done.about["refused"] == {"10": "commands:1: The limit of a job that runs is not raised for job 1"}
    assert list(run("update JobId=1,2 TimeLimit=3", names["Patient"]).jobs["time_limit"])[:2] == [180.0, 180.0]


def test_a_recorder_says_which_job_and_what_was_answered() -> None:
    recorder, view = (
        HookRecorder(),
        SimpleNamespace(now=5.0, job=JobRecord(Submission(7, 0.0)), update=JobUpdate(nice=3)),
    )
    asked = recorder.around("job_modify", {"view": view})
    next(asked)
    with pytest.raises(StopIteration):
        asked.send(JobUpdate(nice=4))
    (call_,) = recorder.of("job_modify")
    assert (call_.time, call_.about, call_.answer) == (5.0, (7,), JobUpdate(nice=4))


def test_the_bundled_plugin_in_a_unit_test() -> None:
    words = Reject("Requested time limit is invalid (missing or exceeds some limit)")
    endless, other = JobUpdate(time_limit=float("inf")), JobUpdate(time_limit=600.0)
    here, nodes = cluster(4).waiting(job(4, limit=60)), cluster(nodes=2).waiting(job(1, limit=60))
    for ask, scene in ((call, here), (call_anywhere, nodes)):
        assert ask(RequireTimelimit, "job_modify", scene, job=1, update=endless) == words
        assert ask(RequireTimelimit, "job_modify", scene, job=1, update=other) is None
    assert "not today" not in run("update JobId=2 TimeLimit=UNLIMITED", RequireTimelimit).about["refused"]["10"]
    assert (
        run("update JobId=2 TimeLimit=UNLIMITED", RequireTimelimit)
        .about["refused"]["10"]
        .endswith(f"{words.reason} for job 2")
    )


def test_views_of_a_unit_test_have_records() -> None:
    seen: list[Any] = []
    looks = named("looks", lambda view: seen.append((view.job.state, sorted(view.jobs), list(view.reservations))))
    call(looks, "job_modify", cluster(4).running(job(4, limit=60)).waiting(job(2)), job=1)
    call_anywhere(looks, "job_modify", cluster(nodes=2).running(job(1, limit=60)).waiting(job(1)), job=2)
    assert seen == [("RUNNING", [1, 2], []), ("PENDING", [1, 2], [])]
