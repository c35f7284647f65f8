"""``slurm-sim record``: an installed Slurm plays a scenario, and what it did is written down."""

from __future__ import annotations

import signal
from pathlib import Path

import click

from emulator.cli import shared


@click.command()
@click.argument("scenarios", nargs=-1, required=True, metavar="SCENARIO.yaml...", type=shared.PATH)
@click.option(
    "-o",
    "--out",
    type=shared.PATH,
    help="Where the recording goes: a file, or a folder.  [default: SCENARIO.recorded.yaml]",
)
@click.option("--repeat", type=click.IntRange(min=1), default=3, show_default=True, help="How often it is played.")
@click.option(
    "--speed",
    type=click.FloatRange(1, 100),
    help="Seconds that pass in one, by faketime.  [default: 6, or 1 where faketime is not installed]",
)
@click.option(
    "--slurm-root", type=shared.PATH, metavar="DIR", help="The root of another system with a Slurm (a chroot)."
)
@click.option("--until", type=click.FloatRange(min=1), default=3600.0, show_default=True, help="The last second.")
@click.option("--keep-log", is_flag=True, help="Keep the controller's log beside the recording, as RECORDING.log.")
@click.option("--any-load", is_flag=True, help="Take a recording from a busy machine, too.")
def record(
    scenarios: tuple[Path, ...],
    out: Path | None,
    repeat: int,
    speed: float | None,
    slurm_root: Path | None,
    until: float,
    keep_log: bool,
    any_load: bool,
) -> None:
    """Play scenarios on the Slurm that is installed here, and record what it does.

    One slurmctld, one slurmd a node (and slurmdbd with a database, where there are accounts) run on the loopback
    interface, in a folder that is removed. What differs between the repeats is marked as noise.
    """
    from emulator.record import Options
    from emulator.record import record as play
    from emulator.record.record import dump

    if out is not None and len(scenarios) > 1:
        out.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    options = Options(repeat, speed, slurm_root.resolve() if slurm_root is not None else None, until, any_load)
    for path in scenarios:
        target = out / path.name if out is not None and out.is_dir() else out or path.with_suffix(".recorded.yaml")
        log = target.with_suffix(".log") if keep_log else None
        recording = play(path, options, lambda line: shared.echo(line, err=True), log)
        target.write_text(dump(recording), encoding="utf-8")
        noise = len(recording.get("noise", ()))
        shared.echo(f"{target}: {repeat} repeats, {noise} items of noise; slurm-sim truth {target} compares it")
