"""What comes of a run under Slurm's clock, for two forms of it to be held against each other."""

from __future__ import annotations

from emulator.engine.controller import Controller


def outcome_of(controller: Controller, until: float, shown: bool = True) -> list[tuple[object, ...]]:
    """All that was decided in a run, and all that waiting jobs showed on the way.

    Args:
        controller: of a run that has not begun.
        until: the instant at which it is left.
        shown: whether what jobs show counts.
    """
    seen: dict[tuple[object, ...], None] = {}

    def look() -> None:
        if shown:
            waiting = controller.cluster.waiting.values()
            seen.update({("shows", job.id, job.reason, job.planned_start): None for job in waiting})

    controller.run(until=until, observe=look)
    ended = controller.cluster.jobs.values()
    runs = [(job.id, run.start, run.end, run.allocation, run.backfilled) for job in ended for run in job.runs]
    return [*seen, *runs, *((job.id, job.state, job.reason) for job in ended)]
