"""An observer of the beginning and the end of a run, and jobs for it."""

from __future__ import annotations

from typing import Any, ClassVar

from slurm_sim_plugins import View, hookimpl
from tests.builders.jobs import JobRow

JOBS: list[JobRow] = [(1, 5, 3, 10, 60), (2, 6, 4, 5, 60)]


class Listening:
    name: ClassVar[str] = "observer/listening"

    def __init__(self) -> None:
        self.told: list[tuple[Any, ...]] = []

    def tell(self, what: str, view: View) -> None:
        self.told.append((what, view.now, view.total, len(view.queue), len(view.running)))

    @hookimpl
    def run_begun(self, view: View) -> None:
        self.tell("begun", view)

    @hookimpl
    def run_ended(self, view: View) -> None:
        self.tell("ended", view)
