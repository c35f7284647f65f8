"""Asks the plugin in the SelectType slot for the nodes of a job."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from emulator.hooks import FAILURES, Hooks
from slurm_sim_plugins.manager import Catalogue, Selection, select
from slurm_sim_plugins.nodes import Allocation, Free, Machine, Mask, NodeView, Want
from slurm_sim_plugins.select.cons_tres import ConsTres
from slurm_sim_plugins.select.linear import Linear

COMPILED = (ConsTres, Linear)
"""Those whose answers compiled code gives, too."""


class NodeSelector:
    """Which nodes a job gets.

    Args:
        machine: the nodes.
        selection: the plugins.
        now: says the time, for messages.

    Attributes:
        whole_nodes: whether jobs always take whole nodes.
        compiled: whether compiled code gives the same answers.
    """

    def __init__(self, machine: Machine, selection: Selection, now: Callable[[], float]) -> None:
        plugin = selection.plugins[selection.slots["SelectType"]]
        self.whole_nodes: bool = getattr(plugin, "whole_nodes", False)
        self.compiled = type(plugin) in COMPILED
        self._hooks = Hooks(selection)
        self._bundled = self.compiled and len(selection.implementations("select_nodes")) == 1
        self._machine = machine
        self._now = now

    @classmethod
    def named(cls, name: str, machine: Machine) -> NodeSelector:
        """The one of a bundled plugin."""
        return cls(machine, select(Catalogue(), {"SelectType": name}), lambda: 0.0)

    def choose(self, want: Want, free: Free, usable: Mask) -> Allocation | None:
        """The nodes for what a job needs, out of what is free, or None if it does not fit.

        Raises:
            PluginError: the plugin failed, or answered what cannot be.
        """
        view = NodeView(want, self._machine, free, usable)
        try:
            found: Allocation | None = self._hooks.select_nodes(view)  # type: ignore[misc]
        except FAILURES as error:
            self._hooks.fail("select_nodes", error, time=self._now())
        if found is not None and not self._bundled:
            wrong = self.wrong(found, view)
            if wrong:
                self._hooks.refuse("select_nodes", wrong, time=self._now())
        return found

    def wrong(self, answer: object, view: NodeView) -> str:
        """Why an answer cannot be; empty if it can."""
        if not isinstance(answer, Allocation):
            return f"it answered {answer!r}; answer an Allocation, or None where the request does not fit"
        names, nodes = self._machine.names, list(answer.nodes)
        if nodes != sorted(set(nodes)) or not nodes or not 0 <= nodes[0] <= nodes[-1] < len(names):
            return f"its nodes are {nodes[:5]}; answer indices of the machine's nodes, each once, in ascending order"
        columns = (answer.units, answer.memory, *answer.gres.values())
        if any(len(column) != len(nodes) for column in columns):
            return f"it has {len(nodes)} nodes; answer as many units, as much memory and as many resources of each kind"
        if any(not isinstance(count, int | np.integer) or count < 0 for column in columns for count in column):
            return "it gives out what is no whole number, or below 0"
        for node in nodes:
            if not view.usable[node]:
                return f"node {names[node]} is not among view.usable"
        if lacking := self._lacking(answer, view.want):
            return lacking
        left = view.free.copy()
        left.take(answer)
        lacks = (left.table[:2] < 0).any(axis=0)
        for kind, counts in left.gres.items():
            # Of what jobs of a partition may have together, jobs of whole nodes or cores have more.
            lacks |= (counts < 0) & bool(kind[0])
        short = np.flatnonzero(lacks)
        if len(short):
            return f"node {names[int(short[0])]} has less than it gives out; take no more than view.free has"
        return ""

    def _lacking(self, answer: Allocation, want: Want) -> str:
        """What a job would lack with an answer; empty for nothing."""
        many, cpus = len(answer.nodes), self._machine.cpus_of(answer)
        if many < want.min_nodes:
            return f"it has {many} nodes of {want.min_nodes} that are wanted (view.want.min_nodes)"
        # With --overcommit, and where tasks with several CPUs or few cores are dealt out, it may be fewer.
        if cpus < min(want.cpus, want.dealt) and want.cpus_per_task == 1 and not want.placed:
            return f"it has {cpus} CPUs of {want.cpus} that are wanted (view.want.cpus)"
        return ""
