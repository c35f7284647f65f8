"""A run is written aside, and replaces the one before when it is whole.

While a run is made, its files are in ``DIR/unfinished``: the event log and the snapshot, at
the end all of them, ``run.toml`` last. Then they are moved to ``DIR``: the
``run.toml`` of the run before is removed first and the new one comes last. So a folder with
a ``run.toml`` holds one whole run, wherever a process is killed, and a folder without one
says so in every reader. The next process that writes there ends the move that was begun,
and removes what a killed run left aside, by the names that a run gives: the process that
makes a run holds a lock on ``unfinished/lock``.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from emulator.accounting.runfolder import ABOUT, FILES, SNAPSHOT, UNFINISHED, has_finished
from emulator.files import PART, make_folder, try_lock
from slurm_sim_plugins.errors import OutputError

LOCK = "lock"
MOVING = "run.toml.moving"
"""What ``run.toml`` is called while the other files are moved."""


@contextmanager
def written_aside(folder: Path, keep: Collection[str] = ()) -> Iterator[Path]:
    """The folder in which the files of a run are to be written, which end in another one.

    If ``run.toml`` is among them at the end, the run is whole, finished or broken off. If it
    is not, they stay aside; none stay where nothing was logged.

    Args:
        folder: where the files of the run end.
        keep: names of files to go on with, if an earlier process left them aside.

    Raises:
        OutputError: the folder cannot be written, or another process writes a run there.
    """
    make_folder(folder)
    aside = folder / UNFINISHED
    with _in_words(folder):
        lock = _lock(folder, aside)
    try:
        with _in_words(folder):
            _check(folder, aside)
            _replace(aside, folder)
            _remove(aside, set(FILES) - set(keep))
        try:
            yield aside
        finally:
            with _in_words(folder), _without_interrupts():
                _end(aside, folder)
    finally:
        os.close(lock)


@contextmanager
def _in_words(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        path = error.filename or folder
        raise OutputError(f"{path}: cannot be written: {error.strerror or error}; name another folder") from error


def _lock(folder: Path, aside: Path) -> int:
    """Keep other processes from writing a run there, until the file that is returned is closed."""
    if aside.is_symlink():
        raise OutputError(f"{aside}: is a link that no run made; move it away, or name another folder")
    aside.mkdir(exist_ok=True)
    lock = os.open(aside / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)
    try:
        # A run that has just ended took the file with it.
        free = try_lock(lock) and os.path.samestat(os.fstat(lock), os.lstat(aside / LOCK))
    except FileNotFoundError:
        free = False
    except OSError:
        free = os.listdir(aside) == [LOCK]  # There are no locks here.
    if not free:
        os.close(lock)
        raise OutputError(
            f"{folder}: another run is written there; wait for it, or name another folder (on a file system without "
            f"locks: remove {aside} if there is no other run)"
        )
    return lock


def _check(folder: Path, aside: Path) -> None:
    """Make sure, before the work is done, that nothing is in the way that is not ours."""
    others = [
        name for name in sorted(os.listdir(aside)) if name not in (LOCK, MOVING, *FILES) and not name.endswith(PART)
    ]
    folders = [name for name in FILES if (folder / name).is_dir() and not (folder / name).is_symlink()]
    for file in (*map(aside.joinpath, others), *map(folder.joinpath, folders)):
        raise OutputError(f"{file}: is in the way, and no run made it; move it away, or name another folder")


def _remove(aside: Path, names: Collection[str]) -> None:
    for name in os.listdir(aside):
        if name in names or name.endswith(PART):
            (aside / name).unlink()


def _end(aside: Path, folder: Path) -> None:
    """Move a whole run to its folder; leave no folder aside without a use."""
    _replace(aside, folder)
    if not any(file.stat().st_size for file in aside.iterdir()):
        _remove(aside, FILES)
        (aside / LOCK).unlink()
        aside.rmdir()


def _replace(aside: Path, folder: Path) -> None:
    """Replace the files of the run before, if there is a whole run; what was begun is ended."""
    if (aside / ABOUT).exists():
        if has_finished(aside):
            # There is nothing to go on from any more.
            (aside / SNAPSHOT).unlink(missing_ok=True)
        new = [name for name in FILES if (aside / name).exists()]
        for name in new:
            _to_disk(aside / name)
        # First of all its description, without which the others are none of a run.
        for name in (ABOUT, *FILES):
            if name == ABOUT or name not in new:
                (folder / name).unlink(missing_ok=True)
        os.replace(aside / ABOUT, aside / MOVING)
    if (aside / MOVING).exists():
        for name in FILES:
            if (aside / name).exists():
                os.replace(aside / name, folder / name)
        os.replace(aside / MOVING, folder / ABOUT)
        _to_disk(folder)


def _to_disk(path: Path) -> None:
    """See to it that a file, or the names in a folder, outlast a power cut."""
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Let an interrupt wait, for the moment that this takes."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
