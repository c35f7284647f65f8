"""The logs that papers were run on, in a folder of the user's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from slurm_sim_plugins.errors import ConfigurationError, InputError


def find_logs(folder: Path, files: Mapping[str, str], names: Sequence[str] = ()) -> dict[str, Path]:
    """The logs of studies, by name.

    Args:
        folder: where they lie.
        files: of all studies, by name, such as ``swf/CTC.swf.gz``; the file may lie in the folder itself, too.
        names: of the studies wanted; all by default.

    Raises:
        ConfigurationError: a study that there is not.
        InputError: a log is not there.
    """
    for name in names:
        if name not in files:
            raise ConfigurationError(f"there is no workload {name!r}; choose from {', '.join(files)}")
    found = {}
    for name in [name for name in files if name in names or not names]:
        log = file_of(folder, files[name])
        if log is None:
            raise InputError(
                f"{folder}: {Path(files[name]).name} is not there; name the folder of the logs with --traces or "
                "SLURM_SIM_TRACES, or leave this one out with --workload"
            )
        found[name] = log
    return found


def file_of(folder: Path, file: str) -> Path | None:
    """Where a file lies, as it is named or in the folder itself; None if it does not."""
    return next((path for path in (folder / file, folder / Path(file).name) if path.is_file()), None)
