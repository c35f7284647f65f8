# C types of run_kernel.py.
cimport cython

cdef long long FIRST, ID, MANY, NODE, PLACE, SPAN

@cython.locals(row=cython.longlong)
cpdef void put_in(
    double[::1] ends, long long[:, ::1] index, long long count, double end, long long job, long long place,
    long long first, long long many) except *
@cython.locals(low=cython.longlong, high=cython.longlong, middle=cython.longlong, many=cython.longlong, row=cython.longlong)
cpdef long long take_out(double[::1] ends, long long[:, ::1] index, long long count, double end, long long job) except -1
cdef void _copy(long long[:, ::1] index, long long row, long long to) noexcept
@cython.locals(place=cython.Py_ssize_t, column=cython.longlong)
cpdef void write(long long[:, ::1] entries, long long first, nodes, tuple units, tuple memory) except *
@cython.locals(column=cython.longlong)
cpdef void span(long long[:, ::1] entries, long long first, long long many) noexcept
@cython.locals(row=cython.Py_ssize_t)
cdef bint _goes_on(long long[:, ::1] entries, long long column) noexcept
