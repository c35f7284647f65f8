"""site_factor: a number of the site's own in the priority, on every machine and clock."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from emulator import simulate
from emulator.config.slurm import parse_slurm_conf
from emulator.workload.request import JobRequest
from emulator.workload.sbatch import parse_sbatch
from slurm_sim_plugins import ConfigurationError, PluginError, hookimpl
from slurm_sim_plugins.site_factor.accounts import Accounts
from slurm_sim_plugins.testing import call, cluster, job
from tests.builders.jobs import JobRow, run

CONF = """ClusterName=t
PriorityType=priority/multifactor
PriorityWeightJobSize=1000
PrioritySiteFactorPlugin=site_factor/accounts
PrioritySiteFactorParameters=physics=500,courses=-5
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
NodeName=n[1-4] CPUs=4
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE
"""
JOBS: list[JobRow] = [(1, 0, 4, 10, 20), (2, 1, 4, 5, 10), (3, 2, 4, 5, 5)]


def named(answer: Callable[[Any], Any]) -> type:
    def site_factor(self: Any, view: Any) -> Any:
        return answer(view)

    return type("Mine", (), {"name": "site_factor/mine", "site_factor": hookimpl(site_factor)})


def requests() -> list[JobRequest]:
    accounts = {1: "bio", 2: "courses", 3: "physics", 4: "bio"}
    lines = {number: parse_sbatch(["-n16", "-t10", f"-A{account}"]) for number, account in accounts.items()}
    return [JobRequest(number, 0.0, 60.0, options) for number, options in lines.items()]


@pytest.mark.parametrize("clock", ["ideal", "slurm"])
def test_it_orders_the_queue_of_a_cluster_and_sprio_shows_it(clock: str, tmp_path: Path) -> None:
    done = simulate(requests(), parse_slurm_conf(CONF), clock=clock, out=tmp_path / "run")
    order = done.jobs.sort_values("start")["job_id"].tolist()
    assert order in ([1, 3, 4, 2], [3, 1, 4, 2])
    from emulator.accounting.records import read_columns

    noted = read_columns(tmp_path / "run" / "factors.parquet")
    assert dict(zip(noted["job_id"].tolist(), noted["site"].tolist(), strict=True)) == {1: 0, 2: -5, 3: 500, 4: 0}


def test_it_counts_on_processors_and_later_answers_take_its_place() -> None:
    given: list[list[int]] = []

    def answer(view: Any) -> Any:
        given.append([each.site for each in view.to_set])
        return [each.id * 10 for each in view.to_set]

    done = run(JOBS, 4, plugins=[named(answer)], priority="priority/multifactor", site_factor="site_factor/mine")
    assert done.jobs.set_index("job_id")["start"].to_dict() == {1: 0, 2: 15, 3: 10}
    assert done.jobs["priority_at_start"].tolist() == [10.0, 20.0, 30.0]
    assert given[0] == [0]


def test_none_leaves_all_as_it_is() -> None:
    jobs = run(
        JOBS, 4, plugins=[named(lambda view: None)], priority="priority/multifactor", site_factor="site_factor/mine"
    )
    assert (
        jobs.jobs["priority_at_start"].tolist()
        == run(JOBS, 4, priority="priority/multifactor").jobs["priority_at_start"].tolist()
    )


def test_beside_a_priority_plugin_without_numbers_it_is_refused() -> None:
    words = "PrioritySiteFactorPlugin=site_factor/accounts: priority/basic gives no numbers"
    with pytest.raises(ConfigurationError, match=words):
        run(JOBS, 4, site_factor="site_factor/accounts")
    with pytest.raises(ConfigurationError, match=words):
        simulate(requests(), parse_slurm_conf(CONF), priority="priority/basic")


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda view: [1, 2, 3], "for 1 jobs; answer one number for each"),
        (lambda view: [1.0], "answered 1.0; a site factor is a whole number from -2147483645 to 2147483645"),
        (lambda view: [True], "answered True"),
        (lambda view: [2147483646], "answered 2147483646"),
        (lambda view: 1 / 0, "ZeroDivisionError"),
    ],
)
def test_answers_that_cannot_be_used(answer: Callable[[Any], Any], words: str) -> None:
    chosen = {"plugins": [named(answer)], "priority": "priority/multifactor", "site_factor": "site_factor/mine"}
    with pytest.raises(PluginError, match=words) as caught:
        run(JOBS, 4, **chosen)
    assert (caught.value.plugin, caught.value.hook, caught.value.job) == ("site_factor/mine", "site_factor", 1)
    with pytest.raises(PluginError, match=words):
        simulate(requests()[:1], parse_slurm_conf(CONF), **chosen)


def test_accounts_in_a_unit_test() -> None:
    here = cluster(4).waiting(job(2, account="physics"), job(1))
    assert call(Accounts("physics=500,courses=-5"), "site_factor", here) == [500, 0]
    with pytest.raises(ValueError, match="write ACCOUNT=NUMBER"):
        Accounts("physics")
