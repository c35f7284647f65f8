# C types of eventlog.py.
cimport cython

cdef long long MICROSECONDS
cdef Py_ssize_t BUFFERED_LINES

cdef class EventLog:
    cdef object _stream
    cdef list _lines
    cdef long long _at
    cdef str _time_text
    cdef public object named

    cpdef submit(self, long long now, long long job)
    cpdef reserve(self, long long now, long long job, double start, reason)
    @cython.locals(ahead=str, there=str)
    cpdef start(self, long long now, long long job, long long processors, bint backfilled, reason, where=*, block=*, nodes=*)
    cpdef requeue(self, long long now, long long job, preemptor, reason)
    cpdef end(self, long long now, long long job, str state, ended=*)
    cpdef note(self, long long now, str event, facts)
    cpdef note_text(self, long long now, str event, str facts)
    @cython.locals(lines=list)
    cpdef line(self, str text)
    cpdef flush(self)
    cdef str _time(self, long long now)

@cython.locals(whole=cython.longlong, part=cython.longlong)
cpdef str seconds(long long instant)
cdef str _reason(reason)
