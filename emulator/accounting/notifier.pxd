# C types of notifier.py.
from emulator.accounting.eventlog cimport EventLog

cdef class Notifier:
    cdef public EventLog _log
    cdef public dict _heard
    cdef public object _hooks, of_submissions, of_starts, of_ends, of_run_times

    cpdef submitted(self, long long now, job)
    cpdef started(self, long long now, run, bint backfilled, reason, where=*, block=*, nodes=*)
    cpdef learnt(self, long long now, job, double ran)
    cpdef ended(self, long long now, job, run, str state, ended=*)
    cpdef passed(self, long long now, view)
