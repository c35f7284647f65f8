"""What all pages share: the frame around them, the style, and the script, whose modules are joined into one text."""

from __future__ import annotations

import base64
import hashlib
import importlib.resources
import re
from typing import Any

_IMPORT = re.compile(r'^import (\{[^}]*\}) from "\./([\w-]+\.js)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export ((?:async )?function|class|const) (\w+)", re.MULTILINE)


def render(template: str, main: str, **content: Any) -> str:
    """A page as text: one file with its style and script, and a policy that allows nothing else.

    Args:
        template: of the page; what it is given is escaped there.
        main: the module that its script begins in.
        content: ``title``, ``notes`` (sentences below it), and what the template asks for. With ``images`` true,
            pictures may be part of the file.
    """
    import jinja2
    from markupsafe import Markup

    # All that comes from traces and configurations is escaped, here and nowhere else.
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_file),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    code, look = joined_script(main), style()
    frame = {
        # Of our own making, and named by its hash in the policy of the page.
        "script": Markup(code),  # noqa: S704
        "style": Markup(look),  # noqa: S704
        "script_hash": digest(code),
        "style_hash": digest(look),
        "images": False,
    }
    return environment.get_template(template).render({**frame, **content}) + "\n"


def joined_script(main: str) -> str:
    """All modules that a main one needs, each after those that it needs itself.

    They are plain ES modules. A page that is one file can import none, so each becomes a function with names of its own
    that gives back what it exports.
    """
    order: list[str] = []
    _visit(main, order)
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


def digest(text: str) -> str:
    """What a content security policy calls a script or a style by."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _read(name: str) -> str:
    return _file(f"script/{name}")


def _file(name: str) -> str:
    return importlib.resources.files("emulator.report.page").joinpath(name).read_text(encoding="utf-8")
