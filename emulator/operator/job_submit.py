"""What a job_submit.lua makes of submissions: cases with what is expected of them, and two scripts side by side."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from emulator.config.slurm.model import SlurmConf
from emulator.engine.controller import Controller
from emulator.files import read_input
from emulator.operator.update import update_of
from emulator.scheduling.job_mgr import make_job
from emulator.scheduling.policies import plugins_of
from emulator.scheduling.submission_of import submission_of
from emulator.workload.request import JobRequest, RejectedError
from emulator.workload.sbatch import parse_sbatch
from slurm_sim_plugins.errors import InputError
from slurm_sim_plugins.job_submit.job_desc import NUMBERS, TEXTS, described, described_update
from slurm_sim_plugins.job_update import JobUpdate
from slurm_sim_plugins.submission import Submission

LUA = "job_submit/lua"
CASE = ("name", "sbatch", "user", "update", "set", "refuse")


class Script:
    """A script, asked as slurmctld would ask it.

    Args:
        file: a job_submit.lua.
        conf: the cluster, whose partitions it sees.

    Attributes:
        version: of Slurm, whose rules hold.

    Raises:
        ConfigurationError: the script cannot be run.
    """

    def __init__(self, file: Path, conf: SlurmConf) -> None:
        selection = plugins_of(conf, {"JobSubmitPlugins": LUA}, options={LUA: {"file": str(file)}})
        self._controller = Controller(conf, [], selection=selection)
        self._chain = self._controller.arrivals.chain
        self.version = conf.version

    def judged(self, request: JobRequest) -> Submission | str:
        """What a submission asks for behind the script, or why it is refused.

        Raises:
            PluginError: the script does not end, or wants too much memory.
        """
        try:
            return self._chain.ask(submission_of(request))
        except RejectedError as refused:
            return str(refused)

    def updated(self, request: JobRequest, update: JobUpdate) -> JobUpdate | str:
        """What a command changes of a job that was submitted, behind the script, or why it is refused.

        Raises:
            PluginError: the script does not end, or wants too much memory.
        """
        arrivals = self._controller.arrivals
        try:
            job = make_job(self._chain.request(request), self._controller.cluster)
            if self._controller.cluster.accounting is None:
                arrivals.admit([job])
        except RejectedError as refused:
            return f"{refused} (when it was submitted)"
        try:
            return self._chain.modified(update, arrivals.records.of([job]))
        except RejectedError as refused:
            return str(refused)


@dataclass(frozen=True)
class Case:
    """A submission, and what is expected of it.

    Attributes:
        name: of the case.
        request: what is submitted.
        update: what a command changes of it then, or None.
        fields: what fields of ``job_desc`` hold behind the script.
        refuse: words of the refusal that is expected; None for none.
    """

    name: str
    request: JobRequest
    update: JobUpdate | None
    fields: Mapping[str, Any]
    refuse: str | None

    def failed(self, script: Script) -> str:
        """What is not as expected of a script; empty if nothing is.

        Raises:
            PluginError: the script does not end, or wants too much memory.
        """
        update = self.update
        judged = script.judged(self.request) if update is None else script.updated(self.request, update)
        return self._wrong(judged, script.version)

    def _wrong(self, judged: Submission | JobUpdate | str, version: str) -> str:
        if isinstance(judged, str):
            if self.refuse is None:
                return f"is refused: {judged}"
            return "" if self.refuse.lower() in judged.lower() else f"is refused with other words: {judged}"
        if self.refuse is not None:
            return "is taken"
        shown = fields_of(judged, version) if isinstance(judged, Submission) else self._stated(judged, version)
        return "; ".join(
            f"{name} is {held!r}, expected {value!r}"
            for name, value in self.fields.items()
            if str(held := shown.get(name)) != str(value)
        )

    def _stated(self, update: JobUpdate, version: str) -> dict[str, Any]:
        return described_update(update, submission_of(self.request), 0.0, 0, version)


def fields_of(judged: Submission, version: str = "") -> dict[str, Any]:
    """The fields of ``job_desc`` that are stated, in a version of Slurm."""
    return described(judged, 0, version)


def read_cases(file: Path) -> list[Case]:
    """The cases of a file: a list of tables in YAML.

    Raises:
        InputError: it cannot be read, or is no such list; names the case.
    """
    try:
        listed = yaml.safe_load(read_input(file))
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{file}: is not YAML: {error}") from None
    if not isinstance(listed, list):
        raise InputError(f"{file}: is no list of cases; each is a table with {', '.join(CASE)}")
    return [_case(file, number, given) for number, given in enumerate(listed, 1)]


def _case(file: Path, number: int, given: Any) -> Case:
    where = f"{file}: case {number}"
    if not isinstance(given, dict) or not set(given) <= set(CASE):
        raise InputError(f"{where}: is no table with the keys {', '.join(CASE)}")
    fields, words = given.get("set") or {}, given.get("sbatch") or ""
    if not isinstance(fields, dict) or (unknown := [name for name in fields if name not in {*NUMBERS, *TEXTS}]):
        told = f"has no field {unknown[0]!r}" if isinstance(fields, dict) else "is a table: write {partition: long}"
        raise InputError(f"{where}: set: job_desc {told}")
    try:
        options = parse_sbatch(shlex.split(str(words)))
    except ValueError as error:
        raise InputError(f"{where}: sbatch: {error}") from None
    update = _update(where, given["update"]) if "update" in given else None
    refuse = given.get("refuse")
    request = JobRequest(number, 0.0, 0.0, options, str(given.get("user", "")))
    return Case(
        str(given.get("name", words or f"case {number}")),
        request,
        update,
        fields,
        None if refuse is None else str(refuse),
    )


def _update(where: str, words: Any) -> JobUpdate:
    """What a case changes of the job, such as ``TimeLimit=10 Partition=long``."""
    try:
        stated = [word.partition("=") for word in shlex.split(str(words))]
        if not stated or not all(equals for _, equals, _ in stated):
            raise ValueError(f"{words!r} is not written as Field=value, such as TimeLimit=10")
        return update_of({key.lower(): value for key, _, value in stated})
    except (ValueError, InputError) as error:
        raise InputError(f"{where}: update: {error}") from None


def differences(old: Script, new: Script, requests: Iterable[JobRequest]) -> Iterator[tuple[JobRequest, str, str]]:
    """Submissions that two scripts judge otherwise, and what each says of it."""
    for request in requests:
        before, after = old.judged(request), new.judged(request)
        if before != after:
            yield request, _words(before, after), _words(after, before)


def _words(judged: Submission | str, other: Submission | str) -> str:
    """A verdict; of one that is taken the fields that the other leaves otherwise."""
    if isinstance(judged, str):
        return f"refused: {judged}"
    if isinstance(other, str):
        return "taken"
    ours, theirs = fields_of(judged), fields_of(other)
    names = [name for name in {**ours, **theirs} if ours.get(name) != theirs.get(name)]
    return ", ".join(f"{name}={ours.get(name)}" for name in names)
