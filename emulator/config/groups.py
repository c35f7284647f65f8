"""Who is in which Unix group: what ``getent group`` prints, and ``getent passwd`` for the primary groups.

.. code-block:: text

    physics:x:1000:ann,bob
    carl:x:1007:1000:Carl:/home/carl:/bin/sh

Lines of four fields are groups with their members, lines of seven are users with the number of their group. Both may
stand in one file: ``(getent group; getent passwd) > groups``. (group(5), passwd(5).)
"""

from __future__ import annotations

import os
from pathlib import Path

from emulator.files import read_input
from emulator.kinds import GROUPS, reads
from slurm_sim_plugins.errors import InputError

OF_GROUP, OF_USER = 4, 7


@reads(GROUPS)
def read_groups(path: str | os.PathLike[str]) -> dict[str, tuple[str, ...]]:
    """The groups of each user that is in any.

    Raises:
        InputError: the file cannot be read, or a line is neither a group nor a user (with file and line).
    """
    numbers: dict[str, str] = {}
    primary: list[tuple[str, str]] = []
    found: dict[str, list[str]] = {}
    for number, line in enumerate(read_input(Path(path)).decode("utf-8", "replace").splitlines(), 1):
        words = line.strip().split(":")
        if not line.strip() or line.startswith("#"):
            continue
        if len(words) == OF_GROUP:
            numbers.setdefault(words[2], words[0])
            for user in filter(None, (word.strip() for word in words[3].split(","))):
                found.setdefault(user, []).append(words[0])
        elif len(words) == OF_USER:
            primary.append((words[0], words[3]))
        else:
            raise InputError(
                f"{os.fspath(path)}:{number}: is neither a group, NAME:PASSWORD:NUMBER:USER,USER, nor a user of seven "
                "fields; getent group and getent passwd print them"
            )
    for user, group in primary:
        if group in numbers:
            found.setdefault(user, []).append(numbers[group])
    return {user: tuple(sorted(set(groups))) for user, groups in found.items()}
