# C types of counts.py.
cimport cython
from slurm_sim_plugins.job_fields cimport JobFields
from slurm_sim_plugins.run_list cimport first_fit, fitting, free_by

cdef double HALF_A_MICROSECOND

cdef class Fitting

cdef class Counts:
    cdef public double now
    cdef public long long free, _total
    cdef public object head, _reservation, _plan, _backfill_order
    cdef public bint changed
    cdef public list _waiting, _runs, _arrived

    @cython.locals(kept=tuple, promised=tuple, time=double)
    cpdef tuple earliest_start(self, job)
    cpdef list candidates(self, bint retry=*)
    @cython.locals(jobs=list, every=bint)
    cpdef overtaking(self, double in_time, long long extra, bint retry=*)
    @cython.locals(free=cython.longlong, jobs=list)
    cdef list _candidates(self, bint retry, double in_time, long long extra)
    @cython.locals(found=Fitting)
    cpdef fitting(self, list jobs, double in_time=*, long long extra=*)
    cpdef double until(self, double time)
    cpdef long long free_at(self, double time) except? -1

@cython.no_gc
@cython.freelist(8)
cdef class Fitting:
    cdef public Counts _counts
    cdef public list _jobs
    cdef public Py_ssize_t _next
    cdef public double _in_time
    cdef public long long _extra

    @cython.locals(jobs=list, place=cython.Py_ssize_t, free=cython.longlong, job=JobFields)
    cdef JobFields _following(self)
