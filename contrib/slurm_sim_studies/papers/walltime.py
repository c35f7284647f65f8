"""The paper on walltime adjustment: its experiments by month, on any log with users.

Source: Tang, Desai, Buettner and Lan, Job scheduling with adjusted runtime estimates on
production supercomputers, JPDC 73, 2013, section 6. Its log, of Intrepid, is not public for
those months; Mira, of the same site and five years later, stands in, and three logs of the
Parallel Workloads Archive beside it.

The paper simulates each month alone. Here a log is simulated whole, so that a month begins
with the queue and the history that the one before has left; a month's jobs are those
submitted in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from emulator.campaign import Numbers, Outcome, RunSpec
from emulator.config.experiment import read_experiment
from emulator.config.options import Config
from emulator.config.presets import preset
from emulator.metrics.averages import mean, weighted
from emulator.metrics.jobs import Floats, bounded_slowdown, column, slowdown, wait
from emulator.walltime.evaluate import accuracy
from slurm_sim_studies.papers.logs import find_logs
from slurm_sim_studies.papers.values import values_of

if TYPE_CHECKING:
    from emulator.accounting.records import Records
    from emulator.walltime.log import Log

HISTORY = "walltime/history"
POLICIES = {"WFP": "priority/wfp", "FCFS": "priority/basic"}
USES = ("regular", "selective")
PERCENTILES = (95, 85, 70)
BASELINE = "requested"
OTHERS: dict[str, dict[str, Any]] = {
    "last two": {"slots": {"WalltimeType": "walltime/last_two"}, "expired": "tsafrir"},
    "recent average": {"slots": {"WalltimeType": "walltime/recent_average"}},
}
"""Predictors beside the paper's, by name."""
METRICS = {
    "wait": "mean wait (s)",
    "slowdown": "mean slowdown",
    "bounded_slowdown": "mean bounded slowdown, 10 s",
    "weighted_wait": "weighted wait (s)",
}
"""What a month is judged by; the bounded slowdown is not the paper's."""
DAY = 86400
LEAST_DAYS = 25
"""A month of which the log covers less is left out."""
MONTH_DAYS = 30
"""Length of a month in a log that does not say when it began."""


@dataclass(frozen=True)
class Study:
    """A log to make the experiments on.

    Attributes:
        name: what to call it.
        trace: the file.
        key: the most specific key for which the log has what it takes.
        project: the column that says a job's project.
    """

    name: str
    trace: Path
    key: str
    project: str = "project"


FILES: dict[str, tuple[str, str, str]] = {
    "Mira": ("alcf/mira_2018-08_2018-12.csv.gz", "triple", "project"),
    "CTC": ("swf/CTC-SP2-1996-3.1-cln.swf.gz", "user", "project"),
    "SDSC-BLUE": ("swf/SDSC-BLUE-2000-4.2-cln.swf.gz", "user", "project"),
    "CEA-Curie": ("swf/CEA-Curie-2011-2.1-cln.swf.gz", "triple", "group"),
}
"""File, key and project column by name of the study."""


def find_studies(folder: Path, names: Sequence[str] = ()) -> list[Study]:
    """The studies whose logs lie in a folder, or in its subfolders ``alcf`` and ``swf``.

    Args:
        folder: where they lie.
        names: of the studies wanted; all by default.

    Raises:
        ConfigurationError: a study that there is not.
        InputError: a log is not there.
    """
    logs = find_logs(folder, {name: file for name, (file, *_) in FILES.items()}, names)
    return [Study(name, log, *FILES[name][1:]) for name, log in logs.items()]


def study_of(trace: Path, log: Log) -> Study:
    """A study on any log, with the most specific key that it allows.

    Args:
        trace: the file.
        log: what :func:`emulator.walltime.log.read_log` makes of it.
    """
    return Study(log.name, trace, next(iter(log.groups)), log.project or "project")


def run_names(others: bool = False) -> list[str]:
    """The runs for each study: ``POLICY/requested``, ``POLICY/USE/pNN`` and, if wanted, ``POLICY/OTHER``."""
    names = []
    for policy in POLICIES:
        names.append(f"{policy}/{BASELINE}")
        names += [f"{policy}/{use}/p{percentile}" for use in USES for percentile in PERCENTILES]
        names += [f"{policy}/{other}" for other in OTHERS] if others else []
    return names


def specs(studies: Sequence[Study], others: bool = False) -> list[RunSpec]:
    """The runs to make, named ``STUDY/RUN``."""
    return [
        RunSpec(
            f"{study.name}/{run}",
            study.trace,
            config_of(study, run),
            measure,
            coordinates={"workload": study.name, "policy": run, "seed": 0},
        )
        for study in studies
        for run in run_names(others)
    ]


def config_of(study: Study, run: str) -> Config:
    """The configuration of a run: the preset, and what differs."""
    stated = read_experiment(preset("papers/walltime_adjustment"))
    policy, _, scheme = run.partition("/")
    slots = {**stated.slots, "PriorityType": POLICIES[policy]}
    if scheme == BASELINE:
        return Config(slots={**slots, "WalltimeType": "walltime/none"})
    if scheme in OTHERS:
        other = OTHERS[scheme]
        config = Config(slots={**slots, **other["slots"]})
        return replace(config, expired=other["expired"]) if "expired" in other else config
    use, _, percentile = scheme.partition("/p")
    options = {**stated.plugins[HISTORY], "key": study.key, "project": study.project}
    options |= {"adjust": use, "percentile": float(percentile)}
    return Config(slots=slots, plugin_options={HISTORY: options})


def measure(records: Records) -> Numbers:
    """The metrics of each month, as ``MONTH:METRIC``.

    The weights of the weighted wait are WFP's scores at the start, with the requests, under
    WFP and FCFS alike (``weighted_wait:WFP``), or the waits themselves (``weighted_wait:FCFS``).
    """
    waited, requested, run = wait(records), column(records, "time_limit"), column(records, "run")
    weights = {"WFP": (waited / requested) ** 3 * column(records, "processors"), "FCFS": waited}
    values = {"wait": waited, "slowdown": slowdown(records), "bounded_slowdown": bounded_slowdown(records)}
    values["accuracy"] = accuracy(np.minimum(run, requested), column(records, "planned"))
    numbers: Numbers = {}
    for month, chosen in months(column(records, "submit"), records.epoch):
        numbers[f"{month}:jobs"] = float(np.count_nonzero(chosen))
        numbers |= {f"{month}:{name}": mean(each[chosen]) for name, each in values.items()}
        for policy, weight in weights.items():
            numbers[f"{month}:weighted_wait:{policy}"] = weighted(waited[chosen], weight[chosen])
    return {name: value for name, value in numbers.items() if value == value}


def months(submit: Floats, epoch: int | None) -> list[tuple[str, Any]]:
    """The months that a log covers for 25 days or more, and which jobs were submitted in each.

    Args:
        submit: seconds, ascending.
        epoch: Unix time of second 0: then months are of the calendar (UTC), else of 30 days.
    """
    if not len(submit):
        return []
    first, last = float(submit[0]), float(submit[-1])
    found = []
    for name, begin, end in _calendar(first, last, epoch):
        covered = (min(end, last) - max(begin, first)) / DAY
        if covered >= LEAST_DAYS:
            found.append((name, (submit >= begin) & (submit < end)))
    return found


def _calendar(first: float, last: float, epoch: int | None) -> Iterable[tuple[str, float, float]]:
    """Name, begin and end of the months from one second to another."""
    if epoch is None:
        for number in range(int((last - first) // (MONTH_DAYS * DAY)) + 1):
            begin = first + number * MONTH_DAYS * DAY
            yield f"month {number + 1}", begin, begin + MONTH_DAYS * DAY
        return
    origin = datetime(1970, 1, 1, tzinfo=UTC)
    date = (origin + timedelta(seconds=first + epoch)).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    while (begin := (date - origin).total_seconds() - epoch) <= last:
        date = (date + timedelta(days=32)).replace(day=1)
        yield f"{date - timedelta(days=1):%Y-%m}", begin, (date - origin).total_seconds() - epoch


@dataclass(frozen=True)
class Gain:
    """What a scheme saves of a metric, in percent of what it is without adjustment.

    Attributes:
        study, policy, use, scheme: of which run; ``use`` is empty for a predictor that is not the paper's.
        metric: a key of ``METRICS``.
        months: names of the months.
        baseline, adjusted: the metric in each month.
        printed: the paper's mean gain for Intrepid, or None.
    """

    study: str
    policy: str
    use: str
    scheme: str
    metric: str
    months: tuple[str, ...]
    baseline: tuple[float, ...]
    adjusted: tuple[float, ...]
    printed: float | None

    @property
    def by_month(self) -> tuple[float, ...]:
        """The gain in each month."""
        pairs = zip(self.adjusted, self.baseline, strict=True)
        return tuple(100 * (1 - adjusted / baseline) if baseline else float("nan") for adjusted, baseline in pairs)

    @property
    def mean(self) -> float:
        """Mean over the months, as the paper's."""
        return mean(np.array(self.by_month))

    def data(self) -> dict[str, Any]:
        """For JSON."""
        return {**vars(self), "by_month": self.by_month, "mean": self.mean}


def gains(outcomes: Iterable[Outcome]) -> list[Gain]:
    """The gains of all runs whose baseline was made."""
    numbers = {outcome.name: outcome.numbers for outcome in outcomes if not outcome.error}
    found = []
    for name, made in numbers.items():
        study, policy, *scheme = name.split("/")
        baseline = numbers.get(f"{study}/{policy}/{BASELINE}")
        if scheme == [BASELINE] or baseline is None:
            continue
        use, percentile = (scheme[0], scheme[1]) if len(scheme) == 2 else ("", scheme[0])
        for metric in METRICS:
            key = f"weighted_wait:{policy}" if metric == "weighted_wait" else metric
            shown = tuple(month for month in months_of(baseline) if f"{month}:{key}" in baseline.keys() & made.keys())
            before, after = (tuple(each[f"{month}:{key}"] for month in shown) for each in (baseline, made))
            printed = values()["gains"].get(f"{policy}/{use}", {}).get(percentile, {}).get(metric)
            found.append(Gain(study, policy, use, percentile, metric, shown, before, after, printed))
    return found


def accuracies(outcomes: Iterable[Outcome]) -> dict[str, dict[str, dict[str, float]]]:
    """Mean accuracy of the planned times by study, scheme and month: figure 13, from the runs under WFP."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    for outcome in outcomes:
        study, policy, *scheme = outcome.name.split("/")
        if outcome.error or policy != "WFP" or scheme[0] == USES[1]:
            continue
        numbers = outcome.numbers
        by_month = {month: numbers[f"{month}:accuracy"] for month in months_of(numbers)}
        found.setdefault(study, {})[scheme[-1]] = by_month
    return found


def months_of(numbers: Mapping[str, float]) -> list[str]:
    """The months that a run's numbers are of, in their order."""
    return list(dict.fromkeys(name.partition(":")[0] for name in numbers))


values = partial(values_of, "walltime")
"""What the paper prints."""
