"""The command ``scancel``."""

from __future__ import annotations

from collections.abc import Callable, Set
from signal import SIGKILL, Signals
from typing import TYPE_CHECKING

from emulator.config.slurm.hostlist import expand
from emulator.operator import jobs
from emulator.operator.het_jobs import not_whole, widened, with_led
from emulator.operator.which import jobs_named, to_all
from emulator.scheduling.het_jobs import NOT_ONE, is_led
from emulator.state.job import Job
from emulator.state.run import State
from slurm_sim_plugins.errors import InputError

if TYPE_CHECKING:
    from emulator.engine.controller import Controller


def scancel(words: list[str], controller: Controller) -> None:
    """Jobs by id or list of ids, :data:`CHOICES`, :data:`NODES`, :data:`SIGNAL` and :data:`WHERE`.

    Without a signal jobs are cancelled. SIGKILL cancels, too, but that of ``--batch`` has a running job fail. Other
    signals reach no script without ``--batch`` or ``--full``; with these the script fails at once if they end it.
    """
    ids, chosen = _chosen(words)
    where = {chosen.pop(name) for name in WHERE if name in chosen}
    texts = [chosen.pop(name) for name in SIGNAL if name in chosen]
    number = _number(texts[-1]) if texts else SIGKILL
    found = jobs_named(ids, controller) if ids else list(controller.cluster.jobs.values())
    on = [_nodes(chosen.pop(name)) for name in NODES if name in chosen]
    found = [job for job in found if not job.over and all(CHOICES[name](job, value) for name, value in chosen.items())]
    found = [job for job in found if not on or _is_on(job, on[-1], controller)]
    found = with_led(widened(found, controller.cluster), controller.cluster)

    def end(job: Job) -> None:
        if number == SIGKILL and not ("batch" in where and job.state is State.RUNNING):
            if job.state is State.PENDING and not_whole(job, found, controller.cluster):
                raise InputError(f"job {job.id}: {NOT_ONE}")
            jobs.cancel(job, controller)
        elif job.state is not State.RUNNING or (where and number in ENDING and not is_led(job, controller.cluster)):
            jobs.signal_script(job, number, controller)

    to_all(found, end)


def _chosen(words: list[str]) -> tuple[list[str], dict[str, str]]:
    """Words that name jobs, and what else they must be, or what is sent to them."""
    ids, chosen, rest = [], {}, list(reversed(words))
    while rest:
        word = rest.pop()
        if not word.startswith("-"):
            ids.append(word)
            continue
        if word in WHERE:
            chosen[word] = WHERE[word]
        if word in (*WHERE, *NO_CHANGE):
            continue
        name, equals, value = word.partition("=")
        if name not in (*CHOICES, *NODES, *SIGNAL) or not (equals or rest):
            known = ", ".join((*CHOICES, *NODES, *SIGNAL))
            without = ", ".join((*WHERE, *NO_CHANGE))
            raise InputError(
                f"{word!r}: of scancel the emulator takes job ids and {known}, with a value, and {without}"
            )
        chosen[name] = value if equals else rest.pop()
    if not ids and not set(chosen) - {*WHERE, *SIGNAL}:
        raise InputError("name the jobs to cancel")
    return ids, chosen


def _number(text: str) -> int:
    """The number of a signal, by its name with or without ``SIG``, or by itself."""
    name = f"SIG{text.upper().removeprefix('SIG')}"
    number = int(text) if text.isdigit() else getattr(Signals, name, None)
    if number not in (*ENDING, *PASSING):
        if number in STOPPING:
            raise InputError(f"{name} stops scripts, which is not emulated; scontrol suspend stops jobs")
        raise InputError(f"Unknown job signal: {text}")
    return int(number)


def _is_in(job: Job, partitions: str) -> bool:
    """Whether a job runs in a partition, or waits in these alone: scancel compares what squeue shows (recorded)."""
    if job.run is not None:
        return job.run.partition == partitions
    return sorted(one.name for one in job.partitions) == sorted(partitions.split(","))


def _nodes(text: str) -> set[str]:
    """The nodes of a host list."""
    if "/" in text:
        raise InputError(f"scancel -w {text}: a file of nodes is not read; name the nodes")
    return set(expand(text))


def _is_on(job: Job, named: Set[str], controller: Controller) -> bool:
    """Whether a job has any of some nodes."""
    names = controller.cluster.machine.names
    return job.run is not None and any(names[node] in named for node in job.run.allocation.nodes)


CHOICES: dict[str, Callable[[Job, str], bool]] = {
    **dict.fromkeys(("-A", "--account"), lambda job, value: job.options.account == value),
    **dict.fromkeys(("-u", "--user"), lambda job, value: job.request.user == value),
    **dict.fromkeys(("-n", "--name"), lambda job, value: job.name == value),
    **dict.fromkeys(("-p", "--partition"), _is_in),
    **dict.fromkeys(("-q", "--qos"), lambda job, value: job.options.qos == value),
    **dict.fromkeys(("-R", "--reservation"), lambda job, value: job.reservation == value),
    **dict.fromkeys(("-t", "--state"), lambda job, value: job.state is _state(value)),
}
"""What ``scancel`` takes besides ids of jobs."""
NODES = ("-w", "--nodelist")
SIGNAL = ("-s", "--signal")
NO_CHANGE = ("-v", "--verbose", "-Q", "--quiet", "-c", "--ctld", "-H", "--hurry")
"""Options that change no schedule."""
WHERE = {"-b": "batch", "--batch": "batch", "-f": "full", "--full": "full"}
"""Whether the script gets a signal, alone or with all its children; without these only steps of ``srun`` do."""
ENDING = tuple(Signals[f"SIG{name}"] for name in ("HUP", "INT", "QUIT", "ABRT", "KILL", "USR1", "USR2", "ALRM", "TERM"))
"""Signals that end a script which has no trap for them."""
PASSING = (Signals.SIGCONT, Signals.SIGURG)
"""Signals that change nothing."""
STOPPING = (Signals.SIGSTOP, Signals.SIGTSTP, Signals.SIGTTIN, Signals.SIGTTOU)


def _state(text: str) -> State:
    """The state of jobs to cancel, by its name or letters."""
    known = {"PENDING": State.PENDING, "RUNNING": State.RUNNING, "SUSPENDED": State.SUSPENDED}
    letters = {"PD": "PENDING", "R": "RUNNING", "S": "SUSPENDED"}
    word = letters.get(text.upper(), text.upper())
    if word not in known:
        raise InputError(f"{text!r}: scancel takes jobs that are {', '.join(known)}")
    return known[word]
