"""``slurm-sim run``: one workload under one policy."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from emulator.cli import completion, shared
from emulator.cli.kept import of_run
from emulator.cli.repeats import jitter_of, jitter_options, repeated, simulate_jobs
from emulator.cli.slurm import check_finished, cluster_options, conf_option, is_log, read_site, show_site
from slurm_sim_plugins.errors import ConfigurationError

if TYPE_CHECKING:
    from emulator.config.experiment import Experiment
    from emulator.config.options import Config
    from emulator.result import Result
    from emulator.site import Site
    from emulator.workload.jitter import Band, Jitter
    from emulator.workload.workload import Workload
    from slurm_sim_plugins.manager import Catalogue


READING = ("filter", "processors_field", "first_submit", "malformed")
"""Options of reading a trace."""


@click.command()
@click.argument("trace", type=completion.TRACE, required=False)
@click.option(
    "--experiment",
    "--config",
    "experiment",
    type=shared.PATH,
    help="Take workload, policy and options from a TOML file; what is given here goes first. Names that begin with "
    "papers/ are bundled: papers/pv_easy, cp_pv_easy, vm_pv_easy, easy, easy_last, sjf_easy_prediction, virtual, "
    "walltime_adjustment, realtime.",
)
@completion.slot_option("--scheduler", "sched", "SchedulerType.  [default: sched/easy]")
@completion.slot_option("--priority", "priority", "PriorityType.  [default: priority/basic]")
@completion.slot_option("--backfill", "backfill", "BackfillType.  [default: backfill/queue_order]")
@completion.slot_option("--preempt", "preempt", "PreemptType.  [default: preempt/none]")
@completion.slot_option("--select", "select", "SelectType.  [default: select/count]")
@completion.slot_option("--walltime", "walltime", "WalltimeType.  [default: walltime/none]")
@completion.slot_option("--execution", "execution", "ExecutionType.  [default: execution/plain]")
@completion.slot_option(
    "--job-submit", "job_submit", "JobSubmitPlugins, in their order.  [default: none]", several=True
)
@completion.slot_option("--site-factor", "site_factor", "PrioritySiteFactorPlugin.  [default: none]")
@conf_option
@cluster_options
@shared.plugin_options
@shared.trace_options
@shared.machine_options
@shared.metric_options
@jitter_options
@click.option("--out", type=shared.PATH, help="Leave the whole run in a folder.")
@click.option("--records", type=shared.PATH, help="Write job records, as Parquet or (*.csv) CSV.")
@click.option("--events", type=shared.PATH, help="Write the event log, as JSON lines.")
@click.option(
    "--explain/--no-explain", default=None, help="Record who decided what, for slurm-sim explain.  [default: no]"
)
@click.option(
    "--snapshot-every",
    type=click.IntRange(min=1),
    metavar="JOBS",
    help="With --out: keep a snapshot after so many submissions, from which slurm-sim resume goes on.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the metrics as JSON.")
@shared.progress_option
def run(
    trace: Path | None,
    experiment: Path | None,
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
    out: Path | None,
    records: Path | None,
    events: Path | None,
    snapshot_every: int | None,
    as_json: bool,
    progress: bool | None,
    **given: Any,
) -> None:
    """Run a trace (SWF, or CSV of ALCF; also gzipped) through a cluster under one policy.

    \b
    slurm-sim run KTH-SP2.swf.gz
    slurm-sim run CTC-SP2.swf.gz --processors 430 --scheduler sched/conservative --records out.parquet
    slurm-sim run KTH-SP2.swf.gz --plugin mine.py --priority priority/mine --out mine
    slurm-sim run jobs.events --slurm-conf slurm.conf --accounts sacctmgr.dump
    """
    from emulator.accounting.runfolder import check_records
    from emulator.api import simulate
    from emulator.config.experiment import read_experiment

    if records is not None:
        check_records(records)
    study = read_experiment(experiment) if experiment is not None else None
    if trace is None:
        trace = study.trace if study is not None else None
    if trace is None:
        raise click.UsageError("Name a trace, or an experiment file that names one.")
    if snapshot_every is not None and (out is None or events is not None):
        raise click.UsageError("--snapshot-every goes with --out, and not with --events.")
    reading = {name: given.pop(name) for name in READING}
    if study is not None and slurm_conf is not None:
        study = study.on_cluster(log=is_log(trace))
    site = read_site(trace, slurm_conf, accounts, commands, reading, study, progress)
    catalogue = shared.find_plugins(files, folders)
    config = configure(study, settings, given, on_cluster=site is not None)
    config = config if site is None else site.operated(config)
    moved = jitter_of(jitter, repeats, config.seed)
    written: dict[str, Any] = {"catalogue": catalogue, "out": out, "events": events}
    if snapshot_every is not None and out is not None:
        from emulator.resume import keeper as keeper_of

        stated = {**(study.reading if study is not None else {}), **given_only(reading)}
        paths = shared.plugin_paths(files, folders)
        written["keeper"] = keeper_of(snapshot_every, trace, stated, config, paths, catalogue, site)
    if site is None:
        only_on_clusters(commands, accounts, study)
        workload = shared.read_workload(trace, study, progress, processors=config.processors, **reading)
        with shared.progress(workload.name, len(workload), progress, of_run(workload.name, out)) as report:
            result = simulate(workload, config=config, report=report, **written)
        noise = band_of(result, workload, config, catalogue, moved, threshold, warm_up, progress)
        show(result, workload, threshold, warm_up, as_json, noise)
    else:
        submissions, tree = site.submissions, site.accounts()
        kept = of_run(submissions.name, out)
        with shared.progress(submissions.name, len(submissions.requests), progress, kept) as report:
            result = simulate(
                submissions, site.conf, config=config, report=report, accounts=tree, actions=site.actions, **written
            )
        noise = band_of(result, site, config, catalogue, moved, threshold, warm_up, progress)
        site = site.told()
        del submissions, written
        show_site(result, site, tree, threshold, warm_up, as_json, noise)
    if records is not None:
        from emulator.accounting.runfolder import write_jobs

        write_jobs(records, result.records)
    check_finished(result)


def only_on_clusters(commands: tuple[Path, ...], accounts: tuple[Path, ...], study: Experiment | None) -> None:
    """Refuse what a run without a ``slurm.conf`` would ignore."""
    if commands:
        raise click.UsageError("Operators' commands go with --slurm-conf: they count in Slurm's timing.")
    if accounts or (study is not None and (study.account_files or study.account_commands)):
        raise click.UsageError("Accounts go with --slurm-conf: they count in Slurm's timing.")


def band_of(
    result: Result,
    jobs: Workload | Site,
    config: Config,
    catalogue: Catalogue,
    jitter: Jitter | None,
    threshold: float,
    warm_up: float,
    progress: bool | None,
) -> tuple[Jitter, dict[str, Band]] | None:
    """The band of each metric over a run and its repeats; None if there are none."""
    from emulator.metrics.summary import summarise
    from emulator.report.bands import bands

    if jitter is None:
        return None
    repeats = []
    for label, again in repeated(jobs, jitter):
        other = simulate_jobs(label, again, config, catalogue, progress)
        check_finished(other, f"{label}: ")
        repeats.append(summarise(other.records, threshold=threshold, warm_up=warm_up))
    return jitter, bands(summarise(result.records, threshold=threshold, warm_up=warm_up), repeats)


def show(
    result: Result,
    workload: Workload,
    threshold: float,
    warm_up: float,
    as_json: bool,
    noise: tuple[Jitter, Mapping[str, Band]] | None = None,
) -> None:
    """Print the metrics of a run of counted processors."""
    notes = (workload.note, shared.rejected_note(result.records, result.about.get("rejected", {})))
    shared.print_metrics(result, threshold, warm_up, as_json, notes, noise)


def given_only(options: dict[str, Any]) -> dict[str, Any]:
    """Options that were given."""
    return {name: value for name, value in options.items() if value is not None}


def configure(study: Any, settings: tuple[str, ...], given: dict[str, Any], on_cluster: bool = False) -> Config:
    """The configuration: the experiment file, and over it what was given on the command line."""
    from emulator.config.operation import Operation
    from emulator.config.options import Config, resolve_slots
    from emulator.config.preemption import Preemption

    slots, options = resolve_slots(given)
    options = {name: value for name, value in options.items() if value is not None}
    mode = options.pop("preempt_mode", None)
    if on_cluster and mode is not None:
        raise ConfigurationError(
            "--preempt-mode: PreemptMode of the slurm.conf says it; leave out preempt_mode, or change the file"
        )
    preemption = shared.preemption_settings(mode, options.pop("preemption", ()))
    operation = shared.operation_settings(options.pop("operation", ()))
    plugins: dict[str, dict[str, Any]] = {}
    if study is not None:
        # Options of a plugin go with it where another replaces it.
        replaced = {name for slot, name in study.slots.items() if slots.get(slot, name) != name}
        slots = {**study.slots, **slots}
        options = {**study.simulation, **options}
        preemption = {**study.preemption, **preemption}
        operation = {**study.operation, **operation}
        plugins = {name: dict(values) for name, values in study.plugins.items() if name not in replaced}
    for name, values in shared.plugin_settings(settings).items():
        plugins.setdefault(name, {}).update(values)
    if on_cluster and preemption:
        # Only checkpoints have options there.
        preemption.setdefault("mode", "CHECKPOINT")
    try:
        options |= {"preemption": Preemption(**preemption), "operation": Operation(**operation)}
        return Config(slots=slots, plugin_options=plugins, **options)
    except TypeError as error:
        raise ConfigurationError(str(error)) from error
