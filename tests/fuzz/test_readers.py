"""Every reader of a file that may come from anywhere, with damaged files.

A command either does its work or ends with an error that says which file is wrong: an exit code that is
documented, no traceback, within bounds of time and memory. ``FUZZ_CASES`` says how many cases of each reader.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import os
import re
import resource
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

import emulator.cli
from slurm_sim_plugins.errors import StandstillError
from tests.builders.patience import patience
from tests.fuzz.mutations import mutated
from tests.fuzz.seeds import READERS, Reader, lay_out, make_folders

CASES = int(os.environ.get("FUZZ_CASES", "50"))
SEED = os.environ.get("FUZZ_SEED", "1")
DOCUMENTED = {int(code) for code in re.findall(r"\b([0-9]+) [a-z]", emulator.cli.__doc__ or "")}
DIFFERS = 1
"""Exit code of ``truth`` where something differs."""
KNOWN = {
    "optimum": (314, 355, 576, 737),
    "commands": (26, 68, 141),
    "sacct": (455,),
    "events": (445,),
    "campaign": (472,),
    "jann97": (126, 151),
    "run.toml": (621, 774, 854, 884, 907),
    "cluster.json": (523,),
    "snapshot": (58, 135, 170, 174, 192, 367, 894, 993),
    "campaign results": (175, 374, 623),
}
"""Further cases: such as were found among a thousand of each reader."""
SECONDS = 10.0
"""Of processor time, for one command on one small file."""
MEMORY = 2 << 30


class Hang(BaseException):
    """A command that does not end."""


def command(*arguments: str) -> tuple[int, str, str]:
    """What a command ends with, and what it says."""
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        patch.setattr(sys, "argv", ["slurm-sim", *arguments])
        code = emulator.cli._exit_code()
    return code, out.getvalue(), err.getvalue()


@contextlib.contextmanager
def bounded() -> Iterator[None]:
    """Raise where more time or memory is taken than a small file can need."""

    limits = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, limits[1]))
    try:
        with patience(SECONDS, Hang()):
            yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)


def fault(arguments: list[str], file: str) -> str | None:
    """What is wrong with how a command ends; None if nothing is."""
    try:
        with bounded():
            code, out, err = command(*arguments)
    except (Exception, Hang, SystemExit) as error:
        frames = traceback.extract_tb(error.__traceback__)
        ours = [frame for frame in frames if "emulator" in frame.filename or "slurm_sim_plugins" in frame.filename]
        ours = [frame for frame in ours if "site-packages" not in frame.filename] or list(frames)
        return f"{type(error).__name__} at {Path(ours[-1].filename).name}:{ours[-1].lineno}: {str(error)[:150]}"
    if code not in DOCUMENTED and not (code == DIFFERS and arguments[0] == "truth"):
        return f"exit code {code}"
    if "Traceback" in err or "\x1b" in err + out:
        return "a traceback or an escape sequence is printed"
    # What is wrong with a whole workload is said with its name, which is that of its file.
    named = (file, *(f"slurm-sim: {Path(word).stem}: " for word in arguments))
    if code == 3 and not any(name in err for name in named):
        return f"the file is not named: {err.strip()[-200:]}"
    if code == 0 and "--json" in arguments:
        try:
            json.loads(out, parse_constant=_no_number)
        except ValueError as error:
            return f"what is printed is not JSON: {error}"
    return None


def _no_number(word: str) -> float:
    raise ValueError(f"{word} is none of JSON's numbers")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("seeds")
    # An import that a bound cuts off cannot be made again in the same process.
    for heavy in ("numpy", "pandas", "pyarrow.parquet", "scipy.special"):
        importlib.import_module(heavy)

    def run(*arguments: str) -> None:
        code, _, err = command(*arguments)
        assert code in (0, StandstillError.exit_code), err

    make_folders(where, run)
    return where


def damaged(reader: Reader, where: Path, rng: Random) -> None:
    """Damage a file of the reader's folder."""
    files = [where / reader.file] if reader.file else sorted(each for each in where.rglob("*") if each.is_file())
    file = rng.choice(files)
    form = {".parquet": "parquet", ".json": "json"}.get(file.suffix, "text") if not reader.file else reader.form
    file.write_bytes(mutated(form, file.read_bytes(), rng))


NEEDED = {"optimum": "ortools"}
"""The module that a command needs beside the default installation."""


@pytest.fixture
def reader(name: str) -> Reader:
    if name in NEEDED:
        pytest.importorskip(NEEDED[name])
    return READERS[name]


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
def test_the_files_are_read_as_they_are(reader: Reader, folders: Path, tmp_path: Path) -> None:
    where = tmp_path / "case"
    for words in reader.commands:
        lay_out(reader, where, folders)
        code, _, err = command(*words.replace("@", str(where)).split())
        assert code in (0, 1, StandstillError.exit_code), err


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
def test_a_damaged_file_is_read_or_refused(name: str, reader: Reader, folders: Path, tmp_path: Path) -> None:
    where = tmp_path / "case"
    faults: dict[str, list[str]] = {}
    for number in dict.fromkeys([*range(CASES), *KNOWN.get(name, ())]):
        rng = Random(f"{SEED} {name} {number}")
        lay_out(reader, where, folders)
        damaged(reader, where, rng)
        words = reader.commands[number % len(reader.commands)]
        found = fault(words.replace("@", str(where)).split(), str(where))
        if found is not None:
            faults.setdefault(found, []).append(f"{number}: {words}")
    assert not faults, "\n".join(f"{len(cases)} times {what}; first {cases[0]}" for what, cases in faults.items())
