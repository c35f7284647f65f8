"""An independent check of schedules: it shares nothing with the solvers but the problem.

It goes by the definitions: at every instant at which something starts it looks at all that
is on the machine then.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

from slurm_sim_studies.optimum.problem import Job, Problem
from slurm_sim_studies.optimum.schedule import Part, Schedule, Stay

TOLERANCE = Fraction(1, 10**6)
"""By so much a mean slowdown may exceed the bound: solvers count in rounded numbers."""


def faults(problem: Problem, schedule: Schedule, *, objective: Fraction | None = None) -> list[str]:
    """What is wrong with a schedule, in words; nothing for one that is right.

    Args:
        problem: what it is a schedule of.
        schedule: when and where each job runs.
        objective: what the solver says that the sum of the batch jobs' slowdowns is.
    """
    missing = [job.id for job in problem.jobs if job.id not in schedule]
    if missing:
        return [f"job {missing[0]} is nowhere in the schedule"]
    found = [fault for job in problem.jobs for fault in _of_job(problem, job, schedule[job.id])]
    found += _of_machine(problem, schedule)
    found += _of_bound(problem, schedule)
    if objective is not None and objective != _batch_sum(problem, schedule):
        found.append(f"the slowdowns add up to {float(_batch_sum(problem, schedule))}, not to {float(objective)}")
    return found


def _of_job(problem: Problem, job: Job, stay: Stay) -> list[str]:
    """Whether one job begins in time, does all its work, and pays for its preemption."""
    found = []
    if stay.parts[0].start < job.submit:
        found.append(f"job {job.id} starts at {stay.parts[0].start}, before its submission")
    if any(part.end <= part.start for part in stay.parts):
        found.append(f"job {job.id} has a part without length")
    lengths = [part.end - part.start for part in stay.parts]
    if len(lengths) == 1:
        if lengths[0] != job.run:
            found.append(f"job {job.id} runs {lengths[0]} s instead of {job.run} s")
    elif len(lengths) == 2:
        found += _of_two_parts(problem, job, stay, lengths)
    else:
        found.append(f"job {job.id} has {len(lengths)} parts")
    return found


def _of_two_parts(problem: Problem, job: Job, stay: Stay, lengths: list[int]) -> list[str]:
    if job.realtime or job.checkpoint is None:
        return [f"job {job.id} is preempted, which it may not be"]
    found = []
    work = [length - job.checkpoint for length in lengths]
    if sum(work) != job.run:
        found.append(f"job {job.id} works {sum(work)} s in two parts instead of {job.run} s")
    if any(part < problem.least_part * job.run for part in work):
        found.append(f"job {job.id} has a part that works {min(work)} s of {job.run} s only")
    if stay.parts[1].start < stay.parts[0].end:
        found.append(f"job {job.id} goes on before it was preempted")
    return found


def _of_machine(problem: Problem, schedule: Schedule) -> list[str]:
    if isinstance(problem.machine, int):
        return _of_processors(problem, problem.machine, schedule)
    found = []
    for job in problem.jobs:
        block = schedule[job.id].block
        if block is None or problem.machine.sizes[block] != problem.machine.size_for(job.size):
            found.append(f"job {job.id} of {job.size} nodes runs on block {block}, which is not of its size")
    if found:
        return found
    for one, other in combinations(problem.jobs, 2):
        first, second = schedule[one.id], schedule[other.id]
        if first.block is None or second.block is None or not problem.machine.overlap(first.block, second.block):
            continue
        if _meet(first, second):
            found.append(f"jobs {one.id} and {other.id} use the same midplanes at the same time")
    return found


def _of_processors(problem: Problem, processors: int, schedule: Schedule) -> list[str]:
    found = []
    for instant in sorted({part.start for stay in schedule.values() for part in stay.parts}):
        used = sum(job.size for job in problem.jobs if _runs_at(schedule[job.id], instant))
        if used > processors:
            found.append(f"at {instant} jobs use {used} of {processors} processors")
    return found


def _runs_at(stay: Stay, instant: int) -> bool:
    return any(part.start <= instant < part.end for part in stay.parts)


def _meet(one: Stay, other: Stay) -> bool:
    return any(_overlap(a, b) for a in one.parts for b in other.parts)


def _overlap(one: Part, other: Part) -> bool:
    return one.start < other.end and other.start < one.end


def _of_bound(problem: Problem, schedule: Schedule) -> list[str]:
    if not problem.realtime:
        return []
    total = sum(Fraction(schedule[job.id].parts[-1].end - job.submit, job.run) for job in problem.realtime)
    mean = total / len(problem.realtime)
    if mean > problem.bound + TOLERANCE:
        return [f"the real-time jobs' mean slowdown is {float(mean)}, above {float(problem.bound)}"]
    return []


def _batch_sum(problem: Problem, schedule: Schedule) -> Fraction:
    total = Fraction(0)
    for job in problem.jobs:
        if not job.realtime:
            total += Fraction(schedule[job.id].parts[-1].end - job.submit, job.run)
    return total
