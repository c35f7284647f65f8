# C types of decision_log.py.
cimport cython
from emulator.accounting.eventlog cimport EventLog, seconds
from slurm_sim_plugins.counts cimport Counts
from slurm_sim_plugins.entry cimport Entry

cdef class DecisionLog:
    cdef public dict _by, _planned
    cdef public object _cluster_state, _left
    cdef public Counts _counts
    cdef public long long _free_left, _waiting_left
    cdef public set _known
    cdef public EventLog _log
    cdef public double _instant
    cdef public str _instant_text

    @cython.locals(
        counts=Counts, waiting=list, free=cython.longlong, position=cython.Py_ssize_t, many=cython.Py_ssize_t)
    cpdef job_submitted(self, job, double now)
    @cython.locals(counts=Counts, free=cython.longlong, waiting=cython.longlong)
    cpdef pass_done(self, view)
    @cython.locals(whole=cython.longlong)
    cdef str _begun(self, double now)
    @cython.locals(counts=Counts)
    cdef str _begun_at(self, view)
    @cython.locals(kind=str, at=str, why=str)
    cpdef decided(self, str hook, view, decision)
    @cython.locals(why=str)
    cdef _started(self, str hook, view, decision)
    @cython.locals(begun=str, over=str, number=str)
    cdef _reserved(self, str hook, view, decision)

cdef str _time_text(time)

cdef class Noted:
    cdef public DecisionLog _log
    cdef public str _hook
    cdef public object _asked, _view, decisions

    cdef _answered(self, answer)
    @cython.locals(log=DecisionLog)
    cdef _note(self, decision)
