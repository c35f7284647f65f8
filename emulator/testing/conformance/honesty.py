"""Checks that a plugin asks for changes by its answers alone, and knows only what it may know."""

from __future__ import annotations

from typing import Any

from emulator.accounting.replay import same_starts
from emulator.testing.conformance import workloads
from emulator.testing.conformance.report import DoesNotApply, Nonconformity
from emulator.testing.conformance.source import line_of_class, line_of_function
from emulator.testing.conformance.subject import Policy, Subject, Trial
from emulator.testing.conformance.watching import Endless, Requeues, Watcher
from slurm_sim_plugins.errors import PluginError, StandstillError
from slurm_sim_plugins.hookspecs import ObserverSpec, hookimpl
from slurm_sim_plugins.testing import HookRecorder
from slurm_sim_plugins.testing.calling import ask

MOMENTS = (0.2, 0.5, 0.8)
"""Shares of the time of a simulation at which the truth of what is still to come is changed."""
WATCHED = 40
"""Jobs of a simulation of which every hook call is watched."""
MOST_REQUEUES = 100
"""Preemptions for each job before they count as endless."""
STUCK = "the pass makes no progress"


def views_unchanged(subject: Subject) -> None:
    """It changes nothing of what it is shown."""
    for policy in subject.policies():
        trial = subject.trial(workloads.mixed(jobs=WATCHED), policy, observers=[Watcher])
        failed: PluginError | None = None
        try:
            trial.finish()
        except PluginError as error:
            failed = error
        changes = trial.selection.plugins[Watcher.name].changes
        mine = [(hook, what) for hook, what in changes if hook in subject.info.hooks]
        if mine:
            hook, what = mine[0]
            where = line_of_function(getattr(subject.info.factory, hook))
            raise Nonconformity(
                f"{where}: {hook} changed what it was shown: {what}; a plugin asks for a change by what it answers"
            )
        if failed is not None:
            raise failed


def only_by_answers(subject: Subject) -> None:
    """Nothing that it does has an effect but its answers: with None instead of them all is as by default."""
    info = subject.info
    if info.type == "sched":
        raise DoesNotApply("None from a scheduler starts no job")
    if info.type == "select" and info.hooks:
        raise DoesNotApply("None from it means no block for any job")
    answering = [hook for hook in info.hooks if hook not in vars(ObserverSpec)]
    silent = subject.replaced(_silent(info.factory, answering))
    for policy in subject.policies():
        case = workloads.mixed()
        default, without_answers = (
            subject.trial(case, policy, without=True).finish(),
            silent.trial(case, policy).finish(),
        )
        # Where there are tiers, the log says more.
        tiered = info.type == "execution"
        if not (
            same_starts(default.records, without_answers.records) if tiered else default.log == without_answers.log
        ):
            raise Nonconformity(
                f"{line_of_class(info.factory)}: with None instead of all its answers the jobs do not start as "
                f"they do by default ({policy}); let it have no effect but by what it answers"
            )


def _silent(factory: Any, hooks: list[str]) -> type:
    """The same plugin, whose answers are thrown away."""

    def muted(hook: str) -> Any:
        original = getattr(factory, hook)

        def implementation(self: Any, view: Any) -> None:
            ask(original.__get__(self), {"view": view})

        return hookimpl(implementation)

    members = {hook: muted(hook) for hook in hooks if hook != "walltime_learn"}
    return type(factory.__name__, (factory,), members)


def no_livelock(subject: Subject) -> None:
    """Preemption comes to an end: no job is sent back again and again for ever."""
    info = subject.info
    if info.type not in ("sched", "preempt", "priority"):
        raise DoesNotApply("it has no part in preemption")
    case = workloads.mixed(seed=4)
    counting = type("Requeues", (Requeues,), {"most": MOST_REQUEUES * len(case.workload)})
    for policy in subject.policies():
        try:
            subject.trial(case, policy, observers=[counting]).finish()
        except StandstillError as error:
            raise Nonconformity(_livelock(subject, policy, str(error))) from error
        except PluginError as error:
            if isinstance(error.__cause__, Endless):
                raise Nonconformity(_livelock(subject, policy, f"{error.__cause__}")) from error
            if STUCK in error.message:
                raise Nonconformity(_livelock(subject, policy, str(error))) from error
            raise


def _livelock(subject: Subject, policy: Policy, what: str) -> str:
    info = subject.info
    hooks = [hook for hook in ("preempt_candidates", "schedule") if hook in info.hooks]
    where = line_of_function(getattr(info.factory, hooks[0])) if hooks else line_of_class(info.factory)
    return (
        f"{where}: {what} ({policy}); jobs send one another back without end: name only runs that the preemptor "
        "outranks, as view.outranked() does, and ask for room only for the head of the queue"
    )


def no_foresight(subject: Subject) -> None:
    """Unless it says needs_oracle, it knows of no run time before the job has ended.

    True run times of what has not ended are changed; until then all must be the same.
    """
    if getattr(subject.info.factory, "needs_oracle", False) or getattr(subject.make(), "needs_oracle", False):
        raise DoesNotApply("it says needs_oracle")
    for policy in subject.policies():
        case = workloads.mixed(seed=5, jobs=WATCHED)
        known = subject.trial(case, policy, observers=[HookRecorder]).finish()
        starts, ends = _times(known, "first_start"), _times(known, "end")
        first, last = min(starts.values()), max(ends.values())
        for share in MOMENTS:
            now = first + share * (last - first)
            changed = workloads.ended_otherwise(case, ends, now, starts)
            other = subject.trial(changed, policy, observers=[HookRecorder]).finish()
            _compare(subject, policy, now, known, other)


def _compare(subject: Subject, policy: Policy, now: float, known: Trial, other: Trial) -> None:
    """Until an instant, two simulations must not differ."""
    calls = [
        [call for call in trial.selection.plugins[HookRecorder.name].calls if call.time <= now]
        for trial in (known, other)
    ]
    for one, another in zip(*calls, strict=False):
        if repr(one) != repr(another):
            where = line_of_function(getattr(subject.info.factory, one.hook, subject.info.factory))
            raise Nonconformity(
                f"{where}: at {one.time:g} s {one.hook} answered {one.answer!r}, and {another.answer!r} when jobs that "
                f"had not ended were to run for another time ({policy}); it reads true run times: do not, or say "
                "needs_oracle = True"
            )
    if len(calls[0]) != len(calls[1]):
        raise Nonconformity(
            f"{line_of_class(subject.info.factory)}: until {now:g} s its hooks are called {len(calls[0])} times, and "
            f"{len(calls[1])} times when jobs that had not ended were to run for another time ({policy}); it reads "
            "true run times: do not, or say needs_oracle = True"
        )


def _times(trial: Trial, column: str) -> dict[int, float]:
    jobs = trial.records.jobs
    pairs = zip(jobs["job_id"].tolist(), jobs[column].tolist(), strict=True)
    return {job: time for job, time in pairs if time == time}
