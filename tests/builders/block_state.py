"""Where the machine is given out in blocks: no two runs have anything of the same midplane at the same time.

Worked out from the run records and the names of the blocks alone, as all in
:mod:`emulator.testing.invariants`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from emulator.testing.tables import instants

if TYPE_CHECKING:
    from emulator.accounting.records import Records
    from slurm_sim_plugins.blocks import Blocks


def check_block_state(records: Records, blocks: Blocks) -> None:
    """Check the blocks of all runs.

    Each is of the smallest size that holds the job. What ends at an instant makes room for
    what starts then; a run of no length takes nothing.

    Raises:
        AssertionError: naming the jobs, the block and the time in seconds.
    """
    runs = records.runs
    rows = zip(
        instants(runs["start"]).tolist(),
        instants(runs["end"]).tolist(),
        runs["job_id"].tolist(),
        runs["processors"].tolist(),
        runs["block"].tolist(),
        strict=True,
    )
    there: list[tuple[int, int, int]] = []
    for start, end, job, wanted, name in sorted(rows):
        block = blocks.find(name)
        if blocks.sizes[block] != min(size for size in blocks.sizes if size >= wanted):
            raise AssertionError(f"job {job} wants {wanted} processors and has block {name}, of another size")
        there = [each for each in there if each[0] > start]
        for _, other, taken in there:
            if end > start and taken & blocks.takes[block]:
                raise AssertionError(f"job {job} starts on block {name} at {start / 1e6:g} s, where job {other} is")
        if end > start:
            there.append((end, job, blocks.takes[block]))
