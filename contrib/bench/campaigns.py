"""What a campaign costs beside its runs: 1,000 runs of KTH on two processes. See README.md beside this file.

``python contrib/bench/campaigns.py [RUNS]``
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import click

from emulator.campaign.results import survey

TRACES = Path(os.environ.get("SLURM_SIM_TRACES", Path(__file__).parents[3] / "shared" / "traces")) / "swf"
STUDY = """
[campaign]
repetitions = {seeds}
[workloads.KTH]
trace = "KTH-SP2-1996-2.1-cln.swf.gz"
[policies]
EASY = ["sched/easy"]
FCFS = ["sched/fcfs"]
"""
CAMPAIGN = "from emulator.cli import main; main()"


@click.command()
@click.argument("runs", type=click.IntRange(min=10), default=1000)
@click.option("--processes", default=2, show_default=True)
def bench(runs: int, processes: int) -> None:
    """Make a campaign, then make it again, when all is there."""
    with tempfile.TemporaryDirectory() as folder:
        study = Path(folder) / "study.toml"
        study.write_text(STUDY.format(seeds=runs // 2))
        words = ["campaign", "run", str(study), "--traces", str(TRACES), "--processes", str(processes)]
        total = _cpu([sys.executable, "-c", CAMPAIGN, *words])
        found = survey(study.with_suffix("")).runs
        spent = [run.manifest["spent"] for run in found]
        inside = sum(each["cpu_seconds"] for each in spent)
        click.echo(f"{len(found)} runs, {sum(run.state == 'done' for run in found)} done, on {processes} processes")
        click.echo(f"the runs themselves {inside:,.1f} CPU s, all processes {total:,.1f} CPU s")
        click.echo(f"overhead {100 * (total / inside - 1):.2f} %")
        costs = sorted(each["cpu_seconds"] for each in spent)
        late = [cost for cost in costs if cost > 1.8 * costs[len(costs) // 2]]
        click.echo(f"median run {costs[len(costs) // 2]:.3f} CPU s; more than 1.8 times that: {len(late)} runs")
        peaks = [each["peak_memory_mb"] for each in spent]
        tenth = len(peaks) // 10
        click.echo(
            f"peak memory of a worker: {max(peaks[:tenth])} MiB in the first tenth, {max(peaks[-tenth:])} in the last"
        )
        click.echo(f"again, when all is there: {_cpu([sys.executable, '-c', CAMPAIGN, *words]):.1f} CPU s")


def _cpu(command: list[str]) -> float:
    """CPU seconds of a command and of all processes that it starts."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    bench()
