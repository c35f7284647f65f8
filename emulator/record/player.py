"""Plays a scenario on daemons, under their clock, and looks what they do.

Run as ``python -m emulator.record``, with a task as JSON on standard input: under ``faketime`` this
process, the daemons, and the jobs share one clock, which is faster than the machine's.
"""

from __future__ import annotations

import getpass
import json
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

from emulator.config.operation import SCRIPTS
from emulator.config.slurm.controller import parameters_of
from emulator.record.checks import argv, renumbered_arguments, sbatch_arguments
from emulator.record.conf import Site, write_conf
from emulator.record.daemons import Cluster, Root, end_with_parent, free_ports, short
from emulator.record.rounds import (
    BEGUN,
    CLEAR,
    CYCLE,
    FULL,
    PASS,
    decay_begun,
    in_turn,
    loop_begun,
    rounds_of,
    told_in,
    usual_rounds,
)
from emulator.record.sights import Timeline, jobs_of
from emulator.record.told import Held, told_of_jobs
from emulator.workload.scenario import Action, Scenario, Submission
from emulator.workload.scenario_reader import read_scenario
from slurm_sim_plugins.errors import SlurmSimError

T = TypeVar("T")
LOOK = 0.25
"""Seconds between two looks."""
MOMENT = 0.01
"""Seconds after which it is asked again whether a command has ended."""
LONGER = 0.006
"""Seconds of the machine's clock by which a round of the controller's loop outlasts its second, at most."""
OVERSLEPT = 0.002
"""The same of a second that backfill's thread sleeps, cycles of backfill among them."""
LATE = 1.0
"""A look that comes later than this says that the machine is busy with something else."""
MINUTE = 60.0
BEFORE = 25.0
"""Seconds before a whole minute at which the controller is started; recordings start with a whole minute. So all
repeats have the same phases of sweeps (30 s of uptime), of backfill's cycles, and of its plan (whole minutes)."""
SWEEP = 30.0
FOR_EVER = {"JobHeldUser", "JobHeldAdmin", "DependencyNeverSatisfied"}
FOR_EVER |= {"PartitionConfig", "PartitionNodeLimit", "PartitionTimeLimit", "BadConstraints"}
"""Reasons that do not go by themselves."""
QUIET = 40.0
"""After so many seconds without news, where nothing runs or is to come and jobs wait for ever, a recording ends."""
HELD = 150.0
"""The same where a job waits for something: a requeued one is held for 121 s."""
WORK = (
    "use Time::HiRes qw(time sleep); my ($left, $code) = @ARGV; my $last = time;"
    "while ($left > 0) { sleep($left < .5 ? $left : .5); my $now = time; my $step = $now - $last; $last = $now;"
    "$left -= $step > 1.5 ? .25 : $step } exit $code"
)
"""Works for so many seconds, those not counted in which it is stopped (a sleep goes on meanwhile)."""


@dataclass(frozen=True)
class Task:
    """What is to be played.

    Attributes:
        scenario: the file.
        folder: of the daemons, as they see it.
        root: of the system in which Slurm is installed; empty for this one.
        speed: how many seconds pass in one.
        until: seconds after which the recording ends.
        log: where the controller's log is left; empty for nowhere.
    """

    scenario: str
    folder: str
    root: str
    speed: float
    until: float
    log: str = ""


@dataclass(frozen=True)
class Played:
    """What came of playing once.

    Attributes:
        version: of Slurm.
        uptime: seconds for which the controller's loop had run when the recording started.
        backfill: the same of backfill's thread.
        decay: the same of the thread that works out priorities; None if there is none.
        second: the part of a second that had passed then.
        rounds: when the controller's loop went round first, and every how many seconds; None if its log does not say.
        rounds_seen: when it went round and made a pass.
        glances: the same of backfill's thread, which may look each second whether anything is new.
        glances_seen: when it went round.
        end: the last second that was looked at.
        jobs: rows of the submissions that were accepted, as in a scenario.
        rejected: rows of those that were refused.
        actions: (second, command, what it said).
        timeline: (second, fields) by key.
        held: by key, for how long each run held its nodes; None for one that did not end by itself.
        late: the share of looks that came late.
    """

    version: str
    uptime: float
    backfill: float
    decay: float | None
    second: float
    rounds: tuple[float, float] | None
    rounds_seen: list[float]
    glances: tuple[float, float] | None
    glances_seen: list[float]
    end: float
    jobs: list[dict[str, Any]]
    rejected: list[dict[str, Any]]
    actions: list[tuple[float, str, str]]
    timeline: Mapping[str, list[tuple[float, dict[str, str]]]]
    held: Mapping[str, list[Held | None]]
    late: float


def script(job: Submission, *, stops: bool) -> str:
    """The script of a job; of the scenario only numbers come into it.

    Args:
        job: the submission.
        stops: whether jobs may be suspended.
    """
    seconds, code = int(job.run or 0), int(job.exit_code or 0)
    if job.ignores_term:
        return f"trap '' TERM; sleep {seconds} & wait; wait; wait; exit {code}"
    if stops:
        return f"exec perl -e '{WORK}' {seconds} {code}"
    return f"exec sleep {seconds}" if not code else f"sleep {seconds}; exit {code}"


def may_suspend(scenario: Scenario) -> bool:
    """Whether jobs of a scenario may be suspended."""
    commands = [action.command.verb for action in scenario.actions or ()]
    text = scenario.slurm_conf.lower() + " ".join(one.text.lower() for one in scenario.accounting or ())
    return "suspend" in commands or "suspend" in text or "gang" in text


def grain(slurm_conf: str) -> float:
    """Seconds of which backfill's plan has whole multiples, at least a minute."""
    stated = re.search(r"(?i)\bbf_resolution=([0-9]+)", slurm_conf)
    return max(MINUTE, float(stated[1]) if stated else 0.0)


class Player:
    """One run of a scenario on running daemons.

    Args:
        scenario: what is to be played.
        cluster: the daemons.
    """

    def __init__(self, scenario: Scenario, cluster: Cluster) -> None:
        self.jobs: list[dict[str, Any]] = []
        self.rejected: list[dict[str, Any]] = []
        self.actions: list[tuple[float, str, str]] = []
        """In the order in which they were carried out."""
        self.names: dict[int, str] = {}
        """Of arrays and heterogeneous jobs."""
        self._scenario = scenario
        self._cluster = cluster
        self._stops = may_suspend(scenario)
        self._ids: dict[int, int] = {}
        self._going: list[tuple[str, subprocess.Popen[str]]] = []
        self._looks = self._late = 0
        time.sleep(-time.time() % grain(scenario.slurm_conf))
        self.zero = time.time()
        self.timeline = Timeline(self.zero)

    def now(self) -> float:
        """Seconds from the start."""
        return time.time() - self.zero

    @property
    def late(self) -> float:
        """The share of looks that came late."""
        return self._late / max(self._looks, 1)

    def seen(self) -> dict[str, list[tuple[float, dict[str, str]]]]:
        """The timeline; without jobs that Slurm made of submissions that it then refused."""
        numbers = {str(row["id"]) for row in self.jobs}
        return {key: rows for key, rows in self.timeline.rows.items() if key in numbers or not key.isdecimal()}

    def play(self, until: float) -> float:
        """Do all that is to be done, look until nothing happens any more, and return the last second.

        Raises:
            InputError: a daemon has ended.
        """
        todo = sorted(self._todo(), key=lambda one: one[0])
        news, at = 0.0, 0.0
        while at < until:
            while todo and todo[0][0] <= self.now():
                self._do(todo.pop(0)[1])
                self._cluster.check()
                news = self.now()
            self._cluster.check()
            self._note_ended()
            at = self.now()
            shown = self._cluster.run(["scontrol", "-o", "-d", "show", "job"])
            seen = jobs_of(shown.stdout, self.names)
            if self.timeline.look(at, seen) or shown.returncode:  # A busy controller does not answer in time.
                news = at
            if not todo and not self._going and at - news > _patience(seen):
                break
            coming = min(at + LOOK, todo[0][0]) if todo else at + LOOK
            time.sleep(max(coming - self.now(), 0.0))
            self._looks += 1
            self._late += self.now() - at > LATE
        for _, process in self._going:
            process.kill()
        return at

    def _todo(self) -> Iterator[tuple[float, Submission | Action]]:
        yield from ((job.submit, job) for job in self._scenario.submissions if not job.made)
        yield from ((action.at, action) for action in self._scenario.actions or ())

    def _do(self, what: Submission | Action) -> None:
        if isinstance(what, Submission):
            self._submit(what)
            return
        words = argv(what.command.text, self._ids)
        process = self._cluster.begin(words)
        self._going.append((" ".join(_quoted(word) for word in words), process))
        latest = self.now() + LATE
        while process.poll() is None and self.now() < latest:
            time.sleep(MOMENT)
        self._note_ended()

    def _note_ended(self) -> None:
        """Note commands that have ended: most do at once, but ``scancel`` tries again where a job has not begun."""
        for command, process in list(self._going):
            if process.poll() is not None:
                at = round(self.now(), 2)  # A command asks the controller just before it ends.
                self.actions.append((at, command, "".join(process.communicate()).strip()))
                self._going.remove((command, process))

    def _submit(self, job: Submission) -> None:
        words = ["sbatch", "--parsable", "--output=/dev/null", f"--chdir={self._cluster.environment['HOME']}"]
        words += [f"--uid={job.user}"] if job.user and job.user != getpass.getuser() else []
        words += [*sbatch_arguments(job, self._ids), "--wrap", script(job, stops=self._stops)]
        done = self._cluster.run(words)
        at = round(self.now(), 2)
        if done.returncode:
            arguments = sbatch_arguments(job, self._ids)[1:]
            row = {"name": job.name, "at": at, "sbatch": arguments, "error": done.stderr.strip()}
            self.rejected.append(row | ({"user": job.user} if job.user else {}))
            return
        number = int(done.stdout.strip().partition(";")[0])
        for offset in range(1 + len(job.options.components)):
            self._ids[job.id + offset] = number + offset
        if job.options.array is not None or job.options.components:
            self.names[number] = job.name
        self.jobs.append(_row(job, number, at, renumbered_arguments(job, self._ids)))


def _row(job: Submission, number: int, at: float, arguments: Sequence[str]) -> dict[str, Any]:
    stated = {
        "user": job.user or None,
        "exit_code": job.exit_code,
        "ignores_term": job.ignores_term,
        "nodes": job.nodes,
        "partition": job.partition or None,
        "time_limit": job.time_limit,
        "priority_requested": job.priority_requested,
    }
    row = {"name": job.name, "id": number, "submit": at, "run": job.run}
    row |= {name: value for name, value in stated.items() if value is not None}
    return row | ({"sbatch": list(arguments)} if arguments else {})


def _patience(seen: Mapping[str, Mapping[str, str]]) -> float:
    """For how long nothing must have happened before a recording ends."""
    states = [row.get("JobState") for row in seen.values()]
    if any(state in ("RUNNING", "COMPLETING", "SUSPENDED", "CONFIGURING", "SIGNALING") for state in states):
        return float("inf")
    waits = {row.get("Reason", "") for row in seen.values() if row.get("JobState") == "PENDING"}
    if not waits:
        return 2.0
    return QUIET if all(one in FOR_EVER or one.startswith(("Assoc", "QOS")) for one in waits) else HELD


def _quoted(word: str) -> str:
    return f"'{word}'" if " " in word else word


def play(task: Task) -> Played:
    """Start daemons, play a scenario once, end them.

    Raises:
        SlurmSimError: it cannot be played.
    """
    scenario = read_scenario(task.scenario)
    root = Root(Path(task.root) if task.root else None)
    version = root.version()
    topology = {"topology.conf": scenario.topology_conf, "topology.yaml": scenario.topology_yaml}
    folder = PurePosixPath(task.folder)
    site = Site(folder, 0, getpass.getuser(), socket.gethostname().partition(".")[0], short(version))
    nodes = write_conf(scenario.slurm_conf, scenario.gres_conf, site, topology).nodes
    site = replace(site, port=free_ports(len(nodes) + 3))
    stated = {name: getattr(scenario.operation, name) for name in SCRIPTS.values()}
    scripts = {name: seconds / task.speed for name, seconds in stated.items() if seconds}
    written = write_conf(scenario.slurm_conf, scenario.gres_conf, site, topology, scripts)
    cluster = Cluster(root, site, written)
    cluster.environment["HOME"] = "/"
    try:
        loop, thread = cluster.start([argv(command.text, {}) for command in scenario.accounting or ()], BEFORE)
        player = Player(scenario, cluster)
        end = player.play(task.until)
        log = root.outside(folder) / "log" / "slurmctld.log"
        if task.log:
            shutil.copyfile(log, task.log)
        told = _read(log, lambda lines: told_of_jobs(lines, player.names, player.zero))
        passes = _read(log, lambda lines: told_in(lines, PASS, player.zero))
        clear = _read(log, lambda lines: told_in(lines, CLEAR, player.zero))
        full = _read(log, lambda lines: told_in(lines, FULL, 0.0))
        decay = _read(log, decay_begun)
        begun = _read(log, lambda lines: told_in(lines, BEGUN, player.zero))
        looks = _read(log, lambda lines: told_in(lines, CYCLE, player.zero))
        # Where cycles do not tell how long a second's sleep takes, the next ones are known from those that were seen.
        glances = rounds_of(looks, 1 + OVERSLEPT * task.speed) or usual_rounds(begun)
        interval = parameters_of(scenario.configuration()).sched_interval
        rounds = rounds_of(passes, 1 + LONGER * task.speed)
        return Played(
            version=version,
            uptime=round(player.zero - loop_begun(loop, full, interval), 3),
            backfill=round(player.zero - thread, 1),
            decay=None if decay is None else round(player.zero - decay, 3),
            second=round(player.zero % 1, 3),
            rounds=rounds,
            rounds_seen=[at for at in in_turn(passes, rounds[1], clear) if at > 0] if rounds is not None else [],
            glances=glances,
            glances_seen=[round(at, 3) for at in begun if at > 0] if glances is not None else [],
            end=round(end, 1),
            jobs=[row | {"submit": told.taken.get(row["id"], row["submit"])} for row in player.jobs],
            rejected=player.rejected,
            actions=player.actions,
            timeline=player.seen(),
            held=told.runs,
            late=player.late,
        )
    finally:
        cluster.stop()
        shutil.rmtree(root.outside(folder), ignore_errors=True)


def _read(log: Path, read: Callable[[Iterable[str]], T]) -> T:
    with log.open(encoding="utf-8", errors="replace") as lines:
        return read(lines)


def _interrupted(*_: object) -> None:
    raise KeyboardInterrupt


def main() -> int:
    """Play the task on standard input; what came of it is printed as JSON."""
    signal.signal(signal.SIGTERM, _interrupted)
    end_with_parent(signal.SIGTERM)
    task = Task(**json.load(sys.stdin))
    try:
        outcome = asdict(play(task))
    except SlurmSimError as error:
        outcome = {"error": str(error)}
    except KeyboardInterrupt:
        return 1
    json.dump(outcome, sys.stdout)
    return 0
