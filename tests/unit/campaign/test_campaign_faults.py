"""What goes wrong in the middle of a campaign: nothing is lost, nothing counts twice, and it is told."""

from __future__ import annotations

import errno
import json
import multiprocessing
import os
import resource
import signal
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from emulator import Config
from emulator.campaign import Outcome, RunSpec, run_all
from emulator.campaign.expand import expand
from emulator.campaign.file import read_campaign
from emulator.campaign.processes import Processes
from emulator.campaign.results import Survey, frame, survey
from emulator.campaign.runs import Promised
from emulator.campaign.spec import forget, stated
from emulator.campaign.store import Store
from emulator.cli import slurm_sim
from slurm_sim_plugins import ConfigurationError, InputError, OutputError

STUDY = """
[campaign]
repetitions = 4
records = true
[workloads.model]
model = "lublin99"
jobs = 60
processors = 64
load = [0.5, 0.8]
[policies]
EASY = ["sched/easy"]
FCFS = ["sched/fcfs"]
"""
RUNS = 16

PLUGIN = """
from slurm_sim_plugins import hookimpl


class Mine:
    "First by {what}."

    name = "priority/mine"

    @hookimpl
    def priority_set(self, view):
        return [{sign}job.processors for job in view.to_set]
"""


@pytest.fixture
def study(tmp_path: Path) -> Path:
    file = tmp_path / "study.toml"
    file.write_text(STUDY)
    return file


def make(study: Path, out: Path, **options: object) -> list[Outcome]:
    campaign = read_campaign(study)
    return run_all(expand(campaign), keep=out, about=campaign.about(), **options)  # type: ignore[arg-type]


def data(folder: Path) -> dict[str, bytes]:
    """All that a campaign measured; what it cost is in the manifests."""
    files = [*folder.rglob("numbers.parquet"), *folder.rglob("records.parquet"), *folder.rglob("runs.parquet")]
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in files}


def in_a_copy(work: Callable[[], object]) -> int:
    """Do something in a copy of this process; returns the copy's number."""
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        except BaseException as error:
            os._exit(getattr(error, "exit_code", 99))
    return child


def whole(found: Survey) -> bool:
    return found.count("done") == len(found.runs) == RUNS and not found.others


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_campaign_killed_at_random_moments_ends_as_one_that_was_not(study: Path, tmp_path: Path) -> None:
    make(study, tmp_path / "whole")
    out, kept = tmp_path / "killed", [0]
    draw = np.random.default_rng(5)
    while kept[-1] < RUNS - 3:
        child = in_a_copy(lambda: make(study, out))
        wanted, until = kept[-1] + int(draw.integers(0, 4)), time.monotonic() + 60
        while len(list(out.rglob("_manifest.json"))) < wanted and time.monotonic() < until:
            time.sleep(0.001)
        time.sleep(float(draw.uniform(0.0, 0.01)))
        os.kill(child, signal.SIGKILL)
        _, how = os.waitpid(child, 0)
        assert os.WIFSIGNALED(how) or os.WEXITSTATUS(how) == 0
        if (out / "campaign.json").exists():
            found = survey(out)
            assert found.count("failed") == found.count("damaged") == 0
            kept.append(found.count("done"))
    assert any(0 < done < RUNS for done in kept) and kept == sorted(kept)
    make(study, out)
    assert data(out) == data(tmp_path / "whole")
    assert whole(survey(out)) and len(frame(out)) == RUNS
    assert not list(out.rglob(".*"))


@pytest.mark.slow
def test_workers_killed_in_mid_run_cost_nothing_but_time(study: Path, tmp_path: Path) -> None:
    make(study, tmp_path / "whole")
    told: list[Outcome] = []
    others = set(multiprocessing.active_children())

    def report(outcome: Outcome) -> None:
        told.append(outcome)
        if len(told) in (3, 9):
            victim = min(set(multiprocessing.active_children()) - others, key=lambda child: child.pid or 0)
            os.kill(victim.pid or 0, signal.SIGKILL)

    outcomes = make(study, tmp_path / "killed", workers=Processes(2), report=report)
    assert not [outcome.error for outcome in outcomes if outcome.error]
    assert sorted(outcome.name for outcome in told) == sorted(outcome.name for outcome in outcomes)
    assert data(tmp_path / "killed") == data(tmp_path / "whole")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_full_disk_is_told_and_what_was_kept_stays(study: Path, tmp_path: Path) -> None:
    make(study, tmp_path / "whole")
    out = tmp_path / "full"
    make(study, out)
    files = sorted(out.rglob("numbers.parquet"))
    for file in files[4:]:
        (file.parent / "_manifest.json").unlink()
    size = min(file.stat().st_size for file in files)

    def on_a_full_disk() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size - 1, size - 1))
        make(study, out)

    _, how = os.waitpid(in_a_copy(on_a_full_disk), 0)
    assert os.WEXITSTATUS(how) == OutputError.exit_code
    found = survey(out)
    assert (found.count("done"), found.count("missing")) == (4, RUNS - 4)
    make(study, out)
    assert data(out) == data(tmp_path / "whole") and whole(survey(out))


@pytest.mark.slow
def test_whichever_write_fails_a_resume_gives_the_same(
    study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(study, tmp_path / "whole")
    out, replace, left = tmp_path / "failing", os.replace, [0]

    def failing(source: object, target: object) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        replace(source, target)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "replace", failing)
    for writes in range(9):
        left[0] = writes
        with pytest.raises(OutputError, match="No space left on device"):
            make(study, out)
    monkeypatch.undo()
    make(study, out)
    assert data(out) == data(tmp_path / "whole") and whole(survey(out))


@pytest.mark.slow
def test_a_damaged_file_is_told_and_made_again_whichever_it_is(study: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    make(study, out)
    before = data(out)
    draw = np.random.default_rng(7)
    files = sorted(file for file in out.rglob("*") if file.is_file() and file.parent.name.startswith("run="))
    assert len(files) == 4 * RUNS
    hurt = {files[place].parent.name: files[place] for place in draw.choice(len(files), 6, replace=False)}
    for number, file in enumerate(hurt.values()):
        content = bytearray(file.read_bytes())
        if number % 3 == 0:
            content[int(draw.integers(len(content)))] ^= 1 << int(draw.integers(8))
        file.write_bytes(content if number % 3 == 0 else content[: len(content) // 2] if number % 3 == 1 else b"")
    found = survey(out)
    assert found.count("damaged") == len(hurt) and found.count("done") == RUNS - len(hurt)
    assert len(frame(out)) == RUNS - len(hurt)
    for run in found.runs:
        assert (run.state == "damaged") == (f"run={run.run}" in hurt)
        assert run.state != "damaged" or str(hurt[f"run={run.run}"]) in run.trouble
    outcomes = make(study, out)
    assert sum(not outcome.kept for outcome in outcomes) == len(hurt)
    assert all("made again" in outcome.note for outcome in outcomes if not outcome.kept)
    assert data(out) == before and whole(survey(out))


@pytest.mark.slow
def test_a_plugin_that_changed_is_another_run_and_the_old_ones_do_not_count(study: Path, tmp_path: Path) -> None:
    plugin, out = tmp_path / "mine.py", tmp_path / "out"
    study.write_text(STUDY + 'mine = ["sched/fcfs", "priority/mine"]\n')

    def outcomes(text: str) -> list[Outcome]:
        plugin.write_text(text)
        campaign = read_campaign(study)
        return run_all(expand(campaign, [plugin]), keep=out, about=campaign.about())

    largest, smallest = PLUGIN.format(what="size", sign=""), PLUGIN.format(what="smallness", sign="-")
    first = outcomes(largest)
    second = outcomes(smallest)
    assert [each.kept for each in second] == [each.coordinates["policy"] != "mine" for each in second]
    assert first != second and [one.name for one in first] == [other.name for other in second]
    found = survey(out)
    assert found.count("done") == len(found.runs) == 24 and found.others == 8
    assert [str(run.numbers) for run in found.runs] == [str(each.numbers) for each in second]
    assert all(each.kept for each in outcomes(largest))
    manifest = next(run.manifest for run in survey(out).runs if run.coordinates["policy"] == "mine")
    assert list(manifest["determined_by"]["plugins"]) == ["priority/mine"]


def test_a_worker_with_another_plugin_or_trace_makes_no_run_under_a_wrong_name(study: Path, tmp_path: Path) -> None:
    plugin = tmp_path / "mine.py"
    plugin.write_text(PLUGIN.format(what="size", sign=""))
    study.write_text(STUDY + 'mine = ["sched/fcfs", "priority/mine"]\n')
    spec = expand(read_campaign(study), [plugin])[-1]
    promised = Promised(spec, stated(spec))
    before = promised.result()
    for what in ("plugins", "code", "version", "trace"):
        with pytest.raises(InputError, match=f"{what} is not"):
            Promised(spec, {**promised.stated, what: "other"}).result()
    plugin.write_text(PLUGIN.format(what="smallness", sign="-"))
    assert str(promised.result()) == str(before), "it is still the plugin that was loaded"
    forget()
    with pytest.raises(InputError, match="plugins is not"):
        promised.result()
    assert str(Promised(spec, stated(spec)).result()) != str(before)


@pytest.mark.slow
def test_two_campaigns_never_write_into_one_folder(study: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    make(study, out)
    with Store(out).held():
        with pytest.raises(OutputError, match="another campaign writes there"):
            make(study, out)
        assert whole(survey(out)), "to look is allowed"
    make(study, out)


@pytest.mark.slow
def test_a_mark_that_a_power_cut_left_empty_is_written_again_but_never_beside_other_files(
    study: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    make(study, out)
    (out / "slurm-sim-campaign.json").write_bytes(b"")
    (out / "campaign.json").write_bytes(b"")
    with pytest.raises(InputError, match="holds no results of a campaign"):
        survey(out)
    assert all(outcome.kept for outcome in make(study, out)) and whole(survey(out))
    (out / "slurm-sim-campaign.json").write_bytes(b"")
    (out / "chapter.tex").write_text("words")
    with pytest.raises(OutputError, match=r"holds chapter\.tex"):
        make(study, out)


def test_a_folder_of_something_else_is_left_alone(study: Path, tmp_path: Path) -> None:
    out = tmp_path / "thesis"
    out.mkdir()
    (out / "chapter.tex").write_text("words")
    with pytest.raises(OutputError, match=r"holds chapter\.tex"):
        make(study, out)
    assert [file.name for file in out.iterdir()] == ["chapter.tex"]


@pytest.mark.slow
def test_only_files_of_the_campaign_are_replaced_or_removed(study: Path, tmp_path: Path) -> None:
    out, outside = tmp_path / "out", tmp_path / "outside"
    make(study, out)
    run = next((out / "runs").iterdir())
    mine = [out / "notes.txt", run / "notes.txt", run / ".numbers.parquet.bak", run / ".hidden.parquet.abcdefgh.txt"]
    for file in mine:
        file.write_text("mine")
    left = run / ".numbers.parquet.abcd_123.slurm-sim-part"
    left.write_text("half")
    outside.mkdir()
    precious = outside / ".numbers.parquet.abcd_123.slurm-sim-part"
    precious.write_text("mine")
    (out / "runs" / f"run={'0' * 64}").symlink_to(outside)
    target = tmp_path / "target"
    target.write_text("mine")
    other = sorted((out / "runs").iterdir())[-1]
    (other / "numbers.parquet").unlink()
    (other / "numbers.parquet").symlink_to(target)
    make(study, out)
    assert [file.read_text() for file in (*mine, precious, target)] == ["mine"] * 6
    assert not left.exists() and not (other / "numbers.parquet").is_symlink()


def test_a_link_in_the_place_of_a_run_is_not_followed(study: Path, tmp_path: Path) -> None:
    out, outside = tmp_path / "out", tmp_path / "outside"
    outside.mkdir()
    Store.make(out)
    (out / "runs").symlink_to(outside)
    with pytest.raises(OutputError, match="is a link that no campaign made"):
        make(study, out)
    assert not list(outside.iterdir())


@pytest.mark.parametrize(
    "plan",
    [
        "[]",
        '{"runs": 3}',
        '{"runs": ["x"]}',
        '{"runs": [{"run": "../../../etc", "name": "x", "coordinates": {}}]}',
        '{"runs": [{"run": "%s", "name": "x", "coordinates": 3}]}' % ("0" * 64),
        '{"runs": [',
    ],
)
def test_a_list_of_runs_from_elsewhere_is_data(tmp_path: Path, plan: str) -> None:
    Store.make(tmp_path / "out")
    (tmp_path / "out" / "campaign.json").write_text(plan)
    with pytest.raises(InputError, match=r"campaign\.json"):
        survey(tmp_path / "out")


def test_a_manifest_names_no_files_elsewhere(study: Path, tmp_path: Path) -> None:
    from emulator.campaign.hashes import canonical, sha256

    out = tmp_path / "out"
    make(study, out)
    file = next(out.rglob("_manifest.json"))
    manifest = json.loads(file.read_text())
    del manifest["sha256"]
    manifest["files"]["../../../secret.parquet"] = sha256(b"secret")
    file.write_text(json.dumps({**manifest, "sha256": sha256(canonical(manifest))}))
    assert survey(out).count("damaged") == 1


@pytest.mark.slow
def test_a_failed_run_is_told_and_tried_again(study: Path, tmp_path: Path) -> None:
    out, plugin = tmp_path / "study", tmp_path / "mine.py"
    plugin.write_text(PLUGIN.format(what="nothing", sign="1 / 0 * "))
    study.write_text(STUDY + 'mine = ["sched/fcfs", "priority/mine"]\n')
    words = ["campaign", "run", str(study), "--plugin", str(plugin), "--processes", "1"]
    done = CliRunner().invoke(slurm_sim, words, standalone_mode=False)
    assert done.return_value == 1
    assert "24 runs: 16 done, 8 failed" in done.output and "ZeroDivisionError" in done.output
    assert "priority/mine" in done.output and "mine.py:12" in done.output
    plugin.write_text(PLUGIN.format(what="size", sign=""))
    done = CliRunner().invoke(slurm_sim, words, standalone_mode=False)
    assert done.return_value == 0 and "24 runs: 24 done; 8 results of other inputs; 8 made now" in done.output
    assert survey(out).count("done") == 24


@pytest.mark.slow
def test_a_folder_never_decides_what_code_is_run(study: Path, tmp_path: Path) -> None:
    sign, plugin = tmp_path / "sign", tmp_path / "mine.py"
    plugin.write_text(f"__import__('pathlib').Path({str(sign)!r}).touch()\n" + PLUGIN.format(what="size", sign=""))
    study.write_text(STUDY + 'mine = ["sched/fcfs", "priority/mine"]\n')
    campaign = read_campaign(study)
    about = {**campaign.about(), "plugin_files": [str(plugin)]}
    run_all(expand(campaign, [plugin]), keep=tmp_path / "study", about=about)
    sign.unlink()
    for words in (["resume", "study"], ["status", "study"], ["results", "study"]):
        CliRunner().invoke(slurm_sim, ["campaign", words[0], str(tmp_path / words[1])])
    assert not sign.exists()


@pytest.mark.slow
def test_resume_goes_on_with_the_file_that_the_campaign_was_begun_with(study: Path, tmp_path: Path) -> None:
    assert CliRunner().invoke(slurm_sim, ["campaign", "run", str(study), "--processes", "1"]).exit_code == 0
    out = tmp_path / "study"
    before = data(out)
    for file in list(out.rglob("_manifest.json"))[:5]:
        file.unlink()
    study.unlink()
    done = CliRunner().invoke(slurm_sim, ["campaign", "resume", str(out), "--processes", "1"])
    assert done.exit_code == 0 and "16 runs: 16 done; 5 made now" in done.output
    assert data(out) == before


def test_resume_of_what_is_no_campaign_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no results of a campaign"):
        CliRunner().invoke(slurm_sim, ["campaign", "resume", str(tmp_path)], catch_exceptions=False)
    spec = RunSpec("one", tmp_path / "no.swf", Config(), str)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"no\.swf"):
        run_all([spec], keep=tmp_path / "out")
    with pytest.raises((ConfigurationError, InputError)):
        survey(tmp_path / "out")
