"""What may have changed for waiting jobs, for code that notes changes and would not look at all jobs each time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from emulator.state.job import Job


@dataclass(slots=True)
class Changes:
    """Since the last look; code that has looked says so with :meth:`seen`.

    Attributes:
        waits: whether reasons, priorities or planned starts of any waiting jobs may be others.
        prices: whether what their priorities were worked out from may be another.
        arrived: jobs that have been submitted, while an observer looks.
        observed: whether there is an observer.
    """

    waits: bool = True
    prices: bool = True
    arrived: list[Job] = field(default_factory=list)
    observed: bool = False

    def all(self) -> None:
        """Anything may have changed."""
        self.waits = self.prices = True

    def seen(self) -> None:
        """All of it has been looked at."""
        self.waits = self.prices = False
        self.arrived.clear()
