"""Decisions become commands of ``scontrol``: one batch a pass, and only for jobs with the marks.

A scheduler's jobs are held, and released for the nodes on which they are to start. What is released and does not run is
held again. All that is changed stands in the ledger before, so that it can be undone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from emulator.live.ledger import MINUTE, Ledger, minutes_of
from emulator.live.marks import Marks
from emulator.live.mirror import Change, Followed, Mirror, Own
from emulator.live.record import Done
from emulator.live.sight import Sight
from emulator.live.slurm import Hand, NoAnswerError
from emulator.live.trial import Decided, Start, Trial, Victim
from emulator.state.job import Job
from emulator.state.run import State

LARGEST = 2_147_483_645
"""The largest number that a SiteFactor may be."""
RAISED = 1 << 30
"""What is added to the numbers of a plugin that are not positive."""
BEFORE_THE_END = 120.0
"""Seconds before a shortened limit at which a run gets its own limit back."""


@dataclass(frozen=True, slots=True)
class Ways:
    """How decisions are carried out.

    Attributes:
        numbers: ``Priority`` or ``SiteFactor``: what a priority plugin's numbers are written to.
        walltime: ``TimeMin`` or ``TimeLimit``: what planned times are written to.
        patience: seconds in which a job that was released has to run.
        take_held: whether jobs that are on hold when they are seen first are the scheduler's, too.
    """

    numbers: str = "SiteFactor"
    walltime: str = "TimeMin"
    patience: float = 15.0
    take_held: bool = False


@dataclass(slots=True)
class _Released:
    start: Start
    at: float


@dataclass(slots=True)
class Hands:
    """Carries decisions out.

    Attributes:
        hand: gives commands.
        ledger: what was changed.
        marks: which jobs may be touched.
        ways: how.
    """

    hand: Hand
    ledger: Ledger
    marks: Marks
    ways: Ways
    _released: dict[str, _Released] = field(default_factory=dict)
    _leaving: dict[str, float] = field(default_factory=dict)
    _rests: dict[str, tuple[float, float]] = field(default_factory=dict)
    _free: set[str] = field(default_factory=set)
    _confirmed: set[str] = field(default_factory=set)
    _held_back: set[str] = field(default_factory=set)
    _minutes: dict[str, int] = field(default_factory=dict)
    _commands: list[tuple[str, str]] = field(default_factory=list)
    _said: list[Done] = field(default_factory=list)
    _schedules: bool = False
    _once: set[str] = field(default_factory=set)

    def own(self, decides: frozenset[str]) -> Own:
        """What of the state of jobs is not Slurm's or the user's, under plugins that decide this."""
        jobs = self.ledger.jobs.items()
        required = {label: entry.required for label, entry in jobs if entry.held or entry.released}
        limits = {label: entry.limit for label, entry in jobs if entry.limit is not None}
        return Own(required, limits, "start" in decides and self.ways.take_held)

    @property
    def busy(self) -> bool:
        """Whether Slurm has yet to do what it was told."""
        return bool(self._released or self._leaving)

    def under_way(self, mirror: Mirror, changes: Sequence[Change]) -> tuple[Sequence[Start], Sequence[Job]]:
        """Starts that Slurm was told of and has not made yet, and runs that it was told to preempt."""
        now = mirror.controller.cluster.now
        for change in changes:
            self._see(change, mirror)
        for label, released in list(self._released.items()):
            known = mirror.followed.get(label)
            if known is None or known.job.run is not None:
                del self._released[label]
            elif now - released.at > self.ways.patience:
                self._hold_again(label, known, now)
        for label, since in list(self._leaving.items()):
            known = mirror.followed.get(label)
            if known is None or known.job.state not in (State.RUNNING, State.COMPLETING) or now - since > MINUTE:
                del self._leaving[label]
        for label in list(self.ledger.jobs):
            if label not in mirror.followed:
                del self.ledger.jobs[label]
        leaving = [mirror.followed[label].job for label in self._leaving]
        return [released.start for released in self._released.values()], leaving

    def carry_out(self, decided: Decided, mirror: Mirror, trial: Trial, decides: frozenset[str]) -> Iterable[Done]:
        """Have Slurm do what was decided; each thing that was done or is to be said."""
        self._schedules = "start" in decides
        labels = {known.job.id: label for label, known in mirror.followed.items()}
        if "preempt" in decides:
            for victim in decided.victims:
                self._preempt(victim, labels, mirror)
        if self._schedules:
            starts = {labels[start.job.id]: start for start in decided.starts}
            self._hold(mirror, starts)
            for label, start in starts.items():
                self._start(label, mirror.followed[label], start, trial.nodes(start), mirror)
        if "preempt" in decides:
            self._resume(mirror, decided.starts)
        self._write_numbers(decided, mirror, decides)
        self._give()
        said, self._said = self._said, []
        return said

    def _write_numbers(self, decided: Decided, mirror: Mirror, decides: frozenset[str]) -> None:
        """Priorities, site factors and planned times."""
        if "priority" in decides:
            self._number(decided.numbers, mirror)
        if "site factor" in decides:
            for label, known in self._waiting(mirror):
                if known.job.id in decided.sites:
                    self._site(label, decided.sites[known.job.id])
        if "walltime" in decides:
            self._plan(decided.planned, mirror)

    # What was seen

    def _see(self, change: Change, mirror: Mirror) -> None:
        """Slurm did something to a job that was touched."""
        label, entry = change.job, self.ledger.jobs.get(change.job)
        known = mirror.followed.get(label)
        if change.kind == "started":
            released = self._released.pop(label, None)
            if released is not None:
                nodes = f" on {change.nodes}" if entry is None or entry.released == change.nodes else ""
                other = "" if nodes else f" on {change.nodes} instead of {entry.released if entry else ''}"
                self._say("runs", f"{label} runs{nodes or other}, {change.at - released.at:.1f} s after its release")
            elif self._schedules and known is not None and self.marks.fit(known.sight) and label not in self._free:
                self._say("runs", f"{label} was started on {change.nodes} before it could be held, or by someone else")
            if entry is not None:
                # It may be requeued, and has to have its own list of nodes back then.
                entry.held, entry.released = False, ""
            self._rests.pop(label, None)
        elif change.kind == "requeued" and entry is not None and known is not None:
            entry.leaving = False
            if known.sight.required != entry.required:
                self._command(label, f"update JobId={label} {entry.nodes}")

    def _hold_again(self, label: str, known: Followed, now: float) -> None:
        """What was released and does not run is held, for longer each time."""
        pause = 2 * self._rests.get(label, (0.0, self.ways.patience / 2))[1]
        self._rests[label] = (now + pause, pause)
        self._hold_back(label)
        self._say(
            "held again", f"{label} was released and does not run ({known.sight.reason}): it is held again", job=label
        )

    def _hold_back(self, label: str) -> None:
        """A job that was released is not to start any more."""
        del self._released[label]
        self._held_back.add(label)
        entry = self.ledger.of(label)
        entry.held, entry.released = True, ""
        self._command(label, f"hold {label}")
        self._command(label, f"update JobId={label} {entry.nodes}")

    # Starts

    def _waiting(self, mirror: Mirror) -> Iterator[tuple[str, Followed]]:
        """Jobs with the marks that wait."""
        for label, known in mirror.followed.items():
            if known.sight.waits and known.job.run is None and self.marks.fit(known.sight):
                yield label, known

    def _hold(self, mirror: Mirror, starts: Mapping[str, Start]) -> None:
        """Hold what is new, but for what is to start now; what others released is theirs."""
        new = []
        for label, known in self._waiting(mirror):
            sight, entry = known.sight, self.ledger.jobs.get(label)
            if entry is not None and entry.held:
                if sight.held:
                    self._confirmed.add(label)
                elif label in self._confirmed:
                    self._leave(label)
                if sight.held or label in self._free or label in self._held_back:
                    continue
            elif (entry is not None and entry.released) or label in self._free or not self._may_take(sight):
                continue
            else:
                self._take(label, sight)
            if label not in starts and not sight.held:
                new.append(label)
        for first in range(0, len(new), 100):
            some = ",".join(new[first : first + 100])
            self._command(some, f"hold {some}")
        if new:
            self._say("held", f"{len(new)} jobs are held: {', '.join(new[:10])}{' ...' if len(new) > 10 else ''}")

    def _may_take(self, sight: Sight) -> bool:
        """Whether a job is not on hold, or may be taken from it."""
        return not sight.held or self.ways.take_held

    def _leave(self, label: str) -> None:
        """Someone else released a job."""
        del self.ledger.jobs[label]
        self._free.add(label)
        self._say("given up", f"{label} was released by someone else: it is left to Slurm")

    def _take(self, label: str, sight: Sight) -> None:
        entry = self.ledger.of(label)
        entry.held, entry.priority = True, sight.priority
        if not entry.required:
            entry.required = sight.required

    def _start(self, label: str, known: Followed, start: Start, nodes: str, mirror: Mirror) -> None:
        now = mirror.controller.cluster.now
        entry = self.ledger.jobs.get(label)
        if entry is None or not entry.held or self._rests.get(label, (0.0, 0.0))[0] > now:
            return
        entry.held, entry.released = False, nodes
        self._confirmed.discard(label)
        self._released[label] = _Released(start, now)
        count, (fewest, most) = len(start.allocation.nodes), _size(known.job)
        if fewest < most:
            # Of the nodes of a list Slurm takes as many as it needs, from 24.11 on.
            entry.size = f"{fewest}-{most}"
        bound = f" NumNodes={count}-{count}" if entry.size else ""
        self._command(label, f"update JobId={label} ReqNodeList={nodes}{bound}")
        if known.sight.held:
            # A job that was just submitted is not held first: for up to ten seconds Slurm would not release it.
            self._command(label, f"release {label}")
        if known.job.restarts:
            # Slurm lets a job that was requeued wait for two minutes.
            self._command(label, f"update JobId={label} StartTime=now")
        why = f": {start.reason}" if start.reason else ""
        self._say("released", f"{label} is released for {nodes}{why}", job=label, nodes=nodes)

    # Preemption

    def _preempt(self, victim: Victim, labels: Mapping[int, str], mirror: Mirror) -> None:
        label, other = labels[victim.job.id], labels[victim.preemptor.id]
        about = {"job": label, "for": other, "mode": victim.mode}
        if label in self._leaving:
            return
        if label in self._released:
            # Slurm has not started it yet, so that there is no run to be requeued.
            self._hold_back(label)
            self._say("held again", f"{label} is held again, for {other}", **about)
            return
        if not self.marks.fit(mirror.followed[label].sight):
            self._say_once(f"{label} is not preempted: it has none of the marks")
        elif victim.mode == "REQUEUE":
            # The scheduler's jobs wait on hold; the others as Slurm lets them.
            self._leaving[label] = mirror.controller.cluster.now
            entry = self.ledger.of(label)
            entry.held = entry.leaving = self._schedules
            self._command(label, f"{'requeuehold' if self._schedules else 'requeue'} {label}")
            self._say("preempted", f"{label} is requeued for {other}", **about)
        elif victim.mode == "SUSPEND":
            self._leaving[label] = mirror.controller.cluster.now
            self.ledger.of(label).suspended = True
            self._command(label, f"suspend {label}")
            self._say("preempted", f"{label} is suspended for {other}", **about)
        else:
            self._say_once(
                f"{label} is not preempted: of PreemptMode, REQUEUE and SUSPEND are carried out, not {victim.mode}"
            )

    def _resume(self, mirror: Mirror, starts: Sequence[Start]) -> None:
        """Suspended runs go on when all that they have is free again, and no job is to start there."""
        free = mirror.controller.cluster.free.copy()
        for start in (
            *starts,
            *(released.start for released in self._released.values() if released.start not in starts),
        ):
            free.take(start.allocation)
        for label, entry in self.ledger.jobs.items():
            job = mirror.followed[label].job
            if not entry.suspended or job.state is not State.SUSPENDED or job.run is None:
                continue
            has = job.run.allocation
            if bool((free.units[has.where] >= list(has.units)).all()):
                entry.suspended = False
                self._command(label, f"resume {label}")
                self._say("goes on", f"{label} goes on")

    # Numbers

    def _number(self, numbers: Mapping[int, float], mirror: Mirror) -> None:
        """Write the numbers of a priority plugin, where Slurm's differ."""
        waiting = [(label, known) for label, known in self._waiting(mirror) if not known.sight.held]
        whole = whole_numbers({known.job.id: numbers[known.job.id] for _, known in waiting if known.job.id in numbers})
        by_value: dict[int, list[str]] = {}
        for label, known in waiting:
            wanted, now = whole.get(known.job.id), known.sight.priority
            if wanted is None or wanted == now:
                continue
            if self.ways.numbers == "SiteFactor":
                entry = self.ledger.of(label)
                self._site(label, (entry.site or 0) + wanted - now)
                continue
            entry = self.ledger.of(label)
            if not entry.numbered:
                entry.priority, entry.numbered = now, True
            by_value.setdefault(wanted, []).append(label)
        for value, labels in by_value.items():
            self._command(",".join(labels), f"update JobId={','.join(labels)} Priority={value}")
            self._say("numbered", f"{', '.join(labels)}: Priority {value}")

    def _site(self, label: str, value: int) -> None:
        entry, value = self.ledger.of(label), max(-LARGEST, min(value, LARGEST))
        if entry.site != value:
            entry.site = value
            self._command(label, f"update JobId={label} SiteFactor={value}")
            self._say("numbered", f"{label}: SiteFactor {value}")

    # Planned times

    def _plan(self, planned: Mapping[int, float], mirror: Mirror) -> None:
        """Write planned times to jobs that wait; runs get their own limit back."""
        key = self.ways.walltime
        for label, known in self._waiting(mirror):
            seconds = planned.get(known.job.id)
            if seconds is None or seconds >= known.job.limit:
                continue
            minutes = max(1, math.ceil(seconds / MINUTE))
            entry = self.ledger.of(label)
            if entry.limit is None:
                entry.limit, entry.time_min = known.sight.limit, known.asked.options.time_min or 0.0
                written = 0
            else:
                written = self._minutes.get(label, 0)
            if minutes != written and minutes * MINUTE < entry.limit:
                self._minutes[label] = minutes
                self._command(label, f"update JobId={label} {key}={minutes}")
                self._say("planned", f"{label}: {key} of {minutes} min")
        now = mirror.controller.cluster.now
        for label, entry in self.ledger.jobs.items():
            known = mirror.followed[label]
            run = known.job.run
            if run is None or entry.limit is None or known.sight.limit >= entry.limit:
                continue
            if key == "TimeMin" or now >= run.start + known.sight.limit - BEFORE_THE_END:
                self._command(label, f"update JobId={label} TimeLimit={minutes_of(entry.limit)}")
                self._say("planned", f"{label} has its own limit again")

    # Commands

    def _command(self, label: str, command: str) -> None:
        self._commands.append((label, command))

    def _give(self) -> None:
        """Give the commands of this pass; the ledger is written first."""
        commands, self._commands = self._commands, []
        self._held_back.clear()
        if not commands:
            return
        self.ledger.save()
        try:
            answers = self.hand.write([command for _, command in commands])
        except NoAnswerError as error:
            self._say("told", f"{error}; whether Slurm has taken {len(commands)} commands, the next look shows")
            return
        for (_, command), answer in zip(commands, answers, strict=True):
            if answer:
                self._say("told", f"Slurm answers {answer!r} to {command!r}")
        self.ledger.save()

    def _say(self, event: str, words: str, **about: str) -> None:
        self._said.append(Done(event, words, about))

    def _say_once(self, words: str) -> None:
        if words not in self._once:
            self._once.add(words)
            self._say("told", words)


def _size(job: Job) -> tuple[int, int]:
    """How many nodes a job asks for, at least and at most; the same where Slurm shows one number."""
    fewest = job.options.min_nodes or 1
    return fewest, max(job.options.max_nodes or fewest, fewest)


def whole_numbers(numbers: Mapping[int, float]) -> dict[int, int]:
    """Priorities that Slurm takes, in the same order: the numbers themselves where they are whole and positive.

    Others are raised by a constant if that keeps them apart, else they become ranks.

    Args:
        numbers: of jobs by id.
    """
    values = sorted(set(numbers.values()))
    for raised in (0, RAISED):
        whole = {value: math.floor(value + raised + 0.5) for value in values}
        exact = raised or all(whole[value] == value for value in values)
        if exact and all(0 < each <= LARGEST for each in whole.values()) and len(set(whole.values())) == len(values):
            break
    else:
        whole = {value: rank for rank, value in enumerate(values, RAISED)}
    return {job: whole[value] for job, value in numbers.items()}
