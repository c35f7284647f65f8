# C types of sweep_kernel.py.
cimport cython

@cython.locals(coming=cython.longlong, leaving=cython.longlong)
cpdef void sweep(
    const double[::1] submit, const long long[::1] group, const double[::1] ends, const long long[::1] end_group,
    const long long[::1] end_rank, const long long[::1] first, const double[::1] values, double span,
    const double[::1] percentiles, long long definition, long long min_jobs, long long[::1] tree,
    long long[::1] count, double[:, ::1] answer) noexcept
@cython.locals(rank=cython.longlong, low=double)
cdef double _percentile(
    long long[::1] tree, const long long[::1] first, const double[::1] values, long long group, long long count,
    double percentile, long long definition) noexcept
cdef long long _per_cent(double product) noexcept
@cython.locals(index=cython.longlong)
cdef void _mark(
    long long[::1] tree, const long long[::1] first, long long group, long long rank, long long by) noexcept
@cython.locals(index=cython.longlong, step=cython.longlong)
cdef long long _at(long long[::1] tree, const long long[::1] first, long long group, long long rank) noexcept
