"""One page of HTML about a finished run: it needs no network, no script and no other file."""

from __future__ import annotations

import importlib.resources
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from emulator.accounting.records import Records
from emulator.accounting.runfolder import FinishedRun
from emulator.files import write_data
from emulator.metrics.catalogue import METRICS, Metric
from emulator.metrics.jobs import THRESHOLD, bounded_slowdown, column, wait
from emulator.metrics.summary import summarise
from emulator.report.caption import About, caption, is_finished, is_oracle, table
from emulator.report.inline import inline_svg
from emulator.report.numbers import UNKNOWN, duration_text, instant_text, printable, seconds_text, value_text
from slurm_sim_plugins.manager import named

HEADLINES = ("mean_wait", "mean_bounded_slowdown", "utilisation", "mean_queue_length", "makespan")
"""Metrics that stand large at the top."""
LONGEST = 15
"""Jobs in the table of the longest waits."""


@dataclass(frozen=True)
class Shown:
    """A metric as it stands on the page: its value, and the same in another form."""

    metric: Metric
    value: str
    more: str


@dataclass(frozen=True)
class Picture:
    """A plot, or why there is none; ``svg`` is safe to put into the page as it is."""

    svg: str
    text: str
    note: str = ""


def write_page(run: FinishedRun, path: Path) -> None:
    """Write the page about a run.

    Args:
        run: what was left of it.
        path: the file; it is replaced if it is there.

    Raises:
        OutputError: it cannot be written.
    """
    write_data(path, page(run).encode("utf-8", errors="replace"))


def page(run: FinishedRun) -> str:
    """The page as text; the same run gives the same text."""
    import jinja2

    template = importlib.resources.files("emulator.report").joinpath("page.html.j2").read_text(encoding="utf-8")
    # All that comes from traces and configurations is escaped, here and nowhere else.
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(template).render(_content(run)) + "\n"


def _content(run: FinishedRun) -> dict[str, Any]:
    about, records = run.about, run.records
    workload = table(about, "workload")
    shown = [_shown(METRICS[key], value) for key, value in summarise(records).items()]
    return {
        "label": printable(table(about, "run").get("label", "run")),
        "name": printable(workload.get("name", "")),
        "caption": caption(about),
        "warning": is_oracle(about) or not is_finished(about),
        "headlines": [each for each in shown if each.metric.key in HEADLINES],
        "groups": _grouped(shown),
        "threshold": f"{THRESHOLD:g}",
        "pictures": _pictures(records),
        "waits": _longest_waits(records),
        "machine": _machine(records),
        "options": _pairs(table(about, "simulation")),
        "plugins": list(_plugins(about)),
        "workload": _pairs({key: value for key, value in workload.items() if key not in ("dropped", "changed")}),
        "notices": [*_notices(workload, "dropped"), *_notices(workload, "changed")],
        "run": _pairs({key: value for key, value in table(about, "run").items() if key != "label"}),
    }


def _shown(metric: Metric, value: float) -> Shown:
    long = metric.unit == "s" and value >= 60
    unit = " s" if metric.unit == "s" and np.isfinite(value) else ""
    return Shown(metric, value_text(metric, value) + unit, duration_text(value) if long else "")


def _grouped(shown: Sequence[Shown]) -> dict[str, list[Shown]]:
    groups: dict[str, list[Shown]] = {}
    for each in shown:
        groups.setdefault(each.metric.group, []).append(each)
    return groups


def _pictures(records: Records) -> list[Picture]:
    from emulator.report import plots

    drawn = {
        "use": (plots.utilisation(records), "Processors in use over time"),
        "queue": (plots.queue_length(records), "Jobs waiting over time"),
        "size": (plots.waits_by_size(records), "Wait by size of the job"),
        "gantt": (plots.gantt(records), "Which runs held how many processors over time"),
    }
    return [_picture(name, figure, text, len(records)) for name, (figure, text) in drawn.items()]


def _picture(name: str, figure: Any, text: str, jobs: int) -> Picture:
    from markupsafe import Markup

    from emulator.report import plots

    if figure is None:
        most = f"{plots.GANTT_JOBS:,}"
        return Picture("", text, f"No Gantt chart: with {jobs:,} jobs it would show nothing (limit {most} jobs).")
    svg = inline_svg(plots.picture_bytes(figure, "svg", transparent=True), name, text)
    note = "The machine counts processors: where a bar lies says nothing, its height and length do."
    return Picture(Markup(svg), text, note if name == "gantt" else "")  # noqa: S704 - of our own making


def _longest_waits(records: Records) -> dict[str, Any]:
    """The jobs that waited longest, as texts."""
    waits, slowdowns = wait(records), bounded_slowdown(records)
    ids = np.asarray(records.jobs["job_id"])
    order = np.lexsort((ids, -np.nan_to_num(waits, nan=-1.0)))[:LONGEST]
    order = order[np.nan_to_num(waits[order], nan=0.0) > 0]
    unit = "s" if records.epoch is None else "UTC"
    head = [
        "job",
        f"submitted ({unit})",
        f"started ({unit})",
        "wait",
        "run",
        "limit",
        "processors",
        "slowdown",
        "state",
    ]
    users = records.jobs.get("user")
    rows = []
    for job in order.tolist():
        rows.append(
            [
                str(ids[job]),
                instant_text(float(column(records, "submit")[job]), records.epoch),
                instant_text(float(column(records, "start")[job]), records.epoch),
                *(duration_text(float(values[job])) for values in (waits, column(records, "run"))),
                duration_text(float(column(records, "time_limit")[job])),
                f"{records.jobs['processors'][job]:,}",
                f"{slowdowns[job]:,.1f}",
                _state(records, job),
            ]
        )
        if users is not None:
            rows[-1].append(UNKNOWN if users[job] in (-1, None) else printable(users[job]))
    return {"head": head if users is None else [*head, "user"], "rows": rows}


def _state(records: Records, job: int) -> str:
    words = [str(records.jobs["state"][job]).lower()]
    if records.jobs["backfilled"][job]:
        words.append("backfilled")
    if records.jobs["requeues"][job]:
        words.append(f"requeues: {records.jobs['requeues'][job]}")
    return printable(", ".join(words))


def _machine(records: Records) -> list[tuple[str, str]]:
    pairs = [("processors", f"{records.processors:,}")]
    if records.epoch is not None:
        pairs.append(("second 0 of the trace", f"{instant_text(0, records.epoch)} UTC (Unix time {records.epoch})"))
    if len(records):
        submit = column(records, "submit")
        first, last = (instant_text(float(each), records.epoch) for each in (submit.min(), submit.max()))
        unit = "UTC" if records.epoch is not None else "s on the trace's clock"
        pairs.append(("submissions", f"{first} to {last} {unit}"))
    return pairs


def _pairs(values: About) -> list[tuple[str, str]]:
    """Keys and values of a table of ``run.toml`` as texts."""
    return [(printable(key).replace("_", " "), _text(value)) for key, value in values.items()]


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return seconds_text(value) if abs(value) >= 10_000 else f"{value:g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{printable(key)} = {_text(item)}" for key, item in value.items()) or "none"
    if isinstance(value, list | tuple):
        return ", ".join(_text(item) for item in value) or "none"
    return printable(value) or UNKNOWN


def _plugins(about: About) -> Iterator[dict[str, str]]:
    """The plugin of each slot, then plugins that no slot names."""
    slots, plugins = table(about, "slots"), table(about, "plugins")
    pairs = [(str(slot), plugin) for slot, value in slots.items() for plugin in named(slot, str(value))]
    pairs += [("", str(plugin)) for plugin in plugins if plugin not in {plugin for _, plugin in pairs}]
    for slot, plugin in pairs:
        facts = table(plugins, plugin)
        digest = printable(facts.get("sha256", ""))
        yield {
            "slot": printable(slot) or UNKNOWN,
            "plugin": printable(plugin),
            "options": _text(facts.get("options", {})),
            "origin": printable(facts.get("origin", "")) or UNKNOWN,
            "sha256": digest,
            "oracle": "oracle" if facts.get("oracle") else "",
        }


def _notices(workload: About, kind: str) -> Iterator[dict[str, str]]:
    """What was dropped or changed, and why."""
    notices = workload.get(kind)
    for notice in notices if isinstance(notices, list | tuple) else []:
        if isinstance(notice, Mapping):
            count = notice.get("count", UNKNOWN)
            yield {
                "kind": kind,
                "count": f"{count:,}" if isinstance(count, int) else printable(count),
                "reason": printable(notice.get("reason", "")),
                "first": printable(notice.get("first", "")),
            }
