# C types of scheduling_pass.py.
cimport cython
from emulator.accounting.headwatch cimport HeadWatch
from emulator.engine.apply cimport Apply
from slurm_sim_plugins.counts cimport Counts
from slurm_sim_plugins.job_fields cimport JobFields
from slurm_sim_plugins.start cimport Start

cdef long long PENDING

cdef class SchedulingPass:
    cdef public Counts _view
    cdef public Apply _apply
    cdef public bint _may_overrun, _every_pass, _observed, always
    cdef public object _state
    cdef public object _decisions, _sendable, _behind, _hooks, _validate, _room, _renew, _facts, _main_loop, _schedule, _patient_with
    cdef public object _pending_view, _backfill_view, _cycle, before
    cdef public long long _patience, _fruitless

    @cython.locals(view=Counts, apply=Apply, now=double, watch=HeadWatch, head=object, start=Start)
    cpdef run(self)
    cdef bint _may_start(self, JobFields job) except -1
    @cython.locals(state=cython.longlong)
    cdef bint _waits(self, JobFields job) except -1
    cdef _reserve(self, job, time, reason, decision)
    cpdef _check_and_apply(self, decision)
