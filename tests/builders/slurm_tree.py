"""A tree that looks to ``slurm-sim port`` like Slurm's sources: loaders, and what plugins need to compile."""

from __future__ import annotations

from pathlib import Path

HEADERS = {
    "config.h": "",
    "slurm/slurm_version.h": "",
    "slurm/slurm_errno.h": "#define SLURM_SUCCESS 0\n#define SLURM_ERROR -1\n",
    "src/common/list.h": "typedef struct list list_t;\nextern list_t *list_create(void *f);\n"
    "extern int list_for_each(list_t *l, int (*f)(void *, void *), void *arg);\n",
    "src/common/xmalloc.h": "#define xfree(x) (x) = NULL\n",
    "src/common/xstring.h": "#include <string.h>\nextern int xstrcmp(const char *a, const char *b);\n"
    "extern char *xstrdup(const char *a);\n",
    "src/slurmctld/locks.h": "typedef struct { int conf, job, node, part; } slurmctld_lock_t;\n"
    "enum { NO_LOCK, READ_LOCK, WRITE_LOCK };\n"
    "extern void lock_slurmctld(slurmctld_lock_t l);\nextern void unlock_slurmctld(slurmctld_lock_t l);\n",
    "src/slurmctld/slurmctld.h": """#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>
#define SLURM_VERSION_NUMBER 1
#define NO_VAL16 0xfffe
#define NO_VAL 0xfffffffe
#define INFINITE 0xffffffff
#define NICE_OFFSET 0x80000000
#define PREEMPT_MODE_OFF 0
#define PREEMPT_MODE_COND_OFF 0x10
#define PREEMPT_MODE_WITHIN 0x4000
#define PREEMPT_MODE_GANG 0x8000
#define IS_JOB_PENDING(job) (!(job)->job_state)
typedef struct { char *name; uint32_t default_time, max_time, grace_time; uint16_t preempt_mode, priority_tier; }
    part_record_t;
typedef struct { char *name; uint32_t grace_time; uint16_t preempt_mode; } slurmdb_qos_rec_t;
typedef struct { uint32_t min_cpus, min_nodes, nice; time_t submit_time; } job_details_t;
typedef struct {
    uint32_t job_id, time_limit, priority, site_factor, total_cpus, node_cnt, job_state;
    uint16_t restart_cnt, direct_set_prio;
    char *account;
    time_t start_time, end_time;
    job_details_t *details;
    part_record_t *part_ptr;
    slurmdb_qos_rec_t *qos_ptr;
} job_record_t;
typedef struct { job_record_t *job_ptr; } job_queue_rec_t;
typedef struct {
    char *account, *qos, *name, *partition, *reservation, *features, *dependency;
    uint32_t time_limit, time_min, num_tasks, min_nodes, max_nodes;
    uint16_t cpus_per_task, ntasks_per_node;
} job_desc_msg_t;
extern list_t *job_list;
extern time_t last_job_update;
extern struct { uint16_t preempt_mode; } slurm_conf;
""",
    "src/slurmctld/job_scheduler.h": "",
}
LOADER = """/* A comment with "x_p_y" in it. */
{more}
typedef struct ops {{
    {fields}
}} ops_t;

static const char *syms[] = {{
    {names},    /* one more remark */
}};
"""
PRIORITY = {
    "priority_p_set": "uint32_t (*set) (uint32_t last_prio,\n\t\tjob_record_t *job_ptr);",
    "priority_p_reconfig": "void (*reconfig) (bool assoc_clear);",
    "priority_p_get_priority_factors_list": "list_t *(*get_priority_factors)(uid_t uid);",
}
SITE_FACTOR = {
    "site_factor_p_set": "void (*set) (job_record_t *job_ptr);",
    "site_factor_p_update": "void (*update) (void);",
}
CHECKS = {
    "preempt_p_job_preempt_check": "bool (*check) (job_queue_rec_t *a, job_queue_rec_t *b);",
    "preempt_p_preemptable": "bool (*preemptable) (job_record_t *preemptor, job_record_t *preemptee);",
}
OLD_PREEMPT = {
    **CHECKS,
    "preempt_p_get_data": "int (*get_data) (job_record_t *job_ptr, slurm_preempt_data_type_t data_type, void *data);",
}
NEW_PREEMPT = {
    **CHECKS,
    "preempt_p_get_mode": "uint16_t (*get_mode) (job_record_t *job_ptr);",
    "preempt_p_get_prio": "uint32_t (*get_prio) (job_record_t *job_ptr);",
    "preempt_p_get_grace_time": "uint32_t (*get_grace_time) (job_record_t *job_ptr);",
}
JOB_SUBMIT = {
    "job_submit": "int (*submit)(job_desc_msg_t *job_desc, uint32_t submit_uid, char **err_msg);",
    "job_modify": "int (*modify)(job_desc_msg_t *job_desc, job_record_t *job_ptr, uint32_t submit_uid);",
}
KINDS = "enum kind { PREEMPT_DATA_ENABLED, PREEMPT_DATA_MODE, PREEMPT_DATA_PRIO, PREEMPT_DATA_GRACE_TIME };\n"


def slurm_tree(folder: Path, version: str = "22.05.8") -> Path:
    """A tree of a version: until 23.02 loaders were elsewhere, from 25.05 on preemption has a function an answer."""
    old = version < "23"
    where = {"priority": "common", "site_factor": "common", "preempt": "slurmctld", "job_submit": "slurmctld"}
    demanded = {
        "priority": PRIORITY if old else {**PRIORITY, "priority_p_thread_start": "int (*post_init) (void);"},
        "site_factor": {"site_factor_p_reconfig": "void (*reconfig) (void);", **SITE_FACTOR} if old else SITE_FACTOR,
        "preempt": OLD_PREEMPT if version < "25.05" else NEW_PREEMPT,
        "job_submit": JOB_SUBMIT,
    }
    files = {"META": f"  Name:\tslurm\n  Version:\t{version}\n", **HEADERS}
    for kind, symbols in demanded.items():
        path = f"src/{where[kind]}/{kind}" if old else f"src/interfaces/{kind}"
        files[f"{path}.c"] = loader(symbols)
        files[f"{path}.h"] = KINDS + "typedef enum kind slurm_preempt_data_type_t;\n" if kind == "preempt" else ""
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return folder


def loader(symbols: dict[str, str], more: str = "") -> str:
    """A file that lists symbols, and their types before."""
    names = ",\n    ".join(f'"{name}"' for name in symbols)
    return LOADER.format(more=more, fields="\n    ".join(symbols.values()), names=names)
