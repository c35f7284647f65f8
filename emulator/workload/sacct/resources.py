"""Resources as the columns of a dump have them: counts, memory, and generic resources of a job or of each node."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping

from emulator.config.slurm.model import GresCount

_MEMORY = re.compile(r"([\d.]+)([KMGTPE]?)([nc]?)")
_KIND = re.compile(r"[A-Za-z_]\w*")
_COUNT = re.compile(r"(\d{1,18}(?:\.\d{1,9})?)([KMG]?)")
LARGEST = 2.0**50
"""No node has so many mebibytes."""
MOST = 2**31 - 1
"""No count is larger."""
_SHIFTS = {"K": -10, "": 0, "M": 0, "G": 10, "T": 20, "P": 30, "E": 40}


def count_of(name: str, text: str | None) -> int:
    """A whole number, perhaps in thousands of 1024; 0 where there is none.

    Raises:
        ValueError: it is no number, below 0, or too large for a count; the message names the column.
    """
    found = _COUNT.fullmatch(text or "0")
    count = -1 if found is None else int(float(found[1]) * 1024 ** "_KMG".index(found[2] or "_"))
    if not 0 <= count <= MOST:
        raise ValueError(f"{name} is {(text or '')[:40]!r}, which is no count")
    return count


def resources_of(text: str) -> dict[str, str]:
    """What a column of resources has, by name."""
    return dict(word.split("=", 1) for word in text.split(",") if "=" in word)


def memory_of(text: str, nodes: int, count: int) -> tuple[int | None, int | None]:
    """Mebibytes on a node, and for a CPU. Older versions mark which of the two is meant; newer ones give the total.

    Args:
        text: a size.
        nodes: over which a total is; 0 if that is not known.
        count: of CPUs, over which it is then.

    Raises:
        ValueError: it is no size, or larger than the memory of any node.
    """
    found = _MEMORY.fullmatch(text)
    if text in ("", "Unknown", "0"):
        return None, None
    if found is None:
        raise ValueError(f"ReqMem is {text[:40]!r}, which is no size")
    size = float(found.group(1)) * 2.0 ** _SHIFTS[found.group(2)]
    if size > LARGEST:
        raise ValueError(f"ReqMem is {text[:40]!r}, which is more than any node has")
    if not size:
        return None, None
    if found.group(3) == "c":
        return None, math.ceil(size)
    if found.group(3) != "n" and not nodes:
        return None, math.ceil(size / count)
    return math.ceil(size if found.group(3) == "n" else size / nodes), None


def gres_of(
    fields: Mapping[str, str], asked: Mapping[str, str], had: Mapping[str, str]
) -> tuple[Mapping[str, str], tuple[GresCount, ...]]:
    """Generic resources of a job, and on each of its nodes: of the first column that has any.

    Args:
        fields: values of columns.
        asked: what ReqTRES says.
        had: what AllocTRES says.
    """
    if any(name.startswith("gres/") for name in asked):
        return asked, ()
    text = fields.get("reqgres", "")
    per, _, one = text.partition(":") if text.startswith("PER_") else ("PER_NODE", ":", text)
    if per in ("PER_NODE", "PER_JOB") and (found := tuple(_counts(one))):
        return ({}, found) if per == "PER_NODE" else (_in_all(found), ())
    if any(name.startswith("gres/") for name in had):
        return had, ()
    return _in_all(_counts(fields.get("allocgres", ""))), ()


def _counts(text: str) -> Iterator[GresCount]:
    """Generic resources as ``--gres`` has them, which ReqGRES and AllocGRES of older versions show."""
    for word in text.split(","):
        kind, *rest = re.sub("^gres[:/]", "", word).replace("=", ":").split(":")
        count = count_of(word, rest.pop()) if rest and _COUNT.fullmatch(rest[-1]) else 1
        if kind.isdecimal():
            # AllocGRES may have the number by which Slurm knows a kind: its letters, the first of which counts least.
            kind = int(kind).to_bytes(len(kind), "little").rstrip(b"\0").decode("latin-1")
        if _KIND.fullmatch(kind) and kind != "none" and count:
            yield GresCount(kind, ":".join(rest), count)


def _in_all(counts: Iterable[GresCount]) -> dict[str, str]:
    """Generic resources as AllocTRES has them."""
    return {f"gres/{one.name}:{one.type}" if one.type else f"gres/{one.name}": f"{one.count}" for one in counts}


def gpus_of(resources: Mapping[str, str]) -> tuple[GresCount, ...]:
    """GPUs in all; those of a type, where all of them have one."""
    typed = {name[9:]: count_of(name, count) for name, count in resources.items() if name.startswith("gres/gpu:")}
    stated = resources.get("gres/gpu")
    total = sum(typed.values()) if stated is None else count_of("gres/gpu", stated)
    if total and sum(typed.values()) == total:
        return tuple(GresCount("gpu", name, count) for name, count in typed.items() if count)
    return (GresCount("gpu", "", total),) if total else ()


def other_gres_of(resources: Mapping[str, str], nodes: int) -> tuple[GresCount, ...]:
    """Other generic resources, on each node."""
    found = []
    for name, text in resources.items():
        kind, _, kept = name.removeprefix("gres/").partition(":")
        if name.startswith("gres/") and kind != "gpu" and (count := count_of(name, text)):
            found.append(GresCount(kind, kept, math.ceil(count / nodes)))
    return tuple(found)
