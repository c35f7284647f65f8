"""PV-EASY: who stands behind the head of the queue may run, and goes when the head wants in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from .cluster import JobRow, Passes, Plans
from .preemptible import Cluster, Expired, Job, Mode, Order, Predict, Running, Stays, given, simulate


def pv_easy(
    jobs: Iterable[JobRow],
    processors: int,
    *,
    passes: Passes = "batch",
    kill_at_limit: bool = True,
    predictions: Mapping[int, float] | None = None,
    predict: Predict | None = None,
    refresh: bool = False,
    mode: Mode | None = None,
    expired: Expired = "limit",
    order: Order = "fcfs",
    trim: bool = False,
    single_head: bool = False,
    extra: bool = False,
    pin_regular: bool = False,
    gives_up: bool = False,
    plans: Plans | None = None,
) -> Stays:
    """Preempt for the head if that lets it start now; else backfill with what is idle, come what may.

    Args:
        jobs: (id, submit, processors, run, limit) of each.
        processors: size of the machine.
        passes: which order of events and passes.
        kill_at_limit: whether a job ends at its limit.
        predictions: seconds of work by id, where they are not the limit.
        predict: a predictor in their place.
        refresh: whether it is asked again before each pass.
        mode: what preemption does to a job's work; all is lost if nothing is given.
        expired: what takes the place of a planned end that has passed.
        order: of the queue.
        trim: whether to spare, highest first, whom the head does not need after all.
        single_head: whether at most one head a pass is let in by preemption.
        extra: whether a job that ends too late is backfilled before the venture if it takes
            no more than the head leaves over at its reservation.
        pin_regular: whether a job that started as the head is in no other's shadow.
        gives_up: whether a preempted job that outlived its prediction is planned with its limit.
        plans: three predictions by id, instead of all others.
    """

    def shadow(cluster: Cluster, head: Job) -> list[Running]:
        """Who runs and ranks below the head, the lowest first."""
        below = [run for run in cluster.running if cluster.rank(run.job) > cluster.rank(head)]
        below = [run for run in below if run.backfilled or not pin_regular]
        return sorted(below, key=lambda run: cluster.rank(run.job), reverse=True)

    def victims(cluster: Cluster, head: Job) -> list[Running]:
        """Which runs have to go for the head; none if that would not let it start."""
        chosen: list[Running] = []
        for run in shadow(cluster, head):
            if cluster.idle + width(chosen) < head.processors:
                chosen.append(run)
        if cluster.idle + width(chosen) < head.processors:
            return []
        for run in reversed(chosen) if trim else []:
            if cluster.idle + width(chosen) - run.job.processors >= head.processors:
                chosen = [other for other in chosen if other is not run]
        return chosen

    def start_regular(cluster: Cluster) -> None:
        while cluster.waiting and cluster.waiting[0].processors <= cluster.idle:
            cluster.start(cluster.waiting[0])

    def make_pass(cluster: Cluster) -> None:
        start_regular(cluster)
        while cluster.waiting and (chosen := victims(cluster, cluster.waiting[0])):
            head = cluster.waiting[0]
            for run in chosen:
                assert run.backfilled or order != "fcfs"
                cluster.preempt(run)
            cluster.start(head)
            start_regular(cluster)
            if single_head:
                break
        if cluster.waiting:
            backfill(cluster, *cluster.waiting)

    def backfill(cluster: Cluster, head: Job, *others: Job) -> None:
        in_shadow = shadow(cluster, head)
        assert single_head or cluster.idle + width(in_shadow) < head.processors
        time, left_over = reservation(head, [run for run in cluster.running if run not in in_shadow], cluster)
        for job in sorted(others, key=lambda job: (job.planned, job.submit, job.id)):
            if job.processors > cluster.idle:
                continue
            if cluster.now + job.planned <= time:
                cluster.start(job, backfilled=True)
            elif extra and job.processors <= left_over:
                left_over -= job.processors
                cluster.start(job, backfilled=True)
        for job in others:
            if job in cluster.waiting and job.processors <= cluster.idle:
                cluster.start(job, backfilled=True)

    return simulate(
        jobs,
        processors,
        make_pass,
        passes=passes,
        kill_at_limit=kill_at_limit,
        predict=predict or given(predictions),
        refresh=refresh,
        mode=mode,
        expired=expired,
        order=order,
        gives_up=gives_up,
        plans=plans,
    )


def width(runs: Iterable[Running]) -> int:
    """How many processors they have."""
    return sum(run.job.processors for run in runs)


def reservation(head: Job, load: list[Running], cluster: Cluster) -> tuple[float, int]:
    """When the head fits beside a part of what runs, as planned, and how many processors it leaves over then."""
    for time in sorted({cluster.now} | {cluster.planned_end(run) for run in load}):
        free = cluster.processors - width(run for run in load if cluster.planned_end(run) > time)
        if free >= head.processors:
            return time, free - head.processors
    raise AssertionError("the head is wider than the machine")
