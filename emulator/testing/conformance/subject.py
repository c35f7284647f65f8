"""The plugin that is checked, and simulations in which it takes part."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from emulator.accounting.describe import describe
from emulator.accounting.eventlog import EventLog
from emulator.accounting.records import collect
from emulator.config.options import Config
from emulator.engine.simulation import Simulation
from emulator.result import Result
from emulator.testing.conformance.report import DoesNotApply
from emulator.testing.conformance.workloads import Case
from emulator.testing.invariants import check_invariants
from slurm_sim_plugins.hookspecs import DEFAULTS
from slurm_sim_plugins.manager import Catalogue, PluginInfo, Selection, select, slots_for
from slurm_sim_plugins.renamed import stated

PV = ("sched/venture", "preempt/shadow_load", "priority/sjf")
COMPANIONS: dict[str, list[tuple[str, ...]]] = {
    "priority": [(), ("sched/conservative",), ("sched/venture", "preempt/shadow_load")],
    "sched": [
        (),
        ("priority/sjf", "backfill/sjf", "walltime/given"),
        ("preempt/shadow_load", "priority/sjf", "walltime/last_model"),
    ],
    "backfill": [(), ("sched/venture", "preempt/shadow_load")],
    "preempt": [("sched/venture",), ("sched/realtime", "select/blocks"), ("sched/venture", "priority/sjf")],
    "select": [("sched/realtime",), ("sched/realtime", "preempt/realtime", "priority/wfp")],
    "walltime": [(), PV, ("sched/conservative",)],
    "execution": [(), ("sched/conservative",)],
    "site_factor": [("priority/multifactor",), ("priority/wfp", "sched/conservative")],
    "job_submit": [(), PV, ("sched/conservative", "job_submit/all_partitions")],
    "observer": [(), (*PV, "walltime/last_model")],
}
"""The plugins in the other slots with which one of each type is tried; the first ones with one pass for all that
happens at an instant, the last ones with one after each event."""


@dataclass(frozen=True)
class Policy:
    """What a simulation runs under beside the plugin that is checked.

    Attributes:
        companions: names of the plugins in other slots.
        passes: ``batch`` or ``event``.
    """

    companions: tuple[str, ...] = ()
    passes: Any = "batch"

    def __str__(self) -> str:
        others = " with " + ", ".join(self.companions) if self.companions else ""
        return f"passes={self.passes}{others}"

    @property
    def options(self) -> dict[str, str]:
        """As options of ``simulate_jobs``."""
        short = {"sched": "scheduler"}
        slots = {short.get(name.partition("/")[0], name.partition("/")[0]): name for name in self.companions}
        return slots | ({"passes": self.passes} if self.passes != "batch" else {})


@dataclass
class Trial:
    """One simulation in which the plugin takes part.

    Attributes:
        simulation: not yet begun.
        selection: its plugins.
        case: what it simulates.
    """

    simulation: Simulation
    selection: Selection
    case: Case
    config: Config
    _stream: io.StringIO
    _log: EventLog
    records: Any = None

    def finish(self) -> Trial:
        """Run to the end, and check every invariant."""
        self.simulation.run()
        workload, processors = self.case.workload, self.case.processors
        records = collect(self.simulation.table, workload, processors, self.simulation.stays)
        about = describe(workload, processors, self.config, self.selection)
        check_invariants(Result(records, about), workload)
        self.records = records
        return self

    @property
    def log(self) -> str:
        """The event log until now."""
        self._log.flush()
        return self._stream.getvalue()


@dataclass(frozen=True)
class Subject:
    """A plugin class and the options with which it is checked."""

    factory: Any
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def info(self) -> PluginInfo:
        """What is known of it.

        Raises:
            PluginError: it is no plugin.
        """
        return PluginInfo.of(self.factory)

    def policies(self) -> list[Policy]:
        """All with which it is tried."""
        tiers = ("execution/two_tier",) if getattr(self.factory, "needs_tiers", ()) else ()
        companions = [(*names, *tiers) for names in COMPANIONS.get(self.info.type, [()])]
        if self.info.type == "sched" and not hasattr(self.factory, "schedule"):
            # The main loop is the emulator's, which asks for no order of candidates.
            companions = [tuple(name for name in names if not name.startswith("backfill/")) for names in companions]
        if stated(self.factory, "knows_blocks", old="knows_places", default=False):
            companions.insert(1, ("select/blocks", "preempt/realtime"))
        return [
            Policy(names, "event" if 0 < index == len(companions) - 1 else "batch")
            for index, names in enumerate(companions)
        ]

    def make(self) -> Any:
        """A fresh instance, as a simulation makes it.

        Raises:
            PluginError: it cannot be made, or its hooks are wrong.
            ConfigurationError: an option is wrong or missing.
        """
        return self._select(Policy()).plugins[self.info.name]

    def trial(
        self, case: Case, policy: Policy | None = None, *, observers: Iterable[type] = (), without: bool = False
    ) -> Trial:
        """A simulation that is ready to begin.

        Args:
            case: what to simulate.
            policy: the other slots; the first policy.
            observers: plugins that watch.
            without: whether to leave the plugin out, so that its slot holds the default.
        """
        self.check_counted()
        policy = policy or self.policies()[0]
        config = Config(processors=case.processors, passes=policy.passes, compiled=False)
        selection = self._select(policy, observers, without=without)
        stream = io.StringIO()
        log = EventLog(stream)
        simulation = Simulation(case.workload, case.processors, config, selection, log)
        return Trial(simulation, selection, case, config, stream, log)

    def catalogue(self) -> Catalogue:
        """The bundled plugins, and it."""
        return _catalogue([self.factory])

    def check_counted(self) -> None:
        """Leave out a check on counted processors where it is for other machines.

        Raises:
            DoesNotApply: its class says so.
        """
        machines = getattr(self.factory, "machines", ("processors",))
        if "processors" not in machines:
            raise DoesNotApply(f"its class says that it is for machines of {' or '.join(machines)}")

    def replaced(self, factory: type) -> Subject:
        """The same with another class."""
        return Subject(factory, self.options)

    def _select(self, policy: Policy, observers: Iterable[type] = (), *, without: bool = False) -> Selection:
        info = self.info
        catalogue = _catalogue([*observers, *([] if without else [self.factory])])
        slots = slots_for(policy.companions)
        mine: dict[str, Mapping[str, Any]] = {}
        if not without:
            mine = {info.name: self.options} if self.options else {}
            if info.slot is not None:
                slots[info.slot] = info.name
        return select(catalogue, {**DEFAULTS, **slots}, mine)


class _Own(Catalogue):
    """A catalogue in which what is given stands in for what is bundled under the same name."""

    def add(self, info: PluginInfo) -> None:
        """Take in a plugin, instead of any other of its name."""
        self._plugins[info.name] = info


def _catalogue(factories: Iterable[type]) -> Catalogue:
    return _Own(map(PluginInfo.of, factories))
