"""The paper on real-time jobs on Mira: figures 3 to 7, on the week of Mira and on a week of Curie.

Source: Nickolay, Jung, Kettimuthu and Foster, Towards accommodating real-time jobs on HPC
platforms, section 7. The figures are pictures; what their text prints of them stands in
``realtime_values.toml``.

A study is a log with a warm-up before the week and a day behind it. Every variation of it is
drawn in several trials; a number is the mean over them, each trial counting with its jobs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from emulator.campaign import Numbers, Outcome, RunSpec
from emulator.campaign.generated import Generated
from emulator.config.options import Config
from emulator.config.preemption import Preemption
from emulator.metrics.checkpoints import overheads
from emulator.metrics.realtime import ALL, bounded_slowdown, job_categories, realtime_jobs, turnaround
from emulator.workload.cobalt import read_cobalt
from emulator.workload.variations import CATEGORIES, Variation, counted, vary
from slurm_sim_plugins.blocks import MIDPLANE, MIRA_MIDPLANES
from slurm_sim_plugins.errors import ConfigurationError
from slurm_sim_studies.papers.logs import file_of, find_logs
from slurm_sim_studies.papers.realtime_readings import Reading
from slurm_sim_studies.papers.values import values_of

if TYPE_CHECKING:
    from emulator.accounting.records import Records
    from emulator.workload.workload import Workload

MACHINE = MIDPLANE * MIRA_MIDPLANES
PERCENTS = (5, 10, 15, 20)
TRIALS = 5
DAY = 86400
COUNTED = "counted"
"""The fact of a job that says whether it is one of the week's: 1 or 0."""
KINDS = ("real-time", "batch")
MEASURES = ("slowdown", "turnaround")
POINTS = {"p5": 5, "p25": 25, "median": 50, "p75": 75, "p95": 95}
"""Whiskers, box and middle of the paper's box plots, in percent of the jobs."""
BASELINE, JIT = "baseline", "jit"
SCHEMES = {BASELINE: "baseline", "app10": "APP-CKPT-10%", "app5": "APP-CKPT-5%", JIT: "JIT-CKPT"}
"""The four box plots of a group, in the paper's order."""
BASIC = {
    "high": "high-priority queue",
    "no": "NO-CKPT, preemptive",
    "sys": "SYS-CKPT, preemptive",
    "all_app10": "APP-CKPT-10%, preemptive",
    "all_jit": "JIT-CKPT, preemptive",
}
"""The schemes of section 4, without the heuristic."""
WHOLE = ("preemptions", "system:checkpoint", "system:preemption", "job:checkpoint")
"""Numbers of a whole run: how often jobs were preempted, and what it cost in node-hours."""
MEMORY = 16.0
"""Gigabytes of a node."""
BLOCKS = "alcf/mira_partitions.xml.gz"
NAMES = ("narrow_short", "narrow_long", "wide_short", "wide_long")
UNSPARED = 1e9
"""An estimated slowdown that no job reaches."""


@dataclass(frozen=True)
class Study:
    """A week of a log on Mira.

    Attributes:
        name: what to call it.
        trace: the log.
        blocks: the file of Mira's blocks; None for the aligned ones.
        first: when the week begins, in Unix seconds.
        late: estimated slowdowns from which on a real-time job is late, by category.
        spared: those above which a batch job is spared.
    """

    name: str
    trace: Path
    blocks: Path | None
    first: int
    late: tuple[float, ...]
    spared: tuple[float, ...]


FILES: dict[str, tuple[str, int, tuple[float, ...], tuple[float, ...]]] = {
    "Mira": ("alcf/mira_2018-01-21_week.cobalt.log.gz", 1516492800, (1.1, 1.1, 2.0, 1.59), (1.5, 1.5, 17.31, 4.77)),
    "Curie": ("alcf/curie_week_scaled_to_mira.cobalt.log.gz", 51494400, (1.1, 1.1, 2.0, 2.0), (1.5, 3.21, 13.5, 6.02)),
}
"""Log, beginning of the week (2018-01-21 and, on Curie's clock, 1971-08-20) and the authors' thresholds."""


def find_studies(folder: Path, names: Sequence[str] = ()) -> list[Study]:
    """The studies whose logs lie in a folder, or in its subfolder ``alcf``.

    Args:
        folder: where they lie; if Mira's blocks do not lie there the aligned ones are taken.
        names: of the studies wanted; all by default.

    Raises:
        ConfigurationError: a study that there is not.
        InputError: a log is not there.
    """
    blocks = file_of(folder, BLOCKS)
    logs = find_logs(folder, {name: file for name, (file, *_) in FILES.items()}, names)
    return [Study(name, log, blocks, *FILES[name][1:]) for name, log in logs.items()]


# Runs ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Varied(Generated):
    """Jobs of a log, some of them real-time jobs: ``model`` is the variation, ``parameters`` the log.

    Its options are ``percent``, and ``first`` and ``last``, the week in Unix seconds.
    """

    def workload(self) -> Workload:
        """Read the log, and vary it.

        Raises:
            InputError: the log cannot be read.
            ConfigurationError: the variation is not possible.
        """
        assert self.parameters is not None, "a variation is of a log"
        options: dict[str, Any] = dict(self.options)
        log = _log(self.parameters)
        first, last = (float(options[name]) - (log.epoch or 0) for name in ("first", "last"))
        variation: Variation = self.model  # type: ignore[assignment]
        span = {"between": (max(first, 0.0), last)} if variation == "aps" else {}
        varied = vary(log, variation, options["percent"], self.seed, **span)
        inside = counted(varied, first, last).astype(np.int64)
        return replace(varied, facts={**varied.facts, COUNTED: inside})


@lru_cache(2)
def _log(path: Path) -> Workload:
    """A log, read once for the runs of a process that follow each other."""
    return read_cobalt(path, filter="none", machine=MACHINE)


def specs(
    studies: Sequence[Study],
    *,
    variations: Sequence[Variation] = ("default",),
    percents: Sequence[int] = PERCENTS,
    schemes: Sequence[str] = tuple(SCHEMES),
    trials: int = TRIALS,
    reading: Reading | None = None,
    name: str = "",
) -> list[RunSpec]:
    """The runs to make, named ``STUDY/VARIATION/PERCENT/SCHEME/TRIAL``.

    Args:
        studies: the logs.
        variations: of each log.
        percents: of real-time jobs.
        schemes: keys of :data:`SCHEMES` and :data:`BASIC`.
        trials: draws of each variation.
        reading: of what the paper leaves open.
        name: put before the names, with a slash; of another reading.
    """
    read = reading if reading is not None else Reading()
    return [
        RunSpec(
            f"{name}{'/' if name else ''}{study.name}/{variation}/{percent}/{scheme}/{trial}",
            _source(study, variation, percent, trial),
            config_of(study, scheme, read),
            Measured(read.by, read.counted, preemption_of(scheme)),
        )
        for study in studies
        for variation in variations
        for percent in percents
        for trial in range(1, trials + 1)
        for scheme in schemes
    ]


def _source(study: Study, variation: Variation, percent: int, trial: int) -> Varied:
    span = (("first", study.first), ("last", study.first + 7 * DAY))
    return Varied(variation, trial, (("percent", float(percent)), *span), study.trace)


def config_of(study: Study, scheme: str, reading: Reading) -> Config:
    """The configuration of a run.

    Raises:
        ConfigurationError: there is no such scheme.
    """
    if scheme not in SCHEMES | BASIC:
        raise ConfigurationError(f"there is no scheme {scheme!r}; schemes are {', '.join(SCHEMES | BASIC)}")
    policy = {BASELINE: "baseline", "high": "high_priority"}.get(
        scheme, "preemptive" if scheme in BASIC else "weighted"
    )
    spared = study.spared if reading.spared == "code" else (UNSPARED,) * len(NAMES)
    scheduler: dict[str, Any] = {"policy": policy, **dict(zip(NAMES, study.late, strict=True))}
    scheduler |= {"meanwhile": reading.meanwhile, "late": reading.late, "backfill": reading.backfill}
    preempt: dict[str, Any] = {"cost": "processors" if scheme in BASIC else "weighted"}
    preempt |= {**dict(zip(NAMES, spared, strict=True)), "checkpoint_factor": reading.checkpoint_factor}
    blocks: dict[str, Any] = {"choose": reading.choose}
    if study.blocks is not None and reading.blocks != "aligned":
        blocks |= {"file": str(study.blocks), "wires": reading.blocks == "wires"}
    return Config(
        processors=MACHINE,
        slots={
            "SchedulerType": "sched/realtime",
            "PriorityType": "priority/wfp",
            "PreemptType": "preempt/realtime",
            "SelectType": "select/blocks",
        },
        plugin_options={
            "sched/realtime": scheduler,
            "preempt/realtime": preempt,
            "select/blocks": blocks,
            "priority/wfp": {"score": reading.score},
        },
        preemption=preemption_of(scheme),
        passes=reading.passes,
        kill_at_limit=reading.kill_at_limit,
    )


def preemption_of(scheme: str) -> Preemption:
    """What preemption leaves under a scheme."""
    if scheme in (BASELINE, "high", "no"):
        return Preemption()
    if scheme == "sys":
        return Preemption("CHECKPOINT", interval=3600.0, gb_per_processor=MEMORY)
    if scheme.endswith(JIT):
        return Preemption("CHECKPOINT", checkpoint="jit", gb_per_processor=MEMORY)
    share = 0.05 if scheme == "app5" else 0.1
    return Preemption("CHECKPOINT", checkpoint="share", share=share, gb_per_processor=MEMORY)


@dataclass(frozen=True)
class Measured:
    """What is kept of a run, as ``KIND:CATEGORY:MEASURE``.

    Measures are ``jobs``; ``slowdown`` and ``turnaround``, the means, and these with ``_p5`` to
    ``_p95`` and ``_median``. Besides, of all jobs, ``preemptions`` and the node-hours
    ``system:checkpoint``, ``system:preemption`` and ``job:checkpoint`` that they cost.

    Attributes:
        by: whether a job is short by its limit or by its run time.
        counted: ``week``: jobs that started and ended in it in the log; ``all``.
        preemption: as it is simulated.
    """

    by: str = "run"
    counted: str = "week"
    preemption: Preemption = field(default_factory=Preemption)

    def __call__(self, records: Records) -> Numbers:
        """Measure."""
        every = np.ones(len(records), dtype=np.bool_)
        taken = records.jobs[COUNTED] == 1 if self.counted == "week" else every
        quick = realtime_jobs(records)
        values = {"slowdown": bounded_slowdown(records), "turnaround": turnaround(records)}
        taken = taken & ~np.isnan(values["turnaround"])
        rows = np.vstack([every, job_categories(records, self.by)])  # type: ignore[arg-type]
        numbers: Numbers = {"preemptions": float(np.sum(records.jobs["requeues"]))}
        numbers |= overheads(records, self.preemption).processor_hours()
        for kind, of_kind in zip(KINDS, (quick, ~quick), strict=True):
            for category, inside in zip((ALL, *CATEGORIES), rows, strict=True):
                chosen = taken & of_kind & inside
                numbers[f"{kind}:{category}:jobs"] = float(np.count_nonzero(chosen))
                for name, value in values.items():
                    numbers |= _box(f"{kind}:{category}:{name}", value[chosen])
        return numbers


def _box(name: str, values: Any) -> Numbers:
    """Mean and percentiles; nothing of no job."""
    if not len(values):
        return {}
    points = np.percentile(values, list(POINTS.values()))
    return {name: float(np.mean(values))} | {
        f"{name}_{point}": float(value) for point, value in zip(POINTS, points, strict=True)
    }


# Results ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Group:
    """The trials of a scheme, together.

    Attributes:
        study, variation, percent, scheme: of which runs.
        trials: how many there were.
        numbers: means over the trials, each counting with the jobs that it has of the kind
            and category; ``jobs`` and :data:`WHOLE` are means of a trial.
    """

    study: str
    variation: str
    percent: int
    scheme: str
    trials: int
    numbers: Mapping[str, float]

    def value(self, kind: str, category: str, measure: str) -> float:
        """A number; NaN where no trial had such a job."""
        return self.numbers.get(f"{kind}:{category}:{measure}", float("nan"))


def groups(outcomes: Iterable[Outcome]) -> list[Group]:
    """The outcomes, the trials of each scheme put together; runs that failed are left out."""
    found: dict[tuple[str, str, int, str], list[Mapping[str, float]]] = {}
    for outcome in outcomes:
        study, variation, percent, scheme, _ = outcome.name.split("/")[-5:]
        if not outcome.error:
            found.setdefault((study, variation, int(percent), scheme), []).append(outcome.numbers)
    return [Group(*key, len(trials), together(trials)) for key, trials in found.items()]


def together(trials: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Numbers of several trials as one."""
    merged: dict[str, float] = {}
    for name in dict.fromkeys(name for trial in trials for name in trial):
        if name in WHOLE or name.endswith(":jobs"):
            merged[name] = sum(trial.get(name, 0.0) for trial in trials) / len(trials)
            continue
        jobs = f"{name.rpartition(':')[0]}:jobs"
        pairs = [(trial[name], trial[jobs]) for trial in trials if name in trial]
        merged[name] = sum(value * weight for value, weight in pairs) / sum(weight for _, weight in pairs)
    return merged


values = partial(values_of, "realtime")
"""What the paper prints."""
