# C types of price_kernel.py.
cimport cython

@cython.locals(place=cython.Py_ssize_t, many=cython.Py_ssize_t)
cpdef bint are_at(list jobs, list known, long long[::1] rows) except -1
@cython.locals(job=cython.Py_ssize_t, age=double, time=double, total=double, account=cython.longlong, request=cython.longlong)
cpdef void price(
    const long long[::1] accounts, const long long[::1] requests, const double[:, ::1] of_accounts,
    const double[:, ::1] of_requests, const double[::1] waited, double max_age, double age_weight, double[::1] ages,
    double[::1] points) except *
