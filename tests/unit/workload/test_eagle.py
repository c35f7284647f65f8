"""The CSV of Eagle."""

from __future__ import annotations

from pathlib import Path

import pytest

from emulator.workload.eagle import COLUMNS, read_eagle
from emulator.workload.read import read_trace
from slurm_sim_plugins.errors import InputError

ROW = (
    "5,u,a,p,normal,3600.0,2,72,4,1000.0,2019-01-01 08:00:00,2019-01-01 08:01:00,2019-01-01 08:11:00,600.0,COMPLETED,n"
)


def write(tmp_path: Path, *rows: str) -> Path:
    file = tmp_path / "eagle.csv"
    file.write_text("\n".join([",".join(COLUMNS), *rows]))
    return file


def test_a_row_is_a_job(tmp_path: Path) -> None:
    log = read_eagle(write(tmp_path, ROW))
    (job,) = log.jobs
    options = job.request.options
    assert (job.request.run, options.min_nodes, options.tasks, options.memory_per_node) == (600, 2, 72, 500)
    assert (options.gpus[0].count, options.time_limit) == (4, 3600)
    assert (job.happened.start, log.epoch) == (60, 1546354800)


def test_rows_of_one_id_are_tasks_of_an_array(tmp_path: Path) -> None:
    jobs = read_eagle(write(tmp_path, ROW, ROW, ROW.replace("5,", "6,", 1))).jobs
    assert [(job.label, job.request.id, job.request.array) for job in jobs] == [
        ("5_0", 7, 5),
        ("5_1", 5, 5),
        ("6", 6, None),
    ]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("3600.0", "long", "wallclock_req is 'long', which is not a number"),
        (",72,", ",0,", "asked for no processors"),
        ("2019-01-01 08:00:00", "yesterday", "submit_time is 'yesterday'"),
        (",600.0,COMPLETED,n", "", "cut off"),
    ],
)
def test_a_line_that_cannot_be_used_is_named(tmp_path: Path, old: str, new: str, words: str) -> None:
    file = write(tmp_path, ROW, ROW.replace(old, new, 1))
    with pytest.raises(InputError) as caught:
        read_eagle(file)
    assert "eagle.csv:3: " in str(caught.value)
    assert words in str(caught.value)
    log = read_eagle(file, malformed="drop")
    assert (len(log), [one.first for one in log.unusable], log.read) == (1, [3], 2)


def test_a_column_that_is_missing(tmp_path: Path) -> None:
    file = tmp_path / "eagle.csv"
    file.write_text("job_id,wallclock_req,nodes_req,submit_time\n1,2,3,4\n")
    with pytest.raises(InputError, match=r"eagle\.csv:1: there is no column user, account"):
        read_trace(file)


def test_the_real_log(traces: Path) -> None:
    log = read_eagle(traces / "slurm" / "sacct" / "eagle_1000_jobs.csv")
    assert (len(log), log.read, log.unusable, log.changed) == (1000, 1000, (), ())
    assert sum(job.request.array == 532939 for job in log.jobs) == 452
    assert len({job.request.id for job in log.jobs}) == 1000
