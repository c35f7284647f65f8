"""This checkout beside another one, such as the commit before: CPU time, memory, and whether the records are equal.

``python contrib/bench/beside.py OTHER/.venv/bin/slurm-sim [CASE ...]``; see README.md beside this file.
"""

from __future__ import annotations

import gzip
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import click
import cost
import pyarrow as pa
import pyarrow.parquet as pq

HERE = Path(__file__).parent
TRACES = Path(os.environ.get("SLURM_SIM_TRACES", HERE.parents[2] / "shared" / "traces"))
CURIE = TRACES / "swf" / "CEA-Curie-2011-2.1-cln.swf.gz"
CTC = TRACES / "swf" / "CTC-SP2-1996-3.1-cln.swf.gz"
WEEK = TRACES / "slurm" / "ub-hpc"
FIRST = 40_000
"""Jobs of Curie's beginning."""
NODES_OF_ONE_CPU = """
ClusterName=flat
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
PriorityType=priority/basic
NodeName=n[1-430] CPUs=1
PartitionName=p Nodes=ALL Default=YES MaxTime=INFINITE
"""


@dataclass(frozen=True)
class Case:
    """What both run.

    Attributes:
        ours, theirs: words of ``slurm-sim run``, without records.
        compared: whether the records must be equal.
    """

    ours: list[str]
    theirs: list[str]
    compared: bool = True


@dataclass(frozen=True)
class Cost:
    """Of one process: CPU seconds and peak MB."""

    seconds: float
    megabytes: float


def blue(folder: Path, rules: Sequence[str]) -> Case:
    """EASY on SDSC-BLUE."""
    words = [str(TRACES / "swf" / "SDSC-BLUE-2000-4.2-cln.swf.gz")]
    return Case(words, words)


def nodes(folder: Path, rules: Sequence[str]) -> Case:
    """EASY on CTC: a cluster of 430 nodes here, 430 counted processors there."""
    conf = folder / "flat.conf"
    conf.write_text(NODES_OF_ONE_CPU, encoding="utf-8")
    easy = [str(CTC), "--scheduler", "sched/easy"]
    ours = [*easy, "--slurm-conf", str(conf), "--clock", "ideal"]
    return Case(ours, [*easy, "--processors", "430"], compared=False)


def week(folder: Path, rules: Sequence[str]) -> Case:
    """UB-HPC's week without accounts."""
    words = [str(WEEK / "workload_week.events.gz"), "--slurm-conf", str(WEEK / "slurm_sim.conf")]
    return Case([*words, *rules], words)


def curie_begins(folder: Path, rules: Sequence[str]) -> Case:
    """The first jobs of CEA-Curie."""
    part = folder / "curie.swf"
    with gzip.open(CURIE, "rt", encoding="utf-8", errors="replace") as lines:
        of_jobs = (line for line in lines if not line.startswith(";"))
        part.write_text("".join(islice(of_jobs, FIRST)), encoding="utf-8")
    words = [str(part), "--slurm-conf", str(HERE / "curie.conf")]
    return Case([*words, *rules], words)


def curie(folder: Path, rules: Sequence[str]) -> Case:
    """CEA-Curie whole."""
    words = [str(CURIE), "--slurm-conf", str(HERE / "curie.conf")]
    return Case([*words, *rules], words)


CASES: dict[str, Callable[[Path, Sequence[str]], Case]] = {
    "blue": blue,
    "nodes": nodes,
    "week": week,
    "curie-begins": curie_begins,
    "curie": curie,
}


@click.command()
@click.argument("other", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("cases", nargs=-1, type=click.Choice(list(CASES)))
@click.option("--runs", default=5, show_default=True, type=click.IntRange(min=1), help="Pairs of each case.")
@click.option("--rules", default="22.05", show_default=True, help="Version of Slurm whose rules hold; empty for none.")
@click.option("--other-knows-rules", is_flag=True, help="The other one takes --slurm-version, too.")
def bench(other: Path, cases: tuple[str, ...], runs: int, rules: str, other_knows_rules: bool) -> None:
    """Run each case with both, one after the other in turns; medians of all pairs.

    Cases whose traces are not there are left out, and that is said. OTHER is the slurm-sim of another
    checkout's environment. Without a case all are run but for the whole of Curie, which takes long.
    """
    program = Path(sys.executable).with_name("slurm-sim")
    words = ["--slurm-version", rules] if rules else []
    for name in cases or [name for name in CASES if name != "curie"]:
        with tempfile.TemporaryDirectory() as folder:
            try:
                case = CASES[name](Path(folder), words)
            except FileNotFoundError as error:
                click.echo(f"{name:14} left out: {error.filename} is not there")
                continue
            theirs = case.theirs + (words if other_knows_rules and "--slurm-conf" in case.theirs else [])
            records = [Path(folder) / f"{whose}.parquet" for whose in ("ours", "theirs")]
            pairs = [
                (_run(program, case.ours, records[0]), _run(other.absolute(), theirs, records[1])) for _ in range(runs)
            ]
            click.echo(f"{name:14} {_told(pairs)}   {_compared(*records) if case.compared else 'not compared'}")


def _told(pairs: Sequence[tuple[Cost, Cost]]) -> str:
    """Medians of both, and of the ratios of the pairs."""
    ratio = statistics.median(ours.seconds / theirs.seconds for ours, theirs in pairs)
    of_memory = statistics.median(ours.megabytes / theirs.megabytes for ours, theirs in pairs)
    ours, theirs = (
        Cost(
            statistics.median(pair[side].seconds for pair in pairs),
            statistics.median(pair[side].megabytes for pair in pairs),
        )
        for side in (0, 1)
    )
    return (
        f"{ours.seconds:7.2f} beside {theirs.seconds:7.2f} CPU s ({100 * ratio:4.0f} %)"
        f"   {ours.megabytes:5.0f} beside {theirs.megabytes:5.0f} MB ({100 * of_memory:4.0f} %)"
    )


def _run(program: Path, words: Sequence[str], records: Path) -> Cost:
    """What one run costs."""
    command = [str(program), "run", *words, "--no-progress", "--json", "--records", str(records)]
    run = subprocess.run([sys.executable, cost.__file__, *command], stdout=subprocess.PIPE, check=False)
    if run.returncode:
        raise click.ClickException(f"{' '.join(command)} failed")
    return Cost(*map(float, run.stdout.split()))


def _compared(ours: Path, theirs: Path) -> str:
    """Whether all columns that both have are equal, but for values that one of them does not know."""
    new, old = (pq.read_table(path) for path in (ours, theirs))
    if new.num_rows != old.num_rows:
        return f"DIFFER: {new.num_rows} and {old.num_rows} rows"
    differing = [name for name in old.column_names if name in new.column_names and _differ(new[name], old[name])]
    return "records equal" if not differing else f"DIFFER in {', '.join(differing)}"


def _differ(new: pa.ChunkedArray, old: pa.ChunkedArray) -> bool:
    pairs = zip(new.to_pylist(), old.to_pylist(), strict=True)
    return any(one != other for one, other in pairs if other is not None)


if __name__ == "__main__":
    bench()
