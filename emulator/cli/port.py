"""``slurm-sim port``: a plugin in C for a real Slurm."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from emulator.cli import shared
from slurm_sim_plugins.errors import ConfigurationError

if TYPE_CHECKING:
    from slurm_sim_plugins.manager import Catalogue

KINDS = ("priority", "site_factor", "preempt", "job_submit")


@click.command()
@click.argument("kind", type=click.Choice(KINDS), metavar="HOOK")
@click.option(
    "--slurm-source",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    required=True,
    help="The source tree of the very version that is to load it, configured.",
)
@click.option("--policy", metavar="PLUGIN", help="The plugin to port, such as priority/wfp.  [default: none]")
@shared.plugin_options
@click.option("--name", help="Of the new plugin.  [default: that of the policy, or mine]")
@click.option("--lua", is_flag=True, help="With job_submit: write a job_submit.lua, and no C.")
@click.option(
    "--into",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path(),
    help="The folder that is to hold the plugin's folder.  [default: here]",
)
def port(
    kind: str,
    slurm_source: Path,
    policy: str | None,
    files: tuple[Path, ...],
    folders: tuple[Path, ...],
    settings: tuple[str, ...],
    name: str | None,
    lua: bool,
    into: Path,
) -> None:
    """Write a plugin in C for a real Slurm: HOOK is priority, site_factor, preempt or job_submit.

    \b
    slurm-sim port priority --slurm-source slurm-wlm-22.05.8
    slurm-sim port site_factor --slurm-source slurm-wlm-22.05.8 --plugin mine.py --policy site_factor/mine

    It compiles, is loaded, and does the default. Where the policy is a formula of job facts it is in it; else its text
    stands beside the function that is to be filled in.
    """
    from emulator.port import write_port

    made = None
    if policy is not None:
        made = _made(policy, shared.find_plugins(files, folders), shared.plugin_settings(settings))
    ported = write_port(kind, slurm_source, into, name or (policy or "/mine").partition("/")[2], made, lua)
    for file in ported.files:
        shared.echo(f"Written: {file}")
    for notice in ported.notices:
        shared.echo(f"Note: {notice}")
    shared.echo(f"Next: cd {shlex.quote(str(ported.folder))} && make try")


def _made(policy: str, catalogue: Catalogue, settings: dict[str, dict[str, Any]]) -> object:
    """The policy with its options."""
    from slurm_sim_plugins.manager import make_plugin

    info = catalogue.get(policy)
    if info is None:
        raise ConfigurationError(
            f"there is no plugin {policy!r}; slurm-sim plugins lists them, --plugin FILE loads one"
        )
    for other in settings:
        if other != policy:
            raise ConfigurationError(f"options are given for {other!r}, which is not ported")
    return make_plugin(info, settings.get(policy, {}), 0)
