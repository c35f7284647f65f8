# C types of admission.py.
cimport cython
from emulator.engine.apply cimport Apply
from slurm_sim_plugins.job_fields cimport JobFields

cdef class Admission:
    cdef public object _cluster_state, _hooks, _validate, _priorities, _walltime_view, _walltime_submit, _chain
    cdef public Apply _apply
    cdef public long long _total
    cdef public list _jobs
    cdef public dict _refused
    cdef public bint _plain

    @cython.locals(jobs=list, index=cython.Py_ssize_t)
    cpdef submit(self, Py_ssize_t first, Py_ssize_t beyond)
    cdef _take_in(self, JobFields job)
