# C types of searches.py.
cimport cython
from emulator.scheduling.windows_kernel cimport Columns, Request, Work, may_start, place
from emulator.state.job cimport Job

cdef double inf
cdef long long MOST_SEARCHES, NEVER

cdef class Search:
    cdef public Request request
    cdef public Work work
    cdef public tuple sought
    cdef public double cpus
    cdef public bint hopeless, parted
    cdef public long long turn

cdef class Searches:
    cdef public long long begun, cycles, preempted
    cdef public double[::1] starts
    cdef public object taken
    cdef long long _next, _nodes, _turn
    cdef list _owners, _works
    cdef dict _known
    cdef long long[::1] _capacity
    cdef long long[:, ::1] _sets

    cpdef long long begin(self) except -1
    @cython.locals(search=Search)
    cpdef start_over(self, bint parted)
    @cython.locals(search=Search)
    cpdef more_may_start(self)
    @cython.locals(sought=tuple, search=Search, parted=bint)
    cpdef Search of(self, Job job, partition, length, plan)
    @cython.locals(
        goes_on=bint, begin=double, request=Request, work=Work, placed=cython.longlong, outcome=cython.longlong,
        taken=cython.longlong)
    cpdef (long long, long long, long long) place(self, Search search, Columns slots, long long most, dict tried) except *
    @cython.locals(request=Request)
    cpdef bint could_start(self, Search search, Columns slots) except -1
    @cython.locals(place=cython.longlong, owner=Search, work=Work)
    cdef _give_room(self, Search search, double begin)
