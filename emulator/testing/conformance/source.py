"""Where in a plugin's source something stands, as ``file:line``."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any


def line_of_class(factory: type) -> str:
    """Where a class begins."""
    try:
        return f"{inspect.getsourcefile(factory)}:{inspect.getsourcelines(factory)[1]}"
    except (OSError, TypeError):
        return f"{factory.__module__}.{factory.__qualname__}"


def line_of_function(function: Callable[..., Any]) -> str:
    """Where a function begins, with its decorators."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code is not None else repr(function)


def line_of_attribute(factory: type, name: str) -> str:
    """Where ``name = ...`` stands in the body of a class, or ``self.name = ...`` in one of its methods."""
    return next(_lines_of_attribute(factory, name), line_of_class(factory))


def line_of_keeping(factory: type, name: str) -> str:
    """Where ``self.name = ...`` stands last: attributes are made in ``__init__``, and changed further down."""
    return [line_of_class(factory), *_lines_of_attribute(factory, name)][-1]


def _lines_of_attribute(factory: type, name: str) -> Iterator[str]:
    """All locations, of the class itself before those of its bases, from top to bottom."""
    for each in inspect.getmro(factory):
        try:
            lines, first = inspect.getsourcelines(each)
            file = inspect.getsourcefile(each)
        except (OSError, TypeError):
            continue
        for number in sorted(node.lineno for node in _assignments(_parsed(lines), name)):
            yield f"{file}:{first + number - 1}"


def line_of_global(module: ModuleType, name: str) -> str:
    """Where ``name = ...`` stands in a module."""
    try:
        tree = ast.parse(inspect.getsource(module))
    except (OSError, TypeError, SyntaxError):
        return str(module.__name__)
    found = next(_assignments(tree, name), None)
    return f"{module.__file__}:{found.lineno if found is not None else 1}"


def _parsed(lines: list[str]) -> ast.AST:
    """A piece of source that may be indented; an unreadable one is empty."""
    indent = len(lines[0]) - len(lines[0].lstrip())
    try:
        return ast.parse("".join(line[indent:] if line.strip() else line for line in lines))
    except SyntaxError:
        return ast.parse("")


def _assignments(tree: ast.AST, name: str) -> Iterator[ast.stmt]:
    for node in ast.walk(tree):
        targets: list[ast.expr] = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        for target in targets:
            called = (
                target.id if isinstance(target, ast.Name) else target.attr if isinstance(target, ast.Attribute) else ""
            )
            if called == name and isinstance(node, ast.stmt):
                yield node
