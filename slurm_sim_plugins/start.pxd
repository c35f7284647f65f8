# C types of start.py.
cimport cython

@cython.no_gc
@cython.freelist(8)
cdef class Start:
    cdef public object job, reason, _there
