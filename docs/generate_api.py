"""Writes the page ``api.md``: every public name, from the docstrings."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from typing import Any, get_args

import slurm_sim_plugins
import slurm_sim_plugins.testing

HEAD = """# API

All that may be imported, made from the docstrings by `docs/generate.py`. What is not on this page may change without
notice. [Hooks](hooks.md) says which hook gets which view; [testing](testing.md) shows the kit at work.

| from | what |
|---|---|
| `slurm_sim_plugins` | what a plugin imports: views, the plan, decisions, errors |
| `slurm_sim_plugins.testing` | scenes in a line or two, and single calls of a hook |
| `emulator` | simulations, workloads, results |
| `emulator.testing` | small simulations, whole passes, and the checks that every plugin must pass |

Times are seconds, as floats; instants count from the trace's beginning."""
GROUPS = {
    "Views": "SchedulingView View PriorityView BackfillView PreemptView VictimView SelectView WalltimeView PendingView "
    "RateView SubmitView ModifyView Oracle ClusterState",
    "Jobs, runs and the cluster": "Job Run Request Submission JobUpdate JobRecord ReservationRecord "
    "Partition Association Qos Blocks BlockState Tiers Stay",
    "The plan": "SchedulePlan WindowPlan Entry Answer Place Hole Profile earliest_start",
    "Decisions": "Decision Start Reserve MakeRoom Preempt Move Wake Pause Reject Priority Priorities Plan",
    "Errors": "SlurmSimError ConfigurationError InputError OutputError PluginError",
    "Marking a hook": "hookimpl",
    "The version": "API",
}
"""Sections for the names of ``slurm_sim_plugins``."""
OTHERS = ("slurm_sim_plugins.testing", "emulator", "emulator.testing")
PART = re.compile(r"^(Attributes|Args|Raises|Returns|Yields|Example|Examples):$")
ROLE = re.compile(r":(?:class|func|meth|attr|mod|data|exc):`~?([^`]*)`")


def api() -> str:
    """The page."""
    sections = [HEAD]
    for title, names in GROUPS.items():
        sections.append(f"## {title}")
        sections += [_entry(getattr(slurm_sim_plugins, name), name) for name in names.split()]
    for module in map(importlib.import_module, OTHERS):
        sections.append(f"## `{module.__name__}`")
        sections += [_entry(getattr(module, name), name) for name in sorted(module.__all__, key=str.lower)]
    return "\n\n".join(sections) + "\n"


def public_names() -> set[str]:
    """The names of ``slurm_sim_plugins`` that the page has."""
    return {name for names in GROUPS.values() for name in names.split()}


def _entry(thing: Any, name: str) -> str:
    """What is said of one public name."""
    if inspect.isclass(thing):
        return "\n\n".join([f"### {name}", *_text(thing), *_inherited(thing), *_members(thing)])
    if inspect.isfunction(thing):
        return "\n\n".join([f"### {name}", _code(name, thing), *_text(thing)])
    if isinstance(thing, int):
        return f"### {name}\n\n{thing}; a plugin whose class says `api` is refused where it is another one."
    if isinstance(thing, Mapping):
        return f"### {name}\n\nA mapping with {', '.join(f'`{key}`' for key in thing)}."
    words = [str(getattr(part, "__name__", part)) for part in get_args(thing)]
    return f"### {name}\n\n" + (f"A type: {', '.join(f'`{word}`' for word in words)}." if words else "A marker.")


def _members(kind: type) -> Iterator[str]:
    """Constructor, properties and methods that a class has of its own or from a public base."""
    if is_dataclass(kind):
        given = [item for item in fields(kind) if item.init and not item.name.startswith("_")]
        if given:
            yield "```text\n" + f"{kind.__name__}({', '.join(map(_field, given))})" + "\n```"
    rows = [_row(name, member) for name, member in _own(kind) if isinstance(member, property)]
    if rows:
        yield "\n".join(["| property | meaning |", "|---|---|", *rows])
    for name, member in _own(kind):
        function = member.__func__ if isinstance(member, classmethod | staticmethod) else member
        if inspect.isfunction(function):
            yield "\n\n".join([_code(f"{kind.__name__}.{name}", function, bound=True), *_text(function)])


def _inherited(kind: type) -> Iterator[str]:
    """The attributes that the docstrings of bases name."""
    for base in kind.__mro__[1:]:
        if base.__module__.partition(".")[0] == "slurm_sim_plugins" and "__doc__" in vars(base):
            for title, lines in _parts(base):
                if title == "Attributes":
                    yield "Attributes:\n\n" + "\n".join(f"* {line}" for line in _items(lines))


def _field(item: Any) -> str:
    return item.name if item.default is MISSING and item.default_factory is MISSING else f"{item.name}=..."


def _own(kind: type) -> list[tuple[str, Any]]:
    """Public members, those of public bases before its own; a member that is stated again stands once."""
    found: dict[str, Any] = {}
    if issubclass(kind, Enum | BaseException):
        return []
    for base in reversed(kind.__mro__):
        if base.__module__.partition(".")[0] in ("emulator", "slurm_sim_plugins"):
            found |= {name: member for name, member in vars(base).items() if not name.startswith("_")}
    return list(found.items())


def _row(name: str, member: property) -> str:
    said = " ".join(_parts(member)[0][1]) if inspect.getdoc(member) else ""
    return f"| `{name}` | {said.replace('|', chr(92) + '|')} |"


def _code(name: str, function: Any, *, bound: bool = False) -> str:
    try:
        signature = inspect.signature(function)
    except ValueError:
        return f"```text\n{name}\n```"
    own = list(signature.parameters.values())[1:] if bound else list(signature.parameters.values())
    return f"```text\n{name}{_unquoted(signature.replace(parameters=own))}\n```"


def _unquoted(signature: inspect.Signature) -> str:
    return re.sub(r" at 0x[0-9a-f]+", "", str(signature).replace("'", ""))


def _text(thing: Any) -> Iterator[str]:
    """The docstring: its text, and each list of names as a list."""
    for title, lines in _parts(thing):
        if title in ("Attributes", "Args", "Raises"):
            yield f"{title}:\n\n" + "\n".join(f"* {line}" for line in _items(lines))
        elif title:
            yield f"{title}: " + " ".join(line.strip() for line in lines)
        else:
            yield "\n".join(lines)


def _parts(thing: Any) -> list[tuple[str, list[str]]]:
    """A docstring in parts; the first has no title."""
    parts: list[tuple[str, list[str]]] = [("", [])]
    for line in ROLE.sub(r"`\1`", inspect.getdoc(thing) or "").replace("``", "`").splitlines():
        if PART.match(line):
            parts.append((line[:-1], []))
        elif line and not line.startswith(" ") and parts[-1][0]:
            parts.append(("", [line]))
        else:
            parts[-1][1].append(line)
    return [(title, lines) for title, lines in ((title, _stripped(lines)) for title, lines in parts) if lines]


def _stripped(lines: list[str]) -> list[str]:
    return "\n".join(lines).strip("\n").splitlines()


def _items(lines: Iterable[str]) -> list[str]:
    """``name: text`` over one or more lines, each as one."""
    items: list[str] = []
    for line in lines:
        if line.startswith("    ") and not line.startswith("     ") and ":" in line:
            name, _, said = line.strip().partition(":")
            items.append(f"`{name}`:{said}")
        elif line.strip() and items:
            items[-1] += " " + line.strip()
    return items
