"""What was done to the real Slurm, and is to be done to the emulated one: nothing of what came of it.

Of ``rejected`` only the submissions are taken, which stand nowhere else. What a recording
leaves out although it was done is supplied by hand (:mod:`emulator.truth.known`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import count, pairwise
from typing import TypeVar

from emulator.config.operation import Operation
from emulator.config.sacctmgr import Accounts, parse_accounts
from emulator.config.slurm.model import SlurmConf
from emulator.engine.arrivals import NEW_RECORD, OF_FEATURES
from emulator.truth.known import Clock, Known, Work
from emulator.truth.numbers import NAMED
from emulator.workload.request import JobRequest
from emulator.workload.sbatch import BatchOptions
from emulator.workload.scenario import Action, Rejection, Scenario, Submission
from slurm_sim_plugins.errors import InputError

T = TypeVar("T")

SIGNAL_TIME = 60
"""Seconds before the limit at which a signal is sent whose time is not said."""
KEEPS_RUNNING = frozenset({"CONT", "18", "CHLD", "17", "URG", "23", "WINCH", "28", "STOP", "19", "TSTP", "20"})
"""Signals that end no process which does nothing about them."""

NOT_GIVEN = (
    "No valid entity in update command",
    "You must specify a reason when DOWNING or DRAINING a node",
    "Invalid time specification",
    "Update of this parameter is not supported",
)
"""What ``scontrol`` says of commands that it does not hand on.

Without such an answer commands are done that ``scontrol`` would not take: not all recordings have them word by word.
"""
BY_CHANCE = "Resource temporarily unavailable for job "
"""What a controller of 24.11 and later answers now and then where a job goes to another partition without accounting.

It finds no association, and hands on the error that its thread met last, whatever that was: the job stays as it is.
"""
NO_JOB = ("Invalid job id specified", "scancel: error: Invalid job id ")
"""What they say of one that names no job by its number."""
FAR_FROM_ALL = 1_000_000
"""What is added to the highest number for submissions that were refused, whose numbers are not known."""
DEFAULT_USER = "root"
"""Who submits where a scenario does not say."""


@dataclass(frozen=True)
class Inputs:
    """A configuration, submissions, an operator's commands.

    Attributes:
        conf: the configuration.
        requests: the submissions.
        actions: (second, command).
        refused: (second, words) of commands that are not done here.
        sweep_phase: when the sweep over time limits falls, in seconds modulo its period; None for any.
        names: of the jobs, by id.
        accounting: commands that made the accounts; None where there is no accounting.
        clock: what is known of the clock of the recording, or None.
        operation: how long scripts of the site take.
    """

    conf: SlurmConf
    requests: tuple[JobRequest, ...]
    actions: tuple[tuple[float, str], ...]
    refused: tuple[tuple[float, str], ...]
    sweep_phase: float | None
    names: Mapping[int, str]
    accounting: tuple[str, ...] | None = None
    clock: Clock | None = None
    operation: Operation = field(default_factory=Operation)

    def accounts(self) -> Accounts | None:
        """Associations and qualities of service before the first job, if there is accounting; made at each call."""
        if self.accounting is None:
            return None
        return parse_accounts("\n".join(self.accounting), "sacctmgr")


def inputs_of(scenario: Scenario, known: Known) -> Inputs:
    """What was done in a scenario.

    Raises:
        InputError: it is not said how long a job works.
    """
    supplied = [(action.at, action.command) for action in known.actions_of(scenario.name)]
    numbers = {job.id for job in scenario.submissions}
    said = [(action, _refusal(action, numbers)) for action in scenario.actions or ()]
    done = [(action.at, action.command.text) for action, refusal in said if not refusal]
    jobs = [*_jobs(scenario, known), *_refused(scenario)]
    conf = scenario.configuration()
    commands = [command.text for command in scenario.accounting or ()]
    accounted = bool(commands) or "slurmdbd" in conf.parameters.text("AccountingStorageType").lower()
    return Inputs(
        conf,
        tuple(sorted((request for _, request in jobs), key=lambda request: request.submit)),
        tuple(sorted([*done, *supplied], key=lambda one: one[0])),
        tuple((action.at, refusal) for action, refusal in said if refusal),
        scenario.sweep_phase,
        {request.id: name for name, request in jobs},
        tuple(commands) if accounted else None,
        known.clock_of(scenario.name),
        scenario.operation,
    )


def _refusal(action: Action, numbers: Collection[int]) -> str:
    """Why a command is not to be done here; empty if it is.

    Either ``scontrol`` did not hand it on, or the controller refused it by chance, or it was refused and names no
    recorded job: that number a task may have.
    """
    output, named = action.output or "", NAMED.search(action.command.text)
    none = output.startswith(NO_JOB) if named is None else int(named[2]) not in numbers
    return output if none or output.startswith((*NOT_GIVEN, BY_CHANCE)) else ""


def _jobs(scenario: Scenario, known: Known) -> Iterator[tuple[str, JobRequest]]:
    for job in scenario.submissions:
        if not job.made:
            request = _request(job, known.work_of(scenario.name, job.name))
            # Of a run that was requeued nothing is known: its nodes say so themselves, as those of killed ones do.
            asked = {
                key: tuple(
                    cleared is not None and not said
                    for cleared, said in zip(runs, scenario.said_clear.get(key, [False] * len(runs)), strict=True)
                )
                for key, runs in scenario.cleared.items()
            }
            outlasts, clears = _of_runs(job, scenario.outlasted), _of_runs(job, scenario.cleared)
            yield job.name, replace(request, outlasts=outlasts, clears=clears, asked_clear=_of_runs(job, asked))


def _of_runs(job: Submission, known: Mapping[str, tuple[T, ...]]) -> tuple[tuple[T, ...], ...]:
    """What is known of the runs of each task or component, or of the job itself."""
    return tuple(known.get(key, ()) for key in job.keys) if known else ()


def _request(job: Submission, work: Work | None) -> JobRequest:
    if job.run is None and (work is None or not work.runs):
        raise InputError(
            f"{job.location}: job {job.name!r} has no run: how long it works was not recorded; "
            "say it under [[work]] in the list that --known names"
        )
    request = JobRequest(
        id=job.id,
        submit=job.submit,
        run=float(job.run or 0),
        options=replace(job.options, name=job.options.name or job.name),
        user=job.user or DEFAULT_USER,
        exit_code=job.exit_code or 0,
        ignores_term=bool(job.ignores_term),
        signal_time=_signal_time(job),
        location=str(job.location),
    )
    if work is None:
        return request
    request = replace(request, dies_in=work.dies_in)
    if not work.runs:
        return request
    tasks = len(job.options.array.indices) if job.options.array is not None else 1
    if len(work.runs) < tasks or 0 < len(work.exits) < tasks:
        raise InputError(
            f"{job.location}: job {job.name!r} has {tasks} tasks, and [[work]] in the list of --known has fewer "
            "runs or exits; state one for each"
        )
    return replace(request, run=work.runs[0], task_runs=work.runs, task_exits=work.exits)


def _signal_time(job: Submission) -> float | None:
    """Seconds before its limit at which a signal for the script (``--signal=B:``) ends a recorded job, which sleeps.

    Steps, for which a signal is otherwise, it has none.
    """
    words = list(job.arguments or ())
    stated = [after for word, after in pairwise([*words, ""]) if word == "--signal"]
    stated += [word.partition("=")[2] for word in words if word.startswith("--signal=")]
    if not stated:
        return None
    flags, colon, signal = stated[-1].rpartition(":")
    name, _, seconds = signal.partition("@")
    name = name.upper().removeprefix("SIG")
    if not colon or "B" not in flags.upper() or name in KEEPS_RUNNING or (job.ignores_term and name in ("TERM", "15")):
        return None
    return float(seconds or SIGNAL_TIME)


def _passed_over(scenario: Scenario) -> dict[str, int]:
    """Numbers of refused submissions, where just as many are missing between those of the jobs around them.

    Those count of which Slurm makes a record before it refuses them, by its words, with or without those that want
    features which no node has; all of them if that does not fit.
    Components of a heterogeneous job have numbers of their own.
    """
    accepted = [(job.submit, job.id, job.id + len(job.options.components)) for job in scenario.submissions]
    between: dict[tuple[int, int], list[Rejection]] = {}
    for rejection in sorted(scenario.recorded.rejected or (), key=lambda each: each.at):
        before = max((last for at, _, last in accepted if at <= rejection.at), default=0)
        behind = min((number for at, number, _ in accepted if at > rejection.at), default=0)
        between.setdefault((before, behind), []).append(rejection)
    return {
        rejection.name: number
        for (before, behind), all_ in between.items()
        for words in ((*NEW_RECORD, *OF_FEATURES), NEW_RECORD, "")
        for some in [[one for one in all_ if one.error.endswith(words)]]
        if behind - before - 1 == len(some)
        for number, rejection in enumerate(some, before + 1)
    }


def _refused(scenario: Scenario) -> Iterator[tuple[str, JobRequest]]:
    """Submissions that were refused; Slurm made a job of some of them first, and it keeps its id.

    A heterogeneous one gets numbers that no job has: Slurm makes no more components once one is refused.
    """
    made = _passed_over(scenario) | {job.name: job.id for job in scenario.submissions if job.made}
    unused = count(FAR_FROM_ALL + max((job.id for job in scenario.submissions), default=0))
    for rejection in scenario.recorded.rejected or ():
        if rejection.options is not None:
            components = rejection.options.components
            request = JobRequest(
                id=(0 if components else made.pop(rejection.name, 0)) or _first_unused(unused, rejection.options),
                submit=rejection.at,
                run=0.0,
                options=replace(rejection.options, name=rejection.options.name or rejection.name),
                user=rejection.user or DEFAULT_USER,
            )
            yield rejection.name, request


def _first_unused(unused: Iterator[int], options: BatchOptions) -> int:
    """A number that is not in use, before as many for further components."""
    first = next(unused)
    for _ in options.components:
        next(unused)
    return first
