"""The versions of Slurm that are emulated; what differs between them is in :mod:`emulator.config.slurm.versions`."""

VERSIONS = ("22.05", "24.11", "26.05")
"""What is emulated, oldest first. As texts they are in their order."""
OLDEST, NEWEST = VERSIONS[0], VERSIONS[-1]
