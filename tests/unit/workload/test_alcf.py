"""Job logs of ALCF as CSV, and telling formats apart."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from emulator import Workload, simulate
from emulator.cli import slurm_sim
from emulator.workload.alcf import read_alcf
from emulator.workload.read import read_trace
from emulator.workload.workload import Changed, Dropped
from slurm_sim_plugins import ConfigurationError, InputError

HEADER = (
    ",job,user,project,state,gpu_num,cpu_num,node_num,submit_time,wait_time,run_time,wall_time,node_hour,new_status"
)
Write = Callable[..., Path]


def line(job: object = 1, submit: object = 1535348017.0, wait: object = 10, run: object = 60.0, **given: object) -> str:
    """One record; the fields that are read can be given."""
    user, project, nodes = given.get("user", 77), given.get("project", 88), given.get("nodes", 512.0)
    wall, status = given.get("wall", 3600.0), given.get("status", "Pass")
    return f"0,{job},{user},{project},0,0,8192.0,{nodes},{submit},{wait},{run},{wall},8882176.0,{status}"


@pytest.fixture
def trace(tmp_path: Path) -> Write:
    def write(*lines: str, name: str = "mira_2018.csv", header: str = HEADER) -> Path:
        path = tmp_path / name
        text = "".join(f"{each}\n" for each in (header, *lines)).encode()
        path.write_bytes(gzip.compress(text, mtime=0) if name.endswith(".gz") else text)
        return path

    return write


@pytest.mark.parametrize("name", ["mira_2018.csv", "mira_2018.csv.gz", "mira_2018.log", "MIRA_2018.CSV"])
def test_a_log_is_read_whatever_its_name(trace: Write, name: str) -> None:
    workload = read_trace(trace(line(5, 1535348020.5), line(4, user=99, status="Failed"), name=name))
    assert workload.id.tolist() == [4, 5]
    assert workload.submit.tolist() == [0, 3.5]
    assert workload.processors.tolist() == [512, 512]
    assert workload.run.tolist() == [60, 60]
    assert workload.time_limit.tolist() == [3600, 3600]
    assert workload.logged["wait"].tolist() == [10, 10]
    facts = {name: values.tolist() for name, values in workload.facts.items()}
    assert facts == {"user": [99, 77], "project": [88, 88], "status": ["Failed", "Pass"]}
    assert (workload.machine, workload.epoch, workload.read) == (49152, 1535348017, 2)
    assert workload.name.lower() == ("mira_2018.log" if name.endswith(".log") else "mira_2018")


def test_columns_may_stand_in_any_order_and_others_are_not_needed(trace: Write) -> None:
    header = "wall_time,run_time,wait_time,submit_time,node_num,project,user,job"
    workload = read_trace(trace("90,60,5,100,3,8,7,1", header=header))
    assert (workload.time_limit[0], workload.run[0], workload.processors[0], workload.id[0]) == (90, 60, 3, 1)
    assert "status" not in workload.facts


def test_the_machine_is_that_of_the_files_name_or_unknown(trace: Write) -> None:
    assert read_trace(trace(line(), name="other.csv")).machine is None
    assert read_trace(trace(line(nodes=50_000)), machine=50_000).machine == 50_000
    with pytest.raises(InputError, match=r"no job is left of 1 \(1 more processors than the machine's 49152\)"):
        read_trace(trace(line(nodes=50_000)))


def test_filters_and_options_are_those_of_other_traces(trace: Write) -> None:
    path = trace(line(1, run=5000), line(2, run=0), line(3, wall=""))
    workload = read_trace(path, first_submit=50)
    assert (workload.id.tolist(), workload.submit.tolist()) == ([1, 3], [50, 50])
    assert workload.dropped == (Dropped("run time unknown or 0 s", 1, f"{path}:3"),)
    assert workload.changed == (
        Changed("no requested time: the run time taken for it", 1, f"{path}:4"),
        Changed("run time beyond the request: cut to the request", 1, f"{path}:2"),
    )
    assert read_trace(path, filter="papers").id.tolist() == [1, 2, 3]
    with pytest.raises(ConfigurationError, match="processors_field is for traces in SWF"):
        read_trace(path, processors_field="requested")
    with pytest.raises(ConfigurationError, match="malformed is 'ignore'"):
        read_trace(path, malformed="ignore")


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        (line("x"), "job is 'x', which is not a whole number"),
        (line(2.5), "job is '2.5', which is not a whole number"),
        (line(nodes="1e3"), "node_num is '1e3', which is not a whole number"),
        (line(run="soon"), "run_time is 'soon', which is not a number"),
        (line(wall="1_000"), "wall_time is '1_000', which is not a number"),
        (line(submit="nan"), "submit_time is 'nan', which is not a usable time"),
        (line(wait="1e300"), "wait_time is '1e300', which is not a usable time"),
        (line() + ",1", "the line has 15 fields instead of 14"),
        ("1,2", "the line has 2 fields instead of 14"),
        (line(7), "job number 7 stands already in line 2"),
    ],
)
def test_a_line_that_is_no_record_is_named_or_counted(trace: Write, bad: str, told: str) -> None:
    path = trace(line(7), "", bad, line(8))
    with pytest.raises(InputError) as caught:
        read_trace(path)
    assert str(caught.value).startswith(f"{path}:4: {told}; correct the line, or leave such lines out")
    workload = read_trace(path, malformed="drop")
    assert (workload.id.tolist(), workload.read) == ([7, 8], 3)
    assert workload.dropped == (Dropped("malformed line or job number used before", 1, f"{path}:4"),)


def test_a_quote_that_never_ends_is_named(trace: Write) -> None:
    path = trace(line(), '0,"2')
    with pytest.raises(InputError, match=r"mira_2018.csv:3: the line is not CSV: "):
        read_trace(path)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "1: there is no column job, user, project"),
        (b"job,user\n", ":1: there is no column project, node_num"),
        (HEADER.encode() + b"\n", "the file holds no job"),
        (b"job\n\xff\n", ":2: the line is not text in UTF-8"),
        (gzip.compress(b"job" * 99, mtime=0)[:-4], "the gzip data is incomplete or damaged"),
    ],
)
def test_files_that_are_no_log(tmp_path: Path, content: bytes, told: str) -> None:
    path = tmp_path / "log.csv"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"log\.csv") as caught:
        read_trace(path)
    assert told in str(caught.value)


def test_a_file_that_is_not_there() -> None:
    with pytest.raises(InputError, match=r"nowhere.csv: cannot be read: No such file"):
        read_alcf("nowhere.csv")
    with pytest.raises(InputError, match=r"nowhere.swf: cannot be read: No such file"):
        read_trace("nowhere.swf")


def test_any_other_file_is_read_as_swf(tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    path.write_text("1 0 5 20 1 -1 -1 -1 100 -1 1 7 -1 -1 -1 -1 -1 -1\n")
    assert isinstance(read_trace(path, processors_field="either"), Workload)


def test_it_is_simulated_like_any_trace(trace: Write) -> None:
    path = trace(line(1, nodes=40_000), line(2, 1535348018, nodes=40_000))
    assert simulate(path).records.jobs["start"].tolist() == [0, 60]
    done = CliRunner().invoke(slurm_sim, ["run", str(path), "--json"], catch_exceptions=False)
    assert done.exit_code == 0
    assert '"name": "mira_2018"' in done.output


def test_four_months_of_mira(traces: Path) -> None:
    workload = read_trace(traces / "alcf" / "mira_2018-08_2018-12.csv.gz")
    assert (len(workload), workload.read, workload.machine) == (22508, 22508, 49152)
    assert len(set(workload.facts["user"].tolist())) == 160
    assert len(set(workload.facts["project"].tolist())) == 79
    assert workload.logged["wait"].min() == 7
