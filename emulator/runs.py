"""A run on each kind of machine, in one form: processors that are counted, and the nodes of a ``slurm.conf``."""

from __future__ import annotations

import logging
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from emulator.accounting.describe import describe, describe_cluster
from emulator.accounting.eventlog import EventLog
from emulator.accounting.records import Records, collect
from emulator.accounting.runfolder import write_notes, write_run
from emulator.config.operation import SCRIPTS, Operation
from emulator.config.options import Config
from emulator.config.preemption import Preemption
from emulator.engine.simulation import Simulation
from emulator.engine.stock import StockRun, UndecidedError, stock_policy
from emulator.workload.workload import Workload
from slurm_sim_plugins.errors import ConfigurationError
from slurm_sim_plugins.kernels import why_plain
from slurm_sim_plugins.manager import Catalogue, Selection, select

if TYPE_CHECKING:
    from emulator.config.sacctmgr.database import Accounts
    from emulator.config.slurm.controller import Timing
    from emulator.config.slurm.model import SlurmConf
    from emulator.engine.controller import Controller
    from emulator.workload.submissions import Submissions
    from slurm_sim_plugins.views import ClusterState

About = dict[str, Any]
"""The content of ``run.toml``."""


class CountedRun:
    """A run on processors.

    Raises:
        ConfigurationError: plugins or options that cannot go together; a machine of no known size.
    """

    def __init__(self, workload: Workload, config: Config, catalogue: Catalogue) -> None:
        self.config = config
        self._workload = workload
        self._processors = processors_of(config, workload)
        self.selection: Selection = select(catalogue, config.slots, config.plugin_options, config.seed)

    def begin(self, log: EventLog | None, report: Callable[[int], None] | None, whole: bool) -> None:
        """Make the empty machine."""
        # As plain Python the loop is no faster than the general one.
        policy = stock_policy(self.selection, self.config, self._workload, log) if not why_plain() else None
        self._simulation: Simulation | StockRun
        if policy is not None:
            self._simulation = StockRun(self._workload, self._processors, self.config, policy)
            logging.getLogger(__name__).info(
                "%s: the compiled loop of stock plugins makes this run", self._workload.name
            )
        else:
            self._simulation = Simulation(self._workload, self._processors, self.config, self.selection, log)

    @property
    def cluster_state(self) -> ClusterState:
        """What views show."""
        return self._simulation.cluster_state

    @property
    def now(self) -> float:
        """Simulated time in seconds."""
        return self._simulation.cluster_state.now

    @property
    def state(self) -> Mapping[str, Any]:
        """The objects that have the state, by name."""
        return {"the simulation": self._simulation}

    @property
    def submits(self) -> Sequence[int]:
        """When jobs are submitted, ascending, in microseconds."""
        return self._simulation.table.submit_at

    @property
    def can_be_kept(self) -> bool:
        """Always: decisions take no time."""
        return True

    def advance(self, until: int) -> None:
        """Run up to an instant (microseconds), but not what happens at it."""
        self._simulation.advance(until)

    def run(self, report: Callable[[int], None] | None) -> None:
        """Run to the end."""
        try:
            self._simulation.run(report)
        except UndecidedError:
            self._simulation = Simulation(self._workload, self._processors, self.config, self.selection)
            self._simulation.run(report)

    def ended(self, status: str, error: str) -> tuple[Records, About]:
        """What became of the jobs, and the description of the run."""
        simulation = self._simulation
        records = collect(simulation.table, self._workload, self._processors, simulation.stays)
        about = describe(self._workload, self._processors, self.config, self.selection, status, error)
        refused = simulation.table.refused.values()
        return records, about | ({"rejected": dict(Counter(refused))} if refused else {})

    def write(self, folder: Path, records: Records, about: About) -> None:
        """Write what a folder of such a run has."""
        write_run(folder, records, about)

    def close(self) -> None:
        """Let go of all state."""
        self._simulation.close()


def processors_of(config: Config, workload: Workload) -> int:
    """Processors of a machine that is stated in options, else by the trace.

    Raises:
        ConfigurationError: neither says it, or there are none.
    """
    processors = config.processors if config.processors is not None else workload.machine
    if processors is None:
        raise ConfigurationError(f"{workload.name} does not say how large the machine is; give the processors")
    if processors < 1:
        raise ConfigurationError(f"a machine of {processors} processors cannot run a job; give 1 or more")
    return processors


def tell_unknown_times(conf: SlurmConf, operation: Operation) -> None:
    """Warn of scripts that ``slurm.conf`` names and of which it is not known how long they take."""
    for key, option in SCRIPTS.items():
        if key in conf.parameters and not getattr(operation, option):
            logging.getLogger(__name__).warning(
                "%s: %s is not run, and takes no time; --operation %s=SECONDS says how long it takes",
                conf.parameters.location(key),
                key,
                option,
            )


def tell_unknown_groups(conf: SlurmConf, operation: Operation) -> None:
    """Warn of partitions for some groups where it is not known who is in them."""
    closed = [partition.name for partition in conf.partitions if partition.allow_groups is not None]
    if closed and not operation.groups:
        logging.getLogger(__name__).warning(
            "%s: AllowGroups of %s keeps no user out; --operation groups=FILE says who is in which group",
            conf.source,
            ", ".join(closed),
        )


class ClusterRun:
    """A run on the nodes and partitions of a ``slurm.conf``.

    Args:
        submissions: what is submitted.
        conf: the configuration.
        config: slots, options of plugins and the clock, by default Slurm's.
        catalogue: plugins that were found.
        accounts: associations and qualities of service; None for none.
        actions: operators' commands.
        timing: what real daemons take their time for.

    Raises:
        ConfigurationError: a cluster without nodes; options or plugins that cannot go with it.
    """

    def __init__(
        self,
        submissions: Submissions,
        conf: SlurmConf,
        config: Config,
        catalogue: Catalogue,
        accounts: Accounts | None,
        actions: Sequence[tuple[float, Callable[[Controller], None]]],
        timing: Timing | None,
    ) -> None:
        from emulator.slots import check_facts, plugins_for

        if not conf.nodes:
            raise ConfigurationError(f"{conf.source}: there is no NodeName line, so there is no machine; add one")
        self.config = config.on_cluster()
        conf, told = conf if config.slurm_version is None else conf.under(config.slurm_version), len(conf.notices)
        for notice in conf.notices[told:]:
            logging.getLogger(__name__).warning("%s", notice)
        self._submissions = submissions
        self._accounts, self._actions, self._timing = accounts, actions, timing
        self._file = conf
        tell_unknown_times(conf, self.config.operation)
        tell_unknown_groups(conf, self.config.operation)
        self._conf, self._slots, self.selection = plugins_for(conf, self.config, catalogue, accounts)
        check_facts(self.selection, conf, accounts, submissions.requests)

    def begin(self, log: EventLog | None, report: Callable[[int], None] | None, whole: bool) -> None:
        """Make the empty cluster; ``whole`` if all is noted that a folder has."""
        from emulator.accounting.journal import Journal
        from emulator.engine.controller import Controller

        config = self.config
        assert config.clock is not None
        self._controller = Controller(
            self._conf,
            self._submissions.requests,
            self._actions,
            self._timing,
            self.selection,
            self._accounts,
            self._submissions.epoch or 0,
            config.kernels(len(self._submissions.requests)),
            config.preemption if config.preemption != Preemption() else None,
            clock=config.clock,
            passes=config.passes,
            log=log,
            report=report,
            operation=config.operation,
            seed=config.seed,
            plans_are_seen=whole,
        )
        self._journal = Journal(self._controller) if whole else None

    @property
    def controller(self) -> Controller:
        """The controller, once the run has begun."""
        return self._controller

    @property
    def cluster_state(self) -> ClusterState:
        """What views show."""
        return self._controller.policies.cluster_state

    @property
    def now(self) -> float:
        """Simulated time in seconds."""
        return self._controller.cluster.now

    @property
    def state(self) -> Mapping[str, Any]:
        """The objects that have the state, by name."""
        return {"the controller": self._controller, "the journal": self._journal}

    @property
    def submits(self) -> Sequence[float]:
        """When jobs are submitted, ascending, in seconds."""
        return sorted(round(request.submit, 6) for request in self._submissions.requests)

    @property
    def can_be_kept(self) -> bool:
        """Unless a cycle of backfill has paused."""
        return self._controller.passes.scheduler.pause is None

    def advance(self, until: float) -> None:
        """Run up to an instant (seconds), but not what happens at it."""
        self._controller.run(math.nextafter(until, -math.inf), self._journal)

    def run(self, report: Callable[[int], None] | None) -> None:
        """Run to the end."""
        from emulator.scheduling.policies import calculation_period

        controller, journal = self._controller, self._journal
        controller.run(observe=journal)
        if journal is not None and self._accounts is not None:
            # What the last jobs used is charged at the end of the period.
            controller.run(
                controller.cluster.now + calculation_period(self._conf, controller.policies.priority), journal
            )

    def ended(self, status: str, error: str) -> tuple[Records, About]:
        """What became of the jobs, and the description of the run."""
        from emulator.accounting.cluster_records import collect_cluster

        controller = self._controller
        records = collect_cluster(controller, self._submissions.epoch, whole=self._journal is not None)
        parts = self._file, self._submissions, records, self.config, self.selection, self._slots
        return records, describe_cluster(controller, *parts, status, error)

    def write(self, folder: Path, records: Records, about: About) -> None:
        """Write what a folder of such a run has."""
        from emulator.accounting.cluster import write_cluster

        assert self._journal is not None
        write_notes(folder, self._journal.take_tables())
        write_cluster(folder, self._conf)
        write_run(folder, records, about)

    def close(self) -> None:
        """Let go of jobs and submissions. The parts refer to each other, and would wait for Python's collector."""
        cluster = self._controller.cluster
        for jobs in (cluster.jobs, cluster.tasks, cluster.named):
            jobs.clear()
        self._controller.arrivals.close()
