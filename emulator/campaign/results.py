"""Results of a campaign, read back from its folder.

What is counted are the runs that the campaign file named last: each once, if its result is
there and is what was written. Results of other inputs (an older plugin, another version)
stay in the folder and are not mixed with them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from emulator.campaign.store import STINTS, DamagedError, Store
from emulator.campaign.work import Numbers
from slurm_sim_plugins.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from emulator.accounting.records import Records

State = Literal["done", "failed", "missing", "damaged"]
STATES: tuple[State, ...] = ("done", "failed", "missing", "damaged")


@dataclass(frozen=True)
class RunState:
    """What there is of one run.

    Attributes:
        run: its identity.
        name: in words.
        coordinates: workload, policy, seed, varied options.
        state: ``done``, ``failed``, ``missing`` or ``damaged``.
        numbers: what was measured; empty unless done.
        trouble: why it failed, or what is damaged.
        manifest: all that is known of it.
    """

    run: str
    name: str
    coordinates: Mapping[str, Any]
    state: State
    numbers: Numbers = field(default_factory=dict)
    trouble: str = ""
    manifest: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Survey:
    """What there is of a campaign.

    Attributes:
        about: what is known of the campaign: its name, metrics, baseline.
        runs: its runs, in its order.
        others: how many results there are besides, of other inputs.
    """

    about: Mapping[str, Any]
    runs: Sequence[RunState]
    others: int

    def count(self, state: State) -> int:
        """Runs in a state."""
        return sum(run.state == state for run in self.runs)


def survey(folder: Path) -> Survey:
    """Look at all runs of a campaign; every file is compared with its hash.

    Raises:
        InputError: there is no campaign, or its list of runs is damaged.
    """
    store = Store(folder)
    plan = store.plan()
    listed = {run["run"]: run for run in plan["runs"]}
    states = [_state(store, run) for run in listed.values()]
    others = sum(run not in listed for run in store.runs())
    return Survey({key: value for key, value in plan.items() if key != "runs"}, states, others)


def frame(folder: Path) -> pd.DataFrame:
    """One row a finished run, in the campaign's order.

    Columns: ``run`` (its identity), ``workload``, ``policy``, ``seed``, the varied options
    by path, all metrics, ``cpu_seconds`` and ``peak_memory_mb``.

    Raises:
        InputError: there is no campaign.
    """
    return frame_of(survey(folder))


def frame_of(found: Survey) -> pd.DataFrame:
    """As :func:`frame`, of what was found."""
    import pandas as pd

    done = [run for run in found.runs if run.state == "done"]
    varied = list(dict.fromkeys(key for run in done for key in _coordinates(run)))
    rows = [{"run": run.run, **_coordinates(run), **run.numbers, **spent_on(run)} for run in done]
    table = pd.DataFrame(rows, columns=None if rows else ["run"])
    return table[["run", *varied, *(column for column in table.columns if column not in ("run", *varied))]]


def records(folder: Path, run: str) -> pd.DataFrame:
    """The job records of a run, if the campaign keeps them (``records = true``).

    Raises:
        InputError: they are not there.
    """
    from emulator.accounting.records import read_columns

    store = Store(folder)
    file = store.records(run)
    if not file.exists():
        raise InputError(
            f"{file}: there are no job records of this run; records = true in the campaign file keeps them"
        )
    import pandas as pd

    return pd.DataFrame(read_columns(file, store.folder))


def run_records(folder: Path, run: str) -> Records | None:
    """All records of a run; None if the campaign keeps none, or was made before it kept those of runs.

    Raises:
        InputError: they are damaged.
    """
    import pyarrow.parquet

    from emulator.accounting.records import Records, read_columns
    from emulator.files import open_kept

    store = Store(folder)
    jobs, stints = store.records(run), store.records(run, STINTS)
    if not (jobs.exists() and stints.exists()):
        return None
    columns = [read_columns(file, store.folder) for file in (jobs, stints)]
    with open_kept(stints, store.folder) as stream:
        stated = pyarrow.parquet.read_schema(stream).metadata or {}
    try:
        epoch = stated[b"epoch"].decode()
        return Records(columns[0], columns[1], int(stated[b"processors"]), int(epoch) if epoch else None)
    except (KeyError, ValueError) as error:
        raise InputError(f"{stints}: does not state the machine ({error}); make the run again") from error


def _state(store: Store, listed: Mapping[str, Any]) -> RunState:
    run, name, coordinates = listed["run"], str(listed["name"]), dict(listed["coordinates"])
    try:
        kept = store.look(run)
    except DamagedError as damage:
        return RunState(run, name, coordinates, "damaged", trouble=str(damage))
    if kept is None:
        return RunState(run, name, coordinates, "missing")
    state: State = "failed" if kept.error else "done"
    return RunState(run, name, coordinates, state, kept.numbers, kept.error, kept.manifest)


def spent_on(run: RunState) -> dict[str, Any]:
    """Processor seconds and MiB of a run, as far as they are known."""
    spent = run.manifest.get("spent")
    return {key: spent.get(key) if isinstance(spent, dict) else None for key in ("cpu_seconds", "peak_memory_mb")}


def _coordinates(run: RunState) -> dict[str, Any]:
    """Runs that a program listed, not a file, have only a name."""
    return dict(run.coordinates) or {"workload": "", "policy": run.name, "seed": 0}
