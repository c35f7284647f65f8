"""What parameters of ``slurm.conf`` make of a job's CPUs, memory, devices and nodes, in Slurm's timing."""

from __future__ import annotations

import pytest

from emulator.config.slurm import parse_slurm_conf
from emulator.engine.controller import Controller
from emulator.operator.scontrol import scontrol
from emulator.scheduling.requests import tres_amounts
from emulator.state.job import Job
from emulator.workload.request import JobRequest
from emulator.workload.sbatch import parse_sbatch
from slurm_sim_plugins.errors import InputError

CONF = """\
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=10,bf_resolution=1{options}
PriorityType=priority/basic
SelectType=select/cons_tres
SelectTypeParameters={select}
GresTypes=gpu
Licenses=foo:1
{lines}
NodeName=n[1-2] {node}
PartitionName=p Nodes=ALL Default=YES {partition}
PartitionName=q Nodes=ALL
"""
UNAVAILABLE = "Requested node configuration is not available"
NODE = "Sockets=2 CoresPerSocket=4 ThreadsPerCore=1 RealMemory=8000 Gres=gpu:4 Feature=x"


def controller(
    *words: str,
    run: float = 50,
    options: str = "",
    select: str = "CR_Core_Memory",
    lines: str = "",
    node: str = NODE,
    partition: str = "",
    until: float = 5000,
    version: str | None = None,
) -> Controller:
    """A job of each of the words for sbatch, one second after the other."""
    text = CONF.format(options=options, select=select, lines=lines, node=node, partition=partition)
    requests = [
        JobRequest(number, float(number), run, parse_sbatch(word.split()), "me") for number, word in enumerate(words, 1)
    ]
    made = Controller(parse_slurm_conf(text), requests, slurm_version=version)
    made.run(until)
    return made


def jobs(*words: str, **more: object) -> list[Job]:
    made = controller(*words, **more)  # type: ignore[arg-type]
    assert [str(refused) for refused in made.rejected] == []
    return list(made.cluster.jobs.values())


def refusal(*words: str, **more: object) -> str:
    """What the last submission is told; empty if it is accepted."""
    rejected = {request.id: why for request, why in controller(*words, **more).rejected}  # type: ignore[arg-type]
    return rejected.get(len(words), "")


def had(*words: str, **more: object) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Units and memory that the last job has on its nodes."""
    allocation = jobs(*words, **more)[-1].runs[0].allocation
    return allocation.units, allocation.memory


def together(*words: str, **more: object) -> bool:
    """Whether all jobs start before one ends."""
    runs = [job.runs[0] for job in jobs(*words, **more)]
    return max(run.start for run in runs) < min(run.end or 0 for run in runs)


@pytest.mark.parametrize("where", ["lines", "partition"])
def test_more_memory_for_a_cpu_than_there_may_be_takes_more_cpus(where):
    bound = {where: "MaxMemPerCPU=1000"}
    assert had("-n2 -t1 --mem-per-cpu=2500", **bound) == ((6,), (5004,))
    assert had("-n2 -t1 --mem-per-cpu=2500", lines="") == ((2,), (5000,))
    assert had("-n2 -t1 --mem-per-cpu=900", **bound) == ((2,), (1800,))
    assert had("-N1 -t1 --mem=4500", **bound) == ((5,), (4500,))
    assert had("-N2 -n2 -t1 --mem=2500", **bound) == ((3, 3), (2500, 2500))
    assert had("-N1 -n7 -t1 --mem=4500", **bound) == ((7,), (4500,))


def test_a_partitions_own_bound_of_memory_counts():
    more = {"lines": "MaxMemPerCPU=1000", "partition": "MaxMemPerCPU=4000"}
    assert had("-n1 -t1 --mem-per-cpu=3000", **more) == ((1,), (3000,))
    assert had("-n1 -t1 --mem-per-cpu=3000 -qq", **{**more, "partition": "MaxMemPerCPU=0"}) == ((3,), (3000,))
    assert had("-n1 -t1 --mem-per-cpu=3000 -pq", **more) == ((3,), (3000,))


def test_more_memory_on_a_node_than_there_may_be_waits_for_ever_or_is_refused():
    bound = {"partition": "MaxMemPerNode=3000"}
    waits, passes = jobs("-N1 -t1 --mem=3001", "-n1 -t1 --mem-per-cpu=3000", **bound)
    assert (waits.state, waits.reason, bool(passes.runs)) == ("PENDING", "MaxMemPerLimit", True)
    told = refusal("-n1 -c2 -t1 --mem-per-cpu=1501", lines="EnforcePartLimits=ALL", **bound)
    assert told == "Memory required by task is not available"
    assert not refusal("-n1 -c2 -t1 --mem-per-cpu=1501", lines="EnforcePartLimits=ALL\nMaxMemPerNode=3002")


@pytest.mark.parametrize("stated", ["--mem=0", "--comment=nothing"])
@pytest.mark.parametrize(("sizes", "waits"), [((4000, 2000), True), ((2000, 4000), False)])
def test_a_job_for_all_memory_wants_that_of_the_first_node(sizes, waits, stated):
    """--mem=0 beside MaxMemPerNode, and a job that says nothing where there is no default (recorded)."""
    lines = "\n".join(f"NodeName=n{number} CPUs=2 RealMemory={size}" for number, size in enumerate(sizes))
    conf = f"SelectTypeParameters=CR_Core_Memory\nMaxMemPerNode=3000\n{lines}\nPartitionName=p Nodes=ALL Default=YES"
    made = Controller(parse_slurm_conf(conf), [JobRequest(1, 0.0, 5.0, parse_sbatch(["-n1", "-t1", stated]), "me")])
    made.run(100.0)
    assert (made.cluster.jobs[1].reason == "MaxMemPerLimit") is waits


def test_a_limit_beyond_maxtime_is_refused_whatever_time_min_says() -> None:
    words = "-n1 -t12 --time-min=6"
    assert not refusal(words, partition="MaxTime=10")
    for enforced in ("ALL", "ANY"):
        told = refusal(words, lines=f"EnforcePartLimits={enforced}", partition="MaxTime=10")
        assert told == "Requested time limit is invalid (missing or exceeds some limit)"


def test_nodes_outside_of_the_partition_are_refused_before_its_bounds() -> None:
    elsewhere, many = "Requested nodes not in this partition", "More processors requested than permitted"
    other = "\nPartitionName=z Nodes=n1 MaxTime=10"
    for enforced in ("ALL", "ANY"):
        lines = {"lines": f"EnforcePartLimits={enforced}", "partition": other}
        assert refusal("-pz -wn2 -t12", **lines) == elsewhere
        assert refusal("-pz -wn2 -n20 -t12", **lines) == many
        assert refusal("-pz -wn2 -N2 -t1", **lines) == "Node count specification invalid"
        assert refusal("-pz -wn[1-2] -N1 -t1", version="24.11", **lines) == ""
    assert refusal("-pz -wn2 -t12", partition=other) == UNAVAILABLE


def test_memory_kept_for_the_system_counts_as_nodes_are_compared_with_what_is_asked_for() -> None:
    """A job that names a reserved node is taken in if that is as it wants; what is left for jobs is asked later."""
    node = "Sockets=2 CoresPerSocket=4 ThreadsPerCore=1 RealMemory=8000 MemSpecLimit=1000"

    def reserve(made: Controller) -> None:
        words = "ReservationName=r StartTime=now+20 Duration=1 Nodes=n1 Users=me"
        scontrol(f"scontrol create reservation {words}", made)

    text = CONF.format(options="", select="CR_Core_Memory", lines="", node=node, partition="")
    for memory, refused in ((8000, False), (8001, True)):
        words = ["-wn1", "-n1", f"--mem={memory}", "-t1"]
        made = Controller(
            parse_slurm_conf(text), [JobRequest(1, 5.0, 5.0, parse_sbatch(words), "me")], [(1.0, reserve)]
        )
        made.run(10)
        assert bool(made.rejected) is refused


def test_gpus_bring_cpus_and_memory():
    defaults = {"partition": "DefCpuPerGPU=2 DefMemPerGPU=1000"}
    assert had("-t1 -N1 --gres=gpu:2", **defaults) == ((4,), (2000,))
    assert had("-t1 -N2 --gres=gpu:1", lines="DefCpuPerGPU=3\nDefMemPerGPU=500") == ((3, 3), (500, 500))
    assert had("-t1 -N1 -c1 --gres=gpu:2 --mem=100", **defaults) == ((1,), (100,))
    assert had("-t1 --gpus=3", **defaults) == ((6,), (3000,))
    assert had("-t1 -n1", **defaults) == ((1,), (8000,))


def test_cpus_that_memory_brings_along_do_not_count_for_a_partition():
    small = {"node": "CPUs=2 RealMemory=8000", "lines": "MaxMemPerCPU=1000"}
    assert refusal("-N1 --ntasks-per-node=2 -t1 --mem-per-cpu=2000", **small) == UNAVAILABLE
    waits = jobs("-n6 -t1 --mem-per-cpu=1000", until=20, **small)[0]
    assert waits.reason == "PartitionConfig"


@pytest.mark.parametrize("bound", ["MaxCPUsPerNode=4", "MaxCPUsPerSocket=2"])
def test_jobs_of_a_partition_have_so_many_cpus_of_a_node_together(bound):
    small, allowed = "-N1 -n3 -t5 --mem=10", {"partition": bound}
    assert together(small, small, small)
    assert not together(small, small, small, **allowed)
    assert together(small, small, f"{small} -pq", f"{small} -pq", **allowed)
    assert refusal("-N1 -n5 -t1 --mem=10", **allowed) == "Requested node configuration is not available"
    assert had("-n7 -t1 --mem=10", **allowed)[0] == (4, 3)


@pytest.mark.parametrize(
    ("bound", "tasks", "cores"),
    [("MaxCPUsPerNode=4", 5, (4, 1)), ("MaxCPUsPerNode=3", 5, (3, 2)), ("MaxCPUsPerSocket=4", 4, (2, 2))],
)
def test_a_partition_bounds_the_cpus_of_tasks_where_these_leave_threads_idle(bound, tasks, cores):
    bounded = {"partition": bound, "node": "Sockets=1 CoresPerSocket=4 ThreadsPerCore=2 RealMemory=8000"}
    assert had(f"-n{tasks} --threads-per-core=1 -t1 --mem=10", **bounded)[0] == cores
    assert not together("-N2 --ntasks-per-node=2 --threads-per-core=1 -t5 --mem=10", "-n1 -t5 --mem=10", **bounded)


def test_backfill_plans_with_the_cpus_that_a_partitions_jobs_may_have():
    words = ("-N2 -n6 -t5 --mem=10", "-N1 -n3 -t9 --mem=10", "-N1 -n8 -t9 --mem=10 -pq")
    _, later, _ = jobs(*words, partition="MaxCPUsPerNode=3", until=40)
    assert later.planned_start == pytest.approx(300, abs=5)


@pytest.mark.parametrize(("version", "nodes"), [("22.05", 2), ("24.11", 1)])
def test_least_loaded_nodes_have_a_task_each(version: str, nodes: int) -> None:
    few = "-n1 -t1 --mem=10"
    assert sum(map(bool, had(few, partition="MinNodes=2", version=version)[0])) == nodes
    assert refusal(few, partition="MinNodes=2 LLN=YES", version=version) == UNAVAILABLE
    assert refusal(f"{few} --spread-job", partition="MinNodes=2", version=version) == UNAVAILABLE
    assert len(had("-n2 -t1 --mem=10", partition="MinNodes=2 LLN=YES", version=version)[0]) in (1, 2)


@pytest.mark.parametrize("version", ["22.05", "24.11", "26.05"])
def test_a_spread_job_gets_no_more_nodes_than_it_names_where_these_are_enough(version: str) -> None:
    """Recorded from Slurm 22.05: of -N1, and of two tasks that have room on the node."""
    assert [len(had(f"-N1 -wn2 {tasks} --spread-job -t1", version=version)[0]) for tasks in ("-n1", "-n2")] == [1, 1]


@pytest.mark.parametrize("version", ["22.05", "24.11"])
def test_a_spread_job_with_as_few_nodes_as_will_do_is_not_spread(version: str) -> None:
    """Recorded from Slurm 22.05."""
    for words in ("-N1-2 -n2 --spread-job", "-n2 --spread-job"):
        assert [len(had(f"{words} {more} -t1", version=version)[0]) for more in ("", "--use-min-nodes")] == [2, 1]


def test_a_spread_job_asks_for_as_many_nodes_as_it_has_tasks():
    """So a partition of fewer keeps it waiting, whether or not it would fit (recorded on 22.05)."""
    for words in ("-n2", "-n2 --spread-job"):
        (job,) = jobs(f"{words} --mem=10 -t1", partition="MaxNodes=1")
        assert job.reason == ("PartitionNodeLimit" if "spread" in words else "None")


def test_sbatch_refuses_fewer_gpus_than_nodes_before_slurmctld_any_gpus() -> None:
    conf = f"SelectType=select/linear\nGresTypes=gpu\nNodeName=n[1-2] {NODE}\nPartitionName=p Nodes=ALL Default=YES"
    told = {}
    for words in ("-N2 --gpus=1", "-N1 --gpus=1", "-N1 --gpus-per-socket=1 --sockets-per-node=1"):
        made = Controller(parse_slurm_conf(conf), [JobRequest(1, 0.0, 5.0, parse_sbatch(words.split()), "me")])
        made.run(10)
        told[words] = made.rejected[0][1].split("\n")[0]
    assert told["-N2 --gpus=1"] == "Failed to validate job spec, --gpus < -N"
    assert set(told.values()) >= {"Requested GRES option unsupported by configured SelectType plugin"}
    assert len(set(told.values())) == 2


def test_sockets_are_given_to_one_job_at_a_time():
    words = ("-n1 -t5 --mem=10", "-n5 -t5 --mem=10", "-n1 -t5 --mem=10", "-n1 -t5 --mem=10")
    assert together(*words, select="CR_Core")
    ran = jobs(*words, select="CR_Socket")
    assert [job.runs[0].allocation.units for job in ran] == [(1,), (2,), (1,), (1,)]
    assert ran[2].runs[0].start < 50 < ran[3].runs[0].start
    assert had("-n1 -t5 --mem-per-cpu=100", select="CR_Socket_Memory") == ((1,), (400,))


def test_one_task_a_core_unless_a_job_says_otherwise():
    node = NODE.replace("ThreadsPerCore=1", "ThreadsPerCore=2")
    assert had("-n4 -t1 --mem=10", node=node, select="CR_Core")[0] == (2,)
    assert had("-n4 -t1 --mem=10", node=node, select="CR_Core,CR_ONE_TASK_PER_CORE")[0] == (4,)
    assert had("-n4 -c2 -t1 --mem=10", node=node, select="CR_Core,CR_ONE_TASK_PER_CORE")[0] == (4,)
    assert had("-n4 -t1 --ntasks-per-core=2", node=node, select="CR_Core,CR_ONE_TASK_PER_CORE")[0] == (2,)


@pytest.mark.parametrize("kept", ["CoreSpecCount=2", "CpuSpecList=0,7", "CpuSpecList=2-3"])
def test_what_is_kept_for_the_system_is_not_given_to_jobs(kept):
    node = f"{NODE} {kept} MemSpecLimit=500"
    assert had("-N1 --exclusive -t1", node=node) == ((6,), (7500,))
    assert refusal("-N1 -n7 -t1 --mem=1", node=node) == "Requested node configuration is not available"
    assert refusal("-n1 -t1 --mem=7501", node=node) == "Requested node configuration is not available"
    assert "Memory specification can not be satisfied" in refusal("-n1 -t1 --mem=8001", node=node)
    larger = "NodeName=m1 Sockets=2 CoresPerSocket=4 ThreadsPerCore=1 RealMemory=16000"
    assert "Memory specification can not be satisfied" in refusal("-n1 -t1 --mem=8001 --prefer=x", lines=larger)
    assert refusal("-N1 --ntasks-per-node=8 -t1", node=node) == "Requested node configuration is not available"


@pytest.mark.parametrize(
    ("words", "lack"),
    [
        ("-n1 -c9", "CPU count per node"),
        ("-N1 --ntasks-per-node=9", "CPU count per node"),
        ("-n1 -c9 --mem=9000", "CPU count per node"),
        ("-n1 --mem=9000", "Memory specification"),
        ("-n1 --mem-per-cpu=9000", "Memory specification"),
        ("-n2 -c5 -N1", ""),
    ],
)
@pytest.mark.parametrize("select", ["CR_CPU", "CR_Core_Memory"])
def test_a_refusal_says_what_each_node_lacks(words, lack, select):
    said, _, last = refusal(f"{words} -t1", select=select).rpartition("\n")
    assert said == (f"{lack} can not be satisfied" if lack else "")
    assert last == "Requested node configuration is not available"


@pytest.mark.parametrize("words", ["-N1", "-n1", "-n4", "-N1 --mem=4500"])
def test_a_refusal_says_that_nodes_lack_cpus_for_the_memory(words):
    said = refusal(f"{words} -t1", select="CR_Core_Memory\nMaxMemPerCPU=500")
    assert said.startswith("CPU count per node can not be satisfied\n")
    assert had("-n1 --mem=4000 -t1", select="CR_Core_Memory\nMaxMemPerCPU=500")[0] == (8,)


def test_threads_of_a_core_that_is_kept_are_kept_together():
    node = NODE.replace("ThreadsPerCore=1", "ThreadsPerCore=2") + " CpuSpecList=0-2"
    assert had("-N1 --exclusive -t1", node=node)[0] == (6,)


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ("CoreSpecCount=8", "CoreSpecCount=8 leaves no CPU of 8 for jobs"),
        ("CpuSpecList=0-7", "CpuSpecList=0-7 leaves no CPU of 8 for jobs"),
        ("CpuSpecList=3-1", "CpuSpecList: '3-1' is no range of CPUs"),
        ("CpuSpecList=1 CoreSpecCount=1", "two ways to say one thing; state one"),
        ("MemSpecLimit=8000", "MemSpecLimit=8000 leaves none of 8000 MiB for jobs"),
    ],
)
def test_a_node_of_which_nothing_is_left_is_refused_with_its_line(more, why):
    with pytest.raises(InputError, match=rf"slurm.conf:9: .*{why}"):
        controller(node=f"{NODE} {more}")


@pytest.mark.slow
def test_arrays_have_bounds():
    told = "Invalid job array specification"
    assert refusal("-t1 --array=0-1000") == ""
    assert refusal("-t1 --array=1001") == told
    assert refusal("-t1 --array=10", lines="MaxArraySize=10") == told
    assert refusal("-t1 --array=9", lines="MaxArraySize=10") == ""
    assert refusal("-t1 --array=1,900", options=",max_array_tasks=2") == ""
    assert refusal("-t1 --array=1-3", options=",max_array_tasks=2") == told
    assert refusal("-t1 --array=0", lines="MaxArraySize=0") == told


def test_there_are_no_more_jobs_at_a_time_than_may_be():
    made = controller("-t1 --mem=1 --array=0-2", *["-t1 --mem=1"] * 3, run=1.9, lines="MaxJobCount=4")
    (refused,) = made.rejected
    assert (refused[0].id, refused[1]) == (3, "Slurm temporarily unable to accept job: MaxJobCount is reached")


def test_a_partition_may_be_for_reservations_only():
    assert refusal("-n1 -t1", partition="ReqResv=YES") == "Access/permission denied"
    (waits,) = jobs("-t1 -pp,q --mem=1", partition="ReqResv=YES")
    assert not waits.runs
    assert refusal("-n1 -t1 -pp,q --mem=1", partition="ReqResv=YES") == "Task count specification invalid"
    (both,) = jobs("-n1 -t1 -pq,p --mem=1", partition="ReqResv=YES")
    assert both.runs[0].partition == "q"


def test_jobs_go_to_the_alternate_of_a_partition_that_takes_none():
    for words in ("-n1 -t1", "-n1 -t1 -pp", "-n1 -t1 -pp,q"):
        (job,) = jobs(words, partition="State=DRAIN Alternate=q")
        assert [partition.name for partition in job.partitions] == ["q"]
    for more in ("", " Alternate=p"):
        assert "inactive or drain" in refusal("-n1 -t1 -pp", partition=f"State=DRAIN{more}")
    (job,) = jobs("-n1 -t1 -pp,q", partition="State=DRAIN")
    assert [partition.name for partition in job.partitions] == ["q"]
    (stays,) = jobs("-n1 -t1 -pp", partition="State=UP Alternate=q")
    assert stays.runs[0].partition == "p"


def test_more_licences_than_there_are_may_be_waited_for():
    assert refusal("-n1 -t1 -Lfoo:2") == "Invalid license specification"
    (job,) = jobs("-n1 -t1 -Lfoo:2", options=",allow_zero_lic")
    assert (job.state, job.reason) == ("PENDING", "Licenses")
    assert refusal("-n1 -t1 -Lbar:1", options=",allow_zero_lic") == "Invalid license specification"


def test_a_constraint_that_no_node_satisfies_may_be_taken_in():
    assert refusal("-n1 -t1 -Cy") == "Invalid feature specification"
    waits, passes = jobs("-n1 -t1 -Cy --mem=1", "-n1 -t1 -Cx --mem=1", options=",ignore_constraint_validation")
    assert (waits.state, waits.reason, bool(passes.runs)) == ("PENDING", "BadConstraints", True)
    assert "not available" in refusal("-N1 -n9 -t1", options=",ignore_constraint_validation")


def test_a_soft_least_limit_is_only_planned_with():
    words = ("-N1 --exclusive -t9", "-N2 --exclusive -t9", "-N1 --exclusive -t20 --time-min=2")
    hard, soft = jobs(*words)[2].runs[0], jobs(*words, options=",time_min_as_soft_limit")[2].runs[0]
    assert (hard.start, hard.limit, soft.limit) == (soft.start, 480, 1200), "the plan leaves 8 minutes"
    waiting = jobs("-N2 --exclusive -t9 --time-min=2", "-N2 --exclusive -t1", run=300, until=30)
    planned = jobs(
        *("-N2 --exclusive -t9 --time-min=2", "-N2 --exclusive -t1"),
        run=300,
        until=30,
        options=",time_min_as_soft_limit",
    )
    assert waiting[1].planned_start == pytest.approx(542, abs=5)
    assert planned[1].planned_start == pytest.approx(122, abs=5)


def test_where_only_memory_is_counted_jobs_share_cpus():
    words = ("-N1 -n8 -t5 --mem=3000", "-N1 -n8 -t5 --mem=3000", "-N1 -n8 -t9 --mem=7000", "-N1 -n1 -t2 --mem=3000")
    first, second, third, behind = [job.runs[0] for job in jobs(*words, select="CR_Memory")]
    assert first.allocation.nodes == second.allocation.nodes != third.allocation.nodes
    assert max(first.start, second.start, third.start) < 5
    assert behind.start > 50
    assert refusal("-N1 -n9 -t5 --mem=1", select="CR_Memory") == "Requested node configuration is not available"
    assert not together(*words[:3], select="CR_CPU_Memory")


def test_priorities_go_by_the_cpus_that_memory_takes():
    made = controller("-n2 -t1 --mem-per-cpu=2500", partition="MaxMemPerCPU=1000")
    (job,) = made.cluster.jobs.values()
    wanted = tres_amounts(job, job.partitions[0])
    assert (wanted["CPU"], wanted["MEM"]) == (6, 5000)


@pytest.mark.parametrize(
    ("words", "memory"),
    [
        ("-n1 --gres=gpu:2", 800),
        ("-n1 --gpus=3", 1200),
        ("-N2 -n2 --gres=gpu:2", 1600),
        ("-n3 --gpus-per-task=1", 1200),
        ("-n1 --gres=gpu:2 --mem-per-cpu=300", 300),
    ],
)
def test_priorities_go_by_the_memory_of_gpus(words: str, memory: int) -> None:
    if "--mem" not in words:
        words += " --mem-per-gpu=400"
    made = controller(f"{words} -t1")
    (job,) = made.cluster.jobs.values()
    assert tres_amounts(job, job.partitions[0])["MEM"] == memory


def test_memory_of_a_partition_by_default_stands_for_either_of_the_clusters():
    """As a real Slurm 22.05.8 gave it: DefMemPerNode of the partition, though DefMemPerCPU of the cluster is there."""
    (own, other) = jobs("-n2 -t1 -pp", "-n2 -t1 -pq", lines="DefMemPerCPU=300", partition="DefMemPerNode=1000")
    assert [sum(job.runs[0].allocation.memory) for job in (own, other)] == [1000, 600]


def test_what_a_job_depends_on_is_looked_at_before_its_nodes() -> None:
    assert refusal("-N1 --ntasks-per-node=9 -dafterok:7 -t1") == "Job dependency problem"
    assert refusal("-N1 --ntasks-per-node=9 -t1").endswith(UNAVAILABLE)


def test_memory_raises_no_cpus_of_a_job_that_is_beyond_the_time_of_its_partition() -> None:
    """As recorded on 26.05: it waits for its limit, though with the CPUs of its memory it would fit nowhere."""
    bounded = "MaxTime=30 MaxMemPerCPU=900"
    assert refusal("-N2 --ntasks-per-node=1 -t10", partition=bounded).endswith(UNAVAILABLE)
    (job,) = jobs("-N2 --ntasks-per-node=1 -t40", partition=bounded)
    assert job.reason == "PartitionTimeLimit"


@pytest.mark.parametrize(("cpus", "why"), [(8, ""), (9, UNAVAILABLE)])
def test_counts_of_features_are_waited_for_only_by_jobs_that_fit_the_first(cpus: int, why: str) -> None:
    """As asked of 24.11: whole nodes that are in use; without any in use both are refused."""
    words = f"-N1 -n1 -c{cpus} --exclusive -t1 -C[x*1&x*1]"
    assert refusal(words).endswith(UNAVAILABLE)
    made = controller("-N2 --exclusive -t1", *["-n1 --hold"] * 4, words, until=10)
    assert [said.splitlines()[-1] for _, said in made.rejected] == ([why] if why else [])


@pytest.mark.parametrize(
    ("words", "few", "goes"),
    [
        ("--gres=gpu:1", "Gres=gpu:2", True),
        ("--gres=gpu:1", "Gres=gpu:2 Weight=2", True),
        ("--gres=gpu:1", "Gres=gpu:2 Weight=3", False),
        ("--gres=gpu:1 -C x", "Gres=gpu:2", False),
        ("--gres=gpu:1", "", False),
        ("--gpus=1", "", True),
        ("--gpus=1", "Weight=3", False),
    ],
)
def test_nodes_with_most_gpus_go_first_where_nodes_that_suit_differ(words: str, few: str, goes: bool) -> None:
    """Kernels know nothing of it: it must not be said of jobs for which it makes no difference."""
    lines = f"NodeName=m[1-2] Sockets=2 CoresPerSocket=4 RealMemory=8000 {few}"
    (job,) = jobs(f"-N1 -t1 --exclusive {words}", lines=lines, version="24.11")
    assert job.wants["p"].most_gpus_first is goes
