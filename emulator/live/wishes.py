"""What a plugin would have done, beside what Slurm did."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from statistics import median

from emulator.live.mirror import Change


@dataclass(frozen=True, slots=True)
class Wish:
    """Something that a plugin would do.

    Attributes:
        since: when it would first have done so, in seconds.
        what: ``start``, ``preempt``, ``priority``, ``site factor`` or ``walltime``.
        job: as Slurm names it.
        value: nodes, a mode, or a number.
        why: in the plugin's words, or for whom.
    """

    since: float
    what: str
    job: str
    value: str
    why: str = ""

    @property
    def words(self) -> str:
        """As a line."""
        of = {"start": f"start {self.job} on {self.value}", "preempt": f"preempt {self.job} ({self.value})"}
        why = f": {self.why}" if self.why else ""
        return of.get(self.what, f"give {self.job} the {self.what} {self.value}") + why


@dataclass(slots=True)
class Wishes:
    """Compares the wishes of each pass with those before, and with what happened.

    Attributes:
        open: what the plugin would do, and Slurm has not done yet, by (what, job).
        same, elsewhere: by how many seconds Slurm's starts came later than the plugin's, on its nodes and on others.
        unwished: starts that Slurm made and the plugin would not have.
    """

    open: dict[tuple[str, str], Wish] = field(default_factory=dict)
    same: list[float] = field(default_factory=list)
    elsewhere: list[float] = field(default_factory=list)
    unwished: int = 0

    def now(self, wishes: Iterable[Wish]) -> Iterator[tuple[bool, Wish]]:
        """Take the wishes of a pass; (whether it is one, wish) for each that is new or is none any more."""
        current = {(wish.what, wish.job): wish for wish in wishes}
        for key, before in list(self.open.items()):
            if key not in current:
                del self.open[key]
                # A number that is given once stays.
                if before.what in ("start", "preempt"):
                    yield False, before
        for key, wish in current.items():
            known = self.open.get(key)
            if known is None or known.value != wish.value:
                self.open[key] = wish
                yield True, wish

    def happened(self, change: Change, mine: bool) -> str:
        """What Slurm did, in words, beside what the plugin would have done; empty where there is nothing to say.

        Args:
            change: what happened.
            mine: whether it happened to a job that is the plugin's.
        """
        wish = self.open.pop(("start" if change.kind == "started" else "preempt", change.job), None)
        if change.kind == "requeued" and wish is not None:
            return f"Slurm requeued {change.job}, as the plugin would have"
        if change.kind != "started" or not mine:
            return ""
        if wish is None:
            self.unwished += 1
            return f"Slurm started {change.job} on {change.nodes}; the plugin would not have yet"
        late = change.at - wish.since
        (self.same if wish.value == change.nodes else self.elsewhere).append(late)
        where = "there" if wish.value == change.nodes else f"on {change.nodes}"
        return f"Slurm started {change.job} {where}, {late:+.1f} s from when the plugin would have"

    def summary(self) -> list[str]:
        """What came of it, in lines."""
        lines = []
        for starts, where in (
            (self.same, "on the nodes that the plugin would have taken"),
            (self.elsewhere, "on others"),
        ):
            if starts:
                lines.append(f"{len(starts)} starts {where}, in the median {median(starts):+.1f} s from its own")
        if self.unwished:
            lines.append(f"{self.unwished} starts that the plugin would not have made yet")
        waiting = [wish.job for key, wish in self.open.items() if key[0] == "start"]
        if waiting:
            lines.append(f"not started though the plugin would have: {', '.join(waiting)}")
        return lines
