"""Random clusters for Slurm's timing: configuration, accounts, submissions and operators' commands of a seed.

What is written is text, from Slurm's own vocabulary. Nothing of the emulator is imported, so that a change of the
emulator cannot change the cases. Jobs are mostly within the bounds of the partition that they name, and the load is
mostly above 1: most jobs run, and queues form.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

T = TypeVar("T")
LICENSES = {"foo": 4, "bar": 2}
USERS = {"ann": "a1", "bob": "a1", "cy": "a2", "dan": "b", "eve": "b", "fay": "a2"}
"""The default account of each user."""
ACCOUNTS = {"a": "root", "a1": "a", "a2": "a", "b": "root"}
"""The account above each account."""
QOS = ("normal", "short", "cheap", "high")


class Draws(random.Random):
    """Random numbers, with the words that a generator of text needs."""

    def often(self, share: float) -> bool:
        """Whether something is the case, with this probability."""
        return self.random() < share

    def one(self, *values: T) -> T:
        """One of the values; one that stands there twice is twice as probable."""
        return values[self.randrange(len(values))]

    def some(self, share: float, *values: str) -> list[str]:
        """Each of the values with this probability, in their order."""
        return [value for value in values if self.often(share)]

    def stated(self, share: float, **choices: Sequence[object]) -> list[str]:
        """KEY=VALUE of each key with this probability."""
        return [f"{key}={self.one(*values)}" for key, values in choices.items() if self.often(share)]


@dataclass
class Kind:
    """Nodes that are alike."""

    names: list[str]
    cpus: int
    memory: int
    features: list[str]
    gpus: int
    line: str


@dataclass
class Partition:
    """A partition, its nodes and its longest limit in minutes."""

    name: str
    kinds: list[Kind]
    minutes: int
    max_nodes: int
    line: str


@dataclass
class Cluster:
    """A cluster, as far as submissions and commands have to know it."""

    kinds: list[Kind]
    partitions: list[Partition] = field(default_factory=list)
    accounts: bool = False
    memory: bool = False
    mode: str = "OFF"


def files_of(seed: int) -> dict[str, str]:
    """The files of the cluster of a seed, by name: the same seed gives the same text.

    ``slurm.conf`` and ``jobs.events`` are always there; ``gres.conf``, ``accounts``, ``accounts.dump`` and
    ``commands`` where the cluster has them.
    """
    draws = Draws(seed)
    cluster = Cluster(kinds_of(draws), accounts=draws.often(0.6))
    files = {"slurm.conf": configuration(draws, cluster)}
    if any(kind.gpus for kind in cluster.kinds) and draws.often(0.3):
        lines = [
            f"NodeName={','.join(kind.names)} Name=gpu Count={kind.gpus} File=/dev/gpu[0-{kind.gpus - 1}]"
            for kind in cluster.kinds
            if kind.gpus and "gpu:v" not in kind.line
        ]
        files |= {"gres.conf": "\n".join(lines) + "\n"} if lines else {}
    if cluster.accounts:
        files |= accounts(draws, cluster)
    reserved = draws.often(0.35)
    files["jobs.events"], ids, span = submissions(draws, cluster, reserved)
    if reserved or draws.often(0.4):
        files["commands"] = commands(draws, cluster, ids, span, reserved)
    return files


def kinds_of(draws: Draws) -> list[Kind]:
    """One to three kinds of nodes."""
    kinds = []
    typed = draws.often(0.4)
    for letter in "abc"[: draws.one(1, 2, 2, 3)]:
        sockets, cores, threads = draws.one(1, 1, 2), draws.one(1, 2, 4), draws.one(1, 1, 2)
        cpus, count = sockets * cores * threads, draws.randint(1, 5)
        memory = cpus * draws.one(500, 1000, 2000)
        features = draws.some(0.4, "x", "y", "z")
        gpus = draws.one(1, 2, 4) if draws.often(0.35) else 0
        words = [f"NodeName={letter}[1-{count}] CPUs={cpus} Sockets={sockets} CoresPerSocket={cores}"]
        words += [f"ThreadsPerCore={threads} RealMemory={memory}"]
        words += [f"Feature={','.join(features)}"] if features else []
        words += draws.stated(0.4, Weight=(1, 2, 10))
        words += draws.stated(0.1, MemSpecLimit=(100,))
        words += ["CoreSpecCount=1"] if sockets * cores > 2 and draws.often(0.08) else []
        if gpus:
            words.append(f"Gres=gpu:v:{gpus}" if typed else f"Gres=gpu:{gpus}")
        names = [f"{letter}{number}" for number in range(1, count + 1)]
        kinds.append(Kind(names, cpus, memory, features, gpus, " ".join(words)))
    return kinds


def configuration(draws: Draws, cluster: Cluster) -> str:
    """A slurm.conf; the partitions of the cluster are drawn here."""
    preempt = draws.one("none", "none", "partition_prio", "partition_prio", "qos" if cluster.accounts else "none")
    if preempt != "none":
        cluster.mode = draws.one("REQUEUE", "REQUEUE", "CANCEL", "SUSPEND,GANG", "CHECKPOINT")
    elif draws.often(0.08):
        cluster.mode = "GANG"
    lines = ["ClusterName=c", *select(draws, cluster), f"PreemptType=preempt/{preempt}", f"PreemptMode={cluster.mode}"]
    lines += ["SchedulerType=" + draws.one(*["sched/backfill"] * 6, "sched/builtin")]
    options = scheduler_parameters(draws)
    lines += [f"SchedulerParameters={','.join(options)}"] if options else []
    lines += ["GresTypes=gpu", "Licenses=" + ",".join(f"{name}:{count}" for name, count in LICENSES.items())]
    lines += priority(draws)
    if cluster.accounts:
        lines += ["AccountingStorageType=accounting_storage/slurmdbd", "AccountingStorageTRES=gres/gpu,license/foo"]
        lines += ["AccountingStorageEnforce=" + draws.one("limits,qos", "limits,qos", "safe,qos", "associations,qos")]
    lines += draws.stated(0.5, AuthInfo=("cred_expire=30",))
    lines += draws.stated(0.3, KillWait=(5, 30, 60), SchedulerTimeSlice=(5, 30, 60))
    lines += draws.stated(0.15, OverTimeLimit=(1, 5), ResvOverRun=(0, 1, 5), DefMemPerCPU=(100, 400))
    lines += draws.stated(0.15, PreemptExemptTime=("00:01:00", "00:05:00"), EnforcePartLimits=("ALL", "ANY"))
    lines += draws.stated(0.1, DependencyParameters=("kill_invalid_depend",), JobRequeue=(0,), MaxArraySize=(5,))
    parameters = [*draws.stated(0.3, reorder_count=(1, 2, 5)), *draws.some(0.25, "strict_order", "youngest_first")]
    lines += [f"PreemptParameters={','.join(parameters)}"] if parameters and preempt != "none" else []
    tiers = [1, draws.one(1, 2, 5), draws.one(1, 3), 1]
    if preempt == "partition_prio":
        tiers[1] = 5
    count = draws.one(2, 2, 3, 4) if preempt == "partition_prio" else draws.one(1, 2, 2, 3, 4)
    cluster.partitions = [partition(draws, cluster, number, tiers[number], preempt) for number in range(count)]
    return "\n".join([*lines, *(each.line for each in (*cluster.kinds, *cluster.partitions))]) + "\n"


def select(draws: Draws, cluster: Cluster) -> list[str]:
    """SelectType and what it counts."""
    if draws.often(0.15):
        cluster.memory = draws.often(0.3)
        return ["SelectType=select/linear", *(["SelectTypeParameters=CR_Memory"] if cluster.memory else [])]
    counted = draws.one("CR_Core", "CR_Core_Memory", "CR_CPU", "CR_CPU_Memory", "CR_Socket", "CR_Socket_Memory")
    cluster.memory = counted.endswith("Memory")
    words = [counted, *draws.some(0.1, "CR_LLN", "CR_ONE_TASK_PER_CORE")]
    return ["SelectType=select/cons_tres", f"SelectTypeParameters={','.join(words)}"]


def scheduler_parameters(draws: Draws) -> list[str]:
    """Options of the two loops; most clusters look ahead often, since their jobs are short."""
    words = draws.stated(0.8, bf_interval=(10, 20, 30, 30), bf_resolution=(1, 60, 300))
    words += draws.stated(0.2, bf_window=(30, 120), bf_max_job_test=(5, 20, 100), default_queue_depth=(2, 10))
    words += draws.stated(0.1, bf_max_job_part=(3,), bf_max_job_user=(2,), bf_max_job_user_part=(2,))
    words += draws.stated(0.1, bf_max_job_assoc=(2,), bf_max_job_start=(1, 3), bf_max_job_array_resv=(1,))
    words += draws.stated(0.1, bf_job_part_count_reserve=(1, 2), bf_min_age_reserve=(60, 600), bf_window_linear=(60,))
    words += draws.stated(0.1, bf_min_prio_reserve=(100,), partition_job_depth=(3,), sched_interval=(5, 20))
    words += draws.stated(0.1, sched_min_interval=(2000000,), sched_max_job_start=(1, 2), batch_sched_delay=(0, 10))
    words += draws.stated(0.1, requeue_delay=(5, 60), bf_node_space_size=(10,))
    words += draws.some(0.1, "bf_one_resv_per_job", "bf_licenses", "defer", "assoc_limit_stop", "pack_serial_at_end")
    return words + draws.some(0.1, "time_min_as_soft_limit", "allow_zero_lic", "bf_continue")


def priority(draws: Draws) -> list[str]:
    """PriorityType with weights, flags and decay."""
    if draws.often(0.35):
        return ["PriorityType=priority/basic"]
    weights = (0, 100, 1000, 10000)
    names = ("Age", "Assoc", "Fairshare", "JobSize", "Partition", "QOS")
    lines = ["PriorityType=priority/multifactor"]
    lines += [f"PriorityWeight{name}={draws.one(*weights)}" for name in names if draws.often(0.7)]
    lines += draws.stated(0.2, PriorityWeightTRES=("CPU=500,Mem=300", "CPU=1000,GRES/gpu=2000"))
    lines += draws.stated(0.3, PriorityFavorSmall=("YES",), PriorityMaxAge=("1:00:00", "0:10:00"))
    lines += draws.stated(1, PriorityDecayHalfLife=(0, "0:10:00", "0:30:00")) + draws.stated(
        0.4, PriorityCalcPeriod=(1,)
    )
    flags = [*draws.some(0.12, "ACCRUE_ALWAYS", "CALCULATE_RUNNING", "SMALL_RELATIVE_TO_TIME", "MAX_TRES", "INCR_ONLY")]
    flags += draws.one([], [], ["NO_FAIR_TREE"], ["DEPTH_OBLIVIOUS"])
    return lines + ([f"PriorityFlags={','.join(flags)}"] if flags else [])


def partition(draws: Draws, cluster: Cluster, number: int, tier: int, preempt: str) -> Partition:
    """One partition; the first is the default and has all nodes, so that most jobs fit somewhere."""
    name = f"p{number}"
    kinds = cluster.kinds if not number or draws.often(0.5) else [draws.one(*cluster.kinds)]
    minutes = draws.one(10, 30, 60, 0, 0) if number else draws.one(60, 0, 0)
    nodes = sum(len(kind.names) for kind in kinds)
    words = [f"PartitionName={name} Nodes={','.join(f'{k.names[0][0]}[1-{len(k.names)}]' for k in kinds)}"]
    words += ["Default=YES"] if not number else []
    words += [f"PriorityTier={tier} MaxTime={minutes or 'INFINITE'} State={'DOWN' if draws.often(0.005) else 'UP'}"]
    words += draws.stated(0.3, PriorityJobFactor=(1, 5, 100), DefaultTime=(5, 20))
    max_nodes = max(1, nodes - 1) if draws.often(0.2) else nodes
    words += [f"MaxNodes={max_nodes}"] if max_nodes < nodes else []
    if "GANG" in cluster.mode:
        words.append("OverSubscribe=" + draws.one("FORCE:1", "FORCE:1", "FORCE:2", "YES:2"))
    else:
        words += draws.stated(0.25, OverSubscribe=("NO", "YES:2", "FORCE:2", "EXCLUSIVE"))
    if preempt != "none":
        modes = ("OFF", "REQUEUE", "CANCEL", *(("SUSPEND",) if "GANG" in cluster.mode else ()))
        words += draws.stated(0.3, PreemptMode=modes)
        words += draws.stated(0.25, GraceTime=(20, 60, 120))
    words += draws.stated(0.08, ExclusiveUser=("YES",), LLN=("YES",), MaxCPUsPerNode=(2, 4), MinNodes=(1,))
    words += draws.stated(0.1, DefMemPerCPU=(200,), MaxMemPerCPU=(400, 800), DefCpuPerGPU=(2,), OverTimeLimit=(2,))
    words += draws.stated(0.1, TRESBillingWeights=("CPU=1.0,Mem=0.25G", "CPU=2.0,GRES/gpu=5.0"))
    if cluster.accounts:
        words += draws.stated(0.08, AllowQos=("normal,high",), DenyAccounts=("b",), QOS=("part",))
    return Partition(name, kinds, minutes, max_nodes, " ".join(words))


def accounts(draws: Draws, cluster: Cluster) -> dict[str, str]:
    """Qualities of service as a script of sacctmgr, and the tree as a script or a dump."""
    cpus = sum(kind.cpus * len(kind.names) for kind in cluster.kinds)
    half = max(2, cpus // 2)

    def limits(share: float) -> list[str]:
        words = draws.stated(share, GrpTRES=(f"cpu={half}", f"cpu={half},node=2", "gres/gpu=1"), GrpJobs=(3, 6))
        words += draws.stated(share / 2, GrpTRESMins=(f"cpu={cpus * 5}", f"cpu={cpus * 20}"), GrpSubmitJobs=(20,))
        return words + draws.stated(share / 2, GrpTRESRunMins=(f"cpu={cpus * 5}",), GrpWall=("0:30:00", "2:00:00"))

    def of_a_user(share: float) -> list[str]:
        words = draws.stated(share, MaxJobs=(2, 4), MaxTRESPerJob=(f"cpu={half}",), MaxWall=("10:00", "20:00"))
        return words + draws.stated(share / 2, MaxSubmitJobs=(8, 15), MaxTRESMins=(f"cpu={half * 8}",))

    def of_a_qos(share: float) -> list[str]:
        words = draws.stated(share, MaxJobsPerUser=(1, 3), MaxTRESPerUser=(f"cpu={half}",), MaxWall=("15:00",))
        words += draws.stated(share, MaxJobsPerAccount=(3,), UsageFactor=(0.5, 2), GraceTime=(30,))
        words += draws.stated(share / 2, MinTRES=("cpu=2",), MaxTRESPerAccount=(f"cpu={half}",), MaxSubmitJobs=(10,))
        flags = draws.some(share / 2, "DenyOnLimit", "NoReserve", "OverPartQOS", "NoDecay", "PartitionTimeLimit")
        return [*words, *limits(share / 2), *([f"Flags={','.join(flags)}"] if flags else [])]

    script = ["add cluster name=c"]
    for index, name in enumerate((*QOS[1:], "part")):
        words = [f"add qos {name} priority={draws.one(0, 10, 100) * (index + 1)}", *of_a_qos(0.2)]
        if name == "high":
            words.append("Preempt=" + draws.one("cheap", "cheap,normal", "cheap,normal,short"))
        if name in ("cheap", "short"):
            modes = ("REQUEUE", "CANCEL", "CLUSTER", *(("SUSPEND",) if "GANG" in cluster.mode else ()))
            words += draws.stated(0.4, PreemptMode=modes) + draws.stated(0.1, PreemptExemptTime=("00:02:00",))
        script.append(" ".join(words))
    tree = [(name, above, limits(0.1 if name == "a" else 0.2)) for name, above in ACCOUNTS.items()]
    users = [(name, of, of_a_user(0.12)) for name, of in USERS.items()]
    shares = {name: draws.one(1, 2, 10) for name in (*ACCOUNTS, *USERS)}
    offered = ",".join(QOS)
    if draws.often(0.5):
        script += [f"add account {name} parent={of} fairshare={shares[name]} {' '.join(w)}" for name, of, w in tree]
        script += [f"add user {name} account={of} fairshare={shares[name]} {' '.join(w)}" for name, of, w in users]
        script += [f"modify user {name} set qos={offered}" for name in USERS]
        script += ["add user ann account=b"] if draws.often(0.5) else []
        return {"accounts": "\n".join(script) + "\n"}
    dump = ["Cluster - 'c':Fairshare=1:QOS='normal'"]
    for above in ("root", *ACCOUNTS):
        dump += [f"Parent - '{above}'"]
        dump += ["User - 'root':DefaultAccount='root'"] if above == "root" else []
        dump += [f"Account - '{name}':Fairshare={shares[name]}{quoted(w)}" for name, of, w in tree if of == above]
        dump += [
            f"User - '{name}':DefaultAccount='{of}':Fairshare={shares[name]}:QOS='{offered}'{quoted(w)}"
            for name, of, w in users
            if of == above
        ]
    return {"accounts": "\n".join(script) + "\n", "accounts.dump": "\n".join(dump) + "\n"}


def quoted(words: list[str]) -> str:
    """:KEY='VALUE' of each, as a dump writes what may hold a colon or a comma."""
    return "".join(":{}='{}'".format(*word.split("=", 1)) for word in words)


def submissions(draws: Draws, cluster: Cluster, reserved: bool) -> tuple[str, list[int], float]:
    """Submission events, the ids of the jobs, and the seconds that all work would take on the whole cluster."""
    cpus = sum(kind.cpus * len(kind.names) for kind in cluster.kinds)
    jobs, work = [], 0.0
    for number in range(1, draws.randint(30, 45) + 1):
        words, seconds, size = submission(draws, cluster, number, reserved)
        work += seconds * size
        jobs.append((words, seconds))
    span = work / cpus / draws.one(0.8, 1.2, 2, 4)
    lines, ids, at = [], [], 0.0
    burst = draws.one(1, 1, 5)
    for number, (words, seconds) in enumerate(jobs, 1):
        if not number % burst:
            at += draws.expovariate(len(jobs) / max(span, 1.0)) * burst
        ids.append(10 * number)
        ends = "-1" if draws.often(0.02) and " -t " in words else f"{seconds:.2f}"
        user = draws.one(*USERS)
        words = f"-jid {ids[-1]} -sim-walltime {ends} --uid={user} {words}"
        lines.append(f"-dt {at:.2f} -e submit_batch_job | {words} job.sh")
    return "\n".join(lines) + "\n", ids, span


def submission(draws: Draws, cluster: Cluster, number: int, reserved: bool) -> tuple[str, float, int]:
    """What one job asks for, how many seconds it works, and on how many CPUs."""
    where = draws.sample(cluster.partitions, 2 if len(cluster.partitions) > 1 and draws.often(0.12) else 1)
    words = [f"-J j{draws.randint(1, 9)}", f"-p {','.join(p.name for p in where)}"]
    words = words[:1] if draws.often(0.1) else words
    inside = where if len(words) > 1 else [cluster.partitions[0]]
    kind = draws.one(*min((p.kinds for p in inside), key=len))
    nodes = min(len(kind.names), *(p.max_nodes for p in inside), draws.one(1, 1, 1, 2, 3))
    tasks = draws.randint(1, max(1, kind.cpus * nodes))
    each = draws.one(1, 1, 2) if kind.cpus * nodes >= 2 * tasks else 1
    words += [f"-n {tasks}"] + ([f"-c {each}"] if each > 1 else [])
    words += [f"-N {draws.one(str(nodes), str(nodes), f'1-{nodes}')}"] if draws.often(0.4) and tasks >= nodes else []
    if draws.often(0.5 if cluster.memory else 0.1):
        per_cpu = kind.memory // kind.cpus
        amount = max(1, int(per_cpu * draws.one(0.2, 0.5, 0.8)))
        per_node = min(kind.memory // 2, amount * kind.cpus)
        words.append(draws.one(f"--mem-per-cpu={amount}", f"--mem={per_node}", "--mem=0" if draws.often(0.1) else ""))
    gpus = [k for p in inside for k in p.kinds if k.gpus]
    if gpus and draws.often(0.3):
        typed = "v:" if "gpu:v" in gpus[0].line and draws.often(0.5) else ""
        count = draws.randint(1, gpus[0].gpus)
        words = [word for word in words if not word.startswith(("-n ", "-c ", "-N "))]
        words += [f"-n 1 --gres=gpu:{typed}{count}" if draws.often(0.8) else f"-n 1 --gpus={typed}{count}"]
        tasks, each = 1, 1
    elif kind.features and draws.often(0.15):
        words.append("-C " + draws.one(kind.features[0], "|".join(kind.features), "&".join(kind.features)))
    words += draws.some(
        0.05, draws.one("--exclusive", "--exclusive=user"), "--oversubscribe", "--ntasks-per-node=1", "--no-requeue"
    )
    words += [f"-L {draws.one('foo:1', 'foo:2', 'bar:1', 'foo:3,bar:1')}"] if draws.often(0.12) else []
    words += [f"-w {draws.one(*kind.names)}"] if draws.often(0.03) and nodes == 1 else []
    words += [f"-x {draws.one(*kind.names)}"] if draws.often(0.04) else []
    longest = min((p.minutes or 90 for p in inside), default=90)
    minutes = draws.randint(1, min(longest, 30 if draws.often(0.15) else 6))
    words += [f"-t {minutes}"] if draws.often(0.93) else []
    words += [f"--time-min={max(1, minutes // 2)}"] if draws.often(0.05) else []
    words += ["--hold"] if draws.often(0.02) else []
    words += [f"--begin=now+{draws.randint(10, 900)}"] if draws.often(0.05) else []
    words += [f"--deadline=now+{minutes + draws.randint(5, 60)}minutes"] if draws.often(0.04) else []
    words += [f"--nice={draws.one(1, 100, -10)}"] if draws.often(0.06) else []
    words += [f"--priority={draws.randint(1, 5000)}"] if draws.often(0.02) else []
    words += [f"--array=0-{draws.randint(1, 4)}{draws.one('', '%1', '%2')}"] if draws.often(0.06) else []
    if number > 3 and draws.often(0.08):
        kinds = ("afterok", "afterany", "after", "afternotok", "singleton", "aftercorr")
        how = draws.one(*kinds)
        words.append("-d " + (how if how == "singleton" else f"{how}:{10 * draws.randint(number - 3, number - 1)}"))
    if cluster.accounts:
        words += [f"--qos={draws.one(*QOS)}"] if draws.often(0.6) else []
        words += [f"--account={draws.one('a1', 'b')}"] if draws.often(0.04) else []
    words += ["--reservation=" + draws.one("r1", "r1", "r2")] if reserved and draws.often(0.12) else []
    share = draws.uniform(0.05, 1) if draws.often(0.92) else draws.uniform(1, 1.5)
    return " ".join(filter(None, words)), minutes * 60 * share, tasks * each


def commands(draws: Draws, cluster: Cluster, ids: list[int], span: float, reserved: bool) -> str:
    """Operators' commands in the order of time."""
    names = [name for kind in cluster.kinds for name in kind.names]
    timed: list[tuple[float, str]] = []

    def at(text: str, begin: float = 0.0) -> float:
        second = round(begin + draws.uniform(0, span), 2)
        timed.append((second, text))
        return second

    if reserved:
        for name in ("r1", "r2"):
            where = draws.one(f"Nodes={draws.one(*names)}", f"NodeCnt={draws.randint(1, max(1, len(names) // 2))}")
            whose = draws.one("Users=ann,bob,cy,dan", "Users=ann,eve,fay", "Accounts=a1,b" if cluster.accounts else "")
            flags = draws.one("", "", "IGNORE_JOBS", "FLEX", "MAINT,IGNORE_JOBS", "REPLACE")
            words = f"StartTime=now+{draws.randint(0, int(span / 2) + 60)} Duration={draws.randint(5, 60)} {where}"
            words = f"{words} {whose or 'Users=ann,bob'}" + (f" Flags={flags}" if flags else "")
            timed.append((0.0, f"scontrol create reservation ReservationName={name} {words}"))
        if draws.often(0.3):
            change = "scontrol update reservation ReservationName=r1 Duration=90"
            at(draws.one("scontrol delete reservation r1", change))
    for _ in range(draws.randint(0 if reserved else 1, 8)):
        job, node, where = draws.one(*ids), draws.one(*names), draws.one(*cluster.partitions)
        what = draws.randrange(12)
        if what == 0:
            at(f"scontrol release {job}", at(f"scontrol hold {job}"))
        elif what == 1:
            at(f"scontrol resume {job}", at(f"scontrol suspend {job}"))
        elif what == 2:
            broken = draws.one("DRAIN", "DRAIN", "DOWN")
            at(f"scontrol update NodeName={node} State=RESUME", at(f"scontrol update NodeName={node} State={broken}"))
        elif what == 3:
            state = draws.one("DOWN", "DRAIN", "INACTIVE")
            second = at(f"scontrol update PartitionName={where.name} State={state}")
            at(f"scontrol update PartitionName={where.name} State=UP", second)
        elif what == 4 and cluster.accounts:
            change = draws.one(
                "user ann set MaxJobs=1", "qos cheap set MaxJobsPerUser=2", "account a1 set fairshare=30"
            )
            at(f"sacctmgr -i modify {change}")
        else:
            change = draws.one(
                f"Partition={where.name}", "TimeLimit=20", "Priority=700", "Nice=50", "Priority=0", "StartTime=now+60",
                "Licenses=foo:1", "NumTasks=1", f"ExcNodeList={node}", "Dependency=", "TimeMin=1", "QOS=high",
            )  # fmt: skip
            at(draws.one(f"scontrol requeue {job}", f"scancel {job}", *[f"scontrol update JobId={job} {change}"] * 4))
    if draws.often(0.1):
        at(f"scancel -u {draws.one(*USERS)}")
    return "".join(f"{second} {text}\n" for second, text in sorted(timed, key=lambda each: each[0]))
