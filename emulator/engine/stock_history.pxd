# The C types of stock_history.py where it is compiled.

cimport cython

cdef long long NO_KEY
cdef double LEAST_PLANNED

cdef class ShareHistory:
    cdef double span, threshold
    cdef long long min_jobs, learnt, taken_in, forgotten
    cdef long long[::1] key, place, begin, rank, tree, inside, ended
    cdef double[::1] shares, part, ended_at

    cpdef void learn(self, long long job, double now) noexcept
    @cython.locals(key=cython.longlong, share=cython.double, planned=cython.double)
    cpdef double planned(self, long long job, double limit, double now) noexcept
    cdef void move(self, double now) noexcept
    @cython.locals(key=cython.longlong, begin=cython.longlong, places=cython.longlong, place=cython.longlong)
    cdef void count(self, long long job, long long by) noexcept
    @cython.locals(rank=cython.longlong, part=cython.double, low=cython.double)
    cdef double percentile(self, long long key) noexcept
    @cython.locals(begin=cython.longlong, places=cython.longlong, step=cython.longlong, before=cython.longlong)
    cdef double value(self, long long key, long long rank) noexcept
