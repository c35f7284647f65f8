"""A snapshot keeps what a class lists as its slots: of a compiled one that must be all that its C type has."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from emulator.accounting.headwatch import HeadWatch
from emulator.engine.apply import Apply
from emulator.engine.event_heap import Due, EventHeap
from emulator.engine.loop import Loop
from emulator.scheduling.admission import Admission
from emulator.scheduling.queue import JobQueue
from emulator.scheduling.scheduling_pass import SchedulingPass
from emulator.snapshot.kinds import slots
from slurm_sim_plugins.counts import Counts, Fitting
from slurm_sim_plugins.job_fields import JobFields
from slurm_sim_plugins.start import Start

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    "kind",
    [Admission, Apply, Counts, Due, EventHeap, Fitting, HeadWatch, JobFields, JobQueue, Loop, SchedulingPass, Start],
)
def test_slots_are_the_attributes_of_the_c_type(kind: type) -> None:
    text = ROOT.joinpath(*kind.__module__.split(".")).with_suffix(".pxd").read_text(encoding="utf-8")
    text = re.split(
        r"(?=^(?:@[\w.()]+\n)?cdef class )", text.split(f"cdef class {kind.__name__}:")[1], flags=re.MULTILINE
    )[0]
    lines = re.findall(r"^    cdef (public )?[\w ]*?(\w+(?:, \w+)*)$", text, re.MULTILINE)
    assert all(public for public, _ in lines)
    named = {name for _, names in lines for name in names.split(", ")}
    assert set(kind.__slots__) == named == {name for name, _ in slots(kind)}  # type: ignore[attr-defined]
