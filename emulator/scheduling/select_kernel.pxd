# C types of select_kernel.py, fields in its order. What divides may raise ZeroDivisionError; what does not, cannot raise.
cimport cython
from emulator.scheduling cimport tree_kernel as tree

cdef long long FAR, NOT_TAKEN
cdef const long long[::1] NO_PIECES
cdef long long BEHIND, FIRST, LARGE, ORDER, SUM, TAKEN
cdef long long FREE_GRES, FREE_JOBS, FREE_MEMORY, FREE_UNITS
cdef long long MACHINE_CORES, MACHINE_MEMORY, MACHINE_THREADS, MACHINE_UNITS, MACHINE_WEIGHT
cdef long long BY_LEAF, LEAF, LEAF_BEHIND, LEAF_FIRST, LEFT, MANY, ROWS, USED, WEIGHT

cdef class Code:
    cdef readonly long long min_nodes, most_nodes, cpus, per_task, on_node, given, per_node, ranked, per_core, whole
    cdef readonly long long memory_per_node, memory_per_cpu, memory_of_core, all_memory, gres, gres_kinds
    cdef readonly long long last_first, first_node, singly, big, many_big, highest, plain, whole_tasks, steady, rows

cdef class Counts:
    cdef public long long cpus, nodes, big

cpdef long long choose(
    Code code, const unsigned char[::1] usable, long long[:, ::1] machine, const long long[::1] weights,
    long long[:, ::1] free, long long[::1] capacity, long long[:, ::1] sets, long long[:, ::1] taken) except -1
@cython.locals(units="const long long[::1]", there=cython.longlong)
cpdef bint are_too_few(Code code, const long long[:, ::1] free) noexcept
cpdef void fill(
    Code code, const unsigned char[::1] usable, long long[:, ::1] machine, long long[:, ::1] free,
    long long[::1] capacity) except *
@cython.locals(there=cython.longlong)
cdef void _fill_plainly(
    Code code, const unsigned char[::1] usable, long long[:, ::1] machine, long long[:, ::1] free,
    long long[::1] capacity) noexcept
cdef long long _plain_room(
    Code code, long long units, long long memory, long long jobs, long long all_units, long long all_memory) noexcept
cpdef long long room_on(
    Code code, long long[:, ::1] machine, long long node, long long units, long long memory,
    long long jobs) except? -1
cdef long long room(
    Code code, long long units, long long memory, long long jobs, long long all_units, long long all_memory,
    long long of_unit, long long with_memory) except? -1
@cython.locals(there=cython.longlong)
cpdef long long gres_of(Code code, long long[:, ::1] free, long long node) noexcept
@cython.locals(cpus=cython.longlong, nodes=cython.longlong, big=cython.longlong, least=cython.longlong, there=cython.longlong)
cpdef void count(Code code, Counts counts, long long[::1] capacity) noexcept
@cython.locals(
    cpus=cython.longlong, nodes=cython.longlong, big=cython.longlong, least=cython.longlong, there=cython.longlong,
    many=cython.longlong)
cpdef void count_pieces(
    Code code, Counts counts, const long long[::1] begins, long long pieces, long long[::1] capacity) noexcept
cpdef bint enough(Code code, Counts counts) noexcept
@cython.locals(found=cython.longlong, lowest=cython.longlong, more=cython.longlong, singly=cython.longlong)
cpdef long long pick(
    Code code, long long[:, ::1] machine, const long long[::1] weights, long long[::1] capacity,
    long long[:, ::1] sets, long long[:, ::1] taken) except -1
@cython.locals(
    level=cython.longlong, left=cython.longlong, missing=cython.longlong, highest=cython.longlong, many=cython.longlong,
    node=cython.longlong)
cdef bint _may_suffice(Code code, long long[::1] capacity) noexcept
cdef long long _pick(
    Code code, long long[:, ::1] machine, const long long[::1] weights, long long[::1] capacity,
    long long[:, ::1] sets, long long[:, ::1] taken) except -1
@cython.locals(found=cython.longlong, missing=cython.longlong, many=cython.longlong, by_last=bint)
cpdef long long pick_pieces(
    Code code, long long[:, ::1] machine, const long long[::1] weights, const long long[::1] begins,
    const long long[::1] pieces, long long[::1] capacity, long long[::1] room, long long[:, ::1] sets,
    long long[:, ::1] taken) except -1
@cython.locals(first=cython.longlong)
cdef void _spread(const long long[::1] pieces, long long[::1] capacity, long long[::1] room) noexcept
@cython.locals(
    many=cython.longlong, first=cython.longlong, units=cython.longlong, node=cython.longlong, piece=cython.longlong,
    behind=cython.longlong)
cdef long long _sets_of_pieces(
    bint any_weight, long long level, const long long[::1] begins, long long[::1] capacity, long long[:, ::1] machine,
    long long[:, ::1] sets) noexcept
cdef long long _by_switches(
    Code code, long long[:, ::1] table, const long long[::1] weights, long long[::1] capacity,
    long long[:, ::1] taken) except -1
cdef (long long, long long) _lighter(
    Code code, long long[:, ::1] table, long long[::1] capacity, long long[:, ::1] taken, long long weight) except *
cdef (long long, long long) _of_leaf(
    Code code, long long[:, ::1] table, long long[::1] capacity, long long[:, ::1] taken, long long leaf,
    long long weight, long long found, long long missing) except *
cdef (long long, long long) _of_tree(
    Code code, long long[:, ::1] table, long long[::1] capacity, long long[:, ::1] taken, long long node,
    long long found, long long missing) except *
@cython.locals(last=cython.longlong, cpus=cython.longlong, node=cython.longlong)
cdef bint _last_of_pieces(
    Code code, long long[:, ::1] machine, const long long[::1] pieces, long long[::1] capacity,
    long long[:, ::1] taken) except? True
@cython.locals(best=cython.longlong, node=cython.longlong)
cdef bint _first_of_pieces(
    Code code, long long[:, ::1] machine, long long lightest, const long long[::1] pieces, long long[::1] capacity,
    long long[:, ::1] taken) except? True
cdef bint _take_one(
    Code code, long long[:, ::1] machine, long long node, long long cpus, long long[:, ::1] taken) except? True
cdef bint _is_lighter(long long[:, ::1] machine, long long node, long long other) noexcept
@cython.locals(last=cython.longlong)
cdef long long _last_light(long long[:, ::1] machine, long long[::1] capacity) noexcept
@cython.locals(best=cython.longlong, cpus=cython.longlong)
cdef long long _first_node(
    Code code, long long[:, ::1] machine, long long lightest, long long[::1] capacity) noexcept
@cython.locals(best=cython.longlong, largest=cython.longlong)
cdef (long long, long long) _from_sets(
    Code code, long long[:, ::1] machine, const long long[::1] pieces, long long[::1] capacity,
    long long[:, ::1] sets, long long many, long long[:, ::1] taken, long long found, long long missing) except *
cdef void _put_in_order(long long[:, ::1] sets, long long many) noexcept
cdef bint _before(long long[:, ::1] sets, long long one, long long other) noexcept
@cython.locals(first=cython.longlong)
cdef long long _best_in_order(
    Code code, long long[:, ::1] sets, long long largest, long long many, long long found, long long missing) noexcept
@cython.locals(alone=cython.longlong, units=cython.longlong, following=cython.longlong, in_pieces=bint)
cdef (long long, long long) _from_set(
    Code code, long long[:, ::1] machine, const long long[::1] pieces, long long[::1] capacity, long long first,
    long long behind, long long[:, ::1] taken, long long found, long long missing) except *
cdef bint _done(Code code, long long found, long long missing) noexcept
cdef long long _share(
    Code code, long long[:, ::1] machine, long long node, long long cpus, long long found,
    long long missing) except? -1
@cython.locals(many=cython.longlong, first=cython.longlong, units=cython.longlong)
cdef long long _sets(long long[::1] capacity, long long[:, ::1] sets) noexcept
@cython.locals(some=cython.longlong, least=cython.longlong, total=cython.longlong)
cdef long long _eight(long long[::1] capacity, long long begin, bint within) noexcept
@cython.locals(many=cython.longlong, first=cython.longlong, units=cython.longlong)
cdef long long _sets_of(
    long long level, long long[::1] capacity, long long[:, ::1] machine, long long[:, ::1] sets) noexcept
@cython.locals(best=cython.longlong, units=cython.longlong, fits=bint, suffices=bint, better=bint)
cdef long long _best(Code code, long long[:, ::1] sets, long long many, long long found, long long missing) noexcept
@cython.locals(best=cython.longlong, in_pieces=bint)
cdef long long _least_sufficient(
    const long long[::1] pieces, long long[::1] capacity, long long first, long long behind,
    long long missing) noexcept
@cython.locals(first=cython.longlong, last=cython.longlong, node=cython.longlong, index=cython.longlong, ascending=cython.bint)
cpdef void put_in_order(long long found, long long[:, ::1] taken, long long[::1] room) noexcept
@cython.locals(index=cython.longlong)
cpdef tuple nodes_of(long long found, long long[:, ::1] taken, list numbers)
@cython.locals(index=cython.longlong)
cpdef long long give(
    Code code, long long[:, ::1] machine, long long found, long long[:, ::1] taken, long long[::1] room) except? -1
@cython.locals(room=cython.longlong, tasks=cython.longlong, turns=cython.longlong, has=cython.longlong, more=cython.longlong, most=cython.longlong)
cpdef void deal(
    Code code, long long[:, ::1] machine, long long found, long long[:, ::1] taken) except *
cdef long long _in_turns(
    Code code, long long[:, ::1] machine, long long node, long long picked, long long turns) except? -1
@cython.locals(turns=cython.longlong, given=cython.longlong)
cdef long long _turns(
    Code code, long long[:, ::1] machine, long long found, long long[:, ::1] taken, long long tasks) except? -1
cdef long long _core_threads(Code code, long long[:, ::1] machine, long long node) except? -1
