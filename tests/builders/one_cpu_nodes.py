"""A cluster of nodes of one CPU in one partition, and random jobs for it."""

from __future__ import annotations

import numpy as np

CONF = """
ClusterName=flat
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
PriorityType=priority/basic
PreemptMode=REQUEUE
NodeName=n[1-{}] CPUs=1
PartitionName=p Nodes=ALL Default=YES MaxTime=INFINITE
"""


def rows(seed: int, processors: int, jobs: int) -> list[tuple[int, float, int, float, float]]:
    """Random jobs, of which many are submitted, end or reach their limits at one instant."""
    draws = np.random.default_rng(seed)
    found = []
    for _ in range(jobs):
        limit = int(draws.choice([1, 2, 3, 5, 8, 20])) * 60
        run = limit if draws.random() < 0.2 else int(draws.integers(1, limit // 20 + 1)) * 20
        wanted = int(draws.integers(1, processors + 1)) if draws.random() < 0.5 else int(draws.integers(1, 3))
        found.append((0, float(draws.integers(0, 40) * 30), wanted, float(run), float(limit)))
    found.sort(key=lambda row: row[1])
    # In Slurm, of two jobs the one that was submitted first has the smaller id, which decides between equals.
    return [(number, *row[1:]) for number, row in enumerate(found, start=1)]
