# C types of place.py, fields in its order.

cdef class Place:
    cdef readonly object _plan, _entry, _allocation, _limit, _row, _open

cdef class Answer:
    cdef readonly object place, reason, blocks, overtakes
