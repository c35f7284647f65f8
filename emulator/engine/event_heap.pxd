# C types of event_heap.py.
cimport cython

@cython.final
@cython.freelist(256)
cdef class Due:
    cdef public long long instant, kind, sequence, index

    cpdef bint before(self, Due other) noexcept

cdef class EventHeap:
    cdef public list _heap

    @cython.locals(due=Due)
    cpdef long long next_instant(self) except? -1
    @cython.locals(due=Due, other=Due, heap=list, place=cython.Py_ssize_t, above=cython.Py_ssize_t)
    cpdef void push(self, long long instant, long long kind, long long sequence, long long index) except *
    @cython.locals(
        heap=list, last=Due, first=Due, least=Due, other=Due, place=cython.Py_ssize_t, below=cython.Py_ssize_t,
        beyond=cython.Py_ssize_t)
    cpdef Due pop(self)
