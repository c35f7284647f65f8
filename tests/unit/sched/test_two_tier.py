"""execution/two_tier and sched/two_tier: rates, options, and what cannot be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from emulator import Result, Workload, simulate
from emulator.accounting.runfolder import STAYS, read_run
from emulator.cli import slurm_sim
from emulator.testing import play
from emulator.testing.invariants import check_invariants
from emulator.workload.models import cpu_use, lublin99
from slurm_sim_plugins import ConfigurationError, InputError, Move, Preempt, Start, Wake
from slurm_sim_plugins.execution.two_tier import Draws, Truncated, TwoTier, steps
from slurm_sim_plugins.manager import Catalogue
from slurm_sim_plugins.processors import from_words, in_words, numbers, processors
from slurm_sim_plugins.sched.two_tier import TwoTier as Scheduler
from slurm_sim_plugins.testing import call, cluster, job
from tests.builders.jobs import column, times

Jobs = list[tuple[int, float, int, float, float, float]]
"""(id, submit, processors, run, limit, CPU use)."""
HERE = cluster(4, tiers=("fg", "bg"))


def execution(**options: Any) -> TwoTier:
    return TwoTier(np.random.default_rng(1), **options)


def simulated(jobs: Jobs, total: int, scheduler: dict[str, Any], given: dict[str, Any], **more: Any) -> Result:
    names = ("id", "submit", "processors", "run", "time_limit", "cpu_use")
    workload = Workload.from_columns({name: [row[place] for row in jobs] for place, name in enumerate(names)})
    result = simulate(
        workload,
        processors=total,
        catalogue=Catalogue(),
        scheduler="sched/two_tier",
        execution="execution/two_tier",
        plugin_options={"sched/two_tier": scheduler, "execution/two_tier": given},
        **more,
    )
    check_invariants(result, workload)
    return result


# Rates


def test_the_papers_example_of_a_background_rate() -> None:
    # In front 0.6, wanted 0.8, phi 0.5: half of what is idle, and half of that is lost.
    here = HERE.running(job(2, cpu_use=0.6)).running(job(2, cpu_use=0.8), tier="bg")
    for cap in ("inside", "outside"):
        plugin = execution(phi_mean=0.5, phi_sigma=0.0, phi_cap=cap, loss_low=0.02, loss_high=0.02)
        assert call(plugin, "progress_rate", here) == [0.98, pytest.approx(0.25)]


@pytest.mark.parametrize(("cap", "rate"), [("inside", 0.5), ("outside", 0.75)])
def test_what_is_capped_when_more_is_idle_than_wanted(cap: Any, rate: float) -> None:
    here = HERE.running(job(2, cpu_use=0.4)).running(job(2, cpu_use=0.4), tier="bg")
    plugin = execution(phi_mean=0.5, phi_sigma=0.0, phi_cap=cap)
    assert call(plugin, "progress_rate", here, jobs=[2]) == [pytest.approx(rate)]


def test_over_an_idle_foreground_it_is_the_foreground() -> None:
    here = HERE.running(job(2, cpu_use=1.0), where=[0, 1]).running(job(2, cpu_use=1.0), tier="bg", where=[2, 3])
    assert call(execution(), "progress_rate", here) == [1.0, 1.0]


@pytest.mark.parametrize(("use", "rate"), [(0.95, 0.5), (0.96, 0.0), (1.0, 0.0), (None, 0.0)])
def test_nothing_progresses_behind_who_uses_nearly_everything(use: float | None, rate: float) -> None:
    here = HERE.running(job(1, cpu_use=use)).running(job(1, cpu_use=0.1), tier="bg")
    plugin = execution(phi_mean=0.5, phi_sigma=0.0, serial_low=0.5, serial_high=0.5, phi_cap="inside")
    (answer,) = call(plugin, "progress_rate", here, jobs=[2])
    assert answer == pytest.approx(min(rate, rate * (1 - (use or 1)) / 0.1))


def test_a_job_is_as_fast_as_its_slowest_process() -> None:
    here = HERE.running(job(1, cpu_use=0.5), job(1, cpu_use=0.9)).running(job(4, cpu_use=0.5), tier="bg")
    plugin = execution(phi_mean=0.5, phi_sigma=0.0)
    assert call(plugin, "progress_rate", here, jobs=[3]) == [pytest.approx(0.5 * 0.2)]


def test_the_loss_is_drawn_once_a_job_and_only_while_it_is_disturbed() -> None:
    alone = HERE.running(job(2, cpu_use=0.5), job(2, cpu_use=0.5))
    disturbed = alone.running(job(1, cpu_use=0.5), tier="bg")
    plugin = execution()
    assert call(plugin, "progress_rate", alone) == [1.0, 1.0]
    first = call(plugin, "progress_rate", disturbed, jobs=[1, 2])
    assert (
        first == call(plugin, "progress_rate", disturbed, jobs=[1, 2]) == [pytest.approx(1 - 0.0225, abs=0.0175), 1.0]
    )
    always = call(execution(loss_when="always"), "progress_rate", alone)
    assert len(set(always)) == 2
    assert all(0.96 <= rate <= 0.995 for rate in always)


def test_numbers_are_drawn_from_what_the_paper_says() -> None:
    phi = Truncated(0.482, 0.142, 0.198, 0.766)
    draws = Draws(np.random.default_rng(7))
    drawn = np.array([phi(draws[place]) for place in range(20_000)])
    assert 0.198 <= drawn.min() < 0.2
    assert 0.764 < drawn.max() <= 0.766
    assert drawn.mean() == pytest.approx(0.482, abs=0.003)
    assert drawn.std() == pytest.approx(0.1248, abs=0.002)  # 0.142, cut at two deviations
    assert phi(0.0) == pytest.approx(0.198)
    assert phi(1.0) == pytest.approx(0.766)


def test_who_asks_twice_is_told_the_same() -> None:
    one, other = Draws(np.random.default_rng(1)), Draws(np.random.default_rng(1))
    assert (
        [one[place] for place in (3000, 0, 5)]
        == [other[place] for place in (3000, 0, 5)]
        == [one[place] for place in (3000, 0, 5)]
    )


def test_phi_by_process_is_the_lowest_of_them_and_by_placement_one() -> None:
    def rates(drawn: Any, size: int) -> list[float]:
        front = cluster(size, tiers=("fg", "bg")).running(job(size, cpu_use=0.5))
        return [
            call(
                TwoTier(np.random.default_rng(seed), drawn=drawn),
                "progress_rate",
                front.running(job(size, cpu_use=0.5), tier="bg"),
                jobs=[2],
            )[0]
            for seed in range(60)
        ]

    assert np.mean(rates("placement", 16)) == pytest.approx(0.482, abs=0.05)
    assert np.mean(rates("process", 16)) == pytest.approx(0.26, abs=0.04)
    assert all(0.198 <= rate <= 0.766 for rate in rates("process", 2))


def test_phi_by_process_counts_only_those_with_somebody_in_front() -> None:
    plugin = execution(drawn="process")
    behind = HERE.running(job(1, cpu_use=0.5), where=[2]).running(job(4, cpu_use=0.5), tier="bg")
    (one,) = call(plugin, "progress_rate", behind, jobs=[2])
    everywhere = HERE.running(job(4, cpu_use=0.5)).running(job(4, cpu_use=0.5), tier="bg")
    (all_of_them,) = call(plugin, "progress_rate", everywhere, jobs=[2])
    assert all_of_them <= one


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", []), ("0.4", [(float("-inf"), 0.4)]), ("5:0.3, 0:0.4", [(0.0, 0.4), (5.0, 0.3)]), ("1:0", [(1.0, 0.0)])],
)
def test_steps_of_a_fixed_rate(text: str, expected: list[tuple[float, float]]) -> None:
    assert steps(text) == expected


def test_a_step_between_two_microseconds_is_made() -> None:
    given = {"bg_rate": "0:0.5, 1.0000004:0.25", "loss_low": 0.0, "loss_high": 0.0}
    result = simulated([(1, 0, 1, 10, 10, 0.5), (2, 0, 1, 1, 1, 0.5)], 1, {}, given)
    assert times(result)[2] == (0, 3)


# Options that cannot be


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss_low": -0.1}, "loss_low is -0.1"),
        ({"loss_low": 0.5}, "loss_low is 0.5 and loss_high is 0.04"),
        ({"loss_high": 1.0}, "loss_high is 1.0"),
        ({"serial_high": 1.5}, "serial_high is 1.5"),
        ({"phi_low": 0.9}, "phi_low is 0.9 and phi_high is 0.766"),
        ({"phi_mean": 0.9}, "phi_mean is 0.9 and phi_sigma is 0.142"),
        ({"phi_sigma": -1.0}, "phi_sigma is -1.0"),
        ({"phi_sigma": float("nan")}, "phi_sigma is nan"),
        ({"threshold": 0.0}, "threshold is 0.0"),
        ({"threshold": 1.1}, "threshold is 1.1"),
        ({"bg_rate": "fast"}, "bg_rate is 'fast'; give a rate from 0 to 1, or steps such as"),
        ({"bg_rate": "0:1.5"}, "bg_rate is '0:1.5'"),
        ({"bg_rate": "nan:0.5"}, "bg_rate is 'nan:0.5'"),
        ({"bg_rate": "inf:0.5"}, "bg_rate is 'inf:0.5'"),
        ({"bg_rate": "0:0.5,"}, "bg_rate is '0:0.5,'"),
    ],
)
def test_options_of_the_execution_that_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match="execution/two_tier: ") as caught:
        execution(**options)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"migration_cost": -20.0}, "migration_cost is -20.0; give seconds, 0 or more"),
        ({"migration_cost": float("inf")}, "migration_cost is inf"),
        ({"migration_cost": float("nan")}, "migration_cost is nan"),
        ({"threshold": 0.0}, "threshold is 0.0"),
    ],
)
def test_options_of_the_scheduler_that_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match="sched/two_tier: ") as caught:
        Scheduler(**options)
    assert message in str(caught.value)


@pytest.mark.parametrize("use", [0.0, -0.5, 1.01, float("inf")])
def test_cpu_use_that_is_no_share_is_refused(use: float) -> None:
    with pytest.raises(InputError, match=r"workload: job 7: cpu_use is .*, it must be a share: above 0, at most 1"):
        simulated([(7, 0, 1, 1, 1, use)], 4, {}, {})


def test_cpu_use_that_is_unknown_is_all_of_a_processor() -> None:
    jobs: Jobs = [(1, 0, 2, 10, 10, float("nan")), (2, 0, 2, 5, 10, 0.5), (3, 0, 2, 5, 10, 0.5)]
    result = simulated(jobs, 2, {"cpu_info": True}, {"bg_rate": "0.5", "loss_low": 0.0, "loss_high": 0.0})
    # The second one is put behind it, untested, and does nothing there.
    assert times(result)[2] == (0, 15)


def test_a_job_that_is_wider_than_the_machine_is_rejected() -> None:
    result = simulated([(1, 0, 5, 1, 1, 0.5), (2, 0, 4, 1, 1, 0.5)], 4, {}, {})
    assert column(result, "state") == {1: "REJECTED", 2: "COMPLETED"}


# The scheduler


def test_the_reservation_of_a_head_in_the_background() -> None:
    # The example of the paper's figure 5: the head is on two processors, whose jobs end at 10 and 5.
    here = (
        HERE.running(job(1, limit=10, cpu_use=0.5), where=[1])
        .running(job(1, limit=5, cpu_use=0.5), where=[2])
        .running(job(1, limit=99, cpu_use=0.5), where=[3])
        .running(job(2, limit=9, submit=-5, cpu_use=0.5), since=-1, tier="bg", where=[1, 2])
    )
    # One that ends by 10 may come anywhere, a longer one to processor 0 alone.
    assert play(Scheduler("reserve"), here.arriving(job(1, limit=10, cpu_use=0.5))).started == [5]
    long = play(Scheduler("reserve"), here.arriving(job(1, limit=11, cpu_use=0.5)))
    (start,) = [decision for decision in long if isinstance(decision, Start)]
    assert (start.tier, numbers(start.where or 0)) == ("fg", [0])
    wide = play(Scheduler("reserve"), here.arriving(job(2, limit=11, cpu_use=0.5)))
    assert [decision.tier for decision in wide if isinstance(decision, Start)] == ["bg"]


@pytest.mark.parametrize(
    ("options", "kinds"),
    [({"deploy": "kill"}, [Preempt, Start]), ({"deploy": "migrate"}, [Move]), ({"deploy": "reserve"}, [])],
)
def test_what_becomes_of_a_head_whose_own_foreground_is_taken(options: dict[str, Any], kinds: list[type]) -> None:
    front = HERE.running(job(2, limit=50, cpu_use=0.5), where=[0, 1])
    scene = front.running(job(2, limit=9, cpu_use=0.5), tier="bg", where=[0, 1]).running(job(1), where=[3]).scene()
    scene.submit(job(4))
    assert list(play(Scheduler(**options), scene)) == []
    scene.later(3)
    scene.end(3)
    played = [each for each in play(Scheduler(**options), scene) if not isinstance(each, Wake) and each.job.id == 2]
    assert len(played) == len(kinds)
    assert all(map(isinstance, played, kinds))
    if kinds == [Move]:
        (move,) = played
        assert (move.cost, move.planned, numbers(move.where)) == (20, 9, [2, 3])  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("options", "planned"),
    [
        ({}, 90),
        ({"count_cost": True}, 110),
        ({"bf_est": "remaining"}, 60),
        ({"bf_est": "remaining", "count_cost": True}, 80),
    ],
)
def test_how_long_a_migrated_job_is_planned_for(options: dict[str, Any], planned: float) -> None:
    front = HERE.running(job(2, limit=500), where=[0, 1], since=-30)
    here = front.running(job(2, limit=90), tier="bg", where=[0, 1], since=-30).arriving(job(4))
    # The emulator's progress is what rates make of it; here it is one second a second.
    (move,) = [each for each in play(Scheduler(**options), here) if isinstance(each, Move)]
    assert move.planned == planned


@pytest.mark.parametrize(
    ("options", "where"),
    [
        ({}, [2, 3]),
        ({"threshold": 0.4}, [3]),
        ({"cpu_info": False}, [2, 3]),
        ({"cpu_info": False, "no_cpu_info": "assume_100"}, [3]),
    ],
)
def test_behind_whom_jobs_are_put(options: dict[str, Any], where: list[int]) -> None:
    # The foreground of 3 is idle; 2 is used half, 1 by 90 %, 0 by all.
    here = HERE
    for place, use in enumerate([1.0, 0.9, 0.5]):
        here = here.running(job(1, limit=50, cpu_use=use), where=[place])
    here = here.waiting(job(2, limit=50, submit=-2)).arriving(job(len(where), limit=60, cpu_use=0.5))
    started = [each for each in play(Scheduler(**options), here) if isinstance(each, Start)]
    got = {each.job.id: numbers(each.where or 0) for each in started}
    last = 5 if len(where) == 1 else 4
    assert got[last] == where


def test_under_keasy_a_job_that_may_not_be_requeued_waits_for_the_foreground() -> None:
    here = HERE.running(job(4, cpu_use=0.5)).arriving(job(1, requeue=0), job(1))
    assert play(Scheduler("kill"), here).started == [3]
    assert play(Scheduler("migrate"), here).started == [2, 3]


# A run, on the command line and in its folder


def test_a_run_leaves_its_stays(tmp_path: Path) -> None:
    jobs: Jobs = [(1, 0, 2, 10, 20, 0.5), (2, 0, 2, 10, 30, 0.5), (3, 0, 1, 4, 40, 0.5)]
    fixed = {"loss_low": 0.0, "loss_high": 0.0, "bg_rate": "0.5"}
    result = simulated(jobs, 3, {"migration_cost": 1.0}, fixed, out=tmp_path / "run")
    kept, made = read_run(tmp_path / "run").records.stays, result.records.stays
    assert kept is not None
    assert made is not None
    for name in made:
        assert kept[name].tolist() == made[name].tolist()
    assert set(made["tier"].tolist()) == {"fg", "bg"}
    # What is left of an earlier run in the folder is not taken for this one's.
    simulate(
        Workload.from_columns({"id": [1], "submit": [0], "processors": [1], "run": [1], "time_limit": [1]}),
        processors=1,
        catalogue=Catalogue(),
        out=tmp_path / "run",
    )
    assert not (tmp_path / "run" / STAYS).exists()
    assert read_run(tmp_path / "run").records.stays is None


def test_stays_that_were_written_by_hand_are_told(tmp_path: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    simulated([(1, 0, 2, 10, 20, 0.5)], 3, {}, {}, out=tmp_path / "run")
    pyarrow.parquet.write_table(pyarrow.table({"where": ["3-1"]}), tmp_path / "run" / STAYS)
    with pytest.raises(InputError, match=r"stays\.parquet: there is no column"):
        read_run(tmp_path / "run")


@pytest.mark.slow
def test_from_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    runner = CliRunner()

    def cli(line: str) -> str:
        done = runner.invoke(slurm_sim, line.split(), catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.output

    cli("trace generate jobs.swf --model feitelson96 --jobs 300 --processors 32 --load 0.9 --cpu-use")
    two = "run jobs.swf --scheduler sched/two_tier --execution execution/two_tier --json --no-progress"
    assert '"label": "sched/two_tier + execution/two_tier"' in cli(two)
    assert cli(two) == cli(two)
    assert cli(f"{two} --seed 1") != cli(two)
    cli(f"{two} --set sched/two_tier.deploy=kill --out kept")
    cli("report kept")


# Sets of processors


def test_sets_of_processors_in_words_and_back() -> None:
    for members in ([], [0], [7], [0, 1, 2], [0, 2, 4], [5, 6, 7, 63, 64, 65, 300]):
        some = processors(members)
        assert numbers(some) == members
        assert from_words(in_words(some)) == some
    assert in_words(processors([0, 1, 2, 3, 7])) == "0-3,7"
    for words in ("3-1", "a", "1,", "-1"):
        with pytest.raises(ValueError):  # noqa: PT011
            from_words(words)


@pytest.mark.parametrize("scheduler", ["sched/fcfs", "sched/easy", "sched/conservative"])
def test_who_knows_nothing_of_tiers_leaves_the_same_records(scheduler: str) -> None:
    workload = cpu_use.assign(lublin99.generate(120, 16, 5, load=1.0), 3)
    policy: dict[str, Any] = {"scheduler": scheduler, "catalogue": Catalogue()}
    plain = simulate(workload, processors=16, **policy).jobs
    tiered = simulate(workload, processors=16, execution="execution/two_tier", **policy).jobs
    assert plain["blocked"].any() and plain["could_start"].notna().any()
    for name in ("start", "end", "backfilled", "blocked", "could_start", "state"):
        assert plain[name].equals(tiered[name]), name
