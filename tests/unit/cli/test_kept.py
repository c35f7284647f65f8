"""Ctrl-C says what is kept of a command, and how to go on."""

from __future__ import annotations

from pathlib import Path

import pytest

from emulator.cli import shared
from emulator.cli.kept import Kept, of_campaign, of_run, of_study, saying


def interrupted(kept: Kept, words: str = "") -> str:
    with pytest.raises(KeyboardInterrupt) as error, saying(kept):
        raise KeyboardInterrupt(words)
    return str(error.value)


def test_what_the_interruption_says_itself_comes_first() -> None:
    assert interrupted(lambda: "all is lost", "hook schedule") == "hook schedule; all is lost"


@pytest.mark.parametrize("wanted", [None, False])
def test_what_is_not_written_before_its_end_is_not_kept(wanted: bool | None) -> None:
    with pytest.raises(KeyboardInterrupt, match="nothing is kept of easy: give the command again"):  # noqa: SIM117
        with shared.progress("easy", 3, wanted):
            raise KeyboardInterrupt


def test_a_run_without_a_folder_is_lost() -> None:
    assert interrupted(of_run("easy", None)) == "nothing is kept of easy: give the command again to start over"


@pytest.mark.parametrize("folder", ["", "unfinished"])
def test_a_run_with_a_snapshot_can_be_gone_on_with(tmp_path: Path, folder: str) -> None:
    out = tmp_path / "my run"
    (out / folder).mkdir(parents=True)
    assert "a run needs --snapshot-every" in interrupted(of_run("easy", out))
    assert "--snapshot-every" not in interrupted(of_run("easy", out, resumable=False))
    (out / folder / "snapshot.json.gz").touch()
    assert f"slurm-sim resume '{out}' goes on from there" in interrupted(of_run("easy", out))


def test_campaigns_and_studies_keep_runs() -> None:
    assert "slurm-sim campaign resume study makes the others" in interrupted(of_campaign(Path("study")))
    assert "are kept in here: give the command again" in interrupted(of_study(Path("here")))
    assert "with --keep DIR the command would go on" in interrupted(of_study(None))
