"""The paper on KEASY, REASY and MEASY: its experiments over load, on generated workloads.

Source: Liu, Wang, Qiu, Zhou, Chen and Zomaya, Scheduling parallel jobs using migration and
consolidation in the cloud, Mathematical Problems in Engineering 2012, 695757, section 3.
Which loads its figures have is lost with them.

Means are batch means: of the jobs in the order of submission the first tenth is left out,
and the others are cut into ten batches. A batch counts as one observation, in each trial.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from emulator.campaign import Numbers, Outcome, RunSpec
from emulator.campaign.generated import Generated
from emulator.config.options import Config
from emulator.metrics.averages import mean
from emulator.metrics.jobs import Floats, bounded_slowdown_feitelson, column, response
from slurm_sim_plugins.errors import ConfigurationError
from slurm_sim_studies.papers.values import values_of

if TYPE_CHECKING:
    from emulator.accounting.records import Records
    from emulator.workload.workload import Workload

SCHEDULER, EXECUTION = "sched/two_tier", "execution/two_tier"
DEPLOY = {"KEASY": "kill", "REASY": "reserve", "MEASY": "migrate"}
POLICIES = ("EASY", *DEPLOY)
MODELS = {"FWload": "feitelson96", "JWload": "jann97"}
WIDEST: dict[int, dict[str, float]] = {128: {"full_share": 0.0831, "short_mean": 1715.5}, 320: {}}
"""Sizes to which FWload goes, and what of the model's parameters differs to keep the moments that the paper prints.

The model gives a share of the jobs the whole machine that it is asked for. The paper does not say which that was, and
its mean of 23.4 processors fits 128 as well as the 320 on which the jobs run. What MEASY saves fits 128 alone; that is
the default.
"""
LOADS = (0.5, 0.6, 0.7, 0.8, 0.9)
COSTS = (120, 480, 900, 1500)
"""Seconds that a migration costs in figures 13 and 14, beside the 20 of all others."""
METRICS = {
    "response": "mean response time (s)",
    "slowdown": "mean bounded slowdown",
    "migrations": "migrations per job",
    "kills": "kills per job",
}
JUDGED = ("response", "slowdown")
"""Metrics that the paper judges policies by; less is better."""
BATCHES = 10
WARM_UP = 0.1
"""Share of the jobs that comes before the first batch."""
CONFIDENCE = 0.95
GROWS = 0.05
"""If a run lasts longer than the submissions, by more than this share, its queue grew to the end."""


@dataclass(frozen=True)
class Setting:
    """A kind of experiment: how it differs from the paper's main one.

    Attributes:
        words: what is different.
        figures: of FWload, and of JWload.
        policies: what is run.
        scheduler, execution: options of the plugins.
        full: whether all processes use all of their processors.
    """

    words: str
    figures: tuple[int, int]
    policies: tuple[str, ...] = ("KEASY", "MEASY")
    scheduler: Mapping[str, Any] = field(default_factory=dict)
    execution: Mapping[str, Any] = field(default_factory=dict)
    full: bool = False


BASE = "paper"
SETTINGS: dict[str, Setting] = {
    BASE: Setting("as the paper has it, phi from N(0.482, 0.142)", (6, 7), POLICIES),
    "phi": Setting("phi from N(0.43, 0.14)", (6, 7), tuple(DEPLOY), execution={"phi_mean": 0.43, "phi_sigma": 0.14}),
    "unknown": Setting("CPU use unknown, no job is tested", (9, 10), scheduler={"cpu_info": False}),
    "assumed": Setting(
        "CPU use unknown, all of it assumed", (9, 10), scheduler={"cpu_info": False, "no_cpu_info": "assume_100"}
    ),
    "full": Setting("all processes use 100 %", (11, 12), full=True),
    **{
        f"cost{cost}": Setting(
            f"a migration costs {cost} s", (13, 14), ("MEASY",), scheduler={"migration_cost": float(cost)}
        )
        for cost in COSTS
    },
}
"""By name. EASY is run in the first one only: nothing that others change concerns it."""
COUNTED = 8
"""The figure that counts migrations, in both workloads, of the main experiment."""
FIGURES = (*range(6, 15),)


class Busy(Generated):
    """Jobs of a model of which all processes use all of their processors."""

    def stated(self) -> dict[str, Any]:
        """All that decides which jobs these are, as data."""
        return {**super().stated(), "cpu_use": 1.0}

    def workload(self) -> Workload:
        """Generate the jobs."""
        from emulator.workload.models import cpu_use

        return cpu_use.assign(super().workload(), self.seed, low=1.0)


@dataclass(frozen=True)
class Plan:
    """Which experiments to make, and on how many jobs.

    Attributes:
        figures: of the paper.
        jobs: of FWload; JWload has half as many, as in the paper.
        loads: offered loads, ascending.
        trials: workloads of each kind, with the seeds 1, 2, ...
        widest: the most processors that a job of FWload takes, a key of ``WIDEST``.

    Raises:
        ConfigurationError: one of these that cannot be, or fewer jobs than make batches.
    """

    figures: tuple[int, ...] = FIGURES
    jobs: int = 200_000
    loads: tuple[float, ...] = LOADS
    trials: int = 1
    widest: int = 128

    def __post_init__(self) -> None:
        for figure in self.figures:
            if figure not in FIGURES:
                raise ConfigurationError(f"there is no figure {figure} of results; choose from 6 to 14")
        for load in self.loads:
            if not 0 < load <= 1:
                raise ConfigurationError(f"a load is {load:g}; give shares of the machine, above 0 and at most 1")
        if not self.figures or not self.loads or list(self.loads) != sorted(set(self.loads)):
            raise ConfigurationError("name one figure or more, and loads in ascending order, each once")
        if self.widest not in WIDEST:
            raise ConfigurationError(f"the widest job has {self.widest} processors; choose from 128 and 320")
        if self.jobs < 40 * BATCHES:
            raise ConfigurationError(f"{self.jobs} jobs make no {BATCHES} batches; give {40 * BATCHES} or more")

    def settings(self, workload: str) -> list[str]:
        """Names of the settings that the figures need of a workload; the main one is among them if there are any."""
        index = list(MODELS).index(workload)
        wanted = [name for name, setting in SETTINGS.items() if setting.figures[index] in self.figures]
        return list(dict.fromkeys([BASE, *wanted])) if wanted or COUNTED in self.figures else []

    def count(self, workload: str) -> int:
        """How many jobs a workload has."""
        return int(self.jobs * values()["jobs"][workload] // values()["jobs"]["FWload"])


def specs(plan: Plan) -> list[RunSpec]:
    """The runs to make, named ``WORKLOAD/LOAD/TRIAL/SETTING/POLICY``."""
    return [
        RunSpec(
            f"{workload}/{load:g}/{trial}/{name}/{policy}",
            source_of(workload, plan.count(workload), load, trial, full=SETTINGS[name].full, widest=plan.widest),
            config_of(name, policy, trial),
            measure,
            coordinates={"workload": f"{workload}, load {load:g}", "policy": f"{name}/{policy}", "seed": trial},
        )
        for workload in MODELS
        for load in plan.loads
        for trial in range(1, plan.trials + 1)
        for name in plan.settings(workload)
        for policy in SETTINGS[name].policies
    ]


def source_of(workload: str, jobs: int, load: float, seed: int, *, full: bool = False, widest: int = 128) -> Generated:
    """A workload of the paper; another load gives the same jobs at other times.

    Args:
        workload: a key of ``MODELS``.
        jobs: how many.
        load: offered, as a share of the machine.
        seed: of the models.
        full: whether all processes use all of their processors.
        widest: the most processors that a job of FWload takes, a key of ``WIDEST``.
    """
    machine = values()["processors"]
    options: dict[str, Any] = {"jobs": jobs, "processors": machine, "load": load, "estimates": "tsafrir05", "users": 0}
    if workload == "FWload" and widest != machine:
        # Made for a smaller machine, with as much work as is load for this one.
        from emulator.workload.models.feitelson96 import Feitelson96Parameters

        parameters = Feitelson96Parameters(**WIDEST[widest])
        options |= {"processors": widest, "load": load * machine / widest, "overload": True, "parameters": parameters}
    options["cpu_use"] = True
    return (Busy if full else Generated)(MODELS[workload], seed, tuple(options.items()))


def config_of(setting: str, policy: str, seed: int) -> Config:
    """The configuration of a run.

    Args:
        setting: a key of ``SETTINGS``.
        policy: one of ``POLICIES``.
        seed: of losses and of phi.
    """
    machine = values()["processors"]
    if policy == "EASY":
        return Config(machine, slots={"SchedulerType": "sched/easy"}, seed=seed)
    kind = SETTINGS[setting]
    options = {SCHEDULER: {"deploy": DEPLOY[policy], **kind.scheduler}, EXECUTION: dict(kind.execution)}
    return Config(
        machine, slots={"SchedulerType": SCHEDULER, "ExecutionType": EXECUTION}, plugin_options=options, seed=seed
    )


def measure(records: Records) -> Numbers:
    """Means of each batch, as ``METRIC:BATCH``, and ``overhang``.

    That is by how much the run lasted longer than the submissions, as a share of these.
    """
    of_jobs = {
        "response": response(records),
        "slowdown": bounded_slowdown_feitelson(records),
        "migrations": _migrations(records),
        "kills": column(records, "requeues"),
    }
    submit, end = column(records, "submit"), column(records, "end")
    span = float(submit[-1] - submit[0])
    numbers = {"overhang": float(np.nanmax(end) - submit[-1]) / span if span else math.nan}
    for batch, chosen in enumerate(np.array_split(np.arange(int(WARM_UP * len(records)), len(records)), BATCHES)):
        numbers |= {f"{name}:{batch}": mean(each[chosen]) for name, each in of_jobs.items()}
    return {name: value for name, value in numbers.items() if value == value}


def _migrations(records: Records) -> Floats:
    """How often each job was moved to other processors."""
    ids = np.asarray(records.jobs["job_id"])
    if records.stays is None:
        return np.zeros(len(ids))
    moved = np.asarray(records.stays["job_id"])[np.asarray(records.stays["came"]) == "migration"]
    # The workload models number jobs in the order of submission, which is that of the records.
    return np.bincount(np.searchsorted(ids, moved), minlength=len(ids)).astype(np.float64)


@dataclass(frozen=True)
class Interval:
    """A value, and half the width of its 95 % confidence interval; NaN where there is one observation."""

    value: float
    half: float


@dataclass(frozen=True)
class Point:
    """What came out of one policy at one load.

    Attributes:
        workload, load, setting, policy: of which runs.
        batches: by metric, the batch means of all trials.
        overhang: mean over the trials of :func:`measure`'s.
    """

    workload: str
    load: float
    setting: str
    policy: str
    batches: Mapping[str, tuple[float, ...]]
    overhang: float

    @property
    def grows(self) -> bool:
        """Whether the queue grew to the end: then a mean says how long the run was, not how long jobs take."""
        return self.overhang > GROWS

    def mean(self, metric: str) -> Interval:
        """Mean of the batch means."""
        return interval(np.array(self.batches[metric]))

    def correlation(self, metric: str) -> float:
        """Correlation of a batch mean with the next one's; far above 0 the interval is too narrow."""
        means = np.array(self.batches[metric])
        if len(means) < 3 or np.ptp(means) == 0:
            return math.nan
        apart = means - means.mean()
        return float(np.dot(apart[1:], apart[:-1]) / np.dot(apart, apart))

    def data(self) -> dict[str, Any]:
        """For JSON."""
        means = {metric: self.mean(metric) for metric in METRICS}
        return {
            **vars(self),
            "grows": self.grows,
            "means": {metric: vars(each) for metric, each in means.items()},
            "standard_deviations": {metric: deviation(np.array(each)) for metric, each in self.batches.items()},
            "correlations": {metric: self.correlation(metric) for metric in JUDGED},
        }


Points = dict[tuple[str, float, str, str], Point]
"""By workload, load, setting and policy."""


def points(outcomes: Iterable[Outcome]) -> Points:
    """What came out, trials put together; a policy of which a trial failed is left out there."""
    made: dict[tuple[str, float, str, str], list[Numbers]] = {}
    failed = set()
    for outcome in outcomes:
        workload, load, _, setting, policy = outcome.name.split("/")
        key = workload, float(load), setting, policy
        made.setdefault(key, []).append(outcome.numbers)
        if outcome.error:
            failed.add(key)
    return {key: _point(key, found) for key, found in made.items() if key not in failed}


def _point(key: tuple[str, float, str, str], trials: Sequence[Numbers]) -> Point:
    batches = {
        metric: tuple(numbers[f"{metric}:{batch}"] for numbers in trials for batch in range(BATCHES))
        for metric in METRICS
    }
    return Point(*key, batches, mean(np.array([numbers.get("overhang", math.nan) for numbers in trials])))


def deviation(values: Floats) -> float:
    """Standard deviation of a sample; NaN of a single value."""
    return float(values.std(ddof=1)) if len(values) > 1 else math.nan


def interval(values: Floats) -> Interval:
    """Mean, and Student's interval."""
    return Interval(float(values.mean()), _width(values))


def _width(values: Floats) -> float:
    from scipy.special import stdtrit

    count = len(values)
    if count < 2:
        return math.nan
    return float(stdtrit(count - 1, 0.5 + CONFIDENCE / 2)) * deviation(values) / math.sqrt(count)


def gain(ours: Point, other: Point, metric: str) -> Interval:
    """By how many percent a policy's mean is below another's, batch beside batch: these are the same jobs."""
    one, two = np.array(ours.batches[metric]), np.array(other.batches[metric])
    base = float(two.mean())
    if not base:
        return Interval(math.nan, math.nan)
    ratio = float(one.mean()) / base
    # A quotient of means: to first order it strays like the mean of these differences.
    return Interval(100 * (1 - ratio), 100 * _width(one - ratio * two) / base)


@dataclass(frozen=True)
class Gain:
    """What MEASY saves against EASY, in percent.

    Attributes:
        metric: one of ``JUDGED``.
        of: of what.
        average: mean over workloads and loads.
        most: the largest of them.
        printed: whether the paper's are of the same.
    """

    metric: str
    of: str
    average: float
    most: float
    printed: bool = False


def gains(found: Points) -> list[Gain]:
    """The abstract's averages: over all, over the loads at which EASY keeps up, by workload, and with the other phi."""
    rows = []
    for metric in JUDGED:
        make = partial(_gain, found, metric)
        rows.append(make("both workloads", BASE, printed=True))
        rows.append(make("where EASY's queue does not grow", BASE, steady=True))
        rows += [make(workload, BASE, workloads=(workload,)) for workload in MODELS]
        rows.append(make(SETTINGS["phi"].words, "phi"))
    return [row for row in rows if row.average == row.average]


def _gain(
    found: Points,
    metric: str,
    of: str,
    setting: str,
    *,
    workloads: Sequence[str] = tuple(MODELS),
    steady: bool = False,
    printed: bool = False,
) -> Gain:
    saved = []
    for (workload, load, name, policy), point in found.items():
        easy = found.get((workload, load, BASE, "EASY"))
        if (name, policy) != (setting, "MEASY") or workload not in workloads or easy is None:
            continue
        if not (steady and easy.grows):
            saved.append(gain(point, easy, metric).value)
    return Gain(metric, of, mean(np.array(saved)), max(saved, default=math.nan), printed)


values = partial(values_of, "migration")
"""What the paper prints."""
