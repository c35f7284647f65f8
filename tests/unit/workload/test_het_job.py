"""Heterogeneous jobs as sbatch reads them: which words hold for one component, and which for all that follow.

What each component has was asked of the daemons of Slurm 22.05, 24.11 and 26.05, which agree (``scontrol show job``).
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.workload.het_job import HANDED_ON, parted
from emulator.workload.job_script import sbatch_words
from emulator.workload.request import JobRequest
from emulator.workload.sbatch import BatchOptions, parse_sbatch

SCRIPT = """#!/bin/bash
#SBATCH -J s1 -n1 -t3 -p q
#SBATCH hetjob
#SBATCH -n2 -N2
#SBATCH packjob
#SBATCH -J s3 -p r
#SBATCH -n1
sleep 100
"""


def parts(line: str, script: str = "") -> list[BatchOptions]:
    options = parse_sbatch(line.split(), script=sbatch_words(script) if script else ())
    return [options, *options.components]


def shown(line: str, script: str, *fields: str) -> list[tuple[object, ...]]:
    return [tuple(getattr(one, field) for field in fields) for one in parts(line, script)]


def test_a_job_without_a_separator_has_no_components() -> None:
    assert parse_sbatch(["-n4"]).components == ()
    assert JobRequest(7, 0.0, 1.0, parse_sbatch(["-n4"])).components()[0].het_job_id is None


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("", [("s1", 1, None, 180, ("q",)), ("s1", 2, 2, 180, ()), ("s3", 1, None, 180, ("r",))]),
        ("-n3", [("s1", 3, None, 180, ("q",)), ("s1", 3, 2, 180, ()), ("s3", 3, None, 180, ("r",))]),
        ("-n3 : -t1", [("s1", 3, None, 180, ("q",)), ("s1", 2, 2, 60, ()), ("s3", 1, None, 60, ("r",))]),
        (
            ": -t1 : -n1 : -n3",
            [("s1", 1, None, 180, ("q",)), ("s1", 2, 2, 60, ()), ("s3", 1, None, 60, ("r",)), ("s3", 3, None, 60, ())],
        ),
        ("-pr", [("s1", 1, None, 180, ("r",)), ("s1", 2, 2, 180, ("r",)), ("s3", 1, None, 180, ("r",))]),
    ],
)
def test_words_of_the_line_go_before_those_of_the_script(line: str, expected: list[tuple[object, ...]]) -> None:
    assert shown(line, SCRIPT, "name", "tasks", "min_nodes", "time_limit", "partitions") == expected


def test_what_holds_for_the_job_is_handed_on_and_what_a_component_needs_is_not() -> None:
    words = (
        "-H -Ja -t10 -xn4 -pq --nice=5 --mem=100 -c2 -N2 -n2 --exclusive --requeue --switches=1 --time-min=5 -Cf -Ll"
    )
    first, second = parts(f"{words} --gres=g:1 -Aacc -qqq --reservation=rr --deadline=now+9 -b now+7 : -n3")
    for name in HANDED_ON:
        assert getattr(second, name) == getattr(first, name)
    nothing = BatchOptions()
    for name in ("partitions", "min_nodes", "cpus_per_task", "exclusive", "switches", "constraint", "licenses", "gres"):
        assert getattr(second, name) == getattr(nothing, name) != getattr(first, name)
    assert second.tasks == 3


def test_a_later_component_says_for_the_first_as_well_what_is_handed_on() -> None:
    assert (
        shown("-n1 : -n2 --nice=10 -t7 -Axx -xn1", "", "nice", "time_limit", "account", "exclude")
        == [(10, 420.0, "xx", ("n1",))] * 2
    )
    assert shown("-n1 : -n2 -H -dafterany:1 : -n3", "", "held") == [(True,)] * 3
    assert [one.dependencies[0].kind for one in parts("-n1 -dsingleton : -n2 -dafterany:1")] == [
        "singleton",
        "afterany",
    ]


def test_memory_of_nodes_gives_way_to_memory_of_cpus() -> None:
    assert shown("--mem=100 -n1 : --mem-per-cpu=10 -n1", "", "memory_per_node", "memory_per_cpu") == [
        (100, None),
        (None, 10),
    ]


def test_none_has_nodes_that_another_names() -> None:
    found = shown("-n1 -x n1 : -n2 -w n2 : -w n3,n4 -x n2 : -n1", "", "node_list", "exclude")
    assert found == [
        ((), ("n1", "n2", "n3", "n4")),
        (("n2",), ("n1", "n3", "n4")),
        (("n3", "n4"), ("n2",)),
        ((), ("n2", "n3", "n4")),
    ]


@pytest.mark.parametrize("directive", ["-n1 : -n2", ": -n2"])
def test_a_script_does_not_part_components_as_the_line_does(directive: str) -> None:
    with pytest.raises(ValueError, match=r"line 2: Unexpected `:`.*#SBATCH hetjob"):
        sbatch_words(f"#!/bin/sh\n#SBATCH {directive}\n")


@given(st.lists(st.lists(st.sampled_from(["-n1", "-t3"]), max_size=3), min_size=1, max_size=4))
def test_separators_part_as_many_components_as_they_stand_between(components: list[list[str]]) -> None:
    line = [word for component in components for word in (":", *component)][1:]
    assert parted(line) == components


def test_components_have_the_numbers_that_follow() -> None:
    request = JobRequest(7, 3.0, 50.0, parse_sbatch(["-n1", ":", "-n2", ":", "-n3"]), "ann")
    found = request.components()
    assert [(one.id, one.het_job_id, one.het_job_offset, one.options.tasks) for one in found] == [
        (7, 7, 0, 1),
        (8, 7, 1, 2),
        (9, 7, 2, 3),
    ]
    assert not any(one.options.components for one in found)
