# The C types of tier_loop.py where it is compiled.

cimport cython
cimport libc.math as np
from emulator.engine.column_loop cimport ColumnLoop
from emulator.engine.tier_work cimport TierWork

cdef double HALF_A_MICROSECOND
cdef long long NEVER, NO_MORE, ENDLESS
cdef int NO_JOB, KILL, RESERVE, MIGRATE, WAITS, FRONT, BACK, NOWHERE, SWAPS, ANYWHERE, BESIDE, STARTED, SWAPPED, MIGRATED

cdef class TierLoop(ColumnLoop):
    cdef TierWork work
    cdef object phis
    cdef public long long deploy, remaining, cost, loss_always, cap_inside, by_process
    cdef public double counted
    cdef signed char[::1] may_go, behind, full
    cdef double[::1] group, spare, use, front_rate, step_time, step_rate
    cdef long long[::1] changes
    cdef Py_ssize_t changed_at, woken
    cdef long long[::1] stay_job, stay_run, stay_start, stay_end, where_of
    cdef signed char[::1] stay_tier, stay_came
    cdef double[::1] stay_work
    cdef public list where
    cdef bytearray cells
    cdef public long long stays
    cdef double[::1] running, rate, phi
    cdef long long[::1] since, chain, stay, ends, settled, stalled, unsettled_jobs
    cdef signed char[::1] tier, timed, drawn, unsettled
    cdef Py_ssize_t unsettled_count, back_count, front_count
    cdef long long[::1] front, front_next, back, back_next, open_list, backs, fronts, tried, others
    cdef long long open, aside, left_over
    cdef bint left_front, left_back

    @cython.locals(now=cython.longlong)
    cpdef long long next_instant(self) noexcept
    cdef bint wakes(self) noexcept
    cdef void plan(self, long long job, double waiting, double running) noexcept
    cdef void leave(self, long long job) noexcept
    @cython.locals(found=cython.longlong)
    cdef long long began(self, long long job) noexcept
    @cython.locals(number=cython.longlong)
    cdef void sit(self, long long job, long long tier, long long came, double planned) noexcept
    @cython.locals(number=cython.longlong, tier=cython.longlong, place=cython.longlong)
    cdef void rise(self, long long job) noexcept
    @cython.locals(cells=bytearray, place=cython.longlong)
    cdef void note_where(self, long long job) noexcept
    cdef long long next_of(self, long long job, long long place) noexcept
    cdef void set_front(self, long long place, long long job) noexcept
    cdef void set_back(self, long long place, long long job) noexcept
    @cython.locals(front=cython.longlong)
    cdef bint is_open(self, long long place) noexcept
    @cython.locals(
        many=cython.Py_ssize_t, index=cython.Py_ssize_t, above=cython.Py_ssize_t, tier=cython.longlong,
        place=cython.longlong, last=cython.longlong, other=cython.longlong)
    cdef void disturb(self, long long job) noexcept
    cdef void unsettle(self, long long job) noexcept
    @cython.locals(begun=cython.longlong)
    cdef void settle(self, long long job) noexcept
    @cython.locals(index=cython.Py_ssize_t, job=cython.longlong, rate=cython.double)
    cdef void settle_all(self) noexcept
    @cython.locals(left=cython.longlong, number=cython.longlong)
    cdef void time(self, long long job, double rate) noexcept
    @cython.locals(place=cython.longlong)
    cdef double rate_of(self, long long job) noexcept
    @cython.locals(
        slowest=cython.double, fixed=cython.double, share=cython.double, phi=cython.double, rate=cython.double, last=cython.longlong,
        place=cython.longlong, front=cython.longlong)
    cdef double rate_behind(self, long long job) noexcept
    @cython.locals(rate=cython.double, index=cython.Py_ssize_t)
    cdef double fixed_rate(self) noexcept
    @cython.locals(drawn=list, index=cython.Py_ssize_t, place=cython.longlong)
    cdef void draw(self, long long job) noexcept
    @cython.locals(
        changes=cython.bint, many=cython.Py_ssize_t, index=cython.Py_ssize_t, place=cython.Py_ssize_t,
        job=cython.longlong)
    cdef void change_by_time(self) noexcept
    cdef void make_pass(self) noexcept
    @cython.locals(
        head=cython.longlong, job=cython.longlong, where=cython.longlong, index=cython.Py_ssize_t,
        time=cython.double, in_time=cython.double)
    cdef void foreground(self) noexcept
    @cython.locals(found=cython.longlong)
    cdef long long head(self) noexcept
    @cython.locals(time=cython.double, place=cython.longlong, front=cython.longlong)
    cdef double shadow_of(self, long long head) noexcept
    @cython.locals(
        many=cython.Py_ssize_t, behind=cython.Py_ssize_t, index=cython.Py_ssize_t, job=cython.longlong,
        fits=cython.bint)
    cdef Py_ssize_t candidates(self, long long head, double in_time) noexcept
    @cython.locals(where=cython.longlong)
    cdef long long ahead(self, long long job, double in_time) noexcept
    @cython.locals(place=cython.longlong)
    cdef bint swaps(self, long long job) noexcept
    @cython.locals(idle=cython.longlong, place=cython.longlong)
    cdef long long fit(self, long long job, long long aside) noexcept
    @cython.locals(length=cython.double, time=cython.longlong)
    cdef double length(self, long long job, bint swaps) noexcept
    @cython.locals(planned=cython.double, place=cython.longlong)
    cdef void bring(self, long long job, long long where) noexcept
    cdef void move(self, long long job, long long came, double planned, long long cost) noexcept
    @cython.locals(ahead=cython.bint)
    cdef void start_in_front(self, long long job, long long where) noexcept
    cdef void take_out(self, long long job) noexcept
    @cython.locals(wanted=cython.longlong, place=cython.longlong, last=cython.longlong)
    cdef void take_front(self, long long job, long long where) noexcept
    @cython.locals(
        taken=cython.Py_ssize_t, read=cython.Py_ssize_t, write=cython.Py_ssize_t, gathered=cython.bint,
        job=cython.longlong)
    cdef void background(self) noexcept
    @cython.locals(ahead=cython.bint, count=cython.Py_ssize_t, index=cython.Py_ssize_t, place=cython.longlong)
    cdef void start_behind(self, long long job, Py_ssize_t taken) noexcept
    @cython.locals(
        many=cython.Py_ssize_t, index=cython.Py_ssize_t, first=cython.Py_ssize_t, place=cython.longlong,
        group=cython.double, alone=cython.bint)
    cdef void gather(self) noexcept
    @cython.locals(gap=cython.Py_ssize_t, index=cython.Py_ssize_t, place=cython.Py_ssize_t, found=cython.longlong)
    cdef void sort_down(self, Py_ssize_t first, Py_ssize_t beyond) noexcept
    @cython.locals(place=cython.Py_ssize_t)
    cdef void insert_back(self, long long job) noexcept
    @cython.locals(place=cython.Py_ssize_t, index=cython.Py_ssize_t)
    cdef void remove_back(self, long long job) noexcept
    @cython.locals(place=cython.Py_ssize_t)
    cdef void insert_front(self, long long job) noexcept
    @cython.locals(place=cython.Py_ssize_t, index=cython.Py_ssize_t)
    cdef void remove_front(self, long long job) noexcept
