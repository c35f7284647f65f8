# C types of loop.py.
cimport cython
from emulator.engine.apply cimport Apply
from emulator.engine.event_heap cimport Due, EventHeap
from emulator.scheduling.admission cimport Admission
from emulator.scheduling.scheduling_pass cimport SchedulingPass
from slurm_sim_plugins.counts cimport Counts

cdef long long EXACT, WAKE, RETURN

cdef class Loop:
    cdef public object _table
    cdef public list _runs, _submits
    cdef public EventHeap _heap
    cdef public Apply _apply
    cdef public Counts _cluster_state
    cdef public Admission _admission
    cdef public SchedulingPass _pass
    cdef public bint _in_batches
    cdef public Py_ssize_t _first

    @cython.locals(
        heap=EventHeap, apply=Apply, cluster_state=Counts, admission=Admission, scheduling_pass=SchedulingPass,
        always=bint, now=cython.longlong, submitted=cython.longlong, ends=cython.longlong, happened=bint, due=Due,
        kind=cython.longlong, index=cython.Py_ssize_t, beyond=cython.Py_ssize_t)
    cdef Py_ssize_t _batches(self, Py_ssize_t first, list submits, long long until) except -1
    @cython.locals(apply=Apply, now=cython.longlong, due=list, event=Due, entry=tuple)
    cdef Py_ssize_t _one_by_one(self, Py_ssize_t first, list submits, long long until) except -1
    @cython.locals(entry=tuple, sequence=cython.longlong)
    cdef bint _is_current(self, Due due) except -1
