"""A number for the jobs of an account, such as of a project whose deadline is near."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from slurm_sim_plugins.hookspecs import hookimpl
from slurm_sim_plugins.views import PriorityView


class Accounts:
    """The jobs of each account get the number that is stated for it, others 0.

    Args:
        points: names of accounts and whole numbers, such as ``physics=5000,courses=-200``.
    """

    name: ClassVar[str] = "site_factor/accounts"
    slurm_conf: ClassVar[Mapping[str, str]] = {"points": "PrioritySiteFactorParameters"}

    def __init__(self, points: str = "") -> None:
        self._points: dict[str, int] = {}
        for pair in filter(None, map(str.strip, points.split(","))):
            account, _, number = pair.partition("=")
            try:
                self._points[account.strip()] = int(number)
            except ValueError:
                raise ValueError(f"points has {pair!r}; write ACCOUNT=NUMBER, with a whole number") from None

    @hookimpl
    def site_factor(self, view: PriorityView) -> Sequence[int]:
        return [self._points.get(str(job.account), 0) for job in view.to_set]
