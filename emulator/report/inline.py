"""Puts a picture into a page: no script, nothing from elsewhere, colours that follow the page's."""

from __future__ import annotations

import re
from html import escape

from emulator.report.style import INK, MUTED, PALE, RULE, SERIES, SURFACE

VARIABLES = {
    INK: "--ink",
    MUTED: "--muted",
    RULE: "--rule",
    SURFACE: "--surface",
    **{colour: f"--series-{number}" for number, colour in enumerate(SERIES)},
    **{colour: f"--pale-{number}" for number, colour in enumerate(PALE)},
}
"""The page's CSS variable for each colour of a plot."""


def inline_svg(picture: bytes, name: str, text: str) -> str:
    """A picture by matplotlib as an ``<svg>`` element for HTML.

    Args:
        picture: the file.
        name: goes before each id, so that pictures on one page do not mix theirs up.
        text: says what is to be seen, for those who cannot see it.
    """
    svg = picture.decode("utf-8")
    svg = svg[svg.index("<svg") :].strip()
    svg = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>|<style.*?</style>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\s+xmlns(:\w+)?="[^"]*"', "", svg).replace("xlink:href=", "href=")
    svg = re.sub(r'(\bid="|\bhref="#|url\(#)', rf"\g<1>{name}-", svg)
    svg = re.sub(r"\b(fill|stroke): (#[0-9a-f]{6})\b", _themed, svg)
    svg = re.sub(r"\n\s*", "\n", svg)
    label = f'role="img" aria-label="{escape(text)}"'
    return re.sub(r'<svg\b[^>]*?(viewBox="[^"]*")[^>]*>', rf"<svg \1 {label}>", svg, count=1)


def _themed(found: re.Match[str]) -> str:
    variable = VARIABLES.get(found[2])
    return f"{found[1]}: var({variable})" if variable else found[0]
