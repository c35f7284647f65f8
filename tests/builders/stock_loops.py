"""The loops of stock plugins as plain Python, beside the compiled ones where there are some; what their tests share."""

from __future__ import annotations

import importlib
from types import ModuleType

from hypothesis import strategies as st

from emulator.accounting.records import Records
from slurm_sim_plugins.kernels import why_plain
from tests.builders.kernels import plain

PREDICTIONS = st.fixed_dictionaries(
    {
        "key": st.sampled_from(["triple", "double", "user", "project"]),
        "window": st.sampled_from(["1m", "all"]),
        "percentile": st.sampled_from([0.0, 33.3, 50.0, 85.0, 100.0]),
        "definition": st.sampled_from(["cobalt", "nearest", "linear"]),
        "threshold": st.sampled_from([0.0, 0.5]),
        "min_jobs": st.integers(1, 3),
        "adjust": st.sampled_from(["regular", "selective", "queue", "backfill", "running", "backfill+running"]),
        "project": st.sampled_from(["project", "group"]),
    }
)
HOW = st.fixed_dictionaries(
    {
        "passes": st.sampled_from(["batch", "event"]),
        "kill_at_limit": st.booleans(),
        "expired": st.sampled_from(["limit", "now", "tsafrir", "again"]),
    }
)


def loops(name: str = "stock_loop") -> tuple[ModuleType, ...]:
    """The module from its source; and as it is imported, if that is compiled."""
    name = f"emulator.engine.{name}"
    return (plain(name),) if why_plain() else (plain(name), importlib.import_module(name))


def same(one: Records, other: Records) -> None:
    for ours, theirs in ((one.jobs, other.jobs), (one.runs, other.runs)):
        assert list(ours) == list(theirs)
        for name in ours:
            assert ours[name].dtype == theirs[name].dtype, name
            assert ours[name].tobytes() == theirs[name].tobytes() or list(ours[name]) == list(theirs[name]), name
