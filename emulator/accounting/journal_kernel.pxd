# C types of journal_kernel.py.
cimport cython
from emulator.scheduling.numbers cimport Answered
from emulator.state.job cimport Job

cdef double MINUTE

@cython.locals(job=Job, many=cython.Py_ssize_t, seen=tuple)
cpdef Py_ssize_t changed_waits(
    list jobs, dict last, dict reasons, long long[::1] numbers, long long[::1] codes, long long[::1] priorities,
    double[::1] plans) except -1
cdef bint _has_moved(before, planned) except -1
@cython.locals(job=Job, moved=list)
cpdef list moved_plans(jobs, dict told)
cpdef shown_priority(Job job)
@cython.locals(job=Job, together=list, alone=list)
cpdef tuple by_column(list jobs, Answered column)
@cython.locals(job=Job, index=cython.Py_ssize_t)
cpdef void facts_of(list jobs, dict partitions, long long[:, ::1] facts) except *
