# C types of node_table.py.
cimport cython

cdef long long UNITS, MEMORY, JOBS

@cython.locals(index=Py_ssize_t, node=Py_ssize_t)
cpdef void add(
    long long[:, ::1] table, tuple nodes, tuple units, tuple memory, long long sign, long long jobs,
    bint shared) except *
