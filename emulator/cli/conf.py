"""``slurm-sim conf``: look at a Slurm configuration."""

from __future__ import annotations

from pathlib import Path

import click

from emulator.cli import shared


@click.group()
def conf() -> None:
    """Look at a Slurm configuration."""


@conf.command()
@click.argument("file", type=shared.PATH)
@shared.json_option
def check(file: Path, as_json: bool) -> None:
    """Read slurm.conf (or the folder that holds it) and say what counts here.

    Each key has a status: honoured, not yet honoured, or ignored, with the reason. gres.conf and topology.conf are read
    too if they lie beside it. Exit code 3 if something in them is wrong.
    """
    from emulator.config.slurm import read_slurm_conf
    from emulator.report import slurmconf

    read = read_slurm_conf(file)
    if as_json:
        shared.print_json(slurmconf.describe_conf(read))
        return
    for table in (slurmconf.key_table(read), slurmconf.machine_table(read), slurmconf.partition_table(read)):
        shared.print_table(table)
    for notice in slurmconf.notice_lines(read):
        shared.echo(f"notice: {notice}")
