# The C types of stock_loop.py where it is compiled.

cimport cython
cimport libc.math as np
from emulator.engine.stock_history cimport ShareHistory

cdef long long MICROSECONDS, NO_MORE, NEVER, EXACT
cdef double HALF_A_MICROSECOND, NOT_YET, FLOOR
cdef long long KILLED_LAST
cdef int OFTEN, AT_LIMIT, AT_ONCE, TSAFRIR, AGAIN
cdef int PENDING, RUNNING, TIMEOUT, REJECTED, FCFS, EASY, CONSERVATIVE, VENTURE, RECOMPUTE, STICKY, RATCHET, NOBODY
cdef int LAST_MODEL, HISTORY

cdef class StockLoop:
    cdef public long long scheduler, kept, shortest_first, event, overruns, expired, always, learns, gives_up
    cdef public long long restart, single_head, plans_waiting, plans_running
    cdef ShareHistory history
    cdef public long long total, free, count
    cdef long long[::1] submit, arrivals, processors, duration, planned_instants, shortness, by_shortness
    cdef signed char[::1] ends_as, at_limit, state, blocked, backfilled, fresh
    cdef double[::1] planned, reserved, first_reserved, planned_end, run_end
    cdef long long[::1] start, end, could_start
    cdef long long[::1] queue, short_queue, fresh_jobs, run_job, heap_time, heap_number, heap_job, due, late
    cdef double[::1] slot, step_time, known_length, known_start
    cdef long long[::1] step_free, known_in
    cdef Py_ssize_t steps
    cdef const double[::1] limit
    cdef const long long[::1] limit_instants, user, corrections
    cdef long long[::1] requeues, due_number, run_number, spared_jobs, tried, in_time
    cdef double[::1] accuracy, expected_end
    cdef signed char[::1] outlived, spared, differs
    cdef Py_ssize_t spared_count
    cdef bint learnt
    cdef public bint often
    cdef public list past_runs
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
    @cython.locals(happened=cython.bint, number=cython.longlong, job=cython.longlong)
    cdef void batch(self) noexcept
    @cython.locals(many=cython.Py_ssize_t, index=cython.Py_ssize_t, job=cython.longlong)
    cdef void one_by_one(self) noexcept
    @cython.locals(job=cython.longlong)
    cdef void arrive(self) noexcept
    cdef bint goes_on(self, long long job, long long number) noexcept
    cdef void plan(self, long long job, double waiting, double running) noexcept
    @cython.locals(limit=cython.double, seconds=cython.double)
    cdef void predict(self, long long job) noexcept
    @cython.locals(number=cython.longlong)
    cdef void begin(self, long long job, bint ahead) noexcept
    cdef void finish(self, long long job) noexcept
    cdef void leave(self, long long job) noexcept
    cdef void preempt(self, long long job) noexcept
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
    @cython.locals(free=cython.longlong, wanted=cython.longlong, index=cython.Py_ssize_t, time=cython.double)
    cdef void find_shadow(self, long long head) noexcept
    @cython.locals(free=cython.longlong, index=cython.Py_ssize_t)
    cdef long long free_at(self, double time) noexcept
    @cython.locals(last=cython.double)
    cdef void reserve(self, long long job, double time) noexcept
    @cython.locals(index=cython.Py_ssize_t, job=cython.longlong)
    cdef void plan_again(self) noexcept
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
    cdef bint comes_before(self, long long job, long long other) noexcept
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
    @cython.locals(index=cython.Py_ssize_t)
    cdef void move_queue(self) noexcept
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
    @cython.locals(start=cython.longlong, longest=cython.longlong, planned=cython.longlong, times=cython.longlong,
                   index=cython.Py_ssize_t)
    cdef long long overdue(self, long long job) noexcept
    @cython.locals(place=cython.Py_ssize_t, above=cython.Py_ssize_t)
    cdef void push(self, long long time, long long number, long long job) noexcept
    @cython.locals(count=cython.Py_ssize_t, index=cython.Py_ssize_t, job=cython.longlong)
    cdef void forget_preempted(self) noexcept
    @cython.locals(found=cython.longlong, count=cython.Py_ssize_t, time=cython.longlong, number=cython.longlong, job=cython.longlong, place=cython.Py_ssize_t, below=cython.Py_ssize_t, other=cython.Py_ssize_t)
    cdef long long pop(self) noexcept
