# C types of profile_kernel.py; np.rint is the C library's.
cimport libc.math as np

cdef double MICROSECONDS

cpdef long long place(
    double[::1] times, long long[::1] free, long long count, const long long[::1] processors,
    const double[::1] durations, double[::1] starts, double not_before) except -1
cpdef long long compress(
    double[::1] times, long long[::1] free, long long count, const long long[::1] processors,
    const double[::1] durations, double[::1] starts, double not_before) except -1
cdef double _end(double start, double duration) noexcept
cdef (double, long long) _take(
    double[::1] times, long long[::1] free, long long count, long long wanted, double duration, double begin) noexcept
cdef void _change(
    double[::1] times, long long[::1] free, long long count, double start, double end, long long change) noexcept
cdef long long _ensure_step(double[::1] times, long long[::1] free, long long count, double time) noexcept
cdef long long _first_from(double[::1] times, long long count, double time) noexcept
