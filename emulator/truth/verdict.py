"""One scenario: run it, compare it, and say whether the two agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from emulator.truth.clocks import best_clock, best_phase, best_sweep, clock_matters
from emulator.truth.compare import TOLERANCE, Difference, Pair, compare
from emulator.truth.emulated import Emulation, emulate
from emulator.truth.inputs import inputs_of
from emulator.truth.known import RECORDED, Clock, Known, Noise
from emulator.truth.queries import asked, disagreements
from emulator.truth.recorded import Recording, is_job_id, recording_of
from emulator.truth.starts import differences_of_starts
from emulator.workload.scenario import Query, Scenario

WARNINGS = ("sbatch: warning: ", "ignoring -s since", "maxmempercpu ignored, since")
"""How lines of ``sbatch`` begin that refuse nothing, in lower case: it calls those about --core-spec, and about what
``slurm.conf`` says twice, errors."""


@dataclass(frozen=True)
class Verdict:
    """What came of a comparison.

    Attributes:
        scenario: what was compared.
        pairs: each recorded job with the emulated one.
        differences: what counts.
        excused: differences that are known as noise, with the reason.
        supplied: reasons of what was supplied by hand.
        not_compared: what of the recording is beyond the emulator, and commands that only it refused.
    """

    scenario: Scenario
    pairs: tuple[Pair, ...]
    differences: tuple[Difference, ...]
    excused: tuple[tuple[Difference, Noise], ...]
    supplied: tuple[str, ...]
    not_compared: tuple[str, ...]

    @property
    def agrees(self) -> bool:
        """Whether nothing differs that counts."""
        return not self.differences


def why_not_compared(scenario: Scenario, known: Known) -> str:
    """Why a scenario cannot be compared; empty if it can."""
    lengths = [job for job in scenario.submissions if not job.made and job.run is None]
    works = {job.name: known.work_of(scenario.name, job.name) for job in lengths}
    unknown = [name for name, work in works.items() if work is None or not work.runs]
    return f"how long {', '.join(unknown)} works was not recorded" if unknown else ""


def judge(scenario: Scenario, known: Known | None = None, *, search: bool = False) -> Verdict:
    """Run a scenario and compare.

    Args:
        scenario: a recording.
        known: noise, and what the recording leaves out.
        search: whether to look for the clock that fits best, where usage and ages are counted
            and nothing says how the clock stood (:mod:`emulator.truth.clocks`).

    Raises:
        InputError: the scenario cannot be run.
    """
    known = (known or Known()).beside(scenario)
    verdict = _judge(scenario, known)
    if not search or verdict.agrees or known.clock_of(scenario.name) is not None:
        return verdict

    def under(clock: Clock) -> Verdict:
        return _judge(scenario, replace(known, clocks=(clock,)))

    if scenario.sweep_phase is None:
        verdict = best_sweep(scenario.name, verdict, under)
    if clock_matters(scenario):
        return best_clock(scenario.name, verdict, under)
    return verdict if scenario.uptime is not None else best_phase(scenario, verdict, under)


def _judge(scenario: Scenario, known: Known) -> Verdict:
    recording, questions = recording_of(scenario), asked(scenario)
    inputs = inputs_of(scenario, known)
    # Of a submission that was refused nothing is seen later on.
    end = max([recording.end, *(one.at for one in scenario.recorded.rejected or ())])
    emulation = emulate(inputs, end + TOLERANCE, [(one.at, one.command) for one in questions])
    pairs = tuple(_pairs(scenario, recording, emulation))
    found = [*_rejections(scenario, emulation), *compare(pairs, recording)]
    found += differences_of_starts(scenario, recording.planned, emulation.planned)
    found += disagreements(questions, emulation.answers)
    excuses = [(difference, known.noise_of(scenario.name, difference.job, difference.what)) for difference in found]
    return Verdict(
        scenario,
        pairs,
        tuple(difference for difference, noise in excuses if noise is None),
        tuple((difference, noise) for difference, noise in excuses if noise is not None),
        tuple(_supplied(scenario, known)),
        tuple(_not_compared(scenario, recording, questions, emulation)),
    )


def _supplied(scenario: Scenario, known: Known) -> Iterator[str]:
    for work in known.work:
        if work.scenario == scenario.name:
            said = [f"works {', '.join(f'{run:g}' for run in work.runs)} s"] if work.runs else []
            said += [f"ends {work.dies_in:g} s after SIGTERM"] if work.dies_in is not None else []
            yield f"{work.job} {' and '.join(said)}: {work.reason}"
    clock = known.clock_of(scenario.name)
    if clock is not None and clock.reason != RECORDED:
        said = [f"started {clock.uptime:g} s before"] if clock.uptime is not None else []
        said += [f"its sweeps {clock.sweep:g} s after multiples of 30 s"] if clock.sweep is not None else []
        said += [f"its seconds {clock.second:g} s before"] if clock.second else []
        said += [f"time slices {clock.time_slice:g} s before"] if clock.time_slice is not None else []
        yield f"the controller {', '.join(said)}: {clock.reason}"
    for action in known.actions_of(scenario.name):
        yield f"{action.command} at {action.at:g}: {action.reason}"


def _not_compared(
    scenario: Scenario, recording: Recording, questions: list[Query], emulation: Emulation
) -> Iterator[str]:
    yield from recording.unread
    for question, answer in zip(questions, emulation.answers, strict=True):
        if answer is None:
            yield f"{question.command} at {question.at:g}"
    answers = [(action.at, action.output or "") for action in scenario.actions or ()]
    for at, words in emulation.refused:
        if not any(at == second and words in output for second, output in answers):
            yield f"a command at {at:g}, which the emulator refuses: {words}"


def _pairs(scenario: Scenario, recording: Recording, emulation: Emulation) -> Iterator[Pair]:
    refused = {rejection.name for rejection in scenario.recorded.rejected or ()}
    names = _names(scenario, recording)
    tasks = {history.job: number for number, history in emulation.ids.items() if _is_task(number, emulation)}
    for key, recorded in recording.jobs.items():
        name = names.get(key, recorded.job)
        if name in refused and not recorded.runs:
            continue
        numbers = _numbers(key, name, scenario, recording, emulation, tasks)
        histories = tuple(emulation.ids[number] for number in numbers if number in emulation.ids)
        yield Pair(key, name, recorded, histories, _either(name, scenario))


def _names(scenario: Scenario, recording: Recording) -> dict[str, str]:
    """Names of the recorded jobs by key; where several have one, the key is added."""
    names = {str(job.id): job.name for job in scenario.submissions if str(job.id) in recording.jobs}
    counts = Counter(names.values())
    return {key: name if counts[name] == 1 else f"{name} ({key})" for key, name in names.items()}


def _is_task(number: int, emulation: Emulation) -> bool:
    return any(number in numbers for numbers in emulation.parts.values())


def _numbers(
    key: str, name: str, scenario: Scenario, recording: Recording, emulation: Emulation, tasks: dict[str, int]
) -> list[int]:
    """The emulated jobs that a recorded history tells of."""
    if name in tasks:
        return [tasks[name]]
    if not is_job_id(key):
        return []
    if int(key) in emulation.parts:
        return list(emulation.parts[int(key)])
    others = [job.id for job in scenario.submissions if job.name == name and str(job.id) not in recording.jobs]
    return [int(key), *others]


def _either(name: str, scenario: Scenario) -> bool:
    """Whether a job's work is as long as its limit (or as the least limit that it would do with)."""
    for job in scenario.submissions:
        if job.name == name and job.run is not None:
            return float(job.run) in (job.options.time_limit, job.options.time_min)
    return False


def _rejections(scenario: Scenario, emulation: Emulation) -> Iterator[Difference]:
    recorded = {rejection.name: _words(rejection.error) for rejection in scenario.recorded.rejected or ()}
    for name, words in recorded.items():
        mine = emulation.rejected.get(name)
        # The emulator may say more, in brackets.
        if mine is None or (_words(mine) != words and not _words(mine).startswith(f"{words} (")):
            yield Difference(name, "rejection", words, mine or "was accepted")
    for name, words in emulation.rejected.items():
        if name not in recorded:
            yield Difference(name, "rejection", "was accepted", words)


def _words(error: str) -> str:
    """What refuses a submission, of what ``sbatch`` says; its warnings refuse nothing."""
    lines = (
        error.replace("sbatch: error: ", "")
        .replace("sbatch: fatal: ", "")
        .replace("Batch job submission failed: ", "")
        .splitlines()
    )
    return "; ".join(line.strip() for line in lines if not line.lower().startswith(WARNINGS))
