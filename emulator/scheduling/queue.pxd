# C types of queue.py.
cimport cython
from slurm_sim_plugins.counts cimport Counts
from slurm_sim_plugins.job_fields cimport JobFields

cdef class JobQueue:
    cdef public Counts _cluster_state
    cdef public list _jobs, _orders

    @cython.locals(position=cython.Py_ssize_t)
    cpdef bint add(self, JobFields job) except -1
    @cython.locals(position=cython.Py_ssize_t)
    cpdef bint remove(self, JobFields job) except -1
    cpdef bint sort(self) except -1
