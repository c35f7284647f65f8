"""What a process costs: ``python cost.py COMMAND...`` runs it and prints its CPU seconds and its peak MB, on one line.

It stands alone, for a process counts as its own memory what the process that started it held: what starts a
measured process is to be small.
"""

from __future__ import annotations

import os
import sys


def main(command: list[str]) -> int:
    """Run the command without its output, print what it cost, and give its exit code."""
    silent = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    child = os.posix_spawnp(command[0], command, os.environ, file_actions=silent)
    _, status, usage = os.wait4(child, 0)
    print(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)
    return os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
