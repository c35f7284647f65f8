# cython: boundscheck=True, wraparound=True, nonecheck=True
"""The append-only event log: one JSON object a line, in the order of happening."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from typing import IO, Any

from emulator.state.instants import MICROSECONDS
from slurm_sim_plugins.errors import OutputError
from slurm_sim_plugins.processors import Processors, in_words

BUFFERED_LINES = 8192
Where = tuple[str, Processors]
"""A tier, and the processors in it."""
Nodes = tuple[str, str]
"""A partition, and a list of its hosts."""


class EventLog:
    """Writes events; whole lines only, so that what was written stays readable.

    Every event has ``time`` (seconds on the workload's clock), ``event`` and ``job``:

    ========  ==========================================================
    submit    the job was queued
    reject    the job was not taken in; ``reason``
    reserve   it is planned to start at ``start``
    start     on ``processors``; ``backfilled`` if ahead of the head; with tiers also
              ``tier`` and ``where``, the numbers of the processors; with blocks the
              name of its ``block``
    move      with tiers: its run goes to ``tier`` and ``where``
    rate      with tiers: its run does ``rate`` seconds of work in a second from now on
    requeue   its run was ended by preemption, and it waits again: at once, or, if a
              checkpoint is written first, when it returns
    return    that checkpoint is written
    end       ``state`` is COMPLETED or TIMEOUT
    ========  ==========================================================

    On a cluster with nodes ``start`` has also the ``partition`` and the ``nodes``, and the times of
    ``reserve`` are those to which a planned start has moved by a minute or more, at the end of a pass.
    ``requeue`` has a ``preemptor`` only if there is one, else a ``reason``. ``end`` has any of Slurm's
    states, and ``ended`` if the job ended before it left its nodes; one that left the queue without a
    run ends, too. There are five further events, the last of which is of no job:

    ========  ==========================================================
    configured  with power saving: its nodes have been resumed, and its run starts now
    preempt   its run is preempted for ``preemptor``, as ``mode`` says
    suspend   its run stands still; ``cause`` is preemption or operator
    resume    its run goes on; ``cause`` as before
    nodes     ``nodes`` are DOWN, DRAIN or UP, as ``state`` says, for a ``reason``; with power
              saving also POWERING_DOWN, POWERED_DOWN, POWERING_UP or POWERED_UP
    ========  ==========================================================

    A decision's ``reason`` is kept where the plugin gave one. If the run is to be explained,
    there are further events: see :mod:`emulator.accounting.decision_log`.
    """

    __slots__ = ("_at", "_lines", "_stream", "_time_text", "named")

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream
        self._lines: list[str] = []
        self._at, self._time_text = 0, "0"
        self.named: tuple[int, int, str] | None = None

    def submit(self, now: int, job: int) -> None:
        """A job was queued."""
        self.line(f'{{"time":{self._time(now)},"event":"submit","job":{job}}}\n')

    def reject(self, now: int, job: int, reason: str) -> None:
        """A submission was not taken in."""
        self.line(f'{{"time":{self._time(now)},"event":"reject","job":{job}{_reason(reason)}}}\n')

    def reserve(self, now: int, job: int, start: float, reason: str) -> None:
        """A job is planned to start at ``start`` (seconds)."""
        planned = f"{start:.6f}".rstrip("0").rstrip(".") if start != float("inf") else "null"
        self.line(f'{{"time":{self._time(now)},"event":"reserve","job":{job},"start":{planned}{_reason(reason)}}}\n')

    def start(
        self,
        now: int,
        job: int,
        processors: int,
        backfilled: bool,
        reason: str,
        where: Where | None = None,
        block: str | None = None,
        nodes: Nodes | None = None,
    ) -> None:
        """A job was started."""
        ahead = ',"backfilled":true' if backfilled else ""
        there = f"{ahead}{_there(where)}" if where is not None else ahead
        if block is not None:
            there = f'{there},"block":{json.dumps(block)}'
        if nodes is not None:
            there = f'{there},"partition":{json.dumps(nodes[0])},"nodes":{json.dumps(nodes[1])}'
        self.line(
            f'{{"time":{self._time(now)},"event":"start","job":{job},"processors":{processors}{there}{_reason(reason)}}}\n'
        )

    def move(self, now: int, job: int, where: Where, reason: str) -> None:
        """A run moved."""
        self.line(f'{{"time":{self._time(now)},"event":"move","job":{job}{_there(where)}{_reason(reason)}}}\n')

    def rate(self, now: int, job: int, rate: float) -> None:
        """A run works at a rate from now on."""
        self.line(f'{{"time":{self._time(now)},"event":"rate","job":{job},"rate":{rate!r}}}\n')

    def requeue(self, now: int, job: int, preemptor: int | None, reason: str) -> None:
        """A run was ended, by preemption if there is a preemptor, and its job waits again."""
        by = f',"preemptor":{preemptor}' if preemptor is not None else ""
        self.line(f'{{"time":{self._time(now)},"event":"requeue","job":{job}{by}{_reason(reason)}}}\n')

    def preempt(self, now: int, job: int, preemptor: int, mode: str, chosen: bool) -> None:
        """On a cluster a run is preempted; before that stands which runs were named for the preemptor.

        Plugins are asked far more often than a run is preempted, and compiled code asks more seldom.

        Args:
            now: the instant.
            job: of the run.
            preemptor: for which it makes way.
            mode: what becomes of it.
            chosen: whether it was chosen among those that were named.
        """
        if chosen and self.named is not None and self.named[:2] == (now, preemptor):
            self.line(self.named[2])
            self.named = None
        self.note(now, "preempt", {"job": job, "preemptor": preemptor, "mode": mode})

    def returned(self, now: int, job: int) -> None:
        """The checkpoint of a preempted job is written: it waits again."""
        self.line(f'{{"time":{self._time(now)},"event":"return","job":{job}}}\n')

    def end(self, now: int, job: int, state: str, ended: int | None = None) -> None:
        """A job left the machine for good; ``ended`` is when it ended, if that was before."""
        before = f',"ended":{seconds(ended)}' if ended is not None else ""
        self.line(f'{{"time":{self._time(now)},"event":"end","job":{job},"state":"{state}"{before}}}\n')

    def note(self, now: int, event: str, facts: Mapping[str, Any]) -> None:
        """What else happened, and what was decided."""
        self.note_text(now, event, as_text(facts))

    def note_text(self, now: int, event: str, facts: str) -> None:
        """As :meth:`note`, with facts as :func:`as_text` gives them."""
        self.line(f'{{"time":{self._time(now)},"event":"{event}",{facts}}}\n')

    def line(self, text: str) -> None:
        """A whole line, as it is to stand there."""
        lines = self._lines
        lines.append(text)
        if len(lines) >= BUFFERED_LINES:
            self.flush()

    def flush(self) -> None:
        """Write what is buffered.

        Raises:
            OutputError: the stream does not take it (a full disk).
        """
        lines, self._lines = self._lines, []
        with self._failing_in_words():
            self._stream.write("".join(lines))
            self._stream.flush()

    def close(self) -> None:
        """Write what is buffered, and close the stream.

        Raises:
            OutputError: as :meth:`flush`.
        """
        try:
            self.flush()
        finally:
            # To close is to try again what could not be written.
            with self._failing_in_words():
                self._stream.close()

    @contextmanager
    def _failing_in_words(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            name = getattr(self._stream, "name", "the event log")
            raise OutputError(f"{name}: the event log cannot be written: {error.strerror or error}") from error

    def _time(self, now: int) -> str:
        """An instant in seconds; most lines are of the same one as the line before."""
        if now != self._at:
            self._at, self._time_text = now, seconds(now)
        return self._time_text


def as_text(facts: Mapping[str, Any]) -> str:
    """Facts as the inside of a JSON object."""
    return json.dumps(facts, separators=(",", ":"))[1:-1]


def seconds(instant: int) -> str:
    """Microseconds as the shortest decimal number of seconds."""
    whole, part = divmod(instant, MICROSECONDS)
    if not part:
        return str(whole)
    if instant < 0:
        return f"{instant / MICROSECONDS:.6f}".rstrip("0")
    return f"{whole}.{part:06d}".rstrip("0")


def _there(there: Where) -> str:
    tier, where = there
    return f',"tier":{json.dumps(tier)},"where":"{in_words(where)}"'


def _reason(reason: str) -> str:
    return reason_text(str(reason)) if reason else ""


@lru_cache
def reason_text(reason: str) -> str:
    """A reason, behind other facts; plugins give the same ones again and again."""
    return f',"reason":{json.dumps(reason)}'
