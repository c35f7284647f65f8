# C types of order.py.
cimport cython
from emulator.state.job cimport Job

cdef class Order:
    cdef public object _reservations, _waiting, _kinds, _classes, listed, magnets, preempts, takes, tiers_first
    cdef public list _pairs
    cdef public dict _many
    cdef public bint _lent, _stale, by_list, several

    cpdef changed(self)
    @cython.locals(pairs=list, pair=tuple)
    cpdef settle(self, Job job)
    @cython.locals(pair=tuple)
    cpdef discard(self, Job job)
    cdef _keep_lent(self)
    @cython.locals(pairs=list)
    cdef bint _stands(self, tuple pair) except -1
    @cython.locals(pairs=list, job=Job, other=Job, there=tuple)
    cdef _place(self, tuple pair)
    @cython.locals(low=cython.Py_ssize_t, high=cython.Py_ssize_t, middle=cython.Py_ssize_t)
    cdef Py_ssize_t _first_from(self, tuple pair) except -1
    @cython.locals(low=cython.Py_ssize_t, high=cython.Py_ssize_t, middle=cython.Py_ssize_t)
    cdef Py_ssize_t _first_behind(self, tuple pair) except -1
    @cython.locals(job=Job, above=bint, drawn=bint, index=cython.Py_ssize_t)
    cpdef tuple rank(self, tuple pair)
    @cython.locals(stays=list, moved=list, pair=tuple)
    cpdef bint renumbered(self, answer=*, const long long[::1] numbers=*) except -1
    @cython.locals(pair=tuple, last=tuple, job=Job, other=Job, number=cython.longlong, before=cython.longlong)
    cdef bint _is_in_order(self, answer, const long long[::1] numbers) except -1
    @cython.locals(merged=list, place=cython.Py_ssize_t, many=cython.Py_ssize_t, pair=tuple)
    cdef list _merged(self, list one, list other)
    @cython.locals(job=Job, behind=Job)
    cdef bint _goes_before(self, tuple one, tuple other) except -1
    cdef list _as_they_are(self)
    @cython.locals(job=Job, of_job=list, pairs=list, many=dict)
    cdef _order_anew(self)
    cdef list _pairs_of(self, Job job)

cpdef tuple rank_in_queue(Job job)
@cython.locals(first=Job, job=Job)
cpdef first_in_queue(jobs)
@cython.locals(other=Job, many=cython.Py_ssize_t)
cpdef Py_ssize_t many_before(Job job, jobs) except -1
cdef bint _goes_first(Job one, Job other) except -1
cdef _number(Job job)
cdef bint _breaks_tie(Job one, Job other) noexcept
cdef bint _may_be_tried(Job job) except -1
