"""How far a command is, where there is no terminal: lines on standard error, and on none if it is soon over."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

import pytest

from emulator.campaign import Outcome
from emulator.cli import lines, shared
from emulator.cli.board import board
from emulator.workload import logfile

LINE = re.compile(r"easy: (\d) of 8 after 0:00:0\d(, 0:00:0\d to go)?")


def until(said: Callable[[], str], wanted: str) -> str:
    """What was said until it holds a word, or for five seconds."""
    text, patience = "", 500
    while wanted not in text and (patience := patience - 1):
        time.sleep(0.01)
        text += said()
    return text


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "FIRST", 0.01)
    monkeypatch.setattr(lines, "EVERY", 0.05)


@pytest.mark.usefixtures("at_once")
def test_lines_say_how_far_it_is_and_how_long_it_will_take(capsys: pytest.CaptureFixture[str]) -> None:
    with shared.progress("easy", 8) as report:
        assert report is not None
        assert until(lambda: capsys.readouterr().err, "0 of 8 after 0:00:00\n")
        for done in range(1, 5):
            report(done)
            time.sleep(0.02)
        text = until(lambda: capsys.readouterr().err, "to go")
    assert re.search(r"easy: [1-4] of 8 after", text)
    assert all(LINE.fullmatch(line) for line in text.splitlines())
    time.sleep(0.1)
    assert capsys.readouterr().err.count("\n") <= 1, "it goes on after the end"


@pytest.mark.usefixtures("at_once")
def test_where_the_end_is_not_known_none_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with shared.progress("evil\x1b[31m", 0) as report:
        assert report is not None
        report(3)
        text = until(lambda: capsys.readouterr().err, "3 after")
    assert "evil\ufffd[31m: 3 after 0:00:00" in text
    assert " of " not in text


def test_reading_tells_how_much_of_a_log_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logfile, "STRIDE", 10)
    told: list[int] = []
    lines_of_a_log = [str(number) for number in range(40)]
    with logfile.telling(told.append):
        assert list(logfile.counted(lines_of_a_log)) == lines_of_a_log
    assert told == [0, 25, 50, 75]
    assert list(logfile.counted(lines_of_a_log)) == lines_of_a_log
    assert len(told) == 4


@pytest.mark.usefixtures("at_once")
def test_work_with_a_limit_tells_the_seconds_that_are_left(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared, "TICK", 0.25)
    with shared.clocked("the solver", 60):
        text = until(lambda: capsys.readouterr().err, " of 60 after 0:00:01")
    assert "the solver (s): " in text


@pytest.mark.usefixtures("at_once")
def test_work_without_steps_tells_the_time_alone(capsys: pytest.CaptureFixture[str]) -> None:
    with shared.progress("the page", 0):
        assert until(lambda: capsys.readouterr().err, "the page: after 0:00:00")


@pytest.mark.usefixtures("at_once")
def test_a_campaign_tells_how_many_runs_are_made(capsys: pytest.CaptureFixture[str]) -> None:
    with board([], "mean_wait") as told:
        assert told is not None
        told(Outcome("a", {}))
        assert until(lambda: capsys.readouterr().err, "runs: 1 after")


@pytest.mark.usefixtures("at_once")
def test_nothing_is_said_where_it_is_not_wanted(capsys: pytest.CaptureFixture[str]) -> None:
    with shared.progress("easy", 8, False) as report:
        assert report is None
        time.sleep(0.05)
    with board([], "mean_wait", False) as told:
        assert told is None
    assert capsys.readouterr().err == ""


def test_what_is_soon_over_says_nothing(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "FIRST", 2.0)
    with shared.progress("easy", 8):
        pass
    assert capsys.readouterr().err == ""
