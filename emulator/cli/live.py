"""``slurm-sim live``: plugins beside a running slurmctld."""

from __future__ import annotations

import os
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from emulator.cli import completion, shared
from slurm_sim_plugins.errors import ConfigurationError

if TYPE_CHECKING:
    from emulator.config.options import Config
    from emulator.config.sacctmgr.database import Accounts
    from emulator.config.slurm.model import SlurmConf
    from slurm_sim_plugins.manager import Catalogue

USUAL = Path("/etc/slurm/slurm.conf")


@click.command()
@click.argument("plugins", nargs=-1, metavar="[PLUGIN.py]...", type=shared.PATH)
@completion.slot_option("--scheduler", "sched", "SchedulerType.  [default: Slurm's own]")
@completion.slot_option("--priority", "priority", "PriorityType.  [default: Slurm's own]")
@completion.slot_option("--backfill", "backfill", "BackfillType.  [default: backfill/queue_order]")
@completion.slot_option("--preempt", "preempt", "PreemptType.  [default: Slurm's own]")
@completion.slot_option("--select", "select", "SelectType.  [default: that of the slurm.conf]")
@completion.slot_option("--walltime", "walltime", "WalltimeType.  [default: walltime/none]")
@completion.slot_option("--site-factor", "site_factor", "PrioritySiteFactorPlugin.  [default: none]")
@click.option(
    "--set",
    "settings",
    multiple=True,
    type=completion.Setting(),
    metavar="PLUGIN.OPTION=VALUE",
    help="Set an option of a plugin.  [repeatable]",
)
@click.option(
    "--slurm-conf",
    type=shared.PATH,
    help="The slurm.conf of the cluster.  [default: $SLURM_CONF, or /etc/slurm/slurm.conf]",
)
@click.option(
    "--accounts",
    type=shared.PATH,
    multiple=True,
    help="Accounts and QOS: a sacctmgr dump, or a script of its commands.",
)
@click.option(
    "--only",
    metavar="KEY=VALUE,...",
    help="Which jobs are the plugin's: by qos, partition, comment or user.  [default: all; --apply needs it]",
)
@click.option(
    "--poll", type=click.FloatRange(min=0.1), default=2.0, show_default=True, help="Seconds between two looks at Slurm."
)
@click.option(
    "--events",
    type=shared.PATH,
    help="A file to which job_submit.lua or EpilogSlurmctld append: when it grows, look at once.",
)
@click.option("--for", "duration", type=click.FloatRange(min=0), metavar="SECONDS", help="End after so long.")
@click.option(
    "--record", type=shared.PATH, metavar="FILE", help="Write down what happens, for slurm-sim replay and run."
)
@click.option("--apply", is_flag=True, help="Carry the decisions out: hold and release jobs, requeue, write numbers.")
@click.option(
    "--number-by",
    type=click.Choice(["Priority", "SiteFactor"]),
    help="What a priority plugin's numbers are written to.  "
    "[default: SiteFactor with priority/multifactor, else Priority]",
)
@click.option(
    "--walltime-by",
    type=click.Choice(["TimeMin", "TimeLimit"]),
    default="TimeMin",
    show_default=True,
    help="What planned times are written to; a run gets its own limit back.",
)
@click.option(
    "--patience",
    type=click.FloatRange(min=1),
    default=15.0,
    show_default=True,
    help="Seconds in which a job that was released has to run, before it is held again.",
)
@click.option(
    "--take-held", is_flag=True, help="Jobs that are on hold when they are seen first are the scheduler's, too."
)
@click.option(
    "--state",
    type=shared.PATH,
    metavar="FILE",
    help="What was changed, to be undone.  [default: of the cluster's name]",
)
@click.option("--hand-back", is_flag=True, help="Undo what a killed process left, and end.")
@click.option(
    "--again",
    type=shared.PATH,
    metavar="FILE",
    help="Run the record of a session with --apply in the emulator, with the delays that it had, and compare.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of what plugins draw.")
def live(
    plugins: tuple[Path, ...],
    settings: tuple[str, ...],
    slurm_conf: Path | None,
    accounts: tuple[Path, ...],
    only: str | None,
    poll: float,
    events: Path | None,
    duration: float | None,
    record: Path | None,
    apply: bool,
    number_by: str | None,
    walltime_by: str,
    patience: float,
    take_held: bool,
    state: Path | None,
    hand_back: bool,
    again: Path | None,
    seed: int,
    **given: Any,
) -> None:
    """Run plugins beside the Slurm that runs here, and say what they would do.

    It prints what they decide beside what Slurm does, and changes nothing. Ctrl-C ends it. A plugin file whose plugins
    are not named takes the slots of their types.

    \b
    slurm-sim live mine.py --only partition=batch --record march.jsonl
    slurm-sim replay march.jsonl --slurm-conf /etc/slurm/slurm.conf
    """
    from emulator.config.options import Config, resolve_slots
    from emulator.config.slurm import read_slurm_conf
    from emulator.live.acting import Ways
    from emulator.live.handback import applied, give_back
    from emulator.live.marks import Marks
    from emulator.live.record import Record
    from emulator.live.session import Options, Session
    from emulator.live.slurm import Slurm
    from slurm_sim_plugins.manager import discover

    if hand_back:
        give_back(state, shared.echo)
        return
    conf = read_slurm_conf(slurm_conf or Path(os.environ.get("SLURM_CONF") or USUAL))
    catalogue = discover(plugins)
    slots, _ = resolve_slots(given)
    slots = {**_slots_of(plugins, catalogue, slots), **slots}
    if not slots and not catalogue.observers():
        raise click.UsageError("Name a plugin file, or a plugin such as --scheduler sched/easy.")
    marks = Marks.of(only)
    config = Config(slots=slots, plugin_options=shared.plugin_settings(settings), clock="ideal", seed=seed)
    tree = shared.read_accounts(accounts)
    if again is not None:
        _again(again, conf, config, catalogue, tree)
        return
    if apply and not marks:
        raise click.UsageError("--apply touches only jobs with marks: say which, such as --only partition=test.")
    options = Options(marks, poll, events, duration, seed)
    ways = Ways(number_by or "", walltime_by, patience, take_held)
    with Record(record) as written, applied(state, marks, ways, shared.echo) if apply else nullcontext() as hands:
        slurm = Slurm() if hands is None else hands.hand
        session = Session(slurm, conf, config, catalogue, options, written, shared.echo, tree, hands)
        try:
            session.run()
        except KeyboardInterrupt:
            shared.echo("ended")
        for line in session.wishes.summary() if hands is None else ():
            shared.echo(line)


def _again(record: Path, conf: SlurmConf, config: Config, catalogue: Catalogue, accounts: Accounts | None) -> None:
    """Run a record again and print what differs."""
    from emulator.live.again import again

    for line in again(record, conf, config, catalogue, accounts, malformed="drop").lines():
        shared.echo(line)


def _slots_of(files: tuple[Path, ...], catalogue: Any, given: dict[str, str]) -> dict[str, str]:
    """The slots that the plugins of the named files take, where no other is named.

    Raises:
        ConfigurationError: two of them are of one type.
    """
    origins = {path.resolve() for path in files}
    found: dict[str, str] = {}
    for info in catalogue:
        if info.slot is None or Path(info.origin).resolve() not in origins or info.slot in given:
            continue
        if info.slot in found:
            raise ConfigurationError(f"{found[info.slot]} and {info.name} are both for {info.slot}; name one of them")
        found[info.slot] = info.name
    return found
