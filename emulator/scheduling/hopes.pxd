# C types of hopes.py.
cimport cython
from emulator.scheduling.alike cimport alike_from, length_of
from emulator.scheduling.outlook_kernel cimport Outlook
from emulator.scheduling.select_kernel cimport Code
from emulator.scheduling.windows_kernel cimport Columns, may_start
from emulator.state.job cimport Job

cdef class Question:
    cdef public Code code
    cdef public Outlook outlook
    cdef public double end

cdef class Hopes:
    cdef public bint by_user
    cdef dict _questions
    cdef set _cannot
    cdef long long[::1] _capacity
    cdef long long[:, ::1] _sets, _taken

    cpdef other_runs(self)
    cpdef more_may_start(self)
    cpdef Py_ssize_t last(self, list entries, Py_ssize_t last, Columns slots, ask, decides) except -1
    @cython.locals(job=Job, alike=tuple, question=Question, code=Code, outlook=Outlook)
    cdef bint _could_start(self, entry, Columns slots, ask) except -1
