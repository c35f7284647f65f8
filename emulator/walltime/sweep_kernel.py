"""One sweep over a log in the order of time; a :mod:`kernel <slurm_sim_plugins.kernels>`.

All values are known beforehand here, so a window need not keep them sorted: it marks which
values of its group are in it. A binary indexed tree over the group's values, in ascending
order, finds the one at a rank.
"""

from __future__ import annotations

from emulator.workload.workload import Floats, Ints


def sweep(
    submit: Floats,
    group: Ints,
    ends: Floats,
    end_group: Ints,
    end_rank: Ints,
    first: Ints,
    values: Floats,
    span: float,
    percentiles: Floats,
    definition: int,
    min_jobs: int,
    tree: Ints,
    count: Ints,
    answer: Floats,
) -> None:
    """Go through the submissions; what ended comes into its group's window and leaves it again.

    Args:
        submit: of each job, ascending, in seconds.
        group: of each job; negative for none.
        ends: of those from which something is learnt, ascending.
        end_group: their groups.
        end_rank: their ranks in their groups.
        first: where the values of each group begin.
        values: of what they used, group by group, ascending.
        span: how far to look back, in seconds.
        percentiles: which ones.
        definition: of a percentile, by its number.
        min_jobs: how many similar jobs there must be.
        tree: zeros, as many as values.
        count: zeros, as many as ``first``.
        answer: is filled in: one row a job, one column a percentile.
    """
    coming = leaving = 0
    for job in range(len(submit)):
        now = submit[job]
        while coming < len(ends) and ends[coming] < now:
            _mark(tree, first, end_group[coming], end_rank[coming], 1)
            count[end_group[coming]] += 1
            coming += 1
        while leaving < coming and ends[leaving] < now - span:
            _mark(tree, first, end_group[leaving], end_rank[leaving], -1)
            count[end_group[leaving]] -= 1
            leaving += 1
        mine = group[job]
        if mine < 0 or count[mine] < min_jobs:
            continue
        for column in range(len(percentiles)):
            answer[job, column] = _percentile(tree, first, values, mine, count[mine], percentiles[column], definition)


def _percentile(
    tree: Ints, first: Ints, values: Floats, group: int, count: int, percentile: float, definition: int
) -> float:
    """As the definitions of :mod:`slurm_sim_plugins.windows`, in their order."""
    position = percentile * (count - 1) / 100
    if definition == 0:
        rank = min(_per_cent(percentile * count), count - 1)
    elif definition == 1:
        rank = max(-_per_cent(-percentile * count) - 1, 0)
    else:
        rank = int(position)
    low: float = values[_at(tree, first, group, rank)]
    if definition == 2 and position > rank:
        low += (position - rank) * (values[_at(tree, first, group, rank + 1)] - low)
    return low


def _per_cent(product: float) -> int:
    """The whole part of a hundredth, rounded down: as Python's ``//`` rounds, not as a quotient of floats may."""
    return int((product - product % 100) / 100)


def _mark(tree: Ints, first: Ints, group: int, rank: int, by: int) -> None:
    """Take the value at a rank of its whole group into the window, or out of it."""
    base, size, index = first[group] - 1, first[group + 1] - first[group], rank + 1
    while index <= size:
        tree[base + index] += by
        index += index & -index


def _at(tree: Ints, first: Ints, group: int, rank: int) -> int:
    """Where the value lies that has this rank among those in the window."""
    base: int = first[group] - 1
    size = first[group + 1] - first[group]
    index, step = 0, 1
    while step * 2 <= size:
        step *= 2
    while step > 0:
        if index + step <= size and tree[base + index + step] <= rank:
            index += step
            rank -= tree[base + index]
        step //= 2
    return base + 1 + index
