"""The one entry: ``simulate(workload, machine, clock=..., scheduler=...) -> Result``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import fields, replace
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

from emulator.accounting.aside import written_aside
from emulator.accounting.eventlog import EventLog
from emulator.accounting.records import Records
from emulator.accounting.runfolder import EVENTS, open_events
from emulator.collector import collector_at_rest
from emulator.config.operation import Operation
from emulator.config.options import SLOT_OPTIONS, Config, resolve_slots
from emulator.files import open_beside, replace_by
from emulator.hooks import FAILURES
from emulator.hookwatch import watching
from emulator.result import Result
from emulator.runs import ClusterRun, CountedRun, processors_of
from emulator.workload.workload import Workload
from slurm_sim_plugins.errors import ConfigurationError, PluginError, StandstillError, meant
from slurm_sim_plugins.manager import Catalogue, PluginInfo, Selection, discover
from slurm_sim_plugins.views import View

if TYPE_CHECKING:
    from emulator.accounting.explainer import Explainer
    from emulator.config.sacctmgr.database import Accounts
    from emulator.config.slurm.controller import Timing
    from emulator.config.slurm.model import SlurmConf
    from emulator.engine.controller import Controller
    from emulator.snapshot.keeper import Keeper
    from emulator.workload.request import JobRequest
    from emulator.workload.submissions import Submissions


def simulate(
    workload: Workload | Submissions | Sequence[JobRequest] | str | Path,
    machine: int | SlurmConf | str | Path | None = None,
    *,
    config: Config | None = None,
    plugins: Iterable[type] = (),
    catalogue: Catalogue | None = None,
    out: str | Path | None = None,
    events: str | Path | None = None,
    report: Callable[[int], None] | None = None,
    keeper: Keeper | None = None,
    accounts: Accounts | None = None,
    actions: Sequence[tuple[float, Callable[[Controller], None]]] = (),
    timing: Timing | None = None,
    **options: Any,
) -> Result:
    """Simulate a workload on a machine under a policy.

    Args:
        workload: the jobs, or the name of a trace; for the cluster of a ``slurm.conf`` also submissions.
        machine: the number of processors; or a ``slurm.conf``, read or by its path. By default the
            processors of ``config``, or those that the trace states. Under Slurm's clock
            (``clock="slurm"``) processors are one node of a cluster with one partition.
        config: how to simulate.
        plugins: plugin classes of your own, to be named in ``config`` or ``options``.
        catalogue: plugins that were found; by default the bundled and the installed ones.
        out: folder for records, event log and ``run.toml``.
        events: file for the event log, if it is not to be in ``out``.
        report: is called from time to time with how many jobs are over (on a cluster) or submitted.
        keeper: keeps snapshots in ``out``, from which :func:`emulator.resume.resume` goes on.
        accounts: of a cluster: associations and qualities of service; None for none.
        actions: of a cluster: operators' commands, (second, function of the controller).
        timing: of Slurm's clock: what real daemons take their time for.
        options: fields of :class:`Config` that differ from ``config``, such as ``clock="ideal"`` or
            ``slurm_version="24.11"``, and slots by the
            type of their plugins: ``scheduler="sched/easy"``, ``priority=``, ``backfill=``,
            ``preempt=``, ``select=``, ``walltime=``, ``execution=``. On a cluster they replace those of
            what its file says.

    Raises:
        ConfigurationError: an option, slot or plugin that cannot be used on this machine or under this clock.
        InputError: a trace that cannot be read.
        PluginError: a plugin failed; with ``out``, what happened until then is there.
        StandstillError: nothing can happen any more, and jobs have not ended; with ``out``, as before. On a cluster
            ``about["unfinished"]`` says it.
        OutputError: ``out`` cannot be written; what had been logged is in its folder ``unfinished``.
    """
    config = _with_options(config or Config(), options)
    catalogue = catalogue.copy() if catalogue is not None else discover()
    for factory in plugins:
        catalogue.add(PluginInfo.of(factory))
    conf = _conf(machine)
    engine: CountedRun | ClusterRun
    if conf is None:
        if config.operation != Operation():
            raise ConfigurationError(
                "operation: goes with a slurm.conf: counted processors are on no nodes to which anything could happen"
            )
        config = _counted(config, machine, {"accounts": accounts, "actions": actions, "timing": timing})
        workload = jobs = _read(workload, config)
        if config.clock == "slurm":
            from emulator.config.slurm.flat import flat_cluster

            conf, config = flat_cluster(processors_of(config, jobs), config)
        else:
            engine = CountedRun(jobs, config, catalogue)
    elif keeper is not None and not keeper.of_site:
        raise ConfigurationError(
            "keeper: a snapshot of a run on a slurm.conf has to say of which; give keeper() the site"
        )
    if conf is not None:
        _check_operation(config, conf)
        engine = ClusterRun(_submissions(workload, conf), conf, config, catalogue, accounts, actions, timing)
    folder = Path(out) if out is not None else None
    with ExitStack() as stack:
        kept = keeper.kept if keeper is not None else ()
        aside = stack.enter_context(written_aside(folder, kept)) if folder is not None else None
        log = stack.enter_context(event_log(Path(events) if events is not None else None, aside, keeper))
        stack.enter_context(collector_at_rest())
        result = _carry_out(engine, log, aside, report, keeper)
    return result if folder is None else replace(result, folder=folder)


def _carry_out(
    engine: CountedRun | ClusterRun,
    log: EventLog | None,
    folder: Path | None,
    report: Callable[[int], None] | None,
    keeper: Keeper | None,
) -> Result:
    """Run to the end; whatever the end is, what happened is in the folder."""
    selection = engine.selection
    explainer = explainer_of(engine.config.explain, selection, log)
    engine.begin(log, report, whole=folder is not None)
    if explainer is not None:
        explainer.watch(engine.cluster_state)
    try:
        with watching(selection, lambda: engine.now):
            _tell(engine, "run_begun")
            if keeper is None or log is None:
                engine.run(report)
            else:
                keeper.run(engine, log, {"the recording of decisions": explainer}, report)
            _tell(engine, "run_ended")
    except (PluginError, StandstillError, KeyboardInterrupt) as error:
        status = "interrupted" if isinstance(error, KeyboardInterrupt) else "failed"
        _write(engine, log, folder, *engine.ended(status, str(error)))
        raise
    records, about = engine.ended("finished", "")
    _write(engine, log, folder, records, about)
    engine.close()
    return Result(records, about, selection.plugins)


def _tell(engine: CountedRun | ClusterRun, hook: str) -> None:
    """Tell observers that the run begins or has ended."""
    try:
        getattr(engine.selection.manager.hook, hook)(view=View(engine.cluster_state))
    except FAILURES as error:
        blamed = engine.selection.blame(hook, error, time=engine.now)
        if blamed is None or blamed is error:
            raise
        raise blamed from error


def _write(
    engine: CountedRun | ClusterRun,
    log: EventLog | None,
    folder: Path | None,
    records: Records,
    about: dict[str, Any],
) -> None:
    """Write what is left of a run; its description, which says that it is whole, comes last."""
    if log is not None:
        log.flush()
    if folder is not None:
        engine.write(folder, records, about)


@contextmanager
def event_log(path: Path | None, folder: Path | None, keeper: Keeper | None = None) -> Iterator[EventLog | None]:
    """An event log in a file of its own, else in the folder of the run; what was logged is in it however the run ends.

    A file of its own replaces the one that was there at the end.
    """
    if path is not None:
        stream = open_beside(path)
    elif folder is not None:
        stream = (open_events if keeper is None else keeper.open_events)(folder / EVENTS)
    else:
        yield None
        return
    log = EventLog(stream)
    try:
        yield log
    finally:
        try:
            log.flush()
            if path is not None:
                replace_by(stream, path)
        finally:
            log.close()


def explainer_of(wanted: bool, selection: Selection, log: EventLog | None) -> Explainer | None:
    """What records the decisions, if that is wanted."""
    if not wanted:
        return None
    if log is None:
        raise ConfigurationError("explain records decisions in the event log: give out or events (--out, --events)")
    from emulator.accounting.explainer import explain

    return explain(selection, log)


def _with_options(config: Config, options: Mapping[str, Any]) -> Config:
    known = {item.name for item in fields(Config)}
    slots, rest = resolve_slots(options)
    known |= SLOT_OPTIONS.keys()
    unknown = next((name for name in rest if name not in known), None)
    if unknown is not None:
        raise ConfigurationError(
            f"there is no option {unknown!r}{meant(unknown, known)}; options are {', '.join(sorted(known))}"
        )
    config = replace(config, **rest)
    return replace(config, slots={**config.slots, **slots}) if slots else config


def _check_operation(config: Config, conf: SlurmConf) -> None:
    """Refuse options of the operation that would change nothing.

    Raises:
        ConfigurationError: it names the option, and what it goes with.
    """
    if config.operation.job_test_time and config.clock == "ideal":
        raise ConfigurationError("operation.job_test_time: goes with clock=slurm: else decisions take no time")
    if conf.power is None:
        for name in ("resume_time", "resume_failures"):
            if getattr(config.operation, name):
                raise ConfigurationError(
                    f"operation.{name}: goes with power saving, and {conf.source} states none "
                    "(SuspendTime, SuspendProgram, ResumeProgram)"
                )


def _conf(machine: int | SlurmConf | str | Path | None) -> SlurmConf | None:
    """The configuration of a cluster; None if processors are counted."""
    if machine is None or isinstance(machine, Integral):
        return None
    if isinstance(machine, str | Path):
        from emulator.config.slurm import read_slurm_conf

        return read_slurm_conf(Path(machine))
    from emulator.config.slurm.model import SlurmConf

    if not isinstance(machine, SlurmConf):
        raise ConfigurationError(f"machine is {machine!r}; give a number of processors, or a slurm.conf")
    return machine


def _counted(config: Config, machine: Any, of_clusters: Mapping[str, object]) -> Config:
    """Options of a machine whose processors are counted; what only a cluster has is refused."""
    for name, given in of_clusters.items():
        if given:
            raise ConfigurationError(f"{name}: goes with a slurm.conf as the machine")
    if config.slurm_version is not None and config.clock != "slurm":
        raise ConfigurationError('slurm_version: goes with a slurm.conf as the machine, or with clock="slurm"')
    if machine is None:
        return config
    if config.processors not in (None, machine):
        raise ConfigurationError(f"machine is {machine} and processors is {config.processors}; give one of them")
    return replace(config, processors=int(machine))


def _read(workload: Any, config: Config) -> Workload:
    if isinstance(workload, Workload):
        return workload
    if not isinstance(workload, str | Path):
        raise ConfigurationError("submissions go to a cluster; give its slurm.conf as the machine")
    from emulator.workload.read import read_trace

    return read_trace(workload, machine=config.processors)


def _submissions(workload: Any, conf: SlurmConf) -> Submissions:
    from emulator.workload.submissions import Submissions, read_submissions, submissions_of

    if isinstance(workload, Submissions):
        return workload
    if isinstance(workload, Workload):
        return submissions_of(workload, conf)
    if isinstance(workload, str | Path):
        return read_submissions(Path(workload), conf, {})
    return Submissions(workload)
