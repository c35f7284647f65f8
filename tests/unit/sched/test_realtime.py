"""Real-time jobs on blocks: worked choices, thresholds, checkpoints of Mira, and what cannot be."""

from __future__ import annotations

import json
from inspect import signature
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from emulator import Workload, simulate
from emulator.cli import slurm_sim
from emulator.config.preemption import Preemption
from emulator.config.presets import preset
from emulator.metrics.checkpoints import overheads
from emulator.testing import play
from emulator.testing.invariants import check_invariants
from emulator.workload.read import read_trace
from emulator.workload.variations import default
from slurm_sim_plugins import ConfigurationError, InputError
from slurm_sim_plugins.blockfiles import read_blocks
from slurm_sim_plugins.blocks import aligned
from slurm_sim_plugins.manager import Catalogue
from slurm_sim_plugins.preempt.realtime import Realtime as Sacrifice
from slurm_sim_plugins.realtime import Thresholds, running_slowdown, waiting_slowdown
from slurm_sim_plugins.sched.realtime import Realtime
from slurm_sim_plugins.select.blocks import InBlocks
from slurm_sim_plugins.testing import call, cluster, job
from tests.builders.block_state import check_block_state

FOUR = aligned(4, (512, 1024, 2048))
HOUR = 3600.0
JIT = Preemption("CHECKPOINT", checkpoint="jit", gb_per_processor=16.0)
SHARE = Preemption("CHECKPOINT", checkpoint="share", gb_per_processor=16.0)
MIRA = 49152


def crowded() -> Any:
    """Jobs 1 and 2 on the first half, 3 on the second; a real-time job wants a half."""
    return (
        cluster(2048, now=HOUR, blocks=FOUR)
        .running(job(512, id=1, submit=3000, limit=7200), since=3000)
        .running(job(512, id=2, submit=2700, limit=1200), since=2700)
        .running(job(1024, id=3, submit=0, limit=7200), since=1800)
        .waiting(job(1000, id=9, submit=0, limit=HOUR, realtime=1))
    )


def victims(**options: Any) -> list[int]:
    answer = call(Sacrifice(**options), "preempt_candidates", crowded())
    return sorted(run.job.id for run in answer or ())


def test_the_worked_choice_of_a_block() -> None:
    # First half: 512 log2(3) + 512 log2(3) 5 = 4868.9, since job 2 has 300 s left of 1,200.
    # Second half: 1024 log2(3.25) (1 + ln 2) = 2948.2, since job 3 would lose 1,800 s.
    assert victims() == [3]
    assert victims(almost_done=1.0) == [1, 2]
    assert victims(almost_done=1.0, checkpoint_factor="never") == [1, 2]
    # By processors alone both cost 1,024: the first one.
    assert victims(cost="processors") == [1, 2]
    assert victims(cost="processors", soon=1.0) == [1, 2]


def test_a_block_of_a_slow_job_is_spared() -> None:
    # Job 3 would end with a slowdown of 1.25.
    assert victims(narrow_short=1.2) == [1, 2]
    assert victims(narrow_short=1.25) == [3]
    # Then all are too slow: the real-time job waits.
    late = cluster(2048, now=HOUR, blocks=FOUR).running(job(1024, submit=0, limit=1000), since=3000)
    late = late.running(job(1024, submit=0, limit=1000), since=3000)
    assert call(Sacrifice, "preempt_candidates", late.waiting(job(512, limit=60, realtime=1))) is None


@pytest.mark.parametrize("spared", [{"realtime": 1}, {"requeue": 0}])
def test_a_block_of_who_must_not_go_is_spared(spared: dict[str, int]) -> None:
    here = (
        cluster(2048, now=HOUR, blocks=FOUR)
        .running(job(512, id=1, submit=3500, limit=7200, **spared), since=3500)
        .running(job(1024, id=3, submit=3000, limit=7200), since=3000, block="1024-2")
        .waiting(job(1024, id=9, limit=HOUR, realtime=1))
    )
    answer = call(Sacrifice, "preempt_candidates", here)
    assert [run.job.id for run in answer] == [3]


def test_who_has_a_larger_block_than_the_preemptor_wants_is_spared() -> None:
    here = cluster(2048, now=HOUR, blocks=FOUR).running(job(2048, submit=3500, limit=7200), since=3500)
    assert call(Sacrifice, "preempt_candidates", here.waiting(job(1024, limit=60, realtime=1))) is None
    assert call(Sacrifice, "preempt_candidates", here.waiting(job(1025, limit=60, realtime=1))) is not None


def test_batch_jobs_preempt_nobody() -> None:
    here = cluster(2048, now=HOUR, blocks=FOUR).running(job(2048, submit=3500, limit=7200), since=3500)
    assert call(Sacrifice, "preempt_candidates", here.waiting(job(2048, limit=60))) is None


def test_a_late_job_takes_the_cheapest_block_in_a_pass() -> None:
    played = play(Realtime, crowded(), preempt=Sacrifice, select=InBlocks)
    assert (played.preempted, played.started) == ([3], [9])


def test_a_free_block_is_taken_before_anybody_is_preempted() -> None:
    here = cluster(2048, now=HOUR, blocks=FOUR).running(job(1024, submit=3500, limit=7200), since=3500)
    played = play(Realtime, here.waiting(job(600, id=9, submit=0, limit=60, realtime=1)), preempt=Sacrifice)
    assert (played.preempted, played.started) == ([], [9])
    assert (
        played.after.view.block_state.blocks.names[
            played.after.view.block_state.block_of(played.after.view.running[0].job)
        ]
        == "1024-2"
    )


@pytest.mark.parametrize(
    ("nodes", "limit", "threshold"),
    [(4096, 7200, 1.1), (4096, 7201, 1.2), (4097, 7200, 1.3), (4608, 7200.5, 1.4), (1, 1, 1.1), (49152, 86400, 1.4)],
)
def test_the_border_of_a_category_belongs_to_narrow_and_short(nodes: int, limit: float, threshold: float) -> None:
    here = cluster(MIRA).waiting(job(nodes, limit=limit))
    played = play(type("Idle", (), {"name": "sched/idle", "schedule": _nothing()}), here)
    assert Thresholds(1.1, 1.2, 1.3, 1.4).of(played.after.view.queue[0]) == threshold


def _nothing() -> Any:
    from slurm_sim_plugins import hookimpl

    def schedule(self: Any, view: Any) -> Any:
        yield from ()

    return hookimpl(schedule)


def test_estimated_slowdowns() -> None:
    here = crowded()
    played = play(type("Idle", (), {"name": "sched/idle", "schedule": _nothing()}), here)
    assert waiting_slowdown(played.after.view.queue[0], HOUR) == 2
    assert [running_slowdown(run) for run in played.after.view.running] == [1, 1.25, 1]


@pytest.mark.parametrize("option", [{"narrow_short": 0.99}, {"wide_long": float("nan")}, {"short": 0}, {"narrow": -1}])
@pytest.mark.parametrize("plugin", [Realtime, Sacrifice])
def test_thresholds_that_cannot_be(plugin: type, option: dict[str, float]) -> None:
    with pytest.raises(ConfigurationError, match=f"{next(iter(option))} is"):
        plugin(**option)


@pytest.mark.parametrize("option", [{"fresh": 0.0}, {"almost_done": -1.0}])
def test_factors_that_cannot_be(option: dict[str, float]) -> None:
    with pytest.raises(ConfigurationError, match="give more than 0"):
        Sacrifice(**option)


# Simulations


def run(rows: list[tuple[Any, ...]], preemption: Preemption = JIT, processors: int = MIRA, **options: Any) -> Any:
    """Simulate rows of (id, submit, nodes, run, limit, real-time), with all invariants checked."""
    names = ("id", "submit", "processors", "run", "time_limit", "realtime")
    workload = Workload.from_columns({name: [row[place] for row in rows] for place, name in enumerate(names)})
    options = {"scheduler": "sched/realtime", "preempt": "preempt/realtime", "select": "select/blocks"} | options
    result = simulate(workload, processors=processors, preemption=preemption, catalogue=Catalogue(), **options)
    check_invariants(result, workload)
    check_block_state(result.records, InBlocks().blocks(processors))
    return result


def runs_of(result: Any) -> list[tuple[int, float, float, float, str]]:
    names = ("job_id", "start", "end", "work", "block")
    return list(zip(*(result.records.runs[name].tolist() for name in names), strict=True))


@pytest.mark.parametrize(
    ("nodes", "seconds"), [(512, 512), (4096, 512), (6912, 512), (8192, 606.814815), (49152, 3640.888889)]
)
def test_checkpoints_of_mira(nodes: int, seconds: float) -> None:
    assert JIT.write_cost(nodes) == JIT.read_cost(nodes) == pytest.approx(seconds, abs=1e-6)


def test_a_late_job_waits_on_its_block_for_the_checkpoint() -> None:
    # Late at 1000 + 0.5 * 3600 = 2800; the checkpoint of the whole machine takes 3640.89 s.
    rows = [(1, 0, MIRA, 86400, 86400, 0), (2, 1000, MIRA, 600, 3600, 1)]
    result = run(rows, plugin_options={"sched/realtime": {"wide_short": 1.5}})
    write = 3640.888889
    over = 2800 + write + 600
    assert runs_of(result) == [
        (1, 0, 2800, 2800, "49152-00"),
        (2, 2800, pytest.approx(over), 600, "49152-00"),
        (1, pytest.approx(over), pytest.approx(over + write + 83600), 83600, "49152-00"),
    ]


def test_without_checkpoints_the_run_is_lost() -> None:
    rows = [(1, 0, MIRA, 86400, 86400, 0), (2, 1000, MIRA, 600, 3600, 1)]
    result = run(rows, Preemption(), plugin_options={"sched/realtime": {"wide_short": 1.5}})
    assert runs_of(result) == [
        (1, 0, 2800, 0, "49152-00"),
        (2, 2800, 3400, 600, "49152-00"),
        (1, 3400, 89800, 86400, "49152-00"),
    ]


def test_real_time_jobs_write_no_checkpoints_at_intervals() -> None:
    rows = [(1, 0, 512, 86400, 86400, 0), (2, 0, 512, 86400, 86400, 1)]
    ends = run(rows, SHARE).records.jobs["end"].tolist()
    # A tenth of a day holds 16 checkpoints of 512 s; the last is not needed when the job is over.
    assert ends == [86400 + 16 * 512, 86400]


def test_a_checkpoint_that_is_longer_than_the_job_loses_nothing() -> None:
    rows = [(1, 0, MIRA, 100, 400, 0), (2, 10, MIRA, 20, 100, 1)]
    options = {"sched/realtime": {"wide_short": 1.5}}
    assert [row[3] for row in runs_of(run(rows, plugin_options=options))] == [60, 20, 40]
    # At intervals none is written, as it would take more than its share; the run starts over.
    assert [row[3] for row in runs_of(run(rows, SHARE, plugin_options=options))] == [0, 20, 100]


def test_a_bandwidth_of_nothing_is_refused() -> None:
    for option in ("gb_per_second", "gb_per_second_per_processor"):
        with pytest.raises(ConfigurationError, match=f"preemption.{option} is 0; give a finite number, more than 0"):
            Preemption("CHECKPOINT", checkpoint="jit", gb_per_processor=16.0, **{option: 0})


def test_blocks_of_another_machine_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "blocks.toml"
    file.write_text("midplanes = 2\n[[block]]\nname = 'all'\nmidplanes = '0-1'\n")
    with pytest.raises(ConfigurationError, match=r"of a machine of 1,024 nodes, and the simulation has 49,152"):
        run([(1, 0, 1, 1, 1, 0)], plugin_options={"select/blocks": {"file": str(file)}})
    file.write_text("midplanes = 3\n[[block]]\nname = 'most'\nmidplanes = '0-1'\n")
    with pytest.raises(InputError, match=r"blocks.toml: the blocks leave a hole: midplane 2 stands in none"):
        run([(1, 0, 1, 1, 1, 0)], plugin_options={"select/blocks": {"file": str(file)}})


def test_a_job_larger_than_the_largest_block_is_rejected_and_told(tmp_path: Path) -> None:
    file, trace = tmp_path / "blocks.toml", small_log(tmp_path)
    halves = "".join(f"[[block]]\nname = '{name}'\nmidplanes = '{name}'\n" for name in ("0-47", "48-95"))
    file.write_text(f"midplanes = 96\n{halves}")
    trace.write_text(trace.read_text().replace(" 512 ", " 24577 ", 2))
    words = ["--scheduler", "sched/realtime", "--select", "select/blocks", "--set", f"select/blocks.file={file}"]
    log = tmp_path / "events.jsonl"
    done = CliRunner().invoke(slurm_sim, ["run", str(trace), *words, "--events", str(log)])
    assert done.exit_code == 0, done.output
    assert "1 rejected: larger than the largest block of the machine" in " ".join(done.output.split())
    assert "needs 24577 processors, the largest block has 24576" in log.read_text()
    workload = read_trace(trace)
    result = simulate(
        workload,
        scheduler="sched/realtime",
        select="select/blocks",
        plugin_options={"select/blocks": {"file": str(file)}},
        catalogue=Catalogue(),
    )
    check_invariants(result, workload)
    assert result.records.jobs["state"].tolist().count("REJECTED") == 1


def test_options_of_blocks_that_cannot_be() -> None:
    with pytest.raises(ConfigurationError, match="wires needs a file"):
        InBlocks(wires=True)
    with pytest.raises(ConfigurationError, match="midplane is -1"):
        InBlocks(midplane=-1)
    with pytest.raises(ConfigurationError, match="is not made of midplanes of 512 nodes"):
        InBlocks(midplane=512).blocks(700)


@pytest.mark.parametrize(("processors", "midplanes"), [(49152, 96), (430, 86), (1152, 128), (127, 127), (97, 97)])
def test_any_machine_can_be_given_out_in_blocks(processors: int, midplanes: int) -> None:
    blocks = InBlocks().blocks(processors)
    assert (len(blocks.midplanes), blocks.largest) == (midplanes, processors)


def test_the_block_that_blocks_least_is_chosen() -> None:
    here = cluster(2048, blocks=FOUR).running(job(512), block="512-3").waiting(job(512))
    assert call(InBlocks(), "select_nodes", here) == FOUR.find("512-0")
    assert call(InBlocks(choose="least"), "select_nodes", here) == FOUR.find("512-2")


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["baseline", "high_priority", "preemptive", "weighted"])
@pytest.mark.parametrize("own", [False, True])
def test_the_week_of_mira(traces: Path, policy: str, own: bool) -> None:
    workload = read_trace(traces / "alcf" / "mira_2018-01-21_week.cobalt.log.gz", filter="none")
    file = traces / "alcf" / "mira_partitions.xml.gz" if own else None
    blocks = read_blocks(file) if file is not None else aligned()
    workload = default(workload, 10, seed=1)
    result = simulate(
        workload,
        scheduler="sched/realtime",
        preempt="preempt/realtime",
        select="select/blocks",
        priority="priority/wfp",
        preemption=JIT,
        plugin_options={
            "sched/realtime": {"policy": policy},
            "select/blocks": {"file": str(file)} if file is not None else {},
        },
        catalogue=Catalogue(),
    )
    assert len(result.records) == 2147
    check_invariants(result, workload)
    check_block_state(result.records, blocks)
    quick = result.records.jobs["realtime"] == 1
    assert not result.records.jobs["requeues"][quick].any()
    assert bool(result.records.jobs["requeues"].any()) == (policy in ("preemptive", "weighted"))


# Traces


def small_log(tmp_path: Path) -> Path:
    trace = tmp_path / "jobs.swf"
    rows = [f"{job} {job * 60} -1 600 512 -1 -1 512 900 -1 1 1 1 1 1 1 -1 -1" for job in range(1, 21)]
    trace.write_text("; MaxProcs: 49152\n" + "\n".join(rows) + "\n")
    return trace


def test_any_trace_can_be_read_with_real_time_jobs(tmp_path: Path) -> None:
    trace = small_log(tmp_path)
    assert "realtime" not in read_trace(trace).facts
    one, other = (read_trace(trace, realtime=25, realtime_seed=seed).facts["realtime"] for seed in (1, 2))
    assert one.sum() == other.sum() == 5
    assert one.tolist() != other.tolist()
    assert len(read_trace(trace, realtime=10, variation="aps")) == 22
    with pytest.raises(ConfigurationError, match="percent is 101"):
        read_trace(trace, realtime=101)
    with pytest.raises(ConfigurationError, match="variation and realtime_seed go with realtime"):
        read_trace(trace, realtime_seed=3)
    with pytest.raises(ConfigurationError, match="variation"):
        read_trace(trace, realtime=10, variation="some")  # type: ignore[arg-type]


def test_an_experiment_says_which_jobs_are_real_time_jobs(tmp_path: Path) -> None:
    study = preset("papers/realtime").read_text(encoding="utf-8")
    file = tmp_path / "study.toml"
    file.write_text(study.replace("[slots]", "[workload]\nrealtime = 25\n\n[slots]"), encoding="utf-8")
    done = CliRunner().invoke(slurm_sim, ["run", str(small_log(tmp_path)), "--experiment", str(file), "--json"])
    assert done.exit_code == 0, done.output
    about = json.loads(done.output)
    assert about["slots"]["SelectType"] == "select/blocks"
    assert about["metrics"]["jobs"] == 20


# What it costs


CHARGED = {
    # 600 s of the batch job are done when the real-time job comes; a checkpoint takes 512 s to write or read.
    "no": (Preemption(), 600, 0, 600, "system"),
    "jit": (JIT, 600, 512, 512, "system"),
    # Every 200 s: one is complete at 712 s, and 188 s are lost at 900. Then four more are written.
    "sys": (Preemption("CHECKPOINT", interval=200.0, gb_per_processor=16.0), 900, 5 * 512, 512 + 188, "system"),
    # Half of 3,600 s holds three: every 900 s. One is complete at 1412 s, and 88 s are lost at 1500.
    "app": (Preemption("CHECKPOINT", checkpoint="share", share=0.5, gb_per_processor=16.0), 1500, 512, 512 + 88, "job"),
}


@pytest.mark.parametrize("scheme", CHARGED)
def test_what_checkpoints_cost_and_whom(scheme: str) -> None:
    preemption, moment, writing, lost, booked = CHARGED[scheme]
    rows = [(1, 0, 512, 1200, 3600, 0), (2, moment, 512, 60, 3600, 1)]
    options = {"sched/realtime": {"policy": "preemptive"}, "preempt/realtime": {"cost": "processors"}}
    result = run(rows, preemption, 512, plugin_options=options)
    found = overheads(result.records, preemption)
    assert (found.checkpoint.tolist(), found.preemption.tolist()) == ([writing, 0], [lost, 0])
    hours = found.processor_hours()
    assert hours[f"{booked}:checkpoint"] == pytest.approx(writing * 512 / HOUR)
    assert hours["system:preemption"] == pytest.approx(lost * 512 / HOUR)
    assert sum(hours.values()) == pytest.approx((writing + lost) * 512 / HOUR)


def test_a_preempted_job_stands_in_the_queue_of_its_pass_by_its_present_score() -> None:
    """At 100 jobs 1 and 2 make room for job 4. Job 1 has waited longest for its limit, and goes before job 3."""
    columns = {
        "id": [1, 2, 3, 4],
        "submit": [0, 0, 10, 100],
        "processors": [1, 8, 6, 3],
        "run": [150, 900, 900, 50],
        "time_limit": [200, 1000, 1000, 100],
        "realtime": [0, 0, 0, 1],
    }
    result = simulate(
        Workload.from_columns(columns),
        processors=9,
        scheduler="sched/realtime",
        preempt="preempt/realtime",
        priority="priority/wfp",
        plugin_options={"sched/realtime": {"policy": "preemptive"}, "preempt/realtime": {"cost": "processors"}},
        catalogue=Catalogue(),
    )
    starts = dict(zip(result.jobs["job_id"].tolist(), result.jobs["start"].tolist(), strict=True))
    assert starts[4] == starts[1] == 100
    assert starts[3] > 100


@pytest.mark.parametrize(
    ("plugin", "thresholds"),
    [(Realtime, (1.1, 1.1, 2.0, 1.59)), (Sacrifice, (1.5, 1.5, 17.31, 4.77))],
)
def test_the_defaults_are_those_that_the_documentation_states(plugin: type, thresholds: tuple[float, ...]) -> None:
    options = signature(plugin).parameters
    names = ("narrow_short", "narrow_long", "wide_short", "wide_long")
    assert tuple(options[name].default for name in names) == thresholds
    others = {name: option.default for name, option in options.items() if name not in (*names, "narrow", "short")}
    expected = {
        Realtime: {
            "policy": "weighted",
            "late": "at",
            "order": "slowdown",
            "meanwhile": "none",
            "backfill": "reserve",
            "jobs": "realtime=1",
        },
        Sacrifice: {
            "cost": "weighted",
            "slowdown_factor": True,
            "checkpoint_factor": "unsaved",
            "fresh": 900.0,
            "almost_done": 5.0,
            "soon_share": 0.25,
            "soon": 900.0,
            "jobs": "realtime=1",
        },
    }
    assert others == expected[plugin]
