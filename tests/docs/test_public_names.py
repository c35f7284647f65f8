"""What others are shown, and what they are given to begin with, uses public names alone."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from emulator.scaffold import FAMILIES, write_package
from slurm_sim_plugins.manager import bundled_names
from tests.docs.pages import DOCS, blocks

PUBLIC = ("slurm_sim_plugins", "slurm_sim_plugins.testing", "emulator", "emulator.testing")
EXAMPLE = Path(__file__).parents[2] / "contrib" / "example-plugin"


def imported(source: str) -> Iterator[tuple[str, str]]:
    """(module, name) of what a source imports from the product."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (
                (alias.name, "")
                for alias in node.names
                if alias.name.partition(".")[0] in ("emulator", "slurm_sim_plugins")
            )
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in (
            "emulator",
            "slurm_sim_plugins",
        ):
            yield from ((node.module or "", alias.name) for alias in node.names)


def private(source: str) -> list[tuple[str, str]]:
    """What is imported and not public: bundled plugins may be named, as they lie where their names say."""
    bundled = {f"slurm_sim_plugins.{name.replace('/', '.')}" for name in bundled_names()}
    return [
        (module, name)
        for module, name in imported(source)
        if module not in bundled and (module not in PUBLIC or name not in importlib.import_module(module).__all__)
    ]


@pytest.mark.parametrize("file", sorted(EXAMPLE.rglob("*.py")), ids=lambda file: file.name)
def test_the_example_package_uses_public_names(file: Path) -> None:
    assert private(file.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("family", FAMILIES)
def test_what_new_plugin_writes_uses_public_names(family: str, tmp_path: Path) -> None:
    for file in write_package("mine", family, tmp_path):
        if file.suffix == ".py":
            assert private(file.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("page", sorted(path.name for path in DOCS.glob("*.md")))
def test_pages_use_public_names(page: str) -> None:
    for block in blocks(page):
        if block.name.endswith(".py") and block.kind in ("file", "test"):
            assert private(block.text) == []


def test_a_private_name_is_found() -> None:
    assert private("from slurm_sim_plugins.manager import discover\nimport emulator.api\n") == [
        ("slurm_sim_plugins.manager", "discover"),
        ("emulator.api", ""),
    ]


@pytest.mark.parametrize("module", PUBLIC)
def test_each_public_name_is_on_the_page(module: str) -> None:
    page = (DOCS / "api.md").read_text(encoding="utf-8").splitlines()
    assert [name for name in importlib.import_module(module).__all__ if f"### {name}" not in page] == []


@pytest.mark.parametrize("module", PUBLIC)
def test_each_public_class_is_in_the_glossary(module: str) -> None:
    glossary = (DOCS / "glossary.md").read_text(encoding="utf-8")
    public = importlib.import_module(module)
    classes = [name for name in public.__all__ if name[0].isupper() and not name.isupper()]
    assert [name for name in classes if f"`{name}`" not in glossary] == []
