# C types of entry.py.

cdef class Entry:
    cdef public tuple _pair
    cdef public object _kind, account, array, het_job_id, id, drawn_by, partition, submit, user
