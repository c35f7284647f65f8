# C types of usage_kernel.py.
cimport cython
cimport libc.math as math

@cython.locals(index=cython.Py_ssize_t, row=cython.Py_ssize_t, resource=cython.Py_ssize_t)
cpdef void add(double[:, ::1] table, const Py_ssize_t[::1] rows, const double[::1] amounts, double times) except *
@cython.locals(index=cython.Py_ssize_t)
cpdef void count(double[::1] column, const Py_ssize_t[::1] rows, double more) except *
@cython.locals(index=cython.Py_ssize_t, row=cython.Py_ssize_t, resource=cython.Py_ssize_t, decayed=double)
cpdef void charge(
    double[:, ::1] tres, double[::1] wall, const double[::1] decay, const Py_ssize_t[::1] rows,
    const double[::1] amounts, double seconds) except *
