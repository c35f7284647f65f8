# C types of swf_kernel.py.
cimport cython

cdef int FIELDS, FRACTION, MOST_DIGITS, MOST_WITH_POINT
cdef int NEWLINE, TAB, SPACE, MINUS, POINT, ZERO, NINE, SEMICOLON

@cython.locals(size=cython.Py_ssize_t, at=cython.Py_ssize_t, line=cython.longlong, count=cython.Py_ssize_t,
               told=cython.Py_ssize_t, byte=cython.int)
cpdef long long parse(
    const unsigned char[::1] data, const long long[::1] places, long long[:, ::1] wholes, double[:, ::1] fractions,
    long long[::1] lines, long long[::1] comments) except -2
@cython.locals(field=cython.int)
cdef Py_ssize_t _record(
    const unsigned char[::1] data, Py_ssize_t at, Py_ssize_t size, const long long[::1] places,
    long long[:, ::1] wholes, double[:, ::1] fractions, Py_ssize_t count) noexcept
@cython.locals(negative=cython.bint, begin=cython.Py_ssize_t, number=cython.longlong, digits=cython.Py_ssize_t,
               power=cython.longlong, point=cython.bint, ended=cython.bint)
cdef Py_ssize_t _number(
    const unsigned char[::1] data, Py_ssize_t at, Py_ssize_t size, long long place,
    long long[:, ::1] wholes, double[:, ::1] fractions, Py_ssize_t count) noexcept
cdef void _write(
    long long place, long long number, long long power, long long[:, ::1] wholes, double[:, ::1] fractions,
    Py_ssize_t count) noexcept
