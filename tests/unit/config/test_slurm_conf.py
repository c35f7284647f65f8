"""Slurm configurations: what is read, what is said about it, what is refused and where."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from emulator.config.slurm import SlurmConf, parse_slurm_conf, read_slurm_conf
from emulator.config.slurm.location import MOST_LINES, Location
from emulator.config.slurm.model import GresCount
from emulator.config.slurm.nodes import gres_count
from emulator.config.slurm.parameters import PARAMETERS
from emulator.config.slurm.records import GRES, LINES, TOPOLOGY
from emulator.config.slurm.values import PARSERS
from emulator.config.slurm.vocabulary import IGNORED, NOT_YET, Word, vocabulary
from slurm_sim_plugins.errors import InputError

STATED = "PriorityType=priority/basic\nSelectType=select/linear\n"
"""Two lines without which there are notices about defaults."""
NODES = "NodeName=n[1-4] CPUs=2 RealMemory=1000 Feature=a\nNodeName=m1 CPUs=4 Feature=a,b\n"

Folder = Callable[..., Path]


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """Write files by name, with _ for the dot, and give the folder."""

    def write(**files: str) -> Path:
        for name, content in files.items():
            (tmp_path / name.replace("_", ".")).write_text(content, encoding="utf-8")
        return tmp_path

    return write


def conf(text: str, **beside: str) -> SlurmConf:
    return parse_slurm_conf(STATED + text, **beside)


def problems(text: str, **beside: str) -> list[str]:
    """The lines of the error, counted from the first line of the text."""
    with pytest.raises(InputError) as caught:
        parse_slurm_conf(text, **beside)
    return str(caught.value).splitlines()


def notices(text: str, **beside: str) -> list[str]:
    return [str(notice) for notice in conf(text, **beside).notices]


# Lines ---------------------------------------------------------------------------------


def test_keys_are_found_in_any_case_and_values_may_be_quoted():
    read = conf('killwait = 5\nCLUSTERNAME="a b"   # a comment\nMailProg=/bin/a\\#b\n')
    assert read.parameters.amount("KillWait") == 5
    assert read.parameters.text("ClusterName") == "a b"
    assert read.parameters.text("MailProg") == "/bin/a#b"
    assert read.parameters["KillWait"].location == Location("slurm.conf", 3)


def test_a_line_may_hold_several_parameters_and_end_in_a_record():
    read = conf("KillWait=5 ClusterName=x NodeName=n1 CPUs=3\n")
    assert read.parameters.text("ClusterName") == "x"
    assert read.node["n1"].cpus == 3


def test_a_backslash_continues_a_line_and_errors_name_the_physical_line():
    text = "NodeName=n[1-2,\\\n3] CPUs=2 \\  \n  RealMemory=7\nPartitionName=p \\\n  MaxTime=no Nodes=n9\n"
    assert problems(text) == [
        "slurm.conf:5: MaxTime: 'no' is no time; accepted are minutes, minutes:seconds, hours:minutes:seconds, "
        "days-hours[:minutes[:seconds]] or UNLIMITED",
        "slurm.conf:5: there is no node or node set n9",
    ]
    read = conf(text.replace("no Nodes=n9", "5 Nodes=n3"))
    assert [node.real_memory for node in read.nodes] == [7, 7, 7]


def test_two_backslashes_continue_nothing_and_a_comment_hides_the_continuation():
    read = conf("MailProg=a\\\\\nKillWait=5 # and \\\nOverTimeLimit=1\n")
    assert read.parameters.text("MailProg") == "a\\\\"
    assert read.parameters.amount("OverTimeLimit") == 60


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("KillWait", "'KillWait' is not written as KEY=VALUE"),
        ("KillWait=5 and more", "'and more' is not written as KEY=VALUE"),
        ("KillWait+=5", "'KillWait+=5' is not written as KEY=VALUE"),
        ("=5", "'=5' is not written as KEY=VALUE"),
        ("KillWait=", 'KillWait has no value; nothing is written as ""'),
        ('ClusterName="a', "ClusterName lacks the closing quotation mark"),
        ('ClusterName="a # b"', "ClusterName lacks the closing quotation mark (a # begins a comment"),
        ('ClusterName="a"b', "ClusterName needs a blank after the closing quotation mark"),
    ],
)
def test_a_line_that_is_not_pairs_is_refused(line, why):
    (problem,) = problems(f"\n{line}\n")
    assert problem.startswith(f"slurm.conf:2: {why}")


def test_templates_are_passed_over_with_a_notice():
    assert notices("{% if x %}\nKillWait={{ wait }}\n{% endif %}\n{# no #}\n# {{ comment }}\n") == [
        "slurm.conf:3: template, not a value: '{% if x %}'",
        "slurm.conf:4: template, not a value: 'KillWait={{ wait }}'",
        "slurm.conf:5: template, not a value: '{% endif %}'",
        "slurm.conf:6: template, not a value: '{# no #}'",
    ]


def test_a_file_that_is_not_utf_8_is_read_with_a_notice(tmp_path):
    (tmp_path / "slurm.conf").write_bytes(STATED.encode() + b"# caf\xe9\nKillWait=5\r\n")
    read = read_slurm_conf(tmp_path)
    assert read.parameters.amount("KillWait") == 5
    assert [str(notice) for notice in read.notices] == [
        f"{tmp_path}/slurm.conf:3: is not UTF-8: odd bytes are replaced"
    ]


# Files ---------------------------------------------------------------------------------


def test_a_folder_is_read_with_what_lies_beside_the_main_file(folder):
    read = read_slurm_conf(
        folder(
            slurm_conf=STATED + NODES + "GresTypes=gpu\nTopologyPlugin=topology/tree\n",
            gres_conf="NodeName=n[1-2] Name=gpu Type=x File=/dev/x[0-1]\n",
            topology_conf="SwitchName=s Nodes=n[1-4],m1\n",
            topology_yaml="- topology: t\n  cluster_default: true\n  flat: true\n",
            resources_yaml="- anything",
        )
    )
    assert [line.count for line in read.gres] == [2]
    assert [switch.nodes for switch in read.topology_conf.switches] == [("n1", "n2", "n3", "n4", "m1")]
    assert read.topology.plugin == "topology/flat"
    assert [str(notice) for notice in read.notices] == [f"{read.source[:-10]}resources.yaml:1: is not read"]


def test_includes_are_read_in_place_with_the_name_of_the_cluster(folder):
    path = folder(
        slurm_conf=STATED + "NodeName=n\nClusterName=x\nINCLUDE x.conf\nInclude %c.more\n", x_conf="KillWait=5\n"
    )
    (path / "x.more").write_text("KillWait=6\n")
    read = read_slurm_conf(path / "slurm.conf")
    assert read.parameters.amount("KillWait") == 6
    assert read.parameters["KillWait"].location == Location(f"{path}/x.more", 1)
    assert "stated again" in read.notices[-1].text


def test_an_include_outside_the_folder_is_not_opened(folder, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "secret").write_text("KillWait=77\n")
    main = tmp_path / "in" / "slurm.conf"
    (tmp_path / "in" / "link").symlink_to(tmp_path / "secret")
    main.write_text(
        f"{STATED}NodeName=n\nInclude {tmp_path}/secret\nInclude ../secret\nInclude link\nInclude /dev/zero\n"
    )
    read = read_slurm_conf(main)
    assert "KillWait" not in read.parameters
    assert [notice.text.partition(":")[0] for notice in read.notices] == [
        f"'{tmp_path}/secret' is not read",
        "'../secret' is not read",
        "'link' is not read",
        "'/dev/zero' is not read",
    ]
    assert all(notice.text.endswith("it is not in the folder of slurm.conf; copy it there") for notice in read.notices)


def test_a_configuration_that_is_no_file_includes_nothing():
    assert notices("NodeName=n\nInclude other.conf\n") == [
        "slurm.conf:4: 'other.conf' is not read: it is not in the folder of slurm.conf; copy it there"
    ]


def test_includes_that_cannot_be_followed_are_errors(folder):
    path = folder(
        slurm_conf="Include slurm.conf\nInclude one\nInclude missing\nInclude x\x00y\nInclude loop\n", one="Include two"
    )
    (path / "two").write_text("\nInclude one\n")
    (path / "loop").symlink_to(path / "loop")
    with pytest.raises(InputError) as caught:
        read_slurm_conf(path)
    lines = [line.replace(f"{path}/", "") for line in str(caught.value).splitlines()]
    assert lines[:3] == [
        "slurm.conf:1: 'slurm.conf' includes itself; take this line out",
        "slurm.conf:3: missing: cannot be read: No such file or directory",
        "slurm.conf:4: 'x\\x00y' is no name of a file",
    ]
    assert lines[3].startswith("slurm.conf:5: ")
    assert lines[4:] == ["two:2: 'one' includes itself; take this line out"]


def test_files_that_include_each_other_many_times_come_to_an_end(folder):
    path = folder(slurm_conf="Include a0\n" * 2)
    for depth in range(20):
        (path / f"a{depth}").write_text(f"Include a{depth + 1}\n" * 2)
    (path / "a20").write_text("KillWait=5\n")
    with pytest.raises(InputError, match="more than 1000 files are included"):
        read_slurm_conf(path)


@pytest.mark.parametrize("name", ["", "slurm.conf"])
def test_a_missing_file_is_an_error(tmp_path, name):
    with pytest.raises(InputError, match=r"slurm\.conf: cannot be read: No such file"):
        read_slurm_conf(tmp_path / name)


# Parameters ----------------------------------------------------------------------------


def test_values_are_typed_and_fall_back_to_the_defaults_of_slurm():
    parameters = conf(
        "Licenses=foo:4,bar,foo:1\nPriorityWeightTRES=CPU=1000,Mem=.5G,GRES/gpu=-3\nOverTimeLimit=UNLIMITED\n"
        "PreemptMode=suspend,Gang\nPriorityMaxAge=1-12\nJobRequeue=0\nMaxMemPerCPU=4K\nGresTypes=gpu,,mps\n"
    ).parameters
    assert dict(parameters.numbers("Licenses")) == {"foo": 5, "bar": 1}
    assert dict(parameters.numbers("PriorityWeightTRES")) == {"cpu": 1000, "mem": 0.5 / 1024, "gres/gpu": -3}
    assert parameters.amount("OverTimeLimit") == math.inf
    assert parameters.words("PreemptMode") == ("SUSPEND", "GANG")
    assert parameters.amount("PriorityMaxAge") == 36 * 3600
    assert parameters.flag("JobRequeue") is False
    assert parameters.amount("MaxMemPerCPU") == 4096
    assert parameters.words("GresTypes") == ("gpu", "mps")
    assert parameters.amount("KillWait") == 30
    assert parameters.amount("PriorityDecayHalfLife") == 7 * 86400
    assert parameters.text("SchedulerType") == "sched/backfill"
    assert parameters.count("MaxArraySize") == 1001
    assert parameters.words("SchedulerParameters") == ()
    assert parameters.text("ClusterName") == ""
    assert parameters.location("KillWait") is None


def test_options_of_parameters_are_values_of_their_own():
    parameters = conf(
        "SchedulerParameters=bf_interval=120,bf_window=10,BF_CONTINUE,sched_min_interval=2000000,sched_interval=-1,"
        "preempt_reorder_count=3,preempt_youngest_first,max_job_bf=7,defer=no\nAuthInfo=socket=/x,cred_expire=30\n"
    ).parameters
    assert parameters.amount("SchedulerParameters.bf_interval") == 120
    assert parameters.amount("SchedulerParameters.bf_window") == 600
    assert parameters.flag("SchedulerParameters.bf_continue")
    assert parameters.amount("SchedulerParameters.sched_min_interval") == 2.0
    assert parameters.amount("SchedulerParameters.sched_interval") == -1
    assert parameters.count("SchedulerParameters.bf_max_job_test") == 7
    assert not parameters.flag("SchedulerParameters.defer")
    assert parameters.count("PreemptParameters.reorder_count") == 3
    assert parameters.flag("PreemptParameters.youngest_first")
    assert not parameters.flag("PreemptParameters.strict_order")
    assert parameters.amount("AuthInfo.cred_expire") == 30
    assert parameters.amount("SchedulerParameters.bf_resolution") == 60
    assert parameters.amount("SchedulerParameters.bf_max_time") is None
    assert parameters.amount("SchedulerParameters.bf_yield_sleep") == 0.5


def test_who_asks_for_another_kind_or_an_unknown_name_is_told():
    parameters = conf("KillWait=5\nLicenses=a\n").parameters
    for ask in (parameters.words, parameters.numbers, parameters.text):
        with pytest.raises(TypeError, match="KillWait is 5"):
            ask("KillWait")
    with pytest.raises(TypeError, match="Licenses"):
        parameters.count("Licenses")
    for name in ("KilWait", "SchedulerParameters.bf_intervall"):
        with pytest.raises(KeyError):
            parameters.text(name)


def test_of_two_statements_the_last_counts_with_its_options_only():
    read = conf("SchedulerParameters=defer,bf_window=5\nSchedulerParameters=bf_window=6\nProlog=a\nProlog=b\n")
    assert read.parameters.amount("SchedulerParameters.bf_window") == 360
    assert not read.parameters.flag("SchedulerParameters.defer")
    assert [str(notice) for notice in read.notices] == [
        "slurm.conf:4: SchedulerParameters is stated again: this counts, not slurm.conf:3"
    ]


def test_an_option_that_slurm_passes_over_is_a_notice():
    read = conf("SchedulerParameters=max_prc_cnt=150,bf_interval=0\nPriorityFlags=MAX_TRE\n")
    assert [str(notice) for notice in read.notices] == [
        "slurm.conf:3: 'max_prc_cnt' is no option of SchedulerParameters (did you mean 'max_rpc_cnt'?); Slurm passes "
        "over it",
        "slurm.conf:3: bf_interval=0 is not from 1 to 10800: Slurm takes its default, 30",
        "slurm.conf:4: 'MAX_TRE' is no option of PriorityFlags (did you mean 'MAX_TRES'?); Slurm passes over it",
    ]
    assert read.parameters.amount("SchedulerParameters.bf_interval") == 30


def test_defaults_that_depend_on_the_version_are_noticed():
    assert [str(notice) for notice in parse_slurm_conf("KillWait=5").notices] == [
        "slurm.conf:1: PriorityType is not stated, and its default is priority/multifactor from 23.11 on, "
        "priority/basic before",
        "slurm.conf:1: SelectType is not stated, and its default is select/cons_tres from 23.11 on, "
        "select/linear before",
    ]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("KilWait=5", "KilWait is no key of slurm.conf (did you mean 'KillWait'?)"),
        ("Frobnicate=5", "Frobnicate is no key of slurm.conf"),
        ("KillWait=-5", "KillWait: '-5' is below 0; accepted is a whole number from 0 on, or UNLIMITED"),
        ("KillWait=5s", "KillWait: '5s' is no whole number (of 18 digits at most); accepted is"),
        ("MaxArraySize=1.5", "MaxArraySize: '1.5' is no whole number"),
        ("MaxArraySize=-1", "MaxArraySize: '-1' is below 0"),
        ("NodeName=n1 CoresPerSocket=65536", "CoresPerSocket: '65536' is above 65535"),
        ("PartitionName=p PriorityTier=99999", "PriorityTier: '99999' is above 65535"),
        ("JobRequeue=maybe", "JobRequeue: 'maybe' is neither YES nor NO"),
        ("EnforcePartLimits=SOME", "EnforcePartLimits: 'SOME' is none of NO, YES, ALL, ANY"),
        ("PreemptMode=REQEUE", "PreemptMode: 'REQEUE' is none of OFF, CANCEL"),
        ("PriorityMaxAge=week", "PriorityMaxAge: 'week' is no time; accepted are"),
        ("DefMemPerCPU=some", "DefMemPerCPU: 'some' is no whole number of mebibytes"),
        ("MaxMemPerNode=4G", "MaxMemPerNode: '4G' is no whole number of mebibytes, as slurm.conf has it: 4 GiB are"),
        ("NodeName=n1 RealMemory=4000M", "RealMemory: '4000M' is no whole number of mebibytes"),
        ("Licenses=a:b", "Licenses: 'a:b' is not written as NAME or NAME:COUNT"),
        ("PriorityWeightTRES=CPU", "PriorityWeightTRES: 'CPU' is not written as TYPE=WEIGHT"),
        ("SelectTypeParameters=CR_Coe", "'CR_Coe' is no option of SelectTypeParameters (did you mean 'CR_Core'?)"),
        ("SchedulerParameters=bf_window=long", "bf_window: 'long' is no whole number"),
        ("SchedulerParameters=bf_window", "bf_window: 'YES' is no whole number"),
        ("NodeName=n1 CPU=3", "CPU is no key of a NodeName line (did you mean 'CPUs'?)"),
        ("PartitionName=p MaxTme=3", "MaxTme is no key of a PartitionName line (did you mean 'MaxTime'?)"),
    ],
)
def test_what_cannot_be_understood_is_refused_with_its_line(line, why):
    (problem,) = problems(f"# one\n{line}\n")
    assert problem.startswith(f"slurm.conf:2: {why}")


def test_all_problems_are_told_at_once_in_order_and_not_too_many():
    lines = [f"Unknown{number}=1" for number in range(1, 101)]
    told = problems("\n".join(lines))
    assert len(told) == MOST_LINES
    assert told[0] == "slurm.conf:1: Unknown1 is no key of slurm.conf"
    assert told[-1] == "... and 51 more problems; correct these first"
    assert len(problems("\n".join(lines[:50]))) == 50


def test_every_name_is_known_once_and_every_default_is_of_its_kind():
    everywhere = [PARAMETERS, *PARAMETERS.options.values(), *LINES.values(), GRES, TOPOLOGY]
    for words in everywhere:
        for word in words:
            assert word.note
            assert word.kind in PARSERS
            if word.default:
                word.parse(word.default)
            if word.means:
                parameter, dot, option = word.means.partition(".")
                target = PARAMETERS.options[parameter].find(option) if dot else words.find(word.means)
                assert target is not None
                assert target.kind is word.kind
    with pytest.raises(ValueError, match="x: defined twice: kill"):
        vocabulary("x", [Word("Kill", NOT_YET, "a"), Word("kill", IGNORED, "b")])


# Nodes ---------------------------------------------------------------------------------


def layout(line: str) -> tuple[int, int, int, int, int]:
    (node,) = conf(f"NodeName=n {line}\n").nodes
    return node.cpus, node.boards, node.sockets, node.cores_per_socket, node.threads_per_core


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("", (1, 1, 1, 1, 1)),
        ("CPUs=8", (8, 1, 8, 1, 1)),
        ("Procs=8 CoresPerSocket=4", (8, 1, 2, 4, 1)),
        ("Sockets=2 CoresPerSocket=18 ThreadsPerCore=2", (72, 1, 2, 18, 2)),
        ("CPUs=36 Sockets=2 CoresPerSocket=18 ThreadsPerCore=2", (36, 1, 2, 18, 2)),
        ("CPUs=112 Boards=1 SocketsPerBoard=4 CoresPerSocket=28 ThreadsPerCore=2", (112, 1, 4, 28, 2)),
        ("Boards=2 SocketsPerBoard=2 CoresPerSocket=3", (12, 2, 4, 3, 1)),
        ("Boards=2 Sockets=2", (4, 2, 4, 1, 1)),
    ],
)
def test_cpus_and_sockets_follow_from_each_other(line, expected):
    assert layout(line) == expected


def test_cpus_that_do_not_fit_are_corrected_as_slurm_does_with_a_notice():
    assert layout("CPUs=7 Sockets=2 CoresPerSocket=4") == (8, 1, 2, 4, 1)
    assert layout("CPUs=7 Sockets=2") == (7, 1, 7, 1, 1)
    assert notices("NodeName=n CPUs=7 Sockets=2 CoresPerSocket=4") == [
        "slurm.conf:3: CPUs=7 is neither the 2 sockets, nor the 8 cores, nor the 8 threads: Slurm takes 8"
    ]
    assert notices("NodeName=n CPUs=7 Sockets=2") == [
        "slurm.conf:3: CPUs=7 does not fit Sockets=2: Slurm takes 7 sockets"
    ]


def test_default_lines_add_up_and_hold_for_what_follows():
    read = conf(
        "NodeName=a\nNodeName=DEFAULT CPUs=8 Sockets=2 CoresPerSocket=4 Weight=3\nNodeName=b Weight=4\n"
        'NodeName=default RealMemory=5 Weight=6\nNodeName=c\nNodeName=d SocketsPerBoard=2 Gres=""\n'
    )
    assert [(node.name, node.cpus, node.weight, node.real_memory) for node in read.nodes] == [
        ("a", 1, 1, 1),
        ("b", 8, 4, 1),
        ("c", 8, 6, 5),
        ("d", 8, 6, 5),
    ]
    assert read.node["c"].settings["CPUs"].location == Location("slurm.conf", 4)
    assert read.node["c"].settings["Weight"].location == Location("slurm.conf", 6)


def test_a_node_has_features_gres_and_the_state_of_down_nodes():
    read = conf(
        "GresTypes=gpu,mps\nNodeName=n[1-3] Features=a,b Gres=gpu:x:2,mps:no_consume:1K State=drain\n"
        'DownNodes=DEFAULT State=FAIL\nDownNodes=n[1-2] Reason="no power"\nDownNodes=n2 State=DOWN\n'
    )
    assert [node.state for node in read.nodes] == ["FAIL", "DOWN", "DRAIN"]
    assert read.nodes[0].gres == (GresCount("gpu", "x", 2), GresCount("mps", "", 1024, consumed=False))
    assert read.nodes[0].features == ("a", "b")
    assert [(down.nodes, down.state) for down in read.down_nodes] == [(("n1", "n2"), "FAIL"), (("n2",), "DOWN")]


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("gpu", GresCount("gpu", "", 1)),
        ("gpu:4", GresCount("gpu", "", 4)),
        ("gpu:a100", GresCount("gpu", "a100", 1)),
        ("gpu:a100:4", GresCount("gpu", "a100", 4)),
        ("bandwidth:lustre:No_Consume:4G", GresCount("bandwidth", "lustre", 4 * 1024**3, consumed=False)),
    ],
)
def test_generic_resources_have_type_and_count(word, expected):
    assert gres_count(word) == expected


@pytest.mark.parametrize("word", ["", ":1", "gpu:a:b:1", "gpu::1", "gpu:a:1x"])
def test_what_is_no_generic_resource_is_refused(word):
    with pytest.raises(ValueError, match=r"is not written as|is no size"):
        gres_count(word)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("NodeName=n1\nNodeName=n[1-2]", "2: node n1 is defined already at slurm.conf:1"),
        ("NodeName=n[1-2,2]", "1: 'n[1-2,2]' names a node twice"),
        ("NodeName=ALL", "1: NodeName='ALL' names no node"),
        ('NodeName=""', "1: NodeName='' names no node"),
        ("NodeName=n[1-", "1: 'n[1-' is no host list: look at character 1"),
        ("NodeName=n[0-99999]", "1: a host list of more than 65,536 names"),
        ("NodeName=n[1-40000]\nNodeName=m[1-40000]", "2: 80,000 nodes; Slurm has no more than 65,536"),
        ("NodeName=n CPUs=0", "1: CPUs is 1 or more, not 0"),
        ("NodeName=n RealMemory=UNLIMITED", "1: RealMemory is a size, not UNLIMITED"),
        ("NodeName=n Gres=gpu:", "1: 'gpu:' is not written as NAME[:TYPE][:no_consume][:COUNT]"),
        ("NodeName=n State=BROKEN", "1: State: 'BROKEN' is none of CLOUD"),
        ("NodeName=node1\nDownNodes=node2", "2: there is no node or node set node2 (did you mean 'node1'?)"),
        ("NodeName=n1\nNodeSet=n1 Nodes=n1", "2: 'n1' is the name of a node; choose another"),
        ("NodeName=n1\nNodeSet=s Nodes=n1\nNodeSet=s Nodes=n1", "3: 's' is the name of a node set already"),
        ("NodeSet=s Nodes=x[1-9]", "1: there is no node or node set x1, x2, x3 and 6 more"),
    ],
)
def test_nodes_that_cannot_be_are_refused(text, why):
    (problem,) = problems(text)
    assert problem.startswith(f"slurm.conf:{why}")


# Partitions ----------------------------------------------------------------------------


def test_nodes_of_partitions_are_in_the_order_of_the_machine():
    read = conf(
        NODES + "NodeSet=s Nodes=n4,n2 Feature=b\nNodeSet=none Feature=zzz\nPartitionName=all Nodes=ALL\n"
        'PartitionName=s Nodes=s,n1,n1\nPartitionName=f Nodes=feature{b},n3\nPartitionName=e Nodes=""\n'
    )
    assert {partition.name: partition.nodes for partition in read.partitions} == {
        "all": ("n1", "n2", "n3", "n4", "m1"),
        "s": ("n1", "n2", "n4", "m1"),
        "f": ("n3", "m1"),
        "e": (),
    }
    assert [node_set.nodes for node_set in read.node_sets] == [("n2", "n4", "m1"), ()]
    assert [notice.text for notice in read.notices] == [
        "node set 'none' is empty",
        "partition 'e' has no nodes",
    ]


def test_a_partition_without_further_keys_has_the_defaults_of_slurm():
    (partition,) = conf("NodeName=n1\nPartitionName=p Nodes=n1\n").partitions
    assert (partition.default, partition.state, partition.lln, partition.exclusive_user) == (False, "UP", False, False)
    assert (partition.max_time, partition.default_time, partition.grace_time) == (math.inf, None, 0)
    assert (partition.max_nodes, partition.min_nodes) == (None, 0)
    assert (partition.priority_tier, partition.priority_job_factor) == (1, 1)
    assert partition.allow_accounts is partition.allow_groups is partition.allow_qos is None
    assert (partition.oversubscribe, partition.oversubscribe_jobs, partition.preempt_mode) == ("NO", 1, ())
    assert (partition.def_mem_per_cpu, partition.max_mem_per_node, partition.def_cpu_per_gpu) == (None, None, None)
    assert (partition.qos, partition.alternate, dict(partition.tres_billing_weights)) == ("", "", {})


def test_a_partition_says_what_its_line_and_the_default_lines_say():
    read = conf(
        "NodeName=n1\nPartitionName=DEFAULT MaxTime=72:00:00 DefaultTime=0:30 PriorityTier=5 Nodes=n1\n"
        "PartitionName=p Default=YES MaxNodes=3 MinNodes=2 PriorityJobFactor=7 AllowQOS=a,b DenyAccounts=c State=drain "
        "Shared=force:3 PreemptMode=requeue GraceTime=20 OverTimeLimit=2 DefMemPerCPU=2800 MaxMemPerNode=UNLIMITED "
        'TRESBillingWeights="CPU=1.0,Mem=0.25G,GRES/gpu=2" LLN=YES QOS=q Alternate=q ExclusiveUser=YES ReqResv=YES\n'
        "PartitionName=q Priority=9 AllowGroups=ALL Exclusive=NODE OverSubscribe=YES\n"
        "PartitionName=r OverSubscribe=YES PriorityTier=2 Priority=9\n"
    )
    p, q, r = read.partitions
    assert (p.max_time, p.default_time, p.priority_tier, p.priority_job_factor) == (72 * 3600, 60, 5, 7)
    assert (p.default, p.max_nodes, p.min_nodes, p.state) == (True, 3, 2, "DRAIN")
    assert (p.allow_qos, p.deny_accounts, p.allow_groups) == (("a", "b"), ("c",), None)
    assert (p.oversubscribe, p.oversubscribe_jobs, p.preempt_mode) == ("FORCE", 3, ("REQUEUE",))
    assert (p.grace_time, p.over_time_limit, p.def_mem_per_cpu, p.max_mem_per_node) == (20, 120, 2800, math.inf)
    assert dict(p.tres_billing_weights) == {"cpu": 1.0, "mem": 0.25 / 1024, "gres/gpu": 2.0}
    assert (p.lln, p.qos, p.alternate, p.exclusive_user, p.requires_reservation) == (True, "q", "q", True, True)
    assert (q.priority_tier, q.priority_job_factor, q.oversubscribe) == (9, 9, "EXCLUSIVE")
    assert (r.priority_tier, r.priority_job_factor, r.oversubscribe, r.oversubscribe_jobs) == (9, 9, "YES", 4)


def test_of_two_default_partitions_the_last_one_is_it():
    read = conf("NodeName=n\nPartitionName=a Nodes=n Default=YES\nPartitionName=b Nodes=n Default=YES\n")
    assert [partition.default for partition in read.partitions] == [False, True]
    assert [notice.text for notice in read.notices] == ["'a' is not the default: 'b' is, which comes later"]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("PartitionName=p Nodes=n[1-2]", "there is no node or node set n2"),
        ("PartitionName=p Nodes=n1,,n1", "'n1,,n1' is no host list: look at character 4"),
        ("PartitionName=p Nodes=n1\nPartitionName=p Nodes=n1", "partition 'p' is defined already at slurm.conf:2"),
        ("PartitionName=p Nodes=n1 OverSubscribe=MAYBE", "OverSubscribe is NO, EXCLUSIVE, YES, YES:JOBS, FORCE or"),
        ("PartitionName=p Nodes=n1 Alternate=q", "there is no partition 'q'"),
        ("PartitionName=p Nodes=n1 State=BROKEN", "State: 'BROKEN' is none of UP, DOWN, DRAIN, INACTIVE"),
        ("PartitionName=p Nodes=n1 MaxNodes=many", "MaxNodes: 'many' is no whole number"),
    ],
)
def test_partitions_that_cannot_be_are_refused(line, why):
    (problem,) = problems(f"NodeName=n1\n{line}\n")
    assert problem.partition(": ")[2].startswith(why)


# gres.conf and topology.conf -----------------------------------------------------------


def test_devices_are_counted_by_their_files():
    read = conf(
        "GresTypes=gpu,bw\n" + NODES,
        gres="AutoDetect=off\nNodeName=n[3,1,9] Name=gpu Type=t File=/dev/nvidia[0-3] Cores=0-2,8 Flags=a,b\n"
        "Name=bw Count=20M\nNodeName=n2 Name=gpu MultipleFiles=/dev/a,/dev/b\nNodeName=n4 AutoDetect=nvml\n",
    )
    first, second, third = read.gres
    assert (first.nodes, first.name, first.type, first.count) == (("n1", "n3"), "gpu", "t", 4)
    assert (first.files[-1], first.cores, first.flags) == ("/dev/nvidia3", (0, 1, 2, 8), ("a", "b"))
    assert (second.nodes, second.count, second.files, second.cores) == (None, 20 * 1024**2, (), ())
    assert (third.count, third.files) == (1, ("/dev/a", "/dev/b"))
    assert [str(notice) for notice in read.notices] == [
        "gres.conf:2: n9 not in slurm.conf: passed over",
        "gres.conf:2: select/linear gives a job no node with cores that are near none of the devices that it wants",
    ]


def test_resources_that_are_not_in_gres_types_are_noticed_once():
    text = "GresTypes=gpu\nNodeName=n[1-2] Gres=gpu:1,mic:1\nNodeName=n3 Gres=mic:2\n"
    assert notices(text, gres="Name=nic Count=1\n") == [
        "slurm.conf:4: 'mic' is not in GresTypes: Slurm does not manage it",
        "gres.conf:1: 'nic' is not in GresTypes: Slurm does not manage it",
    ]


def test_a_node_with_fewer_devices_than_its_line_says_is_drained():
    nodes = "GresTypes=gpu\nNodeName=n[1-4] Gres=gpu:a:2,gpu:b:1\n"
    lines = "NodeName=n1 Name=gpu File=/dev/x[0-1]\nNodeName=n2 Name=gpu File=/dev/x[0-2]\nNodeName=n3 Name=gpu Count=9"
    read = conf(nodes, gres=lines)
    assert [node.state for node in read.nodes] == ["DRAIN", "UNKNOWN", "UNKNOWN", "UNKNOWN"]
    (notice,) = [str(notice) for notice in read.notices]
    assert notice == "slurm.conf:4: n1: gres.conf has fewer gpu (2) than this line: Slurm drains such nodes"


def test_several_files_of_one_device_are_one_device():
    text = "GresTypes=gpu\nNodeName=n1 Gres=gpu:2\n"
    assert conf(text, gres="Name=gpu MultipleFiles=/dev/a,/dev/b").nodes[0].state == "DRAIN"
    two = "Name=gpu MultipleFiles=/dev/a,/dev/b\nName=gpu MultipleFiles=/dev/c"
    assert conf(text, gres=two).nodes[0].state == "UNKNOWN"


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("Type=a File=/dev/a", "a line of gres.conf says which resource it is about: Name=..."),
        ("Name=gpu File=/dev/a[0-1] Count=3", "Count=3, but 2 files; leave Count out"),
        ("Name=gpu Count=many", "Count: 'many' is no size; accepted is"),
        ("Name=gpu File=/dev/a[0-", "File: '/dev/a[0-' is no host list"),
        ("Name=gpu Cores=5-3", "Cores: '5-3' is no range of cores"),
        ("Name=gpu Cores=a", "Cores: 'a' is neither a core nor a range such as 0-17"),
        ("Name=gpu Corse=1", "Corse is no key of gres.conf (did you mean 'Cores'?)"),
    ],
)
def test_devices_that_cannot_be_are_refused(line, why):
    (problem,) = problems("GresTypes=gpu", gres=line)
    assert problem.startswith(f"gres.conf:1: {why}")


def test_switches_form_a_tree():
    read = conf(
        NODES + "TopologyPlugin=topology/tree\n",
        topology="SwitchName=s1 Nodes=n[1-3],x1 LinkSpeed=5\nSwitchName=s2 Nodes=m1\nSwitchName=top Switches=s[1-2]\n",
    )
    assert [(switch.name, switch.nodes, switch.switches) for switch in read.topology.switches] == [
        ("s1", ("n1", "n2", "n3"), ()),
        ("s2", ("m1",), ()),
        ("top", (), ("s1", "s2")),
    ]
    assert [str(notice) for notice in read.notices] == [
        "topology.conf:1: x1 not in slurm.conf: passed over",
        "topology.conf:1: nodes on no switch, which no job gets: 1",
    ]


def test_a_topology_that_has_no_file_is_noticed():
    read = conf("TopologyPlugin=topology/tree\n" + NODES)
    assert [str(notice) for notice in read.notices] == [
        "slurm.conf:3: topology/tree has no switch or block in a topology.conf beside this file: nodes are taken as if "
        "all were on one switch (slurmctld does not start without that file)"
    ]
    assert not conf("TopologyPlugin=topology/flat\n" + NODES).notices


def test_a_topology_that_is_not_emulated_is_noticed():
    assert [str(notice) for notice in conf("TopologyPlugin=topology/treee\n" + NODES).notices] == [
        "slurm.conf:3: TopologyPlugin=topology/treee is not emulated (did you mean 'topology/tree'?): nodes are taken "
        "as if all were on one switch"
    ]
    assert [notice.text for notice in conf("TopologyPlugin=topology/3d_torus\n" + NODES).notices] == [
        "TopologyPlugin=topology/3d_torus is not emulated: nodes are taken as if all were on one switch"
    ]
    assert not conf("TopologyPlugin=topology/default\n" + NODES).notices


def test_blocks_are_read_and_an_unused_topology_is_noticed():
    read = conf(NODES, topology="BlockName=b Nodes=n[1-2]\nBlockSizes=2,4\n")
    assert [(switch.name, switch.block, switch.nodes) for switch in read.topology.switches] == [
        ("b", True, ("n1", "n2"))
    ]
    assert [notice.text for notice in read.notices] == ["topology.conf is not used with TopologyPlugin=topology/flat"]


def test_sizes_of_blocks():
    text = NODES + "TopologyPlugin=topology/block\n"
    blocks = "BlockName=a Nodes=n[1-2]\nBlockName=b Nodes=n[3-4],m1\n"
    assert conf(text, topology=blocks + "BlockSizes=4,2\n").topology.block_sizes == (2, 4)
    assert conf(text, topology=blocks).topology.block_sizes == (2, 4)
    assert problems(text, topology=blocks + "BlockSizes=3\n") == [
        "topology.conf:3: the smallest block has 2 nodes, fewer than the smallest of BlockSizes"
    ]
    assert problems(text, topology=blocks + "BlockSizes=2,6\n") == [
        "topology.conf:3: each of BlockSizes is 2 times a power of two; 6 is not"
    ]
    assert problems(text, topology=blocks + "BlockName=c Nodes=n[4-5]\n") == [
        "topology.conf:3: n4 is in block 'b' already"
    ]
    assert "BlockSizes are numbers" in problems(text, topology=blocks + "BlockSizes=two\n")[0]
    weighted = text.replace("NodeName=m1", "NodeName=m1 Weight=7")
    assert weighted != text
    assert any("Weight of nodes has no effect" in notice for notice in notices(weighted, topology=blocks))
    assert not any("Weight" in notice for notice in notices(text, topology=blocks))


IN_YAML = """
- topology: racks
  cluster_default: false
  block: {block_sizes: [2, 4], blocks: [{block: a, nodes: "n[1-2]"}, {block: b, nodes: "n[3-4]"}]}
- topology: wires
  cluster_default: true
  tree:
    switches:
    - {switch: s1, nodes: "n[1-4]"}
    - {switch: top, children: s1}
"""


def test_of_the_topologies_of_a_file_the_default_is_read_and_from_25_05_on_it_counts():
    text = NODES + "TopologyPlugin=topology/block\n"
    read = conf(text, topology="BlockName=c Nodes=n[1-4]\n", topology_yaml=IN_YAML)
    assert read.topology.plugin == "topology/tree"
    assert [(one.name, one.nodes, one.switches) for one in read.topology.switches] == [
        ("s1", ("n1", "n2", "n3", "n4"), ()),
        ("top", (), ("s1",)),
    ]
    assert read.under("24.11").topology.plugin == "topology/block"
    assert [one.name for one in read.under("24.11").topology.switches] == ["c"]
    assert [(one.name, one.plugin) for one in read.named_topologies] == [
        ("wires", "topology/tree"),
        ("racks", "topology/block"),
    ]
    assert not read.under("24.11").named_topologies
    swapped = IN_YAML.replace("true", "no").replace("false", "true")
    assert conf(text, topology_yaml=swapped).topology.block_sizes == (2, 4)


def test_a_partition_names_a_topology_that_there_is():
    text = NODES + "PartitionName=racks Nodes=n[1-4] Topology="
    assert conf(text + "racks\n", topology_yaml=IN_YAML).partition["racks"].topology == "racks"
    (problem,) = problems(text + "rack\n", topology_yaml=IN_YAML)
    assert "there is no topology 'rack'; topology.yaml has wires, racks" in problem
    (problem,) = problems(text + "racks\n")
    assert "there is no topology 'racks': there is no topology.yaml" in problem


def test_a_kind_of_topology_that_is_not_emulated_is_named():
    ring = "- topology: t\n  cluster_default: true\n  ring: {rings: []}\n"
    assert "topology.yaml:3: ring is not emulated: nodes are taken as if all were on one switch" in notices(
        NODES, topology_yaml=ring
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[", "is not YAML"),
        ("a: b", "1: is no list"),
        ("[]", "1: there is no topology in it"),
        ("- x", "1: is no mapping"),
        ("- topology: t", "1: a topology is one of tree, block, flat"),
        ("- flat: true", "a topology needs a name"),
        ("- topology: t\n  tre: {}", "2: there is no key 'tre' (did you mean 'tree'?)"),
        ("- topology: t\n  tree: {switches: 3}", "2: is no list"),
        ("- topology: t\n  block: {blocks: [{block: [a], nodes: n1}]}", "2: block is a text"),
        ("- topology: t\n  block: {blocks: [{block: a, nodes: n1}], block_sizes: [2]}", "2: the smallest block has 1"),
        ("- topology: t\n  block: {blocks: [{block: a, nodes: n1}], block_sizes: [{}]}", "2: BlockSizes are numbers"),
    ],
)
def test_a_topology_in_yaml_that_cannot_be_is_refused(text, why):
    assert any(why in problem for problem in problems(NODES, topology_yaml=text))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("Nodes=n1", "1: a line of topology.conf begins with SwitchName= or BlockName="),
        ("SwitchName=s", "1: 's' has neither Nodes nor Switches"),
        ("SwitchName=s Nodes=n1\nSwitchName=s Nodes=n2", "2: 's' is defined already at topology.conf:1"),
        ("SwitchName=sw1 Nodes=n1\nSwitchName=t Switches=sw1,sw3", "2: there is no switch 'sw3' (did you mean 'sw1'?)"),
        ("SwitchName=s Switches=s", "1: switch 's' is below itself"),
        ("SwitchName=s Nodes=n[1", "1: Nodes: 'n[1' is no host list"),
    ],
)
def test_switches_that_cannot_be_are_refused(text, why):
    assert problems(NODES, topology=text)[0].startswith(f"topology.conf:{why}")


def test_a_circle_of_switches_is_found_wherever_it_begins():
    chain = "".join(f"SwitchName=s{number} Switches=s{number + 1}\n" for number in range(50))
    assert problems(NODES, topology=chain + "SwitchName=s50 Switches=s25\n") == [
        f"topology.conf:{line}: switch 's{line - 1}' is below itself" for line in range(26, 52)
    ]


# Robustness ----------------------------------------------------------------------------

KEYS = st.sampled_from(["NodeName", "PartitionName", "Nodes", "NodeSet", "DownNodes", "CPUs", "Sockets", "Gres"])
OTHERS = st.sampled_from(
    ["SchedulerParameters", "MaxTime", "State", "SwitchName", "Switches", "Name", "File", "Feature"]
)
VALUES = st.sampled_from(["n[1-3]", "n2,n3", "DEFAULT", "ALL", "gpu:2", "bf_window=3", "1-2:3", "UP", "s", "{{", "0"])
PAIRS = st.tuples(KEYS | OTHERS, VALUES).map("=".join)
MARKS = st.sampled_from([" ", "\n", "\n", "\\\n", "#", '"', "[", ",", "=", "\nInclude ", "\x00", "é"])
YAML_WORDS = st.sampled_from(
    [
        *("- topology: t\n", "  cluster_default: true\n", "  tree: ", "  block: ", "{switches: [", "{blocks: ["),
        *("{block: a, ", "nodes: n1}", "]}", "block_sizes: [2, x]", "switch: s, ", "{", ", ", "children: s}", "\n"),
    ]
)
YAML_TEXTS = st.lists(YAML_WORDS, max_size=12).map("".join)
TEXTS = st.lists(PAIRS | MARKS | st.text(max_size=4), max_size=25).map("".join)


@pytest.mark.slow
@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow])
@given(TEXTS, TEXTS, TEXTS, st.text(max_size=40) | YAML_TEXTS)
def test_any_text_is_read_or_refused(text, gres, topology, in_yaml):
    told = ""
    try:
        read = parse_slurm_conf(text, gres=gres, topology=topology, topology_yaml=in_yaml)
        assert all(name in read.node for partition in read.partitions for name in partition.nodes)
    except InputError as error:
        told = str(error)
    assert len(told.splitlines()) <= MOST_LINES


@pytest.mark.slow
def test_a_large_configuration_reads_quickly():
    lines = [
        f"NodeName=node{number:05} CPUs=128 Sockets=2 CoresPerSocket=64 ThreadsPerCore=1 RealMemory=512000 "
        f"Gres=gpu:a100:4 Features=a,b,rack{number // 40} Weight={number % 7} State=UNKNOWN"
        for number in range(10000)
    ]
    partitions = [f"PartitionName=p{number} Nodes=node[00000-09999]" for number in range(5)]
    text = "\n".join([STATED, "GresTypes=gpu", *lines, *partitions])
    begin = time.process_time()
    read = parse_slurm_conf(text)
    # It takes half a second; what is guarded against is a quadratic reader.
    assert time.process_time() - begin < 5
    assert len(read.nodes) == 10000
    assert read.partitions[0].nodes == tuple(node.name for node in read.nodes)


def test_a_default_time_beyond_max_time_has_no_effect() -> None:
    text = "NodeName=n1\nPartitionName=DEFAULT DefaultTime=10 Nodes=n1\n"
    text += "PartitionName=short MaxTime=2\nPartitionName=long MaxTime=10\n"
    conf = parse_slurm_conf(text)
    assert [one.default_time for one in conf.partitions] == [None, 600]
    assert any("in partition short, whose MaxTime is less" in str(one) for one in conf.notices)


def test_of_two_options_of_one_name_the_first_counts():
    """As in a daemon of 22.05: it looks for the name in the text."""
    conf = parse_slurm_conf(
        "SchedulerParameters=default_queue_depth=256,bf_continue,default_queue_depth=5,bf_continue\n"
        "NodeName=n1\nPartitionName=p Nodes=n1\n"
    )
    assert conf.parameters.count("SchedulerParameters.default_queue_depth") == 256
    texts = [notice.text for notice in conf.notices]
    assert [text for text in texts if "again" in text] == [
        "default_queue_depth=5 is stated again: the first one counts, 256"
    ]


def test_no_file_outside_the_folder_is_looked_for_as_the_copy_of_an_absolute_include(tmp_path):
    site = tmp_path / "site"
    (site / "slurm").mkdir(parents=True)
    (tmp_path / "more.conf").write_text("KillWait=5\n")
    (site / "more.conf").write_text("KillWait=7\n")
    (site / "slurm.conf").write_text(STATED + "Include /etc/slurm/../../more.conf\n")
    assert read_slurm_conf(site).parameters.amount("KillWait") == 7


def test_an_absolute_include_is_read_from_the_folder_that_was_copied(folder):
    path = folder(
        slurm_conf=STATED + "Include /etc/slurm/parts/x.conf\nInclude /etc/slurm/y.conf\n", y_conf="KillWait=5\n"
    )
    (path / "parts").mkdir()
    (path / "parts" / "x.conf").write_text("MessageTimeout=7\n")
    read = read_slurm_conf(path)
    assert (read.parameters.amount("MessageTimeout"), read.parameters.amount("KillWait")) == (7, 5)
    assert [notice.text for notice in read.notices[:2]] == [
        f"'/etc/slurm/parts/x.conf': {path}/parts/x.conf is read in its place",
        f"'/etc/slurm/y.conf': {path}/y.conf is read in its place",
    ]


def test_of_two_names_of_one_thing_slurm_takes_the_first_it_looks_for():
    # Asked of 22.05, 24.11 and 26.05 with scontrol show node and partition.
    read = conf(
        "NodeName=DEFAULT SocketsPerBoard=4 CPUs=8\nNodeName=a Sockets=2 CoresPerSocket=2\n"
        "NodeName=DEFAULT SocketsPerBoard=2 CoresPerSocket=4\nNodeName=b Procs=4\n"
        "NodeName=c CPUs=8 Procs=4 Feature=x Features=y\n"
        'PartitionName=DEFAULT Nodes="a b,c" OverSubscribe=NO PriorityTier=5 DefMemPerNode=100\n'
        "PartitionName=p Shared=FORCE:3 DefMemPerCPU=50\nPartitionName=q Priority=9 PriorityTier=7\n"
    )
    assert [(node.cpus, node.sockets, node.features) for node in read.nodes] == [(8, 4, ()), (8, 2, ()), (8, 2, ("x",))]
    p, q = read.partitions
    assert (p.nodes, p.oversubscribe, p.priority_tier) == (("a", "b", "c"), "NO", 5)
    assert (p.def_mem_per_cpu, p.def_mem_per_node) == (None, 100)
    assert (q.priority_tier, q.priority_job_factor) == (9, 9)
    said = [notice.text for notice in read.notices]
    assert "Procs=4 has no effect: CPUs=8 counts" in said
    assert "Shared=FORCE:3 has no effect: OverSubscribe=NO (slurm.conf:8) counts" in said


def test_slurm_does_not_look_for_some_keys_in_default_lines_of_partitions():
    # Asked of the three versions.
    (partition,) = conf(
        "NodeName=n\nPartitionName=DEFAULT Nodes=n ExclusiveUser=YES SuspendTime=77 PowerDownOnIdle=YES LLN=YES\n"
        "PartitionName=p\n"
    ).partitions
    assert (partition.exclusive_user, partition.lln) == (False, True)
    assert not {"SuspendTime", "PowerDownOnIdle"} & set(partition.settings)


def test_one_notice_says_what_many_lines_have():
    lines = "".join(f"NodeName=n{number} CPUs=4 Procs=2\n" for number in range(9))
    assert notices(lines) == ["slurm.conf:3: Procs=2 has no effect: CPUs=4 counts (so in 8 more lines)"]


def test_keys_that_no_version_starts_with_are_named_at_once():
    assert notices("FastSchedule=0\nSchedulerPort=7\nNodeName=n TRESWeights=cpu=1\n") == [
        "slurm.conf:3: slurmctld of 22.05 and later does not start with FastSchedule, SchedulerPort: "
        "gone from Slurm, ignored here"
    ]


def test_a_key_is_named_with_which_only_some_values_stop_slurm():
    assert notices("FastSchedule=1\nNodeName=n\n") == []
    (said,) = notices("FastSchedule=2\nSrunIOTimeout=1\nNodeName=n\n")
    assert "FastSchedule, SrunIOTimeout" in said or "SrunIOTimeout, FastSchedule" in said


def test_a_configuration_whose_nodes_are_elsewhere_says_so_and_nothing_of_power():
    said = notices("SuspendTime=600\nSuspendProgram=/a\nResumeProgram=/b\nInclude nodes.conf\n")
    assert said[1:] == [
        "slurm.conf:1: there is no NodeName line, so no job can run: are all files that it includes in its folder?"
    ]


def test_who_is_denied_does_not_matter_where_somebody_is_allowed():
    text = "NodeName=n\nPartitionName=p Nodes=n AllowAccounts=a DenyAccounts=b AllowQos=ALL DenyQos=c\n"
    assert notices(text) == ["slurm.conf:4: DenyAccounts has no effect: AllowAccounts counts"]


@pytest.mark.parametrize("name", ["gres.conf", "topology.conf", "topology.yaml"])
def test_what_lies_beside_and_is_no_file_is_not_passed_over(tmp_path: Path, name: str) -> None:
    (tmp_path / "slurm.conf").write_text("NodeName=n1\nPartitionName=p Nodes=n1\n")
    (tmp_path / name).mkdir()
    with pytest.raises(InputError, match=f"{name}: cannot be read: Is a directory"):
        read_slurm_conf(tmp_path / "slurm.conf")
