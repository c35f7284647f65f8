"""What a plugin may answer: the rules that an emulator and a unit test hold it to.

Each function takes an answer and gives it back in the form in which it is used, or
refuses it. Which plugin is to blame, and when, is for the caller to add.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any

from slurm_sim_plugins.block_state import BlockState
from slurm_sim_plugins.cluster import PREEMPT_MODES
from slurm_sim_plugins.decisions import (
    FIRST_TIER,
    Decision,
    MakeRoom,
    Move,
    Pause,
    Plan,
    Preempt,
    Priorities,
    Reserve,
    Start,
    Wake,
)
from slurm_sim_plugins.job_update import JobUpdate
from slurm_sim_plugins.jobs import Job, Run
from slurm_sim_plugins.plan import Hole
from slurm_sim_plugins.processors import Processors, all_processors, highest, in_words
from slurm_sim_plugins.submission import STAY, Reject, Submission
from slurm_sim_plugins.tiers import Stay, Tiers

State = Callable[[Job], str | None]
"""From a job to the word for its state, PENDING if it waits; None if it is no job of this simulation."""

MOST_PRIORITY = 2**63
"""No whole number that is a priority is so far from 0."""
LARGEST_COUNT, LARGEST_MEMORY = 2**31 - 1, 2**53
"""Of nodes, tasks and the like, and of mebibytes, no submission may have more."""
MOST_SITE_FACTOR = 2**31 - 3
"""Slurm's bound of a site factor, in either direction (scontrol, ``SiteFactor``)."""
LATEST = 2.0**43
"""Seconds; the clock of a simulation, in 64-bit microseconds, does not go further."""


class Refused(Exception):  # noqa: N818 - it is a verdict
    """An answer that cannot be used.

    Attributes:
        message: what was wrong and what to do.
        job: id of the job concerned, or None.
    """

    def __init__(self, message: str, job: object | None = None) -> None:
        self.message = message
        self.job: object | None = getattr(job, "id", None)
        super().__init__(message)


def priorities(answer: Sequence[Any], jobs: Sequence[Job]) -> Sequence[Any]:
    """A finite number for each job, a :class:`Priority`, or of a job in several partitions a list of these.

    A column of numbers stays one.

    Raises:
        Refused: another length, or what is no finite number.
    """
    if _is_unordered(answer) or _length(answer) != len(jobs):
        raise Refused(f"answered {short(answer)} for {len(jobs)} jobs; answer one number for each", jobs[0])
    if isinstance(answer, Priorities):
        if not _is_column(answer.numbers):
            raise Refused(
                f"answered Priorities of {short(answer.numbers)}; they take an array of one number a job", jobs[0]
            )
        if _are_finite(answer.numbers):
            return answer
    try:
        known = numbers(answer)
        # A sum is no number if one of them is none.
        if min(known) > -MOST_PRIORITY and max(known) < MOST_PRIORITY and sum(known) < math.inf:
            return list(answer)
    except (TypeError, AttributeError, OverflowError):
        pass
    _check_priorities(answer, jobs)
    return list(answer)


def _check_priorities(answer: Sequence[Any], jobs: Sequence[Job]) -> None:
    for job, each in zip(jobs, answer, strict=True):
        several = each if isinstance(each, list) else [each]
        if isinstance(each, list) and len(each) != max(len(job.requests), 2):
            raise Refused(f"answered a list of {len(each)}; the job is in {len(job.requests)} partitions", job)
        for one in several:
            value = getattr(one, "number", one)
            if not _is_finite(value):
                raise Refused(f"answered {short(one)}; a priority is a finite number", job)
            if isinstance(value, int) and abs(value) >= MOST_PRIORITY:
                raise Refused(f"answered {short(one)}; a priority that is a whole number has 63 bits at most", job)


def _is_column(numbers: Any) -> bool:
    return getattr(numbers, "ndim", 0) == 1 and numbers.dtype.kind in "iuf"


def _are_finite(column: Any) -> bool:
    return column.dtype.kind in "iu" or math.isfinite(abs(column).max(initial=0))


def number(answer: Any) -> Any:
    """The number of a priority: it, or that of a :class:`Priority`."""
    return answer if answer.__class__ in (int, float) else getattr(answer, "number", answer)


def numbers(answer: Sequence[Any]) -> list[Any]:
    """The number of each of many priorities."""
    return answer.numbers.tolist() if isinstance(answer, Priorities) else list(map(number, answer))


def site_factors(answer: Sequence[int], jobs: Sequence[Job]) -> list[int]:
    """A whole number for each job, in Slurm's range.

    Raises:
        Refused: another length, or what is no such number.
    """
    if _is_unordered(answer) or _length(answer) != len(jobs):
        raise Refused(f"answered {short(answer)} for {len(jobs)} jobs; answer one number for each", jobs[0])
    for job, each in zip(jobs, answer, strict=True):
        if type(each) is not int or abs(each) > MOST_SITE_FACTOR:
            raise Refused(
                f"answered {short(each)}; a site factor is a whole number from {-MOST_SITE_FACTOR} to "
                f"{MOST_SITE_FACTOR}",
                job,
            )
    return list(answer)


def submission(answer: Any, before: Submission, counted: bool) -> Submission | Reject:
    """What a submission asks for from now on, or that it is refused.

    Args:
        answer: of the hook.
        before: what it asked for.
        counted: whether processors are only counted, so that its limit alone can be changed.

    Raises:
        Refused: no such answer, a value that a field does not take, or a field that stays as it is.
    """
    if isinstance(answer, Reject) and isinstance(answer.reason, str) and answer.reason:
        return answer
    if not isinstance(answer, Submission):
        raise Refused(
            f"answered {short(answer)}; answer view.submission._replace(...), Reject(reason) with words, or None",
            before,
        )
    for name, value in answer._asdict().items():
        if value == getattr(before, name):
            continue
        if name in STAY or (counted and name != "time_limit"):
            why = "processors are only counted here, and time_limit alone can be changed" if counted else "that stays"
            raise Refused(f"answered {name}={short(value)}; {why}", before)
        if not _takes(name, value) or (counted and not _is_finite(value)):
            raise Refused(f"answered {name}={short(value)}; the field takes {_WORDS[name]}", before)
    return answer


def update(answer: Any, before: JobUpdate, job: object | None = None) -> JobUpdate | Reject:
    """What a command changes of a job from now on, or that it is refused.

    Args:
        answer: of the hook.
        before: what it changed.
        job: what it is about, with its ``id``.

    Raises:
        Refused: no such answer, or a value that a field does not take.
    """
    if isinstance(answer, Reject) and isinstance(answer.reason, str) and answer.reason:
        return answer
    if not isinstance(answer, JobUpdate):
        raise Refused(
            f"answered {short(answer)}; answer view.update._replace(...), Reject(reason) with words, or None", job
        )
    for name, value in answer._asdict().items():
        if value is None or value == getattr(before, name):
            continue
        words = _UPDATES.get(name) or _WORDS[name]
        if not (_CHECKS[name](value) if name in _CHECKS else _takes(name, value)):
            raise Refused(f"answered {name}={short(value)}; the field takes {words}", job)
    return answer


def _whole(value: Any) -> bool:
    return type(value) is int


def _counts(value: Any) -> bool:
    return type(value) is int and value >= 0


def _lasts(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value < math.inf


_UPDATES = {
    "priority": "a whole number, 0 or more, infinity, or None",
    "site_factor": "a whole number, or None",
    **dict.fromkeys(("begin", "deadline"), "seconds, 0 or more, or None"),
    "dependency": "text, or None",
    "array_limit": "a whole number, 0 or more, or None",
}
"""What the fields of an update take that no submission has, or in another form."""
_CHECKS: Mapping[str, Callable[[Any], bool]] = {
    "priority": lambda value: value == math.inf or _counts(value),
    "site_factor": _whole,
    "begin": _lasts,
    "deadline": _lasts,
    "dependency": lambda value: isinstance(value, str),
    "array_limit": _counts,
}


_TEXT, _TEXTS = "text", "a tuple of texts"
_NUMBER, _SECONDS = "a whole number, 0 or more, of at most 31 bits, or None", "seconds, more than 0, or None"
_POSITIVE, _MEMORY = "a whole number, 1 or more, of at most 31 bits, or None", "mebibytes, 0 or more, or None"
_WORDS = {
    **dict.fromkeys(("name", "account", "qos", "constraint", "reservation", "prefer", "exclusive_to"), _TEXT),
    **dict.fromkeys(("min_nodes", "max_nodes", "tasks", "cpus_per_task"), _NUMBER),
    **dict.fromkeys(("memory_per_node", "memory_per_cpu"), _MEMORY),
    **dict.fromkeys(("tasks_per_node", "tasks_per_core", "tasks_per_socket", "min_cpus", "sockets"), _NUMBER),
    **dict.fromkeys(("cores_per_socket", "threads_per_core"), _NUMBER),
    **dict.fromkeys(("time_limit", "time_min"), _SECONDS),
    **dict.fromkeys(("partitions", "gres", "licenses", "node_list", "exclude"), _TEXTS),
    **dict.fromkeys(("held", "exclusive", "share", "contiguous"), "True or False"),
    **dict.fromkeys(("tasks", "cpus_per_task"), _POSITIVE),
    "nice": "a whole number",
    "requeue": "True, False or None",
}
"""What each field of a submission takes."""


def _takes(name: str, value: Any) -> bool:
    """Whether a field of a submission takes a value."""
    words = _WORDS[name]
    if words in (_NUMBER, _POSITIVE, _MEMORY):
        most = LARGEST_MEMORY if words == _MEMORY else LARGEST_COUNT
        return value is None or (type(value) is int and (words == _POSITIVE) <= value <= most)
    if words == _SECONDS:
        return value is None or (type(value) in (int, float) and value > 0)
    if words == _TEXTS:
        return isinstance(value, tuple) and all(isinstance(each, str) for each in value)
    if name == "nice":
        return type(value) is int
    if words == _TEXT:
        return isinstance(value, str)
    return value in (True, False) or (value is None and name == "requeue")


def plan(answer: float | Plan, job: Job) -> Plan:
    """Planned seconds of a job, one number for everything or three.

    Raises:
        Refused: one of them is not more than 0 and at most the job's limit.
    """
    if isinstance(answer, Plan):
        return Plan(*(_planned(seconds, job) for seconds in answer))
    return Plan(*[_planned(answer, job)] * 3)


def plans(answer: Sequence[float], jobs: Sequence[Job]) -> list[Plan]:
    """Planned seconds of each waiting job.

    Raises:
        Refused: another length, or as :func:`plan`.
    """
    if _is_unordered(answer) or _length(answer) != len(jobs):
        raise Refused(f"answered {short(answer)} for {len(jobs)} jobs; answer seconds for each, or None", jobs[0])
    return [Plan(*[_planned(seconds, job)] * 3) for job, seconds in zip(jobs, answer, strict=True)]


def order(answer: Sequence[Job], to_try: Sequence[Job]) -> list[Job]:
    """Jobs out of those that are to be tried, each once.

    Raises:
        Refused: no list, a job that is not among them, a job twice.
    """
    if _length(answer) is None:
        raise Refused(f"answered {short(answer)}; answer a list of jobs")
    allowed = set(map(id, to_try))
    for job in answer:
        if id(job) not in allowed:
            known = isinstance(job, Job) and any(job is other for other in to_try)
            fault = "twice; name each job once" if known else "which is not in view.to_try"
            raise Refused(f"named {short(job)} {fault}", job)
        allowed.remove(id(job))
    return list(answer)


def hole(answer: Hole, offered: Sequence[Hole]) -> Hole:
    """One of the holes that were looked at.

    Raises:
        Refused: none of them.
    """
    if not any(answer is one for one in offered):
        raise Refused(
            f"answered {short(answer)}; answer a hole that view.holes gave in this call, or None for the first"
        )
    return answer


def victims(answer: Sequence[Run], preemptor: Job, current: Sequence[Run], requeued: bool = True) -> list[Run]:
    """Runs of now that may be preempted, each once.

    Args:
        answer: of the hook.
        preemptor: the job for which they go.
        current: the runs of now.
        requeued: whether they would be requeued, which not every job may be.

    Raises:
        Refused: no list, a run that is over, a run twice, a job that may not be requeued.
    """
    if _length(answer) is None:
        raise Refused(f"answered {short(answer)}; answer a list of runs", preemptor)
    named: set[Run] = set()
    for run in answer:
        if not isinstance(run, Run) or run not in current:
            raise Refused(f"named {short(run)}, which is not in view.running", preemptor)
        if run in named:
            raise Refused(f"named the run of job {run.job.id} twice; name each run once", preemptor)
        if requeued and not run.job.may_requeue:
            raise Refused(
                f"named the run of job {run.job.id}, which may not be requeued; leave out jobs whose may_requeue "
                "is False",
                preemptor,
            )
        named.add(run)
    return list(answer)


def preempt_mode(answer: str, victim: Job) -> str:
    """What becomes of a victim.

    Raises:
        Refused: it is no word for that.
    """
    if answer not in PREEMPT_MODES:
        raise Refused(f"answered {short(answer)}; what becomes of a run is one of {', '.join(PREEMPT_MODES)}", victim)
    return answer


def preempt_grace(answer: float, victim: Job) -> float:
    """Seconds that a victim is given.

    Raises:
        Refused: not finite, or less than 0.
    """
    if not (_is_finite(answer) and answer >= 0):
        raise Refused(f"answered {short(answer)}; a grace time is finite seconds, 0 or more", victim)
    return float(answer)


def start(decision: Start, state: State, free: int) -> Job:
    """The job of a start that can be carried out on ``free`` processors, where there are no tiers.

    Raises:
        Refused: it does not wait, does not fit, or asks for a tier.
    """
    job = waiting(decision, state)
    if decision.where is not None or decision.tier != FIRST_TIER or decision.setup:
        raise Refused(
            "Start: where, tier and setup are for an ExecutionType with tiers, such as execution/two_tier; this one "
            "has none",
            job,
        )
    if job.processors > free:
        raise Refused(
            f"Start: it needs {job.processors} processors and {free} are free; "
            "start what fits, or yield MakeRoom first",
            job,
        )
    return job


def reserve(decision: Reserve, state: State, now: float) -> Job:
    """The job of a reservation that can be noted; it may be planned for never (infinity).

    Raises:
        Refused: it does not wait, or the time has passed.
    """
    job = waiting(decision, state)
    try:
        fits = decision.time >= now
    except TypeError:
        fits = False
    if not fits:
        raise Refused(f"Reserve: the time {short(decision.time)} is not now ({now:g}) or later", job)
    return job


def wake(decision: Wake, now: float) -> float:
    """The time of a wake-up: an instant of the clock, and late enough to be another one than now.

    Raises:
        Refused: it is not.
    """
    if not (_is_finite(decision.time) and decision.time >= now + 1e-6):
        raise Refused(f"Wake: the time {short(decision.time)} is not later than now ({now:g})")
    if decision.time > LATEST:
        raise Refused(f"Wake: the time {short(decision.time)} is later than any instant of the clock ({LATEST:g})")
    return decision.time


def start_in_tier(decision: Start, state: State, tiers: Tiers, total: int) -> Processors:
    """The processors of a start that can be carried out.

    Raises:
        Refused: it does not wait, or cannot be there.
    """
    job = waiting(decision, state)
    seconds("Start", "setup", decision.setup, job)
    return _processors_of("Start", decision.tier, decision.where, job, _idle("Start", decision.tier, tiers, job), total)


def start_on_block(decision: Start, state: State, block_state: BlockState) -> int | None:
    """The block of a start that can be carried out; None if the plugin in the SelectType slot is to choose.

    Raises:
        Refused: it does not wait, cannot be there, or asks for a tier.
    """
    job = waiting(decision, state)
    if decision.tier != FIRST_TIER or decision.setup:
        raise Refused("Start: tier and setup are for an ExecutionType with tiers; here are blocks", job)
    if decision.where is None:
        return None
    return _free_block(f"Start: where is {short(decision.where)}", decision.where, job, block_state, block_state.free)


def block(
    answer: int, job: Job, block_state: BlockState, candidates: Sequence[Run] = (), beside: int | None = None
) -> int:
    """A block for a job, of which nothing is in use but by candidates.

    Raises:
        Refused: there is no such block, it is too small, or in use.
    """
    free = block_state.free_without({run.job for run in candidates}) if candidates else block_state.free
    found = _free_block(f"answered {short(answer)}", answer, job, block_state, free)
    if beside is not None and block_state.blocks.overlap(found, beside):
        raise Refused(f"answered block {found}, which takes something of block {beside} (view.beside)", job)
    return found


def _free_block(said: str, number: object, job: Job, block_state: BlockState, free: Processors) -> int:
    blocks = block_state.blocks
    if type(number) is not int or not 0 <= number < len(blocks):
        raise Refused(f"{said}; blocks are numbered from 0 to {len(blocks) - 1}", job)
    if blocks.sizes[number] < job.processors:
        raise Refused(f"{said}, a block of {blocks.sizes[number]} processors; the job needs {job.processors}", job)
    if not free >> number & 1:
        raise Refused(f"{said}, block {blocks.names[number]}, of which something is in use", job)
    return number


def no_block(job: Job) -> Refused:
    """What is to be said of a start for which there is no block."""
    return Refused(
        f"Start: no block that holds its {job.processors} processors is free; ask view.block_state.find(job) first, or "
        "yield MakeRoom",
        job,
    )


def move(decision: Move, state: State, tiers: Tiers | None, total: int) -> tuple[Stay, Processors]:
    """The stay that a move ends, and the processors to which it leads.

    Raises:
        Refused: the job does not run, cannot be there, or would stay where it is.
    """
    job = running(decision, state)
    stay = tiers.stay(job) if tiers is not None else None
    if tiers is None or stay is None:
        raise Refused("Move: there are no tiers; it is for an ExecutionType such as execution/two_tier", job)
    seconds("Move", "cost", decision.cost, job)
    if decision.planned is not None:
        seconds("Move", "planned", decision.planned, job)
    idle = _idle("Move", decision.tier, tiers, job)
    if decision.tier == stay.tier:
        idle |= stay.where
    wanted = stay.where if decision.where is None else decision.where
    where = _processors_of("Move", decision.tier, wanted, job, idle, total)
    if decision.tier == stay.tier and where == stay.where:
        raise Refused(f"Move: it is in {stay.tier} on these processors already", job)
    return stay, where


def preempt(decision: Preempt, state: State) -> Job:
    """The job whose run is to be preempted.

    Raises:
        Refused: it does not run, or may not be requeued.
    """
    job = running(decision, state)
    if not job.may_requeue:
        raise Refused("Preempt: the job may not be requeued; leave out jobs whose may_requeue is False", job)
    if decision.by is not None and (not isinstance(decision.by, Job) or state(decision.by) is None):
        raise Refused(f"Preempt: by is {short(decision.by)}, which is no job of this simulation", job)
    return job


def rates(answer: Sequence[float], stays: Sequence[Stay]) -> list[float]:
    """One rate a run: finite, and 0 or more.

    Raises:
        Refused: another length, or what is no such number.
    """
    first = stays[0].job
    if _is_unordered(answer) or _length(answer) != len(stays):
        raise Refused(f"answered {short(answer)} for {len(stays)} runs; answer one rate for each", first)
    for stay, rate in zip(stays, answer, strict=True):
        if not (_is_finite(rate) and rate >= 0):
            raise Refused(f"answered {short(rate)}; a rate is a finite number, 0 or more", stay.job)
    return list(map(float, answer))


def seconds(kind: str, name: str, value: float, job: Job) -> None:
    """Check a number of seconds of a decision.

    Raises:
        Refused: it is not finite, or less than 0.
    """
    if not (_is_finite(value) and value >= 0):
        raise Refused(f"{kind}: {name} is {short(value)}; give finite seconds, 0 or more", job)


def _idle(kind: str, tier: str, tiers: Tiers, job: Job) -> Processors:
    if tier not in tiers.names:
        raise Refused(f"{kind}: there is no tier {short(tier)}; tiers are {', '.join(tiers.names)}", job)
    return tiers.idle(tier)


def _processors_of(kind: str, tier: str, where: object, job: Job, idle: Processors, total: int) -> Processors:
    """The wanted processors, or the highest ones that are idle."""
    if where is None:
        if idle.bit_count() < job.processors:
            raise Refused(
                f"{kind}: it needs {job.processors} processors and {idle.bit_count()} are idle in {tier}", job
            )
        return highest(idle, job.processors)
    if type(where) is not int or where < 0 or where & ~all_processors(total):
        raise Refused(f"{kind}: where is {short(where)}; it is a set of processors from 0 to {total - 1}", job)
    if where.bit_count() != job.processors:
        raise Refused(f"{kind}: it needs {job.processors} processors, where has {where.bit_count()}", job)
    if where & ~idle:
        raise Refused(f"{kind}: processors {in_words(where & ~idle)} are not idle in {tier}", job)
    return where


def running(decision: Move | Preempt, state: State) -> Job:
    """The job of a decision, which must be one that runs.

    Raises:
        Refused: it is no job, not of this simulation, or does not run.
    """
    return _in_state(decision.job, kind_of(decision), state, "RUNNING", "run")


def waiting(decision: Start | Reserve | MakeRoom, state: State) -> Job:
    """The job of a decision, which must be one that waits.

    Raises:
        Refused: it is no job, not of this simulation, or does not wait.
    """
    return _in_state(decision.job, kind_of(decision), state, "PENDING", "wait")


def kind_of(decision: Decision) -> str:
    """The word for a decision."""
    return "Start" if isinstance(decision, Start) else type(decision).__name__


def _in_state(job: object, kind: str, state: State, wanted: str, verb: str) -> Job:
    if not isinstance(job, Job):
        raise Refused(f"{kind}: {short(job)} is not a job of the queue")
    word = state(job)
    if word is None:
        raise Refused(f"{kind}: this job is not of this simulation; keep no jobs from another one", job)
    if word != wanted:
        raise Refused(f"{kind}: the job does not {verb}, it is {word}", job)
    return job


def no_decision(yielded: object) -> Refused:
    """What is to be said of something that was yielded and is no decision."""
    return Refused(
        f"yielded {short(yielded)}; a scheduler yields decisions: Start, Move, Preempt, Reserve, MakeRoom, Wake, Pause "
        "from slurm_sim_plugins"
    )


def pause(decision: Pause, hook: str) -> float:
    """For how many seconds a cycle pauses.

    Raises:
        Refused: it is no number of seconds, or a loop that takes no time.
    """
    if hook != "backfill":
        raise Refused("Pause: only a cycle of backfill takes time, the hook backfill")
    if not isinstance(decision.seconds, int | float) or not 0 < decision.seconds < LATEST:
        raise Refused(f"Pause: {short(decision.seconds)} is no number of seconds above 0")
    return float(decision.seconds)


def no_generator(answer: object) -> Refused:
    """What is to be said of an answer of ``schedule`` that is no generator."""
    return Refused(f"answered {short(answer)}; it must be a generator: yield each decision")


def returned(value: object) -> Refused:
    """What is to be said of a generator of decisions that returned something, which is lost."""
    return Refused(f"returned {short(value)}; nothing comes of that: yield each decision, and return nothing")


def short(value: object) -> str:
    """A value in at most 100 characters."""
    text = repr(value)
    return text if len(text) <= 100 else text[:97] + "..."


def _planned(seconds: float, job: Job) -> float:
    if not _is_finite(seconds) or not 0 < seconds <= job.time_limit:
        raise Refused(
            f"answered {short(seconds)}; a planned time is more than 0 s and at most the limit of {job.time_limit:g} s",
            job,
        )
    return float(seconds)


def _is_unordered(answer: object) -> bool:
    return not isinstance(answer, list | Priorities) and isinstance(answer, Mapping | Set)


def _length(answer: Any) -> int | None:
    try:
        return len(answer)
    except TypeError:
        return None


def _is_finite(number: Any) -> bool:
    try:
        return math.isfinite(number)
    except (TypeError, ValueError, OverflowError):
        return False
