# C types of run_list.py.
cimport cython
from slurm_sim_plugins.job_fields cimport JobFields

cdef double NEVER

@cython.locals(entry=tuple, end=double, held=cython.longlong, time=double, found=bint)
cpdef first_fit(long long processors, long long free, list runs, double now)
@cython.locals(entry=tuple, end=double, held=cython.longlong)
cpdef long long free_by(double time, long long free, list runs) except? -1
@cython.locals(job=JobFields, found=list)
cpdef list fitting(list jobs, long long free, double in_time, long long extra)
@cython.locals(place=cython.Py_ssize_t)
cpdef void drop(list jobs, job) except *
@cython.locals(first=cython.Py_ssize_t, beyond=cython.Py_ssize_t, middle=cython.Py_ssize_t, entry=tuple, other=double,
    number=cython.longlong, earlier=bint)
cpdef Py_ssize_t place_of(list runs, double end, long long sequence) except -1
