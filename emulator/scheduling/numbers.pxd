# C types of numbers.py.
cimport cython
from emulator.state.job cimport Job

@cython.locals(job=Job)
cpdef list renewable(dict jobs)
@cython.locals(job=Job)
cpdef list counted_otherwise(list jobs)
@cython.locals(job=Job)
cpdef list seen_of(list jobs)
@cython.locals(job=Job, place=cython.Py_ssize_t, rows="long long[::1]")
cpdef rows_of(list jobs)

cdef class Answered:
    cdef public list jobs
    cdef public object column

    @cython.locals(job=Job, place=cython.Py_ssize_t, many=cython.Py_ssize_t, changed=bint, numbers=list)
    cpdef bint renew(self, list jobs, column) except -1

cpdef answered(Job job)
@cython.locals(job=Job, changed=bint)
cpdef bint put(list jobs, answer) except -1
@cython.locals(job=Job)
cpdef share_cpus(list tasks, double cpus)
cpdef lifted(Job job, number)
