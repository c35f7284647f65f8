"""Play one scheduling pass: each decision is checked and carried out before the next."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from slurm_sim_plugins import answers
from slurm_sim_plugins.answers import Refused
from slurm_sim_plugins.decisions import Decision, MakeRoom, Move, Preempt, Reserve, Start, Wake
from slurm_sim_plugins.errors import ConfigurationError
from slurm_sim_plugins.hookspecs import LOOPS
from slurm_sim_plugins.jobs import Job, Run
from slurm_sim_plugins.main_loop import in_order
from slurm_sim_plugins.places import Places
from slurm_sim_plugins.select.blocks import InBlocks
from slurm_sim_plugins.testing import Cluster, call
from slurm_sim_plugins.testing.calling import as_scene, ask, fresh, implementation, refuse
from slurm_sim_plugins.testing.scene import Scene

if TYPE_CHECKING:
    from emulator.testing.on_nodes import NodeScene

PATIENCE = 10_000
"""Decisions, over two for each job, before a pass counts as stuck; as in the emulator."""


class Played:
    """What a scheduler decided in one pass.

    Attributes:
        decisions: in the order in which they were yielded and carried out.
        after: the situation after the pass; time has not moved.
        started: ids of the jobs that were started, in that order; on a cluster with nodes also those that
            Slurm's main loop started before the backfill of a scheduler that has no loop but that.
        preempted: ids of the jobs that had to give way, in that order.
        refused: ids of the jobs for which room was asked in vain; under Slurm's clock it is there later.
    """

    def __init__(self, after: Scene | NodeScene) -> None:
        self.decisions: list[Decision] = []
        self.after: Any = after
        self.started: list[int] = []
        self.preempted: list[int] = []
        self.refused: list[int] = []

    @property
    def reserved(self) -> dict[int, float]:
        """The last reservation of each job that was given one in this pass, in seconds, by id."""
        reserved = [one for each in self.decisions if isinstance(each, Reserve) for one in each.parts()]
        return {each.job.id: each.time for each in reserved}

    @property
    def woken(self) -> list[float]:
        """Times for which passes were asked, in seconds."""
        return [decision.time for decision in self.decisions if isinstance(decision, Wake)]

    def __len__(self) -> int:
        return len(self.decisions)

    def __iter__(self) -> Iterator[Decision]:
        return iter(self.decisions)

    def __repr__(self) -> str:
        said = ", ".join(map(_in_words, self.decisions)) or "no decisions"
        return f"{said}\n{self.after}"


def play(
    plugin: Any,
    situation: Cluster | Scene | NodeScene,
    *,
    preempt: Any = None,
    backfill: Any = None,
    select: Any = None,
    clock: str | None = None,
) -> Played:
    """Play one pass of a scheduler.

    On a cluster with nodes it is a pass of the emulator itself: of the scheduler's main loop (of Slurm's, if it has
    none), then of its backfill. The other slots hold what the ``slurm.conf`` says, unless a plugin is given.

    Args:
        plugin: the scheduler: an instance, or a class of which one is made.
        situation: where it begins. A description stays what it is; a scene is what it
            is after the pass, so that the next one can be played on it.
        preempt: the plugin that names victims when room is asked for; nobody is
            preempted if there is none.
        backfill: the plugin that orders the candidates; the order of the queue if there
            is none.
        select: the plugin that chooses blocks, where there are some; the first one that is
            free if there is none.
        clock: on a cluster with nodes: ``ideal`` (what is not said), or ``slurm``: then preempted jobs leave later.

    Raises:
        PluginError: a decision or an answer cannot be used; naming file and line.
        ConfigurationError: the situation cannot be, or plugins and clock do not go with it.
    """
    scheduler = fresh(plugin)
    if not (isinstance(situation, Scene) or (isinstance(situation, Cluster) and situation.conf is None)):
        others = {"PreemptType": preempt, "BackfillType": backfill, "SelectType": select}
        return _on_nodes(scheduler, situation, {slot: each for slot, each in others.items() if each is not None}, clock)
    if clock not in (None, "ideal"):
        raise ConfigurationError(f"clock={clock}: where processors are counted there is the ideal clock; give nodes")
    scene = as_scene(situation)
    order = _ordering(fresh(backfill), scene) if backfill is not None else None
    choice = Choice(fresh(select if select is not None else InBlocks), scene)
    played = _Pass(scheduler, fresh(preempt) if preempt is not None else None, scene, choice)
    scene.order_candidates(order)
    scene.choose_blocks(choice.find)
    scene.pass_begins()
    try:
        played.run()
    finally:
        scene.order_candidates(None)
        scene.choose_blocks(None)
    scene.pass_is_over()
    return played.played


def _on_nodes(scheduler: Any, situation: Any, others: dict[str, Any], clock: str | None) -> Played:
    """A pass of the emulator itself."""
    from emulator.testing.on_nodes import NodeScene

    if isinstance(situation, NodeScene):
        scene, known = situation, situation.plugins["SchedulerType"]
        if others or clock not in (None, scene.clock) or scheduler is not known:
            raise ConfigurationError(
                f"the next pass is one of the same plugins, under the same clock: play({type(known).__name__.lower()}, "
                "played.after), with the instance that played the first"
            )
    else:
        plugins = {slot: fresh(each) for slot, each in others.items()}
        scene = NodeScene(situation, {"SchedulerType": scheduler, **plugins}, clock or "ideal")
    played = Played(scene)
    played.started, played.preempted = scene.make_passes()
    played.decisions, played.refused = scene.decisions, scene.refused
    return played


class Choice:
    """The answers of a plugin in the SelectType slot."""

    def __init__(self, plugin: Any, scene: Scene) -> None:
        self._plugin = plugin
        self._scene = scene

    def find(self, job: Job, beside: int | None = None, candidates: Sequence[Run] = ()) -> int | None:
        """A block for a job that is free but for candidates, or None."""
        jobs = [run.job for run in candidates]
        block: int | None = call(self._plugin, "select_nodes", self._scene, job=job, jobs=jobs, beside=beside)
        return block


class _Pass:
    """A pass that is being played."""

    def __init__(self, scheduler: Any, preempt: Any, scene: Scene, choice: Choice) -> None:
        self._choice = choice
        self._scheduler = scheduler
        self._preempt = preempt
        self._scene = scene
        self._decisions: Any = None
        self._hook = ""
        self.played = Played(scene)

    def run(self) -> None:
        """Let the scheduler decide until it is done, in each of its loops."""
        loops = [hook for hook in LOOPS if hasattr(self._scheduler, hook)] or ["schedule"]
        if "schedule" not in loops:
            self._play("schedule", in_order(self._scene.view, preempts=self._preempt is not None))
        for hook in loops:
            self._play(hook, ask(implementation(self._scheduler, hook), {"view": self._scene.view}))

    def _play(self, hook: str, decisions: Any) -> None:
        view = self._scene.view
        self._hook, self._decisions = hook, decisions
        if self._decisions is None:
            return
        if not hasattr(self._decisions, "send"):
            refuse(self._scheduler, hook, answers.no_generator(self._decisions), view.now)
        most = PATIENCE + 2 * len(self._scene.jobs)
        answer: bool | None = None
        while True:
            before = (view.free, view.now, view.head)
            try:
                decision = self._decisions.send(answer)
            except StopIteration as over:
                if over.value is not None:
                    self._refuse(answers.returned(over.value))
                return
            finally:
                if (view.free, view.now, view.head) != before:
                    self._refuse(
                        Refused("wrote to view.free, view.now or view.head; a view is only read, ask with a decision")
                    )
            if len(self.played) >= most:
                self._refuse(
                    Refused(
                        f"the pass makes no progress: {most} decisions and no end; return when there is nothing more "
                        "to start",
                        view.head,
                    )
                )
            try:
                answer = self._carry_out(decision)
            except Refused as refused:
                self._refuse(refused)
            self.played.decisions.append(decision)
            if isinstance(decision, Start):
                self.played.started.append(decision.job.id)

    def _carry_out(self, decision: Decision) -> bool | None:
        scene = self._scene
        tiers, total = scene.view.tiers, scene.view.total
        if isinstance(decision, Start) and tiers is not None:
            where = answers.start_in_tier(decision, scene.state, tiers, total)
            scene.start(decision.job, decision.tier, where, decision.setup)
        elif isinstance(decision, Start) and scene.view.places is not None:
            self._start_on_block(decision)
        elif isinstance(decision, Start):
            scene.start(answers.start(decision, scene.state, scene.view.free))
        elif type(decision) is Move:
            scene.move(decision, answers.move(decision, scene.state, tiers, total)[1])
        elif type(decision) is Preempt:
            job = answers.preempt(decision, scene.state)
            scene.preempt(scene.run_of(job))
            self.played.preempted.append(job.id)
        elif type(decision) is Reserve:
            for one in decision.parts():
                scene.reserve(answers.reserve(one, scene.state, scene.now), one.time)
        elif type(decision) is MakeRoom:
            job = answers.waiting(decision, scene.state)
            return self._fits(job) if decision.where else self._make_room(job)
        elif type(decision) is Wake:
            scene.wake(answers.wake(decision, scene.now))
        else:
            raise answers.no_decision(decision)
        return None

    def _start_on_block(self, decision: Start) -> None:
        scene, job = self._scene, decision.job
        assert scene.view.places is not None, "there are blocks"
        block = answers.start_on_block(decision, scene.state, scene.view.places)
        if block is None:
            block = self._choice.find(job)
        if block is None:
            raise answers.no_block(job)
        scene.start(job, block=block)

    def _make_room(self, job: Job) -> bool:
        scene = self._scene
        if self._fits(job):
            return True
        victims = self._victims(job)
        for run in victims:
            scene.preempt(run)
            self.played.preempted.append(run.job.id)
        if not victims:
            self.played.refused.append(job.id)
        return bool(victims)

    def _fits(self, job: Job) -> bool:
        view = self._scene.view
        return job.processors <= view.free if view.places is None else self._choice.find(job) is not None

    def _victims(self, job: Job) -> list[Run]:
        """The shortest beginning of the candidates that suffices; empty if none does."""
        if self._preempt is None:
            return []
        if (places := self._scene.view.places) is not None:
            return self._on_block(job, places)
        free = self._scene.view.free
        victims = []
        for run in call(self._preempt, "preempt_candidates", self._scene, job=job) or ():
            victims.append(run)
            free += run.processors
            if free >= job.processors:
                return victims
        return []

    def _on_block(self, job: Job, places: Places) -> list[Run]:
        """Those of the candidates that hold anything of a block that the job can have."""
        candidates = list(call(self._preempt, "preempt_candidates", self._scene, job=job) or ())
        block = self._choice.find(job, candidates=candidates) if candidates else None
        held = {run.job for run in places.on(block)} if block is not None else set()
        return [run for run in candidates if run.job in held]

    def _refuse(self, refused: Refused) -> None:
        frame = getattr(self._decisions, "gi_frame", None)
        where = f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame is not None else None
        refuse(self._scheduler, self._hook, refused, self._scene.now, where)


def _ordering(plugin: Any, scene: Scene) -> Callable[[list[Job]], list[Job]]:
    def order(jobs: list[Job]) -> list[Job]:
        answer = call(plugin, "backfill_candidates", scene, jobs=jobs)
        if answer is not None and len(answer) < len(jobs):
            scene._changed = True
        return jobs if answer is None else list(answer)

    return order


def _in_words(decision: Decision) -> str:
    kind = answers.kind_of(decision)
    if isinstance(decision, Reserve) and len(parts := decision.parts()) > 1:
        return ", ".join(map(_in_words, parts))
    if isinstance(decision, Wake):
        return f"{kind} at {decision.time:g}"
    at = f" at {decision.time:g}" if isinstance(decision, Reserve) else ""
    why = f" ({decision.reason})" if decision.reason else ""
    return f"{kind} {decision.job.id}{at}{why}"
