# C types of headwatch.py.
cimport cython
from slurm_sim_plugins.counts cimport Counts
from slurm_sim_plugins.job_fields cimport JobFields, before

cdef long long NEVER

cdef class HeadWatch:
    cdef public Counts _cluster_state
    cdef public list _blocked, _could_start
    cdef public JobFields head
    cdef public long long missing
    cdef public bint _noted

    cpdef void seen(self, head, long long now) except *
    cpdef void left_blocked(self, JobFields head, long long now) except *
    @cython.locals(entry=tuple, held=cython.longlong, processors=cython.longlong)
    cdef long long _lower(self, JobFields head) except? -1
    cpdef void ended(self, JobFields job) except *
    cpdef void started(self, JobFields job) except *
    @cython.locals(index=cython.Py_ssize_t)
    cpdef void head_started(self, JobFields job, long long now) except *
    cpdef void reordered(self) except *
    @cython.locals(index=cython.Py_ssize_t)
    cdef void _note(self, long long now) except *
