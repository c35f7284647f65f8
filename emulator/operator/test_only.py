"""``sbatch --test-only`` on an idle cluster: would a job be taken, and what would it get?"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

from emulator.config.sacctmgr.database import Accounts
from emulator.config.slurm import SlurmConf
from emulator.config.slurm.hostlist import compress
from emulator.engine.controller import Controller
from emulator.state.job import RESOURCES
from emulator.workload.job_script import sbatch_words, unread_directives
from emulator.workload.request import JobRequest
from emulator.workload.sbatch import parse_sbatch
from emulator.workload.sbatch_unused import not_emulated

LONG = 3600.0
"""Seconds that the idle cluster is given; a job that has not started by then waits for more than room."""
STEP = 20.0
"""Seconds after which it is looked at again: the shortest limit is a minute."""
UNTIMED = {"begin": None, "deadline": None, "held": False, "dependencies": (), "array": None}
"""What says when a job may start: it is left out."""


@dataclass(frozen=True)
class Verdict:
    """What becomes of a job on an idle cluster.

    Attributes:
        nodes: that it gets, as a host list; empty if it does not start.
        cpus: CPUs in all.
        memory: mebibytes in all; 0 where memory is not managed.
        gres: count of each generic resource in all, by name, with its type if it has one.
        reason: why it is refused, or waits, in Slurm's words; empty if it starts.
        notes: what it asks for in vain, and why.
    """

    nodes: str = ""
    cpus: int = 0
    memory: int = 0
    gres: tuple[tuple[str, int], ...] = ()
    reason: str = ""
    notes: tuple[str, ...] = ()


def judge(script: str, conf: SlurmConf, accounts: Accounts | None = None, user: str = "") -> Verdict:
    """What Slurm makes of a job script.

    Args:
        script: its text.
        conf: the cluster.
        accounts: associations and qualities of service, or None.
        user: that submits it.

    Raises:
        ValueError: an option that ``sbatch`` has not, or a value that cannot be understood.
    """
    options = parse_sbatch((), script=sbatch_words(script))
    request = JobRequest(1, 0.0, LONG, options, user)
    further = tuple(replace(one, **UNTIMED) for one in options.components)  # type: ignore[arg-type]
    untimed = replace(request, options=replace(options, components=further, **UNTIMED))  # type: ignore[arg-type]
    controller = Controller(conf, [untimed], accounts=accounts)
    notes = tuple(not_emulated(request.components(), controller.cluster.nodes_for.whole_nodes))
    notes += tuple(filter(None, [unread_directives(script)]))
    until = 0.0
    while until < LONG and not controller.rejected and (until == 0 or controller.cluster.jobs[1].run is None):
        until += STEP
        controller.run(until=until)
    if controller.rejected:
        return Verdict(reason=controller.rejected[0][1], notes=notes)
    machine, components = controller.cluster.machine, list(controller.cluster.jobs.values())
    waits = [job.reason for job in components if job.run is None]
    if waits:
        # Of components that cannot start because of another one it is that one's reason that tells.
        return Verdict(
            reason=next((reason for reason in waits if reason not in ("None", RESOURCES)), waits[0]), notes=notes
        )
    runs = [job.run.allocation for job in components if job.run is not None]
    gres = Counter[str]()
    for given in runs:
        gres.update({":".join(filter(None, kind)): sum(counts) for kind, counts in given.gres.items() if kind[0]})
    return Verdict(
        nodes=compress([machine.names[node] for node in sorted(node for given in runs for node in given.nodes)]),
        cpus=sum(map(machine.cpus_of, runs)),
        memory=sum(sum(given.memory) for given in runs),
        gres=tuple(sorted(gres.items())),
        notes=notes,
    )
