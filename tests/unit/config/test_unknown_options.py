"""Keys and options that a version of Slurm does not know yet are named, and have no effect."""

from __future__ import annotations

import pytest

from emulator.config.slurm import parse_slurm_conf
from emulator.config.slurm.changes import with_changes
from emulator.config.slurm.partitions import updated
from slurm_sim_plugins.errors import InputError

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


LINES = """
SuspendTime=600
SuspendProgram=/bin/true
ResumeProgram=/bin/true
NodeName=n[1-2] CPUs=4
PartitionName=DEFAULT MaxCPUsPerSocket=2
PartitionName=p Nodes=n1 Default=YES PowerDownOnIdle=YES OverSubscribe=FORCE:2
PartitionName=q Nodes=n2 Exclusive=NODE
"""


def test_so_have_keys_of_partitions() -> None:
    conf = parse_slurm_conf(LINES)
    new, old = conf.under("26.05"), conf.under("22.05")
    for one, known in ((new, True), (old, False)):
        first, second = one.partitions
        assert (first.default, first.nodes, second.nodes) == (True, ("n1",), ("n2",))
        assert (first.max_cpus_per_socket, second.max_cpus_per_socket) == ((2, 2) if known else (None, None))
        assert (first.oversubscribe, second.oversubscribe) == ("FORCE", "EXCLUSIVE" if known else "NO")
        assert one.power is not None
        assert one.power.on_idle == ({"p"} if known else set())
    named = [(notice.location.line, notice.text.split(":")[0]) for notice in old.notices[len(conf.notices) :]]
    assert named == [(6, "MaxCPUsPerSocket"), (7, "PowerDownOnIdle"), (8, "Exclusive")]
    changed, _ = updated(new.partitions[0], {"MaxCPUsPerSocket": "1"}, new)
    assert changed.max_cpus_per_socket == 1
    with pytest.raises(InputError, match=r"Slurm 22.05 does not know MaxCPUsPerSocket"):
        updated(old.partitions[0], {"MaxCPUsPerSocket": "1"}, old)


def test_what_stands_in_another_parameter_now_is_named() -> None:
    conf = parse_slurm_conf(CONF + "SchedulerParameters=kill_invalid_depend\nDependencyParameters=max_depend_depth=3")
    named = [notice.text for notice in conf.notices if "DependencyParameters" in notice.text]
    assert named == [
        "SchedulerParameters.kill_invalid_depend has no effect: Slurm looks for kill_invalid_depend in "
        "DependencyParameters"
    ]


VAIN_PARTITION = "NodeName=n[1-2] CPUs=4\nPartitionName=p Nodes=ALL Default=YES LLN={lln} MaxCPUsPerNode={most}\n"


@pytest.mark.parametrize(
    ("select", "lln", "most", "told"),
    [
        (
            "select/linear\nSelectTypeParameters=CR_LLN\nSchedulerParameters=pack_serial_at_end",
            "YES",
            "2",
            ["SelectTypeParameters.CR_LLN", "SchedulerParameters.pack_serial_at_end", "LLN", "MaxCPUsPerNode"],
        ),
        ("select/linear", "NO", "UNLIMITED", []),
        ("select/cons_tres\nSelectTypeParameters=CR_LLN", "YES", "2", []),
    ],
)
def test_what_select_linear_does_not_ask_for_is_told(select, lln, most, told):
    read = parse_slurm_conf(f"ClusterName=c\nSelectType={select}\n" + VAIN_PARTITION.format(lln=lln, most=most))
    notices = [str(notice) for notice in read.notices]
    assert [text.partition(": ")[2].split()[0] for text in notices if "does not ask for it" in text] == told


@pytest.mark.parametrize(
    ("options", "storage", "told"),
    [
        ("bf_max_job_assoc=2,bf_max_job_user=5", "slurmdbd", ["bf_max_job_user"]),
        ("bf_max_job_assoc=2,bf_max_job_user=5", "none", ["bf_max_job_user", "bf_max_job_assoc"]),
        ("bf_max_job_assoc=0,bf_max_job_user=5", "none", []),
        ("bf_max_job_assoc=2", "slurmdbd", []),
        ("assoc_limit_stop", "slurmdbd", []),
        ("assoc_limit_stop", "none", ["assoc_limit_stop"]),
    ],
)
def test_bounds_of_backfill_that_bound_nothing_are_told(options, storage, told):
    text = f"AccountingStorageType=accounting_storage/{storage}\nSchedulerParameters={options}\nNodeName=n1\n"
    notices = [str(notice) for notice in parse_slurm_conf(text).notices]
    names = [
        text.partition(": SchedulerParameters.")[2].split()[0] for text in notices if "SchedulerParameters." in text
    ]
    assert names == told
