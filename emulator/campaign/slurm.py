"""Runs in Slurm's timing: the cluster of a ``slurm.conf``, with changes and accounts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from emulator.accounting.describe import hash_of_conf
from emulator.campaign import jobs
from emulator.campaign.generated import Generated
from emulator.campaign.hashes import fresh_hash_of, hash_of
from emulator.config.options import Clock, Config
from emulator.config.slurm.changes import LOCATION, Change
from emulator.config.slurm.vocabulary import Status
from slurm_sim_plugins.errors import ConfigurationError, InputError

if TYPE_CHECKING:
    from emulator.accounting.records import Records
    from emulator.config.sacctmgr import Accounts
    from emulator.config.slurm.model import SlurmConf
    from slurm_sim_plugins.manager import Catalogue

REPLAYED = {"zone": str, "cancelled": str, "elsewhere": str}
"""Keys of a workload that is a dump, as the options of ``slurm-sim replay``."""
LOGS = ("filter", "processors_field", "first_submit", "malformed")
READ = {"events": (), "dump": ("malformed", *REPLAYED), "log": LOGS}
"""How a workload can be read for Slurm's timing, by what it is."""
CONFIGURATIONS_KEPT = 16


@dataclass(frozen=True)
class Cluster:
    """A site's own cluster.

    Attributes:
        conf: its ``slurm.conf``, beside which ``gres.conf`` and ``topology.conf`` may lie.
        changes: parameters that have other values than the files say.
        accounts: a dump of ``sacctmgr``, scripts of its commands; none for no accounts.
        clock: ``slurm`` or ``ideal``.
        slurm_version: whose rules hold; None for the newest.
    """

    conf: Path
    changes: tuple[tuple[str, Change], ...] = ()
    accounts: tuple[Path, ...] = ()
    clock: Clock = "slurm"
    slurm_version: str | None = None

    def stated(self) -> dict[str, Any]:
        """All that decides what the cluster does, as data; where files lie is no part of it.

        Raises:
            InputError: a file cannot be read, or something in it is wrong.
        """
        return {
            "conf": _hash_of(self.conf, self.changes),
            "accounts": [hash_of(file) for file in self.accounts],
            "clock": self.clock,
            "slurm_version": self.slurm_version,
            # Scripts that JobSubmitPlugins may name.
            "scripts": [hash_of(file) for file in sorted(self.conf.parent.glob("*.lua"))],
        }

    def read(self) -> SlurmConf:
        """The configuration.

        Raises:
            InputError: it cannot be read, something in it is wrong, or it changed.
        """
        conf, hashed = _read(self.conf, self.changes)
        if hashed != _hash_of(self.conf, self.changes):
            raise InputError(f"{self.conf}: changed since it was first read; resume the campaign")
        return conf

    def check(self, config: Config, catalogue: Catalogue) -> None:
        """Make the plugins of a run on it once.

        Raises:
            ConfigurationError: a plugin or an option that there is not.
        """
        from emulator.scheduling.policies import plugins_of
        from emulator.slots import told_with_its_line

        conf = self.read()
        with told_with_its_line(conf, config.slots):
            plugins_of(conf, config.slots, catalogue=catalogue, options=config.plugin_options)

    def tree(self) -> Accounts | None:
        """Accounts, read each time, as a run may change them; None for none.

        Raises:
            InputError: something in a file is wrong, or it changed.
        """
        from emulator.config.sacctmgr import read_accounts

        if not self.accounts:
            return None
        read = read_accounts(*self.accounts)
        for file in self.accounts:
            if fresh_hash_of(file) != hash_of(file):
                raise InputError(f"{file}: changed while it was read; resume the campaign")
        return read

    def records(
        self, source: Path | Generated, reading: Mapping[str, Any], config: Config, catalogue: Catalogue
    ) -> Records:
        """Run jobs on it, and tell what became of them.

        Args:
            source: submission events, a dump, any other log, or a model.
            reading: how to read it.
            config: plugins instead of Slurm's, their options and the seed.
            catalogue: where the plugins are.

        Raises:
            SlurmSimError: it cannot be run.
        """
        from emulator.api import simulate
        from emulator.replay.emulate import Options, emulate
        from emulator.workload.submissions import Submissions, submissions_of

        conf = self.read()
        config = replace(config, clock=self.clock, slurm_version=self.slurm_version)
        further: dict[str, Any] = {"accounts": self.tree(), "config": config, "catalogue": catalogue}
        if isinstance(source, Path) and jobs.kind_of(source) == "events":
            return simulate(Submissions(jobs.events(source)), conf, **further).records
        if isinstance(source, Path) and jobs.kind_of(source) == "dump":
            options = Options(**{key: reading[key] for key in ("cancelled", "elsewhere") if key in reading})
            log = jobs.dump(source, {key: reading[key] for key in ("zone", "malformed") if key in reading})
            return emulate(log, conf, options, **further).records
        workload = jobs.workload(source, sum(node.cpus for node in conf.nodes), reading)
        return simulate(submissions_of(workload, conf), conf, **further).records


def check_reading(source: Path, options: Iterable[str]) -> None:
    """Refuse what cannot be said of a trace in Slurm's timing.

    Args:
        source: the trace.
        options: keys of the workload.

    Raises:
        ConfigurationError: one of them.
    """
    kind = jobs.kind_of(source)
    for key in options:
        if key not in ("trace", "processors", *READ[kind]):
            known = f"only {', '.join(READ[kind])}" if READ[kind] else "nothing else"
            raise ConfigurationError(f"{key}: with slurm_conf {known} can be said of {source.name}; leave it out")


def notices(clusters: Iterable[Cluster]) -> list[str]:
    """What the author of the configurations should know, each sentence once."""
    return list(dict.fromkeys(sentence for cluster in dict.fromkeys(clusters) for sentence in _told(cluster)))


def _told(cluster: Cluster) -> Iterator[str]:
    """Of a cluster: what was found in its files, which changes change nothing, what is missed without accounts."""
    conf = cluster.read()
    yield from map(str, conf.notices)
    changed = {name.lower() for name, _ in cluster.changes}
    for _, setting in conf.entries:
        is_changed = setting.location == LOCATION and {setting.name.lower(), setting.part_of.lower()} & changed
        if is_changed and setting.word.status is not Status.HONOURED:
            yield f"{LOCATION}: {setting.name} is {setting.word.status.value}: {setting.word.note}"
    tree = cluster.tree()
    if tree is not None and tree.remark():
        yield f"{cluster.accounts[0]}: {tree.remark()}"
    if not cluster.accounts and "AccountingStorageEnforce" in conf.parameters:
        yield f"{cluster.conf}: without accounts limits of accounts and QOS do not hold, and fair share counts nothing"


def forget_files() -> None:
    """Read configurations again when they are next needed, and look again what a trace is."""
    _read.cache_clear()
    _hash_of.cache_clear()
    jobs.kind_of.cache_clear()


@lru_cache(CONFIGURATIONS_KEPT)
def _read(file: Path, changes: tuple[tuple[str, Change], ...]) -> tuple[SlurmConf, str]:
    """A configuration, and the hash of what it was read from."""
    from emulator.config.slurm import read_slurm_conf

    conf = read_slurm_conf(file, dict(changes))
    for name in dict.fromkeys(setting.location.file for _, setting in conf.entries if setting.location.line):
        if not Path(name).resolve().is_relative_to(file.parent):
            raise InputError(f"{name}: is a link out of {file.parent}; put the file itself there")
    return conf, hash_of_conf(conf)


@cache
def _hash_of(file: Path, changes: tuple[tuple[str, Change], ...]) -> str:
    """The hash of a configuration as it was when it was first asked for."""
    return _read(file, changes)[1]
