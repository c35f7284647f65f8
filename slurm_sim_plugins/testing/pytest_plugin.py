"""Fixtures of pytest that describe scenes; a test that fails shows the schedule.

pytest finds this module by its entry point. Calls of hooks, passes and simulations have fixtures of
their own, where the emulator is.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from slurm_sim_plugins.testing import Cluster, JobSpec

MOST_DRAWN = 3
"""A failing test shows so many schedules, the last ones."""
_DRAWN = pytest.StashKey[list[Any]]()


def remember(request: pytest.FixtureRequest, what: Any) -> None:
    """Draw this, should the test fail; of a cluster with nodes only what a pass made of it can be drawn."""
    if getattr(what, "conf", None) is not None:
        return
    request.node.stash.setdefault(_DRAWN, []).append(what)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the schedules of a test to the report of its failure."""
    report = yield
    if report.when == "call" and report.failed:
        for what in item.stash.get(_DRAWN, [])[-MOST_DRAWN:]:
            report.sections.append(("Schedule", _drawn(what)))
    return report


def _drawn(what: Any) -> str:
    """The picture of a schedule, or why there is none: a report of a failure must not fail."""
    from slurm_sim_plugins.testing import draw

    try:
        return draw(what)
    except Exception as error:
        return f"cannot be drawn: {type(error).__name__}: {error}"


@pytest.fixture
def cluster() -> Callable[..., Cluster]:
    """Describes a scene: ``cluster(10).running(job(4), since=-20).waiting(job(6))``."""
    from slurm_sim_plugins.testing import cluster

    return cluster


@pytest.fixture
def job() -> Callable[..., JobSpec]:
    """Describes a job: ``job(4, limit=60)``."""
    from slurm_sim_plugins.testing import job

    return job


@pytest.fixture
def timeline() -> Callable[..., str]:
    """Draws a scene, what a pass made of it, or a simulation, as text."""
    from slurm_sim_plugins.testing import draw

    return draw
