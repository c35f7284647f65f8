"""The emulator's controller, led by what was seen of the real one: jobs come, start, stand still and end as they did.

Nothing here decides, and there is no second model: submissions, starts and ends go through the doors of
:mod:`emulator.engine`, by which views are kept up to date and observers are told. What the agenda then has of things to
come is let go of: a real Slurm will say when they happen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from emulator.config.slurm.hostlist import compress, expand
from emulator.engine.controller import Controller
from emulator.live.marks import Marks
from emulator.live.sight import Asked, Sight, takes_jobs
from emulator.live.slurm import Look
from emulator.operator import jobs as operator
from emulator.scheduling.job_mgr import make_job
from emulator.state.job import Job
from emulator.state.run import State
from emulator.workload.request import JobRequest, RejectedError
from emulator.workload.sbatch import BatchOptions, TaskArray
from emulator.workload.sitelog import UNTIL_ITS_LIMIT
from slurm_sim_plugins.nodes import Allocation, Gres, neighbours

COMPONENT = "components of heterogeneous jobs start together, which Slurm's own backfill sees to"
"""Why a component that waits is left to Slurm."""
NOT_YET = ("Dependency", "DependencyNeverSatisfied", "BeginTime", "Reservation", "ReservationDeleted")
"""Reasons of jobs that Slurm would not start on any nodes yet."""
ENDS = {
    **{state.value: state for state in State if state.value not in ("PENDING", "RUNNING", "SUSPENDED", "COMPLETING")},
    "OUT_OF_MEMORY": State.FAILED,
    "BOOT_FAIL": State.NODE_FAIL,
    "REVOKED": State.CANCELLED,
}
"""The emulator's state for one that a job may end with."""
Asking = Callable[[Sequence[Sight]], Mapping[str, Asked]]


@dataclass(frozen=True, slots=True)
class Change:
    """What happened to a job; ``at`` in seconds since the epoch.

    Attributes:
        at: when.
        kind: ``submitted``, ``started``, ``suspended``, ``resumed``, ``completing``, ``requeued``, ``ended`` or
            ``left``.
        job: as Slurm names it.
        nodes: of a start: a host list.
        cpus: of a start: how many of each node, such as ``4,2``, nodes in the order of the configuration.
        state: of an end, in Slurm's words.
    """

    at: float
    kind: str
    job: str
    nodes: str = ""
    state: str = ""
    cpus: str = ""


@dataclass(frozen=True, slots=True)
class Own:
    """What of the state of jobs is neither Slurm's nor their users'.

    Attributes:
        required: of jobs that are on hold, or bound to nodes, because a plugin's scheduler has them so: the ReqNodeList
            of their users, by label.
        limits: what their users' limits are, in seconds by label, of jobs with another one.
        takes_held: whether jobs that are on hold when they are seen first are the scheduler's, too.
    """

    required: Mapping[str, str] = field(default_factory=dict)
    limits: Mapping[str, float] = field(default_factory=dict)
    takes_held: bool = False


@dataclass(slots=True)
class Followed:
    """A job of the real cluster, and the one that stands for it."""

    sight: Sight
    asked: Asked
    job: Job


@dataclass(slots=True)
class Mirror:
    """Leads a controller by looks at the real one.

    Attributes:
        controller: what plugins see; its second 0 is the epoch.
        epoch: in Unix seconds.
        marks: which jobs are the plugin's; others are seen as far as they have nodes.
        slurm_numbers: whether jobs have the priorities that Slurm gave them, not those of a plugin.
        followed: jobs that are not over, by label.
        left_out: why jobs are not shown to plugins, by label.
        told: is given what is to be said, once each.
    """

    controller: Controller
    epoch: float
    marks: Marks
    slurm_numbers: bool
    told: Callable[[str], None]
    followed: dict[str, Followed] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    _changes: list[Change] = field(default_factory=list)

    def follow(self, look: Look, ask: Asking, own: Own) -> list[Change]:
        """Bring the controller up to date.

        Args:
            look: what was seen.
            ask: says what jobs ask for and have.
            own: what was done to jobs on behalf of the plugins.

        Returns:
            What happened, in the order of its times.
        """
        queue = sorted(look.queue, key=lambda sight: sight.number)
        seen = {sight.label: sight for sight in queue if self._concerns(sight)}
        known = set(self.followed)
        gone = [followed.sight for label, followed in self.followed.items() if label not in seen]
        new = [sight for label, sight in seen.items() if self._is_news(sight, own)]
        asked = self._asked([*gone, *new], ask)
        self._changes = []
        self._see_nodes(look)
        todo = [*self._ends(gone, asked, look.at), *self._moves(new, asked, look.at)]
        for at, _, do in sorted(todo, key=lambda one: one[:2]):
            with self._at(at):
                do()
        with self._at(look.at):
            for label, sight in seen.items():
                if label in self.followed:
                    taken = label in own.required or (own.takes_held and label not in known)
                    self._refresh(self.followed[label], sight, own, taken)
        for label in self.left_out.keys() - seen.keys():
            del self.left_out[label]
        self._forget_agenda()
        self.controller.cluster.now = look.at - self.epoch
        return self._changes

    def _concerns(self, sight: Sight) -> bool:
        """Whether plugins are to see a job: it is one of theirs, or in their way."""
        return sight.label in self.followed or not sight.waits or self.marks.fit(sight)

    def _is_news(self, sight: Sight, own: Own) -> bool:
        """Whether more is to be known of a job than a look says."""
        known = self.followed.get(sight.label)
        if known is None:
            return sight.label not in self.left_out or not sight.waits
        before = known.sight
        if not sight.waits:
            return before.waits or before.start != sight.start
        if before.waits and sight.required != own.required.get(sight.label, sight.required):
            # It is bound to the nodes on which it is to start, and its size is theirs.
            return False
        return not before.waits or _request(before) != _request(sight)

    def _asked(self, jobs: Sequence[Sight], ask: Asking) -> dict[str, Asked]:
        """What these jobs ask for; tasks of an array that are still together are asked for once."""
        first: dict[int, Sight] = {}
        for sight in jobs:
            first.setdefault(sight.id if sight.waits else -sight.number, sight)
        found = ask(list(first.values()))
        asked = {}
        for sight in jobs:
            same = found.get(first[sight.id if sight.waits else -sight.number].label)
            if same is not None:
                array = same.options.array
                own = array if array is None else TaskArray((sight.task,), array.limit)
                asked[sight.label] = replace(same, options=replace(same.options, array=own))
        return asked

    # What happened, as (when, order within that second, what to do)

    def _ends(
        self, gone: Sequence[Sight], asked: Mapping[str, Asked], now: float
    ) -> Iterator[tuple[float, int, Callable[[], None]]]:
        for sight in gone:
            known, last = self.followed[sight.label], asked.get(sight.label)
            state = last.state if last is not None and last.state in ENDS else ""
            state = state or ("CANCELLED" if known.job.run is None else "COMPLETED")
            end = last.end if last is not None and last.end is not None else now
            unseen = last if sight.waits and last is not None and last.nodes else None
            yield min(end, now), 0, _call(self._end, known, state, unseen)

    def _moves(
        self, new: Sequence[Sight], asked: Mapping[str, Asked], now: float
    ) -> Iterator[tuple[float, int, Callable[[], None]]]:
        for sight in new:
            known, of = self.followed.get(sight.label), asked.get(sight.label)
            if of is None:
                continue  # It has vanished or has another name meanwhile: the next look tells.
            if known is None:
                yield sight.submit, 1, _call(self._arrive, sight, of)
            elif known.job.run is not None and (sight.waits or sight.start != known.sight.start):
                yield min(max(sight.submit, known.sight.start or 0.0), now), 0, _call(self._send_back, known, of)
            elif sight.waits:
                yield now, 1, _call(self._change, known, sight, of)
            if not sight.waits:
                yield min(sight.start or now, now), 2, _call(self._start, sight, of)

    def _arrive(self, sight: Sight, asked: Asked) -> None:
        if asked.component and sight.waits:
            self._leave_out(sight, COMPONENT)
            return
        job = self._made(sight, asked)
        if job is None:
            return
        job.limit, job.restarts = sight.limit, asked.restarts
        controller = self.controller
        try:
            controller.arrivals.admit([job])
        except RejectedError as error:
            self._leave_out(sight, str(error))
            return
        controller.arrivals.enter([job])
        self.followed[sight.label] = Followed(sight, asked, job)
        self._note("submitted", sight.label)

    def _made(self, sight: Sight, asked: Asked) -> Job | None:
        """The job that stands for another one; None if it cannot be shown."""
        request = JobRequest(
            id=sight.number,
            submit=sight.submit - self.epoch,
            run=UNTIL_ITS_LIMIT,
            options=asked.options,
            user=sight.user,
            array=sight.array,
            task=sight.task,
        )
        cluster = self.controller.cluster
        try:
            job = make_job(request, cluster)
            if sight.waits or not job.unfit:
                return job
            why = job.unfit
        except RejectedError as error:
            why = str(error)
        self._leave_out(sight, " ".join(why.split()))
        if sight.waits:
            return None
        nodes = sum(len(names) for names, *_ in asked.has)
        plain = BatchOptions(min_nodes=nodes, max_nodes=nodes, partitions=(sight.partition,), time_limit=sight.limit)
        try:
            return make_job(replace(request, options=plain), cluster)
        except RejectedError:
            return None

    def _leave_out(self, sight: Sight, why: str) -> None:
        if sight.label not in self.left_out:
            self.told(f"job {sight.label} is left to Slurm: the emulator would not take it ({why})")
        self.left_out[sight.label] = why

    def _start(self, sight: Sight, asked: Asked) -> None:
        known = self.followed.get(sight.label)
        if known is None:
            return
        controller, cluster, job = self.controller, self.controller.cluster, known.job
        allocation = self._allocation(asked)
        partition = cluster.partitions.get(sight.partition)
        if allocation is None or partition is None:
            return  # It ends already, or runs where the configuration has no nodes, which has been told.
        job.held_by, job.limit = "", sight.limit
        controller.starts.start(job, partition, allocation)
        known.sight, known.asked = sight, asked
        threads = cluster.machine.threads[list(allocation.nodes)]
        cpus = ",".join(str(each) for each in (threads * list(allocation.units)).tolist())
        self._note("started", sight.label, nodes=sight.nodes, cpus=cpus)

    def _allocation(self, asked: Asked) -> Allocation | None:
        """What a job has, in the emulator's units."""
        machine, conf = self.controller.cluster.machine, self.controller.cluster.conf.nodes
        rows = sorted(
            (machine.index[name], cpus // conf[machine.index[name]].ids_of_cpu, memory, gres)
            for names, cpus, memory, gres in asked.has
            for name in names
            if name in machine.index
        )
        if not rows:
            return None
        kinds: dict[Gres, tuple[int, ...]] = {
            kind: tuple(
                sum(one.count for one in gres if one.name == kind[0] and one.type in ("", kind[1]))
                for _, _, _, gres in rows
            )
            for kind in machine.gres
            if kind[0]
        }
        if machine.devices is not None:
            kinds |= machine.devices.likely(self.controller.cluster.free.gres, [row[0] for row in rows], kinds)
        return Allocation(
            nodes=neighbours([row[0] for row in rows]),
            units=tuple(max(cpus // int(machine.threads[node]), 1) for node, cpus, _, _ in rows),
            memory=tuple(memory for _, _, memory, _ in rows),
            gres={kind: counts for kind, counts in kinds.items() if any(counts)},
        )

    def _end(self, known: Followed, state: str, unseen: Asked | None = None) -> None:
        """A job is over; ``unseen`` is what is known of a run that began and ended between two looks."""
        controller, job = self.controller, known.job
        ended = ENDS[state]
        if unseen is not None and unseen.start is not None:
            self._note("started", known.sight.label, unseen.nodes, at=unseen.start - self.epoch)
        if job.run is None:
            controller.passes.leave_queue(job, ended)
        else:
            self._back_on_nodes(known)
            job.requeue_after = False
            controller.endings.over(job.id, ended, job.sequence)
        self._note("ended" if unseen is not None or job.runs else "left", known.sight.label, state=state)
        self._forget(known)

    def _send_back(self, known: Followed, asked: Asked) -> None:
        """A run is over, and its job waits again."""
        job = known.job
        self._back_on_nodes(known)
        job.requeue_after = True
        self.controller.endings.over(job.id, State.PREEMPTED, job.sequence)
        known.asked = asked
        self._note("requeued", known.sight.label)

    def _back_on_nodes(self, known: Followed) -> None:
        job = known.job
        if job.state is State.SUSPENDED:
            self.controller.stints.resume(job, "operator")
        elif job.state is State.COMPLETING and job.run is not None:
            self.controller.cluster.epilog(job.run.allocation, -1)

    def _change(self, known: Followed, sight: Sight, asked: Asked) -> None:
        """A waiting job asks for something else."""
        self.controller.cluster.order.changed()
        options = asked.options
        if known.job.runs:
            # Of a job that ran before, Slurm shows how many nodes it had, not how many it asks for.
            own = known.job.options
            options = replace(options, min_nodes=own.min_nodes, max_nodes=own.max_nodes)
        try:
            operator.change(known.job, options, self.controller)
        except RejectedError as error:
            self._leave_out(sight, str(error))
            self.controller.passes.leave_queue(known.job, State.CANCELLED)
            self._forget(known)
            return
        finally:
            # The queue is in order again before any job is taken out of it.
            self.controller.cluster.order.pairs()
        known.asked = asked

    def _forget(self, known: Followed) -> None:
        """Let go of a job that is over: others that depend on it are held by Slurm, not by the mirror."""
        cluster, job = self.controller.cluster, known.job
        del self.followed[known.sight.label], cluster.jobs[job.id]
        for groups, key in ((cluster.named, (job.request.user, job.name)), (cluster.tasks, job.request.array)):
            if key in groups:
                groups[key].remove(job)  # type: ignore[index]
                if not groups[key]:  # type: ignore[index]
                    del groups[key]  # type: ignore[arg-type]

    # What is so

    def _refresh(self, known: Followed, sight: Sight, own: Own, taken: bool) -> None:
        """What a look says of a job that needs no question; one that is taken is on hold for a plugin only."""
        before, known.sight = known.sight, sight
        job = known.job
        limit = own.limits.get(sight.label, sight.limit)
        if job.run is not None:
            self._refresh_run(job, sight, limit)
            return
        if job.state is not State.PENDING:
            return
        job.limit = limit
        self._refresh_wait(job, sight, known.asked, taken)
        renumbered = self.slurm_numbers and sight.priority not in (0, job.priority)
        if renumbered:
            job.priority, job.fixed_priority = sight.priority, True
            self.controller.policies.reordered()
        if renumbered or before.priority != sight.priority or job.reason != sight.reason:
            self.controller.cluster.order.settle(job)

    def _refresh_wait(self, job: Job, sight: Sight, asked: Asked, taken: bool) -> None:
        controller, cluster = self.controller, self.controller.cluster
        if sight.held and not taken:
            if not job.held_by:
                operator.hold(job, controller)
                job.held_by = sight.reason if sight.reason.startswith("JobHeld") else job.held_by
        elif job.held_by:
            operator.release(job, controller)
        begin = asked.begin - self.epoch if asked.begin is not None else 0.0
        waits = sight.reason in NOT_YET or sight.dependency
        job.begin = max(begin, cluster.now + 1.0) if waits and begin > cluster.now else math.inf if waits else 0.0
        if waits or job.held_by or job.eligible is None:
            cluster.unsettled[job.id] = job

    def _refresh_run(self, job: Job, sight: Sight, limit: float) -> None:
        assert job.run is not None
        stints = self.controller.stints
        if limit != job.run.limit:
            job.limit = job.run.limit = limit
            stints.ends_otherwise(job)
        if sight.state == "SUSPENDED" and job.state is State.RUNNING:
            operator.suspend(job, self.controller)
            self._note("suspended", sight.label)
        elif sight.state != "SUSPENDED" and job.state is State.SUSPENDED:
            operator.resume(job, self.controller)
            self._note("resumed", sight.label)
        if sight.state == "COMPLETING" and job.state is State.RUNNING:
            # It has its nodes until its epilogs are over, and is planned to leave them at any moment.
            # No other starts there meanwhile, also not on CPUs that are free.
            job.state, job.vacating = State.COMPLETING, True
            stints.ends_otherwise(job)
            self.controller.cluster.epilog(job.run.allocation, 1)
            self._note("completing", sight.label)

    def _see_nodes(self, look: Look) -> None:
        """Nodes are down, draining, kept for a reservation, or up."""
        cluster, controller = self.controller.cluster, self.controller
        index = cluster.machine.index
        for name in look.nodes.keys() - index.keys():
            self.told(f"node {name} is not in {cluster.conf.source}: it is left to Slurm")
        up = {number: name in look.nodes and takes_jobs(look.nodes[name]) for name, number in index.items()}
        for state, wanted in (("UP", True), ("DRAIN", False)):
            changed = [
                node for node, is_up in up.items() if is_up is wanted and bool(cluster.machine.up[node]) != is_up
            ]
            if changed:
                cluster.look_again()
                controller.node_states.set(changed, state)

    def _note(
        self, kind: str, job: str, nodes: str = "", state: str = "", at: float | None = None, cpus: str = ""
    ) -> None:
        at = self.controller.cluster.now if at is None else at
        self._changes.append(Change(at, kind, job, compress(expand(nodes)) if nodes else "", state, cpus))

    @contextmanager
    def _at(self, second: float) -> Iterator[None]:
        """What is done, is done at a Unix second."""
        cluster = self.controller.cluster
        before, cluster.now = cluster.now, second - self.epoch
        yield
        cluster.now = max(before, cluster.now)

    def _forget_agenda(self) -> None:
        agenda = self.controller.agenda
        while agenda.first is not None:
            agenda.take()


def _request(sight: Sight) -> tuple[object, ...]:
    """What a job asks for, as far as a look shows it; its limit is read at each look."""
    stated = sight.partition, sight.account, sight.qos, sight.nice, sight.reservation, sight.name
    return *stated, sight.size, sight.required


def _call(do: Callable[..., None], *values: object) -> Callable[[], None]:
    return lambda: do(*values)
