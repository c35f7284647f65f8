"""Idle nodes are powered down, and resumed for jobs, as the configuration says.

A node that has been idle for ``SuspendTime`` is powering down for ``SuspendTimeout``, in which it takes no job, and
then powered down. A job may get such nodes, after all that are on: its run is configuring until each has been
resumed. Slurm finds that out as it sweeps for exceeded limits; the run starts then, and its limit counts from there.
(Recorded on 22.05, 24.11 and 26.05.)
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from emulator.config.slurm.model import Power
from emulator.engine.draw import drawn
from emulator.engine.endings import Endings
from emulator.engine.node_states import NodeStates
from emulator.engine.part import Part
from emulator.engine.passes import Passes
from emulator.engine.stints import Stints
from emulator.state.job import Job
from emulator.state.run import Run, State
from slurm_sim_plugins.nodes import Ints, Mask

LOOK = 1.0
"""Seconds until Slurm's thread for power notices that it is asked for something."""
ROUNDING = 1e-6
"""Looks are at times of so many digits: what is due within it is due."""
TOO_LATE = "ResumeTimeout reached"
MINUTE = 60.0


class Powered(StrEnum):
    """States of nodes, in Slurm's words."""

    ON = ""
    POWERING_DOWN = "POWERING_DOWN"
    POWERED_DOWN = "POWERED_DOWN"
    POWERING_UP = "POWERING_UP"


ON, GOING, OFF, COMING = Powered
SHOWN = (GOING, OFF, COMING)


@dataclass
class Rate:
    """So many nodes in a minute.

    Attributes:
        most: in a minute; 0 for any number.
        together: at once.
        left: that may go now.
        at: when that was so, in seconds.
    """

    most: int
    together: float
    left: float
    at: float = 0.0

    @classmethod
    def of(cls, most: int, interval: float) -> Rate:
        """A rate of which as many may go at once as are its share of an interval, but one at least."""
        together = float(max(most * interval // MINUTE, 1))
        return cls(most, together, together)

    def take(self, wanted: int, now: float) -> int:
        """How many of those that are wanted may go now; these are gone then."""
        if not self.most:
            return wanted
        self.left, self.at = min(self.together, self.left + (now - self.at) * self.most / MINUTE), now
        given = min(wanted, int(self.left + ROUNDING * max(1.0, self.most / MINUTE)))
        self.left -= given
        return given

    @property
    def next(self) -> float:
        """When one more may go, in seconds."""
        return self.at + max(0.0, 1.0 - self.left) * MINUTE / self.most if self.most else self.at


@dataclass(eq=False)
class PowerSaving(Part):
    """Powers nodes down and up.

    Args:
        power: what the configuration says.
        seed: of failures to resume that are drawn.

    Attributes:
        resumes, failed: how many nodes were resumed, and how many were not in time.
    """

    passes: Passes
    stints: Stints
    endings: Endings
    node_states: NodeStates
    power: Power
    seed: int
    resumes: int = 0
    failed: int = 0
    _configuring: dict[int, tuple[Job, float]] = field(default_factory=dict)
    _asked_up: list[int] = field(default_factory=list)
    _asked_down: set[int] = field(default_factory=set)
    _draining: set[int] = field(default_factory=set)
    _look_at: float = math.inf
    _off_time: float = 0.0

    def __post_init__(self) -> None:
        machine, power = self.cluster.machine, self.power
        times = [power.times[name] for name in machine.names]
        self._suspend = np.array([each.suspend for each in times])
        self._down = np.array([each.down for each in times])
        self._resume = np.array([each.resume for each in times])
        self._cloud = np.array([name in power.cloud for name in machine.names], dtype=bool)
        self._future = np.array(["FUTURE" in node.state for node in self.cluster.conf.nodes], dtype=bool)
        self._kept = [(machine.mask_of(names), count) for names, count in power.kept]
        self._jobs: Ints = np.zeros(len(machine), dtype=np.int64)
        self._since = np.zeros(len(machine))
        self._state: list[Powered] = [OFF if cloud else ON for cloud in self._cloud.tolist()]
        self._number = [0] * len(machine)
        interval = power.interval if self.parameters.rules.POWER_RATES_BY_LOOK else MINUTE
        self._suspends = Rate.of(power.suspend_rate, interval)
        self._resumed = Rate.of(power.resume_rate, interval)
        self._weights = machine.weight.copy()
        self._heavy = int(self._weights.max(initial=0)) + 1
        machine.weights = np.unique(np.concatenate([self._weights, self._heavy + self._weights, [self._heavy]]))
        self._weigh(np.flatnonzero(self._cloud).tolist())
        self._ask_for(float(self._suspend.min(initial=math.inf)))

    # Of jobs

    def begun(self, job: Job, run: Run) -> None:
        """A run has nodes; it is configuring if any of them is not on, and these are resumed."""
        nodes = list(run.allocation.nodes)
        self._jobs[nodes] += 1
        if run.partition in self.power.on_idle:
            self._asked_down.update(nodes)
        away = [node for node in nodes if self._state[node] is not ON]
        if not away:
            return
        self._configuring[job.id] = job, job.left
        # Neither its work nor its limit begins.
        job.left = run.configuring = math.inf
        self._ask_up(away)

    def left(self, job: Job, run: Run) -> None:
        """A run has left its nodes."""
        nodes, now = list(run.allocation.nodes), self.cluster.now
        if self._configuring.pop(job.id, None) is not None:
            run.configuring = 0.0
        self._jobs[nodes] -= 1
        idle = [node for node in nodes if not self._jobs[node] and self._state[node] is ON]
        self._since[idle] = now
        if not self._asked_down.isdisjoint(idle):
            self._ask_for(now)
        self._ask_for(now + float(self._suspend[idle].min(initial=math.inf)))

    def sweep(self) -> None:
        """Runs start whose nodes are all on; then what has exceeded its limit ends."""
        for job, left in list(self._configuring.values()):
            run = job.run
            if run is not None and run.end is None and all(self._state[node] is ON for node in run.allocation.nodes):
                self._configured(job, run, left)
        self.endings.sweep()

    def _configured(self, job: Job, run: Run, left: float) -> None:
        """All nodes of a run are there: it starts now."""
        del self._configuring[job.id]
        for watcher in self.cluster.run_watchers:
            watcher.remove(job)
        run.allocated, run.start, run.configuring = run.start, self.cluster.now, self.operation.prolog_slurmctld
        for watcher in self.cluster.run_watchers:
            watcher.add(job)
        job.left = left
        self.passes.prolog_begun(job, run)
        self.telling.configured(job)
        self.passes.moved()
        if job.state is State.RUNNING:
            self.stints.go_on(job)

    # Of operators

    def ask(self, nodes: Sequence[int], how: str) -> None:
        """``scontrol update State=POWER_UP``, ``POWER_DOWN``, ``POWER_DOWN_ASAP`` or ``POWER_DOWN_FORCE``."""
        if how == "POWER_UP":
            self._ask_up([node for node in nodes if self._state[node] is OFF])
            return
        on = [node for node in nodes if self._state[node] in (ON, COMING)]
        if how == "POWER_DOWN_ASAP":
            draining = [node for node in on if self.cluster.admin_states.get(node, "UP") == "UP"]
            self._draining.update(draining)
            self.node_states.set(draining, "DRAIN", how)
        elif how == "POWER_DOWN_FORCE":
            self.node_states.end_jobs(on)
        self._asked_down.update(on)
        self._ask_for(self.cluster.now + self._notice)

    # Looks

    def look(self, at: float) -> None:
        """Look which nodes are powered down, or up."""
        if at != self._look_at:
            return
        self._look_at = math.inf
        now = self.cluster.now
        self._set([node for node in self._of(GOING) if self._due(node, self._down)], OFF)
        self._power_up(now)
        self._power_down(now)
        self._ask_for(self._next())

    def resumed(self, node: int, number: int) -> None:
        """A node has come up, or has not in time."""
        if self._state[node] is not COMING or self._number[node] != number:
            return
        if self._due(node, self._resume):
            self.failed += 1
            self._set([node], OFF)
            self.node_states.change([node], "DOWN", TOO_LATE)
            return
        self.resumes += 1
        self._set([node], ON)
        self._ask_for(self.cluster.now + float(self._suspend[node]))
        # The next sweep finds out which runs may start.
        self.stints.sweep_due = 0.0
        if self.ideal:
            self.agenda.at(self.cluster.now, "sweep")

    def _power_up(self, now: float) -> None:
        """Resume the nodes that jobs have, or that an operator wants, as fast as the rate allows."""
        self._asked_up = [node for node in self._asked_up if self._state[node] is OFF]
        nodes = self._asked_up[: self._resumed.take(len(self._asked_up), now)]
        self._asked_up = self._asked_up[len(nodes) :]
        self._set(nodes, COMING)
        for node in nodes:
            self._number[node] += 1
            takes = self.operation.resume_time or float(self._resume[node]) / 2
            if self._fails(node):
                takes = float(self._resume[node])
            self.agenda.at(now + min(takes, float(self._resume[node])), "node resumed", node, self._number[node])

    def _fails(self, node: int) -> bool:
        """Whether a resume fails, drawn from the seed, the name of the node and how often it was resumed."""
        share = self.operation.resume_failures
        words = f"{self.seed} {self.cluster.machine.names[node]} {self._number[node]} resume"
        return bool(share) and drawn(words) < share

    def _power_down(self, now: float) -> None:
        """Power down what is asked for, and what has been idle for long enough, as fast as the rate allows."""
        self._asked_down = {node for node in self._asked_down if self._state[node] in (ON, COMING)}
        asked = [node for node in sorted(self._asked_down) if not self._jobs[node]]
        idle = [node for node in self._idle().nonzero()[0].tolist() if self._due(node, self._suspend)]
        wanted = list(dict.fromkeys((*asked, *idle)))
        nodes = wanted[: self._suspends.take(len(wanted), now)]
        self._asked_down.difference_update(nodes)
        self._set(nodes, GOING)
        back = [node for node in nodes if self._comes_back(node)]
        if back:
            self._draining.difference_update(back)
            self.node_states.set(back, "UP", "powered down")

    def _comes_back(self, node: int) -> bool:
        """Whether a node that is powered down is no longer drained or down."""
        away = self.cluster.admin_states.get(node, "UP") != "UP"
        return away and (self.power.idle_on_suspend or node in self._draining)

    def _idle(self) -> Mask:
        """Nodes that are powered down when they have been idle for long enough."""
        on = np.array([state is ON for state in self._state], dtype=bool)
        found: Mask = on & (self._jobs == 0) & ~self._future
        for states, nodes in self._excepted():
            if not self.power.kept_states.isdisjoint(states):
                found &= ~nodes
        for nodes, count in self._kept:
            kept = np.flatnonzero(nodes & on)
            found[kept if count is None else kept[:count]] = False
        return found

    def _excepted(self) -> Iterator[tuple[tuple[str, ...], Mask]]:
        """Nodes by the states that ``SuspendExcStates`` may name."""
        cluster = self.cluster
        if not self.power.kept_states:
            return
        yield ("CLOUD",), self._cloud
        for state in ("DOWN", "DRAIN"):
            said = cluster.no_nodes()
            said[[node for node, word in cluster.admin_states.items() if word == state]] = True
            yield (state,), said
        for one in self.reservations.by_name.values():
            if one.active(cluster.now):
                yield ("RESERVED", *(("MAINTENANCE",) if "MAINT" in one.flags else ())), one.nodes
        planned = cluster.no_nodes()
        if cluster.planned is not None:
            planned[cluster.planned.nodes()] = True
        yield ("PLANNED",), planned

    # When

    @property
    def _notice(self) -> float:
        return 0.0 if self.ideal else LOOK

    def _ask_up(self, nodes: Iterable[int]) -> None:
        self._asked_up += [node for node in nodes if node not in self._asked_up]
        if self._asked_up:
            self._ask_for(self.cluster.now + self._notice, exact=True)

    def _ask_for(self, second: float, exact: bool = False) -> None:
        """Have a look at the nodes at a time; Slurm's clock takes the next time at which its thread looks."""
        if second == math.inf:
            return
        second = max(second, self.cluster.now)
        if not self.ideal and not exact:
            second += -(second + self.timing.uptime) % self.power.interval
        second = round(second, 6)
        if second < self._look_at:
            self._look_at = second
            self.agenda.at(second, "power", second)

    def _due(self, node: int, after: NDArray[np.float64]) -> bool:
        """Whether a node has been in its state for so long."""
        return bool(self.cluster.now + ROUNDING >= self._since[node] + after[node])

    def _next(self) -> float:
        """When there is something to do next, in seconds."""
        found = [float(self._since[node] + self._down[node]) for node in self._of(GOING)]
        idle = self._idle()
        found.append(float((self._since + self._suspend)[idle].min(initial=math.inf)))
        if any(not self._jobs[node] for node in self._asked_down):
            found.append(self.cluster.now)
        soonest = min(found)
        if soonest <= self.cluster.now + ROUNDING:
            # Only the rate keeps it from being done.
            soonest = max(self._suspends.next, self.cluster.now)
        if self._asked_up:
            soonest = min(soonest, self._resumed.next)
        return soonest if soonest > self.cluster.now + ROUNDING else self.cluster.now + LOOK

    # States

    def _of(self, state: Powered) -> list[int]:
        return [node for node, each in enumerate(self._state) if each is state]

    def _set(self, nodes: Sequence[int], state: Powered) -> None:
        """Nodes are in another state from now on."""
        if not nodes:
            return
        cluster, now, was = self.cluster, self.cluster.now, self._state[nodes[0]]
        self.changes.all()
        for node in nodes:
            if self._state[node] is OFF:
                self._off_time += now - float(self._since[node])
            self._state[node], self._since[node] = state, now
            cluster.powering_down.discard(node)
            if state is GOING:
                cluster.powering_down.add(node)
            cluster.machine.up[node] = state is not GOING and cluster.node_is_up(node)
        self._weigh(nodes)
        self.telling.nodes(nodes, state.value or "POWERED_UP", "")
        if GOING in (state, was):
            self.passes.moved()
            cluster.look_again()
            if self.ideal:
                self.passes.request(now)

    def _weigh(self, nodes: Sequence[int]) -> None:
        """Nodes that are powered down are taken after all others."""
        for node in nodes:
            weight = self._weights[node]
            if self._state[node] in (GOING, OFF):
                weight = self._heavy + (weight if self.parameters.rules.POWERED_DOWN_BY_WEIGHT else 0)
            self.cluster.machine.weight[node] = weight
            if self.cluster.compiled is not None:
                self.cluster.compiled.weigh(node, int(weight))

    # What is shown

    def nodes_of(self, state: Powered) -> Ints:
        """The nodes of a state."""
        return np.array(self._of(state), dtype=np.int64)

    @property
    def figures(self) -> dict[str, float]:
        """Node hours and resumes of the run so far."""
        now, nodes = self.cluster.now, len(self._state)
        off = self._off_time + sum(now - float(self._since[node]) for node in self._of(OFF))
        return {
            "node_hours": round(nodes * now / 3600, 3),
            "node_hours_powered_up": round((nodes * now - off) / 3600, 3),
            "resumes": self.resumes,
            "resumes_failed": self.failed,
        }
