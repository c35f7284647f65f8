"""What a real Slurm gave to jobs that were asked about one by one, and what the emulator gives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from emulator.config.slurm import SlurmConf, parse_slurm_conf
from emulator.engine.controller import Controller
from emulator.state.job import Job
from emulator.workload.request import JobRequest
from emulator.workload.sbatch import parse_sbatch

yaml = pytest.importorskip("yaml")

READ = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
PATHS = sorted(Path(__file__).with_name("answers").glob("*.yaml"))


def answer(conf: SlurmConf, version: str, text: str, compiled: bool, had_jobs: bool = False) -> str:
    """What the emulator answers to a question, as Slurm would say it.

    Args:
        conf: the cluster.
        version: of Slurm.
        text: the question.
        compiled: whether compiled code searches.
        had_jobs: whether jobs of all partitions have started before.
    """
    jobs = [part.split() for part in text.split(" | ")]
    requests = [
        JobRequest(at, float(at * 5), 9999, parse_sbatch(["-t10", *words]), "me") for at, words in enumerate(jobs, 1)
    ]
    controller = Controller(conf, requests, slurm_version=version, compiled=compiled)
    for partition in controller.cluster.partitions.values():
        partition.had_jobs = had_jobs
    controller.run(len(jobs) * 5.0 + 4)
    if controller.rejected and controller.rejected[-1][0].id == len(jobs):
        return controller.rejected[-1][1].splitlines()[-1]
    job = controller.cluster.jobs[len(jobs)]
    return _given(job, controller) if job.run is not None else job.reason


def _given(job: Job, controller: Controller) -> str:
    assert job.run is not None
    machine, has = controller.cluster.machine, job.run.allocation
    found, memory = [], any(partition.gives_memory for partition in controller.cluster.partitions.values())
    for index, node in enumerate(has.nodes):
        if not has.units[index]:
            continue  # Slurm shows nothing of these.
        share = f"{machine.names[node]}:{has.units[index] * machine.threads[node]}"
        share += f":{has.memory[index]}" if memory else ""
        for (name, kind), counts in sorted(has.gres.items()):
            if name and (counts[index] or (name, kind) in machine.no_consume):
                share += ":" + ":".join(filter(None, (name, kind, str(counts[index]))))
        found.append(share)
    return " ".join(sorted(found))


@pytest.mark.slow
@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_jobs_get_what_a_real_slurm_gives_them(path: Path, compiled: bool) -> None:
    """The files are of ``contrib/differential/ask.py``; ``open`` has what is not as Slurm does it yet."""
    document: dict[str, Any] = yaml.load(path.read_text(encoding="utf-8"), READ)
    topology, version = document.get("topology_conf"), document["slurm_version"]
    conf = parse_slurm_conf(document["slurm_conf"], gres=document.get("gres_conf"), topology=topology)
    had = document.get("had_jobs", False)
    given = {text: answer(conf, version, text, compiled, had) for text in document["answers"]}
    # Slurm's NumCPUs are not those that nodes give where these are more than there are tasks.
    answers = {text: says.partition(" NumCPUs=")[0] for text, says in document["answers"].items()}
    wrong = {text: ours for text, ours in given.items() if ours != answers[text]}
    assert not wrong
    unlike = {} if compiled else document.get("open", {})
    agree = [text for text, says in unlike.items() if answer(conf, version, text, compiled, had) == says]
    assert not agree, "they agree: move them to the answers"
