"""Campaign files: workloads times policies times options times seeds, in TOML.

.. code-block:: toml

    [campaign]
    repetitions = 10                        # seeds 0 to 9
    metrics = ["mean_wait", "mbs"]          # what results shows first
    baseline = "EASY"                       # what the others are compared with

    [workloads.KTH]
    trace = "KTH-SP2-1996-2.1-cln.swf.gz"   # in the folder of this file, or in those of --traces
    processors = 100

    [workloads.model]
    model = "lublin99"
    jobs = 2000
    processors = 128
    load = { from = 0.5, to = 0.9, step = 0.1 }

    [policies]
    EASY = ["sched/easy"]

    [policies.history]
    use = ["sched/easy", "walltime/history"]
    plugins."walltime/history".percentile = [70, 85, 95]

    [policies."PV-EASY"]
    config = "papers/pv_easy"

    [simulation]
    passes = ["batch", "event"]

or, in Slurm's timing,

.. code-block:: toml

    [policies.site]
    slurm_conf = "slurm.conf"
    accounts = "sacctmgr.dump"

    [policies.oftener]
    slurm_conf = "slurm.conf"
    accounts = "sacctmgr.dump"
    set.SchedulerParameters.bf_interval = [10, 30]

    [policies.EASY]
    use = ["sched/easy"]
    slurm_conf = "slurm.conf"
    clock = ["slurm", "ideal"]

A campaign file is data. It names plugins but never loads code, and no path in it leads out
of the folders that the user named.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, get_args

from emulator.campaign.folders import SearchFolders
from emulator.campaign.generated import options_of
from emulator.campaign.measure import GROUPS, OF, Metrics
from emulator.campaign.slurm import REPLAYED
from emulator.campaign.variants import RANGE, check_count, values_of
from emulator.config.experiment import PREEMPTION, READING, SIMULATION, Experiment, read_experiment
from emulator.config.operation import KINDS as OPERATION
from emulator.config.options import Clock
from emulator.config.presets import presets
from emulator.config.slurm.releases import VERSIONS
from emulator.config.tables import check_keys, check_kind, check_table, parse_toml, text_of_toml
from emulator.kinds import TOML, reads
from emulator.metrics.catalogue import METRICS
from emulator.workload.filters import FILTERS
from slurm_sim_plugins.errors import ConfigurationError
from slurm_sim_plugins.manager import slots_for

TABLES = ("campaign", "workloads", "policies", "simulation", "preemption", "preset", "operation")
CAMPAIGN = {
    "name": str,
    "repetitions": int,
    "metrics": list,
    "baseline": str,
    "threshold": float,
    "warm_up": float,
    "records": bool,
    "by": list,
}
"""Keys of ``[campaign]``, beside ``seeds``."""
SHARED = {
    name: kind
    for name, kind in SIMULATION.items()
    if name not in ("processors", "seed", "explain", "clock", "slurm_version")
}
"""Keys of ``[simulation]``; processors belong to a workload, seeds to the campaign, clock and version to a policy."""
POLICY = (
    "use",
    "config",
    "plugins",
    "simulation",
    "preemption",
    "slurm_conf",
    "set",
    "accounts",
    "clock",
    "slurm_version",
    "operation",
)
IDEAL = ("config", "simulation", "preemption", "preset")
"""What a policy in Slurm's timing takes from its ``slurm.conf``."""
TAKEN = ("trace", "reading", "slots", "plugins", "simulation", "preemption", "preset")
"""What there may be in an experiment file where a policy begins."""
SHOWN = ("mean_wait", "mean_bounded_slowdown", "utilisation")
"""Metrics that results shows first where the file names none."""
CHOICES = {
    "filter": tuple(FILTERS),
    "processors_field": ("allocated", "requested", "either"),
    "malformed": ("error", "drop"),
    "cancelled": ("cancel", "drop"),
    "elsewhere": ("reject", "default"),
}
"""What some keys of a workload may be."""
MOST_SEED = 2**63


@dataclass(frozen=True)
class Policy:
    """What a file says of a policy: where it begins, and its options by path.

    One in Slurm's timing has an option ``slurm_conf``, and ``set.PARAMETER`` for what is changed.
    """

    name: str
    base: Experiment
    options: Mapping[str, Any]
    accounts: tuple[str, ...] = ()

    @property
    def in_slurms_timing(self) -> bool:
        """Whether it is that of a ``slurm.conf``."""
        return "slurm_conf" in self.options


@dataclass(frozen=True)
class Campaign:
    """What a campaign file says.

    Attributes:
        name: what to call it.
        file: the file.
        text: what is in it.
        seeds: one run of everything for each.
        metrics: what is shown first.
        baseline: the policy that others are compared with; empty for the first.
        measure: what is kept of a run.
        records: whether job records are kept too.
        workloads: options by name.
        policies: in the order of the file.
        shared: options of all runs, by path.
    """

    name: str
    file: Path
    text: str = field(repr=False)
    seeds: tuple[int, ...]
    metrics: tuple[str, ...]
    baseline: str
    measure: Metrics
    records: bool
    workloads: Mapping[str, Mapping[str, Any]]
    policies: Sequence[Policy]
    shared: Mapping[str, Any]
    folders: SearchFolders = field(repr=False)

    def about(self) -> dict[str, Any]:
        """What the folder of the results is to say of it."""
        return {
            "campaign": self.name,
            "file": self.file.name,
            "text": self.text,
            "metrics": list(self.metrics),
            "baseline": self.baseline or self.policies[0].name,
            "seeds": list(self.seeds),
        }


@reads(TOML)
def read_campaign(path: Path, folders: Sequence[Path] = ()) -> Campaign:
    """Read a campaign file.

    Args:
        path: the file.
        folders: further folders in which files lie that it names; its own is the first.

    Raises:
        InputError: it cannot be read, is not TOML, or names a file that is not there.
        ConfigurationError: an unknown table or key, a value that cannot be.
    """
    return parse_campaign(text_of_toml(path), path, folders)


def parse_campaign(text: str, path: Path, folders: Sequence[Path] = ()) -> Campaign:
    """As :func:`read_campaign`, of the text that is, or was, in a file.

    Raises:
        InputError: it is not TOML, or names a file that is not there.
        ConfigurationError: an unknown table or key, a value that cannot be.
    """
    data = parse_toml(text, path)
    check_keys(path, "", data, TABLES)
    tables = {name: check_table(path, name, data.get(name, {})) for name in TABLES}
    for name in ("workloads", "policies"):
        if not tables[name]:
            raise ConfigurationError(f"{path}: there are no {name}; write a table [{name}.NAME] for each")
    search = SearchFolders([path.absolute().parent, *folders])
    head = dict(tables["campaign"])
    seeds = _seeds(path, head)
    _check_all(path, "campaign", head, CAMPAIGN, several=False)
    metrics = head.get("metrics", list(SHOWN))
    _check_words(path, metrics, head.get("by", []))
    _check_all(path, "simulation", tables["simulation"], SHARED)
    _check_all(path, "preemption", tables["preemption"], PREEMPTION)
    _check_all(path, "operation", tables["operation"], OPERATION)
    shared = {f"{table}.{key}": value for table in TABLES[3:] for key, value in tables[table].items()}
    campaign = Campaign(
        name=head.get("name", path.stem),
        file=path,
        text=text,
        seeds=seeds,
        metrics=tuple(metrics) or SHOWN,
        baseline=head.get("baseline", ""),
        measure=Metrics(float(head.get("threshold", 10.0)), float(head.get("warm_up", 0.0)), tuple(head.get("by", ()))),
        records=head.get("records", False),
        workloads={name: _workload(path, name, table) for name, table in tables["workloads"].items()},
        policies=[_policy(path, name, table, search, shared) for name, table in tables["policies"].items()],
        shared=shared,
        folders=search,
    )
    if campaign.baseline and campaign.baseline not in tables["policies"]:
        check_keys(path, "policies: ", [campaign.baseline], tables["policies"])
    _check_machines(campaign)
    return campaign


def _check_words(path: Path, metrics: Sequence[Any], by: Sequence[Any]) -> None:
    """Check what is to be measured; a metric may be one of a group, which only the jobs know."""
    for metric in map(str, metrics):
        key, of, group = metric.partition(OF)
        if key not in METRICS or (of and group.partition(" ")[0] not in by):
            check_keys(path, "campaign.metrics: ", [metric], METRICS)
    check_keys(path, "campaign.by: ", map(str, by), GROUPS)


def _check_machines(campaign: Campaign) -> None:
    """Of a trace, processors are stated for ideal timing alone."""
    for name, options in campaign.workloads.items():
        if {"trace", "processors"} <= set(options) and all(each.in_slurms_timing for each in campaign.policies):
            raise ConfigurationError(
                f"{campaign.file}: workloads.{name}.processors: the machine is that of slurm_conf; leave it out"
            )


def _seeds(path: Path, head: dict[str, Any]) -> tuple[int, ...]:
    """The seeds, taken out of the table: as they are listed, or one for each repetition, from 0 on."""
    if "seeds" not in head:
        count = head.get("repetitions", 1)
        if not isinstance(count, int) or isinstance(count, bool) or count < 1:
            raise ConfigurationError(f"{path}: campaign.repetitions is a whole number, 1 or more, not {count!r}")
        check_count(count, f"{path}: campaign.repetitions")
        return tuple(range(count))
    if "repetitions" in head:
        raise ConfigurationError(f"{path}: campaign.seeds are the repetitions; leave campaign.repetitions out")
    seeds = values_of(head.pop("seeds"), f"{path}: campaign.seeds")
    for seed in seeds:
        if not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed < MOST_SEED:
            raise ConfigurationError(f"{path}: campaign.seeds are whole numbers, 0 or more, not {seed!r}")
    return tuple(seeds)


def _check_all(
    path: Path, table: str, values: Mapping[str, Any], kinds: Mapping[str, type], *, several: bool = True
) -> None:
    """Check keys, and kinds of all values; of a list or range of each of its values."""
    check_keys(path, f"{table}.", values, [*kinds, *(["seeds"] if table == "campaign" else [])])
    for key, value in values.items():
        if kinds[key] is list:
            if not isinstance(value, list):
                raise ConfigurationError(f"{path}: {table}.{key} is a list, not {value!r}")
            continue
        for each in values_of(value, f"{path}: {table}.{key}") if several else [value]:
            check_kind(path, table, key, each, kinds[key])


def _workload(path: Path, name: str, table: Any) -> dict[str, Any]:
    """The options of a workload, checked as far as that can be done alone."""
    options = check_table(path, f"workloads.{name}", table)
    if ("trace" in options) == ("model" in options):
        raise ConfigurationError(f"{path}: workloads.{name} needs a trace or a model, one of them")
    if "trace" in options:
        _check_all(path, f"workloads.{name}", options, {"trace": str, "processors": int, **READING, **REPLAYED})
        for key in [key for key in CHOICES if key in options]:
            for value in values_of(options[key], f"{path}: workloads.{name}.{key}"):
                check_keys(path, f"workloads.{name}.{key}: ", [value], CHOICES[key])
        return options
    for model in values_of(options["model"], f"{path}: workloads.{name}.model"):
        check_keys(path, f"workloads.{name}.", options, ["model", *options_of(model)])
    if isinstance(options.get("parameters", ""), list | dict):
        raise ConfigurationError(f"{path}: workloads.{name}.parameters is one file; write another workload")
    return options


def _policy(path: Path, name: str, table: Any, search: SearchFolders, shared: Mapping[str, Any]) -> Policy:
    """A policy: a list of plugins, or a table."""
    stated = f"policies.{name}"
    given = {"use": table} if isinstance(table, list) else check_table(path, stated, table)
    check_keys(path, f"{stated}.", given, POLICY)
    use = given.get("use", [])
    if not isinstance(use, list) or not all(isinstance(each, str) for each in use):
        raise ConfigurationError(f"{path}: {stated}.use is a list of plugins, such as ['sched/easy'], not {use!r}")
    options: dict[str, Any] = {}
    for plugin, values in check_table(path, f"{stated}.plugins", given.get("plugins", {})).items():
        for key, value in check_table(path, f"{stated}.plugins.{plugin}", values).items():
            options[f"{plugin}.{key}"] = value
    for part, kinds in (("simulation", SHARED), ("preemption", PREEMPTION), ("operation", OPERATION)):
        values = check_table(path, f"{stated}.{part}", given.get(part, {}))
        _check_all(path, f"{stated}.{part}", values, kinds)
        options.update({f"{part}.{key}": value for key, value in values.items()})
    twice = [key for key in options if key in shared]
    if twice:
        raise ConfigurationError(f"{path}: {twice[0]} is stated for all policies, and for {name}; state it once")
    options.update(_slurm(path, stated, given, shared))
    accounts = given.get("accounts", [])
    accounts = accounts if isinstance(accounts, list) else [accounts]
    for file in accounts:
        check_kind(path, stated, "accounts", file, str)
    return Policy(name, _base(path, stated, given.get("config"), use, search), options, tuple(accounts))


def _slurm(path: Path, stated: str, given: Mapping[str, Any], shared: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a policy in Slurm's timing that are not those of its plugins."""
    if "slurm_conf" not in given:
        _refuse_slurms(path, stated, given, shared)
        return {}
    ideal = [key for key in shared if not key.startswith("operation.")]
    elsewhere = [*(f"{stated}.{key}" for key in IDEAL if key in given), *ideal]
    if elsewhere:
        raise ConfigurationError(
            f"{path}: {elsewhere[0]} is for ideal timing, and {stated} has slurm_conf; write {stated}.set.PARAMETER"
        )
    options = {key: given[key] for key in ("slurm_conf", "clock", "slurm_version") if key in given}
    _check_all(path, stated, options, dict.fromkeys(options, str))
    for clock in values_of(options.get("clock", "slurm"), f"{path}: {stated}.clock"):
        check_keys(path, f"{stated}.clock: ", [clock], get_args(Clock))
    if "slurm_version" in options:
        for version in values_of(options["slurm_version"], f"{path}: {stated}.slurm_version"):
            check_keys(path, f"{stated}.slurm_version: ", [version], VERSIONS)
    for parameter, value in check_table(path, f"{stated}.set", given.get("set", {})).items():
        if isinstance(value, dict) and not set(value) <= set(RANGE):
            options.update({f"set.{parameter}.{option}": each for option, each in value.items()})
        else:
            options[f"set.{parameter}"] = value
    return options


def _refuse_slurms(path: Path, stated: str, given: Mapping[str, Any], shared: Mapping[str, Any]) -> None:
    """Refuse what a policy without a ``slurm.conf`` has no use for."""
    for key in ("set", "accounts", "clock", "slurm_version", "operation"):
        if key in given:
            raise ConfigurationError(f"{path}: {stated}.{key} goes with slurm_conf; name that file too")
    if any(key.startswith("operation.") for key in shared):
        raise ConfigurationError(f"{path}: operation goes with slurm_conf, which {stated} has not")


def _base(path: Path, stated: str, config: Any, use: list[str], search: SearchFolders) -> Experiment:
    """Where a policy begins: a preset or an experiment file, and the plugins that it uses."""
    base = Experiment(None, {}, {}, {}, {}, {})
    if config is not None:
        check_kind(path, stated, "config", config, str)
        known = config in presets()
        base = read_experiment(Path(config) if known else search.find(config, f"{path}: {stated}.config"))
        if base.trace is not None:
            raise ConfigurationError(f"{path}: {stated}.config names a trace; workloads are those of the campaign")
        others = [item.name for item in fields(base) if item.name not in TAKEN and getattr(base, item.name)]
        if others:
            raise ConfigurationError(f"{path}: {stated}.config states {others[0]}, which a campaign has no use for")
    try:
        return replace(base, slots={**base.slots, **slots_for(use)})
    except ConfigurationError as error:
        raise ConfigurationError(f"{path}: {stated}.use: {error}") from error
