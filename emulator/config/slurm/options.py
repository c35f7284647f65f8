"""Options in the values of parameters, such as ``bf_interval`` in ``SchedulerParameters``.

To say that one is honoured from now on, change the word NOT_YET in its row. Numbers are
Slurm's defaults and bounds (Slurm's documentation, slurm.conf).
"""

from __future__ import annotations

from collections.abc import Mapping

from emulator.config.slurm.values import Kind
from emulator.config.slurm.vocabulary import HONOURED, NOT_YET, Vocabulary, Word, ignored, vocabulary

_THREE_HOURS = 10800
_MILLION = 1_000_000
_FLAG = Kind.FLAG
_COUNT = Kind.COUNT
_SECONDS = Kind.SECONDS
_TAKES_TIME = "where --operation job_test_time says that it takes time"

MOVED = ("kill_invalid_depend", "max_depend_depth")
"""What older versions look for in SchedulerParameters; the emulated ones do not."""

_BACKFILL = (
    Word("bf_interval", HONOURED, "between two cycles", _SECONDS, "30", least=1, most=_THREE_HOURS, disabled=-1),
    Word("bf_resolution", HONOURED, "grain of time in the plan", _SECONDS, "60", least=1, most=3600),
    Word("bf_window", HONOURED, "how far ahead is planned", Kind.MINUTES, "1440", least=1, most=43200),
    Word("bf_continue", HONOURED, f"whether a cycle goes on when something has happened, {_TAKES_TIME}", _FLAG, "NO"),
    Word("bf_max_job_test", HONOURED, "jobs tested in a cycle", _COUNT, "500", least=1, most=_MILLION),
    Word("bf_max_job_part", HONOURED, "jobs of a partition tested in a cycle; 0 is no limit", _COUNT, "0", least=0),
    Word("bf_max_job_user", HONOURED, "jobs of a user tested in a cycle; 0 is no limit", _COUNT, "0", least=0),
    Word("bf_max_job_user_part", HONOURED, "jobs of a user in a partition tested in a cycle", _COUNT, "0", least=0),
    Word(
        "bf_max_job_assoc",
        HONOURED,
        "jobs of a user and account tested in a cycle, with slurmdbd; then not those of a user",
        _COUNT,
        "0",
        least=0,
    ),
    Word("bf_max_job_start", HONOURED, "jobs started in a cycle; 0 is no limit", _COUNT, "0", least=0, most=10000),
    Word("bf_max_job_array_resv", HONOURED, "tasks of an array with a reservation", _COUNT, "20", least=0, most=1000),
    Word(
        "bf_job_part_count_reserve",
        HONOURED,
        "jobs of a partition with a reservation; 0 is all",
        _COUNT,
        "0",
        least=0,
        most=100000,
    ),
    Word("bf_min_prio_reserve", HONOURED, "no reservation below this priority", _COUNT, "0", least=0),
    Word("bf_min_age_reserve", HONOURED, "no reservation before this age", _SECONDS, "0", least=0, most=2592000),
    Word("bf_one_resv_per_job", HONOURED, "one reservation for a job in several partitions", _FLAG, "NO"),
    Word("bf_node_space_size", HONOURED, "slots of the plan; bf_max_job_test if not stated", _COUNT, least=2),
    Word(
        "bf_max_time",
        HONOURED,
        f"longest cycle, {_TAKES_TIME}; bf_interval if not stated",
        _SECONDS,
        least=1,
        most=3600,
    ),
    Word(
        "bf_yield_interval",
        HONOURED,
        f"after so long a cycle pauses, {_TAKES_TIME}",
        Kind.MICROSECONDS,
        "2000000",
        least=1,
        most=10 * _MILLION,
    ),
    Word(
        "bf_yield_sleep",
        HONOURED,
        f"so long it pauses, {_TAKES_TIME}",
        Kind.MICROSECONDS,
        "500000",
        least=1,
        most=10 * _MILLION,
    ),
    Word("bf_busy_nodes", HONOURED, "whether nodes in use are planned with before idle ones", _FLAG, "NO"),
    Word("bf_licenses", HONOURED, "whether licences are planned", _FLAG, "NO"),
    Word("bf_running_job_reserve", HONOURED, "whether runs keep whole nodes up to the end of a step", _FLAG, "NO"),
    Word(
        "bf_window_linear",
        HONOURED,
        "growth of the windows in which ends of runs are taken together; 0: they double",
        _SECONDS,
        "0",
        least=0,
    ),
    Word("bf_hetjob_immediate", HONOURED, "whether components start as soon as the last was tried", _FLAG, "NO"),
    Word(
        "bf_hetjob_prio",
        HONOURED,
        "components are tried one behind the other, by their least, average or highest priority",
        choices=("MIN", "AVG", "MAX"),
    ),
    Word(
        "bf_allow_magnetic_slot",
        HONOURED,
        "whether jobs keep nodes in a reservation that draws them (MAGNETIC), too",
        _FLAG,
        "NO",
    ),
    Word("max_job_bf", HONOURED, "older name of bf_max_job_test", _COUNT, means="bf_max_job_test"),
    *ignored(
        "depends on the load of real daemons",
        "bf_yield_rpc_cnt bf_retry_count bf_ignore_newly_avail_nodes build_queue_timeout max_rpc_cnt",
    ),
    Word("bf_topopt_enable", HONOURED, "whether a plugin may delay jobs for a better place", _FLAG, "NO"),
    Word("bf_topopt_iterations", HONOURED, "later holes that it may choose from", _COUNT, "20", least=0),
)

_MAIN_LOOP = (
    Word("default_queue_depth", HONOURED, "jobs tested when something happens", _COUNT, "100", least=0),
    Word("partition_job_depth", HONOURED, "jobs of a partition tested in a pass; 0 is no limit", _COUNT, "0", least=0),
    Word("sched_interval", HONOURED, "between two passes over all jobs", _SECONDS, "60", least=0, disabled=-1),
    Word("sched_min_interval", HONOURED, "shortest time between passes", Kind.MICROSECONDS, "2", least=0),
    Word("sched_max_job_start", HONOURED, "jobs started in a pass; 0 is no limit", _COUNT, "0", least=0),
    Word("max_sched_time", HONOURED, f"longest pass of the main loop, {_TAKES_TIME}", _SECONDS, "2", least=1),
    Word("batch_sched_delay", HONOURED, "how long a submission may wait for its pass", _SECONDS, "3", least=0),
    Word("defer", HONOURED, "whether nodes that report to be clear wait for batch_sched_delay, too", _FLAG, "NO"),
    Word("defer_batch", HONOURED, "as defer: all jobs here are batch jobs", _FLAG, means="defer"),
    Word("assoc_limit_stop", HONOURED, "whether a job at its association's limit blocks its partition", _FLAG, "NO"),
    Word("pack_serial_at_end", HONOURED, "whether jobs of one CPU fill from the last node", _FLAG, "NO"),
    Word("max_array_tasks", HONOURED, "tasks of one array; MaxArraySize if not stated", _COUNT, least=0),
    Word("requeue_delay", HONOURED, "how long a requeued job is held back; cred_expire if not stated", _SECONDS),
    Word("time_min_as_soft_limit", HONOURED, "whether --time-min is only planned with", _FLAG, "NO"),
    Word("allow_zero_lic", HONOURED, "whether a job may ask for more licences than there are", _FLAG, "NO"),
    Word("ignore_prefer_validation", HONOURED, "whether --prefer may ask for what there is not", _FLAG, "NO"),
    Word("ignore_constraint_validation", HONOURED, "whether unknown features are taken in", _FLAG, "NO"),
    Word("preempt_reorder_count", HONOURED, "older name", _COUNT, means="PreemptParameters.reorder_count"),
    Word("preempt_strict_order", HONOURED, "older name", _FLAG, means="PreemptParameters.strict_order"),
    Word("preempt_youngest_first", HONOURED, "older name", _FLAG, means="PreemptParameters.youngest_first"),
    *ignored("Slurm looks for it in SlurmctldParameters", "preempt_send_user_signal"),
    Word("reduce_completing_frag", HONOURED, "CompleteWait is for partitions that share nodes", _FLAG, "NO"),
    *ignored("Slurm looks for it in DependencyParameters", " ".join(MOVED)),
    *ignored("what Slurm does anyway", "assoc_limit_continue enable_hetjob_steps"),
    *ignored("burst buffers are not modelled", "bb_array_stage_cnt"),
    Word("max_switch_wait", HONOURED, "for so long a job waits at most for few --switches", _SECONDS, "300", least=0),
    *ignored("features of nodes do not change", "delay_boot"),
    *ignored("scripts are not looked at", "max_script_size max_submit_line_size no_env_cache"),
    *ignored("steps are not modelled", "disable_hetjob_steps step_retry_count step_retry_time"),
    *ignored("jobs say whether they may be requeued", "requeue_on_resume_failure"),
    *ignored("nodes are ready at once", "salloc_wait_nodes sbatch_wait_nodes"),
    *ignored("nodes are as the configuration says", "Ignore_NUMA spec_cores_first extra_constraints"),
    *ignored("jobs keep their size", "disable_job_shrink permit_job_expansion"),
    *ignored("who may give a command is not checked", "enable_user_top"),
    *ignored("there is one controller", "no_backup_scheduling"),
    *ignored("code of the site: not run", "nohold_on_prolog_fail"),
    *ignored("tasks of an array are separate from the start", "correspond_after_task_cnt"),
    Word("whole_hetjob", HONOURED, "whether scancel, hold and release of a component mean all of them", _FLAG, "NO"),
    Word("whole_pack", HONOURED, "older name", _FLAG, means="whole_hetjob"),
    *ignored("sizes are written with a suffix", "default_gbytes"),
)

_PREEMPT = (
    Word("reorder_count", HONOURED, "attempts to find fewer victims", _COUNT, "1", least=0),
    Word("strict_order", HONOURED, "whether attempts to find fewer victims keep their order", _FLAG, "NO"),
    Word("youngest_first", HONOURED, "whether the latest start is the first victim", _FLAG, "NO"),
    Word("reclaim_licenses", HONOURED, "whether jobs are preempted for licences", _FLAG, "NO"),
    Word("min_exempt_priority", HONOURED, "above this priority no job is preempted", _COUNT, least=0),
    Word("send_user_signal", HONOURED, "whether the signal of --signal=B: is sent as a grace time begins", _FLAG, "NO"),
    *ignored("no process is started", "suspend_grace_time"),
)

_SELECT = (
    Word("CR_CPU", HONOURED, "CPUs are counted", _FLAG, "NO"),
    Word("CR_CPU_Memory", HONOURED, "CPUs and memory are counted", _FLAG, "NO"),
    Word("CR_Core", HONOURED, "cores are counted", _FLAG, "NO"),
    Word("CR_Core_Memory", HONOURED, "cores and memory are counted", _FLAG, "NO"),
    Word("CR_Socket", HONOURED, "sockets are counted", _FLAG, "NO"),
    Word("CR_Socket_Memory", HONOURED, "sockets and memory are counted", _FLAG, "NO"),
    Word("CR_Memory", HONOURED, "memory is counted, and CPUs are not", _FLAG, "NO"),
    Word("CR_ONE_TASK_PER_CORE", HONOURED, "one task a core unless a job says otherwise", _FLAG, "NO"),
    Word("CR_LLN", HONOURED, "the least loaded nodes first", _FLAG, "NO"),
    *ignored("how tasks are spread over what a job has does not matter here", "CR_Pack_Nodes"),
    Word("LL_SHARED_GRES", HONOURED, "shares of the GPU with the largest part left go first", _FLAG, "NO"),
    Word("MULTIPLE_SHARING_GRES_PJ", HONOURED, "a job may have shares of several GPUs of a node", _FLAG, "NO"),
    Word("ONE_TASK_PER_SHARING_GRES", HONOURED, "then no two of its tasks have shares of the same GPU", _FLAG, "NO"),
    *ignored("a job has cores wherever they are free, not only near its devices", "ENFORCE_BINDING_GRES"),
    Word("CR_CORE_DEFAULT_DIST_BLOCK", HONOURED, "tasks fill a socket before they go to another", _FLAG, "NO"),
    *ignored("steps are not modelled", "CR_NO_DIST_TOPO_BLOCK"),
    *ignored("only on Cray systems", "OTHER_CONS_RES OTHER_CONS_TRES NHC_ABSOLUTELY_NO NHC_NO NHC_NO_STEPS"),
)

_PRIORITY_FLAGS = (
    Word("ACCRUE_ALWAYS", HONOURED, "jobs that cannot run yet grow older too", _FLAG, "NO"),
    Word("CALCULATE_RUNNING", HONOURED, "running jobs have new priorities too", _FLAG, "NO"),
    Word("DEPTH_OBLIVIOUS", HONOURED, "fair share does not depend on the tree's depth", _FLAG, "NO"),
    Word("NO_FAIR_TREE", HONOURED, "classic fair share", _FLAG, "NO"),
    Word("INCR_ONLY", HONOURED, "priorities never fall", _FLAG, "NO"),
    Word("MAX_TRES", HONOURED, "the largest resource is billed, not the sum", _FLAG, "NO"),
    Word("MAX_TRES_GRES", HONOURED, "as MAX_TRES, but generic resources are added", _FLAG, "NO"),
    Word("NO_NORMAL_ALL", HONOURED, "no factor is normalised", _FLAG, "NO"),
    Word("NO_NORMAL_ASSOC", HONOURED, "the association's factor is not normalised", _FLAG, "NO"),
    Word("NO_NORMAL_PART", HONOURED, "the partition's factor is not normalised", _FLAG, "NO"),
    Word("NO_NORMAL_QOS", HONOURED, "the factor of the quality of service is not normalised", _FLAG, "NO"),
    Word("NO_NORMAL_TRES", HONOURED, "the factor of resources is not normalised", _FLAG, "NO"),
    Word("SMALL_RELATIVE_TO_TIME", HONOURED, "size is divided by the time limit", _FLAG, "NO"),
    *ignored("what Slurm does anyway", "FAIR_TREE"),
    *ignored("gone from Slurm", "LEVEL_BASED TICKET_BASED"),
)

_DEPENDENCY = (
    Word("kill_invalid_depend", HONOURED, "a job that can never run is cancelled", _FLAG, "NO"),
    Word("max_depend_depth", HONOURED, "how far a circle of dependencies is looked for", _COUNT, "10", least=0),
    *ignored("there is one cluster", "disable_remote_singleton"),
)

_AUTH = (
    Word("cred_expire", HONOURED, "a requeued job is held back for this and one second", _SECONDS, "120", least=1),
    *ignored("security", "socket ttl use_client_ids"),
)

_TOPOLOGY = (
    Word("TopoOptional", HONOURED, "only jobs with --switches go by the switches", _FLAG, "NO"),
    Word("Dragonfly", NOT_YET, "that switches are all connected with each other", _FLAG, "NO"),
    *ignored("daemons and networks do not exist here", "NoCtldInAddrAny NoInAddrAny RouteTree RoutePart"),
    *ignored("ranks of nodes do not matter here", "BlockAsNodeRank SwitchAsNodeRank"),
    *ignored("only topology/hypercube has it", "TopoMaxSizeUnroll"),
)

_CONTROLLER = (
    Word("idle_on_node_suspend", HONOURED, "nodes that are powered down are neither down nor drained", _FLAG, "NO"),
    Word("power_save_interval", HONOURED, "from one look at the power of nodes to the next", _SECONDS, "10", least=1),
    *ignored("a look follows each event that changes what it finds", "power_save_min_interval"),
    *ignored("any number of nodes may be on", "max_powered_nodes"),
    *ignored("daemons and networks do not exist here", "allow_user_triggers cloud_dns cloud_reg_addrs conmgr_use_poll"),
    *ignored("daemons and networks do not exist here", "conmgr_max_connections conmgr_threads conmgr_connect_timeout"),
    *ignored("daemons and networks do not exist here", "conmgr_quiesce_timeout conmgr_read_timeout"),
    *ignored("daemons and networks do not exist here", "conmgr_wait_write_delay conmgr_write_timeout disable_triggers"),
    *ignored("daemons and networks do not exist here", "enable_async_reply enable_configless enable_stepmgr"),
    *ignored("daemons and networks do not exist here", "max_dbd_msg_action node_reg_mem_percent no_quick_restart"),
    *ignored("daemons and networks do not exist here", "reboot_from_controller reconfig_on_restart rl_bucket_size"),
    *ignored("daemons and networks do not exist here", "rl_enable rl_log_freq rl_refill_period rl_refill_rate"),
    *ignored("daemons and networks do not exist here", "rl_table_size user_resv_delete validate_nodeaddr_threads"),
    Word("preempt_send_user_signal", HONOURED, "older name", _FLAG, means="PreemptParameters.send_user_signal"),
    *ignored("a requeued job waits as it would without it", "enable_expedited_requeue"),
)

OPTIONS: Mapping[str, Vocabulary] = {
    # Slurm passes over words of these that it does not know.
    "SchedulerParameters": vocabulary("SchedulerParameters", _BACKFILL, _MAIN_LOOP, strict=False),
    "PreemptParameters": vocabulary("PreemptParameters", _PREEMPT, strict=False),
    "PriorityFlags": vocabulary("PriorityFlags", _PRIORITY_FLAGS, strict=False),
    "DependencyParameters": vocabulary("DependencyParameters", _DEPENDENCY, strict=False),
    "TopologyParam": vocabulary("TopologyParam", _TOPOLOGY, strict=False),
    "AuthInfo": vocabulary("AuthInfo", _AUTH, strict=False),
    "SlurmctldParameters": vocabulary("SlurmctldParameters", _CONTROLLER, strict=False),
    # An unknown word here stops Slurm's controller.
    "SelectTypeParameters": vocabulary("SelectTypeParameters", _SELECT),
}
"""The options of each parameter that has any which matter here."""
