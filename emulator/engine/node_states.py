"""Nodes go down, drain and come back: as operators say, as a list says, or as it is drawn from the seed.

What is drawn for a node depends on the seed, its name and how often it has failed, and on nothing that a policy
decides: policies that are compared meet the same failures.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from emulator.engine.draw import drawn
from emulator.engine.endings import Endings
from emulator.engine.part import Part
from emulator.engine.passes import Passes
from emulator.engine.pings import ANSWERS
from emulator.engine.stints import Stints
from emulator.scheduling.het_jobs import components_of
from emulator.state.job import Job
from emulator.state.run import State
from slurm_sim_plugins.errors import ConfigurationError

FAILED = "failure"
REPAIRED = "repaired"
ANSWERED = "answered"
BEFORE = 2e-6
"""Seconds; what the controller notes in a round it notes before the pass of that round."""
RETURNS = 2
"""``ReturnToService`` under which any node that answers is back."""


def _nodes_of(job: Job) -> Sequence[int]:
    return () if job.run is None else job.run.allocation.nodes


@dataclass(eq=False)
class NodeStates(Part):
    """Changes the states of nodes.

    Args:
        seed: of what is drawn.
        epoch: Unix time of second 0; 0 if that is not known.

    Raises:
        ConfigurationError: an event is of a node that there is not, or at a time that cannot be told.
    """

    passes: Passes
    stints: Stints
    endings: Endings
    seed: int
    epoch: int
    _failures: dict[int, int] = field(default_factory=dict)
    _before: dict[int, str] = field(default_factory=dict)
    _asked: dict[int, tuple[str, str]] = field(default_factory=dict)
    _pinged: dict[int, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        index = self.cluster.machine.index
        for number, event in enumerate(self.operation.node_events):
            for name in event.nodes:
                if name not in index:
                    raise ConfigurationError(f"{event.location}: there is no node {name!r} in the slurm.conf")
            if event.dated and not self.epoch:
                raise ConfigurationError(
                    f"{event.location}: has a date, and the workload does not say when its second 0 was; give seconds"
                )
            self.agenda.at(max(event.at - (self.epoch if event.dated else 0), 0.0), "node event", number)
        if self.operation.mtbf:
            for node in self.cluster.machine.up.nonzero()[0].tolist():
                self._next_failure(node)

    def listed(self, number: int) -> None:
        """An event of the list."""
        event = self.operation.node_events[number]
        self.change([self.cluster.machine.index[name] for name in event.nodes], event.state, event.reason)

    def fail(self, node: int) -> None:
        """A node fails, unless it is down; it will be repaired."""
        self._before[node] = before = self.cluster.admin_states.get(node, "UP")
        self._failures[node] = self._failures.get(node, 0) + 1
        if before != "DOWN":
            self.change([node], "DOWN", FAILED)
        self.agenda.at(self.cluster.now + self._drawn(node, REPAIRED, self.operation.mttr), "node repair", node)

    def repair(self, node: int) -> None:
        """A node that had failed becomes what it was, unless an operator or the list has said otherwise meanwhile."""
        before = self._before.pop(node)
        if before != "DOWN" and self.cluster.admin_states.get(node) == "DOWN":
            self.change([node], before, REPAIRED)
        self._next_failure(node)

    def set(self, nodes: Iterable[int], state: str, reason: str = "") -> None:
        """DOWN ends the jobs of nodes, DRAIN lets them end, UP brings the nodes back."""
        self._set(sorted(nodes), state, reason, {})

    def take_down(self, nodes: Iterable[int], reason: str) -> None:
        """An operator says that nodes are down.

        Under ``ReturnToService=2`` a node that answers the controller is back (recorded). A node that has jobs answers
        when the controller has it end these jobs, before they and their epilogs are over; a node that has none answers
        at a ping, or has answered as the last one ended, which is noted a little later. A node that was drained before
        is drained when it is back.
        """
        nodes = sorted(nodes)
        returns = self.parameters.return_to_service == RETURNS and not self.ideal
        drained = {node for node in nodes if self.cluster.admin_states.get(node) == "DRAIN"}
        back = {node: ("DRAIN" if node in drained else "UP", ANSWERED) for node in nodes if returns}
        down = frozenset(nodes)
        running = [job for job in self._with_nodes() if job.state is not State.COMPLETING]
        ended = [job for job in running if not self._goes_on(job, down)]
        ends_jobs = {node for job in ended for node in _nodes_of(job)}
        self._set(nodes, "DOWN", reason, back)
        for node in back:
            noted = self._noted_at(self.cluster.now if node in ends_jobs else self.passes.heard_at(node))
            if noted >= self.cluster.now:
                self.agenda.at(noted, "node answers", node)
            else:
                self._await_ping(node)

    def _await_ping(self, node: int) -> None:
        """A node answers the next ping that it gets."""
        at = self.passes.pinged_at(node)
        if at is not None:
            self._pinged[node] = at
            self.agenda.at(at, "node answers", node, at)

    def _noted_at(self, told: float) -> float:
        """When the controller notes that a node has answered which was told at a time that its jobs are to end."""
        if self.parameters.rules.ANSWERS_ARE_NOTED_IN_ROUNDS:
            return self.timing.second_round_at(told + self.timing.job_overhead / 3) - BEFORE
        return told + self.timing.job_overhead / 2

    def _set(self, nodes: list[int], state: str, reason: str, asked: dict[int, tuple[str, str]]) -> None:
        cluster = self.cluster
        for node in nodes:
            self._asked.pop(node, None)
            self._pinged.pop(node, None)
            cluster.admin_states[node] = state
            cluster.machine.up[node] = cluster.node_is_up(node)
        self._asked.update(asked)
        self._replace_reserved()
        self.telling.nodes(nodes, state, reason)
        if state == "DOWN":
            self.end_jobs(nodes)

    def _replace_reserved(self) -> None:
        """Reservations get other nodes in the controller's next round, once it knows what has answered (its log)."""
        if self.ideal:
            self.reservations.replace()
        elif self.reservations.replace_due() < math.inf:
            self.agenda.at(self.timing.round_at(self.cluster.now) - BEFORE / 2, "nodes replaced")

    def end_jobs(self, nodes: Iterable[int]) -> None:
        """The jobs on nodes end, for they have lost a node."""
        down = frozenset(nodes)
        for job in self._with_nodes():
            if down.isdisjoint(_nodes_of(job)):
                continue
            if self._goes_on(job, down):
                self._go_on(job, down)
            else:
                self._end(job, down)

    def _go_on(self, job: Job, down: frozenset[int]) -> None:
        """A job gives up nodes that are down; with the first one its script is gone."""
        with_script = _nodes_of(job)[0] in down
        self.stints.give_up(job, down)
        if with_script:
            self.endings.lose_script(job)

    def _goes_on(self, job: Job, down: frozenset[int]) -> bool:
        """Whether a job goes on without nodes that are down (``--no-kill``): not while it waits for its nodes."""
        if not job.options.no_kill or job.request.het_job_id is not None or job.run is None:
            return False
        stays = job.state is not State.COMPLETING and job.run.configuring < math.inf
        return stays and not down.issuperset(_nodes_of(job))

    def _with_nodes(self) -> list[Job]:
        """Jobs that have nodes."""
        return [*self.cluster.running.values(), *self.cluster.suspended.values()]

    def resume(self, nodes: Iterable[int], reason: str = "") -> None:
        """Nodes that were drained or down may come back: in its next round the controller asks whether they are there.

        The pass of that round comes before their answers. Others are pinged with them, and then at each interval from
        there (recorded).
        """
        away = [node for node in nodes if self.cluster.admin_states.get(node, "UP") != "UP"]
        if self.ideal:
            self.set(away, "UP", reason)
            return
        self._asked.update(dict.fromkeys(away, ("UP", reason)))
        asked = self.timing.round_at(self.cluster.now + self.timing.submit_lag)
        for node in away:
            self.agenda.at(asked + ANSWERS, "node answers", node)
        if away:
            self.passes.ping(asked)
            for node in sorted(self._pinged):
                self._await_ping(node)

    def heard(self, nodes: Iterable[int]) -> None:
        """Nodes say something else, such as that a run is over: those that were asked have answered by that.

        Not one that was taken down: that a job has left it is no answer to what the controller sent (recorded).
        """
        for node in sorted(self._asked.keys() & set(nodes)) if self._asked else ():
            if self._asked[node][1] != ANSWERED:
                self.answers(node)

    def answers(self, node: int, pinged: float | None = None) -> None:
        """A node answers that was asked, and is back, unless it was drained or taken down once more meanwhile.

        Args:
            node: which one.
            pinged: when, if it is a ping that it answers; it may have come at another time since.
        """
        if node not in self._asked or (pinged is not None and self._pinged.get(node) != pinged):
            return
        state, reason = self._asked[node]
        self.changes.all()
        self.passes.moved()
        self.cluster.look_again()
        self.set([node], state, reason)
        if reason != ANSWERED:
            # A pass follows the answer of one that an operator has resumed (the controller's log).
            self.passes.request_for_answer()

    def change(self, nodes: Iterable[int], state: str, reason: str) -> None:
        """Nodes change, and the loops look at it."""
        self.changes.all()
        self.passes.moved()
        self.stints.sweep_due = 0.0
        self.cluster.look_again()
        self.set(nodes, state, reason)
        self.passes.request_in_turn(self.timing.submit_lag)

    def _end(self, job: Job, down: frozenset[int]) -> None:
        """A job that has lost a node ends, and so do all components of a heterogeneous job (recorded).

        Of one that comes back only those do up to the last that has lost one: the others fail, as the script ends; from
        26.05 on they go on until they reach their limits if its node is lost.
        """
        components = components_of(job, self.cluster)
        lost = (index for index, one in enumerate(components) if not down.isdisjoint(_nodes_of(one)))
        last = max(lost) if self.endings.may_requeue(job) else len(components) - 1
        for one in components[last + 1 :]:
            if one.run is not None and one.state is State.RUNNING and one.run.end is None:
                self.endings.lose_first(one, script_lost=not down.isdisjoint(_nodes_of(components[0])[:1]))
        for one in components[: last + 1]:
            if one.run is not None:
                self._end_one(one, down)

    def _end_one(self, job: Job, down: frozenset[int]) -> None:
        """A job ends with a node; one that leaves its nodes already does so, and at once if it has lost all of them."""
        lost = self.endings.lost.pop(job.id, frozenset())
        if job.state is not State.COMPLETING or job.writes:
            lost = frozenset()
            if job.id in self.cluster.suspended:
                self.stints.resume(job, "NodeDown")
            job.requeue_after = self.endings.may_requeue(job)
            self.endings.terminate(job, State.NODE_FAIL)
        if job.run is None:
            return
        lost |= down.intersection(job.run.allocation.nodes)
        if lost.issuperset(job.run.allocation.nodes):
            self._lost_all(job)
        else:
            self.endings.lost[job.id] = lost

    def _lost_all(self, job: Job) -> None:
        """A job without a node that is up is over; unless it comes back a pass follows its processes and epilogs."""
        comes_back = job.requeue_after
        cleared = self.endings.lose(job)
        if not comes_back:
            self.passes.request(cleared)

    def _next_failure(self, node: int) -> None:
        self.agenda.at(self.cluster.now + self._drawn(node, FAILED, self.operation.mtbf), "node failure", node)

    def _drawn(self, node: int, what: str, mean: float) -> float:
        """Seconds with this mean, exponentially distributed."""
        words = f"{self.seed} {self.cluster.machine.names[node]} {self._failures.get(node, 0)} {what}"
        return -math.log(drawn(words)) * mean
