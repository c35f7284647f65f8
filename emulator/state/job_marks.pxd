# What job_marks.py does, for kernels: no call, but an assignment to a field of C.
from slurm_sim_plugins.job_fields cimport JobFields

cdef inline void mark_backfilled(JobFields job, bint backfilled) noexcept:
    job.backfilled = backfilled
