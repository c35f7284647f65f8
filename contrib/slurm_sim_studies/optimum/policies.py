"""How far policies are from the best schedule of the same jobs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from emulator.config.preemption import Preemption
from slurm_sim_plugins.errors import ConfigurationError
from slurm_sim_plugins.select.blocks import InBlocks
from slurm_sim_studies.optimum.check import TOLERANCE
from slurm_sim_studies.optimum.optimise import Optimum
from slurm_sim_studies.optimum.problem import MIRA, Job, Problem, mira_checkpoint

if TYPE_CHECKING:
    from emulator.accounting.records import Records

SELECT = InBlocks.name


@dataclass(frozen=True)
class Standing:
    """What a policy made of the jobs of a problem.

    Attributes:
        name: of the policy.
        batch_mean: the batch jobs' mean slowdown; NaN if one of them did not end.
        realtime_mean: the real-time jobs'; NaN without any.
        keeps_bound: whether that is within the bound of the problem.
    """

    name: str
    batch_mean: float
    realtime_mean: float
    keeps_bound: bool

    def above(self, optimum: Optimum) -> float:
        """By what part of the best schedule's mean the policy's is larger.

        It can be below 0 for a policy that does not keep the bound, and for one that does
        only if the schedule is not proven to be the best.
        """
        return self.batch_mean / optimum.batch_mean - 1


def standing(name: str, problem: Problem, records: Records) -> Standing:
    """Measure a policy by what its simulation gave; the run times are those of the problem."""
    ends = dict(zip(records.jobs["job_id"].tolist(), np.asarray(records.jobs["end"], float).tolist(), strict=True))
    realtime = _mean(problem.realtime, ends)
    keeps = not realtime > float(problem.bound + TOLERANCE)
    return Standing(name, _mean(problem.batch, ends), realtime, keeps)


def preemption_of(problem: Problem) -> Preemption:
    """What a preemption costs a policy: what it costs the schedule, if that is one rule for all jobs.

    Where it is not, a policy that preempts kills.
    """
    costs = {job.checkpoint for job in problem.batch}
    if None in costs:
        return Preemption()
    if all(job.checkpoint == mira_checkpoint(job.size) for job in problem.batch):
        return MIRA
    cost = costs.pop()
    if costs or cost is None:
        return Preemption()
    return Preemption(mode="CHECKPOINT", checkpoint="jit", cost=float(cost), restart_cost=float(cost))


def options_of_blocks(problem: Problem, file: Path | None = None) -> dict[str, str | int]:
    """Options of ``select/blocks`` that make it give out the blocks of a problem.

    Args:
        problem: on a machine of blocks.
        file: where they were read from; None for aligned ones.

    Raises:
        ConfigurationError: it would give out others.
    """
    machine = problem.machine
    assert not isinstance(machine, int)
    options: dict[str, str | int] = {"midplane": machine.nodes}
    if file is not None:
        options = {"file": str(file)}
    others = InBlocks(**options).blocks(machine.machine)  # type: ignore[arg-type]
    if (others.sizes, others.takes) != (machine.sizes, machine.takes):
        raise ConfigurationError(
            f"{problem.name}: {SELECT} has other blocks on a machine of {machine.machine:,} nodes than the problem; "
            "leave --policy out, or name a file with --blocks"
        )
    return options


def _mean(jobs: tuple[Job, ...], ends: Mapping[int, float]) -> float:
    if not jobs:
        return math.nan
    return math.fsum((ends[job.id] - job.submit) / job.run for job in jobs) / len(jobs)


def order_of_starts(records: Records) -> list[int]:
    """The job ids in the order in which a policy first started them."""
    firsts: dict[int, float] = {}
    for job, start in zip(records.runs["job_id"].tolist(), records.runs["start"].tolist(), strict=True):
        firsts[job] = min(start, firsts.get(job, start))
    return sorted(firsts, key=lambda job: (firsts[job], job))
