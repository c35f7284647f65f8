"""The one entry: ``simulate(workload, config, plugins) -> Result``."""

from __future__ import annotations

import gc
import hashlib
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from emulator.accounting.eventlog import EventLog
from emulator.accounting.records import Records, collect
from emulator.accounting.runfolder import EVENTS, open_events, write_run
from emulator.config.options import Config, resolve_slots
from emulator.engine.simulation import Simulation
from emulator.files import make_folder
from emulator.version import version
from emulator.workload.workload import Changed, Dropped, Workload
from slurm_sim_plugins.errors import ConfigurationError, PluginError
from slurm_sim_plugins.hookspecs import DEFAULTS
from slurm_sim_plugins.manager import Catalogue, PluginInfo, Selection, discover, select

if TYPE_CHECKING:
    import pandas as pd

    from emulator.explain.recording import Explainer
    from emulator.snapshot.keeper import Keeper


@dataclass(frozen=True)
class Result:
    """What a simulation gave.

    Attributes:
        records: job and run records, as columns.
        about: options, versions, hashes: the content of ``run.toml``.
        plugins: the plugins' instances by name, with whatever they gathered.
    """

    records: Records
    about: Mapping[str, Any]
    plugins: Mapping[str, Any] = field(default_factory=dict)

    @property
    def jobs(self) -> pd.DataFrame:
        """One row a job; the columns are described in :mod:`emulator.accounting.records`."""
        return self.records.jobs_frame()

    @property
    def runs(self) -> pd.DataFrame:
        """One row a run of a job."""
        return self.records.runs_frame()

    def metrics(self, **options: float) -> dict[str, float | int]:
        """The metrics; ``threshold`` and ``warm_up`` as in :func:`emulator.metrics.summary.summarise`."""
        from emulator.metrics.summary import summarise

        return summarise(self.records, **options)


def simulate(
    workload: Workload | str | Path,
    config: Config | None = None,
    *,
    plugins: Iterable[type] = (),
    catalogue: Catalogue | None = None,
    out: str | Path | None = None,
    events: str | Path | None = None,
    report: Callable[[int], None] | None = None,
    keeper: Keeper | None = None,
    **options: Any,
) -> Result:
    """Simulate a workload on a machine under a policy.

    Args:
        workload: the jobs, or the name of a trace.
        config: how to simulate.
        plugins: plugin classes of your own, to be named in ``config`` or ``options``.
        catalogue: plugins that were found; by default the bundled and the installed ones.
        out: folder for records, event log and ``run.toml``.
        events: file for the event log, if it is not to be in ``out``.
        report: is told now and then how many jobs are over.
        keeper: keeps snapshots in ``out``, from which :func:`emulator.snapshot.resume.resume` goes on.
        options: fields of :class:`Config` that differ from ``config``, and slots by the
            type of their plugins: ``scheduler="sched/easy"``, ``priority=``, ``backfill=``,
            ``preempt=``, ``walltime=``, ``execution=``.

    Raises:
        ConfigurationError: an option, slot or plugin that cannot be used.
        InputError: a trace that cannot be read.
        PluginError: a plugin failed; with ``out``, what happened until then is there.
        OutputError: ``out`` cannot be written.
    """
    config = _with_options(config or Config(), options)
    workload = _read(workload, config)
    processors = _machine(config, workload)
    catalogue = catalogue.copy() if catalogue is not None else discover()
    for factory in plugins:
        catalogue.add(PluginInfo.of(factory))
    selection = select(catalogue, config.slots, config.plugin_options, config.seed)
    folder = Path(out) if out is not None else None
    if folder is not None:
        make_folder(folder)
    path = Path(events) if events is not None else folder / EVENTS if folder is not None else None
    with _event_log(path, keeper) as log:
        result = _simulate(workload, processors, config, selection, log, report, folder, keeper)
    if folder is not None:
        write_run(folder, result.records, result.about)
    if keeper is not None:
        keeper.finished()
    return result


@contextmanager
def _event_log(path: Path | None, keeper: Keeper | None = None) -> Iterator[EventLog | None]:
    """An event log in a file; what was logged is in it however the run ends."""
    if path is None:
        yield None
        return
    log = EventLog(open_events(path) if keeper is None else keeper.open_events(path))
    try:
        yield log
    finally:
        log.close()


def _simulate(
    workload: Workload,
    processors: int,
    config: Config,
    selection: Selection,
    log: EventLog | None,
    report: Callable[[int], None] | None,
    folder: Path | None = None,
    keeper: Keeper | None = None,
) -> Result:
    with collector_at_rest():
        explainer = _explainer(config, selection, log)
        simulation = Simulation(workload, processors, config, selection, log)
        if explainer is not None:
            explainer.watch(simulation.situation)
        try:
            if keeper is None or log is None:
                simulation.run(report)
            else:
                keeper.run(simulation, selection, log, {"the recording of decisions": explainer}, report)
        except (PluginError, KeyboardInterrupt) as error:
            if folder is not None:
                status = "interrupted" if isinstance(error, KeyboardInterrupt) else "failed"
                records = collect(simulation.table, workload, processors, simulation.stays)
                write_run(folder, records, describe(workload, processors, config, selection, status, str(error)))
            raise
        records = collect(simulation.table, workload, processors, simulation.stays)
        simulation.close()
    return Result(records, describe(workload, processors, config, selection), selection.plugins)


def _explainer(config: Config, selection: Selection, log: EventLog | None) -> Explainer | None:
    """Who records the decisions, if that is wanted."""
    if not config.explain:
        return None
    if log is None:
        raise ConfigurationError("explain records decisions in the event log, and there is none; give out or events")
    from emulator.explain.recording import explain

    return explain(selection, log)


def describe(
    workload: Workload,
    processors: int,
    config: Config,
    selection: Selection,
    status: str = "finished",
    error: str = "",
) -> dict[str, Any]:
    """All that made a run what it is: the content of ``run.toml``."""
    oracle = any(getattr(plugin, "needs_oracle", False) for plugin in selection.plugins.values())
    return {
        "run": {"label": label(selection.slots), "status": status, "version": version(), "oracle": oracle}
        | ({"error": error} if error else {}),
        "machine": {"processors": processors} | ({"epoch": workload.epoch} if workload.epoch is not None else {}),
        "simulation": {
            "timing": config.timing,
            "passes": config.passes,
            "kill_at_limit": config.kill_at_limit,
            "expired": config.expired,
            "seed": config.seed,
            "dispatch": config.dispatch,
        },
        "preemption": asdict(config.preemption),
        "slots": dict(selection.slots),
        "plugins": {name: _about_plugin(info, config) for name, info in selection.infos.items()},
        "workload": {
            "name": workload.name,
            "source_sha256": workload.source_hash,
            "read": workload.read,
            "jobs": len(workload),
            "dropped": [_notice(dropped) for dropped in workload.dropped],
            "changed": [_notice(changed) for changed in workload.changed],
        },
    }


def _notice(notice: Dropped | Changed) -> dict[str, Any]:
    """As data; a file without its folder, so that it does not matter where the trace lies."""
    return {"reason": notice.reason, "count": notice.count, "first": Path(notice.first).name}


def label(slots: Mapping[str, str]) -> str:
    """The policy in a few words: the scheduler, and what is not the default."""
    others = [name for slot, name in slots.items() if name != DEFAULTS[slot] and slot != "SchedulerType"]
    return " + ".join([slots["SchedulerType"], *others])


def _about_plugin(info: PluginInfo, config: Config) -> dict[str, Any]:
    options = dict(config.plugin_options.get(info.name, {}))
    return {"origin": info.origin, "sha256": source_hash(info), "options": options}


def source_hash(info: PluginInfo) -> str:
    """SHA-256 of the file that defines a plugin, in hex; empty where there is none."""
    try:
        source = inspect.getsourcefile(info.factory)
        return hashlib.sha256(Path(source).read_bytes()).hexdigest() if source else ""
    except (OSError, TypeError):
        return ""


def _with_options(config: Config, options: Mapping[str, Any]) -> Config:
    known = {item.name for item in fields(Config)}
    slots, rest = resolve_slots(options)
    unknown = [name for name in rest if name not in known]
    if unknown:
        raise ConfigurationError(f"there is no option {unknown[0]!r}; options are {', '.join(sorted(known))}")
    config = replace(config, **rest)
    return replace(config, slots={**config.slots, **slots}) if slots else config


def _read(workload: Workload | str | Path, config: Config) -> Workload:
    if isinstance(workload, Workload):
        return workload
    from emulator.workload.read import read_trace

    return read_trace(workload, machine=config.processors)


def _machine(config: Config, workload: Workload) -> int:
    processors = config.processors if config.processors is not None else workload.machine
    if processors is None:
        raise ConfigurationError(f"{workload.name} does not say how large the machine is; give the processors")
    if processors < 1:
        raise ConfigurationError(f"a machine of {processors} processors cannot run a job; give 1 or more")
    return processors


@contextmanager
def collector_at_rest() -> Iterator[None]:
    """Keep Python's cycle collector from walking over all jobs again and again.

    The engine makes no cycles, and the collector would cost a fifth of the time.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
