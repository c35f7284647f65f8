"""The virtual predictor: the truth, blurred by a known error."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from slurm_sim_plugins.errors import ConfigurationError
from slurm_sim_plugins.hookspecs import hookimpl
from slurm_sim_plugins.views import WalltimeView

if TYPE_CHECKING:
    from numpy.random import Generator

FLOOR = 1.0
"""Seconds; no prediction is shorter, unless the limit is."""


class Virtual:
    """Predict the true run time, times a number drawn evenly between 1 - error and 1 + error.

    One draw a job, in the order of submission; at most the limit. Half the error is its
    mean size.

    Args:
        rng: random numbers.
        error: the largest relative error, from 0 (the truth) on.

    Source: the papers on PV-EASY, 2014, section 5.2.
    """

    name: ClassVar[str] = "walltime/virtual"
    needs_oracle: ClassVar[bool] = True

    def __init__(self, rng: Generator, error: float = 0.1) -> None:
        if not 0 <= error < float("inf"):
            raise ConfigurationError(f"walltime/virtual: error is {error}; give 0 or more, such as 0.1")
        self._error = error
        self._rng = rng

    @hookimpl
    def walltime_submit(self, view: WalltimeView) -> float:
        assert view.oracle is not None, "the class says needs_oracle"
        job = view.job
        planned = view.oracle.run_time(job) * self._rng.uniform(1 - self._error, 1 + self._error)
        return min(max(planned, FLOOR), job.time_limit)
