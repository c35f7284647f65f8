"""The emulator's PV-EASY against the reference: every run of every job, in every mode."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import ceil
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from emulator.config.preemption import Preemption
from slurm_sim_plugins import View, hookimpl

from .drawing import (
    RESTART,
    VARIANTS,
    Case,
    Modes,
    Variant,
    cases,
    checkpoints,
    crowd,
    in_floats,
    modes,
    runs_of,
    suspensions,
    with_limits_of_powers,
)
from .last_model import last_model
from .preemptible import Checkpoint, Mode, Suspend
from .pv_easy import pv_easy
from .test_references import KTH, cleaned

FIXED = VARIANTS.filter(lambda variant: variant.order == "fcfs")
OUTLIVED = st.sampled_from(["kept", "limit"])
RULES = st.fixed_dictionaries({"passes": st.sampled_from(["batch", "event"]), "kill_at_limit": st.booleans()})


def compare(case: Case, variant: Variant, of_both: Modes, **rules: Any) -> None:
    """Every run: start, end, how it ended, whether it was backfilled."""
    mode, preemption = of_both
    expected = pv_easy(
        case.exact, case.processors, predictions=case.predicted, mode=mode, **rules, **variant.of_reference()
    )
    result = case.emulated(preemption=preemption, **rules, **variant.of_emulator())
    assert runs_of(result) == in_floats(expected)


@settings(max_examples=60)
@given(case=cases(), variant=VARIANTS, rules=RULES)
# The head fits now if others make room, and a run has outlived its planned end: its processors are left over.
@example(crowd(38296), Variant(single_head=True, extra=True), {"passes": "batch", "kill_at_limit": False})
def test_killed_and_begun_anew(case: Case, variant: Variant, rules: dict[str, Any]) -> None:
    compare(case, variant, RESTART, **rules)


@settings(max_examples=60)
@given(case=cases(), variant=VARIANTS, rules=RULES, data=st.data())
def test_checkpoints(case: Case, variant: Variant, rules: dict[str, Any], data: st.DataObject) -> None:
    compare(case, variant, data.draw(checkpoints(case.unit)), **rules)


@settings(max_examples=60)
@given(case=cases(), variant=VARIANTS, rules=RULES, data=st.data())
def test_suspension(case: Case, variant: Variant, rules: dict[str, Any], data: st.DataObject) -> None:
    compare(case, variant, data.draw(suspensions(case.unit)), **rules)


@pytest.mark.parametrize(("last", "refresh"), [("finished", "submit"), ("finished", "pass"), ("submitted", "submit")])
@settings(max_examples=40)
@given(case=cases().map(with_limits_of_powers), variant=FIXED, rules=RULES, outlived=OUTLIVED, data=st.data())
def test_last_model(
    case: Case, variant: Variant, rules: dict[str, Any], outlived: str, data: st.DataObject, last: Any, refresh: str
) -> None:
    mode, preemption = data.draw(modes(case.unit))
    expected = pv_easy(
        case.exact,
        case.processors,
        predict=last_model(case.users, last),
        refresh=refresh == "pass",
        gives_up=outlived == "limit",
        mode=mode,
        **rules,
        **variant.of_reference(),
    )
    words = variant.of_emulator()
    words["plugin_options"] |= {"walltime/last_model": {"last": last, "refresh": refresh, "outlived": outlived}}
    result = case.emulated(walltime="walltime/last_model", preemption=preemption, **rules, **words)
    assert runs_of(result) == in_floats(expected)


@pytest.mark.parametrize(
    "of_both",
    [
        RESTART,
        (Checkpoint(3600, 60), Preemption(mode="CHECKPOINT", interval=3600, cost=60)),
        (Suspend(Fraction(1, 20), 60), Preemption(mode="SUSPEND", slowdown=0.05, cost=60)),
    ],
    ids=lambda of_both: of_both[1].mode,
)
def test_the_beginning_of_a_real_log(traces: Path, of_both: Modes) -> None:
    """Predicted: from a hundredth of the limit to all of it, in no order."""
    file = next(traces.rglob(KTH), None)
    if file is None:
        pytest.skip(f"no {KTH} in {traces}")
    jobs = cleaned(file, processors=100)[:1500]
    predicted = {id: ceil(limit * (1 + id * 7919 % 100) / 100) for id, *_, limit in jobs}
    compare(Case(100, 1, jobs, predicted, {id: 1 for id, *_ in jobs}), Variant(), of_both)


# What holds whatever the reference says ------------------------------------------------


class Watching:
    """Looks, after each pass, whether the head could have been served."""

    name: ClassVar[str] = "observer/watching"

    @hookimpl
    def pass_done(self, view: View) -> None:
        if view.head is not None:
            shadow = sum(run.processors for run in view.running if view.head.outranks(run.job))
            assert view.head.processors > view.free + shadow


@settings(max_examples=40)
@given(case=cases(), variant=VARIANTS, rules=RULES, data=st.data())
def test_no_head_is_left_waiting_that_idle_and_shadow_processors_could_serve(
    case: Case, variant: Variant, rules: dict[str, Any], data: st.DataObject
) -> None:
    _, preemption = data.draw(modes(case.unit))
    words = replace(variant, single_head=False, pin_regular=False).of_emulator()
    case.emulated(plugins=[Watching], preemption=preemption, **rules, **words)


@settings(max_examples=40)
@given(case=cases(), variant=FIXED, rules=RULES, data=st.data())
def test_only_who_was_backfilled_is_ever_preempted(
    case: Case, variant: Variant, rules: dict[str, Any], data: st.DataObject
) -> None:
    _, preemption = data.draw(modes(case.unit))
    for of_job in runs_of(case.emulated(preemption=preemption, **rules, **variant.of_emulator())).values():
        assert all(backfilled for *_, outcome, backfilled in of_job if outcome == "PREEMPTED")


@settings(max_examples=40)
@given(case=cases(), rules=RULES, data=st.data())
def test_no_reservation_is_violated(case: Case, rules: dict[str, Any], data: st.DataObject) -> None:
    from emulator.metrics.fairness import reservation_violated, unfair_delay

    _, preemption = data.draw(modes(case.unit))
    records = case.emulated(preemption=preemption, **rules, **Variant().of_emulator()).records
    assert not reservation_violated(records).any()
    assert not (unfair_delay(records) > 0).any()


@settings(max_examples=40)
@given(case=cases(), variant=VARIANTS, rules=RULES, data=st.data())
def test_work_is_neither_lost_nor_invented(
    case: Case, variant: Variant, rules: dict[str, Any], data: st.DataObject
) -> None:
    mode, preemption = data.draw(modes(case.unit))
    runs = runs_of(case.emulated(preemption=preemption, **rules, **variant.of_emulator()))
    for id, _, _, run, limit in case.jobs:
        work = min(run, limit) if rules["kill_at_limit"] else run
        assert progress(mode, [end - start for start, end, *_ in runs[id]], work) == pytest.approx(work, abs=1e-5)


def progress(mode: Mode, lengths: list[float], work: float) -> float:
    """Seconds of work in runs of such lengths, of which all but the last were cut short."""
    *cut_short, last = lengths
    if isinstance(mode, Checkpoint):
        kept = 0.0
        for length in cut_short:
            reading = mode.restart_cost if kept else 0
            complete = max(0, (length - reading) // (mode.interval + mode.cost))
            kept += min(complete, to_take(mode, work - kept)) * mode.interval
        reading = mode.restart_cost if kept else 0
        return kept + last - reading - to_take(mode, work - kept) * mode.cost
    if isinstance(mode, Suspend):
        resuming = [0] + [mode.cost] * len(cut_short)
        slow = sum(max(0, length - pays) for length, pays in zip(lengths, resuming, strict=True))
        return slow / (1 + float(mode.slowdown))
    return last


def to_take(mode: Checkpoint, work: float) -> int:
    """How many checkpoints so much work needs: one after each interval, but none at the end."""
    return max(0, ceil(work / mode.interval) - 1)
