"""What a newer version of Slurm makes of a ``slurm.conf``: keys that changed, rules that concern it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from emulator.config.slurm.enforce import enforced
from emulator.config.slurm.location import Location
from emulator.config.slurm.model import SlurmConf
from emulator.config.slurm.settings import Setting
from emulator.config.slurm.topology import BLOCK, TREE
from emulator.config.slurm.versions import KEY_CHANGES, KeyChange, Rule, all_rules
from slurm_sim_plugins.devices import SHARED
from slurm_sim_plugins.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class ChangedKey:
    """A key whose meaning is another after the upgrade.

    Attributes:
        change: what became of the key.
        locations: where the file states it; none where its default counts.
    """

    change: KeyChange
    locations: tuple[Location, ...]


@dataclass(frozen=True, slots=True)
class ChangedRule:
    """A rule that begins to hold with the upgrade.

    Attributes:
        rule: what it says.
        concerns: what of the file it concerns; empty if nothing.
    """

    rule: Rule
    concerns: str


@dataclass(frozen=True, slots=True)
class Changes:
    """What an upgrade changes for a configuration.

    Attributes:
        old: the version before.
        new: the version after.
        keys: what is stated and changes, and defaults that count and change; in the order of versions.
        rules: all rules that begin to hold.
    """

    old: str
    new: str
    keys: tuple[ChangedKey, ...]
    rules: tuple[ChangedRule, ...]


def changes(conf: SlurmConf, old: str, new: str) -> Changes:
    """What an upgrade changes for a configuration.

    Args:
        conf: the configuration.
        old: the version before, one of :data:`emulator.config.slurm.versions.RELEASES`.
        new: the version after.

    Raises:
        ConfigurationError: ``new`` is not newer.
    """
    if not old < new:
        raise ConfigurationError(f"from Slurm {old} to {new} is no upgrade: name the older version first")
    keys = (_changed(conf, change) for change in sorted(KEY_CHANGES, key=_since) if old < change.since <= new)
    rules = (ChangedRule(rule, CONCERNS[rule.name](conf)) for rule in all_rules() if old < rule.since <= new)
    return Changes(old, new, tuple(key for key in keys if key is not None), tuple(rules))


def _since(change: KeyChange) -> str:
    return change.since


def _changed(conf: SlurmConf, change: KeyChange) -> ChangedKey | None:
    """The change, where it concerns the file: a default if the key is not stated, all else if it is."""
    stated = tuple(setting.location for kind, setting in conf.entries if _is_meant(kind, setting, change))
    return ChangedKey(change, stated) if bool(stated) != (change.kind == "default") else None


def _is_meant(kind: str, setting: Setting, change: KeyChange) -> bool:
    name = f"{setting.part_of}.{setting.word.name}" if setting.part_of else setting.name
    words = setting.text.upper().split(",")
    return name == change.key and change.line in ("", kind) and (not change.value or change.value in words)


def _partitions(names: list[str]) -> str:
    return f"partition{'s' if len(names) > 1 else ''} {', '.join(names)}" if names else ""


def _least_loaded(conf: SlurmConf) -> list[str]:
    """Names of the partitions whose least loaded nodes are taken first."""
    everywhere = any(word.upper() == "CR_LLN" for word in conf.parameters.words("SelectTypeParameters"))
    return [partition.name for partition in conf.partitions if partition.lln or everywhere]


def _first_node(conf: SlurmConf) -> str:
    others = _least_loaded(conf)
    return _partitions([partition.name for partition in conf.partitions if partition.name not in others])


def _requeued(conf: SlurmConf) -> str:
    basic = conf.parameters.text("PriorityType").lower() == "priority/basic"
    return "jobs that are preempted or requeued" if basic else ""


def _newer_options(conf: SlurmConf) -> str:
    return "submissions with --tres-per-task and --segment"


def _both_ways(conf: SlurmConf) -> str:
    return "submissions with --exclusive and --oversubscribe"


def _rounds(conf: SlurmConf) -> str:
    return "starts, by less than a second"


def _sharing(conf: SlurmConf) -> str:
    several = [one for one in conf.partitions if one.oversubscribe in ("FORCE", "YES") and one.oversubscribe_jobs > 1]
    return _partitions([partition.name for partition in several])


def _own_rows(conf: SlurmConf) -> str:
    if conf.parameters.text("PreemptType").lower() != "preempt/partition_prio":
        return ""
    shared = [one for one in conf.partitions if one.oversubscribe in ("FORCE", "YES") and one.oversubscribe_jobs > 1]
    return _partitions([one.name for one in shared if one.preempt_mode == ("OFF",)])


def _updated_gres(conf: SlurmConf) -> str:
    return (
        "scontrol update Gres= of jobs that wait, and TresPerNode=, TresPerJob=, TresPerTask="
        if _has_gpus(conf)
        else ""
    )


def _updated_cpus(_: SlurmConf) -> str:
    return "scontrol update NumCPUs=N of jobs that wait"


def _sizes(conf: SlurmConf) -> str:
    parameters = conf.parameters
    alone = "slurmdbd" not in parameters.text("AccountingStorageType").lower()
    multifactor = parameters.text("PriorityType").lower() == "priority/multifactor"
    return "priorities of jobs that wait" if alone and multifactor and parameters.count("PriorityWeightJobSize") else ""


def _whole_and_shared(conf: SlurmConf) -> str:
    whole = [one.name for one in conf.partitions if one.oversubscribe == "EXCLUSIVE"]
    return _partitions(whole) if _sharing(conf) else ""


def _whole_in_vain(conf: SlurmConf) -> str:
    whole = [one for one in conf.partitions if one.oversubscribe == "EXCLUSIVE"]
    bounded = [one.name for one in whole if one.max_cpus_per_node is not None or _shares(conf)]
    return _whole_and_shared(conf) or (_partitions(bounded) if bounded else "")


def _by_tasks(conf: SlurmConf) -> str:
    others = _least_loaded(conf)
    shared = [one.name for one in conf.partitions if one.oversubscribe != "EXCLUSIVE" and one.name not in others]
    return f"{_partitions(shared)}: jobs with --ntasks-per-node" if shared else ""


def _whole_tasks(conf: SlurmConf) -> str:
    linear = conf.parameters.text("SelectType").lower() == "select/linear"
    return "" if linear else "jobs of several tasks with --cpus-per-task, where that does not divide a node's CPUs"


def _builtin(conf: SlurmConf) -> str:
    text = conf.parameters.text
    by_lists = text("SchedulerType") == "sched/builtin" and text("PriorityType") == "priority/basic"
    return "jobs after a release, a requeue or a change of priority, and tasks of arrays" if by_lists else ""


def _slots(conf: SlurmConf) -> str:
    return "" if conf.parameters.text("SchedulerType") == "sched/builtin" else "jobs that wait for nodes"


def _pools(conf: SlurmConf) -> str:
    bounded = [one.name for one in conf.partitions if one.max_cpus_per_node is not None]
    if bounded:
        return f"{_partitions(bounded)}: reservations by NodeCnt"
    ordered = len({node.weight for node in conf.nodes}) > 1 or "pack_serial_at_end" in conf.parameters.words(
        "SchedulerParameters"
    )
    return "reservations by NodeCnt" if ordered else ""


def _counted_nodes(conf: SlurmConf) -> str:
    return "reservations of a number of nodes, if any are made"


def _overlapped(conf: SlurmConf) -> str:
    return "reservations with OVERLAP, if any are made"


def _magnets(conf: SlurmConf) -> str:
    return "reservations with MAGNETIC, if any are made"


def _accounts(conf: SlurmConf) -> str:
    """Partitions for some accounts; with EnforcePartLimits=ALL they refuse in all versions."""
    if conf.parameters.text("EnforcePartLimits").upper() in ("ALL", "YES"):
        return ""
    return _partitions([one.name for one in conf.partitions if one.allow_accounts is not None or one.deny_accounts])


def _told_by_keys(conf: SlurmConf) -> str:
    """What changes is said of each key."""
    return ""


def _max_cpus(conf: SlurmConf) -> str:
    bounded = [one.name for one in conf.partitions if one.max_cpus_per_node is not None]
    return f"{_partitions(bounded)}: its first job since a start of the controller" if bounded else ""


def _backfills(conf: SlurmConf) -> bool:
    """Whether backfill is Slurm's, as it is by default."""
    return conf.parameters.text("SchedulerType").lower() in ("", "sched/backfill")


def _preferring(_: SlurmConf) -> str:
    return "jobs with --prefer"


def _preferring_arrays(conf: SlurmConf) -> str:
    return "arrays with --prefer" if _backfills(conf) else ""


def _user_parts(conf: SlurmConf) -> str:
    bounded = [one.name for one in conf.partitions if one.max_cpus_per_node is not None]
    return f"{_partitions(bounded)}: jobs of --exclusive=user" if bounded else ""


def _some_of_named(conf: SlurmConf) -> str:
    return "jobs that name more nodes than they can have"


def _tasks_on_nodes(conf: SlurmConf) -> str:
    return "jobs with both -n and --ntasks-per-node"


def _max_memory(conf: SlurmConf) -> str:
    bounded = conf.parameters.amount("MaxMemPerCPU") or any(partition.max_mem_per_cpu for partition in conf.partitions)
    return "jobs with much memory for few CPUs" if bounded else ""


def _cpus_with_gres(conf: SlurmConf) -> str:
    return "jobs with --gres and -n, and much memory for few CPUs or --mincpus" if _with_gres(conf) else ""


def _with_gres(conf: SlurmConf) -> bool:
    return any(node.gres for node in conf.nodes)


def _cpus_per_gpu(conf: SlurmConf) -> str:
    gpus = _has_gpus(conf)
    return "jobs with --cpus-per-gpu or DefCpuPerGPU" if gpus else ""


def _gpus_of_tasks(conf: SlurmConf) -> str:
    return "jobs with --gpus-per-task, or with --cpus-per-gpu and no GPUs" if _cpus_per_gpu(conf) else ""


def _stated_per_gpu(conf: SlurmConf) -> str:
    return "jobs with --cpus-per-gpu" if _cpus_per_gpu(conf) else ""


def _gpu_limits(conf: SlurmConf) -> str:
    limited = "LIMITS" in enforced(conf) and bool(_cpus_per_gpu(conf))
    return "reasons of jobs with GPUs as squeue shows them, no start" if limited else ""


def _gpu_memory(conf: SlurmConf) -> str:
    everywhere = conf.parameters.amount("DefMemPerGPU")
    return _partitions([one.name for one in conf.partitions if one.def_mem_per_gpu or everywhere])


def _no_kill(conf: SlurmConf) -> str:
    return "jobs of several nodes with --no-kill, if nodes fail"


def _overdue(conf: SlurmConf) -> str:
    return "jobs behind runs that have passed their limits"


def _core_lists(conf: SlurmConf) -> str:
    return "reservations of so many cores of each node, if any are made"


def _core_counts(conf: SlurmConf) -> str:
    return "reservations of so many cores of a number of nodes, if any are made"


def _tasks_and_gpus(conf: SlurmConf) -> str:
    return "jobs with --gpus and --ntasks on several nodes" if _has_gpus(conf) else ""


def _has_gpus(conf: SlurmConf) -> bool:
    return any(gres.name == "gpu" for node in conf.nodes for gres in node.gres)


def _near_cores(conf: SlurmConf) -> str:
    return (
        "which cores jobs get with devices that have Cores= in gres.conf"
        if any(line.cores for line in conf.gres)
        else ""
    )


def _dependent(conf: SlurmConf) -> str:
    return "jobs with afterok or afternotok of jobs that are forgotten (MinJobAge)"


def _linear(conf: SlurmConf) -> str:
    return "which nodes jobs get" if conf.parameters.text("SelectType").lower() == "select/linear" else ""


def _linear_shared(conf: SlurmConf) -> str:
    preempts = conf.parameters.text("PreemptType").lower() not in ("", "preempt/none")
    kinds = len({(node.cpus, node.real_memory) for node in conf.nodes}) > 1
    return _linear(conf) if kinds and (preempts or _sharing(conf)) else ""


def _shares(conf: SlurmConf) -> str:
    shares = any(gres.name in SHARED for node in conf.nodes for gres in node.gres)
    return "jobs with GPUs, on nodes of which others have shares" if shares else ""


def _behind_components(_: SlurmConf) -> str:
    return "jobs behind heterogeneous ones"


def _components(conf: SlurmConf) -> str:
    return "reasons of heterogeneous jobs at their limits, and of jobs that signals end"


def _limited_components(conf: SlurmConf) -> str:
    return "heterogeneous jobs beyond limits of their accounts" if "LIMITS" in enforced(conf) else ""


def _min_cpus(conf: SlurmConf) -> str:
    return "jobs with --mincpus"


def _counted_sockets(conf: SlurmConf) -> str:
    settings = [conf.parameters, *(partition.settings for partition in conf.partitions)]
    words = {word.upper() for each in settings for word in each.words("SelectTypeParameters")}
    return "jobs with --ntasks-per-node" if words & {"CR_SOCKET", "CR_SOCKET_MEMORY"} else ""


def _hints(conf: SlurmConf) -> str:
    return "jobs with --hint beside --sockets-per-node or --cores-per-socket"


def _some_licenses(conf: SlurmConf) -> str:
    return "jobs that ask for licences of one of several" if conf.parameters.numbers("Licenses") else ""


def _deadlines(conf: SlurmConf) -> str:
    return "jobs with --deadline"


def _min_nodes(conf: SlurmConf) -> str:
    bounded = [one.name for one in conf.partitions if one.min_nodes > 1]
    return f"{_partitions(bounded)}: jobs of fewer tasks than MinNodes" if bounded else ""


def _node_counts(conf: SlurmConf) -> str:
    return "jobs with a list of numbers of nodes, or a step (-N 2,4)"


def _feature_counts(conf: SlurmConf) -> str:
    return "jobs with -n and counts of features (-C '[a*2&b*1]')" if any(node.features for node in conf.nodes) else ""


def _overcommitted(conf: SlurmConf) -> str:
    return "jobs with --overcommit"


def _spread(conf: SlurmConf) -> str:
    return "jobs with --spread-job"


def _sockets(conf: SlurmConf) -> str:
    return "jobs with --ntasks-per-socket"


def _ranges(conf: SlurmConf) -> str:
    return "jobs of a range of nodes with --ntasks-per-node or --nodelist"


def _few_nodes(conf: SlurmConf) -> str:
    linear = conf.parameters.text("SelectType") == "select/linear"
    return "" if linear else "jobs that may have only so many nodes (-N, MaxNodes)"


def _by_looks(conf: SlurmConf) -> str:
    return _partitions(_least_loaded(conf))


def _time_min(conf: SlurmConf) -> str:
    return "jobs with --time-min that backfill starts" if _backfills(conf) else ""


def _cycles(conf: SlurmConf) -> str:
    return "when backfill goes round while all nodes are in use" if _backfills(conf) else ""


def _numbers_of_tasks(conf: SlurmConf) -> str:
    return "scancel by the numbers of single tasks of arrays"


def _returning(conf: SlurmConf) -> str:
    return "when jobs start on nodes that were taken down with jobs, if ReturnToService is 2"


def _reserved_access(conf: SlurmConf) -> str:
    return "updates of whose jobs a reservation is, while it has jobs"


def _flex(conf: SlurmConf) -> str:
    return "jobs behind those of FLEX reservations, if any are made"


def _named_nodes(conf: SlurmConf) -> str:
    return "jobs that name nodes beside a reservation that does not have them"


def _reasons(conf: SlurmConf) -> str:
    return "reasons of waiting jobs as squeue shows them, no start"


def _too_long(conf: SlurmConf) -> str:
    """Partitions with a limit of time or memory; with EnforcePartLimits=ALL they refuse in all versions."""
    if conf.parameters.text("EnforcePartLimits").upper() in ("ALL", "YES", "ANY"):
        return ""
    limited = [one.name for one in conf.partitions if one.max_time < float("inf") or one.max_mem_per_node]
    return f"{_partitions(limited)}: jobs that are beyond a limit and too large" if limited else ""


def _too_large(conf: SlurmConf) -> str:
    """All partitions; with EnforcePartLimits=ALL they refuse in all versions."""
    if conf.parameters.text("EnforcePartLimits").upper() in ("ALL", "YES", "ANY"):
        return ""
    return f"{_partitions([partition.name for partition in conf.partitions])}: jobs that are too large"


def _apart(conf: SlurmConf) -> str:
    nodes = {partition.name: frozenset(partition.nodes) for partition in conf.partitions}
    apart = [name for name, own in nodes.items() if any(own.isdisjoint(other) for other in nodes.values())]
    return f"{_partitions(apart)}: reasons of new jobs, no start" if apart else ""


def _late_jobs(conf: SlurmConf) -> str:
    """Whether some partitions have fewer nodes than others."""
    sizes = {len(partition.nodes) for partition in conf.partitions}
    return "jobs that name several partitions, for reservations that are over" if len(sizes) > 1 else ""


def _several(conf: SlurmConf) -> str:
    """Whether some partitions share otherwise than others."""
    ways = {(partition.oversubscribe, partition.oversubscribe_jobs) for partition in conf.partitions}
    some = any(way == "EXCLUSIVE" or (way == "FORCE" and many > 1) for way, many in ways)
    return "jobs that name several partitions" if some and len(ways) > 1 else ""


def _reserved_by_sign(conf: SlurmConf) -> str:
    return "scontrol update ReservationName= Nodes+=N and Nodes-=N"


def _first_reserved(conf: SlurmConf) -> str:
    some = any(one.requires_reservation for one in conf.partitions) and len(conf.partitions) > 1
    return "jobs that name several partitions and no reservation" if some else ""


def _updated_nodes(conf: SlurmConf) -> str:
    return "scontrol update NumNodes=N of jobs that wait"


def _updated_tasks(conf: SlurmConf) -> str:
    return "scontrol update NumTasks=N of jobs that wait"


def _exits(conf: SlurmConf) -> str:
    stated = [key for key in ("RequeueExit", "RequeueExitHold") if key in conf.parameters]
    return f"{' and '.join(stated)}: jobs that may not be requeued" if stated else ""


def _unstated_nodes(conf: SlurmConf) -> str:
    if conf.parameters.text("EnforcePartLimits").upper() not in ("ALL", "YES", "ANY"):
        return ""
    wide = _partitions([partition.name for partition in conf.partitions if partition.min_nodes > 1])
    return f"{wide}: jobs without --nodes" if wide else ""


def _limited_arrays(conf: SlurmConf) -> str:
    return "jobs behind arrays of which only so many tasks may run at once (%)" if _backfills(conf) else ""


def _tested_arrays(conf: SlurmConf) -> str:
    return "arrays in long queues (bf_max_job_test)" if _backfills(conf) else ""


def _lacked_nodes(conf: SlurmConf) -> str:
    return "jobs behind those that wait for nodes which are down (bf_max_job_test)" if _backfills(conf) else ""


def _planned_with_licenses(conf: SlurmConf) -> str:
    return "reasons of jobs that lack licences" if conf.parameters.flag("SchedulerParameters.bf_licenses") else ""


def _licensed(conf: SlurmConf) -> str:
    memory = any("MEMORY" in word.upper() for word in conf.parameters.words("SelectTypeParameters"))
    stated = conf.parameters.numbers("Licenses") and memory
    return "jobs that lack licences, and memory on nodes that they name" if stated else ""


def _new_and_licensed(conf: SlurmConf) -> str:
    return "reasons of new jobs that lack licences" if conf.parameters.numbers("Licenses") else ""


def _exclusive_user(conf: SlurmConf) -> str:
    return _partitions([partition.name for partition in conf.partitions if partition.exclusive_user])


def _grace(conf: SlurmConf) -> str:
    """Partitions that give a grace time; those of QOS are not in the file."""
    if conf.parameters.text("PreemptType").lower() == "preempt/qos":
        return "jobs of a QOS with GraceTime"
    return _partitions([partition.name for partition in conf.partitions if partition.grace_time])


def _gang(conf: SlurmConf) -> bool:
    return "GANG" in {word.upper() for word in conf.parameters.words("PreemptMode")}


def _suspending_qos(conf: SlurmConf) -> str:
    by_qos = conf.parameters.text("PreemptType").lower() == "preempt/qos"
    return "jobs that could suspend others by their QOS" if by_qos and _gang(conf) else ""


def _run_minutes(conf: SlurmConf) -> str:
    limited = "LIMITS" in enforced(conf)
    return "jobs of a QOS with MaxTRESRunMinsPerUser or MaxTRESRunMinsPerAccount" if limited else ""


def _factors(conf: SlurmConf) -> str:
    counted = "LIMITS" in enforced(conf) and conf.parameters.text("PriorityType").lower() == "priority/basic"
    return "jobs of a QOS with a UsageFactor, and those beside them, under limits on minutes" if counted else ""


def _planned_nodes(conf: SlurmConf) -> str:
    return "jobs that limits of nodes keep waiting (GrpTRES=node, MaxTRESPU=node)" if "LIMITS" in enforced(conf) else ""


def _counting_nodes(conf: SlurmConf) -> str:
    return "nodes of jobs with a limit of nodes (GrpTRES=node, MaxTRESPU=node)" if "LIMITS" in enforced(conf) else ""


def _exempt(conf: SlurmConf) -> str:
    by_partition = conf.parameters.text("PreemptType").lower() == "preempt/partition_prio"
    return "jobs that PreemptExemptTime protects, of the cluster or of a QOS" if by_partition and _gang(conf) else ""


def _turns(conf: SlurmConf) -> str:
    counted = "CR_CPU" in {
        word.upper().removesuffix("_MEMORY") for word in conf.parameters.words("SelectTypeParameters")
    }
    unbound = conf.parameters.text("TaskPlugin").lower() in ("", "task/none")
    return "jobs that stand still for others on their nodes" if _gang(conf) and counted and unbound else ""


def _switches(conf: SlurmConf) -> str:
    tree = conf.topology_conf.plugin == TREE
    return "jobs on several nodes, and which leaf switch the others get" if tree and conf.topology_conf.switches else ""


def _few_switches(conf: SlurmConf) -> str:
    return "jobs with --switches beside others" if _switches(conf) else ""


def _segments(conf: SlurmConf) -> str:
    blocks = any(topology.plugin == BLOCK for topology in (conf.topology_conf, *conf.topologies))
    return "jobs with a --segment larger than a base block" if blocks else ""


def _cleared(conf: SlurmConf) -> str:
    return "jobs that a limit kept waiting, while nodes are cleared after others" if _slots(conf) else ""


def _no_switch(conf: SlurmConf) -> str:
    tree = any(topology.plugin == TREE for topology in (conf.topology_conf, *conf.topologies))
    return "the words in which jobs are refused, no start" if tree else ""


def _power_rates(conf: SlurmConf) -> str:
    power = conf.power
    return "when nodes are powered down and resumed" if power and (power.suspend_rate or power.resume_rate) else ""


def _powered_down(conf: SlurmConf) -> str:
    """Nodes of several weights that are powered down."""
    weights = {node.weight for node in conf.nodes}
    return "which nodes that are powered down are resumed" if conf.power is not None and len(weights) > 1 else ""


def _closed(conf: SlurmConf) -> str:
    """Partitions for some groups; with EnforcePartLimits=ALL they refuse in all versions."""
    if conf.parameters.text("EnforcePartLimits").upper() in ("ALL", "YES"):
        return ""
    return _partitions([partition.name for partition in conf.partitions if partition.allow_groups is not None])


def _unknown_features(conf: SlurmConf) -> str:
    return "words of refusal of jobs with features that no node has"


def _per_socket(conf: SlurmConf) -> str:
    return "jobs of --gpus-per-socket" if _has_gpus(conf) else ""


def _first_cores(conf: SlurmConf) -> str:
    several = any(node.sockets > 1 for node in conf.nodes)
    return "which cores of several sockets jobs have, where others may have the same" if several else ""


CONCERNS: Mapping[str, Callable[[SlurmConf], str]] = {
    "FIRST_NODE_FOR_ONE": _first_node,
    "SIZES_ARE_RENEWED": _sizes,
    "REQUEUED_GO_LAST": _requeued,
    "BUILTIN_BY_NUMBERS": _builtin,
    "NEWER_OPTIONS_ARE_TAKEN": _newer_options,
    "EXCLUSIVE_IS_NOT_SHARED": _both_ways,
    "CPUS_OF_TASKS_OR_GPUS": _stated_per_gpu,
    "FEATURES_ARE_ASKED_FIRST": _unknown_features,
    "ROUNDS_ON_SECONDS": _rounds,
    "SHARED_BY_JOBS": _sharing,
    "OWN_ROWS_ARE_SHARED": _own_rows,
    "PARTITIONS_ARE_TRIED_APART": _several,
    "RANKED_BY_TASKS": _by_tasks,
    "WHOLE_TASKS_COUNT": _whole_tasks,
    "FIRST_CORES_FOR_TASKS": _first_cores,
    "SOME_OF_NAMED": _some_of_named,
    "MIN_CPUS_CHOOSE_NODES": _min_cpus,
    "TASKS_GET_THEIR_CPUS": _tasks_on_nodes,
    "NODES_GIVE_ALL_TASKS": _tasks_on_nodes,
    "ONE_TASK_WAITS_FOR_MORE": _tasks_on_nodes,
    "GRES_WANT_ALL_TASKS": _tasks_and_gpus,
    "TASKS_ASK_FOR_NODES": _tasks_on_nodes,
    "TASKS_SHARE_CPUS_OF_MEMORY": _max_memory,
    "CPUS_COME_WITH_GRES": _cpus_with_gres,
    "GPUS_GIVE_CPUS": _cpus_per_gpu,
    "TASKS_FOLLOW_GPUS": _tasks_and_gpus,
    "GPUS_OF_TASKS_BOUND_LATE": _tasks_and_gpus,
    "TASKS_OF_GPUS_LACK_CPUS": _tasks_and_gpus,
    "TASKS_OF_GPUS_HAVE_CPUS": _tasks_and_gpus,
    "DEVICES_GO_BY_CPUS": _near_cores,
    "DEVICES_GO_BY_TASKS": _near_cores,
    "LATE_JOBS_MUST_FIT": _late_jobs,
    "SOCKETS_NEED_THEIR_GPUS": _near_cores,
    "GPUS_GO_BEYOND_TASKS": _tasks_and_gpus,
    "GPUS_GO_BY_SOCKETS": _per_socket,
    "GPUS_STAY_WITH_TASKS": _tasks_and_gpus,
    "GPUS_COUNT_CPUS": _stated_per_gpu,
    "DEFAULT_GPU_MEMORY_COUNTS": _gpu_memory,
    "GPUS_SHARE_TASKS": _tasks_and_gpus,
    "TASKS_BIND_NODES_OF_GRES": _tasks_and_gpus,
    "WHOLE_NODES_BY_SIZE": _linear,
    "SHARED_NODES_BY_KINDS": _linear_shared,
    "SHARES_KEEP_GPUS": _shares,
    "RANGE_IS_FILLED": _ranges,
    "TASKS_FILL_SOCKETS": _counted_sockets,
    "SHAPES_OUTDO_HINTS": _hints,
    "LICENSES_OF_SEVERAL": _some_licenses,
    "UNKNOWN_JOBS_ARE_REFUSED": _dependent,
    "DEADLINES_LEAVE_TIME": _deadlines,
    "DEADLINES_ARE_SWEPT": _deadlines,
    "TASKS_BOUND_MIN_NODES": _min_nodes,
    "TASKS_REACH_MIN_NODES": _min_nodes,
    "UNSTATED_NODES_ARE_ONE": _unstated_nodes,
    "NODE_COUNTS_ARE_LISTED": _node_counts,
    "COUNTED_NODES_HAVE_TASKS": _feature_counts,
    "COUNTS_STAND_IN_BRACKETS": _feature_counts,
    "TASKS_BOUND_COUNTED_NODES": _feature_counts,
    "OVERCOMMITTED_ARE_PLACED": _overcommitted,
    "SPREAD_BY_WEIGHTS": _spread,
    "SPREAD_BEYOND_NAMED": _spread,
    "SOCKETS_HAVE_TASKS": _sockets,
    "MAX_CPUS_OF_OTHERS": _max_cpus,
    "MAX_CPUS_OF_OWN": _max_cpus,
    "USERS_HAVE_PARTS": _user_parts,
    "QOS_SUSPENDS_IN_TURN": _suspending_qos,
    "TURNS_BY_CORES": _turns,
    "EXEMPT_ARE_NOT_SUSPENDED": _exempt,
    "GPUS_PER_TASK_NEED_TASKS": _gpus_of_tasks,
    "RUN_MINUTES_BIND_USERS": _run_minutes,
    "MINUTES_END_WITH_FACTOR": _factors,
    "CLEAR_NODES_GO_FIRST": _cleared,
    "PLANNED_NODES_ARE_KNOWN": _planned_nodes,
    "COUNTED_NODES_GO_FIRST": _counting_nodes,
    "NO_SWITCH_IS_SAID": _no_switch,
    "NO_SWITCH_IS_NOT_SAID": _no_switch,
    "GRACE_IS_REMEMBERED": _grace,
    "GRACE_IS_FORGOTTEN": _grace,
    "LEAST_LOADED_BY_LOOKS": _by_looks,
    "SMALL_NODES_LEFT_OUT_SINGLY": _few_nodes,
    "TIME_MIN_GROWS": _time_min,
    "HEALTHY_NODES_ARE_AVAILABLE": _reasons,
    "SWITCHES_BY_CPUS": _switches,
    "SLOTS_END_ON_NEXT_STEP": _slots,
    "ENDS_OF_OWN_NODES": _slots,
    "WINDOWS_BEHIND_TRIES": _slots,
    "TRIES_GO_ON": _slots,
    "USERS_PART_BY_PLANS": _exclusive_user,
    "PLANS_FORGET_SHARING": _sharing,
    "WHOLE_PLANS_FORGET_SHARING": _whole_and_shared,
    "WHOLE_PLANS_KNOW_SHARING": _whole_in_vain,
    "PLANS_FORGET_GPUS": _shares,
    "PLANS_KNOW_GPUS": _shares,
    "PLANS_ARE_NEWS": _cycles,
    "STARTED_TASKS_ARE_TESTS": _tested_arrays,
    "UNFIT_NODES_ARE_LACKED": _lacked_nodes,
    "SWITCHES_GO_BY_FREE_CORES": _few_switches,
    "OVERDUE_RUNS_ARE_GONE": _overdue,
    "DUE_RUNS_ARE_GONE": _overdue,
    "TASKS_ARE_PLANNED_IN_TURN": _limited_arrays,
    "RESERVED_NODES_BY_SIGN": _reserved_by_sign,
    "FIRST_RESERVED_BY_TIER": _first_reserved,
    "NUM_NODES_IS_BOTH": _updated_nodes,
    "UPDATED_NODES_ARE_BOUNDS": _updated_nodes,
    "OTHERS_THAN_PREFERRED": _preferring,
    "ARRAYS_ARE_TRIED_AGAIN": _preferring_arrays,
    "UPDATED_CPUS_ARE_OF_TASKS": _updated_cpus,
    "UPDATED_GRES_REPLACE_ALL": _updated_gres,
    "UPDATED_GRES_MAY_BE_NONE": _updated_gres,
    "NUM_TASKS_ARE_CPUS": _updated_tasks,
    "LOST_SCRIPTS_ARE_MISSED": _no_kill,
    "EXITS_ARE_REQUEUED_IF_ALLOWED": _exits,
    "NODES_BEFORE_LICENSES": _licensed,
    "LACKING_LICENSES_ARE_RANKED": _new_and_licensed,
    "PLANS_SHOW_LICENSES": _planned_with_licenses,
    "PRIORITY_WHERE_NODES_OVERLAP": _apart,
    "FLEX_IS_WAITED_FOR": _flex,
    "NOT_OF_RESERVATION_WAITS": _named_nodes,
    "CORE_COUNTS_ARE_NO_LISTS": _core_lists,
    "CORES_FILL_NODES": _core_counts,
    "RESERVED_JOBS_KEEP_ACCESS": _reserved_access,
    "RESERVATIONS_TAKE_WHOLE_NODES": _pools,
    "OTHER_RESERVATIONS_ARE_SAID": _overlapped,
    "MAGNETS_OUTLAST_JOBS": _magnets,
    "FIRST_IDLE_ARE_RESERVED": _counted_nodes,
    "MAINT_NODES_ARE_TAKEN": _counted_nodes,
    "REASONS_OF_GRES_GO": _gpu_limits,
    "ACCOUNTS_SHOW_THE_CODE": _accounts,
    "ACCOUNTS_MEAN_THOSE_BELOW": _told_by_keys,
    "NUMBERS_OF_TASKS_CANCEL": _numbers_of_tasks,
    "ANSWERS_ARE_NOTED_IN_ROUNDS": _returning,
    "POWER_RATES_BY_LOOK": _power_rates,
    "POWERED_DOWN_BY_WEIGHT": _powered_down,
    "LONG_JOBS_MUST_FIT": _too_long,
    "LARGE_JOBS_MUST_FIT": _too_large,
    "LARGE_JOBS_WAIT": _too_large,
    "GROUPS_ARE_WAITED_FOR": _closed,
    "SEGMENTS_OF_BLOCKS": _segments,
    "SECOND_COMPONENT_STOPS": _behind_components,
    "COMPONENTS_STOP_NOTHING": _behind_components,
    "LIMITS_DENY_COMPONENTS": _limited_components,
    "COMPONENTS_COUNT_AS_ONE": _limited_components,
    "COMPONENTS_SHOW_THE_CODE": _components,
}
"""Of each rule what of a configuration it concerns."""
