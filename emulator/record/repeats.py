"""Several recordings of one scenario: which is kept, and what of it is noise, for the others say otherwise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from emulator.truth.compare import Difference, Pair, compare
from emulator.truth.recorded import Recording, is_job_id, recording_of
from emulator.workload.scenario import Scenario


def merge(repeats: Sequence[Scenario]) -> tuple[int, list[dict[str, str]]]:
    """The recording that is most like the others, and what is noise in it.

    Args:
        repeats: recordings of one scenario.

    Returns:
        Its index, and rows of ``job``, ``what`` and ``reason`` of each item that differs in another one.
    """
    found = [[each for other in repeats if other is not one for each in differences(one, other)] for one in repeats]
    best = min(range(len(repeats)), key=lambda index: len(found[index]))
    noise = {(each.job, each.what): f"{each.recorded}; in another repeat {each.emulated}" for each in found[best]}
    return best, [{"job": job, "what": what, "reason": noise[job, what]} for job, what in sorted(noise)]


def differences(one: Scenario, other: Scenario) -> Iterator[Difference]:
    """In which items two recordings of one scenario differ."""
    first, second = recording_of(one), recording_of(other)
    theirs = _by_name(other, second)
    pairs = [
        Pair(key, name, first.jobs[key], (second.jobs[theirs[name]],), either=False)
        for name, key in _by_name(one, first).items()
        if name in theirs
    ]
    yield from compare(pairs, first)
    refused = [{row.name: row.error for row in each.recorded.rejected or ()} for each in (one, other)]
    for name in sorted(refused[0].keys() | refused[1].keys()):
        words = [each.get(name, "was accepted") for each in refused]
        if words[0] != words[1]:
            yield Difference(name, "rejection", *words)


def _by_name(scenario: Scenario, recording: Recording) -> Mapping[str, str]:
    """Keys of a recording by the names of the jobs, whose ids may be others in a repeat."""
    names = {str(job.id): job.name for job in scenario.submissions}
    return {names.get(key, key): key for key in recording.jobs if key in names or not is_job_id(key)}
