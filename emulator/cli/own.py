"""The commands of ``slurm-sim`` itself: where each is defined, and the line by which ``slurm-sim --help`` lists it.

A command is imported when it is called: the list needs none of them.
"""

from __future__ import annotations

from importlib import import_module

import click

OWN = {
    "run": ("run", "Run a trace (SWF, or CSV of ALCF; also gzipped) through a cluster under one policy."),
    "resume": ("resume", "Go on with a run that was made with --snapshot-every and interrupted, to the same bytes."),
    "compare": ("compare", "Run a trace under several policies and print their metrics side by side."),
    "campaign": ("campaign", "Many runs from one file: workloads times policies times options times seeds."),
    "demo": ("demo", "Compare four policies on a generated workload: needs no trace."),
    "trace": ("trace", "Look at a trace, or generate one."),
    "conf": ("conf", "Look at a Slurm configuration."),
    "plugins": ("plugins", "List the plugins that are found: bundled, installed, and those named here."),
    "check": ("check", "Check a plugin: its name, a file, or a folder of files."),
    "new-plugin": ("newplugin", "Write a plugin to begin with: a package with one module, its tests and a README."),
    "port": ("port", "Write a plugin in C for a real Slurm: HOOK is priority, site_factor, preempt or job_submit."),
    "explain": (
        "explain",
        "Tell the story of a job: why it waited, which plugin decided, which run was preempted for which job.",
    ),
    "diff": ("finished", "List the jobs whose start differs between two runs, first difference first."),
    "report": ("finished", "Write one page of HTML about runs and campaigns, to be looked at offline."),
    "fairness": (
        "finished",
        "Say which jobs of a finished run were delayed by jobs of lower priority, and by how much.",
    ),
    "walltime": ("walltime", "Plan with less than users request: which scheme fits this log?"),
    "truth": ("truth", "Run recorded scenarios through the emulator, and show both timelines side by side."),
    "record": ("record", "Play scenarios on the Slurm that is installed here, and record what it does."),
    "live": ("live", "Run plugins beside the Slurm that runs here, and say what they would do."),
    "replay": (
        "replay",
        "Run a dump of sacct -P (or Eagle's CSV) on a configuration, and compare with what really happened.",
    ),
    "upgrade-check": ("upgrade", "Say what changes for a slurm.conf with an upgrade of Slurm."),
    "sbatch": ("sbatch", "Would the cluster take these job scripts, and what would each get if it were idle?"),
    "job-submit": ("jobsubmit", "Try out a job_submit.lua."),
    "squeue": ("views", "Show the jobs that waited or ran at a time of a finished run, as squeue does."),
    "sinfo": ("views", "Show partitions and nodes at a time of a finished run, as sinfo does."),
    "sacct": ("views", "Show the jobs of a finished run that had been submitted until a time, as sacct does."),
    "sprio": ("views", "Show what the priorities of waiting jobs were worked out from at a time, as sprio does."),
    "sshare": ("views", "Show shares and usage as of the last PriorityCalcPeriod before a time, as sshare does."),
}
"""By name: the module of :mod:`emulator.cli`, in which it is called the same, and the first sentence of its help."""


def load(name: str) -> click.Command:
    """One of :data:`OWN`."""
    command: click.Command = getattr(import_module(f"emulator.cli.{OWN[name][0]}"), name.replace("-", "_"))
    return command


def listed(name: str) -> click.Command:
    """A command that stands in the list for one of :data:`OWN`; it does nothing."""
    return click.Command(name, help=OWN[name][1])
