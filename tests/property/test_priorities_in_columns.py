"""Priorities that priority/multifactor works out as columns, beside those of one job after the other, in whole runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.config.slurm import parse_slurm_conf
from emulator.engine.controller import Controller
from emulator.operator.scontrol import scontrol
from slurm_sim_plugins.priority import multifactor
from slurm_sim_plugins.views import PriorityView
from tests.builders.random_clusters import COMMANDS, configuration, submission

WEIGHTS = """
AccountingStorageType=accounting_storage/slurmdbd
PriorityWeightAge=100000
PriorityMaxAge=1-0
PriorityWeightPartition=70
PriorityWeightTRES=CPU=100,Mem=50
PriorityCalcPeriod=1
"""
UPDATES = tuple(
    f"scontrol {words}"
    for number in (3, 4, 7, 9, 11)
    for words in (
        f"update JobId={number} Nice=-40",
        f"update JobId={number} SiteFactor=70",
        f"update JobId={number} Partition=some",
        f"update JobId={number} NumCPUs=3",
        f"hold {number}",
        f"release {number}",
        f"requeue {number}",
    )
)
"""What changes the facts of jobs that wait."""


def compared(seed: int) -> int:
    """How often columns were made, and were right, on a random cluster whose operators change jobs that wait."""
    draws = np.random.default_rng(seed)
    text = configuration(draws).replace("priority/basic", "priority/multifactor") + WEIGHTS
    if draws.random() < 0.3:
        text += "PriorityFlags=ACCRUE_ALWAYS\n"
    requests = [submission(number, draws) for number in range(1, 60)]
    actions = [
        (float(draws.integers(50, 1500)), lambda controller, command=str(command): scontrol(command, controller))
        for command in draws.choice([*UPDATES, *COMMANDS], size=25)
    ]
    controller, columns = Controller(parse_slurm_conf(text), requests, actions), []
    plugin: Any = controller.policies.priority
    in_columns, one_by_one = plugin._in_columns, plugin._one_by_one
    last: dict[int, Any] = {}

    def note(view: PriorityView, answer: Sequence[Any]) -> Any:
        last.update(
            {job.id: each if isinstance(each, list) else [each] for job, each in zip(view.to_set, answer, strict=True)}
        )
        return answer

    def beside(view: PriorityView) -> Any:
        column = in_columns(view)
        if column is None:
            return None
        assert column == one_by_one(view)
        columns.append(column)
        return note(view, column)

    def look() -> None:
        # What was answered is kept, also of jobs that the last column was not for.
        for job in controller.cluster.waiting.values():
            if job.seen is not None and job.seen.answered:
                assert list(job.seen.answered) == last[job.id]

    plugin._in_columns, plugin._one_by_one = beside, lambda view: note(view, one_by_one(view))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(multifactor, "MANY", 2)
        controller.run(until=6_000, observe=look)
    return len(columns)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32))
def test_columns_hold_what_one_by_one_would_whatever_operators_change(seed: int) -> None:
    compared(seed)


def test_many_columns_are_compared() -> None:
    assert sum(map(compared, range(3))) > 30
