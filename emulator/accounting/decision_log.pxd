# C types of decision_log.py.
cimport cython
from emulator.accounting.eventlog cimport EventLog, seconds

cdef class DecisionLog:
    cdef public dict _by, _planned
    cdef public object _cluster_state, _left
    cdef public set _known
    cdef public EventLog _log
    cdef public double _instant
    cdef public str _instant_text

    cdef str _begun(self, double now)
    @cython.locals(kind=str, at=str, why=str)
    cpdef decided(self, str hook, view, decision)
