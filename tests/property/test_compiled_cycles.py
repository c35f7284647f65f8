"""Cycles of backfill whose steps are compiled, beside the plugin's own: the same starts, reasons, expected starts."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from emulator.config.operation import Operation
from emulator.config.slurm import parse_slurm_conf
from emulator.engine.controller import Controller
from emulator.operator.scontrol import scontrol
from emulator.scheduling import cycle, job_scheduler
from emulator.workload.request import JobRequest
from emulator.workload.sbatch import TaskArray, parse_sbatch
from slurm_sim_plugins.sched.backfill import Backfill
from tests.builders.outcomes import outcome_of
from tests.builders.random_clusters import COMMANDS, WORDS, configuration

OPTIONS = (
    *("bf_max_job_test=7", "bf_max_job_test=40", "bf_max_job_user=3", "bf_max_job_part=6", "bf_max_job_user_part=2"),
    *("bf_node_space_size=9", "bf_window=60", "bf_licenses", "bf_resolution=300", "bf_max_job_array_resv=1"),
    *(
        "bf_min_prio_reserve=3",
        "bf_max_job_start=2",
        "bf_one_resv_per_job",
        "bf_busy_nodes",
        "bf_job_part_count_reserve=2",
    ),
)


def cluster(draws: np.random.Generator) -> str:
    """A configuration with some options of backfill."""
    text, chosen = configuration(draws), draws.choice(OPTIONS, size=int(draws.integers(0, 4)), replace=False)
    lines = [
        line + "".join(f",{word}" for word in chosen) * line.startswith("SchedulerP") for line in text.splitlines()
    ]
    if draws.random() < 0.3:
        lines.append("PartitionName=mine Nodes=b[1-4] ExclusiveUser=YES PriorityTier=1")
    return "\n".join(lines)


def bursts(draws: np.random.Generator) -> list[JobRequest]:
    """Many jobs that ask for the same, behind one another; some are tasks of arrays."""
    requests: list[JobRequest] = []
    for _ in range(int(draws.integers(3, 9))):
        words = [*str(draws.choice(WORDS)).split(), f"-t{draws.choice([1, 3, 8, 20])}"]
        second, first, many = float(draws.integers(0, 900)), len(requests) + 1, int(draws.integers(1, 12))
        options, limit, array = parse_sbatch(words), int(draws.choice([0, 2])), None
        if draws.random() < 0.1:
            options = replace(options, exclusive_to="user") if not options.exclusive else options
        if draws.random() < 0.25:
            array = first
        for task in range(many):
            run, user = float(draws.integers(5, 900)), str(draws.choice(["me", "me", "you"]))
            own = options if array is None else replace(options, array=TaskArray((task,), limit))
            user = user if array is None else "me"
            requests.append(JobRequest(first + task, second, run, own, user, array=array, task=task))
    return sorted(requests, key=lambda request: (request.submit, request.id))


def outcome(seed: int, version: str, wish: str = "", linear: bool = False, **more: Any) -> list[tuple[object, ...]]:
    """All that was decided in a run, and all that jobs showed on the way where plans are seen.

    Args:
        seed: of the cluster and its jobs.
        version: of Slurm.
        wish: what a third of the jobs would rather have (``--prefer``).
        linear: whether whole nodes are chosen.
        more: of the controller.
    """
    draws = np.random.default_rng(seed)
    text = cluster(draws)
    text = re.sub("(?m)^SelectType.*\\n", "", text) + "\nSelectType=select/linear\n" if linear else text
    conf, requests = parse_slurm_conf(text), bursts(draws)
    requests = [
        replace(one, options=replace(one.options, prefer=wish)) if (one.array or one.id) % 3 == 0 else one
        for one in requests
    ]
    actions = [
        (float(draws.integers(50, 900)), lambda controller, command=str(command): scontrol(command, controller))
        for command in draws.choice(COMMANDS, size=int(draws.choice([0, 0, 3])))
    ]
    controller = Controller(conf, requests, actions, slurm_version=version, operation=Operation(), seed=seed, **more)
    return outcome_of(controller, 6_000, shown=more.get("plans_are_seen", True))


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@example(19228, "22.05")  # Windows of runs end elsewhere once a slot keeps nodes of the first.
@given(st.integers(0, 2**32), st.sampled_from(["22.05", "24.11"]))
@example(19, "22.05")
@example(19, "24.11")
@example(57, "22.05")
def test_they_decide_what_the_plugin_decides_in_python(seed: int, version: str) -> None:
    compiled = outcome(seed, version, compiled=True)
    assert compiled == outcome(seed, version, compiled=False)
    with pytest.MonkeyPatch.context() as patch:
        # As a subclass has it: holes are sought by the same kernels, and the steps are the plugin's.
        patch.setattr("emulator.scheduling.windows_compiled.CompiledWindows.cycle", lambda *_: None)
        assert compiled == outcome(seed, version, compiled=True)


@pytest.mark.slow
@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize("version", ["22.05", "24.11", "26.05"])
@pytest.mark.parametrize("seed", range(12))
def test_jobs_with_wishes_are_tried_alike(seed: int, version: str, linear: bool) -> None:
    """They are tried with other wants than those by which compiled code knows jobs."""
    compiled = outcome(seed, version, "y", linear, compiled=True)
    assert compiled == outcome(seed, version, "y", linear, compiled=False)
    assert seed or compiled != outcome(seed, version, "", linear, compiled=True)


@pytest.mark.parametrize(("seed", "version"), list(product(range(6), ["22.05", "24.11"])))
def test_what_is_tried_for_now_alone_keeps_nothing(seed: int, version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a subclass may have it: jobs alike, of which none is to keep a hole, nor to be noted as delayed."""
    monkeypatch.setattr("emulator.scheduling.windows_compiled.CompiledWindows.cycle", lambda *_: None)
    monkeypatch.setattr(Backfill, "_is_now_only", lambda _, entry, now: entry.partition == "all")
    assert outcome(seed, version, compiled=True) == outcome(seed, version, compiled=False)


CORES = [
    f"scontrol create reservation ReservationName={name} CoreCnt={count} StartTime=now+{start} Duration=20 Users=you"
    for name, count, start in product("rs", (3, 9), (1, 300))
]


@pytest.mark.parametrize("seed", [11, 12, 22])
def test_searches_are_not_compiled_where_cores_are_reserved(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a reservation of cores keeps is another number at each time."""
    monkeypatch.setattr("tests.property.test_compiled_cycles.COMMANDS", CORES)
    assert outcome(seed, "22.05", compiled=True) == outcome(seed, "22.05", compiled=False)


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(["slurm", "ideal"]), st.sampled_from(["22.05", "24.11"]))
def test_where_plans_are_not_seen_the_same_jobs_start(seed: int, clock: Any, version: str) -> None:
    def became(plans_are_seen: bool) -> list[tuple[object, ...]]:
        found = outcome(seed, version, compiled=True, clock=clock, plans_are_seen=plans_are_seen)
        return [each for each in found if each[0] != "shows"]

    assert became(plans_are_seen=False) == became(plans_are_seen=True)


def test_most_jobs_are_tried_by_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is compared above is made by compiled steps: few entries come back without a hole."""
    tried = {"here": 0, "there": 0}
    place, keep = Backfill._try, cycle.Keeping

    def counted(*arguments: Any) -> Any:
        tried["there"] += 1
        return place(*arguments)

    class Counted(keep):  # type: ignore[misc, valid-type]
        def keep(self, entries: Any, first: Any) -> Any:
            tried["here"] += 1
            return super().keep(entries, first)

    monkeypatch.setattr(Backfill, "_try", counted)
    monkeypatch.setattr("emulator.scheduling.windows_compiled.Keeping", Counted)
    outcome(2, "22.05", compiled=True)
    assert tried["there"] == 0
    assert tried["here"] > 0


def partitioned(draws: np.random.Generator) -> str:
    """A configuration of a main loop that looks at few jobs, with partitions that have bounds, on the same nodes."""
    lines = []
    for line in cluster(draws).splitlines():
        depth = f",default_queue_depth={draws.choice([2, 5, 30])}" if line.startswith("SchedulerP") else ""
        lines.append(line + depth)
    for name, bound in (("free", ""), ("short", "MaxTime=5"), ("few", "MaxNodes=1"), ("down", "State=DOWN")):
        lines.append(f"PartitionName={name} Nodes=ALL {bound}")
    return "\n".join(lines)


def in_partitions(seed: int, version: str) -> list[tuple[object, ...]]:
    """All that was decided in a run, and all that jobs showed, which are in any partitions."""
    draws = np.random.default_rng(seed)
    conf, requests = parse_slurm_conf(partitioned(draws)), bursts(draws)
    names = draws.choice(["free", "free", "short", "few", "down", ""], size=len(requests) // 4 + 1)
    for place, request in enumerate(requests):
        name = str(names[place // 4])
        if name and request.array is None:
            requests[place] = replace(request, options=replace(request.options, partitions=(name,)))
    controller = Controller(conf, requests, slurm_version=version, operation=Operation(), seed=seed)
    return outcome_of(controller, 6_000)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(["22.05", "24.11"]))
def test_the_main_loop_passes_over_what_it_would_look_at_in_vain(seed: int, version: str) -> None:
    passed = in_partitions(seed, version)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(job_scheduler._Pass, "_may_pass_over", lambda _: False)
        assert passed == in_partitions(seed, version)
