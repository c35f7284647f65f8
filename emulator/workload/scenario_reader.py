"""Reads recorded scenarios (:mod:`emulator.workload.scenario`)."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from emulator.config.operation import SCRIPTS, Operation
from emulator.config.slurm.duration import limit_seconds
from emulator.config.slurm.hostlist import expand
from emulator.config.slurm.location import Location
from emulator.config.slurm.releases import NEWEST, OLDEST
from emulator.files import read_input
from emulator.kinds import SCENARIO, reads
from emulator.workload.sbatch import BatchOptions, parse_sbatch
from emulator.workload.scenario import (
    FILES_BESIDE,
    NOT_SUBMITTED,
    Action,
    Command,
    Observation,
    Outcome,
    Query,
    Recorded,
    RecordedRun,
    Rejection,
    Scenario,
    Submission,
    Varying,
)
from emulator.workload.yaml_tree import LARGEST_NUMBER, Fields, Tree
from slurm_sim_plugins.errors import ConfigurationError, InputError

T = TypeVar("T")

LARGEST_FILE = 16
"""MiB; no recording is larger."""
_SLURM = re.compile(r"Slurm (\d\d\.\d\d[.\d]*\d)\b")
"""How a note begins that says the version."""
INFO = "INFO {"
"""How a note begins whose rest is what ``squeue`` knew of a job, as JSON."""


@reads(SCENARIO)
def read_scenario(path: str | os.PathLike[str]) -> Scenario:
    """Read a scenario.

    Raises:
        ConfigurationError: PyYAML is not installed.
        InputError: it cannot be read, or is no scenario (with file and line).
    """
    path = Path(path)
    return _scenario(Tree.of(read_input(path, LARGEST_FILE, "no scenario is"), str(path)))


def _scenario(tree: Tree) -> Scenario:
    recorded = ("timeline", "expected", "rejected", "queries", "cluster_events", "noise")
    done = ("scenario", "note", "slurm_conf", "operation", "sacctmgr", "jobs", "actions", "sweep_phase")
    how = (
        "slurm_version",
        "speed",
        "repeats",
        "uptime",
        "backfill",
        "decay",
        "second",
        "rounds",
        "rounds_seen",
        "glances",
        "glances_seen",
        "overhead",
        "outlasted",
        "cleared",
        "said_clear",
    )
    fields = tree.fields("a scenario", *done, *FILES_BESIDE, *how, *recorded)
    name, note = fields.need("scenario", Tree.text), fields.need("note", Tree.text)
    said = _SLURM.match(note)
    # Those that do not say it are older than the key.
    version = said[1] if said else OLDEST if any(name in fields for name in recorded) else NEWEST
    submissions = _unlike(fields.need("jobs", _each(_submission)))
    keys = {key for job in submissions for key in job.keys}
    cleared = fields.get("cleared", _of_runs(keys, _second_if_known)) or MappingProxyType({})
    return Scenario(
        source=tree.location.file,
        name=name,
        note=note,
        slurm_conf=fields.need("slurm_conf", Tree.text),
        **{name: fields.get(name, Tree.text) for name in FILES_BESIDE},
        operation=fields.get("operation", _operation) or Operation(),
        accounting=fields.get("sacctmgr", _each(_command)),
        submissions=submissions,
        actions=fields.get("actions", _each(_action)),
        sweep_phase=fields.get("sweep_phase", Tree.second),
        uptime=fields.get("uptime", Tree.second),
        backfill=fields.get("backfill", Tree.second),
        decay=fields.get("decay", _before),
        second=fields.get("second", Tree.second) or 0.0,
        rounds=fields.get("rounds", _rounds),
        rounds_seen=fields.get("rounds_seen", _seen("rounds" in fields)) or (),
        glances=fields.get("glances", _rounds),
        glances_seen=fields.get("glances_seen", _seen("glances" in fields)) or (),
        overhead=fields.get("overhead", Tree.second),
        outlasted=fields.get("outlasted", _of_runs(keys, _second_if_known)) or MappingProxyType({}),
        cleared=cleared,
        said_clear=fields.get("said_clear", _of_runs(cleared, _flag_if_known, "in cleared")) or MappingProxyType({}),
        slurm_version=fields.get("slurm_version", Tree.text) or version,
        recorded=Recorded(
            timeline=fields.get("timeline", _by_key(_each(_observation))),
            expected=fields.get("expected", _by_key(_outcome)),
            rejected=fields.get("rejected", _each(_rejection)),
            queries=fields.get("queries", _each(_query)),
            cluster_events=fields.get("cluster_events", _each(_at)),
            noise=fields.get("noise", _each(_varying)) or (),
        ),
    )


TAKE_TIME = (*SCRIPTS.values(), "resume_time")
"""Options of a scenario's ``operation``."""


def _operation(tree: Tree) -> Operation:
    fields = tree.fields("operation", *TAKE_TIME)
    try:
        return Operation(**{name: fields.get(name, Tree.second) or 0.0 for name in TAKE_TIME})  # type: ignore[arg-type]
    except ConfigurationError as error:
        raise fields.error(str(error)) from None


def _second_if_known(tree: Tree) -> float | None:
    return None if tree.is_null() else tree.second()


def _flag_if_known(tree: Tree) -> bool | None:
    return None if tree.is_null() else tree.flag()


def _rounds(tree: Tree) -> tuple[float, float]:
    first, period = (one.second() for one in tree.row("rounds", 2, 2))
    if not 1 <= period < 2:
        raise tree.error(f"a round of a thread takes a second and a little, not {period:g} s")
    return first, period


def _before(tree: Tree) -> float:
    """Seconds for which a thread had run when the recording started."""
    value = tree.second()
    if value < 0:
        raise tree.error("the thread ran before the recording started: it is 0 or more")
    return value


def _seen(known: bool) -> Callable[[Tree], tuple[float, ...]]:
    """Times at which a thread went round, ascending; they refine rounds that are known."""

    def checked(tree: Tree) -> tuple[float, ...]:
        if not known:
            raise tree.error("rounds that were seen have no effect without rounds or glances, the length of one")
        times = _each(Tree.second)(tree)
        if any(later < earlier for earlier, later in pairwise(times)):
            raise tree.error("rounds that were seen come one after the other: their times ascend")
        return times

    return checked


def _each(read: Callable[[Tree], T]) -> Callable[[Tree], tuple[T, ...]]:
    return lambda tree: tuple(read(item) for item in tree.items())


def _by_key(read: Callable[[Tree], T]) -> Callable[[Tree], Mapping[str, T]]:
    return lambda tree: MappingProxyType({name: read(value) for name, value in tree.mapping().items()})


def _of_runs(
    keys: Collection[str], read: Callable[[Tree], T], where: str = "a job, a task or a component"
) -> Callable[[Tree], Mapping[str, tuple[T, ...]]]:
    """What is known of the runs of each of some keys."""

    def checked(tree: Tree) -> Mapping[str, tuple[T, ...]]:
        for key, value in tree.mapping().items():
            if key not in keys:
                raise value.error(f"{key!r} is not {where}")
        return _by_key(_each(read))(tree)

    return checked


def _priority(text: str) -> None:
    if not (text.isdecimal() and int(text[:20]) < LARGEST_NUMBER):
        raise ValueError(f"{text!r} is no priority, a whole number")


READ_AS: Mapping[str, Callable[[str], object]] = {
    "Priority": _priority,
    "NodeList": expand,
    "TimeLimit": limit_seconds,
}
"""How fields of an observation are read that are more than words."""


def _at(tree: Tree) -> tuple[float, str]:
    at, text = tree.row("a note", 2, 2)
    return at.second(), text.text()


def _command(tree: Tree) -> Command:
    text = tree.text()
    try:
        program, *words = shlex.split(text)
    except ValueError as error:
        raise tree.error(f"{text!r} is no command: {error}") from None
    if program not in ("scontrol", "sacctmgr", "scancel"):
        raise tree.error(f"{program!r} is neither scontrol nor sacctmgr nor scancel")
    rest = ["cancel"] * (program == "scancel") + [word for word in words if not word.startswith("-")]
    if not rest:
        raise tree.error(f"{text!r} does not say what to do")
    stated = dict(word.split("=", 1) for word in rest[1:] if "=" in word)
    return Command(
        text=text,
        program=program,
        verb=rest[0],
        words=tuple(word for word in rest[1:] if "=" not in word),
        fields=MappingProxyType(stated),
        flags=tuple(word for word in words if word.startswith("-")),
    )


def _action(tree: Tree) -> Action:
    at, command, *output = tree.row("an action", 2, 3)
    return Action(at.second(), _command(command), output[0].text() if output else None, tree.location)


def _submission(tree: Tree) -> Submission:
    fields = tree.fields(
        "a job",
        *("name", "id", "submit", "run", "sbatch", "user", "exit_code", "ignores_term"),
        *("nodes", "partition", "time_limit", "priority_requested"),
    )
    arguments = fields.get("sbatch", _each(Tree.text))
    made = arguments == (NOT_SUBMITTED,)
    job = Submission(
        name=fields.need("name", Tree.text),
        id=fields.need("id", Tree.whole),
        submit=fields.need("submit", Tree.second),
        run=fields.get("run", Tree.whole),
        arguments=arguments,
        options=BatchOptions() if made else _options(fields, arguments or (), fields.need("submit", Tree.second)),
        made=made,
        user=fields.get("user", Tree.text) or "",
        exit_code=fields.get("exit_code", Tree.whole),
        ignores_term=fields.get("ignores_term", Tree.flag),
        nodes=fields.get("nodes", Tree.whole),
        partition=fields.get("partition", Tree.text) or "",
        time_limit=fields.get("time_limit", Tree.text),
        limit_stated="time_limit" in fields,
        priority_requested=fields.get("priority_requested", Tree.whole),
        location=fields.location,
    )
    if job.submit < 0 or (job.run is not None and job.run < 0):
        raise fields.error("submit and run are 0 or more")
    return replace(job, options=_with_stated(job, fields))


def _options(fields: Fields, arguments: Sequence[str], submit: float) -> BatchOptions:
    try:
        return parse_sbatch(arguments, submit)
    except ValueError as error:
        raise fields.error(str(error)) from None


def _with_stated(job: Submission, fields: Fields) -> BatchOptions:
    """What is said beside the arguments is asked for as well; the two may not differ."""
    try:
        limit = limit_seconds(job.time_limit) if job.time_limit is not None else None
    except ValueError as error:
        raise fields.error(f"time_limit: {error}") from None
    stated: dict[str, Any] = {
        "min_nodes": job.nodes,
        "max_nodes": job.nodes,
        "partitions": tuple(job.partition.split(",")) if job.partition else None,
        "time_limit": limit,
        "priority": job.priority_requested,
    }
    stated = {name: value for name, value in stated.items() if value is not None}
    for name, value in stated.items():
        asked = getattr(job.options, name)
        if asked not in (None, (), value):
            raise fields.error(f"{name} is {value!r} and, in the arguments, {asked!r}")
    options = job.options
    if job.nodes is not None and options.min_nodes is None:
        # What sbatch makes of both, where there are fewer tasks than nodes (recorded).
        options = _options(fields, [f"-N{job.nodes}", *(job.arguments or ())], job.submit)
        stated = {name: value for name, value in stated.items() if not name.endswith("_nodes")}
    return replace(options, **stated)


def _unlike(jobs: tuple[Submission, ...]) -> tuple[Submission, ...]:
    locations: dict[int, Location] = {}
    for job in jobs:
        if job.id in locations:
            raise InputError(f"{job.location}: job {job.id} is defined already at {locations[job.id]}")
        locations[job.id] = job.location
    return jobs


def _varying(tree: Tree) -> Varying:
    fields = tree.fields("an item of noise", "job", "what", "reason")
    return Varying(*(fields.need(name, Tree.text) for name in ("job", "what", "reason")))


def _rejection(tree: Tree) -> Rejection:
    fields = tree.fields("a rejection", "name", "at", "sbatch", "user", "error")
    arguments = fields.need("sbatch", _each(Tree.text))
    try:
        options = parse_sbatch(arguments)
    except ValueError:
        # Nor could Slurm; that may be why it was refused.
        options = None
    return Rejection(
        name=fields.need("name", Tree.text),
        at=fields.need("at", Tree.second),
        arguments=arguments,
        options=options,
        user=fields.get("user", Tree.text) or "",
        error=fields.need("error", Tree.text),
        location=fields.location,
    )


def _observation(tree: Tree) -> Observation:
    at, seen = tree.row("an observation", 2, 2)
    if seen.is_mapping():
        texts = {name: value.read_as(READ_AS.get(name, str)) for name, value in seen.mapping().items()}
        return Observation(at.second(), MappingProxyType(texts), "")
    note = seen.read_as(_info)
    return Observation(at.second(), MappingProxyType({}), note, _info(note))


def _info(note: str) -> Mapping[str, Any]:
    if not note.startswith(INFO):
        return MappingProxyType({})
    try:
        info = json.loads(note[INFO.index("{") :])
        start = info.get("StartTime")
        if not isinstance(start, int | float) or abs(start) <= LARGEST_NUMBER:
            return MappingProxyType(dict(info))
    except (ValueError, AttributeError, RecursionError) as error:
        raise ValueError(f"what follows INFO is no object in JSON: {error}") from error
    raise ValueError(f"StartTime is {start!r}")


def _outcome(tree: Tree) -> Outcome:
    fields = tree.fields("an outcome", "name", "state", "runs", "reasons")
    return Outcome(
        name=fields.need("name", Tree.text),
        state=fields.need("state", Tree.text),
        runs=fields.need("runs", _each(_run)),
        reasons=fields.get("reasons", _each(_at)),
    )


def _run(tree: Tree) -> RecordedRun:
    fields = tree.fields("a run", "start", "end", "end_state", "nodes", "alloc", "partition", "timelimit")
    return RecordedRun(
        start=fields.need("start", Tree.second),
        end=fields.get("end", Tree.second),
        end_state=fields.get("end_state", Tree.text) or "",
        nodes=fields.need("nodes", _hosts),
        alloc=fields.get("alloc", Tree.text) or "",
        partition=fields.get("partition", Tree.text) or "",
        time_limit=fields.get("timelimit", _limit) or "",
    )


def _hosts(tree: Tree) -> str:
    return tree.read_as(expand)


def _limit(tree: Tree) -> str:
    return tree.read_as(lambda text: text and limit_seconds(text))


def _query(tree: Tree) -> Query:
    fields = tree.fields("a query", "at", "query", "out")
    command = fields.need("query", lambda tree: tree.read_as(shlex.split))
    return Query(fields.need("at", Tree.second), command, fields.need("out", Tree.text))


def scenario_files(folder: str | os.PathLike[str]) -> list[Path]:
    """The files of all scenarios of a folder, by name.

    Raises:
        InputError: a folder without any.
    """
    files = sorted(Path(folder).glob("*.yaml"))
    if not files:
        raise InputError(f"{folder}: holds no scenario (*.yaml)")
    return files


def read_scenarios(folder: str | os.PathLike[str]) -> Iterator[Scenario]:
    """All scenarios of a folder, by name.

    Raises:
        ConfigurationError: PyYAML is not installed.
        InputError: a file that cannot be read or is no scenario, or a folder without any.
    """
    return map(read_scenario, scenario_files(folder))
