# C types of start.py.

cdef class Start:
    cdef public object job, reason, _there
