"""CPU use of the processes of a job.

Source: X. Liu et al., "Scheduling parallel jobs using migration and consolidation in the
cloud", Mathematical Problems in Engineering 2012, 695757, section 3.1: the process of a
serial job uses all of its processor; those of a parallel job use, on average, a random share
between 40 % and 100 %. It is read as one value a job, uniform between the two.

Values have 6 decimals, so that a trace can hold them: the Standard Workload Format has a
field for the CPU time that a process used on average, which is this share of the run time.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from emulator.workload.models import common
from emulator.workload.swf import CPU_USE, CPU_USE_DECIMALS
from emulator.workload.workload import Workload
from slurm_sim_plugins.errors import ConfigurationError


def assign(workload: Workload, seed: int, *, low: float = 0.40, high: float = 1.00) -> Workload:
    """Give each job the fact ``cpu_use``, its processes' mean CPU use as a share of a processor.

    Args:
        workload: the jobs; a fact ``cpu_use`` that they have is replaced.
        seed: 0 or more.
        low: least use of a parallel job's processes, above 0.
        high: largest use, at most 1. With both 1 all processes use all of their processors.

    Returns:
        The same jobs with the fact; header and hash say so.

    Raises:
        ConfigurationError: an argument out of its range.
    """
    seed = common.whole("seed", seed, 0)
    if not 0 < low <= high <= 1:
        raise ConfigurationError(f"low is {low} and high is {high}; they must be shares, above 0, in this order")
    drawn = common.stream(seed, "cpu_use").uniform(low, high, len(workload))
    use = np.where(workload.processors > 1, np.round(drawn, CPU_USE_DECIMALS), 1.0)
    lines = (f"seed={seed}", f"low={float(low)!r}", f"high={float(high)!r}")
    return replace(
        workload,
        facts={**workload.facts, CPU_USE: use},
        header=(*workload.header, *(f"; Note: cpu_use {line}" for line in lines)),
        source_hash=common.digest("cpu_use", workload.source_hash, *lines),
    )
