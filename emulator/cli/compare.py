"""``slurm-sim compare``: several policies on one workload, side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from emulator.cli import shared
from emulator.cli.run import configure
from slurm_sim_plugins.errors import ConfigurationError

if TYPE_CHECKING:
    from emulator.accounting.records import Records
    from emulator.config.options import Config
    from emulator.workload.workload import Workload
    from slurm_sim_plugins.manager import Catalogue

POLICIES = {
    "FCFS": ["sched/fcfs"],
    "SJF": ["sched/fcfs", "priority/sjf"],
    "EASY": ["sched/easy"],
    "conservative": ["sched/conservative"],
}
"""What is compared when no policy is named."""


@click.command()
@click.argument("trace", type=click.Path(path_type=Path))
@click.option(
    "--policy",
    "policies",
    multiple=True,
    metavar="[NAME=]PLUGIN,...",
    help="A policy: plugins, one for each slot that is not to hold its default. Several times.  "
    "[default: FCFS, SJF, EASY, conservative]",
)
@shared.plugin_options
@shared.trace_options
@shared.machine_options
@shared.metric_options
@click.option("--json", "as_json", is_flag=True, help="Print the metrics as JSON.")
@click.option("--progress/--no-progress", default=None, help="Show a progress bar.  [default: on a terminal]")
def compare(
    trace: Path,
    policies: tuple[str, ...],
    files: tuple[Path, ...],
    folders: tuple[Path, ...],
    settings: tuple[str, ...],
    threshold: float,
    warm_up: float,
    as_json: bool,
    progress: bool | None,
    **given: Any,
) -> None:
    r"""Run a trace under several policies and print their metrics side by side.

    \b
    slurm-sim compare CTC-SP2.swf.gz --processors 430
    slurm-sim compare KTH-SP2.swf.gz --policy sched/easy --policy SJF-EASY=sched/easy,backfill/sjf
    """
    from emulator.metrics.summary import summarise
    from emulator.report.table import compare_table

    named = dict(parse_policy(text) for text in policies) if policies else POLICIES
    if len(named) < len(policies):
        raise click.UsageError("Two policies have one name; give names as NAME=PLUGIN,...")
    reading = {name: given.pop(name) for name in ("filter", "processors_field", "first_submit", "malformed")}
    config = configure(None, settings, given)
    workload = shared.read_workload(trace, processors=config.processors, **reading)
    catalogue = shared.find_plugins(files, folders)
    results, about = simulate_each(named, workload, config, catalogue, progress)
    summaries = {name: summarise(records, threshold=threshold, warm_up=warm_up) for name, records in results.items()}
    if as_json:
        shared.print_json(
            {name: {**about[name], "metrics": summary} for name, summary in summaries.items()},
        )
        return
    notes = (shared.metric_note(threshold, warm_up), shared.dropped_note(workload))
    shared.print_table(compare_table(summaries, about, note="\n".join(filter(None, notes))))


def parse_policy(text: str) -> tuple[str, list[str]]:
    """``NAME=sched/easy,backfill/sjf`` to a name and plugin names."""
    name, equals, plugins = text.rpartition("=")
    names = [plugin.strip() for plugin in plugins.split(",") if plugin.strip()]
    if not names or (equals and not name):
        raise ConfigurationError(f"--policy {text}: write it as [NAME=]PLUGIN,PLUGIN...")
    return name or " + ".join(names), names


def simulate_each(
    policies: dict[str, list[str]],
    workload: Workload,
    config: Config,
    catalogue: Catalogue,
    progress: bool | None = None,
) -> tuple[dict[str, Records], dict[str, Any]]:
    """Records and description of each policy; plugin options go to the policies that have the plugin."""
    from dataclasses import replace

    from emulator.api import simulate
    from slurm_sim_plugins.hookspecs import DEFAULTS
    from slurm_sim_plugins.manager import slots_for

    slots = {name: slots_for(plugins) for name, plugins in policies.items()}
    selected = {plugin for chosen in slots.values() for plugin in {**DEFAULTS, **chosen}.values()}
    for plugin in config.plugin_options:
        if plugin not in selected:
            raise ConfigurationError(f"options are given for {plugin!r}, which no policy has")
    results, about = {}, {}
    for name, chosen in slots.items():
        mine = {
            plugin: values
            for plugin, values in config.plugin_options.items()
            if plugin in {**DEFAULTS, **chosen}.values()
        }
        policy = replace(config, slots=chosen, plugin_options=mine)
        with shared.progress(name, len(workload), progress) as report:
            result = simulate(workload, policy, catalogue=catalogue, report=report)
        results[name], about[name] = result.records, dict(result.about)
    return results, about
