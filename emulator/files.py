"""Writing files so that a failure leaves what was there before, and reading those of folders from anywhere.

A folder of results may come from somebody else. What is opened in it lies in it: no link is
followed, nothing but a regular file is opened, and what is read whole has a bound.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import tempfile
from collections.abc import Callable
from io import BufferedReader, TextIOWrapper
from pathlib import Path
from typing import IO

from slurm_sim_plugins.errors import InputError, OutputError

LARGEST = 1 << 28
"""Bytes of a file that is read whole: run.toml, a list of runs, a manifest."""
PART = ".slurm-sim-part"
"""How the name of a file ends that is not yet complete."""
MALFORMED = (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError)
"""What comes of content that was not written by us."""
_STREAMS = ("/dev/std", "/dev/fd/", "/proc/")
_FOLDER = os.O_RDONLY | os.O_DIRECTORY
_WHY = {errno.ELOOP: "is a link; links are not followed here", errno.ENOTDIR: "lies in no folder, or in a link to one"}


def open_kept(path: Path, folder: Path | None = None) -> BufferedReader:
    """Open a file of a folder that may come from somebody else, for reading.

    Args:
        path: the file.
        folder: which nothing may lead out of; by default the one that holds the file.

    Raises:
        OSError: it cannot be read, is no regular file, or is or lies in a link.
    """
    *above, name = path.relative_to(folder).parts if folder is not None else (path.name,)
    opened = os.open(folder if folder is not None else path.parent, _FOLDER)
    try:
        for part in above:
            opened, outer = os.open(part, _FOLDER | os.O_NOFOLLOW, dir_fd=opened), opened
            os.close(outer)
        # Without O_NONBLOCK a named pipe would wait for a writer.
        file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=opened)
    except OSError as error:
        raise OSError(error.errno, _WHY.get(error.errno or 0, error.strerror), str(path)) from error
    finally:
        os.close(opened)
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise OSError(errno.EINVAL, "is no regular file", str(path))
    return os.fdopen(file, "rb")


def read_kept(path: Path, folder: Path | None = None) -> bytes:
    """All of a file of a folder that may come from somebody else.

    Raises:
        OSError: as :func:`open_kept`, or it is larger than :data:`LARGEST`.
    """
    with open_kept(path, folder) as stream:
        if os.fstat(stream.fileno()).st_size > LARGEST:
            raise OSError(errno.EFBIG, f"holds more than {LARGEST:,} bytes", str(path))
        return stream.read()


def read_input(path: Path, most: int | None = None, what: str = "") -> bytes:
    """All of a file that a user names.

    Args:
        path: the file.
        most: more MiB than that ``what`` never has, such as ``no scenario is``.
        what: ends the message.

    Raises:
        InputError: it cannot be read, or holds more.
    """
    try:
        with path.open("rb") as stream:
            content = stream.read() if most is None else stream.read((most << 20) + 1)
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from error
    if most is not None and len(content) > most << 20:
        raise InputError(f"{path}: is larger than {most} MiB: {what}")
    return content


def make_folder(folder: Path) -> None:
    """Make a folder, and those above it, if they are not there.

    Raises:
        OutputError: it cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{folder}: cannot be made: {error.strerror}; name another folder") from error


def check_writable(path: Path) -> None:
    """Make sure, before the work is done, that a file can be made there.

    Raises:
        OutputError: its folder is not there or cannot be written, or it is a folder itself.
    """
    folder = path.absolute().parent
    if _is_stream(path):
        if not os.access(path, os.W_OK):
            raise OutputError(f"{path}: cannot be written; name another file")
        return
    if path.is_dir():
        raise OutputError(f"{path}: is a folder; name a file in it")
    if not folder.is_dir():
        raise OutputError(f"{path}: there is no folder {folder}; make it, or name another folder")
    if not os.access(folder, os.W_OK):
        raise OutputError(f"{path}: the folder {folder} cannot be written; name another folder")


def write_atomically(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    """Write a file under another name beside it, then rename it.

    What a killed process left of an earlier attempt is removed. A device or a pipe is written to itself.

    Raises:
        OutputError: it cannot be written; what was there before is still there.
    """
    temporary = None
    try:
        if _is_stream(path):
            # Without O_NONBLOCK a named pipe would wait for a reader.
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_NONBLOCK), "wb") as stream:
                os.set_blocking(stream.fileno(), True)
                write(stream)
            return
        clear_parts(path.parent, path.name)
        with _part(path) as stream:
            temporary = Path(stream.name)
            write(stream)
            stream.flush()
            _replace(temporary, path)
    except (OSError, ValueError) as error:
        raise OutputError(f"{path}: cannot be written: {getattr(error, 'strerror', None) or error}") from error
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def write_data(path: Path, data: bytes | str) -> None:
    """As :func:`write_atomically`, of bytes, or of a text in UTF-8.

    Raises:
        OutputError: it cannot be written; what was there before is still there.
    """
    write_atomically(path, lambda stream: stream.write(data.encode() if isinstance(data, str) else data))


def open_beside(path: Path) -> IO[str]:
    """Open a text file under another name beside the one that :func:`replace_by` replaces with it.

    What is no regular file (a pipe, a standard stream) is opened itself.

    Raises:
        OutputError: it cannot be made there.
    """
    try:
        if str(path.absolute()).startswith(_STREAMS) or (path.exists() and not path.is_file()):
            return path.open("w", encoding="utf-8", newline="\n")
        real = Path(os.path.realpath(path))
        clear_parts(real.parent, real.name)
        return TextIOWrapper(_part(real), encoding="utf-8", newline="\n")
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror}; name another folder") from error


def replace_by(stream: IO[str], path: Path) -> None:
    """Rename a file that :func:`open_beside` opened, and that is still open, to its final name.

    Raises:
        OutputError: that cannot be done; says where the file is.
    """
    if stream.name == str(path):
        return
    try:
        _replace(Path(stream.name), Path(os.path.realpath(path)))
    except OSError as error:
        raise OutputError(
            f"{path}: cannot be written: {error.strerror}; its new content is in {stream.name}"
        ) from error


def clear_parts(folder: Path, name: str | None = None) -> None:
    """Remove what killed processes left of files that they wrote.

    A process holds a lock on such a file while it writes it; where a file system has no
    locks nothing is removed.

    Args:
        folder: where.
        name: of the file that was to be written; None for any.
    """
    wanted = re.compile(rf"\.{'.+' if name is None else re.escape(name)}\.[a-z0-9_]{{8}}{re.escape(PART)}")
    for part in filter(wanted.fullmatch, os.listdir(folder)):
        try:
            with open_kept(folder / part) as stream:
                if try_lock(stream.fileno()):
                    (folder / part).unlink()
        except OSError:
            continue  # It is no part, its writer still lives, or it is gone.


def try_lock(file: int) -> bool:
    """Take the lock of an open file, which the end of the process gives back; False if another process holds it.

    Raises:
        OSError: there are no locks here.
    """
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_stream(path: Path) -> bool:
    """Whether a path is a standard stream, a device of characters or a named pipe, and no link to one of these."""
    if str(path.absolute()).startswith(_STREAMS):
        return True
    try:
        mode = path.lstat().st_mode
    except OSError:
        return False
    return stat.S_ISCHR(mode) or stat.S_ISFIFO(mode)


def _part(path: Path) -> IO[bytes]:
    """A new file beside another one, which is held so that no other process takes it for left behind."""
    while True:
        stream = tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", suffix=PART, delete=False)  # noqa: SIM115
        try:
            if try_lock(stream.fileno()) and os.fstat(stream.fileno()).st_nlink:
                return stream
        except OSError:
            return stream  # There are no locks here, so that no other run removes it.
        stream.close()
        Path(stream.name).unlink(missing_ok=True)


def _replace(part: Path, path: Path) -> None:
    part.chmod(0o666 & ~_umask())
    os.replace(part, path)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
