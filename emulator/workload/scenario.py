"""Recorded scenarios: what was done to a real Slurm, and what it did, in one YAML file each.

.. code-block:: yaml

    scenario: backfill
    note: what it is about
    slurm_conf: |            # and gres_conf, topology_conf, topology_yaml, if there are such files
      NodeName=n[1-4] CPUs=1
      PartitionName=p Nodes=ALL
    operation: {epilog: 15}  # seconds that scripts take (:class:`emulator.config.operation.Operation`)
    sacctmgr: [sacctmgr -i add account a]          # before the first job
    jobs:                                          # times are seconds from the start
    - {name: J1, id: 1, submit: 0.01, run: 60, sbatch: [-N3, -t2]}
    actions:
    - [5.0, scontrol hold 1, the words that it answered]
    timeline:                                      # or expected, rejected, queries
      '1':
      - [0.4, {JobState: RUNNING, NodeList: 'n[1-3]'}]
    noise:                                         # what differed between repeats of the recording
    - {job: J1, what: nodes, reason: 'n[1-3]; in another repeat n[2-4]'}

:class:`Scenario` keeps what was done apart from what came of it (:class:`Recorded`), which
a simulation must not see. The commands in a file are data: none of them is run.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from emulator.config.operation import SCRIPTS, Operation
from emulator.config.slurm import SlurmConf, parse_slurm_conf
from emulator.config.slurm.duration import limit_seconds
from emulator.config.slurm.hostlist import expand
from emulator.config.slurm.location import Location
from emulator.config.slurm.versions import NEWEST, OLDEST
from emulator.files import read_input
from emulator.kinds import SCENARIO, reads
from emulator.workload.sbatch import BatchOptions, parse_sbatch
from slurm_sim_plugins.errors import ConfigurationError, InputError, meant

if TYPE_CHECKING:
    import yaml

T = TypeVar("T")

RECORDED_SLURMD_TIMEOUT = 600
"""Seconds: ``SlurmdTimeout`` of recordings that say when the controller's loop goes round; their clocks run fast."""
RETURN_TO_SERVICE = 2
"""``ReturnToService`` of recordings that do not say it."""
NOT_SUBMITTED = "(array task or het component)"
"""Instead of arguments: a job that Slurm made of another submission."""
LARGEST_FILE = 16
"""MiB; no recording is larger."""
LARGEST_NUMBER = 1 << 40
"""No id, priority or length of a job is as large."""
LONGEST = 7 * 86_400.0
"""Seconds; no recording is longer."""
_SLURM = re.compile(r"Slurm (\d\d\.\d\d[.\d]*\d)\b")
"""How a note begins that says the version."""
FILES_BESIDE = ("gres_conf", "topology_conf", "topology_yaml")
"""Texts of the files that may lie beside ``slurm.conf``."""
INFO = "INFO {"
"""How a note begins whose rest is what ``squeue`` knew of a job, as JSON."""
RECORDER, BY_HAND = 60, 30
"""``MessageTimeout`` of recordings that do not say it: those of ``slurm-sim record``, which say for how long the
controller had run, and older ones."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command of an operator, taken apart.

    Attributes:
        text: as it was given.
        program: ``scontrol``, ``sacctmgr`` or ``scancel``.
        verb: such as ``update``, ``hold``, ``create``, ``add``; of ``scancel``, ``cancel``.
        words: what follows without ``=``, flags left out, such as ``("reservation",)``.
        fields: what follows as ``KEY=VALUE``.
        flags: such as ``-i``.
    """

    text: str
    program: str
    verb: str
    words: tuple[str, ...]
    fields: Mapping[str, str]
    flags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Action:
    """A command at its time.

    Attributes:
        at: seconds from the start.
        command: what was given.
        output: what it answered; None where that was not recorded.
        location: file and line.
    """

    at: float
    command: Command
    output: str | None
    location: Location


@dataclass(frozen=True, slots=True)
class Submission:
    """A job.

    Attributes:
        name: its name.
        id: job id.
        submit: seconds from the start; if it was submitted, when ``sbatch`` returned.
        run: seconds of work; None for a job that Slurm made of another submission, or an array.
        arguments: further arguments of ``sbatch``, as they were given.
        options: what all of it asks for, typed.
        made: whether it is no submission: a task of an array, or a part of another job.
        user: who submitted it; empty where that does not matter.
        exit_code: what its work ends with.
        ignores_term: whether only SIGKILL ends it.
        nodes: nodes that were asked for beside the arguments, or None.
        partition: partitions with commas between them, in the same way; empty for none.
        time_limit: the limit, in the same way, as it was given.
        limit_stated: whether something was said of a limit beside the arguments, if only that there is none.
        priority_requested: the priority, in the same way.
        location: file and line.
    """

    name: str
    id: int
    submit: float
    run: int | None
    arguments: tuple[str, ...] | None
    options: BatchOptions
    made: bool
    user: str
    exit_code: int | None
    ignores_term: bool | None
    nodes: int | None
    partition: str
    time_limit: str | None
    limit_stated: bool
    priority_requested: int | None
    location: Location


@dataclass(frozen=True, slots=True)
class Rejection:
    """A submission that was refused.

    Attributes:
        name: the job's name.
        at: seconds from the start.
        arguments: of ``sbatch``.
        options: the same, typed; None if they cannot be understood here either.
        user: who submitted it; empty where that does not matter.
        error: what ``sbatch`` said.
        location: file and line.
    """

    name: str
    at: float
    arguments: tuple[str, ...]
    options: BatchOptions | None
    user: str
    error: str
    location: Location


@dataclass(frozen=True, slots=True)
class Observation:
    """What was seen of a job at a time.

    Attributes:
        at: seconds from the start.
        fields: those of ``scontrol show job`` that were new; empty for a note.
        note: free text, or empty.
        info: of a note that begins with :data:`INFO`, what the rest says.
    """

    at: float
    fields: Mapping[str, str]
    note: str
    info: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """A run of a job.

    Attributes:
        start: seconds from the start.
        end: when it ended; None if it was not seen to.
        end_state: such as ``COMPLETED``; empty where none was recorded.
        nodes: a host list.
        alloc: what it had on them, in Slurm's words; empty where none was recorded.
        partition: where; empty where none was recorded.
        time_limit: its limit, in Slurm's words; empty where none was recorded.
    """

    start: float
    end: float | None
    end_state: str
    nodes: str
    alloc: str
    partition: str
    time_limit: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a job.

    Attributes:
        name: its name.
        state: its last state.
        runs: in order.
        reasons: why it waited: (seconds from the start, reason); None where nothing was recorded.
    """

    name: str
    state: str
    runs: tuple[RecordedRun, ...]
    reasons: tuple[tuple[float, str], ...] | None


@dataclass(frozen=True, slots=True)
class Query:
    """What a command showed.

    Attributes:
        at: seconds from the start.
        command: what was asked.
        output: the answer.
    """

    at: float
    command: str
    output: str


@dataclass(frozen=True, slots=True)
class Varying:
    """An item that differed between repeats of a recording.

    Attributes:
        job: whose; empty for the scenario as a whole.
        what: which item, as a comparison names it.
        reason: what was seen.
    """

    job: str
    what: str
    reason: str


@dataclass(frozen=True)
class Recorded:
    """What a real Slurm did. Nothing of this may be known to a simulation that is compared with it.

    Attributes:
        timeline: what was seen of each job, by its id as text; None if the file has none.
        expected: what became of each job, by its id as text; None if the file has none.
        rejected: submissions that were refused; None if the file has none.
        queries: what commands showed; None if the file has none.
        cluster_events: (seconds from the start, text); None if the file has none.
        noise: what differed between repeats.
    """

    timeline: Mapping[str, tuple[Observation, ...]] | None
    expected: Mapping[str, Outcome] | None
    rejected: tuple[Rejection, ...] | None
    queries: tuple[Query, ...] | None
    cluster_events: tuple[tuple[float, str], ...] | None
    noise: tuple[Varying, ...] = ()


@dataclass(frozen=True)
class Scenario:
    """A scenario.

    Attributes:
        source: name of the file.
        name: of the scenario.
        note: what it is about.
        slurm_conf: the configuration, as text.
        gres_conf: that of devices, as text; None if there is none.
        topology_conf: that of switches or blocks, in the same way.
        topology_yaml: the same in the form of newer versions.
        accounting: commands before the first job; None if the file has none.
        submissions: the jobs, in the order of the file.
        actions: what an operator did meanwhile; None if the file has none.
        sweep_phase: when the sweep over time limits falls, in seconds modulo its period; None where it does not matter.
        uptime: seconds for which the controller's loop had run when the recording started; None where not known.
        backfill: the same of backfill's thread.
        second: the part of a second that had passed then.
        rounds: when the controller's loop went round first, and every how many seconds; None where that is not known.
        glances: the same of backfill's thread, which may look each second whether anything is new.
        overhead: seconds by which runs outlasted their work on the machine; None where that is not known.
        slurm_version: of the Slurm that was recorded, such as ``24.11.5``.
        recorded: what came of it.
        operation: how long scripts of the site take.
    """

    source: str
    name: str
    note: str
    slurm_conf: str
    gres_conf: str | None
    topology_conf: str | None
    topology_yaml: str | None
    accounting: tuple[Command, ...] | None
    submissions: tuple[Submission, ...]
    actions: tuple[Action, ...] | None
    sweep_phase: float | None
    uptime: float | None
    backfill: float | None
    second: float
    rounds: tuple[float, float] | None
    glances: tuple[float, float] | None
    overhead: float | None
    slurm_version: str
    recorded: Recorded
    operation: Operation

    def configuration(self) -> SlurmConf:
        """The configuration as typed values.

        Raises:
            InputError: something in it is wrong; lines are those of the text.
            ConfigurationError: the version is not emulated.
        """
        text = self.slurm_conf
        if "messagetimeout" not in text.lower():
            text = f"{text.rstrip()}\nMessageTimeout={BY_HAND if self.uptime is None else RECORDER}\n"
        if "returntoservice" not in text.lower():
            text = f"{text.rstrip()}\nReturnToService={RETURN_TO_SERVICE}\n"
        conf = parse_slurm_conf(
            text,
            f"{self.source}: slurm_conf",
            gres=self.gres_conf,
            topology=self.topology_conf,
            topology_yaml=self.topology_yaml,
        )
        return conf.under(self.slurm_version)


@reads(SCENARIO)
def read_scenario(path: str | os.PathLike[str]) -> Scenario:
    """Read a scenario.

    Raises:
        ConfigurationError: PyYAML is not installed.
        InputError: it cannot be read, or is no scenario (with file and line).
    """
    path = Path(path)
    return _scenario(_Tree.of(read_input(path, LARGEST_FILE, "no scenario is"), str(path)))


class _Tree:
    """A node of a YAML document, which knows where it stands."""

    def __init__(self, node: yaml.Node, file: str) -> None:
        self._node = node
        self._kind = type(node).__name__
        self._file = file

    @classmethod
    def of(cls, content: bytes, file: str) -> _Tree:
        """The only document of a file.

        Raises:
            ConfigurationError: PyYAML is not installed.
            InputError: not a YAML document.
        """
        try:
            import yaml
        except ImportError as error:
            raise ConfigurationError("reading a scenario needs PyYAML: python -m pip install pyyaml") from error
        try:
            node = yaml.compose(content, Loader=yaml.SafeLoader)
        except yaml.MarkedYAMLError as error:
            line = error.problem_mark.line + 1 if error.problem_mark is not None else 1
            raise InputError(f"{Location(file, line)}: is not YAML: {error.problem or error.context}") from error
        except (yaml.YAMLError, RecursionError, UnicodeDecodeError) as error:
            raise InputError(f"{file}: is not YAML: {error}") from error
        if node is None:
            raise InputError(f"{file}: is empty; a scenario is a mapping with slurm_conf and jobs")
        return cls(node, file)

    @property
    def location(self) -> Location:
        """Where it stands."""
        return Location(self._file, self._node.start_mark.line + 1)

    def error(self, text: str) -> InputError:
        """An error about this node."""
        return InputError(f"{self.location}: {text}")

    def mapping(self) -> dict[str, _Tree]:
        """Its values by key, in their order."""
        if self._kind != "MappingNode":
            raise self.error("is no mapping")
        values: dict[str, _Tree] = {}
        for key, value in self._node.value:
            name = _Tree(key, self._file).text()
            if name in values:
                raise _Tree(key, self._file).error(f"{name!r} comes twice")
            values[name] = _Tree(value, self._file)
        return values

    def fields(self, what: str, *known: str) -> Fields:
        """Its values by key, of which only these may be there."""
        values = self.mapping()
        for name, value in values.items():
            if name not in known:
                raise value.error(f"{what} has no key {name!r}{meant(name, known)}; known are {', '.join(known)}")
        return Fields(self, what, values)

    def items(self) -> list[_Tree]:
        """Its values in order."""
        if self._kind != "SequenceNode":
            raise self.error("is no list")
        return [_Tree(value, self._file) for value in self._node.value]

    def row(self, what: str, least: int, most: int) -> list[_Tree]:
        """Its values, which are so many."""
        items = self.items()
        if not least <= len(items) <= most:
            raise self.error(f"{what} has {least}{f' or {most}' if most > least else ''} values, not {len(items)}")
        return items

    def is_null(self) -> bool:
        """Whether nothing stands there."""
        return str(self._node.tag).endswith(":null")

    def is_mapping(self) -> bool:
        """Whether it is a mapping."""
        return self._kind == "MappingNode"

    def text(self) -> str:
        """A text."""
        return self._scalar("text", "str", str)

    def second(self) -> float:
        """A second of a recording."""
        value = self._scalar("a number", "int float", float)
        if not abs(value) <= LONGEST:
            raise self.error(f"{self._node.value!r} is no second of a recording, which lasts {LONGEST:g} at most")
        return value

    def whole(self) -> int:
        """A whole number."""
        value = self._scalar("a whole number", "int", int)
        if abs(value) >= LARGEST_NUMBER:
            raise self.error(f"{self._node.value!r} is too large: no number here reaches {LARGEST_NUMBER:,}")
        return value

    def read_as(self, read: Callable[[str], object]) -> str:
        """A text that can be read so; ``read`` raises a ValueError if it cannot."""
        text = self.text()
        try:
            read(text)
        except ValueError as error:
            raise self.error(str(error)) from None
        return text

    def flag(self) -> bool:
        """True or false."""
        return self._scalar("true or false", "bool", lambda text: text.lower() in ("true", "yes", "on"))

    def _scalar(self, what: str, kinds: str, read: Callable[[str], T]) -> T:
        kind = str(self._node.tag).rpartition(":")[2]
        if self._kind != "ScalarNode":
            raise self.error(f"is {kind}, not {what}")
        if kind not in kinds.split():
            quotes = ": put it in quotes" if kinds == "str" else ""
            raise self.error(f"{self._node.value!r} is {kind}, not {what}{quotes}")
        try:
            return read(self._node.value)
        except ValueError:
            raise self.error(f"{self._node.value!r} is not {what}") from None


class Fields:
    """The values of a mapping, of which some may be absent.

    Args:
        tree: the mapping.
        what: how messages name it.
        values: its values by key.
    """

    def __init__(self, tree: _Tree, what: str, values: Mapping[str, _Tree]) -> None:
        self.location = tree.location
        self._tree = tree
        self._what = what
        self._values = values

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def get(self, name: str, read: Callable[[_Tree], T]) -> T | None:
        """A value, or None where it is absent or null."""
        tree = self._values.get(name)
        return None if tree is None or tree.is_null() else read(tree)

    def need(self, name: str, read: Callable[[_Tree], T]) -> T:
        """A value that must be there."""
        if name not in self._values:
            raise self._tree.error(f"{self._what} needs {name!r}")
        return read(self._values[name])

    def error(self, text: str) -> InputError:
        """An error about the mapping."""
        return self._tree.error(text)


def _scenario(tree: _Tree) -> Scenario:
    recorded = ("timeline", "expected", "rejected", "queries", "cluster_events", "noise")
    done = ("scenario", "note", "slurm_conf", "operation", "sacctmgr", "jobs", "actions", "sweep_phase")
    how = ("slurm_version", "speed", "repeats", "uptime", "backfill", "second", "rounds", "glances", "overhead")
    fields = tree.fields("a scenario", *done, *FILES_BESIDE, *how, *recorded)
    name, note = fields.need("scenario", _Tree.text), fields.need("note", _Tree.text)
    said = _SLURM.match(note)
    # Those that do not say it are older than the key.
    version = said[1] if said else OLDEST if any(name in fields for name in recorded) else NEWEST
    return Scenario(
        source=tree.location.file,
        name=name,
        note=note,
        slurm_conf=fields.need("slurm_conf", _Tree.text),
        **{name: fields.get(name, _Tree.text) for name in FILES_BESIDE},
        operation=fields.get("operation", _operation) or Operation(),
        accounting=fields.get("sacctmgr", _each(_command)),
        submissions=_unlike(fields.need("jobs", _each(_submission))),
        actions=fields.get("actions", _each(_action)),
        sweep_phase=fields.get("sweep_phase", _Tree.second),
        uptime=fields.get("uptime", _Tree.second),
        backfill=fields.get("backfill", _Tree.second),
        second=fields.get("second", _Tree.second) or 0.0,
        rounds=fields.get("rounds", _rounds),
        glances=fields.get("glances", _rounds),
        overhead=fields.get("overhead", _Tree.second),
        slurm_version=fields.get("slurm_version", _Tree.text) or version,
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


def _operation(tree: _Tree) -> Operation:
    fields = tree.fields("operation", *TAKE_TIME)
    try:
        return Operation(**{name: fields.get(name, _Tree.second) or 0.0 for name in TAKE_TIME})  # type: ignore[arg-type]
    except ConfigurationError as error:
        raise fields.error(str(error)) from None


def _rounds(tree: _Tree) -> tuple[float, float]:
    first, period = (one.second() for one in tree.row("rounds", 2, 2))
    if not 1 <= period < 2:
        raise tree.error(f"a round of a thread takes a second and a little, not {period:g} s")
    return first, period


def _each(read: Callable[[_Tree], T]) -> Callable[[_Tree], tuple[T, ...]]:
    return lambda tree: tuple(read(item) for item in tree.items())


def _by_key(read: Callable[[_Tree], T]) -> Callable[[_Tree], Mapping[str, T]]:
    return lambda tree: MappingProxyType({name: read(value) for name, value in tree.mapping().items()})


def _priority(text: str) -> None:
    if not (text.isdecimal() and int(text[:20]) < LARGEST_NUMBER):
        raise ValueError(f"{text!r} is no priority, a whole number")


READ_AS: Mapping[str, Callable[[str], object]] = {
    "Priority": _priority,
    "NodeList": expand,
    "TimeLimit": limit_seconds,
}
"""How fields of an observation are read that are more than words."""


def _at(tree: _Tree) -> tuple[float, str]:
    at, text = tree.row("a note", 2, 2)
    return at.second(), text.text()


def _command(tree: _Tree) -> Command:
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


def _action(tree: _Tree) -> Action:
    at, command, *output = tree.row("an action", 2, 3)
    return Action(at.second(), _command(command), output[0].text() if output else None, tree.location)


def _submission(tree: _Tree) -> Submission:
    fields = tree.fields(
        "a job",
        *("name", "id", "submit", "run", "sbatch", "user", "exit_code", "ignores_term"),
        *("nodes", "partition", "time_limit", "priority_requested"),
    )
    arguments = fields.get("sbatch", _each(_Tree.text))
    made = arguments == (NOT_SUBMITTED,)
    job = Submission(
        name=fields.need("name", _Tree.text),
        id=fields.need("id", _Tree.whole),
        submit=fields.need("submit", _Tree.second),
        run=fields.get("run", _Tree.whole),
        arguments=arguments,
        options=BatchOptions() if made else _options(fields, arguments or (), fields.need("submit", _Tree.second)),
        made=made,
        user=fields.get("user", _Tree.text) or "",
        exit_code=fields.get("exit_code", _Tree.whole),
        ignores_term=fields.get("ignores_term", _Tree.flag),
        nodes=fields.get("nodes", _Tree.whole),
        partition=fields.get("partition", _Tree.text) or "",
        time_limit=fields.get("time_limit", _Tree.text),
        limit_stated="time_limit" in fields,
        priority_requested=fields.get("priority_requested", _Tree.whole),
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
    return replace(job.options, **stated)


def _unlike(jobs: tuple[Submission, ...]) -> tuple[Submission, ...]:
    locations: dict[int, Location] = {}
    for job in jobs:
        if job.id in locations:
            raise InputError(f"{job.location}: job {job.id} is defined already at {locations[job.id]}")
        locations[job.id] = job.location
    return jobs


def _varying(tree: _Tree) -> Varying:
    fields = tree.fields("an item of noise", "job", "what", "reason")
    return Varying(*(fields.need(name, _Tree.text) for name in ("job", "what", "reason")))


def _rejection(tree: _Tree) -> Rejection:
    fields = tree.fields("a rejection", "name", "at", "sbatch", "user", "error")
    arguments = fields.need("sbatch", _each(_Tree.text))
    try:
        options = parse_sbatch(arguments)
    except ValueError:
        # Nor could Slurm; that may be why it was refused.
        options = None
    return Rejection(
        name=fields.need("name", _Tree.text),
        at=fields.need("at", _Tree.second),
        arguments=arguments,
        options=options,
        user=fields.get("user", _Tree.text) or "",
        error=fields.need("error", _Tree.text),
        location=fields.location,
    )


def _observation(tree: _Tree) -> Observation:
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


def _outcome(tree: _Tree) -> Outcome:
    fields = tree.fields("an outcome", "name", "state", "runs", "reasons")
    return Outcome(
        name=fields.need("name", _Tree.text),
        state=fields.need("state", _Tree.text),
        runs=fields.need("runs", _each(_run)),
        reasons=fields.get("reasons", _each(_at)),
    )


def _run(tree: _Tree) -> RecordedRun:
    fields = tree.fields("a run", "start", "end", "end_state", "nodes", "alloc", "partition", "timelimit")
    return RecordedRun(
        start=fields.need("start", _Tree.second),
        end=fields.get("end", _Tree.second),
        end_state=fields.get("end_state", _Tree.text) or "",
        nodes=fields.need("nodes", _hosts),
        alloc=fields.get("alloc", _Tree.text) or "",
        partition=fields.get("partition", _Tree.text) or "",
        time_limit=fields.get("timelimit", _limit) or "",
    )


def _hosts(tree: _Tree) -> str:
    return tree.read_as(expand)


def _limit(tree: _Tree) -> str:
    return tree.read_as(lambda text: text and limit_seconds(text))


def _query(tree: _Tree) -> Query:
    fields = tree.fields("a query", "at", "query", "out")
    command = fields.need("query", lambda tree: tree.read_as(shlex.split))
    return Query(fields.need("at", _Tree.second), command, fields.need("out", _Tree.text))


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
