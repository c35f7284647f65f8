"""priority/multifactor asked alone, with the kit's builders, and on counted processors."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from slurm_sim_plugins import ConfigurationError, Priorities, Request
from slurm_sim_plugins.priority.multifactor import MANY, Multifactor
from slurm_sim_plugins.priority.multifactor_factors import FACTORS, JobPriority
from slurm_sim_plugins.testing import association, call, cluster, job, partition, qos
from tests.builders.jobs import run, times

DAY = 86_400.0


def priced(plugin: Multifactor, **facts: object) -> JobPriority:
    """A job of 8 of 32 processors that has waited for a day."""
    (answer,) = call(plugin, "priority_set", cluster(32, now=DAY).waiting(job(8, submit=0, **facts)))  # type: ignore[arg-type]
    assert isinstance(answer, JobPriority)
    return answer


def test_a_job_of_a_log_has_its_age_and_its_size() -> None:
    found = priced(
        Multifactor(weight_age=7000, weight_jobsize=400, weight_qos=50, weight_fairshare=50, weight_tres="CPU=8")
    )
    assert found.factors == {"Age": 1 / 7, "Assoc": 0, "Fairshare": 0, "JobSize": 0.25, "Partition": 0, "QOS": 0}
    assert found.resources == {"CPU": 0.25}
    assert found.number == 1000 + 100 + 2
    assert priced(Multifactor(weight_jobsize=400, favor_small=True)).number == 300
    assert priced(Multifactor(weight_age=7000, max_age=DAY / 2)).number == 7000
    assert priced(Multifactor(weight_age=7000, accounting_storage="accounting_storage/none")).number == 1


def test_partition_qos_and_association_count_as_they_are_normalised() -> None:
    facts = {
        "partition": partition("hi", job_factor=30, norm_priority=0.75),
        "qos": qos("high", priority=9.0, norm_priority=0.9),
        "association": association("a", "ann", priority=4.0, norm_priority=0.5, fair_share=0.25),
    }
    weights = {"weight_partition": 1000, "weight_qos": 100, "weight_assoc": 10, "weight_fairshare": 40}
    found = priced(Multifactor(**weights), **facts)
    assert found.number == 750 + 90 + 5 + 10
    raw = priced(Multifactor(**weights, flags="NO_NORMAL_ALL"), **facts)
    assert raw.number == 30_000 + 900 + 40 + 10


def test_small_jobs_count_relative_to_their_time() -> None:
    found = priced(Multifactor(weight_jobsize=6000, flags="SMALL_RELATIVE_TO_TIME"), limit=600)
    assert found.factors["JobSize"] == 0.25 / 10
    assert found.number == 150


def test_it_orders_the_queue_of_a_log() -> None:
    jobs = [(1, 0, 10, 100, 100), (2, 1, 2, 50, 50), (3, 2, 8, 50, 50)]
    options = {"priority/multifactor": {"weight_jobsize": 1000.0}}
    found = run(jobs, 10, scheduler="sched/fcfs", priority="priority/multifactor", plugin_options=options)
    assert times(found) == {1: (0, 100), 3: (100, 150), 2: (100, 150)}
    assert found.records.jobs["priority_at_start"].tolist() == [1000, 200, 800]


def test_ages_grow_each_period() -> None:
    jobs = [(1, 0, 10, 2000, 2000), (2, 1, 10, 50, 50)]
    options = {"priority/multifactor": {"weight_age": 1000.0, "max_age": 1000.0}}
    found = run(jobs, 10, priority="priority/multifactor", plugin_options=options)
    assert found.records.jobs["priority_at_start"].tolist() == [1, 1000]


def test_an_option_of_another_kind_is_refused() -> None:
    options = {"priority/multifactor": {"weight_age": "much"}}
    with pytest.raises(ConfigurationError, match=r"priority/multifactor\.weight_age takes a number"):
        run([(1, 0, 1, 1, 1)], 1, priority="priority/multifactor", plugin_options=options)


def test_priorities_of_a_job_in_several_partitions_only_rise() -> None:
    plugin = Multifactor(weight_fairshare=100, flags="INCR_ONLY")

    class Known:
        """A job of two partitions that had 80 and 20."""

        def __init__(self) -> None:
            self.requests = [Request(partition("p"), 1, 1.0, {}), Request(partition("q"), 1, 1.0, {})]
            self.association, self.qos = association(fair_share=0.5), None
            self.site = self.nice = 0
            self.held, self.queued, self.accrued, self.planned = False, 0.0, 0.0, 60.0
            self.answered = []

    view, known = SimpleNamespace(now=0.0, whole=float, nodes=4, total=4), Known()
    view.to_set = [known]
    (first,) = plugin.priority_set(view)  # type: ignore[arg-type]
    known.answered = [each._replace(number=number) for each, number in zip(first, (80, 20), strict=True)]
    known.association = association(fair_share=0.4)
    (again,) = plugin.priority_set(view)  # type: ignore[arg-type]
    assert [each.number for each in first] == [50, 50]
    assert [each.number for each in again] == [80, 40]


class Shown(SimpleNamespace):
    """A job as a plugin sees it, which keeps a row until it shows something else."""

    row = -1

    def keep_row(self, row: int) -> None:
        self.row = row

    def shows(self, **facts: object) -> None:
        vars(self).update(facts, row=-1)


class Looked(SimpleNamespace):
    """A view as far as the plugin looks at it."""

    @property
    def rows(self) -> NDArray[np.int64]:
        return np.array([job.row for job in self.to_set])


def drawn(draws: np.random.Generator, many: int) -> list[Shown]:
    """Jobs of a cluster, with what a priority is worked out from."""
    parts = [partition("p", job_factor=3, norm_priority=0.3), partition("q", job_factor=9, norm_priority=0.9)]
    requests = [
        Request(part, nodes, 4.0 * nodes, {"CPU": 4.0 * nodes, "MEM": 700.0 * nodes})
        for part in parts
        for nodes in (1, 3)
    ]
    whose = [None, *(association("a", "ann", fair_share=float(draws.random()), norm_priority=0.4) for _ in range(3))]
    classes = [None, qos("high", priority=9.0, norm_priority=0.9)]
    return [
        Shown(
            requests=(requests[draws.integers(4)],),
            association=whose[draws.integers(4)],
            qos=classes[draws.integers(2)],
            site=int(draws.integers(-300, 300)),
            nice=int(draws.integers(-5, 2000)),
            held=bool(draws.integers(2)),
            queued=float(draws.uniform(0, 3 * DAY)),
            accrued=None if draws.integers(4) == 0 else float(draws.uniform(0, 3 * DAY)),
            planned=600.0,
            answered=(),
        )
        for _ in range(many)
    ]


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(["", "ACCRUE_ALWAYS", "NO_NORMAL_ALL"]), st.booleans())
def test_columns_hold_what_one_job_after_the_other_gets(seed: int, flags: str, ages: bool) -> None:
    draws = np.random.default_rng(seed)
    weights = dict(zip(FACTORS, draws.choice([0.0, 7.5, 1000.0, 123_456.7], 6), strict=True))
    options = {f"weight_{name.lower()}": float(value) for name, value in weights.items()}
    options["max_age"] = float(draws.choice([DAY, 7 * DAY]))
    storage = "accounting_storage/slurmdbd" if ages else "accounting_storage/none"
    plugin = Multifactor(**options, weight_tres="CPU=100,MEM=10.5", flags=flags, accounting_storage=storage)  # type: ignore[arg-type]
    phase = float(draws.random())
    view = Looked(
        now=2 * DAY,
        nodes=8,
        total=32,
        whole=lambda time: float(math.floor(time + phase)),
        whole_seconds=lambda times: np.floor(times + phase),
        tres=lambda _: {"CPU": 32.0, "MEM": 9000.0},
    )
    waiting = drawn(draws, 3000 if seed % 7 == 0 else 40)
    for _ in range(4):  # What is known of requests and jobs by then is used again.
        view.now += 600.0
        for each in waiting:
            if draws.random() < 0.1:
                (other,) = drawn(draws, 1)
                each.shows(**{name: getattr(other, name) for name in ("site", "nice", "accrued", "qos", "requests")})
        waiting = [job for job in waiting if draws.random() < 0.9] + drawn(draws, int(draws.integers(30)))
        view.to_set = [job for job in waiting if draws.random() < 0.95] + drawn(draws, MANY)
        column, plain = plugin.priority_set(view), plugin._one_by_one(view)  # type: ignore[arg-type]
        assert isinstance(column, Priorities)
        assert column.numbers.tolist() == [each.number for each in plain]
        assert column == plain


def test_jobs_of_several_partitions_and_sums_beyond_reason_go_one_by_one() -> None:
    draws = np.random.default_rng(1)
    view = Looked(now=2 * DAY, nodes=8, total=32, whole=float, whole_seconds=np.floor, tres=lambda _: {})
    view.to_set = drawn(draws, 40)
    huge = Multifactor(weight_age=1e19).priority_set(view)  # type: ignore[arg-type]
    assert isinstance(huge, list)
    assert max(each.number for each in huge) > 2**53
    view.to_set[7].requests = (*view.to_set[7].requests, *view.to_set[8].requests)
    answer = Multifactor(weight_age=1000).priority_set(view)  # type: ignore[arg-type]
    assert [len(each) for each in answer if isinstance(each, list)] == [2]


def test_a_new_request_is_priced_by_the_machine_that_is_asked_about() -> None:
    plugin = Multifactor(weight_jobsize=1000)
    for cpus in (32, 64):
        view = Looked(now=0.0, nodes=8, total=cpus, whole=float, whole_seconds=np.floor, tres=lambda _: {})
        view.to_set = drawn(np.random.default_rng(cpus), MANY)
        for column, plain in zip(
            plugin.priority_set(view), Multifactor(weight_jobsize=1000)._one_by_one(view), strict=True
        ):  # type: ignore[arg-type]
            assert column == plain
