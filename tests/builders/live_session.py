"""A session that a test leads, and plugins for it."""

from __future__ import annotations

from emulator.config.options import Config
from emulator.config.slurm import read_slurm_conf
from emulator.live.marks import Marks
from emulator.live.record import Record
from emulator.live.session import Options, Session
from emulator.live.slurm import Slurm
from slurm_sim_plugins import hookimpl
from slurm_sim_plugins.decisions import MakeRoom, Start
from slurm_sim_plugins.manager import Catalogue, PluginInfo


class Live:
    """A session that a test leads step by step."""

    def __init__(self, conf, slots=None, plugins=(), only=None, record=None, acting=None):
        self.lines = []
        catalogue = Catalogue(PluginInfo.of(plugin) for plugin in plugins)
        config = Config(slots={"SchedulerType": "sched/easy"} if slots is None else slots, clock="ideal")
        self.slurm = Slurm() if acting is None else acting.hand
        self.session = Session(
            self.slurm, conf, config, catalogue, Options(Marks.of(only), poll=0.1), record or Record(None),
            self.lines.append, acting=acting,
        )  # fmt: skip
        self.session._begin(self.session._first_look())

    def step(self):
        """Another pass; the lines that were said in it."""
        before = len(self.lines)
        self.session._step(self.session._look())
        return [line.split(" ", 1)[1] for line in self.lines[before:]]

    @property
    def cluster(self):
        return self.session._controller.cluster

    def jobs(self, *labels):
        return [self.session._mirror.followed[label].job for label in labels]


class Largest:
    """The largest job first."""

    name = "priority/largest"

    @hookimpl
    def priority_set(self, view):
        return [float(job.processors) for job in view.to_set]


class Urgent:
    """Room is made for urgent jobs."""

    name = "sched/urgent"

    @hookimpl
    def schedule(self, view):
        plan = view.plan()
        for entry in view.queue:
            now = plan.now(entry)
            if now.place is not None:
                yield Start(entry, where=now.place)
            elif entry.user == "urgent":
                yield MakeRoom(entry)


class Any:
    """Any run may go."""

    name = "preempt/any"

    @hookimpl
    def preempt_candidates(self, view):
        return list(view.running)

    @hookimpl
    def preempt_mode(self, view):
        return "REQUEUE"


def with_preemption(tmp_path, conf):
    path = tmp_path / "preempt.conf"
    text = (tmp_path / "slurm.conf").read_text().replace("preempt/none", "preempt/partition_prio")
    path.write_text(f"PreemptMode=REQUEUE\n{text}")
    return read_slurm_conf(path)
