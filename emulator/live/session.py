"""A plugin beside a running slurmctld: look, follow, ask, and say; again and again, until it is ended."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from emulator.config.options import Config
from emulator.config.slurm.model import SlurmConf
from emulator.engine.controller import Controller
from emulator.hooks import FAILURES
from emulator.hookwatch import watching
from emulator.live.hooks import check_live
from emulator.live.marks import Marks
from emulator.live.mirror import Change, Mirror, Own
from emulator.live.record import Done, Record
from emulator.live.slurm import About, Look, NoAnswerError, Slurm
from emulator.live.trial import Decided, Start, Trial
from emulator.live.wishes import Wish, Wishes
from emulator.slots import plugins_for
from emulator.state.job import Job
from slurm_sim_plugins.manager import Catalogue, names_in
from slurm_sim_plugins.views import View

if TYPE_CHECKING:
    from emulator.config.sacctmgr.database import Accounts

WHOLE_LOOK = 30.0
"""Seconds after which the controller is asked for its clock and version again, at the latest."""
TICK = 0.05
"""Seconds between two looks whether the file of events has grown."""
SOON = 0.3
"""Seconds until the next look while Slurm has yet to do what it was told, or jobs are leaving their nodes."""
TRIED = ("22.05", "24.11", "26.05")
"""The versions of Slurm of which the commands were read."""
SLOW = 5.0
"""Seconds that a look takes at most unnoticed: Slurm's commands wait a while for a controller that does not answer."""
SKEW = 2.0
"""Seconds by which clocks may differ unnoticed: the controller's shows whole seconds."""


class Acting(Protocol):
    """Carries decisions out."""

    def own(self, decides: frozenset[str]) -> Own:
        """What of the state of jobs is its doing."""

    @property
    def busy(self) -> bool:
        """Whether Slurm has yet to do what it was told."""

    def under_way(self, mirror: Mirror, changes: Sequence[Change]) -> tuple[Sequence[Start], Sequence[Job]]:
        """Starts that Slurm was told of and has not made yet, and runs that it was told to preempt."""

    def carry_out(self, decided: Decided, mirror: Mirror, trial: Trial, decides: frozenset[str]) -> Iterable[Done]:
        """Have Slurm do what was decided; each thing that was done."""


@dataclass(frozen=True, slots=True)
class Options:
    """How a session goes.

    Attributes:
        marks: which jobs are the plugin's.
        poll: seconds between two looks.
        events: a file that grows when something happens, or None.
        duration: seconds after which it ends; None: it goes on until it is ended.
        seed: of the random numbers that plugins draw.
    """

    marks: Marks
    poll: float = 2.0
    events: Path | None = None
    duration: float | None = None
    seed: int = 0


class Session:
    """A plugin beside a controller.

    Args:
        slurm: the real one.
        conf: its configuration.
        config: slots and options of plugins.
        catalogue: plugins that were found.
        options: how it goes.
        record: where it is written down.
        told: is given each line of what is to be said.
        accounts: associations and qualities of service, or None.
        acting: carries decisions out; None in shadow mode.

    Raises:
        ConfigurationError: a plugin that cannot be used beside a real Slurm.
    """

    def __init__(
        self,
        slurm: Slurm,
        conf: SlurmConf,
        config: Config,
        catalogue: Catalogue,
        options: Options,
        record: Record,
        told: Callable[[str], None],
        accounts: Accounts | None = None,
        acting: Acting | None = None,
    ) -> None:
        self._slurm, self._options, self._record, self._told = slurm, options, record, told
        self._config, self._accounts, self._acting = config, accounts, acting
        self._given = config.slots
        self._conf, _, self.selection = plugins_for(conf, config, catalogue, accounts)
        check_live(self.selection, [*names_in(config.slots), *(info.name for info in catalogue.observers())])
        self.wishes = Wishes()
        self._said: set[str] = set()
        self._away_since: float | None = None
        self._whole_at = float("-inf")
        self._seen_events = self._events()
        self.passes = 0

    @property
    def decides(self) -> frozenset[str]:
        """What the given plugins decide: ``start``, ``preempt``, ``priority``, ``site factor``, ``walltime``."""
        given = self._given
        # A plugin in one of these changes what starts, if only through the emulated loops of Slurm.
        found = {"start"} if given.keys() & {"SchedulerType", "BackfillType", "SelectType"} else set()
        found |= {"preempt"} if given.keys() & {"SchedulerType", "PreemptType"} else set()
        if "start" not in found:
            found |= {"priority"} if "PriorityType" in given else set()
            found |= {"walltime"} if "WalltimeType" in given else set()
            found |= {"site factor"} if given.get("PrioritySiteFactorPlugin") else set()
        return frozenset(found)

    def run(self) -> None:
        """Go on until the duration is over.

        Raises:
            PluginError: a plugin failed.
            ConfigurationError: this user may not write.
            KeyboardInterrupt: it is ended from outside.
        """
        look = self._first_look()
        self._begin(look)
        duration = self._options.duration
        until = float("inf") if duration is None else time.monotonic() + duration
        with watching(self.selection, lambda: self._controller.cluster.now):
            self._tell("run_begun")
            while True:
                try:
                    self._step(look)
                except NoAnswerError as error:
                    self._gone(error)
                if time.monotonic() >= until:
                    break
                self._wait(until, look)
                look = self._look()
            self._tell("run_ended")

    @property
    def now(self) -> float:
        """Seconds since the epoch, by the controller's clock."""
        return self._slurm.now - self._mirror.epoch

    def _begin(self, look: Look) -> None:
        """Make the mirror; its second 0 is the submission of the oldest job."""
        epoch = int(min([look.at, *(sight.submit for sight in look.queue)]))
        kernels = self._config.kernels(max(len(look.queue), len(look.nodes)))
        self._controller = Controller(
            self._conf,
            [],
            selection=self.selection,
            accounts=self._accounts,
            epoch=epoch,
            compiled=kernels,
            clock="ideal",
            seed=self._options.seed,
        )
        own_numbers = "PriorityType" in self._given or (self._acting is not None and "start" in self.decides)
        self._mirror = Mirror(self._controller, epoch, self._options.marks, not own_numbers, self.say)
        self._trial = Trial(self._controller, lasting=self._acting is not None)
        about = {"epoch": epoch, "slurm": self._about.version, "cluster": self._about.cluster}
        plugins = {slot: name for slot, name in self._given.items() if name}
        self._record.begin({**about, "mode": "shadow" if self._acting is None else "apply", "plugins": plugins})
        self._told(
            f"{self._about.cluster}, Slurm {self._about.version}: {len(look.queue)} jobs, {len(look.nodes)} nodes; "
            + ("shadow mode: nothing is changed" if self._acting is None else "decisions are carried out")
        )

    # One step

    def _step(self, look: Look) -> None:
        """Follow what was seen, and ask the plugins."""
        acting = self._acting
        changes = self._mirror.follow(look, self._slurm.ask, acting.own(self.decides) if acting is not None else Own())
        for change in changes:
            self._record.change(change, self._mirror.followed.get(change.job), self._controller.cluster.now)
            if self.passes:
                self._compare(change)
        under_way, leaving = acting.under_way(self._mirror, changes) if acting is not None else ((), ())
        decided = self._trial.make_pass(under_way, leaving)
        self.passes += 1
        if acting is not None:
            for done in acting.carry_out(decided, self._mirror, self._trial, self.decides):
                self._record.note(self._controller.cluster.now, done.event, words=done.words, **done.about)
                self._told(f"{self._clock()} {done.words}")
            return
        for is_wish, wish in self.wishes.now(self._wanted(decided)):
            words = wish.words if is_wish else f"no longer {wish.words}"
            event = "would" if is_wish else "would not"
            self._record.note(
                self._controller.cluster.now, event, what=wish.what, job=wish.job, value=wish.value, why=wish.why
            )
            self._told(f"{self._clock()} would {words}")

    def _compare(self, change: Change) -> None:
        known = self._mirror.followed.get(change.job)
        mine = known is not None and self._options.marks.fit(known.sight)
        words = self.wishes.happened(change, mine and "start" in self.decides)
        if words and self._acting is None:
            self._told(f"{self._clock()} {words}")

    def _wanted(self, decided: Decided) -> Iterator[Wish]:
        """The decisions of a pass that are the given plugins' own, in Slurm's words."""
        now, decides = self._controller.cluster.now, self.decides
        labels = {known.job.id: label for label, known in self._mirror.followed.items()}
        if "start" in decides:
            for start in decided.starts:
                yield Wish(now, "start", labels[start.job.id], self._trial.nodes(start), start.reason)
        if "preempt" in decides:
            for victim in decided.victims:
                why = f"for {labels[victim.preemptor.id]}"
                yield Wish(now, "preempt", labels[victim.job.id], victim.mode, why)
        numbers: dict[str, Mapping[int, float]]
        numbers = {"priority": decided.numbers, "site factor": decided.sites, "walltime": decided.planned}
        for what, given in numbers.items():
            if what in decides:
                for number, value in given.items():
                    yield Wish(now, what, labels[number], f"{value:.15g}")

    # Looking, and waiting for it

    def _first_look(self) -> Look:
        self._about = self._ask_about()
        return self._slurm.look()

    def _look(self) -> Look:
        """The next look; where the controller does not answer, it is waited for."""
        while True:
            began = time.monotonic()
            try:
                if began - self._whole_at >= WHOLE_LOOK or self._away_since is not None:
                    self._about = self._ask_about()
                look = self._slurm.look()
            except NoAnswerError as error:
                self._gone(error)
                time.sleep(self._options.poll)
                continue
            if self._away_since is not None:
                self._told(f"the controller answers again, after {time.monotonic() - self._away_since:.0f} s")
                self._away_since = None
            elif (took := time.monotonic() - began) > SLOW:
                self._told(f"{self._clock()} a look took {took:.0f} s: the controller was away, or answers slowly")
            return look

    def _gone(self, error: NoAnswerError) -> None:
        """The controller does not answer, since now or for longer."""
        if self._away_since is None:
            self._away_since = time.monotonic()
            self._told(f"{error}; it is asked again every {self._options.poll:g} s")

    def _ask_about(self) -> About:
        """Version and clock of the controller; what is unusual is said."""
        about = self._slurm.about()
        self._whole_at = time.monotonic()
        if abs(about.ahead) > SKEW:
            self.say(
                f"the controller's clock is {abs(about.ahead):.0f} s {'ahead of' if about.ahead > 0 else 'behind'} "
                "this machine's; times are the controller's"
            )
        self._slurm.ahead = about.ahead if abs(about.ahead) > SKEW else 0.0
        if not about.version.startswith(tuple(f"{version}." for version in TRIED)):
            self.say(f"Slurm {about.version}: what its commands print was tried with {', '.join(TRIED)} only")
        return about

    def _wait(self, until: float, look: Look) -> None:
        """Wait for the next look: until the file of events grows, or the time of polling is over."""
        leaving = any(sight.state == "COMPLETING" for sight in look.queue)
        busy = self._acting is not None and (leaving or self._acting.busy)
        now = time.monotonic()
        at = min(until, now + (min(SOON, self._options.poll) if busy else self._options.poll))
        wakes = [wake - self._controller.cluster.now for wake in self._trial.wakes]
        at = min([at, *(now + max(wake, 0.0) for wake in wakes)])
        while (left := at - time.monotonic()) > 0:
            events = self._events()
            if events != self._seen_events:
                self._seen_events = events
                return
            time.sleep(min(left, TICK) if self._options.events is not None else left)

    def _events(self) -> int:
        """How large the file of events is."""
        path = self._options.events
        try:
            return path.stat().st_size if path is not None else 0
        except OSError:
            return 0

    # Saying

    def say(self, words: str) -> None:
        """Say something, once."""
        if words not in self._said:
            self._said.add(words)
            self._told(words)

    def _clock(self) -> str:
        """The time of the last look, as the controller's clock shows it here."""
        return time.strftime("%H:%M:%S", time.localtime(self._controller.cluster.now + self._mirror.epoch))

    def _tell(self, hook: str) -> None:
        """Tell observers that the session begins or ends."""
        try:
            getattr(self.selection.manager.hook, hook)(view=View(self._controller.policies.cluster_state))
        except FAILURES as error:
            blamed = self.selection.blame(hook, error, time=self._controller.cluster.now)
            if blamed is None or blamed is error:
                raise
            raise blamed from error
