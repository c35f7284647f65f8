"""What operators do to jobs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from emulator.config.slurm.hostlist import expand
from emulator.scheduling.het_jobs import led_by
from emulator.scheduling.job_mgr import make_job, take_in
from emulator.state.job import EMPTY, REQUEUED_HELD, Job
from emulator.state.run import State
from emulator.workload.sbatch import BatchOptions
from slurm_sim_plugins.errors import InputError

if TYPE_CHECKING:
    from emulator.engine.controller import Controller


def hold(job: Job, controller: Controller, by: str = "JobHeldAdmin") -> None:
    """Put a job on hold; one that runs goes on, and shows it as its reason."""
    if job.over:
        raise InputError(f"job {job.id} is over: Job/step already completing or completed")
    job.hold(by)
    job.reason = job.held_by
    accounting = controller.cluster.accounting
    if accounting is not None and job.id in controller.cluster.waiting:
        accounting.ageing.held(job)


def release(job: Job, controller: Controller, like: Job | None = None) -> None:
    """Release a job from its hold; it gets a new priority (observation Q8), or that of another one."""
    if job.over:
        raise InputError(f"job {job.id} is over: Job has already finished")
    if job.held_by:
        job.held_by, job.reason = "", "None"
    controller.policies.changed(job)
    if like is None:
        controller.policies.set_priorities([job], new=True)
    else:
        job.priority, job.priorities, job.fixed_priority = like.priority, like.priorities, like.fixed_priority
    controller.policies.tried(job)
    if job.runs and job.begin > controller.cluster.now:
        # That it may start then was not told of one on hold.
        controller.agenda.at(job.begin, "due")


def renice(job: Job, nice: int, controller: Controller) -> None:
    """Change the nice value of a job, unless it was given its priority.

    ``priority/basic`` takes it off at once, and leaves 2 at least: a job on hold is so no longer. (Slurm's sources;
    recorded on 26.05.)
    """
    if job.fixed_priority and not job.on_hold:
        return
    lift(job, -job.lift)
    if not job.on_hold:
        job.shift(job.nice - nice)
    elif controller.policies.priority.name == "priority/basic":
        release(job, controller)
        job.priority, job.priorities = max(job.nice - nice, 2), EMPTY
    job.nice = nice


def requeue(job: Job, controller: Controller, held: bool = False) -> None:
    """Requeue a job that runs or is over, also one that was cancelled while it waited; ``held``: and put it on hold.

    One that an operator has suspended has the priority 0, and so is on hold. One that is over but for its epilogs
    waits again once these are over (recorded).
    """
    if not controller.endings.may_requeue(job):
        raise InputError(f"job {job.id} may not be requeued: Requested operation is presently disabled")
    if job.over:
        job.hold_after = held
        if controller.cluster.accounting is not None:
            controller.cluster.accounting.submitted(job)
        controller.endings.send_back(job)
        job.reason = job.held_by or job.reason
        for other in led_by(job, controller.cluster):
            if other.over:
                controller.endings.send_back(other)
        return
    if job.state is State.COMPLETING and not job.requeue_after and not job.writes:
        for one in (job, *led_by(job, controller.cluster)):
            _requeue_once_clear(one, controller, held)
        return
    if job.state not in (State.RUNNING, State.SUSPENDED):
        raise InputError(f"job {job.id} does not run; only jobs that run or are over can be requeued")
    job.requeue_after = True
    job.hold_after = held
    controller.endings.terminate(job, State.PREEMPTED)


def _requeue_once_clear(job: Job, controller: Controller, held: bool) -> None:
    """A job that is over but for its epilogs, or one of its components, waits again once they are over."""
    if job.over:
        controller.endings.send_back(job)
    elif job.state is State.COMPLETING:
        job.requeue_after, job.hold_after = True, held
    if held:
        hold(job, controller, REQUEUED_HELD)


def cancel(job: Job, controller: Controller) -> None:
    """Cancel a job: one that waits leaves at once, one that runs gets SIGTERM."""
    if job.state is State.PENDING:
        controller.passes.leave_queue(job, State.CANCELLED)
    elif job.state in (State.RUNNING, State.SUSPENDED) or job.writes:
        job.requeue_after = False
        controller.endings.terminate(job, State.CANCELLED)


def signal_script(job: Job, number: int, controller: Controller) -> None:
    """Send a signal that ends it to the script of a running job.

    Raises:
        InputError: it does not run.
    """
    if job.state is not State.RUNNING:
        raise InputError(f"job {job.id}: Job can not be altered now, try again later")
    controller.endings.signal_script(job, number)


def suspend(job: Job, controller: Controller) -> None:
    """Suspend a running job; its nodes are given away (observation P13), and its priority is 0 till it goes on.

    One that stands still for another, or for its turn, keeps what it has, and has no further turn (recorded).
    """
    if job.state is State.RUNNING and job.run is not None:
        controller.stints.suspend(job, "operator")
    elif job.state is not State.SUSPENDED:
        raise InputError(f"job {job.id} does not run; only running jobs can be suspended")
    job.suspended_by_operator = True
    job.priority = 0


def resume(job: Job, controller: Controller) -> None:
    """Resume a suspended job, even onto nodes that are in use; a priority of 0 becomes a new one; no pass follows."""
    if job.state is not State.SUSPENDED or job.run is None:
        raise InputError(f"job {job.id} is not suspended")
    job.suspended_by_operator = False
    controller.stints.resume(job, "operator")
    if not job.priority:
        controller.policies.changed(job)
        controller.policies.set_priorities([job], new=True)


def change(job: Job, options: BatchOptions, controller: Controller) -> None:
    """Let a waiting job ask for something else; its priority is worked out at the end of the update.

    Raises:
        InputError: it does not wait, or would be refused.
    """
    if job.state is not State.PENDING:
        raise InputError(f"job {job.id} does not wait: that can be changed only of a job that does")
    before, name = job.options, job.name
    changed = make_job(replace(job.request, options=options), controller.cluster, updated=True)
    _change_account(job, changed, controller)
    take_in(job, changed)
    controller.cluster.renamed(job, name)
    if options.begin != before.begin:
        job.begin = changed.begin
        controller.agenda.at(max(job.begin, controller.cluster.now), "due")
    if options.deadline != before.deadline:
        job.deadline = changed.deadline
        controller.arrivals.watch_deadline(job)
    if options.dependencies != before.dependencies:
        controller.cluster.known_dependencies.pop(job.id, None)
        for dependency in options.dependencies:
            controller.arrivals.wake_after(dependency)
    controller.policies.changed(job)
    if options.partitions != before.partitions:
        job.priorities = EMPTY


def rename(job: Job, name: str, controller: Controller) -> None:
    """Give a job another name, also one that runs, in place of that which its log told.

    Raises:
        InputError: it is over.
    """
    if job.over:
        raise InputError(f"job {job.id} is over: Job has already finished")
    before = job.name
    job.request = replace(job.request, options=replace(job.options, name=name), called="")
    controller.cluster.renamed(job, before)
    controller.policies.changed(job)


def end_at(job: Job, after: float, controller: Controller) -> None:
    """A running job is to end so many seconds from now; its limit is shown in whole minutes, as Slurm counts them.

    Raises:
        InputError: it does not run, or is being preempted.
    """
    run, now = job.run, controller.cluster.now
    if job.state is not State.RUNNING or run is None or job.vacating:
        raise InputError(f"Job is not running for job {job.id}")
    later = now + after - (run.expires + run.suspended(now))
    job.limit, job.limit_of_operator = job.limit + 60 * int((later + 30) / 60), True
    relimit(job, run.limit + later, controller)


def relimit(job: Job, limit: float, controller: Controller) -> None:
    """A job on the machine has another limit."""
    assert job.run is not None
    before, job.run.limit = job.run.limit, limit
    if controller.cluster.accounting is not None:
        controller.cluster.accounting.relimited(job, before)


def shrink(job: Job, count: str, controller: Controller) -> None:
    """A job that has nodes keeps so many of them, the first ones.

    Raises:
        InputError: it has not so many, or is to keep none.
    """
    assert job.run is not None
    nodes, kept = job.run.allocation.nodes, int(count.partition("-")[0])
    if not 0 < kept <= len(nodes):
        raise InputError(f"Node count specification invalid for job {job.id}")
    if kept < len(nodes):
        controller.stints.give_up(job, nodes[kept:])


def keep(job: Job, names: str, controller: Controller) -> None:
    """A job that has nodes keeps those that are named.

    Raises:
        InputError: it has not all of them, or none are named.
    """
    assert job.run is not None
    index, nodes = controller.cluster.machine.index, job.run.allocation.nodes
    kept = {index.get(name, -1) for name in expand(names)}
    if not kept or not kept <= set(nodes):
        raise InputError(f"Invalid node name specified for job {job.id}")
    if len(kept) < len(nodes):
        controller.stints.give_up(job, [node for node in nodes if node not in kept])


def change_licenses(job: Job, options: BatchOptions, controller: Controller) -> None:
    """A running job has other licences from now on, even if these are in use.

    Raises:
        InputError: there are no such licences, or not so many.
    """
    in_use = controller.cluster.licenses
    job.request_class = make_job(replace(job.request, options=options), controller.cluster, updated=True).request_class
    for name, count in job.options.licenses:
        in_use[name][1] -= count
    for name, count in options.licenses:
        in_use[name][1] += count
    job.request, job.entries = replace(job.request, options=options), ()


def _change_account(job: Job, changed: Job, controller: Controller) -> None:
    """A waiting job counts for another association or quality of service, if those admit it."""
    accounting, before, after = controller.cluster.accounting, job.options, changed.options
    if accounting is None or (before.account, before.qos, before.partitions) == (
        after.account,
        after.qos,
        after.partitions,
    ):
        return
    accounting.left(job)
    counted = job
    try:
        accounting.admit(changed)
        job.account, counted = changed.account, changed
    finally:
        accounting.submitted(counted)


def lift(job: Job, amount: float) -> None:
    """An operator adds to a job's priority, or takes from it."""
    job.lift += amount
    job.shift(amount)
