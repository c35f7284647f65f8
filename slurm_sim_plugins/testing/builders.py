"""Describe a cluster in the middle of things in a line or two.

>>> cluster(10).running(job(4, limit=100), since=-20).waiting(job(6), job(2, planned=5, limit=60))
cluster(10).running(job(4, limit=100), since=-20).waiting(job(6), job(2, planned=5, limit=60))

A description never changes: each step gives a new one, and whatever is done with it
begins from what it says.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from slurm_sim_plugins.blocks import Blocks
from slurm_sim_plugins.cluster import Association, Partition, Qos
from slurm_sim_plugins.decisions import FIRST_TIER, Plan
from slurm_sim_plugins.errors import ConfigurationError
from slurm_sim_plugins.processors import Processors, all_processors, highest, in_words, processors

if TYPE_CHECKING:
    from slurm_sim_plugins.testing.scene import Scene

LIMIT = 3600.0
"""Seconds that a job asks for which says nothing: an hour."""


@dataclass(frozen=True)
class JobSpec:
    """A job that a test asks for; :func:`job` makes one."""

    processors: int
    limit: float
    planned: Plan
    submit: float | None = None
    run: float | None = None
    id: int | None = None
    priority: float | None = None
    requeues: int = 0
    backfilled: bool = False
    facts: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"job({', '.join([f'{self.processors}', *self._stated()])})"

    def _stated(self) -> list[str]:
        """What was not left to the defaults."""
        planned = self.planned
        stated: dict[str, Any] = {}
        if planned == (planned.queue,) * 3:
            if planned.queue != LIMIT and planned.queue != self.limit:
                stated["planned"] = planned.queue
        else:
            stated["planned"] = planned
        if self.limit != LIMIT:
            stated["limit"] = self.limit
        for name in ("submit", "run", "id", "priority"):
            if getattr(self, name) is not None:
                stated[name] = getattr(self, name)
        stated |= {name: getattr(self, name) for name in ("requeues", "backfilled") if getattr(self, name)}
        stated |= self.facts
        return [f"{name}={_text(value)}" for name, value in stated.items()]


def job(
    processors: int = 1,
    *,
    limit: float | None = None,
    planned: float | Plan | None = None,
    submit: float | None = None,
    run: float | None = None,
    id: int | None = None,
    priority: float | None = None,
    requeues: int = 0,
    backfilled: bool = False,
    **facts: Any,
) -> JobSpec:
    """A job, of which only what matters need be said. Times are seconds on the scene's clock.

    Args:
        processors: how many it wants.
        limit: seconds that it asks for; what is planned, or an hour.
        planned: seconds with which schedulers plan, as the walltime plugin answered; the limit.
        submit: when it was submitted; now, or when it was started.
        run: true seconds of work, for an oracle and for a simulation; the limit.
        id: the next whole number from 1 that no other job has.
        priority: as a priority plugin answered, higher goes first; 0 where another job has
            one, else first come, first served.
        requeues: how often it was sent back to the queue.
        backfilled: whether its run went ahead of the head of the queue.
        facts: further columns of the workload: ``user=``, ``group=``, ``queue=``,
            ``partition=``, ``predicted=``, and any other. On a cluster with nodes ``user=`` and the long
            options of ``sbatch``: ``partition="gpu"``, ``gres="gpu:1"``, ``nodes=2``, ``mem="4G"``, ``exclusive=True``.

    Raises:
        ConfigurationError: a number that makes no sense.
    """
    plan = planned if isinstance(planned, Plan) else None if planned is None else Plan(*[float(planned)] * 3)
    if limit is None:
        limit = max(plan) if plan is not None and min(plan) > 0 else LIMIT
    if plan is None:
        plan = Plan(*[float(limit)] * 3)
    if processors < 1 or processors != int(processors):
        raise ConfigurationError(f"job({processors}): a job wants 1 processor or more")
    if not limit > 0:
        raise ConfigurationError(f"job({processors}, limit={limit}): a limit is more than 0 s")
    if not all(0 < seconds <= limit for seconds in plan):
        raise ConfigurationError(
            f"job({processors}, planned={planned}): a planned time is more than 0 s and at most the limit of "
            f"{limit:g} s"
        )
    if run is not None and not run >= 0:
        raise ConfigurationError(f"job({processors}, run={run}): a run time is 0 s or more")
    return JobSpec(int(processors), float(limit), plan, submit, run, id, priority, requeues, backfilled, facts)


def partition(name: str = "p", **attributes: Any) -> Partition:
    """A partition, of which only what matters need be said: ``job(partition=partition("hi", tier=2))``."""
    usual = {"tier": 1, "job_factor": 1, "norm_priority": 1.0, "preempt_mode": (), "grace_time": 0.0, "tres": {}}
    unknown = {"lower_runs": False, "below_another": False}
    return Partition(SimpleNamespace(**{"name": name, **usual, **unknown, **attributes}))


def qos(name: str = "normal", **attributes: Any) -> Qos:
    """A quality of service: ``job(qos=qos("high", preempts={"low"}))``."""
    usual = {"priority": 0.0, "norm_priority": 0.0, "preempts": frozenset(), "preempted": False, "flags": frozenset()}
    stated = {"preempt_mode": frozenset(), "grace_time": 0.0, "exempt_time": None}
    return Qos(SimpleNamespace(**{"name": name, **usual, **stated, **attributes}))


def association(account: str = "root", user: str = "", **attributes: Any) -> Association:
    """An association: ``job(association=association("physics", "ann", fair_share=0.5))``."""
    usual = {"priority": 0.0, "norm_priority": 0.0, "shares": 1, "norm_shares": 1.0, "norm_usage": 0.0}
    whose = SimpleNamespace(account=account, user=user)
    return Association(SimpleNamespace(**{"association": whose, **usual, "fair_share": 1.0, **attributes}))


@dataclass(frozen=True)
class Running:
    """A job that runs: since when, until when it is planned to, and, if there are tiers or blocks, where."""

    job: JobSpec
    since: float
    until: float
    tier: str = FIRST_TIER
    where: Processors = 0
    block: int | None = None


@dataclass(frozen=True)
class Cluster:
    """What a test says of a cluster; :func:`cluster` makes one.

    Attributes:
        processors: size of the machine; 0 if it has nodes.
        now: simulated time in seconds.
        changed: what ``view.changed`` says: False if since the last pass jobs were only
            submitted, behind the head of the queue.
        compiled: whether ``view.profile()`` answers with compiled code.
        tiers: names of the tiers, as of a plugin in the ExecutionType slot; none.
        blocks: of the machine, as of a plugin in the SelectType slot; none.
        runs: what runs, in the order of starting.
        queued: jobs that wait since before the last pass.
        arrived: jobs that were queued since.
        conf: the cluster with nodes: a ``slurm.conf``, as text or by its path; None where processors are counted.
        accounts: of such a cluster, as commands of ``sacctmgr`` or the path of a file with them; None for none.
        qos: of such a cluster, instead of accounts: the limits of each, by name, which hold for every user.
    """

    processors: int
    now: float = 0.0
    changed: bool = True
    compiled: bool = False
    tiers: tuple[str, ...] = ()
    blocks: Blocks | None = None
    runs: tuple[Running, ...] = ()
    queued: tuple[JobSpec, ...] = ()
    arrived: tuple[JobSpec, ...] = ()
    conf: str | Path | None = None
    accounts: str | Path | None = None
    qos: Mapping[str, str] | None = None
    _said: str = ""
    _steps: tuple[str, ...] = ()

    def running(
        self,
        *jobs: JobSpec,
        since: float | None = None,
        until: float | None = None,
        tier: str | None = None,
        where: Iterable[int] | None = None,
        block: int | str | None = None,
    ) -> Cluster:
        """These jobs run, too.

        Args:
            jobs: in the order in which they started.
            since: when they started, in seconds on the scene's clock; now.
            until: when they are planned to end, which may have passed; their start and
                what is planned for them.
            tier: where there are tiers; the first.
            where: of one job, where there are tiers: the numbers of its processors; the
                highest that are idle.
            block: of one job, where there are blocks: number or name of the one that it is on;
                the first of its size of which nothing is in use.

        Raises:
            ConfigurationError: they do not fit, or start later than now.
        """
        start = self.now if since is None else float(since)
        if start > self.now:
            raise ConfigurationError(f"since={since:g} is later than now ({self.now:g}); what runs has started")
        runs = [Running(job, start, start + job.planned.running if until is None else float(until)) for job in jobs]
        stated: dict[str, Any] = {"since": since, "until": until, "tier": tier}
        if self.conf is not None:
            if tier is not None or where is not None or block is not None:
                raise ConfigurationError(
                    'on a cluster with nodes say job(nodelist="n1"); tier, where and block are not'
                )
            return self._and("running", jobs, stated, runs=(*self.runs, *runs))
        if self.tiers or tier is not None or where is not None:
            stated["where"] = numbers = None if where is None else list(where)
            runs = self._placed(runs, tier or FIRST_TIER, numbers)
        if self.blocks is not None or block is not None:
            stated["block"] = block
            runs = self._on_blocks(runs, block)
        here = tier or FIRST_TIER
        wanted = sum(run.job.processors for run in (*self.runs, *runs) if run.tier == here)
        if wanted > self.processors:
            raise ConfigurationError(f"what runs takes {wanted} processors, the cluster has {self.processors}")
        return self._and("running", jobs, stated, runs=(*self.runs, *runs))

    def _placed(self, runs: list[Running], tier: str, where: list[int] | None) -> list[Running]:
        """The runs with their processors.

        Raises:
            ConfigurationError: there is no such tier, or no such processor in it.
        """
        if tier not in self.tiers:
            known = ", ".join(self.tiers) or "none; say cluster(4, tiers=('fg', 'bg'))"
            raise ConfigurationError(f"there is no tier {tier!r}; there are {known}")
        if where is not None and (len(runs) != 1 or len(set(where)) != runs[0].job.processors):
            raise ConfigurationError(f"where={where}: name as many processors as one job wants, and one job only")
        idle, placed = all_processors(self.processors), []
        for run in self.runs:
            idle &= ~run.where if run.tier == tier else idle
        for run in runs:
            taken = highest(idle, run.job.processors) if where is None else processors(where)
            if taken & ~idle:
                raise ConfigurationError(f"where={where}: {in_words(taken & ~idle)} are not idle in {tier}")
            idle &= ~taken
            placed.append(replace(run, tier=tier, where=taken))
        return placed

    def _on_blocks(self, runs: list[Running], block: int | str | None) -> list[Running]:
        """The runs with their blocks.

        Raises:
            ConfigurationError: there are no blocks, none of this name, or none that is free.
        """
        blocks = self.blocks
        if blocks is None:
            raise ConfigurationError("there are no blocks; say cluster(4, blocks=aligned(4, (1, 2, 4), nodes=1))")
        if block is not None and len(runs) != 1:
            raise ConfigurationError(f"block={block!r}: only one job can be there")
        used, placed = 0, []
        for run in self.runs:
            used |= blocks.takes[run.block] if run.block is not None else 0
        for run in runs:
            number = blocks.find(block) if isinstance(block, str) else block
            if number is None:
                number = blocks.first_free(run.job.processors, used)
            if number is None or blocks.takes[number] & used:
                raise ConfigurationError(f"{run.job}: no block is free for it; say which one, as block=0")
            used |= blocks.takes[number]
            placed.append(replace(run, block=number))
        return placed

    def waiting(self, *jobs: JobSpec) -> Cluster:
        """These jobs wait, too, and did so at the last pass."""
        self._check_widths(jobs)
        return self._and("waiting", jobs, {}, queued=(*self.queued, *jobs))

    def arriving(self, *jobs: JobSpec) -> Cluster:
        """These jobs wait, too, and were queued since the last pass."""
        self._check_widths(jobs)
        return self._and("arriving", jobs, {}, arrived=(*self.arrived, *jobs))

    def scene(self) -> Scene:
        """The scene itself, made at each call: jobs, queue, and a view to hand to a hook.

        Raises:
            ConfigurationError: it has nodes; the emulator sets these up.
        """
        if self.conf is not None:
            raise ConfigurationError(
                "a cluster with nodes is set up by the emulator: call, play and simulate_jobs of emulator.testing, or "
                "the fixtures call_hook, play and simulate_jobs"
            )
        from slurm_sim_plugins.testing.scene import Scene

        return Scene(self)

    def __repr__(self) -> str:
        head = [self._said or f"{self.processors}"]
        for item in fields(self)[1:6]:
            value = getattr(self, item.name)
            if value != item.default:
                head.append(f"{item.name}={_text(value)}")
        return ".".join([f"cluster({', '.join(head)})", *self._steps])

    def _and(self, step: str, jobs: tuple[JobSpec, ...], options: Mapping[str, object], **more: Any) -> Cluster:
        stated = [*map(repr, jobs), *(f"{key}={_text(value)}" for key, value in options.items() if value is not None)]
        return replace(self, _steps=(*self._steps, f"{step}({', '.join(stated)})"), **more)

    def _check_widths(self, jobs: tuple[JobSpec, ...]) -> None:
        for job in jobs:
            if self.conf is None and job.processors > self.processors:
                raise ConfigurationError(f"{job} never fits: the cluster has {self.processors} processors")


def cluster(
    machine: int | str | Path = 10,
    *,
    nodes: int | None = None,
    cpus: int = 1,
    gpus: int = 0,
    partitions: Mapping[str, str] | None = None,
    accounts: str | Path | None = None,
    qos: Mapping[str, str] | None = None,
    now: float = 0.0,
    changed: bool = True,
    compiled: bool = False,
    tiers: tuple[str, ...] = (),
    blocks: Blocks | None = None,
) -> Cluster:
    """A cluster on which nothing runs and for which no job waits; see :class:`Cluster`.

    Args:
        machine: how many processors; or a ``slurm.conf``: its text, or its path.
        nodes: so many nodes, ``n1`` and so on, instead of ``machine``.
        cpus: of each node.
        gpus: of each node.
        partitions: by name, what a ``PartitionName`` line says of it, such as ``"Nodes=n[1-2] MaxTime=60"``; the
            first is the default one. One of all nodes, if none is said.
        accounts: of a cluster with nodes: commands of ``sacctmgr``, or the path of a file with them.
        qos: of a cluster with nodes: by name, what ``sacctmgr`` sets for it, such as ``"MaxJobsPerUser=2"``. Everybody
            may use each; jobs have ``normal`` if they say nothing.
        now: as the following ones, see :class:`Cluster`.
        changed: whether more than submissions happened.
        compiled: whether profiles are.
        tiers: names of them.
        blocks: of the machine.

    Raises:
        ConfigurationError: it has no processors, the first tier has another name, the blocks are of
            another machine, or words do not go together.
    """
    said = {"nodes": nodes, "cpus": cpus, "gpus": gpus, "partitions": partitions, "accounts": accounts, "qos": qos}
    stated = {name: value for name, value in said.items() if value not in (None, 0) and (name, value) != ("cpus", 1)}
    if nodes is None and not isinstance(machine, int):
        stated = {"": machine, **stated}
    elif nodes is None and stated:
        raise ConfigurationError(f"cluster: {', '.join(stated)} are of nodes; say nodes=4, or give a slurm.conf")
    if stated:
        if set(stated) & {"cpus", "gpus", "partitions"} and nodes is None:
            raise ConfigurationError("cluster: nodes and partitions come from the slurm.conf; write them there")
        if tiers or blocks is not None or (accounts is not None and qos is not None):
            raise ConfigurationError("cluster: tiers and blocks are of counted processors; of accounts and qos say one")
        conf = machine if nodes is None else _conf(nodes, cpus, gpus, partitions or {"p": "Nodes=ALL"})
        words = ", ".join(f"{name}={value!r}" if name else repr(value) for name, value in stated.items())
        assert not isinstance(conf, int)
        return Cluster(0, float(now), changed, compiled, conf=conf, accounts=accounts, qos=qos, _said=words)
    assert isinstance(machine, int)
    if blocks is not None and blocks.machine != machine:
        raise ConfigurationError(f"cluster({machine}): its blocks are of a machine of {blocks.machine} processors")
    if tiers and tiers[0] != FIRST_TIER:
        raise ConfigurationError(f"tiers={tiers}: the first is called {FIRST_TIER}")
    if machine < 1:
        raise ConfigurationError(f"cluster({machine}): a cluster has 1 processor or more")
    return Cluster(machine, float(now), changed, compiled, tuple(tiers), blocks)


def _conf(nodes: int, cpus: int, gpus: int, partitions: Mapping[str, str]) -> str:
    """A ``slurm.conf``."""
    gres = f" Gres=gpu:{gpus}" if gpus else ""
    lines = [
        *("ClusterName=test", "SelectType=select/cons_tres", "SelectTypeParameters=CR_CPU", "PreemptMode=REQUEUE"),
        *(("GresTypes=gpu",) if gpus else ()),
        f"NodeName=n[1-{nodes}] CPUs={cpus}{gres}",
        *(f"PartitionName={name} {words}" for name, words in partitions.items()),
    ]
    if "default=" not in "".join(lines).lower():
        lines[-len(partitions)] += " Default=YES"
    return "\n".join(lines) + "\n"


def _text(value: object) -> str:
    """A value as a test would write it."""
    return f"{value:g}" if isinstance(value, float) else repr(value)
