"""Blocks of a partitioned machine, and the files that say which there are."""

from __future__ import annotations

import gzip
import pickle
from pathlib import Path

import pytest

from slurm_sim_plugins import ConfigurationError, InputError
from slurm_sim_plugins import blockfiles as files
from slurm_sim_plugins.blockfiles import read_blocks
from slurm_sim_plugins.blocks import MIRA_SIZES, Blocks, aligned, doubling_sizes

SMALL = Blocks(4, [("all", range(4)), ("left", [0, 1]), ("right", [2, 3]), ("middle", [1, 2]), ("0", [0])], nodes=10)
OWN = """
midplanes = 4
[[block]]
name = "half"
midplanes = "0-1"
[[block]]
name = "rest"
midplanes = [2, 3]
"""


def test_the_aligned_hierarchy_of_mira_has_the_counts_of_the_paper() -> None:
    blocks = aligned()
    assert {size: len(of) for size, of in blocks.by_size.items()} == dict(
        zip(MIRA_SIZES, (96, 48, 24, 12, 6, 4, 3, 2, 2, 1), strict=True)
    )
    assert (blocks.machine, blocks.largest, len(blocks)) == (49152, 49152, 198)
    first, second = blocks.by_size[32768]
    assert (blocks.masks[first], blocks.masks[second]) == ((1 << 64) - 1, ((1 << 64) - 1) << 32)
    assert blocks.names[first] == "32768-00" and blocks.names[second] == "32768-32"


@pytest.mark.parametrize(
    ("nodes", "size"), [(1, 512), (512, 512), (513, 1024), (4097, 8192), (8193, 12288), (32769, 49152), (49152, 49152)]
)
def test_a_job_gets_the_smallest_size_that_holds_it(nodes: int, size: int) -> None:
    blocks = aligned()
    assert blocks.size_for(nodes) == size
    assert {blocks.sizes[block] for block in blocks.blocks_for(nodes)} == {size}


@pytest.mark.parametrize("nodes", [0, 49153])
def test_a_job_that_no_block_holds_is_refused(nodes: int) -> None:
    with pytest.raises(ConfigurationError, match=f"no block is for a job of {nodes} nodes: they hold 1 to 49152"):
        aligned().blocks_for(nodes)


def test_the_first_free_block_is_the_one_of_the_lowest_index() -> None:
    assert SMALL.first_free(20, 0) == 1
    assert SMALL.first_free(20, SMALL.takes[4]) == 2
    assert SMALL.first_free(20, SMALL.takes[3]) is None
    assert SMALL.first_free(5, SMALL.takes[2]) == 4


def test_children_are_smaller_and_parents_larger() -> None:
    assert SMALL.children(0) == [1, 2, 3, 4]
    assert SMALL.children(1) == [4]
    assert SMALL.parents(4) == [0, 1]
    assert SMALL.parents(3) == [0]
    assert SMALL.overlap(1, 3) and not SMALL.overlap(1, 2)
    assert SMALL.find("middle") == 3
    with pytest.raises(ConfigurationError, match="no block is called 'top'"):
        SMALL.find("top")


def test_blocks_that_need_the_same_wire_overlap() -> None:
    blocks = Blocks(2, [("a", [0]), ("b", [1])], wires=[[3], [3]])
    assert blocks.overlap(0, 1)
    assert blocks.children(0) == []
    assert blocks.first_free(1, blocks.takes[0]) is None
    with pytest.raises(ConfigurationError, match="wires are given for 1 blocks of 2"):
        Blocks(2, [("a", [0]), ("b", [1])], wires=[[3]])


@pytest.mark.parametrize("blocks", [SMALL, Blocks(2, [("a", [0]), ("b", [1])], wires=[[3], [0, 3]])])
def test_blocks_do_not_change_and_travel_between_processes(blocks: Blocks) -> None:
    with pytest.raises(AttributeError, match="blocks do not change"):
        blocks.nodes = 7
    with pytest.raises(TypeError):
        blocks.by_size[10] = ()  # type: ignore[index]
    again = pickle.loads(pickle.dumps(blocks))
    names = ("midplanes", "nodes", "names", "sizes", "masks", "takes", "overlaps", "by_size")
    assert all(getattr(again, name) == getattr(blocks, name) for name in names)


@pytest.mark.parametrize(
    ("midplanes", "blocks", "told"),
    [
        (2, [("a", [0])], "the blocks leave a hole: midplane 1 stands in none"),
        (9, [("a", [0])], "midplane 1, 2, 3, 4, 5, ... stands in none"),
        (2, [("a", [0, 1]), ("a", [0])], "two blocks are called 'a'"),
        (2, [("", [0, 1])], "a block has no name"),
        (2, [("a", [])], "block 'a' has no midplane"),
        (2, [("a", [0, 1, 2])], "block 'a' has midplane 2, which the machine does not have: its 2 midplanes are 0-1"),
        (2, [("a", [-1])], "block 'a' has midplane -1"),
        (2, [], "there is no block"),
        (0, [], "the machine has no midplane"),
        (["M", "M"], [("a", [0, 1])], "two midplanes are called 'M'"),
    ],
)
def test_blocks_that_are_none(midplanes: int | list[str], blocks: list[tuple[str, list[int]]], told: str) -> None:
    with pytest.raises(ConfigurationError, match=told.replace("(", r"\(")):
        Blocks(midplanes, blocks)


@pytest.mark.parametrize("size", [0, 500, 2560, -512])
def test_a_size_that_cannot_be_built_is_refused(size: int) -> None:
    with pytest.raises(ConfigurationError, match=f"a block of {size} nodes cannot be built of 4 midplanes"):
        aligned(4, [512, size])


def test_sizes_double_up_to_the_machine() -> None:
    assert doubling_sizes(6, nodes=10) == (10, 20, 40, 60)
    assert doubling_sizes(1) == (512,)
    assert len(aligned(6, doubling_sizes(6))) == 6 + 3 + 2 + 1


def test_the_blocks_of_mira(traces: Path) -> None:
    file = traces / "alcf" / "mira_partitions.xml.gz"
    blocks = read_blocks(file)
    assert (len(blocks), len(blocks.midplanes), blocks.machine) == (294, 96, 49152)
    assert [len(of) for of in blocks.by_size.values()] == [96, 96, 27, 33, 9, 12, 10, 3, 7, 1]
    assert tuple(blocks.by_size) == MIRA_SIZES
    assert all(int(name.rpartition("-")[2]) == size for name, size in zip(blocks.names, blocks.sizes, strict=True))
    wired = read_blocks(file, wires=True)
    assert wired.masks == blocks.masks
    assert all(own & ~more == 0 for own, more in zip(blocks.overlaps, wired.overlaps, strict=True))
    assert wired.overlaps != blocks.overlaps


# Files of one's own -------------------------------------------------------------------


def written(folder: Path, text: str | bytes) -> Path:
    path = folder / "blocks"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def xml(*partitions: str) -> str:
    return "<BG>\n<PartitionList>\n" + "\n".join(partitions) + "\n</PartitionList>\n</BG>\n"


def partition(name: str, *cards: str, switches: tuple[str, ...] = ()) -> str:
    inside = "".join(f"<NodeCard id='{card}'/>" for card in cards)
    return f"<Partition name='{name}'>{inside}{''.join(f'<Switch id={each!r}/>' for each in switches)}</Partition>"


def test_blocks_of_ones_own(tmp_path: Path) -> None:
    blocks = read_blocks(written(tmp_path, OWN))
    assert (blocks.names, blocks.sizes, blocks.masks) == (("half", "rest"), (1024, 1024), (3, 12))
    named = 'midplanes = ["u", "v"]\nnodes_per_midplane = 4\n[[block]]\nname = "b"\nmidplanes = ["v", "u"]\n'
    assert read_blocks(written(tmp_path, gzip.compress(named.encode(), mtime=0))).machine == 8


def test_blocks_in_xml(tmp_path: Path) -> None:
    text = xml(partition("a", "R0-M1-N00", switches=("S",)), partition("b", "R0-M0-N00", switches=("S",)))
    path = written(tmp_path, text)
    blocks = read_blocks(path, nodes=32)
    assert (blocks.names, blocks.midplanes, blocks.masks) == (("a", "b"), ("R0-M0", "R0-M1"), (2, 1))
    assert (blocks.machine, blocks.overlap(0, 1)) == (64, False)
    assert read_blocks(path, wires=True).overlap(0, 1)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("<BG><Partition name='a'>", ":1: the file is not XML: "),
        ("<BG/>", ": the file holds no Partition"),
        ("<!DOCTYPE BG><BG/>", ":1: the file declares a document type or an entity"),
        ('<!DOCTYPE a [<!ENTITY e "x">]>\n<BG/>', ":1: the file declares a document type or an entity"),
        (xml("<NodeCard id='R0-M0-N00'/>"), ":3: a NodeCard stands in no Partition"),
        (xml("<Partition/>"), ":3: a Partition has no name"),
        (xml("<Partition name='a'><Partition name='b'/></Partition>"), ":3: a Partition stands in the Partition 'a'"),
        (xml(partition("a", "R0-M0-N00"), partition("a", "R0-M0-N00")), ":4: block 'a' stands already in line 3"),
        (xml(partition("a", "R0/M0")), ":3: the NodeCard 'R0/M0' is not written like R0B-M0-N05"),
        (xml(partition("a", "R0-M0-N00", "R0-M0-N00")), ":3: block 'a' has the NodeCard 'R0-M0-N00' twice"),
        (xml(partition("a", "R0-M0-N00"), partition("b")), ":4: block 'b' has no NodeCard"),
        (
            xml(partition("a", "R0-M0-N00", "R0-M0-N01"), partition("b", "R0-M0-N01")),
            ":4: block 'b' has a hole: 1 of the 2 node cards of midplane R0-M0",
        ),
        ("midplanes = 4\n[[block]]\nname = 'a'\nmidplanes = '0-2'\n", ": the blocks leave a hole: midplane 3 stands"),
        (OWN + "[[block]]\nname = 'half'\nmidplanes = '0'", ": two blocks are called 'half'"),
        (OWN + "[[block]]\nname = 'more'\nmidplanes = '4'", ": block 'more' has midplane 4, which the machine does"),
        (OWN + "[[block]]\nname = 'more'\nmidplanes = '3-2'", ": block 'more': midplanes is '3-2'; write it like"),
        (OWN + "[[block]]\nname = 'more'\nmidplanes = 'x'", ": block 'more': midplanes is 'x'; write it like"),
        (OWN + "[[block]]\nname = 'more'\nmidplanes = ''", ": block 'more' has no midplane"),
        (OWN + "[[block]]\nname = 'more'\nmidplanes = ['R0']", ": block 'more' has midplane 'R0', which the machine"),
        (OWN + "[[block]]\nname = 'more'\nmidplanes = 3", ": block 'more': midplanes is 3; write"),
        (OWN + "[[block]]\nname = 'more'\nsize = 3", ": block 'more' has the key 'size'; keys are midplanes, name"),
        (OWN + "[[block]]\n", ": [[block]] number 3 has no name"),
        ("midplanes = 4\nblock = 3", ": write each block as a table"),
        ("midplanes = 4\nblock = [3]", ": write each block as a table"),
        (
            "midplanes = 4\nblocks = []",
            ": the file has the key 'blocks'; keys are block, midplanes, nodes_per_midplane",
        ),
        ("midplanes = 4", ": there is no block"),
        ("midplanes = 1_000_000_000", ": midplanes is 1000000000; give how many there are, up to 65536"),
        ("midplanes = true", ": midplanes is True"),
        ("midplanes = 1\nnodes_per_midplane = 0\n[[block]]\nname='a'\nmidplanes='0'", ": a midplane has 0 nodes"),
        ("midplanes = 1\nnodes_per_midplane = 'x'", ": nodes_per_midplane is 'x'; give a whole number"),
        ("midplanes =", ": the file is neither XML nor TOML: "),
        (b"a = 1\n\xff", ":2: the line is not text in UTF-8"),
        (gzip.compress(OWN.encode(), mtime=0)[:-4], ": the gzip data is incomplete or damaged"),
    ],
)
def test_files_with_no_usable_blocks(tmp_path: Path, text: str | bytes, told: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(InputError) as caught:
        read_blocks(path)
    assert str(caught.value).startswith(f"{path}{told}")


def test_files_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"nowhere: cannot be read: No such file"):
        read_blocks("nowhere")
    with pytest.raises(ConfigurationError, match="blocks in TOML have no wires"):
        read_blocks(written(tmp_path, OWN), wires=True)
    monkeypatch.setattr(files, "LARGEST_FILE", 20)
    with pytest.raises(InputError, match="more than 20 bytes are no list of blocks"):
        read_blocks(written(tmp_path, gzip.compress(OWN.encode(), mtime=0)))
