"""What every plugin must do, as checks that run all and tell all that is wrong.

>>> from emulator.testing import check_plugin
>>> check_plugin(Mine)  # doctest: +SKIP
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from emulator.testing.conformance import clusters, honesty, running, state, structure
from emulator.testing.conformance.report import DoesNotApply, Nonconformity, Outcome, Report
from emulator.testing.conformance.running import in_words
from emulator.testing.conformance.subject import Subject
from slurm_sim_plugins.errors import ConfigurationError

CHECKS: dict[str, Callable[..., None]] = {
    check.__name__: check
    for check in (
        structure.loads,
        structure.hooks,
        running.answers,
        running.sizes,
        running.long_queue,
        running.random_workloads,
        running.only_starts,
        state.same_answers,
        state.own_state,
        state.keeps_no_view,
        state.side_by_side,
        honesty.views_unchanged,
        honesty.only_by_answers,
        honesty.no_livelock,
        honesty.no_foresight,
        clusters.on_clusters,
    )
}
"""Every check by its name, in the order in which they are run."""
FIRST = ("loads", "hooks")
"""Without these nothing else can be tried."""


def check_plugin(
    plugin: Any,
    *,
    options: Mapping[str, Any] | None = None,
    expected_failures: Mapping[str, str] | None = None,
    checks: Iterable[str] | None = None,
    examples: int | None = None,
) -> Report:
    """Run all checks on a plugin class, and fail with all that is wrong.

    Args:
        plugin: the class.
        options: its options, if it is to be checked with others than its defaults.
        expected_failures: checks that it is known to fail, each with the reason; one that
            passes all the same is wrong, too.
        checks: names of :data:`CHECKS`, if not all.
        examples: how many random workloads; 60.

    Raises:
        AssertionError: a check failed; the message lists every failure and what to do.
        ConfigurationError: there is no such check, or hypothesis is not installed.
    """
    report = run_checks(plugin, options=options, expected_failures=expected_failures, checks=checks, examples=examples)
    if report.failures:
        raise AssertionError("\n".join([report.summary, *map(str, report.failures)]))
    return report


def run_checks(
    plugin: Any,
    *,
    options: Mapping[str, Any] | None = None,
    expected_failures: Mapping[str, str] | None = None,
    checks: Iterable[str] | None = None,
    examples: int | None = None,
    told: Callable[[Outcome], None] | None = None,
) -> Report:
    """As :func:`check_plugin`, but say what was found instead of failing.

    Args:
        plugin: the class.
        options: as there, and so are the others.
        expected_failures: checks that it is known to fail, each with the reason.
        checks: names of checks, if not all.
        examples: how many random workloads; 60.
        told: is called with each outcome as it is known.

    Raises:
        ConfigurationError: there is no such check, or hypothesis is not installed.
    """
    expected = dict(expected_failures or {})
    wanted = list(CHECKS) if checks is None else list(checks)
    for name in (*wanted, *expected):
        if name not in CHECKS:
            raise ConfigurationError(f"there is no check {name!r}; checks are {', '.join(CHECKS)}")
    subject = Subject(plugin, dict(options or {}))
    outcomes: list[Outcome] = []
    usable = True
    for name, check in CHECKS.items():
        if name not in wanted and (name not in FIRST or usable is False):
            continue
        outcome = _outcome(name, check, subject, expected.get(name), examples) if usable else _not_run(name)
        usable = usable and not (name in FIRST and outcome.status != "passed")
        if name in wanted or not usable:
            outcomes.append(outcome)
            if told is not None:
                told(outcome)
    return Report(str(getattr(plugin, "name", plugin)), tuple(outcomes))


def _outcome(
    name: str, check: Callable[..., None], subject: Subject, reason: str | None, examples: int | None
) -> Outcome:
    promise = (inspect.getdoc(check) or "").partition("\n\n")[0].replace("\n", " ")
    if name == running.random_workloads.__name__:
        check = partial(check, examples=running.EXAMPLES if examples is None else examples)
    try:
        check(subject)
    except DoesNotApply as why:
        return Outcome(name, "left out", str(why), promise)
    except ConfigurationError:
        raise
    except (Nonconformity, Exception) as error:
        if reason is not None:
            return Outcome(name, "expected", reason, promise)
        return Outcome(name, "failed", in_words(error), promise)
    if reason is not None:
        return Outcome(name, "unexpected", f"it passes, and was said to fail ({reason}); take it off the list", promise)
    return Outcome(name, "passed", "", promise)


def _not_run(name: str) -> Outcome:
    return Outcome(name, "not run", "the plugin cannot be used before that is mended")


__all__ = ["CHECKS", "Nonconformity", "Outcome", "Report", "check_plugin", "run_checks"]
