"""The offline problem, as plain data, and all that can be wrong with it before a solver starts.

Times are whole seconds: starts, ends and the instant of a preemption lie on that grid.
Source: the paper on real-time jobs on Mira, section 5.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

from emulator.config.preemption import Preemption
from slurm_sim_plugins.blocks import Blocks
from slurm_sim_plugins.errors import ConfigurationError, InputError

BOUND = Fraction(6, 5)
"""Of the real-time jobs' mean slowdown; the paper's, section 7.3."""
LOOSEST = Fraction(2)
"""To this a bound that cannot be kept is relaxed at most; the paper's, section 5.1."""
LEAST_PART = Fraction(1, 10)
"""No part of a preempted job does less of its work; the paper's, equation 51."""
MIRA = Preemption(mode="CHECKPOINT", checkpoint="jit", gb_per_processor=16.0)
"""What it costs to preempt a job on Mira; equation 34."""


def mira_checkpoint(nodes: int) -> int:
    """Seconds to write or to read a checkpoint of so many nodes of Mira, rounded up."""
    return math.ceil(MIRA.write_cost(nodes))


@dataclass(frozen=True)
class Job:
    """A job of the problem.

    Attributes:
        id: no two of a problem are alike.
        submit: second of its submission; it starts no sooner.
        run: seconds of its work, 1 or more.
        size: processors, or nodes of a machine of blocks.
        realtime: whether it counts towards the bound, not towards the objective; it is
            never preempted.
        checkpoint: seconds to write its checkpoint, and as many to read it; None for a job
            that cannot be preempted.
    """

    id: int
    submit: int
    run: int
    size: int
    realtime: bool = False
    checkpoint: int | None = None


@dataclass(frozen=True)
class Problem:
    """Jobs, a machine, and what a schedule must keep.

    Attributes:
        jobs: real-time and batch jobs, of these 1 or more.
        machine: how many processors there are, any of which will do, or the blocks.
        bound: of the real-time jobs' mean slowdown, 1 or more.
        least_part: the share of its work that each part of a preempted job does at least.
        name: what to call it.

    Raises:
        ConfigurationError: a bound or a share that makes no sense.
        InputError: a job that cannot be part of any schedule; the message names it.
    """

    jobs: tuple[Job, ...]
    machine: int | Blocks
    bound: Fraction = BOUND
    least_part: Fraction = LEAST_PART
    name: str = field(default="workload", compare=False)

    def __post_init__(self) -> None:
        _check_options(self)
        _check_jobs(self)

    @property
    def capacity(self) -> int:
        """Processors of the machine, or its nodes."""
        return self.machine if isinstance(self.machine, int) else self.machine.machine

    @cached_property
    def batch(self) -> tuple[Job, ...]:
        """The jobs of the objective."""
        return tuple(job for job in self.jobs if not job.realtime)

    @cached_property
    def realtime(self) -> tuple[Job, ...]:
        """The jobs of the bound."""
        return tuple(job for job in self.jobs if job.realtime)

    @cached_property
    def horizon(self) -> int:
        """A second by which some best schedule is over.

        Once all are submitted, a machine that idles could do everything after that sooner.
        """
        lengths = (job.run + 2 * (job.checkpoint or 0) * self.preemptible(job) for job in self.jobs)
        return max(job.submit for job in self.jobs) + sum(lengths)

    def least(self, job: Job) -> int:
        """Seconds of work that each part of a preempted job does at least."""
        return max(1, math.ceil(self.least_part * job.run))

    def preemptible(self, job: Job) -> bool:
        """Whether the job may run in two parts, and is long enough for two."""
        return not job.realtime and job.checkpoint is not None and 2 * self.least(job) <= job.run

    def blocks_for(self, job: Job) -> tuple[int, ...]:
        """The blocks on which a job may run, by index; none on a machine of processors."""
        return () if isinstance(self.machine, int) else self.machine.blocks_for(job.size)

    def takes(self, block: int) -> int:
        """What a block takes, as a set; see :class:`slurm_sim_plugins.blocks.Blocks`."""
        assert not isinstance(self.machine, int)
        return self.machine.takes[block]

    def of(self, jobs: Sequence[Job]) -> Problem:
        """The same problem with some of its jobs only: none of them fares worse than among all."""
        return Problem(tuple(jobs), self.machine, self.bound, self.least_part, self.name)

    def with_bound(self, bound: Fraction) -> Problem:
        """The same problem under another bound."""
        return Problem(self.jobs, self.machine, bound, self.least_part, self.name)


def _check_options(problem: Problem) -> None:
    if isinstance(problem.machine, int) and problem.machine < 1:
        raise ConfigurationError(f"a machine of {problem.machine} processors cannot run a job; give 1 or more")
    if problem.bound < 1:
        raise ConfigurationError(
            f"the bound of the real-time jobs' mean slowdown is {float(problem.bound):g}, which no schedule can keep: "
            "a job that never waits has 1; give 1 or more, such as 1.2"
        )
    if not 0 <= problem.least_part <= Fraction(1, 2):
        raise ConfigurationError(
            f"the least part of a preempted job is {float(problem.least_part):g}; two parts make up a job: "
            "give 0 to 0.5, such as 0.1"
        )


def _check_jobs(problem: Problem) -> None:
    seen: set[int] = set()
    for job in problem.jobs:
        if job.id in seen:
            raise InputError(f"{problem.name}: two jobs have the id {job.id}; give each its own")
        seen.add(job.id)
        _check_job(problem, job)
    if not problem.batch:
        raise InputError(
            f"{problem.name}: no batch job, so that there is nothing to minimise; the objective is the batch jobs' "
            "slowdown: mark fewer jobs as real-time"
        )


def _check_job(problem: Problem, job: Job) -> None:
    largest = problem.machine if isinstance(problem.machine, int) else problem.machine.largest
    where = f"{problem.name}: job {job.id}"
    if job.run < 1:
        raise InputError(f"{where} runs {job.run} s, and has no slowdown then; leave it out or give it 1 s or more")
    if job.size < 1:
        raise InputError(f"{where} takes {job.size} processors; give it 1 or more or leave it out")
    if job.size > largest:
        what = "the machine has" if isinstance(problem.machine, int) else "the largest block has"
        raise InputError(f"{where} takes {job.size}, {what} {largest}; leave it out or take a larger machine")
    if job.checkpoint is not None and job.checkpoint < 0:
        raise InputError(f"{where} has a checkpoint of {job.checkpoint} s; give 0 or more")
