"""What the papers on PV-EASY claim of their figures, and whether it holds here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from emulator.campaign import Numbers, Outcome
from slurm_sim_studies.papers.pv_easy import ERRORS

LEVEL = 0.05
"""Two means are level when they differ by no more than this."""
REPETITIONS = 10


@dataclass(frozen=True)
class Claim:
    """A claim, and the figures that decide it.

    Attributes:
        source: figure or section.
        text: what is claimed.
        column: of which workload.
        holds: whether it does.
        figures: what decides it, in words.
    """

    source: str
    text: str
    column: str
    holds: bool
    figures: str


def claims(outcomes: Sequence[Outcome], columns: Sequence[str]) -> list[Claim]:
    """The claims that the runs decide."""
    numbers = {outcome.name: outcome.numbers for outcome in outcomes if not outcome.error}
    found = []
    for column in columns:
        of = {run.partition("/")[2]: values for run, values in numbers.items() if run.startswith(f"{column}/")}
        if {"easy", "pv"} <= set(of):
            found += _easy_and_pv(column, of)
        if {"easy", "pv", "easy_last"} <= set(of):
            found += _easy_last(column, of)
        for cost in (60, 120, 180):
            found += _cheaper(column, of, f"cp{cost}", "figure 7") + _cheaper(column, of, f"vm{cost}", "figure 8")
    return found


def virtual_runs(repetitions: int = REPETITIONS) -> list[str]:
    """The runs of figure 4."""
    return [
        f"virtual:{scheduler}:{error}:{repetition}"
        for scheduler in ("easy", "sjf", "pv")
        for error in ERRORS
        for repetition in range(repetitions if error else 1)
    ]


def virtual_means(outcomes: Sequence[Outcome], column: str, metric: str) -> dict[str, dict[float, float]]:
    """Means over the repetitions of figure 4: by scheduler, then by largest error."""
    values: dict[str, dict[float, list[float]]] = {}
    for outcome in outcomes:
        study, _, run = outcome.name.partition("/")
        if study == column and run.startswith("virtual:") and metric in outcome.numbers:
            _, scheduler, error, _ = run.split(":")
            values.setdefault(scheduler, {}).setdefault(float(error), []).append(outcome.numbers[metric])
    return {
        scheduler: {error: sum(found) / len(found) for error, found in sorted(errors.items())}
        for scheduler, errors in values.items()
    }


def virtual_claims(outcomes: Sequence[Outcome], columns: Sequence[str]) -> list[Claim]:
    """Figure 4, read both ways: from 10 % on, as the conference paper concludes, and up to 10 %."""
    found = []
    for column in columns:
        for metric in ("mbs", "mwbs"):
            means = virtual_means(outcomes, column, metric)
            if set(means) != {"easy", "sjf", "pv"}:
                continue
            for text, errors in (
                ("at errors of 10 % and more", [error for error in ERRORS if error >= 0.1]),
                ("at errors up to 10 %", [error for error in ERRORS if error <= 0.1]),
            ):
                better = all(means["pv"][error] < min(means["easy"][error], means["sjf"][error]) for error in errors)
                figures = ", ".join(
                    f"{100 * error:.0f} %: {means['pv'][error]:.1f} to {means['easy'][error]:.1f} and "
                    f"{means['sjf'][error]:.1f}"
                    for error in errors
                )
                found.append(
                    Claim(
                        "figure 4",
                        f"PV-EASY beats FCFS-EASY and SJF-EASY in {metric.upper()} {text}",
                        column,
                        better,
                        figures,
                    )
                )
    return found


def _easy_and_pv(column: str, of: Mapping[str, Numbers]) -> list[Claim]:
    easy, pv = of["easy"], of["pv"]
    found = []
    for source, metric in (("figure 2", "mbs"), ("figure 3", "mwbs")):
        for size, words in (("big", "better"), ("small", "not better")):
            ours, other = pv.get(f"blocked_{metric}_{size}"), easy.get(f"blocked_{metric}_{size}")
            if ours is not None and other is not None:
                text = f"{size} blocked jobs are {words} off under PV-EASY in {metric.upper()}"
                found.append(
                    Claim(source, text, column, (ours < other) == (size == "big"), f"{ours:.2f} to {other:.2f}")
                )
    for source, metric in (("figure 5", "mbs"), ("figure 6", "mwbs")):
        text = f"PV-EASY is level with or better than EASY in {metric.upper()}"
        holds = pv[metric] <= easy[metric] * (1 + LEVEL)
        found.append(Claim(source, text, column, holds, f"{pv[metric]:.2f} to {easy[metric]:.2f}"))
    violated = pv.get("violated_jobs:latest", 0.0)
    found.append(
        Claim("section 4", "no reservation is violated under PV-EASY", column, violated == 0, f"{violated:.0f} jobs")
    )
    delayed = pv.get("delayed_jobs:could_start", 0.0)
    found.append(
        Claim("section 4", "no head of the queue is delayed under PV-EASY", column, delayed == 0, f"{delayed:.0f} jobs")
    )
    return found


def _easy_last(column: str, of: Mapping[str, Numbers]) -> list[Claim]:
    """Of MBS the papers do not say that EASY-Last is the worst, only that EASY is better."""
    last, easy, pv = of["easy_last"], of["easy"], of["pv"]
    figures = f"{last['mwbs']:.2f} to {easy['mwbs']:.2f} (EASY) and {pv['mwbs']:.2f} (PV-EASY)"
    worst = last["mwbs"] > max(easy["mwbs"], pv["mwbs"])
    better = "EASY has a smaller MBS than EASY-Last"
    return [
        Claim("figure 6", "EASY-Last is the worst in MWBS", column, worst, figures),
        Claim("section 6", better, column, easy["mbs"] < last["mbs"], f"{easy['mbs']:.2f} to {last['mbs']:.2f}"),
    ]


PRINTED = {
    ("cp60", "CTC"): -9.00,
    ("cp60", "SDSC-BLUE"): -34.81,
    ("cp60", "SDSC-DS"): -22.97,
    ("cp120", "CTC"): 5.11,
    ("cp180", "SDSC-BLUE"): -24.21,
    ("cp180", "SDSC-DS"): -10.90,
}
"""Change of MBS against PV-EASY in percent, where the journal's text on figure 7 states it."""
WORSE = {("cp180", "CTC"), ("vm60", "CTC"), ("vm120", "CTC"), ("vm180", "CTC")}
"""Where the text says that MBS is slightly greater, without a number."""


def _cheaper(column: str, of: Mapping[str, Numbers], run: str, source: str) -> list[Claim]:
    if not {"pv", run} <= set(of):
        return []
    change = 100 * (of[run]["mbs"] / of["pv"]["mbs"] - 1)
    printed = PRINTED.get((run, column))
    if printed is None and run == "cp120":
        return []
    expected_less = printed < 0 if printed is not None else (run, column) not in WORSE
    text = f"{run} has {'a smaller' if expected_less else 'a greater'} MBS than PV-EASY"
    figures = f"{change:+.1f} %" + (f", printed {printed:+.2f} %" if printed is not None else "")
    return [Claim(source, text, column, (change < 0) == expected_less, figures)]
