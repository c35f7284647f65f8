"""Tables in TOML: reading them, and checking keys and values."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from emulator.files import read_input
from slurm_sim_plugins.errors import ConfigurationError, InputError, meant
from slurm_sim_plugins.manager import WORDS


def read_toml(path: Path) -> dict[str, Any]:
    """What a TOML file says.

    Raises:
        InputError: it cannot be read, or is not TOML (with the line).
    """
    return parse_toml(text_of_toml(path), path)


def text_of_toml(path: Path) -> str:
    """The text of a file that should be TOML.

    Raises:
        InputError: it cannot be read, or is no text.
    """
    try:
        return read_input(path).decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is not TOML: {error}") from error


def parse_toml(text: str, source: Path | str) -> dict[str, Any]:
    """What a text in TOML says; ``source`` is what messages call it.

    Raises:
        InputError: it is not TOML (with the line).
    """
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{source}: is not TOML: {error}") from error


def check_values(
    path: Path, table: str, values: Mapping[str, Any], kinds: Mapping[str, type], others: Iterable[str] = ()
) -> dict[str, Any]:
    """The values of a table, each of its kind; messages name the keys ``others``, too.

    Raises:
        ConfigurationError: an unknown key, or a value of another kind.
    """
    check_keys(path, f"{table}.", values, [*kinds, *others])
    return {key: check_kind(path, table, key, value, kinds[key]) for key, value in values.items()}


def check_kind(path: Path, table: str, key: str, value: Any, kind: type) -> Any:
    """The value, if it is of this kind.

    Raises:
        ConfigurationError: it is not.
    """
    accepted = (int, float) if kind is float else kind
    if not isinstance(value, accepted) or (isinstance(value, bool) and kind is not bool):
        raise ConfigurationError(f"{path}: {table}.{key} takes {WORDS[kind]}, not {value!r}")
    return value


def check_table(path: Path, name: str, value: Any) -> dict[str, Any]:
    """The value, if it is a table.

    Raises:
        ConfigurationError: it is not.
    """
    if not isinstance(value, dict):
        raise ConfigurationError(f"{path}: {name} is a table, [{name}], not {value!r}")
    return value


def check_keys(path: Path | str, prefix: str, values: Iterable[str], known: Iterable[str]) -> None:
    """Check that all keys are known.

    Raises:
        ConfigurationError: one is not; says which was probably meant.
    """
    for key in values:
        if key not in known:
            guess = meant(key, known)
            raise ConfigurationError(f"{path}: there is no key {prefix}{key}{guess}; known are {', '.join(known)}")
