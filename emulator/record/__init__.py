"""Recording: an installed Slurm plays a scenario on this machine, and what it did becomes a recording.

:mod:`conf` writes the daemons' files, :mod:`checks` says what of a scenario may be played,
:mod:`daemons` starts and ends them, :mod:`player` plays and looks, :mod:`sights` makes a timeline of
what was seen, :mod:`repeats` marks as noise what differs between repeats, and :mod:`record` is the
door. ``docs/record.md`` is for users.
"""

from emulator.record.record import Options, record

__all__ = ["Options", "record"]
