"""``slurm-sim sbatch``: what a cluster makes of job scripts."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from emulator.cli import shared

if TYPE_CHECKING:
    from emulator.operator.test_only import Verdict


@click.command()
@click.argument("scripts", type=shared.PATH, nargs=-1, required=True)
@click.option("--slurm-conf", required=True, type=shared.PATH, help="The slurm.conf of the cluster.")
@click.option("--accounts", type=shared.PATH, multiple=True, help="A dump of sacctmgr, or a script of its commands.")
@click.option("--user", default="", help="Submit as this user.")
@shared.version_option
@click.option("--json", "as_json", is_flag=True, help="Print the verdicts as JSON.")
@click.pass_context
def sbatch(
    context: click.Context,
    scripts: tuple[Path, ...],
    slurm_conf: Path,
    accounts: tuple[Path, ...],
    user: str,
    slurm_version: str | None,
    as_json: bool,
) -> None:
    """Would the cluster take these job scripts, and what would each get if it were idle?

    As sbatch --test-only: the #SBATCH lines are read, nothing is run. --begin, --deadline, --dependency, --hold and
    --array are left out. The exit code is 3 if a script is refused or could never start.

    \b
    slurm-sim sbatch job.sh --slurm-conf slurm.conf
    """
    from emulator.config.slurm import read_slurm_conf
    from emulator.operator.test_only import Verdict, judge
    from emulator.workload.job_script import check_script
    from emulator.workload.logfile import bytes_of, text_of

    conf = shared.under(read_slurm_conf(slurm_conf), slurm_version)
    known = shared.read_accounts(accounts)
    found: dict[str, Verdict] = {}
    for script in scripts:
        text = text_of(str(script), bytes_of(str(script)), "a job script")
        try:
            check_script(text)
            found[str(script)] = judge(text, conf, known, user)
        except ValueError as error:
            found[str(script)] = Verdict(reason=f"sbatch: {error}")
    if as_json:
        shared.echo(json.dumps({name: asdict(verdict) for name, verdict in found.items()}, indent=2))
    else:
        for name, verdict in found.items():
            shared.echo(f"{name}: {_told(verdict)}")
            for note in verdict.notes:
                shared.echo(f"  {note}")
    context.exit(3 if any(verdict.reason for verdict in found.values()) else 0)


def _told(verdict: Verdict) -> str:
    if verdict.reason:
        return f"does not start: {verdict.reason}"
    parts = [f"{verdict.cpus} CPUs", f"{verdict.memory} MB" if verdict.memory else ""]
    parts += [f"{count} {name}" for name, count in verdict.gres]
    return f"starts on {verdict.nodes} with {', '.join(filter(None, parts))}"
