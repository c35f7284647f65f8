"""Whether a page can be used by all: axe-core's rules in the browser, contrast, and the keyboard."""

from __future__ import annotations

import importlib.resources
import json

from tests.builders.browser import Browser

_AXE = """
axe.run({resultTypes: ["violations"]}).then((found) =>
  found.violations.flatMap((rule) => rule.nodes.map((node) => `${rule.id}: ${node.target}: ${node.failureSummary}`)))
"""
_CONTRAST = """
(() => {
  const bright = (share) => share <= 0.03928 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  const light = (colour) => colour.match(/[\\d.]+/g).slice(0, 3).map((part) => bright(part / 255))
    .reduce((sum, part, at) => sum + part * [0.2126, 0.7152, 0.0722][at], 0);
  const behind = (each) => {
    const colour = each ? getComputedStyle(each).backgroundColor : "rgb(255, 255, 255)";
    return /, 0\\)$/.test(colour) ? behind(each.parentElement) : colour;
  };
  const isText = (child) => child.nodeType === 3 && child.data.trim();
  const written = (each) => each.offsetParent && [...each.childNodes].some(isText);
  return [...document.querySelectorAll("body *")].filter(written).filter((each) => {
    const [one, other] = [light(getComputedStyle(each).color), light(behind(each))];
    return (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05) < 4.5;
  }).map((each) => each.tagName + " " + each.textContent.slice(0, 40));
})()
"""
"""What axe leaves open where something lies above the text: all text that is seen has a contrast of 4.5."""
_CONTROLS = """
[...document.querySelectorAll("a, button, select, input, summary, canvas[tabindex], [tabindex='0']")]
  .filter((each) => each.checkVisibility() && !each.disabled)
"""


def violations(chromium: Browser) -> list[str]:
    """What axe-core finds wrong."""
    # Not part of the page, whose policy would not let it run.
    chromium.run(importlib.resources.files("axe_core_python").joinpath("axe.min.js").read_text() + "; 0")
    return list(chromium.run(_AXE))


def pale(chromium: Browser) -> list[str]:
    """Elements whose text has too little contrast."""
    return list(chromium.run(_CONTRAST))


def out_of_reach(chromium: Browser) -> list[str]:
    """Controls that the tabulator key does not come to."""
    count = chromium.run(f"{_CONTROLS}.length")
    chromium.run("document.activeElement.blur(); getSelection().collapse(document.body, 0)")
    for _ in range(count + 1):
        chromium.key("Tab")
        chromium.run("document.activeElement.dataset.reached = 'yes'; 0")
    missed = f"{_CONTROLS}.filter((each) => !each.dataset.reached).map((each) => each.outerHTML.slice(0, 100))"
    return list(chromium.run(missed))


def wear(chromium: Browser, scheme: str = "") -> None:
    """Light or dark, or what is usual."""
    features = [{"name": "prefers-color-scheme", "value": scheme}] if scheme else []
    chromium.send("Emulation.setEmulatedMedia", features=features)


def text_of(chromium: Browser, selector: str) -> str:
    """The text of an element."""
    return str(chromium.run(f"document.querySelector({json.dumps(selector)}).textContent"))
