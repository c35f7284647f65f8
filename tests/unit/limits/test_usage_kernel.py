"""What a job adds to usage: the same number in both forms of the kernel."""

from __future__ import annotations

import math

import numpy as np
import pytest

from emulator.limits.usage_kernel import charge


@pytest.mark.parametrize("seconds", [1.0, 2.0, 3.0, 4.0, 5.0, 2.5, 300.0])
def test_what_has_decayed_is_the_power_of_the_library(seconds: float) -> None:
    """Whole exponents are not multiplied out, which rounds otherwise."""
    decay = np.random.default_rng(5).uniform(0.99, 1.0, 200)
    tres, wall = np.zeros((200, 1)), np.zeros(200)
    charge(tres, wall, decay, np.arange(200, dtype=np.intp), np.ones(1), seconds)
    assert wall.tolist() == [seconds * math.pow(each, seconds) for each in decay.tolist()]
    assert tres[:, 0].tolist() == wall.tolist()
