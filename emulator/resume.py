"""Going on with an interrupted run, from the folder that it left."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from emulator.accounting.aside import written_aside
from emulator.accounting.describe import hash_of_conf
from emulator.accounting.runfolder import FILES, UNFINISHED
from emulator.campaign import plugins
from emulator.campaign.hashes import code, fresh_hash_of
from emulator.config.operation import Operation
from emulator.config.options import Config
from emulator.config.preemption import Preemption
from emulator.config.slurm.emulated import stated_slots_of
from emulator.files import MALFORMED
from emulator.site import Site, read_site_again
from emulator.snapshot.keeper import Keeper, Snapshot
from emulator.version import version
from slurm_sim_plugins.errors import ConfigurationError, InputError
from slurm_sim_plugins.manager import BUNDLED, Catalogue

KEPT = ("trace", "trace_sha256", "reading", "config", "site", "plugins", "files", "origins", "version", "code")
"""What a snapshot says of how a run was begun."""

if TYPE_CHECKING:
    from emulator.result import Result
    from emulator.workload.workload import Workload


def keeper(
    every: int,
    trace: Path,
    reading: Mapping[str, Any],
    config: Config,
    files: Sequence[Path],
    catalogue: Catalogue | None = None,
    site: Site | None = None,
) -> Keeper:
    """A keeper of snapshots of a run that begins.

    Args:
        every: after so many submissions.
        trace: where the jobs come from.
        reading: how it is read.
        config: how it is simulated.
        files: plugin files that the user named, with their whole paths.
        catalogue: where the plugins are taken from, if not from a catalogue of these files.
        site: the cluster and what is done on it, if not processors are counted.

    Raises:
        InputError: a file cannot be read.
    """
    catalogue = catalogue if catalogue is not None else plugins.found(tuple(files))[0]
    about = {
        "trace": str(trace.absolute()),
        "trace_sha256": fresh_hash_of(trace),
        "reading": dict(reading),
        "config": asdict(config),
        "site": None if site is None else site.described() | {"hashes": _hashes(site)},
        "plugins": plugins.sources(config, tuple(files), _slots(site)),
        "files": plugins.files_read(config),
        "origins": {info.name: info.origin for info in catalogue if info.origin != BUNDLED},
        "version": version(),
        "code": code(),
    }
    return Keeper(every, about)


def resume(
    folder: Path,
    *,
    trace: Path | None = None,
    files: Sequence[Path] = (),
    report: Callable[[int], None] | None = None,
) -> tuple[Result, Workload | Site]:
    """Go on with an interrupted run from its last snapshot, to the same bytes as if it had not been interrupted.

    Everything that decides them has to be what it was: trace, plugins, version. A plugin
    is code, and no folder decides what code is run: plugin files are named again.

    Args:
        folder: of the run.
        trace: the trace, if it is not any more where it was.
        files: the plugin files that the run was begun with, with their whole paths.
        report: is called from time to time with how many jobs were submitted, or are over.

    Returns:
        The result, and what was run.

    Raises:
        InputError: there is no snapshot, or it is damaged, or something is not what it was.
        ConfigurationError: a plugin is not there, or is not the one that it was.
    """
    from emulator.api import simulate
    from emulator.workload.read import read_trace

    if (folder / UNFINISHED).exists():
        with written_aside(folder, FILES):
            pass  # Ends a move that was begun.
    snapshot = Snapshot(folder)
    about = snapshot.about
    try:
        config = _config(about["config"])
        source = trace if trace is not None else Path(str(about["trace"]))
        if (about["code"], about["version"]) != (code(), version()):
            raise InputError(f"{folder}: was begun with another version ({about['version']}); run it again")
        if _hash_of(source, folder) != about["trace_sha256"]:
            raise InputError(
                f"{folder}: {source} is not the trace that the run was begun with; name that one with --trace"
            )
        site = None if about["site"] is None else read_site_again(source, about["reading"], about["site"])
        if site is not None and _hashes(site) != about["site"]["hashes"]:
            raise InputError(f"{folder}: the slurm.conf or the accounts are not what they were; run it again")
        catalogue = _as_then(plugins.found(tuple(files))[0].copy(), about.get("origins"))
        _check_plugins(config, about["plugins"], tuple(files), _slots(site))
        if plugins.files_read(config) != about["files"]:
            raise InputError(f"{folder}: a file that an option of a plugin names is not what it was; run it again")
        jobs = site or read_trace(source, machine=config.processors, **about["reading"])
        if fresh_hash_of(source) != about["trace_sha256"]:
            raise InputError(f"{source}: changed while it was read; resume again")
    except MALFORMED as error:
        raise InputError(f"{folder}: its snapshot does not say how the run was begun ({error})") from error
    kept = {name: about[name] for name in KEPT}
    going_on = Keeper(snapshot.every, {**kept, "trace": str(source.absolute())}, snapshot)
    further: dict[str, Any] = {"catalogue": catalogue, "out": folder, "keeper": going_on, "report": report}
    try:
        if not isinstance(jobs, Site):
            return simulate(jobs, config=config, **further), jobs
        further |= {"accounts": jobs.accounts(), "actions": jobs.actions}
        return simulate(jobs.submissions, jobs.conf, config=config, **further), jobs
    except MALFORMED as error:
        raise InputError(f"{folder}: its snapshot holds no state of this run ({error}); run it again") from error


def _hash_of(trace: Path, folder: Path) -> str:
    try:
        return fresh_hash_of(trace)
    except InputError as error:
        raise InputError(f"{folder}: its trace {error}; name it with --trace") from error


def _as_then(catalogue: Catalogue, origins: object) -> Catalogue:
    """The plugins called as they were when the run was begun, so that its description says the same."""
    for info in list(catalogue):
        if isinstance(origins, dict) and info.name in origins and info.origin != BUNDLED:
            catalogue.add(replace(info, origin=str(origins[info.name])))
    return catalogue


def _config(stated: Mapping[str, Any]) -> Config:
    options = dict(stated)
    options |= {"preemption": Preemption(**options["preemption"]), "operation": Operation.of(options["operation"])}
    return Config(**options)


def _hashes(site: Site) -> list[str]:
    """Of what decides what a cluster does, beside its trace and what is in the snapshot itself."""
    return [hash_of_conf(site.conf), *map(fresh_hash_of, site.account_files)]


def _slots(site: Site | None) -> Mapping[str, str]:
    """The slots that a ``slurm.conf`` states."""
    return {} if site is None else stated_slots_of(site.conf)


def _check_plugins(
    config: Config, stated: Mapping[str, str], files: tuple[Path, ...], slots: Mapping[str, str]
) -> None:
    """Compare the plugins that take part with those that took part."""
    try:
        here = plugins.sources(config, files, slots)
    except AttributeError as error:
        raise InputError(f"the snapshot names plugins that cannot be ({error})") from error
    for name in sorted({*here, *stated}):
        if here.get(name) != stated.get(name):
            raise ConfigurationError(
                f"{name} is not the plugin that the run was begun with; name its file with --plugin, as it was then"
            )
