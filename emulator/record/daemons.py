"""The daemons of one recording: started in a folder of their own, and ended whatever happens."""

from __future__ import annotations

import ctypes
import getpass
import os
import re
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

from emulator.record.conf import DATABASE, DATABASE_USER, LOOPBACK, SCRIPTS_BESIDE, Site, Written, write_slurmdbd_conf
from slurm_sim_plugins.errors import ConfigurationError, InputError

MARK = "SLURM_SIM_RECORDING"
"""A variable in the environment of every process of a recording; its value is the folder."""
READY = 120.0
"""Seconds of the cluster's clock in which all nodes must be idle."""
PATIENCE = 60.0
"""Seconds in which a daemon must end after SIGTERM."""
_PARENT_DEATH = 1
_IN_CHARGE = re.compile(
    r"\[([0-9T:.-]+)\] (?:Running as primary controller|(?:error: )?No fed_mgr state file|debug:  mcs/\w+: init: )"
)
"""The last such line comes just before the controller's loop begins: with accounts clusters are asked for between, and
in 22.05 the priority plugin is loaded."""
_BACKFILL = re.compile(r"\[([0-9T:.-]+)\] sched: Backfill scheduler plugin loaded")
_PORTS = range(10_000, 32_700, 150)
"""Where daemons' ports are looked for: below those that Linux gives to outgoing connections, which any program may take
before a daemon does."""
_MOST_OF_A_LOG = 400
NO_SUCH_TRES = "no TRES known by type"
"""What ``sacctmgr`` says of a limit on GRES or licences before a controller has told the database of them."""
_USUAL = re.compile(r"mpi|MPI|state file|NOTE: Trying|backup state|registration")
"""Errors of every start in an empty folder."""


_LIBC = ctypes.CDLL(None)


IGNORED_IN_BACKGROUND = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT)
"""What shells and ``nohup`` have a process ignore, and all that it starts."""


def end_with_parent(number: signal.Signals) -> None:
    """Have this process get a signal when the one that started it is gone."""
    _LIBC.prctl(_PARENT_DEATH, number)


class Root:
    """The file system in which Slurm is installed.

    Args:
        folder: of another system (changing into it needs root), or None for this one.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder

    def outside(self, path: PurePosixPath) -> Path:
        """A path inside, as this process sees it."""
        return Path(path) if self.folder is None else self.folder / path.relative_to("/")

    def enter(self, path: PurePosixPath, bound: bool = False) -> Callable[[], None] | None:
        """What a child process does before it runs a command; None where there is nothing to do.

        Args:
            path: its working directory.
            bound: whether it is a daemon, which ends with this process, and whose jobs heed all signals also where
                this process was started by ``nohup`` or in the background.
        """
        if self.folder is None and not bound:
            return None
        root = None if self.folder is None else os.fspath(self.folder)

        def prepare() -> None:
            if root is not None:
                os.chroot(root)
                os.chdir(path)
            if bound:
                end_with_parent(signal.SIGKILL)
                for heeded in IGNORED_IN_BACKGROUND:
                    signal.signal(heeded, signal.SIG_DFL)

        return prepare

    def find(self, program: str) -> PurePosixPath:
        """Where a program is.

        Raises:
            ConfigurationError: it is not installed.
        """
        for folder in ("/usr/sbin", "/usr/bin", "/usr/local/sbin", "/usr/local/bin"):
            if os.path.lexists(self.outside(PurePosixPath(folder, program))):
                return PurePosixPath(folder, program)
        raise ConfigurationError(
            f"{program} is not installed{f' under {self.folder}' if self.folder else ''}: on Debian, "
            f"apt-get install --no-install-recommends {PACKAGES.get(program, 'slurmctld slurmd slurm-client')}"
        )

    def version(self) -> str:
        """Of the installed Slurm, such as ``22.05.8``.

        Raises:
            ConfigurationError: it is not installed.
        """
        controller = self.find("slurmctld")
        asked = subprocess.run(  # noqa: S603 - Slurm's own program
            [str(controller), "-V"], capture_output=True, text=True, preexec_fn=self.enter(PurePosixPath("/"))
        )
        return asked.stdout.split()[-1] if asked.stdout.split() else "0.0"


PACKAGES = {"faketime": "faketime libfaketime", "slurmdbd": "slurmdbd", "mariadbd": "mariadb-server"}


def short(version: str) -> tuple[int, int]:
    """``22.05.8`` as (22, 5)."""
    year, month, *_ = [int(part) for part in version.split(".")[:2]] + [0, 0]
    return year, month


class Cluster:
    """Running daemons.

    Args:
        root: where Slurm is installed.
        site: where they live.
        written: their files.
    """

    def __init__(self, root: Root, site: Site, written: Written) -> None:
        self._root = root
        self._site = site
        self._written = written
        self._folder = root.outside(site.folder)
        self._processes: list[subprocess.Popen[bytes]] = []
        paths = "/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/bin"
        own = {"SLURM_CONF": f"{site.folder}/slurm.conf", "TZ": "UTC", "PATH": paths, MARK: str(site.folder)}
        kept = {name: value for name, value in os.environ.items() if name.startswith(("LD_", "FAKETIME", "LANG"))}
        self.environment = {**kept, **own}

    def run(self, argv: Sequence[str]) -> subprocess.CompletedProcess[str]:
        """Run one of Slurm's commands, and wait for it."""
        process = self.begin(argv)
        stdout, stderr = process.communicate()
        return subprocess.CompletedProcess(process.args, process.returncode, stdout, stderr)

    def begin(self, argv: Sequence[str]) -> subprocess.Popen[str]:
        """Run one of Slurm's commands, and do not wait for it: ``scancel`` may try again for two minutes."""
        return subprocess.Popen(  # noqa: S603 - arguments are checked
            list(argv),
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            cwd=self._folder if self._root.folder is None else None,
            preexec_fn=self._root.enter(self._site.folder),
        )

    def start(self, accounting: Sequence[Sequence[str]], before: float) -> tuple[float, float]:
        """Start all daemons, and wait until all nodes are idle.

        Args:
            accounting: commands that make the accounts.
            before: seconds before a whole minute at which the controller is started.

        Returns:
            When the controller's loop began, and the thread of backfill, in seconds since 1970.

        Raises:
            InputError: a daemon ended, or nodes are not there in time.
        """
        for name in ("state", "log", "devices", SCRIPTS_BESIDE, *(f"spool/{node}" for node in self._written.nodes)):
            (self._folder / name).mkdir(parents=True, exist_ok=True)
        for name, text in self._written.files.items():
            (self._folder / name).write_text(text, encoding="utf-8")
            if name.startswith(SCRIPTS_BESIDE):
                (self._folder / name).chmod(0o755)
        if self._written.accounts:
            self._start_accounts(accounting)
        conf = f"{self._site.folder}/slurm.conf"
        time.sleep((-before - time.time()) % 60)
        self._spawn("slurmctld", "-D", "-i", "-f", conf)
        for node in self._written.nodes:
            self._spawn("slurmd", "-D", "-c", "-N", node, "-f", conf, log=f"slurmd.{node}")
        self._await(self._all_idle, f"not all of {', '.join(self._written.nodes)} became idle")
        return self._began()

    def check(self) -> None:
        """See that all daemons run.

        Raises:
            InputError: one has ended.
        """
        for process in self._processes:
            if process.poll() is not None:
                raise InputError(_end_of(process))

    def stop(self) -> None:
        """End all jobs and daemons."""
        if self._processes and all(process.poll() is None for process in self._processes):
            for _ in range(10):
                ids = self.run(["squeue", "-h", "-o", "%A"]).stdout.split()
                if not ids:
                    break
                self.run(["scancel", "-f", "-s", "KILL", *sorted(set(ids))])
                self.run(["scancel", *sorted(set(ids))])
                time.sleep(0.5)
        for process in reversed(self._processes):
            end(process)
        self._processes.clear()

    def _spawn(self, program: str, *words: str, log: str = "") -> None:
        # Slurm compares argv[0] with the program's name: it is run by that name, not by what it links to.
        with (self._folder / "log" / f"{log or program}.out").open("wb") as out:
            self._processes.append(
                subprocess.Popen(  # noqa: S603 - Slurm's own program
                    [str(self._root.find(program)), *words],
                    env=self.environment,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=out,
                    start_new_session=True,
                    cwd=self._folder if self._root.folder is None else None,
                    preexec_fn=self._root.enter(self._site.folder, bound=True),
                )
            )

    def _await(self, ready: Callable[[], bool], failure: str) -> None:
        until = time.time() + READY
        while not ready():
            for process in self._processes:
                if process.poll() is not None:
                    raise InputError(f"a daemon ended at once: {self._said()}")
            if time.time() > until:
                raise InputError(f"{failure} within {READY:g} s: {self._said()}")
            time.sleep(0.3)

    def _began(self) -> tuple[float, float]:
        """When the controller's loop began, and backfill's thread (else the same), by the controller's own log."""
        log = (self._folder / "log" / "slurmctld.log").read_text(errors="replace")
        found = _IN_CHARGE.findall(log)
        if not found:
            raise InputError("the controller's log does not say when it was started")
        told = found[-1], *_BACKFILL.findall(log), found[-1]
        loop, thread = (datetime.fromisoformat(at).replace(tzinfo=UTC).timestamp() for at in told[:2])
        return loop, thread

    def _all_idle(self) -> bool:
        lines = self.run(["sinfo", "-h", "-N", "-o", "%N %T"]).stdout.splitlines()
        return {words[0] for line in lines if len(words := line.split()) > 1 and words[1] == "idle"} >= set(
            self._written.nodes
        )

    def _said(self) -> str:
        """The last errors in the daemons' logs."""
        logs = sorted((self._folder / "log").iterdir())
        lines = [line for log in logs for line in log.read_text(errors="replace").splitlines()]
        errors = [line for line in lines if ("error" in line or "fatal" in line) and not _USUAL.search(line)]
        return "; ".join(errors[-3:])[-_MOST_OF_A_LOG:] or "its log says nothing"

    def _start_accounts(self, commands: Sequence[Sequence[str]]) -> None:
        database = self._folder / "database"
        port = self._site.port + len(self._written.nodes) + 2
        shutil.copytree(empty_database(self._root, self._folder.parent), database)
        inside = self._site.folder / "database"
        server = ["--no-defaults", f"--datadir={inside}", f"--tmpdir={inside}", f"--socket={inside}/socket"]
        server += [f"--port={port}", f"--bind-address={LOOPBACK}", f"--user={self._site.user}"]
        server += ["--innodb-flush-log-at-trx-commit=0"]
        server += ["--loose-innodb-snapshot-isolation=OFF"]  # With it slurmdbd ends when two of its writes meet.
        self._spawn("mariadbd", *server)
        client = ["mariadb", "--no-defaults", f"--socket={inside}/socket"]
        self._await(lambda: not self.run([*client, "-e", "select 1"]).returncode, "the database did not start")
        for host in ("localhost", LOOPBACK):
            user = f"{DATABASE_USER}@'{host}'"
            self.run([*client, "-e", f"create user {user}; grant all on *.* to {user}"])
        # slurmdbd makes it as well, but then keeps a connection that failed: MariaDB's client 11.8.9 answers nothing.
        self.run([*client, "-e", f"create database {DATABASE}"])
        text = write_slurmdbd_conf(self._site, len(self._written.nodes), port)
        path = self._folder / "slurmdbd.conf"
        path.touch(mode=0o600)
        path.write_text(text, encoding="utf-8")
        self._spawn("slurmdbd", "-D")
        self._await(lambda: not self.run(["sacctmgr", "-n", "show", "cluster"]).returncode, "slurmdbd did not start")
        for command in commands:
            done = self.run(command)
            if NO_SUCH_TRES in done.stderr:
                done = self._run_beside_controller(command)
            if done.returncode and "Nothing new added" not in done.stdout + done.stderr:
                raise InputError(f"{' '.join(command)}: {(done.stdout + done.stderr).strip()}")

    def _run_beside_controller(self, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        """Run a command that limits what only a controller makes known to the database, such as GPUs.

        The controller ends, and leaves no state: the one of the recording is the first with jobs.
        """
        self._spawn("slurmctld", "-D", "-i", "-f", f"{self._site.folder}/slurm.conf")
        done: list[subprocess.CompletedProcess[str]] = []

        def known() -> bool:
            done[:] = [self.run(command)]
            return NO_SUCH_TRES not in done[0].stderr

        self._await(known, f"{' '.join(command)}: {NO_SUCH_TRES} that it limits")
        end(self._processes.pop())
        (self._folder / "log" / "slurmctld.log").unlink(missing_ok=True)
        shutil.rmtree(self._folder / "state")
        (self._folder / "state").mkdir()
        return done[0]


def _end_of(process: subprocess.Popen[bytes]) -> str:
    """How a daemon ended."""
    words, code = process.args, process.returncode
    name = Path(str(words[0])).name if isinstance(words, list) else str(words)
    return f"{name} crashed ({signal.Signals(-code).name})" if code < 0 else f"{name} ended (exit code {code})"


def empty_database(root: Root, beside: Path) -> Path:
    """A folder with a new database, made once, by the machine's own clock.

    Raises:
        InputError: it cannot be made.
    """
    folder = beside / "empty-database"
    if not (folder / "mysql").is_dir():
        folder.mkdir(exist_ok=True)
        inside = folder if root.folder is None else PurePosixPath("/") / folder.relative_to(root.folder)
        words = [
            "mariadb-install-db",
            "--no-defaults",
            f"--datadir={inside}",
            f"--tmpdir={inside}",  # Each server that starts empties that of what others left: of what they need, too.
            f"--user={getpass.getuser()}",
            "--skip-test-db",
        ]
        own = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
        done = subprocess.run(  # noqa: S603 - the database's own program
            words, env=own, capture_output=True, text=True, preexec_fn=root.enter(PurePosixPath("/"))
        )
        if done.returncode:
            raise InputError(f"{words[0]} failed: {(done.stdout + done.stderr)[-_MOST_OF_A_LOG:].strip()}")
    return folder


def end(process: subprocess.Popen[bytes]) -> None:
    """End a process that this one started: politely, then at once."""
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def sweep(folder: PurePosixPath) -> int:
    """End what is left of a recording: processes whose environment has its mark. Returns how many there were."""
    mark = f"{MARK}={folder}".encode()
    ended = 0
    for process in Path("/proc").iterdir():
        if process.name.isdecimal() and int(process.name) != os.getpid():
            with suppress(OSError):
                if mark in (process / "environ").read_bytes().split(b"\0"):
                    os.kill(int(process.name), signal.SIGKILL)
                    ended += 1
    return ended


def free_ports(count: int) -> int:
    """The first of so many ports that are free beside each other on the loopback interface.

    Raises:
        ConfigurationError: there are none.
    """
    ports = list(_PORTS)
    begin = os.getpid() % len(ports)
    for first in ports[begin:] + ports[:begin]:
        if all(_is_free(port) for port in range(first, first + count)):
            return first
    raise ConfigurationError(f"there are no {count} free ports beside each other")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
        return True
