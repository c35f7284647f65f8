"""What decides the bytes of a result, as hashes."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any

from slurm_sim_plugins.errors import InputError

PACKAGES = ("emulator", "slurm_sim_plugins")
ENDINGS = (".py", ".toml")


def canonical(data: Any) -> bytes:
    """Data as JSON, the same bytes for the same data."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"), default=str).encode()


def sha256(data: bytes) -> str:
    """In hex."""
    return hashlib.sha256(data).hexdigest()


@cache
def hash_of(file: Path) -> str:
    """SHA-256 of a file as it was when it was first asked for.

    Raises:
        InputError: the file cannot be read.
    """
    return fresh_hash_of(file)


def fresh_hash_of(file: Path) -> str:
    """SHA-256 of a file as it is now.

    Raises:
        InputError: the file cannot be read, or is no regular file.
    """
    try:
        if file.exists() and not file.is_file():
            raise InputError(f"{file}: is no regular file; name one")
        with file.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {error.strerror}") from error


@cache
def code() -> str:
    """SHA-256 of the source of both packages, and of the tables that they hold."""
    return source_of(*(Path(__file__).parents[2] / package for package in PACKAGES))


@cache
def source_of(*packages: Path) -> str:
    """SHA-256 of the source in the folders of packages, and of the tables that they hold."""
    found = hashlib.sha256()
    for package in packages:
        for file in sorted(file for ending in ENDINGS for file in package.rglob(f"*{ending}")):
            found.update(f"{file.relative_to(package.parent).as_posix()}\n".encode())
            found.update(file.read_bytes())
    return found.hexdigest()
