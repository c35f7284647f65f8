# C types of cycle.py.
cimport cython
from emulator.scheduling.alike cimport alike_from, alike_until, count_alike, count_planned, is_plainly_taken, length_of, waits_plainly
from emulator.scheduling.searches cimport Search, Searches
from emulator.scheduling.windows_kernel cimport Columns, Work
from emulator.state.job cimport Job
from slurm_sim_plugins.entry cimport Entry
from slurm_sim_plugins.sched.bounds cimport Bounds

cdef double inf
cdef long long FULL, GROW, MOST_TOGETHER, NEVER, STARTS

cdef class Keeping:
    cdef object _plan
    cdef bint _counts_cpus
    cdef Searches _searches
    cdef public list entries, times
    cdef public object hole

    @cython.locals(
        entry=Entry, job=Job, many=cython.Py_ssize_t, search=Search, slots=Columns, placed=cython.longlong, outcome=cython.longlong,
        taken=cython.longlong, index=cython.longlong, work=Work, pair=tuple, by_plan=bint)
    cpdef Py_ssize_t keep(self, list entries, Py_ssize_t first) except -1

    cdef bint _is_by_plan(self, Search search, Job job, partition) except -1
    cdef _count(self, list entries, Py_ssize_t first, Py_ssize_t placed, long long outcome, Work work)

cdef class Cycle:
    cdef object _array, _plan
    cdef Searches _searches
    cdef Keeping _keeping
    cdef Bounds _bounds
    cdef list _entries, _tried
    cdef dict _decided
    cdef Py_ssize_t _at, _first, _last, _reach
    cdef bint _by_kind, _by_user, _clears, _looked, _news, _reached, _to_start, _together
    cdef Search _hope
    cdef long long _hopes
    cdef public bint began, refused
    cdef public long long left

    @cython.locals(kept=cython.Py_ssize_t)
    cpdef next(self)
    cpdef kept(self)
    @cython.locals(entry=Entry, begin=cython.Py_ssize_t, until=cython.Py_ssize_t, goes_on=bint, ends=bint)
    cdef bint _go_on(self) except -1
    cdef bint _takes(self, Entry entry) except -1
    @cython.locals(together=bint)
    cdef bint _is_decided(self, Entry entry) except -1
    cdef _look(self)
    cdef bint _is_news_known(self) except -1
    @cython.locals(entry=Entry, hope=Search)
    cdef bint _could_any_start(self) except -1
    @cython.locals(entry=Entry, left=cython.longlong, reach=cython.Py_ssize_t)
    cdef _find_reach(self)
    @cython.locals(job=Job, search=Search, could=bint)
    cdef bint _could_start(self, Entry entry) except -1
    cdef bint _counts_otherwise(self, Search search, Job job, partition) except -1
