# C types of fair_tree.py.
cimport cython

cdef double UNUSED

cdef class Tree:
    cdef object _root, _top
    cdef list _shares, _begin, _behind, _row, _row_above, _own_shares, _norm_shares, _is_user, _known, _level_fs, _rank_of
    cdef Py_ssize_t _users, _next, _rank

    cpdef bint stands(self, root) except -1
    cpdef rank(self, raw)
    @cython.locals(
        index=cython.Py_ssize_t, used_by_all=double, own=double, above=double, norm_usage=double, effective=double,
        level_fs=double, part=double)
    cdef _weigh(self, list used)
    @cython.locals(
        level_fs=list, ordered=list, begin=cython.Py_ssize_t, behind=cython.Py_ssize_t, many=cython.Py_ssize_t,
        at=double, index=cython.Py_ssize_t)
    cdef _level(self, list siblings, bint tied)
    @cython.locals(index=cython.Py_ssize_t, users=cython.Py_ssize_t, below=list)
    cdef _equals(self, list siblings, bint tied)
    @cython.locals(rank=cython.Py_ssize_t)
    cdef _give(self, Py_ssize_t user)
