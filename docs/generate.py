"""Write the parts of the documentation that the code already says.

``python docs/generate.py`` writes ``hooks.md``, ``records.md`` and ``metrics.md`` beside
this file; with ``--check`` it only says whether they are up to date.
"""

from __future__ import annotations

import inspect
import sys
from pathlib import Path

from emulator.accounting.records import JOB_COLUMNS, RUN_COLUMNS
from emulator.metrics.catalogue import METRICS
from slurm_sim_plugins.hookspecs import DEFAULTS, SLOTS, SPECS

HERE = Path(__file__).parent


def hooks() -> str:
    """The hook reference: the specifications, in their order."""
    parts = ["# Hooks\n", inspect.getdoc(sys.modules["slurm_sim_plugins.hookspecs"]) or ""]
    parts.append("\n\n| slot | plugins | default |\n|---|---|---|")
    parts += [f"\n| `{slot}` | `{kind}/...` | `{DEFAULTS[slot]}` |" for slot, kind in SLOTS.items()]
    for kind, spec in SPECS.items():
        parts.append(f"\n\n## {kind}\n\n{inspect.getdoc(spec)}")
        for name, hook in vars(spec).items():
            if name.startswith("_"):
                continue
            signature = inspect.signature(hook)
            own = signature.replace(parameters=list(signature.parameters.values())[1:])
            parts.append(f"\n\n### {name}\n\n```python\ndef {name}{_unquoted(own)}\n```\n\n{_paragraphs(hook)}")
    return "".join(parts) + "\n"


def records() -> str:
    """The columns of the records."""
    return (
        "# Job records and the run folder\n\n"
        "`slurm-sim run --out DIR` leaves a folder: `records.parquet` (one row a job), `runs.parquet` (one row a run\n"
        "of a job), `events.jsonl` (what happened, in order) and `run.toml` (options, versions, hashes of trace and\n"
        "plugin sources, what was dropped). The same input gives the same bytes. Times are seconds on the trace's\n"
        "clock; in one file all of them are whole numbers if every one is, else all are fractional.\n\n"
        "## records.parquet\n\n" + _rows(JOB_COLUMNS) + "\n\n## runs.parquet\n\n" + _rows(RUN_COLUMNS) + "\n"
    )


def metrics() -> str:
    """What the metrics mean."""
    lines = ["# Metrics\n\nPure functions of the records. `--warm-up` and `--threshold` are as said in `--help`.\n"]
    lines.append("\n| key | title | unit | meaning | source |\n|---|---|---|---|---|")
    for metric in METRICS.values():
        cells = (f"`{metric.key}`", metric.title, metric.unit, metric.definition, metric.source)
        lines.append("\n| " + " | ".join(cells) + " |")
    return "".join(lines) + "\n"


def _unquoted(signature: inspect.Signature) -> str:
    return str(signature).replace("'", "")


def _paragraphs(hook: object) -> str:
    """The docstring, each labelled part a paragraph of its own."""
    labels = ("Called:", "Answers:", "None:", "Rejected:", "Cost:", "Mirrors:", "Port class:")
    lines = []
    for line in (inspect.getdoc(hook) or "").splitlines():
        label = next((label for label in labels if line.startswith(label)), None)
        lines.append(f"\n**{label}**{line[len(label) :]}" if label else line)
    return "\n".join(lines).replace(":class:", "")


def _rows(columns: dict[str, str]) -> str:
    return "\n".join(
        ["| column | meaning |", "|---|---|", *(f"| `{name}` | {text} |" for name, text in columns.items())]
    )


PAGES = {"hooks.md": hooks, "records.md": records, "metrics.md": metrics}


def main() -> int:
    """Write the pages, or check them."""
    stale = [name for name, page in PAGES.items() if _current(name) != page()]
    if "--check" in sys.argv:
        for name in stale:
            sys.stderr.write(f"docs/{name} is not what the code says; run python docs/generate.py\n")
        return 1 if stale else 0
    for name in stale:
        (HERE / name).write_text(PAGES[name](), encoding="utf-8")
    return 0


def _current(name: str) -> str:
    path = HERE / name
    return path.read_text(encoding="utf-8") if path.exists() else ""


if __name__ == "__main__":
    sys.exit(main())
