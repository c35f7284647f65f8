"""Call one hook of a plugin with the view that it would be shown, and check what it answers."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any, NoReturn, TypeVar

from slurm_sim_plugins import answers
from slurm_sim_plugins.answers import Refused
from slurm_sim_plugins.cluster import Partition
from slurm_sim_plugins.errors import ConfigurationError, PluginError
from slurm_sim_plugins.hookspecs import LOOPS
from slurm_sim_plugins.job_update import JobUpdate, ModifyView
from slurm_sim_plugins.jobs import Job
from slurm_sim_plugins.manager import PluginInfo, check_hooks
from slurm_sim_plugins.renamed import argument
from slurm_sim_plugins.submission import RecordsView, Submission, SubmitView
from slurm_sim_plugins.testing.builders import Cluster, JobSpec
from slurm_sim_plugins.testing.scene import PENDING, Scene
from slurm_sim_plugins.views import (
    BackfillView,
    PendingView,
    PreemptView,
    PriorityView,
    RateView,
    SelectView,
    TopoptView,
    VictimView,
    View,
    WalltimeView,
)

Records = TypeVar("Records", bound=RecordsView)
Which = int | Job | JobSpec | Submission
"""A job: by its id, itself, or one that is yet to come; for ``job_submit`` also what it asks for."""


@argument("situation", "scene")
def call(
    plugin: Any,
    hook: str,
    scene: Cluster | Scene,
    *,
    job: Which | None = None,
    jobs: Iterable[Which] | None = None,
    ran: float | None = None,
    state: str = "COMPLETED",
    beside: int | None = None,
    cause: str = "preemption",
    partitions: Iterable[Partition] = (),
    update: JobUpdate | None = None,
) -> Any:
    """Call one hook of a plugin, and hand back its answer.

    On a cluster with nodes that is done by :func:`emulator.testing.call`. The answer is checked as
    the emulator would check it. What the hook raises comes through as it is.

    Args:
        plugin: an instance; or a class, of which a fresh instance is made.
        hook: its name, such as ``"priority_set"``. A scheduler's pass is played with
            :func:`~slurm_sim_plugins.testing.play`.
        scene: what the hook is shown: a description, or the scene that was made of one.
        job: which it is about, by id, or a job that is yet to come, as
            ``job(4, limit=60)``. For ``preempt_candidates`` the head of the queue if it is
            not said, and so for ``select_nodes``; else the first new_job, or the first job that waits or runs.
        jobs: those in question, in their order: ``to_set`` (the new jobs if not said, or
            all that wait), ``to_try`` (those behind the head that fit), ``waiting`` (all),
            ``changed`` (all that run), ``candidates`` (none).
        ran: for ``walltime_learn``: seconds of work; the job's ``run``.
        state: for ``job_ended``.
        beside: for ``select_nodes``: a block of which nothing may be taken.
        cause: for ``job_suspended`` and ``job_resumed``.
        partitions: for ``job_submit`` and ``job_modify``: those of the cluster.
        update: for ``job_modify``: what the command changes of the job.

    Raises:
        PluginError: the plugin has no such hook, its hooks are wrong, or the answer
            cannot be used.
        ConfigurationError: there is no job for the hook to be about.
    """
    instance = fresh(plugin)
    shown = as_scene(scene)
    function = implementation(instance, hook)
    if hook in LOOPS:
        raise ConfigurationError(f"{hook} is a generator of decisions; play(plugin, scene) plays the pass")
    asked = _Question(job, jobs, ran, state, beside, cause, tuple(partitions), update)
    arguments, check = _CALLS[hook](shown, instance, asked)
    answer = ask(function, arguments)
    if answer is None or check is None:
        return answer
    try:
        check(answer)
    except Refused as refused:
        refuse(instance, hook, refused, shown.now)
    return answer


def fresh(plugin: Any) -> Any:
    """The instance itself, or one made of a class, whose hooks are as they must be.

    Raises:
        PluginError: it is no plugin, or a hook is wrong.
    """
    described(plugin if inspect.isclass(plugin) else type(plugin))
    return plugin() if inspect.isclass(plugin) else plugin


_DESCRIBED: dict[type, PluginInfo] = {}
"""What is known of plugin classes whose hooks were found right, so that it is looked at once."""


def described(factory: type) -> PluginInfo:
    """A plugin class whose hooks are as they must be.

    Raises:
        PluginError: it is no plugin, or a hook is wrong.
    """
    if factory not in _DESCRIBED:
        info = PluginInfo.of(factory)
        check_hooks(info)
        _DESCRIBED[factory] = info
    return _DESCRIBED[factory]


def as_scene(scene: Cluster | Scene) -> Scene:
    """The scene itself, or a fresh one made of a description."""
    return scene.scene() if isinstance(scene, Cluster) else scene


def implementation(plugin: Any, hook: str) -> Callable[..., Any]:
    """A plugin's implementation of a hook.

    Raises:
        PluginError: it has none.
    """
    info = described(type(plugin))
    if hook not in info.hooks:
        known = ", ".join(info.hooks) or "none"
        raise PluginError(f"it has no hook {hook!r}; it has {known}", plugin=info.name)
    function: Callable[..., Any] = getattr(plugin, hook)
    return function


def ask(function: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    """Call a hook with those of its arguments that it takes."""
    taken = inspect.signature(function).parameters
    return function(**{name: value for name, value in arguments.items() if name in taken})


def refuse(plugin: Any, hook: str, refused: Refused, now: float, where: str | None = None) -> NoReturn:
    """Say what is wrong with an answer, as the emulator does.

    Raises:
        PluginError: always.
    """
    if where is None:
        code = inspect.unwrap(getattr(type(plugin), hook)).__code__
        where = f"{code.co_filename}:{code.co_firstlineno}"
    raise PluginError(
        refused.message, plugin=type(plugin).name, hook=hook, job=refused.job, time=now, where=where
    ) from None


class _Question:
    """What a test said of a call, and what is meant where it said nothing."""

    def __init__(
        self,
        job: Which | None,
        jobs: Iterable[Which] | None,
        ran: float | None,
        state: str,
        beside: int | None,
        cause: str,
        partitions: tuple[Partition, ...],
        update: JobUpdate | None,
    ) -> None:
        self.partitions = partitions
        self.update = JobUpdate() if update is None else update
        self.beside = beside
        self.cause = cause
        self._job = job
        self._jobs = None if jobs is None else list(jobs)
        self.asks = job is not None
        self.ran = ran
        self.state = state

    def job(self, scene: Scene) -> Job:
        """The job that the call is about."""
        if self._job is not None:
            return _find(scene, self._job)
        known: list[Job] = [*scene.new_jobs, *scene.view.queue, *(run.job for run in scene.view.running)]
        if known:
            return known[0]
        raise ConfigurationError("there is no job in this scene; say which one, as job=job(4)")

    def submission(self, scene: Scene) -> Submission:
        """What is submitted."""
        return self._job if isinstance(self._job, Submission) else scene.submission_of(self.job(scene))

    def preemptor(self, scene: Scene) -> Job:
        """The job for which room is to be made."""
        job = _find(scene, self._job) if self._job is not None else scene.view.head
        if job is None:
            raise ConfigurationError("no job waits in this scene; room is made for a job that waits")
        return job

    def jobs(self, scene: Scene, otherwise: Callable[[], Iterable[Job]]) -> list[Job]:
        """The jobs in question."""
        return list(otherwise()) if self._jobs is None else [_find(scene, each) for each in self._jobs]


def _find(scene: Scene, which: Which) -> Job:
    if isinstance(which, Submission):
        raise ConfigurationError("this hook is about a job, not a submission; say which one, as job=job(4)")
    return scene.add(which) if isinstance(which, JobSpec) else scene.job(which)


Check = Callable[[Any], object] | None
Call = tuple[dict[str, Any], Check]


def _priority_set(scene: Scene, plugin: Any, asked: _Question) -> Call:
    to_set = tuple(asked.jobs(scene, lambda: scene.new_jobs or scene.view.queue))
    return {"view": scene.show(PriorityView, to_set=to_set)}, lambda answer: answers.priorities(answer, to_set)


def _site_factor(scene: Scene, plugin: Any, asked: _Question) -> Call:
    arguments, _ = _priority_set(scene, plugin, asked)
    return arguments, lambda answer: answers.site_factors(answer, arguments["view"].to_set)


def _job_submit(scene: Scene, plugin: Any, asked: _Question) -> Call:
    submission = asked.submission(scene)
    view = _with_records(scene, SubmitView, asked, submission=submission)
    return {"view": view}, lambda answer: answers.submission(answer, submission, counted=False)


def _job_modify(scene: Scene, plugin: Any, asked: _Question) -> Call:
    update, record = asked.update, scene.record_of(asked.job(scene))
    view = _with_records(scene, ModifyView, asked, update=update, job=record, user="root")
    return {"view": view}, lambda answer: answers.update(answer, update, record.submission)


def _with_records(scene: Scene, kind: type[Records], asked: _Question, **shown: Any) -> Records:
    """A view with what the controller records."""
    shown |= {"_jobs": scene.job_records.jobs, "_reservations": scene.job_records.reservations}
    return scene.show(kind, partitions=asked.partitions or scene.partitions, **shown)


def _backfill_candidates(scene: Scene, plugin: Any, asked: _Question) -> Call:
    to_try = tuple(asked.jobs(scene, scene.candidates))
    return {"view": scene.show(BackfillView, to_try=to_try)}, lambda answer: answers.order(answer, to_try)


def _bf_topopt(scene: Scene, plugin: Any, asked: _Question) -> Call:
    job = asked.preemptor(scene)
    offered = scene.holes_for(job)
    return {"view": scene.show(TopoptView, job=job, holes=iter(offered))}, lambda answer: answers.hole(answer, offered)


def _preempt_candidates(scene: Scene, plugin: Any, asked: _Question) -> Call:
    view, running = scene.show(PreemptView, preemptor=asked.preemptor(scene)), scene.view.running
    return {"view": view}, lambda answer: answers.victims(answer, view.preemptor, running, view.counted)


def _of_victim(check: Callable[[Any, Job], Any]) -> Callable[[Scene, Any, _Question], Call]:
    def asked_of(scene: Scene, plugin: Any, asked: _Question) -> Call:
        victim = asked.job(scene) if asked.asks else scene.view.running[0].job
        return {"view": scene.show(VictimView, victim=victim)}, lambda answer: check(answer, victim)

    return asked_of


def _select_nodes(scene: Scene, plugin: Any, asked: _Question) -> Call:
    job, beside = asked.preemptor(scene), asked.beside
    if (nodes := scene.nodes_for(job)) is not None:
        return {"view": nodes[0]}, nodes[1]
    block_state = scene.view.block_state
    if block_state is None:
        raise ConfigurationError("blocks are asked for where there are some; say cluster(4, blocks=aligned(4, ...))")
    candidates = tuple(scene.run_of(each) for each in asked.jobs(scene, tuple))
    view = scene.show(SelectView, job=job, candidates=candidates, beside=beside)
    return {"view": view}, lambda answer: answers.block(answer, job, block_state, candidates, beside)


def _walltime_submit(scene: Scene, plugin: Any, asked: _Question) -> Call:
    job, oracle = asked.job(scene), scene.oracle if getattr(plugin, "needs_oracle", False) else None
    return {"view": scene.show(WalltimeView, job=job, oracle=oracle)}, lambda answer: answers.plan(answer, job)


def _walltime_pending(scene: Scene, plugin: Any, asked: _Question) -> Call:
    waiting = asked.jobs(scene, lambda: scene.view.queue)
    return {"view": scene.show(PendingView, waiting=waiting)}, lambda answer: answers.plans(answer, waiting)


def _walltime_learn(scene: Scene, plugin: Any, asked: _Question) -> Call:
    job = asked.job(scene)
    ran = scene.oracle.run_time(job) if asked.ran is None else asked.ran
    return {"job": job, "ran": ran, "now": scene.now}, None


def _progress_rate(scene: Scene, plugin: Any, asked: _Question) -> Call:
    tiers = scene.view.tiers
    if tiers is None:
        raise ConfigurationError("rates are asked for where there are tiers; say cluster(4, tiers=('fg', 'bg'))")
    everywhere = [stay for tier in tiers.names for stay in tiers.stays(tier)]
    found = [tiers.stay(job) for job in asked.jobs(scene, lambda: [stay.job for stay in everywhere])]
    stays = tuple(stay for stay in found if stay is not None)
    if not stays or len(stays) < len(found):
        raise ConfigurationError("rates are asked for of jobs that run; say which ones, as jobs=[1]")
    return {"view": scene.show(RateView, changed=stays)}, lambda answer: answers.rates(answer, stays)


def _job_submitted(scene: Scene, plugin: Any, asked: _Question) -> Call:
    return {"job": asked.job(scene), "now": scene.now}, None


def _about_a_run(scene: Scene, plugin: Any, asked: _Question) -> Call:
    job = asked.job(scene) if asked.asks or not scene.view.running else scene.view.running[0].job
    if scene.state(job) == PENDING:
        raise ConfigurationError(f"job {job.id} waits; this hook is for one that runs, as job=1")
    why = {"state": asked.state, "cause": asked.cause}
    return {"job": job, "run": scene.run_of(job), "now": scene.now, **why}, None


def _seen(scene: Scene, plugin: Any, asked: _Question) -> Call:
    return {"view": scene.show(View)}, None


_CALLS: dict[str, Callable[[Scene, Any, _Question], Call]] = {
    "priority_set": _priority_set,
    "backfill_candidates": _backfill_candidates,
    "bf_topopt": _bf_topopt,
    "preempt_candidates": _preempt_candidates,
    "preempt_mode": _of_victim(answers.preempt_mode),
    "preempt_grace": _of_victim(answers.preempt_grace),
    "select_nodes": _select_nodes,
    "walltime_submit": _walltime_submit,
    "walltime_pending": _walltime_pending,
    "walltime_learn": _walltime_learn,
    "progress_rate": _progress_rate,
    "site_factor": _site_factor,
    "job_submit": _job_submit,
    "job_modify": _job_modify,
    "job_submitted": _job_submitted,
    "job_started": _about_a_run,
    "job_requeued": _about_a_run,
    "job_suspended": _about_a_run,
    "job_resumed": _about_a_run,
    "job_ended": _about_a_run,
    "pass_done": _seen,
    "run_begun": _seen,
    "run_ended": _seen,
}
