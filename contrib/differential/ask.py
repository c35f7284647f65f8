"""Ask a real Slurm many small questions in one run: which nodes, CPUs, memory and devices a job gets.

A file of questions is YAML: ``slurm_conf``, ``gres_conf``, ``topology_conf`` or ``topology_yaml`` if there is one, and
``asked``, a list of texts. A text is the options of ``sbatch`` of the job that is asked about, behind those of jobs
that are there already, separated by ``|`` between spaces. A text that begins with ``scontrol`` is run as it stands.

    python -m contrib.differential.ask QUESTIONS.yaml... --out FOLDER [--slurm-root /srv/sid]

The answers are written as ``answers``: by text, ``NODE:CPUS[:MEMORY][:GRES]`` of each node, or the reason
for which the job waits, or Slurm's words of refusal.
"""

from __future__ import annotations

import argparse
import getpass
import os
import re
import shutil
import signal
import socket
import sys
import tempfile
import time
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

from emulator.config.slurm.hostlist import expand
from emulator.record.conf import Site, write_conf
from emulator.record.daemons import Cluster, Root, free_ports, short, sweep

FAST = "SchedulerParameters=batch_sched_delay=0,sched_min_interval=0,bf_interval=1,sched_interval=1\nKillWait=1\n"
PATIENCE = 3.0
"""Seconds in which a job starts that starts at all."""
_WORDS = re.compile(r"^(sbatch: error: )?(Batch job submission failed: )?")
_DETAIL = re.compile(r"Nodes=(\S+) CPU_IDs=(\S*) Mem=(\d+) GRES=(\S*)")


class Asker:
    """A running Slurm, and what it answers."""

    def __init__(self, cluster: Cluster, memory: bool) -> None:
        self._cluster = cluster
        self._memory = memory

    def ask(self, text: str) -> str:
        """The answer to one question; all jobs are gone afterwards."""
        ids, answer = [], ""
        try:
            for words in (part.split() for part in text.split(" | ")):
                if words and words[0] == "scontrol":
                    self._cluster.run(words)
                    continue
                done = self._cluster.run(["sbatch", "--parsable", "-t10", "-o/dev/null", *words, "--wrap", "sleep 999"])
                if done.returncode:
                    lines = done.stderr.strip().splitlines()
                    answer = _WORDS.sub("", ([line for line in lines if "error:" in line] or lines)[-1])
                    continue
                ids.append(done.stdout.strip())
                answer = self._settled(ids[-1])
            return answer
        finally:
            self._cancel(ids)

    def _settled(self, number: str) -> str:
        until = time.monotonic() + PATIENCE
        while True:
            shown = self._cluster.run(["scontrol", "-d", "show", "job", number]).stdout
            state, reason = (re.search(rf"{key}=(\S+)", shown)[1] for key in ("JobState", "Reason"))  # type: ignore[index]
            if state in ("RUNNING", "SUSPENDED", "COMPLETING", "COMPLETED", "FAILED") and "CPU_IDs" in shown:
                return self._allocated(shown)
            settled = reason not in ("None", "Priority")
            if time.monotonic() > until or (settled and time.monotonic() > until - PATIENCE + 1.2):
                return reason
            time.sleep(0.02)

    def _allocated(self, shown: str) -> str:
        found = []
        total = int(re.search(r"NumCPUs=(\d+)", shown)[1])  # type: ignore[index]
        for hosts, ids, memory, gres in _DETAIL.findall(shown):
            cpus = sum(int(last or first) - int(first) + 1 for first, last in re.findall(r"(\d+)(?:-(\d+))?", ids))
            kinds = re.sub(r"\((?:IDX:|null|\d+/)[^)]*\)", "", gres).split(",")
            devices = ":".join(sorted(kind for kind in kinds if not kind.endswith(":0")))
            more = (f":{memory}" if self._memory else "") + (f":{devices}" if devices else "")
            found += [(host, f"{host}:{cpus}{more}") for host in expand(hosts)]
        given = " ".join(each for _, each in sorted(found))
        in_all = sum(int(each.split(":")[1]) for _, each in found)
        return given if in_all == total else f"{given} NumCPUs={total}"

    def _cancel(self, ids: list[str]) -> None:
        if not ids:
            return
        self._cluster.run(["scancel", *ids])
        until = time.monotonic() + 15
        while time.monotonic() < until and self._cluster.run(["squeue", "-h", "-o", "%A"]).stdout.strip():
            time.sleep(0.02)


def answered(path: Path, root: Root) -> dict[str, Any]:
    """The questions of a file with a Slurm's answers."""
    document = yaml.safe_load(path.read_text())
    base = None if root.folder is None else root.folder / "tmp"
    private = Path(tempfile.mkdtemp(prefix="ask-", dir=base))
    inside = PurePosixPath(private) if root.folder is None else "/" / PurePosixPath(private).relative_to(root.folder)
    version = root.version()
    user, host = getpass.getuser(), socket.gethostname().split(".")[0]
    site = Site(PurePosixPath(inside), free_ports(40), user, host, short(version))
    topology = {file: document.get(file.replace(".", "_")) for file in ("topology.conf", "topology.yaml")}
    cluster = Cluster(root, site, write_conf(FAST + document["slurm_conf"], document.get("gres_conf"), site, topology))
    try:
        cluster.start([], -(time.time() % 60) - 0.5)
        asker = Asker(cluster, "_MEMORY" in document["slurm_conf"].upper())
        answers = {}
        for text in document["asked"]:
            answers[text] = asker.ask(text)
            print(f"{path.stem}: {text:60} {answers[text]}", flush=True)
    finally:
        cluster.stop()
        sweep(site.folder)
        shutil.rmtree(private, ignore_errors=True)
    given = {key: text for key, text in document.items() if key != "asked"}
    return {"slurm_version": version, **given, "answers": answers}


def main() -> int:
    """Answer files of questions."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("questions", nargs="+", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--slurm-root", type=Path)
    chosen = parser.parse_args()
    chosen.out.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    for path in chosen.questions:
        found = answered(path, Root(chosen.slurm_root))
        text = yaml.safe_dump(found, sort_keys=False, width=140)
        (chosen.out / f"{path.stem}-{found['slurm_version'].rpartition('.')[0]}.yaml").write_text(text)
    return 0


if __name__ == "__main__":
    os.environ["TZ"] = "UTC"
    raise SystemExit(main())
