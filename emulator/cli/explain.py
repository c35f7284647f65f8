"""``slurm-sim explain``: a job's story, in words."""

from __future__ import annotations

from pathlib import Path

import click

from emulator.cli import completion, shared

SHOWN = 40
"""Steps that are shown if not all are asked for: the first and the last ones."""


@click.command()
@click.argument("folder", type=completion.RUN)
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
    for line in story.lines(len(story.steps) if everything else SHOWN):
        shared.echo(line)
