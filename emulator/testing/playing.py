"""Play one scheduling pass: the engine's own, on a scene that a test describes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any, cast

from emulator.accounting.headwatch import HeadWatch
from emulator.engine.apply import Apply
from emulator.hooks import Hooks
from emulator.scheduling.block_pass import BlockPass, BlockRoomMaker
from emulator.scheduling.room import RoomMaker
from emulator.scheduling.scheduling_pass import SchedulingPass
from emulator.scheduling.selector import Selector
from emulator.scheduling.tiered_pass import TieredPass
from emulator.state.jobs import JobState, JobTable
from emulator.validate import Validator
from slurm_sim_plugins import answers
from slurm_sim_plugins.decisions import FIRST_TIER, Decision, MakeRoom, Move, Pause, Reserve, Wake
from slurm_sim_plugins.errors import ConfigurationError
from slurm_sim_plugins.hookspecs import DEFAULTS, LOOPS
from slurm_sim_plugins.jobs import Job, Run
from slurm_sim_plugins.main_loop import in_order
from slurm_sim_plugins.manager import Manager, Selection, check_slot
from slurm_sim_plugins.processors import Processors, highest
from slurm_sim_plugins.renamed import argument
from slurm_sim_plugins.select.blocks import InBlocks
from slurm_sim_plugins.testing import Cluster
from slurm_sim_plugins.testing.calling import as_scene, fresh, implementation
from slurm_sim_plugins.testing.scene import Scene

if TYPE_CHECKING:
    from emulator.testing.on_nodes import NodeScene


class Played:
    """What a scheduler decided in one pass.

    Attributes:
        decisions: in the order in which they were yielded and carried out.
        after: the scene after the pass; time has not moved.
        started: ids of the jobs that were started, in that order; on a cluster with nodes also those that
            Slurm's main loop started before the backfill of a scheduler that has no loop but that.
        preempted: ids of the jobs that were preempted, in that order.
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


@argument("situation", "scene")
def play(
    plugin: Any,
    scene: Cluster | Scene | NodeScene,
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
        scene: where it begins. A description stays what it is; a scene that was made of one is what it
            is after the pass, so that the next one can be played on it.
        preempt: the plugin that names victims when room is asked for; no run is
            preempted if there is none.
        backfill: the plugin that orders the candidates; the order of the queue if there
            is none.
        select: the plugin that chooses blocks, where there are some; the first one that is
            free if there is none.
        clock: on a cluster with nodes: ``ideal`` (what is not said), or ``slurm``: then preempted jobs leave later.

    Raises:
        PluginError: a decision or an answer cannot be used; naming file and line.
        ConfigurationError: the scene cannot be, or plugins and clock do not go with it.
    """
    scheduler = fresh(plugin)
    if not (isinstance(scene, Scene) or (isinstance(scene, Cluster) and scene.conf is None)):
        others = {"PreemptType": preempt, "BackfillType": backfill, "SelectType": select}
        return _on_nodes(scheduler, scene, {slot: each for slot, each in others.items() if each is not None}, clock)
    if clock not in (None, "ideal"):
        raise ConfigurationError(f"clock={clock}: where processors are counted there is the ideal clock; give nodes")
    return _on_counts(scheduler, as_scene(scene), preempt, backfill, select)


def _on_nodes(scheduler: Any, scene: Any, others: dict[str, Any], clock: str | None) -> Played:
    """A pass of the emulator itself."""
    from emulator.testing.on_nodes import NodeScene

    if isinstance(scene, NodeScene):
        known = scene.plugins["SchedulerType"]
        if others or clock not in (None, scene.clock) or scheduler is not known:
            raise ConfigurationError(
                f"the next pass is one of the same plugins, under the same clock: play({type(known).__name__.lower()}, "
                "played.after), with the instance that played the first"
            )
    else:
        plugins = {slot: fresh(each) for slot, each in others.items()}
        scene = NodeScene(scene, {"SchedulerType": scheduler, **plugins}, clock or "ideal")
    played = Played(scene)
    played.started, played.preempted = scene.make_passes()
    played.decisions, played.refused = scene.decisions, scene.refused
    return played


def _on_counts(scheduler: Any, scene: Scene, preempt: Any, backfill: Any, select: Any) -> Played:
    """A pass of the engine, which changes the scene."""
    described = {"SchedulerType": scheduler, "PreemptType": preempt, "BackfillType": backfill}
    if scene.view.block_state is not None:
        described["SelectType"] = InBlocks if select is None else select
    plugins = {slot: fresh(plugin) for slot, plugin in described.items() if plugin is not None}
    for slot, plugin in plugins.items():
        check_slot(slot, plugin.name)
    if not any(hasattr(scheduler, hook) for hook in LOOPS):
        implementation(scheduler, "schedule")
    manager = _manager()
    try:
        for plugin in plugins.values():
            manager.register(plugin, name=plugin.name)
        return _passed(scene, Hooks(_selection(plugins)))
    finally:
        for name, _ in manager.list_name_plugin():
            manager.unregister(name=name)
        scene.view._backfill_order = None
        scene.choose_blocks(None)


@cache
def _manager() -> Manager:
    """One for all passes: to rebuild it takes longer than a pass."""
    return Manager()


def _selection(plugins: Mapping[str, Any]) -> Selection:
    """The plugins of a pass, by slot; the other slots are empty."""
    slots = {**DEFAULTS, **{slot: plugin.name for slot, plugin in plugins.items()}}
    named = {plugin.name: plugin for plugin in plugins.values()}
    return Selection(slots, {**dict.fromkeys(slots.values()), **named}, _manager())


def _passed(scene: Scene, hooks: Hooks) -> Played:
    """Make the pass."""
    table = _SceneTable(scene)
    validate: Any = Validator(hooks, scene.view, cast(JobTable, table))
    table.noted(hooks, validate)
    of_all: Any = (scene.view, hooks, table, validate)
    kind: Any = SchedulingPass
    room = RoomMaker(*of_all)
    if scene.view.block_state is not None:
        table.selector = selector = Selector(scene.view, hooks, validate)
        kind, room = BlockPass, BlockRoomMaker(*of_all, selector=selector)
        scene.choose_blocks(selector.find)
    elif scene.view.tiers is not None:
        kind = TieredPass
    scene.pass_begins()
    kind(*of_all, room, None, may_overrun=False).run()
    scene.pass_is_over(table.changed)
    return table.played


class _States(Sequence[JobState]):
    """The state of each job of a scene, by its index."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self.jobs = list(scene.jobs.values())

    def __getitem__(self, index: Any) -> Any:
        return JobState[self._scene.state(self.jobs[index]) or ""]

    def __len__(self) -> int:
        return len(self.jobs)


class _NoWatch(HeadWatch):
    """Statistics of the head are nothing to a test."""

    def __init__(self) -> None:
        self.head, self.missing = None, 1

    def left_blocked(self, head: Job, now: int) -> None:
        """A pass ended."""


class _SceneTable(Apply):
    """Changes a scene as the engine's ``Apply`` changes its state, and notes what was decided."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self.played = Played(scene)
        self.now = 0
        self.hopeful = True
        self.watch = _NoWatch()
        self.free = scene.view.free
        self.changed = scene.view.changed
        states: Any = _States(scene)
        self.state, self.jobs = states, states.jobs
        self.facts = scene._facts
        self.selector: Selector | None = None

    def __len__(self) -> int:
        return len(self.jobs)

    def noted(self, hooks: Hooks, validate: Validator) -> None:
        """Have the decisions of each loop noted; the main loop is the emulator's, if the scheduler has none."""

        def watched(hook: str, loop: Callable[[Any], Any]) -> Callable[[Any], Any]:
            def decided(view: Any) -> Any:
                decisions = loop(view)
                return self._follow(hook, decisions, hooks, validate) if inspect.isgenerator(decisions) else decisions

            return decided

        hooks.schedule = watched(
            "schedule", hooks.schedule or partial(in_order, preempts=hooks.preempt_candidates is not None)
        )
        hooks.backfill = watched("backfill", hooks.backfill) if hooks.backfill is not None else None

    def _follow(self, hook: str, decisions: Any, hooks: Hooks, validate: Validator) -> Iterator[Any]:
        view, answer = self._scene.view, None
        while True:
            before = (view.free, view.now, view.head)
            try:
                decision = decisions.send(answer)
            except StopIteration as over:
                if over.value is not None:
                    hooks.refuse(hook, answers.returned(over.value).message, time=view.now)
                return
            finally:
                if (view.free, view.now, view.head) != before:
                    validate.view_changed()
            answer = yield decision
            self.played.decisions.append(decision)
            if isinstance(decision, MakeRoom) and not answer and not decision.where:
                self.played.refused.append(decision.job.id)

    def start(self, job: Job, reason: str = "", where: Any = None) -> None:
        """A waiting job starts."""
        tiers = self._scene.view.tiers
        if tiers is not None:
            tier, processors, setup = where or (FIRST_TIER, None, 0.0)
            idle = tiers.idle(tier)
            self._scene.start(job, tier, highest(idle, job.processors) if processors is None else processors, setup)
        else:
            self._scene.start(job, block=self.selector.choose(job) if where is None and self.selector else where)
        self.free = self._scene.view.free
        self.played.started.append(job.id)

    def preempt(self, run: Run, preemptor: Job, reason: str = "") -> None:
        """A run is killed, and its job waits again."""
        self._scene.preempt(run)
        self.free = self._scene.view.free
        self.played.preempted.append(run.job.id)

    def move(self, decision: Move, stay: object, where: Processors) -> None:
        """A run moves."""
        self._scene.move(decision, where)
        self.free = self._scene.view.free

    def reserve(self, job: Job, time: float, reason: str = "") -> None:
        """A waiting job is planned to start at a time."""
        self._scene.reserve(job, time)

    def wake(self, time: float) -> None:
        """A pass is asked for."""
        self._scene.wake(time)

    def run_of(self, job: Job) -> Run:
        """The run of a job that runs."""
        return self._scene.run_of(job)

    def nothing(self) -> None:
        """Runs past their planned ends stay as they are said to be, and rates are not asked for."""

    replan_overdue = change_by_time = settle = nothing


def _in_words(decision: Decision) -> str:
    kind = answers.kind_of(decision)
    if isinstance(decision, Reserve) and len(parts := decision.parts()) > 1:
        return ", ".join(map(_in_words, parts))
    if isinstance(decision, Wake):
        return f"{kind} at {decision.time:g}"
    if isinstance(decision, Pause):
        return f"{kind} of {decision.seconds:g} s"
    at = f" at {decision.time:g}" if isinstance(decision, Reserve) else ""
    why = f" ({decision.reason})" if decision.reason else ""
    return f"{kind} {decision.job.id}{at}{why}"
