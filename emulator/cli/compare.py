"""``slurm-sim compare``: several policies on one workload, side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from emulator.cli import shared
from emulator.cli.repeats import jitter_of, jitter_options, repeated, simulate_jobs
from emulator.cli.run import READING, configure, only_on_clusters
from emulator.cli.slurm import check_finished, cluster_options, read_site
from slurm_sim_plugins.errors import ConfigurationError

if TYPE_CHECKING:
    from emulator.config.options import Config
    from emulator.metrics.summary import Summary
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
@jitter_options
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
    jitter: float | None,
    repeats: int | None,
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
    from emulator.report.bands import bands, bands_data, differences, differences_data, differences_table
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
    catalogue = shared.find_plugins(files, folders)

    def summarised(results: dict[str, Result]) -> dict[str, Summary]:
        return {name: summarise(each.records, threshold=threshold, warm_up=warm_up) for name, each in results.items()}

    results = simulate_each(named, jobs, config, catalogue, progress)
    summaries = summarised(results)
    moved = jitter_of(jitter, repeats, config.seed)
    again = [
        summarised(simulate_each(named, jobs_then, config, catalogue, progress, f", {label}"))
        for label, jobs_then in repeated(jobs, moved)
    ]
    apart = differences(summaries, again)
    about = {name: dict(each.about) for name, each in results.items()}
    if as_json:
        told: dict[str, Any] = {name: {**about[name], "metrics": summary} for name, summary in summaries.items()}
        if moved is not None:
            for name, summary in summaries.items():
                told[name]["noise"] = bands_data(bands(summary, [one[name] for one in again]), moved)
            for name, found in apart.items():
                told[name]["differences"] = differences_data(found)
        shared.print_json(told)
    else:
        notes = (shared.metric_note(threshold, warm_up), note)
        shared.print_table(compare_table(summaries, about, note="\n".join(filter(None, notes))))
        if moved is not None and apart:
            shared.print_table(differences_table(apart, next(iter(summaries)), moved))
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
    which: str = "",
) -> dict[str, Result]:
    """What came of each policy; plugin options go to the policies that have the plugin, ``which`` to progress bars."""
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
        results[name] = simulate_jobs(name + which, jobs, policy, catalogue, progress)
    return results


def _usual(jobs: Workload | Site) -> dict[str, str]:
    """What a slot holds of which a policy says nothing."""
    from emulator.workload.workload import Workload
    from slurm_sim_plugins.hookspecs import DEFAULTS

    if isinstance(jobs, Workload):
        return DEFAULTS
    stated = {slot: jobs.conf.parameters.text(slot).lower() for slot in DEFAULTS if slot in jobs.conf.parameters}
    return {**DEFAULTS, **stated}
