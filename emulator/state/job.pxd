# C types of job.py.

cdef class Job:
    cdef public object _accrue, _nice, _reason, _site, account, answer, barred, begin, blocked, counted, deadline
    cdef public object counted_cpus, limit_of_operator, made_way, planned_cpus
    cdef public object eligible, end_limit, entries, failures, fixed_priority, held_by, hold_after, id, left, lift, lifted
    cdef public object limit, not_yet_tried, partitions, plan, planned_start, priorities, priority, request, request_class
    cdef public object requeue_after, restarts, run, runs, saved, seen, sequence, state, submitted, suspended_by_operator
    cdef public object graced, time_min, unfit, vacating, wants, work_since, worked
    cdef public tuple tie_break
    cdef public Py_ssize_t place, row
