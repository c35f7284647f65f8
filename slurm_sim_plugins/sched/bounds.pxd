# C types of bounds.py.
cimport cython

cdef class Bounds:
    cdef list _tried
    cdef tuple _names

    @cython.locals(first=list, kind=tuple, place=cython.Py_ssize_t, until=cython.Py_ssize_t, many=cython.Py_ssize_t)
    cpdef list first_of(self, list entries)
    @cython.locals(names=tuple, tried=dict, kind=tuple)
    cdef Py_ssize_t _count(self, entry, Py_ssize_t wanted) except -1
    @cython.locals(kind=list)
    cdef tuple _kind(self, entry, tuple names)
    @cython.locals(place=cython.Py_ssize_t)
    cdef bint _is_of(self, entry, tuple kind) except -1
