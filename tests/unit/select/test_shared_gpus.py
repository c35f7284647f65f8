"""GPUs that jobs share: beside a slow reference, and what jobs have of them in all."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.config.slurm import parse_slurm_conf
from emulator.engine.controller import Controller
from emulator.state.machine import machine_of
from emulator.state.run import Run
from emulator.workload.request import JobRequest
from emulator.workload.sbatch import parse_sbatch
from slurm_sim_plugins.nodes import Allocation, Choice, Machine, Want
from slurm_sim_plugins.select.cons_tres import best_fit

SELECT = "LL_SHARED_GRES", "MULTIPLE_SHARING_GRES_PJ"


@dataclass
class Gpu:
    """A GPU of the reference."""

    shares: int
    whole: bool = False
    taken: int = 0

    @property
    def left(self) -> int:
        return 0 if self.whole else self.shares - self.taken


@dataclass
class Reference:
    """One node, GPU by GPU."""

    gpus: list[Gpu]
    least_loaded: bool
    several: bool
    one: bool
    jobs: dict[int, list[tuple[Gpu, int]]] = field(default_factory=dict)

    def start(self, job: int, name: str, count: int) -> bool:
        """Whether the job gets so many."""
        found = self._gpus(count) if name == "gpu" else self._shares(count)
        for gpu, share in found:
            gpu.whole, gpu.taken = gpu.whole or name == "gpu", gpu.taken + (0 if name == "gpu" else share)
        self.jobs[job] = found
        return bool(found)

    def end(self, job: int) -> None:
        """The job is over."""
        for gpu, share in self.jobs.pop(job):
            if gpu.whole:
                gpu.whole = False
            else:
                gpu.taken -= share

    def _gpus(self, count: int) -> list[tuple[Gpu, int]]:
        idle = [(gpu, 1) for gpu in self.gpus if not gpu.whole and not gpu.taken]
        return idle[:count] if len(idle) >= count else []

    def _shares(self, count: int) -> list[tuple[Gpu, int]]:
        gpus = list(self.gpus)
        if self.one and any(gpu.taken for gpu in gpus):
            gpus = [gpu for gpu in gpus if gpu.taken]
        if self.least_loaded:
            gpus.sort(key=lambda gpu: gpu.shares and -(gpu.shares - gpu.taken) / gpu.shares)
        for gpu in gpus:
            if gpu.left >= count:
                return [(gpu, count)]
        if not self.several or sum(gpu.left for gpu in gpus) < count:
            return []
        found = []
        for gpu in gpus:
            if share := min(gpu.left, count):
                found.append((gpu, share))
                count -= share
        return found


def machine(gpus: int, shares: int, words: list[str], name: str = "shard") -> Machine:
    """One node."""
    select = ",".join(("CR_Core", *words))
    return machine_of(
        parse_slurm_conf(
            f"SelectTypeParameters={select}\nGresTypes=gpu,{name}\n"
            f"NodeName=n1 CPUs=99 Gres=gpu:{gpus},{name}:{shares}\nPartitionName=p Nodes=n1 Default=YES\n"
        )
    )


def chosen(on: Machine, free: object, name: str, count: int) -> Allocation | None:
    """What a job of one CPU gets that wants so many."""
    all_nodes = np.ones(len(on), dtype=bool)
    want = Want(1, 1, 1, 1, (Choice(all_nodes),), gres=((name, "", count),))
    return best_fit(want, on, free, all_nodes)  # type: ignore[arg-type]


@given(st.data())
def test_jobs_start_as_on_the_reference(data: st.DataObject) -> None:
    """Jobs come and go; each starts on the emulator's node if it does on the reference's."""
    gpus = data.draw(st.integers(1, 4), "gpus")
    shares = data.draw(st.integers(gpus, 5 * gpus), "shares")
    words = data.draw(st.lists(st.sampled_from(SELECT), unique=True), "words")
    name = data.draw(st.sampled_from(["shard", "mps"]), "name")
    on = machine(gpus, shares, words, name)
    assert on.devices is not None
    reference = Reference(
        [Gpu(int(each)) for each in on.devices.shares[:, 0]], SELECT[0] in words, SELECT[1] in words, name == "mps"
    )
    free, running = on.free(), dict[int, Allocation]()
    for job in range(data.draw(st.integers(1, 15), "jobs")):
        if running and data.draw(st.booleans(), "ends"):
            over = data.draw(st.sampled_from(sorted(running)), "which")
            free.release(running.pop(over))
            reference.end(over)
        kind = data.draw(st.sampled_from(["gpu", name]), "kind")
        count = data.draw(st.integers(1, gpus if kind == "gpu" else shares), "count")
        allocation = chosen(on, free, kind, count)
        assert (allocation is not None) == reference.start(job, kind, count)
        if allocation is not None:
            assert sum(sum(each) for of, each in allocation.gres.items() if of[0]) == count
            free.take(allocation)
            running[job] = allocation
        assert (free.table >= 0).all()
    for allocation in running.values():
        free.release(allocation)
    assert (free.table == on.free().table).all()


def test_shares_that_gres_conf_does_not_say_are_spread_over_the_other_gpus() -> None:
    """The rest goes evenly, the last getting more."""
    conf = "GresTypes=gpu,shard\nNodeName=n1 CPUs=9 Gres=gpu:3,shard:10\nPartitionName=p Nodes=n1 Default=YES\n"
    lines = "Name=gpu File=/dev/nvidia[0-2]\nName=shard Count=5 File=/dev/nvidia0\n"
    plain, told = machine_of(parse_slurm_conf(conf)), machine_of(parse_slurm_conf(conf, gres=lines))
    assert plain.devices is not None
    assert told.devices is not None
    assert plain.devices.shares[:, 0].tolist() == [3, 3, 4]
    assert told.devices.shares[:, 0].tolist() == [5, 2, 3]


@pytest.mark.parametrize(("flags", "starts"), [("", True), (" Flags=one_sharing", False)])
def test_flags_of_gres_conf_say_whether_jobs_share_one_gpu(flags: str, starts: bool) -> None:
    """With ``one_sharing`` a job waits although another GPU has shares."""
    conf = "GresTypes=gpu,shard\nNodeName=n1 CPUs=9 Gres=gpu:2,shard:8\nPartitionName=p Nodes=n1 Default=YES\n"
    on = machine_of(parse_slurm_conf(conf, gres=f"Name=shard Count=8{flags}\n"))
    free = on.free()
    first = chosen(on, free, "shard", 3)
    assert first is not None
    free.take(first)
    assert (chosen(on, free, "shard", 2) is not None) == starts


def test_shares_without_gpus_are_named() -> None:
    """They are counted, as any resource is, and a notice says so."""
    conf = parse_slurm_conf("GresTypes=shard\nNodeName=n1 CPUs=9 Gres=shard:8\nPartitionName=p Nodes=n1 Default=YES\n")
    assert any("n1 has shares" in str(notice) for notice in conf.notices)
    on = machine_of(conf)
    assert on.devices is None
    assert chosen(on, on.free(), "shard", 8) is not None


def test_a_suspended_job_keeps_its_shares() -> None:
    """What it holds is generic resources, of the GPU that it has them of."""
    on = machine(2, 8, [])
    allocation = chosen(on, on.free(), "shard", 3)
    assert allocation is not None
    run = Run(0.0, allocation, "p", 60.0)
    free = on.free()
    free.take(run.held)
    assert chosen(on, free, "shard", 4) is not None
    taken = on.free()
    taken.take(allocation)
    taken.release(run.cores)
    assert (taken.table[3:] == free.table[3:]).all()


@pytest.mark.parametrize(
    ("version", "exclusive", "node"),
    [("24.11", "-pwhole", "a2"), ("24.11", "--exclusive", "a1"), ("22.05", "-pwhole", "a1")],
)
def test_nodes_are_kept_for_a_job_that_never_starts(version: str, exclusive: str, node: str) -> None:
    """A job cannot have GPUs and their shares; where the partition says so backfill does not see it (recorded).

    In 22.05 it does: the job wants whole nodes since it was tried there.
    """
    conf = (
        "SelectTypeParameters=CR_Core\nPriorityType=priority/basic\nGresTypes=gpu,shard\n"
        "SchedulerParameters=bf_interval=5\n"
        "NodeName=a[1-2] CPUs=8 Gres=gpu:2,shard:4\nPartitionName=batch Nodes=a[1-2] Default=YES\n"
        "PartitionName=whole Nodes=a[1-2] OverSubscribe=EXCLUSIVE\n"
    )
    asked = [("-t30", exclusive, "-N1", "-n1", "--gres=shard:1"), ("-t9", "-n8"), ("-t9", "-n8")]
    jobs = [JobRequest(at, 20.0 * at, 500.0, parse_sbatch(words), "me") for at, words in enumerate(asked, 1)]
    controller = Controller(parse_slurm_conf(conf), jobs, slurm_version=version)
    controller.run(200.0)
    found = controller.cluster.jobs
    assert found[1].run is None
    assert found[2].run is not None
    assert [controller.cluster.machine.names[each] for each in found[2].run.allocation.nodes] == [node]
    assert (found[3].run is None) == (node == "a2")


@pytest.mark.parametrize(("gpus", "runs"), [(1, True), (2, False)])
def test_whole_nodes_give_all_shares_of_one_gpu(gpus: int, runs: bool) -> None:
    """As 24.11 was recorded to do."""
    conf = (
        "SelectType=select/cons_tres\nSelectTypeParameters=CR_Core\nPriorityType=priority/basic\nGresTypes=gpu,shard\n"
        f"NodeName=a[1-2] CPUs=8 Gres=gpu:{gpus},shard:4\nPartitionName=p Nodes=a[1-2] OverSubscribe=EXCLUSIVE\n"
    )
    request = JobRequest(1, 0.0, 500.0, parse_sbatch(["-pp", "-N2", "--gres=shard:3"]), "me")
    controller = Controller(parse_slurm_conf(conf), [request], slurm_version="24.11")
    controller.run(100.0)
    run = controller.cluster.jobs[1].run
    assert (run is not None) == runs
    assert run is None or run.allocation.gres["shard", ""] == (4, 4)
