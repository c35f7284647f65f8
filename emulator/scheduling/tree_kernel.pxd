# C types of tree_kernel.py.
cimport cython
cdef long long FAR
cdef long long AWAY, BEHIND, BY_LEAF, CPUS, FIRST, LEAF, LEFT, LEVEL, MANY, NODES, PARENT, UPWARD, USED, WEIGHT

@cython.locals(lightest=cython.longlong, above=cython.longlong)
cpdef long long begin(
    long long[:, ::1] table, const long long[::1] weights, const long long[::1] capacity, long long least,
    long long cpus) noexcept
cdef long long top_switch(long long[:, ::1] table, long long least, long long cpus) noexcept
@cython.locals(last=cython.longlong, there=cython.longlong, some=cython.longlong, these=cython.longlong)
cdef long long heaviest(
    long long[:, ::1] table, const long long[::1] weights, long long nodes, long long least, long long cpus) noexcept
cpdef void count(long long[:, ::1] table, long long lightest, long long heaviest, long long nodes) noexcept
cpdef void use(long long[:, ::1] table, long long leaf) noexcept
@cython.locals(steps=cython.longlong)
cdef long long links(long long[:, ::1] table, long long one, long long other) noexcept
cpdef long long best_leaf(long long[:, ::1] table, long long least, long long cpus) noexcept
cdef bint enough(long long[:, ::1] table, long long switch, long long least, long long cpus) noexcept
cdef long long compare(
    long long[:, ::1] table, long long one, long long other, long long least, long long cpus) noexcept
