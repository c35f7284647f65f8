"""A YAML document that knows the line of each of its values, for the messages of what reads it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeVar

from emulator.config.slurm.location import Location
from slurm_sim_plugins.errors import ConfigurationError, InputError, meant

if TYPE_CHECKING:
    import yaml

T = TypeVar("T")

LARGEST_NUMBER = 1 << 40
"""No id, priority or length of a job is as large."""
LONGEST = 7 * 86_400.0
"""Seconds; no recording is longer."""


class Tree:
    """A node of a YAML document, which knows where it stands."""

    def __init__(self, node: yaml.Node, file: str) -> None:
        self._node = node
        self._kind = type(node).__name__
        self._file = file

    @classmethod
    def of(cls, content: bytes, file: str) -> Tree:
        """The only document of a file.

        Raises:
            ConfigurationError: PyYAML is not installed.
            InputError: not a YAML document.
        """
        try:
            import yaml
        except ImportError as error:
            raise ConfigurationError("reading a scenario needs PyYAML: python -m pip install pyyaml") from error
        try:
            node = yaml.compose(content, Loader=yaml.SafeLoader)
        except yaml.MarkedYAMLError as error:
            line = error.problem_mark.line + 1 if error.problem_mark is not None else 1
            raise InputError(f"{Location(file, line)}: is not YAML: {error.problem or error.context}") from error
        except (yaml.YAMLError, RecursionError, UnicodeDecodeError) as error:
            raise InputError(f"{file}: is not YAML: {error}") from error
        if node is None:
            raise InputError(f"{file}: is empty; a scenario is a mapping with slurm_conf and jobs")
        return cls(node, file)

    @property
    def location(self) -> Location:
        """Where it stands."""
        return Location(self._file, self._node.start_mark.line + 1)

    def error(self, text: str) -> InputError:
        """An error about this node."""
        return InputError(f"{self.location}: {text}")

    def mapping(self) -> dict[str, Tree]:
        """Its values by key, in their order."""
        if self._kind != "MappingNode":
            raise self.error("is no mapping")
        values: dict[str, Tree] = {}
        for key, value in self._node.value:
            name = Tree(key, self._file).text()
            if name in values:
                raise Tree(key, self._file).error(f"{name!r} comes twice")
            values[name] = Tree(value, self._file)
        return values

    def fields(self, what: str, *known: str) -> Fields:
        """Its values by key, of which only these may be there."""
        values = self.mapping()
        for name, value in values.items():
            if name not in known:
                raise value.error(f"{what} has no key {name!r}{meant(name, known)}; known are {', '.join(known)}")
        return Fields(self, what, values)

    def items(self) -> list[Tree]:
        """Its values in order."""
        if self._kind != "SequenceNode":
            raise self.error("is no list")
        return [Tree(value, self._file) for value in self._node.value]

    def row(self, what: str, least: int, most: int) -> list[Tree]:
        """Its values, which are so many."""
        items = self.items()
        if not least <= len(items) <= most:
            raise self.error(f"{what} has {least}{f' or {most}' if most > least else ''} values, not {len(items)}")
        return items

    def is_null(self) -> bool:
        """Whether nothing stands there."""
        return str(self._node.tag).endswith(":null")

    def is_mapping(self) -> bool:
        """Whether it is a mapping."""
        return self._kind == "MappingNode"

    def text(self) -> str:
        """A text."""
        return self._scalar("text", "str", str)

    def second(self) -> float:
        """A second of a recording."""
        value = self._scalar("a number", "int float", float)
        if not abs(value) <= LONGEST:
            raise self.error(f"{self._node.value!r} is no second of a recording, which lasts {LONGEST:g} at most")
        return value

    def whole(self) -> int:
        """A whole number."""
        value = self._scalar("a whole number", "int", int)
        if abs(value) >= LARGEST_NUMBER:
            raise self.error(f"{self._node.value!r} is too large: no number here reaches {LARGEST_NUMBER:,}")
        return value

    def read_as(self, read: Callable[[str], object]) -> str:
        """A text that can be read so; ``read`` raises a ValueError if it cannot."""
        text = self.text()
        try:
            read(text)
        except ValueError as error:
            raise self.error(str(error)) from None
        return text

    def flag(self) -> bool:
        """True or false."""
        return self._scalar("true or false", "bool", lambda text: text.lower() in ("true", "yes", "on"))

    def _scalar(self, what: str, kinds: str, read: Callable[[str], T]) -> T:
        kind = str(self._node.tag).rpartition(":")[2]
        if self._kind != "ScalarNode":
            raise self.error(f"is {kind}, not {what}")
        if kind not in kinds.split():
            quotes = ": put it in quotes" if kinds == "str" else ""
            raise self.error(f"{self._node.value!r} is {kind}, not {what}{quotes}")
        try:
            return read(self._node.value)
        except ValueError:
            raise self.error(f"{self._node.value!r} is not {what}") from None


class Fields:
    """The values of a mapping, of which some may be absent.

    Args:
        tree: the mapping.
        what: how messages name it.
        values: its values by key.
    """

    def __init__(self, tree: Tree, what: str, values: Mapping[str, Tree]) -> None:
        self.location = tree.location
        self._tree = tree
        self._what = what
        self._values = values

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def get(self, name: str, read: Callable[[Tree], T]) -> T | None:
        """A value, or None where it is absent or null."""
        tree = self._values.get(name)
        return None if tree is None or tree.is_null() else read(tree)

    def need(self, name: str, read: Callable[[Tree], T]) -> T:
        """A value that must be there."""
        if name not in self._values:
            raise self._tree.error(f"{self._what} needs {name!r}")
        return read(self._values[name])

    def error(self, text: str) -> InputError:
        """An error about the mapping."""
        return self._tree.error(text)
