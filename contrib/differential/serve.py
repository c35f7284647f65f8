"""Runs the command line that is installed beside this interpreter, case after case; standard library only.

Each line of standard input is a case: ``{"folder", "steps", "seconds"}``, where each step is the arguments of one
``slurm-sim``, which is ended after so many CPU seconds. A step runs in a forked process, in the folder of the case,
with its output in ``N.out`` and ``N.err``; the modules that it loaded are loaded here too, so that the next one need
not. One line of answer for each case says exit code, CPU seconds and peak memory of each step; the steps end at the
first that fails.
"""

from __future__ import annotations

import gzip
import importlib
import json
import os
import shutil
import signal
import sys
from importlib.metadata import entry_points
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = "1"
(command,) = entry_points(group="console_scripts", name="slurm-sim")
main = command.load()

STANDSTILL = 6
"""Exit code of a run that left jobs over, and all its results."""


def run(step: list[str], name: str, seconds: int) -> dict[str, float]:
    """Run one step in a process of its own."""
    sys.stdout.flush()
    child = os.fork()
    if not child:
        _become(step, name, seconds)
    _, status, used = os.wait4(child, 0)
    loaded = Path(f"{name}.modules")
    if loaded.exists():
        for module in loaded.read_text().split():
            try:
                importlib.import_module(module)
            except ImportError:
                continue
        loaded.unlink()
    return {
        "code": os.waitstatus_to_exitcode(status),
        "cpu": round(used.ru_utime + used.ru_stime, 3),
        "mb": used.ru_maxrss // 1024,
    }


def _become(step: list[str], name: str, seconds: int) -> None:
    """The child: it never returns."""
    for descriptor, ending in ((1, "out"), (2, "err")):
        os.dup2(os.open(f"{name}.{ending}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644), descriptor)
    known = set(sys.modules)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    sys.argv = ["slurm-sim", *step]
    code: object = 0
    try:
        code = main()
    except SystemExit as leave:
        code = leave.code
    except BaseException:
        sys.excepthook(*sys.exc_info())
        code = 1
    if isinstance(code, str):
        print(code, file=sys.stderr)
    loaded = [module for module in sys.modules if module not in known and not module.startswith("__")]
    if loaded:
        Path(f"{name}.modules").write_text("\n".join(loaded))
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else int(code is not None))


def serve() -> None:
    """Answer each case."""
    print(json.dumps({"loaded_from": sys.modules[command.module].__file__}), flush=True)
    for line in sys.stdin:
        case = json.loads(line)
        shutil.rmtree(case["folder"], ignore_errors=True)
        os.makedirs(case["folder"])
        os.chdir(case["folder"])
        steps: list[dict[str, float]] = []
        for number, step in enumerate(case["steps"]):
            steps.append(run(step, str(number), case["seconds"]))
            if steps[-1]["code"] not in (0, STANDSTILL):
                break
        for log in Path(".").rglob("*.jsonl"):
            with log.open("rb") as source, gzip.GzipFile(f"{log}.gz", "wb", compresslevel=1, mtime=0) as target:
                shutil.copyfileobj(source, target)
            log.unlink()
        print(json.dumps(steps), flush=True)


if __name__ == "__main__":
    serve()
