"""slurm-sim explain on a real log: any job, at once."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

from emulator import read_swf, simulate
from emulator.accounting.runfolder import read_run
from emulator.explain.story import tell
from slurm_sim_plugins.manager import Catalogue

BASIC = ("submit", "reserve", "start", "end")


@pytest.fixture(scope="module")
def folder(traces: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("ctc")
    workload = read_swf(traces / "swf" / "CTC-SP2-1996-3.1-cln.swf.gz", machine=430)
    simulate(workload, processors=430, out=out, explain=True, catalogue=Catalogue())
    return out


def test_any_job_of_ctc_in_two_seconds_and_as_the_log_has_it(folder: Path) -> None:
    run = read_run(folder)
    jobs = run.records.jobs
    longest = np.argsort(jobs["start"] - jobs["submit"])[-5:]
    drawn = np.random.default_rng(1).choice(len(jobs["job_id"]), 15, replace=False)
    wanted = {int(jobs["job_id"][place]): [] for place in (*longest, *drawn, 0, len(jobs["job_id"]) - 1)}
    with (folder / "events.jsonl").open() as stream:
        for line in stream:
            event = json.loads(line)
            if event["job"] in wanted and event["event"] in BASIC:
                wanted[event["job"]].append(event)
    for job, events in wanted.items():
        before = os.times().user
        story = tell(read_run(folder), job)
        assert os.times().user - before < 2
        assert [step.event for step in story.steps if step.event is not None] == events
