"""``python -m contrib.differential``: holds a commit against a base commit, through files only. See README.md."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import sys
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import click

from . import coverage
from .cases import Case, all_cases, missing
from .outcome import Difference, compare, filled
from .sides import Side, commit_of, install, unseen

BASE = "ef52de50b872648f93879162606cbda63774f064"
"""The commit against which the rest is held, unless another is named."""
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "slurm-sim-differential"


@dataclass
class Known:
    """An entry of the known differences: patterns of cases, columns and values, and the fault that was mended.

    Several patterns of cases stand apart by spaces.
    """

    case: str
    columns: list[str]
    fault: str
    base: str = "*"
    new: str = "*"
    seen: list[Difference] = field(default_factory=list)

    def about(self, case: str) -> bool:
        """Whether a case is one of its cases."""
        return any(fnmatchcase(case, name) for name in self.case.split())

    def covers(self, one: Difference) -> bool:
        """Whether it is about this difference."""
        values = fnmatchcase(one.base, self.base) and fnmatchcase(one.new, self.new)
        return self.about(one.case) and values and any(fnmatchcase(one.column, column) for column in self.columns)


@dataclass
class Held:
    """What came of one case."""

    case: Case
    base: Path
    differences: list[Difference]
    steps: tuple[list[dict[str, float]], list[dict[str, float]]]


@dataclass
class Runner:
    """Runs cases on both sides; what the base left is kept for the next time."""

    cache: Path
    commits: tuple[str, str]
    pythons: tuple[Path, Path]
    keep: bool
    sides: SimpleQueue[tuple[Side, Side]] = field(default_factory=SimpleQueue)

    def hold(self, case: Case) -> Held:
        """Run one case on both sides and compare."""
        inputs = self._folder("inputs", case.name)
        shutil.rmtree(inputs, ignore_errors=True)
        inputs.mkdir(parents=True)
        steps = [[str(word) for word in step] for step in case.make(inputs)]
        folders = tuple(self._folder(side, case.name) for side in (self.commits[0], f"new-{os.getpid()}"))
        key = _key(steps, inputs)
        pair = self.sides.get()
        try:
            kept = self._kept(folders[0], key)
            was = kept or self._run(pair[0], case, folders[0], steps, key)
            now = self._run(pair[1], case, folders[1], steps, key)
            # The first runs of a new environment also compile.
            patient = replace(case, seconds=20 * case.seconds)
            if _ended(was) and not _ended(now) and not kept:
                was = self._run(pair[0], patient, folders[0], steps, key)
            if _ended(now) and not _ended(was):
                now = self._run(pair[1], patient, folders[1], steps, key)
        finally:
            self.sides.put(pair)
        own = {side.environment: "(environment)" for side in pair}
        differences = compare(case.name, *folders, steps=(was, now), own=own)
        if not differences and not self.keep:
            shutil.rmtree(folders[1])
        return Held(case, folders[0], differences, (was, now))

    def _folder(self, what: str, case: str) -> Path:
        return self.cache / "runs" / what[:16] / case

    @staticmethod
    def _kept(folder: Path, key: str) -> list[dict[str, float]] | None:
        file = folder / "key.json"
        kept = json.loads(file.read_text()) if file.exists() else {}
        return kept.get("steps") if kept.get("key") == key else None

    @staticmethod
    def _run(side: Side, case: Case, folder: Path, steps: list[list[str]], key: str) -> list[dict[str, float]]:
        done = side.run(folder, steps, case.seconds)
        (folder / "key.json").write_text(json.dumps({"key": key, "steps": done}))
        return done


def _key(steps: list[list[str]], inputs: Path) -> str:
    """A hash of all that a case is: arguments, inputs, and size and time of other files that it names."""
    parts = [json.dumps(steps)]
    parts += [file.read_text(encoding="utf-8") for file in sorted(inputs.rglob("*"))]
    named = [Path(word) for step in steps for word in step if word.startswith("/")]
    parts += [f"{path} {path.stat().st_size} {path.stat().st_mtime}" for path in named if inputs not in path.parents]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _ended(steps: list[dict[str, float]]) -> bool:
    """Whether the last step was ended because of its CPU seconds."""
    return steps[-1]["code"] == -signal.SIGPROF


def read_known(file: Path) -> list[Known]:
    """The list of known differences; an entry that lacks a key, or has another one, is an error."""
    return [Known(**entry) for entry in tomllib.loads(file.read_text(encoding="utf-8")).get("known", [])]


def judge(all_held: Iterable[Held], known: list[Known]) -> tuple[list[Difference], Counter[str], list[Known]]:
    """What differs and is not known; columns that are filled now; known differences that did not occur.

    A column that is null in the base may fill. If the base has values in it in other cases of the family, its being
    null means something, and filling it is a difference.
    """
    all_held = list(all_held)
    families = {held.case.family for held in all_held if any(one.filled for one in held.differences)}
    used: dict[str, set[str]] = defaultdict(set)
    for held in all_held:
        if held.case.family in families:
            used[held.case.family] |= filled(held.base)
    found: list[Difference] = []
    fresh: Counter[str] = Counter()
    for held in all_held:
        for one in held.differences:
            if one.filled and one.column not in used[held.case.family]:
                fresh[f"{held.case.family} {one.column}"] += 1
                continue
            entry = next((entry for entry in known if entry.covers(one)), None)
            (entry.seen if entry else found).append(one)
    names = [held.case.name for held in all_held]
    stale = [entry for entry in known if not entry.seen and any(entry.about(name) for name in names)]
    return found, fresh, stale


def report(all_held: list[Held], known: list[Known]) -> bool:
    """Print what was found; whether it is nothing, besides what is known."""
    found, fresh, stale = judge(all_held, known)
    refused = [held.case.name for held in all_held if any(step["code"] for step in held.steps[0])]
    cpu = [sum(step["cpu"] for held in all_held for step in held.steps[side]) for side in (0, 1)]
    by_case: dict[str, list[Difference]] = defaultdict(list)
    for one in sorted(found, key=lambda one: one.instant):
        by_case[one.case].append(one)
    for title, chosen in (
        ("exit codes", [one for one in found if one.column.startswith("exit.")]),
        ("messages", [one for one in found if one.column == "messages"]),
    ):
        if chosen:
            click.echo(f"{len(chosen):,} cases with other {title}")
    for name, ones in list(by_case.items()):
        click.echo(f"* {ones[0]}")
        for one in ones[1:]:
            click.echo(f"      {str(one).removeprefix(f'{name}: ')}")
    for entry in known:
        if entry.seen:
            cases = len({one.case for one in entry.seen})
            click.echo(f"known, {cases:,} cases of {entry.case}, {', '.join(entry.columns)}: {entry.fault}")
    for entry in stale:
        click.echo(f"known, but does not occur any more: {entry.case}, {', '.join(entry.columns)}: {entry.fault}")
    for column, cases in fresh.most_common():
        click.echo(f"filled now, null in every case of the base: {column} ({cases:,} cases)")
    if refused:
        shown = ", ".join(refused[:8])
        click.echo(f"the base refuses {len(refused):,} of {len(all_held):,} cases: {shown}")
    click.echo(f"CPU seconds: base {cpu[0]:.1f}, new {cpu[1]:.1f}")
    click.echo(f"{len(all_held):,} cases, {len(by_case):,} differ" + ("" if by_case or stale else ": equal"))
    return not by_case and not stale


@click.command()
@click.option("--base", default=BASE, show_default=True, help="The commit that is right.")
@click.option("--new", help="The commit that is held against it.  [default: tracked files of the checkout]")
@click.option("--case", "patterns", multiple=True, help="Run only cases of such names (*, ?).  [repeatable]")
@click.option("--clusters", default=1000, show_default=True, help="How many random clusters.")
@click.option("--known", type=click.Path(path_type=Path), default=Path(__file__).with_name("known.toml"))
@click.option("--cache", type=click.Path(path_type=Path), default=CACHE, show_default=True)
@click.option("--workers", default=1, show_default=True, help="Cases at a time.")
@click.option("--keep", is_flag=True, help="Keep the folders of cases that do not differ, too.")
@click.option("--coverage", "covered", is_flag=True, help="Say in how many random clusters what happens.")
@click.option("--json", "data", type=click.Path(path_type=Path), help="Write all differences as JSON.")
@click.option("--list", "only_list", is_flag=True, help="Print the names of the cases.")
def main(
    base: str,
    new: str | None,
    patterns: tuple[str, ...],
    clusters: int,
    known: Path,
    cache: Path,
    workers: int,
    keep: bool,
    covered: bool,
    data: Path | None,
    only_list: bool,
) -> None:
    """Hold a commit against a base commit, through files only.

    The exit code is 0 if nothing differs but what is known, and all that is known still does.
    """
    cases = [
        case
        for case in all_cases(clusters)
        if not patterns or any(fnmatchcase(case.name, pattern) for pattern in patterns)
    ]
    if only_list:
        click.echo("\n".join(case.name for case in cases))
        return
    for path in missing():
        click.echo(f"left out, it is not there: {path}", err=True)
    for path in unseen() if new is None else ():
        click.echo(f"left out, git does not track it: {path}", err=True)
    entries = read_known(known)
    cache = cache.absolute()
    commits = (commit_of(base), commit_of(new))
    pythons = (install(commits[0], cache), install(commits[1], cache))
    runner = Runner(cache, commits, pythons, keep)
    pairs = [(Side(pythons[0]), Side(pythons[1])) for _ in range(workers)]
    for pair in pairs:
        runner.sides.put(pair)
    for ending in (signal.SIGINT, signal.SIGTERM):
        signal.signal(ending, signal.default_int_handler)
    all_held: list[Held] = []
    pool = ThreadPoolExecutor(workers)
    try:
        with click.progressbar(
            pool.map(runner.hold, cases), len(cases), hidden=not sys.stderr.isatty(), file=sys.stderr
        ) as bar:
            all_held.extend(bar)
    except KeyboardInterrupt:
        click.echo(f"interrupted after {len(all_held):,} of {len(cases):,} cases", err=True)
    pool.shutdown(cancel_futures=True)
    for pair in pairs:
        for side in pair:
            side.close()
    right = report(all_held, entries)
    if covered:
        runs = [held.base / "run" for held in all_held if held.case.name.startswith("cluster-")]
        click.echo("\n".join(coverage.table([run for run in runs if (run / "waits.parquet").exists()])))
    if data is not None:
        written: dict[str, Any] = {"base": commits[0], "new": commits[1], "steps": {}, "differences": []}
        for held in all_held:
            written["steps"][held.case.name] = held.steps
            written["differences"] += [asdict(one) for one in held.differences]
        data.write_text(json.dumps(written, indent=1))
    sys.exit(not right)


if __name__ == "__main__":
    main()
