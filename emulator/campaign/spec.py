"""What one run of a campaign is, and its identity."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from emulator.campaign import plugins
from emulator.campaign.generated import Generated
from emulator.campaign.hashes import PACKAGES, canonical, code, hash_of, sha256, source_of
from emulator.campaign.jobs import workload
from emulator.campaign.slurm import Cluster, forget_files
from emulator.campaign.store import STINTS
from emulator.campaign.work import Numbers
from emulator.config.options import Config
from emulator.config.slurm.emulated import stated_slots_of
from emulator.version import version
from slurm_sim_plugins.errors import InputError

if TYPE_CHECKING:
    from emulator.accounting.records import Records

Measure = Callable[["Records"], Numbers]
"""From the records of a run to what is kept of it; a function of a module, so that workers find it, or
an instance of a dataclass of one."""


@dataclass(frozen=True)
class RunSpec:
    """One run to make.

    Attributes:
        name: what to call it; no two of a list are alike.
        source: a trace, or a model that generates jobs.
        config: how to simulate it.
        measure: what to keep of it.
        reading: how to read the trace: options of :func:`emulator.workload.read.read_trace`.
        plugins: plugin files to load, with their whole paths; each is code, and it is run.
        coordinates: where the run stands in its campaign: ``workload``, ``policy``,
            ``seed``, varied options.
        cluster: a site's own, for a run in Slurm's timing; None for ideal timing.
        records: whether the job records are kept beside what is measured.
    """

    name: str
    source: Path | Generated
    config: Config
    measure: Measure
    reading: Mapping[str, Any] = field(default_factory=dict)
    plugins: tuple[Path, ...] = ()
    coordinates: Mapping[str, Any] = field(default_factory=dict)
    records: bool = False
    cluster: Cluster | None = None

    def result(self) -> tuple[Numbers, Mapping[str, bytes]]:
        """Make the run, in whatever process this is.

        Raises:
            SlurmSimError: it cannot be made.
        """
        records = self._records()
        return self.measure(records), _files_of(records) if self.records else {}

    def _records(self) -> Records:
        from emulator.api import simulate

        catalogue, _ = plugins.found(self.plugins)
        if self.cluster is not None:
            return self.cluster.records(self.source, self.reading, self.config, catalogue)
        jobs = workload(self.source, self.config.processors, self.reading)
        return simulate(jobs, config=self.config, catalogue=catalogue).records


@dataclass(frozen=True)
class Promised:
    """A run whose result is promised under an identity, wherever it is made.

    A worker may have started later, on another machine: with another version of the
    emulator, another trace under the same name, a plugin that was edited meanwhile.

    Attributes:
        spec: the run.
        stated: what determines its result, as it was when the campaign began.
    """

    spec: RunSpec
    stated: Mapping[str, Any]

    @property
    def name(self) -> str:
        """Of the run."""
        return self.spec.name

    def result(self) -> tuple[Numbers, Mapping[str, bytes]]:
        """Make the run, if here it is the one that was promised.

        Raises:
            InputError: something is not what it was.
            SlurmSimError: the run cannot be made.
        """
        here = stated(self.spec)
        if here != self.stated:
            forget()  # A worker of a cluster lives longer than a campaign, and files change.
            here = stated(self.spec)
        for what, was in self.stated.items():
            if here[what] != was:
                raise InputError(
                    f"{what} is not, where this run was to be made, what it was where the campaign was started; "
                    "workers need the same version of everything, and a change takes effect with the next resume"
                )
        return self.spec.result()


def forget() -> None:
    """Look at traces, configurations and plugin files again when they are next needed, and not as they were."""
    hash_of.cache_clear()
    forget_files()
    plugins.found.cache_clear()


def identity(spec: RunSpec) -> str:
    """SHA-256, in hex, of all that decides what a run gives: jobs, options, plugins, measure and code.

    Raises:
        InputError: the trace is not there.
    """
    return sha256(canonical(stated(spec)))


def stated(spec: RunSpec) -> dict[str, Any]:
    """All that decides what a run gives, as data; where files lie is no part of it.

    Raises:
        InputError: the trace is not there.
    """
    conf = spec.cluster.read() if spec.cluster is not None else None
    named = {} if conf is None else stated_slots_of(conf)
    jobs = spec.source.stated() if isinstance(spec.source, Generated) else hash_of(spec.source)
    return {
        "trace": jobs,
        "reading": dict(spec.reading),
        "config": _without_places(spec.config),
        "files": plugins.files_read(spec.config),
        "plugins": plugins.sources(spec.config, spec.plugins, named),
        "measure": _words_of(spec.measure),
        "records": spec.records,
        "cluster": None if spec.cluster is None else spec.cluster.stated(),
        "version": version(),
        "code": code(),
    }


def _without_places(config: Config) -> dict[str, Any]:
    """A configuration as data; of files that options name, the contents count, and not where they lie."""
    words = asdict(config)
    for values in words["plugin_options"].values():
        values.update({option: "" for option, value in values.items() if plugins.is_file(option, value)})
    return words


def _words_of(measure: Measure) -> Any:
    """Name and options of a measure; of one from elsewhere also what its package or its file holds."""
    kind: Any = type(measure) if is_dataclass(measure) else measure
    # A worker calls the script by which it was started otherwise than that calls itself.
    module = "__main__" if kind.__module__ == "__mp_main__" else kind.__module__
    words: dict[str, Any] = {"name": f"{module}.{kind.__qualname__}"}
    if is_dataclass(measure) and not isinstance(measure, type):
        words["options"] = asdict(measure)
    top = kind.__module__.partition(".")[0]
    if top in PACKAGES:
        return words
    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    head = getattr(sys.modules.get(top), "__file__", None)
    if head and Path(head).name == "__init__.py":
        words["file"] = source_of(Path(head).parent)
    else:
        words["file"] = hash_of(Path(file)) if file else ""
    return words


def _files_of(records: Records) -> dict[str, bytes]:
    """Job records and run records; with the latter the machine and Unix time of second 0."""
    machine = {"processors": str(records.processors), "epoch": "" if records.epoch is None else str(records.epoch)}
    runs = records.runs_table().replace_schema_metadata(machine)
    return {"records.parquet": _bytes_of(records.jobs_table()), STINTS: _bytes_of(runs)}


def _bytes_of(table: Any) -> bytes:
    """A Parquet file."""
    import pyarrow as pa
    import pyarrow.parquet

    stream = pa.BufferOutputStream()
    pyarrow.parquet.write_table(table, stream)
    return bytes(stream.getvalue().to_pybytes())
