"""The state of a simulation as data.

A simulation is rebuilt by the code that goes on from a snapshot: of the same workload,
configuration and plugins, by the same code. So only what differs from a new one is state.
All objects that a new simulation reaches are numbered, always in the same order. A
snapshot says what each of them holds, and which objects came later; it refers to
functions and to other things that never change by their numbers.

To read a snapshot back fills the objects of a new simulation. No code of their
classes is run, nothing is imported, and only objects of the classes of
:class:`~emulator.snapshot.kinds.Classes` are made; so a snapshot may come from anywhere.

An object is a JSON list: its kind's letter, and what is in it. So a reference is
``["a", 7]`` to the seventh object of a new simulation, ``["n", 7]`` to the seventh that came later.
"""

from __future__ import annotations

import base64
import hashlib
from array import array
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from typing import Any

import numpy as np

from emulator.snapshot.kinds import (
    ATOMS,
    FOREIGN,
    UNSET,
    Classes,
    Kind,
    children,
    contents,
    fixed_key,
    in_dictionary,
    in_slots,
    is_frozen,
    is_over,
    kind_of,
    owner,
    put_into,
    slots,
)
from slurm_sim_plugins.errors import ConfigurationError

Line = list[Any]
"""What a snapshot says of one object."""
MADE_BY_PYTHON = 1 << 9
"""The flag of a class that a class statement made (Py_TPFLAGS_HEAPTYPE); those of compiled modules do not have it."""
WITH_DATA = 3
"""Parts of the content of an array that has its own memory; others refer to that of another one."""


class Graph:
    """All objects of a new simulation.

    Args:
        roots: where to begin, by a name for messages; they keep their indices.
        classes: what can be kept.
    """

    def __init__(self, roots: Mapping[str, Any], classes: Classes) -> None:
        self._classes = classes
        self._roots = dict(roots)
        self._objects: list[tuple[Any, Kind]] = []
        self._numbers: dict[Any, int] = {}
        self._prints: dict[int, bytes] = {}
        self._number_all()

    def lines(self) -> Iterator[Line]:
        """The state as it is now: a line for each object that may have changed, then one for each that came later.

        Raises:
            ConfigurationError: something is there that cannot be kept; says where.
        """
        later = _Later(self)
        for number, (item, kind) in enumerate(self._objects):
            if kind == "fixed" or (kind == "array" and self._prints[number] == _print(item)):
                continue
            if kind == "instance" and is_frozen(type(item)):  # type: ignore[arg-type]
                continue
            yield ["a", number, *later.content(item, kind, lambda item=item: self._where(item))]
        yield from later.lines()

    def fill(self, lines: Iterable[Line]) -> None:
        """Put a state into the objects of this simulation.

        Raises:
            ValueError, TypeError, KeyError, IndexError, AttributeError: these lines are no state of it.
        """
        kept = list(lines)
        later = [line for line in kept if line[0] == "n"]
        made = [_shell(self._classes, *line[2:]) for line in later]
        if [line[1] for line in later] != list(range(len(later))):
            raise ValueError("the objects are not in their order")
        reader = _Reader(self._classes, [item for item, _ in self._objects], made)
        for line, item in zip(later, made, strict=True):
            if line[2] == "array" and item is None:
                made[line[1]] = reader.view(line[3])
        # What is in a set, or a key, is looked for by what it holds: so that comes first.
        for mark, number, kind, content, *_ in sorted(kept, key=lambda line: line[2] in ("dict", "set")):
            item = reader.item(mark, number)
            if mark == "a" and self._objects[number][1] != kind:
                raise ValueError(f"object {number} is of another kind")
            reader.put(item, kind, content)

    def reference(self, item: Any, kind: Kind) -> Line | None:
        """How to refer to an object that a new simulation has, too."""
        number = self._numbers.get(fixed_key(item) if kind == "fixed" else id(item))
        return None if number is None else ["a", number]

    @property
    def classes(self) -> Classes:
        """What can be kept."""
        return self._classes

    def _number_all(self) -> None:
        todo = deque(self._roots.values())
        sets: list[Any] = []
        while todo or sets:
            if not todo:
                # What is in a set has no order; by now most of it is numbered.
                todo.extend(self._in_order(sets.pop(0)))
                continue
            item = todo.popleft()
            kind = kind_of(item, self._classes)
            if kind == "atom":
                continue
            if kind != "tuple":
                key = fixed_key(item) if kind == "fixed" else id(item)
                if key in self._numbers:
                    continue
                self._numbers[key] = len(self._objects)
                self._objects.append((item, kind))
                if kind == "array":
                    self._prints[self._numbers[key]] = _print(item)
                if kind == "set":
                    sets.append(item)
            todo.extend(children(item, kind))

    def _in_order(self, items: set[Any]) -> list[Any]:
        new = [item for item in items if kind_of(item, self._classes) != "atom" and id(item) not in self._numbers]
        if len(new) > 1:
            raise ConfigurationError(
                f"a set holds several {type(new[0]).__name__} objects when a simulation begins, and they have no "
                "order; a run with snapshots needs a list or a dict there"
            )
        return new

    def _where(self, item: Any) -> str:
        """In words, for messages."""
        for name, root in self._roots.items():
            if item is root:
                return name
        return type(item).__name__


class _Later:
    """Writes objects, and numbers those that came later as they are found."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._classes = graph.classes
        self._numbers: dict[int, int] = {}
        self._found: list[tuple[Any, Kind, str]] = []

    def lines(self) -> Iterator[Line]:
        """All that was found, and what is found on the way."""
        index = 0
        while index < len(self._found):
            item, kind, where = self._found[index]
            yield ["n", index, *self.content(item, kind, lambda where=where: where)]
            index += 1

    def content(self, item: Any, kind: Kind, where: Any) -> Line:
        """The kind of an object, what is in it, and its class if it is to be rebuilt."""
        nameless = kind in ("set", "deque", "array", "column", "generator", "cell")
        name = "" if nameless else self._classes.name(type(item))
        return [kind, self._content(item, kind, where), name]

    def _content(self, item: Any, kind: Kind, where: Any) -> Any:
        if kind == "array":
            return [item.dtype.str, list(item.shape), *self._memory(item, where)]
        if kind == "column":
            return [item.typecode, _text(item)]
        if kind == "generator":
            return _plain(item.bit_generator.state)
        if kind in ("set", "cell"):
            return sorted((self.value(each, where) for each in (contents(item) if kind == "cell" else item)), key=repr)
        values: list[Any] = []
        if kind == "instance":
            values.append([self._slot(index, value, item, where) for index, value in enumerate(in_slots(item))])
            values.append([[name, self._field(name, value, where)] for name, value in in_dictionary(item).items()])
        if isinstance(item, list | deque):
            values.append([self.value(each, where) for each in item])
        if isinstance(item, dict):
            values.append([[self.value(key, where), self.value(value, where)] for key, value in item.items()])
        if isinstance(item, deque):
            values.append(item.maxlen)
        if isinstance(item, defaultdict):
            values.append(self.value(item.default_factory, where))
        return values

    def _memory(self, item: Any, where: Any) -> list[Any]:
        """What is in an array; of one that shows a part of another, which part, and of which."""
        whole = owner(item)
        if whole is None or item.dtype != whole.dtype:
            return [_text(np.ascontiguousarray(item))]
        begins, first = (each.__array_interface__["data"][0] for each in (item, whole))
        return [begins - first, list(item.strides), self.value(whole, where)]

    def _slot(self, index: int, value: Any, item: Any, where: Any) -> Any:
        if type(value) in ATOMS:
            return value
        return ["u"] if value is UNSET else self._field(slots(type(item))[index][0], value, where)  # type: ignore[arg-type]

    def _field(self, name: str, value: Any, where: Any) -> Any:
        return self.value(value, lambda: f"{where()}.{name}")

    def value(self, item: Any, where: Any) -> Any:
        """A value: plain, or a reference."""
        if type(item) in ATOMS:
            return item
        kind = kind_of(item, self._classes)
        if kind == "atom":
            return self._atom(item, where)
        if kind == "tuple":
            name = [] if type(item) is tuple else [self._classes.name(type(item))]
            return ["t", [self.value(each, where) for each in item], *name]
        known = self._graph.reference(item, kind)
        if known is not None:
            return known
        if kind == "fixed":
            if isinstance(item, type) and (item in FOREIGN or self._classes.allowed(item)):
                return ["c", self._classes.name(item)]
            raise ConfigurationError(
                f"{where()} holds an object of {type(item).__module__}.{type(item).__qualname__}, which no snapshot "
                "can hold; keep numbers, texts, jobs, lists, dicts, sets, deques, numpy arrays, and objects of the "
                "plugin's own classes there, or run without --snapshot-every"
            )
        number = self._numbers.get(id(item))
        if number is None:
            self._numbers[id(item)] = number = len(self._found)
            self._found.append((item, kind, where()))
        return ["n", number]

    def _atom(self, item: Any, where: Any) -> Any:
        if is_over(item):
            return None
        if isinstance(item, Enum):
            return ["e", self._classes.name(type(item)), item.name]
        if isinstance(item, np.generic):
            return ["s", item.dtype.str, base64.b64encode(item.tobytes()).decode()]
        if isinstance(item, bytes):
            return ["b", base64.b64encode(item).decode()]
        if isinstance(item, frozenset):
            return ["f", sorted((self.value(each, where) for each in item), key=repr)]
        if isinstance(item, range):
            return ["r", item.start, item.stop, item.step]
        return item


class _Reader:
    """Reads values, and puts them into objects."""

    def __init__(self, classes: Classes, first: list[Any], later: list[Any]) -> None:
        self._classes = classes
        self._objects = {"a": first, "n": later}

    def item(self, mark: str, number: int) -> Any:
        """An object by its number."""
        if number < 0:
            raise IndexError("there are no such objects")
        return self._objects[mark][number]

    def value(self, data: Any) -> Any:
        """A value from its data."""
        if not isinstance(data, list):
            return data
        letter, *rest = data
        if letter in ("a", "n"):
            return self.item(letter, rest[0])
        if letter == "t":
            values = [self.value(each) for each in rest[0]]
            return tuple.__new__(self._tuple(rest[1]), values) if rest[1:] else tuple(values)
        if letter == "c":
            return self._classes.find(rest[0])
        return UNSET if letter == "u" else self._atom(letter, rest)

    def _atom(self, letter: str, rest: list[Any]) -> Any:
        """A value that holds no objects."""
        if letter == "f":
            return frozenset(self.value(each) for each in rest[0])
        if letter == "e":
            return self._enumeration(rest[0])[rest[1]]
        if letter == "s":
            return np.frombuffer(base64.b64decode(rest[1]), _dtype(rest[0]))[0]
        if letter == "b":
            return base64.b64decode(rest[0])
        if letter == "r":
            return range(*rest)
        raise ValueError(f"{letter!r} is no kind of value")

    def view(self, content: Any) -> Any:
        """An array that shows a part of another one; numpy sees to it that it is a part."""
        kind, shape, offset, strides, whole = content
        base = self.value(whole)
        if type(base) is not np.ndarray or base.dtype != _dtype(kind):
            raise ValueError("there is no such array")
        return np.ndarray(shape, base.dtype, base, offset, strides)

    def put(self, item: Any, kind: Kind, content: Any) -> None:  # noqa: C901 - one kind after the other
        """Fill an object."""
        if kind == "array":
            if len(content) == WITH_DATA:
                item[...] = _array(content)
        elif kind == "column":
            del item[:]
            item.frombytes(base64.b64decode(content[1]))
        elif kind == "generator":
            item.bit_generator.state = content
        elif kind == "set":
            item.clear()
            item.update(self.value(each) for each in content)
        elif kind == "cell":
            if content:
                item.cell_contents = self.value(content[0])
        else:
            parts = deque(content)
            if kind == "instance":
                values = [self.value(value) for value in parts.popleft()]
                put_into(item, values, {str(name): self.value(value) for name, value in parts.popleft()})
            if isinstance(item, list | deque):
                item.clear()
                item.extend(self.value(each) for each in parts.popleft())
            if isinstance(item, dict):
                item.clear()
                # A class may have an assignment of its own, which is not to be run; ordered ones need theirs.
                assign = type(item).__setitem__ if type(item) in FOREIGN else dict.__setitem__
                for key, value in parts.popleft():
                    assign(item, self.value(key), self.value(value))
            if isinstance(item, defaultdict):
                item.default_factory = self.value(parts.popleft())

    def _tuple(self, name: str) -> type[tuple[Any, ...]]:
        kind = self._classes.find(name)
        if not issubclass(kind, tuple):
            raise ValueError(f"{name!r} is no tuple")
        return kind

    def _enumeration(self, name: str) -> Any:
        kind = self._classes.find(name)
        if not issubclass(kind, Enum):
            raise ValueError(f"{name!r} is no enumeration")
        return kind


def _shell(classes: Classes, kind: Kind, content: Any, name: str) -> Any:
    """An object that came later, still empty."""
    if kind == "array":
        return np.empty(content[1], _dtype(content[0])) if len(content) == WITH_DATA else None
    if kind == "column":
        return array(content[0])
    if kind == "generator":
        return np.random.Generator(np.random.PCG64())
    if kind == "set":
        return set()
    if kind == "deque":
        return deque(maxlen=content[1])
    if kind not in ("list", "dict", "instance"):
        raise ValueError(f"no object of kind {kind!r} can come later")
    found = classes.find(name)
    base = next((base for base in (dict, list, set, tuple, int, float, str) if issubclass(found, base)), object)
    if base in (set, tuple, int, float, str) or (kind != "instance") != (found in FOREIGN):
        raise ValueError(f"{name!r} is of another kind")
    if base is object:
        # Of a class that derives from a compiled one, that makes the object.
        maker: Any = next(base for base in found.__mro__ if not base.__flags__ & MADE_BY_PYTHON)
        return maker.__new__(found)
    return base.__new__(found)


def _plain(state: Any) -> Any:
    """State of a bit generator as JSON has it."""
    if isinstance(state, Mapping):
        return {key: _plain(value) for key, value in state.items()}
    return state.tolist() if isinstance(state, np.ndarray | np.generic) else state


def _array(content: Any) -> Any:
    kind, shape, data = content
    return np.frombuffer(base64.b64decode(data), _dtype(kind)).reshape(shape)


def _dtype(name: str) -> np.dtype[Any]:
    dtype = np.dtype(str(name))
    if dtype.hasobject:
        raise ValueError("objects are not data")
    return dtype


def _print(item: Any) -> bytes:
    """By what an array is known not to have changed."""
    return hashlib.sha256(np.ascontiguousarray(item).tobytes()).digest()


def _text(item: Any) -> str:
    return base64.b64encode(item.tobytes()).decode()
