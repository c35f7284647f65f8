"""Names the hook that takes long, and the one that Ctrl-C ended: plugin, hook, job, simulated time, line.

A thread looks about once a second at what the thread of the simulation is doing. The hooks
themselves are called as ever, so that it costs nothing where nothing takes long.
"""

from __future__ import annotations

import inspect
import logging
import sys
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import CodeType, FrameType

from slurm_sim_plugins.errors import PluginError
from slurm_sim_plugins.hookspecs import LOOPS, SPECS
from slurm_sim_plugins.manager import Selection

LONG = 10.0
"""Seconds of one call after which a warning names it."""
OFTEN = 1.0
"""Seconds between two looks."""
_log = logging.getLogger(__name__)


class HookWatch:
    """Knows the hooks of a simulation by their code, and how long those that run now have been seen running.

    Args:
        selection: the plugins of the simulation.
        now: says the simulated time, in seconds.
    """

    def __init__(self, selection: Selection, now: Callable[[], float]) -> None:
        self._now = now
        self._hooks: dict[CodeType, tuple[str, str]] = {}
        self._seen: dict[FrameType, float] = {}
        self._told: set[FrameType] = set()
        for loop in LOOPS:
            schedulers = {plugin for plugin, _ in selection.implementations(loop)}
            for plugin in schedulers & selection.infos.keys():
                # A scheduler may have its pass made by another generator of its class.
                for _, method in inspect.getmembers(selection.infos[plugin].factory, inspect.isgeneratorfunction):
                    self._hooks.setdefault(inspect.unwrap(method).__code__, (plugin, loop))
        for hook in (name for spec in SPECS.values() for name in vars(spec) if not name.startswith("_")):
            for plugin, each in selection.implementations(hook):
                code = getattr(inspect.unwrap(each.function), "__code__", None)
                if code is not None:
                    self._hooks[code] = plugin, hook

    def look(self, frame: FrameType | None, clock: float) -> PluginError | None:
        """What to tell of the hooks that are being called, if one has taken long; of each call once.

        Args:
            frame: the innermost one of the simulation's thread.
            clock: seconds, of any clock.
        """
        stack = list(traceback.walk_stack(frame))[::-1] if frame is not None else []
        running = [each for each, _ in stack if each.f_code in self._hooks]
        self._seen = {each: self._seen.get(each, clock) for each in running}
        self._told &= self._seen.keys()
        long = [each for each in running if clock - self._seen[each] >= LONG and each not in self._told]
        if not long:
            return None
        self._told |= self._seen.keys()
        return self._name(stack, long[-1], f"has taken more than {LONG:g} s by now; Ctrl-C ends the run")

    def interrupted(self, error: BaseException) -> PluginError | None:
        """Which hook was being called when an exception came from outside, or None."""
        stack = list(traceback.walk_tb(error.__traceback__))
        running = [frame for frame, _ in stack if frame.f_code in self._hooks]
        return self._name(stack, running[-1], "was being called when the run was interrupted") if running else None

    def _name(self, stack: Iterable[tuple[FrameType, int]], hook: FrameType, message: str) -> PluginError:
        plugin, name = self._hooks[hook.f_code]
        file = hook.f_code.co_filename
        line = [line for frame, line in stack if frame.f_code.co_filename == file][-1]
        job = getattr(_job_of(hook), "id", None)
        return PluginError(message, plugin=plugin, hook=name, job=job, time=self._now(), where=f"{file}:{line}")


def _job_of(hook: FrameType) -> object:
    """The job that a hook is asked about: of several the first, of a scheduling pass the head of the queue."""
    given = hook.f_locals
    view = given.get("view")
    for one in (given.get("job"), getattr(given.get("run"), "job", None), *_of(view, "job", "preemptor", "submission")):
        if one is not None:
            return one
    for several in _of(view, "to_set", "to_try", "waiting", "changed"):
        if isinstance(several, tuple | list) and several:
            return getattr(several[0], "job", several[0])
    return getattr(view, "head", None)


def _of(view: object, *names: str) -> Iterator[object]:
    return (getattr(view, name, None) for name in names)


@contextmanager
def watching(selection: Selection, now: Callable[[], float]) -> Iterator[HookWatch]:
    """Watch the hooks that this thread calls meanwhile: a long call is logged, Ctrl-C says which call it ended.

    Args:
        selection: the plugins of the simulation.
        now: says the simulated time, in seconds.

    Raises:
        KeyboardInterrupt: as it came, with the words of :meth:`HookWatch.interrupted`.
    """
    watch, over, simulation = HookWatch(selection, now), threading.Event(), threading.get_ident()

    def look() -> None:
        clock = 0.0
        while not over.wait(OFTEN):
            clock += OFTEN
            found = watch.look(sys._current_frames().get(simulation), clock)
            if found is not None:
                _log.warning("%s", found)

    thread = threading.Thread(target=look, name="hook watch", daemon=True)
    thread.start()
    try:
        yield watch
    except KeyboardInterrupt as error:
        found = watch.interrupted(error)
        if found is None:
            raise
        raise KeyboardInterrupt(str(found)) from error
    finally:
        over.set()
        thread.join()
