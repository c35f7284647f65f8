"""A site's own job_submit.lua: Slurm's job_submit/lua."""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar

from slurm_sim_plugins.cluster import Partition
from slurm_sim_plugins.errors import ConfigurationError
from slurm_sim_plugins.hookspecs import hookimpl
from slurm_sim_plugins.job_submit.job_desc import (
    INFINITE,
    MEM_PER_CPU,
    MINUTE,
    MODIFIED,
    NICE_OFFSET,
    NO_VAL,
    NO_VAL16,
    NO_VAL64,
    NUMBERS,
    TABLES,
    TEXTS,
    changed,
    described,
    described_update,
    followed,
    update_followed,
    updated,
)
from slurm_sim_plugins.job_submit.job_rec import JOB_FIELDS, NOT_EMULATED, RESERVATION_FIELDS, recorded, reserved
from slurm_sim_plugins.job_update import JobUpdate, ModifyView
from slurm_sim_plugins.submission import RecordsView, Reject, Submission, SubmitView

STEPS, MEMORY = 5_000_000, 64 << 20
"""Bounds of one call: instructions of Lua's machine, and bytes."""
FIRST_UID = 1000
CONSTANTS: Mapping[str, float] = {
    "NO_VAL": NO_VAL,
    "NO_VAL8": 254,
    "NO_VAL16": NO_VAL16,
    "NO_VAL64": NO_VAL64,
    "INFINITE": INFINITE,
    "INFINITE64": float(2**64 - 1),
    "MEM_PER_CPU": MEM_PER_CPU,
    "NICE_OFFSET": NICE_OFFSET,
    "JOB_SHARED_NONE": 0,
    "JOB_SHARED_OK": 1,
    "JOB_SHARED_USER": 2,
    "JOB_SHARED_MCS": 3,
    "SHARED_FORCE": 32768,
    "ALLOC_SID_ADMIN_HOLD": 1,
    "ALLOC_SID_USER_HOLD": 2,
    "KILL_INV_DEP": 1,
    "NO_KILL_INV_DEP": 2,
    "SPREAD_JOB": 256,
    "USE_MIN_NODES": 512,
    "GRES_DISABLE_BIND": 524288,
    "GRES_ENFORCE_BIND": 16,
    "MAIL_JOB_BEGIN": 1,
    "MAIL_JOB_END": 2,
    "MAIL_JOB_FAIL": 4,
    "MAIL_JOB_REQUEUE": 8,
    "MAIL_JOB_TIME100": 16,
    "MAIL_JOB_TIME890": 32,
    "MAIL_JOB_TIME80": 64,
    "MAIL_JOB_TIME50": 128,
    "MAIL_JOB_STAGE_OUT": 256,
    "MAIL_INVALID_DEPEND": 1024,
}
"""Of the table ``slurm``, as Slurm 22.05 has them."""
ERRORS: Mapping[int, tuple[str, str]] = {
    -1: ("ERROR", "Unspecified error"),
    2002: ("ESLURM_ACCESS_DENIED", "Access/permission denied"),
    2006: ("ESLURM_INVALID_NODE_COUNT", "Node count specification invalid"),
    2008: ("ESLURM_JOB_MISSING_SIZE_SPECIFICATION", "Job size specification needs to be provided"),
    2045: ("ESLURM_INVALID_ACCOUNT", "Invalid account or account/partition combination specified"),
    2048: ("ESLURM_INVALID_LICENSES", "Invalid license specification"),
    2050: (
        "ESLURM_ACCOUNTING_POLICY",
        "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)",
    ),
    2051: ("ESLURM_INVALID_TIME_LIMIT", "Requested time limit is invalid (missing or exceeds some limit)"),
    8000: ("ESLURM_MISSING_TIME_LIMIT", "Time limit specification required, but not provided"),
}
"""Codes that a script may return, their names in the table ``slurm``, and what ``sbatch`` says of each."""
HOST = ("log", "unknown", "lost", "keys", "record", "minutes", "module", "time")
"""Functions that the sandbox calls; a script never gets hold of them."""
SAYS_OF_CHANGES = "24.11"
"""From this version on ``scontrol`` shows what ``slurm.log_user`` says of a change."""
ERRORS_REFUSE = "26.05"
"""From this version on a script that ends with an error refuses the job, or the change."""
FAILED = "Lua function execution failed due to runtime error"
"""What is said then, behind the error."""
_TABLES = {"job_desc": "job_desc", "job_rec": "job_rec", "jobs": "slurm.jobs", "reservations": "slurm.reservations"}
"""How a script calls what it reads."""
_MODULE = re.compile(r"[A-Za-z0-9_]+")
_DURATION = re.compile(r"(?:(\d+)-)?(\d+)(?::(\d+))?(?::(\d+))?")


class Lua:
    """Asks the functions ``slurm_job_submit`` and ``slurm_job_modify`` of a script, as slurmctld does.

    What the script writes before an error stays, and the job or the change is taken, as in Slurm, with a warning; from
    26.05 on it is refused. A script that does not end, or asks for more memory than it may have, is at fault: the run
    ends.

    Args:
        file: the script. Of a ``slurm.conf`` with ``JobSubmitPlugins=lua`` it is the ``job_submit.lua`` beside it.

    Source: the plugins of Slurm 22.05.8, 24.11.5 and 26.05.5, asked; job_submit_plugins in Slurm's documentation.
    """

    name: ClassVar[str] = "job_submit/lua"
    beside_slurm_conf: ClassVar[Mapping[str, str]] = {"file": "job_submit.lua"}

    def __init__(self, file: str = "job_submit.lua") -> None:
        self._file = file
        self._now = 0.0
        self._messages: list[str] = []
        self._said: set[str] = set()
        self._uids: dict[str, int] = {"root": 0}
        self._parts: Any = None
        self._view: Any = None
        self._read: dict[str, Mapping[Any, Any]] = {}
        self._load()

    @hookimpl
    def job_submit(self, view: SubmitView) -> Submission | Reject | None:
        job, uid = view.submission, self._uid(view.submission.user)
        parts = self._begin(view)
        stated = described(job, uid, view.slurm_version)
        refusal, fields = self._answered(
            "slurm_job_submit", "the job", self._submit(self._table(stated), parts, uid, self._heard())
        )
        if refusal:
            return Reject("\n".join([*self._messages, refusal]))
        self._tell_of(name for name in fields if not followed(name))
        return changed(job, fields)

    @hookimpl
    def job_modify(self, view: ModifyView) -> JobUpdate | Reject | None:
        job = view.job.submission
        parts = self._begin(view)
        stated = self._table(described_update(view.update, job, view.now, self._uid(job.user), view.slurm_version))
        refusal, fields = self._answered(
            "slurm_job_modify", "the change", self._modify(stated, parts, self._uid(view.user), self._heard())
        )
        if self._messages and view.slurm_version < SAYS_OF_CHANGES:
            self._messages = []
            self._warn(f"{self._file}: what slurm_job_modify says to the user is lost, as in Slurm")
        if refusal:
            return Reject("\n".join([*self._messages, refusal]))
        self._tell_of(name for name in fields if not update_followed(name))
        return updated(view.update, fields, view.now)

    def _begin(self, view: RecordsView) -> Any:
        """Begin to judge: the partitions, as a table of Lua."""
        self._view, self._now, self._messages, self._read = view, view.now, [], {}
        if self._parts is None:
            self._parts = self._table({part.name: self._table(_fields(part)) for part in view.partitions})
        return self._parts

    def _uid(self, user: str) -> int:
        return self._uids.setdefault(user or "root", FIRST_UID + len(self._uids) - 1)

    def _answered(self, function: str, what: str, answered: Any) -> tuple[str, dict[str, Any]]:
        """Why Slurm refuses what a function judged, empty where it takes it; and what the function wrote."""
        over, fine, answer, written = answered
        version = self._view.slurm_version
        # What a view shows is of this call alone.
        self._view, self._read = None, {}
        if over:
            raise RuntimeError(f"{answer}: the script does not end, or takes too long")
        if not fine and str(answer).endswith("not enough memory"):
            raise RuntimeError(f"{answer}: the script may have {MEMORY >> 20} MiB")
        if not fine and version >= ERRORS_REFUSE:
            # The error is shown instead of what the script has said.
            self._messages = [str(answer)]
            return FAILED, {}
        code = _number(answer) if fine else None
        if not fine:
            self._warn(
                f"{answer}; Slurm takes {what} as the script has left it by then; from {ERRORS_REFUSE} on it refuses it"
            )
        elif code is None:
            self._warn(f"{self._file}: {function} returned no number; Slurm takes {what}")
        return self._words(int(code)) if code and int(code) else "", dict(written.items())

    def _words(self, code: int) -> str:
        return ERRORS.get(code, ("", f"Unknown error {code}"))[1]

    def _tell_of(self, fields: Iterable[str]) -> None:
        for name in fields:
            self._warn(f"{self._file} writes job_desc.{name}, which is not emulated")

    def _heard(self) -> bool:
        """Whether anybody reads what the script writes into the log."""
        return logging.getLogger(__name__).isEnabledFor(logging.DEBUG)

    # What a script sees and calls

    def log(self, level: str, text: str) -> None:
        """What the script writes into the log of slurmctld, or for the user."""
        if level == "user":
            self._messages.append(text)
        logging.getLogger(__name__).debug("%s: %s: %s", self._file, level, text)

    def unknown(self, table: str, field: str, line: str) -> None:
        """A field that a table has not: in Slurm it is nil, and what is written there is lost."""
        if table in ("job_rec", "jobs") and field in NOT_EMULATED:
            self._warn(f"{line}: {_TABLES[table]}.{field} is not emulated: nil")
        else:
            self._warn(f"{line}: {_TABLES[table]} has no field {field!r}")

    def lost(self, table: str, field: str, line: str) -> None:
        """A field of a record that the script writes."""
        self._warn(f"{line}: what is written into {_TABLES[table]}.{field} changes nothing, as in Slurm")

    def keys(self, kind: str) -> Any:
        """Keys of the table ``slurm.jobs`` or ``slurm.reservations``: ids, as text, or names."""
        records = self._view.jobs if kind == "jobs" else {one.name: one for one in self._view.reservations}
        self._read[kind] = records
        return self._table(list(map(str, records)))

    def record(self, kind: str, key: str) -> Any:
        """The fields of a job or a reservation; none if the record is one that an earlier call was shown."""
        if kind == "reservations":
            one = self._read.get(kind, {}).get(key)
            return self._table({} if one is None else reserved(one))
        job = self._view.job if kind == "job_rec" else self._read.get(kind, {}).get(int(key))
        return self._table({} if job is None else recorded(job, self._uid(job.submission.user)))

    def minutes(self, text: object) -> int:
        """As ``slurm.time_str2mins``: -1 for no bound, -2 for what is no time."""
        if str(text).upper() in ("UNLIMITED", "INFINITE", "-1"):
            return -1
        found = _DURATION.fullmatch(str(text))
        if found is None:
            return -2
        days, *parts = (None if part is None else int(part) for part in found.groups())
        first, second, third = (*parts, None)[:3]
        if days is not None:
            seconds = ((days * 24 + (first or 0)) * 60 + (second or 0)) * 60 + (third or 0)
        elif third is not None:
            seconds = ((first or 0) * 60 + (second or 0)) * 60 + third
        else:
            seconds = (first or 0) * 60 + (second or 0)
        return math.ceil(seconds / MINUTE)

    def module(self, name: str) -> str:
        """The text of a module that lies beside the script.

        Raises:
            FileNotFoundError: there is none; Lua tells it with the line of the script.
        """
        file = Path(self._file).parent / f"{name}.lua"
        beside = file.resolve().parent == file.parent.resolve()
        if not _MODULE.fullmatch(name) or not file.is_file() or not beside:
            raise FileNotFoundError(f"require: there is no {name}.lua beside the script, and nothing else to be had")
        return _source(file)

    def time(self) -> float:
        """Simulated seconds."""
        return math.floor(self._now)

    # The script

    def _load(self) -> None:
        """Run the script once, so that its functions are there.

        Raises:
            ConfigurationError: it cannot be read or run, or lacks one of the two functions.
        """
        self._runtime = runtime = _runtime()
        self._table = runtime.table_from
        text = _source(Path(self._file))
        host = self._table({name: getattr(self, name) for name in HOST})
        records = {"job_rec": JOB_FIELDS, "jobs": JOB_FIELDS, "reservations": RESERVATION_FIELDS}
        fields = (
            *(self._table(numbers) for numbers in (NUMBERS, MODIFIED)),
            *(self._table(dict.fromkeys(names, True)) for names in (TEXTS, TABLES)),
            self._table({kind: self._table(dict.fromkeys(names, True)) for kind, names in records.items()}),
        )
        sandbox = runtime.compile(Path(__file__).with_name("sandbox.lua").read_text(encoding="utf-8"))
        env, slurm, bounded, self._submit, self._modify, loadstring, setfenv = sandbox(host, *fields, STEPS)
        for name, value in {**CONSTANTS, **{name: code for code, (name, _) in ERRORS.items()}}.items():
            slurm[name] = value
        chunk = loadstring(text, f"@{Path(self._file).name}")
        chunk, wrong = chunk if isinstance(chunk, tuple) else (chunk, None)
        if chunk is None:
            raise ConfigurationError(f"job_submit/lua: {self._file}: {wrong}")
        setfenv(chunk, env)
        over, fine, answer = bounded(chunk)
        if over or not fine:
            raise ConfigurationError(f"job_submit/lua: {self._file}: {answer}")
        if env.slurm_job_submit is None:
            raise ConfigurationError(f"job_submit/lua: {self._file}: it has no function slurm_job_submit")
        if env.slurm_job_modify is None:
            raise ConfigurationError(
                f"job_submit/lua: {self._file}: it has no function slurm_job_modify, without which slurmctld does "
                "not start; add: function slurm_job_modify(job_desc, job_rec, parts, uid) return slurm.SUCCESS end"
            )

    def _warn(self, text: str) -> None:
        """Warn of something once in a run."""
        if text not in self._said:
            self._said.add(text)
            logging.getLogger(__name__).warning("job_submit/lua: %s", text)


def _number(answer: object) -> float | None:
    """What Lua takes for a number: one, or one that is written as text."""
    if isinstance(answer, bool) or not isinstance(answer, int | float | str):
        return None
    try:
        return float(answer)
    except ValueError:
        return None


def _source(file: Path) -> str:
    """The text of a script.

    Raises:
        ConfigurationError: it cannot be read, or is bytecode, which Lua does not check.
    """
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise ConfigurationError(f"job_submit/lua: {file}: {error.strerror or error}") from None
    if text.startswith("\x1b"):
        raise ConfigurationError(f"job_submit/lua: {file}: this is bytecode of Lua; give its source")
    # A first line for a shell, as lua itself passes over it.
    return f"--{text}" if text.startswith("#") else text


def _runtime() -> Any:
    """Lua 5.1, which Debian's Slurm is built with.

    Raises:
        ConfigurationError: lupa is not installed.
    """
    try:
        from lupa.lua51 import LuaRuntime
    except ImportError:
        raise ConfigurationError("job_submit/lua needs lupa: python -m pip install 'slurm-sim-plugins[lua]'") from None
    return LuaRuntime(
        unpack_returned_tuples=True,
        register_eval=False,
        register_builtins=False,
        attribute_filter=_nothing,
        max_memory=MEMORY,
    )


def _nothing(thing: object, name: object, setting: bool) -> str:
    """Keep a script away from what Python objects have: by their attributes it would reach all of Python.

    Raises:
        AttributeError: always.
    """
    raise AttributeError(f"{name}: a script has no access to Python")


def _fields(part: Partition) -> dict[str, Any]:
    """A partition in ``part_list``."""

    def minutes(seconds: float | None) -> float:
        if seconds is None:
            return NO_VAL
        return INFINITE if math.isinf(seconds) else math.floor(seconds / MINUTE)

    return {
        "name": part.name,
        "default_time": minutes(part.default_time),
        "flag_default": int(part.default),
        "max_nodes": INFINITE if part.max_nodes is None else part.max_nodes,
        "max_time": minutes(part.max_time),
        "min_nodes": part.min_nodes,
        "priority_job_factor": part.job_factor,
        "priority_tier": part.tier,
        "state_up": {"DOWN": 1, "UP": 3, "DRAIN": 2, "INACTIVE": 0}[part.state],
        "total_cpus": part.tres.get("CPU", 0),
        "total_nodes": part.tres.get("NODE", 0),
    }
