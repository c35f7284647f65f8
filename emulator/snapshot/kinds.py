"""What the state of a simulation is made of, and how each kind of object is looked into.

Only kinds that are listed here can be kept. Everything else (functions, open files,
objects of other libraries) is *fixed*: it can be kept only if it was there, in the same
place, when the simulation began, and then it is not written but referred to.
"""

from __future__ import annotations

import functools
import types
from array import array
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Iterator
from enum import Enum
from typing import Any, Literal

import numpy as np

Kind = Literal[
    "atom", "tuple", "list", "dict", "set", "deque", "array", "column", "generator", "instance", "cell", "fixed"
]

ATOMS = (type(None), bool, int, float, str)
FOREIGN = (list, dict, OrderedDict, Counter, defaultdict)
"""Classes of others of which objects may be rebuilt, by their names."""
KINDS: dict[type, Kind] = {
    list: "list",
    set: "set",
    deque: "deque",
    array: "column",
    np.random.Generator: "generator",
    types.CellType: "cell",
    **dict.fromkeys((dict, OrderedDict, Counter, defaultdict), "dict"),
}
VALUES = (int, float, complex, str, bytearray, set, deque, OrderedDict, BaseException)
"""Whose subclasses are not looked into."""
PACKAGES = ("emulator", "slurm_sim_plugins")
Slot = types.MemberDescriptorType | types.GetSetDescriptorType
"""What stands for an attribute in a class with slots, and in a compiled one."""
UNSET = object()
"""What is in a slot that was never assigned."""


class Classes:
    """The classes whose objects a snapshot may hold: those of both packages and of the plugins that take part.

    Args:
        plugins: classes of the plugins by name.
        fixed: classes of objects that never change, and are not looked into.

    Attributes:
        kinds: of what kind the objects of a class are, as far as it was asked for.
    """

    def __init__(self, plugins: dict[str, type], fixed: tuple[type, ...]) -> None:
        self._modules = {factory.__module__: f"@{name}" for name, factory in plugins.items()}
        self._tops = {module.partition(".")[0] for module in self._modules} | set(PACKAGES)
        self._fixed = fixed
        self.kinds: dict[type, Kind] = {}

    def allowed(self, kind: type) -> bool:
        """Whether objects of a class can be kept."""
        return kind.__module__.partition(".")[0] in self._tops and not issubclass(kind, self._fixed)

    def name(self, kind: type) -> str:
        """What a class is called in a snapshot; where a plugin file lies is no part of it."""
        if kind in FOREIGN:
            return kind.__name__
        return f"{self._modules.get(kind.__module__, kind.__module__)}:{kind.__qualname__}"

    def find(self, name: str) -> type:
        """The class of a name; nothing is imported for it.

        Raises:
            ValueError: there is none, or its objects cannot be kept.
        """
        import sys

        for kind in FOREIGN:
            if kind.__name__ == name:
                return kind
        module, _, path = name.partition(":")
        module = next((known for known, alias in self._modules.items() if alias == module), module)
        found: Any = sys.modules.get(module)
        for part in path.split("."):
            found = vars(found).get(part) if found is not None else None
        if not isinstance(found, type) or not self.allowed(found):
            raise ValueError(f"{name!r} is no class whose objects can be kept")
        return found


def kind_of(item: Any, classes: Classes) -> Kind:
    """Which kind an object is of."""
    kind = type(item)
    known = classes.kinds.get(kind)
    if known is not None:
        return known
    if kind is np.ndarray:
        return "array" if not item.dtype.hasobject else "fixed"
    if is_over(item):
        return "atom"
    classes.kinds[kind] = found = _kind_of_class(kind, classes)
    return found


def _kind_of_class(kind: type, classes: Classes) -> Kind:
    """Which kind all objects of a class are of."""
    if kind in ATOMS or issubclass(kind, Enum | np.generic | bytes | frozenset | range):
        return "atom"
    if issubclass(kind, tuple):
        return "tuple" if kind is tuple or hasattr(kind, "_fields") else "fixed"
    if kind in KINDS:
        return KINDS[kind]
    return "instance" if classes.allowed(kind) and not issubclass(kind, (*VALUES, type)) else "fixed"


def is_over(item: Any) -> bool:
    """Whether this is a generator that has come to its end: what is left of the last pass, and as good as None."""
    return isinstance(item, types.GeneratorType) and item.gi_frame is None


@functools.cache
def is_frozen(kind: type) -> bool:
    """Whether this is a frozen dataclass of ours, whose objects hold what they held when they were made."""
    ours = kind.__module__.partition(".")[0] in PACKAGES
    return ours and getattr(vars(kind).get("__dataclass_params__"), "frozen", False)


def owner(item: Any) -> Any:
    """The array of whose memory an array shows a part; None if it has its own."""
    return item.base if type(item.base) is np.ndarray else None


def children(item: Any, kind: Kind) -> Iterator[Any]:
    """The objects that an object holds, always in the same order; those of a set are left out."""
    if kind in ("list", "tuple", "deque"):
        yield from item
    elif kind == "dict":
        yield from item.keys()
        yield from item.values()
        yield getattr(item, "default_factory", None)
    elif kind == "instance":
        yield from (value for value in in_slots(item) if value is not UNSET)
        yield from in_dictionary(item).values()
        if isinstance(item, dict):
            yield from children(item, "dict")
        elif isinstance(item, list):
            yield from item
    elif kind == "cell":
        yield from contents(item)
    elif kind == "array" and owner(item) is not None:
        yield owner(item)
    elif kind == "fixed":
        yield from _behind(item)


def contents(cell: Any) -> list[Any]:
    """What a cell of a closure holds, if anything."""
    try:
        return [cell.cell_contents]
    except ValueError:
        return []


def _behind(item: Any) -> Iterator[Any]:
    """What a function reaches: its object, and the variables that it closes over."""
    if isinstance(item, types.MethodType | types.BuiltinMethodType) and not isinstance(item.__self__, types.ModuleType):
        yield item.__self__
    if isinstance(item, types.MethodType):
        yield item.__func__
    elif isinstance(item, types.FunctionType):
        yield from item.__closure__ or ()
    elif isinstance(item, functools.partial):
        yield item.func
        yield from item.args
        yield from item.keywords.values()


def fixed_key(item: Any) -> Any:
    """By what a fixed object is known again: a method is another object whenever it is asked for."""
    if isinstance(item, types.MethodType):
        return (id(item.__self__), id(item.__func__))
    if isinstance(item, types.BuiltinMethodType) and item.__self__ is not None:
        return (id(item.__self__), item.__name__)
    return id(item)


@functools.cache
def slots(kind: Any) -> tuple[tuple[str, Slot], ...]:
    """Names and descriptors of all slots of a class; of one that is compiled, what its source calls slots.

    A class has the same ones, in the same order, whether it is compiled or not.
    """
    found = {
        name: member
        for base in reversed(kind.__mro__)
        for name, member in sorted(vars(base).items())
        if isinstance(member, types.MemberDescriptorType) or name in vars(base).get("__slots__", ())
        if isinstance(member, Slot) and name not in ("__dict__", "__weakref__")
    }
    return tuple(found.items())


def in_slots(item: Any) -> list[Any]:
    """What is in the slots of an object, in their order."""
    members = slots(type(item))  # type: ignore[arg-type]
    try:
        return [member.__get__(item) for _, member in members]
    except AttributeError:
        return [_slot(item, member) for _, member in members]


def in_dictionary(item: Any) -> dict[str, Any]:
    """What an object has beside its slots, by name."""
    return getattr(item, "__dict__", {})


def put_into(item: Any, values: list[Any], dictionary: dict[str, Any]) -> None:
    """Put values into slots and dictionary of an object; no code of its class is run.

    Raises:
        ValueError: it has no attribute for them.
    """
    for (_, member), value in zip(slots(type(item)), values, strict=True):  # type: ignore[arg-type]
        if value is not UNSET:
            member.__set__(item, value)
        elif _slot(item, member) is not UNSET:
            member.__delete__(item)
    if hasattr(item, "__dict__"):
        item.__dict__.clear()
        item.__dict__.update(dictionary)
    elif dictionary:
        raise ValueError(f"{type(item).__name__} has no attribute {next(iter(dictionary))!r}")


def _slot(item: Any, member: Slot) -> Any:
    try:
        return member.__get__(item)
    except AttributeError:
        return UNSET
