"""Keys of the lines that describe nodes, partitions, devices and switches.

To say that one is honoured from now on, change the word NOT_YET in its row. (Slurm's
documentation: slurm.conf from "Node configuration" on, gres.conf, topology.conf.)
"""

from __future__ import annotations

from emulator.config.slurm.values import Kind
from emulator.config.slurm.vocabulary import HONOURED, IGNORED, NOT_YET, Vocabulary, Word, ignored, vocabulary

_NO_NETWORK = "daemons and networks do not exist here"
_NO_SWITCHES = "nodes are where topology.yaml says"
_NO_BLOCK_ALONE = "no job has a block for itself"
_NO_BINDING = "which cores of a node a task has does not matter here"
_NEAR_CORES = (
    "cores that are near: those of the first socket that has any, unless every one has. Without effect where sockets "
    "or threads are counted, or jobs share GPUs"
)
_DOWN = ("DOWN", "DRAIN", "FAIL", "FAILING", "FUTURE")

NODE = vocabulary(
    "a NodeName line",
    (
        Word("NodeName", HONOURED, "names of the nodes"),
        Word("CPUs", HONOURED, "CPUs of a node", Kind.SMALL),
        Word("Procs", HONOURED, "older name of CPUs", Kind.SMALL, means="CPUs"),
        Word("Boards", HONOURED, "boards of a node", Kind.SMALL, "1"),
        Word("Sockets", HONOURED, "sockets of a node (of a board, where Boards is stated)", Kind.SMALL, "1"),
        Word("SocketsPerBoard", HONOURED, "sockets of a board", Kind.SMALL, "1"),
        Word("CoresPerSocket", HONOURED, "cores of a socket", Kind.SMALL, "1"),
        Word("ThreadsPerCore", HONOURED, "threads of a core", Kind.SMALL, "1"),
        Word("RealMemory", HONOURED, "memory in mebibytes", Kind.MEMORY, "1"),
        Word("MemSpecLimit", HONOURED, "memory kept for the system", Kind.MEMORY, "0"),
        Word("CoreSpecCount", HONOURED, "cores kept for the system", Kind.SMALL, "0"),
        Word("CpuSpecList", HONOURED, "CPUs kept for the system"),
        Word("RestrictedCoresPerGPU", NOT_YET, "cores kept for jobs with GPUs", Kind.COUNT, "0"),
        Word(
            "TmpDisk",
            HONOURED,
            "temporary storage in mebibytes, of which a job may ask for with --tmp",
            Kind.MEMORY,
            "0",
        ),
        Word("Gres", HONOURED, "generic resources"),
        Word("GresConf", NOT_YET, "what lines of gres.conf say; a gres.conf is read"),
        Word("Features", HONOURED, "what jobs may ask for with --constraint", Kind.WORDS),
        Word("Feature", HONOURED, "older name of Features", Kind.WORDS, means="Features"),
        Word("Weight", HONOURED, "nodes of low weight are taken first", Kind.COUNT, "1"),
        Word(
            "State",
            HONOURED,
            "whether a node may be used; CLOUD: it is powered down at first",
            default="UNKNOWN",
            choices=("CLOUD", "IDLE", "UNKNOWN", *_DOWN),
        ),
        Word("Reason", IGNORED, "words for people"),
        Word("SuspendTime", HONOURED, "for so long it is idle before it is powered down", Kind.SECONDS, disabled=-1),
    ),
    ignored(_NO_NETWORK, "BcastAddr NodeAddr NodeHostname Parameters Port"),
    ignored(_NO_BINDING, "CpuBind"),
    ignored("Slurm keeps them, and asks nothing of them", "TRESWeights"),
    ignored("a node that failed to resume is down until it is brought back", "AutoResume"),
    ignored(_NO_SWITCHES, "Topology"),
)
"""Keys of ``NodeName=`` lines."""

PARTITION = vocabulary(
    "a PartitionName line",
    (
        Word("PartitionName", HONOURED, "name of the partition"),
        Word("Nodes", HONOURED, "its nodes and node sets, or ALL"),
        Word("Default", HONOURED, "whether jobs without a partition come here", Kind.FLAG, "NO"),
        Word(
            "State",
            HONOURED,
            "whether it takes and runs jobs",
            default="UP",
            choices=("UP", "DOWN", "DRAIN", "INACTIVE"),
        ),
        Word("Alternate", HONOURED, "the partition to use instead while it is drained"),
        Word("MaxTime", HONOURED, "longest limit of a job", Kind.LIMIT, "UNLIMITED"),
        Word("DefaultTime", HONOURED, "limit of a job that states none; MaxTime if not stated", Kind.LIMIT),
        Word("OverTimeLimit", HONOURED, "how far a job may pass its limit", Kind.MINUTES),
        Word("MaxNodes", HONOURED, "most nodes of a job", Kind.BOUND, "UNLIMITED"),
        Word("MinNodes", HONOURED, "fewest nodes of a job", Kind.COUNT, "0"),
        Word("MaxCPUsPerNode", HONOURED, "most CPUs of a node for its jobs", Kind.BOUND, "UNLIMITED"),
        Word(
            "MaxCPUsPerSocket",
            HONOURED,
            "the same of a socket; of a node where cores are shared or given by thread",
            Kind.BOUND,
            "UNLIMITED",
        ),
        Word(
            "PriorityTier", HONOURED, "its jobs go before those of lower tiers, and may preempt them", Kind.SMALL, "1"
        ),
        Word("PriorityJobFactor", HONOURED, "its share of the partition factor", Kind.SMALL, "1"),
        Word("Priority", HONOURED, "older way to state PriorityTier and PriorityJobFactor", Kind.SMALL),
        Word("AllowAccounts", HONOURED, "accounts that may use it", Kind.WORDS, "ALL"),
        Word("AllowGroups", HONOURED, "groups that may use it, as --operation groups says", Kind.WORDS, "ALL"),
        Word("AllowQos", HONOURED, "qualities of service that may use it", Kind.WORDS, "ALL"),
        Word("DenyAccounts", HONOURED, "accounts that may not use it", Kind.WORDS),
        Word("DenyQos", HONOURED, "qualities of service that may not use it", Kind.WORDS),
        Word("OverSubscribe", HONOURED, "whether jobs share resources", default="NO"),
        Word("Shared", HONOURED, "older name of OverSubscribe", means="OverSubscribe"),
        Word(
            "Exclusive",
            HONOURED,
            "whether jobs have whole nodes, or users; with TOPO nothing, as no job has a block for itself",
            choices=("NO", "NODE", "USER", "TOPO"),
        ),
        Word("ExclusiveUser", HONOURED, "whether a node is for one user at a time", Kind.FLAG, "NO"),
        Word(
            "PreemptMode",
            HONOURED,
            "what becomes of its jobs when they are preempted; CHECKPOINT is the emulator's extension; of GANG, "
            "PRIORITY and WITHIN the cluster's counts",
            Kind.WORDS,
            choices=("OFF", "CANCEL", "CHECKPOINT", "GANG", "PRIORITY", "REQUEUE", "SUSPEND", "WITHIN"),
        ),
        Word("GraceTime", HONOURED, "between the choice of a victim and its end", Kind.SECONDS, "0"),
        Word("QOS", HONOURED, "quality of service whose limits hold here"),
        Word("ReqResv", HONOURED, "whether a job must name a reservation", Kind.FLAG, "NO"),
        Word("RootOnly", IGNORED, "who submits is not checked: root may do so for any user", Kind.FLAG, "NO"),
        Word("DisableRootJobs", IGNORED, "users are names: none is root", Kind.FLAG),
        Word("DefCpuPerGPU", HONOURED, "CPUs for each GPU where a job says nothing", Kind.COUNT),
        Word("DefMemPerCPU", HONOURED, "memory for each CPU where a job says nothing", Kind.MEMORY),
        Word("DefMemPerGPU", HONOURED, "memory for each GPU where a job says nothing", Kind.MEMORY),
        Word("DefMemPerNode", HONOURED, "memory on each node where a job says nothing", Kind.MEMORY),
        Word("MaxMemPerCPU", HONOURED, "most memory for each CPU; 0 is no bound of its own", Kind.MEMORY),
        Word("MaxMemPerNode", HONOURED, "most memory on each node; 0 is no bound of its own", Kind.MEMORY),
        Word("Topology", HONOURED, "which topology of topology.yaml its jobs go by; the cluster's if not stated"),
        Word("LLN", HONOURED, "whether the least loaded nodes are taken first", Kind.FLAG, "NO"),
        Word(
            "SelectTypeParameters",
            HONOURED,
            "whether sockets or cores are counted on its nodes; where a node's partitions differ, as the cluster does",
            Kind.WORDS,
        ),
        Word("TRESBillingWeights", HONOURED, "what each kind of resource costs", Kind.WEIGHTS),
        Word(
            "SuspendTime",
            HONOURED,
            "for so long its nodes are idle before they are powered down",
            Kind.SECONDS,
            disabled=-1,
        ),
        Word("SuspendTimeout", HONOURED, "for so long its nodes are powering down", Kind.SECONDS),
        Word("ResumeTimeout", HONOURED, "for so long a resume of its nodes may take", Kind.SECONDS),
        Word(
            "PowerDownOnIdle",
            HONOURED,
            "whether its nodes are powered down when its jobs have left them",
            Kind.FLAG,
            "NO",
        ),
    ),
    ignored(_NO_NETWORK, "AllocNodes"),
    ignored("everything is shown", "Hidden"),
    ignored(_NO_BINDING, "CpuBind"),
    ignored(_NO_BLOCK_ALONE, "ExclusiveTopo"),
)
"""Keys of ``PartitionName=`` lines."""

NODE_SET = vocabulary(
    "a NodeSet line",
    (
        Word("NodeSet", HONOURED, "name of the set"),
        Word("Nodes", HONOURED, "nodes in it"),
        Word("Feature", HONOURED, "all nodes with this feature are in it"),
    ),
)
"""Keys of ``NodeSet=`` lines."""

DOWN_NODES = vocabulary(
    "a DownNodes line",
    (
        Word("DownNodes", HONOURED, "nodes, or DEFAULT"),
        Word("State", HONOURED, "in what state they are", default="DOWN", choices=_DOWN),
        Word("Reason", IGNORED, "words for people"),
    ),
)
"""Keys of ``DownNodes=`` lines."""

FRONT_END = vocabulary(
    "a FrontendName line",
    ignored(
        "front ends are gone from Slurm",
        "FrontendName AllowGroups AllowUsers DenyGroups DenyUsers FrontendAddr Port Reason State",
    ),
)
"""Keys of ``FrontendName=`` lines."""

POWER_ACTION = vocabulary("a PowerAction line", ignored("code of the site: not run", "PowerAction Location Program"))
"""Keys of ``PowerAction=`` lines."""

GRES = vocabulary(
    "gres.conf",
    (
        Word("NodeName", HONOURED, "nodes that have it; all if not stated"),
        Word("Name", HONOURED, "name of the resource"),
        Word("Type", HONOURED, "type of the resource"),
        Word(
            "Count",
            HONOURED,
            "how many; as many as files if not stated. Of shares: of the GPU in File. A node with too few is drained",
        ),
        Word("File", HONOURED, "device files, one for each"),
        Word("MultipleFiles", HONOURED, "device files that are one device"),
        Word("Cores", HONOURED, _NEAR_CORES),
        Word("CPUs", HONOURED, "older name of Cores", means="Cores"),
        Word(
            "Flags",
            HONOURED,
            "one_sharing, all_sharing: whether jobs share one GPU of a node only; no others",
            Kind.WORDS,
        ),
        Word("Ignore", IGNORED, "devices are not looked for"),
        Word("AutoDetect", IGNORED, "devices cannot be looked for: the counts in slurm.conf are taken"),
        *ignored("tasks are not placed on devices", "Link Links"),
    ),
)
"""Keys of lines of ``gres.conf``."""

TOPOLOGY = vocabulary(
    "topology.conf",
    (
        Word("SwitchName", HONOURED, "name of a switch"),
        Word("Switches", HONOURED, "switches below it"),
        Word("Nodes", HONOURED, "nodes below it"),
        Word("LinkSpeed", IGNORED, "Slurm does not use it either"),
        Word("BlockName", HONOURED, "name of a block"),
        Word("BlockSizes", HONOURED, "nodes of a block, and those of which larger ones are made", Kind.WORDS),
    ),
)
"""Keys of lines of ``topology.conf``."""

LINES: dict[str, Vocabulary] = {
    "NodeName": NODE,
    "PartitionName": PARTITION,
    "NodeSet": NODE_SET,
    "DownNodes": DOWN_NODES,
    "FrontendName": FRONT_END,
    "PowerAction": POWER_ACTION,
}
"""The vocabulary of each line of ``slurm.conf`` by the key with which it begins."""
