"""The offline optimum of the paper on real-time jobs on Mira."""

from __future__ import annotations

from collections.abc import Sequence

from emulator.cli import shared
from slurm_sim_plugins.errors import ConfigurationError
from slurm_sim_studies.commands.runs import Made
from slurm_sim_studies.optimum.optimise import require_solver
from slurm_sim_studies.papers import optimum as paper
from slurm_sim_studies.report import optimumpaper as report

TABLES = {2, 3}


def make(_: None, *, tables: Sequence[int], seconds: float, workers: int, logs: int, highs: bool) -> Made:
    """Make the tables; the emulator makes no runs for them.

    Raises:
        ConfigurationError: there is no such table, or no solver.
    """
    if not tables or set(tables) - TABLES:
        raise ConfigurationError(f"--tables {','.join(map(str, tables))}: of the optimum there are tables 2 and 3")
    require_solver()
    timings = paper.timings(seconds, workers, highs=highs, told=_tell) if 2 in tables else []
    rows = paper.comparison(seconds, workers, logs, told=_tell) if 3 in tables else []
    return Made(report.data(timings, rows), report.markdown(timings, rows, logs), report.tables(timings, rows, logs))


def _tell(done: str) -> None:
    """Say what has been solved."""
    shared.echo(done, err=True)
