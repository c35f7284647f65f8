"""A session with ``--apply`` again in the emulator, with the delays that it had: does the plugin decide the same?

The jobs come, and leave their nodes, when the session saw it; a run lasts from the pass that decided on it, and has the
CPUs of its nodes that Slurm dealt. So what is Slurm's doing is the same in both, and what is left to differ are the
decisions.
"""

from __future__ import annotations

import math
import os
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from statistics import median
from typing import Any

from emulator.accounting.records import Records
from emulator.accounting.runfolder import read_run
from emulator.config.options import Config
from emulator.config.sacctmgr.database import Accounts
from emulator.config.slurm.model import SlurmConf
from emulator.engine.controller import Controller
from emulator.live.dealt import Dealer, Dealt
from emulator.replay.emulate import emulate
from emulator.workload.live import read_live
from emulator.workload.sitelog import LoggedRun, SiteLog
from slurm_sim_plugins.errors import InputError
from slurm_sim_plugins.manager import Catalogue

NEAR = 2.0
"""Seconds within which two starts are called the same: a look may fall on the other side of an end."""


@dataclass(frozen=True, slots=True)
class Start:
    """A run of a job; ``at`` is the second of the decision, ``preempted`` whether it made room for another job."""

    job: str
    at: float
    nodes: str
    preempted: bool


@dataclass(frozen=True, slots=True)
class Pair:
    """What was decided on a run of a job, live and emulated; None where there is no such run."""

    live: Start | None
    emulated: Start | None

    @property
    def same(self) -> bool:
        """Whether it is the same start: nodes, outcome, and seconds."""
        one, other = self.live, self.emulated
        return one is not None and other is not None and self.near and one.nodes == other.nodes and self.same_outcome

    @property
    def near(self) -> bool:
        """Whether there are both, within :data:`NEAR`."""
        return self.live is not None and self.emulated is not None and abs(self.apart) <= NEAR

    @property
    def same_outcome(self) -> bool:
        """Whether both, or none, made room for another job."""
        return self.live is not None and self.emulated is not None and self.live.preempted == self.emulated.preempted

    @property
    def apart(self) -> float:
        """Seconds by which the emulated start is later; NaN unless there are both."""
        return math.nan if self.live is None or self.emulated is None else self.emulated.at - self.live.at


@dataclass(frozen=True)
class Again:
    """A session beside its emulation.

    Attributes:
        pairs: runs in the order of their live starts; then those that were only emulated.
        delays: seconds from each decision to the start that Slurm wrote down.
        slurms: jobs that Slurm started before they could be held.
        dealt: runs that Slurm gave other CPUs of their nodes than were decided on; the emulation goes on with these.
        held_back: jobs that had to make room when Slurm had not started them yet: decisions without a run.
    """

    pairs: tuple[Pair, ...]
    delays: tuple[float, ...]
    slurms: tuple[str, ...]
    dealt: tuple[Dealt, ...] = ()
    held_back: tuple[str, ...] = ()

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
            "held_back": list(self.held_back),
            "started_by_slurm": list(self.slurms),
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
        if self.slurms:
            yield f"started by Slurm before they could be held: {', '.join(self.slurms)}"
        if self.held_back:
            yield f"held back before Slurm had started them: {', '.join(self.held_back)}"
        for first in self.dealt[:1]:
            yield (
                f"{len(self.dealt)} got other CPUs of the same nodes from Slurm, and have these in the emulation, too; "
                f"the first, {first.job} at {first.at:.1f} s, {first.given} of {first.nodes} instead of {first.decided}"
            )
        other = [pair for pair in self.pairs if not pair.same]
        for pair in other[:most]:
            yield f"  {_told(pair)}"
        if len(other) > most:
            yield f"  and {len(other) - most} more"


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
    free = replace(conf, partitions=parts)
    with tempfile.TemporaryDirectory() as folder:
        # Only on the disk do records hold nodes.
        out = Path(folder) / "run"
        dealer, end = Dealer(), _end(log)
        actions = [*dealer.actions(log), *((at, _pass) for at in sorted(_decided(log)))]
        emulate(
            _ending(log, end), free, out=out, actions=actions, config=config, catalogue=catalogue, accounts=accounts
        )
        emulated = _emulated(log, read_run(out).records, dealer.decided, end)
    pairs = _pairs(_live(log), emulated)
    return Again(pairs, tuple(delays), tuple(slurms), tuple(dealer.dealt), tuple(_held_back(log)))


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


def _decided(log: SiteLog) -> set[float]:
    """When passes decided something, also where nothing else had happened since the one before."""
    return {run.start for job in log.jobs for run in job.happened.runs if run.decided}


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
    return Start(label, run.start, run.nodes, run.state == "REQUEUED")


def _emulated(
    log: SiteLog, records: Records, decided: Mapping[tuple[int, int], float], end: float
) -> dict[str, list[Start]]:
    """The runs of the emulation by the second of the decision on them, which is their start where none is given."""
    labels = {job.request.id: job.label for job in log.jobs}
    found: dict[str, list[Start]] = defaultdict(list)
    runs: Counter[int] = Counter()
    columns = (records.runs[name].tolist() for name in ("job_id", "start", "nodes", "outcome"))
    for job, start, nodes, outcome in sorted(zip(*columns, strict=True)):
        at = decided.get((job, runs[job]), start)
        runs[job] += 1
        if at <= end:
            found[labels[job]].append(Start(labels[job], at, nodes, outcome == "PREEMPTED"))
    return found


def _pairs(live: Mapping[str, list[Start]], emulated: Mapping[str, list[Start]]) -> tuple[Pair, ...]:
    pairs = []
    for job in live.keys() | emulated.keys():
        ours, theirs = live.get(job, []), emulated.get(job, [])
        for index in range(max(len(ours), len(theirs))):
            one = ours[index] if index < len(ours) else None
            pairs.append(Pair(one, theirs[index] if index < len(theirs) else None))
    return tuple(sorted(pairs, key=_place))


def _place(pair: Pair) -> tuple[bool, float, str]:
    start = pair.live or pair.emulated
    assert start is not None
    return pair.live is None, start.at, start.job


def _told(pair: Pair) -> str:
    one, other = pair.live, pair.emulated
    if one is None or other is None:
        start = one or other
        assert start is not None
        return f"{start.job}: only {'live' if one else 'emulated'}, at {start.at:.1f} s on {start.nodes}"
    outcome = "" if pair.same_outcome else f", made room for another only {'live' if one.preempted else 'emulated'}"
    return f"{one.job}: live at {one.at:.1f} s on {one.nodes}, emulated at {other.at:.1f} s on {other.nodes}{outcome}"
