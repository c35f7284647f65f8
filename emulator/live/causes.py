"""Why a decision in the emulation of a session is another one: by itself, or for what was before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from emulator.live.led import Has, Otherwise, apart
from emulator.live.pairs import Pair

States = Mapping[float, Mapping[str, Has]]
"""What each job had, by the second of the look and the name of the job."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Each pass by itself, in the state that the session had.

    Attributes:
        same: starts and victims that the session decided on, and are decided on again.
        otherwise: the others.
        lost: (job, second) of each decision of the session that could not be made again, so that the state is another
            one from then on.
    """

    same: int = 0
    otherwise: tuple[Otherwise, ...] = ()
    lost: tuple[tuple[str, float], ...] = ()

    def lines(self, most: int) -> Iterator[str]:
        """In words, with so many of those that differ."""
        yield (
            f"each pass by itself, in the state that the session had: {self.same} of {self.same + len(self.otherwise)} "
            "starts and victims are the same"
        )
        for one in self.otherwise[:most]:
            yield f"  {one}"
        if len(self.otherwise) > most:
            yield f"  and {len(self.otherwise) - most} more"
        for job, at in self.lost[:1]:
            yield (
                f"  {len(self.lost)} decisions of the session could not be made again, and the state is another one "
                f"from then on; the first, {job} at {at:.1f} s"
            )


WAITED = "it waited on, and was held again"
"""What else becomes of a job that is released."""


@dataclass(frozen=True, slots=True)
class Causes:
    """Why decisions differ.

    A decision that is another one in the state that the session had differs by itself. Any other differs because the
    emulation had another state at that look; if that is so of a job that differs before, it follows from that.

    Attributes:
        otherwise: decisions that are others in the session's state.
        in_vain: what a job was instead, by (job, second) of each decision that Slurm did not carry out.
        session, emulated: what each job had, by look.
    """

    otherwise: Sequence[Otherwise]
    in_vain: Mapping[tuple[str, float], str]
    session: States
    emulated: States

    def of(self, pairs: Sequence[Pair]) -> dict[int, str]:
        """The cause of each pair that differs, by its place."""
        differ = {place: pair for place, pair in enumerate(pairs) if not pair.same}
        return {place: self._cause(pair, list(differ.values())) for place, pair in differ.items()}

    def _cause(self, pair: Pair, differ: Sequence[Pair]) -> str:
        by_itself = {(one.job, one.at) for one in self.otherwise}
        when = {(pair.job, start.at) for start in (pair.live, pair.emulated) if start is not None}
        if when & by_itself:
            return "by itself: it is decided otherwise in the state that the session had, too"
        for released in when & self.in_vain.keys():
            state = self.in_vain[released]
            return f"Slurm did not start it when it was released: {WAITED if state == 'PENDING' else f'it was {state}'}"
        found = self._apart(pair.first)
        earlier = [other for other in differ if other.first < pair.first and other.job in found]
        if earlier:
            return f"follows from {min(earlier, key=_first).job}"
        for job, (live, emulated) in found.items():
            return f"{job}: {live} in the session, {emulated} in the emulation"
        return "no cause is known: what jobs have is the same, and so is the decision by itself"

    def _apart(self, at: float) -> dict[str, tuple[str, str]]:
        """What jobs have otherwise at the last look until then."""
        looks = [look for look in self.session if look <= at and look in self.emulated]
        return apart(self.session[max(looks)], self.emulated[max(looks)]) if looks else {}


def _first(pair: Pair) -> tuple[float, str]:
    return pair.first, pair.job
