"""A reservation: nodes that are kept for some users or accounts for a while, and when it comes again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from emulator.state.job import Job
from emulator.state.partition import Partition
from slurm_sim_plugins.nodes import Ints, Mask

ROOT = "root"
PURGE_AFTER = 300.0
"""Seconds without jobs after which a reservation with PURGE_COMP is over, if none are stated (scontrol)."""


@dataclass(slots=True, eq=False)
class Reservation:
    """A reservation; times in seconds.

    Attributes:
        name: its name.
        start, end: when it holds.
        nodes: which nodes.
        users, accounts, groups: whose jobs may use it; empty for any.
        members: the groups of each user that is known; another one has a group of its name.
        flags: upper-case words, such as ``MAINT``, ``IGNORE_JOBS``, ``FLEX``, ``REPLACE``.
        licenses: how many of each only its jobs may have while it holds.
        duration: seconds, if that was stated: another start moves the end, then.
        cores: units of each node that it has; None if it has whole nodes.
        partition: in which its jobs run that name none; None for the default one.
        counted: whether it has so many nodes of its partition, and they were not named.
        features: what these nodes must have, as for ``sbatch --constraint``.
        purge_after: seconds after which one without jobs is over, with PURGE_COMP.
        ahead: seconds from now at which it begins, if it never does (TIME_FLOAT); else 0.
        idle_since: the sweep that found it without jobs first, once it has begun; None while it has some.
    """

    name: str
    start: float
    end: float
    nodes: Mask
    users: tuple[str, ...] = ()
    accounts: tuple[str, ...] = ()
    flags: frozenset[str] = frozenset()
    licenses: tuple[tuple[str, int], ...] = ()
    duration: float | None = None
    cores: Ints | None = None
    partition: Partition | None = None
    counted: bool = False
    features: str = ""
    purge_after: float = PURGE_AFTER
    ahead: float = 0.0
    idle_since: float | None = None
    groups: tuple[str, ...] = ()
    members: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def admits(self, job: Job) -> bool:
        """Whether a job is of a user and an account that may use it, as root always may; none of one that floats."""
        user = job.request.user
        return not self.ahead and (user == ROOT or self._names(user, job))

    def _names(self, user: str, job: Job) -> bool:
        """Whether a job is of a user and an account that it names."""
        return (
            _named(user, self.users)
            and _named(job.options.account, self.accounts)
            and (not self.groups or any(_named(one, self.groups) for one in self.members.get(user, (user,))))
        )

    def drift(self, now: float) -> None:
        """One that floats (TIME_FLOAT) begins as long from now as it did when it was made, and ends as long after."""
        length = self.end - self.start if self.duration is not None else 0.0
        self.start = now + self.ahead
        self.end = self.start + length if self.duration is not None else max(self.end, self.start)

    def outlasts(self, length: float, now: float) -> bool:
        """Whether a run that starts now and may take so many seconds is over before it is."""
        return "FLEX" in self.flags or now + length < self.end + 1

    def active(self, now: float) -> bool:
        """Whether it holds now."""
        return self.start <= now < self.end


DAY = 86_400.0
RECURRING = {"HOURLY": 3600.0, "DAILY": DAY, "WEEKDAY": DAY, "WEEKEND": DAY, "WEEKLY": 7 * DAY}
"""Flags of reservations that come again once they are over, and after how many seconds; Slurm goes by the first."""
MONDAY = 4 * DAY
"""The first one of Unix time."""


def next_after(one: Reservation, unix: float) -> float:
    """After how many seconds a reservation comes again; 0 for one that does not.

    Args:
        one: the reservation.
        unix: Unix time, for the day of the week.
    """
    flag = next((flag for flag in RECURRING if flag in one.flags), "")
    day = int((unix - MONDAY) // DAY) % 7
    if flag == "WEEKDAY":
        return DAY * {4: 3, 5: 2}.get(day, 1)
    if flag == "WEEKEND":
        return DAY * {5: 1, 6: 6}.get(day, 5 - day)
    return RECURRING.get(flag, 0.0)


OVERLAPPING = frozenset({"MAINT", "OVERLAP"})
"""Flags of reservations that may have nodes of others."""


def goes_over(own: Reservation, other: Reservation) -> bool:
    """Whether jobs of a reservation use nodes of another that overlaps it."""
    return "MAINT" in own.flags or ("OVERLAP" in own.flags and "MAINT" not in other.flags)


def _named(name: str, names: tuple[str, ...]) -> bool:
    """Whether a name is in a list, or not in one of those that are left out (with a minus)."""
    if names and all(other.startswith("-") for other in names):
        return f"-{name}".lower() not in (other.lower() for other in names)
    return not names or name.lower() in (other.lower() for other in names)
