"""What of a scenario may be played: a scenario is data, and may come from anybody.

Options of ``sbatch`` and commands are known words, given as arguments and never to a shell, and none of
them names a file or a program.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence

from emulator.record.conf import UNSAFE
from emulator.workload.scenario import Scenario, Submission
from slurm_sim_plugins.errors import InputError

VERBS = {
    "scontrol": {
        *("hold", "uhold", "release", "requeue", "requeuehold", "suspend", "resume", "top"),
        *("update", "create", "delete"),
    },
    "sacctmgr": {"add", "create", "modify", "delete", "remove"},
}
"""What an operator may do; ``scancel`` has no verbs."""
FILES = ("output", "error", "input", "chdir", "wrap", "export-file", "bb", "bbf")
FILE_LETTERS = ("-o", "-e", "-i", "-D")
NAME = re.compile(r"[A-Za-z0-9_.+-]{1,64}")
_NUMBER = re.compile(r"[0-9]+")


def checked(scenario: Scenario) -> None:
    """See that a scenario can be played.

    Raises:
        InputError: something in it may not be played, or is not said.
    """
    if not NAME.fullmatch(scenario.name):
        raise InputError(f"{scenario.source}: {scenario.name!r} is no name: letters, digits and _ . + - only")
    for job in scenario.submissions:
        if job.made:
            continue
        if job.run is None:
            raise InputError(f"{_where(job)}: job {job.name!r} has no run; a recording must know how long it works")
        if not NAME.fullmatch(job.name) or (job.user and not NAME.fullmatch(job.user)):
            raise InputError(
                f"{_where(job)}: {job.name!r} or {job.user!r} is no name: letters, digits and _ . + - only"
            )
        for word in job.arguments or ():
            if _names_a_file(word):
                raise InputError(f"{_where(job)}: {word!r} names a file; a recording takes none")
    for action in scenario.actions or ():
        argv(action.command.text, {})
    for command in scenario.accounting or ():
        argv(command.text, {})


def argv(command: str, ids: Mapping[int, int]) -> list[str]:
    """The arguments of an operator's command.

    Args:
        command: as it stands in the scenario.
        ids: what became of the scenario's job ids.

    Raises:
        InputError: a command that may not be played.
    """
    program, *words = shlex.split(command)
    verb = next((word for word in words if not word.startswith("-")), "")
    if program != "scancel" and verb.lower() not in VERBS.get(program, ()):
        known = "; ".join(f"{name} {', '.join(sorted(verbs))}" for name, verbs in VERBS.items())
        raise InputError(f"{command!r} cannot be played; known are {known}; scancel")
    if any(UNSAFE.search(word) for word in words):
        raise InputError(f"{command!r} names a file; a recording takes none")
    if program == "sacctmgr":
        return [program, "-i", *(word for word in words if word != "-i")]
    about_jobs = program == "scancel" or verb in VERBS["scontrol"] - {"update", "create", "delete"}
    return [program, *(_renumbered(word, ids, bare=about_jobs) for word in words)]


def sbatch_arguments(job: Submission, ids: Mapping[int, int]) -> list[str]:
    """Arguments of ``sbatch`` for a submission, its name first.

    Args:
        job: the submission.
        ids: what became of the scenario's job ids, for dependencies.
    """
    words = [f"--job-name={job.name}"]
    words += [f"-N{job.nodes}"] if job.nodes is not None else []
    words += [f"-p{job.partition}"] if job.partition else []
    words += [f"--time={job.time_limit}"] if job.time_limit is not None else []
    words += [f"--priority={job.priority_requested}"] if job.priority_requested is not None else []
    return words + renumbered_arguments(job, ids)


def renumbered_arguments(job: Submission, ids: Mapping[int, int]) -> list[str]:
    """The further arguments of a submission, with the ids of this recording in dependencies."""
    words, before = [], ""
    for word in job.arguments or ():
        if word.startswith(("-d", "--dependency")) or before in ("-d", "--dependency"):
            kind, mark, rest = word.partition(":")
            word = kind + mark + _numbers(rest, ids)
        words.append(word)
        before = word
    return words


def _renumbered(word: str, ids: Mapping[int, int], *, bare: bool) -> str:
    key, equals, value = word.partition("=")
    if equals:
        return f"{key}={_numbers(value, ids)}" if key.lower() in ("jobid", "job", "dependency") else word
    return _numbers(word, ids) if bare and not word.startswith("-") else word


def _numbers(text: str, ids: Mapping[int, int]) -> str:
    """The same with other ids; ``3_2`` and ``3_[2-4]`` are tasks of job 3, ``3+60`` minutes after its start."""
    found = re.compile(r"(?P<tasks>_\[[^]]*\])|(?<![0-9_+])[0-9]+")
    return found.sub(lambda each: each[0] if each["tasks"] else str(ids.get(int(each[0]), int(each[0]))), text)


def _names_a_file(word: str) -> bool:
    long = word[2:].partition("=")[0] if word.startswith("--") else ""
    # sbatch takes any beginning of a name that is not ambiguous.
    named = bool(long) and any(name.startswith(long) for name in FILES if len(long) > 2)
    return named or word.startswith(FILE_LETTERS) or bool(UNSAFE.search(word))


def users(scenario: Scenario) -> Sequence[str]:
    """Who submits."""
    return sorted({job.user for job in scenario.submissions if job.user})


def _where(job: Submission) -> str:
    return str(job.location)
