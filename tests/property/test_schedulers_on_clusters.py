"""Schedulers that are plugins, on random clusters, under both clocks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from emulator.config.sacctmgr import parse_accounts
from emulator.config.sacctmgr.database import Accounts
from emulator.config.slurm import parse_slurm_conf
from emulator.engine.controller import Controller
from emulator.operator.scontrol import scontrol
from emulator.scheduling.plugin_scheduler import PluginScheduler
from emulator.scheduling.policies import plugins_of
from emulator.state.cluster import Cluster
from emulator.state.job import Job
from emulator.state.run import State
from emulator.workload.request import JobRequest
from slurm_sim_plugins.decisions import Reserve
from slurm_sim_plugins.nodes import Free, Machine, Mask, Want
from slurm_sim_plugins.select.cons_tres import best_fit
from tests.builders.random_clusters import COMMANDS, configuration, submission

SOON = 12_000.0
EPSILON = 1e-6
SOME = {"jobs": "partition=some"}
PREEMPT = {"sched/venture": "preempt/shadow_load", "sched/realtime": "preempt/realtime"}
ORDERS = [command for command in COMMANDS if "suspend" not in command and "resume" not in command]
"""An operator may resume a job on nodes that others have by then; that is left out."""
ENFORCE = """
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageEnforce=limits,qos
"""
LIMIT = re.compile("Assoc|QOS")
"""Reasons of jobs that a limit keeps waiting."""


def fits(want: Want, machine: Machine, free: Free, usable: Mask) -> bool:
    """Whether enough is free on these nodes, however they are chosen.

    Slurm's choice may find nothing although a choice among fewer nodes does.
    """
    if best_fit(want, machine, free, usable) is not None:
        return True
    units = np.where(usable, np.where(want.whole, machine.units * (free.jobs == 0), free.units), 0) * machine.threads
    if want.memory_per_cpu:
        units = np.minimum(units, free.memory // want.memory_per_cpu)
    units[free.memory < want.memory_per_node] = 0
    units[[not mask for mask in np.logical_or.reduce([choice.mask for choice in want.choices])]] = 0
    units = np.sort(np.where(units >= want.cpus_on_node, np.minimum(units, want.per_node or units), 0))[::-1]
    most = want.most_nodes or len(units)
    return bool(units[:most].sum() >= want.cpus and np.count_nonzero(units[:most]) >= want.min_nodes)


class Limits:
    """Limits of accounts, users and a quality of service, and what they leave at an instant, counted by hand."""

    def __init__(self, draws: np.random.Generator) -> None:
        self._draws = draws
        self.cpus, self.of_a_user = int(draws.integers(6, 20)), int(draws.integers(5, 12))
        self.jobs, self.of_b, self.minutes = (int(draws.integers(2, most)) for most in (7, 5, 200))
        self.bound = 0

    def accounts(self) -> Accounts:
        """The tree, in which ``b`` is below ``a``, and ``cheap``."""
        return parse_accounts(
            f"add qos cheap MaxJobsPerUser=1 MaxTRESPerUser=cpu={self.of_a_user}\n"
            f"add account a GrpTRES=cpu={self.cpus} GrpTRESRunMins=cpu={self.minutes * 20}\n"
            f"add account b parent=a GrpJobs={self.of_b}\n"
            f"add user me account=a MaxJobs={self.jobs} qos=normal,cheap defaultqos=normal\n"
            "add user cy account=b qos=normal,cheap defaultqos=normal\n"
        )

    def charged(self, request: JobRequest) -> JobRequest:
        """A submission of one of the users, now and then under ``cheap``."""
        qos = str(self._draws.choice(["", "", "cheap"]))
        user = str(self._draws.choice(["me", "cy"]))
        return replace(request, user=user, options=replace(request.options, qos=qos))

    def look(self, cluster: Cluster) -> None:
        """No limit is exceeded; what a job has does not count any more while it completes."""
        cpus: Counter[str] = Counter()
        jobs: Counter[str] = Counter()
        minutes = 0.0
        for job in cluster.running.values():
            if job.state is State.COMPLETING:
                continue
            assert job.run is not None
            given = job.run.allocation
            threads = sum(
                units * int(cluster.machine.threads[at]) for at, units in zip(given.nodes, given.units, strict=True)
            )
            # With CR_CPU not all threads of its cores count.
            own = given.cpus or threads
            assert own <= threads
            cheap = job.options.qos == "cheap"
            names = [job.request.user, f"{job.request.user} {'cheap' if cheap else 'normal'}"]
            cpus.update(dict.fromkeys([*names, "all"], own))
            jobs.update(names)
            minutes += own * max(job.run.start + job.run.limit - cluster.now, 0.0) / 60
        assert cpus["all"] <= self.cpus
        assert minutes < self.minutes * 20 + 1  # Slurm compares whole minutes of what runs.
        assert jobs["cy"] <= self.of_b
        assert jobs["me normal"] <= self.jobs
        for user in ("me", "cy"):
            assert jobs[f"{user} cheap"] <= 1
            assert cpus[f"{user} cheap"] <= self.of_a_user
        self.bound += any(LIMIT.match(job.reason) for job in cluster.waiting.values())


class Watched:
    """A run of which each instant is looked at by plain means; every second one has accounts with limits."""

    def __init__(self, seed: int, scheduler: str, clock: str, compiled: bool, jobs: int = 30) -> None:
        draws = np.random.default_rng(seed)
        text = configuration(draws)
        requests = [submission(number, draws) for number in range(1, jobs + 1)]
        self.limits = Limits(np.random.default_rng([seed, 1])) if seed % 2 else None
        if self.limits is not None:
            text, requests = text + ENFORCE, [self.limits.charged(request) for request in requests]
        conf = parse_slurm_conf(text)
        actions = [
            (float(draws.integers(50, 900)), lambda controller, command=str(command): scontrol(command, controller))
            for command in draws.choice(ORDERS, size=int(draws.choice([0, 0, 3, 6])))
        ]
        slots = {"SchedulerType": scheduler}
        if scheduler in PREEMPT:
            slots["PreemptType"] = PREEMPT[scheduler]
        self.binding = scheduler != "sched/venture"
        self.urgent = scheduler == "sched/realtime" and clock == "ideal"
        options = {
            "sched/realtime": {"policy": "preemptive", **SOME},
            "preempt/realtime": {"cost": "processors", **SOME},
        }
        options = options if scheduler == "sched/realtime" else {}
        selection = plugins_of(conf, slots, options=options)
        accounts = self.limits.accounts() if self.limits is not None else None
        self.controller = Controller(
            conf, requests, actions, selection=selection, compiled=compiled, clock=clock, accounts=accounts
        )
        self.promises: list[tuple[Job, str, float, Mask]] = []
        self.checked = self.urgently_waited = 0
        self._listen(self.controller.scheduler)

    def _listen(self, scheduler: PluginScheduler | None) -> None:
        assert scheduler is not None
        carry_out, run = scheduler._carry_out, scheduler.run

        def noting(decision: object) -> bool | None:
            if isinstance(decision, Reserve) and self.binding:
                job, partition, time = decision.job._pair[0], decision.job.partition, decision.time
                self.promises.append((job, partition, time, self.controller.starts.not_reserved(job, time)))
            return carry_out(decision)

        def looking(submitted: Sequence[Job] | None = None, full: bool = False) -> bool:
            self.promises.clear()
            whole = run(submitted, full)
            self.look_at_promises()
            if self.urgent:
                self.look_at_realtime_jobs()
            return whole

        scheduler._carry_out, scheduler.run = noting, looking  # type: ignore[method-assign]

    def look_at_promises(self) -> None:
        """What was promised in a pass can be kept after it, as planned.

        Reservations are those of the promise: one with REPLACE takes other nodes when a job starts on its own.
        """
        cluster = self.controller.cluster
        for job, partition, time, unreserved in self.promises:
            if time == float("inf") or job.run is not None:
                continue
            free = cluster.free.copy()
            for other in cluster.running.values():
                if other.run is not None and not other.run.row and cluster.planned_end(other) <= time + EPSILON:
                    free.release(other.run.allocation)
            usable = cluster.usable(job, cluster.partitions[partition]) & unreserved
            assert fits(job.wants[partition], cluster.machine, free, usable), (job.id, time)
            self.checked += 1

    def look_at_realtime_jobs(self) -> None:
        """Where a real-time job waits for resources, it would wait too if all batch jobs had gone."""
        cluster = self.controller.cluster
        partition = cluster.partitions["some"]
        for job in cluster.waiting.values():
            if partition in job.partitions and job.reason == "Resources" and job.eligible is not None:
                batch = [other for other in cluster.running.values() if partition not in other.partitions]
                usable = cluster.usable(job, partition) & self.controller.starts.not_reserved(job)
                assert cluster.select(job, partition, usable, cluster.free_without(batch)) is None, job.id
                self.urgently_waited += 1

    def look(self) -> None:
        """Nothing has more of the machine, or of licences, than there is."""
        cluster = self.controller.cluster
        used = cluster.machine.free()
        licenses: Counter[str] = Counter()
        for job in cluster.running.values():
            assert job.run is not None
            used.take(job.run.allocation)
            licenses.update(dict(job.options.licenses))
        assert (used.table[[0, 1]] >= 0).all()
        assert all((counts >= 0).all() for counts in used.gres.values())
        assert all(count <= cluster.licenses[name][0] for name, count in licenses.items())
        if self.limits is not None:
            self.limits.look(cluster)

    def run(self) -> list[tuple[object, ...]]:
        self.controller.run(until=SOON, observe=self.look)
        jobs = self.controller.cluster.jobs.values()
        for job in jobs:
            assert job.over or job.reason != "None", (job.id, job.state)
        runs = [(job.id, run.start, run.end, run.allocation) for job in jobs for run in job.runs]
        return [*runs, *((job.id, job.state, job.reason) for job in jobs)]


@pytest.mark.slow
@pytest.mark.parametrize("clock", ["ideal", "slurm"])
@pytest.mark.parametrize("scheduler", ["sched/fcfs", "sched/easy", "sched/conservative", *PREEMPT])
@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32))
@example(209)  # two jobs of two partitions each outranked the other's run
@example(783)  # a reservation with REPLACE moves within a pass
@example(261)  # seconds of a run beside a job of all minutes that are allowed
def test_no_promise_is_broken_and_nothing_is_given_out_twice(scheduler: str, clock: str, seed: int) -> None:
    assert Watched(seed, scheduler, clock, compiled=False).run()


@pytest.mark.slow
@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**32))
@example(24307132)  # nodes of two weights with one and two threads a core, tasks of two CPUs
def test_compiled_selection_gives_the_same_schedule(seed: int) -> None:
    plain, compiled = (Watched(seed, "sched/easy", "slurm", compiled).run() for compiled in (False, True))
    assert plain == compiled


def test_promises_are_looked_at() -> None:
    checked = bound = 0
    for seed in range(12):
        one = Watched(seed, "sched/easy", "ideal", compiled=False)
        one.run()
        checked += one.checked
        bound += one.limits.bound if one.limits is not None else 0
        if checked > 20 and bound > 20:
            return
    pytest.fail(f"{checked} promises were checked, and {bound} times a limit kept a job waiting")


@pytest.mark.slow
def test_real_time_jobs_that_wait_are_looked_at() -> None:
    preempted = waited = 0
    for seed in range(12):
        one = Watched(seed, "sched/realtime", "ideal", compiled=False, jobs=60)
        one.run()
        preempted += sum(job.restarts for job in one.controller.cluster.jobs.values())
        waited += one.urgently_waited
        if preempted > 10 and waited > 3:
            return
    pytest.fail(f"{preempted} runs were preempted, and {waited} times a real-time job waited")
