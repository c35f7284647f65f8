"""Names that have changed: for one version the old ones work, with a warning that says the new one."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, ParamSpec, TypeVar

_Arguments = ParamSpec("_Arguments")
_Answer = TypeVar("_Answer")


def warn(old: str, new: str, depth: int = 1) -> None:
    """Say that a name has changed.

    Args:
        old: the name that was used.
        new: the name that it has now.
        depth: how many callers lie between the caller of this function and the code that used the old name.
    """
    message = f"{old} is now {new}; the next version does not know the old name"
    warnings.warn(message, DeprecationWarning, stacklevel=depth + 2)


def argument(old: str, new: str) -> Callable[[Callable[_Arguments, _Answer]], Callable[_Arguments, _Answer]]:
    """A decorator for a function that takes an argument by its old name, too."""

    def known(function: Callable[_Arguments, _Answer]) -> Callable[_Arguments, _Answer]:
        @wraps(function)
        def called(*args: _Arguments.args, **named: _Arguments.kwargs) -> _Answer:
            if old in named:
                warn(f"{function.__name__}({old}=)", f"{function.__name__}({new}=)")
                named[new] = named.pop(old)
            return function(*args, **named)

        return called

    return known


class OldName:
    """An attribute under the name that it had; ``places = OldName("block_state")`` in a class."""

    def __init__(self, new: str) -> None:
        self._new = new

    def __set_name__(self, owner: type, name: str) -> None:
        self._old = name

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self
        warn(f"{owner.__name__}.{self._old}", f"{owner.__name__}.{self._new}")
        return getattr(instance, self._new)


def stated(plugin: Any, new: str, old: str, default: Any) -> Any:
    """What a plugin says of itself in an attribute, which may have the old name."""
    if not hasattr(plugin, new) and hasattr(plugin, old):
        kind = plugin if isinstance(plugin, type) else type(plugin)
        warn(f"{kind.__name__}.{old}", new)
        return getattr(plugin, old)
    return getattr(plugin, new, default)


def values(plugin: type, options: Mapping[str, Any]) -> dict[str, Any]:
    """Options with their present values; a plugin's ``old_values`` has the new values by option and old value."""
    old: Mapping[str, Mapping[Any, Any]] = getattr(plugin, "old_values", {})
    found = dict(options)
    for option, value in options.items():
        if isinstance(value, str) and value in old.get(option, {}):
            found[option] = old[option][value]
            warn(f"{option}={value}", f"{option}={found[option]}", depth=2)
    return found
