"""Compiled node selection and backfill, beside plain Python: job by job, node by node."""

from __future__ import annotations

import gc
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from emulator.config.operation import Operation
from emulator.config.slurm import SlurmConf, parse_slurm_conf
from emulator.engine.controller import Controller
from emulator.operator.scontrol import scontrol
from emulator.scheduling.alike import count_alike
from emulator.scheduling.job_mgr import make_job
from emulator.scheduling.plugin_scheduler import ClusterEntry
from emulator.scheduling.select_compiled import Selector, encode
from emulator.scheduling.windows_compiled import CompiledWindows
from emulator.state.cluster import Cluster
from emulator.state.job import Job
from emulator.state.order import Order
from emulator.state.partition import Partition
from emulator.workload.request import JobRequest, RejectedError
from emulator.workload.sbatch import parse_sbatch
from slurm_sim_plugins.nodes import Choice, Machine, Want
from slurm_sim_plugins.select.cons_tres import best_fit
from tests.builders.outcomes import outcome_of
from tests.builders.random_clusters import COMMANDS, SWITCHES, configuration, submission
from tests.builders.random_trees import random_tree

Changes = Sequence[Callable[[str, np.random.Generator], str]]


def random_conf(draws: np.random.Generator, changes: Changes = ()) -> SlurmConf:
    """A random cluster, in a third of all cases with switches."""
    text, switches = configuration(draws), draws.choice(["", "", "", "", *SWITCHES])
    for change in changes:
        text = change(text, draws)
    if not switches:
        return parse_slurm_conf(text)
    return parse_slurm_conf(f"TopologyPlugin=topology/tree\n{text}", topology=str(switches))


def of_users(requests: list[JobRequest], seed: int) -> list[JobRequest]:
    """The same of three users, of which some want nodes for themselves alone."""
    draws, made = np.random.default_rng(seed), []
    for request in requests:
        alone = {"exclusive_to": "user"} if draws.random() < 0.2 and not request.options.exclusive else {}
        options = replace(request.options, **alone)
        made.append(replace(request, user=str(draws.choice(["me", "you", "she"])), options=options))
    return made


def gang(text: str, draws: np.random.Generator) -> str:
    """The same cluster, whose jobs take turns on what they share; with tiers those of a lower one stand still."""
    text = text.replace("PreemptMode=REQUEUE", "PreemptMode=SUSPEND,GANG" if "prio" in text else "PreemptMode=GANG")
    for name in ("all", "some"):
        share = draws.choice(["NO", "NO", "FORCE:1", "FORCE:2", "YES:2"])
        text = text.replace(f"PartitionName={name}", f"PartitionName={name} OverSubscribe={share}")
    return text


def whole_nodes(text: str, draws: np.random.Generator) -> str:
    """The same cluster, whose jobs have whole nodes, all of which have the same CPUs and mostly the same weight."""
    text = re.sub(r"SelectType=.*\nSelectTypeParameters=.*\n", "SelectType=select/linear\n", text)
    text = re.sub(r" CPUs=\d+( Sockets=\d+ CoresPerSocket=\d+ ThreadsPerCore=\d+)?", " CPUs=4", text)
    text = re.sub(r" MaxCPUsPerNode=\d+", "", text)
    return re.sub(r" Weight=\d+", "", text) if draws.random() < 0.8 else text


def over_time(text: str, draws: np.random.Generator) -> str:
    """The same cluster, whose jobs may pass their limits for a while."""
    return f"OverTimeLimit={draws.choice(['1', '5', 'UNLIMITED'])}\n{text}"


CHANGES = {
    "gang": (gang,),
    "whole nodes": (whole_nodes,),
    "both": (gang, whole_nodes),
    "over time": (over_time,),
    "whole nodes over time": (whole_nodes, over_time),
}
"""How clusters are changed on which jobs share, have nodes alone, or pass their limits."""


def prepared(
    seed: int, compiled: bool, jobs: int = 30, users: bool = False, changes: Changes = (), **more: Any
) -> Controller:
    draws = np.random.default_rng(seed)
    conf = random_conf(draws, changes)
    requests = [submission(number, draws) for number in range(1, jobs + 1)]
    requests = of_users(requests, seed) if users else requests
    actions = [
        (float(draws.integers(50, 900)), lambda controller, command=str(command): scontrol(command, controller))
        for command in draws.choice(COMMANDS, size=int(draws.choice([0, 0, 3, 6])))
    ]
    operation = Operation(mtbf=float(draws.choice([0, 0, 2000])), mttr=200.0, epilog=float(draws.choice([0, 15])))
    return Controller(conf, requests, actions, compiled=compiled, operation=operation, seed=seed, **more)


def outcome(seed: int, compiled: bool, users: bool = False) -> list[tuple[object, ...]]:
    """All that was decided in a run, and all that jobs showed on the way."""
    return outcome_of(prepared(seed, compiled, users=users), 6_000)


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32), st.booleans())
@example(6378, True)  # It waits for nodes that are being cleared.
@example(15414, False)  # Two runs end in the same second, of which a window has one.
def test_compiled_code_starts_the_same_jobs_on_the_same_nodes_at_the_same_time(seed: int, users: bool) -> None:
    assert outcome(seed, True, users) == outcome(seed, False, users)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 2**32), st.sampled_from(sorted(CHANGES)), st.sampled_from(["22.05", "24.11", "26.05"]), st.booleans()
)
@example(26391, "whole nodes", "24.11", True)  # A job has its nodes alone that starts in the cycle.
@example(10180714, "whole nodes", "24.11", True)
@example(15, "whole nodes", "22.05", False)  # No run comes or goes between cycles, but one is past its limit.
@example(67108864, "both", "22.05", False)  # Nodes are others than those for which a cycle had room.
@example(602, "whole nodes", "22.05", True)  # Nodes are cleared that only one of two users may have.
@example(3125, "gang", "24.11", False)  # An operator suspends a job that waits for its turn, and resumes it.
def test_jobs_that_share_or_have_whole_nodes_start_alike(seed: int, which: str, version: str, users: bool) -> None:
    runs = [prepared(seed, compiled, 40, users, CHANGES[which], slurm_version=version) for compiled in (True, False)]
    assert outcome_of(runs[0], 6_000) == outcome_of(runs[1], 6_000)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(["slurm", "ideal"]), st.sampled_from(["22.05", "24.11"]), st.booleans())
def test_cycles_that_end_behind_the_last_job_which_could_start_start_the_same_jobs(
    seed: int, clock: Any, version: str, users: bool
) -> None:
    how = {"clock": clock, "slurm_version": version, "users": users}

    def became(plans_are_seen: bool) -> list[tuple[object, ...]]:
        controller = prepared(seed, compiled=True, plans_are_seen=plans_are_seen, **how)
        controller.run(until=6_000)
        ended = controller.cluster.jobs.values()
        runs = [(job.id, run.start, run.end, run.allocation, run.backfilled) for job in ended for run in job.runs]
        return [*runs, *((job.id, job.state, job.reason) for job in ended)]

    assert became(plans_are_seen=False) == became(plans_are_seen=True)


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32), st.booleans(), st.sampled_from(["22.05", "24.11", "26.05"]))
@example(38748, True, "24.11")  # The same.
def test_what_is_known_of_kinds_from_cycle_to_cycle_is_what_each_cycle_finds(
    seed: int, users: bool, version: str
) -> None:
    def became() -> list[tuple[object, ...]]:
        return outcome_of(prepared(seed, compiled=True, users=users, slurm_version=version), 6_000)

    def afresh(plan: CompiledWindows) -> bool:
        plan._compiled.steady.clear()
        return True

    known = became()
    with patch.object(CompiledWindows, "_decides_again", afresh):
        assert became() == known


@settings(max_examples=20, deadline=None)
@given(st.lists(st.sampled_from([0.0, 1.0, 8.0, 64.0]), min_size=1, max_size=9), st.sampled_from([0.0, 4.0, 8.0]))
def test_jobs_alike_count_with_the_cpus_of_a_plan(before: list[float], cpus: float) -> None:
    conf = parse_slurm_conf("ClusterName=c\nNodeName=n1 CPUs=4\nPartitionName=p Nodes=n1 Default=YES\n")
    requests = [JobRequest(id=number, submit=0.0, run=9.0, options=parse_sbatch([])) for number in range(len(before))]
    controller = Controller(conf, [])
    jobs = [make_job(replace(request, id=request.id + 1), controller.cluster) for request in requests]
    for job, known in zip(jobs, before, strict=True):
        job.planned_cpus = known
    count_alike([ClusterEntry(job, job.partitions[0], controller.policies) for job in jobs], cpus)
    assert [job.planned_cpus for job in jobs] == [cpus or known for known in before]


def test_what_holds_of_kinds_is_asked_once_where_jobs_may_be_preempted_by_partition() -> None:
    conf = """
ClusterName=c
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
NodeName=n[1-4] CPUs=4
PartitionName=low Nodes=ALL Default=YES PriorityTier=1
PartitionName=high Nodes=n1 PriorityTier=2
"""
    wide = [
        JobRequest(id=number, submit=10.0 * number, run=900.0, options=parse_sbatch(["-n16", "-t20"]))
        for number in range(1, 9)
    ]
    urgent = JobRequest(id=9, submit=2000.0, run=60.0, options=parse_sbatch(["-n1", "-t5", "-phigh"]))
    controller = Controller(parse_slurm_conf(conf), [*wide, urgent], compiled=True)
    asked: Counter[tuple[int, str]] = Counter()
    own = CompiledWindows._is_steady

    def counted(plan: CompiledWindows, job: Job, partition: Partition) -> bool:
        asked[job.request_class, partition.name] += 1
        return own(plan, job, partition)

    with patch.object(CompiledWindows, "_is_steady", counted):
        controller.run()
    preempted = [job.id for job in controller.cluster.jobs.values() if len(job.runs) > 1]
    assert preempted
    assert set(asked.values()) == {1}


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32))
def test_compiled_selection_takes_the_same_nodes(seed: int) -> None:
    draws = np.random.default_rng(seed)
    controller = Controller(random_conf(draws), [], compiled=True)
    cluster, compiled = controller.cluster, controller.cluster.compiled
    assert compiled is not None
    take_some(cluster, draws)
    for number in range(1, 20):
        try:
            job = make_job(submission(number, draws), cluster)
        except RejectedError:
            continue
        partition = job.partitions[0]
        code = compiled.code(job, partition)
        if code is not None:
            plain = best_fit(job.wants[partition.name], cluster.machine, cluster.free, partition.nodes)
            assert compiled.select(job.wants[partition.name], code, partition.nodes, cluster.free) == plain


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**32))
@example(613)  # a set that was taken is not taken again when only nodes are missing
@example(4282)  # nodes are left out till as few are left as tasks of a node make of it
@example(124)  # tasks that find no room are put onto the first node, not onto the one that was taken first
def test_compiled_selection_deals_tasks_of_several_units_alike(seed: int) -> None:
    draws = np.random.default_rng(seed)
    size, per_task, nodes = (int(draws.integers(1, most)) for most in (13, 5, 6))
    units, ones = draws.integers(1, 9, size), np.ones(size, dtype=np.int64)
    names = [f"n{number}" for number in range(size)]
    weights, features = draws.integers(1, 4, size), [frozenset[str]()] * size
    threads = draws.integers(1, 1 + int(draws.choice([1, 2, 4])), size)
    tree = random_tree(size, draws) if draws.random() < 0.6 else None
    machine = Machine(names, units, ones * 1000, units * threads, threads, ones, weights, ones > 0, features, tree=tree)
    free = machine.free()
    free.units[:], free.memory[:] = draws.integers(0, units + 1), draws.integers(0, 1001, size)
    free.jobs[:] = free.units < units
    most = None if draws.random() < 0.5 else int(draws.integers(nodes, 8))
    want = Want(
        min_nodes=nodes,
        most_nodes=most,
        target_nodes=nodes,
        cpus=int(draws.integers(nodes * per_task, nodes * per_task + 20)),
        choices=(Choice(ones > 0, ()),),
        cpus_per_task=per_task,
        cpus_on_node=per_task + int(draws.choice([0, 0, 1, 3])),
        cpus_given=per_task + int(draws.choice([0, 0, 1, 3])),
        per_node=int(draws.choice([per_task + 3, 2 * per_task + 3, 8, 2**40])),
        per_core=int(draws.choice([1, 2, 2**40])),
        whole=bool(draws.random() < 0.2),
        memory_per_node=int(draws.choice([0, 0, 300])),
        memory_per_cpu=int(draws.choice([0, 0, 100])),
        memory_of_core=int(draws.choice([0, 1, 2**40])),
        last_first=bool(draws.random() < 0.1),
        first_node=nodes == 1 == most,
        tree=tree,
    )
    usable = draws.random(size) < 0.9
    code = encode(want, machine)
    assert code is not None
    assert Selector(machine).select(want, code, free, usable) == best_fit(want, machine, free, usable)


def take_some(cluster: Cluster, draws: np.random.Generator) -> None:
    free, machine = cluster.free, cluster.machine
    free.units[:] -= draws.integers(0, machine.units + 1)
    free.memory[:] -= draws.integers(0, machine.memory + 1)
    free.jobs[:] = (free.units < machine.units) | (draws.random(len(machine)) < 0.2)
    for counts in free.gres.values():
        counts[:] -= draws.integers(0, counts + 1)


def test_the_plan_of_a_cycle_is_gone_when_the_cycle_is_over() -> None:
    controller = prepared(1, compiled=True)
    gc.collect()
    gc.disable()
    try:
        controller.run(until=6_000)
        left = [each for each in gc.get_objects() if isinstance(each, CompiledWindows)]
    finally:
        gc.enable()
    assert not left


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**32))
@example(368)  # a job in a reservation, and one of a higher tier that may preempt others
def test_the_queue_stays_in_the_order_of_a_fresh_sort(seed: int) -> None:
    controller = prepared(seed, compiled=True)
    kept, compared = controller.cluster.order, []

    def look() -> None:
        fresh = Order(controller.cluster.waiting, controller.cluster.reservations)
        fresh.tiers_first, fresh.preempts = kept.tiers_first, kept.preempts
        fresh.listed, fresh.by_list = kept.listed, kept.by_list
        fresh.changed()
        assert kept.pairs() == fresh.pairs()
        assert kept.kinds() == fresh.kinds()
        assert kept.classes() == fresh.classes()
        compared.append(len(fresh.pairs()))

    controller.run(until=6_000, observe=look)
    assert max(compared) > 0
