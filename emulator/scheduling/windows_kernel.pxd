# C types of windows_kernel.py, fields in its order; np.floor is the C library's.
cimport cython
cimport libc.math as np

from emulator.scheduling.outlook_kernel cimport Machine, Outlook, ended, look_on, settle, soonest
from emulator.scheduling.select_kernel cimport Code, Counts, count, count_pieces, enough, pick, pick_pieces
from emulator.scheduling.stretches cimport Stretches, cut

cdef double FIRST_WINDOW, inf
cdef long long FIRST, MANY, NODE
cdef long long BEGIN, CHANGE, COUNT, DELAY, EDGE, END, FOUND, FULL, GROW, KEPT, LEFT, MARKS, NEVER, NO_NODE, RESERVED
cdef long long CHILD, PARENT, RANGE, RANGED, RANGES
cdef long long SEEN, STARTS, UNKNOWN, USED
cdef long long MACHINE_THREADS, MACHINE_UNITS

cdef class Columns:
    cdef long long[::1] sizes
    cdef double[:, ::1] times
    cdef long long[:, ::1] order, parts
    cdef long long[::1] members
    cdef long long[:, ::1] ranges
    cdef double[::1] marks
    cdef long long[:, ::1] turns
    cdef const long long[::1] names
    cdef double[::1] others, until, over
    cdef readonly Stretches stretches

cdef class Terms:
    cdef readonly double now, horizon
    cdef double grain, phase, rounding
    cdef long long own_ends, most_marks, plans_are_news, by_tries, goes_on
    cdef double within, grows

cdef class Request:
    cdef readonly Code code
    cdef readonly Outlook outlook
    cdef double length
    cdef public Terms terms
    cdef const long long[::1] near
    cdef const unsigned char[::1] there

cdef class Work:
    cdef long long[::1] kept, room, capacity
    cdef Counts counts
    cdef long long[:, ::1] sets, taken
    cdef long long[::1] marked
    cdef double[::1] starts, cpus
    cdef public double tried, time
    cdef readonly double start
    cdef readonly long long runs
    cdef long long gone, failed, entered, left, known
    cdef public long long fitted
    cdef long long cuts
    cdef public double planned

@cython.locals(
    first=cython.longlong[::1], until=cython.double[::1], stretches=Stretches,
    begins=cython.longlong[::1], owner=cython.longlong[::1], node=cython.longlong)
cpdef long long may_start(
    Request request, Columns slots, long long[::1] capacity, long long[:, ::1] sets, long long[:, ::1] taken) except? -2
@cython.locals(
    machine=Machine, stretches=Stretches, begins=cython.longlong[::1], pieces=cython.longlong[::1],
    room=cython.longlong[::1])
cdef long long _picked(
    Request request, long long[::1] capacity, long long[:, ::1] sets, long long[:, ::1] taken) except -1
@cython.locals(first=cython.longlong[::1], machine=Machine)
cpdef bint fits_alone(
    Request request, long long found, long long[::1] capacity, long long[:, ::1] sets, long long[:, ::1] taken,
    long long[::1] witness) except? True
@cython.locals(until=cython.double[::1], end=double)
cpdef bint are_left(Request request, Columns slots, const long long[::1] nodes, long long many) noexcept
@cython.locals(members=cython.longlong[::1], until=cython.double[::1])
cpdef bint any_kept(Columns slots, long long first, const long long[::1] counts, bint some) noexcept
cpdef bint any_of(const long long[::1] counts) noexcept
cpdef void add_slot(double begin, double end, const long long[::1] nodes, long long many, Columns slots) noexcept
cpdef void keep(double begin, double end, const long long[::1] nodes, long long many, Columns slots) noexcept
@cython.locals(
    first=cython.longlong, last=cython.longlong, ranges=cython.longlong[:, ::1], node=cython.longlong)
cdef long long _put_ranges(Columns slots, const long long[::1] nodes, long long many) noexcept
cdef void _cut(Columns slots, long long first, long long behind) noexcept
cpdef void cut_again(Columns slots) noexcept
@cython.locals(behind=cython.longlong)
cdef void _put_in_order(Columns slots, long long row, long long slot) noexcept
@cython.locals(
    first=cython.longlong, last=cython.longlong, change=cython.longlong, place=cython.longlong, mark=cython.longlong)
cdef void _merge(
    Columns slots, double begin, double end, const long long[::1] nodes, long long many) noexcept
cdef void _mark(Columns slots, double bound) noexcept
@cython.locals(low=cython.longlong, high=cython.longlong)
cdef long long _later(double[::1] bounds, long long many, double time) noexcept
@cython.locals(begin=double, end=double)
cpdef (long long, long long, long long) place(
    Request request, Columns slots, Work work, bint goes_on, long long most) except *
@cython.locals(known=cython.longlong, most=cython.longlong)
cdef bint _is_full(Terms terms, Columns slots) noexcept
@cython.locals(whole=double)
cdef double _whole(Request request, double end) noexcept
@cython.locals(slot=cython.longlong, outlook=Outlook, stretches=Stretches)
cdef void _set_up(Request request, Columns slots, Work work, double begin) except *
@cython.locals(
    kept=cython.longlong[::1], room=cython.longlong[::1], capacity=cython.longlong[::1], first=cython.longlong[::1],
    stretches=Stretches, begins=cython.longlong[::1], owner=cython.longlong[::1], node=cython.longlong)
cdef void _lay_out(Outlook outlook, Work work) noexcept
@cython.locals(
    room=cython.longlong[::1], capacity=cython.longlong[::1], stretches=Stretches, begins=cython.longlong[::1])
cdef void _fill(Outlook outlook, Work work) noexcept
@cython.locals(stretches=Stretches, parent=cython.longlong, child=cython.longlong)
cdef void _cut_as_slots(Outlook outlook, Work work) noexcept
@cython.locals(run=cython.longlong, later=double)
cdef double _hopeful(Request request, Columns slots, double begin, Work work) except? -1
cdef void _catch_up(Request request, Columns slots, Work work) except *
cdef void _notice(Request request, Columns slots, long long slot, Work work) noexcept
@cython.locals(found=double, following=cython.longlong)
cdef double _next(Request request, Columns slots, double begin, Work work) noexcept
@cython.locals(
    many=cython.longlong, beyond=cython.longlong, last=double, rank=cython.longlong, slot=cython.longlong, time=double,
    reserved=bint)
cdef double _more_left(Request request, Columns slots, double begin, Work work) noexcept
@cython.locals(many=cython.longlong, left=cython.longlong, mark=cython.longlong)
cdef long long _beyond(Request request, Columns slots, double begin) noexcept
@cython.locals(low=cython.longlong, high=cython.longlong, middle=cython.longlong)
cdef long long _ended(Columns slots, double time) noexcept
@cython.locals(
    marked=cython.longlong[::1], there="const unsigned char[::1]", part=cython.longlong, other=cython.longlong,
    node=cython.longlong, found=bint)
cdef bint _leaves_any(
    Request request, Columns slots, long long slot, double begin, bint reserved, Work work) noexcept
@cython.locals(part=cython.longlong, many=cython.longlong, time=double, other=cython.longlong)
cdef long long _mark_left(Columns slots, long long slot, long long[::1] marked) noexcept
@cython.locals(left=cython.longlong, time=double)
cdef bint _leaves_it_still(Request request, Columns slots, long long slot) noexcept
@cython.locals(part=cython.longlong)
cdef bint _has(Columns slots, long long slot, long long node) noexcept
@cython.locals(
    there="const unsigned char[::1]", over=cython.double[::1], part=cython.longlong, node=cython.longlong)
cdef bint _leaves_for_good(Request request, Columns slots, long long slot) noexcept
@cython.locals(found=cython.longlong, part=cython.longlong)
cdef long long _unmark(Columns slots, long long slot, long long[::1] marked) noexcept
@cython.locals(slot=cython.longlong)
cdef bint _reserved(Request request, Columns slots, double begin) noexcept
@cython.locals(later=double, found=cython.longlong)
cdef long long _seek(Request request, Columns slots, Work work) except -1
cdef void _move(Request request, Columns slots, Work work, double begin) except *
@cython.locals(gone=cython.longlong, ends="const double[::1]")
cdef long long _gone(Request request, double begin) noexcept
@cython.locals(
    first=cython.longlong, flips=cython.longlong, stretches=Stretches, piece=cython.longlong,
    behind=cython.longlong, following=cython.longlong, there=cython.longlong)
cdef void _change(Request request, Columns slots, long long slot, long long sign, Work work) noexcept
cdef void _give(Request request, long long upto, Work work, bint live) except *
@cython.locals(
    machine=Machine, stretches=Stretches, first=cython.longlong, piece=cython.longlong, behind=cython.longlong,
    following=cython.longlong, there=cython.longlong)
cdef void _put(Request request, long long run, long long[::1] rooms, Work work, bint live) noexcept
cdef void _recount(Code code, Counts counts, long long cpus, long long there, long long many) noexcept
@cython.locals(
    by_tries=bint, ends="const double[::1]", run=cython.longlong, until=double, many=cython.longlong, first=double,
    found=cython.longlong, last=cython.longlong, time=double)
cdef long long _within(Request request, Work work, double later) except -1
@cython.locals(
    outlook=Outlook, machine=Machine, stretches=Stretches, ends="const double[::1]", last=cython.longlong, until=double,
    node=cython.longlong, counts=bint)
cdef (long long, long long, double) _window(
    Request request, Work work, long long run, double first, double later) except *
@cython.locals(
    outlook=Outlook, machine=Machine, stretches=Stretches, first=cython.longlong, node=cython.longlong,
    piece=cython.longlong, behind=cython.longlong)
cdef bint _counts(Request request, Work work, long long run) noexcept
@cython.locals(aligned=double, window=double)
cdef double _window_end(Terms terms, double first, double end) noexcept
cdef long long _fit(Request request, Work work) except -1
cdef bint _delays_matter(Request request, Columns slots) noexcept
@cython.locals(
    ends="const double[::1]", runs=cython.longlong, upto=cython.longlong, following=cython.longlong, fits=bint)
cdef bint _fits_before(Request request, Work work) except? True
@cython.locals(
    machine=Machine, parts=cython.longlong[:, ::1], owner=cython.longlong[::1], ends="const double[::1]",
    marked=cython.longlong[::1], first=cython.longlong, index=cython.longlong, run=cython.longlong, latest=double)
cdef double _own_end(Request request, Work work, long long found) noexcept
@cython.locals(rows=cython.longlong[:, ::1], cpus=cython.longlong, node=cython.longlong)
cdef long long _cpus_of(Request request, Work work, long long found) noexcept
cdef void _mark_taken(Work work, long long found, long long mark) noexcept
@cython.locals(first=double)
cdef double _first_end(Columns slots, double begin, double end, Work work, long long found) noexcept
