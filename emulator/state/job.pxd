# C types of job.py.

cdef class Job:
    # What all that wait are asked for at the end of each period lies together: of thousands it stays in the cache.
    cdef public object priority, priorities, held_by, fixed_priority, answer, seen, lift
    cdef public tuple entries
    cdef public double came, counted_cpus, planned_cpus
    cdef public long long first, task
    cdef public Py_ssize_t place, row
    # What is asked of each entry of the queue.
    cdef public object state, request, partitions, eligible, limit, time_min, plan, request_class, run, account
    cdef public object _accrue, _nice, _reason, _site, barred, begin, blocked, counted, deadline
    cdef public object limit_of_operator, made_way, drawn, least_nodes
    cdef public object end_limit, hold_after, id, left, lifted
    cdef public object not_yet_tried, planned_start
    cdef public object requeue_after, restarts, runs, saved, sequence, submitted, suspended_by_operator
    cdef public object graced, unfit, vacating, wants, work_since, worked
