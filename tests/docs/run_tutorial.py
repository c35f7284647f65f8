"""Do what the tutorial says, as it says it, in an empty folder: ``python tests/docs/run_tutorial.py FOLDER``.

Wants a Python environment with the product installed, whose commands are on the PATH.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from pages import blocks, edit

MOST_COMMANDS = 10


def run(folder: Path, do: Callable[[str, Path], None]) -> tuple[int, int]:
    """Do every step of the tutorial.

    Args:
        folder: an empty one.
        do: gives one command in a folder, and fails if it fails.

    Returns:
        How many commands were given, and how many lines were edited.
    """
    commands = lines = 0
    for block in blocks("tutorial.md"):
        if block.kind == "command":
            for command in block.commands:
                commands += 1
                if command.startswith("cd "):
                    folder = folder / command.removeprefix("cd ")
                else:
                    do(command, folder)
        elif block.kind == "edit":
            lines += edit(folder / block.name, block.text)
        elif block.kind == "excerpt":
            assert block.text in (folder / block.name).read_text(encoding="utf-8"), f"{block.name} is not as shown"
    assert commands < MOST_COMMANDS, f"{commands} commands"
    return commands, lines


def _shell(command: str, folder: Path) -> None:
    sys.stdout.write(f"$ {command}\n")
    sys.stdout.flush()
    subprocess.run(command, shell=True, cwd=folder, check=True)


if __name__ == "__main__":
    given, edited = run(Path(sys.argv[1]), _shell)
    sys.stdout.write(f"{given} commands, {edited} lines edited\n")
