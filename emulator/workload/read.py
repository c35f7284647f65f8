"""Reading a trace of any known format; the format is told by name and content."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from emulator.workload.logfile import first_line
from emulator.workload.swf import read_swf
from emulator.workload.workload import Workload
from slurm_sim_plugins.errors import ConfigurationError

if TYPE_CHECKING:
    from emulator.workload.variations import Variation

COMMENT = ";"
"""What lines of the head of a trace in SWF begin with, and of no other."""
ENDINGS = (".csv", ".csv.gz")
COBALT_ENDINGS = (".cobalt.log", ".cobalt.log.gz")


def read_trace(
    path: str | os.PathLike[str],
    *,
    realtime: float | None = None,
    variation: Variation = "default",
    realtime_seed: int = 0,
    **options: Any,
) -> Workload:
    """Read a trace: CSV of ALCF, a log of Cobalt or of Slurm, by ending or first line; anything else as SWF.

    Args:
        path: the file, plain or compressed with gzip.
        realtime: how many jobs are real-time jobs, in percent; None: the trace says it, or does not.
        variation: which jobs these are, see :mod:`emulator.workload.variations`.
        realtime_seed: of the draw.
        options: of :func:`emulator.workload.swf.read_swf`,
            :func:`emulator.workload.alcf.read_alcf`,
            :func:`emulator.workload.cobalt.read_cobalt` or
            :func:`emulator.workload.sites.read_site_workload`.

    Raises:
        InputError: the file cannot be read as what it seems to be.
        ConfigurationError: an option that cannot be used, or not for this format.
    """
    workload = _read(os.fspath(path), options)
    if realtime is not None:
        from emulator.workload.variations import vary

        return vary(workload, variation, realtime, realtime_seed)
    if variation != "default" or realtime_seed:
        raise ConfigurationError("variation and realtime_seed go with realtime, the percentage of real-time jobs")
    return workload


def _read(file: str, options: dict[str, Any]) -> Workload:
    """Read a trace as what it seems to be."""
    head, name = first_line(file), file.lower()
    if head.startswith(COMMENT) and not name.endswith((*ENDINGS, *COBALT_ENDINGS)):
        return read_swf(file, **options)
    # The readers of other formats take a tenth of a second to import.
    from emulator.workload.alcf import looks_like_alcf, read_alcf
    from emulator.workload.cobalt import looks_like_cobalt, read_cobalt
    from emulator.workload.sites import looks_like_site_log, read_site_workload

    cobalt = name.endswith(COBALT_ENDINGS) or looks_like_cobalt(head)
    site = looks_like_site_log(head)
    if not (cobalt or site or name.endswith(ENDINGS) or looks_like_alcf(head)):
        return read_swf(file, **options)
    if options.pop("processors_field", None) is not None:
        raise ConfigurationError(f"{file}: processors_field is for traces in SWF; this one has one size of each job")
    if site:
        return read_site_workload(file, **options)
    return read_cobalt(file, **options) if cobalt else read_alcf(file, **options)
