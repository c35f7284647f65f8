"""Checks that simulate: are the answers such that they can be used, whatever the workload?"""

from __future__ import annotations

import os
import signal
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from emulator.state.instants import MICROSECONDS
from emulator.testing.conformance import workloads
from emulator.testing.conformance.report import DoesNotApply, Nonconformity
from emulator.testing.conformance.source import line_of_attribute, line_of_class
from emulator.testing.conformance.subject import Policy, Subject
from emulator.testing.conformance.workloads import Case
from slurm_sim_plugins.errors import ConfigurationError

LONG = 2000
"""Jobs in the long queue."""
BUDGET = 10.0
"""Seconds of processor time for the passes that see it."""
EXAMPLES = 60
"""Random workloads."""


def answers(subject: Subject) -> None:
    """Its answers have the types, lengths and ranges that are asked for, beside all kinds of other plugins."""
    for policy in subject.policies():
        subject.trial(workloads.mixed(), policy).finish()


def sizes(subject: Subject) -> None:
    """It copes with empty, full, one-processor and very large clusters."""
    for said, case in workloads.sizes().items():
        for policy in subject.policies():
            try:
                subject.trial(case, policy).finish()
            except DoesNotApply:
                raise
            except Exception as error:
                raise Nonconformity(f"with {said}: {in_words(error)}") from error


def long_queue(subject: Subject) -> None:
    """It copes with a long queue in the time that there is."""
    for policy in subject.policies():
        trial = subject.trial(workloads.long_queue(LONG), policy)
        with _budget(subject, policy):
            trial.simulation.advance(101 * MICROSECONDS)


def random_workloads(subject: Subject, examples: int = EXAMPLES) -> None:
    """Its answers can be used on random workloads, of which the smallest that fails is told."""
    try:
        import hypothesis
    except ImportError as error:
        raise ConfigurationError(
            "the check random_workloads needs hypothesis; install it with pip install 'slurm-sim-plugins[test]'"
        ) from error
    subject.check_counted()
    failed: list[tuple[Case, Policy, Exception]] = []

    def simulates(case: Case) -> None:
        # Once something fails, the smallest workload is looked for that fails under the same policy.
        for policy in subject.policies() if not failed else [failed[0][1]]:
            try:
                subject.trial(case, policy).finish()
            except Exception as error:
                failed.append((case, policy, error))
                raise

    settings = hypothesis.settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        database=None,
        report_multiple_bugs=False,
        phases=(hypothesis.Phase.generate, hypothesis.Phase.shrink),
        print_blob=False,
        verbosity=hypothesis.Verbosity.quiet,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    try:
        settings(hypothesis.given(workloads.cases())(simulates))()
    except Exception as error:
        if not failed:
            raise
        # What hypothesis tries last is the smallest that it found.
        case = _without_needless_jobs(failed[-1][0], simulates)
        policy, why = failed[-1][1:]
        options = {**_option(subject), **policy.options}
        stated = "".join(f', {name}="{value}"' for name, value in options.items())
        again = f"simulate_jobs({case}, plugins=[{subject.info.factory.__name__}]{stated})"
        raise Nonconformity(f"{in_words(why)}\nthe smallest example:\n{again}") from error


def _without_needless_jobs(case: Case, simulates: Callable[[Case], None]) -> Case:
    """The same without the jobs that have no part in the failure."""
    for index in reversed(range(len(case.workload))):
        smaller = case.without(index)
        try:
            simulates(smaller)
        except Exception:
            case = smaller
    return case


def only_starts(subject: Subject) -> None:
    """If it says only_starts, it does nothing but start what fits, and gains nothing from being called more often."""
    factory = subject.info.factory
    if not getattr(factory, "only_starts", False):
        raise DoesNotApply("it does not say only_starts")
    where = line_of_attribute(factory, "only_starts")
    always = subject.replaced(type(factory.__name__, (factory,), {"only_starts": False}))
    for policy in subject.policies():
        case = workloads.mixed()
        if subject.trial(case, policy).finish().log != always.trial(case, policy).finish().log:
            raise Nonconformity(
                f"{where}: it says only_starts, but starts other jobs when it is called at every instant ({policy}); "
                "take only_starts away, or let it depend on nothing but queue, runs and planned ends"
            )


def _option(subject: Subject) -> dict[str, str]:
    """How ``simulate_jobs`` is told to use the plugin."""
    kind, name = subject.info.type, subject.info.name
    return {} if kind == "observer" else {"scheduler" if kind == "sched" else kind: name}


def in_words(error: BaseException) -> str:
    """An error as a reader wants it."""
    return str(error) or type(error).__name__


class _OverBudget(BaseException):
    """Raised within a plugin that takes too long; not an Exception, so that nothing catches it on its way."""


@contextmanager
def _budget(subject: Subject, policy: Policy) -> Iterator[None]:
    """Stop what takes too much processor time, and say where it was."""
    advice = (
        f"{LONG} jobs in the queue take it more than {BUDGET:g} s of processor time ({policy}); "
        "do no work that grows with the square of the queue"
    )
    before = _processor_time()
    try:
        with _timer():
            yield
    except _OverBudget as error:
        raise Nonconformity(f"{_last_line_of(subject, error)}: {advice}") from None
    if _processor_time() - before > BUDGET:
        raise Nonconformity(f"{line_of_class(subject.info.factory)}: {advice}")


@contextmanager
def _timer() -> Iterator[None]:
    """Raise after so much processor time, where the operating system can tell us."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        raise _OverBudget

    handler: Any = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, BUDGET)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, handler)


def _last_line_of(subject: Subject, error: BaseException) -> str:
    """Where in the plugin's own file it was."""
    where = line_of_class(subject.info.factory)
    file = where.rpartition(":")[0]
    lines = [line for frame, line in traceback.walk_tb(error.__traceback__) if frame.f_code.co_filename == file]
    return f"{file}:{lines[-1]}" if lines else where


def _processor_time() -> float:
    """Seconds of this process; no simulated time depends on it."""
    times = os.times()
    return times.user + times.system
