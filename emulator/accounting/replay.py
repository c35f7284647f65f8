"""Simulating a finished run again, from its folder alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from emulator.accounting.describe import hash_of_conf
from emulator.accounting.records import JOB_COLUMNS
from emulator.config.operation import Operation
from emulator.config.options import Config
from emulator.config.preemption import Preemption
from emulator.workload.workload import Workload
from slurm_sim_plugins.errors import ConfigurationError, InputError

if TYPE_CHECKING:
    from emulator.accounting.records import Records
    from emulator.accounting.runfolder import FinishedRun
    from emulator.config.slurm.model import SlurmConf


def workload_of(run: FinishedRun) -> Workload:
    """The workload that was simulated.

    Of a job that was killed at its limit the true run time is not in the records; any
    beyond the limit gives the same schedule, unless a plugin was told the truth.

    Raises:
        InputError: the run broke off.
    """
    if run.about["run"]["status"] != "finished":
        raise InputError(f"{run.folder}: this run is {run.about['run']['status']}; only finished ones can be replayed")
    jobs = run.records.jobs
    killed = np.asarray(jobs["state"], dtype=object) == "TIMEOUT"
    facts = {name: jobs[name] for name in jobs if name not in JOB_COLUMNS}
    columns = {
        "id": jobs["job_id"],
        "submit": jobs["submit"],
        "processors": jobs["processors"],
        "run": np.where(killed, jobs["time_limit"] + 1.0, jobs["run"]),
        "time_limit": jobs["time_limit"],
    }
    try:
        name = str(run.about["workload"]["name"])
        return Workload.from_columns({**columns, **facts}, name=name, epoch=run.records.epoch)
    except (KeyError, TypeError, InputError) as error:
        raise InputError(f"{run.folder}: its records are those of no workload ({error}); run it again") from error


def config_of(run: FinishedRun) -> Config:
    """How it was simulated.

    Raises:
        InputError: ``run.toml`` was written by another version, or by hand.
    """
    about = run.about
    try:
        slots, options = about["slots"], {name: plugin["options"] for name, plugin in about["plugins"].items()}
        if not all(isinstance(name, str) for name in slots.values()):
            raise TypeError("a slot names no plugin")
        if not all(isinstance(stated, dict) for stated in options.values()):
            raise TypeError("options of a plugin are no table")
        return Config(
            processors=run.records.processors,
            slots=slots,
            plugin_options=options,
            preemption=Preemption(**about["preemption"]),
            **_options(about["simulation"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError, ConfigurationError) as error:
        raise InputError(f"{run.folder}: run.toml does not say how the run was made ({error}); run it again") from error


def _options(stated: dict[str, Any]) -> dict[str, Any]:
    return {name: stated[name] for name in ("passes", "kill_at_limit", "expired", "seed")}


def cluster_config_of(run: FinishedRun, conf: SlurmConf) -> Config:
    """How a run on the cluster of a ``slurm.conf`` was simulated.

    Raises:
        InputError: it was made with another file, or ``run.toml`` was written by hand.
    """
    about = run.about
    try:
        if about["slurm_conf"]["sha256"] != hash_of_conf(conf):
            raise InputError(f"{run.folder}: was not made with {conf.source}, or that has changed; name the slurm.conf")
        slots = {slot: str(name) for slot, name in about["slots"].items()}
        slots = {slot: name for slot, name in slots.items() if conf.parameters.text(slot).lower() != name.lower()}
        options = {name: dict(plugin["options"]) for name, plugin in about["plugins"].items()}
        how = about["simulation"]
        preemption = Preemption(**about["preemption"]) if "preemption" in about else Preemption()
        return Config(
            slots=slots,
            plugin_options=options,
            clock=how["timing"],
            slurm_version=how["slurm_version"],
            passes=how.get("passes", "batch"),
            seed=how["seed"],
            preemption=preemption,
            operation=Operation.of(about["operation"]) if "operation" in about else Operation(),
        )
    except (KeyError, TypeError, ValueError, AttributeError, ConfigurationError) as error:
        raise InputError(f"{run.folder}: run.toml does not say how the run was made ({error}); run it again") from error


def same_starts(records: Records, again: Records) -> bool:
    """Whether every job starts when it did."""
    return bool(np.array_equal(records.jobs["start"], again.jobs["start"], equal_nan=True))
