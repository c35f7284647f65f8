# C types of windows_kernel.py, fields in its order; np.floor is the C library's.
cimport cython
cimport libc.math as np

from emulator.scheduling.select_kernel cimport Code, Counts, count, enough, fill, gres_of, pick, recount, room_on

cdef double FIRST_WINDOW, inf
cdef long long FIRST, MANY, NODE
cdef long long FREE_JOBS, FREE_MEMORY, FREE_UNITS
cdef long long BEGIN, COUNT, END, FOUND, FULL, GROW, KEPT, MARKS, NEVER, STARTS, USED

cdef class Columns:
    cdef long long[::1] sizes
    cdef double[:, ::1] times
    cdef long long[:, ::1] order, parts
    cdef long long[::1] members
    cdef double[::1] marks, others

cdef class Runs:
    cdef const double[::1] ends
    cdef const long long[:, ::1] parts, entries

cdef class Machine:
    cdef long long[:, ::1] rows
    cdef const long long[::1] weights
    cdef long long[:, ::1] free

cdef class Request:
    cdef readonly Code code
    cdef const unsigned char[::1] usable
    cdef double now, horizon, grain
    cdef long long most_marks
    cdef double length

cdef class Work:
    cdef readonly long long[:, ::1] state
    cdef long long[::1] kept, room, capacity
    cdef Counts counts
    cdef long long[:, ::1] sets, taken
    cdef double[::1] starts
    cdef public double tried, time
    cdef long long runs, entered, left, known

cpdef void add_slot(double begin, double end, const long long[::1] nodes, long long many, Columns slots) noexcept
cpdef void keep(double begin, double end, const long long[::1] nodes, long long many, Columns slots) noexcept
@cython.locals(behind=cython.longlong)
cdef void _put_in_order(Columns slots, long long row, long long slot) noexcept
cdef void _mark(Columns slots, double bound) noexcept
@cython.locals(low=cython.longlong, high=cython.longlong)
cdef long long _later(double[::1] bounds, long long many, double time) noexcept
@cython.locals(begin=double, end=double)
cpdef (long long, long long, long long) place(
    Request request, Machine machine, Runs runs, Columns slots, Work work, bint goes_on, long long most) except *
@cython.locals(capacity=cython.longlong[::1], kept=cython.longlong[::1], room=cython.longlong[::1])
cdef void _set_up(Request request, Machine machine, Runs runs, Columns slots, Work work, double begin) except *
@cython.locals(upto=cython.longlong)
cdef void _catch_up(Request request, Machine machine, Runs runs, Columns slots, Work work) except *
@cython.locals(found=double, following=cython.longlong)
cdef double _next(Columns slots, double begin) noexcept
@cython.locals(later=double)
cdef long long _seek(Request request, Machine machine, Runs runs, Columns slots, Work work) except -1
@cython.locals(upto=cython.longlong)
cdef void _move(
    Request request, Machine machine, Runs runs, Columns slots, Work work, double begin, bint live) except *
cdef void _change(Request request, Columns slots, long long slot, long long sign, Work work, bint live) noexcept
cdef void _give(Request request, Machine machine, Runs runs, long long upto, Work work, bint live) except *
@cython.locals(there=cython.longlong, state=cython.longlong[:, ::1])
cdef void _recount(Request request, Machine machine, Runs runs, long long run, Work work) except *
@cython.locals(upto=cython.longlong)
cdef long long _within(Request request, Machine machine, Runs runs, Work work, double later) except -1
@cython.locals(window=double)
cdef double _window_end(double first, double end) noexcept
cdef long long _fit(Request request, Machine machine, Work work) except -1
@cython.locals(first=double)
cdef double _first_end(Columns slots, double begin, double end, Work work, long long found) noexcept
