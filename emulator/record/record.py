"""The door: a scenario, an installed Slurm, and the recording that comes of them."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path, PurePosixPath
from statistics import median
from typing import Any

from emulator.files import read_input
from emulator.record.checks import checked, users
from emulator.record.daemons import MARK, PACKAGES, Root, end_with_parent, sweep
from emulator.record.player import BEFORE, LATE, SWEEP, Task
from emulator.record.repeats import merge
from emulator.record.told import Held
from emulator.workload.scenario import FILES_BESIDE, Scenario
from emulator.workload.scenario_reader import LARGEST_FILE, read_scenario
from emulator.workload.yaml_tree import LONGEST
from slurm_sim_plugins.errors import ConfigurationError, InputError

BUSY = 0.02
"""A recording is refused if more than this share of its looks came late."""
LONGEST_FOLDER = 50
"""Characters; the path of a socket has 107, of which a name of a node and a step need the rest."""
HOUR = 3600.0
BEFORE_WORK = ("prolog_slurmctld", "prolog")
"""Scripts of a site that go on while a run has its nodes, before it works."""
ACCOUNTS_TAKE = 120.0
CLOCKS = Path("/dev/shm")  # noqa: S108 - faketime's own
"""Where ``faketime`` leaves something behind for each process that used it, by the id of that process."""
TAKEN = "libfaketime without using this wrapper"
"""``faketime`` ends so where another process of its id has left something behind: the next one has another id."""
IMPORTS_TAKE = 1.5
"""Seconds of the machine's clock in which a process that plays is there."""


@dataclass(frozen=True)
class Options:
    """How a scenario is recorded.

    Attributes:
        repeats: how often it is played.
        speed: how many seconds pass in one; None for 6 where ``faketime`` is installed, else 1.
        root: of another system (a chroot) in which Slurm is installed, or None for this one.
        until: seconds after which a recording ends at the latest.
        any_load: whether a recording from a busy machine is taken.
        logs: a folder that gets the controller's log of each repeat, ``1.log`` of the first; None for no logs.
    """

    repeats: int = 3
    speed: float | None = None
    root: Path | None = None
    until: float = 3600.0
    any_load: bool = False
    logs: Path | None = None


def record(path: Path, options: Options, told: Callable[[str], None], log: Path | None = None) -> dict[str, Any]:
    """Play a scenario on an installed Slurm.

    Args:
        path: of the scenario.
        options: how it is recorded.
        told: is given a line about each repeat.
        log: a file that gets the controller's log of the repeat that is kept; None for none.

    Returns:
        The recording, as it stands in a file.

    Raises:
        ConfigurationError: Slurm is not installed, or cannot be run so.
        InputError: the scenario cannot be played, or the machine was busy.
    """
    with tempfile.TemporaryDirectory() as private:
        logs = Path(private)
        best, recording = _best(list(repeats(path, replace(options, logs=logs if log else None), told)))
        if log is not None:
            shutil.copyfile(_log(logs, best + 1), log)
        return recording


def repeats(path: Path, options: Options, told: Callable[[str], None]) -> Iterator[dict[str, Any]]:
    """The recording of each repeat, as :func:`record` makes one of them."""
    import yaml

    scenario = read_scenario(path)
    checked(scenario)
    root = Root(options.root)
    speed = _speed(options.speed, root)
    _may_run(scenario, root)
    source = yaml.safe_load(read_input(path, LARGEST_FILE, "no scenario is"))
    base = None if root.folder is None else root.folder / "tmp"
    with tempfile.TemporaryDirectory(prefix="slurm-sim-record-", dir=base) as private:
        folder = Path(private)
        folder.chmod(0o755)  # Jobs of other users start here.
        if len(private) > LONGEST_FOLDER:
            raise ConfigurationError(f"{private} is too long for the daemons' sockets: set TMPDIR to a shorter one")
        for number in range(1, options.repeats + 1):
            log = "" if options.logs is None else str(_log(options.logs.resolve(), number))
            task = Task(str(path.resolve()), "", str(root.folder or ""), speed, min(options.until, LONGEST), log)
            played = _played(task, folder / f"repeat-{number}", root, accounts=_accounts(scenario))
            late = played["late"]
            told(f"{path}: repeat {number}: {played['end']:g} s, {late:.1%} of the looks more than {LATE:g} s late")
            if late > BUSY and not options.any_load:
                raise InputError(
                    f"{path}: the machine was busy: {late:.0%} of the looks at Slurm came more than {LATE:g} s late; "
                    "wait until it is idle, take a lower --speed, or record with --any-load"
                )
            yield document(source, played, speed)


def _log(logs: Path, repeat: int) -> Path:
    """Where the controller's log of a repeat is kept; they count from 1."""
    return logs / f"{repeat}.log"


def merged(documents: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The recording that is most like the others, with what differs in them as its noise."""
    return _best(documents)[1]


def _best(documents: Sequence[dict[str, Any]]) -> tuple[int, dict[str, Any]]:
    """Which recording is most like the others, and that one with what differs in them as its noise."""
    with tempfile.TemporaryDirectory() as private:
        paths = [Path(private) / f"{number}.yaml" for number in range(len(documents))]
        for path, each in zip(paths, documents, strict=True):
            path.write_text(dump(each), encoding="utf-8")
        best, noise = merge([read_scenario(path) for path in paths])
    return best, documents[best] | {"repeats": len(documents)} | ({"noise": noise} if noise else {})


def document(source: Mapping[str, Any], played: Mapping[str, Any], speed: float) -> dict[str, Any]:
    """A recording as it stands in a file.

    Args:
        source: the scenario as it stands in its file.
        played: fields of :class:`emulator.record.player.Played`.
        speed: how many seconds passed in one.
    """
    kept = ("scenario", "note", "slurm_conf", *FILES_BESIDE, "operation", "sacctmgr")
    made: dict[str, Any] = {name: source[name] for name in kept if source.get(name) is not None}
    made |= {"slurm_version": played["version"], "speed": speed}
    made |= {name: played[name] for name in ("uptime", "backfill", "decay", "second") if played[name] is not None}
    made |= {name: list(played[name]) for name in ("rounds", "glances") if played[name]}
    made |= {name: played[name] for name in ("rounds_seen", "glances_seen") if played[name]}
    made["sweep_phase"] = round(-played["uptime"] % SWEEP, 1)
    scripts = sum((source.get("operation") or {}).get(name, 0.0) for name in BEFORE_WORK)
    held = {key: [run and Held(*run) for run in runs] for key, runs in played["held"].items()}
    longer = outlasted(played["jobs"], played["timeline"], held, scripts)
    made |= {"overhead": typical(longer), "outlasted": longer} if longer else {}
    # Components that were refused have runs in the log, and no job.
    known = {key: runs for key, runs in held.items() if key in played["timeline"] and any(runs)}
    seen = {key: runs for key, runs in known.items() if not _stood(played["timeline"][key])}
    made |= {"cleared": {key: [run and round(run.cleared, 3) for run in seen[key]] for key in seen}} if seen else {}
    said = {
        key: [run and run.said for run in runs] for key, runs in seen.items() if any(run and run.said for run in runs)
    }
    made |= {"said_clear": said} if said else {}
    made["jobs"] = played["jobs"]
    made |= {"actions": [list(action) for action in played["actions"]]} if played["actions"] else {}
    made |= {"rejected": played["rejected"]} if played["rejected"] else {}
    made["timeline"] = {key: [list(seen) for seen in rows] for key, rows in played["timeline"].items()}
    return made


def outlasted(
    jobs: Sequence[Mapping[str, Any]],
    timeline: Mapping[str, Sequence[Any]],
    held: Mapping[str, Sequence[Held | None]],
    scripts: float,
) -> dict[str, list[float | None]]:
    """By how many seconds runs outlasted their work: no two do by the same, and the next pass depends on it.

    Args:
        jobs: rows of the recording, with their work.
        timeline: (second, fields) by key.
        held: for how long each run held its nodes, by key; None where that says nothing.
        scripts: seconds that scripts of the site took before it worked.

    Returns:
        By key, for each of its runs; None for one that did not end by itself. Jobs of which no run did are left out,
        and those that were suspended.
    """
    works = {str(row[key]): row["run"] for row in jobs for key in ("id", "name")}
    found = {}
    for key, runs in held.items():
        work = works.get(key, works.get(key.rpartition("+" if "+" in key else "_")[0]))
        ran = [None if run is None else run.ran for run in runs]
        if work is not None and not _stood(timeline.get(key, ())) and any(one is not None for one in ran):
            found[key] = [None if one is None else round(max(one - work - scripts, 0.0), 3) for one in ran]
    return found


def _stood(rows: Sequence[Any]) -> bool:
    """Whether a job was suspended at any time."""
    return any(fields.get("JobState") == "SUSPENDED" for _, fields in rows)


def typical(longer: Mapping[str, Sequence[float | None]]) -> float:
    """The median: it differs from machine to machine, and with load."""
    return round(median(one for runs in longer.values() for one in runs if one is not None), 2)


def dump(recording: Mapping[str, Any]) -> str:
    """A recording as YAML."""
    import yaml

    class Dumper(yaml.SafeDumper):
        def ignore_aliases(self, data: Any) -> bool:
            return True

    def text(dumper: yaml.SafeDumper, value: str) -> yaml.Node:
        style = "|" if "\n" in value else None
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)

    Dumper.add_representer(str, text)
    return yaml.dump(dict(recording), Dumper=Dumper, sort_keys=False, default_flow_style=None, width=160)


def _speed(wanted: float | None, root: Root) -> float:
    if wanted == 1 or (wanted is None and shutil.which("faketime") is None):
        return 1.0
    if shutil.which("faketime") is None:
        raise ConfigurationError(f"--speed {wanted:g} needs faketime: apt-get install {PACKAGES['faketime']}")
    if root.folder is not None:
        root.find("faketime")
    return wanted or 6.0


def _accounts(scenario: Scenario) -> bool:
    return "slurmdbd" in scenario.slurm_conf.lower()


def _may_run(scenario: Scenario, root: Root) -> None:
    """See that daemons can do what the scenario wants on this machine."""
    for program in ("slurmctld", "slurmd", "sbatch", "scontrol"):
        root.find(program)
    if _accounts(scenario):
        root.find("slurmdbd")
        root.find("mariadbd")
    if os.geteuid() and (users(scenario) or root.folder is not None):
        raise ConfigurationError("jobs of several users, and --slurm-root, need root: run it with sudo")
    import pwd

    for user in users(scenario):
        try:
            pwd.getpwnam(user)
        except KeyError:
            raise InputError(
                f"{scenario.source}: there is no user {user!r} on this machine; take one of those in /etc/passwd"
            ) from None


def sweep_clocks(folder: Path = CLOCKS) -> None:
    """Remove what ``faketime`` left behind of processes that are no more.

    A later process of the same id gets no clock, and a job of another user ends at once with exit code 1.

    Args:
        folder: where that lies.
    """
    for left in [*folder.glob("faketime_shm_*"), *folder.glob("sem.faketime_sem_*")]:
        if not Path("/proc", left.name.rpartition("_")[2]).exists():
            left.unlink(missing_ok=True)


def _played(task: Task, folder: Path, root: Root, *, accounts: bool, attempts: int = 5) -> dict[str, Any]:
    """Play once, in a process of its own that has the daemons' clock; whatever happens, nothing is left."""
    folder.mkdir(exist_ok=True)
    sweep_clocks()
    inside = PurePosixPath(folder) if root.folder is None else "/" / PurePosixPath(folder).relative_to(root.folder)
    path, speed, task = task.scenario, task.speed, replace(task, folder=str(inside))
    # The clock is set so that the daemons are there shortly before a whole hour.
    needed = BEFORE + (ACCOUNTS_TAKE if accounts else 0.0) + IMPORTS_TAKE * speed
    offset = (-needed - time.time()) % HOUR
    words = [] if speed == 1 else ["faketime", "-m", "-f", f"+{offset:.0f} x{speed:g}"]
    player = subprocess.Popen(  # noqa: S603 - this program itself
        [*words, sys.executable, "-m", "emulator.record"],
        env={**os.environ, MARK: str(inside), "TZ": "UTC"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: end_with_parent(signal.SIGTERM),
    )
    try:
        answer, error = player.communicate(json.dumps(asdict(task)))
    finally:
        if player.poll() is None:
            os.killpg(player.pid, signal.SIGTERM)
            try:
                player.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(player.pid, signal.SIGKILL)
                player.wait()
        sweep(inside)
        sweep_clocks()
    if TAKEN in error and attempts > 1:
        return _played(task, folder, root, accounts=accounts, attempts=attempts - 1)
    if player.returncode or not answer:
        raise InputError(f"{path}: could not be played: {error.strip().splitlines()[-1:] or player.returncode}")
    played: dict[str, Any] = json.loads(answer)
    if "error" in played:
        raise InputError(f"{path}: could not be played: {played['error']}")
    return played
