"""From a campaign file to its runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from emulator.campaign import generated, plugins
from emulator.campaign.file import Campaign, Policy
from emulator.campaign.generated import Generated
from emulator.campaign.jobs import kind_of
from emulator.campaign.slurm import REPLAYED, Cluster, check_reading
from emulator.campaign.spec import RunSpec
from emulator.campaign.variants import Variant, check_count, variants
from emulator.config.experiment import READING
from emulator.config.operation import FILES, Operation, with_files
from emulator.config.options import Config
from emulator.config.preemption import Preemption
from emulator.config.sacctmgr import read_accounts
from slurm_sim_plugins.errors import ConfigurationError, InputError
from slurm_sim_plugins.manager import select


class Way(NamedTuple):
    """One way to run a workload: a policy with its options, and the options of all."""

    policy: str
    setting: Variant
    variant: Variant
    config: Config
    cluster: Cluster | None


def expand(campaign: Campaign, files: Sequence[Path] = ()) -> list[RunSpec]:
    """All runs of a campaign, those of one workload side by side.

    Args:
        campaign: what the file says.
        files: plugin files that the user named; each is code, and it is run.

    Raises:
        ConfigurationError: an option, slot or plugin that cannot be used.
        InputError: a file that is not there.
        PluginError: a plugin cannot be loaded.
    """
    path = campaign.file
    loaded = tuple(dict.fromkeys(file.resolve() for file in files))
    settings = variants(campaign.shared, str(path))
    policies = [(each, variants(each.options, f"{path}: policies.{each.name}")) for each in campaign.policies]
    workloads = {name: variants(options, f"{path}: workloads.{name}") for name, options in campaign.workloads.items()}
    ways = sum(len(each) for _, each in policies) * len(settings)
    check_count(ways * sum(map(len, workloads.values())) * len(campaign.seeds), str(path))
    accounts = {policy.name: _accounts(campaign, policy) for policy in campaign.policies}
    made = []
    for setting in settings:
        for policy, each in policies:
            for variant in each:
                cluster = _cluster(campaign, policy, variant, accounts[policy.name])
                config = _config(campaign, policy, variant, setting, loaded, cluster)
                made.append(Way(policy.name, setting, variant, config, cluster))
    return [
        _spec(campaign, name, workload, seed, source, way, loaded)
        for name, each in workloads.items()
        for workload in each
        for seed, source in _sources(campaign, name, workload, made)
        for way in made
    ]


def _sources(
    campaign: Campaign, name: str, workload: Variant, ways: Sequence[Way]
) -> list[tuple[int, Path | Generated]]:
    """Where the jobs come from, for each seed."""
    stated = f"{campaign.file}: workloads.{name}"
    options = dict(workload.values)
    if "trace" in options:
        trace = campaign.folders.find(options["trace"], f"{stated}.trace")
        _check(f"{stated}.", trace, options, ways)
        return [(seed, trace) for seed in campaign.seeds]
    model = options.pop("model")
    file = options.pop("parameters", None)
    try:
        generated.check(model, options)
    except ConfigurationError as error:
        raise ConfigurationError(f"{stated}: {error}") from error
    parameters = campaign.folders.find(file, f"{stated}.parameters") if file is not None else None
    return [(seed, Generated(model, seed, tuple(sorted(options.items())), parameters)) for seed in campaign.seeds]


def _config(
    campaign: Campaign,
    policy: Policy,
    variant: Variant,
    setting: Variant,
    files: tuple[Path, ...],
    cluster: Cluster | None,
) -> Config:
    """The configuration of a policy, tried out: its plugins are there, and take their options."""
    stated = f"{campaign.file}: policies.{policy.name}"
    base = policy.base
    tables: dict[str, dict[str, Any]] = {name: dict(values) for name, values in base.plugins.items()}
    tables.update(simulation=dict(base.simulation), preemption=dict(base.preemption))
    chosen = {where: value for where, value in variant.values.items() if not _is_slurms(where)}
    for where, value in {**setting.values, **chosen}.items():
        table, _, key = where.rpartition(".")
        tables.setdefault(table, {})[key] = value
    simulation, preemption = tables.pop("simulation"), tables.pop("preemption")
    operation = tables.pop("operation", {})
    for option in FILES:
        if option in operation:
            operation[option] = campaign.folders.find(operation[option], f"{stated}: operation.{option}")
    for plugin, options in tables.items():
        for option in [option for option, value in options.items() if plugins.is_file(option, value)]:
            options[option] = str(campaign.folders.find(options[option], f"{stated}: {plugin}.{option}"))
    try:
        config = Config(
            slots=dict(base.slots),
            plugin_options=tables,
            preemption=Preemption(**preemption),
            operation=Operation(**with_files(operation)),
            **simulation,
        )
        catalogue = plugins.found(files)[0].copy()
        if cluster is None:
            select(catalogue, config.slots, config.plugin_options)
        else:
            cluster.check(config, catalogue)
    except ConfigurationError as error:
        raise ConfigurationError(f"{stated}: {error}") from error
    return config


def _is_slurms(where: str) -> bool:
    return where in ("slurm_conf", "clock", "slurm_version") or where.startswith("set.")


def _accounts(campaign: Campaign, policy: Policy) -> tuple[Path, ...]:
    """The files of accounts of a policy in Slurm's timing, tried out."""
    stated = f"{campaign.file}: policies.{policy.name}.accounts"
    files = tuple(campaign.folders.find(file, stated) for file in policy.accounts)
    if files:
        try:
            read_accounts(*files)
        except InputError as error:
            raise InputError(f"{stated}: {error}") from error
    return files


def _cluster(campaign: Campaign, policy: Policy, variant: Variant, accounts: tuple[Path, ...]) -> Cluster | None:
    """The cluster of a policy in Slurm's timing, tried out; None for ideal timing."""
    if not policy.in_slurms_timing:
        return None
    from emulator.slots import PLUGGED

    stated = f"{campaign.file}: policies.{policy.name}"
    for slot, plugin in policy.base.slots.items():
        if slot not in PLUGGED:
            raise ConfigurationError(
                f"{stated}.use: {plugin}: in Slurm's timing plugins can take {', '.join(PLUGGED)}; the rest is Slurm's"
            )
    cluster = Cluster(
        campaign.folders.find(variant.values["slurm_conf"], f"{stated}.slurm_conf"),
        tuple(
            (where.removeprefix("set."), value) for where, value in variant.values.items() if where.startswith("set.")
        ),
        accounts,
        variant.values.get("clock", "slurm"),
        variant.values.get("slurm_version"),
    )
    try:
        cluster.read()
    except (ConfigurationError, InputError) as error:
        raise type(error)(f"{stated}.slurm_conf: {error}") from error
    return cluster


def _check(stated: str, trace: Path, options: Mapping[str, Any], ways: Sequence[Way]) -> None:
    """Refuse a trace that cannot be what a policy is to run, or what is said of it."""
    for way in {way.cluster is None: way for way in ways}.values():
        if way.cluster is not None:
            try:
                check_reading(trace, options)
            except ConfigurationError as error:
                raise ConfigurationError(f"{stated}{error}") from error
            continue
        if kind_of(trace) == "events":
            raise ConfigurationError(f"{stated}trace: submission events need a slurm_conf; {way.policy} has none")
        for key in REPLAYED:
            if key in options:
                raise ConfigurationError(f"{stated}{key} goes with slurm_conf; {way.policy} has none")


def _spec(
    campaign: Campaign,
    name: str,
    workload: Variant,
    seed: int,
    source: Path | Generated,
    way: Way,
    files: tuple[Path, ...],
) -> RunSpec:
    """One run; a workload and the options of all policies are what policies are compared on."""
    given = workload.values
    keys = (*READING, *REPLAYED)
    reading = {key: value for key, value in given.items() if key in keys} if isinstance(source, Path) else {}
    processors = given.get("processors", way.config.processors) if way.cluster is None else None
    if "realtime" in reading:
        reading.setdefault("realtime_seed", seed)
    where = Variant({}, {**workload.varied, **way.setting.varied}).label(name)
    policy = way.variant.label(way.policy)
    varied = {f"workload.{key}": value for key, value in workload.varied.items()}
    return RunSpec(
        name=f"{where} / {policy} / seed {seed}",
        source=source,
        config=replace(way.config, seed=seed, processors=processors, explain=False),
        measure=campaign.measure,
        reading=reading,
        plugins=files,
        coordinates={
            "workload": where,
            "policy": policy,
            "seed": seed,
            **varied,
            **way.setting.varied,
            **way.variant.varied,
        },
        records=campaign.records,
        cluster=way.cluster,
    )
