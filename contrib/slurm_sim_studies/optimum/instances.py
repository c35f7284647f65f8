"""Seeded random problems: the paper's kind, and such that jobs contend for the machine."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from slurm_sim_plugins.blocks import MIDPLANE, aligned, doubling_sizes
from slurm_sim_studies.optimum.problem import BOUND, LOOSEST, Job, Problem, mira_checkpoint
from slurm_sim_studies.optimum.realtime import least_mean

MIDPLANES = 16
RUNS = (1200, 14400)
"""Shortest and longest run time in seconds, each as likely as any between; the paper is silent."""
CONTENDED_SIZES = (2048, 4096, 8192)
"""A quarter of the machine, a half, all of it."""
CONTENDED_SPAN = 1800
"""Seconds in which all jobs are submitted."""
PAPER_SPAN = 28800
"""As :data:`CONTENDED_SPAN`, for the paper's kind. The paper is silent; over so long the best schedules
have about the slowdowns that it prints."""


def contended(seed: int, *, batch: int = 5, realtime: int = 2) -> Problem:
    """Wide jobs on 16 midplanes, all submitted within half an hour.

    Draws whose real-time jobs cannot have a mean slowdown of 2, even alone, are made again.

    Args:
        seed: of the draws.
        batch: batch jobs.
        realtime: real-time jobs.
    """
    random = np.random.default_rng(seed)
    while True:
        problem = _draw(random, batch, realtime, MIDPLANES, CONTENDED_SIZES, CONTENDED_SPAN, f"contended {seed}")
        if least_mean(problem) <= LOOSEST:
            return problem


def of_the_paper(seed: int, *, batch: int = 5, realtime: int = 2, midplanes: int = MIDPLANES) -> Problem:
    """A random log as in section 7.3: sizes of 512, 1024, ... nodes up to the whole machine, each as likely.

    The paper does not say how long its jobs run nor when they are submitted. Here both are
    uniform: run times from 20 minutes to 4 hours, submissions within 8 hours.

    Args:
        seed: of the draws.
        batch: batch jobs.
        realtime: real-time jobs.
        midplanes: of the machine; with 16 it is the paper's, whose "8096 nodes" are 8192.
    """
    random = np.random.default_rng(seed)
    sizes = doubling_sizes(midplanes)
    while True:
        problem = _draw(random, batch, realtime, midplanes, sizes, PAPER_SPAN, f"random log {seed}")
        if least_mean(problem) <= LOOSEST:
            return problem


def _draw(
    random: np.random.Generator,
    batch: int,
    realtime: int,
    midplanes: int,
    sizes: Sequence[int],
    span: int,
    name: str,
) -> Problem:
    jobs = []
    for number in range(batch + realtime):
        size = int(random.choice(sizes))
        run = int(random.integers(RUNS[0], RUNS[1] + 1))
        submit = int(random.integers(0, span + 1))
        jobs.append(Job(number + 1, submit, run, size, number >= batch, mira_checkpoint(size)))
    return Problem(tuple(jobs), aligned(midplanes, doubling_sizes(midplanes)), BOUND, name=name)


def as_processors(problem: Problem) -> Problem:
    """The same jobs on a machine that counts its processors, one for each midplane's worth of nodes.

    That is what policies know; a schedule on blocks is one on processors, too.
    """
    assert not isinstance(problem.machine, int)
    jobs = tuple(
        Job(job.id, job.submit, job.run, problem.machine.size_for(job.size) // MIDPLANE, job.realtime, job.checkpoint)
        for job in problem.jobs
    )
    count = problem.machine.machine // MIDPLANE
    return Problem(jobs, count, problem.bound, problem.least_part, problem.name)
