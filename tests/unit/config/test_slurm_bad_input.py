"""What an administrator may get wrong, and is told."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from emulator.accounting.records import read_columns
from emulator.cli import slurm_sim
from emulator.state.job import EMPTY
from emulator.workload.events import read_events
from slurm_sim_plugins import InputError
from slurm_sim_plugins.nodes import neighbours, shared

CONF = """\
PriorityType=priority/basic
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
NodeName=n[1-4] CPUs=4
PartitionName=p Nodes=n[1-4] Default=YES
"""
EVENT = "-dt {dt} -e submit_batch_job | -sim-walltime {work} --uid=me -n {tasks} -t 5 pseudo.job\n"


BROAD = EVENT.format(tasks="5 -N1", dt="1.0", work="10")
"""More tasks than a node has CPUs, on one node."""


def run(folder: Path, conf: str, *events: str) -> Result:
    (folder / "slurm.conf").write_text(conf)
    (folder / "a.events").write_text("".join(events))
    arguments = [
        "run",
        f"{folder / 'a.events'}",
        "--slurm-conf",
        f"{folder / 'slurm.conf'}",
        "--out",
        f"{folder / 'run'}",
    ]
    return CliRunner().invoke(slurm_sim, arguments, env={"COLUMNS": "200"})


def event(tasks: int = 1, dt: str = "1.0", work: str = "10") -> str:
    return EVENT.format(tasks=tasks, dt=dt, work=work)


@pytest.mark.parametrize(
    ("line", "place"),
    [
        ("BackfillInterval=3", "slurm.conf:6: BackfillInterval"),
        ("NodeName=n3 CPUs=2", "slurm.conf:6: node n3"),
        ("PartitionName=q Nodes=x[1-2]", "slurm.conf:6: there is no node or node set x1, x2"),
        ("Include slurm.conf", "slurm.conf:6: "),
        ("PartitionName=q Nodes=n1 MaxTime=soon", "slurm.conf:6: MaxTime: 'soon'"),
        ("SchedulerParameters=bf_interval=often", "slurm.conf:6: bf_interval: 'often'"),
    ],
)
def test_a_line_that_cannot_be_used_is_named_and_nothing_is_written(tmp_path: Path, line: str, place: str) -> None:
    done = run(tmp_path, CONF + line + "\n", event())
    assert place in str(done.exception)
    assert not (tmp_path / "run").exists()


def test_a_file_without_nodes_is_no_cluster(tmp_path: Path) -> None:
    done = run(tmp_path, "ClusterName=a\n", event())
    assert "there is no NodeName line" in str(done.exception)
    assert not (tmp_path / "run").exists()


def test_a_job_that_no_node_can_hold_is_told_and_recorded_with_the_reason(tmp_path: Path) -> None:
    done = run(tmp_path, CONF, event(), BROAD, BROAD)
    told = "".join(done.output.split())
    assert "2rejected:Requestednodeconfigurationisnotavailable(first:job2,/" in told
    assert "a.events:2)" in told
    jobs = read_columns(tmp_path / "run" / "records.parquet")
    assert jobs["state"].tolist() == ["COMPLETED", "REJECTED", "REJECTED"]
    assert jobs["reason"].tolist()[1] == "Requested node configuration is not available"


def test_a_run_in_which_nothing_ran_can_be_looked_at(tmp_path: Path) -> None:
    assert run(tmp_path, CONF, BROAD).exit_code == 0
    assert read_columns(tmp_path / "run" / "runs.parquet")["start"].tolist() == []
    for view in (["squeue"], ["sinfo"], ["sacct"]):
        shown = CliRunner().invoke(slurm_sim, [*view, f"{tmp_path / 'run'}", "--at", "5"])
        assert shown.exit_code == 0, shown.output


@pytest.mark.parametrize(("dt", "work"), [("nan", "10"), ("soon", "10"), ("inf", "10"), ("1", "nan"), ("1", "long")])
def test_a_submission_at_no_second_is_named(tmp_path: Path, dt: str, work: str) -> None:
    path = tmp_path / "a.events"
    path.write_text(event() + event(dt=dt, work=work))
    with pytest.raises(InputError, match=r"a\.events:2: is no submission: .* is no number of seconds"):
        read_events(path)


def test_equal_counts_are_kept_once() -> None:
    first, second = (tuple([4] * 12) for _ in range(2))
    assert first is not second
    assert shared(first) is shared(second)
    assert neighbours([*range(3, 300)]) == range(3, 300)
    assert neighbours([*range(3, 300), 301]) == (*range(3, 300), 301)
    assert neighbours([1]) == (1,)
    assert neighbours([]) == ()
    assert not EMPTY
