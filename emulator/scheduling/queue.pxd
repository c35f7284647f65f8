# C types of queue.py.
cimport cython
from slurm_sim_plugins.counts cimport Counts
from slurm_sim_plugins.job_fields cimport JobFields, before

cdef class JobQueue:
    cdef public Counts _cluster_state
    cdef public list _jobs

    @cython.locals(jobs=list, position=cython.Py_ssize_t)
    cpdef bint add(self, JobFields job) except -1
    @cython.locals(jobs=list)
    cpdef bint remove(self, JobFields job) except -1
    cpdef bint sort(self) except -1
    @cython.locals(jobs=list, first=cython.Py_ssize_t, beyond=cython.Py_ssize_t, middle=cython.Py_ssize_t)
    cdef Py_ssize_t _place(self, JobFields job) except -1
