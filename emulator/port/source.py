"""What a source tree of Slurm says of its plugins: its version, and the symbols that a loader demands.

Only names and types are read. The loader of a kind of plugin lists its symbols in an array, and their types, in the
same order, in a structure of pointers before it; this has been so in all versions, in files that moved.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from slurm_sim_plugins.errors import InputError

LOADERS = ("src/interfaces", "src/slurmctld", "src/common")
"""Where the loaders are: since 23.02 in the first folder, before in the others."""
LARGEST = 4_000_000
"""Bytes of a file that is read."""
FIRST = {
    "priority": "priority_p_",
    "site_factor": "site_factor_p_",
    "preempt": "preempt_p_",
    "sched": "sched_p_",
    "job_submit": "job_submit",
}
"""How the symbols of each kind of plugin begin."""
_ARRAY = re.compile(r"static\s+const\s+char\s*\*\s*(?:const\s+)?\w*syms\w*\s*\[\s*\]\s*=\s*\{(.*?)\}", re.DOTALL)
_STRUCTURE = re.compile(r"typedef\s+struct\s*\w*\s*\{([^{}]*)\}\s*\w+\s*;", re.DOTALL)
_POINTER = re.compile(r"([\w\s*]+?)\(\s*\*\s*\w+\s*\)\s*\(([\w\s*,]*)\)\s*;")
_REMARK = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_NAMED = re.compile(r"(.*?[\s*])(\w+)")


@dataclass(frozen=True, slots=True)
class Symbol:
    """A function that a plugin has to define.

    Attributes:
        name: such as ``priority_p_set``.
        result: its type.
        types: of its parameters.
        names: of its parameters, as the loader calls them.
    """

    name: str
    result: str
    types: tuple[str, ...]
    names: tuple[str, ...]

    def declared(self, names: tuple[str, ...]) -> str:
        """Its head, with parameters of these names."""
        given = (_joined(kind, name) for kind, name in zip(self.types, names, strict=True))
        return f"{_joined(self.result, self.name)}({', '.join(given) or 'void'})"


@dataclass(frozen=True, slots=True)
class Source:
    """A source tree.

    Attributes:
        folder: of the tree.
        version: such as ``22.05.8``.
    """

    folder: Path
    version: str

    @property
    def short(self) -> tuple[int, int]:
        """Such as (22, 5)."""
        year, month = self.version.split(".")[:2]
        return int(year), int(month)

    @property
    def configured(self) -> bool:
        """Whether plugins can be built with it."""
        return all((self.folder / name).is_file() for name in ("config.h", "slurm/slurm_version.h"))

    def symbols(self, kind: str) -> tuple[Symbol, ...]:
        """What a plugin of a kind has to define, in the loader's order.

        Raises:
            InputError: there is no loader that can be understood.
        """
        return self._loader(kind)[1]

    def headers(self, kind: str) -> list[str]:
        """The headers in which these types are declared; the controller's has all others."""
        file = self._loader(kind)[0].relative_to(self.folder)
        beside = file.with_suffix(".h")
        found = [str(beside)] if (self.folder / beside).is_file() else []
        wanted = {word for symbol in self.symbols(kind) for text in symbol.types for word in re.findall(r"\w+", text)}
        if "job_queue_rec_t" in wanted:
            found.insert(0, "src/slurmctld/job_scheduler.h")
        return found

    def _loader(self, kind: str) -> tuple[Path, tuple[Symbol, ...]]:
        for path in self._files():
            text = _REMARK.sub(" ", _text(path))
            array = _ARRAY.search(text)
            names = re.findall(r'"(\w+)"', array[1]) if array else []
            if array is None or not names or not all(_of_kind(name, kind) for name in names):
                continue
            before = list(_STRUCTURE.finditer(text))
            fields = next((found for found in map(_fields, before) if len(found) == len(names)), None)
            if fields is None:
                raise InputError(
                    f"{path}: the types of {', '.join(names)} could not be read: no structure of {len(names)} pointers "
                    "to functions stands there; write the plugin by hand, from this file"
                )
            return path, tuple(Symbol(name, *field) for name, field in zip(names, fields, strict=True))
        raise InputError(
            f"{self.folder}: no loader of {kind} plugins was found in {', '.join(LOADERS)}; is this a source tree "
            "of Slurm?"
        )

    def _files(self) -> Iterator[Path]:
        for folder in LOADERS:
            yield from sorted((self.folder / folder).glob("*.c"))


def read_source(folder: Path) -> Source:
    """See which Slurm a source tree is.

    Raises:
        InputError: it is none.
    """
    meta = folder / "META"
    found = re.search(r"^\s*Version:\s*(\d+\.\d+[\w.-]*)\s*$", _text(meta), re.MULTILINE) if meta.is_file() else None
    if found is None:
        raise InputError(
            f"{folder}: is no source tree of Slurm: it has no META with a Version. Take the sources of the very "
            "version that will load the plugin, on Debian apt-get source slurm-wlm"
        )
    return Source(folder, found[1])


def _of_kind(name: str, kind: str) -> bool:
    return name in ("job_submit", "job_modify") if kind == "job_submit" else name.startswith(FIRST[kind])


def _fields(structure: re.Match[str]) -> list[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    """Result, types and names of each pointer to a function."""
    found = []
    for result, given in _POINTER.findall(structure[1]):
        parameters = [] if given.split() in ([], ["void"]) else [_parameter(one) for one in given.split(",")]
        types, names = tuple(kind for kind, _ in parameters), tuple(name for _, name in parameters)
        unnamed = tuple(name or f"given{number}" for number, name in enumerate(names, start=1))
        found.append((" ".join(result.split()), types, unnamed))
    return found


def _parameter(text: str) -> tuple[str, str]:
    words = " ".join(text.split())
    named = _NAMED.fullmatch(words)
    return (named[1].strip(), named[2]) if named and named[1].strip() not in ("", "const", "struct") else (words, "")


def _joined(kind: str, name: str) -> str:
    return f"{kind}{name}" if kind.endswith("*") else f"{kind} {name}"


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > LARGEST:
            raise InputError(f"{path}: is larger than {LARGEST:,} bytes; no file of Slurm that is read here is")
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
