"""Whole nodes: whatever a job asks for on a node, it has the node for itself."""

from __future__ import annotations

from typing import ClassVar

from slurm_sim_plugins.select.cons_tres import ConsTres


class Linear(ConsTres):
    """Best fit over idle nodes, which a job takes whole."""

    name: ClassVar[str] = "select/linear"
    whole_nodes: ClassVar[bool] = True
