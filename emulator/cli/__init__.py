"""The command line ``slurm-sim``: thin over :mod:`emulator.api`.

Exit codes: 0 done, 2 usage, 3 input, 4 plugin, 5 output, 6 standstill, 130 interrupted.
"""

from __future__ import annotations

import io
import logging
import os
import signal
import sys
from typing import TextIO

import click

from emulator.cli import shared
from emulator.cli.added import Commands
from emulator.report.numbers import printable_lines
from slurm_sim_plugins.errors import OutputError, SlurmSimError

INTERRUPTED = 130
LEVELS = ("debug", "info", "warning", "error")


class _Handler(logging.StreamHandler[TextIO]):
    """Logs what is printable."""

    def format(self, record: logging.LogRecord) -> str:
        return printable_lines(super().format(record))


def _print_version(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        from emulator.version import version
        from slurm_sim_plugins.kernels import why_plain

        reason = why_plain()
        shared.echo(f"slurm-sim {version()}\nkernels: {f'plain Python: {reason}' if reason else 'compiled'}")
        context.exit()


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_print_version, help="Print the version."
)
@click.option(
    "--log-level",
    type=click.Choice(LEVELS),
    default="warning",
    show_default=True,
    help="How much to tell on standard error.",
)
def slurm_sim(log_level: str) -> None:
    """What would this scheduling policy do to my cluster?

    Runs a workload through an emulated cluster under a scheduling policy, and says what became of it. Begin with
    "slurm-sim demo"; then "slurm-sim run TRACE --scheduler sched/easy".
    """
    words = "%(levelname)s %(name)s: %(message)s"
    logging.basicConfig(level=log_level.upper(), format=words, handlers=[_Handler(sys.stderr)])


def main() -> None:
    """Run the command line and leave with the exit code of what happened."""
    # Nothing here is linear algebra: numpy's idle threads would only burn processor time.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Arrow's own pool keeps what it has had, so that writing a log of a million jobs would take 50 MB more.
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    # A batch system ends a job at its limit with SIGTERM: what there is then is kept, as after Ctrl-C.
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(_exit_code())


def _exit_code() -> int:
    try:
        code = slurm_sim.main(prog_name="slurm-sim", standalone_mode=False)
    except click.exceptions.Exit as leave:
        return leave.exit_code
    except click.ClickException as error:
        said = io.StringIO()
        error.show(said)
        shared.echo(said.getvalue(), err=True, nl=False)
        return error.exit_code
    except SlurmSimError as error:
        shared.echo(f"slurm-sim: {error}", err=True)
        return error.exit_code
    except (KeyboardInterrupt, click.Abort) as error:
        # Click replaces by its own the one that may say what was going on.
        words = str(error) or str(error.__cause__ or "")
        shared.echo(f"slurm-sim: interrupted{words and f'; {words}'}", err=True)
        return INTERRUPTED
    except SystemExit as leave:
        # This is what rich and click make of a reader who has left; what follows has no reader.
        if isinstance(leave.__context__, BrokenPipeError) or type(sys.stdout).__name__.endswith("PacifyFlushWrapper"):
            return 0
        raise
    except OSError as error:
        if error.filename is not None:
            raise
        # What is still in the buffer is not to fail once more at the very end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        shared.echo(f"slurm-sim: standard output cannot be written: {error.strerror}", err=True)
        return OutputError.exit_code
    return code if isinstance(code, int) else 0
