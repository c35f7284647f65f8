"""The commands of ``slurm-sim``: its own, and those that packages add as entry points of ``slurm_sim.commands``."""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint, entry_points

import click

from emulator.cli import own
from slurm_sim_plugins.errors import PluginError, meant

GROUP = "slurm_sim.commands"


class Commands(click.Group):
    """The group of all commands: its own are imported when they are called, those of packages also to be listed."""

    def list_commands(self, context: click.Context) -> list[str]:
        """The names of all commands."""
        return sorted({*own.OWN, *_added()})

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        """The command of a name; one of its own goes before one that was added.

        Raises:
            PluginError: the package of the command cannot be loaded.
        """
        if name in own.OWN:
            return own.load(name)
        return _load(_added()[name]) if name in _added() else None

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """Lists the commands as click does, without the import of those of ``slurm-sim`` itself."""
        added = {name: _load(entry) for name, entry in _added().items()}
        listed = {name: own.listed(name) for name in own.OWN}
        click.Group(commands={**added, **listed}).format_commands(context, formatter)

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does; where there is no such command, the message names the one that may be meant."""
        try:
            return super().resolve_command(context, args)
        except click.UsageError as error:
            raise click.UsageError(
                error.message.rstrip(".") + meant(args[0], self.list_commands(context)), context
            ) from error


@cache
def _added() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=GROUP)}


def _load(entry: EntryPoint) -> click.Command:
    try:
        command = entry.load()
    except (Exception, SystemExit) as error:
        raise PluginError(
            f"the entry point {entry.value!r} cannot be loaded ({type(error).__name__}: {error}); "
            "repair the package or uninstall it",
            plugin=entry.name,
        ) from error
    if not isinstance(command, click.Command):
        raise PluginError(f"the entry point {entry.value!r} is no command of click", plugin=entry.name)
    return command
