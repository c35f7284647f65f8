"""Versions of Slurm, and in what the emulated ones differ.

A rule says what a version does otherwise than the one before: code asks ``rules.NAME``. It is here
because recordings of the versions show it, and Slurm's own documentation makes sense of it. A change of
a key says which words of a ``slurm.conf`` came, went, or got another default. ``docs/slurm-versions.md``
lists both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any

from emulator.config.slurm.releases import VERSIONS
from slurm_sim_plugins.errors import ConfigurationError

NOTES = "https://github.com/SchedMD/slurm/blob/master/CHANGELOG/slurm-{}.md"
"""Where Slurm's changes of a version are listed."""


@dataclass(frozen=True, slots=True)
class Rule:
    """In what versions differ.

    Attributes:
        name: under which code asks for it.
        since: the first version in which it holds.
        says: what holds.
        before: what held before.
        source: what Slurm's documentation says of it.
        recordings: what shows it.
    """

    name: str
    since: str
    says: str
    before: str
    source: str
    recordings: tuple[str, ...]


def _rule(since: str, says: str, before: str, source: str, *recordings: str) -> Any:
    return field(metadata={"rule": Rule("", since, says, before, source, recordings)})


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of a version: whether each of them holds."""

    FIRST_NODE_FOR_ONE: bool = _rule(
        "26.05",
        "a job of -N1 or -n1, of no more tasks than --ntasks-per-node, or of a partition with MaxNodes=1, gets the "
        "first node that has room for it, by weight and then in the order of the file; "
        "GPUs of nodes that were looked at before count for a job of --gpus, which may get fewer, or, where they have "
        "types, waits for ever",
        "it gets a node of the tightest set of neighbours that suffices, and there the one with least to spare",
        "release notes of 26.05: an optimized single-node path through the scheduling logic",
        *("26.05/d4_deps", "26.05/g_a12_bestfit", "26.05/g_h6_busy_nodes", "26.05/g_h6_busy_nodes_off"),
        *("gpus_of_nodes_before_26", "typed_gpus_before_26"),
    )
    SIZES_ARE_RENEWED: bool = _rule(
        "24.11",
        "priority/multifactor counts jobs with the CPUs with which they were planned from the end of each "
        "PriorityCalcPeriod on, also without accounting storage",
        "without accounting storage they keep their numbers until something else changes them",
        "not named in the release notes; Slurm's sources of 24.11 have it",
        *("size_renewed_24", "size_renewed_26"),
    )
    REQUEUED_GO_LAST: bool = _rule(
        "24.11",
        "a job that is requeued gets a new number under priority/basic, lower than those of all others",
        "it keeps its number",
        "not named in the release notes",
        *("requeue_number_22", "requeue_number_24", "requeue_number_26"),
    )
    BUILTIN_BY_NUMBERS: bool = _rule(
        "24.11",
        "sched/builtin takes jobs by their numbers under priority/basic, too",
        "where partitions are of one tier, it takes jobs as they lie in the controller's list: a release, a requeue or "
        "a new number moves none, and what is left of an array when a task starts goes to the end; what is left of the "
        "partitions of a job that has started in one of several is tried with the job behind it, which moves there, "
        "also if it may not start yet",
        "not named in the release notes",
        *("builtin_fifo_22", "fifo_not_ready_22", "builtin_fifo_26"),
    )
    NEWER_OPTIONS_ARE_TAKEN: bool = _rule(
        "24.11",
        "sbatch takes --tres-per-task and --segment",
        "it takes neither",
        "sbatch says it",
        *("unknown_options_22", "gpus_of_tasks_24", "blocks_24"),
    )
    EXCLUSIVE_IS_NOT_SHARED: bool = _rule(
        "24.11",
        "sbatch refuses --exclusive beside --oversubscribe",
        "it takes both",
        "not named in the release notes; sbatch says it",
        *("unasked_memory_22", "unasked_memory_24", "unasked_memory_26"),
    )
    CPUS_OF_TASKS_OR_GPUS: bool = _rule(
        "24.11",
        "sbatch refuses --cpus-per-gpu beside --cpus-per-task in words of its own, before --exclusive and arrays",
        "they are an invalid request for generic resources",
        "not named in the release notes; 15 submissions to each of three versions show it",
        *("cpus_of_tasks_or_gpus-22.05", "cpus_of_tasks_or_gpus-24.11", "cpus_of_tasks_or_gpus-26.05"),
    )
    FEATURES_ARE_ASKED_FIRST: bool = _rule(
        "24.11",
        "a job that names features which no node has is refused for that before its partition, its nodes and its "
        "limits are looked at",
        "these are looked at first",
        "not named in the release notes; questions to each of three versions show it",
        *("refusals_in_turn-22.05", "refusals_in_turn-24.11", "refusals_in_turn-26.05"),
    )
    ROUNDS_ON_SECONDS: bool = _rule(
        "24.11",
        "the controller's loop, which makes the passes, goes round at each full second",
        "it rests for a second in each round, which takes a little longer",
        "not named in the release notes; the controller's log shows the passes",
        *("end_in_turn_26", "end_in_turn_22"),
    )
    SHARED_BY_JOBS: bool = _rule(
        "24.11",
        "a job that does not share goes to no nodes with jobs of another partition that do share",
        "it goes to no nodes with jobs of another partition in which jobs may share",
        "not named in the release notes",
        *("shared_beside_alone_22", "shared_beside_alone_24", "shared_beside_alone_26"),
    )
    OWN_ROWS_ARE_SHARED: bool = _rule(
        "24.11",
        "with preempt/partition_prio jobs of a partition with PreemptMode=OFF share cores with each other, as far as "
        "its OverSubscribe says",
        "they do not",
        "not named in the release notes; a dozen questions to each of three versions show it",
        *("own_rows-22.05", "own_rows-24.11", "own_rows-26.05"),
    )
    PARTITIONS_ARE_TRIED_APART: bool = _rule(
        "24.11",
        "what a partition makes of a job in several, which it does not start, does not hold in the others",
        "once it was tried where whole nodes are given (EXCLUSIVE), or where jobs have to share (FORCE), it gets whole "
        "nodes or shares in the others, too, and whole nodes also once the partition gives these no more",
        "not named in the release notes; Slurm's sources of 24.11 have it",
        *("alone_in_several_22", "share_in_several_22", "tried_apart_24"),
        *("exclusive_taken_back_22", "exclusive_taken_back_24"),
    )
    RANKED_BY_TASKS: bool = _rule(
        "24.11",
        "as nodes are compared, one counts with the CPUs of as many tasks as --ntasks-per-node allows there; so of "
        "nodes with room for them the first is taken; not for whole nodes, nor with CR_LLN or LLN",
        "it counts with all CPUs that are free, so that the node with least to spare is taken",
        "not named in the release notes; 28 questions to each of two versions show it",
        *("first_for_tasks_24", "first_for_tasks_22"),
    )
    WHOLE_TASKS_COUNT: bool = _rule(
        "24.11",
        "a node counts with the CPUs of as many tasks of --cpus-per-task as have room on it; so -n3 -c5 on nodes of 8 "
        "CPUs gets three of them, and -N2 -n3 -c5 is refused",
        "it counts with all CPUs that are free, unless GPUs or other GRES are asked for: -n3 -c5 gets two nodes, of "
        "which one has two tasks on 8 CPUs",
        "not named in the release notes; 115 questions to each of three versions show it",
        *("whole_tasks_22", "whole_tasks_24", "whole_tasks_26"),
    )
    FIRST_CORES_FOR_TASKS: bool = _rule(
        "24.11",
        "a job gets, of the cores that are free on a node, the first ones that are those of whole tasks, of as "
        "many as --ntasks-per-node says; so it fills a socket before it goes to another",
        "it gets those of a socket that has all of a task, wherever that is, and those of tasks of one CPU go "
        "round the sockets",
        "not named in the release notes; questions to each of three versions show it",
        *("gang_sockets_24", "cores_of_tasks_22", "cores_of_tasks_24"),
    )
    SOME_OF_NAMED: bool = _rule(
        "24.11",
        "a job that names more nodes (-w) than it can have, by -N or its tasks, gets some of them, whichever fit best",
        "with -N it is refused; one of fewer tasks must have the first of them, and waits while they are busy",
        "not named in the release notes; 18 questions to each of two versions show it",
        *("named_nodes-22.05", "named_nodes-24.11"),
    )
    MIN_CPUS_CHOOSE_NODES: bool = _rule(
        "24.11",
        "--mincpus says which nodes a job may have: -n2 --mincpus=4 gets two CPUs of a node that has four",
        "it gets so many CPUs on each of its nodes",
        "not named in the release notes; 240 questions to each of three versions show it",
        *("tasks_on_nodes-22.05", "tasks_on_nodes-24.11", "tasks_on_nodes-26.05"),
    )
    TASKS_GET_THEIR_CPUS: bool = _rule(
        "24.11",
        "-n5 --ntasks-per-node=3 gets CPUs for five tasks, three and two",
        "it gets CPUs for three tasks on each of two nodes",
        "not named in the release notes; 240 questions to each of three versions show it",
        *("tasks_on_nodes-22.05", "tasks_on_nodes-24.11"),
    )
    NODES_GIVE_ALL_TASKS: bool = _rule(
        "26.05",
        "-n5 --ntasks-per-node=3 gets CPUs for three tasks on each of two nodes, as it did before TASKS_GET_THEIR_CPUS",
        "it gets CPUs for five tasks",
        "not named in the release notes; 240 questions to each of three versions show it",
        *("tasks_on_nodes-24.11", "tasks_on_nodes-26.05"),
    )
    ONE_TASK_WAITS_FOR_MORE: bool = _rule(
        "26.05",
        "a job of one task that states more for a node (-n1 --ntasks-per-node=4) is taken in, and waits for Resources "
        "for ever, unless it has whole nodes",
        "it runs",
        "not named in the release notes; 25 submissions to 26.05 show it, and as many to 24.11 that they run there",
        *("one_of_more_tasks_24", "one_of_more_tasks_26"),
    )
    GRES_WANT_ALL_TASKS: bool = _rule(
        "26.05",
        "a job with GPUs or other GRES that states fewer tasks than --ntasks-per-node (-n2 --ntasks-per-node=5 "
        "--gres=gpu:1) is refused; one with -n1 and --gpus=1 waits",
        "it runs",
        "not named in the release notes; 37 questions to each of three versions show it",
        *("gpus_of_fewer_tasks-22.05", "gpus_of_fewer_tasks-24.11", "gpus_of_fewer_tasks-26.05"),
    )
    TASKS_ASK_FOR_NODES: bool = _rule(
        "24.11",
        "-n10 --ntasks-per-node=3 asks for four nodes, so that it waits for PartitionNodeLimit where MaxNodes is "
        "three, and from 26.05 on where the partition has no four",
        "it asks for one node, and is refused there",
        "not named in the release notes; 240 questions to each of three versions show it",
        *("tasks_on_nodes-22.05", "tasks_on_nodes-24.11", "tasks_on_nodes-26.05"),
    )
    TASKS_SHARE_CPUS_OF_MEMORY: bool = _rule(
        "24.11",
        "where MaxMemPerCPU is 2000, -n4 -N2 --mem=6000 gets four CPUs on each node, two for each task, as two tasks "
        "share the three that go with the memory; -c2 --mem=6000 gets three; -n14 on three nodes would share four on "
        "each, and waits for ever",
        "it gets the CPUs that go with the memory, however many tasks there are",
        "not named in the release notes; questions to each of three versions show it",
        *("max_memory-22.05", "max_memory-24.11", "max_memory-26.05", "max_memory_tasks_24", "max_memory_tasks_26"),
    )
    CPUS_COME_WITH_GRES: bool = _rule(
        "24.11",
        "a job with --gres and a number of tasks has CPUs for its memory beyond MaxMemPerCPU: -n1 --mem=16000 gets "
        "four of 4000 each",
        "it has those of its tasks and GPUs alone: one; so with --mincpus",
        "not named in the release notes; asked of each of three versions",
        *("mem_gpus_22", "mem_gpus_24", "mincpus_gpu_22"),
    )
    GPUS_GIVE_CPUS: bool = _rule(
        "24.11",
        "with --cpus-per-gpu or DefCpuPerGPU a node gives the CPUs for as many GPUs as the job may have there: "
        "of three for each, --gpus=5 gets 12 on each of two nodes with four; --gres=gpu:1 -n5 gets 3 on each of two",
        "it gets what all its GPUs and tasks want: 12 and 3 CPUs, and 5 on one node",
        "not named in the release notes; questions to each of three versions show it",
        *("cpus_per_gpu-22.05", "cpus_per_gpu-24.11", "cpus_per_gpu-26.05", "mincpus_gpu_24"),
    )
    TASKS_FOLLOW_GPUS: bool = _rule(
        "24.11",
        "a node gets as many of the tasks as go with the GPUs that it gives, if they can be dealt out evenly to all: "
        "-n6 --gpus=6 gets four CPUs on a node with four GPUs, and two on the next",
        "it gets as many as it has room for: five, and one",
        "not named in the release notes; 23 questions to each of three versions show it",
        *("tasks_of_gpus-22.05", "tasks_of_gpus-24.11", "tasks_of_gpus-26.05"),
    )
    GPUS_OF_TASKS_BOUND_LATE: bool = _rule(
        "24.11",
        "GPUs of tasks (--gpus-per-task) do not bound with how many CPUs a node counts as the one that fits best is "
        "chosen",
        "it counts with the CPUs of as many tasks as it has GPUs for, so that the one with the fewest GPUs fits best",
        "not named in the release notes; Slurm's sources of 24.11 have it",
        *("gpus_of_tasks_22", "gpus_of_tasks_24", "gpus_of_tasks_26"),
    )
    TASKS_OF_GPUS_LACK_CPUS: bool = _rule(
        "24.11",
        "a job that states no tasks but --ntasks-per-gpu, and of which these are no more than a task has CPUs "
        "(--gpus=2 --ntasks-per-gpu=1 -c2), is refused; with --gres it waits for Resources for ever",
        "it runs with the CPUs of one task",
        "not named in the release notes; nine questions to each of three versions show it",
        *("tasks_of_gpus_22", "tasks_of_gpus_24"),
    )
    TASKS_OF_GPUS_HAVE_CPUS: bool = _rule(
        "26.05",
        "such a job gets the CPUs of all its tasks",
        "it is refused (TASKS_OF_GPUS_LACK_CPUS), and before gets the CPUs of one task",
        "not named in the release notes; nine questions to each of three versions show it",
        *("tasks_of_gpus_24", "tasks_of_gpus_26"),
    )
    DEVICES_GO_BY_CPUS: bool = _rule(
        "24.11",
        "where gres.conf names the Cores= near devices, the tasks of a job are dealt out evenly to those that it wants "
        "in all, and they are taken near its cores in proportion; with --gres-flags=enforce-binding a node gives all "
        "cores for which it was chosen, also where none are named; a node with GPUs that have types gives one of those "
        "that a job wants in all, though it wants fewer than it has nodes",
        "a socket gives as many of its devices and cores as are free, and the first of them one each; a node gives no "
        "more cores than the tasks need",
        "not named in the release notes; fourteen questions to each of three versions show it",
        *("gpus_near_cores_22", "gpus_near_cores_24", "gpus_near_cores_26"),
    )
    DEVICES_GO_BY_TASKS: bool = _rule(
        "26.05",
        "where gres.conf names the Cores= near devices, a node needs cores for no more tasks than the job has: "
        "--gpus=1 -n10 on sockets of 8 cores gets 8 and 2, and --gres-flags=enforce-binding -n3 gets 3",
        "a node is chosen as if it had as many tasks as it has cores near the devices: 5 and 5 cores, and all 8",
        "not named in the release notes; questions to each of three versions show it",
        *("gpus_near_cores_24", "gpus_near_cores_26"),
    )
    LATE_JOBS_MUST_FIT: bool = _rule(
        "26.05",
        "a job for a reservation that is over is refused if only one of its partitions has as many nodes as it wants",
        "one of several partitions is put on hold, whatever these have",
        "not named in the release notes; recordings of three versions show it",
        *("late_for_reservation_24", "late_for_reservation_26"),
    )
    SOCKETS_NEED_THEIR_GPUS: bool = _rule(
        "26.05",
        "where gres.conf names the Cores= near GPUs, a job with --gpus-per-socket waits while a node has fewer of them "
        "than all sockets of its cores there are to have",
        "it starts with those that the node has",
        "not named in the release notes; questions to each of three versions show it",
        *("gpus_of_one_socket-24.11", "gpus_of_one_socket-26.05"),
    )
    GPUS_GO_BEYOND_TASKS: bool = _rule(
        "24.11",
        "a job of --gpus that states fewer tasks than its GPUs need nodes, and no number of nodes, gets as many nodes; "
        "those behind its tasks give CPUs as for a task, and none of its memory and GPUs",
        "it is refused",
        "not named in the release notes; eleven questions to each of three versions show it",
        *("gpus_beyond_tasks_22", "gpus_beyond_tasks_24"),
    )
    GPUS_GO_BY_SOCKETS: bool = _rule(
        "24.11",
        "a job of --gpus-per-socket gets as many GPUs of each socket of which it has cores, and none on a node "
        "with fewer",
        "of GPUs without types it gets as many of each core, and none on a node with fewer",
        "not named in the release notes; questions to each of three versions show it",
        *("gpus_of_sockets-22.05", "gpus_of_sockets-24.11", "gpus_of_typed_sockets-22.05"),
    )
    GPUS_STAY_WITH_TASKS: bool = _rule(
        "26.05",
        "such a job gets no more nodes than it has tasks, as it was before GPUS_GO_BEYOND_TASKS",
        "it gets as many nodes as its GPUs need",
        "not named in the release notes; eleven questions to each of three versions show it",
        *("gpus_beyond_tasks_24", "gpus_beyond_tasks_26"),
    )
    GPUS_COUNT_CPUS: bool = _rule(
        "24.11",
        "a job with --cpus-per-gpu counts with the CPUs of all its GPUs before it starts, for its priority and limits, "
        "and where it is asked whether it is larger than its partition",
        "it counts with those of its tasks",
        "not named in the release notes; Slurm's sources of 24.11 have it",
        *("gpu_cpus_22", "gpu_cpus_24"),
    )
    DEFAULT_GPU_MEMORY_COUNTS: bool = _rule(
        "26.05",
        "a job with GPUs counts for PriorityWeightTRES with the memory that DefMemPerGPU gives it",
        "it counts with DefMemPerCPU or DefMemPerNode, or with all memory of its nodes where there is neither",
        "not named in the release notes; recordings show it: those of 22.05 and 24.11 are alike",
        *("gpu_memory_22", "gpu_memory_26"),
    )
    GPUS_SHARE_TASKS: bool = _rule(
        "24.11",
        "where tasks can be dealt out evenly to the GPUs that a job wants in all (-n4 --gpus=2), or have some "
        "each, a node counts with their CPUs at most, so that of nodes with room for all the first is taken",
        "it counts with all CPUs that are free, so that the node with least to spare is taken",
        "not named in the release notes; 130 questions to each of three versions show it",
        *("first_for_gpus-22.05", "first_for_gpus-24.11"),
    )
    TASKS_BIND_NODES_OF_GRES: bool = _rule(
        "26.05",
        "a node counts with the CPUs of all of a job's tasks at most, whatever generic resources the job asks for",
        "it does so only where that follows from other options, such as -n1, or by GPUS_SHARE_TASKS",
        "not named in the release notes; 130 questions to each of three versions show it",
        *("first_for_gpus-24.11", "first_for_gpus-26.05"),
    )
    WHOLE_NODES_BY_SIZE: bool = _rule(
        "24.11",
        "select/linear looks at heavier nodes where lighter ones do not suffice, or are fewer than are welcome, and "
        "then weights do not matter any more: -N3 gets three neighbours, rather than two light nodes and another; of "
        "nodes of other sizes the largest go first, of those alike the last, where as many of the smallest do not "
        "suffice; of one weight those go first that slurm.conf names first, and any of which it says the same",
        "light nodes go first, and then others from the lowest index up",
        "not named in the release notes; 32 questions to each of three versions show it, and Slurm's sources of 24.11",
        *("linear_weights-22.05", "linear_weights-24.11", "linear_weights-26.05", "lines_22", "lines_24", "lines_26"),
        *("lines_planned_22", "lines_planned_24", "linear_kinds_24", "linear_kinds_26"),
    )
    SHARED_NODES_BY_KINDS: bool = _rule(
        "26.05",
        "select/linear looks at nodes kind by kind, as slurm.conf names them, also where jobs share them or preempt: "
        "-n5 gets two small nodes that are named first",
        "it looks at all nodes of one weight together, and gives one that suffices",
        "not named in the release notes; 150 questions to each of two versions show it",
        *("linear_shared_kinds-26.05", "linear_preempting_kinds-26.05"),
    )
    SHARES_KEEP_GPUS: bool = _rule(
        "24.11",
        "a GPU of which a job has shares (shard, mps) is not given whole",
        "it is, unless it has a type; no job gets shares of a GPU that another has whole",
        "gres.conf: a GPU can be allocated either as GPU or as shares; questions to each of three versions show it",
        *("shards-22.05", "shards-24.11", "shards-26.05", "mps-22.05", "mps-24.11", "mps-26.05"),
    )
    RANGE_IS_FILLED: bool = _rule(
        "24.11",
        "-N2-4 --ntasks-per-node=1 without -n gets as many nodes as the range allows; where --nodelist names more "
        "nodes than are needed, it gets those alone",
        "--ntasks-per-node says how many tasks there are, and it gets as many nodes at most; nodes that are named are "
        "filled up",
        "not named in the release notes; 17 questions to each of three versions show it",
        *("node_ranges-22.05", "node_ranges-24.11", "node_ranges-26.05"),
    )
    TASKS_FILL_SOCKETS: bool = _rule(
        "24.11",
        "where sockets are counted (CR_Socket), tasks of --ntasks-per-node fill a socket before they go to another",
        "they go round the sockets of a node, as other tasks do",
        "not named in the release notes; 19 questions to each of two versions show it",
        *("sockets_counted-22.05", "sockets_filled-24.11", "sockets_filled-26.05"),
    )
    SHAPES_OUTDO_HINTS: bool = _rule(
        "26.05",
        "sbatch passes over --hint beside --sockets-per-node or --cores-per-socket",
        "it goes by the hint, and passes over these",
        "not named in the release notes; 84 questions to each of three versions show it",
        *("two_hints-22.05", "two_hints-24.11", "two_hints-26.05"),
    )
    LICENSES_OF_SEVERAL: bool = _rule(
        "26.05",
        "--licenses=foo:1|bar:2 asks for licences of one of several; a job gets the first that are free",
        "it is refused",
        "not named in the release notes; 12 questions to each of two versions show it",
        *("licenses-24.11", "licenses-26.05"),
    )
    UNKNOWN_JOBS_ARE_REFUSED: bool = _rule(
        "24.11",
        "a job that depends on how a job ends (afterok, afternotok) which is not known is refused; in the emulator, "
        "which forgets none, one that was not submitted yet",
        "it is taken, and the condition counts as met or never to be",
        "not named in the release notes; Slurm's sources of 24.11 have it",
        *("unknown_job_22", "unknown_job_24", "unknown_job_26"),
    )
    DEADLINES_LEAVE_TIME: bool = _rule(
        "24.11",
        "a job whose --time or --time-min is longer than the time from its --begin to its --deadline is refused",
        "one of --time is taken, and ends as soon as it cannot be over by then; --begin does not matter",
        "not named in the release notes; 15 submissions to each of three versions show it",
        *("deadlines-22.05", "deadlines-24.11", "deadlines-26.05"),
    )
    DEADLINES_ARE_SWEPT: bool = _rule(
        "24.11",
        "a job that waits and cannot be over by its deadline any more is given up within a minute",
        "it is given up when the main loop or backfill tries it, which they do not while it is held, waits for others, "
        "or stands behind one for which its partition is kept",
        "not named in the release notes; Slurm's sources of 24.11 have it",
        *("late_22", "late_24"),
    )
    TASKS_BOUND_MIN_NODES: bool = _rule(
        "24.11",
        "a job of fewer tasks (-n) than MinNodes of its partition, which says no number of nodes, gets a node for each "
        "task at most",
        "it gets MinNodes nodes",
        "not named in the release notes; 25 questions to each of three versions show it",
        *("min_nodes-22.05", "min_nodes-24.11"),
    )
    TASKS_REACH_MIN_NODES: bool = _rule(
        "26.05",
        "such a job, and one of fewer tasks by --ntasks-per-node, is refused",
        "it is taken",
        "not named in the release notes; 25 questions to each of three versions show it",
        *("min_nodes-24.11", "min_nodes-26.05"),
    )
    UNSTATED_NODES_ARE_ONE: bool = _rule(
        "24.11",
        "with EnforcePartLimits a partition whose MinNodes is more than one refuses a job that states no number of "
        "nodes",
        "such a job gets MinNodes nodes",
        "not named in the release notes; Slurm's sources of 24.11 have it",
        *("exits_and_tasks_24", "exits_and_tasks_26"),
    )
    NODE_COUNTS_ARE_LISTED: bool = _rule(
        "24.11",
        "-N takes lists of numbers of nodes and ranges with a step, such as 2,4 and 1-6:2, of which a job gets the "
        "largest for which there are nodes",
        "sbatch refuses them",
        "not named in the release notes; 19 questions to each of two versions show it",
        *("node_counts-24.11", "node_counts-26.05"),
    )
    COUNTED_NODES_HAVE_TASKS: bool = _rule(
        "24.11",
        "a job that states its tasks and counts of features, -N3 -n3 -C '[a*2&b*1]', waits for ever, as the nodes of "
        "one count have no room for all of them; backfill keeps nodes for it, with as many CPUs of each count as it "
        "wants in all",
        "it starts",
        "not named in the release notes; 36 questions to each of two versions show it",
        *("feature_counts-24.11", "feature_counts-26.05"),
    )
    COUNTS_STAND_IN_BRACKETS: bool = _rule(
        "24.11",
        "counts of features beside other features stand in brackets, -C '[a*1&b*1]', or the job is refused",
        "outside of brackets, -C 'a*1,b', features without counts say nothing, and other nodes may be any",
        "not named in the release notes; questions to each of three versions show it",
        *("counts_without_brackets-22.05", "counts_without_brackets-24.11", "counts_without_brackets-26.05"),
    )
    TASKS_BOUND_COUNTED_NODES: bool = _rule(
        "26.05",
        "a job that states fewer tasks than it counts nodes by features, -n1 -C '[a*1&b*1]', is refused",
        "it gets the first of these nodes, as many as it has tasks; in 22.05 all of them",
        "not named in the release notes; 56 questions to each of two versions show it",
        *("counted_nodes_of_tasks-24.11", "counted_nodes_of_tasks-26.05"),
    )
    OVERCOMMITTED_ARE_PLACED: bool = _rule(
        "24.11",
        "a job with --overcommit and either --cpus-per-task or --exclusive waits for ever if not all of its tasks find "
        "CPUs of their own on its nodes",
        "one task on each node is enough",
        "not named in the release notes; 70 questions show it",
        *("overcommit-22.05", "overcommit-24.11", "overcommit-26.05"),
    )
    SPREAD_BY_WEIGHTS: bool = _rule(
        "26.05",
        "a job with --spread-job has its tasks dealt out evenly, and gets one node more of each weight that follows "
        "those of which it has enough",
        "its first nodes have most of its tasks, and it gets no more nodes than it asks for",
        "not named in the release notes; 34 questions show it",
        *("whole_and_spread-24.11", "whole_and_spread-26.05"),
    )
    SPREAD_BEYOND_NAMED: bool = _rule(
        "26.05",
        "a job with --spread-job that names nodes, and states neither their number nor tasks, gets another one if "
        "there is one",
        "it gets those that it names",
        "not named in the release notes; 41 questions to each of three versions show it",
        *("spread_named-22.05", "spread_named-24.11", "spread_named-26.05"),
    )
    SOCKETS_HAVE_TASKS: bool = _rule(
        "24.11",
        "--ntasks-per-socket=1 allows a socket of two threads a core one task",
        "it allows it a task for each thread of the core",
        "not named in the release notes; 160 questions to each of two versions show it",
        *("sockets-24.11", "sockets-26.05"),
    )
    MAX_CPUS_OF_OTHERS: bool = _rule(
        "24.11",
        "while no job of a partition has started since the controller did, those of other partitions count for its "
        "MaxCPUsPerNode and MaxCPUsPerSocket, and CoreSpecCount; so does that as it is asked whether a job could ever "
        "start",
        "only its own jobs do",
        "not named in the release notes; 25 questions show it",
        *(
            "socket_of_others-24.11",
            "max_cpus_of_others_24",
            "max_cpus_of_others_26",
            "cores_of_system_24",
            "cores_of_system_26",
        ),
    )
    MAX_CPUS_OF_OWN: bool = _rule(
        "26.05",
        "only the jobs of a partition count for its MaxCPUsPerNode, as it was before MAX_CPUS_OF_OTHERS",
        "while none has started, those of other partitions do",
        "not named in the release notes; nine questions to each of three versions show it",
        *("max_cpus_of_others_24", "max_cpus_of_others_26", "cores_of_system_24", "cores_of_system_26"),
    )
    USERS_HAVE_PARTS: bool = _rule(
        "24.11",
        "MaxCPUsPerNode gives a job of --exclusive=user a part of a node with more CPUs",
        "a node with more CPUs free than the jobs of the partition may have is of no use to such a job, as to one of "
        "--exclusive",
        "not named in the release notes; Slurm's sources of both have it",
        *("user_of_parts_22", "user_of_parts_24"),
    )
    QOS_SUSPENDS_IN_TURN: bool = _rule(
        "24.11",
        "with preempt/qos, SUSPEND and GANG a job gets cores of the jobs that it may suspend, as few as suffice "
        "in the order in which they would be preempted; by backfill also in a partition where no jobs share",
        "it gets cores of any jobs, on the first nodes, if there is one that it may suspend; where no jobs share it "
        "waits, and backfill keeps the nodes",
        "not named in the release notes; Slurm's sources of 24.11 have it",
        *("qos_suspends_24", "qos_suspends_26"),
        *("qos_suspends_unshared_22", "qos_suspends_unshared_24", "qos_suspends_unshared_26"),
    )
    TURNS_BY_CORES: bool = _rule(
        "24.11",
        "with GANG and CPUs counted, a job that stands still goes on once no other has any of its cores",
        "without a TaskPlugin it goes on once there are as many CPUs as it and the others have, whichever they are",
        "not named in the release notes; Slurm's sources of 24.11 have it",
        *("gang_cores_22", "gang_cores_24", "gang_cores_26"),
    )
    EXEMPT_ARE_NOT_SUSPENDED: bool = _rule(
        "26.05",
        "with preempt/partition_prio, SUSPEND and GANG a job that PreemptExemptTime protects is not suspended",
        "jobs of higher tiers suspend it as soon as they come",
        "26.05: PreemptExemptTime holds with PreemptMode=SUSPEND,GANG and partition_prio, too",
        *("gang_exempt_24", "gang_exempt_26"),
    )
    GPUS_PER_TASK_NEED_TASKS: bool = _rule(
        "24.11",
        "--gpus-per-task is refused where neither -n, --gpus nor a number of nodes says how many tasks there are, and "
        "--cpus-per-gpu where no GPU is asked for",
        "with --ntasks-per-node it is taken, and --cpus-per-gpu has no effect without GPUs",
        "not named in the release notes; Slurm's sources of both have it",
        *("gpu_options_22", "gpu_options_24", "gpu_options_26", "more_gpu_options_22", "more_gpu_options_24"),
    )
    RUN_MINUTES_BIND_USERS: bool = _rule(
        "24.11",
        "MaxTRESRunMinsPerUser and MaxTRESRunMinsPerAccount of a quality of service keep jobs waiting",
        "they are taken, and have no effect",
        "not named in the release notes; Slurm's sources of both have it",
        *("unlimited_minutes_22", "unlimited_minutes_24", "unlimited_minutes_26"),
    )
    MINUTES_END_WITH_FACTOR: bool = _rule(
        "26.05",
        "with priority/basic the minutes that a job may use count no more once it ends, as many as were counted at its "
        "start",
        "with priority/basic the UsageFactor of its QOS counts at its start, and not for those that go as it ends",
        "not named in the release notes",
        *("factor_given_back_22", "factor_given_back_24", "factor_given_back_26"),
    )
    CLEAR_NODES_GO_FIRST: bool = _rule(
        "24.11",
        "backfill plans a job on nodes that are being cleared only where no others of their weight do, and starts it",
        "it plans the job on the first nodes, and the job waits until these are clear",
        "not named in the release notes",
        *("record_first_22", "record_first_24"),
    )
    PLANNED_NODES_ARE_KNOWN: bool = _rule(
        "24.11",
        "of the nodes that backfill plans for later those that an account, a user or a quality of service has already "
        "count no second time against its limit of nodes",
        "all of them count, so that what would be beyond a limit until then is not planned",
        "not named in the release notes; Slurm's sources of both have it",
        *("planned_nodes_known_22", "planned_nodes_known_24", "planned_nodes_known_26"),
    )
    COUNTED_NODES_GO_FIRST: bool = _rule(
        "24.11",
        "as a job starts, nodes that count already against a limit of nodes that holds for it go before others of "
        "their line",
        "they do not",
        "not named in the release notes; seven jobs on each of three versions show it",
        *("limit_weights_22", "limit_weights_24", "limit_weights_26"),
    )
    NO_SWITCH_IS_SAID: bool = _rule(
        "24.11",
        'with topology/tree a job is refused as "Requested topology configuration is not available" where there are '
        "enough nodes of use to it, but no switch with enough CPUs below it",
        "it is refused as other jobs are for which there are no nodes",
        "not named in the release notes; 54 questions to each of three versions show it",
        *("topology_refuses-22.05", "topology_refuses-24.11"),
    )
    NO_SWITCH_IS_NOT_SAID: bool = _rule(
        "26.05",
        "a job for which no switch has enough CPUs is refused as others are for which there are no nodes",
        "with topology/tree it is refused in words of its own",
        "not named in the release notes; 54 questions to each of three versions show it",
        *("topology_refuses-24.11", "topology_refuses-26.05"),
    )
    GRACE_IS_REMEMBERED: bool = _rule(
        "24.11",
        "a job that ends by itself after a GraceTime was given to it, if only to its run before, counts as preempted: "
        "it is requeued if its mode is REQUEUE",
        "it is over, as any other",
        "not named in the release notes; Slurm's sources of 24.11 have it",
        "qos_grace_24",
    )
    GRACE_IS_FORGOTTEN: bool = _rule(
        "26.05",
        "a GraceTime that was given to an earlier run of a job counts no more",
        "the job counts as preempted once more as it ends by itself",
        "not named in the release notes",
        *("qos_grace_24", "qos_grace_26"),
    )
    LEAST_LOADED_BY_LOOKS: bool = _rule(
        "26.05",
        "as the least loaded nodes (CR_LLN, LLN) are sought, the one that is found counts with the CPUs of the one "
        "that was looked at last; so jobs of several tasks get other shares, and on unequal nodes some wait for "
        "ever, or are put on hold",
        "each node counts with its own CPUs",
        "not named in the release notes; both recordings and 81 questions show it, recordings of 24.11 do not",
        *("26.05/g_a1_pack_lln", "26.05/first/g_a1_pack_lln"),
    )
    SMALL_NODES_LEFT_OUT_SINGLY: bool = _rule(
        "24.11",
        "where a job may have only so many nodes and those that are taken first do not suffice, they are sought again "
        "without the one with fewest free CPUs, then without the next one, and so on (here up to 128, then as below)",
        "they are sought again without all nodes that have as few",
        "not named in the release notes; asked of each of three versions",
        *("few_nodes-22.05", "few_nodes-24.11", "few_nodes-26.05"),
        *("few_nodes_of_switches-24.11", "few_nodes_of_switches-26.05"),
    )
    TIME_MIN_GROWS: bool = _rule(
        "25.05",
        "a job with --time-min that backfill starts keeps as much of its limit as the plan leaves, in whole minutes",
        "its limit is the least that it would do with, even on an empty cluster",
        "25.05.3: backfill changed the specified --time of a job and incorrectly reset it to --time-min",
        "26.05/d2_timemin",
    )
    HEALTHY_NODES_ARE_AVAILABLE: bool = _rule(
        "24.11",
        "a job that waits for nodes which are drained, or kept for others, shows May_be_reserved_for_other_job",
        "it shows UnavailableNodes with their names, as if they were down",
        "24.11.2: healthy nodes are not reported as UnavailableNodes in job reason codes",
        *("24.11/g_b3_nodelists", "24.11/g_j2_res_maint_ignore", "26.05/g_b3_nodelists"),
    )
    SWITCHES_BY_CPUS: bool = _rule(
        "24.11",
        "under topology/tree a switch has enough for a job if it has the nodes and the CPUs, and of leaves that have "
        "enough the nearest is taken first; nodes that are welcome may be heavier",
        "it has enough if it has the nodes, and of such leaves the one with fewest is taken; "
        "nodes of a higher weight are taken only if there are not enough others",
        "not named in the release notes",
        *("24.11/topo_tree", "26.05/topo_tree"),
    )
    SLOTS_END_ON_NEXT_STEP: bool = _rule(
        "24.11",
        "nodes that backfill keeps for a job are kept until the next whole step of bf_resolution after its end",
        "until the last whole step before it",
        "not named in the release notes; the controller's log shows the slots",
        *("plans_and_sharing_22", "plans_and_sharing_24", "plans_and_sharing_26"),
    )
    ENDS_OF_OWN_NODES: bool = _rule(
        "26.05",
        "backfill plans a job for the end of the last run on the nodes that it is to have",
        "for the end of the last run of the window in which its nodes become free",
        "not named in the release notes; the controller's log shows the plans",
        *("ends_of_own_nodes_24", "ends_of_own_nodes_26", "same_end_24", "same_end_26"),
    )
    WINDOWS_BEHIND_TRIES: bool = _rule(
        "24.11",
        "as backfill seeks a start from a time on, windows in which ends of runs are taken together begin behind that "
        "time",
        "they begin with the end of the first run of all that has a node which the job could use",
        "not named in the release notes; the controller's log shows the plans, and Slurm's sources of 24.11 have it",
        *("windows_behind_tries_24", "windows_behind_tries_26"),
    )
    TRIES_GO_ON: bool = _rule(
        "24.11",
        "where no slot leaves nodes while a run would go on, backfill tries its job again: from the end of the second "
        "space between bounds of slots that begins behind the end of that run",
        "it does not try the job again",
        "not named in the release notes; Slurm's sources of 24.11 have it",
        *("tries_go_on_22", "tries_go_on_24"),
    )
    USERS_PART_BY_PLANS: bool = _rule(
        "24.11",
        "where users have nodes alone (ExclusiveUser, --exclusive=user) backfill plans a job for nodes that others "
        "leave until then",
        "it plans the job on nodes that it could have now",
        "not named in the release notes; the controller's log shows the plans",
        *("exclusive_user_24", "exclusive_user_26", "users_in_plans_24"),
    )
    PLANS_FORGET_SHARING: bool = _rule(
        "24.11",
        "backfill plans a job, but for one of a partition with FORCE, as if no job kept its nodes from those that "
        "share or do not; it does not start there, and the nodes are kept for it from then on",
        "it plans the job for when that job will have ended",
        "not named in the release notes; the controller's log shows the plans",
        *("plans_and_sharing_22", "plans_and_sharing_24", "plans_and_sharing_26"),
    )
    WHOLE_PLANS_FORGET_SHARING: bool = _rule(
        "24.11",
        "backfill plans a job of a partition that gives whole nodes (EXCLUSIVE) on idle cores of nodes where all jobs "
        "share, and where these do not suffice on all cores there; it does not start there, and the nodes are kept",
        "it plans the job for when its nodes will be idle",
        "Slurm's sources of 24.11 have it; the controller's log shows the plans",
        *("alone_plans_24", "alone_plans_26"),
    )
    WHOLE_PLANS_KNOW_SHARING: bool = _rule(
        "26.05",
        "backfill plans a job of a partition that gives whole nodes for when they will be idle, as it did before "
        "WHOLE_PLANS_FORGET_SHARING, and in vain for none that MaxCPUsPerNode allows fewer CPUs than its "
        "nodes have, nor for one that wants shares of GPUs, which are to be of one",
        "it plans the job on nodes where all jobs share, and on nodes that it may not have whole",
        "not named in the release notes; the controller's log shows the plans",
        *("alone_plans_24", "alone_plans_26", "bounded_whole_plans_24", "bounded_whole_plans_26"),
        *("whole_shares_in_vain_24", "whole_shares_in_vain_26"),
    )
    PLANS_FORGET_GPUS: bool = _rule(
        "24.11",
        "backfill tries a job that wants shares of GPUs (shard, mps) as if none was given whole, and one that wants "
        "whole ones as if no job had shares; it does not start there, and the nodes are kept for it from then on",
        "it does so only for later times, and where jobs are preempted",
        "not named in the release notes; the controller's log shows the plans",
        *("plans_of_shares_22", "plans_of_shares_24", "victims_of_shares_22", "victims_of_shares_24"),
    )
    PLANS_KNOW_GPUS: bool = _rule(
        "26.05",
        "plans and preemption go by which GPUs are whole, and which in shares",
        "they forget that: see PLANS_FORGET_GPUS",
        "not named in the release notes; the controller's log shows the plans",
        *("plans_of_shares_24", "plans_of_shares_26", "victims_of_shares_24", "victims_of_shares_26"),
    )
    PLANS_ARE_NEWS: bool = _rule(
        "24.11",
        "a cycle of backfill that plans any job is followed by another, bf_interval later",
        "that is so only where it keeps an idle node, or what it keeps delays a job whose nodes runs leave before; "
        "else it waits until something has changed, or a job that waits for Priority is passed over once more",
        "not named in the release notes; the controller's log shows the cycles",
        *("idle_backfill_full", "idle_backfill_full-24.11", "idle_backfill_full-26.05", "delayed_plans_22"),
    )
    STARTED_TASKS_ARE_TESTS: bool = _rule(
        "24.11",
        "a cycle of backfill that has tried bf_max_job_test jobs ends where a task of an array starts",
        "it goes on with the other tasks of the array, as it does everywhere where a task is planned",
        "not named in the release notes; the controller's log shows the cycles",
        *("tests_of_tasks_22", "tests_of_tasks_24", "tests_of_tasks_26"),
    )
    UNFIT_NODES_ARE_LACKED: bool = _rule(
        "24.11",
        "a job does not count for bf_max_job_test for which too few nodes are up that have its features, CPUs and "
        "memory",
        "it does, unless too few nodes of its partition are up, whatever these have",
        "not named in the release notes; a dozen submissions to each of three versions show it",
        *("too_few_up_22", "too_few_up_24", "too_few_fit_22", "too_few_fit_24", "too_few_fit_26"),
    )
    SWITCHES_GO_BY_FREE_CORES: bool = _rule(
        "24.11",
        "whether the nodes of a job with --switches are on few enough is asked of those that it would get now",
        "first of those that it would get if all their cores were free: it waits where these are on too many",
        "not named in the release notes; three scenarios, played on each of three versions, show it",
        *("few_switches_22", "switches_beside_22", "switches_beside_24", "switches_beside_26"),
    )
    OVERDUE_RUNS_ARE_GONE: bool = _rule(
        "24.11",
        "jobs are planned as if a run that has passed its limit was over by now, whatever OverTimeLimit and KillWait "
        "say",
        "it is planned to end once these are over, too",
        "not named in the release notes; recorded, and what the controller's log says of plans",
        *("overdue_24", "overdue_26"),
    )
    DUE_RUNS_ARE_GONE: bool = _rule(
        "26.05",
        "that is so from the second of its limit on",
        "that is so from the second behind it on",
        "not named in the release notes; what the controller's log says of plans",
        *("overdue_24", "overdue_26"),
    )
    TASKS_ARE_PLANNED_IN_TURN: bool = _rule(
        "24.11",
        "backfill keeps nodes for no more tasks of an array than may run beside those that do (--array=0-9%2)",
        "it keeps nodes for all of them, up to bf_max_job_array_resv",
        "not named in the release notes; Slurm's sources of 24.11 have it",
        *("tasks_in_turn_22", "tasks_in_turn_24"),
    )
    RESERVED_NODES_BY_SIGN: bool = _rule(
        "24.11",
        "scontrol update ReservationName=a Nodes+=n1 adds nodes to a reservation, Nodes-=n1 takes some from it",
        "both are refused",
        "not named in the release notes",
        *("reserved_by_sign_22", "reservation_changes_24"),
    )
    FIRST_RESERVED_BY_TIER: bool = _rule(
        "24.11",
        "a job of several partitions without a reservation waits for ever if the first of them by PriorityTier is for "
        "reservations alone (ReqResv)",
        "it does if the first that it names is",
        "not named in the release notes; asked of both",
        *("first_reserved_22", "first_reserved_24"),
    )
    NUM_NODES_IS_BOTH: bool = _rule(
        "24.11",
        "scontrol update NumNodes=2 says the fewest and the most nodes of a job",
        "it says the fewest; the most stay as they were",
        "not named in the release notes; what plugins of job_submit are told shows it",
        *("updates_22",),
    )
    UPDATED_NODES_ARE_BOUNDS: bool = _rule(
        "26.05",
        "scontrol update NumNodes=1-2 of a job without bounds on nodes bounds them, and it has as many as it needs",
        "it wants two",
        "not named in the release notes; three versions were asked",
        *("updated_node_bounds_24", "updated_node_bounds_26"),
    )
    OTHERS_THAN_PREFERRED: bool = _rule(
        "26.05",
        "the main loop gives a job other nodes where those that it would rather have (--prefer) are in use",
        "it leaves the partition at such a job, which shows Priority; only backfill gives it others",
        "not named in the release notes",
        *("prefer_22", "prefer_24", "prefer_26", "prefer_shares_24", "prefer_shares_26"),
        *("prefer_preempts_22", "prefer_preempts_26"),
    )
    ARRAYS_ARE_TRIED_AGAIN: bool = _rule(
        "24.11",
        "backfill tries an array with --prefer without that wish, too, once it was refused with it, as it does others",
        "it tries an array with the wish alone",
        "not named in the release notes; the controller's log shows the tries",
        *("prefer_array_22", "prefer_array_24", "prefer_array_26"),
    )
    UPDATED_CPUS_ARE_OF_TASKS: bool = _rule(
        "24.11",
        "scontrol update NumCPUs of a job that states its tasks (-n) gives it nodes with so many CPUs, of which it has "
        "those of its tasks, and with fewer it waits for ever",
        "it gets so many CPUs",
        "not named in the release notes",
        *("fewer_cpus_22", "fewer_cpus_24", "more_cpus_24", "more_cpus_26"),
    )
    UPDATED_GRES_REPLACE_ALL: bool = _rule(
        "24.11",
        "scontrol update Gres=gpu:a:1 of a job replaces all that it asks for of each node, and gres/gpu:1 is read as "
        "gres:gpu:1 is (TresPerNode, TresPerJob, TresPerTask)",
        "it replaces what is of that name and type, and gres: alone is read",
        "not named in the release notes; three versions were asked",
        *("updated_gres_22", "updated_gres_24"),
    )
    UPDATED_GRES_MAY_BE_NONE: bool = _rule(
        "26.05",
        "scontrol update Gres= of a job, also of TresPerNode, TresPerJob and TresPerTask, takes all of these away if "
        "the value is empty, counts none, or begins with no mark (gres/); GPUs of each node may be stated beside those "
        "in all",
        "such a value changes nothing, and is refused beside GPUs in all",
        "not named in the release notes; 86 updates in each of two versions show it",
        *("updated_gres_24", "updated_gres_26"),
    )
    NUM_TASKS_ARE_CPUS: bool = _rule(
        "24.11",
        "scontrol update NumTasks=2 gives a job of one CPU a task two CPUs",
        "its CPUs stay as they were: the number is for its steps",
        "not named in the release notes; Slurm's sources of 24.11 have it",
        *("exits_and_tasks_24", "exits_and_tasks_26"),
    )
    LOST_SCRIPTS_ARE_MISSED: bool = _rule(
        "26.05",
        "a job without the node of its script (--no-kill, or as a further component) goes on until it reaches "
        "its limit",
        "it fails at once",
        "not named in the release notes; recorded",
        *("no_kill_script_24", "no_kill_script_26", "het_lost_without_rest_24", "het_lost_without_rest_26"),
    )
    EXITS_ARE_REQUEUED_IF_ALLOWED: bool = _rule(
        "24.11",
        "RequeueExit and RequeueExitHold requeue no job that may not be requeued (--no-requeue, JobRequeue=0)",
        "they requeue any job",
        "not named in the release notes; Slurm's sources of 24.11 have it",
        *("exits_and_tasks_24", "exits_and_tasks_26"),
    )
    NODES_BEFORE_LICENSES: bool = _rule(
        "24.11",
        "the main loop asks whether nodes that a job names have the memory for it, and whether a limit of amounts "
        "keeps it from starting, and only then for licences; so a job that lacks both shows Resources, and holds up "
        "its partition if it wants other nodes, too, or that limit",
        "it waits for Licenses, and holds up none",
        "not named in the release notes; Slurm's sources of 24.11 have it",
        *("named_lacks_licence_22", "named_lacks_licence_24", "licence_limits_22", "licence_limits_26"),
    )
    LACKING_LICENSES_ARE_RANKED: bool = _rule(
        "24.11",
        "a new job that lacks licences shows the reason Priority if a job before it waits",
        "nothing asks whether it is the first",
        "not named in the release notes; Slurm's sources of 24.11 have it",
        *("new_lacks_licence_22", "new_lacks_licence_24"),
    )
    PLANS_SHOW_LICENSES: bool = _rule(
        "24.11",
        "with bf_licenses a job that backfill finds to lack licences shows the reason Licenses",
        "it shows what the main loop says of it",
        "not named in the release notes; Slurm's sources of 24.11 have it",
        *("planned_licences_26",),
    )
    PRIORITY_WHERE_NODES_OVERLAP: bool = _rule(
        "24.11",
        "a new job shows the reason Priority only if a job before it, by the tiers of their partitions, their numbers "
        "and their age, waits for some of the nodes of its partitions, and not for a limit of its account",
        "it does so if any job with a higher number waits, also one that shows MaxJobsPerAccount or the like",
        "24.11.0: alter scheduling of jobs at submission time",
        *("24.11/g_h5_depth_base", "24.11/first/g_h5_depth_base", "26.05/first/g_h5_depth_base"),
    )
    FLEX_IS_WAITED_FOR: bool = _rule(
        "24.11",
        "a job in a FLEX reservation that waits for nodes holds up the jobs behind it which have no reservation; the "
        "main loop gives it more nodes than the reservation has",
        "it holds up none of them in the main loop; where it needs more nodes than the reservation has, only backfill "
        "starts it, and it holds up none in its reservation either",
        "not named in the release notes",
        *("flex_large_22", "flex_waits_22", "flex_waits_24"),
    )
    NOT_OF_RESERVATION_WAITS: bool = _rule(
        "24.11",
        "a job that names nodes which its reservation does not have waits for Reservation, and keeps them; one that is "
        "larger than its reservation waits for Resources",
        "it is held when the reservation begins, with priority 0 and the reason BadConstraints, "
        "and so is one that is larger than its reservation",
        "not named in the release notes",
        *("reservation_other_nodes_22", "reservation_other_nodes_24", "larger_than_reservation_24"),
    )
    CORE_COUNTS_ARE_NO_LISTS: bool = _rule(
        "24.11",
        "scontrol refuses lists of numbers of cores (CoreCnt) or nodes of a reservation",
        "it takes them: so many cores of each node",
        "not named in the release notes; scontrol says it",
        *("cores_reserved_22", "core_lists_24"),
    )
    CORES_FILL_NODES: bool = _rule(
        "24.11",
        "a reservation of cores (CoreCnt) of a number of nodes has as many of each as it may, from the first on, but "
        "for one of each behind it",
        "it has as many of each node, as far as that may be",
        "not named in the release notes; 31 questions to each of three versions show it",
        *("cores_filled_24", "cores_filled_26"),
    )
    RESERVED_JOBS_KEEP_ACCESS: bool = _rule(
        "24.11",
        "users, accounts and groups of a reservation stay as long as it has jobs that could not use it otherwise",
        "they are changed whatever jobs it has",
        "not named in the release notes",
        *("reserved_access_22", "reserved_access_24", "reserved_access_26"),
    )
    RESERVATIONS_TAKE_WHOLE_NODES: bool = _rule(
        "24.11",
        "a reservation of so many nodes (NodeCnt) gets those that a job of as many would: none with more CPUs than "
        "MaxCPUsPerNode of its partition, those of low weight first, one alone from the end with pack_serial_at_end",
        "it gets the first nodes of the partition",
        "not named in the release notes",
        *("reservation_pool_22", "reservation_pool_24", "reservation_pool_26"),
    )
    OTHER_RESERVATIONS_ARE_SAID: bool = _rule(
        "26.05",
        "a job whose reservation others overlap, none of them for maintenance, shows Reserved_for_other_reservations",
        "it shows Reserved_for_maintenance",
        "not named in the release notes",
        *("words_of_overlaps_22", "words_of_overlaps_24", "words_of_overlaps_26"),
    )
    MAGNETS_OUTLAST_JOBS: bool = _rule(
        "26.05",
        "a reservation that draws jobs (MAGNETIC) draws none that may run beyond its end, where backfill goes by "
        "--time-min",
        "it draws them, too",
        "not named in the release notes",
        *("magnetic_short_22", "magnetic_short_24", "magnetic_short_26"),
        *("magnetic_time_min_24", "magnetic_time_min_26"),
    )
    FIRST_IDLE_ARE_RESERVED: bool = _rule(
        "26.05",
        "a reservation of so many nodes with IGNORE_JOBS gets the first without jobs, if there are so many, whatever "
        "their weights and switches",
        "it gets those that a job of as many would",
        "not named in the release notes; 64 questions to each of two versions show it",
        *("reservation_ignores_jobs_24",),
    )
    MAINT_NODES_ARE_TAKEN: bool = _rule(
        "24.11",
        "a new reservation of a number of nodes takes those of others with MAINT or OVERLAP where the rest does not "
        "suffice",
        "it takes none of these, unless it says MAINT or OVERLAP itself",
        "not named in the release notes; Slurm's sources of 24.11 have it",
        *("maint_nodes_22", "maint_nodes_26"),
    )
    REASONS_OF_GRES_GO: bool = _rule(
        "24.11",
        "a job that is below its limits as a loop tries it shows the reason of a limit on generic resources no more",
        "it shows that until it has another reason; those of limits on CPUs, nodes and jobs go in all versions",
        "not named in the release notes",
        *("whole_gpus_of_plans_22", "whole_gpus_of_plans_24"),
    )
    ACCOUNTS_SHOW_THE_CODE: bool = _rule(
        "24.11",
        "a job whose account may not use its partition shows the reason PartitionConfig",
        "its reason names the accounts that may",
        "not named in the release notes; Slurm's sources of 24.11 have it",
        *("bounds_of_partitions_22", "accounts_of_partitions_24", "accounts_of_partitions_26"),
    )
    ACCOUNTS_MEAN_THOSE_BELOW: bool = _rule(
        "24.11",
        "AllowAccounts and DenyAccounts of a partition mean accounts below those that they name, too",
        "they mean these alone",
        "named in the release notes of 23.02",
        *("accounts_below_22", "accounts_below_24", "accounts_below_26"),
    )
    NUMBERS_OF_TASKS_CANCEL: bool = _rule(
        "24.11",
        "scancel takes the number that a task of an array got when it started",
        "it knows no job of that number",
        "not named in the release notes; the controller's log shows it",
        *("scancelraw_22", "scancelraw_24", "scancelraw_26"),
    )
    ANSWERS_ARE_NOTED_IN_ROUNDS: bool = _rule(
        "24.11",
        "that a node which is taken down has answered as its jobs were to end, or ended before, is noted in every "
        "second full second",
        "it is noted at once",
        "not named in the release notes; the controller's log shows it",
        *("down_answers_24", "answers_noted_24", "answers_noted_26", "down_after_end_22", "down_after_end_24"),
    )
    POWER_RATES_BY_LOOK: bool = _rule(
        "24.11",
        "of SuspendRate and ResumeRate as much goes at once as is their share of a look's 10 seconds",
        "all of a minute may go at once",
        "not named in the release notes",
        *("power_rates_22", "power_rates_24"),
    )
    POWERED_DOWN_BY_WEIGHT: bool = _rule(
        "24.11",
        "of nodes that are powered down, which are taken after all others, those of low weight are taken first",
        "their weight does not matter",
        "not named in the release notes",
        *("power_weights_22", "power_weights_24", "power_weights_26"),
    )
    LONG_JOBS_MUST_FIT: bool = _rule(
        "24.11",
        "a job that is too long for its only partition, or wants more memory than MaxMemPerNode, is refused if that "
        "has no nodes for it (EnforcePartLimits=NO); one for a partition that is down is not",
        "such a job waits, whatever nodes it asks for; for a partition that is down it is refused",
        "not named in the release notes; 21 submissions to each of three versions show it",
        *("too_large_22", "too_large_24", "too_large_26", "too_much_memory_24", "too_much_memory_26"),
    )
    LARGE_JOBS_MUST_FIT: bool = _rule(
        "24.11",
        "a job that is larger than its only partition is refused (EnforcePartLimits=NO), if it has no more nodes than "
        "MaxNodes",
        "it waits for PartitionConfig or PartitionNodeLimit",
        "not named in the release notes; seven submissions to each of three versions show it",
        *("larger_22", "larger_24"),
    )
    LARGE_JOBS_WAIT: bool = _rule(
        "26.05",
        "a job that is larger than its only partition waits again, as it did before LARGE_JOBS_MUST_FIT, and so does "
        "one that is larger than all of several",
        "it is refused",
        "not named in the release notes; seven submissions to each of three versions show it",
        *("larger_24", "larger_26", "larger_than_several_24", "larger_than_several_26"),
    )
    GROUPS_ARE_WAITED_FOR: bool = _rule(
        "24.11",
        "a job that AllowGroups keeps from its partitions waits (EnforcePartLimits=NO), and runs where it may",
        "it is refused; if only the first of its partitions is closed, it waits for ever",
        "not named in the release notes; all three versions were played with NO, two of them with ANY and ALL",
        *("24.11/groups", "26.05/groups"),
    )
    SEGMENTS_OF_BLOCKS: bool = _rule(
        "26.05",
        "a segment (--segment) may be larger than a base block: it is placed as a job of its size; one larger than its "
        "job does not matter",
        "a job with such segments is refused",
        "not named in the release notes; 120 questions to each of two versions show it",
        *("blocks_24", "blocks_26", "segments_26"),
    )
    SECOND_COMPONENT_STOPS: bool = _rule(
        "24.11",
        "the main loop ends at a component of a heterogeneous job in a partition that was left before, so at the "
        "second one that waits; those behind it are not looked at, and keep their reasons",
        "it goes on, and those behind show Priority",
        "not named in the release notes; Slurm's sources of 24.11 have it",
        *("het_stops_24", "het_stops_26"),
    )
    COMPONENTS_STOP_NOTHING: bool = _rule(
        "26.05",
        "the main loop goes on behind such a component, as it did before SECOND_COMPONENT_STOPS",
        "it ends there",
        "not named in the release notes",
        *("het_stops_24", "het_stops_26"),
    )
    LIMITS_DENY_COMPONENTS: bool = _rule(
        "26.05",
        "a heterogeneous job is refused if one of its components is by itself beyond a limit of its association or its "
        "quality of service, also without DenyOnLimit, or if some together are beyond one on what runs: those of one "
        "quality of service, or of one association (not of those above it)",
        "it waits",
        "not named in the release notes; ten questions to each of three versions show it; 45 of components together",
        *("het_limits_22", "het_limits_24", "het_limits_26", "het_tres_26", "het_together_26"),
    )
    COMPONENTS_COUNT_AS_ONE: bool = _rule(
        "26.05",
        "a heterogeneous job counts as one for each limit on submitted jobs that its components share",
        "each of its components counts",
        "not named in the release notes; asked of each of three versions",
        *("submit_het_22", "submit_het_24", "submit_het_26", "submit_components_26", "submit_components_once_26"),
    )
    COMPONENTS_SHOW_THE_CODE: bool = _rule(
        "24.11",
        "components that end because the first one was killed at its limit show what its script ended with: "
        "NonZeroExitCode, or RaisedSignal:15 if the signal ended it, which is shown as NonZeroExitCode here; a job "
        "with a script that a signal of scancel ended shows RaisedSignal:NUMBER",
        "they show JobLaunchFailure",
        "not named in the release notes; asked of each of three versions",
        *("het_ends_22", "het_ends_24", "het_ends_26", "signals_22", "signals_24", "signals_26"),
    )


def all_rules() -> Iterator[Rule]:
    """All rules, in the order of the table."""
    for item in fields(Rules):
        stated: Rule = item.metadata["rule"]
        yield Rule(item.name, stated.since, stated.says, stated.before, stated.source, stated.recordings)


@cache
def rules_of(version: str) -> Rules:
    """The rules of a version."""
    return Rules(**{rule.name: rule.since <= version for rule in all_rules()})


@dataclass(frozen=True, slots=True)
class KeyChange:
    """What became of a key of ``slurm.conf``.

    Attributes:
        key: its name; of an option ``PARAMETER.option``.
        since: the first version in which it is so.
        kind: ``new``, ``removed``, ``default`` or ``meaning``.
        says: what is so.
        was: of a default, what it was before.
        value: which word of the value is concerned, upper case; empty for any value.
        line: on which kind of line, such as ``PartitionName``; empty for any.
    """

    key: str
    since: str
    kind: str
    says: str
    was: str = ""
    value: str = ""
    line: str = ""


TAKE_OUT = "slurmctld does not start with it: take it out"


def _new(since: str, *keys: str) -> tuple[KeyChange, ...]:
    return tuple(KeyChange(key, since, "new", "Slurm knows it from this version on") for key in keys)


def _met(since: str, *keys: str) -> tuple[KeyChange, ...]:
    """Keys that the emulated version before does not know; the versions between were not asked."""
    return tuple(KeyChange(key, since, "new", f"Slurm {since} knows it, {_before(since)} does not") for key in keys)


def _before(version: str) -> str:
    return VERSIONS[VERSIONS.index(version) - 1]


def _options(since: str, *names: str) -> tuple[KeyChange, ...]:
    return _new(since, *(f"SchedulerParameters.{name}" for name in names))


KEY_CHANGES: tuple[KeyChange, ...] = (
    KeyChange("PriorityType", "23.11", "default", "priority/multifactor where it is not stated", "priority/basic"),
    KeyChange("SelectType", "23.11", "default", "select/cons_tres where it is not stated", "select/linear"),
    KeyChange("SelectType", "23.11", "removed", "select/cons_res: say select/cons_tres", value="SELECT/CONS_RES"),
    KeyChange("AllowAccounts", "23.02", "meaning", "accounts below those that are named are meant, too"),
    KeyChange("DenyAccounts", "23.02", "meaning", "accounts below those that are named are meant, too"),
    *_new("23.02", "MaxBatchRequeue", "MaxCPUsPerSocket", "PowerDownOnIdle", "PreemptParameters"),
    *_options("23.02", "defer_batch"),
    *_options("23.11", "extra_constraints", "time_min_as_soft_limit", "max_submit_line_size"),
    *_new("24.05", "ExclusiveTopo"),
    *_options("24.11", "bf_allow_magnetic_slot", "bf_topopt_enable", "bf_topopt_iterations"),
    *_options("24.11", "ignore_constraint_validation"),
    KeyChange("SchedulerParameters.partition_job_depth", "24.11", "meaning", "the first jobs are not skipped any more"),
    KeyChange(
        *("PreemptMode", "24.11", "meaning", "GANG is for the whole cluster, not for a partition"),
        value="GANG",
        line="PartitionName",
    ),
    KeyChange("PreemptMode", "25.05", "new", "PRIORITY: a job preempts none of a higher priority", value="PRIORITY"),
    KeyChange(
        "PriorityFlags", "25.05", "new", "MAX_TRES_GRES bills generic resources beside it", value="MAX_TRES_GRES"
    ),
    *_options("25.11", "requeue_delay"),
    KeyChange("PreemptExemptTime", "26.05", "meaning", "holds with PreemptMode=SUSPEND,GANG and partition_prio, too"),
    KeyChange("ExclusiveUser", "26.05", "meaning", "Exclusive=USER is the new name"),
    KeyChange("ExclusiveTopo", "26.05", "meaning", "implies OverSubscribe=EXCLUSIVE; Exclusive=TOPO is the new name"),
    *_new("26.05", "Exclusive"),
    *_met("24.11", "CertmgrParameters", "CertmgrType", "DataParserParameters", "HashPlugin", "SuspendExcStates"),
    *_met("24.11", "RestrictedCoresPerGPU", "TLSParameters", "TLSType"),
    *_met("26.05", "CertgenParameters", "CertgenType", "CliFilterParameters", "HealthCheckTimeout", "HttpParserType"),
    *_met("26.05", "JobCompPassScript", "LicenseParameters", "MetricsAuthUsers", "MetricsParameters", "MetricsType"),
    *_met("26.05", "NamespaceType", "SlurmctldHttpAuthParameters", "SlurmdHttpAuthParameters", "UrlParserType"),
    *_met("26.05", "GresConf", "PowerAction", "Topology"),
    KeyChange("SuspendTime", "26.05", "new", "Slurm 26.05 knows it of nodes, 24.11 does not", line="NodeName"),
    KeyChange("SchedulerAuth", "24.11", "removed", TAKE_OUT),
    KeyChange("SlurmctldPlugstack", "24.11", "removed", TAKE_OUT),
    KeyChange("AccountingStorageLoc", "26.05", "removed", TAKE_OUT),
)
"""By Slurm's lists of changes (:data:`NOTES`), of what concerns scheduling; and which keys which version takes."""

GONE = (
    *("CacheGroups", "CheckpointType", "ContainerType", "FastSchedule", "JobCheckpointDir", "Layouts"),
    *("MemLimitEnforce", "MsgAggregationParams", "SchedulerPort", "SchedulerRootFilter", "SlurmdPlugstack"),
    *("SrunIOTimeout", "UseSpecResources"),
    *(f"DefaultStorage{of}" for of in ("Host", "Loc", "Pass", "Port", "Type", "User")),
)
"""Keys of older files that no emulated version starts with (asked of 22.05, 24.11 and 26.05)."""
PASSED_OVER = {"FastSchedule": "1"}
"""Values of those keys with which all of them start."""

RELEASES = tuple(sorted({*VERSIONS, *(change.since for change in KEY_CHANGES)}))
"""Versions between the emulated ones, too."""


@cache
def defaults_of(version: str) -> Mapping[str, str]:
    """Defaults of a version that are not those of the newest."""
    return {one.key: one.was for one in KEY_CHANGES if one.kind == "default" and one.since > version}


@cache
def unknown_to(version: str) -> frozenset[str]:
    """Keys that a version does not know yet, and options as ``PARAMETER.option``."""
    new = (one for one in KEY_CHANGES if one.kind == "new" and not (one.value or one.line))
    return frozenset(one.key for one in new if one.since > version)


def emulated_version(text: str) -> str:
    """The emulated version of a text such as ``24.11`` or ``24.11.5``.

    Raises:
        ConfigurationError: it is none of :data:`VERSIONS`.
    """
    version = ".".join(text.split(".")[:2])
    if version not in VERSIONS:
        raise ConfigurationError(f"Slurm {text} is not emulated; choose a slurm_version of {', '.join(VERSIONS)}")
    return version
