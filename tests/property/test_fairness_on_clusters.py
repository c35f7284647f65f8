"""The fairness auditor on the clusters of a slurm.conf, against the one on counted processors, and by hand."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from emulator import simulate
from emulator.accounting.runfolder import read_run
from emulator.cli import slurm_sim
from emulator.config.options import Config
from emulator.config.slurm import parse_slurm_conf
from emulator.config.slurm.flat import flat_cluster
from emulator.fairness import Site, audit
from emulator.workload.submissions import submissions_of
from slurm_sim_plugins import InputError
from slurm_sim_plugins.manager import Catalogue
from tests.builders.jobs import workload
from tests.builders.one_cpu_nodes import CONF, rows

EVENTS = """-dt 0 -e submit_batch_job | -sim-walltime 600 --uid=u1 -t 10 -n 12 a.job
-dt 1 -e submit_batch_job | -sim-walltime 300 --uid=u1 -t 10 -n 16 a.job
-dt 2 -e submit_batch_job | -sim-walltime 1200 --uid=u1 -t 30 -n 4 a.job
"""
GREEDY = """
from slurm_sim_plugins import Start, hookimpl


class Greedy:
    name = "sched/greedy"

    @hookimpl
    def schedule(self, view):
        plan = view.plan()
        for entry in list(view.queue):
            answer = plan.now(entry)
            if answer.place:
                yield Start(entry, where=answer.place)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "slots", [{"scheduler": "sched/easy"}, {"scheduler": "sched/easy", "priority": "priority/sjf"}]
)
def test_on_nodes_of_one_cpu_it_finds_what_it_finds_on_counts(slots: dict[str, str], tmp_path: Path) -> None:
    delayed = 0
    for seed in range(3):
        processors = 6
        given = workload(rows(seed, processors, 30))
        conf = parse_slurm_conf(CONF.format(processors))
        how = {"catalogue": Catalogue(), "clock": "ideal", **slots}
        simulate(given, processors, out=tmp_path / f"flat{seed}", **how)
        simulate(given, conf, out=tmp_path / f"nodes{seed}", **how)
        flat = audit(read_run(tmp_path / f"flat{seed}"), processes=2)
        nodes = audit(read_run(tmp_path / f"nodes{seed}"), processes=2, site=Site(conf, submissions_of(given, conf)))
        assert nodes.start.tolist() == flat.start.tolist()
        assert nodes.fair_start.tolist() == flat.fair_start.tolist()
        assert np.isnan(nodes.head_delay).all()
        delayed += int(flat.summary()["whole_delayed"]) + int(flat.summary()["gained"])
    assert delayed, "the workloads are such that something is found"


def made(folder: Path, clock: str, *words: str) -> list[str]:
    """A run whose scheduler lets the third job delay the second; how its command names what it was made of."""
    conf = CONF.format(16)
    (folder / "slurm.conf").write_text(conf)
    (folder / "jobs.events").write_text(EVENTS)
    (folder / "greedy.py").write_text(GREEDY)
    site = ["--slurm-conf", str(folder / "slurm.conf"), "--plugin", str(folder / "greedy.py")]
    command = ["run", str(folder / "jobs.events"), *site, "--scheduler", "sched/greedy", "--clock", clock]
    done = CliRunner().invoke(slurm_sim, [*command, "--out", str(folder / "run"), *words])
    assert done.exit_code == 0, done.output
    return ["fairness", str(folder / "run"), "--trace", str(folder / "jobs.events"), *site]


@pytest.mark.parametrize(("clock", "delay"), [("ideal", (602.0,)), ("slurm", (590.0, 640.0))])
def test_a_later_job_that_delays_an_earlier_one_is_found(tmp_path: Path, clock: str, delay: tuple[float, ...]) -> None:
    command = made(tmp_path, clock)
    done = CliRunner().invoke(slurm_sim, [*command, "--json"])
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert (found["jobs"], found["audited"], found["whole_delayed"], found["head_delayed"]) == (3, 3, 1, None)
    assert min(delay) <= found["whole_max_delay"] <= max(delay)
    shown = CliRunner().invoke(slurm_sim, command)
    assert "not looked at" in shown.stdout


def test_what_it_was_made_of_is_asked_for_and_compared(tmp_path: Path) -> None:
    command = made(tmp_path, "ideal")
    with pytest.raises(InputError, match="its folder does not hold all that makes it again; name what it was made of"):
        audit(read_run(tmp_path / "run"))
    half = CliRunner().invoke(slurm_sim, command[:4])
    assert "--trace and --slurm-conf go together" in half.output
    (tmp_path / "jobs.events").write_text(EVENTS.replace("-n 4", "-n 5"))
    other = CliRunner().invoke(slurm_sim, command)
    assert "does not come out the same from what was named" in str(other.exception)
    (tmp_path / "slurm.conf").write_text(CONF.format(15))
    changed = CliRunner().invoke(slurm_sim, command)
    assert "was not made with" in str(changed.exception)


def test_processors_under_slurms_clock_can_be_audited_too(tmp_path: Path) -> None:
    given = workload(rows(1, 6, 20))
    done = simulate(given, 6, clock="slurm", out=tmp_path / "run")
    conf, _ = flat_cluster(6, Config())
    found = audit(read_run(tmp_path / "run"), site=Site(conf, submissions_of(given, conf)))
    assert found.start.tolist() == done.jobs["start"].tolist()
