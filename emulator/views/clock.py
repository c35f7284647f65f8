"""Times and durations as Slurm's commands print them."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo

from emulator.workload.sacct.times import NoTimeError, instants
from slurm_sim_plugins.errors import ConfigurationError

STANDARD = "%Y-%m-%dT%H:%M:%S"
DAY = 86_400
_SECONDS = re.compile(r"-?\d{1,12}(?:\.\d+)?")
_START_OF_TIME = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Clock:
    """The clock of a run.

    Attributes:
        epoch: Unix time of second 0.
        zone: in which times are printed and read.
        form: as for strftime; ``%s`` are Unix seconds.
    """

    epoch: int = 0
    zone: tzinfo = UTC
    form: str = STANDARD

    def text(self, second: float | None, none: str = "Unknown") -> str:
        """A time, or what stands for none."""
        if second is None or not math.isfinite(second):
            return none
        whole = math.floor(self.epoch + second)
        if self.form == "%s":
            return str(whole)
        try:
            return (_START_OF_TIME + timedelta(seconds=whole)).astimezone(self.zone).strftime(self.form)
        except (OverflowError, ValueError):
            return none

    def unix(self, second: float | None) -> int:
        """Unix seconds; 0 for none, as in Slurm's JSON."""
        return 0 if second is None or not math.isfinite(second) else math.floor(self.epoch + second)

    def second(self, text: str) -> float:
        """The second of a time: a number is one already, a date is understood in the zone.

        Raises:
            ConfigurationError: it is neither.
        """
        if _SECONDS.fullmatch(text.strip()):
            return float(text)
        try:
            found = instants(text, self.zone)
        except NoTimeError:
            found = ()
        if not found:
            raise ConfigurationError(
                f"{text!r} is no time: give seconds on the clock of the run, or a date such as 2021-12-31T23:59:59"
            )
        return found[0] - self.epoch


def short(seconds: float) -> str:
    """A duration as ``squeue`` has it: ``0:05``, ``1:00:00``, ``2-00:00:00``."""
    days, rest = divmod(math.floor(seconds), DAY)
    hours, rest = divmod(rest, 3600)
    minutes, left = divmod(rest, 60)
    if days:
        return f"{days}-{hours:02}:{minutes:02}:{left:02}"
    return f"{hours}:{minutes:02}:{left:02}" if hours else f"{minutes}:{left:02}"


def full(seconds: float) -> str:
    """A duration as ``sacct`` has it: ``00:00:05``, ``2-00:00:00``."""
    days, rest = divmod(math.floor(seconds), DAY)
    clock = f"{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"
    return f"{days}-{clock}" if days else clock


def limit(seconds: float | None, none: str = "UNLIMITED") -> str:
    """A limit as ``squeue`` has it."""
    return none if seconds is None or not math.isfinite(seconds) else short(seconds)


def size(mebibytes: float, units: str = "MGTPE") -> str:
    """An amount of memory, in the largest unit in which it is a whole number."""
    number, index = math.ceil(mebibytes), 0
    while number and number % 1024 == 0 and index + 1 < len(units):
        number, index = number // 1024, index + 1
    return f"{number}{units[index]}"
