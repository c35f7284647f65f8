# C types of outlook_kernel.py, fields in its order.
cimport cython

from emulator.scheduling.select_kernel cimport Code, gres_of, room_on
from emulator.scheduling.stretches cimport Stretches, divide

cdef double inf
cdef long long COLUMN, FIRST, MANY, NODE
cdef long long FREE_JOBS, FREE_MEMORY, FREE_UNITS

cdef class Runs:
    cdef const double[::1] ends
    cdef const long long[:, ::1] parts, entries

cdef class Machine:
    cdef long long[:, ::1] rows
    cdef const long long[::1] weights
    cdef long long[:, ::1] free
    cdef readonly Runs runs
    cdef readonly Stretches stretches
    cdef public long long[:, ::1] parts, bounds

cdef class Outlook:
    cdef readonly Code code
    cdef const unsigned char[::1] usable
    cdef readonly Machine machine
    cdef readonly Runs runs
    cdef long long[:, ::1] state
    cdef long long[::1] first, last, before, after, touched, cpus, nodes
    cdef readonly long long seen
    cdef double asked
    cdef long long left_cpus, left_nodes

@cython.locals(
    free=cython.longlong[:, ::1], state=cython.longlong[:, ::1], first=cython.longlong[::1],
    last=cython.longlong[::1], wide=cython.longlong[::1], usable="const unsigned char[::1]", cpus=cython.longlong, nodes=cython.longlong, node=cython.longlong,
    there=cython.longlong, behind=cython.longlong)
cpdef void look(Outlook outlook, Code code) except *
cpdef void look_later(Machine machine, Runs runs) except *
cpdef void settle(Outlook outlook) except *
cpdef void ask_again(Outlook outlook) noexcept
@cython.locals(
    code=Code, machine=Machine, stretches=Stretches, run=cython.longlong, cpus=cython.longlong,
    nodes=cython.longlong, before=cython.longlong, after=cython.longlong, first=cython.longlong, many=cython.longlong,
    node=cython.longlong, entry=cython.longlong, touched=cython.longlong)
cpdef void look_on(Outlook outlook) except *
@cython.locals(units=cython.longlong, memory=cython.longlong, jobs=cython.longlong, there=cython.longlong)
cdef long long _there(Code code, Outlook outlook, long long node) except -1
@cython.locals(low=cython.longlong, high=cython.longlong)
cpdef long long ended(Outlook outlook, double time) noexcept
@cython.locals(run=cython.longlong)
cpdef long long soonest(Outlook outlook, long long cpus, long long nodes) except -2
@cython.locals(first=cython.longlong)
cpdef void free_after(Runs runs, long long many, long long[:, ::1] free) except *
