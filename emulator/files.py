"""Writing files so that a failure leaves what was there before."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import IO

from slurm_sim_plugins.errors import OutputError


def make_folder(folder: Path) -> None:
    """Make a folder, and those above it, if they are not there.

    Raises:
        OutputError: it cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{folder}: cannot be made: {error.strerror}; name another folder") from error


def check_place(path: Path) -> None:
    """Make sure, before the work is done, that a file can be made there.

    Raises:
        OutputError: its folder is not there or cannot be written, or it is a folder itself.
    """
    folder = path.absolute().parent
    if path.is_dir():
        raise OutputError(f"{path}: is a folder; name a file in it")
    if not folder.is_dir():
        raise OutputError(f"{path}: there is no folder {folder}; make it, or name another place")
    if not os.access(folder, os.W_OK):
        raise OutputError(f"{path}: the folder {folder} cannot be written; name another place")


def write_atomically(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    """Write a file under another name beside it, then put it in its place.

    Raises:
        OutputError: it cannot be written; what was there before is still there.
    """
    temporary = None
    try:
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as stream:
            temporary = Path(stream.name)
            write(stream)
        temporary.chmod(0o666 & ~_umask())
        os.replace(temporary, path)
    except (OSError, ValueError) as error:
        raise OutputError(f"{path}: cannot be written: {getattr(error, 'strerror', None) or error}") from error
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
