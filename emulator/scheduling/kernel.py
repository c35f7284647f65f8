"""Functions as kernels of numba, kept on disk.

numba counts the holders of an array, which costs more than most of what is done with one. Functions that make no
arrays do without; those that are called for each node take numbers only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

try:
    from numba import njit
    from numba.core.cpu import CPUTargetOptions
except ImportError as error:
    raise ImportError(
        "compiled node selection needs numba, which cannot be imported: python -m pip install numba"
    ) from error

_P = ParamSpec("_P")
_T = TypeVar("_T")


def compiled(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """A function that makes no arrays, as a kernel that is kept on disk."""
    return _kernel(function, counts=False)


def compiled_with_arrays(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """A function that makes arrays, as a kernel that is kept on disk."""
    return _kernel(function, counts=True)


def _kernel(function: Callable[_P, _T], counts: bool) -> Callable[_P, _T]:
    # The switch is not in numba's manual; where it is missing the kernels do the same, several times slower.
    switch = {"_nrt": counts} if hasattr(CPUTargetOptions, "_nrt") else {}
    kernel: Callable[_P, _T] = njit(cache=True, **switch)(function)  # type: ignore[call-overload]
    return kernel
