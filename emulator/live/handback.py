"""The queue goes back to Slurm: what was held is released, what was written is undone."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from emulator.live.acting import Hands, Ways
from emulator.live.ledger import Entry, Ledger, minutes_of
from emulator.live.marks import Marks
from emulator.live.sight import Sight
from emulator.live.slurm import About, Hand, NoAnswerError

PATIENCE = 60.0
"""Seconds for which it is waited for runs that are on their way back to the queue."""
PAUSE = 1.0
"""Seconds between two looks."""
AT_ONCE = 5.0
"""Seconds after which a run that was to be requeued, and still runs, was not told so."""


def hand_back(hand: Hand, ledger: Ledger, multifactor: bool, told: Callable[[str], None]) -> None:
    """Undo what the ledger holds, and empty it.

    Args:
        hand: gives commands.
        ledger: what was changed.
        multifactor: whether Slurm works priorities out by itself.
        told: is given what is to be said.

    Raises:
        NoAnswerError: the controller does not answer; the ledger is as it was.
        ConfigurationError: this user may not write.
    """
    begun, released, again = time.monotonic(), 0, False
    while ledger.jobs:
        queue = {sight.label: sight for sight in hand.look().queue}
        waited = time.monotonic() - begun
        # Those that would be first are released first: where priorities count down, the order stays.
        for label, entry in sorted(ledger.jobs.items(), key=lambda item: -item[1].priority):
            sight = queue.get(label)
            commands = [] if sight is None else list(undone(entry, sight, multifactor))
            for command, answer in zip(commands, hand.write(commands), strict=True):
                if answer:
                    told(f"Slurm answers {answer!r} to {command!r}")
            released += any(command.startswith("release") for command in commands)
            entry.numbered, entry.site, entry.time_min = False, None, None
            if waited > PATIENCE or (again and not commands and not _is_leaving(sight, entry, waited)):
                del ledger.jobs[label]
        ledger.save()
        if ledger.jobs:
            # What was given last, perhaps by a process that was killed, shows at the second look.
            time.sleep(PAUSE)
        again = True
    if released:
        told(f"{released} held jobs are released")


def _is_leaving(sight: Sight | None, entry: Entry, waited: float) -> bool:
    """Whether a run was told to go back to the queue, on hold, and is not there yet."""
    if sight is None or not entry.leaving or sight.waits:
        return False
    return sight.state == "COMPLETING" or waited < AT_ONCE


def undone(entry: Entry, sight: Sight, multifactor: bool) -> Iterator[str]:
    """The commands that undo what was done to a job."""
    label = sight.label
    if sight.waits:
        if (entry.held or entry.released) and sight.required != entry.required:
            yield f"update JobId={label} {entry.nodes}"
        if entry.time_min is not None:
            yield f"update JobId={label} TimeMin={minutes_of(entry.time_min)}"
        if entry.site is not None:
            yield f"update JobId={label} SiteFactor=0"
        if (entry.held or entry.released) and sight.held:
            yield f"release {label}"
        elif entry.numbered and multifactor:
            # It is worked out again.
            yield f"release {label}"
        elif entry.numbered:
            yield f"update JobId={label} Priority={entry.priority}"
    if entry.limit is not None and sight.limit < entry.limit:
        yield f"update JobId={label} TimeLimit={minutes_of(entry.limit)}"
    if entry.suspended and sight.state == "SUSPENDED":
        yield f"resume {label}"


@contextmanager
def applied(state: Path | None, marks: Marks, ways: Ways, told: Callable[[str], None]) -> Iterator[Hands]:
    """What carries decisions out; at the end, however it comes, the queue goes back to Slurm.

    What a process that was killed has left goes back first.

    Args:
        state: the file of the ledger; None for the usual one.
        marks: which jobs may be touched.
        ways: how; without ``numbers``, SiteFactor where Slurm works priorities out by itself.
        told: is given what is to be said.

    Raises:
        ConfigurationError: another process has the ledger, or this user may not write.
    """
    hand = Hand()
    about = hand.about()
    multifactor = _multifactor(about)
    ways = ways if ways.numbers else replace(ways, numbers="SiteFactor" if multifactor else "Priority")
    ledger = Ledger(state or usual_state(about))
    try:
        if ledger.jobs:
            told(f"{len(ledger.jobs)} jobs were left by a process that was killed")
            hand_back(hand, ledger, multifactor, told)
        try:
            yield Hands(hand, ledger, marks, ways)
        finally:
            _finish(hand, ledger, multifactor, told)
    finally:
        ledger.close()


def give_back(state: Path | None, told: Callable[[str], None]) -> None:
    """Undo what a process that was killed has left.

    Raises:
        ConfigurationError: it lives, or this user may not write.
    """
    hand = Hand()
    about = hand.about()
    ledger = Ledger(state or usual_state(about))
    try:
        if not ledger.jobs:
            told("nothing is held")
        hand_back(hand, ledger, _multifactor(about), told)
    finally:
        ledger.close()


def usual_state(about: About) -> Path:
    """The file of the ledger of a cluster: of this user, on this machine."""
    folder = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    name = "".join(letter for letter in about.cluster if letter.isalnum() or letter in "-_") or "cluster"
    return Path(folder) / "slurm-sim" / f"live-{name}.json"


def _multifactor(about: About) -> bool:
    return about.settings.get("prioritytype", "").endswith("multifactor")


def _finish(hand: Hand, ledger: Ledger, multifactor: bool, told: Callable[[str], None]) -> None:
    """Hand the queue back, whatever signals come meanwhile."""
    if not ledger.jobs:
        return
    before = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        hand_back(hand, ledger, multifactor, told)
    except NoAnswerError as error:
        told(f"{error}; {len(ledger.jobs)} jobs are as they were left: slurm-sim live --hand-back, once it answers")
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
