"""Dumps of sacct: columns by name, records over several lines, clocks, and lines that cannot be used."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from datetime import datetime
from itertools import combinations, pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.workload.read import read_trace
from emulator.workload.sacct import plain, read_sacct, reading
from emulator.workload.sacct.asked import submitted
from emulator.workload.sacct.columns import BETWEEN, COLUMNS, Column, column_of, together
from emulator.workload.sacct.dump import _aligned, records
from emulator.workload.sacct.plain import WORTH
from emulator.workload.sacct.times import instants, span, zone_of
from emulator.workload.sbatch import BatchOptions
from emulator.workload.sitelog import UNTIL_ITS_LIMIT, LoggedJob, SiteLog
from slurm_sim_plugins.errors import ConfigurationError, InputError

NAMES = "JobID JobName Partition Account User Submit Eligible Start End Elapsed State ReqCPUS ReqNodes NNodes Timelimit"
ROW = {
    "JobID": "7",
    "JobName": "a",
    "Partition": "p",
    "Account": "acct",
    "User": "ann",
    "Submit": "2021-03-01T10:00:00",
    "Eligible": "2021-03-01T10:00:00",
    "Start": "2021-03-01T10:01:00",
    "End": "2021-03-01T10:02:40",
    "Elapsed": "00:01:40",
    "State": "COMPLETED",
    "ReqCPUS": "4",
    "ReqNodes": "2",
    "NNodes": "2",
    "Timelimit": "1-00:00:00",
}


@pytest.fixture(autouse=True, scope="module", params=[0, WORTH], ids=["at once", "line by line"])
def worth(request: pytest.FixtureRequest) -> Iterator[None]:
    """Both ways to find records."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plain, "WORTH", request.param)
        yield


def dump(*rows: dict[str, str], more: str = "") -> str:
    names = f"{NAMES} {more}".split()
    lines = ["|".join(names), *("|".join({**ROW, **row}.get(name, "") for name in names) for row in rows)]
    return "".join(f"{line}\n" for line in lines)


def read(tmp_path: Path, text: str, **options: str) -> SiteLog:
    file = tmp_path / "jobs.sacct"
    file.write_text(text)
    return read_sacct(file, **options)


def only(log: SiteLog) -> LoggedJob:
    (job,) = log.jobs
    return job


def test_what_a_job_asked_for_is_apart_from_what_became_of_it(tmp_path: Path) -> None:
    log = read(tmp_path, dump({"ReqMem": "4000M", "Constraints": "x", "QOS": "q"}, more="ReqMem Constraints QOS"))
    job = only(log)
    options = job.request.options
    assert (job.request.id, job.request.submit, job.request.run, job.request.user) == (7, 0, 100, "ann")
    assert (options.tasks, options.min_nodes, options.max_nodes, options.time_limit) == (4, 2, 2, 86400)
    assert (options.memory_per_node, options.constraint, options.qos) == (2000, "x", "q")
    assert (options.partitions, options.account, options.name, options.begin) == (("p",), "acct", "a", None)
    assert (job.happened.start, job.happened.runs[0].end, job.happened.state) == (60, 160, "COMPLETED")
    assert log.epoch == 1614592800


@pytest.mark.parametrize(
    ("mem", "nodes", "per_node", "per_cpu"),
    [
        ("2800Mc", "1", None, 2800),
        ("55Gn", "2", 56320, None),
        ("0n", "1", None, None),
        ("16G", "16", 1024, None),
        ("0", "1", None, None),
    ],
)
def test_memory_of_two_versions(tmp_path: Path, mem: str, nodes: str, per_node: int, per_cpu: int) -> None:
    job = only(read(tmp_path, dump({"ReqMem": mem, "ReqNodes": nodes, "NNodes": nodes}, more="ReqMem")))
    assert (job.request.options.memory_per_node, job.request.options.memory_per_cpu) == (per_node, per_cpu)


def test_resources_and_licences(tmp_path: Path) -> None:
    asked = "billing=4,cpu=4,gres/gpu=4,gres/gpu:a100=4,gres/nic=2,license/foo=3,mem=1G,node=2"
    options = only(read(tmp_path, dump({"ReqTRES": asked}, more="ReqTRES"))).request.options
    assert [(one.name, one.type, one.count) for one in (*options.gpus, *options.gres)] == [
        ("gpu", "a100", 4),
        ("nic", "", 1),
    ]
    assert options.licenses == (("foo", 3),)


BARE = "JobID Submit Start End Elapsed State Timelimit ReqCPUS"


def of_columns(tmp_path: Path, row: dict[str, str]) -> BatchOptions:
    """What a job asked for of which a dump has no other columns than these and those without which none is read."""
    names = [*BARE.split(), *(name for name in row if name not in BARE)]
    values = [{**ROW, **row}[name] for name in names]
    return only(read(tmp_path, "|".join(names) + "\n" + "|".join(values) + "\n")).request.options


@pytest.mark.parametrize(
    ("row", "nodes"),
    [
        ({}, None),
        ({"NNodes": "2"}, 2),
        ({"AllocNodes": "2"}, 2),
        ({"AllocTRES": "cpu=4,node=2"}, 2),
        ({"ReqNodes": "1", "AllocNodes": "2"}, None),
        ({"ReqNodes": "2", "AllocNodes": "2"}, 2),
        ({"NNodes": "2", "NodeList": "None assigned", "State": "CANCELLED"}, 2),
    ],
)
def test_nodes_that_no_column_says_are_left_open(tmp_path: Path, row: dict[str, str], nodes: int | None) -> None:
    options = of_columns(tmp_path, row)
    assert (options.min_nodes, options.max_nodes) == (nodes, nodes)


@pytest.mark.parametrize(
    ("row", "per_job", "each_node"),
    [
        ({"AllocTRES": "cpu=4,gres/gpu=4,node=2"}, [("gpu", "", 4)], []),
        ({"AllocTRES": "cpu=4,gres/gpu=4,node=2", "ReqTRES": "cpu=4,node=2"}, [], []),
        ({"ReqGRES": "gpu:a100:2,nic", "NNodes": "2"}, [], [("gpu", "a100", 2), ("nic", "", 1)]),
        ({"ReqGRES": "PER_NODE:gpu:2"}, [], [("gpu", "", 2)]),
        ({"ReqGRES": "PER_JOB:gpu:2"}, [("gpu", "", 2)], []),
        ({"ReqGRES": "PER_TASK:gpu:1", "AllocGRES": "7696487:4"}, [("gpu", "", 4)], []),
        ({"ReqGRES": "gres:gpu:2", "AllocGRES": "gpu:4"}, [], [("gpu", "", 2)]),
        ({"ReqGRES": "gpu:0", "AllocGRES": ""}, [], []),
        ({"AllocGRES": "gpu:v100:4,nic:2", "NNodes": "2"}, [("gpu", "v100", 4)], [("nic", "", 1)]),
        ({"ReqTRES": "cpu=4,gres/gpu=0,gres/gpu:a100=0", "ReqGRES": "N/A"}, [], []),
        ({"ReqTRES": "cpu=4,gres/mps=2K,gres/gpu=2,gres/gpu:a100=1"}, [("gpu", "", 2)], [("mps", "", 2048)]),
        ({"ReqTRES": "cpu=4,gres/gpu=2", "SubmitLine": "sbatch --gres=gpu:8 a"}, [("gpu", "", 2)], []),
        ({"ReqTRES": "cpu=4", "SubmitLine": "sbatch --gres=gpu:2 a"}, [], [("gpu", "", 2)]),
        ({"SubmitLine": "sbatch --gpus=3 a"}, [("gpu", "", 3)], []),
    ],
)
def test_generic_resources_are_those_of_the_first_column_that_has_any(
    tmp_path: Path, row: dict[str, str], per_job: list[tuple[str, str, int]], each_node: list[tuple[str, str, int]]
) -> None:
    options = of_columns(tmp_path, row)
    assert [(one.name, one.type, one.count) for one in options.gpus] == per_job
    assert [(one.name, one.type, one.count) for one in options.gres] == each_node


@pytest.mark.parametrize(
    ("row", "per_node", "per_cpu"),
    [
        ({"ReqTRES": "cpu=4,mem=8G,node=2"}, 4096, None),
        ({"ReqTRES": "cpu=4,mem=8G"}, None, 2048),
        ({"AllocTRES": "cpu=4,mem=8G,node=2"}, 4096, None),
        ({"ReqMem": "2G", "ReqTRES": "cpu=4,mem=8G,node=2"}, 1024, None),
        ({"ReqMem": "0", "SubmitLine": "sbatch --mem=0 a"}, 0, None),
        ({"ReqMem": "2G", "NNodes": "1", "SubmitLine": "sbatch --mem=0 a"}, 2048, None),
        ({"SubmitLine": "sbatch --mem-per-cpu=3G a"}, None, 3072),
    ],
)
def test_memory_is_what_the_first_column_says_else_the_line(
    tmp_path: Path, row: dict[str, str], per_node: int | None, per_cpu: int | None
) -> None:
    options = of_columns(tmp_path, row)
    assert (options.memory_per_node, options.memory_per_cpu) == (per_node, per_cpu)


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"ReqCPUS": "9" * 30}, "ReqCPUS is"),
        ({"NNodes": "9" * 12}, "NNodes is '999999999999', which is no count"),
        ({"ReqMem": "9" * 400}, "which is more than any node has"),
        ({"ReqTRES": "cpu=4,gres/gpu=-1"}, "gres/gpu is '-1', which is no count"),
        ({"ReqTRES": "cpu=4,gres/gpu="}, ""),
        ({"ReqTRES": "cpu=4,node=1T"}, "ReqNodes is '1T', which is no count"),
    ],
)
def test_what_is_no_count_is_told_with_its_column(tmp_path: Path, row: dict[str, str], words: str) -> None:
    if not words:
        assert not of_columns(tmp_path, row).gpus
        return
    with pytest.raises(InputError, match=words):
        of_columns(tmp_path, row)


def test_tasks_of_gpus_are_those_of_the_line(tmp_path: Path) -> None:
    options = of_columns(tmp_path, {"SubmitLine": "sbatch -c4 --gpus-per-task=1 a"})
    assert (options.gpus_on(1), options.cpus) == (1, 4)


def test_what_the_dump_has_no_column_for_comes_from_the_line(tmp_path: Path) -> None:
    line = "sbatch -p q -A b --qos=high -C fast -J x a.sh"
    options = of_columns(tmp_path, {"SubmitLine": line})
    assert (options.partitions, options.account, options.qos) == (("q",), "b", "high")
    assert (options.constraint, options.name) == ("fast", "x")
    options = of_columns(tmp_path, {"SubmitLine": line, "Constraints": "", "Partition": "p"})
    assert (options.partitions, options.constraint) == (("p",), "")


def test_that_nothing_is_said_of_memory_is_told(tmp_path: Path) -> None:
    text = f"{'|'.join(BARE.split())}\n{'|'.join(ROW[name] for name in BARE.split())}\n"
    (told,) = read(tmp_path, text).changed
    assert (told.reason, told.count, told.first) == (reading.NO_MEMORY, 1, f"{tmp_path}/jobs.sacct:2")


def test_steps_are_counted_and_tasks_know_their_array(tmp_path: Path) -> None:
    rows = [{"JobID": "9_3", "JobIDRaw": "12"}, {"JobID": "9_3.batch", "JobIDRaw": "12.batch"}]
    log = read(tmp_path, dump(*rows, more="JobIDRaw"))
    job = only(log)
    assert (log.read, log.steps, job.label, job.request.id) == (2, 1, "9_3", 12)
    assert (job.request.array, job.request.task) == (9, 3)


def test_a_row_is_one_task_whatever_its_submission_line_says_of_all(tmp_path: Path) -> None:
    line = "sbatch --array=0-5%2 -n4 a.sh"
    rows = [{"JobID": f"9_{task}", "JobIDRaw": str(20 + task), "SubmitLine": line} for task in range(3)]
    jobs = read(tmp_path, dump(*rows, more="JobIDRaw SubmitLine")).jobs
    arrays = [job.request.options.array for job in jobs]
    assert [(array.indices, array.limit) for array in arrays if array is not None] == [((0,), 2), ((1,), 2), ((2,), 2)]
    assert [len(job.request.tasks(iter(()))) for job in jobs] == [1, 1, 1]


def test_a_requeued_job_has_its_runs_in_order(tmp_path: Path) -> None:
    again = {"Submit": "2021-03-01T10:02:40", "Start": "2021-03-01T11:00:00", "End": "2021-03-01T11:01:40"}
    job = only(read(tmp_path, dump({"State": "PREEMPTED"}, {**again, "Eligible": "2021-03-01T10:05:00"})))
    assert [(run.start, run.state) for run in job.happened.runs] == [(60, "PREEMPTED"), (3600, "COMPLETED")]
    assert (job.request.submit, job.request.options.begin) == (0, None)


def test_cancelled_jobs(tmp_path: Path) -> None:
    waiting = {"Start": "Unknown", "Elapsed": "00:00:00", "State": "CANCELLED by 1000", "NodeList": "None assigned"}
    running = {"JobID": "8", "State": "CANCELLED by 0", "NodeList": "n1"}
    first, second = read(tmp_path, dump(waiting, running, more="NodeList")).jobs
    assert (first.cancel_at, first.request.run, first.happened.runs) == (160, UNTIL_ITS_LIMIT, ())
    assert (second.cancel_at, second.request.run, second.happened.state) == (None, 100, "CANCELLED")


def test_holds_waits_and_limits_of_what_ran_into_them(tmp_path: Path) -> None:
    held = {"Elapsed": "00:00:00", "Start": "", "State": "CANCELLED by 1", "Reason": "JobHeldUser"}
    late = {"JobID": "8", "Eligible": "2021-03-01T10:00:30", "State": "TIMEOUT"}
    first, second = read(tmp_path, dump(held, late, more="Reason")).jobs
    assert first.request.options.held
    assert (second.request.options.begin, second.request.run) == (30, UNTIL_ITS_LIMIT)


def test_a_job_that_still_runs_is_told(tmp_path: Path) -> None:
    log = read(tmp_path, dump({"State": "RUNNING", "End": "Unknown", "ReqMem": "1G"}, more="ReqMem"))
    assert only(log).request.run == UNTIL_ITS_LIMIT
    (note,) = log.notices()
    assert "jobs.sacct:2: 1 jobs had not ended when the dump was made" in note


def test_odd_bytes_are_replaced_and_told(tmp_path: Path) -> None:
    file = tmp_path / "jobs.sacct"
    file.write_bytes(
        dump({"JobName": "caf?"}, {"JobID": "8", "JobName": "mañana"}).replace("?", "\xe9").encode("latin-1")
    )
    log = read_sacct(file)
    assert [job.request.name for job in log.jobs] == ["caf\ufffd", "ma\ufffdana"]
    assert any("jobs.sacct:2: 2 lines are not text in UTF-8" in note for note in log.notices())


def test_values_may_hold_the_separator_and_line_ends(tmp_path: Path) -> None:
    line = "sbatch --wrap=a | b\n  || then c\n\n  fi"
    row = {"JobName": "x|y", "Constraints": "a|b", "SubmitLine": line}
    log = read(tmp_path, dump(row, {"JobID": "8"}, more="Constraints SubmitLine NodeList"))
    first, second = log.jobs
    assert (first.request.name, first.request.options.constraint) == ("x|y", "a|b")
    assert (first.line, second.line) == (2, 6)


def test_a_submission_line_gives_what_no_column_has(tmp_path: Path) -> None:
    words = (
        "sbatch -N 2 -n 2 -c 2 --exclusive -L foo:2 -d afterok:5 --time-min 60 -t 120 -p q,p --mail-type ALL x.sh -n 9"
    )
    row = {"SubmitLine": words, "Timelimit": "01:00:00"}
    options = only(read(tmp_path, dump(row, more="SubmitLine"))).request.options
    assert (options.tasks, options.cpus_per_task, options.exclusive, options.licenses) == (2, 2, True, (("foo", 2),))
    assert (options.time_limit, options.time_min, options.partitions) == (7200, 3600, ("q", "p"))
    assert options.dependencies == ()


def test_lines_that_are_no_submission_add_nothing() -> None:
    assert submitted("python x.py -n 3")[0].tasks is None
    assert submitted("sbatch 'unbalanced")[0].tasks is None
    assert submitted("sbatch -n none x")[0].tasks is None
    assert submitted("/usr/bin/sbatch --wrap 'a -n 4' -n 3 b")[0].tasks == 3


@pytest.mark.parametrize("name", ["Submit", "State", "Elapsed", "Timelimit", "ReqCPUS", "JobID"])
def test_a_column_that_is_needed_is_missed(tmp_path: Path, name: str) -> None:
    lines = [line.split("|") for line in dump(ROW).split("\n")]
    place = lines[0].index(name)
    text = "\n".join("|".join(word for at, word in enumerate(line) if at != place) for line in lines)
    with pytest.raises(InputError, match=rf"jobs\.sacct:1: there is no column .*{name}"):
        read(tmp_path, text.replace("NNodes", "Other"))


BAD = [
    ({"Timelimit": "soon"}, "timelimit is 'soon', which is not a duration"),
    ({"Timelimit": "30"}, "Timelimit is '30', which is not written"),
    ({"Elapsed": "1:2:3:4"}, "Elapsed is '1:2:3:4'"),
    ({"Submit": "2021-02-30T00:00:00"}, "Submit is '2021-02-30T00:00:00', which is no time"),
    ({"Submit": "Unknown"}, "no time of submission"),
    ({"ReqCPUS": "0"}, "how many CPUs"),
    ({"JobID": "9_[1-5]"}, "stands for all tasks"),
    ({"State": "well done"}, "state is 'well done'"),
]


@pytest.mark.parametrize(("row", "words"), BAD)
def test_an_unreadable_value_is_told_with_its_line(tmp_path: Path, row: dict[str, str], words: str) -> None:
    text = dump({"JobID": "1"}, row, {"JobID": "2"})
    with pytest.raises(InputError) as caught:
        read(tmp_path, text)
    assert "jobs.sacct:3: " in str(caught.value)
    assert words in str(caught.value)
    log = read(tmp_path, text, malformed="drop")
    assert [job.label for job in log.jobs] == ["1", "2"]
    assert [(one.first, one.last) for one in log.unusable] == [(3, 3)]


def test_a_dump_that_is_cut_off_in_mid_line(tmp_path: Path) -> None:
    whole = dump(ROW, {"JobID": "8"})
    with pytest.raises(InputError, match=r"jobs\.sacct:3: the line is cut off or broken: it has 5 of 15 columns"):
        read(tmp_path, whole[: whole.rindex("ann")])
    file = tmp_path / "cut.gz"
    file.write_bytes(gzip.compress(whole.encode(), mtime=0)[:-9])
    with pytest.raises(InputError, match="incomplete"):
        read_sacct(file)


def test_a_job_that_stands_there_twice(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="job 7 stands already in line 2"):
        read(tmp_path, dump(ROW, ROW))


def test_what_is_no_dump(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="sacct -P"):
        read(tmp_path, "some\ntext\n")
    with pytest.raises(InputError, match="holds no job"):
        read(tmp_path, dump() + "\n")
    with pytest.raises(ConfigurationError, match="malformed"):
        read(tmp_path, dump(ROW), malformed="ignore")
    with pytest.raises(ConfigurationError, match="zone"):
        read(tmp_path, dump(ROW), zone="Mars/Olympus")


def test_times_with_zones() -> None:
    paris, summer = zone_of("Europe/Paris"), 1625133600
    assert instants("2021-07-01T12:00:00", paris) == (summer,)
    for text in ("2021-07-01T12:00:00+0200", "2021-07-01T10:00:00Z", "2021-07-01T06:00:00-04:00", str(summer)):
        assert instants(text, zone_of("UTC")) == (summer,)
    assert instants("Unknown", paris) == ()
    assert len(instants("2021-10-31T02:30:00", paris)) == 2
    assert len(instants("2021-03-28T02:30:00", paris)) == 1


def test_when_clocks_go_back_the_elapsed_time_tells_which_hour_it_was(tmp_path: Path) -> None:
    times = {"Submit": "2021-10-31T02:10:00", "Eligible": "", "Start": "2021-10-31T02:50:00"}
    row = {**times, "End": "2021-10-31T02:20:00", "Elapsed": "00:30:00"}
    log = read(tmp_path, dump(row), zone="Europe/Paris")
    run = only(log).happened.runs[0]
    assert (run.start, run.end, [one.reason for one in log.changed]) == (2400, 4200, [reading.NO_MEMORY])
    second = {**row, "Start": "2021-10-31T02:15:00", "Elapsed": "00:05:00", "Submit": "2021-10-31T02:50:00"}
    run = only(read(tmp_path, dump(second), zone="Europe/Paris")).happened.runs[0]
    assert (run.start, run.end) == (1500, 1800)


def test_a_clock_change_without_a_zone_is_told_and_no_job_is_lost(tmp_path: Path) -> None:
    back = {"Start": "2021-10-31T02:50:00", "End": "2021-10-31T02:20:00", "Elapsed": "00:30:00"}
    log = read(tmp_path, dump({**back, "Submit": "2021-10-31T02:10:00", "Eligible": ""}))
    assert only(log).request.run == 1800
    told = list(log.notices())
    assert "jobs.sacct:2: 1 jobs have times that run backwards (End before Start)" in told[0]
    assert "1 jobs have an end that lies -1 h off start and elapsed time" in told[1]


@given(st.integers(0, 9000), st.integers(0, 9000), st.integers(1, 9000))
def test_local_times_around_a_clock_change_agree_with_each_other(submit: int, wait: int, elapsed: int) -> None:
    paris, before = zone_of("Europe/Paris"), 1635636600
    when = [before + submit, before + submit + wait, before + submit + wait + elapsed]
    first, start, end = (
        instants(datetime.fromtimestamp(second, paris).replace(tzinfo=None).isoformat(), paris) for second in when
    )
    found = span([first, first, start, end], float(elapsed), 0.0)
    assert (found.backwards, found.off) == ("", 0)
    assert found.start is not None
    assert found.end == found.start + elapsed


free = st.text(st.characters(codec="ascii", exclude_characters="\r", min_codepoint=9, exclude_categories=["Cc"]))


@given(st.lists(st.tuples(free, free.map(lambda text: text.replace("|", "\n"))), min_size=1, max_size=5))
def test_records_are_found_whatever_names_and_lines_hold(values: list[tuple[str, str]]) -> None:
    rows = [
        {"JobID": str(place), "JobName": name, "SubmitLine": f"sbatch {line}"}
        for place, (name, line) in enumerate(values)
    ]
    found = records("x", dump(*rows, more="SubmitLine NodeList").encode())
    assert not found.unusable
    assert found.columns["jobname"] == [row["JobName"] for row in rows]
    assert found.columns["submitline"] == [row["SubmitLine"] for row in rows]
    assert found.columns["timelimit"] == [ROW["Timelimit"]] * len(rows)


def slowly_aligned(columns: list[Column], pieces: list[str]) -> list[list[str]]:
    """All ways to cut, the cheapest first."""
    ways = []
    for ends in combinations(range(1, len(pieces)), len(columns) - 1):
        cuts = [0, *ends, len(pieces)]
        values = ["|".join(pieces[begin:end]) for begin, end in pairwise(cuts)]
        price = 0
        for column, value in zip(columns, values, strict=True):
            taken = value.count("|")
            if not column.takes(value) or (taken and column.separators is None):
                break
            price += taken * (column.separators or 0)
            price += bool(taken) * (value.startswith("|") + value.endswith("|"))
        else:
            ways.append((price, values))
    best = min((price for price, _ in ways), default=0)
    return [values for price, values in ways if price == best]


kinds = st.lists(
    st.sampled_from(["jobid", "reqcpus", "user", "jobname", "constraints", "submitline"]), min_size=1, max_size=5
)


@given(kinds, st.lists(st.sampled_from(["", "7", "a b", "n\nm", "x&y"]), min_size=1, max_size=8))
def test_values_are_cut_in_the_cheapest_way(names: list[str], pieces: list[str]) -> None:
    columns = [column_of(name) for name in names]
    found, ways = _aligned(columns, pieces, "|"), slowly_aligned(columns, pieces)
    assert (found in ways) if ways else found is None


def test_a_damaged_dump_takes_no_longer() -> None:
    names = [*NAMES.split(), "SubmitLine", *("unknown" for _ in range(80)), "UID"]
    text = "|".join(names) + "\n" + "|" * 900 + "\n" + "a|\n" * 3000
    found = records("x", text.encode())
    assert (found.lines, len(found.unusable)) == ([], 1)


def test_a_dump_as_a_workload_for_ideal_timing(tmp_path: Path) -> None:
    file = tmp_path / "dump.txt"
    file.write_text(dump(ROW, {"JobID": "8", "State": "PENDING", "Start": "", "End": "", "Elapsed": "00:00:00"}))
    workload = read_trace(file, machine=10)
    assert workload.id.tolist() == [7]
    assert (workload.run.tolist(), workload.processors.tolist(), workload.logged["wait"].tolist()) == ([100], [4], [60])
    assert workload.dropped[0].count == 1


EXPECTED = {
    "sacct_dump2101.log": (12, 15, 2, [16]),
    "sacct_dump2110.log": (1, 7, 2, [5, 6, 7, 8]),
    "sacct_simple.log": (4, 4, 0, []),
    "sacct_submitline_multiline.log": (2, 13, 7, [15, 16, 17, 18]),
}


@pytest.mark.parametrize("name", EXPECTED)
def test_real_dumps_of_two_versions(traces: Path, name: str) -> None:
    log = read_sacct(traces / "slurm" / "sacct" / name, malformed="drop")
    assert (len(log), log.read, log.steps, [one.first for one in log.unusable]) == EXPECTED[name]


def test_separators_in_real_dumps(traces: Path) -> None:
    jobs = read_sacct(traces / "slurm" / "sacct" / "sacct_dump2101.log", malformed="drop").jobs
    assert {job.request.options.constraint for job in jobs} == {"", "CPU-E5645", "cpu-a|cpu-b", "cpu-a|cpu-b|gpu"}
    assert {job.request.name for job in jobs if "|" in job.request.name} == {
        "Job| Name003",
        "Job| Name |003",
        "Jo| bNa| me003",
    }
    simple = read_sacct(traces / "slurm" / "sacct" / "sacct_simple.log").jobs
    assert [job.request.name for job in simple] == ["job_00001", "job_0||0002", "job_0|0003", "job_|00004"]
    assert [job.request.run for job in simple] == [84805, 12688, 2009, 2003]


def test_a_dump_that_ends_within_a_line_is_cut_off_there(tmp_path):
    text = dump(ROW, {"JobID": "8"}, more="SubmitLine")
    whole = read(tmp_path, text)
    for end in range(len(text) - 40, len(text)):
        with pytest.raises(InputError, match=":3: the line "):
            read(tmp_path, text[:end])
        rest = read(tmp_path, text[:end], malformed="drop")
        assert (rest.jobs, [one.first for one in rest.unusable]) == (whole.jobs[:1], [3])


OF_COLUMNS = (
    *("", "1", "a", "a b", "1_2.batch", "1.extern", "2024-01-01T00:00:00", "Unknown", "1-00:00:00", "UNLIMITED", "0:0"),
    *("COMPLETED", "CANCELLED by 7", "4000M", "cpu=4,mem=1G", "n[1-2]", "None assigned", "a&b", f"x{BETWEEN}y", "p\nq"),
)
VALUES = st.sampled_from(OF_COLUMNS) | st.text(max_size=4)


@given(st.lists(st.tuples(st.sampled_from([*COLUMNS, "further"]), VALUES), min_size=1, max_size=8))
def test_columns_take_together_what_each_of_them_takes(pairs: list[tuple[str, str]]) -> None:
    columns = [column_of(name) for name, _ in pairs]
    values = [value for _, value in pairs]
    each = all(column.takes(value) for column, value in zip(columns, values, strict=True))
    assert together(columns)(values) == each


HET = [
    {
        "JobID": "7+0",
        "JobIDRaw": "7",
        "ReqCPUS": "4",
        "NNodes": "1",
        "SubmitLine": "sbatch -n4 -N1 : -n2 --nice=3 x.sh",
    },
    {"JobID": "7+0.batch", "JobIDRaw": "7.batch"},
    {
        "JobID": "7+1",
        "JobIDRaw": "8",
        "ReqCPUS": "2",
        "NNodes": "1",
        "SubmitLine": "sbatch -n4 -N1 : -n2 --nice=3 x.sh",
    },
    {"JobID": "7+1.extern", "JobIDRaw": "8.extern"},
    {"JobID": "9", "JobIDRaw": "9"},
]


@pytest.mark.parametrize("raw", [True, False])
def test_components_of_a_heterogeneous_job_know_each_other(tmp_path: Path, raw: bool) -> None:
    log = read(tmp_path, dump(*HET, more="SubmitLine JobIDRaw" if raw else "SubmitLine"))
    found = [(job.label, job.request.id, job.request.het_job_id, job.request.het_job_offset) for job in log.jobs]
    assert found == [("7+0", 7, 7, 0), ("7+1", 8, 7, 1), ("9", 9, None, 0)]
    assert log.steps == 2
    first, second, _ = (job.request.options for job in log.jobs)
    assert (first.tasks, second.tasks, first.nice, second.nice) == (4, 2, 3, 3)
    assert first.components == second.components == ()


def test_where_processors_are_counted_a_heterogeneous_job_is_one(tmp_path: Path) -> None:
    file = tmp_path / "jobs.sacct"
    rows = [{**row, "AllocCPUS": row.get("ReqCPUS", "4")} for row in HET]
    file.write_text(dump(*rows, more="SubmitLine JobIDRaw AllocCPUS"))
    workload = read_trace(file, machine=100)
    assert (workload.id.tolist(), workload.processors.tolist()) == ([7, 9], [6, 4])
    assert [dropped.count for dropped in workload.dropped if "heterogeneous" in dropped.reason] == [1]
