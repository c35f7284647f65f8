# C types of apply.py.
cimport cython
cimport emulator.state.job_marks as job_marks
cimport libc.math as np
from emulator.accounting.headwatch cimport HeadWatch
from emulator.engine.event_heap cimport EventHeap
from emulator.scheduling.queue cimport JobQueue
from slurm_sim_plugins.counts cimport Counts
from slurm_sim_plugins.job_fields cimport JobFields
from slurm_sim_plugins.run_list cimport drop, place_of

cdef long long LAST, FINISH

cdef class Apply:
    cdef public long long now, free, _sequence
    cdef public bint changed, hopeful, _hands_over
    cdef public HeadWatch watch
    cdef public JobQueue _queue
    cdef public Counts _cluster_state
    cdef public list runs, useful, _start, _end, _backfilled, _duration, _ends_by
    cdef public EventHeap _heap
    cdef public dict _plans
    cdef public object renumber, replan, facts, state, _table, _progress, _overdue, _handover, _livelock, _learnt
    cdef public object _notifier, _submit_notifier, _start_notifier, _end_notifier

    cpdef submit(self, JobFields job)
    @cython.locals(index=cython.Py_ssize_t, arrived=list, was_head=bint, told=tuple)
    cpdef start(self, JobFields job, reason=*, where=*)
    @cython.locals(delay=cython.longlong)
    cpdef tuple _occupy(self, JobFields job, where)
    @cython.locals(
        cluster_state=Counts, now=cython.longlong, index=cython.Py_ssize_t, planned=double, sequence=cython.longlong,
        length=cython.longlong, ends=cython.longlong, planned_end=double, runs=list)
    cpdef tuple _begin(self, JobFields job, long long takes, long long delay)
    cpdef end(self, Py_ssize_t index, long long kind)
    @cython.locals(cluster_state=Counts, entries=list, held=cython.longlong)
    cpdef tuple _leave(self, Py_ssize_t index)
