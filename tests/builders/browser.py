"""A real browser for tests: Chromium without a window, spoken to over a pipe in the words of its DevTools protocol."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
PATIENCE = 30.0
"""Seconds for an answer."""
SWITCHES = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--mute-audio"),
    *("--disable-background-networking", "--disable-component-update", "--disable-extensions", "--hide-scrollbars"),
    "--remote-debugging-pipe",
)


class Browser:
    """A browser with one page; what it logs is kept in ``logged``.

    Args:
        profile: an empty folder for its own files.
    """

    def __init__(self, profile: Path) -> None:
        assert CHROMIUM is not None
        reads, self._write = os.pipe()
        self._read, writes = os.pipe()
        # The browser reads from descriptor 3 and writes to 4; copies lie beyond both.
        theirs = [fcntl.fcntl(each, fcntl.F_DUPFD_CLOEXEC, 10) for each in (reads, writes)]
        silent = [(os.POSIX_SPAWN_OPEN, each, os.devnull, os.O_WRONLY, 0) for each in (1, 2)]
        moved = [(os.POSIX_SPAWN_DUP2, each, place) for each, place in zip(theirs, (3, 4), strict=True)]
        command = [CHROMIUM, *SWITCHES, f"--user-data-dir={profile}", "about:blank"]
        self._process = os.posix_spawn(CHROMIUM, command, os.environ, file_actions=[*silent, *moved])
        for each in (reads, writes, *theirs):
            os.close(each)
        self._number, self._buffer = 0, b""
        self.logged: list[str] = []
        self._session: str | None = None
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """A command, and its answer."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return dict(answer["result"])
            self._hear(answer)

    def run(self, script: str) -> Any:
        """The value of an expression in the page, of a promise what it promises."""
        answer = self.send("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def open(self, page: Path, fragment: str = "", width: int = 1200, height: int = 900) -> float:
        """Open a file, and wait until it can be used; seconds that this took."""
        self.size(width, height)
        self.send("Page.navigate", url="about:blank")
        self.logged.clear()
        began = time.monotonic()
        self.send("Page.navigate", url=page.as_uri() + fragment)
        self.wait("document.documentElement?.dataset.ready === 'yes'")
        return time.monotonic() - began

    def size(self, width: int, height: int, phone: bool = False) -> None:
        """The size of the page, in pixels."""
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)

    def wait(self, condition: str) -> None:
        """Wait until an expression is true."""
        until = time.monotonic() + PATIENCE
        while not self.run(f"Boolean({condition})"):
            assert time.monotonic() < until, f"{condition} does not become true; the browser says {self.logged}"
            time.sleep(0.02)

    def box(self, selector: str) -> tuple[float, float, float, float]:
        """Left, top, width and height of an element, which is scrolled to."""
        script = (
            f"(() => {{ const each = document.querySelector({json.dumps(selector)});"
            "each.scrollIntoView({block: 'center'}); const {left, top, width, height} = each.getBoundingClientRect();"
            "return [left, top, width, height]; })()"
        )
        left, top, width, height = self.run(script)
        return left, top, width, height

    def mouse(self, kind: str, x: float, y: float, clicks: int = 1, keys: int = 0) -> None:
        """A move, or a button pressed or released; keys: 2 is Ctrl, 8 Shift."""
        button = "none" if kind == "mouseMoved" else "left"
        self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button=button, clickCount=clicks, modifiers=keys)

    def click(self, x: float, y: float, clicks: int = 1) -> None:
        """Press and release."""
        for number in range(1, clicks + 1):
            self.mouse("mousePressed", x, y, number)
            self.mouse("mouseReleased", x, y, number)

    def drag(self, start: tuple[float, float], end: tuple[float, float], keys: int = 0) -> None:
        """Press, move and release."""
        self.mouse("mousePressed", *start, keys=keys)
        middle = ((start[0] + end[0]) / 2, (start[1] + end[1]) / 2)
        for point in (middle, end):
            self.send(
                "Input.dispatchMouseEvent",
                type="mouseMoved",
                x=point[0],
                y=point[1],
                button="left",
                buttons=1,
                modifiers=keys,
            )
        self.mouse("mouseReleased", *end, keys=keys)

    def wheel(self, x: float, y: float, down: float, keys: int = 0) -> None:
        """Turn the wheel."""
        self.send("Input.dispatchMouseEvent", type="mouseWheel", x=x, y=y, deltaX=0, deltaY=down, modifiers=keys)

    def key(self, name: str, text: str = "") -> None:
        """Press a key, such as ArrowLeft or +."""
        code = {"Tab": 9}.get(name, 0)
        self.send("Input.dispatchKeyEvent", type="keyDown", key=name, text=text, windowsVirtualKeyCode=code)
        self.send("Input.dispatchKeyEvent", type="keyUp", key=name)

    def write(self, text: str) -> None:
        """Type into what has the focus."""
        self.send("Input.insertText", text=text)

    def picture(self, path: Path, whole: bool = False) -> None:
        """Keep what is seen, or the whole page, as PNG."""
        data = self.send("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        path.write_bytes(base64.b64decode(data))

    def close(self) -> None:
        """End it."""
        os.close(self._write)
        until = time.monotonic() + 10
        while os.waitpid(self._process, os.WNOHANG) == (0, 0):
            if time.monotonic() > until:
                os.kill(self._process, signal.SIGKILL)
            time.sleep(0.02)
        os.close(self._read)

    def _next(self) -> dict[str, Any]:
        until = time.monotonic() + PATIENCE
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read], [], [], max(until - time.monotonic(), 0))
            assert ready, "the browser does not answer"
            data = os.read(self._read, 1 << 20)
            assert data, "the browser has ended"
            self._buffer += data
        message, _, self._buffer = self._buffer.partition(b"\0")
        return dict(json.loads(message))

    def _hear(self, event: dict[str, Any]) -> None:
        """Keep errors, warnings, and whatever would leave the page."""
        kind, facts = event.get("method"), event.get("params", {})
        if kind == "Runtime.exceptionThrown":
            self.logged.append(str(facts["exceptionDetails"]))
        elif kind == "Runtime.consoleAPICalled" and facts["type"] in ("error", "warning", "assert"):
            self.logged.append(str(facts["args"]))
        elif kind == "Log.entryAdded" and facts["entry"]["level"] in ("error", "warning"):
            self.logged.append(facts["entry"]["text"])
        elif kind == "Network.requestWillBeSent" and not facts["request"]["url"].startswith(
            ("file:", "about:", "data:")
        ):
            self.logged.append(f"asks for {facts['request']['url']}")


@contextmanager
def browser(profile: Path) -> Iterator[Browser]:
    """A browser that is ended."""
    found = Browser(profile)
    try:
        yield found
    finally:
        found.close()
