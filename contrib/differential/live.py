"""``python -m contrib.differential.live FOLDER``: plugins with ``slurm-sim live --apply`` beside a real Slurm.

Sixty submissions of three users, with arrays and cancellations, go to daemons on the loopback interface, and a plugin
decides on them; then the record runs again in the emulator, with the delays of the session. With ``--kills`` it
is killed again and again, at random instants, and what is looked at is that no job is lost, on hold, or run twice.
Needs Slurm and root.
"""

from __future__ import annotations

import getpass
import os
import random
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import click

from emulator.record.conf import Site, write_conf
from emulator.record.daemons import Cluster, Root, free_ports, short

USERS = ("daemon", "bin", "games")
"""Users that there are on every system; which they are decides nothing."""
TIERS = """
SchedulerParameters=bf_interval=1,sched_interval=1,batch_sched_delay=0,sched_min_interval=0
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
PriorityType=priority/basic
MinJobAge=7200
{preempt}
NodeName=n[1-8] CPUs=4 RealMemory=1000 State=UNKNOWN
PartitionName=batch Nodes=ALL Default=YES MaxTime=60 PriorityTier=1
PartitionName=urgent Nodes=ALL MaxTime=60 PriorityTier=2
"""
PREEMPT = "PreemptType=preempt/partition_prio\nPreemptMode=REQUEUE"
POLICIES = {
    "easy": ("", ["--scheduler", "sched/easy"]),
    "conservative": ("", ["--scheduler", "sched/conservative"]),
    "preempting": (PREEMPT, ["--scheduler", "sched/venture", "--preempt", "preempt/shadow_load"]),
    "walltime": ("", ["--scheduler", "sched/easy", "--walltime", "walltime/last_two"]),
    "priority": ("", ["--scheduler", "sched/easy", "--priority", "priority/wfp"]),
}
SIZES = ("-N1", "-N2", "-N4", "-n2", "-n6", "-N2 --exclusive")
LIVE = [sys.executable, "-c", "from emulator.cli import main; main()", "live"]
COMMANDS = ("squeue", "sinfo", "scontrol")
KILLED_AFTER = (0.2, 4.0)
"""Seconds, drawn evenly: from before the first look to some passes later."""


@dataclass(frozen=True)
class Bench:
    """A cluster that runs, and the policy that decides on it.

    Attributes:
        cluster: the daemons.
        words: the plugins.
        folder: of what is left.
        draw: random numbers of the submissions.
        tiers: whether there are urgent jobs.
        dealt: whether it is plain which CPUs of its nodes a job gets.
    """

    cluster: Cluster
    words: list[str]
    folder: Path
    draw: random.Random
    tiers: bool
    dealt: bool

    def live(self, *options: str) -> subprocess.Popen[bytes]:
        """Start a session."""
        marks = "partition=batch" + (",partition=urgent" if self.tiers else "")
        every = ["--apply", "--only", marks, "--poll", "0.5", "--state", str(self.folder / "state.json")]
        with (self.folder / "printed.txt").open("ab") as printed:
            return subprocess.Popen([*LIVE, *self.words, *every, *options], stdout=printed, stderr=subprocess.STDOUT)

    def submit(self, count: int, held: bool) -> list[str]:
        """Submit jobs one after the other, and cancel some; what sbatch answered."""
        jobs: list[str] = []
        for _ in range(count):
            jobs.append(self._submit(held))
            if self.draw.random() < 0.08:
                self.cluster.run(["scancel", self.draw.choice(jobs)])
            time.sleep(self.draw.choice([0.0, 0.5, 1.0, 3.0]))
        return jobs

    def _submit(self, held: bool) -> str:
        draw = self.draw
        words = f"sbatch --parsable --uid={draw.choice(USERS)} -D/ -o/dev/null {'-H' if held else ''}"
        # Where Slurm could deal the tasks over the nodes in several ways, no command says in which.
        size = ["-N1", "-N2", "-N4", "-N1 -n2", "-N2 --exclusive"] if self.dealt else [*SIZES]
        words += f" {draw.choice(size)} -t{draw.choice([1, 1, 2, 5])}"
        words += " -purgent" if self.tiers and draw.random() < 0.25 else ""
        words += f" --array=0-{draw.randint(1, 4)}" if draw.random() < 0.1 else ""
        begun = f"echo $SLURM_JOB_ID $SLURM_RESTART_COUNT >>{self.folder}/begun"
        work = f"{begun}; exec sleep {draw.choice([2, 5, 10, 20, 40])}"
        return self.cluster.run([*words.split(), "--wrap", work]).stdout.strip()

    def wait_until_idle(self) -> None:
        """Wait until no job is left."""
        while self.cluster.run(["squeue", "-h"]).stdout.strip():
            time.sleep(1.0)


@contextmanager
def daemons(conf: str, root: Root) -> Iterator[Cluster]:
    """A cluster that runs on this machine's own clock; its commands are first on PATH."""
    with tempfile.TemporaryDirectory(prefix="slurm-sim-live-", dir=root.outside(PurePosixPath("/tmp"))) as private:
        Path(private).chmod(0o755)
        folder = PurePosixPath("/tmp", Path(private).name)
        host = socket.gethostname().partition(".")[0]
        site = Site(folder, free_ports(12), getpass.getuser(), host, short(root.version()))
        cluster = Cluster(root, site, write_conf(conf, None, site))
        before = {name: os.environ[name] for name in ("PATH",)}
        try:
            cluster.start([], -time.time() % 60 - 0.5)
            os.environ["SLURM_CONF"] = str(folder / "slurm.conf")
            if root.folder is not None:
                os.environ["PATH"] = f"{_commands(root, Path(private) / 'commands')}:{before['PATH']}"
            yield cluster
        finally:
            os.environ.update(before)
            cluster.stop()


def _commands(root: Root, folder: Path) -> Path:
    """Slurm's commands under another root, as programs."""
    folder.mkdir()
    for name in COMMANDS:
        (folder / name).write_text(f'#!/bin/sh\nexec chroot {root.folder} {name} "$@"\n')
        (folder / name).chmod(0o755)
    return folder


def agreement(bench: Bench, jobs: int) -> str:
    """A session, and the same in the emulator; what differs."""
    record = bench.folder / "record.jsonl"
    running = bench.live("--take-held", "--record", str(record))
    try:
        while not record.exists():
            time.sleep(0.1)
            if running.poll() is not None:
                raise click.ClickException((bench.folder / "printed.txt").read_text())
        bench.submit(jobs, held=True)
        bench.wait_until_idle()
        time.sleep(2.0)
    finally:
        running.terminate()
        running.wait()
    asked = [*LIVE, *bench.words, "--again", str(record)]
    return subprocess.run(asked, capture_output=True, text=True).stdout


def kills(bench: Bench, jobs: int, count: int) -> str:
    """Sessions that are killed; what became of the jobs."""
    begun = bench.folder / "begun"
    begun.touch()
    begun.chmod(0o666)
    instants = random.Random(count)
    done = 0
    while done < count:
        if not bench.cluster.run(["squeue", "-h"]).stdout.strip():
            bench.submit(jobs, held=False)
        running = bench.live()
        time.sleep(instants.uniform(*KILLED_AFTER))
        running.kill()
        done += running.wait() == -9
    subprocess.run([*LIVE, "--hand-back", "--state", str(bench.folder / "state.json")], check=True)
    bench.wait_until_idle()
    shown = bench.cluster.run(["scontrol", "-o", "show", "job"]).stdout.splitlines()
    states = [line.partition("JobState=")[2].split()[0] for line in shown]
    runs = begun.read_text().splitlines()
    left = sum(state not in ("COMPLETED", "CANCELLED") for state in states)
    twice = len(runs) - len(set(runs))
    return f"{done} kills, {len(states)} jobs, {len(runs)} runs: {left} did not end well, {twice} began twice"


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option("--policy", type=click.Choice(list(POLICIES)), multiple=True, help="Only these.  [default: all]")
@click.option("--jobs", default=60, show_default=True, help="Submissions.")
@click.option("--seed", default=1, show_default=True, help="Of the submissions.")
@click.option("--kills", "killed", default=0, help="Kill the session so often.  [default: compare with the emulator]")
@click.option("--dealt", is_flag=True, help="Only jobs of which it is plain which CPUs of their nodes they get.")
@click.option("--slurm-root", type=click.Path(path_type=Path), help="A file system with another Slurm.")
def main(
    folder: Path, policy: tuple[str, ...], jobs: int, seed: int, killed: int, dealt: bool, slurm_root: Path | None
) -> None:
    """Hold plugins beside a real Slurm against their emulation, or kill them."""
    root = Root(slurm_root)
    click.echo(f"Slurm {root.version()}, load {os.getloadavg()[0]:.1f}")
    for name in policy or POLICIES:
        preempt, words = POLICIES[name]
        own = folder / f"{name}-{seed}"
        own.mkdir(parents=True)
        own.chmod(0o755)
        conf = own / "slurm.conf"
        conf.write_text(f"ClusterName=live\nSlurmctldHost=localhost\n{TIERS.format(preempt=preempt)}")
        # Slurm itself preempts nothing: victims are the plugin's.
        with daemons(TIERS.format(preempt=""), root) as cluster:
            given = [*words, "--slurm-conf", str(conf)]
            bench = Bench(cluster, given, own.resolve(), random.Random(seed), bool(preempt), dealt)
            said = kills(bench, jobs, killed) if killed else agreement(bench, jobs)
        click.echo(f"{name}: {said}")


if __name__ == "__main__":
    main()
