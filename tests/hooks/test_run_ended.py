"""run_ended: told of the end of a run, unless it failed; the rest stands beside run_begun."""

from __future__ import annotations

from typing import Any

import pytest

from slurm_sim_plugins import PluginError, View, hookimpl
from tests.builders.jobs import run
from tests.builders.observers import JOBS, Listening


def test_the_end_is_not_told_of_a_run_that_failed() -> None:
    def fails(self: Any, view: View) -> None:
        raise ValueError("no")

    listening = Listening()
    shared = type("Shared", (Listening,), {"__init__": lambda self: setattr(self, "told", listening.told)})
    failing = type("Failing", (), {"name": "observer/failing", "pass_done": hookimpl(fails)})
    with pytest.raises(PluginError):
        run(JOBS, 4, plugins=[shared, failing])
    assert [what for what, *_ in listening.told] == ["begun"]
