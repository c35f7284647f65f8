"""What is excused or supplied by hand in the recordings is said at the end of every run of these tests."""

from __future__ import annotations

import pytest


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    lines = [
        text
        for reports in terminalreporter.stats.values()
        for report in reports
        for name, text in getattr(report, "user_properties", ())
        if name == "truth" and report.when == "call"
    ]
    if lines:
        terminalreporter.section("recorded runs of a real Slurm")
        for line in lines:
            terminalreporter.line(line)
