"""What faketime leaves behind."""

import os

from emulator.record.record import sweep_clocks


def test_clocks_of_processes_that_are_no_more_are_removed(tmp_path):
    """Else a process that gets the id of one of them ends at once: a tenth of other users' jobs did."""
    mine, gone = os.getpid(), 2**22 + 1
    for number in (mine, gone):
        (tmp_path / f"faketime_shm_{number}").touch()
        (tmp_path / f"sem.faketime_sem_{number}").touch()
    (tmp_path / "other_file").touch()
    sweep_clocks(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        f"faketime_shm_{mine}",
        "other_file",
        f"sem.faketime_sem_{mine}",
    ]
