"""Job scripts: the ``#SBATCH`` lines before the first command (sbatch, "batch script").

A script is data: it is read and never run.
"""

from __future__ import annotations

from collections.abc import Iterator

from emulator.workload.het_job import SEPARATOR

DIRECTIVE = "#SBATCH"
OF_OTHERS = ("#PBS", "#BSUB")
"""Directives of other batch systems, which ``sbatch`` reads as well."""
COMPONENTS = ("hetjob", "packjob")
"""A line with one of these parts components; what follows in it does not count."""


def check_script(script: str) -> None:
    """See that ``sbatch`` takes a text for a script.

    Raises:
        ValueError: it is empty, does not name its interpreter, or has the line breaks of DOS.
    """
    if not script:
        raise ValueError("Batch script is empty!")
    if not script.strip():
        raise ValueError("Batch script contains only whitespace!")
    if not script.startswith("#!"):
        raise ValueError(
            "This does not look like a batch script: the first line must start with #! followed by the path to an "
            "interpreter, such as #!/bin/sh"
        )
    if "\r\n" in script:
        raise ValueError("Batch script contains DOS line breaks (\\r\\n) instead of expected UNIX line breaks (\\n)")


def sbatch_words(script: str) -> list[list[str]]:
    """Arguments of ``sbatch`` that a script has: of each component, if it is a heterogeneous job, else of one.

    Raises:
        ValueError: a quote that does not end, or ``:`` as on the line of ``sbatch``; the message names the line.
    """
    components: list[list[str]] = [[]]
    for number, line in _head(script):
        if not line.startswith(DIRECTIVE) or line[len(DIRECTIVE) :][:1] not in ("", " ", "\t"):
            continue
        try:
            found = list(_words(line[len(DIRECTIVE) :]))
        except ValueError as error:
            raise ValueError(f"line {number}: {error}") from None
        if found[:1] and found[0] in COMPONENTS:
            components.append([])
            continue
        if SEPARATOR in found:
            raise ValueError(
                f"line {number}: Unexpected `:` in [{line[len(DIRECTIVE) :]}]; in a script #SBATCH {COMPONENTS[0]} "
                "parts components"
            )
        components[-1] += found
    return components


def unread_directives(script: str) -> str:
    """What of a script is not read here though ``sbatch`` reads it; empty for nothing."""
    found = [number for number, line in _head(script) if line.split(maxsplit=1)[:1] in ([mark] for mark in OF_OTHERS)]
    if not found or any("--ignore-pbs" in words for words in sbatch_words(script)):
        return ""
    return (
        f"{len(found)} lines of {' or '.join(OF_OTHERS)} (first: line {found[0]}) have no effect: sbatch translates "
        f"them, the emulator does not; write them as {DIRECTIVE}"
    )


def _head(script: str) -> Iterator[tuple[int, str]]:
    """The lines before the first command, with their numbers."""
    for number, line in enumerate(script.splitlines(), 1):
        if line.strip() and not line.lstrip().startswith("#"):
            return
        yield number, line


def _words(text: str) -> Iterator[str]:
    """Words of a directive; a word that begins with # begins a comment, as in ``-N 2 # nodes``."""
    rest = text.strip()
    while rest and not rest.startswith("#"):
        word, rest = _word(rest)
        yield word
        rest = rest.lstrip()


def _word(text: str) -> tuple[str, str]:
    """The first word, without its quotes and backslashes, and what follows."""
    word, quote, index = [], "", 0
    while index < len(text):
        mark = text[index]
        if mark == quote:
            quote = ""
        elif not quote and mark in "\"'":
            quote = mark
        elif mark == "\\" and quote != "'" and index + 1 < len(text):
            index += 1
            word.append(text[index])
        elif mark.isspace() and not quote:
            break
        else:
            word.append(mark)
        index += 1
    if quote:
        raise ValueError(f"{text[:40]!r} has a quote that does not end")
    return "".join(word), text[index:]
