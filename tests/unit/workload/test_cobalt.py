"""Logs of Cobalt: putting the events of jobs together."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from emulator import simulate
from emulator.cli import slurm_sim
from emulator.workload.cobalt import logged_span, looks_like_cobalt, read_cobalt
from emulator.workload.read import read_trace
from emulator.workload.workload import Changed, Dropped
from slurm_sim_plugins import ConfigurationError, InputError

Write = Callable[..., Path]
DATE = "01/18/2018 19:46:07"
MOMENT = 1516304767


def event(letter: str, job: object = 1, date: str = DATE, **keys: object) -> str:
    """One line; ``None`` takes a key out, and __ stands for the dot of a key."""
    given: dict[str, object] = {"qtime": float(MOMENT - 10)}
    given |= {"Resource_List__nodect": 512, "Resource_List__walltime": "01:00:00", "start": float(MOMENT)}
    given |= {"end": MOMENT + 60.0} if letter == "E" else {}
    words = [f"{key.replace('__', '.')}={value}" for key, value in (given | keys).items() if value is not None]
    return f"{date};{letter};{job};{' '.join(words)}"


def both(job: object = 1, **keys: object) -> tuple[str, str]:
    return event("S", job, **{key: value for key, value in keys.items() if key != "end"}), event("E", job, **keys)


@pytest.fixture
def log(tmp_path: Path) -> Write:
    def write(*lines: str, name: str = "mira.cobalt.log") -> Path:
        path = tmp_path / name
        text = "".join(f"{line}\n" for line in lines).encode()
        path.write_bytes(gzip.compress(text, mtime=0) if name.endswith(".gz") else text)
        return path

    return write


@pytest.mark.parametrize("name", ["mira.cobalt.log", "week_of_MIRA.log.gz", "mira"])
def test_a_log_is_read_whatever_its_name(log: Write, name: str) -> None:
    late = both(7, qtime=MOMENT - 4.5, user="u", account='"a b"', queue="default", queue_name="prod", exec_host="MIR-1")
    workload = read_trace(
        log(*late, *both(9, Resource_List__walltime="36:00:30", Resource_List__nodect=49152), name=name)
    )
    assert workload.id.tolist() == [9, 7]
    assert workload.submit.tolist() == [0, 5.5]
    assert workload.processors.tolist() == [49152, 512]
    assert workload.run.tolist() == [60, 60]
    assert workload.time_limit.tolist() == [129630, 3600]
    assert workload.logged["wait"].tolist() == [10, 4.5]
    facts = {name: values.tolist() for name, values in workload.facts.items()}
    assert facts == {"user": [None, "u"], "project": [None, "a b"], "queue": [None, "prod"]}
    assert (workload.machine, workload.epoch, workload.read) == (49152, MOMENT - 10, 2)
    assert workload.name.lower() in ("mira", "week_of_mira")


def test_a_location_is_a_fact_only_if_it_is_wanted(log: Write) -> None:
    path = log(*both(1, exec_host="MIR-1"))
    assert "location" not in read_cobalt(path).facts
    assert read_trace(path, locations=True).facts["location"].tolist() == ["MIR-1"]


def test_an_end_alone_is_enough_and_events_need_no_order(log: Write) -> None:
    workload = read_trace(log(event("E", 1), event("E", 2), event("Q", 2), event("S", 2), event("A", 1)))
    assert (workload.run.tolist(), workload.dropped, workload.read) == ([60, 60], (), 2)


def test_jobs_without_an_end_are_counted(log: Write) -> None:
    path = log(event("Q", 1), event("S", 2), event("D", 3), event("S", 4), *both(5), event("E", 6, start=None))
    workload = read_trace(path)
    assert (workload.id.tolist(), workload.read) == ([5], 6)
    assert workload.dropped == (
        Dropped("no end in the log", 2, f"{path}:2"),
        Dropped("neither start nor end in the log", 2, f"{path}:1"),
        Dropped("run time unknown or 0 s", 1, f"{path}:7"),
    )


def test_dates_count_where_seconds_are_missing(log: Write) -> None:
    path = log(event("S", 1, start=None), event("E", 1, "01/18/2018 19:47:00", start=None, end=None))
    assert (read_trace(path).run.tolist(), read_trace(path).logged["wait"].tolist()) == ([53], [10])
    chicago = read_trace(path, zone="America/Chicago")
    assert chicago.logged["wait"].tolist() == [10 + 6 * 3600]
    seconds = log(*both(1))
    assert read_trace(seconds, zone="Asia/Tokyo").logged["wait"].tolist() == [10]
    for zone in ("Mars", "../zone", ""):
        with pytest.raises(ConfigurationError, match=f"zone is {zone!r}; give one such as UTC"):
            read_trace(path, zone=zone)


def test_the_span_in_the_log_is_the_one_before_any_filter(log: Write) -> None:
    path = log(*both(1, end=MOMENT + 5000.0), *both(2))
    workload = read_trace(path, first_submit=100)
    assert workload.run.tolist() == [3600, 60]
    start, end = logged_span(workload)
    assert (start.tolist(), end.tolist()) == ([110, 110], [5110, 170])
    assert workload.changed == (Changed("run time beyond the request: cut to the request", 1, f"{path}:1"),)
    assert (
        np.isnan(logged_span(simple := read_trace(log(event("E", 1, start=None), *both(2)), filter="none"))[0]).sum()
        == 0
    )
    assert len(simple) == 1


def test_filters_and_options_are_those_of_other_traces(log: Write) -> None:
    path = log(*both(1, Resource_List__walltime=None), *both(2, Resource_List__nodect=60_000), name="other.log")
    assert read_trace(path).machine is None
    workload = read_trace(path, machine=49152)
    assert [each.reason for each in workload.dropped] == ["more processors than the machine's 49152"]
    assert [each.reason for each in workload.changed] == ["no requested time: the run time taken for it"]
    with pytest.raises(InputError, match=r"no job is left of 2 \(2 more processors than the machine's 4\)"):
        read_trace(path, machine=4)
    with pytest.raises(ConfigurationError, match="processors_field is for traces in SWF"):
        read_trace(path, processors_field="requested")
    with pytest.raises(ConfigurationError, match="malformed is 'ignore'"):
        read_trace(path, malformed="ignore")


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        ("1 0 5", "the line is not written date;event;job;key=value ..."),
        (f"{DATE};S;7", "the line is not written date;event;job;key=value ..."),
        (event("S", "x"), "job is 'x', which is not a whole number"),
        (event("S", date="02/30/2018 00:00:00"), "the date is '02/30/2018 00:00:00', which is no time in a calendar"),
        (event("S") + " more", "'more' is not written key=value"),
        (event("S") + ' note="a', "'\"' is not written key=value"),
        (event("S", qtime=None), "there is no qtime, which is the submission"),
        (event("S", qtime="soon"), "qtime is 'soon', which is not a number"),
        (event("S", qtime="1_0"), "qtime is '1_0', which is not a number"),
        (event("S", start="nan"), "start is 'nan', which is not a usable time"),
        (event("E", end=-5), "end is '-5', which is not a usable time"),
        (event("S", Resource_List__nodect="512.5"), "Resource_List.nodect is '512.5', which is not a whole number"),
        (event("S", Resource_List__walltime="1:60:00"), "Resource_List.walltime is '1:60:00', which is not written"),
        (event("S", Resource_List__walltime="1:00:0"), "Resource_List.walltime is '1:00:0', which is not written"),
        (event("S", 7), "job 7 has its start already in line 1"),
        (event("E", 7), "job 7 has its end already in line 2"),
        (event("E", 6, qtime=MOMENT - 4), f"submit of job 6 is {MOMENT - 4} here and {MOMENT - 10} in line 3"),
        (event("E", 6, start=MOMENT + 1), f"start of job 6 is {MOMENT + 1} here and {MOMENT} in line 3"),
        (event("E", 6, Resource_List__nodect=1), "processors of job 6 is 1 here and 512 in line 3"),
    ],
)
def test_a_line_that_is_no_event_is_named_or_counted(log: Write, bad: str, told: str) -> None:
    path = log(*both(7), event("S", 6), "", bad, *both(8))
    with pytest.raises(InputError) as caught:
        read_trace(path)
    assert str(caught.value).startswith(f"{path}:5: {told}")
    workload = read_trace(path, malformed="drop")
    assert workload.id.tolist() == [7, 8]
    assert workload.dropped[0] == Dropped("malformed line", 1, f"{path}:5")
    assert workload.read == len(workload) + sum(each.count for each in workload.dropped)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", ": the file holds no job that ended; is it a log of Cobalt?"),
        (event("S").encode(), ": the file holds no job that ended (1 left out: no end in the log, first "),
        (event("S").encode() + b"\n\xff\n", ":2: the line is not text in UTF-8"),
        (gzip.compress(event("S").encode(), mtime=0)[:-4], ": the gzip data is incomplete or damaged"),
    ],
)
def test_files_that_are_no_log(tmp_path: Path, content: bytes, told: str) -> None:
    path = tmp_path / "a.cobalt.log"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_trace(path)
    assert str(caught.value).startswith(f"{path}{told}")


def test_a_file_that_is_not_there() -> None:
    with pytest.raises(InputError, match=r"nowhere.cobalt.log: cannot be read: No such file"):
        read_trace("nowhere.cobalt.log")


def test_events_are_told_from_other_lines() -> None:
    assert looks_like_cobalt(event("S"))
    assert looks_like_cobalt(event("Q", 5)[:40])
    assert not looks_like_cobalt("; MaxProcs: 4")
    assert not looks_like_cobalt("1 0 5 20 1 -1 -1 -1 100 -1 1 7 -1 -1 -1 -1 -1 -1")


def test_it_is_simulated_like_any_trace(log: Write) -> None:
    path = log(*both(1, Resource_List__nodect=40_000), *both(2, qtime=MOMENT - 9, Resource_List__nodect=40_000))
    assert simulate(path).records.jobs["start"].tolist() == [0, 60]
    for command in (["run", str(path), "--json"], ["trace", "info", str(path), "--json"]):
        done = CliRunner().invoke(slurm_sim, command, catch_exceptions=False)
        assert done.exit_code == 0
        assert '"name": "mira"' in done.output


@pytest.mark.parametrize(
    ("name", "jobs", "cut", "queues", "last_end"),
    [("mira_2018-01-21_week", 2147, 231, 11, 1518370625), ("curie_week_scaled_to_mira", 2658, 52, 1, 52604277)],
)
def test_the_weeks_of_mira_and_curie(traces: Path, name: str, jobs: int, cut: int, queues: int, last_end: int) -> None:
    workload = read_trace(traces / "alcf" / f"{name}.cobalt.log.gz")
    assert (workload.name, len(workload), workload.read, workload.machine) == (name, jobs, jobs, 49152)
    assert (workload.dropped, [each.count for each in workload.changed]) == ((), [cut])
    assert len(set(workload.facts["queue"].tolist())) == queues
    assert set((workload.processors // 512).tolist()) <= {1, 2, 4, 8, 16, 24, 32, 48, 64, 96}
    assert workload.epoch is not None
    assert logged_span(workload)[1].max() + workload.epoch == last_end
