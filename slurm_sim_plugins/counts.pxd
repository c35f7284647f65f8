# C types of counts.py.
cimport cython
from slurm_sim_plugins.run_list cimport first_fit, free_by

cdef double HALF_A_MICROSECOND

cdef class Counts:
    cdef public double now
    cdef public long long free, _total
    cdef public object head, _reservation, _plan
    cdef public bint changed
    cdef public list _waiting, _runs, _arrived

    @cython.locals(kept=tuple, promised=tuple, time=double)
    cpdef tuple earliest_start(self, job)
    cpdef double until(self, double time)
    cpdef long long free_at(self, double time) except? -1
