"""What ``walltime/history`` plans jobs with, in the loop of stock plugins.

Which share of its limit a job will use is a column; only when it is known, the simulation says. So each job has its
place among those of its key beforehand, a window is a set of places, and a percentile is its n-th member. A binary
indexed tree over the places of each key (Fenwick 1994) finds it in logarithmic time, however much a window holds.

A :mod:`kernel <slurm_sim_plugins.kernels>`; the same as :mod:`slurm_sim_plugins.windows` under
:mod:`slurm_sim_plugins.walltime.history`.
"""

from __future__ import annotations

from typing import Any

NO_KEY = -1
"""The key of a job of which a part of the key is unknown."""
LEAST_PLANNED = 1.0
"""Seconds that any job is planned with at least, unless its limit is shorter."""


class ShareHistory:
    """The windows of all keys.

    Args:
        numbers: ``span`` of a window in seconds, ``threshold`` and ``min_jobs`` as the plugin's.
        columns: of each job its ``key`` and its ``place`` by the share that it uses, among all jobs by key; ``shares``
            by place; where the places of each key ``begin``, and end; by how many values a window holds, the
            ``rank`` that the percentile is at and which ``part`` of the way to the next one. To work in: ``tree``,
            ``ended`` and ``ended_at`` with one entry a job, ``inside`` with one a key.
    """

    def __init__(self, numbers: dict[str, float], columns: dict[str, Any]) -> None:
        self.span, self.threshold = numbers["span"], numbers["threshold"]
        self.min_jobs = numbers["min_jobs"]
        self.key, self.place, self.shares, self.begin = (columns[name] for name in ("key", "place", "shares", "begin"))
        self.rank, self.part = columns["rank"], columns["part"]
        self.tree, self.inside = columns["tree"], columns["inside"]
        self.ended, self.ended_at = columns["ended"], columns["ended_at"]
        self.learnt = self.taken_in = self.forgotten = 0

    def learn(self, job: int, now: float) -> None:
        """A job ended; it counts from the first instant after."""
        if self.key[job] == NO_KEY:
            return
        self.ended[self.learnt], self.ended_at[self.learnt] = job, now
        self.learnt += 1

    def planned(self, job: int, limit: float, now: float) -> float:
        """Seconds that a job is planned with which is submitted now."""
        self.move(now)
        key = self.key[job]
        if key == NO_KEY or self.inside[key] < self.min_jobs:
            return limit
        share = self.percentile(key)
        planned = limit * max(share, self.threshold)
        return min(LEAST_PLANNED, limit) if planned < LEAST_PLANNED else planned

    def move(self, now: float) -> None:
        """All windows hold what ended in [now - span, now)."""
        while self.taken_in < self.learnt and self.ended_at[self.taken_in] < now:
            self.count(self.ended[self.taken_in], 1)
            self.taken_in += 1
        while self.forgotten < self.taken_in and self.ended_at[self.forgotten] < now - self.span:
            self.count(self.ended[self.forgotten], -1)
            self.forgotten += 1

    def count(self, job: int, by: int) -> None:
        """A job comes into the window of its key (1), or leaves it (-1)."""
        key = self.key[job]
        begin = self.begin[key]
        places = self.begin[key + 1] - begin
        self.inside[key] += by
        place = self.place[job] - begin + 1
        while place <= places:
            self.tree[begin + place - 1] += by
            place += place & -place

    def percentile(self, key: int) -> float:
        """Of a window that holds at least one value."""
        rank, part = self.rank[self.inside[key]], self.part[self.inside[key]]
        low: float = self.value(key, rank)
        return low + part * (self.value(key, rank + 1) - low) if part > 0 else low

    def value(self, key: int, rank: int) -> float:
        """The value at a rank of a window, from 0."""
        begin = self.begin[key]
        places = self.begin[key + 1] - begin
        step = 1
        while 2 * step <= places:
            step *= 2
        before = 0
        while step:
            if before + step <= places and self.tree[begin + before + step - 1] <= rank:
                before += step
                rank -= self.tree[begin + before - 1]
            step //= 2
        found: float = self.shares[begin + before]
        return found
