# The C types of tier_work.py where it is compiled.

cimport cython

cdef long long BITS, BASE, MASK, KEPT, ENDLESS, ROUNDED
cdef double SHARE, FURTHEST

cdef class TierWork:
    cdef long long[::1] whole, first, second, third, fourth, whole0, first0, second0, third0, fourth0
    cdef long long r0, r1, r2, r3, r4, p0, p1, p2, p3, p4
    cdef double rate

    cpdef void clear(self, long long job) noexcept
    cpdef void mark(self, long long job) noexcept
    @cython.locals(rest=cython.double)
    cdef void take(self, double rate) noexcept
    @cython.locals(low=cython.longlong, middle=cython.longlong, high=cython.longlong)
    cdef void multiply(self, long long time) noexcept
    cdef void carry(self) noexcept
    cdef void add_up(self, long long job, double rate, long long time) noexcept
    cpdef void add(self, long long job, double rate, long long time) noexcept
    cpdef long long done(self, long long job, double rate, long long time) noexcept
    @cython.locals(speed=cython.double, fraction=cython.double, time=cython.longlong)
    cpdef long long time_left(self, long long job, double rate, long long work) noexcept
    cdef double size(self) noexcept
    @cython.locals(rest=cython.longlong)
    cdef long long twice_and(self, long long sign) noexcept
    @cython.locals(bits=cython.longlong, scale=cython.double)
    cpdef double since_mark(self, long long job) noexcept
