"""Puts the page of runs together: facts as HTML, and data as compressed blocks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from emulator.accounting.cluster_records import SLURM_JOB_COLUMNS
from emulator.accounting.records import JOB_COLUMNS
from emulator.accounting.runfolder import FinishedRun
from emulator.files import write_data
from emulator.metrics.jobs import THRESHOLD
from emulator.report.numbers import printable
from emulator.report.page import assets
from emulator.report.page.blocks import Blocks, encode_table
from emulator.report.page.facts import facts_of
from emulator.report.page.matrix import matrix_of, shown
from emulator.report.page.nodes import nodes_of
from emulator.report.page.sources import Source, Sources
from emulator.report.page.stories import stories_of

HEADLINES = ("mean_wait", "mean_bounded_slowdown", "utilisation", "mean_queue_length", "makespan")
"""Metrics that stand large at the top of a run."""
STORIES = 20
"""Jobs of each run whose stories travel with the page unless stated otherwise."""


def write_page(sources: Sources, path: Path, stories: int = STORIES) -> None:
    """Write the page about some runs.

    Args:
        sources: the runs.
        path: the file; it is replaced if it is there.
        stories: so many jobs of each run are told of, those that waited longest.

    Raises:
        InputError: an event log is damaged.
        OutputError: it cannot be written.
    """
    write_data(path, page(sources, stories).encode("utf-8", errors="replace"))


def page(sources: Sources, stories: int = STORIES) -> str:
    """The page as text; the same runs give the same text."""
    return assets.render("page.html.j2", "main.js", **_content(sources, stories))


def _content(sources: Sources, stories: int) -> dict[str, Any]:
    blocks = Blocks()
    runs = sources.runs
    matrix = matrix_of(runs, sources.baseline)
    index = {
        "matrix": matrix,
        "runs": [_run(each, matrix, blocks, stories) for each in runs],
        "headlines": HEADLINES,
        "columns": {**SLURM_JOB_COLUMNS, **JOB_COLUMNS},
    }
    main = blocks.add_json(index)
    return {
        "title": _title(matrix),
        "notes": sources.notes,
        "facts": [facts_of(each.about, each.run.records if each.run else None) for each in runs],
        "metrics": matrix["metrics"],
        "threshold": f"{THRESHOLD:g}",
        "blocks": blocks.texts(),
        "index": main,
    }


def _title(matrix: dict[str, Any]) -> str:
    """Such as ``sched/easy on KTH-SP2``, or ``6 policies on 3 workloads``."""
    policies, workloads = matrix["policies"], matrix["workloads"]
    one = policies[0] if len(policies) == 1 else f"{len(policies)} policies"
    other = workloads[0] if len(workloads) == 1 else f"{len(workloads)} workloads"
    return f"{one} on {other}" if other else one


def _run(source: Source, matrix: dict[str, Any], blocks: Blocks, stories: int) -> dict[str, Any]:
    """What the script knows of a run before it decodes its columns."""
    numbers = {key: shown(key, value) for key, value in source.metrics.items()}
    known = {
        "workload": matrix["workloads"].index(source.workload),
        "policy": matrix["policies"].index(source.policy),
        "seed": printable(source.seed),
        "numbers": numbers,
        "place": printable(source.place),
    }
    return known if source.run is None else {**known, **_records(source, source.run, blocks, stories)}


def _records(source: Source, run: FinishedRun, blocks: Blocks, stories: int) -> dict[str, Any]:
    records = run.records
    nodes = nodes_of(records, source.folder)
    told = stories_of(run, source.folder, stories) if source.told else {}
    return {
        "count": len(records),
        "processors": records.processors,
        "unit": "CPUs" if run.on_cluster else "processors",
        "epoch": records.epoch,
        "jobs": encode_table(records.jobs, blocks),
        "stints": encode_table(records.runs, blocks),
        "nodes": None if nodes is None else blocks.add_json(nodes),
        "stories": blocks.add_json(told),
    }
