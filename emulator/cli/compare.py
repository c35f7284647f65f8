"""``slurm-sim compare``: several policies on one workload, side by side."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from emulator.cli import completion, shared
from emulator.cli.repeats import jitter_of, jitter_options, repeated, simulate_jobs
from emulator.cli.run import READING, configure, only_on_clusters
from emulator.cli.slurm import check_finished, cluster_options, confs_option, read_site
from slurm_sim_plugins.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from emulator.config.options import Config
    from emulator.metrics.summary import Summary
    from emulator.result import Result
    from emulator.site import Site
    from emulator.workload.jitter import Jitter
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
_NO_NAME = re.compile(r"[^\w.+=-]+")
"""What a folder is not called by."""


@click.command()
@click.argument("trace", type=completion.TRACE)
@click.option(
    "--policy",
    "policies",
    multiple=True,
    type=completion.Plugin(several=True, named=True),
    metavar="[NAME=]PLUGIN,...",
    help="A policy: plugins, one for each slot that is not to hold its default (or, with --slurm-conf, what the file "
    "says). Several times.  [default: FCFS, SJF, EASY, conservative; with --slurm-conf what the file says, FCFS, SJF, "
    "EASY]",
)
@confs_option
@cluster_options
@shared.plugin_options
@shared.trace_options
@shared.machine_options
@shared.metric_options
@jitter_options
@click.option("--out", type=shared.PATH, help="Leave each run in a folder of its name, in this one.")
@click.option("--report", "page", type=shared.PATH, help="Write an interactive page of HTML about all of them.")
@click.option("--json", "as_json", is_flag=True, help="Print the metrics as JSON.")
@shared.progress_option
def compare(
    trace: Path,
    policies: tuple[str, ...],
    slurm_confs: tuple[Path, ...],
    accounts: tuple[Path, ...],
    commands: tuple[Path, ...],
    files: tuple[Path, ...],
    folders: tuple[Path, ...],
    settings: tuple[str, ...],
    threshold: float,
    warm_up: float,
    jitter: float | None,
    repeats: int | None,
    out: Path | None,
    page: Path | None,
    as_json: bool,
    progress: bool | None,
    **given: Any,
) -> None:
    """Run a trace under several policies and print their metrics side by side.

    \b
    slurm-sim compare CTC-SP2.swf.gz --processors 430
    slurm-sim compare KTH-SP2.swf.gz --policy sched/easy --policy SJF-EASY=sched/easy,backfill/sjf
    slurm-sim compare jobs.events --slurm-conf slurm.conf
    slurm-sim compare march.sacct --slurm-conf slurm.conf --slurm-conf changed.conf --report change.html
    """
    from emulator.files import check_writable
    from emulator.metrics.summary import summarise
    from emulator.report.bands import differences, differences_table
    from emulator.report.table import compare_table

    if page is not None:
        check_writable(page)
    cases = read_cases(trace, slurm_confs, accounts, commands, settings, given, progress)
    named = named_policies(policies, cases)
    catalogue = shared.find_plugins(files, folders)

    def simulated(cases: Sequence[Case], label: str = "", out: Path | None = None) -> dict[str, Result]:
        results: dict[str, Result] = {}
        for case in cases:
            mine = {case.named(name): plugins for name, plugins in named.items()}
            results |= simulate_each(mine, case.jobs, case.config, catalogue, progress, label, out)
        return results

    def summarised(results: dict[str, Result]) -> dict[str, Summary]:
        return {name: summarise(each.records, threshold=threshold, warm_up=warm_up) for name, each in results.items()}

    results = simulated(cases, out=out)
    summaries = summarised(results)
    moved = jitter_of(jitter, repeats, cases[0].config.seed)
    again = [summarised(simulated(moved_cases, f", {label}")) for label, moved_cases in repeated_cases(cases, moved)]
    apart = differences(summaries, again)
    about = {name: dict(each.about) for name, each in results.items()}
    if page is not None:
        write_page_of(results, page)
        shared.echo(f"Written: {page}", err=as_json)
    if as_json:
        told: dict[str, Any] = {name: {**about[name], "metrics": summary} for name, summary in summaries.items()}
        shared.print_json(told if moved is None else with_noise(told, summaries, again, moved))
    else:
        notes = (shared.metric_note(threshold, warm_up), *dict.fromkeys(case.note for case in cases))
        shared.print_table(compare_table(summaries, about, note="\n".join(filter(None, notes))))
        if moved is not None and apart:
            shared.print_table(differences_table(apart, next(iter(summaries)), moved))
    for name, each in results.items():
        check_finished(each, f"{name}: ")


def with_noise(
    told: dict[str, Any], summaries: Mapping[str, Summary], again: Sequence[Mapping[str, Summary]], jitter: Jitter
) -> dict[str, Any]:
    """Runs as plain data, with their bands over the repeats, and those of the differences to the first."""
    from emulator.report.bands import bands, bands_data, differences, differences_data

    for name, summary in summaries.items():
        told[name]["noise"] = bands_data(bands(summary, [one[name] for one in again]), jitter)
    for name, found in differences(summaries, again).items():
        told[name]["differences"] = differences_data(found)
    return told


@dataclass(frozen=True)
class Case:
    """Jobs on one machine, on which policies are compared.

    Attributes:
        conf: how the ``slurm.conf`` was named; empty unless there are several.
        jobs: what is run.
        config: its options.
        note: what reading left out.
    """

    conf: str
    jobs: Workload | Site
    config: Config
    note: str

    def named(self, policy: str) -> str:
        """What a run is called; without a policy it is that of the file."""
        return ", ".join(filter(None, (policy, self.conf)))


def read_cases(
    trace: Path,
    slurm_confs: Sequence[Path],
    accounts: tuple[Path, ...],
    commands: tuple[Path, ...],
    settings: tuple[str, ...],
    given: dict[str, Any],
    progress: bool | None,
) -> list[Case]:
    """The jobs on each of the machines that are named."""
    from emulator.kinds import is_scenario

    if len(set(slurm_confs)) < len(slurm_confs):
        raise click.UsageError("--slurm-conf names one file twice.")
    reading = {name: given.pop(name) for name in READING}
    config = configure(None, settings, given, on_cluster=bool(slurm_confs) or is_scenario(trace))
    cases = []
    for conf in slurm_confs or (None,):
        site = read_site(trace, conf, accounts, commands, reading, told=progress)
        if site is None:
            only_on_clusters(commands, accounts, None)
            workload = shared.read_workload(trace, told=progress, processors=config.processors, **reading)
            return [Case("", workload, config, workload.note)]
        name = str(conf) if len(slurm_confs) > 1 else ""
        cases.append(Case(name, site, site.operated(config), site.submissions.note))
    return cases


def named_policies(policies: Sequence[str], cases: Sequence[Case]) -> dict[str, list[str]]:
    """The plugins of each policy; of several ``slurm.conf`` by default what each says."""
    from emulator.workload.workload import Workload

    if not policies:
        if len(cases) > 1:
            return {"": []}
        return POLICIES if isinstance(cases[0].jobs, Workload) else ON_CLUSTERS
    named = dict(parse_policy(text) for text in policies)
    if len(named) < len(policies):
        raise click.UsageError("Two policies have one name; give names as NAME=PLUGIN,...")
    return named


def repeated_cases(cases: Sequence[Case], jitter: Jitter | None) -> Iterator[tuple[str, list[Case]]]:
    """The cases of each repeat, with the same submissions moved on each machine, and what to call it."""
    for moved in zip(*(repeated(case.jobs, jitter) for case in cases), strict=True):
        yield moved[0][0], [replace(case, jobs=jobs) for case, (_, jobs) in zip(cases, moved, strict=True)]


def write_page_of(results: Mapping[str, Result], page: Path) -> None:
    """Write the interactive page about some runs, each called by its key.

    Raises:
        OutputError: it cannot be written.
    """
    from emulator.accounting.runfolder import FinishedRun
    from emulator.report.page.sources import Sources, source_of
    from emulator.report.page.write import write_page

    sources = [
        replace(source_of(FinishedRun(each.records, each.about, each.folder or Path()), each.folder), policy=name)
        for name, each in results.items()
    ]
    write_page(Sources(sources, baseline=sources[0].policy), page)


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
    out: Path | None = None,
) -> dict[str, Result]:
    """What came of each policy; plugin options go to the policies that have the plugin, ``which`` to progress bars.

    With ``out`` each is left in a folder there that is called like the policy.
    """
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
        folder = out / _NO_NAME.sub("_", name) if out is not None else None
        results[name] = simulate_jobs(name + which, jobs, policy, catalogue, progress, folder)
    return results


def _usual(jobs: Workload | Site) -> dict[str, str]:
    """What a slot holds of which a policy says nothing."""
    from emulator.workload.workload import Workload
    from slurm_sim_plugins.hookspecs import DEFAULTS

    if isinstance(jobs, Workload):
        return DEFAULTS
    stated = {slot: jobs.conf.parameters.text(slot).lower() for slot in DEFAULTS if slot in jobs.conf.parameters}
    return {**DEFAULTS, **stated}
