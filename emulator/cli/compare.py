"""``slurm-sim compare``: several policies on one workload, side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from emulator.cli import shared
from emulator.cli.run import READING, configure, only_on_clusters
from emulator.cli.slurm import check_finished, cluster_options, read_site
from slurm_sim_plugins.errors import ConfigurationError

if TYPE_CHECKING:
    from emulator.config.options import Config
    from emulator.result import Result
    from emulator.site import Site
    from emulator.workload.workload import Workload
    from slurm_sim_plugins.manager import Catalogue

POLICIES = {
    "FCFS": ["sched/fcfs"],
    "SJF": ["sched/fcfs", "priority/sjf"],
    "EASY": ["sched/easy"],
    "conservative": ["sched/conservative"],
}
"""What is compared when no policy is named."""
ON_CLUSTERS: dict[str, list[str]] = {
    "slurm.conf": [],
    "FCFS": ["sched/fcfs"],
    "SJF": ["sched/fcfs", "priority/sjf"],
    "EASY": ["sched/easy"],
}
"""The same with a ``slurm.conf``; the first one is what the file says."""


@click.command()
@click.argument("trace", type=shared.PATH)
@click.option(
    "--policy",
    "policies",
    multiple=True,
    metavar="[NAME=]PLUGIN,...",
    help="A policy: plugins, one for each slot that is not to hold its default (or, with --slurm-conf, what the file "
    "says). Several times.  [default: FCFS, SJF, EASY, conservative; with --slurm-conf what the file says, FCFS, SJF, "
    "EASY]",
)
@cluster_options
@shared.plugin_options
@shared.trace_options
@shared.machine_options
@shared.metric_options
@click.option("--json", "as_json", is_flag=True, help="Print the metrics as JSON.")
@shared.progress_option
def compare(
    trace: Path,
    policies: tuple[str, ...],
    slurm_conf: Path | None,
    accounts: tuple[Path, ...],
    commands: tuple[Path, ...],
    files: tuple[Path, ...],
    folders: tuple[Path, ...],
    settings: tuple[str, ...],
    threshold: float,
    warm_up: float,
    as_json: bool,
    progress: bool | None,
    **given: Any,
) -> None:
    """Run a trace under several policies and print their metrics side by side.

    \b
    slurm-sim compare CTC-SP2.swf.gz --processors 430
    slurm-sim compare KTH-SP2.swf.gz --policy sched/easy --policy SJF-EASY=sched/easy,backfill/sjf
    slurm-sim compare jobs.events --slurm-conf slurm.conf
    """
    from emulator.metrics.summary import summarise
    from emulator.report.table import compare_table

    reading = {name: given.pop(name) for name in READING}
    site = read_site(trace, slurm_conf, accounts, commands, reading)
    usual = POLICIES if site is None else ON_CLUSTERS
    named = dict(parse_policy(text) for text in policies) if policies else usual
    if len(named) < len(policies):
        raise click.UsageError("Two policies have one name; give names as NAME=PLUGIN,...")
    config = configure(None, settings, given, on_cluster=site is not None)
    config = config if site is None else site.operated(config)
    if site is None:
        only_on_clusters(commands, accounts, None)
        workload = shared.read_workload(trace, processors=config.processors, **reading)
        note = workload.note
    else:
        note = site.submissions.note
    jobs = workload if site is None else site
    results = simulate_each(named, jobs, config, shared.find_plugins(files, folders), progress)
    summaries = {name: summarise(each.records, threshold=threshold, warm_up=warm_up) for name, each in results.items()}
    about = {name: dict(each.about) for name, each in results.items()}
    if as_json:
        shared.print_json({name: {**about[name], "metrics": summary} for name, summary in summaries.items()})
    else:
        notes = (shared.metric_note(threshold, warm_up), note)
        shared.print_table(compare_table(summaries, about, note="\n".join(filter(None, notes))))
    for name, each in results.items():
        check_finished(each, f"{name}: ")


def parse_policy(text: str) -> tuple[str, list[str]]:
    """``NAME=sched/easy,backfill/sjf`` to a name and plugin names."""
    name, equals, plugins = text.rpartition("=")
    names = [plugin.strip() for plugin in plugins.split(",") if plugin.strip()]
    if not names or (equals and not name):
        raise ConfigurationError(f"--policy {text}: write it as [NAME=]PLUGIN,PLUGIN...")
    return name or " + ".join(names), names


def simulate_each(
    policies: dict[str, list[str]],
    jobs: Workload | Site,
    config: Config,
    catalogue: Catalogue,
    progress: bool | None = None,
) -> dict[str, Result]:
    """What came of each policy; plugin options go to the policies that have the plugin."""
    from dataclasses import replace

    from slurm_sim_plugins.manager import names_in, slots_for

    usual = _usual(jobs)
    slots = {name: slots_for(plugins) if plugins else {} for name, plugins in policies.items()}
    selected = {plugin for chosen in slots.values() for plugin in names_in({**usual, **chosen})}
    for plugin in config.plugin_options:
        if plugin not in selected:
            raise ConfigurationError(f"options are given for {plugin!r}, which no policy has")
    results = {}
    for name, chosen in slots.items():
        mine = {
            plugin: values
            for plugin, values in config.plugin_options.items()
            if plugin in names_in({**usual, **chosen})
        }
        policy = replace(config, slots=chosen, plugin_options=mine)
        results[name] = _simulate(name, jobs, policy, catalogue, progress)
    return results


def _usual(jobs: Workload | Site) -> dict[str, str]:
    """What a slot holds of which a policy says nothing."""
    from emulator.workload.workload import Workload
    from slurm_sim_plugins.hookspecs import DEFAULTS

    if isinstance(jobs, Workload):
        return DEFAULTS
    stated = {slot: jobs.conf.parameters.text(slot).lower() for slot in DEFAULTS if slot in jobs.conf.parameters}
    return {**DEFAULTS, **stated}


def _simulate(name: str, jobs: Workload | Site, config: Config, catalogue: Catalogue, progress: bool | None) -> Result:
    from emulator.api import simulate
    from emulator.workload.workload import Workload

    if isinstance(jobs, Workload):
        with shared.progress(name, len(jobs), progress) as report:
            return simulate(jobs, config=config, catalogue=catalogue, report=report)
    with shared.progress(name, len(jobs.submissions.requests), progress) as report:
        accounts = jobs.accounts()
        return simulate(
            jobs.submissions,
            jobs.conf,
            config=config,
            catalogue=catalogue,
            report=report,
            accounts=accounts,
            actions=jobs.actions,
        )
