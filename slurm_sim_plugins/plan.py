"""The plan of a scheduling pass: what can start now, and what was promised.

A scheduler asks ``view.plan()`` once in a pass, and asks the plan about one entry of the
queue after the other. The plan knows the machine (processors, or nodes with partitions,
memory, GRES and licences), the limits and the reservations; a scheduler does not have to.

The plan follows the starts of its pass. It ends with the pass.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from slurm_sim_plugins.entry import Entry as Entry
from slurm_sim_plugins.jobs import Run
from slurm_sim_plugins.place import ANYWHERE as ANYWHERE
from slurm_sim_plugins.place import Answer as Answer
from slurm_sim_plugins.place import Place as Place

if TYPE_CHECKING:
    from slurm_sim_plugins.sched.bounds import Bounds

NOT_A_TIME = "not_before is nan, which is no time; give seconds"


@dataclass(frozen=True, slots=True, eq=False)
class Hole:
    """The first time and place at which an entry fits beside all that is kept.

    Attributes:
        start: when, in seconds.
        place: where; an entry that starts there has the length of the hole as its limit.
        vacant: whether it can start there now. It cannot if the start is later, or if runs have to leave first.
    """

    start: float
    place: Place
    vacant: bool


class SchedulePlan(ABC):
    """What can start now without breaking a promise, and when something can start at the earliest."""

    __slots__ = ()

    @abstractmethod
    def heads(self) -> Iterator[Any]:
        """The queue in its order, each partition up to the first entry that was promised a start, or barred.

        A machine without partitions has one head at a time.
        """

    @abstractmethod
    def now(self, entry: Any) -> Answer:
        """Where an entry can start now without breaking a promise of this pass, or why it cannot.

        Args:
            entry: an entry of ``view.queue``.
        """

    @abstractmethod
    def promise(self, entry: Any, not_before: float = 0.0) -> float:
        """Promise an entry the earliest start that it can have if nothing else were started.

        A promise is a time, and not particular nodes. From now on, :meth:`now` refuses
        exactly what would make that start later, as planned.

        Args:
            entry: an entry of ``view.queue``.
            not_before: seconds; the promise is not earlier.

        Returns:
            The time in seconds; infinite if the entry can never start, which promises nothing.

        Raises:
            ValueError: ``not_before`` is nan.
        """

    @abstractmethod
    def earliest(self, entry: Any, without: Iterable[Run] = ()) -> float:
        """The earliest start that an entry can have if nothing else were started; promises nothing.

        Args:
            entry: an entry of ``view.queue``.
            without: runs that count as over.

        Returns:
            The time in seconds; infinite if the entry can never start.
        """

    @abstractmethod
    def alone(self, entry: Any) -> float:
        """When so much of what runs has ended, as planned, that an entry fits.

        Reservations, licences, limits, and what was promised are left aside.

        Returns:
            The time in seconds; infinite if it does not fit then either.
        """

    @abstractmethod
    def bar(self, entry: Any) -> None:
        """Keep all that an entry could use from the entries behind it, whatever their length."""

    @abstractmethod
    def fitting(self, entries: Iterable[Any]) -> Iterable[Any]:
        """Those entries that may fit now; leaves out, cheaply, what is certain to be refused for want of resources.

        Args:
            entries: entries of ``view.queue``, in any order.
        """


class WindowPlan(ABC):
    """A plan in which each entry gets the first hole that it fits into, and keeps it from those behind it.

    What is kept is kept as it was found: particular nodes, where the machine has nodes. Limits,
    licences and reservations are asked when a hole is sought.
    """

    __slots__ = ()

    @property
    def sought(self) -> bool:
        """Whether holes were sought for the last entries; not for one that limits or licences keep from starting."""
        return True

    @property
    def counts(self) -> bool:
        """Whether the last entry counts in bounds; one does not that a limit keeps from starting on any nodes."""
        return True

    @property
    def ends_at_start(self) -> bool:
        """Whether a cycle that has tried as many as it may tries no further task of an array of which one started."""
        return False

    @property
    @abstractmethod
    def full(self) -> bool:
        """Whether there are as many times within the window at which something kept begins or ends as there may be."""

    @abstractmethod
    def takes(self, entry: Any) -> bool:
        """Whether an entry waits still, and is within the bounds of its partition and the limit of its array."""

    @abstractmethod
    def alike(self, entries: Sequence[Any]) -> Iterator[list[Any]]:
        """The same entries in the same order; together those next to one another that ask for the same.

        What :meth:`takes` says of the first of them it would say of each.

        Args:
            entries: of ``view.queue``.
        """

    def cycle(self, entries: list[Any], bounds: Bounds, left: int) -> Any:
        """The steps of ``sched/backfill`` that start nothing, in compiled code; None where there is none.

        Those entries may be left out that stand behind all that could start now, where nothing in the run looks at
        what is planned for them.

        Args:
            entries: of ``view.queue``, in the order in which they are tried.
            bounds: how many of each kind are tried.
            left: how many are tried.
        """
        return None

    @abstractmethod
    def place(self, entries: Sequence[Any], keep: bool, now_only: bool = False) -> tuple[list[float], Hole | None]:
        """Seek holes for entries alike, one after the other, each for as long as the entry's shortest run.

        Args:
            entries: as :meth:`alike` gave them.
            keep: whether a hole in the future may be kept at once, so that the next entry is
                looked at; else only the first entry is. An entry that can start now, or for
                which there is no room left in the plan, is the last that is looked at.
            now_only: whether a hole is of use only if it is now. It is no news then that the plan delays the job.

        Returns:
            The starts of those whose holes are kept, and the hole of the next. It is None if
            there is none within the window, nor for the entries behind it.
        """

    def prefers(self, entry: Any) -> bool:
        """Whether an entry is tried twice: first on the nodes that it would rather have (``--prefer``)."""
        return False

    @property
    def arrays_are_tried_again(self) -> bool:
        """Whether an array that :meth:`prefers` some nodes is tried without that wish, once it was refused."""
        return True

    def preferred(self, entry: Any) -> Hole | None:
        """Where an entry that :meth:`prefers` can start now on the nodes that it would rather have; None if nowhere.

        Once this was asked, what :meth:`place` finds is without such wishes; else it is with them.
        """
        return None

    @abstractmethod
    def beside(self, entry: Any) -> Place | None:
        """Where an entry can start now on resources that it shares with runs (``OverSubscribe``); None if nowhere."""

    @abstractmethod
    def keep(self, hole: Hole) -> None:
        """Keep a hole from the entries behind: from its start, in whole steps of the plan's resolution."""

    def keep_in_vain(self, hole: Hole) -> None:
        """Keep a hole that is now for an entry which cannot start there, and which keeps none that is later.

        It is no news that it is kept, after which backfill would go round (recorded).
        """
        self.keep(hole)

    def turn_away(self, hole: Hole) -> None:  # noqa: B027  # Where processors are counted no nodes are planned.
        """Note that a plan which is full has no room for a hole: its nodes are planned, but kept from no entry."""

    def not_before(self, entry: Any, time: float) -> Hole | None:
        """The first hole of an entry that begins at a time or later; None if there is none.

        For components of heterogeneous jobs, of which there are none where processors are only counted.
        """
        raise NotImplementedError

    def together(self, entries: Sequence[Any]) -> list[Place] | None:
        """Where entries can start now, all of them, whatever the plan keeps; None if they cannot.

        None of them is on a node of another. For components of heterogeneous jobs, as :meth:`not_before`.
        """
        raise NotImplementedError

    def room_beside(self, entries: Sequence[Any]) -> tuple[Any, Place] | None:
        """The first of entries that does not fit beside those before it, and where runs may have to leave for it.

        None if all fit, or a limit keeps one from starting. For :class:`MakeRoom`, where :meth:`together` is None.
        """
        raise NotImplementedError

    def holes(self, first: Hole, most: int) -> Iterator[Hole]:
        """A hole that was found, and up to so many that the same entry fits into and that begin later.

        Where processors are only counted, no hole is a better place than the first.
        """
        yield first

    def delayed(self, first: Hole, most: int = 1) -> Hole:
        """The hole that the plugin in the BackfillType slot chooses (``bf_topopt``); the first where none does.

        Args:
            first: as :meth:`place` found it, without ``keep``.
            most: later holes that the plugin may choose from.
        """
        return first
