"""What made a run, as texts: machine, options, plugins, workload, and what was left out or changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from emulator.accounting.records import Records
from emulator.metrics.jobs import column
from emulator.report.caption import About, caption, is_finished, is_oracle, table
from emulator.report.numbers import UNKNOWN, instant_text, printable, seconds_text
from slurm_sim_plugins.manager import named


def facts_of(about: About, records: Records | None) -> dict[str, Any]:
    """All of it, for the template, which escapes it.

    Args:
        about: the content of ``run.toml``.
        records: of the run; None where none were kept.
    """
    workload = table(about, "workload")
    return {
        "name": printable(workload.get("name", "")),
        "caption": caption(about),
        "warning": is_oracle(about) or not is_finished(about),
        "machine": _machine(records) if records is not None else [],
        "options": _pairs(table(about, "simulation")),
        "plugins": list(_plugins(about)),
        "workload": _pairs({key: value for key, value in workload.items() if key not in ("dropped", "changed")}),
        "notices": [*_notices(workload, "dropped"), *_notices(workload, "changed")],
        "run": _pairs({key: value for key, value in table(about, "run").items() if key != "label"}),
    }


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
