"""``slurm-sim explain``: a job's story, in words."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from emulator.cli import shared

if TYPE_CHECKING:
    from emulator.explain.story import Step, Story

SHOWN = 40
"""Steps that are shown if not all are asked for: the first and the last ones."""


@click.command()
@click.argument("folder", type=shared.PATH)
@click.argument("job", type=int)
@click.option("--all", "everything", is_flag=True, help=f"Show every step, not only {SHOWN} of them.")
@shared.json_option
def explain(folder: Path, job: int, everything: bool, as_json: bool) -> None:
    """Tell the story of a job: why it waited, which plugin decided, which run was preempted for which job.

    \b
    slurm-sim run TRACE --explain --out run
    slurm-sim explain run 4711

    Of a run that was made without --explain it tells what happened, but not who decided; why the job waited is known
    on the cluster of a slurm.conf.
    """
    from emulator.accounting.runfolder import read_run
    from emulator.explain.story import tell

    run = read_run(folder)
    story = tell(run, job)
    if as_json:
        steps = [{"time": step.time, "what": step.what, "text": step.text} for step in story.steps]
        shared.print_json(
            {"job": dict(story.job), "explained": story.explained, "reasons": story.reasons, "steps": steps}
        )
        return
    for line in told(story, run.records.epoch, len(story.steps) if everything else SHOWN):
        shared.echo(line)


def told(story: Story, epoch: int | None, most: int) -> list[str]:
    """A story as lines: the time, the time since the submission, what happened."""
    steps = story.steps
    left_out = len(steps) - most
    shown: list[Step | None] = list(steps)
    if left_out > 0:
        shown = [*steps[: most // 2], None, *steps[len(steps) - (most - most // 2) :]]
    rows = [_row(step, story, epoch, left_out) for step in shown]
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    lines = [f"job {story.job['job_id']}"]
    lines += [f"  {time.rjust(widths[0])}  {since.rjust(widths[1])}  {text}" for time, since, text in rows]
    if not story.explained:
        lacks = "Who decided" if story.reasons else "Why it waited and who decided"
        lines.append(f"{lacks} is not known: the run was made without --explain.")
    return lines


def _row(step: Step | None, story: Story, epoch: int | None, left_out: int) -> tuple[str, str, str]:
    from emulator.report.numbers import duration_text, instant_text

    if step is None:
        return "...", "", f"{left_out} more steps; --all shows them"
    since = step.time - story.job["submit"]
    return instant_text(step.time, epoch), f"+{duration_text(since)}", step.text
