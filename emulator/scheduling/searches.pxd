# C types of searches.py.
cimport cython
from emulator.scheduling.windows_kernel cimport Columns, Request, Terms, Work, are_left, fits_alone, may_start, place
from emulator.state.job cimport Job

cdef double inf
cdef long long MOST_KNOWN, MOST_SEARCHES, MOST_WITNESSES, NEVER

cdef class Search:
    cdef public Request request
    cdef public Work work
    cdef public tuple sought
    cdef public double cpus
    cdef public long long cycle, otherwise, refused, seen, turn, witnesses
    cdef public long long[::1] witness
    cdef public bint reserved

cdef class Searches:
    cdef public long long begun, cycles, hopes
    cdef public double[::1] starts, cpus
    cdef public object taken
    cdef bint _parted, _reserved
    cdef long long _next, _nodes, _turn
    cdef list _alone, _owners, _works
    cdef dict _known
    cdef Terms _terms
    cdef long long[::1] _capacity, _marked
    cdef long long[:, ::1] _sets

    @cython.locals(owner=Search)
    cpdef long long begin(self, Terms terms, bint reserved) except -1
    @cython.locals(search=Search)
    cpdef start_over(self, bint again, bint parted)
    cpdef begin_again(self)
    cpdef more_may_start(self)
    @cython.locals(sought=tuple, search=Search, parted=bint)
    cpdef Search of(self, Job job, partition, length, plan)
    @cython.locals(
        goes_on=bint, begin=double, request=Request, work=Work, placed=cython.longlong, outcome=cython.longlong,
        taken=cython.longlong)
    cpdef (long long, long long, long long) place(self, Search search, Columns slots, long long most, dict tried) except *
    @cython.locals(request=Request, found=cython.longlong)
    cpdef bint could_start(self, Search search, Columns slots) except -1
    @cython.locals(request=Request)
    cpdef bint could_start_there(self, Search search, Columns slots) except -1
    @cython.locals(place=cython.longlong, owner=Search, work=Work)
    cdef _give_room(self, Search search, double begin)
