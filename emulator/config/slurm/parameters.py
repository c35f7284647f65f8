"""All parameters of ``slurm.conf``, and what the emulator makes of each.

To say that one is honoured from now on, change the word NOT_YET in its row. The names are
those of Slurm 22.05 to 26.05, and older ones that are still found in files. Defaults are
Slurm's (Slurm's documentation, slurm.conf, "Parameters").
"""

from __future__ import annotations

from emulator.config.slurm.options import OPTIONS
from emulator.config.slurm.values import Kind
from emulator.config.slurm.vocabulary import HONOURED, IGNORED, Word, ignored, vocabulary

_SCHEDULING = (
    Word("SchedulerType", HONOURED, "which scheduler plugin runs", default="sched/backfill"),
    Word("SchedulerParameters", HONOURED, "options of the two scheduling loops", Kind.WORDS),
    Word("SchedulerTimeSlice", HONOURED, "length of a gang's time slice", Kind.SECONDS, "30"),
    Word("SelectType", HONOURED, "what is allocated: cores and more, or whole nodes", default="select/cons_tres"),
    Word(
        "SelectTypeParameters",
        HONOURED,
        "what is counted on a node, and how nodes are chosen; cores and memory if none is said (not by select/linear)",
        Kind.WORDS,
    ),
    Word(
        "TopologyPlugin",
        HONOURED,
        "whether nodes are chosen by switches or blocks: topology/tree, topology/block",
        default="topology/flat",
    ),
    Word("TopologyParam", HONOURED, "options of that plugin", Kind.WORDS),
    Word("DependencyParameters", HONOURED, "what becomes of jobs whose dependency fails", Kind.WORDS),
    Word("GresTypes", HONOURED, "which generic resources there are", Kind.WORDS),
    Word("Licenses", HONOURED, "licences that jobs share", Kind.COUNTS),
    Word("ResvOverRun", HONOURED, "how long a job may outlast its reservation", Kind.MINUTES, "0"),
)

_LIMITS = (
    Word(
        "EnforcePartLimits",
        HONOURED,
        "whether a job beyond a partition's limits is refused at submission",
        default="NO",
        choices=("NO", "YES", "ALL", "ANY"),
    ),
    Word("OverTimeLimit", HONOURED, "how far a job may pass its limit", Kind.MINUTES, "0"),
    Word("SlurmdTimeout", HONOURED, "nodes are pinged every third of it, which backfill notices", Kind.SECONDS, "300"),
    Word("ReturnToService", HONOURED, "2: a node that an operator takes down is back when it answers", Kind.COUNT, "0"),
    Word("KillWait", HONOURED, "from SIGTERM to SIGKILL at the limit", Kind.SECONDS, "30"),
    Word("MessageTimeout", HONOURED, "a job preempts others once in this time and KillWait", Kind.SECONDS, "10"),
    Word("CompleteWait", HONOURED, "how long a job that ends keeps others from starting", Kind.SECONDS, "0"),
    Word("JobRequeue", HONOURED, "whether batch jobs may be requeued", Kind.FLAG, "1"),
    Word("RequeueExit", HONOURED, "exit codes that requeue a job"),
    Word("RequeueExitHold", HONOURED, "exit codes that requeue and hold a job"),
    Word("MaxBatchRequeue", IGNORED, "it is for launches that fail; none does here", Kind.COUNT),
    Word("MaxArraySize", HONOURED, "one more than the largest index of an array", Kind.COUNT, "1001"),
    Word("MaxJobCount", HONOURED, "so many jobs that are not over; no bound if not stated", Kind.COUNT, "10000"),
    Word("DefCpuPerGPU", HONOURED, "CPUs for each GPU where a job says nothing", Kind.COUNT, "0"),
    Word("DefMemPerCPU", HONOURED, "memory for each CPU where a job says nothing", Kind.MEMORY, "0"),
    Word("DefMemPerGPU", HONOURED, "memory for each GPU where a job says nothing", Kind.MEMORY, "0"),
    Word("DefMemPerNode", HONOURED, "memory on each node where a job says nothing", Kind.MEMORY, "0"),
    Word("MaxMemPerCPU", HONOURED, "most memory for each CPU; 0 is no limit", Kind.MEMORY, "0"),
    Word("MaxMemPerNode", HONOURED, "most memory on each node; 0 is no limit", Kind.MEMORY, "0"),
    Word("DisableRootJobs", IGNORED, "users are names: none is root", Kind.FLAG, "NO"),
    Word("AllowSpecResourcesUsage", IGNORED, "--core-spec, which needs it, is not read", Kind.FLAG, "NO"),
)

_PRIORITY = (
    Word("PriorityType", HONOURED, "which priority plugin runs", default="priority/multifactor"),
    Word("PriorityFlags", HONOURED, "how the factors are calculated", Kind.WORDS),
    Word("PriorityWeightAge", HONOURED, "weight of the time in the queue", Kind.COUNT, "0"),
    Word("PriorityWeightAssoc", HONOURED, "weight of the association", Kind.COUNT, "0"),
    Word("PriorityWeightFairshare", HONOURED, "weight of the fair share", Kind.COUNT, "0"),
    Word("PriorityWeightJobSize", HONOURED, "weight of the job's size", Kind.COUNT, "0"),
    Word("PriorityWeightPartition", HONOURED, "weight of the partition", Kind.COUNT, "0"),
    Word("PriorityWeightQOS", HONOURED, "weight of the quality of service", Kind.COUNT, "0"),
    Word("PriorityWeightTRES", HONOURED, "weight of each kind of resource", Kind.WEIGHTS),
    Word("PriorityMaxAge", HONOURED, "age at which the age factor is 1", Kind.LIMIT, "7-0"),
    Word("PriorityFavorSmall", HONOURED, "whether small jobs go first", Kind.FLAG, "NO"),
    Word("PriorityDecayHalfLife", HONOURED, "half-life of past usage; 0 is none", Kind.LIMIT, "7-0"),
    Word("PriorityCalcPeriod", HONOURED, "how often priorities are calculated", Kind.LIMIT, "5"),
    Word(
        "PriorityUsageResetPeriod",
        HONOURED,
        "when past usage is cleared",
        default="NONE",
        choices=("NONE", "NOW", "DAILY", "WEEKLY", "MONTHLY", "QUARTERLY", "YEARLY"),
    ),
    Word("FairShareDampeningFactor", HONOURED, "how strongly classic fair share reacts", Kind.COUNT, "1"),
    Word("PrioritySiteFactorPlugin", HONOURED, "which site_factor plugin runs, if one of that name is found"),
    Word("PrioritySiteFactorParameters", HONOURED, "the parameters of that plugin"),
    *ignored("no bundled priority plugin reads it", "PriorityParameters"),
)

_PREEMPTION = (
    Word("PreemptType", HONOURED, "which preempt plugin runs", default="preempt/none"),
    Word(
        "PreemptMode",
        HONOURED,
        "what becomes of a preempted job; CHECKPOINT is the emulator's extension",
        Kind.WORDS,
        "OFF",
        choices=("OFF", "CANCEL", "CHECKPOINT", "GANG", "PRIORITY", "REQUEUE", "SUSPEND", "WITHIN"),
    ),
    Word("PreemptParameters", HONOURED, "how victims are chosen", Kind.WORDS),
    Word("TaskPlugin", HONOURED, "whether GANG looks at cores where CPUs are counted (22.05)", default="task/none"),
    Word("PreemptExemptTime", HONOURED, "how long a job runs before it can be preempted", Kind.TIME, "0"),
)

_ACCOUNTING = (
    Word("ClusterName", HONOURED, "name of the cluster, and %c in an Include"),
    Word(
        "AccountingStorageType",
        HONOURED,
        "whether there is a database: without one there are no accounts, and no age in priorities",
        default="accounting_storage/none",
    ),
    Word(
        "AccountingStorageEnforce",
        HONOURED,
        "which rules of the database hold",
        Kind.WORDS,
        choices=("0", "1", "2", "ALL", "ASSOCIATIONS", "LIMITS", "NOJOBS", "NOSTEPS", "QOS", "SAFE", "WCKEYS"),
    ),
    Word("AccountingStorageTRES", HONOURED, "which resources are counted", Kind.WORDS),
    *ignored(
        "no database is connected",
        "AccountingStorageBackupHost AccountingStorageExternalHost AccountingStorageHost AccountingStorageLoc "
        "AccountingStorageParameters AccountingStoragePass AccountingStoragePort AccountingStorageUser "
        "AccountingStoreFlags AccountingStoreJobComment DefaultStorageHost DefaultStorageLoc DefaultStoragePass "
        "DefaultStoragePort DefaultStorageType DefaultStorageUser JobCompHost JobCompLoc JobCompParams JobCompPass "
        "JobCompPassScript JobCompPort JobCompType JobCompUser MaxDBDMsgs",
    ),
    *ignored("workload characterisation keys are only labels", "TrackWCKey"),
)

_POWER = (
    Word("SuspendTime", HONOURED, "for so long a node is idle before it is powered down", Kind.SECONDS, disabled=-1),
    Word("SuspendTimeout", HONOURED, "for so long it is powering down, and takes no job", Kind.SECONDS, "30"),
    Word("SuspendRate", HONOURED, "so many nodes are powered down in a minute; 0 is no limit", Kind.COUNT, "60"),
    Word("ResumeTimeout", HONOURED, "for so long a resume may take; then the node is down", Kind.SECONDS, "60"),
    Word("ResumeRate", HONOURED, "so many nodes are resumed in a minute; 0 is no limit", Kind.COUNT, "300"),
    Word("SuspendExcNodes", HONOURED, "nodes that are not powered down, or so many of them, as n[1-9]:4"),
    Word("SuspendExcParts", HONOURED, "partitions whose nodes are not powered down", Kind.WORDS),
    Word(
        "SuspendExcStates",
        HONOURED,
        "states in which nodes are not powered down",
        Kind.WORDS,
        choices=(
            *("CLOUD", "DOWN", "DRAIN", "DYNAMIC_FUTURE", "DYNAMIC_NORM", "FAIL", "INVALID_REG", "MAINTENANCE"),
            *("NOT_RESPONDING", "PERFCTRS", "PLANNED", "RESERVED"),
        ),
    ),
    Word("SuspendProgram", HONOURED, "not run; without it there is no power saving"),
    Word("ResumeProgram", HONOURED, "not run, --operation resume_time says how long it takes; the same"),
    Word("SlurmctldParameters", HONOURED, "options of power saving are", Kind.WORDS),
)

_FILES = (Word("Include", HONOURED, "a further file, read if it lies in the folder of the main file", several=True),)

_AUTHENTICATION = (Word("AuthInfo", HONOURED, "cred_expire holds requeued jobs back", Kind.WORDS),)

_CODE_OF_THE_SITE = (
    Word("JobSubmitPlugins", HONOURED, "which job_submit plugins run: those that are found"),
    *ignored(
        "code of the site: not run",
        "CliFilterParameters CliFilterPlugins HealthCheckProgram MailProg "
        "PlugStackConfig PrEpParameters PrEpPlugins RebootProgram ResumeFailProgram ResvEpilog "
        "ResvProlog SallocDefaultCommand SlurmctldPlugstack SlurmctldPrimaryOffProg SlurmctldPrimaryOnProg "
        "SlurmdPlugstack SrunEpilog SrunProlog TaskEpilog TaskProlog UnkillableStepProgram",
    ),
    *ignored("not run; --operation says how long it takes", "Epilog Prolog PrologSlurmctld", several=True),
    *ignored("not run; --operation says how long it takes", "EpilogSlurmctld"),
)

_NOT_HERE = (
    *ignored(
        "daemons and networks do not exist here",
        "BackupAddr BackupController BatchStartTimeout BcastExclude BcastParameters CommunicationParameters "
        "ControlAddr ControlMachine EioTimeout EpilogMsgTime FastSchedule GetEnvTimeout GroupUpdateForce "
        "GroupUpdateTime HealthCheckInterval HealthCheckNodeState HealthCheckTimeout HttpParserType KeepAliveTime "
        "MsgAggregationParams PluginDir RoutePlugin SbcastParameters "
        "SchedulerAuth SchedulerPort SchedulerRootFilter SlurmctldAddr SlurmctldPidFile "
        "SlurmctldPort SlurmctldTimeout SlurmdParameters SlurmdPidFile SlurmdPort SlurmdSpoolDir "
        "SlurmdUser SlurmUser SrunPortRange StateSaveLocation SwitchParameters SwitchType TCPTimeout TreeWidth "
        "UrlParserType",
    ),
    *ignored("daemons and networks do not exist here", "SlurmctldHost", several=True),
    *ignored(
        "security",
        "AuthAltParameters AuthAltTypes AuthType CacheGroups CertgenParameters CertgenType CertmgrParameters "
        "CertmgrType CredType CryptoType HashPlugin JobCredentialPrivateKey JobCredentialPublicCertificate "
        "MCSParameters MCSPlugin MetricsAuthUsers PrivateData SlurmctldHttpAuthParameters SlurmdHttpAuthParameters "
        "TLSParameters TLSType UsePAM",
    ),
    *ignored(
        "logging",
        "DebugFlags LogTimeFormat MailDomain MetricsParameters MetricsType SlurmctldDebug SlurmctldLogFile "
        "SlurmctldSyslogDebug SlurmdDebug SlurmdLogFile SlurmdSyslogDebug SlurmSchedLogFile SlurmSchedLogLevel",
    ),
    *ignored(
        "nothing is measured on nodes",
        "AcctGatherEnergyType AcctGatherFilesystemType AcctGatherInfinibandType AcctGatherInterconnectType "
        "AcctGatherNodeFreq AcctGatherProfileType ExtSensorsFreq ExtSensorsType JobAcctGatherFrequency "
        "JobAcctGatherParams JobAcctGatherType MemLimitEnforce VSizeFactor",
    ),
    *ignored(
        "no process is started",
        "CheckpointType ContainerType CoreSpecPlugin CpuFreqDef CpuFreqGovernors DataParserParameters "
        "EpilogTimeout GpuFreqDef InactiveLimit InteractiveStepOptions JobCheckpointDir JobContainerType "
        "JobFileAppend KillOnBadExit LaunchParameters LaunchType MaxStepCount MaxTasksPerNode "
        "MpiDefault MpiParams MpiPortsBusy NamespaceType ProctrackType PrologEpilogTimeout PrologFlags PrologTimeout "
        "PropagatePrioProcess PropagateResourceLimits PropagateResourceLimitsExcept SrunIOTimeout "
        "TaskPluginParam TmpFS UnkillableStepTimeout UseSpecResources WaitTime X11Parameters",
    ),
    *ignored("power is not capped", "PowerParameters PowerPlugin"),
    *ignored("nothing is reconfigured while a simulation runs", "ReconfigFlags"),
    *ignored("there is one cluster", "FederationParameters"),
    *ignored("job ids come from the workload", "FirstJobId MaxJobId"),
    *ignored("finished jobs stay in the records", "MinJobAge"),
    *ignored("no node is added while a simulation runs", "MaxNodeCount"),
    *ignored("burst buffers are not modelled", "BurstBufferParameters BurstBufferType"),
    *ignored("features of nodes do not change", "NodeFeaturesPlugins"),
    *ignored("periodic jobs are not submitted here", "ScronParameters"),
    *ignored("remote licences are not modelled", "LicenseParameters"),
    *ignored("an experiment of old versions, without effect since", "Layouts"),
)

RECORDS = (
    Word("NodeName", HONOURED, "nodes", several=True),
    Word("PartitionName", HONOURED, "a partition", several=True),
    Word("NodeSet", HONOURED, "a name for nodes, to be used by partitions", several=True),
    Word("DownNodes", HONOURED, "nodes that are not to be used", several=True),
    Word("FrontendName", IGNORED, "front ends are gone from Slurm", several=True),
    Word("PowerAction", IGNORED, "code of the site: not run", several=True),
)
"""The keys with which a line of its own kind begins."""

PARAMETERS = vocabulary(
    "slurm.conf",
    _SCHEDULING,
    _LIMITS,
    _PRIORITY,
    _PREEMPTION,
    _ACCOUNTING,
    _POWER,
    _FILES,
    _AUTHENTICATION,
    _CODE_OF_THE_SITE,
    _NOT_HERE,
    RECORDS,
    options=OPTIONS,
)
"""Everything that a line of ``slurm.conf`` may begin with."""
