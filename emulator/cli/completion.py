"""What the shell completes beside commands and options: names of plugins, traces, folders of runs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

if TYPE_CHECKING:
    from slurm_sim_plugins.manager import Catalogue

LOGS = (".swf", ".csv", ".events", ".sacct", ".log")
TRACES = (*LOGS, *(f"{ending}.gz" for ending in LOGS), ".yaml", ".yml")
"""How files that hold jobs mostly end."""


class Place(click.Path):
    """A path; the shell completes those that are of a kind, and folders on the way. Without any, all files.

    Args:
        wanted: whether a path is of the kind.
        options: of :class:`click.Path`.
    """

    def __init__(self, wanted: Callable[[Path], bool], **options: Any) -> None:
        super().__init__(path_type=Path, **options)
        self._wanted = wanted

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """What may follow what has been typed."""
        found = list(_places(incomplete, self._wanted))
        return [CompletionItem(each) for each in found] or super().shell_complete(ctx, param, incomplete)


def _places(incomplete: str, wanted: Callable[[Path], bool]) -> Iterator[str]:
    folder, begun = os.path.split(incomplete)
    try:
        inside = sorted(Path(os.path.expanduser(folder) or ".").iterdir())
    except OSError:
        return
    seen = [each for each in inside if each.name.startswith(begun) and (begun or not each.name.startswith("."))]
    found = [os.path.join(folder, each.name) + ("" if wanted(each) else "/") for each in seen if _leads(each, wanted)]
    if len(found) == 1 and found[0].endswith("/"):
        # The shell would put a space behind it.
        yield from _places(found[0], wanted)
    else:
        yield from found


def _leads(path: Path, wanted: Callable[[Path], bool]) -> bool:
    return wanted(path) or path.is_dir()


def is_trace(path: Path) -> bool:
    """Whether a file is called as traces mostly are."""
    return path.name.lower().endswith(TRACES) and path.is_file()


def is_run(path: Path) -> bool:
    """Whether a folder holds a run or a campaign."""
    from emulator.accounting.runfolder import ABOUT
    from emulator.campaign.store import MARK

    return any((path / name).is_file() for name in (ABOUT, MARK))


TRACE = Place(is_trace)
RUN = Place(is_run)


class Plugin(click.types.StringParamType):
    """A name of a plugin; the shell completes those that are bundled or installed.

    Args:
        kinds: first parts of the names; by default all.
        several: whether commas may join names.
        named: whether ``NAME=`` may stand before.
    """

    def __init__(self, *kinds: str, several: bool = False, named: bool = False) -> None:
        self._kinds, self._several, self._named = kinds, several, named

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """What may follow what has been typed."""
        before = max((incomplete.rfind(mark) + 1 for mark in self._marks()), default=0)
        head, begun = incomplete[:before], incomplete[before:]
        names = (info.name for info in _known() if not self._kinds or info.name.partition("/")[0] in self._kinds)
        return [CompletionItem(head + name) for name in names if name.startswith(begun)]

    def _marks(self) -> Iterable[str]:
        return ("," * self._several) + ("=" * self._named)


class Setting(click.types.StringParamType):
    """``PLUGIN.OPTION=VALUE``; the shell completes what stands before the value."""

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """What may follow what has been typed."""
        options = (f"{info.name}.{option}=" for info in _known() for option in info.options())
        return [CompletionItem(each) for each in options if each.startswith(incomplete)]


def _known() -> Catalogue | list[Any]:
    """Plugins that are bundled or installed; none while one cannot be loaded, of which each command says more."""
    from slurm_sim_plugins.errors import SlurmSimError
    from slurm_sim_plugins.manager import discover

    try:
        return discover()
    except SlurmSimError:
        return []


def slot_option(
    name: str, kind: str, about: str, *, several: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """An option that names the plugin of a slot.

    Args:
        name: of the option.
        kind: the first part of the plugins' names.
        about: its help.
        several: whether there may be several, with commas between.
    """
    metavar = "PLUGIN[,PLUGIN]" if several else "PLUGIN"
    return click.option(name, type=Plugin(kind, several=several), metavar=metavar, help=about)
