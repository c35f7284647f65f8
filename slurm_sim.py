"""The command ``slurm-sim``, or ``python -m slurm_sim``: looks first whether the right ``emulator`` is there."""

from __future__ import annotations

import gc
import sys
import warnings

USAGE = 2
"""Exit code, as that of a configuration that cannot be used."""


def main() -> None:
    """Run the command line, unless another distribution's package ``emulator`` is in the way."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it is said below
        from slurm_sim_plugins.neighbour import foreign_emulator
    wrong = foreign_emulator()
    if wrong is not None:
        sys.stderr.write(f"slurm-sim: {wrong}\n")
        sys.exit(USAGE)
    from emulator.cli import main as command

    try:
        command()
    finally:
        # What it leaves goes with the process: Python need not look for cycles in it.
        gc.freeze()


if __name__ == "__main__":
    main()
