# C types of bounds.py.
cimport cython
from slurm_sim_plugins.entry cimport Entry

cdef class Bounds:
    cdef list _tried
    cdef bint _together

    cpdef bint are_none(self) except -1
    @cython.locals(first=list, place=cython.Py_ssize_t, until=cython.Py_ssize_t, many=cython.Py_ssize_t)
    cpdef list first_of(self, list entries)
    @cython.locals(names=tuple, tried=dict)
    cpdef uncount(self, entry)
    @cython.locals(names=tuple, tried=dict, kind=tuple)
    cdef Py_ssize_t _count(self, entry, Py_ssize_t wanted) except -1
    @cython.locals(kind=list)
    cdef tuple _kind(self, entry, tuple names)

cdef bint _is_like(Entry entry, Entry other) except -1
