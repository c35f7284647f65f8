"""A workload: the jobs to simulate, as columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from slurm_sim_plugins.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

LARGEST_SECONDS = 2.0**43
"""Times beyond this (about 278,000 years) would not fit into int64 microseconds."""
_SPAN = f"0 s, and at most {LARGEST_SECONDS:g} s"


@dataclass(frozen=True)
class Dropped:
    """Jobs that a reader or a filter left out.

    Attributes:
        reason: why, in words.
        count: how many.
        first: where the first of them is, such as ``file:line``.
    """

    reason: str
    count: int
    first: str = ""


@dataclass(frozen=True)
class Changed:
    """Jobs of which a reader or a filter changed a field; as :class:`Dropped`."""

    reason: str
    count: int
    first: str = ""


@dataclass(frozen=True)
class Workload:
    """Jobs in the order of (submit, id).

    Attributes:
        id: the trace's job ids; no two alike.
        submit: seconds on the workload's own clock.
        processors: how many each job takes.
        run: true run time in seconds, 0 or more; hidden from plugins.
        time_limit: requested seconds, more than 0.
        facts: further columns by name, one value a job, shown to plugins: ``user``,
            ``group``, ``queue``, ``partition``, ``predicted`` ...; an int64 column says
            -1 and a float column NaN for unknown, others None.
        logged: what happened in the log, in seconds, NaN for unknown; plugins are not shown
            it. ``wait``: from submission to start; ``run`` and ``time_limit``: as they were
            before a filter put them right, present only if it changed some.
        name: what to call it.
        machine: processors of the machine as the trace states them, or None.
        epoch: Unix time of second 0 of the clock, or None where it is unknown.
        header: the trace's own header lines, which stay with any derived file.
        read: how many jobs the source held before anything was left out.
        dropped: what was left out, and why.
        changed: what was changed, and why.
        source_hash: SHA-256 of the source's bytes or of the generator's parameters, in hex.
    """

    id: Ints
    submit: Floats
    processors: Ints
    run: Floats
    time_limit: Floats
    facts: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    logged: Mapping[str, Floats] = field(default_factory=dict)
    name: str = "workload"
    machine: int | None = None
    epoch: int | None = None
    header: tuple[str, ...] = ()
    read: int = 0
    dropped: tuple[Dropped, ...] = ()
    changed: tuple[Changed, ...] = ()
    source_hash: str = ""

    @property
    def note(self) -> str:
        """What reading left out or changed, in words; empty if nothing."""
        dropped = [f"{notice.count:,} {notice.reason}" for notice in self.dropped]
        changed = [f"{notice.count:,} {notice.reason}" for notice in self.changed]
        notes = []
        if dropped:
            left = sum(notice.count for notice in self.dropped)
            notes.append(f"{left:,} of {self.read:,} records dropped: {'; '.join(dropped)}")
        if changed:
            notes.append(f"changed: {'; '.join(changed)}")
        return "\n".join(notes)

    def __len__(self) -> int:
        return len(self.id)

    def __repr__(self) -> str:
        machine = f", a machine of {self.machine:,} processors" if self.machine is not None else ""
        return f"Workload({self.name[:100]!r}: {len(self):,} jobs{machine})"

    @classmethod
    def from_columns(cls, columns: Mapping[str, Any], *, logged: Mapping[str, Any] | None = None, **about: Any) -> Self:
        """Check columns and put the jobs into the order of (submit, id).

        Args:
            columns: ``id``, ``submit``, ``processors``, ``run``, ``time_limit`` and any
                facts, all of one length.
            logged: columns of :attr:`logged`.
            about: further attributes, such as ``name``.

        Raises:
            InputError: a missing column, unequal lengths, a job id twice, a value out of
                its range; the message names the first job at fault.
        """
        needed = {"id": np.int64, "submit": float, "processors": np.int64, "run": float, "time_limit": float}
        missing = [name for name in needed if name not in columns]
        if missing:
            raise InputError(f"the workload has no column {', '.join(missing)}; it needs {', '.join(needed)}")
        arrays = {name: _as_array(name, columns[name], kind) for name, kind in needed.items()}
        facts = {name: np.asarray(values) for name, values in columns.items() if name not in needed}
        history = {name: _as_array(f"logged {name}", values, float) for name, values in (logged or {}).items()}
        lengths = {name: len(values) for name, values in {**arrays, **facts}.items()}
        lengths |= {f"logged {name}": len(values) for name, values in history.items()}
        if len(set(lengths.values())) > 1:
            raise InputError(f"the workload's columns differ in length: {lengths}")
        order = _order(arrays["id"], arrays["submit"])
        arrays = {name: _taken(values, order) for name, values in arrays.items()}
        facts = {name: _taken(values, order) for name, values in facts.items()}
        about.setdefault("read", len(arrays["id"]))
        workload = cls(
            arrays["id"],
            arrays["submit"],
            arrays["processors"],
            arrays["run"],
            arrays["time_limit"],
            facts,
            {name: _taken(values, order) for name, values in history.items()},
            **about,
        )
        workload._check()
        return workload

    @classmethod
    def from_frame(cls, frame: pd.DataFrame, **about: Any) -> Self:
        """As :meth:`from_columns`, from a pandas frame with those columns."""
        return cls.from_columns({str(name): frame[name].to_numpy() for name in frame.columns}, **about)

    def frame(self) -> pd.DataFrame:
        """All columns as a pandas frame."""
        import pandas as pd

        return pd.DataFrame(self.columns())

    def columns(self) -> dict[str, NDArray[Any]]:
        """All columns by name."""
        return {
            "id": self.id,
            "submit": self.submit,
            "processors": self.processors,
            "run": self.run,
            "time_limit": self.time_limit,
            **self.facts,
        }

    def where(self, keep: NDArray[np.bool_]) -> Self:
        """The jobs for which ``keep`` is true; the caller accounts for the others."""
        return replace(
            self,
            id=self.id[keep],
            submit=self.submit[keep],
            processors=self.processors[keep],
            run=self.run[keep],
            time_limit=self.time_limit[keep],
            facts={name: values[keep] for name, values in self.facts.items()},
            logged={name: values[keep] for name, values in self.logged.items()},
        )

    def load(self, machine: int) -> float:
        """Offered load: processor-seconds over capacity between first and last submission."""
        if len(self) < 2:
            return float("nan")
        span = float(self.submit[-1] - self.submit[0])
        return float(np.dot(self.run, self.processors)) / (machine * span) if span > 0 else float("inf")

    def _check(self) -> None:
        self._refuse(self.processors < 1, "processors", self.processors, "must be 1 or more")
        self._refuse(~(np.abs(self.submit) <= LARGEST_SECONDS), "submit", self.submit, "is not a usable time")
        self._refuse(~((self.run >= 0) & (self.run <= LARGEST_SECONDS)), "run", self.run, f"must be at least {_SPAN}")
        limit = self.time_limit
        self._refuse(~((limit > 0) & (limit <= LARGEST_SECONDS)), "time_limit", limit, f"must be more than {_SPAN}")
        if "cpu_use" in self.facts:
            use = _as_array("cpu_use", self.facts["cpu_use"], float)
            unknown = np.isnan(use) | ((self.facts["cpu_use"].dtype.kind == "i") & (use == -1))
            self._refuse(~unknown & ~((use > 0) & (use <= 1)), "cpu_use", use, "must be a share: above 0, at most 1")
        if (self.id[1:] > self.id[:-1]).all():
            return
        ids, counts = np.unique(self.id, return_counts=True)
        if len(ids) < len(self):
            raise InputError(f"{self.name}: job id {ids[counts > 1][0]} stands in it more than once; make ids unique")

    def _refuse(self, bad: NDArray[np.bool_], column: str, values: NDArray[Any], rule: str) -> None:
        if bad.any():
            first = int(np.argmax(bad))
            raise InputError(f"{self.name}: job {self.id[first]}: {column} is {values[first]:g}, it {rule}")


def _order(ids: Ints, submit: Floats) -> Ints | slice:
    """The order of (submit, id); everything as it is where it is in that order already."""
    before, after = submit[:-1], submit[1:]
    if ((before < after) | ((before == after) & (ids[:-1] < ids[1:]))).all():
        return slice(None)
    return np.lexsort((ids, submit))


def _taken(values: NDArray[Any], order: Ints | slice) -> NDArray[Any]:
    """A column in an order, as an array of its own."""
    return values.copy() if isinstance(order, slice) else values[order]


def _as_array(name: str, values: Any, kind: Any) -> NDArray[Any]:
    try:
        given = np.asarray(values)
        if kind is np.int64 and given.dtype.kind == "f" and not np.array_equal(given, np.rint(given)):
            odd = given[given != np.rint(given)][0]
            raise InputError(f"the workload's column {name} holds {odd}; it takes whole numbers")
        return np.ascontiguousarray(given, dtype=kind)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"the workload's column {name} does not hold numbers: {error}") from error
