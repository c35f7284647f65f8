# C types of price_kernel.py.
cimport cython

cdef long long ACCOUNT, NUMBER, OFFSET, REQUEST, TOTAL
cdef double EXACT

@cython.locals(place=cython.Py_ssize_t, many=cython.Py_ssize_t)
cpdef bint are_at(list jobs, list known, long long[::1] rows) except -1
@cython.locals(
    job=cython.Py_ssize_t, row=cython.longlong, age=double, time=double, points=double, account=cython.longlong,
    request=cython.longlong, offset=cython.longlong, total=cython.longlong)
cpdef bint price(
    const long long[::1] rows, const long long[:, ::1] facts, const double[:, ::1] of_accounts,
    const double[:, ::1] of_requests, const double[::1] waited, double max_age, double age_weight, double[::1] ages,
    long long[:, ::1] priced) except -1
