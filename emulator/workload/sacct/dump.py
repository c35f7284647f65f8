"""From the lines of a dump to records: which lines belong together, and which value stands in which column.

The columns are those that the first line names, in any order. A record may go on over several
lines, for the line of a submission may have line ends in it. A new record begins with a line
whose first columns, as far as the job's id, have values of their kind.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat

from emulator.workload.sacct.columns import ID, Column, column_of, together
from emulator.workload.sacct.plain import Lines
from emulator.workload.sitelog import Unusable
from slurm_sim_plugins.errors import InputError

CUT_OFF = "the line has no line end: the dump is cut off there"
EDGE = 1
"""What it costs if a value begins or ends with a separator."""
IMPOSSIBLE = 1 << 40
MOST_SEPARATORS = 1000
"""No record has more separators than this beyond those between its columns."""
MOST_BEFORE_ID = 50
"""The same for the columns before the job's id."""
MOST_LINES = 40
"""So many are tried where lines follow that belong to no record."""


@dataclass(frozen=True, slots=True)
class Record:
    """A record.

    Attributes:
        line: where it begins.
        fields: by the names of the columns in lower case.
    """

    line: int
    fields: Mapping[str, str]

    @property
    def is_step(self) -> bool:
        """Whether it is one of a step."""
        found = ID.fullmatch(self.fields.get("jobid") or self.fields.get("jobidraw", ""))
        return found is not None and found.group(4) is not None


@dataclass(frozen=True, slots=True)
class Dump:
    """What a dump holds.

    Attributes:
        header: names of columns.
        lines: where each record of a job begins.
        columns: the values of these records, by name of column in lower case.
        steps: how many more records there are, of steps.
        unusable: lines that belong to none.
    """

    header: Header
    lines: Sequence[int]
    columns: Mapping[str, Sequence[str]]
    steps: int
    unusable: Sequence[Unusable]

    def column(self, name: str) -> Iterable[str | None]:
        """The values of a column; of one that is not there as often None."""
        return self.columns.get(name) or repeat(None, len(self.lines))


class Header:
    """The names of the columns.

    Args:
        names: as the first line has them.
        separator: between columns.
    """

    def __init__(self, names: Sequence[str], separator: str) -> None:
        self.names = tuple(name.strip().lower() for name in names)
        self._columns = tuple(column_of(name) for name in self.names)
        self._separator = separator
        self._first = next(index for index, name in enumerate(self.names) if name in ("jobid", "jobidraw"))
        head = self._columns[: self._first + 1]
        self._tangled = any(column.separators is not None for column in head)
        self._take, self._take_head = together(self._columns), together(head)

    def lines(self, data: bytes) -> Lines:
        """The lines of a dump after this one, and which of them are records by themselves."""
        return Lines(data, self.names, self._columns, self._separator)

    def begins(self, line: str) -> bool:
        """Whether a record begins with this line."""
        size = self._first + 1
        pieces = line.split(self._separator, size)
        if len(pieces) < size or (len(pieces) == 1 < len(self.names)):
            return False
        if self._take_head(pieces[:size]):
            return True
        if not self._tangled:
            return False
        head, pieces = self._columns[:size], line.split(self._separator)
        return _aligned(head, pieces[: len(head) + MOST_BEFORE_ID], self._separator, whole=False) is not None

    def fields(self, text: str) -> dict[str, str] | None:
        """The values by name of column; None if the text is no record."""
        pieces = text.split(self._separator)
        if len(pieces) == len(self._columns):
            return dict(zip(self.names, pieces, strict=True)) if self._take(pieces) else None
        values = _aligned(self._columns, pieces, self._separator)
        return None if values is None else dict(zip(self.names, values, strict=True))

    def complaint(self, text: str) -> str:
        """Why a text is no record."""
        pieces = text.split(self._separator)
        if len(pieces) < len(self.names):
            return f"the line is cut off or broken: it has {len(pieces)} of {len(self.names)} columns"
        for name, column, piece in zip(self.names, self._columns, pieces, strict=False):
            if not column.takes(piece):
                return f"{name} is {piece[:40]!r}, which is not {column.what}"
        return f"the line has {len(pieces)} columns instead of {len(self.names)}"


def _aligned(columns: Sequence[Column], pieces: Sequence[str], separator: str, whole: bool = True) -> list[str] | None:
    """The values of columns, where some of them have separators in them; None if nothing fits.

    Of all ways to cut, the cheapest: dynamic programming over columns and pieces, from the
    last column to the first. Takes as many steps as there are columns times separators too many.

    Args:
        columns: what the values look like.
        pieces: the text, cut at every separator.
        separator: that was between them.
        whole: whether all pieces are to be used.
    """
    extra = len(pieces) - len(columns)
    if not 0 <= extra <= MOST_SEPARATORS or (whole and not _ends_well(columns, pieces)):
        return None
    # What the columns from one on cost if so many separators were taken by those before it; and how many
    # that one takes then.
    after = [IMPOSSIBLE if whole and used < extra else 0 for used in range(extra + 1)]
    taken: list[list[int]] = []
    for index in range(len(columns) - 1, -1, -1):
        after, chosen = _step(columns[index], pieces[index : index + extra + 1], after)
        taken.append(chosen)
    if after[0] >= IMPOSSIBLE:
        return None
    values, used = [], 0
    for index, chosen in enumerate(reversed(taken)):
        values.append(separator.join(pieces[index + used : index + used + chosen[used] + 1]))
        used += chosen[used]
    return values


def _ends_well(columns: Sequence[Column], pieces: Sequence[str]) -> bool:
    """Whether the last columns, which hold no separators, have values of their kind: soon told, and often enough."""
    for column, piece in zip(reversed(columns), reversed(pieces), strict=False):
        if column.separators is not None:
            return True
        if not column.takes(piece):
            return False
    return True


def _step(column: Column, pieces: Sequence[str], after: Sequence[int]) -> tuple[list[int], list[int]]:
    """Costs and choices of a column that may begin at any of some pieces, from the costs of the columns after it.

    A value with separators is one of the column if each piece is.
    """
    fits = [column.takes(piece) for piece in pieces]
    costs = [cost if fit else IMPOSSIBLE for cost, fit in zip(after, fits, strict=True)]
    chosen = [0] * len(pieces)
    if column.separators is None:
        return costs, chosen
    # What it costs to go on from the piece before into this one, and where the value ends then.
    inside, end = IMPOSSIBLE, 0
    for index in range(len(pieces) - 1, -1, -1):
        if not fits[index]:
            inside = IMPOSSIBLE
            continue
        edge = 0 if pieces[index] else EDGE
        if inside + edge < costs[index]:
            costs[index], chosen[index] = inside + edge, end - index
        if after[index] + edge <= inside:
            inside, end = after[index] + edge, index
        inside += column.separators
    return costs, chosen


def records(file: str, data: bytes, separator: str = "|", wanted: Collection[str] | None = None) -> Dump:
    """The records of a dump, and the lines that belong to none.

    Args:
        file: its name, for messages.
        data: what it holds, in UTF-8.
        separator: between columns.
        wanted: columns of which values are wanted; None for all.

    Raises:
        InputError: the first line does not name the columns of a dump.
    """
    header = Header(_names(file, data, separator), separator)
    lines = header.lines(data)
    found: list[Record] = []
    unusable: list[Unusable] = []
    for first, stretch in lines.others():
        for number, group, fields in _groups(header, first, stretch):
            end = len(group)
            if fields is None:
                end, fields = _cut(header, group)
            if fields is not None:
                found.append(Record(number, fields))
            if rest := group[end:]:
                why = header.complaint(group[0]) if not end else "the line belongs to no record"
                unusable.append(Unusable(number + end, number + end + len(rest) - 1, why))
    last = len(lines) + 1
    cut_off = data[data.rfind(b"\n") + 1 :].decode().strip()
    if cut_off and found and not any(one.last == last for one in unusable):
        # What is left of a line may look whole: the last value lacks its end.
        unusable.append(Unusable(found.pop().line, last, CUT_OFF))
    of_jobs = [record for record in found if not record.is_step]
    numbers, columns = _merged(*lines.jobs(header.names if wanted is None else wanted), of_jobs)
    return Dump(header, numbers, columns, lines.steps + len(found) - len(of_jobs), unusable)


def _merged(
    lines: list[int], columns: dict[str, list[str]], records: Sequence[Record]
) -> tuple[list[int], dict[str, list[str]]]:
    """Records of which there are columns, and further ones, in the order of their lines."""
    if not records:
        return lines, columns
    lines = lines + [record.line for record in records]
    order = sorted(range(len(lines)), key=lines.__getitem__)
    whole = ((name, column + [record.fields[name] for record in records]) for name, column in columns.items())
    return [lines[at] for at in order], {name: [column[at] for at in order] for name, column in whole}


def _names(file: str, data: bytes, separator: str) -> list[str]:
    """The names of the columns, as the first line has them."""
    first = data[: data.index(b"\n")] if b"\n" in data else data
    names = first.decode().rstrip("\r").split(separator)
    if not {"jobid", "jobidraw"} & {name.strip().lower() for name in names}:
        raise InputError(
            f"{file}:1: there is no column JobID; the first line of a dump names its columns, "
            f"with {separator} between them: write it with sacct -P, without --noheader; if something else is between "
            "them, say so with --delimiter"
        )
    return names


def _groups(header: Header, first: int, lines: Sequence[str]) -> Iterator[tuple[int, list[str], dict[str, str] | None]]:
    """Lines that belong together: the number of the first, all of them, and the values if they are a record.

    Args:
        header: says what begins a record.
        first: number of the first line.
        lines: behind which a record begins, or the dump ends.
    """
    number = 0
    group: list[str] = []
    for line_number, line in enumerate(lines, first):
        line = line.rstrip("\r")
        if group and header.begins(line):
            before = _without_empty_end(group)
            fields = header.fields("\n".join(before))
            if fields is None and _ends(header, group, line):
                group.append(line)
                continue
            yield number, before, fields
            group = []
        if not group:
            if not line.strip():
                continue
            number = line_number
        group.append(line)
    if group:
        yield number, _without_empty_end(group), None


def _ends(header: Header, group: Sequence[str], line: str) -> bool:
    """Whether a line that looks like the beginning of a record is the end of the one before."""
    return header.fields(line) is None and header.fields("\n".join([*group, line])) is not None


def _without_empty_end(group: list[str]) -> list[str]:
    end = len(group)
    while end > 1 and not group[end - 1].strip():
        end -= 1
    return group[:end]


def _cut(header: Header, group: Sequence[str]) -> tuple[int, dict[str, str] | None]:
    """How many of some lines are a record, and its values; 0 and None if they are none.

    All of them, or else the fewest: then something follows that belongs to no record.
    """
    for end in (len(group), *range(1, min(len(group), MOST_LINES))):
        fields = header.fields("\n".join(group[:end]))
        if fields is not None:
            return end, fields
    return 0, None
