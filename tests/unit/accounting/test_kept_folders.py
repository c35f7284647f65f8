"""Folders of results that come from somebody else, or that a killed process left: nothing outside is touched."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import shutil
import signal
import stat
import tomllib
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
import tomli_w

import emulator.accounting.records
import emulator.files
import emulator.snapshot.keeper
from emulator import Config, simulate
from emulator.accounting.aside import written_aside
from emulator.accounting.describe import source_hash
from emulator.accounting.runfolder import FILES, SNAPSHOT, UNFINISHED, read_run
from emulator.campaign import run_all
from emulator.campaign.expand import expand
from emulator.campaign.file import read_campaign
from emulator.campaign.results import records, survey
from emulator.config.slurm import parse_slurm_conf
from emulator.explain.story import tell
from emulator.fairness import audit
from emulator.files import LARGEST, PART, check_writable, open_kept, write_atomically
from emulator.resume import keeper, resume
from emulator.runs import CountedRun
from emulator.views.recorded import RecordedCluster
from emulator.workload.models import cpu_use, lublin99
from emulator.workload.request import JobRequest
from emulator.workload.sbatch import parse_sbatch
from emulator.workload.swf import read_swf, write_swf
from slurm_sim_plugins import InputError, OutputError, SlurmSimError, hookimpl
from slurm_sim_plugins.manager import PluginInfo
from slurm_sim_plugins.sched.realtime import Realtime
from slurm_sim_plugins.select.blocks import InBlocks
from tests.builders.jobs import two_tiers

CONFIG = Config(slots={"SchedulerType": "sched/easy"})


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("traces") / "jobs.swf"
    write_swf(cpu_use.assign(lublin99.generate(60, 64, 3, load=0.9), 3), file)
    return file


class Interrupt:
    """Interrupts a run when so many snapshots were taken."""

    def __init__(self, after: int) -> None:
        self._left = after

    def __call__(self, _: int) -> None:
        self._left -= 1
        if self._left == 0:
            raise KeyboardInterrupt


def stopped(trace: Path, out: Path, after: int = 2) -> Path:
    kept = keeper(10, trace, {}, CONFIG, [])
    with pytest.raises(KeyboardInterrupt):
        simulate(read_swf(trace), config=CONFIG, out=out, keeper=kept, report=Interrupt(after))
    return out


def files(folder: Path) -> dict[str, bytes]:
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def rewrite(snapshot: Path, **changes: Any) -> None:
    """Alter what a snapshot says of its run as somebody would who knows how it is written."""
    lines = gzip.decompress(snapshot.read_bytes()).splitlines(keepends=True)[:-1]
    lines[0] = json.dumps({**json.loads(lines[0]), **changes}).encode() + b"\n"
    data = b"".join(lines)
    snapshot.write_bytes(gzip.compress(data + json.dumps(hashlib.sha256(data).hexdigest()).encode() + b"\n"))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_run_that_is_killed_when_it_is_whole_leaves_no_snapshot(
    trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, out = CountedRun.write, tmp_path / "out"

    def write_and_die(*given: Any) -> None:
        write(*given)
        os.kill(os.getpid(), signal.SIGKILL)

    child = os.fork()
    if child == 0:
        monkeypatch.setattr(CountedRun, "write", write_and_die)
        simulate(read_swf(trace), config=CONFIG, out=out, keeper=keeper(10, trace, {}, CONFIG, []))
    assert os.waitpid(child, 0)[1] == signal.SIGKILL
    assert {SNAPSHOT, "run.toml"} <= set(os.listdir(out / UNFINISHED))
    with pytest.raises(InputError, match="holds no snapshot: its run is over"):
        resume(out)
    simulate(read_swf(trace), config=CONFIG, out=tmp_path / "whole")
    assert files(out) == files(tmp_path / "whole")


# Nothing outside a folder is opened


NOTHING = {"log_bytes": 0, "log_sha256": hashlib.sha256().hexdigest()}


@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_going_on_writes_no_file_outside_the_folder(trace: Path, tmp_path: Path, link: Callable[..., None]) -> None:
    precious, out = tmp_path / "precious", stopped(trace, tmp_path / "out")
    precious.write_text("mine")
    rewrite(out / SNAPSHOT, **NOTHING)
    (out / "events.jsonl").unlink()
    link(precious, out / "events.jsonl")
    with pytest.raises(InputError, match="is a link") if link is os.symlink else nullcontext():
        resume(out)
    assert precious.read_text() == "mine"


@pytest.mark.parametrize("name", [UNFINISHED, f"{UNFINISHED}/lock", f"{UNFINISHED}/events.jsonl"])
def test_a_run_is_not_written_through_a_link(trace: Path, tmp_path: Path, name: str) -> None:
    outside, link = tmp_path / "outside", tmp_path / "out" / name
    outside.mkdir()
    (outside / "events.jsonl").write_text("mine")
    link.parent.mkdir(parents=True)
    link.symlink_to(outside if name == UNFINISHED else outside / "events.jsonl")
    try:
        simulate(read_swf(trace), config=CONFIG, out=tmp_path / "out")
    except OutputError:
        assert name != f"{UNFINISHED}/events.jsonl"
    assert files(outside) == {"events.jsonl": b"mine"}


@pytest.mark.parametrize("name", ["/dev/zero", "pipe"])
def test_a_trace_without_an_end_is_not_read(trace: Path, tmp_path: Path, name: str) -> None:
    if name == "pipe":
        os.mkfifo(tmp_path / name)
    out = stopped(trace, tmp_path / "out")
    rewrite(out / SNAPSHOT, trace=str(tmp_path / name))
    with pytest.raises(InputError, match="is no regular file"):
        resume(out)
    config = json.loads(gzip.decompress((out / SNAPSHOT).read_bytes()).splitlines()[0])["config"]
    slots = {**config["slots"], "SelectType": "select/blocks"}
    options = {"select/blocks": {"file": str(tmp_path / name)}}
    rewrite(out / SNAPSHOT, trace=str(trace), config={**config, "slots": slots, "plugin_options": options})
    with pytest.raises(InputError, match="is no regular file"):
        resume(out)


def test_a_run_whose_plugin_reads_without_an_end_is_not_made_again(trace: Path, tmp_path: Path) -> None:
    simulate(read_swf(trace), config=CONFIG, out=tmp_path)
    about = tomllib.loads((tmp_path / "run.toml").read_text())
    about["slots"].update(SelectType="select/blocks", SchedulerType="sched/realtime")
    del about["plugins"]["select/count"], about["plugins"]["sched/easy"]
    about["plugins"]["sched/realtime"] = {"options": {}, "sha256": source_hash(PluginInfo.of(Realtime))}
    about["plugins"]["select/blocks"] = {
        "options": {"file": "/dev/zero"},
        "sha256": source_hash(PluginInfo.of(InBlocks)),
    }
    (tmp_path / "run.toml").write_text(tomli_w.dumps(about))
    with pytest.raises(SlurmSimError, match="is no regular file"):
        audit(read_run(tmp_path))


def test_a_snapshot_that_unpacks_without_an_end_is_refused(
    trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(emulator.snapshot.keeper, "LARGEST_STATE", 1 << 22)
    out = stopped(trace, tmp_path / "out")
    (out / SNAPSHOT).write_bytes(gzip.compress(bytes(1 << 23)))
    with pytest.raises(InputError, match="holds more than 4,194,304 bytes"):
        resume(out)
    monkeypatch.setattr(emulator.snapshot.keeper, "LARGEST_STATE", 1 << 10)
    with pytest.raises(OutputError, match="the state holds more than 1,024 bytes"):
        stopped(trace, tmp_path / "other")


def test_a_few_bytes_of_parquet_cannot_claim_all_memory(
    trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    simulate(read_swf(trace), config=CONFIG, out=tmp_path)
    pyarrow.parquet.write_table(pa.table({"job_id": np.zeros(10**6)}), tmp_path / "runs.parquet")
    monkeypatch.setattr(emulator.accounting.records, "MOST_VALUES", 10**6 - 1)
    with pytest.raises(InputError, match=r"runs\.parquet: holds more than 999,999 values"):
        read_run(tmp_path)


def test_columns_whose_names_are_no_text_are_told(trace: Path, tmp_path: Path) -> None:
    simulate(read_swf(trace), config=CONFIG, out=tmp_path)
    file = tmp_path / "records.parquet"
    file.write_bytes(file.read_bytes().replace(b"processors", b"\xf3rocessors"))
    with pytest.raises(InputError, match="cannot be read as records"):
        read_run(tmp_path)


READERS: dict[str, Callable[[Path], object]] = {
    "run.toml": read_run,
    "records.parquet": read_run,
    "runs.parquet": read_run,
    "stays.parquet": read_run,
    "events.jsonl": lambda folder: tell(read_run(folder), 1),
    "snapshot.json.gz": resume,
}


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("kind", ["link", "folder", "pipe"])
def test_only_files_of_a_run_folder_are_read(trace: Path, tmp_path: Path, name: str, kind: str) -> None:
    out = stopped(trace, tmp_path / "out")
    outside = tmp_path / "outside"
    if (out / name).exists():
        (out / name).rename(outside)
    if kind == "link":
        (out / name).symlink_to(outside)
    else:
        (Path.mkdir if kind == "folder" else os.mkfifo)(out / name)
    with pytest.raises(InputError, match=r"is a link; links are not followed here|is no regular file"):
        READERS[name](out)


def site_run(out: Path) -> Path:
    requests = [JobRequest(number, number, 100, parse_sbatch(["-n2", "-t5"]), "me") for number in range(1, 6)]
    simulate(requests, parse_slurm_conf(two_tiers("REQUEUE")), out=out)
    return out


SITE_FILES = [name for name in FILES if name not in (SNAPSHOT, "stays.parquet", "events.jsonl")]


@pytest.mark.parametrize("name", [*SITE_FILES, "shares.parquet"])
def test_only_files_of_a_run_folder_are_viewed(tmp_path: Path, name: str) -> None:
    out = site_run(tmp_path / "out")
    if (out / name).exists():
        (out / name).rename(tmp_path / "outside")
    (out / name).symlink_to(tmp_path / "outside")
    with pytest.raises(InputError, match="is a link; links are not followed here"):
        view(out)


def view(out: Path) -> None:
    recorded = RecordedCluster.read(out)
    recorded.nodes(0)
    recorded.priorities_at(0)
    recorded.shares_at(0)


STUDY = """
[campaign]
records = true
[workloads.model]
model = "lublin99"
jobs = 20
processors = 64
[policies]
EASY = ["sched/easy"]
"""


@pytest.mark.parametrize(
    "name", ["slurm-sim-campaign.json", "campaign.json", "runs", "records", "runs/*", "records/*", "*/*/*"]
)
def test_only_files_of_a_campaign_are_read(tmp_path: Path, name: str) -> None:
    study, out = tmp_path / "study.toml", tmp_path / "out"
    study.write_text(STUDY)
    campaign = read_campaign(study)
    run_all(expand(campaign), keep=out, about=campaign.about())
    (run,) = survey(out).runs
    for number, each in enumerate(sorted(out.glob(name))):
        each.rename(tmp_path / f"outside{number}")
        each.symlink_to(tmp_path / f"outside{number}")
    if name.endswith(".json"):
        with pytest.raises(InputError, match="is a link"):
            survey(out)
        return
    (state,) = survey(out).runs
    assert state.state == "damaged" and "link" in state.trouble
    if not name.startswith("runs"):
        with pytest.raises(InputError, match="link"):
            records(out, run.run)


def test_a_file_that_is_read_whole_has_a_bound(tmp_path: Path) -> None:
    with (tmp_path / "run.toml").open("wb") as stream:
        stream.truncate(LARGEST + 1)
    with pytest.raises(InputError, match="holds more than 268,435,456 bytes"):
        read_run(tmp_path)
    with pytest.raises(OSError, match="lies in no folder"):
        open_kept(tmp_path / "run.toml" / "x" / "y", tmp_path)


# What a process that is killed leaves


def killed(work: Callable[[], object], at: int) -> bool:
    """Do something in a copy of this process, which is killed at a call that changes what is on the disk."""
    child = os.fork()
    if child == 0:
        left = [at]

        def dies(call: Any) -> Any:
            def called(*words: Any, **options: Any) -> Any:
                left[0] -= 1
                if left[0] == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                return call(*words, **options)

            return called

        for name in ("open", "mkdir", "rmdir", "unlink", "replace", "fsync", "chmod"):
            setattr(os, name, dies(getattr(os, name)))
        try:
            work()
        finally:
            os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_wherever_a_run_is_killed_its_folder_holds_one_run_or_says_that_it_does_not(
    trace: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    tiers = Config(slots={"SchedulerType": "sched/two_tier", "ExecutionType": "execution/two_tier"})
    workload = read_swf(trace)
    simulate(workload, config=tiers, out=tmp_path / "before")
    simulate(workload, config=CONFIG, out=tmp_path / "after")
    before, after = files(tmp_path / "before"), files(tmp_path / "after")
    found, out = [], tmp_path / "out"
    for at in range(1, 1000):
        shutil.rmtree(out, ignore_errors=True)
        shutil.copytree(tmp_path / "before", out)
        if not killed(lambda: simulate(workload, config=CONFIG, out=out), at):
            break
        caplog.clear()
        if (out / "run.toml").exists():
            read_run(out)
            whole = {name: data for name, data in files(out).items() if not name.startswith(UNFINISHED)}
            found.append("before" if whole == before else "after")
            assert found[-1] == "before" or whole == after
            assert bool(caplog.records) == (out / UNFINISHED).exists()
        else:
            for reader in (read_run, RecordedCluster.read):
                with pytest.raises(InputError, match="the run in it is not whole"):
                    reader(out)
            found.append("not whole")
        simulate(workload, config=CONFIG, out=out)
        assert files(out) == after and not (out / UNFINISHED).exists()
    assert files(out) == after
    assert sorted(set(found), key=found.index) == ["before", "not whole", "after"] and len(found) > 30


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("begun", ["aside", "in place"])
def test_wherever_going_on_is_killed_it_goes_on_again(trace: Path, tmp_path: Path, begun: str) -> None:
    simulate(read_swf(trace), config=CONFIG, out=tmp_path / "whole")
    expected, out = files(tmp_path / "whole"), stopped(trace, tmp_path / "out")
    if begun == "aside":
        (out / UNFINISHED).mkdir()
        for name in (SNAPSHOT, "events.jsonl"):
            (out / name).rename(out / UNFINISHED / name)
    at = 1
    while killed(lambda: resume(out), at):
        at += 4
    with pytest.raises(InputError, match="its run is over"):
        resume(out)
    assert files(out) == expected and at > 30


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_part_of_a_file_is_removed_by_the_next_write_when_its_writer_is_dead(tmp_path: Path) -> None:
    path, mine = tmp_path / "out.csv", tmp_path / ".out.csv.original"
    mine.write_text("mine")

    def write(stream: Any) -> None:
        stream.write(b"half")
        stream.flush()
        os.kill(os.getpid(), signal.SIGKILL)

    assert killed(lambda: write_atomically(path, write), 1000)
    (part,) = [file for file in tmp_path.iterdir() if file.name.endswith(PART)]
    with part.open("rb") as stream:
        assert emulator.files.try_lock(stream.fileno())
        write_atomically(path, lambda each: each.write(b"one"))
        assert part.exists(), "a part that is being written was removed"
    (tmp_path / f".other.csv.abcdefgh{PART}").write_text("of another file")
    write_atomically(path, lambda stream: stream.write(b"two"))
    assert sorted(files(tmp_path)) == [f".other.csv.abcdefgh{PART}", mine.name, path.name]


def test_a_pipe_and_a_device_are_written_to_and_stay(tmp_path: Path) -> None:
    pipe, device = tmp_path / "pipe", tmp_path / "null"
    os.mkfifo(pipe)
    with pytest.raises(OutputError, match="pipe: cannot be written: No such device or address"):
        write_atomically(pipe, lambda stream: stream.write(b"lost"))  # no process reads from it
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        check_writable(pipe)
        write_atomically(pipe, lambda stream: stream.write(b"read"))
        assert os.read(reader, 9) == b"read"
    finally:
        os.close(reader)
    assert pipe.is_fifo()
    try:
        os.mknod(device, stat.S_IFCHR | 0o666, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("devices cannot be made here")
    write_atomically(device, lambda stream: stream.write(b"nothing"))
    assert device.is_char_device()


def test_a_link_to_a_device_is_replaced(tmp_path: Path) -> None:
    link = tmp_path / "results.csv"
    link.symlink_to("/dev/null")
    write_atomically(link, lambda stream: stream.write(b"one"))
    assert not link.is_symlink()
    assert link.read_bytes() == b"one"


def test_two_runs_do_not_write_one_folder(trace: Path, tmp_path: Path) -> None:
    with written_aside(tmp_path / "out"), pytest.raises(OutputError, match="another run is written there"):
        simulate(read_swf(trace), config=CONFIG, out=tmp_path / "out")
    simulate(read_swf(trace), config=CONFIG, out=tmp_path / "out")


@pytest.mark.parametrize("name", [f"{UNFINISHED}/thesis.tex", "runs.parquet/thesis.tex", UNFINISHED])
def test_what_no_run_made_is_left_alone(trace: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("mine")
    with pytest.raises(OutputError, match=r"is in the way|File exists"):
        simulate(read_swf(trace), config=CONFIG, out=tmp_path)
    assert (tmp_path / name).read_text() == "mine" and not (tmp_path / "run.toml").exists()


def test_what_an_earlier_run_alone_had_goes_and_what_is_not_of_a_run_stays(trace: Path, tmp_path: Path) -> None:
    site_run(tmp_path)
    (tmp_path / "notes.txt").write_text("mine")
    simulate(read_swf(trace), config=CONFIG, out=tmp_path)
    assert sorted(files(tmp_path)) == ["events.jsonl", "notes.txt", "records.parquet", "run.toml", "runs.parquet"]
    simulate(read_swf(trace), config=CONFIG, out=tmp_path, events=tmp_path / "log.jsonl")
    assert "events.jsonl" not in files(tmp_path)


def test_a_run_in_slurms_timing_that_is_interrupted_is_kept(tmp_path: Path) -> None:
    class Impatient:
        name = "priority/impatient"

        @hookimpl
        def priority_set(self, view: Any) -> list[float]:
            if view.now >= 3:
                raise KeyboardInterrupt
            return [1.0] * len(view.to_set)

    requests = [JobRequest(number, number, 100, parse_sbatch(["-n2", "-t5"]), "me") for number in range(1, 6)]
    conf = parse_slurm_conf(two_tiers("REQUEUE"))
    with pytest.raises(KeyboardInterrupt):
        simulate(requests, conf, out=tmp_path, plugins=[Impatient], slots={"PriorityType": "priority/impatient"})
    found = read_run(tmp_path)
    assert found.about["run"]["status"] == "interrupted"
    assert set(found.records.jobs["state"].tolist()) <= {"RUNNING", "PENDING"} and len(found.records.jobs["state"])
    view(tmp_path)
