# C types of alike.py.
cimport cython
from emulator.scheduling.outlook_kernel cimport Outlook
from emulator.scheduling.select_kernel cimport Code
from emulator.scheduling.windows_kernel cimport Columns, may_start
from emulator.state.job cimport Job

@cython.locals(job=Job, index=cython.Py_ssize_t, pair=tuple, entries=tuple, found=list)
cpdef list entries_of(list pairs, make)
@cython.locals(job=Job, other=Job, until=cython.Py_ssize_t, many=cython.Py_ssize_t, stated=bint)
cpdef Py_ssize_t alike_until(list entries, Py_ssize_t first, joins, bint by_user=*) except -1
@cython.locals(job=Job, other=Job, place=cython.Py_ssize_t)
cpdef Py_ssize_t alike_from(list entries, Py_ssize_t last, bint by_user=*) except -1

cdef class Question:
    cdef public Code code
    cdef public Outlook outlook
    cdef public double end

cdef class Hopes:
    cdef object _ask, _decides
    cdef public bint by_user
    cdef dict _questions
    cdef set _cannot
    cdef long long[::1] _capacity
    cdef long long[:, ::1] _sets, _taken

    cpdef other_runs(self)
    cpdef more_may_start(self)
    cpdef Py_ssize_t last(self, list entries, Py_ssize_t last, Columns slots) except -1
    @cython.locals(job=Job, alike=tuple, question=Question, code=Code, outlook=Outlook)
    cdef bint _could_start(self, entry, Columns slots) except -1

@cython.locals(job=Job, done=cython.Py_ssize_t)
cpdef Py_ssize_t plan_alike(list entries, list times, now, kind, cpus_planned) except -1
cpdef length_of(Job job)
