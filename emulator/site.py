"""A site's own cluster and what is done on it, read from files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from emulator.config.operation import Operation
from emulator.config.options import Config
from emulator.config.sacctmgr import read_accounts
from emulator.config.sacctmgr.reader import add_accounts
from emulator.config.slurm import read_slurm_conf
from emulator.kinds import is_scenario
from emulator.operator.commands import TimedCommand
from emulator.workload.submissions import Submissions, read_submissions, refuse_reading

if TYPE_CHECKING:
    from emulator.config.sacctmgr import Accounts
    from emulator.config.slurm.model import SlurmConf
    from emulator.truth.inputs import Inputs


@dataclass(frozen=True)
class Site:
    """A cluster, and what is done on it.

    Attributes:
        conf: its configuration.
        submissions: what is submitted.
        actions: operators' commands, each at its second.
        slurm_conf: where the configuration was read from; None if a scenario has it.
        account_files: files of ``sacctmgr``.
        account_commands: commands of ``sacctmgr``, carried out after those.
    """

    conf: SlurmConf
    submissions: Submissions
    actions: Sequence[tuple[float, TimedCommand]]
    slurm_conf: Path | None
    account_files: tuple[Path, ...]
    account_commands: tuple[str, ...]
    _scenario: Inputs | None

    def accounts(self) -> Accounts | None:
        """Accounts and qualities of service, read each time, as a run may change them; None for none.

        Raises:
            InputError: all that is wrong in a file; or in a command, with its number.
        """
        if not self.account_files and not self.account_commands:
            return self._scenario.accounts() if self._scenario is not None else None
        accounts = read_accounts(*self.account_files)
        add_accounts(accounts, self.account_commands, "accounts.commands")
        return accounts

    def told(self) -> Site:
        """Itself with the submissions alone of which it is known where they stand: others are not told of after a run.

        A log of years takes a hundred megabytes, which its records can have then.
        """
        located = [request for request in self.submissions.requests if request.location]
        return replace(self, submissions=replace(self.submissions, requests=located))

    def operated(self, config: Config) -> Config:
        """Options of a run, with what a scenario says of scripts if they say nothing."""
        if self._scenario is None or config.operation != Operation():
            return config
        return replace(config, operation=self._scenario.operation)

    def described(self) -> dict[str, Any]:
        """What :func:`read_site_again` needs beside the trace, as data."""
        return {
            "slurm_conf": str(self.slurm_conf.absolute()) if self.slurm_conf is not None else None,
            "account_files": [str(file.absolute()) for file in self.account_files],
            "account_commands": list(self.account_commands),
            "actions": [[command.at, command.text, command.location] for _, command in self.actions],
        }


def read_site(
    trace: Path,
    slurm_conf: Path | None,
    reading: Mapping[str, Any],
    account_files: Sequence[Path] = (),
    account_commands: Sequence[str] = (),
) -> Site:
    """Read what there is to run on a cluster: a trace for the cluster of a ``slurm.conf``, or a scenario.

    Args:
        trace: the trace.
        slurm_conf: the configuration; None if it is that of the scenario.
        reading: options of reading a log.
        account_files: files of ``sacctmgr``.
        account_commands: commands of ``sacctmgr``.

    Raises:
        ConfigurationError: an option that cannot be said of such a trace.
        InputError: a file cannot be read.
    """
    scenario = _scenario(trace) if is_scenario(trace) else None
    if slurm_conf is not None:
        conf = read_slurm_conf(slurm_conf)
    else:
        assert scenario is not None, "else there is nothing to run on a cluster"
        conf = scenario.conf
    actions: list[tuple[float, TimedCommand]] = []
    if scenario is not None:
        refuse_reading(trace, reading, "a scenario")
        submissions = Submissions(list(scenario.requests), trace.name.partition(".")[0])
        actions = [(at, TimedCommand(at, text, str(trace))) for at, text in scenario.actions]
    else:
        submissions = read_submissions(trace, conf, reading)
    return Site(conf, submissions, actions, slurm_conf, tuple(account_files), tuple(account_commands), scenario)


def read_site_again(trace: Path, reading: Mapping[str, Any], described: Mapping[str, Any]) -> Site:
    """Read a site as it was read before.

    Args:
        trace: the trace.
        reading: options of reading a log.
        described: what :meth:`Site.described` said.

    Raises:
        ConfigurationError: as :func:`read_site`.
        InputError: as :func:`read_site`.
        KeyError, TypeError, ValueError: it did not say this.
    """
    conf = Path(described["slurm_conf"]) if described["slurm_conf"] is not None else None
    actions = [
        (float(at), TimedCommand(float(at), str(text), str(location))) for at, text, location in described["actions"]
    ]
    site = read_site(trace, conf, reading, list(map(Path, described["account_files"])), described["account_commands"])
    return replace(site, actions=actions)


def _scenario(trace: Path) -> Inputs:
    """What was done in a recorded scenario: configuration, submissions, commands."""
    from emulator.truth import Known
    from emulator.truth.inputs import inputs_of
    from emulator.workload.scenario_reader import read_scenario

    return inputs_of(read_scenario(trace), Known())
