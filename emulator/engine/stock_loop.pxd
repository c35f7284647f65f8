# The C types of stock_loop.py where it is compiled.

cimport cython
cimport libc.math as np

cdef long long MICROSECONDS, NO_MORE, NEVER, EXACT
cdef double HALF_A_MICROSECOND, NOT_YET
cdef int PENDING, RUNNING, REJECTED, FCFS, EASY, CONSERVATIVE, RECOMPUTE, STICKY, RATCHET, NOBODY

cdef class StockLoop:
    cdef public long long scheduler, kept, shortest_first, event, overruns, again
    cdef public long long total, free, count
    cdef long long[::1] submit, arrivals, processors, duration, planned_instants, shortness, by_shortness
    cdef signed char[::1] ends_as, at_limit, state, blocked, backfilled, fresh
    cdef double[::1] planned, reserved, first_reserved, planned_end, run_end
    cdef long long[::1] start, end, could_start
    cdef long long[::1] queue, short_queue, fresh_jobs, run_job, heap_time, heap_number, heap_job, due, late
    cdef double[::1] slot, step_time, known_length, known_start
    cdef long long[::1] step_free, known_in
    cdef Py_ssize_t steps
    cdef public long long now, arrived, ended, passes, started
    cdef public double clock
    cdef Py_ssize_t first, last, short_last, fresh_count, runs, events
    cdef bint changed, hopeful, fresh_view
    cdef long long watched, missing, reserved_job, promised_job, shadow_job, extra
    cdef double reserved_time, promised_time, shadow

    @cython.locals(now=cython.longlong)
    cpdef void advance(self, long long until) noexcept
    @cython.locals(now=cython.longlong)
    cpdef long long next_instant(self) noexcept
    cdef double seconds(self, long long instant) noexcept
    cdef double far(self, object instant)
    cdef void batch(self) noexcept
    @cython.locals(many=cython.Py_ssize_t, index=cython.Py_ssize_t, job=cython.longlong)
    cdef void one_by_one(self) noexcept
    @cython.locals(job=cython.longlong)
    cdef void arrive(self) noexcept
    cdef void begin(self, long long job, bint ahead) noexcept
    cdef void finish(self, long long job) noexcept
    @cython.locals(index=cython.Py_ssize_t)
    cdef void make_pass(self) noexcept
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
    @cython.locals(free=cython.longlong, wanted=cython.longlong, index=cython.Py_ssize_t, time=cython.double)
    cdef void find_shadow(self, long long head) noexcept
    @cython.locals(free=cython.longlong, index=cython.Py_ssize_t)
    cdef long long free_at(self, double time) noexcept
    @cython.locals(last=cython.double)
    cdef void reserve(self, long long job, double time) noexcept
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
    @cython.locals(low=cython.Py_ssize_t, high=cython.Py_ssize_t, middle=cython.Py_ssize_t)
    cdef Py_ssize_t first_step(self, double time) noexcept
    @cython.locals(index=cython.Py_ssize_t)
    cdef void watch(self, long long head) noexcept
    cdef void note(self) noexcept
    @cython.locals(place=cython.Py_ssize_t, index=cython.Py_ssize_t)
    cdef bint enqueue(self, long long job) noexcept
    @cython.locals(low=cython.Py_ssize_t, high=cython.Py_ssize_t, middle=cython.Py_ssize_t)
    cdef Py_ssize_t place_in_queue(self, long long job) noexcept
    @cython.locals(index=cython.Py_ssize_t)
    cdef void leave_queue(self, long long job) noexcept
    @cython.locals(low=cython.Py_ssize_t, high=cython.Py_ssize_t, middle=cython.Py_ssize_t)
    cdef Py_ssize_t place_in_short_queue(self, long long shortness) noexcept
    @cython.locals(place=cython.Py_ssize_t, index=cython.Py_ssize_t)
    cdef void insert_short(self, long long shortness) noexcept
    @cython.locals(index=cython.Py_ssize_t)
    cdef void leave_short_queue(self, long long job) noexcept
    @cython.locals(low=cython.Py_ssize_t, high=cython.Py_ssize_t, middle=cython.Py_ssize_t)
    cdef Py_ssize_t place_of_end(self, double time) noexcept
    @cython.locals(place=cython.Py_ssize_t, index=cython.Py_ssize_t)
    cdef void plan_run(self, long long job, double end) noexcept
    @cython.locals(place=cython.Py_ssize_t, index=cython.Py_ssize_t)
    cdef void drop_run(self, long long job) noexcept
    @cython.locals(late=cython.Py_ssize_t, index=cython.Py_ssize_t, job=cython.longlong, later=cython.double)
    cdef void replan(self) noexcept
    @cython.locals(times=cython.longlong)
    cdef long long overdue(self, long long start, long long longest) noexcept
    @cython.locals(place=cython.Py_ssize_t, above=cython.Py_ssize_t)
    cdef void push(self, long long time, long long number, long long job) noexcept
    @cython.locals(found=cython.longlong, count=cython.Py_ssize_t, time=cython.longlong, number=cython.longlong, job=cython.longlong, place=cython.Py_ssize_t, below=cython.Py_ssize_t, other=cython.Py_ssize_t)
    cdef long long pop(self) noexcept
