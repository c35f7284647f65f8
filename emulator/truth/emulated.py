"""The emulator's run of a scenario, told as histories."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial

from emulator.config.slurm.controller import Timing
from emulator.engine.controller import Controller
from emulator.operator.scontrol import scontrol
from emulator.state.job import Job
from emulator.state.run import Run
from emulator.truth.commands import answer
from emulator.truth.history import History, Share, Stint, history
from emulator.truth.inputs import Inputs
from emulator.truth.numbers import with_numbers_of_tasks
from emulator.truth.observer import JobObservations, Observer
from emulator.workload.scenario import RECORDED_SLURMD_TIMEOUT
from slurm_sim_plugins.errors import InputError

MODULO_OF_SWEEP = Timing().sweep_phase
"""Where a scenario does not say when the sweep falls, it does not depend on it."""


@dataclass(frozen=True)
class Emulation:
    """What the emulator did.

    Attributes:
        ids: histories by job id; a task of an array is called ``name_index``, a component ``name+offset``.
        parts: ids of the tasks of each array, or components of each heterogeneous job, by its id.
        planned: by job id, (second, planned start or None) of each change.
        rejected: Slurm's words by name of the submission.
        refused: (second, words) of commands that could not be carried out.
        answers: to the questions, in their order; None for a command that the emulator does not know.
    """

    ids: dict[int, History]
    parts: dict[int, tuple[int, ...]]
    planned: dict[int, list[tuple[float, float | None]]]
    rejected: dict[str, str]
    refused: tuple[tuple[float, str], ...]
    answers: tuple[str | None, ...]


def emulate(inputs: Inputs, until: float, questions: Iterable[tuple[float, str]] = ()) -> Emulation:
    """Run what was done.

    Args:
        inputs: what was done.
        until: the last second.
        questions: (second, command) that ask for something without changing anything, by time.
    """
    controller = controller_of(inputs)
    observer = Observer(controller.cluster)
    answers = []
    for at, question in questions:
        controller.run(at, observer)
        answers.append(answer(question, controller))
    controller.run(until, observer)
    return _told(inputs, controller, observer, tuple(answers))


def controller_of(inputs: Inputs, *, compiled: bool | None = None) -> Controller:
    """The emulated controller, at its start.

    Args:
        inputs: what was done.
        compiled: whether compiled code chooses nodes and plans; by default if kernels are compiled.
    """
    return Controller(
        inputs.conf,
        inputs.requests,
        [
            *((at, Commanded(command)) for at, command in inputs.actions),
            *((at, partial(_refused, words)) for at, words in inputs.refused),
        ],
        timing_of(inputs),
        accounts=inputs.accounts(),
        operation=inputs.operation,
        compiled=compiled,
    )


@dataclass(frozen=True)
class Commanded:
    """What an operator said; called with a controller, it is done with the numbers that jobs have there.

    Attributes:
        text: the command.
    """

    text: str

    def __call__(self, controller: Controller) -> None:
        """Carry it out."""
        scontrol(with_numbers_of_tasks(self.text, controller), controller)


def _refused(words: str, controller: Controller) -> None:
    """What was refused in the recording before any controller could is refused here, too."""
    raise InputError(words)


def timing_of(inputs: Inputs) -> Timing:
    """What real daemons took their time for in a recording, as far as it is known."""
    phase = MODULO_OF_SWEEP if inputs.sweep_phase is None else inputs.sweep_phase
    timing, clock = Timing(sweep_phase=phase), inputs.clock
    if clock is None:
        return timing
    if clock.rounds is not None:
        first, period = clock.rounds
        timing = replace(
            timing,
            submit_lag=0.0,
            end_lag=0.0,
            round=period,
            round_phase=first,
            rounds_seen=clock.rounds_seen,
        )
    if clock.glances is not None:
        first, period = clock.glances
        timing = replace(timing, glance=period, glance_phase=first, glances_seen=clock.glances_seen)
    if clock.rounds is not None or clock.backfill is not None:
        # The recorder notes one of these; it states this timeout.
        timing = replace(timing, ping=RECORDED_SLURMD_TIMEOUT // 3)
    return replace(
        timing,
        uptime=timing.uptime if clock.uptime is None else clock.uptime,
        backfill_phase=timing.backfill_phase if clock.backfill is None else clock.backfill,
        decay_phase=clock.decay,
        job_overhead=timing.job_overhead if clock.overhead is None else clock.overhead,
        sweep_phase=phase if clock.sweep is None else clock.sweep,
        second_phase=clock.second,
        # The recorder, which notes this, begins long after the daemons were started.
        settled=clock.backfill is not None,
        slice_phase=_first_known(clock.time_slice, clock.backfill, clock.uptime, timing.slice_phase),
    )


def _first_known(*values: float | None) -> float:
    """When time slices end: as it is stated, else they count from when the controller was started."""
    return next(value for value in values if value is not None)


def _told(inputs: Inputs, controller: Controller, observer: Observer, answers: tuple[str | None, ...]) -> Emulation:
    jobs = controller.cluster.jobs
    parts: dict[int, tuple[int, ...]] = {}
    for job in jobs.values():
        whole = job.request.array if job.request.het_job_id is None else job.request.het_job_id
        if whole is not None:
            parts[whole] = (*parts.get(whole, ()), job.id)
    return Emulation(
        ids={job.id: _history(job, _name(job, inputs), observer.notes[job.id], controller) for job in jobs.values()},
        parts=parts,
        planned={number: notes.planned for number, notes in observer.notes.items()},
        rejected={
            inputs.names[request.id]: words for request, words in controller.rejected if not request.het_job_offset
        },
        refused=tuple(controller.refused),
        answers=answers,
    )


def _name(job: Job, inputs: Inputs) -> str:
    """What the scenario calls a job, whatever name it has in Slurm."""
    array, het_job = job.request.array, job.request.het_job_id
    if het_job is not None:
        return f"{inputs.names.get(het_job, job.name)}+{job.request.het_job_offset}"
    return job.name if array is None else f"{inputs.names.get(array, job.name)}_{job.request.task}"


def _history(job: Job, name: str, notes: JobObservations, controller: Controller) -> History:
    found = history(name, notes.sights)
    found.priorities = notes.priorities
    runs = {run.given: run for run in job.runs}
    for stint in found.runs:
        if stint.start in runs:
            _describe(stint, runs[stint.start], controller)
            if stint.limit is not None and stint.limit % 60:
                stint.limit = job.limit  # As its end was updated; Slurm shows whole minutes.
    return found


def _describe(stint: Stint, run: Run, controller: Controller) -> None:
    machine, allocation = controller.cluster.machine, run.allocation
    conf = controller.cluster.conf.nodes
    names = [machine.names[node] for node in allocation.nodes]
    stint.nodes = frozenset(names)
    stint.partition, stint.limit = run.partition, run.limit
    stint.shares = {
        name: Share(
            allocation.units[index] * int(machine.threads[node]) * conf[node].ids_of_cpu,
            allocation.memory[index],
            {
                ":".join(filter(None, kind)): counts[index]
                for kind, counts in sorted(allocation.gres.items())
                if counts[index] and kind[0]
            },
        )
        for index, (name, node) in enumerate(zip(names, allocation.nodes, strict=True))
        if allocation.units[index]  # Slurm shows nothing of the others.
    }
