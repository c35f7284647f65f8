"""Random configurations and inputs in Slurm's timing: every run ends, by itself and in words.

``EVERY_RUN_ENDS=1000 pytest tests/property/test_every_run_ends.py`` plays so many instead of a few.
"""

from __future__ import annotations

import os

import pytest

from emulator.engine.standstill import unfinished
from tests.builders.patience import patience
from tests.builders.rough_clusters import prepared

MANY = int(os.environ.get("EVERY_RUN_ENDS", "25"))
PATIENCE = 180
"""Seconds of processor time for one run: most take a fraction of one, a year of periods of a minute up to 60."""


@pytest.mark.parametrize("seed", range(MANY))
def test_every_run_ends(seed: int) -> None:
    with patience(PATIENCE, TimeoutError(f"the run goes on for more than {PATIENCE} s")):
        made = prepared(seed)
        made.run()
    waiting = [job for job in made.cluster.jobs.values() if not job.over]
    assert bool(waiting) == bool(unfinished(made.cluster))
