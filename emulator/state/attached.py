"""What a cluster knows of the parts that are attached to it: of plugins, and of compiled code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from emulator.state.job import Job
from emulator.state.kept import Slots
from emulator.state.partition import Partition
from slurm_sim_plugins.nodes import Allocation, Free, Ints, Mask, Want
from slurm_sim_plugins.plan import Hole


class Plugins(Protocol):
    """The plugins; see :class:`emulator.scheduling.policies.Policies`."""

    priority: Any
    preempt: Any
    names_victims: bool
    by_partition: bool
    counts_cpus: bool

    def candidates(self, preemptor: Job, partition: Partition, halted: bool = False) -> Sequence[Job]:
        """Running jobs that would be preempted for a job in a partition, first to go first."""

    def mode(self, victim: Job) -> str | None:
        """What becomes of a victim; None if no plugin says so."""

    def grace(self, victim: Job) -> float | None:
        """Seconds between the choice of a victim and its end; None if no plugin says so."""

    def counts_otherwise(self, job: Job, partition: Partition) -> bool:
        """Whether a job will count with other CPUs once it is planned."""

    def planned(self, job: Job, partition: Partition) -> None:
        """A job was planned: its next number counts the CPUs that it would have."""

    def cpus_planned(self, job: Job, partition: Partition) -> float:
        """The CPUs that a job would have on an empty machine; 0 where it does not fit."""

    def counts_by_plan(self, job: Job, partition: Partition) -> bool:
        """Whether with how many CPUs a job is planned goes by the nodes that it gets."""

    def given(self, job: Job, allocation: Allocation) -> None:
        """A job has started, or was planned there: its next number counts the CPUs that it has."""

    @property
    def chooses_holes(self) -> bool:
        """Whether a plugin in the BackfillType slot chooses the hole that a job is to have."""

    def chosen(self, job: Job, holes: Iterator[Hole], first: Hole) -> Hole:
        """The hole that a job is to have; the first if no plugin says so."""


class RunWatcher(Protocol):
    """What hears of each run that begins or ends."""

    def add(self, job: Job) -> None:
        """A job comes to the machine."""

    def remove(self, job: Job) -> None:
        """A job leaves the machine."""

    def odd(self, job: Job) -> None:
        """The planned end of a run depends on more than its limit, from now on."""

    def changed(self) -> None:
        """Limits of runs may have changed."""


class Runs(Protocol):
    """Running jobs as columns; see :class:`emulator.scheduling.runs.RunTable`."""

    def planned(self) -> tuple[NDArray[np.float64], Ints]:
        """Planned ends as of now, ascending, and the index in that order."""

    def in_turn(self) -> tuple[NDArray[np.float64], Ints, Ints]:
        """Planned ends as of now, ascending; where the columns of each begin, and the last ones end; these columns."""

    def first_end(self) -> float:
        """When the first of them is planned to end as of now; infinite if there are none."""


class Kernels(Protocol):
    """Compiled code that chooses nodes; see :class:`emulator.scheduling.compiled.Compiled`."""

    @property
    def runs(self) -> Runs:
        """Running jobs."""

    def code(self, job: Job, partition: Partition) -> Any:
        """What a job asks of a partition as numbers; None if it is not plain."""

    def note(self, job: Job, partition: Partition) -> None:
        """Note what a job asks for, before it is to ask for something else for a while."""

    def weigh(self, node: int, weight: int) -> None:
        """A node has another weight from now on."""

    def reconfigure(self) -> None:
        """Nodes and partitions are others from now on."""

    def take_back(self, slots: Slots) -> None:
        """What a cycle kept is wanted no more."""

    def select(self, want: Want, code: Any, usable: Mask, free: Free) -> Allocation | None:
        """The nodes for a plain request out of what is free, or None if it does not fit."""

    def choose(self, want: Want, free: Free, usable: Mask) -> Allocation | None:
        """The nodes for what a job needs, plain or not, or None if it does not fit."""
