"""Snapshots: a long run goes on where it was interrupted, to the same bytes.

A snapshot is data: gzipped JSON lines. :mod:`emulator.snapshot.graph` turns the state of a
simulation into data and back, :mod:`emulator.snapshot.keeper` takes snapshots and goes on
from one, :mod:`emulator.resume` does so for the folder of a run.
"""
