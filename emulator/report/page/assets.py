"""The script and the style of the page: modules in files of their own, joined into one text."""

from __future__ import annotations

import base64
import hashlib
import importlib.resources
import re

MAIN = "main.js"
_IMPORT = re.compile(r'^import (\{[^}]*\}) from "\./([\w-]+\.js)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export ((?:async )?function|class|const) (\w+)", re.MULTILINE)


def joined_script() -> str:
    """All modules that the main one needs, each after those that it needs itself.

    They are plain ES modules. A page that is one file can import none, so each becomes a function with names of its own
    that gives back what it exports.
    """
    order: list[str] = []
    _visit(MAIN, order)
    return "const modules = {};\n" + "".join(map(_function, order))


def _visit(name: str, order: list[str]) -> None:
    for _, other in _IMPORT.findall(_read(name)):
        if other not in order:
            _visit(other, order)
    order.append(name)


def _function(name: str) -> str:
    """A module as a function that is called at once."""
    text = _read(name)
    exported = ", ".join(found[1] for found in _EXPORT.findall(text))
    body = _EXPORT.sub(r"\1 \2", _IMPORT.sub(r'const \1 = modules["\2"];\n', text))
    return f'modules["{name}"] = (() => {{\n{body}return {{ {exported} }};\n}})();\n'


def style() -> str:
    """The style sheet."""
    return _file("page.css")


def template() -> str:
    """The page around them."""
    return _file("page.html.j2")


def digest(text: str) -> str:
    """What a content security policy calls a script or a style by."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _read(name: str) -> str:
    return _file(f"script/{name}")


def _file(name: str) -> str:
    return importlib.resources.files("emulator.report.page").joinpath(name).read_text(encoding="utf-8")
