"""The command ``scancel``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from emulator.operator import jobs
from emulator.operator.het_jobs import not_whole, widened, with_led
from emulator.operator.which import jobs_named, to_all
from emulator.scheduling.het_jobs import NOT_ONE
from emulator.state.job import Job
from emulator.state.run import State
from slurm_sim_plugins.errors import InputError

if TYPE_CHECKING:
    from emulator.engine.controller import Controller


def scancel(words: list[str], controller: Controller) -> None:
    """Jobs by id or list of ids, and :data:`CHOICES`; another signal than SIGKILL ends none of them."""
    ids, chosen = _chosen(words)
    signals = [chosen.pop(name) for name in SIGNALS if name in chosen]
    if signals and signals[-1].upper().removeprefix("SIG") not in ("9", "KILL"):
        return
    found = jobs_named(ids, controller) if ids else list(controller.cluster.jobs.values())
    found = [job for job in found if not job.over and all(CHOICES[name](job, value) for name, value in chosen.items())]
    found = with_led(widened(found, controller.cluster), controller.cluster)

    def cancel(job: Job) -> None:
        if job.state is State.PENDING and not_whole(job, found, controller.cluster):
            raise InputError(f"job {job.id}: {NOT_ONE}")
        jobs.cancel(job, controller)

    to_all(found, cancel)


def _chosen(words: list[str]) -> tuple[list[str], dict[str, str]]:
    """Words that name jobs, and what else they must be."""
    ids, chosen, rest = [], {}, list(reversed(words))
    while rest:
        word = rest.pop()
        if not word.startswith("-"):
            ids.append(word)
            continue
        name, equals, value = word.partition("=")
        if name not in (*CHOICES, *SIGNALS) or not (equals or rest):
            known = ", ".join((*CHOICES, *SIGNALS))
            raise InputError(f"{word!r}: of scancel the emulator takes job ids and {known}, with a value")
        chosen[name] = value if equals else rest.pop()
    if not ids and not chosen:
        raise InputError("name the jobs to cancel")
    return ids, chosen


def _is_in(job: Job, partitions: str) -> bool:
    """Whether a job runs in a partition, or waits in these alone: scancel compares what squeue shows (recorded)."""
    if job.run is not None:
        return job.run.partition == partitions
    return sorted(one.name for one in job.partitions) == sorted(partitions.split(","))


CHOICES: dict[str, Callable[[Job, str], bool]] = {
    **dict.fromkeys(("-u", "--user"), lambda job, value: job.request.user == value),
    **dict.fromkeys(("-n", "--name"), lambda job, value: job.name == value),
    **dict.fromkeys(("-p", "--partition"), _is_in),
    **dict.fromkeys(("-q", "--qos"), lambda job, value: job.options.qos == value),
    **dict.fromkeys(("-R", "--reservation"), lambda job, value: job.reservation == value),
    **dict.fromkeys(("-t", "--state"), lambda job, value: job.state is _state(value)),
}
"""What ``scancel`` takes besides ids of jobs."""
SIGNALS = ("-s", "--signal")


def _state(text: str) -> State:
    """The state of jobs to cancel, by its name or letters."""
    known = {"PENDING": State.PENDING, "RUNNING": State.RUNNING, "SUSPENDED": State.SUSPENDED}
    letters = {"PD": "PENDING", "R": "RUNNING", "S": "SUSPENDED"}
    word = letters.get(text.upper(), text.upper())
    if word not in known:
        raise InputError(f"{text!r}: scancel takes jobs that are {', '.join(known)}")
    return known[word]
