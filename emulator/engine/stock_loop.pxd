# The C types of stock_loop.py where it is compiled.

cimport cython
cimport libc.math as np
from emulator.engine.column_loop cimport ColumnLoop, lower_bound

cdef double HALF_A_MICROSECOND, NOT_YET
cdef int PENDING, FCFS, EASY, CONSERVATIVE, VENTURE, RECOMPUTE, STICKY, RATCHET, NO_JOB

cdef class StockLoop(ColumnLoop):
    cdef public long long scheduler, kept, restart, single_head
    cdef double[::1] slot, step_time, known_length, known_start
    cdef long long[::1] step_free, known_in, spared_jobs, tried, in_time
    cdef signed char[::1] spared
    cdef Py_ssize_t steps, spared_count
    cdef bint fresh_view
    cdef long long promised_job
    cdef double promised_time

    @cython.locals(number=cython.longlong)
    cdef void begin(self, long long job, bint ahead) noexcept
    @cython.locals(index=cython.Py_ssize_t)
    cdef void make_pass(self) noexcept
    cdef void decide(self) noexcept
    @cython.locals(job=cython.longlong)
    cdef void start_in_order(self) noexcept
    @cython.locals(head=cython.longlong, shadow=cython.double, extra=cython.longlong)
    cdef void backfill(self) noexcept
    @cython.locals(read=cython.Py_ssize_t, write=cython.Py_ssize_t, job=cython.longlong, width=cython.longlong)
    cdef void fill_in_order(self, double in_time, long long extra) noexcept
    @cython.locals(read=cython.Py_ssize_t, write=cython.Py_ssize_t, job=cython.longlong, width=cython.longlong, starts=cython.bint)
    cdef void fill_shortest_first(self, long long head, double in_time, long long extra) noexcept
    @cython.locals(found=cython.longlong, index=cython.Py_ssize_t)
    cdef long long first_fresh(self) noexcept
    @cython.locals(free=cython.longlong, index=cython.Py_ssize_t)
    cdef long long free_at(self, double time) noexcept
    @cython.locals(index=cython.Py_ssize_t, head=cython.longlong, served=cython.bint, retry=cython.bint)
    cdef void venture(self) noexcept
    @cython.locals(index=cython.Py_ssize_t, missing=cython.longlong, lowest=cython.longlong)
    cdef bint make_room(self, long long head) noexcept
    @cython.locals(
        index=cython.Py_ssize_t, many=cython.Py_ssize_t, short=cython.Py_ssize_t, job=cython.longlong,
        time=cython.double, until=cython.double)
    cdef void fill_idle(self, long long head, bint retry) noexcept
    cdef void start_behind(self, long long job) noexcept
    @cython.locals(index=cython.Py_ssize_t, free=cython.longlong, wanted=cython.longlong, time=cython.double)
    cdef double fair_start(self, long long head) noexcept
    @cython.locals(gap=cython.Py_ssize_t, index=cython.Py_ssize_t, place=cython.Py_ssize_t, job=cython.longlong)
    cdef void sort_by_length(self, Py_ssize_t count) noexcept
    @cython.locals(
        read=cython.Py_ssize_t, write=cython.Py_ssize_t, job=cython.longlong, slot=cython.double, begin=cython.double)
    cdef void keep_promises(self) noexcept
    @cython.locals(place=cython.Py_ssize_t, index=cython.Py_ssize_t)
    cdef bint fresh_are_last(self) noexcept
    @cython.locals(free=cython.longlong, count=cython.Py_ssize_t, index=cython.Py_ssize_t)
    cdef void make_profile(self) noexcept
    @cython.locals(
        wanted=cython.longlong, length=cython.double, step=cython.Py_ssize_t, beyond=cython.Py_ssize_t,
        index=cython.Py_ssize_t, start=cython.double, end=cython.double)
    cdef double take(self, long long job, double begin) noexcept
    @cython.locals(end=cython.double)
    cdef double end_of(self, double start, double length) noexcept
    @cython.locals(step=cython.Py_ssize_t)
    cdef void step_at(self, double time) noexcept
    @cython.locals(index=cython.Py_ssize_t)
    cdef void insert_step(self, Py_ssize_t place, double time) noexcept
    cdef Py_ssize_t first_step(self, double time) noexcept
