# C types of job_fields.py.

cdef class JobFields:
    cdef public object _facts, _order, id
    cdef public bint backfilled
    cdef public long long index, processors, requeues
    cdef public double submit, time_limit, planned, planned_queue, planned_running, longest

cpdef bint before(JobFields job, JobFields other) except -1
