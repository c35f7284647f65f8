"""A log beside its emulation, as tables for the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from emulator.replay.noise import MEASURES
from emulator.report.bands import told
from emulator.report.grid import table
from emulator.report.numbers import duration_text, instant_text, printable

if TYPE_CHECKING:
    from rich.table import Table

    from emulator.replay.compare import Comparison, Pair
    from emulator.replay.noise import Noise
    from emulator.workload.jitter import Band


def waits_table(comparison: Comparison, title: str) -> Table:
    """Waits by partition, QOS and size, real beside emulated."""
    from rich.table import Table
    from rich.text import Text

    grid = Table(title=Text(printable(title)))
    grid.add_column("wait (h:mm:ss)", no_wrap=True)
    grid.add_column("jobs", justify="right", no_wrap=True)
    for measure in ("mean", "median", "longest"):
        grid.add_column(f"{measure}\nreal", justify="right", no_wrap=True)
        grid.add_column("\nemulated", justify="right", no_wrap=True)
    grid.add_column("starts apart\n(median)", justify="right", no_wrap=True)
    groups = comparison.groups()
    for index, group in enumerate(groups):
        last = index + 1 == len(groups) or groups[index + 1].kind != group.kind
        cells = (duration_text(wait) for both in zip(group.real, group.emulated, strict=True) for wait in both)
        name = Text(printable(f"{group.kind} {group.name}"))
        grid.add_row(name, f"{group.jobs:,}", *cells, duration_text(group.apart), end_section=last)
    return grid


def partings_table(comparison: Comparison, most: int, epoch: int | None) -> Table:
    """The first jobs whose starts part."""
    from rich.table import Table
    from rich.text import Text

    partings = comparison.partings()
    shown = partings[:most]
    clock = "seconds of the log" if epoch is None else "times in UTC"
    title = f"Starts that are more than {comparison.tolerance:g} s apart, the first {len(shown)} of {len(partings):,}"
    grid = Table(title=f"{title} ({clock})")
    for heading, justify in (("job", "left"), ("partition", "left"), ("CPUs", "right")):
        grid.add_column(heading, justify=justify, no_wrap=True)  # type: ignore[arg-type]
    for heading in ("eligible", "real start", "emulated start", "later by"):
        grid.add_column(heading, justify="right", no_wrap=True)
    for pair in shown:
        times = (instant_text(at, epoch) for at in (pair.eligible, pair.real_start, pair.start))
        grid.add_row(
            Text(printable(pair.label)),
            Text(printable(pair.partition)),
            f"{pair.cpus:,}",
            *times,
            duration_text(pair.apart),
        )
    return grid


def differences_table(noise: Noise) -> Table:
    """Emulated less real waits with the band of the repeats; what noise alone may have made is called none."""
    title = f"Emulated less real wait, and the band of {told(noise.jitter)}"
    headings = ["wait (h:mm:ss)", *(heading for measure in MEASURES for heading in (measure, "band"))]
    rows: dict[str, list[str]] = {}
    for each in noise.differences():
        value = "none" if each.none else duration_text(each.value)
        rows.setdefault(f"{each.kind} {each.name}", []).extend((value, band_text(each.band)))
    return table(title, headings, ([name, *cells] for name, cells in rows.items()), left=1)


def noise_remarks(noise: Noise) -> list[str]:
    """How near the starts are in all runs, and how near the repeats are to the first run."""
    said = []
    for what, shares in (("starts apart in all runs", noise.near()), ("repeats and the first run", noise.itself())):
        bands = (f"{_shares(share)} within {duration_text(most)}" for most, share in shares.items())
        if shares:
            said.append(f"{what}: {', '.join(bands)}")
    return said


def _shares(band: Band) -> str:
    low, high = (f"{share:.1%}" for share in (band.low, band.high))
    return low if low == high else f"{low} to {high}"


def band_text(band: Band) -> str:
    """A band of seconds."""
    return f"{duration_text(band.low)} to {duration_text(band.high)}"


def remarks(comparison: Comparison) -> list[str]:
    """What the tables do not show, one sentence each."""
    near = comparison.near()
    shares = ", ".join(f"{share:.1%} within {duration_text(most)}" for most, share in near.items())
    said = [f"starts apart: {shares}" if near else "no job started on both clusters"]
    for why, pairs in comparison.one_sided().items():
        said.append(f"{len(pairs):,} jobs {why} (first: {_first(pairs)})")
    said += [
        f"of those that ran in the log, {count:,} did not start here: {reason}"
        for reason, count in _reasons(comparison)
    ]
    if comparison.left_out:
        said.append(f"{comparison.left_out:,} jobs that were cancelled while they waited were left out")
    return [printable(sentence) for sentence in said]


def _first(pairs: list[Pair]) -> str:
    return pairs[0].label


def _reasons(comparison: Comparison) -> list[tuple[str, int]]:
    return [(reason or "it was refused", count) for reason, count in comparison.reasons().most_common()]
