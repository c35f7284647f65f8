"""The two sides: a commit, installed in an environment of its own, and the process that runs its command line."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
NOT_INSTALLED = (b"docs", b"tests", b"README.md", b"CHANGELOG.md", b"CONTRIBUTING.md")


def commit_of(name: str | None) -> str:
    """The full hash of a commit; of the tracked files of the checkout as they are now, if none is named."""
    if name is None:
        name = _git("stash", "create").decode().strip() or "HEAD"
    return _git("rev-parse", "--verify", f"{name}^{{commit}}").decode().strip()


def unseen() -> list[str]:
    """Files of the checkout that git neither tracks nor ignores: no commit has them."""
    return _git("ls-files", "--others", "--exclude-standard").decode().splitlines()


def install(commit: str, cache: Path) -> Path:
    """The Python of an environment with that commit installed; it is made unless it is there.

    Dependencies are those of the running interpreter, so that both sides have the same. An environment serves all
    commits that differ only in what is not installed.
    """
    entries = [line for line in _git("ls-tree", commit).splitlines() if line.split(b"\t")[1] not in NOT_INSTALLED]
    folder = cache / "environments" / hashlib.sha256(b"\n".join(entries)).hexdigest()[:16]
    python = folder / "environment" / "bin" / "python"
    if (folder / "done").exists():
        return python
    shutil.rmtree(folder, ignore_errors=True)
    with tarfile.open(fileobj=BytesIO(_git("archive", commit))) as archive:
        archive.extractall(folder / "source", filter="data")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "environment"], check=True)
    packages = next((folder / "environment").glob("lib/python*/site-packages"))
    own = [path for path in sys.path if Path(path).name in ("site-packages", "dist-packages")]
    (packages / "dependencies.pth").write_text("\n".join(own) + "\n", encoding="utf-8")
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "--python", python]
    pip += ["install", "--no-deps", "--ignore-installed", folder / "source"]
    subprocess.run(pip, check=True)
    (folder / "done").touch()
    return python


class Side:
    """A running process of one environment.

    Args:
        python: of the environment.
    """

    def __init__(self, python: Path) -> None:
        serve = Path(__file__).with_name("serve.py")
        self.process = subprocess.Popen(
            [python, "-I", serve],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,  # Ctrl-C is for the runner
        )
        self.environment = python.parents[1]
        loaded = Path(self._answer()["loaded_from"])
        if self.environment not in loaded.parents:
            raise RuntimeError(f"{python} runs {loaded}, which is not installed in its environment")

    def run(self, folder: Path, steps: Sequence[Sequence[str]], seconds: int) -> list[dict[str, float]]:
        """Run a case, with so many CPU seconds for a step; exit code, CPU seconds and peak memory (MB) of each."""
        assert self.process.stdin is not None
        task = {"folder": str(folder), "steps": [list(map(str, step)) for step in steps], "seconds": seconds}
        self.process.stdin.write(json.dumps(task) + "\n")
        self.process.stdin.flush()
        done: list[dict[str, float]] = self._answer()
        return done

    def _answer(self) -> Any:
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.process.args}: {self.process.stderr.read()}")
        return json.loads(line)

    def close(self) -> None:
        """End the process."""
        self.process.communicate("")


def _git(*words: str) -> bytes:
    return subprocess.run(["git", "-C", ROOT, *words], check=True, capture_output=True).stdout
