"""Options of sbatch as a line again."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from emulator.config.slurm.model import GresCount
from emulator.workload.sbatch import BatchOptions, Dependency, TaskArray, parse_sbatch
from emulator.workload.sbatch_line import options_of, submit_line, words

word = st.text("abcxyz019_-.", min_size=1).map(lambda text: f"w{text}")
text = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=1)
count = st.integers(1, 10**6)
minutes = st.one_of(st.just(math.inf), st.integers(1, 10**6).map(lambda number: number * 60.0))
nodes = st.lists(st.integers(0, 50).map(lambda number: f"n{number}"), max_size=4, unique=True).map(tuple)
few = st.lists(st.tuples(word, count), max_size=2, unique_by=lambda pair: pair[0]).map(tuple)
after = st.builds(Dependency, st.sampled_from(["afterok", "afterany", "aftercorr"]), count)
dependency = st.one_of(
    after,
    st.just(Dependency("singleton")),
    st.builds(Dependency, st.just("after"), count, st.sampled_from([0.0, 120.0])),
)
array = st.builds(
    TaskArray, st.sets(st.integers(0, 60), min_size=1).map(lambda those: tuple(sorted(those))), st.integers(0, 5)
)


@st.composite
def options(draw: st.DrawFn) -> BatchOptions:
    low = draw(st.none() | count)
    gres = tuple(GresCount(name, "", number) for name, number in draw(few))
    exclusive = draw(st.sampled_from(["", "yes", "user"]))
    return BatchOptions(
        name=draw(text | st.just("")),
        account=draw(word | st.just("")),
        qos=draw(word | st.just("")),
        partitions=tuple(draw(st.lists(word, max_size=3))),
        min_nodes=low,
        max_nodes=None if low is None else low + draw(st.integers(0, 5)),
        tasks=draw(st.none() | count),
        cpus_per_task=draw(st.none() | count),
        tasks_per_node=draw(st.none() | count),
        segment=draw(st.none() | count),
        exclusive=exclusive == "yes",
        exclusive_to="user" if exclusive == "user" else "",
        share=draw(st.booleans()),
        memory_per_node=draw(st.none() | st.integers(0, 10**6)),
        gres=gres,
        gpus=tuple(GresCount("gpu", name, number) for name, number in draw(few)),
        constraint=draw(word | st.just("")),
        node_list=draw(nodes),
        exclude=draw(nodes),
        time_limit=draw(st.none() | minutes),
        time_min=draw(st.none() | minutes),
        begin=draw(st.none() | st.integers(0, 10**6).map(float)),
        held=draw(st.booleans()),
        nice=draw(st.integers(-1000, 1000)),
        priority=draw(st.none() | count),
        requeue=draw(st.none() | st.booleans()),
        dependencies=(conditions := tuple(draw(st.lists(dependency, max_size=3)))),
        any_dependency=len(conditions) > 1 and draw(st.booleans()),
        kill_on_invalid_dependency=draw(st.none() | st.booleans()),
        licenses=draw(few),
        array=draw(st.none() | array),
    )


@pytest.mark.slow
@given(options())
def test_a_line_asks_for_what_it_was_made_of(asked: BatchOptions) -> None:
    assume(not (asked.share and (asked.exclusive or asked.exclusive_to)))  # of the two the last counts
    assume(asked.tasks is None or (asked.min_nodes or 0) <= asked.tasks)  # no node without a task is asked for
    for said in (parse_sbatch(words(asked)), options_of(submit_line(asked))):
        assert bool(said.newer) is bool(asked.segment or asked.gres_per_task)
        assert replace(said, newer="") == asked


def test_times_become_what_slurm_keeps() -> None:
    asked = BatchOptions(time_limit=61.0, begin=0.5)
    assert parse_sbatch(words(asked)) == replace(asked, time_limit=120.0, begin=1.0)
