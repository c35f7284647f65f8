"""A session with ``--apply`` again in the emulator, with the delays that it had: does the plugin decide the same?

The jobs come, and leave their nodes, when the session saw it; a run lasts from the pass that decided on it, and has the
CPUs of its nodes that Slurm dealt; what Slurm started by itself is started. So what is Slurm's doing is the same in
both, and what is left to differ are the decisions.

One that differs has others follow. So each pass is asked a second time by itself, in the state that the session had
(:class:`~emulator.live.led.Given`), and of each decision that differs the cause is told.
"""

from __future__ import annotations

import math
import os
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

from emulator.accounting.records import Records
from emulator.accounting.runfolder import read_run
from emulator.config.options import Config
from emulator.config.sacctmgr.database import Accounts
from emulator.config.slurm.model import SlurmConf
from emulator.engine.controller import Controller
from emulator.live.causes import Asked, Causes
from emulator.live.dealt import Dealer, Dealt
from emulator.live.led import Given, Led, Script
from emulator.live.order import Looks, in_slurms_order
from emulator.live.pairs import NEAR, Pair, Start, pairs_of, told
from emulator.replay.emulate import Action, emulate
from emulator.workload.live import read_live
from emulator.workload.sitelog import LoggedRun, SiteLog
from slurm_sim_plugins.errors import InputError
from slurm_sim_plugins.manager import Catalogue


@dataclass(frozen=True)
class Again:
    """A session beside its emulation.

    Attributes:
        pairs: runs in the order of their live starts; then those that were only emulated. Runs that Slurm started by
            itself are none of them.
        delays: seconds from each decision to the start that Slurm wrote down.
        slurms: jobs that Slurm started before they could be held.
        dealt: runs that Slurm gave other CPUs of their nodes than were decided on; the emulation goes on with these.
        moved: runs that Slurm started on other nodes; the same.
        held_back: jobs that had to make room when Slurm had not started them yet: decisions without a run.
        asked: each pass by itself.
        causes: why a pair differs, by its place in ``pairs``.
        in_vain: jobs that were released, and that Slurm did not start before they were given up.
        not_given: jobs that Slurm started by itself, and that the emulation could not start then.
    """

    pairs: tuple[Pair, ...]
    delays: tuple[float, ...]
    slurms: tuple[str, ...]
    dealt: tuple[Dealt, ...] = ()
    moved: tuple[Dealt, ...] = ()
    held_back: tuple[str, ...] = ()
    asked: Asked = field(default_factory=Asked)
    causes: Mapping[int, str] = field(default_factory=dict)
    in_vain: tuple[str, ...] = ()
    not_given: tuple[str, ...] = ()

    @property
    def turned(self) -> tuple[int, int]:
        """Pairs of runs whose order is another one, and how many pairs there are."""
        both = [(p.live.at, p.emulated.at) for p in self.pairs if p.live is not None and p.emulated is not None]
        turned = sum((a[0] - b[0]) * (a[1] - b[1]) < 0 for a, b in combinations(both, 2))
        return turned, len(both) * (len(both) - 1) // 2

    def data(self) -> dict[str, Any]:
        """As plain data."""
        turned, pairs = self.turned
        return {
            "runs": len(self.pairs),
            "same": sum(pair.same for pair in self.pairs),
            "within": {"seconds": NEAR, "runs": sum(pair.near for pair in self.pairs)},
            "same_nodes": sum(bool(p.live and p.emulated and p.live.nodes == p.emulated.nodes) for p in self.pairs),
            "order_turned": {"turned": turned, "of": pairs},
            "preempted": {
                "live": sum(bool(pair.live and pair.live.preempted) for pair in self.pairs),
                "both": sum(bool(p.live and p.live.preempted and p.same_outcome) for p in self.pairs),
            },
            "delay": {"median": median(self.delays), "longest": max(self.delays)} if self.delays else None,
            "dealt_otherwise": [dealt.job for dealt in self.dealt],
            "moved": [moved.job for moved in self.moved],
            "held_back": list(self.held_back),
            "started_by_slurm": list(self.slurms),
            "in_vain": list(self.in_vain),
            "each_by_itself": {"same": self.asked.same, "otherwise": [str(one) for one in self.asked.otherwise]},
            "not_given": list(self.not_given),
            "causes": {told(self.pairs[place]): cause for place, cause in self.causes.items()},
        }

    def lines(self, most: int = 20) -> Iterator[str]:
        """In words, with so many of the runs that differ."""
        data = self.data()
        turned = data["order_turned"]
        yield (
            f"{data['same']} of {data['runs']} runs are the same: nodes, outcome, "
            f"and the second of the decision within {NEAR:g} s"
        )
        yield f"{data['within']['runs']} within {NEAR:g} s, {data['same_nodes']} on the same nodes"
        yield f"{turned['turned']} of {turned['of']} pairs of runs began in another order"
        if data["preempted"]["live"]:
            yield f"{data['preempted']['both']} of {data['preempted']['live']} victims are the same"
        if self.delays:
            usual, longest = median(self.delays), max(self.delays)
            yield f"from a decision to the start: {usual:.1f} s in the median, {longest:.1f} s at most"
        yield from self._slurms_doing()
        other = [(place, pair) for place, pair in enumerate(self.pairs) if not pair.same]
        for place, pair in other[:most]:
            yield f"  {told(pair)}"
            yield f"    {self.causes[place]}"
        if len(other) > most:
            yield f"  and {len(other) - most} more"
        yield from self.asked.lines(most)

    def _slurms_doing(self) -> Iterator[str]:
        """What was Slurm's doing, and no decision."""
        if self.slurms:
            yield f"started by Slurm before they could be held, also in the emulation: {', '.join(self.slurms)}"
        if self.not_given:
            yield f"of these not in the emulation, which has others on their nodes: {', '.join(self.not_given)}"
        if self.held_back:
            yield f"held back before Slurm had started them: {', '.join(self.held_back)}"
        for first in self.dealt[:1]:
            yield (
                f"{len(self.dealt)} got other CPUs of the same nodes from Slurm, and have these in the emulation, too; "
                f"the first, {first.job} at {first.at:.1f} s, {first.given} of {first.nodes} instead of {first.decided}"
            )
        for first in self.moved[:1]:
            yield (
                f"{len(self.moved)} were started by Slurm on other nodes than they were released for, and are there in "
                f"the emulation, too; the first, {first.job} at {first.at:.1f} s, on {first.given} instead of "
                f"{first.decided}"
            )
        if self.in_vain:
            yield f"released, and not started by Slurm before they were given up: {', '.join(self.in_vain)}"


def again(
    record: str | os.PathLike[str],
    conf: SlurmConf,
    config: Config,
    catalogue: Catalogue,
    accounts: Accounts | None = None,
    malformed: str = "error",
) -> Again:
    """Run a record again under the plugins that were used.

    Args:
        record: of a session with ``--apply`` and a scheduler.
        conf: of the cluster.
        config: slots and options of plugins; its clock is the ideal one.
        catalogue: plugins that were found.
        accounts: associations and qualities of service, or None.
        malformed: ``error`` or ``drop``.

    Raises:
        InputError: the record cannot be read, or is not of such a session.
        ConfigurationError, PluginError: as :func:`emulator.simulate`.
    """
    log, happened = read_live(record, malformed=malformed, seen=True), read_live(record, malformed=malformed)
    delays, slurms = _delays(log, happened)
    if not delays:
        raise InputError(f"{log.file}: no start in it was decided by a plugin; record a session with --apply")
    # Slurm ended each run when it did: what was seen of that is its length.
    parts = tuple(replace(part, over_time_limit=math.inf) for part in conf.partitions)
    plugins = {"config": config, "catalogue": catalogue, "accounts": accounts}
    emulation = partial(_emulation, log, happened, replace(conf, partitions=parts), plugins)
    led, dealer, emulated = emulation(Led)
    given, _, _ = emulation(Given)
    pairs = pairs_of(_live(log), emulated)
    asked = Asked(given.same, tuple(given.otherwise), tuple(given.lost))
    in_vain = {(job.label, run.start): run.state for job in log.jobs for run in job.happened.not_started}
    return Again(
        pairs,
        tuple(delays),
        tuple(slurms),
        tuple(dealer.dealt),
        tuple(dealer.moved),
        tuple(_held_back(log)),
        asked,
        Causes(asked.otherwise, in_vain, given.states, led.states).of(pairs),
        tuple(job for job, _ in in_vain),
        tuple(led.refused),
    )


Scheduler = TypeVar("Scheduler", bound=Led)


def _emulation(
    log: SiteLog, happened: SiteLog, conf: SlurmConf, plugins: Mapping[str, Any], kind: type[Scheduler]
) -> tuple[Scheduler, Dealer, dict[str, list[Start]]]:
    """An emulation of the record, led by such a scheduler; what it came to."""
    dealer, end, looks = Dealer(), _end(log), Looks.of(log)
    script, led = Script.of(log, looks), list[Scheduler]()
    begin: Action = (looks.seconds[0], lambda controller: led.append(kind(controller, script, dealer)))
    actions = [begin, *dealer.actions(log), *((at, _pass) for at in looks.seconds)]
    with tempfile.TemporaryDirectory() as folder:
        # Only on the disk do records hold nodes.
        out = Path(folder) / "run"
        emulate(_ending(in_slurms_order(log, happened), end), conf, out=out, actions=actions, **plugins)
        return led[0], dealer, _emulated(log, read_run(out).records, dealer, end)


def _end(log: SiteLog) -> float:
    """The last second of which a record says something."""
    runs = [run for job in log.jobs for run in job.happened.runs]
    times = [run.start if run.end is None else run.end for run in runs]
    return max(*times, *(job.request.noticed for job in log.jobs), *(job.cancel_at or 0.0 for job in log.jobs))


def _ending(log: SiteLog, end: float) -> SiteLog:
    """The log in which jobs that were not over at its end do not go on for much longer."""
    work = max(end, 1.0)
    jobs = [replace(job, request=replace(job.request, run=min(job.request.run, work))) for job in log.jobs]
    return replace(log, jobs=tuple(jobs))


def _held_back(log: SiteLog) -> Iterator[str]:
    for job in log.jobs:
        for run in job.happened.runs:
            if run.seen is None:
                yield job.label


def _pass(controller: Controller) -> None:
    controller.passes.moved()
    controller.passes.request(controller.cluster.now)


def _delays(log: SiteLog, happened: SiteLog) -> tuple[list[float], list[str]]:
    """Seconds from decisions to starts; and the jobs that Slurm started by itself."""
    delays, slurms = [], []
    started = {job.label: job.happened.runs for job in happened.jobs}
    for job in log.jobs:
        begun = [run for run in job.happened.runs if run.seen is not None]
        for seen, real in zip(begun, started[job.label], strict=True):
            if seen.decided:
                delays.append(real.start - seen.start)
            else:
                slurms.append(job.label)
    return delays, slurms


def _live(log: SiteLog) -> dict[str, list[Start]]:
    return {job.label: [_start(job.label, run) for run in job.happened.runs] for job in log.jobs}


def _start(label: str, run: LoggedRun) -> Start:
    return Start(label, run.start, run.decided_nodes, run.state == "REQUEUED", run.decided)


def _emulated(log: SiteLog, records: Records, dealer: Dealer, end: float) -> dict[str, list[Start]]:
    """The runs of the emulation as they were decided on: those that were not changed afterwards, as they are."""
    labels = {job.request.id: job.label for job in log.jobs}
    found: dict[str, list[Start]] = defaultdict(list)
    runs: Counter[int] = Counter()
    columns = (records.runs[name].tolist() for name in ("job_id", "start", "nodes", "outcome"))
    for job, start, nodes, outcome in sorted(zip(*columns, strict=True)):
        place = job, runs[job]
        at, nodes = dealer.decided.get(place, start), dealer.decided_nodes.get(place, nodes)
        runs[job] += 1
        if at <= end:
            found[labels[job]].append(Start(labels[job], at, nodes, outcome == "PREEMPTED"))
    return found
