"""Whether compiled kernels can be used, and what to do where they cannot."""

from __future__ import annotations

import logging
from functools import cache
from importlib.util import find_spec

INSTALL = "python -m pip install numba"
_log = logging.getLogger(__name__)


@cache
def have_numba(purpose: str) -> bool:
    """Whether numba is installed; if not, it is logged, once, what is slow without it and which command helps.

    Args:
        purpose: what runs in plain Python otherwise.
    """
    if find_spec("numba") is not None:
        return True
    _log.warning("numba is not installed: %s runs in plain Python, many times slower; %s", purpose, INSTALL)
    return False
