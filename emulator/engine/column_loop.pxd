# The C types of column_loop.py where it is compiled.

cimport cython
cimport libc.math as np
from emulator.engine.stock_history cimport ShareHistory

cdef long long NO_MORE, NEVER, EXACT, KILLED_LAST
cdef double FLOOR
cdef int OFTEN, AT_LIMIT, AT_ONCE, TSAFRIR, AGAIN
cdef int PENDING, RUNNING, TIMEOUT, REJECTED, NO_JOB, LAST_MODEL, HISTORY

@cython.locals(low=cython.Py_ssize_t, high=cython.Py_ssize_t, middle=cython.Py_ssize_t)
cpdef Py_ssize_t lower_bound(double[::1] column, Py_ssize_t count, double least) noexcept

cdef class ColumnLoop:
    cdef public long long shortest_first, event, overruns, expired, always, voids, learns, gives_up
    cdef public long long plans_waiting, plans_running
    cdef ShareHistory history
    cdef public long long total, free, count
    cdef long long[::1] submit, arrivals, processors, duration, planned_instants
    cdef signed char[::1] ends_as, at_limit, state, blocked, backfilled, fresh
    cdef double[::1] planned, reserved, first_reserved, planned_end, run_end
    cdef long long[::1] start, end, could_start
    cdef long long[::1] queue, short_queue, fresh_jobs, run_job, heap_time, heap_number, heap_job, due, late
    cdef const double[::1] limit
    cdef const long long[::1] limit_instants, user, corrections
    cdef long long[::1] requeues, due_number, run_number
    cdef double[::1] accuracy, expected_end
    cdef signed char[::1] outlived, differs
    cdef public bint often
    cdef public list past_runs
    cdef public long long now, arrived, ended, passes, started
    cdef public double clock
    cdef Py_ssize_t first, last, short_last, fresh_count, runs, events
    cdef bint changed, hopeful
    cdef long long watched, missing, reserved_job, shadow_job, extra
    cdef double reserved_time, shadow

    @cython.locals(now=cython.longlong)
    cpdef void advance(self, long long until) noexcept
    @cython.locals(now=cython.longlong)
    cpdef long long next_instant(self) noexcept
    cdef double seconds(self, long long instant) noexcept
    @cython.locals(happened=cython.bint, number=cython.longlong, job=cython.longlong)
    cdef void batch(self) noexcept
    @cython.locals(many=cython.Py_ssize_t, index=cython.Py_ssize_t, job=cython.longlong, woken=cython.bint)
    cdef void one_by_one(self) noexcept
    cdef bint wakes(self) noexcept
    cdef bint goes_on(self, long long job, long long number) noexcept
    cdef void make_pass(self) noexcept
    @cython.locals(job=cython.longlong)
    cdef void arrive(self) noexcept
    cdef void plan(self, long long job, double waiting, double running) noexcept
    @cython.locals(limit=cython.double, seconds=cython.double)
    cdef void predict(self, long long job) noexcept
    cdef void note_start(self, long long job, bint ahead) noexcept
    cdef long long next_number(self, long long job) noexcept
    cdef void occupy(self, long long job, double planned_end) noexcept
    cdef void watch_start(self, long long job) noexcept
    cdef void finish(self, long long job) noexcept
    cdef void leave(self, long long job) noexcept
    cdef void vacate(self, long long job) noexcept
    cdef void preempt(self, long long job) noexcept
    @cython.locals(index=cython.Py_ssize_t)
    cdef void watch(self, long long head) noexcept
    cdef void note(self) noexcept
    @cython.locals(place=cython.Py_ssize_t, index=cython.Py_ssize_t)
    cdef bint enqueue(self, long long job) noexcept
    @cython.locals(index=cython.Py_ssize_t)
    cdef void move_queue(self) noexcept
    @cython.locals(low=cython.Py_ssize_t, high=cython.Py_ssize_t, middle=cython.Py_ssize_t)
    cdef Py_ssize_t place_in_queue(self, long long job) noexcept
    @cython.locals(index=cython.Py_ssize_t)
    cdef void leave_queue(self, long long job) noexcept
    @cython.locals(low=cython.Py_ssize_t, high=cython.Py_ssize_t, middle=cython.Py_ssize_t)
    cdef Py_ssize_t place_in_short_queue(self, long long job) noexcept
    @cython.locals(place=cython.Py_ssize_t, index=cython.Py_ssize_t)
    cdef void insert_short(self, long long job) noexcept
    @cython.locals(index=cython.Py_ssize_t)
    cdef void leave_short_queue(self, long long job) noexcept
    cdef bint comes_before(self, long long job, long long other) noexcept
    cdef Py_ssize_t place_of_end(self, double time) noexcept
    @cython.locals(place=cython.Py_ssize_t, index=cython.Py_ssize_t)
    cdef void plan_run(self, long long job, double end) noexcept
    @cython.locals(place=cython.Py_ssize_t, index=cython.Py_ssize_t)
    cdef void drop_run(self, long long job) noexcept
    @cython.locals(free=cython.longlong, wanted=cython.longlong, index=cython.Py_ssize_t, time=cython.double)
    cdef void find_shadow(self, long long head) noexcept
    @cython.locals(last=cython.double)
    cdef void reserve(self, long long job, double time) noexcept
    @cython.locals(late=cython.Py_ssize_t, index=cython.Py_ssize_t, job=cython.longlong, later=cython.double)
    cdef void replan(self) noexcept
    @cython.locals(found=cython.longlong)
    cdef long long began(self, long long job) noexcept
    @cython.locals(start=cython.longlong, longest=cython.longlong, planned=cython.longlong, times=cython.longlong,
                   index=cython.Py_ssize_t)
    cdef long long overdue(self, long long job) noexcept
    @cython.locals(place=cython.Py_ssize_t, above=cython.Py_ssize_t)
    cdef void push(self, long long time, long long number, long long job) noexcept
    @cython.locals(count=cython.Py_ssize_t, index=cython.Py_ssize_t, job=cython.longlong)
    cdef void forget_void(self) noexcept
    @cython.locals(found=cython.longlong, count=cython.Py_ssize_t, time=cython.longlong, number=cython.longlong, job=cython.longlong, place=cython.Py_ssize_t, below=cython.Py_ssize_t, other=cython.Py_ssize_t)
    cdef long long pop(self) noexcept
