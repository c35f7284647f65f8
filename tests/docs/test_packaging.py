"""What is said in several files of the package says the same, and the distribution's recipes know all it needs."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
WHOLE = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = WHOLE["project"]
RECIPE = yaml.safe_load((ROOT / "contrib" / "conda" / "meta.yaml").read_text(encoding="utf-8"))
IN_CONDA = {"matplotlib": "matplotlib-base"}
"""Names that differ there; this one comes without windows."""


def test_the_conda_recipe_needs_what_the_wheel_needs() -> None:
    wanted = {f"python {PROJECT['requires-python']}"}
    for requirement in PROJECT["dependencies"]:
        name, bound = re.fullmatch(r"([\w-]+)(>=[\d.]+)", requirement).groups()
        wanted.add(f"{IN_CONDA.get(name, name)} {bound}")
    assert set(RECIPE["requirements"]["run"]) == wanted


def test_versions_names_and_licences_agree() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert RECIPE["package"] == {"name": PROJECT["name"], "version": PROJECT["version"]}
    assert str(citation["version"]) == PROJECT["version"]
    assert [author["name"] for author in citation["authors"]] == [author["name"] for author in PROJECT["authors"]]
    assert citation["license"] == RECIPE["about"]["license"] == PROJECT["license"]


def test_a_version_has_its_day_and_its_release_notes() -> None:
    version = PROJECT["version"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    released = re.search(rf"^## {re.escape(version)} - (\d{{4}}-\d\d-\d\d)$", changelog, re.MULTILINE)
    assert released
    assert str(citation["date-released"]) == released[1]
    notes = (ROOT / "docs" / f"release-{version}.md").read_text(encoding="utf-8")
    assert notes.startswith(f"# Version {version}, of {released[1]}\n")
    for reader in ("researchers", "administrators", "authors of plugins"):
        assert f"## For {reader}\n" in notes


def test_what_the_source_distribution_is_to_hold_is_there() -> None:
    lines = (ROOT / "MANIFEST.in").read_text(encoding="utf-8").splitlines()
    named = [name for line in lines if line.startswith(("include ", "graft ")) for name in line.split()[1:]]
    assert {"tests", "docs", "CHANGELOG.md"} <= set(named)
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_c_types_of_every_kernel_are_installed() -> None:
    """A kernel that was compiled is held against its source and its C types before it is used."""
    data = WHOLE["tool"]["setuptools"]["package-data"]
    installed = {
        file for package, patterns in data.items() for pattern in patterns for file in (ROOT / package).glob(pattern)
    }
    kernels = [ROOT.joinpath(*name.split(".")).with_suffix(".pxd") for name in WHOLE["tool"]["slurm-sim"]["kernels"]]
    assert len(kernels) > 20
    assert [file for file in kernels if file not in installed] == []
