"""Pages of the commands that write one."""

from __future__ import annotations

from pathlib import Path

import click
from click.testing import CliRunner

from emulator.cli import slurm_sim

FACTS = Path(__file__).parent.parent / "truth" / "facts"
CONF = """ClusterName=small
NodeName=n[1-4] CPUs=4
PartitionName=all Nodes=ALL Default=YES
"""


def sheets(folder: Path) -> list[Path]:
    """Write such pages into a folder."""
    trace, conf = folder / "jobs.swf", folder / "slurm.conf"
    conf.write_text(CONF)
    few = ("--keys", "user", "--windows", "all", "--percentiles", "95,70")
    optimum = ("--jobs", 4, "--solver", "highs", "--picture", folder / "best.png")
    trace.write_text("; MaxProcs: 64\n" + "".join(map(_line, range(1, 121))))
    commands = {
        "walltime": ("walltime", "evaluate", trace, *few),
        "truth": ("truth", FACTS),
        "upgrade": ("upgrade-check", conf, "--from", "22.05"),
        "optimum": ("optimum", trace, *optimum),
    }
    pages = []
    for name, command in commands.items():
        pages.append(folder / f"{name}.html")
        _run(*command, "--report", pages[-1])
    return pages


def _line(job: int) -> str:
    """A job of a log in SWF: three users, who request twice what they need, or ten times."""
    run, user = 100 + 37 * job % 900, job % 3
    request = run * (10 if job % 4 == 0 else 2)
    return (
        f"{job} {50 * job} {job % 7} {run} {1 + job % 16} -1 -1 {1 + job % 16} {request} -1 1 {user} 1 -1 1 1 -1 -1\n"
    )


def _run(*words: object) -> None:
    found = CliRunner().invoke(slurm_sim, [str(word) for word in words], catch_exceptions=False)
    if isinstance(found.exception, click.ClickException) or found.exit_code:
        raise AssertionError(found.output)
