"""Trying something out in a copy of this process, which is as cheap as copying the state can be."""

from __future__ import annotations

import os
import pickle
import signal
import warnings
from collections.abc import Callable
from typing import Any, BinaryIO, Self

from slurm_sim_plugins.errors import ConfigurationError


class Forks:
    """Functions that run in copies of this process, some at a time; results in the order of starting.

    Args:
        at_once: how many.

    Raises:
        ConfigurationError: this operating system cannot copy a process.
    """

    def __init__(self, at_once: int) -> None:
        if not hasattr(os, "fork"):
            raise ConfigurationError("this needs an operating system that can fork a process, such as Linux")
        self._at_once = at_once
        self._running: list[tuple[int, BinaryIO]] = []
        self.results: list[Any] = []

    def start(self, function: Callable[[], Any]) -> None:
        """Run a function in a copy, as soon as there is room for it.

        Raises:
            Exception: what an earlier function raised.
        """
        if len(self._running) >= self._at_once:
            self._collect()
        reader, writer = os.pipe()
        with warnings.catch_warnings():
            # Other threads are idle: they belong to libraries that the copy does not call.
            warnings.simplefilter("ignore", DeprecationWarning)
            process = os.fork()
        if process == 0:
            os.close(reader)
            _answer(function, writer)
        os.close(writer)
        self._running.append((process, os.fdopen(reader, "rb")))

    def finish(self) -> list[Any]:
        """Wait for all, and return what they returned.

        Raises:
            Exception: what a function raised.
        """
        while self._running:
            self._collect()
        return self.results

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End those that still run: their answers are not wanted any more."""
        for process, stream in self._running:
            os.kill(process, signal.SIGKILL)
            stream.close()
            os.waitpid(process, 0)
        self._running.clear()

    def _collect(self) -> None:
        process, stream = self._running[0]
        answer = stream.read()
        stream.close()
        del self._running[0]
        os.waitpid(process, 0)
        if not answer:
            raise ConfigurationError("a copy of this process was ended from outside; is there enough memory?")
        result = pickle.loads(answer)  # noqa: S301 - from our own child
        if isinstance(result, BaseException):
            raise result
        self.results.append(result)


def _answer(function: Callable[[], Any], writer: int) -> None:
    """Send what a function returns or raises, and end this process without cleaning up after the other one."""
    try:
        try:
            answer = pickle.dumps(function())
        except BaseException as error:
            answer = pickle.dumps(error)
        with os.fdopen(writer, "wb") as stream:
            stream.write(answer)
    finally:
        os._exit(0)
