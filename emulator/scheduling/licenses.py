"""Licences in the plan of backfill, with ``bf_licenses``: when a job has those that it wants for as long as it runs.

Without that option a job whose licences are in use is passed over, and others take them again
and again (slurm.conf, ``bf_licenses``; observation L1).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from emulator.state.cluster import Cluster
from emulator.state.job import Job

Use = tuple[float, float, int]
"""From when, to when (seconds), and how many."""


class LicensePlan:
    """Which job has how many licences until when: runs as they are planned to end, and jobs with a reservation.

    Args:
        cluster: the cluster state.
        step: when licences are planned to be back of a run that ends at a time.
        grain: seconds of a step; each run has them still up to the end of the present one.
    """

    def __init__(self, cluster: Cluster, step: Callable[[float], float] = float, grain: float = 1.0) -> None:
        self._total = {name: total for name, (total, _) in cluster.licenses.items()}
        self._uses: dict[str, list[Use]] = {name: [] for name in self._total}
        self._nodes_from: dict[float, float] = {}
        soonest = cluster.now // grain * grain + grain
        for job in (*cluster.running.values(), *cluster.suspended.values()):
            if job.options.licenses:
                end = cluster.planned_end(job)
                back = max(step(end), soonest)
                if back < end < back + 1.0:
                    self._nodes_from[back] = max(end, self._nodes_from.get(back, end))
                self.keep(job, cluster.now, back)
        reserved = (one for one in cluster.reservations.values() if one.licenses and one.end > soonest - grain)
        self._reserved = [(one, max(step(one.end), soonest)) for one in reserved]

    def keep(self, job: Job, begin: float, end: float) -> None:
        """A job has its licences from ``begin`` to ``end``."""
        for name, count in job.options.licenses:
            self._uses[name].append((begin, end, count))

    def nodes_from(self, at: float) -> float:
        """From when on nodes are sought where licences are back at a time: runs leave theirs in the same second."""
        return self._nodes_from.get(at, at)

    def first(self, job: Job, at: float, length: float) -> float | None:
        """From when on, at ``at`` at the earliest, its licences are there for so long; None if they never are."""
        if any(count > self._total[name] for name, count in job.options.licenses):
            return None
        # What ends at an instant is free from it on: only ends of uses can be starts.
        uses = {name: [*self._uses[name], *self._kept(name, job)] for name, _ in job.options.licenses}
        ends = {end for name in uses for _, end, _ in self._uses[name] if end > at}
        over = (max(one.end, until) for one, until in self._reserved if one.name != job.reservation)
        ends |= {end for end in over if end > at}
        for begin in (at, *sorted(ends)):
            if all(
                self._room(name, uses[name], begin, begin + length) >= count for name, count in job.options.licenses
            ):
                return begin
        return None

    def _kept(self, name: str, job: Job) -> Iterator[Use]:
        """Licences that reservations keep from a job."""
        for one, until in self._reserved:
            if one.name != job.reservation and name in dict(one.licenses):
                yield one.start, until, dict(one.licenses)[name]

    def _room(self, name: str, uses: Iterable[Use], begin: float, end: float) -> int:
        """How many are free at all times between, and at the end: there others may begin to have them (recorded)."""
        uses = [use for use in uses if use[0] <= end and use[1] > begin]
        instants = [begin, *(use[0] for use in uses if use[0] > begin)]
        used = (sum(count for since, until, count in uses if since <= at < until) for at in instants)
        return self._total[name] - max(used)
