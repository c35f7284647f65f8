"""What CI runs again once more is installed: the tests that were skipped, by name."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / ".ci" / "skipped.py"
REPORT = """<testsuites><testsuite>
<testcase classname="tests.unit.test_a" name="test_x[a b]"><skipped message="no solver"/></testcase>
<testcase classname="tests.unit.test_a" name="test_y"/>
<testcase classname="" name="tests.unit.test_b"><skipped message="collection skipped"/></testcase>
</testsuite></testsuites>"""


def test_skipped_tests_are_named_as_pytest_takes_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    report = tmp_path / "tests.xml"
    report.write_text(REPORT)
    monkeypatch.setattr(sys, "argv", ["skipped.py", str(report)])
    runpy.run_path(str(SCRIPT), run_name="__main__")
    assert capsys.readouterr().out.splitlines() == ["tests/unit/test_a.py::test_x[a b]", "tests/unit/test_b.py"]
