"""``slurm-sim run --slurm-conf``: a workload on a site's own cluster."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from emulator.cli import shared
from slurm_sim_plugins.errors import ConfigurationError

if TYPE_CHECKING:
    from emulator.accounting.records import Records
    from emulator.config.experiment import Experiment
    from emulator.config.preemption import Preemption
    from emulator.config.sacctmgr import Accounts
    from emulator.config.slurm.model import SlurmConf
    from emulator.slurmctld.request import JobRequest
    from emulator.truth.inputs import Inputs
    from slurm_sim_plugins.manager import Catalogue

READING = ("filter", "processors_field", "first_submit", "malformed")


def run_slurm(
    trace: Path,
    slurm_conf: Path | None,
    given: Mapping[str, Any],
    settings: tuple[str, ...],
    catalogue: Catalogue,
    out: Path | None,
    records: Path | None,
    threshold: float,
    warm_up: float,
    as_json: bool,
    accounts: Accounts | None = None,
    preemption: Mapping[str, Any] | None = None,
) -> None:
    """Run a trace on the cluster of a ``slurm.conf``; print metrics, and waits by partition and QOS."""
    from emulator.config.slurm import read_slurm_conf
    from emulator.config.slurm.emulated import check_plugins
    from emulator.metrics.summary import summarise
    from emulator.slurmctld.commands import TimedCommand, read_commands
    from emulator.slurmctld.simulate import simulate_slurm

    slots, seed, compiled = _slots(given)
    scenario = _scenario(trace) if is_scenario(trace) else None
    if slurm_conf is not None:
        conf = read_slurm_conf(slurm_conf)
    else:
        assert scenario is not None, "a run in Slurm's timing has a slurm.conf or a scenario"
        conf = scenario.conf
    check_plugins(conf)
    for notice in conf.notices:
        click.echo(f"{notice}", err=True)
    actions = [(command.at, command) for path in given.get("commands", ()) for command in read_commands(path)]
    about: dict[str, Any] = {}
    if scenario is not None:
        requests, note, epoch = list(scenario.requests), "", None
        actions += [(at, TimedCommand(at, text, str(trace))) for at, text in scenario.actions]
        accounts = accounts if accounts is not None else scenario.accounts()
    else:
        requests, about, note, epoch = read_requests(trace, conf, {name: given.get(name) for name in READING})
    result = simulate_slurm(
        requests,
        conf,
        name=trace.name.partition(".")[0],
        epoch=epoch,
        actions=actions,
        accounts=accounts,
        out=out,
        about=about,
        slots=slots,
        plugin_options=shared.plugin_settings(settings),
        catalogue=catalogue,
        seed=seed,
        compiled=compiled,
        preemption=_preemption(given.get("preemption") or (), preemption or {}),
    )
    summary = summarise(result.records, threshold=threshold, warm_up=warm_up)
    if as_json:
        shared.print_json({**result.about, "metrics": summary})
    else:
        from emulator.report.table import run_table
        from emulator.report.waits import waits_table

        notes = (
            shared.metric_note(threshold, warm_up),
            note,
            _rejected(result.records, {request.id: request.place for request in requests if request.place}),
            *result.about.get("refused", {}).values(),
            _without_effect(conf),
            _without_accounts(conf, accounts),
        )
        shared.print_table(run_table(summary, result.about, note="\n".join(filter(None, notes))))
        shared.print_table(waits_table(result.records, ("partition", "qos")))
    if records is not None:
        from emulator.accounting.runfolder import write_jobs

        write_jobs(records, result.records)


def is_scenario(trace: Path) -> bool:
    """Whether a trace is a scenario, which has its own configuration and what operators did."""
    return trace.suffix in (".yaml", ".yml")


def _scenario(trace: Path) -> Inputs:
    """What was done in a recorded scenario: configuration, submissions, commands."""
    from emulator.truth import Known
    from emulator.truth.inputs import inputs_of
    from emulator.workload.scenario import read_scenario

    return inputs_of(read_scenario(trace), Known())


def read_books(files: tuple[Path, ...], study: Experiment | None) -> Accounts | None:
    """Accounts and qualities of service from files, and from an experiment; None if neither has any.

    Raises:
        InputError: all that is wrong in a file; or in a command, with its number.
    """
    from emulator.config.sacctmgr import read_accounts
    from emulator.config.sacctmgr.reader import add_accounts

    commands = study.account_commands if study is not None else ()
    all_files = [*(study.account_files if study is not None else ()), *files]
    if not all_files and not commands:
        return None
    accounts = read_accounts(*all_files)
    add_accounts(accounts, commands, "accounts.commands")
    return accounts


def read_requests(
    trace: Path, conf: SlurmConf, reading: Mapping[str, Any]
) -> tuple[list[JobRequest], dict[str, Any], str, int | None]:
    """The submissions of a trace: submission events, or any log; what was read, what was left out, and the epoch."""
    from emulator.workload.events import ENDINGS, read_events

    if trace.name.endswith(ENDINGS):
        return read_events(trace), {}, "", None
    from emulator.slurmctld.simulate import requests_of
    from emulator.workload.sites import is_site_log, read_site_log
    from emulator.workload.swf import header_facts

    if is_site_log(trace):
        stated = [name for name in ("filter", "processors_field", "first_submit") if reading.get(name) is not None]
        if stated:
            raise ConfigurationError(f"{trace}: of a dump all jobs are run as they were; leave out {', '.join(stated)}")
        log = read_site_log(trace, malformed=reading.get("malformed") or "error")
        return log.requests, {"source_sha256": log.source_hash, "read": log.read}, "\n".join(log.told()), log.epoch
    processors = sum(node.cpus for node in conf.nodes)
    workload = shared.read_workload(trace, processors=processors, **reading)
    names = header_facts(workload.header).partitions
    about = {"source_sha256": workload.source_hash, "read": workload.read}
    return requests_of(workload, conf, names), about, shared.dropped_note(workload), workload.epoch


def _slots(given: Mapping[str, Any]) -> tuple[dict[str, str], int, bool | None]:
    """Plugins that take the places of Slurm's, seed, compiled; other options of ideal timing would be ignored."""
    from emulator.config.options import resolve_slots

    slots, rest = resolve_slots(
        {name: value for name, value in given.items() if name not in (*READING, "preemption", "commands")}
    )
    seed, compiled = rest.pop("seed", None), rest.pop("compiled", None)
    stated = [name for name, value in rest.items() if value not in (None, ())]
    if stated:
        raise ConfigurationError(
            "with --slurm-conf or a scenario machine and policy come from that file; "
            f"leave out {', '.join(sorted(stated))}, or change the file"
        )
    return slots, seed or 0, compiled


def _preemption(settings: tuple[str, ...], stated: Mapping[str, Any]) -> Preemption | None:
    """Options of checkpoints: of the experiment, and over them those of the command line; None without any."""
    from emulator.config.preemption import Preemption

    options = {**stated, **shared.preemption_settings(None, settings)}
    return Preemption(**{"mode": "CHECKPOINT", **options}) if options else None


def _rejected(records: Records, places: Mapping[int, str]) -> str:
    """How many submissions were refused, why, which was the first, and where it stands."""
    jobs = records.jobs
    refused: dict[str, list[int]] = {}
    for place in (jobs["state"] == "REJECTED").nonzero()[0].tolist():
        refused.setdefault(str(jobs["reason"][place]), []).append(int(jobs["job_id"][place]))
    first = {
        words: f"job {ids[0]}" + (f", {places[ids[0]]}" if ids[0] in places else "") for words, ids in refused.items()
    }
    return "\n".join(f"{len(ids):,} rejected: {words} (first: {first[words]})" for words, ids in refused.items())


def _without_accounts(conf: SlurmConf, accounts: Accounts | None) -> str:
    """What is missed where the configuration speaks of accounts and there are none."""
    if accounts is not None or "AccountingStorageEnforce" not in conf.parameters:
        return ""
    return "no --accounts: limits of accounts and QOS do not hold, and fair share counts for nothing"


def _without_effect(conf: SlurmConf) -> str:
    """Which stated keys have no effect yet."""
    from emulator.config.slurm.vocabulary import Status
    from emulator.report.slurmconf import keys

    names = [key.name for key in keys(conf) if key.status is Status.NOT_YET]
    if not names:
        return ""
    shown = ", ".join(names[:6]) + (f" and {len(names) - 6} more (slurm-sim conf check)" if len(names) > 6 else "")
    return f"stated without effect yet: {shown}"
