"""What Ctrl-C says of a command that takes long: what is kept of it, and how to go on."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

Kept = Callable[[], str]


@contextmanager
def saying(kept: Kept) -> Iterator[None]:
    """Have an interruption say what is kept.

    Args:
        kept: says it, once it has happened.

    Raises:
        KeyboardInterrupt: as it came, with those words after its own.
    """
    try:
        yield
    except KeyboardInterrupt as error:
        raise KeyboardInterrupt("; ".join(filter(None, (str(error), kept())))) from error


def nothing_of(label: str) -> Kept:
    """Of work whose results are written at its end."""
    return lambda: f"nothing is kept of {label}: give the command again to start over"


def of_run(label: str, out: Path | None, *, resumable: bool = True) -> Kept:
    """Of a run, which is kept in a folder if it is to be left in one.

    Args:
        label: of the run.
        out: the folder.
        resumable: whether the command can keep snapshots.
    """

    def said() -> str:
        from emulator.accounting.runfolder import SNAPSHOT, UNFINISHED

        if out is None:
            return nothing_of(label)()
        if any((folder / SNAPSHOT).exists() for folder in (out, out / UNFINISHED)):
            return f"{out} is kept with its last snapshot: slurm-sim resume {_quoted(out)} goes on from there"
        how = "; to be gone on with, a run needs --snapshot-every" if resumable else ""
        return f"what happened until then is in {out}{how}"

    return said


def of_campaign(out: Path) -> Kept:
    """Of a campaign, each run of which is kept when it is over."""
    return lambda: (
        f"the runs that are over are kept in {out}: slurm-sim campaign resume {_quoted(out)} makes the others"
    )


def of_study(keep: Path | None) -> Kept:
    """Of a study, whose command goes on by itself where it keeps its runs."""
    if keep is None:
        return lambda: "nothing is kept: with --keep DIR the command would go on where it was"
    return lambda: f"the runs that are over are kept in {keep}: give the command again to make the others"


def _quoted(path: Path) -> str:
    return shlex.quote(str(path))
