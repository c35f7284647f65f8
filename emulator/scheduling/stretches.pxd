# C types of stretches.py, fields in its order.
cimport cython

cdef long long CHILD, COLUMN, FIRST, MANY, NODE, PARENT, SPAN

cdef class Stretches:
    cdef unsigned char[::1] fixed, heads
    cdef long long[::1] wide, owner, pieces
    cdef long long[:, ::1] cuts
    cdef long long[::1] room, begins
    cdef long long many, count

cpdef void forget(Stretches stretches) except *
@cython.locals(fixed="unsigned char[::1]")
cpdef void tell_apart(Stretches stretches, const long long[:, ::1] rows, long long many) noexcept
@cython.locals(fixed="unsigned char[::1]", owner=cython.longlong[::1], found=bint)
cpdef bint mixes(Stretches stretches, const unsigned char[::1] usable) noexcept
@cython.locals(
    heads="unsigned char[::1]", fixed="unsigned char[::1]", there="const long long[::1]",
    used=cython.longlong)
cpdef void divide(
    Stretches stretches, const long long[:, ::1] free, const long long[:, ::1] index, const long long[:, ::1] entries,
    long long[:, ::1] parts, long long[:, ::1] bounds) except *
cpdef void uncut(Stretches stretches) noexcept
@cython.locals(
    heads="unsigned char[::1]", node=cython.longlong, behind=cython.longlong, entry=cython.longlong)
cdef void _mark(Stretches stretches, const long long[:, ::1] entries, long long first, long long many) noexcept
@cython.locals(
    wide=cython.longlong[::1], node=cython.longlong, behind=cython.longlong, entry=cython.longlong)
cdef long long _part(
    Stretches stretches, const long long[:, ::1] entries, long long first, long long many, long long[:, ::1] parts,
    long long used) noexcept
@cython.locals(
    heads="unsigned char[::1]", wide=cython.longlong[::1], owner=cython.longlong[::1], pieces=cython.longlong[::1],
    head=cython.longlong, size=cython.longlong, begins=cython.longlong[::1], count=cython.longlong)
cdef void _link(Stretches stretches) noexcept
@cython.locals(begins=cython.longlong[::1], place=cython.longlong, parent=cython.longlong, later=cython.longlong)
cpdef void cut(Stretches stretches, long long node) noexcept
@cython.locals(low=cython.longlong, high=cython.longlong, middle=cython.longlong)
cdef long long _behind(long long[::1] begins, long long count, long long node) noexcept
