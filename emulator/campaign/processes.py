"""Work done side by side in processes of this machine."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import Counter, deque
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor
from concurrent.futures import wait as wait_for
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing.connection import wait

from emulator.campaign.work import Made, Work, make

Task = tuple[str, Work]
"""A piece of work and its key, which no other has."""
Results = Generator[tuple[str, Made], None, None]
AHEAD = 2
"""Tasks that are handed out for each process, so that none has to wait for the next."""
TRIES = 2
"""How often a task may be lost in company, and then alone, before it is to blame."""
ENDED = "its process was ended from outside, again and again; is there enough memory?"


class Processes:
    """Does tasks in so many processes.

    Args:
        processes: how many; 1 does them in this process.
    """

    def __init__(self, processes: int) -> None:
        self._processes = processes

    def carry_out(self, tasks: Iterable[Task]) -> Results:
        """Do all tasks; what was made comes as it is done.

        A process that dies takes with it what others of its pool were at: that is done
        again, and what was lost more than once is done one by one, so that it shows which
        task kills its process.
        """
        todo = deque(tasks)
        if self._processes <= 1 or len(todo) <= 1:
            while todo:
                key, work = todo.popleft()
                yield key, make(work)
            return
        lost: Counter[str] = Counter()
        suspects: list[Task] = []
        while todo:
            yield from self._until_broken(todo, self._processes, lost)
            suspects += [task for task in todo if lost[task[0]] >= TRIES]
            todo = deque(task for task in todo if lost[task[0]] < TRIES)
        for key, work in suspects:
            yield key, self._alone(key, work)

    def _alone(self, key: str, work: Work) -> Made:
        for _ in range(TRIES):
            for _, made in self._until_broken(deque([(key, work)]), 1, Counter()):
                return made
        return Made(error=ENDED)

    def _until_broken(self, todo: deque[Task], processes: int, lost: Counter[str]) -> Results:
        """Do tasks until all are done or a process dies; what is not done stays in ``todo``, first."""
        pending: dict[Future[Made], Task] = {}
        with _workers(processes) as pool:
            try:
                while todo or pending:
                    while todo and len(pending) < AHEAD * processes:
                        pending[pool.submit(make, todo[0][1])] = todo[0]
                        todo.popleft()
                    done, _ = wait_for(pending, return_when=FIRST_COMPLETED)
                    for future in done:
                        made = future.result()
                        yield pending.pop(future)[0], made
            except BrokenProcessPool:
                whole = {future: future.result() for future in pending if _is_whole(future)}
                for future, made in whole.items():
                    yield pending.pop(future)[0], made
                lost.update(key for key, _ in pending.values())
                todo.extendleft(reversed(pending.values()))


def _is_whole(future: Future[Made]) -> bool:
    return future.done() and not future.cancelled() and future.exception() is None


@contextmanager
def _workers(processes: int) -> Iterator[ProcessPoolExecutor]:
    """Workers that are ended, with what they are at, when somebody interrupts."""
    others = set(multiprocessing.active_children())
    # A new interpreter each: to copy one that has threads is not safe.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(processes, mp_context=context, initializer=_follow_the_parent)
    try:
        yield pool
    except BaseException:
        for worker in set(multiprocessing.active_children()) - others:
            worker.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _follow_the_parent() -> None:
    """Leave interrupts from the keyboard to the parent, and end when it is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None, "this is for workers"

    def watch() -> None:
        wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
