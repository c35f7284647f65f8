# C types of alike.py.
cimport cython
from emulator.state.job cimport Job
from slurm_sim_plugins.entry cimport Entry

@cython.locals(job=Job, index=cython.Py_ssize_t, pair=tuple, entries=tuple, found=list)
cpdef list entries_of(list pairs, make)
@cython.locals(entry=Entry, job=Job, other=Job, until=cython.Py_ssize_t, many=cython.Py_ssize_t, stated=bint)
cpdef Py_ssize_t alike_until(list entries, Py_ssize_t first, joins, bint by_user=*) except -1
@cython.locals(entry=Entry, job=Job, other=Job)
cpdef Py_ssize_t alike_from(list entries, Py_ssize_t last, bint by_user=*) except -1
cpdef bint is_unbound(Job job, partition) except -1
cdef bint _takes_alike(Job job, partition) except -1
@cython.locals(job=Job)
cpdef bint is_plainly_taken(Entry entry) except -1
@cython.locals(job=Job)
cpdef bint waits_plainly(Entry entry) except -1
@cython.locals(until=cython.Py_ssize_t, behind=bint, pair=tuple, job=Job, entries=tuple, entry=Entry)
cpdef Py_ssize_t pass_over(list pairs, Py_ssize_t place, Py_ssize_t looks, set failed) except -1
@cython.locals(known=Entry, job=Job, done=cython.Py_ssize_t)
cpdef Py_ssize_t plan_alike(list entries, list times, now, kind, cpus_planned) except -1
@cython.locals(known=Entry, job=Job)
cpdef count_alike(list entries, double cpus)
@cython.locals(index=cython.Py_ssize_t, known=Entry, job=Job)
cpdef count_planned(list entries, Py_ssize_t first, double[::1] cpus, Py_ssize_t many)
cpdef length_of(Job job)
