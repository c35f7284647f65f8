"""Files that say which blocks a partitioned machine has: Blue Gene's XML, or TOML of one's own.

The XML is what Cobalt keeps of a Blue Gene: a ``Partition`` with a name for each block, in
it a ``NodeCard`` for each node card, such as ``R0B-M0-N05`` (rack, midplane, card), and a
``Switch`` for each switch that the block's cables use. XML can make a small file huge or
read other files; no declaration of a document type or of an entity is accepted.

The TOML names the machine and its blocks::

    midplanes = 4                # or a list of names
    nodes_per_midplane = 512     # the default

    [[block]]
    name = "half"
    midplanes = "0-1"            # numbers from 0 on, or a list of numbers or names
"""

from __future__ import annotations

import gzip
import io
import os
import re
import tomllib
import zlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from slurm_sim_plugins.blocks import MIDPLANE, Blocks
from slurm_sim_plugins.errors import ConfigurationError, InputError
from slurm_sim_plugins.processors import from_words, numbers

GZIP_MAGIC = b"\x1f\x8b"
LARGEST_FILE = 1 << 26
"""Bytes, unpacked. Mira's file has 1.5 million; more than this is no list of blocks."""
LARGEST_MACHINE = 1 << 16
"""Midplanes; more is a mistake, and would take minutes to lay out."""
CARD = re.compile(r"(?P<midplane>[^\s/]{1,64})-(?P<card>N\d{1,4})")
KEYS = {"file": {"midplanes", "nodes_per_midplane", "block"}, "block": {"name", "midplanes"}}


def read_blocks(path: str | os.PathLike[str], *, nodes: int = MIDPLANE, wires: bool = False) -> Blocks:
    """Read the blocks of a machine, plain or compressed with gzip; XML and TOML are told apart by content.

    Args:
        path: the file.
        nodes: of one midplane, for XML, which does not say it.
        wires: whether blocks whose cables use the same switch count as overlapping; only
            XML knows. The paper on real-time jobs has midplanes alone.

    Raises:
        InputError: a file that cannot be read, or that holds no usable blocks; the message
            names the file and, in XML, the line.
        ConfigurationError: wires are wanted of a file that has none.
    """
    file = os.fspath(path)
    data = _data(file)
    if data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
        return _blocks_of_xml(file, data, nodes, wires)
    if wires:
        raise ConfigurationError(f"{file}: blocks in TOML have no wires; leave wires off")
    return _blocks_of_toml(file, data)


def _data(file: str) -> bytes:
    try:
        if Path(file).exists() and not Path(file).is_file():
            raise ValueError("it is no regular file")
        data = Path(file).read_bytes()
        if data.startswith(GZIP_MAGIC):
            with gzip.GzipFile(fileobj=io.BytesIO(data)) as packed:
                data = packed.read(LARGEST_FILE + 1)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InputError(f"{file}: the gzip data is incomplete or damaged ({error}); get the file again") from error
    except (OSError, ValueError) as error:
        raise InputError(f"{file}: cannot be read: {getattr(error, 'strerror', None) or error}") from error
    if len(data) > LARGEST_FILE:
        raise InputError(f"{file}: more than {LARGEST_FILE:,} bytes are no list of blocks; is it the right file?")
    return data


# XML ----------------------------------------------------------------------------------


@dataclass
class _Partition:
    """A block as the XML has it."""

    name: str
    line: int
    cards: dict[str, set[str]] = field(default_factory=dict)
    switches: set[str] = field(default_factory=set)


class _XmlReader:
    """Collects partitions while the parser runs."""

    def __init__(self, file: str) -> None:
        self.partitions: list[_Partition] = []
        self._file = file
        self._line_of: dict[str, int] = {}
        self._current: _Partition | None = None
        self._parser = expat.ParserCreate()
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.StartDoctypeDeclHandler = self._refuse
        self._parser.EntityDeclHandler = self._refuse

    def read(self, data: bytes) -> list[_Partition]:
        try:
            self._parser.Parse(data, True)
        except expat.ExpatError as error:
            raise InputError(f"{self._file}:{error.lineno}: the file is not XML: {error}") from error
        except (LookupError, ValueError) as error:
            raise InputError(f"{self._file}:1: the file is not XML: {error}") from error
        if not self.partitions:
            raise InputError(f"{self._file}: the file holds no Partition; is it a list of blocks?")
        return self.partitions

    def _start(self, tag: str, given: Mapping[str, str]) -> None:
        if tag == "Partition":
            self._open(given.get("name", ""))
        elif tag in ("NodeCard", "Switch"):
            if self._current is None:
                raise self._problem(f"a {tag} stands in no Partition")
            self._take(self._current, tag, given.get("id", ""))

    def _end(self, tag: str) -> None:
        if tag == "Partition":
            self._current = None

    def _open(self, name: str) -> None:
        if self._current is not None:
            raise self._problem(f"a Partition stands in the Partition {self._current.name!r}")
        if not name:
            raise self._problem("a Partition has no name")
        if name in self._line_of:
            raise self._problem(f"block {name!r} stands already in line {self._line_of[name]}; rename one")
        self._line_of[name] = self._parser.CurrentLineNumber
        self._current = _Partition(name, self._parser.CurrentLineNumber)
        self.partitions.append(self._current)

    def _take(self, partition: _Partition, tag: str, name: str) -> None:
        if tag == "Switch":
            partition.switches.add(name)
            return
        card = CARD.fullmatch(name)
        if card is None:
            raise self._problem(f"the NodeCard {name[:40]!r} is not written like R0B-M0-N05")
        cards = partition.cards.setdefault(card["midplane"], set())
        if card["card"] in cards:
            raise self._problem(f"block {partition.name!r} has the NodeCard {name!r} twice")
        cards.add(card["card"])

    def _refuse(self, *_: object) -> None:
        raise self._problem("the file declares a document type or an entity, which a list of blocks does not need")

    def _problem(self, what: str) -> InputError:
        return InputError(f"{self._file}:{self._parser.CurrentLineNumber}: {what}")


def _blocks_of_xml(file: str, data: bytes, nodes: int, wires: bool) -> Blocks:
    partitions = _XmlReader(file).read(data)
    _refuse_parts(file, partitions)
    midplanes = sorted({name for each in partitions for name in each.cards})
    number = {name: index for index, name in enumerate(midplanes)}
    switches = sorted({name for each in partitions for name in each.switches})
    wire = {name: index for index, name in enumerate(switches)}
    try:
        return Blocks(
            midplanes,
            [(each.name, sorted(number[name] for name in each.cards)) for each in partitions],
            nodes=nodes,
            wires=[sorted(wire[name] for name in each.switches) for each in partitions] if wires else None,
        )
    except ConfigurationError as error:
        raise InputError(f"{file}: {error}") from error


def _refuse_parts(file: str, partitions: list[_Partition]) -> None:
    """Refuse blocks without a node card, and those that have a midplane but for some of its cards."""
    whole: dict[str, set[str]] = {}
    for each in partitions:
        for midplane, cards in each.cards.items():
            whole.setdefault(midplane, set()).update(cards)
    usual = Counter(map(len, whole.values())).most_common(1)[0][0] if whole else 0
    for each in partitions:
        if not each.cards:
            raise InputError(f"{file}:{each.line}: block {each.name!r} has no NodeCard; give it some or leave it out")
        for midplane, cards in each.cards.items():
            every = max(len(whole[midplane]), usual)
            if len(cards) < every:
                raise InputError(
                    f"{file}:{each.line}: block {each.name!r} has a hole: {len(cards)} of the {every} node cards "
                    f"of midplane {midplane}; only blocks of whole midplanes can be used"
                )


# TOML ---------------------------------------------------------------------------------


def _blocks_of_toml(file: str, data: bytes) -> Blocks:
    try:
        table = tomllib.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(f"{file}:{line}: the line is not text in UTF-8; is it a list of blocks?") from error
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(f"{file}: the file is neither XML nor TOML: {error}") from error
    try:
        _check_keys("the file", table, KEYS["file"])
        midplanes = _machine(table.get("midplanes"))
        number = {name: index for index, name in enumerate(midplanes)} if isinstance(midplanes, list) else {}
        nodes = table.get("nodes_per_midplane", MIDPLANE)
        if not isinstance(nodes, int) or isinstance(nodes, bool):
            raise ConfigurationError(f"nodes_per_midplane is {nodes!r}; give a whole number")
        tables = table.get("block", [])
        if not isinstance(tables, list):
            raise ConfigurationError("write each block as a table [[block]]")
        return Blocks(midplanes, [_block(index, each, number) for index, each in enumerate(tables, 1)], nodes=nodes)
    except ConfigurationError as error:
        raise InputError(f"{file}: {error}") from error


def _check_keys(what: str, table: Mapping[str, object], known: set[str]) -> None:
    unknown = sorted(set(table) - known)
    if unknown:
        raise ConfigurationError(f"{what} has the key {unknown[0]!r}; keys are {', '.join(sorted(known))}")


def _machine(given: object) -> int | list[str]:
    if isinstance(given, int) and not isinstance(given, bool) and 1 <= given <= LARGEST_MACHINE:
        return given
    if isinstance(given, list) and all(isinstance(name, str) for name in given) and len(given) <= LARGEST_MACHINE:
        return given
    raise ConfigurationError(
        f"midplanes is {given!r}; give how many there are, up to {LARGEST_MACHINE}, or their names"
    )


def _block(index: int, table: object, number: Mapping[str, int]) -> tuple[str, list[int]]:
    if not isinstance(table, dict):
        raise ConfigurationError("write each block as a table [[block]]")
    name = table.get("name")
    if not isinstance(name, str) or not name:
        raise ConfigurationError(f"[[block]] number {index} has no name; give it one in quotes")
    _check_keys(f"block {name!r}", table, KEYS["block"])
    given = table.get("midplanes")
    if isinstance(given, str):
        return name, _span(name, given)
    if isinstance(given, list):
        return name, [_midplane(name, each, number) for each in given]
    raise ConfigurationError(f'block {name!r}: midplanes is {given!r}; write "0-3,8" or a list of numbers or names')


def _span(name: str, text: str) -> list[int]:
    wrong = ConfigurationError(f'block {name!r}: midplanes is {text[:40]!r}; write it like "0-3,8"')
    if not re.fullmatch(r"(\d{1,5}(-\d{1,5})?)(,\d{1,5}(-\d{1,5})?)*|", text.replace(" ", "")):
        raise wrong
    try:
        return numbers(from_words(text.replace(" ", "")))
    except ValueError:
        raise wrong from None


def _midplane(name: str, given: object, number: Mapping[str, int]) -> int:
    if isinstance(given, int) and not isinstance(given, bool):
        return given
    if isinstance(given, str) and given in number:
        return number[given]
    raise ConfigurationError(f"block {name!r} has midplane {given!r}, which the machine does not have")
