"""A cluster with nodes as a test describes it, set up in the emulator itself."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from emulator.config.options import Config
from emulator.config.sacctmgr import parse_accounts, read_accounts
from emulator.config.sacctmgr.database import NORMAL
from emulator.config.slurm import parse_slurm_conf, read_slurm_conf
from emulator.config.slurm.hostlist import compress
from emulator.hooktable import HOOKS
from emulator.machines import NODES
from emulator.runs import ClusterRun
from emulator.scheduling.entries import refresh
from emulator.scheduling.job_mgr import make_job
from emulator.scheduling.records import Records
from emulator.scheduling.seen import ClusterPreemptView, ClusterPriorityView
from emulator.scheduling.submission_of import submission_of
from emulator.scheduling.windows import Habits
from emulator.state.job import Job
from emulator.state.run import State
from emulator.workload.request import JobRequest
from emulator.workload.sbatch import BatchOptions, with_option
from emulator.workload.submissions import Submissions
from slurm_sim_plugins.answers import Refused
from slurm_sim_plugins.decisions import Decision, MakeRoom, Plan
from slurm_sim_plugins.errors import ConfigurationError
from slurm_sim_plugins.manager import Catalogue, PluginInfo
from slurm_sim_plugins.nodes import NodeView
from slurm_sim_plugins.plan import Hole
from slurm_sim_plugins.renamed import argument
from slurm_sim_plugins.testing import Cluster, JobSpec, Scene
from slurm_sim_plugins.testing import call as call_on_counts
from slurm_sim_plugins.testing.builders import Running
from slurm_sim_plugins.testing.chart import Bar, Row, chart
from slurm_sim_plugins.testing.scene import numbered
from slurm_sim_plugins.views import Oracle, PreemptView, PriorityView, View

if TYPE_CHECKING:
    from emulator.config.sacctmgr.database import Accounts
    from emulator.config.slurm.model import SlurmConf
    from slurm_sim_plugins.cluster import Partition
    from slurm_sim_plugins.jobs import Job as SeenJob
    from slurm_sim_plugins.jobs import Run
    from slurm_sim_plugins.records import JobRecord
    from slurm_sim_plugins.submission import Submission
    from slurm_sim_plugins.views import ClusterState

EVERYBODY = "everybody"
"""The account of all users, where only limits of QOS are said."""
ENFORCED = "AccountingStorageType=accounting_storage/slurmdbd\nAccountingStorageEnforce=limits,qos\n"
SOMEBODY = "somebody"
"""The user of a job that names none."""


def conf_of(here: Cluster) -> SlurmConf:
    """The configuration of a cluster with nodes; with ``qos``, it enforces them."""
    assert here.conf is not None
    if isinstance(here.conf, Path) or "=" not in here.conf:
        return read_slurm_conf(here.conf)
    return parse_slurm_conf(here.conf + ("\n" + ENFORCED if here.qos is not None else ""))


def accounts_of(here: Cluster, users: Sequence[str]) -> Accounts | None:
    """Its accounts; with ``qos`` all users have one, and may use each QOS."""
    if here.accounts is not None:
        said = here.accounts
        return read_accounts(said) if isinstance(said, Path) or "=" not in said else parse_accounts(said)
    if here.qos is None:
        return None
    lines = [f"add qos {name}" for name in here.qos if name != NORMAL]
    lines += [f"modify qos {name} set {words}" for name, words in here.qos.items() if words]
    lines += [f"add account {EVERYBODY} qos={','.join(dict.fromkeys([NORMAL, *here.qos]))}"]
    lines += [f"add user {user} account={EVERYBODY}" for user in dict.fromkeys(users)]
    return parse_accounts("\n".join(lines), source="qos")


def request_of(spec: JobSpec, number: int, submit: float) -> JobRequest:
    """The submission of a described job: its facts are the long options of ``sbatch``, and ``user``.

    Raises:
        ConfigurationError: a fact that ``sbatch`` does not know, or not so; a limit that no job of Slurm can have.
    """
    if spec.limit % 60:
        raise ConfigurationError(
            f"{spec}: Slurm's limits are whole minutes; say limit={60 * math.ceil(spec.limit / 60)}, and what it is "
            "planned with as planned=, how long it works as run="
        )
    options = BatchOptions(tasks=spec.processors, time_limit=spec.limit)
    for name, value in spec.facts.items():
        if name == "user" or value is None or value is False:
            continue
        try:
            options = with_option(options, name.replace("_", "-"), "" if value is True else str(value))
        except ValueError as error:
            raise ConfigurationError(f"{spec}: {error}; a job's facts are user= and the options of sbatch") from None
    run = spec.limit if spec.run is None else spec.run
    return JobRequest(number, submit, float(run), options, user_of(spec))


def user_of(spec: JobSpec) -> str:
    """For whom a described job is."""
    return str(spec.facts.get("user", SOMEBODY))


OF_CLUSTERS: dict[type[View], type[View]] = {PreemptView: ClusterPreemptView, PriorityView: ClusterPriorityView}


@argument("situation", "scene")
def call(plugin: Any, hook: str, scene: Cluster | Scene | NodeScene, **about: Any) -> Any:
    """Call one hook of a plugin, on a cluster with nodes too; as :func:`slurm_sim_plugins.testing.call` does.

    There the other slots hold what the ``slurm.conf`` says, and a job in several partitions is looked at in the first.

    Raises:
        ConfigurationError: the hook is not called there.
        PluginError, ConfigurationError: as that function.
    """
    if isinstance(scene, Cluster) and scene.conf is not None:
        scene = NodeScene(scene, {}, "ideal")
    if isinstance(scene, NodeScene) and HOOKS[hook][NODES, scene.clock] == "refused":
        raise ConfigurationError(f"{hook} is not called on a cluster with nodes; count processors, as in cluster(10)")
    return call_on_counts(plugin, hook, scene, **about)  # type: ignore[arg-type]


def _describe(job: Job, spec: JobSpec) -> None:
    """Note what is said of a job beside what it asks for."""
    job.restarts = spec.requeues
    if set(spec.planned) != {spec.limit}:
        job.plan = spec.planned


@dataclass
class _Order:
    """What happens before the scene: at a time, a job comes (``starts`` is None) or starts."""

    time: float
    number: int
    spec: JobSpec
    starts: Running | None = None

    @property
    def key(self) -> tuple[float, bool, int]:
        """Jobs come before any start of that time."""
        return self.time, self.starts is not None, self.number


class NodeScene:
    """A cluster with nodes at one instant, in the emulator itself.

    Args:
        here: the description.
        plugins: instances for some slots, by slot.
        clock: ``ideal`` or ``slurm``.

    Attributes:
        jobs: all jobs by id, as plugins see them, also those that are over.
        reserved: when waiting jobs are planned to start, in seconds, by id.
        ended: runs that are over, with their ends and how.
    """

    def __init__(self, here: Cluster, plugins: Mapping[str, Any], clock: Any) -> None:
        specs = [*(run.job for run in here.runs), *here.queued, *here.arrived]
        conf = conf_of(here)
        self._prioritised = any(spec.priority is not None for spec in specs)
        catalogue = Catalogue()
        for plugin in plugins.values():
            catalogue.add(PluginInfo.of(type(plugin)))
        config = Config(clock=clock, slots={slot: type(plugin).name for slot, plugin in plugins.items()})
        engine = ClusterRun(
            Submissions([]), conf, config, catalogue, accounts_of(here, list(map(user_of, specs))), (), None
        )
        selection = engine.selection
        for plugin in plugins.values():
            selection.manager.unregister(name=plugin.name)
            selection.manager.register(plugin, name=plugin.name)
            selection.plugins[plugin.name] = plugin
        engine.begin(None, None, whole=False)
        self.plugins = plugins
        self.clock = clock
        self.decisions: list[Decision] = []
        self.refused: list[int] = []
        self.ended: list[tuple[Run, float, str]] = []
        self._future: dict[int, Job] = {}
        self.new_jobs: list[SeenJob] = []
        self._controller = engine._controller
        self._cluster = self._controller.cluster
        self._record()
        self._set_up(here, specs)

    def _record(self) -> None:
        """Note each decision of the scheduler, once it is carried out."""
        scheduler = self._controller.scheduler
        carry_out = scheduler._carry_out

        def noted(decision: Any) -> bool | None:
            answer = carry_out(decision)
            self.decisions.append(decision)
            if isinstance(decision, MakeRoom) and not answer:
                self.refused.append(decision.job.id)
            return answer

        setattr(scheduler, "_carry_out", noted)  # noqa: B010 - a method replaces another

    def _set_up(self, here: Cluster, specs: list[JobSpec]) -> None:
        ids = numbered(specs)
        starts = [*here.runs, *(None for _ in (*here.queued, *here.arrived))]
        orders = []
        for spec, number, run in zip(specs, ids, starts, strict=True):
            latest = here.now if run is None else run.since
            submit = latest if spec.submit is None else float(spec.submit)
            if submit > latest:
                raise ConfigurationError(f"{spec} is submitted at {submit:g}, later than it waits or runs ({latest:g})")
            orders.append(_Order(submit, number, spec))
            if run is not None:
                orders.append(_Order(run.since, number, spec, run))
        for order in sorted(orders, key=lambda each: each.key):
            self._cluster.now = order.time
            if order.starts is None:
                self._submit(order.spec, order.number)
            else:
                self._start(order.starts, self._cluster.jobs[order.number])
        self._cluster.now = here.now
        self.new_jobs = [self.job(number) for number in ids[len(ids) - len(here.arrived) :]]

    def _submit(self, spec: JobSpec, number: int) -> None:
        request = request_of(spec, number, self._cluster.now)
        if self._prioritised and request.options.priority is None:
            # 0 would be a hold.
            priority = 1 if spec.priority is None else int(spec.priority)
            request = replace(request, options=replace(request.options, priority=priority))
        self._controller.arrivals.submit(request)
        refusals = [words for other, words in self._controller.rejected if other is request]
        if refusals:
            raise ConfigurationError(f"{spec} is refused: {' '.join(refusals[0].split())}")
        for job in self._cluster.jobs.values():
            if number in (job.id, job.request.array):
                _describe(job, spec)

    def _start(self, run: Running, job: Job) -> None:
        cluster, spec, partition = self._cluster, run.job, job.partitions[0]
        refresh(job, cluster, self._controller.reservations)
        found = None
        if job.state is State.PENDING and job.eligible is not None:
            found = cluster.select(job, partition, cluster.usable(job, partition))
        if found is None:
            beside = ", ".join(f"job {number} on {nodes}" for number, nodes in self.nodes.items()) or "nothing"
            raise ConfigurationError(
                f"{spec} cannot run in partition {partition.name} beside what runs ({beside}); "
                f"its reason is {job.reason}"
            )
        lasts = run.until - run.since
        if lasts != spec.planned.running:
            if not 0 < lasts <= spec.limit:
                raise ConfigurationError(f"{spec}: until={run.until:g} is after its start, and within its limit")
            job.plan = Plan(spec.planned.queue, spec.planned.waiting, lasts)
        self._controller.starts.start(job, partition, found, backfilled=spec.backfilled)

    # The scene

    @property
    def view(self) -> ClusterState:
        """What runs and what waits, in CPUs."""
        return self._controller.policies.cluster_state

    @property
    def now(self) -> float:
        """Simulated time in seconds."""
        return self._cluster.now

    @property
    def jobs(self) -> dict[int, SeenJob]:
        """All jobs by id."""
        return {number: self._controller.policies.seen_as(job) for number, job in self._cluster.jobs.items()}

    @property
    def nodes(self) -> dict[int, str]:
        """On which nodes each job runs, such as ``n[1-2]``, by id."""
        names = self._cluster.machine.names
        runs = {number: job.run for number, job in self._cluster.running.items() if job.run is not None}
        return {number: compress(names[node] for node in run.allocation.nodes) for number, run in runs.items()}

    @property
    def reasons(self) -> dict[int, str]:
        """Why each waiting job waits, in the words of ``squeue``, by id."""
        return {number: job.reason for number, job in self._cluster.waiting.items()}

    @property
    def reserved(self) -> dict[int, float]:
        """When waiting jobs are planned to start, by id."""
        waiting = self._cluster.waiting.items()
        return {number: job.planned_start for number, job in waiting if job.planned_start is not None}

    def state(self, which: int | SeenJob) -> str:
        """As ``squeue`` shows it, such as PENDING or RUNNING."""
        return self._job(which).state.value

    def job(self, which: int | SeenJob) -> SeenJob:
        """The job of an id, or the job itself."""
        return self._controller.policies.seen_as(self._job(which))

    def run_of(self, which: int | SeenJob) -> Run:
        """The run of a job that runs."""
        job = self._job(which)
        if job.id not in self._cluster.running:
            raise ConfigurationError(f"job {job.id} does not run, it is {job.state.value}")
        return self._controller.policies.cluster_state.run_of(job)

    def _job(self, which: int | SeenJob) -> Job:
        number = which if isinstance(which, int) else which.id
        known = {**self._cluster.jobs, **self._future}
        if number not in known:
            raise ConfigurationError(f"there is no job {which} here; there are {', '.join(map(str, known))}")
        return known[number]

    # What one hook is asked

    @property
    def oracle(self) -> Oracle:
        """The true run times, by index of the job."""
        jobs = [*self._cluster.jobs.values(), *self._future.values()]
        return Oracle({job.seen.index: job.request.run for job in jobs if job.seen is not None})  # type: ignore[arg-type]

    @property
    def partitions(self) -> tuple[Partition, ...]:
        """Those of the cluster."""
        return tuple(partition.seen for partition in self._cluster.partitions.values())

    def show(self, kind: type[View], **shown: Any) -> View:
        """A view of the cluster, with what it shows besides; of a preemptor its first partition."""
        if kind is PreemptView:
            shown["partition"] = shown["preemptor"].requests[0].partition
            shown["halted"] = False
        elif kind is PriorityView:
            shown["whole"] = self._cluster.whole
        view = OF_CLUSTERS.get(kind, kind)(self.view)
        for name, value in shown.items():
            object.__setattr__(view, name, value)
        return view

    def candidates(self) -> list[SeenJob]:
        """The jobs behind the head."""
        return list(self.view.queue)[1:]

    def submission_of(self, job: SeenJob) -> Submission:
        """What a job asked for when it was submitted."""
        return submission_of(self._job(job).request)

    @property
    def job_records(self) -> Records:
        """What the controller records of jobs and reservations."""
        return self._controller.arrivals.records

    def record_of(self, job: SeenJob) -> JobRecord:
        """What it records of a job."""
        return self.job_records.of([self._job(job)])

    def nodes_for(self, which: SeenJob) -> tuple[NodeView, Callable[[Any], object]]:
        """What ``select_nodes`` sees, in the first of the job's partitions, and what its answer must be."""
        cluster, job = self._cluster, self._job(which)
        partition = job.partitions[0]
        usable = cluster.usable(job, partition) & self._controller.starts.not_reserved(job)
        view = NodeView(job.wants[partition.name], cluster.machine, cluster.free, usable)

        def check(answer: Any) -> None:
            if wrong := cluster.nodes_for.wrong(answer, view):
                raise Refused(wrong, which)

        return view, check

    def holes_for(self, which: SeenJob) -> list[Hole]:
        """What ``bf_topopt`` may choose from for a job, in the first of its partitions."""
        scheduler = self._controller.scheduler
        plan = scheduler.windows(Habits())
        entries = [entry for entry in scheduler.entries() if entry.job is which]
        first = plan.place(entries[:1], keep=False)[1] if entries else None
        if first is None:
            raise ConfigurationError(f"there is no hole for job {which.id}; it has to wait, and to fit some time")
        return list(plan.holes(first, 20))

    def add(self, spec: JobSpec) -> SeenJob:
        """One more job, which is not yet in the queue."""
        (number,) = numbered([spec], [*self._cluster.jobs, *self._future])
        job = self._future[number] = make_job(request_of(spec, number, self.now), self._cluster)
        if self._cluster.accounting is not None:
            self._cluster.accounting.admit(job, 1)
        else:
            self._controller.arrivals.admit([job])
        _describe(job, spec)
        return self.job(number)

    # What a test does to it

    def submit(self, *specs: JobSpec) -> None:
        """Queue further jobs."""
        for spec, number in zip(specs, numbered(specs, self._cluster.jobs), strict=True):
            self._submit(spec, number)

    def later(self, seconds: float) -> None:
        """Let time pass; what runs goes on running, unless :meth:`end` ends it.

        Raises:
            ConfigurationError: time goes one way.
        """
        if not seconds >= 0:
            raise ConfigurationError(f"later({seconds}): time goes one way; give 0 s or more")
        self._cluster.now += seconds

    def end(self, *which: int | SeenJob) -> None:
        """These jobs end now, for good.

        Raises:
            ConfigurationError: one does not run.
        """
        for each in which:
            job = self._job(each)
            if job.state is not State.RUNNING:
                raise ConfigurationError(f"job {job.id} does not run, it is {job.state.value}")
            self.ended.append((self._controller.policies.cluster_state.run_of(job), self.now, "COMPLETED"))
            self._controller.finish(job)

    def make_passes(self) -> tuple[list[int], list[int]]:
        """Let both loops of the scheduler look at the queue; ids of the jobs that were started, and preempted."""
        self.decisions, self.refused = [], []
        ran = {number: len(job.runs) for number, job in self._cluster.jobs.items()}
        before = list(self._cluster.running.items())
        self._controller.pass_now()
        running = self._cluster.running
        started = [number for number, job in running.items() if len(job.runs) > ran[number]]
        return started, [number for number, job in before if number not in running or job.vacating]

    def __repr__(self) -> str:
        return chart(self.rows(), self.view.total, self.now)

    def rows(self) -> list[Row]:
        """What is drawn of each job; those that wait last, in the order of the queue."""
        jobs, nodes, now = self.jobs, self.nodes, self.now
        rows = {number: Row(number, job.processors, job.submit) for number, job in jobs.items()}
        for run, end, outcome in self.ended:
            rows[run.job.id].bars.append(Bar(run.start, end, end, outcome == "PREEMPTED"))
        for run in self.view.running:
            rows[run.job.id].bars.append(Bar(run.start, max(run.planned_end, now), now, where=nodes[run.job.id]))
        waiting = [rows[job.id] for job in self.view.queue]
        for row in waiting:
            row.waits_until, row.reserved, row.reason = now, self.reserved.get(row.job), self.reasons[row.job]
        others = [row for row in rows.values() if row.waits_until is None]
        return sorted(others, key=lambda row: (row.first, row.job)) + waiting
