"""Columns as Slurm's commands print them: formats, widths, justification, truncation.

Two notations: ``%.18i %.9P`` (squeue, sinfo, sprio with ``-o``), and lists of names, of which
``squeue -O`` and ``sinfo -O`` take a width as ``JobID:10`` (20 unless stated), ``sacct`` and
``sshare`` one as ``JobID%10``. (Slurm's documentation of these commands.)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from emulator.report.numbers import printable, printable_lines
from slurm_sim_plugins.errors import ConfigurationError

Row = TypeVar("Row")
LISTED_WIDTH = 20
_LETTER = re.compile(r"%(\.?)(#|\d{1,4})?([A-Za-z%])")
_NAMED = re.compile(r"([\w-]+)(?::(\.?)(\d{1,4})?(.*))?")
_PERCENT = re.compile(r"([\w]+)(?:%(-?\d{1,4}))?")


def constant(text: str) -> Callable[[object], str]:
    """What a column holds that is the same in each row."""
    return lambda _: text


@dataclass(frozen=True)
class Field(Generic[Row]):
    """A column that there is.

    Attributes:
        heading: what stands over it.
        value: the text of a row.
        letter: in formats with ``%``; empty for none.
        names: in lists of names.
        width: that ``sacct`` and ``sshare`` give it; negative for left-justified.
        sort: what rows are sorted by; by default the text.
    """

    heading: str
    value: Callable[[Row], str]
    letter: str = ""
    names: tuple[str, ...] = ()
    width: int = 0
    sort: Callable[[Row], object] | None = None

    def key(self, row: Row) -> object:
        """What a row is sorted by."""
        return self.value(row) if self.sort is None else self.sort(row)


@dataclass(frozen=True)
class Column(Generic[Row]):
    """A column of a table.

    Attributes:
        field: what it shows.
        width: how wide it is; None for as wide as each value, 0 for as wide as the widest.
        right: whether it is right-justified.
        suffix: what follows it.
    """

    field: Field[Row]
    width: int | None = None
    right: bool = False
    suffix: str = ""


@dataclass(frozen=True)
class Fields(Generic[Row]):
    """All columns of a command.

    Attributes:
        command: its name, for messages.
        all: in the order in which they are listed.
    """

    command: str
    all: Sequence[Field[Row]]
    _letters: dict[str, Field[Row]] = field(default_factory=dict)
    _names: dict[str, Field[Row]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for each in self.all:
            if each.letter:
                self._letters.setdefault(each.letter, each)
            for name in each.names:
                self._names.setdefault(name.lower(), each)

    def letter(self, letter: str) -> Field[Row]:
        """The column of a letter.

        Raises:
            ConfigurationError: there is none.
        """
        if letter not in self._letters:
            raise ConfigurationError(f"{self.command}: there is no column %{letter}; take {', '.join(self._letters)}")
        return self._letters[letter]

    def name(self, name: str) -> Field[Row]:
        """The column of a name, in any case.

        Raises:
            ConfigurationError: there is none.
        """
        if name.lower() not in self._names:
            known = ", ".join(each.names[0] for each in self.all if each.names)
            raise ConfigurationError(f"{self.command}: there is no column {name!r}; take {known}")
        return self._names[name.lower()]

    def lettered(self, form: str) -> list[Column[Row]]:
        """Columns of a format with ``%``; text before the first is dropped, as Slurm does.

        Raises:
            ConfigurationError: a letter without a column, or no letter at all.
        """
        if form == "%all":
            return [Column(each, suffix="|") for each in self._letters.values()]
        found = list(_LETTER.finditer(form))
        if not found:
            raise ConfigurationError(f"{self.command}: the format {form!r} has no column; write it as %.18i %.9P")
        ends = [match.start() for match in found[1:]] + [len(form)]
        return [
            Column(
                self.letter(match.group(3)),
                None if match.group(2) is None else 0 if match.group(2) == "#" else int(match.group(2)),
                bool(match.group(1)),
                form[match.end() : end],
            )
            for match, end in zip(found, ends, strict=True)
        ]

    def listed(self, form: str) -> list[Column[Row]]:
        """Columns of a list of names with widths after colons.

        Raises:
            ConfigurationError: a name without a column, or what is no name.
        """
        return [self._listed(word) for word in form.split(",") if word]

    def _listed(self, word: str) -> Column[Row]:
        match = _NAMED.fullmatch(word.strip())
        if match is None:
            raise ConfigurationError(f"{self.command}: {word!r} is not written NAME[:[.]WIDTH]")
        name, right, width, suffix = match.groups()
        return Column(self.name(name), int(width) if width else LISTED_WIDTH, bool(right), suffix or "")

    def percented(self, form: str) -> list[Column[Row]]:
        """Columns of a list of names with widths after percent signs; left-justified where they are negative.

        Raises:
            ConfigurationError: a name without a column, or what is no name.
        """
        columns = []
        for word in filter(None, form.split(",")):
            match = _PERCENT.fullmatch(word.strip())
            if match is None:
                raise ConfigurationError(f"{self.command}: {word!r} is not written NAME[%WIDTH]")
            chosen = self.name(match.group(1))
            width = int(match.group(2)) if match.group(2) else chosen.width
            columns.append(Column(chosen, abs(width) or None, width >= 0))
        return columns

    def everything(self) -> str:
        """A list of all names."""
        return ",".join(each.names[0] for each in self.all if each.names)


def table(columns: Sequence[Column[Row]], rows: Iterable[Row], header: bool = True) -> str:
    """Rows one below the other, with the widths that were asked for; longer values are cut."""
    body = [[printable(column.field.value(row)) for column in columns] for row in rows]
    lines = [[column.field.heading for column in columns], *body] if header else body
    widths = (
        [
            max((len(cell) for cell in cells), default=0) if column.width == 0 else column.width
            for column, cells in zip(columns, zip(*lines, strict=True), strict=True)
        ]
        if lines
        else []
    )
    return "".join(f"{_line(columns, widths, line)}\n" for line in lines)


def _line(columns: Sequence[Column[Row]], widths: Sequence[int | None], cells: Sequence[str]) -> str:
    parts = []
    for column, width, cell in zip(columns, widths, cells, strict=True):
        text = cell if width is None else cell[:width]
        parts.append(f"{text:>{width or 0}}{column.suffix}" if column.right else f"{text:<{width or 0}}{column.suffix}")
    return "".join(parts)


@dataclass(frozen=True)
class Style:
    """How ``sacct`` and ``sshare`` print.

    Attributes:
        header: whether names stand above.
        parsable: with a delimiter after each value (1), between values (2), or in columns (0).
        delimiter: for the former.
    """

    header: bool = True
    parsable: int = 0
    delimiter: str = "|"


def accounting_table(columns: Sequence[Column[Row]], rows: Iterable[Row], style: Style) -> str:
    """Rows as ``sacct`` and ``sshare`` print them: a value that is cut ends in a plus sign."""
    names = [column.field.names[0] for column in columns]
    if style.parsable:
        lines = [names] if style.header else []
        # As in Slurm nothing is quoted; ends of lines are kept, for they are read back.
        lines += [[printable_lines(column.field.value(row)) for column in columns] for row in rows]
        end = style.delimiter if style.parsable == 1 else ""
        return "".join(f"{style.delimiter.join(line)}{end}\n" for line in lines)
    lines = [names, ["-" * (column.width or len(name)) for column, name in zip(columns, names, strict=True)]]
    lines = lines if style.header else []
    lines += [[printable(column.field.value(row)) for column in columns] for row in rows]
    return "".join(f"{''.join(_padded(*pair) for pair in zip(columns, line, strict=True))}\n" for line in lines)


def _padded(column: Column[Row], cell: str) -> str:
    width = column.width if column.width is not None else len(cell)
    cut = cell if len(cell) <= width else f"{cell[: width - 1]}+"
    return f"{cut:>{width}} " if column.right else f"{cut:<{width}} "


def ordered(
    fields: Fields[Row], rows: Sequence[Row], keys: str, special: Mapping[str, Callable[[Row], object]]
) -> list[Row]:
    """Rows sorted as ``--sort`` says: letters with commas between, each after ``-`` for descending order.

    Args:
        fields: of the command.
        rows: what is sorted.
        keys: such as ``P,t,-p``.
        special: what some words sort by that are no letters, such as ``#P``.

    Raises:
        ConfigurationError: a letter without a column.
    """
    found = list(rows)
    for word in reversed([word for word in keys.split(",") if word]):
        name = word.lstrip("+-")
        key = special[name] if name in special else fields.letter(name).key
        found.sort(key=key, reverse=word.startswith("-"))  # type: ignore[arg-type]
    return found
