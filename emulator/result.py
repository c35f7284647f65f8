"""What a simulation gave: numbers, tables and pictures, for an interpreter or a notebook."""

from __future__ import annotations

import base64
import html
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from emulator.accounting.records import Records
from emulator.accounting.runfolder import EVENTS, FinishedRun, read_run
from slurm_sim_plugins.errors import ConfigurationError

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from emulator.explain.story import Story


@dataclass(frozen=True)
class Plots:
    """Pictures of a run; a notebook shows them as they are.

    Attributes:
        records: of the run.
    """

    records: Records

    def utilisation(self) -> Figure:
        """Processors in use over time."""
        from emulator.report import plots

        return _shown(plots.utilisation(self.records))

    def queue(self) -> Figure:
        """Jobs waiting over time."""
        from emulator.report import plots

        return _shown(plots.queue_length(self.records))

    def waits(self) -> Figure:
        """Waits by size of the job."""
        from emulator.report import plots

        return _shown(plots.waits_by_size(self.records))

    def gantt(self) -> Figure:
        """Which runs held how many processors, over time.

        Raises:
            ConfigurationError: there are more jobs than can be told apart.
        """
        from emulator.report import plots

        figure = plots.gantt(self.records)
        if figure is None:
            most, jobs = plots.GANTT_JOBS, len(self.records)
            raise ConfigurationError(f"plot.gantt: {jobs:,} jobs cannot be told apart; it draws {most:,} at most")
        return _shown(figure)


def _shown(figure: Figure) -> Figure:
    """A figure that a notebook shows: it asks the figure itself, since pyplot need not be imported."""
    from emulator.report.style import picture_bytes

    vars(figure)["_repr_png_"] = partial(picture_bytes, figure, "png")
    return figure


@dataclass(frozen=True)
class Result:
    """What a simulation gave.

    Attributes:
        records: job and run records, as columns.
        about: options, versions, hashes: the content of ``run.toml``.
        plugins: the plugins' instances by name, with whatever they gathered; none of a run that was loaded.
        folder: where the run was left, or None.
    """

    records: Records
    about: Mapping[str, Any]
    plugins: Mapping[str, Any] = field(default_factory=dict)
    folder: Path | None = None

    @property
    def jobs(self) -> pd.DataFrame:
        """One row a job; the columns are described in :mod:`emulator.accounting.records`."""
        return self.records.jobs_frame()

    @property
    def runs(self) -> pd.DataFrame:
        """One row a run of a job."""
        return self.records.runs_frame()

    @property
    def plot(self) -> Plots:
        """Pictures: ``result.plot.utilisation()``, ``queue()``, ``waits()`` and ``gantt()``."""
        return Plots(self.records)

    def __repr__(self) -> str:
        """What was run, on what, and a few metrics: short, however many jobs there are."""
        from emulator.report.brief import brief

        return f"Result({brief(self.records, self.about, self.metrics())})"

    def _repr_html_(self) -> str:
        """The same with a small picture of the processors in use."""
        from emulator.report.style import picture_bytes

        shown = f"<pre>{html.escape(repr(self))}</pre>"
        if not len(self.records):
            return shown
        picture = base64.b64encode(picture_bytes(self.plot.utilisation(), "png")).decode()
        return f'{shown}<img alt="Processors in use over time" width="640" src="data:image/png;base64,{picture}">'

    def metrics(self, **options: float) -> dict[str, float | int]:
        """The metrics; ``threshold`` and ``warm_up`` as in :func:`emulator.metrics.summary.summarise`."""
        from emulator.metrics.summary import summarise

        return summarise(self.records, **options)

    def explain(self, job: int) -> Story:
        """The story of a job: why it waited and who decided. Its text is what ``slurm-sim explain`` prints.

        Args:
            job: the trace's job id.

        Raises:
            ConfigurationError: the run was left in no folder, or without its event log.
            InputError: there is no such job.
        """
        from emulator.explain.story import tell

        if self.folder is None or not (self.folder / EVENTS).exists():
            raise ConfigurationError(
                "explain: tells from a run folder with its event log; simulate(..., out=FOLDER, explain=True)"
            )
        return tell(FinishedRun(self.records, self.about, self.folder), job)

    def diff(self, other: Result, limit: int | None = None) -> pd.DataFrame:
        """The jobs that start at another time in another run, first difference first.

        Args:
            other: the second run.
            limit: at most so many; by default all.

        Returns:
            ``job_id``, ``processors``, ``first`` and ``second`` (starts in seconds, NaN for never), ``later`` (seconds)
            and ``only_in`` (``first`` or ``second`` where the other run has no such job).
        """
        import pandas as pd

        from emulator.report.diff import diff_records

        found = diff_records(self.records, other.records, limit)
        columns = ["job_id", "processors", "first", "second", "later", "only_in"]
        return pd.DataFrame([asdict(one) | {"later": one.later} for one in found], columns=columns)

    def report(self, path: str | Path) -> Path:
        """Write a page of HTML about the run, to be read offline.

        Args:
            path: the file; it is replaced if it is there.

        Returns:
            The path.

        Raises:
            OutputError: it cannot be written.
        """
        from emulator.report.page.sources import Sources, source_of
        from emulator.report.page.write import write_page

        path = Path(path)
        run = FinishedRun(self.records, self.about, self.folder or path.parent)
        write_page(Sources([source_of(run, self.folder)]), path)
        return path


def load(folder: str | Path) -> Result:
    """Open a run that was left in a folder (``slurm-sim run --out``, ``simulate(..., out=...)``).

    Raises:
        InputError: it is no such folder, holds no whole run, or a file of it is damaged.
    """
    run = read_run(Path(folder))
    return Result(run.records, run.about, {}, run.folder)


def compare(results: Mapping[str, Result], **options: float) -> pd.DataFrame:
    """Metrics of several runs: one row a run, one column a metric.

    Args:
        results: runs by the label of their row.
        options: ``threshold`` and ``warm_up`` as in :meth:`Result.metrics`.
    """
    import pandas as pd

    return pd.DataFrame({label: pd.Series(result.metrics(**options)) for label, result in results.items()}).T
