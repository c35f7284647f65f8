"""What the parts of the controller have in common."""

from __future__ import annotations

from dataclasses import dataclass

from emulator.config.operation import Operation
from emulator.config.slurm.controller import Parameters, Timing
from emulator.engine.agenda import Agenda
from emulator.engine.telling import Telling
from emulator.execution.checkpoints import Checkpoints
from emulator.scheduling.gang import Rows
from emulator.scheduling.policies import Policies
from emulator.state.changes import Changes
from emulator.state.cluster import Cluster
from emulator.state.reservations import Reservations


@dataclass(eq=False)
class Part:
    """A part of the controller: it works on the same cluster as the others, by the same clock.

    Attributes:
        cluster: the cluster state.
        parameters: of its configuration.
        policies: its plugins.
        timing: what real daemons take their time for.
        ideal: whether decisions take no time.
        agenda: what is to happen.
        changes: what may have changed for waiting jobs since an observer looked.
        telling: tells of what happens.
        rows: jobs that share resources.
        reservations: nodes that are kept for some.
        checkpoints: what runs save of their work.
        operation: what happens to nodes, and what takes time besides jobs.
    """

    cluster: Cluster
    parameters: Parameters
    policies: Policies
    timing: Timing
    ideal: bool
    agenda: Agenda
    changes: Changes
    telling: Telling
    rows: Rows
    reservations: Reservations
    checkpoints: Checkpoints
    operation: Operation
