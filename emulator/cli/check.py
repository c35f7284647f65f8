"""``slurm-sim check``: does a plugin do what plugins must?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from emulator.cli import completion, shared
from slurm_sim_plugins.errors import ConfigurationError, PluginError

if TYPE_CHECKING:
    from emulator.testing.conformance import Outcome, Report
    from slurm_sim_plugins.manager import PluginInfo


@click.command()
@click.argument("plugin", type=completion.Plugin())
@click.option(
    "--set",
    "settings",
    multiple=True,
    type=completion.Setting(),
    metavar="PLUGIN.OPTION=VALUE",
    help="Check it with this option of the plugin.",
)
@click.option("--only", "checks", multiple=True, metavar="CHECK", help="Run this check, not all.  Several times.")
@click.option(
    "--expect", "expected", multiple=True, metavar="CHECK=REASON", help="This check is known to fail, for a reason."
)
@click.option("--examples", type=click.IntRange(min=1), help="How many random workloads to try.  [default: 60]")
@click.option("--json", "as_json", is_flag=True, help="Print what was found as JSON.")
def check(
    plugin: str,
    settings: tuple[str, ...],
    checks: tuple[str, ...],
    expected: tuple[str, ...],
    examples: int | None,
    as_json: bool,
) -> None:
    """Check a plugin: its name, a file, or a folder of files.

    All checks are run and all failures told, each with the line at fault and what to do.

    \b
    slurm-sim check priority/mine
    slurm-sim check mine.py --expect long_queue="made for short ones"
    """
    from emulator.testing.conformance import run_checks

    options = shared.plugin_settings(settings)
    infos = _found(plugin)
    for name in options:
        if name not in [info.name for info in infos]:
            raise ConfigurationError(
                f"--set {name}: checked are {', '.join(info.name for info in infos)}, and no other plugin"
            )
    reports: list[Report] = []
    for info in infos:
        if not as_json:
            shared.echo(f"{info.name} ({info.origin})")
        report = run_checks(
            info.factory,
            options=options.get(info.name),
            expected_failures=_expected(expected),
            checks=checks or None,
            examples=examples,
            told=None if as_json else _tell,
        )
        reports.append(report)
    if as_json:
        shared.print_json({report.plugin: {each.check: vars(each) for each in report} for report in reports})
    else:
        shared.echo("\n".join(report.summary for report in reports))
    if any(report.failures for report in reports):
        raise click.exceptions.Exit(PluginError.exit_code)


def _found(plugin: str) -> list[PluginInfo]:
    """The plugins of a file or folder, or the one of a name."""
    from slurm_sim_plugins.manager import discover

    path = Path(plugin)
    if path.suffix == ".py" or path.is_dir():
        given = {"folders": [path]} if path.is_dir() else {"files": [path]}
        catalogue = discover(**given, installed=False)
        return [info for info in catalogue if info.origin.startswith(str(path))]
    catalogue = discover()
    info = catalogue.get(plugin)
    if info is None:
        raise ConfigurationError(
            f"there is no plugin {plugin!r}; give a file that ends in .py, a folder, or one of "
            f"{', '.join(known.name for known in catalogue)}"
        )
    return [info]


def _expected(given: tuple[str, ...]) -> dict[str, str]:
    expected = {}
    for text in given:
        name, equals, reason = text.partition("=")
        if not equals or not reason.strip():
            raise ConfigurationError(f"--expect {text}: write it as CHECK=REASON, with the reason why it fails")
        expected[name] = reason.strip()
    return expected


def _tell(outcome: Outcome) -> None:
    shared.echo(f"  {outcome}")
