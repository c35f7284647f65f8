"""The plugins in C of the porting guide: what Slurm demands is in them, and they compile where its sources are."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from emulator.port.source import read_source
from tests.docs.pages import Block, blocks

SOURCES = [Path(name) for name in os.environ.get("SLURM_SIM_SLURM_SOURCES", "").split(os.pathsep) if name]
"""Configured source trees of Slurm."""
DEMANDED = {
    "priority": "set reconfig set_assoc_usage calc_fs_factor get_priority_factors_list job_end recover thread_start",
    "preempt": "preemptable job_preempt_check get_data",
    "sched": "reconfig",
}
"""The symbols without which a slurmctld of 22.05.8 or 24.11.5 ends, as they stand in its library."""
PAGE = (Path(__file__).parents[2] / "docs" / "porting.md").read_text(encoding="utf-8")
PLUGINS = [block for block in blocks("porting.md") if block.name.endswith(".c")]


def kind(plugin: Block) -> str:
    return plugin.name.partition("_")[0]


def test_there_is_a_plugin_of_each_kind() -> None:
    assert {kind(plugin) for plugin in PLUGINS} == set(DEMANDED)


def test_there_is_no_other_c_on_the_page() -> None:
    assert PAGE.count("```c\n") == len(PLUGINS)


@pytest.mark.parametrize("plugin", PLUGINS, ids=lambda plugin: plugin.name)
def test_a_plugin_defines_what_slurm_demands(plugin: Block) -> None:
    defined = set(re.findall(r"^(?!static)\w[\w *]*?\b(\w+)(?:\(.*\)|\[\] = .*;| = .*;)", plugin.text, re.MULTILINE))
    demanded = {f"{kind(plugin)}_p_{name}" for name in DEMANDED[kind(plugin)].split()}
    assert {"init", "fini", "plugin_name", "plugin_type", "plugin_version", *demanded} <= defined
    assert f'plugin_type[] = "{kind(plugin)}/mine"' in plugin.text


@pytest.mark.skipif(not SOURCES, reason="SLURM_SIM_SLURM_SOURCES names no source tree of Slurm")
@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.name)
@pytest.mark.parametrize("plugin", PLUGINS, ids=lambda plugin: plugin.name)
def test_a_plugin_compiles_without_a_warning(plugin: Block, source: Path, tmp_path: Path) -> None:
    file = tmp_path / plugin.name
    file.write_text(plugin.text, encoding="utf-8")
    words = ["cc", "-Wall", "-Werror", "-fsyntax-only", "-I", str(source), str(file)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def table() -> dict[str, dict[str, str]]:
    """The functions of each version as the page says them."""
    rows = re.findall(r"^\| `(\w+)` \| (.*) \| (.*) \| (.*) \|$", PAGE, re.MULTILINE)
    found: dict[str, dict[str, str]] = {"22.05.8": {}, "24.11.5": {}}
    for name, old, new, _ in rows:
        for version, stated in (("22.05.8", old), ("24.11.5", old if new == "the same" else new)):
            if stated.startswith("`"):
                found[version][name] = stated.strip("`")
    return found


def test_the_table_has_what_the_sketches_define() -> None:
    for plugin in PLUGINS:
        demanded = {f"{kind(plugin)}_p_{name}" for name in DEMANDED[kind(plugin)].split()}
        assert demanded == {name for name in table()["24.11.5"] if name.startswith(f"{kind(plugin)}_p_")}


@pytest.mark.skipif(not SOURCES, reason="SLURM_SIM_SLURM_SOURCES names no source tree of Slurm")
@pytest.mark.parametrize("folder", SOURCES, ids=lambda source: source.name)
def test_the_table_is_that_of_the_loaders(folder: Path) -> None:
    source = read_source(folder)
    stated = table().get(source.version)
    if stated is None:
        pytest.skip(f"the page has no column of {source.version}")
    kinds = ("priority", "site_factor", "preempt", "job_submit", "sched")
    symbols = [symbol for name in kinds for symbol in source.symbols(name)]
    assert stated == {one.name: f"{one.result} ({', '.join(one.types) or 'void'})" for one in symbols}
