"""Which plugins a run on a cluster with nodes has, and which it refuses."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager

from emulator.accounting.describe import SLOTS
from emulator.config.options import Config
from emulator.config.sacctmgr.database import Accounts
from emulator.config.slurm.changes import with_changes
from emulator.config.slurm.model import SlurmConf
from emulator.config.slurm.options import OPTIONS
from emulator.config.slurm.vocabulary import HONOURED
from emulator.hooktable import check_hooks
from emulator.machines import NODES, check_companions, check_machines
from emulator.scheduling.policies import plugins_of
from emulator.scheduling.seen import FACTS
from emulator.workload.request import JobRequest
from slurm_sim_plugins.errors import ConfigurationError, PluginError
from slurm_sim_plugins.manager import Catalogue, Selection, names_in
from slurm_sim_plugins.realtime import FACT as REALTIME

PLUGGED = (
    *("SchedulerType", "BackfillType", "PriorityType", "PreemptType", "SelectType", "WalltimeType"),
    *("PrioritySiteFactorPlugin", "JobSubmitPlugins"),
)
"""What plugins can take in Slurm's timing."""
OF_SLURM = ("preempt/partition_prio", "preempt/qos")
"""These name victims only where the file lets them."""
LOOPS = ("default_queue_depth", "partition_job_depth", "sched_max_job_start")
"""SchedulerParameters of Slurm's own loops, beside those of backfill."""
WITHOUT_EFFECT = {setting.name for setting in OPTIONS["SchedulerParameters"] if setting.status is not HONOURED}
"""SchedulerParameters of which it is said anyway that the emulator passes over them."""


def plugins_for(
    conf: SlurmConf, config: Config, catalogue: Catalogue, accounts: Accounts | None = None
) -> tuple[SlurmConf, dict[str, str], Selection]:
    """What takes the slots of a cluster.

    Args:
        conf: the configuration.
        config: slots that are given, and options of plugins.
        catalogue: plugins that were found.
        accounts: associations and qualities of service, if there are any.

    Returns:
        The configuration, as if its file named the plugins that were given; the slots that were given; and the
        plugins.

    Raises:
        ConfigurationError: a slot that stays Slurm's, or a plugin or option that there is not; a plugin with a hook
            that is not called on a cluster; a preempt plugin where ``PreemptMode`` is ``OFF``.
    """
    slots = dict(config.slots)
    replaced: dict[str, str] = {slot: slots[slot] for slot in ("PriorityType", "PreemptType") if slot in slots}
    with told_with_its_line(conf, config.slots):
        selection = _select(conf, slots, config, catalogue)
    if replaced:
        conf = with_changes(conf, replaced)
    preempt = selection.slots["PreemptType"]
    if preempt not in OF_SLURM and selection.deciders("preempt_candidates"):
        _check_preemption(conf, preempt, accounts)
    _name_what_rests(conf, selection)
    _check_topopt(selection)
    return conf, slots, selection


@contextmanager
def told_with_its_line(conf: SlurmConf, given: Mapping[str, str]) -> Iterator[None]:
    """Say where the file names a plugin that cannot be selected."""
    try:
        yield
    except ConfigurationError as error:
        for slot in SLOTS:
            if slot not in given and conf.parameters.text(slot).lower() in str(error):
                raise ConfigurationError(f"{conf.parameters.location(slot) or conf.source}: {slot}: {error}") from error
        raise


def _select(conf: SlurmConf, slots: dict[str, str], config: Config, catalogue: Catalogue) -> Selection:
    """The plugins of the file, and those that replace them."""
    for slot in slots:
        if slot not in PLUGGED:
            raise ConfigurationError(
                f"{slot}={slots[slot]}: in Slurm's timing plugins can take {', '.join(PLUGGED)}; the rest is Slurm's"
            )
    selection = plugins_of(conf, slots, catalogue=catalogue, options=config.plugin_options, seed=config.seed)
    check_machines(selection, names_in(selection.slots), NODES)
    default = set(names_in(selection.slots)) - set(names_in(slots))
    check_hooks(selection, set(selection.infos) - default, NODES, config.clock or "slurm")
    check_companions(selection)
    walltime = selection.plugins[selection.slots["WalltimeType"]]
    if getattr(walltime, "needs_oracle", False):
        raise ConfigurationError(f"{selection.slots['WalltimeType']} needs an oracle; that is for ideal timing")
    return selection


def _check_preemption(conf: SlurmConf, plugin: str, accounts: Accounts | None) -> None:
    """Refuse a plugin that names victims where none can be preempted, or no job gets what they leave."""
    stated = {mode for part in conf.partitions for mode in part.preempt_mode or conf.parameters.words("PreemptMode")}
    stated |= {mode for qos in (accounts.qos.values() if accounts else ()) for mode in qos.words("PreemptMode") or ()}
    modes = {"CANCEL", "REQUEUE", "CHECKPOINT", "SUSPEND"} & {mode.upper() for mode in stated}
    if not modes:
        raise ConfigurationError(
            f"PreemptType={plugin}: PreemptMode is OFF in all partitions of {conf.source}, so nothing would be "
            "preempted; set PreemptMode=REQUEUE there"
        )
    if modes == {"SUSPEND"} and len({part.priority_tier for part in conf.partitions}) == 1:
        raise ConfigurationError(
            f"PreemptType={plugin}: PreemptMode is SUSPEND in {conf.source}, and a suspended job keeps its nodes from "
            "its own PriorityTier, of which there is one; give a higher one to the partition whose jobs preempt"
        )


def check_facts(
    selection: Selection, conf: SlurmConf, accounts: Accounts | None, requests: Iterable[JobRequest]
) -> None:
    """Refuse plugins that look for jobs with a fact, or a value of it, that the cluster has not (``looks_for``).

    Raises:
        ConfigurationError: a plugin looks for what no job can have.
    """
    known: dict[str, Collection[str]] = {"partition": conf.partition}
    if accounts is not None:
        known["qos"] = accounts.qos
    for name, plugin in selection.plugins.items():
        facts = getattr(plugin, "looks_for", {})
        if not isinstance(facts, Mapping):
            raise PluginError(f"its looks_for is {facts!r}; it is a mapping from facts of jobs to values", plugin=name)
        for fact, value in facts.items():
            words = f"{name} looks for jobs with {fact}={value}"
            if fact not in FACTS:
                raise ConfigurationError(f"{words}; what is known of jobs on a cluster is {', '.join(FACTS)}")
            if value not in known.get(fact, (value,)):
                raise ConfigurationError(f"{words}; {conf.source} and its accounts have {', '.join(known[fact])}")
            if fact == REALTIME and not any(request.realtime for request in requests):
                logging.getLogger(__name__).warning(
                    "%s, and there are none: name a QOS or a partition, such as --set %s.jobs=qos=NAME", words, name
                )


def _check_topopt(selection: Selection) -> None:
    """Warn of a plugin that is to delay jobs, and of a scheduler that is to ask for one, where the other is missing."""
    scheduler = selection.slots["SchedulerType"]
    asks = bool(getattr(selection.plugins[scheduler], "bf_topopt_enable", False))
    answering = selection.deciders("bf_topopt")
    if asks and not answering:
        logging.getLogger(__name__).warning(
            "bf_topopt_enable is without effect: no plugin has the hook bf_topopt; name one, such as "
            "--backfill backfill/compact"
        )
    if answering and not asks:
        logging.getLogger(__name__).warning(
            "%s has the hook bf_topopt, for which %s does not ask; with sched/backfill say "
            "SchedulerParameters=bf_topopt_enable",
            ", ".join(answering),
            scheduler,
        )


def _name_what_rests(conf: SlurmConf, selection: Selection) -> None:
    """Warn of what the file says to Slurm's own loops, which a scheduler plugin replaces."""
    scheduler = selection.slots["SchedulerType"]
    stated = [word.partition("=")[0] for word in conf.parameters.words("SchedulerParameters")]
    known = {*selection.infos[scheduler].options(), *WITHOUT_EFFECT}
    rests = [name for name in stated if name.startswith("bf_") and name not in known]
    if selection.deciders("schedule"):
        rests = [name for name in stated if name in rests or name in LOOPS]
        shared = [part.name for part in conf.partitions if part.oversubscribe in ("FORCE", "YES")]
        if shared:
            rests.append(f"OverSubscribe of {', '.join(shared)}")
        if conf.parameters.text("PreemptType").lower() not in ("", "preempt/none"):
            rests.append("PreemptType, unless it yields MakeRoom")
    if rests:
        logging.getLogger(__name__).warning(
            "%s decides instead of Slurm's loops; without effect: %s", scheduler, "; ".join(rests)
        )
