"""The only caller of the plugin manager: resolves hooks once, and names the plugin that failed.

What limits a simulation is not scheduling but dispatch (a call through pluggy costs
twenty times a direct one). So each hook is resolved when the simulation starts: no plugin
implements it, no call; one plain implementation, a direct call; several, or a wrapper,
pluggy. ``dispatch="pluggy"`` sends every call through pluggy; the schedule is the same.
"""

from __future__ import annotations

import dis
import inspect
from collections.abc import Callable, Collection, Generator
from functools import lru_cache
from types import CodeType, GeneratorType
from typing import Any, Literal, NoReturn

from slurm_sim_plugins.answers import returned
from slurm_sim_plugins.errors import PluginError
from slurm_sim_plugins.hookspecs import LOOPS, SLOTS, SPECS
from slurm_sim_plugins.manager import Manager, Selection, named

Dispatch = Literal["resolved", "pluggy"]
FAILURES = (Exception, SystemExit)
"""What a hook may raise for which its plugin is to blame; only Ctrl-C is the user's doing."""
SHORTEST = 0.001
"""What is done again after fewer seconds would leave time where it is."""
BF_INTERVAL = 30.0
"""Slurm's default."""
Hook = Callable[..., Any] | None


class Hooks:
    """The resolved hooks of one simulation; None where no plugin implements one.

    A hook is called with positional arguments, in the order of its specification.

    Args:
        selection: the plugins of the simulation.
        dispatch: ``resolved`` or ``pluggy``.
    """

    def __init__(self, selection: Selection, dispatch: Dispatch = "resolved") -> None:
        self._selection = selection
        self._dispatch = dispatch
        self.priority_set = self._resolve("priority_set")
        scheduler = selection.slots["SchedulerType"]
        # A wrapper alone makes no loop.
        has = {hook: self._have(hook, [scheduler]) for hook in LOOPS}
        self.schedule = self._resolve("schedule") if has["schedule"] else None
        self.backfill = self._resolve("backfill") if has["backfill"] else None
        self.backfill_candidates = self._resolve("backfill_candidates")
        self.bf_topopt = self._resolve("bf_topopt")
        self.preempt_candidates = self._resolve("preempt_candidates")
        self.preempt_mode = self._resolve("preempt_mode")
        self.preempt_grace = self._resolve("preempt_grace")
        self.select_nodes = self._resolve("select_nodes")
        self.walltime_submit = self._resolve("walltime_submit")
        self.walltime_pending = self._resolve("walltime_pending")
        self.walltime_learn = self._resolve("walltime_learn")
        self.progress_rate = self._resolve("progress_rate")
        site = named("PrioritySiteFactorPlugin", selection.slots["PrioritySiteFactorPlugin"])
        self.site_factor = self._resolve("site_factor") if self._have("site_factor", site) else None
        chain = named("JobSubmitPlugins", selection.slots["JobSubmitPlugins"])
        self.job_submit, self.job_modify = (
            [(name, self._resolve(hook, {*chain} - {name})) for name in chain if self._have(hook, [name])]
            for hook in ("job_submit", "job_modify")
        )
        execution = selection.slots["ExecutionType"]
        # A wrapper alone does not make tiers.
        self.tiered = self._have("progress_rate", [execution])
        select = selection.slots["SelectType"]
        self.on_blocks = self._have("select_nodes", [select])
        self.job_submitted = self._resolve("job_submitted")
        self.job_started = self._resolve("job_started")
        self.job_requeued = self._resolve("job_requeued")
        self.job_suspended = self._resolve("job_suspended")
        self.job_resumed = self._resolve("job_resumed")
        self.job_ended = self._resolve("job_ended")
        self.pass_done = self._resolve("pass_done")
        self.only_starts: bool = getattr(selection.plugins[scheduler], "only_starts", False)
        self.backfill_interval = self._backfill_interval()
        self.priority_period = self._priority_period()
        walltime = selection.plugins[selection.slots["WalltimeType"]]
        self.needs_oracle: bool = getattr(walltime, "needs_oracle", False)

    def _backfill_interval(self) -> float:
        """Seconds between two cycles of the scheduler's backfill under Slurm's clock; infinite for never."""
        name = self._selection.slots["SchedulerType"]
        seconds = getattr(self._selection.plugins[name], "bf_interval", BF_INTERVAL)
        if not _is_number(seconds) or not (seconds in (0, -1) or seconds >= SHORTEST):
            raise PluginError(
                f"its bf_interval is {seconds!r}; it is seconds, {SHORTEST} at least, 0 for after each pass of the "
                "main loop, -1 for never",
                plugin=name,
            )
        return float("inf") if self.backfill is None or seconds == -1 else float(seconds)

    def _priority_period(self) -> float | None:
        """After how many seconds the priority plugin wants to set all priorities again; None for never."""
        name = self._selection.slots["PriorityType"]
        period = getattr(self._selection.plugins[name], "period", None)
        if period is None or self.priority_set is None:
            return None
        if not _is_number(period) or not (period == 0 or SHORTEST <= period < float("inf")):
            raise PluginError(
                f"its period is {period!r}; it is None (priorities stay) or seconds, {SHORTEST} at least, 0 for before "
                "each pass",
                plugin=name,
            )
        return float(period)

    def plugin_for(self, hook: str) -> str:
        """Name of the selected plugin that answers a slot's hook."""
        kind = next(kind for kind, spec in SPECS.items() if hook in vars(spec))
        return next(self._selection.slots[slot] for slot, of in SLOTS.items() if of == kind)

    def refuse(
        self,
        hook: str,
        message: str,
        *,
        time: float,
        job: object | None = None,
        where: str | None = None,
        plugin: str = "",
    ) -> NoReturn:
        """End the simulation because of an answer that cannot be used.

        Raises:
            PluginError: always; where no line is known, it names the first one of the hook.
        """
        where = where or self._selection.line_of(hook)
        plugin = plugin or self.plugin_for(hook)
        raise PluginError(message, plugin=plugin, hook=hook, job=job, time=time, where=where) from None

    def fail(self, hook: str, error: BaseException, *, time: float, job: object | None = None) -> NoReturn:
        """End the simulation because a hook raised; what the emulator raised itself passes through.

        Raises:
            PluginError: naming plugin, hook, job, time, file and line.
        """
        blamed = self._selection.blame(hook, error, time=time, job=job)
        if blamed is None or blamed is error:
            raise error
        raise blamed from error

    def _have(self, hook: str, plugins: Collection[str]) -> bool:
        """Whether one of some plugins implements a hook: a wrapper alone answers nothing."""
        return any(name in plugins for name, _ in self._selection.implementations(hook))

    def _manager_without(self, without: Collection[str]) -> Manager:
        """A manager with the same plugins but for some."""
        manager = Manager()
        for name, plugin in self._selection.manager.list_name_plugin():
            if name not in without:
                manager.register(plugin, name)
        return manager

    def _told(self, hook: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """A hook whose generator of decisions must not return anything, for that would be lost."""

        def followed(decisions: Any, view: Any) -> Generator[Any, Any, None]:
            value = yield from decisions
            if value is not None:
                self.refuse(hook, returned(value).message, time=view.now)

        def decisions_of(view: Any) -> Any:
            decisions = function(view)
            may_return = isinstance(decisions, GeneratorType) and _may_return(decisions.gi_code)
            return followed(decisions, view) if may_return else decisions

        return decisions_of

    def _resolve(self, hook: str, without: Collection[str] = ()) -> Hook:
        function, between = self._resolved(hook, without), self._selection.between
        return function if between is None else between(hook, function)

    def _resolved(self, hook: str, without: Collection[str]) -> Hook:
        implementations = [impl for name, impl in self._selection.implementations(hook) if name not in without]
        if not implementations:
            return None
        caller = getattr((self._manager_without(without) if without else self._selection.manager).hook, hook)
        arguments = tuple(caller.spec.argnames)
        plain = len(implementations) == 1 and not (implementations[0].wrapper or implementations[0].hookwrapper)
        if not plain or self._dispatch == "pluggy":

            def through_pluggy(*values: Any) -> Any:
                return caller(**dict(zip(arguments, values, strict=True)))

            return self._told(hook, through_pluggy) if hook in LOOPS else through_pluggy
        function: Callable[..., Any] = implementations[0].function
        taken = tuple(implementations[0].argnames)
        returns = hook in LOOPS and not (inspect.isgeneratorfunction(function) and not _may_return(function.__code__))
        if taken == arguments:
            return self._told(hook, function) if returns else function
        taken_at = [arguments.index(name) for name in taken]

        def rearranged(*values: Any) -> Any:
            return function(*[values[index] for index in taken_at])

        return self._told(hook, rearranged) if returns else rearranged


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


@lru_cache(maxsize=256)
def _may_return(code: CodeType) -> bool:
    """Whether the code of a generator says that it returns something; mostly it does not, and it is left as it is."""
    before = None
    for step in dis.get_instructions(code):
        if step.opname == "RETURN_CONST" and step.argval is not None:
            return True
        is_none = before is not None and before.opname == "LOAD_CONST" and before.argval is None
        if step.opname == "RETURN_VALUE" and (step.is_jump_target or not is_none):
            return True
        before = step
    return False


def line_of(generator: Any) -> str | None:
    """``file:line`` where a generator stands, or the one whose decisions it hands on; None when it is over."""
    frame = getattr(generator, "gi_frame", None)
    if frame is None:
        inner = getattr(generator, "decisions", None)
    else:
        inner = frame.f_locals.get("decisions", generator.gi_yieldfrom)
    if inspect.isgenerator(inner) and inner.gi_frame is not None:
        return line_of(inner)
    if frame is None:
        return None
    return f"{inspect.getframeinfo(frame).filename}:{frame.f_lineno}"
