"""The papers on PV-EASY: their tables 1, 2 and 4 to 11, and the claims of their figures.

Source: Yuan, Wu, Zheng and Li, Guarantee strict fairness and utilize prediction better in
parallel job scheduling, IEEE TPDS 25(7), 2014 (journal); the same authors' conference paper
of 2010, whose table 4 counts backfilled and blocked jobs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from emulator.campaign import Outcome, RunSpec
from emulator.config.experiment import read_experiment
from emulator.config.options import Config
from emulator.config.preemption import Preemption
from emulator.config.presets import preset
from slurm_sim_studies.papers.cells import Cell
from slurm_sim_studies.papers.logs import find_logs
from slurm_sim_studies.papers.measure import measure
from slurm_sim_studies.papers.readings import Reading, key_of
from slurm_sim_studies.papers.values import values_of

COSTS = (60, 120, 180)
ERRORS = (0.0, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0)
"""Largest errors of the virtual predictor."""


@dataclass(frozen=True)
class Study:
    """A workload of the papers.

    Attributes:
        name: what they call it.
        file: the trace in the Parallel Workloads Archive.
        processors: of the machine as they have it.
    """

    name: str
    file: str
    processors: int


STUDIES = (
    Study("CTC", "CTC-SP2-1996-3.1-cln.swf.gz", 430),
    Study("SDSC-BLUE", "SDSC-BLUE-2000-4.2-cln.swf.gz", 1152),
    Study("SDSC-DS", "SDSC-DS-2004-2.1-cln.swf.gz", 1664),
)


def find_traces(folder: Path, names: Sequence[str] = ()) -> dict[str, Path]:
    """The traces of the studies, in a folder or its subfolder ``swf``.

    Args:
        folder: where they lie.
        names: of the studies wanted; all by default.

    Raises:
        ConfigurationError: a study that there is not.
        InputError: a trace is not there.
    """
    return find_logs(folder, {study.name: f"swf/{study.file}" for study in STUDIES}, names)


def specs(traces: Mapping[str, Path], runs: Iterable[str], reading: Reading | None = None) -> list[RunSpec]:
    """The runs to make.

    Args:
        traces: by name of the study.
        runs: ``easy``, ``easy_last``, ``pv``, ``cp60`` ... as in the table of values, or
            ``virtual:SCHEDULER:ERROR:REPETITION``.
        reading: answers to what the papers leave open; by default as in the presets.
    """
    processors = {study.name: study.processors for study in STUDIES}
    return [
        RunSpec(
            f"{name}/{run}",
            trace,
            config_of(run, processors[name], reading),
            measure,
            reading_options(run, reading),
            coordinates=_coordinates(name, run),
        )
        for name, trace in traces.items()
        for run in runs
    ]


def _coordinates(study: str, run: str) -> dict[str, Any]:
    """Where a run stands in the campaign; draws of the virtual predictor are repetitions."""
    policy, _, repetition = run.rpartition(":") if run.startswith("virtual:") else (run, "", "0")
    return {"workload": study, "policy": policy, "seed": int(repetition)}


def reading_options(run: str, reading: Reading | None = None) -> dict[str, Any]:
    """How the trace of a run is read."""
    stated = dict(read_experiment(preset(_preset_of(run))).reading)
    return stated if reading is None else {**stated, "filter": reading.filter}


def config_of(run: str, processors: int, reading: Reading | None = None) -> Config:
    """The configuration of a run."""
    study = read_experiment(preset(_preset_of(run)))
    options = {name: dict(values) for name, values in study.plugins.items()}
    preemption_options = dict(study.preemption)
    if run[:2] in ("cp", "vm"):
        preemption_options["cost"] = float(run[2:])
    config = Config(
        processors=processors,
        slots=dict(study.slots),
        plugin_options=options,
        preemption=Preemption(**preemption_options),
        **study.simulation,
    )
    if run.startswith("virtual:"):
        _, scheduler, error, repetition = run.split(":")
        config = _virtual(scheduler, float(error), int(repetition), processors)
    return config if reading is None else _read_as(config, reading)


def _preset_of(run: str) -> str:
    name = {"pv": "pv_easy", "cp": "cp_pv_easy", "vm": "vm_pv_easy"}.get(run.rstrip("0123456789"), run)
    return f"papers/{'pv_easy' if name.startswith('virtual:') else name}"


def _virtual(scheduler: str, error: float, repetition: int, processors: int) -> Config:
    """A scheduler with the virtual predictor, for figure 4."""
    base = config_of("pv" if scheduler == "pv" else "easy", processors)
    slots = {**base.slots, "WalltimeType": "walltime/virtual"}
    if scheduler == "sjf":
        slots["BackfillType"] = "backfill/sjf"
    options = {name: values for name, values in base.plugin_options.items() if not name.startswith("walltime/")}
    return replace(base, slots=slots, plugin_options={**options, "walltime/virtual": {"error": error}}, seed=repetition)


def _read_as(config: Config, reading: Reading) -> Config:
    """A configuration under another reading; options go to the plugins that are selected."""
    answers: dict[str, dict[str, Any]] = {
        "sched/easy": {"reservation": reading.reservation},
        "sched/venture": {
            "single_head": reading.single_head,
            "extra": reading.extra,
            "restart": reading.restart,
        },
        "preempt/shadow_load": {"trim": reading.trim},
        "walltime/last_model": {
            "last": reading.last,
            "refresh": reading.refresh,
            "outlived": reading.outlived,
        },
    }
    options = {name: dict(values) for name, values in config.plugin_options.items()}
    for name in config.slots.values():
        if name in answers:
            options[name] = {**options.get(name, {}), **answers[name]}
    changed = config.preemption
    if changed.mode == "CHECKPOINT":
        changed = replace(changed, restart_cost=changed.cost if reading.restart_cost else 0.0)
    return replace(
        config,
        plugin_options=options,
        preemption=changed,
        kill_at_limit=reading.kill_at_limit,
        expired=reading.expired,  # type: ignore[arg-type]
        passes=reading.passes,  # type: ignore[arg-type]
    )


@dataclass(frozen=True)
class Row:
    """One row of a table of the papers."""

    paper: str
    table: int
    title: str
    run: str
    metric: str
    values: Mapping[str, tuple[float, ...]]


@cache
def rows() -> tuple[Row, ...]:
    """All rows that the papers print numbers in."""
    data = values_of("pv_easy")
    found = []
    for table in data["table"]:
        for row in table["rows"]:
            printed = zip(row["values"], row.get("also", row["values"]), strict=True)
            values = {
                study.name: tuple(dict.fromkeys(map(float, pair))) for study, pair in zip(STUDIES, printed, strict=True)
            }
            found.append(Row(table["paper"], table["number"], table["title"], row["run"], row["metric"], values))
    return tuple(found)


def cells(outcomes: Iterable[Outcome], tables: Sequence[int] = (), reading: Reading | None = None) -> list[Cell]:
    """The papers' cells beside ours, for the runs that were made.

    Args:
        outcomes: named ``STUDY/RUN``.
        tables: of these tables only.
        reading: how to count; by default as :class:`Reading` does.
    """
    reading = reading or Reading()
    numbers = {outcome.name: outcome.numbers for outcome in outcomes}
    found = []
    for row in rows():
        if tables and row.table not in tables:
            continue
        for study, printed in row.values.items():
            made = numbers.get(f"{study}/{row.run}")
            if made is not None:
                missing = 0.0 if row.metric.endswith("_jobs") else math.nan
                ours = made.get(key_of(row.metric, reading), missing)
                title = f"{row.run} {row.metric}"
                found.append(Cell(row.paper, row.table, row.title, title, study, printed, ours))
    return found


def options() -> dict[str, Any]:
    """How the presets read what the papers leave open, and how the traces are read."""
    return {"processors": "430, 1152, 1664", **asdict(Reading())}


def runs_of(tables: Sequence[int] = ()) -> list[str]:
    """The runs that some tables need; those of all by default."""
    return list(dict.fromkeys(row.run for row in rows() if not tables or row.table in tables))
