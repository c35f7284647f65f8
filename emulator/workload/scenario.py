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

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from emulator.config.operation import Operation
from emulator.config.slurm import SlurmConf, parse_slurm_conf
from emulator.config.slurm.location import Location
from emulator.workload.sbatch import BatchOptions

RECORDED_SLURMD_TIMEOUT = 600
"""Seconds: ``SlurmdTimeout`` of recordings that say when the controller's loop goes round; their clocks run fast."""
RETURN_TO_SERVICE = 2
"""``ReturnToService`` of recordings that do not say it."""
NOT_SUBMITTED = "(array task or het component)"
"""Instead of arguments: a job that Slurm made of another submission."""
FILES_BESIDE = ("gres_conf", "topology_conf", "topology_yaml")
"""Texts of the files that may lie beside ``slurm.conf``."""
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

    @property
    def keys(self) -> list[str]:
        """Those of its tasks or components in the timeline, in their order, or its own."""
        if self.options.array is not None:
            return [f"{self.name}_{index}" for index in self.options.array.indices]
        if self.options.components:
            return [f"{self.name}+{offset}" for offset in range(1 + len(self.options.components))]
        return [str(self.id)]


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
        decay: the same of the thread that lets usage decay and works out priorities.
        second: the part of a second that had passed then.
        rounds: when the controller's loop went round first, and every how many seconds; None where that is not known.
        rounds_seen: when it went round and made a pass, ascending.
        glances: the same of backfill's thread, which may look each second whether anything is new.
        glances_seen: when it went round, ascending.
        overhead: seconds by which runs outlasted their work on the machine, in the median; None where not known.
        outlasted: the same of each run of a job, a task (``NAME_INDEX``) or a component (``NAME+OFFSET``), by its key
            in the timeline; None for a run that did not end by itself.
        cleared: seconds from the end of a run until its nodes were clear, in the same way.
        said_clear: whether the last of them said so itself, in the same way.
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
    decay: float | None
    second: float
    rounds: tuple[float, float] | None
    rounds_seen: tuple[float, ...]
    glances: tuple[float, float] | None
    glances_seen: tuple[float, ...]
    overhead: float | None
    outlasted: Mapping[str, tuple[float | None, ...]]
    cleared: Mapping[str, tuple[float | None, ...]]
    said_clear: Mapping[str, tuple[bool | None, ...]]
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
