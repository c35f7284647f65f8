"""Which scheme would have been best on a log, as a configuration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from emulator.walltime.evaluate import Evaluation, Outcome
from slurm_sim_plugins.errors import ConfigurationError


def best(evaluation: Evaluation, max_under: float) -> Outcome:
    """The outcome of the highest mean accuracy that underestimates at most so many jobs.

    Of equals, the one that underestimates less, then the one that comes first in the grid.

    Args:
        evaluation: what to choose from.
        max_under: largest share of underestimates, from 0 to 1.

    Raises:
        ConfigurationError: no scheme underestimates so few.
    """
    allowed = [outcome for outcome in evaluation.outcomes if outcome.under <= max_under]
    if not allowed:
        least = min(evaluation.outcomes, key=lambda outcome: outcome.under)
        raise ConfigurationError(
            f"every scheme underestimates more than {max_under:.2%} of the jobs; the least is {least.under:.2%} "
            f"({in_words(least)}); allow more, or evaluate other schemes"
        )
    return _first(allowed)


def best_of_keys(evaluation: Evaluation, max_under: float) -> list[Outcome]:
    """As :func:`best`, for each key that has such a scheme."""
    allowed: dict[str, list[Outcome]] = {}
    for outcome in evaluation.outcomes:
        if outcome.under <= max_under:
            allowed.setdefault(outcome.scheme.key, []).append(outcome)
    return [_first(outcomes) for outcomes in allowed.values()]


def _first(outcomes: Sequence[Outcome]) -> Outcome:
    return max(outcomes, key=lambda outcome: (outcome.average, -outcome.under))


def in_words(outcome: Outcome) -> str:
    """The scheme of an outcome, briefly."""
    scheme = outcome.scheme
    words = f"key {scheme.key}, window {scheme.window}, percentile {scheme.percentile:g}"
    return f"{words} ({scheme.definition}), threshold {scheme.threshold:g}"


def experiment(
    outcome: Outcome, min_jobs: int, project: str | None, workload: Mapping[str, Any], simulation: Mapping[str, Any]
) -> dict[str, Any]:
    """The content of an experiment file that uses a scheme.

    Args:
        outcome: of the scheme.
        min_jobs: similar jobs without which nothing is adjusted.
        project: the column that says a job's project, where the scheme's key needs it.
        workload: the table ``[workload]``.
        simulation: the table ``[simulation]``.
    """
    options = {**asdict(outcome.scheme), "min_jobs": min_jobs}
    if project is not None and outcome.scheme.key != "user":
        options["project"] = project
    return {
        "workload": dict(workload),
        "slots": {"WalltimeType": "walltime/history"},
        "plugins": {"walltime/history": options},
        **({"simulation": dict(simulation)} if simulation else {}),
    }
