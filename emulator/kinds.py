"""Which kind of file one seems to be, for the message where another kind was expected."""

from __future__ import annotations

import functools
import os
import re
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

from slurm_sim_plugins.errors import ConfigurationError, InputError

Reader = TypeVar("Reader", bound=Callable[..., Any])

GZIP_MAGIC = b"\x1f\x8b"
HEAD_BYTES = 1 << 16
LINES = 20
"""So many lines that are neither empty nor a remark are looked at."""
TRACE = "a trace in SWF"
EVENTS = "a file of submission events"
DUMP = "a dump of sacct"
LIVE = "a record of slurm-sim live"
SLURM_CONF = "a slurm.conf"
SCENARIO = "a scenario"
TOML = "a file in TOML, such as an experiment, a campaign or run.toml"
ACCOUNTS = "a dump or script of sacctmgr"
RUN = "the folder of a finished run"
COMMANDS = "a file of operators' commands"
NODE_EVENTS = "a file of node events"
GROUPS = "a file of Unix groups"

# The likeliest first.
KINDS = {
    RUN: (r"(?!)", "slurm-sim report, diff, explain and fairness take it"),
    EVENTS: (r"-dt\s", "its name ends in .events, and slurm-sim run takes it with --slurm-conf SLURM.CONF"),
    DUMP: (
        r"(?i)(?=.*\bjobid(raw)?\|).*\bsubmit(\||$)",
        "slurm-sim replay or run takes it, with --slurm-conf",
    ),
    LIVE: (r'\{"event": "begin", "format": "slurm-sim live', "slurm-sim replay or run takes it, with --slurm-conf"),
    COMMANDS: (
        r"[\d.]+\s+(scontrol|sacctmgr|scancel)\s",
        "slurm-sim run takes it with --commands",
    ),
    NODE_EVENTS: (
        r"(?i)([\d.]+\s+\S+\s+(up|down|drain)(\s|$)|.*\bnodename\|.*\bstate(\||$))",
        "slurm-sim run takes it with --operation node_events=FILE",
    ),
    GROUPS: (r"[\w.-]+:[^:]*:\d+:[^:]*$", "slurm-sim run takes it with --operation groups=FILE"),
    TRACE: (r";|\s*(-?[\d.]+\s+){17}-?[\d.]+\s*$", "slurm-sim run takes it as the trace"),
    SCENARIO: (r"(scenario|slurm_conf):(\s|$)", "its name ends in .yaml, and slurm-sim run takes it as the trace"),
    TOML: (
        r"\[\[?[\w.\"/ -]+\]\]?\s*(#.*)?$",
        "slurm-sim run --config takes an experiment, slurm-sim campaign run a campaign",
    ),
    ACCOUNTS: (
        r"(?i)(sacctmgr|(add|create|modify|delete)\s+(qos|cluster|account|user)|(cluster|parent|account|user) -)\s",
        "slurm-sim run takes it with --accounts",
    ),
    SLURM_CONF: (
        r"(?i)(include\s|(ClusterName|Control\w+|Slurm\w+|NodeName|PartitionName|\w+Type)=(?![\"'\s]))",
        "slurm-sim run takes it with --slurm-conf, beside a trace",
    ),
}
"""What lines of each kind begin with, and what is done with such a file."""


def kinds_of(path: str | os.PathLike[str]) -> list[str]:
    """The kinds that a file may be, the likeliest first; none if it cannot be told, or the file not be read."""
    try:
        if not Path(path).is_file():
            return [RUN] if (Path(path) / "run.toml").is_file() else []
        with Path(path).open("rb") as stream:
            data = stream.read(HEAD_BYTES)
        if data.startswith(GZIP_MAGIC):
            data = zlib.decompressobj(31).decompress(data, HEAD_BYTES)
    except (OSError, ValueError, zlib.error):
        return []
    text = data.decode("utf-8-sig", errors="replace")
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")][:LINES]
    return [kind for kind, (begin, _) in KINDS.items() if any(re.match(begin, line) for line in lines)]


def reads(expected: str) -> Callable[[Reader], Reader]:
    """Mark a reader of files of a kind: if it fails on a file that is clearly of another, the message says so."""

    def decorate(reader: Reader) -> Reader:
        @functools.wraps(reader)
        def read(*paths: Any, **options: Any) -> Any:
            try:
                return reader(*paths, **options)
            except (InputError, ConfigurationError) as error:
                for path in paths:
                    kinds = kinds_of(path) if isinstance(path, str | os.PathLike) else []
                    if kinds and expected not in kinds:
                        advice = KINDS[kinds[0]][1]
                        raise InputError(f"{path}: this is {kinds[0]}, not {expected}; {advice}") from error
                raise

        return cast(Reader, read)

    return decorate


def is_scenario(trace: Path) -> bool:
    """Whether a trace is a scenario, which has its own configuration and what operators did."""
    return trace.suffix in (".yaml", ".yml")
