"""``slurm-sim job-submit``: unit tests of a job_submit.lua, and two of them on a log."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path

import click

from emulator.cli import completion, shared

DIFFERS = 1
"""Exit code where a case fails."""
CONF = click.option("--slurm-conf", required=True, type=shared.PATH, help="The slurm.conf of the cluster.")


@click.group("job-submit")
def job_submit() -> None:
    """Try out a job_submit.lua."""


@job_submit.command("test")
@click.argument("script", type=shared.PATH)
@click.argument("cases", type=shared.PATH)
@CONF
@shared.version_option
@click.pass_context
def test(context: click.Context, script: Path, cases: Path, slurm_conf: Path, slurm_version: str | None) -> None:
    """Does the script judge these submissions and changes as expected?

    CASES is a list in YAML. A case has "sbatch" (options, as on the command line), perhaps a "name" and a "user", and
    what is expected: "set", fields of job_desc as they are behind the script, or "refuse", words of the message. With
    "update" (fields of scontrol, such as TimeLimit=10) the job is submitted, and slurm_job_modify is asked of that
    change. The exit code is 1 if a case fails.

    \b
    slurm-sim job-submit test job_submit.lua cases.yaml --slurm-conf slurm.conf
    """
    from emulator.config.slurm import read_slurm_conf
    from emulator.operator.job_submit import Script, read_cases

    tried, asked = read_cases(cases), Script(script, shared.under(read_slurm_conf(slurm_conf), slurm_version))
    failed = 0
    for case in tried:
        wrong = case.failed(asked)
        failed += bool(wrong)
        shared.echo(f"FAILED  {case.name}: {wrong}" if wrong else f"ok      {case.name}")
    shared.echo(f"{len(tried) - failed} of {len(tried)} cases as expected")
    context.exit(DIFFERS if failed else 0)


@job_submit.command("diff")
@click.argument("old", type=shared.PATH)
@click.argument("new", type=shared.PATH)
@click.argument("trace", type=completion.TRACE)
@CONF
@shared.version_option
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True, help="Print so many.")
@click.option("--json", "as_json", is_flag=True, help="Print all as JSON.")
@shared.progress_option
def diff(
    old: Path,
    new: Path,
    trace: Path,
    slurm_conf: Path,
    slurm_version: str | None,
    limit: int,
    as_json: bool,
    progress: bool | None,
) -> None:
    """Which submissions of a log do two scripts judge otherwise?

    \b
    slurm-sim job-submit diff job_submit.lua changed.lua jobs.events --slurm-conf slurm.conf
    """
    from emulator.config.slurm import read_slurm_conf
    from emulator.operator.job_submit import Script, differences
    from emulator.workload.submissions import read_submissions

    conf = shared.under(read_slurm_conf(slurm_conf), slurm_version)
    with shared.reading(trace, progress):
        requests = read_submissions(trace, conf, {}).requests
    with shared.progress("submissions", len(requests), progress) as report:
        found = list(differences(Script(old, conf), Script(new, conf), shared.told_of(requests, report)))
    if as_json:
        rows = [{"job": request.id, "user": request.user, "old": was, "new": now} for request, was, now in found]
        shared.echo(json.dumps({"submissions": len(requests), "judged_otherwise": rows}, indent=2))
        return
    for request, was, now in islice(found, limit):
        shared.echo(f"job {request.id} of {request.user or 'an unknown user'}: {was} -> {now}")
    if len(found) > limit:
        shared.echo(f"... {len(found) - limit} more; --limit {len(found)} prints them")
    shared.echo(f"{len(found)} of {len(requests)} submissions are judged otherwise")
