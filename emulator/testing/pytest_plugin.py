"""Fixtures of pytest for hooks, scheduling passes and small simulations; a test that fails shows their schedules.

pytest finds this module by its entry point. Nothing heavy is imported before a test
asks for it, and plugins that happen to be installed are never looked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import pytest

from slurm_sim_plugins.renamed import argument
from slurm_sim_plugins.testing.pytest_plugin import remember

if TYPE_CHECKING:
    from emulator.testing import Played, Simulated
    from slurm_sim_plugins.testing import Cluster, HookCall, JobSpec

_RECORDED = pytest.StashKey[list[Any]]()


@pytest.fixture
def call_hook(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Calls one hook and checks its answer: ``call_hook(plugin, "priority_set", scene)``."""
    from emulator.testing import call

    @argument("situation", "scene")
    def call_hook(plugin: Any, hook: str, scene: Any, **about: Any) -> Any:
        remember(request, scene)
        return call(plugin, hook, scene, **about)

    return call_hook


@pytest.fixture
def play(request: pytest.FixtureRequest) -> Callable[..., Played]:
    """Plays one pass of a scheduler: ``play(plugin, scene).started``; see :func:`emulator.testing.play`."""
    from emulator import testing

    @argument("situation", "scene")
    def play(plugin: Any, scene: Any, **others: Any) -> Played:
        if getattr(scene, "conf", "") is None:
            scene = scene.scene()  # should the pass fail, what it did until then is drawn
        remember(request, scene)
        played = testing.play(plugin, scene, **others)
        if played.after is not scene:
            remember(request, played)
        return played

    return play


@pytest.fixture
def hook_calls(request: pytest.FixtureRequest) -> list[HookCall]:
    """What the hooks are asked and answer in the simulations of this test, in order.

    It is filled by ``simulate_jobs``; see :class:`slurm_sim_plugins.testing.HookCall`.
    """
    calls: list[HookCall] = []
    request.node.stash[_RECORDED] = calls
    return calls


@pytest.fixture
def simulate_jobs(request: pytest.FixtureRequest) -> Callable[..., Simulated]:
    """Simulates a few jobs, checks every invariant, and gives what became of them.

    ``simulate_jobs([job(4, run=10), job(6, submit=1)], 10, plugins=[Mine], scheduler="sched/mine")``;
    instead of 10 a cluster with nodes; see :func:`emulator.testing.simulate_jobs`.
    """
    from emulator.testing.simulating import simulate_jobs
    from slurm_sim_plugins.testing import HookRecorder

    def simulated(
        jobs: Iterable[JobSpec], machine: int | Cluster = 10, *, plugins: Iterable[type] = (), **options: Any
    ) -> Simulated:
        calls = request.node.stash.get(_RECORDED, None)
        recording = [HookRecorder] if calls is not None else []
        done = simulate_jobs(jobs, machine, plugins=[*plugins, *recording], **options)
        if calls is not None:
            calls += done.plugins[HookRecorder.name].calls
        remember(request, done.result)
        return done

    return simulated
