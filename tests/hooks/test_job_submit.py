"""job_submit: a chain that changes submissions, or refuses them, on every machine and clock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from emulator import Result, Workload, simulate
from emulator.config.slurm import parse_slurm_conf
from emulator.testing.invariants import check_invariants
from emulator.workload.request import JobRequest
from emulator.workload.sbatch import parse_sbatch
from slurm_sim_plugins import ConfigurationError, Partition, PluginError, Reject, Submission, hookimpl
from slurm_sim_plugins.job_submit.all_partitions import AllPartitions
from slurm_sim_plugins.job_submit.require_timelimit import RequireTimelimit
from slurm_sim_plugins.testing import call, cluster, job
from tests.builders.jobs import JobRow, run

CONF = """ClusterName=t
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
NodeName=n[1-4] CPUs=4
PartitionName=short Nodes=n[1-2] Default=YES MaxTime=60
PartitionName=long Nodes=n[3-4] MaxTime=INFINITE
"""
JOBS: list[JobRow] = [(1, 0, 3, 10, 20), (2, 1, 4, 5, 10), (3, 2, 1, 50, 50)]


def named(name: str, answer: Callable[[Any], Any]) -> type:
    def job_submit(self: Any, view: Any) -> Any:
        return answer(view)

    return type("Mine", (), {"name": f"job_submit/{name}", "job_submit": hookimpl(job_submit)})


def on_cluster(options: list[list[str]], conf: str = CONF, **more: Any) -> Result:
    requests = [JobRequest(number, 0.0, 10.0, parse_sbatch(each)) for number, each in enumerate(options, 1)]
    return simulate(requests, parse_slurm_conf(conf), **more)


def test_a_refusal_has_its_words_on_both_clocks() -> None:
    for clock in ("ideal", "slurm"):
        done = on_cluster([["-n1", "-t5"], ["-n1"]], clock=clock, job_submit="require_timelimit")
        assert done.jobs["state"].tolist() == ["COMPLETED", "REJECTED"]
        assert done.about["rejected"] == {"Time limit specification required, but not provided": 1}
        assert done.about["slots"]["JobSubmitPlugins"] == "job_submit/require_timelimit"
        assert "job_submit/require_timelimit" in done.about["plugins"]


def test_jobs_without_a_partition_go_to_all() -> None:
    jobs = [["-n8", "-t5"], ["-n8", "-t5"], ["-n8", "-t5", "-pshort"]]
    for clock in ("ideal", "slurm"):
        alone = on_cluster(jobs, clock=clock)
        assert alone.jobs["partition"].tolist() == ["short", "short", "short"]
        done = on_cluster(jobs, clock=clock, job_submit="job_submit/all_partitions")
        assert done.jobs["partition"].tolist() == ["short", "long", "short"]


def test_each_sees_what_the_one_before_left_in_the_order_that_is_stated() -> None:
    limits: list[float | None] = []
    fills = named("fills", lambda view: view.submission._replace(time_limit=120.0))
    looks = named("looks", lambda view: limits.append(view.submission.time_limit))
    for chain in (["fills", "looks"], ["looks", "fills"]):
        done = on_cluster([["-n1"]], plugins=[looks, fills], job_submit=[f"job_submit/{name}" for name in chain])
        assert done.jobs["time_limit"].tolist() == [120.0]
    assert limits == [120.0, None]


def test_none_is_asked_behind_one_that_refuses() -> None:
    asked: list[int] = []
    refuses = named("refuses", lambda view: Reject("not today"))
    looks = named("looks", lambda view: asked.append(view.submission.id))
    on_cluster([["-n1"]], plugins=[refuses, looks], job_submit="refuses,looks")
    assert not asked


def test_the_file_says_the_chain_and_what_is_not_here_is_named(caplog: pytest.LogCaptureFixture) -> None:
    done = on_cluster([["-n1"]], CONF + "JobSubmitPlugins=ours,require_timelimit\n")
    assert done.jobs["state"].tolist() == ["REJECTED"]
    (said,) = [each for each in caplog.messages if "ours" in each]
    assert "JobSubmitPlugins=job_submit/ours: there is no such plugin here" in said


def test_a_change_is_looked_at_as_if_the_user_had_asked_for_it() -> None:
    wrong = named("wrong", lambda view: view.submission._replace(partitions=("nowhere",)))
    done = on_cluster([["-n1"]], plugins=[wrong], job_submit="wrong")
    assert done.about["rejected"] == {"invalid partition specified: nowhere\nInvalid partition name specified": 1}


def test_an_array_is_one_submission() -> None:
    asked: list[int] = []
    looks = named("looks", lambda view: asked.append(view.submission.id))
    done = on_cluster([["-n1", "-t5", "-a0-3"]], plugins=[looks], job_submit="looks")
    assert len(done.jobs) == 4
    assert asked == [1]


def test_it_sees_what_is_asked_for() -> None:
    seen: list[Any] = []
    looks = named("looks", lambda view: seen.append((view.submission, [each.name for each in view.partitions])))
    conf = CONF.replace("CPUs=4", "CPUs=4 Gres=gpu:2") + "GresTypes=gpu\n"
    on_cluster([["-N2", "--gres=gpu:1", "-t5", "--nice=7", "-plong"]], conf, plugins=[looks], job_submit="looks")
    (submission, partitions) = seen[0]
    assert partitions == ["short", "long"]
    assert (submission.gpus, submission.time_limit, submission.nice, submission.partitions) == (2, 300.0, 7, ("long",))


@pytest.mark.parametrize("preemption", ["REQUEUE", "SUSPEND", "CHECKPOINT"])
def test_counted_processors_take_another_limit(preemption: str) -> None:
    halves = named("halves", lambda view: view.submission._replace(time_limit=view.submission.time_limit / 2))
    from emulator.config.preemption import Preemption

    options: dict[str, Any] = {"preemption": Preemption(mode=preemption)}  # type: ignore[arg-type]
    if preemption == "CHECKPOINT":
        options["preemption"] = Preemption(mode="CHECKPOINT", checkpoint="share", share=0.1, cost=1.0)
    workload = Workload.from_columns(
        {"id": [1, 2], "submit": [0, 1], "processors": [4, 4], "run": [100, 30], "time_limit": [100, 100]}, machine=4
    )
    done = simulate(workload, plugins=[halves], job_submit="job_submit/halves", **options)
    halved = Workload.from_columns(
        {"id": [1, 2], "submit": [0, 1], "processors": [4, 4], "run": [100, 30], "time_limit": [50, 50]}, machine=4
    )
    usual = simulate(halved, **options)
    for name in ("start", "end", "state", "run", "time_limit", "planned", "occupied"):
        assert done.jobs[name].tolist() == usual.jobs[name].tolist(), name
    check_invariants(done, workload)


def test_counted_processors_refuse_with_words() -> None:
    refuses = named("refuses", lambda view: Reject("too long") if view.submission.time_limit > 20 else None)
    done = run(JOBS, 4, plugins=[refuses], job_submit="refuses")
    assert done.jobs["state"].tolist() == ["COMPLETED", "COMPLETED", "REJECTED"]
    assert done.about["rejected"] == {"too long": 1}


def test_what_counted_processors_do_not_know_cannot_be_changed() -> None:
    wrong = named("wrong", lambda view: view.submission._replace(partitions=("a",)))
    with pytest.raises(PluginError, match="processors are only counted here, and time_limit alone can be changed"):
        run(JOBS, 4, plugins=[wrong], job_submit="wrong")


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda view: "no", r"answered 'no'; answer view.submission._replace\(...\), Reject\(reason\)"),
        (lambda view: Reject(""), "answered Reject"),
        (lambda view: view.submission._replace(id=9), "answered id=9; that stays"),
        (lambda view: view.submission._replace(time_limit=-1.0), "time_limit=-1.0; the field takes seconds, more than"),
        (lambda view: view.submission._replace(partitions="a"), "partitions='a'; the field takes a tuple of texts"),
        (lambda view: view.submission._replace(nice=True), "nice=True; the field takes a whole number"),
        (lambda view: view.submission._replace(qos=None), "qos=None; the field takes text"),
        (lambda view: view.submission._replace(held=None), "held=None; the field takes True or False"),
        (lambda view: view.submission._replace(tasks=1.5), "tasks=1.5; the field takes a whole number, 1 or more"),
        (lambda view: view.submission._replace(tasks=0), "tasks=0; the field takes a whole number, 1 or more"),
        (
            lambda view: view.submission._replace(min_nodes=10**30),
            "the field takes a whole number, 0 or more, of at most",
        ),
        (lambda view: view.submission._replace(memory_per_cpu=2**60), "the field takes mebibytes, 0 or more, or None"),
    ],
)
def test_answers_that_cannot_be_used_name_the_plugin(answer: Callable[[Any], Any], words: str) -> None:
    with pytest.raises(PluginError, match=words) as caught:
        on_cluster([["-n1"]], plugins=[named("wrong", answer)], job_submit="wrong")
    assert (caught.value.plugin, caught.value.hook, caught.value.job) == ("job_submit/wrong", "job_submit", 1)


def test_what_it_raises_names_it() -> None:
    with pytest.raises(PluginError, match="ZeroDivisionError") as caught:
        run(JOBS, 4, plugins=[named("wrong", lambda view: 1 / 0)], job_submit="wrong")
    assert (caught.value.plugin, caught.value.hook, caught.value.job) == ("job_submit/wrong", "job_submit", 1)


def test_an_unknown_plugin_that_is_given_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"JobSubmitPlugins=job_submit/ours: there is no such plugin"):
        run(JOBS, 4, job_submit="ours")


def test_the_schedule_is_the_same_through_pluggy() -> None:
    usual = run(JOBS, 4, plugins=[], job_submit="require_timelimit,all_partitions")
    assert run(JOBS, 4, job_submit="require_timelimit,all_partitions", dispatch="pluggy").jobs.equals(usual.jobs)


def test_bundled_plugins_in_a_unit_test() -> None:
    class Of:
        name = "p"

    here, plain = cluster(4), Submission(1, 0.0)
    assert call(RequireTimelimit, "job_submit", here, job=plain) == Reject(
        "Time limit specification required, but not provided"
    )
    assert call(RequireTimelimit, "job_submit", here, job=job(4, limit=60)) is None
    assert call(AllPartitions, "job_submit", here, job=plain) is None
    answer = call(AllPartitions, "job_submit", here, job=plain, partitions=[Partition(Of())])
    assert answer == plain._replace(partitions=("p",))
