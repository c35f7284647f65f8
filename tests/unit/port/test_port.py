"""Plugins in C that are written for the version of a source tree."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any, ClassVar

import pytest
from click.testing import CliRunner, Result

from emulator.cli import slurm_sim
from emulator.port import HOOKS, Ported, write_port
from emulator.port.source import read_source
from emulator.port.write import commented
from slurm_sim_plugins import ConfigurationError, InputError, OutputError, Reject, hookimpl
from slurm_sim_plugins.priority.wfp import Wfp
from slurm_sim_plugins.site_factor.accounts import Accounts
from tests.builders.slurm_tree import loader, slurm_tree

VERSIONS = ("22.05.8", "24.11.5", "25.05.1")
needs_cc = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")


class Largest:
    """Largest first. */ int x; /* \u202e ??/
    \\"""

    name: ClassVar[str] = "priority/largest"

    @hookimpl
    def priority_set(self, view: Any) -> Any:
        return [1000 + job.processors for job in view.to_set]


class Short(Largest):
    """Short jobs first."""

    @hookimpl
    def priority_set(self, view: Any) -> Any:
        return [-job.time_limit for job in view.to_set]


class Sorted(Largest):
    """No formula."""

    @hookimpl
    def priority_set(self, view: Any) -> Any:
        return list(range(len(view.to_set)))


class LeastLost:
    """The run of a lower partition that loses the least work goes first."""

    name: ClassVar[str] = "preempt/least_lost"

    @hookimpl
    def preempt_candidates(self, view: Any) -> Any:
        tier = view.partition.tier
        lower = [run for run in view.running if run.partition.tier < tier and view.shares_nodes(run)]
        return sorted(lower, key=lambda run: (run.processors * (view.now - run.start), run.job.id))


class Queues:
    """Long jobs go elsewhere."""

    name: ClassVar[str] = "job_submit/queues"

    @hookimpl
    def job_submit(self, view: Any) -> Any:
        job = view.submission
        if job.time_limit is None:
            return Reject('"state" 100% of\n it')
        if job.time_limit > 3600 and "long" not in job.partitions:
            return job._replace(partitions=("long", "any"), tasks=4, account=job.qos)
        return None


def ported(folder: Path, kind: str, policy: object = None, version: str = "22.05.8", **more: Any) -> Ported:
    return write_port(kind, slurm_tree(folder / "tree", version), folder / "out", policy=policy, **more)


def built(made: Ported) -> None:
    """Compile it as its Makefile does."""
    words = ["make", "-C", str(made.folder)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@needs_cc
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("kind", list(HOOKS))
def test_the_default_compiles_for_each_version(kind: str, version: str, tmp_path: Path) -> None:
    made = ported(tmp_path, kind, version=version)
    assert not made.exact
    built(made)
    demanded = {symbol.name for symbol in read_source(tmp_path / "tree").symbols(kind)}
    names = subprocess.run(
        ["nm", "-D", "--defined-only", *made.folder.glob("built/*.so")], capture_output=True, text=True, check=True
    )
    defined = {line.split()[-1] for line in names.stdout.splitlines()}
    assert {"init", "fini", "plugin_name", "plugin_type", "plugin_version", *demanded} <= defined


@needs_cc
@pytest.mark.parametrize(
    ("kind", "policy"),
    [
        ("priority", Largest()),
        ("priority", Short()),
        ("priority", Wfp()),
        ("site_factor", Wfp("wfp2")),
        ("site_factor", Accounts('physics=5000,a"b\\=-200')),
        ("preempt", LeastLost()),
        ("job_submit", Queues()),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_a_formula_is_in_it_and_compiles(kind: str, policy: object, tmp_path: Path) -> None:
    made = ported(tmp_path, kind, policy)
    assert made.exact
    assert "TODO" not in (made.folder / f"{kind}_mine.c").read_text()
    built(made)


def test_what_is_no_formula_is_quoted_and_marked(tmp_path: Path) -> None:
    made = ported(tmp_path, "priority", Sorted())
    assert not made.exact
    assert "to be filled in by hand: priority_set does not answer [FORMULA for job in view.to_set]" in made.notices[0]
    written = (made.folder / "priority_mine.c").read_text()
    assert "return list(range(len(view.to_set)))" in written
    assert "TODO: the number of one job" in written


def test_numbers_below_one_are_raised(tmp_path: Path) -> None:
    made = ported(tmp_path, "priority", Short())
    assert "#define BASE 2147483648.0" in (made.folder / "priority_mine.c").read_text()
    assert "BASE (2147483648) is added" in made.notices[0]


def test_fractions_are_told(tmp_path: Path) -> None:
    assert "cuts off" in ported(tmp_path, "site_factor", Wfp()).notices[0]


def test_priorities_that_grow_have_a_thread(tmp_path: Path) -> None:
    written = (ported(tmp_path, "priority", Wfp()).folder / "priority_mine.c").read_text()
    assert "#define RENEW_EVERY 1 " in written
    assert "pthread_join" in written


def test_a_policy_in_a_comment_stays_there() -> None:
    hostile = "a */ b /*/ c ??/ \\\n\u202e\x00\ttab */"
    lines = commented(hostile)
    whole = "\n".join(lines)
    assert not any(mark in whole for mark in ("*/", "/*", "??", "\u202e", "\x00"))
    assert not lines[0].endswith("\\")
    assert commented("") == []


def test_a_symbol_that_is_not_known_does_nothing_and_is_told(tmp_path: Path) -> None:
    tree = slurm_tree(tmp_path / "tree", "26.11.0")
    symbols = {
        "site_factor_p_set": "void (*set) (job_record_t *);",
        "site_factor_p_weigh": "double (*weigh) (const job_record_t *job, uint32_t);",
    }
    (tree / "src/interfaces/site_factor.c").write_text(loader(symbols))
    made = write_port("site_factor", tree, tmp_path)
    assert made.notices == (
        "not known, and does nothing: double site_factor_p_weigh(const job_record_t *job, uint32_t given2)",
    )
    assert "TODO: this program does not know the symbol" in (made.folder / "site_factor_mine.c").read_text()
    if shutil.which("cc"):
        built(made)


def test_what_is_no_source_tree_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is no source tree of Slurm: it has no META"):
        read_source(tmp_path)
    tree = slurm_tree(tmp_path / "tree")
    (tree / "src/common/priority.c").unlink()
    with pytest.raises(InputError, match="no loader of priority plugins was found"):
        read_source(tree).symbols("priority")
    (tree / "src/common/priority.c").write_text('static const char *syms[] = { "priority_p_set" };')
    with pytest.raises(InputError, match="no structure of 1 pointers"):
        read_source(tree).symbols("priority")


def test_a_tree_that_is_not_configured_is_told(tmp_path: Path) -> None:
    tree = slurm_tree(tmp_path / "tree")
    (tree / "config.h").unlink()
    assert "run ./configure there" in write_port("priority", tree, tmp_path).notices[0]


def test_a_path_that_a_shell_would_read_is_left_out(tmp_path: Path) -> None:
    tree = slurm_tree(tmp_path / "a $(touch x) `y`")
    made = write_port("priority", tree, tmp_path)
    assert "give make SLURM_SOURCE=" in made.notices[-1]
    assert "touch" not in (made.folder / "Makefile").read_text()


def test_arguments_that_cannot_be(tmp_path: Path) -> None:
    tree = slurm_tree(tmp_path / "tree")
    for words, why in (
        ({"kind": "select"}, "cannot be ported; kinds are priority"),
        ({"name": "../x"}, "cannot be the name of a plugin"),
        ({"lua": True}, "Lua goes with job_submit"),
        ({"policy": LeastLost()}, "LeastLost has no hook priority_set"),
    ):
        with pytest.raises(ConfigurationError, match=why):
            write_port(**{"kind": "priority", "slurm_source": tree, "into": tmp_path, **words})  # type: ignore[arg-type]
    write_port("priority", tree, tmp_path)
    with pytest.raises(OutputError, match="nothing is overwritten"):
        write_port("priority", tree, tmp_path)


def command(*words: str) -> Result:
    return CliRunner().invoke(slurm_sim, ["port", *words])


def test_the_command_writes_a_policy_with_its_options(tmp_path: Path) -> None:
    tree = str(slurm_tree(tmp_path / "tree"))
    words = ("site_factor", "--slurm-source", tree, "--into", str(tmp_path), "--policy", "priority/wfp")
    done = command(*words, "--set", "priority/wfp.score=wfp2")
    assert done.exit_code == 0, done.output
    assert f"Next: cd {tmp_path}/site_factor_wfp && make try" in done.output
    written = (tmp_path / "site_factor_wfp" / "site_factor_wfp.c").read_text()
    assert "pow((now - (double) job->details->submit_time), 2.0)" in written
    assert "PrioritySiteFactorPlugin=site_factor/wfp" in (tmp_path / "site_factor_wfp" / "slurm.conf").read_text()
    assert "there is no plugin 'priority/none'" in str(command(*words[:-1], "priority/none").exception)
    wrong = command(*words, "--set", "priority/sjf.x=1")
    assert "options are given for 'priority/sjf'" in str(wrong.exception)
