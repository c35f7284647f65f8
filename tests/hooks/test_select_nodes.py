"""select_nodes: on which block a job runs."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from emulator import Workload, simulate
from slurm_sim_plugins import Blocks, ConfigurationError, PluginError, SchedulingView, SelectView, Start, hookimpl
from slurm_sim_plugins.blocks import aligned
from slurm_sim_plugins.manager import Catalogue

QUARTERS = aligned(4, (1, 2, 4), nodes=1)
JOBS = [(1, 0.0, 1, 10.0), (2, 1.0, 1, 10.0), (3, 2.0, 2, 10.0), (4, 3.0, 1, 10.0)]


class Last:
    """The last block that is free; notes what it was asked."""

    name: ClassVar[str] = "select/last"
    asked: ClassVar[list[tuple[float, int, tuple[int, ...], int | None]]] = []

    def blocks(self, processors: int) -> Blocks:
        return QUARTERS

    @hookimpl
    def select_nodes(self, view: SelectView) -> int | None:
        block_state = view.block_state
        assert block_state is not None
        self.asked.append((view.now, view.job.id, tuple(run.job.id for run in view.candidates), view.beside))
        free = block_state.choices(view.job) & block_state.free
        if view.beside is not None:
            free &= ~QUARTERS.overlaps[view.beside]
        return free.bit_length() - 1 if free else None


class InOrder:
    """Starts the queue in its order, without a word of where."""

    name: ClassVar[str] = "sched/in_order"
    knows_blocks: ClassVar[bool] = True
    blindly: ClassVar[bool] = False

    @hookimpl
    def schedule(self, view: SchedulingView) -> Any:
        assert view.block_state is not None
        while view.head is not None and (self.blindly or view.block_state.find(view.head) is not None):
            yield Start(view.head)


def simulated(select: type, scheduler: type = InOrder, jobs: Any = JOBS, **options: Any) -> Any:
    names = ("id", "submit", "processors", "run")
    columns: dict[str, Any] = {name: [row[place] for row in jobs] for place, name in enumerate(names)}
    columns["time_limit"] = columns["run"]
    given = Workload.from_columns(columns)
    chosen = {"plugins": [select, scheduler], "select": select.name, "scheduler": scheduler.name}
    return simulate(given, processors=4, catalogue=Catalogue(), **chosen, **options)


def blocks_of(result: Any) -> list[tuple[int, float, str]]:
    runs = result.records.runs
    return list(zip(runs["job_id"].tolist(), runs["start"].tolist(), runs["block"].tolist(), strict=True))


def answering(answer: Any) -> type:
    def select_nodes(self: Any, view: SelectView) -> Any:
        return answer

    return type("Answering", (Last,), {"name": "select/answering", "select_nodes": hookimpl(select_nodes)})


def test_the_answer_is_where_the_job_runs() -> None:
    Last.asked.clear()
    found = blocks_of(simulated(Last))
    assert found == [(1, 0, "1-3"), (2, 1, "1-2"), (3, 2, "2-0"), (4, 10, "1-3")]
    assert Last.asked[0] == (0.0, 1, (), None)


def test_no_block_is_none() -> None:
    with pytest.raises(PluginError, match="4 jobs still wait and nothing more will happen"):
        simulated(answering(None))


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (7.0, "blocks are numbered from 0 to 6"),
        (7, "blocks are numbered from 0 to 6"),
        (-1, "blocks are numbered from 0 to 6"),
        (True, "blocks are numbered from 0 to 6"),
        ("1-0", "blocks are numbered from 0 to 6"),
        (0, "of which something is in use"),
    ],
)
def test_what_is_refused(answer: Any, told: str) -> None:
    with pytest.raises(PluginError, match=told) as caught:
        simulated(answering(answer))
    assert (caught.value.plugin, caught.value.hook) == ("select/answering", "select_nodes")


def test_a_failure_names_the_plugin_the_hook_the_job_and_the_time() -> None:
    def failing(self: Any, view: SelectView) -> int:
        raise RuntimeError("no block")

    plugin = type("Failing", (Last,), {"name": "select/failing", "select_nodes": hookimpl(failing)})
    with pytest.raises(PluginError, match="no block") as caught:
        simulated(plugin)
    found = caught.value
    assert (found.plugin, found.hook, found.job, found.time) == ("select/failing", "select_nodes", 1, 0.0)


def test_a_block_that_is_too_small_is_refused() -> None:
    with pytest.raises(PluginError, match="a block of 1 processors; the job needs 2") as caught:
        simulated(answering(3), jobs=[(9, 5.0, 2, 10.0)])
    assert (caught.value.job, caught.value.time) == (9, 5.0)


def test_a_start_for_which_there_is_no_block_is_refused() -> None:
    blind = type("Blind", (InOrder,), {"name": "sched/blind", "blindly": True})

    def in_corners(self: Any, view: SelectView) -> int | None:
        return {1: 0, 2: 3}.get(view.job.id)

    corners = type("Corners", (Last,), {"name": "select/corners", "select_nodes": hookimpl(in_corners)})
    with pytest.raises(PluginError, match="no block that holds its 2 processors is free") as caught:
        simulated(corners, blind, jobs=[(1, 0.0, 1, 10.0), (2, 0.0, 1, 10.0), (3, 0.0, 2, 10.0)])
    assert (caught.value.plugin, caught.value.hook, caught.value.job) == ("sched/blind", "schedule", 3)


def test_a_scheduler_that_counts_processors_is_refused() -> None:
    counting = type("Counting", (InOrder,), {"name": "sched/counting", "knows_blocks": False})
    with pytest.raises(ConfigurationError, match="sched/counting counts free processors"):
        simulated(Last, counting)


@pytest.mark.parametrize("answer", [None, aligned(8, (1, 8), nodes=1), "quarters"])
def test_blocks_must_be_of_the_machine(answer: Any) -> None:
    vague = type("Vague", (Last,), {"name": "select/vague", "blocks": lambda self, processors: answer})
    with pytest.raises(PluginError, match=r"its blocks\(4\) gave"):
        simulated(vague)


def test_a_job_larger_than_the_largest_block_is_rejected() -> None:
    halves = Blocks(4, [("left", [0, 1]), ("right", [2, 3])], nodes=1)
    small = type("Small", (Last,), {"name": "select/small", "blocks": lambda self, processors: halves})
    result = simulated(answering(None), jobs=[(1, 0.0, 5, 1.0)])
    assert result.records.jobs["state"].tolist() == ["REJECTED"]
    result = simulated(small, jobs=[(1, 0.0, 3, 1.0), (2, 0.0, 1, 1.0)])
    assert result.records.jobs["state"].tolist() == ["REJECTED", "COMPLETED"]
    assert blocks_of(result) == [(2, 0, "right")]
