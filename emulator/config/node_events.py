"""Nodes that go down and come back, at their times, from a file.

.. code-block:: text

    # second  nodes     state   reason
    3600      n7        DOWN    kernel panic
    7200      n7        UP
    86400     n[1-8]    DRAIN   new firmware

Seconds are those of the submissions. States are ``DOWN``: the jobs on it end, and are requeued if they may be;
``DRAIN``: they end by themselves, and no other starts; ``UP``. Or it is what a site's ``sacctmgr -P show event`` has
printed, whose times need a workload that says when its second 0 was, and are in UTC if they state no zone.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from emulator.config.operation import NodeEvent
from emulator.config.slurm.hostlist import expand
from emulator.files import read_input
from emulator.kinds import NODE_EVENTS, reads
from slurm_sim_plugins.errors import InputError

STATES = ("DOWN", "DRAIN", "UP")
RECORDED = {"DOWN": "DOWN", "NOT_RESPONDING": "DOWN", "DRAIN": "DRAIN", "FAIL": "DRAIN", "UP": "UP"}
"""What the states of ``sacctmgr show event`` begin with, and what they mean here."""
NO_DATE = ("", "unknown", "none", "n/a")
LONGEST = 1e10
"""Seconds; no log is as long."""
COLUMNS = {"node": ("nodename",), "start": ("timestart", "start"), "end": ("timeend", "end"), "state": ("state",)}


@reads(NODE_EVENTS)
def read_node_events(path: str | os.PathLike[str]) -> list[NodeEvent]:
    """Read a file of node events, in the order of time; of one time those come first that end something.

    Raises:
        InputError: the file cannot be read, or a line is no event (with file and line).
    """
    file = os.fspath(path)
    lines = read_input(Path(path)).decode("utf-8", "replace").splitlines()
    head = next((line for line in lines if line.strip() and not line.lstrip().startswith("#")), "")
    found: list[NodeEvent] = []
    columns = _columns(head, file) if "|" in head else None
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#") or (columns is not None and line == head):
            continue
        location = f"{Path(file).name}:{number}"
        try:
            found += _listed(line, location) if columns is None else _recorded(line.split("|"), columns, location)
        except (InputError, ValueError, IndexError) as error:
            raise InputError(f"{file}:{number}: is no event of a node: {error}") from error
    return sorted(found, key=lambda event: (event.at, event.state != "UP"))


def _listed(line: str, location: str) -> Iterator[NodeEvent]:
    second, nodes, state, reason = [*line.split(maxsplit=3), "", "", ""][:4]
    try:
        at = float(second)
    except ValueError:
        at = math.nan
    if not abs(at) <= LONGEST:
        raise InputError(f"a line is SECOND NODES STATE REASON, and {second!r} is no second")
    if state.upper() not in STATES:
        raise InputError(f"the state is {state!r}; it is one of {', '.join(STATES)}")
    yield NodeEvent(at, tuple(expand(nodes)), state.upper(), reason.strip(), location)


def _columns(head: str, file: str) -> dict[str, int]:
    """Where each column is."""
    names = [name.strip().lower() for name in head.split("|")]
    found = {key: next((names.index(one) for one in known if one in names), -1) for key, known in COLUMNS.items()}
    missing = [key for key, index in found.items() if index < 0]
    if missing:
        raise InputError(
            f"{file}: {head!r} has no column {COLUMNS[missing[0]][0]}; sacctmgr -P show event "
            "format=nodename,timestart,timeend,state,reason prints what is needed"
        )
    return found | ({"reason": names.index("reason")} if "reason" in names else {})


def _recorded(words: list[str], columns: dict[str, int], location: str) -> Iterator[NodeEvent]:
    """What came over a node, and its end if that is known; lines without a node are of the whole cluster."""
    node, word = words[columns["node"]], words[columns["state"]].upper()
    if not node:
        return
    state = next((meaning for begin, meaning in RECORDED.items() if word.startswith(begin)), None)
    if state is None:
        raise InputError(f"the state is {word!r}; states that are known begin with {', '.join(RECORDED)}")
    reason = words[columns["reason"]] if "reason" in columns else ""
    nodes = tuple(expand(node))
    start, end = (_instant(words[columns[key]]) for key in ("start", "end"))
    if start is None:
        raise InputError("it does not say when it began")
    yield NodeEvent(start, nodes, state, reason, location, dated=True)
    if end is not None and state != "UP":
        yield NodeEvent(end, nodes, "UP", reason, location, dated=True)


def _instant(text: str) -> float | None:
    """Unix time of a date; None if it has none."""
    if text.strip().lower() in NO_DATE:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InputError(f"{text[:40]!r} is no time such as 2021-12-31T23:59:59") from None
    return (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp()
