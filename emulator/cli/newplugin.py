"""``slurm-sim new-plugin``: a package to begin with."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from emulator.cli import shared
from slurm_sim_plugins.hookspecs import SPECS


@click.command("new-plugin")
@click.argument("name")
@click.option("--hook", "family", type=click.Choice(tuple(SPECS)), required=True, help="What kind of plugin.")
@click.option(
    "--into",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path(),
    help="The folder that is to hold the package's folder.  [default: here]",
)
def new_plugin(name: str, family: str, into: Path) -> None:
    """Write a plugin to begin with: a package with one module, its tests and a README.

    \b
    slurm-sim new-plugin short-jobs-first --hook priority

    Nothing that is there is overwritten.
    """
    from emulator.scaffold import Names, write_package

    files = write_package(name, family, into)
    names = Names.of(name, family)
    for file in files:
        shared.echo(f"Written: {file}")
    folder = shlex.quote(str(into / names.package))
    shared.echo(f"Next: cd {folder} && pip install -e '.[test]' && pytest")
