"""Workloads that a model generates, as the source of a run's jobs."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from emulator.campaign.hashes import hash_of
from slurm_sim_plugins.errors import ConfigurationError

if TYPE_CHECKING:
    from emulator.workload.workload import Workload

MODELS = ("lublin99", "feitelson96", "jann97")
TSAFRIR = "tsafrir05"
ADDED = ("largest_estimate", "cpu_use")
"""Options that are not of a model, but of what is made of its jobs: as of ``slurm-sim trace generate``."""


@dataclass(frozen=True)
class Generated:
    """Jobs of a model.

    Attributes:
        model: one of :data:`MODELS`.
        seed: of its random streams.
        options: its other arguments by name: ``jobs``, ``processors``, ``load`` and so on;
            ``estimates`` may be ``tsafrir05``, with ``largest_estimate`` in seconds;
            ``cpu_use`` draws how much of a processor each process uses.
        parameters: file with the parameters of ``jann97``, or None.
    """

    model: str
    seed: int
    options: tuple[tuple[str, Any], ...] = ()
    parameters: Path | None = None

    def stated(self) -> dict[str, Any]:
        """All that decides which jobs these are, as data."""
        parameters = {} if self.parameters is None else {"parameters": hash_of(self.parameters)}
        return {"model": self.model, "seed": self.seed, **dict(self.options), **parameters}

    def workload(self) -> Workload:
        """Generate the jobs.

        Raises:
            ConfigurationError: an option that the model does not take.
            InputError: the file of parameters cannot be read.
        """
        from emulator.workload.models import cpu_use, tsafrir05

        options = dict(self.options)
        popular = options.get("estimates") == TSAFRIR
        largest, draw_use = options.pop("largest_estimate", None), options.pop("cpu_use", False)
        if largest is not None and not popular:
            raise ConfigurationError(f"{self.model}: largest_estimate goes with estimates = {TSAFRIR!r}")
        if popular:
            options["estimates"] = "exact"
        if self.parameters is not None:
            from emulator.workload.models.jann97_parameters import read_parameters

            options["parameters"] = read_parameters(self.parameters)
        workload: Workload = _maker(self.model)(options.pop("jobs"), options.pop("processors"), self.seed, **options)
        if popular:
            workload = tsafrir05.assign(workload, self.seed, largest=largest)
        return cpu_use.assign(workload, self.seed) if draw_use else workload


def options_of(model: str) -> tuple[str, ...]:
    """The options that jobs of a model can be given in a file.

    Raises:
        ConfigurationError: there is no such model.
    """
    if model not in MODELS:
        raise ConfigurationError(f"there is no model {model!r}; models are {', '.join(MODELS)}")
    own = [name for name in inspect.signature(_maker(model)).parameters if name != "seed"]
    if model != "jann97":
        own.remove("parameters")
    return (*own, *ADDED)


def check(model: str, options: Mapping[str, Any]) -> None:
    """Check what all models have in common, before anything is generated.

    Raises:
        ConfigurationError: an option out of its range, or ``jobs`` or ``processors`` are missing.
    """
    from emulator.workload.models.common import Request

    for name in ("jobs", "processors"):
        if name not in options:
            raise ConfigurationError(f"{model}: {name} is missing; say how many")
    common = ("jobs", "processors", "load", "overload", "estimate_factor", "users")
    given = {name: value for name, value in options.items() if name in common}
    estimates = options.get("estimates", "factor")
    Request(seed=0, estimates="exact" if estimates == TSAFRIR else estimates, **given)


def _maker(model: str) -> Any:
    return importlib.import_module(f"emulator.workload.models.{model}").generate
