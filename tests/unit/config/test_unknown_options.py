"""Keys and options that a version of Slurm does not know yet are named, and have no effect."""

from __future__ import annotations

import pytest

from emulator.config.slurm import parse_slurm_conf
from emulator.config.slurm.changes import with_changes

CONF = """
SchedulerParameters=bf_interval=10,time_min_as_soft_limit,preempt_youngest_first
PreemptParameters=strict_order
NodeName=n1
PartitionName=p Nodes=n1 Default=YES
"""


@pytest.mark.parametrize(("version", "known"), [("22.05", False), ("24.11", True)])
def test_what_a_version_does_not_know_has_no_effect_and_is_named(version: str, known: bool) -> None:
    conf = parse_slurm_conf(CONF)
    under = conf.under(version)
    assert under.parameters.flag("SchedulerParameters.time_min_as_soft_limit") is known
    assert under.parameters.flag("PreemptParameters.strict_order") is known
    assert under.parameters.flag("PreemptParameters.youngest_first")
    assert under.parameters.amount("SchedulerParameters.bf_interval") == 10
    named = [notice.text for notice in under.notices[len(conf.notices) :]]
    assert [text.split(":")[0] for text in named] == (
        []
        if known
        else ["SchedulerParameters.time_min_as_soft_limit", "PreemptParameters", "PreemptParameters.strict_order"]
    )
    changed = with_changes(under, {"KillWait": 20})
    assert changed.parameters.flag("SchedulerParameters.time_min_as_soft_limit") is known
    assert conf.under("24.11").parameters.flag("SchedulerParameters.time_min_as_soft_limit")
