"""Which blocks stand for one another, and which jobs cannot run side by side."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from slurm_sim_studies.optimum.problem import Job, Problem

Exchange = dict[int, int]
"""Block by block, the one that replaces it; those that stay are left out."""


def exchanges(problem: Problem) -> list[Exchange]:
    """Ways to exchange two parts of a machine of blocks under which every schedule remains one.

    Two neighbouring blocks of one size are exchanged, piece by piece, if that turns every
    block that a job of the problem may run on into another of its size.
    """
    used = sorted({block for job in problem.jobs for block in problem.blocks_for(job)})
    pieces = _pieces([problem.takes(block) for block in used])
    sets = {
        block: frozenset(number for number, piece in enumerate(pieces) if piece & problem.takes(block))
        for block in used
    }
    found = []
    for blocks in {problem.blocks_for(job): None for job in problem.jobs}:
        for one, other in pairwise(blocks):
            exchange = _exchange(problem, sets, one, other)
            if exchange:
                found.append(exchange)
    return found


def _exchange(problem: Problem, sets: dict[int, frozenset[int]], one: int, other: int) -> Exchange:
    """What becomes of each block if two are exchanged; nothing if that leaves no machine of the same kind."""
    assert not isinstance(problem.machine, int)
    first, second = sorted(sets[one]), sorted(sets[other])
    if len(first) != len(second) or set(first) & set(second):
        return {}
    swapped = dict(zip(first + second, second + first, strict=True))
    sizes = problem.machine.sizes
    known = {(sizes[block], pieces): block for block, pieces in sets.items()}
    exchange = {}
    for block, pieces in sets.items():
        image = known.get((sizes[block], frozenset(swapped.get(piece, piece) for piece in pieces)))
        if image is None:
            return {}
        if image != block:
            exchange[block] = image
    return exchange


def pieces(problem: Problem) -> list[int]:
    """The parts of a machine of blocks that are always taken together, as sets of midplanes and wires."""
    return _pieces(sorted({problem.takes(block) for job in problem.jobs for block in problem.blocks_for(job)}))


def _pieces(takes: Sequence[int]) -> list[int]:
    found: list[int] = []
    for taken in takes:
        split = []
        for piece in found:
            split += [part for part in (piece & taken, piece & ~taken) if part]
            taken &= ~piece
        found = [*split, taken] if taken else split
    return sorted(found, key=lambda piece: piece & -piece)


def exclusive(problem: Problem, one: Job, other: Job) -> bool:
    """Whether two jobs can never be on the machine at the same time."""
    if isinstance(problem.machine, int):
        return one.size + other.size > problem.machine
    machine = problem.machine
    return all(machine.overlap(a, b) for a in problem.blocks_for(one) for b in problem.blocks_for(other))


def cliques(problem: Problem) -> list[list[Job]]:
    """Sets of two or more jobs of which one at a time can be on the machine; every such pair is in one."""
    found: list[list[Job]] = []
    seen: set[tuple[int, int]] = set()
    for job in problem.jobs:
        for other in problem.jobs:
            if job.id < other.id and (job.id, other.id) not in seen and exclusive(problem, job, other):
                found.append(_grown(problem, [job, other]))
                seen |= {(a.id, b.id) for a in found[-1] for b in found[-1]}
    return found


def _grown(problem: Problem, clique: list[Job]) -> list[Job]:
    """As many more as go with those that are in, the largest first."""
    for job in sorted(problem.jobs, key=lambda job: (-job.size, job.id)):
        if job not in clique and all(exclusive(problem, job, other) for other in clique):
            clique = [*clique, job]
    return clique
