"""Each cell of the notebooks among the pages runs, in a kernel of its own."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.docs.pages import DOCS

nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed: the extra [notebook]")
jupytext = pytest.importorskip("jupytext", reason="jupytext is not installed: the extra [notebook]")
pytest.importorskip("ipykernel", reason="ipykernel is not installed: the extra [notebook]")

SHOWN = {
    "notebook-policies": ["Result(", "\nimage/png", "bounded_slowdown", "did you mean 'scheduler'"],
    "notebook-plugin": ["small first, 24 h", "priority/small_first"],
    "notebook-week": ["real and emulated", "without backfill", "\nimage/png"],
}
"""What is to be seen under the cells."""


def test_these_are_all_notebooks() -> None:
    assert {page.stem for page in DOCS.glob("*.md") if page.read_text().startswith("---\njupyter:")} == set(SHOWN)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
@pytest.mark.parametrize("name", SHOWN)
def test_a_notebook_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Commands are those of this Python; the kernel finds the product as the tests do.
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    monkeypatch.setenv("PYTHONPATH", str(DOCS.parent), prepend=os.pathsep)
    notebook = jupytext.read(DOCS / f"{name}.md")
    assert all(not cell.get("outputs") for cell in notebook.cells)
    client = nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}})
    client.execute()
    seen = "\n".join(text_of(output) for cell in notebook.cells for output in cell.get("outputs", ()))
    assert [words for words in SHOWN[name] if words not in seen] == []


def text_of(output: Any) -> str:
    """What an output says: its text, and the kinds of pictures that it has."""
    data = output.get("data", {})
    return "\n".join(
        [output.get("text", ""), *data, *(str(data.get(kind, "")) for kind in ("text/plain", "text/html"))]
    )


def test_install_simulate_plot_and_compare_are_the_first_four_cells() -> None:
    cells = re.findall(r"^```python.*?^```", (DOCS / "notebook-policies.md").read_text(), re.DOTALL | re.MULTILINE)
    for cell, word in zip(cells, ("%pip install", "simulate(", ".plot.", "compare({"), strict=False):
        assert word in cell
