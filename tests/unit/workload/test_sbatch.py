"""Arguments of sbatch as typed values."""

from __future__ import annotations

import math
import re
import shlex
from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.config.slurm.model import GresCount
from emulator.workload.sbatch import OPTIONS, BatchOptions, Dependency, TaskArray, parse_sbatch

NOTHING = BatchOptions()


def asked(line: str) -> dict[str, Any]:
    """What differs from asking for nothing."""
    options = parse_sbatch(shlex.split(line))
    values = {item.name: getattr(options, item.name) for item in fields(options)}
    return {name: value for name, value in values.items() if value != getattr(NOTHING, name)}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("", {}),
        ("-N2", {"min_nodes": 2, "max_nodes": 2}),
        ("--nodes=1-3", {"min_nodes": 1, "max_nodes": 3}),
        ("-n 4 -c3", {"tasks": 4, "cpus_per_task": 3}),
        ("--ntasks 4 --ntasks-per-node=2 --ntasks-per-core=1", {"tasks": 4, "tasks_per_node": 2, "tasks_per_core": 1}),
        ("-t0:30", {"time_limit": 60}),
        ("-t 1-2", {"time_limit": 26 * 3600}),
        ("--time=UNLIMITED", {"time_limit": math.inf}),
        ("-t0", {"time_limit": math.inf}),
        ("--time-min=1:01", {"time_min": 120}),
        ("-pa,b", {"partitions": ("a", "b")}),
        ("-p a -pb", {"partitions": ("b",)}),
        ("-J 'a b' -A acct -q high", {"name": "a b", "account": "acct", "qos": "high"}),
        ("--mem=4G --mem-per-cpu=512", {"memory_per_node": 4096, "memory_per_cpu": 512}),
        ("--mem=0", {"memory_per_node": 0}),
        ("--exclusive", {"exclusive": True}),
        ("--exclusive=user", {"exclusive_to": "user"}),
        ("-s -H", {"share": True, "held": True}),
        ("-wn[1-2,4] -xn3", {"node_list": ("n1", "n2", "n4"), "exclude": ("n3",)}),
        ("-C '[a*2&b*2]'", {"constraint": "[a*2&b*2]"}),
        ("-Lfoo:1,bar,none:0", {"licenses": (("foo", 1), ("bar", 1))}),
        ("--gres=gpu:a:2,gres/mps", {"gres": (GresCount("gpu", "a", 2), GresCount("mps", "", 1))}),
        ("-G v100:3", {"gpus": (GresCount("gpu", "v100", 3),)}),
        ("--nice", {"nice": 100}),
        ("--nice=-50 --priority=300", {"nice": -50, "priority": 300}),
        ("--begin=now+20", {"begin": 20}),
        ("--begin=now+2hours --deadline now+1week", {"begin": 7200, "deadline": 604800}),
        ("--no-requeue", {"requeue": False}),
        ("--requeue --reservation=r", {"requeue": True, "reservation": "r"}),
        ("--hint=nomultithread", {"hint": "nomultithread"}),
        ("--hint=nomultithread -n2 --threads-per-core=2", {"tasks": 2, "threads_per_core": 2}),
        ("--hint=nomultithread -n2 --ntasks-per-core=1", {"tasks": 2, "tasks_per_core": 1}),
        ("-n2 -B1 --hint=multithread", {"tasks": 2, "sockets": 1}),
        ("--array=0-5%2", {"array": TaskArray((0, 1, 2, 3, 4, 5), 2)}),
        ("-a 7,1-9:4", {"array": TaskArray((1, 5, 7, 9))}),
        ("-d afterok:1", {"dependencies": (Dependency("afterok", 1),)}),
        ("-d after:1+2", {"dependencies": (Dependency("after", 1, 120),)}),
        ("-d afterok:1+5", {"dependencies": (Dependency("afterok", 1),)}),
        (
            "--dependency=afterok:1:2,singleton",
            {"dependencies": (Dependency("afterok", 1), Dependency("afterok", 2), Dependency("singleton"))},
        ),
        (
            "-d afterok:6?afterany:1 --kill-on-invalid-dep=yes",
            {
                "dependencies": (Dependency("afterok", 6), Dependency("afterany", 1)),
                "any_dependency": True,
                "kill_on_invalid_dependency": True,
            },
        ),
    ],
)
def test_arguments_become_typed_values(line, expected):
    assert asked(line) == expected


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("script.sh", "'script.sh' is no option of sbatch"),
        ("-", "'-' is no option of sbatch"),
        ("--nodez=3", "'nodez' is no option of sbatch that is known here (did you mean 'nodes'?)"),
        ("-Z3", "'-Z' is no option of sbatch that is known here"),
        ("-N", "--nodes needs a value"),
        ("--hold=yes", "--hold takes no value, not 'yes'"),
        ("-Hx", "--hold takes no value, not 'x'"),
        ("-N0", "--nodes: '0' is neither a number of nodes nor a range such as 2-4"),
        ("-N3-2", "--nodes: '3-2' is neither"),
        ("-n0", "--ntasks: '0' is less than 1"),
        ("-n x", "--ntasks: 'x' is no whole number from 0 on"),
        ("-n ²", "--ntasks: '²' is no whole number"),
        ("-t soon", "--time: 'soon' is no time; accepted are minutes"),
        ("--mem=much", "--mem: 'much' is no size"),
        ("--exclusive=all", "--exclusive: 'all' is none of user, mcs, topo"),
        ("--nice=5x", "--nice: '5x' is no whole number"),
        ("--begin=16:61", "--begin: '16:61' is no time"),
        ("-w 'n[1'", "--nodelist: 'n[1' is no host list"),
        ("-w ''", "--nodelist: the value is empty"),
        ("-pa,,b", "--partition: 'a,,b' has an empty name in it"),
        ("--gres=gpu:a:b:c", "--gres: 'gpu:a:b:c' is not written as"),
        ("--array=5-1", "--array: '5-1' is no range of indices"),
        ("--array=1-5:0", "--array: '1-5:0' is no range of indices"),
        ("--array=0-9999999", "--array: '0-9999999' is no range of indices"),
        ("--array=1-", "--array: '1-' is neither an index nor a range"),
        ("--array=1%0", "--array: '0' is less than 1"),
        ("-d afterok", "--dependency: 'afterok' is neither singleton nor a condition"),
        ("-d afterfoo:1", "--dependency: 'afterfoo:1' is neither"),
        ("-d afterok:x", "--dependency: 'x' in 'afterok:x' is no job id"),
        ("-d afterok:1,afterok:2?afterok:3", "--dependency: 'afterok:1,afterok:2?afterok:3' has both"),
        ("--kill-on-invalid-dep=maybe", "--kill-on-invalid-dep: 'maybe' is neither yes nor no"),
    ],
)
def test_what_cannot_be_understood_is_named(line, why):
    with pytest.raises(ValueError, match="^" + re.escape(why)):
        parse_sbatch(shlex.split(line))


@pytest.mark.slow
@given(st.lists(st.sampled_from(sorted(OPTIONS)).map("--{}".format) | st.text(max_size=6), max_size=6))
def test_any_arguments_are_understood_or_refused(arguments):
    try:
        options = parse_sbatch(arguments)
    except ValueError:
        return
    assert isinstance(options, BatchOptions)


@given(
    nodes=st.integers(1, 999),
    tasks=st.integers(1, 999),
    minutes=st.integers(1, 99999),
    users=st.permutations(["nodes", "ntasks", "time"]),
    joined=st.booleans(),
)
def test_the_order_and_the_way_of_writing_do_not_matter(nodes, tasks, minutes, users, joined):
    values = {"nodes": nodes, "ntasks": tasks, "time": minutes}
    arguments = [
        part
        for name in users
        for part in ([f"--{name}={values[name]}"] if joined else [f"--{name}", str(values[name])])
    ]
    fewest = min(nodes, tasks)
    expected = replace(NOTHING, min_nodes=fewest, max_nodes=fewest, tasks=tasks, time_limit=minutes * 60.0)
    assert parse_sbatch(arguments) == expected
    assert parse_sbatch([f"-N{nodes}", f"-n{tasks}", f"-t{minutes}"]) == expected


@pytest.mark.parametrize(
    ("words", "cpus"),
    [("", 1), ("-N2", 2), ("-N3 -n2 -c2", 4), ("-N2 --ntasks-per-node=16", 32), ("--ntasks-per-node=4 -c2", 8)],
)
def test_cpus_that_are_asked_for_in_all(words, cpus):
    assert parse_sbatch(words.split()).cpus == cpus


@pytest.mark.parametrize(
    ("words", "nodes"),
    [
        ("-N3 -n2", (2, 2)),
        ("-n2 -N3-4", (2, 2)),
        ("-N3-3 -n1", (1, 1)),
        ("-N2-4 -n3", (2, 4)),
        ("-N2 -n2", (2, 2)),
        ("-N3", (3, 3)),
    ],
)
def test_no_node_goes_without_a_task(words, nodes):
    options = parse_sbatch(words.split())
    assert (options.min_nodes, options.max_nodes) == nodes
