"""The runs of a page: folders of runs, and folders of campaigns with all of theirs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from emulator.accounting.runfolder import FinishedRun, read_run
from emulator.campaign.results import RunState, run_records, survey
from emulator.campaign.store import MARK
from emulator.metrics.summary import summarise
from emulator.report.caption import table
from emulator.report.numbers import printable
from slurm_sim_plugins.errors import InputError


@dataclass(frozen=True)
class Source:
    """A run of the page.

    Attributes:
        workload, policy: where it stands in the matrix.
        seed: tells repetitions apart.
        metrics: by key; NaN for unknown.
        about: the content of ``run.toml``, as far as it is known.
        run: all of it; None where a campaign kept its numbers only.
        place: the folder, as it was named.
        folder: where event log and cluster of the run lie; None if it was left in no folder.
        told: whether the event log there is of this run.
    """

    workload: str
    policy: str
    seed: object
    metrics: Mapping[str, float]
    about: Mapping[str, Any]
    run: FinishedRun | None = None
    place: str = ""
    folder: Path | None = None
    told: bool = True


@dataclass(frozen=True)
class Sources:
    """The runs of a page, and what is to be said of those that are missing.

    Attributes:
        runs: in their order.
        notes: sentences.
        baseline: the policy that a campaign compares with; empty if none says so.
    """

    runs: Sequence[Source]
    notes: Sequence[str] = field(default=())
    baseline: str = ""


def read_sources(folders: Sequence[Path]) -> Sources:
    """Read folders of runs and of campaigns.

    Raises:
        InputError: one is neither, or damaged, or no run of any is finished.
    """
    found: list[Source] = []
    notes: list[str] = []
    baseline = ""
    for folder in folders:
        if (folder / MARK).exists():
            runs, lacking, stated = _campaign(folder)
            found, notes, baseline = [*found, *runs], [*notes, *lacking], baseline or stated
        else:
            found.append(source_of(read_run(folder), folder))
    if not found:
        raise InputError(f"{', '.join(map(str, folders))}: no run is finished; nothing can be shown")
    return Sources(told_apart(found), notes, baseline)


def source_of(run: FinishedRun, folder: Path | None = None, told: bool = True) -> Source:
    """A run, with the folder that it was left in, if it was; ``told`` if the event log there is of this run."""
    workload = printable(table(run.about, "workload").get("name", ""))
    seed = table(run.about, "simulation").get("seed", 0)
    place = str(folder or "") if told else ""
    return Source(workload, printable(run.label), seed, summarise(run.records), run.about, run, place, folder, told)


def told_apart(sources: Sequence[Source]) -> list[Source]:
    """Runs of one policy, workload and seed get the names of their folders."""
    cases = Counter((each.workload, each.policy, str(each.seed)) for each in sources)
    alike = {case[:2] for case, count in cases.items() if count > 1}
    return [
        replace(each, policy=f"{each.policy} ({printable(each.place)})")
        if (each.workload, each.policy) in alike
        else each
        for each in sources
    ]


def _campaign(folder: Path) -> tuple[list[Source], list[str], str]:
    """Its finished runs, what is said of the others, and its baseline."""
    found = survey(folder)
    name = printable(found.about.get("campaign", folder.name))
    lacking = [f"{name}: {printable(run.name)} is {run.state}" for run in found.runs if run.state != "done"]
    runs = [_of_campaign(folder, run) for run in found.runs if run.state == "done"]
    return runs, lacking, printable(found.about.get("baseline") or "")


def _of_campaign(folder: Path, run: RunState) -> Source:
    where = {name: value for name, value in run.coordinates.items() if name not in ("workload", "policy")}
    workload = printable(run.coordinates.get("workload", ""))
    policy = printable(run.coordinates.get("policy", run.name))
    metrics = {key: value if math.isfinite(value) else math.nan for key, value in run.numbers.items()}
    about: dict[str, Any] = {
        "run": {"label": policy, "status": "finished"},
        "workload": {"name": workload},
        "simulation": {name: "" if value is None else value for name, value in where.items()},
    }
    records = run_records(folder, run.run)
    if records is not None:
        about["machine"] = {"processors": records.processors}
    finished = FinishedRun(records, about, folder) if records is not None else None
    return Source(workload, policy, where.get("seed", 0), metrics, about, finished)
